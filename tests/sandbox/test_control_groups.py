"""Where control groups can be made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.sandbox import _control_groups as control_groups, _memory as memory
from prowess.sandbox._control_groups import find_base

if TYPE_CHECKING:
    from pathlib import Path

V2 = "1 0 0:1 / {top} rw - cgroup2 cgroup2 rw\n"


def tree(top: Path, **files: str) -> str:
    """Write files of a machine below a folder; return the one in place of /proc/self."""
    for name, text in {"cgroup": "0::/a/b\n", "mountinfo": V2, **files}.items():
        path = top / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(top=top))
    for folder in ("", "a", "a/b"):
        (top / folder / "cgroup.procs").parent.mkdir(parents=True, exist_ok=True)
        (top / folder / "cgroup.procs").touch()
    return str(top)


@pytest.fixture(autouse=True)
def _writable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "_may_make", lambda _: True)


def test_a_group_of_version_2_is_made_where_memory_is_controlled(tmp_path: Path) -> None:
    """Not below a group with processes, which the system refuses; beside it."""
    proc = tree(tmp_path, a__cgroup_dot_subtree_control="memory pids\n", a__b__memory_dot_max="max\n")
    assert find_base(proc) == {
        "version": 2,
        "memory": f"{tmp_path}/a",
        "pids": f"{tmp_path}/a",
        "old": (f"{tmp_path}/a/b",),
    }
    tree(tmp_path, a__b__cgroup_dot_subtree_control="memory\n")
    assert find_base(proc) == {"version": 2, "memory": f"{tmp_path}/a/b", "pids": "", "old": (f"{tmp_path}/a/b",)}


@pytest.mark.parametrize("name", ["memory.max", "memory.high", "memory.swap.max"])
def test_a_limit_of_the_user_is_not_left_behind(name: str, tmp_path: Path) -> None:
    """A service with a limit keeps it: then there is no group."""
    proc = tree(tmp_path, a__cgroup_dot_subtree_control="memory pids\n")
    (tmp_path / "a/b" / name).write_text("1000000\n")
    assert find_base(proc) is None


def test_without_a_controller_or_a_mount_there_is_no_group(tmp_path: Path) -> None:
    assert find_base(tree(tmp_path)) is None
    assert find_base(tree(tmp_path, a__cgroup_dot_subtree_control="cpu pids\n")) is None
    assert find_base(tree(tmp_path, mountinfo="1 0 0:1 / / rw - ext4 /dev/vda rw\n")) is None
    assert find_base(str(tmp_path / "missing")) is None
    # In a container that sees another part of the tree.
    assert find_base(tree(tmp_path, mountinfo="1 0 0:1 /other {top} rw - cgroup2 cgroup2 rw\n")) is None


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path: Path) -> None:
    """Each mounted on its own, and seen from the root of a container."""
    mounts = "1 0 0:1 /box {top}/memory rw - cgroup cgroup rw,memory\n2 0 0:2 / {top}/pids rw - cgroup cgroup rw,pids\n"
    files = {"cgroup": "2:pids:/\n4:memory:/box/a\n0::/\n", "mountinfo": mounts}
    proc = tree(tmp_path, **files, memory__a__memory_dot_use_hierarchy="1\n", pids__x="")
    (tmp_path / "memory/a/memory.memsw.usage_in_bytes").write_text("0\n")
    folders = (f"{tmp_path}/memory/a", f"{tmp_path}/pids")
    assert find_base(proc) == {"version": 1, "memory": folders[0], "pids": folders[1], "old": folders}
    (tmp_path / "memory/a/memory.use_hierarchy").write_text("0\n")
    assert find_base(proc) is None


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        (1, ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), {"memory.limit_in_bytes": "150"}),
        (2, ("memory.max", "memory.swap.max"), {"memory.max": "150", "memory.swap.max": "0"}),
    ],
)
def test_the_limit_is_above_what_the_supervisor_uses(
    version: int, files: tuple[str, ...], expected: dict[str, str], tmp_path: Path
) -> None:
    """The cache of files, which the system gives back, does not count; before a large request there is no limit."""
    for name in files:
        (tmp_path / name).write_text("")
    names = ("total_cache", "total_shmem", "usage_in_bytes") if version == 1 else ("file", "shmem", "current")
    (tmp_path / "memory.stat").write_text(f"{names[0]} 70\n{names[1]} 20\n")
    (tmp_path / f"memory.{names[2]}").write_text("100\n")
    kills = tmp_path / ("memory.oom_control" if version == 1 else "memory.events")
    kills.write_text("oom 9\noom_kill 3\n")
    (tmp_path / "pids.max").write_text("")
    request = {
        "limits": {"memory": 100, "processes": 7},
        "group": {"version": version, "memory": str(tmp_path), "pids": str(tmp_path), "old": ()},
        "layers": (),
        "tmpfs": (),
        "scratch": b"",
        "folders": {},
        "stdin": b"",
        "network": None,
    }
    guard = memory.MemoryGuard(request)  # type: ignore[arg-type]
    guard.begin()
    assert {name: (tmp_path / name).read_text() for name in expected} == expected
    assert (tmp_path / "pids.max").read_text() == "10"
    kills.write_text("oom 9\noom_kill 4\n")
    assert guard.end() is True
    memory.prepare_to_read(request["group"], 10_000_000)  # type: ignore[arg-type]
    assert (tmp_path / files[0]).read_text()[:2] == ("-1" if version == 1 else "ma")


def test_a_full_folder_stays_the_reason_after_its_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed for a removed file may be measured once more before its end is known."""
    monkeypatch.setattr(memory, "_INTERVAL", 0)
    monkeypatch.setattr(memory, "_MAX_INTERVAL", 0)
    monkeypatch.setattr(memory, "kill", lambda _: None)
    folders = {os.fsencode(tmp_path): (1_000_000, 10)}
    request = {"limits": {}, "group": None, "tmpfs": (), "scratch": b"", "folders": folders, "network": None}
    guard = memory.MemoryGuard(request)  # type: ignore[arg-type]
    (tmp_path / "large").write_bytes(bytes(2_000_000))
    guard.check()
    (tmp_path / "large").unlink()
    guard.check()
    assert guard.out_of_space
