"""The index is kept in the cache, and gives the same answers as without one, whatever the files contain."""

from __future__ import annotations

import os
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.search import Index, _index as kept
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prowess.catalog._entry import Entry
    from prowess.search import Hit

QUERIES = (BANK_MESSAGE, GARDEN_MESSAGE, "a-07", "paint brush 7", "reconcilse", "veget", "qqq")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty skills that changed long ago, and an empty cache."""
    (tmp_path / "home").mkdir()
    write_many_skills(tmp_path / ".agents/skills")
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "SETTLE_NS", -(10**18))
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the skills whose words were counted."""
    from prowess.search import _ranking as _search_ranking, _search

    names: list[str] = []
    count = _search_ranking.skill_impacts

    def record(name: str, description: str, body: str) -> dict[str, int]:
        names.append(name)
        return count(name, description, body)

    monkeypatch.setattr(_search, "skill_impacts", record)
    return names  # type: ignore[return-value]


def answers(top: Path, *, cache: bool = True, entries: Sequence[Entry] | None = None) -> list[list[tuple[str, float]]]:
    index = Index(entries or discover(top, home=top / "home", cache=False).skills, cache=cache)

    def row(hit: Hit) -> tuple[str, float]:
        return hit.entry.name, hit.score

    return [[row(hit) for hit in index.search(query, 70)] for query in QUERIES]


def forbid_stat_of_skills() -> Callable[..., os.stat_result]:
    """Return `os.stat`, which may not be asked about skills."""
    stat = os.stat

    def stat_other(path: object, **options: Any) -> os.stat_result:
        assert not str(path).endswith("SKILL.md")
        return stat(path, **options)  # type: ignore[arg-type]

    return stat_other


def test_unchanged_skills_are_not_read_again(top: Path, read: list[str]) -> None:
    first = answers(top)
    assert len(read) == 60
    read.clear()
    assert answers(top) == first == answers(top)
    assert read == []


def test_a_changed_skill_costs_one_skill(top: Path, read: list[str]) -> None:
    """A new, a changed and a removed one; a second search reads nothing."""
    answers(top)
    root = top / ".agents/skills"
    skill(root / "a-05", description="Sows vegetables by the bank.")
    skill(root / "b-new", description="Matches statements of banks.")
    (root / "a-06/SKILL.md").unlink()
    read.clear()
    found = answers(top)
    assert read == ["a-05", "b-new"]
    assert found == answers(top, cache=False)
    read.clear()
    assert answers(top) == found
    assert read == []


def test_many_changed_skills_become_part_of_the_index(
    top: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MAX_CHANGED", 3)
    answers(top)
    for number in range(5):
        skill(top / f".agents/skills/a-{number:02}", description=f"Changed {number} times.")
    expected = answers(top, cache=False)
    assert answers(top) == expected
    read.clear()
    assert answers(top) == expected
    assert read == []


def test_a_skill_that_changed_a_moment_ago_is_not_kept(
    top: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another change in the same tick of the clock would not be seen."""
    answers(top)
    monkeypatch.setattr(kept, "SETTLE_NS", 2_000_000_000)
    hour_ago = time.time() - 3600
    for file in (top / ".agents/skills").glob("*/SKILL.md"):
        os.utime(file, (hour_ago, hour_ago))
    read.clear()
    answers(top)  # the status of each file changed just now
    answers(top)
    assert len(read) == 120


def test_without_cache_nothing_is_written(top: Path) -> None:
    answers(top, cache=False)
    assert not (top / "cache").exists()


def test_a_cached_catalog_gives_the_same_answers(top: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """From what the cache has of each skill; a body that changed since is searched as it is now."""
    from prowess.cache import _recorded as _cache
    from prowess.catalog._recorded_catalog import RecordedCatalog

    monkeypatch.setattr(_cache, "SETTLE_NS", -(10**18))
    skill(top / ".agents/skills/a-08", description="x" * 2000, name="Another name")
    expected = answers(top, cache=False)

    def cached_answers() -> list[list[tuple[str, float]]]:
        entries = discover(top, home=top / "home").skills
        assert isinstance(entries[0].source[0], RecordedCatalog) == was_found
        return answers(top, entries=entries)

    was_found = False
    assert cached_answers() == expected
    was_found = True
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", forbid_stat_of_skills())
        read.clear()
        assert cached_answers() == expected
    assert read == []
    for number in (1, 60):
        for file in sorted((top / ".agents/skills").glob("*/SKILL.md"))[-number:]:
            file.write_text(file.read_text() + f"\n{BANK_MESSAGE} {file.parent.name}\n")
        changed = discover(top, home=top / "home").skills
        assert answers(top, entries=changed) == answers(top, cache=False) != expected


def damage(data: bytes, dice: Random) -> bytes:
    """Return the content of a file, cut, overwritten, repeated or empty."""
    at = dice.randrange(len(data) + 1)
    return dice.choice(
        [
            data[:at],
            data[at:],
            b"",
            dice.randbytes(100),
            data + dice.randbytes(9),
            data[:at] + dice.randbytes(dice.choice((1, 4, 400))) + data[at + 4 :],
            data[:at] + bytes([data[at % len(data)] ^ 1 << dice.randrange(8)]) + data[at + 1 :],
        ]
    )


@pytest.mark.slow
def test_a_damaged_file_changes_no_answer(top: Path) -> None:
    """Any bytes: the skills are read again."""
    expected = answers(top)
    skill(top / ".agents/skills/a-05", description="Sows vegetables by the bank.")
    expected = answers(top)
    files = {path: path.read_bytes() for path in (top / "cache").glob("table-*")}
    assert len(files) == 2
    dice = Random(5)  # noqa: S311 - nothing secret
    for _ in range(150):
        for path, data in files.items():
            path.write_bytes(data if dice.random() < 0.3 else damage(data, dice))
        assert answers(top) == expected


@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "others"])
def test_what_is_not_a_file_of_the_user_is_not_read(kind: str, top: Path) -> None:
    expected = answers(top)
    (file,) = (top / "cache").glob("table-*")
    if kind == "others":
        file.chmod(0o666)
    else:
        data = file.read_bytes()
        file.unlink()
        if kind == "folder":
            file.mkdir()
        elif kind == "fifo":
            os.mkfifo(file)
        else:
            (top / "elsewhere").write_bytes(data)
            file.symlink_to(top / "elsewhere")
    assert answers(top) == expected


def test_a_folder_that_cannot_be_written_is_no_error(top: Path) -> None:
    (top / "cache").write_text("a file")
    assert answers(top) == answers(top, cache=False)
