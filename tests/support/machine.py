"""A machine with a home and a repository, to write files on and to ask what an agent sees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog, discover

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.hosts import Host


@dataclass(frozen=True)
class Machine:
    """Paths are relative to its top: `home/...`, `repo/...`."""

    top: Path
    host: str | Host

    def write(self, path: str, value: Any = "") -> Path:
        """Write a file: bytes and text as they are, anything else as JSON."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, str | bytes) else json.dumps(value)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return file

    def skills(self, *folders: str) -> None:
        """Write skills that are called like their folders."""
        for folder in folders:
            name = folder.rpartition("/")[2]
            self.write(f"{folder}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\nDo it.\n")

    def catalog(self, *arguments: str) -> Catalog:
        """Return what the agent sees from the repository."""
        (self.top / "repo").mkdir(exist_ok=True)
        home = self.top / "home"
        return discover(self.top / "repo", host=self.host, home=home, env={}, client_args=arguments, cache=False)

    def active(self, *arguments: str) -> list[str]:
        """Return the names of the skills that its model sees."""
        return [entry.name for entry in self.catalog(*arguments).skills if entry.state == "active"]

    def problems(self) -> list[str]:
        """Return the codes of the findings that belong to no skill."""
        return [item.code for item in self.catalog().findings]
