"""Write the first file of evals for a skill."""

from __future__ import annotations

import json

REPLACE = "REPLACE ME: "
"""The start of each text that its author must replace; it is a finding until then."""
_MUST = (
    "the most usual task for {name}, in the words of a user",
    "a task for {name} that shares no word with its description",
    "a long message with files and details, in which one step needs {name}",
)
_MUST_NOT = (
    "a task beside it that another skill, or no skill at all, should do",
    "something whose words are in the description and whose purpose is different",
    "a short question about the subject that an agent answers without help",
)
_ASSERTION = "a file, a value or a text that must be there afterwards"


def first_evals(name: str) -> str:
    """Return an `evals.json` in the form of agentskills: as many cases that must not use a skill as cases that must."""
    cases: list[dict[str, object]] = []
    for number, text in enumerate(_MUST, 1):
        assertions = [f"{REPLACE}{_ASSERTION}"]
        cases.append({"id": f"use-{number}", "prompt": REPLACE + text.format(name=name), "assertions": assertions})
    for number, text in enumerate(_MUST_NOT, 1):
        cases.append({"id": f"leave-{number}", "prompt": REPLACE + text, "should_trigger": False})
    return json.dumps({"skill_name": name, "evals": cases}, indent=2, ensure_ascii=False) + "\n"
