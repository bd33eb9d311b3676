"""Skills are fetched from servers of git as they were committed; `cases/cli/add-git.md` has which skills these are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install.sources import Wanted, parse_source
from prowess.install.sources.git import is_descendant
from prowess.lock import read_tree
from support.git_server import (
    Executable,
    GitServer,
    Link,
    Objects,
    Raw,
    commit,
    git,
    make_repository,
    skill_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.install import OpenStore
    from prowess.install.sources import Fetched

    Fetch = Callable[..., Fetched]

pytestmark = pytest.mark.needs("git")

PDF = {
    "SKILL.md": skill_text("pdf"),
    "scripts": {"run.sh": Executable("#!/bin/sh\n")},
    "reference.md": "line\r\n$Id$\n",
    "latest.md": Link("reference.md"),
    ".gitattributes": "* text=auto eol=crlf ident filter=evil\nreference.md export-ignore export-subst\n",
}
TREE = {
    "README.md": "Skills.\n",
    "skills": {"pdf": PDF, "csv": {"SKILL.md": skill_text("csv"), "inner": {"one": {"SKILL.md": skill_text("inner")}}}},
    "node_modules": {"other": {"SKILL.md": skill_text("other")}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    folder = tmp_path_factory.mktemp("repositories")
    repository = make_repository(folder / "team.git", TREE)
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "tag", "-a", "-m", "First", "v1", "main")
    with GitServer(folder) as server:
        yield server


@pytest.fixture(autouse=True)
def _ordinary_server(server: GitServer) -> None:
    server.behaviour = type(server.behaviour)()
    server.seen.clear()


def files(folder: str) -> dict[str, str]:
    return {file.path: file.mode for file in read_tree(folder).files}


def head(server: GitServer, ref: str = "main") -> str:
    return git(server.folder / "team.git", "rev-parse", f"{ref}^{{commit}}")


def test_every_skill_of_a_repository_is_fetched(server: GitServer, fetched: Fetch) -> None:
    result = fetched(f"{server.url}/team.git")
    assert {skill.name: skill.path for skill in result.skills} == {"pdf": "skills/pdf", "csv": "skills/csv"}
    assert result.revision == head(server)
    pdf = next(skill for skill in result.skills if skill.name == "pdf")
    assert files(pdf.folder) == {
        ".gitattributes": "100644",
        "SKILL.md": "100644",
        "latest.md": "120000",
        "reference.md": "100644",
        "scripts/run.sh": "100755",
    }
    assert pdf.tree == read_tree(pdf.folder)


@pytest.mark.slow
def test_bytes_are_those_that_were_committed(server: GitServer, fetched: Fetch) -> None:
    """A checkout would obey `.gitattributes`: convert line ends, replace `$Id$` and run a filter."""
    pdf = fetched(f"{server.url}/team.git@pdf").skills[0]
    assert Path(pdf.folder, "reference.md").read_bytes() == b"line\r\n$Id$\n"


@pytest.mark.slow
def test_one_skill_is_fetched_without_the_files_of_others(server: GitServer, fetched: Fetch) -> None:
    result = fetched(f"{server.url}/team.git", only=["csv"])
    assert [skill.name for skill in result.skills] == ["csv"]
    assert files(result.skills[0].folder) == {"SKILL.md": "100644", "inner/one/SKILL.md": "100644"}
    repository = Path(result.skills[0].folder).parents[1]
    packs = list(repository.glob("*/objects/pack/*.pack"))
    reference = git(server.folder / "team.git", "rev-parse", "main:skills/pdf/reference.md")
    listed = "".join(git(pack.parents[2], "show-index", stdin=pack.with_suffix(".idx").read_bytes()) for pack in packs)
    assert len(packs) > 1
    assert reference not in listed


@pytest.mark.slow
def test_a_server_that_gives_no_single_files_gives_all(server: GitServer, fetched: Fetch) -> None:
    """It can leave files out, but with the old protocol no client may ask for them afterwards."""
    server.behaviour.is_old = True
    result = fetched(f"{server.url}/team.git", only=["csv"])
    assert files(result.skills[0].folder) == {"SKILL.md": "100644", "inner/one/SKILL.md": "100644"}


@pytest.mark.slow
def test_a_large_file_is_fetched_only_with_its_skill(server: GitServer, fetched: Fetch, tmp_path: Path) -> None:
    large = {"SKILL.md": skill_text("large"), "data.bin": b"x" * 2_000_000}
    tree = {"large": large, "other.bin": b"y" * 2_000_000}
    repository = make_repository(server.folder / tmp_path.name / "large.git", tree)
    git(repository, "config", "uploadpack.allowFilter", "true")
    result = fetched(f"{server.url}/{tmp_path.name}/large.git")
    assert Path(result.skills[0].folder, "data.bin").stat().st_size == 2_000_000
    assert len([seen for seen in server.seen if seen.path.endswith("git-upload-pack")]) == 5  # two fetches


@pytest.mark.slow
@pytest.mark.parametrize("ref", ["main", "v1", "refs/heads/main"])
def test_a_branch_or_tag_is_fetched_as_its_commit(ref: str, server: GitServer, fetched: Fetch) -> None:
    assert fetched(f"{server.url}/team.git:skills/pdf#{ref}").revision == head(server)


@pytest.mark.slow
@pytest.mark.parametrize("is_old", [False, True], ids=["today", "old protocol"])
def test_a_locked_commit_is_fetched_after_the_branch_moved(
    is_old: bool, server: GitServer, fetched: Fetch, tmp_path: Path
) -> None:
    """A server with the old protocol gives no commit in the history by its name, so the history is fetched."""
    repository = make_repository(server.folder / tmp_path.name / "moved.git", {"SKILL.md": skill_text("one")})
    old = git(repository, "rev-parse", "main")
    new = commit(repository, {"SKILL.md": skill_text("two")})
    server.behaviour.is_old = is_old
    source = f"{server.url}/{tmp_path.name}/moved.git"
    assert [skill.name for skill in fetched(source, revision=old).skills] == ["one"]
    assert [skill.name for skill in fetched(f"{source}#{old}").skills] == ["one"]
    assert fetched(source).revision == new


def test_an_unknown_branch_is_an_error(server: GitServer, fetched: Fetch) -> None:
    with pytest.raises(InstallError) as caught:
        fetched(f"{server.url}/team.git#nothing")
    assert caught.value.hint == "check the branch, tag or commit after the `#`"


def test_what_old_tools_wrote_is_read(fetched: Fetch, tmp_path: Path) -> None:
    """Git would refuse a mode with a zero before it, and a commit without a time zone."""
    repository = make_repository(tmp_path / "a.git", {"README.md": "a"})
    tree = Objects(repository).tree({"pdf": Raw("040000", Objects(repository).tree({"SKILL.md": skill_text("pdf")}))})
    person = b"A <a@example.org> 1700000000"
    text = b"tree %b\nauthor %b +051800\ncommitter %b\n\nOld\n" % (tree.encode(), person, person)
    git(repository, "update-ref", "refs/heads/main", Objects(repository).write("commit", text))
    assert [skill.path for skill in fetched(f"file://{repository}").skills] == ["pdf"]


def test_a_repository_with_sha256_is_read(fetched: Fetch, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "a.git", {"pdf": PDF}, "--object-format=sha256")
    result = fetched(f"file://{repository}")
    assert result.revision == git(repository, "rev-parse", "main")
    assert len(result.revision) == 64


def test_an_empty_or_missing_repository_is_an_error(fetched: Fetch, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="git cannot read"):
        fetched(f"file://{tmp_path}/nothing.git")
    (tmp_path / "empty.git").mkdir()
    git(tmp_path / "empty.git", "init", "--quiet", "--bare")
    with pytest.raises(InstallError):
        fetched(f"file://{tmp_path}/empty.git")


@pytest.mark.slow
def test_credentials_come_from_gits_helpers_and_are_not_shown(
    server: GitServer, fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.behaviour.password = "s3cret-word"
    source = f"{server.url}/team.git"
    with pytest.raises(InstallError) as caught:
        fetched(source)
    assert str(caught.value.hint) == f"log in: try `git ls-remote {source}`"
    store = tmp_path / "credentials"
    store.write_text(f"http://user:s3cret-word@127.0.0.1:{server.port}\n")
    config = tmp_path / "gitconfig"
    config.write_text(f'[credential]\n\thelper = "store --file={store}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    result = fetched(source)
    assert {skill.name for skill in result.skills} == {"pdf", "csv"}
    for folder, _, names in os.walk(tmp_path / "store"):
        for name in names:
            assert b"s3cret" not in Path(folder, name).read_bytes()
    server.behaviour.password = "changed"
    with pytest.raises(InstallError) as caught:
        fetched(source)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


def test_progress_is_reported(server: GitServer, fetched: Fetch) -> None:
    lines: list[str] = []
    fetched(f"{server.url}/team.git", progress=lines.append)
    assert lines[-1] == "receiving 100%"


def test_an_old_git_is_reported(fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "git").write_text('#!/bin/sh\necho "error: unknown option \\`no-auto-maintenance\'" >&2\nexit 129\n')
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match="unknown option `no-auto-maintenance'") as caught:
        fetched("https://example.org/a.git")
    assert caught.value.hint == "install git 2.29 or newer"


def test_git_is_needed(fetched: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match="the command git is missing"):
        fetched("https://example.org/a.git")


# ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("is_filtering", [True, False])
@pytest.mark.parametrize("is_old", [True, False])
def test_a_commit_comes_after_those_in_its_history(
    server: GitServer, opened: OpenStore, tmp_path: Path, *, is_filtering: bool, is_old: bool
) -> None:
    """Whatever their dates are, and whether the server sends commits alone or not."""
    folder = server.folder / f"history-{tmp_path.name}.git"
    repository = make_repository(folder, {"SKILL.md": skill_text("one")})
    git(repository, "config", "uploadpack.allowFilter", str(is_filtering).lower())
    commits = [git(repository, "rev-parse", "main")]
    tree = git(repository, "rev-parse", "main^{tree}")
    for date in (1700000100, 1600000000, 1800000000):
        data = (
            f"tree {tree}\nparent {commits[-1]}\nauthor A <a@b.c> {date} +0000\ncommitter A <a@b.c> {date} +0000\n\nx\n"
        )
        commits.append(Objects(repository).write("commit", data.encode()))
    git(repository, "update-ref", "refs/heads/main", commits[-1])
    other = git(repository, "commit-tree", "-m", "other", tree)
    git(repository, "update-ref", "refs/heads/other", other)
    git(repository, "update-ref", "refs/heads/first", commits[0])
    server.behaviour.is_old = is_old
    source = parse_source(f"git+{server.url}/{folder.name}")
    wanted = Wanted(source=source, opened=opened)
    later = [is_descendant(wanted, commits[-1], earlier) for earlier in (*commits[:-1], other, "0" * 40)]
    assert later == [True, True, True, False, False]
    assert is_descendant(wanted, commits[0], commits[1]) is False
    (repository / "HEAD").unlink()
    assert is_descendant(wanted, commits[-1], commits[0]) is None
