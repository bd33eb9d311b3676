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

from ._frontmatter import read
from ._frozen import Frozen
from .files import SKILL_FILE, UnreadableError, read_file
from .rules import check_skill
from .skill import Skill, from_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fixed", "fix", "fix_file", "renamed"]


class Fixed(Frozen):
    """A file after its repair."""

    data: bytes
    done: tuple[str, ...] = ()
    """What was done, in words; empty where nothing was."""


def fix(data: bytes, *, folder: str = "") -> Fixed:
    """Repair a SKILL.md as far as that cannot change its meaning.

    Args:
        data: the whole file.
        folder: the name of its folder, which becomes the skill's where it has none.
    """
    done: list[str] = []
    for repair, words in _REPAIRS:
        repaired = repair(data, folder)
        if repaired is not None and repaired != data and _says_the_same(data, repaired, folder):
            data = repaired
            done.append(words.format(folder=folder))
    return Fixed(data=data, done=tuple(done))


def renamed(data: bytes, name: str) -> bytes | None:
    """Give a skill another name, and change nothing else; None where that cannot be done line by line.

    Args:
        data: the whole SKILL.md, which has a name.
        name: a valid one.
    """
    front, field = _front(data), read(data).fields.get("name")
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
    quote = "" if name[0].isalpha() and name not in _WORDS else '"'
    front.lines[at:last] = [f"{before}name: {quote}{name}{quote}"]
    front.ends[at:last] = [front.ends[at]]
    new = front.joined()
    old, now = from_document(read(data)), from_document(read(new))
    return new if now == old.but(name=name) else None


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
        _write(path, fixed.data)
    done = fixed.done
    if name != SKILL_FILE and name.lower() == SKILL_FILE.lower() and SKILL_FILE not in os.listdir(folder or "."):
        os.rename(path, os.path.join(folder, SKILL_FILE))
        path, done = os.path.join(folder, SKILL_FILE), (*done, f"renamed it from `{name}`")
    return path, done


def _write(path: str, data: bytes) -> None:
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
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_FENCE = re.compile(r"-{3,}[ \t]*")


class _Front:
    """The lines of a front matter, fences included, each with the line end it has."""

    __slots__ = ("after", "before", "ends", "lines")

    def __init__(self, before: bytes, lines: list[str], ends: list[str], after: bytes) -> None:
        self.before, self.lines, self.ends, self.after = before, lines, ends, after

    def joined(self) -> bytes:
        pairs = zip(self.lines, self.ends, strict=True)
        return self.before + "".join(line + end for line, end in pairs).encode() + self.after


def _front(data: bytes) -> _Front | None:
    """Split off the front matter; None where there is none, or it is not UTF-8, which nobody can mend by rule."""
    document = read(data)
    if document.front is None:
        return None
    before = _BOM if data.startswith(_BOM) else b""
    count = document.front.count("\n") + 2
    lines: list[str] = []
    ends: list[str] = []
    at = len(before)
    raw = data.decode("latin-1")
    for _ in range(count):
        match = _LINE.match(raw, at)
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
    return _Front(before, lines, ends, data[at:])


def _without_mark(data: bytes, _folder: str) -> bytes | None:
    return data.removeprefix(_BOM)


def _with_line_feeds(data: bytes, _folder: str) -> bytes | None:
    front = _front(data)
    if front is None or "\r" not in front.ends:
        return None
    newline = "\r\n" if "\r\n" in front.ends else "\n"
    front.ends = [newline if end == "\r" else end for end in front.ends]
    return front.joined()


def _with_exact_fences(data: bytes, _folder: str) -> bytes | None:
    front = _front(data)
    if front is None:
        return None
    front.lines[0] = front.lines[-1] = "---"
    return front.joined()


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def _without_controls(data: bytes, _folder: str) -> bytes | None:
    front = _front(data)
    if front is None:
        return None
    front.lines = [_CONTROL.sub("", line) for line in front.lines]
    return front.joined()


def _as_read(data: bytes, changed: Callable[[str, str], bool]) -> bytes | None:
    """Take over the lines that the reader repaired for itself."""
    front, document = _front(data), read(data)
    if front is None or document.front is None:
        return None
    repaired = document.front.split("\n")
    for number, line in enumerate(front.lines[1:-1]):
        if number < len(repaired) and line.strip(" \t") and changed(line, repaired[number]):
            front.lines[number + 1] = repaired[number]
    return front.joined()


def _with_spaces(data: bytes, _folder: str) -> bytes | None:
    front = _front(data)
    if front is None or not any(item.code == "repair-tab" for item in read(data).findings):
        return None
    for number, line in enumerate(front.lines):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if "\t" in blanks and blanks != line:
            front.lines[number] = blanks.replace("\t", "  ") + line[len(blanks) :]
    return front.joined()


def _with_quotes(data: bytes, _folder: str) -> bytes | None:
    return _as_read(data, lambda line, repaired: line != repaired)


_UNDERSCORED = re.compile(r"(['\"]?)allowed_tools(?=\1[ \t]*:)")


def _with_hyphen(data: bytes, _folder: str) -> bytes | None:
    fields = read(data).fields
    front, field = _front(data), fields.get("allowed_tools")
    if front is None or field is None or "allowed-tools" in fields:
        return None
    line = front.lines[field.line - 1]
    match = _UNDERSCORED.match(line, field.column - 1)
    if match is None:
        return None
    front.lines[field.line - 1] = f"{line[: match.start()]}{match[1]}allowed-tools{line[match.end() :]}"
    return front.joined()


def _with_name(data: bytes, folder: str) -> bytes | None:
    document, front = read(data), _front(data)
    if front is None or "name" in document.fields or not _good_name(folder):
        return None
    column = min((entry.column for entry in document.fields.values()), default=1)
    quote = '"' if not folder.isascii() or not folder[0].isalpha() or folder in _WORDS else ""
    front.lines.insert(1, f"{' ' * (column - 1)}name: {quote}{folder}{quote}")
    front.ends.insert(1, front.ends[0])
    return front.joined()


_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def _good_name(name: str) -> bool:
    text = f"---\nname: '{name}'\ndescription: x\n---\n"
    skill = from_document(read(text.encode(errors="replace"), f"{name}/{SKILL_FILE}"), f"{name}/{SKILL_FILE}")
    return skill.name == name and not [item for item in check_skill(skill) if item.code != "name-reserved"]


_REPAIRS: tuple[tuple[Callable[[bytes, str], bytes | None], str], ...] = (
    (_without_mark, "removed the byte order mark"),
    (_with_line_feeds, "ended the front matter's lines with a line feed"),
    (_with_exact_fences, "made the fences exactly `---`"),
    (_without_controls, "removed control characters from the front matter"),
    (_with_spaces, "indented with spaces instead of tabs"),
    (_with_quotes, "quoted values"),
    (_with_hyphen, "wrote `allowed-tools` for `allowed_tools`"),
    (_with_name, "added `name: {folder}`"),
)


def _says_the_same(before: bytes, after: bytes, folder: str) -> bool:
    """Say whether a repair kept the meaning: the same fields of the same kinds, the same body."""
    old, new = read(before), read(after)
    first, second = from_document(old), from_document(new)
    if first.name is None and "name" not in old.fields and second.name == folder:
        first = first.but(name=folder)
    kinds = [sorted((key.replace("_", "-"), entry.kind) for key, entry in doc.fields.items()) for doc in (old, new)]
    if "name" not in old.fields and "name" in new.fields:
        kinds[1].remove(("name", new.fields["name"].kind))
    codes = [Counter(item.code for item in doc.findings) for doc in (old, new)]
    return first == second and kinds[0] == kinds[1] and codes[1] <= codes[0]
