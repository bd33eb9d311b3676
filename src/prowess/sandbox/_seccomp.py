"""Write the filter of system calls that bwrap loads before it starts a command.

The kernel runs the filter, a small program, before each system call of the command and of everything it starts. `CALLS`
lists what is refused, because it reaches past the sandbox or is a large part of the kernel that a skill does not need.
A machine without its numbers has no sandbox: without a filter no command runs inside bwrap.

    another architecture (a 32-bit call)   the process is killed
    a call newer than `_LAST_CALL`         ENOSYS, as on an older kernel; so are the numbers of x32
    a call of `CALLS`                      its error
    `clone` with a new namespace           EPERM
    `socket` of another family             EAFNOSUPPORT: IP, and what lists interfaces; Unix sockets if allowed
    `socket` of another protocol of IP     EPROTONOSUPPORT: TCP, UDP and ICMP; others may load a part of the kernel
    `socketpair` of another family         EAFNOSUPPORT: Unix sockets, which connect a process with its own children
    `socketpair` of datagrams              EAFNOSUPPORT unless Unix sockets are allowed: they can be connected anew
    `ioctl` that types into a terminal     EPERM
    memory that is shared without a file   ENOSYS, or EPERM of `mmap`, if no control group counts it
    a mode with a set-user-ID bit          EPERM: who starts such a file acts as the user; set-group-ID unless allowed
    everything else                        allowed
"""

from __future__ import annotations

import os
import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT
from functools import cache

from prowess._internal.text import quoted
from prowess.errors import SandboxError

CALLS: tuple[tuple[str, int | None, int | None, int], ...] = (
    # Keys of the user: they belong to no namespace.
    ("add_key", 248, 217, EPERM),
    ("request_key", 249, 218, EPERM),
    ("keyctl", 250, 219, EPERM),
    # Namespaces and mounts.
    ("unshare", 272, 97, EPERM),
    ("setns", 308, 268, EPERM),
    ("mount", 165, 40, EPERM),
    ("umount2", 166, 39, EPERM),
    ("pivot_root", 155, 41, EPERM),
    ("chroot", 161, 51, EPERM),
    ("open_tree", 428, 428, EPERM),
    ("move_mount", 429, 429, EPERM),
    ("fsopen", 430, 430, EPERM),
    ("fsconfig", 431, 431, EPERM),
    ("fsmount", 432, 432, EPERM),
    ("fspick", 433, 433, EPERM),
    ("mount_setattr", 442, 442, EPERM),
    ("open_tree_attr", 467, 467, EPERM),
    # Its flags are behind a pointer, which a filter cannot read; the C library then uses `clone`.
    ("clone3", 435, 435, ENOSYS),
    # So is its mode; programs then use `openat`.
    ("openat2", 437, 437, ENOSYS),
    # Other processes.
    ("ptrace", 101, 117, EPERM),
    ("process_vm_readv", 310, 270, EPERM),
    ("process_vm_writev", 311, 271, EPERM),
    ("process_madvise", 440, 440, EPERM),
    ("pidfd_getfd", 438, 438, EPERM),
    ("kcmp", 312, 272, EPERM),
    # Large parts of the kernel in which many faults were found.
    ("bpf", 321, 280, EPERM),
    ("perf_event_open", 298, 241, EPERM),
    ("userfaultfd", 323, 282, EPERM),
    ("io_uring_setup", 425, 425, ENOSYS),
    ("io_uring_enter", 426, 426, ENOSYS),
    ("io_uring_register", 427, 427, ENOSYS),
    ("fanotify_init", 300, 262, EPERM),
    # Memory that no limit counts, and files without a path.
    ("memfd_secret", 447, 447, EPERM),
    ("lookup_dcookie", 212, 18, EPERM),
    ("name_to_handle_at", 303, 264, EPERM),
    ("open_by_handle_at", 304, 265, EPERM),
    # The machine as a whole.
    ("acct", 163, 89, EPERM),
    ("swapon", 167, 224, EPERM),
    ("swapoff", 168, 225, EPERM),
    ("reboot", 169, 142, EPERM),
    ("sethostname", 170, 161, EPERM),
    ("setdomainname", 171, 162, EPERM),
    ("settimeofday", 164, 170, EPERM),
    ("adjtimex", 159, 171, EPERM),
    ("clock_settime", 227, 112, EPERM),
    ("clock_adjtime", 305, 266, EPERM),
    ("init_module", 175, 105, EPERM),
    ("finit_module", 313, 273, EPERM),
    ("delete_module", 176, 106, EPERM),
    ("kexec_load", 246, 104, EPERM),
    ("kexec_file_load", 320, 294, EPERM),
    ("quotactl", 179, 60, EPERM),
    ("quotactl_fd", 443, 443, EPERM),
    ("nfsservctl", 180, 42, EPERM),
    ("syslog", 103, 116, EPERM),
    ("vhangup", 153, 58, EPERM),
    ("mbind", 237, 235, EPERM),
    ("set_mempolicy", 238, 237, EPERM),
    ("migrate_pages", 256, 238, EPERM),
    ("move_pages", 279, 239, EPERM),
    ("set_mempolicy_home_node", 450, 450, EPERM),
    # Old calls of x86.
    ("iopl", 172, None, EPERM),
    ("ioperm", 173, None, EPERM),
    ("modify_ldt", 154, None, EPERM),
    ("uselib", 134, None, EPERM),
    ("ustat", 136, None, EPERM),
    ("sysfs", 139, None, EPERM),
    ("_sysctl", 156, None, EPERM),
)
"""Refused calls: name, number on x86-64 and on arm64, `None` if it does not exist there, and error."""
UNCOUNTED_MEMORY: tuple[tuple[str, int | None, int | None, int], ...] = (
    ("memfd_create", 319, 279, ENOSYS),
    ("shmget", 29, 194, ENOSYS),
    ("semget", 64, 190, ENOSYS),
    ("msgget", 68, 186, ENOSYS),
)
"""Refused too if no control group counts memory: what these calls make belongs to no process."""
MACHINES = {
    "x86_64": (1, 0xC000003E, {"clone": 56, "socket": 41, "socketpair": 53, "ioctl": 16, "mmap": 9}),
    "aarch64": (2, 0xC00000B7, {"clone": 220, "socket": 198, "socketpair": 199, "ioctl": 29, "mmap": 222}),
}
"""By the name in `uname`: column of `CALLS`, number of the architecture, and the calls whose arguments are checked."""
MODES: tuple[tuple[str, int | None, int | None, int, int | None], ...] = (
    ("chmod", 90, None, 1, None),
    ("fchmod", 91, 52, 1, None),
    ("fchmodat", 268, 53, 2, None),
    ("fchmodat2", 452, 452, 2, None),
    ("mknod", 133, None, 1, None),
    ("mknodat", 259, 33, 2, None),
    ("creat", 85, None, 1, None),
    ("open", 2, None, 2, 1),
    ("openat", 257, 56, 3, 2),
)
"""Calls that give a file its mode: as in `CALLS`, then which argument is the mode, and which one has the flags without
which there is no mode. `mkdir` ignores the bits."""
_LAST_CALL = 469
"""The newest call that `CALLS` was checked against: `file_setattr` of Linux 6.17. Numbers are the same everywhere."""
_NAMESPACE_FLAGS = 0x7E020000
"""Of `clone`: new mounts, control groups, names, IPC, users, processes, network."""
_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""Of `ioctl`: TIOCSTI and TIOCLINUX write what a terminal then reads as if it had been typed."""
_GROWS_DOWN = 0x100
"""Of `mmap`: a stack, which does not count as data."""
_KIND_BITS, _SHARED_ANONYMOUS = 0x2F, (0x21, 0x23)
"""Of `mmap`: how it is shared, and whether it is of no file."""
_CREATES = 0x400040
"""Of `open`: O_CREAT and what is new in O_TMPFILE. Without them the mode can be anything."""
_SET_USER_ID, _SET_GROUP_ID = 0o4000, 0o2000
_UNIX, _IPV4, _IPV6, _NETLINK = 1, 2, 10, 16
_STREAM, _RAW, _SEQPACKET, _TYPE_BITS = 1, 3, 5, 0xF
_IP_PROTOCOLS = (0, 1, 6, 17, 58)
"""Of `socket`: the usual one of a type, ICMP, TCP, UDP, ICMP of IPv6."""

_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Where the kernel puts the call for the filter, in bytes; each argument has 8, low half first."""
_LOAD, _AND, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(*, unix_sockets: bool, shared_memory: bool, group_bits: bool) -> bytes:
    """Return the filter for this machine.

    Args:
        unix_sockets: whether a command may use Unix sockets; a pair of connected ones is always allowed.
        shared_memory: whether a command may share memory that belongs to no file system, since something counts it.
        group_bits: whether a command may set set-group-ID bits.

    Raises:
        SandboxError: the numbers of its calls are unknown.
    """
    machine = os.uname().machine
    if machine not in MACHINES:
        message = f"no sandbox available: no filter of system calls for the machine {quoted(machine)}"
        raise SandboxError(message, hint=f"use a machine of the kind {' or '.join(MACHINES)}")
    return _program(machine, unix_sockets=unix_sockets, shared_memory=shared_memory, group_bits=group_bits)


@cache
def _program(machine: str, *, unix_sockets: bool, shared_memory: bool, group_bits: bool) -> bytes:
    column, architecture, checked = MACHINES[machine]
    code = [
        _load(_ARCHITECTURE),
        *_unless(_EQUAL, architecture, _KILL),
        _load(_NUMBER),
        *_if(_GREATER, _LAST_CALL, _ERROR | ENOSYS),
    ]
    for call in CALLS if shared_memory else (*CALLS, *UNCOUNTED_MEMORY):
        number = call[column]
        if number is not None:
            code += _if(_EQUAL, int(number), _ERROR | call[3])
    refused_mode = _if(_ANY_BIT, _SET_USER_ID | (0 if group_bits else _SET_GROUP_ID), _ERROR | EPERM)
    for row in MODES:
        found, mode, flags = row[column], row[3], row[4]
        if found is not None and flags is None:
            code += _check(int(found), mode, *refused_mode)
        elif found is not None and flags is not None:
            creates = _unless(_ANY_BIT, _CREATES, _ALLOW)
            code += _check(int(found), flags, *creates, _load(_ARGUMENTS + 8 * mode), *refused_mode)
    code += _check(checked["clone"], 0, *_if(_ANY_BIT, _NAMESPACE_FLAGS, _ERROR | EPERM))
    if not shared_memory:
        shared = [step for kind in _SHARED_ANONYMOUS for step in _if(_EQUAL, kind, _ERROR | EPERM)]
        grows = _if(_ANY_BIT, _GROWS_DOWN, _ERROR | EPERM)
        code += _check(checked["mmap"], 3, *grows, _step(_AND, _KIND_BITS), *shared)
    requests = [step for request in _TERMINAL_REQUESTS for step in _if(_EQUAL, request, _ERROR | EPERM)]
    code += _check(checked["ioctl"], 1, *requests)
    pair = _unless(_EQUAL, _UNIX, _ERROR | EAFNOSUPPORT)
    if not unix_sockets:
        connected = (*_if(_EQUAL, _STREAM, _ALLOW), *_unless(_EQUAL, _SEQPACKET, _ERROR | EAFNOSUPPORT))
        pair += (_load(_ARGUMENTS + 8), _step(_AND, _TYPE_BITS), *connected)
    code += _check(checked["socketpair"], 0, *pair)
    ip = [
        *(_load(_ARGUMENTS + 8), _step(_AND, _TYPE_BITS), *_if(_GREATER, _RAW, _ERROR | EPROTONOSUPPORT)),
        *(_load(_ARGUMENTS + 8 * 2), *(step for known in _IP_PROTOCOLS for step in _if(_EQUAL, known, _ALLOW))),
        _step(_RETURN, _ERROR | EPROTONOSUPPORT),
    ]
    allowed = _if(_EQUAL, _UNIX, _ALLOW) if unix_sockets else []
    for family in (_IPV4, _IPV6):
        allowed += [_step(_EQUAL, family, 0, len(ip)), *ip]
    # Of netlink only protocol 0, which lists interfaces and routes; others list the sockets of the machine.
    netlink = [_load(_ARGUMENTS + 8 * 2), *_unless(_EQUAL, 0, _ERROR | EAFNOSUPPORT)]
    code += _check(checked["socket"], 0, *allowed, *_unless(_EQUAL, _NETLINK, _ERROR | EAFNOSUPPORT), *netlink)
    return b"".join((*code, _step(_RETURN, _ALLOW)))


def _check(number: int, argument: int, *steps: bytes) -> list[bytes]:
    """Return the steps that check the low half of an argument of one call, and allow what they do not refuse.

    The kernel ignores the upper half of these arguments, so it must not make a difference here either.
    """
    body = [_load(_ARGUMENTS + 8 * argument), *steps, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _if(test: int, value: int, result: int) -> list[bytes]:
    return [_step(test, value, 0, 1), _step(_RETURN, result)]


def _unless(test: int, value: int, result: int) -> list[bytes]:
    return [_step(test, value, 1, 0), _step(_RETURN, result)]


def _load(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return a step of the program: what to do, where to go on, counted from the next step, and with which value."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
