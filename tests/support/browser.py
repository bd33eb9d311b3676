"""Open pages in the Chromium of this machine. Playwright drives it, and none of Playwright's own browsers is needed."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

__all__ = ["chromium"]


@contextmanager
def chromium(home: Path) -> Iterator[Browser]:
    """Start a browser without a window, and end it after the block.

    Args:
        home: a folder for the files that it may write.
    """
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(found for name in names if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        # Its sandbox does not work for root; pages that tests open are our own.
        browser = playwright.chromium.launch(
            executable_path=path, chromium_sandbox=False, env={**os.environ, "HOME": str(home)}
        )
        try:
            yield browser
        finally:
            browser.close()
