"""Skills with test cases, sandboxes to run them in, and snapshots of directories."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.programs import require
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_INPUT = ("command", "stdin", "files")


def write_suite(
    folder: Path, cases: Mapping[str, str | Mapping[str, Any]], config: Mapping[str, Any] | None = None
) -> Path:
    """Write a skill with test cases and return its folder.

    Args:
        folder: the folder of the skill.
        cases: file name without suffix to a command, or to the keys of `input` and `expected`.
        config: what `test-config.json` has besides the version.
    """
    skill(folder)
    (folder / "tests/cases").mkdir(parents=True)
    for name, given in cases.items():
        keys = {"command": given} if isinstance(given, str) else dict(given)
        inner = {key: keys.pop(key) for key in _INPUT if key in keys}
        case = {"name": keys.pop("name", name), "input": inner, "expected": keys}
        (folder / f"tests/cases/{name}.yaml").write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")
    if config is not None:
        (folder / "tests/test-config.json").write_text(json.dumps({"version": 1, **dict(config)}))
    return folder


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, owner, size, modification time and content of a folder and of everything in it."""
    snapshots = dict[str, tuple[object, ...]]()
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        mode = stat.filemode(status.st_mode)
        snapshots[str(path.relative_to(folder))] = (mode, status.st_uid, status.st_size, status.st_mtime_ns, content)
    return snapshots


def without_durations(text: str) -> str:
    """Return what `prowess test` prints, without the seconds that it adds to a case on a slow or busy machine."""
    return re.sub(r"  \(\d+\.\d s\)$", "", text, flags=re.MULTILINE)


def require_backend(name: str) -> str:
    """Return the name of a sandbox; skip the test if it does not work here."""
    if name == "bwrap":
        if sys.platform != "linux":
            pytest.skip("bwrap runs on Linux only")
        require("bwrap")
    return name
