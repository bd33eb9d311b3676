"""Read Markdown documents with trees of files and what is expected of them."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADING = re.compile(r"(#+) (.+)")
FENCE = re.compile(r"```(\w*)\s*\Z")
FILE = re.compile(r"`([^`]+)`:\s*\Z")
INHERITED = ("tree", "env", "arguments", "shell", "question")
EXPECTED = ("console", "findings")
QUOTED = r'"(?:[^"\\]|\\.)*"'
LINE = re.compile(
    rf'(?P<path>{QUOTED}|[^\s"].*?)(?: -> (?P<target>.*?))?'
    rf'(?: \[(?P<key>{QUOTED}|[^]:"]+)(?:: (?P<name>[^]]+))?\])?(?: \((?P<how>[a-z0-9 ]+)\))?\Z'
)


@dataclass(frozen=True)
class Span:
    """Lines of a document, from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block; its span is that of the lines inside."""

    kind: str
    text: str
    span: Span
    path: str | None = None
    """The file that it is the content of."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A Markdown table: the head and the rows, without the line between them."""

    rows: list[list[str]]
    span: Span


class Section:
    """What is below one heading, and the headings above that it inherits from."""

    def __init__(self, title: str, level: int, parent: Section | None) -> None:
        self.title, self.level, self.parent = title, level, parent
        self.content: list[Block] = []
        self.tables: list[Table] = []

    @property
    def name(self) -> str:
        """The titles from the one below the document's own on."""
        above = self.parent.name if self.parent is not None and self.parent.level > 1 else ""
        return f"{above} / {self.title}" if above else self.title

    @property
    def expects(self) -> bool:
        return bool(self.tables or any(block.kind in EXPECTED for block in self.content))

    def own(self, kind: str) -> list[Block]:
        return [block for block in self.content if block.kind == kind]

    def blocks(self, kind: str) -> Iterator[Block]:
        """Return the blocks of a kind, those of the headings above first."""
        if self.parent is not None:
            yield from self.parent.blocks(kind)
        yield from (block for block in self.own(kind) if block.path is None)

    def prose(self, document: Document) -> str:
        """Return the first line below the heading."""
        start = document.lines.index(f"{'#' * self.level} {self.title}") + 1
        return next((line for line in document.lines[start:] if line.strip()), "")

    @property
    def files(self) -> list[Block]:
        above = self.parent.files if self.parent is not None else []
        return [*above, *(block for block in self.content if block.path is not None)]


@dataclass(frozen=True, kw_only=True)
class Document:
    """A Markdown file in sections."""

    path: Path
    lines: list[str]
    sections: list[Section]

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a document.

        Raises:
            ValueError: a fence is not closed, a kind of block is unknown, or two cases have one name.
        """
        lines = path.read_text("utf-8").split("\n")
        document = cls(path=path, lines=lines, sections=[])
        try:
            document._parse()
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return document

    def _parse(self) -> None:
        at, current, file = 0, Section("", 0, None), None
        while at < len(self.lines):
            line = self.lines[at]
            if heading := HEADING.match(line):
                level = len(heading[1])
                parent: Section | None = current
                while parent is not None and parent.level >= level:
                    parent = parent.parent
                current = Section(heading[2], level, parent)
                self.sections.append(current)
            elif fence := FENCE.match(line):
                end = next((n for n in range(at + 1, len(self.lines)) if self.lines[n] == "```"), None)
                if end is None:
                    raise ValueError(f"line {at + 1}: the block has no end")
                text = "\n".join(self.lines[at + 1 : end])
                kind = fence[1]
                if file is None and kind not in (*INHERITED, *EXPECTED):
                    raise ValueError(f"line {at + 1}: unknown kind of block `{kind}`")
                current.content.append(Block(kind=kind, text=text, span=Span(at + 1, end), path=file))
                at = end
            elif line.startswith("| "):
                end = next((n for n in range(at, len(self.lines)) if not self.lines[n].startswith("|")), at)
                rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in self.lines[at:end]]
                current.tables.append(Table(rows=[rows[0], *rows[2:]], span=Span(at, end)))
                at = end - 1
            if line.strip():
                named = FILE.match(line)
                file = named[1] if named else None
            at += 1
        names = [section.name for section in self.sections if section.expects]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two cases are called {twice}")

    def text_with(self, parts: dict[Span, str]) -> str:
        """Return the document with other text in some of its lines."""
        lines = list(self.lines)
        for span in sorted(parts, key=lambda span: span.start, reverse=True):
            lines[span.start : span.end] = parts[span].split("\n")
        return "\n".join(lines)


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class TreeFile:
    """A file, link or folder of a `tree` block."""

    path: str
    target: str | None
    """Where it links to."""
    key: str | None
    """What a skill is called in answers about the tree."""
    name: str | None
    """The name of a skill without content, by default its key or folder."""
    how: str
    content: str | None

    @classmethod
    def parse(cls, line: str, content: str | None) -> TreeFile:
        """Read a line.

        Raises:
            ValueError: it is no path of a tree.
        """
        match = LINE.match(line)
        if match is None:
            raise ValueError(f"`{line}` is no path of a tree")
        return cls(
            path=_unquoted(match["path"]) or "",
            target=match["target"],
            key=_unquoted(match["key"]),
            name=match["name"],
            how=match["how"] or "",
            content=content,
        )

    def write(self, top: Path) -> None:
        """Write it below a folder."""
        path = top / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.target is not None:
            path.symlink_to(self.target)
        elif self.how == "git":
            write_repository(path / ".git")
        elif self.how == "fifo":
            os.mkfifo(path)
        elif self.how == "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(path))
        elif self.path.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.write_bytes(self.data())
        if re.fullmatch("[0-7]{4}", self.how):
            path.chmod(int(self.how, 8))

    def data(self) -> bytes:
        """Return the content of a file; if it is missing, the content of a skill."""
        folder, _, file = self.path.rpartition("/")
        if self.content is None and self.how != "empty":
            if self.key is not None:
                name = self.name or self.key
                return f"---\nname: {name}\ndescription: Use for tests [[{self.key}]]\n---\nBody.\n".encode()
            if file == "SKILL.md":
                name = folder.rpartition("/")[2]
                return f"---\nname: {name}\ndescription: Does {name}. Use it for {name}.\n---\nDo it.\n".encode()
        text = self.content or ""
        if self.how == "base64":
            return base64.b64decode(text)
        if self.how == "escaped":
            text = "".join(json.loads(line) for line in text.splitlines())
        elif self.how == "no newline":
            text = text.removesuffix("\n")
        elif self.how == "blank line":
            text += "\n"
        return text.encode("utf-8", "surrogatepass")


def write_files(top: Path, text: str) -> None:
    """Write the files of a `tree` block below a folder.

    Raises:
        ValueError: a line is no file.
    """
    for file in tree_files(text):
        file.write(top)


def tree_files(text: str) -> Iterator[TreeFile]:
    """Return the files of a `tree` block; the lines below a path with four blanks more are its content."""
    path: str | None = None
    content: list[str] = []
    for line in text.split("\n"):
        if line.startswith("    ") or (not line.strip() and content):
            content.append(line.removeprefix("    "))
        elif line.strip():
            if path is not None:
                yield TreeFile.parse(path, _joined(content))
            path, content = line, []
    if path is not None:
        yield TreeFile.parse(path, _joined(content))


def _unquoted(text: str | None) -> str | None:
    """Return what a JSON string says, or another text as it is."""
    if text is None or not text.startswith('"'):
        return text
    return str(json.loads(text))


def _joined(content: list[str]) -> str | None:
    while content and not content[-1].strip():
        content.pop()
    return "".join(f"{line}\n" for line in content) if content else None
