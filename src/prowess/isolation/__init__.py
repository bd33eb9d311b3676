"""Run a client in a temporary home, with only the skills, settings and variables that it is given.

`IsolationConfig` says which; `EphemeralHome` creates the home, starts the client in it and removes it afterwards.
`Foreground` runs a client on the terminal and ends everything that it leaves running.

This package knows hosts and mounting, but no catalog and no session.
"""

from prowess._internal.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._env import secret_values as secret_values
    from ._foreground import Foreground as Foreground
    from ._home import EphemeralHome as EphemeralHome, IsolationConfig as IsolationConfig, write_home as write_home
    from ._settings import NetworkPolicy as NetworkPolicy, SandboxConfig as SandboxConfig
else:  # otherwise every misspelt name would have a type
    __getattr__, __all__ = lazy_exports()
