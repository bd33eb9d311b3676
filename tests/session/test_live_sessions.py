"""Sessions of many conversations share one live catalog."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess import LiveCatalog, Session
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_a_turn_begins_with_the_skills_of_that_moment(tmp_path: Path) -> None:
    """Within a turn the bytes stay the same."""
    skill(tmp_path / ".agents/skills/pdf")
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        session = Session(live)
        session.inject("hello")
        block = session.static_block()
        skill(tmp_path / ".agents/skills/csv")
        assert session.static_block() == block
        (message,) = session.inject("use $csv")
        assert 'name="csv"' in message["content"]
        assert "csv" in session.static_block()
        skill(tmp_path / ".agents/skills/xml")
        session.next_turn()
        assert [entry.name for entry in session.catalog.skills] == ["csv", "pdf", "xml"]


def test_a_catalog_that_replaces_a_live_one_stays(tmp_path: Path) -> None:
    skill(tmp_path / ".agents/skills/pdf")
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        session = Session(live)
        session.update(live.current())
        skill(tmp_path / ".agents/skills/csv")
        session.next_turn()
        assert [entry.name for entry in session.catalog.skills] == ["pdf"]


def test_the_tools_of_a_live_catalog_stay_valid(tmp_path: Path) -> None:
    """Frameworks keep them, so they list no names, and are there before the first skill."""
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        session = Session(live)
        before = session.tools()
        skill(tmp_path / ".agents/skills/pdf")
        session.next_turn()
        assert [tool.parameters for tool in session.tools()] == [tool.parameters for tool in before]
        assert "Do it." in before[0].call(name="pdf")


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_ten_thousand_turns_of_a_hundred_conversations_scan_once_for_each_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And open nothing more."""
    scans = 0
    scan = LiveCatalog._discover

    def counted(live: LiveCatalog) -> Any:
        nonlocal scans
        scans += 1
        return scan(live)

    monkeypatch.setattr(LiveCatalog, "_discover", counted)
    skill(tmp_path / ".agents/skills/pdf")
    with LiveCatalog(tmp_path, home=tmp_path / "home") as live:
        sessions = [Session(live) for _ in range(100)]
        first, opened = scans, len(os.listdir("/proc/self/fd"))
        for turn in range(100):
            if turn in (30, 60):
                skill(tmp_path / ".agents/skills/pdf", description=f"Changed {turn}.")
            for session in sessions:
                session.inject("and now the next file")
        assert len(os.listdir("/proc/self/fd")) == opened
        assert first <= 2
        assert scans == first + 2
        assert {id(session.catalog) for session in sessions} == {id(live.current())}
        assert all("Changed 60." in session.static_block() for session in sessions)
