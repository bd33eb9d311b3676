"""prowess read: print a file of a skill."""

from __future__ import annotations

from prowess.errors import ConfigError

from ._commands import OK
from ._discovery import catalog_from_args
from ._options import add_discovery_options, add_json_option, make_parser
from ._output import print_json, print_stderr, print_untrusted_text
from ._skills import find_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
FILE must be a text file inside the skill's folder. Links are not followed."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("read", epilog=_EPILOG)
    result.add_argument("name", metavar="NAME", help="the skill")
    result.add_argument("file", metavar="FILE", help="the path of the file, relative to the skill's folder")
    result.add_argument("--offset", metavar="N", default="0", help="start at byte N (default: 0)")
    result.add_argument("--limit", metavar="N", default="32768", help="read at most N bytes (default: 32768)")
    add_discovery_options(result)
    add_json_option(result, "print JSON: the text, its offset and the size of the file")
    return result


def run(args: argparse.Namespace) -> int:
    """Print a part of the file."""
    from prowess.session import files_provider, read_remote_text, read_text, resource_folder

    offset, limit = _parse_byte_count(args.offset, "--offset", 0), _parse_byte_count(args.limit, "--limit", 1)
    catalog = catalog_from_args(args, reference=args.name)
    entry = find_skill(catalog, args.name)
    if (provider := files_provider(catalog, entry)) is not None:
        part = read_remote_text(provider, entry, args.file, offset=offset, limit=limit)
    else:
        part = read_text(resource_folder(entry), args.file, offset=offset, limit=limit)
    if args.json:
        print_json({"name": entry.name, **part.as_dict()})
        return OK
    if part.text:
        print_untrusted_text(part.text)
    if offset and offset >= part.size:
        print_stderr(f"nothing to read at `--offset {offset}`: the file has {part.size:,} bytes")
    if part.next_offset is not None:
        print_stderr(f"the file has {part.size:,} bytes; continue with `--offset {part.next_offset}`")
    return OK


def _parse_byte_count(text: str, option: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise ConfigError(f"`{option}` takes a number of bytes, {least} or more", hint=f"for example `{option} 4096`")
    return int(text)
