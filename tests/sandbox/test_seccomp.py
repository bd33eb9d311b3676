"""The filter of system calls: what it refuses, what still works, and that no way into the sandbox is without it."""

from __future__ import annotations

import errno
import os
import platform
import stat
import struct
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import _seccomp as seccomp, run
from prowess.sandbox._backends import Backend
from prowess.sandbox._profiles import Confinement
from prowess.sandbox._seccomp import CALLS, MACHINES, MODES, UNCOUNTED_MEMORY, _program, filter_program
from support.commands import SOURCE, run_python, run_shell

if TYPE_CHECKING:
    from pathlib import Path

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
X86_ONLY = pytest.mark.skipif(platform.machine() != "x86_64", reason="calls of x86-64")
CALLED = """if True:
    import ctypes, os, sys
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    def call(number, *arguments):
        ctypes.set_errno(0)
        result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
        return ctypes.get_errno() if result == -1 else 0
"""


def decide(program: bytes, number: int, *arguments: int, architecture: int) -> int:
    """Run a filter as the kernel does, and return what it decides."""
    words = (*arguments, *(0,) * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *words)
    steps = list(struct.iter_unpack("<HBBI", program))
    value = at = 0
    while True:
        code, if_true, if_false, constant = steps[at]
        at += 1
        if code == 0x20:
            assert constant % 4 == 0
            assert constant < len(data)
            value = int.from_bytes(data[constant : constant + 4], "little")
        elif code == 0x06:
            return int(constant)
        else:
            if code == 0x54:
                value &= constant
                continue
            is_true = {0x15: value == constant, 0x25: value > constant, 0x45: bool(value & constant)}[code]
            at += if_true if is_true else if_false


@pytest.mark.parametrize("group_bits", [False, True])
@pytest.mark.parametrize("shared_memory", [False, True])
@pytest.mark.parametrize("unix_sockets", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_of_each_machine_decides_as_its_table_says(
    machine: str, unix_sockets: bool, shared_memory: bool, group_bits: bool
) -> None:
    """Each call of the table, the checked arguments, and everything else, for machines that this one is not."""
    column, architecture, checked = MACHINES[machine]
    program = _program(machine, unix_sockets=unix_sockets, shared_memory=shared_memory, group_bits=group_bits)
    assert len(program) % 8 == 0
    assert len(program) // 8 < 4096

    def decision(number: int, *arguments: int) -> int:
        return decide(program, number, *arguments, architecture=architecture)

    table = CALLS if shared_memory else (*CALLS, *UNCOUNTED_MEMORY)
    refused = {call[column]: call[3] for call in table if call[column] is not None}
    for number in range(seccomp._LAST_CALL + 1):
        if number not in checked.values():
            assert decision(number) == (ERROR | refused[number] if number in refused else ALLOW), number
    for number in (seccomp._LAST_CALL + 1, 1000, 0x40000000, 0x40000000 | 39, 0x7FFFFFFF, 0x80000000, -1):
        assert decision(number) == ERROR | errno.ENOSYS
    for call in MODES:
        found, mode_argument, flag_argument = call[column], call[3], call[4]
        if found is None:
            continue
        for mode in (0, *(1 << bit for bit in range(16)), 0o4755, 0o6711, 0o1777, 0o106755, 1 << 31):
            is_special = mode & (0o4000 if group_bits else 0o6000)
            for flags in (0, 0x80002, 0x410001, 0x40, 0x80241, 0x400000):
                is_refused = is_special and (flag_argument is None or flags & 0x400040)
                words = {mode_argument: mode | 1 << 32, flag_argument: flags}
                arguments = [words.get(at, 0xFFFF) for at in range(6)]
                assert decision(int(found), *arguments) == (ERROR | errno.EPERM if is_refused else ALLOW)
    for flags in (0x20000, *(1 << bit for bit in range(25, 31)), 0x10000011, 0xFFFFFFFF):
        assert decision(checked["clone"], flags) == ERROR | errno.EPERM
    for flags in (17, 0x4111, 0x3D0F00, 0x1200011 | 0x01200000, 0x80, 0x80000000):
        assert decision(checked["clone"], flags) == ALLOW
    unix = ALLOW if unix_sockets else ERROR | errno.EAFNOSUPPORT
    for family in range(50):
        allowed = {1: unix, 2: ALLOW, 10: ALLOW, 16: ALLOW}.get(family, ERROR | errno.EAFNOSUPPORT)
        assert decision(checked["socket"], family, 1) == allowed
        # The kernel ignores the upper half of a family.
        assert decision(checked["socket"], family | 1 << 32, 1) == allowed
        for kind in range(16):
            allowed = ALLOW if family == 1 and (unix_sockets or kind in (1, 5)) else ERROR | errno.EAFNOSUPPORT
            assert decision(checked["socketpair"], family, kind | 0x80800) == allowed
    for protocol in (*range(1, 23), 1 << 31):
        assert decision(checked["socket"], 16, 3, protocol) == ERROR | errno.EAFNOSUPPORT
    for family in (2, 10):
        for protocol in (*range(300), 1 << 31):
            allowed = ALLOW if protocol in (0, 1, 6, 17, 58) else ERROR | errno.EPROTONOSUPPORT
            assert decision(checked["socket"], family, 1, protocol) == allowed
            assert decision(checked["socket"], family, 0x80802 | 1 << 32, protocol | 1 << 32) == allowed
        for kind in range(16):
            allowed = ALLOW if kind <= 3 else ERROR | errno.EPROTONOSUPPORT
            assert decision(checked["socket"], family, kind | 0x80800) == allowed
    for flags in (0x21, 0x23, 0x121, 0x4021, 0x22 | 0x100, 0x1 | 0x100):
        expected = ALLOW if shared_memory else ERROR | errno.EPERM
        assert decision(checked["mmap"], 0, 4096, 3, flags) == expected
    for flags in (0x22, 0x02, 0x01, 0x03, 0x4022, 0x28, 0x20022):
        assert decision(checked["mmap"], 0, 4096, 3, flags) == ALLOW
    for request in (0x5412, 0x541C):
        assert decision(checked["ioctl"], 0, request) == ERROR | errno.EPERM
        assert decision(checked["ioctl"], 0, request | 7 << 32) == ERROR | errno.EPERM
    assert decision(checked["ioctl"], 0x5412, 0x5413, 0x5412) == ALLOW
    for other in (*(found[1] for found in MACHINES.values()), 0x40000003, 0x40000028, 0):
        is_own = other == architecture
        assert (decide(program, 0, architecture=other) == ALLOW) is is_own
        assert is_own or decide(program, 0, architecture=other) == KILL


@pytest.mark.parametrize("column", [1, 2])
def test_each_call_is_in_the_table_once(column: int) -> None:
    table = (*CALLS, *UNCOUNTED_MEMORY, *MODES)
    numbers = [int(call[column] or 0) for call in table if call[column] is not None]
    assert len(numbers) == len(set(numbers))
    assert len({call[0] for call in table}) == len(table)
    assert 0 < max(numbers) <= seccomp._LAST_CALL
    assert not set(numbers) & set(list(MACHINES.values())[column - 1][2].values())


def test_numbers_are_those_of_the_headers_of_this_system() -> None:
    """For both kinds of machine: arm64 has the numbers of the generic table."""
    import re

    places = {1: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 2: "/usr/include/asm-generic/unistd.h"}
    found = 0
    for column, place in places.items():
        if not os.path.isfile(place):
            continue
        with open(place, encoding="utf-8") as file:
            header = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", file.read()))
        for call in (*CALLS, *UNCOUNTED_MEMORY, *MODES):
            if call[0] in header and call[column] is not None:
                found += 1
                assert int(header[call[0]]) == call[column], call[0]
    if not found:
        pytest.skip("the headers of the kernel are not installed")


def test_a_machine_without_numbers_has_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never a sandbox without a filter."""
    names = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*names[:4], "riscv64")))
    with pytest.raises(SandboxError, match="no filter of system calls for the machine `riscv64`") as caught:
        filter_program(unix_sockets=False, shared_memory=False, group_bits=False)
    assert "x86_64" in (caught.value.hint or "")
    confinement = Confinement(cwd="/", env={}, readable=(), writable=(), network=False)
    with pytest.raises(SandboxError, match="no filter"):
        Backend(name="bwrap", path="/usr/bin/bwrap").command_words(confinement, ["/bin/true"])


def test_bwrap_refuses_to_start_without_the_filter(bwrap: str, tmp_path: Path) -> None:
    """The command line names its descriptor, so a caller that forgets to pass it starts nothing."""
    import subprocess

    from prowess.sandbox import find_backend

    confinement = Confinement(cwd="/", env={}, readable=(), writable=(), network=False)
    words, files = find_backend(bwrap).command_words(confinement, ["/bin/true"])
    read, write = os.pipe()
    os.write(write, files[3])
    os.close(write)
    words[words.index("3")] = str(read)
    done = subprocess.run(words, pass_fds=(read,), capture_output=True, check=False)
    os.close(read)
    assert done.returncode == 1
    assert b"seccomp" in done.stderr


def test_refused_calls_fail_with_their_error(bwrap: str, tmp_path: Path) -> None:
    """Each call of the table, tried from inside with arguments that do no harm."""
    column = MACHINES[platform.machine()][0]
    numbers = [int(call[column] or 0) for call in CALLS if call[column] is not None]
    code = f"{CALLED}    print([call(number, -1, -1, -1, -1, -1, -1) for number in {numbers}])"
    done = run_python(code, tmp_path, sandbox=bwrap)
    expected = [call[3] for call in CALLS if call[column] is not None]
    assert done.stdout.decode() == f"{expected}\n", done.stderr


def test_the_names_of_keys_cannot_be_read(bwrap: str, tmp_path: Path) -> None:
    """They are the same in every namespace."""
    done = run_shell("cat /proc/keys /proc/key-users; echo read", tmp_path, sandbox=bwrap)
    assert done.stdout == b"read\n"


def test_no_way_leads_into_new_namespaces(bwrap: str, tmp_path: Path) -> None:
    """Neither by `clone` nor by programs."""
    clone = MACHINES[platform.machine()][2]["clone"]
    flags = [0x20000, *(1 << bit for bit in range(25, 31))]
    code = f"""{CALLED}
    print([call({clone}, flag | 17, 0, 0, 0, 0) for flag in {flags}])
    """
    assert run_python(code, tmp_path, sandbox=bwrap).stdout.decode() == f"{[errno.EPERM] * 7}\n"
    done = run_shell("unshare -U true; unshare -r id; unshare -n true", tmp_path, sandbox=bwrap)
    assert done.stdout == b""
    assert done.exit_code != 0


def test_programs_work_as_before(bwrap: str, tmp_path: Path) -> None:
    """Threads, children, pipes between processes, and sockets of the network."""
    code = """if True:
        import asyncio, multiprocessing, os, socket, subprocess, threading
        thread = threading.Thread(target=print, args=("thread",), kwargs={"flush": True})
        thread.start(); thread.join()
        if not os.fork():
            print("fork", flush=True); os._exit(0)
        os.wait()
        print(subprocess.run(["echo", "subprocess"], capture_output=True, text=True).stdout, end="")
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(abs, [-1, 2]))
        print(socket.socketpair()[0].family.name)
        async def echo():
            server = await asyncio.start_server(lambda r, w: (w.write(b"served"), w.close()), "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            print(await reader.read()); writer.close(); server.close()
            process = await asyncio.create_subprocess_exec("echo", "asyncio", stdout=-1)
            print((await process.communicate())[0])
        asyncio.run(echo())
        print([name for _, name in socket.if_nameindex()])
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
        try: socket.socket(socket.AF_INET6).close()
        except OSError as error: assert error.errno == 97, error
    """
    done = run_python(code, tmp_path, sandbox=bwrap)
    expected = b"thread\nfork\nsubprocess\n[1, 2]\nAF_UNIX\nb'served'\nb'asyncio\\n'\n['lo']\n"
    assert done.stdout == expected, done.stderr


def test_sockets_of_other_families_cannot_be_made(bwrap: str, tmp_path: Path) -> None:
    """Neither those of packets, of virtual machines, of ciphers, nor the lists of the sockets of a machine."""
    code = """if True:
        import socket
        others = [(family, 3, 0) for family in range(60) if family not in (1, 2, 10, 16)]
        for family, kind, protocol in [*others, (16, 3, 4), (16, 2, 15)]:
            try: socket.socket(family, kind, protocol)
            except OSError as error: assert error.errno == 97, (family, error)
            else: print(family)
    """
    done = run_python(code, tmp_path, sandbox=bwrap)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_only_the_usual_protocols_of_ip_can_be_used(bwrap: str, tmp_path: Path) -> None:
    """A socket of another one (SCTP, DCCP, MPTCP, SMC) would load a part of the kernel that few have tested."""
    code = """if True:
        import ctypes, errno, socket
        libc = ctypes.CDLL(None, use_errno=True)
        names = {errno.EPROTONOSUPPORT: "refused"}
        def make(*words):
            number = libc.socket(*words)
            return "made" if number >= 0 else names.get(ctypes.get_errno(), "other")
        for family in (2, 10):
            for kind, protocol in [(1, 0), (1, 6), (2, 17), (1 | 0x80800, 0)]:
                assert make(family, kind, protocol) != "refused", (family, kind, protocol)
            unusual = [(1, 132), (1, 262), (1, 256), (2, 136), (2, 115), (3, 255)]
            for kind, protocol in [*unusual, (5, 0), (6, 0), (6, 33), (10, 0), (4, 0)]:
                assert make(family, kind, protocol) == "refused", (family, kind, protocol)
        print(make(2, 1, 0), make(2, 2, 0))
    """
    done = run_python(code, tmp_path, sandbox=bwrap)
    assert (done.stdout, done.stderr) == (b"made made\n", b"")


def test_a_terminal_cannot_be_typed_into(bwrap: str, tmp_path: Path) -> None:
    """Not even one that the command has made itself."""
    code = """if True:
        import fcntl, os
        own, other = os.openpty()
        for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
            try: fcntl.ioctl(other, request & 0xFFFFFFFF, b"x")
            except OSError as error: print(error.errno)
    """
    assert run_python(code, tmp_path, sandbox=bwrap).stdout == b"1\n1\n1\n"


@X86_ONLY
@pytest.mark.parametrize("number", [20, 288, 310, 0, 15], ids=["getpid", "keyctl", "unshare", "restart", "chmod"])
def test_a_call_by_the_32_bit_entry_is_killed(bwrap: str, number: int, tmp_path: Path) -> None:
    """`int 0x80` has numbers of its own: 20 is getpid there."""
    # mov eax, number; int 0x80; ret
    machine_code = b"\xb8" + number.to_bytes(4, "little") + b"\xcd\x80\xc3"
    code = f"""if True:
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
        page.write({machine_code!r})
        print("before", flush=True)
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        print("after", flush=True)
    """
    done = run_python(code, tmp_path, sandbox=bwrap)
    assert (done.stdout, done.exit_code) == (b"before\n", 128 + 31)


@X86_ONLY
def test_calls_of_x32_do_not_exist(bwrap: str, tmp_path: Path) -> None:
    """They are the calls of x86-64 under other numbers."""
    code = f"{CALLED}    print([call(0x40000000 | number, 0, 0, 0, 0) for number in (39, 90, 250, 272, 521, 539)])"
    assert run_python(code, tmp_path, sandbox=bwrap).stdout.decode() == f"{[errno.ENOSYS] * 6}\n"


SET_MODES = """
    import ctypes, stat
    def pointer(data):
        kept.append(ctypes.create_string_buffer(data))
        return ctypes.addressof(kept[-1])
    kept, at, tmpfile, create = [], -100, os.O_TMPFILE | os.O_RDWR, os.O_CREAT | os.O_WRONLY
    def calls(mode):
        path = pointer(f"{mode:o}".encode())
        fd = os.open(f"{mode:o}", os.O_CREAT)
        def new(name): return pointer(f"{mode:o}-{name}".encode())
        how = pointer(create.to_bytes(8, "little") + mode.to_bytes(8, "little") + bytes(8))
        yield "chmod", path, mode
        yield "fchmod", fd, mode
        yield "fchmodat", at, path, mode
        yield "fchmodat2", at, path, mode, 0
        yield "fchmodat2", fd, pointer(b""), mode, 0x1000
        yield "mknod", new("a"), mode
        yield "mknod", new("b"), stat.S_IFREG | mode
        yield "mknod", new("c"), stat.S_IFIFO | mode
        yield "mknodat", at, new("d"), stat.S_IFREG | mode
        yield "creat", new("e"), mode
        yield "open", new("f"), create, mode
        yield "open", pointer(b"."), tmpfile, mode
        yield "openat", at, new("g"), create | os.O_CLOEXEC, mode
        yield "openat", at, pointer(b"."), tmpfile, mode
        yield "openat", at, new("h"), create | 1 << 40, mode | 1 << 40
        yield "openat2", at, new("i"), how, 24
    os.umask(0)
    for mode in MODES:
        for name, *arguments in calls(mode):
            if name in NUMBERS: call(NUMBERS[name], *arguments)
    names = [name for name in os.listdir() if os.lstat(name).st_mode & 0o6000]
    print(*sorted(names))
    # Open files without a name, too.
    print(sum(1 for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}") and os.fstat(int(fd)).st_mode & 0o6000))
"""


def set_modes(folder: Path, *modes: int, **options: Any) -> list[str]:
    """Try each way to set a mode; return the files that then have a bit, and the number of open files with one."""
    folder.mkdir()
    column = MACHINES[platform.machine()][0]
    numbers = {call[0]: call[column] for call in (*MODES, ("openat2", 437, 437)) if call[column] is not None}
    code = CALLED + SET_MODES.replace("MODES", repr(modes)).replace("NUMBERS", repr(numbers))
    done = run_python(code, folder, writable=[folder], **options)
    assert (done.exit_code, done.stderr) == (0, b"")
    names, _, count = done.stdout.decode().partition("\n")
    return [*names.split(), count.strip()]


def test_no_set_user_id_bit_can_be_set(bwrap: str, tmp_path: Path) -> None:
    """By no call, on no file: another user who starts it would act as this one, or as its group."""
    for mode in (0o4755, 0o2755, 0o6711, 0o7000):
        name = f"{mode:o}"
        outside = set_modes(tmp_path / f"outside{name}", mode)
        assert {name, *(f"{name}-{letter}" for letter in "bdgh")} <= {*outside}
        assert int(outside[-1]) >= 3
        assert set_modes(tmp_path / name, mode, sandbox=bwrap) == ["0"]
    assert set_modes(tmp_path / "plain", 0o1777, sandbox=bwrap) == ["0"]
    assert stat.S_IMODE((tmp_path / "plain/1777").stat().st_mode) == 0o1777


def test_a_folder_of_a_group_can_be_copied(bwrap: str, tmp_path: Path) -> None:
    """Where the user has set its set-group-ID bit, programs set it on folders too; they set no set-user-ID bit."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2775)
    line = 'umask 002; mkdir -p a/b; cp -r a c; cp -a a d; python3 -c \'import shutil; shutil.copytree("a", "e")\''
    done = run_shell(f"{line}; touch f; chmod 4755 f", folder, sandbox=bwrap, writable=[folder])
    assert done.stderr.count(b"\n") == 1, done.stderr
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {**dict.fromkeys("acde", 0o2775), "f": 0o664}
    (tmp_path / "own").mkdir()
    done = run_shell("mkdir a; chmod 2755 a", tmp_path / "own", sandbox=bwrap, writable=[tmp_path / "own"])
    assert done.stderr == b"chmod: changing permissions of 'a': Operation not permitted\n"


def test_programs_that_open_files_work_as_before(bwrap: str, tmp_path: Path) -> None:
    """Modes without such bits, and calls without a mode."""
    line = (
        "mkfifo pipe; install -m 755 /bin/true t; cp -p t u; mkdir -m 1777 v; tar cf w.tar t u v; mkdir x;"
        " tar xpf w.tar -C x; chmod 700 u; ln t y; mktemp -p . z.XXXXXX >/dev/null; ls -l x/t | cut -c-10"
    )
    done = run_shell(line, tmp_path, sandbox=bwrap, writable=[tmp_path])
    assert (done.stdout, done.stderr, done.exit_code) == (b"-rwxr-xr-x\n", b"", 0)


def test_a_filter_stays_with_every_process(bwrap: str, tmp_path: Path) -> None:
    """Whatever a command starts, in a session of its own or by another program, has it too."""
    line = "for at in self 1; do grep -hE '^(NoNewPrivs|Seccomp):' /proc/$at/status; done"
    done = run_shell(f"{line}; setsid -w sh -c '{line.replace(chr(39), chr(34))}'", tmp_path, sandbox=bwrap)
    assert done.stdout.split() == [b"NoNewPrivs:", b"1", b"Seccomp:", b"2"] * 4


def test_only_one_place_writes_a_command_line_of_bwrap() -> None:
    """A new way to start a command cannot forget the filter."""
    files = (SOURCE / "prowess").rglob("*.py")
    names = {path.relative_to(SOURCE).as_posix() for path in files if "bwrap_arguments(" in path.read_text("utf-8")}
    assert names == {"prowess/sandbox/_backends.py", "prowess/sandbox/_profiles.py"}


def test_the_program_is_made_once(bwrap: str, tmp_path: Path) -> None:
    _program.cache_clear()
    for _ in range(3):
        assert run(["/bin/true"], cwd=tmp_path, sandbox=bwrap).exit_code == 0
    assert _program.cache_info().misses <= 1
    program = filter_program(unix_sockets=True, shared_memory=True, group_bits=True)
    assert filter_program(unix_sockets=True, shared_memory=True, group_bits=True) is program
    assert sys.getsizeof(program) < 4096
