"""Repair the text of a SKILL.md: `prowess check --fix`, whose file access is in `_fix_file`.

The parser repairs common mistakes in memory; this module makes the same repairs in the text. It changes only lines of
the front matter, and never other line ends. Each repair is parsed again, and kept only if it did not change the fields.
In the body, only the backslashes of paths become slashes that name a file of the skill.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from prowess._internal.frozen import Frozen

from ._body_rules import find_windows_paths
from ._fences import frontmatter_end
from ._frontmatter import Document, control_character, parse_frontmatter
from ._names import name_line, name_problems, normalized_name
from ._skill import from_document
from ._yaml import Value, scalar_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container


class FixResult(Frozen):
    """The contents of a file after its repair."""

    data: bytes
    changes: tuple[str, ...] = ()
    """Descriptions of what was changed; empty if nothing was."""


def fix(data: bytes, *, folder: str = "") -> FixResult:
    """Repair a SKILL.md without changing its meaning.

    Args:
        data: the whole file.
        folder: the name of its folder, which becomes the name of a skill without one.
    """
    changes: list[str] = []
    for repair, description in _REPAIRS:
        repaired = repair(data, folder)
        if repaired is not None and repaired != data and _keeps_meaning(data, repaired, folder):
            data = repaired
            changes.append(description.format(folder=folder))
    return FixResult(data=data, changes=tuple(changes))


def fix_paths(data: bytes, files: Container[str]) -> FixResult:
    """Write paths of the skill's own files in the body with slashes.

    Args:
        data: the whole file.
        files: the paths of the files in the skill's folder, with `/`.
    """
    start = max(frontmatter_end(data), 0)
    try:
        body = data[start:].decode()
    except UnicodeDecodeError:
        return FixResult(data=data)
    parts, position = [], 0
    for first, last in find_windows_paths(body, files):
        parts += [body[position:first], body[first:last].replace("\\", "/")]
        position = last
    if not parts:
        return FixResult(data=data)
    return FixResult(data=data[:start] + "".join([*parts, body[position:]]).encode(), changes=("slashes in paths",))


def change_name(data: bytes, name: str) -> bytes | None:
    """Return a SKILL.md with another name and no other change, or `None` if its lines do not allow that.

    Args:
        data: the whole file, which has a name.
        name: the new name; it is valid.
    """
    front, field = _split_frontmatter(data), _parse(data).fields.get("name")
    if front is None or field is None:
        return None
    start = field.line - 1
    end = start + 1
    # The value may continue on lines that are indented more, as a folded one does, with blank lines between them.
    for number in range(end, len(front.lines) - 1):
        line = front.lines[number]
        if not line.strip():
            continue
        if line[: field.column].strip():
            break
        end = number + 1
    indent = front.lines[start][: field.column - 1]
    front.lines[start:end] = [indent + name_line(name)]
    front.ends[start:end] = [front.ends[start]]
    renamed = front.to_bytes()
    old, new = from_document(_parse(data)), from_document(parse_frontmatter(renamed))
    return renamed if new == old.with_changes(name=name) else None


# ── the repairs: each returns the repaired file, or None if it has nothing to do ─────────────────────────────────────

_BOM = b"\xef\xbb\xbf"
_LINE_WITH_END = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_FENCE = re.compile(r"-{3,}[ \t]*")
_parse = lru_cache(maxsize=1)(parse_frontmatter)
"""Each repair asks for the same text, as most have nothing to do."""


class _FrontmatterLines:
    """The lines of a front matter with its fences, each with its own line end."""

    __slots__ = ("after", "before", "ends", "lines")

    def __init__(self, before: bytes, lines: list[str], ends: list[str], after: bytes) -> None:
        self.before, self.lines, self.ends, self.after = before, lines, ends, after

    def to_bytes(self) -> bytes:
        pairs = zip(self.lines, self.ends, strict=True)
        return self.before + "".join(line + end for line, end in pairs).encode() + self.after


def _split_frontmatter(data: bytes) -> _FrontmatterLines | None:
    """Return the lines of the front matter, or `None` if it is missing or not UTF-8."""
    document = _parse(data)
    if document.frontmatter is None:
        return None
    before = _BOM if data.startswith(_BOM) else b""
    count = document.frontmatter.count("\n") + 2
    lines: list[str] = []
    ends: list[str] = []
    position = len(before)
    raw = data.decode("latin-1")
    for _ in range(count):
        match = _LINE_WITH_END.match(raw, position)
        if match is None or match.end() == position:
            break
        try:
            lines.append(match[1].encode("latin-1").decode())
        except UnicodeDecodeError:
            return None
        ends.append(match[2])
        position = match.end()
    if len(lines) < 2 or not _FENCE.fullmatch(lines[0]) or not _FENCE.fullmatch(lines[-1]):
        return None
    return _FrontmatterLines(before, lines, ends, data[position:])


def _remove_bom(data: bytes, _folder: str) -> bytes | None:
    return data.removeprefix(_BOM)


def _convert_line_ends(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None or "\r" not in front.ends:
        return None
    newline = "\r\n" if "\r\n" in front.ends else "\n"
    front.ends = [newline if end == "\r" else end for end in front.ends]
    return front.to_bytes()


def _normalize_fences(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None:
        return None
    front.lines[0] = front.lines[-1] = "---"
    return front.to_bytes()


def _remove_control_characters(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None:
        return None
    front.lines = [control_character().sub("", line) for line in front.lines]
    return front.to_bytes()


def _apply_reader_repairs(data: bytes, changed: Callable[[str, str], bool]) -> bytes | None:
    """Return the file with the lines that the parser repaired in memory."""
    front, document = _split_frontmatter(data), _parse(data)
    if front is None or document.frontmatter is None:
        return None
    repaired = document.frontmatter.split("\n")
    for number, line in enumerate(front.lines[1:-1]):
        if number < len(repaired) and line.strip(" \t") and changed(line, repaired[number]):
            front.lines[number + 1] = repaired[number]
    return front.to_bytes()


def _replace_tabs(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None or not any(item.code == "repair-tab" for item in _parse(data).findings):
        return None
    for number, line in enumerate(front.lines):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if "\t" in blanks and blanks != line:
            front.lines[number] = blanks.replace("\t", "  ") + line[len(blanks) :]
    return front.to_bytes()


def _quote_values(data: bytes, _folder: str) -> bytes | None:
    return _apply_reader_repairs(data, lambda line, repaired: line != repaired)


_ALLOWED_TOOLS_KEY = re.compile(r"(['\"]?)allowed_tools(?=\1[ \t]*:)")


def _hyphenate_allowed_tools(data: bytes, _folder: str) -> bytes | None:
    fields = _parse(data).fields
    front, field = _split_frontmatter(data), fields.get("allowed_tools")
    if front is None or field is None or "allowed-tools" in fields:
        return None
    line = front.lines[field.line - 1]
    match = _ALLOWED_TOOLS_KEY.match(line, field.column - 1)
    if match is None:
        return None
    front.lines[field.line - 1] = f"{line[: match.start()]}{match[1]}allowed-tools{line[match.end() :]}"
    return front.to_bytes()


def _add_name(data: bytes, folder: str) -> bytes | None:
    document, front = _parse(data), _split_frontmatter(data)
    if front is None or "name" in document.fields or not folder or name_problems(normalized_name(folder)):
        return None
    if any(item.code == "yaml-syntax" for item in document.findings):  # a file with a name would be as invalid
        return None
    column = min((entry.column for entry in document.fields.values()), default=1)
    front.lines.insert(1, " " * (column - 1) + name_line(folder))
    front.ends.insert(1, front.ends[0])
    return front.to_bytes()


_REPAIRS: tuple[tuple[Callable[[bytes, str], bytes | None], str], ...] = (
    (_remove_bom, "removed the byte order mark"),
    (_convert_line_ends, "ended the front matter's lines with a line feed"),
    (_normalize_fences, "wrote the fences as `---`"),
    (_remove_control_characters, "removed control characters from the front matter"),
    (_replace_tabs, "indented with spaces instead of tabs"),
    (_quote_values, "quoted values"),
    (_hyphenate_allowed_tools, "wrote `allowed-tools` for `allowed_tools`"),
    (_add_name, "added `name: {folder}`"),
)


def without_control_characters(document: Document) -> Document:
    """Return a document without the control characters in its fields."""
    pattern = control_character()

    def clean(value: Value) -> Value:
        if isinstance(value, str):
            return pattern.sub("", value)
        if isinstance(value, tuple):
            return tuple(map(clean, value))
        return {pattern.sub("", key): clean(item) for key, item in value.items()}

    if not any(item.code == "control-character" for item in document.findings):
        return document
    fields = {}
    for key, field in document.fields.items():
        value = clean(field.value)
        is_plain = field.source.partition(":")[2].strip()[:1] not in ("'", '"', "|", ">")
        kind = scalar_kind(value) if isinstance(value, str) and value != field.value and is_plain else field.kind
        fields[pattern.sub("", key)] = field.with_changes(value=value, kind=kind)
    return document.with_changes(fields=fields)


def _keeps_meaning(before: bytes, after: bytes, folder: str) -> bool:
    """Tell whether a repair kept the body and all fields with their types, and caused no new finding.

    Control characters in values do not count, since their removal is a repair.
    """
    # The next repair asks for the text that was asked for last.
    old, new = (without_control_characters(_parse(data)) for data in (before, after))
    old_skill, new_skill = from_document(old), from_document(new)
    if old_skill.name is None and "name" not in old.fields and new_skill.name == folder:
        old_skill = old_skill.with_changes(name=folder)
    old_kinds, new_kinds = (
        sorted((key.replace("_", "-"), field.kind) for key, field in document.fields.items()) for document in (old, new)
    )
    if "name" not in old.fields and "name" in new.fields:
        new_kinds.remove(("name", new.fields["name"].kind))
    old_codes, new_codes = (Counter(item.code for item in document.findings) for document in (old, new))
    return old_skill == new_skill and old_kinds == new_kinds and new_codes <= old_codes
