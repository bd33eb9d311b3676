"""Load the skills that a role names, with their tools and everything they lack.

A bare name is looked up in InitRunner's order: beside the role, in the user's skill directories, in
`~/.initrunner/skills`. A skill that a role names shares the role's trust.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, did_you_mean, neutral, quoted
from prowess.errors import ConfigError, SkillError
from prowess.findings import Severity, finding
from prowess.skill import (
    FindingCollector,
    MappingReader,
    YamlSyntaxError,
    find_missing,
    load,
    parse_yaml_node,
    sealed_copy,
)

from ._role import ROLE_INVALID
from ._tools import read_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prowess.findings import Finding
    from prowess.skill import Skill

    from ._role import Role
    from ._tools import ToolConfig

_SERVER = "mcp:"
"""The start of a reference to all skills of a server."""


class LoadedSkill(Frozen):
    """A skill that a role names."""

    name: str
    reference: str
    path: str
    """The absolute path of its file."""
    body: str
    tools: tuple[ToolConfig, ...] = ()
    env_variables: tuple[str, ...] = ()
    """The variables that the skill says it requires."""
    digest: str | None = None
    """The integrity digest of the bytes that the tools were read from; `None` if they run no files of the skill."""

    @property
    def folder(self) -> str | None:
        """The skill's folder; `None` for a flat file, which has no other files."""
        folder, file = os.path.split(self.path)
        return folder if file == SKILL_FILE else None


def skill_dirs(dirs: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the user's skill directories: `--skill-dir`, `INITRUNNER_SKILL_DIR`, `PROWESS_SKILL_DIR`."""
    from_env = (
        part for name in ("INITRUNNER_SKILL_DIR", "PROWESS_SKILL_DIR") for part in env.get(name, "").split(os.pathsep)
    )
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in (*dirs, *from_env) if path))


def load_explicit_skills(
    role: Role, *, dirs: Iterable[str], home: str, env: Mapping[str, str]
) -> tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]]:
    """Return the skills that a role names, in its order, and everything that prevents it from running.

    Args:
        role: the role.
        dirs: what `skill_dirs` returns.
        home: the user's home.
        env: the environment to check requirements against.
    """
    loaded: dict[str, LoadedSkill] = {}
    findings: list[Finding] = []
    lines = dict(zip(role.skills, role.skill_lines, strict=False))
    for reference in role.skills:
        if reference.startswith(_SERVER):
            findings += _server_findings(role, reference, lines[reference], home, env)
            continue
        path = _resolve_reference(reference, role.folder, tuple(dirs), home)
        if path is None:
            candidates = ", ".join(map(neutral, _candidate_paths(reference, role.folder, tuple(dirs), home)))
            message = f"skill not found: {quoted(reference, PATH_LIMIT)} (looked for {candidates})"
            findings.append(
                finding(
                    ROLE_INVALID,
                    message,
                    path=role.path,
                    line=lines[reference],
                    hint=_reference_hint(reference, role.folder, home),
                )
            )
            continue
        real = real_path(path)
        if real not in loaded:
            skill, problems = load_skill(path, reference=reference, env=env)
            findings += problems
            if skill is not None:
                loaded[real] = skill
    return tuple(loaded.values()), tuple(findings)


def server_labels(references: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the servers whose skills a role uses: `docs` for `mcp:docs`."""
    labels = (reference.removeprefix(_SERVER) for reference in references if reference.startswith(_SERVER))
    return tuple(dict.fromkeys(labels))


def _server_findings(
    role: Role, reference: str, line: int | None, home: str, env: Mapping[str, str]
) -> Iterator[Finding]:
    """Check that the user has configured a server that a role names."""
    from prowess.mcp import configured_servers

    label = reference.removeprefix(_SERVER)
    message, hint = f"no server is called {quoted(label)}", "add it as `[[servers]]` to `~/.prowess/config.toml`"
    try:
        if configured_servers(home, env=env, only=label):
            return
    except ConfigError as error:
        message, hint = str(error), error.hint or hint
    yield finding(ROLE_INVALID, message, path=role.path, line=line, hint=hint)


def _is_path(reference: str) -> bool:
    return "/" in reference or os.sep in reference or reference.endswith(".md") or reference.startswith((".", "~"))


def _candidate_paths(reference: str, folder: str, dirs: tuple[str, ...], home: str) -> Iterator[str]:
    """Yield the paths that a reference may mean, in order."""
    if _is_path(reference):
        path = os.path.abspath(os.path.join(folder, os.path.expanduser(reference)))
        yield path
        if not reference.endswith(".md"):
            yield os.path.join(path, SKILL_FILE)
        return
    for skills_folder in (os.path.join(folder, "skills"), *dirs, os.path.join(home, ".initrunner", "skills")):
        yield os.path.join(skills_folder, reference, SKILL_FILE)
        yield os.path.join(skills_folder, f"{reference}.md")


def _resolve_reference(reference: str, folder: str, dirs: tuple[str, ...], home: str) -> str | None:
    if "\0" in reference or not reference:
        return None
    return next((path for path in _candidate_paths(reference, folder, dirs, home) if os.path.isfile(path)), None)


def _reference_hint(reference: str, folder: str, home: str) -> str:
    """Return what to write instead: the path at which `prowess list` shows a skill of that name, or a similar name."""
    if reference and "\0" not in reference and not _is_path(reference):
        from prowess.catalog import discover
        from prowess.filesystem import git_root

        # Outside a repository only the working directory has the folders that `prowess list` searches.
        places = [folder]
        with suppress(OSError):
            places.append(os.getcwd())
        for place in dict.fromkeys(places):
            entry = next(iter(discover(place, home=home).candidates(reference)), None)
            if entry is None:
                continue
            path, project = os.path.dirname(entry.path), git_root(place) or place
            is_inside = all(f"{each}{os.sep}".startswith(project + os.sep) for each in (path, folder))
            path = os.path.relpath(path, folder) if is_inside else path
            return f"write {quoted(path, PATH_LIMIT)}: it is where `prowess list` finds it"
    skills_folder = os.path.join(folder, "skills")
    try:
        names = [name.removesuffix(".md") for name in os.listdir(skills_folder)]
    except OSError:
        names = []
    default_hint = "write its path relative to the role, or use `--skill-dir`"
    return did_you_mean(os.path.basename(reference.rstrip("/")), names, default_hint)


def load_skill(path: str, *, reference: str, env: Mapping[str, str]) -> tuple[LoadedSkill | None, list[Finding]]:
    """Load a skill as a role that names it does: check its fields, its tools and its requirements.

    Args:
        path: the absolute path of its file.
        reference: the name or path that the role uses.
        env: the environment to check requirements against.

    Returns:
        The skill, or `None` if anything is wrong; and everything that is wrong.
    """
    skill, digest = _load_sealed(path)
    findings = [item for item in skill.findings if item.severity is Severity.ERROR]
    for field in ("name", "description"):
        if not findings and not (getattr(skill, field) or "").strip():
            findings.append(
                finding(ROLE_INVALID, f"the skill has no `{field}`", path=path, line=1, hint=f"add `{field}:`")
            )
    tools, problems = read_skill_tools(skill)
    findings += problems
    name = skill.name or os.path.basename(os.path.dirname(path))
    required = skill.requirements
    if any(tool.kind == "script" for tool in tools):  # packages are installed when a script runs
        required = required.with_changes(packages=())
    for missing in find_missing(required, env=env):
        message = f"the skill {quoted(name)} cannot be used: {missing.message}"
        line = _field_line(skill, "requires")
        findings.append(finding(ROLE_INVALID, message, path=path, line=line, hint=missing.hint))
    if findings:
        return None, findings
    return LoadedSkill(
        name=name,
        reference=reference,
        path=path,
        body=skill.body,
        tools=tools,
        env_variables=skill.requirements.env,
        digest=digest,
    ), []


def _load_sealed(path: str) -> tuple[Skill, str | None]:
    """Return a skill and, if its tools run files of its folder, the integrity digest of the bytes it was read from."""
    skill = load(path, real=real_path(path))
    folder, file = os.path.split(path)
    if file != SKILL_FILE or not any(tool.runs_files for tool in read_skill_tools(skill)[0]):
        return skill, None
    try:
        with sealed_copy(folder, lambda _: None) as copy:
            return load(path, real=real_path(os.path.join(copy.folder, file))), copy.digest
    except SkillError as error:
        problem = finding(ROLE_INVALID, f"its tools cannot be run: {error}", path=path, line=1, hint=error.hint)
        return skill.with_changes(findings=(*skill.findings, problem)), None


def _field_line(skill: Skill, key: str) -> int | None:
    """Return the line of a field, or `None` if it is missing."""
    entry = skill.fields.get(key)
    return None if entry is None else entry.line


def read_skill_tools(skill: Skill) -> tuple[tuple[ToolConfig, ...], list[Finding]]:
    """Return the tools that a skill declares, and what is wrong with them.

    `tools: Read, Grep`, one line of text as in Claude Code's agents, is ignored.
    """
    report = FindingCollector(skill.path or "", ROLE_INVALID)
    frontmatter = None if skill.document is None else skill.document.frontmatter
    if frontmatter is None or "tools" not in skill.fields or isinstance(skill.tools, str):
        return (), []
    try:
        # The added line replaces the opening fence, so that line numbers are right.
        node = parse_yaml_node("\n" + frontmatter)
    except YamlSyntaxError as error:
        report.add(error.message)
        return (), report.findings
    if node is None or node.kind != "map":
        return (), []
    tools = read_tools(MappingReader(node, report), "tools")
    return tools, report.findings
