"""What Cline alone does (observed: 3.0.65): bundles, modules of npm, and plugins of agents."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess.clients.plugins import PluginFinder
from prowess.clients.settings import get_dotted
from prowess.findings import Finding, Severity, apply_policy
from prowess.skill import check_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from prowess.clients.plugins import PluginCandidate
    from prowess.clients.settings import Settings, SettingsReader
    from prowess.hosts import Flag, NameRules, Root
    from prowess.skill import Skill

_MAX_FILES = 1000
"""Files that count in one manifest."""


class Plugins(PluginFinder):
    """Finds its plugins; relative paths belong to the git root."""

    def __init__(self, table: str, reader: SettingsReader, settings: Settings) -> None:
        super().__init__(table, reader, settings)
        self.cwd = reader.project

    def read_settings(self) -> None:
        """Read which plugins the settings switch off."""
        for path, value in self.reader.values("disabledAgentPlugins") if self.table == "agent-plugin" else ():
            names = value if isinstance(value, list | tuple) else ()
            self.switches |= {name.strip(): (False, path) for name in names if isinstance(name, str)}

    def names(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return what settings call a plugin, and its name; a bundle is called like its folder."""
        names = super().names(candidate, manifest)
        return (names[0], os.path.basename(candidate.folder)) if names and self.table == "bundle" else names

    def has_files(self, folder: str, manifest: Mapping[str, Any] | None) -> bool:
        """Return whether a module has a file that its manifest names, or that of the folder above."""
        above = os.path.dirname(folder)
        return self.table != "module" or any(
            path.startswith(folder + os.sep) and self.filesystem.kind(path) == "f"
            for place, table in ((folder, manifest), (above, self.manifest(above)))
            for path in _named_files(get_dotted(table, "cline.plugins"), place)
        )


def _named_files(value: Any, folder: str) -> Iterator[str]:
    """Yield the paths of files in a list of texts, and of tables with a list of texts in `paths`."""
    names: list[Any] = []
    for item in value[:_MAX_FILES] if isinstance(value, list) else ():
        inner = item.get("paths") if isinstance(item, Mapping) else None
        names += inner if isinstance(inner, list) else [item]
    for name in names[:_MAX_FILES]:
        if isinstance(name, str) and name and "\0" not in name:
            yield os.path.normpath(os.path.join(folder, name))


def keeps_name(flag: Flag) -> bool:
    """Return whether a rejected skill still hides others of its name: one that its author has switched off."""
    return flag.state == "rejected" and not flag.code


def root_problem(root: Root, skill: Skill) -> Finding | None:
    """Return what keeps a skill of an agent's plugin from being loaded: the first error of the specification."""
    found = apply_policy(check_skill(skill), "spec", frozenset()) if root.plugins == "agent-plugin" else ()
    return next((problem for problem in found if problem.severity is Severity.ERROR), None)


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────


def final_name(name: str, rules: NameRules) -> str:
    """Return a name in lower case if it contains a colon."""
    return name.lower() if ":" in name else name


def final_description(text: str, line: str, scope: str) -> tuple[str, str]:
    """Return no description: the model gets only names."""
    return "", ""


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


def is_usable_body(text: str) -> bool:
    """Return whether a skill has instructions."""
    return bool(text.strip())


# ── the catalog ───────────────────────────────────────────────────────────────────────────────────────────────────────


def join_entries(lines: Sequence[str]) -> str:
    """Return the entries of the catalog in one line."""
    return ", ".join(lines)
