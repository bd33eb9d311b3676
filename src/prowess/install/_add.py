"""Plan what `prowess add` would install, so that a user can decide, and install it.

    SOURCE, names -> fetched into the store -> PlannedSkill (files, scripts, tools, findings, who sees it) -> installed

Nothing in the project changes before `install_planned`.
"""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, did_you_mean, quoted
from prowess.catalog import check_file
from prowess.errors import InstallError, SkillNotFoundError
from prowess.hosts import host_names, load_host
from prowess.skill import is_portable_name, load

from ._change import Item, check_conflicts, make_change, merged
from ._entries import entry_for
from ._known import recall, remember
from ._lock import read_lock
from ._places import folders_of
from ._source import fetcher, parse_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prowess.findings import Finding
    from prowess.skill import Skill, Value

    from ._change import Changed
    from ._fetched import Fetched, FetchedSkill
    from ._lock import Lock, LockedSkill
    from ._places import Scope, Target
    from ._source import Source
    from ._store import OpenStore, StoredTree
    from ._tree import Tree

__all__ = [
    "AddPlan",
    "PlannedSkill",
    "agents_that_see",
    "describe_skill",
    "fetch_source",
    "findings_of",
    "install_planned",
    "plan_add",
]

_PLACE_CODES = ("name-not-folder", "skill-copy", "name-shadowed")
"""Findings about the folder of a skill: it is not in its own folder yet."""


class PlannedSkill(Frozen):
    """A skill that would be installed, and what a user should know about it."""

    item: Item
    tree: Tree
    previous: LockedSkill | None
    """What is installed under its name now."""
    scripts: tuple[str, ...]
    """Its executable files, and those in `scripts`."""
    allowed_tools: tuple[str, ...]
    tools: Value | None
    """What its front matter declares in `tools`."""
    description: str
    findings: tuple[Finding, ...]
    folders: tuple[str, ...]
    """Where it would be installed, absolute."""
    agents: tuple[str, ...]
    """The agents on this machine that look there."""

    @property
    def name(self) -> str:
        """The name under which it would be installed."""
        return self.item.entry.name


class AddPlan(Frozen):
    """What `prowess add` would do."""

    source: Source
    revision: str | None
    skills: tuple[PlannedSkill, ...]
    findings: tuple[Finding, ...]
    """What the source has that cannot be installed."""


def fetch_source(
    source: Source,
    opened: OpenStore,
    *,
    only: Sequence[str] = (),
    revision: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Fetched:
    """Fetch skills of a source into temporary folders of the store.

    Raises:
        InstallError: the source cannot be read.
    """
    return fetcher(source.kind)(source, opened, only=only, revision=revision, progress=progress)


def plan_add(
    text: str,
    names: Sequence[str],
    *,
    target: Target,
    opened: OpenStore,
    cwd: str,
    home: str,
    hosts: tuple[str, ...] = (),
    link: bool = False,
    force: bool = False,
    agents: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> AddPlan:
    """Fetch skills, and return what installing them would do.

    Args:
        text: the source, as the user typed it.
        names: the skills that are wanted; all of the source if empty.
        target: where they would be installed.
        opened: the store.
        cwd: what a relative path starts from, absolute.
        home: the user's home.
        hosts: the agents into whose folders they are installed, as `check_hosts` returns them.
        link: whether links are installed instead of copies.
        force: whether installed skills that were changed may be replaced.
        agents: the agents on this machine.
        progress: is called with what is being done.

    Raises:
        InstallError: the source cannot be read, a skill is not allowed, or a name is taken.
        SkillNotFoundError: the source has no skill of a name.
    """
    source = _source(text, cwd, home)
    wanted = tuple(dict.fromkeys((*names, *((source.skill,) if source.skill else ()))))
    fetched = recall(source, opened, wanted, None)
    if fetched is None:
        fetched = fetch_source(source, opened, only=wanted, progress=progress)
    chosen = _without_copies(_choose(fetched.skills, wanted, source), opened)
    digests = ((skill, stored.tree.digest) for skill, stored in chosen)
    remember(source, fetched, digests, opened, all_skills=not wanted and source.path is None)
    lock = read_lock(target.lock_file)
    planned = []
    for number, (skill, stored) in enumerate(chosen):
        if progress is not None:
            progress(f"checking {number + 1:,} of {len(chosen):,}")
        entry = entry_for(source, skill, fetched, stored, folder=target.lock_folder, hosts=hosts, link=link)
        link_to = link_target(source, skill, stored) if link else None
        item = merged(Item(entry=entry, digest=stored.tree.digest, link=link_to), lock, target.scope)
        planned.append(describe_skill(item, stored, lock, target, agents))
    check_conflicts(target, lock, [skill.item for skill in planned], force=force)
    return AddPlan(source=source, revision=fetched.revision, skills=tuple(planned), findings=fetched.findings)


def install_planned(
    skills: Sequence[PlannedSkill],
    target: Target,
    opened: OpenStore,
    *,
    force: bool = False,
    waiting: Callable[[], None] | None = None,
) -> Changed:
    """Install the skills of a plan, all of them or none.

    Raises:
        InstallError: that is not possible.
    """
    return make_change(target, opened, items=[skill.item for skill in skills], force=force, waiting=waiting)


def _source(text: str, cwd: str, home: str) -> Source:
    """Return the source that a user typed, with the absolute path of a folder.

    Raises:
        InstallError: it is not a source, or could be a folder as well as a repository.
    """
    try:
        source = parse_source(text)
    except InstallError as error:
        if os.path.isdir(os.path.join(cwd, text)):
            raise InstallError(
                str(error), hint=f"write {quoted(f'./{text}', PATH_LIMIT)} for the folder here"
            ) from None
        raise
    if source.kind == "folder":
        return source.with_changes(url=os.path.normpath(os.path.join(cwd, expand_home(source.url, home))))
    if source.kind == "git" and ":" not in text and os.path.isdir(os.path.join(cwd, text)):
        message = f"{quoted(text)} is a folder here, and may be a repository on GitHub too"
        raise InstallError(message, hint=f"write `./{text}` for the folder, or `https://github.com/{text}`")
    return source


def _choose(skills: Sequence[FetchedSkill], wanted: Sequence[str], source: Source) -> list[FetchedSkill]:
    """Return the wanted skills.

    Raises:
        SkillNotFoundError: the source lacks one.
        InstallError: it has no skills.
    """
    if not skills:
        hint = "a skill is a folder with a SKILL.md; name its folder after a `:`"
        raise InstallError(f"{quoted(source.text)} contains no skills", hint=hint)
    known = {skill.name for skill in skills}
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known, f"it has {', '.join(map(quoted, sorted(known)[:10]))}")
            raise SkillNotFoundError(f"{quoted(source.text)} has no skill {quoted(name)}", hint=hint)
    return [skill for skill in skills if not wanted or skill.name in wanted]


def _without_copies(skills: Sequence[FetchedSkill], opened: OpenStore) -> list[tuple[FetchedSkill, StoredTree]]:
    """Move skills into the store, and return each with its files there, and copies of one skill once.

    A repository often has a skill twice: in the folders of two agents.

    Raises:
        InstallError: two different skills have the same name, a name is invalid, or a file is not allowed.
    """
    found: dict[str, tuple[FetchedSkill, StoredTree]] = {}
    for skill in skills:
        if not is_portable_name(skill.name):
            message = f"{quoted(skill.name)} in {quoted(skill.path or '.')} is not a valid skill name"
            hint = "use lower case letters, digits and single hyphens in the `name` of its SKILL.md"
            raise InstallError(message, hint=hint)
        try:
            stored = opened.add(skill.folder, skill.tree)
        except InstallError as error:
            raise InstallError(f"{quoted(skill.name)}: {error}", hint=error.hint) from None
        first, known = found.setdefault(skill.name, (skill, stored))
        if known.tree != stored.tree:
            message = f"two different skills are named {quoted(skill.name)}: in {quoted(first.path or '.')} and "
            message += quoted(skill.path or ".")
            raise InstallError(message, hint="name the folder of the one that you want after a `:`")
    return [*found.values()]


def link_target(source: Source, skill: FetchedSkill, stored: StoredTree) -> str:
    """Return what the link of an installed skill leads to: the skill in a folder source, or in the store."""
    return os.path.join(source.url, skill.path).rstrip("/") if source.kind == "folder" else stored.folder


def describe_skill(item: Item, stored: StoredTree, lock: Lock, target: Target, agents: Iterable[str]) -> PlannedSkill:
    """Return what a user should know about a skill in the store before it is installed."""
    path, tree = os.path.join(stored.folder, SKILL_FILE), stored.tree
    skill = load(path)
    places = folders_of(item.entry, target.scope)
    return PlannedSkill(
        item=item,
        tree=tree,
        previous=lock.skills.get(item.entry.name),
        scripts=tuple(file.path for file in tree.files if file.mode == "100755" or file.path.startswith("scripts/")),
        allowed_tools=skill.allowed_tools,
        tools=_tools(skill),
        description=skill.description or "",
        findings=findings_of(path, item.entry.name),
        folders=tuple(os.path.join(target.root, place, item.entry.folder) for place in places),
        agents=agents_that_see(places, target.scope, agents),
    )


def _tools(skill: Skill) -> Value | None:
    field = skill.fields.get("tools")
    return None if field is None else field.value


def findings_of(path: str, name: str) -> tuple[Finding, ...]:
    """Return the findings of a SKILL.md, with paths that begin with the name of the skill."""
    folder = os.path.dirname(path)
    return tuple(
        item.with_changes(path=os.path.join(name, os.path.relpath(item.path or path, folder)))
        for item in check_file(path)
        if item.code not in _PLACE_CODES
    )


def agents_that_see(folders: Sequence[str], scope: Scope, agents: Iterable[str]) -> tuple[str, ...]:
    """Return those of the agents that look for skills in one of these folders, relative to the project or home."""
    known = set(host_names())
    found = []
    for name in agents:
        roots = load_host(name).roots if name in known else ()
        paths = {root.path.rpartition("|")[2].removeprefix("~/") for root in roots if root.scope == scope}
        if not paths.isdisjoint(folders):
            found.append(name)
    return tuple(found)
