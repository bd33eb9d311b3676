"""Every sentence that a person reads uses the usual word for the usual thing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).parent.parent
SELF = Path(__file__)

IDIOMS = {
    r"(is|are|was|were|be|has|have|had|to|of|gives?|makes?) none": "missing, invalid, or `None`",
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
    r"walls?": "sandbox",
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
    r"for want of|in want of|wants mending": "without, needs a fix",
    r"somebody('s)?|nobody('s)?": "another process, another user, no caller",
}
"""Each expression, and what to write instead. A stranger's word costs every reader a second look."""

BOUNDARY = r"(?<![A-Za-z0-9\-])(?:{})(?![A-Za-z0-9\-])"
PATTERN = re.compile(BOUNDARY.format("|".join(IDIOMS)), re.IGNORECASE)

SKIPPED = ("tests/golden/", "tests/clients/", "tests/testing/corpus/", "tests/roles/", "tests/real/package-lock.json")
"""Data that is not ours, or that is about something else."""


def files() -> list[Path]:
    """Every file of ours with sentences in it."""
    found = [*TOP.glob("*.md"), TOP / "Makefile", TOP / "pyproject.toml", TOP / ".importlinter"]
    for folder, kinds in {
        "src": "py toml",
        "docs": "py md",
        "tests": "py",
        "examples": "py md",
        "benchmarks": "py",
    }.items():
        found += [path for kind in kinds.split() for path in (TOP / folder).rglob(f"*.{kind}")]
    names = {path: str(path.relative_to(TOP)) for path in found}
    return sorted(path for path, name in names.items() if path != SELF and not name.startswith(SKIPPED))


def idioms_in(text: str) -> list[tuple[int, str]]:
    """Return the line and the words of each old idiom in a text; an underscore separates words."""
    lines = text.replace("_", " ").split("\n")
    return [(number, match[0]) for number, line in enumerate(lines, 1) for match in PATTERN.finditer(line)]


def test_no_old_idiom_is_left() -> None:
    found = [
        f"{path.relative_to(TOP)}:{line}: {words}"
        for path in files()
        for line, words in idioms_in(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_idioms_are_found() -> None:
    text = "the user is told\nfine\ndef test_a_bad_name_is_told():\nthere is none to mend"
    assert idioms_in(text) == [(1, "told"), (3, "told"), (4, "is none"), (4, "mend")]
    assert idioms_in("understands, lied, amend, wallet, toldu") == []


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for path in sorted(Path(name).rglob("*")) if Path(name).is_dir() else [Path(name)]:
            if path.suffix in (".py", ".md", ".toml", "") and path.is_file() and path != SELF:
                for line, words in idioms_in(path.read_text(encoding="utf-8")):
                    print(f"{path}:{line}: {words}")
