"""A session: its ledger, and what a model is sent."""

from __future__ import annotations

import pickle
import re
import threading
import time
from typing import TYPE_CHECKING

import pytest

import prowess._internal.files
import prowess.session._activation
from prowess.catalog import LiveCatalog, State
from prowess.errors import ActivationError, ConfigError, SkillNotFoundError
from prowess.session import ActivationRecord, Session, Trust
from prowess.session._ledger import text_fingerprint
from support.sessions import SKILLS, discover_project, new_session
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_the_ledger_has_digest_arguments_turn_and_files_of_each_skill(project: Path) -> None:
    """In the order of their last activations."""
    session = new_session(project)
    assert (session.ledger, session.turn) == ((), 0)
    assert session.next_turn() == 1
    pdf = session.activate("pdf", "a.pdf")
    session.read("pdf", "SKILL.md")
    session.inject("now $manual")
    first, second = session.ledger
    assert first == ActivationRecord(
        name="pdf",
        path=f"{project}/{SKILLS}/pdf/SKILL.md",
        digest=prowess._internal.files.skill_digest(f"{project}/{SKILLS}/pdf"),
        fingerprint=first.fingerprint,
        arguments="a.pdf",
        turn=1,
        by="model",
        files=("SKILL.md",),
    )
    assert first.digest == pdf.digest
    assert (second.name, second.turn, second.by, second.arguments) == ("manual", 2, "user", None)
    session.activate("pdf", "b.pdf")
    assert [(item.name, item.arguments, item.turn, item.files) for item in session.ledger] == [
        ("manual", None, 2, ()),
        ("pdf", "b.pdf", 2, ("SKILL.md",)),
    ]


def test_a_session_belongs_to_one_conversation(project: Path) -> None:
    """Two sessions with one catalog are independent."""
    catalog = discover_project(project)
    one, other = Session(catalog), Session(catalog)
    one.activate("pdf")
    assert (other.ledger, other.tail(), other.activate("pdf").repeated) == ((), "", False)


def test_an_unknown_unit_or_format_is_an_error(project: Path) -> None:
    """When the session is created."""
    for wrong in ({"budget": 5, "unit": "words"}, {"format": "html"}):
        with pytest.raises(ConfigError):
            new_session(project, **wrong)


def test_ten_activations_in_two_threads_give_the_full_text_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long an activation takes."""
    session = new_session(project)

    def slow(text: str) -> str:
        time.sleep(0.01)
        return text_fingerprint(text)

    monkeypatch.setattr("prowess.session._session.text_fingerprint", slow)
    barrier = threading.Barrier(2)
    given: list[bool] = []

    def work() -> None:
        barrier.wait()
        given.extend(session.activate("pdf").repeated for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == [False] + [True] * 9
    assert len(session.ledger) == 1


def test_a_mentioned_skill_is_a_message_of_this_turn(project: Path) -> None:
    """In the shape that frameworks take; two mentions in a text are one message."""
    session = new_session(project)
    messages = session.inject("use $pdf, really $pdf, and $manual")
    folder = f"{project}/{SKILLS}"
    assert messages == [
        {
            "role": "user",
            "content": f'<skill_content name="{name}">\n{body}\n\nSkill directory: {folder}/{name}\n'
            "Paths in this skill are relative to that directory.\n</skill_content>",
            "meta_dict": {"skill": True},
        }
        for name, body in (("pdf", "Do pdf."), ("manual", "Do by hand."))
    ]
    assert (session.turn, session.warnings) == (1, ())
    (project / SKILLS / "pdf/SKILL.md").unlink()
    (warning,) = session.inject("$pdf")
    words = "the skill `pdf` cannot be read now: no such file"
    assert warning == {"role": "user", "content": f"warning: {words}", "meta_dict": {"skill": True}}
    assert session.warnings == (words,)
    assert session.inject("on") == []
    assert list(session.warnings) == []


def test_visible_content_is_not_injected_again(project: Path) -> None:
    """A skill that the model activated stays active after the turn."""
    session = new_session(project)
    content = session.activate("pdf").content
    assert session.inject("$pdf", visible=["x", content]) == []
    session.next_turn()
    assert session.activate("pdf").repeated is True
    assert len(session.inject("$pdf")) == 1
    session.next_turn()
    assert session.activate("pdf").repeated is True


def test_a_fork_has_the_same_skills_and_options_and_no_ledger(project: Path) -> None:
    """For another conversation; a live catalog stays live in it."""
    with LiveCatalog(project, home=project.parent / "home") as live:
        session = Session(live, budget=60, env={})
        session.inject("use $pdf")
        fork = session.fork()
        assert (fork.ledger, fork.turn, fork.static_block()) == ((), 0, session.static_block())
        skill(project / SKILLS / "new")
        fork.inject("use $new")
    assert [record.name for record in fork.ledger] == ["new"]
    assert [record.name for record in session.ledger] == ["pdf"]


def test_restart_clears_the_ledger(project: Path) -> None:
    """The catalog stays."""
    session = new_session(project)
    before = session.to_json(), session.static_block()
    session.inject("$pdf")
    session.activate("xls")
    session.restart()
    assert (session.to_json(), session.static_block()) == before
    assert (session.tail(), session.activate("xls").repeated) == ("", False)


def test_a_thousand_unknown_names_are_bounded(project: Path) -> None:
    """A message is written by anyone: what is kept of it stays small, and what the model gets."""
    session = new_session(project)
    text = " ".join(f"use the n{number} skill." for number in range(999))
    assert len(session.inject(text)) == 100
    assert len(session.to_json()) < 3000


def test_mentions_have_span_and_reason(project: Path) -> None:
    """Unresolved ones too."""
    text = "use $pdf; use the pptx skill"
    found = new_session(project).mentions(text)
    assert [(text[item.start : item.end], item.reason, item.entry is None) for item in found] == [
        ("$pdf", "sigil", False),
        ("use the pptx skill", "phrase", True),
    ]
    assert found[1].problem


def test_a_disabled_skill_is_not_read_any_more(project: Path) -> None:
    """Even if it is on the ledger."""
    session = new_session(project)
    session.activate("pdf")
    catalog = session.catalog
    session.update(
        catalog.with_changes(
            skills=tuple(item.with_changes(state=State.DISABLED, reason=None) for item in catalog.skills)
        )
    )
    with pytest.raises(ActivationError, match=r"^the skill `pdf` is disabled$"):
        session.read("pdf", "SKILL.md")
    assert "pdf (cannot be read now)" in session.tail()
    session.update(catalog.with_changes(skills=()))
    with pytest.raises(SkillNotFoundError):
        session.read("pdf", "SKILL.md")


def test_a_session_takes_over_a_record(project: Path) -> None:
    """In place: all that use the session see the record. An invalid record changes nothing."""
    session, other = new_session(project), new_session(project)
    other.next_turn()
    other.activate("pdf")
    session.restore(other.to_json())
    assert (session.turn, session.ledger) == (1, other.ledger)
    with pytest.raises(ConfigError, match="not the record of a session"):
        session.restore("{}")
    assert session.ledger == other.ledger


def test_a_pickled_session_continues(project: Path, tmp_path: Path) -> None:
    """Frameworks for durable runs pickle the arguments of a run."""
    session = Session(discover_project(project), budget=60, trust=Trust(str(tmp_path / "trust.json")))
    session.next_turn()
    session.activate("pdf")
    copy = pickle.loads(pickle.dumps(session))  # noqa: S301 - it is ours
    assert copy.to_json() == session.to_json()
    assert copy.static_block() == session.static_block()
    assert copy.trust.file == session.trust.file
    assert copy.activate("pdf").repeated


def test_a_path_in_place_of_a_catalog_is_refused_with_what_to_write() -> None:
    with pytest.raises(TypeError, match=re.escape("`Session(discover(path))`")):
        Session(".")  # type: ignore[arg-type]
