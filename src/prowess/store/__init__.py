"""Keep conversations in a database, so that a restart or a second process loses nothing.

Front door: `open_store(URL)` returns a `Store` on SQLite or PostgreSQL; `Store.turn` holds a conversation for one turn
and returns a `StoredTurn`, which saves what the turn changed. A store knows sessions, but no framework: a history is
JSON of its caller. SQLAlchemy is imported when a store is opened.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._open import open_store as open_store
    from ._store import Store as Store
    from ._turn import SavedConversation as SavedConversation, StoredTurn as StoredTurn
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
