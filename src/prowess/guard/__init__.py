"""Let a command write in a user's folder, except what other programs run or obey later.

Front door: `Guard.run` runs a command that may write in a folder, `Protection` says which paths no tool and no script
writes, and `KINDS` names the kinds of files, with the reason for each. A guard knows no catalog and no session.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._guard import Guard as Guard, GuardedRun as GuardedRun, obeyed_kind as obeyed_kind
    from ._kept import (
        KeptFolder as KeptFolder,
        folder_problem as folder_problem,
        kept_folders as kept_folders,
        own_paths as own_paths,
    )
    from ._kinds import folder_kinds as folder_kinds, name_kind as name_kind, suspect_names as suspect_names
    from ._layers import (
        can_have_layer as can_have_layer,
        open_layer as open_layer,
        remember_layer_failure as remember_layer_failure,
    )
    from ._protection import ProtectedPath as ProtectedPath, Protection as Protection
    from ._removed_files import RemovedFiles as RemovedFiles
    from ._table import KINDS as KINDS, ProtectedKind as ProtectedKind
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
