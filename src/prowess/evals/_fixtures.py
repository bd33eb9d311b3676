"""Find the files that a case gives to the agent."""

from __future__ import annotations

import os

from prowess._internal.files import is_inside, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.skill import MappingReader

from ._cases import Fixture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.skill import Node

GROUPS = ("setup", "environment")
"""Keys of mappings that may have `files`."""


class Places(Frozen):
    """Where the files of cases may be."""

    bases: tuple[str, ...]
    """Folders in which their paths begin: the first that has the file counts."""
    tops: tuple[str, ...]
    """Folders that no path may leave, without links: the skill, its repository, the folder of the eval file."""


def read_fixtures(reader: MappingReader, places: Places) -> Iterator[Fixture]:
    """Yield the files of a case; report those that are missing, outside of skill and repository, or replaced."""
    readers = [reader]
    seen: dict[str, Fixture] = {}
    for name in GROUPS:
        inner = reader.get(name)
        if inner is not None and inner.kind == "map":
            readers.append(MappingReader(inner, reader.report, reader.key_path(name)))
    for each in readers:
        node = each.get("files")
        if node is not None and node.kind != "list":
            each.report_wrong_type("files", node, "a list of paths", "write each path as an item")
        for item in node.items if node is not None and node.kind == "list" else ():
            fixture = _fixture(item, each, places)
            if fixture is not None and seen.setdefault(fixture.path, fixture) != fixture:
                message = f"two files of the case would be {quoted(fixture.path, PATH_LIMIT)}"
                each.report.add(message, item, "give each a path of its own")
            yield from () if fixture is None else (fixture,)


def _fixture(item: Node, reader: MappingReader, places: Places) -> Fixture | None:
    if item.kind != "map":
        found = _find(item, reader, places)
        path = _target(item.text, item, reader, named=False)
        return None if found is None else Fixture(path=path, source=found)
    form = MappingReader(item, reader.report, reader.key_path("files"))
    source = form.get("source") or form.get("src")
    target = form.get("path") or form.get("dest")
    content = form.get_text("content")
    if source is not None:
        found = _find(source, reader, places)
        named = target or source
        path = _target(named.text, named, reader, named=target is not None)
        return None if found is None else Fixture(path=path, source=found)
    if target is None or content is None:
        form.report.add("a file needs `path` and `content`, or `source`", item, "add what is missing")
        return None
    return Fixture(path=_target(target.text, target, reader, named=True), text=content)


def _target(path: str, node: Node, reader: MappingReader, *, named: bool) -> str:
    """Return the path at which the agent finds a file; report one that leads out of its folder, if it was named."""
    normal = os.path.normpath(path.replace("\\", "/"))
    if os.path.isabs(normal) or normal.split("/")[0] == "..":
        if named:
            message = f"{quoted(path, PATH_LIMIT)} leads out of the folder of the agent"
            reader.report.add(message, node, "write a path inside it")
        return os.path.basename(normal)
    return normal


def _find(node: Node, reader: MappingReader, places: Places) -> str | None:
    """Return the absolute path of a file; report one that is missing, or outside of the skill and its repository."""
    outside = False
    for base in places.bases if node.text and "\0" not in node.text else ():
        path = real_path(os.path.join(base, node.text.replace("\\", "/")))
        if os.path.lexists(path):
            if any(is_inside(path, top) for top in places.tops):
                return path
            outside = True
    if outside:
        message = f"the file {quoted(node.text, PATH_LIMIT)} is outside of the skill and its repository"
        reader.report.add(message, node, "copy it into the skill")
    else:
        hint = f"paths begin in {quoted(places.bases[0], PATH_LIMIT)} or beside the file"
        reader.report.add(f"missing file {quoted(node.text, PATH_LIMIT)}", node, hint)
    return None
