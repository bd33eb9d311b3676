"""Say which command adds an extra of Prowess where it is installed.

Prowess is on no package index, so nothing here installs it by name from one: the command names the clone, the file or
the address that it came from, as pip, pipx and uv recorded it (PEP 610, `direct_url.json`).
"""

from __future__ import annotations

import os
import re
import sys

from .text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from importlib.metadata import Distribution
    from typing import Any


def install_command(extra: str, *, prefix: str = sys.prefix, installed: Distribution | None = None) -> str:
    """Return the command that installs an extra with the program that installed Prowess.

    Args:
        extra: its name, such as `report`.
        prefix: the environment that Prowess is in.
        installed: its distribution there, if it is another one than that of this process.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = installed or distribution("prowess")
    except PackageNotFoundError:  # run from a folder of sources that is not installed
        return f"pip install {_quote(f'.[{extra}]')}"
    origin = _read_json(installed.read_text("direct_url.json"))
    tool, extras = _tool(prefix, installed)
    source = _source(origin, sorted({extra, *extras}))
    if source is None:  # an environment of pipx or `uv tool` is changed from inside, or else they install other tools
        return " ".join([_pip(prefix, installed), *map(_quote, _requirements(installed.requires or (), extra))])
    editable = " --editable" if _map(origin.get("dir_info")).get("editable") else ""
    return f"{tool}{editable} {_quote(source)}"


def missing_extra(package: str, extra: str, feature: str = "this adapter") -> str:
    """Return the message of an ImportError: what needs the package, and how to install it."""
    return f"{feature} needs {package}: {install_command(extra)}"


def _tool(prefix: str, installed: Distribution) -> tuple[str, Collection[str]]:
    """Return the beginning of the command, and the extras that a new installation would forget."""
    if (record := _read(os.path.join(prefix, "pipx_metadata.json"))) is not None:
        package = _map(_read_json(record).get("main_package")).get("package_or_url")
        found = re.search(r"\[([a-z0-9, -]+)\]", str(package))
        return "pipx install --force", [name.strip() for name in found[1].split(",")] if found else ()
    if (record := _read(os.path.join(prefix, "uv-receipt.toml"))) is not None:
        listed = re.search(r'name = "prowess", extras = (\[[^\]]*\])', record)
        return "uv tool install", re.findall(r'"([a-z0-9-]+)"', listed[1]) if listed else ()
    return _pip(prefix, installed), ()


def _pip(prefix: str, installed: Distribution) -> str:
    """Return the beginning of the command that installs packages into the environment."""
    python = _quote(os.path.join(prefix, "Scripts\\python.exe" if os.name == "nt" else "bin/python"))
    if (installed.read_text("INSTALLER") or "").strip() == "uv":
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _source(origin: dict[str, Any], extras: Iterable[str]) -> str | None:
    """Return what to install: a folder, or the package and its address, with extras; None if it is unknown."""
    address, names = origin.get("url"), f"[{','.join(extras)}]"
    if not isinstance(address, str):
        return None
    if address.startswith("file://"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        path = url2pathname(urlsplit(address).path)
        if not os.path.exists(path):
            return None
        if os.path.isdir(path):
            return path + names
    if version_control := _map(origin.get("vcs_info")):
        address = f"{version_control.get('vcs')}+{address}@{version_control.get('commit_id')}"
    return f"prowess{names} @ {address}"


def _requirements(requires: Iterable[str], extra: str) -> list[str]:
    """Return the packages of an extra."""
    rows = (line.partition(";") for line in requires)
    return [needed.strip() for needed, _, marker in rows if re.search(rf"extra == ['\"]{extra}['\"]", marker)]


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _read_json(text: str | None) -> dict[str, Any]:
    import json

    try:
        return _map(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _quote(text: str) -> str:
    """Return one word of a shell's line, readable also if the path is not plain."""
    text = neutral(text)
    return text if re.fullmatch(r"[\w./:@+~-]+", text, re.ASCII) else "'" + text.replace("'", "'\\''") + "'"
