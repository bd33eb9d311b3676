"""The options of an isolated home, with the real SDK and the Claude Code that comes with it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import ConfigError, EphemeralHome, IsolationConfig, NetworkPolicy, SandboxConfig, SkillConfig, SkillMount
from prowess.adapters.claude_agent_sdk import RESERVED_OPTIONS, isolated_options
from support.growth import END
from support.model_server import ModelServer
from support.programs import require

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

sdk = pytest.importorskip("claude_agent_sdk")
TOP = Path(__file__).parent.parent.parent
EXAMPLES = TOP / "examples/skills"
DECOY = "decoy-58e2"
KEY = "key-90aa"


@pytest.fixture
def decoys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A caller with secrets and skills of its own, none of which a client may get."""
    for folder in ("home/.claude", "moved", "project/.claude"):
        skill = tmp_path / folder / "skills" / DECOY
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: {DECOY}\ndescription: {DECOY}\n---\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-decoy: {DECOY}")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, DECOY)
    return tmp_path / "project"


def config(**more: Any) -> IsolationConfig:
    return IsolationConfig(skills=SkillConfig((SkillMount(EXAMPLES / "csv-profile"),)), **more)


FAKE = """\
import json, os, sys
from pathlib import Path
skills = sorted(path.name for path in Path.home().glob(".claude/skills/*"))
print(json.dumps({"env": dict(os.environ), "skills": skills, "argv": sys.argv[1:]}))
"""


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """A client that prints its environment, the skills it finds and its arguments."""
    file = tmp_path / "fake client"
    file.write_text(f"#!{sys.executable} -IS\n{FAKE}")
    file.chmod(0o755)
    return str(file)


def started(options: Any, env: dict[str, str]) -> Any:
    """What the client tells that the options name, started with an environment as the SDK does."""
    argv = [options.cli_path, "--print", "a b", "$HOME"]
    return json.loads(subprocess.run(argv, env=env, check=True, capture_output=True).stdout)


def without(env: dict[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in names}


def test_the_launcher_lets_nothing_through_but_the_environment_of_the_home(decoys: Path, fake: str) -> None:
    """As the SDK merges it: the caller's environment below, the options' above."""
    with EphemeralHome(config(api_key=KEY, env={"EXTRA": "x y"})) as home:
        options = isolated_options(home, cli_path=fake)
        report = started(options, {**os.environ, **options.env, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"})
        expected = {**home.env, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
    # A shell sets some of these, and Python sets LC_CTYPE in the locale C.
    own = ("PWD", "LC_CTYPE", "_", "OLDPWD", "SHLVL")
    assert without(report["env"], own) == without(expected, own)
    assert DECOY not in json.dumps(report)
    assert report["skills"] == ["csv-profile"]
    assert report["argv"] == ["--print", "a b", "$HOME"]


def test_the_launcher_does_not_depend_on_the_environment_of_the_sdk(decoys: Path, fake: str) -> None:
    """Even if it merged nothing, the child would be in its home."""
    with EphemeralHome(config()) as home:
        report = started(isolated_options(home, cli_path=fake), dict(os.environ))
        assert report["env"]["HOME"] == str(home.path)
    assert DECOY not in json.dumps(report)
    assert report["skills"] == ["csv-profile"]


def test_the_launcher_shows_that_the_home_is_in_use(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the child runs, whatever becomes of the process that started it."""
    monkeypatch.setattr("prowess._internal.tempdirs.STALE_SECONDS", 0.0)
    with EphemeralHome(config()) as home:
        options = isolated_options(home, cli_path="/bin/cat")
        child = subprocess.Popen([options.cli_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"x")
        child.stdin.flush()
        assert child.stdout.read(1) == b"x"
        os.close(home._tempdir.lock_fd)  # as if this process had been killed
        EphemeralHome().close()
        assert home.path.is_dir()
        child.communicate(timeout=END)
        EphemeralHome().close()
        assert not home.path.exists()


def test_the_page_s_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """With a model that we are in place of the real one."""
    code, gateway = re.findall(
        r"^```python\n(.*?)^```$", (TOP / "docs/adapters/claude_agent_sdk.md").read_text(), re.DOTALL | re.MULTILINE
    )
    monkeypatch.chdir(TOP)
    with ModelServer() as model:
        # The model requests no command, and the sandbox needs programs that may be missing.
        given = f'api_key="{KEY}", env={{"ANTHROPIC_BASE_URL": "{model.url}"}}, sandbox=SandboxConfig(enabled=False)'
        assert 'api_key="sk-ant-..."' in code
        code = code.replace('api_key="sk-ant-..."', given)
        names: dict[str, Any] = {"SandboxConfig": SandboxConfig}
        exec(compile(code, "page", "exec"), names)  # noqa: S102 - it is ours
        exec(compile(gateway, "page", "exec"), names)  # noqa: S102 - it is ours
        assert set(names["config"].env) == {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"}
    assert "result='Done.'" in capsys.readouterr().out


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a key, on the example skills."""
    runpy.run_path(str(TOP / "examples/adapters/claude_agent_sdk_agent.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("agent: I know my skills.\nmounted: csv-profile, mine\nthe home exists: False\n")
    assert "  - csv-profile: Profiles a CSV" in out
    assert "  - mine: Writes a Git commit message" in out
    assert out.endswith("Without a network: {'allowedDomains': [], 'strictAllowlist': True}\n")


@pytest.mark.parametrize("sandbox", [None, SandboxConfig(enabled=False)], ids=["strictest", "no-sandbox"])
def test_a_real_conversation_sends_the_mounted_skill_and_no_other(decoys: Path, sandbox: SandboxConfig | None) -> None:
    """The Claude Code that comes with the SDK, in a project that has a skill of its own, asks a model that we are."""
    if sandbox is None:
        require("bwrap")
        require("socat")

    async def ask(options: Any) -> str:
        texts = [message async for message in sdk.query(prompt="hi", options=options)]
        return next(str(message.result) for message in texts if isinstance(message, sdk.ResultMessage))

    with (
        ModelServer() as model,
        EphemeralHome(config(api_key=KEY, env={"ANTHROPIC_BASE_URL": model.url}, sandbox=sandbox)) as home,
    ):
        options = isolated_options(home, cwd=decoys, model="claude-sonnet-5")
        assert asyncio.run(asyncio.wait_for(ask(options), 60)) == "Done."
        asked = [request for request in model.requests if request.path.startswith("/v1/messages")]
        sent = "\n".join(request.text() for request in model.requests)
    assert DECOY not in sent
    assert {request.headers["x-api-key"] for request in asked} == {KEY}
    listing = re.findall(r"^- csv-profile: (.*)", "\n".join(request.text() for request in asked), re.MULTILINE)
    assert listing
    assert all(line.startswith("Profiles a CSV") for line in listing)


@pytest.mark.parametrize("name", RESERVED_OPTIONS)
def test_options_that_the_home_sets_are_refused(name: str) -> None:
    """An option that would lead out of the home, or be overruled in silence."""
    with EphemeralHome(IsolationConfig()) as home, pytest.raises(ConfigError) as caught:
        isolated_options(home, **{name: "x"})
    assert str(caught.value) == f"the home sets the option `{name}`"


@pytest.mark.parametrize("name", ["settings", "setting-sources", "--settings", "setting-sources=project"])
def test_reserved_options_are_refused_in_extra_args(name: str) -> None:
    """The last of two arguments counts."""
    with EphemeralHome() as home, pytest.raises(ConfigError, match="would undo the settings of the home"):
        isolated_options(home, extra_args={name: "project"})


def test_a_closed_home_is_an_error(fake: str) -> None:
    """No launcher can be written into it."""
    with EphemeralHome() as home:
        pass
    with pytest.raises(ConfigError, match="the home is closed"):
        isolated_options(home, cli_path=fake)


def test_a_program_that_is_not_there_is_named() -> None:
    """Before the SDK is asked to start it."""
    with EphemeralHome(IsolationConfig()) as home, pytest.raises(ConfigError) as caught:
        isolated_options(home, cli_path="no-such-claude")
    assert str(caught.value) == "Claude Code not found: no-such-claude"


def test_a_home_of_another_client_is_refused() -> None:
    """The SDK starts nothing but Claude Code."""
    with EphemeralHome(IsolationConfig(), host="codex") as home, pytest.raises(ConfigError) as caught:
        isolated_options(home)
    assert str(caught.value) == "the SDK starts Claude Code, but this home is for OpenAI Codex"


def test_policies_are_in_the_settings_that_the_child_reads() -> None:
    """They are read from the home, since only the user's settings are."""
    with EphemeralHome(config(network_policy=NetworkPolicy.no_network())) as home:
        options = isolated_options(home)
        assert options.setting_sources == ["user"]
        settings = json.loads((home.path / ".claude/settings.json").read_text())
    assert settings["sandbox"]["network"] == {"allowedDomains": [], "strictAllowlist": True}
    assert settings["permissions"]["deny"] == ["WebFetch", "WebSearch"]


@pytest.fixture(autouse=True)
def _nothing_stays(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Homes are made in a folder of the test's own, in which none is left."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert [*folder.iterdir()] == []
