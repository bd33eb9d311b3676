"""A type and options -> its tools, called as a model calls them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.policy import AgentTool, Policy, ToolContext, ToolFailedError
from prowess.agent.role._tool_schemas import TOOL_FIELDS
from prowess.agent.tools import make_tools
from support.suites import require_backend


def options_with_defaults(kind: str, **given: Any) -> dict[str, Any]:
    """Return options with their defaults, as a file that says so would have them."""
    for name in given:
        assert name in TOOL_FIELDS[kind]
    return {name: given.get(name, key.default) for name, key in TOOL_FIELDS[kind].items()}


def make_tool_context(folder: Path, **more: Any) -> ToolContext:
    """Return what a tool of a role in a folder is made with, contained by nothing unless it says so."""
    roots = tuple(str(root) for root in more.pop("roots", (folder,)))
    policy = Policy(roots=roots, **more.pop("policy", {}))
    return ToolContext(folder=str(folder), policy=policy, **{"sandbox": "none", **more})


def tools_by_name(kind: str, about: ToolContext, **given: Any) -> dict[str, AgentTool]:
    """Make the tools of a configuration, by name."""
    return {tool.name: tool for tool in make_tools(kind, options_with_defaults(kind, **given), about)}


def failure_message(tool: AgentTool, **given: Any) -> str:
    """Return what a model is told where a tool does not do it."""
    with pytest.raises(ToolFailedError) as caught:
        tool.call(**given)
    assert caught.value.hint is None, "all of it must be in the message"
    return str(caught.value)


def require_sandbox() -> str:
    """Return the name of a sandbox that works; without one, skip, and where it was not installed, fail."""
    return require_backend("bwrap")


def processes_end(mark: str, within: float = 1.0) -> bool:
    """Say whether nothing with a word on its command line runs after a while."""
    until = time.monotonic() + within
    while _has_process(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _has_process(mark: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes() and "Z" not in (entry / "stat").read_text():
                    return True
    return False
