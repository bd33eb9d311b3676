"""Find the skills of a host: its settings, its plugins, its folders, the skills in them, and which of these win."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral
from prowess.findings import Finding, finding
from prowess.hosts import Host, Root, load_host

from ._budget import with_user_budget
from ._filesystem import Filesystem
from ._found_skill import FoundSkill
from ._lazy import LazyEntries
from ._moved_folders import moving_variables
from ._precedence import Precedence
from ._project import git_root
from ._roots import ScanRoot, find_scan_roots
from ._scan import scan
from ._settings import Settings, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ._entry import Entry
    from ._installed_plugins import InstalledPlugin

__all__ = ["ResolvedSkills", "evaluate_file", "resolve_skills"]


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


def resolve_skills(
    host: Host,
    *,
    cwd: str,
    home: str,
    skill_dirs: Iterable[str],
    env: Mapping[str, str],
    use_home_variables: bool,
    role: str | None,
    client_args: Sequence[str],
    filesystem: Filesystem,
) -> ResolvedSkills:
    """Find the skills one host sees from a directory, and decide which win.

    Args:
        host: whose rules to follow.
        cwd: the directory the client is started in, absolute and without links.
        home: the user's home, absolute.
        skill_dirs: further directories to scan, highest precedence first.
        env: the environment.
        use_home_variables: whether variables that move a client's folders count.
        role: an InitRunner role file, absolute.
        client_args: the arguments that the client is started with.
        filesystem: what was read so far.
    """
    project = git_root(cwd, host.git_marker, filesystem) or cwd
    variables = moving_variables(host, env if use_home_variables else {}, client_args, cwd=cwd, home=home)
    settings = read_settings(
        host,
        project=project,
        cwd=cwd,
        home=home,
        env=env,
        home_variables=variables,
        role=role,
        client_args=client_args,
        filesystem=filesystem,
    )
    findings = list(settings.findings)
    if not settings.enabled:
        return _nothing(host, settings, findings, settings.enabled_source)
    project = settings.project or project
    own_host = host  # a catalog from the cache has it too, without what the user has set
    host = with_user_budget(host, settings, home, variables)
    plugins: Mapping[str, Iterable[InstalledPlugin]] = {}
    if host.plugins or host.market_folders:
        # Few hosts have plugins, and their modules take time to load.
        from ._plugin_finders import find_plugins

        found = find_plugins(
            host, settings, project=project, cwd=cwd, home=home, variables=variables, filesystem=filesystem
        )
        plugins = found.plugins
        findings += found.findings
        settings = _with_skills_off(settings, plugins).with_changes(hidden_folders=found.hidden)
        if found.stops:
            return _nothing(host, settings, findings, neutral(found.stops))
    scan_roots = find_scan_roots(
        host,
        cwd,
        home,
        skill_dirs=skill_dirs,
        env=env,
        home_variables=variables,
        settings=settings,
        plugins=plugins,
        filesystem=filesystem,
    )
    precedence = Precedence(host, settings, filesystem)
    result = scan(host, scan_roots, project=project, filesystem=filesystem)
    skills = precedence.resolve(result.found)
    findings += result.findings
    findings += precedence.findings
    return ResolvedSkills(
        host=own_host, skills=skills, findings=tuple(findings), scan_roots=result.scan_roots, settings=settings
    )


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
    root = host.roots[0] if host.roots else Root(path="", scope="extra")
    filesystem = filesystem or Filesystem()
    scan_root = ScanRoot(os.path.dirname(os.path.dirname(path)), root.scope, root)
    found = FoundSkill(path, path, scan_root, filesystem.skill(path, whole=host.reading.whole_file))
    return LazyEntries(host, Settings(), filesystem).entry(found)
