"""prowess show: show one skill, or the parts of a role."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.catalog import Filesystem, check_file, entry_findings, estimate_tokens, evaluate_path, with_digest
from prowess.errors import AmbiguousSkillError, SkillNotFoundError
from prowess.findings import format_findings
from prowess.hosts import DEFAULT_HOST
from prowess.skill import Skill, load

from ._commands import OK
from ._discovery import catalog_from_args
from ._options import add_discovery_options, add_json_option, make_parser
from ._output import (
    format_finding,
    format_value,
    print_findings,
    print_json,
    print_message,
    print_stdout,
    to_json_value,
)
from ._skills import error_with_place, skill_file_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from prowess.catalog import Catalog, Entry
    from prowess.findings import Finding

_ROLE_SUFFIXES = (".yaml", ".yml")


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "show", epilog="Token counts are estimates: bytes of UTF-8 divided by four, rounded up. No tokenizer is used."
    )
    result.add_argument(
        "skill",
        metavar="NAME|PATH",
        help="a skill: its name, `scope:name`, `package:name`, the start of its digest, or its path; "
        "or the path of a role (`.yaml`, `.yml`)",
    )
    add_json_option(result)
    add_discovery_options(result)
    return result


class _SkillDetails(Frozen):
    """A skill and everything that `show` reads for it."""

    entry: Entry
    skill: Skill
    """With its body."""
    files: tuple[tuple[str, int], ...]
    """Path and size in bytes."""
    findings: tuple[Finding, ...]

    @property
    def token_counts(self) -> dict[str, int]:
        catalog_line = f"{self.entry.name}: {self.entry.description}"
        return {"catalog": estimate_tokens(catalog_line), "body": estimate_tokens(self.skill.body)}

    @property
    def lines(self) -> int:
        return self.skill.document.line_count if self.skill.document else 0


def run(args: Namespace) -> int:
    """Show one skill, or a role."""
    if args.skill.lower().endswith(_ROLE_SUFFIXES):
        return _show_role(args)
    details = _load_details(catalog_from_args(args, reference=args.skill), args.skill)
    if args.json:
        print_json(
            {
                **details.entry.with_changes(findings=details.findings).as_dict(),
                "files": [{"path": path, "bytes": size} for path, size in details.files],
                "fields": {key: to_json_value(field.value) for key, field in details.skill.fields.items()},
                "tokens": details.token_counts,
                "lines": details.lines,
            }
        )
        return OK
    for line in _format_details(details):
        print_stdout(line)
    return OK


def _show_role(args: Namespace) -> int:
    """Show the parts of a role, and where each comes from.

    Raises:
        ConfigError: it cannot be read.
    """
    from prowess.agent import assemble, explain_assembly, format_explanation
    from prowess.agent.role import role_error

    path = os.path.join(args.cwd or "", os.path.expanduser(args.skill))
    assembly, findings = assemble(path, dirs=args.skill_dir, home=args.home)
    if assembly is None:
        raise role_error(
            path, format_findings(findings), "name the file of a role; to show a skill, name it without `.yaml`"
        )
    explanation = explain_assembly(assembly)
    if args.json:
        print_json(explanation)
        return OK
    for line in format_explanation(explanation):
        print_stdout(line)
    if findings:
        print_stdout("")
        print_stdout("findings")
        print_findings(findings, base=os.path.dirname(assembly.role.path), indent="  ")
    for note in explanation["notes"]:
        print_message(note)
    return OK


def _load_details(catalog: Catalog, reference: str) -> _SkillDetails:
    """Find a skill in the catalog, or by its path, and read all of it.

    Raises:
        SkillNotFoundError: no such skill.
    """
    host = catalog.host.name
    policy = "guide" if host == DEFAULT_HOST else host
    try:
        entry = with_digest(catalog.resolve(reference))
    except AmbiguousSkillError:
        raise
    except SkillNotFoundError as error:
        path = skill_file_at(os.path.abspath(os.path.join(catalog.cwd, os.path.expanduser(reference))))
        if path is None:
            raise error_with_place(catalog, reference, error) from None
        return _load_details_from_path(path, host, policy)
    if entry.path in catalog.readers:
        return _load_details_from_server(catalog, entry)
    suppressed = entry.scope in catalog.host.suppressed_scopes
    return _SkillDetails(
        entry=entry,
        skill=entry.skill if entry.skill.document is None else load(entry.path, real=entry.real),
        files=tuple(skill_files(os.path.dirname(entry.path))),
        findings=entry_findings(entry, policy, Filesystem(), suppressed=suppressed),
    )


def _load_details_from_server(catalog: Catalog, entry: Entry) -> _SkillDetails:
    """Return a skill of a server with its SKILL.md, which is fetched; its other files are only listed.

    Raises:
        ActivationError: the server failed, or the skill is not what was listed.
    """
    from prowess.session import files_provider

    skill, server = catalog.readers[entry.path].read(entry), files_provider(catalog, entry)
    files = () if server is None else tuple(server.files(entry))
    return _SkillDetails(entry=entry, skill=skill, files=files, findings=(*entry.findings, *skill.findings))


def _load_details_from_path(path: str, host: str, policy: str) -> _SkillDetails:
    entry = evaluate_path(path, host).with_changes(scope="extra")
    is_flat = os.path.basename(path).lower() != SKILL_FILE.lower()
    files = [(os.path.basename(path), os.stat(path).st_size)] if is_flat else skill_files(os.path.dirname(path))
    return _SkillDetails(
        entry=entry if is_flat else with_digest(entry),
        skill=load(path),
        files=tuple(files),
        findings=check_file(path, policy),
    )


def _no_digest(entry: Entry) -> str:
    if entry.scope == "remote":
        return "its server makes it when it is read"
    return "the skill has no folder of its own, or some files cannot be read"


def _format_details(details: _SkillDetails) -> list[str]:
    entry, tokens = details.entry, details.token_counts
    requirements = [f"{key} {', '.join(items)}" for key, items in entry.requirements.as_dict().items() if items]
    facts = {
        "state": str(entry.state) + (f": {neutral(entry.reason)}" if entry.reason else ""),
        "path": neutral(entry.path),
        "found in": f"{entry.scope}, {neutral(entry.root)}",
        "alias": neutral(entry.alias or ""),
        "digest": entry.digest or f"unknown: {_no_digest(entry)}",
        "needs": neutral("; ".join(requirements)),
        "tokens": f"about {tokens['catalog']:,} in the catalog, {tokens['body']:,} when activated (bytes / 4)",
        "lines": f"{details.lines:,}",
    }
    lines = [neutral(entry.name), *(f"  {key:<10}{text}" for key, text in facts.items() if text)]
    if details.skill.fields:
        lines += ["", "fields"]
        lines += [f"  {neutral(key)}: {format_value(field.value)}" for key, field in details.skill.fields.items()]
    if details.files:
        width = max(len(f"{size:,}") for _, size in details.files)
        lines += ["", f"files ({len(details.files):,}, {sum(size for _, size in details.files):,} bytes)"]
        lines += [f"  {size:>{width},}  {neutral(path)}" for path, size in details.files]
    if details.findings:
        folder = os.path.dirname(entry.path)
        lines += ["", "findings"]
        lines += [f"  {line}" for item in details.findings for line in format_finding(item, base=folder)]
    return lines
