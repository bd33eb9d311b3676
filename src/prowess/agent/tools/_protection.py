"""Protect what the tools of a role must not write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError
from prowess.guard import Protection, obeyed_kind

if TYPE_CHECKING:
    from prowess.agent.policy import ToolContext


def protection_for(context: ToolContext) -> Protection:
    """Return what the tools of a role must not write."""
    return Protection.of(
        folder=context.folder,
        roots=context.policy.roots or (context.folder,),
        files=context.role_files,
        paths=context.protected_paths,
        allowed=context.policy.allow_writes,
    )


def refuse_protected(protection: Protection, path: str, shown: str, data: bytes) -> None:
    """Refuse to write a protected file, or an ordinary one that a protected file leads to.

    Args:
        protection: what is protected.
        path: absolute, without links.
        shown: the path that the model gave.
        data: what would be written there.

    Raises:
        RefusedError: it is protected.
    """
    kind = protection.kind(path, data) or obeyed_kind(protection, path)
    if kind == "prowess":
        raise RefusedError(f"{quoted(shown, PATH_LIMIT)} is read-only: it belongs to Prowess itself")
    if kind is not None:
        raise RefusedError(
            f"{quoted(shown, PATH_LIMIT)} is read-only, as everything of the kind `{kind}`, which other programs "
            f"run or obey; only the role can allow it, with `security.allow_writes: [{kind}]`"
        )
