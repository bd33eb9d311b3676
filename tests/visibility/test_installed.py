"""The cure for a skill of a lock is the lock's: it holds after `update`, and leaves nothing behind after `remove`."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.filesystem import Question
from prowess.find import find_repository_skills
from prowess.visibility import Comparison, compare, group_losses
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = ("claude-code", "codex", "gemini-cli")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty project, home and data folder, and go there."""
    project = tmp_path.resolve() / "project"
    write_repository(project / ".git")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path.resolve() / "data"))
    monkeypatch.chdir(project)
    return project


def compared(*hosts: str) -> Comparison:
    files = [item.path for item in find_repository_skills(".").skills]
    return compare(Question.about("."), hosts=hosts or HOSTS, files=files, cache=False)


def cures(comparison: Comparison) -> list[str]:
    return [cure.text for group in group_losses(comparison) for cure in group.cures]


def prowess(*arguments: str) -> None:
    assert main([*arguments]) == 0, arguments


def follow(command: str) -> None:
    """Type a command, and answer its question with yes."""
    for part in command.split(" && "):
        name, *arguments = shlex.split(part, comments=True)
        assert name == "prowess"
        prowess(*arguments, *(["--yes"] if arguments[0] in ("add", "update") else []))


def files(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    return {path.as_posix() for path in paths if path.parts[0] not in (".git", "vendor")}


def losers(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {item.name: item.losers for item in comparison.distinct if item.losers}


@pytest.mark.parametrize("link", [(), ("--link",)])
def test_a_skill_of_the_lock_is_installed_for_more_agents_and_not_mounted(project: Path, link: tuple[str, ...]) -> None:
    """One command for all skills of a source and all agents; `--link` if they are links."""
    for name in ("pdf", "csv"):
        skill(project / "vendor" / name)
    prowess("add", "./vendor", "--yes", "--host", "codex", *link)
    command = f"prowess add ./vendor csv pdf --host claude-code{' '.join(['', *link])}"
    assert cures(compared()) == [command]
    follow(command)
    assert losers(compared()) == {}
    (project / "vendor/pdf/SKILL.md").write_text("---\nname: pdf\ndescription: Another.\n---\nDo.\n")
    prowess("update", "--yes")
    assert losers(compared()) == {}
    assert {item.description for item in compared().distinct if item.name == "pdf"} == {"Another."}
    if not link:
        prowess("verify")
    prowess("remove", "pdf", "csv", "--yes")
    assert files(project) == set()


def test_the_folder_of_a_repository_is_part_of_the_source(project: Path) -> None:
    """Another folder of it may have a skill of the same name."""
    source = project.parent / "source"
    skill(source / "skills/pdf")
    skill(source / "old/pdf", description="Another.")
    git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], ["branch", "v1"]):
        subprocess.run([*git, *arguments], check=True)
    url = f"file://{source}/.git"
    prowess("add", f"{url}:skills#v1", "pdf", "--yes", "--host", "codex")
    (command,) = cures(compared())
    assert command == f"prowess add '{url}:skills#v1' pdf --host claude-code"
    follow(command)
    assert losers(compared()) == {}
    prowess("verify")
    prowess("remove", "pdf", "--yes")
    assert files(project) == set()


def test_two_agents_that_need_folders_of_their_own_are_in_one_command(project: Path) -> None:
    skill(project / "vendor/pdf")
    prowess("add", "./vendor", "--yes", "--host", "codex")
    assert cures(compared("claude-code", "codex", "camel")) == [
        "prowess add ./vendor pdf --host claude-code --host camel"
    ]


def test_a_skill_of_the_lock_is_fixed_in_its_source(project: Path) -> None:
    """A change of the copy would make `update` refuse it."""
    folder = project / "vendor/pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: Use when: tables\n---\nDo.\n")
    prowess("add", "./vendor", "--yes", "--host", "codex", "--host", "claude-code")
    installed = [cure for cure in cures(compared("copilot")) if "update" in cure]
    assert installed == ["prowess check --fix vendor/pdf && prowess update pdf"]
    follow(installed[0])
    assert losers(compared("copilot", "claude-code")) == {}
    prowess("verify")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("copy", "save your changes of {project}/.agents/skills/pdf elsewhere, and undo them with `prowess install"),
        ("source", "bring its source back: {project}/vendor/pdf/SKILL.md does not exist; then `prowess add ./vendor"),
        ("place", "move .claude/skills/pdf away; then `prowess add ./vendor pdf --host claude-code`"),
    ],
)
def test_what_add_would_refuse_is_done_by_hand_first(project: Path, change: str, said: str) -> None:
    skill(project / "vendor/pdf")
    prowess("add", "./vendor", "--yes", "--host", "codex")
    if change == "copy":
        (project / ".agents/skills/pdf/notes.txt").write_text("Mine.\n")
        (project / "vendor/pdf/notes.txt").write_text("Mine.\n")
    elif change == "source":
        (project / "vendor/pdf/SKILL.md").unlink()
    else:
        (project / ".claude/skills/pdf").mkdir(parents=True)
    (cure,) = cures(compared("claude-code", "codex"))
    assert cure.startswith(said.format(project=project)), cure


@pytest.mark.parametrize("lock", ["", "[]", "\0", '{"version": 1, "skills": {"pdf": 1}}', "[" * 50_000])
def test_an_invalid_lock_installs_nothing(project: Path, lock: str) -> None:
    skill(project / "skills/pdf")
    (project / "skills-lock.json").write_text(lock)
    assert cures(compared("codex")) == ["prowess mount skills/pdf --project --host codex"]


@pytest.mark.parametrize("source", ["./a\\u001b[31mb", "./a\\u202eb", "-rf", "./-x; touch x"])
def test_no_text_of_a_lock_is_more_than_one_argument(project: Path, source: str) -> None:
    skill(project / ".agents/skills/pdf")
    entry = f'{{"source": "{source}", "sourceType": "local", "computedHash": "{"0" * 64}"}}'
    (project / "skills-lock.json").write_text(f'{{"version": 1, "skills": {{"pdf": {entry}}}}}')
    (cure,) = cures(compared("claude-code", "codex"))
    assert cure.isprintable()
    command = cure.rpartition("; then `")[2].removesuffix("`")
    words = shlex.split(command) if command.startswith("prowess ") else []
    assert not {"touch", "x", "-rf"} & {*words}


def test_the_command_that_add_names_without_a_terminal_repeats_what_was_typed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise it would install all skills of the source, for other agents."""
    for name in ("pdf", "csv"):
        skill(project / "vendor" / name)
    typed = ["add", "./vendor", "csv", "--host", "claude-code", "--link"]
    assert main(typed) == 2
    assert f"`prowess {' '.join(typed)} --yes`" in capsys.readouterr().err
