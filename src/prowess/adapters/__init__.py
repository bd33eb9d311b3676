"""Session -> one framework's tools

Each file joins a `Session` with one framework and is named after it. A framework is imported when its file is, and its
extra is named where it is missing.
"""

from __future__ import annotations

__all__ = ["missing_extra"]


def missing_extra(framework: str, extra: str) -> str:
    """Return the sentence that tells how to install what an adapter needs."""
    return f"this adapter needs {framework}: pip install 'prowess[{extra}]'"
