"""Invalid roles, each with one mistake and its error, from `tests/agent/role/mistakes.md`."""

from __future__ import annotations

import re
from pathlib import Path

FLAT_ROLE = "name: a\nprompt: Help.\nmodel: openai:gpt-4o-mini\n"
INITRUNNER_ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata:
  name: a
spec:
  role: Help.
  model: {provider: openai, name: m}
"""
_PAGE = Path(__file__).parents[1] / "agent/role/mistakes.md"
_CASE = re.compile(r"^### ([^\n]+)\n\n```yaml( after [A-Z_]+)?\n(.*?)```\n\n`` ([^\n]+) ``$", re.MULTILINE | re.DOTALL)


def _cases(part: str) -> dict[str, tuple[str, str]]:
    """Return the roles of a part of the page, and the error of each: `line:column: message (hint)`."""
    text = _PAGE.read_text(encoding="utf-8").partition(f"\n## {part}\n")[2].partition("\n## ")[0]
    heads = {"": "", " after FLAT_ROLE": FLAT_ROLE, " after INITRUNNER_ROLE": INITRUNNER_ROLE}
    return {name: (heads[head] + role, message) for name, head, role, message in _CASE.findall(text)}


UNREADABLE = _cases("Files that are not a map")
NOT_IN_SCHEMA = _cases("Mistakes that a schema cannot see")
BROKEN = _cases("Mistakes in a role") | NOT_IN_SCHEMA
