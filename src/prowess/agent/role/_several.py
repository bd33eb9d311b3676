"""Recognise InitRunner's files that are not one agent: teams, flows, groups, services and test suites.

They are not run: who works when, and who gets whose answer, is the caller's part. One error names the agents and how
to run each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess._internal.text import PATH_LIMIT, quoted

if TYPE_CHECKING:
    from prowess.skill import MappingReader, Node

__all__ = ["MEMBER_KEYS", "OTHER_KINDS", "RUN_EACH", "report_other_document"]

MEMBER_KEYS = {"Flow": "agents", "Compose": "services", "Team": "personas", "Pipeline": "agents"}
"""The key of the agents in each kind of file, below `spec`."""
RUN_EACH = "run each with its own `prowess run ROLE -p TEXT`, and hand the answer on yourself; a prompt becomes a role"
"""What to do with several agents."""
_FILE_KEYS = ("use", "role")
"""Keys of an agent that name its role's file."""
_MAX_NAMED = 10
OTHER_KINDS = {
    "Service": "install it with InitRunner, or run its role's file",
    "TestSuite": "write cases for `prowess test`",
}


def report_other_document(mapping: MappingReader) -> bool:
    """Report that a file is not a role, in one finding; return whether it is something else that is known."""
    kind_node, spec = mapping.get("kind"), mapping.get("spec")
    kind = "" if kind_node is None else kind_node.text
    if kind_node is not None and kind in OTHER_KINDS:
        mapping.report.add(f"a file of `kind: {kind}` is not a role", kind_node, OTHER_KINDS[kind])
        return True
    if kind in MEMBER_KEYS:
        members = None if spec is None else _value(spec, MEMBER_KEYS[kind])
    elif kind_node is None and spec is None and mapping.get("prompt") is None:
        members = mapping.get("agents")
    else:
        return False
    if kind_node is None and members is None:
        return False
    names = _members(members)
    # A team and a group of the flat form have no kind.
    what = f"a file of `kind: {kind}`" if kind else "a file with `agents`"
    listed = f": {', '.join(names[:_MAX_NAMED])}" if names else ""
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    mapping.report.add(f"{what} is several agents, and a role is one{listed}{more}", kind_node or members, RUN_EACH)
    return True


def _members(node: Node | None) -> list[str]:
    """Return the name of each agent of a file, with the path of its role."""
    if node is None or node.kind != "map":
        return []
    result = []
    for key, item in zip(node.keys, node.items, strict=True):
        files = [value.text for name in _FILE_KEYS if (value := _value(item, name)) is not None and value.text]
        is_file = bool(files) and files[0].endswith((".yaml", ".yml"))
        result.append(quoted(key.text) + (f" ({quoted(files[0], PATH_LIMIT)})" if is_file else ""))
    return result


def _value(node: Node, name: str) -> Node | None:
    """Return the value of a key of a map, without a report."""
    if node.kind != "map":
        return None
    return next((item for key, item in zip(node.keys, node.items, strict=True) if key.text == name), None)
