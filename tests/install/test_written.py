from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import Store, read_tree
from prowess.install._computed_hash import computed_hash
from prowess.install._written import WrittenFiles

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "SKILL.md": (b"---\nname: pdf\n---\n", 0o644),
    "Readme.md": (b"capital", 0o644),
    "readme.txt": (b"small", 0o600),
    "scripts/run.sh": (b"", 0o755),
    "scripts/node_modules/a.js": (b"left out of the hash of other tools", 0o644),
    "node_modules": (b"a file", 0o644),
    "my_node_modules/b.js": (b"another folder", 0o644),
}
LINKS = {"latest": b"Readme.md", "scripts/up": b"../SKILL.md"}


def write(folder: Path, files: dict[str, tuple[bytes, int]], links: dict[str, bytes]) -> WrittenFiles:
    folders = {os.path.dirname(path) for path in files if "/" in path}
    written = WrittenFiles(files, links, folders)
    for path in written.order:
        target = folder / path
        if path in links:
            target.symlink_to(os.fsdecode(links[path]))
            written.add_link(path, links[path])
        else:
            data, mode = files[path]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            target.chmod(mode)
            written.add_file(path, data, target.stat().st_mode)
    return written


def test_notes_are_what_reading_the_files_gives(tmp_path: Path) -> None:
    noted = write(tmp_path, FILES, LINKS).notes()
    assert noted is not None
    assert noted.tree == read_tree(str(tmp_path))
    assert noted.computed_hash == computed_hash(str(tmp_path))


def test_files_are_written_before_links() -> None:
    assert WrittenFiles(FILES, LINKS, ()).order[-2:] == ["latest", "scripts/up"]


@pytest.mark.parametrize("name", ["café.md", "cafe\u0301.md"])
def test_a_name_that_a_file_system_may_change_is_read_again(tmp_path: Path, name: str) -> None:
    assert write(tmp_path, {**FILES, name: (b"", 0o644)}, {}).notes() is None


def test_files_that_were_not_all_written_are_read_again() -> None:
    written = WrittenFiles(FILES, LINKS, ())
    written.add_file("SKILL.md", b"", 0o644)
    assert written.notes() is None


def test_a_skill_that_is_too_large_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("prowess.install._written.MAX_SKILL_FILES", 9)
    assert write(tmp_path, FILES, {}).notes() is None
    monkeypatch.undo()
    monkeypatch.setattr("prowess.install._written.MAX_DIGEST_BYTES", sum(len(data) for data, _ in FILES.values()) - 1)
    assert write(tmp_path, FILES, {}).notes() is None
    monkeypatch.undo()
    assert write(tmp_path, FILES, {}).notes() is not None


def test_files_that_differ_from_what_was_noted_are_not_installed(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store")).open() as opened:
        folder = tmp_path / "store/temporary/new/pdf"
        folder.mkdir(parents=True)
        noted = write(folder, FILES, LINKS).notes()
        assert noted is not None
        (folder / "SKILL.md").write_bytes(b"changed meanwhile")
        stored = opened.add(str(folder), noted.tree)
        (tmp_path / "project").mkdir()
        fd = os.open(tmp_path / "project", os.O_RDONLY)
        try:
            with pytest.raises(InstallError, match="was changed, and is removed"):
                opened.copy(stored.tree.digest, fd, "pdf")
        finally:
            os.close(fd)
