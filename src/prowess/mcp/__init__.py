"""Serve the skills of a catalog over the Model Context Protocol.

Front door: `server` (a catalog to a server of the protocol) and `ServedCatalog` (what it serves). Nothing here is
imported elsewhere: the package `mcp` is an extra.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._served import ServedCatalog as ServedCatalog, ServedFile as ServedFile, ServedSkill as ServedSkill
    from .server import server as server
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(
        __name__, {"_served": ("ServedCatalog", "ServedFile", "ServedSkill"), "server": ("server",)}
    )
