"""Skills on the disk, in a word or two: what most tests about finding and deciding need."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog, discover
from prowess.hosts import Host, load_host

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog._entry import Entry

DESCRIPTION_TEMPLATE = "Does {0}. Use it for {0}."


def skill(
    folder: Path, name: str | None = None, description: str | None = None, *, more: str = "", body: str = ""
) -> Path:
    """Write a skill into a folder and return the path of its SKILL.md."""
    folder.mkdir(parents=True, exist_ok=True)
    name = folder.name if name is None else name
    words = DESCRIPTION_TEMPLATE.format(name) if description is None else description
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: {words}\n{more}---\n{body or 'Do it.'}\n", encoding="utf-8")
    return file


@dataclass(frozen=True, slots=True)
class FakeMachine:
    """A home, a repository with a folder inside, an `/etc` of its own, and one agent that looks at them."""

    top: Path
    host: str
    env: dict[str, str]

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def repo(self) -> Path:
        return self.top / "repo"

    @property
    def etc(self) -> Path:
        return self.top / "etc"

    def load_relocated_host(self) -> Host:
        """Return the host with `/etc` moved into this world."""
        host = load_host(self.host)
        roots = tuple(
            replace(root, path=str(self.top) + root.path) if root.path.startswith("/etc/") else root
            for root in host.roots
        )
        return replace(host, roots=roots)

    def discover_skills(self, cwd: Path | None = None, **more: Any) -> Catalog:
        """Return what the agent sees."""
        return discover(cwd or self.repo, host=self.load_relocated_host(), home=self.home, env=self.env, **more)

    def states(self, cwd: Path | None = None, **more: Any) -> dict[str, str]:
        """Return what the agent sees: path below this world to state."""
        return {
            self.relative_folder(entry.path): str(entry.state) for entry in self.discover_skills(cwd, **more).skills
        }

    def active(self, cwd: Path | None = None, **more: Any) -> dict[str, str]:
        """Return what the agent's model gets: name to path below this world, in order."""
        return {entry.name: self.relative_folder(entry.path) for entry in self.discover_skills(cwd, **more).active}

    def relative_folder(self, path: str) -> str:
        """Write the path of a SKILL.md by its folder, relative to this world."""
        return os.path.relpath(path, self.top).removesuffix("/SKILL.md")


def make_machine(top: Path, host: str, **env: str) -> FakeMachine:
    """Make an empty world."""
    top = top.resolve()
    (top / "home").mkdir(parents=True)
    (top / "repo" / ".git").mkdir(parents=True)
    return FakeMachine(top, host, env)


def entry_in_folder(entries: tuple[Entry, ...] | Catalog, folder: str) -> Entry:
    """Return the one entry whose folder has this name."""
    found = entries.skills if isinstance(entries, Catalog) else entries
    (entry,) = (entry for entry in found if entry.folder == folder)
    return entry


def finding_codes(catalog: Catalog) -> list[str]:
    """Return the codes of all findings, those of the skills included, sorted."""
    of_skills = [item.code for entry in catalog.skills for item in entry.findings]
    return sorted([item.code for item in catalog.findings] + of_skills)
