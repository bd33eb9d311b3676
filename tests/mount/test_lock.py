"""Lock a skills folder, and create the folders on the way to it."""

from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from endurance import (
    HOST,
    NAMES,
    ROOT,
    World,
    content,
)
from prowess._internal.fs import remove_tree
from prowess.errors import SkillMountError, SkillNotFoundError
from prowess.mount import _lock as lock, apply, mount, plan, unmount
from prowess.mount._record import read_record
from prowess.mount._transaction import Staging, lock_skills_folder
from support.mounting import RECORD


@pytest.mark.parametrize("folder", [".claude", ROOT])
@pytest.mark.parametrize("target", ["elsewhere", "nothing", "itself", "a file"])
def test_skills_are_not_mounted_through_a_link(folder: str, target: str, world: World, top: Path) -> None:
    """Wherever it leads. If the link is created after the plan, applying the plan fails."""
    home, path = top / "home", top / "home" / folder
    path.parent.mkdir(parents=True)
    ready = plan(world.sources(1), home, host=HOST)
    (top / "elsewhere").mkdir()
    (top / "file").write_text("")
    to = {"elsewhere": top / "elsewhere", "nothing": top / "none", "itself": path, "a file": top / "file"}[target]
    path.symlink_to(to)
    before = content(top)
    for ways in ("at once", "with a plan from before"):
        with pytest.raises(SkillMountError) as error:
            apply(ready) if ways != "at once" else mount(world.sources(1), home, host=HOST)
        assert str(error.value) == f"`{path}` is a link; skills are not mounted through links"
        assert error.value.hint == f"replace it with a folder, or mount into its target: {os.path.realpath(path)}"
        assert content(top) == before


@pytest.mark.parametrize("place", ["", ".claude", ROOT])
def test_a_file_in_place_of_a_folder_is_reported(place: str, world: World, top: Path) -> None:
    path = top / "home" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    with pytest.raises(SkillMountError) as error:
        mount(world.sources(1), top / "home", host=HOST)
    assert str(error.value) == f"`{str(path).rstrip('/')}` cannot be used: not a directory"
    assert path.read_text() == ""


def test_the_home_may_be_a_link(world: World, top: Path) -> None:
    """Only the folders inside it may not."""
    (top / "real").mkdir()
    (top / "home").symlink_to("real")
    mount(world.sources(1), top / "home", host=HOST)
    assert sorted(os.listdir(top / "real" / ROOT)) == [*NAMES]
    unmount(None, top / "home", host=HOST)
    assert os.listdir(top / "real") == []


@pytest.mark.slow
def test_a_very_deep_home_is_created(world: World, top: Path) -> None:
    """Deeper than Python's recursion limit. A path that is too long is an error."""
    with pytest.raises(SkillMountError, match="cannot be created: file name too long"):
        mount(world.sources(1), top.joinpath(*["x"] * 2_100), host=HOST)
    assert not (top / "x").exists()
    home = top.joinpath(*["x"] * 1_100)
    mount(world.sources(1), home, host=HOST)
    unmount(None, home, host=HOST)
    assert os.listdir(home) == []
    remove_tree(str(top / "x"))  # pytest could not


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_a_folder_that_can_never_be_created_is_reported_soon(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `/proc` the system reports that the parent does not exist."""
    monkeypatch.setattr(lock, "_CREATE_TIMEOUT", 0.05)
    with pytest.raises(SkillMountError, match=r"`/proc/.claude/skills` cannot be created: no such file or directory"):
        mount(world.sources(1), "/proc", host=HOST)


def test_a_lock_that_is_never_released_is_reported_after_the_timeout(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home is unchanged."""
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.05)
    home = world.fresh("v1")
    with lock_skills_folder(str(home), ROOT):
        with pytest.raises(SkillMountError) as error:
            mount(world.sources(2), home, host=HOST)
        assert str(error.value) == f"another process is mounting into {home}/.claude"
        assert error.value.hint == "wait until it has finished, or stop it"
    assert content(home) == world.expected("v1")
    mount(world.sources(2), home, host=HOST)


def test_a_forked_process_does_not_keep_the_lock(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it inherits the descriptor."""
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 5.0)
    home = world.fresh("v1")
    with lock_skills_folder(str(home), ROOT):
        pid = os.fork()
        if not pid:
            time.sleep(60)
            os._exit(0)
    try:
        mount(world.sources(2), home, host=HOST)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert content(home) == world.expected("v2")


def test_a_plan_waits_for_a_mount_in_progress(world: World) -> None:
    """Skills that another process has renamed into place but not recorded are not an error."""
    home = world.fresh("others")
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        real = Staging._replace_file

        def slow(staging: Any, name: str, *rest: Any) -> None:
            if name == Path(RECORD).name:
                os.write(go, b"!")
                time.sleep(0.1)
            real(staging, name, *rest)

        setattr(Staging, "_replace_file", slow)  # noqa: B010
        try:
            mount(world.sources(1), home, host=HOST)
        finally:
            os._exit(0)
    os.read(ready, 1)
    assert (home / ROOT / "ink").exists()
    assert read_record(str(home), ROOT).skills == read_record(str(world.home("others")), ROOT).skills
    mount(world.sources(1), home, host=HOST)
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(go)
    assert content(home) == world.expected("v1")


@pytest.mark.slow
def test_threads_wait_for_each_other_like_processes(world: World) -> None:
    home = world.fresh("others")

    def work(number: int) -> None:
        mount(world.sources(1 + number % 2), home, host=HOST)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(32)))
    assert content(home) in (world.expected("v1"), world.expected("v2"))


def test_a_missing_skills_folder_is_not_created_for_reading(top: Path) -> None:
    with pytest.raises(SkillNotFoundError) as error, lock_skills_folder(str(top / "home"), ROOT, make=False):
        pass
    assert str(error.value) == f"nothing is mounted in {top}/home/{ROOT}"
    assert os.listdir(top) == []
