"""Memory of a command: all of it counts, whatever it is made with, with a control group and without one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.fs import remove_tree
from prowess.sandbox import Limits, _control_groups as control_groups, _supervisors as supervisors, stop
from support.commands import run_python, run_shell
from support.growth import END
from support.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.sandbox import Result

pytestmark = pytest.mark.usefixtures("linux")

MIB = 1024 * 1024
LIMIT = 64 * MIB
FILE = "file = open({}, 'wb', 0)\nfor _ in range(240): file.write(bytes(MIB)); time.sleep(PAUSE)"
MAP = "memory = mmap.mmap({})\nfor _ in range(240): memory.write(bytes(MIB))"
WAYS = {
    "a file in /tmp": FILE.format("'/tmp/x'"),
    "a file in /dev/shm": FILE.format("'/dev/shm/x'"),
    "a file in the home": FILE.format("os.environ['HOME'] + '/x'"),
    "many files in the home": "for n in range(240): open(f'{os.environ[\"HOME\"]}/{n}', 'wb').write(bytes(MIB)); "
    "time.sleep(PAUSE)",
    "a removed file in the home": FILE.format("os.environ['HOME'] + '/x'").replace("\n", "\nos.unlink(file.name)\n", 1),
    "a file in memory": "fd = os.memfd_create('x')\nfor _ in range(240): os.write(fd, bytes(MIB))",
    "shared memory": MAP.format("-1, 240 * MIB"),
    "shared memory of a child that has ended": "memory = mmap.mmap(-1, 240 * MIB)\n"
    "if not os.fork():\n  for _ in range(240): memory.write(bytes(MIB))\n  os._exit(0)\n"
    "assert os.wait()[1] == 0",
    "zeros": MAP.format("os.open('/dev/zero', os.O_RDWR), 240 * MIB"),
    "memory of System V": "libc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
    "number = libc.shmget(0, 240 * MIB, 0o1600)\nassert number >= 0\n"
    "ctypes.memset(libc.shmat(number, None, 0), 1, 240 * MIB)",
    "a stack": MAP.format("-1, 240 * MIB, flags=0x122"),
    "data": "data = b'x' * (240 * MIB)",
    "many processes": "for _ in range(12):\n  if not os.fork():\n    data = b'x' * (20 * MIB)\n"
    "    time.sleep(2); os._exit(0)\nfor _ in range(12): assert os.wait()[1] == 0",
}

WRITE = "[os.write(fd, bytes(MIB)) for _ in range(20)]"
HIDDEN = {
    "in deep folders": "for _ in range(1500): os.mkdir('d'); os.chdir('d')\n"
    "fd = os.open('f', 66); " + WRITE.replace("20", "100"),
    "in folders that cannot be read": "for n in range(12):\n  os.mkdir(str(n))\n"
    "  fd = os.open(f'{n}/f', 66); os.chmod(str(n), 0); " + WRITE,
    "on the way between two sockets": "import socket; a, b = socket.socketpair()\nfor n in range(12):\n"
    "  fd = os.open('f', 66); os.unlink('f'); socket.send_fds(a, [b'x'], [fd]); " + WRITE + "; os.close(fd)",
    "removed, and only in a mapping": "libc = ctypes.CDLL(None)\n"
    "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]\n"
    "for n in range(12):\n  fd = os.open('f', 66); os.ftruncate(fd, 20 * MIB); "
    "libc.mmap(None, 20 * MIB, 3, 1, fd, 0); " + WRITE + "; os.close(fd); os.unlink('f')",
    "removed, and open in a process that hides its files": "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
    "for n in range(12):\n  fd = os.open('f', 66); os.unlink('f'); " + WRITE,
}


@pytest.fixture(params=["with a group", "without a group"])
def counting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Use a control group for all commands, or none."""
    stop()
    if request.param == "without a group":
        monkeypatch.setitem(control_groups._bases, os.getpid(), None)
    elif not control_groups.is_usable():
        pytest.skip("no control group can be made here")
    yield request.param
    stop()


def spend(code: str, cwd: Path, *, pause: float = 0.0, **options: Any) -> Result:
    lines = f"import ctypes, mmap, os, time\nMIB, PAUSE = 1 << 20, {pause}\n{code}\nprint('done')"
    return run_python(lines, cwd, limits=Limits(memory=LIMIT, timeout=END), **options)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_beyond_the_limit(counting: str, way: str, bwrap: str, tmp_path: Path) -> None:
    """240 MiB beside a limit of 64: the command fails, and so does no later one."""
    done = spend(WAYS[way], tmp_path, sandbox=bwrap)
    assert b"done" not in done.stdout, done
    assert done.exit_code != 0
    assert spend("pass", tmp_path, sandbox=bwrap).stdout == b"done\n"


@pytest.mark.slow
@pytest.mark.parametrize("way", [way for way in WAYS if "home" in way])
def test_a_scratch_folder_of_the_caller_counts(counting: str, way: str, sandbox: str, tmp_path: Path) -> None:
    """It is on a disk, so it is measured several times a second."""
    (tmp_path / "scratch").mkdir()
    done = spend(WAYS[way], tmp_path, pause=0.01, sandbox=sandbox, scratch=tmp_path / "scratch")
    assert (done.stdout, done.out_of_memory) == (b"", True), done


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """Make a folder that is removed after the test, however deep it became: pytest's own removal fails."""
    (tmp_path / "scratch").mkdir()
    yield tmp_path / "scratch"
    remove_tree(str(tmp_path / "scratch"))


@pytest.mark.slow
@pytest.mark.parametrize("way", HIDDEN)
def test_no_file_of_a_scratch_folder_is_hidden(way: str, sandbox: str, scratch: Path, tmp_path: Path) -> None:
    """Neither from root nor from a user who cannot look into it."""
    code = f"os.chdir(os.environ['HOME'])\n{HIDDEN[way]}\ntime.sleep(2)"
    done = spend(code, tmp_path, sandbox=sandbox, scratch=scratch)
    assert (done.stdout, done.out_of_memory) == (b"", True), done


@pytest.mark.slow
def test_a_scratch_folder_that_the_command_removes_is_no_way_out(scratch: Path, tmp_path: Path) -> None:
    """It can, without a sandbox; what it hides then cannot be measured."""
    code = "home = os.environ['HOME']; os.chdir(home); import socket; a, b = socket.socketpair()\n"
    code += "fd = os.open('f', 66); socket.send_fds(a, [b'x'], [fd]); os.unlink('f'); os.rmdir(home); time.sleep(2)"
    done = spend(code, tmp_path, sandbox="none", scratch=scratch)
    assert (done.stdout, done.out_of_memory) == (b"", True), done


IN_FOLDER = {
    "a file": FILE.format("'x'"),
    "a removed file": FILE.format("'x'").replace("\n", "\nos.unlink(file.name)\n", 1),
    "many large files": "for n in range(240): open(str(n), 'wb').write(bytes(MIB)); time.sleep(PAUSE)",
    "many small files": "os.mkdir('d')\nfor n in range(20_000): open(f'd/{n}', 'w').close()",
    "many folders": "for n in range(20_000): os.mkdir(str(n))",
    "many links": "for n in range(20_000): os.symlink('x', str(n))",
    **{name: code for name, code in HIDDEN.items() if name.startswith("in ")},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", IN_FOLDER)
def test_no_way_leads_beyond_the_limits_of_a_folder(counting: str, way: str, sandbox: str, scratch: Path) -> None:
    """Of a folder that the command can change: bytes, and files. Where it is in memory, it counts there too."""
    limits = Limits(memory=8 * LIMIT, timeout=END, folder_size=LIMIT, folder_files=2000)
    code = f"import ctypes, mmap, os, time\nMIB, PAUSE = 1 << 20, 0.01\n{IN_FOLDER[way]}\ntime.sleep(9)\nprint('done')"
    done = run_python(code, scratch, limits=limits, writable=[scratch], sandbox=sandbox)
    assert (done.stdout, done.out_of_space) == (b"", True), done
    remove_tree(str(scratch))
    scratch.mkdir()
    few = "[os.mkdir(str(n)) for n in range(1000)]\nopen('x', 'wb').write(bytes(20 * MIB))"
    done = run_python(f"import os, time\nMIB = 1 << 20\n{few}\ntime.sleep(0.5)\nprint('done')", scratch, limits=limits)
    assert (done.stdout, done.out_of_space) == (b"done\n", False)


@pytest.mark.slow
def test_a_folder_that_cannot_be_read_is_no_offence(sandbox: str, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    code = "os.chdir(os.environ['HOME']); os.mkdir('d', 0); time.sleep(0.5)"
    assert spend(code, tmp_path, sandbox=sandbox, scratch=tmp_path / "scratch").stdout == b"done\n"


@pytest.mark.slow
def test_empty_files_count(counting: str, bwrap: str, tmp_path: Path) -> None:
    """Each takes memory of the kernel; 200,000 are more than 64 MiB."""
    code = "for n in range(200_000): os.mknod(f'/dev/shm/{n}')\ntime.sleep(2)"
    done = spend(code, tmp_path, sandbox=bwrap)
    assert (done.stdout, done.out_of_memory) == (b"", True), done


@pytest.mark.slow
def test_an_end_for_lack_of_memory_is_reported(counting: str, bwrap: str, tmp_path: Path) -> None:
    """The supervisor goes on, although it is in the same group."""
    assert spend("pass", tmp_path, sandbox=bwrap).out_of_memory is False
    before = set(supervisors._IDLE)
    done = spend(WAYS["many processes"], tmp_path, sandbox=bwrap)
    assert (done.stdout, done.out_of_memory, done.timed_out) == (b"", True, False), done
    assert done.exit_code
    assert set(supervisors._IDLE) == before


@pytest.mark.slow
def test_pages_that_processes_share_since_a_fork_count_once(counting: str, bwrap: str, tmp_path: Path) -> None:
    """Six processes with the same 40 MiB have 40 MiB."""
    code = (
        "data = b'x' * (40 * MIB)\nfor _ in range(6):\n  if not os.fork():\n    time.sleep(0.3); os._exit(0)\n"
        "for _ in range(6): assert os.wait()[1] == 0"
    )
    assert spend(code, tmp_path, sandbox=bwrap).stdout == b"done\n"


def test_within_the_limit_everything_works(counting: str, bwrap: str, tmp_path: Path) -> None:
    """Files in memory, pools of processes, and values that they share."""
    code = (
        "import multiprocessing as m\ncontext = m.get_context('fork')\n"
        "value, array = context.Value('i', 3), context.Array('i', 1000)\n"
        "def work(): value.value += 4; array[999] = 5\n"
        "process = context.Process(target=work); process.start(); process.join()\n"
        "print(value.value, array[999])\n"
        "from multiprocessing.shared_memory import SharedMemory\n"
        "memory = SharedMemory(create=True, size=MIB); memory.buf[0] = 6; print(memory.buf[0]); memory.unlink()\n"
        "for at in ('/tmp', '/dev/shm', os.environ['HOME']): open(at + '/x', 'wb').write(bytes(20 * MIB)); "
        "os.unlink(at + '/x')\n"
        "print(open('/dev/zero', 'rb').read(3))"
    )
    done = spend(code, tmp_path, sandbox=bwrap)
    assert done.stdout == b"7 5\n6\nb'\\x00\\x00\\x00'\ndone\n", done.stderr


@pytest.mark.slow
def test_devices_cannot_be_added_and_still_work(counting: str, bwrap: str, tmp_path: Path) -> None:
    """No folder but the new ones can be written, so nothing is without a size."""
    code = """if True:
        import pty
        for top, folders, _ in os.walk("/"):
            folders[:] = [name for name in folders if not (top == "/" and name in ("proc", "usr"))]
            try:
                open(top + "/new", "x").close()
                size = os.statvfs(top)
                print(top if size.f_blocks * size.f_frsize <= 64 * MIB else f"{top} has no size")
            except OSError:
                pass
        open("/dev/null", "wb").write(b"x"); open("/dev/urandom", "rb").read(3)
        own, other = os.openpty(); os.write(own, b"x"); print(os.ttyname(other)[:9])
    """
    done = spend(code, tmp_path, sandbox=bwrap)
    *folders, terminal, end = done.stdout.decode().splitlines()
    assert (terminal, end) == ("/dev/pts/", "done"), done
    # Below these are the folders that lead to the working directory.
    places = {folder.partition("run-")[0] for folder in folders if not folder.startswith(("/tmp/", "/dev/shm/"))}
    assert places == {"/tmp", "/dev/shm", "/prowess-"}
    assert not [folder for folder in folders if "no size" in folder]


def test_a_home_in_the_sandbox_is_not_on_the_disk(bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    done = run_shell("touch $HOME/x $TMPDIR/y; ls $HOME; echo $HOME; pwd", tmp_path, sandbox=bwrap)
    assert done.stdout.split()[:2] == [b"x", b"y"]
    assert done.stdout.split()[3].decode() == str(tmp_path)
    assert not os.path.lexists(done.stdout.split()[2])
    assert [name for name in os.listdir(tmp_path / "temporary") if "-run-" in name] == []


def groups() -> set[str]:
    base = control_groups._base()
    assert base is not None
    return {name for name in os.listdir(base["memory"]) if name.startswith("prowess-")}


@pytest.mark.parametrize("counting", ["with a group"], indirect=True)
@pytest.mark.usefixtures("counting")
def test_a_group_ends_with_its_supervisor(tmp_path: Path) -> None:
    """However that ends; one that is left behind is removed later."""
    before = groups()
    run_shell("true", tmp_path)
    (own,) = groups() - before
    supervisor = supervisors._IDLE[-1]
    assert supervisor.group is not None
    assert str(supervisor._pid) in Path(supervisor.group["memory"], "cgroup.procs").read_text().split()
    stop()
    assert own not in groups()
    # A caller that is gone cannot remove it.
    run_shell("true", tmp_path)
    (own,) = groups() - before
    supervisor = supervisors._IDLE.pop()
    supervisors._ALL.discard(supervisor)
    supervisor.close()
    wait_until(lambda: own not in groups())
    os.waitpid(supervisor._pid, 0)


@pytest.mark.parametrize("counting", ["with a group"], indirect=True)
@pytest.mark.usefixtures("counting")
def test_processes_are_counted_for_root_too(tmp_path: Path) -> None:
    """By the group."""
    base = control_groups._base()
    if not (base and base["pids"]):
        pytest.skip("no control group can count processes here")
    code = "import os, time\ntry:\n  for _ in range(60):\n    if not os.fork(): time.sleep(5); os._exit(0)\n"
    code += "except OSError as error: print(error.errno)"
    assert run_python(code, tmp_path, limits=Limits(processes=20)).stdout == b"11\n"
