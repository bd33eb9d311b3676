"""The pages of `docs/findings`: one for each code, and their examples are right."""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from prowess._internal.text import neutral
from prowess.catalog._entry import State
from prowess.catalog._precedence import evaluate_file
from prowess.cli import main
from prowess.findings import CODES
from prowess.hosts import host_names, load_host

TOP = Path(__file__).parent.parent
PAGES = TOP / "docs" / "findings"
SOURCE = TOP / "src" / "prowess"

ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|([trn\\])|\(([^()]*)\)\*([0-9]+))")
REPORTED = re.compile(
    r"Reported (?:for `(?P<path>[^`]+)`(?:, line (?P<line>\d+))?"
    r"|at line (?P<at>\d+)(?:, column (?P<column>\d+))?)\.$"
)
LETTERS = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\"}


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
        pytest.skip("macOS has no such names")
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
            put(path, f"---\nname: {path.parent.name}\ndescription: Does it.\n---\nDo it.\n".encode())
        if what == "unreadable":
            unreadable.add(str(path))
        else:
            assert what in ("", "fifo") or what.startswith("-> "), line
    return Built(project, home, tuple(shlex.split(lines[0])[2:]), frozenset(unreadable))


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def run_example(built: Built, *options: str, variables: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Run the example's command and return its findings."""
    real: dict[str, Any] = {"scandir": os.scandir, "open": os.open}

    def refusing(name: str) -> Any:
        # Permissions do not bind root, who runs the tests in a container.
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            if isinstance(path, str) and path in built.unreadable:
                raise PermissionError(13, "Permission denied", path)
            return real[name](path, *rest, **named)

        return call

    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(io.StringIO()):
        for name in real if built.unreadable else ():
            patch.setattr(os, name, refusing(name))
        for name in ("INFER_AGENT_SKILLS_ENABLED", "GEMINI_CLI_TRUST_WORKSPACE", "PROWESS_SKILL_DIR"):
            patch.delenv(name, raising=False)
        for name, setting in (variables or {}).items():
            patch.setenv(name, setting)
        patch.chdir(built.project)
        # Without an agent, `check` asks those that it finds on the machine, and adds what only their rules find.
        own = ["--host", "prowess"] if built.argv[0] == "check" and "--host" not in built.argv else []
        main([*built.argv, *own, *options, "--home", str(built.home), "--json"])
    value: dict[str, Any] = json.loads(output.getvalue())
    own = value.get("findings", ())
    return [*own, *(item for entry in value.get("skills", ()) for item in entry["findings"])]


def codes(findings: list[dict[str, Any]]) -> set[str]:
    return {item["code"] for item in findings}


def is_observed(name: str) -> bool:
    """Tell whether it is known how a host handles a broken skill; five clients were never run."""
    return not any("broken front matter" in words for words in load_host(name).unknown)


def rejecting(path: Path) -> str:
    """Return the line that lists the hosts that do not load a file."""
    hosts = [
        name for name in host_names() if is_observed(name) and evaluate_file(str(path), name).state is State.REJECTED
    ]
    return f"Rejected by: {', '.join(hosts) or 'no host'}."


every_code = pytest.mark.parametrize("code", CODES)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "README") == sorted(CODES)


def test_the_index_lists_all_codes() -> None:
    """In their order, with severities and titles."""
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    rows = [line for line in index.split("\n") if line.startswith("| [`")]
    assert rows == [
        f"| [`{code.code}`]({code.code}.md) | {code.guide} | {code.spec} | {code.title} |" for code in CODES.values()
    ]


@every_code
def test_a_page_begins_with_its_code_and_severities(code: str) -> None:
    """And is short."""
    lines = page(code).text.split("\n")
    assert lines[:3] == [f"# {code}", "", f"guide: {CODES[code].guide} · spec: {CODES[code].spec}"]
    assert len(lines) <= 60


@every_code
def test_a_page_has_no_internal_paths(code: str) -> None:
    """And its links lead to pages."""
    text = page(code).text
    assert "/work" not in text
    assert "shared/" not in text
    for link in re.findall(r"\]\(([a-z0-9-]+\.md)\)", text):
        assert (PAGES / link).is_file(), link


@every_code
def test_the_example_has_the_finding(code: str, tmp_path: Path) -> None:
    """And only others that the page lists, at the position that the page gives."""
    this = page(code)
    assert this.blocks, "the page has no example"
    built = build(this.blocks[0], tmp_path)
    found = run_example(built)
    beside = set(re.findall(r"`([a-z0-9-]+)`", this.line("Comes with ") or ""))
    assert codes(found) == {code} | beside, found
    reported = REPORTED.match(this.line("Reported ") or "")
    if reported is None:
        assert this.line("Reported ") is None, "the line `Reported ...` has another form"
        return
    mine = [item for item in found if item["code"] == code]
    if reported["path"]:
        path = placed(this.blocks[0], reported["path"], built.project, built.home)
        mine = [item for item in mine if item["path"] == neutral(str(path))]
    line = reported["line"] or reported["at"]
    mine = [item for item in mine if item["line"] == (int(line) if line else item["line"])]
    if reported["column"]:
        mine = [item for item in mine if item["column"] == int(reported["column"])]
    assert mine, found


@every_code
def test_the_fixed_example_has_no_finding(code: str, tmp_path: Path) -> None:
    """Except those that the page lists."""
    this = page(code)
    assert len(this.blocks) <= 2
    if len(this.blocks) == 2:
        left = set(re.findall(r"`([a-z0-9-]+)`", this.line("Left: ") or ""))
        assert codes(run_example(build(this.blocks[1], tmp_path))) == left


@every_code
def test_the_page_lists_the_hosts_that_reject_the_example(code: str, tmp_path: Path) -> None:
    this = page(code)
    if this.blocks[0].kind == "tree":
        assert this.line("Rejected by: ") is None
        return
    built = build(this.blocks[0], tmp_path)
    assert this.line("Rejected by: ") == rejecting(built.project / built.argv[1])


@every_code
def test_the_page_says_whether_fix_repairs_it(code: str, tmp_path: Path) -> None:
    this = page(code)
    text = " ".join(this.text.split())
    does, leaves = "`prowess check --fix` does this" in text, "`prowess check --fix` leaves it alone" in text
    assert does != leaves, "write exactly one of the two sentences"
    built = build(this.blocks[0], tmp_path)
    if built.argv[0] != "check":
        assert leaves
        return
    before = codes(run_example(built))
    run_example(built, "--fix")
    after = codes(run_example(built))
    assert (after < before and code not in after) is does


def raised() -> set[str]:
    """Return every code that the source passes to a finding as a literal."""
    found = set()
    makers = {
        "finding",
        "report",
        "_report",
        "_with_finding",
        "_field_finding",
        "at_name",
        "at_description",
        "UnreadableError",
        "rejection",
    }
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            arguments: list[ast.expr] = []
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
                arguments = node.args[:3] if name in makers else []
            elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                arguments = node.value.elts[:1]
            for argument in arguments:
                match argument:
                    case ast.Constant(value=builtins.str(text)) if re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", text):
                        found.add(text)
    return found


def test_every_code_in_the_source_is_listed() -> None:
    """The examples show that every listed code is used."""
    assert len(raised()) > 50
    assert raised() <= CODES.keys()


@pytest.mark.parametrize("host", host_names())
def test_every_code_of_a_host_is_listed(host: str) -> None:
    rules = load_host(host)
    named = {*rules.reading.rejects, *rules.reading.as_body, *(flag.code for flag in rules.flags if flag.code)}
    assert named <= CODES.keys()
