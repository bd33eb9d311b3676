"""Skills with tests, and what a whole folder is like."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import find_backend
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Mapping

_INPUT = ("command", "stdin", "files")


def write_suite(folder: Path, cases: Mapping[str, str | Mapping[str, Any]], config: object = None) -> Path:
    """Write a skill with tests and return its folder.

    Args:
        folder: of the skill.
        cases: name of a file, without its ending, to a command or to what `input` and `expected` hold.
        config: what test-config.json holds, in addition to the version.
    """
    skill(folder)
    (folder / "tests/cases").mkdir(parents=True)
    for name, given in cases.items():
        keys = {"command": given} if isinstance(given, str) else dict(given)
        inner = {key: keys.pop(key) for key in _INPUT if key in keys}
        case = {"name": keys.pop("name", name), "input": inner, "expected": keys}
        (folder / f"tests/cases/{name}.yaml").write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")
    if config is not None:
        (folder / "tests/test-config.json").write_text(json.dumps({"version": 1, **dict(config)}))  # type: ignore[call-overload]
    return folder


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all that is in a folder, itself too: kind and mode, owner, size, times of change, content."""
    found = dict[str, tuple[object, ...]]()
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        kind = stat.filemode(status.st_mode)
        found[str(path.relative_to(folder))] = (kind, status.st_uid, status.st_size, status.st_mtime_ns, content)
    return found


def require_backend(name: str) -> str:
    """Return a backend's name where it works; where it cannot, skip, and where it was not installed, fail."""
    if name == "bwrap":
        if sys.platform != "linux":
            pytest.skip("bwrap is of Linux")
        try:
            find_backend("bwrap")
        except SandboxError as error:
            if "not on PATH" in str(error):
                pytest.fail("these tests need bubblewrap: `apt install bubblewrap`")
            pytest.skip(f"{error}; {error.hint}")
    return name


def processes_with(mark: str) -> list[int]:
    """Return the processes with a word on their command line or in their environment, this one left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):
                data = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
                if mark.encode() in data and " Z " not in (entry / "stat").read_text():
                    found.append(int(entry.name))
    return found


def processes_end(mark: str, within: float = 2.0) -> bool:
    """Say whether nothing with a word on its command line or in its environment runs, or soon does no more."""
    until = time.monotonic() + within
    while processes_with(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
