"""Every sentence that a person reads uses the usual word for the usual thing.

    python tests/test_plain_english.py PATH...

lists the old idioms left in files and folders, each with what to write instead.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).parent.parent
SELF = Path(__file__)

IDIOMS = {
    r"(is|are|was|were|be|has|have|had|to|of|gives?|makes?) (?-i:none)": "missing, invalid, or `None`",
    r"there (is|are) (none|no such thing)": "`None` if missing",
    r"where there is": "if there is",
    r"told": "reported, known",
    r"mend(s|ed|ing)?": "fix",
    r"whoever|whatever else|what else": "any caller, the rest",
    r"stands?": "is",
    r"lies": "is",
    r"be had|to be had": "available",
    r"by itself|of itself": "automatically, alone",
    r"(is|are|was|were) kept from": "is hidden from, is refused",
    r"it is not said|not said (what|which|where|how)": "no X given, missing X",
    r"cannot be gone on with|gone on with": "invalid",
    r"(can|may|could)(not| not)? be believed|is believed|are believed|not believed": "is invalid, is trusted",
    r"stranger'?s?": "untrusted, unknown caller",
    r"walls?(?! (clock|time))": "sandbox",
    r"lodgings?": "temporary directory",
    r"outfits?": "runtime files",
    r"glance[sd]?|glancing": "fast path",
    r"reread|rereads": "dialect",
    r"beneath": "path inside a directory, below",
    r"aside": "worker thread, except",
    r"in the way": "conflicts, exists already",
    r"made of it|makes? of it": "shows, decides",
    r"as it is meant|what is meant|is meant": "refers to",
    r"sort of|kind of thing": "type",
    r"thereby|therein|thereof|henceforth|hither|whence|wherefrom|nought|naught": "modern English",
    r"(must|may|can|shall|need) needs": "must",
    r"what (is|are) no(?! longer)": "an invalid X, another X",
    r"(is|are|be|was|were) taken for": "is mistaken for, counts as",
    r"in (the|its|their) place of": "instead of",
    r"held against|holds? (it|them|a skill|a role) against": "compared with, checked against",
    r"comes? of it": "results from it",
    r"be it": "a X or a Y",
    r"for want of|in want of|wants mending": "without, needs a fix",
    r"somebody('s)?|nobody('s)?(?!:)": "another process, another user, no caller",
}
"""Regular expression to what to write instead. This is a floor: a sentence without an idiom can still be a bad one."""

PATTERN = re.compile(rf"(?<![A-Za-z0-9\-])(?:{'|'.join(IDIOMS)})(?![A-Za-z0-9\-])", re.IGNORECASE)

SKIPPED = ("tests/golden/", "tests/testing/corpus/", "tests/roles/")
"""Test data: other people's files, and inputs that must stay as they are."""

FILES = (
    "*.md Makefile pyproject.toml .importlinter src/**/*.py src/**/*.toml docs/**/*.py docs/**/*.md tests/**/*.py "
    "examples/**/*.py examples/**/*.md examples/**/*.yaml benchmarks/**/*.py benchmarks/*.toml"
)


def written_files() -> list[Path]:
    """Return the files of this repository with sentences in them, except this one."""
    files = {path for pattern in FILES.split() for path in TOP.glob(pattern)} - {SELF}
    return sorted(path for path in files if not str(path.relative_to(TOP)).startswith(SKIPPED))


def idioms_in(text: str) -> list[tuple[int, str]]:
    """Return the line and the words of each old idiom in a text; an underscore separates words."""
    lines = text.replace("_", " ").split("\n")
    return [(number, match[0]) for number, line in enumerate(lines, 1) for match in PATTERN.finditer(line)]


def replacement(words: str) -> str:
    """Return what to write instead of an idiom."""
    return next(usual for idiom, usual in IDIOMS.items() if re.fullmatch(idiom, words, re.IGNORECASE))


def report(path: Path, name: str) -> list[str]:
    """Return a line for each old idiom in a file: where it is, and what to write instead."""
    return [
        f"{name}:{line}: `{words}`: write {replacement(words)}"
        for line, words in idioms_in(path.read_text(encoding="utf-8"))
    ]


def test_no_old_idiom_is_left() -> None:
    lines = [line for path in written_files() for line in report(path, str(path.relative_to(TOP)))]
    assert not lines, "\n".join(["old idioms; rewrite the sentence rather than the word alone:", *lines])


def test_idioms_are_found() -> None:
    text = "the user is told\nfine\ndef test_a_bad_name_is_told():\nthere is none to mend"
    assert idioms_in(text) == [(1, "told"), (3, "told"), (4, "there is none"), (4, "mend")]
    assert idioms_in("understands, lied, amend, wallet, toldu, if value is None, wall clock") == []


def test_the_report_names_the_place_and_the_usual_word(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Fine.\nMend it.\n", encoding="utf-8")
    assert report(tmp_path / "page.md", "page.md") == ["page.md:2: `Mend`: write fix"]


if __name__ == "__main__":
    named = [Path(name) for name in sys.argv[1:]]
    paths = [path for name in named for path in (sorted(name.rglob("*")) if name.is_dir() else [name])]
    for path in paths:
        if path.suffix in (".py", ".md", ".toml", ".yaml", "") and path.is_file() and path.resolve() != SELF.resolve():
            print(*report(path, str(path)), sep="\n", end="\n" if report(path, str(path)) else "")
