"""argv -> a contained process

The one way a script or a test of a skill is started: with its own environment, no terminal, limits, an end for all that
comes from it, and walls around it where the machine has them (`backend`).
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._backends import CHOICES, Backend, find_backend
    from ._run import SYSTEM_PATH, Limits, Result, run
    from ._runtime import make_temp_folder, remove_runtime_folder
    from ._supervisors import stop

__all__ = [
    "Backend",
    "CHOICES",
    "Limits",
    "Result",
    "SYSTEM_PATH",
    "find_backend",
    "make_temp_folder",
    "remove_runtime_folder",
    "run",
    "stop",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_backends": (
                "Backend",
                "CHOICES",
                "find_backend",
            ),
            "_run": (
                "Limits",
                "Result",
                "SYSTEM_PATH",
                "run",
            ),
            "_runtime": (
                "make_temp_folder",
                "remove_runtime_folder",
            ),
            "_supervisors": ("stop",),
        },
    )
