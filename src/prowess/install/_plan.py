"""Plan what `add` and `update` change, and install the skills of an `add` after the user agrees.

Plan what `prowess add` would install, so that a user can decide, and install it.

    SOURCE, names -> fetched into the store -> PlannedSkill (files, scripts, tools, findings, who sees it) -> installed

Nothing in the project changes before `install_planned`.

Find out what newer versions of installed skills would change: `prowess update`.

lock -> sources now -> files, revisions, findings and permissions that change -> installed after a question
"""

from __future__ import annotations

import os
from contextlib import suppress

from prowess._internal.files import SKILL_FILE, expand_home
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.capabilities import Capabilities, Difference, difference, find_capabilities, from_value
from prowess.catalog import catalog_for
from prowess.checks import check_file
from prowess.errors import InstallError, SkillError
from prowess.hosts import skills_folder
from prowess.lock import SHARED_FOLDER, folders_of, hosts_for, linked_folders, read_lock, read_tree
from prowess.search import Claim
from prowess.skill import find_code, is_code, is_portable_name, load
from prowess.visibility import AddedSkill, Contender, Kind, contenders_of, find_competitors, views_after

from ._change import Item, check_conflicts, find_conflicts, make_change, merged
from ._entries import CAPABILITIES_KEY, entry_for, fetch_locked, is_pinned, same_source
from ._older import HistoryCheck
from .sources import Wanted, check_wanted, fetch, is_archive_file, parse_source, resolve_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from prowess.errors import ProwessError
    from prowess.findings import Finding
    from prowess.lock import Lock, LockedSkill, Tree
    from prowess.skill import Value
    from prowess.visibility import Competitor, View

    from ._change import Changed
    from ._entries import FetchedEntry
    from ._places import Installation, Target
    from ._store import OpenStore, StoredTree
    from .sources import FetchedSkill, Source

_PLACE_CODES = ("name-not-folder", "skill-copy", "name-shadowed")
"""Findings about the folder of a skill: it is not in its own folder yet."""


class PlannedSkill(Frozen):
    """A skill that would be installed, and what a user should know about it."""

    item: Item
    tree: Tree
    previous: LockedSkill | None
    """What is installed under its name now."""
    scripts: tuple[str, ...]
    """Its files and links that may run."""
    allowed_tools: tuple[str, ...]
    tools: Value | None
    """What its front matter declares in `tools`."""
    description: str
    findings: tuple[Finding, ...]
    folders: tuple[str, ...]
    """Where it would be installed, absolute."""
    links: tuple[str, ...]
    """Those of the folders that would be links to the one that agents share."""
    views: Mapping[str, View] = EMPTY
    """How each agent would see it, by the name of the agent."""
    competes: tuple[Competitor, ...] = ()
    """Skills that would claim the same requests, at an agent that sees both."""
    older: tuple[str, ...] = ()
    """Why it may be older than what is installed, or not what its name meant before."""

    @property
    def capabilities(self) -> Capabilities:
        """What it mentions and declares."""
        return locked_capabilities(self.item.entry) or Capabilities()

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents whose models would see it."""
        return tuple(host for host, view in self.views.items() if view.kind is Kind.SEEN)

    @property
    def name(self) -> str:
        """The name under which it would be installed."""
        return self.item.entry.name


class OfferedSkill(Frozen):
    """A skill of a source, to choose."""

    name: str
    description: str
    """As written; empty if it is missing."""
    plugin: str
    """The plugin that it belongs to; empty without one."""


class AddPlan(Frozen):
    """What `prowess add` would do."""

    source: Source
    revision: str | None
    skills: tuple[PlannedSkill, ...]
    findings: tuple[Finding, ...]
    """What the source has that cannot be installed."""


def plan_add(
    where: Installation,
    text: str,
    names: Sequence[str] = (),
    *,
    cwd: str,
    home: str,
    hosts: tuple[str, ...] | None = None,
    link: bool = False,
    choose: Callable[[Sequence[OfferedSkill]], Collection[str]] | None = None,
) -> AddPlan:
    """Fetch skills, and return what installing them would do.

    Args:
        where: they would be installed.
        text: the source, as the user typed it.
        names: the skills that are wanted; all of the source if empty.
        cwd: what a relative path starts from, absolute.
        home: the user's home.
        hosts: the agents into whose folders they are installed, as `check_hosts` returns them; by default every agent
            in use gets them, in the shared folder and in its own where it does not search that.
        link: whether links are installed instead of copies.
        choose: returns the names of the skills that are wanted, if none is named and the source has several.

    Raises:
        InstallError: the source cannot be read, a skill is not allowed, or a name is taken.
        SkillNotFoundError: the source has no skill of a name.
    """
    source, target = _source(text, cwd, home), where.target
    only = (*names, *filter(None, (source.skill,)))
    is_choice = choose is not None and not only
    wanted = Wanted(source=source, opened=where.opened, only=only, progress=where.progress, is_choice=is_choice)
    fetched = fetch(wanted)
    found = _choose(fetched.skills, wanted)
    if choose is not None and is_choice and len(found) > 1:
        names = tuple(choose([_offered(skill) for skill in found]))
        found, wanted = [skill for skill in found if skill.name in names], wanted.with_changes(only=names)
    chosen = _without_copies(found, where.opened)
    lock = read_lock(target.lock_file)
    hosts = _hosts_in_use(where) if hosts is None else hosts
    planned, history = [], HistoryCheck(where)
    for number, (skill, stored) in enumerate(chosen):
        wanted.tell(f"checking {number + 1:,} of {len(chosen):,}")
        entry = entry_for(source, skill, fetched, stored, folder=target.lock_folder, hosts=hosts, link=link)
        link_to = link_target(source, skill, stored) if link else None
        item = merged(Item(entry=entry, digest=stored.tree.digest, link=link_to), lock, target.scope)
        described = describe_skill(item, stored, lock, where)
        old = described.previous
        if old is not None and same_source(old, entry) and old.tree_digest != stored.tree.digest:
            files = _old_skill_file(old, where), os.path.join(stored.folder, SKILL_FILE)
            described = described.with_changes(older=history.reasons(old, source, fetched, files))
        planned.append(described)
    check_conflicts(where, lock, [skill.item for skill in planned])
    wanted.tell("asking who sees them")
    skills = _with_competitors(where, _with_views(where, planned))
    return AddPlan(source=source, revision=fetched.revision, skills=skills, findings=fetched.findings)


def install_planned(where: Installation, skills: Sequence[PlannedSkill]) -> Changed:
    """Install the skills of a plan, all of them or none.

    Raises:
        InstallError: that is not possible.
    """
    return make_change(where, items=[skill.item for skill in skills])


def _offered(skill: FetchedSkill) -> OfferedSkill:
    description = load(os.path.join(skill.folder, SKILL_FILE)).description if skill.problem is None else ""
    return OfferedSkill(name=skill.name, description=description or "", plugin=skill.plugin)


def _source(text: str, cwd: str, home: str) -> Source:
    """Return the source that a user typed, with the absolute path of a folder.

    Raises:
        InstallError: it is not a source, or could be a folder as well as a repository.
    """
    try:
        source = parse_source(text)
    except InstallError as error:
        here = os.path.join(cwd, text)
        if (os.path.isdir(here) or is_archive_file(here)) and not text.startswith("./"):
            what = "folder" if os.path.isdir(here) else "file"
            raise InstallError(
                str(error), hint=f"write {quoted(f'./{text}', PATH_LIMIT)} for the {what} here"
            ) from None
        raise
    if source.kind == "folder":
        return source.with_changes(url=os.path.normpath(os.path.join(cwd, expand_home(source.url, home))))
    here = os.path.join(cwd, text)
    if source.kind == "git" and ":" not in text and (os.path.isdir(here) or is_archive_file(here)):
        what = "folder" if os.path.isdir(here) else "file"
        message = f"{quoted(text)} is a {what} here, and may be a repository on GitHub too"
        raise InstallError(message, hint=f"write `./{text}` for the {what}, or `https://github.com/{text}`")
    return source


def _choose(skills: Sequence[FetchedSkill], wanted: Wanted) -> list[FetchedSkill]:
    """Return the wanted skills.

    Raises:
        SkillNotFoundError: the source lacks one.
        InstallError: it has no skills.
    """
    if not skills:
        hint = "a skill is a folder with a SKILL.md; name its folder after a `:`"
        raise InstallError(f"{quoted(wanted.source.text)} contains no skills", hint=hint)
    names = resolve_names(wanted.names, ((skill.name, skill.path) for skill in skills))
    check_wanted(names, {skill.name for skill in skills}, quoted(wanted.source.text))
    return [skill for skill in skills if not names or skill.name in names]


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
        stored = skill.put_into(opened)
        first, known = found.setdefault(skill.name, (skill, stored))
        if known.tree != stored.tree:
            message = f"two different skills are named {quoted(skill.name)}: in {quoted(first.path or '.')} and "
            message += quoted(skill.path or ".")
            raise InstallError(message, hint="name the folder of the one that you want after a `:`")
    return [*found.values()]


def link_target(source: Source, skill: FetchedSkill, stored: StoredTree) -> str:
    """Return what the link of an installed skill leads to: the skill in a folder source, or in the store."""
    is_folder = source.kind == "folder" and not is_archive_file(source.url)
    return os.path.join(source.url, skill.path).rstrip("/") if is_folder else stored.folder


def describe_skill(item: Item, stored: StoredTree, lock: Lock, where: Installation) -> PlannedSkill:
    """Return what a user should know about a skill in the store before it is installed."""
    path, tree, target = os.path.join(stored.folder, SKILL_FILE), stored.tree, where.target
    skill = load(path)
    places, tools = folders_of(item.entry, target.scope), skill.fields.get("tools")
    return PlannedSkill(
        item=item,
        tree=tree,
        previous=lock.skills.get(item.entry.name),
        scripts=find_code(stored.folder),
        allowed_tools=skill.allowed_tools,
        tools=None if tools is None else tools.value,
        description=skill.description or "",
        findings=findings_of(path, item.entry.name),
        folders=tuple(os.path.join(target.root, place, item.entry.folder) for place in places),
        links=tuple(
            os.path.join(target.root, place, item.entry.folder)
            for place in (linked_folders(item.entry, target.scope) if item.link is None else ())
        ),
    )


def findings_of(path: str, name: str) -> tuple[Finding, ...]:
    """Return the findings of a SKILL.md in the store, as if its folder had the name of the skill."""
    folder = os.path.dirname(path)
    return tuple(
        item.with_changes(
            path=os.path.join(name, os.path.relpath(item.path or path, folder)),
            hint=item.hint and item.hint.replace(os.path.basename(folder), name),
        )
        for item in check_file(path)
        if item.code not in _PLACE_CODES
    )


def _hosts_in_use(where: Installation) -> tuple[str, ...]:
    """Return the hosts that the lock names so that every agent in use finds a skill.

    Whether an agent needs a folder of its own is tried with a skill that is not written.
    """
    scope, root = where.target.scope, where.target.root
    sample, name = where.opened.new_folder(), f"sample-{os.urandom(8).hex()}"  # a name that no skill has
    with open(os.path.join(sample, SKILL_FILE), "x", encoding="utf-8") as file:
        file.write(f"---\nname: {name}\ndescription: A sample.\n---\nA sample.\n")
    (views,) = views_after(
        [AddedSkill(folders=(os.path.join(root, SHARED_FOLDER, name),), source=sample)], where.question, where.agents
    )
    own = (skills_folder(host, scope) for host, view in views.items() if view.kind is Kind.ELSEWHERE)
    return hosts_for([SHARED_FOLDER, *filter(None, own)], scope)


def _with_views(where: Installation, skills: Sequence[PlannedSkill]) -> tuple[PlannedSkill, ...]:
    """Return skills with how agents see them after all of them are installed."""
    added = [
        AddedSkill(
            folders=skill.folders,
            links=skill.links,
            source=skill.item.link or where.opened.get(skill.item.digest) or "",
            is_link=skill.item.link is not None,
        )
        for skill in skills
    ]
    views = views_after(added, where.question, where.agents) if added else ()
    return tuple(skill.with_changes(views=of_skill) for skill, of_skill in zip(skills, views, strict=True))


def _with_competitors(where: Installation, skills: Sequence[PlannedSkill]) -> tuple[PlannedSkill, ...]:
    """Return skills with those that they would compete with: of the same source, and of the agents that see them."""
    agents = dict.fromkeys(agent for skill in skills for agent in skill.agents)
    if not agents:
        return tuple(skills)
    replaced = {skill.name for skill in skills}
    catalogs = {agent: catalog_for(where.question, agent) for agent in agents}
    contenders = {real: item for real, item in contenders_of(catalogs).items() if item.claim.name not in replaced}
    for skill in skills:
        path = os.path.join(skill.folders[0], SKILL_FILE)
        claim = Claim(key=path, name=skill.name, description=skill.description.strip())
        contenders[skill.name] = Contender(claim=claim, hosts=frozenset(skill.agents))
    found = find_competitors(contenders, replaced)
    return tuple(skill.with_changes(competes=found.get(skill.name, ())) for skill in skills)


class PlannedUpdate(Frozen):
    """A skill with a newer version, and what differs."""

    new: PlannedSkill
    old: LockedSkill
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    """Paths of files."""
    new_findings: tuple[Finding, ...]
    """Those that the locked version does not have."""
    fixed_findings: tuple[Finding, ...]
    """Those that only the locked version has."""
    permissions: Mapping[str, tuple[str, str]]
    """What may run or be used, before and after, where it changes: `allowed-tools`, `scripts` and so on."""
    capabilities: Difference
    """What it mentions and declares, and did not before, or does not any more."""

    @property
    def name(self) -> str:
        """The name of the skill."""
        return self.old.name


class UpdatePlan(Frozen):
    """What `prowess update` would do."""

    updates: tuple[PlannedUpdate, ...]
    current: tuple[str, ...]
    """Skills that are as their source has them."""
    pinned: tuple[LockedSkill, ...]
    """Skills at a commit, digest or version, which are not moved."""
    gone: tuple[str, ...]
    """Skills that their source does not have any more; they stay as they are."""
    problems: tuple[ProwessError, ...] = ()
    """Why it would be refused: sources that cannot be read, and installed skills that were changed."""


def plan_update(where: Installation, names: Sequence[str] = ()) -> UpdatePlan:
    """Fetch what the sources of installed skills have now, and compare it with the lock.

    Args:
        where: they are installed.
        names: the skills; all if empty.

    Raises:
        SkillNotFoundError: the lock has no skill of a name.
        ConfigError: the lock is invalid.
    """
    lock = read_lock(where.target.lock_file)
    chosen = lock.select(names)
    pinned = tuple(skill for skill in chosen if is_pinned(skill))
    problems: list[ProwessError] = []
    gone: list[LockedSkill] = []
    fetched = fetch_locked([skill for skill in chosen if not is_pinned(skill)], where, problems, gone=gone)
    newer = [one for one in fetched if not _is_current(one)]
    history = HistoryCheck(where)
    updates = [_planned(one, lock, where, history) for one in newer if not _is_renamed(one)]
    problems += find_conflicts(where, lock, [update.new.item for update in updates])
    new = _with_views(where, [update.new for update in updates])
    updates = [update.with_changes(new=skill) for update, skill in zip(updates, new, strict=True)]
    gone += [one.entry for one in newer if _is_renamed(one)]
    changed = {one.entry.name for one in newer}
    return UpdatePlan(
        updates=tuple(updates),
        current=tuple(one.entry.name for one in fetched if one.entry.name not in changed),
        pinned=pinned,
        gone=tuple(skill.name for skill in gone),
        problems=tuple(problems),
    )


def _is_renamed(one: FetchedEntry) -> bool:
    """Return whether the skill has another name now; `skills` of Vercel may have locked it under a title."""
    return one.skill.name != one.entry.name and one.entry.tree_digest is not None


def _is_current(one: FetchedEntry) -> bool:
    """Return whether a skill is as its source has it; a new commit that leaves its files alone does not count."""
    from prowess.lock import computed_hash

    if one.entry.tree_digest is not None:
        return one.entry.tree_digest == one.stored.tree.digest
    return one.entry.computed_hash is not None and one.entry.computed_hash == computed_hash(one.stored.folder)


def _planned(one: FetchedEntry, lock: Lock, where: Installation, history: HistoryCheck) -> PlannedUpdate:
    old, stored, target = one.entry, one.stored, where.target
    is_link = old.is_link
    new = entry_for(
        one.source, one.skill, one.fetched, stored, folder=target.lock_folder, hosts=old.hosts, link=is_link
    )
    # What other tools wrote stays; so does the way in which they wrote the source.
    entry = new.with_changes(
        name=old.name, source=old.source, source_type=old.source_type, source_url=old.source_url, other=old.other
    )
    link = link_target(one.source, one.skill, stored) if is_link else None
    planned = describe_skill(Item(entry=entry, digest=stored.tree.digest, link=link), stored, lock, where)
    before, after = _old_files(old, target), dict(entry.files)
    old_file = _old_skill_file(old, where)
    files = old_file, os.path.join(stored.folder, SKILL_FILE)
    planned = planned.with_changes(older=history.reasons(old, one.source, one.fetched, files))
    old_findings = findings_of(old_file, old.name) if old_file else ()
    had = find_capabilities(load(old_file)) if old_file else locked_capabilities(old)
    known = {(item.code, item.message) for item in old_findings}
    known |= {(code, text) for fact in (had.facts if had else ()) for code, _, text in [fact.partition(": ")]}
    left = {(item.code, item.message) for item in planned.findings}
    return PlannedUpdate(
        new=planned,
        old=old,
        added=tuple(path for path in after if path not in before),
        changed=tuple(path for path in after if path in before and after[path] != before[path]),
        removed=tuple(path for path in before if path not in after),
        new_findings=tuple(item for item in planned.findings if (item.code, item.message) not in known),
        fixed_findings=tuple(item for item in old_findings if (item.code, item.message) not in left),
        permissions=_permissions(old_file, before, planned, where.opened),
        capabilities=difference(had, planned.capabilities) if had is not None else Difference(),
    )


def locked_capabilities(entry: LockedSkill) -> Capabilities | None:
    """Return what the lock says that a version mentions and declares; `None` if it does not say it."""
    return from_value(entry.other_prowess.get(CAPABILITIES_KEY))


def _old_files(old: LockedSkill, target: Target) -> dict[str, str]:
    """Return the files of the locked version, or those that are installed if the lock does not list them."""
    if old.files:
        return dict(old.files)
    for place in folders_of(old, target.scope):
        try:
            tree = read_tree(os.path.join(target.root, place, old.folder))
        except InstallError:
            continue
        return {file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files}
    return {}


def _old_skill_file(old: LockedSkill, where: Installation) -> str | None:
    """Return the SKILL.md of the locked version in the store, or the one that is installed."""
    target = where.target
    stored = where.opened.get(old.tree_digest) if old.tree_digest else None
    places = (os.path.join(target.root, place, old.folder) for place in folders_of(old, target.scope))
    files = (os.path.join(folder, SKILL_FILE) for folder in (stored, *places) if folder)
    return next((file for file in files if os.path.isfile(file)), None)


def _permissions(
    old_file: str | None, before: Mapping[str, str], new: PlannedSkill, opened: OpenStore
) -> dict[str, tuple[str, str]]:
    """Return what may run or be used, before and after, where it differs.

    If a skill has code or tools, its other files count too: its instructions say what to run, and code reads files.
    """
    then = _declared(old_file) if old_file else {}
    now = _declared(os.path.join(opened.get(new.item.digest) or "", SKILL_FILE))
    found = {key: (then.get(key, ""), now.get(key, "")) for key in (*now, *then) if then.get(key) != now.get(key)}
    after, code = new.item.entry.files, {*_old_code(old_file, before), *new.scripts}
    differing = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
    kinds = {"scripts": [path for path in differing if path in code]}
    if code or then or now:
        kinds["files"] = [path for path in differing if path not in code]
    for kind, paths in kinds.items():
        if paths:
            found[kind] = (
                ", ".join(path for path in paths if path in before),
                ", ".join(path for path in paths if path in after),
            )
    return found


def _old_code(old_file: str | None, before: Mapping[str, str]) -> Iterable[str]:
    """Return what may run in the locked version; by names and modes if its files are gone or cannot be read."""
    if old_file is not None:
        with suppress(SkillError):
            return find_code(os.path.dirname(old_file))
    return [path for path, value in before.items() if is_code(path, int(value[:6], 8), b"")]


_TEXT_FIELDS = frozenset(("name", "description", "license", "metadata", "version", "argument-hint"))


def _declared(path: str) -> dict[str, str]:
    """Return the fields of a SKILL.md that may say what a skill uses or runs: all but those that are known as text."""
    import json

    fields = {key.lower().replace("_", "-"): field.value for key, field in load(path).fields.items()}
    return {
        key: value if isinstance(value, str) else json.dumps(value, default=_plain, ensure_ascii=False)
        for key, value in fields.items()
        if key not in _TEXT_FIELDS and value not in ("", ())
    }


def _plain(value: object) -> object:
    """Return a mapping that JSON does not know as one that it knows."""
    from collections.abc import Mapping

    return dict(value) if isinstance(value, Mapping) else str(value)
