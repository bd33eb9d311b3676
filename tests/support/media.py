"""An image and a document, as small as they can be."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"


def write_media(folder: Path) -> None:
    """Write both into a folder, as `map.png` and `map.pdf`."""
    for name, data in (("map.png", PNG), ("map.pdf", PDF)):
        (folder / name).write_bytes(data)
