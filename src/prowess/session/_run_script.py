"""Run a script of a skill for a model: contained, from bytes that its user trusts, in the conversation's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from itertools import accumulate

from prowess._internal.files import is_inside, real_path
from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.tempdirs import temporary_directory_root
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.environments import find_script_program, missing_hints
from prowess.errors import ConfigError, SandboxError, SkillError, SkillFileError
from prowess.guard import (
    Guard,
    KeptFolder,
    ProtectedPath,
    Protection,
    can_have_layer,
    folder_problem,
    kept_folders,
    own_paths,
    remember_layer_failure,
)
from prowess.net import NetworkRules, canonical_host
from prowess.sandbox import LayerError, Limits, describe_result, find_backend, run
from prowess.skill import FIRST_BYTES, load

from ._activation import escape_tags
from ._lookup import find_readable
from ._remote_files import skill_folder
from ._resources import read_media, read_text, split_path
from ._scripts import FOLDER_HINT, allowed_copy, check_folder, open_script
from ._tools import read_written_tool, run_tool
from ._trajectory import file_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from prowess.catalog import Catalog, Entry
    from prowess.sandbox import Backend, Result
    from prowess.skill import Skill

    from ._ledger import Ledger
    from ._resources import FileText, MediaFile
    from ._scripts import Scripts
    from ._tools import Tool
    from ._trajectory import RecordedCall
    from ._trust import Trust
    from ._work_folders import WorkFolder

_MAX_ARGUMENTS = 1000
_MAX_ARGUMENT_BYTES = 100_000
"""Bytes of all arguments; the system accepts not many more."""
_MAX_INPUT = 1024 * 1024
"""Characters of the standard input."""


def script_tools(
    ledger: Ledger,
    activate: Callable[[Entry], object],
    scripts: Scripts,
    catalog: Callable[[], Catalog],
    trust: Callable[[], Trust],
    env: Mapping[str, str] | None,
    recorded: Callable[[str, Mapping[str, Any]], RecordedCall],
) -> tuple[Tool, ...]:
    """Return the tools that run a script of a skill of a conversation, and read what it wrote.

    Args:
        ledger: what the conversation activated.
        activate: makes a skill active if it is not: a model may activate it and run its script in one message, whose
            calls run in any order.
        scripts: how scripts run.
        catalog: returns the skills of the moment.
        trust: returns what the user allowed.
        env: the environment of the user, for `PATH`; by default that of the process.
        recorded: returns the block in which a call is recorded.
    """

    def run(skill: str, script: str | None, module: str | None, args: list[str], text: str) -> str:
        if (script is None) == (module is None):
            raise SkillError("`run_skill_script` takes a `script` or a `module`", hint="give one of them")
        arguments = {"skill": skill, "script": script, "module": module, "args": args or None, "input": text or None}
        with recorded("run_skill_script", arguments) as call:
            entry = find_readable(catalog(), skill, ledger.records)
            activate(entry)
            answer, path, code = run_script(
                entry,
                script,
                module,
                args,
                text,
                catalog=catalog(),
                scripts=scripts,
                work=scripts.folder(ledger.conversation),
                trust=trust(),
                env=os.environ if env is None else env,
            )
            call.result(answer, script={"path": file_of(entry, path), "exit_code": code})
        return answer

    def read(path: str, offset: int, limit: int | None) -> FileText:
        work, name = _written_file(scripts.find_folder(ledger.conversation), path)
        with _without_names():
            return read_text(work.path, name, offset=offset, limit=limit)

    def media(path: str) -> MediaFile | None:
        work, name = _written_file(scripts.find_folder(ledger.conversation), path)
        with _without_names():
            return read_media(work.path, name)

    return run_tool(run), read_written_tool(read, media)


def run_script(
    entry: Entry,
    script: str | None,
    module: str | None,
    args: Sequence[str],
    text: str,
    *,
    catalog: Catalog,
    scripts: Scripts,
    work: WorkFolder,
    trust: Trust,
    env: Mapping[str, str],
) -> tuple[str, str, int]:
    """Run a script, and return what a model should know: exit code, output, and the files it wrote.

    Also the script's path in the skill's folder, and its exit code: 124 if it took too long, as of `timeout`.

    Args:
        entry: the skill.
        script: the path of the script, relative to the skill's folder.
        module: the name of a Python module in that folder, instead of `script`.
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
    with ExitStack() as stack:
        folder = stack.enter_context(skill_folder(catalog, entry))
        parts = split_path(script or "" if module is None else _module_path(folder, module))
        script = "/".join(parts)
        copy = stack.enter_context(allowed_copy(entry, folder, trust, scripts, work, script, tuple(args)))
        with open_script(copy.folder, script) as file:
            head = file.read(FIRST_BYTES)
        skill = load(os.path.join(copy.folder, os.path.basename(entry.path)))
        program = find_script_program(skill, copy.folder, parts, head, {**env, **scripts.env}, scripts.packages)
        # As a module, what is in the working directory is not imported.
        module_words = () if module is None else (program.words[0], "-P", "-m", module)
        words = module_words or (*program.words, os.path.join(copy.folder, script))
        limits, network = _declared(skill, script, scripts)
        backend = _backend(scripts.sandbox)

        def start(cwd: str = work.path, readable: Sequence[str] = (), **paths: Any) -> Result:
            return run(
                [*words, *args],
                cwd=cwd,
                env={**program.env, **scripts.env},
                stdin=text.encode("utf-8", "replace"),
                limits=limits,
                readable=(copy.folder, *program.readable, *readable),
                python=program.is_own_python,
                network=network,
                sandbox=backend,
                **paths,
            )

        with work.script(limits) as (limits, notes):
            if scripts.cwd is None:
                project = _project(catalog, scripts, trust, backend)
                done, written, place = _run_beside(start, work, project)
            else:
                place = quoted(work.path, PATH_LIMIT)
                guarded = _guard(scripts, work.path, catalog, entry, trust, layers=backend.name == "bwrap").run(start)
                done, written = guarded.result, guarded.written
                notes += guarded.notes
        lines = [describe_result(done, limits.timeout), *program.notes, *_written_lines(work, written), *notes]
        if done.exit_code != 0:
            if not network and _NO_NETWORK.search(done.stderr + done.stdout):
                lines.append(_NETWORK_HINT)
            hints = [*_module_hints(done, script), *missing_hints(done.stderr + done.stdout)] or _place_hints(
                done, place
            )
            lines += [f"hint: {hint}" for hint in hints]
        answer = "\n".join(lines).replace(copy.folder, neutral(os.path.dirname(entry.path)))
        code = 124 if done.exit_code is None else done.exit_code
        return escape_tags(escape_special_tokens(answer)), script, code


def _module_path(folder: str, module: str) -> str:
    """Return the path of the file that `python -m` runs for a module of a skill.

    Args:
        folder: of the skill.
        module: its name with dots.

    Raises:
        SkillFileError: the skill has no such module.
    """
    parts = module.split(".")
    if all(part.isidentifier() for part in parts):
        for names in ([*parts[:-1], f"{parts[-1]}.py"], [*parts, "__main__.py"]):
            if os.path.isfile(os.path.join(folder, *names)):
                return "/".join(names)
    hint = "name one from the skill's directory, as in `scripts.fill` for `scripts/fill.py`"
    raise SkillFileError(f"the skill has no module {quoted(module)} that can run", hint=hint)


def _run_beside(
    start: Callable[..., Result], work: WorkFolder, project: str | None
) -> tuple[Result, tuple[str, ...] | None, str]:
    """Run a script that sees the user's files and writes beside them.

    Args:
        start: starts it.
        work: the folder that gets what it writes.
        project: the folder that it sees, if any.

    Returns:
        Its result, the files that it wrote, and the words for where it worked.
    """
    before = _list_files(work.path)
    if project is not None and can_have_layer(project, work.place):
        try:
            with work.layer_over(project) as layer:
                done = start(cwd=project, writable=(project,), layers=(layer,))
            return done, _changed(before, _list_files(work.path)), quoted(project, PATH_LIMIT)
        except LayerError:
            remember_layer_failure(project, work.place)
    done = start(writable=(work.path,), readable=() if project is None else (project,))
    place = "a folder of the conversation, which has only what scripts wrote"
    if project is not None:
        place += f"; the user's files are in {quoted(project, PATH_LIMIT)}"
    return done, _changed(before, _list_files(work.path)), place


def _module_hints(done: Result, script: str) -> list[str]:
    """Return how a script runs whose imports are relative to its package."""
    if b"attempted relative import with no known parent package" not in done.stderr or not script.endswith(".py"):
        return []
    call = f'`"module": "{neutral(script[:-3].replace("/", "."))}"`'
    return [f"it is a module of a package: call `run_skill_script` with {call} and no `script`"]


_NO_NETWORK = re.compile(
    rb"Temporary failure in name resolution|Name or service not known|Could not resolve host|Network is unreachable"
    rb"|EAI_AGAIN|ENOTFOUND|ENETUNREACH"
)
_NETWORK_HINT = (
    "hint: this script has no network: a skill declares it in `tools:`, or the application allows it, with "
    "`Scripts(network=True)`"
)
_MISSING_FILE = re.compile(
    rb"No such file|ENOENT|(?:file|folder|directory|path)\b[^\n]{0,200}(?:not found|does not exist)"
    rb"|(?:not found|does not exist)[^\n]{0,5}[ '\"`][^\s'\"`]{0,200}[./][^\s]"
    rb"|[^\s'\"`]{0,200}[./][^\s'\"`]{1,200}['\"`]? (?:was |is )?(?:not found|does not exist)",
    re.IGNORECASE,
)
"""How programs say that a file is missing, and not something else that was not found."""


def _place_hints(done: Result, place: str) -> list[str]:
    """Return where relative paths start, for a script that did not find a file, and how it can see another folder."""
    if done.timed_out or not (_MISSING_FILE.search(done.stderr) or _MISSING_FILE.search(done.stdout)):
        return []
    shown = "the application can show scripts another folder, with `Scripts(cwd=...)`"
    return [f"relative paths of the script start at {place}; {shown}"]


_OF_THE_SYSTEM = ("/dev", "/etc", "/proc", "/run", "/sys")


def _project(catalog: Catalog, scripts: Scripts, trust: Trust, backend: Backend) -> str | None:
    """Return the folder of the user that scripts see: the directory of the catalog, if that is no home and the like.

    One that contains temporary files has those of other conversations, too.
    """
    if not scripts.project or backend.name == "none":
        return None
    folder = real_path(catalog.cwd)
    problem = folder_problem(folder, _kept(catalog, trust), catalog.home)
    if problem or not os.path.isdir(folder) or is_inside(real_path(temporary_directory_root()), folder):
        return None
    is_in_memory = folder.startswith("/dev/shm/")  # noqa: S108 - files, as in /tmp
    return None if any(is_inside(folder, top) for top in _OF_THE_SYSTEM) and not is_in_memory else folder


def _kept(catalog: Catalog, trust: Trust) -> tuple[KeptFolder, ...]:
    trusted = KeptFolder(path=os.path.dirname(trust.file), what="the folder of the trust record")
    return (trusted, *kept_folders(os.environ, catalog.home))


def _guard(scripts: Scripts, folder: str, catalog: Catalog, entry: Entry, trust: Trust, *, layers: bool) -> Guard:
    """Return the guard of a folder of the user in which a script may write.

    Raises:
        ConfigError: a script cannot write there.
    """
    home = catalog.home
    check_folder(folder, _kept(catalog, trust), home)
    for path in (entry.real, *(other.real for other in catalog.skills)):
        skill = _skill_path(path)
        if is_inside(folder, os.path.join(skill.folder, skill.name)):
            where = "the skill" if path == entry.real else f"the skill {quoted(skill.name)}"
            raise ConfigError(
                f"scripts cannot work in {quoted(folder, PATH_LIMIT)}: it is in {where}", hint=FOLDER_HINT
            )
    inside = folder.rstrip(os.sep) + os.sep
    skills = (_skill_path(other.real) for other in catalog.skills if other.real.startswith(inside))
    return Guard(
        folder=folder,
        protection=Protection.of(
            folder=folder,
            roots=(folder,),
            paths=(*own_paths(os.environ, home), *skills),
            allowed_paths=scripts.allow_paths,
        ),
        env=os.environ,
        allowed_by="the application can allow a path, with `Scripts(allow_paths=[...])`",
        layers=layers,
    )


def _skill_path(file: str) -> ProtectedPath:
    """Return the protection of a skill: its folder, or its file among others."""
    path = os.path.dirname(file) if os.path.basename(file).lower() == "skill.md" else file
    return ProtectedPath(folder=os.path.dirname(path), name=os.path.basename(path), kind="skill")


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


def _written_file(work: WorkFolder | None, path: str) -> tuple[WorkFolder, str]:
    """Return the folder of a file that a script of this conversation wrote, and its path there.

    Raises:
        SkillFileError: no script wrote such a file.
    """
    parts = split_path(path)
    name = "/".join(parts)
    if work is None or name not in work.written:
        names = ", ".join(quoted(other, PATH_LIMIT) for other in (work.written if work else ())[-8:])
        hint = f"its files are {names}" if names else "run a script first"
        raise SkillFileError(f"no script of this conversation wrote {quoted(path)}", hint=hint)
    work.check()
    return work, name


@contextmanager
def _without_names() -> Iterator[None]:
    """Replace the hint of an error about a file, which could name files of the folder that no script wrote."""
    try:
        yield
    except SkillFileError as error:
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


_MAX_LOOKED_AT = 20_000
"""Files of a working folder that are compared before and after a script."""
_MAX_NAMED = 50
"""Files that a result names; the others are counted."""
_MAX_NAMED_CHARS = 8000
"""Characters of their names."""


def _list_files(folder: str) -> dict[str, tuple[int, int, int]] | None:
    """Return the regular files of a folder with what changes when they are written; `None` if there are too many."""
    found: dict[str, tuple[int, int, int]] = {}
    pending, looked_at = [""], 0
    while pending:
        inner = pending.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    looked_at += 1
                    if looked_at > _MAX_LOOKED_AT:
                        return None
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found[path] = (status.st_ino, status.st_size, status.st_ctime_ns)
        except OSError:
            continue
    return found


def _changed(
    before: dict[str, tuple[int, int, int]] | None, after: dict[str, tuple[int, int, int]] | None
) -> tuple[str, ...] | None:
    """Return the files that are not as they were; `None` if there were too many to tell."""
    if before is None or after is None:
        return None
    return tuple(path for path, status in after.items() if before.get(path) != status)


def _written_lines(work: WorkFolder, written: Sequence[str] | None) -> list[str]:
    """Return the lines about the files that a script wrote, and remember the files."""
    if written is None:
        return ["the working folder has too many files: what the script wrote is not listed"]
    if not written:
        return []
    written = sorted(written)
    work.add_written(tuple(written))
    named = _named([f"- {neutral(path)} ({_size(work, path):,} bytes)" for path in written[:_MAX_NAMED]])
    more = [f"- and {len(written) - len(named):,} more"] if len(written) > len(named) else []
    return ["files it wrote, which `read_script_file` reads:", *named, *more]


def _size(work: WorkFolder, path: str) -> int:
    try:
        return os.lstat(os.path.join(work.path, path)).st_size
    except OSError:
        return 0


def _named(lines: list[str]) -> list[str]:
    """Return the first lines: one at least, and no more than `_MAX_NAMED_CHARS`."""
    sizes = accumulate(map(len, lines))
    return [
        line
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True))
        if not number or size <= _MAX_NAMED_CHARS
    ]
