"""What the adapters share: catalogs, sessions whose records are in the state of a framework, and their records."""

from __future__ import annotations

import gc
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from prowess import ConfigError, LiveCatalog, discover
from prowess.adapters._base import HINT, KeptSessions, catalog_argument, merge_sessions
from support.sessions import discover_project
from support.skills import skill, write_many_skills

if TYPE_CHECKING:
    from pathlib import Path

    from prowess import Session


def test_a_catalog_is_returned_as_it_is(folder: Path) -> None:
    catalog, live = discover(folder), LiveCatalog(folder)
    assert catalog_argument(catalog) is catalog
    assert catalog_argument(live) is live


@pytest.mark.parametrize("kind", [str, os.fspath, lambda path: path])
def test_a_directory_is_its_live_catalog(folder: Path, kind: Any) -> None:
    live = catalog_argument(kind(folder))
    assert isinstance(live, LiveCatalog)
    skill(folder / ".agents/skills/late")
    assert "late" in {entry.name for entry in live.current().skills}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "not a catalog: an object of type `NoneType`"),
        (3, "not a catalog: an object of type `int`"),
        (b".", "not a catalog: an object of type `bytes`"),
        ([], "not a catalog: an object of type `list`"),
        ("", "no such directory: ``"),
        ("no/such/folder", "no such directory: `no/such/folder`"),
        ("a\x00b", "no such directory: `a\\x00b`"),
        (__file__, None),
    ],
)
def test_anything_else_is_an_error_that_says_what_to_pass(value: Any, message: str | None) -> None:
    with pytest.raises(ConfigError) as raised:
        catalog_argument(value)
    assert message in (None, str(raised.value))
    assert raised.value.hint == HINT


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

    catalog = catalog or discover_project(folder)
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


def test_records_are_joined_whichever_comes_first() -> None:
    """A later turn wins, files add up, and nothing is no record."""
    row = {"path": "a", "turn": 1, "by": "user", "files": ["x"]}
    old = json.dumps({"version": 1, "turn": 1, "ledger": [row]})
    new = json.dumps({"version": 1, "turn": 2, "ledger": [{**row, "turn": 2, "files": ["y"]}]})
    for one, other, files in ((old, new, ["x", "y"]), (new, old, ["y", "x"])):
        rows = [{**row, "turn": 2, "files": files}]
        assert json.loads(merge_sessions(one, other)) == {"version": 1, "turn": 2, "ledger": rows}
    assert (merge_sessions("", new), merge_sessions(new, "")) == (new, new)
    other = json.dumps({"version": 1, "turn": 1, "ledger": [{**row, "path": "b"}]})
    first, later = json.loads(merge_sessions(old, other)), json.loads(merge_sessions(merge_sessions(old, other), new))
    assert [[item["path"] for item in record["ledger"]] for record in (first, later)] == [["a", "b"], ["b", "a"]]
    by_model = json.dumps({"version": 1, "turn": 1, "ledger": [{**row, "by": "model"}]})
    for one, other in ((old, by_model), (by_model, old)):
        assert [item["by"] for item in json.loads(merge_sessions(one, other))["ledger"]] == ["model"]
    foreign = json.dumps({"version": 9, "turn": 1, "ledger": [{**row, "path": "b"}]})
    assert json.loads(merge_sessions(foreign, new)) == json.loads(new)


def test_a_record_of_an_activation_wins_over_that_of_a_script_beside_it() -> None:
    """The model was given the content."""
    row = {"path": "a", "turn": 1, "by": "model", "files": [], "fingerprint": ""}
    script = json.dumps({"version": 1, "turn": 1, "ledger": [row]})
    activation = json.dumps({"version": 1, "turn": 1, "ledger": [{**row, "fingerprint": "1"}]})
    for one, other in ((script, activation), (activation, script)):
        (joined,) = json.loads(merge_sessions(one, other))["ledger"]
        assert joined["fingerprint"] == "1"
