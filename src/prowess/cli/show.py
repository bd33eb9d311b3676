"""prowess show -> all there is to know of one skill"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import SKILL_FILE, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.catalog import check_file, entry_findings, estimate_tokens, evaluate_path, with_digest
from prowess.cli import OK
from prowess.cli._options import (
    add_discovery_options,
    catalog_from_args,
    format_finding,
    make_parser,
    print_json,
    print_stderr,
    print_stdout,
)
from prowess.errors import AmbiguousSkillError, SkillNotFoundError
from prowess.findings import format_findings
from prowess.hosts import DEFAULT_HOST
from prowess.skill import Skill, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding
    from prowess.skill import Value


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "show",
        epilog="tokens are an estimate: bytes of UTF-8 divided by four, rounded up; no model's tokenizer is asked",
    )
    result.add_argument(
        "skill",
        metavar="NAME|PATH",
        help="`name`, `scope:name`, `package:name`, the beginning of a digest, or the path of any skill, or of a role "
        "(`.yaml`, `.yml`)",
    )
    result.add_argument("--json", action="store_true", help="print JSON")
    add_discovery_options(result)
    return result


class _SkillDetails(Frozen):
    """A skill and what had to be read for showing it."""

    entry: Entry
    skill: Skill
    """With its body."""
    files: tuple[tuple[str, int], ...]
    findings: tuple[Finding, ...]

    @property
    def token_counts(self) -> dict[str, int]:
        catalog = f"{self.entry.name}: {self.entry.description}"
        return {"catalog": estimate_tokens(catalog), "body": estimate_tokens(self.skill.body)}

    @property
    def lines(self) -> int:
        return self.skill.document.line_count if self.skill.document else 0


def run(args: Namespace) -> int:
    """Show one skill, or a role."""
    if args.skill.lower().endswith(_ROLE_SUFFIXES):
        return _show_role(args)
    shown = _load_details(catalog_from_args(args), args.skill)
    if args.json:
        print_json(
            {
                **shown.entry.with_changes(findings=shown.findings).as_dict(),
                "files": [{"path": path, "bytes": size} for path, size in shown.files],
                "fields": {key: _to_json_value(field.value) for key, field in shown.skill.fields.items()},
                "tokens": shown.token_counts,
                "lines": shown.lines,
            }
        )
        return OK
    for line in _format_details(shown):
        print_stdout(line)
    return OK


_ROLE_SUFFIXES = (".yaml", ".yml")


def _show_role(args: Namespace) -> int:
    """Show what a role is made of, and where each part comes from.

    Raises:
        ConfigError: it cannot be read.
    """
    from prowess.agent import explain_assembly, format_explanation
    from prowess.agent.assembly import assemble
    from prowess.errors import ConfigError

    path = os.path.join(args.cwd or "", os.path.expanduser(args.skill))
    assembly, findings = assemble(path, dirs=args.skill_dir, home=args.home)
    if assembly is None:
        raise ConfigError(format_findings(findings), hint="name a role's file; a skill is named without an ending")
    shown = explain_assembly(assembly)
    if args.json:
        print_json(shown)
        return OK
    for line in format_explanation(shown):
        print_stdout(line)
    if findings:
        print_stdout("")
        print_stdout("findings")
        for item in findings:
            for line in format_finding(item, base=os.path.dirname(assembly.role.path)):
                print_stdout(f"  {line}")
    for note in shown["notes"]:
        print_stderr(f"note: {neutral(note)}")
    return OK


def _load_details(catalog: Catalog, reference: str) -> _SkillDetails:
    """Find a skill in the catalog, or anywhere else by its path.

    Raises:
        SkillNotFoundError: there is none.
    """
    host = catalog.host.name
    rule = "guide" if host == DEFAULT_HOST else host
    try:
        entry = with_digest(catalog.resolve(reference))
    except AmbiguousSkillError:
        raise
    except SkillNotFoundError:
        path = _skill_file_at(os.path.abspath(os.path.join(catalog.cwd, os.path.expanduser(reference))))
        if path is None:
            raise
        entry = evaluate_path(path, host).with_changes(scope="extra")
        flat = os.path.basename(path).lower() != SKILL_FILE.lower()
        files = [(os.path.basename(path), os.stat(path).st_size)] if flat else skill_files(os.path.dirname(path))
        entry = entry if flat else with_digest(entry)
        return _SkillDetails(entry=entry, skill=load(path), files=tuple(files), findings=check_file(path, rule))
    suppressed = entry.scope in catalog.host.suppressed_scopes
    return _SkillDetails(
        entry=entry,
        skill=entry.skill if entry.skill.document is None else load(entry.path, real=entry.real),
        files=tuple(skill_files(os.path.dirname(entry.path))),
        findings=entry_findings(entry, rule, suppressed=suppressed),
    )


def _skill_file_at(path: str) -> str | None:
    """Return the file of the skill a path stands for, or None."""
    try:
        path = os.path.join(path, SKILL_FILE) if os.path.isdir(path) else path
        return path if path.lower().endswith(".md") and os.path.isfile(path) else None
    except ValueError:
        return None


def _to_json_value(value: Value) -> object:
    """Return a value as JSON knows it."""
    if isinstance(value, Mapping):
        return {key: _to_json_value(item) for key, item in value.items()}
    return value if isinstance(value, str) else [_to_json_value(item) for item in value]


def _format_details(shown: _SkillDetails) -> list[str]:
    entry = shown.entry
    place = f"{entry.scope}, {neutral(entry.root)}"
    needs = [f"{key} {', '.join(items)}" for key, items in entry.requirements.as_dict().items() if items]
    facts = {
        "state": str(entry.state) + (f": {neutral(entry.reason)}" if entry.reason else ""),
        "path": neutral(entry.path),
        "found in": place,
        "alias": neutral(entry.alias or ""),
        "digest": entry.digest or "none: it has no folder of its own, or not all of its files can be read",
        "needs": neutral("; ".join(needs)),
        "tokens": f"about {shown.token_counts['catalog']:,} in the catalog, "
        f"{shown.token_counts['body']:,} when it is activated (bytes divided by four)",
        "lines": f"{shown.lines:,}",
    }
    lines = [neutral(entry.name), *(f"  {key:<10}{words}" for key, words in facts.items() if words)]
    if shown.skill.fields:
        lines += [
            "",
            "fields",
            *(f"  {neutral(key)}: {_format_value(f.value)}" for key, f in shown.skill.fields.items()),
        ]
    if shown.files:
        width = max(len(f"{size:,}") for _, size in shown.files)
        lines += ["", f"files ({len(shown.files):,}, {sum(size for _, size in shown.files):,} bytes)"]
        lines += [f"  {size:>{width},}  {neutral(path)}" for path, size in shown.files]
    if shown.findings:
        lines += ["", "findings"]
        lines += [
            f"  {line}" for item in shown.findings for line in format_finding(item, base=os.path.dirname(entry.path))
        ]
    return lines


def _format_value(value: Value) -> str:
    """Write a value on one line: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return neutral(value) if value.strip() == value and value else quoted(value, 200)
    import json

    return neutral(json.dumps(_to_json_value(value), ensure_ascii=False))
