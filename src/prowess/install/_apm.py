"""Read `apm.lock.yaml`, the lock of Microsoft's agent package manager (APM), for `prowess lock --from`.

    dependencies:
      - repo_url: anthropics/skills           host: github.com if missing
        resolved_commit: COMMIT               resolved_ref: what was asked for
        virtual_path: skills/pdf              of a package that is a folder of a repository
        deployed_files: [.agents/skills/pdf/SKILL.md, ...]
        deployed_file_hashes: {PATH: SHA256}  of text with LF as line ends

A dependency may have several skills, or none. What a lock of skills cannot express is left out, each with its reason.
"""

from __future__ import annotations

import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import neutral, quoted
from prowess.errors import ConfigError
from prowess.lock import LockedSkill, LockValueError, hosts_for, parse_entry
from prowess.skill import YamlSyntaxError, parse_yaml_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.skill import Node

_MAX_BYTES = 8 * 1024 * 1024
_MAX_EVENTS = 400_000
_SKILL_FILE = re.compile(r"((?:(?!\.\.?/)[^/\\]+/)*skills)/([^/\\]+)/SKILL\.md")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ImportedSkill(Frozen):
    """A skill of another lock."""

    entry: LockedSkill
    """With the commit, but without files."""
    folders: tuple[str, ...]
    """Where that tool has put it, relative to the project: the folder of the skill in each folder of an agent."""
    hashes: Mapping[str, str] = EMPTY
    """The SHA-256 of files, by paths relative to the project; of text with LF as line ends."""


class ImportedLock(Frozen):
    """What another lock contains."""

    skills: tuple[ImportedSkill, ...]
    left_out: tuple[tuple[str, str], ...]
    """What was not taken, and why."""


def read_apm_lock(path: str) -> ImportedLock:
    """Read the lock of APM.

    Raises:
        ConfigError: it cannot be read, or is no lock of APM.
    """
    try:
        data = read_file(path, _MAX_BYTES)
        node = parse_yaml_node(data.decode(), max_events=_MAX_EVENTS)
    except UnreadableError as error:
        raise ConfigError(f"{neutral(path)}: {error.message}", hint=error.hint) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{neutral(path)}: it is not UTF-8", hint=_AGAIN) from None
    except YamlSyntaxError as error:
        place = f"{neutral(path)}:{error.line + 1}:{error.column + 1}"
        raise ConfigError(
            f"{place}: {neutral(str(error)).replace('the front matter', 'the file')}", hint=_AGAIN
        ) from None
    top, shown = _mapping(node), neutral(path)
    version = top.get("lockfile_version")
    if version is not None and version.text not in ("1", "2"):
        raise ConfigError(f"{shown}: lockfile_version must be 1 or 2, and is {quoted(version.text)}", hint=_AGAIN)
    dependencies = top.get("dependencies")
    if dependencies is None or dependencies.kind not in ("list", "null"):
        raise ConfigError(f"{shown}: it has no list `dependencies`", hint=_AGAIN)
    return _Import(top).run(dependencies.items)


_AGAIN = "name an `apm.lock.yaml`; `apm install` writes it again"


class _LeftOutError(Exception):
    """A dependency cannot be taken; the message says why."""


class _Import:
    """One run of `read_apm_lock`."""

    def __init__(self, top: Mapping[str, Node]) -> None:
        self.top = top
        self.skills: dict[str, ImportedSkill] = {}
        self.left_out: list[tuple[str, str]] = []

    def run(self, dependencies: tuple[Node, ...]) -> ImportedLock:
        for number, node in enumerate(dependencies, 1):
            fields = _mapping(node)
            name = _text(fields, "repo_url") or f"dependency {number}"
            try:
                if path := _text(fields, "virtual_path"):
                    name = f"{name}/{path}"
                self._take(fields)
            except _LeftOutError as error:
                self.left_out.append((name, str(error)))
        for key, words in (("mcp_servers", "an MCP server"), ("lsp_servers", "a language server")):
            self.left_out += [(item.text, f"is {words}, not a skill") for item in _items(self.top, key)]
        for item in _items(self.top, "local_deployed_files"):
            if match := _SKILL_FILE.fullmatch(item.text):
                self.left_out.append((match[2], "is a skill of this project itself"))
        return ImportedLock(skills=tuple(self.skills.values()), left_out=tuple(dict.fromkeys(self.left_out)))

    def _take(self, fields: Mapping[str, Node]) -> None:
        """Add the skills of a dependency.

        Raises:
            _LeftOutError: it has no skill, or its source cannot be expressed.
        """
        deployed: dict[str, list[str]] = {}
        for item in _items(fields, "deployed_files"):
            if match := _SKILL_FILE.fullmatch(item.text):
                deployed.setdefault(match[2], []).append(match[1])
        if not deployed:
            kind = _text(fields, "package_type")
            raise _LeftOutError("has no skill" + (f" (it is a package of type {quoted(kind)})" if kind else ""))
        source = _source(fields)
        hashes = {path: node.text.removeprefix("sha256:") for path, node in _mapping_of(fields, "deployed_file_hashes")}
        for name, folders in deployed.items():
            try:
                entry = parse_entry(name, {**source, **_skill_path(fields)})
            except LockValueError as error:
                self.left_out.append((name, f"has an invalid value: {error.place} {error}"))
                continue
            if name in self.skills:
                self.left_out.append((name, f"comes twice; the first is from {self.skills[name].entry.source}"))
                continue
            paths = tuple(f"{folder}/{name}" for folder in dict.fromkeys(folders))
            own = {
                path: value for path, value in hashes.items() if path.startswith(tuple(f"{path}/" for path in paths))
            }
            self.skills[name] = ImportedSkill(
                entry=entry.with_changes(hosts=hosts_for(folders, "project")), folders=paths, hashes=own
            )


def _source(fields: Mapping[str, Node]) -> dict[str, object]:
    """Return the keys of a lock that say where a dependency comes from.

    Raises:
        _LeftOutError: a lock cannot say that.
    """
    kind, url = _text(fields, "source"), _text(fields, "materialization_repo_url") or _text(fields, "repo_url")
    if kind == "local":
        path = _text(fields, "anchored_local_path") or (
            "" if _text(fields, "resolved_by") else _text(fields, "local_path")
        )
        path = path.removeprefix("./")
        if not path or path.startswith(("/", "~")) or "\\" in path:
            raise _LeftOutError("is a folder outside this project")
        return {"source": path if path.startswith("../") else f"./{path}", "sourceType": "local"}
    if kind:
        raise _LeftOutError("comes from a registry of APM" if kind == "registry" else f"comes from {quoted(kind)}")
    if _text(fields, "is_insecure") == "true":
        raise _LeftOutError("is fetched with http, without encryption")
    if _text(fields, "registry_prefix"):
        raise _LeftOutError("is fetched from a proxy")
    commit = _text(fields, "resolved_commit")
    if not _COMMIT.fullmatch(commit):
        raise _LeftOutError("has no commit")
    first, _, rest = url.partition("://")[2].partition("/") if "://" in url else ("", "", url)
    if not first and "." in rest.partition("/")[0]:
        first, _, rest = rest.partition("/")
    host, path = (_text(fields, "host") or first or "github.com").lower(), rest.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"[a-z0-9.-]+(?::[0-9]+)?", host) or not re.fullmatch(
        r"(?:/(?!\.\.?(?:/|$)|-)[\w.-]+){2,}", f"/{path}"
    ):
        raise _LeftOutError(f"has a repository that is not known: {quoted(url)}")
    if port := _text(fields, "port"):
        host = f"{host}:{port}"
    ref = _text(fields, "resolved_tag") or _text(fields, "resolved_ref")
    source: dict[str, object] = {"prowess": {"revision": commit}, **({"ref": ref} if ref and ref != commit else {})}
    if host == "github.com":
        return {"source": path, "sourceType": "github", **source}
    full = f"https://{host}/{path}.git"
    if host == "gitlab.com":
        return {"source": path, "sourceUrl": full, "sourceType": "gitlab", **source}
    return {"source": full, "sourceUrl": full, "sourceType": "git", **source}


def _skill_path(fields: Mapping[str, Node]) -> dict[str, str]:
    """Return the path of the SKILL.md in the source, if the package is a skill; a bundle may have it anywhere."""
    if _text(fields, "package_type") != "claude_skill" or _text(fields, "source") == "local":
        return {}
    path = _text(fields, "virtual_path")
    return {"skillPath": f"{path}/SKILL.md" if path else "SKILL.md"}


def _mapping(node: Node | None) -> dict[str, Node]:
    if node is None or node.kind != "map":
        return {}
    return {key.text: value for key, value in zip(node.keys, node.items, strict=True)}


def _items(fields: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    node = fields.get(key)
    return node.items if node is not None and node.kind == "list" else ()


def _mapping_of(fields: Mapping[str, Node], key: str) -> list[tuple[str, Node]]:
    return list(_mapping(fields.get(key)).items())


def _text(fields: Mapping[str, Node], key: str) -> str:
    node = fields.get(key)
    return "" if node is None or node.kind in ("list", "map", "null") else node.text
