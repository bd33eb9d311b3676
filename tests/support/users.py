"""Run code as other users of the machine, which only root can."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.frozen import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ALICE, MALLORY = 54321, 54322
"""Two ordinary users, who need not be known to the machine."""
only_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as others")
_IMPORTS = """
import contextlib, ctypes, encodings.ascii, encodings.idna, encodings.latin_1, encodings.utf_16_be
import errno, grp, hashlib, json, os, pkgutil, pwd, shlex, shutil, sys, tarfile
import tomllib, unicodedata, yaml
import prowess
for _, name, _ in pkgutil.walk_packages(prowess.__path__, "prowess."):
    if name.split(".")[1] in {packages}:
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            __import__(name)
os.umask(0o022)
os.setgroups([])
os.setgid({user}), os.setuid({user})
for name in [*os.environ]:
    if name == "SUDO_UID" or name.startswith(("PROWESS_", "XDG_")):
        del os.environ[name]
os.environ.update({env!r})
os.chdir({cwd!r})
"""
CORE = (
    *("_internal", "cache", "catalog", "checks", "cli", "clients", "filesystem", "find", "hosts", "install", "lock"),
    *("mount", "net", "prompt", "sandbox", "search", "session", "skill", "transaction", "visibility"),
)
"""The packages that commands of the core use."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return an empty folder that all users can enter: those of pytest are closed by each run of pytest that begins."""
    with tempfile.TemporaryDirectory(prefix="prowess-users-") as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - that is what it is for
        yield Path(folder).resolve()


def give(user: int, *paths: Path) -> None:
    """Give files and folders, with what is in them, to a user."""
    for path in paths:
        inner: Iterable[Path] = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
        for each in (path, *inner):
            os.chown(each, user, user, follow_symlinks=False)


def run_as(user: int, code: str, *, cwd: Path, packages: tuple[str, ...] = CORE, env: Mapping[str, str] = EMPTY) -> str:
    """Run Python code as a user, and return what it prints.

    The modules of some packages are imported before, since the user may not be able to read them.
    """
    before = _IMPORTS.format(packages=packages, user=user, env=dict(env), cwd=str(cwd))
    done = subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
