"""A cached result is returned only if nothing that it depends on has changed, and invalid files are ignored."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

import prowess.cache._files
import prowess.cache._recorded
import prowess.cache._writing
from prowess.cache import Cache
from prowess.filesystem import Fingerprints
from prowess.filesystem._fingerprints import fingerprint_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _settle_ns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that tests write count as settled once the clock has moved on."""
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 0)


class Kept:
    """One result in a cache of its own, with its file."""

    def __init__(self, top: Path) -> None:
        (top / "file").write_text("x")
        self.cache = Cache(str(top / "cache"))
        self.key = ["host", "folder", "\udcff\ud800"]
        assert self.store()
        (self.path,) = (top / "cache").iterdir()
        self.data = self.path.read_bytes()
        self.top = top
        assert self.load()

    def fingerprints(self) -> Fingerprints:
        fingerprints = Fingerprints()
        path = os.path.dirname(self.cache.folder)
        fingerprints.files = {f"{path}/file": fingerprint_path(f"{path}/file"), f"{path}/absent": b""}
        fingerprints.kinds = {path: "d"}
        return fingerprints

    def store(self, *extra: str) -> bool:
        variables = {"V": "1", "U": None}
        return self.cache.store([*self.key, *extra], self.fingerprints(), variables, time.time_ns() + 10**9, b"more")

    def load(self, *extra: str) -> bool:
        recorded = self.cache.load([*self.key, *extra], {"V": "1"})
        assert recorded is None or recorded.data == b"more"
        return recorded is not None


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path.resolve())


def test_a_damaged_file_is_ignored(kept: Kept) -> None:
    """Each bit of each byte is flipped, the file is cut at each length, and bytes are added at the end."""
    size = len(kept.data)
    with kept.path.open("r+b", buffering=0) as file:

        def put(at: int, data: bytes) -> None:
            os.pwrite(file.fileno(), data, at)

        for at, byte in enumerate(kept.data):
            for bit in range(8):
                put(at, bytes([byte ^ 1 << bit]))
                assert not kept.load(), (at, bit)
            put(at, kept.data[at : at + 1])
        assert kept.load()
        for extra in (b"\0", b"\n", b"x", kept.data):
            put(size, extra)
            assert not kept.load()
            file.truncate(size)
        assert kept.load()
        for length in range(size - 1, -1, -1):
            file.truncate(length)
            assert not kept.load(), length


def test_a_file_of_another_user_or_type_is_ignored(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a FIFO, a link, a file or folder that others can write to, of another user, or far too large."""
    path, data, me = kept.path, kept.data, os.geteuid()
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert not kept.load()
    path.chmod(0o600)
    for mode in (0o770, 0o707):
        path.parent.chmod(mode)
        assert not kept.load()
        assert not kept.store("new") or len(list(path.parent.iterdir())) == 1
    path.parent.chmod(0o700)
    assert kept.load()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: me + 1)
        assert not kept.load()
    with path.open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    assert not kept.load()
    path.unlink()
    path.mkdir()
    assert not kept.load()
    assert not kept.store()
    path.rmdir()
    os.mkfifo(path)
    assert not kept.load()
    path.unlink()
    (kept.top / "elsewhere").write_bytes(data)
    path.symlink_to(kept.top / "elsewhere")
    assert not kept.load()
    path.unlink()
    path.write_bytes(data)
    assert kept.load()
    path.parent.rename(kept.top / "moved")
    path.parent.symlink_to("moved")
    assert not kept.load()


def test_the_result_of_another_key_is_ignored(kept: Kept) -> None:
    """Even if its file has the name of this one."""
    assert kept.store("more")
    (other,) = set(kept.path.parent.iterdir()) - {kept.path}
    other.replace(kept.path)
    assert not kept.load()


def test_a_file_of_another_python_is_ignored(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `marshal` writes is for one version of Python only."""
    monkeypatch.setattr(prowess.cache._files, "_MAGIC", prowess.cache._files._MAGIC.replace(b"03", b"04", 1))
    assert not kept.load()


def test_a_result_for_another_environment_is_ignored(kept: Kept) -> None:
    for env in ({}, {"V": "2"}, {"V": "1", "U": ""}):
        assert kept.cache.load(kept.key, env) is None
    assert kept.cache.load(kept.key, {"V": "1", "other": "x"}) is not None


@pytest.mark.parametrize(
    ("mapping", "name", "value"),
    [
        ("files", "link", b""),
        ("files", "file", b"x" * 48),
        ("folders", "folder", b""),
        ("folders", "folder", b"x" * 48),
        ("kinds", "link", "f"),
        ("kinds", "absent", "d"),
        ("links", "link", "d"),
        ("links", "absent", "l"),
        ("real_paths", "link", "/elsewhere"),
    ],
)
def test_one_changed_observation_invalidates_a_result(kept: Kept, mapping: str, name: str, value: Any) -> None:
    """Whatever its type; and nothing is stored if the record is incomplete."""
    (kept.top / "folder").mkdir()
    (kept.top / "link").symlink_to("folder")
    fingerprints, started_ns = kept.fingerprints(), time.time_ns() + 10**9
    fingerprints.kinds[f"{kept.top}/link"], fingerprints.links[f"{kept.top}/link"] = "d", "l"
    fingerprints.real_paths[f"{kept.top}/link"] = f"{kept.top}/folder"
    fingerprints.folders = {f"{kept.top}/link": fingerprint_path(f"{kept.top}/folder"), f"{kept.top}/gone": b""}
    assert kept.cache.store(["true"], fingerprints, {}, started_ns, b"")
    assert kept.cache.load(["true"], {}) is not None
    getattr(fingerprints, mapping)[f"{kept.top}/{name}"] = value
    far = Cache(kept.cache.folder, settle_ns=-(1 << 70))
    far.store(["false"], fingerprints, {}, started_ns, b"")
    assert far.load(["false"], {}) is None
    fingerprints.complete = False
    assert not far.store(["incomplete"], fingerprints, {}, started_ns, b"")


def test_an_interrupt_leaves_no_temporary_file(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt is raised, even if the folder was removed meanwhile."""
    for removed in (False, True):

        def interrupted(*_: object, removed: bool = removed, **__: object) -> None:
            if removed:
                shutil.rmtree(kept.path.parent)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupted)
            with pytest.raises(KeyboardInterrupt):
                kept.store()
        assert removed or list(kept.path.parent.iterdir()) == [kept.path]


def test_the_oldest_files_are_evicted(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are never more files or bytes than the limits."""
    folder = kept.path.parent

    def age() -> None:
        for number, file in enumerate(sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)):
            os.utime(file, (1_000_000 + number, 1_000_000 + number))

    monkeypatch.setattr(prowess.cache._writing, "MAX_FILES", 4)
    for number in range(10):
        age()
        assert kept.store(str(number))
        assert len(list(folder.iterdir())) == min(number + 2, 4)
    assert all(kept.load(str(number)) for number in range(7, 10))
    monkeypatch.setattr(prowess.cache._writing, "MAX_BYTES", 3 * len(kept.data) + 100)
    age()
    assert kept.store("last")
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 3 * len(kept.data) + 100
    assert kept.load("last")
    monkeypatch.setattr(prowess.cache._writing, "MAX_FILE_BYTES", 10)
    assert not kept.store("too large")


def test_temporary_files_of_killed_processes_are_removed_after_an_hour(kept: Kept) -> None:
    """Not earlier: the process may still be writing."""
    staged = [kept.path.parent / f".{kept.path.name}.{number}.abc" for number in (1, 2)]
    for file, age in zip(staged, (3700, 3500), strict=True):
        file.write_bytes(b"half")
        os.utime(file, (time.time() - age, time.time() - age))
    assert kept.store()
    assert [file.exists() for file in staged] == [False, True]


def test_other_files_in_the_folder_are_never_removed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may choose a folder with other files."""
    monkeypatch.setattr(prowess.cache._writing, "MAX_FILES", 1)
    monkeypatch.setattr(prowess.cache._writing, "MAX_BYTES", 1)
    folder = kept.path.parent
    names = ("catalog-2024.pdf", "catalog-0123456789abcdef.pdf", ".catalog-old", "notes", "catalog-0123456789abcdeg")
    for name in names:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    (folder / "catalog-00000000000000ff").mkdir()
    assert kept.store("one more")
    assert {*names, "catalog-00000000000000ff"} < {file.name for file in folder.iterdir()}
    assert not kept.path.exists()
