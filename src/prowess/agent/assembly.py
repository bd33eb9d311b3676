"""a role + its skills + this machine -> what an agent is made of, each part with where it comes from

Nothing of a framework yet: this is what `validate` judges, `show` explains and `run --dry-run` prints.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.agent.role import load_explicit_skills, read_skill_tools, skill_dirs
from prowess.catalog import State, discover
from prowess.errors import ConfigError, ProwessError
from prowess.findings import finding
from prowess.session import Trust
from prowess.skill import load

from .policy import AgentTool, Policy, ToolContext
from .role import ROLE_INVALID, load_role
from .tools import make_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prowess.agent.role import LoadedSkill
    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding

    from .role import Role, ToolConfig

__all__ = ["Assembly", "InstructionPart", "Toolbox", "assemble"]

_RESERVED_NAMES = ("activate_skill", "read_skill_file", "search_skills")
"""Names of a session's own tools: nothing that a role or a skill brings can be taken for them."""


class DeclaredTools(Frozen):
    """What a discovered skill asks for."""

    tools: tuple[ToolConfig, ...]
    env_variables: tuple[str, ...]
    """Those it says it requires."""
    problems: tuple[Finding, ...]


def _read_declared_tools(entry: Entry) -> DeclaredTools:
    skill = load(entry.path, real=entry.real)
    tools, problems = read_skill_tools(skill)
    return DeclaredTools(tools=tools, env_variables=skill.requirements.env, problems=tuple(problems))


class InstructionPart(Frozen):
    """One part of what the model is told first."""

    origin: str
    """`role`, or the name of the skill it comes from."""
    text: str


class Toolbox:
    """The tools of an agent, under the role's policy: each configuration once, each name once.

    Args:
        role: whose policy it is.
        context: what tools are made with; `skill` and `trusted` are set for each.
    """

    def __init__(self, role: Role, context: ToolContext) -> None:
        self.role, self.context = role, context
        self.tools: list[AgentTool] = []
        self.mcp_servers: list[tuple[str, ToolConfig, ToolContext]] = []
        """Servers of MCP, each with its origin and what it is made with: what they offer is known once they run."""
        self.notes: list[str] = []
        """What was left out, and why."""
        self._origins: dict[str, str] = {}
        self._has_writing_tool = False

    @property
    def can_write_files(self) -> bool:
        """Whether a tool could change files in the role's folder."""
        kinds = {tool.kind for tool in self.tools}
        return bool(self.mcp_servers) or bool(kinds & {"shell", "python", "script"}) or self._has_writing_tool

    def copy(self) -> Toolbox:
        """Return one to which more can be added."""
        other = Toolbox(self.role, self.context)
        other.tools, other.mcp_servers, other.notes = [*self.tools], [*self.mcp_servers], []
        other._origins, other._has_writing_tool = dict(self._origins), self._has_writing_tool
        return other

    def add(
        self,
        configs: Iterable[ToolConfig],
        origin: str,
        folder: str | None,
        *,
        trusted: bool,
        env_variables: Iterable[str] | None = None,
    ) -> None:
        """Add the tools of the role or of a skill; what is there already under an equal configuration stays.

        Args:
            configs: of the tools.
            origin: `role`, or the skill's name.
            folder: the skill's.
            trusted: whether its processes may run where nothing contains them.
            env_variables: the only ones that a configuration may name as `${NAME}`, beside PATH: a skill gets what it
                says it requires, or it could send any key of its user's elsewhere. None is all.

        Raises:
            ConfigError: a configuration cannot be used on this machine.
        """
        env = self.context.env
        if env_variables is not None:
            env = {name: env[name] for name in ("PATH", *env_variables) if name in env}
        context = self.context.with_changes(skill=folder, trusted=trusted, env=env)
        for config in configs:
            # A script lies in its skill's folder, so the same words elsewhere are another tool.
            key = config.key if config.kind != "script" else f"{config.key} {folder}"
            if key in self._origins:
                continue
            self._origins[key] = origin
            self._has_writing_tool = self._has_writing_tool or not config.options.get("read_only", True)
            if context.policy.permission(config.kind, "") == "deny":
                self.notes.append(f"the role denies tools of the type `{config.kind}`, which {quoted(origin)} asks for")
                continue
            if config.kind == "mcp":
                _check_mcp_server(config, context)
                self.mcp_servers.append((origin, config, context))
                continue
            for tool in make_tools(config.kind, config.options, context):
                named = tool.with_changes(origin=origin).with_unique_name(
                    (*_RESERVED_NAMES, *(one.name for one in self.tools))
                )
                # What the role says of a name holds for the tool whatever it is called now.
                words = {context.policy.permission(config.kind, name, ask=tool.ask) for name in (tool.name, named.name)}
                if "deny" in words:
                    self.notes.append(f"the role denies the tool `{tool.name}`, which {quoted(origin)} asks for")
                else:
                    self.tools.append(named.with_changes(ask="ask" in words))


def _check_mcp_server(config: ToolConfig, context: ToolContext) -> None:
    """See to it that a server of MCP could be started, without starting it.

    Raises:
        ConfigError: it could not.
    """
    needed = "command" if config.options["transport"] == "stdio" else "url"
    if not config.options[needed]:
        words = f"an `mcp` tool of the transport `{config.options['transport']}` needs `{needed}`"
        raise ConfigError(words, hint=f"add `{needed}: ...`")
    try:
        from prowess.agent.tools.mcp import make_toolset
    except ImportError:
        return  # where its client is not installed, it is not started either
    made: Any = make_toolset(config.options, context)
    if made.log is not None:
        made.log.close()


class Assembly(Frozen):
    """What an agent is made of."""

    role: Role
    parts: tuple[InstructionPart, ...]
    """What the model is told first, in order; the catalog comes after it."""
    toolbox: Toolbox
    """The role's own tools and those of the skills it names."""
    catalog: Catalog | None
    """The skills that were discovered, without those the role names; None where none are."""
    explicit: tuple[LoadedSkill, ...] = ()
    findings: tuple[Finding, ...] = ()
    """All that is wrong; where it is not empty the agent must not run."""
    notes: tuple[str, ...] = ()
    """What its user should know: skills that were left out, names that are shadowed."""
    env: Mapping[str, str] = EMPTY
    declared_tools: Mapping[str, DeclaredTools] = EMPTY
    """By path, what the discovered skills in the role's own folder declared when it was read: the agent itself may be
    able to write there, and must not give itself tools."""

    def with_policy_of(self, old: Assembly) -> Assembly:
        """Return it with the policy and the tools of another, where that one's tools may have written this one."""
        if not old.toolbox.can_write_files:
            return self
        role = self.role.with_changes(tools=old.role.tools, guardrails=old.role.guardrails, security=old.role.security)
        return self.with_changes(role=role, toolbox=old.toolbox, declared_tools=old.declared_tools)

    @property
    def instructions(self) -> str:
        """What the model is told first, as one text."""
        return "\n\n".join(part.text for part in self.parts)

    def add_discovered_tools(self, entry: Entry, toolbox: Toolbox) -> None:
        """Add the tools of a discovered skill that was activated, if its user trusts it.

        What lies in the role's own folder shares the role's trust: InitRunner, "Trust Model".

        What cannot be offered is told in the toolbox's notes.
        """
        own = self.is_in_role_folder(entry)
        declared_tools = self.declared_tools.get(entry.path) if own else _read_declared_tools(entry)
        if declared_tools is None or not (declared_tools.tools or declared_tools.problems):
            return
        configs, found = declared_tools.tools, declared_tools.problems
        why = None if own else Trust().denial_reason(entry)
        if why is not None:
            toolbox.notes.append(f"the tools of {quoted(entry.name)} are not offered: {why}")
        elif found:
            toolbox.notes.append(f"the tools of {quoted(entry.name)} are not offered: {found[0].message}")
        else:
            for config in configs:
                try:
                    folder, env_variables = os.path.dirname(entry.path), declared_tools.env_variables
                    toolbox.add((config,), entry.name, folder, trusted=True, env_variables=env_variables)
                except (ProwessError, ImportError) as error:
                    words = f"a tool of {quoted(entry.name)} is not offered: `{config.where}`: {_error_message(error)}"
                    toolbox.notes.append(words)

    def is_in_role_folder(self, entry: Entry) -> bool:
        """Say whether a skill lies in the role's own folder, and no link leads out of it."""
        top = os.path.realpath(self.role.folder)
        return os.path.realpath(entry.real).startswith(top.rstrip(os.sep) + os.sep)


def assemble(
    path: str | os.PathLike[str],
    *,
    dirs: Iterable[str] = (),
    home: str | None = None,
    env: Mapping[str, str] | None = None,
    sandbox: str = "auto",
) -> tuple[Assembly | None, tuple[Finding, ...]]:
    """Read a role and all it names.

    Args:
        path: of the role's file.
        dirs: folders of skills that the user named, before those of the environment.
        home: the user's home instead of `~`.
        env: the environment; the process's by default.
        sandbox: what contains processes.

    Returns:
        What the agent is made of, None where the role cannot be read; and all that is wrong.
    """
    env = os.environ if env is None else env
    home = os.path.expanduser("~") if home is None else os.path.abspath(home)
    role, found = load_role(path)
    if role is None:
        return None, found
    findings = [*found]
    dirs = tuple(dirs)
    for given in dirs:
        if not os.path.isdir(os.path.expanduser(given)):
            words = f"the folder of skills {quoted(given, 200)} is not there"
            findings.append(finding(ROLE_INVALID, words, path=role.path, hint="check what `--skill-dir` names"))
    named = skill_dirs(dirs, env)
    explicit, problems = load_explicit_skills(role, dirs=named, home=home, env=env)
    findings += problems
    policy = Policy(
        deny=frozenset(role.security.deny),
        ask=frozenset(role.security.ask),
        allowed_hosts=role.security.allowed_hosts,
        allow_private=role.security.allow_private,
        roots=tuple(
            os.path.abspath(os.path.join(role.folder, os.path.expanduser(root))) for root in role.security.roots
        ),
    )
    toolbox = Toolbox(role, ToolContext(folder=role.folder, policy=policy, env=env, sandbox=sandbox))
    # The role's own come first, so that none of them loses its name to a skill's.
    for configs, origin, folder, at, env_variables in [
        (role.tools, "role", None, role.path, None),
        *((skill.tools, skill.name, skill.folder, skill.path, skill.env_variables) for skill in explicit),
    ]:
        for config in configs:
            try:
                toolbox.add((config,), origin, folder, trusted=True, env_variables=env_variables)
            except (ProwessError, ImportError) as error:
                words = f"`{config.where}`: {_error_message(error)}"
                findings.append(finding(ROLE_INVALID, words, path=at, line=config.line, hint=_error_hint(error)))
    absent = [path for path in named if not os.path.isdir(path)]
    catalog, notes = _discover_skills(role, explicit, tuple(path for path in named if path not in absent), home, env)
    by_variable = [path for path in absent if path not in skill_dirs(dirs, {})]
    notes += [f"the folder of skills {quoted(path, 200)}, which a variable names, is not there" for path in by_variable]
    parts = (
        InstructionPart(origin="role", text=role.prompt.strip()),
        *(
            InstructionPart(origin=skill.name, text=f"## Skill: {skill.name}\n\n{skill.body.strip()}")
            for skill in explicit
        ),
    )
    assembly = Assembly(
        role=role,
        parts=parts,
        toolbox=toolbox,
        catalog=catalog,
        explicit=explicit,
        findings=tuple(findings),
        notes=(*notes, *toolbox.notes),
        env=env,
    )
    if catalog is not None:
        own = (
            entry for entry in catalog.skills if entry.state in _LOADABLE_STATES and assembly.is_in_role_folder(entry)
        )
        assembly = assembly.with_changes(declared_tools={entry.path: _read_declared_tools(entry) for entry in own})
    return assembly, tuple(findings)


_LOADABLE_STATES = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)


def _error_message(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"the tool needs a package that is not installed: {quoted(error.name or str(error))}"
    return str(error)


def _error_hint(error: Exception) -> str | None:
    return "pip install 'prowess[agent]'" if isinstance(error, ImportError) else getattr(error, "hint", None)


def _discover_skills(
    role: Role, explicit: tuple[LoadedSkill, ...], dirs: tuple[str, ...], home: str, env: Mapping[str, str]
) -> tuple[Catalog | None, list[str]]:
    """Return the skills that are found without being named, and what the user should know of them."""
    if not role.auto_skills_enabled:
        return None, []
    try:
        catalog = discover(role.folder, host="initrunner", home=home, skill_dirs=dirs, env=env, role=role.path)
    except ConfigError as error:
        return None, [str(error)]
    taken = {os.path.realpath(skill.path) for skill in explicit}
    skills = _fill_free_slots(
        [entry for entry in catalog.skills if os.path.realpath(entry.real) not in taken], role.max_skills
    )
    notes = [f"{quoted(entry.name)} is left out: {entry.reason}" for entry in skills if entry.state is State.DISABLED]
    notes += [
        f"{quoted(entry.name)} in {entry.path} is shadowed: {entry.reason}"
        for entry in skills
        if entry.state is State.SHADOWED
    ]
    kept: Any = catalog.with_changes(skills=skills)
    return kept, notes


def _fill_free_slots(skills: list[Entry], most: int) -> tuple[Entry, ...]:
    """Give the places of skills that are loaded anyway to those that had none."""
    free = most - sum(entry.state is State.ACTIVE for entry in skills)
    filled = []
    for entry in skills:
        if free > 0 and entry.state is State.DISABLED and entry.rule == "max_skills":
            entry, free = entry.with_changes(state=State.ACTIVE, reason=None, rule="active"), free - 1
        filled.append(entry)
    return tuple(filled)
