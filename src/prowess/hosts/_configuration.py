"""Define what a host file can say about its users: their settings files, switches and arguments.

Each class is a table of the file, as in `_host`. What only one client does with its settings is in its module,
`clients/NAME.py`, and the host file says it in words: `doc` of a setting or an argument, `note` of a file.
"""

from __future__ import annotations

from prowess._internal.frozen import Frozen


class SettingsFile(Frozen):
    """A settings file of the client: JSON with comments, TOML or YAML, by its name."""

    path: str
    """Relative to a project folder, `~/...`, or absolute; `$VAR/...|~/...` as in `path` of a root; `@arguments` is what
    the arguments with the effect `settings` say."""
    where: str = "cwd"
    """The project folders to which a relative path belongs: `cwd` (the working directory), `project` (the git root, or
    the working directory without one), `both` (first the working directory, then the git root), `upwards` (each folder
    from the working directory up to the git root, the nearest first)."""
    note: str = ""
    """Where it is and when it counts, in words, if the client's module says more than `where`, `keys` and
    `needs_trust`."""
    apart: bool = False
    """Whether it counts only for the settings that name it."""
    needs_trust: bool = False
    """Whether it counts only if the project is trusted."""
    invalid: str = "ignored"
    """What the client does if it cannot read the file: `ignored`, or `stops` (it refuses to start, so that no skill is
    seen). A file that only says which folders are trusted is read only if nothing before it decides."""
    wrong_type: str = "ignored"
    """What it does if a value has not the type in `settings_types`: `ignored`, `key` (the key does not count), `void`
    (the whole file does not count), `stops`, or `stops-merged` (the client's module checks what the files say
    together)."""
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
    keys: tuple[str, ...] = ()
    """The keys at its top that count in this file; empty for all."""


class Setting(Frozen):
    """A key of settings files with which the user of the client disables skills."""

    key: str = ""
    """Dotted path of keys; `{agent}` is the agent that runs. Empty if the value is the whole file."""
    files: tuple[str, ...] = ()
    """The names of the settings files that may have it; empty for all that are not `apart`."""
    form: str = ""
    """`names` (a list of disabled names), `switch` (false disables all skills), `budget` (a number that replaces the
    limit of the budget), `trust` (the client's module reads which folders are trusted); empty if the client's module
    reads it."""
    doc: str = ""
    """What it does, in words with an example, if the client's module reads it."""
    part: float = 1
    """For `budget`: the part of the number that counts."""
    merge: str = "join"
    """How the values of several files are merged: `join` (all count) or `first` (the highest that has the key). The
    setting of a root or of plugins can also say `deep` (tables are merged key by key, anything else of a higher file
    replaces that of a lower one) or `union` (lists are joined, lowest first; anything but a table on the way to the key
    replaces what lower files have there)."""


class Argument(Frozen):
    """An argument of the client that changes which skills it sees."""

    name: str
    """As the user types it: `--add-dir`."""
    values: str = "none"
    """What follows it: `none`, `one` value (also after `=`), or `many` (all up to the next argument that begins with
    `-`)."""
    effect: str = ""
    """`roots` (its values are directories of a root that names it in `argument`), `trusted` or `untrusted` (the
    project), `only-plugins` (its values, separated by commas, name the only plugins that count, without case), `tools`
    (its value, separated by commas, names the only tools of the model), `not-tools` (those that it does not have),
    `settings` (the client's module reads it as a part of the settings file `@arguments`); empty if it does something
    else for the client's module."""
    doc: str = ""
    """What it does, in words, if the client's module reads it."""
