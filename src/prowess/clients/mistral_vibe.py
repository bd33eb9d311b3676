"""What Mistral Vibe alone does (observed with 3.0.3): it has plugins of its own form, of Codex and of Claude Code."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping

from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.globs import compile_glob
from prowess._internal.text import quoted
from prowess.clients.plugins import PluginFinder
from prowess.clients.settings import count_steps, find_problem, texts_of, word_of_nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.clients.plugins import InstalledPlugin
    from prowess.clients.settings import SettingsReader
    from prowess.filesystem import Filesystem

REGEX_PREFIX = "re:"
"""Begins a pattern that is a regular expression for the whole name."""
_MAX_PATTERNS = 1000
_MAX_LENGTH = 256
_USUAL_LENGTH = 64
"""Of a name."""
_MAX_STEPS, _MAX_STEPS_OF_ALL = 20_000_000, 100_000_000
"""Ways to match a name of this length with a regular expression, and with all of them; more could take too long."""


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the list that has the nearest folder; one that both lists have is trusted."""
    for path, table in reader.trust_values("", ("trusted-folders",)):
        lists = [(word, table.get(word)) for word in ("untrusted", "trusted")] if isinstance(table, Mapping) else []
        words = {folder: word for word, folders in lists for folder in texts_of(folders)}
        yield path, word_of_nearest(words, reader.cwd, {"trusted": "trusted", "untrusted": "untrusted"})


def read_own_settings(reader: SettingsReader) -> None:
    """Read the patterns of names that say which skills stay."""
    reader.found["name_filter"] = _read_name_filter(reader)


class NameFilter(Frozen):
    """Which skills stay, by their names."""

    patterns: tuple[tuple[str, str], ...] = ()
    """Each pattern with the file that has it."""
    effects: Mapping[str, str] = EMPTY
    """The effect on skills that a pattern matches (`match`), and on the others (`rest`)."""

    def effect(self, name: str) -> tuple[str, str]:
        """Return the effect on a skill, a word of `Setting.effects`, and the file that says so."""
        for pattern, file in self.patterns:
            if _matches(pattern, name):
                return self.effects.get("match", "on"), file
        return self.effects.get("rest", "on"), self.patterns[0][1] if self.patterns else ""


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern matches no name, or `None`."""
    if len(pattern) > _MAX_LENGTH:
        return "is too long"
    if not pattern.startswith(REGEX_PREFIX):
        return None
    text = pattern.removeprefix(REGEX_PREFIX)
    if count_steps(text, _USUAL_LENGTH) > _MAX_STEPS:
        return "is too complex"
    try:
        _compile(text)
    except (re.error, OverflowError, RecursionError):
        return "is not a regular expression"
    return None


def _read_name_filter(reader: SettingsReader) -> NameFilter | None:
    """Return the first list of patterns that is not empty, or `None`: those of skills to keep come first."""
    for key, effects in (("enabled_skills", {"rest": "gone"}), ("disabled_skills", {"match": "gone"})):
        patterns = [(item.strip(), file) for file, value in reader.values(key) for item in texts_of(value)]
        if not patterns:
            continue
        if len(patterns) > _MAX_PATTERNS:
            reader.files.report(patterns[0][1], f"only {_MAX_PATTERNS:,} patterns of names count")
            patterns = patterns[:_MAX_PATTERNS]
        tried, steps = [], 0.0
        for pattern, file in patterns:
            problem = pattern_problem(pattern)
            if problem is None and pattern.startswith(REGEX_PREFIX):
                steps += count_steps(pattern, _USUAL_LENGTH)
                problem = "is too complex together with those before it" if steps > _MAX_STEPS_OF_ALL else None
            if problem is not None:
                reader.files.report(file, f"the pattern {quoted(pattern)} {problem}, and matches nothing")
            tried.append((pattern if problem is None else "", file))
        return NameFilter(patterns=tuple(tried), effects=effects)
    return None


def _compile(text: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(text, re.IGNORECASE)


def _matches(pattern: str, name: str) -> bool:
    if not pattern:
        return False
    if pattern.startswith(REGEX_PREFIX):
        text = pattern.removeprefix(REGEX_PREFIX)
        return count_steps(text, len(name)) <= _MAX_STEPS_OF_ALL and _compile(text).fullmatch(name) is not None
    return bool(compile_glob(pattern.lower())(name.lower()))


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_KEYS = (
    *("$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"),
    "extensions",
)
"""The only keys that a manifest of its own form may have."""
_KINDS = {
    "codex": (".codex-plugin/plugin.json",),
    "claude": (".claude-plugin/plugin.json",),
    "kimi": ("kimi.plugin.json", ".kimi-plugin/plugin.json"),
}
"""The manifests of other forms; a folder with two of them is no plugin."""


class Plugins(PluginFinder):
    """Finds its plugins."""

    def problem_of_manifest(self, table: object) -> str | None:
        """Return what makes a manifest invalid, in words; `None` if it is valid."""
        return find_problem(table, self.rules.manifest_types, () if "-" in self.table else _KEYS)

    def has_files(self, folder: str, manifest: Mapping[str, Any] | None) -> bool:
        """Return whether a folder, which has the manifest of another client, contains no manifest of a third one."""
        form = self.table.partition("-")[2]
        others = (name for kind, names in _KINDS.items() if form and kind != form for name in names)
        return not any(self.filesystem.kind(os.path.join(folder, name)) == "f" for name in others)

    def prefix(self, name: str) -> str:
        """Return a name as one of Python."""
        return re.sub("^(?=[0-9])", "_", re.sub("[^A-Za-z0-9_$]", "_", name))

    def one_of_each_name(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Switch off all plugins of one name, and all of a project that is not trusted."""
        counts = Counter(plugin.name for plugin in found)
        untrusted = self.table.startswith("project") and self.settings.trust != "trusted"
        result = []
        for plugin in found:
            off = plugin.off
            if untrusted:
                off = f"its plugin {quoted(plugin.id)} is in a project that is not trusted"
            elif counts[plugin.name] > 1:
                off = f"another plugin has the name of its plugin {quoted(plugin.id)} too"
            result.append(plugin.with_changes(off=off))
        return result


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


def codes_as_read(codes: set[str]) -> set[str]:
    """Return the codes for a client that reads UTF-16 and UTF-32 with a byte order mark; it looks for fences in it."""
    return codes - {"encoding-utf16"} | {"frontmatter-missing"} if "encoding-utf16" in codes else codes


def read_text(filesystem: Filesystem, real: str) -> str:
    """Return the text of a file in the encoding of its byte order mark."""
    return filesystem.text(real, by_mark=True)
