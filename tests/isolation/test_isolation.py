"""Homes of their own: what a client finds in one, what it does not, and that none is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.isolation
from prowess import (
    ConfigError,
    EphemeralHome,
    IsolationConfig,
    NetworkPolicy,
    SandboxConfig,
    SkillConfig,
    SkillMount,
    SkillNotFoundError,
)
from prowess.hosts import host_names, load_host
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
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = "key-11d0"
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
CSV = SkillMount(EXAMPLES / "csv-profile")


@pytest.fixture(autouse=True)
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A caller with skills and secrets; in the end no home is left."""
    top = tmp_path.resolve()
    env = caller_env(top)
    for name in [*os.environ]:
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(top / "t m p"))
    yield top
    assert remaining_homes(top) == []


def config(*mounts: SkillMount, **more: Any) -> IsolationConfig:
    return IsolationConfig(skills=SkillConfig(mounts or (CSV,)), **more)


def run(home: EphemeralHome, *argv: str, **options: Any) -> Any:
    """Start a command in a home, and return what it tells."""
    process = home.start([*argv], stdout=subprocess.PIPE, **options)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    return client_report(out)


# ── what a client finds ──────────────────────────────────────────────────────────────────────────────────────────────


def rooted() -> list[str]:
    """The hosts whose user has a folder for skills."""
    found = []
    for name in host_names():
        try:
            skills_root(name)
        except ConfigError:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("host", rooted())
def test_a_client_finds_the_mounted_skills_and_no_others(host: str, top: Path) -> None:
    """In the folder of its host, whatever the caller has in its own."""
    with EphemeralHome(config(CSV, SkillMount(EXAMPLES / "commit-message", name="mine")), host=host) as home:
        names = sorted(os.listdir(home.skills_dir))
        copied = (home.skills_dir / "csv-profile/SKILL.md").read_bytes()
        assert home.skills_dir == home.path / skills_root(host)
        assert [one.destination for one in home.report.skills] == [str(home.skills_dir / name) for name in names[::1]]
    assert [name for name in names if not name.startswith(".")] == ["csv-profile", "mine"]
    assert copied == (EXAMPLES / "csv-profile/SKILL.md").read_bytes()


def test_the_whole_environment_is_known(top: Path) -> None:
    """Nothing is in it but the short list, what the host needs, the key, and what the caller names."""
    client = fake_client(top / "bin")
    with EphemeralHome(config(api_key=KEY, env={"EXTRA": "x y"})) as home:
        seen = run(home, client, "a b", cwd=home.workdir)
        base = home.path.parent
        assert seen["env"] == {**home.env, "PWD": str(home.workdir)}
    assert home.env == {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "TERM": "dumb",
        "TZ": "UTC",
        "USER": "ada",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANTHROPIC_API_KEY": KEY,
        "EXTRA": "x y",
        "HOME": str(base / "home"),
        "TMPDIR": str(base / "tmp"),
    }
    assert seen["skills"] == [".claude/csv-profile"]
    assert seen["argv"] == ["a b"]
    assert base.parent == top / "t m p"


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "qwen-code"])
@pytest.mark.parametrize("everything", [False, True])
def test_nothing_that_may_be_a_secret_reaches_a_client(host: str, everything: bool, top: Path) -> None:
    """Also where it is given the caller's environment: then what is harmless comes, and no more."""
    client = fake_client(top / "bin")
    with EphemeralHome(config(include_host_env=everything), host=host) as home:
        seen = run(home, client)["env"]
    assert DECOY not in json.dumps(seen)
    assert not seen.keys() & {*SECRETS}
    assert "MINE_TOO" not in seen  # it leads to the caller's home
    assert [seen.get(name) for name in ("EDITOR", "MY_SETTING")] == (["vi", "mine"] if everything else [None, None])
    assert seen["HOME"] == str(home.path)
    assert seen["TMPDIR"] == str(home.path.parent / "tmp")


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini-cli", "qwen-code"])
def test_the_key_is_in_the_environment_and_in_no_file(host: str) -> None:
    """Nor is any other value that the caller gives."""
    policy = None if host in ("gemini-cli", "qwen-code") else NetworkPolicy.no_network()
    with EphemeralHome(config(api_key=KEY, env={"MY_TOKEN": DECOY}, network_policy=policy), host=host) as home:
        assert home.env[load_host(host).isolated.key_variable] == KEY
        files = [path for path in home.path.parent.rglob("*") if path.is_file()]
        assert len(files) > 3
        assert [
            path for path in files if KEY.encode() in path.read_bytes() or DECOY.encode() in path.read_bytes()
        ] == []


def test_what_is_made_is_the_users_alone() -> None:
    """Others of the machine can look into no folder of it."""
    with EphemeralHome(config(), host="gemini-cli") as home:
        for folder in (home.path.parent, home.path, home.workdir, home.path.parent / "tmp"):
            assert folder.stat().st_mode & 0o777 == 0o700
        assert sorted(os.listdir(home.path.parent)) == ["home", "in-use", "tmp", "work"]
        assert os.listdir(home.workdir) == []


def test_gemini_cli_is_told_how_to_log_in_wherever_its_key_comes_from() -> None:
    """As `api_key`, or in `env`; without one it asks."""
    for given in ({"api_key": KEY}, {"env": {"GEMINI_API_KEY": KEY}}, {}):
        with EphemeralHome(config(**given), host="gemini-cli") as home:
            settings = json.loads((home.path / ".gemini/settings.json").read_text())
            trusted = json.loads((home.path / ".gemini/trustedFolders.json").read_text())
        assert ("security" in settings) is bool(given)
        assert trusted == {str(home.workdir): "TRUST_FOLDER"}


def test_the_secrets_of_the_callers_home_are_closed_to_commands(top: Path) -> None:
    """Those that there are: the settings name them."""
    with EphemeralHome(config(sandbox=SandboxConfig())) as home:
        settings = json.loads((home.path / ".claude/settings.json").read_text())
    assert settings["sandbox"]["filesystem"]["denyRead"] == [str(top / "home/.claude"), str(top / "home/.codex")]


# ── a project, and what starts the client in turn ────────────────────────────────────────────────────────────────────


def test_the_clients_own_program_is_told_to_leave_the_settings_of_projects_alone(top: Path) -> None:
    """They could switch its sandbox off; a wrapper has to say so itself."""
    client = fake_client(top / "bin", "claude")
    with EphemeralHome(config(env={"PATH": f"{top}/bin:{os.environ['PATH']}"})) as home:
        for argv in (["claude", "-p", "hi"], [client, "-p", "hi"]):
            assert home.command(argv) == [argv[0], "--setting-sources", "user", "-p", "hi"]
            assert run(home, *argv)["argv"] == ["--setting-sources", "user", "-p", "hi"]
        assert home.command(["npx", "claude"]) == ["npx", "claude"]
        assert home.command([]) == []
    with EphemeralHome(config(), host="codex") as home:
        assert home.command(["codex", "exec"]) == ["codex", "exec"]
        assert home.command(["claude"]) == ["claude"]


def test_a_program_is_looked_for_on_the_path_of_the_home(top: Path) -> None:
    """Not on the caller's, and what is not there is named."""
    fake_client(top / "bin", "only-there")
    with EphemeralHome(config(env={"PATH": f"{top}/bin:{os.environ['PATH']}"})) as home:
        assert home.program("only-there") == str(top / "bin/only-there")
    with EphemeralHome(config()) as home, pytest.raises(ConfigError) as caught:
        home.start(["only-there"])
    assert str(caught.value) == "program not found: `only-there`"
    assert caught.value.hint == "install it, or give its full path"


def test_what_cannot_be_started_is_named(top: Path) -> None:
    """A file that is no program, and a working directory that is none."""
    file = top / "bad"
    file.write_bytes(b"\x7fELF")
    file.chmod(0o755)
    with EphemeralHome(config()) as home:
        with pytest.raises(ConfigError) as caught:
            home.start([str(file)])
        assert str(caught.value).startswith(f"`{file}` cannot be started: ")
        with pytest.raises(ConfigError, match="cannot be started: "):
            home.start(["true"], cwd=top / "none")
        with pytest.raises(ConfigError, match="the command is empty"):
            home.start([])


def test_the_environment_cannot_be_given_at_the_start() -> None:
    """It would undo all of this."""
    with EphemeralHome(config()) as home, pytest.raises(ConfigError) as caught:
        home.start(["true"], env={})
    assert str(caught.value) == "`env` cannot be passed here: the client gets the environment of its home"
    assert caught.value.hint == "use `IsolationConfig.env`"


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_problems_of_the_whole_configuration_are_in_one_error(top: Path) -> None:
    """Variables, key, policies and skills, each with what to do."""
    bad = skill(top / "bad", description="x" * 1025).parent
    with pytest.raises(ConfigError) as caught:
        EphemeralHome(
            config(
                SkillMount(top / "none"),
                SkillMount(bad),
                SkillMount(EXAMPLES / "csv-profile", name="../x"),
                env={"HOME": "/x", "XDG_CONFIG_HOME": "/y", "A=B": "z"},
                api_key="a\0b",
                network_policy=NetworkPolicy.with_domains("https://a.b"),
                sandbox=SandboxConfig(excluded_commands=("docker",)),
            )
        )
    assert len(caught.value.problems) == 9
    lines = str(caught.value).splitlines()
    assert lines[0] == "9 problems; no home was created:"
    for number, words in enumerate(
        (
            "`HOME` would move the client out of its home",
            "`XDG_CONFIG_HOME` would move the client out of its home",
            "`A=B` is not a valid variable name",
            "the key is not a string without NUL characters",
            "`https://a.b` is not a valid domain",
            "`excluded_commands` lets commands run outside the sandbox",
        ),
        start=1,
    ):
        assert lines[number].startswith(f"  {words}"), lines[number]
    rest = "\n".join(lines[7:])
    assert f"there is no `{top}/none`" in rest
    assert f"{bad}" in rest
    assert "`../x`" in rest


def test_a_host_that_is_none_and_a_host_without_a_folder_are_refused() -> None:
    """By name."""
    with pytest.raises(LookupError, match="no-such-host"):
        EphemeralHome(config(), host="no-such-host")
    for host in set(host_names()) - set(rooted()):
        with pytest.raises(ConfigError, match="has no folder"):
            EphemeralHome(config(), host=host)


def test_a_policy_that_the_client_cannot_hold_makes_no_home() -> None:
    """It is refused before anything is made."""
    for host in ("gemini-cli", "goose"):
        with pytest.raises(ConfigError, match="has no sandbox that Prowess can configure"):
            EphemeralHome(config(network_policy=NetworkPolicy.no_network()), host=host)


def test_a_skill_that_is_not_there_is_the_kind_of_error_that_mounting_raises(top: Path) -> None:
    """Where nothing else is wrong."""
    with pytest.raises(SkillNotFoundError):
        EphemeralHome(config(SkillMount(top / "none")))


@pytest.mark.parametrize("kind", ["missing", "a file", "relative"])
def test_a_folder_for_temporary_files_that_is_none_is_named(
    kind: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than that homes are made anywhere else."""
    path = {"missing": str(top / "none"), "a file": str(top / "file"), "relative": "none"}[kind]
    (top / "file").write_text("x")
    monkeypatch.chdir(top)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", path)
    with pytest.raises(ConfigError) as caught:
        EphemeralHome(config())
    reason = "not a directory" if kind == "a file" else "no such file or directory"
    assert str(caught.value) == f"cannot create a folder in `{top / os.path.basename(path)}`: {reason}"
    assert caught.value.hint == "set TMPDIR to a folder that you can write to"


def test_a_mount_that_fails_after_all_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full, or Ctrl-C is typed."""
    for error in (OSError("no space"), KeyboardInterrupt()):

        def fail(_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(prowess.isolation._home, "apply", fail)
        with pytest.raises(type(error)):
            EphemeralHome(config())


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_home_is_removed_whatever_ends_the_block(error: type[BaseException], top: Path) -> None:
    """An error, Ctrl-C or the end of the process; it passes through."""
    home = EphemeralHome(config())
    assert home.path.is_dir()
    with pytest.raises(error), home:
        raise error
    assert not home.path.parent.exists()


def test_what_the_client_has_made_is_removed_too(top: Path) -> None:
    """Folders without permissions, links that lead out, FIFOs and deep trees; nothing outside is touched."""
    outside = top / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    with EphemeralHome(config()) as home:
        script = (
            f"cd; mkdir -p ro/in; echo x > ro/in/f; ln -s {outside} out; ln -s {outside}/kept file; mkfifo pipe;"
            "d=deep; for i in $(seq 60); do mkdir $d; d=$d/d; done; "
            "mkdir none; chmod 0 none; chmod 500 ro/in ro; chmod 0 ."
        )
        process = home.start(["sh", "-c", script])
        assert process.wait(20) == 0
    assert (outside / "kept").read_text() == "x"


def test_a_closed_home_stays_closed() -> None:
    """Closing again does nothing, and a block that closes early is fine."""
    with EphemeralHome() as home:
        home.close()
        assert not home.path.exists()
    home.close()


def test_a_home_that_nobody_closes_goes_with_its_last_name() -> None:
    """And at the end of the process: see below."""
    path = EphemeralHome().path
    wait_until(lambda: not path.exists())


def test_two_homes_at_once_do_not_know_each_other(top: Path) -> None:
    """Also when one is closed before the other."""
    with EphemeralHome(config()) as one:
        with EphemeralHome(config(SkillMount(EXAMPLES / "commit-message"))) as two:
            assert len(remaining_homes(top)) == 2
            assert os.listdir(two.skills_dir) == ["commit-message"]
        assert [path for path in os.listdir(one.skills_dir) if not path.startswith(".")] == ["csv-profile"]


def test_a_process_that_was_forked_leaves_the_home_alone(top: Path) -> None:
    """Neither at its end nor when it leaves the block; the owner removes it."""
    with EphemeralHome(config()) as home:
        child = os.fork()
        if child == 0:
            home.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert home.skills_dir.is_dir()


def test_handlers_of_signals_are_as_they_were() -> None:
    """And one of the caller's own stays in place inside."""
    before: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    mine = signal.signal(signal.SIGHUP, lambda *_: None)
    try:
        own = signal.getsignal(signal.SIGHUP)
        with EphemeralHome():
            assert signal.getsignal(signal.SIGHUP) is own
            assert signal.getsignal(signal.SIGTERM) is not before[signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, mine)
    assert {number: signal.getsignal(number) for number in before} == before


HOLD = """
import os, sys, time
from prowess import EphemeralHome, IsolationConfig, SkillConfig, SkillMount
config = IsolationConfig(skills=SkillConfig((SkillMount(sys.argv[1]),)))
home = EphemeralHome(config)
def main():
    print(home.path.parent, flush=True)
    {what}
{block}
"""
WITH = "with home:\n    main()"


def holding(what: str, top: Path, *, block: str = WITH) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that holds a home, and wait until it does."""
    process = start_python(HOLD.format(what=what, block=block), dict(os.environ), str(EXAMPLES / "csv-profile"))
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_process_and_its_home(name: str, top: Path) -> None:
    """In a process that uses the API as a block; also when it comes again and again."""
    process, base = holding("time.sleep(60)", top)
    assert base.is_dir()
    for _ in range(20):
        if process.poll() is None:
            process.send_signal(getattr(signal, name))
        time.sleep(0.002)
    process.communicate(timeout=20)
    assert process.returncode in (128 + getattr(signal, name), -getattr(signal, name), 1)
    assert remaining_homes(top) == []


@pytest.mark.parametrize("what", ["", "sys.exit(3)", "raise ValueError"])
def test_a_process_that_forgets_its_home_removes_it_at_its_end(what: str, top: Path) -> None:
    """Without a block, whatever the end is, if it is not killed."""
    process, _ = holding(what or "pass", top, block="main()")
    process.communicate(timeout=20)
    assert remaining_homes(top) == []


def test_the_home_of_a_process_that_was_killed_is_removed_by_the_next(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not before its time, and never that of a process that lives."""
    killed, old = holding("time.sleep(60)", top)
    living, used = holding("time.sleep(60)", top)
    killed.kill()
    killed.communicate(timeout=20)
    EphemeralHome().close()
    assert old.is_dir()  # it may be one that is just being made
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    (top / "t m p/prowess-home-by-hand").write_text("not a folder")
    (top / "t m p/other").mkdir()
    EphemeralHome().close()
    assert remaining_homes(top) == sorted((used.name, "other", "prowess-home-by-hand"))
    living.terminate()
    living.communicate(timeout=20)
    assert remaining_homes(top) == ["other", "prowess-home-by-hand"]
    (top / "t m p/other").rmdir()
    (top / "t m p/prowess-home-by-hand").unlink()


def test_a_home_is_not_swept_while_its_client_lives(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the process that started it was killed; once the client has ended it is."""
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    starter, base = holding("print(home.start(['sleep', '60']).pid, flush=True); time.sleep(60)", top)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    starter.kill()
    starter.wait(20)
    assert is_process_alive(pid)
    EphemeralHome().close()
    assert base.is_dir()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_process_alive(pid))
    EphemeralHome().close()
    starter.communicate(timeout=20)
    assert remaining_homes(top) == []


def test_what_was_killed_before_it_could_hold_its_home_is_swept(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no file to hold then."""
    (top / "t m p/prowess-home-x/home").mkdir(parents=True)
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    EphemeralHome().close()


def test_through_what_the_client_holds_no_folder_can_be_reached() -> None:
    """It is an empty file: an open folder would lead out of a client's sandbox."""
    with EphemeralHome() as home:
        process = home.start(["sh", "-c", "readlink /proc/$$/fd/*"], stdin=subprocess.DEVNULL, **PIPES)
        held = [
            path for path in process.communicate(timeout=20)[0].splitlines() if path.startswith(str(home.path.parent))
        ]
        (mark,) = held
        assert mark == str(home.path.parent / "in-use")
        assert Path(mark).read_bytes() == b""


def test_a_thread_can_make_and_close_a_home() -> None:
    """Only the main thread gets signals; the others leave them alone."""
    import threading

    seen: list[bool] = []

    def make() -> None:
        with EphemeralHome(config()) as home:
            seen.append(home.skills_dir.is_dir())

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


def test_what_cannot_be_removed_is_said(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than left behind in silence."""
    monkeypatch.setattr("prowess._internal.tempdirs.remove_tree", lambda *_: None)
    monkeypatch.setattr("time.sleep", lambda _: None)
    home = EphemeralHome()
    with pytest.raises(OSError, match="cannot be removed") as caught:
        home.close()
    assert "check which process still writes into it" in str(vars(caught.value))
    shutil.rmtree(home.path.parent)


def test_what_is_no_configuration_is_told() -> None:
    """With all of it that is wrong; a command that is one text would be taken apart into letters."""
    values: Any = {
        "env": ["A=1"],
        "include_host_env": "no",
        "network_policy": False,
        "skills": "csv-profile",
    }
    wrong = IsolationConfig(**values)
    with pytest.raises(ConfigError) as error:
        EphemeralHome(wrong)
    assert [str(one) for one in error.value.problems] == [
        "`env` must be a mapping, not list",
        "`network_policy` is not a NetworkPolicy",
        "`include_host_env` must be true or false",
        "`skills` must be a list, not str",
    ]
    others: list[Any] = [{}, "x", SkillConfig()]
    for other in others:
        with pytest.raises(ConfigError, match="the configuration must be an IsolationConfig"):
            EphemeralHome(other)
    with pytest.raises(ConfigError, match="the value of `A`"):
        EphemeralHome(IsolationConfig(env={"A": "\ud800"}))
    with EphemeralHome() as home, pytest.raises(ConfigError, match="a command must be a list"):
        home.start("true")


def test_nothing_is_started_in_a_home_that_is_closed() -> None:
    """It would have no home, and what its descriptor stands for by then."""
    with EphemeralHome() as home:
        pass
    with pytest.raises(ConfigError, match="the home is closed"):
        home.start(["true"])
