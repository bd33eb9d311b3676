"""A model can use a repository, and no program that the repository configures is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent.policy import RefusedError
from prowess.errors import ConfigError
from support.growth import ends
from support.tool_calls import failure_message, make_tool_context, require_sandbox, run_as_owner as sh, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet"),
    pytest.mark.needs("git"),
]

READS = ["git_status", "git_diff", "git_log", "git_show", "git_changed_files", "git_blame"]
NO_COMMIT = "; give one like `HEAD~2`, `main` or `v1..v2`"


@pytest.fixture(scope="module")
def template_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits and something changed."""
    folder = tmp_path_factory.mktemp("made") / "repo"
    folder.mkdir()
    sh(folder, "git init -q -b main; printf 'one\\ntwo\\n' > a.txt; git add .; git commit -qm First; git tag v1")
    sh(folder, "mkdir docs; echo docs > docs/b.txt; printf 'one\\n2\\n' > a.txt; git add .")
    sh(folder, "git commit -qm 'Second\n\nWhy.'; echo three >> a.txt; echo new > new.txt")
    return folder


@pytest.fixture
def repo(template_repo: Path, tmp_path: Path) -> Path:
    """A copy of the template repository."""
    return shutil.copytree(template_repo, tmp_path.resolve() / "repo", symlinks=True)


def git(folder: Path, **given: Any) -> dict[str, Any]:
    return tools_by_name("git", make_tool_context(folder, **given.pop("around", {})), **given)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_repository_is_shown_in_the_sandbox(repo: Path) -> None:
    """And so is another working tree; `cases/git.yaml` has all that is shown."""
    sh(repo, "git worktree add -q -b other ../other")
    around = {"sandbox": require_sandbox()}
    tools = git(repo, around=around)
    assert list(tools) == READS
    assert tools["git_status"].call() == "## main\n M a.txt\n?? new.txt"
    assert tools["git_log"].call().count("commit ") == 2
    assert git(repo.parent, repo_path="other", around=around)["git_status"].call() == "## other"


def test_a_folder_outside_the_role_is_an_error(repo: Path) -> None:
    with pytest.raises(ConfigError, match="`repo_path`"):
        git(repo, repo_path="..")


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "ref",
    [
        *("", "-p", "--output=x", "--no-index", "/etc/passwd", "../x", "a/../../../../etc/passwd", "^HEAD", "HEAD..-p"),
        *("HEAD\nx", "a..b..c", "x" * 501, "..", "--end-of-options"),
    ],
)
def test_a_reference_is_never_an_option_or_a_file(ref: str, repo: Path) -> None:
    """With any of the tools."""
    tools = git(repo)
    for name in ("git_diff", "git_show", "git_changed_files"):
        output = failure_message(tools[name], ref=ref)
        assert output.endswith(NO_COMMIT)
    assert not (repo / "x").exists()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "docs/../../x"])
def test_a_path_outside_the_repository_is_refused(path: str, repo: Path) -> None:
    """With any of the tools."""
    tools = git(repo, read_only=False)
    for name in ("git_diff", "git_log", "git_blame", "git_add"):
        with pytest.raises(RefusedError, match="is outside the folder"):
            tools[name].call(path=path)


# ── malicious repositories ────────────────────────────────────────────────────────────────────────────────────────────


def hostile(repo: Path) -> Path:
    """Configure a command in every place where git runs one; return the file that the command creates."""
    mark = repo.parent / "ran"
    evil = repo.parent / "evil"
    evil.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ntimeout 0.2 cat\n')
    evil.chmod(0o755)
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    names = "pre-commit commit-msg post-commit prepare-commit-msg post-index-change reference-transaction"
    for name in f"{names} fsmonitor-watchman pre-auto-gc post-checkout".split():
        (hooks / name).symlink_to(evil)
    keys = (
        *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy"),
        *("core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv", "diff.a=b.textconv"),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "filter.a=b.clean", "filter.a\nb.clean"),
        *("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "credential.helper"),
        *("alias.status", "alias.log"),
        *("pager.log", "pager.diff", "sequence.editor", "trailer.x.command", "hook.x.command", "merge.evil.driver"),
    )
    for key in keys:
        if "\n" not in key:
            subprocess.run(
                ["git", "config", key, f"!{evil}" if key.startswith("alias") else str(evil)], cwd=repo, check=True
            )
    extra = {
        "core.hooksPath": str(hooks),
        "filter.evil.required": "true",
        "log.showSignature": "true",
        "commit.gpgSign": "true",
        "hook.x.event": "pre-commit",
        "user.name": "Ann",
        "user.email": "ann@example.com",
        "diff.submodule": "log",
        "status.submoduleSummary": "true",
        "format.pretty": "%G? %H",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "blame.ignoreRevsFile": str(repo.parent / "secret"),
        "core.attributesFile": str(repo.parent / "attributes"),
        "gc.auto": "1",
        "maintenance.auto": "true",
    }
    for key, value in extra.items():
        subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    (repo.parent / "secret").write_text("the user's secret\n")
    (repo / ".gitattributes").write_text("*.txt diff=evil filter=evil merge=evil\n*.md filter=a=b diff=a=b\n")
    (repo / "c.md").write_text("md\n")
    os.utime(repo / "a.txt", (1, 1))
    return mark


@pytest.mark.slow
@pytest.mark.parametrize("include", [False, True])
def test_no_program_that_a_repository_configures_is_run(include: bool, repo: Path) -> None:
    """No hooks, monitors, filters, converters or helpers, from any configuration file."""
    mark = hostile(repo)
    if include:
        (repo / ".git/config").rename(repo / "settings")
        (repo / ".git/config").write_text("[core]\nrepositoryformatversion = 0\n[include]\npath = ../settings\n")
    output = subprocess.run(["git", "diff"], cwd=repo, capture_output=True, check=False)
    assert mark.exists(), f"the program does not run without protection: {output!r}"
    mark.unlink()
    (repo.parent / ".gitconfig").write_text("[user]\nname = Bob\nemail = bob@example.com\n")
    tools = git(repo, read_only=False, around={"env": {"HOME": str(repo.parent)}})
    tools["git_status"].call()
    tools["git_diff"].call()
    tools["git_diff"].call(ref="v1")
    tools["git_log"].call()
    tools["git_show"].call(ref="HEAD")
    tools["git_changed_files"].call()
    tools["git_changed_files"].call(ref="v1")
    # Git would show the first line of a file that is no list of commits.
    assert "secret" not in tools["git_blame"].call(path="a.txt")
    assert "needs a filter" in failure_message(tools["git_add"], path="a.txt")
    (repo / ".gitattributes").write_text("")
    assert tools["git_add"].call(path="a.txt") == "M  a.txt"
    tools["git_commit"].call(message="Third\n\n# kept")
    assert not mark.exists(), mark.read_text()


def test_nothing_is_fetched(repo: Path) -> None:
    """Not even for a partial clone."""
    mark = hostile(repo)
    blob = sh(repo, "git rev-parse HEAD:docs/b.txt").strip()
    (repo / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", str(repo)),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", str(repo.parent / "evil")),
        ("protocol.file.allow", "always"),
    ):
        subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    subprocess.run(["git", "cat-file", "-p", blob], cwd=repo, capture_output=True, check=False)
    assert mark.exists(), "the program does not run without protection"
    mark.unlink()
    assert "git failed" in failure_message(git(repo)["git_show"], ref="HEAD:docs/b.txt")
    assert not mark.exists(), mark.read_text()


def test_no_program_that_a_submodule_configures_is_run(repo: Path) -> None:
    """A submodule has its own configuration, so git does not look into it."""
    inner = repo / "inner"
    inner.mkdir()
    sh(inner, "git init -q; printf x > a.txt; git add .; git commit -qm Inner")
    sh(repo, "git -c advice.addEmbeddedRepo=false add inner; git commit -qm Inner")
    hostile(inner)
    mark = repo / "ran"
    (inner / "a.txt").write_text("y")
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False)
    assert mark.exists(), "the program does not run without protection"
    mark.unlink()
    tools = git(repo, read_only=False)
    for name in ("git_status", "git_diff", "git_changed_files"):
        tools[name].call()
    assert not mark.exists(), mark.read_text()


def test_no_other_working_tree_is_shown(repo: Path) -> None:
    """Not if the repository's configuration or a link leads to one."""
    secret = repo.parent / "secret/docs"
    secret.mkdir(parents=True)
    for name in ("a.txt", "docs/b.txt"):
        (repo.parent / "secret" / name).write_text("the user's secret\n")
    sh(repo, "git config core.worktree ../../secret")
    tools = git(repo)
    assert (
        "the user's secret"
        in subprocess.run(
            ["git", "diff"],
            cwd=repo.parent / "secret",
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GIT_DIR": str(repo / ".git")},
        ).stdout
    )
    assert "the user's secret" not in tools["git_diff"].call()
    (repo / "docs/b.txt").unlink()
    (repo / "docs").rmdir()
    (repo / "docs").symlink_to(secret)
    assert "the user's secret" not in tools["git_diff"].call() + tools["git_blame"].call(path="docs/b.txt")


def test_the_user_s_own_settings_are_not_used(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except for the author's name; nor is the environment."""
    sh(repo.parent, f"git config --file .gitconfig diff.external {repo.parent}/evil")
    monkeypatch.setenv("HOME", str(repo.parent))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    assert "+three" in git(repo)["git_diff"].call()


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_is_committed_in_the_sandbox(repo: Path) -> None:
    """With the user as its author."""
    home = repo.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Bob\nemail = bob@example.com\n")
    tools = git(repo, read_only=False, around={"sandbox": require_sandbox(), "env": {"HOME": str(home)}})
    assert tools["git_add"].call(path="new.txt") == "A  new.txt"
    assert "1 file changed" in tools["git_commit"].call(message="New")
    assert sh(repo, "git log -1 --format='%an %ae|%B'") == "Bob bob@example.com|New\n"


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_long_output_is_cut(repo: Path) -> None:
    """The model sees that."""
    (repo / "a.txt").write_text("line\n" * 50_000)
    output = git(repo, max_output_bytes=2000)["git_diff"].call()
    assert "\n[the first 2,000 of " in output
    assert output.endswith("are left out; ask for less]")


def test_a_slow_git_is_stopped(repo: Path) -> None:
    """For example one that reads a FIFO."""
    os.mkfifo(repo / ".gitignore")
    with ends():
        assert "took longer than 0.5 seconds; ask for less" in failure_message(
            git(repo, timeout_seconds=0.5)["git_status"]
        )
