"""Read, run and update the case documents of `tests/cases`; its README explains the format."""

from __future__ import annotations

import difflib
import os
import re
import secrets
import shlex
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prowess import discover
from support.consoles import Console
from support.documents import Document, Section, Span, write_files
from support.temporary import memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog
    from prowess.catalog._entry import Entry

DETAIL = re.compile(r"(?P<state>[a-z-]*)(?: as `(?P<name>[^`]*)`)?(?P<colon>:)?(?: (?P<reason>.*))?\Z")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A home and a project on disk, as a case describes them."""

    top: Path
    env: dict[str, str]
    arguments: dict[str, list[str]]

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def project(self) -> Path:
        return self.top / "project"

    def place(self, text: str) -> str:
        """Replace the folders of a text by their placeholders."""
        for name, path in (("{project}", self.project), ("{home}", self.home), ("{top}", self.top)):
            text = text.replace(str(path), name)
        return text

    def fill(self, text: str) -> str:
        """Replace the placeholders of a text by their folders."""
        for name, path in (("{project}", self.project), ("{home}", self.home), ("{top}", self.top)):
            text = text.replace(name, str(path))
        return text


@dataclass(frozen=True)
class Case:
    """One heading of a document with something that is expected."""

    document: Document
    section: Section
    name: str

    def run(self) -> dict[Span, str]:
        """Build the tree and return what each expected part is now."""
        return run_section(self.section)

    def differences(self, now: dict[Span, str]) -> str:
        """Return a diff of what is expected and what is; nothing if they agree."""
        old, new = (self.document.text_with(parts) for parts in ({}, now))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "expected", "now", lineterm="", n=2)
        return "\n".join(lines)


def cases_of(path: Path) -> list[Case]:
    """Return the cases of a document, in order.

    Raises:
        ValueError: a part of the document is not as the format says.
    """
    document = Document.read(path)
    return [Case(document, section, section.name) for section in document.sections if section.expects]


def run_section(section: Section, *, whole_process: bool = False) -> dict[Span, str]:
    """Return the text that each expected part of a section should have.

    Args:
        section: with a console or a table.
        whole_process: whether each command of Prowess runs in a process of its own.

    Raises:
        ValueError: a command of a `shell` block failed.
    """
    with new_folder() as top:
        env = {name: value for block in section.blocks("env") for name, value in settings_of(block.text)}
        arguments = {name: shlex.split(value) for one in section.blocks("arguments") for name, value in pairs(one.text)}
        machine = Machine(top=top, env={}, arguments=arguments)
        for path in (machine.home, machine.project):
            path.mkdir()
        machine.env.update({name: machine.fill(value) for name, value in env.items()})
        for block in section.blocks("tree"):
            write_files(top, machine.fill(block.text))
        for file in section.files:
            write_files(
                top, f"{file.path}\n" + "".join(f"    {line}\n" for line in machine.fill(file.text).split("\n"))
            )
        console = Console(top, machine.env, whole_process)
        for block in section.blocks("shell"):
            for command in machine.fill(block.text).split("\n"):
                if "[exit code" in (output := console.run(command)):
                    raise ValueError(f"a command of a `shell` block failed: {output}")
        now = {
            block.span: machine.place("\n".join(console.transcript(machine.fill(block.text))))
            for block in section.own("console")
        }
        for block in section.own("findings"):
            hosts = dict.fromkeys(line.partition(":")[0] for line in block.text.splitlines())
            now[block.span] = "\n".join(line for host in hosts for line in findings_of(host, machine))
        for table in section.tables:
            now[table.span] = run_table(table.rows, machine)
        return now


@contextmanager
def new_folder() -> Iterator[Path]:
    """Make a temporary folder whose name always has the same length, and no `_`, which Markdown escapes: both show."""
    folder, number = memory(), secrets.token_hex(4)
    top = Path(f"{folder}/c{number}" if folder else f"/tmp/case-{number}").resolve()
    top.mkdir()
    try:
        yield top
    finally:
        shutil.rmtree(top)


def settings_of(text: str) -> list[tuple[str, str]]:
    """Return the names and values of lines such as `NAME=value`."""
    return [(name, value) for name, _, value in (line.partition("=") for line in text.splitlines() if line.strip())]


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the names and values of lines such as `codex: --enable skills`."""
    return [(name, value) for name, _, value in (line.partition(": ") for line in text.splitlines() if line.strip())]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Column:
    """What one agent does with the skills of the tree."""

    catalog: Catalog
    machine: Machine
    by_place: dict[str, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.catalog.skills:
            self.by_place.setdefault(place_of(entry, self.machine), entry)

    def cell(self, row: str, expected: str) -> str:
        """Return a cell with as much detail as the expected one has."""
        entry = self.by_place.get(row)
        if entry is None:
            return "-"
        detail = DETAIL.match(expected)
        text = str(entry.state)
        if entry.name != entry.folder:
            text += f" as `{entry.name}`"
        if detail is not None and detail["colon"]:
            text += f": {self.machine.place(entry.reason or '')}"
        return text


def place_of(entry: Entry, machine: Machine) -> str:
    """Return the path of a skill below the folder of the case, without `SKILL.md`."""
    place = os.path.relpath(entry.path, machine.top)
    return place.removesuffix("/SKILL.md").replace("|", "\\|")


def catalog_of(host: str, machine: Machine) -> Catalog:
    """Return what an agent finds."""
    arguments = machine.arguments.get(host, [])
    return discover(machine.project, host=host, home=machine.home, env=machine.env, client_args=arguments, cache=False)


def findings_of(host: str, machine: Machine) -> list[str]:
    """Return a line for each finding, first about places, then about skills; without findings, only the host's name."""
    catalog = catalog_of(host, machine)
    found = [*catalog.findings, *(item for entry in catalog.skills for item in entry.findings)]
    return [f"{host}: {item.code} {machine.place(item.path or '')}".rstrip() for item in found] or [f"{host}:"]


def run_table(rows: list[list[str]], machine: Machine) -> str:
    """Return a table with what each agent does now; new skills get a row at the end."""
    (first, *hosts), *body = rows
    columns = [Column(catalog_of(host, machine), machine) for host in hosts]
    known = [row[0].strip("`") for row in body]
    added = dict.fromkeys(place for column in columns for place in column.by_place if place not in known)
    table = [[first, *hosts]]
    for place, expected in [*zip(known, [row[1:] for row in body], strict=True), *((name, []) for name in added)]:
        wanted = [*expected, *[""] * (len(hosts) - len(expected))]
        table.append([f"`{place}`", *(one.cell(place, cell) for one, cell in zip(columns, wanted, strict=True))])
    return render_table(table)


def render_table(rows: list[list[str]]) -> str:
    """Return a Markdown table with columns of even width."""
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    head, *body = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([head, "| " + " | ".join("-" * width for width in widths) + " |", *body])
