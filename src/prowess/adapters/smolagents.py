"""Adapt a session to one agent of smolagents: a `ToolCallingAgent` or a `CodeAgent`.

The memory of a smolagents agent is one conversation, so an agent gets one session. The catalog and active skills are
added to each call of its model, by a model in front of the agent's own, and are never in its memory.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from prowess._internal.installer import missing_extra
from prowess.errors import ConfigError
from prowess.sandbox import CommandScope
from prowess.session import Session

from ._base import (
    HINT,
    SCRIPT_TOOLS,
    Source,
    added_texts,
    call_tool,
    catalog_argument,
    require_free_names,
    stopped_after,
)

try:
    from smolagents import ChatMessage, MessageRole, Model, Tool
except ImportError as error:
    raise ImportError(missing_extra("smolagents", "smolagents")) from error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.session import Scripts, Tool as SessionTool

__all__ = ["attach", "detach", "session_of"]


def attach(
    agent: Any,
    skills: Source | Session = ".",
    *,
    scripts: bool | Scripts = False,
    **options: Any,
) -> Session:
    """Give skills to an agent, and return the session of its conversation.

    `agent.run(task)` starts a new conversation, as in smolagents, and `agent.run(task, reset=False)` continues one.

    Args:
        agent: a `ToolCallingAgent` or a `CodeAgent`.
        skills: the directory whose skills each turn gets as they are then, a catalog, or the session of a
            conversation that continues.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: the agent already has a session or a tool of the same name, or runs its code on another machine; or
            the skills are neither a directory nor a catalog nor a session.
    """
    if session_of(agent) is not None:
        raise ConfigError("the agent already has a session", hint="call `detach(agent)` first")
    if getattr(agent, "executor_type", "local") != "local":
        raise ConfigError(
            f"the agent runs its code with `{agent.executor_type}`, where the tools of skills are missing",
            hint='use a `ToolCallingAgent`, or `executor_type="local"`',
        )
    if isinstance(skills, Session):
        if options:
            raise ConfigError("a session has its own options", hint="pass them where the session is created")
        session = skills
    else:
        session = Session(catalog_argument(skills, hint=f"{HINT}, or a `Session`"), **options)
    model = _ModelWithSkills(agent.model, session, scripts)
    require_free_names(model.session_tools, agent.tools)
    agent.tools.update(model.session_tools)
    agent.model, agent.run, agent.interrupt = model, _run_with_turns(agent, session), _interrupt(agent)
    if hasattr(agent, "process_tool_calls"):
        agent.process_tool_calls = _process_in_order(agent)
    return session


def detach(agent: Any) -> Any:
    """Remove the session and its tools from an agent, and return the agent. Its memory does not change."""
    if isinstance(agent.model, _ModelWithSkills):
        for name in agent.model.session_tools:
            agent.tools.pop(name, None)
        agent.model = agent.model.model
        del agent.run, agent.interrupt
        vars(agent).pop("process_tool_calls", None)
    return agent


def session_of(agent: Any) -> Session | None:
    """Return the session of an agent, or `None` if nothing is attached."""
    return agent.model.session if isinstance(agent.model, _ModelWithSkills) else None


def _run_with_turns(agent: Any, session: Session) -> Any:
    """Return the `run` of an agent, which begins a turn with the task."""
    run = agent.run

    @wraps(run)
    def run_with_skills(task: str, stream: bool = False, reset: bool = True, *args: Any, **options: Any) -> Any:
        if reset:
            session.restart()
        # The model of its manager writes the task of a managed agent, which smolagents marks by `inputs`.
        session.inject("" if hasattr(agent, "inputs") else task)
        agent.model.begin_run(agent)
        return run(task, stream, reset, *args, **options)

    return run_with_skills


def _interrupt(agent: Any) -> Any:
    """Return the `interrupt` of an agent, which also ends the scripts that run."""
    interrupt = agent.interrupt

    @wraps(interrupt)
    def interrupt_with_scripts() -> None:
        interrupt()
        agent.model.scope.stop()

    return interrupt_with_scripts


def _process_in_order(agent: Any) -> Any:
    """Return what runs the tools of a message: one by one, in its order, if some of them are for scripts."""
    process = agent.process_tool_calls

    @wraps(process)
    def process_in_order(chat_message: Any, memory_step: Any) -> Iterator[Any]:
        threads = agent.max_tool_threads
        if any(call.function.name in SCRIPT_TOOLS for call in chat_message.tool_calls):
            agent.max_tool_threads = 1
        try:
            yield from process(chat_message, memory_step)
        finally:
            agent.max_tool_threads = threads

    return process_in_order


class _ModelWithSkills(Model):
    """Adds the skills of a session to each call of another model."""

    def __init__(self, model: Any, session: Session, scripts: bool | Scripts) -> None:
        super().__init__(model_id=getattr(model, "model_id", None))
        self.model, self.session, self.scripts = model, session, scripts
        self.scope = CommandScope()
        """The scripts of a run."""
        self.timeout: float | None = None
        """Seconds that a script of the run can take."""
        self.session_tools = {tool.name: _SkillTool(tool, self) for tool in session.tools(scripts=scripts)}
        if hasattr(model, "generate_stream"):  # smolagents asks for it
            self.generate_stream = self._generate_stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)

    def begin_run(self, agent: Any) -> None:
        """Let scripts run, and give an agent the tools that a live catalog needs now."""
        self.scope = CommandScope()
        # The only time limit of an agent that writes code.
        self.timeout = getattr(getattr(agent, "python_executor", None), "timeout_seconds", None)
        for tool in self.session.tools(scripts=self.scripts):
            if tool.name not in self.session_tools and tool.name not in agent.tools:
                self.session_tools[tool.name] = agent.tools[tool.name] = _SkillTool(tool, self)

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Run a tool of the session, which may have another ledger than when the agent got the tool."""
        with self.scope, stopped_after(self.timeout):
            return str(call_tool(self.session.tools(scripts=self.scripts), name, arguments))

    def generate(self, messages: Any, *args: Any, **options: Any) -> Any:
        return self.model.generate(self._with_skills(messages), *args, **options)

    def _generate_stream(self, messages: Any, *args: Any, **options: Any) -> Any:
        return self.model.generate_stream(self._with_skills(messages), *args, **options)

    def parse_tool_calls(self, message: Any) -> Any:
        return self.model.parse_tool_calls(message)

    def to_dict(self) -> Any:
        return self.model.to_dict()

    def _with_skills(self, messages: list[Any]) -> list[Any]:
        """Return the messages of a call with the catalog at the front, and active skills that they lack at the end."""
        messages = [ChatMessage.from_dict(dict(item)) if isinstance(item, dict) else item for item in messages]
        added = added_texts(self.session, [text for message in messages for text in _texts(message)])
        if added:
            messages = _append_text(messages, "\n\n".join(added))
        return _append_to_system(messages, self.session.block())


class _SkillTool(Tool):
    """A tool of a session."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, tool: SessionTool, model: _ModelWithSkills) -> None:
        super().__init__()
        self.name, self.description, self.model = tool.name, tool.description, model
        self.inputs = {
            key: {
                "description": key,
                **{word: value for word, value in schema.items() if word != "enum"},
                **({} if key in tool.parameters["required"] else {"nullable": True}),
            }
            for key, schema in tool.parameters["properties"].items()
        }

    def forward(self, *arguments: Any, **named: Any) -> str:
        if len(arguments) > len(self.inputs):
            return f"error: `{self.name}` takes at most {len(self.inputs)} arguments"
        return self.model.call_tool(self.name, {**dict(zip(self.inputs, arguments, strict=False)), **named})


def _message(role: Any, text: str) -> Any:
    return ChatMessage(role=role, content=[{"type": "text", "text": text}])


def _texts(message: Any) -> Iterator[str]:
    """Return the texts of a message."""
    if isinstance(message.content, str):
        yield message.content
    elif message.content:
        yield from (part["text"] for part in message.content if isinstance(part.get("text"), str))


def _append_text(messages: list[Any], text: str) -> list[Any]:
    """Append a text to the last message if that is of a user or a tool, else as a message of the user."""
    if not messages or messages[-1].role not in (MessageRole.USER, MessageRole.TOOL_RESPONSE):
        return [*messages, _message(MessageRole.USER, text)]
    *before, last = messages
    content = [{"type": "text", "text": last.content}] if isinstance(last.content, str) else [*(last.content or ())]
    if content and isinstance(own := content[-1].get("text"), str):  # some models read only the first text
        content[-1] = {**content[-1], "text": f"{own}\n\n{text}"}
    else:
        content.append({"type": "text", "text": text})
    return [*before, replace(last, content=content)]


def _append_to_system(messages: list[Any], block: str) -> list[Any]:
    """Append a text to the system message, into its one text because some models read only that."""
    if not block:
        return messages
    if not messages or messages[0].role != MessageRole.SYSTEM:
        return [_message(MessageRole.SYSTEM, block), *messages]
    text = "\n\n".join([*_texts(messages[0]), block])
    return [replace(messages[0], content=[{"type": "text", "text": text}]), *messages[1:]]
