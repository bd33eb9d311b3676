"""Define what a host file can say.

A host is the conventions of one agent client, in one TOML file; there is no class per host. Each class here is a table
of the file, each field a key. A default is the convention that most clients share. What only one client does is in its
module, `clients/NAME.py`, and the host file says it in words: `doc` of a setting or an argument, `note` of a file,
`facts` of other tables.

The text below a field is its documentation, and there is no other: `tools/host_tables.py` copies it into
`_key_docs.py`, and from there it comes into the lines of `prowess hosts NAME`, the pages of hosts and the tables of
`docs/hosts/README.md`. Its first sentence is the line of a value that is not the default, with the value for `{}`. A
list gives words for single values instead; a value without words has no line.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_ACTIONS = {"missing": "folder", "null": "folder", "empty": "folder", "number": "text", "bool": "text"}
"""What most clients do with a name that is not text; they reject other kinds."""
DESCRIPTION_ACTIONS = {"number": "text", "bool": "text"}
"""The same for a description."""


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Root(Frozen):
    """One directory to scan, and how."""

    path: str = ""
    """Relative to a project folder, `~/...`, or absolute. `$VAR/...|~/...` is the second path if the variable is not
    set; `$VAR` alone is a path list; `@skill-dir` is the directories that the user passes; `*` is the folder of
    a package, which becomes the namespace. With `setting` or `argument`: the path below each directory that they
    name."""
    scope: str
    """`managed`, `project`, `user`, `system`, `package`, `plugin` or `extra`."""
    setting: str = ""
    """A dotted key of the settings files whose value is a list of directories; `|` separates two forms of one key."""
    setting_files: tuple[str, ...] = ()
    """For `setting`: the names of the settings files that may have it; empty for all that are not `apart`."""
    merge: str = "join"
    """For `setting`: `join` (the lists of all settings files count), `first` (that of the highest) or `union` (all, but
    the lowest file's first)."""
    plugins: str = ""
    """The name of a table of plugins, whose folders of skills these are; with `files`, their folders of commands."""
    argument: str = ""
    """An argument of the client whose values are directories."""
    relative_to: str = "cwd"
    """With `setting` and `argument`: what a relative directory belongs to; empty if `where` says that.

    - `cwd`: relative to the working directory
    - `project`: relative to the git root
    """
    strips: bool = False
    """For `setting` and a path list: whether white space around a directory is removed."""
    walk: str = "none"
    """The project folders to which a relative path belongs.

    - `none`: in the working directory
    - `git-root`: from the working directory up to the git root
    - `filesystem-root`: from the working directory up to the file system root
    - `project`: in the git root, or without git in the working directory
    """
    without_git: str = "none"
    """The `walk` outside a git repository.

    - `none`
    - `filesystem-root`: without git up to the file system root
    """
    where: tuple[str, ...] = ()
    """What the client's module says about its place, in words."""
    files: str = ""
    """Files that match `{}`. A regular expression for their names: single files are skills, such as commands, instead
    of folders. A skill is called like its path below the root, without the extension and with `:` for `/`. Unless
    `depth` is 0, a `SKILL.md`, in any case, is called like its folder and hides the files beside it; without `inside`,
    also those in folders below."""
    depth: int = 1
    """Levels of folders below the root that may contain a skill.

    - `-1`: any depth
    - `0`: only in the folder itself
    - `1`: 1 level deep
    - another number: {} levels deep
    """
    nested: str = "no"
    """Skills folders below the project folder.

    - `no`
    - `active`: also below the project folder
    - `deferred`: also below the project folder, where skills appear later
    """
    own: str = "no"
    """A SKILL.md in the root itself.

    - `no`
    - `yes`: a SKILL.md in the folder itself is a skill too
    - `last`: a SKILL.md in the folder itself is a skill too, of the lowest precedence
    - `alone`: a SKILL.md in the folder itself hides all other skills in it
    """
    inside: bool = False
    """Also skills inside skills."""
    hidden: bool = False
    """Also hidden folders. The names of these begin with a dot."""
    facts: tuple[str, ...] = ()
    """What the client's module does with it, in words."""
    loose: bool = False
    """Also single `.md` files. These are in the root itself."""
    ignore_files: bool = False
    """Without files that .gitignore excludes. The same for `.ignore` and `.fdignore` inside the root."""
    not_home: bool = False
    """Not if the project folder is the home directory."""
    linked_folders: str = "follow"
    """Links to folders.

    - `follow`
    - `skip`: a linked folder is not followed
    - `bounded`: a linked folder is followed only inside the project and the skills folders
    """
    linked_files: str = "follow"
    """The same for a SKILL.md that is a link.

    - `follow`
    - `skip`: a linked SKILL.md is not followed
    - `bounded`: a linked SKILL.md is followed only inside the project and the skills folders
    """
    skip: tuple[str, ...] = (".git", "node_modules")
    """Names of folders that are never scanned."""
    ignores: tuple[str, ...] = ()
    """Fields that have no effect on its skills."""
    name_is_folder: bool = False
    """Whether a skill whose name is not that of its folder is rejected."""
    max_folders: int = 20_000
    """Folders to scan at most; the folder of a skill does not count unless it is scanned for more skills."""

    @property
    def named_by(self) -> str:
        """What names its directories: a key with the files that may have it, or an argument."""
        return " ".join((self.setting or self.argument, *self.setting_files))

    @property
    def is_fixed(self) -> bool:
        """Whether settings, arguments and plugins do not decide where it is."""
        return not (self.setting or self.argument or self.plugins)


class PluginRules(Frozen):
    """Where the client keeps plugins, which of them count, and which folders of skills they have."""

    folders: tuple[str, ...] = ()
    """Installed in {place}. Paths as in `path` of a root, where `*` is any name of a folder."""
    yields_to: tuple[str, ...] = ()
    """One with the name of a plugin of the kind `{}` is not read. The names of other tables of plugins."""
    listed: str = ""
    """Only those count that are listed in {place}. A JSON file with the installed plugins under `plugins`; a path as in
    `path` of a root."""
    id: str = "{plugin}@{market}"
    """Settings call it `{}`. With `{plugin}`, `{market}`, and `{manifest}`, the name in its manifest."""
    setting: str = ""
    """Switched on and off by `{}` in the settings. A dotted key, whose value is a map of `id` to true or false, or to a
    table with `enabled`."""
    setting_needed: bool = False
    """A plugin that this setting does not name has no skills."""
    manifests: tuple[str, ...] = ()
    """Its manifest is `{}`. The files with its name and folders of skills, in its folder; the first that exists
    counts."""
    manifest_needed: bool = False
    """Without a valid manifest it has no skills."""
    manifest_types: Mapping[str, str] = EMPTY
    """Values that make a manifest valid: {types}. Dotted key to the type of its value, as in `settings_types`; one with
    `!` at the end must not be empty either, and `!` alone is any type."""
    manifest_items: tuple[str, ...] = ()
    """Its manifest may be a list of the values of `{}`, in this order. Without them, a list is invalid."""
    name_pattern: str = ""
    """Its name must match `{}`. A regular expression for the whole name; a plugin with another name has no skills."""
    prefix: bool = True
    """Whether its skills are called `PLUGIN:SKILL`.

    - `false`: its skills have no prefix
    """
    skills_key: str = ""
    """Its manifest may list other folders of skills under `{}`. A dotted key, whose value is text or a list of
    texts."""
    skills_add: bool = False
    """These come in addition."""
    skills_pattern: str = ""
    """A listed folder must match `{}`. A regular expression; others are ignored."""
    install_file: str = ""
    """`{}` in its folder says where it comes from; a linked one is in that folder. A JSON file; if its `type` is
    `link`, the plugin is in the folder `source`, relative to the working directory."""
    rules_file: str = ""
    """Rules say in which folders it counts; they are in {place}. A JSON file, as `path` of a root: its name to
    `{"overrides": [RULE]}`. A rule is a path with `*`, with `!` before it if the plugin does not count there; the last
    that matches decides."""
    replaces_bytes: bool = False
    """Bytes of its JSON files that are not UTF-8 are replaced. Otherwise such a file is invalid."""
    first_of_name: bool = False
    """Of several with one name, only the first counts. Otherwise all do."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does with its plugins, in words: lines by the key whose line they follow, first
    those with an empty key; `skills` replaces the line about the usual folder of skills."""


# ── the text of a SKILL.md ───────────────────────────────────────────────────────────────────────────────────────────


class ReadingRules(Frozen):
    """What the client does about the reader's findings."""

    rejects: tuple[str, ...] = ()
    """Does not load a skill with {}. Codes of findings."""
    as_body: tuple[str, ...] = ()
    """Takes the whole file as the body with {}. Codes of files that have no front matter for it."""
    loose_as_body: tuple[str, ...] = ()
    """Takes a whole single file, such as a command, as the body with {}. Further codes for loose files."""
    as_empty: tuple[str, ...] = ()
    """Takes the front matter as empty with {}."""
    opening: str = ""
    """Its opening fence is `{}`. A regular expression at the beginning of the file, if it is not just `---` and
    blanks."""
    closing: str = ""
    """Its closing fence is `{}`. The first match counts. Both fences match LF in a file with CRLF."""
    line_breaks: str = ""
    """These characters end a line too: `{}`. A regular expression for those besides LF, CR and CRLF."""
    yaml_line_breaks: str = ""
    """These characters end a line for its YAML parser too: `{}`. But not between the fences."""
    refuses: tuple[str, ...] = ()
    """Its YAML parser rejects a match of `{}`. Regular expressions for valid YAML."""
    texts: str = ""
    """It reads `{}` as text. A regular expression for plain scalars that are numbers in YAML 1.2."""
    not_texts: str = ""
    """It reads `{}` as a number or date. A regular expression for plain scalars that are text in YAML 1.2."""
    quoted_controls: bool = False
    """Control characters from U+007F on are valid in quotes. All but U+0000 are valid in comments."""
    half_pairs: str = ""
    """An escape that names half of a surrogate pair, such as `\\ud800`; without this key, it refuses the file.

    - `replace`: an escape that is half of a surrogate pair becomes U+FFFD
    - `remove`: an escape that is half of a surrogate pair is removed
    """
    empty_keys: bool = False
    """A line without a key, such as `: value`, is valid."""
    flow_keys: bool = False
    """A list or table may be a key. What is in brackets: `{{a}}` is a table."""
    marks_are_text: bool = False
    """A byte order mark at the beginning of a later line is text."""
    whole_file: bool = False
    """Errors in the body count too. So the whole file is read."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class NameRules(Frozen):
    """How the client names a skill."""

    identity: str = "name"
    """What the client calls a skill.

    - `name`: a skill is called by its name
    - `folder`: a skill is called by its folder
    """
    on: Mapping[str, str] = EMPTY
    """What it does with a name that is `missing`, `null`, `empty`, `blank` (by default as `empty`), a `number`, `bool`,
    `list` or `map`.

    - `folder`: a name that is {words} is replaced by the folder's name
    - `reject`: a name that is {words} rejects the skill
    - `text`: a name that is {words} is used as written
    - `value`: a name that is {words} is converted to text as in JavaScript
    """
    trim: bool = True
    """Whether white space around it is removed.

    - `false`: white space around it is kept
    """
    pattern: str = ""
    """Must match `{}`. A regular expression for the whole name; other names reject the skill."""
    max_length: int = 0
    """At most {} characters. Longer names reject the skill; 0 is no limit."""
    must_equal_folder: bool = False
    """Must be the folder's name. A name that differs from the folder rejects the skill."""
    replace: Mapping[str, str] = EMPTY
    """Every match of `{}` becomes `{}`. Regular expressions, after all limits."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class DescriptionRules(Frozen):
    """How the client shows a description."""

    on: Mapping[str, str] = EMPTY
    """What it does with one that is `missing`, `null`, `empty`, `blank`, a `number`, `bool`, `list` or `map`.

    - `body`: a description that is {words} is taken from the body
    - `hide`: a description that is {words} hides the skill from the model, not from the list
    - `keep`: a description that is {words} is shown as empty
    - `reject`: a description that is {words} rejects the skill
    - `text`: a description that is {words} is used as written
    - `value`: a description that is {words} is converted to text as in JavaScript
    """
    trim: bool = True
    """Whether white space around it is removed.

    - `false`: white space around it is kept
    """
    fallback: str = ""
    """If the body is empty too, it is `{}`. For `body` in `on`."""
    limit: int = 0
    """At most {} characters. Or what `unit` says; 0 is no limit."""
    past_limit: str = "keep"
    """What it does past the limit.

    - `keep`
    - `cut`: beyond the limit: cut
    - `drop`: beyond the limit: the skill is not loaded
    """
    ellipsis: str = "…"
    """If cut, it ends in `{}`. That is part of the limit."""
    one_line: bool = False
    """Each run of white space becomes one blank."""
    unit: str = "chars"
    """The unit of `limit`.

    - `chars`
    - `utf16`: counted in UTF-16 code units
    - `bytes`: counted in bytes of UTF-8
    """
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class HonouredFields(Frozen):
    """Fields that are not in the specification and have an effect in the client."""

    observed: tuple[str, ...] = ()
    """Observed: `{}`. Their effect was seen in the real client."""
    documented: tuple[str, ...] = ()
    """Documented only: `{}`. By its documents or its source; their effect was not tried."""


class Flag(Frozen):
    """A field, or a file beside SKILL.md, with which an author hides a skill from the model. The first match counts."""

    when: Mapping[str, str]
    """Field, or `metadata.KEY`, to value; all must match. In a file: dotted path of keys to value.

    - `true`: `{key}: true`
    - `false`: `{key}: false`
    - `~true`: `{key}: true`, also as text,
    - `~false`: `{key}: false`, also as text,
    - `truthy`: a true value of `{key}`
    - `falsy`: a false value of `{key}`
    - `lax-true`: a true value of `{key}`
    - `not-lax-bool`: `{key}` that is neither true nor false
    - `not-true`: `{key}` that is not true
    - `present`: `{key}`
    - `absent`: no `{key}`
    - `globs`: `{key}` with file patterns
    - `not-texts`: `{key}` that is neither text nor a list of texts
    - `invalid`: text that is no table
    - `is:A B`: `{key}` that is {words}
    - `other:A B`: `{key}` other than {words}
    - `not:A B`: `{key}` that is not {words}
    - `found:REGEX`: a match of {words} in `{key}`
    - `keys:A B`: keys of `{key}` other than {words}
    - `lacks:A B`: a list `{key}` without {words}
    """
    state: str
    """The state of the skill: `user-only`, `deferred`, `disabled` or `rejected`."""
    reason: str
    """The reason that `list` and `why` show."""
    code: str = ""
    """The code of the finding, if the skill is rejected."""
    file: str = ""
    """The YAML file, relative to the skill's folder; empty for the front matter."""


# ── what a user can set ──────────────────────────────────────────────────────────────────────────────────────────────


class SettingsFile(Frozen):
    """A settings file of the client: JSON with comments, TOML or YAML, by its name."""

    path: str
    """Relative to a project folder, `~/...`, or absolute; `$VAR/...|~/...` as in `path` of a root; `@arguments` is what
    the arguments with the effect `settings` say."""
    where: str = "cwd"
    """The project folders to which a relative path belongs.

    - `cwd`: in the working directory
    - `project`: in the git root, or without git in the working directory
    - `both`: in the working directory, then in the git root
    - `upwards`: in each folder from the working directory up to the git root, the nearest first
    """
    keys: tuple[str, ...] = ()
    """Only `{}`. The keys at its top that count in this file; empty for all."""
    needs_trust: bool = False
    """Only in a trusted project."""
    note: str = ""
    """Where it is and when it counts, in words, if the client's module says more than the three above."""
    invalid: str = "ignored"
    """What the client does if it cannot read the file. One that only says which folders are trusted is read only if
    nothing before it decides.

    - `ignored`
    - `stops`: if it cannot be read, the agent refuses to start
    """
    wrong_type: str = "ignored"
    """What it does if a value has not the type in `settings_types`.

    - `ignored`
    - `key`: a value of a wrong type does not count
    - `void`: one value of a wrong type voids the whole file
    - `stops`: if one value has a wrong type, the agent refuses to start
    """
    apart: bool = False
    """Whether it counts only for the settings that name it."""
    may_be_empty: bool = False
    """Whether an empty file is valid."""
    not_table: str = ""
    """What it does if the file holds something else than a table of keys; empty for the same as `invalid`."""
    comments: bool = True
    """Whether JSON may have comments, and with `trailing_commas` commas after the last item."""
    trailing_commas: bool = True
    """Whether JSON that may have comments may have commas after the last item."""
    mark: bool = True
    """Whether JSON may begin with a byte order mark."""
    variables: bool = False
    """Whether `$NAME`, `${NAME}` and `${NAME:-TEXT}` in texts are replaced by environment variables."""


class Setting(Frozen):
    """A key of settings files with which the user of the client disables skills."""

    key: str = ""
    """Dotted path of keys; `{agent}` is the agent that runs. Empty if the value is the whole file."""
    files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    form: str = ""
    """What it does; empty if the client's module reads it.

    - `names`: names of skills that are off, a skill named there stays in the list, and the model does not get it
    - `switch`: all skills on or off
    - `budget`: the size of the catalog, in place of the limit below
    - `trust`: which folders are trusted
    """
    doc: str = ""
    """What it does, in words with an example, if the client's module reads it."""
    part: float = 1
    """For `budget`: the part of the number that counts."""
    merge: str = "join"
    """How the values of several files are merged. The setting of a root or of plugins can also say `deep` (tables are
    merged key by key, anything else of a higher file replaces that of a lower one) or `union` (lists are joined, lowest
    first; anything but a table on the way to the key replaces what lower files have there).

    - `join`
    - `first`: only the first file that has the key counts
    """


class Argument(Frozen):
    """An argument of the client that changes which skills it sees."""

    name: str
    """As the user types it: `--add-dir`."""
    values: str = "none"
    """What follows it. `one` may also be after `=`; `many` are all up to the next argument that begins with `-`.

    - `none`
    - `one`: VALUE
    - `many`: VALUE...
    """
    effect: str = ""
    """What it does; empty if it does something else for the client's module.

    - `roots`: adds a folder, as above
    - `trusted`: the project is trusted
    - `untrusted`: the project is not trusted
    - `only-plugins`: only these plugins count, by name, with commas
    - `tools`: the only tools of the model, with commas
    - `not-tools`: tools that the model does not have, with commas
    - `settings`: a part of the settings file `@arguments`
    """
    doc: str = ""
    """What it does, in words, if the client's module reads it."""


# ── what the model gets ──────────────────────────────────────────────────────────────────────────────────────────────


class Budget(Frozen):
    """What the client does if the catalog is large. An entry costs the length of its line in `[template]`."""

    limit: int = 0
    """At most {} in total. For all entries together; 0 is no budget."""
    unit: str = "chars"
    """The unit of `limit`.

    - `chars`
    - `utf16`: counted in UTF-16 code units
    - `bytes`: counted in bytes of UTF-8
    - `tokens`: counted in tokens of four bytes
    - `width`: counted in terminal cells
    """
    reserved: int = 0
    """Its own skills take {} of it."""
    note: str = ""
    """{}. The source of the numbers."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class Template(Frozen):
    """The text for the client's model: `header`, `entry` for each skill, `footer`."""

    header: str = ""
    """The text before the first entry."""
    entry: str = "- {name}: {description}\n"
    """With `{name}`, `{alias}`, `{description}`, `{path}`, `{short_path}` (below a root of the table `{roots}`),
    `{scope}`, and `{when_line}` for a line of the client's module."""
    name_only: str = ""
    """The entry of a skill without description; empty means `entry`."""
    footer: str = ""
    """The text after the last entry."""
    escape: str = ""
    """Characters to write as XML entities."""


class IsolatedLaunch(Frozen):
    """How the client is started in an isolated home."""

    program: str = ""
    """Started with `{}`."""
    arguments: tuple[str, ...] = ()
    """First arguments, one by one: `{}`. So that a project's settings do not override those of the home."""
    key_variable: str = ""
    """Its key is in `{}`. The environment variable with the key of its model."""
    env: Mapping[str, str] = EMPTY
    """`{}` is `{}`. Variables with which it connects to its model only."""
    settings: str = ""
    """Its settings are written in the format of {}. Or none: `claude`, `codex` or `gemini`."""


# ── the file itself ──────────────────────────────────────────────────────────────────────────────────────────────────


class Source(Frozen):
    """A sentence of a vendor's documentation or source, in other words."""

    says: str
    """What it says."""
    link: str
    """The page or file."""
    section: str = ""
    """The heading of the page, or the function of the file."""
    date: str
    """When it was read, or the date of the version that was read."""


class Host(Frozen):
    """The conventions of one agent client."""

    name: str
    """The name of the file without `.toml`; it is not written in the file."""
    title: str
    """The name of the client for people."""
    short: str = ""
    """A shorter form of the name, for the headings of narrow tables; without it, the name."""
    roots: tuple[Root, ...] = ()
    """Highest precedence first. Successive roots with the same scope and walk are scanned level by level."""
    observed: str = ""
    """`VERSION, DATE` of the real client that was observed; otherwise empty."""
    documented: str = ""
    """The source of the rules, if the client was never run."""
    design: bool = False
    """Whether `documented` is the design of a client that cannot be run."""
    sources: tuple[Source, ...] = ()
    """The sentences of documents and source that the rules rest on; a table of its own, below."""
    links: tuple[str, ...] = ()
    """Where to read more."""
    unknown: tuple[str, ...] = ()
    """What is not known about the client."""
    found_by: tuple[str, ...] = ()
    """Folders or programs that show that the client is on a machine."""
    newer: str = ""
    """The host with the rules of the client's newer releases. Where that is found, this one is not."""
    collision: str = "first"
    """Which of several skills with one name counts.

    - `first`: of several skills with one name, the first wins
    - `last`: of several skills with one name, the last wins
    - `keep-all`: several skills with one name are all kept
    - `undefined`: of several skills with one name, the one read last wins; the order of reading is undefined
    """
    folder_names_win: bool = False
    """Inside one folder above, a skill whose valid name equals its own folder wins over others. The nearest wins."""
    collision_in_root: str = ""
    """The same for skills in one root, if it differs.

    - `undefined`: inside one folder above, the one read last wins; the order of reading is undefined
    """
    compare: str = "exact"
    """How names are compared.

    - `exact`
    - `lower`: names are compared without case
    - `folded`: names are compared without case and Unicode form
    """
    suppressed_scopes: tuple[str, ...] = ()
    """Findings in {} are not reported. The scopes of roots."""
    name_rules: NameRules = NameRules()
    """How skills are named."""
    description_rules: DescriptionRules = DescriptionRules()
    """How descriptions are shown."""
    reading: ReadingRules = ReadingRules()
    """What it does about the reader's findings."""
    budget: Budget = Budget()
    """What it does if there are many skills."""
    template: Template = Template()
    """The text for its model."""
    isolated: IsolatedLaunch = IsolatedLaunch()
    """How it is started in an isolated home."""
    fields: HonouredFields = HonouredFields()
    """Which fields of its own it honours."""
    flags: tuple[Flag, ...] = ()
    """What an author can set."""
    sidecar_types: Mapping[str, str] = EMPTY
    """Dotted key of the files of `flags` to the type of its value, as in `settings_types`. If one has another type, or
    the file is not one valid YAML document, nothing in it counts."""
    settings_files: Mapping[str, SettingsFile] = EMPTY
    """Name to settings file, highest precedence first."""
    settings_types: Mapping[str, str] = EMPTY
    """Dotted key of the settings files to the type of its value, as the client checks it: `text`, `bool`, `number`,
    `integer`, `positive` (an integer), `list`, `map`, `null`, `label` (letters,
    digits, hyphens and dots), `email`, `url`, `texts` (a list of texts), `=WORD`, `absent` (it must not
    be there); several with `|`; with `!` at the end, the key must be there. A part `*` of a key is any key or item."""
    plugins: Mapping[str, PluginRules] = EMPTY
    """Name to the rules of a kind of plugins; a table of its own, below."""
    settings: tuple[Setting, ...] = ()
    """What a user can set."""
    arguments: tuple[Argument, ...] = ()
    """The arguments of the client that matter for skills."""
    switch_variable: str = ""
    """The variable `{}`: all skills on or off, whatever the files say."""
    trust_note: str = ""
    """{}. Set if the client loads project skills only in folders that its user trusts."""
    trust_switch: str = ""
    """If `{}` is false, every folder is trusted. A dotted key in the settings files of this host."""
    trust_switch_files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    trust_hides: bool = True
    """Whether an untrusted project's skills are hidden; otherwise only settings files that need trust do not count."""
    trust_default: str = "unknown"
    """The trust of a project about which nothing is set; the skills of an `unknown` one are shown.

    - `unknown`
    - `trusted`: otherwise a project is trusted
    - `untrusted`: otherwise a project is untrusted
    """
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does, in words: lines by the key whose line they follow: `collision`, `switch_variable`
    or `trust_note`."""
    activation: str = ""
    """How a skill is activated, in words."""
    sorts: str = "precedence"
    """Order of the catalog: `precedence`, `files` (the same, but the files of roots with `files` that belong to no
    plugin are sorted by name, as in a dictionary), `name`, `scopes` (by name within each scope, in `scope_order`), or
    `runs` (by name within successive skills of one scope; parent folders are separate)."""
    scope_order: tuple[str, ...] = ()
    """For `sorts = "scopes"`: the scopes, first to last; `user|plugin` are two that count as one."""
    git_marker: str = "exists"
    """What makes a git root: `.git` `exists`, is an `entry` (also a link to itself), has a `head` if it is a folder, or
    is a `valid` repository; `named` is the same, but a file needs only to name a folder, which may be missing; `git` is
    the same as `valid`, but a `.git` file that is invalid ends the search, as the program git does."""
    scope_words: Mapping[str, str] = EMPTY
    """Scope to the client's own word for it."""

    @property
    def searches_named_folders(self) -> bool:
        """Whether it searches the folders of `--skill-dir`, or has no other ones."""
        return not self.roots or any(root.path == "@skill-dir" for root in self.roots)
