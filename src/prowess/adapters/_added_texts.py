"""Choose the texts at the end of a request, for adapters that add them to each request and store none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess.session import escape_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.session import Session

__all__ = ["added_texts"]


def added_texts(session: Session, visible: Iterable[str]) -> list[str]:
    """Return the warnings of a turn, and the active skills that a request does not contain.

    Args:
        session: of the conversation.
        visible: the texts of the request.
    """
    warnings = [escape_tags(f"warning: {warning}") for warning in session.warnings]
    tail = session.tail(visible=visible)
    return [*warnings, tail] if tail else warnings
