"""what all commands share -> parsers, words and tables

Data goes to stdout, words to stderr. Whatever comes from a file or a path passes `neutral` before a terminal sees it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from functools import lru_cache
from itertools import accumulate, takewhile

from prowess._internal.text import INVISIBLE_CHARACTERS, neutral
from prowess.findings import Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from prowess.catalog import Catalog, Filesystem

__all__ = [
    "catalog_from_args",
    "format_table",
    "print_error",
    "format_finding",
    "add_discovery_options",
    "make_parser",
    "pluralize",
    "print_json",
    "print_stderr",
    "skill_dirs",
    "main_help",
]


class _ArgumentParser(argparse.ArgumentParser):
    """Speaks like the rest of Prowess when it is used wrongly."""

    def error(self, message: str) -> Any:
        print_error(neutral(message), f"`{self.prog} --help` shows how it is used")
        self.exit(2)


def main_help() -> str:
    """Return the help of the whole command line."""
    from . import COMMANDS

    width = max(map(len, COMMANDS)) + 2
    lines = [
        "Agent Skills: every skill on a machine, what each agent would make of it, and why",
        "",
        "usage: prowess COMMAND ...",
        "",
    ]
    lines += [f"  {name:<{width}}{words}" for name, words in COMMANDS.items()]
    return "\n".join([*lines, "", "`prowess COMMAND --help` tells more; `prowess --version` prints the version", ""])


def make_parser(name: str, *, epilog: str = "") -> argparse.ArgumentParser:
    """Start a command's parser."""
    from . import COMMANDS

    words = COMMANDS[name]
    return _ArgumentParser(
        prog=f"prowess {name}",
        description=words[0].upper() + words[1:],
        epilog=epilog or None,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """The same width everywhere, so that help pages in the docs do not depend on a terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=100)


def add_discovery_options(parser: argparse.ArgumentParser, *, host: str = "one") -> None:
    """Add the options of every command that looks at skills.

    Args:
        parser: the command's.
        host: `one`, `many` or `none`: how often `--host` may be given.
    """
    group = parser.add_argument_group("where to look")
    if host != "none":
        group.add_argument(
            "--host",
            metavar="NAME",
            action="append" if host == "many" else "store",
            help="the agent whose rules count; `prowess hosts` lists them"
            + (" (repeatable)" if host == "many" else ""),
        )
    group.add_argument("--cwd", metavar="DIR", help="the folder the agent is started in (default: this one)")
    group.add_argument(
        "--home",
        metavar="DIR",
        help="the user's home (default: yours); variables that move a client's folders, such as CODEX_HOME, "
        "then do not count",
    )
    group.add_argument(
        "--skill-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="a further folder of skills (repeatable; also a path list in PROWESS_SKILL_DIR)",
    )
    group.add_argument("--role", metavar="FILE", help="an InitRunner role: its folder and its `auto_skills` count")
    group.add_argument(
        "--no-cache",
        action="store_true",
        help="read all files again, even if nothing has changed since the last time (also PROWESS_NO_CACHE=1)",
    )


def skill_dirs(args: argparse.Namespace) -> list[str]:
    """Return the directories the user named, options before the variable."""
    listed = os.environ.get("PROWESS_SKILL_DIR", "")
    return [*args.skill_dir, *(part for part in listed.split(os.pathsep) if part)]


def catalog_from_args(
    args: argparse.Namespace, host: str | None = None, filesystem: Filesystem | Callable[[], Filesystem] | None = None
) -> Catalog:
    """Return the catalog the options ask for.

    Raises:
        HostNotFoundError: there is no such host.
        ConfigError: a folder that was named is not there.
    """
    from prowess.catalog import discover
    from prowess.errors import ConfigError

    for option in ("cwd", "home"):
        value = getattr(args, option)
        if value is not None and not os.path.isdir(value):
            raise ConfigError(f"`--{option}` is not a folder: {neutral(value)}", hint="check the path")
    if args.role is not None and not os.path.isfile(args.role):
        raise ConfigError(f"`--role` is not a file: {neutral(args.role)}", hint="check the path")
    return discover(
        args.cwd or ".",
        host=host or getattr(args, "host", None) or "prowess",
        home=args.home,
        skill_dirs=skill_dirs(args),
        role=args.role,
        filesystem=filesystem,
        cache=not args.no_cache,
    )


def print_error(message: str, hint: str | None = None) -> None:
    """Say on stderr what went wrong, and what to do."""
    shown = "\n".join(map(neutral, message.split("\n")))
    print_stderr(f"error: {shown}")
    if hint:
        print_stderr(f"\nhint: {hint}")


def print_stderr(words: str) -> None:
    """Print words, not data: on stderr, whatever its encoding, after the data that came before them."""
    _flush_stdout()
    if sys.stderr is None:
        return
    try:
        _write(sys.stderr, "\n".join(map(_neutralize_ci_commands, words.split("\n"))))
        sys.stderr.flush()
    except OSError:
        # Words that nobody can read change nothing of what is done, nor how it ends.
        from contextlib import suppress

        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):
        return  # it comes again when all is done


def _write(stream: Any, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_stdout(text: str, *, command: bool = False) -> None:
    """Print a line of data on stdout, whatever its encoding; only a `command` may look like one to a CI system."""
    _write(sys.stdout, text if command else _neutralize_ci_commands(text))


def _neutralize_ci_commands(line: str) -> str:
    """Keep a line from being taken for a command by GitHub's runner: `::` at its beginning, `##[` anywhere."""
    if "::" not in line and "##[" not in line:
        return line
    return re.sub(r"^(\s*):(?=:)|#(?=#\[)", lambda mark: "\\x23" if mark[0] == "#" else f"{mark[1]}\\x3a", line)


_ESCAPED_PATTERN = f"[{INVISIBLE_CHARACTERS}]|#(?=#\\[)"


def print_untrusted_text(text: str) -> None:
    """Print a foreign text on stdout: its lines and tabs as they are, whatever else does not show as escapes."""
    for line in text.removesuffix("\n").split("\n"):
        print_stdout("\t".join(map(neutral, line.split("\t"))))


def print_untrusted_chunk(text: str) -> None:
    """Print a part of a foreign text as it comes, without ending the line."""
    lines = ("\t".join(map(neutral, line.split("\t"))) for line in text.split("\n"))
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write("\n".join(lines).encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def print_json(value: object) -> None:
    r"""Print data as JSON. A byte of a path that is not UTF-8 is written as `\\xNN`, so that the output is."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    # A terminal must not obey what a file says, so what does not show is left to JSON's own escapes.
    text = re.sub(_ESCAPED_PATTERN, lambda match: "\\u0023" if match[0] == "#" else json.dumps(match[0])[1:-1], text)
    sys.stdout.flush()
    out = re.sub("[\ud800-\udfff]", lambda match: json.dumps(neutral(match[0]))[1:-1], text).encode() + b"\n"
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(out.decode())
    else:
        buffer.write(out)


def pluralize(count: int, word: str) -> str:
    """Write a number of things: `1 skill`, `2 skills`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


@lru_cache(maxsize=4096)
def _char_width(character: str) -> int:
    import unicodedata

    return 2 if unicodedata.east_asian_width(character) in "WF" else not unicodedata.combining(character)


def display_width(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def truncate_or_pad(text: str, width: int) -> str:
    """Cut or pad a text to a number of cells."""
    if display_width(text) > width:
        taken = accumulate(map(_char_width, text))
        text = text[: sum(1 for _ in takewhile(lambda cells: cells < width, taken))] + "…"
    return text + " " * (width - display_width(text))


def terminal_width() -> int:
    """Return the width to lay tables out for: the terminal's, 100 where there is none."""
    if not sys.stdout.isatty():
        return 100
    # As `shutil.get_terminal_size` does; that module takes long to load.
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0 and sys.__stdout__ is not None:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    return max(columns, 60) if columns > 0 else 100


_MAX_COLUMN_WIDTH = 64
"""Cells of a column in a table that is cut: the longest name the specification allows."""


def format_table(rows: Iterable[Sequence[str]], *, fit_terminal: bool = True) -> list[str]:
    """Lay rows out as a table; the last column takes what is left of the terminal.

    Args:
        rows: of equal length; the first is the heading.
        fit_terminal: whether the last column is cut to the terminal, and the others where they are very wide.
    """
    rows = [[neutral(cell) for cell in row] for row in rows]
    if not rows:
        return []
    widths = [max(display_width(row[index]) for row in rows) for index in range(len(rows[0]))]
    if fit_terminal:
        widths = [min(width, _MAX_COLUMN_WIDTH) for width in widths[:-1]] + widths[-1:]
        left = terminal_width() - sum(widths[:-1]) - 2 * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(left, 20))
    return [
        "  ".join(truncate_or_pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


_SEVERITY_NAMES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}


def format_finding(item: Finding, *, base: str = "") -> list[str]:
    """Write a finding as people read it: where, how bad, what; the hint below."""
    path = item.path or ""
    if base and path.startswith(base + os.sep):
        path = path[len(base) + 1 :]
    place = ":".join(str(part) for part in (neutral(path), item.line, item.column) if part not in (None, ""))
    lines = [f"{place + ': ' if place else ''}{_SEVERITY_NAMES[item.severity]}: {neutral(item.message)} [{item.code}]"]
    if item.hint:
        lines.append(f"    hint: {neutral(item.hint)}")
    return lines
