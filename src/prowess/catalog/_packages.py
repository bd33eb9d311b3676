"""Find the packages that a client's settings list, and their folders of skills.

An entry is a folder, `npm:NAME@RANGE`, or a git repository, or a table with such a `source` and with patterns for its
skills. The files of packages are untrusted: whatever they contain, the result is at most a finding.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.files import expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.findings import finding

from ._installed_plugins import InstalledPlugin
from ._json_files import read_json_or_report
from ._minimatch import minimatch
from ._package_sources import git_folder, is_in_range, npm_name
from ._path_patterns import PathPatterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.findings import Finding
    from prowess.hosts import PluginRules

    from ._filesystem import Filesystem

__all__ = ["PackageFinder", "PackageSettings"]

PackageSettings = tuple[tuple[str, tuple["Any", ...]], ...]
"""The settings files that list packages, each with its entries, highest precedence first."""

_MAX_PACKAGES = 1000
_MAX_MATCHES = 2000
"""Files and folders that the globs of a package may match, and folders in which they are searched."""


class _Package(Frozen):
    """An entry of the settings."""

    source: str
    entry: Any
    file: str
    """The settings file."""
    identity: str
    is_first: bool
    """Whether the file is the one with the highest precedence."""

    @property
    def is_delta(self) -> bool:
        """Whether it only changes what another entry of the same package gives."""
        return isinstance(self.entry, Mapping) and self.entry.get("autoload") is False


class PackageFinder:
    """Finds the packages of one table of a host."""

    def __init__(self, rules: PluginRules, *, home: str, settings: PackageSettings, filesystem: Filesystem) -> None:
        self.rules, self.home, self.settings, self.filesystem = rules, home, settings, filesystem
        self.findings: list[Finding] = []
        self.stops = ""
        """The file that keeps the client from starting; empty without one."""

    def find(self) -> list[InstalledPlugin]:
        """Return the packages with their folders of skills, highest precedence first."""
        packages = self._listed()
        found = []
        changes = {package.identity: package for package in packages if package.is_delta and package.is_first}
        changed = {package.identity for package in packages if not package.is_first} & changes.keys()
        for package in packages:
            folder = None if package.is_first and package.identity in changed else self._folder(package)
            if folder is None:
                continue
            paths, patterns = self._skills(package, folder)
            if package.identity in changed:
                change = changes[package.identity]
                texts = _texts(change.entry.get("skills"))
                change_patterns = PathPatterns(
                    base=folder, patterns=texts, file=change.file, form="change", changed=patterns
                )
                patterns = (change_patterns,)
            found.append(
                InstalledPlugin(
                    id=package.source,
                    name=os.path.basename(folder),
                    folder=folder,
                    skill_folders=tuple(dict.fromkeys(paths)),
                    namespace=None,
                    patterns=patterns,
                )
            )
        return found

    def _report(self, path: str, message: str) -> None:
        self.findings.append(finding("config-invalid", message, path=path, hint="fix the file or the entry"))

    # ── which ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _listed(self) -> list[_Package]:
        """Return the entries that count: of one package, the entry of the file with the highest precedence."""
        result: list[_Package] = []
        for number, (file, entries) in enumerate(self.settings):
            for entry in entries:
                source = entry.get("source") if isinstance(entry, Mapping) else entry
                if not isinstance(source, str):
                    self.stops = file
                    continue
                if "\0" in source or len(result) == _MAX_PACKAGES:
                    self._report(file, f"only {_MAX_PACKAGES:,} packages with valid sources count")
                    continue
                package = _Package(
                    source=source,
                    entry=entry,
                    file=file,
                    identity=self._identity(source, file),
                    is_first=number == 0 and len(self.settings) > 1,
                )
                same = next((index for index, item in enumerate(result) if item.identity == package.identity), None)
                if same is None or (result[same].is_delta and result[same].is_first and not package.is_first):
                    result.append(package)
                elif package.is_first:
                    result[same] = package
        return result

    def _identity(self, source: str, file: str) -> str:
        if npm := npm_name(source):
            return f"npm:{npm[0]}"
        return f"git:{git}" if (git := git_folder(source)) else f"local:{self._local(source, file)}"

    def _local(self, source: str, file: str) -> str:
        text = source.strip()
        return os.path.normpath(os.path.join(os.path.dirname(file), expand_home(text, self.home)))

    # ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _folder(self, package: _Package) -> str | None:
        """Return the folder of a package; `None` if it is not installed, or has nothing that the client knows."""
        top = os.path.dirname(package.file)
        if npm := npm_name(package.source):
            name, wanted = npm
            root = os.path.join(top, self.rules.npm_folder)
            folder = os.path.normpath(os.path.join(root, name))
            version = (self._json(os.path.join(folder, "package.json")) or {}).get("version")
            inside = folder.startswith(root + os.sep)
            fits = bool(version) and (not wanted or is_in_range(version, wanted))
            return folder if inside and fits else None
        if git := git_folder(package.source):
            folder = os.path.join(top, self.rules.git_folder, git)
            return folder if self.filesystem.kind(folder) == "d" else None
        folder = self._local(package.source, package.file)
        kind = self.filesystem.kind(folder)
        if (kind == "f" and not folder.endswith((".ts", ".js", ".mjs", ".cjs"))) or (
            kind == "d" and isinstance(package.entry, str) and self._is_empty(folder)
        ):
            self._report(package.file, f"the package {quoted(package.source)} keeps the agent from starting")
            self.stops = package.file
        return folder if kind == "d" else None

    def _is_empty(self, folder: str) -> bool:
        """Return whether the client takes a folder for an extension and fails to load it."""
        manifest = self._json(os.path.join(folder, "package.json")) or {}
        if isinstance(manifest.get(self.rules.skills_key.partition(".")[0]), Mapping) or manifest.get("main"):
            return False
        names = ("extensions", "skills", "prompts", "themes", "index.ts", "index.js", "index.mjs", "index.cjs")
        return not any(self.filesystem.kind(os.path.join(folder, name)) for name in names)

    def _json(self, path: str) -> dict[str, Any] | None:
        """Return the table that a JSON file contains; `None` if it is missing or invalid."""
        value = read_json_or_report(self.filesystem, path, self._report, mark=True)
        return value if isinstance(value, dict) else None

    # ── what ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _skills(self, package: _Package, folder: str) -> tuple[list[str], tuple[PathPatterns, ...]]:
        """Return the folders and files of a package's skills, and the patterns that switch them off and on."""
        key, _, inner = self.rules.skills_key.partition(".")
        manifest = (self._json(os.path.join(folder, "package.json")) or {}).get(key)
        entries = manifest.get(inner) if isinstance(manifest, Mapping) else None
        if not isinstance(entries, list) or not all(isinstance(item, str) for item in entries):
            entries = None
        default = [os.path.join(folder, name) for name in self.rules.skills]
        if isinstance(package.entry, str):
            if not isinstance(manifest, Mapping):
                return default, ()
            return self._entries(entries or [], folder)
        wanted = package.entry.get("skills")
        if wanted is None and not package.is_delta:
            return (default, ()) if entries is None else self._entries(entries, folder)
        paths, patterns = self._entries(entries, folder) if entries else (default, ())
        texts = _texts(wanted)
        form = "only" if package.is_delta or not texts else "select"
        return paths, (*patterns, PathPatterns(base=folder, patterns=texts, file=package.file, form=form))

    def _entries(self, entries: list[str], folder: str) -> tuple[list[str], tuple[PathPatterns, ...]]:
        """Return what the entries of a manifest name, and its own patterns."""
        paths: list[str] = []
        for entry in entries[:_MAX_MATCHES]:
            if entry.startswith(("!", "+", "-")) or "\0" in entry:
                continue
            if "*" in entry or "?" in entry:
                paths += self._glob(entry, folder)
            else:
                paths.append(os.path.normpath(os.path.join(folder, entry)))
        own = tuple(entry for entry in entries if entry.startswith(("!", "+", "-")))
        manifest = os.path.join(folder, "package.json")
        return paths[:_MAX_MATCHES], (PathPatterns(base=folder, patterns=own, file=manifest),) if own else ()

    def _glob(self, pattern: str, folder: str) -> list[str]:
        """Return the visible files and folders of a package that a glob matches, sorted.

        A client may search other folders too, `/` with all below it among them; Prowess does not.
        """
        parts = pattern.split("/")
        plain = next(index for index, part in enumerate(parts) if set(part) & set("*?[{("))
        base = os.path.normpath(os.path.join(folder, *parts[:plain]))
        if base != folder and not base.startswith(folder + os.sep):
            return []
        rest = "/".join(parts[plain:])
        found = [path for path in self._below(base) if minimatch(path[len(base) + 1 :], rest)]
        return sorted(path for path in found if "/." not in path[len(folder) :].replace("/..", ""))

    def _below(self, base: str) -> Iterator[str]:
        """Yield the paths below a folder, links to folders not followed."""
        waiting, listed = [base], 0
        while waiting and listed < _MAX_MATCHES:
            folder = waiting.pop()
            listed += 1
            try:
                entries = self.filesystem.listing(folder)
            except OSError:
                continue
            for name, letter in entries:
                if not name.startswith("."):
                    yield f"{folder}/{name}"
                    if letter == "d":
                        waiting.append(f"{folder}/{name}")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
