"""What is served of a catalog: entries, files and directories, by the rules of SEP-2640."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from prowess import discover
from prowess.errors import SkillFileError
from prowess.mcp import ServedCatalog
from prowess.mcp._contents import SkillContents
from support.files import write_file
from support.growth import ends
from support.rows import rows
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILLS = ".agents/skills"


def serve(project: Path, *only: str) -> ServedCatalog:
    return ServedCatalog(discover(project, home=str(project / "home")), SkillContents(), frozenset(only))


def test_an_entry_has_the_front_matter_and_every_file_with_digest_and_size(tmp_path: Path) -> None:
    """The digest is over the bytes of the file."""
    folder = skill(tmp_path / SKILLS / "pages", more="version: 1.10\n").parent
    write_file(folder / "notes/a b.md", b"x\r\n")
    served = serve(tmp_path)
    found = served.skill(served.uris[0])
    assert found is not None
    entry = found.as_dict()
    assert entry["uri"] == "skill://pages/SKILL.md"
    assert entry["frontmatter"] == {"name": "pages", "description": "Does pages. Use it for pages.", "version": 1.1}
    digest = "sha256:" + hashlib.sha256(b"x\r\n").hexdigest()
    assert entry["resources"][1] == {"uri": "skill://pages/notes/a%20b.md", "digest": digest, "size": 3}
    assert entry["resources"][0]["uri"] == "skill://pages/SKILL.md"


def test_a_changed_file_has_a_new_digest_at_once(tmp_path: Path) -> None:
    """Also one that the catalog does not depend on; its front matter is that of its SKILL.md."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "a.txt").write_text("1")
    served = serve(tmp_path)
    before = entry_of(served, "skill://pages/SKILL.md")
    (folder / "a.txt").write_text("2")
    (folder / "b.txt").write_text("3")
    skill(folder, more="license: MIT\n")
    after = entry_of(served, "skill://pages/SKILL.md")
    changed = [new["uri"] for new in after["resources"] if new not in before["resources"]]
    assert changed == ["skill://pages/SKILL.md", "skill://pages/a.txt", "skill://pages/b.txt"]
    assert after["frontmatter"]["license"] == "MIT"


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    """If it was old enough when it was read: then its status shows each change."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "a.txt").write_text("1")
    contents, pages = SkillContents(), [("pages", str(folder))]
    with patch("prowess.mcp._contents.SETTLE_NS", 0):
        (first,) = contents.current(pages)
        with patch("prowess.mcp._contents.open_inside", side_effect=OSError):
            assert contents.current(pages) == [first]
            (folder / "b").mkdir()
            (second,) = contents.current(pages)
    assert (second is first, second.entry) == (False, first.entry)


def entry_of(served: ServedCatalog, uri: str) -> dict[str, Any]:
    found = served.skill(uri)
    assert found is not None
    return found.as_dict()


def test_directories_have_their_direct_children(tmp_path: Path) -> None:
    """Without a slash at the end; a file is not a directory, and neither is what is outside."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    write_file(folder / "a/b/c.txt", "1")
    (folder / "empty").mkdir()
    (folder / "up").symlink_to(tmp_path)
    served = serve(tmp_path)
    assert served.children("skill://pages") == {"skill://pages/SKILL.md": "SKILL.md", "skill://pages/a": None}
    assert served.children("skill://pages/a") == {"skill://pages/a/b": None}
    assert served.children("skill://pages/a/b") == {"skill://pages/a/b/c.txt": "a/b/c.txt"}
    assert served.children("skill://pages/empty") == {}
    for uri in ("skill://pages/", "skill://pages/SKILL.md", "skill://pages/..", "skill://pages/up", "skill://", ""):
        assert served.children(uri) is None


@pytest.mark.parametrize("uri", rows(__file__, "a_file_has_one_uri"))
def test_a_file_has_one_uri(tmp_path: Path, uri: str) -> None:
    """What is written in another way is not served."""
    (skill(tmp_path / SKILLS / "pages").parent / "a.txt").write_text("1")
    served = serve(tmp_path)
    assert served.file("skill://pages/a.txt") is not None
    assert served.file(uri) is None


def test_a_long_uri_is_answered_as_fast_as_it_is_read(tmp_path: Path) -> None:
    """Work for each folder of a message with `/` alone would take hours."""
    skill(tmp_path / SKILLS / "pages")
    served = serve(tmp_path)
    uri = "skill://" + "a/" * 2_000_000
    with ends():
        assert served.file(f"{uri}a") is None
        assert served.children(f"{uri}a") is None


def test_links_are_not_served(tmp_path: Path) -> None:
    """Neither one inside the skill nor one that appears when the file is read."""
    (tmp_path / "secret").write_text("secret")
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "a.txt").write_text("1")
    served = serve(tmp_path)
    uris = [resource["uri"] for resource in entry_of(served, "skill://pages/SKILL.md")["resources"]]
    assert uris == ["skill://pages/SKILL.md", "skill://pages/a.txt"]
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    for name in ("a.txt", "link"):
        file = served.file(f"skill://pages/{name}")
        assert file is not None
        with pytest.raises(SkillFileError, match="cannot be read"):
            file.read()


def test_a_skill_in_another_one_is_below_its_path(tmp_path: Path) -> None:
    """Its files are files of both, with the same addresses."""
    outer = skill(tmp_path / SKILLS / "outer").parent
    skill(outer / "more/inner")
    served = ServedCatalog(
        discover(tmp_path, skill_dirs=[outer / "more"], home=str(tmp_path / "home")), SkillContents()
    )
    assert served.uris == ["skill://outer/SKILL.md", "skill://outer/more/inner/SKILL.md"]
    uris = [resource["uri"] for resource in entry_of(served, "skill://outer/SKILL.md")["resources"]]
    assert uris == ["skill://outer/SKILL.md", "skill://outer/more/inner/SKILL.md"]


def test_what_breaks_a_rule_is_left_out(tmp_path: Path) -> None:
    """Other clients fail on the whole list."""
    skill(tmp_path / SKILLS / "good")
    skill(tmp_path / SKILLS / "bad", name="Bad_Name")
    skill(tmp_path / SKILLS / "number", name="'1'", more=f"long: {'9' * 400}\n")
    served = serve(tmp_path)
    assert [item.uri for item in served.page(None, 10)[0]] == ["skill://good/SKILL.md"]
    reasons = {entry.folder: reason for entry, reason in served.left_out}
    assert reasons["bad"] == "its name breaks the rules of agentskills.io"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        *rows(__file__, "a_field_that_clients_refuse_leaves_its_skill_out"),
        (f"compatibility: {'x' * 501}\n", "its `compatibility` has more than 500 characters"),
    ],
)
def test_a_field_that_clients_refuse_leaves_its_skill_out(tmp_path: Path, more: str, problem: str) -> None:
    """The official TypeScript client refuses the whole list otherwise."""
    skill(tmp_path / SKILLS / "good", more='metadata:\n  version: "1.0"\n')
    skill(tmp_path / SKILLS / "odd", more=more)
    served = serve(tmp_path)
    assert [item.uri for item in served.page(None, 10)[0]] == ["skill://good/SKILL.md"]
    assert served.problems["odd"].startswith(problem)


def test_only_named_skills_are_served_in_pages(tmp_path: Path) -> None:
    """A page begins behind the last skill of the one before."""
    for name in ("a", "b", "c"):
        skill(tmp_path / SKILLS / name)
    assert serve(tmp_path, "b").uris == ["skill://b/SKILL.md"]
    served = serve(tmp_path)
    page, last = served.page(None, 2)
    assert ([item.uri for item in page], last) == (["skill://a/SKILL.md", "skill://b/SKILL.md"], "b")
    page, last = served.page(last, 2)
    assert ([item.uri for item in page], last) == (["skill://c/SKILL.md"], None)


def test_a_large_skill_is_reported_before_and_after_it_is_read(tmp_path: Path) -> None:
    """By its bytes too, though it has few files; a field of the front matter is not the size of a file."""
    large = skill(tmp_path / ".prowess/skills/large").parent
    for number in range(2):
        with (large / f"{number}.bin").open("wb") as file:
            file.truncate((8 << 20) + 1)
    skill(tmp_path / ".prowess/skills/small", more="size: 999999999\n")
    served = serve(tmp_path)
    unread = [*served.large()]
    assert [name for name, _ in unread] == ["large"]
    served.page(None, 10)
    assert [*served.large()] == unread


def test_skills_with_one_name_have_different_paths(tmp_path: Path) -> None:
    """The last part is the name of both."""
    for folder in ("project", "home"):
        skill(tmp_path / folder / SKILLS / "pages")
    catalog = discover(tmp_path / "project", host="codex", home=str(tmp_path / "home"), env={})
    served = ServedCatalog(catalog, SkillContents())
    assert {uri.rpartition("/")[0].rpartition("/")[2] for uri in served.uris} == {"pages"}
    assert len({*served.uris}) == len(served.uris)


def test_a_skill_that_disappears_or_gets_another_name_is_not_listed(tmp_path: Path) -> None:
    """Until the catalog is read again."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    served = serve(tmp_path)
    skill(folder, name="other")
    assert served.page(None, 10) == ([], None)
    os.unlink(folder / "SKILL.md")
    assert served.skill("skill://pages/SKILL.md") is None
