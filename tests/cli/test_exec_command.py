"""`prowess exec`: a client in a home of its own, its exit code, and nothing left behind, however it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.mount import skills_root
from support.fake_client import (
    DECOY,
    EXAMPLES,
    SECRETS,
    caller_env,
    client_report,
    fake_client,
    remaining_homes,
    start_python,
)
from support.processes import is_process_alive, wait_until
from support.proofs import short_or_long

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CSV = str(EXAMPLES / "csv-profile")
TIMES = short_or_long(4, 20)


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    """Create a caller with skills, secrets, and a temporary directory that must stay empty."""
    top = tmp_path.resolve()
    (top / "env.json").write_text(json.dumps(caller_env(top)))
    fake_client(top / "bin")
    yield top
    assert remaining_homes(top) == []


def start(top: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    env = {**json.loads((top / "env.json").read_text()), **options.pop("env", {})}
    argv = [sys.executable, "-m", "prowess", "exec", *arguments]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(argv, env=env, text=True, cwd=top, **options)


def run(top: Path, *arguments: str, given: str | None = None, **options: Any) -> tuple[int, str, str]:
    """Run it to its end: exit code, stdout and stderr."""
    process = start(top, *arguments, **({} if given is None else {"stdin": subprocess.PIPE}), **options)
    out, err = process.communicate(given)
    return process.returncode, out, err


def client(top: Path, *arguments: str, **options: Any) -> Any:
    """Run a fake client and return its report."""
    code, out, err = run(top, *arguments, "--", str(top / "bin/client"), **options)
    assert (code, err) == (0, "")
    return client_report(out)


# ── what the client sees ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "copilot", "goose"])
def test_the_client_sees_the_named_skills_and_no_others(host: str, top: Path) -> None:
    """By path, and under another name; none of the caller's secrets comes along."""
    seen = client(top, "--host", host, "--skill", CSV, "--skill", f"mine={EXAMPLES / 'commit-message'}")
    assert [path.partition("/")[2] for path in seen["skills"]] == ["csv-profile", "mine"]
    assert DECOY not in json.dumps(seen)
    assert not seen["env"].keys() & {*SECRETS}
    assert seen["cwd"] == str(top)
    assert os.path.basename(os.path.dirname(seen["env"]["HOME"])).startswith("prowess-home-")


def test_the_client_gets_exactly_the_named_variables(top: Path) -> None:
    """A name without a value has the value of the caller."""
    seen = client(
        top, "--host", "codex", "--env", "MY_SETTING", "--env", "OPENAI_API_KEY", "--env", "A=b=c", "--env", "E="
    )
    env = seen["env"]
    home = env.pop("HOME")
    assert env == {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "TERM": "dumb",
        "TZ": "UTC",
        "USER": "ada",
        "MY_SETTING": "mine",
        "OPENAI_API_KEY": DECOY,
        "A": "b=c",
        "E": "",
        "TMPDIR": home.removesuffix("home") + "tmp",
        "PWD": str(top),
    }


def test_the_host_environment_is_passed_on_without_secrets(top: Path) -> None:
    """With `--include-host-env`."""
    seen = client(top, "--include-host-env")
    assert [seen["env"].get(name) for name in ("EDITOR", "MY_SETTING", "MINE_TOO")] == ["vi", "mine", None]
    assert DECOY not in json.dumps(seen)


@pytest.mark.slow
def test_the_host_is_the_one_whose_command_it_is(top: Path) -> None:
    """Unless another is named; its own program gets the option to ignore project settings."""
    claude = fake_client(top / "bin", "claude")
    code, out, _ = run(top, "--skill", CSV, "--", claude, "-p", "hi")
    seen = client_report(out)
    assert (code, seen["skills"]) == (0, [".claude/csv-profile"])
    assert seen["argv"] == ["--setting-sources", "user", "-p", "hi"]
    seen = client_report(run(top, "--host", "codex", "--skill", CSV, "--", claude, "-p", "hi")[1])
    assert seen["argv"] == ["-p", "hi"]
    assert client(top, "--skill", CSV)["skills"] == [".prowess/csv-profile"]


def test_policies_are_settings_that_the_client_reads(top: Path) -> None:
    """The options of `exec` are those of `IsolationConfig`."""
    command = ("--", "sh", "-c", "cat ~/.claude/settings.json")
    options = ("--host", "claude-code", "--allow-domain", "pypi.org", "--writable", "out", "--readable", "~/.ssh")
    settings = json.loads(run(top, *options, *command)[1])
    assert settings["sandbox"]["network"] == {"allowedDomains": ["pypi.org"], "strictAllowlist": True}
    assert settings["sandbox"]["filesystem"] == {
        "allowWrite": [str(top / "out")],
        "denyRead": [str(top / "home/.claude"), str(top / "home/.codex")],
        "allowRead": [str(top / "home/.ssh")],
    }
    for closed in ([], ["--no-network"]):  # the strictest is the default
        settings = json.loads(run(top, "--host", "claude-code", *closed, *command)[1])
        assert settings["sandbox"]["network"] == {"allowedDomains": [], "strictAllowlist": True}
    settings = json.loads(run(top, "--host", "claude-code", "--network", *command)[1])
    assert "network" not in settings["sandbox"]
    code, _, err = run(top, "--host", "claude-code", "--no-sandbox", *command)
    assert (code, "settings.json" in err) == (1, True)


def test_the_client_starts_in_the_current_directory_or_cwd(top: Path) -> None:
    """`--cwd` also says where named skills are looked for."""
    (top / "elsewhere").mkdir()
    assert client(top, "--cwd", str(top / "elsewhere"))["cwd"] == str(top / "elsewhere")


# ── streams and exit codes ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 1", 1), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_commands(script: str, code: int, top: Path) -> None:
    """Without a message."""
    assert run(top, "--skill", CSV, "--", "sh", "-c", script) == (code, "", "")


def test_the_streams_are_the_callers(top: Path) -> None:
    """A client can be put into a pipe."""
    assert run(top, "--", "sh", "-c", "tr a-z A-Z; echo oops >&2", given="words\n" * 50_000) == (
        0,
        "WORDS\n" * 50_000,
        "oops\n",
    )


def test_the_report_comes_first(top: Path) -> None:
    """With `--json`; then what the command prints."""
    code, out, err = run(top, "--host", "codex", "--skill", f"mine={CSV}", "--json", "--", "echo", "and then")
    report, end = json.JSONDecoder().raw_decode(out)
    assert (code, out[end:], err) == (0, "\nand then\n", "")
    home = report["home"]
    (one,) = report.pop("skills")
    assert report == {"home": home}
    assert re.fullmatch("sha256:[0-9a-f]{64}", one.pop("digest"))
    assert one.pop("bytes") > 10_000
    assert one == {
        "name": "mine",
        "source": CSV,
        "destination": f"{home}/{skills_root('codex')}/mine",
        "files": 11,
        "renamed_from": "csv-profile",
    }


@pytest.mark.parametrize("arguments", [("--env", "HOME=/x", "--", "true"), ("--", "no-such-client")])
def test_wrong_use_leaves_no_home(arguments: tuple[str, ...], top: Path) -> None:
    """Neither where the options are wrong, nor where the program is missing; `cases/cli/exec.md` has the messages."""
    assert run(top, *arguments)[0] == 2


def test_a_missing_folder_for_temporary_files_is_named(top: Path) -> None:
    """And no files are created elsewhere."""
    code, out, err = run(top, "--", "true", env={"TMPDIR": str(top / "none")})
    assert (code, out) == (2, "")
    assert err == (
        f"error: cannot create a folder in `{top / 'none'}`: no such file or directory\n\n"
        "hint: set TMPDIR to a folder that you can write to\n"
    )


# ── nothing is left ──────────────────────────────────────────────────────────────────────────────────────────────────

ENDS = {"success": "exit 0", "failure": "exit 1", "Ctrl-C": "INT", "TERM": "TERM", "HUP": "HUP"}
BUSY = "mkdir -p ~/made/by/it; chmod 500 ~/made; echo here; exec sleep 60"


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(end: str, top: Path) -> None:
    """Several times each, with a client that leaves files and folders that cannot be written to."""
    name = ENDS[end]
    for _ in range(TIMES):
        if name.isupper():
            process = start(top, "--host", "claude-code", "--skill", CSV, "--", "sh", "-c", BUSY)
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            number = getattr(signal, f"SIG{name}")
            process.send_signal(number)
            process.communicate()
            assert process.returncode == 128 + number
        else:
            script = f"mkdir ~/made; echo x > ~/made/file; chmod 500 ~/made; {name}"
            done = run(top, "--host", "claude-code", "--skill", CSV, "--", "sh", "-c", script)
            assert done == (int(name[-1]), "", "")
        assert remaining_homes(top) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_at_any_moment_leaves_nothing(name: str, top: Path) -> None:
    """While the home is made, while the client starts, while it is removed; and no client stays."""
    for step in range(12):
        process = start(top, "--skill", CSV, "--", "sleep", "0.05")
        try:
            process.wait(0.02 * step)
        except subprocess.TimeoutExpired:
            process.send_signal(getattr(signal, name))
        process.communicate()
        assert remaining_homes(top) == []


def test_background_processes_of_the_client_are_ended(top: Path) -> None:
    """It would continue in a home that no longer exists."""
    begin = "mkfifo began; setsid sh -c 'echo $$; echo > began; exec sleep 60' & read -r _ < began; exit 6"
    code, out, _ = run(top, "--", "sh", "-c", f"cd && {begin}")
    assert code == 6
    assert not is_process_alive(int(out))


def test_a_client_whose_exec_was_killed_keeps_its_home_until_it_ends(top: Path) -> None:
    """Then the next one removes it."""
    sweep = (
        "import prowess._internal.tempdirs as tempdirs; tempdirs.STALE_SECONDS = 0.0; "
        "from prowess import EphemeralHome; EphemeralHome().close()"
    )
    env = json.loads((top / "env.json").read_text())
    process = start(top, "--skill", CSV, "--", "sh", "-c", "echo $$; exec sleep 60")
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    subprocess.run([sys.executable, "-c", sweep], env=env, check=True)
    assert len(remaining_homes(top)) == 1
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_process_alive(pid))
    process.communicate()
    subprocess.run([sys.executable, "-c", sweep], env=env, check=True)
    assert remaining_homes(top) == []


TERMINAL = """
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-m", "prowess", "exec", *sys.argv[1:]])
seen, typed = b"", False
while True:
    try:
        part = os.read(fd, 1000)
    except OSError:
        break
    seen += part
    if not part:
        break
    if b"ready" in seen and not typed:
        typed = os.write(fd, b"\\x03")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(seen.decode().replace("\\r", "").replace("^C", ""))
"""
COUNTS = """
import os, signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", os.isatty(0), flush=True)
while not got:
    time.sleep(0.01)
time.sleep(0.1)  # a second one would come now
print("times", len(got), "at home", os.path.isdir(os.environ["HOME"]), flush=True)
raise SystemExit(5)
"""


def test_ctrl_c_in_a_terminal_reaches_the_client_once_and_its_end_is_waited_for(top: Path) -> None:
    """It has the terminal, and its home until it has ended."""
    env = json.loads((top / "env.json").read_text())
    process = start_python(TERMINAL, env, "--", sys.executable, "-IS", "-c", COUNTS)
    out, err = process.communicate()
    assert (out, err) == ("5\nready True\ntimes 1 at home True\n\n", "")


def test_it_can_be_called_in_a_process_that_has_other_children(
    top: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in these tests, which run other code after `main`."""
    monkeypatch.setattr("tempfile.tempdir", str(top / "t m p"))
    other = subprocess.Popen(["sleep", "60"])
    assert main(["exec", "--", "sh", "-c", "echo $HOME; exit 3"]) == 3
    assert re.fullmatch(rf"{top}/t m p/prowess-home-\w+/home\n", capfd.readouterr().out)
    assert other.poll() is None
    other.kill()
    other.wait()
