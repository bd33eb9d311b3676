"""Name the extra of Prowess that installs a missing package."""

from __future__ import annotations


def missing_extra(package: str, extra: str, feature: str = "this adapter") -> str:
    """Return the message of an ImportError: what needs the package, and how to install it."""
    return f"{feature} needs {package}: pip install 'prowess[{extra}]'"
