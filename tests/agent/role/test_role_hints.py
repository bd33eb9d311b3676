"""A hint about a role is true after it is followed: the finding is gone, and no other one appeared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from prowess.agent.role import load_role
from support.broken_roles import BROKEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prowess.findings import Finding

VALUES = {"name": "a", "prompt": "Help.", "type": "git", "base_url": "https://example.com"}


def replace_word(text: str, item: Finding, new: str) -> str:
    """Write another word in place of the one at a finding."""
    return change_line(text, item, lambda rest: re.sub(r"^(\[?)(['\"]?)[\w/.-]+\2", rf"\g<1>{new}", rest))


def change_line(text: str, item: Finding, change: Callable[[str], str]) -> str:
    """Change the rest of the line at a finding."""
    assert item.line is not None
    assert item.column is not None
    lines = text.split("\n")
    start = lines[item.line - 1][: item.column - 1]
    lines[item.line - 1] = start + change(lines[item.line - 1][item.column - 1 :])
    return "\n".join(lines)


def add_key(text: str, item: Finding, key: str) -> str:
    """Write a key before the first one of the map at a finding."""
    indent = " " * ((item.column or 1) - 1)
    if text.split("\n")[(item.line or 1) - 1][(item.column or 1) - 1] == "{":
        return change_line(text, item, lambda rest: f"{{{key}: {VALUES[key]}, {rest[1:]}")
    return change_line(text, item, lambda rest: f"{key}: {VALUES[key]}\n{indent}{rest}")


def quote(text: str, item: Finding) -> str:
    return change_line(text, item, lambda rest: "'" + rest.replace("'", "''") + "'")


def list_below(text: str, item: Finding, key: str) -> str:
    assert item.line is not None
    lines = text.split("\n")
    line = lines[item.line - 1]
    if "{" in line:
        return change_line(text, item, lambda rest: re.sub(r"^\w+", r"[\g<0>]", rest))
    indent = " " * (len(line) - len(line.lstrip(" -")))
    value = line[(item.column or 1) - 1 :]
    lines[item.line - 1] = f"{line[: (item.column or 1) - 1].rstrip()}\n{indent}- {value}"
    return "\n".join(lines)


def remove_line(text: str, item: Finding) -> str:
    assert item.line is not None
    lines = text.split("\n")
    del lines[item.line - 1]
    return "\n".join(lines)


FOLLOW: dict[str, Callable[[str, Finding, re.Match[str]], str]] = {
    r"did you mean `(.+)`\?": lambda text, item, match: replace_word(text, item, match[1]),
    r"put it in quotes": lambda text, item, _: quote(text, item),
    r"give it a value": lambda text, item, _: give_value(text, item),
    r"add `(name|prompt|type|base_url): \.\.\.`": lambda text, item, match: add_key(text, item, match[1]),
    r"write it without quotes": lambda text, item, _: change_line(text, item, lambda rest: rest.replace("'", "")),
    r"write it as `true` or `false`, without quotes": lambda text, item, _: replace_word(text, item, "true"),
    r"write it below `(\w+):`, after a dash": lambda text, item, match: list_below(text, item, match[1]),
    r"use one of (\w+).*": lambda text, item, match: replace_word(text, item, match[1]),
    r"remove one of them": lambda text, item, _: remove_line(text, item),
}
LEFT = re.compile(
    "write the value itself.*|write `key: value` lines.*|write each item.*|fix the YAML there|add its content.*"
    "|the types are .*|the known keys are .*|add `(spec|metadata): ...`|more than one.*"
)
"""Hints that leave the value to the author: they say the form of it, or which keys exist."""


def give_value(text: str, item: Finding) -> str:
    return change_line(text, item, lambda rest: re.sub(r"^'.*?'", "'Help.'", rest))


@pytest.mark.parametrize("case", BROKEN)
def test_a_hint_about_a_role_is_true(tmp_path: Path, case: str) -> None:
    file = tmp_path / "role.yaml"
    text = BROKEN[case][0]
    file.write_text(text, encoding="utf-8")
    before = load_role(file)[1]
    for item in before:
        hint = item.hint or ""
        follows = [(follow, match) for pattern, follow in FOLLOW.items() if (match := re.fullmatch(pattern, hint))]
        if not follows:
            assert not hint or LEFT.fullmatch(hint), hint
            continue
        ((follow, match),) = follows
        file.write_text(changed := follow(text, item, match), encoding="utf-8")
        after = [(each.code, each.message) for each in load_role(file)[1]]
        assert (item.code, item.message) not in after, changed
        assert len(after) < len(before), (changed, after)
