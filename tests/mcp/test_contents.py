"""What the folders of skills contain: never what they contained before, whether they are watched or compared."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from prowess._internal.files import skill_files
from prowess._internal.inotify import Inotify
from prowess.cache import KeptTable
from prowess.mcp._contents import ContentWatcher, SkillContents, read_content
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Operation = Callable[[Path], object]

NAMES = ("one", "two", "three")


@pytest.fixture(autouse=True)
def old_files() -> Iterator[None]:
    """Let files count as old when they are read, so that they need not be read again."""
    with patch("prowess.mcp._contents.SETTLE_NS", 0):
        yield


@pytest.fixture
def skills(tmp_path: Path) -> list[tuple[str, str]]:
    for name in NAMES:
        folder = skill(tmp_path / "above/skills" / name).parent
        (folder / "a/b").mkdir(parents=True)
        (folder / "a/b/deep.txt").write_text("1")
        (folder / "top.txt").write_text("1")
    return [(name, str(tmp_path / "above/skills" / name)) for name in NAMES]


def watched(skills: list[tuple[str, str]]) -> SkillContents:
    """Return contents whose folders are all watched; skip the test if the system cannot do that."""
    try:
        inotify = Inotify()
    except OSError:
        pytest.skip("no inotify")
    is_local = inotify.is_local(skills[0][1])
    inotify.close()
    if not is_local:
        pytest.skip("the temporary folder is not local")
    contents = SkillContents()
    settle(contents, skills)
    return contents


def settle(contents: SkillContents, skills: list[tuple[str, str]]) -> None:
    """Watch all folders again that have changed."""
    contents.current(skills)
    contents.watch([folder for _, folder in skills])
    assert all(content.watches for content in contents.current(skills))


def entries(contents: SkillContents, skills: list[tuple[str, str]]) -> list[tuple[bytes, str]]:
    return [(bytes(content.entry), content.problem) for content in contents.current(skills)]


def read_now(skills: list[tuple[str, str]]) -> list[tuple[bytes, str]]:
    return entries(SkillContents(), skills)


def replace_by_link(folder: Path) -> None:
    shutil.rmtree(folder / "a")
    (folder / "a").symlink_to("/etc")


def swap_folders(folder: Path) -> None:
    """The same paths lead to other files now, but no file or folder below has changed."""
    above = folder.parent.parent
    shutil.copytree(above, above.parent / "other", symlinks=True)
    (above.parent / "other/skills" / folder.name / "a/b/deep.txt").write_text("swapped")
    above.rename(above.parent / "old")
    (above.parent / "other").rename(above)


def write_with_old_time(folder: Path) -> None:
    file = folder / "a/b/deep.txt"
    status = file.stat()
    file.write_text("2")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def write_through_other_name(folder: Path) -> None:
    os.link(folder / "a/b/deep.txt", folder.parent.parent / "other name")
    (folder.parent.parent / "other name").write_text("2")


OPERATIONS: dict[str, Operation] = {
    "a file deep inside is written": lambda folder: (folder / "a/b/deep.txt").write_text("2"),
    "with its old time": write_with_old_time,
    "through another name": write_through_other_name,
    "a file is added": lambda folder: (folder / "a/b/new.txt").write_text("2"),
    "a file is removed": lambda folder: (folder / "a/b/deep.txt").unlink(),
    "a file is renamed": lambda folder: (folder / "a/b/deep.txt").rename(folder / "a/other.txt"),
    "a file is replaced": lambda folder: (folder / "top.txt").replace(folder / "a/b/deep.txt"),
    "a folder is added": lambda folder: shutil.copytree(folder / "a/b", folder / "c"),
    "a folder is renamed": lambda folder: (folder / "a/b").rename(folder / "c"),
    "a folder is replaced by a link": replace_by_link,
    "the skill has another name": lambda folder: skill(folder, name="renamed"),
    "the skill is removed": shutil.rmtree,
    "the folder above is another one": swap_folders,
}


@pytest.mark.parametrize("change", OPERATIONS)
def test_a_change_is_seen_at_once(skills: list[tuple[str, str]], tmp_path: Path, change: str) -> None:
    """By its event: nothing is compared."""
    contents = watched(skills)
    before = entries(contents, skills)
    with patch("prowess.mcp._contents.fingerprint_paths", side_effect=OSError):
        assert entries(contents, skills) == before
    OPERATIONS[change](tmp_path / "above/skills/two")
    assert entries(contents, skills) == read_now(skills) != before


def test_changes_while_folders_are_watched_again_are_seen(skills: list[tuple[str, str]], tmp_path: Path) -> None:
    """Hundreds in a row, each followed by a request."""
    contents, chosen = watched(skills), random.Random(19)  # noqa: S311 - not a secret
    changes = [change for name, change in OPERATIONS.items() if "above" not in name and "the skill is" not in name]
    for number in range(150):
        folder = tmp_path / "above/skills" / chosen.choice(NAMES)
        with suppress(OSError):
            chosen.choice(changes)(folder)
        if number % 5 == 0:
            shutil.rmtree(folder)
            (skill(folder).parent / "a/b").mkdir(parents=True)
            (folder / "a/b/deep.txt").write_text(str(number))
            (folder / "top.txt").write_text(str(number))
        if chosen.random() < 0.5:
            contents.watch([path for _, path in skills])
        if chosen.random() < 0.7:
            assert entries(contents, skills) == read_now(skills)


def test_a_folder_replaced_between_listing_and_reading_is_read_again(
    skills: list[tuple[str, str]], tmp_path: Path
) -> None:
    """As a deployment does that renames the folder above: all fingerprints are those of the new files."""
    above = tmp_path / "above"
    shutil.copytree(above, tmp_path / "new")
    (tmp_path / "new/skills/two/added.txt").write_text("2")

    def list_and_replace(folder: str, *, folders: list[str]) -> list[tuple[str, int]]:
        found = skill_files(folder, folders=folders)
        if folder.endswith("two") and (tmp_path / "new").exists():
            above.rename(tmp_path / "old")
            (tmp_path / "new").rename(above)
        return found

    contents = SkillContents()
    with patch("prowess.mcp._contents.skill_files", list_and_replace):
        contents.current(skills)
    assert entries(contents, skills) == read_now(skills)
    assert b"added.txt" in entries(contents, skills)[1][0]


def test_a_folder_renamed_while_those_above_are_watched_is_seen(skills: list[tuple[str, str]], tmp_path: Path) -> None:
    """The watches of a path are all on one path, or the rename shows in one of them."""
    shutil.copytree(tmp_path / "above/skills", tmp_path / "new/skills", symlinks=True)
    shutil.copytree(tmp_path / "above/skills", tmp_path / "third", symlinks=True)
    (tmp_path / "third/two/a/b/deep.txt").write_text("third")
    contents = watched(skills)  # or skip
    contents = SkillContents()
    watch, above = Inotify.watch, tmp_path / "above"

    def watch_and_rename(inotify: Inotify, path: str, *args: Any) -> int:
        number = watch(inotify, path, *args)
        if path == str(above / "skills") and (tmp_path / "new").exists():
            above.rename(tmp_path / "old")
            (tmp_path / "new").rename(above)
        return number

    contents.current(skills)
    with patch.object(Inotify, "watch", watch_and_rename):
        contents.watch([folder for _, folder in skills])
    settle(contents, skills)
    (above / "skills").rename(tmp_path / "fourth")
    (tmp_path / "third").rename(above / "skills")
    assert entries(contents, skills) == read_now(skills)


def test_more_changes_than_the_queue_holds_are_seen(skills: list[tuple[str, str]], tmp_path: Path) -> None:
    """All is compared then."""
    contents = watched(skills)
    folder = tmp_path / "above/skills/one"
    for number in range(20_000):
        os.utime(folder / ("top.txt" if number % 2 else "SKILL.md"))
    (tmp_path / "above/skills/two/a/b/deep.txt").write_text("after")
    assert entries(contents, skills) == read_now(skills)
    settle(contents, skills)


@pytest.mark.parametrize("most", [0, 20])
def test_what_cannot_be_watched_is_compared(skills: list[tuple[str, str]], tmp_path: Path, most: int) -> None:
    """As many skills are watched as there may be watches."""
    contents = SkillContents(watcher=ContentWatcher(most))
    contents.current(skills)
    contents.watch([folder for _, folder in skills])
    assert sum(bool(content.watches) for content in contents.current(skills)) <= most // 6
    for name in NAMES:
        with patch("prowess.mcp._contents.SETTLE_NS", 2_000_000_000):
            (tmp_path / "above/skills" / name / "a/b/deep.txt").write_text("2")
            assert entries(contents, skills) == read_now(skills)


def test_a_file_that_changed_a_moment_ago_is_read_again(skills: list[tuple[str, str]]) -> None:
    """Its next change may leave the status that it has."""
    contents = SkillContents()
    with patch("prowess.mcp._contents.SETTLE_NS", 2_000_000_000):
        contents.current(skills)
    contents.watch([folder for _, folder in skills])
    with patch("prowess.mcp._contents.read_content", side_effect=read_content) as read:
        contents.current(skills)
    assert read.call_count == len(skills)


def test_a_skill_that_gets_another_path_has_other_uris(skills: list[tuple[str, str]]) -> None:
    """As when a skill of the same name appears before it."""
    contents = watched(skills)
    moved = [(f"2/{top}", folder) for top, folder in skills]
    assert entries(contents, moved) == read_now(moved) != read_now(skills)


def test_a_folder_of_two_skills_is_watched_for_both(tmp_path: Path) -> None:
    """A skill inside another one."""
    outer = skill(tmp_path / "outer").parent
    inner = skill(outer / "inner").parent
    both = [("outer", str(outer)), ("outer/inner", str(inner))]
    contents = watched(both)
    for number in range(3):
        (inner / f"{number}.txt").write_text("1")
        assert entries(contents, both) == read_now(both)
        settle(contents, both)
    shutil.rmtree(inner)
    assert entries(contents, both) == read_now(both)


# ── on disk ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def table(tmp_path: Path) -> KeptTable:
    return KeptTable(("test",), {"PROWESS_CACHE_DIR": str(tmp_path / "cache")})


def store(table: KeptTable, skills: list[tuple[str, str]]) -> list[tuple[bytes, str]]:
    contents = SkillContents(table)
    found = entries(contents, skills)
    contents.store([folder for _, folder in skills])
    return found


def test_a_start_with_a_cache_reads_no_file(skills: list[tuple[str, str]], table: KeptTable) -> None:
    """Digests and front matters come from the disk."""
    before = store(table, skills)
    with patch("prowess.mcp._contents.read_content", side_effect=AssertionError):
        assert entries(SkillContents(table), skills) == before


@pytest.mark.parametrize("change", OPERATIONS)
def test_the_disk_wins_over_the_cache(
    skills: list[tuple[str, str]], table: KeptTable, tmp_path: Path, change: str
) -> None:
    """Only the folder in which something has changed is read again."""
    with patch("prowess.mcp._contents.SETTLE_NS", -1_000_000_000):
        before = store(table, skills)
        OPERATIONS[change](tmp_path / "above/skills/two")
        os.utime(tmp_path / "above/skills/one/SKILL.md")
        assert entries(SkillContents(table), skills) == read_now(skills) != before


def test_a_damaged_cache_is_no_cache(skills: list[tuple[str, str]], table: KeptTable, tmp_path: Path) -> None:
    """Whatever byte it is, and wherever the file ends."""
    expected = store(table, skills)
    (file,) = (tmp_path / "cache").iterdir()
    whole, chosen = file.read_bytes(), random.Random(20)  # noqa: S311 - not a secret
    for number in range(60):
        at = chosen.randrange(len(whole))
        damaged = whole[:at] + (bytes([whole[at] ^ (1 << number % 8)]) + whole[at + 1 :] if number % 3 else b"")
        file.write_bytes(damaged)
        assert SkillContents(table).known(skills[0][1]) is None
    assert entries(SkillContents(table), skills) == expected


def test_a_skill_that_cannot_be_listed_is_kept_with_its_reason(tmp_path: Path, table: KeptTable) -> None:
    """Its fields are not read again for each request."""
    folder = skill(tmp_path / "odd", more="license: [MIT]\n").parent
    expected = store(table, [("odd", str(folder))])
    assert "`license` is not text" in expected[0][1]
    with patch("prowess.mcp._contents.read_content", side_effect=AssertionError):
        assert entries(SkillContents(table), [("odd", str(folder))]) == expected


def test_no_cache_is_written_without_one(skills: list[tuple[str, str]], tmp_path: Path) -> None:
    """`PROWESS_NO_CACHE` wins over a folder."""
    off = KeptTable(("test",), {"PROWESS_CACHE_DIR": str(tmp_path / "cache"), "PROWESS_NO_CACHE": "1"})
    store(off, skills)
    assert not (tmp_path / "cache").exists()
