"""What is served of a catalog: entries, files and directories, by the rules of SEP-2640."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from prowess import discover
from prowess.errors import SkillFileError
from prowess.mcp import ServedCatalog
from prowess.mcp._served import Digests
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILLS = ".agents/skills"


def serve(project: Path, *only: str) -> ServedCatalog:
    return ServedCatalog(discover(project, home=str(project / "home")), Digests(), frozenset(only))


def test_an_entry_has_the_front_matter_and_every_file_with_digest_and_size(tmp_path: Path) -> None:
    """The digest is over the bytes of the file."""
    folder = skill(tmp_path / SKILLS / "pages", more="version: 1.10\n").parent
    (folder / "notes").mkdir()
    (folder / "notes/a b.md").write_bytes(b"x\r\n")
    (served,) = serve(tmp_path).skills.values()
    entry = served.as_dict()
    assert entry["uri"] == "skill://pages/SKILL.md"
    assert entry["frontmatter"] == {"name": "pages", "description": "Does pages. Use it for pages.", "version": 1.1}
    digest = "sha256:" + hashlib.sha256(b"x\r\n").hexdigest()
    assert entry["resources"][1] == {"uri": "skill://pages/notes/a%20b.md", "digest": digest, "size": 3}
    assert entry["resources"][0]["uri"] == "skill://pages/SKILL.md"


def test_a_changed_file_has_a_new_digest_and_an_unchanged_one_is_not_read(tmp_path: Path) -> None:
    """The next catalog uses the same digests."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "a.txt").write_text("1")
    digests, catalog = Digests(), discover(tmp_path, home=str(tmp_path / "home"))
    before = ServedCatalog(catalog, digests).files["skill://pages/a.txt"]
    (folder / "a.txt").write_text("2")
    after = ServedCatalog(catalog, digests).files["skill://pages/a.txt"]
    assert (before.digest != after.digest, after.read()) == (True, b"2")


def test_directories_have_their_direct_children(tmp_path: Path) -> None:
    """Without a slash at the end; a file is not a directory."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/c.txt").write_text("1")
    folders = serve(tmp_path).folders
    assert {uri: sorted(children) for uri, children in folders.items()} == {
        "skill://pages": ["skill://pages/SKILL.md", "skill://pages/a"],
        "skill://pages/a": ["skill://pages/a/b"],
        "skill://pages/a/b": ["skill://pages/a/b/c.txt"],
    }


def test_links_are_not_served(tmp_path: Path) -> None:
    """Neither one inside the skill nor one that appears when the file is read."""
    (tmp_path / "secret").write_text("secret")
    folder = skill(tmp_path / SKILLS / "pages").parent
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "a.txt").write_text("1")
    served = serve(tmp_path)
    assert sorted(served.files) == ["skill://pages/SKILL.md", "skill://pages/a.txt"]
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(SkillFileError, match=r"`a\.txt` cannot be read"):
        served.files["skill://pages/a.txt"].read()


def test_a_skill_in_another_one_is_below_its_path(tmp_path: Path) -> None:
    """Its files are files of both, with the same addresses."""
    outer = skill(tmp_path / SKILLS / "outer").parent
    skill(outer / "more/inner")
    served = ServedCatalog(discover(tmp_path, skill_dirs=[outer / "more"], home=str(tmp_path / "home")), Digests())
    assert sorted(served.skills) == ["skill://outer/SKILL.md", "skill://outer/more/inner/SKILL.md"]
    uris = [file.uri for file in served.skills["skill://outer/SKILL.md"].files]
    assert uris == ["skill://outer/SKILL.md", "skill://outer/more/inner/SKILL.md"]


def test_what_breaks_a_rule_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """Other clients fail on the whole list."""
    skill(tmp_path / SKILLS / "good")
    skill(tmp_path / SKILLS / "Bad_Name")
    anchored = skill(tmp_path / SKILLS / "anchored", more="metadata: &a {x: 1}\nother: *a\n")
    assert anchored.exists()
    served = serve(tmp_path)
    assert [*served.skills] == ["skill://good/SKILL.md"]
    reasons = {entry.folder: reason for entry, reason in served.left_out}
    assert reasons["Bad_Name"] == "its name breaks the rules of agentskills.io"
    assert reasons.get("anchored", "its front matter cannot be sent as JSON").startswith("its front matter")


def test_only_named_skills_are_served(tmp_path: Path) -> None:
    """A page of others begins behind the last one."""
    for name in ("a", "b", "c"):
        skill(tmp_path / SKILLS / name)
    assert [*serve(tmp_path, "b").skills] == ["skill://b/SKILL.md"]
    served = serve(tmp_path)
    page, last = served.page(None, 2)
    assert ([item.uri for item in page], last) == (["skill://a/SKILL.md", "skill://b/SKILL.md"], "skill://b/SKILL.md")
    page, last = served.page(last, 2)
    assert ([item.uri for item in page], last) == (["skill://c/SKILL.md"], None)


def test_a_file_that_disappears_leaves_its_skill_out(tmp_path: Path) -> None:
    """An incomplete list of files would be wrong."""
    folder = skill(tmp_path / SKILLS / "pages").parent
    catalog = discover(tmp_path, home=str(tmp_path / "home"))
    os.unlink(folder / "SKILL.md")
    assert [*ServedCatalog(catalog, Digests()).skills] == []
