"""Start the proxy of one command: a process outside the sandbox, with a socket inside.

A short-lived process enters the network namespace of the command, makes the socket there, and hands it over. The proxy
itself stays in the network of the caller. It ends with its supervisor, whatever ends that.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import socket
from contextlib import suppress

from prowess.net import NetworkRules

from ._processes import kill
from ._proxy import serve
from ._proxy_settings import BWRAP_PORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

_START_TIMEOUT = 5.0
"""Seconds in which the proxy must listen."""
_BACKLOG = 128
# From linux/nsfs.h, linux/sched.h and linux/in.h.
_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_IP_FREEBIND = 15


class ProxyProcess:
    """The proxy of one command.

    Args:
        rules: the fields of `NetworkRules`.
        namespace_pid: a process in the network namespace to listen in; 0 to listen on the loopback of this machine.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, rules: Mapping[str, Any], namespace_pid: int) -> None:
        control_read, self._control_fd = os.pipe()
        self._report_fd, report_write = os.pipe()
        self.has_ended = False
        """Whether its supervisor has waited for it: its process number may belong to another process then."""
        try:
            self.pid = os.fork()
            if not self.pid:
                _run(rules, namespace_pid, control_read, report_write)
        finally:
            os.close(control_read)
            os.close(report_write)
        try:
            self.port = _read_port(self._report_fd)
        except BaseException:
            self.end()
            raise

    def end(self) -> list[str]:
        """End the proxy, and return why it refused hosts; its supervisor waits for it as for every child."""
        if not self.has_ended:
            kill(self.pid)
        os.close(self._control_fd)
        os.set_blocking(self._report_fd, False)
        data = b""
        with suppress(BlockingIOError):
            data = os.read(self._report_fd, 1 << 16)
        os.close(self._report_fd)
        return list(filter(None, data.decode("utf-8", "replace").split("\n")))


def _read_port(report_fd: int) -> int:
    """Wait for the port that the proxy listens at.

    Raises:
        OSError: it does not listen.
    """
    is_ready = select.select([report_fd], [], [], _START_TIMEOUT)[0]
    status, _, text = (os.read(report_fd, 500) if is_ready else b"").partition(b" ")
    if status != b"listening":
        raise OSError(text.decode("utf-8", "replace") or "the proxy did not start in time")
    return int(text)


def _run(rules: Mapping[str, Any], namespace_pid: int, control_fd: int, report_fd: int) -> NoReturn:
    """Be the proxy, in a new process."""
    try:
        os.setsid()  # the group of the supervisor must not be killed with its children
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _close_all_but(control_fd, report_fd)
        try:
            listener = _listen_inside(namespace_pid) if namespace_pid else socket.create_server(("127.0.0.1", 0))
        except OSError as error:
            os.write(report_fd, f"failed {error.strerror or error}".encode()[:400])
            os._exit(1)
        network_rules = NetworkRules(**rules)
        os.write(report_fd, b"listening %d" % listener.getsockname()[1])
        os.set_blocking(report_fd, False)
        serve(listener, network_rules, control_fd, report_fd)
    finally:
        os._exit(1)


def _close_all_but(*kept: int) -> None:
    """Close what the supervisor has open, besides the standard streams: its pipes must end when it ends."""
    first = 3
    for fd in sorted(kept):
        if fd > first:  # an empty range would close everything
            os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, 1 << 20)


def _listen_inside(pid: int) -> socket.socket:
    """Return a socket that listens in the network namespace of a process.

    Raises:
        OSError: the namespace cannot be entered.
    """
    ours, theirs = socket.socketpair()
    helper = os.fork()
    if not helper:
        try:
            listener = _enter_and_listen(pid)
            socket.send_fds(theirs, [b"+"], [listener.fileno()])
        except OSError as error:
            theirs.send((error.strerror or str(error)).encode()[:400])
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        text, descriptors, _, _ = socket.recv_fds(ours, 500, 1)
    with suppress(OSError):
        os.waitpid(helper, 0)
    if not descriptors:
        raise OSError(text.decode("utf-8", "replace"))
    return socket.socket(fileno=descriptors[0])


def _enter_and_listen(pid: int) -> socket.socket:
    """Move this process into the network namespace of another one, and listen there.

    Raises:
        OSError: this is not possible.
    """
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    # bwrap may be in a user namespace below the one that the network belongs to; only the latter gives the right.
    owner = fcntl.ioctl(network, _NS_GET_USERNS)
    if not os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user")):
        _set_namespace(owner, _CLONE_NEWUSER)
    _set_namespace(network, _CLONE_NEWNET)
    listener = socket.socket()
    # bwrap may not have started the loopback yet.
    listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
    listener.bind(("127.0.0.1", BWRAP_PORT))
    listener.listen(_BACKLOG)
    return listener


def _set_namespace(fd: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, kind):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
