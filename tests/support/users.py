"""Run code as other users of the machine, which only root can."""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.frozen import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ALICE, MALLORY = 54321, 54322
"""Two ordinary users, who need not be known to the machine."""
only_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as others")
_WARM = """
import contextlib, ctypes, encodings.ascii, encodings.idna, encodings.latin_1, encodings.utf_16_be
import errno, grp, hashlib, json, os, pickle, pkgutil, pwd, shlex, shutil, sys, tarfile, tempfile
import tomllib, unicodedata, yaml
import prowess
for _, name, _ in pkgutil.walk_packages(prowess.__path__, "prowess."):
    if name.split(".")[1] in {packages}:
        with contextlib.suppress(ImportError):  # of an extra that is not installed
            __import__(name)
while True:
    try:
        user, code, cwd, env = pickle.load(sys.stdin.buffer)
    except EOFError:
        sys.exit()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            break
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0), err.seek(0)
        pickle.dump((status, out.read().decode(), err.read().decode()), sys.stdout.buffer)
    sys.stdout.flush()
os.umask(0o022)
os.setgroups([])
os.setgid(user), os.setuid(user)
os.environ.clear()
os.environ.update(env)
os.chdir(cwd)
exec(code)
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
    kept = {name: value for name, value in os.environ.items() if name != "SUDO_UID"}
    kept = {name: value for name, value in kept.items() if not name.startswith(("PROWESS_", "XDG_"))}
    warm = _warm(packages)
    assert warm.stdin
    assert warm.stdout
    pickle.dump((user, code, str(cwd), {**kept, **env}), warm.stdin)
    warm.stdin.flush()
    status, out, err = pickle.load(warm.stdout)  # noqa: S301 - our own
    assert status == 0, err
    return str(out)


@cache
def _warm(packages: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Start a process that has imported the packages, and forks one for each request."""
    words = [sys.executable, "-c", _WARM.format(packages=packages)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @atexit.register
    def end() -> None:
        process.communicate()

    return process
