# ruff: noqa: INP001 - a script, not a package
"""Take the picture of a report that the README shows: `make picture` writes `docs/report.png`.

The page is that of the project in `examples/demo.py`. The picture contains the digest of the files that make the page,
so that a test can tell whether it is the current one.
"""

from __future__ import annotations

import hashlib
import os
import runpy
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from prowess.cli import main

TOP = Path(__file__).parent.parent
PICTURE = TOP / "docs/report.png"
WIDTH = 1120
AGENTS = ("claude-code", "codex", "copilot", "gemini-cli", "opencode")
KEY = b"prowess-page"
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>DejaVu Sans</family><prefer><family>Inter</family></prefer></alias>
</fontconfig>
"""
"""Takes Inter, if it is installed, as the font of the system: most desktops have a similar one, Debian has not."""


def page_digest() -> str:
    """Return the digest of the files that decide how a page looks."""
    files = [TOP / "src/prowess/report" / name for name in ("head.html", "page.html", "page.css")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def digest_in(picture: bytes) -> str | None:
    """Return the digest that a picture contains."""
    _, found, rest = picture.partition(b"tEXt" + KEY + b"\0")
    return rest[:64].decode() if found else None


def with_digest(picture: bytes) -> bytes:
    """Return a picture with the digest of the page, as a text after its header."""
    text = b"tEXt" + KEY + b"\0" + page_digest().encode()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return picture[:33] + chunk + picture[33:]


def take_picture() -> bytes:
    """Write a report about the project of the demo, and return a picture of its first part."""
    chromium = runpy.run_path(str(TOP / "tests/support/browser.py"))["chromium"]
    with tempfile.TemporaryDirectory(prefix="prowess-picture-") as folder:
        root = Path(folder).resolve()
        home = root / "home"
        runpy.run_path(str(TOP / "examples/demo.py"))["furnish"](root)
        (root / "project").rename(home / "project")
        (root / "fonts.conf").write_text(FONTS, encoding="utf-8")
        os.environ.update(HOME=str(home), FONTCONFIG_FILE=str(root / "fonts.conf"))
        os.chdir(home / "project")
        hosts = [option for agent in AGENTS for option in ("--host", agent)]
        if main(["report", "-o", str(root / "skills.html"), *hosts]):
            sys.exit(1)
        with chromium(root) as browser:
            page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
            page.goto((root / "skills.html").as_uri())
            box = page.locator("[role=region]").bounding_box()
            clip = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 48}
            picture: bytes = page.screenshot(clip=clip, full_page=True)
    return picture


if __name__ == "__main__":
    PICTURE.write_bytes(with_digest(take_picture()))
