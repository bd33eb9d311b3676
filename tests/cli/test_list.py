"""`prowess list`: the skills of one agent, or the matrix."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.files import skill_digest
from prowess._internal.text import display_width
from prowess.cli import _tables as tables, main
from prowess.hosts import host_names, load_host, observed_hosts, raw_value
from support.project_commands import json_in, run_in
from support.skills import skill
from support.unreadable_links import refuse_to_read

if TYPE_CHECKING:
    from collections.abc import Callable

STATES = ("active", "user-only", "deferred", "shadowed", "disabled", "untrusted", "rejected")
ENTRY = (
    *("name", "frontmatter_name", "folder", "description", "path", "scope", "root", "namespace", "state"),
    *("reason", "shadowed_by", "digest", "requirements", "findings"),
)
"""The keys of a skill, in order; `alias` was added to those that were promised."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create four project skills: one `user-only`, one rejected by some hosts, one also a user skill."""
    monkeypatch.delenv("PROWESS_SKILL_DIR", raising=False)
    monkeypatch.setenv("PATH", "")
    top = tmp_path / "project"
    for name in ("objects", "refs"):
        (top / ".git" / name).mkdir(parents=True)
    (top / ".git/HEAD").write_text("ref: refs/heads/main\n")
    skill(top / ".agents/skills/csv")
    skill(top / ".agents/skills/deploy", more="disable-model-invocation: true\n")
    skill(top / ".agents/skills/release", description="Use when: a release is due")
    skill(top / ".claude/skills/pdf")
    skill(tmp_path / "home/.claude/skills/pdf", description="The user's own.")
    return top


run = partial(run_in, "list")
data = partial(json_in, "list")


# ── one agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_skills_of_one_agent_are_a_table(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Active skills first; the others have a reason instead of a description, with short paths."""
    assert run(project, "--host", "prowess") == 0
    assert capsys.readouterr() == (
        """\
NAME     STATE      SCOPE    WHERE             WHY OR WHAT
csv      active     project  .agents/skills    Does csv. Use it for csv.
deploy   user-only  project  .agents/skills    hidden from the model by `disable-model-invocation`
release  active     project  .agents/skills    Use when: a release is due
pdf      active     project  .claude/skills    Does pdf. Use it for pdf.
pdf      shadowed   user     ~/.claude/skills  .claude/skills/pdf wins: project before user
""",
        "Prowess: 5 found (3 active, 1 user-only, 1 shadowed)\n",
    )


@pytest.mark.parametrize("form", [(), ("--json",), ("--host", "codex", "--host", "claude-code")])
def test_the_arguments_of_one_agent_count(
    form: tuple[str, ...], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The skills of a folder that `--add-dir` names are listed; several agents are not started with one argument."""
    skill(project.parent / "other/.claude/skills/extra")
    code = run(project, "--host", "claude-code", f"--client-arg=--add-dir={project.parent / 'other'}", *form)
    out, err = capsys.readouterr()
    if "codex" in form:
        assert (code, out) == (2, "")
        assert err.startswith("error: `--client-arg` needs one `--host`\n")
    else:
        assert code == 0
        assert "extra" in out


def test_json_of_one_agent(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole object, each key in its place."""
    (project / ".agents/skills/csv/SKILL.md").write_text(
        "---\nname: csv\ndescription: d\nrequires: {bins: [jq]}\n---\nx\n"
    )
    shown = data(project, "--host", "codex", capsys=capsys)
    root = str(project / ".agents/skills")
    assert list(shown) == ["host", "cwd", "home", "skills", "findings", "counts", "evidence"]
    assert (shown["host"], shown["cwd"], shown["home"]) == ("codex", str(project), str(project.parent / "home"))
    assert [tuple(entry) for entry in shown["skills"]] == [ENTRY] * 3
    assert shown["skills"][0] == {
        "name": "csv",
        "frontmatter_name": "csv",
        "folder": "csv",
        "description": "d",
        "path": f"{root}/csv/SKILL.md",
        "scope": "project",
        "root": root,
        "namespace": None,
        "state": "active",
        "reason": None,
        "shadowed_by": None,
        "digest": None,
        "requirements": {"env": [], "bins": ["jq"], "packages": []},
        "findings": [
            {
                "code": "field-unknown",
                "severity": "info",
                "path": f"{root}/csv/SKILL.md",
                "line": 4,
                "column": 1,
                "message": "the field `requires` is not in the specification; prowess honours it, initrunner documents "
                "it; no other known agent does",
                "hint": "keep it for these agents, or remove it to follow the specification",
            }
        ],
    }
    assert shown["findings"] == []
    assert shown["counts"] == {"found": 3, "active": 3, **dict.fromkeys(STATES[1:], 0)}


@pytest.mark.parametrize("host", host_names())
def test_states_add_up(host: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To what was found, which is as many skills as there are objects."""
    shown = data(project, "--host", host, capsys=capsys)
    counts = shown["counts"]
    assert tuple(counts) == ("found", *STATES)
    assert sum(counts[state] for state in STATES) == counts["found"] == len(shown["skills"])


def test_a_shadowed_skill_names_the_winner(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the path of its SKILL.md; at Claude Code the user's wins."""
    shown = data(project, "--host", "claude-code", capsys=capsys)["skills"]
    winner = str(project.parent / "home/.claude/skills/pdf/SKILL.md")
    assert [(entry["state"], entry["shadowed_by"]) for entry in shown] == [("active", None), ("shadowed", winner)]
    assert shown[1]["reason"] == f"{winner} wins: user before project"


def test_digests_are_computed_only_with_the_option(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below the table, and in JSON; the matrix has no column for them."""
    folder = project / ".claude/skills/pdf"
    users = project.parent / "home/.claude/skills/pdf"
    assert run(project, "--host", "claude-code", "--digest") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:] == [
        f"{skill_digest(str(users))}  ~/.claude/skills/pdf",
        f"{skill_digest(str(folder))}  .claude/skills/pdf",
    ]
    shown = data(project, "--host", "claude-code", "--digest", capsys=capsys)["skills"]
    assert [entry["digest"] for entry in shown] == [skill_digest(str(users)), skill_digest(str(folder))]
    capsys.readouterr()
    assert run(project, "--host", "claude-code", "--host", "codex", "--digest") == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("sha256:")]
    assert f"{skill_digest(str(users))}  ~/.claude/skills/pdf" in shown
    assert len(shown) == 5
    for arguments, expected in ((["--digest"], skill_digest(str(users))), ([], None)):
        rows = data(project, "--host", "claude-code", "--host", "codex", *arguments, capsys=capsys)["skills"]
        (row,) = [row for row in rows if row["path"] == f"{users}/SKILL.md"]
        assert row["digest"] == expected


def test_a_row_of_the_matrix_has_tokens_and_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tokens of a line in the catalog and of the body, and what is wrong with the text."""
    skill(project / ".agents/skills/csv", description="Use: it", body="x" * 40)
    rows = data(project, "--host", "codex", "--host", "pi", capsys=capsys)["skills"]
    (row,) = [row for row in rows if row["name"] == "csv"]
    assert row["tokens"] == {"catalog": 3, "body": 11}
    assert [item["code"] for item in row["findings"]] == ["repair-colon"]


def test_disabled_skills_are_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list would look as if there were no skills."""
    skill(project / ".infer/skills/csv")
    message = (
        "info: skills are switched off for infer CLI by default; nothing was scanned [host-disabled]\n"
        "    hint: set INFER_AGENT_SKILLS_ENABLED=true to switch them on\n"
    )
    assert run(project, "--host", "infer") == 0
    assert capsys.readouterr() == ("", f"{message}infer CLI: 0 found\n")
    assert run(project, "--host", "infer", "--host", "wink") == 0
    assert capsys.readouterr() == ("", f"{message}0 skills, 2 agents\n")


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("prowess", "put skills into .prowess/skills, or run `prowess new my-skill`"),
        ("camel", "put skills into .camel/skills, or run `prowess new my-skill --host camel`"),
    ],
)
def test_no_skills_at_all(host: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout, exit code 0, and a hint for the first skill; empty lists in JSON."""
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    assert run(tmp_path / "project", "--host", host) == 0
    assert capsys.readouterr() == ("", f"{load_host(host).title}: 0 found\n\nhint: {hint}\n")
    shown = data(tmp_path / "project", "--host", host, capsys=capsys)
    assert (shown["skills"], shown["counts"]["found"]) == ([], 0)


# ── the matrix ───────────────────────────────────────────────────────────────────────────────────────────────────────

HOSTS = ("prowess", "claude-code", "codex", "opencode", "copilot")
CHOSEN = tuple(argument for host in HOSTS for argument in ("--host", host))


def test_the_matrix_has_skills_down_and_agents_across(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the options, with a legend; a cell is empty if the agent does not search that folder."""
    assert run(project, *CHOSEN) == 0
    assert capsys.readouterr() == (
        """\
SKILL      prowess  claude-code  codex  opencode  copilot
.agents/skills
  csv      yes                   yes    yes       yes
  deploy   user                  yes    yes       user
  release  yes                   yes    yes       no
.claude/skills
  pdf      yes      -                   ?         yes
~/.claude/skills
  pdf      -        yes                 ?
""",
        (
            "  yes     the model sees it\n"
            "  user    only the user can call it\n"
            "  -       another skill hides it\n"
            "  no      the agent does not load it\n"
            "  ?       skills share that name; the winner is undefined\n"
            "  (empty) the agent does not search that folder\n"
            "5 skills, 5 agents; `prowess why NAME` explains a skill\n"
            "5 of 5 agents lose skills: claude-code 4, codex 2, copilot 2, opencode 1, prowess 1 of 5\n"
        ),
    )


def test_skills_of_a_folder_with_the_same_cells_share_a_row(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All their names are shown; `--rows` prints a row for each."""
    names = [f"skill-{number:02}" for number in range(60)]
    for name in names:
        skill(project / ".agents/skills" / name)
    assert run(project, *CHOSEN) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == [
        ".agents/skills",
        "  61 skills  yes                   yes    yes       yes",
    ]
    assert re.findall(r"skill-\d\d", "".join(lines)) == names
    assert len(lines) < 20
    assert max(map(len, lines)) <= 80
    assert run(project, *CHOSEN, "--rows") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "skill-" in line] == [[name, *(["yes"] * 4)] for name in names]


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_the_matrix_of_all_agents_fits_the_terminal(
    columns: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In several blocks, which have all agents."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(project, "--all") == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    headings = [
        heading.removesuffix("*")
        for line in out.splitlines()
        if line.startswith("SKILL")
        for heading in line.split()[1:]
    ]
    assert len(headings) == len(host_names())
    assert [
        pair
        for pair in zip(headings, host_names(), strict=True)
        if pair[0] not in (pair[1], raw_value(pair[1], "short"))
    ] == []


def test_json_of_the_matrix(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object for each file; a host that does not look there is not in it."""
    shown = data(project, *CHOSEN, capsys=capsys)
    assert list(shown) == ["cwd", "home", "hosts", "skills", "findings", "counts", "evidence"]
    assert (shown["cwd"], shown["home"]) == (str(project), str(project.parent / "home"))
    assert shown["hosts"] == list(HOSTS)
    assert list(shown["counts"]) == list(HOSTS)
    assert [tuple(counts) for counts in shown["counts"].values()] == [("found", *STATES)] * 5
    for host in HOSTS:
        assert shown["counts"][host]["found"] == sum(host in row["hosts"] for row in shown["skills"])
    assert shown["findings"] == []
    row = shown["skills"][4]
    assert [*row] == ["name", "path", "folder", "description", "hosts", "digest", "tokens", "findings"]
    assert {key: row[key] for key in [*row][:5]} == {
        "name": "release",
        "path": f"{project}/.agents/skills/release/SKILL.md",
        "folder": "release",
        "description": "Use when: a release is due",
        "hosts": {
            "prowess": {"state": "active", "reason": None, "name": "release"},
            "codex": {"state": "active", "reason": None, "name": "release"},
            "opencode": {"state": "active", "reason": None, "name": "release"},
            "copilot": {"state": "rejected", "reason": "the unquoted value contains `: `", "name": "release"},
        },
    }


def test_all_is_every_agent(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is found on this machine, and whichever was named beside."""
    for arguments in (["--all"], ["--all", "--host", "codex"]):
        assert data(project, *arguments, capsys=capsys)["hosts"] == list(host_names())


def test_agents_are_detected_by_their_folders_and_programs(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the project, in the home, on the path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pi").touch(mode=0o755)
    (tmp_path / "home/.codex").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert data(project, capsys=capsys)["hosts"] == ["prowess", "claude-code", "codex", "pi"]


def test_without_agents_the_observed_ones_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a message."""
    monkeypatch.setenv("PATH", "")
    (tmp_path / "home").mkdir()
    skill(tmp_path / "project/.agents/skills/csv")
    assert run(tmp_path / "project") == 0
    out, err = capsys.readouterr()
    observed = observed_hosts()
    headings = [name for line in out.splitlines() if line.startswith("SKILL") for name in line.split()[1:]]
    assert headings == ["prowess", *(raw_value(name, "short") or name for name in observed)]
    assert err == (
        "no agent found on this machine; showing the agents whose rules were observed\n"
        "  yes     the model sees it\n"
        "  off     it is disabled or not trusted\n"
        "  (empty) the agent does not search that folder\n"
        "  claude = claude-code, gemini = gemini-cli, kimi = kimi-code,\n"
        "  vibe = mistral-vibe, qwen = qwen-code\n"
        "1 skill, 11 agents; `prowess why NAME` explains a skill\n"
        "1 of 10 agents loses skills: claude-code 1 of 1\n"
    )


def test_one_file_in_two_folders_is_one_row(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reached through a link it is the same skill, and what counts is the better of its states."""
    (project / ".claude/skills/csv").symlink_to("../../.agents/skills/csv")
    shown = data(project, "--all", capsys=capsys)["skills"]
    (row,) = [row for row in shown if row["name"] == "csv"]
    assert {"claude-code", "codex", "opencode", "goose"} <= set(row["hosts"])
    assert {host: cell["state"] for host, cell in row["hosts"].items() if host != "opencode"} == dict.fromkeys(
        set(row["hosts"]) - {"opencode"}, "active"
    ) | {"pi": "untrusted", "mistral-vibe": "untrusted"}


def test_errors_are_counted_below_the_matrix(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One is one error, not one errors."""
    (project / ".agents/skills/release/SKILL.md").write_text("no front matter\n")
    assert run(project, *CHOSEN) == 0
    assert capsys.readouterr().err.endswith(
        "5 skills, 5 agents; 1 error, see `prowess check`; `prowess why NAME` explains a skill\n"
        "5 of 5 agents lose skills: claude-code 4, codex 3, copilot 2, opencode 2, prowess 2 of 5\n"
    )


# ── where to look ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_further_folders_come_from_options_and_the_variable(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option first, then the parts of `PROWESS_SKILL_DIR` in their order; empty parts are ignored."""
    for folder in ("one", "two", "three"):
        skill(tmp_path / folder / "extra", description=folder)
    monkeypatch.setenv("PROWESS_SKILL_DIR", os.pathsep.join([str(tmp_path / "two"), "", str(tmp_path / "three")]))
    shown = data(project, "--host", "prowess", "--skill-dir", str(tmp_path / "one"), capsys=capsys)["skills"]
    extra = [(entry["description"], entry["state"]) for entry in shown if entry["scope"] == "extra"]
    assert extra == [("one", "active"), ("two", "shadowed"), ("three", "shadowed")]


@pytest.mark.parametrize("hosts", [[], ["--host", "codex"], ["--host", "codex", "--host", "pi"]])
@pytest.mark.parametrize("option", ["--cwd", "--home", "--role"])
def test_a_folder_that_is_not_there_is_wrong_use(
    option: str, hosts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the option and the path as typed."""
    assert main(["list", *hosts, option, str(tmp_path / "no\x1b[2Jne")]) == 2
    kind = "file" if option == "--role" else "folder"
    message = f"error: `{option}` is not a {kind}: {tmp_path}/no\\x1b[2Jne\n\nhint: check the path\n"
    assert capsys.readouterr() == ("", message)  # without a note before it


@pytest.mark.parametrize("more", [[], ["--host", "pi"], ["--json"]])
def test_an_unknown_host_is_wrong_use(more: list[str], project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the name that was meant."""
    assert run(project, "--host", "cloud-code", *more) == 2
    assert capsys.readouterr() == (
        "",
        "error: unknown host `cloud-code`\n\nhint: did you mean `claude-code`?\n",
    )


@pytest.mark.parametrize("place", [".agents", ".agents/skills", ".agents/skills/pdf", "named"])
@pytest.mark.parametrize("hosts", [[], ["--host", "prowess"]])
def test_a_link_that_cannot_be_read_is_no_bug(
    place: str, hosts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `/proc/1/root`: its target exists, but only the system may know where."""
    for folder in ("target", "p/.git"):
        (tmp_path / folder).mkdir(parents=True)
    link = tmp_path / "p" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "target")
    refuse_to_read(link, monkeypatch)
    arguments = ["--skill-dir", str(tmp_path / "p/named"), "--cwd", str(tmp_path / "p"), "--home", str(tmp_path)]
    if place != "named":
        arguments = arguments[2:]
    assert main(["list", *hosts, *arguments]) == 0
    assert "bug" not in capsys.readouterr().err


def test_findings_of_no_skill_go_to_stderr_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even if several agents have them."""
    (project / ".gemini").mkdir()
    (project / ".gemini/skills").write_text("a file")
    assert run(project, "--host", "gemini-cli") == 0
    err = capsys.readouterr().err
    assert ".gemini/skills: " in err
    assert err.count("[root-not-folder]") == 1


# ── what does not show, does not fit, cannot be written ──────────────────────────────────────────────────────────────

HOSTILE = "a\x1b[2J\u202eb\u200b日本"


def test_a_hostile_name_cannot_touch_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever does not show is written as an escape, in the matrix, the list and JSON."""
    text = json.dumps(HOSTILE, ensure_ascii=True)
    (project / ".agents/skills/csv/SKILL.md").write_text(f"---\nname: {text}\ndescription: {text}\n---\nx\n")
    for arguments in (CHOSEN, ("--host", "prowess"), (*CHOSEN, "--json"), ("--host", "prowess", "--json")):
        assert run(project, *arguments) == 0
        out, err = capsys.readouterr()
        assert [c for c in out + err if unicodedata.category(c)[0] == "C" and c != "\n"] == []
    assert run(project, *CHOSEN) == 0
    lines = capsys.readouterr().out.splitlines()
    assert r"  a\x1b[2J\u202eb\u200b日本 (csv)" in lines


def test_very_long_names_and_texts_are_cut(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each cell to its column, without taking a second for it."""
    skill(project / ".agents/skills/csv", "é" * 10_000, "ü" * 15_000)
    assert run(project, *CHOSEN) == 0
    assert run(project, "--host", "prowess") == 0
    matrix, table = capsys.readouterr().out.split("NAME", 1)
    assert "  " + "é" * 76 + "…\n" in matrix
    assert max(map(len, matrix.splitlines())) <= 80
    assert "é" * 63 + "…  active" in table
    assert max(map(len, table.splitlines())) < 180


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_last_column_fills_the_terminal(
    width: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """But at least twenty cells."""
    skill(project / ".agents/skills/csv", description="word " * 60)
    monkeypatch.setattr(tables, "terminal_width", lambda: width)
    assert run(project, "--host", "codex") == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines[0].index("WHY")
    assert {line[:start] for line in lines} == {line[:start] for line in lines if len(line) > start}
    assert len(lines[1]) == max(width, start + 20)
    assert lines[1].endswith("…")


@pytest.mark.parametrize("columns", ["20", "60", "150"])
def test_the_width_comes_from_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least sixty; a hundred if stdout is not a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    assert tables.terminal_width() == 100
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert tables.terminal_width() == max(int(columns), 60)


@pytest.mark.parametrize("columns", ["", "0", "-5", "wide", "65536", "9" * 20, "9" * 5000])
def test_an_invalid_columns_variable_is_ignored(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is 100 if the system does not know it either."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    def unknown(_: int) -> os.terminal_size:
        raise OSError

    for size, width in ((lambda _: os.terminal_size((72, 24)), 72), (unknown, 100)):
        monkeypatch.setattr(os, "get_terminal_size", size)
        assert tables.terminal_width() == width


@pytest.mark.parametrize(
    ("text", "width", "fitted"),
    [
        ("abc", 5, "abc  "),
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日… "),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
    ],
)
def test_cells_are_cut_and_padded(text: str, width: int, fitted: str) -> None:
    """By what a terminal shows: wide characters take two cells, combining ones none."""
    assert tables.truncate_or_pad(text, width) == fitted
    assert display_width(fitted) == width


def process(project: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "prowess", "list", *arguments, "--cwd", str(project), "--home", str(project.parent)]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("arguments", [["--host", "prowess"], ["--host", "prowess", "--json"], ["--host", "codex"]])
def test_any_encoding_of_stdout_will_do(arguments: list[str], encoding: str, project: Path) -> None:
    """What it lacks is written as an escape; JSON is always UTF-8."""
    skill(project / ".agents/skills/csv", description="日本語 → ü " * 20)
    done = subprocess.run(
        process(project, *arguments),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    text = done.stdout.decode("utf-8" if "--json" in arguments else encoding)
    assert ("日本語" in text) is ("--json" in arguments or encoding == "utf-8")


def reader_gone(project: Path, arguments: list[str]) -> tuple[int, bytes]:
    """Run the command with a stdout whose reader has closed it."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(process(project, *arguments), stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", [["--host", "prowess"], ["--json"], ["--help"]])
def test_a_closed_pipe_ends_quietly(arguments: list[str], project: Path) -> None:
    """`prowess list | head -1`: a reader that has seen enough is no error."""
    code, err = reader_gone(project, arguments)
    assert code == 0
    assert b"Error" not in err
    assert b"Exception" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is full")
def test_output_that_cannot_be_written_is_a_failure(project: Path) -> None:
    """Not a bug of ours, and not half an answer that looks whole."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(process(project, "--json"), stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        b"error: cannot write the output: No space left on device",
    )


def test_list_as_a_process(project: Path) -> None:
    """Data on stdout, words on stderr."""
    done = subprocess.run(process(project, "--host", "codex"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "OpenAI Codex: 3 found (3 active)\n")
    assert done.stdout.startswith("NAME ")


@pytest.mark.parametrize("make", [lambda top: top / "loop", lambda top: top / "x" / "SKILL.md"])
def test_nothing_in_a_folder_of_skills_ends_in_a_traceback(
    make: Callable[[Path], Path], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link to itself, a folder with the file's name."""
    path = make(project / ".agents/skills")
    if path.name == "SKILL.md":
        path.mkdir(parents=True)
    else:
        path.symlink_to(path)
    assert run(project, "--all") == 0
    assert capsys.readouterr().out.startswith("SKILL ")
