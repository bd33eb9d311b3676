"""Create temporary homes, start clients in them, and remove them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
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
    """A caller with skills and secrets; at the end no home is left."""
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
    """Start a command in a home, and return its report."""
    process = home.start([*argv], stdout=subprocess.PIPE, **options)
    out, _ = process.communicate()
    assert process.returncode == 0
    return client_report(out)


# ── what a client finds ──────────────────────────────────────────────────────────────────────────────────────────────


def hosts_with_user_root() -> list[str]:
    """Return the hosts that have a folder for their user's skills."""
    found = []
    for name in host_names():
        try:
            skills_root(name)
        except ConfigError:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("host", hosts_with_user_root())
def test_a_client_finds_the_mounted_skills_and_no_others(host: str, top: Path) -> None:
    """In the folder of its host, whatever the caller's own folder contains."""
    with EphemeralHome(config(CSV, SkillMount(EXAMPLES / "commit-message", name="mine")), host=host) as home:
        names = sorted(os.listdir(home.skills_dir))
        copied = (home.skills_dir / "csv-profile/SKILL.md").read_bytes()
        assert home.skills_dir == home.path / skills_root(host)
        assert [one.destination for one in home.report.skills] == [str(home.skills_dir / name) for name in names[::1]]
    assert [name for name in names if not name.startswith(".")] == ["csv-profile", "mine"]
    assert copied == (EXAMPLES / "csv-profile/SKILL.md").read_bytes()


def test_the_environment_contains_nothing_unexpected(top: Path) -> None:
    """Only the short list, what the host needs, the key, and `env`."""
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
def test_no_secret_reaches_a_client(host: str, everything: bool, top: Path) -> None:
    """With `include_host_env` only harmless variables do."""
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
    """Nor is any value of `env` in a file."""
    policy = None if host in ("gemini-cli", "qwen-code") else NetworkPolicy.no_network()
    with EphemeralHome(config(api_key=KEY, env={"MY_TOKEN": DECOY}, network_policy=policy), host=host) as home:
        assert home.env[load_host(host).isolated.key_variable] == KEY
        files = [path for path in home.path.parent.rglob("*") if path.is_file()]
        assert len(files) > 3
        assert [
            path for path in files if KEY.encode() in path.read_bytes() or DECOY.encode() in path.read_bytes()
        ] == []


def test_only_the_user_can_read_the_folders_of_a_home() -> None:
    with EphemeralHome(config(), host="gemini-cli") as home:
        for folder in (home.path.parent, home.path, home.workdir, home.path.parent / "tmp"):
            assert folder.stat().st_mode & 0o777 == 0o700
        assert sorted(os.listdir(home.path.parent)) == ["home", "in-use", "tmp", "work"]
        assert os.listdir(home.workdir) == []


def test_the_settings_of_gemini_cli_select_the_key_as_login() -> None:
    """Whether it is given as `api_key` or in `env`; without a key it asks."""
    for given in ({"api_key": KEY}, {"env": {"GEMINI_API_KEY": KEY}}, {}):
        with EphemeralHome(config(**given), host="gemini-cli") as home:
            settings = json.loads((home.path / ".gemini/settings.json").read_text())
            trusted = json.loads((home.path / ".gemini/trustedFolders.json").read_text())
        assert ("security" in settings) is bool(given)
        assert trusted == {str(home.workdir): "TRUST_FOLDER"}


@pytest.mark.parametrize("given", [None, IsolationConfig(), IsolationConfig(sandbox=SandboxConfig())])
def test_without_policies_a_client_gets_the_strictest(given: IsolationConfig | None) -> None:
    """No network for its commands and web tools; its sandbox, which it may not leave."""
    with EphemeralHome(given) as home:
        claude = json.loads((home.path / ".claude/settings.json").read_text())
    sandbox = claude["sandbox"]
    assert (sandbox["enabled"], sandbox["failIfUnavailable"], sandbox["allowUnsandboxedCommands"]) == (
        True,
        True,
        False,
    )
    assert sandbox["network"] == {"allowedDomains": [], "strictAllowlist": True}
    assert claude["permissions"] == {"allow": [], "deny": ["WebFetch", "WebSearch"]}
    with EphemeralHome(given, host="codex") as home:
        codex = tomllib.loads((home.path / ".codex/config.toml").read_text())
    assert codex["web_search"] == "disabled"
    assert codex["default_permissions"] == "prowess"
    assert codex["permissions"]["prowess"]["network"] == {"enabled": False}


def test_commands_may_not_read_the_secrets_of_the_callers_home(top: Path) -> None:
    """The settings name those that exist."""
    with EphemeralHome(config(sandbox=SandboxConfig())) as home:
        settings = json.loads((home.path / ".claude/settings.json").read_text())
    assert settings["sandbox"]["filesystem"]["denyRead"] == [str(top / "home/.claude"), str(top / "home/.codex")]


# ── starting a client ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_clients_program_gets_options_to_ignore_project_settings(top: Path) -> None:
    """They could disable its sandbox. A wrapper must pass them itself."""
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


def test_a_program_is_searched_on_the_path_of_the_home(top: Path) -> None:
    """Not on the caller's. A program that is not found is named."""
    fake_client(top / "bin", "only-there")
    with EphemeralHome(config(env={"PATH": f"{top}/bin:{os.environ['PATH']}"})) as home:
        assert home.program("only-there") == str(top / "bin/only-there")
    with EphemeralHome(config()) as home, pytest.raises(ConfigError) as caught:
        home.start(["only-there"])
    assert str(caught.value) == "program not found: `only-there`"
    assert caught.value.hint == "install it, or give its full path"


def test_a_program_that_cannot_be_started_is_an_error(top: Path) -> None:
    """A file that is not a program, and a missing working directory."""
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


def test_start_does_not_accept_an_environment() -> None:
    """It would replace that of the home."""
    with EphemeralHome(config()) as home, pytest.raises(ConfigError) as caught:
        home.start(["true"], env={})
    assert str(caught.value) == "`env` cannot be passed here: the client gets the environment of its home"
    assert caught.value.hint == "use `IsolationConfig.env`"


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_error_reports_all_problems_of_a_configuration(top: Path) -> None:
    """Variables, key, policies and skills."""
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
    assert f"no such file or folder: `{top}/none`" in rest
    assert f"{bad}" in rest
    assert "`../x`" in rest


def test_unknown_hosts_and_hosts_without_a_user_root_are_refused() -> None:
    with pytest.raises(LookupError, match="no-such-host"):
        EphemeralHome(config(), host="no-such-host")
    for host in set(host_names()) - set(hosts_with_user_root()):
        with pytest.raises(ConfigError, match="has no folder"):
            EphemeralHome(config(), host=host)


def test_a_policy_that_the_client_cannot_enforce_is_refused() -> None:
    for host in ("gemini-cli", "goose"):
        with pytest.raises(ConfigError, match="has no sandbox that Prowess can configure"):
            EphemeralHome(config(network_policy=NetworkPolicy.no_network()), host=host)


def test_a_missing_skill_raises_the_error_of_mounting(top: Path) -> None:
    """If nothing else is wrong."""
    with pytest.raises(SkillNotFoundError):
        EphemeralHome(config(SkillMount(top / "none")))


@pytest.mark.parametrize("kind", ["missing", "a file", "relative"])
def test_an_unusable_temporary_folder_is_an_error(kind: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other folder is used instead."""
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


def test_a_mount_that_fails_leaves_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as on a full disk, or on Ctrl-C."""
    for error in (OSError("no space"), KeyboardInterrupt()):

        def fail(_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(prowess.isolation._home, "apply", fail)
        with pytest.raises(type(error)):
            EphemeralHome(config())


# ── removing a home ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_home_is_removed_after_any_exception(error: type[BaseException], top: Path) -> None:
    """The exception passes through."""
    home = EphemeralHome(config())
    assert home.path.is_dir()
    with pytest.raises(error), home:
        raise error
    assert not home.path.parent.exists()


def test_files_of_the_client_are_removed_too(top: Path) -> None:
    """Folders without permissions, links to the outside, FIFOs and deep trees; nothing outside is touched."""
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
        assert process.wait() == 0
    assert (outside / "kept").read_text() == "x"


def test_closing_a_home_again_does_nothing() -> None:
    """Nor does leaving the block after `close`."""
    with EphemeralHome() as home:
        home.close()
        assert not home.path.exists()
    home.close()


def test_a_home_is_removed_when_the_object_is_deleted() -> None:
    path = EphemeralHome().path
    wait_until(lambda: not path.exists())


def test_two_homes_are_independent(top: Path) -> None:
    """Also when one is closed before the other."""
    with EphemeralHome(config()) as one:
        with EphemeralHome(config(SkillMount(EXAMPLES / "commit-message"))) as two:
            assert len(remaining_homes(top)) == 2
            assert os.listdir(two.skills_dir) == ["commit-message"]
        assert [path for path in os.listdir(one.skills_dir) if not path.startswith(".")] == ["csv-profile"]


def test_a_forked_process_does_not_remove_the_home(top: Path) -> None:
    """Its owner does."""
    with EphemeralHome(config()) as home:
        child = os.fork()
        if child == 0:
            home.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert home.skills_dir.is_dir()


def test_signal_handlers_are_restored() -> None:
    """A handler of the caller stays in place inside the block."""
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
    """Start a process that creates a home, and wait until it has."""
    process = start_python(HOLD.format(what=what, block=block), dict(os.environ), str(EXAMPLES / "csv-profile"))
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_process_and_removes_the_home(name: str, top: Path) -> None:
    """Also if it arrives again and again."""
    process, base = holding("time.sleep(60)", top)
    assert base.is_dir()
    for _ in range(20):
        if process.poll() is None:
            process.send_signal(getattr(signal, name))
        time.sleep(0.002)
    process.communicate()
    assert process.returncode in (128 + getattr(signal, name), -getattr(signal, name), 1)
    assert remaining_homes(top) == []


INTERRUPTED = """
import signal
close = EphemeralHome.close
def interrupted(self):
    os.kill(os.getpid(), signal.SIGTERM)
    close(self)
EphemeralHome.close = interrupted
try:
    with home:
        main()
finally:
    os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_second_signal_does_not_interrupt_the_removal(top: Path) -> None:
    """Nor does one right after it end the process before the home is removed."""
    process, _ = holding("os.kill(os.getpid(), signal.SIGTERM)", top, block=INTERRUPTED)
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert remaining_homes(top) == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["", "sys.exit(3)", "raise ValueError"])
def test_a_home_that_is_not_closed_is_removed_at_the_end_of_the_process(what: str, top: Path) -> None:
    """However the process ends, unless it is killed."""
    process, _ = holding(what or "pass", top, block="main()")
    process.communicate()
    assert remaining_homes(top) == []


def test_the_home_of_a_killed_process_is_removed_with_the_next_home(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at once, and never the home of a running process."""
    killed, old = holding("time.sleep(60)", top)
    living, used = holding("time.sleep(60)", top)
    killed.kill()
    killed.communicate()
    EphemeralHome().close()
    assert old.is_dir()  # it may be one that is just being made
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    (top / "t m p/prowess-home-by-hand").write_text("not a folder")
    (top / "t m p/other").mkdir()
    EphemeralHome().close()
    assert remaining_homes(top) == sorted((used.name, "other", "prowess-home-by-hand"))
    living.terminate()
    living.communicate()
    assert remaining_homes(top) == ["other", "prowess-home-by-hand"]
    (top / "t m p/other").rmdir()
    (top / "t m p/prowess-home-by-hand").unlink()


def test_a_home_is_not_removed_while_its_client_runs(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the process that started it was killed."""
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    starter, base = holding("print(home.start(['sleep', '60']).pid, flush=True); time.sleep(60)", top)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    starter.kill()
    starter.wait()
    assert is_process_alive(pid)
    EphemeralHome().close()
    assert base.is_dir()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_process_alive(pid))
    EphemeralHome().close()
    starter.communicate()
    assert remaining_homes(top) == []


def test_a_home_without_a_lock_file_is_removed(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process was killed before it created the file."""
    (top / "t m p/prowess-home-abcd_123/home").mkdir(parents=True)
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    EphemeralHome().close()


def test_the_client_inherits_no_open_folder() -> None:
    """With an open folder it could leave its sandbox; it inherits an empty file."""
    with EphemeralHome() as home:
        process = home.start(["sh", "-c", "readlink /proc/$$/fd/*"], stdin=subprocess.DEVNULL, **PIPES)
        held = [path for path in process.communicate()[0].splitlines() if path.startswith(str(home.path.parent))]
        (mark,) = held
        assert mark == str(home.path.parent / "in-use")
        assert Path(mark).read_bytes() == b""


def test_a_thread_can_create_and_close_a_home() -> None:
    """Only the main thread can handle signals."""
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


def test_a_home_that_cannot_be_removed_is_an_error(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess._internal.tempdirs.remove_tree", lambda *_: None)
    monkeypatch.setattr("time.sleep", lambda _: None)
    home = EphemeralHome()
    with pytest.raises(OSError, match="cannot be removed") as caught:
        home.close()
    assert "check which process still writes into it" in str(vars(caught.value))
    shutil.rmtree(home.path.parent)


def test_arguments_of_a_wrong_type_are_refused() -> None:
    """All of them are reported. A command that is a string would be split into letters."""
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


def test_nothing_is_started_in_a_closed_home() -> None:
    """Its descriptor may belong to another file by then."""
    with EphemeralHome() as home:
        pass
    with pytest.raises(ConfigError, match="the home is closed"):
        home.start(["true"])
