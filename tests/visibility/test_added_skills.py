"""Who will see skills before they are installed: the same as afterwards."""

from __future__ import annotations

import os
import shutil
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from prowess.filesystem import Question
from prowess.hosts import DEFAULT_HOST, host_names
from prowess.visibility import AddedSkill, Kind, compare, views_after
from support.files import write_file
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prowess.visibility import View

HOSTS = tuple(name for name in host_names() if name != DEFAULT_HOST)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with some skills, a home with settings, and skills elsewhere, and go to the project."""
    top = tmp_path.resolve()
    project, home = top / "project", top / "home"
    write_repository(project / ".git")
    skill(project / ".agents/skills/old")
    skill(home / ".claude/skills/csv", description="Of the user.")
    write_file(
        home / ".codex/config.toml", f'[[skills.config]]\npath = "{project}/.agents/skills/xls"\nenabled = false\n'
    )
    for name in ("pdf", "csv", "xls"):
        skill(top / "source" / name)
    skill(top / "source/notes", description="Use when: a release is due")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return project


def install(skills: Sequence[AddedSkill]) -> None:
    """Write skills as they were announced."""
    for added in skills:
        for folder in sorted(added.folders, key=added.leads_on):
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            if added.leads_on(folder):
                os.symlink(added.target, folder)
            else:
                shutil.copytree(added.source, folder)


def views_now(skills: Sequence[AddedSkill]) -> list[dict[str, View]]:
    """Return how each agent sees skills that are installed: the best of their copies."""
    files = [[os.path.join(folder, "SKILL.md") for folder in added.folders] for added in skills]
    found = compare(Question.about("."), hosts=HOSTS, files=chain(*files), only_files=True, cache=False).skills
    rows = {row.real: row.views for row in found}
    order = [*Kind]
    return [
        {
            host: min((rows[os.path.realpath(file)][host] for file in copies), key=lambda view: order.index(view.kind))
            for host in HOSTS
        }
        for copies in files
    ]


@pytest.mark.parametrize("layout", ["shared", "linked", "copied", "link to the source", "folder that is a link"])
def test_skills_are_seen_as_after_installing_them(project: Path, layout: str) -> None:
    if layout == "folder that is a link":
        (project / ".claude").mkdir()
        (project / ".claude/skills").symlink_to("../.agents/skills")
    more = {"linked": [".claude/skills", ".goose/skills"], "copied": [".claude/skills", ".camel/skills"]}.get(
        layout, []
    )
    skills = [
        AddedSkill(
            folders=tuple(f"{project}/{folder}/{name}" for folder in (".agents/skills", *more)),
            source=f"{project.parent}/source/{name}",
            is_link=layout == "link to the source",
            links=tuple(f"{project}/{folder}/{name}" for folder in (more if layout == "linked" else ())),
        )
        for name in ("pdf", "csv", "xls", "notes")
    ]
    before = views_after(skills, Question.about("."), HOSTS)
    assert not (project / ".agents/skills/pdf").exists()
    install(skills)
    assert before == views_now(skills)
    kinds = {name: {views[host].kind for host in HOSTS} for name, views in zip(("pdf", "xls"), before, strict=False)}
    assert Kind.SEEN in kinds["pdf"]


def test_a_new_version_is_seen_in_place_of_the_one_that_is_installed(project: Path) -> None:
    folder = project / ".agents/skills/old"
    write_file(folder / "SKILL.md", "no skill")
    skill(project.parent / "source/old", description="A new one.")
    added = AddedSkill(folders=(str(folder),), source=str(project.parent / "source/old"))
    (views,) = views_after([added], Question.about("."), ["codex", "claude-code"])
    assert {host: view.kind for host, view in views.items()} == {"codex": Kind.SEEN, "claude-code": Kind.ELSEWHERE}
    assert (folder / "SKILL.md").read_text() == "no skill"
