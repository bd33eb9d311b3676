"""Exit codes mean the same for every command: 1 for errors found, 2 for wrong use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli._commands import COMMANDS
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN_NAME = (
    "why unknown",
    "show unknown",
    "check unknown",
    "activate unknown",
    "read unknown SKILL.md",
    "trust unknown",
    "trust --remove unknown",
    "mount unknown --to home",
    "mount --remove unknown --to home",
    "exec --skill unknown -- true",
    "test unknown",
    "eval unknown",
    "eval init unknown",
    "eval good --cases unknown",
    "eval good --crowd unknown",
    "eval good --description unknown",
    "hosts unknown",
    "run unknown.yaml -p x",
    "run unknown.yaml --dry-run",
    "validate unknown.yaml",
    "validate unknown.md",
    "show unknown.yaml",
    "verify unknown",
    "publish unknown oci://127.0.0.1:1/x",
    "remove unknown",
    "update unknown",
    "lock unknown",
)
BAD_CONTENT = (
    "check skills/bad",
    "activate bad",
    "trust bad",
    "mount bad --to home",
    "mount skills/bad --to home",
    "exec --skill bad -- true",
    "exec --skill skills/bad -- true",
    "validate skills/bad",
    "publish skills/bad oci://127.0.0.1:1/x",
    "validate skills/bad/SKILL.md",
    "validate bad.yaml",
    "validate list.yaml",
    "run bad.yaml -p x",
    "run bad.yaml --dry-run",
    "run list.yaml -p x",
    "show list.yaml",
)
WITH_HOST = (
    "list",
    "why good",
    "show good",
    "check",
    "usage",
    "report -o report.html",
    "inventory",
    "prompt",
    "activate good",
    "read good SKILL.md",
    "search words",
    "new another",
    "init",
    "trust good",
    "mount good --to home",
    "exec --skill good",
    "test good",
    "eval good",
    "mcp serve",
    "add ./skills/good --yes",
)
"""The commands with `--host`, with enough arguments to run."""
WITHOUT_HOST = (
    "install",
    "update",
    "remove",
    "verify",
    "lock",
    "run",
    "validate",
    "hosts",
    "publish",
    "index",
    "store",
    "env",
    "completion",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a good and a bad skill, and with bad roles."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PROWESS_SKILL_DIR", "INITRUNNER_SKILL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PROWESS_SKILL_DIR", str(tmp_path / "skills"))
    monkeypatch.chdir(tmp_path)
    skill(tmp_path / "skills/good")
    skill(tmp_path / "skills/bad", more="license: !tag MIT\n")
    (tmp_path / "role.yaml").write_text("name: a\nprompt: x\nmodel: openai:m\n")
    (tmp_path / "bad.yaml").write_text("name: a\nprompt: x\nmodel: openai:m\nskils: []\n")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "skills-lock.json").write_text('{"version": 1, "skills": {}}')
    return tmp_path


def with_options(line: str, *options: str) -> list[str]:
    """Return the arguments of a line with more options, which go before the `--` of `exec`."""
    arguments = shlex.split(line)
    return [*arguments, *options, "--", "true"] if arguments[0] == "exec" else [*arguments, *options]


@pytest.mark.parametrize("line", UNKNOWN_NAME)
@pytest.mark.usefixtures("project")
def test_a_name_or_path_that_does_not_exist_is_wrong_use(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(line)) == 2
    assert "unknown" in "".join(capsys.readouterr())


@pytest.mark.parametrize("line", BAD_CONTENT)
@pytest.mark.usefixtures("project")
def test_a_file_with_errors_is_a_failure(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The user typed the right thing."""
    assert main(shlex.split(line)) == 1
    shown = "".join(capsys.readouterr())
    assert any(words in shown for words in ("!tag", "skils", "is a list"))


@pytest.mark.parametrize("line", WITH_HOST)
@pytest.mark.usefixtures("project")
def test_an_unknown_agent_is_wrong_use(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(with_options(line, "--host", "unknown")) == 2
    assert capsys.readouterr().err.startswith("error: unknown host `unknown`")


MANY_HOSTS = ("add", "list", "check", "why", "usage", "report", "inventory", "new", "init")
"""Commands for which `--host` may be repeated."""


@pytest.mark.parametrize("line", [line for line in WITH_HOST if line.partition(" ")[0] not in MANY_HOSTS])
@pytest.mark.usefixtures("project")
def test_an_agent_that_would_be_ignored_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the same one twice; nothing is done for the first one."""
    for second in ("codex", "claude-code"):
        assert main(with_options(line, "--host", "claude-code", "--host", second)) == 2
        name = line.split(maxsplit=1)[0]
        assert capsys.readouterr() == (
            "",
            f"error: `--host` may be given once here\n\nhint: run `prowess {name}` once for each value\n",
        )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--not-an-option", "--cwd"])
@pytest.mark.usefixtures("project")
def test_an_invalid_option_is_wrong_use(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--cwd` has no value."""
    assert main([command, option]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_the_tables_have_every_command() -> None:
    """A new command is added to them."""
    assert {line.split()[0] for line in WITH_HOST} | {*WITHOUT_HOST} == {*COMMANDS}


@pytest.mark.parametrize("command", ["validate", "run --dry-run"])
@pytest.mark.usefixtures("project")
def test_a_model_is_wrong_use_as_an_option_and_an_error_in_a_role(
    command: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command.split()
    assert main([name, "role.yaml", *options, "--model", "unknown:m"]) == 2
    (project / "role.yaml").write_text("name: a\nprompt: x\nmodel: unknown:m\n")
    assert main([name, "role.yaml", *options]) == 1
    assert "unknown" in "".join(capsys.readouterr())
