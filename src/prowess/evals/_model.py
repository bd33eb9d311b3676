"""Run a model on a case: with the tools of a session, files of its folder, and commands in the sandbox."""

from __future__ import annotations

import asyncio
import os
import re
from math import inf
from pathlib import Path
from time import monotonic

from prowess._internal.installer import missing_extra
from prowess._internal.text import neutral
from prowess.catalog import discover
from prowess.errors import ProwessError
from prowess.sandbox import Limits, describe_result, find_backend, run

from ._agents import MOST_RUN_BYTES, MOST_RUN_FILES, RUN_SECONDS
from ._place import SKILLS, Ran
from ._steps import with_trajectory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from prowess.agent.assembly import Assembly
    from prowess.agent.policy import AgentTool

    from ._place import Place

_PROMPT = (
    "You work in a folder, and no question of yours is answered. Do what the user asks, with your tools if they help, "
    "then answer. Relative paths begin in that folder; `.agents/skills` in it has the skills, if there are any."
)
_COMMAND_SECONDS = 120.0
_MOST_ANSWER = 1024 * 1024
"""Characters of all texts that the model writes."""
_MOST_CALLS, _MOST_REQUESTS, _MOST_TOKENS = 200, 100, 5_000_000
"""Of one run."""
_FILES = {
    "root_path": ".",
    "allowed_extensions": (),
    "read_only": False,
    "require_confirmation": False,
    "max_bytes": 1024 * 1024,
}


class Model:
    """A model of a role, in a small agent.

    Args:
        name: as `--model` of `prowess run` has it.

    Raises:
        ConfigError: there is no such model, or its key is missing.
        SandboxError: this machine has no sandbox, in which the model's commands would run.
        ImportError: Pydantic AI is not installed.
    """

    version = ""
    skills, host = SKILLS, "prowess"
    arguments: tuple[str, ...] = ()
    says_steps = True

    def __init__(self, name: str) -> None:
        self._name = name
        model, self.name = open_model(name, "`--model`")
        find_backend("auto")
        self.says_cost = price_of(model) is not None
        """Whether the price of the model is known."""

    def run(self, place: Place, prompt: str, number: int, seconds: float, cost: float = inf) -> Ran:  # noqa: ARG002 - the protocol
        """Run the model until it answers; nothing of it is left then."""
        from prowess.agent import Conversation, wait_for_threads
        from prowess.agent.meter import Meter

        started = monotonic()
        # Each run has a model of its own, since a connection belongs to the event loop of one run.
        meter = Meter(open_model(self._name, "`--model`")[0], cost)
        written = 0

        def count(text: str) -> None:
            nonlocal written
            written += len(text)
            if written > _MOST_ANSWER:
                raise ProwessError("the model wrote more than a million characters")

        assembly = self._assembly(place, min(seconds, RUN_SECONDS))
        conversation = Conversation(assembly, meter, trajectory=place.trajectory)
        turn = asyncio.run(conversation.ask(prompt, on_text=count))
        wait_for_threads()
        ran = Ran(
            failure=_describe(turn.error or ""),
            answer=(turn.output or "").encode("utf-8", "replace"),
            seconds=monotonic() - started,
        )
        return with_trajectory(ran, place).with_changes(tokens=meter.tokens, cost=meter.cost)

    def _assembly(self, place: Place, seconds: float) -> Assembly:
        """Return the agent: what a role would be that names no skill, and may do in its folder what it wants."""
        from prowess.agent.assembly import Assembly, InstructionPart, Toolbox
        from prowess.agent.policy import Policy, ToolContext
        from prowess.agent.role import Guardrails, Role
        from prowess.agent.tools.filesystem import tools
        from prowess.guard import KINDS

        limits = Guardrails(
            max_tokens_per_run=_MOST_TOKENS,
            max_tool_calls=_MOST_CALLS,
            max_requests=_MOST_REQUESTS,
            timeout_seconds=seconds,
        )
        role = Role(path=os.path.join(place.work, "role.yaml"), name="eval", prompt=_PROMPT, guardrails=limits)
        policy = Policy(roots=(place.work,), allow_writes=frozenset(KINDS))
        context = ToolContext(folder=place.work, policy=policy)
        toolbox = Toolbox(role, context)
        toolbox.tools = [*tools(_FILES, context), command_tool(place)]
        return Assembly(
            role=role,
            parts=(InstructionPart(origin="role", text=_PROMPT),),
            toolbox=toolbox,
            catalog=discover(place.work, host=self.host, home=place.home, env={}, cache=False),
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": place.home},
        )


def _describe(failure: str) -> str:
    """Return why a run failed, without the names that limits have in a role."""
    if failure.startswith("the run took longer than"):
        return "it took too long"
    return neutral(re.sub(r" of the role: |`guardrails\.(\w+)`", lambda match: match[1] or ": ", failure))


def command_tool(place: Place) -> AgentTool:
    """Return the tool that runs a command of the shell in the sandbox, in the folder of a run."""
    from prowess.agent.policy import AgentTool, ToolFailedError

    def call(**arguments: Any) -> str:
        command = arguments.get("command")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise ToolFailedError("`command` is missing; run_command takes `command`")
        limits = Limits(
            timeout=_COMMAND_SECONDS, folder_size=MOST_RUN_BYTES, folder_files=MOST_RUN_FILES, output=64 * 1024
        )
        result = run(
            ["/bin/sh", "-c", command],
            cwd=Path(place.work),
            scratch=Path(place.home),
            writable=[Path(place.work)],
            limits=limits,
        )
        return describe_result(result, _COMMAND_SECONDS)

    schema = {"type": "string", "description": "for `/bin/sh`"}
    return AgentTool(
        kind="shell",
        name="run_command",
        description="Run a command in the folder, in a sandbox without a network. Python is there.",
        parameters={
            "type": "object",
            "properties": {"command": schema},
            "required": ["command"],
            "additionalProperties": False,
        },
        call=call,
    )


def open_model(name: str, option: str) -> tuple[Any, str]:
    """Return a model, and how it is called.

    Args:
        name: as `--model` of `prowess run` has it.
        option: that asks for it, in backticks.

    Raises:
        ConfigError: there is no such model, or its key is missing.
        ImportError: Pydantic AI is not installed; the message says how to install it.
    """
    try:
        import pydantic_ai  # noqa: F401 - to name the extra of evals
    except ImportError as error:
        raise ImportError(missing_extra("pydantic-ai-slim", "eval", option)) from error
    from prowess.agent import make_model
    from prowess.agent.role import ModelConfig

    return make_model(ModelConfig(), name)


def price_of(model: Any) -> float | None:
    """Return what a million tokens cost that a model reads, in US dollars; `None` if its price is not known."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage

    from prowess.agent.meter import cost_of

    usage = RequestUsage(input_tokens=1_000_000, output_tokens=1)
    response = ModelResponse(
        parts=[],
        usage=usage,
        model_name=model.model_name,
        provider_name=model.system,
        provider_url=model.base_url,
    )
    return cost_of(response)
