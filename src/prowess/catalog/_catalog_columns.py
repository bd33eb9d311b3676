"""Turn what a host saw into the columns that `CachedCatalog` reads."""

from __future__ import annotations

import re

from ._cached_catalog import COLUMN_ATTRIBUTES, EMPTY_REQUIREMENTS, UNUSUAL_ATTRIBUTES, without_namespace
from ._catalog import host_rules
from ._entry import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Set as AbstractSet
    from typing import Any

    from prowess.findings import Finding

    from ._entry import Entry
    from ._found_skill import FoundSkill
    from ._resolve import ResolvedSkills

__all__ = ["encode_columns", "without_description"]

_DESCRIPTION = re.compile(rb"^description:[^\n]*\n(?:  [^\n]*\n)*", re.MULTILINE)
_NO_SOURCE: Any = (None, None)
"""The loader and the subject of an entry of which all attributes were given."""


def encode_columns(
    resolved: ResolvedSkills, files: list[str], read_closely: AbstractSet[str] = frozenset()
) -> tuple[list[list[str]], bytes]:
    """Encode what a host saw.

    Args:
        resolved: what it saw.
        files: paths of all files that were opened; if they are just the skills', the skills' paths are left out.
        read_closely: those of which more was asked than the fast path reads.

    Returns:
        The columns and `extra` for `Cache.store`, in the format that `CachedCatalog` documents.
    """
    scan_roots: dict[tuple[str, str, str | None, str], int] = {}
    descriptions, paths, root_numbers, clean_flags, fronts = [], [], [], [], []
    unusual: dict[int, dict[str, Any]] = {}
    for at, entry in enumerate(resolved.skills):
        loader, item = entry.source or _NO_SOURCE
        is_fast = item is not None and loader.is_decided_fast(item)
        scan_root: tuple[str, str, str | None, str]
        real_root = _real_root(*(entry.root, entry.path, entry.real) if item is None else _places(item))
        if real_root is not None and is_fast and loader.is_usual(item, entry):
            path, description = item.path, loader.description(item)
            scan_root = item.scan_root.path, item.scan_root.scope, None, real_root
            findings = loader.known_findings(item)
        else:
            path, description = entry.path, entry.description
            scan_root = entry.root, entry.scope, entry.namespace, real_root or ""
            findings = entry.get_if_loaded("findings")
            if findings is None:
                findings = loader.known_findings(item)
            if attributes := _unusual_attributes(entry, has_usual_place=real_root is not None):
                unusual[at] = attributes
        paths.append(path)
        descriptions.append(description.replace("\0", ""))
        root_numbers.append(scan_roots.setdefault(scan_root, len(scan_roots)))
        is_plain = is_fast and read_closely.isdisjoint((path, item.real))
        fronts.append(without_description(item.fast_fields[3]) if is_plain else "")
        clean_flags.append("" if findings is None else "0" if findings else "1")
        if findings:
            unusual.setdefault(at, {})["findings"] = [found.as_dict() for found in findings]
    columns = [
        [entry.name.replace("\0", "") for entry in resolved.skills],
        descriptions,
        [] if paths == files else paths,
        [*map(str, root_numbers)],
        clean_flags,
        [part or "" for scan_root in scan_roots for part in scan_root],
        sorted(host_rules(resolved.host)),
        fronts,
    ]
    return columns, _encode_extra(unusual, resolved.findings)


def _encode_extra(unusual: Mapping[int, dict[str, Any]], findings: Collection[Finding]) -> bytes:
    """Return the part of a result that has no column: unusual attributes by the number of the skill, and findings."""
    if not unusual and not findings:
        return b""
    import json

    # Thousands of skills may be in the same state for the same reason.
    numbers: dict[str, list[str]] = {}
    for at, attributes in unusual.items():
        numbers.setdefault(json.dumps(attributes), []).append(str(at))
    odd = {" ".join(group): json.loads(text) for text, group in numbers.items()}
    return json.dumps({"odd": odd, "findings": [item.as_dict() for item in findings]}).encode()


def _places(item: FoundSkill) -> tuple[str, str, str]:
    return item.scan_root.path, item.path, item.real


def _real_root(root: str, path: str, real: str) -> str | None:
    """Return the real path of the root of a skill, empty if it has no links.

    It is `None` if the real path of the skill does not follow from it, because of another link inside the root.
    """
    if real == path:
        return ""
    inside = path.removeprefix(root)
    return real.removesuffix(inside) or None if path.startswith(f"{root}/") and real.endswith(inside) else None


def _unusual_attributes(entry: Entry, *, has_usual_place: bool) -> dict[str, Any]:
    """Return the attributes of an entry that differ from those of most skills, findings excepted."""
    unusual = {
        name: value
        for name in UNUSUAL_ATTRIBUTES
        if not (name == "real" and has_usual_place) and (value := getattr(entry, name)) != _usual_value(entry, name)
    }
    # A column cannot hold a NUL.
    unusual.update((name, value) for name in COLUMN_ATTRIBUTES if "\0" in (value := getattr(entry, name)))
    if (requirements := entry.requirements.as_dict()) != EMPTY_REQUIREMENTS:
        unusual["requirements"] = requirements
    return unusual


def _usual_value(entry: Entry, name: str) -> object:
    """Return the value that an attribute has in most skills."""
    if name == "frontmatter_name":
        return without_namespace(entry.name, entry.namespace)
    return {"state": State.ACTIVE, "rule": "found"}.get(name)


def without_description(front: bytes) -> str:
    """Return front matter of the fast path without its description."""
    return _DESCRIPTION.sub(b"", front, count=1).decode()
