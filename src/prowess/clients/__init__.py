"""What clients do with their own settings, plugins and files.

`settings`, `plugins`, `reading` and `budget` hold what several clients do alike, as their host files say. What one
client alone does is a plain function in the module with its name: `codex.py` for the host `codex`. A function there
that has the name of one in the rooms beside it takes its place for this client, and has the same parameters.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = ["CLIENT_MODULES", "client", "of_client"]

CLIENT_MODULES = (
    *("claude_code", "cline", "codex", "copilot", "gemini_cli", "infer", "infer_cli", "initrunner", "kimi_code"),
    *("mistral_vibe", "opencode", "pi", "qwen_code"),
)
"""The modules of single clients, in this package; a host's name has `-` where its module has `_`."""


@cache
def client(host: str) -> ModuleType | None:
    """Return the module of a client by the name of its host; `None` if nothing is known that it alone does."""
    name = host.replace("-", "_")
    if name not in CLIENT_MODULES:
        return None
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


def of_client(host: str, usual: Function) -> Function:
    """Return the function with which a client does something in its own way, or else the usual one.

    Args:
        host: the name of the client's host.
        usual: what other clients do; the client's own function has the same name and parameters.
    """
    own: Function = getattr(client(host), usual.__name__, usual)
    return own
