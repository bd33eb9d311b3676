"""The walk: what is entered, what is not, and that every skipped skill is reported."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from prowess.filesystem._filesystem import Filesystem
from prowess.find._roots import ScanRoot
from prowess.find._scan import ScanResult, scan
from prowess.hosts import Host, Root, load_host
from support.files import write_file
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def walk(top: Path, *more: Path, client: str = "prowess", **rules: Any) -> ScanResult:
    root = Root(path="skills", scope="project", **rules)
    host = replace(load_host("prowess"), name=client, roots=(root,))
    where = [ScanRoot(str(path), "project", root, project_folder=str(top)) for path in (top / "skills", *more)]
    return scan(host, where, project=str(top))


def found(result: ScanResult, top: Path) -> list[str]:
    return [os.path.relpath(item.path, top / "skills").removesuffix("/SKILL.md") for item in result.found]


def findings_of(result: ScanResult, top: Path) -> list[tuple[str, str]]:
    return [(item.code, os.path.relpath(item.path or "", top / "skills")) for item in result.findings]


def tree(top: Path, *folders: str) -> Path:
    top = top.resolve()
    for folder in folders:
        skill(top / "skills" / folder, "x")
    return top


DEPTHS = [
    pytest.param(0, [], id="0"),
    pytest.param(1, ["a"], id="1"),
    pytest.param(2, ["a", "b/c"], id="2"),
    pytest.param(3, ["a", "b/c", "b/d/e"], id="3"),
    pytest.param(-1, ["a", "b/c", "b/d/e", "b/d/f/g/h"], id="any"),
]


@pytest.mark.parametrize(("depth", "wanted"), DEPTHS)
def test_depth_limits_the_walk(depth: int, wanted: list[str], tmp_path: Path) -> None:
    """A skill one level below the last is a finding, and never an entry."""
    top = tree(tmp_path, "a", "b/c", "b/d/e", "b/d/f/g/h")
    result = walk(top, depth=depth)
    assert found(result, top) == wanted
    assert {code for code, _ in findings_of(result, top)} <= {"folder-too-deep"}


def test_skills_come_in_sorted_order_depth_first(tmp_path: Path) -> None:
    """By the code points of names, in any order of the file system."""
    top = tree(tmp_path, "b", "a/z", "a/b", "B", "c-d", "c", "é", "a-b")
    assert found(walk(top, depth=2), top) == ["B", "a/b", "a/z", "a-b", "b", "c", "c-d", "é"]


@pytest.mark.parametrize("inside", [False, True])
def test_a_skills_folder_is_entered_only_if_the_host_does(inside: bool, tmp_path: Path) -> None:
    """By the root's rule `inside`."""
    top = tree(tmp_path, "a", "a/b")
    assert found(walk(top, depth=3, inside=inside), top) == (["a", "a/b"] if inside else ["a"])


@pytest.mark.parametrize(
    ("name", "rules", "entered"),
    [
        pytest.param(".git", {}, False, id="git"),
        pytest.param("node_modules", {}, False, id="node_modules"),
        pytest.param(".hidden", {}, False, id="hidden"),
        pytest.param(".hidden", {"hidden": True}, True, id="hidden-allowed"),
        pytest.param(".git", {"hidden": True}, False, id="git-though-hidden-allowed"),
        pytest.param("dist", {"skip": ("dist",)}, False, id="own-list"),
        pytest.param("node_modules", {"skip": ("dist",)}, True, id="not-in-own-list"),
        pytest.param("__pycache__", {}, True, id="another-name"),
    ],
)
def test_folders_skipped_by_name_are_reported_if_they_contain_a_skill(
    name: str, rules: dict[str, Any], entered: bool, tmp_path: Path
) -> None:
    """An entry or a finding, for the folder itself and for one below it; nothing without a skill."""
    top = tree(tmp_path, name)
    (top / "skills/.empty").mkdir()
    result = walk(top, **rules)
    assert found(result, top) == ([name] if entered else [])
    assert findings_of(result, top) == ([] if entered else [("folder-skipped", f"{name}/SKILL.md")])
    deeper = tree(tmp_path / "two", f"{name}/x")
    result = walk(deeper, depth=2, **rules)
    assert found(result, deeper) == ([f"{name}/x"] if entered else [])
    assert findings_of(result, deeper) == ([] if entered else [("folder-skipped", f"{name}/x/SKILL.md")])


LINKS = [
    # linked_folders, target, found, finding
    pytest.param("follow", "inside", True, None, id="follow-inside"),
    pytest.param("follow", "outside", True, None, id="follow-outside"),
    pytest.param("follow", "absent", False, "folder-link", id="follow-nowhere"),
    pytest.param("bounded", "inside", True, None, id="bounded-inside"),
    pytest.param("bounded", "outside", False, "folder-link", id="bounded-outside"),
    pytest.param("skip", "inside", False, "folder-skipped", id="skip"),
]


@pytest.mark.parametrize(("rule", "target", "is_found", "code"), LINKS)
def test_linked_folders_are_followed_bounded_or_skipped(
    rule: str, target: str, is_found: bool, code: str | None, tmp_path: Path
) -> None:
    """As the root says; never silently."""
    top = tree(tmp_path / "project")
    (top / "skills").mkdir(parents=True)
    skill(top / "inside", "x")
    skill(tmp_path / "outside", "x")
    targets = {"inside": top / "inside", "outside": tmp_path / "outside", "absent": tmp_path / "absent"}
    (top / "skills/link").symlink_to(targets[target])
    result = walk(top, linked_folders=rule)
    assert found(result, top) == (["link"] if is_found else [])
    assert [item.code for item in result.findings] == ([code] if code else [])


def test_a_real_directory_is_visited_once_however_it_is_reached(tmp_path: Path) -> None:
    """By its own name, a link, a loop, or two roots with the same path."""
    top = tree(tmp_path, "a/one")
    (top / "skills/b").symlink_to("a")
    (top / "skills/a/loop").symlink_to(top / "skills")
    (top / "again").symlink_to("skills")
    result = walk(top, top / "again", top / "skills", depth=-1)
    assert found(result, top) == ["a/one"]


def test_a_file_reached_twice_is_found_once(tmp_path: Path) -> None:
    """For two SKILL.md that are links to one file."""
    top = tree(tmp_path, "a")
    for name in ("b", "c"):
        (top / "skills" / name).mkdir()
        (top / "skills" / name / "SKILL.md").symlink_to("../a/SKILL.md")
    assert found(walk(top), top) == ["a"]


OWN = [
    pytest.param("no", ["a"], ["folder-skipped"], id="no"),
    pytest.param("yes", ["", "a"], [], id="yes"),
    pytest.param("last", ["a", ""], [], id="last"),
    pytest.param("alone", [""], [], id="alone"),
]


@pytest.mark.parametrize(("own", "wanted", "findings"), OWN)
def test_a_skill_in_the_root_itself_counts_as_the_host_says(
    own: str, wanted: list[str], findings: list[str], tmp_path: Path
) -> None:
    """As no skill, a skill, the last skill or the only one; if it does not count, it is reported."""
    top = tree(tmp_path, "a")
    skill(top / "skills", "root")
    result = walk(top, own=own, inside=own == "yes")
    assert [name.replace("SKILL.md", "") for name in found(result, top)] == wanted
    assert [item.code for item in result.findings] == findings


@pytest.mark.parametrize(("client", "count_skills"), [("prowess", False), ("codex", True)])
def test_the_limit_of_a_walk_is_reported(client: str, count_skills: bool, tmp_path: Path) -> None:
    """Folders without a skill count; for Codex also those with a skill."""
    top = tree(tmp_path, *(f"s{number}" for number in range(9)))
    for number in range(3):
        (top / f"skills/e{number}").mkdir()
        (top / f"skills/e{number}/notes.txt").touch()
    assert len(found(walk(top, depth=2, max_folders=20, client=client), top)) == 9
    result = walk(top, depth=2, max_folders=4, client=client)
    assert len(found(result, top)) == (0 if count_skills else 9)
    assert [item.code for item in result.findings] == (["folder-limit"] if count_skills else [])
    result = walk(top, depth=2, max_folders=7, client=client)
    assert len(found(result, top)) == (3 if count_skills else 9)
    result = walk(top, depth=2, max_folders=2)
    assert [item.code for item in result.findings] == ["folder-limit"]


@pytest.mark.parametrize(("client", "count_empty"), [("prowess", False), ("codex", True)])
def test_empty_folders_hide_no_skills(client: str, count_empty: bool, tmp_path: Path) -> None:
    """But for Codex, which counts them too."""
    top = tree(tmp_path, "z")
    for number in range(9):
        (top / f"skills/e{number}").mkdir()
    result = walk(top, depth=2, max_folders=4, client=client)
    assert len(found(result, top)) == (0 if count_empty else 1)


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_skill_file_in_another_case_is_reported(name: str, tmp_path: Path) -> None:
    """Clients look for `SKILL.md` exactly."""
    top = tmp_path.resolve()
    write_file(top / "skills/a" / name, "---\nname: a\ndescription: d\n---\n")
    if (top / "skills/a/SKILL.md").exists():
        pytest.skip("this file system does not tell upper case from lower case")
    assert findings_of(walk(top), top) == [("file-name-case", f"a/{name}")]


def test_loose_files_are_skills_if_the_host_says_so(tmp_path: Path) -> None:
    """`*.md` in the root itself, not below it."""
    top = tree(tmp_path, "a")
    (top / "skills/flat.md").write_text("---\nname: flat\ndescription: d\n---\n")
    write_file(top / "skills/b/flat.md", "---\nname: flat2\ndescription: d\n---\n")
    assert found(walk(top), top) == ["a"]
    assert sorted(found(walk(top, loose=True), top)) == ["a", "flat.md"]


def test_loose_files_below_the_root_are_skills_for_pi(tmp_path: Path) -> None:
    """Instead of those in the root: in folders without a SKILL.md, in the order of their names among folders."""
    top = tree(tmp_path, "a", "c/z")
    text = "---\nname: flat\ndescription: d\n---\n"
    for name in ("flat.md", "a/flat.md", "b/flat.md", "c/y.md", "c/zz.md", "c/.hidden.md", "c/flat.txt"):
        (top / "skills" / name).parent.mkdir(exist_ok=True)
        (top / "skills" / name).write_text(text)
    (top / "skills/d").mkdir()
    (top / "skills/d/link.md").symlink_to("../c/y.md")
    (top / "skills/d/other.md").symlink_to("../b/flat.md")
    assert found(walk(top, client="pi", depth=2), top) == ["a", "b/flat.md", "c/y.md", "c/z", "c/zz.md"]
    assert found(walk(top, loose=True), top) == ["a", "flat.md"]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        pytest.param(lambda path: path.write_text("x"), "root-not-folder", id="file"),
        pytest.param(lambda path: path.symlink_to("nowhere"), "root-not-folder", id="broken-link"),
        pytest.param(lambda path: path.symlink_to("skills"), "root-not-folder", id="loop"),
        pytest.param(lambda _: None, None, id="absent"),
    ],
)
def test_a_root_that_is_not_a_folder_is_reported(make: Any, code: str | None, tmp_path: Path) -> None:
    """A root that does not exist is normal."""
    top = tmp_path.resolve()
    make(top / "skills")
    assert [item.code for item in walk(top).findings] == ([code] if code else [])


def test_a_skill_file_that_is_a_folder_may_hold_skills(tmp_path: Path) -> None:
    """A folder named `SKILL.md` is reported, and its parent is scanned like any other."""
    top = tree(tmp_path, "a/b")
    (top / "skills/a/SKILL.md").mkdir()
    result = walk(top, depth=2)
    assert sorted(found(result, top)) == ["a", "a/b"]
    assert result.found[0].skill.findings[0].code == "file-not-regular"


def test_a_host_without_roots_scans_nothing(tmp_path: Path) -> None:
    """No roots, no skills, no findings."""
    empty = Host(name="x", title="X")
    assert scan(empty, [], project=str(tmp_path)) == ScanResult(scan_roots=(), found=(), findings=())


def test_skills_right_below_a_folder_may_come_first(tmp_path: Path) -> None:
    """For Kimi Code; the order of the rest stays."""
    top = tree(tmp_path, "a/z", "a/b/c", "b", "d")
    assert found(walk(top, depth=3), top) == ["a/b/c", "a/z", "b", "d"]
    assert found(walk(top, depth=3, client="kimi-code"), top) == ["b", "d", "a/z", "a/b/c"]


def test_a_hidden_folder_may_be_a_skill_itself(tmp_path: Path) -> None:
    """For Kimi Code; folders in it are still skipped."""
    top = tree(tmp_path, ".a", ".b/c", "node_modules", "d")
    assert found(walk(top, depth=2), top) == ["d"]
    assert sorted(found(walk(top, depth=2, client="kimi-code"), top)) == [".a", "d", "node_modules"]


@pytest.mark.parametrize("rules", [{"inside": True}, {"ignore_files": True}], ids=str)
def test_a_file_that_a_listing_lacks_is_not_looked_for(
    rules: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither SKILL.md in each folder inside a skill, nor the ignore files of each folder."""
    top = tree(tmp_path, "a", "b")
    for name in ("a/docs", "b/docs/images", "empty"):
        (top / "skills" / name).mkdir(parents=True)
    (top / "skills/b/.ignore").write_text("nothing\n")
    opened: list[str] = []
    real_open = os.open

    def noting(path: Any, *rest: Any, **named: Any) -> int:
        opened.append(os.path.relpath(path, top / "skills"))
        return real_open(path, *rest, **named)

    monkeypatch.setattr(os, "open", noting)
    assert found(walk(top, depth=-1, **rules), top) == ["a", "b"]
    ignored = [f"b/{name}" for name in (".gitignore", ".ignore", ".fdignore")] if "ignore_files" in rules else []
    assert opened == ["a/SKILL.md", *ignored, "b/SKILL.md"]


def test_a_folder_without_a_skill_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of empty folders cost one attempt to open SKILL.md and one listing each."""
    top = tree(tmp_path, "a")
    (top / "skills/empty").mkdir()
    opened: list[str] = []
    real_open = os.open

    def noting(path: Any, *rest: Any) -> int:
        opened.append(path)
        return real_open(path, *rest)

    monkeypatch.setattr(os, "open", noting)
    assert found(walk(top, depth=4), top) == ["a"]
    assert opened == [str(top / "skills/a/SKILL.md"), str(top / "skills/empty/SKILL.md")]


def test_a_linked_root_is_not_searched_twice(tmp_path: Path) -> None:
    """What its folders contain is known by their real paths too."""
    top = tree(tmp_path, "a")
    (top / "linked").symlink_to("skills")
    root = Root(path="linked", scope="project", inside=True, depth=-1)
    filesystem = Filesystem()
    where = [ScanRoot(str(top / "linked"), "project", root, project_folder=str(top))]
    scan(replace(load_host("prowess"), roots=(root,)), where, project=str(top), filesystem=filesystem)
    assert filesystem.may_contain(str(top / "skills/a"), "skill.md")
    assert not filesystem.may_contain(str(top / "skills/a"), "plugin.json")
    assert filesystem.may_contain(str(top / "elsewhere"), "plugin.json")
