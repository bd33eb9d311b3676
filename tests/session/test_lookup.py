"""Which skill a name activates, and who may activate it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import prowess._internal.files
import prowess.session._activation
from prowess.catalog import State
from prowess.errors import ActivationError, AmbiguousSkillError, SkillNotFoundError
from prowess.session import Session
from prowess.session._lookup import find_by_name
from support.sessions import SKILLS, discover_project, new_session, tools_by_name
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("state", [State.SHADOWED, State.DISABLED, State.UNTRUSTED, State.REJECTED])
@pytest.mark.parametrize("by", ["model", "user"])
def test_an_inactive_skill_cannot_be_activated(state: State, by: str, project: Path) -> None:
    """Neither by the model nor by the user; the error has the reason."""
    catalog = discover_project(project)
    skills = tuple(
        item.with_changes(state=state, reason="so it is\x1b") if item.name == "xls" else item for item in catalog.skills
    )
    session = Session(catalog.with_changes(skills=skills))
    with pytest.raises(ActivationError, match=rf"^the skill `xls` is {state}: so it is\\x1b$") as caught:
        session.activate("xls", by=by)
    assert caught.value.hint == "go on without it"
    assert session.ledger == ()


@pytest.mark.parametrize("name", ["pdf", "PDF", "Pdf", "ｐｄｆ", "p\u200bdf", " ｐdf "])
def test_names_are_compared_normalized(name: str, project: Path) -> None:
    """Case, width and hidden characters do not matter; of two skills the active one is found."""
    assert new_session(project).activate(name).path == f"{project}/{SKILLS}/pdf/SKILL.md"


def test_composed_and_decomposed_names_are_the_same(project: Path) -> None:
    """As one file system or another writes them."""
    skill(project / SKILLS / "größe")
    assert new_session(project).activate("gro\u0308ße").name == "größe"
    assert new_session(project).activate("GRÖSSE").name == "größe"


@pytest.mark.parametrize("name", ["pfd", "{path}", "sha256:00", "{digest}", "project:pdf", "x" * 100_000, "", "\ud800"])
def test_the_name_a_model_gives_never_reads_all_skills(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a name and nothing else: no digest is computed for it."""
    session = new_session(project)
    digest = str(prowess._internal.files.skill_digest(f"{project}/{SKILLS}/pdf"))[7:]
    asked: list[str] = []
    for module in ("prowess._internal.files", "prowess.filesystem._filesystem", "prowess.session._activation"):
        monkeypatch.setattr(f"{module}.skill_digest", asked.append)
    monkeypatch.setattr("prowess.catalog.with_digest", lambda *given: asked.append(given[0].path))
    with pytest.raises(SkillNotFoundError) as caught:
        session.activate(name.format(path=f"{project}/{SKILLS}/pdf", digest=digest))
    assert asked == []
    assert len(str(caught.value)) < 200
    answer = tools_by_name(session)["read_skill_file"].call(name=name.format(path="/x", digest=digest), path="SKILL.md")
    assert answer.startswith("error: no skill is called ")
    assert asked == []


def test_two_active_skills_with_one_name_are_ambiguous(project: Path) -> None:
    """A client may show both; the paths are in the error."""
    catalog = discover_project(project)
    twins = tuple(item.with_changes(state=State.ACTIVE) for item in catalog.skills if item.name == "pdf")
    with pytest.raises(AmbiguousSkillError) as caught:
        Session(catalog.with_changes(skills=twins)).activate("pdf")
    assert caught.value.candidates == tuple(item.path for item in twins)
    assert len(twins) == 2


def test_a_folder_name_finds_the_active_skill(project: Path) -> None:
    """Not one that comes first and is shadowed."""
    catalog = discover_project(project)
    lost, won = (item.with_changes(name=f"{number}", folder="tool") for number, item in enumerate(catalog.skills[:2]))
    session = Session(
        catalog.with_changes(skills=(lost.with_changes(state=State.SHADOWED), won.with_changes(state=State.ACTIVE)))
    )
    assert find_by_name(session.catalog, "tool").name == "1"
