"""Let a command write in a user's folder, except what other programs run or obey later.

Front door: `Protection` says which paths no tool and no script writes, `guard_writes` protects a folder while a command
runs, and `KINDS` names the kinds of files, with the reason for each. A guard knows no role, no catalog and no session.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._kinds import (
        folder_kinds as folder_kinds,
        name_kind as name_kind,
    )
    from ._protection import ProtectedPath as ProtectedPath, Protection as Protection, own_paths as own_paths
    from ._removed_files import RemovedFiles as RemovedFiles
    from ._table import KINDS as KINDS, ProtectedKind as ProtectedKind
    from ._write_guard import WriteGuard as WriteGuard, guard_writes as guard_writes, obeyed_kind as obeyed_kind
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
