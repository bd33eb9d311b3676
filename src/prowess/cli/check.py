"""prowess check: report problems in skills, and fix some of them."""

from __future__ import annotations

import os
import sys

from prowess._internal.files import real_path
from prowess._internal.text import describe_os_error, neutral
from prowess.catalog import Filesystem, Report, find_repository_skills, find_skill_files, git_root, report
from prowess.errors import ConfigError, SkillFileError
from prowess.findings import Severity

from ._accepting import AcceptRules, accepted_counts, add_accept_options, print_accepted_notes
from ._agents import chosen_hosts
from ._commands import FAILED, OK
from ._discovery import catalog_from_args, client_arguments, require_paths, skill_dirs
from ._losses import describe_losses, lost_counts, summarize_losses
from ._options import NO_SKILLS_HINT, add_all_option, add_allow_empty_option, add_discovery_options, make_parser
from ._output import evidence_json, pluralize, print_error, print_evidence_note, print_json, print_stderr, print_stdout
from ._progress import ProgressLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from prowess.catalog import Accepted

FORMATS = ("text", "json", "sarif", "github", "gitlab")


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "check",
        epilog="Exit codes: 0 no errors; 1 errors found (with --strict also warnings), or no skills found.",
    )
    result.add_argument(
        "path",
        metavar="PATH",
        nargs="*",
        help="a SKILL.md, a single-file skill NAME.md, the folder of a skill, or a folder that contains skills "
        "(default: every skill of the repository, and those that agents find from here)",
    )
    result.add_argument(
        "--policy",
        choices=("spec", "guide"),
        default="guide",
        help="`spec`: follow agentskills.io strictly; `guide`: accept whatever can be loaded (the default)",
    )
    result.add_argument(
        "--fix", action="store_true", help="first fix in the files what can be fixed without changing the meaning"
    )
    result.add_argument("--format", choices=FORMATS, default="text", help="the output format (default: text)")
    result.add_argument("--json", dest="format", action="store_const", const="json", help="the same as `--format json`")
    result.add_argument("--strict", action="store_true", help="also fail on warnings")
    result.add_argument(
        "--quiet", action="store_true", help="print only the findings that cause a failure, and no summary"
    )
    add_allow_empty_option(result)
    add_accept_options(result)
    add_all_option(result)
    add_discovery_options(result, host="many")
    return result


def run(args: Namespace) -> int:
    """Check skills, after fixing them if `--fix` is given."""
    require_paths(args, "cwd", "home", "role")
    if "" in args.path:
        raise ConfigError(
            "a path is empty", hint="an unset variable of a shell is an empty path; `.` checks everything here"
        )
    rules = AcceptRules(args)
    fixed, fix_failed = _fix_files(args) if args.fix else ([], False)
    progress = ProgressLine()
    agents, note = chosen_hosts(args)
    result = report(
        args.path or None,
        policy=args.policy,
        hosts=args.host or (),
        agents=agents,
        cwd=args.cwd or ".",
        home=args.home,
        skill_dirs=skill_dirs(args),
        role=args.role,
        client_args=client_arguments(args),
        progress=progress.show_checked,
    )
    progress.clear()
    failing = (Severity.ERROR, Severity.WARNING) if args.strict else (Severity.ERROR,)
    accepted = rules.accept(result.findings, result.skills)
    result = result.with_changes(findings=accepted.counting)
    if args.format in ("json", "sarif", "gitlab"):
        print_json(_report_data(args, result, accepted, rules.base, failing, fixed))
        print_accepted_notes(accepted, quiet=args.quiet)
    else:
        _print_report(args, result, accepted, rules.base, failing, note)
    # A path without skills is a finding.
    if not result.skills and not args.path and not args.allow_empty:
        if not args.quiet:
            print_stderr(f"\nhint: {NO_SKILLS_HINT}")
        return FAILED
    return FAILED if fix_failed or any(item.severity in failing for item in result.findings) else OK


def _report_data(
    args: Namespace,
    result: Report,
    accepted: Accepted,
    base: str,
    failing: tuple[str, ...],
    fixed: list[tuple[str, tuple[str, ...]]],
) -> object:
    """Return the report in a format for programs."""
    reported = accepted.findings
    if args.quiet:
        reported = tuple(item for item in reported if item.kind is None and item.finding.severity in failing)
    if args.format == "sarif":
        from ._sarif import sarif

        return sarif(reported, base)
    if args.format == "gitlab":
        from ._formats import gitlab

        return gitlab(reported, base)
    value: dict[str, object] = {
        "root": base,
        "findings": [
            {**item.finding.as_dict(), "agents": [*item.finding.agents], "fingerprint": item.fingerprint}
            for item in reported
            if item.kind is None
        ],
        "counts": {**result.counts, "ignored": accepted.ignored, "baseline": accepted.in_baseline},
        **_comparison_json(result),
    }
    if args.fix:
        value["fixed"] = [{"path": path, "done": list(done)} for path, done in fixed]
    return value


def _print_report(
    args: Namespace, result: Report, accepted: Accepted, base: str, failing: tuple[str, ...], note: str | None
) -> None:
    cwd = real_path(args.cwd or ".")
    shown = [item for item in result.findings if item.severity in failing] if args.quiet else list(result.findings)
    from . import _formats as formats

    lines = formats.github(shown, base) if args.format == "github" else formats.text(shown, cwd)
    for line in lines:
        print_stdout(line, command=args.format == "github")
    if args.quiet:
        return
    described = _print_losses(args, result, first=not shown) if args.format == "text" else False
    if (shown or described) and args.format == "text" and sys.stdout.isatty():
        print_stderr("")
    print_accepted_notes(accepted)
    print_stderr(_summary(result, accepted))
    if result.comparison is not None and result.comparison.skills:
        counts = lost_counts(result.comparison, text_only=bool(args.path))
        summary = summarize_losses(counts, len(result.comparison.distinct), text_only=bool(args.path))
        print_stderr(f"{summary} ({note})" if note else summary)
        print_evidence_note(result.comparison.hosts)


def _print_losses(args: Namespace, result: Report, *, first: bool) -> bool:
    """Print the losses that no finding describes; return whether there are any."""
    # A path asks about the text of its skills, not about where they are.
    if result.comparison is None or args.path:
        return False
    lines = [*describe_losses(result.comparison, text=False)]
    if lines and not first:
        print_stdout("")
    for line in lines:
        print_stdout(line)
    return bool(lines)


def _comparison_json(result: Report) -> dict[str, object]:
    """Return what the agents see of each skill, by its path, and how many skills each of them loses."""
    if result.comparison is None:
        return {}
    return {
        "hosts": {
            skill.path: {host: view.as_dict() for host, view in skill.views.items()}
            for skill in result.comparison.skills
        },
        "lost": lost_counts(result.comparison),
        "evidence": evidence_json(result.comparison.hosts),
    }


def _summary(result: Report, accepted: Accepted) -> str:
    counts = result.counts
    parts = [pluralize(counts[key], word) for key, word in (("error", "error"), ("warning", "warning")) if counts[key]]
    parts += [f"{counts['info']} info"] if counts["info"] else []
    if not counts["skills"]:
        return ": ".join(["no skills found", *filter(None, [", ".join(parts + accepted_counts(accepted))])])
    parts = (parts or ["no problems"]) + accepted_counts(accepted)
    return f"{pluralize(counts['skills'], 'skill')} checked: {', '.join(parts)}"


def _fix_files(args: Namespace) -> tuple[list[tuple[str, tuple[str, ...]]], bool]:
    """Fix the files; return what was done to each, and whether one could not be written."""
    from prowess.skill import fix_file

    fixed: list[tuple[str, tuple[str, ...]]] = []
    failed = False
    cwd = real_path(args.cwd or ".")
    for path, top in dict(_files_to_fix(args)).items():
        try:
            new_path, done = fix_file(path, top=top)
        except SkillFileError as error:
            print_error(f"cannot fix {neutral(path)}: {error}", error.hint)
            failed = True
            continue
        except OSError as error:
            reason = neutral(describe_os_error(error))
            hint = "fix the permissions of its folder, or free disk space"
            print_error(f"cannot fix {neutral(path)}: {reason}", hint)
            failed = True
            continue
        if done:
            fixed.append((new_path, done))
            shown = new_path[len(cwd) + 1 :] if new_path.startswith(cwd + os.sep) else new_path
            print_stderr(f"fixed {neutral(shown)}: {neutral(', '.join(done))}")
    return fixed, failed


def _files_to_fix(args: Namespace) -> Iterator[tuple[str, str]]:
    """Yield the files to fix, each with the folder whose links must not be followed.

    These are the files in the named paths, or else those of the repository and the project itself, not of its links.
    """
    if args.path:
        for path in args.path:
            path = os.path.abspath(os.path.join(args.cwd or ".", os.path.expanduser(path)))
            top = path if os.path.isdir(path) else os.path.dirname(path)
            yield from ((file, top) for file in find_skill_files(path)[0])
        return
    repository = find_repository_skills(args.cwd or ".")
    yield from ((skill.path, repository.top) for skill in repository.skills)
    filesystem, skipped = Filesystem(), 0
    for host in args.host or ["prowess"]:
        catalog = catalog_from_args(args, host=host, filesystem=filesystem)
        project = git_root(catalog.cwd) or catalog.cwd
        for entry in catalog.skills:
            top = entry.root if entry.scope == "extra" else project
            path_without_links = os.path.join(real_path(top), os.path.relpath(entry.path, top))
            if entry.path.startswith(top + os.sep) and real_path(entry.path) == path_without_links:
                yield entry.path, top
            else:
                skipped += 1
    if skipped:
        print_stderr(f"{pluralize(skipped, 'skill')} outside the project not fixed; to fix one, name its path")
