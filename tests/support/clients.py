"""Write files of a home and a repository, and ask what a client sees from there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog, discover
from prowess.hosts import load_host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prowess.hosts import Host


def write(top: Path, files: Mapping[str, Any]) -> None:
    """Write files below a folder: `NAME/` is a skill, bytes and texts are as they are, other values JSON.

    `TOP` in a text or a value is the folder.
    """
    for path, value in files.items():
        if path.endswith("/"):
            name = path.rstrip("/").rpartition("/")[2]
            path, value = f"{path}SKILL.md", f"---\nname: {name}\ndescription: {value or 'd'}\n---\nDo it.\n"
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str | bytes) else json.dumps(value)
        file.write_bytes(text if isinstance(text, bytes) else text.replace("TOP", str(top)).encode())


def see(
    top: Path, host: str | Host, files: Mapping[str, Any], *args: str, cwd: str = "repo", env: Mapping[str, str] = {}
) -> Catalog:
    """Write files, and return the catalog of a client that is started in the repository with some arguments."""
    write(top, files)
    (top / cwd).mkdir(parents=True, exist_ok=True)
    given = [arg.replace("TOP", str(top)) for arg in args]
    env = {name: value.replace("TOP", str(top)) for name, value in env.items()}
    return discover(top / cwd, host=host, home=top / "home", env=env, client_args=given, cache=False)


def states(top: Path, host: str | Host, files: Mapping[str, Any], *args: str, **more: Any) -> dict[str, str]:
    """Return the state of each skill by its name."""
    return {entry.name: str(entry.state) for entry in see(top, host, files, *args, **more).skills}


def active(top: Path, host: str | Host, files: Mapping[str, Any], *args: str, **more: Any) -> list[str]:
    """Return the names of the skills that the model sees."""
    return [name for name, state in states(top, host, files, *args, **more).items() if state == "active"]


def with_managed_files_at_home(host: str) -> Host:
    """Return a client whose managed folders and files are in `~/etc`, where a test may write."""
    one = load_host(host)
    files = {
        name: file.with_changes(path=file.path.replace("/etc/", "~/etc/")) for name, file in one.settings_files.items()
    }
    roots = [root.with_changes(path=root.path.replace("/etc/", "~/etc/")) for root in one.roots]
    return one.with_changes(settings_files=files, roots=tuple(roots))
