"""prowess report: write which agents see which skills, what is lost and what to change as one page of HTML."""

from __future__ import annotations

import os
import sys

from prowess._internal.text import neutral
from prowess.errors import ConfigError

from ._agents import chosen_hosts
from ._commands import OK
from ._discovery import comparison_from_args, require_paths
from ._options import add_all_option, add_discovery_options, add_json_option, make_parser
from ._output import pluralize, print_json, print_stderr
from ._progress import ProgressLine
from ._write import require_folder_of, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_EPILOG = """\
The page is one file without scripts. It loads nothing, so it can be opened offline, attached to a build or sent by
mail. It shows paths below the home directory with `~`. The same skills give the same bytes. It needs Jinja2:
`pip install 'prowess[report]'`."""


def parser() -> ArgumentParser:
    """Return the command's parser."""
    result = make_parser("report", epilog=_EPILOG)
    result.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="write the page to this file, and replace the one that is there; `-` is stdout",
    )
    add_all_option(result)
    add_json_option(result, "print JSON: the path and the size of the file, the number of skills, the agents")
    add_discovery_options(result, host="many")
    return result


def run(args: Namespace) -> int:
    """Write the page."""
    require_paths(args, "cwd", "home", "role")
    to_stdout = args.output == "-"
    if to_stdout and args.json:
        raise ConfigError("`--json` needs a file: with `-o -`, stdout is the page", hint="use `-o skills.html --json`")
    if not to_stdout:
        require_folder_of("-o", args.output)
    from prowess.catalog import find_repository_skills
    from prowess.report import render_page

    hosts, note = chosen_hosts(args)
    progress = ProgressLine()
    found = find_repository_skills(args.cwd or ".", progress=progress.show_folders)
    files = [skill.path for skill in found.skills]
    comparison = comparison_from_args(args, hosts, files, progress.show_skills)
    progress.clear()
    try:
        page = render_page(comparison)
    except ImportError as error:
        raise ConfigError(str(error), hint="install the extra with the `pip` command above, then try again") from None
    if to_stdout:
        _print_page(page)
        return OK
    data = page.encode()
    write_file(args.output, data)
    if args.json:
        path = os.path.abspath(args.output)
        print_json({"path": path, "bytes": len(data), "skills": len(comparison.distinct), "hosts": [*comparison.hosts]})
        return OK
    counts = f"{pluralize(len(comparison.distinct), 'skill')}, {pluralize(len(comparison.hosts), 'agent')}"
    print_stderr(f"wrote {neutral(args.output)}: {counts}{f' ({note})' if note else ''}")
    return OK


def _print_page(page: str) -> None:
    """Write the page to stdout in UTF-8, as the page itself says, whatever the locale."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(page)
    else:
        buffer.write(page.encode())
