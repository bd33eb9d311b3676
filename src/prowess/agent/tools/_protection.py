"""Protect what the tools of a role must not write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prowess._internal.files import is_inside, real_path
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import SandboxError
from prowess.guard import Guard, Protection, obeyed_kind
from prowess.sandbox import find_backend

if TYPE_CHECKING:
    from prowess.agent.policy import ToolContext

ALLOWED_BY = "only the role can allow a kind, with `security.allow_writes`, or a path, with `security.allow_paths`"


def protection_for(context: ToolContext) -> Protection:
    """Return what the tools of a role must not write."""
    return Protection.of(
        folder=context.folder,
        roots=context.policy.roots or (context.folder,),
        files=context.role_files,
        paths=context.protected_paths,
        allowed=context.policy.allow_writes,
        allowed_paths=context.policy.allow_paths,
    )


def guard_for(context: ToolContext, folder: str) -> Guard:
    """Return the guard of a folder in which a command of a role may write.

    Raises:
        ToolFailedError: no sandbox is available.
    """
    try:
        backend = find_backend(context.sandbox, trusted=context.trusted)
    except SandboxError as error:
        raise ToolFailedError(str(error), hint=error.hint) from None
    sockets = context.policy.unix_sockets if context.skill is None else ()
    return Guard(
        folder=folder,
        protection=protection_for(context),
        env=os.environ,
        allowed_by=ALLOWED_BY,
        # Through a layer, a socket would not be the one that its program listens to.
        layers=backend.name == "bwrap" and not any(is_inside(path, folder) for path in map(real_path, sockets)),
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
