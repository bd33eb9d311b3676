"""Adapt a catalog to the OpenAI Agents SDK.

An `Agent` is created once and shared by many conversations. So the skills are part of its instructions and tools, and
the session of a conversation is the context of each run.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import warnings
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from prowess._internal.installer import missing_extra
from prowess.catalog import Catalog
from prowess.errors import ConfigError
from prowess.session import FileAnswer, Session, escape_tags

from ._base import CatalogSkills, Source, call_in_order, data_url, with_tail

try:
    from agents import (
        FunctionTool,
        GuardrailFunctionOutput,
        InputGuardrail,
        RunConfig,
        Tool,
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext
except ImportError as error:
    raise ImportError(missing_extra("openai-agents", "openai-agents")) from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agents import Agent, RunContextWrapper

    from prowess.catalog import LiveCatalog
    from prowess.session import Scripts

__all__ = ["SkillWarning", "Skills"]


class SkillWarning(UserWarning):
    """A run was started without what its skills need."""


class Skills:
    """Gives the skills of a catalog to an agent and its runs.

    Args:
        catalog: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(self, catalog: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        self._skills = CatalogSkills(catalog, options, scripts)
        self.catalog = self._skills.catalog
        self._template_tools = self._skills.tools()

    def instructions(self, base_instructions: str = "") -> str:
        """Return an agent's instructions followed by its skills: the same bytes for each run.

        If not all skills fit, `run_config` replaces them by those that the user's message needs.
        """
        return "\n\n".join(text for text in (base_instructions, self._skills.template.static_block()) if text)

    def tools(self) -> list[Tool]:
        """Return the tools for using skills, as `Agent` takes them; an empty list if there are no skills."""
        return [
            FunctionTool(
                name=tool.name,
                description=tool.description,
                params_json_schema=dict(tool.parameters),
                on_invoke_tool=_ToolCall(self._call_tool, self._add_skills),
                strict_json_schema=False,  # strict schemas do not allow optional arguments
                is_enabled=True if number else _warn_without_configuration,
            )
            for number, tool in enumerate(self._template_tools)
        ]

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation, to use as the context of all its runs.

        Agents with other skills may take part in the conversation: each catalog has its own session inside this one.

        Args:
            text: the result of `Session.to_json`, to continue a conversation; by default a new one starts.

        Raises:
            ConfigError: the text is not a result of `to_json`.
        """
        session = _RootSession(self.catalog, **self._skills.options) if text is None else self._restore(text)
        _Conversation.of(session).set_source(self.catalog)
        return session

    def run_config(self, **options: Any) -> RunConfig:
        """Return a run configuration that shows the model the skills a user names.

        Args:
            options: as for `RunConfig`. A `call_model_input_filter` is applied first.
        """
        own_filter = options.pop("call_model_input_filter", None)

        async def filter_input(data: CallModelData[Any]) -> ModelInputData:
            if own_filter is not None:
                filtered = own_filter(data)
                model_data = await filtered if inspect.isawaitable(filtered) else filtered
                data = CallModelData(model_data=model_data, agent=data.agent, context=data.context)
            conversation = _require_conversation(data.context)
            # After a handoff the agent may have the skills of another catalog.
            own = next((call.add_skills for call in _tool_calls(data.agent)), None)
            add_skills = own or self._add_skills
            return await asyncio.to_thread(add_skills, conversation, data.model_data, has_tools=own is not None)

        # Run once for each run, before its first request. A filter does not know to which run a request belongs.
        begin = InputGuardrail(_begin_run, name="prowess_begin_turn", run_in_parallel=False)
        guardrails = [begin, *(options.pop("input_guardrails", None) or ())]
        return RunConfig(call_model_input_filter=filter_input, input_guardrails=guardrails, **options)

    def _restore(self, text: str) -> Session:
        return _RootSession.from_json(text, self.catalog, **self._skills.options)

    def _add_skills(self, conversation: _Conversation, data: ModelInputData, *, has_tools: bool) -> ModelInputData:
        """Add the skills of this call to the last item of the input, without saving them in the conversation.

        Args:
            conversation: that of the run.
            data: what the model would be sent.
            has_tools: whether the agent has the tools of these skills.
        """
        visible = [text for item in data.input for text in _item_texts(item)]
        session, added = conversation.begin_session_turn(self.catalog, self._restore, visible)
        texts = with_tail(session, added, visible)
        instructions, block, shown = data.instructions, session.block(), self._skills.template.static_block()
        if instructions and shown:
            instructions = instructions.replace(shown, block)
        elif block and has_tools and not shown:  # the first skill came after the agent
            instructions = f"{instructions}\n\n{block}" if instructions else block
        items = [*data.input]
        if texts and items and (last := _append_text(items[-1], "\n\n".join(texts))):
            items[-1] = last
        elif texts:  # some endpoints accept no message after such an item
            instructions = "\n\n".join(filter(None, (instructions, *texts)))
        return ModelInputData(input=items, instructions=instructions)

    def _call_tool(self, conversation: _Conversation, name: str, arguments: dict[str, Any]) -> str:
        session = conversation.session_of(self.catalog, self._restore)
        return self._skills.call(session, name, arguments)


class _ToolCall:
    """Runs a tool for the model; errors are part of the returned text.

    Args:
        call_tool: takes the conversation, the tool's name and its arguments.
        add_skills: adds the skills that the tool is for to a request.
    """

    def __init__(self, call_tool: Callable[..., str], add_skills: Callable[..., ModelInputData]) -> None:
        self._call_tool, self.add_skills = call_tool, add_skills

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        try:
            conversation = _require_conversation(context.context)
        except ConfigError as error:
            return f"error: {error}\nhint: {error.hint}"
        try:
            parsed = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            return "error: the arguments are not a JSON object"
        name = context.tool_name
        text = await call_in_order(conversation, name, self._call_tool, conversation, name, parsed)
        return _with_file(text) if isinstance(text, FileAnswer) else text


def _with_file(answer: FileAnswer) -> list[Any]:
    """Return the answer of a tool with its file; a model of chat completions is sent only the text."""
    file, url = answer.file, data_url(answer.file)
    if file.is_image:
        return [ToolOutputText(text=str(answer)), ToolOutputImage(image_url=url)]
    return [
        ToolOutputText(text=str(answer)),
        ToolOutputFileContent(file_data=url, filename=os.path.basename(file.name)),
    ]


def _tool_calls(agent: Agent[Any]) -> Iterable[_ToolCall]:
    calls = (getattr(tool, "on_invoke_tool", None) for tool in agent.tools)
    return (call for call in calls if isinstance(call, _ToolCall))


def _require_conversation(context: object) -> _Conversation:
    conversation = _Conversation.in_context(context)
    if conversation is None:
        raise ConfigError(
            "this run has no session for its skills",
            hint="use `Runner.run(..., context=skills.session())`, or a context with the session as `skills`",
        )
    return conversation


async def _begin_run(
    context: RunContextWrapper[Any],
    agent: Agent[Any],  # noqa: ARG001 - the signature of the SDK
    run_input: str | list[Any],
) -> GuardrailFunctionOutput:
    """Begin a turn with the input of a run, unless a model wrote it: that of an agent that is a tool."""
    conversation = _require_conversation(context.context)
    if not isinstance(context, ToolContext):
        conversation.runs.add(context)
        last = {"role": "user", "content": run_input} if isinstance(run_input, str) else (run_input or [None])[-1]
        if _get_field(last, "role") == "user":
            conversation.begin_turn("\n".join(_item_texts(last)))
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)


def _warn_without_configuration(context: RunContextWrapper[Any], agent: object) -> bool:  # noqa: ARG001
    """Enable a tool; warn if the first request of a run is made without the configuration, which came before."""
    if not isinstance(context, ToolContext) and not context.usage.requests:
        conversation = _Conversation.in_context(context.context)
        if conversation is None or context not in conversation.runs:
            warnings.warn(
                "this run ignores the skills that its user names: start it with "
                "`Runner.run(..., context=skills.session(), run_config=skills.run_config())`",
                SkillWarning,
                stacklevel=2,
            )
    return True


def _item_texts(item: Any) -> Iterable[str]:
    """Return the texts of an item: of a message or of a tool result."""
    for key in ("content", "output"):
        value = _get_field(item, key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (text for part in value if isinstance(text := _get_field(part, "text"), str))


def _append_text(item: Any, text: str) -> Any:
    """Return a user's message or the result of a tool with a text at its end; `None` of any other item."""
    kind = _get_field(item, "type") or "message"
    is_user = kind == "message" and _get_field(item, "role") == "user"
    key = "content" if is_user else "output" if kind == "function_call_output" else ""
    value = item.get(key) if isinstance(item, dict) else None
    if isinstance(value, str):
        return {**item, key: f"{value}\n\n{text}"}
    return {**item, key: [*value, {"type": "input_text", "text": text}]} if isinstance(value, list) else None


def _get_field(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else getattr(item, key, None)


# ── the sessions of a conversation ───────────────────────────────────────────────────────────────────────────────────
# A context belongs to one conversation. Its agents may have different catalogs, for example after a handoff, so a
# conversation has a session for each of them.


_ATTRIBUTE = "_openai_conversation"
"""The attribute of a session that holds its conversation."""
_OTHERS = "other_catalogs"
"""The key in JSON for the records of the other sessions."""


class _RootSession(Session):
    """The session that is the context of a run; `to_json` and `restart` include the sessions of other catalogs."""

    def to_json(self) -> str:
        """Return the ledgers of the conversation as JSON."""
        return _Conversation.of(self).add_others(super().to_json())

    def restart(self) -> None:
        """Clear the ledgers, for a new conversation with the same catalogs."""
        super().restart()
        _Conversation.of(self).restart([])

    def restore(self, text: str) -> None:
        """Replace the ledgers by those that `to_json` returned; those of other catalogs wait for their agents.

        Raises:
            ConfigError: the text is not what `to_json` returned.
        """
        super().restore(text)  # it checks the text
        table, unclaimed = json.loads(text), list[dict[str, Any]]()
        if _OTHERS in table:
            others = table.pop(_OTHERS)
            rows = [*table["ledger"], *(others if isinstance(others, list) else [None])]
            super().restore(_with_rows(table, rows))  # it checks the other records
            own, unclaimed = _split(_latest(rows), self.catalog)
            super().restore(_with_rows(table, own))
        _Conversation.of(self).restart(unclaimed)


class _Member:
    """The session of one catalog, and the turn that it began last."""

    def __init__(self, source: Catalog | LiveCatalog | None, session: Session, turn: int) -> None:
        self.source, self.session, self.turn = source, session, turn


class _Conversation:
    """The sessions of one conversation.

    Args:
        session: the session in the context.
    """

    def __init__(self, session: Session) -> None:
        self.turn = session.turn
        """The turn of the conversation; a session begins it when its agent is asked first."""
        self.message: str | None = None
        """The user's message of the turn; `None` if the turn began in another process."""
        self.runs: WeakSet[Any] = WeakSet()
        """The runs that began with the configuration of the adapter, each as its `RunContextWrapper`."""
        self._root = session
        self._members = [_Member(None, session, session.turn)]
        self._unclaimed: list[dict[str, Any]] = []
        """Records, restored from JSON, of catalogs that no agent has used since."""
        self._lock = Lock()

    @classmethod
    def of(cls, session: Session) -> _Conversation:
        """Return the conversation of a session, the same one each time."""
        conversation: _Conversation = vars(session).setdefault(_ATTRIBUTE, cls(session))
        return conversation

    @classmethod
    def in_context(cls, context: object) -> _Conversation | None:
        """Return the conversation of a run's context, or `None` if it has no session."""
        session = context if isinstance(context, Session) else getattr(context, "skills", None)
        if session is None and isinstance(context, Mapping):
            session = context.get("skills")
        return cls.of(session) if isinstance(session, Session) else None

    def set_source(self, source: Catalog | LiveCatalog) -> None:
        """Set the catalog that the session in the context was made from."""
        self._members[0].source = source

    def restart(self, unclaimed: list[dict[str, Any]]) -> None:
        """Forget the sessions of other catalogs, and continue from the session in the context.

        Args:
            unclaimed: records of other catalogs.
        """
        with self._lock:
            self.turn, self.message, self._unclaimed = self._root.turn, None, unclaimed
            del self._members[1:]
            self._members[0].turn = self.turn

    def begin_turn(self, message: str) -> None:
        """Begin a turn with a user's message."""
        with self._lock:
            self.turn, self.message = max(self.turn, self._root.turn) + 1, message

    def session_of(self, source: Catalog | LiveCatalog, restore: Callable[[str], Session]) -> Session:
        """Return the session of a catalog.

        Args:
            source: the catalog.
            restore: makes its session from JSON, at its first use.
        """
        with self._lock:
            return self._member(source, restore).session

    def begin_session_turn(
        self, source: Catalog | LiveCatalog, restore: Callable[[str], Session], visible: Iterable[str]
    ) -> tuple[Session, list[str]]:
        """Return the session of a catalog, and the texts that its model gets once, when the turn begins.

        Args:
            source: the catalog.
            restore: makes its session from JSON, at its first use.
            visible: texts that the model still sees.
        """
        with self._lock:
            member = self._member(source, restore)
            is_first = all(other.turn != self.turn for other in self._members)
            begins, member.turn = member.turn != self.turn and self.message is not None, self.turn
            session, message = member.session, self.message or ""
        if not begins:
            return session, []
        session.turn = self.turn - 1  # all sessions count the turns of the conversation
        contents = [found["content"] for found in session.inject(message, visible=visible)]
        if is_first:
            return session, contents
        # The name may be of a skill that another agent of this turn has.
        problems = [mention.problem for mention in session.mentions(message) if mention.entry is None]
        unknown = {escape_tags(f"warning: {problem}") for problem in problems}
        return session, [content for content in contents if content not in unknown]

    def _member(self, source: Catalog | LiveCatalog, restore: Callable[[str], Session]) -> _Member:
        for member in self._members:
            if member.source is source:
                return member
        root, catalog = self._members[0], source if isinstance(source, Catalog) else source.current()
        # A program may make the session itself, with a catalog of its own for the same directory.
        if root.source is None and _place(root.session.catalog) == _place(catalog):
            root.source = source
            return root
        known = [row for member in self._members for row in _rows(member.session)]
        own, _ = _split(_latest([*self._unclaimed, *known]), catalog)
        _, self._unclaimed = _split(self._unclaimed, catalog)
        session = restore(_with_rows(json.loads(_to_json(self._root)), own))
        session.turn = self.turn
        member = _Member(source, session, self.turn if self.message is None else self.turn - 1)
        self._members.append(member)
        return member

    def add_others(self, text: str) -> str:
        """Return the JSON of the first session with the records of the others."""
        with self._lock:
            others = [*self._unclaimed, *(row for member in self._members[1:] for row in _rows(member.session))]
            if not others and len(self._members) == 1:
                return text
            table = json.loads(text)
            return json.dumps({**table, "turn": max(table["turn"], self.turn), _OTHERS: _latest(others)})


def _to_json(session: Session) -> str:
    return Session.to_json(session)


def _rows(session: Session) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(_to_json(session))["ledger"]
    return rows


def _with_rows(table: dict[str, Any], rows: list[Any]) -> str:
    return json.dumps({**table, "ledger": rows})


def _latest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one record of each skill: of several catalogs may have the same skill."""
    latest: dict[str, dict[str, Any]] = {}
    for row in sorted(rows, key=lambda row: (row["turn"], row["by"] == "model")):
        latest.pop(row["path"], None)
        latest[row["path"]] = row
    return list(latest.values())


def _split(rows: list[dict[str, Any]], catalog: Catalog) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records of a catalog's skills, and the others."""
    paths = {entry.path for entry in catalog.skills}
    return [row for row in rows if row["path"] in paths], [row for row in rows if row["path"] not in paths]


def _place(catalog: Catalog) -> tuple[str, str]:
    return catalog.cwd, catalog.host.name
