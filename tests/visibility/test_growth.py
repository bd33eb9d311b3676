"""What a comparison costs grows with the number of skills, in each shape that losses can have."""

from __future__ import annotations

import json
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from mutations import output
from prowess.checks import report
from prowess.cli._losses import describe_losses
from prowess.filesystem import Question
from prowess.skill import portable_digest
from prowess.visibility import group_losses
from support.growth import counted_calls
from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOSTS = ("claude-code", "codex", "gemini-cli", "opencode")
GOOD, TO_FIX = "Reads {}.", "Use when: {}"


def write(top: Path, folder: str, name: str, description: str) -> None:
    file = top / "repo" / folder / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n")


def broken(top: Path, number: int) -> None:
    write(top, f".agents/skills/s{number}", f"s{number}", TO_FIX.format(number))


def broken_of_one_name(top: Path, number: int) -> None:
    write(top, f".agents/skills/s{number}", "pdf", TO_FIX.format(number))


def broken_copies(top: Path, number: int) -> None:
    for folder in (".agents", ".claude"):
        write(top, f"{folder}/skills/s{number}", f"s{number}", TO_FIX.format(number))


def each_in_a_folder(top: Path, number: int) -> None:
    write(top, f"lib/d{number}/s{number}", f"s{number}", GOOD.format(number))


def one_name_in_many_folders(top: Path, number: int) -> None:
    write(top, f"lib/d{number}/pdf", "pdf", TO_FIX.format(number))


def copies_in_many_folders(top: Path, number: int) -> None:
    write(top, f"lib/d{number}/pdf", "pdf", GOOD)


def folders_of_agents(top: Path, number: int) -> None:
    """As in a repository of many packages, of which Claude Code finds each."""
    write(top, f"packages/p{number}/.claude/skills/pdf", "pdf", TO_FIX.format(number))


def misnamed(top: Path, number: int) -> None:
    write(top, f".agents/skills/s{number}", f"s{number}", GOOD.format(number))
    file = top / f"repo/.agents/skills/s{number}/SKILL.md"
    file.rename(file.with_name("skill.md"))


def old_mounted_copies(top: Path, number: int) -> None:
    """Each was mounted from a skill that has changed since."""
    name = f"s{number}"
    write(top, f".agents/skills/{name}", name, TO_FIX.format(number))
    write(top, f".claude/skills/{name}", name, GOOD.format(number))
    record = top / "repo/.claude/.prowess-skills.json"
    known = json.loads(record.read_text())["skills"] if record.exists() else []
    seal = portable_digest(str(top / f"repo/.claude/skills/{name}"))
    known.append({"name": name, "source": f"../.agents/skills/{name}", "seal": seal})
    record.write_text(json.dumps({"version": 1, "made": [], "skills": known}))


SHAPES = (
    *(broken, broken_of_one_name, broken_copies, each_in_a_folder, one_name_in_many_folders),
    *(copies_in_many_folders, folders_of_agents, misnamed, old_mounted_copies),
)


def written(shape: Callable[[Path, int], None], count: int, top: Path) -> Question:
    """Write so many losses of one shape, and return the question about them."""
    write_repository(top / "repo/.git")
    (top / "home").mkdir()
    for number in range(count):
        shape(top, number)
    return Question.about(top / "repo", top / "home", env={"HOME": str(top / "home")})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_losses_take_work_in_proportion_to_their_number(shape: Callable[[Path, int], None], tmp_path: Path) -> None:
    """Each is found, and its cure tried, with the effects of a fix on other skills; calls are counted, not seconds."""

    def work(count: int) -> int:
        question = written(shape, count, tmp_path / f"{count}")
        with counted_calls() as calls:
            comparison = report(question, agents=HOSTS).comparison
            assert comparison is not None
            group_losses(comparison)
            assert all(skill.outdated is None or skill.outdated.cure for skill in comparison.skills)
        return calls.count

    work(1)  # loads modules
    twenty, forty, eighty = work(20), work(40), work(80)
    assert eighty - forty < 2.4 * (forty - twenty)


@pytest.mark.parametrize("shape", [broken, each_in_a_folder], ids=lambda shape: shape.__name__)
def test_losses_take_memory_in_proportion_to_their_number(shape: Callable[[Path, int], None], tmp_path: Path) -> None:
    """So ten thousand take what their number says: twice as many never take four times the memory."""

    def memory(count: int) -> int:
        question = written(shape, count, tmp_path / f"{count}")
        tracemalloc.start()
        try:
            comparison = report(question, agents=HOSTS).comparison
            assert comparison is not None
            lines = [*describe_losses(comparison, limit=None)]
            assert lines
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    memory(1)  # loads modules
    twenty, forty, eighty = memory(20), memory(40), memory(80)
    assert eighty - forty < 3 * (forty - twenty)


@pytest.mark.parametrize("name", ["skills-lock.json", ".agents/.prowess-skills.json", "plugins/p/.claude-plugin"])
def test_what_disappears_after_it_was_read_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is that of one moment: cures are found when they are printed, without a second reading."""
    write_repository(tmp_path / "repo/.git")
    (tmp_path / "home").mkdir()
    for number in range(3):
        write(tmp_path, f"vendor/s{number}", f"s{number}", GOOD.format(number))
        write(tmp_path, f"plugins/p/skills/t{number}", f"t{number}", GOOD.format(number))
    (tmp_path / "repo/plugins/p/.claude-plugin").mkdir()
    (tmp_path / "repo/plugins/p/.claude-plugin/plugin.json").write_text('{"name": "p"}')
    env = {"HOME": str(tmp_path / "home"), "PROWESS_DATA_DIR": str(tmp_path / "data"), "PROWESS_NO_CACHE": "1"}
    monkeypatch.chdir(tmp_path / "repo")
    assert output(["add", "./vendor", "s0", "--yes", "--host", "codex"], env).code == 0
    assert output(["mount", "vendor/s1", "--project", "--host", "codex"], env).code == 0
    question = Question.about(tmp_path / "repo", tmp_path / "home", env=env)

    def groups(*, gone: bool) -> list[tuple[str, ...]]:
        comparison = report(question, agents=HOSTS).comparison
        assert comparison is not None
        if gone:
            os.rename(name, f"{tmp_path}/gone")
        found = [(group.reason, *(cure.text for cure in group.cures)) for group in group_losses(comparison)]
        if gone:
            os.rename(f"{tmp_path}/gone", name)
        return found

    before = groups(gone=False)
    assert any("prowess add" in text for group in before for text in group)
    assert groups(gone=True) == before
