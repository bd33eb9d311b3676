"""A skill is named the same way by all commands: what `prowess test` prints, every command takes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prowess.cli import main
from support.skills import skill
from support.suites import write_suite

HOSTILE_NAMES = (
    "./other",
    "../other",
    "/etc",
    "-x",
    "--help",
    ".",
    "~",
    "two words",
    " blank ",
    "UPPER",
    "project:other",
    "sha256:00",
    "a\\nb",
    "other",
    "tests",
    "",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, as working directory."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.chdir(top)
    return top


def suite(folder: Path, name: str | None = None) -> Path:
    """Write a skill with one case; with another name in its front matter than its folder has."""
    write_suite(folder, {"a": "true"})
    if name is not None:
        (folder / "SKILL.md").write_text(f'---\nname: "{name}"\ndescription: Use it.\n---\nBody of {folder}.\n')
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = main([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert out, err
    return code, json.loads(out)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """Return each name that `test --list` prints, and the folder; the text, the JSON and the results agree."""
    _, listed = run(capsys, "test", "--list", *arguments)
    names = {row["name"]: row["path"] for row in listed["skills"]}
    assert len(names) == len(listed["skills"]), "one name for two skills"
    main(["test", "--list", *arguments])
    lines = capsys.readouterr().out.splitlines()
    heads = [path if name == path else f"{name}  {path}" for name, path in names.items()]
    assert [line for line in lines if not line.startswith(" ")] == heads
    return names


def check_names(capsys: pytest.CaptureFixture[str], names: dict[str, str]) -> None:
    for name, path in names.items():
        real = os.path.realpath(path)
        _, tested = run(capsys, "test", "--list", name)
        assert [os.path.realpath(row["path"]) for row in tested["skills"]] == [real], name
        code, shown = run(capsys, "show", name)
        assert (code, os.path.realpath(os.path.dirname(shown["path"]))) == (0, real), name
        code, why = run(capsys, "why", name)
        assert (code, os.path.realpath(os.path.dirname(why["candidates"][0]["path"]))) == (0, real), name
        code, read = run(capsys, "read", name, "SKILL.md")
        assert (code, read["text"]) == (0, Path(path, "SKILL.md").read_text()), name
        code = main(["activate", name, "--json"])
        out, err = capsys.readouterr()
        if code == 0:
            assert os.path.realpath(os.path.dirname(json.loads(out)["path"])) == real, name
        else:
            # A skill that may not be activated is found all the same.
            assert (code, "no skill is called" in err) == (1, False), err


def test_names_are_found_in_the_folders_of_agents_and_elsewhere(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name is the short one if it leads to that skill, otherwise a path below the working directory."""
    suite(project / ".agents/skills/pdf")
    suite(project / "lib/review")
    suite(project / "lib/deep/er/notes", "other-notes")
    names = printed(capsys)
    assert names == {
        "pdf": str(project / ".agents/skills/pdf"),
        "./lib/deep/er/notes": str(project / "lib/deep/er/notes"),
        "./lib/review": str(project / "lib/review"),
    }
    check_names(capsys, names)


def test_two_skills_of_one_name_have_two_names(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In folders of agents, of which one wins, and elsewhere."""
    for folder in (".agents/skills/pdf", ".prowess/skills/pdf", "a/pdf", "b/pdf"):
        suite(project / folder)
    names = printed(capsys)
    assert {"pdf", "./a/pdf", "./b/pdf"} <= {*names}
    assert len(names) == 4
    check_names(capsys, names)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("folder", [".agents/skills/odd", "lib/odd"])
def test_a_name_cannot_lead_to_another_skill(
    name: str, folder: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the front matter says, and even if other skills or folders have that name."""
    suite(project / folder, name)
    suite(project / "other")
    suite(project / ".agents/skills/other")
    (project / "tests").mkdir()
    names = printed(capsys)
    assert len(names) == 3
    check_names(capsys, names)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with blank", "ünïcode", "a=b", "-dash", "UPPER", "a:b", "~tilde", "#hash", "x" * 80])
def test_a_folder_may_have_any_name(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite(project / "lib" / name)
    suite(project / ".agents/skills" / name)
    names = printed(capsys)
    assert len(names) == 2
    check_names(capsys, names)


def test_the_working_directory_may_be_the_skill(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(suite(project / "pdf"))
    names = printed(capsys)
    assert [*names] == ["."]
    check_names(capsys, names)


def test_skills_outside_the_working_directory_have_their_whole_path(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also behind a link, which is printed as it was typed."""
    folder = suite(project.parent / "elsewhere/pdf")
    (project / "link").symlink_to(folder.parent)
    names = printed(capsys, str(folder.parent))
    assert names == {str(folder): str(folder)}
    check_names(capsys, names)
    names = printed(capsys, "link/pdf")
    assert [*names] == ["./link/pdf"]
    check_names(capsys, names)


def test_results_have_the_same_names(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON and JUnit."""
    suite(project / "lib/review")
    code, report = run(capsys, "test", "--sandbox", "none", "--junit", "report.xml")
    assert (code, [row["name"] for row in report["skills"]]) == (0, ["./lib/review"])
    assert 'classname="./lib/review"' in (project / "report.xml").read_text()
    main(["test", "--sandbox", "none"])
    assert capsys.readouterr().out.startswith(f"./lib/review  {project}/lib/review\n")


@pytest.mark.parametrize("command", ["show", "why", "activate"])
@pytest.mark.parametrize("path", ["lib/notes.md", "./lib/notes.md", "lib/whole", "lib/whole/SKILL.md"])
def test_a_path_is_a_name_for_every_command(
    command: str, path: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a folder, of its SKILL.md, or of a flat file."""
    skill(project / "lib/whole")
    (project / "lib/notes.md").write_text("---\nname: notes\ndescription: Notes.\n---\nNote.\n")
    code, shown = run(capsys, command, path)
    item = shown["candidates"][0] if command == "why" else shown
    assert (code, item["name"]) == (0, "notes" if path.endswith("notes.md") else "whole")


@pytest.mark.parametrize("command", ["show", "why", "activate", "read", "trust", "test"])
@pytest.mark.parametrize("path", ["./gone", "lib", "./data.md/x", "x\0y", "a" * 5000, "./README.txt", "../" * 60 + "x"])
def test_a_path_without_a_skill_is_not_a_name(
    command: str, path: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "lib").mkdir()
    (project / "README.txt").write_text("---\nname: x\ndescription: y\n---\n")
    code = main([command, path, *(["SKILL.md"] if command == "read" else [])])
    out, err = capsys.readouterr()
    assert code in (2, 5 if command == "test" else 2), out + err
    assert "bug in Prowess" not in err


@pytest.mark.parametrize("place", [".github/skills/pdf", "skills/pdf", "~/.codex/skills/pdf"])
@pytest.mark.parametrize("command", [("show",), ("activate",), ("read", "SKILL.md")], ids=lambda command: command[0])
def test_a_name_that_prowess_does_not_search_for_leads_to_its_path(
    project: Path, place: str, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    skill(Path(place.replace("~", str(project.parent / "home"))))
    (project.parent / "home/.copilot").mkdir()
    name, *rest = command
    assert main([name, "pdf", *rest]) == 2
    path = place if place.startswith((".", "~")) else f"./{place}"
    assert f"hint: a skill of that name is at `{path}`; give that path" in capsys.readouterr().err
    assert main([name, os.path.expanduser(path), *rest]) == 0
