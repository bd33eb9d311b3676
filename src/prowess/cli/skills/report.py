"""prowess report: write which agents see which skills, what is lost and what to change as one page of HTML."""

from __future__ import annotations

import os
import sys

from prowess._internal.text import neutral
from prowess.cli._arguments import OptionalExtra, chosen_hosts, comparison_from_args, question_from_args, require_paths
from prowess.cli._commands import OK
from prowess.cli._files import require_folder_of, write_file
from prowess.cli._output import Message, ProgressLine, Result, pluralize
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.cli._parser import Arguments, Parser

EPILOG = """\
The page is one file without scripts. It loads nothing, so it can be opened offline, attached to a build or sent by
mail. It shows paths below the home directory with `~`. The same skills give the same bytes. It needs Jinja2,
which the extra `report` installs."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    output = "write the page to this file, and replace the one that is there; `-` is stdout"
    parser.value("-o", "--output", "FILE", output, required=True)
    parser.flag("--usage", "add which skills were used in the last 30 days, week by week (see `prowess usage`)")
    parser.add_all()
    parser.add_json("print JSON: the path and the size of the file, the number of skills, the agents")
    parser.discovery(host="many")


def run(args: Arguments) -> Result | int:
    """Write the page."""
    require_paths(args, "cwd", "home", "role")
    to_stdout = args.output == "-"
    if to_stdout and args.json:
        raise ConfigError("`--json` needs a file: with `-o -`, stdout is the page", hint="use `-o skills.html --json`")
    if not to_stdout:
        require_folder_of("-o", args.output, [args.cwd or "."])
    from prowess.find import find_repository_skills
    from prowess.report import render_page
    from prowess.visibility import find_offer

    hosts, note = chosen_hosts(args)
    progress = ProgressLine()
    found = find_repository_skills(args.cwd or ".", progress=progress.show_folders)
    files = [skill.path for skill in found.skills if not skill.inside]
    comparison = comparison_from_args(args, hosts, files, progress.show_skills)
    progress.clear()
    offer, more = find_offer(comparison, found.skills), ""
    if offer is not None and offer.counted is not None:
        comparison, more = offer.counted, f"{offer.sentence}."
    usage = None
    if args.usage:
        from .usage import collect_usage

        usage, _ = collect_usage(args, question_from_args(args))
    with OptionalExtra():
        page = render_page(comparison, note=more, usage=usage)
    if to_stdout:
        _print_page(page)
        return OK
    data = page.encode()
    write_file("-o", args.output, data, [args.cwd or "."])
    skills, path = len(comparison.distinct), os.path.abspath(args.output)
    counts = f"{pluralize(skills, 'skill')}, {pluralize(len(comparison.hosts), 'agent')}"
    return Result(
        {"path": path, "bytes": len(data), "skills": skills, "hosts": comparison.hosts, "kinds": comparison.kinds},
        [Message(f"wrote {neutral(args.output)}: {counts}{f' ({note})' if note else ''}")],
    )


def _print_page(page: str) -> None:
    """Write the page to stdout in UTF-8, as the page itself says, whatever the locale."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(page)
    else:
        buffer.write(page.encode())
