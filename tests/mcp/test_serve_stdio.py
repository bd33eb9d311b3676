"""A client on the pipes of `prowess mcp serve`: both eras of the protocol, and clients that break it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import shutil
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, ClassVar, cast

import anyio
import pytest

from prowess.mcp import _stdio
from support.growth import END
from support.mcp_clients import INITIALIZE, MODERN, serve
from support.processes import times_scheduled, wait_until
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
MIB = 1024 * 1024


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = skill(tmp_path / "project/.agents/skills/pages", body="Count twice.").parent
    (folder / "big.txt").write_text("x" * 300_000)
    return tmp_path / "project"


def test_a_message_without_end_is_refused_and_the_next_one_answered(project: Path) -> None:
    """100 MB on one line are not kept."""
    with serve(project) as served:
        served.initialize()
        before = served.peak_memory()
        served.write(b'{"jsonrpc": "2.0", "id": 7, "method": "')
        for _ in range(100):
            served.write(b"x" * MIB)
        served.write(b'"}\n')
        refused = served.receive()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert "longer than 1,048,576 bytes" in refused["error"]["message"]
        assert len(served.ask("skills/list")["skills"]) == 1
        assert served.peak_memory() - before < 8 * MIB


@pytest.mark.parametrize(("era", "code"), [({}, -32002), (MODERN, -32602)], ids=["older", "modern"])
def test_an_unknown_resource_has_the_code_of_its_era(project: Path, era: dict[str, Any], code: int) -> None:
    with serve(project) as served:
        if not era:
            served.initialize()
        for uri in ("skill://pages/none.txt", "skill://none/SKILL.md", "file:///etc/passwd", "skill://none/_manifest"):
            error = served.ask("resources/read", {"uri": uri, **era})
            assert (error["code"], error["data"]) == (code, {"uri": uri})


def test_what_lists_leave_out_is_said_at_the_start(project: Path) -> None:
    """Before a client asks for a list, and once; it is not counted."""
    skill(project / ".agents/skills/odd", more="metadata: {version: 1.0}\n")
    skill(project / ".agents/skills/endless", more="most: .inf\n")
    with serve(project) as served:
        served.initialize()
        assert [entry["frontmatter"]["name"] for entry in served.ask("skills/list")["skills"]] == ["pages"]
        served.close()
        assert served.process.wait(END) == 0
        lines = served.complaints().splitlines()
    assert lines[0].startswith("note: the skill `endless` is not served: its front matter cannot be sent as JSON: .inf")
    assert lines[1].startswith("note: the skill `odd` is not served: its `metadata` has a value that is not text")
    assert lines[2:] == [f"note: serving 1 skill of {project}"]


@pytest.mark.parametrize("place", ["", "skills/"])
def test_a_folder_of_skills_is_served(place: str, tmp_path: Path) -> None:
    """Skills that lie directly in it, or in its `skills`, as in a repository of skills; new ones too."""
    folder = tmp_path / "repository"
    skill(folder / f"{place}one")
    with serve(folder) as served:
        served.initialize()
        skill(folder / f"{place}two")
        found = [entry["uri"] for entry in served.ask("skills/list")["skills"]]
    assert found == ["skill://one/SKILL.md", "skill://two/SKILL.md"]


def test_a_line_of_100_mb_at_the_end_is_refused(project: Path) -> None:
    """Also without the end of the line."""
    with serve(project) as served:
        served.write(b"[" * (100 * MIB))
        served.close()
        assert served.receive()["error"]["code"] == -32600
        assert served.receive() is None
        assert served.process.wait(60) == 0


def test_an_invalid_message_is_answered_with_an_error(project: Path) -> None:
    """And the connection goes on; blank lines are nothing."""
    lines = (b"{", b"[]", b"null", b"1", b'"a"', b"\xff\xfe", b"{}", b"[" * 100_000, b'{"jsonrpc": "1.0"}', b"\0")
    with serve(project) as served:
        for line in lines:
            served.write(b"\n  \r\n" + line + b"\n")
            answer = served.receive()
            assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", None, -32700), line[:20]
        assert served.initialize()["serverInfo"]["name"] == "prowess"


def test_any_json_is_answered_and_nothing_is_complained_about(project: Path) -> None:
    """Requests with parameters of any kind, in both eras."""
    chosen = random.Random(20260728)  # noqa: S311 - not a secret
    values: list[Any] = [None, True, -1, 1e308, 10**30, "", "\0", "\u202e", "x" * 1000, [], [[]], {}, {"uri": {}}]
    values += ["skill://pages/SKILL.md", "skill://pages", "skill://" + "../" * 50, "\U0001f600", {"a": {"b": [1]}}]
    methods = ["skills/list", "skills/get", "resources/read", "resources/list", "resources/directory/read"]
    methods += ["tools/list", "tools/call", "ping", "prompts/list", "logging/setLevel", "completion/complete", "\n"]
    keys = ["uri", "cursor", "name", "arguments", "_meta", "limit"]
    for envelope in ({}, MODERN):
        with serve(project) as served:
            if not envelope:
                served.initialize()
            else:
                served.ask("server/discover", MODERN)
            for number in range(1000, 1400):
                params = {key: chosen.choice(values) for key in chosen.sample(keys, chosen.randrange(len(keys)))}
                message = {"jsonrpc": "2.0", "id": number, "method": chosen.choice(methods)}
                served.write(json.dumps({**message, "params": {**params, **envelope}}).encode() + b"\n")
            answered = {served.receive()["id"] for _ in range(400)}
            assert answered == set(range(1000, 1400))
            served.close()
            assert served.process.wait(60) == 0
            assert served.complaints() == f"note: serving 1 skill of {project}\n"


def test_lone_surrogates_are_answered(project: Path) -> None:
    """JSON can write what no text has."""
    with serve(project) as served:
        served.initialize()
        served.write(b'{"jsonrpc": "2.0", "id": 5, "method": "skills/get", "params": {"uri": "\\ud800"}}\n')
        assert "error" in served.receive()
        assert len(served.ask("skills/list")["skills"]) == 1


def stays_full(pid: int, pipe: IO[bytes]) -> bool:
    """Return whether a pipe to a process is full for as long as the process looks a hundred times whether to read."""
    before = times_scheduled(pid)

    def is_writable() -> bool:
        return bool(select.select([], [pipe], [], 0)[1])

    wait_until(lambda: is_writable() or times_scheduled(pid) > before + 100)
    return not is_writable()


def test_a_client_that_reads_nothing_stops_being_read(project: Path) -> None:
    """Memory stays flat, and everything is answered once it reads."""
    with serve(project, reads=False) as served:
        served.send("initialize", INITIALIZE, id=1)
        served.send("notifications/initialized")
        assert served.process.stdin is not None
        os.set_blocking(served.process.stdin.fileno(), False)
        sent, pending, is_full = 0, b"", False
        while not is_full:
            if not pending:
                sent += 1
                params = {"uri": "skill://pages/big.txt"}
                message = {"jsonrpc": "2.0", "id": 10 + sent, "method": "resources/read", "params": params}
                pending = json.dumps(message).encode() + b"\n"
            try:
                pending = pending[os.write(served.process.stdin.fileno(), pending) :]
            except BlockingIOError:
                is_full = stays_full(served.process.pid, served.process.stdin)
        assert served.memory() < 250 * MIB
        served.read_answers()
        os.set_blocking(served.process.stdin.fileno(), True)
        os.write(served.process.stdin.fileno(), pending)
        assert {served.receive()["id"] for _ in range(sent + 1)} == {1, *range(11, 11 + sent)}


def test_requests_before_the_end_of_the_input_are_answered(project: Path) -> None:
    """As in `printf ... | prowess mcp serve`; the last line needs no end."""
    with serve(project) as served:
        served.send("initialize", INITIALIZE, id=1)
        served.send("notifications/initialized")
        served.write(b'{"jsonrpc": "2.0", "id": 2, "method": "skills/list"}')
        served.close()
        assert [served.receive()["id"], served.receive()["id"], served.receive()] == [1, 2, None]
        assert served.process.wait(60) == 0


def test_a_client_that_leaves_ends_the_server(project: Path) -> None:
    """Even if it only closes the side that it reads; nothing is complained about."""
    with serve(project, reads=False) as served:
        assert served.process.stdout is not None
        served.process.stdout.close()
        served.send("initialize", INITIALIZE, id=1)
        assert served.process.wait(60) == 0
        assert served.complaints() == f"note: serving 1 skill of {project}\n"


def test_an_interrupt_ends_the_server_while_it_waits(project: Path) -> None:
    """Although standard input is open."""
    with serve(project) as served:
        served.initialize()
        served.process.send_signal(2)
        assert served.process.wait(60) in (130, -2)
        assert "Traceback" not in served.complaints()


def test_an_interrupt_while_a_message_arrives_is_not_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK then passes the message to a session that has ended, and raises."""
    begun = asyncio.Event()

    class Server:
        middleware: ClassVar[list[object]] = []

        def create_initialization_options(self) -> None:
            pass

        async def run(self, incoming: Any, outgoing: Any, _: object) -> None:
            async with incoming, outgoing:
                begun.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    raise ExceptionGroup("of the SDK", [anyio.BrokenResourceError()])

    async def interrupted() -> None:
        task = asyncio.create_task(_stdio.serve_stdio(cast("Any", Server())))
        await begun.wait()
        task.cancel()  # as `asyncio.run` does after a signal
        await task

    source, client = os.pipe()
    monkeypatch.setattr(_stdio, "_own_streams", lambda: nullcontext((source, client)))
    try:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(interrupted())
    finally:
        os.close(client)
        os.close(source)
    assert Server.middleware == []


def test_other_output_is_not_in_the_protocol(project: Path, tmp_path: Path) -> None:
    """Standard output belongs to the client."""
    with serve(project) as served:
        served.initialize()
        link = os.readlink(f"/proc/{served.process.pid}/fd/1")
        assert link == os.readlink(f"/proc/{served.process.pid}/fd/2")
        assert os.readlink(f"/proc/{served.process.pid}/fd/0") == "/dev/null"


def test_a_skill_that_changes_while_it_is_read_is_whole_or_an_error(project: Path) -> None:
    """Never bytes of something else; a digest is that of bytes that were there."""
    folder = project / ".agents/skills/pages"
    with serve(project) as served:
        served.initialize()
        for number in range(60):
            target = folder / "notes.md"
            if number % 3 == 0:
                shutil.rmtree(folder / "sub", ignore_errors=True)
                target.unlink(missing_ok=True)
                target.symlink_to("/etc/passwd")
            else:
                target.unlink(missing_ok=True)
                target.write_text(str(number % 3) * 1000)
            answer = served.ask("resources/read", {"uri": "skill://pages/notes.md"})
            texts = [content["text"] for content in answer.get("contents", [])]
            assert texts == ([] if number % 3 == 0 else [str(number % 3) * 1000])
            skills = served.ask("skills/list")["skills"]
            listed = [one["uri"] for one in skills[0]["resources"]]
            assert ("skill://pages/notes.md" in listed) == (number % 3 != 0)


def test_changes_are_announced_to_a_listener_of_the_newer_era(project: Path) -> None:
    """After the acknowledgement, with its subscription's number."""
    with serve(project) as served:
        served.ask("server/discover", MODERN)
        served.send("subscriptions/listen", {**MODERN, "notifications": {"resourcesListChanged": True}}, id=77)
        assert served.receive()["method"] == "notifications/subscriptions/acknowledged"
        skill(project / ".agents/skills/new")
        change = served.receive()
        assert change["method"] == "notifications/resources/list_changed"
        assert change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 77
