"""The repository has nothing at its top that is unexpected, and no link out of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
AT_THE_TOP = {
    *(".ci", ".github", ".gitignore", ".importlinter", ".pre-commit-hooks.yaml", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("LICENSE", "Makefile", "README.md", "SECURITY.md", "action.yml", "hatch_build.py", "pyproject.toml"),
    *("benchmarks", "docs", "examples", "src", "tests", "tools"),
}
pytestmark = [
    pytest.mark.needs("git"),
    pytest.mark.skipif(not (TOP / ".git").exists(), reason="this is a release, not the repository"),
]


@pytest.fixture(scope="module")
def files() -> list[str]:
    """Return the files that git keeps, with `/`."""
    command = ["git", "-c", f"safe.directory={TOP}", "-C", str(TOP), "ls-files", "-z"]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")[:-1]


def test_a_new_file_at_the_top_is_named_here(files: list[str]) -> None:
    """What a test or a tool leaves behind is not committed by mistake."""
    assert {path.partition("/")[0] for path in files} - AT_THE_TOP == set()


def test_no_link_leaves_the_repository(files: list[str]) -> None:
    """Nor does one lead to a place of the machine that it was made on."""
    for path in files:
        if (TOP / path).is_symlink():
            target = os.readlink(TOP / path)
            inside = os.path.normpath(os.path.join(os.path.dirname(path), target))
            assert not os.path.isabs(target), path
            assert inside.partition("/")[0] != "..", path


def test_no_file_is_built_or_packed(files: list[str]) -> None:
    """Programs and archives cannot be read in a review."""
    endings = (".pyc", ".so", ".zip", ".tar", ".gz", ".tgz", ".whl", ".exe")
    assert [path for path in files if path.endswith(endings)] == []
