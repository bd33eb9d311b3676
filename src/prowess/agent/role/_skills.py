"""a role's explicit skills -> what they bring, and all that is missing

The order in which a bare name is looked for is InitRunner's: beside the role, in the folders that the user named, in
`~/.initrunner/skills`. What a role names shares the role's trust: who runs the one runs the other.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.files import SKILL_FILE
from prowess._internal.frozen import Frozen
from prowess._internal.text import nearest_names, neutral, quoted
from prowess.findings import Severity, finding
from prowess.skill import FindingCollector, MappingReader, YamlSyntaxError, find_missing, load, parse_yaml_node

from ._role import ROLE_INVALID, read_tools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prowess.findings import Finding
    from prowess.skill import Skill

    from ._role import Role, ToolConfig

__all__ = ["LoadedSkill", "load_explicit_skills", "load_skill", "skill_dirs", "read_skill_tools"]


class LoadedSkill(Frozen):
    """A skill that a role names."""

    name: str
    reference: str
    path: str
    """Of its file, absolute."""
    body: str
    tools: tuple[ToolConfig, ...] = ()
    env_variables: tuple[str, ...] = ()
    """Those it says it requires."""

    @property
    def folder(self) -> str | None:
        """Its folder; None for a flat file, which has no files of its own."""
        folder, file = os.path.split(self.path)
        return folder if file == SKILL_FILE else None


def skill_dirs(given: Iterable[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders that the user named: `--skill-dir`, `INITRUNNER_SKILL_DIR`, `PROWESS_SKILL_DIR`."""
    listed = (
        part for name in ("INITRUNNER_SKILL_DIR", "PROWESS_SKILL_DIR") for part in env.get(name, "").split(os.pathsep)
    )
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(path)) for path in (*given, *listed) if path))


def load_explicit_skills(
    role: Role, *, dirs: Iterable[str], home: str, env: Mapping[str, str]
) -> tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]]:
    """Return the skills a role names, in its order, and all that keeps it from running.

    Args:
        role: whose.
        dirs: what `skill_dirs` returns.
        home: the user's home.
        env: the environment that requirements are held against.
    """
    loaded: dict[str, LoadedSkill] = {}
    findings: list[Finding] = []
    lines = dict(zip(role.skills, role.skill_lines, strict=False))
    for reference in role.skills:
        path = _resolve_reference(reference, role.folder, tuple(dirs), home)
        if path is None:
            places = ", ".join(neutral(place) for place in _candidate_paths(reference, role.folder, tuple(dirs), home))
            words = f"there is no skill {quoted(reference, 200)}: looked for {places}"
            findings.append(
                finding(
                    ROLE_INVALID,
                    words,
                    path=role.path,
                    line=lines[reference],
                    hint=_reference_hint(reference, role.folder),
                )
            )
            continue
        real = os.path.realpath(path)
        if real not in loaded:
            skill, found = load_skill(path, reference=reference, env=env)
            findings += found
            if skill is not None:
                loaded[real] = skill
    return tuple(loaded.values()), tuple(findings)


def _is_path(reference: str) -> bool:
    return "/" in reference or os.sep in reference or reference.endswith(".md") or reference.startswith((".", "~"))


def _candidate_paths(reference: str, folder: str, dirs: tuple[str, ...], home: str) -> Iterator[str]:
    """Yield where a reference may lead, in order."""
    if _is_path(reference):
        path = os.path.abspath(os.path.join(folder, os.path.expanduser(reference)))
        yield path
        if not reference.endswith(".md"):
            yield os.path.join(path, SKILL_FILE)
        return
    for top in (os.path.join(folder, "skills"), *dirs, os.path.join(home, ".initrunner", "skills")):
        yield os.path.join(top, reference, SKILL_FILE)
        yield os.path.join(top, f"{reference}.md")


def _resolve_reference(reference: str, folder: str, dirs: tuple[str, ...], home: str) -> str | None:
    if "\0" in reference or not reference:
        return None
    return next((path for path in _candidate_paths(reference, folder, dirs, home) if os.path.isfile(path)), None)


def _reference_hint(reference: str, folder: str) -> str:
    top = os.path.join(folder, "skills")
    try:
        names = [name.removesuffix(".md") for name in os.listdir(top)]
    except OSError:
        names = []
    near = nearest_names(os.path.basename(reference.rstrip("/")), names)
    return f"did you mean {quoted(near[0])}?" if near else "write its path relative to the role, or use `--skill-dir`"


def load_skill(path: str, *, reference: str, env: Mapping[str, str]) -> tuple[LoadedSkill | None, list[Finding]]:
    """Read one skill as a role does that names it: its fields, its tools, and whether all it requires is there.

    Args:
        path: of its file, absolute.
        reference: how it is named.
        env: the environment that requirements are held against.

    Returns:
        The skill, None where anything is wrong; and all that is.
    """
    skill = load(path, real=os.path.realpath(path))
    found = [item for item in skill.findings if item.severity is Severity.ERROR]
    for field in ("name", "description"):
        if not found and not (getattr(skill, field) or "").strip():
            found.append(
                finding(ROLE_INVALID, f"the skill has no `{field}`", path=path, line=1, hint=f"add `{field}:`")
            )
    tools, more = read_skill_tools(skill)
    found += more
    name = skill.name or os.path.basename(os.path.dirname(path))
    for one in find_missing(skill.requirements, env=env):
        words = f"the skill {quoted(name)} cannot be used: {one.message}"
        found.append(finding(ROLE_INVALID, words, path=path, line=_field_line(skill, "requires"), hint=one.hint))
    if found:
        return None, found
    return LoadedSkill(
        name=name, reference=reference, path=path, body=skill.body, tools=tools, env_variables=skill.requirements.env
    ), []


def _field_line(skill: Skill, key: str) -> int | None:
    """Return the line of a field, None where it is not there."""
    entry = skill.fields.get(key)
    return None if entry is None else entry.line


def read_skill_tools(skill: Skill) -> tuple[tuple[ToolConfig, ...], list[Finding]]:
    """Return the tools that a skill declares, and what is wrong with them.

    `tools: Read, Grep`, one line of text as Claude Code's agents have it, declares none.
    """
    report = FindingCollector(skill.path or "", ROLE_INVALID)
    front = None if skill.document is None else skill.document.frontmatter
    if front is None or "tools" not in skill.fields or isinstance(skill.tools, str):
        return (), []
    try:
        # Its fence stands before the first line.
        node = parse_yaml_node("\n" + front)
    except YamlSyntaxError as error:
        report.add(error.message)
        return (), report.findings
    if node is None or node.kind != "map":
        return (), []
    tools = read_tools(MappingReader(node, report), "tools")
    return tools, report.findings
