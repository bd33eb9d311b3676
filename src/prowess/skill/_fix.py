"""a SKILL.md's bytes -> the same, repaired

The reader repairs what is commonly mistyped, in memory; this writes the same repairs down. Only lines of the front
matter are touched, line ends and the body stay byte for byte, and what would change the meaning is not done: each
repair is read back and kept only if it says what the file said before.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from contextlib import suppress

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import Frozen

from ._frontmatter import parse_frontmatter
from ._rules import check_skill
from ._skill import Skill, from_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FixResult", "fix", "fix_file", "change_name"]


class FixResult(Frozen):
    """A file after its repair."""

    data: bytes
    changes: tuple[str, ...] = ()
    """What was done, in words; empty where nothing was."""


def fix(data: bytes, *, folder: str = "") -> FixResult:
    """Repair a SKILL.md as far as that cannot change its meaning.

    Args:
        data: the whole file.
        folder: the name of its folder, which becomes the skill's where it has none.
    """
    changes: list[str] = []
    for repair, words in _REPAIRS:
        repaired = repair(data, folder)
        if repaired is not None and repaired != data and _keeps_meaning(data, repaired, folder):
            data = repaired
            changes.append(words.format(folder=folder))
    return FixResult(data=data, changes=tuple(changes))


def change_name(data: bytes, name: str) -> bytes | None:
    """Give a skill another name, and change nothing else; None where that cannot be done line by line.

    Args:
        data: the whole SKILL.md, which has a name.
        name: a valid one.
    """
    front, field = _split_frontmatter(data), parse_frontmatter(data).fields.get("name")
    if front is None or field is None:
        return None
    at = field.line - 1
    last = at + 1
    # What belongs to the old name stands further in, as lines of a folded one do, or is blank and between them.
    for number in range(last, len(front.lines) - 1):
        line = front.lines[number]
        if not line.strip():
            continue
        if line[: field.column].strip():
            break
        last = number + 1
    before = front.lines[at][: field.column - 1]
    quote = "" if name[0].isalpha() and name not in _YAML_KEYWORDS else '"'
    front.lines[at:last] = [f"{before}name: {quote}{name}{quote}"]
    front.ends[at:last] = [front.ends[at]]
    new = front.to_bytes()
    old, now = from_document(parse_frontmatter(data)), from_document(parse_frontmatter(new))
    return new if now == old.with_changes(name=name) else None


def fix_file(path: str) -> tuple[str, tuple[str, ...]]:
    """Repair a file on the disk, in one step, unless it is a link or cannot be read.

    Returns:
        Its path, which is another one if it was called `skill.md`, and what was done.

    Raises:
        OSError: the file cannot be written; it is then as it was.
    """
    try:
        data = read_file(path)
    except UnreadableError:
        return path, ()
    folder, name = os.path.split(path)
    fixed = fix(data, folder=Skill(path=path).folder)
    if fixed.data != data:
        _replace_file(path, fixed.data)
    changes = fixed.changes
    if name != SKILL_FILE and name.lower() == SKILL_FILE.lower() and SKILL_FILE not in os.listdir(folder or "."):
        os.rename(path, os.path.join(folder, SKILL_FILE))
        path, changes = os.path.join(folder, SKILL_FILE), (*changes, f"renamed it from `{name}`")
    return path, changes


def _replace_file(path: str, data: bytes) -> None:
    """Put a file in the place of another, with its mode and owner."""
    import tempfile

    status = os.lstat(path)
    fd, beside = tempfile.mkstemp(prefix=".SKILL.", suffix=".tmp", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        with suppress(OSError, AttributeError):
            os.chown(beside, status.st_uid, status.st_gid)
        os.chmod(beside, stat.S_IMODE(status.st_mode))
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


# ── the repairs: bytes -> bytes, or None where there is nothing to do ────────────────────────────────────────────────

_BOM = b"\xef\xbb\xbf"
_LINE_WITH_END = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_FENCE = re.compile(r"-{3,}[ \t]*")


class _FrontmatterLines:
    """The lines of a front matter, fences included, each with the line end it has."""

    __slots__ = ("after", "before", "ends", "lines")

    def __init__(self, before: bytes, lines: list[str], ends: list[str], after: bytes) -> None:
        self.before, self.lines, self.ends, self.after = before, lines, ends, after

    def to_bytes(self) -> bytes:
        pairs = zip(self.lines, self.ends, strict=True)
        return self.before + "".join(line + end for line, end in pairs).encode() + self.after


def _split_frontmatter(data: bytes) -> _FrontmatterLines | None:
    """Split off the front matter; None where there is none, or it is not UTF-8, which nobody can mend by rule."""
    document = parse_frontmatter(data)
    if document.frontmatter is None:
        return None
    before = _BOM if data.startswith(_BOM) else b""
    count = document.frontmatter.count("\n") + 2
    lines: list[str] = []
    ends: list[str] = []
    at = len(before)
    raw = data.decode("latin-1")
    for _ in range(count):
        match = _LINE_WITH_END.match(raw, at)
        if match is None or match.end() == at:
            break
        try:
            lines.append(match[1].encode("latin-1").decode())
        except UnicodeDecodeError:
            return None
        ends.append(match[2])
        at = match.end()
    if len(lines) < 2 or not _FENCE.fullmatch(lines[0]) or not _FENCE.fullmatch(lines[-1]):
        return None
    return _FrontmatterLines(before, lines, ends, data[at:])


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


_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def _remove_control_characters(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None:
        return None
    front.lines = [_CONTROL_CHARACTER.sub("", line) for line in front.lines]
    return front.to_bytes()


def _apply_reader_repairs(data: bytes, changed: Callable[[str, str], bool]) -> bytes | None:
    """Take over the lines that the reader repaired for itself."""
    front, document = _split_frontmatter(data), parse_frontmatter(data)
    if front is None or document.frontmatter is None:
        return None
    repaired = document.frontmatter.split("\n")
    for number, line in enumerate(front.lines[1:-1]):
        if number < len(repaired) and line.strip(" \t") and changed(line, repaired[number]):
            front.lines[number + 1] = repaired[number]
    return front.to_bytes()


def _replace_tabs(data: bytes, _folder: str) -> bytes | None:
    front = _split_frontmatter(data)
    if front is None or not any(item.code == "repair-tab" for item in parse_frontmatter(data).findings):
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
    fields = parse_frontmatter(data).fields
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
    document, front = parse_frontmatter(data), _split_frontmatter(data)
    if front is None or "name" in document.fields or not _is_valid_name(folder):
        return None
    column = min((entry.column for entry in document.fields.values()), default=1)
    quote = '"' if not folder.isascii() or not folder[0].isalpha() or folder in _YAML_KEYWORDS else ""
    front.lines.insert(1, f"{' ' * (column - 1)}name: {quote}{folder}{quote}")
    front.ends.insert(1, front.ends[0])
    return front.to_bytes()


_YAML_KEYWORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def _is_valid_name(name: str) -> bool:
    text = f"---\nname: '{name}'\ndescription: x\n---\n"
    skill = from_document(
        parse_frontmatter(text.encode(errors="replace"), f"{name}/{SKILL_FILE}"), f"{name}/{SKILL_FILE}"
    )
    return skill.name == name and not [item for item in check_skill(skill) if item.code != "name-reserved"]


_REPAIRS: tuple[tuple[Callable[[bytes, str], bytes | None], str], ...] = (
    (_remove_bom, "removed the byte order mark"),
    (_convert_line_ends, "ended the front matter's lines with a line feed"),
    (_normalize_fences, "made the fences exactly `---`"),
    (_remove_control_characters, "removed control characters from the front matter"),
    (_replace_tabs, "indented with spaces instead of tabs"),
    (_quote_values, "quoted values"),
    (_hyphenate_allowed_tools, "wrote `allowed-tools` for `allowed_tools`"),
    (_add_name, "added `name: {folder}`"),
)


def _keeps_meaning(before: bytes, after: bytes, folder: str) -> bool:
    """Say whether a repair kept the meaning: the same fields of the same kinds, the same body."""
    old, new = parse_frontmatter(before), parse_frontmatter(after)
    first, second = from_document(old), from_document(new)
    if first.name is None and "name" not in old.fields and second.name == folder:
        first = first.with_changes(name=folder)
    kinds = [sorted((key.replace("_", "-"), entry.kind) for key, entry in doc.fields.items()) for doc in (old, new)]
    if "name" not in old.fields and "name" in new.fields:
        kinds[1].remove(("name", new.fields["name"].kind))
    codes = [Counter(item.code for item in doc.findings) for doc in (old, new)]
    return first == second and kinds[0] == kinds[1] and codes[1] <= codes[0]
