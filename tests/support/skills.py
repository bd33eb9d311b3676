"""Write skills to disk, and make a machine with a home and a repository to discover them in."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess.catalog import Catalog, discover
from prowess.catalog._entry import Entry, State
from prowess.clients.settings import Settings
from prowess.hosts import Host, load_host
from prowess.skill import Requirements, Skill

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


def make_entry(name: str, description: str = "", path: str | None = None, **more: Any) -> Entry:
    """Return an active entry that is on no disk."""
    fields: dict[str, Any] = {
        "name": name,
        "frontmatter_name": name,
        "folder": name,
        "description": description,
        "path": path or f"/skills/{name}/SKILL.md",
        "real": path or f"/skills/{name}/SKILL.md",
        "scope": "project",
        "root": "/skills",
        "state": State.ACTIVE,
        "rule": "found",
        "requirements": Requirements(),
        "skill": Skill(name=name, description=description),
        **more,
    }
    return Entry(**fields)


def make_catalog(*entries: Entry, host: str = "prowess") -> Catalog:
    """Return a catalog of these entries, without a budget of the host."""
    return Catalog(
        host=load_host(host),
        cwd="/",
        home="/home",
        skills=entries,
        findings=(),
        scan_roots=(),
        settings=Settings(),
    )


@dataclass(frozen=True, slots=True)
class FakeMachine:
    """A directory with a home, a repository and an `/etc`, seen by one host."""

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
        """Return the host with its roots in `/etc` moved into this machine."""
        host = load_host(self.host)
        roots = tuple(
            replace(root, path=str(self.top) + root.path) if root.path.startswith("/etc/") else root
            for root in host.roots
        )
        return replace(host, roots=roots)

    def discover_skills(self, cwd: Path | None = None, **more: Any) -> Catalog:
        """Return the catalog of the host."""
        return discover(cwd or self.repo, host=self.load_relocated_host(), home=self.home, env=self.env, **more)

    def states(self, cwd: Path | None = None, **more: Any) -> dict[str, str]:
        """Return the state of each skill by its folder, relative to the machine."""
        return {
            self.relative_folder(entry.path): str(entry.state) for entry in self.discover_skills(cwd, **more).skills
        }

    def active(self, cwd: Path | None = None, **more: Any) -> dict[str, str]:
        """Return the folder of each active skill by name, in order, relative to the machine."""
        return {entry.name: self.relative_folder(entry.path) for entry in self.discover_skills(cwd, **more).active}

    def relative_folder(self, path: str) -> str:
        """Return the folder of a SKILL.md, relative to the machine."""
        return os.path.relpath(path, self.top).removesuffix("/SKILL.md")


def make_machine(top: Path, host: str, **env: str) -> FakeMachine:
    """Make a machine without skills."""
    top = top.resolve()
    (top / "home").mkdir(parents=True)
    (top / "repo" / ".git").mkdir(parents=True)
    return FakeMachine(top, host, env)


def entry_in_folder(entries: Sequence[Entry] | Catalog, folder: str) -> Entry:
    """Return the only entry whose folder has this name."""
    candidates = entries.skills if isinstance(entries, Catalog) else entries
    (entry,) = (entry for entry in candidates if entry.folder == folder)
    return entry


def finding_codes(catalog: Catalog) -> list[str]:
    """Return the codes of all findings, including those of skills, sorted."""
    of_skills = [item.code for entry in catalog.skills for item in entry.findings]
    return sorted([item.code for item in catalog.findings] + of_skills)


BANK_MESSAGE, GARDEN_MESSAGE = "my bank statements do not match", "when do I sow vegetables?"
"""Messages that need the skills `z-books` and `y-garden` of `write_many_skills`."""


def write_many_skills(root: Path) -> None:
    """Write sixty skills into a skills folder, of which a small budget shows the first few."""
    for number in range(58):
        skill(root / f"a-{number:02}", description=f"Paints picture {number}. " + "Uses brushes. " * 9)
    skill(root / "y-garden", description="Plans where vegetables are sown.")
    skill(root / "z-books", description="Reconciles bank statements.")


def add_endless_script(folder: Path, seconds: int) -> None:
    """Write a script `wait.sh` into the folder of a skill: two processes that `processes_with(str(seconds))` finds."""
    (folder / "wait.sh").write_text(f"#!/bin/sh\nsleep {seconds} &\nsleep {seconds}\n", encoding="utf-8")
