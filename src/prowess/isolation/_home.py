"""Create a temporary home for a client, start the client in it, and remove the home afterwards.

The home contains only the skills that the client is given and the settings files that the policies need. The
environment is built from nothing: the caller's variables, secrets above all, are left out unless they are in a short
list or the caller passes them.

    BASE/home   HOME        BASE/tmp   TMPDIR        BASE/work   an empty folder to start in

A home that a killed process left behind is removed when the next home is created.
"""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess._internal.signals import signals_as_exception
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import PATH_LIMIT, describe_os_error, neutral, quoted
from prowess.errors import ConfigError, ProwessError, SkillMountError, combine_errors
from prowess.hosts import load_host
from prowess.mount import MountReport, Plan, SkillConfig, apply, plan, skills_root

from ._env import build_environment, variable_problems
from ._settings import NetworkPolicy, SandboxConfig, policy_problems, settings_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from subprocess import Popen
    from types import TracebackType
    from typing import Any, Self

    from prowess.hosts import Host

HOME_PREFIX = "prowess-home-"
"""How the names of the temporary folders begin."""


class IsolationConfig(Frozen, kw_only=False):
    """How a client is isolated from the machine it runs on.

    Without policies a client that Prowess can configure (Claude Code, Codex) gets the strictest: its commands and web
    tools have no network, and its commands run in its sandbox. The client itself reaches its model.
    """

    network_policy: NetworkPolicy | None = None
    """The domains that its commands and web tools may reach; `None` closes the network, `NetworkPolicy.unrestricted()`
    leaves that to the client."""
    sandbox: SandboxConfig | None = None
    """What its commands may do; `None` is `SandboxConfig()`, and `SandboxConfig(enabled=False)` leaves that and the
    network to the client."""
    env: Mapping[str, str] | None = None
    """Variables for the client, which override all others."""
    api_key: str | None = None
    """The key to its model. Without it the client gets no key, even if the caller's environment contains one."""
    include_host_env: bool = False
    """Whether it gets the caller's environment, except what may be a secret or would move it out of its home."""
    skills: SkillConfig | None = None
    """The skills to mount into its home."""


class EphemeralHome:
    """A temporary home for one client, which is removed when it is closed.

    It exists as soon as the object does. As a context manager it is also removed if the process gets a SIGTERM or
    SIGHUP that has no other handler. A process that ends without closing it removes it too, unless it is killed.

    Args:
        config: what the client may see and do; by default nothing is mounted, and the policies are the strictest.
        host: the client.

    Raises:
        ConfigError: a variable, a policy or a key is invalid, or the client has no setting for it.
        SkillError: a skill cannot be mounted. All problems of the configuration are in one error of the type of the
            first problem, as `problems`.
        HostNotFoundError: there is no such host.
    """

    path: Path
    """The client's `HOME`."""
    workdir: Path
    """An empty folder to start it in."""
    env: Mapping[str, str]
    """The client's whole environment."""
    report: MountReport
    """The skills that were mounted."""

    def __init__(self, config: IsolationConfig | None = None, *, host: str = "claude-code") -> None:
        self.host = load_host(host)
        config = _checked_config(config)
        user_home = os.path.expanduser("~")
        mount_plan = self._plan(config, user_home)
        top = temporary_directory_root()
        try:
            self._tempdir = TemporaryDirectory(HOME_PREFIX, top)
        except OSError as error:
            message = f"cannot create a folder in {quoted(top, PATH_LIMIT)}: {describe_os_error(error)}"
            raise ConfigError(message, hint="set TMPDIR to a folder that you can write to") from None
        try:
            self._create(config, user_home)
            self.report = apply(mount_plan.with_changes(home=str(self.path)))
        except BaseException:
            self.close()
            raise

    def _plan(self, config: IsolationConfig, user_home: str) -> Plan:
        """Check the whole configuration, and plan the mount.

        Raises:
            ProwessError: something is wrong with it.
        """
        problems: list[ProwessError] = [*variable_problems(self.host, config.env, config.api_key)]
        problems += policy_problems(self.host, config.network_policy, config.sandbox, user_home=user_home)
        include_host_env: Any = config.include_host_env  # callers without a type checker may pass anything
        if not isinstance(include_host_env, bool):
            problems.append(ConfigError("`include_host_env` must be true or false", hint="write `True` or `False`"))
        try:
            # The real path is not known yet, and does not matter: nothing exists there that a skill could overwrite.
            home = os.path.join(temporary_directory_root(), f"{HOME_PREFIX}{os.urandom(8).hex()}")
            mount_plan = plan(SkillConfig() if config.skills is None else config.skills, home, host=self.host.name)
        except ProwessError as error:
            problems.append(error)
        if problems:
            raise combine_errors(problems, "no home was created")
        return mount_plan

    def _create(self, config: IsolationConfig, user_home: str) -> None:
        """Create the folders and settings files, and build the environment."""
        from pathlib import Path

        base = Path(self._tempdir.path)
        self.path, self.workdir = base / "home", base / "work"
        self.workdir.mkdir(0o700)
        self.env = write_home(self.host, config, base, user_home=user_home, workdir=str(self.workdir))

    @property
    def skills_dir(self) -> Path:
        """The folder that contains the mounted skills."""
        return self.path / skills_root(self.host.name)

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the command line that `start` runs.

        If the program is the client's own, by name or path, it gets the arguments that keep a project's settings from
        overriding those of the home. A wrapper, such as a script that starts the client, must add them itself.
        """
        isolated = self.host.isolated
        command = [*argv]
        if command and isolated.arguments and os.path.basename(command[0]) == isolated.program:
            return [command[0], *isolated.arguments, *command[1:]]
        return command

    def start(self, argv: Sequence[str], **options: Any) -> Popen[Any]:
        """Start the client with the environment of this home.

        Args:
            argv: the program, which is searched on the `PATH` of `env`, and its arguments.
            options: passed to `subprocess.Popen`, except `env`.

        Raises:
            ConfigError: the program does not exist or cannot be started.
        """
        import subprocess

        if "env" in options:
            message = "`env` cannot be passed here: the client gets the environment of its home"
            raise ConfigError(message, hint="use `IsolationConfig.env`")
        if not self._tempdir.close.alive:  # its descriptor may belong to another file by now
            raise ConfigError("the home is closed", hint="start the client inside the `with` block")
        if isinstance(argv, str | bytes | os.PathLike):
            raise ConfigError("a command must be a list, not one string", hint='write `["claude", "-p", "..."]`')
        command = self.command(argv)
        if not command:
            raise ConfigError("the command is empty", hint="give a program and its arguments")
        if os.name == "posix":
            # While the client runs, its home is in use, even if this process is killed.
            options["pass_fds"] = (*options.get("pass_fds", ()), self._tempdir.lock_fd)
        program = self.program(command[0])
        try:
            return subprocess.Popen([program, *command[1:]], env={**self.env}, **options)
        except (OSError, ValueError) as error:
            message = f"{quoted(command[0], PATH_LIMIT)} cannot be started: {neutral(describe_os_error(error))}"
            raise ConfigError(message, hint="check whether it runs in a terminal") from None

    def program(self, name: str) -> str:
        """Return the path of a program on the client's `PATH`.

        Raises:
            ConfigError: there is no such program.
        """
        import shutil

        path = shutil.which(name, path=self.env.get("PATH", ""))
        if path is None:
            hint = "install it, or give its full path"
            raise ConfigError(f"program not found: {quoted(name, PATH_LIMIT)}", hint=hint)
        return os.path.abspath(path)

    def close(self) -> None:
        """Remove the home and everything in it. Closing it again does nothing.

        Raises:
            SkillMountError: something in it cannot be removed.
        """
        try:
            self._tempdir.close()
        except OSError:
            message = f"{quoted(self._tempdir.path, PATH_LIMIT)} cannot be removed"
            raise SkillMountError(message, hint="check which process still writes into it") from None

    def __enter__(self) -> Self:
        # Another signal must not interrupt the removal, nor end the process before it.
        self._signals = signals_as_exception(first_only=True)
        self._signals.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        finally:
            self._signals.__exit__(None, None, None)


def write_home(
    host: Host,
    config: IsolationConfig,
    base: Path,
    *,
    user_home: str,
    workdir: str,
    secrets: Iterable[str] = (),
) -> Mapping[str, str]:
    """Create the home of a client, with its settings and without skills, and return the client's environment.

    Args:
        host: the client.
        config: without problems.
        base: the folder that gets its `HOME`, `home`, and its `TMPDIR`, `tmp`.
        user_home: the caller's own home, whose secrets commands may not read.
        workdir: the folder in which it works.
        secrets: variables that its commands may not read, beside that of its key.
    """
    home, env = base / "home", config.env or {}
    for folder in (home, base / "tmp"):
        folder.mkdir(0o700, exist_ok=True)
    files = settings_files(
        host,
        config.network_policy,
        config.sandbox,
        key=config.api_key is not None or host.isolated.key_variable in env,
        user_home=user_home,
        workdir=workdir,
        secrets=dict.fromkeys((host.isolated.key_variable, *secrets)),
    )
    for name, text in files.items():
        file = home / name
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return build_environment(host, env, config.api_key, include_host_env=config.include_host_env, base=str(base))


def _checked_config(config: object) -> IsolationConfig:
    """Return the configuration, or the default one.

    Raises:
        ConfigError: it is something else.
    """
    if config is None:
        return IsolationConfig()
    if not isinstance(config, IsolationConfig):
        message = f"the configuration must be an IsolationConfig, not {type(config).__name__}"
        raise ConfigError(message, hint="write `IsolationConfig(...)`, or leave it out")
    return config
