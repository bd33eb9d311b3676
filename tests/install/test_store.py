from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.errors import ConfigError, InstallError
from prowess.install import OpenStore, Store, StoredTree, find_target
from prowess.lock import read_tree
from support.processes import wait_until, waits_for_lock
from support.users import MALLORY, only_root

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def add(opened: OpenStore, body: str = "body") -> StoredTree:
    folder = Path(opened.new_folder()) / "pdf"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(body)
    (folder / "scripts/run.sh").write_text("run")
    (folder / "scripts/run.sh").chmod(0o755)
    (folder / "link").symlink_to("SKILL.md")
    return opened.add(str(folder))


def copy(opened: OpenStore, digest: str, into: Path) -> None:
    into.mkdir()
    fd = os.open(into, os.O_RDONLY)
    try:
        opened.copy(digest, fd, "pdf")
    finally:
        os.close(fd)


def nothing(lock: str) -> list[str]:
    return []


def test_a_copy_has_the_files_that_were_added(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        stored = add(opened)
        copy(opened, stored.tree.digest, tmp_path / "project")
    assert read_tree(str(tmp_path / "project/pdf")) == stored.tree
    assert (tmp_path / "project/pdf/link").readlink() == Path("SKILL.md")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "project/pdf/SKILL.md").stat().st_mode & 0o777 == 0o666 & ~umask
    assert (tmp_path / "project/pdf/scripts/run.sh").stat().st_mode & 0o111


def test_the_same_skill_is_stored_once(store: Store) -> None:
    with store.open() as opened:
        assert add(opened) == add(opened)
        assert opened.get(add(opened).tree.digest) is not None
        assert len([*Path(store.folder, "sha256").glob("*/*")]) == 1


def test_temporary_folders_are_removed(store: Store) -> None:
    with store.open() as opened:
        add(opened)
        opened.new_folder()
    assert [*Path(store.folder, "temporary").iterdir()] == []


def test_a_skill_that_was_changed_in_the_store_is_not_copied_and_is_removed(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        stored = add(opened)
        changed = Path(stored.folder, "SKILL.md")
        changed.chmod(0o644)
        changed.write_text("evil")
        with pytest.raises(InstallError, match="was changed"):
            copy(opened, stored.tree.digest, tmp_path / "project")
        assert opened.get(stored.tree.digest) is None


def test_adding_a_skill_again_repairs_it(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        Path(add(opened).folder, "extra").write_text("evil")
        copy(opened, add(opened).tree.digest, tmp_path / "project")
    assert not (tmp_path / "project/pdf/extra").exists()


@pytest.mark.parametrize("digest", ["", "sha256:", "sha256:../../x", "md5:" + "0" * 64, "sha256:" + "A" * 64, "0" * 64])
def test_an_invalid_digest_is_an_error(store: Store, digest: str) -> None:
    with store.open() as opened, pytest.raises(InstallError, match="invalid tree digest"):
        opened.get(digest)


def test_a_missing_skill_is_an_error(store: Store, tmp_path: Path) -> None:
    with store.open() as opened, pytest.raises(InstallError, match="has no skill"):
        copy(opened, f"sha256:{'0' * 64}", tmp_path / "project")


def test_sweeping_keeps_what_a_lock_names(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        kept, removed = add(opened, "one").tree.digest, add(opened, "two").tree.digest
    lock = tmp_path / "skills-lock.json"
    lock.write_text(kept)
    store.register(str(lock))
    store.register(str(tmp_path / "gone.json"))
    preview = store.sweep(lambda path: [Path(path).read_text()], dry_run=True)
    assert (preview.removed, preview.kept, preview.projects) == ((removed,), 1, (str(lock),))
    assert store.sweep(lambda path: [Path(path).read_text()]) == preview
    with store.open() as opened:
        assert (opened.get(kept) is None, opened.get(removed) is None) == (False, True)
    assert len([*Path(store.folder, "projects").iterdir()]) == 1


def test_nothing_is_swept_if_a_lock_cannot_be_read(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        digest = add(opened).tree.digest
    (tmp_path / "skills-lock.json").write_text("damaged")
    store.register(str(tmp_path / "skills-lock.json"))

    def digests(lock: str) -> list[str]:
        raise ConfigError("the lock is damaged")

    with pytest.raises(ConfigError, match="damaged"):
        store.sweep(digests)
    with store.open() as opened:
        assert opened.get(digest) is not None


def test_what_a_killed_process_left_is_swept(store: Store) -> None:
    code = (
        "import os, signal, sys; from prowess.install import Store; opened = Store(sys.argv[1]).open().__enter__();"
        "opened.new_folder(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, store.folder], check=False)
    assert len([*Path(store.folder, "temporary").iterdir()]) == 1
    store.sweep(nothing)
    assert [*Path(store.folder, "temporary").iterdir()] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc/locks")
def test_the_store_is_not_swept_while_another_process_uses_it(store: Store) -> None:
    code = (
        "import sys; from prowess.install import Store\n"
        "with Store(sys.argv[1]).open() as opened: print(opened.new_folder(), flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code, store.folder], stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        folder = Path(other.stdout.readline().strip())
        sweep = "import sys; from prowess.install import Store; Store(sys.argv[1]).sweep(lambda lock: [])"
        with subprocess.Popen([sys.executable, "-c", sweep, store.folder]) as sweeper:
            wait_until(lambda: waits_for_lock(sweeper.pid))
            assert folder.is_dir()
            other.stdin.close()
            assert sweeper.wait() == 0
    assert not folder.exists()


def test_a_store_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InstallError, match="cannot be used"), Store(str(tmp_path / "file/store")).open():
        pass


def test_the_folder_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store.for_user({"PROWESS_DATA_DIR": "/data"}).folder == "/data/store"
    monkeypatch.setattr(sys, "platform", "linux")
    assert Store.for_user({"XDG_DATA_HOME": "/xdg"}).folder == "/xdg/prowess/store"
    monkeypatch.setenv("HOME", "/home/alice")
    assert Store.for_user({"XDG_DATA_HOME": "relative"}).folder == "/home/alice/.local/share/prowess/store"


# ── what is removed ──────────────────────────────────────────────────────────────────────────────────────────────────

HEX = "ab" + "0" * 62
FOREIGN: dict[str, Callable[[Path, Path], object]] = {
    "the folder of trees is a link": lambda store, out: link(store / "sha256", out, f"{HEX[:2]}/{HEX}/file"),
    "a folder in it is a link": lambda store, out: link(store / "sha256" / HEX[:2], out, f"{HEX}/file"),
    "a tree is a link": lambda store, out: link(store / "sha256" / HEX[:2] / HEX, out, "file"),
    "the folder of temporary folders is a link": lambda store, out: link(store / "temporary", out, f"{HEX[:16]}/file"),
    "a temporary folder is a link": lambda store, out: link(store / "temporary" / HEX[:16], out, "file"),
    "the folder of projects is a link": lambda store, out: link(store / "projects", out, HEX),
    "the file of a project is a link": lambda store, out: link(store / "projects" / HEX, out / "file", ""),
    "a folder of a tree is a link": lambda store, out: link(store / "sha256" / HEX[:2] / HEX / "docs", out, "file"),
    "names of another form in the folder of trees": lambda store, _: write(store / "sha256/notes/file"),
    "longer names there": lambda store, _: write(store / "sha256/ab/notes/file"),
    "trees in a folder of another start": lambda store, _: write(store / "sha256/cd" / HEX / "file"),
    "names in capitals": lambda store, _: write(store / "sha256/AB" / HEX.upper() / "file"),
    "names of another form among temporary folders": lambda store, _: write(store / "temporary/mine/file"),
    "names of another form among projects": lambda store, _: write(store / "projects/notes.txt"),
    "a folder with the name of a project's file": lambda store, _: write(store / "projects" / HEX / "file"),
    "further folders": lambda store, _: write(store / "sources/file"),
}


def write(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("precious")
    return file


def link(path: Path, target: Path, inner: str) -> Path:
    """Make a link to a folder outside, with a file in it where a store would have one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return write(target / inner if inner else target)


@pytest.mark.parametrize("case", FOREIGN)
def test_sweeping_follows_no_link_and_removes_only_names_that_it_writes(
    case: str, store: Store, tmp_path: Path
) -> None:
    """Also in a store that another program has written to."""
    Path(store.folder).mkdir(mode=0o700)
    file = FOREIGN[case](Path(store.folder), tmp_path / "out")
    assert isinstance(file, Path)
    store.sweep(nothing)
    store.content()
    assert file.read_text() == "precious"


@pytest.mark.parametrize("place", ["sha256", "sha256/HH", "sha256/HH/HEX", "temporary"])
def test_a_skill_is_not_stored_through_a_link(place: str, store: Store, tmp_path: Path) -> None:
    """A tree that is a link is replaced; above it, a link is an error."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/SKILL.md").write_text("body")
    name = read_tree(str(tmp_path / "new")).digest.removeprefix("sha256:")
    path = Path(store.folder, place.replace("HH", name[:2]).replace("HEX", name))
    Path(store.folder).mkdir(mode=0o700)
    file = link(path, tmp_path / "out", "file")

    def put() -> StoredTree:
        with store.open() as opened:
            folder = Path(opened.new_folder()) / "pdf"
            folder.mkdir()
            (folder / "SKILL.md").write_text("body")
            return opened.add(str(folder))

    if place == "sha256/HH/HEX":
        assert Path(put().folder, "SKILL.md").read_text() == "body"
        assert not path.is_symlink()
    else:
        with pytest.raises(InstallError, match="cannot be used: not a directory"):
            put()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]
    assert file.read_text() == "precious"


def test_what_is_behind_a_link_is_no_stored_skill(store: Store, tmp_path: Path) -> None:
    with store.open() as opened:
        digest = add(opened).tree.digest
        tree = Path(opened.get(digest) or "")
        tree.parent.rename(tmp_path / "elsewhere")
        tree.parent.symlink_to(tmp_path / "elsewhere")
        assert opened.get(digest) is None
        with pytest.raises(InstallError, match="the store has no skill"):
            copy(opened, digest, tmp_path / "project")


# ── whose it is ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_each_folder_of_the_store_is_for_its_user_alone(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        store = Store(str(tmp_path / "share/prowess/store"))
        store.register(str(tmp_path / "lock"))
        with store.open() as opened:
            stored = add(opened)
    finally:
        os.umask(before)
    tree = Path(stored.folder)
    folders = [tree.parent, tree.parents[1], *Path(store.folder).iterdir(), *Path(store.folder).parents[:2]]
    folders = [folder for folder in folders if folder.is_dir()]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in Path(store.folder, "projects").iterdir()} == {0o600}


@pytest.mark.parametrize("place", ["", "store", "store/projects", "store/sha256", "store/temporary"])
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_folder_that_others_can_write_to_is_no_store(
    place: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PROWESS_SHARED_DIR` names those that the user shares on purpose."""
    data = tmp_path / "data"
    env = {"PROWESS_DATA_DIR": str(data)}
    monkeypatch.setattr("prowess._internal.file_status._is_private_group", lambda _: False)

    def use() -> None:
        store = Store.for_user(env)
        store.register(str(tmp_path / "lock"))
        with store.open() as opened:
            add(opened)

    use()
    (data / place).chmod(mode)
    with pytest.raises((ConfigError, InstallError), match="can be changed by other users") as caught:
        use()
    assert f"type `chmod go-w {data / place}`".rstrip("/") in (caught.value.hint or "")
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(data))
    use()


@only_root
def test_a_folder_for_data_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its lock would name what is installed for all projects."""
    env = {"PROWESS_DATA_DIR": str(tmp_path / "data")}
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", MALLORY, -1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        Store.for_user(env)
    for is_global in (False, True):
        with pytest.raises(ConfigError, match="belongs to another user"):
            find_target(str(tmp_path), str(tmp_path), env, is_global=is_global)
