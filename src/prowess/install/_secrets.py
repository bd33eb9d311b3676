"""Refuse to publish a skill with secrets."""

from __future__ import annotations

import os
import posixpath

from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.capabilities import find_secret
from prowess.errors import ConfigError, InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def check_secrets(files: Mapping[str, bytes], allowed: Iterable[str] = ()) -> None:
    """Check that files have no secrets, but those that their owner names.

    Args:
        files: the content of each, by its path.
        allowed: paths of files that may have secrets.

    Raises:
        ConfigError: there is no file with an allowed path.
        InstallError: files may have secrets.
    """
    named = {posixpath.normpath(path.replace(os.sep, "/")) for path in allowed}
    for path in sorted(named - files.keys()):
        raise ConfigError(
            f"`--force` names {quoted(path, PATH_LIMIT)}, which the skill does not have", hint="check the path"
        )
    found = [
        (path, reason)
        for path, data in sorted(files.items())
        if path not in named
        for reason in [find_secret(path, data)]
        if reason
    ]
    if not found:
        return
    lines = "".join(f"\n  {neutral(path)}: {reason}" for path, reason in found)
    message = (
        f"{len(found):,} {'file' if len(found) == 1 else 'files'} may contain secrets; nothing was published:{lines}"
    )
    options = " ".join(f"--force={neutral(path)}" for path, _ in found[:3])
    more = " and so on" if len(found) > 3 else ""
    raise InstallError(message, hint=f"remove them from the skill; if everyone may read them, add `{options}`{more}")
