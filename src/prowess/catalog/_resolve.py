"""Find the skills of a host: its settings, its plugins, its folders, the skills in them, and which of these win."""

from __future__ import annotations

import os
from functools import partial

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess._internal.variable_paths import variable_path
from prowess.clients import of_client
from prowess.clients.settings import ClientArguments, Settings, SettingsReader
from prowess.filesystem import Filesystem, Question, git_root
from prowess.find import FoundSkill, ScanRoot, find_scan_roots, scan
from prowess.findings import Finding, finding
from prowess.hosts import Host, Root, load_host

from ._budget import with_user_budget
from ._evaluate import Evaluator
from ._precedence import Precedence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prowess.clients.plugins import InstalledPlugin

    from ._entry import Entry


class ResolvedSkills(Frozen):
    """What a host sees from a directory: the fields of a `Catalog` that `discover` works out."""

    host: Host
    skills: tuple[Entry, ...]
    """In the order in which the host shows them."""
    findings: tuple[Finding, ...]
    """The findings that belong to no single skill."""
    scan_roots: tuple[ScanRoot, ...]
    """The directories that were scanned, highest precedence first."""
    settings: Settings


def resolve_skills(host: Host, question: Question, filesystem: Filesystem) -> ResolvedSkills:
    """Find the skills one host sees from a directory, and decide which win.

    Args:
        host: whose rules to follow.
        question: where its client is started.
        filesystem: what was read so far.
    """
    project = git_root(question.cwd, host.git_marker, filesystem) or question.cwd
    question = _with_moved_folders(host, question)
    reader = SettingsReader(host, question, project, filesystem)
    settings = reader.read()
    findings = list(settings.findings)
    if question.skill_dirs and not host.searches_named_folders:
        message = f"{host.title} does not search the folders of `--skill-dir` and `PROWESS_SKILL_DIR`"
        findings.append(finding("argument-ignored", message, hint="`--host prowess` searches them"))
    if not settings.enabled:
        return _nothing(host, settings, findings, settings.enabled_source)
    own_host = host  # a catalog from the cache has it too, without what the user has set
    host = with_user_budget(host, settings)
    plugins: Mapping[str, Iterable[InstalledPlugin]] = {}
    if host.plugins:
        # Few hosts have plugins, and their modules take time to load.
        from prowess.clients.plugins import find_plugins

        found = find_plugins(reader, settings)
        plugins = found.plugins
        findings += found.findings
        settings = _with_skills_off(settings, plugins).with_changes(hidden_folders=found.hidden)
        if found.stops:
            return _nothing(host, settings, findings, neutral(found.stops))
    scan_roots = find_scan_roots(host, question, settings=settings, plugins=plugins, filesystem=filesystem)
    expand = partial(variable_path, variables=question.variables, home=question.home)
    precedence = Precedence(host, settings, filesystem, expand)
    result = scan(host, scan_roots, project=reader.project, cwd=question.cwd, filesystem=filesystem)
    skills = precedence.resolve(result.found)
    findings += result.findings
    findings += precedence.findings
    return ResolvedSkills(
        host=own_host, skills=skills, findings=tuple(findings), scan_roots=result.scan_roots, settings=settings
    )


def _with_moved_folders(host: Host, question: Question) -> Question:
    """Return the question with the folders of the client that its arguments move."""
    if not question.client_args:
        return question
    folders = of_client(host.name, moved_folders)(ClientArguments(host, question.client_args), question)
    return question.with_changes(moved_folders=folders) if folders else question


def moved_folders(arguments: ClientArguments, question: Question) -> Mapping[str, str]:  # noqa: ARG001
    """Return the variables that arguments of the client set, each with a folder."""
    return {}


def _with_skills_off(settings: Settings, plugins: Mapping[str, Iterable[InstalledPlugin]]) -> Settings:
    """Return the settings with the skills that plugins switch off themselves."""
    off = {
        f"{plugin.namespace or plugin.name}:{skill}".lower(): ("gone", plugin.folder)
        for found in plugins.values()
        for plugin in found
        for skill in plugin.skills_off
    }
    return settings.with_changes(folded_effects={**off, **settings.folded_effects}) if off else settings


def _nothing(host: Host, settings: Settings, findings: list[Finding], source: str) -> ResolvedSkills:
    """Return what a host sees whose skills are all switched off, with what does so."""
    hint = f"set {host.switch_variable}=true to switch them on" if host.switch_variable else None
    message = f"skills are switched off for {host.title} by {source}; nothing was scanned"
    problem = finding("host-disabled", message, hint=hint)
    return ResolvedSkills(host=host, skills=(), findings=(*findings, problem), scan_roots=(), settings=settings)


def evaluate_file(path: str, host: str | Host, *, filesystem: Filesystem | None = None) -> Entry:
    """Return how a host sees one SKILL.md alone, in whatever folder it is.

    Args:
        path: the absolute path of the file; a link is not followed.
        host: the host or its name. Its settings do not count.
        filesystem: what was read so far.

    Raises:
        HostNotFoundError: the host is unknown.
    """
    host = load_host(host) if isinstance(host, str) else host
    return evaluate_alone(path, Evaluator(host, Settings(), filesystem or Filesystem()))


def evaluate_alone(path: str, evaluator: Evaluator) -> Entry:
    """Return the same as `evaluate_file`, by an evaluator of the host without settings; faster for many files."""
    host, filesystem = evaluator.host, evaluator.filesystem
    root = host.roots[0] if host.roots else Root(path="", scope="extra")
    folder = os.path.dirname(os.path.dirname(path))
    scan_root = evaluator.root_alone
    if scan_root is None or scan_root.path != folder:
        scan_root = evaluator.root_alone = ScanRoot(folder, root.scope, root)
    fast_fields = filesystem.read_fast(path, whole=host.reading.whole_file)
    skill = filesystem.skill(path, whole=host.reading.whole_file) if fast_fields is None else None
    return evaluator.entry(FoundSkill(path, path, scan_root, skill, fast_fields))
