"""A command writes in a user's folder what it likes, except what other programs run or obey later.

Each row is tried in a layer, in place as on a system without layers, and without a sandbox.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tarfile
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.text import quoted
from prowess.guard import Guard, GuardedRun, Protection, _layers, folder_problem
from prowess.sandbox import LayerError, Limits, run
from support.commands import SOURCE
from support.files import write_files
from support.growth import END
from support.rows import rows
from support.tool_calls import require_sandbox, run_as_owner
from support.users import ALICE, give, only_root, run_as

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's project."""
    files = {
        ".git/config": "[core]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/hooks/sample": "x",
        "pyproject.toml": "[project]\n",
        "pkg/conftest.py": "x = 1\n",
        "pkg/main.py": "y = 1\n",
        "tools/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n",
        "tools/pdf/run.py": "z = 1\n",
        "docs/guide.md": "guide\n",
        "docs/old/a.txt": "a\n",
        "data.txt": "data\n",
    }
    return write_files(tmp_path.resolve() / "project", files)


@pytest.fixture(params=["layer", "in place", "without a sandbox"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the command writes."""
    if request.param == "in place":
        monkeypatch.setattr(_layers, "has_mounts_inside", lambda _: True)
    return str(request.param)


def guard_of(folder: Path, **more: Any) -> Guard:
    protection = Protection.of(folder=str(folder), roots=[str(folder)], **more)
    return Guard(folder=str(folder), protection=protection, env=os.environ, allowed_by="ask", layers=True)


def shell(folder: Path, line: str, way: str = "layer", **more: Any) -> GuardedRun:
    """Run a line of a shell."""
    sandbox = "none" if way == "without a sandbox" else require_sandbox()
    guard = guard_of(folder, **more).with_changes(layers=sandbox == "bwrap")

    def command(**paths: Any) -> Any:
        return run(["/bin/sh", "-c", line], cwd=folder, sandbox=sandbox, limits=Limits(timeout=END), **paths)

    return guard.run(command)


def content(folder: Path) -> dict[str, object]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else (stat.S_IMODE(path.stat().st_mode), path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("line", "removed"), rows(__file__, "what_other_programs_run_never_gets_into_the_folder"))
def test_what_other_programs_run_never_gets_into_the_folder(
    line: str, removed: list[str], way: str, folder: Path
) -> None:
    """It is named, and everything that was there is as it was; without a sandbox only what is new is removed."""
    before = content(folder)
    if way == "without a sandbox" and set(removed) & set(before):
        return
    done = shell(folder, f"{line}; echo kept > kept.txt", way)
    after, notes = content(folder), "\n".join(done.notes)
    for path in removed:
        assert after.get(path) == before.get(path) or (way == "in place" and path == "docs")
        assert f"{quoted(path)} (" in notes or str(folder / path) in done.read_only
    assert (folder / "kept.txt").read_text() == "kept\n"
    if way == "layer":
        assert {path: value for path, value in after.items() if path in before} == before


@pytest.mark.slow
@pytest.mark.parametrize("line", rows(__file__, "what_is_there_stays_as_it_was"))
@pytest.mark.parametrize("way", ["layer", "in place"], indirect=True)
def test_what_is_there_stays_as_it_was(line: str, way: str, folder: Path) -> None:
    """Protected files, and the skills of the project."""
    names = (".git", "pyproject.toml", "pkg/conftest.py", "tools")
    before = {path: value for path, value in content(folder).items() if path.startswith(names)}
    shell(folder, line, way)
    assert {path: value for path, value in content(folder).items() if path.startswith(names)} == before


@pytest.mark.slow
@pytest.mark.parametrize(("line", "expected"), rows(__file__, "ordinary_work_is_done"))
def test_ordinary_work_is_done(line: str, expected: dict[str, str | None], way: str, folder: Path) -> None:
    """Nothing is said about it, and the regular files are listed as written."""
    before = content(folder)
    done = shell(folder, line, way)
    assert done.result.exit_code == 0, done.result.stderr
    assert not done.notes
    for path, text in expected.items():
        assert (folder / path).read_text() == text if text is not None else not os.path.lexists(folder / path)
    after = content(folder)
    changed = {path for path, value in after.items() if before.get(path) != value and (folder / path).is_file()}
    assert done.written is not None
    assert set(done.written) == {path for path in changed if not (folder / path).is_symlink()}
    changes = [*expected, "docs/old"]
    unchanged = {
        path: value for path, value in before.items() if not any(path in change or change in path for change in changes)
    }
    assert {path: value for path, value in after.items() if path in unchanged} == unchanged


def test_a_copy_of_what_is_left_out_is_kept(folder: Path) -> None:
    """In an archive, whose path is in the answer."""
    notes = shell(folder, "echo mine > Makefile; ln -s /etc out").notes
    assert notes[0] == (
        "[removed, because other programs would run or obey it: `Makefile` (build), `out` (a link that leads out); ask]"
    )
    path = notes[1].partition("`")[2].rstrip("`]")
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["Makefile"]


@pytest.mark.needs("git")
@pytest.mark.slow
@pytest.mark.parametrize(("setup", "inner", "line", "path"), rows(__file__, "what_git_and_links_lead_to_stays"))
@pytest.mark.parametrize("way", ["layer", "in place"], indirect=True)
def test_what_git_and_links_lead_to_stays(
    setup: str, inner: str, line: str, path: str, way: str, tmp_path: Path
) -> None:
    """In a worktree, a submodule and a folder of a repository, too; what is missing is not made."""
    top = write_files(tmp_path.resolve(), {"home/.keep": "", "main/docs/guide.md": "guide\n", "main/x": "x\n"})
    run_as_owner(top / "main", "git init -q -b main; git add .; git commit -qm x")
    run_as_owner(top, setup)
    before = content(top / inner)
    done = shell(top / inner, f"{line}; echo kept > kept.txt", way)
    after = content(top / inner)
    assert {name: value for name, value in after.items() if name.startswith(path)} == {
        name: value for name, value in before.items() if name.startswith(path)
    }
    if "read-only" not in "".join(done.notes):
        assert (top / inner / "kept.txt").read_text() == "kept\n"


def test_a_path_that_git_names_can_be_allowed(folder: Path) -> None:
    """By its path, as the answer says."""
    (folder / ".git/config").write_text("[core]\n\thooksPath = ours\n")
    assert "`ours` (git)" in shell(folder, "mkdir ours; echo x > ours/pre-commit").notes[0]
    assert not shell(folder, "mkdir ours; echo x > ours/pre-commit", allowed_paths=["ours"]).notes
    assert (folder / "ours/pre-commit").read_text() == "x\n"


def test_hooks_that_git_does_not_find_yet_do_not_close_a_folder(way: str, folder: Path) -> None:
    """As after `git clean` with husky; they are protected by their name."""
    (folder / ".git/config").write_text("[core]\n\thooksPath = .husky/_\n")
    done = shell(folder, "echo x > report.md; mkdir -p .husky/_; echo x > .husky/_/pre-commit", way)
    assert (folder / "report.md").exists()
    assert not (folder / ".husky/_/pre-commit").exists()
    assert "`.husky` (git)" in done.notes[0]


def test_a_folder_to_which_a_protected_link_leads_gets_nothing(way: str, folder: Path) -> None:
    """Not only what is new is obeyed then."""
    (folder / ".claude").mkdir()
    (folder / ".claude/skills").symlink_to("..")
    notes = shell(folder, "echo x > new.txt; rm data.txt", way).notes
    assert (folder / "data.txt").exists() or way == "without a sandbox"
    assert not (folder / "new.txt").exists() or way == "without a sandbox"
    assert "agents" in notes[0] or "a protected file leads to it" in notes[0] or way == "without a sandbox"


@pytest.mark.parametrize("name", ["user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect"])
def test_marks_of_a_layer_that_a_command_sets_itself_say_nothing(name: str, folder: Path) -> None:
    """Only those of the system do. For root, `user.` is an ordinary attribute in a layer."""
    before = content(folder)
    setting = f"try: os.setxattr(path, {name!r}, b'y')\n except OSError: 0"
    shell(folder, f"python3 -c \"import os\nfor path in ('.', 'docs', 'data.txt'):\n {setting}\"")
    assert content(folder) == before


@pytest.mark.parametrize("mask", [0, 0o077, 0o277])
def test_folders_that_prowess_makes_in_a_folder_are_for_its_user_alone(mask: int, folder: Path) -> None:
    """At every level, whatever the umask is."""
    from prowess.guard import ProtectedPath

    paths = [ProtectedPath(folder=str(folder / "state/own"), name="prowess", kind="prowess")]
    old = os.umask(mask)
    try:
        shell(folder, "true", "without a sandbox", paths=paths)
    finally:
        os.umask(old)
    made = [folder / "state", folder / "state/own", folder / "state/own/prowess"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 3


@pytest.mark.needs("bwrap")
@pytest.mark.skipif(sys.platform != "linux", reason="bwrap is of Linux")
def test_a_command_runs_in_a_project_on_a_read_only_disk(folder: Path) -> None:
    """It reads, and learns from the system that it cannot write."""
    before = content(folder)
    words = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(folder), str(folder), "--chdir", str(folder)]
    done = subprocess.run(
        [*words, sys.executable, "-c", ON_A_READ_ONLY_DISK],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["output"] == "data\n"
    assert answer["error"].count("Read-only file system") == 2
    assert (answer["written"], answer["notes"]) == ([], [])
    assert content(folder) == before


ON_A_READ_ONLY_DISK = """
import json, os
from prowess.guard import Guard, Protection
from prowess.sandbox import run

def command(**paths):
    line = "cat data.txt; echo x > new.txt; echo x > data.txt"
    return run(["/bin/sh", "-c", line], cwd=here, sandbox="bwrap", **paths)

here = os.getcwd()
protection = Protection.of(folder=here, roots=[here])
done = Guard(folder=here, protection=protection, env=os.environ, allowed_by="ask", layers=True).run(command)
result = {"output": done.result.stdout.decode(), "error": done.result.stderr.decode()}
print(json.dumps({**result, "written": done.written, "notes": done.notes}))
"""


@only_root
@pytest.mark.needs("bwrap")
@pytest.mark.skipif(sys.platform != "linux", reason="layers are of Linux")
def test_a_layer_of_an_ordinary_user_is_merged(open_folder: Path) -> None:
    """The user needs no right but that to the folder, and owns what is new."""
    write_files(open_folder / "project", {"data.txt": "old", "docs/a.txt": "a", "docs/b.txt": "b", ".envrc": "ours"})
    for name in ("temporary", "cache"):
        (open_folder / name).mkdir()
    give(ALICE, open_folder)
    env = {"TMPDIR": str(open_folder / "temporary"), "PROWESS_CACHE_DIR": str(open_folder / "cache")}
    packages = ("_internal", "guard", "hosts", "sandbox", "skill")
    answer = json.loads(run_as(ALICE, IN_A_LAYER, cwd=open_folder / "project", packages=packages, env=env))
    assert sorted(answer["written"]) == ["data.txt", "docs/new.txt", "new/x.txt"]
    assert "`.envrc` (shell), `sub/conftest.py` (pytest)" in answer["notes"][0]
    project = open_folder / "project"
    assert {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()} == {
        ".envrc": "ours",
        "data.txt": "new",
        "docs/new.txt": "new",
        "new/x.txt": "new",
    }
    assert {path.stat().st_uid for path in project.rglob("*")} == {ALICE}


IN_A_LAYER = """
from prowess._internal.layers import mount_layers
from prowess.guard import Guard, Protection
from prowess.sandbox import Result

def change():
    shutil.rmtree("docs")
    for name in ("docs", "new", "sub"):
        os.mkdir(name)
    for name in ("data.txt", "docs/new.txt", "new/x.txt", ".envrc", "sub/conftest.py"):
        with open(name, "w") as file:
            file.write("new")

def command(layers, **paths):
    if (process := os.fork()) == 0:
        status = 1
        try:
            mount_layers(layers)
            os.chdir(here)
            change()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(process, 0)[1] == 0
    sizes = {"stdout_size": 0, "stderr_size": 0, "duration": 0.0, "killed": 0}
    return Result(exit_code=0, timed_out=False, stdout=b"", stderr=b"", backend="none", **sizes)

ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: a process that was root may map no user otherwise
here = os.getcwd()
protection = Protection.of(folder=here, roots=[here])
done = Guard(folder=here, protection=protection, env=os.environ, allowed_by="ask", layers=True).run(command)
print(json.dumps({"written": done.written, "notes": done.notes}))
"""


@pytest.mark.slow
def test_a_user_allows_a_path(way: str, folder: Path) -> None:
    """And only that one, also in a protected folder."""
    allowed = ["pyproject.toml", ".github/workflows/ours.yml", "made"]
    line = (
        "echo x >> pyproject.toml; mkdir -p .github/workflows made; echo x > made/Makefile;"
        " for f in ours theirs; do echo x > .github/workflows/$f.yml; done; echo x > setup.py"
    )
    done = shell(folder, line, way, allowed_paths=allowed)
    assert (folder / "pyproject.toml").read_text() == "[project]\nx\n"
    assert os.listdir(folder / ".github/workflows") == ["ours.yml"]
    assert (folder / "made/Makefile").exists()
    assert not (folder / "setup.py").exists()
    assert "`.github/workflows/theirs.yml` (ci)" in done.notes[0]


def test_a_trust_record_is_never_allowed(folder: Path) -> None:
    """What Prowess keeps is protected, whatever path its user names."""
    from prowess.guard import ProtectedPath

    paths = [ProtectedPath(folder=str(folder / "state"), name="trust.json", kind="prowess")]
    protection = Protection.of(folder=str(folder), roots=[str(folder)], paths=paths, allowed_paths=["."])
    assert protection.kind(str(folder / "state/trust.json")) == "prowess"
    assert protection.kind(str(folder / "pyproject.toml")) is None


def test_no_command_works_above_the_home(tmp_path: Path) -> None:
    """Whatever is kept elsewhere."""
    assert folder_problem(str(tmp_path), (), str(tmp_path / "home")) == "it contains your home"
    assert folder_problem(str(tmp_path / "home/x"), (), str(tmp_path / "home")) is None


# ── others in the same folder ─────────────────────────────────────────────────────────────────────────────────────────


def while_running(folder: Path, line: str, change: Callable[[], object]) -> GuardedRun:
    """Run a line that makes a file `started`, and change the folder once it is there; the command goes on meanwhile."""

    def wait() -> None:
        top = folder.parent
        while not list(top.glob("prowess-layer-*/changes/started")):
            time.sleep(0.005)
        change()

    thread = threading.Thread(target=wait)
    thread.start()
    done = shell(folder, f"{line}; : > started; sleep 1")
    thread.join()
    return done


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files is beside the project."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.mark.slow
def test_what_a_user_writes_meanwhile_is_theirs(folder: Path, temporary: Path) -> None:
    """Also if it is protected, or has the time and the name of something that the command wrote before."""

    def change() -> None:
        write_files(folder, {"conftest.py": "ours", "notes.txt": "ours", "docs/old/b.txt": "ours"})
        (folder / "pipe").symlink_to("/etc")

    done = while_running(folder, "echo x > report.md", change)
    assert done.written is not None
    assert set(done.written) == {"report.md", "started"}
    assert not done.notes
    for path in ("conftest.py", "notes.txt", "docs/old/b.txt"):
        assert (folder / path).read_text() == "ours"
    assert os.readlink(folder / "pipe") == "/etc"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("echo theirs > data.txt", "data.txt"),
        ("echo theirs > new.txt", "new.txt"),
        ("rm data.txt", "data.txt"),
        ("mkdir new.txt; echo x > new.txt/x", "new.txt"),
        ("rm -r docs/old", "docs/old"),
        ("ln -s docs new.txt", "new.txt"),
    ],
)
def test_what_both_changed_is_as_the_user_left_it(line: str, path: str, folder: Path, temporary: Path) -> None:
    """The answer names it."""

    def change() -> None:
        write_files(folder, {"data.txt": "ours", "new.txt": "ours", "docs/old/a.txt": "ours"})

    done = while_running(folder, line, change)
    assert f"[not written, because another program changed it meanwhile: `{path}`]" in done.notes
    for name in ("data.txt", "new.txt", "docs/old/a.txt"):
        assert (folder / name).read_text() == "ours"


@pytest.mark.slow
def test_two_runs_in_one_folder_own_what_they_wrote(folder: Path, temporary: Path) -> None:
    """They run at the same time."""
    second: list[GuardedRun] = []
    first = while_running(folder, "echo 1 > one.txt", lambda: second.append(shell(folder, "echo 2 > two.txt")))
    assert first.written is not None
    assert set(first.written) == {"one.txt", "started"}
    assert second[0].written == ("two.txt",)
    assert not first.notes
    assert not second[0].notes


@pytest.mark.slow
def test_a_folder_that_is_replaced_meanwhile_gets_nothing(folder: Path, temporary: Path) -> None:
    """Neither the link nor what it leads to."""
    other = folder.parent / "other"
    other.mkdir()

    def change() -> None:
        folder.rename(folder.parent / "moved")
        folder.symlink_to(other)

    with pytest.raises(FileNotFoundError, match="moved or removed"):
        while_running(folder, "echo x > new.txt", change)
    assert not list(other.iterdir())
    assert not (folder.parent / "moved/new.txt").exists()


# ── without a layer ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_system_without_layers_is_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs once, in place."""
    monkeypatch.setattr(_layers, "_without_layers", set())
    calls: list[bool] = []

    def command(layers: Any, **paths: Any) -> Any:
        calls.append(bool(layers))
        if layers:
            raise LayerError("no")
        return run(["/bin/sh", "-c", "echo x > .envrc; echo y > y"], cwd=folder, sandbox=require_sandbox(), **paths)

    for _ in range(2):
        notes = guard_of(folder).run(command).notes
        assert "`.envrc` (shell)" in notes[0]
        assert (folder / "y").exists()
    assert calls == [True, False, False]


def test_a_layer_that_cannot_be_made_is_an_error_of_its_own(folder: Path, tmp_path: Path) -> None:
    """Nothing is started then."""
    status = os.stat(tmp_path)  # of another folder
    layer = (os.fsencode(folder), status.st_dev, status.st_ino, os.fsencode(tmp_path), os.fsencode(tmp_path))
    with pytest.raises(LayerError):
        run(["/bin/sh", "-c", "echo x > x"], cwd=folder, sandbox=require_sandbox(), writable=[folder], layers=[layer])
    assert not (folder / "x").exists()


@pytest.mark.needs("git")
@pytest.mark.slow
def test_git_works_in_worktrees_and_submodules(tmp_path: Path, way: str) -> None:
    """A `.git` that is a file stays as it is; outside and, where all of git is in the folder, inside."""
    top = tmp_path.resolve()
    env = {"PATH": os.environ["PATH"], "HOME": str(top), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(folder: Path, line: str) -> str:
        done = subprocess.run(["/bin/sh", "-ec", line], cwd=folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout

    user = "git config user.email a@b.c && git config user.name A"
    git(top, f"git init -q -b main main && cd main && {user} && echo x > x && git add . && git commit -qm x")
    git(top / "main", "git worktree add -q ../tree")
    git(top, f"git init -q -b main sub && cd sub && {user} && git commit -q --allow-empty -m x")
    git(top / "main", "git -c protocol.file.allow=always submodule add -q ../sub sub && git commit -qm sub")
    before = [(top / name / ".git").read_text() for name in ("tree", "main/sub")]
    for name in ("main", "tree", "main/sub"):
        line = "echo y > y; echo z > z.txt; rm z.txt"
        line += " && git status --short" if name == "main" else ""
        done = shell(top / name, line, way)
        assert done.result.stdout == (b"?? y\n" if name == "main" else b"")
        assert not done.notes
        assert git(top / name, "git status --short") == "?? y\n"
        (top / name / "y").unlink()
    if way != "without a sandbox":
        for name in ("tree", "main/sub"):
            shell(top / name, "echo evil > .git; rm -f .git; mv x .git", way)
        shell(top / "main", "echo evil > sub/.git; rm -r sub; mkdir sub; echo evil > sub/.git", way)
    assert [(top / name / ".git").read_text() for name in ("tree", "main/sub")] == before
