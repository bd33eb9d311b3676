"""Globs match as in git, in Python and in `minimatch` of JavaScript (the answers are its own), and never take long."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase

import pytest

from prowess._internal.globs import GIT, compile_glob, minimatch
from support.growth import calls_at_most

ANSWERS = [
    ("skills/a/SKILL.md", "skills/*", False),
    ("skills/a", "skills/*", True),
    ("skills/.a", "skills/*", False),
    ("skills/.a", "skills/.*", True),
    ("skills/a/SKILL.md", "**", True),
    ("skills/a/SKILL.md", "**/SKILL.md", True),
    ("SKILL.md", "**/SKILL.md", True),
    (".pi/skills/a", "**/a", False),
    ("a", "a/**", False),
    ("a/b/c/d", "a/**/d", True),
    ("a/d", "a/**/d", True),
    ("a/b/c/b/d", "a/**/b/**/d", True),
    ("../a", "*/a", False),
    ("../a", "../*", True),
    ("b", "a/../b", True),
    ("one", "{one,two}", True),
    ("two", "{one,t{w,x}o}", True),
    ("v2", "v{1..3}", True),
    ("v4", "v{1..3}", False),
    ("{a}", "{a}", True),
    ("a1", "a[0-9]", True),
    ("ab", "a[!0-9]", True),
    ("a]", "a[]]", True),
    ("ab", "a?", True),
    ("a*", r"a\*", True),
    ("ab", r"a\*", False),
    ("abab", "+(ab)", True),
    ("c", "!(a|b)", True),
    ("xc", "x!(a|b)", True),
    ("xa", "x!(a|b)", False),
    ("a", "@(a|b)", True),
    ("aab", "+(a|b)", True),
    ("abab", "*(ab|b)", True),
    ("", "*(ab|b)", False),
    ("xy", "x?(y|z)", True),
    ("xyz", "x?(y|z)", False),
    ("axc", "+(a*)c", True),
    ("a.js", "a!(*.ts|*.md)", True),
    ("a.ts", "a!(*.ts|*.md)", False),
    ("a@(b", "a@(b", True),
    (".a", "+(.)a", False),
    (".a", ".+(a)", True),
    ("a", "!b", True),
    ("b", "!!b", True),
    ("#a", "#a", False),
    ("", "", True),
    ("a//b", "a/b", True),
]


@pytest.mark.parametrize(("path", "pattern", "answer"), ANSWERS)
def test_a_path_matches_as_in_javascript(path: str, pattern: str, answer: bool) -> None:
    assert minimatch(path, pattern) is answer


@pytest.mark.parametrize(
    ("pattern", "name", "other"),
    [
        (r"[\]]", "]", "b"),
        (r"[\!a]", "!", "b"),
        ("[[:alpha:]]", "x", "1"),
        ("[![:alpha:]]", "1", "x"),
        ("[^b]", "a", "b"),
    ],
)
def test_a_set_is_that_of_git(pattern: str, name: str, other: str) -> None:
    assert compile_glob(pattern, GIT)(name)
    assert not compile_glob(pattern, GIT)(other)


@pytest.mark.parametrize("seed", range(3))
def test_without_a_dialect_names_match_as_with_the_standard_library(seed: int) -> None:
    chosen = random.Random(seed)  # noqa: S311 - not a secret
    for _ in range(2000):
        pattern, name = (
            "".join(chosen.choices(letters, k=chosen.randrange(9))) for letters in ("ab*?[]!^-.\\", "ab.-]!^")
        )
        assert bool(compile_glob(pattern)(name)) is fnmatchcase(name, pattern), (name, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 400,
        "**/" * 300 + "x",
        "{a,b}" * 190,
        "+(" * 300,
        "+(a*|a*|a*)b",
        "+(a*)b",
        "+(a|a)+(a|a)b",
        "@(a|a)" * 120 + "b",
        "@(a|a|" * 150,
        "!(a)" * 150 + "b",
        "+(" * 300 + "a" + ")" * 300 + "b",
        "[" * 900,
        "{1..999999}" * 80,
        "{" * 900,
    ],
    ids=range(14),
)
def test_no_pattern_takes_long(pattern: str) -> None:
    with calls_at_most(5_000_000):
        minimatch("a" * 200 + "/" + "/".join("a" * 60) + "/" + "a" * 40, pattern)
