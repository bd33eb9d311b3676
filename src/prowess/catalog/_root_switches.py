"""Say which skills folders a client knows but does not read, and which of their skills are switched off."""

from __future__ import annotations

import os

from prowess._internal.text import neutral

from ._path_patterns import PathPatterns
from ._settings_files import is_switched_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ._scan_root import ScanRoot
    from ._settings import Settings

__all__ = ["with_switches"]


def with_switches(
    scan_roots: Iterable[ScanRoot], settings: Settings | None, env: Mapping[str, str]
) -> Iterator[ScanRoot]:
    """Yield roots with what switches them, or some of their skills, off; `settings` are `None` if none count."""
    for scan_root in scan_roots:
        result = _with_patterns(scan_root, settings) if scan_root.root.switched_by else scan_root
        result = _switched_off(result, env) if scan_root.root.unless else result
        if settings is not None:
            result = _as_closed(_as_read(result, settings), settings.closed)
            if not result.off and (file := settings.scopes_off.get(result.scope)):
                off = f"the agent does not read skills of the scope `{result.scope}`, says {neutral(file)}"
                result = result.with_changes(off=off)
        yield result


def _with_patterns(scan_root: ScanRoot, settings: Settings | None) -> ScanRoot:
    """Return a root with the patterns of its settings."""
    root = scan_root.root
    found = settings and settings.path_patterns.get(" ".join((root.switched_by, *root.switching_files)))
    if not found:
        return scan_root
    file, patterns = found
    form, base = ("select", os.path.dirname(file)) if root.setting else ("switch", os.path.dirname(scan_root.path))
    return scan_root.with_changes(patterns=(PathPatterns(base=base, patterns=patterns, file=file, form=form),))


def _switched_off(scan_root: ScanRoot, env: Mapping[str, str]) -> ScanRoot:
    """Return a root, off if a variable says that the client does not read it."""
    variable = next((name for name in scan_root.root.unless if is_switched_on(name, env)), None)
    return scan_root.with_changes(off=f"the variable `{variable.partition('=')[0]}` is set") if variable else scan_root


def _as_closed(scan_root: ScanRoot, closed: Mapping[str, str]) -> ScanRoot:
    """Return a root, off if it is one of those that the settings close."""
    closable = scan_root.root.closable
    file = closed.get("closed", "") or (closed.get("partly", "") if closable == "partly" else "")
    if closable == "no" or not file or scan_root.off:
        return scan_root
    return scan_root.with_changes(off=f"managed settings keep the agent from reading it, says {neutral(file)}")


def _as_read(scan_root: ScanRoot, settings: Settings) -> ScanRoot:
    """Return a root as the settings leave it: those in some folders are not read. Paths are compared as written."""
    for folder, file in settings.unread_folders:
        inside = (scan_root.path + os.sep).startswith(os.path.join(folder, ""))
        if inside and not scan_root.off and not scan_root.root.files:
            return scan_root.with_changes(off=f"the agent reads no skills in {neutral(folder)}, says {neutral(file)}")
    return scan_root
