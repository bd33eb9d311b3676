"""Give skills whose names are taken another one, with the folder that an argument of the client has added."""

from __future__ import annotations

import os

from ._entry import State
from ._evaluate_fields import cut_description

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Host

    from ._entry import Entry
    from ._roots import ScanRoot

__all__ = ["scope_taken_names"]


def scope_taken_names(host: Host, entries: list[Entry], scoped: Mapping[str, ScanRoot]) -> tuple[list[Entry], set[str]]:
    """Return the skills, some under another name, and the paths of these.

    Args:
        host: whose skills.
        entries: highest precedence first.
        scoped: the skills folders whose skills get another name if theirs is taken, even by a hidden skill.
    """
    hiding = {", ".join(flag.when) for flag in host.flags if flag.state == "rejected"}
    taken: set[str] = set()
    moved: set[str] = set()
    result = []
    for entry in entries:
        scan_root = scoped.get(entry.root)
        is_hidden = entry.state is State.REJECTED and entry.rule in hiding
        if entry.state in (State.ACTIVE, State.USER_ONLY) or is_hidden:
            if scan_root is not None and entry.name in taken and not is_hidden:
                entry = _scope_to(host, scan_root, entry)
                moved.add(entry.path)
            taken.add(entry.name)
        result.append(entry)
    return result, moved


def _scope_to(host: Host, scan_root: ScanRoot, entry: Entry) -> Entry:
    """Return a skill whose name is taken as its skills folder shows it."""
    root = scan_root.root
    folder = os.path.basename(scan_root.path.removesuffix(f"/{root.path}"))
    text = root.taken.format_map({"folder": folder, "name": entry.name})
    description = cut_description(f"{entry.description}{text}", host.description_rules)
    return entry.with_changes(name=f"{folder}:{entry.name}", description=description)
