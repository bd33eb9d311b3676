"""Serve skills over the Model Context Protocol, and read those of other servers.

Front door: `server` (a catalog to a server of the protocol), `ServedCatalog` (what it serves) and `McpSkillProvider`
(the skills of another server). Nothing here is imported elsewhere: a server needs the package `mcp`, an extra.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._check_server import (
        ServerFinding as ServerFinding,
        ServerReport as ServerReport,
        check_server as check_server,
    )
    from ._http import http_app as http_app
    from ._served import (
        ServedCatalog as ServedCatalog,
        ServedFile as ServedFile,
        ServedSkill as ServedSkill,
        served_skills as served_skills,
    )
    from ._server import SkillServer as SkillServer, server as server
    from ._settings import configured_servers as configured_servers, list_together as list_together
    from ._stdio import serve_stdio as serve_stdio
    from .client import McpSkillProvider as McpSkillProvider
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
