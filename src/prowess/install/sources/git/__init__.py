"""Fetch skills from repositories of git.

Front door: `fetch` gets skills of one commit; `is_descendant` compares two; `write_version` writes an older version of
a skill, and `write_skills_of_version` of all skills. Nothing of a repository runs, and files are written as they were
committed.
"""

from ._skills import fetch, is_descendant
from ._versions import write_skills_of_version, write_version

__all__ = ["fetch", "is_descendant", "write_skills_of_version", "write_version"]
