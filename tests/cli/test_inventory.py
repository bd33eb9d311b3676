"""`prowess inventory`: every SKILL.md below a folder, and who sees it."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.text import display_width
from prowess.catalog import find_repository_skills
from prowess.cli import main
from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import RepositorySkills


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without skills, on a machine with Claude Code and Codex."""
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.setenv("PATH", "")
    top = tmp_path / "project"
    for name in ("objects", "refs"):
        (top / ".git" / name).mkdir(parents=True)
    (top / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for name in (".claude", ".codex"):
        (tmp_path / "home" / name).mkdir(parents=True)
    return top


run = partial(run_in, "inventory")
data = partial(json_in, "inventory")


def states(value: dict[str, Any]) -> dict[str, list[str]]:
    """Return the states of each skill by its folder, relative to the top."""
    return {
        os.path.relpath(os.path.dirname(item["path"]), value["top"]): [view["state"] for view in item["hosts"].values()]
        for item in value["skills"]
    }


def test_skills_are_listed_by_place_with_who_sees_them(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Skills of one place that the same agents see are together."""
    for folder in (".claude/skills/pdf", "skills/b", "skills/group/a", "tests/fixtures/c"):
        skill(project / folder)
    skill(project / ".agents/skills/empty", description="")
    skill(project / ".agents/skills/deploy", "other-name", more="disable-model-invocation: true\n")
    assert run(project) == 0
    out, err = capsys.readouterr()
    assert (
        out
        == """\
.agents/skills  (agent folder; 2 skills)
  seen by codex
  not searched by claude-code
    deploy  (name: other-name)
  not searched by claude-code
  not loaded by codex: the description is empty
    empty

.claude/skills  (agent folder; 1 skill)
  seen by claude-code
  not searched by codex
    pdf

skills  (skills folder; 2 skills)
  not searched by claude-code, codex
    b
    group/a

tests/fixtures  (other; 1 skill)
  not searched by claude-code, codex
    c
"""
    )
    assert err.splitlines() == [
        "agents: claude-code, codex",
        "6 skills in 4 places: 2 seen by some agent, 4 by none; `prowess check` says what to change",
    ]


def test_json_has_every_skill_with_the_views_of_all_agents(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = skill(project / "plugins/p/skills/a")
    inner = skill(project / "plugins/p/skills/a/examples/b")
    skill(project / ".claude/skills/c")
    (project / "plugins/p/plugin.json").write_text('{"name": "my-plugin"}')
    (project / "node_modules").mkdir()
    found = data(project, capsys=capsys)
    assert (found["top"], found["hosts"], found["findings"]) == (str(project), ["claude-code", "codex"], [])
    _, first, second = found["skills"]
    place = str(project / "plugins/p/skills")
    assert {key: value for key, value in first.items() if key != "hosts"} == {
        "path": str(file),
        "real": str(file),
        "name": "a",
        "kind": "plugin",
        "plugin": "my-plugin",
        "place": place,
        "inside": None,
        "copy_of": None,
    }
    assert (second["path"], second["inside"]) == (str(inner), str(file))
    view = first["hosts"]["codex"]
    assert (view["state"], view["loss"]["kind"], view["loss"]["codes"]) == ("absent", "place", [])
    assert view["loss"]["cure"].startswith("prowess mount ")
    assert found["places"] == [
        {"path": str(project / ".claude/skills"), "kinds": ["agent-folder"], "plugins": [], "skills": 1, "seen": 1},
        {"path": place, "kinds": ["plugin"], "plugins": ["my-plugin"], "skills": 2, "seen": 0},
    ]
    assert found["skipped"] == [{"reason": "node_modules", "count": 1, "examples": [str(project / "node_modules")]}]
    assert found["counts"] == {
        "skills": 3,
        "places": 2,
        "folders": 10,
        "seen": 1,
        "unseen": 2,
        "kinds": {"agent-folder": 1, "skills-folder": 0, "plugin": 2, "marketplace": 0, "other": 0},
        "hosts": {"claude-code": 1, "codex": 0},
    }


@pytest.mark.parametrize(
    ("arguments", "hosts"),
    [
        ((), ["claude-code", "codex"]),
        (("--host", "pi", "--host", "copilot", "--host", "pi"), ["pi", "copilot"]),
    ],
)
def test_the_options_choose_the_agents(
    project: Path, arguments: tuple[str, ...], hosts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    skill(project / "skills/a")
    assert data(project, *arguments, capsys=capsys)["hosts"] == hosts
    assert len(data(project, "--all", capsys=capsys)["hosts"]) >= 17


def test_one_agent_has_a_summary_of_its_own(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill(project / "skills/a")
    skill(project / ".claude/skills/b")
    assert run(project, "--host", "claude-code") == 0
    assert (
        capsys.readouterr().err
        == "2 skills in 2 places: 1 seen by claude-code, 1 not; `prowess check` says what to change\n"
    )
    assert run(project, "--host", "claude-code", "--kind", "agent-folder") == 0
    assert capsys.readouterr().err == "1 skill in 1 place: 1 seen by claude-code, 0 not\n"


def test_kinds_can_be_chosen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (".claude/skills/a", "skills/b", "other/c"):
        skill(project / folder)
    assert [*states(data(project, "--kind", "skills-folder", capsys=capsys))] == ["skills/b"]
    chosen = data(project, "--kind", "agent-folder", "--kind", "other", capsys=capsys)
    assert [*states(chosen)] == [".claude/skills/a", "other/c"]
    assert chosen["counts"]["skills"] == 2
    assert run(project, "--kind", "plugin") == 1
    assert run(project, "--kind", "nonsense") == 2
    assert "`--kind` cannot be" in capsys.readouterr().err


def test_no_skills_are_a_failure(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless the user allows it; a SKILL.md with another spelling is reported."""
    (project / "skills").mkdir()
    (project / "skills/skill.md").touch()
    assert run(project) == 1
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[-3]) == ("", "no skills found")
    assert "[file-name-case]" in err
    assert run(project, "--allow-empty") == 0
    assert run(project, "--json") == 1
    assert json.loads(capsys.readouterr().out)["counts"]["skills"] == 0


def test_a_folder_can_be_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Relative to `--cwd`, where the agents are started."""
    skill(project / ".agents/skills/a")
    skill(project / "packages/x/.agents/skills/b")
    assert states(data(project, "packages/x", "--host", "codex", capsys=capsys)) == {".agents/skills/b": ["absent"]}
    folder = str(project / "packages/x")
    assert main(["inventory", folder, "--home", str(project.parent / "home"), "--host", "codex", "--json"]) == 0
    assert states(json.loads(capsys.readouterr().out)) == {".agents/skills/b": ["active"]}


@pytest.mark.parametrize("name", ["nothing", "file", "a\0b"])
def test_a_path_that_is_no_folder_is_wrong_use(project: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "file").touch()
    assert run(project, name) == 2
    assert "`DIR` is not a folder" in capsys.readouterr().err


def test_skills_behind_links_count_if_an_agent_sees_them(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a skill that is linked into an agent's folder is seen, and listed once."""
    skill(project / "skills/a")
    skill(project.parent / "elsewhere/b")
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/a").symlink_to(project / "skills/a")
    (project / ".claude/skills/b").symlink_to(project.parent / "elsewhere/b")
    found = data(project, "--host", "claude-code", capsys=capsys)
    assert states(found) == {".claude/skills/b": ["active"], "skills/a": ["active"]}
    assert [item["kind"] for item in found["skills"]] == ["agent-folder", "skills-folder"]


def test_a_file_that_disappears_during_the_search_is_left_out(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link has then no longer the target that it was found with."""
    skill(project / "skills/a")
    skill(project.parent / "elsewhere/b")
    (project / "skills/b").mkdir()
    link = project / "skills/b/SKILL.md"
    link.symlink_to(project.parent / "elsewhere/b/SKILL.md")

    def find_and_remove(top: str, **options: Any) -> RepositorySkills:
        found = find_repository_skills(top, **options)
        link.unlink()
        return found

    monkeypatch.setattr("prowess.cli.inventory.find_repository_skills", find_and_remove)
    found = data(project, "--host", "codex", capsys=capsys)
    assert [item["name"] for item in found["skills"] if item["path"] != str(link)] == ["a"]


def test_the_users_own_skills_are_not_of_the_repository(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skill(project / "skills/a")
    skill(project.parent / "home/.claude/skills/b")
    assert [*states(data(project, capsys=capsys))] == ["skills/a"]


def test_skipped_folders_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".gitignore").write_text("out*\n")
    for folder in ("out1/a", "out2/a", "out3/a", "out4/a", "node_modules/b", "skills/c"):
        skill(project / folder)
    assert run(project) == 0
    line = "not searched: 4 ignored by git (out1, out2, out3, ...); 1 called node_modules (node_modules)"
    assert line in capsys.readouterr().err.splitlines()


def test_no_text_of_a_repository_can_forge_a_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and paths are shown on one line, without control characters, and not endless."""
    skill(project / "skills/a\n  seen by codex\n", '"x\\n  seen by codex\\e[31m"')
    skill(project / "skills/b", "n" * 5000)
    (project / "plugin.json").write_text(json.dumps({"name": "p\n  seen by \x1b[31m" + "q" * 5000}))
    assert run(project) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "  seen by codex" not in out.splitlines()
    assert len([line for line in out.splitlines() if line.startswith("    ") and line[4] != " "]) == 2
    assert max(map(len, out.splitlines())) < 200


def test_lines_fit_a_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every agent, and several reasons."""
    for folder in (".claude/skills/a", ".agents/skills/b"):
        skill(project / folder, "Not A Name", "x" * 1100)
    assert run(project, "--all") == 0
    out = capsys.readouterr().out
    assert "claude-code" in out
    assert max(map(display_width, out.splitlines())) <= 80


def test_a_long_search_shows_its_progress(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal only, and the line is removed."""
    for number in range(250):
        (project / f"{number}").mkdir()
    skill(project / "skills/a")
    run(project)
    assert "searching" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run(project, "--color", "never")
    err = capsys.readouterr().err
    assert err.startswith("\r\x1b[Ksearching: 200 folders\r\x1b[K")
