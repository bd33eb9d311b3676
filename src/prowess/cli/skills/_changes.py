"""Show what a change of a repository does to its skills: `prowess check --against`.

The Markdown is the comment of a pull request. Names, messages and paths in it come from the change, so every character
that Markdown, HTML or GitHub could obey is written as an entity.
"""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess._internal.tempdirs import TemporaryDirectory, temporary_directory_root
from prowess._internal.text import neutral
from prowess.capabilities import joined
from prowess.checks import find_changes, report
from prowess.cli._output import Message, Result, as_dicts, finding_lines, pluralize
from prowess.errors import ConfigError, InstallError
from prowess.filesystem import Filesystem, Question, git_root
from prowess.findings import CODES, relative_path
from prowess.hosts import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.checks import Changes, Report, SkillChange
    from prowess.cli._parser import Arguments
    from prowess.findings import Finding

MARK = "<!-- prowess: what this change does to skills -->"
"""The first line of the comment, by which it is found again."""
_MAX_ROWS = 20
"""Skills or findings of one section of the comment."""
_MAX_TEXT = 300
"""Characters of a message in the comment."""
_MARKDOWN = {ord(char): f"&#{ord(char)};" for char in "&<>@`*_[]()!#|~\\\"'"} | {ord("\n"): " "}


def changes_result(
    args: Arguments, agents: Sequence[str], after: Report, findings: Sequence[Finding], failing: Sequence[str]
) -> Result:
    """Return what differs between the repository as it was and a check of it as it is.

    Args:
        args: of the command.
        agents: about which both are asked.
        after: the check.
        findings: those of it that count.
        failing: the severities with which the check fails.

    Raises:
        ConfigError: there is no such commit or folder.
    """
    cwd = real_path(args.cwd or ".")
    top = git_root(cwd) or cwd
    temporary = TemporaryDirectory("prowess-before-", real_path(temporary_directory_root()))
    try:
        old = _folder_before(args.against, top, temporary.path)
        inside = os.path.join(old, relative_path(cwd, top) or "")
        question = Question.about(inside if os.path.isdir(inside) else old, args.home, ())
        before = report(
            question, policy=args.policy, hosts=args.host or (), agents=agents, filesystem=Filesystem(), advise=True
        )
        changes = find_changes(before, after, old=real_path(old), top=top, findings=findings)
    finally:
        temporary.close()
    failed = any(item.severity in failing for item in changes.findings)
    value = {
        "against": args.against,
        "skills": [_as_dict(change) for change in changes.skills],
        "findings": as_dicts(changes.findings),
        "fixed": changes.fixed,
    }
    lines = comment(changes, top) if args.format == "markdown" else _text(changes, cwd, args.against)
    return Result(value, [*lines], 1 if failed else 0)


def _folder_before(against: str, top: str, temporary: str) -> str:
    """Return a folder with the repository as it was: one that the user names, or a commit.

    Raises:
        ConfigError: it is neither.
    """
    folder = os.path.abspath(os.path.expanduser(against))
    if os.path.isdir(folder):
        return folder
    from prowess.install.sources.git import write_skills_of_version

    folder = os.path.join(temporary, "before")
    try:
        write_skills_of_version(top, against, folder)
    except InstallError as error:
        raise ConfigError(f"`--against`: no such folder, and {error}", hint=error.hint) from None
    return folder


def _as_dict(change: SkillChange) -> dict[str, object]:
    return {
        "name": change.name,
        "path": change.path,
        "state": change.state,
        "invisible": [{"hosts": [*each.hosts], "reason": each.reason, "cure": each.cure} for each in change.invisible],
        "adds": [*change.capabilities.adds],
        "drops": [*change.capabilities.drops],
    }


def _text(changes: Changes, cwd: str, against: str) -> Iterator[str]:
    for change in changes.skills:
        for each in change.invisible:
            yield f"{neutral(change.path)}: invisible to {', '.join(each.hosts)}: {neutral(each.reason)}"
            yield f"    {neutral(each.cure)}"
        for line in change.capabilities.lines():
            yield f"{neutral(change.path)}: {line}"
    yield from finding_lines(changes.findings, base=cwd)
    states = [change.state for change in changes.skills]
    counts = ", ".join(f"{states.count(state):,} {state}" for state in ("new", "changed", "removed"))
    new = f"{pluralize(len(changes.findings), 'new finding')}, {changes.fixed:,} fixed"
    yield Message(f"since {neutral(against)}: {pluralize(len(changes.skills), 'skill')}: {counts}; {new}")


# ── the comment ──────────────────────────────────────────────────────────────────────────────────────────────────────


def comment(changes: Changes, top: str) -> Iterator[str]:
    """Yield the lines of the comment of a pull request."""
    yield MARK
    yield "### Skills in this change"
    sections = {
        "No longer visible": [*_invisible_rows(changes)],
        "New findings": [*_finding_rows(changes.findings, top)],
        "Adds": [
            f"{_named(change)}: {_plain(joined(change.capabilities.adds), 2_000)}"
            for change in changes.skills
            if change.capabilities.adds
        ],
        "Removed": [_named(change) for change in changes.skills if change.state == "removed"],
    }
    if not any(sections.values()):
        yield ""
        yield "No skill becomes invisible, nothing new is found, and no skill mentions or declares anything new."
    for title, rows in sections.items():
        if rows:
            yield from ("", f"**{title}**", "", *(f"- {row}" for row in rows[:_MAX_ROWS]))
        if len(rows) > _MAX_ROWS:
            yield f"- and {len(rows) - _MAX_ROWS:,} more: `prowess check --against` lists all"
    if changes.fixed:
        yield ""
        yield f"{pluralize(changes.fixed, 'finding')} of before {'is' if changes.fixed == 1 else 'are'} fixed."


def _invisible_rows(changes: Changes) -> Iterator[str]:
    for change in changes.skills:
        for each in change.invisible:
            agents = ", ".join(load_host(host).title for host in each.hosts)
            yield f"{_named(change)}: {agents}: {_plain(each.reason)}. {_plain(each.cure)}"


def _finding_rows(findings: Iterable[Finding], top: str) -> Iterator[str]:
    for item in findings:
        path = relative_path(item.path, top) or item.path if item.path else ""
        place = ":".join(str(part) for part in (path, item.line) if part)
        rule = f"[{item.code}]({CODES[item.code].url})"
        yield f"{item.severity}: {_plain(place)}: {_plain(item.message)} ({item.group}/{rule})"


def _named(change: SkillChange) -> str:
    return f"**{_plain(change.name, 64)}** ({_plain(change.path)})"


def _plain(text: str, limit: int = _MAX_TEXT) -> str:
    """Return a text that Markdown shows as it is: nothing in it is a link, a mention, an image or HTML."""
    text = neutral(text)
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return text.translate(_MARKDOWN).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
