"""Find where a server of git moved a repository. Git itself would follow a redirect to any host."""

from __future__ import annotations

import time

__all__ = ["moved_url"]

_SUFFIX = "/info/refs"
_MAX_ANSWER = 1 << 20
_TIMEOUT = 30.0


def moved_url(url: str) -> str | None:
    """Return the new URL of a repository on the same server, or `None` if the server does not say so.

    No credentials are sent.

    Raises:
        InstallError: it is on another server, or the server cannot be reached.
    """
    from prowess.install._http import HttpSource  # takes as long to load as all the rest

    with HttpSource(url) as server:
        response = server.request(
            "GET",
            f"{url.rstrip('/')}{_SUFFIX}?service=git-upload-pack",
            headers={"Git-Protocol": "version=2"},
            limit=_MAX_ANSWER,
            deadline=time.monotonic() + _TIMEOUT,
        )
    moved = response.url.text.partition("?")[0]
    return moved.removesuffix(_SUFFIX) if moved.endswith(_SUFFIX) else None
