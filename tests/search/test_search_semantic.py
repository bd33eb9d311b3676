"""Searching by meaning: a caller's ranker, and the embedding of `prowess[semantic]`."""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.prompt import render
from prowess.search import Index, installed_ranker
from prowess.session import Session
from support.skills import BANK_MESSAGE, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prowess.catalog import Catalog


class Fixed:
    """A ranker that prefers one skill, and records what it was asked."""

    def __init__(self, name: str, score: float = 1.0, other: float = 0.0) -> None:
        self.name, self.score, self.other = name, score, other
        self.asked: list[tuple[str, Sequence[str]]] = []

    def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((message, texts))
        return [self.score if text.startswith(f"{self.name}: ") else self.other for text in texts]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "home").mkdir()
    write_many_skills(tmp_path / ".agents/skills")
    return discover(tmp_path, home=tmp_path / "home", cache=False)


@pytest.fixture(autouse=True)
def no_embedding(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is installed but what a test installs."""
    installed_ranker.cache_clear()
    yield
    installed_ranker.cache_clear()


def test_a_ranker_finds_a_skill_without_its_words(catalog: Catalog) -> None:
    """It sees the message and, for each skill, the same texts each time."""
    ranker = Fixed("y-garden")
    index = Index(catalog.skills, ranker=ranker)
    assert [hit.entry.name for hit in index.search("feeding rabbits")] == ["y-garden"]
    assert index.search("feeding rabbits")[0].score < 3
    (message, texts), (_, again) = ranker.asked
    assert (message, len(texts), texts is again) == ("feeding rabbits", 60, True)
    assert "y-garden: Plans where vegetables are sown." in texts


def test_words_and_meaning_count_together(catalog: Catalog) -> None:
    """A name stays first."""
    index = Index(catalog.skills, ranker=Fixed("y-garden", 0.2))
    assert [entry.name for entry in index.best(BANK_MESSAGE, 2)] == ["z-books", "y-garden"]
    index = Index(catalog.skills, ranker=Fixed("y-garden"))
    assert index.best("z-books", 1)[0].name == "z-books"


@pytest.mark.parametrize("other", [math.nan, math.inf, -math.inf, -1.0, 1e300])
def test_scores_out_of_range_count_nothing(other: float, catalog: Catalog) -> None:
    index = Index(catalog.skills, ranker=Fixed("y-garden", 0.9, other))
    assert [entry.name for entry in index.best("feeding rabbits", 5)] == ["y-garden"]


def test_another_number_of_scores_is_an_error(catalog: Catalog) -> None:
    class Short:
        def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
            return [0.5 + 0 * len(message) * len(texts)]

    with pytest.raises(ValueError, match="the ranker returned 1 scores for 60 texts"):
        Index(catalog.skills, ranker=Short()).search("feeding rabbits")


def test_a_message_without_words_is_not_ranked(catalog: Catalog) -> None:
    ranker = Fixed("y-garden")
    assert Index(catalog.skills, ranker=ranker).search("?!") == ()
    assert ranker.asked == []


def test_prompts_and_sessions_take_a_ranker(catalog: Catalog) -> None:
    index = Index(catalog.skills, ranker=Fixed("y-garden"))
    assert render(catalog, budget=900, query="feeding rabbits", index=index).shown[0] == "y-garden"
    session = Session(catalog, budget=1_500, ranker=Fixed("y-garden"))
    assert "y-garden" in session.block("feeding rabbits")
    assert session.search("feeding rabbits")[0].entry.name == "y-garden"
    assert Session(catalog, budget=1_500).search("feeding rabbits") == ()


class Vector:
    """The few operations of numpy that a ranker needs."""

    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[list[float]]:
        return iter(self.rows)

    def __matmul__(self, other: list[float]) -> list[float]:
        return [sum(x * y for x, y in zip(row, other, strict=True)) for row in self.rows]


def fake_wordllama(tmp_path: Path, load: Any) -> ModuleType:
    """Write an empty package of that name, and return a module to use in its place."""
    (tmp_path / "packages/wordllama").mkdir(parents=True)
    (tmp_path / "packages/wordllama/__init__.py").write_text("")
    from importlib.util import spec_from_file_location

    module = ModuleType("wordllama")
    module.__spec__ = spec_from_file_location("wordllama", tmp_path / "packages/wordllama/__init__.py")
    module.WordLlama = type("WordLlama", (), {"load": staticmethod(load)})  # type: ignore[attr-defined]
    return module


def test_the_installed_embedding_is_used_and_downloads_nothing(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are those of its package."""
    options: list[dict[str, Any]] = []

    class Model:
        def embed(self, texts: list[str], norm: bool) -> Vector:
            assert norm
            return Vector([[float("vegetables" in text), float("rabbits" in text)] for text in texts])

    def load(**given: Any) -> Model:
        options.append(given)
        return Model()

    monkeypatch.setitem(sys.modules, "wordllama", fake_wordllama(tmp_path, load))
    ranker = installed_ranker()
    assert ranker is not None
    assert ranker is installed_ranker()
    assert options == [{"cache_dir": str(tmp_path / "packages/wordllama"), "disable_download": True}]
    assert ranker.scores("\ud800 vegetables", ("a: rabbits", "b: vegetables \ud800")) == [0.0, 1.0]
    assert ranker.scores("vegetables", ()) == []


@pytest.mark.parametrize("error", [FileNotFoundError("no weights"), ImportError("no numpy"), ValueError("damaged")])
def test_an_embedding_that_cannot_be_loaded_is_off(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(**_: Any) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "wordllama", fake_wordllama(tmp_path, load))
    assert installed_ranker() is None


def test_without_the_extra_only_words_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert installed_ranker() is None
