"""Fetch skills from repositories of git.

Front door: `fetch` gets skills of one commit, `newest` asks which commit a source names now. Nothing of a repository
runs, and files are written as they were committed.
"""

from ._skills import fetch, newest

__all__ = ["fetch", "newest"]
