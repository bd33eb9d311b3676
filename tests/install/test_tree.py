from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import check_paths, read_tree

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_tree_has_the_modes_of_git_and_a_digest_of_sorted_lines(tmp_path: Path) -> None:
    folder = write(tmp_path, {"scripts/run.sh": "run", "SKILL.md": "body"})
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
    write(tmp_path / "a", {"SKILL.md": "body"})
    write(tmp_path / "b", {"SKILL.md": "body"})
    (tmp_path / "b/SKILL.md").chmod(mode)
    (tmp_path / "b/empty").mkdir(0o700)
    assert read_tree(str(tmp_path / "a")).digest == read_tree(str(tmp_path / "b")).digest


def test_the_digest_shows_what_can_be_executed(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": "body"})
    before = read_tree(str(tmp_path)).digest
    (tmp_path / "SKILL.md").chmod(0o755)
    assert read_tree(str(tmp_path)).digest != before


def test_a_tree_has_no_device_and_no_link_that_leads_out(tmp_path: Path) -> None:
    write(tmp_path, {"SKILL.md": "body"})
    (tmp_path / "out").symlink_to("../elsewhere")
    with pytest.raises(InstallError, match="`out` leads out of the skill"):
        read_tree(str(tmp_path))
    (tmp_path / "out").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InstallError, match="`pipe` is not a file"):
        read_tree(str(tmp_path))


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
        (["docs/nul.txt"], "reads as something else"),
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
