"""`prowess run` in a process of its own: with scripted models, and with a server with OpenAI's API."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from openai import OpenAI

from support.growth import END, ends
from support.openai_server import HANG, SLOW, ModelServer
from support.processes import processes_end, processes_with, wait_until
from support.role_folder import ROLE, TOP, RoleFolder, Terminal
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

FILES = "tools:\n- type: filesystem\n"
ASKS = "tools:\n- type: filesystem\n  read_only: false\n  require_confirmation: true\n"
WRITE = [{"call": "write_file", "with": {"path": "new.txt", "content": "x"}}, {"say": "Done."}]


@pytest.fixture
def folder(tmp_path: Path) -> RoleFolder:
    return RoleFolder(tmp_path.resolve())


# ── one prompt (`roles.md` has more) ──────────────────────────────────────────────────────────────────────────────────


def test_an_error_of_the_model_server_is_exit_code_1(folder: RoleFolder) -> None:
    """The message is on stderr, or in the transcript."""
    words = "answered 401: the API key is invalid"
    with ModelServer(401) as server:
        done = folder.run("-p", "x", "--model", server.model)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("error: the model server ")
        assert words in done.stderr
        done = folder.run("-p", "x", "--model", server.model, "--json")
        assert done.returncode == 1
        assert words in json.loads(done.stdout)["error"]


def test_a_reached_limit_is_exit_code_1(folder: RoleFolder) -> None:
    """The transcript says which limit."""
    folder.write_role(FILES + "guardrails: {timeout_seconds: 0.7}\n")
    with ModelServer(HANG) as server, ends():
        done = folder.run("-p", "x", "--model", server.model, "--json")
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["output"]) == (1, None)
    assert "the run took longer than 0.7 seconds" in shown["error"]


def test_a_tool_that_hangs_does_not_outlive_the_run(folder: RoleFolder) -> None:
    """No process and no folder is left, and the command does not wait."""
    mark = f"{folder.top}/home"
    folder.write_role(
        "guardrails: {timeout_seconds: 1}\ntools:\n- type: script\n  scripts: [{name: slow, body: 'sleep 600'}]\n"
    )
    with ends():
        done = folder.run("-p", "x", "--model", folder.write_script({"call": "slow"}, {"say": "Done."}))
    assert done.returncode == 1
    assert "the run took longer than 1 seconds" in done.stderr
    assert processes_end(mark)
    assert os.listdir(folder.top / "tmp") == []
    done = folder.run("-p", "x", "--model", folder.write_script({"say": "Done."}))
    assert (done.returncode, os.listdir(folder.top / "tmp")) == (0, [])


def test_a_trajectory_has_the_conversation(folder: RoleFolder) -> None:
    """With and without skills: prompt, calls, answer and tokens, and what `prowess usage --import` counts."""
    skill(folder.top / ".agents/skills/pdf", body="Do pdf.")
    folder.write_role(FILES)
    (folder.top / "runs").mkdir()
    steps = ({"call": "activate_skill", "with": {"name": "pdf"}}, {"call": "read_file", "with": {"path": "notes.txt"}})
    model = folder.write_script(*steps, {"say": "Done."})
    done = folder.run("-p", "Look at it.", "--model", model, "--trajectory", "runs")
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = (folder.top / "runs").iterdir()
    value = json.loads(file.read_text("utf-8"))
    called = [[call["function_name"] for call in step.get("tool_calls", ())] for step in value["steps"]]
    assert [step["source"] for step in value["steps"]] == ["system", "user", "agent", "agent", "agent"]
    assert called == [[], [], ["activate_skill"], ["read_file"], []]
    assert [value["steps"][number]["message"] for number in (1, 4)] == ["Look at it.", "Done."]
    assert value["final_metrics"]["total_prompt_tokens"] > 0
    argv = [sys.executable, "-m", "prowess", "usage", "--json", "--host", "initrunner", "--import", "runs"]
    shown = subprocess.run(argv, cwd=folder.top, env=folder.env, capture_output=True, text=True, check=True)
    used = [row for row in json.loads(shown.stdout)["skills"] if row["used"]]
    assert [(row["name"], row["used_by_model"], row["offered"]) for row in used] == [("pdf", 1, 1)]
    folder.write_role("auto_skills: {enabled: false}\n")
    model = folder.write_script({"say": "Done."})
    assert folder.run("-p", "Again.", "--model", model, "--trajectory", "plain.json").returncode == 0
    plain = json.loads((folder.top / "plain.json").read_text("utf-8"))
    assert [step["message"] for step in plain["steps"]] == ["Again.", "Done."]
    done = folder.run("-p", "Once more.", "--model", model, "--trajectory", "plain.json")
    (other,) = folder.top.glob("plain-*.json")
    assert done.stderr == f"note: the conversation is recorded in {other}: plain.json has something else\n"


def test_a_trajectory_has_no_keys_and_headers_of_the_role(folder: RoleFolder) -> None:
    """What the model passes to a tool is there, also if the tool fails."""
    folder.write_role(
        "tools:\n- type: http\n  base_url: 'http://127.0.0.1:1'\n  allow_private: true\n"
        "  headers: {Authorization: 'Bearer ${SEA_KEY}'}\n"
    )
    folder.env |= {"SEA_KEY": "word-of-a-header", "OPENAI_API_KEY": "word-of-the-model-server"}
    request = {"method": "GET", "path": "/tides", "headers": {"X-Key": "said-by-the-model"}}
    model = folder.write_script({"call": "http_request", "with": request}, {"say": "Done."})
    assert folder.run("-p", "Ask.", "--model", model, "--trajectory", "x.json").returncode == 0
    text = (folder.top / "x.json").read_text("utf-8")
    assert ("said-by-the-model" in text, "word-of-" in text) == (True, False)


@pytest.mark.parametrize("option", ["--serve", "--dry-run"])
def test_a_trajectory_is_of_one_conversation(folder: RoleFolder, option: str) -> None:
    done = folder.run("--trajectory", "x.json", option)
    assert done.returncode == 2
    assert f"`--trajectory` and `{option}` exclude each other" in done.stderr


# ── wrong use ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_prompt_may_come_from_standard_input(folder: RoleFolder) -> None:
    done = folder.run("--model", folder.write_script({"say": "Calm."}), stdin="How is it?\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Calm.\n", "")


def test_a_key_that_is_set_is_used(folder: RoleFolder) -> None:
    with ModelServer("Yes.") as server:
        done = folder.run("-p", "x", OPENAI_API_KEY="secret", OPENAI_BASE_URL=server.url)
        assert (done.returncode, done.stdout) == (0, "Yes.\n")
        assert server.keys == ["secret"]


_OBSERVER = """\
from opentelemetry import trace


class Tracer(trace.NoOpTracer):
    def __init__(self, names):
        self.names = names

    def start_span(self, name, *_, **__):
        self.names.append(name)
        return trace.INVALID_SPAN


class Provider(trace.TracerProvider):
    names = []

    def get_tracer(self, *_, **__):
        return Tracer(self.names)

    def force_flush(self, timeout_millis=30000):
        with open("spans.txt", "w") as file:
            print(*self.names, sep="\\n", file=file)


trace.set_tracer_provider(Provider())
"""


@pytest.mark.parametrize("wanted", [True, False])
def test_opentelemetry_spans_are_sent_before_the_end(folder: RoleFolder, wanted: bool) -> None:
    """With `--otel`, and never without it."""
    (folder.top / "observer").mkdir()
    (folder.top / "observer/sitecustomize.py").write_text(_OBSERVER)
    path = f"{folder.env['PYTHONPATH']}{os.pathsep}{folder.top}/observer"
    done = folder.run("-p", "x", "--model", folder.write_script({"say": "Hi."}), *["--otel"] * wanted, PYTHONPATH=path)
    assert (done.stdout, done.stderr) == ("Hi.\n", "")
    spans = folder.top / "spans.txt"
    assert (spans.read_text().split("\n") if spans.exists() else []) == (
        ["invoke_agent agent", "chat script", ""] if wanted else []
    )


# ── confirmation ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_the_user_confirms_a_call(folder: RoleFolder, answer: str, written: bool) -> None:
    """The question shows the tool and its arguments; anything but yes is no."""
    folder.write_role(ASKS)
    terminal = Terminal(folder, "-p", "x", "--model", folder.write_script(*WRITE))
    text = terminal.read_until("allow it? [y/N]")
    assert 'the model wants to call `write_file` with {"path": "new.txt", "content": "x"}' in text
    terminal.type(f"{answer}\n")
    terminal.read_until("Done.")
    assert terminal.wait() == 0
    terminal.close()
    assert (folder.top / "new.txt").exists() is written


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("", False)])
def test_what_was_typed_before_a_call_is_confirmed_is_no_answer(folder: RoleFolder, answer: str, written: bool) -> None:
    """Neither a line that waits on the terminal, nor one that was read together with the prompt."""
    folder.write_role(ASKS)
    terminal = Terminal(folder, "--daemon", "--model", folder.write_script(*WRITE))
    terminal.type("write it\ny\nyes\ny")
    terminal.read_until("allow it? [y/N]")
    terminal.type(f"{answer}\n")
    terminal.read_until("Done.")
    terminal.close()
    assert (folder.top / "new.txt").exists() is written


# ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ctrl_c_during_a_stream_ends_the_run(folder: RoleFolder) -> None:
    """Exit code 130; no traceback, no process, no folder; the request is cancelled."""
    with ModelServer(SLOW) as server:
        process = folder.start("-p", "x", "--model", server.model)
        assert server.answer_begun.wait(60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=END)
        assert server.client_disconnected.wait(60)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert processes_end(f"{folder.top}/home")
    assert os.listdir(folder.top / "tmp") == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_during_a_tool_ends_the_run(folder: RoleFolder, number: int, code: int) -> None:
    """And the processes of the tool."""
    seconds = f"6{time.monotonic_ns()}"  # by which the process is found
    folder.write_role(f"tools:\n- type: script\n  scripts: [{{name: slow, body: 'sleep {seconds}'}}]\n")
    process = folder.start("-p", "x", "--model", folder.write_script({"call": "slow"}, {"say": "Done."}))
    wait_until(lambda: processes_with(seconds))
    with ends():
        process.send_signal(number)
        out, err = process.communicate(timeout=END)
    assert (process.returncode, out, err) == (code, b"", b"")
    assert processes_end(f"{folder.top}/home")
    assert os.listdir(folder.top / "tmp") == []


def test_ctrl_c_at_a_question_ends_the_run(folder: RoleFolder) -> None:
    """No thread waits for input."""
    folder.write_role(ASKS)
    terminal = Terminal(folder, "-p", "x", "--model", folder.write_script(*WRITE))
    terminal.read_until("allow it? [y/N]")
    with ends():
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait() == 130
    terminal.close()
    assert not (folder.top / "new.txt").exists()


# ── --daemon ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_daemon_reloads_changes_between_two_lines(folder: RoleFolder) -> None:
    """InitRunner: `--daemon`, for the role and its skills; an invalid change is reported and not loaded."""
    file = skill(folder.top / "skills/tides", body="Old.")
    folder.write_role("skills: [tides]\n")
    with ModelServer("One.", "Two.", "Three.", "Four.") as server:
        process = folder.start("--daemon", "--model", server.model, stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None

        def say(line: str) -> str:
            process.stdin.write(f"{line}\n".encode())  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return process.stdout.readline().decode()  # type: ignore[union-attr]

        assert say("first") == "One.\n"
        file.write_text("---\nname: tides\ndescription: d\n---\nNew words.\n")
        assert say("\nsecond") == "Two.\n"
        folder.write_role("skils: [tides]\n")
        assert say("third") == "Three.\n"
        folder.write_role()
        (folder.top / "role.yaml").write_text(ROLE.replace("You help", "You sing"))
        assert say("fourth") == "Four.\n"
        out, err = process.communicate(timeout=END)
    assert (process.returncode, out) == (0, b"")
    system = [request["messages"][0]["content"] for request in server.requests]
    assert "Old." in system[0]
    assert "New words." in system[1]
    assert system[2] == system[1]
    assert system[3].startswith("You sing.")
    said = [message["content"] for message in server.requests[3]["messages"] if message["role"] == "user"]
    assert said == ["first", "second", "third", "fourth"]
    lines = err.decode().splitlines()
    assert lines[0] == "note: reloaded the role after a change"
    assert "the change is not loaded: " in lines[1]
    assert "unknown key `skils`" in lines[1]


def test_an_interrupted_daemon_ends_at_once(folder: RoleFolder) -> None:
    """Also while it waits for a line, from a pipe or on a terminal."""
    model = folder.write_script({"say": "Yes."})
    process = folder.start("--daemon", "--model", model, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"Yes.\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=END)
    assert (process.returncode, out, err) == (130, b"", b"")
    terminal = Terminal(folder, "--daemon", "--model", model)
    terminal.type("hello\n")
    terminal.read_until("Yes.")
    terminal.type("\x03")
    assert terminal.wait() == 130
    terminal.close()


def test_a_failed_line_does_not_end_a_daemon(folder: RoleFolder) -> None:
    """The exit code at the end is 1."""
    with ModelServer(401, "Better.") as server:
        done = folder.run("--daemon", "--model", server.model, stdin="one\n\ntwo")
    assert (done.returncode, done.stdout) == (1, "Better.\n")
    assert "answered 401" in done.stderr


# ── InitRunner's roles, and the example ───────────────────────────────────────────────────────────────────────────────


def test_initrunners_demo_runs(folder: RoleFolder) -> None:
    """InitRunner: "the agent will see the summarizer skill in its catalog", and has its tool once it is active."""
    steps = [
        {"call": "activate_skill", "with": {"name": "summarizer"}},
        {"call": "fetch_page", "with": {"url": "http://127.0.0.1:1/"}},
        {"say": "Done."},
    ]
    role = str(TOP / "tests/roles/auto/auto-skill-demo.yaml")
    done = folder.run("-p", "Sum it up", "--json", "--model", folder.write_script(*steps), role=role)
    first, second = json.loads(done.stdout)["tool_calls"]
    assert "You are a summarization specialist." in first["result"]
    assert second["tool"] == "fetch_page"
    assert "127.0.0.1" in second["error"]


def test_initrunners_reviewer_runs(folder: RoleFolder) -> None:
    """InitRunner: "initrunner run reviewer.yaml -p": with its skill's prompt and tools, and its guardrails."""
    for name in ("ruff", "mypy"):
        (folder.top / name).write_text("#!/bin/sh\n")
        (folder.top / name).chmod(0o755)
    role = str(TOP / "tests/roles/reviewer/reviewer.yaml")
    with ModelServer([("read_file", {"path": "reviewer.yaml"})], "Fine.") as server:
        path = f"{folder.top}:{folder.env['PATH']}"
        done = folder.run("-p", "Review it", "--json", "--model", server.model, role=role, PATH=path)
    shown = json.loads(done.stdout)
    assert shown["output"] == "Fine."
    assert "name: code-reviewer" in shown["tool_calls"][0]["result"]
    first = server.requests[0]
    assert first["temperature"] == 0.0
    assert "## Skill: code-review" in first["messages"][0]["content"]
    assert {"git_diff", "git_changed_files", "run_shell"} <= {tool["function"]["name"] for tool in first["tools"]}


def test_the_example_role_runs(folder: RoleFolder) -> None:
    """As `make demo` and the README run it."""
    roles = TOP / "examples/roles"
    trust = [sys.executable, "-m", "prowess", "trust", str(roles / "skills/column-sums"), "--yes"]
    subprocess.run(trust, env=folder.env, capture_output=True, check=True, timeout=END)
    options = ("--json", "--model", f"script:{roles / 'answers.yaml'}")
    done = folder.run("-p", "What did we sell?", *options, role=str(roles / "table-helper.yaml"))
    shown = json.loads(done.stdout)
    assert shown["output"] == "116.75 euros, over the 4 orders in data/orders.csv."
    assert [call["error"] for call in shown["tool_calls"]] == [None] * 4
    assert shown["tool_calls"][3]["result"] == "exit code 0\nstdout:\n116.75 in 4 rows"


# ── --serve ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_role_is_served_until_ctrl_c(folder: RoleFolder) -> None:
    """InitRunner: `run role.yaml --serve --skill-dir`; stderr has the address, stdout nothing."""
    skill(folder.top / "shared/tides")
    model = folder.write_script({"call": "activate_skill", "with": {"name": "tides"}}, {"say": "High."})
    process = folder.start("--serve", "--port", "0", "--skill-dir", "shared", "--model", model)
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    url = line.removeprefix("serving `a` at ").partition(";")[0]
    assert line == f"serving `a` at {url}; press Ctrl-C to stop\n"
    with OpenAI(base_url=url, api_key="none", max_retries=0, timeout=END) as client:
        answer = client.chat.completions.create(model="a", messages=[{"role": "user", "content": "How high?"}])
    assert answer.choices[0].message.content == "High."
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=END)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_an_address_that_cannot_be_served_is_an_error(folder: RoleFolder) -> None:
    """A port in use; an address that others can reach without a key is in `roles.md`."""
    model = folder.write_script({"say": "x"})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = folder.run("--serve", "--port", str(port), "--model", model)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: port {port} is in use\n\nhint: use another with `--port`")


def test_a_chat_whose_standard_input_is_closed_is_refused(folder: RoleFolder) -> None:
    words = folder.argv("-i", "--model", folder.write_script({"say": "Done."}))
    shell = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *words]
    done = subprocess.run(shell, cwd=folder.top, env=folder.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: `-i` needs a terminal")
