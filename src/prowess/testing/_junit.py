"""Write a report as JUnit XML: a test suite for each skill, and a test case for each case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from ._runner import CaseResult, SkillResult, TestReport

# XML 1.0, "2.2 Characters": characters that XML cannot contain, not even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_OUTPUT_CHARS = 100_000
"""Characters of each output to include."""


def junit_xml(report: TestReport) -> bytes:
    """Return a report as JUnit XML, which CI systems read."""
    counts = report.counts
    failed = counts["failed"] + counts["timeout"]
    errors = counts["error"] + sum(bool(skill.findings) for skill in report.skills)
    seconds = sum(case.duration for skill in report.skills for case in skill.cases)
    root = ET.Element(
        "testsuites", {"name": "prowess test", **_count_attributes(counts["cases"], failed, errors, seconds)}
    )
    for skill in report.skills:
        _add_suite(root, skill)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _count_attributes(tests: int, failures: int, errors: int, seconds: float) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _add_suite(root: ET.Element, skill: SkillResult) -> None:
    failed = sum(case.status in ("failed", "timeout") for case in skill.cases)
    errors = sum(case.status == "error" for case in skill.cases) + bool(skill.findings)
    seconds = sum(case.duration for case in skill.cases)
    numbers = _count_attributes(len(skill.cases), failed, errors, seconds)
    suite = ET.SubElement(root, "testsuite", {"name": _escape_forbidden(skill.name), **numbers})
    if skill.findings:
        # JUnit has no place for a problem of the whole suite, so it is a test case of its own.
        case = ET.SubElement(suite, "testcase", classname=_escape_forbidden(skill.name), name="tests")
        details = "\n".join(f"{item.path}:{item.line or 1}: {item.message}" for item in skill.findings)
        ET.SubElement(
            case, "error", type="test-invalid", message=_escape_forbidden(skill.findings[0].message)
        ).text = _escape_forbidden(details)
    for result in skill.cases:
        _add_case(suite, skill, result)


def _add_case(suite: ET.Element, skill: SkillResult, result: CaseResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_escape_forbidden(skill.name),
        name=_escape_forbidden(result.case.name),
        file=_escape_forbidden(result.case.file),
        time=f"{result.duration:.3f}",
    )
    if result.failures:
        first = result.failures[0]
        kind = "error" if result.status == "error" else "failure"
        element = ET.SubElement(case, kind, type=first.kind, message=_escape_forbidden(first.message))
        element.text = _escape_forbidden("\n".join(f"{failure.kind}: {failure.message}" for failure in result.failures))
    for name, text in (("system-out", result.stdout), ("system-err", result.stderr)):
        if text:
            ET.SubElement(case, name).text = _escape_forbidden(text[:_MAX_OUTPUT_CHARS])


def _escape_forbidden(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
