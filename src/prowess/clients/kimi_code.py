"""What Kimi Code alone does (observed with 2.1.0): it lists plugins, with whether they are on, in one file."""

from __future__ import annotations

import os

from prowess._internal.files import SKILL_FILE
from prowess._internal.text import neutral, quoted
from prowess.clients.plugins import PluginFinder
from prowess.clients.reading import JAVASCRIPT_SPACE, cut_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from prowess.clients.plugins import InstalledPlugin, PluginCandidate
    from prowess.clients.settings import SettingsReader
    from prowess.hosts import DescriptionRules
    from prowess.skill import Document, Field


def read_own_settings(reader: SettingsReader) -> None:
    """Let the folders of `--skills-dir` replace those of projects and users."""
    if any(folder and "\0" not in folder for folder in reader.arguments.values("--skills-dir")):
        reader.found["only_named"] = frozenset(("project", "user"))


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def takes_skipped_skills() -> bool:
    """Return whether a hidden folder may be a skill, and a hidden file too; folders in it are skipped."""
    return True


def takes_skills_first() -> bool:
    """Return whether the skills right below a folder come before those further down."""
    return True


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Plugins(PluginFinder):
    """Finds its plugins."""

    def candidates(self) -> Iterator[PluginCandidate]:
        """Yield the plugins of its list; one is on if `enabled` is true, a number but 0, or a text."""
        off = f"switched off in {neutral(self.expand(self.rules.listed))}"
        for entry, candidate in self.listed("root"):
            yield candidate if entry.get("enabled") else candidate.with_changes(off=off)

    def skill_folders(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> list[str] | None:
        """Return the folders of skills that a manifest lists; one that does not count makes the plugin invalid."""
        found = []
        for item, path, counts in self.listed_folders(candidate.folder, manifest):
            if not counts:
                self.report(candidate.folder, f"the plugin is ignored: it lists {quoted(item)} as a folder of skills")
                return None
            found.append(path)
        return [candidate.folder] if self._is_skill(candidate, manifest) else found

    def _is_skill(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> bool:
        """Return whether a plugin is one skill itself, since its manifest lists no folders."""
        return "skills" not in manifest and self.filesystem.kind(os.path.join(candidate.folder, SKILL_FILE)) == "f"

    def further(self, candidate: PluginCandidate, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return whether no other folders in a plugin count."""
        return {"own_only": self._is_skill(candidate, manifest)}

    def in_order(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Put the last of the list first."""
        return found[::-1]


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────


def name_of_file(fields: Mapping[str, Field] | None, path: str) -> str | None:
    """Return the name of a loose file, which is called like the file if it has no other."""
    value = None if fields is None else fields.get("name")
    text = str(value.value).strip() if value is not None and value.kind == "text" else ""
    return text or os.path.basename(path).removesuffix(".md")


def action_for_file(kind: str, action: str) -> str:
    """Take a description that is not text from the body."""
    return "body"


def text_from_body(lines: Sequence[str]) -> str:
    """Return the beginning of the first line."""
    return cut_text(lines[0] if lines else "", 240, "…", "utf16", whole=True)


def cut_description(text: str, rules: DescriptionRules) -> str:
    """Return a description that is cut between characters."""
    return cut_text(text, rules.limit, rules.ellipsis, rules.unit, whole=True)


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


_ALIASES = {
    "disableModelInvocation": "disable-model-invocation",
    "disable_model_invocation": "disable-model-invocation",
}
"""Other names of fields; of several in one file, the last counts."""


def trim_front(front: str) -> str:
    """Remove white space around what is between the fences."""
    return front.strip(JAVASCRIPT_SPACE)


def fields_as_read(fields: Mapping[str, Field], document: Document | None, *, is_valid: bool) -> Mapping[str, Field]:
    """Return the fields by their usual names."""
    return {_ALIASES.get(key, key): value for key, value in fields.items()}


def are_plain_keys(keys: frozenset[str]) -> bool:
    """Return whether no field has another name."""
    return keys.isdisjoint(_ALIASES)


# ── the catalog ───────────────────────────────────────────────────────────────────────────────────────────────────────


def heading(scope: str) -> str:
    """Return a line before the first skill of each scope."""
    return f"### {scope}\n"


def when_line(text: str) -> str:
    """Return the line of a skill that says when to use it."""
    return f"  When to use: {text}\n"
