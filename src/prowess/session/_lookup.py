"""Find the catalog entry that a model or a user may activate.

A model names a skill and nothing else. A user may also refer to it by path, digest or folder (`Catalog.resolve`).
"""

from __future__ import annotations

from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import REACHABLE, State, entries_named, entry_at
from prowess.errors import ActivationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.catalog import Catalog, Entry

    from ._ledger import ActivationRecord

MODEL_STATES = (State.ACTIVE,)
"""States of the skills that a model may activate."""


def find_activatable(catalog: Catalog, name: str, by: str) -> Entry:
    """Return the skill with a name, if it may be activated.

    Args:
        catalog: where to look.
        name: of the skill; a user may refer to it in other ways too.
        by: `model` or `user`.

    Raises:
        SkillNotFoundError: no skill has this name.
        AmbiguousSkillError: several skills have this name.
        ActivationError: the skill may not be activated.
    """
    if by == "user":
        return _require_activatable(catalog.resolve(name), by)
    key = normalize_name(name)
    named = entries_named(catalog.skills, key)
    active = [entry for entry in named if normalize_name(entry.name) == key and entry.state in MODEL_STATES]
    if len(active) == 1:
        return active[0]
    # To compare digests and paths costs more than a model may cause.
    entry = catalog.resolve(name) if active else find_by_name(catalog, name)
    return _require_activatable(entry, by)


def find_recorded(catalog: Catalog, record: ActivationRecord) -> Entry:
    """Return the skill of a record, by its path alone: a record may come from anywhere.

    Raises:
        SkillNotFoundError: it is not in the catalog.
        ActivationError: it may not be activated any more.
    """
    entry = entry_at(catalog.skills, record.path)
    if entry is not None:
        return _require_activatable(entry, "user")
    raise catalog.not_found_error(record.name)


def find_readable(catalog: Catalog, name: str, ledger: Sequence[ActivationRecord]) -> Entry:
    """Return the skill whose files a model may read: one of the ledger, or one that it may activate.

    Raises:
        SkillNotFoundError: no skill has this name.
        AmbiguousSkillError: several skills have this name.
        ActivationError: the model may not read the skill.
    """
    key = normalize_name(name)
    for record in reversed(ledger):
        if normalize_name(record.name) == key and entry_at(catalog.skills, record.path) is not None:
            return find_recorded(catalog, record)
    return find_activatable(catalog, name, "model")


def find_by_name(catalog: Catalog, name: str) -> Entry:
    """Return the skill with this name or folder, one that a model may activate first.

    Raises:
        SkillNotFoundError: no skill has this name.
    """
    key = normalize_name(name)
    candidates = entries_named(catalog.skills, key)
    named = [entry for entry in candidates if key in (normalize_name(entry.name), normalize_name(entry.folder))]
    if not named:
        raise catalog.not_found_error(name)
    return min(named, key=lambda entry: entry.state not in MODEL_STATES)


def _require_activatable(entry: Entry, by: str) -> Entry:
    """Return the entry if it may be activated.

    Raises:
        ActivationError: it may not.
    """
    if entry.state in (REACHABLE if by == "user" else MODEL_STATES):
        return entry
    if entry.state is State.USER_ONLY:
        raise ActivationError(
            f"only the user can activate the skill {quoted(entry.name)}",
            hint="ask the user to name it in a message",
        )
    reason = f": {neutral(entry.reason)}" if entry.reason else ""
    raise ActivationError(f"the skill {quoted(entry.name)} is {entry.state}{reason}", hint="go on without it")
