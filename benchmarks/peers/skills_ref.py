"""skills-ref: `read_properties` of each folder; it has no discovery, so the folders are listed here."""

from pathlib import Path

from skills_ref import read_properties


def discover(folder: str) -> int:
    """Read every skill below the folder."""
    return len([read_properties(skill) for skill in Path(folder).iterdir()])
