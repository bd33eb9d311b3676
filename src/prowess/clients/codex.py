"""What Codex alone does (observed with 0.169.0).

Plugins are in a cache, in `MARKET/PLUGIN/VERSION`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from functools import cmp_to_key

from prowess._internal.files import SKILL_FILE, UnreadableError, expand_home
from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.clients import settings as usual
from prowess.clients.budget import LineCosts, cut_evenly
from prowess.clients.plugins import PluginFinder
from prowess.clients.reading import UNICODE_SPACE, host_pattern
from prowess.clients.settings import EntryRules, NamedSkill, find_wrong_type, get_dotted, main_working_tree, parse_toml
from prowess.filesystem import marked_root, read_json, read_json_or_report
from prowess.hosts import measure_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from prowess.clients.budget import ModelCatalog
    from prowess.clients.plugins import PluginCandidate
    from prowess.clients.settings import ClientArguments, SettingsFiles, SettingsLayer, SettingsReader
    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.hosts import Host, NameRules, Root, SettingsFile, ShownSkill
    from prowess.skill import Skill

_ENTRIES, _ROOT_MARKERS = "skills.config", "project_root_markers"
_TEMPLATES = {"--enable": "features.{}=true", "--disable": "features.{}=false"}
"""Map an argument to the line of settings that it adds for its value; the value of `-c` is such a line."""
_MAX_ENTRIES = 10_000
"""Entries of one list that count: the last ones."""
_MAX_KEY_PARTS = 64
_MAX_ROOT_MARKERS = 100
"""Names that may make a project's root."""


# ── files and arguments ──────────────────────────────────────────────────────────────────────────────────────────────


def parse_settings(files: SettingsFiles, path: str, data: bytes, rules: SettingsFile) -> Any:
    """Return what a settings file contains, in TOML 1.1."""
    try:
        return usual.parse_settings(files, path, data, rules)
    except ValueError:
        # Few files need the newer version.
        return usual.parse_settings(files, path, as_toml_1_0(data.decode("utf-8-sig")).encode(), rules)


def read_arguments(reader: SettingsReader) -> None:
    """Read the arguments that set what a settings file could say: `-c KEY=VALUE`. An invalid one stops Codex."""
    reader.files.add_table(usual.ARGUMENTS, _argument_settings(reader.arguments), "stops")


def _argument_settings(arguments: ClientArguments) -> dict[str, Any] | None:
    """Return what arguments set; `None` if one of them is invalid.

    The parts of a key are between its dots, quotes or not. A value that is not TOML is text. `-c` comes first, and the
    last argument for a key counts.
    """
    given = [(_TEMPLATES.get(item.name, "{}"), values) for item, values in arguments.given]
    table: dict[str, Any] = {}
    for template, values in sorted(given, key=lambda item: item[0] != "{}"):
        for value in values or [""]:
            key, equals, text = template.replace("{}", value).partition("=")
            parts = [part.strip() for part in key.strip().split(".")]
            if not equals or not key.strip() or len(parts) > _MAX_KEY_PARTS:
                return None
            inner = table
            for part in parts[:-1]:
                if not isinstance(inner.get(part), dict):
                    inner[part] = {}
                inner = inner[part]
            inner[parts[-1]] = _toml_value(text)
    return table


def _toml_value(text: str) -> Any:
    line = f"value = {text}"
    for version in (line, as_toml_1_0(line)):
        try:
            return parse_toml(version.encode())["value"]
        except (ValueError, RecursionError):
            continue
    return text.strip().strip("\"'")


def find_project(reader: SettingsReader) -> str:
    """Return the root of the project: the nearest folder with one of `project_root_markers`, or the usual one.

    Settings files of a project cannot say what makes its root.
    """
    for _, markers in reader.values(_ROOT_MARKERS, _names_of_users(reader), "first"):
        if _are_texts(markers):
            found = tuple(markers[:_MAX_ROOT_MARKERS])
            project = marked_root(reader.cwd, found, reader.files.filesystem) or reader.cwd
            reader.found["root_markers"] = found
            return project
    return reader.project


def git_marker_of(host: Host, root: Root) -> str:
    """Return what makes a git root: for `.codex/skills` a folder `.git` must have a `HEAD`."""
    return "head" if root.path == ".codex/skills" else host.git_marker


def counts_all_folders() -> bool:
    """Return whether folders of skills and empty ones count like all others: of 2,000 folders in one root."""
    return True


def _names_of_users(reader: SettingsReader) -> tuple[str, ...]:
    """Return the names of the settings files that belong to no project."""
    return tuple(layer.name for layer in reader.layers if layer.folder is None)


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def is_trusted_file(reader: SettingsReader, layer: SettingsLayer) -> bool:
    """Return whether a settings file of a project counts, where trust belongs to folders by their exact paths.

    The folder of the file decides, then that of the project, then the main working tree of its repository.
    """
    if not layer.rules.needs_trust:
        return True
    if layer.path not in reader.trusted:
        projects = dict(reader.values("projects", ("managed", "arguments", "user", "system"), "deep")).values()
        table = next((value for value in projects if isinstance(value, Mapping)), {})
        folders = (layer.folder, reader.project, main_working_tree(reader.cwd, reader.files.filesystem))
        items = (table.get(folder) for folder in folders)
        words = (item.get("trust_level") for item in items if isinstance(item, Mapping))
        known = (word for word in words if word in ("trusted", "untrusted"))
        reader.trusted[layer.path] = next(known, "") == "trusted"
    return reader.trusted[layer.path]


def check_merged(reader: SettingsReader) -> None:
    """Check the types of what all files say together: one wrong value that counts in the end stops Codex."""
    counted = [layer for layer in reader.layers if reader.counts(layer)]
    merged: Any = {}
    for layer in reversed(counted):
        merged = usual.merge_deep(merged, reader.files.table(layer.path))
    wrong = find_wrong_type(merged, reader.host.settings_types)
    markers = next(reader.values(_ROOT_MARKERS, _names_of_users(reader), "first"), None)
    if wrong is None and markers is not None and not _are_texts(markers[1]):
        wrong = _ROOT_MARKERS
    if wrong is not None:
        having = [layer.path for layer in counted if get_dotted(reader.files.table(layer.path), wrong.split(".*")[0])]
        path = having[0] if having else counted[0].path
        reader.files.report(path, f"{quoted(wrong)} has the wrong type, so the agent refuses to start")
        reader.stop(path)


# ── skills ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_own_settings(reader: SettingsReader) -> None:
    """Read which skills are on and off, whether the model gets a catalog, and whether Codex has its own skills."""
    reader.found["entries"] = _entry_rules(reader)
    path, shown = reader.first_value("skills.include_instructions", bool)
    if shown is False:
        reader.hide_catalog(path)
    _, bundled = reader.first_value("skills.bundled.enabled", bool)
    reader.found["bundled"] = bundled is not False


def hiding_settings(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the skills that `skills.config` switches off, by name or path."""
    for file, value in reader.values(_ENTRIES, ("arguments", "user")):
        entries = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
        for name, on in {item.get("name") or item.get("path"): item.get("enabled") for item in entries}.items():
            if isinstance(name, str) and on is False:
                cure = f"set `enabled` of {quoted(name)} in `{_ENTRIES}` to true"
                yield NamedSkill(key=_ENTRIES, file=file, written=name, effect="off", cure=cure)


def _entry_rules(reader: SettingsReader) -> EntryRules:
    """Return what `skills.config` says: of several entries for a skill the last counts, by its name or its SKILL.md.

    A path is relative to the folder of its file; one in an argument to the working directory.
    """
    types = {key: word for key, word in reader.host.settings_types.items() if key.startswith("skills.")}
    names: dict[str, tuple[int, bool, str]] = {}
    paths: dict[str, tuple[int, bool, str]] = {}
    number = 0
    for file, entries in reversed(list(reader.values(_ENTRIES, ("arguments", "user")))):
        if find_wrong_type(reader.files.table(file), types) is not None:
            continue
        folder = reader.cwd if file == usual.ARGUMENTS else os.path.dirname(file)
        for entry in entries[-_MAX_ENTRIES:] if isinstance(entries, list | tuple) else ():
            name, path, on = (get_dotted(entry, key) for key in ("name", "path", "enabled"))
            number += 1
            if not isinstance(on, bool) or (name is None) is (path is None):
                continue
            if isinstance(name, str) and name.strip():
                names[name.strip()] = number, on, file
            elif isinstance(path, str) and path and "\0" not in path:
                whole = os.path.normpath(os.path.join(folder, expand_home(path, reader.home)))
                paths[reader.files.filesystem.real(whole)] = number, on, file
    return EntryRules(names=names, paths=paths)


# ── TOML 1.1 ─────────────────────────────────────────────────────────────────────────────────────────────────────────

# A text without an end is one token to the end of the line or file: a search from each start would take quadratic time.
_TOKEN = re.compile(
    r"""(?sx)
    (?P<basic> \"\"\"(?:\\.|[^\\"]|"(?!""))*(?:"{3,5}|\Z) | "(?:\\[^\n]|[^"\\\n])*"? )
    | (?P<literal> '''(?:[^']|'(?!''))*(?:'{3,5}|\Z) | '[^'\n]*' )
    | (?P<comment> \#[^\n]* )
    | (?P<mark> [][{},\n] )
    | [^]["'\#{},\n]+ | .
    """
)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(e)|.)", re.DOTALL)
_SHORT_TIME = re.compile(r"(?<![0-9:.])([0-9]{2}:[0-9]{2})(?![0-9:])")


def as_toml_1_0(text: str) -> str:
    """Return a text of TOML 1.1 that means the same in TOML 1.0, which is what the standard library reads.

    Version 1.1 has inline tables over several lines with comments and a comma at the end, escapes for ESC and for two
    hexadecimal digits, and times without seconds. All other text stays as it is, so what is invalid stays invalid.
    """
    parts: list[str] = []
    brackets: list[str] = []
    comma = -1
    """Where the comma after the last value of an inline table is."""
    after_value = False
    for token in _TOKEN.finditer(text):
        part, kind = token[0], token.lastgroup
        in_table = bool(brackets) and brackets[-1] == "{"
        if kind == "comment" or (kind == "mark" and part == "\n"):
            parts.append(" " if in_table else part)
            continue
        if kind == "mark":
            if part in "[{":
                brackets.append(part)
            elif part in "]}" and brackets:
                brackets.pop()
            if part == "}" and comma >= 0:
                parts[comma] = " "
            comma = len(parts) if part == "," and in_table and after_value else -1
            after_value = part in "]}"
        elif part.strip():
            comma, after_value = -1, True
        if kind == "basic":
            part = _ESCAPE.sub(_older_escape, part)
        elif kind is None:
            part = _SHORT_TIME.sub(r"\1:00", part)
            part = part.replace("\r", " ") if in_table else part
        parts.append(part)
    return "".join(parts)


def _older_escape(match: re.Match[str]) -> str:
    if match[2]:
        return "\\u001b"
    return f"\\u00{match[1]}" if match[1] else match[0]


# ── plugins ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_ID = "[A-Za-z0-9._-]+@(?!openai-curated(?:-remote)?$)[A-Za-z0-9._-]+"
"""What settings may call a plugin. With a key of the API, Codex reads no plugins of these marketplaces."""
_ONCE = ("name", "version", "description", "keywords", "skills", "apps", "hooks", "interface")
"""The keys that make a manifest invalid if it has them twice."""


class Plugins(PluginFinder):
    """Finds its plugins."""

    parts = ("market", "plugin", "version")
    merge = "deep"
    stays_inside = False

    def read_settings(self) -> None:
        """Read which plugins are on; `features.plugins` switches all of them off."""
        super().read_settings()
        path, value = next(self.reader.values("features.plugins", (), "first"), ("", True))
        self.off = path if value is False else ""

    def answer(self, identity: str, name: str, source: str) -> tuple[bool | None, str]:
        """Return whether a plugin is on, and the file that says so; `None` if none does."""
        on, file = super().answer(identity, name, source)
        return (False, self.off) if on is not None and self.off else (on, file)

    def candidates(self) -> Iterator[PluginCandidate]:
        """Yield one version of each plugin: `local`, or the greatest."""
        versions: dict[tuple[str, str], list[PluginCandidate]] = {}
        for item in super().candidates():
            is_version = re.fullmatch("[A-Za-z0-9._+-]+", item.parts["version"])
            if is_version and self.filesystem.link_kind(item.folder) == "d":
                versions.setdefault((item.parts["market"], item.parts["plugin"]), []).append(item)
        order = cmp_to_key(compare_versions)
        for group in versions.values():
            local = next((item for item in group if item.parts["version"] == "local"), None)
            yield local or max(group, key=lambda item: order(item.parts["version"]))

    def names(self, candidate: PluginCandidate, manifest: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return what settings call a plugin, and its name; `None` if they can name no such plugin."""
        names = super().names(candidate, manifest)
        return names if names is not None and re.fullmatch(_ID, names[0]) else None

    def json(self, path: str) -> Any:
        """Return what a manifest holds; `None` if it is invalid."""
        return read_json_or_report(self.filesystem, path, self.report, once=_ONCE, replace=False)

    def listed_folders(self, folder: str, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
        """Yield the folders of skills that a manifest lists; a list with anything but texts is ignored."""
        value = manifest.get("skills")
        if not isinstance(value, list) or all(isinstance(item, str) for item in value):
            yield from super().listed_folders(folder, manifest)


def compare_versions(left: str, right: str) -> int:
    """Compare two versions: by the rules of semantic versions if both are one, else as text."""
    keys = _version_key(left), _version_key(right)
    if keys[0] is None or keys[1] is None:
        return (left > right) - (left < right)
    return (keys[0] > keys[1]) - (keys[0] < keys[1])


_NUMBER = "(0|[1-9][0-9]{0,18})"
_IDENTIFIERS = "[0-9A-Za-z-]+(?:[.][0-9A-Za-z-]+)*"
_SEMANTIC_VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?"


def _version_key(version: str) -> tuple[object, ...] | None:
    """Return what semantic versions are compared by, build metadata last; `None` for any other text."""
    match = re.fullmatch(_SEMANTIC_VERSION, version)
    if match is None:
        return None
    numbers = tuple(int(match[index]) for index in (1, 2, 3))
    return numbers, match[4] is None, _identifiers(match[4]), _identifiers(match[5])


def _identifiers(text: str | None) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(item), "") if item.isdigit() and len(item) < 100 else (1, 0, item)
        for item in (text.split(".") if text else ())
    )


# ── names and descriptions ────────────────────────────────────────────────────────────────────────────────────────────

_MAX_QUALIFIED = 129
"""Characters of a name with that of its plugin at most."""


def trim_name(name: str, rules: NameRules, *, is_folder: bool) -> str:
    """Return a name in which each run of white space is one blank."""
    return " ".join(name.split())


def name_problem(name: str, namespace: str | None) -> tuple[str, str] | None:
    """Refuse long names of skills of plugins."""
    if namespace is None or (length := len(name) + 1 + len(namespace)) <= _MAX_QUALIFIED:
        return None
    return "name-too-long", f"with its plugin, its name has {length} characters, more than {_MAX_QUALIFIED}"


def white_space() -> str:
    """Return what Unicode calls white space, as Rust does."""
    return UNICODE_SPACE


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────

_VALUE = r"(?=\s*[^\s:])(?P<key>[^:]*:)(?P<gap>\s+)(?P<value>[^\s#].*?)(?P<rest>(?:\s#.*)?)$"
_CHECKED_FIELDS = ("name", "description", "metadata")
"""The only fields that must not be repeated."""


def repair_lines(lines: list[str]) -> list[str]:
    """Put values with a colon, or a bracket that begins no list or table, in single quotes; blocks stay as they are."""
    pattern = re.compile(host_pattern(_VALUE, UNICODE_SPACE))
    result = []
    block_indent: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is None or (line.strip() and indent <= block_indent):
            match = pattern.match(line)
            value = match["value"].rstrip(UNICODE_SPACE) if match is not None else ""
            block_indent = indent if value.startswith(("|", ">")) else None
            if match is not None and _is_broken(value):
                quoted_value = value.replace("'", "''")
                line = f"{match['key']}{match['gap']}'{quoted_value}'{match['rest']}"
        result.append(line)
    return result


def is_repaired(skill: Skill, read_text: Callable[[], str], *, is_valid: bool) -> bool:
    """Return whether the file is invalid, or its name or description is a list or table."""
    fields = (skill.fields.get(key) for key in ("name", "description"))
    return not is_valid or any(field is not None and field.kind in ("list", "map") for field in fields)


def _is_broken(value: str) -> bool:
    is_marked = re.search(host_pattern(r":\s|^[@`]", UNICODE_SPACE), value) is not None
    return (is_marked or _is_broken_flow(value)) and not value.startswith(("|", ">", "'", '"'))


_FLOW_TOKEN = re.compile(r"""(?<=[\[{,:\s])(?:"(?:\\.|[^"\\])*"|'[^']*')|[\]\[{},]|.""")


def _is_broken_flow(value: str) -> bool:
    """Return whether a value begins with a bracket, and is no list or table of YAML."""
    stack: list[str] = []
    before = ""
    for token in _FLOW_TOKEN.findall(value) if value.startswith(("[", "{")) else ():
        if before and not stack and token.strip():
            return True  # text after the last bracket
        if token in ("[", "{"):
            stack.append(token)
        elif token in ("]", "}"):
            if stack.pop() + token not in ("[]", "{}"):
                return True
        elif token.strip() in (",", "@", "`", "%", "|", ">", "*") and before in ("[", "{", ","):
            return True
        before = token if token.strip() else before
    return bool(stack)


def rejects_finding(problem: Finding, skill: Skill) -> bool:
    """Return whether a finding counts: only some fields must not be repeated."""
    if problem.code != "yaml-duplicate-key" or problem.line is None or skill.document is None:
        return True
    line = skill.document.text.split("\n")[problem.line - 1]
    return problem.column == 1 and line.split(":")[0].strip(" \"'") in _CHECKED_FIELDS


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────────────────────

_OWN_SKILLS = {"imagegen": 570, "openai-docs": 624, "skill-creator": 106, "skill-installer": 225}
"""Its own skills, which are shortened with the others: name to characters of the description."""
_OWN_FOLDER = "$CODEX_HOME/skills/.system|~/.codex/skills/.system"
_SHARED_FOLDER = r"(.*/plugins/cache/[^/]+)/[^/]+/[^/]+(?=/)"
"""The beginning of a path in the folder of a plugin; the table has the group instead, for a plugin with one skill."""
_TEXT_WITH_TABLE, _TEXT_WITHOUT_TABLE = 310, 451
"""The bytes of the catalog's other text."""


class _OwnSkill(Frozen):
    """A skill of the client itself."""

    name: str
    description: str
    path: str
    root: str
    alias: str | None = None
    scope: str = ""


def shorten(catalog: ModelCatalog) -> list[str | None]:
    """Cut all descriptions to the same length; if not even the names fit, leave out those that do not.

    If more of the descriptions fit so, folders of skills are in a table, which costs something too.
    """
    own_folder = catalog.expand(_OWN_FOLDER) if catalog.settings.bundled else ""
    own = [
        _OwnSkill(name=name, description="x" * size, path=os.path.join(own_folder, name, SKILL_FILE), root=own_folder)
        for name, size in (_OWN_SKILLS.items() if catalog.settings.bundled else ())
    ]
    skills = [*own, *catalog.skills]
    plan = _plan(skills, LineCosts(catalog.host, skills, lambda skill: skill.path), catalog.available)
    short = ShortPaths(catalog.skills, catalog.roots, own_folder if own else None)
    cost = short.table_cost(catalog.host.budget.unit)
    if cost < catalog.available:
        shorter = _plan(skills, LineCosts(catalog.host, skills, short.shorten), catalog.available - cost)
        plan = min(plan, shorter, key=lambda plan: plan[:2])
    kept = zip(catalog.skills, plan[2][len(own) :], strict=True)
    return [None if size is None else skill.description[:size] for skill, size in kept]


def _plan(skills: Sequence[ShownSkill], lines: LineCosts, available: int) -> tuple[int, int, list[int | None]]:
    """Plan a catalog whose descriptions are all cut to the same length.

    Returns:
        How many skills and how many characters are left out, and the characters of each description; `None` for a
        skill that is left out.
    """
    sizes = [_prefix_bytes(skill.description) for skill in skills]

    def cost(number: int, characters: int) -> int:
        return lines.with_text(number, sizes[number](characters))

    lengths = [len(skill.description) for skill in skills]
    kept: list[int | None] = [*lengths]
    if sum(map(cost, range(len(skills)), lengths)) > available:
        even = cut_evenly(lengths, cost, available)
        kept = [*even] if even is not None else _names_that_fit(lines.without_text(), available)
    cut = sum(length - (size or 0) for length, size in zip(lengths, kept, strict=True))
    return kept.count(None), cut, kept


def _names_that_fit(costs: Iterable[int], available: int) -> list[int | None]:
    """Return no characters for each line that fits without text, and `None` for others; a later one may fit."""
    kept: list[int | None] = []
    for cost in costs:
        fits = cost <= available
        available -= cost if fits else 0
        kept.append(0 if fits else None)
    return kept


def _prefix_bytes(text: str) -> Callable[[int], int]:
    """Return a function that gives the bytes of the first characters of a text."""
    if text.isascii():
        return lambda count: count
    return lambda count: len(text[:count].encode("utf-8", "replace"))


class ShortPaths:
    """The short paths of the skills of one catalog."""

    def __init__(self, skills: Sequence[ShownSkill], roots: Iterable[str], own_folder: str | None) -> None:
        """Give each folder that paths begin with a number.

        Args:
            skills: those of the catalog.
            roots: the folders that the client searches, in its order.
            own_folder: that of the client's own skills, if it shows them.
        """
        bases = {skill.root: re.match(_SHARED_FOLDER, skill.root + os.sep) for skill in skills}
        counts = Counter(base[0] for skill in skills if (base := bases[skill.root]))
        self._beginnings = {root: base[1] if base and counts[base[0]] == 1 else root for root, base in bases.items()}
        own = [] if own_folder is None else [own_folder]
        used = [*own, *(self._beginnings[root] for root in dict.fromkeys([*roots, *bases]) if root in bases)]
        self._beginnings |= {folder: folder for folder in own}
        self._numbers = {folder: number for number, folder in enumerate(dict.fromkeys(used))}

    def shorten(self, skill: ShownSkill) -> str:
        """Return the path of a skill, beginning with the number of its folder if it is in there."""
        folder = self._beginnings[skill.root]
        prefix = os.path.join(folder, "")
        if not skill.path.startswith(prefix):
            return skill.path
        inside = skill.path[len(prefix) :]
        if inside.startswith((".", os.sep)) or f"{os.sep}{os.sep}" in inside or f"{os.sep}." in inside:
            inside = os.path.relpath(skill.path, folder)
        return f"r{self._numbers[folder]}/{inside}"

    def table_cost(self, unit: str) -> int:
        """Return how much more the catalog costs with the table."""
        lines = "".join(f"- `r{number}` = `{folder}`\n" for folder, number in self._numbers.items())
        with_table = measure_text("x" * _TEXT_WITH_TABLE + lines, unit)
        return max(with_table - measure_text("x" * _TEXT_WITHOUT_TABLE, unit), 0)


# ── plugins that contain skills ───────────────────────────────────────────────────────────────────────────────────────

_MANIFESTS = (".codex-plugin/plugin.json", ".claude-plugin/plugin.json", ".cursor-plugin/plugin.json")
"""Of several in one folder the first counts."""


def plugin_above(folder: str, filesystem: Filesystem, known: dict[str, str | None]) -> str | None:
    """Return the name of the nearest plugin at or above the folder of a skill, which comes before the skill's name."""
    waiting = []
    while folder not in known:
        name = _plugin_name(folder, filesystem)
        parent = os.path.dirname(folder)
        if name is not None or parent == folder:
            known[folder] = name
            break
        waiting.append(folder)
        folder = parent
    known.update(dict.fromkeys(waiting, known[folder]))
    return known[folder]


def _plugin_name(folder: str, filesystem: Filesystem) -> str | None:
    """Return the name of the plugin whose manifest is in a folder; an invalid manifest names nothing."""
    for manifest in _MANIFESTS:
        path = os.path.join(folder, manifest)
        if not filesystem.may_contain(folder, manifest.partition("/")[0]) or filesystem.kind(path) != "f":
            continue
        try:
            table = read_json(filesystem, path, once=("name",), replace=False)
        except (UnreadableError, ValueError):
            return None
        if isinstance(table, list):
            table = {"name": table[0]} if table else {}
        name = table.get("name", "") if isinstance(table, Mapping) else None
        if not isinstance(name, str):
            return None
        return name if name.strip() else os.path.basename(folder)
    return None
