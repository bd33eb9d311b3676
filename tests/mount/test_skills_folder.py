"""Change a skills folder in one transaction: all changes or none, at whatever step it fails or is killed.

And recover from interrupted mounts, ignore what an attacker prepared, and wait for other processes.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from endurance import (
    CHANGES,
    FULL,
    HOST,
    NAMES,
    PATIENCE,
    ROOT,
    Steps,
    World,
    check_recovered,
    check_whole,
    content,
    in_child,
    killed_at_every_step,
    killed_at_random,
    many_at_once,
    summary,
    without_staging,
)
from prowess._internal import fs
from prowess._internal.fs import remove_tree
from prowess.errors import SkillError, SkillMountError, SkillNotFoundError
from prowess.mount import SkillMount, _skills_folder as lock, apply, mount, plan, unmount
from prowess.mount._skills_folder import lock_skills_folder, read_record
from prowess.transaction import Staging
from support.mounting import RECORD, STAGING, as_root
from support.processes import in_new_process, times_scheduled, wait_until
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY_WAY = pytest.mark.parametrize(
    ("change", "exchanged"),
    [
        *(pytest.param(change, True, id=change) for change in CHANGES),
        pytest.param("a replacement", False, id="a replacement without exchange"),
    ],
)


# ── killed at any point ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@EVERY_WAY
def test_a_process_killed_before_any_step_leaves_whole_skills(change: str, exchanged: bool, world: World) -> None:
    """Each skill is old or new, and none is lost. The next process finds all changes or none, and removes the rest."""
    counts = in_new_process(killed_at_every_step, world, change, exchanged=exchanged)
    assert counts["steps"] > 50
    assert counts["undone"] > 10
    assert counts["finished"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_process_killed_while_it_writes_leaves_whole_skills(change: str, world: World) -> None:
    """Half a file, half a journal or half a record is never used."""
    assert in_new_process(killed_at_every_step, world, change, half=True)["steps"] > 1


@pytest.mark.slow
def test_processes_killed_at_random_leave_whole_skills(world: World) -> None:
    """Seventy that mount, replace and remove; `make endurance` kills two thousand."""
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    counts = in_new_process(killed_at_random, world, 70, seed)
    print(summary(counts))
    # How many are killed before they end depends on how busy the machine is.
    assert sum(count for what, count in counts.items() if what.endswith(": killed")) > 3


@pytest.mark.slow
def test_sixteen_processes_at_once_see_whole_skills_and_finish(world: World) -> None:
    """Thirteen rounds each; `make endurance` has two hundred."""
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    assert in_new_process(many_at_once, world, 16, 13, seed) < PATIENCE


# ── errors at any point ──────────────────────────────────────────────────────────────────────────────────────────────


def failing(error: BaseException, at: int, *, once: bool) -> Steps:
    """Raise an error at one step, or from there on at every step that needs disk space."""

    def instead(name: str, rest: Any) -> None:
        if rest[0] == 0 if once else name in FULL and not (name == "open" and not rest[1][1] & os.O_CREAT):
            raise error

    return Steps(at, instead)


def every_step(world: World, change: str, steps: Callable[[int], Steps], **how: bool) -> Iterator[tuple[Path, bool]]:
    """Make a change that fails at each step in turn, and yield the home and whether an error was raised."""
    before, _, work = CHANGES[change]
    for at in range(1, 10_000):
        home = world.fresh(before)
        failed = False
        with steps(at).watched(**how) as watch:
            try:
                work(world, home)
            except (SkillError, KeyboardInterrupt):
                failed = True
        if watch.count < at:
            return
        yield home, failed


@pytest.mark.slow
@EVERY_WAY
def test_a_failing_step_is_reported_and_leaves_the_home_unchanged(change: str, exchanged: bool, world: World) -> None:
    """Or the step did not matter, and the change is complete. The next mount removes what is left."""
    before, after = (world.expected(state) for state in CHANGES[change][:2])
    error = OSError(errno.EIO, "Input/output error")
    for home, failed in every_step(world, change, lambda at: failing(error, at, once=True), exchanged=exchanged):
        now = content(home)
        assert without_staging(now) == (before if failed else after)
        if now not in (before, after):
            check_recovered(world, home, change, at_once=True)


@pytest.mark.slow
@EVERY_WAY
def test_a_disk_that_fills_up_at_any_step_leaves_the_home_unchanged(change: str, exchanged: bool, world: World) -> None:
    """Nothing is left behind."""
    before, after = (world.expected(state) for state in CHANGES[change][:2])
    error = OSError(errno.ENOSPC, "No space left on device")
    ways = {True: 0, False: 0}
    for home, failed in every_step(world, change, lambda at: failing(error, at, once=False), exchanged=exchanged):
        assert content(home) == (before if failed else after)
        ways[failed] += 1
    assert ways[True] > 10


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupt_at_any_step_leaves_all_changes_or_none(change: str, world: World) -> None:
    """At once, or as soon as the next process comes."""
    before, after = (world.expected(state) for state in CHANGES[change][:2])
    for home, failed in every_step(world, change, lambda at: failing(KeyboardInterrupt(), at, once=True)):
        assert failed
        check_whole(world, home, change)
        unmount((), home, host=HOST)
        assert content(home) in (before, after)


@pytest.mark.slow
def test_a_disk_that_fills_up_at_any_step_leaves_no_new_home(world: World) -> None:
    """Nor any of its parent folders."""
    home = world.top / "deep/in/home"
    for at in range(1, 10_000):
        with failing(OSError(errno.ENOSPC, "No space left on device"), at, once=False).watched() as watch:
            try:
                mount(world.sources(1), home, host=HOST)
            except SkillMountError:
                assert not (world.top / "deep").exists()
        shutil.rmtree(world.top / "deep", ignore_errors=True)
        if watch.count < at:
            return


def test_no_skill_is_mounted_if_one_cannot_be_renamed_into_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its user created a folder of that name at the last moment; it stays."""
    home = world.fresh("others")
    real = fs.rename_no_replace

    def create_first(source: int, old: str, target: int, new: str) -> None:
        if new == "pen":
            skill(home / ROOT / "pen", body="mine")
        real(source, old, target, new)

    monkeypatch.setattr(sys.modules["prowess.transaction._transaction"], "rename_no_replace", create_first)
    with pytest.raises(SkillMountError) as error:
        mount(world.sources(1), home, host=HOST)
    assert str(error.value) == f"nothing was changed in {home}/{ROOT}: file exists"
    assert (home / ROOT / "pen/SKILL.md").read_text().endswith("mine\n")
    shutil.rmtree(home / ROOT / "pen")
    assert content(home) == world.expected("others")


@pytest.mark.parametrize("exchanged", [True, False], ids=["exchanged", "without exchange"])
@pytest.mark.parametrize("change", CHANGES)
def test_all_changes_are_undone_if_the_record_cannot_be_written(
    change: str, exchanged: bool, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then all skills have been renamed into place."""
    before, _, work = CHANGES[change]
    home = world.fresh(before)
    real = os.replace

    def no_record(source: str, target: str, **more: Any) -> None:
        if target == Path(RECORD).name:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        real(source, target, **more)

    monkeypatch.setattr(os, "replace", no_record)
    if not exchanged:
        monkeypatch.setattr(fs, "_renameat2", lambda: None)
    with pytest.raises(SkillMountError) as error:
        work(world, home)
    assert str(error.value) == f"nothing was changed in {home}/{ROOT}: disk quota exceeded"
    assert content(home) == world.expected(before)


# ── real file systems and permissions ────────────────────────────────────────────────────────────────────────────────


@as_root
def test_a_full_disk_leaves_the_home_unchanged(world: World, top: Path) -> None:
    """A small file system made for this test: a mount and a replacement."""
    filesystem = top / "disk"
    filesystem.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(filesystem)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        home = filesystem / "home"
        skill(top / "big/ink")
        (top / "big/ink/raw").write_bytes(bytes(200_000))
        skill(top / "big/pen")
        (top / "big/pen/raw").write_bytes(bytes(200_000))
        big = [SkillMount(top / "big" / name) for name in NAMES]
        with pytest.raises(SkillMountError) as error:
            mount(big, home, host=HOST)
        assert str(error.value) == f"{top}/big/pen: cannot copy the skill: no space left on device"
        assert error.value.hint == "make room on the disk"
        assert os.listdir(filesystem) == []
        mount(world.sources(1), home, host=HOST)
        before = content(home)
        with pytest.raises(SkillMountError):
            mount(big, home, host=HOST)
        assert content(home) == before
        unmount(None, home, host=HOST)
        assert os.listdir(home) == []
    finally:
        subprocess.run(["umount", "-l", str(filesystem)], check=True)


def test_a_limit_on_file_size_leaves_the_home_unchanged(world: World, top: Path) -> None:
    """Some machines set one for a user."""
    home = world.fresh("v1")
    skill(top / "pdf")
    (top / "pdf/raw").write_bytes(bytes(100_000))

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with pytest.raises(SkillMountError, match="cannot copy the skill: file too large"):
            mount([*world.sources(2), SkillMount(top / "pdf")], home, host=HOST)

    assert in_child(limited) == 0
    assert content(home) == world.expected("v1")


@as_root
@pytest.mark.parametrize("what", ["a file", "a folder", "the home", "the folder above the skills", "the skills folder"])
def test_missing_permissions_are_reported_and_nothing_is_changed(what: str, world: World) -> None:
    """For an ordinary user."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        top.chmod(0o755)
        for one in NAMES:
            skill(top / one / "sub").parent.rename(top / one / "x")
            skill(top / one)
        home = top / "home"
        (home / ROOT).mkdir(parents=True)
        for path in (home, home / ".claude", home / ROOT):
            os.chown(path, 65534, 65534)
        message = {
            "a file": f"{top}/pen: cannot copy the skill",
            "a folder": f"{top}/pen: `x` cannot be read: permission denied",
            "the home": f"`{home}/.claude` cannot be used: permission denied",
            "the folder above the skills": f"`{home}/.claude` cannot be used: permission denied",
            "the skills folder": f"nothing was changed in {home}/{ROOT}: permission denied",
        }[what]
        if what == "a file":
            (top / "pen/x/SKILL.md").chmod(0)
            message = f"{top}/pen: `SKILL.md` cannot be read: permission denied"
        elif what == "a folder":
            (top / "pen/x").chmod(0)
        elif what == "the home":
            shutil.rmtree(home / ".claude")
            os.chown(home, 0, 0)
        elif what == "the folder above the skills":
            os.chown(home / ".claude", 0, 0)
        else:
            os.chown(home / ROOT, 0, 0)
        before = content(top)

        def as_other_user() -> None:
            os.setgid(65534)
            os.setuid(65534)
            with pytest.raises(SkillMountError) as error:
                mount([SkillMount(top / one) for one in NAMES], home, host=HOST)
            assert str(error.value) == message, str(error.value)

        mount(
            [SkillMount(top / "ink")], world.top / "warm", host=HOST
        )  # imports modules that another user may not read
        assert in_child(as_other_user) == 0
        assert content(top) == before


@pytest.mark.parametrize("change", CHANGES)
def test_recovery_undoes_the_changes_if_the_record_cannot_be_written(
    change: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a record the skills would not count as mounted."""
    before, _, work = CHANGES[change]
    home = world.fresh(before)

    def killed_late() -> None:
        real = os.replace

        def no_record(source: str, target: str, **more: Any) -> None:
            if target == Path(RECORD).name:
                os._exit(9)
            real(source, target, **more)

        monkeypatch.setattr(os, "replace", no_record)
        work(world, home)

    assert in_child(killed_late) == 9
    assert without_staging(content(home)) != world.expected(before)
    full = OSError(errno.ENOSPC, "No space left on device")
    with failing(full, 1, once=False).watched():
        unmount((), home, host=HOST)
    assert content(home) == world.expected(before)


def journal(*changes: Any, **more: Any) -> bytes:
    table = {"version": 1, "roots": ["skills"], "created": [], "file": Path(RECORD).name, "digest": "x"}
    known = [{"root": 0, "seal": None} | change if isinstance(change, dict) else change for change in changes]
    return json.dumps(table | {"replaces": True, "changes": known} | more).encode()


JOURNALS: dict[str, bytes] = {
    "nothing": b"",
    "half of one": journal({"name": "kept", "new": None, "old": 1})[:40],
    "no text": b"\xff\xfe",
    "very deep": b"[" * 100_000,
    "a list": b"[]",
    "no changes": b"{}",
    "changes that are text": journal(changes="abc"),
    "changes that are a number": journal(changes=1),
    "changes that are lists": journal([]),
    "a change without a name": journal({"new": None, "old": None}),
    "a change with more": journal({"name": "kept", "new": None, "old": None, "x": 1}),
    "an inode that is text": journal({"name": "kept", "new": "1", "old": None}),
    "an inode that is true": journal({"name": "kept", "new": True, "old": None}),
    "an invalid list of folders": journal(roots=[1]),
    "a folder that leads out": journal(created=["../.."]),
    "no such folder": journal({"root": 9, "name": "kept", "new": None, "old": None}),
    "a file that is a number": journal(file=1),
    **{
        f"the name {name!r}": journal({"name": name, "new": 1, "old": None})
        for name in ("", ".", "..", "../..", "../../../outside", "/etc", "a/b", "a\0b", "\ud800", 1, None, ["x"])
    },
}


@pytest.mark.parametrize("row", JOURNALS)
def test_an_invalid_journal_changes_nothing(row: str, world: World, top: Path) -> None:
    """It is removed with its staging folder; the folders that it names stay, in the home and outside."""
    home = world.fresh("others", "planted/home")
    for folder in ("new", "old"):
        skill(home / STAGING / folder / "kept", body="planted")
    (home / STAGING / "journal.json").write_bytes(JOURNALS[row])
    skill(home.parent / "outside")
    outside = content(home.parent / "outside")
    mount(world.sources(1), home, host=HOST)
    assert content(home) == world.expected("v1")
    assert content(home.parent / "outside") == outside


def test_a_forged_journal_with_the_right_inode_removes_nothing(world: World) -> None:
    """Inode numbers are small: an attacker can list all of them."""
    home = world.fresh("others", "guessed/home")
    number = (home / ROOT / "kept").stat().st_ino
    guesses = [{"name": "kept", "new": one, "old": None} for one in range(number - 100, number + 100)]
    (home / STAGING).mkdir(parents=True)
    (home / STAGING / "journal.json").write_bytes(journal(*guesses))
    mount(world.sources(1), home, host=HOST)
    assert content(home) == world.expected("v1")


@pytest.mark.parametrize("row", ["65 MiB", "a FIFO", "a folder", "a link"])
def test_a_journal_that_cannot_be_read_stops_the_mount(row: str, world: World, top: Path) -> None:
    """It might be that of an interrupted mount. Nothing is mounted until it is removed."""
    home = world.fresh("others")
    (home / STAGING).mkdir()
    path = home / STAGING / "journal.json"
    if row == "65 MiB":
        path.touch()
        os.truncate(path, 65 << 20)
    elif row == "a FIFO":
        os.mkfifo(path)
    elif row == "a folder":
        path.mkdir()
    else:
        path.symlink_to(top / "x")
    before = content(home)
    with pytest.raises(SkillMountError) as error:
        mount(world.sources(1), home, host=HOST)
    assert str(error.value).startswith(f"cannot recover from an interrupted mount in {home}/{STAGING}: ")
    assert {path: what for path, what in content(home).items() if path in before} == before


def test_links_in_staging_folders_are_not_followed(world: World, top: Path) -> None:
    """Nor is a staging folder that is a link."""
    outside = top / "outside"
    skill(outside / "ink")
    before = content(outside)
    home = world.fresh("others")
    (home / ".claude/.prowess-staging-link").symlink_to(outside)
    (home / STAGING / "new").mkdir(parents=True)
    (home / STAGING / "new/ink").symlink_to(outside / "ink")
    (home / STAGING / "more").symlink_to(outside)
    (home / STAGING / "file").symlink_to(outside / "ink/SKILL.md")
    mount(world.sources(1), home, host=HOST)
    (home / ".claude/.prowess-staging-link").unlink()
    assert content(home) == world.expected("v1")
    assert content(outside) == before


@pytest.mark.parametrize("folder", ["new", "old"])
def test_links_inside_a_staging_folder_stop_recovery(folder: str, world: World, top: Path) -> None:
    """If there is a valid journal; without one the staging folder is removed."""
    home = world.fresh("others")
    (home / STAGING).mkdir()
    skill(top / "outside/ink")
    (home / STAGING / folder).symlink_to(top / "outside")
    (home / STAGING / "journal.json").write_bytes(journal({"name": "ink", "new": 1, "old": None}))
    before = content(home), content(top)
    with pytest.raises(SkillMountError, match="cannot recover from an interrupted mount"):
        mount(world.sources(1), home, host=HOST)
    assert (without_staging(content(home)), content(top)) == (without_staging(before[0]), before[1])
    (home / STAGING / "journal.json").unlink()
    mount(world.sources(1), home, host=HOST)
    assert (content(home), content(top)) == (world.expected("v1"), before[1])


@as_root
def test_the_staging_folder_of_another_user_is_left_alone(world: World) -> None:
    home = world.fresh("others")
    skill(home / STAGING / "new/ink")
    os.chown(home / STAGING, 65534, 65534)
    theirs = content(home / STAGING)
    mount(world.sources(1), home, host=HOST)
    assert content(home / STAGING) == theirs


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
def test_a_very_deep_home_is_created(world: World) -> None:
    """Deeper than Python's recursion limit. A path that is too long is an error."""
    top = Path(tempfile.mkdtemp()).resolve()  # pytest could not remove what a killed run leaves in its own folder
    try:
        with pytest.raises(SkillMountError, match="cannot be created: file name too long"):
            mount(world.sources(1), top.joinpath(*["x"] * 2_100), host=HOST)
        assert not (top / "x").exists()
        home = top.joinpath(*["x"] * 1_100)
        mount(world.sources(1), home, host=HOST)
        unmount(None, home, host=HOST)
        assert os.listdir(home) == []
    finally:
        remove_tree(str(top))


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
            signal.pause()
    try:
        mount(world.sources(2), home, host=HOST)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert content(home) == world.expected("v2")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_a_plan_waits_for_a_mount_in_progress(world: World) -> None:
    """Skills that another process has renamed into place but not recorded are not an error."""
    home = world.fresh("others")
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        real = Staging._replace_file

        def slow(staging: Any, text: str | None) -> None:
            before = times_scheduled(os.getppid())
            os.write(go, b"!")
            wait_until(lambda: times_scheduled(os.getppid()) > before + 20)  # it looks again and again
            real(staging, text)

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
