"""The fast parser returns what the full parser and YAML return, or nothing.

`PROWESS_FUZZ_SEED` repeats a run with damaged files; `PROWESS_DAMAGED_FILES` is their number.
"""

from __future__ import annotations

import os
import random
import string
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess.catalog._plain_findings import has_simple_fields
from prowess.skill import from_document
from prowess.skill._fast import fast_parse
from prowess.skill._frontmatter import MAX_FRONTMATTER_BYTES, parse_frontmatter
from prowess.skill._rules import check_skill
from prowess.skill._yaml import FrontmatterReader
from support.growth import assert_linear
from support.strategies import examples
from test_fuzz import REAL, TOKENS
from test_golden import CASES, golden_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = int(os.environ.get("PROWESS_FUZZ_SEED", "20261124"))
DAMAGED_FILES = int(os.environ.get("PROWESS_DAMAGED_FILES", "10000"))
EXAMPLES = Path(__file__).parents[2] / "examples"
PATH = "/skills/pdf-forms/SKILL.md"

BODY_CODES = frozenset(("encoding-not-utf8", "encoding-nul"))
"""Findings of the full parser about the body."""


def fast_parse_agrees(data: bytes) -> bool:
    """Tell whether a file is parsed fast; if so, compare the result with the full parser, YAML and the rules."""
    parsed = fast_parse(data)
    if parsed is None:
        return False
    name, description, keys, front = parsed
    assert data.startswith(front)
    assert front.startswith(b"---\n")
    assert front.endswith(b"\n---\n")
    head, part, whole = (
        parse_frontmatter(front, PATH, complete=False),
        parse_frontmatter(data, PATH, complete=False),
        parse_frontmatter(data, PATH),
    )
    assert head.findings == part.findings == ()
    assert BODY_CODES.issuperset(item.code for item in whole.findings)
    assert head.frontmatter == part.frontmatter == whole.frontmatter == front[4:-4].decode()
    fields = head.fields
    assert fields == part.fields == whole.fields
    assert (fields["name"].value, fields["name"].kind) == (name, "text")
    assert fields["description"].kind == "text"
    assert fields["description"].value in (description, description + "\n")
    assert str(fields["description"].value).strip() == description
    assert fields.keys() == keys
    skill = from_document(head, PATH)
    assert skill == from_document(whole, PATH).with_changes(body="")
    lines = head.frontmatter.split("\n")
    assert FrontmatterReader(lines).read(lines) == (fields, [])
    if has_simple_fields(front):
        codes = [item.code for item in check_skill(skill)]
        assert all(code.startswith(("name-", "description-")) for code in codes), codes
    return True


def file(*lines: str) -> bytes:
    """Return a file with these lines as front matter, and a body."""
    return "\n".join(("---", *lines, "---", "", "Do it.", "")).encode()


def named(*lines: str) -> bytes:
    """Return a file with a name, a description and these lines."""
    return file("name: pdf-forms", "description: Fills forms", *lines)


# ── generated files ──────────────────────────────────────────────────────────────────────────────────────────────────

PUNCTUATION = st.sampled_from(string.punctuation)
UNUSUAL = st.sampled_from(
    ["\t", "\r", "\x00", "\x7f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\uffff", "é", "🎉"]
)
SCALARS = st.sampled_from(
    [
        *("true", "True", "null", "Null", "~", "y", "on", "No", "1:30", "0x1 2", "0x1f", "1e3", "1.5", ".5 a", "1_000"),
        *(
            "2026-11-01",
            "2026-11-01 10:00:00",
            "a",
            "",
            " ",
            "---",
            "...",
            "--- a",
            "- a",
            "-",
            "? a",
            "a: b",
            "a:",
            ":",
        ),
        *("a #b", "a# b", "#a", '"a b"', "'a b'", '"a', "'a", '"a" b', '"a b" ', '"a\\tb"', "'it''s so'", '" a b"'),
        *("'a b  '", '""', "''", "[a, b]", "{a: b}", "[a", "*a b", "&a b", "!a b", "!!str a b", "%a b", "@a b", "`a b"),
        *("| a", "> a", ">+", "|2", "a ", "a  b ", "<<", "x'y", 'x"y'),
    ]
)
WORDS = st.builds("{} {}".format, st.sampled_from(["Fills", "x", "Use when: asked", "a #b"]), st.sampled_from("ab"))
VALUE_WITH_MARK = st.one_of(
    st.builds("{}Fills forms".format, PUNCTUATION),
    st.builds("Fills {}forms".format, PUNCTUATION),
    st.builds("Fills{} forms".format, PUNCTUATION | UNUSUAL),
    st.builds("Fills forms{}".format, PUNCTUATION | UNUSUAL),
    st.builds('"Fills {}forms"'.format, PUNCTUATION | UNUSUAL),
    st.builds("'Fills {}forms'".format, PUNCTUATION | UNUSUAL),
)
PLAIN_VALUE = st.just("Fills forms")
VALUE = st.one_of(
    PLAIN_VALUE,
    PLAIN_VALUE,
    PLAIN_VALUE,
    PLAIN_VALUE,
    WORDS,
    VALUE_WITH_MARK,
    SCALARS,
    st.text(" ab:#'\"-\\", max_size=8),
)
NAME = st.one_of(
    *[st.just("pdf-forms")] * 4,
    st.from_regex(r"[a-z0-9-]{1,5}", fullmatch=True),
    st.sampled_from(['"a-b"', "'a-b'", "'a-b' ", "a-b ", "a" * 64, "a" * 65, '"null"', "a_b", "A-b", "a--b", "é"]),
    SCALARS,
)
KEY = st.one_of(
    *[st.sampled_from(["license", "compatibility", "metadata", "allowed-tools", "paths", "requires", "x_y"])] * 3,
    st.sampled_from(["true", "null", "y", "<<", "?", "? x", "-", "1", "a b", '"q"', "k" * 64, "k" * 65, "name", "é"]),
)
INDENT = st.sampled_from(["  "] * 12 + ["    ", " ", "", "\t", "   "])
INNER_KEY = st.sampled_from(["a", "b", "c", "d-e", "short-description"])
INDENTED_LINES = st.one_of(
    st.lists(st.builds("{}{}: {}".format, INDENT, INNER_KEY, VALUE), min_size=1, max_size=3),
    st.lists(st.builds("  {}: {}".format, INNER_KEY, WORDS), min_size=1, max_size=3),
    st.lists(st.builds("{}- {}".format, INDENT, VALUE), min_size=1, max_size=3),
    st.lists(st.builds("{}{}".format, INDENT, VALUE), min_size=1, max_size=2),
)
BLOCK = st.lists(
    st.one_of(
        st.builds("  {}".format, VALUE),
        st.builds("{}{}{}".format, INDENT, VALUE, st.sampled_from(["", " ", "  "])),
        st.sampled_from(["", "  ", "  # a b", "# a b", "  - a", "  a: b", "    deeper", "  \tb"]),
    ),
    min_size=1,
    max_size=3,
).map("\n".join)
BLOCK_INDICATOR = st.sampled_from([">", ">-", "|", "|-"] * 3 + [">+", "> ", "|2"])


def entry(key: st.SearchStrategy[str], value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return fields in all their forms."""
    return st.one_of(
        st.builds("{}: {}".format, key, value),
        st.builds("{}: {}\n{}".format, key, BLOCK_INDICATOR, BLOCK),
        st.builds("{}:\n{}".format, key, INDENTED_LINES.map("\n".join)),
        st.builds("{}:{}".format, key, st.sampled_from(["", " ", "x", "  a b"])),
    )


DESCRIPTION = entry(st.just("description"), VALUE)
FURTHER_LINE = st.one_of(
    entry(KEY, VALUE),
    st.builds("metadata:\n{}".format, INDENTED_LINES.map("\n".join)),
    VALUE,
    st.sampled_from(["# a comment", "", "  ", "...", "--- ", "- a", "description: Again a"]),
)
FRONT = st.one_of(
    st.tuples(st.builds("name: {}".format, NAME), st.just("description: Fills forms")),
    st.tuples(st.just("name: pdf-forms"), DESCRIPTION),
    st.tuples(st.just("name: pdf-forms"), st.just("description: Fills forms"), FURTHER_LINE),
    st.tuples(st.just("license: MIT"), st.just("name: pdf-forms"), DESCRIPTION, FURTHER_LINE),
    st.tuples(DESCRIPTION, FURTHER_LINE, entry(st.just("name"), NAME), FURTHER_LINE),
).map("\n".join)
OPENING = st.sampled_from(["---\n"] * 40 + ["--- \n", "----\n", "---\r\n", "\n---\n", "\ufeff---\n", "-- -\n", "---"])
CLOSING = st.sampled_from(["\n---\n"] * 40 + ["\n--- \n", "\n---", "\n----\n", "\n...\n", "\n---\r\n", "", "---\n"])
BODY = st.sampled_from([b"", b"\nDo it.\n", b"---\n", b"\xff\n", b"\x00", b"a\rb", b"\n---\nname: b\n---\n"])
FILES = st.builds(
    lambda opening, front, closing, body: (opening + front + closing).encode("utf-8", "surrogatepass") + body,
    OPENING,
    FRONT,
    CLOSING,
    BODY,
)


@pytest.mark.slow
@examples(4)
@given(FILES)
def test_the_fast_parser_agrees_with_the_full_parser_and_yaml(data: bytes) -> None:
    """Name, description, keys and front matter are the same, and neither of the others has a finding."""
    fast_parse_agrees(data)


# ── damaged files ────────────────────────────────────────────────────────────────────────────────────────────────────

PLAIN = {
    "two-fields": named(),
    "every-field": named(
        "license: MIT",
        "compatibility: Needs Python 3.11 or later",
        "metadata:",
        "  author: me",
        '  version: "1.0"',
        "allowed-tools: Read Bash(git:*)",
    ),
    "other-order": file("license: MIT", "description: Fills forms", "name: pdf-forms"),
    "double-quoted": file('name: "pdf-forms"', 'description: "Fills forms: all of them # really"'),
    "single-quoted": file("name: 'pdf-forms'", "description: 'Fills \"forms\": all of them'"),
    "folded": file("name: pdf-forms", "description: >-", "  Fills forms,", "  all of them.", "license: MIT"),
    "folded-with-line-end": file("name: pdf-forms", "description: >", "  Fills forms,", "  # - all: of them."),
    "literal": file("license: MIT", "name: pdf-forms", "description: |", "  Fills forms,", "  all of them."),
    "not-ascii": file("name: pdf-forms", "description: Füllt Formulare 🎉 aus"),
    "a-list": named("paths:", "  - src/**", '  - "*.py"', "  - 'a b'"),
    "a-map": named("hooks:", "  a: b c", "  d: 'e'", "when_to_use: Often"),
    "an-empty-field": named("model:", "agent:"),
}
SEEDS = [
    *PLAIN.values(),
    *REAL,
    *(data for data in map(golden_bytes, CASES) if len(data) < 4096),
    *(path.read_bytes() for path in sorted((EXAMPLES / "skills").rglob("SKILL.md"))),
]
FAST_PARSED = [data for data in SEEDS if fast_parse(data)]
MARKS = [
    *(mark.encode() for mark in string.punctuation),
    *(
        b" ",
        b"  ",
        b"\n",
        b"\n  ",
        b"\n    ",
        b"\n  - ",
        b"a",
        b"a b",
        b"a: b",
        b"  a: b\n",
        b"x: y z\n",
        b"metadata:\n",
    ),
    *(
        b"true",
        b"null",
        b"1",
        b" # ",
        b": ",
        b":\n",
        b">-\n  ",
        b"|\n  ",
        b">\n",
        b"\n---\n",
        b"--- ",
        b"'a'",
        b'"a b"',
    ),
    *(b"name: a-b\n", b"description: c d\n", b"\xc2\xa0", b"\xe3\x80\x80", *TOKENS),
]


def damaged(rng: random.Random) -> bytes:
    """Return a file with one to four changes in its front matter, most of them small."""
    data = rng.choice(rng.choice((SEEDS, FAST_PARSED, FAST_PARSED)))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        front = max(data.find(b"\n---\n", 3) + 5, 20)
        at = rng.randrange(min(front, len(data) + 1))
        if rng.random() < 0.4:
            # Most structure is at the end of a line, or after a colon.
            at = max(data.find(rng.choice((b"\n", b": ", b"\n  ")), at), 0) + rng.choice((0, 0, 1, 2))
        length = rng.choice((0, 0, 1, 1, 2, 4, 12))
        kind = rng.randrange(5)
        if kind < 3:
            data = data[:at] + rng.choice(MARKS) + data[at + (length if kind == 2 else 0) :]
        elif kind == 3:
            data = data[:at] + data[at + max(length, 1) :]
        else:
            # Repeat a line, or insert the line of another file.
            lines = data[:front].split(b"\n")
            other = rng.choice((data[:front], rng.choice(SEEDS)[:300])).split(b"\n")
            lines.insert(rng.randrange(1, len(lines) + 1), rng.choice(other))
            data = b"\n".join(lines) + data[front:]
    return data


@pytest.mark.slow
def test_the_fast_parser_agrees_on_damaged_files() -> None:
    """Whatever is inserted, removed or repeated."""
    rng = random.Random(SEED)  # noqa: S311 - a run that can be repeated
    fast_parsed = 0
    for number in range(DAMAGED_FILES):
        data = damaged(rng)
        try:
            fast_parsed += fast_parse_agrees(data)
        except AssertionError:
            print(f"seed {SEED}, number {number}: {data!r}")
            raise
    assert fast_parsed > DAMAGED_FILES // 20


@pytest.mark.parametrize("number", range(len(SEEDS)))
def test_the_fast_parser_agrees_on_truncated_files(number: int) -> None:
    """Wherever the file ends."""
    data = SEEDS[number][:600]
    for end in range(len(data)):
        fast_parse_agrees(data[:end])


# ── known files ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in PLAIN.items()])
def test_common_front_matter_is_parsed_fast(data: bytes) -> None:
    """The forms of most published skills."""
    assert fast_parse_agrees(data)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("skills/*/SKILL.md")), ids=lambda path: str(path.parent.name))
def test_our_examples_are_parsed_fast(path: Path) -> None:
    """Except those of a role: they have lists of tools."""
    assert fast_parse_agrees(path.read_bytes())


@pytest.mark.parametrize(
    ("data", "description"),
    [
        pytest.param(file("name: a", "description: b  c"), "b  c", id="two-blanks"),
        pytest.param(file("name: a", "description: b:c #d".replace(" #", "#")), None, id="one-word"),
        pytest.param(file("name: a", "description: see https://b c#d"), "see https://b c#d", id="address"),
        pytest.param(file("name: a", "description: >-", "  b", "  c"), "b c", id="folded"),
        pytest.param(file("name: a", "description: >-", "  b ", "  c"), "b  c", id="folded-after-a-blank"),
        pytest.param(file("name: a", "description: >", "  b: #", "  - c"), "b: # - c", id="folded-marks"),
        pytest.param(file("name: a", "description: |", "  b", "  c d"), "b\nc d", id="literal"),
        pytest.param(file("name: a", "description: |-", "  # b", "  c"), "# b\nc", id="literal-number-sign"),
        pytest.param(file("name: a", "description: \"b: c # 'd'\""), "b: c # 'd'", id="double-quoted"),
        pytest.param(file("name: a", "description: 'b: c # \"\\d'"), None, id="backslash-in-single"),
        pytest.param(file("name: a", "description: 'b \\d'", "x:"), None, id="backslash-in-single-late"),
        pytest.param(file("name: y", "description: on and off"), "on and off", id="truth-of-yaml-1.1"),
        pytest.param(file("name: a", "description: null and void"), "null and void", id="begins-like-null"),
        pytest.param(file("name: a", "description: 0x1 2"), None, id="begins-like-a-number"),
        pytest.param(file("name: a", "description: 2026-11-01 10:00:00"), "2026-11-01 10:00:00", id="a-time"),
        pytest.param(file("name: a", "description: ~ b"), "~ b", id="tilde"),
        pytest.param(file("name: a", "description: \u3000b c\u3000"), None, id="wide-blanks-around"),
        pytest.param(file("name: a", "description: b\u3000 c"), "b\u3000 c", id="wide-blank-inside"),
    ],
)
def test_a_description_is_the_same_as_in_yaml(data: bytes, description: str | None) -> None:
    """The fast parser returns the same text, or nothing."""
    parsed = fast_parse(data)
    if fast_parse_agrees(data) and description is not None:
        assert parsed is not None
        assert parsed[1] == description
    else:
        assert description is None


def test_the_result_has_name_description_keys_and_front_matter() -> None:
    """Name, description, keys, and the front matter with both fences."""
    assert fast_parse(PLAIN["folded"]) == (
        "pdf-forms",
        "Fills forms, all of them.",
        frozenset(("name", "description", "license")),
        b"---\nname: pdf-forms\ndescription: >-\n  Fills forms,\n  all of them.\nlicense: MIT\n---\n",
    )


NOT_PLAIN = {
    "nothing": b"",
    "no-front-matter": b"# Forms\n",
    "no-fields": b"---\n---\n",
    "no-name": file("description: Fills forms"),
    "no-description": file("name: pdf-forms"),
    "name-true": file("name: true", "description: Fills forms"),
    "name-null": file("name: null", "description: Fills forms"),
    "name-null-late": file("license: MIT", "name: null", "description: Fills forms"),
    "name-empty": file("name:", "description: Fills forms"),
    "name-number": file("name: 12", "description: Fills forms"),
    "name-case": file("name: PDF", "description: Fills forms"),
    "name-hyphens": file("name: a--b", "description: Fills forms"),
    "name-hyphen-last": file("name: a-", "description: Fills forms"),
    "name-blank": file("name: a b", "description: Fills forms"),
    "name-too-long": file(f"name: {'a' * 65}", "description: Fills forms"),
    "name-too-long-late": file("license: MIT", f"name: {'a' * 65}", "description: Fills forms"),
    "name-comment": file("name: a #b", "description: Fills forms"),
    "name-folded-with-line-end": file("name: >", "  a", "description: Fills forms"),
    "name-literal-with-line-end": file("name: |", "  a", "description: Fills forms"),
    "name-list": file("name:", "  - a", "description: Fills forms"),
    "name-map": file("name:", "  a: b", "description: Fills forms"),
    "name-twice": named("name: pdf-forms"),
    "name-quoted-and-more": file('name: "a" b', "description: Fills forms"),
    "name-with-a-line-below": file("name: a", "  b", "description: Fills forms"),
    "description-one-word": file("name: a", "description: 2026"),
    "description-true": file("name: a", "description: true"),
    "description-null": file("name: a", "description: null"),
    "description-true-late": file("license: MIT", "name: a", "description: true"),
    "description-empty": file("name: a", "description:"),
    "description-list": file("name: a", "description:", "  - b c"),
    "description-map": file("name: a", "description:", "  b: c d"),
    "description-colon": file("name: a", "description: Use when: asked"),
    "description-colon-last": file("name: a", "description: Use when:"),
    "description-colon-last-and-blank": file("name: a", "description: Use when: "),
    "description-comment": file("name: a", "description: b c #d"),
    "description-number-sign-last": file("name: a", "description: b c #"),
    "value-number-sign-last": named("license: b #"),
    "value-number-sign-last-below": named("metadata:", "  a: b #"),
    "description-continued": file("name: a", "description: b c", "  d"),
    "description-doubled-quote": file("name: a", "description: 'it''s so'"),
    "description-escape": file("name: a", 'description: "b \\x c"'),
    "description-quote-unclosed": file("name: a", 'description: "b c'),
    "description-quote-alone": file("name: a", 'description: "'),
    "description-quote-and-more": file("name: a", "description: 'b c' d"),
    "description-blanks-in-quotes": file("name: a", 'description: " b c"'),
    "description-blanks-last-in-quotes": file("name: a", "description: 'b c '"),
    "description-blanks-last-in-block": file("name: a", "description: >-", "  b c  "),
    "description-anchor": file("name: a", "description: &b c d"),
    "description-alias": file("name: a", "description: *b c"),
    "description-tag": file("name: a", "description: !b c d"),
    "description-flow": file("name: a", "description: [b c]"),
    "description-map-in-braces": file("name: a", "description: {b c: d}"),
    "description-at": file("name: a", "description: @b c"),
    "description-percent": file("name: a", "description: %b c"),
    "description-dash": file("name: a", "description: - b c"),
    "description-question": file("name: a", "description: ? b c"),
    "description-keeps-line-ends": file("name: a", "description: |+", "  b c"),
    "description-indent-given": file("name: a", "description: |2", "  b c"),
    "description-deeper-line": file("name: a", "description: >-", "  b c", "    d"),
    "description-blank-line": file("name: a", "description: >-", "  b c", "", "  d"),
    "description-line-of-blanks": file("name: a", "description: >-", "  b c", "  ", "  d"),
    "description-no-lines": file("name: a", "description: >-"),
    "description-less-indented": file("name: a", "description: >-", "  b c", " d"),
    "comment": named("# a comment"),
    "blank-line": named(""),
    "key-twice": named("license: MIT", "license: MIT"),
    "key-twice-below": named("metadata:", "  a: b c", "  a: d e"),
    "key-twice-below-late": file("license: MIT", *named("metadata:", "  a: b", "  a: d").decode().split("\n")[1:6]),
    "key-too-long": named(f"{'k' * 65}: a b"),
    "key-with-blank": named("a b: c d"),
    "key-quoted": named('"a": b c'),
    "key-question": named("? a"),
    "key-merge": named("<<: a b"),
    "key-without-blank": named("a:b c"),
    "key-indented": named("  a: b c"),
    "below-deeper": named("metadata:", "    a: b c"),
    "below-deeper-after": named("metadata:", "  a: b c", "    d: e f"),
    "below-deeper-before": named("metadata:", "    a: b c", "  d: e f"),
    "below-after-a-bracket": named("metadata:", "  [  a: b c", "  d: e f"),
    "below-colon": named("metadata:", "  a: b: c"),
    "below-colon-last": named("metadata:", "  a: b:"),
    "below-no-value": named("metadata:", "  a:"),
    "below-comment": named("metadata:", "  a: b #c"),
    "below-list-and-map": named("metadata:", "  - a b", "  c: d e"),
    "below-list-of-maps": named("tools:", "  - type: git"),
    "below-list-not-indented": named("paths:", "- a b"),
    "below-one-blank": named("metadata:", " a: b c"),
    "below-quoted-and-more": named("metadata:", "  a: 'b' c"),
    "below-escape": named("metadata:", '  a: "b \\x"'),
    "below-value": named("license: MIT", "  a: b c"),
    **{f"first-{mark}": named(f"license: {mark} a b", "model:") for mark in "-?:,[]{}#&*!|>'\"%@`"},
    "blanks-before-a-quote": named('license:  "a b', "model:"),
    "quote-inside": named("license: 'a 'b c'"),
    "double-quote-inside": named('license: "a "b c"'),
    "escape": named('license: "a \\x"'),
    "quote-inside-below": named("metadata:", "  a: 'b 'c d'"),
    "double-quote-inside-below": named("metadata:", '  a: "b "c d"'),
    "description-quote-inside": file("name: a", "description: 'b 'c d'"),
    "description-double-quote-inside": file("name: a", 'description: "b "c d"'),
    "quote-alone": named('license: "', "model:"),
    "tab": named("license:\tMIT"),
    "tab-in-value": named("license: M\tT"),
    "tab-below": named("metadata:", "\ta: b c"),
    "nul": named("license: M\0T"),
    "delete": named("license: M\x7fT"),
    "no-break-space": named("license: M\xa0T"),
    "next-line": named("license: M\x85T"),
    "line-separator": named("license: M\u2028T"),
    "byte-order-mark-inside": named("license: M\ufeffT"),
    "byte-order-mark": b"\xef\xbb\xbf" + named(),
    "not-utf-8": named("license: MIT").replace(b"MIT", b"M\xffT"),
    "not-utf-8-surrogate": named("license: MIT").replace(b"MIT", b"\xed\xa0\x80"),
    "crlf": named().replace(b"\n", b"\r\n"),
    "crlf-once": named().replace(b"forms\n---", b"forms\r\n---"),
    "fence-blank": named().replace(b"---\n", b"--- \n", 1),
    "fence-late": b"\n" + named(),
    "fence-long": named().replace(b"---\n", b"----\n"),
    "fence-closing-blank": named().replace(b"\n---\n", b"\n--- \n"),
    "fence-closing-dots": named().replace(b"\n---\n", b"\n...\n"),
    "fence-closing-unended": named().partition(b"\n\n")[0],
    "fence-closing-missing": named().replace(b"\n---\n", b"\n"),
    "document-end-inside": named("...", "license: MIT"),
    "document-start-inside": named("--- a", "license: MIT"),
    "too-large": file("name: a", f"description: b {'c' * MAX_FRONTMATTER_BYTES}"),
    "too-large-late": file("license: MIT", "name: a", f"description: b {'c' * MAX_FRONTMATTER_BYTES}"),
    "too-large-by-fields": named(*(f"k{number}: a b" for number in range(6500))),
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in NOT_PLAIN.items()])
def test_other_front_matter_is_left_to_the_full_parser(data: bytes) -> None:
    """Invalid, rare, or not the same for every parser."""
    assert fast_parse(data) is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((), id="nothing-more"),
        pytest.param(("license: MIT",), id="license"),
        pytest.param(("compatibility: " + "a" * 500,), id="compatibility-as-long-as-may-be"),
        pytest.param(("metadata:", "  a: b c", "  d: '1'"), id="metadata"),
        pytest.param(("allowed-tools: Read, Bash(git:*)",), id="tools"),
        pytest.param(('allowed-tools: ""', "license: MIT")[1:], id="one"),
    ],
)
def test_fields_without_findings_are_simple(lines: tuple[str, ...]) -> None:
    """The fields of the specification with valid values."""
    data = named(*lines)
    assert fast_parse_agrees(data)
    parsed = fast_parse(data)
    assert parsed is not None
    assert has_simple_fields(parsed[3])


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("model: a b",), id="of-one-client"),
        pytest.param(("x: a b",), id="unknown"),
        pytest.param(("allowed_tools: Read It",), id="underscore"),
        pytest.param(("license:", "  a: b"), id="license-map"),
        pytest.param(("license:", "  - a"), id="license-list"),
        pytest.param(('compatibility: ""',), id="compatibility-empty"),
        pytest.param(('compatibility: "  "',), id="compatibility-blank"),
        pytest.param(("compatibility: " + "a" * 501,), id="compatibility-too-long"),
        pytest.param((f'compatibility: "{"a":501}"',), id="compatibility-too-long-by-blanks"),
        pytest.param(("compatibility: |", "  " + "a" * 500), id="compatibility-too-long-by-its-line-end"),
        pytest.param(("compatibility:", "  - a"), id="compatibility-list"),
        pytest.param(("compatibility:", "  a: b"), id="compatibility-map"),
        pytest.param(("metadata: a b",), id="metadata-text"),
        pytest.param(("metadata:",), id="metadata-null"),
        pytest.param(("metadata:", "  - a"), id="metadata-list"),
        pytest.param(("allowed-tools:",), id="tools-null"),
        pytest.param(("allowed-tools: true",), id="tools-true"),
        pytest.param(("allowed-tools: True",), id="tools-true-with-capital"),
        pytest.param(("allowed-tools: NULL",), id="tools-null-in-capitals"),
        pytest.param(("allowed-tools: 12",), id="tools-number"),
        pytest.param(("allowed-tools: ~",), id="tools-tilde"),
        pytest.param(("allowed-tools:", "  - Read"), id="tools-list"),
        pytest.param(("allowed-tools:", "  a: b"), id="tools-map"),
    ],
)
def test_fields_with_findings_are_not_simple(lines: tuple[str, ...]) -> None:
    """The fast parser reads each of these, and a rule reports each."""
    data = named(*lines)
    assert fast_parse_agrees(data)
    parsed = fast_parse(data)
    assert parsed is not None
    skill = from_document(parse_frontmatter(data, PATH), PATH)
    assert check_skill(skill) != ()
    assert not has_simple_fields(parsed[3])


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_K64 = MAX_FRONTMATTER_BYTES - 100
FRAME = (b"---\nname: a-b\ndescription: c d\n", b"\n---\n")


@pytest.mark.parametrize(
    "middle",
    [
        pytest.param(b" " * _K64, id="blanks"),
        pytest.param(b"x:" + b" " * _K64, id="blanks-after-a-key"),
        pytest.param(b"x: y" + b" " * _K64 + b"\t", id="blanks-after-a-value"),
        pytest.param(b"x:\n" + (b" " * 1000 + b"\n") * (_K64 // 1001), id="lines-of-blanks"),
        pytest.param(b"a: b\n" * (_K64 // 5), id="fields"),
        pytest.param(b"a:\n" * (_K64 // 3), id="keys"),
        pytest.param(b"ab: cd\n" * (_K64 // 7) + b"!", id="fields-and-a-mark"),
        pytest.param(b"m:\n" + b"  x: y\n" * (_K64 // 7), id="map"),
        pytest.param(b"metadata:\n" + b"  x: yz\n" * (_K64 // 8) + b"!", id="map-and-a-mark"),
        pytest.param(b"metadata:\n  x: yz\n" * (_K64 // 18) + b"!", id="maps-and-a-mark"),
        pytest.param(b"m:\n" + b"  - x\n" * (_K64 // 6), id="list"),
        pytest.param(b"m:\n" + b"  x: '" * (_K64 // 6), id="quotes-unclosed"),
        pytest.param(b"m:\n  " + b"  a: \"b'" * (_K64 // 8), id="quotes-of-both-kinds"),
        pytest.param(b"m: " + b'"' * _K64, id="quotes"),
        pytest.param(b"m: " + b"'\"" * (_K64 // 2), id="quotes-in-turn"),
        pytest.param(b"m: " + b": " * (_K64 // 2), id="colons"),
        pytest.param(b"m: >\n" + b"  x\n" * (_K64 // 4), id="block"),
        pytest.param(b"k" * _K64, id="endless-key"),
        pytest.param(b"k-" * (_K64 // 2) + b": a", id="a-long-key"),
        pytest.param(b"\n" * _K64, id="line-ends"),
        pytest.param(b"-" * _K64, id="dashes"),
        pytest.param(b"\n--- " * (_K64 // 5), id="almost-fences"),
        pytest.param("x: é\n".encode() * (_K64 // 6), id="not-ascii"),
    ],
)
def test_no_front_matter_is_slow(middle: bytes) -> None:
    """Time grows linearly with length, with or without a closing fence."""
    for before, after in (FRAME, (FRAME[0], b""), (b"---\n", FRAME[1])):
        assert_linear(read, middle, setup=between(before, after))


@pytest.mark.parametrize(
    "end", [b"", b"!", b"\n", b"\ndescription: c d\n---\n"], ids=["open", "mark", "line", "closed"]
)
@pytest.mark.parametrize("name", [b"a", b"a-", b"-", b"a--", b"ab-c"])
def test_no_name_is_slow(name: bytes, end: bytes) -> None:
    """A name of 64 KiB is rejected at once."""
    long = name * (_K64 // len(name))
    for before in (b"---\nname: ", b"---\nlicense: a b\nname: "):
        assert fast_parse(before + long + end) is None
        assert_linear(read, long, setup=between(before, end))


@pytest.mark.parametrize("value", [b"a ", b" ", b"a", b'"', b"'", b": ", b" #", b"\n  ", b"\n  a", b"\n  a b"])
@pytest.mark.parametrize(
    "start", [b"", b'"', b"'", b">-", b"|"], ids=["plain", "double", "single", "folded", "literal"]
)
def test_no_description_is_slow(start: bytes, value: bytes) -> None:
    """Whatever its 64 KiB contain, and however it begins."""
    long = start + value * (_K64 // len(value))
    for before in (b"---\nname: a\n", b"---\nlicense: a b\nname: a\n"):
        start_of = before + b"description: "
        for after in (FRAME[1], b"\x01"):
            assert_linear(read, long, setup=between(start_of, after))


def between(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    return lambda part: before + part + after


def read(data: bytes) -> None:
    fast_parse(data)
    has_simple_fields(data)
