"""A server on the loopback address, for the time of a `with` block."""

from __future__ import annotations

import socketserver
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class LoopbackServer(socketserver.ThreadingTCPServer):
    """Listens at `url`, on a free port."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    """Fifty clients connect at the same moment."""

    def __init__(self, handler: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.port = int(self.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection early."""
