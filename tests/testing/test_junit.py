"""JUnit's XML: what CI systems read of a report, whatever a command wrote."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from prowess.testing import Case, CaseResult, Failure, SkillResult, TestReport, run_tests
from prowess.testing._junit import junit_xml
from support.suites import write_suite

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "a\0b\x1b[2J]]>\ud800\ufffe\U0001f600</system-out><evil>&\"'\r\n\x7f\u202e"


def result(status: str, **more: object) -> CaseResult:
    case = Case(name=f"the-{status}", file=f"tests/cases/{status}.yaml", command="true")
    found = () if status == "passed" else (Failure(kind="exit-code", message="1, not 0"),)
    return CaseResult(case=case, status=status, **{"duration": 0.25, "failures": found, **more})  # type: ignore[arg-type]


def parsed(*skills: SkillResult) -> ET.Element:
    return ET.fromstring(junit_xml(TestReport(skills=skills)))  # noqa: S314 - what we wrote ourselves


def test_a_suite_is_a_skill_and_a_test_a_case() -> None:
    """With classes, names, files, times and what became of each; the whole is compared."""
    cases = tuple(result(status) for status in ("passed", "failed", "error", "timeout"))
    assert (
        junit_xml(TestReport(skills=(SkillResult(name="pdf", path="/x/pdf", cases=cases),))).decode()
        == """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites name="prowess test" tests="4" failures="2" errors="1" time="1.000">
  <testsuite name="pdf" tests="4" failures="2" errors="1" time="1.000">
    <testcase classname="pdf" name="the-passed" file="tests/cases/passed.yaml" time="0.250" />
    <testcase classname="pdf" name="the-failed" file="tests/cases/failed.yaml" time="0.250">
      <failure type="exit-code" message="1, not 0">exit-code: 1, not 0</failure>
    </testcase>
    <testcase classname="pdf" name="the-error" file="tests/cases/error.yaml" time="0.250">
      <error type="exit-code" message="1, not 0">exit-code: 1, not 0</error>
    </testcase>
    <testcase classname="pdf" name="the-timeout" file="tests/cases/timeout.yaml" time="0.250">
      <failure type="exit-code" message="1, not 0">exit-code: 1, not 0</failure>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_hostile_output_stays_text() -> None:
    """Ends of sections can be read back; hidden characters and those that XML cannot hold are escapes."""
    bad = Failure(kind="stdout-contains", message=HOSTILE)
    one = result("failed", stdout=HOSTILE, stderr=HOSTILE, failures=(bad,))
    top = parsed(SkillResult(name=HOSTILE, path="/x", cases=(one,)))
    wanted = "a\\u0000b\\u001b[2J]]>\\ud800\\ufffe\U0001f600</system-out><evil>&\"'\n\\u007f\\u202e"
    assert [top.findtext(f".//{name}") for name in ("system-out", "system-err")] == [wanted, wanted]
    assert [element.tag for element in top.iter()] == [
        *("testsuites", "testsuite", "testcase", "failure", "system-out", "system-err")
    ]


def test_a_flood_is_cut() -> None:
    """What is in the report is enough to see what went wrong."""
    top = parsed(SkillResult(name="s", path="/x", cases=(result("passed", stdout="x" * 1_000_000),)))
    assert len(top.findtext(".//system-out") or "") == 100_000


@pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")
def test_a_skill_with_invalid_test_files_is_one_error(tmp_path: Path) -> None:
    """With each place and what is wrong there."""
    folder = write_suite(tmp_path / "s", {"a": "true"}, {"timeout": 0})
    (folder / "tests/cases/b.yaml").write_text("nmae: x\n")
    top = ET.fromstring(junit_xml(run_tests(folder, sandbox="none")))  # noqa: S314 - what we wrote ourselves
    (case,) = top.iter("testcase")
    assert (top.get("errors"), case.get("classname"), case.get("name")) == ("1", "s", "tests")
    words = case.findtext("error") or ""
    assert f"{folder}/tests/test-config.json:1: " in words
    assert f"{folder}/tests/cases/b.yaml:1: " in words


def test_an_empty_report_is_valid() -> None:
    """CI systems want a file."""
    assert parsed().attrib == {"name": "prowess test", "tests": "0", "failures": "0", "errors": "0", "time": "0.000"}
