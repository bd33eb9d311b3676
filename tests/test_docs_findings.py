"""The pages of `docs/findings`: one for each code, and their examples are right."""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prowess._internal.text import neutral
from prowess.cli import main
from prowess.findings import CODES
from prowess.hosts import host_names, load_host
from support.finding_examples import PAGES, Built, build, page, placed, rejecting_line

TOP = Path(__file__).parent.parent
SOURCE = TOP / "src" / "prowess"
REPORTED = re.compile(
    r"Reported (?:for `(?P<path>[^`]+)`(?:, line (?P<line>\d+))?"
    r"|at line (?P<at>\d+)(?:, column (?P<column>\d+))?)\.$"
)


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
    own = value.get("sound", value).get("findings", ())
    return [*own, *(item for entry in value.get("skills", ()) for item in entry.get("findings", ()))]


def codes(findings: list[dict[str, Any]]) -> set[str]:
    return {item["code"] for item in findings}


BODY_CODES = {code for code in CODES if CODES[code].group in ("routes", "files")} - {"description-placeholder"} | {
    *("text-hidden", "download-runs", "code-encoded", "command-on-load", "tools-unlimited"),
}
every_code = pytest.mark.parametrize("code", CODES)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "README") == sorted(CODES)


def test_the_index_lists_all_codes() -> None:
    """In their order, with severities and titles."""
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    rows = [line for line in index.split("\n") if line.startswith("| [`")]
    assert rows == [
        f"| [`{code.code}`]({code.code}.md) | {code.group} | {code.guide} | {code.spec} | {code.title} |"
        for code in CODES.values()
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
    assert page(code).line("Rejected by: ") == rejecting_line(code, tmp_path)


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


@every_code
def test_the_catalog_has_the_findings_of_the_example_too(code: str, tmp_path: Path) -> None:
    """Its fast path must not take the example for a skill without findings. Bodies are read by `check` only."""
    block = page(code).blocks[0]
    if block.kind == "skill":
        built = build(block, tmp_path)
        listed = replace(built, argv=("list", "--host", "prowess", "--skill-dir", "."))
        assert codes(run_example(built)) - BODY_CODES <= codes(run_example(listed))
