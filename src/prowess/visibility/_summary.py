"""Say in one sentence, or in one line for each agent, how many skills the models of agents see."""

from __future__ import annotations

from prowess._internal.text import neutral, quoted
from prowess.hosts import load_host

from ._kinds import KIND_WORDS, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._compare import Comparison

    Counts = Mapping[Kind, int]
    """How many skills of each kind an agent has."""


def headline(kinds: Mapping[str, Counts], total: int, *, installed: bool = True) -> str:
    """Return the sentence about the agent that sees the fewest skills, without a full stop.

    Args:
        kinds: of `Comparison.kinds`.
        total: how many skills are counted.
        installed: whether the agents are on this machine; if not, none of them is named.
    """
    seen = {host: counts.get(Kind.SEEN, 0) for host, counts in kinds.items()}
    if not total or not seen:
        return "No agent finds a skill from here"
    skills = "your skill" if total == 1 else f"your {total:,} skills"
    least = min(seen, key=lambda host: seen[host])
    if seen[least] == total:
        agents = "1 agent sees" if len(seen) == 1 else f"{len(seen):,} agents see"
        return f"{agents} {skills if total == 1 else f'all of {skills}'}"
    if len(seen) > 1 and max(seen.values()) == 0:
        return f"No agent sees {skills if total == 1 else f'any of {skills}'}"
    if not installed:
        all_seen = list(seen.values()).count(total)
        agents = f"{all_seen} of {len(seen):,} agents {'sees' if all_seen == 1 else 'see'}"
        return f"{agents} {skills if total == 1 else f'all of {skills}'}"
    title = load_host(least).title
    count = f"{seen[least]:,} of {skills}" if seen[least] else f"none of {skills}"
    return f"{title} does not see {skills}" if total == 1 else f"{title} sees {count}"


def skill_label(name: str, folder: str) -> str:
    """Return the name of a skill as every screen of several agents shows it: with its folder, if that is another one.

    The name is the one in its front matter. What one agent calls it, its own list says.

    Args:
        name: in the front matter, or else the folder.
        folder: the name of its folder.
    """
    shown = neutral(name)
    # A comma in a name separates nothing.
    is_plain = shown and shown == shown.strip() and "," not in shown
    return (shown if is_plain else quoted(name)) + (f" ({neutral(folder)})" if folder != name else "")


def describe_others(counts: Counts) -> str:
    """Return how many skills an agent's model does not see, by kind, the most frequent first."""
    others = sorted((kind for kind in counts if kind is not Kind.SEEN), key=lambda kind: -counts[kind])
    return ", ".join(f"{counts[kind]:,} {KIND_WORDS[kind]}" for kind in others)


def describe_unsearched(comparison: Comparison) -> str:
    """Return how many of the counted skills `prowess list` does not show."""
    count = comparison.unsearched
    return "1 is in a folder that no agent reads" if count == 1 else f"{count:,} are in folders that no agent reads"
