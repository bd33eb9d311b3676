"""Remove installed skills, and nothing else: `prowess remove`."""

from __future__ import annotations

from ._change import make_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._change import Changed
    from ._places import Target
    from ._store import Store

__all__ = ["remove_installed"]


def remove_installed(
    names: Sequence[str],
    target: Target,
    store: Store,
    *,
    force: bool = False,
    waiting: Callable[[], None] | None = None,
) -> Changed:
    """Remove skills from the folders into which they were installed, and from the lock.

    Folders that are empty then are removed too, and a lock without skills.

    Args:
        names: the skills.
        target: where they are installed.
        store: of the user.
        force: whether skills that were changed may be removed.
        waiting: is called once if another process has to finish first.

    Raises:
        SkillNotFoundError: a skill is not in the lock; nothing is removed.
        InstallError: a skill was changed, or cannot be removed; nothing is removed.
        ConfigError: the lock is invalid.
    """
    with store.open() as opened:
        return make_change(target, opened, removed=tuple(dict.fromkeys(names)), force=force, waiting=waiting)
