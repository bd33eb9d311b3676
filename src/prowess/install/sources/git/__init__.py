"""Fetch skills from repositories of git.

Front door: `fetch` gets skills of one commit. Nothing of a repository runs, and files are written as they were
committed.
"""

from ._skills import fetch

__all__ = ["fetch"]
