"""Mounting: everything of WINK's `SKILLS.md`, and whatever is in the way is refused by name before anything is done."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from endurance import content
from prowess._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES, skill_digest
from prowess.catalog import discover
from prowess.errors import (
    ConfigError,
    HostNotFoundError,
    SkillError,
    SkillMountError,
    SkillNotFoundError,
    SkillValidationError,
)
from prowess.hosts import host_names, load_host
from prowess.mount import (
    SkillConfig,
    SkillMount,
    apply,
    mount,
    plan,
    resolve_skill_name,
    skills_root,
    unmount,
)
from prowess.mount._validate import validate_skill, validate_skill_name
from prowess.skill import from_document
from prowess.skill._fix import change_name
from prowess.skill._frontmatter import parse_frontmatter
from prowess.skill._integrity import integrity_digest
from support import strategies
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "claude-code"
ROOT = ".claude/skills"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder whose path has no links."""
    return tmp_path.resolve()


@pytest.fixture
def home(top: Path) -> Path:
    """A home that is not there yet."""
    return top / "home"


def put(path: Path, text: str | bytes) -> Path:
    """Write a file, and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rich(folder: Path) -> Path:
    """Write a skill with scripts, an empty folder and bytes that are no text."""
    skill(folder)
    put(folder / "scripts/run.sh", "#!/bin/sh\n").chmod(0o775)
    put(folder / "references/a.md", "a").chmod(0o666)
    put(folder / "assets/raw.bin", bytes(range(256)) * 40).chmod(0o640)
    (folder / "assets/empty").mkdir()
    (folder / "assets/empty").chmod(0o777)
    return folder


def refused(mounts: list[SkillMount], home: Path, **more: Any) -> list[tuple[str, str, str | None]]:
    """Return all that is wrong, each as class, message and hint; see that nothing was done."""
    before = content(home.parent)
    with pytest.raises(SkillError) as error:
        mount(SkillConfig(tuple(mounts), **more), home, host=HOST)
    assert content(home.parent) == before
    assert type(error.value) is type(error.value.problems[0])
    top = str(home.parent)
    return [(type(one).__name__, str(one).replace(top, "TOP"), one.hint) for one in error.value.problems]


# ── the seed: names ──────────────────────────────────────────────────────────────────────────────────────────────────

RESOLVED: dict[str, tuple[str, str | None, str]] = {
    "a name of its own": ("skills/review-v2", "code-review", "code-review"),
    "a folder": ("skills/code-review", None, "code-review"),
    "a folder with a dot": ("skills/v1.md", None, "v1.md"),
    "a folder and a slash": ("skills/code-review/", None, "code-review"),
    "a folder as one is in it": ("skills/code-review/.", None, "code-review"),
    "a file": ("my-skill.md", None, "my-skill"),
    "a file in capitals": ("MY-SKILL.MD", None, "MY-SKILL"),
    "a file that is not Markdown": ("notes.txt", None, "notes.txt"),
    "a SKILL.md": ("skills/code-review/SKILL.md", None, "code-review"),
    "what is not there": ("nowhere/thing", None, "thing"),
    "an empty name": ("skills/code-review", "", ""),
}


@pytest.mark.parametrize("row", RESOLVED)
def test_a_skill_is_called_by_its_own_name_or_that_of_its_folder_or_file(
    row: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order, by absolute and by relative path, and nothing is validated."""
    for folder in ("review-v2", "code-review", "v1.md"):
        skill(top / "skills" / folder)
    source, name, expected = RESOLVED[row]
    monkeypatch.chdir(top)
    assert resolve_skill_name(SkillMount(source, name)) == expected
    assert resolve_skill_name(SkillMount(f"{top}/{source}", name)) == expected
    assert resolve_skill_name(SkillMount(top / source, name)) == expected


@pytest.mark.parametrize("name", ["pdf-processing", "data-analysis", "code-review", "skill2", "a", "7", "a" * 64])
def test_names_of_the_specification_are_taken(name: str) -> None:
    """Its own examples, and both ends of the length."""
    validate_skill_name(name)


NAME_HINT = "use lower case letters, digits and single hyphens between them"
NO_NAMES: dict[str, tuple[Any, str]] = {
    "upper case": ("PDF-Processing", "`PDF-Processing` is not a valid skill name"),
    "a hyphen first": ("-pdf", "`-pdf` is not a valid skill name"),
    "a hyphen last": ("pdf-", "`pdf-` is not a valid skill name"),
    "two hyphens": ("pdf--process", "`pdf--process` is not a valid skill name"),
    "an underscore": ("skill_v2", "`skill_v2` is not a valid skill name"),
    "a newline": ("foo\n", "`foo\\x0a` is not a valid skill name"),
    "a NUL": ("a\0b", "`a\\x00b` is not a valid skill name"),
    "a way up": ("../x", "`../x` is not a valid skill name"),
    "two dots": ("..", "`..` is not a valid skill name"),
    "one dot": (".", "`.` is not a valid skill name"),
    "a slash": ("a/b", "`a/b` is not a valid skill name"),
    "a backslash": ("a\\b", "`a\\b` is not a valid skill name"),
    "an absolute path": ("/etc", "`/etc` is not a valid skill name"),
    "another alphabet": ("é", "`é` is not a valid skill name"),
    "digits of another alphabet": ("٣", "`٣` is not a valid skill name"),
    "a blank": ("a b", "`a b` is not a valid skill name"),
    "nothing": ("", "the skill name is empty"),
    "no text": (5, "a skill name must be a string, not int"),
    "65 letters": ("b" * 65, f"the name `{'b' * 59}…` has 65 characters; at most 64 are allowed"),
}


@pytest.mark.parametrize("row", NO_NAMES)
def test_what_is_no_name_is_refused_and_leads_nowhere(row: str, top: Path, home: Path) -> None:
    """By the function that asks, and by a mount, whether it is said or follows from a path."""
    name, words = NO_NAMES[row]
    hints = {"no text": "pass a string", "65 letters": "shorten it"}
    hint = hints.get(row, NAME_HINT)
    with pytest.raises(SkillMountError) as error:
        validate_skill_name(name)
    assert (str(error.value), error.value.hint) == (words, hint)
    put(top / "pdf.md", skill(top / "pdf").read_text())
    for source in ("pdf", "pdf.md"):
        expected = [("SkillMountError", f"TOP/{source}: {words}", hint)]
        assert refused([SkillMount(top / source, name)], home) == expected
        assert refused([SkillMount(top / source, name)], home, validate_on_mount=False) == expected


def test_a_name_that_follows_from_a_path_is_held_to_the_same(top: Path, home: Path) -> None:
    """Whether a folder or a file gave it."""
    put(top / "My_Notes.md", skill(top / "pdf").read_text())
    assert refused([SkillMount(top / "My_Notes.md")], home) == [
        (
            "SkillMountError",
            "TOP/My_Notes.md: `My_Notes` is not a valid skill name",
            NAME_HINT,
        )
    ]


# ── the seed: its table of errors ────────────────────────────────────────────────────────────────────────────────────


def fields(**given: str) -> str:
    """Write a SKILL.md with a name and a description, and what else is given, or without what is given as nothing."""
    lines = [f"{key}: {value}" for key, value in ({"name": "pdf", "description": "d"} | given).items() if value]
    return "\n".join(["---", *lines, "---", "", "Do it.", ""]).replace("allowed_tools", "allowed-tools")


SAY = "add `description:` and say what the skill does and when to use it"
INVALID: dict[str, tuple[str, str, str]] = {
    "no front matter": (
        "# PDF\n",
        "1: the file does not begin with a `---` line",
        "begin with `---`, then `name:` and `description:`, then `---`",
    ),
    "front matter that does not end": (
        "---\nname: pdf\ndescription: d\n",
        "1: no `---` line closes the front matter",
        "put a line that is exactly `---` after the last field",
    ),
    "invalid YAML": (
        fields(description='"d'),
        "3: the front matter is not valid YAML: found unexpected end of stream while scanning a quoted scalar",
        "close every quote and bracket, or put the whole value in quotes",
    ),
    "no name": (fields(name=""), "1: missing `name`", "add `name: pdf`"),
    "no description": (
        fields(description=""),
        "1: missing `description`",
        SAY,
    ),
    "a name that is a list": (fields(name="[pdf]"), "2: the name is a list, not text", "write `name: pdf`"),
    "a description that is a map": (
        fields(description="{a: b}"),
        "3: the description is a map, not text",
        "write it as one text",
    ),
    "an empty description": (
        fields(description='""'),
        "3: the description is empty",
        "say what the skill does and when to use it",
    ),
    "a description too long": (
        fields(description="d" * 1025),
        "3: the description has 1,025 characters; at most 1,024 are allowed",
        "shorten it; move details into the body",
    ),
    "compatibility too long": (
        fields(compatibility="c" * 501),
        "4: the compatibility note has 501 characters; at most 500 are allowed",
        "shorten it",
    ),
    "metadata that is text": (
        fields(metadata="x"),
        "4: the metadata is text, not a map",
        "write `key: value` lines below it",
    ),
    "metadata within metadata": (
        fields(metadata="{a: {b: c}}"),
        "4: the metadata value `a` is a map, not text",
        "write it as one text",
    ),
    "a licence that is a list": (
        fields(license="[MIT]"),
        "4: the licence is a list, not text",
        "write its SPDX name",
    ),
    "allowed tools that are a map": (
        fields(allowed_tools="{a: b}"),
        "4: `allowed-tools` is a map, not one line of text",
        "write `allowed-tools: Read Grep Bash(git:*)` on one line",
    ),
    "another name than the folder's": (
        fields(name="xls"),
        "2: the name `xls` differs from the folder name `pdf`",
        "rename the folder, or write `name: pdf`",
    ),
}


@pytest.mark.parametrize("row", INVALID)
def test_a_skill_that_breaks_a_rule_is_refused_where_it_does(row: str, top: Path, home: Path) -> None:
    """WINK's "Validation errors": by file and line, with what to do, and not if validation is switched off."""
    text, words, hint = INVALID[row]
    file = put(top / "pdf/SKILL.md", text)
    with pytest.raises(SkillValidationError) as error:
        validate_skill(top / "pdf")
    assert (str(error.value), error.value.hint) == (f"{file}:{words}", hint)
    assert [f"{item.line}: {item.message}" for item in error.value.findings] == [words]
    assert refused([SkillMount(top / "pdf")], home) == [("SkillValidationError", f"TOP/pdf/SKILL.md:{words}", hint)]
    (done,) = mount(SkillConfig((SkillMount(top / "pdf"),), validate_on_mount=False), home, host=HOST).skills
    assert done.digest == skill_digest(done.destination)


def test_a_file_skill_may_be_called_as_it_likes(top: Path, home: Path) -> None:
    """But the copy is called what its folder is."""
    put(top / "helper.md", fields(name="something-else"))
    validate_skill(top / "helper.md")
    (done,) = mount([SkillMount(top / "helper.md")], home, host=HOST).skills
    assert (done.name, done.renamed_from) == ("helper", "something-else")
    assert (home / ROOT / "helper/SKILL.md").read_text() == fields(name="helper")


def test_fields_beyond_the_specification_are_let_through(top: Path, home: Path) -> None:
    """What a client adds of its own is no fault of the skill."""
    put(top / "pdf/SKILL.md", fields(model="opus", context="fork"))
    validate_skill(top / "pdf")
    mount([SkillMount(top / "pdf")], home, host=HOST)
    assert (home / ROOT / "pdf/SKILL.md").read_text() == fields(model="opus", context="fork")


# ── bad input: whatever a folder may hold ────────────────────────────────────────────────────────────────────────────

REMOVE, INSIDE = "remove it from the skill", "replace it with the file itself"
LESS = "remove files that the skill does not need"


def special(path: Path, make: Callable[[], object]) -> None:
    """Make what only an administrator may, or a socket in its stead."""
    try:
        make()
    except PermissionError:
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(path.parent)
            one.bind(path.name)


def files(folder: Path, count: int, make: Callable[[str], object] = lambda path: Path(path).touch()) -> None:
    (folder / "many").mkdir()
    for number in range(count):
        make(f"{folder}/many/{number}")


def link(path: Path, target: str, away: Path | None = None) -> None:
    """Put a link in the place of what is there, which is moved away or removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if away is not None:
        path.rename(away)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder)
    return folder


BAD: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a link to a file": (
        lambda top: (top / "a").symlink_to("SKILL.md"),
        "SkillMountError: `a` is a link",
        INSIDE,
    ),
    "a link to a folder": (
        lambda top: (top / "scripts").symlink_to("../outside"),
        "SkillMountError: `scripts` is a link",
        INSIDE,
    ),
    "a link to an absolute path": (
        lambda top: (top / "a").symlink_to("/etc/passwd"),
        "SkillMountError: `a` is a link",
        INSIDE,
    ),
    "a link to itself": (lambda top: (top / "a").symlink_to("a"), "SkillMountError: `a` is a link", INSIDE),
    "a link to nothing": (lambda top: (top / "a").symlink_to("b"), "SkillMountError: `a` is a link", INSIDE),
    "a link further in": (
        lambda top: link(top / "x/y/a", "../../.."),
        "SkillMountError: `x/y/a` is a link",
        INSIDE,
    ),
    "a FIFO": (lambda top: os.mkfifo(top / "a"), "SkillMountError: `a` is a FIFO", REMOVE),
    "a device": (
        lambda top: special(top / "a", lambda: os.mknod(top / "a", 0o600 | stat.S_IFCHR, os.makedev(1, 5))),
        "SkillMountError: `a` is a device" if os.geteuid() == 0 else "SkillMountError: `a` is a socket",
        REMOVE,
    ),
    "a set-uid file": (
        lambda top: put(top / "a", "").chmod(0o4755),
        "SkillMountError: `a` is set-uid or set-gid",
        "run `chmod ug-s` on `a`",
    ),
    "a set-gid file": (
        lambda top: put(top / "a", "").chmod(0o2755),
        "SkillMountError: `a` is set-uid or set-gid",
        "run `chmod ug-s` on `a`",
    ),
    "a hard link": (
        lambda top: os.link(put(top.parent / "secret", "key"), top / "a"),
        "SkillMountError: `a` is a hard link: it has 2 names",
        "copy the skill with `cp -R`: the copy has no hard links",
    ),
    "a sparse file of 11 GiB": (
        lambda top: os.truncate(put(top / "a", ""), 11 << 30),
        f"SkillMountError: the skill has {(11 << 30) + 53:,} bytes; the limit is 10 MiB",
        LESS,
    ),
    "a Markdown file of 1 MiB and a byte": (
        lambda top: os.truncate(put(top / "a.md", ""), MAX_SKILL_FILE_BYTES + 1),
        "SkillValidationError: `a.md` has 1,048,577 bytes; the limit for a Markdown file is 1 MiB",
        "split it into several files",
    ),
    "a SKILL.md of 1 MiB and a byte": (
        lambda top: os.truncate(top / "SKILL.md", MAX_SKILL_FILE_BYTES + 1),
        "SkillValidationError: `SKILL.md` has 1,048,577 bytes; the limit for a Markdown file is 1 MiB",
        "split it into several files",
    ),
    "5,001 files": (lambda top: files(top, 5001), "SkillMountError: the skill has more than 2,000 files", LESS),
    "2,001 files": (lambda top: files(top, 2000), "SkillMountError: the skill has more than 2,000 files", LESS),
    "2,001 folders": (
        lambda top: files(top, 2000, os.mkdir),
        "SkillMountError: the skill has more than 2,000 folders",
        LESS,
    ),
    "66 levels": (
        lambda top: (top / "/".join("d" * 65)).mkdir(parents=True),
        "SkillMountError: the skill has folders more than 64 levels deep",
        "use fewer levels",
    ),
    "a SKILL.md that is a link": (
        lambda top: link(top / "SKILL.md", "../x", top.parent / "x"),
        "SkillMountError: `SKILL.md` is a link",
        INSIDE,
    ),
    "a SKILL.md that is a FIFO": (
        lambda top: fifo(top / "SKILL.md"),
        "SkillMountError: `SKILL.md` is a FIFO",
        REMOVE,
    ),
}


@pytest.mark.parametrize("row", BAD)
def test_whatever_is_not_copied_is_refused_by_name(row: str, top: Path, home: Path) -> None:
    """With validation and without; and no home is made."""
    make, words, hint = BAD[row]
    text = "---\nname: pdf\ndescription: d\n---\n\nDo one good thing.\n"
    make(put(top / "pdf/SKILL.md", text).parent)
    kind, _, words = words.partition(": ")
    expected = [(kind, f"TOP/pdf: {words}", hint)]
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
def test_names_that_a_disk_may_take_for_one_are_refused(names: tuple[str, str], top: Path, home: Path) -> None:
    """On another system one of the two would swallow the other."""
    skill(top / "pdf")
    for name in names:
        put(top / "pdf/sub" / name, name)
    if len(os.listdir(top / "pdf/sub")) < 2:
        pytest.skip("this disk takes them for one")
    ((kind, words, hint),) = refused([SkillMount(top / "pdf")], home)
    sides = [
        f"TOP/pdf: `sub/{one}` and `{other}` differ only in case or Unicode form" for one, other in (names, names[::-1])
    ]
    assert (kind, hint) == ("SkillMountError", "rename one of them")
    assert words in sides


def test_all_limits_are_what_may_still_be(top: Path, home: Path) -> None:
    """1 MiB of Markdown, 10 MiB in all, 2,000 files."""
    skill(top / "pdf")
    files(top / "pdf", 1997)
    os.truncate(put(top / "pdf/a.md", ""), MAX_SKILL_FILE_BYTES)
    rest = MAX_SKILL_TOTAL_BYTES - MAX_SKILL_FILE_BYTES - (top / "pdf/SKILL.md").stat().st_size
    os.truncate(put(top / "pdf/raw", ""), rest)
    (done,) = mount([SkillMount(top / "pdf")], home, host=HOST).skills
    assert (done.files, done.bytes) == (2000, MAX_SKILL_TOTAL_BYTES)
    os.truncate(top / "pdf/raw", rest + 1)
    assert refused([SkillMount(top / "pdf", "xls")], home) == [
        ("SkillMountError", "TOP/pdf: the skill has 10,485,761 bytes; the limit is 10 MiB", LESS)
    ]


SOURCES: dict[str, tuple[Callable[[Path], object], tuple[str, str, str | None]]] = {
    "nothing": (
        lambda _: None,
        ("SkillNotFoundError", "there is no `TOP/pdf`", "check the path"),
    ),
    "a folder without SKILL.md": (
        lambda path: path.mkdir(),
        ("SkillValidationError", "`TOP/pdf` contains no SKILL.md", "give the folder that contains SKILL.md"),
    ),
    "a folder with skill.md": (
        lambda path: put(path / "skill.md", fields()),
        ("SkillValidationError", "`TOP/pdf` contains no SKILL.md", "rename `skill.md` to SKILL.md"),
    ),
    "a file that is not Markdown": (
        lambda path: put(path, fields()),
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
def test_what_is_no_skill_is_refused_by_its_path(row: str, top: Path, home: Path) -> None:
    """With validation and without, whatever name it is to have."""
    make, expected = SOURCES[row]
    make(top / "pdf")
    expected = (*expected[:2], (expected[2] or "").format(top=top))
    for mounted in (SkillMount(top / "pdf"), SkillMount(top / "pdf", "other")):
        assert refused([mounted], home) == [expected]
        assert refused([mounted], home, validate_on_mount=False) == [expected]


def test_a_path_with_a_nul_is_no_path(home: Path) -> None:
    """Nor a crash."""
    home.parent.mkdir(exist_ok=True)
    assert refused([SkillMount("a\0b")], home) == [
        ("SkillNotFoundError", f"there is no `{os.getcwd()}/a\\x00b`", "check the path")
    ]


def test_a_link_to_a_markdown_file_is_refused(top: Path, home: Path) -> None:
    """As one in a folder is."""
    put(top / "real.md", fields())
    (top / "pdf.md").symlink_to("real.md")
    assert refused([SkillMount(top / "pdf.md")], home) == [
        ("SkillMountError", "`TOP/pdf.md` is a link", f"give its target instead: {top}/real.md")
    ]


def test_a_link_on_the_way_to_a_skill_is_its_users_own(top: Path, home: Path) -> None:
    """For a folder and for a single file."""
    put(top / "real/helper.md", skill(top / "real/pdf").read_text())
    (top / "way").symlink_to("real")
    done = mount([SkillMount(top / "way/pdf"), SkillMount(top / "way/helper.md")], home, host=HOST)
    assert [one.name for one in done.skills] == ["pdf", "helper"]


def test_two_skills_of_one_name_are_refused(top: Path, home: Path) -> None:
    """Both are told, wherever their names come from; one that is disabled does not count."""
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
    """Nor into a folder of it, though the way there is a link."""
    folder = skill(top / "pdf").parent
    (top / "way").symlink_to("pdf")
    for place in (folder, folder / "deep", top / "way"):
        before = content(top)
        with pytest.raises(SkillMountError) as error:
            mount([SkillMount(folder)], place, host=HOST)
        assert str(error.value) == f"{folder}: `{place}/{ROOT}` is inside the skill `{folder}`"
        assert content(top) == before


def test_all_problems_of_all_skills_are_one_error(top: Path, home: Path) -> None:
    """Of the first one's class; each with its hint; and nothing is mounted, not even what was fit."""
    good = rich(top / "good")
    put(top / "bad/SKILL.md", fields(name="bad", description=""))
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
            "  there is no `TOP/gone` (check the path)",
            f"  TOP/bad/SKILL.md:1: missing `description` ({SAY})",
            "  TOP/bad: `a` is a link (replace it with the file itself)",
            "  TOP/bad: `c` is a FIFO (remove it from the skill)",
            f"  TOP/good: `../x` is not a valid skill name ({NAME_HINT})",
            f"  TOP/hand: `TOP/home/{ROOT}/hand` already exists, and Prowess did not mount it ({AWAY})",
            "  TOP/good: two skills have the name `good`: the other is TOP/good (give one of them another name)",
        ]
    )
    assert len(error.value.problems) == 7
    assert content(top) == before


def test_a_folder_of_nothing_but_problems_is_told_in_part(top: Path, home: Path) -> None:
    """Twenty are enough, and too many bytes are told among them or not at all."""
    folder = skill(top / "pdf").parent
    for number in range(30):
        (folder / f"l{number}").symlink_to("x")
    os.truncate(put(folder / "big", ""), 11 << 30)
    assert len(refused([SkillMount(folder)], home)) == 20


# ── what a copy is ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_is_copied_byte_for_byte(top: Path, home: Path) -> None:
    """With its execute bits and its empty folders; only its owner may write to the copy; the report says what it is."""
    source = rich(top / "pdf")
    report = mount([SkillMount(source)], home, host=HOST)
    copy = home / ROOT / "pdf"
    assert content(copy) == {path: (kind, mode & ~0o022, data) for path, (kind, mode, data) in content(source).items()}
    size = sum(file.stat().st_size for file in source.rglob("*") if file.is_file())
    assert report.as_dict() == {
        "home": str(home),
        "skills": [
            {
                "name": "pdf",
                "source": str(source),
                "destination": str(copy),
                "files": 4,
                "bytes": size,
                "digest": skill_digest(str(source)),
                "renamed_from": None,
            }
        ],
    }
    assert report.skills[0].digest == skill_digest(str(copy))


def test_the_record_holds_the_seal_of_each_copy(top: Path, home: Path) -> None:
    """So that nothing is taken away that was changed since; with the folders that were made."""
    mount([SkillMount(rich(top / "pdf")), SkillMount(skill(top / "ink").parent)], home, host=HOST)
    assert json.loads((home / ".claude/.prowess-skills.json").read_text()) == {
        "version": 1,
        "made": [".claude", ROOT],
        "skills": [
            {"name": name, "source": str(top / name), "seal": integrity_digest(str(home / ROOT / name))}
            for name in ("ink", "pdf")
        ],
    }


def test_a_single_file_becomes_a_folder(top: Path, home: Path) -> None:
    """`my-skill.md` is `my-skill/SKILL.md` there, and nothing beside it is copied."""
    put(top / "prompts/my-skill.md", fields(name="my-skill")).chmod(0o664)
    put(top / "prompts/other.md", "x")
    (done,) = mount([SkillMount(top / "prompts/my-skill.md")], home, host=HOST).skills
    mode = stat.S_IMODE((top / "prompts").stat().st_mode) & 0o755
    assert content(home / ROOT / "my-skill") == {
        "": ("folder", mode, b""),
        "SKILL.md": ("file", 0o644, fields(name="my-skill").encode()),
    }
    assert (done.files, done.renamed_from) == (1, None)
    assert done.digest == skill_digest(done.destination)


def test_another_name_is_written_into_the_copy_alone(top: Path, home: Path) -> None:
    """The client sees one name; the source stays as it is; the report says what the skill calls itself."""
    source = rich(top / "review-v2")
    before = content(source)
    (done,) = mount([SkillMount(source, "code-review")], home, host=HOST).skills
    copy = home / ROOT / "code-review"
    assert (done.name, done.renamed_from) == ("code-review", "review-v2")
    assert content(source) == before
    text = before["SKILL.md"][2].replace(b"name: review-v2\n", b"name: code-review\n")
    expected = before | {"SKILL.md": (*before["SKILL.md"][:2], text)}
    assert content(copy) == {path: (kind, mode & ~0o022, data) for path, (kind, mode, data) in expected.items()}
    assert done.digest == skill_digest(str(copy))
    (row,) = json.loads((home / ".claude/.prowess-skills.json").read_text())["skills"]
    assert row["seal"] == integrity_digest(str(copy))


RENAMED: dict[str, tuple[bytes, bytes | None]] = {
    "plain": (b"---\nname: pdf\ndescription: d\n---\nx\n", b"---\nname: ink\ndescription: d\n---\nx\n"),
    "in quotes": (b"---\nname: 'pdf'\ndescription: d\n---\n", b"---\nname: ink\ndescription: d\n---\n"),
    "in double quotes": (b'---\nname: "pdf"\ndescription: d\n---\n', b"---\nname: ink\ndescription: d\n---\n"),
    "folded": (b"---\nname: >-\n  pdf\ndescription: d\n---\n", b"---\nname: ink\ndescription: d\n---\n"),
    "last": (b"---\ndescription: d\nname: pdf\n---\n", b"---\ndescription: d\nname: ink\n---\n"),
    "line ends of Windows": (
        b"---\r\nname: pdf\r\ndescription: d\r\n---\r\nx\r\n",
        b"---\r\nname: ink\r\ndescription: d\r\n---\r\nx\r\n",
    ),
    "a byte order mark": (
        b"\xef\xbb\xbf---\nname: pdf\ndescription: d\n---\n",
        b"\xef\xbb\xbf---\nname: ink\ndescription: d\n---\n",
    ),
    "a blank line after it": (
        b"---\nname: pdf\n\ndescription: d\n---\n",
        b"---\nname: ink\n\ndescription: d\n---\n",
    ),
    "indented": (b"---\n  name: pdf\n  description: d\n---\n", b"---\n  name: ink\n  description: d\n---\n"),
    "a body that is not UTF-8": (
        b"---\nname: pdf\ndescription: d\n---\nname: pdf\n\xff",
        b"---\nname: ink\ndescription: d\n---\nname: pdf\n\xff",
    ),
    "a map on one line": (b"---\n{name: pdf, description: d}\n---\n", None),
    "no name": (b"---\ndescription: d\n---\n", b"---\ndescription: d\n---\n"),
    "no front matter": (b"x\n", b"x\n"),
    "the same name": (b"---\nname: 'ink'\ndescription: d\n---\n", b"---\nname: 'ink'\ndescription: d\n---\n"),
}


@pytest.mark.parametrize("row", RENAMED)
def test_only_the_line_of_the_name_is_rewritten(row: str, top: Path, home: Path) -> None:
    """However it is written; what cannot be done so is refused, and what has no name is copied as it is."""
    before, after = RENAMED[row]
    put(top / "pdf/SKILL.md", before)
    config = SkillConfig((SkillMount(top / "pdf", "ink"),), validate_on_mount=False)
    if after is None:
        assert refused([*config.skills], home, validate_on_mount=False) == [
            (
                "SkillValidationError",
                "TOP/pdf: `TOP/pdf/SKILL.md`: the `name` cannot be changed to `ink`",
                "write `name: ink` in it, or mount it as `pdf`",
            )
        ]
        return
    (done,) = mount(config, home, host=HOST).skills
    assert (home / ROOT / "ink/SKILL.md").read_bytes() == after
    assert done.renamed_from == ("pdf" if before != after else None)


@pytest.mark.parametrize("name", ["true", "no", "null", "1", "1e3", "0x1", "2026-01-01", "y", "off"])
def test_a_name_that_yaml_takes_for_something_else_is_quoted(name: str, top: Path, home: Path) -> None:
    """The client's parser may be any."""
    mount([SkillMount(skill(top / "pdf").parent, name)], home, host=HOST)
    assert (home / ROOT / name / "SKILL.md").read_text().splitlines()[1] == f'name: "{name}"'


# ── the seed: its examples ───────────────────────────────────────────────────────────────────────────────────────────


def test_several_skills_are_mounted_in_the_order_of_the_configuration(
    top: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WINK's "Basic Skill Mounting", with relative paths."""
    for name in ("testing", "code-review"):
        skill(top / "skills" / name)
    monkeypatch.chdir(top)
    config = SkillConfig(skills=(SkillMount(Path("./skills/testing")), SkillMount(Path("./skills/code-review"))))
    report = mount(config, "home", host=HOST)
    assert (report.home, report.host) == (str(home), HOST)
    assert [(one.name, one.source, one.destination) for one in report.skills] == [
        (name, str(top / "skills" / name), str(home / ROOT / name)) for name in ("testing", "code-review")
    ]


def test_all_skills_of_a_folder_can_be_found_and_mounted(top: Path, home: Path) -> None:
    """WINK's "Auto-Discover Skills from Directory"."""
    demo = top / "demo-skills"
    for name in ("code-review", "python-style"):
        skill(demo / name)
    put(demo / "notes/README.md", "no skill")
    put(demo / "README.md", "no skill either")
    mounts = tuple(
        SkillMount(source=folder) for folder in demo.iterdir() if folder.is_dir() and (folder / "SKILL.md").exists()
    )
    mount(SkillConfig(skills=mounts), home, host=HOST)
    assert sorted(os.listdir(home / ROOT)) == ["code-review", "python-style"]


def test_skills_can_be_given_other_names(top: Path, home: Path) -> None:
    """WINK's "Custom Skill Names": a folder and a single file."""
    skill(top / "internal/review-v2")
    put(top / "prompts/test-helper.md", fields(name="test-helper"))
    config = SkillConfig(
        skills=(
            SkillMount(source=top / "internal/review-v2", name="code-review"),
            SkillMount(source=top / "prompts/test-helper.md", name="testing"),
        )
    )
    report = mount(config, home, host=HOST)
    assert [(one.name, one.renamed_from) for one in report.skills] == [
        ("code-review", "review-v2"),
        ("testing", "test-helper"),
    ]
    assert (home / ROOT / "testing/SKILL.md").read_text() == fields(name="testing")


@pytest.mark.parametrize("experimental", [True, False])
def test_a_skill_that_is_disabled_is_not_looked_at(experimental: bool, top: Path, home: Path) -> None:
    """WINK's "Conditional Skills"; one that is switched off may even be broken."""
    skill(top / "core")
    if experimental:
        skill(top / "experimental")
    config = SkillConfig((SkillMount(top / "core"), SkillMount(top / "experimental", enabled=experimental)))
    assert [one.name for one in mount(config, home, host=HOST).skills] == ["core", "experimental"][: 1 + experimental]


def test_validation_can_be_switched_off(top: Path, home: Path) -> None:
    """WINK's "Disable Validation for Development"."""
    put(top / "wip-skill/SKILL.md", "no front matter yet")
    config = SkillConfig(skills=(SkillMount(top / "wip-skill"),), validate_on_mount=False)
    mount(config, home, host=HOST)
    assert (home / ROOT / "wip-skill/SKILL.md").read_text() == "no front matter yet"


@pytest.mark.parametrize("config", [SkillConfig(), (), [SkillMount("nowhere", enabled=False)]], ids=repr)
def test_nothing_to_mount_makes_no_home(config: Any, home: Path) -> None:
    """And is no fault."""
    report = mount(config, home, host=HOST)
    assert (report.as_dict(), home.exists()) == ({"home": str(home), "skills": []}, False)


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

ROOTS = {
    "aam": ".claude/skills",
    "amp": ".config/agents/skills",
    "camel": ".camel/skills",
    "claude-code": ".claude/skills",
    "codex": ".codex/skills",
    "copilot": ".copilot/skills",
    "cursor": ".cursor/skills",
    "gemini-cli": ".agents/skills",
    "goose": ".agents/skills",
    "infer": ".infer/skills",
    "initrunner": ".agents/skills",
    "letta": ".letta/skills",
    "opencode": ".config/opencode/skills",
    "pi": ".pi/agent/skills",
    "prowess": ".prowess/skills",
    "qwen-code": ".qwen/skills",
    "vscode": ".copilot/skills",
}


def test_every_host_is_in_the_table() -> None:
    """A new one says where its user's skills are, or has no such place."""
    assert {*ROOTS} == {name for name in host_names() if any(root.scope == "user" for root in load_host(name).roots)}


@pytest.mark.parametrize("host", ROOTS)
def test_a_skill_is_put_where_its_host_looks_first(host: str, top: Path, home: Path) -> None:
    """It sees that skill there, and nothing else."""
    (done,) = mount([SkillMount(rich(top / "pdf"))], home, host=host).skills
    assert done.destination == str(home / ROOTS[host] / "pdf")
    (top / "work").mkdir()
    seen = discover(top / "work", host=host, home=home, env={"INFER_AGENT_SKILLS_ENABLED": "true"}, cache=False)
    assert [entry.path for entry in seen.active] == [f"{done.destination}/SKILL.md"]
    assert unmount(None, home, host=host) == (done.destination,)
    assert content(home) == {"": ("folder", stat.S_IMODE(home.stat().st_mode), b"")}


def test_a_host_without_a_folder_for_its_user_is_refused(top: Path, home: Path) -> None:
    """And so is one that there is not."""
    mounts = [SkillMount(skill(top / "pdf").parent)]
    for call in (lambda: mount(mounts, home, host="wink"), lambda: unmount(None, home, host="wink")):
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value) == "the host `wink` has no folder for its user's skills"
        assert error.value.hint == "`prowess hosts` shows the folders of each host"
    with pytest.raises(HostNotFoundError):
        skills_root("clod")
    assert not home.exists()


# ── what is there already ────────────────────────────────────────────────────────────────────────────────────────────

AWAY = "move it away, or mount the skill under another name: `NAME=PATH`"
KEEP = "copy what you need from it, then remove the folder"

BY_HAND: dict[str, Callable[[Path], object]] = {
    "a skill": skill,
    "an empty folder": lambda path: path.mkdir(parents=True),
    "a file": lambda path: put(path, "x"),
    "a link": lambda path: link(path, "/nowhere"),
}


@pytest.mark.parametrize("row", BY_HAND)
def test_what_its_user_made_is_never_replaced(row: str, top: Path, home: Path) -> None:
    """Whatever it is."""
    BY_HAND[row](home / ROOT / "pdf")
    words = f"TOP/pdf: `TOP/home/{ROOT}/pdf` already exists, and Prowess did not mount it"
    assert refused([SkillMount(skill(top / "pdf").parent)], home) == [("SkillMountError", words, AWAY)]


CHANGED: dict[str, Callable[[Path], object]] = {
    "a byte": lambda copy: put(copy / "SKILL.md", (copy / "SKILL.md").read_bytes() + b"\n"),
    "a file more": lambda copy: put(copy / "more.md", ""),
    "a file less": lambda copy: (copy / "references/a.md").unlink(),
    "a folder more": lambda copy: (copy / "new").mkdir(),
    "a permission": lambda copy: (copy / "references/a.md").chmod(0o600),
    "a link in it": lambda copy: (copy / "l").symlink_to("SKILL.md"),
    "a link that leads out": lambda copy: (copy / "l").symlink_to("/etc"),
    "another folder": lambda copy: skill(emptied(copy)),
    "a link to what it was": lambda copy: link(copy, "../away", copy.parent.parent / "away"),
    "a file in its place": lambda copy: put(emptied(copy), ""),
}


@pytest.mark.parametrize("row", CHANGED)
def test_what_was_changed_since_is_neither_replaced_nor_removed(row: str, top: Path, home: Path) -> None:
    """Its user may need it; a removal of several then removes none."""
    mount([SkillMount(rich(top / "pdf")), SkillMount(skill(top / "ink").parent)], home, host=HOST)
    CHANGED[row](home / ROOT / "pdf")
    words = f"`TOP/home/{ROOT}/pdf` has changed since it was mounted"
    mounts = [SkillMount(top / "pdf"), SkillMount(top / "ink")]
    assert refused(mounts, home) == [("SkillMountError", f"TOP/pdf: {words}", KEEP)]
    before = content(top)
    for names in (["ink", "pdf"], None):
        with pytest.raises(SkillMountError) as error:
            unmount(names, home, host=HOST)
        assert (str(error.value).replace(str(top), "TOP"), error.value.hint) == (words, KEEP)
    assert content(top) == before


def test_what_was_taken_away_by_hand_can_be_mounted_again_and_removed(top: Path, home: Path) -> None:
    """Nothing is lost by it."""
    mounts = [SkillMount(rich(top / "pdf"))]
    mount(mounts, home, host=HOST)
    whole = content(home)
    shutil.rmtree(home / ROOT / "pdf")
    mount(mounts, home, host=HOST)
    assert content(home) == whole
    shutil.rmtree(home / ROOT / "pdf")
    unmount(["pdf"], home, host=HOST)
    assert os.listdir(home) == []


def test_a_mount_again_replaces_what_was_mounted(top: Path, home: Path) -> None:
    """All of it: what the new version has no more is gone."""
    source = rich(top / "pdf")
    mount([SkillMount(source)], home, host=HOST)
    shutil.rmtree(source / "scripts")
    skill(source, body="New.")
    (done,) = mount([SkillMount(source)], home, host=HOST).skills
    fresh = mount([SkillMount(source)], top / "fresh", host=HOST).skills[0]
    assert content(done.destination) == content(fresh.destination)
    assert sorted(os.listdir(home / ".claude")) == [".prowess-skills.json", "skills"]


def test_neighbours_are_not_touched(top: Path, home: Path) -> None:
    """Neither by a mount, nor by a replacement, nor by a removal; nor what lies about beside the skills."""
    rich(home / ROOT / "hand")
    (home / ROOT / "link").symlink_to("/etc")
    put(home / ".claude/settings.json", "{}").chmod(0o600)
    os.mkfifo(home / ROOT / "fifo")
    before = content(home)
    mounts = [SkillMount(rich(top / "pdf"))]
    for _ in range(2):
        mount(mounts, home, host=HOST)
        now = content(home)
        assert {path: what for path, what in now.items() if path in before} == before
        assert {path.split("/")[-1] for path in now.keys() - before.keys() if path.count("/") <= 2} == {
            "pdf",
            ".prowess-skills.json",
        }
    unmount(["pdf"], home, host=HOST)
    assert content(home) == before


# ── taking away ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_mounted_is_taken_away_and_no_more(top: Path, home: Path) -> None:
    """One of two first; with the last go the folders that were made, and the record."""
    mounts = [SkillMount(rich(top / "pdf")), SkillMount(skill(top / "ink").parent)]
    mount(mounts[:1], home, host=HOST)
    one = content(home)
    mount(mounts, home, host=HOST)
    assert unmount(["ink", "ink"], home, host=HOST) == (str(home / ROOT / "ink"),)
    assert content(home) == one
    assert unmount(None, home, host=HOST) == (str(home / ROOT / "pdf"),)
    assert os.listdir(home) == []


def test_folders_that_were_there_or_are_in_use_stay(top: Path, home: Path) -> None:
    """An empty skills folder of the user's, and one that was made but holds more by now."""
    (home / ROOT).mkdir(parents=True)
    before = content(home)
    mounts = [SkillMount(skill(top / "pdf").parent)]
    mount(mounts, home, host=HOST)
    unmount(None, home, host=HOST)
    assert content(home) == before
    other = top / "other"
    mount(mounts, other, host=HOST)
    skill(other / ROOT / "hand")
    unmount(None, other, host=HOST)
    assert sorted(content(other)) == ["", ".claude", ROOT, f"{ROOT}/hand", f"{ROOT}/hand/SKILL.md"]


def test_what_was_not_mounted_is_not_taken_away(top: Path, home: Path) -> None:
    """Whether there is a home, a record, or a folder made by hand; and of several names all are told."""
    where = f"TOP/home/{ROOT}"
    home.parent.mkdir(exist_ok=True)
    for prepare in (lambda: None, home.mkdir, lambda: skill(home / ROOT / "hand")):
        prepare()
        before = content(top)
        with pytest.raises(SkillNotFoundError) as error:
            unmount(["hand", "../x"], home, host=HOST)
        assert str(error.value).replace(str(top), "TOP") == (
            "2 problems; nothing was removed:\n"
            f"  `hand` was not mounted in {where} (only skills that Prowess mounted can be removed)\n"
            f"  `../x` was not mounted in {where} (only skills that Prowess mounted can be removed)"
        )
        assert unmount(None, home, host=HOST) == unmount((), home, host=HOST) == ()
        assert content(top) == before
    mount([SkillMount(skill(top / "pdf").parent)], home, host=HOST)
    with pytest.raises(SkillNotFoundError) as error:
        unmount(["pdff"], home, host=HOST)
    assert error.value.hint == "did you mean `pdf`?"


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_changes_nothing(top: Path, home: Path) -> None:
    """Neither the skills nor the home."""
    mounts = [SkillMount(rich(top / "pdf"), "ink")]
    before = content(top)
    made = plan(mounts, home, host=HOST)
    assert content(top) == before
    assert (made.home, made.host, made.root) == (str(home), HOST, ROOT)
    assert [(copy.name, copy.source, copy.renamed_from) for copy in made.copies] == [("ink", str(top / "pdf"), "pdf")]


def test_a_plan_applied_twice_is_applied_once(top: Path, home: Path) -> None:
    """The second time nothing differs but the time."""
    made = plan([SkillMount(rich(top / "pdf")), SkillMount(skill(top / "ink").parent, "pen")], home, host=HOST)
    report = apply(made)
    once = content(home)
    assert apply(made) == report
    assert content(home) == once


LATER: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file was changed": (
        lambda source: put(source / "references/a.md", "other"),
        "TOP/pdf: `a.md` changed while it was copied",
    ),
    "a file became a link": (
        lambda source: link(source / "references/a.md", "/etc/passwd"),
        "TOP/pdf: `references` changed while it was copied",
    ),
    "a file came": (lambda source: put(source / "new", ""), "TOP/pdf: the skill changed while it was copied"),
    "a file went": (
        lambda source: (source / "references/a.md").unlink(),
        "TOP/pdf: `references` changed while it was copied",
    ),
    "it went": (shutil.rmtree, "TOP/pdf: cannot copy the skill: no such file or directory"),
    "it became a link": (
        lambda source: link(source, "away", source.parent / "away"),
        "TOP/pdf: cannot copy the skill: not a directory",
    ),
    "a file was given another name": (
        lambda source: os.link(source / "references/a.md", source.parent / "a"),
        "TOP/pdf: `a.md` changed while it was copied",
    ),
}


@pytest.mark.parametrize("row", LATER)
@pytest.mark.parametrize("there", ["no home", "a home with an older version"])
def test_a_plan_of_what_has_changed_since_does_nothing(row: str, there: str, top: Path, home: Path) -> None:
    """What was validated is what is copied, or nothing is; the skill before it is not mounted either."""
    mounts = [SkillMount(skill(top / "ink").parent), SkillMount(rich(top / "pdf"))]
    if there != "no home":
        mount(mounts, home, host=HOST)
    made = plan(mounts, home, host=HOST)
    change, words = LATER[row]
    change(top / "pdf")
    before = content(top)
    with pytest.raises(SkillMountError) as error:
        apply(made)
    assert str(error.value).replace(str(top), "TOP") == words
    assert content(top) == before


def test_a_plan_does_not_replace_what_came_into_the_home_since(top: Path, home: Path) -> None:
    """It is asked again while nobody else mounts."""
    made = plan([SkillMount(skill(top / "ink").parent), SkillMount(skill(top / "pdf").parent)], home, host=HOST)
    skill(home / ROOT / "pdf", body="mine")
    before = content(top)
    with pytest.raises(SkillMountError) as error:
        apply(made)
    assert str(error.value) == f"`{home}/{ROOT}/pdf` already exists, and Prowess did not mount it"
    assert content(top) == before


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = st.text("abé.- \n", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))
FILES = st.tuples(st.binary(max_size=30), st.sampled_from([0o644, 0o755, 0o600, 0o777, 0o444]))
FOLDERS = st.dictionaries(NAMES, FILES | st.dictionaries(NAMES, FILES, max_size=2), max_size=3)


def write(folder: Path, what: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    for name, inner in what.items():
        if isinstance(inner, dict):
            write(folder / name, inner)
        else:
            (folder / name).write_bytes(inner[0])
            (folder / name).chmod(inner[1])


@given(FOLDERS)
def test_what_is_mounted_is_the_skill_and_what_is_removed_leaves_nothing(what: dict[str, Any]) -> None:
    """For any names, bytes and permissions: the same content, digest and seal; twice is once; and away again."""
    with tempfile.TemporaryDirectory() as made:
        top = Path(made).resolve()
        skill(top / "pdf")
        write(top / "pdf", what)
        (done,) = mount([SkillMount(top / "pdf")], top / "home", host=HOST).skills
        expected = {path: (kind, mode & ~0o022, data) for path, (kind, mode, data) in content(top / "pdf").items()}
        assert content(done.destination) == expected
        assert done.digest == skill_digest(str(top / "pdf")) == skill_digest(done.destination)
        (row,) = json.loads((top / "home/.claude/.prowess-skills.json").read_text())["skills"]
        assert row["seal"] == integrity_digest(done.destination)
        once = content(top / "home")
        mount([SkillMount(top / "pdf")], top / "home", host=HOST)
        assert content(top / "home") == once
        unmount(None, top / "home", host=HOST)
        assert os.listdir(top / "home") == []


@given(strategies.skill_bytes(), st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,3})?", fullmatch=True))
@example(b"---\nname: pdf\n\n  x\n# y\ndescription: d\n---\n", "true")
def test_a_new_name_changes_one_place_and_nothing_else(data: bytes, name: str) -> None:
    """All bytes before and after stay, it is one line, what is read differs in the name alone; or it is refused."""
    new = change_name(data, name)
    if new is None:
        return
    before, after = data.splitlines(keepends=True), new.splitlines(keepends=True)
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    assert len(after) <= 1
    assert from_document(parse_frontmatter(new)) == from_document(parse_frontmatter(data)).with_changes(name=name)


@given(st.text(max_size=70) | st.text("ab-", max_size=70))
def test_a_name_is_taken_as_the_specification_says_or_not_at_all(name: str) -> None:
    """1 to 64 of `a-z`, `0-9` and `-`, no `-` at an end or beside another."""
    fits = (
        1 <= len(name) <= 64
        and all(letter in "abcdefghijklmnopqrstuvwxyz0123456789-" for letter in name)
        and not (name.startswith("-") or name.endswith("-") or "--" in name)
    )
    try:
        validate_skill_name(name)
    except SkillMountError:
        assert not fits
    else:
        assert fits


def test_the_names_of_the_seed_are_there() -> None:
    """With its limits."""
    import prowess

    names = ["SkillMount", "SkillConfig", "resolve_skill_name", "validate_skill", "validate_skill_name"]
    assert all(getattr(prowess, name) is globals()[name] for name in names)
    assert (MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES) == (1 << 20, 10 << 20)
    assert issubclass(SkillValidationError, SkillError)
    assert issubclass(SkillNotFoundError, SkillError)
    assert issubclass(SkillMountError, SkillError)


def test_what_is_no_skill_home_or_name_is_told(top: Path) -> None:
    """A text is no list of them: what is called `a` and `b` would go with `ab`."""
    source, home = skill(top / "ink"), top / "home"
    wrong: list[tuple[Any, Any, str]] = [
        (None, home, "`skills` must be a list, not NoneType"),
        (str(source), home, "`skills` must be a list, not str"),
        (SkillConfig(SkillMount(source)), home, "`skills` must be a list, not SkillMount"),  # type: ignore[arg-type]
        ([source], home, "which is not a SkillMount"),
        ([SkillMount(None)], home, "the source of a skill must be a path, not NoneType"),  # type: ignore[arg-type]
        ([SkillMount(os.fsencode(source))], home, "the source of a skill must be a path, not bytes"),  # type: ignore[arg-type]
        ([SkillMount(source)], None, "the home must be a path, not NoneType"),
        ([SkillMount(source)], os.fsencode(home), "the home must be a path, not bytes"),
        ([SkillMount(source)], "a\0b", "is not a valid path"),
        ([SkillMount(source)], "/\ud800", "is not a valid path"),
    ]
    for skills, place, words in wrong:
        with pytest.raises(SkillMountError, match=words) as error:
            mount(skills, place, host=HOST)
        assert error.value.hint
    assert not home.exists()
    mount([SkillMount(source, "a"), SkillMount(source, "b")], home, host=HOST)
    names: list[tuple[Any, str]] = [("ab", "must be a list, not str"), (5, "not int"), ([None], "must be a string")]
    for name, words in names:
        with pytest.raises(SkillMountError, match=words):
            unmount(name, home, host=HOST)
    assert len(unmount(None, home, host=HOST)) == 2
