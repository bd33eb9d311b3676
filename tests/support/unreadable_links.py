"""Make a link that exists and cannot be read, as `/proc/1/root` is for users who are not root."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def refuse_to_read(link: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `os.readlink` fail for one link; what is behind it can still be opened."""
    read_link = os.readlink

    def refuse(path: Any, **options: Any) -> Any:
        if os.fspath(path) == str(link):
            raise PermissionError(13, "Permission denied", str(link))
        return read_link(path, **options)

    monkeypatch.setattr(os, "readlink", refuse)
