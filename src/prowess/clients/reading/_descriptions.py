"""Say what most clients do with the description of a skill."""

from __future__ import annotations

from prowess.hosts import measure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.hosts import DescriptionRules, Root
    from prowess.skill import Field, Skill


def when_to_use(value: Field) -> str:
    """Return what a client adds to a description, for a value of `when_to_use`."""
    return ""


def clean_description(text: str) -> str:
    """Return a description without what the client removes or replaces in it, before it is cut."""
    return text


def cut_description(text: str, rules: DescriptionRules) -> str:
    """Return a description as the client shows it, which may cut long ones."""
    return cut_text(text, rules.limit, rules.ellipsis, rules.unit) if rules.past_limit == "cut" else text


def final_description(text: str, line: str, scope: str) -> tuple[str, str]:
    """Return a description as the model gets it, and its first line.

    Args:
        text: cut, if the client cuts it.
        line: the first line.
        scope: of the skill, in the client's own word.
    """
    return text, line


def counted_length(text: str, value: Field | None, skill: Skill, unit: str) -> int:
    """Return the length of a description that counts for the client's limit.

    Args:
        text: the description.
        value: the field; `None` if the description is not from one.
        skill: whose description.
        unit: see `measure_text`.
    """
    return measure_text(text, unit)


def text_from_body(lines: Sequence[str]) -> str:
    """Return the description that a client takes from a body.

    Args:
        lines: those that are not blank, without white space around them.
    """
    return lines[0] if lines else ""


def text_without_body(root: Root, rules: DescriptionRules) -> str:
    """Return the description that a client takes if a body is empty too.

    Args:
        root: of the skill.
        rules: of the client.
    """
    return rules.fallback


def action_for_file(kind: str, action: str) -> str:
    """Return what a client does with the description of a loose Markdown file, an action of `DescriptionRules.on`.

    Args:
        kind: of the value.
        action: what it does with one of a SKILL.md.
    """
    return action


def cut_text(text: str, limit: int, ellipsis: str, unit: str, *, whole: bool = False) -> str:
    """Return a text that is cut to a limit if it is longer.

    Args:
        text: any text.
        limit: its length at most, the ellipsis included; 0 is no limit.
        ellipsis: the end of a text that is cut.
        unit: see `measure_text`.
        whole: whether a character that takes two units of UTF-16 is never cut in half.
    """
    if not limit or measure_text(text, unit) <= limit:
        return text
    available = limit - len(ellipsis)
    kept = available
    if unit == "utf16":
        # A character takes two units at most, so half of the excess can go at once.
        while (over := measure_text(text[:kept], unit) - available) > 0:
            kept -= over + 1 >> 1
        if not whole and kept < len(text) and measure_text(text[:kept], unit) < available:
            # A character of two units is cut in half, and such a half is shown as one character.
            return f"{text[:kept]}\ufffd{ellipsis}"
    return text[:kept] + ellipsis
