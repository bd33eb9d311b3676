"""Follow the hints of findings: change a skill on disk as a user would who does what a hint says, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prowess._internal.special_tokens import find_special_tokens
from prowess._internal.text import without_hidden
from prowess.cli import main
from prowess.skill import Skill, load, parse_frontmatter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prowess.findings import Finding

PROSE = "Fills PDF forms. Use when a form is to be filled."
"""What an author writes where a hint asks for a description."""


@dataclass(slots=True)
class Hinted:
    """A skill on disk with one finding whose hint is followed."""

    file: Path
    finding: Finding

    @property
    def data(self) -> bytes:
        return self.file.read_bytes()

    @data.setter
    def data(self, value: bytes) -> None:
        self.file.write_bytes(value)

    @property
    def text(self) -> str:
        """The text with LF line ends."""
        return self.data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape").replace("\r\n", "\n")

    @text.setter
    def text(self, value: str) -> None:
        before = self.data
        if b"\r\n" in before:
            value = value.replace("\n", "\r\n")
        mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
        self.data = mark + value.encode(errors="surrogateescape")

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @lines.setter
    def lines(self, value: list[str]) -> None:
        self.text = "\n".join(value)

    @property
    def skill(self) -> Skill:
        return load(str(self.file))

    @property
    def line(self) -> int:
        """0-based line of the finding."""
        assert self.finding.line is not None
        return self.finding.line - 1

    def entry(self, line: int | None = None) -> tuple[int, int]:
        """Return the first line of the entry at a line, and the line after its last one."""
        start = self.line if line is None else line
        lines = self.lines
        width = len(lines[start]) - len(lines[start].lstrip(" \t"))
        end = start + 1
        while end < len(lines) and not lines[end].startswith("---"):
            text = lines[end]
            inside = len(text) - len(text.lstrip(" \t")) > width or text[width:].startswith("- ")
            if text.strip() and not inside:
                break
            end += 1
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        return start, end

    def replace_entry(self, new: list[str], line: int | None = None) -> None:
        """Write other lines in place of an entry."""
        start, end = self.entry(line)
        lines = self.lines
        lines[start:end] = new
        self.lines = lines

    def set_text(self, key: str, value: str) -> None:
        """Write a field of the front matter as text in quotes."""
        self.replace_entry([f"{key}: {json.dumps(value, ensure_ascii=False)}"], self.field_line(key))

    def field_line(self, key: str) -> int:
        return self.skill.fields[key].line - 1

    def key(self) -> str:
        """Return the field at the finding."""
        return next(key for key, field in self.skill.fields.items() if field.line == self.finding.line)

    def rename(self, name: str) -> None:
        """Rename the skill's folder."""
        new = self.file.parent.with_name(name)
        self.file.parent.rename(new)
        self.file = new / self.file.name


def as_text(value: object) -> str:
    """Return a list or a map as one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(map(as_text, value))
    assert hasattr(value, "items")
    return ", ".join(f"{key} {as_text(item)}" for key, item in value.items())


def one_text(item: Hinted, match: re.Match[str]) -> None:
    """Write the value at the finding as one text: of a field, or of `metadata`."""
    if item.finding.code == "metadata-nested":
        item.replace_entry(
            [
                "metadata:",
                *(f"  {json.dumps(name)}: {json.dumps(as_text(value))}" for name, value in item.skill.metadata.items()),
            ]
        )
    else:
        item.set_text(item.key(), as_text(item.skill.fields[item.key()].value)[:500])


def quote_metadata(item: Hinted, match: re.Match[str]) -> None:
    """Write all texts of the metadata in quotes."""
    values = {name: as_text(value) for name, value in item.skill.metadata.items()}
    item.replace_entry(["metadata:", *(f"  {json.dumps(name)}: {json.dumps(text)}" for name, text in values.items())])


def write_name(item: Hinted, match: re.Match[str]) -> None:
    """Write the line with the name, and rename the folder."""
    parts = match.groupdict()
    line = parts.get("line")
    if line is not None:
        if "name" in item.skill.fields:
            item.replace_entry([line], item.field_line("name"))
        else:
            item.lines = [item.lines[0], line, *item.lines[1:]]
    if parts.get("folder"):
        item.rename(parts["folder"])


def rename_folder(item: Hinted, match: re.Match[str]) -> None:
    item.rename(match["other"])


def another_name(item: Hinted, match: re.Match[str]) -> None:
    item.set_text("name", "form-filler")
    item.rename("form-filler")


def write_line(item: Hinted, match: re.Match[str]) -> None:
    item.replace_entry([match["line"]])


def author_describes(item: Hinted, match: re.Match[str]) -> None:
    if "description" in item.skill.fields:
        item.set_text("description", PROSE)
    else:
        item.lines = [item.lines[0], f"description: {PROSE}", *item.lines[1:]]


def shorten(item: Hinted, match: re.Match[str]) -> None:
    key = item.key()
    text = item.skill.fields[key].value
    assert isinstance(text, str)
    limit = int(match["limit"].replace(",", ""))
    encoding = {"bytes of UTF-8": "utf-8", "units of UTF-16": "utf-16-le"}.get(match["unit"], "utf-32-le")
    width = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}[encoding]
    item.set_text(key, text.encode(encoding)[: limit * width].decode(encoding, "ignore"))


def remove_from_description(item: Hinted, match: re.Match[str]) -> None:
    text = item.skill.description or ""
    if item.finding.code == "description-hidden":
        text = without_hidden(text)
    item.set_text("description", text.replace("<", "").replace(">", "") if "XML" in match[0] else text)


def remove_tokens(item: Hinted, match: re.Match[str]) -> None:
    def clean(text: str) -> str:
        text = without_hidden(text)
        while (span := next(find_special_tokens(text), None)) is not None:
            text = text[: span[0]] + text[span[1] :]
        return text

    line = re.search("the field `(.+?)` contains", item.finding.message)
    assert line is not None
    field = item.skill.fields[line[1]]
    assert isinstance(field.value, str)
    item.set_text(line[1], clean(field.value))


def remove_entry(item: Hinted, match: re.Match[str]) -> None:
    item.replace_entry([])


def remove_other(item: Hinted, match: re.Match[str]) -> None:
    item.replace_entry([], int(match["number"]) - 1)


def exact_fence(item: Hinted, match: re.Match[str]) -> None:
    """Write `---` at the finding, or in place of both fences."""
    lines = item.lines
    if "both" in match[0]:
        closing = next(n for n, line in enumerate(lines[1:], 1) if re.fullmatch("-{3,}[ \t]*", line))
        lines[0] = lines[closing] = "---"
    else:
        lines[item.line] = "---"
    item.lines = lines


def fence_below(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines.insert(int(match["number"]), "---")
    item.lines = lines


def fence_in_line(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines[int(match["number"]) - 1] = "---"
    item.lines = lines


def fence_above(item: Hinted, match: re.Match[str]) -> None:
    item.lines = ["---", *item.lines]


def move_above(item: Hinted, match: re.Match[str]) -> None:
    last = int(match["last"] or match["only"])
    lines = item.lines
    closing = lines.index("---", last + 1)
    item.lines = [*lines[last : closing + 1], *lines[:last], *lines[closing + 1 :]]


def quote_value(item: Hinted, match: re.Match[str]) -> None:
    """Put the value at the finding in single quotes, with the lines that continue it."""
    start, end = item.entry()
    lines = item.lines
    before, colon, value = lines[start].partition(": ")
    if before.lstrip().startswith("- ") or not colon:
        before, value = re.match(r"( *(?:- +)?)(.*)", lines[start]).groups()  # type: ignore[union-attr]
        colon = ""
    value = " ".join([value, *(line.strip() for line in lines[start + 1 : end])]).strip()
    value = re.sub(r"^!!?\w+ ", "", value).strip("'\"") if "tag" in match[0] else value
    lines[start:end] = [f"{before}{colon}'{value.replace(chr(39), chr(39) * 2)}'"]
    item.lines = lines


def remove_tag(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines[item.line] = re.sub(r"!\S* ?", "", lines[item.line], count=1)
    item.lines = lines


def replace_aliases(item: Hinted, match: re.Match[str]) -> None:
    """Write the value of an anchor for its aliases, and remove the anchor."""
    name = re.search(r"[*&]([\w-]+)", match[0])
    assert name is not None
    text = item.text
    anchor = re.search(rf"&{name[1]} +(.+)", text)
    assert anchor is not None
    text = text.replace(f"*{name[1]}", anchor[1])
    item.text = text.replace(f"&{name[1]} ", "") if item.finding.code == "yaml-anchor" else text


def remove_anchor(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines[item.line] = lines[item.line].replace(match["name"], "").replace(":  ", ": ")
    item.lines = lines


def spaces_for_tabs(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    indent = re.match(r"[ \t]*", lines[item.line])
    assert indent is not None
    lines[item.line] = indent[0].replace("\t", "  ") + lines[item.line][indent.end() :]
    item.lines = lines


def remove_controls(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    closing = next(n for n, line in enumerate(lines[1:], 1) if line.startswith("---"))
    keep = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
    item.lines = [keep.sub("", line) for line in lines[: closing + 1]] + lines[closing + 1 :]


def remove_dashes(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    closing = lines.index("---", 1)
    item.lines = [re.sub(r"^( *)- (?=\w+:)", r"\1", line) for line in lines[:closing]] + lines[closing:]


def write_fields(item: Hinted, match: re.Match[str]) -> None:
    """Write a front matter in place of an invalid one."""
    lines = item.lines
    fields = ["---", f"name: {item.file.parent.name}", f"description: {PROSE}", "---"]
    closing = next((n for n, line in enumerate(lines[1:], 1) if line.startswith("---")), None)
    item.lines = [*fields, *(lines if closing is None else lines[closing + 1 :])]


def write_skill(item: Hinted, match: re.Match[str]) -> None:
    write_fields(item, match)
    write_body(item, match)


def move_to_metadata(item: Hinted, match: re.Match[str]) -> None:
    """Move a field below `metadata`, as text if it is a list or a map."""
    key = item.key()
    value, metadata = as_text(item.skill.fields[key].value), dict(item.skill.metadata)
    item.replace_entry([])
    metadata[key] = value
    new = ["metadata:", *(f"  {json.dumps(name)}: {json.dumps(text)}" for name, text in metadata.items())]
    if "metadata" in item.skill.fields:
        item.replace_entry(new, item.field_line("metadata"))
    else:
        item.lines = [item.lines[0], *new, *item.lines[1:]]


def rename_key(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines[item.line] = re.sub(r"^\w+", match["name"], lines[item.line])
    item.lines = lines


def key_values(item: Hinted, match: re.Match[str]) -> None:
    item.replace_entry(["metadata:", "  author: Ada"])


def write_body(item: Hinted, match: re.Match[str]) -> None:
    item.text = item.text.rstrip("\n") + "\nRead the fields of the form, then fill them.\n"


def move_body(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    (item.file.parent / "references").mkdir(exist_ok=True)
    (item.file.parent / "references" / "more.md").write_text("\n".join(lines[400:]))
    item.lines = [*lines[:400], ""]


def add_linked_file(item: Hinted, match: re.Match[str]) -> None:
    link = re.search("the link `(.+)` leads", item.finding.message)
    assert link is not None
    path = item.file.parent / link[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("More.\n")


def move_linked_file(item: Hinted, match: re.Match[str]) -> None:
    link = re.search("the link `(.+)` leads", item.finding.message)
    assert link is not None
    name = f"references/{os.path.basename(link[1])}"
    (item.file.parent / name).parent.mkdir(exist_ok=True)
    (item.file.parent / name).write_text("More.\n")
    item.text = item.text.replace(f"]({link[1]})", f"]({name})")


def write_sidecar(item: Hinted, match: re.Match[str]) -> None:
    path = item.file.parent / match["file"]
    path.parent.mkdir(exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}{match['line']}\n")


def rename_file(item: Hinted, match: re.Match[str]) -> None:
    new = item.file.with_name(match["name"])
    item.file.rename(new)
    item.file = new


def remove_file(item: Hinted, match: re.Match[str]) -> None:
    item.file.unlink()


def put_file(item: Hinted, match: re.Match[str]) -> None:
    """Put a file in place of a link, or of something that is not a file."""
    text = f"---\nname: {item.file.parent.name}\ndescription: {PROSE}\n---\nDo it.\n".encode()
    if item.file.is_symlink():
        text = item.file.read_bytes()
    if item.file.is_dir() and not item.file.is_symlink():
        shutil.rmtree(item.file)
    else:
        item.file.unlink()
    item.data = text


def shrink(item: Hinted, match: re.Match[str]) -> None:
    """Move text out of a file, or a front matter, that is too large."""
    if item.finding.code == "frontmatter-too-large":
        lines = item.lines
        closing = lines.index("---", 1)
        kept = [line for line in lines[1:closing] if len(line) < 2000]
        item.lines = ["---", *kept, "---", *lines[closing + 1 :]]
    else:
        item.data = item.data[:10_000]


def encode(item: Hinted, match: re.Match[str]) -> None:
    data = item.data
    if data.startswith(b"\xef\xbb\xbf"):
        item.data = data[3:]
    elif data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        item.data = data.decode("utf-16").encode()
    else:
        item.data = data.decode("cp1252").encode()


def without_nul(item: Hinted, match: re.Match[str]) -> None:
    item.data = item.data.replace(b"\0", b"")


def line_feeds(item: Hinted, match: re.Match[str]) -> None:
    item.data = re.sub(rb"\r(?!\n)", b"\n", item.data)


def check_fix(item: Hinted, match: re.Match[str]) -> None:
    """Run the command of the hint, without the losses of all agents, which it does not change."""
    main(["check", "--fix", str(item.file), "--quiet", "--host", "prowess"])


def close_quote(item: Hinted, match: re.Match[str]) -> None:
    """Close the quote or bracket that the line opens."""
    lines = item.lines
    line = lines[item.line]
    value = line.partition(": ")[2]
    closing = {'"': '"', "'": "'", "[": "]", "{": "}"}[value[0]]
    lines[item.line] = line + closing
    item.lines = lines


def drop_field(item: Hinted, match: re.Match[str]) -> None:
    """Keep data in a file beside SKILL.md: the fields of the specification stay."""
    document = parse_frontmatter(item.data)
    lines = item.text.split("\n")
    closing = lines.index("---", 1)
    starts = [n for n, line in enumerate(lines[1:closing], 1) if re.match(r"[A-Za-z]", line)]
    kept = [line for line in lines[1:closing] if re.match("(name|description): ", line)]
    assert starts
    assert document.frontmatter is not None
    item.lines = ["---", *kept, "---", *lines[closing + 1 :]]


def set_bool(word: str) -> Callable[[Hinted, re.Match[str]], None]:
    def follow(item: Hinted, match: re.Match[str]) -> None:
        item.replace_entry([f"{item.key()}: {word}"])

    return follow


def set_field(*lines: str) -> Callable[[Hinted, re.Match[str]], None]:
    def follow(item: Hinted, match: re.Match[str]) -> None:
        key = item.key()
        item.replace_entry([f"{key}: {lines[0]}" if lines[0] else f"{key}:", *lines[1:]])

    return follow


def write_key(*lines: str) -> Callable[[Hinted, re.Match[str]], None]:
    def follow(item: Hinted, match: re.Match[str]) -> None:
        key = match["key"]
        item.replace_entry([f"{key}: {lines[0]}" if lines[0] else f"{key}:", *lines[1:]], item.field_line(key))

    return follow


def write_bool(word: str) -> Callable[[Hinted, re.Match[str]], None]:
    return write_key(word)


def remove_field(which: str) -> Callable[[Hinted, re.Match[str]], None]:
    def follow(item: Hinted, match: re.Match[str]) -> None:
        item.replace_entry([], item.field_line(match[which]))

    return follow


def remove_character(item: Hinted, match: re.Match[str]) -> None:
    item.text = item.text.replace(chr(int(match["number"], 16)), "")


def remove_line(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    del lines[item.line]
    item.lines = lines


def quote_key(item: Hinted, match: re.Match[str]) -> None:
    lines = item.lines
    lines[item.line] = re.sub(r"^([^:]+(?:: [^:]+)?\}*)(?=: )", r"'\1'", lines[item.line])
    item.lines = lines


NAME_LINE = r"name: (?:\"[^\"`]+\"|[\w-]+)"
FIX = ", or run `prowess check --fix`"

FOLLOW: dict[str, tuple[Callable[[Hinted, re.Match[str]], None], ...]] = {
    rf"(?:write|add) `(?P<line>{NAME_LINE})`": (write_name,),
    rf"(?:write|add) `(?P<line>{NAME_LINE})`, and rename the folder to `(?P<folder>[\w-]+)`": (write_name,),
    rf"write `(?P<line>{NAME_LINE})`, or rename the folder to `(?P<other>[^`]+)`": (write_name, rename_folder),
    r"rename the folder to `(?P<folder>[\w-]+)`": (write_name,),
    r"choose another name, also for the folder": (another_name,),
    r'write `[^`]+: "[^`]*"`, in quotes': (quote_metadata,),
    r"write a name of `a` to `z`, digits and single hyphens, and give its folder the same name": (another_name,),
    r"(?:add `description:` and |write it as one text: )?say what the skill does and when to use it": (
        author_describes,
    ),
    r"shorten it to (?P<limit>[\d,]+) (?P<unit>characters|bytes of UTF-8|units of UTF-16)(?:, and move details .+)?": (
        shorten,
    ),
    r"remove them(?:: some clients show a description inside XML)?": (remove_from_description,),
    r"remove it: a language model may read it as the end of the text": (remove_tokens,),
    r"write the SPDX name of the license, such as `(?P<line>license: MIT)`": (write_line,),
    r"write (?:it|each) as one text(?: of at most 500 characters)?": (one_text,),
    r"write `key: value` lines below it": (key_values,),
    r"remove it, or write `key: value` lines below it": (remove_entry, key_values),
    r"write `(?P<line>allowed-tools: [^`]+)`": (write_line,),
    r"name the tools on one line, with blanks between them": (set_field("Read Grep"),),
    r"remove it, or name the tools on one line": (remove_entry, set_field("Read Grep")),
    r"write `allowed-tools`": (
        lambda item, _: setattr(item, "text", item.text.replace("allowed_tools", "allowed-tools")),
    ),
    r"remove it(?:: `allowed-tools` is there too)?": (remove_entry,),
    r"write `true` or `false`": (set_bool("true"), set_bool("false")),
    r"write `(?P<key>[\w-]+): true` or `(?P=key): false`, without quotes": (write_bool("true"), write_bool("false")),
    r"write `(?P<key>[\w-]+)` as a list, with a dash before each item": (write_key("", "  - a"),),
    r"write `(?P<key>[\w-]+)` as one line of text(?:, in quotes if it begins with `\[`)?": (write_key("a"),),
    r"write `key: value` lines below `metadata:`": (key_values,),
    r"remove `(?P<one>[\w-]+)` or `(?P<two>[\w-]+)`": (remove_field("one"), remove_field("two")),
    r"remove the character U\+(?P<number>[0-9A-F]+)": (remove_character,),
    r"write `true`": (set_bool("true"),),
    r"write `false`": (set_bool("false"),),
    r"write one word of text": (set_field("fork"),),
    r"write the name of an agent": (set_field("Explore"),),
    r"write the name of a model": (set_field("small"),),
    r"write one line of text, in quotes if it begins with `\[`": (set_field("'[file]'"),),
    r"write a list of glob patterns": (set_field("", "  - 'src/**'"),),
    r"write a list of maps with `type:`, or one line of text": (
        set_field("", "  - type: datetime"),
        set_field("Read, Grep"),
    ),
    r"write `env:`, `bins:` and `packages:`, each with a list of names": (
        set_field("", "  env: [API_KEY]", "  bins: [qpdf]", "  packages: [pypdf]"),
    ),
    r"put your own values below `metadata:`(?: as text)?": (move_to_metadata,),
    r"put your own values below `metadata:`, or remove it": (move_to_metadata, remove_entry),
    r"did you mean `(?P<name>\w+)`\?": (rename_key,),
    r"keep it for these agents, or remove it to follow the specification": (remove_entry,),
    r"write `(?P<line>policy: [^`]+)` into `(?P<file>[^`]+)` beside SKILL.md": (write_sidecar,),
    r"name what is needed, such as `(?P<tool>[^`]+)`; other agents ask as usual": (set_field("Bash(git log:*)"),),
    r"other agents do not run it; remove it if nothing should run": (remove_entry,),
    r"write what the agent should do": (write_body,),
    r"move details into files in `references/`": (move_body,),
    r"fix the link, or add the file": (add_linked_file,),
    r"put the file into the skill, and link to it there": (move_linked_file,),
    # the reader
    r"save it as UTF-8 without a byte order mark": (encode,),
    r"save the file as UTF-8": (encode,),
    r"remove every NUL byte: SKILL.md is a text file": (without_nul,),
    r"use LF or CRLF line ends": (line_feeds,),
    r"write the fields as YAML, below a line that is exactly `---`": (write_fields,),
    r"begin with `---`, then `name:` and `description:`, then `---`": (write_fields,),
    r"begin with `---`, then `name:` and `description:`, then `---`, then what the agent should do": (write_skill,),
    r"put a line that is exactly `---` above the first line": (fence_above,),
    r"put a line that is exactly `---` below line (?P<number>\d+)": (fence_below,),
    r"make line (?P<number>\d+) exactly `---`": (fence_in_line,),
    r"move (?:line (?P<only>1)|lines 1 to (?P<last>\d+)) below the front matter": (move_above,),
    r"move the text into (?:the body|files beside it)": (shrink,),
    r"write (?:both fences as )?exactly `---`": (exact_fence,),
    r"remove all control characters from the front matter": (remove_controls,),
    r"close every quote and bracket, or put the whole value in quotes": (close_quote,),
    r"put the whole value in quotes": (quote_value,),
    r"put the whole key in quotes": (quote_key,),
    r"remove this line": (remove_line,),
    r"indent with spaces": (spaces_for_tabs,),
    r"remove the dashes, and write each field on a line of its own": (remove_dashes,),
    r"write `name:` and `description:` instead": (write_fields,),
    r"remove the other one, in line (?P<number>\d+)": (remove_other,),
    r"write its value for each `\*([^`]+)`, and remove `&\1`": (replace_aliases,),
    r"put the value in quotes, or remove `(?P<name>&[^`]+)`": (quote_value, remove_anchor),
    r"write the value itself for `\*(?P<name>[^`]+)`": (replace_aliases,),
    r"put the value in quotes, without the tag": (quote_value,),
    r"remove the tag, or put it in quotes": (remove_tag, quote_value),
    r"keep data in a file beside SKILL.md": (drop_field,),
    # the file
    r"rename it to `(?P<name>SKILL\.md)`": (rename_file,),
    r"remove it: `SKILL.md` is there too": (remove_file,),
    r"put the file itself there": (put_file,),
    r"put a text file there": (put_file,),
}
"""Each hint about a SKILL.md, as a regular expression, and the ways to follow it; each must do."""


def ways(hint: str) -> list[tuple[Callable[[Hinted, re.Match[str]], None], re.Match[str]]]:
    """Return the ways to follow a hint.

    Raises:
        LookupError: the hint is unknown: add it to `FOLLOW`.
    """
    own = hint.removesuffix(FIX)
    found = [(follow, match) for pattern, follow in FOLLOW.items() if (match := re.fullmatch(pattern, own))]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of FOLLOW match the hint {hint!r}")
    ((follows, match),) = found
    return [(follow, match) for follow in (*follows, *((check_fix,) if own != hint else ()))]
