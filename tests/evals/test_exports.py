"""What an evaluation showed, in the forms of other tools."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from prowess.cli import main
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

SKILL = ".agents/skills/greet"
AGENT = f"cat; if [ -d {SKILL} ]; then echo good day; mkdir out; echo '<b>' > out/a.html; else echo hi; fi"
HOSTILE = "'''\"\"\" + __import__('os').system('x')\n| <script>alert(1)</script> | ![x](http://x) \u202e"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Write a skill and a record of its evaluation, and go into their folder."""
    skill(tmp_path / "greet")
    (tmp_path / "greet/evals").mkdir()
    good = [{"type": "contains", "value": "good day"}, "It is polite"]
    files = [{"path": "a.txt", "content": "Ada\n"}]
    cases = [{"id": f"c{number}", "prompt": f"Greet {number}", "assertions": good} for number in range(7)]
    cases[0] |= {"files": files, "expected_output": "A greeting"}
    cases[1] |= {"id": HOSTILE, "prompt": HOSTILE, "assertions": [*good, {"type": "contains", "value": HOSTILE}]}
    (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "./greet", "--via", AGENT, "--runs", "1", "--out", "record"]) == 0
    capsys.readouterr()
    return tmp_path


def export(top: Path, *formats: str, words: tuple[str, ...] = ("--replay", "record")) -> Path:
    """Export in some formats, each into a file of its name; return their folder."""
    options = [option for name in formats for option in ("--export", f"{name}=exported.{name}")]
    assert main(["eval", *words, *options]) == 0
    return top


def test_the_workspace_has_what_other_tools_read(record: Path) -> None:
    """The layout of agentskills and skill-creator: each run with its grades, its times, its answer and its files."""
    top = export(record, "agentskills") / "exported.agentskills"
    run = top / "eval-1/with_skill/run-1"
    grading = json.loads((run / "grading.json").read_text())
    expected = {"text": "good day", "passed": True, "evidence": "decided by code: output-contains"}
    assert grading["expectations"] == grading["assertion_results"] == [expected]
    assert grading["summary"] == {"passed": 1, "failed": 0, "total": 1, "pass_rate": 1.0}
    assert json.loads((run / "timing.json").read_text())["duration_ms"] >= 0
    assert (run / "outputs/answer.md").read_text() == "Greet 0good day\n"
    assert (run / "outputs/out/a.html").read_text() == "<b>\n"
    about = json.loads((top / "eval-2/eval_metadata.json").read_text())
    assert (about["eval_id"], about["eval_name"], about["prompt"]) == (2, HOSTILE, HOSTILE)
    benchmark = json.loads((top / "benchmark.json").read_text())
    assert len(benchmark["runs"]) == 14
    result = {"configuration", "eval_id", "eval_name", "expectations", "notes", "result", "run_number"}
    assert {*benchmark["runs"][0]} == result
    assert benchmark["run_summary"]["with_skill"]["pass_rate"] == {"mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0}
    # The first sentence of HOSTILE is in the answer of both arms: `cat` repeats the prompt.
    assert benchmark["run_summary"]["without_skill"]["pass_rate"]["mean"] == pytest.approx(0.5 / 7, abs=1e-4)
    assert benchmark["run_summary"]["delta"]["pass_rate"] == "+0.93"


def test_a_task_of_inspect_has_the_cases_as_data(record: Path) -> None:
    """Nothing of a case is code; files are in it, and so is the folder of the skill."""
    top = export(record, "inspect", words=("./greet",))
    text = (top / "exported.inspect").read_text(encoding="ascii")
    tree = ast.parse(text)
    values = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    assert ast.literal_eval(values["SKILL"]) == str(top / "greet")
    loaded = values["CASES"]
    assert isinstance(loaded, ast.Call)
    cases: Any = json.loads(ast.literal_eval(loaded.args[0]))
    assert cases[0]["files"] == {"a.txt": "data:application/octet-stream;base64,QWRhCg=="}
    assert cases[0]["sentences"] == "A greeting\nIt is polite"
    assert cases[1]["prompt"] == cases[1]["graders"][1]["text"] == HOSTILE
    assert "0 of 15 graders are left out" in text
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["graders", "greet"]
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"inspect_ai", "inspect_ai.agent", "inspect_ai.dataset", "inspect_ai.scorer", "inspect_ai.tool"}


def test_a_badge_has_the_verdict_and_its_interval(record: Path) -> None:
    line = json.loads((export(record, "badge") / "exported.badge").read_text())
    assert line == {
        "schemaVersion": 1,
        "label": "skill greet",
        "message": "helps, +100 points (+37 to +100)",
        "color": "brightgreen",
    }


def test_a_table_shows_texts_as_texts(record: Path) -> None:
    """Each row has the columns of its head, whatever a case is called."""
    text = (export(record, "markdown") / "exported.markdown").read_text(encoding="utf-8")
    assert text.startswith("# greet: helps, +100 points (+37 to +100)\n")
    assert "| passing, these cases | helps | +1 |" in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "of 1" in line]
    assert [row.replace("\\|", "").count("|") for row in rows] == [7] * 7
    assert "<script>" not in text
    assert "](http" not in text
    assert "\u202e" not in text


def test_junit_has_a_test_for_the_verdict_and_for_each_case(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One fails if the skill makes more pairs worse than better."""
    root = ET.fromstring((export(record, "junit") / "exported.junit").read_bytes())  # noqa: S314 - our own
    assert (root.get("name"), root.get("tests"), root.get("failures")) == ("prowess eval", "8", "0")
    words = ("./greet", "--via", f"test -d {SKILL} || echo good day; cat", "--runs", "1")
    root = ET.fromstring((export(record, "junit", words=words) / "exported.junit").read_bytes())  # noqa: S314
    failed = [case.get("name") for case in root.iter("testcase") if case.find("failure") is not None]
    assert (failed[0], len(failed)) == ("verdict", 8)
    capsys.readouterr()


def test_level_0_is_sarif(record: Path) -> None:
    """And all of `--json` a file."""
    top = export(record, "sarif", "json", words=("./greet",))
    (run,) = json.loads((top / "exported.sarif").read_text())["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"eval-unsound"}
    assert json.loads((top / "exported.json").read_text())["plan"]["runs"] == 3


def test_a_page_has_both_answers_side_by_side(record: Path) -> None:
    """What they contain is text."""
    page = (export(record, "html") / "exported.html").read_text(encoding="utf-8")
    assert "<h1><bdi>greet: helps</bdi></h1>" in page
    assert page.count("<details>") == 7
    assert page.count("<pre tabindex=") == 14
    assert "Greet 0good day\n" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "\u202e" not in page
    assert "+100 points" in page


def test_exports_are_checked_before_anything_runs(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with what it needs."""
    touch = ("./greet", "--via", f"touch {record}/ran")
    (record / "full").mkdir()
    (record / "full/file").touch()
    for words, message in (
        ((*touch, "--export", "html=a.html"), "`--export html` needs recorded runs"),
        ((*touch, "--export", "agentskills=full", "--out", "new"), "full is not an empty folder"),
        ((*touch, "--export", "badge=missing/a"), "no such folder"),
        ((*touch, "--export", "badge"), "must be FORMAT=PATH"),
        ((*touch, "--export", "jnit=a"), "did you mean `junit`"),
        (("./greet", "--export", "badge=a"), "`--export badge` needs runs"),
        (("--replay", "record", "--export", "sarif=a"), "`--export sarif` needs the skill"),
        (("--replay", "record", "--export", "inspect=a"), "`--export inspect` needs the skill"),
    ):
        assert main(["eval", *words]) == 2
        assert message in capsys.readouterr().err
    assert not (record / "ran").exists()


def test_new_grades_are_exported(record: Path) -> None:
    """With `grade`, those that it finds, and not those of the record."""
    cases = json.loads((record / "greet/evals/evals.json").read_text())["evals"]
    for case in cases:
        case["assertions"] = [{"type": "not-contains", "value": "good day"}]
    (record / "other.json").write_text(json.dumps({"evals": cases}))
    words = ("grade", "record", "--cases", "other.json")
    top = export(record, "agentskills", "html", "badge", words=words)
    assert json.loads((top / "exported.badge").read_text())["color"] == "red"
    grading = json.loads((top / "exported.agentskills/eval-1/with_skill/run-1/grading.json").read_text())
    assert [item["passed"] for item in grading["expectations"]] == [False]
    assert "<h1><bdi>greet: harms</bdi></h1>" in (top / "exported.html").read_text()
