"""Prowess: the catalog of its own host."""

import os

from prowess import discover as find


def discover(folder: str) -> int:
    """Count the active skills of the project that the folder is in; read each name and description."""
    skills = find(os.path.dirname(os.path.dirname(folder))).active
    return sum(1 for skill in skills if skill.name and skill.description)
