"""Find the skill that an argument names, in the catalog or anywhere by its path, and say where others are."""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import SKILL_FILE, display_path, expand_home, real_path
from prowess._internal.text import PATH_LIMIT, neutral, normalize_name, quoted
from prowess.cli._output import Message, format_finding, pluralize, wrap_for_terminal
from prowess.errors import AmbiguousSkillError, SkillNotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem, Question
    from prowess.findings import Finding
    from prowess.visibility import Competitor


def find_skill(catalog: Catalog, reference: str) -> Entry:
    """Return the skill that a reference names, in the catalog or by its path.

    Raises:
        SkillNotFoundError: no such skill.
        AmbiguousSkillError: several skills match, and no rule chooses.
    """
    try:
        return catalog.resolve(reference)
    except AmbiguousSkillError:
        raise
    except SkillNotFoundError as error:
        entry = _entry_at(catalog, reference)
        if entry is None:
            raise error_with_place(catalog, reference, error) from None
        return entry


def error_with_place(catalog: Catalog, reference: str, error: SkillNotFoundError) -> SkillNotFoundError:
    """Return the error for a skill that the agent does not find, with the path at which it is, or how to install it."""
    from prowess.catalog import discover
    from prowess.filesystem import Filesystem, Question, git_root
    from prowess.find import find_repository_skills
    from prowess.hosts import detected_hosts
    from prowess.visibility import is_about, lock_findings

    wanted = normalize_name(reference)
    cwd, home = catalog.cwd, catalog.home
    for item in lock_findings(Question.about(cwd, home), Filesystem()):
        if is_about(item, reference):
            return SkillNotFoundError(item.message, hint=f"{item.hint} installs it")
    found = [
        skill.path
        for host in detected_hosts(cwd, home, [git_root(cwd) or cwd])
        for skill in discover(cwd, host=host, home=home).skills
        if wanted in (normalize_name(skill.name), normalize_name(skill.folder))
    ]
    if not found and git_root(cwd):
        files = [skill.path for skill in find_repository_skills(cwd).skills if not skill.inside]
        found = [path for path in files if normalize_name(os.path.basename(os.path.dirname(path))) == wanted]
    if not found:
        return error
    path = display_path(os.path.dirname(found[0]), cwd, home)
    path = path if path.startswith(("/", "~", ".")) else os.path.join(os.curdir, path)
    return SkillNotFoundError(str(error), hint=f"a skill of that name is at {quoted(path, PATH_LIMIT)}; give that path")


def offered_hint(catalog: Catalog, filesystem: Filesystem | None = None) -> list[Message]:
    """Return the hint of `unsearched_hint` if no skill is one of the project.

    Args:
        catalog: of an agent; the user may have skills in the home.
        filesystem: what the output depends on. It is marked incomplete before the repository is searched.
    """
    if any(entry.scope == "project" for entry in catalog.skills):
        return []
    if filesystem is not None:
        filesystem.mark_incomplete()
    return unsearched_hint(catalog)


def unsearched_hint(catalog: Catalog) -> list[Message]:
    """Return the hint that says how to reach the skills of a repository that the agent does not search, if any.

    Most are those of a repository that offers skills to others and has installed none.
    """
    from prowess.filesystem import git_root
    from prowess.find import find_repository_skills

    # Outside a repository the working directory may have any number of folders.
    if not catalog.scan_roots or not git_root(catalog.cwd) or any(root.scope == "extra" for root in catalog.scan_roots):
        return []
    known = {entry.real for entry in catalog.skills}
    skills = find_repository_skills(catalog.cwd).skills
    found = [skill for skill in skills if skill.real not in known and not skill.is_misnamed]
    if not found:
        return []
    folder = os.path.relpath(os.path.commonpath([skill.place for skill in found]), real_path(catalog.cwd))
    folder = shlex.quote(folder) if neutral(folder) == folder and not folder.startswith("-") else os.curdir
    option = f"{'' if catalog.host.searches_named_folders else '--host prowess '}--skill-dir {folder}"
    them, a_folder = ("it", "a folder that is") if len(found) == 1 else ("them", "folders that are")
    text = (
        f"\nhint: this repository has {pluralize(len(found), f'{SKILL_FILE} file')} in {a_folder} not searched here; "
        f"`prowess inventory` lists {them}, `{option}` lets this command find {them}, and `prowess check` "
        f"says how to show {them} to an agent"
    )
    return [Message(text)]


def outdated_notes(catalog: Catalog, question: Question, filesystem: Filesystem) -> Iterator[Message]:
    """Yield which mounted copies an agent has that are older than their sources, and what to do.

    Args:
        catalog: of the agent.
        question: what it answers.
        filesystem: what was read so far.
    """
    from prowess.cli._losses import describe_outdated
    from prowess.visibility import compare_mounted

    comparison = compare_mounted(catalog, question, filesystem)
    if comparison is not None:
        yield from map(Message, describe_outdated(comparison))


def lock_findings_about(name: str, question: Question, filesystem: Filesystem) -> list[Finding]:
    """Return that a skill of the lock is not installed, and each lock that is invalid: it may name the skill."""
    from prowess.visibility import LOCK_INVALID, is_about, lock_findings

    return [item for item in lock_findings(question, filesystem) if item.code == LOCK_INVALID or is_about(item, name)]


def with_skill_at(catalog: Catalog, reference: str) -> Catalog:
    """Return the catalog, with one more skill if a reference is the path of one that it does not have."""
    try:
        catalog.resolve(reference)
    except AmbiguousSkillError:
        return catalog
    except SkillNotFoundError:
        entry = _entry_at(catalog, reference)
        return catalog if entry is None else catalog.with_changes(skills=(*catalog.skills, entry))
    return catalog


def explain(catalog: Catalog, reference: str) -> tuple[Entry, ...]:
    """Return the skills that a reference matches, the winner first, also one that is only a path.

    Raises:
        SkillNotFoundError: no such skill.
    """
    return catalog.candidates(reference) or with_skill_at(catalog, reference).explain(reference)


def skill_file_at(path: str) -> str | None:
    """Return the file of the skill at a path, or `None` if there is no skill."""
    try:
        path = os.path.join(path, SKILL_FILE) if os.path.isdir(path) else path
        return path if path.lower().endswith(".md") and os.path.isfile(path) else None
    except ValueError:
        return None


def _entry_at(catalog: Catalog, reference: str) -> Entry | None:
    """Return a skill by its path, seen by the host of the catalog, or `None`."""
    from prowess.checks import evaluate_path

    path = skill_file_at(os.path.abspath(os.path.join(catalog.cwd, expand_home(reference, catalog.home))))
    if path is None:
        return None
    return evaluate_path(path, catalog.host.name).with_changes(scope="extra", real=real_path(path))


def reference_to(catalog: Catalog, name: str, folder: str, cwd: str) -> str:
    """Return what a user types to name the skill in a folder: its name, or else its path.

    Args:
        catalog: what commands look for names in.
        name: the skill's own name.
        folder: the skill's folder, absolute.
        cwd: the working directory, which paths start from.
    """
    relative = os.path.relpath(folder, cwd)
    is_below = relative != os.curdir and not relative.startswith(os.pardir)
    path = os.path.join(os.curdir, relative) if is_below else relative if relative == os.curdir else folder
    is_path = os.sep in name or name.startswith((".", "~")) or os.path.lexists(os.path.join(cwd, name))
    # What the terminal would show in another way, and what looks like an option, cannot be typed again.
    if not name or is_path or name.startswith("-") or neutral(name) != name or name != name.strip():
        return path
    try:
        found = catalog.resolve(name)
    except SkillNotFoundError:
        return path
    return name if real_path(os.path.dirname(found.path)) == real_path(folder) else path


def chain_json(
    name: str, catalog: Catalog, candidates: Iterable[Entry], competing: Iterable[Competitor] = ()
) -> dict[str, object]:
    """Return the candidates of one agent in the shape of `why --json`."""
    from prowess.hosts import evidence_of

    entries = [{**entry.as_dict(), "rule": entry.rule} for entry in candidates]
    host = catalog.host.name
    return {
        "name": name,
        "host": host,
        "candidates": entries,
        "competes": [item.as_dict() for item in competing],
        "evidence": evidence_of(host).as_dict(),
    }


def competitors_of(candidates: Iterable[Entry], catalogs: Mapping[str, Catalog]) -> tuple[Competitor, ...]:
    """Return the skills that compete with the active ones of some candidates, each once."""
    from prowess.catalog import State
    from prowess.visibility import contenders_of, find_competitors

    asked = {entry.real for entry in candidates if entry.state is State.ACTIVE}
    if not asked:
        return ()
    found = find_competitors(contenders_of(catalogs), asked)
    return tuple({item.path: item for items in found.values() for item in items}.values())


_MAX_COMPETITORS = 5
"""Competing skills that are shown; the others are counted."""


def competitor_lines(competing: Sequence[Competitor]) -> Iterator[str]:
    """Yield the lines that describe competing skills."""
    for item in competing[:_MAX_COMPETITORS]:
        yield from wrap_for_terminal(f"competes for requests with {item.describe()}", "  ")
    if len(competing) > _MAX_COMPETITORS:
        yield f"and with {len(competing) - _MAX_COMPETITORS:,} more"


def candidate_lines(candidates: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines that describe candidates, each after an empty line."""
    for number, entry in enumerate(candidates, 1):
        remote = entry.scope == "remote"
        no_digest = "its server makes it when it is read" if remote else "some of its files cannot be read"
        yield ""
        yield f"{number}. {entry.state}: {neutral(entry.path)}"
        yield f"   name    {neutral(entry.name)}" + (f" ({neutral(entry.alias)})" if entry.alias else "")
        yield f"   root    {neutral(entry.root)} ({entry.scope})"
        yield f"   digest  {entry.digest or f'unknown: {no_digest}'}"
        yield f"   rule    {entry.rule}"
        if entry.reason:
            yield from wrap_for_terminal(f"   why     {neutral(entry.reason)}", " " * 11)
        for item in entry.findings:
            yield from format_finding(item, indent="   ")
