"""A message chooses which skills a prompt shows, if not all fit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.errors import ConfigError
from prowess.prompt import estimate_tokens, render
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

MESSAGE = "please reconcile my bank statement with the ledger"
LEVELS = ("", "name", "short", "full")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A hundred skills; the last one is for the message, the one before it for a word of it."""
    (tmp_path / "home").mkdir()
    root = tmp_path / ".agents/skills"
    for number in range(98):
        skill(root / f"a-{number:02}", description=f"Paints picture {number}. " + "Uses brushes and much colour. " * 5)
    skill(root / "x-banks", description="Names the seats of a bank. " + "It lists addresses and people. " * 5)
    skill(root / "z-books", description="Reconciles bank statements with the ledger. " + "It finds fees. " * 12)
    return discover(tmp_path, home=tmp_path / "home", cache=False)


def detail(prompt: Any, name: str) -> int:
    """Return how much of a skill is shown: 0 is nothing, 3 is everything."""
    if name not in prompt.shown:
        return 0
    if name not in prompt.shortened:
        return 3
    start = prompt.text.index(f"<name>{name}</name>")
    return 1 + ("<description>" in prompt.text[start : prompt.text.index("</skill>", start)])


def test_the_skill_that_a_message_needs_is_first(catalog: Catalog) -> None:
    """The rest follows by name while room lasts, and what is left out is counted."""
    assert "z-books" not in render(catalog, budget=4_000).shown
    prompt = render(catalog, budget=4_000, query=MESSAGE)
    assert prompt.shown[:3] == ("z-books", "x-banks", "a-00")
    assert [detail(prompt, name) for name in prompt.shown[:3]] == [3, 3, 1]
    assert prompt.chars <= 4_000
    assert f"left out: {len(prompt.omitted)};" in prompt.text
    assert sorted(prompt.shown + prompt.omitted) == sorted(entry.name for entry in catalog.active)


@pytest.mark.parametrize("query", ["", "   ", "!?", "\0", "\ud800", "qqqq wwww"], ids=repr)
def test_a_message_that_matches_nothing_changes_nothing(query: str, catalog: Catalog) -> None:
    """Unless it has three words that are in no skill."""
    assert render(catalog, budget=4_000, query=query) == render(catalog, budget=4_000)


@pytest.mark.parametrize("form", ["xml", "markdown", "json", None])
def test_if_all_skills_fit_the_message_changes_nothing(form: str | None, catalog: Catalog) -> None:
    """Not a byte: a prompt cache keeps the block."""
    whole = render(catalog, format=form)
    assert render(catalog, format=form, query=MESSAGE) == whole
    assert render(catalog, format=form, query=MESSAGE, budget=whole.chars) == whole


def test_pinned_skills_stay_in_full_and_come_first(catalog: Catalog) -> None:
    prompt = render(catalog, budget=4_000, query=MESSAGE, levels={"a-50": "pin"})
    assert prompt.shown[:2] == ("a-50", "z-books")
    assert detail(prompt, "a-50") == 3
    with pytest.raises(ConfigError, match="the pinned skills alone take"):
        render(catalog, budget=50, query=MESSAGE, levels={"a-50": "pin"})


def test_a_level_limits_what_a_message_shows(catalog: Catalog) -> None:
    prompt = render(catalog, budget=4_000, query=MESSAGE, levels={"z-books": "name-only", "x-banks": "off"})
    assert detail(prompt, "z-books") == 1
    assert "x-banks" not in prompt.shown


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["chars", "tokens"])
def test_a_larger_budget_never_shows_less(unit: str, catalog: Catalog) -> None:
    """And none is exceeded."""
    measure = estimate_tokens if unit == "tokens" else len
    prompts = [render(catalog, budget=budget, unit=unit, query=MESSAGE) for budget in range(0, 9_000, 457)]
    for budget, prompt in zip(range(0, 9_000, 457), prompts, strict=True):
        assert measure(prompt.text) <= budget
    for less, more in pairwise(prompts):
        assert all(detail(less, entry.name) <= detail(more, entry.name) for entry in catalog.active)


def test_the_text_of_a_client_keeps_its_order(tmp_path: Path) -> None:
    """Its headings and places are its own; the message only chooses."""
    (tmp_path / "home").mkdir()
    for number in range(60):
        skill(tmp_path / f".claude/skills/a-{number:02}", description="Paints. " + "Uses brushes. " * 9)
    skill(tmp_path / ".claude/skills/z-books", description="Reconciles bank statements with the ledger.")
    catalog = discover(tmp_path, "claude-code", home=tmp_path / "home", cache=False)
    assert "z-books" not in render(catalog, budget=300).shown
    shown = render(catalog, budget=300, query=MESSAGE).shown
    assert shown[-1] == "z-books"
    assert list(shown) == sorted(shown)


NOTE = "Hardly a word of this message is in a skill: search_skills finds more with words in English"
FOREIGN = "Bitte gleiche meine Kontoauszüge mit dem Hauptbuch ab"


@pytest.mark.parametrize("form", ["xml", "markdown", "json", None])
@pytest.mark.parametrize("locations", [True, False])
def test_a_message_of_unknown_words_asks_to_search_in_english(
    form: str | None, locations: bool, catalog: Catalog
) -> None:
    """The block is not filled with skills that happen to be the first of the catalog."""
    prompt = render(catalog, format=form, budget=4_000, query=FOREIGN, locations=locations)
    assert (prompt.shown, len(prompt.omitted)) == ((), 100)
    assert NOTE in prompt.text
    assert "left out: 100" in prompt.text
    assert len(prompt.text) < 400


def test_a_skill_with_a_word_that_languages_share_is_shown(catalog: Catalog) -> None:
    prompt = render(catalog, budget=4_000, query=FOREIGN + " ledger", levels={"a-07": "pin"})
    assert prompt.shown == ("a-07", "z-books")
    assert NOTE in prompt.text


def test_the_note_on_a_message_stays_in_the_budget(catalog: Catalog) -> None:
    for budget in (0, 50, 150, 250, 300, 500):
        prompt = render(catalog, budget=budget, query=FOREIGN + " ledger")
        assert len(prompt.text) <= budget
        assert (NOTE in prompt.text) == (budget >= 250)


def test_a_client_s_own_text_has_the_note_too(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for number in range(60):
        skill(tmp_path / f".claude/skills/a-{number:02}", description="Paints for you. " + "Uses brushes. " * 9)
    catalog = discover(tmp_path, "claude-code", home=tmp_path / "home", cache=False)
    prompt = render(catalog, budget=2_000, query=FOREIGN)
    assert prompt.shown == ()
    assert NOTE in prompt.text


def test_more_skills_are_ranked_for_a_larger_budget(tmp_path: Path) -> None:
    """All that match come before one that does not, also beyond the first thirty-two."""
    (tmp_path / "home").mkdir()
    for number in range(60):
        skill(tmp_path / f".agents/skills/a-{number:02}", description="Paints pictures. " + "Uses brushes. " * 9)
        skill(tmp_path / f".agents/skills/ledger{number:02}", description="Keeps a ledger. " + "Adds numbers. " * 9)
    catalog = discover(tmp_path, home=tmp_path / "home", cache=False)
    shown = render(catalog, budget=12_000, query="ledger").shown
    assert len(shown) > 40
    assert all(name.startswith("ledger") for name in shown)


def test_siblings_are_described_together(tmp_path: Path) -> None:
    """Skills whose names begin with the same word, or share two, are beside each other."""
    (tmp_path / "home").mkdir()
    root = tmp_path / ".agents/skills"
    for number in range(60):
        skill(root / f"a{number:02}", description="Paints pictures. " + "Uses brushes. " * 9)
    for name in ("ledger-books", "bank-feed", "form-a", "roll-a", "tax-b", "fee-b", "ledger-export", "feed-of-bank"):
        skill(root / name, description=f"Handles a ledger for {name}. " + "Adds numbers. " * 9)
    catalog = discover(tmp_path, home=tmp_path / "home", cache=False)
    query = "books for the bank feed and a ledger, form, roll"
    prompts = (render(catalog, budget=budget, query=query) for budget in range(1_000, 4_000, 50))
    prompt = next(prompt for prompt in prompts if len(prompt.shown) == 8)
    shown = prompt.shown
    assert shown.index("ledger-export") == shown.index("ledger-books") + 1
    assert shown.index("feed-of-bank") == shown.index("bank-feed") + 1
    assert [detail(prompt, name) for name in ("ledger-export", "feed-of-bank", "tax-b", "fee-b")] == [2, 2, 1, 1]
