"""Prowess: the catalog of its own host."""

import os

from prowess import discover as find


def discover(folder: str) -> int:
    """Count the active skills of the project that the folder lies in."""
    return find(os.path.dirname(os.path.dirname(folder))).counts["active"]
