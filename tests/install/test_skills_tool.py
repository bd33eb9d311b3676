"""What the real tool `skills` 1.7.4 wrote, recorded by `python tests/skills_tool.py --record`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prowess.lock import computed_hash, parse_lock
from skills_tool import SKILLS, write_source

RECORDED = Path(__file__).parent / "skills_tool"


@pytest.mark.parametrize("name", ["added", "updated", "folder", "github", "site"])
def test_a_lock_of_the_tool_is_written_back_with_the_same_bytes(name: str) -> None:
    """Also one in which it kept our key."""
    text = (RECORDED / f"{name}.json").read_text(encoding="utf-8")
    lock = parse_lock(text)
    assert lock.to_text() == text
    assert list(lock.skills) == sorted(lock.skills)
    assert [skill.name for skill in lock.skills.values() if skill.tree_digest] == (["pdf"] if name == "updated" else [])


def test_the_hash_of_a_folder_is_that_of_the_tool(tmp_path: Path) -> None:
    """Or unknown, if the order of its files is."""
    entries = json.loads((RECORDED / "added.json").read_text(encoding="utf-8"))["skills"]
    assert set(entries) == set(SKILLS)
    write_source(tmp_path)
    for name, entry in entries.items():
        expected = None if name == "accents" else entry["computedHash"]
        assert computed_hash(str(tmp_path / entry["skillPath"].removesuffix("/SKILL.md"))) == expected
