"""What a command made and Prowess removed is kept for the user, in an archive in which nothing runs."""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from pathlib import Path

import pytest

from prowess.guard import RemovedFiles, _removed_files


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PROWESS_CACHE_DIR": str(tmp_path / "cache")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git/hooks").mkdir(parents=True)
    (folder / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")
    (folder / ".git/hooks/pre-commit").chmod(0o755)
    return folder


def keep(env: dict[str, str], folder: Path, *names: str) -> RemovedFiles:
    kept = RemovedFiles(env)
    fd = os.open(folder, os.O_RDONLY)
    try:
        for name in names:
            kept.add(fd, name, name)
    finally:
        os.close(fd)
        kept.close()
    return kept


def contents(kept: RemovedFiles) -> dict[str, str]:
    assert kept.path is not None
    found = {}
    with tarfile.open(kept.path) as archive:
        for entry in archive:
            file = archive.extractfile(entry) if entry.isfile() else None
            found[entry.name] = entry.linkname if file is None else file.read().decode()
    return found


def test_an_archive_contains_what_was_removed(env: dict[str, str], folder: Path) -> None:
    kept = keep(env, folder, ".git")
    assert contents(kept) == {".git": "", ".git/hooks": "", ".git/hooks/pre-commit": "#!/bin/sh\n"}
    assert kept.path is not None
    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(kept.path)).st_mode) == 0o700


def test_links_are_not_followed_and_special_files_are_left_out(
    env: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("password")
    (folder / ".git/config").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / ".git/description")
    assert contents(keep(env, folder, ".git"))[".git/config"] == str(tmp_path / "secret")
    assert ".git/description" not in contents(keep(env, folder, ".git"))


def test_an_archive_is_bounded(env: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_removed_files, "_MAX_KEPT_BYTES", 1000)
    (folder / ".git/a").write_bytes(b"a" * 900)
    (folder / ".git/b").write_bytes(b"b" * 900)
    (folder / ".git/c").write_bytes(b"c" * 90)
    assert set(contents(keep(env, folder, ".git"))) >= {".git/a", ".git/c"}
    assert ".git/b" not in contents(keep(env, folder, ".git"))


def test_an_archive_that_lacks_something_does_not_claim_otherwise(
    env: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keep(env, folder, ".git").complete
    monkeypatch.setattr(_removed_files, "_MAX_KEPT_BYTES", 5)
    assert not keep(env, folder, ".git").complete
    monkeypatch.undo()

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", no_space)
    assert not keep(env, folder, ".git").complete
    monkeypatch.setattr(tarfile.TarFile, "close", no_space)
    kept = keep(env, folder, ".git")
    assert (kept.complete, kept.path) == (False, None)
    assert not keep({"PROWESS_NO_CACHE": "1"}, folder, ".git").complete


def test_a_command_does_not_push_out_older_archives(
    env: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_removed_files, "_MAX_KEPT_BYTES", 10_000)
    monkeypatch.setattr(_removed_files, "_MAX_TOTAL_BYTES", 15_000)
    first = keep(env, folder, ".git")
    assert contents(first)
    assert keep(env, folder, ".git").path is None
    assert contents(first)


def test_old_archives_are_removed(env: dict[str, str], folder: Path) -> None:
    old = keep(env, folder, ".git")
    assert old.path is not None
    os.utime(old.path, (0, 0))
    new = keep(env, folder, ".git")
    assert not Path(old.path).exists()
    assert contents(new)


def test_without_a_cache_nothing_is_kept(folder: Path) -> None:
    assert keep({"PROWESS_NO_CACHE": "1"}, folder, ".git").path is None


def test_nothing_removed_is_no_archive(env: dict[str, str], folder: Path) -> None:
    assert keep(env, folder).path is None
    assert keep(env, folder, "missing").path is None or contents(keep(env, folder, "missing")) == {}
