"""prowess check: report problems in skills, and fix some of them."""

from __future__ import annotations

import os
import sys

from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import EMPTY
from prowess._internal.inside import OutsideError, real_output_path
from prowess._internal.text import describe_os_error, neutral
from prowess.checks import (
    Report,
    absolute_paths,
    accept_findings,
    find_skill_files,
    option_rules,
    project_rules,
    read_baseline,
    read_code,
    report,
    selected_codes,
)
from prowess.cli._arguments import (
    catalog_from_args,
    chosen_hosts,
    print_for_question,
    question_from_args,
    require_paths,
)
from prowess.cli._commands import FAILED, NO_SKILLS_HINT, OK
from prowess.cli._losses import MAX_GROUPS, describe_losses, rejected_counts, summarize_kinds, summarize_rejections
from prowess.cli._output import (
    CiCommand,
    Message,
    ProgressLine,
    Result,
    evidence_json,
    evidence_notes,
    note,
    pluralize,
    print_error,
    print_lines,
    print_result,
    print_stderr,
    wrap_for_terminal,
)
from prowess.errors import ConfigError, SkillFileError
from prowess.filesystem import Filesystem, git_root
from prowess.find import find_repository_skills
from prowess.findings import GROUPS, Severity
from prowess.visibility import InstalledSkills, named_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.checks import Accepted
    from prowess.cli._parser import Arguments, Parser
    from prowess.filesystem import Question
    from prowess.findings import Finding

FORMATS = ("text", "json", "sarif", "github", "gitlab", "markdown")
EPILOG = "Exit codes: 0 no errors; 1 errors found (with --strict also warnings), or no skills found."
_MAX_NOTES = 20
_MAX_KIND_CHARS = 2_000
"""Characters of a body that say what kind of skill it is."""
_MAX_IN_FULL = 8
"""More findings than these are shown by kind on a terminal."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument(
        "path",
        "PATH",
        "a SKILL.md, a single-file skill NAME.md, the folder of a skill, a folder that contains skills, or a file "
        "`.skill` or `.zip` "
        "(default: every skill of the repository, and those that agents find from here)",
        nargs="*",
    )
    parser.add_argument(
        "--policy",
        choices=("spec", "guide"),
        default="guide",
        help="`spec`: follow agentskills.io strictly; `guide`: accept whatever can be loaded (the default)",
    )
    parser.flag("--fix", "first fix in the files what can be fixed without changing the meaning")
    parser.add_argument("--format", choices=FORMATS, default="text", help="the output format (default: text)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as `--format json`")
    parser.flag("--strict", "also fail on warnings")
    parser.flag("--full", "print every loss, and every finding on a terminal too (elsewhere they always are)")
    parser.flag("--quiet", "print only the findings that cause a failure, and no summary")
    parser.add_allow_empty()
    group = parser.group("which findings count")
    baseline = "accept the findings in this file, which `prowess check --json` wrote: only new ones count"
    group.value("--baseline", "FILE", baseline)
    against = "report only what a change does: what is new since this commit, or in comparison with this folder"
    group.value("--against", "REF", against)
    select = f"report only these findings: a code, or a group ({', '.join(GROUPS)}; repeatable)"
    group.values("--select", "RULE", select)
    group.values("--ignore", "RULE", "ignore these findings: a code, or a group (repeatable)")
    group.value("--explain", "CODE", "print what a code means and how to fix it, and with PATH what was found there")
    parser.add_all()
    parser.discovery(host="many")


def run(args: Arguments) -> Result | int:
    """Check skills, after fixing them if `--fix` is given."""
    require_paths(args, "cwd", "home", "role")
    if "" in args.path:
        raise ConfigError(
            "a path is empty", hint="an unset variable of a shell is an empty path; `.` checks everything here"
        )
    args.json = args.format in ("json", "sarif", "gitlab")
    if args.explain is not None:
        from ._explain_rule import explanation

        code = read_code(args.explain, "`--explain`")
        status = print_result(explanation(code, _first_text(args)), is_json=args.json)
        if not args.path or args.json:
            return status
        print_lines([""])
        args.select = [code]
    question, hosts = question_from_args(args), chosen_hosts(args)
    if args.against is None and args.format == "markdown":
        raise ConfigError("`--format markdown` needs `--against`", hint="name the commit before the change")
    if args.against is not None and (args.path or args.fix or args.format in ("sarif", "github", "gitlab")):
        hint = "leave the paths and `--fix` out, and choose `text`, `json` or `markdown`"
        raise ConfigError("`--against` compares the whole repository", hint=hint)
    if any(path.lower().endswith((".skill", ".zip")) for path in args.path):
        return _check_archives(args, hosts, question)
    # A fix changes what is checked, and lines for GitHub must not be mistaken for data.
    if args.path or args.fix or args.baseline is not None or args.against is not None or args.format == "github":
        return _check(args, hosts, question, Filesystem())
    names = ("format", "policy", "strict", "full", "all", "quiet", "select", "ignore", "allow_empty", "host", "cwd")
    purpose = f"check {[getattr(args, name) for name in names]} {hosts}"
    return print_for_question(args, question, purpose, lambda *recorded: _check(args, hosts, *recorded))


def _check_archives(args: Arguments, hosts: tuple[list[str], str | None], question: Question) -> Result:
    """Check paths of which some are called like archives."""
    from prowess.cli._archives import say_of_archives, unpacked_paths

    with unpacked_paths(absolute_paths(args.path, args.cwd or ".")) as (paths, archives):
        if archives and args.fix:
            hint = "unpack it, fix the folder, and publish it again: `prowess publish FOLDER NAME.skill`"
            raise ConfigError(f"cannot fix {neutral(args.path[0])}: it is an archive", hint=hint)
        args.path = paths if archives else args.path
        result = _check(args, hosts, question, Filesystem(), archives)
        return say_of_archives(result, archives, real_path(args.cwd or "."))


def _first_text(args: Arguments) -> str | None:
    """Return the name, the description and the beginning of the body of the first skill that is named."""
    from prowess.skill import load

    for path in absolute_paths(args.path[:1], args.cwd or "."):
        for file in find_skill_files(path)[0][:1]:
            skill = load(file)
            return f"{skill.name} {skill.description} {skill.body[:_MAX_KIND_CHARS]}"
    return None


def _check(
    args: Arguments,
    hosts: tuple[list[str], str | None],
    question: Question,
    filesystem: Filesystem,
    archives: Mapping[str, str] = EMPTY,
) -> Result:
    """Return the report, after fixing the files if that is asked for.

    Args:
        args: of the command.
        hosts: the agents, and a note about them.
        question: where they are started.
        filesystem: what was read so far.
        archives: by the folder of what is in it, each archive that is checked.
    """
    cwd, home = filesystem.real(args.cwd or "."), filesystem.real(args.home or os.path.expanduser("~"))
    base = git_root(cwd, filesystem=filesystem) or cwd
    project, selected = project_rules(base, filesystem), selected_codes(args.select)  # before anything is checked
    rules = (*option_rules(args.ignore), *project.ignore)
    baseline = None if args.baseline is None else read_baseline(args.baseline)
    fixed, fix_failed = _fix_files(args) if args.fix else ([], False)
    progress = ProgressLine()
    agents, agents_note = hosts
    result = report(
        question,
        absolute_paths(args.path, args.cwd or ".") or None,
        policy=args.policy,
        hosts=args.host or (),
        agents=agents,
        progress=progress.show_checked,
        filesystem=filesystem,
        advise=True,
    )
    result = _with_evals(result, filesystem)
    result = _of_archives(result, archives)
    progress.clear()
    failing = (Severity.ERROR, Severity.WARNING) if args.strict else (Severity.ERROR,)
    accepted = accept_findings(
        result.findings,
        base=base,
        home=home,
        skills=result.skills,
        rules=rules,
        severity=project.severity,
        select=selected,
        baseline=baseline,
        identify=args.json,
        whole=not args.path,
        filesystem=filesystem,
    )
    result = result.with_changes(findings=accepted.counting)
    if args.against is not None:
        from ._changes import changes_result

        return changes_result(args, agents, result, accepted.counting, failing)
    # A path without skills is a finding.
    is_empty = not (result.skills or args.path or args.allow_empty)
    has_failed = is_empty or fix_failed or any(item.severity in failing for item in result.findings)
    notes = [*_accepted_notes(accepted)] if args.json else []
    return Result(
        lambda: _report_data(args, result, accepted, base, failing, fixed),
        _report_lines(args, result, accepted, base, failing, agents_note),
        FAILED if has_failed else OK,
        () if args.quiet else [*notes, *([Message(NO_SKILLS_HINT)] if is_empty else [])],
    )


def _of_archives(result: Report, archives: Mapping[str, str]) -> Report:
    """Return a report whose files are called by the archive that they are in, as in the next check."""
    found, skills = [*result.findings], [*result.skills]
    for folder, archive in archives.items():
        found = [
            item.with_changes(
                path=item.path and item.path.replace(folder, archive),
                message=item.message.replace(folder, archive),
                hint=item.hint and item.hint.replace(folder, archive),
            )
            for item in found
        ]
        skills = [path.replace(folder, archive) for path in skills]
    return result.with_changes(findings=tuple(found), skills=tuple(skills)) if archives else result


def _with_evals(result: Report, filesystem: Filesystem) -> Report:
    """Return the report with what is wrong in the evals of its skills, and what they plainly lack."""
    found: list[Finding] = []
    for path in result.skills:
        if os.path.basename(path) == SKILL_FILE and any(
            name.startswith("evals/") or name.endswith(("eval.yaml", "eval.yml")) for name, _ in filesystem.files(path)
        ):
            from prowess.evals import check_evals, read_evals

            filesystem.mark_incomplete()  # fixtures may be anywhere in the repository
            found += check_evals(read_evals(os.path.dirname(path)))
    return result.with_changes(findings=(*result.findings, *found)) if found else result


def _report_data(
    args: Arguments,
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
            {
                **item.finding.as_dict(),
                "group": item.finding.group,
                "agents": [*item.finding.agents],
                "fingerprint": item.fingerprint,
                "also": [
                    {
                        "path": other.finding.path,
                        "line": other.finding.line,
                        "column": other.finding.column,
                        "fingerprint": other.fingerprint,
                    }
                    for other in item.also
                ],
            }
            for item in reported
            if item.kind is None
        ],
        "counts": {**result.counts, "ignored": accepted.ignored, "baseline": accepted.in_baseline},
        **_comparison_json(result),
    }
    if args.fix:
        value["fixed"] = [{"path": path, "done": list(done)} for path, done in fixed]
    return value


def _report_lines(
    args: Arguments, result: Report, accepted: Accepted, base: str, failing: tuple[str, ...], agents_note: str | None
) -> Iterator[str]:
    """Yield the report as text, or as commands for GitHub."""
    from . import _formats as formats

    shown = [item for item in result.findings if item.severity in failing] if args.quiet else list(result.findings)
    is_cut = False
    if args.format == "github":
        yield from map(CiCommand, formats.github(shown, base))
    elif is_cut := sys.stdout.isatty() and len(shown) > _MAX_IN_FULL and not (args.full or args.all):
        yield from formats.grouped(shown, real_path(args.cwd or "."))
    else:
        yield from formats.text(shown, real_path(args.cwd or "."))
    if args.quiet:
        return
    offer, losses = result.offer, list[str]()
    comparison = result.comparison if offer is None else offer.others
    # A path asks about the text of its skills, not about where they are.
    if args.format == "text" and comparison is not None and not args.path:
        limit = None if args.full or args.all else MAX_GROUPS
        losses = [*describe_losses(comparison, text=False, limit=limit)]  # those that no finding describes
    yield from ["", *losses] if losses and shown and not is_cut else losses
    if (shown or losses) and args.format == "text" and sys.stdout.isatty():
        yield Message("")
    yield from _accepted_notes(accepted)
    all_of_them = "; `prowess check --full` shows each" if is_cut else ""
    yield from map(Message, wrap_for_terminal(f"{_summary(result, accepted)}{all_of_them}"))
    if offer is not None:
        from prowess.cli._first_screen import add_command

        command, what = add_command(offer)
        more = result.counts["skills"] - len(offer.skills) - len(offer.others.skills)
        one = "is a copy, or is inside another skill"
        copies = f"; {more:,} more {one if more == 1 else 'are copies, or are inside other skills'}" if more > 0 else ""
        yield from map(Message, wrap_for_terminal(f"{offer.sentence}{copies}; `{command}` installs {what}", "  "))
    if comparison is not None and comparison.skills:
        if args.path:
            summary = [summarize_rejections(rejected_counts(comparison), len(comparison.distinct))]
        else:
            summary = [*summarize_kinds(comparison)]
        first = f"{summary[0]} ({agents_note})" if agents_note else summary[0]
        yield from (Message(line) for each in (first, *summary[1:]) for line in wrap_for_terminal(each))
        yield from evidence_notes(comparison.hosts)


def _comparison_json(result: Report) -> dict[str, object]:
    """Return what the agents see of each skill, by its path, and how many skills each of them loses."""
    counted = result.counted
    if result.comparison is None or counted is None:
        return {}
    return {
        "hosts": {
            skill.path: {host: view.as_dict() for host, view in skill.views.items()}
            for skill in result.comparison.skills
        },
        "lost": {host: len(counted.lost(host)) for host in counted.hosts},
        "kinds": counted.kinds,
        "offered": [] if result.offer is None else [skill.path for skill in result.offer.skills],
        "evidence": evidence_json(result.comparison.hosts),
    }


def _summary(result: Report, accepted: Accepted) -> str:
    counts = result.counts
    parts = [pluralize(counts[key], word) for key, word in (("error", "error"), ("warning", "warning")) if counts[key]]
    parts += [f"{counts['info']} info"] if counts["info"] else []
    if not counts["skills"]:
        return ": ".join(["no skills found", *filter(None, [", ".join(parts + _accepted_counts(accepted))])])
    parts = (parts or ["no problems"]) + _accepted_counts(accepted)
    return f"{pluralize(counts['skills'], 'skill')} checked: {', '.join(parts)}"


def _accepted_counts(accepted: Accepted) -> list[str]:
    """Return how many findings are accepted, as parts of a summary."""
    parts = [f"{accepted.ignored:,} ignored"] if accepted.ignored else []
    return parts + ([f"{accepted.in_baseline:,} in the baseline"] if accepted.in_baseline else [])


def _accepted_notes(accepted: Accepted) -> Iterator[Message]:
    """Yield what is wrong with the rules that accept findings, and what is left of the baseline."""
    yield from map(note, accepted.notes[:_MAX_NOTES])
    left = len(accepted.notes) - _MAX_NOTES
    if left > 0:
        yield note(f"{pluralize(left, 'more note')} left out")


def _fix_files(args: Arguments) -> tuple[list[tuple[str, tuple[str, ...]]], bool]:
    """Fix the files; return what was done to each, and whether one could not be written."""
    from prowess.skill import fix_file

    fixed: list[tuple[str, tuple[str, ...]]] = []
    failed = is_left = False
    cwd = real_path(args.cwd or ".")
    locked = InstalledSkills(question_from_args(args), Filesystem())
    for path, top in dict(_files_to_fix(args)).items():
        try:
            real_output_path(top, [cwd])
            instead = locked.how_to_change(path)
            new_path, done = fix_file(path, top=top, dry_run=bool(instead))
        except OutsideError as error:
            print_error(f"cannot fix {neutral(path)}: {error}", "name the file at its own path")
            failed = True
            continue
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
        shown = new_path[len(cwd) + 1 :] if new_path.startswith(cwd + os.sep) else new_path
        if done and instead:
            is_left = True
            print_stderr(f"note: {neutral(shown)} is as the lock says, and was not fixed: {instead}")
        elif done:
            fixed.append((new_path, done))
            # A named `skill.md` is checked under its new name.
            named = absolute_paths(args.path, args.cwd or ".")
            args.path = [new_path if each == path else each for each in named]
            print_stderr(f"fixed {neutral(shown)}: {neutral(', '.join(done))}")
    if not (fixed or failed or is_left):
        print_stderr("nothing to fix automatically")
    return fixed, failed


def _files_to_fix(args: Arguments) -> Iterator[tuple[str, str]]:
    """Yield the files to fix, each with the folder whose links must not be followed.

    These are the files in the named paths, or else those of the repository and the project itself, not of its links.
    """
    if args.path:
        for path in absolute_paths(args.path, args.cwd or "."):
            top = path if os.path.isdir(path) else os.path.dirname(path)
            yield from ((file, top) for file in find_skill_files(path)[0])
        return
    repository = find_repository_skills(args.cwd or ".")
    yield from ((skill.path, repository.top) for skill in repository.skills)
    filesystem, skipped, question = Filesystem(), 0, question_from_args(args)
    tops = {path: os.path.dirname(os.path.dirname(path)) for path in named_files(question, filesystem)}
    for host in args.host or ["prowess"]:
        catalog = catalog_from_args(args, host=host, filesystem=filesystem)
        project = git_root(catalog.cwd) or catalog.cwd
        tops |= {entry.path: entry.root if entry.scope == "extra" else project for entry in catalog.skills}
    for path, top in tops.items():
        path_without_links = os.path.join(real_path(top), os.path.relpath(path, top))
        if path.startswith(top + os.sep) and real_path(path) == path_without_links:
            yield path, top
        else:
            skipped += 1
    if skipped:
        print_stderr(f"{pluralize(skipped, 'skill')} outside the project not fixed; to fix one, name its path")
