"""What a session shows in one turn: the skills that the user's message needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.session import Session
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, write_many_skills

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Sixty skills, the last two of them for one message each."""
    (tmp_path / "home").mkdir()
    write_many_skills(tmp_path / ".agents/skills")
    return discover(tmp_path, home=tmp_path / "home", cache=False)


def test_the_message_of_a_turn_chooses(catalog: Catalog) -> None:
    """`static_block` stays, and so does the block of a turn until the next one."""
    session = Session(catalog, budget=600)
    static = session.static_block()
    assert session.block() == static
    session.inject(BANK_MESSAGE)
    block = session.block()
    assert "z-books" in block
    assert "y-garden" not in block
    assert len(block) <= 600
    session.search("paint")
    session.activate("a-03")
    assert session.block() == block
    session.inject(GARDEN_MESSAGE)
    assert "y-garden" in session.block()
    assert session.block(BANK_MESSAGE) == block
    assert session.static_block() == static
    session.restart()
    assert session.block() == static


def test_if_all_skills_fit_the_block_is_static(catalog: Catalog) -> None:
    session = Session(catalog)
    assert session.block("my bank statements") == session.static_block()


def test_the_block_is_new_after_an_update(catalog: Catalog) -> None:
    """Even for the same message."""
    session = Session(catalog, budget=600)
    assert "z-books" in session.block("bank statements")
    session.update(catalog.with_changes(skills=catalog.skills[:-1]))
    assert "z-books" not in session.block("bank statements")


def test_sessions_of_one_catalog_share_its_index(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """So each file is read once, however many conversations there are."""
    from prowess.search._search import Index

    built = []
    build = Index._build_postings

    def count(index: Index) -> object:
        built.append(index)
        return build(index)

    monkeypatch.setattr(Index, "_build_postings", count)
    for number in range(5):
        Session(catalog, budget=600).block(f"bank statements {number}")
    assert len(built) == 1


@pytest.mark.parametrize("prompt", ["x" * 10_000_000, "\x1b[2J\u202e\0", "\ud800", "銀行" * 100_000])
def test_any_message_has_a_block_within_the_budget(prompt: str, catalog: Catalog) -> None:
    assert len(Session(catalog, budget=600).block(prompt)) <= 600
