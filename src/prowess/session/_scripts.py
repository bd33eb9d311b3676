"""Say how the scripts of skills run, and keep what the scripts of each conversation wrote."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from prowess._internal.files import real_path
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.errors import ConfigError, SkillError, SkillFileError
from prowess.guard import folder_problem, kept_folders
from prowess.sandbox import CHOICES, Limits
from prowess.skill import sealed_copy

from ._resources import open_error
from ._work_folders import ScriptSpace, WorkFolders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from io import BufferedReader
    from typing import Literal

    from prowess.catalog import Entry
    from prowess.guard import KeptFolder
    from prowess.net import NetworkRules
    from prowess.skill import SealedCopy

    from ._trust import Trust
    from ._work_folders import WorkFolder

_SPACE = ScriptSpace()
_PACKAGES = ("wheels", "any", "none")


class UntrustedSkill(Frozen):
    """A skill that its user does not trust, and what a model wants to run of it."""

    entry: Entry
    """The skill. All of it comes from its author, and is unsafe to show as it is."""
    folder: str
    """A copy of the skill: these bytes run if they are allowed. Its own folder may change meanwhile."""
    digest: str
    """The integrity digest of the copy, which `Trust.allow` takes."""
    script: str
    """The file to run, relative to the folder."""
    script_digest: str
    """`sha256:` and the SHA-256 of that file."""
    arguments: tuple[str, ...]
    reason: str
    """Why the skill is not trusted, and the command that trusts it."""


class Scripts:
    """How the scripts of skills run: `Session(catalog).tools(scripts=Scripts(timeout=10))`.

    One object serves many conversations, each with a folder of its own. A script always needs trust; these options
    cannot change that.

    Args:
        cwd: a folder in which all scripts work, and write what no other program runs or obeys; by default scripts work
            in the directory of the catalog, and what they write there goes to a temporary folder of the conversation,
            which is removed when its session is no longer used, a while after its last script, to make room, or when
            the process ends.
        project: whether scripts see the files of the directory of the catalog, if there is no `cwd`; otherwise they
            work in the temporary folder alone.
        sandbox: `auto` for the sandbox of this machine, without which nothing runs; `none` to run without one.
        timeout: seconds; a skill that declares a shorter time for a script gets that.
        memory: bytes.
        output: bytes of standard output, and of standard error, that the model gets.
        network: the hosts that scripts can reach: `True` for all public ones, `False` for none. By default what the
            skill declares for the script in its `tools:`, or none.
        space: what temporary folders may have, and how long they are kept. A script that writes more is ended, and what
            it wrote is removed.
        allow_paths: files and folders in `cwd`, relative to it, that scripts may write although other programs run or
            obey them, such as `pyproject.toml`; what Prowess keeps is never written.
        packages: what is installed for a script that the user trusts, with uv and once for each set of packages:
            `wheels` for packages that run no code when they are installed; `any` also builds those without a wheel,
            which runs their code outside the sandbox; `none` for nothing.
        env: variables for the scripts, which get none of this process.
        on_untrusted: asks the user about a script of a skill that is not trusted. With `True` this script may run in
            this conversation while no byte of its skill changes, with `"skill"` all scripts of these bytes; nothing
            else allows anything. Nothing is added to the trust record. It is called once for each script of the same
            bytes, in the thread of the tool.

    Raises:
        ConfigError: an option is invalid, or the folder does not exist.
    """

    def __init__(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        project: bool = True,
        sandbox: str = "auto",
        timeout: float = 60.0,
        memory: int = 2 * 1024**3,
        output: int = 32 * 1024,
        network: bool | NetworkRules | None = None,
        space: ScriptSpace = _SPACE,
        allow_paths: Sequence[str | os.PathLike[str]] = (),
        packages: str = "wheels",
        env: Mapping[str, str] = EMPTY,
        on_untrusted: Callable[[UntrustedSkill], bool | Literal["skill"]] | None = None,
    ) -> None:
        if sandbox not in CHOICES:
            hint = f"choose one of {', '.join(CHOICES)}"
            raise ConfigError(f"unknown sandbox {quoted(str(sandbox))}", hint=hint)
        if packages not in _PACKAGES:
            raise ConfigError(
                f"`packages` cannot be {neutral(repr(packages)[:40])}", hint=f"use {' or '.join(_PACKAGES)}"
            )
        if not isinstance(space, ScriptSpace):
            raise ConfigError(f"`space` cannot be {neutral(repr(space)[:40])}", hint="use `ScriptSpace(...)`")
        numbers: list[tuple[str, object]] = [("timeout", timeout), ("memory", memory), ("output", output)]
        numbers += [("folder_size", space.folder_size), ("folder_files", space.folder_files), ("keep", space.keep)]
        numbers += [("total_size", space.total_size), ("total_files", space.total_files)]
        for name, value in numbers:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**62:
                raise ConfigError(f"`{name}` cannot be {neutral(repr(value)[:40])}", hint="give a number above 0")
        given: object = network
        if given is not None and not isinstance(given, bool):
            from prowess.net import NetworkRules as Rules

            if not isinstance(given, Rules):
                hint = "use True, False or `NetworkRules(...)`"
                raise ConfigError(f"`network` cannot be {neutral(repr(given)[:40])}", hint=hint)
        if on_untrusted is not None and not callable(on_untrusted):
            raise ConfigError("`on_untrusted` is not a function", hint="give one that returns True, False or 'skill'")
        self.cwd = None if cwd is None else real_path(os.fspath(cwd))
        """The folder in which all scripts work, without links."""
        if self.cwd is not None:
            if not os.path.isdir(self.cwd):
                message = f"the folder {quoted(os.fspath(cwd or ''), PATH_LIMIT)} does not exist"
                raise ConfigError(message, hint="create it")
            home = os.path.expanduser("~")
            check_folder(self.cwd, kept_folders(os.environ, home), home)
        self.allow_paths = tuple(os.fspath(path) for path in allow_paths)
        """Protected files and folders that scripts may write, relative to `cwd`."""
        self.sandbox, self.network, self.env, self.on_untrusted = sandbox, network, dict(env), on_untrusted
        self.packages, self.project = packages, project
        self.limits = Limits(timeout=timeout, memory=int(memory), output=int(output))
        self._folders = WorkFolders(self.cwd, space, contained=sandbox != "none")

    def folder(self, conversation: str) -> WorkFolder:
        """Return the working folder of a conversation.

        Raises:
            OSError: it cannot be created, or does not exist any more.
        """
        return self._folders.get(conversation)

    def find_folder(self, conversation: str) -> WorkFolder | None:
        """Return the working folder of a conversation if a script has run in it."""
        return self._folders.find(conversation)


FOLDER_HINT = "use another folder as `cwd`"


def check_folder(folder: str, kept: Iterable[KeptFolder], home: str) -> None:
    """Check that scripts may work in a folder of the user.

    Raises:
        ConfigError: it is, contains or is in a folder of Prowess or of the user's skills, or is the home.
    """
    if problem := folder_problem(folder, kept, home):
        raise ConfigError(f"scripts cannot work in {quoted(folder, PATH_LIMIT)}: {problem}", hint=FOLDER_HINT)


def scripts_option(value: object) -> Scripts:
    """Return how scripts run for an option `scripts=`; `True` is `Scripts()`.

    Raises:
        ConfigError: it is something else.
    """
    if value is True:
        return Scripts()
    if isinstance(value, Scripts):
        return value
    raise ConfigError(f"`scripts` cannot be {neutral(repr(value)[:40])}", hint="use True, False or `Scripts(...)`")


@contextmanager
def allowed_copy(
    entry: Entry,
    folder: str,
    trust: Trust,
    scripts: Scripts,
    work: WorkFolder,
    script: str,
    arguments: tuple[str, ...],
) -> Iterator[SealedCopy]:
    """Yield a copy of a skill, whose files are in a folder, if the user trusts it or allows it in this conversation.

    Raises:
        SkillError: the user does neither, the skill cannot be copied, or it has no such script.
    """
    with sealed_copy(folder, lambda _: None, contained=scripts.sandbox != "none") as copy:
        reason = trust.digest_denial_reason(entry, copy.digest)
        if reason is not None:
            import hashlib

            with open_script(copy.folder, script) as file:
                script_digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
            untrusted = UntrustedSkill(
                entry=entry,
                folder=copy.folder,
                digest=copy.digest,
                script=script,
                script_digest=script_digest,
                arguments=arguments,
                reason=reason,
            )
            if not _is_allowed(untrusted, scripts.on_untrusted, work):
                raise SkillError(reason, hint="tell the user this, and go on without the script")
        yield copy


def open_script(folder: str, script: str) -> BufferedReader:
    """Open a script of a skill.

    Args:
        folder: of the skill's copy.
        script: the path of the script, relative to the folder.

    Raises:
        SkillFileError: it is not a regular file of the skill.
    """
    try:
        fd = open_inside(folder, script.split("/"), READ_FLAGS)
    except (OSError, ValueError) as error:
        raise open_error(folder, script, error) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise SkillFileError(f"{quoted(script)} is not a file", hint="name a script, as in `scripts/fill.py`")
    return os.fdopen(fd, "rb")


def _is_allowed(
    skill: UntrustedSkill, ask: Callable[[UntrustedSkill], bool | Literal["skill"]] | None, work: WorkFolder
) -> bool:
    """Return whether the user allows a script in this conversation; the same bytes are asked about once.

    Raises:
        SkillError: the question failed.
    """
    script, all_scripts = (skill.digest, skill.script), (skill.digest, None)
    with work.question:
        if not {script, all_scripts} & work.answers.keys() and ask is not None:
            try:
                answer = ask(skill)
            except Exception as error:
                message = f"the user cannot be asked about {quoted(skill.entry.name)}: {neutral(str(error)[:200])}"
                raise SkillError(message, hint="go on without the script") from error
            work.answers[all_scripts if answer == "skill" else script] = answer is True or answer == "skill"
        return work.answers.get(script, False) or work.answers.get(all_scripts, False)
