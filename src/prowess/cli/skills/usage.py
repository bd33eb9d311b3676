"""prowess usage: count which skills were used, from what agents recorded of their own sessions."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta

from prowess._internal.files import display_path, folder_name, shorten_home
from prowess._internal.text import did_you_mean, neutral, normalize_name, quoted
from prowess._internal.variable_paths import variable_path
from prowess.catalog import new_filesystem
from prowess.cli._arguments import hosts_in_use, question_from_args, require_paths
from prowess.cli._output import (
    Message,
    ProgressLine,
    Result,
    format_table,
    join_words,
    note,
    paint,
    pluralize,
    truncate_or_pad,
    wrap_command,
    wrap_for_terminal,
)
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.filesystem import git_root
from prowess.find import find_repository_skills
from prowess.hosts import host_names, load_host
from prowess.trajectory import AGENTS, project_of, read_sessions, utc_time
from prowess.visibility import compare, usage_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.filesystem import Question
    from prowess.visibility import SkillUse, Usage

EPILOG = """\
Sessions are those that were started in the git repository of the working directory, or in that directory itself.
Only names, paths, counts and times are read; docs/usage.md says from which files. Nothing is sent, and nothing of
a conversation is kept."""

_DEFAULT_SINCE = "30d"
_MAX_BYTES_NOW = 100_000_000
"""Bytes of new sessions that are read for one line of another command: a second."""
_MAX_ROWS = 20
_MAX_NAMES = 8


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skills", "SKILL", "only these skills, by name or path (default: all)", nargs="*")
    since = (
        "count what was done in this time: days, as in 30d, or since a date, as in 2026-11-01 (default: %(default)s)"
    )
    parser.value("--since", "30d|DATE", since, default=_DEFAULT_SINCE)
    parser.flag("--all-projects", "count the sessions of all projects, not only of this one")
    parser.values(
        "--import", "PATH", "also count this ATIF trajectory, or those in a folder (repeatable)", dest="imports"
    )
    parser.flag("--unused", "list what was never used, why, and how to turn it off")
    parser.add_json()
    parser.discovery(host="many")


def run(args: Arguments) -> Result:
    """Return what was used."""
    require_paths(args, "cwd", "home", "role")
    for path in args.imports:
        if not os.path.exists(path):
            raise ConfigError(f"`--import` does not exist: {neutral(path)}", hint="check the path")
    question = question_from_args(args)
    usage, unknown = collect_usage(args, question, args.since, all_projects=args.all_projects, imports=args.imports)
    if args.skills:
        usage = usage.with_changes(skills=_chosen(usage.skills, args.skills, question))
    show = _unused_lines if args.unused else _lines
    notes = [note(f"not counted: the sessions of `{name}`, whose skills Prowess does not know") for name in unknown]
    return Result(usage.as_dict, show(usage, question, args), notes=[*_notes(usage, question), *notes])


def collect_usage(
    args: Arguments,
    question: Question,
    start: str = _DEFAULT_SINCE,
    *,
    all_projects: bool = False,
    imports: Sequence[str] = (),
) -> tuple[Usage, list[str]]:
    """Return what was used, and the agents with sessions that Prowess does not know.

    Args:
        args: with the options of discovery.
        question: that they ask.
        start: from when on, as the user types it.
        all_projects: whether sessions of other projects count.
        imports: paths of trajectories.

    Raises:
        ConfigError: the start is invalid.
    """
    since = since_time(start)
    hosts = [load_host(name).name for name in dict.fromkeys(args.host or ())]
    progress = ProgressLine()
    recording = read_sessions(
        question,
        agents=[name for name in AGENTS if not hosts or name in hosts],
        since=since,
        imports=imports,
        progress=_show_reading(progress),
    )
    recording = recording.within(since=since, project=None if all_projects else project_of(question.cwd))
    found = {session.agent for session in recording.sessions}
    if not hosts:
        hosts = [name for name in host_names() if name in found] or [n for n in hosts_in_use(args)[0] if n in AGENTS]
    filesystem = new_filesystem()
    # What other agents find from here is in the comparison too: it may be what these do not see.
    all_hosts = dict.fromkeys([*hosts, *hosts_in_use(args)[0]])
    found_files = find_repository_skills(question.cwd, filesystem=filesystem).skills if git_root(question.cwd) else ()
    # What no agent finds is counted only if it is asked for.
    kinds = None if getattr(args, "skills", None) else ("agent-folder",)
    files = [skill.path for skill in found_files if (kinds is None or skill.kind in kinds) and not skill.inside]
    comparison = compare(
        question,
        hosts=all_hosts,
        files=files,
        filesystem=filesystem,
        progress=progress.show_skills,
        cache=not args.no_cache,
    )
    usage = usage_of(recording, comparison, question, hosts=hosts, since=since, filesystem=filesystem)
    progress.clear()
    return usage, sorted(found - {*host_names()})


def last_use(name: str, question: Question, agents: Sequence[str]) -> str:
    """Return a line that says when agents last used a skill, in any project."""
    progress, key = ProgressLine(), normalize_name(name)
    recording = read_sessions(question, agents=agents, max_bytes=_MAX_BYTES_NOW, progress=_show_reading(progress))
    progress.clear()
    if recording.unread:
        return f"`prowess usage` says when it was last used ({pluralize(recording.unread, 'new session')} to read)"
    used = [
        (item.time, session.agent)
        for session in recording.sessions
        for item in session.activations
        if key in (normalize_name(item.name), normalize_name(folder_name(item.path or "")))
    ]
    if not used:
        return f"never used in {pluralize(len(recording.sessions), 'session')} of {join_words(agents)}"
    time, agent = max(used)
    times = "once" if len(used) == 1 else f"{len(used):,} times in all"
    return f"last used {time[:10]} by {agent}, {times}; `prowess usage` has more"


def _show_reading(progress: ProgressLine) -> Callable[[int, int], None]:
    return lambda number, total: progress.show(f"reading sessions: {number:,} of {total:,}")


def since_time(text: str) -> str:
    """Return the time from which on sessions count.

    Raises:
        ConfigError: the text is neither a number of days nor a date.
    """
    if match := re.fullmatch(r"([0-9]{1,5})d", text):
        start = datetime.now(UTC) - timedelta(days=int(match[1]))
        return start.strftime("%Y-%m-%dT%H:%M:%SZ")
    if found := utc_time(text):
        return found
    raise ConfigError(f"`--since` must be days or a date, not {quoted(text)}", hint="as in `30d` or `2026-11-01`")


def _chosen(skills: Sequence[SkillUse], names: Sequence[str], question: Question) -> tuple[SkillUse, ...]:
    """Return the rows that the user asks for.

    Raises:
        SkillNotFoundError: no skill has a name.
    """
    from prowess.cli._references import skill_file_at

    found = []
    for name in names:
        path = skill_file_at(name if name.startswith("/") else f"{question.cwd}/{name}") if "/" in name else None
        key = normalize_name(name)
        rows = [row for row in skills if (row.path == path if path else key in (normalize_name(row.name), *row.names))]
        if not rows:
            near = did_you_mean(name, {row.name for row in skills}, "`prowess list` shows all skills")
            raise SkillNotFoundError(f"no skill is called {quoted(name)}", hint=near)
        found += [row for row in rows if row not in found]
    return tuple(found)


def _notes(usage: Usage, question: Question) -> Iterator[Message]:
    """Yield a line for each file that could not be read."""
    for item in usage.unreadable:
        yield Message(f"not read: {neutral(shorten_home(item.path, question.home))}: {item.reason}")


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Groups:
    """The skills of all agents, each by what was done with it at best."""

    def __init__(self, usage: Usage) -> None:
        used = {row.skill for row in usage.skills if row.used}
        seen = {row.skill for row in usage.skills if row.visible}
        offered = {row.skill for row in usage.skills if row.visible and _was_offered(row, usage)}
        self.used = [row for row in usage.skills if row.used]
        self.gone = [row for row in self.used if row.was is not None]
        others: dict[str, SkillUse] = {}
        for row in usage.skills:
            if row.skill not in used:
                others.setdefault(row.skill, row)
        self.unused = [row for key, row in others.items() if key in offered]
        self.new = [row for key, row in others.items() if key in seen - offered]
        """Those that agents show now, and that were in the catalog of no session."""
        self.unseen = [row for key, row in others.items() if key not in seen]
        self.total = len({row.skill for row in usage.skills})
        self.used_skills = len(used)


def _was_offered(row: SkillUse, usage: Usage) -> bool:
    """Return whether a session may have offered a skill; not each agent records what it offers."""
    return bool(row.offered or (row.offered is None and usage.sessions[row.host]))


def _lines(usage: Usage, question: Question, args: Arguments) -> Iterator[str]:
    groups, where = _Groups(usage), neutral(shorten_home(project_of(question.cwd), question.home))
    sessions = sum(usage.sessions.values())
    place = "all projects" if args.all_projects else where
    agents = join_words([load_host(host).title for host in usage.sessions]) if usage.sessions else "agents"
    period = f"since {usage.since[:10]}"
    if not sessions:
        yield from wrap_for_terminal(f"No sessions of {agents} in {place} {period}.")
    else:
        yield from wrap_for_terminal(_headline(usage, groups, args), "  ")
        yield from wrap_for_terminal(f"{pluralize(sessions, 'session')} of {agents} in {place} {period}", "  ")
        yield ""
        yield from _table(groups.used if not args.skills else usage.skills, question)
        yield from _named("offered and never used", [row.name for row in groups.unused])
        yield from _named("seen, and in no session so far", [row.name for row in groups.new])
        yield from _named("not seen", [row.name for row in groups.unseen])
        for row in groups.gone:
            was = neutral(shorten_home(row.was or "", question.home))
            yield from wrap_for_terminal(f"used but gone: {neutral(row.name)}, which was {was}", "  ")
    yield ""
    yield "Next:"
    commands = _next_commands(usage, groups, args)
    width = max(len(command) for command, _ in commands) + 2
    for command, meaning in commands:
        yield f"  {paint(truncate_or_pad(command, width), 'command')}{meaning}"


def _headline(usage: Usage, groups: _Groups, args: Arguments) -> str:
    """Return how many skills were used, are not seen, and cost something without being used."""
    time = f"in {args.since[:-1]} days" if args.since.endswith("d") else f"since {usage.since[:10]}"
    parts = [f"{groups.used_skills:,} of {pluralize(groups.total, 'skill')} {_were(groups.used_skills)} used {time}"]
    if groups.unseen:
        parts.append(f"{len(groups.unseen):,} {'is' if len(groups.unseen) == 1 else 'are'} not seen")
    if groups.unused:
        unused = {row.skill for row in groups.unused}
        costs: dict[str, int] = {}
        for row in usage.skills:
            if row.skill in unused:
                costs[row.host] = costs.get(row.host, 0) + (row.catalog_tokens or 0)
        cost = f"{'up to ' if len(costs) > 1 else ''}{max(costs.values()):,} tokens a session"
        parts.append(f"{len(unused):,} {_were(len(unused))} offered and never used, and cost {cost}")
    if groups.new:
        parts.append(f"{len(groups.new):,} {'is' if len(groups.new) == 1 else 'are'} in no session so far")
    return "; ".join(parts) + "."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _table(rows: Sequence[SkillUse], question: Question) -> Iterator[str]:
    if not rows:
        return
    names = [(row.host, normalize_name(row.name)) for row in rows]
    cells = [("SKILL", "AGENT", "USED", "LAST USED", "OFFERED", "NOTES")]
    for row, name in zip(rows[:_MAX_ROWS], names, strict=False):
        offered = "?" if row.offered is None else f"{row.offered:,}"
        last = (row.last_used or "never")[:10]
        notes = _describe(row, question if names.count(name) > 1 else None)
        cells.append((row.name, row.host, f"{row.used:,}", last, offered, notes))
    yield from format_table(cells)
    if len(rows) > _MAX_ROWS:
        yield f"... and {len(rows) - _MAX_ROWS:,} more; `prowess usage --json` has all"


def _describe(row: SkillUse, question: Question | None) -> str:
    """Return more of a skill: its copy, files and scripts, and why it is not seen."""
    parts = []
    if question is not None and (path := row.path or row.was):
        parts.append(display_path(path, question.cwd, question.home).removesuffix("/SKILL.md"))
    if row.used_by_user:
        parts.append(f"{row.used_by_user:,} by you")
    if row.files_read:
        parts.append(f"{pluralize(row.files_read, 'file')} read")
    if row.scripts_run:
        failed = f", {row.scripts_failed:,} failed" if row.scripts_failed else ""
        parts.append(f"{pluralize(row.scripts_run, 'script')} run{failed}")
    if row.path is None and row.was is not None:
        parts.append("gone")
    elif not row.visible and row.reason:
        parts.append(f"not seen: {row.reason}")
    return "; ".join(parts)


def _named(what: str, names: Sequence[str]) -> Iterator[str]:
    """Yield a line with some names of a group, and how many more it has."""
    if names:
        shown = sorted(dict.fromkeys(map(neutral, names)), key=normalize_name)[:_MAX_NAMES]
        more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
        yield from wrap_for_terminal(f"{what}: {', '.join(shown)}{more}", "  ")


def _next_commands(usage: Usage, groups: _Groups, args: Arguments) -> list[tuple[str, str]]:
    """Return the three commands to type next."""
    found = []
    if not args.all_projects:
        found.append(("prowess usage --all-projects", "the same for all projects"))
    if any(usage.sessions.values()):
        found.insert(0, ("prowess usage --unused", "what was never used, and how to turn it off"))
    else:
        found.append(("prowess usage --since 365d", "the same for a year"))
    if groups.unseen:
        found.append((f"prowess why {_argument(groups.unseen[0])}", "why one of them is not seen"))
    found += [("prowess list", "each skill at each agent"), ("prowess check", "what each agent loses")]
    return found[:3]


def _argument(row: SkillUse) -> str:
    import shlex

    return shlex.quote(neutral(row.name))


# ── what was never used ──────────────────────────────────────────────────────────────────────────────────────────────


_SWITCHES: dict[str, tuple[str, str | None]] = {
    "claude-code": ("skillOverrides", "off"),
    "copilot": ("disabledSkills", None),
    "gemini-cli": ("skills.disabled", None),
    "opencode": ("permission.skill", "deny"),
    "qwen-code": ("skills.disabled", None),
}
"""The key in the user's settings of each agent that turns skills off, and the value of each name in it."""


def _unused_lines(usage: Usage, question: Question, args: Arguments) -> Iterator[str]:
    """Yield what was never used at each agent, in three groups, and what turns it off."""
    time = f"since {usage.since[:10]}"
    used = {row.skill for row in usage.skills if row.used}
    unused = [row for row in usage.skills if not row.used]
    if not unused:
        yield f"No skill was left unused {time}."
    hosts = dict.fromkeys(row.host for row in unused)
    # What no session could use says nothing, unless the user asks for a skill.
    idle = [] if args.skills else [host for host in hosts if not usage.sessions[host]]
    for number, host in enumerate(host for host in hosts if host not in idle):
        sessions = usage.sessions[host]
        rows = [row for row in unused if row.host == host]
        yield from [""] if number else []
        title = f"{load_host(host).title}: {pluralize(len(rows), 'skill')} never used {time}"
        yield from wrap_for_terminal(f"{title}, in {pluralize(sessions, 'session')}", "  ")
        offered = [row for row in rows if row.visible]
        short = [row for row in offered if row.offered_short]
        for what, group in (
            ("offered with a shortened or missing description", short),
            ("offered and not chosen", [row for row in offered if row not in short and _was_offered(row, usage)]),
            ("seen, and in no session so far", [row for row in offered if not _was_offered(row, usage)]),
        ):
            if group:
                yield f"  {what}:"
                yield from (f"    {line}" for line in format_table([_cost(row) for row in group]))
        if unseen := [row for row in rows if not row.visible]:
            yield "  not seen:"
            for row in unseen:
                also = " (used by another agent)" if row.skill in used else ""
                yield from wrap_for_terminal(f"    {neutral(row.name)}{also}: {neutral(row.reason or '')}", "      ")
                loss = row.view.loss if row.view is not None else None
                if loss is not None and loss.is_command:
                    yield from wrap_command(f"      to change it: {loss.cure}")
                elif loss is not None and loss.cure:
                    yield from wrap_for_terminal(f"      to change it: {neutral(loss.cure)}", "        ")
        if offered:
            yield from _switch(host, offered, question)
    if idle:
        titles = join_words([load_host(host).title for host in idle])
        what = "so which skills it does not need is unknown" if len(idle) == 1 else "so what they need is unknown"
        yield from wrap_for_terminal(f"No session of {titles} {time}, {what}.", "  ")


def _cost(row: SkillUse) -> tuple[str, str, str]:
    in_sessions = "" if not row.offered else f"offered in {pluralize(row.offered, 'session')}"
    return row.name, f"{row.catalog_tokens or 0:,} tokens", in_sessions


def _switch(host: str, rows: Sequence[SkillUse], question: Question) -> Iterator[str]:
    """Yield the lines that turn skills of an agent off, and the file they belong in; nothing is written."""
    names = [*dict.fromkeys(row.name for row in rows)]
    place = load_host(host).settings_files["user"].path if host in AGENTS else ""
    if host == "codex":
        parts = [(place, _toml_switch(names))]
    elif host == "pi":
        parts = pi_switches(rows, question, place)
    elif host in _SWITCHES:
        key, item = _SWITCHES[host]
        value: object = names if item is None else dict.fromkeys(names, item)
        for part in reversed(key.split(".")):
            value = {part: value}
        parts = [(place, _json_lines(value))]
    else:
        return
    for path, lines in parts:
        file = variable_path(path, question.variables, question.home)
        them = "it" if len(names) == 1 else "them"
        yield f"  to turn {them} off, add to {neutral(shorten_home(file, question.home))}:"
        yield from (f"    {neutral(line)}" for line in lines)


def _toml_switch(names: Sequence[str]) -> list[str]:
    return [line for name in names for line in ("[[skills.config]]", f"name = {json.dumps(name)}", "enabled = false")]


def pi_switches(rows: Sequence[SkillUse], question: Question, user: str) -> list[tuple[str, list[str]]]:
    """Return the lines that turn skills of pi off, which names them by path, in the settings of user and project."""
    found: dict[str, list[str]] = {}
    for row in rows:
        folder = (row.path or "").removesuffix("/SKILL.md")
        is_user = folder.startswith((f"{question.home}/.pi/", f"{question.home}/.agents/"))
        found.setdefault(user if is_user else f"{question.cwd}/.pi/settings.json", []).append(f"-{folder}")
    return [(file, _json_lines({"skills": paths})) for file, paths in found.items()]


def _json_lines(value: object) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).splitlines()
