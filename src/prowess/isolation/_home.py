"""policies + skills -> a client's home and environment, for as long as it runs

The client finds a home in which there is nothing but the skills it is given and the settings that the policies ask
for, and an environment that was made from nothing: what the caller has in its own, secrets above all, is not in it
unless it stands in a short list or the caller says so. When the client has ended the home is removed.

    BASE/home   its HOME        BASE/tmp   its TMPDIR        BASE/work   an empty folder to start in

A home that a process left behind because it was killed is removed by whoever makes the next one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.frozen import Frozen
from prowess._internal.signals import signals_as_exception
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import describe_os_error, neutral, quoted
from prowess.errors import ConfigError, ProwessError, SkillMountError, combine_errors
from prowess.hosts import load_host
from prowess.mount import MountReport, SkillConfig, apply, plan, skills_root

from ._env import build_environment, variable_problems
from ._settings import NetworkPolicy, SandboxConfig, policy_problems, settings_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from subprocess import Popen
    from types import TracebackType
    from typing import Any, Self


__all__ = ["EphemeralHome", "IsolationConfig", "NetworkPolicy", "SandboxConfig"]

HOME_PREFIX = "prowess-home-"
"""How the folders of homes are called."""


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
        from pathlib import Path

        self.host = load_host(host)
        # What a type checker believes of it, callers need not have looked at.
        given: Any = IsolationConfig() if config is None else config
        if not isinstance(given, IsolationConfig):
            words = f"a configuration is an IsolationConfig, not {type(given).__name__}"
            raise ConfigError(words, hint="write `IsolationConfig(...)`, or leave it out")
        config = given
        user_home = os.path.expanduser("~")
        env = config.env if isinstance(config.env, Mapping) else {}
        key_given = config.api_key is not None or self.host.isolated.key_variable in env
        policies = (self.host, config.network_policy, config.sandbox)
        problems: list[ProwessError] = [*variable_problems(self.host, config.env, config.api_key)]
        problems += policy_problems(*policies, user_home=user_home)
        flag: Any = config.include_host_env
        if not isinstance(flag, bool):
            problems.append(ConfigError("`include_host_env` is neither true nor false", hint="write `True` or `False`"))
        try:
            # The name of the home is not known yet, and does not matter: nothing is there that could be in the way.
            there = os.path.join(temporary_directory_root(), f"{HOME_PREFIX}{os.urandom(8).hex()}")
            made = plan(SkillConfig() if config.skills is None else config.skills, there, host=host)
        except ProwessError as error:
            problems.append(error)
        if problems:
            raise combine_errors(problems, "no home was made")
        top = temporary_directory_root()
        try:
            self._tempdir = TemporaryDirectory(HOME_PREFIX, top)
        except OSError as error:
            words = f"no folder can be made in {quoted(top, 200)}: {describe_os_error(error)}"
            raise ConfigError(words, hint="set TMPDIR to a folder that you can write to") from None
        try:
            base = Path(self._tempdir.path)
            self.path, self.workdir = base / "home", base / "work"
            for folder in (self.path, base / "tmp", self.workdir):
                folder.mkdir(0o700)
            files = settings_files(*policies, key=key_given, user_home=user_home, workdir=str(self.workdir))
            for name, text in files.items():
                file = self.path / name
                file.parent.mkdir(0o700, parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            self.report = apply(made.with_changes(home=str(self.path)))
            self.env = build_environment(
                self.host, config.env, config.api_key, include_host_env=config.include_host_env, base=str(base)
            )
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
        if not self._tempdir.close.alive:  # its descriptor may be another file's by now
            raise ConfigError("the home is closed", hint="start the client inside the `with` block")
        words: Any = argv
        if isinstance(words, str | bytes | os.PathLike):
            raise ConfigError("a command is a list, not one text", hint='write `["claude", "-p", "..."]`')
        command = self.command(argv)
        if not command:
            raise ConfigError("there is no command to start", hint="name a program and its arguments")
        if os.name == "posix":
            # As long as the client lives its home is in use, even if this process is killed.
            options["pass_fds"] = (*options.get("pass_fds", ()), self._tempdir.lock_fd)
        program = self.program(command[0])
        try:
            return subprocess.Popen([program, *command[1:]], env={**self.env}, **options)
        except (OSError, ValueError) as error:
            words = f"{quoted(command[0], 200)} cannot be started: {neutral(describe_os_error(error))}"
            raise ConfigError(words, hint="see whether it runs in a terminal") from None

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
        """Remove the home, with all that is in it. What was closed already stays so.

        Raises:
            SkillMountError: something of it cannot be removed.
        """
        try:
            self._tempdir.close()
        except OSError:
            words = f"{quoted(self._tempdir.path, 200)} cannot be removed"
            raise SkillMountError(words, hint="see what still writes into it") from None

    def __enter__(self) -> Self:
        self._signals = signals_as_exception()
        self._signals.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        finally:
            self._signals.__exit__(None, None, None)
