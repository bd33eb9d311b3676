"""prowess trust: allow a skill's tools and scripts, list what is allowed, or revoke it."""

from __future__ import annotations

import os
import shlex
from functools import partial

from prowess._internal.files import real_path, skill_digest
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.capabilities import find_facts
from prowess.catalog import State
from prowess.cli._arguments import catalog_from_args
from prowess.cli._commands import FAILED, SKILL_NAME
from prowess.cli._output import (
    Message,
    Result,
    as_dicts,
    ask,
    can_ask,
    format_table,
    format_value,
    json_fields,
    pluralize,
    print_lines,
    to_json_value,
)
from prowess.cli._references import find_skill
from prowess.environments import needs_of_skill
from prowess.errors import ConfigError, SkillError, SkillNotFoundError
from prowess.findings import ALWAYS_ERRORS
from prowess.session import Trust, files_provider, needs_trust, skill_folder, trusted_folder, trusted_place
from prowess.skill import find_code, integrity_digest, load, read_integrity, sealed_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.capabilities import Fact
    from prowess.catalog import Entry
    from prowess.cli._parser import Arguments, Parser
    from prowess.environments import Needs
    from prowess.session import TrustedSkill
    from prowess.skill import Skill, Value

EPILOG = f"""\
SKILL is {SKILL_NAME}.
After --remove it may also be the start of an integrity digest that --list prints. Only skills of a project, a package
or a folder named with --skill-dir need trust. Any change in the folder of a skill ends its trust.
This is about Prowess: where an agent does not trust a folder, allow it in that agent."""


def options(parser: Parser) -> None:
    """Add the command's options."""
    parser.argument("skill", "SKILL", "the skill to trust", nargs="?")
    parser.flag("--list", "list the trusted skills, and which have changed since")
    parser.value("--remove", "SKILL", "stop trusting a skill and all its copies")
    parser.flag("--yes", "-y", "do not ask for confirmation; needed without a terminal and with `--json`")
    parser.add_json()
    parser.discovery()


def run(args: Arguments) -> Result:
    """Trust a skill, list the trusted skills, or stop trusting one."""
    if (args.skill is not None) + args.list + (args.remove is not None) != 1:
        raise ConfigError(
            "name one skill to trust, or use `--list` or `--remove SKILL`",
            hint="run `prowess trust --help` for its options",
        )
    trust = Trust()
    if args.list:
        return _list(trust)
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
    needs: Mapping[Needs, Sequence[str]]
    """What its scripts need, each with the scripts that do."""
    facts: tuple[Fact, ...]
    """What is known of its text and files; empty if the skill needs no trust."""
    integrity: str | None
    """The integrity digest of the folder, or `None` if the skill needs no trust."""
    previous: TrustedSkill | None
    """The record of what was trusted in the same folder before."""

    def as_dict(self, trusted: TrustedSkill | None) -> dict[str, object]:
        return {
            **json_fields(self.entry, "name path scope"),
            "needed": self.integrity is not None,
            "trusted": True,
            "since": None if trusted is None else trusted.since,
            "digest": self.digest,
            "seal": self.integrity,
            "tools": None if self.tools is None else to_json_value(self.tools),
            "allowed_tools": self.allowed,
            "scripts": self.scripts,
            "facts": [
                {"code": fact.code, "path": fact.path, "line": fact.line, "message": fact.text} for fact in self.facts
            ],
            "packages": [needs.as_dict() | {"scripts": scripts} for needs, scripts in self.needs.items()],
        }


def _trust_skill(trust: Trust, args: Arguments) -> Result:
    catalog = catalog_from_args(args, reference=args.skill)
    entry = find_skill(catalog, args.skill)
    if files_provider(catalog, entry) is None:
        return _trust_files(trust, entry, None, args)
    try:
        with skill_folder(catalog, entry) as folder:
            return _trust_files(trust, entry, folder, args)
    except SkillError as error:
        raise SkillError(f"cannot trust {quoted(entry.name)}: {error}", hint=error.hint) from None


def _trust_files(trust: Trust, entry: Entry, fetched: str | None, args: Arguments) -> Result:
    """Trust a skill whose files are in its own folder, or in one to which they were fetched."""
    summary = _summarize(trust, entry, fetched)
    if summary.integrity is None:
        no_trust = f"{quoted(entry.name)} needs no trust: its scope is `{neutral(entry.scope)}`; nothing recorded"
        return Result(summary.as_dict(None), [Message(no_trust)])
    if not args.json:
        print_lines(_summary_lines(summary))
    known = summary.previous is not None and summary.previous.digest == summary.integrity
    if not (known or args.yes):
        if args.json or not can_ask():
            message = "`--json` does not ask" if args.json else "there is no terminal to ask on"
            command = f"prowess trust {shlex.quote(neutral(args.skill))} --yes"
            raise ConfigError(f"{message}; nothing was recorded", hint=f"review the skill, then type `{command}`")
        if not ask("trust this skill in Prowess?"):
            return Result(None, [Message("nothing recorded")], FAILED)
    trusted = trust.allow(entry, digest=summary.integrity, folder=fetched)
    since = f"already trusted, since {trusted.since}"
    new = "trusted: Prowess may use its tools and scripts until a file in its folder changes"
    return Result(summary.as_dict(trusted), [Message(since if known else new)])


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
        return _summary(entry, load(entry.path, real=entry.real), os.path.dirname(entry.path))
    try:
        folder = fetched or trusted_folder(entry)
        integrity = read_integrity(folder)
        # What is shown is read from a copy of the bytes that are trusted: the skill may change and change back.
        with sealed_copy(folder, partial(_check_unchanged, integrity.digest), compiled=True) as copy:
            file = real_path(os.path.join(copy.folder, os.path.basename(entry.path)))
            skill = load(entry.path, real=file)
            summary, scripts = _summary(entry, skill, copy.folder), find_code(copy.folder)
            facts = find_facts(load(file))
            needs = needs_of_skill(copy.folder, scripts, skill.requirements.packages)
    except SkillError as error:
        raise SkillError(f"cannot trust {quoted(entry.name)}: {error}", hint=error.hint) from None
    place = trusted_place(entry)
    return summary.with_changes(
        scripts=scripts,
        needs=needs,
        facts=facts,
        integrity=integrity.digest,
        previous=next((record for record in trust.all() if record.path == place), None),
    )


def _check_unchanged(expected: str, digest: str) -> None:
    if digest != expected:
        raise SkillError("the skill changed while it was read", hint="try again")


def _summary(entry: Entry, skill: Skill, folder: str) -> _TrustSummary:
    """Return what a skill and the folder that it is in show."""
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
        needs={},
        facts=(),
        integrity=None,
        previous=None,
    )


def _summary_lines(summary: _TrustSummary) -> Iterator[str]:
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
    yield neutral(entry.name)
    for key, text in facts.items():
        yield f"  {key:<9}{text}"
        yield from (f"    {line}" for line in details.get(key, ()))
    for number, (needs, paths) in enumerate(summary.needs.items()):
        yield f"  {'' if number else 'packages':<9}{needs.describe(len(paths))}"
        yield from (f"    {note}" for note in needs.notes())
    for number, fact in enumerate(summary.facts):
        place = f"{neutral(fact.path)}:{fact.line}" if fact.line else neutral(fact.path)
        yield f"  {'' if number else 'facts':<9}{place}: {neutral(fact.text)} [{fact.code}]"
    if summary.previous is not None and summary.previous.digest != summary.integrity:
        yield f"  before   trusted on {summary.previous.since}, changed since then"


# ── trusted skills ───────────────────────────────────────────────────────────────────────────────────────────────────


def _list(trust: Trust) -> Result:
    records = [(record, _trust_state(record)) for record in trust.all()]
    count = sum(state in ("changed", "gone") for _, state in records)
    invalid = f", {count:,} changed or gone" if count else ""
    heading = ("SKILL", "STATE", "SINCE", "INTEGRITY", "FOLDER")
    rows = [(record.name, state, record.since, record.digest[:15], record.path) for record, state in records]
    table = format_table([heading, *rows], fit_terminal=False) if records else []
    counted = f"{pluralize(len(records), 'skill')} trusted in Prowess{invalid}, recorded in {neutral(trust.file)}"
    trusted = [{**record.as_dict(), "state": state} for record, state in records]
    return Result({"file": trust.file, "trusted": trusted}, [*table, Message(counted)])


def _trust_state(record: TrustedSkill) -> str:
    """Return `trusted`, `changed` or `gone`: the state of a folder that was trusted; `remote` if a server has it."""
    if not os.path.isabs(record.path):
        return "remote"
    if not os.path.lexists(record.path):
        return "gone"
    return "trusted" if integrity_digest(record.path) == record.digest else "changed"


def _remove(trust: Trust, args: Arguments) -> Result:
    try:
        entry = catalog_from_args(args).resolve(args.remove)
    except SkillNotFoundError:
        entry = None
    removed = trust.revoke(args.remove if entry is None or not needs_trust(entry) else entry)
    lines = [Message(f"no longer trusted: {quoted(record.name)} in {neutral(record.path)}") for record in removed]
    return Result({"removed": as_dicts(removed)}, lines)
