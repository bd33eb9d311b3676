"""Assemble an agent from a role: its prompt, its skills and its tools, each with where it comes from.

No framework is needed: `validate` checks an assembly, `show` explains it and `run --dry-run` prints it.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from prowess._internal.files import is_inside, real_path, real_path_or_none
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.catalog import REACHABLE, State, discover
from prowess.errors import ConfigError, ProwessError, SkillError
from prowess.findings import finding
from prowess.guard import own_paths
from prowess.session import Session, Trust
from prowess.skill import load

from .policy import Policy, ToolContext
from .role import ROLE_INVALID, load_explicit_skills, load_role, read_skill_tools, server_labels, skill_dirs
from .role_files import program_paths, role_files
from .sealed_skills import DiscoveredSkill, LoadedFolder
from .tools import CallRules, make_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry, SkillProvider
    from prowess.findings import Finding
    from prowess.skill import SealedCopy

    from .policy import AgentTool, SealedSkill
    from .role import LoadedSkill, Role, ToolConfig

__all__ = ["Assembly", "InstructionPart", "Toolbox", "assemble", "discover_skills"]


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

    def new_session(self, ledger: str | None = None, *, trajectory: str | None = None) -> Session | None:
        """Return the session of a new conversation, or of one with a ledger; `None` without discovered skills.

        Args:
            ledger: what `Session.to_json` returned.
            trajectory: where the conversation is recorded, as for a `Session`.

        Raises:
            ConfigError: the ledger is not what `Session.to_json` returned, or the trajectory cannot be written.
        """
        if self.catalog is None:
            return None
        make = Session if ledger is None else partial(Session.from_json, ledger)
        return make(self.catalog, env=self.env, window=self.role.model.context_window, trajectory=trajectory)

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
        protected_paths=(*own_paths(os.environ, os.path.expanduser("~")), *program_paths(role, all_dirs, env)),
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
        allow_paths=absolute(security.allow_paths),
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
    if isinstance(error, ImportError):
        from prowess._internal.installer import install_command

        return f"install it with `{install_command('agent')}`"
    return getattr(error, "hint", None)


def discover_skills(
    role: Role, explicit: tuple[LoadedSkill, ...], dirs: tuple[str, ...], home: str, env: Mapping[str, str]
) -> tuple[Catalog | None, list[str]]:
    """Return the skills that the role does not name one by one, and notes for the user.

    They are what the host finds, unless the role switches that off, and those of the servers that the role names.
    """
    labels = server_labels(role.skills)
    if not role.auto_skills_enabled and not labels:
        return None, []
    servers: list[SkillProvider] = []
    try:
        if labels:
            from prowess.mcp import configured_servers

            servers = [server for label in labels for server in configured_servers(home, env=env, only=label).values()]
        catalog = discover(
            role.folder, host="initrunner", home=home, skill_dirs=dirs, env=env, role=role.path, providers=servers
        )
    except ConfigError as error:
        return None, [str(error)]
    if not role.auto_skills_enabled:
        catalog = catalog.with_changes(skills=tuple(entry for entry in catalog.skills if entry.path in catalog.readers))
    explicit_paths = {real_path(skill.path) for skill in explicit}
    skills = _fill_free_slots(
        [entry for entry in catalog.skills if real_path(entry.real) not in explicit_paths], role.max_skills
    )
    notes = [f"{quoted(entry.name)} is left out: {entry.reason}" for entry in skills if entry.state is State.DISABLED]
    notes += [
        f"{quoted(entry.name)} in {entry.path} is shadowed: {entry.reason}"
        for entry in skills
        if entry.state is State.SHADOWED
    ]
    notes += [item.message for item in catalog.findings if item.code in ("server-failed", "server-skill")]
    return catalog.with_changes(skills=skills), notes


def _fill_free_slots(skills: list[Entry], max_skills: int) -> tuple[Entry, ...]:
    """Activate skills over the limit in place of those that the role names."""
    free = max_skills - sum(entry.state is State.ACTIVE for entry in skills)
    filled = []
    for entry in skills:
        if free > 0 and entry.state is State.DISABLED and entry.rule == "max_skills":
            entry, free = entry.with_changes(state=State.ACTIVE, reason=None, rule="active"), free - 1
        filled.append(entry)
    return tuple(filled)


_RESERVED_NAMES = ("activate_skill", "read_skill_file", "search_skills", "run_skill_script")
"""Names of a session's own tools, which no tool of a role or a skill may have."""


class Toolbox:
    """The tools of an agent, under the role's policy.

    Args:
        role: its policy applies.
        context: what every tool is made with; `add` sets `skill`, `trusted` and `env`.
    """

    def __init__(self, role: Role, context: ToolContext) -> None:
        self.role, self.context = role, context
        self.tools: list[AgentTool] = []
        self.mcp_servers: list[tuple[str, ToolConfig, ToolContext]] = []
        """MCP servers: origin, configuration, context. Their tools are known once they run."""
        self.notes: list[str] = []
        """What is not offered, and why."""
        self._origins: dict[str, str] = {}
        self._has_writing_tool = False

    @property
    def names(self) -> frozenset[str]:
        """The names that no tool of an MCP server may have: those of the tools, and a session's own."""
        return frozenset((*_RESERVED_NAMES, *(tool.name for tool in self.tools)))

    @property
    def can_write_files(self) -> bool:
        """Whether a tool could change files in the role's folder."""
        kinds = {tool.kind for tool in self.tools}
        return bool(self.mcp_servers) or bool(kinds & {"shell", "python", "script"}) or self._has_writing_tool

    def copy(self) -> Toolbox:
        """Return a copy to add more tools to; it starts without notes."""
        other = Toolbox(self.role, self.context)
        other.tools, other.mcp_servers = [*self.tools], [*self.mcp_servers]
        other._origins, other._has_writing_tool = dict(self._origins), self._has_writing_tool
        return other

    def add(
        self,
        config: ToolConfig,
        origin: str,
        folder: str | None,
        *,
        trusted: bool,
        env_variables: Iterable[str] | None = None,
        sealed: SealedSkill | None = None,
    ) -> None:
        """Add the tools of one configuration, unless an equal configuration was added before.

        Args:
            config: the configuration.
            origin: `role`, or the skill's name.
            folder: the skill's folder.
            trusted: whether its processes may run without a sandbox.
            env_variables: the only variables, besides PATH, that the configuration may name as `${NAME}`; `None` allows
                all. A skill gets those it says it requires, or it could send any of its user's keys anywhere.
            sealed: checks the skill in each call.

        Raises:
            ConfigError: the configuration cannot be used on this machine.
        """
        if origin != "role":  # the role's own are in its warning
            self.notes += config.notes(origin)
        if not config.is_known:
            return
        # What runs is in the skill's folder, so the same configuration in another folder is another tool.
        key = f"{config.key} {folder}" if config.runs_files else config.key
        if key in self._origins:
            return
        self._origins[key] = origin
        self._has_writing_tool = self._has_writing_tool or not config.options.get("read_only", True)
        context = self.context.with_changes(
            skill=folder, trusted=trusted, env=self._visible_env(env_variables), sealed=sealed
        )
        if context.policy.permission(config.kind, "") == "deny":
            self.notes.append(f"the role denies tools of type `{config.kind}`, requested by {quoted(origin)}")
        elif config.kind == "mcp":
            _check_mcp_server(config, context)
            self.mcp_servers.append((origin, config, context))
        else:
            rules = CallRules.from_options(config.kind, config.options, context)
            for tool in make_tools(config.kind, config.options, context):
                tool = tool.with_changes(origin=origin, ask=tool.ask or config.needs_approval)
                if sealed is not None and config.kind != "script":  # a script checks what it runs itself
                    tool = tool.with_check(lambda _: sealed.check())
                self._add_tool(tool if rules is None else tool.with_check(rules.check))

    def _visible_env(self, variables: Iterable[str] | None) -> Mapping[str, str]:
        env = self.context.env
        return env if variables is None else {name: env[name] for name in ("PATH", *variables) if name in env}

    def _add_tool(self, tool: AgentTool) -> None:
        policy = self.context.policy
        renamed = tool.with_unique_name((*_RESERVED_NAMES, *(other.name for other in self.tools)))
        # The policy applies to the tool's own name and to the name it has here.
        permissions = {policy.permission(tool.kind, name, ask=tool.ask) for name in (tool.name, renamed.name)}
        if "deny" in permissions:
            self.notes.append(f"the role denies the tool `{tool.name}`, requested by {quoted(tool.origin)}")
        else:
            self.tools.append(renamed.with_changes(ask="ask" in permissions))


def _check_mcp_server(config: ToolConfig, context: ToolContext) -> None:
    """Check that an MCP server could be started, without starting it.

    Raises:
        ConfigError: it could not.
    """
    needed = "command" if config.options["transport"] == "stdio" else "url"
    if not config.options[needed]:
        message = f"`{needed}` is missing: an `mcp` tool with the transport `{config.options['transport']}` needs it"
        raise ConfigError(message, hint=f"add `{needed}: ...`")
    try:
        from .tools import make_mcp_toolset

        toolset = make_mcp_toolset(config.options, context)
    except ImportError:
        return  # the MCP client is not installed, so nothing will start the server
    if toolset.log is not None:
        toolset.log.close()
