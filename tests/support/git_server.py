"""Repositories of git, and a server of them on the loopback address: git's own `http-backend`.

`make_repository` commits any tree, also one that no git would write: `{"SKILL.md": "text"}`, values are texts, bytes,
`Link`, `Submodule`, `Executable`, or mappings for folders.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import os
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Tree = Mapping[str, Any]

__all__ = [
    "Executable",
    "GitServer",
    "Link",
    "Objects",
    "Raw",
    "Submodule",
    "commit",
    "git",
    "make_repository",
    "skill_text",
]


class Link(str):
    """The target of a link."""

    __slots__ = ()


class Submodule(str):
    """The commit of a submodule."""

    __slots__ = ()


class Executable(str):
    """The text of an executable file."""

    __slots__ = ()


@dataclass(frozen=True)
class Raw:
    """An entry with any mode, of an object that exists."""

    mode: str
    oid: str


def skill_text(name: str, body: str = "Do it.\n") -> str:
    return f"---\nname: {name}\ndescription: Does {name}. Use it to test.\n---\n{body}"


def git(repository: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git in a repository, without the settings of the user."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.org", f"GIT_{role}_DATE": "1700000000 +0000"}
    done = subprocess.run(["git", *arguments], cwd=repository, env=env, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def make_repository(folder: Path, tree: Tree, *options: str) -> Path:
    """Make a bare repository with one commit on `main`."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", *options)
    commit(folder, tree)
    return folder


def commit(repository: Path, tree: Tree, branch: str = "main") -> str:
    """Commit a tree, with the commit before as its parent, and return the commit."""
    parents = git(repository, "for-each-ref", "--format=-p %(objectname)", f"refs/heads/{branch}").split()
    objects = Objects(repository)
    oid = git(repository, "commit-tree", *parents, "-m", "Change", objects.tree(tree))
    git(repository, "update-ref", f"refs/heads/{branch}", oid)
    return oid


class Objects:
    """Writes loose objects directly: git would check them, and is slow for each."""

    def __init__(self, repository: Path) -> None:
        self._folder = repository / "objects"
        config = (repository / "config").read_text("utf-8").lower()
        self._hash = hashlib.sha256 if "sha256" in config else hashlib.sha1

    def write(self, kind: str, data: bytes) -> str:
        raw = f"{kind} {len(data)}\0".encode() + data
        oid = self._hash(raw).hexdigest()
        path = self._folder / oid[:2] / oid[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(raw, 1))
        return oid

    def tree(self, tree: Tree) -> str:
        entries = []
        for name, value in tree.items():
            mode, oid = self._entry(value)
            raw = os.fsencode(name)
            entries.append((raw + b"/" * (mode == "40000"), mode.encode() + b" " + raw + b"\0" + bytes.fromhex(oid)))
        return self.write("tree", b"".join(entry for _, entry in sorted(entries)))

    def _entry(self, value: object) -> tuple[str, str]:
        match value:
            case Raw():
                return value.mode, value.oid
            case Submodule():
                return "160000", str(value)
            case Link():
                return "120000", self.write("blob", os.fsencode(str(value)))
            case bytes():
                return "100644", self.write("blob", value)
            case str():
                return "100755" if isinstance(value, Executable) else "100644", self.write("blob", value.encode())
            case dict():
                return "40000", self.tree(value)
            case _:
                raise TypeError(value)


@dataclass
class Seen:
    """A request."""

    path: str
    headers: dict[str, str]


@dataclass
class Behaviour:
    """How the server differs from an ordinary one."""

    password: str | None = None
    """Of the user `user`, who must log in."""
    is_old: bool = False
    """Speaks the first version of git's protocol, in which only commits at the end of a branch are given."""
    replace: Callable[[str, bytes], Iterable[bytes] | None] = field(default=lambda _path, _body: None)
    """Returns a whole answer, as the bytes of HTTP in parts, in place of git's; or `None`."""
    rewrite: Callable[[bytes], bytes] = field(default=lambda body: body)
    """Changes a request before git gets it."""


class GitServer(LoopbackServer):
    """`with GitServer(folder) as server:` serves every repository in a folder, at `server.url/NAME`.

    The test is skipped if git has no `http-backend`, which some systems have in a package of its own.
    """

    def __init__(self, folder: Path) -> None:
        if not Path(git(folder, "--exec-path"), "git-http-backend").exists():
            import pytest

            pytest.skip("git-http-backend is missing: install the whole of git")
        super().__init__(_Handler)
        self.folder = folder
        self.behaviour = Behaviour()
        self.seen: list[Seen] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    server: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)

    def _answer(self, body: bytes) -> None:
        behaviour = self.server.behaviour
        self.server.seen.append(Seen(self.path, {name.lower(): value for name, value in self.headers.items()}))
        if (parts := behaviour.replace(self.path, body)) is not None:
            self.close_connection = True
            for part in parts:
                self.wfile.write(part)
            return
        body = behaviour.rewrite(body)
        if behaviour.password is not None:
            wanted = "Basic " + base64.b64encode(f"user:{behaviour.password}".encode()).decode()
            if self.headers.get("authorization") != wanted:
                self._send(401, [("WWW-Authenticate", 'Basic realm="git"')], b"log in\n")
                return
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        if not behaviour.is_old:
            env["GIT_PROTOCOL"] = self.headers.get("git-protocol", "")
        done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode("latin-1").split("\r\n") if line]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self._send(int(status[:3]), [(name, value) for name, value in headers if name != "Status"], content)

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(content)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":  # for `benchmarks/adding.py`: serves a folder until its standard input ends
    with GitServer(Path(sys.argv[1])) as started:
        print(started.url, flush=True)
        sys.stdin.read()
