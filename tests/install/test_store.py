from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.errors import ConfigError, InstallError
from prowess.install import OpenStore, Store, StoredTree
from prowess.lock import read_tree
from support.processes import wait_until, waits_for_lock


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
    assert not Path(store.folder, "temporary").exists()


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
