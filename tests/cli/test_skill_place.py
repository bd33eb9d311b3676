"""Where `prowess new` and `prowess init` put a skill, and what they say about who sees it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import AWAITS_TRUST, REACHABLE, State, discover
from prowess.cli import main
from prowess.hosts import load_host

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

AGENTS, CLAUDE = ".agents/skills", ".claude/skills"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of a user without agents, who works in it."""
    monkeypatch.setenv("PATH", "")
    (tmp_path / "p/.git").mkdir(parents=True)
    (tmp_path / "p/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "p/sub").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "p")
    return (tmp_path / "p").resolve()


def use(project: Path, *hosts: str) -> None:
    """Give the user's home the folders by which agents are found."""
    for host in hosts:
        marker = next(marker for marker in load_host(host).found_by if marker.startswith("~/"))
        (project.parent / "home" / marker[2:]).mkdir(parents=True, exist_ok=True)


def skills(project: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(project)) for path in project.rglob("SKILL.md"))


def sees(project: Path, host: str, name: str) -> tuple[bool, bool]:
    """Return whether an agent sees a skill, and whether it asks its user for trust first."""
    catalog = discover(project, host=host, home=project.parent / "home")
    entries = [entry for entry in catalog.skills if entry.folder == name]
    is_seen = any(entry.state is State.ACTIVE for entry in entries)
    return is_seen, not is_seen and any(entry.rule == AWAITS_TRUST for entry in entries)


def words_of(line: str) -> dict[str, str]:
    """Return what a line says of each agent, as in `it is seen by a; not by b or c: rejected`."""
    result: dict[str, str] = {}
    for part in line.removeprefix("it is ").split("; "):
        names, _, word = re.sub("^(not )?(seen )?by ", "", part).partition(": ")
        result |= dict.fromkeys(re.split(", | and | or ", names), word or "seen")
    return result


def commands_in(text: str) -> list[list[str]]:
    """Return the commands in back-ticks that hints name."""
    hints = [line for line in text.splitlines() if line.startswith("hint: ")]
    return [shlex.split(command) for line in hints for command in re.findall(r"`(prowess [^`]*)`", line)]


def run(commands: Iterable[list[str]]) -> None:
    for command in commands:
        assert command[0] == "prowess"
        assert main(command[1:]) == 0


PLACES = [
    pytest.param(["claude-code"], CLAUDE, id="claude-code-alone"),
    pytest.param(["codex"], AGENTS, id="codex-alone"),
    pytest.param(["camel"], ".camel/skills", id="camel-alone"),
    pytest.param(["claude-code", "codex"], AGENTS, id="one-each"),
    pytest.param(["claude-code", "opencode"], CLAUDE, id="both-search-claude"),
    pytest.param(["claude-code", "opencode", "codex", "pi"], AGENTS, id="most-search-agents"),
    pytest.param(["claude-code", "copilot", "codex"], AGENTS, id="two-each"),
    pytest.param(["claude-code", "aam", "codex"], CLAUDE, id="two-to-one"),
    pytest.param(["claude-code", "infer-cli"], AGENTS, id="infer"),
    pytest.param(["claude-code", "gemini-cli", "qwen-code", "goose", "cursor", "letta"], AGENTS, id="many"),
]


@pytest.mark.parametrize("command", [["new", "pdf"], ["init"]], ids=["new", "init"])
@pytest.mark.parametrize(("hosts", "folder"), PLACES)
def test_a_skill_goes_where_most_agents_in_use_look(
    hosts: list[str], folder: str, command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says who sees it, and after the commands of the hints all do."""
    use(project, *hosts)
    name = "pdf" if command[0] == "new" else "example"
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == f"{project}/{folder}/{name}/SKILL.md\n"
    assert skills(project) == [f"{folder}/{name}"]
    (line,) = [line for line in err.splitlines() if line.startswith("it is ")]
    words = words_of(line)
    assert {*hosts} <= {*words}
    for host, word in words.items():
        assert (word == "seen", word == "not trusted") == sees(project, host, name)
    lost = [host for host, word in words.items() if word not in ("seen", "not trusted")]
    commands = commands_in(err)
    assert [words[-1] for words in commands] == lost
    run(commands)
    for host in words:
        assert any(sees(project, host, name)), host


# --host


TOGETHER = [
    pytest.param(["codex", "gemini-cli"], AGENTS, id="codex-gemini"),
    pytest.param(["codex", "codex"], AGENTS, id="twice-the-same"),
    pytest.param(["claude-code", "copilot"], CLAUDE, id="claude-copilot"),
    pytest.param(["infer-cli", "infer"], ".infer/skills", id="infer"),
    pytest.param(["goose", "camel-ai", "vscode", "pi"], AGENTS, id="four"),
]


@pytest.mark.parametrize("command", [["new", "pdf"], ["init"]], ids=["new", "init"])
@pytest.mark.parametrize(("hosts", "folder"), TOGETHER)
def test_several_hosts_are_a_folder_that_all_search(
    hosts: list[str], folder: str, command: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(project, "claude-code")
    assert main([*command, *(word for host in hosts for word in ("--host", host))]) == 0
    assert capsys.readouterr().out.startswith(f"{project}/{folder}/")


APART = [
    pytest.param(["claude-code", "codex"], id="two"),
    pytest.param(["codex", "claude-code", "gemini-cli"], id="three"),
    pytest.param(["infer", "camel", "claude-code"], id="three-folders"),
    pytest.param(["infer-cli", "camel", "infer", "codex"], id="four"),
]


@pytest.mark.parametrize("command", [["new", "pdf"], ["init"]], ids=["new", "init"])
@pytest.mark.parametrize("hosts", APART)
def test_hosts_without_a_common_folder_are_refused_with_the_commands_for_each(
    hosts: list[str],
    command: list[str],
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is written; after the commands, all of them see it."""
    monkeypatch.setenv("INFER_AGENT_SKILLS_ENABLED", "true")
    assert main([*command, *(word for host in hosts for word in ("--host", host))]) == 2
    out, err = capsys.readouterr()
    assert (out, skills(project)) == ("", [])
    assert err.startswith(f"error: no folder is searched by all of {', '.join(hosts)}\n\nhint: `prowess {command[0]} ")
    commands = commands_in(err)
    assert sorted(re.findall(r"--host ([\w-]+)", err)) == sorted(hosts)
    run(commands)
    for host in hosts:
        catalog = discover(project, host=host, home=project.parent / "home")
        assert [str(entry.state) for entry in catalog.skills if entry.state in REACHABLE] == ["active"], host


def test_the_commands_for_each_work_from_another_folder(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    assert main(["new", "pdf", "--host", "codex", "--host", "claude-code", "--cwd", "p"]) == 2
    run(commands_in(capsys.readouterr().err))
    assert skills(project) == [f"{AGENTS}/pdf", f"{CLAUDE}/pdf"]


# --dir, --json


def test_the_name_of_a_folder_forges_no_line(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(project, "claude-code", "codex")
    folder = project / "a\nit is seen by evil\x1b[2J\u2028"
    (folder / ".git").mkdir(parents=True)
    for cwd in (folder, project):
        monkeypatch.chdir(cwd)
        for command in (["new", f"a{len(str(cwd))}"], ["new", "b", "--host", "claude-code", "--host", "codex"]):
            main([*command, "--cwd", str(folder)])
            out, err = capsys.readouterr()
            assert "seen by" in err or "no folder" in err
            assert not re.search("^it is seen by evil", out + err, re.MULTILINE)
            assert not re.search("[\x1b\u2028]", out + err)
