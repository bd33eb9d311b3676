"""a name + a path -> a file of that skill"""

from __future__ import annotations

from prowess.errors import ConfigError

from .common import catalog_of, look_arguments, make_parser, print_json, say, tell_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

_EPILOG = """\
FILE is relative to the skill's folder. Only text files inside that folder are read, and no link is followed."""


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    result = make_parser("read", epilog=_EPILOG)
    result.add_argument("name", metavar="NAME", help="the skill")
    result.add_argument("file", metavar="FILE", help="the file, relative to the skill's folder")
    result.add_argument("--offset", metavar="N", default="0", help="begin with byte N (default: 0)")
    result.add_argument("--limit", metavar="N", default="32768", help="read at most N bytes (default: 32768)")
    look_arguments(result)
    result.add_argument("--json", action="store_true", help="print JSON: the text, its place and the file's size")
    return result


def run(args: argparse.Namespace) -> int:
    """Print a part of a file."""
    from prowess.resources import files_of, read_text

    offset, limit = _number(args.offset, "--offset", 0), _number(args.limit, "--limit", 1)
    entry = catalog_of(args).resolve(args.name)
    found = read_text(files_of(entry), args.file, offset=offset, limit=limit)
    if args.json:
        print_json({"name": entry.name, **found.as_dict()})
        return 0
    if found.text:
        tell_lines(found.text)
    if found.next_offset is not None:
        say(f"{found.size:,} bytes in all; read on with `--offset {found.next_offset}`")
    return 0


def _number(text: str, option: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise ConfigError(f"`{option}` takes a number of bytes, {least} or more", hint=f"for example `{option} 4096`")
    return int(text)
