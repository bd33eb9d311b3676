"""policies + skills -> a client's home and environment, for as long as it runs

The client finds a home in which there is nothing but the skills it is given and the settings that the policies ask
for, and an environment that was made from nothing: what the caller has in its own, secrets above all, is not in it
unless it stands in a short list or the caller says so. When the client has ended the home is removed.

    BASE/home   its HOME        BASE/tmp   its TMPDIR        BASE/work   an empty folder to start in

A home that a process left behind because it was killed is removed by whoever makes the next one.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from ._frozen import Frozen
from ._hosts import TABLES
from .client_settings import NetworkPolicy, SandboxConfig, policy_problems, settings_files
from .errors import ConfigError, ProwessError, SkillMountError, joined
from .findings import quoted
from .host import load_host
from .mount import MountReport, SkillConfig, apply, plan, skills_root
from .transaction import remove_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from subprocess import Popen
    from types import FrameType, TracebackType
    from typing import Any, Self

    from .host import Host

__all__ = ["EphemeralHome", "IsolationConfig", "NetworkPolicy", "SandboxConfig"]

ALLOWED = frozenset(
    (
        "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "LOGNAME", "NODE_EXTRA_CA_CERTS",
        "NO_COLOR", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TZ", "USER",
    )
)  # fmt: skip
"""What a client gets of the caller's environment, with all that begins with `LC_`."""

_OWN = frozenset(("HOME", "HOMEDRIVE", "HOMEPATH", "PWD", "OLDPWD", "TEMP", "TMP", "TMPDIR", "USERPROFILE"))
"""What the home itself sets."""
_SENSITIVE = re.compile(
    r".*(?:KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|SESSION|AUTH|PROXY|DSN|CONNECTION|_PAT$|_URI$|_URL$).*"
    r"|(?:ANTHROPIC|AWS|AZURE|CLAUDE|CLOUDSDK|CODEX|COPILOT|DOCKER|GCLOUD|GCP|GEMINI|GH|GITHUB|GITLAB|GOOGLE|KUBE|NPM"
    r"|OPENAI|PIP|PROWESS|PYTHON|QWEN|SSH|TWINE|UV|VAULT|XDG)(?:_.*|CONFIG|CODE.*)?"
    r"|BASH_ENV|BASH_FUNC.*|ENV|LD_.*|DYLD_.*|NODE_(?!EXTRA_CA_CERTS$).*|IFS|PERL5.*|RUBY.*",
    re.IGNORECASE,
).fullmatch
"""What `include_host_env` leaves out: what may be a secret, lead to one, move a client's folders or load code."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_PREFIX = "prowess-home-"
_STALE = 60.0
"""Seconds after which a home that nobody holds was left behind."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class IsolationConfig(Frozen, kw_only=False):
    """How a client is kept apart from the machine it runs on."""

    network_policy: NetworkPolicy | None = None
    """Which domains its commands and web tools may reach; None leaves that to the client."""
    sandbox: SandboxConfig | None = None
    """What its commands may do; None leaves that to the client."""
    env: Mapping[str, str] | None = None
    """Variables for it, over all others."""
    api_key: str | None = None
    """The key to its model; without one it has none, whatever the caller's environment holds."""
    include_host_env: bool = False
    """Whether it gets the caller's environment, without what may be a secret or would lead it out of its home."""
    skills: SkillConfig | None = None
    """What is mounted into its home."""


class EphemeralHome:
    """A home for one client, which is removed when it is closed.

    It is there from the moment it is made. As a context manager it also goes when the process gets a SIGTERM or SIGHUP
    that nothing else handles. A process that ends without closing it, unless it is killed, removes it too.

    Args:
        config: what the client may see and do; by default nothing is mounted and no policy is set.
        host: the client.

    Raises:
        ConfigError: a variable, a policy or a key cannot be, or the client knows no setting for it.
        SkillError: a skill cannot be mounted. All problems of the whole configuration are in one error, of the kind of
            the first, which has them as `problems`.
        HostNotFoundError: there is no such host.
    """

    path: Path
    """The client's `HOME`."""
    workdir: Path
    """An empty folder to start it in."""
    env: Mapping[str, str]
    """The client's whole environment."""
    report: MountReport
    """What was mounted."""

    def __init__(self, config: IsolationConfig | None = None, *, host: str = "claude-code") -> None:
        import tempfile
        import weakref
        from pathlib import Path

        config = config or IsolationConfig()
        self.host = load_host(host)
        top = tempfile.gettempdir()
        problems: list[ProwessError] = [*_problems(self.host, config)]
        skills = config.skills or SkillConfig()
        try:
            # The name of the home is not known yet, and does not matter: nothing is there that could be in the way.
            made = plan(skills, os.path.join(top, f"{_PREFIX}{os.urandom(8).hex()}"), host=host)
        except ProwessError as error:
            problems.append(error)
        if problems:
            raise joined(problems, "no home was made")
        _sweep(top)
        base = tempfile.mkdtemp(prefix=_PREFIX, dir=top)
        self._base = Path(base)
        self._held = _hold(base)
        self._remove = weakref.finalize(self, _remove, base, self._held, os.getpid())
        self._handlers: dict[int, Any] = {}
        try:
            for name in ("home", "tmp", "work"):
                os.mkdir(os.path.join(base, name), 0o700)
            self.path, self.workdir = self._base / "home", self._base / "work"
            files = settings_files(
                self.host,
                config.network_policy,
                config.sandbox,
                key=config.api_key is not None,
                user_home=os.path.expanduser("~"),
            )
            for name, text in files.items():
                file = self.path / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            self.report = apply(made.but(home=str(self.path)))
            self.env = _environment(self.host, config, base)
        except BaseException:
            self.close()
            raise

    @property
    def skills_dir(self) -> Path:
        """The folder the skills are mounted in."""
        return self.path / skills_root(self.host.name)

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return a command as it is started here.

        The client's own program, called by its name or path, is given what keeps a project's settings from undoing
        those of the home. What starts the client in turn, a script for instance, must do so itself.
        """
        isolated = self.host.isolated
        given = [*argv]
        if given and isolated.arguments and os.path.basename(given[0]) == isolated.program:
            return [given[0], *isolated.arguments, *given[1:]]
        return given

    def start(self, argv: Sequence[str], **options: Any) -> Popen[Any]:
        """Start the client, with this environment and no other.

        Args:
            argv: the program, looked for on the `PATH` of `env`, and its arguments.
            options: of `subprocess.Popen`; `env` is not among them.

        Raises:
            ConfigError: there is no such program, or it cannot be started.
        """
        import subprocess

        if "env" in options:
            raise ConfigError("a client starts with the environment of its home", hint="use `IsolationConfig.env`")
        command = self.command(argv)
        try:
            return subprocess.Popen([self.program(command[0]), *command[1:]], env={**self.env}, **options)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{quoted(command[0], 200)} cannot be started: {error}") from None

    def program(self, name: str) -> str:
        """Return the path of a program as the client's `PATH` has it.

        Raises:
            ConfigError: there is none.
        """
        import shutil

        found = shutil.which(name, path=self.env.get("PATH", ""))
        if found is None:
            words = f"there is no program {quoted(name, 200)}"
            raise ConfigError(words, hint="install it, or write out its path")
        return os.path.abspath(found)

    def close(self) -> None:
        """Remove the home, with all that is in it. What was closed already stays so."""
        self._remove()

    def __enter__(self) -> Self:
        import signal
        import threading

        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    self._handlers[number] = signal.signal(number, _ended)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import signal

        self.close()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers = {}


def _ended(number: int, _frame: FrameType | None) -> None:
    """Unwind the process as Ctrl-C does, so that what it holds is removed."""
    raise SystemExit(128 + number)


# ── what is asked for ────────────────────────────────────────────────────────────────────────────────────────────────


def _problems(host: Host, config: IsolationConfig) -> Iterator[ConfigError]:
    """Yield what is wrong with a configuration, its skills aside."""
    moving = _moving()
    # What a type checker believes of them, callers need not have looked at.
    env: Mapping[Any, Any] = config.env or {}
    key: Any = config.api_key
    for name, value in env.items():
        if not isinstance(name, str) or not _VARIABLE(name):
            hint = "use letters, digits and `_`"
            yield ConfigError(f"{quoted(str(name))} is no name of a variable", hint=hint)
        elif name.upper() in _OWN or name.upper() in moving or name.upper().startswith("XDG_"):
            words = f"`{name}` would lead the client out of its home"
            yield ConfigError(words, hint="leave it out: the home sets what it needs")
        elif not isinstance(value, str) or "\0" in value:
            yield ConfigError(f"the value of `{name}` is not a text without NUL", hint="give it as text")
    if key is not None:
        variable = host.isolated.key_variable
        if not isinstance(key, str) or "\0" in key:
            yield ConfigError("the key is not a text without NUL", hint="give it as text")
        elif not variable:
            words = f"Prowess does not know which variable takes the key of {host.title}"
            yield ConfigError(words, hint="name the variable in `env`")
    yield from policy_problems(host, config.network_policy, config.sandbox)


def _moving() -> frozenset[str]:
    """Return the variables that move the folders of any client."""
    paths = (root["path"] for table in TABLES.values() for root in table.get("roots", ()))
    return frozenset(path[1:].partition("|")[0].partition("/")[0] for path in paths if path.startswith("$"))


def _environment(host: Host, config: IsolationConfig, base: str) -> Mapping[str, str]:
    """Make the client's environment."""
    moving = _moving() | _OWN

    def is_let_in(name: str) -> bool:
        if name in ALLOWED or name.startswith("LC_"):
            return True
        return config.include_host_env and name.upper() not in moving and not _SENSITIVE(name)

    env = {name: value for name, value in os.environ.items() if is_let_in(name)}
    env.setdefault("PATH", os.defpath)
    env |= host.isolated.env
    if config.api_key is not None:
        env[host.isolated.key_variable] = config.api_key
    env |= config.env or {}
    return env | {"HOME": os.path.join(base, "home"), "TMPDIR": os.path.join(base, "tmp")}


# ── the folder ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _hold(base: str) -> int:
    """Show others that a home is in use, for as long as this process lives."""
    fd = os.open(base, _FOLDER)
    _lock(fd)
    return fd


def _lock(fd: int) -> bool:
    """Hold an open folder, and say whether that was possible."""
    try:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _remove(base: str, held: int, owner: int) -> None:
    """Remove a home, but not in a process that was forked from its owner.

    Raises:
        SkillMountError: something of it cannot be removed.
    """
    from time import sleep

    if os.getpid() != owner:
        return
    above, name = os.path.split(base)
    fd = os.open(above, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        # What the client started may still be writing.
        for pause in (0.0, 0.05, 0.2, 0.5):
            sleep(pause)
            remove_folder(name, fd)
            if not os.path.lexists(base):
                break
    finally:
        os.close(fd)
        with suppress(OSError):
            os.close(held)
    if os.path.lexists(base):
        raise SkillMountError(f"{quoted(base, 200)} cannot be removed", hint="see what still writes into it")


def _sweep(top: str) -> None:
    """Remove homes whose process was killed."""
    from time import time

    with suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):
                    _sweep_one(entry.path, time())


def _sweep_one(path: str, now: float) -> None:
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or now - status.st_mtime < _STALE:
        return
    fd = os.open(path, _FOLDER)
    try:
        stale = os.path.samestat(os.fstat(fd), status) and _lock(fd)
    finally:
        os.close(fd)
    if stale:
        _remove(path, -1, os.getpid())
