"""Define what a host file can say.

A host is the conventions of one agent client, in one TOML file; there is no class per host. Each class here is a table
of the file, each field a key, and the text below a field is its documentation: `docs/hosts/README.md` is made from it.
A default is the convention that most clients share. The tables about the text of a SKILL.md are in `_reading`, those
about the client's settings and arguments in `_configuration`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

from ._reading import DescriptionRules, NameRules, ReadingRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._configuration import Argument, Setting, SettingsFile
    from ._plugins import PluginRules
    from ._root import Root


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


class Budget(Frozen):
    """What the client does if the catalog is large. An entry costs the length of its line in `Template`."""

    limit: int = 0
    """For all entries together; 0 is no budget."""
    unit: str = "chars"
    """The unit of `limit`: `chars` (Unicode), `utf16` (units of UTF-16), `bytes` (of UTF-8), `tokens` (four bytes) or
    `width` (cells of a terminal)."""
    reserved: int = 0
    """The part of the budget that the client's own skills use."""
    note: str = ""
    """The source of the numbers."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class HonouredFields(Frozen):
    """Fields that are not in the specification and have an effect in the client."""

    observed: tuple[str, ...] = ()
    """Those whose effect was seen in the real client."""
    documented: tuple[str, ...] = ()
    """Those that its documents or its source describe; their effect was not tried."""


class Flag(Frozen):
    """A field, or a file beside SKILL.md, with which an author hides a skill from the model. The first match counts."""

    when: Mapping[str, str]
    """Field, or `metadata.KEY`, to value; all must match: `true`, `false` (an unquoted YAML boolean), `~true`, `~false`
    (text as well), `truthy` (a boolean, text or number that means yes), `falsy` (anything else), `present` (not empty),
    `absent` (missing or null), `globs` (text, or a list with one, that is not `**`), `is:A B` (one of these texts),
    `other:A B` (anything else), `found:REGEX` (in the text, or in one of the texts of the list), `not:A B` (none of
    these kinds: `null`, `empty`, `blank`, `text`, `number`, `bool`, `list`, `map`), `lax-true` and `not-lax-bool` (what
    pydantic takes for true, and for no boolean), or a type that it is not: `not-bool`, `not-map`, `not-list`,
    `not-text`, `not-texts` (neither text nor a list of texts). In a file: dotted path of keys to text, to `not-true`
    (anything else), `not-map`, `keys:A B` (a map with other keys), or `lacks:A B` (a list that is not empty, with none
    of these); no key to `invalid` (not a map at all)."""
    state: str
    """The state of the skill: `user-only`, `deferred`, `disabled` or `rejected`."""
    reason: str
    """The reason that `list` and `why` show."""
    code: str = ""
    """The code of the finding, if the skill is rejected."""
    file: str = ""
    """The YAML file, relative to the skill's folder; empty for the front matter."""


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
    """The command that starts it."""
    arguments: tuple[str, ...] = ()
    """Its first arguments, so that a project's settings do not override those of the home."""
    key_variable: str = ""
    """The environment variable with the key of its model."""
    env: Mapping[str, str] = EMPTY
    """Variables with which it connects to its model only."""
    settings: str = ""
    """The format of its settings files, if Prowess can write it: `claude`, `codex` or `gemini`."""


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
    """Of skills with one name: `first` wins, `last` wins, `keep-all`, or `undefined` (a race)."""
    collision_in_root: str = ""
    """The same for skills in one root, if it differs: `undefined` (the order of the file system)."""
    compare: str = "exact"
    """How names are compared: `exact`, `lower` (in lower case), or `folded` (NFKC and case folding)."""
    folder_names_win: bool = False
    """Whether a skill whose valid name equals its folder wins over others in the same root, the nearest to it first."""
    name_rules: NameRules = NameRules()
    """A table of its own, below; so are the next eight."""
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
    """An environment variable that enables or disables all skills, and overrides any file."""
    trust_switch: str = ""
    """A dotted key in the settings files of this host; false means that every folder is trusted."""
    trust_switch_files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    trust_hides: bool = True
    """Whether an untrusted project's skills are hidden; otherwise only settings files that need trust do not count."""
    trust_default: str = "unknown"
    """The trust of a project about which nothing is set: `unknown` (its skills are shown), `trusted` or `untrusted`."""
    trust_note: str = ""
    """Set if the client loads project skills only in folders that its user trusts."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does, in words: lines of `prowess hosts NAME` by where they are: `precedence`,
    `settings` or `trust`."""
    suppressed_scopes: tuple[str, ...] = ()
    """Scopes whose findings the client does not report."""
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
