"""Assemble an agent from a role: its prompt, its skills and its tools, each with where it comes from.

No framework is needed: `validate` checks an assembly, `show` explains it and `run --dry-run` prints it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from prowess._internal.files import real_path, real_path_or_none
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.inside import is_inside
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.catalog import REACHABLE
from prowess.errors import ProwessError, SkillError
from prowess.findings import finding
from prowess.session import Session, Trust
from prowess.skill import load

from ._discovered import discover_skills
from ._toolbox import Toolbox
from .policy import Policy, ToolContext
from .role import ROLE_INVALID, load_explicit_skills, load_role, read_skill_tools, skill_dirs
from .role_files import own_paths, program_paths, role_files
from .sealed_skills import DiscoveredSkill, LoadedFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding
    from prowess.skill import SealedCopy

    from .policy import SealedSkill
    from .role import LoadedSkill, Role, ToolConfig

__all__ = ["Assembly", "InstructionPart", "assemble"]


class DeclaredTools(Frozen):
    """The tools that a discovered skill declares."""

    tools: tuple[ToolConfig, ...]
    env_variables: tuple[str, ...]
    """The variables that the skill says it requires."""
    problems: tuple[Finding, ...]


def _read_declared_tools(entry: Entry, copy: SealedCopy | None = None) -> DeclaredTools:
    """Return the tools that a skill declares, in its own file or in a copy of it."""
    file = entry.real if copy is None else os.path.join(copy.folder, os.path.basename(entry.path))
    skill = load(entry.path, real=real_path(file))
    tools, problems = read_skill_tools(skill)
    return DeclaredTools(tools=tools, env_variables=skill.requirements.env, problems=tuple(problems))


class InstructionPart(Frozen):
    """One part of the model's instructions."""

    origin: str
    """`role`, or the name of the skill it comes from."""
    text: str


class Assembly(Frozen):
    """An agent's parts."""

    role: Role
    parts: tuple[InstructionPart, ...]
    """The instructions, in order; the catalog follows them."""
    toolbox: Toolbox
    """The role's own tools and those of the skills it names."""
    catalog: Catalog | None
    """The discovered skills, without those the role names; `None` if discovery is off or failed."""
    explicit: tuple[LoadedSkill, ...] = ()
    """The skills the role names."""
    findings: tuple[Finding, ...] = ()
    """Everything that is wrong; with any finding the agent must not run."""
    notes: tuple[str, ...] = ()
    """Notes for the user: skills that are left out or shadowed, tools that the role denies."""
    env: Mapping[str, str] = EMPTY
    declared_tools: Mapping[str, DeclaredTools] = EMPTY
    """The tools that discovered skills in the role's own folder declared when the role was read, by path. The agent
    itself may be able to write there, and must not give itself tools."""

    def with_policy_of(self, old: Assembly) -> Assembly:
        """Return this assembly with the policy and tools of `old` if tools of `old` may have written this role."""
        if not old.toolbox.can_write_files:
            return self
        role = self.role.with_changes(tools=old.role.tools, guardrails=old.role.guardrails, security=old.role.security)
        return self.with_changes(role=role, toolbox=old.toolbox, declared_tools=old.declared_tools)

    @property
    def instructions(self) -> str:
        """All parts as one text."""
        return "\n\n".join(part.text for part in self.parts)

    def new_session(self, ledger: str | None = None) -> Session | None:
        """Return the session of a new conversation, or of one with a ledger; `None` without discovered skills.

        Raises:
            ConfigError: the ledger is not what `Session.to_json` returned.
        """
        if self.catalog is None:
            return None
        make = Session if ledger is None else partial(Session.from_json, ledger)
        return make(self.catalog, env=self.env, window=self.role.model.context_window)

    def toolbox_with(self, session: Session | None) -> Toolbox:
        """Return the tools that a model is offered now: the role's, and those of the active skills of a session."""
        if session is None or not session.ledger:
            return self.toolbox
        extended = self.toolbox.copy()
        active = {record.path for record in session.ledger}
        for entry in session.catalog.skills:
            if entry.path in active:
                self.add_discovered_tools(entry, extended)
        return extended

    def add_discovered_tools(self, entry: Entry, toolbox: Toolbox) -> None:
        """Add the tools of an activated skill to a toolbox, if the user trusts the skill.

        A skill in the role's own folder shares the role's trust (InitRunner, "Trust Model"), except for tools that
        start a process or send variables: those need the user's own trust. The toolbox's notes say which tools are not
        offered, and why. A skill of a server brings no tools.
        """
        if not os.path.isabs(entry.path):
            return
        in_role_folder = self.is_in_role_folder(entry)
        declared = self.declared_tools.get(entry.path) if in_role_folder else _read_declared_tools(entry)
        if declared is None or not (declared.tools or declared.problems):
            return
        shared = [config for config in declared.tools if in_role_folder and not config.needs_trust]
        if in_role_folder and declared.problems:
            toolbox.notes.append(f"the tools of {quoted(entry.name)} are not offered: {declared.problems[0].message}")
            return
        _offer(entry, shared, declared, toolbox)
        if len(shared) == len(declared.tools) and in_role_folder:
            return
        denial = Trust().denial_reason(entry)
        try:
            if denial is None:
                # The tools are read from what is compared with the trust record.
                with Trust().sealed_copy(entry) as copy:
                    declared = _read_declared_tools(entry, copy)
                    sealed = DiscoveredSkill(entry=entry, digest=copy.digest)
                denial = declared.problems[0].message if declared.problems else None
        except SkillError as error:
            denial = f"{error} ({error.hint})" if error.hint else str(error)
        if denial is not None:
            which = " that start a process or send variables" if shared else ""
            toolbox.notes.append(f"the tools of {quoted(entry.name)}{which} are not offered: {denial}")
            return
        rest = [config for config in declared.tools if config.needs_trust or not in_role_folder]
        _offer(entry, rest, declared, toolbox, sealed)

    def is_in_role_folder(self, entry: Entry) -> bool:
        """Return whether a skill is in the role's own folder, after resolving links."""
        if not os.path.isabs(entry.real):  # a server has it
            return False
        top, real = real_path(self.role.folder), real_path_or_none(entry.real)
        return real is not None and is_inside(real, top)


def _offer(
    entry: Entry,
    configs: Iterable[ToolConfig],
    declared: DeclaredTools,
    toolbox: Toolbox,
    sealed: SealedSkill | None = None,
) -> None:
    """Add tools of an activated skill; what cannot be used is a note."""
    folder = os.path.dirname(entry.path)
    for config in configs:
        try:
            toolbox.add(config, entry.name, folder, trusted=True, env_variables=declared.env_variables, sealed=sealed)
        except (ProwessError, ImportError) as error:
            message = f"a tool of {quoted(entry.name)} is not offered: `{config.where}`: {_error_message(error)}"
            toolbox.notes.append(message)


def assemble(
    path: str | os.PathLike[str],
    *,
    dirs: Iterable[str] = (),
    home: str | None = None,
    env: Mapping[str, str] | None = None,
    sandbox: str = "auto",
) -> tuple[Assembly | None, tuple[Finding, ...]]:
    """Read a role and everything it names.

    Args:
        path: the role's file.
        dirs: folders of skills from the command line; they come before those of the environment.
        home: the user's home instead of `~`.
        env: the environment instead of the process's.
        sandbox: one of `sandbox.CHOICES`.

    Returns:
        The assembly, or `None` if the role cannot be read; and everything that is wrong.
    """
    env = os.environ if env is None else env
    home = os.path.expanduser("~") if home is None else os.path.abspath(home)
    role, problems = load_role(path)
    if role is None:
        return None, problems
    dirs = tuple(dirs)
    all_dirs = skill_dirs(dirs, env)
    existing_dirs = tuple(folder for folder in all_dirs if os.path.isdir(folder))
    explicit, skill_problems = load_explicit_skills(role, dirs=all_dirs, home=home, env=env)
    context = ToolContext(
        folder=role.folder,
        policy=_make_policy(role),
        env=env,
        sandbox=sandbox,
        role_files=tuple(role_files(role, explicit)),
        protected_paths=(*own_paths(os.environ), *program_paths(role, all_dirs, env)),
    )
    toolbox, tool_problems = _make_toolbox(role, explicit, context)
    catalog, notes = discover_skills(role, explicit, existing_dirs, home, env)
    findings = (*problems, *_missing_dir_findings(role, dirs), *skill_problems, *tool_problems)
    notes += _missing_dir_notes(all_dirs, skill_dirs(dirs, {}))
    assembly = Assembly(
        role=role,
        parts=tuple(_instruction_parts(role, explicit)),
        toolbox=toolbox,
        catalog=catalog,
        explicit=explicit,
        findings=findings,
        notes=(*role.notes, *notes, *toolbox.notes),
        env=env,
    )
    declared_tools = {
        entry.path: _read_declared_tools(entry)
        for entry in (() if catalog is None else catalog.skills)
        if entry.state in REACHABLE and assembly.is_in_role_folder(entry)
    }
    return assembly.with_changes(declared_tools=declared_tools), findings


def _missing_dir_findings(role: Role, dirs: Sequence[str]) -> Iterator[Finding]:
    for folder in dirs:
        if not os.path.isdir(os.path.expanduser(folder)):
            message = f"skill directory {quoted(folder, PATH_LIMIT)} does not exist"
            yield finding(ROLE_INVALID, message, path=role.path, hint="check the path given to `--skill-dir`")


def _missing_dir_notes(all_dirs: Sequence[str], dirs: Sequence[str]) -> Iterator[str]:
    for folder in all_dirs:
        if folder not in dirs and not os.path.isdir(folder):
            yield f"skill directory {quoted(folder, PATH_LIMIT)}, named by an environment variable, does not exist"


def _make_policy(role: Role) -> Policy:
    security = role.security

    def absolute(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(os.path.abspath(os.path.join(role.folder, os.path.expanduser(path))) for path in paths)

    return Policy(
        deny=frozenset(security.deny),
        ask=frozenset(security.ask),
        allowed_hosts=security.allowed_hosts,
        allow_private=security.allow_private,
        roots=absolute(security.roots),
        unix_sockets=absolute(security.unix_sockets),
        allow_writes=frozenset(security.allow_writes),
        commands_network=security.commands_network,
        memory=security.memory,
    )


def _instruction_parts(role: Role, explicit: Iterable[LoadedSkill]) -> Iterator[InstructionPart]:
    yield InstructionPart(origin="role", text=role.prompt.strip())
    for skill in explicit:
        yield InstructionPart(origin=skill.name, text=f"## Skill: {skill.name}\n\n{skill.body.strip()}")


def _make_toolbox(role: Role, explicit: Iterable[LoadedSkill], context: ToolContext) -> tuple[Toolbox, list[Finding]]:
    """Return the tools of a role and of the skills it names, and what is wrong with their configurations."""
    toolbox = Toolbox(role, context)
    findings: list[Finding] = []

    def add(
        configs: Iterable[ToolConfig],
        origin: str,
        folder: str | None,
        path: str,
        env_variables: Iterable[str] | None = None,
        digest: str | None = None,
    ) -> None:
        loaded = None if folder is None or digest is None else LoadedFolder(folder=folder, digest=digest)
        for config in configs:
            sealed = loaded if config.runs_files else None
            try:
                toolbox.add(config, origin, folder, trusted=True, env_variables=env_variables, sealed=sealed)
            except (ProwessError, ImportError) as error:
                message = f"`{config.where}`: {_error_message(error)}"
                findings.append(finding(ROLE_INVALID, message, path=path, line=config.line, hint=_error_hint(error)))

    # The role's own tools come first, so that none of them loses its name to a skill's tool.
    add(role.tools, "role", None, role.path)
    for skill in explicit:
        add(skill.tools, skill.name, skill.folder, skill.path, skill.env_variables, skill.digest)
    return toolbox, findings


def _error_message(error: Exception) -> str:
    if isinstance(error, ImportError) and error.name:
        return f"the package {quoted(error.name)} is not installed"
    return str(error)


def _error_hint(error: Exception) -> str | None:
    return (
        "install it with `pip install 'prowess[agent]'`"
        if isinstance(error, ImportError)
        else getattr(error, "hint", None)
    )
