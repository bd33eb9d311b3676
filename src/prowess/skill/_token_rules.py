"""Report special tokens of language models, such as `<|im_end|>`, in the front matter of a skill."""

from __future__ import annotations

from collections.abc import Mapping

from prowess._internal.special_tokens import find_special_tokens
from prowess._internal.text import quoted, without_hidden
from prowess.findings import Finding, finding

from ._names import name_hint, normalized_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._skill import Skill
    from ._yaml import Field, Value


def check_special_tokens(skill: Skill) -> Iterator[Finding]:
    """Yield a finding for each field with such a token, at the first one of the field.

    The body is not checked: skills about language models show such tokens, and Prowess escapes them when it shows them.
    """
    for key, field in skill.fields.items():
        for text in (key, *_texts(field.value)):
            visible = without_hidden(text)
            span = next(find_special_tokens(visible), None)
            if span is not None:
                line, column = _position(skill, field)
                yield finding(
                    "special-token",
                    f"the field {quoted(key)} contains the special token {quoted(visible[slice(*span)].strip())}",
                    path=skill.path,
                    line=line,
                    column=column,
                    hint=_hint(skill, key),
                )
                break


def _hint(skill: Skill, key: str) -> str:
    """Say what to do; a name without its token is often not a name."""
    if key == "name" and skill.name is not None:
        return name_hint(normalized_name(skill.name.strip()), skill.folder)
    return "remove it: a language model may read it as the end of the text"


def _texts(value: Value) -> Iterator[str]:
    """Yield all texts of a value, keys of maps too."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += [*item.values(), *item.keys()]
        elif isinstance(item, tuple):
            waiting += item


def _position(skill: Skill, field: Field) -> tuple[int, int]:
    """Return the line and column of the first token in a field, or of the field if the file writes it with escapes."""
    document = skill.document
    others = sorted(other.line for other in skill.fields.values() if other.line > field.line)
    if document is not None:
        lines = document.text.split("\n")
        end = others[0] - 1 if others else document.body_line - 1
        for number in range(field.line - 1, min(end, len(lines))):
            for start, _ in find_special_tokens(lines[number]):
                return number + 1, start + 1
    return field.line, field.column
