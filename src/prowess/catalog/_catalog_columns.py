"""Turn what a host saw into the columns that `CachedCatalog` reads."""

from __future__ import annotations

from ._cached_catalog import COLUMN_ATTRIBUTES, EMPTY_REQUIREMENTS, UNUSUAL_ATTRIBUTES, without_namespace
from ._catalog import host_rules
from ._entry import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._entry import Entry
    from ._resolve import ResolvedSkills

__all__ = ["encode_columns"]


def encode_columns(resolved: ResolvedSkills, files: list[str]) -> tuple[list[list[str]], bytes]:
    """Encode what a host saw.

    Args:
        resolved: what it saw.
        files: paths of all files that were opened; if they are just the skills', the skills' paths are left out.

    Returns:
        The columns and `extra` for `Cache.store`, in the format that `CachedCatalog` documents.
    """
    skills = resolved.skills
    scan_roots: dict[tuple[str, str, str | None], int] = {}
    root_numbers, clean_flags, unusual = [], [], {}
    for at, entry in enumerate(skills):
        scan_root = (entry.root, entry.scope, entry.namespace)
        root_numbers.append(str(scan_roots.setdefault(scan_root, len(scan_roots))))
        findings = entry.get_if_loaded("findings")
        if findings is None:
            loader, subject = entry.source
            findings = loader.known_findings(subject)
        clean_flags.append("" if findings is None else "0" if findings else "1")
        attributes = _unusual_attributes(entry)
        if findings:
            attributes["findings"] = [item.as_dict() for item in findings]
        if attributes:
            unusual[at] = attributes
    paths = [entry.path for entry in skills]
    columns = [
        [entry.name.replace("\0", "") for entry in skills],
        [entry.description.replace("\0", "") for entry in skills],
        [] if paths == files else paths,
        root_numbers,
        clean_flags,
        [part or "" for scan_root in scan_roots for part in scan_root],
        sorted(host_rules(resolved.host)),
    ]
    extra = b""
    if unusual or resolved.findings:
        import json

        general = [item.as_dict() for item in resolved.findings]
        extra = json.dumps({"odd": unusual, "findings": general}).encode()
    return columns, extra


def _unusual_attributes(entry: Entry) -> dict[str, Any]:
    """Return the attributes of an entry that differ from those of most skills, findings excepted."""
    unusual = {
        name: value for name in UNUSUAL_ATTRIBUTES if (value := getattr(entry, name)) != _usual_value(entry, name)
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
    return {"real": entry.path, "state": State.ACTIVE, "rule": "found"}.get(name)
