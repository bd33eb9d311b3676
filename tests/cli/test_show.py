"""`prowess show`: all there is to know of one skill."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess._internal.files import skill_digest
from prowess.cli import main
from support.project_commands import run_in

if TYPE_CHECKING:
    from pathlib import Path

SKILL = """\
---
name: pdf
description: Fills forms.
metadata: {version: "1.0"}
requires: {bins: [qpdf]}
---
Run [it](scripts/fill.py), then [that](no.md).
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    skill = tmp_path / "p" / ".agents" / "skills" / "pdf"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "scripts" / "fill.py").write_text("x" * 1234)
    (tmp_path / "p" / ".git").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "p"


run = partial(run_in, "show")


def test_a_skill_is_shown_with_all_details(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """State, place, digest, needs, tokens, fields, files and findings."""
    assert run(project, "pdf") == 0
    root = project / ".agents" / "skills"
    assert capsys.readouterr() == (
        f"""\
pdf
  state     active
  path      {root}/pdf/SKILL.md
  found in  project, {root}
  digest    {skill_digest(str(root / "pdf"))}
  needs     bins qpdf
  tokens    about 5 in the catalog, 12 when activated (bytes / 4)
  lines     8

fields
  name: pdf
  description: Fills forms.
  metadata: {{"version": "1.0"}}
  requires: {{"bins": ["qpdf"]}}

files (2, 1,377 bytes)
    143  SKILL.md
  1,234  scripts/fill.py

findings
  SKILL.md:5:1: info: the field `requires` is not in the specification; prowess honours it, \
initrunner documents it; no other known agent does [field-unknown]
      hint: keep it for these agents, or remove it to follow the specification
  SKILL.md:7:40: warning: the link `no.md` leads to a missing file [link-missing]
      hint: fix the link, or add the file
""",
        "",
    )


def test_json_is_the_entry_and_more(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys of `list --json`, with digest, files, fields, tokens and lines."""
    assert run(project, "pdf", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    main(["list", "--json", "--host", "prowess", "--cwd", str(project), "--home", str(project.parent / "home")])
    (listed,) = json.loads(capsys.readouterr().out)["skills"]
    more = {key: shown.pop(key) for key in ("files", "fields", "tokens", "lines")}
    assert more == {
        "files": [{"path": "SKILL.md", "bytes": 143}, {"path": "scripts/fill.py", "bytes": 1234}],
        "fields": {
            "name": "pdf",
            "description": "Fills forms.",
            "metadata": {"version": "1.0"},
            "requires": {"bins": ["qpdf"]},
        },
        "tokens": {"catalog": 5, "body": 12},
        "lines": 8,
    }
    assert shown.pop("digest") == skill_digest(str(project / ".agents/skills/pdf"))
    assert [item["code"] for item in shown.pop("findings")] == ["field-unknown", "link-missing"]
    assert shown == {key: listed[key] for key in shown}


def test_any_skill_is_shown_by_its_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder or single file outside of all roots; a single file has no digest."""
    (project / "flat.md").write_text("---\nname: flat\ndescription: Is flat.\n---\nDo it.\n")
    assert run(project, "flat.md", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["name"], shown["scope"], shown["digest"], shown["findings"]) == ("flat", "extra", None, [])
    assert shown["files"] == [{"path": "flat.md", "bytes": 48}]
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / "SKILL.md").write_text(SKILL)
    assert run(project, str(project / "elsewhere"), "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["name"], shown["folder"], shown["digest"]) == (
        "pdf",
        "elsewhere",
        skill_digest(str(project / "elsewhere")),
    )


@pytest.mark.parametrize("reference", ["nothing", "a\0b", "", "/", "scope:"])
def test_unknown_names_are_wrong_use(reference: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and nothing on stdout."""
    assert run(project, reference) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith("error: no skill is called")) == ("", True)


def test_nothing_in_a_skill_reaches_the_terminal_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences of a name, value or file name are shown as text."""
    skill = project / ".agents" / "skills" / "pdf"
    (skill / "SKILL.md").write_text('---\nname: pdf\ndescription: "\\e[31m\\u202Ered"\n---\nDo it.\n')
    (skill / "a\x1b[2J\nb").write_text("")
    assert run(project, "pdf") == 0
    out = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(out)
    assert "  0  a\\x1b[2J\\x0ab\n" in out


def test_show_as_a_process(project: Path) -> None:
    """Data on stdout, nothing on stderr."""
    command = [sys.executable, "-m", "prowess", "show", "pdf", "--cwd", str(project)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.splitlines()[0]) == (0, "", "pdf")
