"""Run commands of skills in a sandbox: with limits, without a terminal, and with nothing left behind.

Front door: `run` (a command to its end), `server_command` (one that another program talks to), `Limits` (what it may
use), `find_backend` (the sandbox of this machine). A sandbox knows no skill, no catalog and no host.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._backends import CHOICES as CHOICES, Backend as Backend, find_backend as find_backend
    from ._describe import decode_output as decode_output, describe_result as describe_result
    from ._limits import Limits as Limits
    from ._memory import folder_usage as folder_usage
    from ._programs import (
        SYSTEM_PATH as SYSTEM_PATH,
        environment_folders as environment_folders,
        find_user_program as find_user_program,
        python_program as python_program,
        search_path as search_path,
    )
    from ._run import LayerError as LayerError, Result as Result, run as run
    from ._runtime import make_temp_folder as make_temp_folder, remove_runtime_folder as remove_runtime_folder
    from ._server import (
        server_command as server_command,
        user_server_command as user_server_command,
        user_variables as user_variables,
    )
    from ._supervisors import CommandScope as CommandScope, stop as stop, stopped_by_scopes as stopped_by_scopes
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
