"""Write files of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_file(path: Path, text: str | bytes) -> Path:
    """Write a file, and the folders that contain it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_files(top: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths below a folder, and return the folder."""
    for path, text in files.items():
        write_file(top / path, text)
    return top
