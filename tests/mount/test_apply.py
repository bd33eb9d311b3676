"""Mount skills into homes, remove them, and read the record of what is mounted."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, strategies as st

from endurance import World, content
from prowess._internal.files import skill_digest
from prowess.errors import SkillMountError, SkillNotFoundError
from prowess.mount import SkillConfig, SkillMount, apply, mount, plan, unmount
from prowess.mount._skills_folder import read_record
from prowess.skill import from_document, portable_digest
from prowess.skill._fix import change_name
from prowess.skill._frontmatter import parse_frontmatter
from support import strategies
from support.files import write_file
from support.mounting import HOST, RECORD, ROOT, refused, replace_with_link, skill_text, varied_skill
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_copy_is_identical_to_its_source(top: Path, home: Path) -> None:
    """With execute bits and empty folders; but only its owner may write to it. The report describes it."""
    source = varied_skill(top / "pdf")
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


def test_the_mount_record_contains_the_portable_digest_of_each_copy(top: Path, home: Path) -> None:
    """And the folders that were created."""
    mount([SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent)], home, host=HOST)
    assert json.loads((home / ".claude/.prowess-skills.json").read_text()) == {
        "version": 1,
        "made": [".claude", ROOT],
        "skills": [
            {"name": name, "source": str(top / name), "seal": portable_digest(str(home / ROOT / name))}
            for name in ("ink", "pdf")
        ],
    }


def test_a_single_file_becomes_a_folder(top: Path, home: Path) -> None:
    """`my-skill.md` becomes `my-skill/SKILL.md`; no other file of its folder is copied."""
    write_file(top / "prompts/my-skill.md", skill_text(name="my-skill")).chmod(0o664)
    write_file(top / "prompts/other.md", "x")
    (mounted,) = mount([SkillMount(top / "prompts/my-skill.md")], home, host=HOST).skills
    mode = stat.S_IMODE((top / "prompts").stat().st_mode) & 0o755
    assert content(home / ROOT / "my-skill") == {
        "": ("folder", mode, b""),
        "SKILL.md": ("file", 0o644, skill_text(name="my-skill").encode()),
    }
    assert (mounted.files, mounted.renamed_from) == (1, None)
    assert mounted.digest == skill_digest(mounted.destination)


def test_another_name_is_written_only_into_the_copy(top: Path, home: Path) -> None:
    """The source is unchanged; the report has its old name."""
    source = varied_skill(top / "review-v2")
    before = content(source)
    (mounted,) = mount([SkillMount(source, "code-review")], home, host=HOST).skills
    copy = home / ROOT / "code-review"
    assert (mounted.name, mounted.renamed_from) == ("code-review", "review-v2")
    assert content(source) == before
    text = before["SKILL.md"][2].replace(b"name: review-v2\n", b"name: code-review\n")
    expected = before | {"SKILL.md": (*before["SKILL.md"][:2], text)}
    assert content(copy) == {path: (kind, mode & ~0o022, data) for path, (kind, mode, data) in expected.items()}
    assert mounted.digest == skill_digest(str(copy))
    (row,) = json.loads((home / ".claude/.prowess-skills.json").read_text())["skills"]
    assert row["seal"] == portable_digest(str(copy))


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
    """If that is not possible, the skill is refused. A skill without a name is copied unchanged."""
    before, after = RENAMED[row]
    write_file(top / "pdf/SKILL.md", before)
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
    (mounted,) = mount(config, home, host=HOST).skills
    assert (home / ROOT / "ink/SKILL.md").read_bytes() == after
    assert mounted.renamed_from == ("pdf" if before != after else None)


@pytest.mark.parametrize("name", ["true", "no", "null", "1", "1e3", "0x1", "2026-01-01", "y", "off"])
def test_a_name_that_yaml_would_not_read_as_a_string_is_quoted(name: str, top: Path, home: Path) -> None:
    """The client may use any YAML parser."""
    mount([SkillMount(skill(top / "pdf").parent, name)], home, host=HOST)
    assert (home / ROOT / name / "SKILL.md").read_text().splitlines()[1] == f'name: "{name}"'


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


@pytest.mark.parametrize("experimental", [True, False])
def test_a_disabled_skill_is_ignored(experimental: bool, top: Path, home: Path) -> None:
    """WINK's "Conditional Skills". It need not exist."""
    skill(top / "core")
    if experimental:
        skill(top / "experimental")
    config = SkillConfig((SkillMount(top / "core"), SkillMount(top / "experimental", enabled=experimental)))
    assert [one.name for one in mount(config, home, host=HOST).skills] == ["core", "experimental"][: 1 + experimental]


@pytest.mark.parametrize("config", [SkillConfig(), (), [SkillMount("nowhere", enabled=False)]], ids=repr)
def test_mounting_nothing_creates_no_home(config: Any, home: Path) -> None:
    report = mount(config, home, host=HOST)
    assert (report.as_dict(), home.exists()) == ({"home": str(home), "skills": []}, False)


def test_a_copy_that_the_user_deleted_can_be_mounted_again_and_removed(top: Path, home: Path) -> None:
    mounts = [SkillMount(varied_skill(top / "pdf"))]
    mount(mounts, home, host=HOST)
    whole = content(home)
    shutil.rmtree(home / ROOT / "pdf")
    mount(mounts, home, host=HOST)
    assert content(home) == whole
    shutil.rmtree(home / ROOT / "pdf")
    unmount(["pdf"], home, host=HOST)
    assert os.listdir(home) == []


def test_mounting_again_replaces_the_whole_copy(top: Path, home: Path) -> None:
    """Files that the new version does not have are removed."""
    source = varied_skill(top / "pdf")
    mount([SkillMount(source)], home, host=HOST)
    shutil.rmtree(source / "scripts")
    skill(source, body="New.")
    (mounted,) = mount([SkillMount(source)], home, host=HOST).skills
    fresh = mount([SkillMount(source)], top / "fresh", host=HOST).skills[0]
    assert content(mounted.destination) == content(fresh.destination)
    assert sorted(os.listdir(home / ".claude")) == [".prowess-skills.json", "skills"]


def test_other_files_are_not_touched(top: Path, home: Path) -> None:
    """Neither by mounting, nor by replacing, nor by removing."""
    varied_skill(home / ROOT / "hand")
    (home / ROOT / "link").symlink_to("/etc")
    write_file(home / ".claude/settings.json", "{}").chmod(0o600)
    os.mkfifo(home / ROOT / "fifo")
    before = content(home)
    mounts = [SkillMount(varied_skill(top / "pdf"))]
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


def test_applying_a_plan_twice_is_the_same_as_once(top: Path, home: Path) -> None:
    planned = plan(
        [SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent, "pen")], home, host=HOST
    )
    report = apply(planned)
    once = content(home)
    assert apply(planned) == report
    assert content(home) == once


LATER: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file was changed": (
        lambda source: write_file(source / "references/a.md", "other"),
        "TOP/pdf: `a.md` changed while it was copied",
    ),
    "a file became a link": (
        lambda source: replace_with_link(source / "references/a.md", "/etc/passwd"),
        "TOP/pdf: `references` changed while it was copied",
    ),
    "a file came": (lambda source: write_file(source / "new", ""), "TOP/pdf: the skill changed while it was copied"),
    "a file went": (
        lambda source: (source / "references/a.md").unlink(),
        "TOP/pdf: `references` changed while it was copied",
    ),
    "it went": (shutil.rmtree, "TOP/pdf: cannot copy the skill: no such file or directory"),
    "it became a link": (
        lambda source: replace_with_link(source, "away", source.parent / "away"),
        "TOP/pdf: cannot copy the skill: not a directory",
    ),
    "a file was given another name": (
        lambda source: os.link(source / "references/a.md", source.parent / "a"),
        "TOP/pdf: `a.md` changed while it was copied",
    ),
}


@pytest.mark.parametrize("row", LATER)
@pytest.mark.parametrize("there", ["no home", "a home with an older version"])
def test_a_plan_for_a_skill_that_has_changed_since_does_nothing(row: str, there: str, top: Path, home: Path) -> None:
    """Only what was validated is copied. The other skills of the plan are not mounted either."""
    mounts = [SkillMount(skill(top / "ink").parent), SkillMount(varied_skill(top / "pdf"))]
    if there != "no home":
        mount(mounts, home, host=HOST)
    planned = plan(mounts, home, host=HOST)
    change, message = LATER[row]
    change(top / "pdf")
    before = content(top)
    with pytest.raises(SkillMountError) as error:
        apply(planned)
    assert str(error.value).replace(str(top), "TOP") == message
    assert content(top) == before


def test_a_plan_does_not_replace_a_folder_created_since(top: Path, home: Path) -> None:
    """The target is checked again under the lock."""
    planned = plan([SkillMount(skill(top / "ink").parent), SkillMount(skill(top / "pdf").parent)], home, host=HOST)
    skill(home / ROOT / "pdf", body="mine")
    before = content(top)
    with pytest.raises(SkillMountError) as error:
        apply(planned)
    assert str(error.value) == f"`{home}/{ROOT}/pdf` already exists, and Prowess did not mount it"
    assert content(top) == before


NAMES = st.text("abé.- \n", min_size=1, max_size=3).filter(lambda name: name not in (".", ".."))


FILES = st.tuples(st.binary(max_size=30), st.sampled_from([0o644, 0o755, 0o600, 0o777, 0o444]))


FOLDERS = st.dictionaries(NAMES, FILES | st.dictionaries(NAMES, FILES, max_size=2), max_size=3)


def write_tree(folder: Path, what: dict[str, Any]) -> None:
    """Write files and folders with their permissions."""
    folder.mkdir(exist_ok=True)
    for name, inner in what.items():
        if isinstance(inner, dict):
            write_tree(folder / name, inner)
        else:
            (folder / name).write_bytes(inner[0])
            (folder / name).chmod(inner[1])


@pytest.mark.slow
@given(FOLDERS)
def test_any_skill_is_mounted_identically_and_removed_completely(what: dict[str, Any]) -> None:
    """For any names, content and permissions. Mounting twice is the same as once."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        skill(top / "pdf")
        write_tree(top / "pdf", what)
        (mounted,) = mount([SkillMount(top / "pdf")], top / "home", host=HOST).skills
        expected = {path: (kind, mode & ~0o022, data) for path, (kind, mode, data) in content(top / "pdf").items()}
        assert content(mounted.destination) == expected
        assert mounted.digest == skill_digest(str(top / "pdf")) == skill_digest(mounted.destination)
        (row,) = json.loads((top / "home/.claude/.prowess-skills.json").read_text())["skills"]
        assert row["seal"] == portable_digest(mounted.destination)
        once = content(top / "home")
        mount([SkillMount(top / "pdf")], top / "home", host=HOST)
        assert content(top / "home") == once
        unmount(None, top / "home", host=HOST)
        assert os.listdir(top / "home") == []


@given(strategies.skill_bytes(), st.from_regex(r"[a-z0-9]{1,4}(-[a-z0-9]{1,3})?", fullmatch=True))
@example(b"---\nname: pdf\n\n  x\n# y\ndescription: d\n---\n", "true")
def test_a_new_name_changes_one_line_and_nothing_else(data: bytes, name: str) -> None:
    """Otherwise it is refused. Only the name is read differently."""
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


def test_mounted_skills_are_removed_and_nothing_else(top: Path, home: Path) -> None:
    """With the last skill the created folders and the record are removed."""
    mounts = [SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent)]
    mount(mounts[:1], home, host=HOST)
    one = content(home)
    mount(mounts, home, host=HOST)
    assert unmount(["ink", "ink"], home, host=HOST) == (str(home / ROOT / "ink"),)
    assert content(home) == one
    assert unmount(None, home, host=HOST) == (str(home / ROOT / "pdf"),)
    assert os.listdir(home) == []


def test_folders_that_existed_before_or_are_not_empty_stay(top: Path, home: Path) -> None:
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


def test_a_skill_that_was_not_mounted_is_not_removed(top: Path, home: Path) -> None:
    """With or without a home, a record or a folder of that name. All such names are reported."""
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


ROW: dict[str, Any] = {"name": "ink", "source": "/x", "seal": "trust1:0"}
NO_NAMES: tuple[Any, ...] = (None, 1, "", "..", ".", "../x", "a/b", "a\0", "\ud800")
NO_ROWS: tuple[dict[str, Any], ...] = (*({"name": name} for name in NO_NAMES), {"source": None}, {"seal": 1})
NO_TABLES: tuple[Any, ...] = (None, {}, ["ink"])
DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it is not valid JSON"),
    "half of it": (b'{"version": 1, "ma', "it is not valid JSON"),
    "no JSON": (b"x", "it is not valid JSON"),
    "no text": (b"\xff", "it is not valid JSON"),
    "very deep": (b"[" * 100_000, "it is not valid JSON"),
    "another version": (json.dumps({"version": 2}).encode(), "its version is not 1"),
    "a list": (b"[]", "its version is not 1"),
    **{
        f"made is {made!r}": (
            json.dumps({"version": 1, "made": made, "skills": []}).encode(),
            "`made` is not a list of folders",
        )
        for made in (None, "x", [1], ["../.."], ["/etc"], ["a/../b"], [""], ["a//b"], ["a\0b"], ["\ud800"])
    },
    **{
        f"skills are {rows!r}": (
            json.dumps({"version": 1, "made": [], "skills": rows}).encode(),
            "`skills` is not a list of objects",
        )
        for rows in NO_TABLES
    },
    **{
        f"a row has {change!r}": (
            json.dumps({"version": 1, "made": [], "skills": [ROW | change]}).encode(),
            "a skill has no `name`, `source` or `seal`",
        )
        for change in NO_ROWS
    },
    "5 MiB": (b" " * (5 << 20), "it is not a regular file of at most 4 MiB"),
}


@pytest.mark.parametrize("row", DAMAGED)
def test_a_damaged_record_is_invalid(row: str, world: World) -> None:
    """Nothing is mounted, replaced or removed on its word, and it stays as it is."""
    data, why = DAMAGED[row]
    home = world.fresh("v1")
    (home / RECORD).write_bytes(data)
    before = content(home)
    for call in (
        lambda: mount(world.sources(2), home, host=HOST),
        lambda: unmount(None, home, host=HOST),
        lambda: unmount(["ink"], home, host=HOST),
        lambda: read_record(str(home), ROOT),
    ):
        with pytest.raises(SkillMountError) as error:
            call()
        message = f"the mount record is invalid: {home}/{RECORD}: "
        assert str(error.value).startswith(message)
        assert str(error.value).removeprefix(message) == why
        assert error.value.hint == "remove it; then Prowess leaves alone the skills that are mounted there now"
        assert content(home) == before


@pytest.mark.parametrize("kind", ["a link to one", "a link to itself", "a folder", "a FIFO"])
def test_a_record_that_is_not_a_regular_file_is_invalid(kind: str, world: World, top: Path) -> None:
    """The target of a link is neither read nor written."""
    home = world.fresh("v1")
    record = home / RECORD
    record.rename(top / "record")
    if kind == "a folder":
        record.mkdir()
    elif kind == "a FIFO":
        os.mkfifo(record)
    else:
        record.symlink_to(top / "record" if kind == "a link to one" else record.name)
    before = content(home), content(top)
    for call in (lambda: mount(world.sources(2), home, host=HOST), lambda: unmount(None, home, host=HOST)):
        with pytest.raises(SkillMountError, match="the mount record is invalid"):
            call()
        assert (content(home), content(top)) == before


def test_without_a_record_mounted_skills_are_left_alone(world: World) -> None:
    """As the hint says."""
    home = world.fresh("v1")
    (home / RECORD).unlink()
    before = content(home)
    with pytest.raises(SkillMountError, match="already exists, and Prowess did not mount it"):
        mount(world.sources(2), home, host=HOST)
    assert unmount(None, home, host=HOST) == ()
    assert content(home) == before


def test_a_record_removes_only_folders_on_the_way_to_the_skills(world: World, top: Path) -> None:
    """Not another empty folder of the user, and not one behind a link, if a forged record lists them."""
    home = top / "home"
    outside = top / "outside/empty"
    outside.mkdir(parents=True)
    (home / "mine").mkdir(parents=True)
    (home / "way").symlink_to("../outside")
    mount(world.sources(1), home, host=HOST)
    table = json.loads((home / RECORD).read_text())
    table["made"] += ["mine", "way/empty", ".claude/skills/x", ".clau"]
    (home / RECORD).write_text(json.dumps(table))
    unmount(None, home, host=HOST)
    assert sorted(content(top)) == ["", "home", "home/mine", "home/way", "outside", "outside/empty"]
