"""The pages of docs/ and the README: complete, up to date, and what they show is what happens."""

from __future__ import annotations

import dataclasses
import doctest
import json
import re
import runpy
import shlex
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.hosts
from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.findings import CODES
from prowess.hosts import host_from_table, host_names, load_host
from prowess.skill import SPEC_FIELDS

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

TOP = Path(__file__).parent.parent
DOCS = TOP / "docs"
GENERATE: dict[str, Any] = runpy.run_path(str(DOCS / "generate.py"))
DEMO: dict[str, Any] = runpy.run_path(str(TOP / "examples/demo.py"))
PAGES = sorted(str(page.relative_to(TOP)) for page in (*DOCS.rglob("*.md"), *TOP.glob("*.md")))


@cache
def text_of(path: str) -> str:
    return (TOP / path).read_text(encoding="utf-8")


def blocks(text: str, kind: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tree of the demonstration, seen by the user whose home is in it."""
    DEMO["furnish"](tmp_path)
    monkeypatch.chdir(tmp_path / "project")
    for name in GENERATE["os"].environ.copy():
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


# ── complete and up to date ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", GENERATE["PAGES"])
def test_what_is_made_from_the_code_is_up_to_date(page: str) -> None:
    """Help, the rules of hosts in words, and what commands print in the console blocks of their pages."""
    assert text_of(f"docs/{page}") == GENERATE["PAGES"][page](text_of(f"docs/{page}")), "run make docs"


def test_every_command_and_host_has_a_page_and_no_other_has() -> None:
    """With a title, and for hosts something to know that no table says."""
    assert {page.stem for page in (DOCS / "commands").iterdir()} == set(COMMANDS)
    assert {page.stem for page in (DOCS / "hosts").iterdir()} == {*host_names(), "README"}
    for name in COMMANDS:
        assert text_of(f"docs/commands/{name}.md").startswith(f"# `prowess {name}`\n")
        assert len(blocks(text_of(f"docs/commands/{name}.md"), "console")) >= 2
    for name in host_names():
        page = text_of(f"docs/hosts/{name}.md")
        assert page.startswith(f"# {load_host(name).title}\n")
        assert len(page.split("## Good to know\n")[1]) > 300
        assert ("## What was asked\n" in page) is bool(load_host(name).observed)


def options(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings or [str(action.metavar)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    """On the command's page, what help says of all commands aside."""
    page = text_of(f"docs/commands/{name}.md")
    parser = import_module(f"prowess.cli.{name}").parser()
    assert [option for option in options(parser) if option not in ("-h", "--help") and option not in page] == []
    help_page = text_of("docs/help.md")
    assert all(option in help_page for option in options(parser))


def test_every_key_of_a_host_file_is_explained() -> None:
    """Each field of each dataclass of `hosts/_host.py` has its row, with words."""
    page = text_of("docs/hosts/README.md")
    for title, table in GENERATE["TABLES"].items():
        section = page.split(f"### {table}\n")[1].split("\n### ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (.+) \|$", section, re.MULTILINE))
        assert list(rows) == [field.name for field in dataclasses.fields(getattr(prowess.hosts._host, title))], title
    tables = {name for name, value in vars(prowess.hosts._host).items() if dataclasses.is_dataclass(value)}
    assert tables == set(GENERATE["TABLES"])


def test_the_smallest_host_file_is_one() -> None:
    """The example is read as the files are that ship with Prowess."""
    (example,) = blocks(text_of("docs/hosts/README.md"), "toml")
    host = host_from_table("example", tomllib.loads(example))
    assert (host.title, host.observed, len(host.roots)) == ("Example", "", 2)


SHAPES = {
    "list": (["list", "--host", "codex", "--json"], ["list", "--json"]),
    "why": (["why", "commit-message", "--json"],),
    "show": (["show", "csv-profile", "--json"], ["show", "roles/table-helper.yaml", "--json"]),
    "run": (["run", "roles/table-helper.yaml", "--dry-run", "--json"],),
    "validate": (["validate", "roles/table-helper.yaml", "--json"],),
    "check": (["check", "--json", "--fix"],),
    "prompt": (["prompt", "--json"],),
    "activate": (["activate", "csv-profile", "--json"],),
    "read": (["read", "csv-profile", "assets/report.md", "--json"],),
    "search": (["search", "commit", "--json"],),
    "new": (["new", "x-ray", "--json"],),
    "init": (["init", "--json"],),
    "trust": (
        ["trust", "csv-profile", "--json"],
        ["trust", "--list", "--json"],
        ["trust", "--remove", "csv-profile", "--json"],
    ),
    "mount": (
        ["mount", "csv-profile", "--to", "../agent", "--json"],
        ["mount", "--remove", "--to", "../agent", "--json"],
    ),
    "exec": (["exec", "--skill", "csv-profile", "--json", "--", "true"],),
    "test": (
        ["test", "csv-profile", "--json", "--sandbox", "none"],
        ["test", "csv-profile", "--list", "--json"],
    ),
    "hosts": (["hosts", "--json"], ["hosts", "codex", "--json"]),
}
"""Command to those that print each shape of its JSON."""


MAPS = ("fields", "on", "when", "replace", "effects", "bundled", "scope_words", "env", "parameters")
"""Keys that hold a map from something to something, whose own keys are data, not shape; so are the names of hosts."""


def keys(value: object, depth: int) -> set[str]:
    """Return the keys of nested objects."""
    if isinstance(value, list):
        return set().union(*(keys(item, depth) for item in value))
    if not isinstance(value, dict):
        return set()
    if {*value} & {*host_names()}:
        return set().union(*(keys(item, depth) for item in value.values()))
    inner = set().union(*(keys(item, depth - 1) for key, item in value.items() if key not in MAPS)) if depth else set()
    return {*value} | inner


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("demo")
def test_every_key_of_json_is_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On the command's page, or on the page of `list`, `check` or the hosts that it leads to."""
    page = text_of(f"docs/commands/{name}.md")
    for other in ("list.md#json", "check.md#json", "../hosts/README.md#what-a-host-file-says"):
        if other in page:
            page += text_of(f"docs/commands/{other.partition('#')[0]}")
    words = {word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"[\w-]+", code)}
    for arguments in SHAPES[name]:
        assert main(arguments) == 0
        assert keys(json.loads(capsys.readouterr().out), 2) - words == set()


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Each link to a file of this repository, and to a heading in it."""
    plain = re.sub(r"^(`{3,}).*?^\1$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    plain = re.sub(r"`[^`\n]*`(?!\])", "", plain)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", plain):
        if target.startswith(("https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = (TOP / page).parent / path if path else TOP / page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


# ── the README ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_readme_names_exactly_the_commands() -> None:
    """In a table, in the order of the help page, each with a link to its page."""
    rows = re.findall(r"^\| \[`prowess (\w+)[^`]*`\]\((\S+)\) \| .+ \|$", text_of("README.md"), re.MULTILINE)
    assert rows == [(name, f"docs/commands/{name}.md") for name in COMMANDS]


@pytest.mark.usefixtures("demo")
def test_the_readme_shows_what_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    """The matrix has the agents of the demonstration, in its order; what goes to stderr is left out."""
    shown = blocks(text_of("README.md"), "console")
    assert [block.splitlines()[0] for block in shown] == [
        "$ prowess list",
        "$ prowess check .agents/skills/release-notes",
    ]
    columns = {"list": [argument for agent in DEMO["AGENTS"] for argument in ("--host", agent)]}
    for block in shown:
        typed, _, expected = block.partition("\n")
        arguments = shlex.split(typed)[2:]
        main([*arguments, *columns.get(arguments[0], [])])
        assert capsys.readouterr().out == expected


OURS = [code for code in blocks(text_of("README.md"), "python") if "prowess.adapters" not in code]
"""Without those that need a framework: the tests of its adapter run them."""


@pytest.mark.parametrize("code", OURS)
def test_the_readme_s_python_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the root of the repository, where its examples are."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("HOME", str(tmp_path))
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - it is ours
    out, err = capsys.readouterr()
    assert "'found': " in out
    assert "<name>skill-creator</name>" in out
    assert err == ""


# ── docs/skills.md ───────────────────────────────────────────────────────────────────────────────────────────────────

SKILLS = text_of("docs/skills.md")


def rows_of(heading: str, text: str = SKILLS) -> list[list[str]]:
    """Return the cells of the tables in a section."""
    section = text.split(f"\n{heading}\n")[1].split("\n## ", maxsplit=1)[0]
    return [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]


def test_the_guide_mentions_only_commands_that_exist() -> None:
    """And only options that those have."""
    for name, rest in re.findall(r"(?:`|^)prowess ([a-z]+)([^`\n#]*)", SKILLS, re.MULTILINE):
        assert name in COMMANDS
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(options(import_module(f"prowess.cli.{name}").parser()))


def test_the_guide_mentions_only_fields_that_exist() -> None:
    """The first table has the six of the specification, the second only such as checks know of a client."""
    cells = [re.findall(r"`([^`]+)`", row[0]) for row in rows_of("## Format") if "`" in row[0]]
    fields = [field for names in cells for field in names]
    assert tuple(fields[:6]) == SPEC_FIELDS
    assert set(fields[6:]) <= set(prowess.skill._skill.FIELDS) | {"when_to_use", "hooks"}


def test_the_guide_mentions_exactly_the_hosts_there_are() -> None:
    """Each with folders that its file has, and the mark of those that were never run."""
    rows = [row for row in rows_of("## Locations") if "`" in row[0]]
    named = {re.findall(r"`([^`]+)`", row[0])[0]: row for row in rows}
    assert set(named) == set(host_names())
    ours = {"prowess", "aam", "camel", "infer", "initrunner", "wink"}
    for name, row in named.items():
        host = load_host(name)
        paths = {path for root in host.roots for path in (root.path, root.path.partition("|")[2])}
        assert {path for cell in row[1:3] for path in re.findall(r"`([^`]+/[^`]+)`", cell)} <= paths, name
        assert ("*" in row[0]) is not bool(host.observed or name in ours), name


@pytest.mark.parametrize("line", [line for block in blocks(SKILLS, "sh") for line in block.splitlines()])
@pytest.mark.usefixtures("demo")
def test_the_guide_s_commands_run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the tree of the demonstration; one of them finds errors."""
    words = shlex.split(line, comments=True)
    assert words[0] == "prowess"
    assert main(words[1:]) == (1 if "spec" in words else 0)
    assert "usage:" not in capsys.readouterr().err


@pytest.mark.usefixtures("demo")
def test_the_guide_s_skill_is_a_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the letter of the specification."""
    (example,) = blocks(SKILLS, "markdown")
    (tmp_path / "csv-profile").mkdir()
    (tmp_path / "csv-profile/SKILL.md").write_text(example, encoding="utf-8")
    assert main(["check", "--strict", "--policy", "spec", str(tmp_path / "csv-profile")]) == 0
    assert capsys.readouterr().out == ""


def test_the_guide_s_settings_switch_skills_on(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For the `infer` host, and one skill off."""
    (settings,) = blocks(SKILLS, "yaml")
    for name in ("old-skill", "new-skill"):
        assert main(["new", name, "--host", "infer"]) == 0
    (demo / "project/.infer/config.yaml").write_text(settings, encoding="utf-8")
    capsys.readouterr()
    assert main(["list", "--host", "infer", "--json"]) == 0
    states = {entry["name"]: entry["state"] for entry in json.loads(capsys.readouterr().out)["skills"]}
    assert states == {"new-skill": "active", "old-skill": "disabled"}


def test_findings_that_pages_of_hosts_name_exist() -> None:
    """Their links are made from the codes; so are the words beside them."""
    for name in host_names():
        linked = set(re.findall(r"\]\(\.\./findings/([a-z0-9-]+)\.md\)", text_of(f"docs/hosts/{name}.md")))
        assert linked <= set(CODES)
        assert linked >= set(load_host(name).reading.rejects)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(text_of(page), "pycon")])
def test_what_is_typed_into_python_gives_what_the_page_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block, in the folder of the README."""
    monkeypatch.chdir(TOP)
    for number, block in enumerate(blocks(text_of(page), "pycon")):
        test = doctest.DocTestParser().get_doctest(block, {}, f"{page}[{number}]", page, 0)
        assert test.examples
        assert doctest.DocTestRunner().run(test).failed == 0
