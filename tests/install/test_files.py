"""Describe the files of a skill: paths, modes and digests, the hash of `skills`, and notes of what was written."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import Store
from prowess.lock import check_paths, computed_hash, read_tree
from prowess.lock._files import NotComparableError, WrittenFiles, sort_as_skills_does
from support.files import write_file, write_files

if TYPE_CHECKING:
    from pathlib import Path


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_tree_has_the_modes_of_git_and_a_digest_of_sorted_lines(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"scripts/run.sh": "run", "SKILL.md": "body"})
    (folder / "scripts/run.sh").chmod(0o711)
    (folder / "link").symlink_to("scripts/run.sh")
    tree = read_tree(str(folder))
    assert [(file.path, file.mode, file.size) for file in tree.files] == [
        ("SKILL.md", "100644", 4),
        ("link", "120000", 14),
        ("scripts/run.sh", "100755", 3),
    ]
    lines = (
        f"100644 {sha256('body')} SKILL.md\x00120000 {sha256('scripts/run.sh')} link\0"
        f"100755 {sha256('run')} scripts/run.sh\0"
    )
    assert tree.digest == f"sha256:{sha256(lines)}"
    assert tree.size == 21


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_the_digest_does_not_depend_on_the_umask(tmp_path: Path, mode: int) -> None:
    write_files(tmp_path / "a", {"SKILL.md": "body"})
    write_files(tmp_path / "b", {"SKILL.md": "body"})
    (tmp_path / "b/SKILL.md").chmod(mode)
    (tmp_path / "b/empty").mkdir(0o700)
    assert read_tree(str(tmp_path / "a")).digest == read_tree(str(tmp_path / "b")).digest


def test_the_digest_shows_what_can_be_executed(tmp_path: Path) -> None:
    write_files(tmp_path, {"SKILL.md": "body"})
    before = read_tree(str(tmp_path)).digest
    (tmp_path / "SKILL.md").chmod(0o755)
    assert read_tree(str(tmp_path)).digest != before


def test_a_tree_has_no_device_and_no_link_that_leads_out(tmp_path: Path) -> None:
    write_files(tmp_path, {"SKILL.md": "body"})
    (tmp_path / "out").symlink_to("../elsewhere")
    with pytest.raises(InstallError, match="`out` leads out of the skill"):
        read_tree(str(tmp_path))
    (tmp_path / "out").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InstallError, match="`pipe` is not a file"):
        read_tree(str(tmp_path))


DEVICES = (
    "nul.txt", "CON", "PRN.md", "Aux.tar.gz", "NUL", "COM0", "com9.log", "LPT0", "lpt1", "CONIN$", "conout$",
    "ConOut$.txt", "COM¹", "com².txt", "LPT³", "con .txt", "nul  .tar.gz", "COM² .md", "CONIN$ .x",
)  # fmt: skip
"""Names of devices of Windows, as its documentation lists them; a space before the dot does not count."""


@pytest.mark.parametrize("name", ["console", "com", "com10", "CON$", "conin", "x.con", "nulls.txt", "LPT¹²", "aux-b"])
def test_a_name_that_resembles_a_device_is_allowed(name: str) -> None:
    """Only the names themselves are reserved."""
    check_paths([f"docs/{name}"])


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        (["../a"], "not a path inside"),
        (["a/../../b"], "not a path inside"),
        (["/etc/passwd"], "not a path inside"),
        (["a//b"], "not a path inside"),
        (["./a"], "not a path inside"),
        (["a/"], "not a path inside"),
        ([""], "not a path inside"),
        (["a\\b"], "backslash or control"),
        (["a\nb"], "backslash or control"),
        (["a\0b"], "backslash or control"),
        (["a\udcff"], "not UTF-8"),
        ([".git/config"], "reads as something else"),
        (["x/.GIT/hooks/run"], "reads as something else"),
        (["x/.g\u200cit/config"], "reads as something else"),
        (["x/GIT~1/config"], "reads as something else"),
        (["a\u200d.md", "a.md"], "one name on other systems"),
        (["C:evil"], "reads as something else"),
        (["SKILL.md::$DATA"], "reads as something else"),
        *(([f"docs/{name}"], "reads as something else") for name in DEVICES),
        (["a."], "reads as something else"),
        (["a/b "], "reads as something else"),
        (["x" * 256], "too long"),
        (["/".join(["d"] * 65)], "too long"),
        (["/".join(["long"] * 300)], "too long"),
        (["A.md", "a.md"], "one name on other systems"),
        (["Docs/a.md", "docs/b.md"], "one name on other systems"),
        (["\u00e9", "e\u0301"], "one name on other systems"),
        (["\ufb01le", "file"], "one name on other systems"),
        (["stra\u00dfe", "STRASSE"], "one name on other systems"),
        (["a.md", "a.md"], "there twice"),
        (["a", "a/b"], "a file and a folder"),
        (["a/b", "a"], "a file and a folder"),
    ],
)
def test_paths_that_another_system_reads_in_another_way_are_refused(paths: list[str], problem: str) -> None:
    with pytest.raises(InstallError, match=problem):
        check_paths(paths)


def test_ordinary_paths_are_accepted() -> None:
    check_paths(
        [
            "SKILL.md",
            "docs/a.md",
            "docs/b.md",
            "docs/.hidden",
            "r\u00e9sum\u00e9.md",
            "\u65e5\u672c.md",
            "a b",
            ".gitignore",
        ]
    )


def test_ten_thousand_files_are_the_most() -> None:
    check_paths(f"{number}" for number in range(10_000))
    with pytest.raises(InstallError, match="more than 10,000 files"):
        check_paths(f"{number}" for number in range(10_001))


def test_paths_are_sorted_as_localecompare_sorts() -> None:
    """In the order of the root collation: punctuation, digits, letters without case; then small letters first."""
    expected = [
        "_a",
        "-a",
        "a",
        "A",
        "a b",
        "a_b",
        "a-b",
        "A-b",
        "a.b",
        "a/b",
        "a1",
        "a10",
        "a2",
        "ab",
        "b",
        "B",
        "SKILL.md",
    ]
    assert sort_as_skills_does(sorted(expected)) == expected
    assert sort_as_skills_does(expected[::-1]) == expected


def test_other_characters_do_not_matter_after_a_difference() -> None:
    assert sort_as_skills_does(["SKILL.md", "assets/é.png", "日本.md"][:2]) == ["assets/é.png", "SKILL.md"]


@pytest.mark.parametrize(
    "paths",
    [
        ["é", "f"],
        ["a/é", "a/e"],
        ["ab", "ac\u0327"],
        ["l\u00b7a", "m"],
        ["a\tb", "ab"],
        ["é", "E\u0301"],
        ["a\\b"],
        ["a", "a\udce9"],
    ],
)
def test_an_order_that_is_unknown_is_not_guessed(paths: list[str]) -> None:
    """An accent may belong to the letter before it, and some letters are one together."""
    with pytest.raises(NotComparableError):
        sort_as_skills_does(paths)


def test_the_hash_is_over_paths_and_bytes(tmp_path: Path) -> None:
    """Of regular files, in the order of their paths: not of links, nor below `.git` and `node_modules`."""
    for path in ("SKILL.md", "a.md", "B.md", "a/x", "sub/node_modules/y", ".git/z", ".hidden"):
        write_file(tmp_path / path, f"content of {path}")
    (tmp_path / "link").symlink_to("a.md")
    os.mkfifo(tmp_path / "fifo")
    digest = hashlib.sha256()
    for path in (".hidden", "a.md", "a/x", "B.md", "SKILL.md"):
        digest.update(f"{path}content of {path}".encode())
    assert computed_hash(str(tmp_path)) == digest.hexdigest()


def test_the_hash_of_names_in_an_unknown_order_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "é").write_text("")
    assert computed_hash(str(tmp_path)) == hashlib.sha256("é".encode()).hexdigest()
    (tmp_path / "f").write_text("")
    assert computed_hash(str(tmp_path)) is None


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


def write_noted(folder: Path, files: dict[str, tuple[bytes, int]], links: dict[str, bytes]) -> WrittenFiles:
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
    noted = write_noted(tmp_path, FILES, LINKS).notes()
    assert noted is not None
    assert noted == (read_tree(str(tmp_path)), computed_hash(str(tmp_path)))


def test_files_are_written_before_links() -> None:
    assert WrittenFiles(FILES, LINKS, ()).order[-2:] == ["latest", "scripts/up"]


@pytest.mark.parametrize("name", ["café.md", "cafe\u0301.md"])
def test_a_name_that_a_file_system_may_change_is_read_again(tmp_path: Path, name: str) -> None:
    assert write_noted(tmp_path, {**FILES, name: (b"", 0o644)}, {}).notes() is None


def test_files_that_were_not_all_written_are_read_again() -> None:
    written = WrittenFiles(FILES, LINKS, ())
    written.add_file("SKILL.md", b"", 0o644)
    assert written.notes() is None


def test_a_skill_that_is_too_large_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("prowess.lock._files.MAX_SKILL_FILES", 9)
    assert write_noted(tmp_path, FILES, {}).notes() is None
    monkeypatch.undo()
    monkeypatch.setattr("prowess.lock._files.MAX_DIGEST_BYTES", sum(len(data) for data, _ in FILES.values()) - 1)
    assert write_noted(tmp_path, FILES, {}).notes() is None
    monkeypatch.undo()
    assert write_noted(tmp_path, FILES, {}).notes() is not None


def test_files_that_differ_from_what_was_noted_are_not_installed(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store")).open() as opened:
        folder = tmp_path / "store/temporary/new/pdf"
        folder.mkdir(parents=True)
        noted = write_noted(folder, FILES, LINKS).notes()
        assert noted is not None
        (folder / "SKILL.md").write_bytes(b"changed meanwhile")
        stored = opened.add(str(folder), noted[0])
        (tmp_path / "project").mkdir()
        fd = os.open(tmp_path / "project", os.O_RDONLY)
        try:
            with pytest.raises(InstallError, match="was changed, and is removed"):
                opened.copy(stored.tree.digest, fd, "pdf")
        finally:
            os.close(fd)
