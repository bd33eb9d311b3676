"""Write a report as JUnit XML: a test suite for each skill, and a test case for each case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from prowess._internal.text import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from ._runner import CaseResult, SkillResult, TestReport

# XML 1.0, "2.2 Characters": characters that XML cannot contain, not even as a reference; and hidden ones.
_ESCAPED = re.compile(f"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[{INVISIBLE_CHARACTERS}]")
_MAX_OUTPUT_CHARS = 100_000
"""Characters of each output to include."""


def junit_xml(report: TestReport, name: str = "prowess test") -> bytes:
    """Return a report as JUnit XML, which CI systems read; `name` is the command that made it."""
    counts = report.counts
    failed = counts["failed"] + counts["timeout"]
    errors = counts["error"] + sum(bool(skill.findings) for skill in report.skills)
    seconds = sum(case.duration for skill in report.skills for case in skill.cases)
    root = ET.Element("testsuites", {"name": name, **_count_attributes(counts["cases"], failed, errors, seconds)})
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
    suite = _add(root, "testsuite", name=skill.name, **numbers)
    if skill.findings:
        # JUnit has no place for a problem of the whole suite, so it is a test case of its own.
        case = _add(suite, "testcase", classname=skill.name, name="tests")
        details = "\n".join(f"{item.path}:{item.line or 1}: {item.message}" for item in skill.findings)
        _add(case, "error", details, type="test-invalid", message=skill.findings[0].message)
    for result in skill.cases:
        _add_case(suite, skill, result)


def _add_case(suite: ET.Element, skill: SkillResult, result: CaseResult) -> None:
    name, file, time = result.case.name, result.case.file, f"{result.duration:.3f}"
    case = _add(suite, "testcase", classname=skill.name, name=name, file=file, time=time)
    if result.failures:
        first = result.failures[0]
        kind = "error" if result.status == "error" else "failure"
        details = "\n".join(f"{failure.kind}: {failure.message}" for failure in result.failures)
        _add(case, kind, details, type=first.kind, message=first.message)
    for stream, text in (("system-out", result.stdout), ("system-err", result.stderr)):
        if text:
            _add(case, stream, text[:_MAX_OUTPUT_CHARS])


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """Add an element to another one; what XML cannot contain and hidden characters are escaped as in Python."""
    element = ET.SubElement(parent, tag, {name: _escape(value) for name, value in attributes.items()})
    element.text = None if text is None else _escape(text)
    return element


def _escape(text: str) -> str:
    return _ESCAPED.sub(
        lambda match: f"\\u{ord(match[0]):04x}" if match[0] < "\U00010000" else f"\\U{ord(match[0]):08x}", text
    )
