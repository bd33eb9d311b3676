"""What a command can see and change in a sandbox."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess.net import NetworkRules
from prowess.sandbox._profiles import Confinement, bwrap_arguments, seatbelt_profile
from prowess.sandbox._proxy_settings import PORT_PLACEHOLDER
from prowess.sandbox._runtime import own_devices, runtime_folder
from support.commands import run_python, run_shell
from support.files import write_file


def test_a_home_cannot_be_read(bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sees neither the user's keys nor that they exist."""
    home = tmp_path / "home"
    write_file(home / ".ssh/id_ed25519", "secret")
    (tmp_path / "skill").mkdir()
    line = f"cat {home}/.ssh/id_ed25519 || ls {home} ~/.ssh || cat /etc/shadow || ls /root/.ssh /var /proc/1/root/var"
    done = run_shell(line, tmp_path / "skill", sandbox=bwrap)
    assert (done.stdout, done.exit_code) == (b"", 2)
    assert done.stderr.count(b"No such file or directory") >= 5, done.stderr
    # A Python below /home is there, with the names of the folders that lead to it and nothing beside them.
    done = run_shell("ls -A /home 2>/dev/null", tmp_path / "skill", sandbox=bwrap)
    prefixes = (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable))
    on_the_way = {path.split("/")[2] for path in prefixes if path.startswith("/home/")}
    assert set(done.stdout.decode().split()) <= on_the_way


def test_only_writable_paths_can_be_changed(bwrap: str, tmp_path: Path) -> None:
    """The scratch folder and the named paths; everything else stays as it is."""
    for name in ("skill", "named", "scratch"):
        (tmp_path / name).mkdir()
    (tmp_path / "skill/SKILL.md").write_text("as it was")
    folders = [".", "/", "/etc", "/usr", "/usr/bin", runtime_folder(), runtime_folder() + "/bin", sys.prefix + "/bin"]
    line = f"for at in {' '.join(folders)}; do touch $at/new 2>/dev/null && echo $at; done; echo x >SKILL.md"
    line += f"; rm -f SKILL.md; touch {tmp_path}/new; touch {tmp_path}/named/new $HOME/new /tmp/new && echo well"
    options: dict[str, Any] = {"writable": [tmp_path / "named"], "scratch": tmp_path / "scratch"}
    done = run_shell(line, tmp_path / "skill", sandbox=bwrap, **options)
    assert done.stdout == b"well\n", done
    assert (tmp_path / "skill/SKILL.md").read_text() == "as it was"
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("new")) == ["named/new", "scratch/new"]
    assert not Path("/tmp/new").exists()


def test_a_working_directory_can_be_writable(bwrap: str, tmp_path: Path) -> None:
    """Test cases need this: they run in a copy."""
    assert run_shell("echo x >out; cat out", tmp_path, sandbox=bwrap, writable=[tmp_path]).stdout == b"x\n"
    assert (tmp_path / "out").read_text() == "x\n"


def test_a_readable_link_can_be_read_with_its_target(bwrap: str, tmp_path: Path) -> None:
    """Each under its own path."""
    (tmp_path / "skill").mkdir()
    write_file(tmp_path / "data/a.txt", "a")
    (tmp_path / "link").symlink_to("data")
    line = f"cat {tmp_path}/link/a.txt {tmp_path}/data/a.txt; touch {tmp_path}/link/b || ls {tmp_path}"
    done = run_shell(line, tmp_path / "skill", sandbox=bwrap, readable=[tmp_path / "link"])
    assert done.stdout.split() == [b"aadata", b"link", b"skill"]


def test_there_is_no_network_unless_it_is_allowed(bwrap: str, tmp_path: Path) -> None:
    """Not even the loopback of the caller; with the network a proxy is the only way out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            f"import socket\nfor at in (('127.0.0.1', {port}), ('192.0.2.1', 80)):\n try:\n"
            "  socket.create_connection(at, 1); print('open')\n except OSError as error: print(type(error).__name__)"
        )
        for network in (False, True, NetworkRules(allow_private=True)):
            done = run_python(code, tmp_path, sandbox=bwrap, network=network)
            assert done.stdout == b"ConnectionRefusedError\nOSError\n"


def test_an_abstract_socket_of_the_caller_cannot_be_reached(bwrap: str, tmp_path: Path) -> None:
    """Such sockets are in no folder, but in the network: not the one of the command, even if it has one."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0prowess-66607")
        server.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect('\\0prowess-66607')"
        for network in (False, True, NetworkRules(allow_private=True)):
            done = run_python(code, tmp_path, sandbox=bwrap, network=network, unix_sockets=())
            assert b"ConnectionRefusedError" in done.stderr
        assert b"Address family not supported" in run_python(code, tmp_path, sandbox=bwrap).stderr
        assert run_python(code, tmp_path, sandbox="none").exit_code == 0


def test_the_callers_processes_and_environment_cannot_be_seen(
    bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor can they be signalled."""
    monkeypatch.setenv("SECRET_TOKEN", "caller's")
    code = (
        "import os\n"
        "pids = [p for p in os.listdir('/proc') if p.isdecimal()]\n"
        "print(len(pids), [p for p in pids if b'SECRET' in open(f'/proc/{p}/environ', 'rb').read()])\n"
        f"try: os.kill({os.getpid()}, 0)\nexcept OSError as error: print(type(error).__name__)"
    )
    done = run_python(code, tmp_path, sandbox=bwrap)
    assert done.stdout == b"2 []\nProcessLookupError\n", done


def test_no_capability_is_left(bwrap: str, tmp_path: Path) -> None:
    """Nothing can be mounted."""
    done = run_shell(
        "grep -E 'Cap(Eff|Prm|Bnd)' /proc/self/status | cut -f2 | sort -u; mount -t tmpfs x /tmp",
        tmp_path,
        sandbox=bwrap,
    )
    assert done.stdout == b"0000000000000000\n"
    assert done.exit_code != 0


def test_kernel_settings_cannot_be_changed(bwrap: str, tmp_path: Path) -> None:
    """Root owns them and needs no capability to write them; new namespaces do not help either."""
    code = """if True:
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        os.mkdir("/tmp/proc")
        for at in ("/proc", "/proc", "/tmp/proc"):
            for name in ("kernel/core_pattern", "vm/swappiness"):
                try:
                    with open(f"{at}/sys/{name}", "r+"):
                        print(f"{at}/sys/{name} can be written")
                except OSError:
                    pass
            if os.getpid() != 1:
                libc.unshare(0x10000000 | 0x20000 | 0x20000000)  # a user, mounts and processes
                if os.fork():
                    os.wait()
                    os._exit(0)
                libc.mount(b"proc", b"/tmp/proc", b"proc", 0, None)
                libc.mount(None, b"/proc", None, 32, None)
        with open("/dev/stdout", "w") as file:
            file.write("looked\\n")
    """
    done = run_python(code, tmp_path, sandbox=bwrap)
    assert done.stdout == b"looked\n", done


def test_variables_of_a_command_do_not_reach_bwrap(bwrap: str, tmp_path: Path) -> None:
    """LD_PRELOAD takes effect inside only, and `ps` shows no variable."""
    env = {"LD_PRELOAD": "/nowhere/evil.so", "API_KEY": "66608"}
    done = run_shell(
        "cat /proc/1/cmdline; tr '\\0' '\\n' </proc/1/environ; echo $API_KEY", tmp_path, sandbox=bwrap, env=env
    )
    outside, _, inside = done.stdout.rpartition(b"HOME=")
    assert b"LD_PRELOAD" not in inside
    assert b"66608" not in outside.replace(b"$API_KEY", b"")
    assert done.stdout.endswith(b"\n66608\n")


def test_the_profile_of_seatbelt(tmp_path: Path) -> None:
    """It begins with nothing allowed; paths are quoted and without links."""
    (tmp_path / 'a"b').mkdir()
    (tmp_path / "link").symlink_to(tmp_path / 'a"b')
    confinement = Confinement(cwd="/", env={}, readable=("/usr",), writable=(str(tmp_path / "link"),), network=False)
    profile = seatbelt_profile(confinement)
    real = os.path.realpath(tmp_path)
    assert profile.startswith("(version 1)\n(deny default)\n")
    assert f'(allow file-write* (subpath "{real}/a\\"b"))\n(deny file-write-setugid)\n' in profile
    assert "(allow network" not in profile
    assert profile.count("(") == profile.count(")")
    with_network = seatbelt_profile(confinement.with_changes(network=True))
    assert [line for line in with_network.splitlines() if "(allow network" in line] == [
        f'(allow network-outbound (remote ip "localhost:{PORT_PLACEHOLDER}"))'
    ]
    assert "file-write*" not in seatbelt_profile(confinement.with_changes(writable=()))


def test_what_is_read_only_in_a_writable_folder_is_a_mount_with_the_folders_above_it() -> None:
    """A folder above it that is readable only does not become writable."""
    confinement = Confinement(
        cwd="/w",
        env={},
        readable=("/w/r",),
        writable=("/w",),
        read_only=("/w/a/b/fixed", "/w/r/x/fixed"),
        network=False,
    )
    words = bwrap_arguments(confinement)
    mounts = [tuple(words[i : i + 2]) for i in range(len(words)) if words[i] in ("--bind", "--ro-bind")]
    ours = [mount for mount in mounts if f"{mount[1]}/".startswith("/w/")]
    assert ours[0] == ("--bind", "/w")
    assert set(ours) == {
        ("--bind", "/w"),
        ("--bind", "/w/a"),
        ("--bind", "/w/a/b"),
        ("--ro-bind", "/w/a/b/fixed"),
        ("--ro-bind", "/w/r"),
        ("--ro-bind", "/w/r/x"),
        ("--ro-bind", "/w/r/x/fixed"),
    }
    profile = seatbelt_profile(confinement)
    assert profile.index('(allow file-write* (subpath "/w"))') < profile.index(
        '(deny file-write* (subpath "/w/a/b/fixed"))'
    )
    assert '(deny file-write-unlink (literal "/w/a/b") (literal "/w/a"))' in profile


def test_root_cannot_change_the_devices_of_the_machine(bwrap: str, tmp_path: Path) -> None:
    """Root owns them: without a `/dev/null` that all may write, nothing on the machine works."""
    if not own_devices():
        pytest.skip("only root owns devices, and can make others")
    before = os.stat("/dev/full")
    line = (
        "chmod 600 /dev/full; touch -d 2001-01-01 /dev/full; chmod 666 /dev/null; test -p /dev/stdin && echo pipe; "
        "echo x >/dev/null && head -c 2 /dev/zero | wc -c; cat; stat -c %a /dev/full"
    )
    try:
        assert run_shell(line, tmp_path, sandbox=bwrap).stdout.split() == [b"pipe", b"2", b"600"]
        after = os.stat("/dev/full")
    finally:
        os.chmod("/dev/full", stat.S_IMODE(before.st_mode))
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
    assert run_shell("stat -c %a /dev/full", tmp_path, sandbox=bwrap).stdout == b"666\n"
