"""The git tools neither read nor change a repository outside the folders of the role, whatever leads there."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import ToolFailedError
from support.files import write_file
from support.tool_calls import failure_message, make_tool_context, require_sandbox, run_as_owner as sh, tools_by_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet"),
    pytest.mark.needs("git"),
]

SECRET = "the-secret-of-another-repository"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two repositories: `role`, and `outside` with a secret in its files and messages."""
    top = tmp_path_factory.mktemp("made")
    for name, text in (("role", "public"), ("outside", SECRET)):
        folder = top / name
        folder.mkdir()
        sh(folder, f"git init -q -b main; echo {text} > a.txt; git add .; git commit -qm 'About {text}'; git tag v1")
    return top


@pytest.fixture
def folders(template: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of `role` and of `outside`."""
    top = shutil.copytree(template, tmp_path.resolve() / "top", symlinks=True)
    return top / "role", top / "outside"


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)


def link(name: str) -> Callable[[Path, Path], object]:
    """Return what replaces a part of a repository's `.git` by a link to the same part of the other one."""
    return lambda role, outside: replace_by_link(role / ".git" / name, outside / ".git" / name)


def write(name: str, text: str) -> Callable[[Path, Path], object]:
    """Return what writes a file, in which `{outside}` is the other repository."""
    return lambda role, outside: (role / name).write_text(text.format(outside=outside))


def replace_dot_git(text: str) -> Callable[[Path, Path], object]:
    """Return what replaces `.git` by a file."""

    def change(role: Path, outside: Path) -> None:
        shutil.rmtree(role / ".git")
        (role / ".git").write_text(text.format(outside=outside))

    return change


def alternates_of_alternates(role: Path, outside: Path) -> None:
    write_file(role / "store/info/alternates", f"{outside}/.git/objects\n")
    (role / ".git/objects/info/alternates").write_text("../../store\n")


def link_ref(role: Path, outside: Path) -> None:
    replace_by_link(role / ".git/refs/heads/main", outside / ".git/refs/heads/main")
    alternates_of_alternates(role, outside)


def link_object(role: Path, outside: Path) -> None:
    """Make every object of the other repository appear as one of this, by links to files."""
    for path in outside.glob(".git/objects/??/*"):
        own = role / ".git" / path.relative_to(outside / ".git")
        own.parent.mkdir(exist_ok=True)
        if not own.exists():
            own.symlink_to(path)


def false_worktree(role: Path, outside: Path) -> None:
    (role / "state").mkdir()
    shutil.copy(role / ".git/HEAD", role / "state/HEAD")
    (role / "state/commondir").write_text(f"{outside}/.git\n")
    replace_dot_git("gitdir: state\n")(role, outside)


ESCAPES: dict[str, Callable[[Path, Path], object]] = {
    "commondir": write(".git/commondir", "{outside}/.git\n"),
    "relative-commondir": write(".git/commondir", "../../outside/.git"),
    "alternates": write(".git/objects/info/alternates", "{outside}/.git/objects\n"),
    "relative-alternates": write(".git/objects/info/alternates", "../../../outside/.git/objects\n"),
    "quoted-alternates": write(".git/objects/info/alternates", '# comment\n"{outside}/.git/objects"\n'),
    "alternates-of-alternates": alternates_of_alternates,
    "git-file": replace_dot_git("gitdir: {outside}/.git\n"),
    "relative-git-file": replace_dot_git("gitdir: ../outside/.git"),
    "git-link": lambda role, outside: replace_by_link(role / ".git", outside / ".git"),
    "false-worktree": false_worktree,
    **{f"linked-{name}": link(name) for name in ("HEAD", "index", "objects", "refs", "refs/heads", "refs/heads/main")},
    "linked-ref": link_ref,
    "linked-logs": lambda role, outside: replace_by_link(role / ".git/logs", outside / ".git/logs"),
    "linked-log": lambda role, outside: replace_by_link(role / ".git/logs/HEAD", outside / ".git/logs/HEAD"),
    "linked-packed-refs": lambda role, outside: replace_by_link(role / ".git/packed-refs", outside / "a.txt"),
    "linked-object": link_object,
    "worktree": write(".git/config", '[core]\nrepositoryformatversion = 0\nworktree = "{outside}"\n'),
    "include": write(".git/config", "[core]\nrepositoryformatversion = 0\n[include]\npath = {outside}/a.txt\n"),
    "include-if": write(".git/config", '[includeIf "gitdir:/**"]\npath = {outside}/a.txt\n'),
    "config-link": lambda role, outside: replace_by_link(role / ".git/config", outside / "a.txt"),
    "config-worktree": write(
        ".git/config", "[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true\nreftable = x\n"
    ),
    "linked-exclude": lambda role, outside: replace_by_link(role / ".git/info/exclude", outside / "a.txt"),
    "linked-shallow": lambda role, outside: replace_by_link(role / ".git/shallow", outside / "a.txt"),
    "linked-gitmodules": lambda role, outside: replace_by_link(role / ".gitmodules", outside / "a.txt"),
    "head-of-a-path": write(".git/HEAD", "ref: refs/heads/../../../../outside/.git/refs/heads/main\n"),
    "ref-of-a-path": write(".git/refs/heads/main", "ref: ../../outside/.git/refs/heads/main\n"),
}


def call(tool: Any, **arguments: Any) -> str:
    """Return what a model sees of a call, whether it fails or not."""
    try:
        return str(tool.call(**arguments))
    except ToolFailedError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_other_repository_is_read_or_changed(escape: str, sandbox: str, folders: tuple[Path, Path]) -> None:
    """Neither content nor commits get out, and none get in."""
    if sandbox == "bwrap":
        require_sandbox()
    role, outside = folders
    commit, blob = sh(outside, "git rev-parse HEAD; git rev-parse HEAD:a.txt").split()
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    ESCAPES[escape](role, outside)
    home = role.parent / "home"
    write_file(home / ".gitconfig", "[user]\nname = Bob\nemail = bob@example.com\n")
    context = make_tool_context(role, sandbox=sandbox, env={"HOME": str(home)})
    tools = tools_by_name("git", context, read_only=False)
    (role / "new.txt").write_text("new\n")
    seen = [call(tools[name]) for name in ("git_status", "git_diff", "git_log", "git_changed_files")]
    seen += [call(tools["git_blame"], path="a.txt")]
    for ref in ("HEAD", "main", "v1", "HEAD@{0}", "HEAD:a.txt", commit, f"{commit}:a.txt", blob):
        seen += [call(tools["git_show"], ref=ref), call(tools["git_diff"], ref=ref)]
    seen += [call(tools["git_add"], path="new.txt"), call(tools["git_commit"], message="New")]
    output = "\n".join(seen).replace(f"invalid object name '{commit}'", "").replace(f"bad object {commit}", "")
    assert SECRET not in output
    assert f"commit {commit}" not in output
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before


def test_without_roots_only_the_role_s_folder_is_used(folders: tuple[Path, Path]) -> None:
    """`security: {roots: []}` does not open the whole machine."""
    role, outside = folders
    replace_dot_git("gitdir: {outside}/.git\n")(role, outside)
    tool = tools_by_name("git", make_tool_context(role, roots=()))["git_log"]
    assert "is outside the folders that the role allows" in failure_message(tool)


@pytest.mark.slow
def test_the_commit_of_an_inner_repository_is_not_shown_or_added(folders: tuple[Path, Path]) -> None:
    """Its `.git` may be a file that names any repository."""
    role, outside = folders
    commit = sh(outside, "git rev-parse HEAD").strip()
    own = sh(role, "git rev-parse HEAD").strip()
    for name in ("inner", "fresh", "deep/fresh"):
        write_file(role / name / ".git", f"gitdir: {outside}/.git\n")
    sh(role, f"git update-index --add --cacheinfo 160000,{own},inner; git commit -qm Inner")
    tools = tools_by_name("git", make_tool_context(role), read_only=False)
    assert commit in sh(role, "git diff")
    seen = call(tools["git_diff"]) + call(tools["git_diff"], ref="HEAD") + call(tools["git_diff"], ref=":/Inner")
    seen += call(tools["git_diff"], ref=":/In..ner") + call(tools["git_status"])
    assert commit not in seen
    for path in ("inner", "fresh", "deep", "."):
        assert "is a repository of its own" in failure_message(tools["git_add"], path=path)
    assert commit not in sh(role, "git ls-files --stage")
    assert f"Subproject commit {own}" in tools["git_diff"].call(ref="v1..HEAD")


NORMAL: dict[str, str] = {
    "loose": "true",
    "packed": "git gc -q; git pack-refs --all",
    "detached": "git checkout -q --detach",
    "commit-graph": "git repack -adq; git commit-graph write --reachable; git multi-pack-index write",
    "split-index": "git update-index --split-index; echo x > b.txt; git add b.txt; git commit -qm b",
    "branch-with-slashes": "git checkout -q -b feature/éa/b",
    "no-logs": "rm -rf .git/logs",
    "rewritten-config": "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\n' > .git/config",
}


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
@pytest.mark.parametrize("state", [*NORMAL, "unborn", "sha256", "worktree", "shallow", "strange-names"])
def test_ordinary_repositories_work(state: str, sandbox: str, folders: tuple[Path, Path]) -> None:
    """Every tool, and git finds the result valid."""
    if sandbox == "bwrap":
        require_sandbox()
    role, _ = folders
    top, name = role, "a.txt"
    if state in NORMAL:
        sh(role, NORMAL[state])
    elif state in ("unborn", "sha256"):
        shutil.rmtree(role / ".git")
        sh(role, f"git init -q -b main {'--object-format=sha256' if state == 'sha256' else ''}")
        if state == "sha256":
            sh(role, "git add .; git commit -qm First")
    elif state == "worktree":
        sh(role, "git worktree add -q -b other 'inner tree'")
        top = role / "inner tree"
    elif state == "shallow":
        sh(role, "git commit -q --allow-empty -m More; git clone -q --depth 1 file://$PWD ../clone; mv ../clone clone")
        top = role / "clone"
    else:
        name = "sp ace/ünï – 'q'.txt"
        (role / name).parent.mkdir()
        (role / name).write_text("x\n")
        sh(role, "git add .; git commit -qm Names; mkdir -p 'my folder'; mv .git * 'my folder' 2>/dev/null || true")
        top = role / "my folder"
    head = (top / ".git").is_dir() and (top / ".git/HEAD").read_text()
    context = make_tool_context(role, sandbox=sandbox, env={"HOME": str(role.parent / "empty")})
    tools = tools_by_name("git", context, read_only=False, repo_path=str(top))
    sh(top, "git config user.name Ann; git config user.email a@e.com")
    (top / name).write_text("changed\n")
    (top / "new.txt").write_text("new\n")
    assert "?? new.txt" in tools["git_status"].call()
    if state != "unborn":
        assert "+changed" in tools["git_diff"].call(path=name)
        assert "commit " in tools["git_log"].call()
        assert "commit " in tools["git_show"].call(ref="HEAD")
        assert "Ann" in tools["git_blame"].call(path=name)
    assert tools["git_add"].call(path=name)
    assert tools["git_add"].call(path="new.txt") == "A  new.txt"
    assert "2 files changed" in tools["git_commit"].call(message="New – ü")
    assert sh(top, "git log -1 --format=%B").strip() == "New – ü"
    assert sh(top, "git status --short --untracked-files=no") == ""
    assert "New – ü" in sh(top, "git reflog -1")
    sh(top, "git fsck --strict")
    if state == "detached":
        assert (top / ".git/HEAD").read_text().strip() == sh(top, "git rev-parse HEAD").strip() != head
    elif head:
        assert (top / ".git/HEAD").read_text() == head
    assert sorted(path.name for path in role.parent.rglob("*.lock")) == []


@pytest.mark.parametrize(
    "target",
    ["refs/heads/../../../../new", "{top}/new", "refs/../../../new", "refs/" + "a" * 5000 + "/../../../../../new"],
    ids=["relative", "absolute", "short", "long"],
)
def test_a_reference_that_names_a_file_outside_is_refused(target: str, folders: tuple[Path, Path]) -> None:
    """A commit would write to that file."""
    role, _ = folders
    (role / ".git/refs/heads/main").write_text(f"ref: {target.format(top=role.parent)}\n")
    (role / "a.txt").write_text("changed")
    tools = tools_by_name("git", make_tool_context(role), read_only=False)
    assert "`refs/heads/main` in the repository's `.git` is an invalid" in failure_message(tools["git_add"], path=".")
    assert "is an invalid reference" in failure_message(tools["git_commit"], message="x")
    assert sorted(os.listdir(role.parent)) == ["outside", "role"]


def test_a_reference_to_another_reference_is_followed(folders: tuple[Path, Path]) -> None:
    """Such as `origin/HEAD` in a clone."""
    role, _ = folders
    sh(role, "git update-ref refs/remotes/origin/main main")
    sh(role, "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main")
    tools = tools_by_name("git", make_tool_context(role), read_only=False)
    assert "About public" in tools["git_show"].call(ref="origin/HEAD")


def test_a_merge_of_the_user_is_not_ended(folders: tuple[Path, Path]) -> None:
    """A commit would lose its second parent."""
    role, _ = folders
    sh(role, "git checkout -q -b other; git commit -q --allow-empty -m Other; git checkout -q main")
    sh(role, "git commit -q --allow-empty -m Main; git merge -q --no-ff --no-commit other")
    tools = tools_by_name("git", make_tool_context(role), read_only=False)
    assert "a merge or rebase is in progress (`MERGE_HEAD`)" in failure_message(tools["git_commit"], message="x")
    assert "Other" in tools["git_show"].call(ref="MERGE_HEAD")


def test_what_cannot_be_checked_is_refused(folders: tuple[Path, Path]) -> None:
    """References in another format, and special files."""
    role, _ = folders
    tool = tools_by_name("git", make_tool_context(role))["git_status"]
    os.mkfifo(role / ".git/refs/heads/fifo")
    assert "`refs/heads/fifo` in the repository's `.git` is a FIFO" in failure_message(tool)
    (role / ".git/refs/heads/fifo").unlink()
    sh(role, "git config extensions.refStorage reftable")
    assert "in a way that this tool cannot check" in failure_message(tool)
    (role / ".git/reftable").mkdir()
    assert "as a reftable" in failure_message(tool)
