"""Write a new skill into the folder of a project that most agents in use search, and say which agents see it there.

The skill is written to a temporary folder and renamed, so that no client ever sees an incomplete skill. Existing files
are never overwritten, and no link leads the writing out of the project. Who sees the skill is never assumed: the
agents' rules are asked after it is written.
"""

from __future__ import annotations

import os
import re
import shlex

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.fs import (
    CREATE_FLAGS,
    FOLDER_FLAGS,
    SUPPORTS_DIR_FD,
    open_fd,
    open_or_make_folder,
    remove_tree_at,
    rename_no_replace,
    write_all,
)
from prowess._internal.inside import OutsideError, open_or_make_inside, real_output_path, real_path_inside
from prowess._internal.text import describe_os_error, neutral
from prowess.catalog import catalog_for
from prowess.checks import evaluate_path
from prowess.cli._arguments import hosts_in_use, require_paths
from prowess.cli._losses import NO_AGENT_BEFORE, loss_hints, who_sees
from prowess.cli._output import Message
from prowess.errors import ConfigError, ProwessError, SkillValidationError
from prowess.filesystem import Filesystem, Question, git_root
from prowess.find import find_scan_roots
from prowess.findings import Severity, apply_policy
from prowess.hosts import detected_hosts, load_host, skills_folder
from prowess.skill import MAX_NAME, Skill, check_skill, from_document, parse_frontmatter, render
from prowess.visibility import compare, mount_argument, mount_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.hosts import Host

# ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def add_project_options(parser: Parser) -> None:
    """Add the options of the commands that write into a project."""
    parser.add_json()
    group = parser.group("where to write")
    group.value(
        "--host",
        "NAME",
        "use the skills folder of this agent; given several times, one that all of them search; `prowess hosts` "
        "lists all",
        action="append",
    )
    group.add_place("a directory of the project")


class SkillPlace:
    """Where a new skill goes, and for which agents."""

    def __init__(self, args: Arguments) -> None:
        """Find the agents: the named ones, or those in use.

        Raises:
            ConfigError: `--cwd` is not a folder.
            HostNotFoundError: a host is unknown.
        """
        require_paths(args, "cwd")
        self.args = args
        self.question = Question.about(args.cwd or ".", args.home or None)
        self.cwd, self.home = self.question.cwd, self.question.home
        self.project = git_root(self.cwd) or self.cwd
        self.named = tuple(dict.fromkeys(load_host(name).name for name in args.host or ()))
        self.in_use = detected_hosts(self.cwd, self.home, [self.project])
        self._shown = hosts_in_use(args)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The agents for which it is said whether they see the skill: if none is named, those of the first screen."""
        return self.named or tuple(self._shown[0])

    @property
    def no_agent_found(self) -> bool:
        """Whether the agents are the observed ones, because none is on this machine."""
        return not self.named and self._shown[1] is not None

    def folder(self, command: str, name: str) -> tuple[str, str]:
        """Return the folder of skills, and the folder that no link on the way to it may leave.

        Args:
            command: the command, for a hint.
            name: the name of the skill.

        Raises:
            ConfigError: a named agent has no folder in a project, or no folder serves all of the named ones.
        """
        if len(self.named) == 1:
            only = load_host(self.named[0])
            return _own_folder(self.cwd, only), project_folder(self.cwd, only)
        for host in self.named:
            _own_folder(self.cwd, load_host(host))
        hosts = self.named or self.in_use
        searched = {host: set(map(real_path, self._roots(host))) for host in hosts}
        folder = self._most_searched(searched)
        missing = [host for host in self.named if real_path(folder) not in searched[host]]
        if missing:
            served = [host for host in self.named if host not in missing]
            raise ConfigError(
                f"no folder is searched by all of {', '.join(self.named)}",
                hint=neutral(
                    ", then ".join(f"`{each}`" for each in self._separate_commands(command, name, folder, served))
                ),
            )
        return folder, self.project

    def _separate_commands(self, command: str, name: str, folder: str, served: Sequence[str]) -> Iterator[str]:
        """Yield the commands that reach all named agents: one creates the skill, the others copy it."""
        served = served or self.named[:1]
        if len(served) == 1:
            folder = _own_folder(self.cwd, load_host(served[0]))
        where = [f"--cwd {shlex.quote(self.args.cwd)}"] if self.args.cwd else []
        yield " ".join([command, *(f"--host {host}" for host in served), *where])
        for host in self.named:
            if host not in served:
                skill = os.path.join(folder, name)
                yield mount_command([mount_argument(skill, self.cwd)], host, cwd=self.cwd, home=self.home, user=False)

    def _roots(self, host: str) -> Iterator[str]:
        """Yield the project's folders that an agent searches from the working directory."""
        roots = find_scan_roots(load_host(host), self.question)
        for root in roots:
            if root.scope == "project" and root.nested is None and root.project_folder in (self.cwd, self.project):
                yield root.path

    def _most_searched(self, searched: dict[str, set[str]]) -> str:
        """Return the folder that most agents search; of several the shared one, and the one at the project's top."""
        default = os.path.join(self.project, DEFAULT_FOLDER)
        candidates = [default, os.path.join(self.cwd, DEFAULT_FOLDER)]
        candidates += [path for host in searched for path in self._roots(host)]
        candidates = list(dict.fromkeys(candidates))

        def rank(path: str) -> tuple[int, bool, bool]:
            real = real_path(path)
            count = sum(real in paths for paths in searched.values())
            is_shared = path.endswith(os.sep + DEFAULT_FOLDER)
            is_at_top = path.startswith(self.project + os.sep) and not path.startswith(self.cwd + os.sep)
            return -count, not is_shared, not (is_at_top or self.cwd == self.project)

        return min(candidates, key=rank)


# ── who sees it ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Seen:
    """Which agents see a skill that was written."""

    def __init__(self, place: SkillPlace, path: str) -> None:
        self.place = place
        self.comparison = compare(place.question, hosts=place.hosts, files=[path], only_files=True)
        (skill,) = self.comparison.skills
        self.path, self.views = path, skill.views

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        named = self.place.args.host
        host = named[0] if named and len(named) == 1 else None
        catalog = catalog_for(self.place.question, host or "prowess")
        real = real_path(self.path)
        return {
            "host": host,
            # As `prowess list` shows it, if it does.
            "state": next((str(entry.state) for entry in catalog.skills if real_path(entry.path) == real), None),
            "hosts": {host: view.as_dict() for host, view in self.views.items()},
        }

    def messages(self, *, searched: bool = True) -> Iterator[Message]:
        """Yield which agents see the skill, and a hint for each agent in use that does not.

        Args:
            searched: whether the folder was chosen for the agents; otherwise no command is suggested to reach them.
        """
        place = self.place
        before = NO_AGENT_BEFORE if place.no_agent_found else ""
        yield Message(f"{before}it is {who_sees({host: view.kind for host, view in self.views.items()})}")
        if not before and searched:
            yield from map(Message, loss_hints(self.comparison))


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

DEFAULT_FOLDER = os.path.join(".agents", "skills")
"""The folder of a project that most agents search."""


def project_folder(cwd: str, host: Host) -> str:
    """Return the top folder of the project: the git root, as the host finds it, or else the working directory."""
    cwd = real_path(cwd)
    return git_root(cwd, host.git_marker) or cwd


def _own_folder(cwd: str, host: Host) -> str:
    """Return the folder of a project that a host searches for skills; if it searches a shared one, that.

    Raises:
        ConfigError: the host has no project folder.
    """
    folder = skills_folder(host.name, "project")
    if folder is None:
        raise ConfigError(
            f"{host.title} has no skills folder in a project", hint="name a folder: `prowess new NAME --dir DIR`"
        )
    is_of_cwd = all(root.walk == "none" for root in host.roots if root.path == folder)
    return os.path.join(real_path(cwd) if is_of_cwd else project_folder(cwd, host), *folder.split("/"))


def suggest_name(name: str) -> str:
    """Return a valid name that is close to an invalid one; empty if no valid character is left."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", name).lower()
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    plain = re.sub(r"(?<=[^\W_])['’](?=[^\W_])", "", plain)
    return re.sub(r"[\W_]+", "-", plain).strip("-")[:MAX_NAME].strip("-")


def check_name(name: str) -> None:
    """Check that the specification allows a name.

    Raises:
        SkillValidationError: it does not; the hint suggests a valid name.
    """
    # The folder is taken to have the same name, so all findings are about the name itself.
    data = render(Skill(name=name, description="x")).encode("utf-8", "replace")
    skill = from_document(parse_frontmatter(data))
    errors = [item for item in apply_policy(check_skill(skill), "spec") if item.severity is Severity.ERROR]
    if errors:
        suggestion = suggest_name(name)
        hint = f"use `{suggestion}`" if suggestion else "use letters, digits and single hyphens"
        raise SkillValidationError(neutral("; ".join(item.message for item in errors)), findings=errors, hint=hint)


def skill_text(name: str, description: str, body: str) -> str:
    """Return the text of a SKILL.md.

    Raises:
        SkillValidationError: the specification does not allow the description.
    """
    text = render(Skill(name=name, description=description, body=body))
    skill = from_document(parse_frontmatter(text.encode("utf-8", "replace")))
    findings = [item for item in apply_policy(check_skill(skill), "spec") if item.code.startswith("description-")]
    if findings and findings[0].severity is not Severity.INFO:
        raise SkillValidationError(findings[0].message, findings=findings, hint=findings[0].hint)
    return text


def write_skill(
    folder: str, name: str, files: Mapping[str, str], hosts: Iterable[str] = (), *, project: str | None = None
) -> str:
    """Write a new skill in one step.

    Args:
        folder: the folder of skills, created if missing.
        name: the name of the skill and of its own folder.
        files: paths inside the skill's folder and their text, including SKILL.md.
        hosts: the names of the hosts that must accept the skill.
        project: the folder that no link on the way to `folder` may leave; `None` if the user typed `folder`.

    Returns:
        The path of its SKILL.md.

    Raises:
        SkillValidationError: a host would reject it.
        ProwessError: the skill exists already, a link leads out of the project, or it cannot be written.
    """
    target = os.path.join(folder, name)
    for host in hosts:
        _check_host_accepts(target, files[SKILL_FILE], load_host(host))
    check_inside(project, folder)
    if os.path.lexists(target):
        raise _exists_error(target)
    try:
        if project is None:
            folder, project = real_output_path(folder)
            if project is None:
                os.makedirs(folder, exist_ok=True)
                project = folder
        if SUPPORTS_DIR_FD:
            folder_fd = open_or_make_inside(project, folder)
            try:
                _write_in_one_step(folder_fd, name, files)
            finally:
                os.close(folder_fd)
        else:
            _write_by_path(folder, name, files)
    except FileExistsError:
        raise _exists_error(target) from None
    except OutsideError as error:
        raise _outside_error(error) from None
    except OSError as error:
        reason = neutral(describe_os_error(error))
        hint = "fix the permissions, free disk space, or use another folder: `prowess new NAME --dir DIR`"
        raise ProwessError(f"cannot write {neutral(target)}: {reason}", hint=hint) from None
    return os.path.join(target, SKILL_FILE)


def check_inside(project: str | None, folder: str) -> None:
    """Check that no link on the way to a folder of a project leads out of it.

    Args:
        project: the project; `None` if the user typed `folder`.
        folder: the folder.

    Raises:
        ProwessError: a link does, or leads to nothing.
    """
    try:
        if project is None:
            real_output_path(folder)
        else:
            real_path_inside(project, folder)
    except OutsideError as error:
        raise _outside_error(error) from None


def _outside_error(error: OutsideError) -> ProwessError:
    hint = "remove the link, or name the folder to write to: `prowess new NAME --dir DIR`"
    return ProwessError(f"nothing was written: {error}", hint=hint)


def _exists_error(target: str) -> ProwessError:
    return ProwessError(f"{neutral(target)} already exists", hint="choose another name, or remove it first")


def _write_in_one_step(folder_fd: int, name: str, files: Mapping[str, str]) -> None:
    """Write files into a new folder with a temporary name, and rename it."""
    temporary = f".{name}.{os.urandom(8).hex()}.tmp"
    os.mkdir(temporary, dir_fd=folder_fd)
    try:
        with open_fd(temporary, FOLDER_FLAGS, dir_fd=folder_fd) as skill_fd:
            for path, text in files.items():
                _write(skill_fd, path.split("/"), text)
        rename_no_replace(folder_fd, temporary, folder_fd, name)
    except BaseException:
        remove_tree_at(temporary, folder_fd)
        raise


def _write(folder_fd: int, parts: list[str], text: str) -> None:
    if len(parts) > 1:
        inner_fd, _ = open_or_make_folder(parts[0], folder_fd)
        try:
            _write(inner_fd, parts[1:], text)
        finally:
            os.close(inner_fd)
        return
    with open_fd(parts[0], CREATE_FLAGS, _mode(text), dir_fd=folder_fd) as fd:
        write_all(fd, text.encode())


def _write_by_path(folder: str, name: str, files: Mapping[str, str]) -> None:
    """Write files on a system without descriptors of folders, such as Windows."""
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    for path, text in files.items():
        file = os.path.join(temporary, *path.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open_fd(file, CREATE_FLAGS, _mode(text)) as fd:
            write_all(fd, text.encode())
    os.rename(temporary, os.path.join(folder, name))


def _mode(text: str) -> int:
    """Return the mode of a new file, less the umask: all who may read a script may run it."""
    return 0o777 if text.startswith("#!") else 0o666


def _check_host_accepts(target: str, text: str, host: Host) -> None:
    path = os.path.join(target, SKILL_FILE)
    entry = evaluate_path(path, host.name, filesystem=_UnwrittenSkillFilesystem(path, text))
    if entry.state == "rejected":
        message = f"{host.title} would reject the skill: {entry.reason}"
        raise SkillValidationError(message, findings=entry.findings, hint="choose another name")


class _UnwrittenSkillFilesystem(Filesystem):
    """A file system that contains a skill which is not written yet."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self._skill = from_document(parse_frontmatter(text.encode(), path), path)

    def skill(self, *_path: object, **_options: object) -> Skill:
        return self._skill
