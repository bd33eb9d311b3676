"""Fetch skills from repositories of git.

Front door: `fetch` gets skills of one commit; `is_descendant` compares two. Nothing of a repository runs, and files are
written as they were committed.
"""

from ._skills import fetch, is_descendant

__all__ = ["fetch", "is_descendant"]
