"""The labelled set of skills and messages, and what the search finds in it."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks/search"


@pytest.fixture(scope="module")
def bench() -> Any:
    """The modules of the benchmark: the labelled set, the engines, the figures."""
    import importlib.util

    modules: dict[str, Any] = {}
    for name in ("labelled", "engines", "run"):
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = modules[name] = importlib.util.module_from_spec(spec)
        before = sys.modules.get(name)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        if before is not None:
            modules[f"before {name}"] = before
    yield modules
    for name in ("labelled", "engines", "run"):
        sys.modules.pop(name)
        if f"before {name}" in modules:
            sys.modules[name] = modules[f"before {name}"]


def test_every_label_names_a_skill(bench: Any) -> None:
    """Each message has a right answer, in four kinds and two parts; names are distinct."""
    names = [skill.name for skill in bench["labelled"].load_skills()]
    messages = bench["labelled"].load_messages()
    assert len(set(names)) == len(names)
    assert {name for message in messages for name in message.grades} <= set(names)
    assert {grade for message in messages for grade in message.grades.values()} == {1, 2, 3}
    assert all(max(message.grades.values()) == 3 for message in messages if message.kind != "oblique")
    assert all(len(message.text.split()) >= 25 for message in messages if message.kind == "long")
    kinds = Counter(message.kind for message in messages)
    assert sorted(kinds) == sorted(bench["labelled"].KINDS)
    assert min(kinds.values()) >= 40
    assert 0.4 < mean(message.held_out for message in messages) < 0.6


@pytest.mark.slow
def test_the_search_is_better_than_full_text_search_in_sqlite(bench: Any) -> None:
    """On the tuning part and on the held-out part."""
    skills, messages = bench["labelled"].load_skills(), bench["labelled"].load_messages()
    ours, theirs = bench["engines"].prowess(skills), bench["engines"].sqlite_fts5(skills)
    for held_out in (False, True):
        part = [message for message in messages if message.held_out is held_out]
        hit, ndcg = bench["run"].judge(ours, part)
        other_hit, other_ndcg = bench["run"].judge(theirs, part)
        assert (hit > other_hit, ndcg > other_ndcg) == (True, True)
        assert hit > 54
        assert ndcg > 63


@pytest.mark.slow
def test_no_stuffed_skill_comes_first(bench: Any) -> None:
    """Thirty skills with every word, copied descriptions, white text, hidden characters or other skills' names."""
    skills = bench["labelled"].load_skills()
    stuffed = bench["engines"].stuffed_skills(skills)
    assert len(stuffed) == 30
    engine = bench["engines"].prowess([*skills, *stuffed])
    first = [(engine(message.text) or [""])[0] for message in bench["labelled"].load_messages()]
    assert [name for name in first if name.startswith("universal-")] == []
