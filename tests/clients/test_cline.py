"""What Cline alone does: modules; its plugins of agents are in `cases/plugins.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        ({"cline": {"plugins": ["./index.js"]}}, ["pdf"]),
        ({"cline": {"plugins": [{"paths": [5, "./index.js"]}, {"paths": "x"}, {}]}}, ["pdf"]),
        ({"cline": {"plugins": ["./missing.js", "../index.js", "", "a\0b", None, ["x"]]}}, []),
        ({"cline": {"plugins": "./index.js"}}, []),
        ({"cline": {"plugins": ["x"] * 1000 + ["./index.js"]}}, []),
        ({"name": "one"}, []),
        (None, []),
    ],
)
def test_a_module_has_skills_if_its_manifest_names_a_file(tmp_path: Path, manifest: Any, names: list[str]) -> None:
    """Of the first thousand; Cline scans the skills beside a plugin's module, not of any folder."""
    machine = Machine(tmp_path, "cline")
    machine.skills("home/.cline/plugins/one/skills/pdf")
    machine.write("home/.cline/plugins/one/index.js")
    machine.write("home/.cline/plugins/index.js")
    if manifest is not None:
        machine.write("home/.cline/plugins/one/package.json", manifest)
    assert machine.active() == names
