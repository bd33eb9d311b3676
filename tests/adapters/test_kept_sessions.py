"""Sessions whose records are in the state of a framework, which may replace it."""

from __future__ import annotations

import gc
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from prowess import LiveCatalog, discover
from prowess.adapters._kept_sessions import KeptSessions
from prowess.errors import ConfigError
from support.skills import skill, write_many_skills

if TYPE_CHECKING:
    from pathlib import Path

    from prowess import Session


class Owner:
    """The state of a conversation in some framework."""

    record: Any = None


def kept(folder: Path, catalog: Any = None, **options: Any) -> KeptSessions:
    def read(owner: Owner) -> object:
        record = owner.record
        time.sleep(0.002)  # another tool may save meanwhile
        return record

    def write(owner: Owner, _: Session, record: str) -> None:
        owner.record = record

    catalog = catalog or discover(folder, home=folder.parent / "home", cache=False)
    return KeptSessions(catalog, options, False, read=read, write=write)


def test_tools_in_parallel_lose_nothing(folder: Path) -> None:
    """A tool that reads a record just before another one saves does not go back to it."""
    names = [f"s{number:02}" for number in range(40)]
    for name in names:
        skill(folder / ".agents/skills" / name)
    sessions, owner = kept(folder), Owner()

    def tools(some: list[str]) -> None:
        for name in some:
            session = sessions.get(owner)
            session.activate(name)
            sessions.save(owner, session)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tools, (names[start::4] for start in range(4))))
    assert sorted(row["name"] for row in json.loads(owner.record)["ledger"]) == names


def test_a_state_that_was_replaced_wins(folder: Path) -> None:
    """What a turn began with, which no record has, stays."""
    sessions, owner = kept(folder), Owner()
    session = sessions.get(owner)
    session.inject("Use the lost skill.")
    sessions.save(owner, session)
    before = owner.record
    session.activate("pages")
    sessions.save(owner, session)
    owner.record = before
    assert sessions.get(owner).ledger == ()
    assert sessions.get(owner).warnings == session.warnings != ()
    owner.record = None
    assert sessions.get(owner).turn == 0


@pytest.mark.parametrize("record", [None, 7, "", "{", "[]", '{"version": 99}', b"{}", {"turn": 1}])
def test_an_invalid_record_is_a_new_session(folder: Path, record: object) -> None:
    sessions, owner = kept(folder), Owner()
    owner.record = record
    assert (sessions.get(owner).turn, sessions.get(owner).ledger) == (0, ())
    assert sessions.restored(record).turn == 0


def test_a_session_is_gone_with_its_owner(folder: Path) -> None:
    sessions, owner = kept(folder), Owner()
    session = ref(sessions.get(owner))
    del owner
    gc.collect()
    assert session() is None


def test_the_tools_of_no_conversation_are_those_of_the_moment(folder: Path) -> None:
    """A live catalog that has grown needs the tool that searches it."""
    sessions = kept(folder, LiveCatalog(folder, home=folder.parent / "home"), budget=2000)
    before = {tool.name for tool in sessions.tools()}
    write_many_skills(folder / ".agents/skills")
    assert {tool.name for tool in sessions.tools()} - before == {"search_skills"}


def test_another_catalog_replaces_that_of_all_conversations(folder: Path, tmp_path: Path) -> None:
    skill(tmp_path / "other/.agents/skills/words")
    sessions, owner = kept(folder), Owner()
    session = sessions.get(owner)
    sessions.replace_catalog(discover(tmp_path / "other", home=tmp_path / "home", cache=False))
    for one in (session, sessions.get(owner), sessions.get(Owner()), sessions.template):
        assert [entry.name for entry in one.catalog.skills] == ["words"]


def test_an_invalid_option_is_an_error_at_once(folder: Path) -> None:
    with pytest.raises(ConfigError):
        kept(folder, budget=-1)
