"""Claude Code and Codex as programs of an eval: what they get, and what is read of their sessions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evals.test_runs import cases, evals_of
from prowess.cli import main
from prowess.errors import ConfigError
from prowess.evals import Arms, Client, Evals, Ran
from prowess.evals._place import Place
from prowess.hosts import load_host
from support.fake_client import DECOY, SECRETS, client_report, fake_client
from support.growth import END
from support.processes import processes_end, wait_until
from support.recorded import calls, claude_lines, gets_skill, offers, returns, says, uses

if TYPE_CHECKING:
    from collections.abc import Callable

PRINTED = {"type": "result", "is_error": False, "result": "good day", "total_cost_usd": 0.25}
PROGRAM = """\
import json, os, sys
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    sys.exit(print("9.8.7 (Claude Code)"))
plan = json.loads(Path(sys.argv[0] + ".json").read_text())
here = os.path.join(os.environ["HOME"], ".claude/skills/greet")
lines = [line.replace("HERE", here) for line in plan["with" if os.path.isdir(here) else "without"]]
file = Path.home() / ".claude/projects/-work/s1.jsonl"
file.parent.mkdir(parents=True)
file.write_text("\\n".join(lines))
with open(sys.argv[0] + ".log", "a") as log:
    settings = json.loads((Path.home() / ".claude/settings.json").read_text())
    print(json.dumps({"env": dict(os.environ), "argv": sys.argv[1:], "prompt": sys.stdin.read(), "cwd": os.getcwd(),
                      "settings": settings, "files": os.listdir()}), file=log)
print(plan["printed"])
sys.exit(plan["code"])
"""


@pytest.fixture(autouse=True)
def _caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller has secrets and skills, none of which is for an agent; programs of the sandbox are there."""
    for name in SECRETS:
        monkeypatch.setenv(name, DECOY)
    for name in ("CODEX_API_KEY", "HTTPS_PROXY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("bwrap", "socat"):
        (bin_folder / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")


def fake_claude(top: Path, with_it: list[dict[str, Any]], without: list[dict[str, Any]] = [], **more: Any) -> Path:  # noqa: B006
    """Write a program `claude` that leaves a session, and return the path of its log."""
    file = top / "bin/claude"
    file.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    file.chmod(0o755)
    catalog = [offers(update="Updates."), says("Greet 1")]
    lines = {"with": [offers(greet="Greets."), says("Greet 1"), *with_it], "without": [*catalog, *without]}
    plan = {name: [*map(json.dumps, claude_lines(records))] for name, records in lines.items()}
    printed = more.get("printed", json.dumps(PRINTED))
    Path(f"{file}.json").write_text(json.dumps({**plan, "printed": printed, "code": more.get("code", 0)}))
    return Path(f"{file}.log")


def run_of(evals: Evals, arm: int, client: Client | None = None, **limits: Any) -> Ran:
    client = client or Client("claude-code")
    arms = Arms(evals, skills=client.skills, host=client.host, arguments=client.arguments)
    with Place() as place:
        arms.fill(place, evals.cases[0], arm)
        return client.run(place, "Greet 1", 0, 60, **limits)


USES = uses("greet", "HERE")
OTHER = [calls("Bash", "t0", command="ls"), returns("t0", "a")]
REFUSED = [calls("Skill", "t1", skill="greet"), returns("t1", "no", error=True, result="Error: refused")]


@pytest.mark.parametrize(
    ("records", "used"),
    [
        (USES, True),
        ([*OTHER, *USES], True),  # its first call is another one
        (OTHER, False),
        (REFUSED, False),
        ([calls("Read", "t1", file_path="HERE/SKILL.md"), returns("t1", "description: d")], True),
        ([], False),
    ],
    ids=["used", "used later", "not used", "refused", "read", "no call"],
)
def test_offered_and_used_are_those_of_its_session(records: list[dict[str, Any]], used: bool, tmp_path: Path) -> None:
    fake_claude(tmp_path, records)
    ran = run_of(evals_of(tmp_path, cases(1)), 0)
    assert (ran.failure, ran.offered, ran.used) == ("", True, used)
    assert (ran.answer, ran.cost) == (b"good day", 0.25)
    assert ran.steps is not None
    assert [call["function_name"] for step in ran.steps for call in step.get("tool_calls", ())] == [
        item["name"] for record in records if record["type"] == "assistant" for item in record["message"]["content"]
    ]


def test_without_the_skill_it_is_neither_offered_nor_used(tmp_path: Path) -> None:
    fake_claude(tmp_path, USES, REFUSED)
    ran = run_of(evals_of(tmp_path, cases(1)), 1)
    assert (ran.offered, ran.used) == (False, False)


def test_the_steps_say_again_what_was_offered_and_used(tmp_path: Path) -> None:
    """So that a record of them, read on another machine, says the same."""
    fake_claude(tmp_path, [*OTHER, *USES])
    ran = run_of(evals_of(tmp_path, cases(1)), 0)
    assert ran.steps is not None
    assert [offer["name"] for offer in ran.steps[0]["extra"]["skills"]] == ["greet"]
    (skill,) = (step["extra"]["skill"] for step in ran.steps if "skill" in step.get("extra", ()))
    assert skill["name"] == "greet"


def test_it_gets_the_key_to_its_model_and_nothing_else(tmp_path: Path) -> None:
    """In a home of its own, with a sandbox that no file of a case opens."""
    log = fake_claude(tmp_path, USES)
    files = [{"path": ".claude/settings.json", "content": '{"sandbox": {"enabled": false}}'}]
    ran = run_of(evals_of(tmp_path, cases(1, files=files)), 0, cost=0.5)
    assert ran.failure == ""
    seen = json.loads(log.read_text())
    env = seen["env"]
    assert {name for name, value in env.items() if DECOY in value} == {"ANTHROPIC_API_KEY"}
    assert os.path.dirname(env["HOME"]) == os.path.dirname(seen["cwd"]) == os.path.dirname(env["TMPDIR"])
    assert not os.path.exists(env["HOME"])
    assert seen["prompt"] == "Greet 1"
    assert seen["argv"][:4] == ["--setting-sources", "user", "-p", "--output-format"]
    assert seen["argv"][-2:] == ["--max-budget-usd", "0.500000"]
    assert seen["settings"]["sandbox"]["enabled"] is seen["settings"]["disableAllHooks"] is True
    assert seen["settings"]["sandbox"]["credentials"]["envVars"] == [{"name": "ANTHROPIC_API_KEY", "mode": "deny"}]


FAILURES = [
    ({"printed": json.dumps({**PRINTED, "is_error": True, "result": "No\n credit\x1b[31m"}), "code": 1}, "No credit"),
    ({"printed": json.dumps({"subtype": "error_max_turns"})}, "error_max_turns"),
    ({"printed": "Segmentation fault"}, "it printed no result"),
    ({"printed": "[]"}, "it printed no result"),
    ({"printed": "", "code": 3}, "it ended with 3"),
]


@pytest.mark.parametrize(("more", "reason"), FAILURES)
def test_a_run_that_fails_says_why(more: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """In one line; what it costs counts all the same."""
    fake_claude(tmp_path, USES, **more)
    ran = run_of(evals_of(tmp_path, cases(1)), 0)
    assert ran.failure.startswith(reason)
    assert "\x1b" not in ran.failure


def test_ten_runs_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    fake_claude(tmp_path, [*OTHER, *USES])
    evals, client = evals_of(tmp_path, cases(1)), Client("claude-code")
    with ThreadPoolExecutor(10) as pool:
        runs = [*pool.map(lambda number: run_of(evals, number % 2, client), range(10))]
    assert [(run.failure, run.offered, run.used) for run in runs] == [("", True, True), ("", False, False)] * 5


def test_codex_gets_its_key_its_server_and_the_skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its skills are in the folder of the run."""
    fake_client(tmp_path / "bin", "codex")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    client = Client("codex")
    assert (client.skills, client.says_cost) == (".agents/skills", False)
    seen = client_report(run_of(evals_of(tmp_path, cases(1)), 0, client).answer)
    assert {name for name, value in seen["env"].items() if DECOY in value} == {"CODEX_API_KEY"}
    server = 'openai_base_url="http://127.0.0.1:1/v1"'
    assert seen["argv"] == ["exec", "--skip-git-repo-check", "-c", server, "-"]
    assert seen["skills"] == []


# ── refused before the first run ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what is printed when an evaluation is refused; no run has begun."""
    monkeypatch.chdir(tmp_path)

    def refuse(*options: str) -> str:
        assert main(["eval", "./greet", *options]) == 2
        assert not (tmp_path / "bin/claude.log").exists()
        return capsys.readouterr().err

    return refuse


def test_a_program_that_is_missing_is_named(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it; also a program of its sandbox, and a key."""
    evals_of(tmp_path, cases(1))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    error = refused("--via", "claude-code")
    assert error.startswith("error: Claude Code is not installed: there is no program `claude`\n")
    assert "npm install -g @anthropic-ai/claude-code" in error
    assert "`npm install -g @openai/codex`" in refused("--via", "codex")
    fake_claude(tmp_path, USES)
    if sys.platform == "linux":
        (tmp_path / "bin/socat").unlink()
        assert refused("--via", "claude-code").startswith("error: the sandbox of Claude Code needs `socat`\n")
        (tmp_path / "bin/socat").symlink_to("/bin/true")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert refused("--via", "claude-code").startswith("error: Claude Code has no key to its model\n")


def test_a_skill_that_the_agent_would_not_load_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    """By its rules: a byte that is not UTF-8, and a flag that hides it."""
    fake_client(tmp_path / "bin", "codex")
    fake_claude(tmp_path, USES)
    evals_of(tmp_path, cases(1))
    file = tmp_path / "greet/SKILL.md"
    file.write_bytes(b"---\nname: greet\ndescription: Greets\n---\nDo it.\xff\n")
    assert "error: OpenAI Codex would not load `greet`: rejected" in refused("--via", "codex")
    file.write_text("---\nname: greet\ndescription: d\ndisable-model-invocation: true\n---\nDo it.\n")
    assert "error: Claude Code would not load `greet`: user-only" in refused("--via", "claude-code")


def test_a_skill_that_the_budget_cuts_is_refused(tmp_path: Path) -> None:
    """Beside sixty neighbours with long descriptions Claude Code gives its model the name alone."""
    others = []
    for number in range(60):
        folder = tmp_path / f"many/a{number:02}"
        folder.mkdir(parents=True)
        text = f"---\nname: {folder.name}\ndescription: {'Does many things. ' * 55}\n---\nDo it.\n"
        (folder / "SKILL.md").write_text(text)
        others.append(str(folder))
    evals = evals_of(tmp_path, cases(1))
    (tmp_path / "greet/SKILL.md").write_text(f"---\nname: greet\ndescription: {'Greets people. ' * 60}\n---\nDo it.\n")
    options: Any = {"skills": "../home/.claude/skills", "host": "claude-code"}
    Arms(evals, neighbours=others[:5], **options)
    with pytest.raises(ConfigError, match="Claude Code would not load `greet`: name only, shortened"):
        Arms(evals, neighbours=others, **options)


def test_max_cost_is_refused_for_an_agent_that_does_not_say_it(refused: Callable[..., str], tmp_path: Path) -> None:
    fake_client(tmp_path / "bin", "codex")
    evals_of(tmp_path, cases(1))
    assert "what `codex` costs is not known" in refused("--via", "codex", "--max-cost", "1")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems need no sockets")
def test_a_folder_in_which_the_sandbox_cannot_make_sockets_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path is too long for them: no command of the model would run, in neither arm."""
    fake_claude(tmp_path, USES)
    evals_of(tmp_path, cases(1))
    folder = tmp_path / ("x" * 80)
    folder.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert "error: the sandbox of Claude Code cannot work in" in refused("--via", "claude-code")


def test_a_copy_that_would_win_is_refused(tmp_path: Path) -> None:
    """That of an administrator: it is in no home, so that every run would get it."""
    host = load_host("claude-code")
    roots = [root.with_changes(path=root.path.replace("/etc/", f"{tmp_path}/etc/")) for root in host.roots]
    host = host.with_changes(roots=tuple(roots))
    evals = evals_of(tmp_path, cases(1))
    Arms(evals, skills="../home/.claude/skills", host=host)
    copy = tmp_path / "etc/claude-code/.claude/skills/greet"
    copy.mkdir(parents=True)
    (copy / "SKILL.md").write_text("---\nname: greet\ndescription: A copy.\n---\nDo it.\n")
    with pytest.raises(ConfigError, match="without the skill, `greet` is found in"):
        Arms(evals, skills="../home/.claude/skills", host=host)
    old = evals_of(tmp_path / "old", cases(1), {"more.txt": "x"}).folder
    with pytest.raises(ConfigError, match="Claude Code would not load `greet`: name taken"):
        Arms(evals, old, skills="../home/.claude/skills", host=host)


def test_a_copy_in_the_home_of_the_user_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although runs are in a folder below it, above which agents look for skills of projects."""
    home = tmp_path / "user"
    for root in (".claude/skills", ".agents/skills"):
        (home / root / "greet").mkdir(parents=True)
        (home / root / "greet/SKILL.md").write_text("---\nname: greet\ndescription: A copy.\n---\nDo it.\n")
    (home / "tmp").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(home / "tmp"))
    evals = evals_of(tmp_path, cases(1))
    for host, skills in (("claude-code", ".claude/skills"), ("codex", ".agents/skills"), ("prowess", ".agents/skills")):
        Arms(evals, host=host, skills=skills)
    with Place() as place:
        assert place.work.startswith(str(home))


def test_the_text_of_a_skill_alone_is_no_use(tmp_path: Path) -> None:
    """It came without the call of the tool."""
    fake_claude(tmp_path, [gets_skill("HERE")])
    assert run_of(evals_of(tmp_path, cases(1)), 0).used is False


def test_an_evaluation_with_an_agent_says_what_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_claude(tmp_path, USES)
    evals_of(tmp_path, [*cases(2), {"prompt": "Add 1", "should_trigger": False}])
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "./greet", "--via", "claude-code", "--runs", "1", "--max-cost", "1.3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["runs"] == {"done": 5, "failed": 0}
    assert data["exposure"] == {"installed": 3, "offered": 3, "used": 3}
    assert (data["chosen"]["recall"], data["chosen"]["should_not"]) == (1.0, {"runs": 1, "used": 1})


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_an_evaluation_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    """No process, and no folder: by Ctrl-C, and by the signal with which a system ends programs."""
    evals_of(tmp_path, cases(1))
    (tmp_path / "t").mkdir(mode=0o700)
    for number in (signal.SIGINT, signal.SIGTERM):
        mark = f"begun-{number}"
        program = f"setsid sleep 600 & echo begun > {tmp_path / mark}; exec sleep 600"
        command = [sys.executable, "-m", "prowess", "eval", "./greet", "--via", f": {mark}; {program}"]
        env = {**os.environ, "TMPDIR": str(tmp_path / "t"), "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
        with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL) as process:
            wait_until((tmp_path / mark).exists)
            process.send_signal(number)
            assert process.wait(END) == 128 + number
        processes_end(str(tmp_path / "t"))
        assert [name for name in os.listdir(tmp_path / "t") if name.startswith("prowess-eval-")] == []
