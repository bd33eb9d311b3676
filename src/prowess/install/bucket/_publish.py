"""Publish a skill into a bucket, as the archive `NAME.tar.gz`.

A skill is replaced only if it is still the one that was compared: stores that know conditional writes
refuse anything else. Different skills are different objects, so that their publishers never get in each other's way.
"""

from __future__ import annotations

import hashlib

from prowess._internal.text import quoted
from prowess.errors import InstallError
from prowess.install._publish import Published

from ._objects import open_bucket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prowess.install._publish import PackedSkill
    from prowess.install._source import Source

__all__ = ["publish"]


def publish(
    packed: PackedSkill,
    place: Source,
    *,
    tags: Sequence[str] = (),
    may_move: Callable[[str], bool],
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Published:
    """Publish a skill into a bucket, as `publish_skill` says.

    Raises:
        ConfigError: `obstore` is not installed, or a variable of the cloud is missing or invalid.
        InstallError: the bucket refuses it, or has another skill of that name that may not be replaced.
    """
    if tags:
        raise InstallError("a bucket has no tags", hint="leave out `--tag`, or publish to another path")
    state = "planned" if dry_run else _put(packed, place.url, may_move, progress)
    return Published(
        name=packed.name,
        reference=f"{place.url}@{packed.name}",
        digest=f"sha256:{hashlib.sha256(packed.archive).hexdigest()}",
        tags=(),
        size=len(packed.archive),
        state=state,
    )


def _put(packed: PackedSkill, url: str, may_move: Callable[[str], bool], progress: Callable[[str], None] | None) -> str:
    """Write the archive unless it is there, and return the state."""
    key = f"{packed.name}.tar.gz"
    bucket = open_bucket(url)
    try:
        if progress is not None:
            progress(f"comparing {key} in {bucket.url}")
        present, is_same = bucket.compare(key, packed.archive)
        state = "unchanged" if is_same else "new" if present is None else "moved"
        if state == "moved" and not may_move(packed.name):
            problem = f"{bucket.url} has another {quoted(key)}"
            raise InstallError(problem, hint="replace it with `--force`, or publish to another path")
        if state != "unchanged":
            if progress is not None:
                progress(f"writing {key} to {bucket.url}")
            bucket.write(key, packed.archive, present)
    finally:
        bucket.close()
    return state
