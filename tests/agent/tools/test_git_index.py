"""Paths of a repository's index are read as git reads them, and must be inside the repository."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.agent.policy import RefusedError
from prowess.agent.tools._git_folder import check_index
from prowess.find import index_paths
from support.tool_calls import failure_message, make_tool_context, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet"),
    pytest.mark.needs("git"),
]


def make_repository(folder: Path, *options: str) -> Path:
    folder.mkdir()
    for command in (["init", "-q", *options], ["add", "."]):
        for name in ("xx/outside/a.txt", "b", "é", "f" * 200, "d/" * 40 + "deep"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("ours\n")
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_the_paths_are_those_that_git_finds(version: int, algorithm: str, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "repo", f"--object-format={algorithm}")
    if version == 3:
        (folder / "new").write_text("x")
        subprocess.run(["git", "add", "-N", "new"], cwd=folder, check=True)
    subprocess.run(["git", "update-index", "--index-version", str(version)], cwd=folder, check=True)
    data = (folder / ".git/index").read_bytes()
    assert data[7] == version
    expected = subprocess.run(["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True).stdout
    size = hashlib.new(algorithm).digest_size
    assert list(index_paths(data, size)) == expected.split(b"\0")[:-1]
    check_index(data, size)


@pytest.mark.parametrize(
    "path", ["../outside/a.txt", "/x/outside/a.txt", "x/../../../a.txt", "./xxxxxxxx/a.txt", ".GIT/hooks/a.txt"]
)
def test_a_path_that_leads_out_of_the_repository_is_refused(path: str, tmp_path: Path) -> None:
    """Git would show the file."""
    folder = make_repository(tmp_path.resolve() / "repo")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.txt").write_text("the secret\n")
    file = folder / ".git/index"
    assert len(path) == len("xx/outside/a.txt")
    data = file.read_bytes().replace(b"xx/outside/a.txt", os.fsencode(path))[:-20]
    file.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())
    if path.startswith(".."):
        assert b"the secret" in subprocess.run(["git", "diff"], cwd=folder, capture_output=True, check=True).stdout
    tools = tools_by_name("git", make_tool_context(folder), read_only=False)
    expected = f"the repository's index contains the path `{path}`, which is not a file in it"
    for name in ("git_status", "git_diff", "git_log"):
        assert failure_message(tools[name]) == expected
    assert failure_message(tools["git_add"], path="b") == expected


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    """At every length, and also if its lengths contradict each other."""
    data = (make_repository(tmp_path / "repo") / ".git/index").read_bytes()
    for end in range(0, len(data) - 500, 7):
        with pytest.raises(RefusedError):
            check_index(data[:end], 20)
    with pytest.raises(RefusedError, match="damaged"):
        check_index(data[:73] + b"\x02" + data[74:], 20)


def test_a_number_without_an_end_is_refused_at_once() -> None:
    """Computed as a whole, it would take hours."""
    head = b"DIRC" + (4).to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes(62)
    with pytest.raises(RefusedError, match="damaged"):
        check_index(head + b"\xff" * 1_000_000, 20)
