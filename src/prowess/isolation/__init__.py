"""Run a client in a temporary home, with only the skills, settings and variables that it is given.

`IsolationConfig` says which; `EphemeralHome` creates the home, starts the client in it and removes it afterwards.
`Foreground` runs a client on the terminal and ends everything that it leaves running.

This package knows hosts and mounting, but no catalog and no session.
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
