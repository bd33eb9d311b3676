"""The filter of system calls: what it refuses, what still works, and that no way into the sandbox is without it."""

from __future__ import annotations

import errno
import os
import platform
import struct
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import _seccomp as seccomp, run
from prowess.sandbox._backends import Backend
from prowess.sandbox._profiles import Confinement
from prowess.sandbox._seccomp import CALLS, MACHINES, UNCOUNTED_MEMORY, _program, filter_program
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


@pytest.mark.parametrize("shared_memory", [False, True])
@pytest.mark.parametrize("unix_sockets", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_of_each_machine_decides_as_its_table_says(
    machine: str, unix_sockets: bool, shared_memory: bool
) -> None:
    """Each call of the table, the checked arguments, and everything else, for machines that this one is not."""
    column, architecture, checked = MACHINES[machine]
    program = _program(machine, unix_sockets=unix_sockets, shared_memory=shared_memory)
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
    table = (*CALLS, *UNCOUNTED_MEMORY)
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
        for call in (*CALLS, *UNCOUNTED_MEMORY):
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
        filter_program(unix_sockets=False, shared_memory=False)
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
@pytest.mark.parametrize("number", [20, 288, 310, 0], ids=["getpid", "keyctl", "unshare", "restart"])
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
    code = f"{CALLED}    print([call(0x40000000 | number, 0, 0, 0, 0) for number in (39, 250, 272, 521, 539)])"
    assert run_python(code, tmp_path, sandbox=bwrap).stdout.decode() == f"{[errno.ENOSYS] * 5}\n"


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
    assert filter_program(unix_sockets=True, shared_memory=True) is filter_program(
        unix_sockets=True, shared_memory=True
    )
    assert sys.getsizeof(filter_program(unix_sockets=True, shared_memory=True)) < 4096
