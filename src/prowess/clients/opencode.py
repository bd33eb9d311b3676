"""What opencode alone does (observed with 1.18.33): agents, permissions, and variables and files in its settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.files import UnreadableError, expand_home
from prowess._internal.text import quoted
from prowess.clients import settings as usual
from prowess.clients.reading import frontmatter_lines, parse_between_fences, quote_values, with_finding
from prowess.clients.settings import NamedSkill, is_switched_on, merge_deep, merge_files, name_matcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from prowess.clients.settings import NamedFolder, Places, SettingsFiles, SettingsLayer, SettingsReader
    from prowess.filesystem import Filesystem, Question
    from prowess.hosts import ReadingRules, Root, SettingsFile
    from prowess.skill import Skill

_AGENTS = {
    **dict.fromkeys(("build", "plan"), "primary"),
    **dict.fromkeys(("general", "explore"), "subagent"),
    **dict.fromkeys(("compaction", "title", "summary"), "hidden"),
}
"""The client's own agents, each with its kind."""
_USUAL_AGENT = "build"
_SKILL_TOOL = "skill"
"""The tool that loads skills."""
_EFFECTS = {"allow": "on", "ask": "on", "deny": "user-only", "true": "on", "false": "user-only"}
_PERMISSION, _CONTENT = "$OPENCODE_PERMISSION", "$OPENCODE_CONFIG_CONTENT"
"""Variables that contain settings instead of the path of a file."""
_BESIDE = {"agent": ("agents", "modes", "mode"), "opencode.jsonc": ("opencode.json",)}
"""A file or folder to others in the same folder, each of which counts after the ones before it."""
_MAX_FOLDERS, _MAX_MARKDOWN_FILES = 200, 500
_MAX_NAMED_FILES, _MAX_NAMED_BYTES = 100, 64 * 1024
"""Files that the text of one settings file may name, and the size of one."""
_MAX_LENGTH = 16 * 1024 * 1024
"""Characters of a text with its variables."""
_VARIABLE = re.compile(r"\{env:([^}]+)\}")
_FILE = re.compile(r"\{file:([^}]+)\}")
_FRONT_MATTER = re.compile(rb"(?s)(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)\n---[ \t]*(?:\r?\n|\Z)")
_EXTERNAL = ("OPENCODE_DISABLE_EXTERNAL_SKILLS",)
_DISABLING = {
    ".opencode": ("OPENCODE_DISABLE_PROJECT_CONFIG=1|true",),
    ".claude": (*_EXTERNAL, "OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS"),
    ".agents": _EXTERNAL,
}
"""The folder of a root, in a project or, for other clients' folders, in the home, to the variables that disable it."""
_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def named_directory(
    root: Root, named: NamedFolder, question: Question, project: str, filesystem: Filesystem
) -> str | None:
    """Return the directory that a setting names; `~` alone is not the home."""
    if named.folder == "~":
        return usual.join_named(root, named.folder, question, project)
    return usual.named_directory(root, named, question, project, filesystem)


def reason_unread(root: Root, path: str, env: Mapping[str, str], unread: Mapping[str, str]) -> str:
    """Return which variable keeps opencode from reading a root; one is on with `1` or `true`, in any case."""
    folder, _, below = root.path.removeprefix("~/").partition("/")
    disabling = _DISABLING.get(folder, ()) if below in ("skills", "skill") else ()
    if folder == ".opencode" and root.scope != "project":
        return ""
    variable = next((name.partition("=")[0] for name in disabling if is_switched_on(name, env)), None)
    return f"the variable `{variable}` is set" if variable else ""


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def settings_paths(name: str, rules: SettingsFile, places: Places) -> Iterator[tuple[str, str | None]]:
    """Yield the paths of a settings file with those beside it; without git, those of all parents of a project count.

    Folders `.opencode` count from the git root downwards, files in the project's folders from the nearest one upwards.
    """
    if rules.path in (_PERMISSION, _CONTENT):
        yield rules.path, None
        return
    found = list(usual.settings_paths(name, rules, places if places.has_git else places.with_changes(project=os.sep)))
    for path, folder in reversed(found) if name in ("project-agents", "project-folder") else found:
        yield path, folder
        for other in (*_BESIDE.get(os.path.basename(rules.path), ()), *(["config.json"] if name == "user" else [])):
            yield os.path.join(os.path.dirname(path), other), folder


def counted_layers(reader: SettingsReader, layers: Sequence[SettingsLayer]) -> Iterable[SettingsLayer]:
    """Yield the settings files that count; in folders of agents, the front matter of each Markdown file is one."""
    project_is_off = is_switched_on("OPENCODE_DISABLE_PROJECT_CONFIG=1|true", reader.env)
    for layer in layers:
        if project_is_off and layer.name.startswith("project"):
            continue
        if layer.path in (_PERMISSION, _CONTENT):
            reader.files.texts[layer.path] = reader.env.get(layer.path[1:], "")
        if not layer.name.endswith("-agents"):
            yield layer
            continue
        for path, name in _markdown_files(layer.path, reader.files.filesystem):
            # A key is dotted, so a name with a dot is no part of one.
            if "." not in name:
                table = reader.files.table(path)
                if not reader.files.problem(path):
                    reader.files.add_table(path, {"agent": {name: table}})
                yield layer.with_changes(path=path)


def _markdown_files(folder: str, filesystem: Filesystem) -> Iterator[tuple[str, str]]:
    """Yield the Markdown files in a folder at any depth, each with its path there without `.md`, in order of names."""
    waiting, seen, found = [folder], 0, 0
    while waiting and seen < _MAX_FOLDERS:
        directory = waiting.pop()
        seen += 1
        for name, letter in filesystem.listing_or_none(directory) or ():
            path = os.path.join(directory, name)
            if letter == "d":
                waiting.append(path)
            elif name.endswith(".md") and found < _MAX_MARKDOWN_FILES:
                found += 1
                yield path, os.path.relpath(path, folder).removesuffix(".md")


def parse_settings(files: SettingsFiles, path: str, data: bytes, rules: SettingsFile) -> Any:
    """Return what a settings file contains, with `{env:NAME}` and `{file:PATH}` replaced in JSON."""
    if path.endswith(".md"):
        front = _FRONT_MATTER.match(data)
        return usual.parse_settings(files, f"{path}.yaml", front[1] if front else b"", rules)
    if path == _PERMISSION:
        return {"permission": usual.parse_settings(files, path, data, rules)}
    folder = files.cwd if path == _CONTENT else os.path.dirname(path)
    text = substitute(
        data.decode("utf-8-sig", "replace"), folder=folder, home=files.home, env=files.env, filesystem=files.filesystem
    )
    return usual.parse_settings(files, path, text.encode(errors="replace"), rules)


def substitute(text: str, *, folder: str, home: str, env: Mapping[str, str], filesystem: Filesystem) -> str:
    """Return a text with the values of variables, and with files as the inside of a JSON text.

    Args:
        text: of a settings file. A file that is named on a line with a comment (`//`) is left alone.
        folder: to which a relative path belongs.
        home: the user's home.
        env: the environment; a variable that is missing is empty.
        filesystem: what was read so far.

    Raises:
        ValueError: a file cannot be read, or there are too many.
    """
    import json  # few settings need it

    # Behind the last brace, a search for the next one from each start would take quadratic time.
    last = text.rfind("}") + 1
    size = len(text) + sum(len(env.get(match[1], "")) for match in _VARIABLE.finditer(text, 0, last))
    if size > _MAX_LENGTH:
        raise ValueError("it is too long with the values of its variables")
    text = _VARIABLE.sub(lambda match: env.get(match[1], ""), text[:last]) + text[last:]
    parts, end, count = [], 0, 0
    is_comment, line = False, 0
    for match in _FILE.finditer(text, 0, text.rfind("}") + 1):
        parts.append(text[end : match.start()])
        line = text.rfind("\n", end, match.start()) + 1 or line
        if line >= end:
            is_comment = text[line : match.start()].lstrip().startswith("//")
        end = match.end()
        if is_comment:
            parts.append(match[0])
            continue
        count += 1
        if count > _MAX_NAMED_FILES or "\0" in match[1]:
            raise ValueError(f"it names more than {_MAX_NAMED_FILES} files, or one that is no path")
        try:
            data = filesystem.data(os.path.join(folder, expand_home(match[1], home)), _MAX_NAMED_BYTES)
        except UnreadableError:
            raise ValueError(f"the file {quoted(match[1], 60)} that it names cannot be read") from None
        parts.append(json.dumps(data.decode(errors="replace").strip(), ensure_ascii=False)[1:-1])
    return "".join([*parts, text[end:]])


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def read_own_settings(reader: SettingsReader) -> None:
    """Hide all skills from the model if no agent can run."""
    reader.hide_catalog(_running_agent(reader)[1])


def named_skills(reader: SettingsReader) -> Iterator[NamedSkill]:
    """Yield the patterns of names in the permissions of the agent that runs and in those of all agents."""
    agent = _running_agent(reader)[0]
    for top in (f"mode.{agent}.", f"agent.{agent}.", ""):
        key = f"{top}permission"
        high = [(path, _rules_table(value)) for path, value in reader.values(key)]
        low = [(path, _rules_table(value)) for path, value in reader.values(f"{top}tools")]
        rules = merge_deep(merge_files(low), merge_files(high)) if high else merge_files(low)
        for name, effect in _permission_rules(rules):
            file = (high or low)[0][0]
            cure = f"change {quoted(name)} in `{key}`"
            yield NamedSkill(key=key, file=file, written=name, effect=effect, cure=cure, is_pattern=True)


def _rules_table(value: object) -> object:
    """Return rules as a table: one word is for all tools."""
    return {"*": value} if isinstance(value, str) else value


def _permission_rules(value: object) -> Iterator[tuple[str, str]]:
    """Yield the patterns of names with the effect of each, in order; the last that matches counts.

    Args:
        value: a table of tool pattern to word, or to a table of name pattern to word.
    """
    for pattern, item in _items(value):
        if name_matcher(pattern)(_SKILL_TOOL):
            for name, word in _items(item) if isinstance(item, Mapping) else [("*", item)]:
                key = str(word).lower() if isinstance(word, bool) else word
                if isinstance(key, str) and key in _EFFECTS:
                    yield name, _EFFECTS[key]


def _items(table: object) -> list[tuple[str, object]]:
    """Return the items in the order that JavaScript gives them: first keys that are whole numbers."""
    if not isinstance(table, Mapping):
        return []
    numbers = sorted((key for key in table if _ARRAY_INDEX.fullmatch(key)), key=int)
    return [(key, table[key]) for key in dict.fromkeys([*numbers, *table])]


def _running_agent(reader: SettingsReader) -> tuple[str, str]:
    """Return the agent that runs, and the settings file because of which none can; empty if one can.

    An agent in `--agent` that cannot run is ignored; one in `default_agent` keeps the client from sending a catalog.
    """
    named = reader.arguments.values("--agent")
    default = next(((path, name) for path, name in reader.values("default_agent")), None)
    kinds, source = _agent_kinds(reader)
    if named and kinds.get(named[-1]) in ("primary", "hidden", "all"):
        return named[-1] if _is_key(named[-1]) else _USUAL_AGENT, ""
    if default is not None and isinstance(default[1], str) and default[1]:
        path, name = default
        return (name, "") if kinds.get(name) in ("primary", "all") and _is_key(name) else (_USUAL_AGENT, path)
    first = next((name for name, kind in kinds.items() if kind in ("primary", "all") and _is_key(name)), "")
    return (first, "") if first else (_USUAL_AGENT, source)


def _agent_kinds(reader: SettingsReader) -> tuple[dict[str, str], str]:
    """Return the agents in order, each with its kind, and a file that configures them."""
    table: dict[str, Any] = {}
    source = ""
    for key, kind in (("agent", ""), ("mode", "primary")):
        found = [(path, value) for path, value in reader.values(key) if isinstance(value, Mapping)]
        source = source or (found[0][0] if found else "")
        agents = merge_files(found) or {}
        table = merge_deep(table, agents)
        table = merge_deep(table, {name: {"mode": kind} for name in agents} if kind else {})
    kinds = dict(_AGENTS)
    for name, rules in table.items():
        if not isinstance(rules, Mapping):
            continue
        if rules.get("disable") is True:
            kinds.pop(name, None)
            continue
        hidden = rules.get("hidden", kinds.get(name) == "hidden")
        own = kinds.get(name, "all")
        mode = rules.get("mode") or ("primary" if own == "hidden" else own)
        kinds[name] = "hidden" if hidden and mode != "subagent" else str(mode)
    return kinds, source


def _is_key(name: object) -> bool:
    """Return whether a name can be part of a dotted key."""
    return isinstance(name, str) and name != "" and "." not in name


# ── reading SKILL.md ──────────────────────────────────────────────────────────────────────────────────────────────────


_VALUE = r"(?P<key>[a-zA-Z_][a-zA-Z0-9_]*\s*:)(?P<gap>\s*)(?P<value>\S[^\n\u2028\u2029]*)\Z"


def repair_lines(lines: list[str]) -> list[str]:
    """Write values with a colon as block scalars."""
    return quote_values(lines, _VALUE, _is_broken, "|-\n  {}".format)


def is_repaired(skill: Skill, read_text: Callable[[], str], *, is_valid: bool) -> bool:
    """Return whether a file begins with plain fences."""
    return not is_valid and re.match(r"---\r?\n[\s\S]*?\r?\n---", read_text()) is not None


def _is_broken(value: str) -> bool:
    return ":" in value and re.search(r"""^["']|^[>|]$""", value) is None


def parse_other_format(skill: Skill, path: str, text: str, reading: ReadingRules) -> Skill | None:
    """Return a skill whose front matter is JSON, which is a kind of YAML."""
    start = re.match(r"---[ \t]*json[ \t]*\n", text)
    if start is None:
        return None
    text = text[start.end() :]
    closing = re.search(reading.closing, text)
    front, end = (text[: closing.start()], closing.end()) if closing else (text, len(text))
    import json  # few skills need it

    try:
        table = json.loads(front)
    except (ValueError, RecursionError):
        return with_finding(skill, "yaml-syntax", "the front matter is not valid JSON", path)
    lines = json.dumps(table).replace("\x7f", "\\u007f")
    parsed = parse_between_fences(skill, path, lines, text[end:])
    return parsed.with_changes(findings=tuple(item for item in parsed.findings if item.code != "encoding-bom"))


_TABBED_LINE = re.compile(r" *\t")
_BLOCK_SCALAR = re.compile(r"(?::|-)[ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?\Z")


def without_tabs(skill: Skill, path: str) -> Skill:
    """Return a skill parsed without the tabs at the beginning of its lines, except where they are text."""
    document = skill.document
    if document is None or document.frontmatter is None or "\t" not in document.text[: document.text.find("\n---")]:
        return skill
    found = frontmatter_lines(document)
    first = next(filter(str.strip, found), "")
    if _TABBED_LINE.match(first):
        return with_finding(skill, "yaml-syntax", "the client's YAML parser refuses a tab before the first key", path)
    lines: list[str] = []
    block_indent: int | None = None
    for line in found:
        indent = len(line) - len(line.lstrip(" "))
        if block_indent is None or (line.strip() and indent <= block_indent):
            line = line[:indent] + line[indent:].lstrip("\t ")
            line = f" {line}" if line.startswith("---") and not found[len(lines)].startswith("---") else line
            block_indent = indent if _BLOCK_SCALAR.search(line) else None
        lines.append(line)
    return skill if lines == found else parse_between_fences(skill, path, "\n".join(lines), document.body)
