"""Every SKILL.md of a repository, with the kind of place that it is in."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import RepositorySkills, find_repository_skills
from prowess.errors import SkillNotFoundError
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository without skills."""
    top = tmp_path.resolve() / "repo"
    (top / ".git").mkdir(parents=True)
    return top


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def kinds(found: RepositorySkills) -> dict[str, str]:
    """Return the kind of each skill by its folder, relative to the top."""
    return {os.path.relpath(item.path, found.top).removesuffix("/SKILL.md"): item.kind for item in found.skills}


def places(found: RepositorySkills) -> dict[str, str]:
    """Return the place of each skill, both relative to the top."""
    return {
        os.path.relpath(item.path, found.top).removesuffix("/SKILL.md"): os.path.relpath(item.place, found.top)
        for item in found.skills
    }


@pytest.mark.parametrize(
    ("folder", "kind", "place"),
    [
        (".claude/skills/a", "agent-folder", ".claude/skills"),
        (".agents/skills/group/a", "agent-folder", ".agents/skills"),
        (".github/skills/a", "agent-folder", ".github/skills"),
        (".gemini/skills/a", "agent-folder", ".gemini/skills"),
        (".opencode/skill/a", "agent-folder", ".opencode/skill"),
        (".pi/agent/skills/a", "agent-folder", ".pi/agent/skills"),
        (".aam/packages/pack/skills/a", "agent-folder", ".aam/packages/pack/skills"),
        (".not-a-known-agent/skills/a", "agent-folder", ".not-a-known-agent/skills"),
        ("packages/x/.claude/skills/a", "agent-folder", "packages/x/.claude/skills"),
        ("skills/x/.claude/skills/a", "agent-folder", "skills/x/.claude/skills"),
        ("skills/a", "skills-folder", "skills"),
        ("skills/group/skills/a", "skills-folder", "skills"),
        ("packages/x/skills/a", "skills-folder", "packages/x/skills"),
        ("tests/fixtures/a", "other", "tests/fixtures"),
        (".hidden/a", "other", ".hidden"),
        ("skills-of-mine/a", "other", "skills-of-mine"),
        (".", "other", "."),
    ],
)
def test_each_place_has_a_kind(repo: Path, folder: str, kind: str, place: str) -> None:
    skill(repo / folder)
    found = find_repository_skills(repo)
    assert (list(kinds(found).values()), list(places(found).values())) == ([kind], [place])
    assert found.findings == ()


@pytest.mark.parametrize(
    "manifest",
    [
        ".claude-plugin/plugin.json",
        ".codex-plugin/plugin.json",
        ".cursor-plugin/plugin.json",
        ".github/plugin/plugin.json",
        "plugin.json",
        "gemini-extension.json",
        "qwen-extension.json",
    ],
)
def test_a_manifest_makes_a_folder_a_plugin(repo: Path, manifest: str) -> None:
    """Only its folder of skills belongs to it, at any depth."""
    write_json(repo / "tools/p" / manifest, {"name": "my-plugin"})
    for folder in ("tools/p/skills/a", "tools/p/skills/group/b", "tools/p/tests/c", "tools/skills/d"):
        skill(repo / folder)
    found = find_repository_skills(repo)
    assert [(item.kind, item.plugin) for item in found.skills] == [
        ("plugin", "my-plugin"),
        ("plugin", "my-plugin"),
        ("other", None),
        ("skills-folder", None),
    ]
    assert places(found)["tools/p/skills/group/b"] == "tools/p/skills"


def test_a_manifest_can_name_other_folders_of_skills(repo: Path) -> None:
    """A folder of skills, or each skill; without a name the plugin has that of its folder."""
    write_json(repo / "one/.claude-plugin/plugin.json", {"skills": "./custom"})
    write_json(repo / "two/.claude-plugin/plugin.json", {"name": "two!", "skills": ["./x/a", "./x/b"]})
    for folder in ("one/custom/a", "one/skills/b", "two/x/a", "two/x/c"):
        skill(repo / folder)
    found = find_repository_skills(repo)
    assert [item.plugin for item in found.skills] == ["one", None, "two!", None]
    assert list(places(found).values()) == ["one/custom", "one/skills", "two/x", "two/x"]


def test_a_marketplace_names_its_plugins(repo: Path) -> None:
    """A plugin with a manifest of its own is a plugin; sources elsewhere do not count."""
    plugins: list[Any] = [
        {"name": "listed", "source": "./", "skills": ["./skills/a"]},
        {"name": "whole", "source": "./plugins/whole"},
        {"name": "own", "source": "./plugins/own"},
        {"name": "rooted", "source": {"source": "local", "path": "./plugins/rooted"}},
        {"name": "remote", "source": {"source": "github", "repo": "a/b"}},
        {"name": "out", "source": "../../etc"},
        {"source": "./"},
        "text",
    ]
    write_json(repo / ".claude-plugin/marketplace.json", {"plugins": plugins})
    write_json(repo / "plugins/own/.claude-plugin/plugin.json", {"name": "own-name"})
    names = ("skills/a", "skills/z", "plugins/whole/skills/b", "plugins/own/skills/c", "plugins/rooted/skills/d")
    for folder in names:
        skill(repo / folder)
    found = {os.path.basename(os.path.dirname(item.path)): item for item in find_repository_skills(repo).skills}
    assert {name: (item.kind, item.plugin) for name, item in found.items()} == {
        "a": ("marketplace", "listed"),
        "z": ("skills-folder", None),
        "b": ("marketplace", "whole"),
        "c": ("plugin", "own-name"),
        "d": ("marketplace", "rooted"),
    }


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "[" * 100_000, '{"name": 5, "skills": {"a": 1}}', '{"skills": ["\\u0000", 7, "../../.."]}', "\xff", ""],
)
@pytest.mark.parametrize("name", ["plugin.json", "marketplace.json"])
def test_an_invalid_manifest_hides_no_skill(repo: Path, name: str, text: str) -> None:
    """What cannot be read is a finding."""
    skill(repo / "skills/a")
    (repo / ".claude-plugin").mkdir()
    (repo / ".claude-plugin" / name).write_bytes(text.encode("latin-1"))
    found = find_repository_skills(repo)
    assert len(found.skills) == 1
    assert {item.code for item in found.findings} <= {"config-invalid"}
    if not text.startswith('{"'):
        assert [item.path for item in found.findings] == [str(repo / ".claude-plugin" / name)]


# ── what is not the repository's ─────────────────────────────────────────────────────────────────────────────────────


def test_what_git_ignores_is_skipped_and_counted(repo: Path) -> None:
    """Also `.git`, `node_modules` and virtual environments, whether git ignores them or not."""
    (repo / ".gitignore").write_text("dist/\n/build\n*.tmp\nprivate/SKILL.md\n")
    (repo / "packages/x").mkdir(parents=True)
    (repo / "packages/x/.gitignore").write_text("out\n!dist/\n")
    skipped = (
        "dist/a",
        "build/b",
        "c.tmp",
        ".git/d",
        "node_modules/e",
        "packages/x/deep/out/f",
        "env/g",
        "private",
    )
    kept = ("packages/build/h", "packages/x/dist/i", "packages/y/out/j")
    for folder in (*skipped, *kept):
        skill(repo / folder)
    (repo / "env/pyvenv.cfg").touch()
    found = find_repository_skills(repo)
    assert list(kinds(found)) == list(kept)
    assert {(item.reason, item.count) for item in found.skipped} == {
        ("ignored by git", 5),
        ("node_modules", 1),
        ("virtual environment", 1),
    }
    (ignored,) = (item for item in found.skipped if item.reason == "ignored by git")
    assert set(ignored.examples) <= {str(repo / name) for name in ("build", "c.tmp", "dist", "packages/x/deep/out")}


def test_an_agents_skills_folder_counts_even_if_git_ignores_it(repo: Path) -> None:
    """But nothing else in the agent's folder, such as its worktrees."""
    (repo / ".gitignore").write_text(".claude/\n.agents/skills/\n.github/*\n")
    kept = (".agents/skills/b", ".claude/skills/a", ".github/skills/c", "packages/x/.claude/skills/d")
    for folder in (*kept, ".claude/worktrees/tree/skills/a", ".github/other/e"):
        skill(repo / folder)
    assert list(kinds(find_repository_skills(repo))) == list(kept)


def test_ignore_files_count_in_a_repository_only(tmp_path: Path) -> None:
    """An unpacked archive has no files that git ignores."""
    (tmp_path / ".gitignore").write_text("dist\n")
    skill(tmp_path / "dist/a")
    assert len(find_repository_skills(tmp_path).skills) == 1


def test_rules_of_the_folders_above_count(repo: Path) -> None:
    """A folder that the user names is searched, even if git ignores it."""
    (repo / ".gitignore").write_text("/sub/out\n")
    (repo / ".git/info").mkdir()
    (repo / ".git/info/exclude").write_text("local\n")
    for folder in ("sub/out/a", "sub/in/b", "sub/local/c"):
        skill(repo / folder)
    assert list(kinds(find_repository_skills(repo / "sub"))) == ["in/b"]
    assert list(kinds(find_repository_skills(repo / "sub/out"))) == ["a"]


def test_other_worktrees_of_a_repository_are_skipped(repo: Path) -> None:
    """They contain every skill again. A submodule is part of the repository."""
    skill(repo / "trees/one/skills/a")
    (repo / "trees/one/.git").write_text(f"gitdir: {repo}/.git/worktrees/one\n")
    skill(repo / "modules/two/skills/b")
    (repo / "modules/two/.git").write_text("gitdir: ../../.git/modules/two\n")
    found = find_repository_skills(repo)
    assert list(kinds(found)) == ["modules/two/skills/b"]
    assert [item.reason for item in found.skipped] == ["worktree"]
    assert list(kinds(find_repository_skills(repo / "trees/one"))) == ["skills/a"]


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


# ── links, names and hostile trees ───────────────────────────────────────────────────────────────────────────────────


def test_a_skill_in_the_folder_of_another_says_so(repo: Path) -> None:
    outer = skill(repo / "skills/outer")
    skill(repo / "skills/outer/templates/inner")
    skill(repo / "skills/third")
    assert [item.inside for item in find_repository_skills(repo).skills] == [None, str(outer), None]


def test_a_file_that_is_reached_twice_counts_once(repo: Path) -> None:
    """By the path without a link; links to folders are not followed."""
    file = skill(repo / "skills/a")
    (repo / ".claude").mkdir()
    (repo / ".claude/skills").symlink_to("../skills")
    (repo / "loop").symlink_to(repo)
    (repo / "again").mkdir()
    (repo / "again/SKILL.md").symlink_to("../skills/a/SKILL.md")
    assert [item.path for item in find_repository_skills(repo).skills] == [str(file)]


def test_a_link_to_a_file_elsewhere_counts(repo: Path, tmp_path: Path) -> None:
    """With the path that it leads to; so does one that leads nowhere."""
    (tmp_path / "text.md").write_text("---\nname: a\n---\n")
    for name, target in (("a", tmp_path / "text.md"), ("b", "nowhere"), ("c", "SKILL.md")):
        (repo / "skills" / name).mkdir(parents=True)
        (repo / "skills" / name / "SKILL.md").symlink_to(target)
    found = find_repository_skills(repo)
    assert list(kinds(found)) == ["skills/a", "skills/b", "skills/c"]
    assert found.skills[0].real == str(tmp_path.resolve() / "text.md")


def test_another_spelling_of_the_file_name_is_a_finding(repo: Path) -> None:
    """It is no skill, and no finding beside a SKILL.md."""
    for folder, name in (("a", "skill.md"), ("b", "Skill.MD"), ("c", "SKILL.md"), ("c", "skill.md")):
        (repo / folder).mkdir(exist_ok=True)
        (repo / folder / name).touch()
    found = find_repository_skills(repo)
    assert list(kinds(found)) == ["c"]
    assert [(item.code, item.path) for item in found.findings] == [
        ("file-name-case", str(repo / "a/skill.md")),
        ("file-name-case", str(repo / "b/Skill.MD")),
    ]


def test_a_walk_ends_at_the_limit_with_a_finding(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders near the top come first, however many there are elsewhere."""
    monkeypatch.setattr("prowess.catalog._repository.MAX_FOLDERS", 20)
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
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("\n".join(f"**/{'a*' * 40}/**/b{n}/**/c" for n in range(400)))
        for number in range(10):
            (folder / f"{'a' * 80}{number}").mkdir()
        folder /= "b"
    start = time.process_time()
    assert find_repository_skills(repo).skills == ()
    assert time.process_time() - start < 5


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
