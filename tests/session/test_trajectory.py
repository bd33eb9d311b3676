"""A session records itself as ATIF when it is asked to, and `prowess usage --import` reads the same of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace

from prowess import Scripts, Session
from prowess._internal import fs
from prowess.errors import ConfigError, ProwessError
from prowess.filesystem import Question
from prowess.trajectory import RecordedSession, _file, read_sessions
from support.files import write_files
from support.growth import counted_calls
from support.sessions import SKILLS, discover_project, new_session
from support.skills import make_catalog, make_entry, skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.session import Trust

SCRIPTS = {"scripts/good.sh": "echo fine\n", "scripts/bad.sh": "exit 3\n", "notes.md": "The tide turns.\n"}


def sessions_in(path: Path) -> tuple[RecordedSession, ...]:
    """Return what is read of a trajectory, or of those in a folder."""
    recording = read_sessions(Question.about(path.parent, path.parent), agents=(), imports=[str(path)])
    assert recording.unreadable == ()
    return recording.sessions


def steps_of(path: Path) -> list[dict[str, Any]]:
    """Return the steps of a file."""
    steps: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["steps"]
    return steps


def test_what_a_session_did_is_read_back(project: Path, tmp_path: Path, trust: Trust) -> None:
    """Activations by model and by user, files, and scripts with their exit codes."""
    folder = write_files(project / SKILLS / "pdf", SCRIPTS)
    path = tmp_path / "trajectory.json"
    session = new_session(project, trust=trust, trajectory=path)
    trust.allow(session.catalog.resolve("pdf"))
    tools = {tool.name: tool for tool in session.tools(scripts=Scripts(sandbox="none"))}
    session.inject("Use the xls skill, please.")
    tools["activate_skill"].call(name="pdf")
    tools["activate_skill"].call(name="pdf")
    tools["activate_skill"].call(name="no-such-skill")
    tools["read_skill_file"].call(name="pdf", path="notes.md")
    tools["read_skill_file"].call(name="pdf", path="lost.md")
    tools["run_skill_script"].call(skill="pdf", script="scripts/good.sh")
    tools["run_skill_script"].call(skill="pdf", script="scripts/bad.sh")
    session.activate("manual", by="user")
    (read,) = sessions_in(path)
    assert [(used.name, used.by, used.path) for used in read.activations] == [
        ("xls", "user", f"{project}/{SKILLS}/xls/SKILL.md"),
        ("pdf", "model", f"{folder}/SKILL.md"),
        ("manual", "user", f"{project}/{SKILLS}/manual/SKILL.md"),
    ]
    assert [file.path for file in read.files] == [f"{folder}/notes.md"]
    assert [(run.path, run.exit) for run in read.scripts] == [
        (f"{folder}/scripts/good.sh", 0),
        (f"{folder}/scripts/bad.sh", 3),
    ]
    assert [(offer.name, offer.path, offer.description) for offer in read.catalog or ()] == [
        ("pdf", f"{folder}/SKILL.md", "full"),
        ("xls", f"{project}/{SKILLS}/xls/SKILL.md", "full"),
    ]
    assert (read.agent, read.cwd) == ("prowess", str(project))


def test_variables_of_scripts_are_recorded_only_if_a_script_prints_them(
    project: Path, tmp_path: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has what the model got, and nothing else of what Prowess was given."""
    write_files(project / SKILLS / "pdf", {**SCRIPTS, "scripts/show.sh": 'echo "$SEA_KEY"\n'})
    path = tmp_path / "trajectory.json"
    monkeypatch.setenv("OWN_KEY", "word-of-the-process")
    session = new_session(project, trust=trust, trajectory=path)
    trust.allow(session.catalog.resolve("pdf"))
    scripts = Scripts(sandbox="none", env={"SEA_KEY": "word-for-scripts"})
    tools = {tool.name: tool for tool in session.tools(scripts=scripts)}
    tools["activate_skill"].call(name="pdf")
    for name in ("good", "bad"):
        tools["run_skill_script"].call(skill="pdf", script=f"scripts/{name}.sh")
    assert "word-" not in path.read_text("utf-8")
    shown = tools["run_skill_script"].call(skill="pdf", script="scripts/show.sh", args=["word-of-the-model"])
    assert "word-for-scripts" in shown
    assert [word in path.read_text("utf-8") for word in ("word-for-scripts", "word-of-the-model")] == [True, True]
    assert "word-of-the-process" not in path.read_text("utf-8")


def test_the_file_has_the_messages_and_belongs_to_its_user(project: Path, tmp_path: Path) -> None:
    """Numbers from 1 on, calls only in steps of the agent, and a result for each call."""
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("What is the tide in Bergen?")
    session.activate("pdf", "a form")
    assert path.stat().st_mode & 0o777 == 0o600
    value = json.loads(path.read_text("utf-8"))
    assert (value["schema_version"], value["final_metrics"]["total_steps"]) == ("ATIF-v1.7", 3)
    system, user, agent = value["steps"]
    assert [step["step_id"] for step in value["steps"]] == [1, 2, 3]
    assert (system["source"], system["message"]) == ("system", session.static_block())
    assert (user["source"], user["message"]) == ("user", "What is the tide in Bergen?")
    (call,), (result,) = agent["tool_calls"], agent["observation"]["results"]
    assert (call["function_name"], call["arguments"]) == ("activate_skill", {"name": "pdf", "arguments": "a form"})
    assert call["tool_call_id"] == result["source_call_id"]
    assert "Do pdf." in result["content"]


def test_a_conversation_goes_on_in_its_file(project: Path, tmp_path: Path) -> None:
    """Also in another process; another conversation gets a file beside it, and no file is replaced."""
    path = tmp_path / "trajectory.json"
    first = new_session(project, trajectory=path)
    first.inject("One.")
    again = Session.from_json(first.to_json(), first.catalog, env={}, trajectory=path)
    again.inject("Two.")
    assert [step["message"] for step in steps_of(path)][1:] == ["One.", "Two."]
    first.fork().inject("Three.")
    (other,) = tmp_path.glob("trajectory-*.json")
    assert [step["message"] for step in steps_of(other)][1:] == ["Three."]
    assert len(sessions_in(path) + sessions_in(other)) == 2
    taken = tmp_path / "taken.txt"
    taken.write_text("mine")
    new_session(project, trajectory=taken).inject("Four.")
    assert taken.read_text() == "mine"
    assert len(list(tmp_path.glob("taken-*.txt"))) == 1


def test_a_folder_gets_a_file_for_each_conversation(project: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    session = new_session(project, trajectory=tmp_path / "runs")
    session.inject("One.")
    session.restart()
    session.inject("Two.")
    new_session(project, trajectory=tmp_path / "runs")
    assert len(sessions_in(tmp_path / "runs")) == 2


def test_several_threads_add_to_one_file(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("One.")
    record = session.to_json()
    others = [Session.from_json(record, session.catalog, env={}, trajectory=path) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda other: [other.inject("More.") for _ in range(10)], others))
    assert [step["step_id"] for step in steps_of(path)] == [*range(1, 43)]


def test_a_new_catalog_is_offered_too(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("One.")
    skill(project / SKILLS / "csv")
    session.update(discover_project(project))
    (read,) = sessions_in(path)
    assert [offer.name for offer in read.catalog or ()] == ["pdf", "xls", "csv"]


def test_a_step_does_not_cost_more_with_a_large_catalog(tmp_path: Path) -> None:
    """The first step writes the catalog; the next one calls as many functions with 1,000 skills as with one."""

    def count(number: int) -> tuple[int, int]:
        catalog = make_catalog(*(make_entry(f"skill-{index}", "Does it.") for index in range(number)))
        session = Session(catalog, env={}, budget=10_000_000, trajectory=tmp_path / f"{number}.json")
        assert session.trajectory is not None
        counts = []
        for text in ("One.", "Two."):
            with counted_calls() as calls:
                session.trajectory.say("user", text)
            counts.append(calls.count)
        return counts[0], counts[1]

    count(2)  # imports
    (first, second), (first_of_many, second_of_many) = count(1), count(1000)
    assert first_of_many > first + 1000
    assert second_of_many < second + 100


def test_long_texts_are_cut_and_then_left_out(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used is recorded to the end."""
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("x" * 1_000_000)
    monkeypatch.setattr(_file, "_MAX_TEXTS", 10_000)
    session.activate("pdf", "y" * 1_000_000)
    assert [len(step["message"]) for step in steps_of(path)][1:] == [65_536, 0]
    assert steps_of(path)[2]["tool_calls"][0]["arguments"] == {}
    assert [used.name for used in sessions_in(path)[0].activations] == ["pdf"]


@pytest.mark.parametrize("what", ["link", "link to a folder", "FIFO", "folder"])
def test_another_kind_of_file_is_refused(project: Path, tmp_path: Path, what: str) -> None:
    path = tmp_path / "trajectory.json"
    if what == "link":
        (tmp_path / "real.json").write_text("")
        path.symlink_to("real.json")
    elif what == "link to a folder":
        (tmp_path / "runs").mkdir()
        path.symlink_to("runs")
    elif what == "FIFO":
        os.mkfifo(path)
    else:
        path = tmp_path / "no/trajectory.json"
    with pytest.raises(ConfigError) as error:
        new_session(project, trajectory=path)
    assert error.value.hint


@pytest.mark.parametrize("target", ["real.json", "runs"])
def test_a_link_that_appears_later_is_not_followed(project: Path, tmp_path: Path, target: str) -> None:
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "real.json").write_text("mine")
    path.symlink_to(target)
    with pytest.warns(RuntimeWarning, match="the trajectory is not complete"):
        session.inject("One.")
    assert (tmp_path / "real.json").read_text() == "mine"
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_file_that_cannot_be_written_ends_the_record_only(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has what it had before, and the conversation goes on."""
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("One.")
    before, write = path.read_bytes(), fs.write_all

    def full(fd: int, data: Any) -> None:
        if b"Two." in data:
            write(fd, data[:20])
            raise OSError(28, "No space left on device")
        write(fd, data)

    monkeypatch.setattr(_file, "write_all", full)
    with pytest.warns(RuntimeWarning, match="no space left on device"):
        session.inject("Two.")
    assert session.activate("pdf").content
    assert path.read_bytes() == before
    assert session.trajectory is not None
    assert "no space left on device" in (session.trajectory.failure or "")


def test_a_damaged_file_is_left_alone(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    session = new_session(project, trajectory=path)
    session.inject("One.")
    damaged = path.read_bytes()[:-30]
    path.write_bytes(damaged)
    with pytest.warns(RuntimeWarning, match="the file is damaged"):
        session.inject("Two.")
    assert path.read_bytes() == damaged


# ── OpenTelemetry ────────────────────────────────────────────────────────────────────────────────────────────────────


class Span(trace.NonRecordingSpan):
    """A span of a tracer that is configured."""

    def __init__(self) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.events: list[tuple[str, dict[str, object]]] = []

    def is_recording(self) -> bool:
        return True

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:  # noqa: ARG002
        self.events.append((name, dict(attributes)))


def test_a_use_is_an_event_of_the_current_span(project: Path) -> None:
    """As Claude Code names it; a repeated activation, and one that fails, adds no event."""
    session, span = new_session(project), Span()
    with trace.use_span(span):
        session.inject("Use the xls skill.")
        session.activate("pdf")
        session.activate("pdf")
        with pytest.raises(ProwessError):
            session.activate("no-such-skill")
    session.activate("xls")
    source = {"skill.source": "projectSettings"}
    assert span.events == [
        ("claude_code.skill_activated", {"skill.name": "xls", **source, "invocation_trigger": "user-slash"}),
        ("claude_code.skill_activated", {"skill.name": "pdf", **source, "invocation_trigger": "claude-proactive"}),
    ]


def test_nothing_of_opentelemetry_is_imported(project: Path) -> None:
    code = (
        "import sys; from prowess import Session, discover\n"
        f"session = Session(discover({str(project)!r}, home='/no', env={{}}), env={{}})\n"
        "session.inject('Use the pdf skill.'); session.activate('xls')\n"
        "assert len(session.ledger) == 2\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'prowess.trajectory'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
