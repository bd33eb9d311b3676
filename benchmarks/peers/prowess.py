"""Prowess: the catalog of its own host."""

import os

import prowess


def discover(folder: str) -> int:
    """Count the active skills of the project that the folder lies in."""
    return prowess.discover(os.path.dirname(os.path.dirname(folder))).counts["active"]
