"""The picture of a report in the README is that of the current page."""

from __future__ import annotations

import runpy
from pathlib import Path

TOP = Path(__file__).parents[2]


def test_the_picture_shows_the_current_page() -> None:
    """It contains the digest of the template and the style with which it was taken."""
    script = runpy.run_path(str(TOP / "docs/report_picture.py"))
    picture = (TOP / "docs/report.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    assert script["digest_in"](picture) == script["page_digest"](), "run `make picture`"


def test_the_picture_is_small() -> None:
    """Everyone who opens the README loads it."""
    assert (TOP / "docs/report.png").stat().st_size < 200_000
