"""Write tiny packages for tests that install some: wheels in a folder, and packages of Node.js in a registry."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

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


def write_npm_package(registry: Path, package: Mapping[str, Any], files: Mapping[str, str]) -> None:
    """Write a package into a folder that a web server serves as a registry of npm."""
    name, version = package["name"], package["version"]
    registry.mkdir(parents=True, exist_ok=True)
    tarball = registry / f"{name}-{version}.tgz"
    with tarfile.open(tarball, "w:gz") as archive:
        for path, text in {**files, "package.json": json.dumps(package)}.items():
            row = tarfile.TarInfo(f"package/{path}")
            row.size = len(text.encode())
            archive.addfile(row, io.BytesIO(text.encode()))
    digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
    dist = {"tarball": f"/{tarball.name}", "integrity": f"sha512-{digest}"}
    about = {"name": name, "dist-tags": {"latest": version}, "versions": {version: {**package, "dist": dist}}}
    (registry / name).write_text(json.dumps(about))


def point_to_tarballs(registry: Path, url: str) -> None:
    """Complete the addresses of tarballs, which are known when the server runs."""
    for path in registry.iterdir():
        if path.suffix != ".tgz":
            path.write_text(path.read_text().replace('"tarball": "/', f'"tarball": "{url}/'))
