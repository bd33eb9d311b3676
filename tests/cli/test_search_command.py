"""`prowess search`: words, and the skills that fit them best."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING
from unittest.mock import ANY

import pytest

from prowess.hosts import host_names
from prowess.install import write_snapshot
from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Skills in a project, in a home and further away, some of which cannot be reached."""
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    root = top / ".agents/skills"
    skill(root / "pdf", description="Fills forms.", body="Zebra.")
    skill(root / "forms", description="Makes a pdf.", body="Nothing.")
    skill(root / "manual", description="Prints\n  a pdf.", more="disable-model-invocation: true\n")
    skill(root / "broken", description="", body="A pdf.")
    skill(tmp_path / "home/.agents/skills/pdf", description="The user's own, which is hidden.", body="Walrus.")
    skill(tmp_path / "home/.agents/skills/quiet", description="Says nothing.", body="Though a pdf it is.")
    skill(tmp_path / "far/away", description="Far from the pdf.")
    for number in range(8):
        skill(root / f"other-{number}", description="Does something else.", body="Not this.")
    return top


run = partial(run_in, "search")
data = partial(json_in, "search")


def test_the_best_match_comes_first(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table; who cannot be called by the model is marked, who cannot be reached is not there."""
    assert run(project, "pdf") == 0
    assert capsys.readouterr() == (
        """\
NAME    SCORE  WHERE             DESCRIPTION
pdf     4.00   .agents/skills    Fills forms.
forms   1.69   .agents/skills    Makes a pdf.
manual  1.69   .agents/skills    (user-only) Prints a pdf.
quiet   1.24   ~/.agents/skills  Says nothing.
""",
        "4 skills\n",
    )


def test_further_folders_take_part(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By option and by variable."""
    for more in (["--skill-dir", str(project.parent / "far")], []):
        shown = data(project, "away", *more, capsys=capsys)["results"]
        assert [hit["path"] for hit in shown] == [str(project.parent / "far/away/SKILL.md")]
        monkeypatch.setenv("PROWESS_SKILL_DIR", str(project.parent / "far"))


def test_json_has_the_text_for_the_model(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Name, path, score, state, description and excerpt."""
    shown = data(project, "zebra", capsys=capsys)
    assert 1 < shown["results"][0].pop("score") < 3
    assert shown == {
        "query": "zebra",
        "results": [
            {
                "name": "pdf",
                "path": f"{project}/.agents/skills/pdf/SKILL.md",
                "state": "active",
                "description": "Fills forms.",
                "excerpt": "Zebra.",
            }
        ],
    }


def test_a_query_may_be_several_arguments(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without a shell's quotes."""
    apart = data(project, "fills", "zebra", capsys=capsys)
    assert apart == data(project, "fills zebra", capsys=capsys)
    assert (apart["query"], [hit["name"] for hit in apart["results"]]) == ("fills zebra", ["pdf"])


@pytest.mark.parametrize("word", ["walrus", "broken", "hidden"])
def test_unusable_skills_are_not_found(word: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy in the home lost, and one does not load."""
    assert data(project, word, capsys=capsys)["results"] == []


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("walrus", "walrus"),
        ("", ""),
        ("?!", "?!"),
        ("q\x1b[2Jq", "q\\x1b[2Jq"),
        ("w" * 70, "w" * 59 + "…"),
    ],
    ids=["unknown", "empty", "punctuation", "hostile", "long"],
)
def test_no_match_is_not_an_error(query: str, shown: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout, words on stderr; JSON has an empty list."""
    assert run(project, query) == 0
    assert capsys.readouterr() == ("", f"no skill matches `{shown}`\n\nhint: `prowess list` shows all skills\n")
    assert data(project, query, capsys=capsys) == {"query": query, "results": []}


def test_a_limit_shows_the_best(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The default is ten."""
    for number in range(8, 15):
        skill(project / f".agents/skills/other-{number}", description="Does something else.")
    for limit, names in ((None, 10), (1, 1), (12, 12), (999_999_999, 15)):
        more = [] if limit is None else ["--limit", str(limit)]
        assert len(data(project, "something", *more, capsys=capsys)["results"]) == names
    assert [hit["name"] for hit in data(project, "pdf", "--limit", "1", capsys=capsys)["results"]] == ["pdf"]


def test_each_agent_has_its_own_answer(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claude Code does not look into .agents, and its user's copy wins."""
    skill(project / ".claude/skills/pdf", description="Claude's.", body="Lion.")
    skill(project.parent / "home/.claude/skills/pdf", description="The user's.", body="Tiger.")
    for word, found in (("lion", []), ("tiger", ["pdf"]), ("zebra", [])):
        shown = data(project, word, "--host", "claude-code", capsys=capsys)["results"]
        assert [hit["name"] for hit in shown] == found


def test_a_skill_shown_later_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claude Code shows it once a file below its path is touched."""
    skill(project / ".claude/skills/tests", description="Runs tests.", more="paths: tests/**\n")
    assert data(project, "tests", "--host", "claude-code", capsys=capsys)["results"][0]["state"] == "deferred"
    assert run(project, "tests", "--host", "claude-code") == 0
    assert "(deferred) Runs tests." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["x", "--host", "cdx"], "unknown host `cdx`\n\nhint: did you mean `codex`?\n", id="host"),
        pytest.param(
            [],
            "missing argument: QUERY\n\nhint: run `prowess search --help` for its options\n",
            id="no-query",
        ),
        *(
            pytest.param(
                ["x", f"--limit={limit}"],
                "`--limit` must be a whole number, 1 or more\n\nhint: run `prowess search --help` for its options\n",
                id=f"limit-{limit}",
            )
            for limit in ("0", "-1", "ten", "", "1e3", "٣", "9" * 5000)
        ),
    ],
)
def test_wrong_use_is_an_error(
    arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown host, no query, an invalid limit."""
    assert run(project, *arguments) == 2
    assert capsys.readouterr() == ("", f"error: {message}")


@pytest.mark.parametrize("host", host_names())
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_hostile_skills_cannot_touch_the_terminal(
    host: str, more: list[str], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Name, description and excerpt contain no terminal escapes."""
    for folder in ("skills", ".agents/skills", ".claude/skills", ".qwen/skills", ".infer/skills"):
        file = project / folder / "bad\x1b[2Jone" / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text('---\nname: "x\\e[2J\\u202Ey"\ndescription: "d\\e[2J"\n---\nx \x1b[2J\u202e giraffe\n')
    assert run(project, "giraffe", "x", *more, "--host", host) == 0
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & set(out + err)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_search_as_a_process(encoding: str, project: Path) -> None:
    """Data on stdout in any encoding; an invalid query in bytes; a closed pipe is not an error."""
    skill(project / ".agents/skills/größe", description="Misst 日本.")
    command: list[str | bytes] = [
        sys.executable,
        "-m",
        "prowess",
        "search",
        "日本",
        b"\xff",
        "--cwd",
        str(project),
        "--no-cache",
    ]
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, capture_output=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, b"1 skill\n")
    shown = "größe  2.83   .agents/skills  Misst 日本.".encode(encoding, "backslashreplace").decode(encoding)
    assert done.stdout.decode(encoding).splitlines()[1][:6] == shown[:6]
    done = subprocess.run([*command, "--json"], capture_output=True, check=False, env=env)
    assert json.loads(done.stdout)["query"] == "日本 \\xff"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=env)
    os.close(writing)
    assert done.returncode == 0


def test_a_snapshot_is_searched_alone(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its skills have their folders in it; none of this machine is found."""
    skill(tmp_path / "shared/office/pdf-forms", description="Fills a pdf.")
    skill(tmp_path / "shared/wiki", description="Writes a page.")
    write_snapshot(tmp_path / "shared", tmp_path / "out")
    assert run(project, "pdf", "--from", str(tmp_path / "out")) == 0
    shown, notes = capsys.readouterr()
    assert [line.split() for line in shown.splitlines()] == [
        ["NAME", "SCORE", "WHERE", "DESCRIPTION"],
        ["pdf-forms", ANY, "office", "Fills", "a", "pdf."],
    ]
    assert notes == "1 skill\n"
    found = data(project, "page", "--from", f"file://{tmp_path}/out", capsys=capsys)["results"]
    assert [hit["path"] for hit in found] == [f"snapshot+file://{tmp_path}/out/wiki/SKILL.md"]
    assert run(project, "pdf", "--from", str(tmp_path)) == 1
    assert "cannot read snapshot.json of the snapshot" in capsys.readouterr().err
    assert run(project, "pdf", "--from", str(tmp_path), "--servers") == 2
