"""`prowess activate`: what the model would read of a skill."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.hosts import host_names
from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill, one for its user alone, one that does not load, and a copy that loses."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    root = top / ".agents/skills"
    skill(root / "pdf", body="Fill $ARGUMENTS with !`date`.")
    (root / "pdf/a.md").touch()
    skill(root / "manual", more="disable-model-invocation: true\n", body="By hand.")
    skill(root / "broken", description="")
    skill(tmp_path / "home/.agents/skills/pdf", body="The user's own.")
    return top


run = partial(run_in, "activate")
data = partial(json_in, "activate")


def text(project: Path, name: str = "pdf") -> str:
    return f"""\
<skill_content name="pdf">
Fill $ARGUMENTS with !`date`.

Arguments: a.pdf

Skill directory: {project}/.agents/skills/{name}
Paths in this skill are relative to that directory.
<skill_resources>
  <file>a.md</file>
</skill_resources>
</skill_content>"""


def test_the_output_is_the_text_for_the_model(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout, and nothing else."""
    assert run(project, "pdf", "--arguments", "a.pdf") == 0
    assert capsys.readouterr() == (text(project) + "\n", "")


def test_json_has_exactly_these_keys(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each call is a conversation of its own, so nothing is repeated."""
    for _ in range(2):
        assert data(project, "pdf", "--arguments", "a.pdf", capsys=capsys) == {
            "name": "pdf",
            "path": f"{project}/.agents/skills/pdf/SKILL.md",
            "content": text(project),
            "files": ["a.md"],
            "repeated": False,
            "findings": [],
        }


def test_findings_are_words_beside_the_data(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings on stderr, and all findings in JSON."""
    file = skill(project / ".agents/skills/odd", description="Use when: it is odd")
    assert run(project, "odd") == 0
    out, err = capsys.readouterr()
    assert out.startswith('<skill_content name="odd">\n')
    assert err == (
        f"{file}:3:14: warning: the unquoted value contains `: ` [repair-colon]\n"
        "    hint: put the whole value in quotes, or run `prowess check --fix`\n"
    )
    assert data(project, "odd", capsys=capsys)["findings"] == [
        {
            "code": "repair-colon",
            "severity": "warning",
            "path": str(file),
            "line": 3,
            "column": 14,
            "message": "the unquoted value contains `: `",
            "hint": "put the whole value in quotes, or run `prowess check --fix`",
        }
    ]


def test_a_user_s_own_choice_is_given(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command acts as the user."""
    assert "By hand." in data(project, "manual", capsys=capsys)["content"]


def test_a_name_may_be_a_path_a_scope_or_a_digest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As for `why`."""
    path = f"{project}/.agents/skills/pdf"
    assert main(["show", "pdf", "--json", "--cwd", str(project), "--home", str(project.parent / "home")]) == 0
    digest = json.loads(capsys.readouterr().out)["digest"]
    for name in (path, f"{path}/SKILL.md", "project:pdf", digest[:20], "PDF"):
        assert data(project, name, capsys=capsys)["path"] == f"{path}/SKILL.md"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["pfd"],
            2,
            "error: no skill is called `pfd` for host `prowess`\n\nhint: did you mean `pdf`?\n",
        ),
        (
            ["zzz"],
            2,
            "error: no skill is called `zzz` for host `prowess`\n\nhint: `prowess list` shows all skills\n",
        ),
        (
            [],
            2,
            """\
error: missing argument: NAME

hint: run `prowess activate --help` for its options
""",
        ),
        (["pdf", "--host", "cdx"], 2, "error: unknown host `cdx`\n\nhint: did you mean `codex`?\n"),
        (
            ["broken"],
            1,
            "error: the skill `broken` is rejected: its description is empty\n\nhint: go on without it\n",
        ),
        (
            ["user:pdf"],
            1,
            """\
error: the skill `pdf` is shadowed: {project}/.agents/skills/pdf/SKILL.md wins: project before user

hint: go on without it
""",
        ),
    ],
    ids=["near", "unknown", "none", "host", "rejected", "shadowed"],
)
def test_a_skill_that_cannot_be_activated_is_an_error(
    arguments: list[str], code: int, message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for wrong use, 1 for what is wrong with a skill; nothing on stdout."""
    for more in ([], ["--json"]):
        assert run(project, *arguments, *more) == code
        assert capsys.readouterr() == ("", message.replace("{project}", str(project)))


@pytest.mark.parametrize("host", host_names())
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_hostile_skills_cannot_touch_the_terminal(
    host: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Body, files and arguments contain no terminal escapes."""
    name = "bad"
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = skill(project / folder / name, body="x \x1b[2J\u202e\n::error::x\n\ty")
        (file.parent / "f\x1b[2J").touch()
    run(project, name, "--arguments", "a\x1b[2J\u202e", *more, "--host", host)
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & set(out + err)
    assert "\n::error::" not in out


def test_nothing_in_the_skill_is_run_or_filled_in(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No process is started."""
    for name in ("system", "posix_spawn", "fork"):
        monkeypatch.setattr(os, name, lambda *_, **__: pytest.fail("a process was started"))
    assert "!`date`" in data(project, "pdf", capsys=capsys)["content"]
