"""A session: its ledger, and what a model is sent."""

from __future__ import annotations

import pickle
import threading
import time
from typing import TYPE_CHECKING

import pytest

import prowess._internal.files
import prowess.session._activation
from prowess.catalog import LiveCatalog, State
from prowess.errors import ActivationError, ConfigError, SkillFileError, SkillNotFoundError
from prowess.session import ActivationRecord, Session, Trust
from prowess.session._ledger import text_fingerprint
from support.sessions import SKILLS, discover_project, new_session
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
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


def test_the_static_block_is_an_instruction_and_the_catalog(project: Path) -> None:
    """It lists only skills that the model may activate."""
    path = f"{project}/{SKILLS}"
    assert (
        new_session(project).static_block()
        == f"""\
When a task fits the description of a skill, call `activate_skill` with its name before you go on.

<available_skills>
  <skill>
    <name>pdf</name>
    <description>Does pdf. Use it for pdf.</description>
    <location>{path}/pdf/SKILL.md</location>
  </skill>
  <skill>
    <name>xls</name>
    <description>Does xls. Use it for xls.</description>
    <location>{path}/xls/SKILL.md</location>
  </skill>
</available_skills>
"""
    )


def test_the_static_block_is_the_same_bytes_until_the_catalog_changes(project: Path) -> None:
    """Whatever is activated, read, injected, or changed on the disk."""
    session = new_session(project)
    before = session.static_block()
    session.activate("pdf", "x")
    session.inject("use $manual")
    session.read("pdf", "SKILL.md")
    session.tail()
    skill(project / SKILLS / "new")
    skill(project / SKILLS / "pdf", description="Another.")
    assert session.static_block() == before
    assert Session.from_json(session.to_json(), session.catalog).static_block() == before
    session.update(discover_project(project))
    after = session.static_block()
    assert after != before
    assert "<name>new</name>" in after
    assert [record.name for record in session.ledger] == ["pdf", "manual"]


def test_without_skills_there_are_no_texts_and_no_tools(tmp_path: Path) -> None:
    session = Session(discover_project(tmp_path))
    assert (session.static_block(), session.tools(), session.tail(), session.shortened) == ("", (), "", False)
    assert (session.inject("use $pdf"), session.search("pdf")) == ([], ())


def test_an_unknown_unit_or_format_is_an_error(project: Path) -> None:
    """When the session is created."""
    for wrong in ({"budget": 5, "unit": "words"}, {"format": "html"}):
        with pytest.raises(ConfigError):
            new_session(project, **wrong)


def test_a_second_activation_is_one_line(project: Path) -> None:
    """In the same turn and in later ones; the ledger does not change."""
    session = new_session(project)
    first = session.activate("pdf")
    again = session.activate("PDF")
    assert again == first.with_changes(
        content="The skill `pdf` is already active; its instructions have not changed.", repeated=True
    )
    session.activate("xls")
    session.next_turn()
    session.activate("xls", "new")
    before = session.ledger
    session.next_turn()
    line = "The skill `xls` is already active since turn 1; its instructions have not changed."
    assert session.activate("xls", "new").content == line
    assert session.ledger == before


@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        pytest.param(lambda folder: skill(folder, body="Do it otherwise."), "a", id="content"),
        pytest.param(lambda folder: (folder / "b.md").touch(), "a", id="files"),
        pytest.param(lambda folder: None, "b", id="arguments"),  # noqa: ARG005 - nothing is changed on the disk
        pytest.param(lambda folder: None, None, id="no-arguments"),  # noqa: ARG005 - the same
    ],
)
def test_a_changed_skill_is_given_in_full_again(
    change: Callable[[Path], object], arguments: str | None, project: Path
) -> None:
    """Once; after that it is one line again."""
    session = new_session(project)
    first = session.activate("pdf", "a")
    change(project / SKILLS / "pdf")
    second = session.activate("pdf", arguments)
    assert (second.repeated, second.content == first.content) == (False, False)
    assert second.content.startswith('<skill_content name="pdf">\n')
    assert session.activate("pdf", arguments).repeated is True


def test_a_failed_activation_can_be_tried_again(project: Path) -> None:
    """It does not change the ledger."""
    session = new_session(project)
    session.activate("xls")
    file = project / SKILLS / "pdf/SKILL.md"
    text = file.read_text()
    file.unlink()
    before = session.ledger
    for _ in range(2):
        with pytest.raises(ActivationError):
            session.activate("pdf")
    assert session.ledger == before
    file.write_text(text)
    assert session.activate("pdf").repeated is False


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "what is a pdf?",
        "`$pdf`",
        "```\nuse $pdf\n```",
        "https://example.org/$pdf and /usr/bin/pdf",
        "don't use the pdf skill",
        "never $pdf",
        "use $nothing",
    ],
)
def test_a_text_without_mentions_gets_no_message(text: str, project: Path) -> None:
    """Code, addresses, paths and negated names are not mentions; the turn begins all the same."""
    session = new_session(project)
    assert (session.inject(text), session.turn, session.ledger, session.warnings) == ([], 1, (), ())


def test_a_skill_mentioned_again_in_a_later_turn_is_injected_again(project: Path) -> None:
    """The message of the earlier turn is gone, also if the model activates the skill."""
    session = new_session(project)
    first = session.inject("$pdf")
    assert session.activate("pdf").repeated is True
    assert session.inject("once more $pdf") == first
    session = new_session(project)
    session.inject("$pdf")
    assert session.inject("thanks") == []
    assert session.tail() == ""
    assert session.activate("pdf").repeated is False


def test_a_skill_that_the_model_activates_too_stays_active(project: Path) -> None:
    """The model gets one line, and the tail has the skill in later turns."""
    session = new_session(project)
    (message,) = session.inject("$pdf")
    assert session.activate("pdf").repeated is True
    assert session.tail(visible=[message["content"]]) == ""
    session.inject("thanks")
    assert message["content"] in session.tail()
    assert session.activate("pdf").repeated is True


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


def test_a_mention_keeps_the_arguments_of_the_model(project: Path) -> None:
    """So that the text is the same as before."""
    session = new_session(project)
    content = session.activate("pdf", "a.pdf").content
    assert session.inject("$pdf", visible=[content]) == []
    assert session.inject("$pdf")[0]["content"] == content
    assert [(record.arguments, record.by, record.turn) for record in session.ledger] == [("a.pdf", "model", 2)]


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


def test_an_unreadable_skill_is_a_warning(project: Path) -> None:
    """It is reported to the model, the turn goes on without the skill, and the next turn has no warning."""
    session = new_session(project)
    (project / SKILLS / "pdf/SKILL.md").unlink()
    skills, warning = session.inject("$pdf and $xls")
    assert "Do xls." in skills["content"]
    assert warning["content"] == "warning: the skill `pdf` cannot be read now: no such file"
    assert warning["meta_dict"] == {"skill": True}
    assert session.warnings == ("the skill `pdf` cannot be read now: no such file",)
    assert [record.name for record in session.ledger] == ["xls"]
    assert session.inject("on") == []
    assert list(session.warnings) == []


def test_a_name_that_no_skill_has_is_reported_once(project: Path) -> None:
    """Also after the conversation was saved; another name is reported, and a new conversation starts from nothing."""
    session = new_session(project)
    (message,) = session.inject("use the pdff skill")
    assert message["content"] == "warning: no skill is called `pdff`; did you mean `pdf`?"
    assert session.inject("use the pdff skill") == []
    again = Session.from_json(session.to_json(), session.catalog)
    assert again.inject("use the pdff skill") == []
    messages = again.inject("use the pdff skill, then use the xlss skill, and $pdf")
    assert ["Do pdf." in messages[0]["content"], *(message["content"] for message in messages[1:])] == [
        True,
        "warning: no skill is called `xlss`; did you mean `xls`?",
    ]
    again.restart()
    assert len(again.inject("use the pdff skill")) == 1


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


def test_search_finds_only_skills_that_the_model_may_activate(project: Path) -> None:
    """In the new catalog after an update."""
    session = new_session(project)
    assert [hit.entry.name for hit in session.search("pdf manual hand broken")] == ["pdf"]
    skill(project / SKILLS / "docx")
    assert session.search("docx") == ()
    session.update(discover_project(project))
    assert [hit.entry.name for hit in session.search("docx")] == ["docx"]


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


def test_a_colon_in_a_path_is_not_a_scope(tmp_path: Path) -> None:
    top = tmp_path.resolve() / "a:b"
    (top / ".git").mkdir(parents=True)
    skill(top / SKILLS / "pdf", body="Do pdf.")
    session = new_session(top)
    session.activate("pdf")
    assert "Do pdf." in session.tail()
    assert session.read("pdf", "SKILL.md").size > 0
    with pytest.raises(SkillFileError):
        session.read("pdf", "x")


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
