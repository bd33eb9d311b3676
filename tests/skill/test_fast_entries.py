"""The parser of plain front matter returns what YAML returns, or nothing."""

from __future__ import annotations

from itertools import islice, product
from string import ascii_lowercase

import pytest
from hypothesis import given, strategies as st

from prowess.skill._fast import fast_parse_entries
from prowess.skill._frontmatter import parse_frontmatter
from prowess.skill._yaml import FrontmatterReader, scalar_kind
from support.strategies import examples

PLAIN_WORDS = st.sampled_from(
    [
        "a",
        "word",
        "Use when",
        "x: y",
        "x:y",
        "a #b",
        "a#b",
        "#",
        "- b",
        "'",
        '"',
        "  ",
        "é",
        "🎉",
        "ends:",
        "1.10",
        "yes",
        "~",
    ]
)
TEXT = st.one_of(st.lists(PLAIN_WORDS, max_size=4).map("".join), st.text(max_size=8))
KEY = st.sampled_from(["name", "description", "a", "x-y", "true", "null", "1", "a b", "'q'", "<<"])
LINE = st.one_of(
    st.builds("{}: {}".format, KEY, TEXT),
    st.builds('{}: "{}"'.format, KEY, TEXT),
    st.builds("{}: '{}'".format, KEY, TEXT),
    st.builds("{}:".format, KEY),
    st.builds("{}: {}".format, KEY, st.sampled_from([">", "|", ">-", "|-", ">+", "|2", "> x"])),
    st.builds("  {}: {}".format, KEY, TEXT),
    st.builds('  {}: "{}"'.format, KEY, TEXT),
    st.builds("  - {}".format, TEXT),
    st.builds("- {}".format, TEXT),
    st.builds("  {}".format, TEXT),
    st.builds("    {}".format, TEXT),
    TEXT,
)


ALMOST_PLAIN = st.text(alphabet="ab:#-' \",.é", max_size=10).map("w{}".format)
"""Text that is usually plain."""
KEYS = st.lists(st.sampled_from(["name", "description", "license", "metadata", "x", "y"]), unique=True, min_size=1)
INDENTED = st.one_of(
    st.lists(
        st.builds("  k{}: {}".format, st.integers(0, 9), ALMOST_PLAIN),
        min_size=1,
        max_size=3,
        unique_by=lambda x: x[:4],
    ),
    st.lists(ALMOST_PLAIN.map("  - {}".format), min_size=1, max_size=3),
)
BLOCK = st.tuples(
    st.sampled_from([">", ">-", "|", "|-"]), st.lists(ALMOST_PLAIN.map("  {}".format), min_size=1, max_size=3)
)
ENTRY = st.one_of(
    ALMOST_PLAIN.map(" {}\n".format),
    st.sampled_from([' "q: #"\n', " 'q: #'\n", "\n", ' ""\n']),
    INDENTED.map(lambda lines: "\n" + "".join(line + "\n" for line in lines)),
    BLOCK.map(lambda block: f" {block[0]}\n" + "".join(line + "\n" for line in block[1])),
)
PLAIN_FRONT = st.builds(
    lambda keys, entries: "".join(f"{key}:{entry}" for key, entry in zip(keys, entries, strict=False)),
    KEYS,
    st.lists(ENTRY, min_size=6, max_size=6),
)
ANY_FRONT = st.lists(LINE, min_size=1, max_size=6).map(lambda lines: "".join(line + "\n" for line in lines))


@pytest.mark.slow
@examples(8)
@given(st.one_of(PLAIN_FRONT, ANY_FRONT))
def test_plain_front_matter_is_parsed_as_yaml_does(front: str) -> None:
    """Keys, values, kinds and lines are the same, and YAML has no problem."""
    entries = fast_parse_entries(front)
    if entries is None:
        return
    source = front.split("\n")
    fields, problems = FrontmatterReader(source).read(source)
    assert problems == []
    assert [(key, value, line + 2) for key, value, _, line in entries] == [
        (key, field.value, field.line) for key, field in fields.items()
    ]
    for key, value, quoted, _ in entries:
        kind = "map" if isinstance(value, dict) else "list" if isinstance(value, tuple) else "text"
        if isinstance(value, str) and not quoted:
            kind = scalar_kind(value)
        assert fields[key].kind == kind


@pytest.mark.parametrize(
    "front",
    [
        pytest.param("name: a\ndescription: Use when asked. Or not?\n", id="two-lines"),
        pytest.param("name: \"a\"\ndescription: 'b: c'\n", id="quoted"),
        pytest.param("name: a\ndescription: >-\n  b\n  c\nlicense: MIT\n", id="folded"),
        pytest.param("name: a\nmetadata:\n  author: b\n  version: '1.0'\n", id="map"),
        pytest.param("name: a\nallowed-tools:\n  - Read\n  - Bash(git:*)\n", id="list"),
        pytest.param("name: a\ndescription: Voilà, ça marche 🎉\n", id="not-ascii"),
    ],
)
def test_common_front_matter_is_plain(front: str) -> None:
    """The forms of most published skills need no YAML."""
    assert fast_parse_entries(front) is not None


@pytest.mark.parametrize(
    "front",
    [
        "a: b: c\n",
        "a: [b]\n",
        "a: &b c\n",
        "a: b # c\n",
        "a: b\n  c\n",
        "a: b\na: c\n",
        "a:\n- b\n",
        "\ta: b\n",
        "# a\n",
    ],
)
def test_other_front_matter_is_left_to_yaml(front: str) -> None:
    """Colons, brackets, anchors, comments, continued lines, duplicates and tabs."""
    assert fast_parse_entries(front) is None


@pytest.mark.slow
def test_front_matter_with_too_many_lines_is_left_to_yaml() -> None:
    """YAML counts its events and refuses too many."""
    front = "".join(f"{''.join(key)}:\n" for key in islice(product(ascii_lowercase, repeat=3), 11_000))
    assert fast_parse_entries(front) is None
    assert [item.code for item in parse_frontmatter(f"---\n{front}---\n".encode()).findings] == ["yaml-too-long"]
