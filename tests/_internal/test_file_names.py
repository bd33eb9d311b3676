"""Names of files are equal if some file system takes them for the same."""

from __future__ import annotations

import pytest

from prowess._internal.file_names import is_bare_repository, plain_file_name, windows_file_names


@pytest.mark.parametrize(
    "name",
    [
        *("SKILL.md", "Skill.MD", "skill.md.", "skill.md . ", "skill.md:stream", "skill.md::$DATA"),
        *("\uff33kill.md", "\u017fkill.md", "sk\u200bill.md", "\ufeffskill.md", "skill\u00ad.md", "skill.md\ufe0f"),
        *("SK\u0130LL.md", "ski\udcffll.md", "skill\x7f.md"),
    ],
)
def test_each_spelling_gives_one_name(name: str) -> None:
    assert plain_file_name(name) == "skill.md"


@pytest.mark.parametrize("name", ["", ".", "..", "a", "a.md", "main.py", ".gitignore", "SKILL-md", "skills.md"])
def test_other_names_stay_different(name: str) -> None:
    assert plain_file_name(name) != "skill.md"


def test_a_backslash_separates_names_on_windows() -> None:
    assert windows_file_names(".git\\hooks") == [".git", "hooks"]
    assert windows_file_names("a/b") == ["a/b"]


def test_a_repository_without_a_working_tree_is_recognised() -> None:
    assert is_bare_repository(("Head", "OBJECTS", "refs", "x"))
    assert is_bare_repository(("HEAD", "commondir"))
    assert not is_bare_repository(("HEAD", "objects"))
    assert not is_bare_repository(("objects", "refs"))
