"""Adapt skills to Haystack: a toolset and hooks for its `Agent`, and a store for its `SkillToolset`.

A Haystack agent is shared by many conversations, so the session of a conversation is in the agent's state, as JSON: a
run takes it and returns it. Hooks add the catalog and active skills to the messages before each call of the model and
remove them after it, so a run returns messages without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.errors import ConfigError

from ._call_tool import call_tool
from ._extras import missing_extra
from ._kept_sessions import KeptSessions

try:
    from haystack.components.agents.state import State  # noqa: TC002 - Haystack reads the annotations of a tool
    from haystack.core.serialization import generate_qualified_class_name
    from haystack.tools import SkillToolset, Tool
except ImportError as error:
    raise ImportError(missing_extra("haystack-ai", "haystack")) from error

from ._haystack_hooks import SkillsHook
from ._haystack_store import CatalogSkillStore, directory_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.session import Scripts, Session, Tool as SessionTool

    from ._haystack_store import Source

__all__ = ["CatalogSkillStore", "Skills", "SkillsHook"]

_PARTS = "use `Agent(..., hooks=skills.hooks(), state_schema=skills.state_schema)`"


class Skills(SkillToolset):
    """Gives skills to the conversations of an `Agent`.

    `Agent(generator, tools=[skills], hooks=skills.hooks(), state_schema=skills.state_schema)`

    Args:
        skills: a directory, whose skills each turn gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    state_schema: Mapping[str, Any] = {"skills": {"type": str}}
    """What an agent's state needs: the record of a conversation, which `run` takes and returns as `skills`."""

    def __init__(self, skills: Source = ".", *, scripts: bool | Scripts = False, **options: Any) -> None:
        store = CatalogSkillStore(skills, **options)
        super().__init__(store)
        self._source, self._scripts, self._options = skills, scripts, options
        self._made: dict[str, Any] = {}
        self._sessions = KeptSessions(store.catalog, options, scripts, read=_read_record, write=_write_record)

    def hooks(self, hooks: Mapping[str, list[Any]] | None = None) -> dict[str, list[Any]]:
        """Return the hooks that an agent needs, with those of the caller, which see no message that they add."""
        own = dict(hooks or {})
        before_tool, remove = SkillsHook(tools=True), SkillsHook()
        first = {"before_tool": before_tool, "after_tool": remove, "on_exit": remove, "after_run": remove}
        return {
            **own,
            "before_llm": [*own.get("before_llm", ()), SkillsHook(self)],
            **{point: [hook, *own.get(point, ())] for point, hook in first.items()},
        }

    def session(self, text: str | None = None) -> Session:
        """Return the session of a conversation whose record is `text`; a new one if it is invalid or `None`."""
        return self._sessions.restored(text)

    # ── the toolset ──────────────────────────────────────────────────────────────────────────────────────────────────

    def __iter__(self) -> Iterator[Any]:
        return iter([self._haystack_tool(tool) for tool in self._sessions.tools()])

    def get_selectable_tools(self) -> list[Any]:
        """Return the tools, for a run that names some."""
        return list(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the directory and the options, for the file of a pipeline.

        Raises:
            ConfigError: the skills are those of a catalog instead of a directory, or `scripts` is not a boolean.
        """
        if not isinstance(self._scripts, bool):
            raise ConfigError("`Scripts` cannot be saved in a pipeline's file", hint="pass `scripts=True`")
        data = {"skills": directory_of(self._source), "scripts": self._scripts, **self._options}
        return {"type": generate_qualified_class_name(type(self)), "data": data}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Skills:
        """Return the toolset of a pipeline's file."""
        return cls(**data["data"])

    def _haystack_tool(self, tool: SessionTool) -> Any:
        known = self._made.get(tool.name)
        if known is None or (known.description, known.parameters) != (tool.description, dict(tool.parameters)):
            known = self._made[tool.name] = self._make_tool(tool)  # Haystack asks often, and checks a new schema
        return known

    def _make_tool(self, tool: SessionTool) -> Any:
        def call(state: State, **arguments: Any) -> str:
            session = self.run_session(state)
            if state.data.get("skills") is None:
                raise ConfigError("the agent has no hooks for its skills", hint=_PARTS)
            text = call_tool(self._sessions.tools(session), tool.name, arguments)
            self._sessions.save(state, session)
            return text

        # Haystack runs tools that take the state one after the other.
        return Tool(name=tool.name, description=tool.description, parameters=dict(tool.parameters), function=call)

    def run_session(self, state: State) -> Session:
        """Return the session of a run from its state.

        Raises:
            ConfigError: the agent was made without `state_schema`.
        """
        return self._sessions.get(state)

    def save(self, state: State, session: Session) -> None:
        """Save the session of a run in its state."""
        self._sessions.save(state, session)


def _read_record(state: State) -> object:
    if "skills" not in state.schema:
        raise ConfigError("the agent has no `state_schema` for its skills", hint=_PARTS)
    return state.data.get("skills")


def _write_record(state: State, _: Session, record: str) -> None:
    state.set("skills", record)
