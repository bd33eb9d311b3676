"""a name + a path -> a file of that skill"""

from __future__ import annotations

from prowess.errors import ConfigError

from ._options import (
    add_discovery_options,
    catalog_from_args,
    make_parser,
    print_json,
    print_stderr,
    print_untrusted_text,
)

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
    add_discovery_options(result)
    result.add_argument("--json", action="store_true", help="print JSON: the text, its place and the file's size")
    return result


def run(args: argparse.Namespace) -> int:
    """Print a part of a file."""
    from prowess.session import read_text, resource_folder

    offset, limit = _parse_byte_count(args.offset, "--offset", 0), _parse_byte_count(args.limit, "--limit", 1)
    entry = catalog_from_args(args).resolve(args.name)
    found = read_text(resource_folder(entry), args.file, offset=offset, limit=limit)
    if args.json:
        print_json({"name": entry.name, **found.as_dict()})
        return 0
    if found.text:
        print_untrusted_text(found.text)
    if found.next_offset is not None:
        print_stderr(f"{found.size:,} bytes in all; read on with `--offset {found.next_offset}`")
    return 0


def _parse_byte_count(text: str, option: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) >= least):
        raise ConfigError(f"`{option}` takes a number of bytes, {least} or more", hint=f"for example `{option} 4096`")
    return int(text)
