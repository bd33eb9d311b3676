"""No tool writes what runs or is obeyed later, unless the role allows that kind."""

from __future__ import annotations

import os
import re
import sys
import tarfile
import threading
from typing import TYPE_CHECKING, Any

import pytest

from prowess.guard import KINDS, _guard, _in_place, _layers, _walk
from support.files import write_file, write_files
from support.growth import ends
from support.tool_calls import failure_message, make_tool_context, require_sandbox, tools_by_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The role's folder, with protected and other files."""
    top = tmp_path.resolve() / "role"
    files = {
        "agent.yaml": "name: a\nprompt: p\nmodel: openai:m\n",
        "other.yml": '{"name": b, "prompt": p}',
        "data.yaml": "a: 1\n",
        ".git/config": "[core]\n",
        ".git/hooks/readme": "x",
        "pkg/conftest.py": "x = 1\n",
        "pkg/main.py": "y = 1\n",
        "skills/tables/SKILL.md": "---\nname: tables\ndescription: d\n---\n",
        "skills/tables/run.py": "z = 1\n",
        "env/pyvenv.cfg": "home = /usr/bin\n",
        "env/bin/tool": "x",
        "server.py": "serve\n",
    }
    return write_files(top, files)


def context(folder: Path, allow: Iterable[str] = (), **more: Any) -> Any:
    files = (str(folder / "agent.yaml"), str(folder / "server.py"))
    return make_tool_context(folder, policy={"allow_writes": frozenset(allow)}, role_files=files, **more)


def writer(folder: Path, allow: Iterable[str] = (), **more: Any) -> Any:
    return tools_by_name("filesystem", context(folder, allow), read_only=False, **more)["write_file"]


def shell(folder: Path, allow: Iterable[str] = (), sandbox: str = "bwrap", **more: Any) -> Any:
    if sandbox == "bwrap":
        require_sandbox()
    return tools_by_name("shell", context(folder, allow, sandbox=sandbox), require_confirmation=False, **more)[
        "run_shell"
    ]


@pytest.fixture
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no layers, as on macOS."""
    monkeypatch.setattr(_layers, "has_mounts_inside", lambda _: True)


def run(folder: Path, line: str, allow: Iterable[str] = (), **more: Any) -> str:
    """Run a line of a shell as the tool does, in which `;` and the like are quoted."""
    quoted = line.replace("'", "'\"'\"'")
    return str(shell(folder, allow, **more).call(command=f"sh -c '{quoted}'"))


def files(folder: Path) -> dict[str, object]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in folder.rglob("*")
    }


# ── commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────

CHANGES = [
    "echo x >> .git/config",
    "echo x > .git/hooks/pre-commit",
    "mv .git old",
    "rm -rf .git",
    "mv pkg moved",
    "rm pkg/conftest.py",
    "mv pkg/main.py pkg/conftest.py",
    "ln -f pkg/conftest.py pkg/other.py && echo x >> pkg/other.py",
    "mkdir n; mv pkg n/; mkdir pkg",
    "mv skills other",
    "echo x >> skills/tables/run.py",
    "echo x > skills/tables/new.py",
    "echo x >> agent.yaml",
    "echo x >> other.yml",
    "mv data.yaml other.yml",
    "echo x >> server.py",
    "echo x >> env/bin/tool",
    "chmod -R 777 .git",
]


@pytest.fixture(params=["layer", "in place"])
def way(request: pytest.FixtureRequest) -> str:
    """How a command of a sandbox writes in a folder."""
    if request.param == "in place":
        request.getfixturevalue("in_place")
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("line", CHANGES)
def test_a_command_does_not_change_protected_files(line: str, way: str, folder: Path) -> None:
    """Neither what they contain nor where they are."""
    names = [".git", "pkg/conftest.py", "skills", "agent.yaml", "other.yml", "server.py", "env"]
    before = {name: files(folder / name) or (folder / name).read_bytes() for name in names}
    modes = {name: (folder / name).stat().st_mode for name in names}
    run(folder, line)
    assert {name: files(folder / name) or (folder / name).read_bytes() for name in names} == before
    assert {name: (folder / name).stat().st_mode for name in names} == modes


ADDITIONS = {
    "new-file": ("echo x > new/AGENTS.md", ["new/AGENTS.md"]),
    "other-case": ("mkdir new/.GIT; echo x > new/.GIT/config", ["new/.GIT"]),
    "renamed-folder": ("mkdir new/git; echo x > new/git/config; mv new/git new/.git", ["new/.git"]),
    "renamed-later": ("mkdir -p a/b; echo x > a/b/c; mv a/b a/.claude; mv a new/a", ["new/a/.claude"]),
    "link": ("ln -s ../pkg new/.vscode", ["new/.vscode"]),
    "link-outside": ("ln -s /etc/passwd new/conftest.py", ["new/conftest.py"]),
    "hard-link": ("ln new/kept new/conftest.py", ["new/conftest.py"]),
    "fifo": ("mkfifo new/.envrc", ["new/.envrc"]),
    "skill": ("mkdir new/s; echo x > new/s/SKILL.md; echo x > new/s/run.py", ["new/s/SKILL.md"]),
    "flat-skill": ("echo x > skills/flat.md", ["skills/flat.md"]),
    "role": ("printf 'prompt: x' > planted.yaml", ["planted.yaml"]),
    "role-elsewhere": ("printf 'apiVersion: \"initrunner\\\\x2fv1\"' > new/planted.yml", ["new/planted.yml"]),
    "changed-to-role": ("printf 'prompt: x' > data.yaml", ["data.yaml"]),
    "bare": ("mkdir new/objects new/refs; echo x > new/HEAD", ["new/HEAD", "new/objects", "new/refs"]),
    "bare-top": ("mkdir objects refs; echo x > HEAD", ["HEAD", "objects", "refs"]),
    "worktree": ("echo x > new/HEAD; echo ../.git > new/commondir", ["new/HEAD", "new/commondir"]),
    "venv": ("mkdir new/bin; echo x > new/pyvenv.cfg", ["new/pyvenv.cfg"]),
    "bytecode": (
        "mkdir pkg/__pycache__; echo x > pkg/__pycache__/main.cpython-311.pyc",
        ["pkg/__pycache__/main.cpython-311.pyc"],
    ),
    "no-permissions": ("mkdir new/.git; echo x > new/.git/config; chmod 0 new/.git new", ["new/.git"]),
    "read-only-folder": ("mkdir new/x; echo x > new/x/.envrc; chmod 555 new/x new", ["new/x/.envrc"]),
    "strange-name": ("mkdir new/.git.", ["new/.git."]),
    "two": ("mkdir new/.git; ln -s .git new/.idea", ["new/.git", "new/.idea"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["layer", "in place", "without a sandbox"], indirect=True)
@pytest.mark.parametrize("addition", ADDITIONS)
def test_a_protected_file_that_a_command_makes_is_removed(addition: str, way: str, folder: Path) -> None:
    """The result says so; the rest that the command made stays. A file that was there is as it was, in a layer."""
    line, paths = ADDITIONS[addition]
    (folder / "new").mkdir()
    output = run(folder, f"echo y > new/kept; {line}", sandbox="none" if way == "without a sandbox" else "bwrap")
    for path in paths:
        if way == "layer" and path == "data.yaml":
            assert (folder / path).read_text() == "a: 1\n"
        else:
            assert not os.path.lexists(folder / path)
        if addition != "bytecode":
            assert f"`{path}`" in output
    (folder / "new").chmod(0o755)
    assert (folder / "new/kept").read_text() == "y\n"
    assert (folder / "pkg/main.py").read_text() == "y = 1\n"
    assert not [name for name in files(folder) if "prowess-removed" in name]


@pytest.mark.slow
def test_a_copy_of_what_is_removed_is_kept_for_the_user(folder: Path) -> None:
    output = run(folder, "mkdir new; echo mine > new/SKILL.md")
    match = re.search(r"for 30 days a copy is kept in `([^`]+)`", output)
    assert match
    with tarfile.open(match[1]) as archive:
        file = archive.extractfile("new/SKILL.md")
        assert file is not None
        assert file.read() == b"mine\n"


@pytest.mark.slow
def test_an_allowed_kind_stays(folder: Path) -> None:
    """And only that kind."""
    output = run(folder, "mkdir new; mkdir new/.git new/.vscode; echo y >> .git/config", ["git"])
    assert (folder / "new/.git").is_dir()
    assert (folder / ".git/config").read_text() == "[core]\ny\n"
    assert "[removed, because other programs would run or obey it: `new/.vscode` (editor); only the role can" in output


@pytest.mark.needs("git")
def test_a_repository_that_a_command_makes_is_removed(folder: Path) -> None:
    """`git init` needs `allow_writes: [git]`."""
    (folder / "new").mkdir()
    command = "git init -q new"
    assert "`new/.git` (git)" in shell(folder).call(command=command)
    assert shell(folder, ["git"]).call(command=command) == "exit code 0\nno output"
    assert (folder / "new/.git/config").exists()


@pytest.mark.slow
def test_what_links_lead_to_is_protected(way: str, folder: Path) -> None:
    """Instructions and settings are often links to one file."""
    write_file(folder / "docs/agents.txt", "obey")
    (folder / "step").symlink_to("docs/agents.txt")
    (folder / "CLAUDE.md").symlink_to("step")
    os.link(folder / "pkg/conftest.py", folder / "docs/same.py")
    for line in (
        "echo x >> docs/agents.txt",
        "mv docs moved",
        "rm CLAUDE.md; echo x > CLAUDE.md",
        "rm CLAUDE.md; ln -s data.yaml CLAUDE.md",
        "rm step; echo x > step",
        "rm step CLAUDE.md",
        "echo x >> docs/same.py",
    ):
        run(folder, line)
        assert os.readlink(folder / "CLAUDE.md") == "step"
        assert (folder / "CLAUDE.md").read_text() == "obey"
        assert (folder / "pkg/conftest.py").read_text() == "x = 1\n"
    (folder / "docs/agents.txt").unlink()
    output = run(folder, "echo x > docs/agents.txt")
    if way == "in place":
        assert f"[the folder was read-only for this command: `{folder}/CLAUDE.md` leads to a file in it that" in output
    else:
        assert "`docs/agents.txt` (instructions)" in output
    assert not (folder / "docs/agents.txt").exists()
    message = failure_message(writer(folder), path="docs/agents.txt", content="x")
    assert "of the kind `instructions`" in message


def test_a_role_that_is_a_link_is_protected(folder: Path) -> None:
    """The link as well as the file."""
    (folder / "agent.yaml").rename(folder / "real.txt")
    (folder / "agent.yaml").symlink_to("real.txt")
    run(folder, "rm agent.yaml; echo x > agent.yaml; echo x > real.txt")
    assert os.readlink(folder / "agent.yaml") == "real.txt"
    assert (folder / "real.txt").read_text().startswith("name: a")
    assert "of the kind `role`" in failure_message(writer(folder), path="real.txt", content="x")


@pytest.mark.slow
def test_what_is_run_from_a_protected_folder_is_protected(way: str, folder: Path) -> None:
    """A hook may be a link to a script, and git's configuration may name another folder of hooks."""
    (folder / "tools/hooks").mkdir(parents=True)
    for name in ("hook.sh", "hooks/pre-push", "free.sh"):
        (folder / "tools" / name).write_text("ours")
    (folder / ".git/hooks/pre-commit").symlink_to("../../tools/hook.sh")
    (folder / ".git/config").write_text("[core]\n\thooksPath = tools/hooks\n")
    for where in (".", "tools", "tools/hooks"):
        for name in ("hook.sh", "hooks/pre-push", "hooks/new"):
            path = os.path.relpath(folder / "tools" / name, folder / where)
            if not path.startswith(".."):
                run(folder, f"echo x > {path}", working_dir=where)
            assert "of the kind `git`" in failure_message(writer(folder), path=f"tools/{name}", content="x")
    run(folder, "mv tools moved; mv hooks moved", working_dir="tools")
    moved = {"moved": False, "moved/pre-push": b"ours"} if way == "layer" else {}
    assert files(folder / "tools") == {
        "hook.sh": b"ours",
        "hooks": False,
        "hooks/pre-push": b"ours",
        "free.sh": b"ours",
        **moved,
    }
    run(folder, "echo x > free.sh", working_dir="tools")
    writer(folder).call(path="tools/free.sh", content="y")


@pytest.mark.slow
def test_a_folder_that_becomes_unreadable_stays(folder: Path, in_place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a new one is removed."""
    original = _walk.Walk._open

    def open_folder(self: Any, above: int, name: str) -> int | None:
        is_closed = self.known is not None and name in ("pkg", "new")
        return None if is_closed else original(self, above, name)

    monkeypatch.setattr(_walk.Walk, "_open", open_folder)
    monkeypatch.setattr(_in_place, "INTERVAL", 0.05)
    assert "`new` (unreadable)" in run(folder, "mkdir new; sleep 0.5")
    assert (folder / "pkg/main.py").exists()
    assert not (folder / "new").exists()


@pytest.mark.slow
def test_two_commands_do_not_write_to_one_folder_at_the_same_time(folder: Path) -> None:
    """Nor do those of two processes; a lock by another descriptor is the same."""
    fcntl = pytest.importorskip("fcntl")
    fd = os.open(folder, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    ended: list[str] = []

    def release() -> None:
        ended.append("lock")
        os.close(fd)

    threading.Timer(0.5, release).start()
    run(folder, "true", working_dir="pkg")
    assert ended == ["lock"]


@pytest.mark.slow
def test_a_file_that_its_user_replaces_meanwhile_stays(folder: Path) -> None:
    """An editor writes a new file under the old name."""
    timer = threading.Timer(0.3, lambda: os.replace(folder / "pkg/main.py", folder / "pkg/conftest.py"))
    timer.start()
    assert run(folder, "sleep 1") == "exit code 0\nno output"
    assert (folder / "pkg/conftest.py").read_text() == "y = 1\n"


def test_a_protected_folder_is_read_only_as_a_whole(folder: Path) -> None:
    """Also if a tool's configuration names it, or the role's folder is a skill."""
    output = run(folder, "echo x > x", working_dir="skills/tables")
    assert "[the folder was read-only for this command: it is protected (`skill`)" in output
    assert not (folder / "skills/tables/x").exists()


def test_a_folder_that_is_too_large_to_check_is_read_only(
    folder: Path, in_place: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_guard, "_MAX_READ_ONLY", 3)
    assert "it has more than 3 protected files and folders" in run(folder, "echo x > x")
    monkeypatch.setattr(_walk, "MAX_ENTRIES", 5)
    assert "it has more than 5 files" in run(folder, "echo x > x")
    assert not (folder / "x").exists()


@pytest.mark.slow
def test_folders_beyond_the_limit_are_removed_unseen(folder: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command cannot hide a file behind more folders than are checked."""
    monkeypatch.setattr(_walk, "MAX_ENTRIES", 40)
    line = "for i in $(seq 100); do mkdir -p d/$i/.git; done; mkdir e; cd e; for i in $(seq 80); do mkdir f; cd f; done"
    assert "(unchecked)" in run(folder, f"{line}; mkdir .git")
    assert not [name for name in files(folder) if name.endswith("/.git")]


@pytest.mark.slow
def test_a_protected_file_is_removed_while_the_command_runs(
    folder: Path, in_place: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs of the user must not find it for as long as a command takes."""
    monkeypatch.setattr(_in_place, "INTERVAL", 0.1)
    with ends():
        output = run(folder, "mkdir .vscode; for i in $(seq 6000); do test -e .vscode || exit 7; sleep 0.1; done")
        assert output.startswith("exit code 7")
    assert "`.vscode` (editor)" in output


@pytest.mark.slow
def test_a_command_that_fails_leaves_nothing_either(folder: Path) -> None:
    """Nor one that takes too long."""
    assert "`x/.git` (git)" in run(folder, "mkdir -p x/.git; sleep 5", timeout_seconds=0.5)
    assert not (folder / "x/.git").exists()


def test_a_command_that_fails_at_a_protected_file_is_explained(folder: Path) -> None:
    """Git says only that its folder is read-only."""
    result = run(folder, "touch .git/index.lock")
    assert "Read-only file system" in result
    assert "`.git`" in result
    assert "`security.allow_writes`" in result
    result = run(folder, "touch /usr/x", allow=KINDS)
    assert "Read-only file system" in result
    assert "allow_writes" not in result
    assert "allow_writes" not in run(folder, "touch new")


def test_a_command_that_needs_a_unix_socket_is_explained(folder: Path) -> None:
    """The system says only that it does not know the family."""
    result = run(folder, "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'")
    assert "`security.unix_sockets`" in result
    assert "unix_sockets" not in run(folder, "python3 -c 'raise SystemExit(3)'")
