"""What Codex alone does: manifests are read strictly; which plugins count is in `cases/plugins.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from prowess.clients.codex import ShortPaths
from prowess.hosts import load_host
from support.clients import states
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


# ── short paths ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Shown:
    """A skill as a catalog shows it."""

    root: str
    name: str = "one"
    description: str = "d"
    alias: str | None = None
    scope: str = "project"

    @property
    def path(self) -> str:
        return f"{self.root}/{self.name}/SKILL.md"


def test_a_table_of_folders_counts_in_the_budget() -> None:
    """As far as it is longer than the text that it replaces."""
    for length in (50, 200, 400):
        root = "/" + "r" * length
        table = f"- `r0` = `{root}`\n"
        assert ShortPaths([Shown(root)], [root], None).table_cost("bytes") == max(310 + len(table) - 451, 0)


def test_a_plugin_with_one_skill_is_shown_below_its_market() -> None:
    """Its path is longer than that of a plugin with two; paths in other folders begin with their number too."""
    cache = "/h/plugins/cache/m"
    skills = [
        Shown(f"{cache}/a/1/skills"),
        Shown(f"{cache}/b/1/skills"),
        Shown(f"{cache}/b/1/skills", "two"),
        Shown("/p"),
    ]
    short = ShortPaths(skills, ["/p"], "/own")
    assert [short.shorten(skill) for skill in [*skills, Shown("/own", "x")]] == [
        "r2/a/1/skills/one/SKILL.md",
        "r3/one/SKILL.md",
        "r3/two/SKILL.md",
        "r1/one/SKILL.md",
        "r0/x/SKILL.md",
    ]


@pytest.mark.parametrize(("folder", "state"), [("f", "active"), ("f" * 200, "user-only")])
def test_paths_stay_whole_if_the_table_does_not_fit(folder: str, state: str, tmp_path: Path) -> None:
    codex = load_host("codex")
    codex = codex.with_changes(
        budget=codex.budget.with_changes(limit=60, unit="bytes"),
        template=codex.template.with_changes(entry="{name}:{description}:{short_path}\n", name_only=""),
    )
    files = {f"{folder}/.codex/skills/one/": None, "home/.codex/config.toml": "skills.bundled.enabled = false\n"}
    assert states(tmp_path, codex, files, cwd=folder) == {"one": state}
