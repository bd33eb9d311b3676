"""A type and options -> its tools, called as a model calls them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.policy import AgentTool, Around, Policy, ToolFailedError
from prowess.agent.tool_table import TOOLS
from prowess.agent.tools import make
from suites import usable


def options_of(kind: str, **given: Any) -> dict[str, Any]:
    """Return options with their defaults, as a file that says so would have them."""
    for name in given:
        assert name in TOOLS[kind]
    return {name: given.get(name, key.default) for name, key in TOOLS[kind].items()}


def around(folder: Path, **more: Any) -> Around:
    """Return what a tool of a role in a folder is made with, contained by nothing unless it says so."""
    roots = tuple(str(root) for root in more.pop("roots", (folder,)))
    policy = Policy(roots=roots, **more.pop("policy", {}))
    return Around(folder=str(folder), policy=policy, **{"sandbox": "none", **more})


def made(kind: str, about: Around, **given: Any) -> dict[str, AgentTool]:
    """Make the tools of a configuration, by name."""
    return {tool.name: tool for tool in make(kind, options_of(kind, **given), about)}


def failed(tool: AgentTool, **given: Any) -> str:
    """Return what a model is told where a tool does not do it."""
    with pytest.raises(ToolFailedError) as caught:
        tool.call(**given)
    assert caught.value.hint is None, "all of it must be in the message"
    return str(caught.value)


def contained() -> str:
    """Return the name of a sandbox that works; without one, skip, and where it was not installed, fail."""
    return usable("bwrap")


def gone(mark: str, within: float = 1.0) -> bool:
    """Say whether nothing with a word on its command line runs after a while."""
    until = time.monotonic() + within
    while _running(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _running(mark: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark.encode() in (entry / "cmdline").read_bytes() and "Z" not in (entry / "stat").read_text():
                    return True
    return False
