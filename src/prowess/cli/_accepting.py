"""Parse the options that accept findings of `check`, and print what was accepted."""

from __future__ import annotations

import os

from prowess._internal.files import real_path
from prowess.catalog import accept_findings, git_root, option_rules, project_rules, read_baseline

from ._output import pluralize, print_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from prowess.catalog import Accepted, Baseline, IgnoreRule
    from prowess.findings import Finding

__all__ = ["AcceptRules", "accepted_counts", "add_accept_options", "print_accepted_notes"]

_MAX_NOTES = 20


def add_accept_options(parser: ArgumentParser) -> None:
    """Add `--baseline` and `--ignore`."""
    group = parser.add_argument_group("which findings count")
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="accept the findings in this file, which `prowess check --json` wrote: only new ones count",
    )
    group.add_argument(
        "--ignore", metavar="CODE", action="append", default=[], help="ignore findings with this code (repeatable)"
    )


class AcceptRules:
    """The rules of the options and of the project's `pyproject.toml`, read before anything is checked."""

    def __init__(self, args: Namespace) -> None:
        """Read them.

        Raises:
            ConfigError: a code is unknown, or the baseline or `pyproject.toml` is invalid.
        """
        cwd = real_path(args.cwd or ".")
        self.base = git_root(cwd) or cwd
        self.home = real_path(args.home or os.path.expanduser("~"))
        self.whole = not args.path
        self.identify = args.format in ("json", "sarif", "gitlab")
        self.rules: tuple[IgnoreRule, ...] = (*option_rules(args.ignore), *project_rules(self.base))
        path = args.baseline
        self.baseline: Baseline | None = read_baseline(path) if path is not None else None

    def accept(self, findings: Iterable[Finding], skills: Sequence[str]) -> Accepted:
        """Return findings, each with whether it is accepted.

        Args:
            findings: of a check.
            skills: the files that were checked.
        """
        return accept_findings(
            findings,
            base=self.base,
            home=self.home,
            skills=skills,
            rules=self.rules,
            baseline=self.baseline,
            identify=self.identify,
            whole=self.whole,
        )


def accepted_counts(accepted: Accepted) -> list[str]:
    """Return how many findings are accepted, as parts of a summary."""
    parts = [f"{accepted.ignored:,} ignored"] if accepted.ignored else []
    return parts + ([f"{accepted.in_baseline:,} in the baseline"] if accepted.in_baseline else [])


def print_accepted_notes(accepted: Accepted, *, quiet: bool = False) -> None:
    """Print what is wrong with the rules, and what is left of the baseline."""
    if quiet:
        return
    for text in accepted.notes[:_MAX_NOTES]:
        print_note(text)
    left = len(accepted.notes) - _MAX_NOTES
    if left > 0:
        print_note(f"{pluralize(left, 'more note')} left out")
