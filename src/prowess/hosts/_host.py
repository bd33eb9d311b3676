"""Define what a host file can say.

A host is the conventions of one agent client, in one TOML file; there is no class per host. Each class here is a table
of the file, each field a key, and the text below a field is its documentation: `docs/hosts/README.md` is made from it.
A default is the convention that most clients share.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DESCRIPTION_ACTIONS",
    "NAME_ACTIONS",
    "Budget",
    "DescriptionRules",
    "Flag",
    "Host",
    "IsolatedLaunch",
    "NameRules",
    "ReadingRules",
    "Repair",
    "Root",
    "Setting",
    "Template",
]

NAME_ACTIONS = {"missing": "folder", "null": "folder", "empty": "folder", "number": "text", "bool": "text"}
"""What most clients do with a name that is not text; they reject other kinds."""
DESCRIPTION_ACTIONS = {"number": "text", "bool": "text"}
"""The same for a description."""


class Root(Frozen):
    """One directory to scan, and how."""

    path: str
    """Relative to a project folder, or `~/...`, or absolute; `$VAR/...|~/...` takes the second form where the variable
    is not set; `$VAR` alone is a path list; `@skill-dir` stands for the directories the user named; one `*` is a
    package's folder and gives the namespace."""
    scope: str
    """`managed`, `project`, `user`, `system`, `package` or `extra`."""
    walk: str = "none"
    """Which project folders a relative path is looked for in: `none` (the working directory), `git-root` (from there up
    to the git root), `filesystem-root` (all the way up), `project` (the git root alone, else the working directory)."""
    without_git: str = "none"
    """`walk` where there is no git root above: `none` or `filesystem-root`."""
    nested: str = "no"
    """Skills folders below the project folder: `no`, `active`, or `deferred` (the client finds them later)."""
    depth: int = 1
    """How many levels of folders below the root may hold a skill; -1 is any."""
    own: str = "no"
    """A SKILL.md in the root itself: `no`, `yes`, `last` (after those below it), or `alone` (it hides the rest)."""
    git_marker: str = ""
    """`Host.git_marker` for this root, where it differs."""
    home_stops: bool = False
    """Whether the way upwards ends below the user's home."""
    not_home: bool = False
    """Whether the root is left out where its project folder is the user's home."""
    separator: str = os.pathsep
    """Between the directories of a path list."""
    inside: bool = False
    """Whether folders of a skill are looked into for further skills."""
    hidden: bool = False
    """Whether folders whose name begins with a dot are entered."""
    skip: tuple[str, ...] = (".git", "node_modules")
    """Folder names that are never entered."""
    collated: bool = False
    """Whether folders come in the order of a dictionary (punctuation, digits, letters of either case), not of bytes."""
    linked_folders: str = "follow"
    """`follow`, `skip`, or `bounded` (only to a target inside the project or a scanned root)."""
    linked_files: str = "follow"
    """The same for a SKILL.md that is a link."""
    loose: bool = False
    """Whether `*.md` files in the root itself are skills too."""
    ignore_files: bool = False
    """Whether `.gitignore`, `.ignore` and `.fdignore` inside the root are honoured."""
    max_folders: int = 2000
    """Folders entered at most; those that only hold a skill and are not looked into do not count."""
    count_skills: bool = False
    """Whether folders that hold a skill count too."""


class Repair(Frozen):
    """What the client does to each line of a front matter that its YAML parser gives up on, before it tries again."""

    line: str
    """A regular expression with the groups `key`, `gap` and `value`, and `rest` if what follows stays outside."""
    when: str
    """A value is put in quotes where this is found in it."""
    unless: str = "(?!)"
    """And where this is not."""
    quote: str = "single"
    """`single`, `double`, or `block` (it becomes a block scalar, `|-`)."""
    types: bool = False
    """Whether a name or description that is not text is mended so too."""
    blocks: bool = False
    """Whether the lines of block scalars are left alone."""


class ReadingRules(Frozen):
    """What the client does about the reader's findings."""

    rejects: tuple[str, ...] = ()
    """Codes with which it does not load the skill."""
    as_body: tuple[str, ...] = ()
    """Codes with which it takes the whole file for the body, as if there were no front matter."""
    as_empty: tuple[str, ...] = ()
    """Codes with which it takes the front matter for empty."""
    opening: str = ""
    """A regular expression for the opening fence, where it is not simply `---` and blanks; matched at the beginning."""
    closing: str = ""
    """The same for the closing one; the first that is found. Both see LF where the file has CRLF."""
    refuses: tuple[str, ...] = ()
    """Regular expressions for front matter that its YAML parser gives up on, though it is YAML."""
    texts: str = ""
    """A regular expression for plain scalars that are text to it, though numbers by YAML 1.2."""
    not_texts: str = ""
    """The same for those that are numbers or dates to it, though text by YAML 1.2."""
    repair: Repair | None = None
    """What it mends before it tries again; a table of its own."""
    duplicates: tuple[str, ...] = ()
    """The only fields which must not stand twice; empty for all."""
    second_parser: str = ""
    """Where YAML fails, fields are read line by line: `raw` (quotes and comments stay, indented lines that follow are
    joined) or `values` (one line a field, double quotes are taken away)."""
    second_for_types: bool = False
    """Whether the second parser also reads a name or description that is not text, or missing."""
    whole_file: bool = False
    """Whether a fault in the body matters too (so the whole file is read)."""


class NameRules(Frozen):
    """How the client names a skill."""

    identity: str = "name"
    """What the client calls the skill: its `name` or its `folder`."""
    on: Mapping[str, str] = EMPTY
    """What happens to a name that is `missing`, `null`, `empty`, `blank` (as `empty` if it is not listed), a `number`,
    `bool`, `list` or `map`: `folder` (takes the folder's name), `reject`, `text` (as JavaScript writes it: a list's
    items joined by commas), `value` (a number or boolean as JavaScript writes what it is worth)."""
    trim: bool = True
    """Whether white space around it is taken away."""
    one_line: bool = False
    """Whether white space is collapsed."""
    pattern: str = ""
    """A regular expression the whole name must match, or the skill is rejected."""
    max_length: int = 0
    """Characters; longer names reject; 0 is no limit."""
    must_equal_folder: bool = False
    """Whether another name than the folder's rejects."""
    reserved: tuple[str, ...] = ()
    """Words a name must not hold."""
    replace: Mapping[str, str] = EMPTY
    """Regular expression to text: what the client replaces in what it calls the skill, after all limits."""
    alias_pattern: str = ""
    """Where identity is the folder: names that match are shown as an alias."""


class DescriptionRules(Frozen):
    """How the client shows a description."""

    on: Mapping[str, str] = EMPTY
    """What happens to one that is `missing`, `null`, `empty`, `blank`, a `number`, `bool`, `list` or `map`: `reject`,
    `keep` (shown empty), `hide` (listed, not shown to the model), `body` (taken from the body), `text`,
    `value` (as for a name)."""
    trim: bool = True
    """Whether white space around it is taken away."""
    fallback: str = ""
    """What `body` gives where the body has no text either."""
    fallback_lines: int = 1
    """How many lines of the body, blank ones aside, `body` joins."""
    fallback_headings: str = "keep"
    """What `body` does with a line that begins with `#`: `keep`, `strip` (`# Title` is `Title`) or `skip`."""
    fallback_length: int = 0
    """Characters of what `body` takes, `fallback_ellipsis` included; 0 is all."""
    fallback_ellipsis: str = ""
    """What it ends in where it is cut to `fallback_length`."""
    limit: int = 0
    """Characters; 0 is no limit."""
    past_limit: str = "keep"
    """`keep`, `cut` (to the limit, `ellipsis` included) or `drop` (the skill is rejected)."""
    ellipsis: str = "…"
    """What a description ends in that is cut to the limit."""
    one_line: bool = False
    """Whether white space is collapsed."""
    clean: bool = False
    """Whether characters that do not show, line ends among them, become one blank for each run of them."""
    escape: str = ""
    """Characters shown as XML entities."""
    append: tuple[str, ...] = ()
    """What is added, in order: `when_to_use` (after `joiner`), `scope` (as ` (SCOPE)`)."""
    joiner: str = " - "
    """What stands before `when_to_use`."""
    unit: str = "chars"
    """What the limit counts: `chars` (Unicode) or `utf16` (units of UTF-16)."""


class Budget(Frozen):
    """What the client does when the catalog is large. What an entry costs is the length of its line in `Template`."""

    limit: int = 0
    """For all entries together; 0 is no budget."""
    unit: str = "chars"
    """What the limit counts: `chars` (Unicode), `utf16` (units of UTF-16), `bytes` (of UTF-8), `tokens` (four
    bytes) or `width` (cells of a terminal)."""
    greedy: bool = False
    """With `name-only`: whether an entry that does not fit leaves its room to later, shorter ones."""
    rest_limit: int = 0
    """With `name-list`: how long that last line may be; further names are left out; 0 is no limit."""
    reserved: int = 0
    """What the client's own skills take of it."""
    bundled: Mapping[str, int] = EMPTY
    """The client's own skills that are shortened with the others: name to characters of the description."""
    degrade: str = ""
    """`name-only` (in order, those that do not fit lose their description), `name-list` (the same, but what is left of
    them stands in one last line that costs nothing), `level` (all are cut evenly), `first-line` (all keep their first
    line)."""
    note: str = ""
    """Where the figures come from."""


class Setting(Frozen):
    """A file and key with which the client's user switches skills off."""

    file: str
    """Relative to the project, or `~/...`, or absolute, as in `Root.path`."""
    key: str
    """Dotted path of keys."""
    only_cwd: bool = False
    """Whether a relative file counts in the working directory alone, not in the project's root."""
    unless: str = ""
    """Another key of the same form in the same file, which takes names back."""
    patterns: bool = False
    """For `effects`: whether names may hold `*` and `?`; the last that fits counts."""
    fold: bool = False
    """Whether names are compared without regard to case."""
    form: str
    """`names` (a list of names that are off), `effects` (name to what becomes of it), `entries` (a list of tables with
    `name` or `path` and `enabled`), `switch` (false switches all skills off), `folders` (folder to trust word)."""
    effects: Mapping[str, str] = EMPTY
    """For `effects`: the client's word to `off` (its list shows it as switched off), `gone` (it does not know it any
    more), `name-only`, `user-only` or `on`; for `names`: what `off` is; for `folders`: to `trusted`, `untrusted`."""


class Flag(Frozen):
    """A field, or a file beside SKILL.md, with which an author keeps a skill from the model. The first that fits
    counts.
    """

    when: Mapping[str, str]
    """Field to value, all of which must hold: `true`, `false` (an unquoted YAML boolean), `~true`, `~false` (as text
    too), `truthy` (a boolean, text or number that says yes), `falsy` (anything else), `present` (not empty), `globs`
    (text, or a list with one, that is not `**`), or a type it is not: `not-bool`, `not-map`, `not-list`, `not-text`,
    `not-texts` (neither text nor a list of texts). In a file: dotted path of keys to text."""
    state: str
    """What becomes of the skill: `user-only`, `deferred`, `disabled` or `rejected`."""
    reason: str
    """Why, in the words that `list` and `why` show."""
    code: str = ""
    """The finding that says so, where the skill is rejected."""
    file: str = ""
    """The YAML file, relative to the skill's folder; empty for the front matter."""


class Template(Frozen):
    """The text the client's model gets: `header`, `entry` per skill, `footer`."""

    header: str = ""
    """What stands before the first entry."""
    entry: str = "- {name}: {description}\n"
    """With `{name}`, `{alias}`, `{description}`, `{path}`, `{short_path}` (below a root of the table `{roots}`),
    `{scope}`."""
    name_only: str = ""
    """The entry of a skill without description; empty means `entry`."""
    rest: str = ""
    """A last line with `{names}` of those left out."""
    footer: str = ""
    """What stands after the last one."""
    escape: str = ""
    """Characters written as XML entities."""


class IsolatedLaunch(Frozen):
    """How the client is started in a home of its own."""

    program: str = ""
    """The command that starts it."""
    arguments: tuple[str, ...] = ()
    """What that is given first, so that a project's own settings do not undo those of the home."""
    key_variable: str = ""
    """The environment variable that takes the key to its model."""
    env: Mapping[str, str] = EMPTY
    """Variables with which it speaks to its model and to nobody else."""
    settings: str = ""
    """Whose settings files it reads, of those that Prowess can write: `claude`, `codex` or `gemini`."""


class Host(Frozen):
    """An agent client's conventions."""

    name: str
    """The file's own name, without `.toml`; it is not written in the file."""
    title: str
    """What people call the client."""
    roots: tuple[Root, ...] = ()
    """Highest precedence first. Roots in a row with the same scope and walk are looked for level by level."""
    observed: str = ""
    """`VERSION, DATE` where the real client was asked; else empty."""
    documented: str = ""
    """Where the rules were read, if the client was never run."""
    links: tuple[str, ...] = ()
    """Where to read more."""
    unknown: tuple[str, ...] = ()
    """What is not established."""
    found_by: tuple[str, ...] = ()
    """Folders or programs whose presence shows that the client is on a machine."""
    collision: str = "first"
    """Of skills with one name: `first` wins, `last` wins, `keep-all`, or `undefined` (a race)."""
    compare: str = "exact"
    """How names are compared: `exact`, or `folded` (NFKC and case folding)."""
    name_rules: NameRules = NameRules()
    """A table of its own, below; so are the next seven."""
    description_rules: DescriptionRules = DescriptionRules()
    """How descriptions are shown."""
    reading: ReadingRules = ReadingRules()
    """What it does about the reader's findings."""
    budget: Budget = Budget()
    """What it does when there are many skills."""
    template: Template = Template()
    """What its model gets."""
    isolated: IsolatedLaunch = IsolatedLaunch()
    """How it is started in a home of its own."""
    flags: tuple[Flag, ...] = ()
    """What an author can set."""
    settings: tuple[Setting, ...] = ()
    """What a user can set."""
    switch_variable: str = ""
    """An environment variable that switches all skills on or off, over any file."""
    enabled: bool = True
    """Whether skills are on where no setting says anything."""
    trust_variable: str = ""
    """An environment variable that says whether the project is trusted, over any file."""
    trust_switch: str = ""
    """A dotted key in the settings files of this host; false there means that every folder is trusted."""
    trust_note: str = ""
    """Set where the client shows project skills only in folders its user trusts."""
    max_skills: int = 0
    """Skills at most; the rest are `disabled`. 0 is no limit."""
    suppressed_scopes: tuple[str, ...] = ()
    """Scopes whose findings the client does not report."""
    activation: str = ""
    """How a skill is chosen, in words."""
    sorts: str = "precedence"
    """Order of the catalog: `precedence`, `name`, `scopes` (by name within each scope, in `scope_order`), or `runs` (by
    name within neighbours of one scope, parents apart)."""
    scope_order: tuple[str, ...] = ()
    """For `sorts = "scopes"`: the scopes, first to last."""
    levels_first: bool = True
    """Whether all roots of a nearer folder come before those of its parent; else each root goes all the way up
    first."""
    git_marker: str = "exists"
    """What makes a git root: that `.git` `exists`, has a `head` if it is a folder, or is a `valid` repository."""
    scope_words: Mapping[str, str] = EMPTY
    """Scope to the client's own word for it."""
