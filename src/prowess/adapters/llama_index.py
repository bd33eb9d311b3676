"""Adapt skills to agents of LlamaIndex.

LlamaIndex has no skills of its own. An agent is created once and shared by many conversations, and the `Context` of a
conversation is the argument of each run. So the record of the session is in the store of the context, which `to_dict`
saves. The catalog and active skills are added to each request of the model and are never in the memory.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from prowess._internal.installer import missing_extra
from prowess.errors import ConfigError
from prowess.session import FileAnswer

from ._base import CatalogSkills, Source, call_in_thread, with_tail

try:
    from llama_index.core.agent.react.formatter import BaseAgentChatFormatter
    from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
    from llama_index.core.bridge.pydantic import BaseModel, Field
    from llama_index.core.llms import ChatMessage, DocumentBlock, ImageBlock, MessageRole, TextBlock
    from llama_index.core.tools import FunctionTool, ToolMetadata
    from llama_index.core.workflow import Context
except ImportError as error:
    raise ImportError(missing_extra("llama-index-core", "llama-index")) from error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from prowess.session import Scripts, Session, Tool

__all__ = ["Skills", "SkillsFunctionAgent", "SkillsReActAgent"]


class Skills:
    """The skills of an agent; agents that share them share the active skills of a conversation.

    Args:
        skills: a directory, whose skills each run gets as they are then, or a catalog.
        key: of the session in the store of a `Context`. Agents of one workflow with different skills need different
            keys.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: Source = ".",
        *,
        key: str = "skills",
        scripts: bool | Scripts = False,
        **options: Any,
    ) -> None:
        self._skills = CatalogSkills(skills, options, scripts)
        self.catalog = self._skills.catalog
        self.key = key
        self._runs: WeakKeyDictionary[Any, _Run] = WeakKeyDictionary()

    def tools(self) -> list[FunctionTool]:
        """Return the tools for using skills; an empty list if there are no skills."""
        return [self._function_tool(tool) for tool in self._skills.template.tools(scripts=self._skills.scripts)]

    async def session(self, ctx: Context) -> Session:
        """Return the session of a conversation, or a new session if its context has no valid record."""
        return self._skills.restored(await ctx.store.get(self.key, default=None))

    async def for_request(self, ctx: Any, visible: Sequence[str]) -> tuple[str, str]:
        """Return the catalog and the active skills for a request of the model; the first one of a run begins a turn.

        Args:
            ctx: the context of the run.
            visible: texts that the model sees.
        """
        prompt = await ctx.store.get("user_msg_str", default=None) or ""
        # A context goes on with another run, and another agent may take over in the middle of one.
        if ctx.store not in self._runs or not await ctx.store.get("num_iterations", default=0):
            run = self._runs[ctx.store] = _Run(await self.session(ctx))
            await asyncio.to_thread(run.begin_turn, prompt, visible)
            await self._save(run, ctx)
        async with self._current_run(ctx) as run:
            texts = await asyncio.to_thread(with_tail, run.session, run.added, visible)
            return run.session.block(prompt), "\n\n".join(texts)

    def set_model(self, ctx: Any, model: Any) -> None:
        """Note the model of a step, whose tools run next."""
        if (run := self._runs.get(ctx.store)) is not None:
            run.takes_files = any(kind.__name__ == _MODEL_WITH_FILES for kind in type(model).__mro__)

    @asynccontextmanager
    async def _current_run(self, ctx: Any) -> AsyncIterator[_Run]:
        """Yield the run of a context, with what another agent or another process has recorded; one caller at a time."""
        run = self._runs.get(ctx.store)
        if run is None:
            run = self._runs.setdefault(ctx.store, _Run(await self.session(ctx)))
        async with run.lock:
            record = await ctx.store.get(self.key, default=None)
            if record != run.saved and isinstance(record, str):
                with suppress(ConfigError):
                    run.session.restore(record)
            yield run

    async def _save(self, run: _Run, ctx: Any) -> None:
        run.saved = run.session.to_json()
        await ctx.store.set(self.key, run.saved)

    def _function_tool(self, tool: Tool) -> FunctionTool:
        async def call(ctx: Context, **arguments: Any) -> Any:
            # In the order of the model, as a call may need the skill of the one before it.
            async with self._current_run(ctx) as run:
                text = await call_in_thread(self._skills.call, run.session, tool.name, arguments)
                await self._save(run, ctx)
                return _with_file(text) if isinstance(text, FileAnswer) and run.takes_files else str(text)

        call.__annotations__["ctx"] = Context  # LlamaIndex compares it with the class
        metadata = _Metadata(description=tool.description, name=tool.name)
        metadata.parameters = tool.parameters
        return FunctionTool(async_fn=call, metadata=metadata)


class _Run:
    """The session of a conversation while one run of it lasts, with the catalog of its beginning."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.added: list[str] = []
        """What each request of this run gets: the skills that the user named."""
        self.lock = asyncio.Lock()
        self.saved: object = None
        """The record in the store."""
        self.takes_files = False
        """Whether the model of the last step accepts files in the result of a tool."""

    def begin_turn(self, prompt: str, visible: Sequence[str]) -> None:
        self.added = [message["content"] for message in self.session.inject(prompt, visible=visible)]


_MODEL_WITH_FILES = "OpenAIResponses"
"""The model whose service is known to accept files in the result of a tool."""


def _with_file(answer: FileAnswer) -> list[Any]:
    """Return the answer of a tool with its file, as blocks of a message."""
    file, text = answer.file, TextBlock(text=str(answer))
    if file.is_image:
        return [text, ImageBlock(image=file.data, image_mimetype=file.media_type)]
    name = os.path.basename(file.name)
    return [text, DocumentBlock(data=file.data, title=name, document_mimetype=file.media_type)]


class _Metadata(ToolMetadata):
    """The metadata of a tool whose parameters are a JSON Schema, not a class."""

    parameters: Mapping[str, Any]

    def get_parameters_dict(self) -> dict[str, Any]:
        return dict(self.parameters)


class _SkillsAgent(BaseModel):
    """What both kinds of agents add to theirs."""

    skills: Any = Field(default=".", description="The skills of the agent", exclude=True)

    def __init__(self, *, skills: Any = ".", tools: Any = None, **options: Any) -> None:
        skills = skills if isinstance(skills, Skills) else Skills(skills)
        super().__init__(skills=skills, tools=[*(tools or []), *skills.tools()], **options)

    async def take_step(self, ctx: Any, llm_input: Any, tools: Any, memory: Any) -> Any:
        """Take a step with the skills added to what the model is sent."""
        unfinished = await self._unfinished_texts(ctx)
        visible = [*(message.content or "" for message in llm_input), *unfinished]
        block, added = await self.skills.for_request(ctx, visible)
        messages, left = _append_text(llm_input, added)
        block = "\n\n".join(filter(None, (block, left)))
        return await self._step(ctx, messages, block, tools, memory)


class SkillsFunctionAgent(_SkillsAgent, FunctionAgent):
    """A `FunctionAgent` with skills: `SkillsFunctionAgent(skills=".", llm=llm)`.

    Args:
        skills: `Skills`, or what they are made of: a directory or a catalog.
        options: as for a `FunctionAgent`.
    """

    async def _unfinished_texts(self, ctx: Any) -> list[str]:
        """Return what this run adds to the messages: the calls of tools and their results."""
        return [message.content or "" for message in await ctx.store.get(self.scratchpad_key, default=[])]

    async def _step(self, ctx: Any, messages: list[ChatMessage], block: str, *rest: Any) -> Any:
        """Take a step with a text at the end of the system message: some endpoints accept only one."""
        self.skills.set_model(ctx, self.llm)
        system, others = _split(messages)
        text = "\n\n".join(filter(None, (system, block)))
        first = [ChatMessage(role=MessageRole.SYSTEM, content=text)] if text else []
        return await FunctionAgent.take_step(self, ctx, [*first, *others], *rest)


class SkillsReActAgent(_SkillsAgent, ReActAgent):
    """A `ReActAgent` with skills, for models that cannot call functions.

    Args:
        skills: `Skills`, or what they are made of: a directory or a catalog.
        options: as for a `ReActAgent`.
    """

    async def _unfinished_texts(self, ctx: Any) -> list[str]:
        """Return what this run adds to the messages: thoughts, actions and observations."""
        return [step.get_content() for step in await ctx.store.get(self.reasoning_key, default=[])]

    async def _step(self, ctx: Any, messages: list[ChatMessage], block: str, *rest: Any) -> Any:
        """Take a step with a text at the end of the system message, which the formatter of the agent writes."""
        token = _block_of_step.set(block)
        try:
            return await ReActAgent.take_step(self, ctx, messages, *rest)
        finally:
            _block_of_step.reset(token)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.formatter: Any = _FormatterWithSkills(inner=self.formatter)  # type: ignore[has-type]


_block_of_step: ContextVar[str] = ContextVar("_block_of_step", default="")
"""The skills of the step that a `SkillsReActAgent` takes in this context."""


class _FormatterWithSkills(BaseAgentChatFormatter):
    """Adds skills to the system message that the formatter of an agent writes."""

    inner: Any

    def format(self, *args: Any, **named: Any) -> list[ChatMessage]:
        messages = self.inner.format(*args, **named)
        block = _block_of_step.get()
        if not block:
            return list(messages)
        system, others = _split(messages)
        return [ChatMessage(role=MessageRole.SYSTEM, content=f"{system}\n\n{block}".strip()), *others]


def _append_text(messages: Sequence[ChatMessage], text: str) -> tuple[list[ChatMessage], str]:
    """Append a text to the last message if that is of a user or a tool; else return the text, too."""
    if not text or not messages or messages[-1].role not in (MessageRole.USER, MessageRole.TOOL):
        return [*messages], text
    *before, last = messages
    blocks = [*last.blocks]
    if blocks and isinstance(blocks[-1], TextBlock):
        blocks[-1] = TextBlock(text=f"{blocks[-1].text}\n\n{text}")
    else:
        blocks.append(TextBlock(text=text))
    return [*before, last.model_copy(update={"blocks": blocks})], ""


def _split(messages: Sequence[ChatMessage]) -> tuple[str, Sequence[ChatMessage]]:
    """Return the text of the first message if it is of the system, and the other messages."""
    if messages and messages[0].role == MessageRole.SYSTEM:
        return messages[0].content or "", messages[1:]
    return "", messages
