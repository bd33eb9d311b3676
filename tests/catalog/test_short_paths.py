"""The budget of Codex: paths that it shortens in its catalog, and the table of folders that this costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.hosts import host_from_table
from support.clients import see, states, write

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog


def catalog(top: Path, **keys: Any) -> Catalog:
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project", "walk": "git-root"}],
        "settings_files": {"user": {"path": "~/.x/x.toml"}},
        **keys,
    }
    return see(top, host_from_table("x", table), {})


def shown(found: Catalog) -> int:
    return sum(len(entry.description) for entry in found.skills if entry.state == "active")


def test_a_table_of_folders_counts_in_the_budget(tmp_path: Path) -> None:
    """Paths begin with a number of the table; a plugin with one skill has the folder of its market there."""
    write(tmp_path, {f"repo/.x/skills/s{number}/": "x" * 500 for number in range(4)})

    def shortened(**rules: Any) -> int:
        budget = {"limit": 700, "degrade": "level", "unit": "bytes", **rules}
        template = {"entry": "{name}:{description}:{short_path}\n", "name_only": "{name}:{short_path}\n"}
        return shown(catalog(tmp_path, budget=budget, template=template))

    free = shortened(short_paths={"text_with_table": 0, "text_without_table": 1000})
    assert 600 < free < 700
    assert free - shortened(short_paths={"text_with_table": 0}) == len(f"- `r0` = `{tmp_path}/repo/.x/skills`\n")
    whole_paths = shortened(short_paths={"text_with_table": 690})
    lines = [f"s{number}::{tmp_path}/repo/.x/skills/s{number}/SKILL.md\n" for number in range(4)]
    assert whole_paths == max(700 - len("".join(lines)), 0)


def test_a_plugin_with_one_skill_is_shown_below_its_market(tmp_path: Path) -> None:
    """Its path is longer than that of a plugin with two, and takes more of the budget."""
    for plugin, name in (("a", "one"), ("b", "one"), ("b", "two")):
        write(tmp_path, {f"home/.x/plugins/m/{plugin}/skills/{name}/": "x" * 500})
    plugins = {"p": {"folders": ["~/.x/plugins/*/*"], "id": "{plugin}", "prefix": False}}
    found = catalog(
        tmp_path,
        roots=[{"plugins": "p", "scope": "plugin"}],
        plugins=plugins,
        collision="keep-all",
        template={"entry": "{name}:{description}:{short_path}\n", "name_only": "{name}:{short_path}\n"},
        budget={
            "limit": 30,
            "degrade": "level",
            "unit": "bytes",
            "short_paths": {"shared": "(.*/plugins/[^/]+)/[^/]+(?=/)", "text_without_table": 1000},
        },
    )
    lines = {"one": len("one:r0/a/skills/one/SKILL.md\n"), "two": len("two:r1/two/SKILL.md\n")}
    assert lines == {"one": 29, "two": 20}
    assert [(entry.root.split("/")[-2], str(entry.state)) for entry in found.skills] == [
        ("a", "active"),
        ("b", "user-only"),
        ("b", "user-only"),
    ]


def test_a_skill_that_its_author_hides_may_also_be_off(tmp_path: Path) -> None:
    """Then it is off, as the client lists it; in a plugin that is off it is not there at all."""
    text = "---\nname: one\ndescription: d\nhide: true\n---\n"
    keys: dict[str, Any] = {
        "title": "X",
        "flags": [{"when": {"hide": "true"}, "state": "user-only", "reason": "hidden"}],
        "settings": [{"key": "off", "form": "names"}],
        "settings_files": {"user": {"path": "~/.x/x.toml"}},
        "roots": [{"path": ".x/skills", "scope": "project"}, {"plugins": "p", "scope": "plugin"}],
        "plugins": {"p": {"folders": ["~/.x/plugins/*"], "id": "{plugin}", "setting": "plugins", "prefix": False}},
    }
    one = host_from_table("x", keys)
    assert states(tmp_path, one, {"repo/.x/skills/one/SKILL.md": text}) == {"one": "user-only"}
    off = {"home/.x/x.toml": 'off = ["one"]\nplugins.p = false\n'}
    assert states(tmp_path, one, off) == {"one": "disabled"}
    (tmp_path / "repo/.x/skills/one/SKILL.md").unlink()
    moved = {"home/.x/plugins/p/skills/one/SKILL.md": text, "home/.x/x.toml": "plugins.p = false\n"}
    assert states(tmp_path, one, moved) == {"one": "rejected"}
