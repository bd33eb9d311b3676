"""Write which agents lose which skills, and the command that fixes each loss."""

from __future__ import annotations

import os
import sys

from prowess._internal.files import display_path
from prowess._internal.text import display_width, neutral
from prowess.cli._output import join_words, paint, pluralize, terminal_width, wrap_command, wrap_for_terminal
from prowess.hosts import load_host
from prowess.visibility import KIND_WORDS, Kind, describe_others, describe_unsearched, group_losses, skill_label

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prowess.visibility import ComparedSkill, Comparison, LossGroup

KIND_STYLES = dict.fromkeys(Kind, "warning") | {
    Kind.SEEN: "good",
    Kind.USER_ONLY: "info",
    Kind.DEFERRED: "info",
    Kind.OFF: "dim",
    Kind.REJECTED: "error",
    Kind.ELSEWHERE: "dim",
}
"""The style of each kind."""
STYLES_OF_WORDS = {KIND_WORDS[kind]: style for kind, style in KIND_STYLES.items()}
"""The same by the words for kinds, for the column of a table."""

MAX_GROUPS = 10
_MAX_NAMES = 6
_MAX_COMMAND_LINES = 12
"""Of a command with more lines, a terminal shows the beginning."""


def describe_losses(comparison: Comparison, *, text: bool = True, limit: int | None = MAX_GROUPS) -> Iterator[str]:
    """Yield the lines that describe the losses, each with what to do.

    Args:
        comparison: of the agents.
        text: whether to describe losses by text too.
        limit: groups to describe; the others are counted. `None` describes all.
    """
    groups, printed = group_losses(comparison, text=text), set[str]()
    for group in groups[:limit]:
        yield from _describe_group(comparison, group, printed, is_whole=limit is None)
    if limit is not None and len(groups) > limit:
        yield f"... and {len(groups) - limit:,} more groups; `prowess check --full` shows them"


def _describe_group(comparison: Comparison, group: LossGroup, printed: set[str], *, is_whole: bool) -> Iterator[str]:
    """Yield the lines about one group; `printed` gets its commands, each of which is printed once."""
    all_of_them = len(group.hosts) > 2 and group.hosts == comparison.hosts
    agents = f"all {len(group.hosts)} agents" if all_of_them else join_words(group.hosts)
    reason = group.reason
    if group.kind == "place":
        subject, these = pluralize(len(group.skills), "skill"), "this folder" if len(group.folders) == 1 else "these"
        verb = "does not search" if len(group.hosts) == 1 else "do not search"
        where = _folders(comparison, group)
        lines = wrap_for_terminal(f"{where}: {subject} invisible to {agents}, which {verb} {these}{_names(group)}")
    elif len(group.skills) == 1:
        path = os.path.dirname(group.skills[0].path)
        shown = neutral(display_path(path, comparison.cwd, comparison.home))
        lines = wrap_for_terminal(f"{shown}: invisible to {agents}: {neutral(reason)}")
    else:
        subject = pluralize(len(group.skills), "skill")
        lines = wrap_for_terminal(f"{subject} invisible to {agents}: {neutral(reason)}{_names(group)}")
    yield from lines
    for cure in group.cures:
        helped = f"# {', '.join(cure.hosts)}" if cure.is_command and cure.hosts != group.hosts else ""
        if cure.text in printed:
            yield "    hint: the same command as above"
        elif cure.is_command:
            printed.add(cure.text)
            *lines, last = wrap_command(f"    {cure.text}")
            beside = f"  {helped}" if helped else ""
            if helped and sys.stdout.isatty() and display_width(last + beside) > terminal_width():
                yield from (paint(line, "dim") for line in wrap_for_terminal(f"    {helped}", "    # "))
                beside = ""
            if len(lines) > _MAX_COMMAND_LINES and not is_whole:
                yield from (paint(line, "command") for line in lines[: _MAX_COMMAND_LINES // 2])
                yield f"        ... ({len(lines):,} lines in all; prowess check --full prints the whole command)"
                continue
            yield from (paint(line, "command") for line in lines)
            yield paint(last, "command") + (paint(beside, "dim") if beside else "")
        else:
            yield from wrap_for_terminal(f"    hint: {cure.text}", "      ")


def describe_outdated(comparison: Comparison) -> Iterator[str]:
    """Yield the lines about the mounted copies whose source has changed since, each with what to do."""
    for skill in comparison.skills:
        if skill.outdated is not None:
            folder = neutral(display_path(os.path.dirname(skill.path), comparison.cwd, comparison.home))
            yield from wrap_for_terminal(f"{folder}: {neutral(skill.outdated.reason)}")
            if skill.outdated.is_command:
                yield from (paint(line, "command") for line in wrap_command(f"    {skill.outdated.cure}"))
            else:
                yield from wrap_for_terminal(f"    hint: {skill.outdated.cure}", "      ")


NO_AGENT_BEFORE = "no agent found on this machine; of those that were observed, "
"""What a sentence begins with that is not about the agents in use."""


def describe_seen(skills: Iterable[ComparedSkill], before: str = "") -> Iterator[str]:
    """Yield which agents see skills that were just written, and which do not; skills that are seen alike share a line.

    Args:
        skills: those that were written.
        before: what each line begins with.
    """
    groups: dict[str, list[ComparedSkill]] = {}
    for skill in skills:
        groups.setdefault(who_sees({host: view.kind for host, view in skill.views.items()}), []).append(skill)
    for sentence, group in groups.items():
        names = [skill_label(skill.name, skill.folder) for skill in group]
        named = ", ".join(names) if len(names) <= _MAX_NAMES else pluralize(len(names), "skill")
        yield f"{before}{named}: {sentence}"


def who_sees(kinds: Mapping[str, Kind]) -> str:
    """Return which agents see a skill and which do not, in the words of every screen, without a full stop.

    Args:
        kinds: what the model of each agent gets of it.
    """
    groups: dict[Kind, list[str]] = {}
    for host, kind in kinds.items():
        groups.setdefault(kind, []).append(host)
    seen = groups.pop(Kind.SEEN, [])
    parts = [f"seen by {join_words(seen)}"] if seen else []
    for kind in sorted(groups, key=[*Kind].index):
        parts.append(f"{'not' if parts else 'not seen'} by {join_words(groups[kind], 'or')}: {KIND_WORDS[kind]}")
    return "; ".join(parts)


def loss_hints(comparison: Comparison) -> Iterator[str]:
    """Yield a hint for each cause of losses, with the command that fixes it."""
    for group in group_losses(comparison)[:MAX_GROUPS]:
        for cure in group.cures:
            reason = group.reason
            if group.kind == "place" and len(cure.hosts) > 1:
                reason = f"{join_words(cure.hosts)} do not search {_folders(comparison, group)}"
            yield f"\nhint: {neutral(reason)}; {f'run `{cure.text}`' if cure.is_command else cure.text}"


def _folders(comparison: Comparison, group: LossGroup) -> str:
    shown = [neutral(display_path(folder, comparison.cwd, comparison.home)) for folder in group.folders]
    return join_words(shown) if len(shown) <= _MAX_NAMES else f"{len(shown):,} folders"


def _names(group: LossGroup) -> str:
    if len(group.skills) > _MAX_NAMES:
        return ""
    return f": {', '.join(skill_label(skill.name, skill.folder) for skill in group.skills)}"


def summarize_rejections(counts: Mapping[str, int], total: int) -> str:
    """Return the line that counts how many skills how many agents reject for their text, wherever they are.

    Args:
        counts: how many skills each agent rejects.
        total: how many skills they are compared by.
    """
    losing = sorted((host for host in counts if counts[host]), key=lambda host: (-counts[host], host))
    if not losing:
        if len(counts) == 1:
            return f"{next(iter(counts))} rejects none of {pluralize(total, 'skill')}"
        return f"none of {pluralize(len(counts), 'agent')} rejects a skill"
    listed = ", ".join(f"{host} {counts[host]:,}" for host in losing)
    verb = "rejects" if len(losing) == 1 else "reject"
    return f"{len(losing)} of {pluralize(len(counts), 'agent')} {verb} skills: {listed} of {total:,}"


def summarize_kinds(comparison: Comparison) -> Iterator[str]:
    """Yield how many skills the models of agents see, and the others by kind."""
    total = len(comparison.distinct)
    skills = pluralize(total, "skill")
    more = len(comparison.skills) - total
    copies = f"{'is a copy, or ships' if more == 1 else 'are copies, or ship'} with an agent"
    if not total:
        yield f"{pluralize(more, 'skill')} {copies}"
        return
    where = f" ({more:,} more {copies})" if more else ""
    where += f"; {describe_unsearched(comparison)}" if comparison.unsearched else ""
    groups: dict[tuple[int, str], list[str]] = {}
    for host, kinds in comparison.kinds.items():
        groups.setdefault((kinds.get(Kind.SEEN, 0), describe_others(kinds)), []).append(host)
    if len(comparison.hosts) == 1:
        ((seen, others),) = groups
        yield f"{comparison.hosts[0]} sees {seen:,} of {skills}{f': {others}' if others else ''}"
        yield from untrusting_note(comparison.kinds)
        return
    seeing = sum(len(hosts) for (seen, _), hosts in groups.items() if seen == total)
    agents = pluralize(len(comparison.hosts), "agent")
    what = "the skill" if total == 1 else f"all of {skills}"
    yield f"{seeing} of {agents} {'sees' if seeing == 1 else 'see'} {what}{where}"
    for (seen, others), hosts in sorted(groups.items()):
        if seen < total:
            yield f"  {join_words(hosts)} {'sees' if len(hosts) == 1 else 'see'} {seen:,}: {others}"
    yield from untrusting_note(comparison.kinds)


def untrusting_note(kinds: Mapping[str, Mapping[Kind, int]]) -> Iterator[str]:
    """Yield the line that says which agents do not trust the folder, if any.

    Args:
        kinds: how many skills of each kind each agent has.
    """
    titles = [load_host(host).title for host, counts in kinds.items() if Kind.UNTRUSTED in counts]
    if titles:
        yield f"(not trusted: trust this folder in {join_words(titles)} first)"


def rejected_counts(comparison: Comparison) -> dict[str, int]:
    """Return how many skills each agent would not load for their text."""

    def is_rejected(skill: ComparedSkill, host: str) -> bool:
        loss = skill.views[host].loss
        return loss is not None and (bool(loss.codes) or loss.kind in ("text", "field"))

    return {host: sum(is_rejected(skill, host) for skill in comparison.distinct) for host in comparison.hosts}
