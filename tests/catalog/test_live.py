"""A live catalog is always what `discover` would return, and reads nothing while nothing changes."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from mutations import live_batch
from prowess._internal import inotify
from prowess.catalog import Catalog, LiveCatalog, _live as live_module, discover
from prowess.hosts import load_host
from support.changed_skills import CHANGES, changing_tree
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prowess.hosts import Host

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="inotify")


def write_skill(folder: Path, name: str, description: str = "Reads forms.") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
    return path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    write_skill(tmp_path / "repo/.agents/skills", "pdf")
    write_skill(tmp_path / "repo/.agents/skills", "csv")
    return tmp_path.resolve()


@pytest.fixture(params=["inotify", "compared"])
def live(top: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveCatalog]:
    """A catalog that is watched, and one that is compared."""
    if request.param == "compared":
        monkeypatch.setattr("prowess.catalog._live.Inotify", no_inotify)
    elif sys.platform != "linux":
        pytest.skip("inotify")
    with LiveCatalog(top / "repo", rules(), top / "home", skill_dirs=[top / "repo/.agents/skills"]) as live:
        yield live


def rules() -> Host:
    """Return rules for which links to folders are followed, also where the user names them."""
    host = load_host("claude-code")
    named = host.roots[0].with_changes(path="@skill-dir", scope="extra", walk="none", nested="no")
    return host.with_changes(roots=(*host.roots, named))


def no_inotify() -> None:
    raise OSError("no inotify")


def shown(catalog: Catalog) -> list[tuple[Any, ...]]:
    entries = ((entry.path, entry.name, entry.state, entry.reason, entry.description) for entry in catalog.skills)
    return [*entries, *((item.as_dict(),) for item in catalog.findings)]


def fresh(top: Path) -> list[tuple[Any, ...]]:
    skills = top / "repo/.agents/skills"
    return shown(discover(top / "repo", rules(), top / "home", skill_dirs=[skills], cache=False))


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that were just written count as settled."""
    monkeypatch.setattr(live_module, "SETTLE_NS", 0)
    time.sleep(0.02)


def system_calls_of(function: Callable[[], object]) -> list[str]:
    """Return the functions with which a call asks the system something."""
    names: list[str] = []

    def note(_: object, event: str, called: Any) -> None:
        module = called.__module__ or type(called.__self__).__module__ if event == "c_call" else ""
        if module in ("posix", "select", "_io", "io", "_ctypes") and called.__name__ != "fspath":
            names.append(called.__name__)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names


def link(path: Path, target: Path | str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "role"])
@pytest.mark.parametrize("watched", [True, False], ids=["inotify", "compared"])
def test_a_change_is_seen_at_once(
    change: str, watched: bool, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk if there is one: in memory, no time changes when a mapping is written."""
    if not watched:
        monkeypatch.setattr("prowess.catalog._live.Inotify", no_inotify)
    top = open_folder
    (top / "repo/.git").mkdir(parents=True)
    (top / "home").mkdir()
    changing_tree(top)
    host, change_it = CHANGES[change]
    question: Any = {"host": host, "home": top / "home", "skill_dirs": ["extra"]}
    with LiveCatalog(top / "repo/sub", **question) as live:
        for make in (lambda _: None, change_it, lambda _: skill(top / "home/.claude/skills/later")):
            make(top)
            assert shown(live.current()) == shown(discover(top / "repo/sub", **question, cache=False))


def test_a_moved_link_target_is_seen(top: Path, live: LiveCatalog) -> None:
    """The folder of skills is a link to a link; each of the two, and what they lead to, changes."""
    skills = top / "repo/.claude/skills"
    write_skill(top / "far/one", "one")
    write_skill(top / "far/two", "two")
    (top / "far/link").symlink_to("one")
    skills.parent.mkdir()
    skills.symlink_to(top / "far/link")
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: link(top / "far/link", "two"),
        lambda: (top / "far/two").rename(top / "far/three"),
        lambda: write_skill(top / "far/two", "again"),
        lambda: (top / "far").rename(top / "farther"),
        lambda: link(skills, top / "farther/one"),
        lambda: write_skill(top / "farther/one", "last"),
    ]
    before: list[tuple[Any, ...]] = []
    for change in changes:
        change()
        assert shown(live.current()) == fresh(top) != before
        before = fresh(top)


def test_a_folder_that_a_program_is_in_is_seen_when_it_is_replaced(top: Path, live: LiveCatalog) -> None:
    """The system reports the removal of such a folder only to those who watch its parent."""
    folder = top / "repo/.claude/skills"
    folder.mkdir(parents=True)
    fd = os.open(folder, os.O_RDONLY)
    try:
        live.current()
        folder.rmdir()
        folder.parent.rmdir()
        live.current()
        write_skill(folder, "new")
        assert shown(live.current()) == fresh(top)
        assert [entry.name for entry in live.current().active].count("new") == 1
    finally:
        os.close(fd)


def test_a_variable_is_seen(top: Path) -> None:
    env: dict[str, str] = {}
    with LiveCatalog(top / "repo", "codex", env=env) as live:
        live.current()
        write_skill(top / "codex/skills", "new")
        env["CODEX_HOME"] = str(top / "codex")
        assert "new" in [entry.name for entry in live.current().skills]


@linux_only
def test_nothing_is_read_while_nothing_changes(top: Path) -> None:
    """A turn asks the system once; a change of a file that no skill needs costs no scan either."""
    (top / "repo/src").mkdir()
    with LiveCatalog(top / "repo", home=top / "home") as live:
        catalog = live.current()
        assert live.current() is catalog
        assert system_calls_of(live.current) == ["poll"]
        (top / "repo/src/main.py").write_text("pass")
        (top / "repo/notes.md").write_text("x")
        assert live.current() is catalog


def test_a_comparison_keeps_the_catalog_while_nothing_changes(
    top: Path, live: LiveCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch)
    catalog = live.current()
    assert live.current() is catalog


@linux_only
@pytest.mark.slow
def test_more_events_than_the_queue_holds_are_a_change(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is compared, and the catalog is kept if it is the same. The event of a change may be lost."""
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        most = int(file.read())
    if most > 100_000:
        pytest.skip("the queue holds too many events for a test")
    settle(monkeypatch)
    with LiveCatalog(top / "repo", home=top / "home") as live:
        for change in (False, True):
            catalog = live.current()
            for number in range(most // 2 + 1):
                noise = top / f"repo/.agents/noise-{number}"
                noise.touch()
                noise.unlink()
            if change:
                write_skill(top / "repo/.agents/skills", "pdf", "Fills forms.")
            assert (live.current() is catalog) is not change
            assert live.current() is live.current()
        assert [entry.description for entry in live.current().skills] == ["Reads forms.", "Fills forms."]


@linux_only
@pytest.mark.slow
def test_without_room_for_watches_files_are_compared(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's limit may be reached after any number of watches."""
    watch = inotify.Inotify.watch
    left = 8

    def limited(self: inotify.Inotify, path: str, *args: Any) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "no space left on device")
        return watch(self, path, *args)

    monkeypatch.setattr(inotify.Inotify, "watch", limited)
    for left in range(0, 24, 2):
        with LiveCatalog(top / "repo", home=top / "home") as live:
            live.current()
            write_skill(top / "repo/.agents/skills", f"new-{left}")
            assert shown(live.current()) == shown(discover(top / "repo", home=top / "home", cache=False))


@linux_only
def test_a_network_file_system_is_compared(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify.Inotify, "is_local", lambda *_: False)
    settle(monkeypatch)
    with LiveCatalog(top / "repo", home=top / "home") as live:
        catalog = live.current()
        assert live.current() is catalog
        assert {"poll", "lstat"} <= set(system_calls_of(live.current))
        write_skill(top / "repo/.agents/skills", "new")
        assert "new" in [entry.name for entry in live.current().skills]


@linux_only
def test_a_file_system_that_is_mounted_over_a_folder_is_seen(top: Path) -> None:
    """The folder has no event, so the list of mounts is watched: in a namespace of its own."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces for mounts here")
    program = f"""
import subprocess
from prowess.catalog import LiveCatalog
live = LiveCatalog({str(top / "repo")!r}, home={str(top / "home")!r})
print(len(live.current().skills))
subprocess.run(["mount", "--bind", {str(top / "other")!r}, {str(top / "repo/.agents/skills")!r}], check=True)
print([entry.name for entry in live.current().skills])
"""
    write_skill(top / "other", "mounted")
    result = subprocess.run([unshare, "-rm", sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout.splitlines() == ["2", "['mounted']"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_process_has_its_own_queue(top: Path, live: LiveCatalog) -> None:
    """Each of two processes sees every change, whichever asks first."""
    live.current()
    write_skill(top / "repo/.agents/skills", "first")
    child = os.fork()
    if not child:
        code = 1
        try:
            names = [entry.name for entry in live.current().skills]
            code = 0 if "first" in names else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "first" in [entry.name for entry in live.current().skills]
    write_skill(top / "repo/.agents/skills", "second")
    assert "second" in [entry.name for entry in live.current().skills]


def test_many_threads_and_tasks_share_one(top: Path, live: LiveCatalog) -> None:
    """While skills are added, each call sees those that were there when it began."""
    errors: list[str] = []
    written = 0

    def ask() -> None:
        while written < 20:
            least = written
            names = {entry.name for entry in live.current().skills}
            errors.extend(f"new-{number}" for number in range(least) if f"new-{number}" not in names)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        write_skill(top / "repo/.agents/skills", f"new-{number}")
        written = number + 1
    for thread in threads:
        thread.join()

    async def gather() -> list[Catalog]:
        return await asyncio.gather(*(asyncio.to_thread(live.current) for _ in range(20)))

    assert errors == []
    assert all(shown(catalog) == fresh(top) for catalog in asyncio.run(gather()))


@linux_only
@pytest.mark.slow
def test_descriptors_and_watches_do_not_grow(top: Path) -> None:
    """After a thousand turns with two hundred changes; none is open after `close`, or when it is no longer used."""
    gc.collect()  # what other tests left open is closed now, and not meanwhile
    before = len(os.listdir("/proc/self/fd"))
    live = LiveCatalog(top / "repo", home=top / "home")
    live.current()
    opened = len(os.listdir("/proc/self/fd"))
    for number in range(200):
        write_skill(top / "repo/.agents/skills", f"new-{number % 3}")
        for _ in range(5):
            live.current()
        shutil.rmtree(top / f"repo/.agents/skills/new-{number % 3}")
    live.current()
    watches = {*live._watcher._watches.values()} - {0} if live._watcher else {}
    assert len(os.listdir("/proc/self/fd")) == opened == before + 2
    with open(f"/proc/self/fdinfo/{live._watcher._inotify.fd}") as file:  # type: ignore[union-attr]
        assert sum(line.startswith("inotify wd") for line in file) == len(watches) < 40
    live.close()
    assert len(os.listdir("/proc/self/fd")) == before
    LiveCatalog(top / "repo", home=top / "home").current()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions")
def test_after_every_random_change_it_equals_a_new_scan() -> None:
    """Some hundred changes to worlds of skills, links and settings; `make mutations` makes ten thousand."""
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}: python tests/mutations.py --seed {seed} --changes 300")
    counts = live_batch(seed, 0, 12)
    assert counts["live changes"] > 200
    assert counts["kept"] > 50


@pytest.fixture
def old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as old at once, so that results are stored in the cache."""
    monkeypatch.setattr("prowess.cache._recorded.SETTLE_NS", 0)
    monkeypatch.setattr("prowess.catalog._live.SETTLE_NS", 0)


@linux_only
@pytest.mark.usefixtures("old_files")
def test_the_first_catalog_is_that_of_the_cache(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A live catalog fills the cache too, and the next one reads no skill."""
    with LiveCatalog(top / "repo", home=top / "home") as live:
        first = shown(live.current())
    monkeypatch.setattr(LiveCatalog, "_discover", lambda _: pytest.fail("it read the disk"))
    with LiveCatalog(top / "repo", home=top / "home") as live:
        current = live.current()
        assert shown(current) == first == shown(discover(top / "repo", home=top / "home", cache=False))
        assert live.current() is current


@linux_only
@pytest.mark.usefixtures("old_files")
@pytest.mark.parametrize(
    "change",
    [
        lambda top: write_skill(top / "repo/.agents/skills", "pdf", "Reads other forms."),
        lambda top: write_skill(top / "home/.agents/skills", "new"),
        lambda top: (top / "repo/.agents").rename(top / "repo/.away"),
    ],
)
def test_changes_after_a_start_from_the_cache_are_seen(top: Path, change: Callable[[Path], object]) -> None:
    """Whether they come before the first catalog or after it."""
    for before in (True, False):
        with LiveCatalog(top / "repo", home=top / "home") as live:
            live.current()
        with LiveCatalog(top / "repo", home=top / "home") as live:
            first = None if before else live.current()
            change(top)
            assert live.current() is not first
            assert shown(live.current()) == shown(discover(top / "repo", home=top / "home", cache=False))
        if before:  # once more, from the beginning
            shutil.rmtree(top)
            (top / "home").mkdir(parents=True)
            write_skill(top / "repo/.agents/skills", "pdf")
            write_skill(top / "repo/.agents/skills", "csv")


@linux_only
def test_a_queue_of_events_can_be_closed_while_python_ends() -> None:
    """The modules are gone before the last objects are."""
    code = "from prowess._internal import inotify\nqueue = inotify.Inotify()\ninotify.os = None\ndel queue\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
