"""Read peers.toml and install each peer into its own environment on first use."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".venv-peers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another reader of skills, at a pinned version."""

    name: str
    packages: tuple[str, ...]
    """Packages with their versions; the first is the peer itself."""
    does: str
    script: str | None = None
    """Its file in peers/; `None` if it has no public function that finds and parses the skills of a folder."""
    differs: str = ""
    less: str = ""
    host: str = ""
    """The host whose client it is."""
    commands: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Jobs, as commands.py names them, and the command that does each."""
    npm: bool = False

    @property
    def version(self) -> str:
        """The version of the peer itself."""
        return self.packages[0].rpartition("@" if self.npm else "=")[2]

    @property
    def folder(self) -> Path:
        """The folder of its environment."""
        return ENVIRONMENTS / self.name

    @property
    def programs(self) -> Path:
        """The folder of its commands."""
        return self.folder / ("node_modules/.bin" if self.npm else "bin")


class NotInstalledError(Exception):
    """An environment cannot be made, or the floor cannot be compiled; the text says why."""


def load_peers() -> tuple[Peer, ...]:
    """Return the peers of peers.toml."""
    tables = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    return tuple(
        Peer(
            name=name,
            packages=tuple(table["packages"]),
            does=table["does"],
            script=table.get("script"),
            differs=table.get("differs", ""),
            less=table.get("less", ""),
            host=table.get("host", ""),
            commands=tuple((job, tuple(words)) for job, words in table.get("commands", {}).items()),
            npm=table.get("from") == "npm",
        )
        for name, table in tables.items()
    )


def install(peer: Peer) -> None:
    """Install a peer, unless these versions are installed.

    Raises:
        NotInstalledError: the installation failed.
    """
    stamp = peer.folder / ".done"
    packages = "\n".join(peer.packages)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == packages:
        return
    print(f"installing {peer.name} (once) ...", file=sys.stderr)
    peer.folder.mkdir(parents=True, exist_ok=True)
    if peer.npm:
        _run("npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(peer.folder), *peer.packages)
    else:
        _run(sys.executable, "-m", "venv", str(peer.folder))
        pip = (str(peer.programs / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet")
        _run(*pip, "install", *peer.packages)
    stamp.write_text(packages, encoding="utf-8")


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NotInstalledError(f"`{command[0]}` is not installed") from error
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise NotInstalledError(f"`{Path(command[0]).name}` failed: {lines[-1] if lines else done.returncode}")


def compile_floor(folder: Path) -> Path:
    """Compile floor.c into a folder and return the program.

    Raises:
        NotInstalledError: no C compiler is installed, or it failed.
    """
    program = folder / "floor"
    _run("cc", "-O2", "-D_GNU_SOURCE", "-o", str(program), str(HERE / "floor.c"))
    return program
