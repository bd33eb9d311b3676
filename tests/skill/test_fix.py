"""Repairs do not change the meaning of a SKILL.md."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from prowess.skill import from_document
from prowess.skill._fix import FixResult, fix, without_control_characters
from prowess.skill._frontmatter import parse_frontmatter

CASES = {
    "nothing": (b"---\nname: a\ndescription: b\n---\nbody", None),
    "quotes": (b"---\nname: a\ndescription: b: c # d\n---\n", b"---\nname: a\ndescription: 'b: c # d'\n---\n"),
    "mark": (b"\xef\xbb\xbf---\nname: a\n---\n", b"---\nname: a\n---\n"),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbf---\nname: a\n---\n", None),
    "blanks": (b"--- \t\nname: a\n--- \n--- \n", b"---\nname: a\n---\n--- \n"),
    "dashes": (b"-----\nname: a\n----\n", b"---\nname: a\n---\n"),
    "tabs": (b"---\nname: a\nmetadata:\n\tb: c\td\n---\n\tx\n", b"---\nname: a\nmetadata:\n  b: c\td\n---\n\tx\n"),
    "control": (b"---\nname: a\x00\x07\n---\n\x00", b"---\nname: a\n---\n\x00"),
    "control hides a fence": (b"---\nname: a\n-\x00--\nb: c\n---\n", None),
    "line ends": (b"---\rname: a\r---\rx\ry\n", b"---\nname: a\n---\nx\ry\n"),
    "hyphen": (b"---\nname: a\n'allowed_tools': Read\n---\n", b"---\nname: a\n'allowed-tools': Read\n---\n"),
    "both spellings": (b"---\nname: a\nallowed_tools: Read\nallowed-tools: Bash\n---\n", None),
    "no name": (b"---\r\n# c\r\ndescription: b\r\n---\r\n", b"---\r\nname: skill\r\n# c\r\ndescription: b\r\n---\r\n"),
    "no name, indented": (b"---\n  description: b\n---\n", b"---\n  name: skill\n  description: b\n---\n"),
    "no name, one line": (b"---\n{description: b}\n---\n", None),
    "not UTF-8": (b"---\nname: a\ndescription: @\xff\n---\n", None),
    "body not UTF-8": (b"---\nname: a\nx: @b\n---\n\xff", b"---\nname: a\nx: '@b'\n---\n\xff"),
    "not YAML": (b"---\nname: [a\ndescription: b: c\n---\n", None),
    "not YAML, no name": (b"---\ndescription: [b\nx: c: d\n---\n", None),
    "not YAML, control": (b"---\n': '\x00\n---\n", None),
    "no front matter": (b"name: a: b\n", None),
    "empty": (b"", None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_repair_changes_only_the_problem(case: str) -> None:
    """All other bytes stay."""
    before, after = CASES[case]
    assert fix(before, folder="skill").data == (before if after is None else after)


def test_changes_are_described() -> None:
    """One phrase for each repair, in the order of the file."""
    assert fix(b"---\ndescription: @b\n---\n", folder="skill") == FixResult(
        data=b"---\nname: skill\ndescription: '@b'\n---\n", changes=("quoted values", "added `name: skill`")
    )


def test_an_invalid_folder_name_is_not_added_as_a_name() -> None:
    """A name that breaks the rules is no repair."""
    data = b"---\ndescription: b\n---\n"
    assert fix(data, folder="My Skills").data == data


LINES = st.lists(
    st.sampled_from(
        [
            *("---", "--- ", "----", "name: a", "description: b: c", "x: @y", "\tz: 1", "  q: 2", "metadata:", "- a"),
            *(
                "allowed_tools: A B",
                '"allowed_tools": A',
                "a: |",
                "   text: more",
                "  \ttext",
                "b: [c",
                "d: {e: f}",
                "",
            ),
            *("g: 'h'", "# i: j", "k: \x00l", "m: n\x07: o", "{description: b}", "? p", "e: é\x85", "s: `t`"),
        ]
    ),
    max_size=12,
)
ENDS = st.lists(st.sampled_from(["\n", "\r\n", "\r", "\n"]), min_size=14, max_size=14)
TAILS = st.sampled_from([b"", b"\xff", b"\xef\xbb\xbf", b"\r", b"\x00body\r\n---\n"])


@given(LINES, ENDS, st.booleans(), TAILS, st.booleans())
def test_fields_and_body_stay_the_same(
    lines: list[str], ends: list[str], mark: bool, tail: bytes, fenced: bool
) -> None:
    """The parser returns the same fields after a repair, and a repaired file needs no repair."""
    all_lines = ["---", *lines, "---"] if fenced else lines
    text = "".join(line + end for line, end in zip(all_lines, ends, strict=False))
    data = (b"\xef\xbb\xbf" if mark else b"") + text.encode() + tail
    before, fixed = parse_frontmatter(data), fix(data)
    after = parse_frontmatter(fixed.data)
    assert from_document(after) == from_document(without_control_characters(before))
    assert after.body == before.body
    assert fix(fixed.data).changes == ()
    assert bool(fixed.changes) == (fixed.data != data)


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_can_be_repaired(data: bytes, folder: str) -> None:
    """A second repair changes nothing."""
    once = fix(b"---\n" + data + b"\n---\n", folder=folder)
    assert fix(once.data, folder=folder).data == once.data
