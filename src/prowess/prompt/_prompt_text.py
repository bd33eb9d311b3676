"""Write some skills for a model: as XML, Markdown or JSON, or in the words of a host."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from prowess._internal.text import may_begin_special_token, neutral, without_hidden
from prowess.clients import of_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Catalog, Entry

OFF, NAME, SHORT, FULL = range(4)
_SHORT_LENGTH = 120
"""Characters of a shortened description."""

Writer = Callable[..., str]
"""Returns the text of some entries, each with its level, and `further=N` entries that are not shown.

`note=TEXT` is said below them. Those of a format take `locations=False` too, for a model that has no use for paths.
"""


def shorten(description: str, level: int) -> str:
    """Shorten a description to a level: all of it, its first sentence or 120 characters, or nothing."""
    if level >= FULL:
        return description
    if level < SHORT:
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
def visible_description(description: str, level: int) -> str:
    """Shorten a description and remove its hidden characters. Cached, since planning repeats it."""
    return shorten(without_hidden(description), level)


def is_shortened(entry: Entry, level: int) -> bool:
    """Return whether a level shows less than all of a skill's description."""
    return level < FULL and visible_description(entry.description, level) != visible_description(
        entry.description, FULL
    )


def _last_note(
    entries: Sequence[Entry], plan: Sequence[int], further: int, note: str, *, locations: bool = True
) -> str:
    """Return a line that tells the model what was shortened or left out, after a note."""
    omitted = further + sum(level == OFF for level in plan)
    shortened = sum(level > OFF and is_shortened(entry, level) for entry, level in zip(entries, plan, strict=True))
    if not omitted and not shortened:
        return note
    counts = f"Skills shortened: {shortened}; left out: {omitted}"
    counts += f"; find them with search_skills{', or list the folders above' if locations else ''}"
    return f"{note}. {counts}" if note else counts


def _write_xml(
    entries: Sequence[Entry], plan: Sequence[int], further: int = 0, note: str = "", *, locations: bool = True
) -> str:
    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            name, path, text = entry.name, entry.path, entry.description
            # Most texts need no escaping, and one check of all three is faster than escaping each.
            if not _match_plain_ascii(f"{name}\n{path}\n{text}") or level < FULL or "  " in text:
                name, path = _xml_text(without_hidden(name)), _xml_text(neutral(path))
                text = _xml_text(visible_description(text, level))
            shown = f"    <description>{text}</description>\n" if text else ""
            shown += f"    <location>{path}</location>\n" if locations else ""
            skills.append(f"  <skill>\n    <name>{name}</name>\n{shown}  </skill>\n")
    return _in_tag(skills, _last_note(entries, plan, further, note, locations=locations), note)


def write_lines(entries: Sequence[Entry], plan: Sequence[int], further: int = 0, note: str = "") -> str:
    """Write a line for each skill: its name and what it does."""
    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            # The first colon before a blank ends the name.
            name = _line_text(without_hidden(entry.name)).replace(": ", "&#58; ")
            text = _line_text(visible_description(entry.description, level))
            skills.append(f"- {name}: {text}\n" if text else f"- {name}\n")
    return _in_tag(skills, _last_note(entries, plan, further, note, locations=False), note)


def _line_text(text: str) -> str:
    return _escape_tokens(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _in_tag(skills: Sequence[str], last: str, note: str) -> str:
    if not skills and not note:
        return ""
    last = f"<!-- {last} -->\n" if last else ""
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


def _write_markdown(
    entries: Sequence[Entry], plan: Sequence[int], further: int = 0, note: str = "", *, locations: bool = True
) -> str:
    lines = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            text = _markdown_text(visible_description(entry.description, level))
            name = _markdown_text(without_hidden(entry.name))
            lines.append(f"- **{name}**: {text}" if text else f"- **{name}**")
            lines += [f"  - location: {_markdown_text(neutral(entry.path))}"] if locations else []
    if not lines and not note:
        return ""
    last = _last_note(entries, plan, further, note, locations=locations)
    return "\n".join(["## Available skills", "", *lines, *(["", last] if last else []), ""])


def _write_json(
    entries: Sequence[Entry], plan: Sequence[int], further: int = 0, note: str = "", *, locations: bool = True
) -> str:
    skills = []
    for entry, level in zip(entries, plan, strict=True):
        if level:
            text = visible_description(entry.description, level)
            path = neutral(entry.path) if locations else ""
            skill = {"name": without_hidden(entry.name), "description": text, "location": path}
            skills.append({key: value for key, value in skill.items() if value or key == "name"})
    if not skills and not note:
        return ""
    last = _last_note(entries, plan, further, note, locations=locations)
    notes = {"note": last} if last else {}
    return _json_text({"available_skills": skills, **notes}) + "\n"


WRITERS: Mapping[str, Writer] = {"xml": _write_xml, "markdown": _write_markdown, "json": _write_json}


_RESERVED_TAGS = ("available_skills", "skill", "skills", "system-reminder")
"""The tags of the blocks that clients show their models."""

# Lines have no blanks around them here. Only the start of a run matches, or a text of newlines takes quadratic time.
_NEWLINES_BEFORE_MARKUP = re.compile(r"(?<!\n)\n+(?=[-*+#<])")


def _when_to_use(entry: Entry) -> str:
    """Return the text that says when to use a skill; of several keys the last one counts."""
    keys = ("when_to_use", "when-to-use", "whenToUse")
    texts = [str(field.value) for key, field in entry.skill.fields.items() if key in keys and field.kind == "text"]
    return texts[-1] if texts else ""


def heading(scope: str) -> str:  # noqa: ARG001
    """Return what a client's catalog has before the first skill of each scope.

    Args:
        scope: in the client's own word.
    """
    return ""


def when_line(text: str) -> str:  # noqa: ARG001
    """Return what fills `{when_line}` in the entry of a skill that says when to use it."""
    return ""


def last_line(names: Sequence[str]) -> str:  # noqa: ARG001
    """Return the line of a client that names the skills without description in one place."""
    return ""


def join_entries(lines: Sequence[str]) -> str:
    """Return the entries of a client's catalog."""
    return "".join(lines)


def host_writer(catalog: Catalog) -> Writer:
    """Return a writer that fills the host's own template. The descriptions already fit the host's budget."""
    from prowess.hosts import RootAliases, escape_entities, fill_template

    template, own = catalog.host.template, partial(of_client, catalog.host.name)
    own_heading, own_when, own_last = own(heading), own(when_line), own(last_line)
    tags = {*_RESERVED_TAGS, *re.findall(r"</?([a-z_-]+)", template.header + template.entry + template.footer)}
    forged = re.compile(rf"<(?=\s*(?:/\s*)?(?:{'|'.join(sorted(tags))})\b)", re.IGNORECASE)

    def harmless(text: str) -> str:
        """Prevent text of a skill from looking like another entry, even if the client itself does not."""
        if not catalog.host.observed:
            text = " ".join(text.split())  # only a client that was run is known to keep line breaks
        if template.escape:
            return text
        return _NEWLINES_BEFORE_MARKUP.sub(lambda run: " " * len(run[0]), forged.sub("&lt;", text))

    def write(entries: Sequence[Entry], plan: Sequence[int], further: int = 0, note: str = "") -> str:
        shown = [(entry, level) for entry, level in zip(entries, plan, strict=True) if level]
        if not shown and not note:
            return ""
        roots = RootAliases(entry.root for entry, _ in shown)
        lines, named = [], []
        current = ""
        for entry, level in shown:
            values = entry.template_values(catalog.host, roots)
            values["name"] = harmless(values["name"])
            values["description"] = harmless(shorten(values["description"], level))
            if not entry.description and own_last is not last_line and entry.rule in ("budget", "name-only"):
                named.append(values["name"])
            else:
                pattern = template.entry if values["description"] else template.name_only or template.entry
                if own_when is not when_line and level >= FULL:
                    when = harmless(without_hidden(_when_to_use(entry)))
                    values["when_line"] = own_when(when) if when else ""
                line = fill_template(pattern, values, template.escape)
                above = own_heading(values["scope"])
                lines.append(line if above == current else above + line)
                current = above
        if named:
            lines.append(escape_entities(own_last(named), template.escape))
        last = _last_note(entries, plan, further, note)
        header = template.header.replace("{roots}", roots.table())
        return header + own(join_entries)(lines) + template.footer + (f"{last}\n" if last else "")

    return write
