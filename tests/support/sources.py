"""Fetch skills from sources into a store, and publish them, as tests of every kind of source do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.install import (
    PackedSkill,
    Publication,
    Wanted,
    fetch as fetch_wanted,
    parse_destination,
    parse_source,
    prepare_skill,
    publish_skill,
)

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.install import Fetched, OpenStore, Published, Source


def fetch(source: str | Source, opened: OpenStore, **options: Any) -> Fetched:
    """Fetch skills; the options are those of `Wanted`."""
    parsed = parse_source(source) if isinstance(source, str) else source
    return fetch_wanted(Wanted(source=parsed, opened=opened, **options))


def publish(skill: Path | PackedSkill, place: str, *tags: str, force: bool = False, dry_run: bool = False) -> Published:
    """Publish a skill, and move a name that has another content if it is forced."""
    return publish_skill(
        Publication(
            packed=skill if isinstance(skill, PackedSkill) else prepare_skill(str(skill)),
            place=parse_destination(place),
            tags=tags,
            may_move=lambda _: force,
            dry_run=dry_run,
        )
    )
