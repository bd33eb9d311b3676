"""Write the tables of the host files when Prowess is built or installed, as they are not in git."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class HostTables(BuildHookInterface[Any]):
    """Add the modules that `tools/host_tables.py` writes to a wheel, an sdist or an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - what the interface gives
        """Write the modules, and add them although git ignores them."""
        written = runpy.run_path(str(Path(self.root, "tools/host_tables.py")))["write_modules"]()
        build_data["artifacts"] += [path.relative_to(self.root).as_posix() for path in written]
