"""Serve a role over HTTP with OpenAI's chat completions API.

Front door: `RoleBackend` answers with a role, and `serve` serves a backend. Needs Starlette and uvicorn, and for
`RoleBackend` Pydantic AI. Nothing here knows the command line.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._connections import BoundedServer as BoundedServer, default_limits as default_limits
    from ._role_backend import RoleBackend as RoleBackend
    from ._server import listen as listen, make_server as make_server, serve as serve
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
