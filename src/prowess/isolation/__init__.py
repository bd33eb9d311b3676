"""policies + skills -> a client's home and environment, for as long as it runs

The client finds a home in which there is nothing but the skills it is given and the settings that the policies ask
for, and an environment that was made from nothing: what the caller has in its own, secrets above all, is not in it
unless it stands in a short list or the caller says so. When the client has ended the home is removed.

    BASE/home   its HOME        BASE/tmp   its TMPDIR        BASE/work   an empty folder to start in

A home that a process left behind because it was killed is removed by whoever makes the next one.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._foreground import Foreground
    from ._home import EphemeralHome, IsolationConfig
    from ._settings import NetworkPolicy, SandboxConfig

__all__ = [
    "EphemeralHome",
    "Foreground",
    "IsolationConfig",
    "NetworkPolicy",
    "SandboxConfig",
]

if not TYPE_CHECKING:  # or else every misspelt name would have a type
    __getattr__ = lazy_exports(
        __name__,
        {
            "_foreground": ("Foreground",),
            "_home": (
                "EphemeralHome",
                "IsolationConfig",
            ),
            "_settings": (
                "NetworkPolicy",
                "SandboxConfig",
            ),
        },
    )
