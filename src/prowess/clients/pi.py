"""What pi alone does (observed with 0.87.1): its settings list packages.

An entry is a folder, `npm:NAME@RANGE`, or a git repository, or a table with such a `source` and with patterns for its
skills. The files of packages are untrusted: whatever they contain, the result is at most a finding.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.globs import minimatch
from prowess._internal.text import neutral, quoted
from prowess.clients.plugins import InstalledPlugin, PluginFinder
from prowess.clients.settings import texts_of, word_of_nearest
from prowess.filesystem import read_json_or_report
from prowess.findings import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from prowess.clients.settings import NamedFolder, Settings, SettingsReader
    from prowess.filesystem import Filesystem, Question
    from prowess.hosts import Root

    Version = tuple[Any, ...]
    """Three numbers, and what compares a release with its pre-releases."""

_SCOPES = frozenset(("managed", "project", "user", "system", "package", "plugin", "extra"))


def words_of_own_trust(reader: SettingsReader, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the word for the nearest folder in `trust.json`, in which other values stop pi, and the user's default."""
    for layer in reader.layers:
        if layer.name == "trust":
            reader.check_types(layer, {"*": "bool|null"}, stops=True)
    for path, table in reader.trust_values("", ("trust",)):
        yield path, word_of_nearest(table, reader.cwd, {True: "trusted", False: "untrusted"})
    for path, word in reader.trust_values("defaultProjectTrust", ("user",)):
        yield path, "trusted" if word == "always" else "unknown"


def read_own_settings(reader: SettingsReader) -> None:
    """Read the tools of the model, patterns for the paths of skills, packages, and whether only named folders count."""
    source, tools = reader.first_value("defaultTools", list)
    tools = None if tools is None else texts_of(tools)
    if argument := reader.arguments.last("--no-tools", "-nt", "--no-builtin-tools", "-nbt"):
        source, tools = argument, []
    reader.hide_without_tool("read", "bash", source=source, tools=tools)
    if reader.arguments.last("--no-skills", "-ns"):
        reader.found["only_named"] = _SCOPES
    found = {scope: _patterns(reader, scope) for scope in _SETTINGS_FILES}
    reader.found["path_patterns"] = {scope: patterns for scope, patterns in found.items() if patterns is not None}


def _patterns(reader: SettingsReader, scope: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the settings file with patterns for the paths of a scope's skills, and the patterns."""
    for path, value in reader.values("skills", (scope,)):
        if isinstance(value, list | tuple):
            patterns = [item for item in texts_of(value) if _is_pattern(item)]
            if len(patterns) > _MAX_PATTERNS:
                reader.files.report(path, f"only {_MAX_PATTERNS:,} patterns of `skills` count")
            return (path, tuple(patterns[:_MAX_PATTERNS])) if patterns else None
    return None


# ── folders ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def listed_folders(value: object) -> list[str]:
    """Return what `skills` names as folders or files; other entries are patterns for the paths of skills."""
    return [item for item in texts_of(value) if not _is_pattern(item)]


def named_directory(
    root: Root,
    named: NamedFolder,
    question: Question,
    project: str,
    filesystem: Filesystem,
) -> str | None:
    """Return the path that `skills` or `--skill` names; it may be a `file://` URL, and empty for what it belongs to."""
    path = named.folder.strip()
    if path.startswith("file:///"):
        from urllib.parse import unquote

        path = unquote(path.removeprefix("file://"))
    return os.path.join(os.path.dirname(named.file) or question.cwd, expand_home(path, question.home))


def may_be_file(root: Root) -> bool:
    """Return whether a root may be a file: one that settings, `--skill` or a package name."""
    return not root.is_fixed or root.path == "@skill-dir"


def has_loose_files(root: Root, depth: int) -> bool:
    """Return whether `*.md` files are skills too: below `.agents/skills`, and in all other roots themselves."""
    return not depth if root.loose else depth > 0


def path_patterns(root: Root, path: str, settings: Settings) -> tuple[PathPatterns, ...]:
    """Return the patterns in `skills` for a root; `!GLOB` switches off, `+PATH` on again, `-PATH` off.

    Paths are relative to the settings file for what `skills` names, else to the folder above the root.
    """
    found = settings.path_patterns.get(root.scope)
    if found is None:
        return ()
    file, patterns = found
    form, base = ("select", os.path.dirname(file)) if root.setting else ("switch", os.path.dirname(path))
    return (PathPatterns(base=base, patterns=patterns, file=file, form=form),)


_MAX_PATTERNS = 200
"""Patterns of one list that count."""


def _is_pattern(text: str) -> bool:
    """Say whether an entry of a list is a pattern, and no path of a folder."""
    return text.startswith(("!", "+", "-")) or "*" in text or "?" in text


class PathPatterns(Frozen):
    """The patterns of one list, which switch skills off and on by their paths.

    `!GLOB` switches off, `+PATH` on again and `-PATH` off, in this order wherever they are in the list. A glob matches
    the path of a SKILL.md or of its folder, relative to the base or absolute, or the name of either; a path is exact.
    """

    base: str
    """The folder that relative paths belong to."""
    patterns: tuple[str, ...]
    file: str
    """The settings file with the list, for reasons."""
    form: str = "switch"
    """`switch` (globs without a sign have no effect), `select` (only what one of them matches is on, if there are any),
    `only` (nothing is on but what a pattern switches on; the last that matches counts) or `change` (the same over what
    `changed` says)."""
    changed: tuple[PathPatterns, ...] = ()

    def reason_off(self, path: str) -> str:
        """Return why the skill with this SKILL.md is off; empty if it is on."""
        return "" if self._is_on(path) else f"switched off in {neutral(self.file)}, so the agent does not list it"

    def _is_on(self, path: str) -> bool:
        patterns = self.patterns[:_MAX_PATTERNS]
        if self.form in ("only", "change"):
            on = self.form == "change" and not any(each.reason_off(path) for each in self.changed)
            for pattern in patterns:
                matches = self._is_exact if pattern.startswith(("+", "-")) else self._matches
                if matches(path, [pattern[1:] if pattern.startswith(("+", "-", "!")) else pattern]):
                    on = not pattern.startswith(("!", "-"))
            return on
        by_sign = {sign: [item[1:] for item in patterns if item.startswith(sign)] for sign in "!+-"}
        plain = [item for item in patterns if not item.startswith(("!", "+", "-"))] if self.form == "select" else []
        on = (not plain or self._matches(path, plain)) and not self._matches(path, by_sign["!"])
        return (on or self._is_exact(path, by_sign["+"])) and not self._is_exact(path, by_sign["-"])

    def _paths(self, path: str) -> list[str]:
        """Return the path relative to the base and absolute, and those of the folder of a SKILL.md."""
        whole = [path, os.path.dirname(path)] if os.path.basename(path) == "SKILL.md" else [path]
        return [name for one in whole for name in (_relative(one, self.base), one)]

    def _matches(self, path: str, globs: Sequence[str]) -> bool:
        names = [*self._paths(path), os.path.basename(path)]
        if os.path.basename(path) == "SKILL.md":
            names.append(os.path.basename(os.path.dirname(path)))
        return any(minimatch(name, glob) for glob in globs for name in names)

    def _is_exact(self, path: str, exact: Sequence[str]) -> bool:
        return any(item.removeprefix("./") in self._paths(path) for item in exact)


def _relative(path: str, base: str) -> str:
    relative = os.path.relpath(path, base)
    return "" if relative == "." else relative


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_SETTINGS_FILES = ("project", "user")
"""The settings files that may list packages, the more important one first."""
_NPM_FOLDER = "npm/node_modules"
"""Where packages of npm are, relative to the folder of the settings file; repositories are in `git/HOST/PATH`."""
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


class Plugins(PluginFinder):
    """Finds its packages."""

    def read_settings(self) -> None:
        """Read the entries of the settings files that list packages, highest precedence first."""
        self.entries = [
            (path, value)
            for name in _SETTINGS_FILES
            for path, value in self.reader.values("packages", (name,))
            if isinstance(value, list)
        ]

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

    def report(self, path: str, message: str) -> None:
        """Report a problem with a file or one of its entries."""
        self.findings.append(finding("config-invalid", message, path=path, hint="fix the file or the entry"))

    def json(self, path: str) -> Any:
        """Return the table that a JSON file contains; `None` if it is missing or invalid."""
        value = read_json_or_report(self.filesystem, path, self.report, mark=True)
        return value if isinstance(value, dict) else None

    # ── which ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _listed(self) -> list[_Package]:
        """Return the entries that count: of one package, the entry of the file with the highest precedence."""
        result: list[_Package] = []
        for number, (file, entries) in enumerate(self.entries):
            for entry in entries:
                source = entry.get("source") if isinstance(entry, Mapping) else entry
                if not isinstance(source, str):
                    self.stops = file
                    continue
                if "\0" in source or len(result) == _MAX_PACKAGES:
                    self.report(file, f"only {_MAX_PACKAGES:,} packages with valid sources count")
                    continue
                package = _Package(
                    source=source,
                    entry=entry,
                    file=file,
                    identity=self._identity(source, file),
                    is_first=number == 0 and len(self.entries) > 1,
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
        return os.path.normpath(os.path.join(os.path.dirname(file), expand_home(text, self.reader.home)))

    # ── where ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _folder(self, package: _Package) -> str | None:
        """Return the folder of a package; `None` if it is not installed, or has nothing that the client knows."""
        top = os.path.dirname(package.file)
        if npm := npm_name(package.source):
            name, wanted = npm
            root = os.path.join(top, _NPM_FOLDER)
            folder = os.path.normpath(os.path.join(root, name))
            version = (self.json(os.path.join(folder, "package.json")) or {}).get("version")
            inside = folder.startswith(root + os.sep)
            fits = bool(version) and (not wanted or is_in_range(version, wanted))
            return folder if inside and fits else None
        if git := git_folder(package.source):
            folder = os.path.join(top, "git", git)
            return folder if self.filesystem.kind(folder) == "d" else None
        folder = self._local(package.source, package.file)
        kind = self.filesystem.kind(folder)
        if (kind == "f" and not folder.endswith((".ts", ".js", ".mjs", ".cjs"))) or (
            kind == "d" and isinstance(package.entry, str) and self._is_empty(folder)
        ):
            self.report(package.file, f"the package {quoted(package.source)} keeps the agent from starting")
            self.stops = package.file
        return folder if kind == "d" else None

    def _is_empty(self, folder: str) -> bool:
        """Return whether the client takes a folder for an extension and fails to load it."""
        manifest = self.json(os.path.join(folder, "package.json")) or {}
        if isinstance(manifest.get("pi"), Mapping) or manifest.get("main"):
            return False
        names = ("extensions", "skills", "prompts", "themes", "index.ts", "index.js", "index.mjs", "index.cjs")
        return not any(self.filesystem.kind(os.path.join(folder, name)) for name in names)

    # ── what ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _skills(self, package: _Package, folder: str) -> tuple[list[str], tuple[PathPatterns, ...]]:
        """Return the folders and files of a package's skills, and the patterns that switch them off and on."""
        manifest = (self.json(os.path.join(folder, "package.json")) or {}).get("pi")
        entries = manifest.get("skills") if isinstance(manifest, Mapping) else None
        if not isinstance(entries, list) or not all(isinstance(item, str) for item in entries):
            entries = None
        default = [os.path.join(folder, "skills")]
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
            for name, letter in self.filesystem.listing_or_none(folder) or ():
                if not name.startswith("."):
                    yield f"{folder}/{name}"
                    if letter == "d":
                        waiting.append(f"{folder}/{name}")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


# ── sources ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_SHORT_HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
_REMOTE = ("npm:", "git:", "github:", "http:", "https:", "ssh:")


def npm_name(source: str) -> tuple[str, str] | None:
    """Return the name and the version or range of `npm:NAME@RANGE`; `None` if it is another source."""
    if not source.startswith("npm:"):
        return None
    spec = source.removeprefix("npm:").strip()
    match = re.fullmatch(r"(@?[^@]+)(?:@(.+))?", spec, re.DOTALL)
    return (match[1], match[2] or "") if match else (spec, "")


def git_folder(source: str) -> str | None:
    """Return `HOST/PATH`, in which a repository is cloned; `None` if it is another source."""
    if not source.strip().startswith(_REMOTE):
        return None
    text = source.strip()
    prefixed = text.startswith("git:") and not text.startswith("git://")
    if prefixed:
        text = text.removeprefix("git:").strip()
    elif not re.match(r"(?:https?|ssh|git)://", text, re.IGNORECASE):
        return None
    host, path = _host_and_path(text)
    if host in _SHORT_HOSTS.values() and host != "gitlab.com" and path.split("/")[2:3] in ([], ["tree"]):
        path = "/".join(path.split("/")[:2])
    path = path.strip("/").removesuffix(".git")
    parts = path.split("/")
    from urllib.parse import unquote

    unsafe = any(part in ("", "..", ".") for part in parts) or re.search(r"[\\\0]", unquote(host + path))
    return None if not host or len(parts) < 2 or unsafe or ".." in unquote(path).split("/") else f"{host}/{path}"


def _host_and_path(text: str) -> tuple[str, str]:
    """Return the host and the path of a repository, without the branch or tag."""
    text = text.partition("#")[0]
    if "://" in text:
        from urllib.parse import urlsplit

        try:
            url = urlsplit(text)
            host = (url.hostname or "").removeprefix("www.")
        except ValueError:
            return "", ""
        return host, url.path.strip("/").partition("@")[0]
    if match := re.fullmatch(r"git@([^:]+):(.+)", text, re.DOTALL):
        return match[1], match[2].partition("@")[0]
    short, colon, rest = text.partition(":")
    if colon:
        return _SHORT_HOSTS.get(short, ""), rest.partition("@")[0]
    host, _, path = text.partition("@")[0].partition("/")
    if host.startswith(".."):
        return "", ""
    if "/" not in path and "." not in host and host != "localhost":
        return "github.com", f"{host}/{path}"
    return (host.removeprefix("www."), path) if "." in host or host == "localhost" else ("", "")


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_VERSION = re.compile(r"\s*[v=]*\s*(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\s*")
_MAX_VERSION_LENGTH = 256
"""Characters of a version; npm takes a longer one for invalid."""
_MAX_RANGE_LENGTH = 4096
_PARTIAL = re.compile(
    r"(\^|~>?|[<>]=?|=)?\s*v?(\d{1,9}|[xX*])(?:\.(\d{1,9}|[xX*]))?(?:\.(\d{1,9}|[xX*])(?:-([0-9A-Za-z.-]+))?(?:\+\S*)?)?"
)


def is_in_range(version: object, wanted: str) -> bool:
    """Say whether a version is in a range of npm; a tag such as `latest` excludes none."""
    if len(wanted) > _MAX_RANGE_LENGTH:
        return False
    try:
        choices = [_comparators(part) for part in wanted.split("||")]
    except ValueError:
        return True
    is_short = isinstance(version, str) and len(version) <= _MAX_VERSION_LENGTH
    match = _VERSION.fullmatch(str(version)) if is_short else None
    if match is None:
        return False
    number = _key(match[1], match[2], match[3], match[4])
    return any(_fits(number, comparators) for comparators in choices)


def _key(major: str, minor: str, patch: str, before: str | None) -> Version:
    names = (1,) if before is None else (0, *((0, int(n), "") if n.isdigit() else (1, 0, n) for n in before.split(".")))
    return int(major), int(minor), int(patch), names


def _fits(version: Version, comparators: list[tuple[str, Version]]) -> bool:
    compare = {">=": version.__ge__, ">": version.__gt__, "<": version.__lt__, "<=": version.__le__}
    if not all(compare[sign](limit) for sign, limit in comparators):
        return False
    # A pre-release only fits what names a pre-release of the same version.
    same = any(limit[:3] == version[:3] and limit[3][0] == 0 and limit[3] != (0,) for _, limit in comparators)
    return version[3] == (1,) or same


def _comparators(text: str) -> list[tuple[str, Version]]:
    """Return the limits of a range without `||`.

    Raises:
        ValueError: it is no range.
    """
    text = text.strip()
    if hyphen := re.fullmatch(r"(\S+)\s+-\s+(\S+)", text):
        low, high = _limits("", hyphen[1]), _limits("", hyphen[2])
        return [low[0], high[-1]]
    found = []
    text = re.sub(r"(\^|~>?|[<>]=?|=)\s+", r"\1", text)
    for word in text.split():
        match = re.match(r"(\^|~>?|[<>]=?|=)?(.*)", word, re.DOTALL)
        found += _limits(match[1] or "", match[2]) if match else []
    return found


def _limits(sign: str, text: str) -> list[tuple[str, Version]]:
    match = _PARTIAL.fullmatch(text)
    if match is None or match[1]:
        raise ValueError(text)
    parts = [int(part) for part in _numbers(match[2], match[3], match[4])]
    first = (*parts, 0, 0, 0)[:3]
    exact = len(parts) == 3
    low: Version = _key(str(first[0]), str(first[1]), str(first[2]), match[5]) if exact else (*first, (0,))
    if not parts:
        return [("<", (0, 0, 0, (0,)))] if sign in ("<", ">") else [(">=", (0, 0, 0, (1,)))]
    fixed = {"^": next((i for i, n in enumerate(parts) if n), len(parts) - 1), "~": 1, "~>": 1}.get(
        sign, len(parts) - 1
    )
    fixed = min(fixed, len(parts) - 1)
    after = [*first[:fixed], first[fixed] + 1, 0, 0][:3]
    above: Version = (after[0], after[1], after[2], (0,))
    if not exact:
        low = (*first, (1,)) if sign != "<" else low
    match sign:
        case ">=":
            return [(">=", low)]
        case "<":
            return [("<", low if exact else (*first, (0,)))]
        case ">":
            return [(">", low)] if exact else [(">=", (*above[:3], (1,)))]
        case "<=":
            return [("<=", low)] if exact else [("<", above)]
        case "" | "=" if exact:
            return [(">=", low), ("<=", low)]
        case _:
            return [(">=", low), ("<", above)]


def _numbers(*parts: str | None) -> list[str]:
    """Return the numbers before the first that is missing or `x`."""
    result: list[str] = []
    for part in parts:
        if part is None or part in "xX*":
            break
        result.append(part)
    return result
