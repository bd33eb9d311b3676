"""Fetch skills from repositories of git.

Front door: `fetch` gets skills of one commit, `newest` asks which commit a source names now. Nothing of a repository
runs, and files are written as they were committed.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._fetch import fetch as fetch, newest as newest
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports(__name__, {"_fetch": ("fetch", "newest")})
