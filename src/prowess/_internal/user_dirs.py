"""Find the folders in which Prowess keeps the user's cache, settings and data."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def cache_folder(env: Mapping[str, str]) -> str | None:
    """Return the folder of the cache: `PROWESS_CACHE_DIR`, or the system's folder for caches.

    `None` without a cache: with `PROWESS_NO_CACHE=1`, for a user without a home, and on Windows, where no time stamp
    shows every change of a file.
    """
    if sys.platform == "win32":
        return None
    if env.get("PROWESS_NO_CACHE", "").strip().lower() not in ("", "0", "false", "no", "off"):
        return None
    if folder := env.get("PROWESS_CACHE_DIR"):
        return os.path.abspath(folder)
    if sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = env.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "prowess") if os.path.isabs(base) else None


def config_folder(env: Mapping[str, str]) -> str | None:
    """Return the folder of the user's settings: `PROWESS_CONFIG_DIR` as given, or the system's folder for settings.

    `None` for a user without a home.
    """
    if folder := env.get("PROWESS_CONFIG_DIR"):
        return folder
    return _system_folder(env, "XDG_CONFIG_HOME", "APPDATA", "~/.config")


def data_folder(env: Mapping[str, str]) -> str | None:
    """Return the folder of the user's data: `PROWESS_DATA_DIR`, or the system's folder for data of applications.

    `None` for a user without a home.
    """
    if folder := env.get("PROWESS_DATA_DIR"):
        return os.path.abspath(folder)
    return _system_folder(env, "XDG_DATA_HOME", "LOCALAPPDATA", "~/.local/share")


def _system_folder(env: Mapping[str, str], variable: str, windows_variable: str, unix_folder: str) -> str | None:
    """Return our folder in that of a variable, or else of the system; `None` for a user without a home."""
    if os.path.isabs(base := env.get(variable, "")):
        pass
    elif sys.platform == "win32":
        base = env.get(windows_variable, "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.path.expanduser(unix_folder)
    return os.path.join(base, "prowess") if os.path.isabs(base) else None
