"""Every SKILL.md of a repository: invalid files, limits and hostile trees; places are in `cases/repository.md`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SkillNotFoundError
from prowess.find import RepositorySkills, find_repository_skills
from support.files import write_file
from support.growth import calls_at_most
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository without skills."""
    top = tmp_path.resolve() / "repo"
    (top / ".git").mkdir(parents=True)
    return top


def kinds(found: RepositorySkills) -> dict[str, str]:
    """Return the kind of each skill by its folder, relative to the top."""
    return {os.path.relpath(item.path, found.top).removesuffix("/SKILL.md"): item.kind for item in found.skills}


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "[" * 100_000, '{"name": 5, "skills": {"a": 1}}', '{"skills": ["\\u0000", 7, "../../.."]}', "\xff", ""],
)
@pytest.mark.parametrize("name", ["plugin.json", "marketplace.json"])
def test_an_invalid_manifest_hides_no_skill(repo: Path, name: str, text: str) -> None:
    """What cannot be read is a finding."""
    skill(repo / "skills/a")
    write_file(repo / ".claude-plugin" / name, text.encode("latin-1"))
    found = find_repository_skills(repo)
    assert len(found.skills) == 1
    assert {item.code for item in found.findings} <= {"config-invalid"}
    if not text.startswith('{"'):
        assert [item.path for item in found.findings] == [str(repo / ".claude-plugin" / name)]


@pytest.mark.parametrize("top", ["", "home"])
def test_a_home_is_not_a_repository(tmp_path: Path, top: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It contains the repositories of others. If the user asks for it, or keeps it in git, it is searched."""
    skill(tmp_path / "home/clones/other/skills/a")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    found = find_repository_skills(tmp_path / top)
    assert (found.skills, [item.reason for item in found.skipped]) == ((), ["home"])
    assert len(find_repository_skills(tmp_path / top, home_too=True).skills) == 1
    assert len(find_repository_skills(tmp_path / "home/clones").skills) == 1
    (tmp_path / top / ".git").mkdir()
    assert len(find_repository_skills(tmp_path / top).skills) == 1


def test_a_walk_ends_at_the_limit_with_a_finding(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders near the top come first, however many there are elsewhere."""
    monkeypatch.setattr("prowess.find._repository.MAX_FOLDERS", 20)
    for number in range(30):
        (repo / f"a/{number}").mkdir(parents=True)
    skill(repo / "b")
    skill(repo / "a/9/late")
    found = find_repository_skills(repo)
    assert list(kinds(found)) == ["b"]
    assert [item.code for item in found.findings] == ["folder-limit"]
    assert found.folders == 20


def test_hostile_files_do_not_end_a_walk(repo: Path) -> None:
    """FIFOs and folders in place of files, names that are not UTF-8, and a path that is too long."""
    for name in ("SKILL.md", ".gitignore", "plugin.json"):
        os.mkfifo(repo / name)
    (repo / "a/SKILL.md").mkdir(parents=True)
    (repo / ".claude-plugin/marketplace.json").mkdir(parents=True)
    os.mkdir(os.fsencode(repo) + b"/\xff\n")
    Path(os.fsdecode(os.fsencode(repo) + b"/\xff\n/SKILL.md")).touch()
    found = find_repository_skills(repo)
    assert sorted(kinds(found)) == ["SKILL.md", "a", "\udcff\n"]
    assert {item.code for item in found.findings} == {"config-invalid"}


def deep_folders(top: Path, count: int) -> Iterator[None]:
    """Make folders inside each other, deeper than a path can name, and remove them afterwards."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(top)
        for _ in range(count):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        yield
        for _ in range(count):
            os.chdir("..")
            os.rmdir("d" * 100)
    finally:
        os.fchdir(before)
        os.close(before)


def test_a_path_that_is_too_long_is_a_finding(repo: Path) -> None:
    skill(repo / "a")
    for _ in deep_folders(repo, 60):
        found = find_repository_skills(repo)
        assert list(kinds(found)) == ["a"]
        assert [item.code for item in found.findings] == ["folder-unreadable"]


def test_many_folders_that_cannot_be_listed_are_few_findings(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first hundred, and how many more there are."""
    for number in range(150):
        (repo / f"closed{number}").mkdir()
    skill(repo / "open")
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if "closed" in path:
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_repository_skills(repo)
    assert list(kinds(found)) == ["open"]
    assert {item.code for item in found.findings} == {"folder-unreadable"}
    assert len(found.findings) == 101
    assert found.findings[-1].message == "50 more folders cannot be listed"


@pytest.mark.slow
def test_a_hostile_ignore_file_takes_no_time(repo: Path) -> None:
    """Each folder has rules that are slow to match, for all folders below it."""
    folder = repo
    for _ in range(40):
        write_file(folder / ".gitignore", "\n".join(f"**/{'a*' * 40}/**/b{n}/**/c" for n in range(400)))
        for number in range(10):
            (folder / f"{'a' * 80}{number}").mkdir()
        folder /= "b"
    with calls_at_most(70_000_000):
        assert find_repository_skills(repo).skills == ()


def test_progress_is_reported(repo: Path) -> None:
    for number in range(450):
        (repo / f"{number}").mkdir()
    calls: list[int] = []
    find_repository_skills(repo, progress=calls.append)
    assert calls == [200, 400]


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_a_top_that_is_not_a_folder_is_an_error(repo: Path, name: str) -> None:
    (repo / "file").touch()
    with pytest.raises(SkillNotFoundError, match="folder: `.*/repo/" + name):
        find_repository_skills(repo / name)
