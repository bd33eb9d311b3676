"""`prowess trust`: what is trusted is shown before it is, and can be taken back."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from prowess._internal.files import skill_digest
from prowess.cli import main
from prowess.session import Trust
from support.skills import skill

DAY = time.strftime("%Y-%m-%d", time.gmtime())
REFUSED = (
    "error: there is no terminal to ask on; nothing was recorded\n\n"
    "hint: review the skill, then type `prowess trust pdf --yes`\n"
)
TRUSTED = "trusted: Prowess may use its tools and scripts until a file in its folder changes\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with a skill with tools and scripts, one without, and a user skill."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    pdf = skill(
        top / ".agents/skills/pdf",
        more="allowed-tools: Read, Bash(git:*)\ntools:\n- type: shell\n  command: fill\n- type: http\n",
    ).parent
    (pdf / "scripts").mkdir()
    (pdf / "scripts/fill.py").write_text("print(1)\n")
    (pdf / "scripts/old").symlink_to("fill.py")
    (pdf / "run").write_text("#!/bin/sh\n")
    (pdf / "run").chmod(0o755)
    skill(top / ".agents/skills/xls")
    skill(tmp_path / "home/.agents/skills/mine")
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path.resolve() / "config"))
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    return top


def where(project: Path) -> list[str]:
    return ["--cwd", str(project), "--home", str(project.parent / "home")]


def run(project: Path, *arguments: str) -> int:
    return main(["trust", *arguments, *where(project)])


def folder(project: Path, name: str = "pdf") -> Path:
    return project / ".agents/skills" / name


def shown(project: Path, before: str = "") -> str:
    return f"""\
pdf
  path     {folder(project)}/SKILL.md
  scope    project
  digest   {skill_digest(str(folder(project)))}
  tools    2
    {{"type": "shell", "command": "fill"}}
    {{"type": "http"}}
  allowed  Read, Bash(git:*): a client may skip asking for these; Prowess grants nothing
  scripts  3
    run
    scripts/fill.py
    scripts/old
{before}"""


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "code"),
    [("y\n", 0), ("YES\n", 0), (" yes \n", 0), ("n\n", 1), ("\n", 1), ("", 1), ("yo\n", 1), ("no yes\n", 1)],
)
def test_on_a_terminal_it_asks(
    answer: str, code: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After all is shown; whatever is not a yes is a no, and so is the end."""
    out = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stdout", out)
    assert run(project, "pdf") == code
    assert out.getvalue() == shown(project)
    assert capsys.readouterr().err == "trust this skill in Prowess? [y/N]\n" + (
        "nothing recorded\n" if code else TRUSTED
    )
    assert len(Trust().all()) == (code == 0)


@pytest.mark.parametrize("option", ["--yes", "-y"])
def test_it_does_not_ask_with_yes(
    option: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor if it is already trusted."""
    monkeypatch.setattr(sys, "stdin", Terminal())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal())
        assert run(project, "pdf", option) == 0
        assert run(project, "pdf") == 0
    assert "[y/N]" not in capsys.readouterr().err
    assert len(Trust().all()) == 1


def test_a_skill_that_changes_before_confirmation_is_not_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The yes was to something else."""

    class Slow(Terminal):
        def readline(self, *_: object) -> str:  # type: ignore[override]
            (folder(project) / "scripts/fill.py").write_text("print(2)\n")
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Slow())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert run(project, "pdf") == 1
    assert capsys.readouterr().err == (
        "trust this skill in Prowess? [y/N]\n"
        "error: `pdf` is not trusted: it has changed since it was shown\n\nhint: review it again\n"
    )
    assert Trust().all() == ()


def test_what_is_shown_is_what_is_trusted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill that looks harmless while it is shown, and changes back, shows its tools."""
    from prowess.cli.skills import trust
    from prowess.skill import load

    file = folder(project) / "SKILL.md"
    text, digest = file.read_text(), skill_digest(str(folder(project)))

    def load_meanwhile(path: str, **options: Any) -> Any:
        file.write_text("---\nname: pdf\ndescription: d\n---\n")
        try:
            return load(path, **options)
        finally:
            file.write_text(text)

    monkeypatch.setattr(trust, "load", load_meanwhile)
    assert run(project, "pdf", "--yes") == 0
    shown = capsys.readouterr().out
    assert "  tools    2\n" in shown
    assert f"  digest   {digest}\n" in shown


def test_trust_as_a_process(project: Path) -> None:
    """Without a terminal or without stdin it refuses, as `add` does; with a terminal it asks."""
    command = [sys.executable, "-m", "prowess", "trust", "pdf", *where(project)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, shown(project), REFUSED)
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, REFUSED)
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--json` does not ask; nothing was recorded" in done.stderr
    assert Trust().all() == ()
    done = subprocess.run([*command, "--yes"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, shown(project), TRUSTED)
    assert main(["trust", "--remove", "pdf", *where(project)]) == 0
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert process.stderr.readline() == "trust this skill in Prowess? [y/N]\n"
        os.write(ours, b"n\n")
        assert process.stderr.read() == "nothing recorded\n"
    os.close(ours)
    assert process.returncode == 1


# ── what is on record ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_a_list_as_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Except days and digests."""
    page = (Path(__file__).parents[2] / "docs/commands/trust.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```text\n\$ prowess trust --list\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    home = project.parent
    for name in ("csv-profile", "python-traceback"):
        skill(folder(project, name))
        run(project, name, "--yes")
    skill(folder(project, "python-traceback"), description="Another one.")
    capsys.readouterr()
    assert run(project, "--list") == 0
    printed = "".join(capsys.readouterr()).replace(str(home / "config"), "/home/ada/.config/prowess")
    varying = re.compile(r"(?<=trust1:)[0-9a-f]{8}|\d{4}-\d\d-\d\d")
    assert varying.sub("", printed.replace(str(home), "/home/ada")) == varying.sub("", example)
