"""Show progress on a terminal."""

from __future__ import annotations

import sys

__all__ = ["ProgressLine"]


class ProgressLine:
    """A progress line on a terminal, overwritten while a command takes long."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shown = False

    def show_folders(self, count: int) -> None:
        """Show how many folders were searched."""
        self.show(f"searching: {count:,} folders")

    def show_checked(self, count: int) -> None:
        """Show how many skills were checked, every hundred skills."""
        if count % 100 == 0:
            self.show(f"checking: {count:,} skills")

    def show_skills(self, count: int) -> None:
        """Show how many skills were compared, every hundred skills."""
        if count % 100 == 0:
            self.show(f"comparing: {count:,} skills")

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self.shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
