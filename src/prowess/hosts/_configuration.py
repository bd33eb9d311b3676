"""Define what a host file can say about its users: their settings files, switches and arguments.

Each class is a table of the file, as in `_host`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Argument", "Setting", "SettingsFile"]


class SettingsFile(Frozen):
    """A settings file of the client: JSON with comments, TOML or YAML, by its name."""

    path: str
    """Relative to a project folder, `~/...`, or absolute; `$VAR/...|~/...` as in `path` of a root; `@arguments` is what
    the arguments with the effect `set` say. A name with `*`, for any text, is all such files that are not hidden; the
    last one counts first."""
    argument: str = ""
    """An argument of the client; a relative path belongs to each folder that it names, the last one first."""
    where: str = "cwd"
    """The project folders to which a relative path belongs: `cwd` (the working directory), `project` (the git root, or
    the working directory without one), `both` (first the working directory, then the git root), `upwards` (each folder
    from the working directory up to the git root, the nearest first), `downwards` (the same, the git root first)."""
    without_git: str = "none"
    """For `upwards` and `downwards` outside a git repository: `none`, or `filesystem-root` (all parents)."""
    beside: tuple[str, ...] = ()
    """Names of further files in the same folder; each counts after the ones before it."""
    inline: bool = False
    """Whether the variable of `path` contains the text of the file instead of its path."""
    under: str = ""
    """A dotted key; the file contains only the value of this key."""
    markdown: str = ""
    """If set, `path` and `beside` are folders: the front matter of each Markdown file in them, at any depth, is the
    value of this key and the name of the file."""
    substitutes: bool = False
    """Whether `{env:NAME}` and `{file:PATH}` in its text are replaced before it is read."""
    unless: tuple[str, ...] = ()
    """Environment variables; if one of them is true, as `unless` of a root, the file does not count."""
    apart: bool = False
    """Whether it counts only for the settings that name it."""
    needs_trust: bool = False
    """Whether it counts only if the project is trusted."""
    trust_of: str = "project"
    """Which folder must be trusted then: the `project`, or the working directory (`cwd`), which may be below it."""
    not_untrusted: bool = False
    """Whether it counts only if the project is not untrusted; unlike with `needs_trust`, nothing may be known of it."""
    source: str = ""
    """How an argument that lists settings files calls it, if not by its name."""
    always: bool = False
    """Whether it counts even if an argument lists the settings files that count."""
    invalid: str = "ignored"
    """What the client does if it cannot read the file: `ignored`, or `stops` (it refuses to start, so that no skill is
    seen). A file that only says which folders are trusted is read only if nothing before it decides."""
    wrong_type: str = "ignored"
    """What it does if a value has not the type in `settings_types`: `ignored`, `key` (the key does not count), `void`
    (the whole file does not count), `stops`, or `stops-merged` (only what the files say together is checked)."""
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
    toml: str = "1.0"
    """The version of TOML that the client reads."""
    variables: bool = False
    """Whether `$NAME`, `${NAME}` and `${NAME:-TEXT}` in texts are replaced by environment variables."""
    variable_defaults: bool = True
    """Whether `${NAME:-TEXT}` is TEXT if the variable is not set; otherwise it stays as it is, like any other name."""
    keys: tuple[str, ...] = ()
    """The keys at its top that count in this file; empty for all."""
    types: Mapping[str, str] = EMPTY
    """The types of this file alone, in place of `settings_types`; needed for a file that counts `apart`."""


class Setting(Frozen):
    """A key of settings files with which the user of the client disables skills."""

    key: str
    """Dotted path of keys; `{agent}` is the agent that runs."""
    files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    form: str
    """`names` (a list of disabled names), `effects` (name to effect), `entries` (a list of tables with `name` or `path`
    and `enabled`), `switch` (false disables all skills), `folders` (folder to trust word), `folder-lists`
    (trust word to folders), `trust` (a trust word),
    `trusted` (a list of folders; a project is trusted if it or a folder above it is in the list),
    `rules` (pattern of tools to effect, or to a table of name pattern to effect; the last that matches counts),
    `file-trust` (folder to trust word, for settings files that need trust: the folder of the file decides, then that of
    the project, then the main working tree of its repository), `catalog` (false hides all skills from the model),
    `denied` (a list of rules about tools; if one denies `tool` as a whole, all skills are hidden from the model),
    `closed` (a list of words with `effects`, or anything but false for all of them: some roots are not read),
    `variables` (environment variables, which replace those of the environment),
    `budget` (a number that replaces the limit of the budget), `tools` (a list of the model's tools),
    `bundled` (false removes the client's own skills),
    `description` (a number that replaces the limit of descriptions),
    `unread` (a list of folders, absolute or `~/...`, in which no root is read), `scopes` (a list of words for scopes
    whose folders are not read), `filter` (patterns of names, where
    `re:` begins a regular expression; `effects` says what becomes of skills that `match` and of the `rest`, but not of
    those of plugins; the first such setting that is not empty counts)."""
    word: str = ""
    """For `file-trust` and `folders`: the key with the trust word, if the value of a folder is a table."""
    part: float = 1
    """For `budget`: the part of the number that counts."""
    effects: Mapping[str, str] = EMPTY
    """For `effects`: the client's word to `off` (listed as disabled), `gone` (no longer listed), `name-only`,
    `user-only` or `on`; for `names`: the effect of being listed, as `off`; for `folders`, `folder-lists` and
    `trust`: to `trusted`, `untrusted`, or `parent-trusted` (the folder that contains it); for `scopes`: to
    scopes; for `closed`: to `closed` or `partly`, the roots that are not read."""
    nearest: str = "exact"
    """For `folders`: which of the folders that contain the working directory counts: the nearest by its `exact` path,
    the `deepest` with links resolved (of two, the untrusted one), the one with the `longest` text, or only the
    `project` (the main working tree of its repository, or the working directory without one)."""
    unless: str = ""
    """Another key of the same form in the same file (with `union`: in any), with names that stay enabled."""
    patterns: bool = False
    """For `effects`: whether names may contain `*` and `?`; the last one that matches counts."""
    tool: str = ""
    """For `rules` and `denied`: the tool that loads skills."""
    over: str = ""
    """For `rules`: another key of the same form, whose table this one is merged over."""
    fold: bool = False
    """Whether names are compared without case."""
    trim: bool = True
    """For `fold`: whether white space around names in the file is ignored."""
    single: bool = False
    """For `names` with `union`: whether a text instead of a list is one name even if no lower file has a list."""
    any_value: bool = False
    """For `switch`: whether each value counts as in JavaScript: false, 0 and an empty text mean no, others yes."""
    merge: str = "join"
    """How the values of several files are merged: `join` (all count), `first` (the highest that has the key), `deep`
    (tables are merged key by key, anything else of a higher file replaces that of a lower one) or `union` (lists are
    joined, lowest first; anything but a table on the way to the key replaces what lower files have there)."""


class Argument(Frozen):
    """An argument of the client that changes which skills it sees."""

    name: str
    """As the user types it: `--add-dir`."""
    values: str = "none"
    """What follows it: `none`, `one` value (also after `=`), or `many` (all up to the next argument that begins with
    `-`)."""
    effect: str
    """`roots` (its values are directories of a root that names it in `argument`), `only-roots` (the same, and other
    roots of projects and users do not count), `trusted` or `untrusted` (the
    project), `off` (no skills at all), `files` (its value lists the settings files that count, separated by commas),
    `agent` (its value is the agent that runs), `set` (its value is a line of a settings file, see `sets`),
    `plugins` (its values are folders of plugins, of a table that names it), `only-plugins` (its values, separated by
    commas, name the only plugins that count, without case), `sources` (as `files`, and the roots of scope `user` or
    `project` that it does not list are not read), `settings` (its value is JSON, or a file with it, for the settings
    file `@arguments`), `named` (no skills but those that arguments name), `variable` (it sets the variable in `sets`
    to its value, a folder: absolute, `~/...` or relative to the working directory), `denied-tools` (its values are
    rules of the setting of the form `denied`), `only-tools` (its values are names of tools; unless `tool` or `default`
    is one of them, all skills are hidden from the model), `tools` (its value, separated by commas, names the only tools
    of the model), `not-tools` (those that it does not have), `no-tools` (no tools, unless another argument names
    some)."""
    tool: str = ""
    """For `denied-tools` and `only-tools`: the tool that loads skills."""
    sets: str = "{value}"
    """For `set`: `KEY=VALUE`, with a dotted key and a value in TOML; a value that is invalid is text. Arguments with
    the default come first, and the last one for a key counts."""
