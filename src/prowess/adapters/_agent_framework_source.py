"""Give the skills of a catalog to the `SkillsProvider` of Microsoft Agent Framework, as a source.

The framework's tools load, read and run what a source returns. So each skill of this source uses the tools of a session
of Prowess, which check the trust of the user and keep the ledger.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent_framework import Skill, SkillFrontmatter, SkillResource, SkillScript, SkillsSource

from prowess.errors import ConfigError
from prowess.session import Session, scripts_option

from ._catalog_argument import catalog_argument
from ._session_records import merge_sessions
from ._tool_threads import call_in_thread

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from agent_framework import SkillsSourceContext

    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts

__all__ = ["CatalogSkillsSource", "load_session", "save_session"]

_MAX_DESCRIPTION = 1024


def load_session(state: object, catalog: Catalog | LiveCatalog, options: Mapping[str, Any]) -> Session:
    """Return the session of a catalog in a conversation's state, or a new one if there is no valid record."""
    session = Session(catalog, **options)
    records = state.get("sessions") if isinstance(state, dict) else None
    text = records.get(_key(session)) if isinstance(records, dict) else None
    if isinstance(text, str):
        with suppress(ConfigError):
            session.restore(text)
    return session


def save_session(state: dict[str, Any], session: Session) -> None:
    """Save a session in a conversation's state, with what other runs of the conversation saved meanwhile."""
    if not isinstance(state.get("sessions"), dict):
        state["sessions"] = {}
    old = state["sessions"].get(_key(session), "")
    state["sessions"][_key(session)] = merge_sessions(old, session.to_json())


def _key(session: Session) -> str:
    """Return the name of a session's catalog: agents with different skills may share a conversation."""
    return f"{session.catalog.host.name}:{session.catalog.cwd}"


class CatalogSkillsSource(SkillsSource):  # type: ignore[misc]
    """The skills of a catalog for the framework's provider: `SkillsProvider(CatalogSkillsSource("."))`.

    Args:
        skills: a directory, whose skills each run gets as they are then, or a catalog.
        scripts: whether a model may run the scripts of active skills that the user trusts, and how.
        source_id: where the state of a conversation has its record.
        options: as for a `Session`; of the skills that do not fit into `budget`, some are left out.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: str | os.PathLike[str] | Catalog | LiveCatalog = ".",
        *,
        scripts: bool | Scripts = False,
        source_id: str = "prowess",
        **options: Any,
    ) -> None:
        self.catalog = catalog_argument(skills)
        """The skills to choose from."""
        self.source_id = source_id
        self._options = {**options, "format": "json"}  # from which the framework's own text is made
        self._scripts = scripts_option(scripts) if scripts is not False else False
        Session(self.catalog, **self._options)  # an invalid option is an error now, not in the first run

    async def get_skills(self, context: SkillsSourceContext) -> list[Skill]:
        """Return the skills that a model may activate in a run."""
        shared = {} if context.session is None else context.session.state
        state = shared.get(self.source_id)
        if not isinstance(state, dict):
            state = shared[self.source_id] = {}
        return await asyncio.to_thread(self._get_skills, state)

    def _get_skills(self, state: dict[str, Any]) -> list[Skill]:
        session = load_session(state, self.catalog, self._options)
        session.next_turn()
        conversation = _Conversation(session, state, self._scripts)
        text = session.listing.text
        rows = json.loads(text)["available_skills"] if text else []
        return [_CatalogSkill(row, conversation) for row in rows]


class _Conversation:
    """The tools of a session, which is saved after each call."""

    def __init__(self, session: Session, state: dict[str, Any], scripts: bool | Scripts) -> None:
        self._session, self._state = session, state
        self._calls: dict[str, Callable[..., str]] = {tool.name: tool.call for tool in session.tools(scripts=scripts)}
        self.has_scripts = "run_skill_script" in self._calls
        save_session(state, session)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; errors are part of the returned text."""
        text = await call_in_thread(self._calls[tool], **arguments)
        save_session(self._state, self._session)
        return text

    async def activate(self, name: str) -> str:
        """Activate a skill; the framework adds no text after compaction, so the text is returned each time."""
        text = await self.call("activate_skill", name=name)
        if text.startswith("<skill_content"):
            return text
        return await asyncio.to_thread(self._again, name, text)

    def _again(self, name: str, text: str) -> str:
        fresh = {tool.name: tool for tool in Session(self._session.catalog).tools()}
        again = fresh["activate_skill"].call(name=name)
        return again if again.startswith("<skill_content") else text


class _CatalogSkill(Skill):  # type: ignore[misc]
    """A skill of a conversation."""

    def __init__(self, row: Mapping[str, str], conversation: _Conversation) -> None:
        self._conversation = conversation
        # A host may accept names that the framework does not; what is assigned is not checked.
        self._frontmatter = SkillFrontmatter(name="skill", description="skill")
        self._frontmatter.name = row["name"]
        self._frontmatter.description = row.get("description", "")[:_MAX_DESCRIPTION]

    @property
    def frontmatter(self) -> SkillFrontmatter:
        return self._frontmatter

    async def get_content(self) -> str:
        return await self._conversation.activate(self._frontmatter.name)

    async def get_resource(self, name: str) -> SkillResource | None:
        return _File(self._frontmatter.name, name, self._conversation)

    async def get_script(self, name: str) -> SkillScript | None:
        return _Script(name=name, conversation=self._conversation) if self._conversation.has_scripts else None


class _File(SkillResource):  # type: ignore[misc]
    """A file of a skill."""

    def __init__(self, skill: str, path: str, conversation: _Conversation) -> None:
        super().__init__(name=path)
        self._skill, self._conversation = skill, conversation

    async def read(self, **_: Any) -> str:
        return await self._conversation.call("read_skill_file", name=self._skill, path=self.name)


class _Script(SkillScript):  # type: ignore[misc]
    """A script of a skill; whether it may run is decided when it runs."""

    def __init__(self, *, name: str, conversation: _Conversation) -> None:
        super().__init__(name=name)
        self._conversation = conversation

    async def run(self, skill: Skill, args: dict[str, Any] | list[str] | None = None, **_: Any) -> str:
        name = skill.frontmatter.name
        return await self._conversation.call("run_skill_script", skill=name, script=self.name, args=args)
