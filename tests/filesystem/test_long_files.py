"""How much text follows the front matter does not change what a host makes of a skill.

Only the beginning of a long file is read, and of a very long one the body is not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mutations import folders_of
from prowess.catalog import discover
from prowess.hosts import host_names, load_host

if TYPE_CHECKING:
    from pathlib import Path

FRONT_MATTER = (
    "description: Use: it.",
    "description: Reads forms.\n\tlicense: MIT",
    "description: Reads forms.\nallowed-tools: [Read, Write]",
    'description: "Reads \\u0041 forms."',
    "description: [a",
    "description: Reads forms.\nx: {a: b}",
    "description: |\n   Reads forms.\n\n   And fills them.",
)
LENGTHS = (10, 5_000, 20_000, 70_000)
"""Bytes of the body: the first part that is read has 4 KiB, and front matter up to 64 KiB is kept."""


@pytest.mark.parametrize("ending", ["---\n", "---  \n", "---\n\n\n"])
@pytest.mark.parametrize("host", host_names())
def test_the_length_of_the_body_changes_no_answer(host: str, ending: str, tmp_path: Path) -> None:
    folder = tmp_path / "repo" / folders_of(load_host(host))[0]
    (tmp_path / "home").mkdir()
    for number, front in enumerate(FRONT_MATTER):
        for length in LENGTHS:
            file = folder / f"skill-{number}-{length}" / "SKILL.md"
            file.parent.mkdir(parents=True)
            file.write_text(f"---\nname: skill-{number}-{length}\n{front}\n{ending}Do it.\n\n{'x' * length}\n")
    entries = discover(tmp_path / "repo", host, home=tmp_path / "home", cache=False).skills
    answers = {entry.folder: (entry.state, entry.reason, entry.rule, entry.description) for entry in entries}
    for number in range(len(FRONT_MATTER)):
        short, *long = (answers.get(f"skill-{number}-{length}") for length in LENGTHS)
        assert long == [short] * len(long)
