"""prowess read: print a file of a skill."""

from __future__ import annotations

from prowess.cli._arguments import catalog_from_args
from prowess.cli._output import Message, Result, Untrusted
from prowess.cli._references import find_skill
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.cli._parser import Arguments, Parser

EPILOG = "FILE must be a text file inside the skill's folder. Links are not followed."


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("name", "NAME", "the skill")
    parser.argument("file", "FILE", "the path of the file, relative to the skill's folder")
    parser.value("--offset", "N", "start at byte N (default: 0)", default="0")
    parser.value("--limit", "N", "read at most N bytes (default: 32768)", default="32768")
    parser.discovery()
    parser.add_json("print JSON: the text, its offset and the size of the file")


def run(args: Arguments) -> Result:
    """Return a part of the file."""
    from prowess.session import files_provider, read_remote_text, read_text, resource_folder

    offset, limit = _parse_byte_count(args.offset, "--offset", 0), _parse_byte_count(args.limit, "--limit", 1)
    catalog = catalog_from_args(args, reference=args.name)
    entry = find_skill(catalog, args.name)
    if (provider := files_provider(catalog, entry)) is not None:
        part = read_remote_text(provider, entry, args.file, offset=offset, limit=limit)
    else:
        part = read_text(resource_folder(entry), args.file, offset=offset, limit=limit)

    def text() -> Iterator[str]:
        if part.text:
            yield Untrusted(part.text)
        if offset and offset >= part.size:
            yield Message(f"nothing to read at `--offset {offset}`: the file has {part.size:,} bytes")
        if part.next_offset is not None:
            yield Message(f"the file has {part.size:,} bytes; continue with `--offset {part.next_offset}`")

    return Result({"name": entry.name, **part.as_dict()}, text())


def _parse_byte_count(text: str, option: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise ConfigError(f"`{option}` takes a number of bytes, {least} or more", hint=f"for example `{option} 4096`")
    return int(text)
