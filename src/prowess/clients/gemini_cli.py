"""What Gemini CLI alone does (observed with 0.61.0)."""

from __future__ import annotations

import os
import re
import warnings

from prowess._internal.text import neutral, quoted
from prowess.clients.plugins import ExtensionFinder
from prowess.clients.reading import JAVASCRIPT_SPACE, lines_to_parse
from prowess.clients.settings import (
    TOKEN,
    NamedSkill,
    contains,
    count_steps,
    find_problem,
    folders_with_trust,
    plugin_variables,
    texts_of,
    truth_of,
)
from prowess.skill import Field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.clients.plugins import InstalledPlugin, PluginCandidate
    from prowess.clients.settings import SettingsLayer, SettingsReader
    from prowess.hosts import Host
    from prowess.skill import Document

_TRUST_VARIABLE = "GEMINI_CLI_TRUST_WORKSPACE"
"""Whether the project is trusted, whatever any file says."""


def is_trusted_file(reader: SettingsReader, layer: SettingsLayer) -> bool:
    """Return whether a settings file counts: that of a project does unless it is known to be untrusted."""
    return layer.name != "project" or reader.trust != "untrusted"


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield what a variable, the switch for all folders, and the folder with the longest text say."""
    trusted = reader.files.read_bool_variable(_TRUST_VARIABLE)
    if trusted is not None:
        yield _TRUST_VARIABLE, "trusted" if trusted else "untrusted"
    source, on = reader.folder_trust_switch()
    if on is False:
        yield source, "trusted"
    for path, table in reader.trust_values("", ("trusted-folders",)):
        longest, answer = -1, "unknown"
        for written, spelled, trust in folders_with_trust(table, reader.cwd):
            if len(written) > longest and contains(reader.files.filesystem.real(spelled), reader.cwd):
                longest, answer = len(written), trust
        yield path, answer


def trust_hint(host: Host) -> str:
    """Return how a user trusts a folder."""
    return f"trust the folder in {host.title}, or set {_TRUST_VARIABLE}=true"


def named_skills(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the skills in `skills.disabled`, without regard to case; a text instead of a list is one name."""
    key = "skills.disabled"
    for path, value in reader.values(key, merge="union-single"):
        for name in texts_of(value):
            cure = f"remove {quoted(name)} from `{key}`"
            yield NamedSkill(key=key, file=path, written=name, effect="off", cure=cure, folded=name.lower())


def read_own_settings(reader: SettingsReader) -> None:
    """Read the switch of all skills, where each value counts as in JavaScript."""
    for path, value in reader.values("skills.enabled"):
        reader.apply_switch("skills.enabled", path, truth_of(value))


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_MANIFEST_STOPS = {"excludeTools": "text|list|null", "themes": "list|null"}
"""The types in the manifest of an extension that is on; with others the client refuses to start."""
_MAX_STEPS = 20_000_000
"""How many steps all searches of one setting may take at most."""


class AllowedSources:
    """The regular expressions of `security.allowedExtensions`, which may come from anyone.

    Only those are tried that take bounded time.

    Args:
        path: the file that has them.
        patterns: as written; anything but text stops the client.
    """

    def __init__(self, *, path: str, patterns: tuple[object, ...]) -> None:
        self.path, self.patterns = path, patterns
        self._steps_left: float = _MAX_STEPS

    def allows(self, source: str) -> bool:
        """Return whether one of the expressions is found in a path.

        Raises:
            ValueError: one is invalid, so that the client ends with an error.
            TimeoutError: one could take too long, and is not tried.
        """
        for pattern in self.patterns:
            if not isinstance(pattern, str):
                raise ValueError(f"{pattern!r:.100} is no text")  # noqa: TRY004 - any fault of a pattern is one
            if self._find(pattern, source):
                return True
        return False

    def _find(self, pattern: str, text: str) -> bool:
        if re.search(r"\(\?(?:[=!]|<)|\\[1-9k]", pattern):
            raise TimeoutError(pattern)
        steps = count_steps(pattern, len(text)) + len(pattern)
        if steps > self._steps_left:
            raise TimeoutError(pattern)
        self._steps_left -= steps
        # In JavaScript, `$` is the end of the text only.
        parts = (r"\Z" if token[0] == "$" else token[0] for token in TOKEN.finditer(pattern))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.search("".join(parts), text, re.ASCII) is not None
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None


class Plugins(ExtensionFinder):
    """Finds its extensions."""

    def read_settings(self) -> None:
        """Read which sources of extensions the settings allow, from the highest file that says so."""
        super().read_settings()
        path, patterns = next(self.reader.values("security.allowedExtensions", (), "first"), ("", None))
        blocked = next(self.reader.values("security.blockGitExtensions", (), "first"), ("", False))
        listed = tuple(patterns) if isinstance(patterns, list) else ()
        self.allowed = AllowedSources(path=path, patterns=listed) if listed else None
        self.blocks_git = truth_of(blocked[1])

    def is_allowed(self, place: str, install: Mapping[str, Any]) -> bool:
        """Return whether one expression is found in the path of its source; without a list, whether it may be git's."""
        allowed = self.allowed
        if allowed is None:
            return not (self.blocks_git and install.get("type") in ("git", "github-release"))
        source = install.get("source")
        if not isinstance(source, str) or not source:
            self.stop(place, f"{neutral(allowed.path)} allows some sources only, and this one is unknown")
            return False
        path = os.path.normpath(os.path.join(self.cwd, source.replace("\0", "")))
        path = self.filesystem.real(path) if self.filesystem.kind(path) else path
        try:
            return allowed.allows(path)
        except ValueError as error:
            self.stop(allowed.path, f"a regular expression is invalid: {quoted(str(error), 120)}")
        except TimeoutError as error:
            self.report(allowed.path, f"the regular expression {quoted(str(error), 120)} may take too long")
        return False

    def fault(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> str:
        """Refuse to start with an extension that is on and has certain values in its manifest."""
        if problem := find_problem(manifest, _MANIFEST_STOPS):
            self.stop(candidate.folder, problem)
        return ""

    def further(self, candidate: PluginCandidate, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `${extensionPath}` and the like are in the texts of its skills."""
        return {"variables": plugin_variables(candidate.folder, self.cwd)}

    def in_order(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Put the folder first that is last in byte order."""
        return sorted(found, key=lambda plugin: os.fsencode(plugin.place), reverse=True)

    def one_of_each_name(self, found: list[InstalledPlugin]) -> list[InstalledPlugin]:
        """Refuse to start if several have one name."""
        last = {plugin.name: plugin for plugin in reversed(found)}
        for plugin in found:
            winner = last[plugin.name]
            if winner is not plugin:
                self.stop(plugin.place, f"{neutral(winner.place)} has the name {quoted(plugin.name)} too")
        return found


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


_RAW_FIELD = rf"[{JAVASCRIPT_SPACE}]*(name|description):[{JAVASCRIPT_SPACE}]*([^\n\u2028\u2029]*)\Z"


def fields_as_read(fields: Mapping[str, Field], document: Document | None, *, is_valid: bool) -> Mapping[str, Field]:
    """Return the fields, read line by line if the YAML is invalid or a name or description is missing or not text."""
    texts = (fields.get(key) for key in ("name", "description"))
    if document is None or (is_valid and all(value is not None and value.kind == "text" for value in texts)):
        return fields
    return _parse_raw(lines_to_parse(document))


def _parse_raw(lines: list[str]) -> dict[str, Field]:
    """Return `name` and `description`, the last of each; indented lines below a description continue it."""
    fields: dict[str, Field] = {}
    number = 0
    while number < len(lines):
        match = re.match(_RAW_FIELD, lines[number])
        start = number
        number += 1
        if match is None:
            continue
        parts = [match[2].strip(JAVASCRIPT_SPACE)]
        while match[1] == "description" and number < len(lines) and re.match(r"[ \t]+\S", lines[number]):
            parts.append(lines[number].strip(JAVASCRIPT_SPACE))
            number += 1
        fields[match[1]] = Field(value=" ".join(filter(None, parts)), kind="text", line=start + 2, column=1)
    return fields
