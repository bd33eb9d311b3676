"""prowess trust: allow a skill's tools and scripts, list what is allowed, or revoke it."""

from __future__ import annotations

import os
import sys
from functools import partial

from prowess._internal.files import real_path, skill_digest
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.catalog import State
from prowess.errors import ConfigError, SkillError, SkillNotFoundError
from prowess.findings import ALWAYS_ERRORS
from prowess.session import Trust, files_provider, needs_trust, skill_folder, trusted_folder, trusted_place
from prowess.skill import integrity_digest, load, read_integrity, sealed_copy

from ._commands import FAILED, OK
from ._discovery import catalog_from_args
from ._options import SKILL_NAME_HELP, add_discovery_options, add_json_option, make_parser
from ._output import format_value, pluralize, print_json, print_stderr, print_stdout, to_json_value
from ._skills import find_skill
from ._tables import format_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Entry
    from prowess.session import TrustedSkill
    from prowess.skill import Value

_EPILOG = f"""\
SKILL is {SKILL_NAME_HELP}.
After --remove it may also be the start of an integrity digest that --list prints. Only skills of a project, a package
or a folder named with --skill-dir need trust. Any change in the folder of a skill ends its trust."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("trust", epilog=_EPILOG)
    result.add_argument("skill", metavar="SKILL", nargs="?", help="the skill to trust")
    result.add_argument("--list", action="store_true", help="list the trusted skills, and which have changed since")
    result.add_argument("--remove", metavar="SKILL", help="stop trusting a skill and all its copies")
    result.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation on a terminal")
    add_json_option(result, "print JSON; do not ask for confirmation")
    add_discovery_options(result)
    return result


def run(args: Namespace) -> int:
    """Trust a skill, list the trusted skills, or stop trusting one."""
    if (args.skill is not None) + args.list + (args.remove is not None) != 1:
        raise ConfigError(
            "name one skill to trust, or use `--list` or `--remove SKILL`",
            hint="run `prowess trust --help` for its options",
        )
    trust = Trust()
    if args.list:
        return _list(trust, args)
    if args.remove is not None:
        return _remove(trust, args)
    return _trust_skill(trust, args)


# ── trusting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _TrustSummary(Frozen):
    """What a user sees of a skill before trusting it."""

    entry: Entry
    digest: str | None
    tools: Value | None
    """As the front matter has it."""
    allowed: tuple[str, ...]
    scripts: tuple[str, ...] | None
    """`None` if the skill needs no trust."""
    integrity: str | None
    """The integrity digest of the folder, or `None` if the skill needs no trust."""
    previous: TrustedSkill | None
    """The record of what was trusted in the same folder before."""

    def as_dict(self, trusted: TrustedSkill | None) -> dict[str, object]:
        return {
            "name": self.entry.name,
            "path": self.entry.path,
            "scope": self.entry.scope,
            "needed": self.integrity is not None,
            "trusted": True,
            "since": None if trusted is None else trusted.since,
            "digest": self.digest,
            "seal": self.integrity,
            "tools": None if self.tools is None else to_json_value(self.tools),
            "allowed_tools": [*self.allowed],
            "scripts": None if self.scripts is None else [*self.scripts],
        }


def _trust_skill(trust: Trust, args: Namespace) -> int:
    catalog = catalog_from_args(args, reference=args.skill)
    entry = find_skill(catalog, args.skill)
    if files_provider(catalog, entry) is None:
        return _trust_files(trust, entry, None, args)
    try:
        with skill_folder(catalog, entry) as folder:
            return _trust_files(trust, entry, folder, args)
    except SkillError as error:
        raise SkillError(f"cannot trust {quoted(entry.name)}: {error}", hint=error.hint) from None


def _trust_files(trust: Trust, entry: Entry, fetched: str | None, args: Namespace) -> int:
    """Trust a skill whose files are in its own folder, or in one to which they were fetched."""
    summary = _summarize(trust, entry, fetched)
    if summary.integrity is None:
        if args.json:
            print_json(summary.as_dict(None))
            return OK
        print_stderr(f"{quoted(entry.name)} needs no trust: its scope is `{neutral(entry.scope)}`; nothing recorded")
        return OK
    if not args.json:
        for line in _format_summary(summary):
            print_stdout(line)
    known = summary.previous is not None and summary.previous.digest == summary.integrity
    if not known and not args.yes and not args.json and _is_terminal() and not _confirm():
        print_stderr("nothing recorded")
        return FAILED
    trusted = trust.allow(entry, digest=summary.integrity, folder=fetched)
    if args.json:
        print_json(summary.as_dict(trusted))
        return OK
    print_stderr(
        f"already trusted, since {trusted.since}"
        if known
        else "trusted: its tools and scripts may be used until a file in its folder changes"
    )
    return OK


def _summarize(trust: Trust, entry: Entry, fetched: str | None) -> _TrustSummary:
    """Read what the user sees of a skill.

    Raises:
        SkillError: the skill is rejected, or a file in its folder cannot be read or changes meanwhile.
        ConfigError: the record of trusted skills is invalid.
    """
    if entry.state is State.REJECTED:
        hint = "`prowess check` says what to fix"
        raise SkillError(f"cannot trust {quoted(entry.name)}: {entry.reason}", hint=hint)
    if not needs_trust(entry):
        return _summary(entry, entry.real, os.path.dirname(entry.path))
    try:
        folder = fetched or trusted_folder(entry)
        integrity = read_integrity(folder)
        # What is shown is read from a copy of the bytes that are trusted: the skill may change and change back.
        with sealed_copy(folder, partial(_check_unchanged, integrity.digest), compiled=True) as copy:
            file = real_path(os.path.join(copy.folder, os.path.basename(entry.path)))
            summary = _summary(entry, file, copy.folder)
    except SkillError as error:
        raise SkillError(f"cannot trust {quoted(entry.name)}: {error}", hint=error.hint) from None
    place = trusted_place(entry)
    return summary.with_changes(
        scripts=integrity.scripts,
        integrity=integrity.digest,
        previous=next((record for record in trust.all() if record.path == place), None),
    )


def _check_unchanged(expected: str, digest: str) -> None:
    if digest != expected:
        raise SkillError("the skill changed while it was read", hint="try again")


def _summary(entry: Entry, file: str, folder: str) -> _TrustSummary:
    """Return what a file and the folder that it is in show of a skill."""
    skill = load(entry.path, real=file)
    for problem in skill.findings:
        if problem.code in ALWAYS_ERRORS:
            raise SkillError(problem.message, hint=problem.hint)
    tools = skill.fields.get("tools")
    return _TrustSummary(
        entry=entry,
        digest=skill_digest(folder),
        tools=None if tools is None else tools.value,
        allowed=skill.allowed_tools,
        scripts=None,
        integrity=None,
        previous=None,
    )


def _format_summary(summary: _TrustSummary) -> list[str]:
    entry, tools, scripts = summary.entry, summary.tools, summary.scripts or ()
    tool_items = tools if isinstance(tools, tuple) else () if tools is None else (tools,)
    facts = {
        "path": neutral(entry.path),
        "scope": neutral(entry.scope),
        "digest": summary.digest or "unknown",
        "tools": f"{len(tool_items)}" if tool_items else "none",
        "allowed": f"{neutral(', '.join(summary.allowed))}: a client may skip asking for these; Prowess grants nothing"
        if summary.allowed
        else "none",
        "scripts": f"{len(scripts):,}" if scripts else "none",
    }
    details = {"tools": [format_value(item) for item in tool_items], "scripts": [neutral(path) for path in scripts]}
    lines = [neutral(entry.name)]
    for key, text in facts.items():
        lines.append(f"  {key:<9}{text}")
        lines += [f"    {line}" for line in details.get(key, ())]
    if summary.previous is not None and summary.previous.digest != summary.integrity:
        lines.append(f"  before   trusted on {summary.previous.since}, changed since then")
    return lines


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _confirm() -> bool:
    print_stderr("trust this skill? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── trusted skills ───────────────────────────────────────────────────────────────────────────────────────────────────


def _list(trust: Trust, args: Namespace) -> int:
    records = [(record, _trust_state(record)) for record in trust.all()]
    if args.json:
        trusted = [{**record.as_dict(), "state": state} for record, state in records]
        print_json({"file": trust.file, "trusted": trusted})
        return OK
    if records:
        heading = ("SKILL", "STATE", "SINCE", "INTEGRITY", "FOLDER")
        rows = [(record.name, state, record.since, record.digest[:15], record.path) for record, state in records]
        for line in format_table([heading, *rows], fit_terminal=False):
            print_stdout(line)
    count = sum(state in ("changed", "gone") for _, state in records)
    invalid = f", {count:,} changed or gone" if count else ""
    print_stderr(f"{pluralize(len(records), 'trusted skill')}{invalid}, recorded in {neutral(trust.file)}")
    return OK


def _trust_state(record: TrustedSkill) -> str:
    """Return `trusted`, `changed` or `gone`: the state of a folder that was trusted; `remote` if a server has it."""
    if not os.path.isabs(record.path):
        return "remote"
    if not os.path.lexists(record.path):
        return "gone"
    return "trusted" if integrity_digest(record.path) == record.digest else "changed"


def _remove(trust: Trust, args: Namespace) -> int:
    try:
        entry = catalog_from_args(args).resolve(args.remove)
    except SkillNotFoundError:
        entry = None
    removed = trust.revoke(args.remove if entry is None or not needs_trust(entry) else entry)
    if args.json:
        print_json({"removed": [record.as_dict() for record in removed]})
        return OK
    for record in removed:
        print_stderr(f"no longer trusted: {quoted(record.name)} in {neutral(record.path)}")
    return OK
