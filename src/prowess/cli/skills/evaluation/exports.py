"""Write what `prowess eval` found for other tools."""

from __future__ import annotations

import argparse
import os

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, open_fd, write_all
from prowess._internal.text import describe_os_error, did_you_mean, neutral, quoted
from prowess.cli._arguments import OptionalExtra
from prowess.cli._files import place_to_write, require_folder_of, write_file
from prowess.cli._output import encode_json
from prowess.errors import ConfigError
from prowess.evals import is_record, read_record, read_results

from .records import GRADE, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.cli._parser import Arguments
    from prowess.evals import Evals, Outcome, Recorded, Run
    from prowess.findings import Finding

FORMATS = {
    "agentskills": "a folder in the layout of agentskills and skill-creator: grading.json, benchmark.json",
    "badge": "a line for a badge of shields.io",
    "html": "a page with both answers side by side",
    "inspect": "a task of inspect-ai",
    "json": "what --json prints",
    "junit": "JUnit XML",
    "markdown": "two tables",
    "sarif": "SARIF of level 0",
}
_OF_RECORDS = ("agentskills", "html")
_OF_SKILLS = ("inspect", "sarif")


class Evaluated(Frozen):
    """What can be exported."""

    data: dict[str, object]
    """As `--json` has it."""
    evals: Evals
    """The cases of the plan."""
    runs: Sequence[Run] | None
    outcome: Outcome | None
    findings: tuple[Finding, ...] | None
    """Of level 0; `None` without the skill."""
    skill: Evals | None
    """The skill, if it is there and not only a record."""


def parse_export(text: str) -> tuple[str, str]:
    """Return the format and the path of `FORMAT=PATH`."""
    name, equals, path = text.partition("=")
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS, f"use one of {', '.join(FORMATS)}")
        raise argparse.ArgumentTypeError(f"unknown format {quoted(name)}; {hint}")
    if not equals or not path:
        raise argparse.ArgumentTypeError(f"must be FORMAT=PATH, such as {name}={name}.out")
    return name, path


def check_exports(args: Arguments, *, runs: bool, has_skill: bool) -> None:
    """Check before any work that all exports can be written.

    Args:
        args: of the command line.
        runs: whether there will be runs.
        has_skill: whether the skill is there, and not only a record.

    Raises:
        ConfigError: one cannot be.
    """
    for name, path in args.export:
        option = f"--export {name}"
        if name in _OF_RECORDS and not _has_record(args):
            raise ConfigError(f"`{option}` needs recorded runs", hint="add `--out DIR`, or use `--replay DIR`")
        if name in _OF_SKILLS and not has_skill:
            raise ConfigError(f"`{option}` needs the skill", hint=f"run `prowess eval SKILL {option}={neutral(path)}`")
        if name not in (*_OF_SKILLS, "json") and not runs:
            raise ConfigError(f"`{option}` needs runs", hint="add `--model` or `--via`, or `--replay DIR`")
        if name == "html":
            with OptionalExtra():
                import jinja2  # noqa: F401 - before anything runs
        if name == "agentskills":
            if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
                raise ConfigError(f"`{option}`: {neutral(path)} is not an empty folder", hint="name a new folder")
            place_to_write(option, path)
        else:
            require_folder_of(option, path)


def write_exports(args: Arguments, found: Evaluated) -> None:
    """Write all exports.

    Raises:
        ConfigError: one cannot be written.
    """
    for name, path in args.export:
        if name == "agentskills":
            _write_workspace(path, _recorded(args, found), found)
        else:
            write_file(f"--export {name}", path, _content(name, args, found))


def _content(name: str, args: Arguments, found: Evaluated) -> bytes:
    from prowess.evals import exports

    if name == "json":
        return encode_json(found.data)
    if name == "inspect":
        return exports.inspect_task(found.skill or found.evals)
    if name == "sarif":
        from prowess.checks import ReportedFinding
        from prowess.cli.skills._sarif import sarif

        reported = [ReportedFinding(finding=item) for item in found.findings or ()]
        return encode_json(sarif(reported, real_path(args.cwd or ".")))
    assert found.outcome is not None  # noqa: S101 - `check_exports` refuses the others
    if name == "html":
        from prowess.report import render_answers

        recorded = _recorded(args, found)
        with OptionalExtra():
            return render_answers(recorded, found.outcome, read_results(recorded)).encode()
    runs = found.runs or ()
    if name == "badge":
        return exports.badge(found.evals, found.outcome)
    return (exports.junit if name == "junit" else exports.markdown)(found.evals, found.outcome, runs)


def _record_folder(args: Arguments) -> str | None:
    """Return the folder of the record that the command reads or writes."""
    graded = args.words[1] if len(args.words) > 1 and args.words[0] == GRADE else None
    folder = args.out or args.resume or args.replay or graded
    return None if folder is None else path_of(folder)


def _has_record(args: Arguments) -> bool:
    """Return whether there is a record, or will be one: `--replay` may also name trajectories of another tool."""
    folder = _record_folder(args)
    return folder is not None and (args.replay is None or is_record(folder))


def _recorded(args: Arguments, found: Evaluated) -> Recorded:
    """Return the record, with the grades that this command has found."""
    recorded = read_record(_record_folder(args) or "")
    by_place = {(run.pair, run.arm): run for run in found.runs or ()}
    runs = tuple(by_place.get((run.pair, run.arm), run) for run in recorded.runs)
    return recorded.with_changes(runs=runs, evals=found.evals)


def _write_workspace(path: str, recorded: Recorded, found: Evaluated) -> None:
    from prowess.evals.exports import workspace_files

    assert found.outcome is not None  # noqa: S101 - `check_exports` refuses the others
    top, _ = place_to_write("--export agentskills", path)
    try:
        for name, data in workspace_files(recorded, found.outcome, read_results(recorded)):
            file = os.path.join(top, *name.split("/"))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open_fd(file, CREATE_FLAGS, 0o666) as fd:
                write_all(fd, data)
    except (OSError, ValueError) as error:
        message = f"`--export agentskills`: cannot write {neutral(path)}: {describe_os_error(error)}"
        raise ConfigError(message, hint="remove the folder, and free disk space or fix its permissions") from None
