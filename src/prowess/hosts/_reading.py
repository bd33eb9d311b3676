"""Define what a host file can say about the text of a SKILL.md: how an agent reads the file, its name and description.

Each class is a table of the file, as in `_host`.
"""

from __future__ import annotations

from prowess._internal.frozen import EMPTY, Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_ACTIONS = {"missing": "folder", "null": "folder", "empty": "folder", "number": "text", "bool": "text"}
"""What most clients do with a name that is not text; they reject other kinds."""
DESCRIPTION_ACTIONS = {"number": "text", "bool": "text"}
"""The same for a description."""


class ReadingRules(Frozen):
    """What the client does about the reader's findings."""

    rejects: tuple[str, ...] = ()
    """Codes of files that it does not load."""
    as_body: tuple[str, ...] = ()
    """Codes of files that it reads as a body without front matter."""
    loose_as_body: tuple[str, ...] = ()
    """Further codes of loose Markdown files that it reads so."""
    as_empty: tuple[str, ...] = ()
    """Codes of files whose front matter it reads as empty."""
    opening: str = ""
    """A regular expression for the opening fence at the beginning of the file, if it is not just `---` and blanks."""
    closing: str = ""
    """The same for the closing fence; the first match counts. Both match LF in a file with CRLF."""
    line_breaks: str = ""
    """A regular expression for characters that end a line besides LF, CR and CRLF."""
    yaml_line_breaks: str = ""
    """The same for characters that end a line for its YAML parser only, not between the fences."""
    refuses: tuple[str, ...] = ()
    """Regular expressions for valid YAML that the client's parser refuses."""
    texts: str = ""
    """A regular expression for plain scalars that it reads as text, though they are numbers in YAML 1.2."""
    not_texts: str = ""
    """The same for those that it reads as numbers or dates, though they are text in YAML 1.2."""
    quoted_controls: bool = False
    """Whether control characters from U+007F on may be in quotes, and all but U+0000 in comments."""
    half_pairs: str = ""
    """What it does with an escape that names half of a surrogate pair, such as `\\ud800`: `replace` (by U+FFFD) or
    `remove`; empty: it refuses the file."""
    empty_keys: bool = False
    """Whether a key may be missing: `: value`."""
    flow_keys: bool = False
    """Whether what is in brackets may be a key: `{{a}}` is a table."""
    marks_are_text: bool = False
    """Whether a byte order mark at the beginning of a line, other than the first, is text."""
    whole_file: bool = False
    """Whether problems in the body matter too, so that the whole file is read."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class NameRules(Frozen):
    """How the client names a skill."""

    identity: str = "name"
    """What the client calls a skill: its `name` or its `folder`."""
    on: Mapping[str, str] = EMPTY
    """What it does with a name that is `missing`, `null`, `empty`, `blank` (by default as `empty`), a `number`, `bool`,
    `list` or `map`: `folder` (uses the name of the folder), `reject`, `text` (as JavaScript writes it: the items
    of a list joined by commas), `value` (the value of a number or boolean as JavaScript writes it)."""
    trim: bool = True
    """Whether white space around it is removed."""
    pattern: str = ""
    """A regular expression for the whole name; other names reject the skill."""
    max_length: int = 0
    """In characters; longer names reject the skill; 0 is no limit."""
    must_equal_folder: bool = False
    """Whether a name that differs from the folder rejects the skill."""
    replace: Mapping[str, str] = EMPTY
    """Regular expression to text: what the client replaces in the name, after all limits."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""


class DescriptionRules(Frozen):
    """How the client shows a description."""

    on: Mapping[str, str] = EMPTY
    """What it does with one that is `missing`, `null`, `empty`, `blank`, a `number`, `bool`, `list` or `map`: `reject`,
    `keep` (shows it empty), `hide` (lists the skill, but not to the model), `body` (takes it from the body),
    `text`, `value` (as for a name)."""
    trim: bool = True
    """Whether white space around it is removed."""
    fallback: str = ""
    """The result of `body` if the body has no text either."""
    limit: int = 0
    """In `unit`; 0 is no limit."""
    past_limit: str = "keep"
    """What it does past the limit: `keep`, `cut` (to the limit, `ellipsis` included) or `drop` (reject the skill)."""
    ellipsis: str = "…"
    """The end of a description that is cut to the limit."""
    one_line: bool = False
    """Whether white space is collapsed."""
    unit: str = "chars"
    """The unit of `limit`: `chars` (Unicode), `utf16` (units of UTF-16) or `bytes` (of UTF-8)."""
    facts: Mapping[str, tuple[str, ...]] = EMPTY
    """What the client's module does besides, in words: lines by the key whose line they follow."""
