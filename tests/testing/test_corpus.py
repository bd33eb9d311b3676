"""Good and bad tests: `prowess test` and pytest agree on every case of them, and with what is expected."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from prowess.cli import main
from support.inner_pytest import run_pytest
from support.suites import require_backend, snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")

TOP = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = TOP / "examples/skills"
NAMES = sorted(folder.name for folder in CORPUS.iterdir() if folder.is_dir())


def expected(name: str) -> Any:
    return json.loads((CORPUS / name / "expected.json").read_text(encoding="utf-8"))


def by_pytest(folder: Path, report: Path, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Run pytest on a folder; return its exit code and path of a skill to its cases and what became of them."""
    words = ["-q", "-p", "no:cacheprovider", "-p", "prowess.testing.plugin", "--continue-on-collection-errors"]
    words += ["--junitxml", str(report), "--rootdir", str(folder), *arguments, "."]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(TOP / "src")}
    done = run_pytest(*words, cwd=folder, env=env)
    found: dict[str, dict[str, str]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - what pytest wrote
        skill, _, _ = (case.get("classname") or case.get("name") or "").partition(".tests.cases.")
        cases = found.setdefault(skill.replace(".", "/"), {})
        what = next((element for element in case if element.tag in ("failure", "error")), None)
        message = "" if what is None else what.get("message", "")
        status = "passed" if what is None else {"failure": "failed"}.get(what.tag, what.tag)
        if message == "collection failure":
            cases["wrong"] = "wrong"
        else:
            cases[case.get("name", "")] = "timeout" if message.startswith("Failed: timeout: ") else status
    return done.returncode, found


@cache
def seen_by_pytest(report: Path) -> dict[str, dict[str, str]]:
    """Run pytest on the corpus, once."""
    code, found = by_pytest(CORPUS, report, "--skill-sandbox", "none")
    assert code == 1
    return found


def by_prowess(folder: Path, capsys: pytest.CaptureFixture[str], sandbox: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Run `prowess test`; return its exit code and path of a skill to its cases and what became of them."""
    code = main(["test", str(folder), "--json", "--sandbox", sandbox])
    skills = json.loads(capsys.readouterr().out)["skills"]
    return code, {one["path"]: {case["name"]: case["status"] for case in one["cases"]} for one in skills}


def test_the_corpus_has_every_kind_of_case() -> None:
    """Each status and each exit code, in many places."""
    rows = [expected(name) for name in NAMES]
    assert len(NAMES) >= 25
    assert {status for row in rows for status in row["cases"].values()} == {"passed", "failed", "error", "timeout"}
    assert {row["exit_code"] for row in rows} == {0, 1, 2, 5}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_both_doors_agree(
    name: str, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """On what becomes of each case, and with what is written beside the skill; the skill stays as it is."""
    folder, wanted = CORPUS / name / "skill", expected(name)
    before = snapshot(folder)
    code, found = by_prowess(folder, capsys, "none")
    assert (code, found.get(str(folder), {})) == (wanted["exit_code"], wanted["cases"])
    assert [*found.get(str(folder), {})] == [*wanted["cases"]], "in the order of the files"
    other = seen_by_pytest(tmp_path_factory.getbasetemp() / "corpus.xml").get(f"{name}/skill", {})
    assert other == ({"wrong": "wrong"} if code == 2 else wanted["cases"])
    assert snapshot(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["none", "bwrap"])
def test_both_doors_agree_on_the_examples(sandbox: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All pass, with and without a sandbox; the examples do not change."""
    require_backend(sandbox)
    before = snapshot(EXAMPLES)
    code, found = by_prowess(EXAMPLES, capsys, sandbox)
    assert code == 0
    assert {status for cases in found.values() for status in cases.values()} == {"passed"}
    again, seen = by_pytest(EXAMPLES, tmp_path / "report.xml", "--skill-sandbox", sandbox)
    assert again == 0
    assert {str(EXAMPLES / name): cases for name, cases in seen.items()} == found
    assert snapshot(EXAMPLES) == before


@pytest.mark.slow
def test_a_sandbox_changes_nothing_for_a_valid_skill(capsys: pytest.CaptureFixture[str]) -> None:
    """All of the corpus behind them: the same statuses."""
    require_backend("bwrap")
    _, found = by_prowess(CORPUS, capsys, "bwrap")
    wanted = {str(CORPUS / name / "skill"): expected(name)["cases"] for name in NAMES if name != "no-tests"}
    assert found == wanted
