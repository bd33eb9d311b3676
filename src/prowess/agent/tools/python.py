"""`python`: the tool `run_python`, which runs code in a sandboxed process of this Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess.agent.policy import ToolFailedError
from prowess.sandbox import describe_result, python_program

from ._commands import PROXY_NOTE, command_network, run_command, scratch_folder
from ._making import Argument, make_agent_tool
from ._paths import resolve_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.agent.policy import AgentTool, ToolContext

__all__ = ["tools"]

_MAX_CODE_BYTES = 1_000_000


def tools(options: Mapping[str, Any], context: ToolContext) -> tuple[AgentTool, ...]:
    """Make the tool that runs Python code.

    Raises:
        ConfigError: the working directory does not exist, or the policy does not allow it.
    """
    working_dir = options["working_dir"]
    folder = None if working_dir is None else resolve_folder(context, working_dir, "working_dir")
    timeout = options["timeout_seconds"]
    network = command_network(options, context)

    def run_python(code: str) -> str:
        data = code.encode()
        if len(data) > _MAX_CODE_BYTES:
            raise ToolFailedError(
                f"{len(data):,} bytes of code are too many: the limit is {_MAX_CODE_BYTES:,}; write less"
            )
        with scratch_folder(contained=context.contained) as scratch:
            # In a folder of its own, so that files which the code writes cannot replace it.
            file = os.path.join(scratch, "code", "main.py")
            os.mkdir(os.path.dirname(file))
            with open(file, "wb") as code_file:
                code_file.write(data)
            done = run_command(
                [python_program(), "-I", file],
                context,
                cwd=folder or scratch,
                timeout=timeout,
                max_output_bytes=options["max_output_bytes"],
                network=network,
                unix_sockets=True,
                sees_copies_only=folder is None,
                scratch=scratch,
            )
        return describe_result(done, timeout)

    access = "It can read the folder it starts in, and write only to its home folder. " if folder else ""
    network_note = PROXY_NOTE if network else " There is no network."
    description = (
        f"Run Python code and return what it prints; the value of an expression is not printed. {access}"
        f"Each call starts without the state of earlier calls.{network_note}"
    )
    argument = Argument("string", "the whole code", needed=True)
    ask = options["require_confirmation"]
    return (make_agent_tool("python", "run_python", description, {"code": argument}, run_python, ask=ask),)
