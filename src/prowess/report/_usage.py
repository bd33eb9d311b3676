"""Say on a report which skills were used, week by week."""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import normalize_name
from prowess.hosts import load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.visibility import Usage


class UseRow(Frozen):
    """What one agent did with one skill."""

    name: str
    agent: str
    used: int
    last: str
    """A date, or a dash."""
    bars: tuple[int, ...]
    """How often it was used in each week of the report."""
    reason: str
    """Why the agent does not show it; empty if it does."""


class UseContent(Frozen):
    """The part of a report about use."""

    since: str
    sessions: int
    weeks: tuple[str, ...]
    """The Monday of each week in which something was used."""
    most: int
    """Uses of a skill in a week, at most."""
    orders: tuple[tuple[str, tuple[UseRow, ...]], ...]
    """The same rows in each order, with its name."""


def usage_content(usage: Usage | None) -> UseContent | None:
    """Return what a report says about use; `None` without it."""
    if usage is None:
        return None
    weeks = tuple(sorted({week for row in usage.skills for week, _ in row.weeks}))
    rows = [
        UseRow(
            name=row.name,
            agent=load_host(row.host).title,
            used=row.used,
            last=(row.last_used or "-")[:10],
            bars=tuple(dict(row.weeks).get(week, 0) for week in weeks),
            reason="" if row.visible else row.reason or "",
        )
        for row in usage.skills
    ]
    by_name = sorted(rows, key=lambda row: (normalize_name(row.name), row.agent))
    return UseContent(
        since=usage.since[:10],
        sessions=sum(usage.sessions.values()),
        weeks=weeks,
        most=max((count for row in rows for count in row.bars), default=1) or 1,
        orders=(
            ("most used", tuple(rows)),
            ("last used", tuple(sorted(by_name, key=lambda row: row.last, reverse=True))),
            ("name", tuple(by_name)),
        ),
    )
