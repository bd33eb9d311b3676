"""Measure servers of skills over MCP, with a client that only writes and reads lines: Prowess and the TypeScript SDK.

`make conformance` installs the latter. Both serve the same folder over standard input and output, in turns; what many
clients cost is measured over HTTP, with Prowess alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import HERE, Bench
from generate import SKILLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROWESS, TYPESCRIPT = "prowess mcp serve", "TypeScript SDK"
SIZES = (1_000, 10_000)
PAGE = 1_000
"""Skills in one answer, of both servers."""
LISTS = 5
"""Lists that one server sends before and after it rests."""
REST_SECONDS = 4.0
"""Until a server has done what it does after its first answers."""
CLIENTS, READS, TURNS = 100, 100, 3
_INSTALLED = HERE.parent / ".conformance"
_SCRIPT = HERE.parent / "tests/mcp/conformance/serve_skills.mjs"
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_find_cursor = re.compile(rb'"nextCursor":"([^"]+)"').search


class LineServer:
    """A server in a child process, and its only client."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process: Any = subprocess.Popen(command, env=environment, **pipes)

    def ask(self, method: str, **params: str) -> bytes:
        """Return the line of an answer."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": _META, **params}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        line: bytes = self.process.stdout.readline()
        return line

    def list_skills(self) -> list[bytes]:
        """Return the pages of the list of all skills."""
        pages = [self.ask("skills/list")]
        while cursor := _find_cursor(pages[-1]):
            pages.append(self.ask("skills/list", cursor=cursor[1].decode()))
        return pages

    def processor(self) -> float:
        """Return the processor seconds of the process, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def memory_of(pid: int, name: str = "VmHWM") -> int:
    """Return the bytes of memory of a process: the most so far, or with `VmRSS` those of now."""
    text = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(f"{name}:"))


def measure_serving(
    bench: Bench, sizes: Sequence[int] = SIZES, clients: int = CLIENTS, reads: int = READS
) -> Iterator[dict[str, Any]]:
    """Measure start, lists and memory with each number of skills, and then many clients."""
    figures: dict[str, Any] = {"page": PAGE, "sizes": {}}
    for size in sizes:
        project = bench.project(size)
        commands = _commands(bench, project)
        costs: dict[str, dict[str, list[float]]] = {name: {} for name in commands}
        for turn in range(-1, bench.rounds):
            for name, (command, environment) in commands.items():
                if turn < 0 and name != PROWESS:
                    continue  # a server without a cache needs no turn to fill it
                bench.say(f"{size:,} skills, {turn + 1} of {bench.rounds}: {name} ...")
                run = _run(command, environment, size)
                for kind, value in run.items() if turn >= 0 else ():
                    costs[name].setdefault(kind, []).append(round(value, 6))
        figures["sizes"][str(size)] = costs
        yield figures
    figures["clients"] = _measure_clients(bench, bench.project(sizes[0]), clients, reads)
    yield figures


def _commands(bench: Bench, project: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return the command and the environment of each server."""
    own = [sys.executable, "-m", "prowess", "mcp", "serve", str(project)]
    found = {PROWESS: (own, bench.cached_environment(project, "served"))}
    node = _INSTALLED / "node_modules/.bin/node"
    if node.exists():
        script = _INSTALLED / _SCRIPT.name  # a script finds packages beside itself
        shutil.copy(_SCRIPT, script)
        found[TYPESCRIPT] = ([str(node), str(script), str(project / SKILLS), str(PAGE)], bench.environment)
    else:
        bench.skip_reader(TYPESCRIPT, "`make conformance` installs it")
    return found


def _run(command: Sequence[str], environment: Mapping[str, str], size: int) -> dict[str, float]:
    """Start a server, list its skills again and again, and return the figures.

    Raises:
        RuntimeError: it does not list all skills.
    """
    started = time.perf_counter()
    server = LineServer(command, environment)
    try:
        server.ask("server/discover")
        pages = server.list_skills()
        figures = {"start": time.perf_counter() - started, "start processor": server.processor()}
        if (found := sum(len(json.loads(page)["result"]["skills"]) for page in pages)) != size:
            raise RuntimeError(f"found {found:,} of {size:,} skills")
        time.sleep(REST_SECONDS)
        before, elapsed = server.processor(), []
        for _ in range(LISTS):
            began = time.perf_counter()
            server.list_skills()
            elapsed.append(time.perf_counter() - began)
        figures["list"] = sorted(elapsed)[LISTS // 2]
        figures["list processor"] = (server.processor() - before) / LISTS
        figures["peak"] = memory_of(server.process.pid)
    finally:
        server.stop()
    return figures


# ── many clients ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _measure_clients(bench: Bench, project: Path, clients: int, reads: int) -> dict[str, Any]:
    """Have many clients read files at the same time, in turns, and return errors, seconds, and memory after each."""
    files = sorted(str(file.relative_to(project / SKILLS)) for file in (project / SKILLS).rglob("*") if file.is_file())
    figures: dict[str, Any] = {"clients": clients, "reads": reads, "errors": 0, "elapsed": [], "memory": []}
    with _http_server(bench, project) as (pid, address):
        for turn in range(TURNS):
            bench.say(f"{clients} clients, {turn + 1} of {TURNS} ...")
            errors: list[str] = []
            threads = [
                threading.Thread(target=_read_files, args=(address, files[at::clients] * reads, reads, errors))
                for at in range(clients)
            ]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            figures["elapsed"].append(round(time.perf_counter() - began, 3))
            figures["errors"] += len(errors)
            figures["memory"].append(memory_of(pid, "VmRSS"))
    return figures


@contextmanager
def _http_server(bench: Bench, project: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of the process of a server, and its address."""
    command = [sys.executable, "-m", "prowess", "mcp", "serve", str(project), "--http", "127.0.0.1:0"]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    process: Any = subprocess.Popen(command, env=bench.cached_environment(project, "served"), **pipes)
    try:
        lines = iter(process.stderr.readline, b"")
        address = next(match[1] for line in lines if (match := re.search(rb"http://([\d.:]+)/mcp", line)))
        yield process.pid, address.decode()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def _read_files(address: str, files: Sequence[str], reads: int, errors: list[str]) -> None:
    """Read files over one connection; what is not an answer with a text is an error."""
    connection = HTTPConnection(address, timeout=120)
    try:
        for file in files[:reads]:
            uri = f"skill://{file}"
            params = {"_meta": _META, "uri": uri}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params})
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read", "Mcp-Name": uri}
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"text":' not in text:
                errors.append(f"{answer.status} {text[:200]!r}")
    except OSError as error:
        errors.append(str(error))
    finally:
        connection.close()
