"""What another user has put above a working directory makes no project, for an ordinary user and in all commands."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from prowess import discover
from prowess.filesystem import Filesystem, git_root
from prowess.hosts import host_names
from prowess.lock import find_project
from support.skills import skill
from support.users import ALICE, MALLORY, give, only_root, run_as

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = only_root


@pytest.fixture
def shared(open_folder: Path) -> Path:
    """A folder like /tmp, in which Mallory has made a project with skills and a lock, and Alice works."""
    top = open_folder / "shared"
    for folder in ("work/inner", "home", ".git/objects", ".git/refs", ".codex", ".claude"):
        (top / folder).mkdir(parents=True)
    (top / ".git/HEAD").write_text("ref: refs/heads/main\n")
    for folder in (".agents", ".claude", ".codex", ".github", ".prowess", ".gemini", ".qwen", ".opencode", ".vibe"):
        skill(top / folder / "skills/evil")
    skill(top / "work/.agents/skills/own")
    lock = {"version": 1, "skills": {"evil": {"source": "m/evil", "sourceType": "github", "computedHash": "0" * 64}}}
    (top / "skills-lock.json").write_text(json.dumps(lock))
    give(MALLORY, *(path for path in top.iterdir() if path.name not in ("work", "home")))
    give(ALICE, top / "work", top / "home")
    top.chmod(0o1777)
    return top


CODE = """
import contextlib, io, json, prowess.cli
from prowess import discover
from prowess.filesystem import Filesystem, git_root, marked_root
from prowess.lock import find_project
cwd, home = os.getcwd(), os.environ["HOME"]
print(git_root(cwd), find_project(cwd), marked_root(cwd, [".git", ".agents"], Filesystem()))
for marker in ("exists", "entry", "head", "valid", "named", "git"):
    print(git_root(cwd, marker, Filesystem()))
for host in {hosts!r}:
    catalog = discover(cwd, host=host, home=home, cache=False)
    if found := sorted(entry.name for entry in catalog.skills if entry.name != "own"):
        print(host, found)
"""


def test_an_ordinary_user_sees_nothing_of_it(shared: Path) -> None:
    """No host finds a skill there, and neither the root nor the lock counts."""
    code = CODE.format(hosts=sorted(host_names()))
    out = run_as(ALICE, code, cwd=shared / "work", env={"HOME": str(shared / "home")})
    assert out.split("\n") == [f"None {shared}/work {shared}/work", *["None"] * 6, ""]


def test_the_owner_of_the_project_sees_all_of_it(shared: Path) -> None:
    """Also where root has made the folder that contains it; so the test above can fail."""
    (shared / "mallorys").mkdir()
    give(MALLORY, shared / "mallorys")
    code = CODE.format(hosts=["prowess", "codex", "claude-code"])
    out = run_as(MALLORY, code, cwd=shared / "mallorys", env={"HOME": str(shared / "home")})
    assert out.split("\n") == [
        f"{shared} {shared} {shared}",
        *[str(shared)] * 6,
        "prowess ['evil', 'evil', 'evil']",
        "codex ['evil', 'evil']",
        "claude-code ['evil']",
        "",
    ]


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("command", ["list", "prompt", "check", "verify", "why evil", "remove evil --yes", "lock"])
def test_no_command_reads_it_unless_its_user_shares_the_folder(shared: Path, command: str, share: bool) -> None:
    """`PROWESS_SHARED_DIR` is that word."""
    arguments = [*command.split(), *(["--host", "prowess"] if command in ("list", "prompt", "check") else [])]
    code = f"""
import contextlib, io, prowess.cli
out = io.StringIO()
with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
    prowess.cli.main({arguments!r})
print(out.getvalue())
"""
    own = str(shared) if share else ""
    env = {"HOME": str(shared / "home"), "PROWESS_NO_CACHE": "1", "PROWESS_SHARED_DIR": own}
    out = run_as(ALICE, code, cwd=shared / "work", env=env)
    unknown = ("error: no skill is called `evil`", "error: `evil` is not in", "folder-skipped]", "hint: ")
    named = [line for line in out.split("\n") if "evil" in line and not any(words in line for words in unknown)]
    assert bool(named) is share, out


def test_the_skipped_folder_is_a_finding_with_the_option(shared: Path) -> None:
    """Nothing is dropped silently."""
    code = f"""
from prowess import discover
for item in discover({str(shared / "work")!r}, home={str(shared / "home")!r}, cache=False).findings:
    print(item.code, item.severity, item.path, item.message, item.hint, sep="|")
"""
    out = run_as(ALICE, code, cwd=shared / "work")
    message = "the skills folder belongs to another user and is skipped, but it contains a skill"
    hint = "set `PROWESS_SHARED_DIR` to the folder if you share it on purpose"
    assert f"folder-skipped|info|{shared}/.agents/skills/evil/SKILL.md|{message}|{hint}" in out.split("\n")


def test_a_project_of_the_user_counts_below_one_of_another_user(shared: Path) -> None:
    shutil.copytree(shared / ".git", shared / "work/.git")
    give(ALICE, shared / "work/.git")
    code = CODE.format(hosts=[])
    out = run_as(ALICE, code, cwd=shared / "work/inner", env={"HOME": str(shared / "home")})
    assert set(out.split()) == {f"{shared}/work"}


def test_a_cached_catalog_is_not_used_when_the_project_changes_hands(tmp_path: Path) -> None:
    """The owner of the root and of the skills folder is part of what was read."""
    cwd, cache = tmp_path / "project/inner", {"PROWESS_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "project/.git").mkdir(parents=True)
    cwd.mkdir()
    skill(tmp_path / "project/.agents/skills/pdf")
    for path in (tmp_path / "project").rglob("*"):
        os.utime(path, ns=(1, 1), follow_symlinks=False)
    (tmp_path / "project").chmod(0o777)

    def names() -> list[str]:
        return [entry.name for entry in discover(cwd, home=tmp_path, env=cache).skills]

    assert [names(), names()] == [["pdf"], ["pdf"]]
    for name in (".agents", "."):
        os.chown(tmp_path / "project" / name, MALLORY, -1)
        assert names() == []
        os.chown(tmp_path / "project" / name, 0, -1)
        assert names() == ["pdf"]


def test_root_in_a_container_works_on_the_project_of_a_user_of_the_host(shared: Path) -> None:
    """And with `sudo` on one of the user who called it; not on one that a third user has put above."""
    project = shared / "work"
    (project / ".git").mkdir()
    (project / "build").mkdir()
    give(ALICE, project / ".git", project / "inner")
    (project / "skills-lock.json").write_text("{}")
    give(ALICE, project / "skills-lock.json")
    for cwd in (project, project / "inner", project / "build"):
        assert git_root(str(cwd)) == str(project)
        assert find_project(str(cwd)) == str(project)
        names = [entry.name for entry in discover(cwd, home=shared / "home", cache=False).skills]
        assert names == ["own"]
    (shared / "roots").mkdir()
    assert git_root(str(shared / "roots"), filesystem=Filesystem()) is None
    assert find_project(str(shared / "roots")) == str(shared / "roots")


@pytest.mark.parametrize(("caller", "is_root"), [(ALICE, True), (MALLORY, False)])
def test_with_sudo_a_project_of_the_caller_counts(
    caller: int, is_root: bool, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = shared / "work"
    (project / ".git").mkdir()
    (project / "build").mkdir()
    give(ALICE, project / ".git")
    monkeypatch.setenv("SUDO_UID", str(caller))
    assert git_root(str(project / "build")) == (str(project) if is_root else str(shared))
