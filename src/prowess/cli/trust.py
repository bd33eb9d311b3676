"""prowess trust -> what a skill may do, shown, and its user's word, kept"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from prowess._internal.files import skill_digest
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.catalog import State
from prowess.cli import FAILED, OK
from prowess.cli._options import (
    add_discovery_options,
    catalog_from_args,
    format_table,
    make_parser,
    pluralize,
    print_json,
    print_stderr,
    print_stdout,
)
from prowess.errors import AmbiguousSkillError, ConfigError, SkillError, SkillNotFoundError
from prowess.session import Trust, needs_trust, trusted_folder
from prowess.skill import integrity_digest, load, read_integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Catalog, Entry
    from prowess.session import TrustedSkill
    from prowess.skill import Value

_EPILOG = """\
SKILL is what the agent calls the skill, its folder, `scope:name`, `package:name`, a path or the start of a digest;
after --remove also a name, a path or the start of a seal that --list shows. Only skills of a project, a package or a
folder that was named need trust. Anything that changes in the skill's folder ends it."""


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser("trust", epilog=_EPILOG)
    result.add_argument("skill", metavar="SKILL", nargs="?", help="the skill to trust")
    result.add_argument("--list", action="store_true", help="show what is trusted, and what of it has changed since")
    result.add_argument("--remove", metavar="SKILL", help="trust a skill, and all its copies, no longer")
    result.add_argument("--yes", "-y", action="store_true", help="do not ask; on a terminal it asks otherwise")
    result.add_argument("--json", action="store_true", help="print JSON, and do not ask")
    add_discovery_options(result)
    return result


def run(args: Namespace) -> int:
    """Trust a skill, list what is trusted, or trust a skill no longer."""
    if (args.skill is not None) + args.list + (args.remove is not None) != 1:
        raise ConfigError(
            "name one skill to trust, or use `--list` or `--remove SKILL`",
            hint="`prowess trust --help` shows how it is used",
        )
    trust = Trust()
    if args.list:
        return _list(trust, args)
    if args.remove is not None:
        return _remove(trust, args)
    return _trust_skill(trust, args)


# ── trusting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _TrustSummary(Frozen):
    """What a user trusts."""

    entry: Entry
    digest: str | None
    tools: Value | None
    """As it is written."""
    allowed: tuple[str, ...]
    scripts: tuple[str, ...] | None
    """None where no trust is needed."""
    seal: str | None
    previous: TrustedSkill | None
    """What was trusted in the same folder."""

    def as_dict(self, trusted: TrustedSkill | None) -> dict[str, object]:
        return {
            "name": self.entry.name,
            "path": self.entry.path,
            "scope": self.entry.scope,
            "needed": self.seal is not None,
            "trusted": True,
            "since": None if trusted is None else trusted.since,
            "digest": self.digest,
            "seal": self.seal,
            "tools": _to_json_value(self.tools),
            "allowed_tools": [*self.allowed],
            "scripts": None if self.scripts is None else [*self.scripts],
        }


def _trust_skill(trust: Trust, args: Namespace) -> int:
    entry = _find_entry(catalog_from_args(args), args.skill)
    shown = _summarize(trust, entry)
    if shown.seal is None:
        if args.json:
            print_json(shown.as_dict(None))
            return OK
        print_stderr(
            f"{quoted(entry.name)} needs no trust, nothing was recorded: it is of scope `{neutral(entry.scope)}`"
        )
        return OK
    if not args.json:
        for line in _format_summary(shown):
            print_stdout(line)
    known = shown.previous is not None and shown.previous.digest == shown.seal
    if not known and not args.yes and not args.json and _is_terminal() and not _confirm():
        print_stderr("nothing was recorded")
        return FAILED
    trusted = trust.allow(entry, digest=shown.seal)
    if args.json:
        print_json(shown.as_dict(trusted))
        return OK
    print_stderr(
        f"trusted already, since {trusted.since}"
        if known
        else "trusted: its tools and scripts may be used until anything in its folder changes"
    )
    return OK


def _find_entry(catalog: Catalog, reference: str) -> Entry:
    """Find a skill in the catalog, or anywhere else by its path.

    Raises:
        SkillNotFoundError: there is none.
    """
    try:
        return catalog.resolve(reference)
    except AmbiguousSkillError:
        raise
    except SkillNotFoundError:
        path = os.path.abspath(os.path.join(catalog.cwd, os.path.expanduser(reference)))
        path = path if os.path.basename(path).lower() == "skill.md" else os.path.join(path, "SKILL.md")
        if not os.path.isfile(path):
            raise
    from prowess.catalog import evaluate_path

    return evaluate_path(path, catalog.host.name).with_changes(scope="extra")


def _summarize(trust: Trust, entry: Entry) -> _TrustSummary:
    """Read all that is shown of a skill, after its seal: what changes from then on is not trusted.

    Raises:
        SkillError: it is rejected, or it cannot be sealed.
        ConfigError: the record cannot be believed.
    """
    if entry.state is State.REJECTED:
        hint = "`prowess check` says what to mend"
        raise SkillError(f"{quoted(entry.name)} cannot be trusted: {entry.reason}", hint=hint)
    sealed = previous = None
    folder = os.path.dirname(entry.path)
    if needs_trust(entry):
        try:
            folder = trusted_folder(entry)
            sealed = read_integrity(folder)
        except SkillError as error:
            raise SkillError(f"{quoted(entry.name)} cannot be trusted: {error}", hint=error.hint) from None
        previous = next((row for row in trust.all() if row.path == folder), None)
    skill = load(entry.path, real=entry.real)
    tools = skill.fields.get("tools")
    return _TrustSummary(
        entry=entry,
        digest=skill_digest(folder),
        tools=None if tools is None else tools.value,
        allowed=skill.allowed_tools,
        scripts=None if sealed is None else sealed.scripts,
        seal=None if sealed is None else sealed.digest,
        previous=previous,
    )


def _format_summary(shown: _TrustSummary) -> list[str]:
    entry, tools, scripts = shown.entry, shown.tools, shown.scripts or ()
    items = tools if isinstance(tools, tuple) else () if tools is None else (tools,)
    facts = {
        "path": neutral(entry.path),
        "scope": neutral(entry.scope),
        "digest": shown.digest or "none",
        "tools": f"{len(items)}" if items else "none",
        "allowed": f"{neutral(', '.join(shown.allowed))}: a client may ask less often; nothing is granted"
        if shown.allowed
        else "none",
        "scripts": f"{len(scripts):,}" if scripts else "none",
    }
    more = {"tools": [_format_value(item) for item in items], "scripts": [neutral(path) for path in scripts]}
    lines = [neutral(entry.name)]
    for key, words in facts.items():
        lines.append(f"  {key:<9}{words}")
        lines += [f"    {line}" for line in more.get(key, ())]
    if shown.previous is not None and shown.previous.digest != shown.seal:
        lines.append(f"  before   trusted on {shown.previous.since}, and changed since")
    return lines


def _format_value(value: Value) -> str:
    """Write a value on one line: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return neutral(value)
    import json

    return neutral(json.dumps(_to_json_value(value), ensure_ascii=False))


def _to_json_value(value: Value | None) -> object:
    """Return a value as JSON knows it."""
    if isinstance(value, Mapping):
        return {key: _to_json_value(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str) else [_to_json_value(item) for item in value]


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def _confirm() -> bool:
    print_stderr("trust it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── what is trusted ──────────────────────────────────────────────────────────────────────────────────────────────────


def _list(trust: Trust, args: Namespace) -> int:
    rows = [(row, _trust_state(row)) for row in trust.all()]
    if args.json:
        print_json({"file": trust.file, "trusted": [{**row.as_dict(), "state": state} for row, state in rows]})
        return OK
    if rows:
        table = [(row.name, state, row.since, row.digest[:15], row.path) for row, state in rows]
        for line in format_table([("SKILL", "STATE", "SINCE", "SEAL", "FOLDER"), *table], fit_terminal=False):
            print_stdout(line)
    count = sum(state != "trusted" for _, state in rows)
    more = f", {count:,} of them changed or gone" if count else ""
    print_stderr(f"{pluralize(len(rows), 'skill')} on record{more}: {neutral(trust.file)}")
    return OK


def _trust_state(row: TrustedSkill) -> str:
    """Return `trusted`, or what became of a folder since: `changed` or `gone`."""
    if not os.path.lexists(row.path):
        return "gone"
    return "trusted" if integrity_digest(row.path) == row.digest else "changed"


def _remove(trust: Trust, args: Namespace) -> int:
    try:
        entry = catalog_from_args(args).resolve(args.remove)
    except SkillNotFoundError:
        entry = None
    removed = trust.revoke(args.remove if entry is None or not needs_trust(entry) else entry)
    if args.json:
        print_json({"removed": [row.as_dict() for row in removed]})
        return OK
    for row in removed:
        print_stderr(f"trusted no longer: {quoted(row.name)} in {neutral(row.path)}")
    return OK
