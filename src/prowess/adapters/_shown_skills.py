"""List the skills that fit into the budget of a catalog, for frameworks that write the list themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prowess.session import Session

__all__ = ["shown_skills"]


def shown_skills(session: Session) -> dict[str, str]:
    """Return the names of the skills that a session shows, each with its description as it is shown.

    Args:
        session: with the format `json`.
    """
    text = session.listing.text
    rows = json.loads(text)["available_skills"] if text else []
    return {row["name"]: row.get("description", "") for row in rows}
