"""The network of a command in a sandbox: a proxy of its own, which ends with it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

import pytest

from prowess.errors import SandboxError
from prowess.net import NetworkRules
from prowess.sandbox import Limits, _backends, _profiles, _supervisors, server_command
from prowess.sandbox._processes import list_processes
from prowess.sandbox._proxy_settings import PORT_PLACEHOLDER
from support.commands import SOURCE, run_python
from support.loopback import LoopbackServer
from support.processes import is_process_alive, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prowess.sandbox._messages import Request

pytestmark = pytest.mark.usefixtures("linux")
NAMED = NetworkRules(named=("127.0.0.1",))


class Site(BaseHTTPRequestHandler):
    """Answers each request with its path."""

    def do_GET(self) -> None:
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[LoopbackServer]:
    with LoopbackServer(Site) as server:
        yield server


GET = "import urllib.request as u\ntry: print(u.urlopen({url!r}).read())\nexcept OSError as e: print(e, e.read())"
TUNNEL = """
import http.client
connection = http.client.HTTPConnection("127.0.0.1", 3128)
connection.set_tunnel("{host}", {port})
try:
    connection.request("GET", "/tunnel")
    print(connection.getresponse().read())
except OSError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_command_reaches_what_the_rules_open(bwrap: str, tmp_path: Path, site: LoopbackServer) -> None:
    """Programs find the proxy in their environment; a refusal says why."""
    get, tunnel = GET.format(url=f"{site.url}/page"), TUNNEL.format(host="127.0.0.1", port=site.port)
    assert run_python(get, tmp_path, sandbox=bwrap, network=NAMED).stdout == b"b'/page'\n"
    assert run_python(tunnel, tmp_path, sandbox=bwrap, network=NAMED).stdout == b"b'/tunnel'\n"
    for rules in (True, NetworkRules(named=("127.0.0.2",)), NetworkRules(allowed=(("example.invalid",),))):
        env_get = f"import os; os.environ['NO_PROXY'] = os.environ['no_proxy'] = ''\n{get}"
        reason = b"is an address of this machine" if rules is True or rules.named else b"is not an allowed host"
        for code in (env_get, tunnel):
            output = run_python(code, tmp_path, sandbox=bwrap, network=rules).stdout
            assert b"Refused by Prowess: `127.0.0.1` " + reason in output


def test_refused_hosts_are_reported(bwrap: str, tmp_path: Path) -> None:
    """Each reason once, since many programs show none of what the proxy says."""
    code = """if True:
        import http.client
        for host in ["10.0.0.1", "10.0.0.1", "mail.example\\n", *(f"{n}.example" for n in range(40))]:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", 3128)
                connection.set_tunnel(host, 443)
                connection.connect()
            except (OSError, ValueError):
                pass
    """
    rules = NetworkRules(allowed=(("10.0.0.1",),))
    done = run_python(code, tmp_path, sandbox=bwrap, network=rules)
    assert len(done.refused_hosts) == 20
    first, second = done.refused_hosts[:2]
    assert first.startswith("`10.0.0.1` is an address of this machine or its network, which is not allowed; the")
    assert second == "`0.example` is not an allowed host: allowed are 10.0.0.1"
    assert run_python("pass", tmp_path, sandbox=bwrap, network=rules).refused_hosts == ()


def test_a_proxy_on_the_loopback_has_a_port_that_the_command_learns(tmp_path: Path, site: LoopbackServer) -> None:
    """As on macOS: the port is put into the profile, which is the third word, and into the variables."""
    request: Request = {
        "path": b"/bin/sh",
        "argv": [b"sh", b"-c", f'echo {PORT_PLACEHOLDER}; $0 -c "$CODE"'.encode(), os.fsencode(sys.executable)],
        "env": {b"HOME": os.fsencode(tmp_path), b"http_proxy": f"http://127.0.0.1:{PORT_PLACEHOLDER}".encode()},
        "cwd": b"/",
        "stdin": b"",
        "bwrap_files": {},
        "network": NAMED.as_fields(),
        "needs_group": False,
        "group": None,
        "layers": (),
        "tmpfs": (),
        "scratch": b"",
        "folders": {},
        "limits": {},
        "timeout": 20.0,
        "output": 1000,
    }
    request["env"][b"CODE"] = GET.format(url=f"{site.url}/page").encode()
    reply = _supervisors.run_supervised(request, b"HOME=" + os.fsencode(tmp_path) + b"\0")
    port, answer = reply["stdout"].split(b"\n", 1)
    assert (port.isdigit(), answer, reply["killed"]) == (True, b"b'/page'\n", 0), reply
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))
    assert proxies() == []


def test_a_command_has_a_loopback_of_its_own(bwrap: str, tmp_path: Path) -> None:
    """Programs reach their own servers there without the proxy."""
    code = """if True:
        import http.server, threading, urllib.request
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(urllib.request.urlopen(f"http://localhost:{server.server_port}/").status)
    """
    assert run_python(code, tmp_path, sandbox=bwrap, network=True).stdout == b"200\n"


def caller_of(*command: str) -> subprocess.Popen[bytes]:
    """Start a process that runs a command with the network."""
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from prowess.sandbox import run\n"
        f"run({command!r}, cwd='/usr', sandbox='bwrap', network=True)"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_a_proxy_serves_no_other_command(bwrap: str, tmp_path: Path) -> None:
    """Each listens in the network of its own command only, and not on this machine."""
    code = "import socket; socket.create_connection(('127.0.0.1', 3128), 1)"
    reach = "import socket; socket.create_connection(('127.0.0.1', 3128)).close(); print('own')"
    with caller_of("/bin/sleep", "60") as other:
        try:
            wait_until(lambda: len(tree_of(other.pid)) >= 5)
            assert run_python(reach, tmp_path, sandbox=bwrap, network=True).stdout == b"own\n"
            assert b"ConnectionRefusedError" in run_python(code, tmp_path, sandbox=bwrap).stderr
            assert b"ConnectionRefusedError" in run_python(code, tmp_path).stderr
        finally:
            other.terminate()


@pytest.mark.slow
def test_a_hundred_connections_at_once_are_served(bwrap: str, tmp_path: Path, site: LoopbackServer) -> None:
    """Beside some that send nothing."""
    code = f"""if True:
        import socket, threading, urllib.request
        idle = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(20)]
        answers = []
        def get(number):
            answers.append(urllib.request.urlopen(f"{site.url}/{{number}}").read() == b"/%d" % number)
        threads = [threading.Thread(target=get, args=(number,)) for number in range(100)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(answers), all(answers))
    """
    assert run_python(code, tmp_path, sandbox=bwrap, network=NAMED).stdout == b"100 True\n"


@pytest.mark.slow
def test_connections_that_send_garbage_or_nothing_do_not_delay_the_end(bwrap: str, tmp_path: Path) -> None:
    code = """if True:
        import os, socket
        held = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(200)]
        for number, connection in enumerate(held):
            connection.send(b"" if number % 3 == 0 else os.urandom(1000) if number % 3 == 1 else b"GET http://")
    """
    done = run_python(code, tmp_path, sandbox=bwrap, network=True)
    assert (done.exit_code, done.killed) == (0, 0), done
    assert done.duration < 5
    assert proxies() == []


def proxies() -> list[int]:
    """Return the children of idle supervisors."""
    own = {supervisor._pid for supervisor in _supervisors._ALL}
    return [pid for pid, parent, *_ in list_processes() if parent in own]


@pytest.mark.parametrize(
    ("code", "limits"), [("pass", Limits()), ("raise SystemExit(3)", Limits()), ("input()", Limits(timeout=0.3))]
)
def test_a_proxy_ends_with_its_command(code: str, limits: Limits, bwrap: str, tmp_path: Path) -> None:
    """It does not count as a process that the command left running."""
    done = run_python(code, tmp_path, sandbox=bwrap, network=True, limits=limits)
    assert done.killed == 0
    assert proxies() == []


def tree_of(pid: int) -> list[int]:
    """Return a process and everything that comes from it."""
    children: dict[int, list[int]] = {}
    for child, parent, *_ in list_processes():
        children.setdefault(parent, []).append(child)
    found = [pid]
    for member in found:
        found += children.get(member, ())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["caller", "supervisor"])
def test_a_proxy_ends_with_a_caller_or_supervisor_that_is_killed(victim: str, bwrap: str) -> None:
    """And so does the command."""
    assert bwrap
    with caller_of("/bin/sleep", "60") as caller:
        # The caller, its supervisor, the proxy, two processes of bwrap; the last is the command.
        wait_until(lambda: len(tree_of(caller.pid)) >= 5)
        _, supervisor, *rest = tree_of(caller.pid)
        os.kill(caller.pid if victim == "caller" else supervisor, signal.SIGKILL)
        wait_until(lambda: not any(map(is_process_alive, (supervisor, *rest))))


def test_a_command_is_not_started_without_its_proxy(
    bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is an error, and the next command runs."""
    (tmp_path / "out").mkdir()
    code = "open('out/started', 'w')"
    with monkeypatch.context() as patch:
        patch.setattr(NetworkRules, "as_fields", lambda _: {"unknown": 1})
        with pytest.raises(SandboxError, match="`python3` cannot be given the network: the proxy did not start"):
            run_python(code, tmp_path, sandbox=bwrap, network=True, writable=[tmp_path / "out"])
    assert not (tmp_path / "out/started").exists()
    assert run_python("print(1)", tmp_path, sandbox=bwrap, network=True).stdout == b"1\n"


def test_an_error_of_bwrap_is_not_hidden_by_the_network(
    bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process may be gone before the proxy enters its network."""
    arguments = _profiles.bwrap_arguments
    monkeypatch.setattr(
        _backends, "bwrap_arguments", lambda confinement: ["--ro-bind", "/missing", "/x", *arguments(confinement)]
    )
    monkeypatch.setattr("prowess.sandbox._run.forget_probe", lambda _: None)
    for _ in range(3):
        with pytest.raises(SandboxError, match="`bwrap` cannot run `python3`: Can't find source path /missing"):
            run_python("", tmp_path, sandbox=bwrap, network=True)


def test_the_files_of_the_network_are_not_those_of_the_machine(bwrap: str, tmp_path: Path) -> None:
    """The proxy looks up names; the names in `/etc/hosts` are not the command's business."""
    code = "import os; print(os.path.exists('/etc/resolv.conf'), open('/etc/hosts').read().split())"
    output = run_python(code, tmp_path, sandbox=bwrap, network=True).stdout
    assert output == b"False ['127.0.0.1', 'localhost', '::1', 'localhost']\n"


@pytest.mark.slow
def test_a_long_lived_command_has_a_proxy_too(bwrap: str, tmp_path: Path, site: LoopbackServer) -> None:
    """It ends with the command."""
    code = GET.format(url=f"{site.url}/page").replace("\nexcept", "; sys.stdout.flush(); input()\nexcept")
    with (
        server_command(["python3", "-c", f"import sys\n{code}"], cwd=tmp_path, sandbox=bwrap, network=NAMED) as words,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdout is not None
        assert server.stdin is not None
        assert server.stdout.readline() == b"b'/page'\n"
        tree = tree_of(server.pid)
        assert len(tree) >= 5
        server.stdin.close()
        wait_until(lambda: not any(map(is_process_alive, tree)))
