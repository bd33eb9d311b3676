"""What Codex alone does: manifests are read strictly; which plugins count is in `cases/plugins.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.machine import Machine

if TYPE_CHECKING:
    from pathlib import Path

CACHE = "home/.codex/plugins/cache/m"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, "codex")
    machine.write("home/.codex/config.toml", '[plugins."p@m"]\n[plugins."p p@m"]\n')
    return machine


def plugin(machine: Machine, folder: str, *skills: str, manifest: Any = None) -> None:
    machine.skills(*(f"{CACHE}/{folder}/{skill}" for skill in skills))
    machine.write(f"{CACHE}/{folder}/.codex-plugin/plugin.json", {"name": "p"} if manifest is None else manifest)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"name": "p"}', ["p:one"]),
        ('{"name": "p", "name": "q"}', []),
        ('{"name": "p", "x": 1, "x": 2}', ["p:one"]),
        ('{"name": "p", "x": NaN}', []),
        ('{"name": "p"} // comment', []),
        ('\ufeff{"name": "p"}', []),
        ('["p", "1", "d", [], ["./other"]]', ["p:two"]),
        ("[]", ["1.0.0:one"]),
        ('{"name": "p", "skills": ["./other"]}', ["p:two"]),
        ('{"name": "p", "skills": ["./other", 5]}', ["p:one"]),
        ('{"name": "p", "skills": ["other", "./../x"]}', ["p:one"]),
        ("5", []),
        ("{", []),
        ("", []),
        ("\0", []),
        ('{"name": 5}', []),
        ("[" * 100_000, []),
    ],
)
def test_a_manifest_is_read_strictly(text: str, names: list[str], machine: Machine) -> None:
    """A key that comes twice, comments, a list in place of an object, a list with something other than texts."""
    plugin(machine, "p/1.0.0", "skills/one", "other/two", manifest=text)
    assert machine.active() == names
