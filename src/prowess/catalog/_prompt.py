"""Write the block that tells a model which skills there are, under a budget.

The block is planned before it is written: every skill has a level of detail, and levels are raised in a fixed order
until the budget is used up. The result lists what was shortened or left out. Names and descriptions are escaped, so
that the block parses back to exactly the skills that went in. Without skills the text is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, may_begin_special_token, neutral, quoted, without_hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._catalog import Catalog
    from ._entry import Entry
    from ._search import Index

__all__ = ["FORMATS", "LEVELS", "Prompt", "estimate_tokens", "render"]

FORMATS = ("xml", "markdown", "json")
LEVELS = ("off", "name-only", "short", "full", "pin")
"""How much of a skill may be shown at most, the least first; `pin` is `full` whatever the budget."""

_OFF, _NAME, _SHORT, _FULL = range(4)
_SHORT_LENGTH = 120
"""Characters of a shortened description."""


class Prompt(Frozen):
    """The block a model gets, and which skills are in it."""

    text: str
    """Empty without skills to show."""
    shown: tuple[str, ...]
    """Names of the skills in the text, in its order, whatever their level."""
    shortened: tuple[str, ...]
    """The shown skills whose description was cut or left out."""
    omitted: tuple[str, ...]
    """Active skills that are not in the text."""
    chars: int
    """Unicode characters of the text."""
    tokens: int
    """An estimate, see `estimate_tokens`."""
    complete: bool = True
    """Whether the budget of `render` changed nothing."""

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, object]:
        """Return the prompt in the shape of `prompt --json`."""
        names = {name: list(getattr(self, name)) for name in ("shown", "shortened", "omitted")}
        return {"text": self.text, **names, "chars": self.chars, "tokens": self.tokens}


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as one for four bytes of UTF-8, rounded up, without a model's tokenizer."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def render(
    catalog: Catalog,
    *,
    format: str | None = None,  # noqa: A002 - the option's own name
    budget: int | None = None,
    unit: str = "chars",
    levels: Mapping[str, str] | None = None,
    query: str | None = None,
    index: Index | None = None,
) -> Prompt:
    """Write the active skills of a catalog for a model.

    Args:
        catalog: of one host.
        format: `xml` (the agentskills.io shape), `markdown` or `json`; by default the host's own text, which for
            `prowess` is `xml`.
        budget: the most the text may take; `None` is no limit.
        unit: what the budget counts: `chars` (Unicode characters) or `tokens` (see `estimate_tokens`).
        levels: skill name to the most that may be shown of it, one of `LEVELS`.
        query: a user's message; if not all skills fit, those that it needs come first.
        index: the index of the catalog, if the caller has one.

    Raises:
        ConfigError: the format, unit or a level is unknown, or the pinned skills alone exceed the budget.
    """
    levels = levels or {}
    entries = catalog.active
    _check_options(entries, format, budget, unit, levels)
    host_rules = catalog.host_rules
    host_block = format is None and "template" in host_rules
    write = _host_writer(catalog) if host_block else _WRITERS[format or "xml"]
    ceilings = [min(LEVELS.index(levels.get(entry.name, "full")), _FULL) for entry in entries]
    pinned = [levels.get(entry.name) == "pin" for entry in entries]
    plan = ceilings
    if budget is not None:
        from ._chosen import plan_prompt

        measure = estimate_tokens if unit == "tokens" else len
        searched = (query, index or catalog, host_block) if query is not None else None
        order, plan = plan_prompt(entries, ceilings, pinned, write, budget, measure, searched)
        entries, ceilings = tuple(entries[row] for row in order), [ceilings[row] for row in order]
    text = write(entries, plan)
    levels_shown = [(entry, level) for entry, level in zip(entries, plan, strict=True) if level]
    prompt = Prompt(
        text=text,
        shown=tuple(entry.name for entry, _ in levels_shown),
        shortened=tuple(
            entry.name
            for entry, level in levels_shown
            if _is_shortened(entry, level) or ("budget" in host_rules and entry.rule == "budget")
        ),
        omitted=tuple(entry.name for entry, level in zip(entries, plan, strict=True) if not level),
        chars=len(text),
        tokens=estimate_tokens(text),
        complete=plan == ceilings,
    )
    _clear_caches(host_block)
    return prompt


def _check_options(
    entries: Sequence[Entry],
    form: str | None,
    budget: int | None,
    unit: str,
    levels: Mapping[str, str],
) -> None:
    """Check the arguments of `render`.

    Raises:
        ConfigError: one of them is invalid.
    """
    from prowess.errors import ConfigError  # only a wrong call needs it, and a small module counts at start-up

    for name, level in levels.items():
        if level not in LEVELS:
            hint = did_you_mean(level, LEVELS, "use one of " + ", ".join(LEVELS))
            raise ConfigError(f"{quoted(level)} is not a level of detail for {quoted(name)}", hint=hint)
    if unit not in ("chars", "tokens"):
        raise ConfigError(f"`{unit}` is not a unit", hint="use chars or tokens")
    if budget is not None and budget < 0:
        raise ConfigError("a budget cannot be negative")
    if form is not None and form not in FORMATS:
        raise ConfigError(f"`{form}` is not a format", hint="use one of " + ", ".join(FORMATS))
    unknown = [name for name in levels if all(entry.name != name for entry in entries)]
    if unknown:
        hint = did_you_mean(unknown[0], (entry.name for entry in entries), "`prowess list` shows all skills")
        raise ConfigError(f"no active skill is called {quoted(unknown[0])}", hint=hint)


def _clear_caches(host_block: bool) -> None:
    """Free what was cached for the plan: it may be large."""
    _visible_description.cache_clear()
    if host_block:
        from prowess.hosts import clean_description

        clean_description.cache_clear()


Writer = Callable[[Sequence["Entry"], Sequence[int]], str]


def _shorten(description: str, level: int) -> str:
    """Shorten a description to a level: all of it, its first sentence or 120 characters, or nothing."""
    if level >= _FULL:
        return description
    if level < _SHORT:
        return ""
    text = " ".join(description.split())
    if len(text) <= _SHORT_LENGTH:
        return text
    sentence = re.match(r".{20,119}?[.!?](?= )", text)
    if sentence:
        return sentence[0]
    # Three fewer, as the ellipsis takes three bytes: the short text must be shorter in bytes too.
    return text[: _SHORT_LENGTH - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


@lru_cache(maxsize=16384)
def _visible_description(description: str, level: int) -> str:
    """Shorten a description and remove its hidden characters. Cached, since planning repeats it."""
    return _shorten(without_hidden(description), level)


def _is_shortened(entry: Entry, level: int) -> bool:
    """Return whether a level shows less than all of a skill's description."""
    return level < _FULL and _visible_description(entry.description, level) != _visible_description(
        entry.description, _FULL
    )


def _omission_note(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    """Return a line that tells the model what was shortened or left out."""
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
            # Most texts need no escaping, and one check of all three is faster than escaping each.
            if not _match_plain_ascii(f"{name}\n{path}\n{text}") or level < _FULL or "  " in text:
                name, path = _xml_text(without_hidden(name)), _xml_text(neutral(path))
                text = _xml_text(_visible_description(text, level))
            shown = f"    <description>{text}</description>\n" if text else ""
            skills.append(f"  <skill>\n    <name>{name}</name>\n{shown}    <location>{path}</location>\n  </skill>\n")
    if not skills:
        return ""
    note = _omission_note(entries, plan)
    last = f"<!-- {note} -->\n" if note else ""
    return f"<available_skills>\n{''.join(skills)}</available_skills>\n{last}"


_match_plain_ascii = re.compile(
    r"[!#-%'-;=?-Z\\-~]+\n[!#-%'-;=?-Z\\-~]+\n(?:[!#-%'-;=?-Z\\-~][ !#-%'-;=?-Z\\-~]*[!#-%'-;=?-Z\\-~])?"
).fullmatch
"""A name, a path and a description in printable ASCII, without characters to escape or blanks around them."""


def _escape_tokens(text: str, escape: Callable[[str], str] | None = None) -> str:
    """Break what is left of the special tokens of language models; the text parses back to the same."""
    if not may_begin_special_token(text):
        return text
    from prowess._internal.special_tokens import escape_special_tokens, html_entity

    return escape_special_tokens(text, escape or html_entity)


def _xml_text(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return _escape_tokens(text)


_MARKDOWN_SPECIALS = re.compile(r"([\\`*_\[\]<>#|~&])")


def _markdown_text(text: str) -> str:
    escaped = _MARKDOWN_SPECIALS.sub(r"\\\1", text)
    return escaped if len(escaped) == len(text) and text.isascii() else _escape_tokens(escaped)


def _json_text(value: object) -> str:
    import json

    # No token begins with the first bracket, which opens a list. Mostly there is no other one.
    start, bracket, rest = json.dumps(value, ensure_ascii=False).partition("[")
    return start + bracket + _escape_tokens(rest, lambda character: f"\\u{ord(character):04x}")


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
    note = _omission_note(entries, plan)
    return "\n".join(["## Available skills", "", *lines, *(["", note] if note else []), ""])


def _write_json(entries: Sequence[Entry], plan: Sequence[int]) -> str:
    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            text = _visible_description(entry.description, level)
            skill = {"name": without_hidden(entry.name), "description": text, "location": neutral(entry.path)}
            skills.append({key: value for key, value in skill.items() if value or key == "name"})
    if not skills:
        return ""
    note = _omission_note(entries, plan)
    notes = {"note": note} if note else {}
    return _json_text({"available_skills": skills, **notes}) + "\n"


_WRITERS: Mapping[str, Writer] = {"xml": _write_xml, "markdown": _write_markdown, "json": _write_json}


_RESERVED_TAGS = ("available_skills", "skill", "skills", "system-reminder")
"""The tags of the blocks that clients show their models."""

# Lines have no blanks around them here. Only the start of a run matches, or a text of newlines takes quadratic time.
_NEWLINES_BEFORE_MARKUP = re.compile(r"(?<!\n)\n+(?=[-*+#<])")


def _when_to_use(entry: Entry) -> str:
    """Return the text that says when to use a skill; of several keys the last one counts."""
    keys = ("when_to_use", "when-to-use", "whenToUse")
    texts = [str(field.value) for key, field in entry.skill.fields.items() if key in keys and field.kind == "text"]
    return texts[-1] if texts else ""


def _host_writer(catalog: Catalog) -> Writer:
    """Return a writer that fills the host's own template. The descriptions already fit the host's budget."""
    from prowess.hosts import RootAliases, fill_template

    template = catalog.host.template
    tags = {*_RESERVED_TAGS, *re.findall(r"</?([a-z_-]+)", template.header + template.entry + template.footer)}
    forged = re.compile(rf"<(?=\s*(?:/\s*)?(?:{'|'.join(sorted(tags))})\b)", re.IGNORECASE)

    def harmless(text: str) -> str:
        """Prevent text of a skill from looking like another entry, even if the client itself does not."""
        if not catalog.host.observed:
            text = " ".join(text.split())  # only a client that was run is known to keep line breaks
        if template.escape:
            return text
        return _NEWLINES_BEFORE_MARKUP.sub(lambda run: " " * len(run[0]), forged.sub("&lt;", text))

    def write(entries: Sequence[Entry], plan: Sequence[int]) -> str:
        shown = [(entry, level) for entry, level in zip(entries, plan, strict=True) if level]
        if not shown:
            return ""
        roots = RootAliases(entry.root for entry, _ in shown)
        lines, named = [], []
        heading = ""
        for entry, level in shown:
            values = entry.template_values(catalog.host, roots)
            values["name"] = harmless(values["name"])
            values["description"] = harmless(_shorten(values["description"], level))
            if template.when_line and level >= _FULL:
                values["when_to_use"] = harmless(without_hidden(_when_to_use(entry)))
            if not entry.description and template.rest and entry.rule in ("budget", "name-only"):
                named.append(values["name"])
            else:
                pattern = template.entry if values["description"] else template.name_only or template.entry
                when_line = template.when_line if values.get("when_to_use") else ""
                line = fill_template(pattern.replace("{when_line}", when_line), values, template.escape)
                own_heading = fill_template(template.scope_heading, values, template.escape)
                lines.append(line if own_heading == heading else own_heading + line)
                heading = own_heading
        if named:
            lines.append(fill_template(template.rest, {"names": ", ".join(named)}, template.escape))
        note = _omission_note(entries, plan)
        header = template.header.replace("{roots}", roots.table())
        return header + template.separator.join(lines) + template.footer + (f"{note}\n" if note else "")

    return write
