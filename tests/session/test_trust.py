"""Which skills are trusted, and until when."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import State
from prowess.errors import SkillError
from prowess.session import Trust
from prowess.session._trust import ALWAYS_TRUSTED_SCOPES, TrustedSkill, needs_trust, parse_record
from prowess.skill import integrity_digest
from support.sessions import discover_project, entry_of, script_of
from support.skills import entry_in_folder, skill
from support.users import ALICE, MALLORY, give, only_root, run_as

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = time.strftime("%Y-%m-%d", time.gmtime())
DIGEST = "trust1:" + "0" * 64


@pytest.fixture
def project(scripts_project: Path) -> Path:
    return scripts_project


@pytest.mark.parametrize("scope", ["project", "package", "extra", "", "User", "one that does not exist yet"])
def test_skills_of_others_need_trust(scope: str, project: Path, trust: Trust) -> None:
    """Of a project, a package or a named folder, and of any scope that is unknown here."""
    assert needs_trust(entry_of(project).with_changes(scope=scope))
    assert not trust.allows(entry_of(project).with_changes(scope=scope))


@pytest.mark.parametrize("scope", ["managed", "user", "system"])
def test_skills_of_the_user_and_the_administrator_need_no_trust(scope: str, project: Path, trust: Trust) -> None:
    """Nor a trust record."""
    own = entry_of(project).with_changes(scope=scope)
    assert not needs_trust(own)
    assert trust.allows(own)
    assert trust.denial_reason(own) is None
    assert not os.path.exists(os.path.dirname(trust.file))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file that all can write to": lambda folder: (folder / "scripts/run.sh").chmod(0o757),
    "a file that its group can write to": lambda folder: (folder / "scripts/run.sh").chmod(0o775),
    "its folder": lambda folder: folder.chmod(0o777),
    "a folder in it": lambda folder: (folder / "scripts").chmod(0o777),
    "the folder above those of skills": lambda folder: folder.parents[1].chmod(0o777),
    "a script that is another user's": lambda folder: os.chown(folder / "scripts/run.sh", MALLORY, -1),
    "a folder that is another user's": lambda folder: os.chown(folder / "scripts", MALLORY, -1),
    "the folder of skills is another user's": lambda folder: os.chown(folder.parent, MALLORY, -1),
    "it is a link that another user has made": lambda folder: make_link(folder, MALLORY),
    "it is a link into a folder that all can write to": lambda folder: make_link(folder, 0).chmod(0o777),
}


def make_link(folder: Path, owner: int) -> Path:
    """Move a folder, and put a link in its place; return the folder that contains it now."""
    elsewhere = folder.parents[2] / "elsewhere"
    elsewhere.mkdir()
    folder.rename(elsewhere / "pdf")
    folder.symlink_to(elsewhere / "pdf")
    os.chown(folder, owner, -1, follow_symlinks=False)
    return elsewhere


@only_root
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("scope", ["managed", "user", "system"])
def test_a_skill_that_other_users_could_change_needs_trust(
    scope: str, change: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its scope; trust is for its bytes. What the user shares on purpose is as before."""
    folder = project / ".agents/skills/pdf"
    (folder / "scripts/run.sh").write_text("#!/bin/sh\n")
    entry = entry_of(project).with_changes(scope=scope)
    assert not needs_trust(entry)
    CHANGES[change](folder)
    assert needs_trust(entry)
    reason = trust.denial_reason(entry) or ""
    assert reason.startswith("`pdf` needs trust: `")
    assert f"review it, then type `prowess trust {folder}`" in reason
    assert "set `PROWESS_SHARED_DIR` to it if you share it on purpose" in reason
    with pytest.raises(SkillError, match="needs trust"), trust.sealed_copy(entry):
        pass
    trust.allow(entry)
    assert trust.allows(entry)
    (folder / "scripts/run.sh").write_text("#!/bin/sh\nevil\n")
    assert not trust.allows(entry)
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(project))
    assert not needs_trust(entry)


@only_root
def test_a_skill_of_root_is_the_administrator_s_for_every_user(open_folder: Path) -> None:
    """An ordinary user cannot change it, so it needs no trust; one of a third user does."""
    folder = skill(open_folder / "skills/pdf").parent
    code = (
        "from prowess.checks import evaluate_path\nfrom prowess.session import needs_trust\n"
        f"entry = evaluate_path({str(folder / 'SKILL.md')!r}, 'prowess')\n"
        "print([needs_trust(entry.with_changes(scope=scope)) for scope in ('user', 'system', 'project')])\n"
    )
    assert run_as(ALICE, code, cwd=open_folder) == "[False, False, True]\n"
    give(MALLORY, folder)
    assert run_as(ALICE, code, cwd=open_folder) == "[True, True, True]\n"
    give(ALICE, folder)
    assert run_as(ALICE, code, cwd=open_folder) == "[False, False, True]\n"


def test_a_skill_is_trusted_once_its_user_allows_it(project: Path, trust: Trust) -> None:
    """Asking before that creates no file."""
    folder = project / ".agents/skills/pdf"
    assert (
        trust.denial_reason(entry_of(project)) == f"`pdf` is not trusted: review it, then type `prowess trust {folder}`"
    )
    assert not trust.allows(entry_of(project))
    assert not os.path.exists(os.path.dirname(trust.file))
    trusted_skill = trust.allow(entry_of(project))
    assert trusted_skill == TrustedSkill(
        digest=integrity_digest(str(folder)) or "", name="pdf", path=str(folder), since=DAY
    )
    assert trust.allows(entry_of(project))
    assert trust.denial_reason(entry_of(project)) is None
    assert not trust.allows(entry_of(project, "xls"))
    assert trust.all() == (trusted_skill,)
    assert Trust(trust.file).all() == (trusted_skill,)


def test_a_changed_byte_ends_trust(project: Path, trust: Trust) -> None:
    """The original byte restores it: the bytes are trusted. No answer is cached."""
    seen = entry_of(project)
    trust.allow(seen)
    status = script_of(project).stat()
    script_of(project).write_text("print(2)\n")
    os.utime(script_of(project), ns=(status.st_atime_ns, status.st_mtime_ns))
    folder = project / ".agents/skills/pdf"
    assert trust.denial_reason(seen) == (
        f"`pdf` has changed since it was trusted on {DAY}: review it, then type `prowess trust {folder}`"
    )
    assert not trust.allows(seen)
    script_of(project).write_text("print(1)\n")
    assert trust.allows(seen)


def test_trusting_twice_is_trusting_once(project: Path, trust: Trust) -> None:
    """The first day counts, and nothing is written."""
    trust.allow(entry_of(project))
    file = Path(trust.file)
    file.write_text(file.read_text().replace(DAY, "2001-02-03"))
    before = file.stat()
    assert trust.allow(entry_of(project)).since == "2001-02-03"
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("way", ["same path", "another path"])
def test_an_old_version_is_not_brought_back_by_a_copy_that_is_still_trusted(
    way: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the file system gives the folder two paths; a folder without a version of its own shares the trust."""
    folder = project / ".agents/skills/pdf"
    trust.allow(entry_of(project))
    copy = project / "copies/pdf"
    shutil.copytree(folder, copy)
    here = entry_of(project)
    elsewhere = here.with_changes(path=str(copy / "SKILL.md"), real=str(copy / "SKILL.md"))
    assert trust.allows(elsewhere)
    trust.allow(elsewhere)
    old = (folder / "SKILL.md").read_bytes()
    (folder / "SKILL.md").write_bytes(old + b"More.\n")
    trust.allow(entry_of(project))
    (folder / "SKILL.md").write_bytes(old)
    assert integrity_digest(str(folder)) == integrity_digest(str(copy))
    if way == "another path":  # as on a file system that ignores case
        same = os.path.samefile
        other = folder.with_name("PDF")
        folder.rename(other)
        here = here.with_changes(path=str(other / "SKILL.md"), real=str(other / "SKILL.md"))
        paths = {str(folder), str(other)}
        monkeypatch.setattr(os.path, "samefile", lambda *both: {*map(str, both)} == paths or same(*both))
    reason = trust.denial_reason(here)
    assert reason is not None
    assert reason.startswith(f"`pdf` has changed since it was trusted on {DAY}")
    with pytest.raises(SkillError, match="has changed since it was trusted"), trust.sealed_copy(here):
        pass
    assert trust.allows(elsewhere)


def test_a_skill_that_changed_since_it_was_shown_is_not_trusted(project: Path, trust: Trust) -> None:
    shown = integrity_digest(str(project / ".agents/skills/pdf"))
    script_of(project).write_text("print(2)\n")
    with pytest.raises(SkillError) as error:
        trust.allow(entry_of(project), digest=shown)
    assert str(error.value) == "`pdf` is not trusted: it has changed since it was shown"
    assert error.value.hint == "review it again"
    assert trust.all() == ()


def test_a_skill_with_a_link_to_the_outside_cannot_be_trusted(project: Path, trust: Trust) -> None:
    """The bytes are elsewhere."""
    (script_of(project).parent / "lib").symlink_to("../../../../lib")
    message = "`pdf` cannot be trusted: the link `scripts/lib` leads out of the skill"
    hint = "put the file itself into the skill"
    assert trust.denial_reason(entry_of(project)) == f"{message}; {hint}"
    with pytest.raises(SkillError) as error:
        trust.allow(entry_of(project))
    assert (str(error.value), error.value.hint) == (message, hint)
    assert not os.path.exists(trust.file)


def test_a_skill_that_is_a_single_file_cannot_be_trusted(project: Path, trust: Trust) -> None:
    """The files beside it would be trusted with it."""
    flat = entry_of(project).with_changes(path=str(project / ".agents/skills/flat.md"))
    message = "`flat.md` has no folder of its own"
    hint = "move it to a folder of its own, as SKILL.md"
    assert trust.denial_reason(flat) == f"`pdf` cannot be trusted: {message}; {hint}"
    with pytest.raises(SkillError, match=f"^`pdf` cannot be trusted: {message}$"):
        trust.allow(flat)


def test_a_rejected_skill_cannot_be_trusted(project: Path, trust: Trust) -> None:
    (project / ".agents/skills/pdf/SKILL.md").write_text("no front matter")
    bad = entry_of(project)
    assert bad.state is State.REJECTED
    with pytest.raises(SkillError) as error:
        trust.allow(bad)
    assert str(error.value) == f"`pdf` cannot be trusted: {bad.reason}"
    assert error.value.hint == f"`prowess check {bad.path}` shows what to fix"


def test_the_page_shows_a_valid_record() -> None:
    """And the scopes that need trust."""
    page = (Path(__file__).parents[2] / "docs/trust.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(parse_record(example.encode())) == 1
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \|$", page, re.MULTILINE))
    assert {scope for scope, needed in rows.items() if needed == "no"} == ALWAYS_TRUSTED_SCOPES
    assert {scope for scope, needed in rows.items() if needed == "yes"} == {"project", "package", "extra"}


def test_a_skill_whose_front_matter_is_a_program_is_not_trusted(project: Path, trust: Trust) -> None:
    """Although Claude Code loads it."""
    file = skill(project / ".claude/skills/evil")
    file.write_text("---js\n{}\n---\nDo it.\n")
    entry = entry_in_folder(discover_project(project, host="claude-code"), "evil")
    assert entry.state is State.ACTIVE
    with pytest.raises(SkillError, match="cannot be trusted: the front matter is a program"):
        trust.allow(entry)
    assert not trust.allows(entry)
