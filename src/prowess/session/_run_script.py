"""Run a script of a skill for a model: contained, from bytes that its user trusts, in the conversation's folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from prowess._internal.files import real_path
from prowess._internal.fs import READ_FLAGS, open_inside
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ActivationError, SandboxError, SkillError, SkillFileError
from prowess.sandbox import (
    Limits,
    NetworkRules,
    canonical_host,
    find_backend,
    find_user_program,
    run,
    search_path,
)
from prowess.skill import Requirements, find_missing, load

from ._interpreters import FIRST_BYTES, interpreter_words, require_program, script_requirements
from ._lookup import find_readable
from ._remote_files import skill_folder
from ._resources import open_error, read_text, split_path
from ._script_result import describe_run, list_files
from ._scripts import allowed_copy
from ._tools import read_written_tool, run_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.sandbox import Backend
    from prowess.skill import Skill

    from ._ledger import Ledger
    from ._resources import FileText
    from ._scripts import Scripts, WorkFolder
    from ._tools import Tool
    from ._trust import Trust

__all__ = ["run_script", "script_tools"]

_MAX_ARGUMENTS = 1000
_MAX_ARGUMENT_BYTES = 100_000
"""Bytes of all arguments; the system accepts not many more."""
_MAX_INPUT = 1024 * 1024
"""Characters of the standard input."""


def script_tools(
    ledger: Ledger,
    scripts: Scripts,
    catalog: Callable[[], Catalog],
    trust: Callable[[], Trust],
    env: Mapping[str, str] | None,
) -> tuple[Tool, ...]:
    """Return the tools that run a script of a skill of a conversation, and read what it wrote.

    Args:
        ledger: what the conversation activated.
        scripts: how scripts run.
        catalog: returns the skills of the moment.
        trust: returns what the user allowed.
        env: the environment of the user, for `PATH`; by default that of the process.
    """

    def run(skill: str, script: str, args: list[str], text: str) -> str:
        entry = find_readable(catalog(), skill, ledger.records)
        if ledger.get(entry.path) is None:
            raise ActivationError(f"the skill {quoted(entry.name)} is not active", hint="call `activate_skill` first")
        return run_script(
            entry,
            script,
            args,
            text,
            catalog=catalog(),
            scripts=scripts,
            work=scripts.folder(ledger.conversation),
            trust=trust(),
            env=os.environ if env is None else env,
        )

    def read(path: str, offset: int, limit: int | None) -> FileText:
        return _read_written(scripts.find_folder(ledger.conversation), path, offset, limit)

    return run_tool(run), read_written_tool(read)


def run_script(
    entry: Entry,
    script: str,
    args: Sequence[str],
    text: str,
    *,
    catalog: Catalog,
    scripts: Scripts,
    work: WorkFolder,
    trust: Trust,
    env: Mapping[str, str],
) -> str:
    """Run a script, and return what a model should know: exit code, output, and the files it wrote.

    Args:
        entry: the skill.
        script: the path of the script, relative to the skill's folder.
        args: its arguments.
        text: its standard input.
        catalog: the skills; a script cannot change their files.
        scripts: how scripts run.
        work: the folder in which it works.
        trust: what the user allowed.
        env: the environment of the user, for `PATH`.

    Raises:
        SkillError: the user does not trust the skill, it has no such script, or something that it needs is missing.
        SandboxError: no sandbox is available, or the script cannot be started.
    """
    _check_arguments(args, text)
    parts = split_path(script)
    with (
        skill_folder(catalog, entry) as folder,
        allowed_copy(entry, folder, trust, scripts, work, "/".join(parts), tuple(args)) as copy,
    ):
        head = _first_bytes(copy.folder, parts, script)
        skill = load(os.path.join(copy.folder, os.path.basename(entry.path)))
        words = interpreter_words(script, head)
        program, needed = find_user_program(words[0], env)
        require_program(program, script, bool(needed))
        _check_requirements(skill, head, script, {**env, **scripts.env})
        limits, network = _declared(skill, "/".join(parts), scripts)
        before = list_files(work.path)
        done = run(
            [program, *words[1:], os.path.join(copy.folder, *parts), *args],
            cwd=work.path,
            env={"PATH": search_path(program, needed), "PYTHONDONTWRITEBYTECODE": "1", **scripts.env},
            stdin=text.encode("utf-8", "replace"),
            limits=limits,
            readable=(copy.folder, *needed),
            writable=(work.path,),
            read_only=_protected_folders(catalog, work.path, trust),
            network=network,
            sandbox=_backend(scripts.sandbox),
        )
        work.check()
        return describe_run(done, limits.timeout, work, before, {copy.folder: os.path.dirname(entry.path)})


def _backend(choice: str) -> Backend:
    """Return the sandbox that the caller chose.

    Raises:
        SandboxError: it is not available; a script never runs without one unless the caller chose `none`.
    """
    try:
        return find_backend(choice)
    except SandboxError as error:
        hint = "install bubblewrap (`apt install bubblewrap`), or have the application use `Scripts(sandbox='none')`"
        raise SandboxError(f"the script did not run: {error}", hint=hint) from None


def _read_written(work: WorkFolder | None, path: str, offset: int = 0, limit: int | None = None) -> FileText:
    """Read a file that a script of this conversation wrote.

    Raises:
        SkillFileError: no script wrote such a file, or it is not text.
    """
    parts = split_path(path)
    name = "/".join(parts)
    if work is None or name not in work.written:
        names = ", ".join(quoted(other, PATH_LIMIT) for other in (work.written if work else ())[-8:])
        hint = f"its files are {names}" if names else "run a script first"
        raise SkillFileError(f"no script of this conversation wrote {quoted(path)}", hint=hint)
    work.check()
    try:
        return read_text(work.path, name, offset=offset, limit=limit)
    except SkillFileError as error:
        # Its hint could name files of the folder that no script wrote.
        raise SkillFileError(str(error), hint="run the script again, or go on without the file") from None


def _check_arguments(args: Sequence[str], text: str) -> None:
    """Check what a script is given.

    Raises:
        SkillError: it is too long, or cannot be an argument.
    """
    if any("\0" in argument for argument in args):
        raise SkillError("an argument has a NUL character", hint="leave it out")
    if len(args) > _MAX_ARGUMENTS or sum(len(argument.encode("utf-8", "replace")) for argument in args) > (
        _MAX_ARGUMENT_BYTES
    ):
        message = f"more than {_MAX_ARGUMENTS:,} arguments or {_MAX_ARGUMENT_BYTES:,} bytes of them"
        raise SkillError(message, hint="pass long text as `input`")
    if len(text) > _MAX_INPUT:
        raise SkillError(f"`input` is longer than {_MAX_INPUT:,} characters", hint="pass less")


def _first_bytes(folder: str, parts: list[str], script: str) -> bytes:
    """Return the first bytes of a script.

    Raises:
        SkillFileError: it is not a regular file of the skill.
    """
    try:
        fd = open_inside(folder, parts, READ_FLAGS)
    except (OSError, ValueError) as error:
        raise open_error(folder, script, error) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SkillFileError(f"{quoted(script)} is not a file", hint="name a script, as in `scripts/fill.py`")
        return os.read(fd, FIRST_BYTES)
    finally:
        os.close(fd)


def _check_requirements(skill: Skill, head: bytes, script: str, env: Mapping[str, str]) -> None:
    """Check what the skill and the script need.

    Raises:
        SkillError: something is missing.
    """
    own = Requirements(packages=script_requirements(head) if script.lower().endswith(".py") else ())
    missing = [*find_missing(skill.requirements, env=env), *find_missing(own, env=env)]
    if missing:
        problems = dict.fromkeys(f"{item.message}" + (f" ({item.hint})" if item.hint else "") for item in missing)
        message = f"{quoted(script)} cannot run: {'; '.join(problems)}"
        raise SkillError(message, hint="tell the user what to install, or go on without the script")


def _declared(skill: Skill, path: str, scripts: Scripts) -> tuple[Limits, bool | NetworkRules]:
    """Return the limits and the network of a script: the caller's, and what its skill declares in `tools:`."""
    limits, network = scripts.limits, scripts.network
    for tool in skill.tools if isinstance(skill.tools, tuple) else ():
        row = _declaration(tool, path)
        if row is None:
            continue
        # Values of front matter are text.
        try:
            seconds = float(str(row.get("timeout_seconds") or tool.get("timeout_seconds")))
        except ValueError:
            seconds = limits.timeout
        if 0 < seconds < limits.timeout:
            limits = limits.with_changes(timeout=seconds)
        if network is None and str(tool.get("network")).lower() == "true":
            allowed = (_domains(tool, "allowed_domains"),) if "allowed_domains" in tool else ()
            network = NetworkRules(allowed=allowed, blocked=_domains(tool, "blocked_domains"))
    return limits, network or False


def _declaration(tool: Mapping[str, object], path: str) -> Mapping[str, object] | None:
    """Return what a tool of type `script` says of a file; `None` if it names others."""
    rows = tool.get("scripts") if tool.get("type") == "script" else None
    for row in rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, Mapping) and os.path.normpath(str(row.get("path"))) == path:
            return row
    return None


def _domains(tool: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = tool.get(key)
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list | tuple) else []
    return tuple(canonical_host(text.strip().removeprefix("*.").strip(".")) for text in texts)


def _protected_folders(catalog: Catalog, folder: str, trust: Trust) -> tuple[str, ...]:
    """Return what a script cannot change in its working folder: skills, a repository's own files, the trust record.

    Raises:
        SandboxError: the folder is that of the trust record.
        OSError: the folder for the trust record is missing, and cannot be made read-only because it cannot be created.
    """
    inside = folder.rstrip(os.sep) + os.sep
    settings = real_path(os.path.dirname(trust.file))
    if settings == folder:
        raise SandboxError("scripts cannot work in the folder of the trust record", hint="use another folder as `cwd`")
    if settings.startswith(inside):
        os.makedirs(settings, 0o700, exist_ok=True)
    tops = {os.path.dirname(entry.real) for entry in catalog.skills if entry.real.startswith(inside)}
    repository = os.path.join(folder, ".git")
    paths = sorted(
        path
        for path in tops | {repository, settings}
        if path.startswith(inside) and os.path.isdir(path) and not os.path.islink(path)
    )
    return tuple(paths)
