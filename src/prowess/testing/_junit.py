"""a report -> JUnit's XML: a suite for each skill, whose class it is, and a test for each case"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from ._runner import CaseResult, SkillResult, TestReport

__all__ = ["junit_xml"]

# XML 1.0, "2.2 Characters": what it cannot hold even as a reference.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_OUTPUT_CHARS = 100_000
"""Characters of each output."""


def junit_xml(report: TestReport) -> bytes:
    """Return a report as JUnit's XML, which CI systems read."""
    counts = report.counts
    failed = counts["failed"] + counts["timeout"]
    errors = counts["error"] + sum(bool(skill.findings) for skill in report.skills)
    seconds = sum(case.duration for skill in report.skills for case in skill.cases)
    top = ET.Element(
        "testsuites", {"name": "prowess test", **_count_attributes(counts["cases"], failed, errors, seconds)}
    )
    for skill in report.skills:
        _add_suite(top, skill)
    ET.indent(top)
    data: bytes = ET.tostring(top, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _count_attributes(tests: int, failures: int, errors: int, seconds: float) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": str(errors), "time": f"{seconds:.3f}"}


def _add_suite(top: ET.Element, skill: SkillResult) -> None:
    failed = sum(case.status in ("failed", "timeout") for case in skill.cases)
    errors = sum(case.status == "error" for case in skill.cases) + bool(skill.findings)
    seconds = sum(case.duration for case in skill.cases)
    numbers = _count_attributes(len(skill.cases), failed, errors, seconds)
    suite = ET.SubElement(top, "testsuite", {"name": _escape_forbidden(skill.name), **numbers})
    if skill.findings:
        # There is no other place for what keeps all cases of a skill from running.
        case = ET.SubElement(suite, "testcase", classname=_escape_forbidden(skill.name), name="tests")
        words = "\n".join(f"{item.path}:{item.line or 1}: {item.message}" for item in skill.findings)
        ET.SubElement(
            case, "error", type="test-invalid", message=_escape_forbidden(skill.findings[0].message)
        ).text = _escape_forbidden(words)
    for one in skill.cases:
        _add_case(suite, skill, one)


def _add_case(suite: ET.Element, skill: SkillResult, one: CaseResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_escape_forbidden(skill.name),
        name=_escape_forbidden(one.case.name),
        file=_escape_forbidden(one.case.file),
        time=f"{one.duration:.3f}",
    )
    if one.failures:
        kind = "error" if one.status == "error" else "failure"
        words = "\n".join(f"{failure.kind}: {failure.message}" for failure in one.failures)
        what = ET.SubElement(case, kind, type=one.failures[0].kind, message=_escape_forbidden(one.failures[0].message))
        what.text = _escape_forbidden(words)
    for name, text in (("system-out", one.stdout), ("system-err", one.stderr)):
        if text:
            ET.SubElement(case, name).text = _escape_forbidden(text[:_MAX_OUTPUT_CHARS])


def _escape_forbidden(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
