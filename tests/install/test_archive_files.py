"""Skills in `.skill` and `.zip` files: which are read, and what is refused."""

from __future__ import annotations

import os
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.errors import ConfigError, InstallError
from prowess.install import is_archive_file, parse_destination, prepare_skill, skill_in, unpacked_archive
from prowess.install.archive import pack_skill, unpack
from prowess.install.sources.archive_file import pack_zip
from prowess.lock import read_tree
from support.files import write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "---\nname: pdf\ndescription: Fills forms. Use it for forms.\n---\nFill it.\n"


def archive(path: Path, files: dict[str, str]) -> str:
    """Write an archive of another program."""
    with zipfile.ZipFile(path, "w") as written:
        for name, text in files.items():
            written.writestr(name, text)
    return str(path)


@pytest.mark.parametrize(
    ("file", "name", "found"),
    [
        ("pdf.skill", "pdf/SKILL.md", "pdf"),
        ("other.ZIP", "pdf/SKILL.md", "pdf"),
        ("other.zip", "SKILL.md", "pdf"),
        (".skill", "SKILL.md", "pdf"),
        ("a b.skill", "deep/er/pdf/SKILL.md", "pdf"),
    ],
)
def test_the_only_skill_of_an_archive_is_found(file: str, name: str, found: str, tmp_path: Path) -> None:
    """Its folder has the name of the skill, also if its files are at the top of the archive."""
    path = archive(tmp_path / file, {name: TEXT, name.replace("SKILL.md", "notes.md"): "x"})
    with unpacked_archive(path) as folder:
        inside = skill_in(folder, path)
        assert os.path.basename(inside) == found
        assert sorted(os.listdir(inside)) == ["SKILL.md", "notes.md"]
    assert not os.path.exists(folder)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "contains no SKILL.md"),
        ({"a/notes.md": "x"}, "contains no SKILL.md"),
        ({"a/SKILL.md": TEXT, "b/SKILL.md": TEXT.replace("pdf", "csv")}, "contains 2 skills: `pdf`, `csv`"),
        ({"../SKILL.md": TEXT}, "is not a path inside the skill"),
        ({"/a/SKILL.md": TEXT}, "is an absolute path"),
        ({"a/SKILL.md": TEXT, "A/skill.MD": TEXT}, "are one name on other systems"),
    ],
)
def test_other_archives_are_refused(files: dict[str, str], problem: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.skill", files)
    with pytest.raises(InstallError, match=problem), unpacked_archive(path) as folder:
        skill_in(folder, path)


@pytest.mark.parametrize("data", [b"", b"PK", b"x" * 1000, b"PK\5\6" + bytes(30), TEXT.encode()])
def test_other_data_is_one_error(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_file(tmp_path / "a.skill", data)
    for command in (["check"], ["show"], ["publish"], ["add"]):
        more = [str(tmp_path / "b.skill")] if command == ["publish"] else ["--yes"] if command == ["add"] else []
        assert main([*command, str(path), *more]) in (1, 2)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert "archive" in err or "no skill" in err or "empty" in err


def test_a_result_says_nothing_of_where_the_archive_was_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = archive(tmp_path / "bad.skill", {"BAD/SKILL.md": "---\nname: BAD\n---\nFill it.\n"})
    for more in ([], ["--json"], ["--format", "gitlab"]):
        main(["check", path, *more])
        out, err = capsys.readouterr()
        assert "BAD" in out
        assert "prowess-archive" not in out + err


def test_only_files_are_archives(tmp_path: Path) -> None:
    (tmp_path / "folder.skill").mkdir()
    os.mkfifo(tmp_path / "fifo.zip")
    for name in ("folder.skill", "fifo.zip", "missing.skill", "a\0.zip"):
        assert not is_archive_file(f"{tmp_path}/{name}")


def test_a_folder_that_is_called_like_an_archive_is_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skill(tmp_path / "pdf.skill", name="pdf.skill")
    assert main(["check", str(tmp_path / "pdf.skill"), "--host", "codex"]) == 0
    assert "1 skill checked" in capsys.readouterr().err


def test_a_link_to_a_skill_of_an_archive_leads_to_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive(tmp_path / "pdf.skill", {"pdf/SKILL.md": TEXT})
    (tmp_path / "project/.git").mkdir(parents=True)
    place = ["--cwd", str(tmp_path / "project"), "--home", str(tmp_path / "home")]
    (tmp_path / "home/.codex").mkdir(parents=True)
    assert main(["add", str(tmp_path / "pdf.skill"), "--link", "--yes", *place]) == 0
    capsys.readouterr()
    link = tmp_path / "project/.agents/skills/pdf"
    assert link.is_symlink()
    assert (link / "SKILL.md").read_text() == TEXT


def test_the_archive_that_is_written_has_the_files_of_the_skill(tmp_path: Path) -> None:
    """Each once, sorted, and with the right to execute alone."""
    folder = tmp_path / "pdf"
    skill(folder)
    write_file(folder / "scripts/run.sh", "#!/bin/sh\n").chmod(0o700)
    write_file(folder / "a b/\u00e9.md", "x" * 5000)
    packed, tree = pack_skill(str(folder), "pdf")
    data = pack_zip(packed)
    with zipfile.ZipFile(BytesIO(data)) as read:
        assert read.namelist() == ["pdf/SKILL.md", "pdf/a b/\u00e9.md", "pdf/scripts/run.sh"]
        assert [info.external_attr >> 16 for info in read.infolist()] == [0o100644, 0o100644, 0o100755]
        assert {info.date_time for info in read.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    (tmp_path / "out").mkdir()
    unpack(BytesIO(data), "zip", str(tmp_path / "out"))
    assert read_tree(str(tmp_path / "out/pdf")) == tree
    assert pack_zip(pack_skill(str(tmp_path / "out/pdf"), "pdf")[0]) == data
    assert prepare_skill(str(folder)).original == b""


@pytest.mark.parametrize("text", ["pdf.tar.gz", "./pdf", "pdf", "https://example.org/pdf.skill", "./pdf.skill.md"])
def test_other_paths_are_no_destination(text: str) -> None:
    with pytest.raises(ConfigError, match="nothing can be published"):
        parse_destination(text)
