"""The labelled set of skills and messages, and what the search finds in it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from support.skills import skill

FOLDER = Path(__file__).parents[1] / "benchmarks/search"


@pytest.fixture(scope="module")
def bench() -> Any:
    """The modules of the benchmark: the labelled set, the engines, the figures."""
    import importlib.util

    modules: dict[str, Any] = {}
    for name in ("labelled", "engines", "run", "prompts"):
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
    for name in ("labelled", "engines", "run", "prompts"):
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


def test_published_prompts_are_ranked_among_the_skills_of_their_clone(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A prompt of two evals counts once; one for a skill that is somewhere else is left out."""
    prompts = [("Fill the PDF form", "pdf"), ("Read the table", "pdf"), ("Joke", None), ("Fly", "plane")]
    for name, words in (("pdf", "Fills PDF forms."), ("csv", "Reads a table of CSV.")):
        skill(tmp_path / name, name=name, description=words)
        (tmp_path / name / "evals").mkdir()
        cases = [{"question": prompt, "expected_skill": expected} for prompt, expected in prompts]
        (tmp_path / name / "evals/evals.json").write_text(json.dumps(cases))
    assert bench["prompts"].main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2 skills, 2 prompts that expect one of them, 1 that expect none",
        "left out: 1 prompts that expect another skill",
        "Hit@1 50.0 % (1 of 2), from 9.5 to 90.5",
        "nothing is found for 1 of 1 prompts that expect none",
    ]
    assert bench["prompts"].main([str(FOLDER)]) == 1


def test_messages_for_published_skills_are_labelled(bench: Any) -> None:
    """Thirty of each kind; the skills are not part of this project."""
    messages = bench["labelled"].load_messages("published.txt")
    assert Counter(message.kind for message in messages) == dict.fromkeys(bench["labelled"].KINDS, 30)
    assert all(set(message.grades.values()) <= {1, 2, 3} for message in messages)
    assert all(3 in message.grades.values() for message in messages)
    assert len({message.text for message in messages}) == len(messages)
    texts = {message.text for message in bench["labelled"].load_messages()}
    assert texts.isdisjoint(message.text for message in messages)


def test_published_skills_are_read_by_the_names_of_their_labels(bench: Any, tmp_path: Path) -> None:
    """With `_` for blanks; of equal names the first."""
    skill(tmp_path / "one/skills/a", "Two Words", description="First.", body="Body.")
    skill(tmp_path / "two/b", "Two Words", description="Second.")
    (found,) = bench["labelled"].load_published(tmp_path)
    assert (found.name, found.description, found.body.strip()) == ("Two_Words", "First.", "Body.")


@pytest.mark.slow
def test_the_search_is_better_than_full_text_search_in_sqlite(bench: Any) -> None:
    """On the tuning part; `make search` writes the figures of the held-out part."""
    skills, messages = bench["labelled"].load_skills(), bench["labelled"].load_messages()
    ours, theirs = bench["engines"].Prowess(skills), bench["engines"].sqlite_fts5(skills)
    part = [message for message in messages if not message.held_out]
    hit, ndcg = bench["run"].judge(ours, part)
    other_hit, other_ndcg = bench["run"].judge(theirs, part)
    assert (hit > other_hit, ndcg > other_ndcg) == (True, True)
    assert hit > 55
    assert ndcg > 64


@pytest.mark.parametrize(
    ("file", "count"), [("from_bodies.txt", 110), ("published_bodies.txt", 72), ("languages.txt", 66)]
)
def test_further_messages_are_labelled(file: str, count: int, bench: Any) -> None:
    """Each has a right answer among the skills, and is in no other file."""
    messages = bench["labelled"].load_messages(file)
    names = {skill.name for skill in bench["labelled"].load_skills()}
    texts = {
        message.text for other in ("queries.txt", "published.txt") for message in bench["labelled"].load_messages(other)
    }
    assert len({message.text for message in messages} - texts) == len(messages) == count
    assert all(set(message.grades.values()) <= {1, 2, 3} for message in messages)
    assert file == "published_bodies.txt" or {name for message in messages for name in message.grades} <= names
    assert 0.3 < mean(message.held_out for message in messages) < 0.7


def test_a_wrong_letter_changes_one_word(bench: Any) -> None:
    """The longest one; a message without a long word stays as it is."""
    messages = [message for message in bench["labelled"].load_messages() if message.text.isascii()]
    changed = 0
    for message, wrong in zip(messages, bench["labelled"].with_wrong_letters(messages), strict=True):
        different = sum(a != b for a, b in zip(message.text.split(), wrong.text.split(), strict=True))
        assert different <= 1
        changed += different
    assert changed > 0.9 * len(messages)


def test_prompts_of_evals_are_messages(bench: Any, tmp_path: Path) -> None:
    """Those that the skill should be used for."""
    skill(tmp_path / "skills/pdf")
    cases = [
        {"id": "a", "question": "Merge these.", "expected_skill": "pdf", "expected_behavior": ["merges"]},
        {"id": "b", "question": "What day is it?", "expected_skill": None, "expected_behavior": ["answers"]},
    ]
    (tmp_path / "skills/pdf/evals").mkdir()
    (tmp_path / "skills/pdf/evals/evals.json").write_text(json.dumps(cases))
    (message,) = bench["labelled"].load_prompts(tmp_path)
    assert (message.text, message.grades) == ("Merge these.", {"pdf": 3})


@pytest.mark.slow
def test_no_stuffed_skill_comes_first(bench: Any) -> None:
    """Thirty skills with every word, copied descriptions, white text, hidden characters or other skills' names."""
    skills = bench["labelled"].load_skills()
    stuffed = bench["engines"].stuffed_skills(skills)
    assert len(stuffed) == 30
    engine = bench["engines"].Prowess([*skills, *stuffed])
    first = [(engine(message.text) or [""])[0] for message in bench["labelled"].load_messages()]
    assert [name for name in first if name.startswith("universal-")] == []


def test_the_page_of_the_benchmarks_has_the_figures_of_the_skills_of_this_project(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not those of the published ones, which the page of the search has below them."""
    import importlib

    monkeypatch.syspath_prepend(str(FOLDER.parent))
    page = FOLDER.parents[1] / "docs/search.md"
    own = page.read_text(encoding="utf-8").partition("<!-- figures: make search -->")[2]
    row = own.partition("| messages, held-out part (99) | ")[2].partition(" | ")[0]
    hit, ndcg = (figure.partition(" ± ")[0] for figure in row.split(" / "))
    module = importlib.import_module("search_quality")
    monkeypatch.delitem(sys.modules, "search_quality")
    assert module.read_quality(page)["prowess"] == [float(hit), float(ndcg)]
