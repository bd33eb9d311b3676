"""Find the plugins of clients and the skills in them."""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._declared import (
        MANIFEST_FILES as MANIFEST_FILES,
        MANIFEST_NAMES as MANIFEST_NAMES,
        Plugin as Plugin,
        PluginReader as PluginReader,
    )
    from ._extensions import ExtensionFinder as ExtensionFinder, FolderRules as FolderRules
    from ._find_plugins import find_plugins as find_plugins
    from ._finder import (
        MAX_PLUGINS as MAX_PLUGINS,
        MAX_SKILL_FOLDERS as MAX_SKILL_FOLDERS,
        CommandPlace as CommandPlace,
        InstalledPlugin as InstalledPlugin,
        PluginCandidate as PluginCandidate,
        PluginFinder as PluginFinder,
        listed_texts as listed_texts,
    )
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
