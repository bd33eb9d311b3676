"""Write wheels of tiny packages, for tests that install packages without an index."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str], requires: Iterable[str] = ()) -> Path:
    """Write a wheel with these files, which needs these packages."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    content = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in content.items()]
    path = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in {**content, f"{info}/RECORD": "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"}.items():
            archive.writestr(inner, text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
