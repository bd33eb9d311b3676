"""Tell by what code a cached result was made: the state of the source files, of PyYAML and of Python."""

from __future__ import annotations

import os
import sys

from prowess._internal.files import package_folder
from prowess.filesystem import fingerprint_paths

_CODE_PACKAGES = (
    *("_internal", "cache", "catalog", "checks", "cli", "clients", "filesystem", "find", "hosts", "mcp", "prompt"),
    *("search", "skill", "visibility"),
)
"""The packages whose code decides what the cache holds, besides the modules directly in `prowess`."""


def _fingerprint_code() -> str:
    """Return the state of the source files that fill the cache, and of PyYAML's folder; empty if unknown."""
    package = package_folder()
    folders = [package, *(os.path.join(package, name) for name in _CODE_PACKAGES)]
    files = []
    try:
        for folder in folders:  # grows during the loop
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith((".py", ".pyc", ".txt")):
                        files.append(entry.path)
                    elif folder != package and entry.name != "__pycache__" and entry.is_dir():
                        folders.append(entry.path)
        files.sort()
        files += [path for path in (os.path.join(path, "yaml") for path in sys.path) if os.path.isdir(path)]
        states = fingerprint_paths(files, os.stat).hex()
    except (OSError, ValueError, OverflowError):
        return ""
    return "\n".join((package, sys.version, sys.getfilesystemencoding(), *files, states))


_CODE_FINGERPRINT = _fingerprint_code()
"""As of the import of this module: the running code stays the same if its files are replaced."""


def code_fingerprint() -> str:
    """Return a text that changes with the code of Prowess, PyYAML or Python, so that no result of other code is used.

    Empty if the code has no files, as in a package that runs from an archive.
    """
    return _CODE_FINGERPRINT
