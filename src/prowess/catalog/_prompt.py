"""Catalog -> text under a budget

What is shown is planned before it is written: every skill has a level of detail, levels are raised in a stated order
as far as the budget reaches, and what was shortened or left out is in the result. Foreign text is escaped so that the
block parses back to exactly the skills that went in. No skills, no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, without_hidden
from prowess.errors import ConfigError
from prowess.hosts import RootAliases, clean_description, fill_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._catalog import Catalog
    from ._entry import Entry

__all__ = ["FORMATS", "LEVELS", "Prompt", "estimate_tokens", "render"]

FORMATS = ("xml", "markdown", "json")
LEVELS = ("off", "name-only", "short", "full", "pin")
"""How much of a skill may be shown at most, least first; `pin` is `full`, whatever the budget."""

_OFF, _NAME, _SHORT, _FULL = range(4)
_SHORT_LENGTH = 120
"""Characters of a shortened description."""


class Prompt(Frozen):
    """The block a model gets, and what is in it."""

    text: str
    """Empty where there are no skills to show."""
    shown: tuple[str, ...]
    """Names of the skills in the text, in its order, however short."""
    shortened: tuple[str, ...]
    """Those of them whose description was cut or left out."""
    omitted: tuple[str, ...]
    """Active skills that are not in the text."""
    chars: int
    """Unicode characters of the text."""
    tokens: int
    """An estimate, see `tokens`."""

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, object]:
        """Return the prompt in the shape of `prompt --json`."""
        return {
            "text": self.text,
            "shown": list(self.shown),
            "shortened": list(self.shortened),
            "omitted": list(self.omitted),
            "chars": self.chars,
            "tokens": self.tokens,
        }


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for four bytes of UTF-8, rounded up. No model's tokenizer is asked."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def render(
    catalog: Catalog,
    *,
    format: str | None = None,  # noqa: A002 - the option's own name
    budget: int | None = None,
    unit: str = "chars",
    levels: Mapping[str, str] | None = None,
) -> Prompt:
    """Write the active skills of a catalog for a model.

    Args:
        catalog: of one host.
        format: `xml` (the agentskills.io shape), `markdown` or `json`; by default the host's own text, which for
            `prowess` is `xml`.
        budget: the most the text may take; None is no limit.
        unit: what the budget counts: `chars` (Unicode characters) or `tokens` (estimated, see `tokens`).
        levels: skill name to the most that may be shown of it, one of `LEVELS`.

    Raises:
        ConfigError: an unknown format, unit or level, or pinned skills that alone exceed the budget.
    """
    levels = levels or {}
    for name, level in levels.items():
        if level not in LEVELS:
            raise ConfigError(
                f"`{level}` is not a level of detail for `{name}`", hint="use one of " + ", ".join(LEVELS)
            )
    if unit not in ("chars", "tokens"):
        raise ConfigError(f"`{unit}` is not a unit", hint="use chars or tokens")
    if budget is not None and budget < 0:
        raise ConfigError("a budget cannot be negative")
    if format is not None and format not in FORMATS:
        raise ConfigError(f"`{format}` is not a format", hint="use one of " + ", ".join(FORMATS))
    entries = catalog.active
    unknown = [name for name in levels if all(entry.name != name for entry in entries)]
    if unknown:
        raise ConfigError(f"no active skill is called `{neutral(unknown[0])}`", hint="`prowess list` shows all skills")
    if format is None and catalog.host.template.entry:
        write: Writer = _host_writer(catalog)
    else:
        write = _WRITERS[format or "xml"]
    ceilings = [_highest_level(levels.get(entry.name, "full")) for entry in entries]
    pinned = [levels.get(entry.name) == "pin" for entry in entries]
    plan = _plan_levels(entries, ceilings, pinned, write, budget, estimate_tokens if unit == "tokens" else len)
    text = write(entries, plan)
    prompt = Prompt(
        text=text,
        shown=tuple(entry.name for entry, level in zip(entries, plan, strict=True) if level),
        shortened=tuple(
            entry.name
            for entry, level in zip(entries, plan, strict=True)
            if level and (_is_shortened(entry, level) or (catalog.host.budget.limit and entry.rule == "budget"))
        ),
        omitted=tuple(entry.name for entry, level in zip(entries, plan, strict=True) if not level),
        chars=len(text),
        tokens=estimate_tokens(text),
    )
    # What was kept for the plan may be large, and has no use after it.
    _visible_description.cache_clear()
    clean_description.cache_clear()
    return prompt


Writer = Callable[[Sequence["Entry"], Sequence[int]], str]


def _highest_level(level: str) -> int:
    return min(LEVELS.index(level), _FULL)


def _plan_levels(
    entries: Sequence[Entry],
    ceilings: Sequence[int],
    pinned: Sequence[bool],
    write: Writer,
    budget: int | None,
    measure: Callable[[str], int],
) -> list[int]:
    """Choose a level for every skill.

    The steps that raise levels stand in one fixed order: pinned skills in full; then every skill by name, in the
    catalog's order; then every skill in short; then in full. The plan is the longest run of steps that fits, so more
    budget never shows less. No step makes the text shorter, so that run can be searched for by halves: a short text
    takes less than what it stands for in any unit, and of the last line only the digits of its counts change, which
    is less than the step adds. Where that line falls away the text is the whole text, which was tried first.
    """
    if budget is None or measure(write(entries, ceilings)) <= budget:
        return list(ceilings)
    floor = [ceiling if pin else _OFF for ceiling, pin in zip(ceilings, pinned, strict=True)]
    if any(pinned) and (needed := measure(write(entries, floor))) > budget:
        raise ConfigError(
            f"the pinned skills alone take {needed:,}, more than the budget of {budget:,}",
            hint="pin fewer skills, or raise the budget",
        )
    steps = [
        (index, level)
        for level in (_NAME, _SHORT, _FULL)
        for index, ceiling in enumerate(ceilings)
        if level <= ceiling and not pinned[index]
    ]

    def plan(count: int) -> list[int]:
        levels = list(floor)
        for index, level in steps[:count]:
            levels[index] = level
        return levels

    low, high = 0, len(steps)
    while low < high:
        middle = (low + high + 1) // 2
        if measure(write(entries, plan(middle))) <= budget:
            low = middle
        else:
            high = middle - 1
    return plan(low)


def _shorten(description: str, level: int) -> str:
    """Return what a level shows of a description: all, its first sentence or 120 characters, or nothing."""
    if level >= _FULL:
        return description
    if level < _SHORT:
        return ""
    words = " ".join(description.split())
    if len(words) <= _SHORT_LENGTH:
        return words
    sentence = re.match(r".{20,119}?[.!?](?= )", words)
    if sentence:
        return sentence[0]
    # Three less, as the ellipsis takes three bytes: what is cut must be shorter in bytes too.
    return words[: _SHORT_LENGTH - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


@lru_cache(maxsize=16384)
def _visible_description(description: str, level: int) -> str:
    """Return what a level shows of a description without what does not show; planning asks for it many times."""
    return _shorten(without_hidden(description), level)


def _is_shortened(entry: Entry, level: int) -> bool:
    """Say whether a level shows less than all of a skill's description."""
    return level < _FULL and _visible_description(entry.description, level) != _visible_description(
        entry.description, _FULL
    )


def _omission_note(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    """Say, for the model, that there is more than it is shown."""
    omitted = sum(level == _OFF for level in plan)
    shortened = sum(level > _OFF and _is_shortened(entry, level) for entry, level in zip(entries, plan, strict=True))
    if not omitted and not shortened:
        return ""
    counts = f"Skills shortened: {shortened}; left out: {omitted}"
    return f"{counts}; find them with search_skills, or list the folders above"


def _write_xml(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            name, path, text = entry.name, entry.path, entry.description
            # Most texts are shown as they are, and to see that of all at once is quicker than to clean each.
            if not _match_plain_ascii(f"{name}\n{path}\n{text}") or level < _FULL or "  " in text:
                name, path = _xml_text(without_hidden(name)), _xml_text(neutral(path))
                text = _xml_text(_visible_description(text, level))
            shown = f"    <description>{text}</description>\n" if text else ""
            skills.append(f"  <skill>\n    <name>{name}</name>\n{shown}    <location>{path}</location>\n  </skill>\n")
    if not skills:
        return ""
    rest = _omission_note(entries, plan)
    last = f"<!-- {rest} -->\n" if rest else ""
    return f"<available_skills>\n{''.join(skills)}</available_skills>\n{last}"


_match_plain_ascii = re.compile(
    r"[!#-%'-;=?-~]+\n[!#-%'-;=?-~]+\n(?:[!#-%'-;=?-~][ !#-%'-;=?-~]*[!#-%'-;=?-~])?"
).fullmatch
"""Name, path and description of printable ASCII, without what XML reserves, and without blanks around them."""


def _xml_text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


_MARKDOWN_SPECIALS = re.compile(r"([\\`*_\[\]<>#|~&])")


def _markdown_text(text: str) -> str:
    return _MARKDOWN_SPECIALS.sub(r"\\\1", text)


def _write_markdown(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    lines = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            text = _markdown_text(_visible_description(entry.description, level))
            name = _markdown_text(without_hidden(entry.name))
            lines.append(f"- **{name}**: {text}" if text else f"- **{name}**")
            lines.append(f"  - location: {_markdown_text(neutral(entry.path))}")
    if not lines:
        return ""
    rest = _omission_note(entries, plan)
    return "\n".join(["## Available skills", "", *lines, *(["", rest] if rest else []), ""])


def _write_json(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    import json

    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            text = _visible_description(entry.description, level)
            skill = {"name": without_hidden(entry.name), "description": text, "location": neutral(entry.path)}
            skills.append({key: value for key, value in skill.items() if value or key == "name"})
    if not skills:
        return ""
    rest = _omission_note(entries, plan)
    note = {"note": rest} if rest else {}
    return json.dumps({"available_skills": skills, **note}, ensure_ascii=False) + "\n"


_WRITERS: Mapping[str, Writer] = {"xml": _write_xml, "markdown": _write_markdown, "json": _write_json}


_RESERVED_TAGS = ("available_skills", "skill", "skills", "system-reminder")
"""What the blocks are wrapped in that clients show their models."""

# Its lines have no blanks around them. A run is tried from its beginning only, or a text of line ends takes for ever.
_NEWLINES_BEFORE_MARKUP = re.compile(r"(?<!\n)\n+(?=[-*+#<])")


def _host_writer(catalog: Catalog) -> Writer:
    """Write as the host's own template does. The host's budget is in the descriptions already."""
    template = catalog.host.template
    tags = {*_RESERVED_TAGS, *re.findall(r"</?([a-z_-]+)", template.header + template.entry + template.footer)}
    forged = re.compile(rf"<(?=\s*(?:/\s*)?(?:{'|'.join(sorted(tags))})\b)", re.IGNORECASE)

    def harmless(text: str) -> str:
        """Keep foreign text from looking like an entry, also where the client itself lets it."""
        if template.escape:
            return text
        return _NEWLINES_BEFORE_MARKUP.sub(lambda run: " " * len(run[0]), forged.sub("&lt;", text))

    def write(entries: Sequence[Entry], plan: Sequence[int]) -> str:
        chosen = [(entry, level) for entry, level in zip(entries, plan, strict=True) if level]
        if not chosen:
            return ""
        roots = RootAliases(entry.root for entry, _ in chosen)
        lines, named = [], []
        for entry, level in chosen:
            values = entry.template_values(catalog.host, roots)
            values["name"] = harmless(values["name"])
            values["description"] = harmless(_shorten(values["description"], level))
            if not entry.description and template.rest and entry.rule in ("budget", "name-only"):
                named.append(values["name"])
            else:
                pattern = template.entry if values["description"] else template.name_only or template.entry
                lines.append(fill_template(pattern, values, template.escape))
        if named:
            lines.append(fill_template(template.rest, {"names": ", ".join(named)}, template.escape))
        rest = _omission_note(entries, plan)
        header = template.header.replace("{roots}", roots.table())
        return header + "".join(lines) + template.footer + (f"{rest}\n" if rest else "")

    return write
