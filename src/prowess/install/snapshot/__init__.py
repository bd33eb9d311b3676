"""Write and read snapshots: the names, descriptions and search index of very many skills in one mapped file.

Front door: `SnapshotProvider` reads one for a catalog, `write_snapshot` writes one. A skill is fetched when it is used.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._provider import SnapshotProvider as SnapshotProvider
    from ._write import SnapshotReport as SnapshotReport, write_snapshot as write_snapshot
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
