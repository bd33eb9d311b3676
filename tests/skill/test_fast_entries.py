"""What is read without YAML is what YAML reads."""

from __future__ import annotations

from itertools import islice, product
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.skill._fast import fast_parse_entries
from prowess.skill._frontmatter import parse_frontmatter
from prowess.skill._yaml import FrontmatterReader, scalar_kind

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


ALMOST = st.text(alphabet="ab:#-' \",.é", max_size=10).map("w{}".format)
"""Text that is plain more often than not."""
KEYS = st.lists(st.sampled_from(["name", "description", "license", "metadata", "x", "y"]), unique=True, min_size=1)
BELOW = st.one_of(
    st.lists(
        st.builds("  k{}: {}".format, st.integers(0, 9), ALMOST), min_size=1, max_size=3, unique_by=lambda x: x[:4]
    ),
    st.lists(ALMOST.map("  - {}".format), min_size=1, max_size=3),
)
BLOCK = st.tuples(st.sampled_from([">", ">-", "|", "|-"]), st.lists(ALMOST.map("  {}".format), min_size=1, max_size=3))
ENTRY = st.one_of(
    ALMOST.map(" {}\n".format),
    st.sampled_from([' "q: #"\n', " 'q: #'\n", "\n", ' ""\n']),
    BELOW.map(lambda lines: "\n" + "".join(line + "\n" for line in lines)),
    BLOCK.map(lambda block: f" {block[0]}\n" + "".join(line + "\n" for line in block[1])),
)
TAME = st.builds(
    lambda keys, entries: "".join(f"{key}:{entry}" for key, entry in zip(keys, entries, strict=False)),
    KEYS,
    st.lists(ENTRY, min_size=6, max_size=6),
)
WILD = st.lists(LINE, min_size=1, max_size=6).map(lambda lines: "".join(line + "\n" for line in lines))


@settings(max_examples=3000)
@given(st.one_of(TAME, WILD))
def test_what_is_plain_is_read_as_yaml_reads_it(front: str) -> None:
    """Keys, values, kinds and places are the same, and YAML has nothing to say against it."""
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
    """The forms that most published skills have do not need YAML."""
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
def test_what_is_not_plain_beyond_doubt_is_left_to_yaml(front: str) -> None:
    """Colons, brackets, anchors, comments, continued lines, duplicates and tabs are YAML's to judge."""
    assert fast_parse_entries(front) is None


def test_more_lines_than_yaml_has_events_are_left_to_it() -> None:
    """It counts them, and refuses too many."""
    front = "".join(f"{''.join(key)}:\n" for key in islice(product(ascii_lowercase, repeat=3), 11_000))
    assert fast_parse_entries(front) is None
    assert [item.code for item in parse_frontmatter(f"---\n{front}---\n".encode()).findings] == ["yaml-too-long"]
