"""Read a baseline: what `prowess check --json` wrote before. Its findings are accepted, so that only new ones fail."""

from __future__ import annotations

import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError
from prowess.findings import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

__all__ = ["MAX_BASELINE_BYTES", "Baseline", "read_baseline"]

MAX_BASELINE_BYTES = 64 * 1024 * 1024
_FINGERPRINT = re.compile("[0-9a-f]{32}")


class Baseline(Frozen):
    """The findings that were accepted."""

    place: str
    """The path of the file, as the user wrote it."""
    files: Mapping[str, str | None]
    """Fingerprint to the path of its finding: relative to the repository, absolute, or `None` without a file."""


def read_baseline(path: str) -> Baseline:
    """Return the baseline in a file.

    Raises:
        ConfigError: the file cannot be read, or `prowess check --json` did not write it.
    """
    # Programs like pre-commit add the paths of changed files to a command, and a folder can be called `--baseline=x`.
    if path.casefold().endswith(".md"):
        _reject(path, "it is a Markdown file")
    try:
        data = read_file(path, MAX_BASELINE_BYTES, follow=True)
    except UnreadableError as error:
        hint = "write it with `prowess check --json > FILE`"
        raise ConfigError(f"cannot read the baseline {quoted(path, PATH_LIMIT)}: {error.message}", hint=hint) from None
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        _reject(path, "it is not JSON")
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        _reject(path, "it has no list of `findings`")
    root = value.get("root")
    if not isinstance(root, str):
        _reject(path, "it has no `root`")
    files: dict[str, str | None] = {}
    for item in value["findings"]:
        fingerprint = item.get("fingerprint") if isinstance(item, dict) else None
        if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
            _reject(path, "a finding has no `fingerprint`")
        if not isinstance(item.get("code"), str) or item["code"] not in CODES:
            _reject(path, "a finding has no known `code`")
        files[fingerprint] = _relative_path(item.get("path"), root)
    return Baseline(place=path, files=files)


def _reject(path: str, reason: str) -> NoReturn:
    hint = "write it with `prowess check --json > FILE`"
    raise ConfigError(f"{quoted(path, PATH_LIMIT)} is not a baseline: {reason}", hint=hint)


def _relative_path(path: object, root: str) -> str | None:
    """Return a path of the machine that wrote the baseline, relative to its repository if it is inside."""
    if not isinstance(path, str):
        return None
    import ntpath
    import posixpath

    module = ntpath if ntpath.splitdrive(root)[0] else posixpath
    before = root.rstrip(module.sep) + module.sep
    return path[len(before) :].replace(module.sep, "/") if path.startswith(before) else path
