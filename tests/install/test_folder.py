"""Skills are fetched from folders of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prowess.errors import InstallError
from prowess.install import OpenStore, Store
from prowess.install.sources import Fetched, find_skills
from prowess.lock import read_tree
from support.files import write_file
from support.skills import skill as write_skill
from support.sources import fetch as fetch_from


def fetch(folder: Path, store: Path, **options: object) -> tuple[Fetched, dict[str, dict[str, bytes]]]:
    """Return what a folder gave, and the files of each skill."""
    with Store(str(store)).open() as opened:
        fetched = fetch_from(str(folder), opened, **options)
        files = {
            skill.name: {
                str(path.relative_to(skill.folder)): path.read_bytes() if path.is_file() else b""
                for path in sorted(Path(skill.folder).rglob("*"))
                if path.is_file() or not any(path.iterdir())
            }
            for skill in fetched.skills
        }
        for skill in fetched.skills:
            skill.put_into(opened)
        return fetched, files


def test_all_skills_below_a_folder_are_fetched_but_not_those_inside_of_others(tmp_path: Path) -> None:
    write_skill(tmp_path / "from/skills/pdf")
    write_skill(tmp_path / "from/skills/pdf/examples/inner")
    write_skill(tmp_path / "from/.claude/skills/csv")
    write_skill(tmp_path / "from/node_modules/x")
    fetched, _ = fetch(tmp_path / "from", tmp_path / "store")
    assert [(skill.name, skill.path) for skill in fetched.skills] == [
        ("csv", ".claude/skills/csv"),
        ("pdf", "skills/pdf"),
    ]


def test_a_folder_that_is_a_skill_is_one_skill_without_its_repository(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "pdf").parent
    write_file(skill / ".git/config", "x")
    (skill / "empty/inner").mkdir(parents=True)
    write_file(skill / "scripts/run.py", "print()")
    fetched, files = fetch(skill, tmp_path / "store")
    assert [(item.name, item.path) for item in fetched.skills] == [("pdf", "")]
    assert sorted(files["pdf"]) == ["SKILL.md", "scripts/run.py"]


def test_only_the_named_skills_are_copied_unless_none_is_there(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_skill(tmp_path / "from" / name)
    assert [skill.name for skill in fetch(tmp_path / "from", tmp_path / "s", only=("b",))[0].skills] == ["b"]
    assert len(fetch(tmp_path / "from", tmp_path / "s", only=("x",))[0].skills) == 3


def test_the_copy_has_the_digest_of_the_skill(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "pdf").parent
    (skill / "run").write_text("#!/bin/sh\n")
    (skill / "run").chmod(0o755)
    (skill / "link").symlink_to("run")
    expected = read_tree(str(skill)).digest
    with Store(str(tmp_path / "store")).open() as opened:
        [copied] = fetch_from(str(skill), opened).skills
        stored = copied.put_into(opened)
        assert stored.tree.digest == read_tree(stored.folder).digest == expected


@pytest.mark.parametrize("make", ["fifo", "link out"])
def test_what_no_skill_may_contain_is_refused(tmp_path: Path, make: str) -> None:
    skill = write_skill(tmp_path / "pdf").parent
    if make == "fifo":
        os.mkfifo(skill / "pipe")
    else:
        (skill / "out").symlink_to("/etc/passwd")
    with pytest.raises(InstallError):
        fetch(skill, tmp_path / "store")


def test_a_skill_that_is_not_wanted_does_no_harm(tmp_path: Path, opened: OpenStore) -> None:
    write_skill(tmp_path / "pdf")
    os.mkfifo(write_skill(tmp_path / "bad").parent / "pipe")
    skills = {skill.name: skill for skill in fetch_from(str(tmp_path), opened).skills}
    assert skills["pdf"].put_into(opened).tree.digest == read_tree(str(tmp_path / "pdf")).digest
    with pytest.raises(InstallError, match="bad`: `pipe` is not a file, folder or link"):
        skills["bad"].put_into(opened)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="does not exist"):
        fetch(tmp_path / "nothing", tmp_path / "store")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InstallError, match="is not a folder"):
        fetch(tmp_path / "file", tmp_path / "store")


def test_a_skill_without_a_name_has_that_of_its_folder(tmp_path: Path) -> None:
    write_file(tmp_path / "from/pdf/SKILL.md", "no front matter")
    assert find_skills(str(tmp_path / "from"))[0] == [("pdf", "pdf")]


def test_skills_at_known_places_are_not_searched(
    tmp_path: Path, opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock says where they are, in any folder, and leads nowhere else."""
    for name in ("from/skills/pdf", "from/skills/csv", "other/xls"):
        write_skill(tmp_path / name)
    (tmp_path / "from/link").symlink_to("../other")
    monkeypatch.setattr("prowess.install.sources._folder.find_skills", lambda _: pytest.fail("the folder is searched"))
    paths = ("skills/pdf", "link/xls", "../other/xls", str(tmp_path / "other/xls"), "gone")
    fetched = fetch_from(str(tmp_path / "from"), opened, paths=paths)
    assert [(skill.name, skill.path) for skill in fetched.skills] == [("pdf", "skills/pdf")]


@pytest.mark.parametrize(("name", "limit", "words"), [("MAX_SKILLS", 1, "1 skills"), ("_MAX_BYTES", 1 << 20, "1 MiB")])
def test_more_than_a_source_can_have_is_refused(
    name: str, limit: int, words: str, tmp_path: Path, opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        write_file(write_skill(tmp_path / f"from/s{number}").parent / "data.bin", bytes(600_000))
    monkeypatch.setattr(f"prowess.install.sources._folder.{name}", limit)
    with pytest.raises(InstallError, match=f"more than {words}"):
        fetch_from(str(tmp_path / "from"), opened)
