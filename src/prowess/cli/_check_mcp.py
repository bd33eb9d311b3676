"""The action `check` of `prowess mcp`: what a server offers, and the rules that it breaks."""

from __future__ import annotations

import os

from prowess._internal.text import quoted
from prowess.errors import ConfigError

from ._commands import FAILED, OK
from ._output import pluralize, print_json, print_stdout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.mcp import ServerReport

__all__ = ["check"]

_SECONDS = 30.0


def check(target: Sequence[str], *, token: str | None, allow_private: bool, as_json: bool) -> int:
    """Print what a server offers and breaks; return 1 if that includes an error.

    Args:
        target: its URL, or the command that starts it.
        token: sent to a URL.
        allow_private: whether the host of a URL may be a name in the user's own network.
        as_json: whether to print JSON.

    Raises:
        ConfigError: the target is invalid.
    """
    from prowess.mcp import check_server

    if not target:
        message = "`mcp check` needs the URL of a server, or the command that starts it"
        raise ConfigError(message, hint="write `prowess mcp check -- COMMAND ARGUMENT...` if it has options")
    if target[0].startswith(("http:", "https:")):
        if len(target) > 1:
            raise ConfigError("`mcp check` takes one URL", hint="check one server at a time")
        report = check_server(url=target[0], token=token, allow_private=allow_private, timeout=_SECONDS)
    elif "://" in target[0]:
        raise ConfigError(f"`mcp check` cannot use {quoted(target[0])}", hint="write a URL that begins with `https`")
    else:
        report = check_server(command=target, cwd=os.getcwd(), timeout=_SECONDS)
    if as_json:
        print_json(_as_dict(report))
    else:
        _print(report)
    return FAILED if any(finding.level == "error" for finding in report.findings) else OK


def _as_dict(report: ServerReport) -> dict[str, object]:
    return {
        "version": report.version,
        "era": report.era,
        "capabilities": list(report.capabilities),
        "directories": report.directories,
        "skills": report.skills,
        "files": report.files,
        "size": report.size,
        "verified": report.verified,
        "findings": [
            {
                "level": finding.level,
                "rule": finding.rule,
                "skill": finding.skill,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in report.findings
        ],
    }


def _print(report: ServerReport) -> None:
    if report.version is not None:
        directories = ", directories" if report.directories else ""
        print_stdout(f"protocol  {report.version} ({report.era} era)")
        print_stdout(f"offers    {', '.join(report.capabilities)}; skills{directories}")
        size = f"{pluralize(report.files, 'file')}, {report.size:,} bytes; {report.verified:,} verified"
        print_stdout(f"skills    {report.skills:,} ({size})")
    for finding in report.findings:
        where = f"{finding.skill}: " if finding.skill else ""
        print_stdout(f"{finding.level}: {where}{finding.message} [{finding.rule}]")
        print_stdout(f"    hint: {finding.hint}")
    errors = sum(finding.level == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    print_stdout(f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}")
