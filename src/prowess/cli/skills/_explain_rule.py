"""Print what a kind of finding means: the page of its code, or the codes of its group."""

from __future__ import annotations

from prowess.checks import similar_descriptions
from prowess.cli._output import Result, paint, wrap_for_terminal
from prowess.findings import CODES, GROUPS, explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.checks import ExampleDescription


def explanation(word: str, skill: str | None = None) -> Result:
    """Return what is printed of a code or a group.

    Args:
        word: a code of `CODES` or a group of `GROUPS`.
        skill: the text of a skill, for examples of the same kind.
    """
    if word in GROUPS:
        codes = [code for code in CODES.values() if code.group == word]
        value: dict[str, object] = {"group": word, "about": GROUPS[word], "codes": [code.code for code in codes]}
        width = max(len(code.code) for code in codes)
        lines = [f"{word}: {GROUPS[word]}", "", *(f"  {code.code:<{width}}  {code.title}" for code in codes)]
        return Result(lambda: value, iter(lines))
    code = CODES[word]
    page = explain(word).page
    value = {
        "code": word,
        "group": code.group,
        "guide": str(code.guide),
        "spec": str(code.spec),
        "title": code.title,
        "page": page,
        "url": code.url,
    }
    examples = similar_descriptions(skill or "") if word.startswith("description-") and code.group == "routes" else ()
    if examples:
        value["examples"] = [{"name": item.name, "description": item.description} for item in examples]
    return Result(lambda: value, (*_page_lines(word, page), *_example_lines(examples)))


def _example_lines(examples: Sequence[ExampleDescription]) -> Iterator[str]:
    if examples:
        yield ""
        yield paint("Descriptions that pass, of the same kind as far as the words say", "command")
    for item in examples:
        yield ""
        yield from wrap_for_terminal(f"    {item.name}: {item.description}", "    ")


def _page_lines(word: str, page: str) -> Iterator[str]:
    """Yield the page; code is indented instead of fenced."""
    code = CODES[word]
    yield f"{paint(f'{code.group}/{word}', 'command')}: {code.title}"
    yield f"guide: {code.guide} · spec: {code.spec}"
    yield ""
    in_code = False
    for line in page.split("\n"):
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            yield f"    {line}".rstrip()
        else:
            yield paint(line.lstrip("# "), "command") if line.startswith("#") else line
    yield ""
    yield code.url
