"""Check one skill, alone or as a catalog has it, and find the skills that a path names.

Every file is read whole, since problems in the body and links to missing files count too.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

from prowess._internal.files import MAX_SKILL_FILE_BYTES, SKILL_FILE, UnreadableError, read_file
from prowess._internal.text import PATH_LIMIT, neutral, quoted, quoted_list
from prowess.catalog import State, evaluate_file, sidecar_matches
from prowess.errors import SkillError, SkillNotFoundError
from prowess.filesystem import MAX_FOLDERS, Filesystem, git_root, walk_folders
from prowess.find import wrong_case_finding
from prowess.findings import ALWAYS_ERRORS, Finding, Severity, apply_policy, finding
from prowess.hosts import TABLES, Flag, load_host
from prowess.skill import (
    FALSE_WORDS,
    Skill,
    check_body,
    check_links,
    check_skill,
    find_body_links,
    fix,
    from_document,
    parse_frontmatter,
    unreadable_skill,
)

from ._files import SkillTexts, check_files
from ._links import check_escaping_links
from ._pairs import compared
from ._routes import check_routes
from ._scripts import check_scripts
from ._text import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.catalog import Entry
    from prowess.findings import Finding
    from prowess.skill import Skill

_SKIPPED_FOLDERS = frozenset((".git", "node_modules"))
_LOCATION_CODES = frozenset(("name-shadowed", "skill-copy"))
"""Codes about the place of a skill, not about its file."""


def is_skill_file(path: str) -> bool:
    """Return whether a path is that of a SKILL.md, not of a single-file skill."""
    return os.path.basename(path).lower() == SKILL_FILE.lower()


def check_file(
    path: str, rule: str = "guide", *, filesystem: Filesystem | None = None, advise: bool = False
) -> tuple[Finding, ...]:
    """Return the findings of one file alone.

    Args:
        path: of the file; a link is not followed.
        rule: `guide`, `spec`, or a host's name.
        filesystem: what was read so far.
        advise: whether to judge how good the skill is, too, for those who write it.
    """
    filesystem = filesystem or Filesystem()
    skill = _load(path, filesystem)
    named = _file_name_findings(path)
    if rule in ("guide", "spec"):
        own = with_fix_hints(check_skill(skill), path, skill.folder)
        return apply_policy((*named, *own, *_whole_file_findings(skill, rule, filesystem, advise=advise)), rule)
    named = tuple(item.with_changes(severity=Severity.ERROR) for item in named)
    entry = evaluate_path(path, rule, filesystem=filesystem)
    return (
        *named,
        *with_fix_hints(_with_whole_file_findings(entry, skill, rule, filesystem, advise=advise), path, skill.folder),
    )


def _load(path: str, filesystem: Filesystem) -> Skill:
    """Return the skill in a file as `load` does. The file system does not keep it."""
    try:
        data = filesystem.data(path, MAX_SKILL_FILE_BYTES, follow=False)
    except UnreadableError as error:
        return unreadable_skill(path, error)
    return from_document(parse_frontmatter(data, path), path)


def evaluate_path(path: str, host: str, *, filesystem: Filesystem | None = None) -> Entry:
    """Return how a host sees one file alone; a flat `NAME.md` as if it were `NAME/SKILL.md`."""
    if os.path.basename(path).lower() == SKILL_FILE.lower():
        return evaluate_file(path, host, filesystem=filesystem)
    as_folder = os.path.join(path[: -len(".md")], SKILL_FILE)
    entry = evaluate_file(as_folder, host, filesystem=_FlatFileFilesystem(path, filesystem))
    findings = tuple(item.with_changes(path=path) if item.path == as_folder else item for item in entry.findings)
    return entry.with_changes(path=path, root=os.path.dirname(path), findings=findings)


class _FlatFileFilesystem(Filesystem):
    """A file system that reads a flat file in place of every SKILL.md."""

    def __init__(self, path: str, recording: Filesystem | None) -> None:
        super().__init__(recording)
        self._path = path

    def skill(
        self,
        path: str,  # noqa: ARG002 - another file is read
        *,
        real: str | None = None,  # noqa: ARG002
        whole: bool = False,
        body: bool = True,  # noqa: ARG002
    ) -> Skill:
        return super().skill(self._path, whole=whole)


def entry_findings(
    entry: Entry, rule: str, filesystem: Filesystem, *, suppressed: bool = False, advise: bool = False
) -> tuple[Finding, ...]:
    """Return the findings of a skill in a catalog, with those of its whole file and of its place.

    Args:
        entry: of the catalog.
        rule: `guide` or `spec` for the host `prowess`, else the host's name.
        filesystem: what was read so far.
        suppressed: whether the host reports nothing in the skill's scope.
        advise: as for `check_file`.
    """
    if suppressed:
        return tuple(item for item in entry.findings if item.code in ALWAYS_ERRORS)
    if entry.skill.document is None:
        return apply_policy(entry.findings, rule) if rule == "spec" else entry.findings
    skill = filesystem.skill(entry.path, real=entry.real, whole=True)
    if rule == "spec":
        location = (item for item in entry.findings if item.code in _LOCATION_CODES)
        own = with_fix_hints(check_skill(skill), entry.path, skill.folder)
        return apply_policy((*own, *_whole_file_findings(skill, rule, filesystem, advise=advise), *location), rule)
    return with_fix_hints(
        _with_whole_file_findings(entry, skill, rule, filesystem, advise=advise), entry.path, skill.folder
    )


def _with_whole_file_findings(
    entry: Entry, skill: Skill, rule: str, filesystem: Filesystem, *, advise: bool
) -> tuple[Finding, ...]:
    """Add the findings of the whole file. The host does not read it, so none of them rejects."""
    if entry.skill.document is None:
        return entry.findings
    known = {item.code for item in entry.skill.findings}
    late = [item for item in skill.findings if item.code not in known]
    return (
        *entry.findings,
        *apply_policy((*late, *_whole_file_findings(skill, rule, filesystem, advise=advise)), rule),
    )


def _whole_file_findings(skill: Skill, rule: str, filesystem: Filesystem, *, advise: bool) -> Iterator[Finding]:
    """Check the body, the files it links to, the files that agents read beside it, and the path itself."""
    if any("\ud800" <= character <= "\udfff" for character in skill.path or ""):
        message = f"the path is not UTF-8: {quoted(skill.path or '', PATH_LIMIT)}"
        yield finding("path-not-utf8", message, path=skill.path, hint="rename the folder")
    hosts = None if rule in ("guide", "spec") else (rule,)
    advice = [*_advice(skill, hosts, filesystem)] if advise else []
    # A long body without files beside it is reported once.
    is_alone = any(item.code == "body-alone" for item in advice)
    yield from (item for item in check_body(skill) if not (is_alone and item.code == "body-too-long"))
    folder = os.path.dirname(skill.path or "")
    links = [*find_body_links(skill)]
    files = (
        [name for name, _ in filesystem.files(skill.path or "")] if links and is_skill_file(skill.path or "") else []
    )
    yield from check_links(skill, lambda path: _file_exists(folder, path, filesystem), links, files)
    yield from check_escaping_links(skill, filesystem, links)
    yield from check_sidecars(skill, filesystem, hosts)
    yield from _check_hidden_code(skill, filesystem)
    yield from _facts(skill, filesystem)
    yield from advice


def _facts(skill: Skill, filesystem: Filesystem) -> tuple[Finding, ...]:
    """Return the facts about a skill, which the rules of all agents share."""
    path = skill.path or ""
    if skill.document is None or not path:
        return ()
    key = "facts", path
    if key not in filesystem.kept:
        from prowess.capabilities import fact_findings

        name = os.path.basename(path)
        listed = filesystem.files(path) if is_skill_file(path) else [(name, len(skill.document.text))]
        filesystem.kept[key] = tuple(fact_findings(skill, listed))
    found: tuple[Finding, ...] = filesystem.kept[key]
    return found


def _advice(skill: Skill, hosts: Iterable[str] | None, filesystem: Filesystem) -> Iterator[Finding]:
    """Judge how good a skill is: its description, its text and its files."""
    path = skill.path or ""
    if is_skill_file(path) or f"{os.sep}commands{os.sep}" not in path:  # users call a command by its name
        yield from check_routes(skill, hosts)
    if not is_skill_file(path):
        return
    key = "advice", path
    if key not in filesystem.kept:
        folder, texts = os.path.dirname(path), SkillTexts(skill, filesystem)
        filesystem.kept["compared", path] = compared(skill)
        filesystem.kept[key] = (
            *check_text(skill, texts.sizes),
            *check_files(skill, texts, lambda inner: _is_there(folder, inner, filesystem)),
            *check_scripts(skill, texts),
        )
    found: tuple[Finding, ...] = filesystem.kept[key]
    yield from found


def _check_hidden_code(skill: Skill, filesystem: Filesystem) -> Iterator[Finding]:
    """Yield a finding about the hidden files that may run, by the rule of `find_code`."""
    path = skill.path or ""
    # Most skills have no hidden file, and then none is read.
    if not is_skill_file(path) or not any(_is_hidden(file) for file, _ in filesystem.files(path)):
        return
    from prowess.skill import find_code

    code: list[str] = []
    with suppress(SkillError):  # it has no digest: nothing of it runs
        code = [file for file in find_code(os.path.dirname(path)) if _is_hidden(file)]
    if code:
        hint = "give it a name without the dot, or remove it"
        yield finding(
            "code-hidden", f"hidden, and may run: {quoted_list(code, limit=PATH_LIMIT)}", path=path, hint=hint
        )


def _is_hidden(path: str) -> bool:
    parts = path.split("/")
    # A file of variables counts as code, since shells read it, but a program needs its usual name.
    if parts[-1] == ".env" or parts[-1].startswith(".env."):
        return False
    return not _SKIPPED_FOLDERS.intersection(parts) and any(part.startswith(".") for part in parts)


def _is_there(folder: str, path: str, filesystem: Filesystem) -> bool:
    """Return whether a file that a body names exists in the skill, or in the project that the skill belongs to."""
    if _file_exists(folder, path, filesystem):
        return True
    project = git_root(folder, filesystem=filesystem)
    return project is not None and _file_exists(project, path, filesystem)


def _file_exists(folder: str, path: str, filesystem: Filesystem) -> bool:
    """Return whether a file of the skill exists. A link in the skill counts as existing and is not followed."""
    kind = ""
    for part in path.split(os.sep):
        folder = os.path.join(folder, part)
        kind = filesystem.link_kind(folder)
        if kind in ("", "l"):
            break
    return kind != ""


def _file_name_findings(path: str) -> tuple[Finding, ...]:
    name = os.path.basename(path)
    if name == SKILL_FILE or name.lower() != SKILL_FILE.lower():
        return ()
    return (wrong_case_finding(path, _names_beside(path)),)


def _names_beside(path: str) -> list[str]:
    try:
        return os.listdir(os.path.dirname(path))
    except OSError:
        return []


def find_skill_files(path: str) -> tuple[list[str], list[Finding]]:
    """Return the skill files that a path names, and the problems in finding others.

    Links below the path are not followed; the path itself may be a link to a folder.

    Raises:
        SkillNotFoundError: the path does not exist.
    """
    try:
        exists = os.path.lexists(path)
    except ValueError:
        exists = False
    if not exists:
        raise SkillNotFoundError(f"no such file or folder: {quoted(path, PATH_LIMIT)}", hint="check the path")
    if os.path.isdir(path):
        files, problems = _find_below(path)
    else:
        files, problems = ([path] if path.lower().endswith(".md") else []), []
    if not files:
        message, hint = "neither a SKILL.md nor a folder", f"name a `{SKILL_FILE}`, or a folder that contains one"
        if path.lower().endswith((".yaml", ".yml")):
            hint += "; a role is checked with `prowess validate`"
        if os.path.isdir(path):
            message = "no SKILL.md in or below this folder"
            hint = f"`prowess new NAME --dir {shlex.quote(neutral(path))}` writes a skill"
        problems.append(finding("file-missing", message, path=path, hint=hint))
    return files, problems


def _find_below(top: str) -> tuple[list[str], list[Finding]]:
    files: list[str] = []
    problems: list[Finding] = []
    for folder, folders, found in walk_folders(top, problems, files=(SKILL_FILE.lower(),), max_folders=MAX_FOLDERS):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        name = SKILL_FILE if SKILL_FILE in found else min(found, default=None)
        if name is not None:
            files.append(os.path.join(folder, name))
    return sorted(files, key=lambda path: path.split(os.sep)), problems


_COMMAND = ", or run `prowess check --fix`"
_FIXABLE = frozenset(
    (
        *("encoding-bom", "newline-cr", "fence-blanks", "fence-blanks-closing", "fence-dashes", "control-character"),
        *("repair-colon", "repair-indicator", "repair-sigil", "repair-tab", "name-missing", "field-unknown"),
    )
)


def with_fix_hints(findings: tuple[Finding, ...], path: str, folder: str) -> tuple[Finding, ...]:
    """Return findings whose hints name `check --fix` if it removes them.

    Args:
        findings: of one file.
        path: of the file.
        folder: the name that the skill's name is compared with.
    """
    if not any(_is_fixable(item) for item in findings):
        return findings
    left: set[str] | None = None
    try:
        data = read_file(path) if not os.path.islink(path) else b""
    except UnreadableError:
        data = b""
    if data:
        fixed = from_document(parse_frontmatter(fix(data, folder=folder).data, path), path)
        left = {item.code for item in check_skill(fixed) if _is_fixable(item)}
    return tuple(_with_command(item, left) if _is_fixable(item) else item for item in findings)


def _is_fixable(item: Finding) -> bool:
    return item.code in _FIXABLE and (item.code != "field-unknown" or "`allowed_tools`" in item.message)


def _with_command(item: Finding, left: set[str] | None) -> Finding:
    hint = (item.hint or "").removesuffix(_COMMAND)
    is_fixed = hint and left is not None and item.code not in left
    return item.with_changes(hint=hint + _COMMAND if is_fixed else hint or None)


_HIDING_FIELD = "disable-model-invocation"


def check_sidecars(skill: Skill, filesystem: Filesystem, hosts: Iterable[str] | None = None) -> Iterator[Finding]:
    """Yield a finding for each agent whose model sees a skill that its author hides.

    Args:
        skill: the skill.
        filesystem: reads the files beside it.
        hosts: the agents; all by default.
    """
    field = skill.fields.get(_HIDING_FIELD)
    # An invalid value counts too: who corrects it must not get the next finding.
    if field is None or skill.path is None or str(field.value).strip().lower() in {"", *FALSE_WORDS}:
        return
    for name in TABLES if hosts is None else hosts:
        host = load_host(name)
        hides_by_field = any(_HIDING_FIELD in flag.when and flag.state == State.USER_ONLY for flag in host.flags)
        sidecars = [flag for flag in host.flags if flag.file and flag.state == State.USER_ONLY]
        if sidecars and not hides_by_field and not any(sidecar_matches(filesystem, skill.path, s) for s in sidecars):
            yield finding(
                "field-ignored",
                f"{host.title} ignores {quoted(_HIDING_FIELD)}, so its model sees this skill",
                path=skill.path,
                line=field.line,
                column=field.column,
                hint=_hint(sidecars[0], filesystem, os.path.dirname(skill.path)),
            )


def _hint(flag: Flag, filesystem: Filesystem, folder: str) -> str:
    """Say what to write into the file: a line to paste, unless one of its keys is there already."""
    ((key, value),) = flag.when.items()
    top, *rest = key.split(".")
    if top in filesystem.yaml(os.path.join(folder, *flag.file.split("/"))):
        return f"set `{key}` to `{value}` in `{flag.file}` beside SKILL.md"
    text = value
    for part in reversed(rest):
        text = f"{{{part}: {text}}}"
    return f"write `{top}: {text}` into `{flag.file}` beside SKILL.md"
