"""Bring a cached result up to date after the content of a few files has changed.

This is possible where all that the host decided of a skill followed from front matter that the fast path read, and the
new front matter differs in nothing but the description. It then changes the description, and nothing else. Every other
change takes a new walk over the folders.
"""

from __future__ import annotations

from prowess.hosts import load_host, measure_text

from ._cached_catalog import CLEAN_FLAGS, DESCRIPTIONS, FRONTS, PATHS, ROOT_NUMBERS, SCAN_ROOTS, path_without_links
from ._catalog_columns import without_description
from ._evaluate import Evaluator
from ._settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.hosts import Host

    from ._cache import CachedResult
    from ._filesystem import Filesystem

__all__ = ["refresh"]


_CUT_TO_FIT = b'"rule": "budget"'
"""In `extra`, if a budget has changed any skill."""


def refresh(result: CachedResult, host: str, filesystem: Filesystem) -> bool:
    """Bring a result up to date.

    Args:
        result: with files that have changed.
        host: whose result it is.
        filesystem: with a record of fingerprints.

    Returns:
        Whether the result is up to date now. It was not changed if not.
    """
    try:
        descriptions, clean_flags = _new_columns(result, host, filesystem)
    except (_NeedsWalkError, ValueError, IndexError):  # the last two for a file written by hand, with a valid checksum
        return False
    result.replace_column(DESCRIPTIONS, descriptions)
    result.replace_column(CLEAN_FLAGS, clean_flags)
    return True


class _NeedsWalkError(Exception):
    """A result cannot be brought up to date."""


def _new_columns(result: CachedResult, host: str, filesystem: Filesystem) -> tuple[list[str], list[str]]:
    """Return the descriptions and the clean flags as they are now.

    Raises:
        _NeedsWalkError: more than these may have changed.
        ValueError, IndexError: the result is invalid.
    """
    descriptions, clean_flags = result.column(DESCRIPTIONS), result.column(CLEAN_FLAGS)
    root_numbers, scan_roots = result.column(ROOT_NUMBERS), result.column(SCAN_ROOTS)
    scopes = scan_roots[1::4]
    paths = result.column(PATHS) or result.files
    if any(scan_roots[3::4]):  # files are read by the paths without links
        pairs = [*zip(scan_roots[::4], scan_roots[3::4], strict=True)]
        places = (pairs[int(number)] for number in root_numbers)
        paths = [path_without_links(path, *place) for path, place in zip(paths, places, strict=True)]
    numbers = {path: number for number, path in enumerate(paths)}
    fronts = result.column(FRONTS)
    rules = load_host(host)
    evaluator = Evaluator(rules, Settings(), filesystem)
    for file in result.changed:
        path = result.files[file]
        number = numbers.get(path, -1)
        new = filesystem.read_fast(path, whole=rules.reading.whole_file) if number >= 0 and fronts[number] else None
        if new is None or without_description(new[3]) != fronts[number] or not evaluator.reads_plainly(new):
            raise _NeedsWalkError
        clean_flags[number] = ""
        if rules.description_rules.shown:
            description = evaluator.shown_description(new[1], "", scopes[int(root_numbers[number])])[0]
            if _is_cut_by_default(rules, new[1]):
                raise _NeedsWalkError
            # A budget makes the description of one skill depend on those of the others. One that was cut to fit may
            # have become what was left of it.
            if rules.budget.limit and (description != descriptions[number] or _CUT_TO_FIT in result.extra):
                raise _NeedsWalkError
            descriptions[number] = description
    return descriptions, clean_flags


def _is_cut_by_default(rules: Host, description: str) -> bool:
    """Return whether a host cuts a description to a limit that its user may have set to another one."""
    shown = rules.description_rules
    is_set = any(setting.form == "description" for setting in rules.settings)
    return is_set and shown.limit > 0 and measure_text(description, shown.unit) > shown.limit
