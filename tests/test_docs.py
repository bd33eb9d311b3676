"""The README and the pages of docs/ are complete and up to date, and their examples work."""

from __future__ import annotations

import doctest
import json
import re
import runpy
import shlex
import sys
import tomllib
from argparse import SUPPRESS
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.skill
from prowess.cli import main
from prowess.cli._commands import COMMANDS, WHICH
from prowess.cli._parser import command_parser
from prowess.findings import CODES
from prowess.hosts import KEY_DOCS, host_names, load_host
from prowess.skill import SPEC_FIELDS
from support.hosts import host_from_table

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


def code_blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return blocks


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the home and project of `examples/demo.py`, and be its user."""
    DEMO["furnish"](tmp_path)
    monkeypatch.chdir(tmp_path / "project")
    for name in GENERATE["os"].environ.copy():
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


# ── complete and up to date ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", GENERATE["PAGES"])
def test_generated_pages_are_up_to_date(page: str) -> None:
    """Help, the rules of hosts, the output in the pages of commands, the map of the source."""
    assert text_of(f"docs/{page}") == GENERATE["PAGES"][page](text_of(f"docs/{page}")), "run `make docs`"


def test_every_command_and_every_host_has_a_page() -> None:
    """And there are no other pages. Pages of hosts say more than the generated rules."""
    assert {page.stem for page in (DOCS / "commands").iterdir()} == set(COMMANDS)
    assert {page.stem for page in (DOCS / "hosts").iterdir()} == {*host_names(), "README"}
    for name in COMMANDS:
        assert text_of(f"docs/commands/{name}.md").startswith(f"# `prowess {name}`\n")
        assert len(code_blocks(text_of(f"docs/commands/{name}.md"), "console")) >= 2
    for name in host_names():
        page = text_of(f"docs/hosts/{name}.md")
        assert page.startswith(f"# {load_host(name).title}\n")
        assert len(page.split("## Good to know\n")[1]) > 300
        assert ("## How it was observed\n" in page) is bool(load_host(name).observed)


def options(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.help == SUPPRESS:
            continue
        yield from action.option_strings or [str(action.metavar)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    """On the page of the command, and in the generated help. `--color` of all commands has one page."""
    page = text_of(f"docs/commands/{name}.md")
    parser = command_parser(name)
    common = ("-h", "--help", "--color")
    assert [option for option in options(parser) if option not in common and option not in page] == []
    assert "`--color auto`" in text_of("docs/terminal.md")
    help_page = text_of("docs/help.md")
    assert all(option in help_page for option in options(parser))


def test_every_key_of_a_host_file_is_documented() -> None:
    """Each field of each class of `hosts/_schema.py` has a row with a description."""
    page = text_of("docs/hosts/README.md")
    assert set(GENERATE["TABLES"]) == set(KEY_DOCS)
    for title, table in GENERATE["TABLES"].items():
        section = page.split(f"### {table}\n")[1].split("\n### ")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (.+) \|$", section, re.MULTILINE))
        assert list(rows) == list(KEY_DOCS[title]), title


def test_the_example_of_a_host_file_loads() -> None:
    (example,) = code_blocks(text_of("docs/hosts/README.md"), "toml")
    host = host_from_table("example", tomllib.loads(example))
    assert (host.title, host.observed, len(host.roots)) == ("Example", "", 2)


SHAPES = {
    "list": (["list", "--host", "codex", "--json"], ["list", "--json"]),
    "why": (["why", "commit-message", "--json"],),
    "show": (["show", "csv-profile", "--json"], ["show", "roles/table-helper.yaml", "--json"]),
    "run": (["run", "roles/table-helper.yaml", "--dry-run", "--json"],),
    "validate": (["validate", "roles/table-helper.yaml", "--json"],),
    "check": (["check", "--json", "--fix"],),
    "inventory": (["inventory", "--json", "--host", "codex"],),
    "usage": (["usage", "--since", "2026-11-01", "--json"],),
    "report": (["report", "-o", "skills.html", "--json"],),
    "prompt": (["prompt", "--json"],),
    "activate": (["activate", "csv-profile", "--json"],),
    "read": (["read", "csv-profile", "assets/report.md", "--json"],),
    "search": (["search", "commit", "--json"],),
    "add": (["add", "./roles/skills/house-style", "--yes", "--json"],),
    "install": (["install", "--json"],),
    "update": (
        ["add", "./roles/skills/house-style", "--yes", "--json"],
        ["update", "house-style", "--dry-run", "--json"],
    ),
    "remove": (
        ["add", "./roles/skills/house-style", "--yes", "--json"],
        ["remove", "house-style", "--yes", "--json"],
    ),
    "verify": (["verify", "--json"],),
    "lock": (["lock", "--json"],),
    "mcp": (),
    "publish": (["publish", ".agents/skills/csv-profile", "oci://127.0.0.1:1/x", "--dry-run", "--json"],),
    "index": (["index", ".agents/skills/csv-profile", "-o", "../site", "--json"],),
    "store": (["store", "--json"], ["store", "gc", "--json"]),
    "env": (["env", "--json"], ["env", "clear", "--json"]),
    "new": (["new", "x-ray", "--json"],),
    "init": (["init", "--json"],),
    "trust": (
        ["trust", "csv-profile", "--yes", "--json"],
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
    "eval": (
        ["eval", "csv-profile", "--json"],
        ["eval", "init", "csv-profile", "--json"],
        ["eval", "csv-profile", "--json", "--description", "roles/table-helper.yaml"],
    ),
    "hosts": (["hosts", "--json"], ["hosts", "codex", "--json"]),
    "completion": (),
}
"""Command to the command lines that print each shape of its JSON."""


MAPS = (
    "fields",
    "on",
    "when",
    "replace",
    "effects",
    "bundled",
    "scope_words",
    "env",
    "parameters",
    "plugins",
    "rules",
    "agents",
    "settings_aliases",
    "settings_files",
    "settings_types",
    "sidecar_types",
)
"""Keys whose value is a map with data as keys, such as variables; names of hosts are data too."""


def json_keys(value: object, depth: int) -> set[str]:
    """Return the keys of nested objects."""
    if isinstance(value, list):
        return set().union(*(json_keys(item, depth) for item in value))
    if not isinstance(value, dict):
        return set()
    if {*value} & {*host_names()} or any(key.startswith("/") for key in value):
        return set().union(*(json_keys(item, depth) for item in value.values()))
    nested = (
        set().union(*(json_keys(item, depth - 1) for key, item in value.items() if key not in MAPS)) if depth else set()
    )
    return {*value} | nested


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("demo")
def test_every_key_of_json_output_is_documented(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On the page of the command, or on the page of `list`, `check`, `add` or the hosts that it links to."""
    page = text_of(f"docs/commands/{name}.md")
    for other in ("list.md#json", "check.md#json", "add.md#json", "../hosts/README.md#what-a-host-file-says"):
        if other in page:
            page += text_of(f"docs/commands/{other.partition('#')[0]}")
    words = {word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"[\w-]+", code)}
    for arguments in SHAPES[name]:
        assert main(arguments) == 0
        printed = json_keys(json.loads(capsys.readouterr().out), 2)
        assert arguments[0] != name or printed - words == set()  # other commands only prepare


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_have_targets(page: str) -> None:
    """Each link to a file of this repository, and to a heading of it."""
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


def test_the_readme_lists_all_commands() -> None:
    """In a table, in the order of the help page, each with a link to its page."""
    rows = re.findall(r"^\| \[`prowess (\w+)[^`]*`\]\((\S+)\) \| .+ \|$", text_of("README.md"), re.MULTILINE)
    assert rows == [(name, f"docs/commands/{name}.md") for name in COMMANDS]


@pytest.mark.usefixtures("demo")
def test_the_readme_shows_real_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal without colour; the path of the project is another one."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    examples = code_blocks(text_of("README.md"), "console")
    assert [block.splitlines()[0] for block in examples] == [
        "$ prowess",
        "$ prowess check .agents/skills/release-notes",
    ]
    for block in examples:
        command, _, expected = block.partition("\n")
        main(shlex.split(command)[2:])
        shown = capsys.readouterr().out
        assert _without_folder(shown) == _without_folder(expected)


def _without_folder(text: str) -> str:
    return re.sub(r"(?m)^(\d+ skills, \d+ agents, in ).*$", r"\1", text)


def test_the_readme_counts_the_hosts_as_the_product_does(capsys: pytest.CaptureFixture[str]) -> None:
    """`prowess hosts` says how many sets of rules there are, and how many were observed."""
    main(["hosts"])
    total, observed = re.findall(r"^(\d+) sets of rules: .* (\d+) observed$", capsys.readouterr().err)[0]
    readme = " ".join(text_of("README.md").split())
    assert f"Prowess knows {total} sets of such rules, {observed} of them observed in real runs." in readme


def test_what_a_command_is_for_is_the_same_in_its_help_and_on_the_first_page() -> None:
    """Four commands put skills somewhere, or allow them; which is for what is said once."""
    section = text_of("docs/README.md").split("\n## Which command is for what\n")[1].split("\n## ")[0]
    assert re.findall(r"^- (.*)$", section, re.MULTILINE) == list(WHICH.values())
    for name, sentence in WHICH.items():
        assert f"\n{sentence}\n" in command_parser(name).format_help()
        assert (sentence.startswith(f"`{name}` "), len(sentence) <= 100) == (True, True)


README_PYTHON = [code for code in code_blocks(text_of("README.md"), "python") if "prowess.adapters" not in code]
"""The examples that need no framework; the tests of the adapters run the others."""


@pytest.mark.parametrize("code", README_PYTHON)
def test_the_python_of_the_readme_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the root of the repository, where `examples` is."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("HOME", str(tmp_path))
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - it is in our README
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


def test_no_change_is_listed_twice() -> None:
    """Git merges `CHANGELOG.md` by union, which brings back what was moved or rewritten."""
    changes = re.split(r"^(?=- |#|\n)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    beginnings = [" ".join(change.split())[:40] for change in changes if change.startswith("- ")]
    assert len(beginnings) > 50
    assert [each for each in {*beginnings} if beginnings.count(each) > 1] == []


@pytest.mark.parametrize("page", ["docs/README.md", "docs/skills.md"])
def test_a_guide_mentions_only_commands_and_options_that_exist(page: str) -> None:
    for name, rest in re.findall(r"(?:`|^)prowess ([a-z]+)([^`\n#]*)", text_of(page), re.MULTILINE):
        assert name in COMMANDS
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(options(command_parser(name)))


def test_the_guide_mentions_only_fields_that_exist() -> None:
    """The first table has the six fields of the specification, the second only fields that some client knows."""
    cells = [re.findall(r"`([^`]+)`", row[0]) for row in rows_of("## Format") if "`" in row[0]]
    fields = [field for names in cells for field in names]
    assert tuple(fields[:6]) == SPEC_FIELDS
    assert set(fields[6:]) <= set(prowess.skill._skill.FIELDS) | {"when_to_use", "hooks"}


def test_the_guide_mentions_all_hosts() -> None:
    """Each with folders of its file, and an asterisk if it was never run."""
    rows = [row for row in rows_of("## Locations") if "`" in row[0]]
    row_by_host = {re.findall(r"`([^`]+)`", row[0])[0]: row for row in rows}
    assert set(row_by_host) == set(host_names())
    own_hosts = {"prowess", "aam", "camel", "infer", "initrunner", "wink"}
    for name, row in row_by_host.items():
        host = load_host(name)
        paths = {path for root in host.roots for path in (root.path, root.path.partition("|")[2])}
        assert {path for cell in row[1:3] for path in re.findall(r"`([^`]+/[^`]+)`", cell)} <= paths, name
        assert ("*" in row[0]) is not bool(host.observed or name in own_hosts), name


@pytest.mark.parametrize("line", [line for block in code_blocks(SKILLS, "sh") for line in block.splitlines()])
@pytest.mark.usefixtures("demo")
def test_the_commands_of_the_guide_run(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the project of `examples/demo.py`; one of them finds errors."""
    words = shlex.split(line, comments=True)
    assert words[0] == "prowess"
    assert main(words[1:]) == (1 if "spec" in words else 0)
    assert "usage:" not in capsys.readouterr().err


@pytest.mark.usefixtures("demo")
def test_the_skill_of_the_guide_passes_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even under the policy `spec`."""
    (example,) = code_blocks(SKILLS, "markdown")
    (tmp_path / "csv-profile").mkdir()
    (tmp_path / "csv-profile/SKILL.md").write_text(example, encoding="utf-8")
    assert main(["check", "--strict", "--policy", "spec", str(tmp_path / "csv-profile")]) == 0
    assert capsys.readouterr().out == ""


def test_the_settings_of_the_guide_enable_skills(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For the host `infer`, except one skill that they disable."""
    (settings,) = code_blocks(SKILLS, "yaml")
    for name in ("old-skill", "new-skill"):
        assert main(["new", name, "--host", "infer"]) == 0
    (demo / "project/.infer/config.yaml").write_text(settings, encoding="utf-8")
    capsys.readouterr()
    assert main(["list", "--host", "infer", "--json"]) == 0
    states = {entry["name"]: entry["state"] for entry in json.loads(capsys.readouterr().out)["skills"]}
    assert states == {"new-skill": "active", "old-skill": "disabled"}


def test_pages_of_hosts_link_to_findings_that_exist() -> None:
    """And to every finding for which the host rejects a skill."""
    for name in host_names():
        linked = set(re.findall(r"\]\(\.\./findings/([a-z0-9-]+)\.md\)", text_of(f"docs/hosts/{name}.md")))
        assert linked <= set(CODES)
        assert linked >= set(load_host(name).reading.rejects)


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(text_of(page), "pycon")])
def test_interactive_examples_give_the_output_shown(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block on its own, in the root of the repository."""
    monkeypatch.chdir(TOP)
    for number, block in enumerate(code_blocks(text_of(page), "pycon")):
        test = doctest.DocTestParser().get_doctest(block, {}, f"{page}[{number}]", page, 0)
        assert test.examples
        assert doctest.DocTestRunner().run(test).failed == 0
