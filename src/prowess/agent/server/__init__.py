"""conversations over HTTP, as OpenAI's API has them

`POST /v1/chat/completions`, with streaming, `GET /v1/models` and `GET /healthz`. Who answers is an `Answerer`. Any page
in a browser can send requests to this machine, so a request must name this machine as its host, come from no other
site, and be JSON, which a page may not send elsewhere unasked.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._conversations import RoleBackend
    from ._server import listen, make_app, make_server, serve

__all__ = [
    "RoleBackend",
    "listen",
    "make_app",
    "make_server",
    "serve",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_conversations": ("RoleBackend",),
            "_server": (
                "listen",
                "make_app",
                "make_server",
                "serve",
            ),
        },
    )
