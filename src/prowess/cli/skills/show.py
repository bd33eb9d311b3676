"""prowess show: show one skill, or the parts of a role."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE, real_path, skill_files
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.catalog import with_digest
from prowess.checks import check_file, entry_findings, evaluate_path
from prowess.cli._archives import say_of_archives, unpacked_paths
from prowess.cli._arguments import catalog_from_args
from prowess.cli._output import (
    Result,
    finding_lines,
    format_value,
    message,
    to_json_value,
    wrap_for_terminal,
)
from prowess.cli._references import error_with_place, skill_file_at
from prowess.environments import find_environment, needs_of_skill
from prowess.errors import AmbiguousSkillError, SkillError, SkillNotFoundError
from prowess.filesystem import Filesystem
from prowess.findings import format_findings
from prowess.hosts import DEFAULT_HOST
from prowess.prompt import estimate_tokens
from prowess.skill import Requirements, Skill, find_code, find_missing, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prowess.catalog import Catalog, Entry
    from prowess.cli._parser import Arguments, Parser
    from prowess.environments import Needs
    from prowess.findings import Finding

EPILOG = "Token counts are estimates: bytes of UTF-8 divided by four, rounded up. No tokenizer is used."
_ROLE_SUFFIXES = (".yaml", ".yml")


def options(parser: Parser) -> None:
    """Add the command's options."""
    skill = (
        "a skill: its name, `scope:name`, `package:name`, the start of its digest, its path, or a `.skill` or `.zip`"
    )
    parser.argument("skill", "NAME|PATH", f"{skill}; or the path of a role (`.yaml`, `.yml`)")
    parser.add_json()
    parser.discovery()


def run(args: Arguments) -> Result:
    """Return one skill, or a role."""
    if args.skill.lower().endswith(_ROLE_SUFFIXES):
        return _role(args)
    path = os.path.abspath(os.path.join(args.cwd or "", os.path.expanduser(args.skill)))
    with unpacked_paths([path]) as (paths, archives):
        if archives:
            from prowess.install import skill_in

            args.skill = skill_in(paths[0], args.skill)
        details = _load_details(catalog_from_args(args, reference=args.skill), args.skill)
        return say_of_archives(Result(details.as_dict, _text(details)), archives, real_path(args.cwd or "."))


def _role(args: Arguments) -> Result:
    """Return the parts of a role, and where each comes from.

    Raises:
        ConfigError: it cannot be read.
    """
    from prowess.agent import assemble, explain_assembly, format_explanation
    from prowess.agent.role import role_error

    path = os.path.join(args.cwd or "", os.path.expanduser(args.skill))
    assembly, findings = assemble(path, dirs=args.skill_dir, home=args.home)
    if assembly is None:
        hint = "name the file of a role; to show a skill, name it without `.yaml`"
        raise role_error(path, format_findings(findings), hint)
    explanation = explain_assembly(assembly)

    def text() -> Iterator[str]:
        yield from format_explanation(explanation)
        if findings:
            yield from ("", "findings")
            yield from finding_lines(findings, base=os.path.dirname(assembly.role.path), indent="  ")
        yield from map(message, explanation["notes"])

    return Result(explanation, text())


class _SkillDetails(Frozen):
    """A skill and everything that `show` reads for it."""

    entry: Entry
    skill: Skill
    """With its body."""
    files: tuple[tuple[str, int], ...]
    """Path and size in bytes."""
    findings: tuple[Finding, ...]
    needs: Mapping[Needs, Sequence[str]]
    """What its scripts need, each with the scripts that do."""

    @property
    def token_counts(self) -> dict[str, int]:
        catalog_line = f"{self.entry.name}: {self.entry.description}"
        return {"catalog": estimate_tokens(catalog_line), "body": estimate_tokens(self.skill.body)}

    @property
    def lines(self) -> int:
        return self.skill.document.line_count if self.skill.document else 0

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            **self.entry.with_changes(findings=self.findings).as_dict(),
            "files": [{"path": path, "bytes": size} for path, size in self.files],
            "packages": [
                needs.as_dict() | {"scripts": scripts, "state": _state(needs)} for needs, scripts in self.needs.items()
            ],
            "fields": {key: to_json_value(field.value) for key, field in self.skill.fields.items()},
            "tokens": self.token_counts,
            "lines": self.lines,
        }


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
    skill = entry.skill if entry.skill.document is None else load(entry.path, real=entry.real)
    return _SkillDetails(
        entry=entry,
        skill=skill,
        needs=_needs(entry.path, skill),
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
    return _SkillDetails(entry=entry, skill=skill, files=files, findings=(*entry.findings, *skill.findings), needs={})


def _load_details_from_path(path: str, host: str, policy: str) -> _SkillDetails:
    entry = evaluate_path(path, host).with_changes(scope="extra")
    is_flat = os.path.basename(path).lower() != SKILL_FILE.lower()
    files = [(os.path.basename(path), os.stat(path).st_size)] if is_flat else skill_files(os.path.dirname(path))
    skill = load(path)
    return _SkillDetails(
        entry=entry if is_flat else with_digest(entry),
        skill=skill,
        needs=_needs(path, skill),
        files=tuple(files),
        findings=check_file(path, policy),
    )


def _needs(path: str, skill: Skill) -> Mapping[Needs, Sequence[str]]:
    """Return what the scripts beside a SKILL.md need; nothing if the folder cannot be read completely."""
    if os.path.basename(path).lower() != SKILL_FILE.lower():
        return {}
    try:
        return needs_of_skill(os.path.dirname(path), find_code(os.path.dirname(path)), skill.requirements.packages)
    except SkillError:
        return {}


def _state(needs: Needs) -> str:
    """Return whether packages are there: `present` in this Python, `installed` for scripts, or `missing`."""
    if not find_missing(Requirements(packages=needs.packages)):
        return "present"
    return "missing" if find_environment(needs, os.environ) is None else "installed"


_STATES = {"present": "in this Python", "installed": "installed", "missing": "installed when a script first runs"}


def _no_digest(entry: Entry) -> str:
    if entry.scope == "remote":
        return "its server makes it when it is read"
    return "the skill has no folder of its own, or some files cannot be read"


def _text(details: _SkillDetails) -> Iterator[str]:
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
    yield neutral(entry.name)
    yield from (f"  {key:<10}{text}" for key, text in facts.items() if text)
    for needs, scripts in details.needs.items():
        state = f": {_STATES[_state(needs)]}" if needs.packages else ""
        yield f"  packages  {needs.describe(len(scripts))}{state}"
        yield from (f"            {note}" for note in needs.notes())
    if details.skill.fields:
        yield from ("", "fields")
        for key, field in details.skill.fields.items():
            yield from wrap_for_terminal(f"  {neutral(key)}: {format_value(field.value)}")
    if details.files:
        width = max(len(f"{size:,}") for _, size in details.files)
        yield from ("", f"files ({len(details.files):,}, {sum(size for _, size in details.files):,} bytes)")
        yield from (f"  {size:>{width},}  {neutral(path)}" for path, size in details.files)
    if details.findings:
        yield from ("", "findings")
        yield from finding_lines(details.findings, base=os.path.dirname(entry.path), indent="  ")
