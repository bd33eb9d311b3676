"""peers.toml -> peers, each in an environment of its own that is made on first use"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".envs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Another reader of skills, pinned."""

    name: str
    packages: tuple[str, ...]
    """With their versions; the first is the peer itself."""
    does: str
    script: str | None = None
    """Of peers/; none where there is no public function that finds and parses the skills of a folder."""
    differs: str = ""
    less: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    npm: bool = False

    @property
    def version(self) -> str:
        """The peer's own."""
        return self.packages[0].rpartition("@" if self.npm else "=")[2]

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return ENVIRONMENTS / self.name

    @property
    def programs(self) -> Path:
        """Where its commands are."""
        return self.folder / ("node_modules/.bin" if self.npm else "bin")


class NotInstalledError(Exception):
    """A peer's environment cannot be made here; the text says why."""


def load_peers() -> tuple[Peer, ...]:
    """Read peers.toml."""
    tables = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    return tuple(
        Peer(
            name=name,
            packages=tuple(table["packages"]),
            does=table["does"],
            script=table.get("script"),
            differs=table.get("differs", ""),
            less=table.get("less", ""),
            commands=tuple(tuple(command) for command in table.get("commands", ())),
            npm=table.get("from") == "npm",
        )
        for name, table in tables.items()
    )


def install(peer: Peer) -> None:
    """Install a peer, unless that was done.

    Raises:
        NotInstalledError: that failed.
    """
    done = peer.folder / ".done"
    wanted = "\n".join(peer.packages)
    if done.is_file() and done.read_text(encoding="utf-8") == wanted:
        return
    print(f"installing {peer.name} (once) ...", file=sys.stderr)
    peer.folder.mkdir(parents=True, exist_ok=True)
    if peer.npm:
        _run("npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(peer.folder), *peer.packages)
    else:
        _run(sys.executable, "-m", "venv", str(peer.folder))
        pip = (str(peer.programs / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet")
        _run(*pip, "install", *peer.packages)
    done.write_text(wanted, encoding="utf-8")


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NotInstalledError(f"there is no `{command[0]}` here") from error
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise NotInstalledError(f"`{Path(command[0]).name}` failed: {lines[-1] if lines else done.returncode}")


def compile_floor(where: Path) -> Path:
    """Compile the floor.

    Raises:
        NotInstalledError: there is no compiler, or it failed.
    """
    program = where / "floor"
    _run("cc", "-O2", "-D_GNU_SOURCE", "-o", str(program), str(HERE / "floor.c"))
    return program
