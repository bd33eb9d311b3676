"""Fingerprints of findings."""

from __future__ import annotations

import pytest

from prowess.checks._accepted import fingerprints
from prowess.findings import finding


def fingerprint(message: str = "m", path: str | None = "/r/a/SKILL.md", base: str = "/r") -> str:
    """Return the fingerprint of one finding."""
    (result,) = fingerprints([finding("name-case", message, path=path)], base, "/home/ada")
    return result


def test_a_fingerprint_stays_when_lines_move() -> None:
    """Line, column, severity and hint do not count, nor do numbers of the message that are not a value."""
    plain = finding("name-case", "line 3: 1,100 characters of `a2`", path="/r/a", line=3, column=9, hint="h")
    moved = finding("name-case", "line 14: 1,200 characters of `a2`", path="/r/a", line=14, column=1)
    other = finding("name-case", "line 3: 1,100 characters of `a3`", path="/r/a", line=3, column=9, hint="h")
    first, second, third = (fingerprints([item], "/r")[0] for item in (plain, moved, other))
    assert first == second != third


def test_a_fingerprint_is_the_same_in_another_clone() -> None:
    """Paths are relative to the repository or the home, in the message too."""
    here = finding("skill-copy", "a copy of `/r/b/SKILL.md` in `/home/ada/x`", path="/r/a/SKILL.md")
    there = finding("skill-copy", "a copy of `/tmp/c/b/SKILL.md` in `/Users/bo/x`", path="/tmp/c/a/SKILL.md")
    assert fingerprints([here], "/r", "/home/ada") == fingerprints([there], "/tmp/c", "/Users/bo")
    user = [finding("name-case", "m", path=f"{home}/.agents/skills/a/SKILL.md") for home in ("/home/ada", "/Users/bo")]
    assert fingerprints(user[:1], "/r", "/home/ada") == fingerprints(user[1:], "/r", "/Users/bo")


def test_different_findings_have_different_fingerprints() -> None:
    """In code, path or message; a finding of the home is not one of the repository."""
    paths = ["/r/a", "/r/b", "/r/A", "/home/ada/a", "/r2/a", "/r", None]
    prints = {fingerprint(path=path) for path in paths} | {fingerprint("n"), fingerprint("`1`"), fingerprint("`2`")}
    assert len(prints) == len(paths) + 3
    assert fingerprints([finding("name-case", "m")], "/r") != fingerprints([finding("name-type", "m")], "/r")


def test_a_value_counts_whatever_it_contains() -> None:
    """Back-ticks and numbers of a name or a path; and a folder of the repository may be called like the home."""
    values = ["name `a`{}`` is `b`", "`a` is hidden by /r/b{}/SKILL.md", "hidden by /r/b {}/SKILL.md (see /r/{}a)"]
    for text in values:
        assert fingerprint(text.replace("{}", "1")) != fingerprint(text.replace("{}", "2"))
    assert fingerprint(path="/r/~/a") != fingerprint(path="/home/ada/a")


def test_equal_findings_are_counted() -> None:
    """Each has its own fingerprint, so that a second one is new."""
    equal = [finding("link-missing", "m", path="/r/a", line=line) for line in (3, 7, 9)]
    assert len(set(fingerprints(equal, "/r"))) == 3
    assert fingerprints(equal[1:], "/r") == fingerprints(equal, "/r")[:2]


@pytest.mark.parametrize("text", ["\udcff", "a\nb", "```1", "\0"])
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert len(fingerprint(text, f"/r/{text.replace(chr(0), '')}/SKILL.md")) == 32


def test_a_message_may_contain_half_a_surrogate_pair() -> None:
    """JSON of a settings file can have one."""
    assert len(fingerprint(chr(0xD800))) == 32
