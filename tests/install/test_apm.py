from __future__ import annotations

from pathlib import Path

from prowess.install import read_apm_lock


def test_the_lock_that_apm_wrote_is_read() -> None:
    """Recorded by `python tests/apm_tool.py --record`, with version 0.35.0."""
    lock = read_apm_lock(str(Path(__file__).parent / "apm_tool/apm.lock.yaml"))
    taken = {skill.entry.name: (skill.entry.source, skill.entry.ref, skill.entry.skill_path) for skill in lock.skills}
    assert taken == {
        "notes": ("./packages/notes", None, None),
        "docx": ("acme/skills", None, "skills/docx/SKILL.md"),
        "pdf": ("acme/skills", "main", "skills/pdf/SKILL.md"),
    }
    assert lock.left_out == ()
    assert all(len(skill.entry.revision or "") == 40 for skill in lock.skills if skill.entry.source_type == "github")
    assert {len(skill.folders) for skill in lock.skills} == {2}
    assert all(len(value) == 64 for skill in lock.skills for value in skill.hashes.values())
