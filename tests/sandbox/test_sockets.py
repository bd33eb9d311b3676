"""Unix sockets: closed unless a caller names them."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import _sockets as sockets, run
from support.commands import run_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONNECT = """if True:
    import socket, sys
    for path in sys.argv[1:] or PATHS:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                print(client.recv(9).decode())
        except OSError as error:
            print(error.strerror)
"""


@contextmanager
def served(*paths: Path) -> Iterator[None]:
    """Serve sockets as a program of the user does: each connection gets a word."""
    servers = []
    for path in paths:
        servers.append(server := socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        server.listen()

        def serve(server: socket.socket = server) -> None:
            while True:
                try:
                    with server.accept()[0] as connection:
                        connection.sendall(b"reached")
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        for server in servers:
            server.close()


def connect(folder: Path, *paths: Path, **options: Any) -> list[str]:
    """Return what a command gets that connects to sockets."""
    code = CONNECT.replace("PATHS", repr([str(path) for path in paths]))
    return run_python(code, folder, **options).stdout.decode().splitlines()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of the user with a folder in it."""
    (tmp_path / "w/in").mkdir(parents=True)
    return tmp_path / "w"


def test_a_socket_in_a_folder_cannot_be_reached(bwrap: str, place: Path) -> None:
    """Neither in a folder that can be read nor in one that can be written."""
    with served(place / "a", place / "in/b"):
        for options in ({}, {"writable": [place]}, {"readable": [place / "in"]}):
            found = connect(place, place / "a", place / "in/b", sandbox=bwrap, **options)
            assert found == ["Address family not supported by protocol"] * 2
        assert connect(place, place / "a", sandbox="none") == ["reached"]


def test_a_pair_of_sockets_does_not_lead_to_another_socket(bwrap: str, place: Path) -> None:
    """One of datagrams could be connected anew; one of a stream cannot, even when its other end is gone."""
    code = """if True:
        import socket
        for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
            try: socket.socketpair(socket.AF_UNIX, kind)
            except OSError as error: print(error.errno)
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            one, other = socket.socketpair(socket.AF_UNIX, kind)
            for _ in range(2):
                try: one.connect("a" if kind == socket.SOCK_STREAM else "packets")
                except OSError as error: print(error.errno)
                other.close()
                one.shutdown(socket.SHUT_RDWR)
    """
    with served(place / "a"), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as packets:
        packets.bind(str(place / "packets"))
        packets.listen()
        done = run_python(code, place, sandbox=bwrap)
    assert done.stdout.decode().split() == ["97"] * 3 + [str(errno.EISCONN)] * 4, done


@pytest.mark.slow
def test_a_named_socket_can_be_reached_and_all_others_are_hidden(bwrap: str, place: Path) -> None:
    """Also outside the folders of the command, and those that appear under several paths."""
    (place.parent / "link").symlink_to("w")
    with served(place / "a", place / "in/b", place.parent / "outside", place.parent / "other"):
        paths = [place / "a", place / "in/b", place.parent / "outside", place.parent / "other"]
        options: dict[str, Any] = {"sandbox": bwrap, "writable": [place], "readable": [place.parent / "link"]}
        refused, missing = "Connection refused", "No such file or directory"
        assert connect(place, *paths, **options, unix_sockets=[place / "a"]) == ["reached", refused, missing, missing]
        named = [place.parent / "outside", place / "in/b"]
        assert connect(place, *paths, **options, unix_sockets=named) == [refused, "reached", "reached", missing]
        assert connect(place, *paths, **options, unix_sockets=()) == [refused, refused, missing, missing]
        linked = [place.parent / "link/a", place.parent / "link/in/b"]
        assert connect(place, *linked, **options, unix_sockets=[place / "a"]) == ["reached", refused]


def test_own_sockets_can_be_used_if_they_are_allowed(bwrap: str, place: Path) -> None:
    """Between processes of one command, as Python's `forkserver` does."""
    (place / "main.py").write_text(
        "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('forkserver').Pool(1) as pool:\n"
        "        print(pool.map(abs, [-3]))\n"
    )
    done = run(["python3", "main.py"], cwd=place, sandbox=bwrap, unix_sockets=(), env={"TMPDIR": "/tmp"})
    assert done.stdout == b"[3]\n", done.stderr


def test_what_is_named_must_be_a_socket_without_links(bwrap: str, place: Path) -> None:
    """A command that may write there could otherwise choose what the next one reaches."""
    (place / "file").write_text("")
    (place / "link").symlink_to("a")
    (place / "folder").symlink_to("in")
    with served(place / "a", place / "in/b"):
        for name in ("link", "folder/b"):
            with pytest.raises(SandboxError, match="is behind a link"):
                connect(place, sandbox=bwrap, unix_sockets=[place / name])
        for name in ("file", "in"):
            with pytest.raises(SandboxError, match="is not a Unix socket"):
                connect(place, sandbox=bwrap, unix_sockets=[place / name])
    assert connect(place, place / "none", sandbox=bwrap, unix_sockets=[place / "none"]) == ["No such file or directory"]


def test_too_many_files_or_a_folder_that_cannot_be_listed_are_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket in them could not be hidden."""
    for number in range(5):
        (place / str(number)).touch()
    monkeypatch.setattr(sockets, "_MAX_ENTRIES", 5)
    with pytest.raises(SandboxError, match="would see more than 5 files"):
        sockets.sockets_below([str(place)])
    if os.geteuid():
        (place / "in").chmod(0o100)
        monkeypatch.setattr(sockets, "_MAX_ENTRIES", 50)
        with pytest.raises(SandboxError, match="cannot list"):
            sockets.sockets_below([str(place)])
        (place / "in").chmod(0o700)


def test_packages_of_python_are_not_searched(place: Path) -> None:
    """They are most of its files, and only installers write there; a server may have its socket elsewhere in a venv."""
    packages = place / "lib" / "python{}.{}".format(*sys.version_info)
    (place / "run").mkdir()
    (packages / "site-packages").mkdir(parents=True)
    with served(place / "run/app.sock", packages / "x"):
        assert sockets.sockets_of_python((f"{place}/run", f"{place}/lib")) == (f"{place}/run/app.sock",)
        assert sockets.sockets_of_python((str(packages),)) == ()
