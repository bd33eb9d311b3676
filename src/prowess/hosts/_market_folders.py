"""Define what a host file can say about marketplaces whose plugins are read where they are.

Each class is a table of the file, as in `_host`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MarketFolderRules"]


class MarketFolderRules(Frozen):
    """Plugins of marketplaces: those in folders that the settings name, and copies that the client has installed.

    The plugin `PLUGIN` of the marketplace `MARKET` is `PLUGIN@MARKET` for the settings.
    """

    setting: str = ""
    """A dotted key of the settings files: the name of a marketplace to a table whose `source` is a table with
    `source = "directory"` and `path`: absolute, `~/...`, or relative to the project in a file that needs trust."""
    switches: str = ""
    """A dotted key of the settings files: `PLUGIN@MARKET` to whether it is on; others are off."""
    files: tuple[str, ...] = ()
    """The files that list the plugins of a marketplace, in its folder; the first that exists counts."""
    types: Mapping[str, str] = EMPTY
    """The types of their values, as in `settings_types`; one wrong type, and none of its plugins counts."""
    listed: str = ""
    """A JSON file with the copies that the client has installed, as `path` of a root; of a marketplace whose folder the
    settings name, copies do not count."""
    listed_key: str = ""
    """The dotted key of that list. Its entries have `name`, `marketplace`, and `enabled`, which counts if `marketplace`
    is empty, or if no settings file of the user has `switches` and none switches the plugin."""
    listed_types: Mapping[str, str] = EMPTY
    """The types in that list; one wrong type, and no copy counts."""
    listed_folder: str = ""
    """The key of an entry with the folder of the copy; relative to the working directory."""
    listed_usual: str = ""
    """The folder, as `path` of a root, that has the copies of entries without `listed_folder`, in `MARKET/PLUGIN`; only
    the client's own list looks there, and its model does not see their skills."""
    listed_bare: str = "all"
    """Whether entries count that have neither a `marketplace` nor a `source`: `all`, `others` (only the others), or
    `only` (no others; they are always on and come first)."""
    argument: str = ""
    """An argument of the client whose values are folders of plugins: with a manifest, or with one SKILL.md."""
    manifests: tuple[str, ...] = ()
    """The manifest, in the folder of a plugin; the first that is JSON counts."""
    skills: str = "skills"
    """The folder of its skills, if its manifest does not name others under `skills`: text, a list of texts that
    replaces it, or a table with `paths`, which come in addition unless `exclusive` there is true; anything else is
    no folder. A plugin without such a folder, whose manifest names none, is one skill itself if it has a SKILL.md."""
    commands: str = ""
    """The folder of its commands, the same under `commands`; for roots with `files`."""
