"""Build hosts from tables that no host file has."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.hosts._load import build_host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.hosts import Host

_SCRIPT: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "tools/host_tables.py"))


def host_from_table(name: str, table: Mapping[str, Any]) -> Host:
    """Return a host from a table as `tomllib` reads it, made as the tables of the host files are made."""
    return build_host(name, _SCRIPT["lists_to_tuples"](table))
