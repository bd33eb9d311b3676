"""Projects with skills, and sessions on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.catalog import discover
from prowess.session import Session
from support.skills import entry_in_folder, skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog, Entry
    from prowess.session import Tool

SKILLS = ".agents/skills"


def write_project(top: Path) -> Path:
    """Write a repository without skills, and return its folder."""
    (top / ".git").mkdir(parents=True)
    return top


def write_skill_with_script(project: Path, name: str) -> None:
    """Write a skill with the script `scripts/run.py`."""
    script_of(project, name, parents=True).write_text("print(1)\n")
    skill(project / SKILLS / name)


def script_of(project: Path, name: str = "pdf", *, parents: bool = False) -> Path:
    """Return the path of the script of a skill."""
    path = project / SKILLS / name / "scripts/run.py"
    if parents:
        path.parent.mkdir(parents=True)
    return path


def discover_project(project: Path, **options: Any) -> Catalog:
    """Return the catalog of a project; the home is beside it."""
    return discover(project, home=project.parent / "home", env={}, cache=False, **options)


def entry_of(project: Path, name: str = "pdf", **options: Any) -> Entry:
    """Return the entry of a skill of a project, by its folder."""
    return entry_in_folder(discover_project(project, **options), name)


def new_session(project: Path, **options: Any) -> Session:
    """Return a session on the catalog of a project."""
    return Session(discover_project(project), env={}, **options)


def tools_by_name(session: Session) -> dict[str, Tool]:
    """Return the tools of a session."""
    return {tool.name: tool for tool in session.tools()}
