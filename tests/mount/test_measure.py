"""Measure a skill, and refuse files that cannot be mounted."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
from prowess.mount import SkillMount, mount
from support.mounting import (
    HOST,
    SMALLER_HINT,
    refused,
    replace_with_link,
    write_file,
)
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY_HINT = "remove it, or copy the skill without it: a client would run its hooks"
REMOVE_HINT, REPLACE_HINT = "remove it from the skill", "replace it with the file itself"


def make_device(path: Path, make: Callable[[], object]) -> None:
    """Make a device; or a socket if only an administrator may."""
    try:
        make()
    except PermissionError:
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(path.parent)
            one.bind(path.name)


def make_many(folder: Path, count: int, make: Callable[[str], object] = lambda path: Path(path).touch()) -> None:
    """Make many files or folders."""
    (folder / "many").mkdir()
    for number in range(count):
        make(f"{folder}/many/{number}")


def replace_with_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


BAD: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a link to a file": (
        lambda top: (top / "a").symlink_to("SKILL.md"),
        "SkillMountError: `a` is a link",
        REPLACE_HINT,
    ),
    "a link to a folder": (
        lambda top: (top / "scripts").symlink_to("../outside"),
        "SkillMountError: `scripts` is a link",
        REPLACE_HINT,
    ),
    "a link to an absolute path": (
        lambda top: (top / "a").symlink_to("/etc/passwd"),
        "SkillMountError: `a` is a link",
        REPLACE_HINT,
    ),
    "a link to itself": (lambda top: (top / "a").symlink_to("a"), "SkillMountError: `a` is a link", REPLACE_HINT),
    "a link to nothing": (lambda top: (top / "a").symlink_to("b"), "SkillMountError: `a` is a link", REPLACE_HINT),
    "a link further in": (
        lambda top: replace_with_link(top / "x/y/a", "../../.."),
        "SkillMountError: `x/y/a` is a link",
        REPLACE_HINT,
    ),
    "a FIFO": (lambda top: os.mkfifo(top / "a"), "SkillMountError: `a` is a FIFO", REMOVE_HINT),
    "a device": (
        lambda top: make_device(top / "a", lambda: os.mknod(top / "a", 0o600 | stat.S_IFCHR, os.makedev(1, 5))),
        "SkillMountError: `a` is a device" if os.geteuid() == 0 else "SkillMountError: `a` is a socket",
        REMOVE_HINT,
    ),
    "a set-uid file": (
        lambda top: write_file(top / "a", "").chmod(0o4755),
        "SkillMountError: `a` is set-uid or set-gid",
        "run `chmod ug-s` on `a`",
    ),
    "a set-gid file": (
        lambda top: write_file(top / "a", "").chmod(0o2755),
        "SkillMountError: `a` is set-uid or set-gid",
        "run `chmod ug-s` on `a`",
    ),
    "a hard link": (
        lambda top: os.link(write_file(top.parent / "secret", "key"), top / "a"),
        "SkillMountError: `a` is a hard link: it has 2 names",
        "copy the skill with `cp -R`: the copy has no hard links",
    ),
    "a sparse file of 11 GiB": (
        lambda top: os.truncate(write_file(top / "a", ""), 11 << 30),
        f"SkillMountError: the skill has {(11 << 30) + 53:,} bytes; the limit is 10 MiB",
        SMALLER_HINT,
    ),
    "a Markdown file of 1 MiB and a byte": (
        lambda top: os.truncate(write_file(top / "a.md", ""), MAX_SKILL_FILE_BYTES + 1),
        "SkillValidationError: `a.md` has 1,048,577 bytes; the limit for a Markdown file is 1 MiB",
        "split it into several files",
    ),
    "a SKILL.md of 1 MiB and a byte": (
        lambda top: os.truncate(top / "SKILL.md", MAX_SKILL_FILE_BYTES + 1),
        "SkillValidationError: `SKILL.md` has 1,048,577 bytes; the limit for a Markdown file is 1 MiB",
        "split it into several files",
    ),
    "5,001 files": (
        lambda top: make_many(top, 5001),
        "SkillMountError: the skill has more than 2,000 files",
        SMALLER_HINT,
    ),
    "2,001 files": (
        lambda top: make_many(top, 2000),
        "SkillMountError: the skill has more than 2,000 files",
        SMALLER_HINT,
    ),
    "2,001 folders": (
        lambda top: make_many(top, 2000, os.mkdir),
        "SkillMountError: the skill has more than 2,000 folders",
        SMALLER_HINT,
    ),
    "66 levels": (
        lambda top: (top / "/".join("d" * 65)).mkdir(parents=True),
        "SkillMountError: the skill has folders more than 64 levels deep",
        "use fewer levels",
    ),
    "a repository": (
        lambda top: write_file(top / ".git/hooks/post-checkout", "#!/bin/sh\n").chmod(0o755),
        "SkillMountError: `.git` is a repository",
        REPOSITORY_HINT,
    ),
    "a link to a repository": (
        lambda top: (top / ".git").symlink_to("../elsewhere"),
        "SkillMountError: `.git` is a repository",
        REPOSITORY_HINT,
    ),
    "a file that names a repository": (
        lambda top: write_file(top / "a/b/.git", "gitdir: ../../store\n"),
        "SkillMountError: `a/b/.git` is a repository",
        REPOSITORY_HINT,
    ),
    "a bare repository": (
        lambda top: [write_file(top / f"a/store/{path}", "x") for path in ("HEAD", "objects/x", "refs/x")],
        "SkillMountError: `a/store` is a bare git repository",
        REPOSITORY_HINT,
    ),
    "a skill that is a bare repository": (
        lambda top: [write_file(top / path, "x") for path in ("HEAD", "objects/x", "refs/x")],
        "SkillMountError: the skill folder is a bare git repository",
        REPOSITORY_HINT,
    ),
    "a folder of git that shares the objects of another": (
        lambda top: [write_file(top / f"a/{path}", "x") for path in ("HEAD", "commondir")],
        "SkillMountError: `a` is a bare git repository",
        REPOSITORY_HINT,
    ),
    "a SKILL.md that is a link": (
        lambda top: replace_with_link(top / "SKILL.md", "../x", top.parent / "x"),
        "SkillMountError: `SKILL.md` is a link",
        REPLACE_HINT,
    ),
    "a SKILL.md that is a FIFO": (
        lambda top: replace_with_fifo(top / "SKILL.md"),
        "SkillMountError: `SKILL.md` is a FIFO",
        REMOVE_HINT,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", BAD)
def test_files_that_cannot_be_mounted_are_refused_by_name(row: str, top: Path, home: Path) -> None:
    """With and without validation; and no home is created."""
    make, message, hint = BAD[row]
    text = "---\nname: pdf\ndescription: d\n---\n\nDo one good thing.\n"
    make(write_file(top / "pdf/SKILL.md", text).parent)
    kind, _, message = message.partition(": ")
    expected = [(kind, f"TOP/pdf: {message}", hint)]
    assert refused([SkillMount(top / "pdf")], home) == expected
    assert refused([SkillMount(top / "pdf")], home, validate_on_mount=False) == expected


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("Read.me", "read.me"), id="case"),
        pytest.param(("e\u0301", "\u00e9"), id="normalisation"),
        pytest.param(("STRASSE", "stra\u00dfe"), id="case of another length"),
    ],
)
def test_names_that_some_file_systems_do_not_distinguish_are_refused(
    names: tuple[str, str], top: Path, home: Path
) -> None:
    """On macOS and Windows one of the two files would overwrite the other."""
    skill(top / "pdf")
    for name in names:
        write_file(top / "pdf/sub" / name, name)
    if len(os.listdir(top / "pdf/sub")) < 2:
        pytest.skip("this disk takes them for one")
    ((kind, message, hint),) = refused([SkillMount(top / "pdf")], home)
    sides = [
        f"TOP/pdf: `sub/{one}` and `{other}` differ only in case or Unicode form" for one, other in (names, names[::-1])
    ]
    assert (kind, hint) == ("SkillMountError", "rename one of them")
    assert message in sides


@pytest.mark.slow
def test_a_skill_exactly_at_all_limits_is_mounted(top: Path, home: Path) -> None:
    """1 MiB of Markdown, 10 MiB in total, 2,000 files."""
    skill(top / "pdf")
    make_many(top / "pdf", 1997)
    os.truncate(write_file(top / "pdf/a.md", ""), MAX_SKILL_FILE_BYTES)
    rest = MAX_SKILL_TOTAL_BYTES - MAX_SKILL_FILE_BYTES - (top / "pdf/SKILL.md").stat().st_size
    os.truncate(write_file(top / "pdf/raw", ""), rest)
    (mounted,) = mount([SkillMount(top / "pdf")], home, host=HOST).skills
    assert (mounted.files, mounted.bytes) == (2000, MAX_SKILL_TOTAL_BYTES)
    os.truncate(top / "pdf/raw", rest + 1)
    assert refused([SkillMount(top / "pdf", "xls")], home) == [
        ("SkillMountError", "TOP/pdf: the skill has 10,485,761 bytes; the limit is 10 MiB", SMALLER_HINT)
    ]


def test_at_most_twenty_problems_of_a_skill_are_reported(top: Path, home: Path) -> None:
    folder = skill(top / "pdf").parent
    for number in range(30):
        (folder / f"l{number}").symlink_to("x")
    os.truncate(write_file(folder / "big", ""), 11 << 30)
    assert len(refused([SkillMount(folder)], home)) == 20
