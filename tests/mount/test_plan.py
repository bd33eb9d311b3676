"""Plan a mount: every problem is reported before anything is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess.errors import (
    SkillMountError,
    SkillNotFoundError,
)
from prowess.mount import SkillMount, mount, plan, unmount
from support.mounting import (
    DESCRIPTION_HINT,
    HOST,
    KEEP_HINT,
    MOVE_HINT,
    NAME_HINT,
    ROOT,
    refused,
    removed,
    replace_with_link,
    skill_text,
    varied_skill,
    write_file,
)
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


SOURCES: dict[str, tuple[Callable[[Path], object], tuple[str, str, str | None]]] = {
    "nothing": (
        lambda _: None,
        ("SkillNotFoundError", "no such file or folder: `TOP/pdf`", "check the path"),
    ),
    "a folder without SKILL.md": (
        lambda path: path.mkdir(),
        ("SkillValidationError", "`TOP/pdf` contains no SKILL.md", "give the folder that contains SKILL.md"),
    ),
    "a folder with skill.md": (
        lambda path: write_file(path / "skill.md", skill_text()),
        ("SkillValidationError", "`TOP/pdf` contains no SKILL.md", "rename `skill.md` to SKILL.md"),
    ),
    "a file that is not Markdown": (
        lambda path: write_file(path, skill_text()),
        (
            "SkillValidationError",
            "`TOP/pdf` is not a Markdown file",
            "give a skill folder, or a file that ends in `.md`",
        ),
    ),
    "a link to a skill": (
        lambda path: path.symlink_to(skill(path.parent / "real/pdf").parent),
        ("SkillMountError", "`TOP/pdf` is a link", "give its target instead: {top}/real/pdf"),
    ),
    "a link to nothing": (
        lambda path: path.symlink_to("nowhere"),
        (
            "SkillValidationError",
            "`TOP/pdf` is not a Markdown file",
            "give a skill folder, or a file that ends in `.md`",
        ),
    ),
}


@pytest.mark.parametrize("row", SOURCES)
def test_a_source_that_is_not_a_skill_is_refused(row: str, top: Path, home: Path) -> None:
    """With and without validation, and under any name."""
    make, expected = SOURCES[row]
    make(top / "pdf")
    expected = (*expected[:2], (expected[2] or "").format(top=top))
    for mounted in (SkillMount(top / "pdf"), SkillMount(top / "pdf", "other")):
        assert refused([mounted], home) == [expected]
        assert refused([mounted], home, validate_on_mount=False) == [expected]


def test_a_path_with_a_nul_character_is_not_found(home: Path) -> None:
    home.parent.mkdir(exist_ok=True)
    assert refused([SkillMount("a\0b")], home) == [
        ("SkillNotFoundError", f"no such file or folder: `{os.getcwd()}/a\\x00b`", "check the path")
    ]


def test_a_link_to_a_markdown_file_is_refused(top: Path, home: Path) -> None:
    write_file(top / "real.md", skill_text())
    (top / "pdf.md").symlink_to("real.md")
    assert refused([SkillMount(top / "pdf.md")], home) == [
        ("SkillMountError", "`TOP/pdf.md` is a link", f"give its target instead: {top}/real.md")
    ]


def test_the_path_to_a_skill_may_contain_links(top: Path, home: Path) -> None:
    """For a folder and for a single file."""
    write_file(top / "real/helper.md", skill(top / "real/pdf").read_text())
    (top / "way").symlink_to("real")
    mounted = mount([SkillMount(top / "way/pdf"), SkillMount(top / "way/helper.md")], home, host=HOST)
    assert [one.name for one in mounted.skills] == ["pdf", "helper"]


def test_two_skills_with_the_same_name_are_refused(top: Path, home: Path) -> None:
    """Wherever their names come from. A disabled skill does not count."""
    one, two = skill(top / "a/pdf").parent, skill(top / "b/pdf").parent
    expected = [
        (
            "SkillMountError",
            "TOP/b/pdf: two skills have the name `pdf`: the other is TOP/a/pdf",
            "give one of them another name",
        )
    ]
    assert refused([SkillMount(one), SkillMount(two)], home) == expected
    assert refused([SkillMount(one), SkillMount(two, "pdf")], home) == expected
    assert len(mount([SkillMount(one, enabled=False), SkillMount(two)], home, host=HOST).skills) == 1


def test_a_skill_is_not_copied_into_itself(top: Path) -> None:
    """Nor into a folder inside it, also if a link leads there."""
    folder = skill(top / "pdf").parent
    (top / "way").symlink_to("pdf")
    for place in (folder, folder / "deep", top / "way"):
        before = content(top)
        with pytest.raises(SkillMountError) as error:
            mount([SkillMount(folder)], place, host=HOST)
        assert str(error.value) == f"{folder}: `{place}/{ROOT}` is inside the skill `{folder}`"
        assert content(top) == before


def test_one_error_reports_all_problems_of_all_skills(top: Path, home: Path) -> None:
    """It has the type of the first problem. Nothing is mounted."""
    good = varied_skill(top / "good")
    write_file(top / "bad/SKILL.md", skill_text(name="bad", description=""))
    (top / "bad/a").symlink_to("b")
    os.mkfifo(top / "bad/c")
    hand = home / ROOT / "hand"
    skill(hand)
    skill(top / "hand")
    mounts = [
        SkillMount(good),
        SkillMount(top / "gone"),
        SkillMount(top / "bad"),
        SkillMount(good, "../x"),
        SkillMount(top / "hand"),
        SkillMount(good),
    ]
    before = content(top)
    with pytest.raises(SkillNotFoundError) as error:
        mount(mounts, home, host=HOST)
    lines = str(error.value).replace(str(top), "TOP").splitlines()
    assert lines[0] == "7 problems; nothing was mounted:"
    assert sorted(lines[1:]) == sorted(
        [
            "  no such file or folder: `TOP/gone` (check the path)",
            f"  TOP/bad/SKILL.md:1: missing `description` ({DESCRIPTION_HINT})",
            "  TOP/bad: `a` is a link (replace it with the file itself)",
            "  TOP/bad: `c` is a FIFO (remove it from the skill)",
            f"  TOP/good: `../x` is not a valid skill name ({NAME_HINT})",
            f"  TOP/hand: `TOP/home/{ROOT}/hand` already exists, and Prowess did not mount it ({MOVE_HINT})",
            "  TOP/good: two skills have the name `good`: the other is TOP/good (give one of them another name)",
        ]
    )
    assert len(error.value.problems) == 7
    assert content(top) == before


BY_HAND: dict[str, Callable[[Path], object]] = {
    "a skill": skill,
    "an empty folder": lambda path: path.mkdir(parents=True),
    "a file": lambda path: write_file(path, "x"),
    "a link": lambda path: replace_with_link(path, "/nowhere"),
}


@pytest.mark.parametrize("row", BY_HAND)
def test_a_target_that_prowess_did_not_mount_is_never_replaced(row: str, top: Path, home: Path) -> None:
    BY_HAND[row](home / ROOT / "pdf")
    message = f"TOP/pdf: `TOP/home/{ROOT}/pdf` already exists, and Prowess did not mount it"
    assert refused([SkillMount(skill(top / "pdf").parent)], home) == [("SkillMountError", message, MOVE_HINT)]


CHANGED: dict[str, Callable[[Path], object]] = {
    "a byte": lambda copy: write_file(copy / "SKILL.md", (copy / "SKILL.md").read_bytes() + b"\n"),
    "a file more": lambda copy: write_file(copy / "more.md", ""),
    "a file less": lambda copy: (copy / "references/a.md").unlink(),
    "a folder more": lambda copy: (copy / "new").mkdir(),
    "a permission": lambda copy: (copy / "references/a.md").chmod(0o600),
    "a link in it": lambda copy: (copy / "l").symlink_to("SKILL.md"),
    "a link that leads out": lambda copy: (copy / "l").symlink_to("/etc"),
    "another folder": lambda copy: skill(removed(copy)),
    "a link to what it was": lambda copy: replace_with_link(copy, "../away", copy.parent.parent / "away"),
    "a file in its place": lambda copy: write_file(removed(copy), ""),
}


@pytest.mark.parametrize("row", CHANGED)
def test_a_changed_copy_is_neither_replaced_nor_removed(row: str, top: Path, home: Path) -> None:
    """Its user may need the changes. Removing several skills then removes none."""
    mount([SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent)], home, host=HOST)
    CHANGED[row](home / ROOT / "pdf")
    message = f"`TOP/home/{ROOT}/pdf` has changed since it was mounted"
    mounts = [SkillMount(top / "pdf"), SkillMount(top / "ink")]
    assert refused(mounts, home) == [("SkillMountError", f"TOP/pdf: {message}", KEEP_HINT)]
    before = content(top)
    for names in (["ink", "pdf"], None):
        with pytest.raises(SkillMountError) as error:
            unmount(names, home, host=HOST)
        assert (str(error.value).replace(str(top), "TOP"), error.value.hint) == (message, KEEP_HINT)
    assert content(top) == before


def test_a_plan_changes_nothing(top: Path, home: Path) -> None:
    """Neither the skills nor the home."""
    mounts = [SkillMount(varied_skill(top / "pdf"), "ink")]
    before = content(top)
    planned = plan(mounts, home, host=HOST)
    assert content(top) == before
    assert (planned.home, planned.host, planned.root) == (str(home), HOST, ROOT)
    assert [(copy.name, copy.source, copy.renamed_from) for copy in planned.copies] == [
        ("ink", str(top / "pdf"), "pdf")
    ]
