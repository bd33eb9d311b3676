"""Read the examples of `docs/findings`, write them to disk, and say which hosts reject them."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest import SkipTest

from prowess.catalog._entry import State
from prowess.catalog._resolve import evaluate_file
from prowess.hosts import host_names, load_host

TOP = Path(__file__).parents[2]
PAGES = TOP / "docs" / "findings"

ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|([trn\\])|\(([^()]*)\)\*([0-9]+))")
LETTERS = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\"}


class UnsupportedNameError(SkipTest):
    """This system has no files with such names; a test that needs one is skipped."""


@dataclass(frozen=True, slots=True)
class Block:
    """An example: ```` ```skill ```` or ```` ```tree ````, with words for its encoding."""

    kind: str
    words: tuple[str, ...]
    lines: tuple[str, ...]

    def encoded(self, text: str) -> bytes:
        """Return the text as bytes of the file."""
        if "escapes" not in self.words:
            return text.encode(next(iter(self.words), "utf-8"))
        parts, at = [], 0
        for match in ESCAPE.finditer(text):
            parts.append(text[at : match.start()].encode())
            byte, character, letter, repeated, times = match.groups()
            if byte:
                parts.append(bytes([int(byte, 16)]))
            elif character:
                parts.append(chr(int(character, 16)).encode())
            else:
                parts.append(LETTERS[letter].encode() if letter else self.encoded(repeated) * int(times))
            at = match.end()
        return b"".join([*parts, text[at:].encode()])


@dataclass(frozen=True, slots=True)
class Page:
    """The parts of one page."""

    code: str
    text: str
    blocks: tuple[Block, ...]

    def line(self, start: str) -> str | None:
        """Return the line with this beginning, or `None`."""
        found = [line for line in self.text.split("\n") if line.startswith(start)]
        assert len(found) <= 1, f"{self.code}: {start!r} is there {len(found)} times"
        return found[0] if found else None


@cache
def page(code: str) -> Page:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    blocks = []
    for info, inside in re.findall(r"^```(.*)\n((?:(?!```).*\n)*)```$", text, re.MULTILINE):
        kind, *words = info.split()
        if kind in ("skill", "tree"):
            blocks.append(Block(kind, tuple(words), tuple(inside.split("\n")[:-1])))
    return Page(code, text, tuple(blocks))


@dataclass(frozen=True, slots=True)
class Built:
    """An example on disk, and the command that shows its finding."""

    project: Path
    home: Path
    argv: tuple[str, ...]
    unreadable: frozenset[str]


def placed(block: Block, text: str, project: Path, home: Path) -> Path:
    """Return the real path for a path of an example."""
    text = os.fsdecode(block.encoded(text))
    if sys.platform == "darwin" and not text.isprintable():
        raise UnsupportedNameError(text)
    return home / text[2:] if text.startswith("~/") else Path(os.path.normpath(project / text))


def build(block: Block, top: Path) -> Built:
    """Write an example below `top`; see "How the examples are written" in docs/findings/README.md."""
    project, home = top.resolve() / "project", top.resolve() / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir()
    lines = list(block.lines)
    if block.kind == "skill":
        comment = re.fullmatch(r"<!-- (.+) -->", lines[0])
        path = comment[1] if comment else "pdf-forms/SKILL.md"
        put(project / path, block.encoded("".join(line + "\n" for line in lines[1 if comment else 0 :])))
        return Built(project, home, ("check", f"./{path}"), frozenset())
    assert lines[0].startswith("$ prowess "), "a tree must begin with its command"
    unreadable = set()
    entries: list[tuple[str, list[str]]] = []
    for line in lines[1:]:
        if line.startswith("    ") or not line:
            entries[-1][1].append(line[4:])
        else:
            entries.append((line, []))
    for line, content in entries:
        if match := re.fullmatch(r"(\S+) \* ([0-9]+)", line):
            for number in range(1, int(match[2]) + 1):
                placed(block, match[1].replace("N", str(number)), project, home).mkdir(parents=True)
            continue
        name, _, what = line.partition(" ")
        path = placed(block, name, project, home)
        if what.startswith("-> "):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(what[3:])
        elif what == "fifo":
            path.parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(path)
        elif name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        elif content:
            put(path, block.encoded("".join(text + "\n" for text in content)))
        else:
            description = "Does all of it. Use it when a form is to be filled."
            put(path, f"---\nname: {path.parent.name}\ndescription: {description}\n---\nDo it.\n".encode())
        if what == "unreadable":
            unreadable.add(str(path))
        else:
            assert what in ("", "fifo") or what.startswith("-> "), line
    return Built(project, home, tuple(shlex.split(lines[0])[2:]), frozenset(unreadable))


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def is_observed(name: str) -> bool:
    """Tell whether it is known how a host handles a broken skill; five clients were never run."""
    return not any("broken front matter" in words for words in load_host(name).unknown)


def rejecting(path: Path) -> str:
    """Return the line that lists the hosts that do not load a file."""
    hosts = [
        name for name in host_names() if is_observed(name) and evaluate_file(str(path), name).state is State.REJECTED
    ]
    return f"Rejected by: {', '.join(hosts) or 'no host'}."


def rejecting_line(code: str, top: Path) -> str | None:
    """Return the line "Rejected by" of a page, for its first example, which is written below `top`."""
    block = page(code).blocks[0]
    if block.kind == "tree":
        return None
    built = build(block, top)
    return rejecting(built.project / built.argv[1])
