"""The directories that a host scans on a machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.filesystem import Question, git_root
from prowess.find._roots import find_scan_roots
from prowess.hosts import Host, Root
from support.files import write_file
from support.hosts import host_from_table
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path


def paths(top: Path, *roots: Root, cwd: str = "repo/a/b", env: dict[str, str] | None = None, **more: Any) -> list[str]:
    host = Host(name=more.pop("client", "x"), title="X", roots=roots)
    where = find_scan_roots(host, Question(cwd=str(top / cwd), home=str(top / "home"), env=env or {}, **more))
    return [os.path.relpath(place.path, top) for place in where]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path.resolve()
    (top / "repo/a/b").mkdir(parents=True)
    (top / "plain/c").mkdir(parents=True)
    (top / "repo/.git").mkdir()
    return top


def project(path: str = ".x/skills", **rules: Any) -> Root:
    return Root(path=path, scope="project", **rules)


@pytest.mark.parametrize(
    ("walk", "cwd", "wanted"),
    [
        pytest.param("none", "repo/a/b", ["repo/a/b"], id="none"),
        pytest.param("git-root", "repo/a/b", ["repo/a/b", "repo/a", "repo"], id="git-root"),
        pytest.param("git-root", "repo", ["repo"], id="git-root-at-the-root"),
        pytest.param("git-root", "plain/c", ["plain/c"], id="git-root-without-git"),
        pytest.param("project", "repo/a/b", ["repo"], id="project"),
        pytest.param("project", "plain/c", ["plain/c"], id="project-without-git"),
    ],
)
def test_a_relative_root_is_searched_along_its_walk(walk: str, cwd: str, wanted: list[str], top: Path) -> None:
    """Nearest first."""
    assert paths(top, project(walk=walk), cwd=cwd) == [f"{folder}/.x/skills" for folder in wanted]


def test_a_walk_may_go_up_to_the_root_of_the_file_system(top: Path) -> None:
    """Always, or only without a git root."""
    always = paths(top, project(walk="filesystem-root"))
    assert always[:4] == ["repo/a/b/.x/skills", "repo/a/.x/skills", "repo/.x/skills", ".x/skills"]
    assert os.path.normpath(top / always[-1]) == "/.x/skills"
    fallback = project(walk="git-root", without_git="filesystem-root")
    assert paths(top, fallback) == ["repo/a/b/.x/skills", "repo/a/.x/skills", "repo/.x/skills"]
    assert len(paths(top, fallback, cwd="plain/c")) == len(always) - 1


def test_adjacent_roots_are_searched_level_by_level(top: Path) -> None:
    """All roots of a nearer folder come first, but Copilot goes up root by root."""
    roots = (project(".x", walk="git-root"), project(".y", walk="git-root"))
    assert paths(top, *roots, cwd="repo/a") == ["repo/a/.x", "repo/a/.y", "repo/.x", "repo/.y"]
    write_repository(top / "repo/.git")
    assert paths(top, *roots, cwd="repo/a", client="copilot") == ["repo/a/.x", "repo/.x", "repo/a/.y", "repo/.y"]


def test_a_root_may_start_with_the_home_a_slash_or_a_variable(top: Path) -> None:
    """`~/`, `/`, `$VAR/...|~/...`, and `$VAR` as a path list."""
    roots = (
        Root(path="~/.x/skills", scope="user"),
        Root(path="/etc/x", scope="system"),
        Root(path="$X_HOME/skills|~/.xx/skills", scope="user"),
        Root(path="$X_DIRS", scope="extra"),
    )
    plain = paths(top, *roots)
    assert plain == ["home/.x/skills", os.path.relpath("/etc/x", top), "home/.xx/skills"]
    env = {"X_HOME": str(top / "moved"), "X_DIRS": os.pathsep.join([str(top / "d1"), "", "d2"])}
    assert paths(top, *roots, env=env)[2:] == ["moved/skills", "d1", "repo/a/b/d2"]
    assert paths(top, *roots, env=env, is_own_home=False)[2:] == ["home/.xx/skills", "d1", "repo/a/b/d2"]
    with_commas = {"X_DIRS": "d1,,d2"}
    assert paths(top, *roots, env=with_commas, client="copilot")[3:] == ["repo/a/b/d1", "repo/a/b/d2"]


def test_skill_dirs_are_scanned_in_their_order(top: Path) -> None:
    """Relative to the working directory, where the host places them; without roots it has nothing else."""
    named = Root(path="@skill-dir", scope="extra")
    directories = ("d", str(top / "e"), "../f")
    assert paths(top, project(), named, skill_dirs=directories) == [
        *("repo/a/b/.x/skills", "repo/a/b/d", "e", "repo/a/f")
    ]
    assert paths(top, named, project(), skill_dirs=("d",)) == ["repo/a/b/d", "repo/a/b/.x/skills"]
    assert paths(top, skill_dirs=("d",)) == ["repo/a/b/d"]
    assert paths(top, project(), skill_dirs=directories) == ["repo/a/b/.x/skills"]


def test_packages_are_namespaces(top: Path) -> None:
    """A star matches each package's folder, in sorted order, except hidden ones and files."""
    packages = top / "repo/.x/packages"
    for name in ("b", "a", ".hidden"):
        (packages / name).mkdir(parents=True)
    (packages / "file").write_text("x")
    host = Host(name="x", title="X", roots=(project(".x/packages/*/skills", walk="project"),))
    where = find_scan_roots(host, Question(cwd=str(top / "repo"), home=str(top), env={}))
    assert [(place.namespace, os.path.relpath(place.path, packages)) for place in where] == [
        ("a", "a/skills"),
        ("b", "b/skills"),
    ]


def test_nested_folders_are_found_below_the_project(top: Path) -> None:
    """Breadth first, except the project's own and those in hidden or skipped folders."""
    for folder in ("", "a/b/", "c/", ".h/", "node_modules/m/", "c/d/"):
        (top / f"repo/{folder}.x/skills").mkdir(parents=True)
    (top / "repo/e/.x").mkdir(parents=True)
    host = Host(name="x", title="X", roots=(project(walk="project", nested="active"),))
    where = find_scan_roots(host, Question(cwd=str(top / "repo/a"), home=str(top), env={}))
    assert [place.nested for place in where] == [None, "c", "a/b", "c/d"]


def test_a_root_may_be_left_out_in_the_home(top: Path) -> None:
    """If the project folder is the home, `.x/skills` and `~/.x/skills` are the same."""
    (top / "home").mkdir()
    assert paths(top, project(not_home=True), cwd="home") == []
    assert paths(top, project(not_home=True), cwd="repo") == ["repo/.x/skills"]


def test_a_git_root_is_a_folder_or_a_worktrees_file(top: Path) -> None:
    """The nearest one; for a client that asks git it must be valid."""
    assert git_root(str(top / "repo/a/b")) == str(top / "repo")
    assert git_root(str(top / "repo/a/b"), "valid") is None
    (top / "repo/a/.git").write_text("gitdir: ../gitdir\n")
    assert git_root(str(top / "repo/a/b")) == str(top / "repo/a")
    assert git_root(str(top / "repo/a/b"), "valid") is None
    write_repository(top / "repo/gitdir")
    assert git_root(str(top / "repo/a/b"), "valid") == str(top / "repo/a")
    (top / "repo/a/.git").write_text("nonsense")
    (top / "repo/.git").rmdir()
    write_repository(top / "repo/.git")
    assert git_root(str(top / "repo/a/b"), "valid") == str(top / "repo")


def test_a_clients_list_may_go_further_up_than_its_model_sees(top: Path) -> None:
    """Copilot's does. A skill that only the list has hides none, and is hidden by those below it."""
    (top / "plain/.git").write_text("gitdir: ../missing\n")
    roots = [{"path": ".x", "scope": "project", "walk": "git-root", "without_git": "filesystem-root"}]
    roots.append({"path": "~/.x", "scope": "user"})
    for folder, name in (("plain/.x/a", "a"), (".x/a", "a"), (".x/b", "b"), (".x/c", "c"), ("home/.x/b", "b")):
        write_file(top / folder / "SKILL.md", f"---\nname: {name}\ndescription: d\n---\n")
    host = host_from_table("copilot", {"title": "X", "git_marker": "named", "roots": roots})
    found = discover(top / "plain/c", host=host, home=top / "home", env={}, cache=False).skills
    states = {os.path.relpath(entry.path, top).removesuffix("/SKILL.md"): str(entry.state) for entry in found}
    assert states == {
        "plain/.x/a": "active", ".x/a": "shadowed", ".x/b": "user-only", ".x/c": "user-only", "home/.x/b": "active",
    }  # fmt: skip


def test_what_a_clients_list_leaves_out_is_seen_or_not_there(top: Path) -> None:
    """Copilot's leaves out what an argument adds. A skill that is hidden from the model is then nowhere."""
    for name, flag in (("shown", ""), ("hidden", "off: true\n")):
        write_file(top / "repo/.x" / name / "SKILL.md", f"---\nname: {name}\ndescription: d\n{flag}---\n")
    flags = [{"when": {"off": "true"}, "state": "user-only", "reason": "off"}]
    roots = [{"argument": "--add-dir", "path": ".x", "scope": "project"}]
    arguments = [{"name": "--add-dir", "values": "one", "effect": "roots"}]
    table = {"title": "X", "roots": roots, "flags": flags, "arguments": arguments}
    given: dict[str, Any] = {"home": top / "home", "env": {}, "cache": False, "client_args": ("--add-dir", ".")}
    for client, state in (("x", "user-only"), ("copilot", "rejected")):
        found = discover(top / "repo", host=host_from_table(client, table), **given).skills
        assert {entry.name: str(entry.state) for entry in found} == {"shown": "active", "hidden": state}
