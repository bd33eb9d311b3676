"""The files that the manifest of a plugin names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.catalog._plugin_files import named_files
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (["./a.js", "b.ts"], ["/p/a.js", "/p/b.ts"]),
        ([{"paths": ["./a.js", 5]}, {"paths": "x"}, {}], ["/p/a.js"]),
        (["../up.js", "", "a\0b", None, ["x"]], ["/up.js"]),
        ("a.js", []),
        (None, []),
        (["x"] * 10_000, ["/p/x"] * 1000),
    ],
)
def test_paths_come_from_texts_and_tables(value: Any, paths: list[str]) -> None:
    assert list(named_files(value, "/p")) == paths


@pytest.mark.parametrize(
    ("manifest", "states"),
    [
        ({"cline": {"plugins": ["./index.js"]}}, ["active"]),
        ({"cline": {"plugins": [{"paths": ["./index.js"]}]}}, ["active"]),
        ({"cline": {"plugins": ["./missing.js"]}}, []),
        ({"cline": {"plugins": "./index.js"}}, []),
        ({"name": "one"}, []),
        (None, []),
    ],
)
def test_a_module_has_skills_if_its_manifest_names_a_file(tmp_path: Path, manifest: Any, states: list[str]) -> None:
    """Cline scans the skills beside a plugin's module, not of any folder."""
    folder = tmp_path / "home/.cline/plugins/one"
    skill(folder / "skills/pdf")
    (folder / "index.js").write_text("")
    if manifest is not None:
        (folder / "package.json").write_text(json.dumps(manifest))
    found = discover(tmp_path, host="cline", home=tmp_path / "home", env={})
    assert [str(entry.state) for entry in found.skills] == states
