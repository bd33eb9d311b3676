"""code -> what it prints, run by this Python in a process of its own"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from prowess.agent.policy import ToolFailedError

from ._arguments import Argument, make_agent_tool
from ._commands import describe_result, run_command, scratch_folder
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

_MAX_CODE_BYTES = 1_000_000
"""Bytes of code."""


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tool that runs Python code.

    Raises:
        ConfigError: there is no such working directory, or the policy does not open it.
    """
    named = options["working_dir"]
    folder = None if named is None else resolve_folder(context, named, "working_dir")
    timeout = options["timeout_seconds"]

    def run_python(code: str) -> str:
        data = code.encode()
        if len(data) > _MAX_CODE_BYTES:
            raise ToolFailedError(f"{len(data):,} bytes of code are too many: at most {_MAX_CODE_BYTES:,}; write less")
        with scratch_folder() as scratch:
            # A folder of its own: the code's files cannot stand in for it.
            file = os.path.join(scratch, "code", "main.py")
            os.mkdir(os.path.dirname(file))
            with open(file, "wb") as there:
                there.write(data)
            done = run_command(
                [sys.executable, "-I", file],
                context,
                cwd=folder or scratch,
                timeout=timeout,
                max_output_bytes=options["max_output_bytes"],
                network=options["network"],
                scratch=scratch,
            )
        return describe_result(done, timeout)

    where = "It starts in a folder it can read; only its home folder can be written. " if folder else ""
    network = "" if options["network"] else " There is no network."
    words = (
        f"Run Python code and return what it prints; an expression alone prints nothing. {where}"
        f"Nothing is kept from one call to the next.{network}"
    )
    argument = Argument("string", "all of the code", needed=True)
    ask = options["require_confirmation"]
    return (make_agent_tool("python", "run_python", words, {"code": argument}, run_python, ask=ask),)
