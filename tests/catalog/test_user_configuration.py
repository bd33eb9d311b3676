"""What a client's arguments, project settings and markers change, as the tables of a host say."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

FILES: dict[str, dict[str, Any]] = {
    "arguments": {"path": "@arguments", "invalid": "stops"},
    "project": {"path": ".x/x.toml", "where": "upwards", "needs_trust": True},
    "user": {"path": "~/.x/x.toml", "invalid": "stops"},
}
TRUST = {
    "key": "projects",
    "form": "file-trust",
    "files": ["arguments", "user"],
    "merge": "deep",
    "word": "trust",
    "effects": {"yes": "trusted", "no": "untrusted"},
}
SET = {"name": "-c", "values": "one", "effect": "set"}
ENABLE = {"name": "--enable", "values": "one", "effect": "set", "sets": "{value}.on=true"}


def skill(folder: Path, name: str, text: str = "d") -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\n---\n")
    return folder / name / "SKILL.md"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def catalog(
    top: Path, *settings: dict[str, Any], cwd: str = "repo", args: tuple[str, ...] = (), **keys: Any
) -> Catalog:
    table = {
        "title": "X",
        "roots": [{"path": ".x/skills", "scope": "project", "walk": "git-root"}],
        "settings_files": FILES,
        "settings": list(settings),
        "arguments": [SET, ENABLE],
        **keys,
    }
    (top / cwd).mkdir(parents=True, exist_ok=True)
    host = host_from_table("x", table)
    return discover(top / cwd, host=host, home=top / "home", env={}, client_args=args)


def states(found: Catalog) -> dict[str, str]:
    return {entry.name: str(entry.state) for entry in found.skills}


# ── arguments that set what a file could say ─────────────────────────────────────────────────────────────────────────

SWITCH = {"key": "skills.on", "form": "switch"}


@pytest.mark.parametrize(
    ("args", "on"),
    [
        ((), True),
        (("-c", "skills.on=false"), False),
        (("-cskills.on=false",), False),
        (("-c", "skills={on=false}"), False),
        (("-c", "skills.on=false", "-c", "skills={other=1}"), True),
        (("-c", "skills.on=false", "-c", "skills.other=1"), False),
        (("--enable", "skills", "-c", "skills.on=false"), True),
        (("-c", " skills . on = false "), False),
        (("-c", "skills.on"), False),
        (("-c", "=false"), False),
        (("-c",), False),
    ],
)
def test_an_argument_counts_as_a_settings_file(args: tuple[str, ...], on: bool, tmp_path: Path) -> None:
    """The last one for a key counts, arguments with a template last; an invalid one keeps the client from starting."""
    skill(tmp_path / "repo/.x/skills", "one")
    assert bool(states(catalog(tmp_path, SWITCH, args=args))) is on


def test_an_argument_wins_over_the_files(tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills", "one")
    write(tmp_path / "home/.x/x.toml", "skills.on = false\n")
    assert states(catalog(tmp_path, SWITCH)) == {}
    assert states(catalog(tmp_path, SWITCH, args=("-c", "skills.on=true"))) == {"one": "active"}


def test_a_long_argument_takes_no_long_time(tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills", "one")
    start = time.monotonic()
    for value in (f"{'a.' * 100_000}b=1", f"skills.x={'[' * 100_000}", f"skills.x={'a.' * 100_000}"):
        catalog(tmp_path, SWITCH, args=("-c", value))
    assert time.monotonic() - start < 1


# ── trust of a project's settings ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("projects", "read"),
    [
        ({}, ""),
        ({"{repo}": "yes"}, "top sub"),
        ({"{repo}": "no"}, ""),
        ({"{repo}": "maybe"}, ""),
        ({"{repo}/sub": "yes"}, "sub"),
        ({"{repo}": "yes", "{repo}/sub": "no"}, "top"),
        ({"{repo}/": "yes"}, ""),
        ({"{repo}/..": "yes"}, ""),
    ],
)
def test_trust_belongs_to_the_folder_of_a_file_then_to_the_project(
    projects: dict[str, str], read: str, tmp_path: Path
) -> None:
    """Paths are exact; folders above the project do not count."""
    (tmp_path / "repo/.git").mkdir(parents=True)
    for name, folder in (("top", "repo"), ("sub", "repo/sub")):
        skill(tmp_path / "repo/.x/skills", name)
        write(tmp_path / folder / ".x/x.toml", f'off = {{{name} = "off"}}\n')
    lines = [
        f'[projects.{json.dumps(path.replace("{repo}", str(tmp_path / "repo")))}]\ntrust = "{word}"\n'
        for path, word in projects.items()
    ]
    write(tmp_path / "home/.x/x.toml", "".join(lines))
    off = {"key": "off", "form": "effects", "effects": {"off": "off"}}
    found = states(catalog(tmp_path, TRUST, off, cwd="repo/sub"))
    assert " ".join(name for name in ("top", "sub") if found[name] == "disabled") == read


def test_a_linked_working_tree_has_the_trust_of_the_main_one(tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills", "one")
    (tmp_path / "main/.git/worktrees/repo").mkdir(parents=True)
    write(tmp_path / "repo/.git", f"gitdir: {tmp_path}/main/.git/worktrees/repo\n")
    write(tmp_path / "repo/.x/x.toml", "skills.on = false\n")
    write(tmp_path / "home/.x/x.toml", f'projects."{tmp_path}/main".trust = "yes"\n')
    assert states(catalog(tmp_path, TRUST, SWITCH)) == {}


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: \0", "gitdir: /", "nothing", "gitdir: worktrees/x"])
def test_a_hostile_git_file_gives_no_trust(text: str, tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills", "one")
    write(tmp_path / "repo/.git", text)
    write(tmp_path / "repo/.x/x.toml", "skills.on = false\n")
    write(tmp_path / "home/.x/x.toml", f'projects."{tmp_path}/main".trust = "yes"\nprojects."/".trust = "yes"\n')
    assert states(catalog(tmp_path, TRUST, SWITCH)) == {"one": "active"}


# ── markers of a project's root ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("markers", "names"),
    [
        (None, ["deep", "sub", "top"]),
        ('[".git"]', ["deep", "sub", "top"]),
        ('["package.json"]', ["deep", "sub"]),
        ('["absent", "package.json"]', ["deep", "sub"]),
        ('["conf/x"]', ["deep", "sub", "top"]),
        ('["absent"]', ["deep"]),
        ("[]", ["deep"]),
        ('[""]', ["deep"]),
        ('["\\u0000"]', ["deep"]),
        ("[5]", ["deep", "sub", "top"]),
    ],
)
def test_settings_say_what_makes_the_root_of_a_project(markers: str | None, names: list[str], tmp_path: Path) -> None:
    """Without one of the names, only the working directory counts."""
    (tmp_path / "repo/.git").mkdir(parents=True)
    write(tmp_path / "repo/conf/x", "")
    write(tmp_path / "repo/sub/package.json", "")
    for name, folder in (("top", "repo"), ("sub", "repo/sub"), ("deep", "repo/sub/deep")):
        skill(tmp_path / folder / ".x/skills", name)
    if markers is not None:
        write(tmp_path / "home/.x/x.toml", f"markers = {markers}\n")
    found = catalog(tmp_path, cwd="repo/sub/deep", root_markers="markers")
    assert sorted(states(found)) == names


def test_a_project_cannot_say_what_makes_its_root(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    skill(tmp_path / "repo/.x/skills", "one")
    write(tmp_path / "repo/sub/.x/x.toml", "markers = []\n")
    write(tmp_path / "home/.x/x.toml", f'projects."{tmp_path}/repo".trust = "yes"\n')
    assert states(catalog(tmp_path, TRUST, cwd="repo/sub", root_markers="markers")) == {"one": "active"}


# ── entries ──────────────────────────────────────────────────────────────────────────────────────────────────────────

ENTRIES = {"key": "skills", "form": "entries"}


@pytest.mark.parametrize(
    ("entries", "on"),
    [
        ([{"name": "one", "enabled": False}], False),
        ([{"name": " one ", "enabled": False}], False),
        ([{"name": "One", "enabled": False}], True),
        ([{"name": "o*", "enabled": False}], True),
        ([{"name": "one", "enabled": False}, {"name": "one", "enabled": True}], True),
        ([{"path": "{file}", "enabled": False}], False),
        ([{"path": "{folder}", "enabled": False}], True),
        ([{"path": "{linked}", "enabled": False}], False),
        ([{"path": "../../repo/.x/skills/one/SKILL.md", "enabled": False}], False),
        ([{"path": "~/../repo/.x/skills/one/SKILL.md", "enabled": False}], False),
        ([{"path": "{file}", "enabled": False}, {"name": "one", "enabled": True}], True),
        ([{"name": "one", "enabled": False}, {"path": "{file}", "enabled": True}], True),
        ([{"name": "one", "path": "{file}", "enabled": False}], True),
        ([{"enabled": False}], True),
        ([{"name": "one"}], True),
        ([{"name": 5, "enabled": False}, "one", 5], True),
        ([{"path": "\0", "enabled": False}], True),
    ],
)
def test_the_last_entry_for_a_skill_decides(entries: list[Any], on: bool, tmp_path: Path) -> None:
    """By name or by the path of its SKILL.md, relative to the settings file."""
    file = skill(tmp_path / "repo/.x/skills", "one")
    (tmp_path / "linked").symlink_to(file.parent)
    text = json.dumps(entries).replace("{file}", str(file)).replace("{folder}", str(file.parent))
    write(tmp_path / "home/.x/x.json", f'{{"skills": {text.replace("{linked}", f"{tmp_path}/linked/SKILL.md")}}}')
    files = {"user": {"path": "~/.x/x.json"}}
    found = catalog(tmp_path, ENTRIES, settings_files=files)
    assert states(found) == {"one": "active" if on else "disabled"}


def test_many_entries_take_no_long_time(tmp_path: Path) -> None:
    for number in range(50):
        skill(tmp_path / "repo/.x/skills", f"s{number}")
    entries = [{"name": f"s{number % 60}", "enabled": False} for number in range(9_000)]
    write(tmp_path / "home/.x/x.json", json.dumps({"skills": entries}))
    start = time.monotonic()
    found = catalog(tmp_path, ENTRIES, settings_files={"user": {"path": "~/.x/x.json"}})
    assert set(states(found).values()) == {"disabled"}
    assert time.monotonic() - start < 1


# ── the catalog as a whole ───────────────────────────────────────────────────────────────────────────────────────────

BUDGET = {"limit": 400, "degrade": "level", "unit": "bytes", "bundled": {"own": 200}}


def shown(found: Catalog) -> int:
    return sum(len(entry.description) for entry in found.skills if entry.state == "active")


def test_a_setting_hides_the_catalog_from_the_model(tmp_path: Path) -> None:
    """The skills stay for the user, and the reason names the file. The highest file counts."""
    skill(tmp_path / "repo/.x/skills", "one")
    setting = {"key": "catalog", "form": "catalog"}
    write(tmp_path / "home/.x/x.toml", "catalog = false\n")
    (entry,) = catalog(tmp_path, setting).skills
    assert (str(entry.state), str(tmp_path / "home/.x/x.toml") in (entry.reason or "")) == ("user-only", True)
    assert states(catalog(tmp_path, setting, args=("-c", "catalog=true"))) == {"one": "active"}
    assert states(catalog(tmp_path, setting, args=("-c", "catalog=0"))) == {"one": "user-only"}


@pytest.mark.parametrize(
    ("text", "most", "least"),
    [
        ("", 200, 150),
        ("limit = 300", 150, 50),
        ("window = 3000", 150, 50),
        ("window = 3000\nlimit = 400", 200, 150),
        ("bundled = false", 400, 300),
        ("limit = true", 200, 150),
        ('limit = "x"', 200, 150),
        ("limit = -5", 0, 0),
    ],
)
def test_settings_change_the_budget(text: str, most: int, least: int, tmp_path: Path) -> None:
    """A number, or a part of one; the first setting that has a value counts; the client's own skills may be off."""
    skill(tmp_path / "repo/.x/skills", "one", "x" * 1000)
    write(tmp_path / "home/.x/x.toml", f"{text}\n")
    settings = (
        {"key": "limit", "form": "budget"},
        {"key": "window", "form": "budget", "part": 0.1},
        {"key": "bundled", "form": "bundled"},
    )
    assert least <= shown(catalog(tmp_path, *settings, budget=BUDGET)) <= most


def test_a_table_of_folders_counts_in_the_budget(tmp_path: Path) -> None:
    """Paths begin with a number of the table; a plugin with one skill has the folder of its market there."""
    for number in range(4):
        skill(tmp_path / "repo/.x/skills", f"s{number}", "x" * 500)

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
    for name in ("a/one", "b/one", "b/two"):
        skill(tmp_path / "home/.x/plugins/m" / name.split("/")[0] / "skills", name.split("/")[1], "x" * 500)
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


def test_a_switch_turns_all_plugins_off(tmp_path: Path) -> None:
    for name in ("a", "b"):
        skill(tmp_path / f"home/.x/plugins/{name}/skills", f"of-{name}")
    rules = {"folders": ["~/.x/plugins/*"], "id": "{plugin}", "setting": "plugins", "switch": "features.plugins"}
    keys: dict[str, Any] = {
        "roots": [{"plugins": "p", "scope": "plugin"}],
        "plugins": {"p": {**rules, "prefix": False}},
    }
    write(tmp_path / "home/.x/x.toml", "[features]\nplugins = false\n[plugins]\na = true\n")
    assert states(catalog(tmp_path, **keys)) == {"of-a": "rejected", "of-b": "rejected"}
    assert set(states(catalog(tmp_path, args=("-c", "features.plugins=true"), **keys)).values()) == {"active"}


def test_a_settings_file_that_never_ends_is_a_finding(tmp_path: Path) -> None:
    skill(tmp_path / "repo/.x/skills", "one")
    (tmp_path / "home/.x").mkdir(parents=True)
    os.mkfifo(tmp_path / "home/.x/x.toml")
    found = catalog(tmp_path, TRUST, ENTRIES, root_markers="markers")
    assert [item.code for item in found.findings if item.severity == "warning"] == ["config-invalid"]


@pytest.mark.parametrize(
    ("user", "arguments", "running"),
    [
        ("model = 5", (), False),
        ("model = 5", ("-c", 'model="x"'), True),
        ('model = "x"', ("-c", "model=5"), False),
        ("markers = 5", (), False),
        ("[other]\nmodel = 5", (), True),
    ],
)
def test_what_the_files_say_together_may_be_checked(
    user: str, arguments: tuple[str, ...], running: bool, tmp_path: Path
) -> None:
    """A value of a wrong type counts only if no higher file replaces it."""
    skill(tmp_path / "repo/.x/skills", "one")
    write(tmp_path / "home/.x/x.toml", f"{user}\n")
    files = {name: {**FILES[name], "wrong_type": "stops-merged"} for name in ("arguments", "user")}
    found = catalog(
        tmp_path, args=arguments, settings_files=files, settings_types={"model": "text"}, root_markers="markers"
    )
    assert bool(states(found)) is running
    assert any(item.code == "config-invalid" for item in found.findings) is not running


def test_a_skill_that_its_author_hides_may_also_be_off(tmp_path: Path) -> None:
    """Then it is off, as the client lists it; in a plugin that is off it is not there at all."""
    file = skill(tmp_path / "repo/.x/skills", "one")
    file.write_text("---\nname: one\ndescription: d\nhide: true\n---\n")
    flag = {"when": {"hide": "true"}, "state": "user-only", "reason": "hidden"}
    off = {"key": "off", "form": "names"}
    assert states(catalog(tmp_path, off, flags=[flag])) == {"one": "user-only"}
    write(tmp_path / "home/.x/x.toml", 'off = ["one"]\nplugins.p = false\n')
    assert states(catalog(tmp_path, off, flags=[flag])) == {"one": "disabled"}
    (tmp_path / "home/.x/plugins/p/skills").mkdir(parents=True)
    (tmp_path / "repo/.x/skills/one").rename(tmp_path / "home/.x/plugins/p/skills/one")
    rules = {"folders": ["~/.x/plugins/*"], "id": "{plugin}", "setting": "plugins", "prefix": False}
    keys: dict[str, Any] = {"roots": [{"plugins": "p", "scope": "plugin"}], "plugins": {"p": rules}}
    assert states(catalog(tmp_path, flags=[flag], **keys)) == {"one": "rejected"}
