"""The part of a report about use: which skills were used, week by week."""

from __future__ import annotations

from prowess.report._usage import usage_content
from prowess.visibility import SkillUse, Usage


def row(name: str, last: str | None, *weeks: tuple[str, int]) -> SkillUse:
    return SkillUse(
        name=name,
        host="codex",
        path=f"/skills/{name}/SKILL.md",
        visible=last is not None,
        reason=None if last else "it is off",
        offered=None,
        used_by_model=sum(count for _, count in weeks),
        last_used=last,
        weeks=weeks,
    )


def test_rows_are_there_in_three_orders_with_a_bar_for_each_week() -> None:
    rows = (
        row("b", "2026-11-20T10:00:00Z", ("2026-11-09", 3), ("2026-11-16", 1)),
        row("c", "2026-11-21T10:00:00Z", ("2026-11-16", 2)),
        row("a", None),
    )
    use = usage_content(
        Usage(since="2026-11-01T00:00:00Z", sessions={"codex": 4}, tokens={"codex": None}, skills=rows, unreadable=())
    )
    assert use is not None
    assert (use.since, use.sessions, use.weeks, use.most) == ("2026-11-01", 4, ("2026-11-09", "2026-11-16"), 3)
    orders = {title: "".join(each.name for each in found) for title, found in use.orders}
    assert orders == {"most used": "bca", "last used": "cba", "name": "abc"}
    found = {each.name: (each.bars, each.last, each.reason) for each in use.orders[0][1]}
    assert found == {"a": ((0, 0), "-", "it is off"), "b": ((3, 1), "2026-11-20", ""), "c": ((0, 2), "2026-11-21", "")}


def test_without_use_there_is_no_such_part() -> None:
    assert usage_content(None) is None
