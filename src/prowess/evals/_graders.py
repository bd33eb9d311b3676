"""Read the graders of a case, in the words of every form."""

from __future__ import annotations

import re

from prowess._internal.text import did_you_mean, normalize_name, quoted
from prowess.skill import FindingCollector, MappingReader, json_value
from prowess.testing import parse_expected

from ._cases import EVALUATOR, GRADERS, KINDS, Grader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.skill import Node

    from ._cases import EvalCase

MAX_PATTERN = 2_000
"""Characters of a regular expression."""
_CODE_KINDS = ("output-", "file-", "exit-success", "expected", "command")
_LIMITS = {
    "tool-call-count": "tool_calls",
    "turn-count": "turns",
    "token-budget": "tokens",
    "wall-time": "seconds",
    "error-count": "errors",
}
"""The other words for `limit`, each with what it limits."""
_find_name = re.compile(r"[\w.:-]+").findall
_find_group_starts = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?<(?![=!])", re.DOTALL).sub
"""What may look like the start of a group that has a name: an escape, a set of characters, and the start itself."""


def read_graders(reader: MappingReader, names: str) -> Iterator[Grader]:
    """Yield the graders of some lists: a sentence is for a judge, a mapping says its type."""
    for name in names.split():
        node = reader.get(name)
        if node is None:
            continue
        if node.kind == "text":
            node = node.with_changes(kind="list", items=(node,))
        if node.kind != "list":
            reader.report_wrong_type(name, node, "a list", "write a list of sentences or mappings")
            continue
        for index, item in enumerate(node.items):
            if item.kind == "map":
                grader = read_grader(MappingReader(item, reader.report, f"{reader.key_path(name)}[{index}]"))
                yield from () if grader is None else (grader,)
            elif item.kind == "list" or not item.text.strip():
                reader.report.add(f"{quoted(f'{reader.key_path(name)}[{index}]')} is not a sentence", item, "write one")
            else:
                yield Grader(kind="judge", text=item.text, line=item.line, column=item.column)


def read_grader(reader: MappingReader, body: str = "") -> Grader | None:
    """Return one grader; if its type is unknown, report it and return `None`."""
    kind_node = reader.get("type") or reader.get("kind")
    kind = "judge" if kind_node is None else KINDS.get(kind_node.text.lower().replace("_", "-"), "")
    if kind_node is not None and not kind:
        hint = did_you_mean(kind_node.text.replace("_", "-"), KINDS, f"the known ones are {', '.join(sorted(KINDS))}")
        reader.report.add(f"unknown grader {quoted(kind_node.text)}", kind_node, hint)
        return None
    inner = reader.get("config")
    values = MappingReader(inner, reader.report, reader.key_path("config")) if inner and inner.kind == "map" else reader
    config = json_value(values.node)
    text, node = body, kind_node
    for key in ("value", "pattern", "phrase", "substring", "content", "tool", "prompt", "command", "text", "name"):
        found = values.get(key)
        if found is not None and found.kind not in ("map", "list") and not (text and key in ("text", "name")):
            text, node = found.text, found
            break
    path = next((item.text for key in ("path", "file", "glob") if (item := values.get(key))), "")
    target = values.get("target")
    if target is not None and target.kind == "map":
        path = MappingReader(target, reader.report).get_text("path") or path
    if kind == "tool-used" and text == "Skill":
        kind = "skill-used"
    if kind == "limit" and kind_node is not None:
        config = _limits(kind_node.text.lower().replace("_", "-"), config)
    if kind == "output-matches" and path:
        kind = "file-matches"
    if kind in ("file-exists", "file-not-exists"):
        path = path or text
    is_negated = values.get_text("match") == "not_contains" or values.get_text("negate") == "true"
    if is_negated and f"{(parts := kind.partition('-'))[0]}-not-{parts[2]}" in GRADERS:
        kind = f"{parts[0]}-not-{parts[2]}"
    _check_grader(reader.report, kind, text, path, node or reader.node)
    match = values.get("input_match")
    if kind == "tool-used" and match is not None and (problem := _pattern_problem(match.text)):
        reader.report.add(f"invalid pattern {quoted(match.text)}: {problem}", match, "fix the regular expression")
    return Grader(kind=kind, text=text, path=path, config=config, line=reader.node.line, column=reader.node.column)


def _limits(word: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of a grader whose type says what it limits, by the names of `limit`."""
    if word not in _LIMITS:
        return dict(config)
    bounds = {"max": ("max", "limit", "budget", "value"), "min": ("min",)}
    return {f"{bound}_{_LIMITS[word]}": config[key] for bound, keys in bounds.items() for key in keys if key in config}


def _check_grader(report: FindingCollector, kind: str, text: str, path: str, node: Node) -> None:
    """Report a grader that cannot pass or fail: a missing text or file, an invalid pattern."""
    if not text and kind.endswith(("contains", "matches")):
        report.add(f"the grader {quoted(kind)} has nothing to look for", node, "add `value:` or `pattern:`")
    if not path and kind.startswith("file-"):
        report.add(f"the grader {quoted(kind)} names no file", node, "add `path:`")
    if kind.endswith("matches") and (problem := _pattern_problem(text)):
        report.add(f"invalid pattern {quoted(text)}: {problem}", node, "fix the regular expression")


def usable_graders(case: EvalCase, *, steps: bool = False, alone: str = "", judged: bool = False) -> tuple[Grader, ...]:
    """Return the graders of a case that can decide about a run.

    Args:
        case: with its graders.
        steps: whether the steps of a run are known.
        judged: whether there is a judge.
        alone: the name of the skill if only one arm has it: whether it was used is then no result.
    """
    return tuple(
        grader
        for grader in case.graders
        if grader.kind.startswith(_CODE_KINDS)
        or grader.kind == EVALUATOR
        or (judged and (grader.kind == "compare" or (grader.kind == "judge" and grader.text.strip())))
        or (steps and grader.kind in ("tool-used", "tool-order", "limit"))
        or (steps and grader.kind == "skill-used" and not (alone and is_about(grader, alone)))
    )


def is_about(grader: Grader, name: str) -> bool:
    """Return whether a grader asks whether a skill was used."""
    wanted, refused = skills_of(grader, name)
    return normalize_name(name) in {normalize_name(each) for each in (*wanted, *refused)}


def skills_of(grader: Grader, name: str) -> tuple[list[str], list[str]]:
    """Return the skills that must be used, and those that must not; `name` if the grader names none."""
    config = grader.config
    wanted, refused = texts_at(config, "required"), texts_at(config, "disallowed")
    text = config.get("skill") or config.get("input_match") or (grader.text if grader.text != "Skill" else "")
    own = _find_name(str(text)) if text else [] if wanted or refused else [name]
    return (wanted, [*refused, *own]) if str(config.get("max")) == "0" else ([*wanted, *own], refused)


def texts_at(config: Mapping[str, Any], *keys: str) -> list[str]:
    """Return the texts in the first list that one of some keys has."""
    found = next((config[key] for key in keys if isinstance(config.get(key), list | tuple)), ())
    return [item for item in found if isinstance(item, str)]


def read_constraints(reader: MappingReader) -> Iterator[Grader]:
    """Yield what limits a run: tools, turns, tokens."""
    for name, kind in (("expect_tools", "tool-used"), ("reject_tools", "tool-used")):
        node = reader.get(name)
        for item in node.items if node is not None and node.kind == "list" else ():
            config = {"max": 0} if name == "reject_tools" else {"min": 1}
            yield Grader(kind=kind, text=item.text, config=config, line=item.line, column=item.column)
    limits = reader.get("constraints")
    for name in ("max_turns", "max_tokens"):
        node = reader.get(name)
        if node is not None:
            yield Grader(kind="limit", config={name: json_value(node)}, line=node.line, column=node.column)
    if limits is not None and limits.kind == "map":
        yield Grader(kind="limit", config=json_value(limits), line=limits.line, column=limits.column)


def read_expected(reader: MappingReader) -> Iterator[Grader]:
    """Yield the grader of `expected:`, which has the keys of skill tests."""
    node = reader.get("expected")
    if node is None:
        return
    if node.kind != "map":
        reader.report_wrong_type("expected", node, "a mapping", "write the keys of skill tests below it")
        return
    form = MappingReader(node, reader.report, reader.key_path("expected"))
    config = parse_expected(form)
    if config["exit_code"]:
        message = f"{quoted(form.key_path('exit-code'))} can only be 0: a run that ends with another one is not graded"
        reader.report.add(message, form.get("exit-code"), "remove it")
    yield Grader(kind="expected", config=config, line=node.line, column=node.column)


def python_pattern(text: str) -> str:
    """Return a regular expression for Python: those of JavaScript and .NET name groups as `(?<name>`."""
    return _find_group_starts(lambda found: "(?P<" if found[0] == "(?<" else found[0], text)


def _pattern_problem(text: str) -> str:
    """Return what is wrong with a regular expression."""
    if len(text) > MAX_PATTERN:
        return f"it is longer than {MAX_PATTERN:,} characters"
    try:
        re.compile(python_pattern(text))
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return ""
