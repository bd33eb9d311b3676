"""What Codex alone does with its settings and arguments, and with TOML 1.1."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from prowess.clients.codex import as_toml_1_0
from prowess.hosts import load_host
from support import strategies  # noqa: F401 - its profile makes every run the same
from support.clients import active, see, states
from support.growth import assert_linear

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog import Catalog

USER = "home/.codex/config.toml"
ONE: dict[str, Any] = {"repo/.codex/skills/one/": None}
SHOWN = "skills.include_instructions"


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ((), "active"),
        (("-c", f"{SHOWN}=false"), "user-only"),
        ((f"-c{SHOWN}=false",), "user-only"),
        (("--config", "skills={include_instructions=false}"), "user-only"),
        (("-c", f"{SHOWN}=false", "-c", "skills={other=1}"), "active"),
        (("-c", f"{SHOWN}=false", "-c", "skills.other=1"), "user-only"),
        (("-c", " skills . include_instructions = false "), "user-only"),
        (("-c", SHOWN), None),
        (("-c", "=false"), None),
        (("-c",), None),
        (("-c", f"{'a.' * 100}b=1"), None),
        (("-c", 'model="x"'), "active"),
        (("-c", "model=x"), "active"),
        (("-c", "model=5"), None),
        (("--enable", "x", "-c", "features.x=5"), "active"),
        (("-c", 'projects={"a" = {trust_level = "trusted",},}'), "active"),
    ],
)
def test_an_argument_counts_as_a_settings_file(arguments: tuple[str, ...], state: str | None, tmp_path: Path) -> None:
    """The last one for a key counts, arguments with a template last; an invalid one stops Codex."""
    assert states(tmp_path, "codex", ONE, *arguments) == ({} if state is None else {"one": state})


def test_an_argument_wins_over_the_files(tmp_path: Path) -> None:
    """The skills stay for the user, and the reason names the file."""
    (entry,) = see(tmp_path, "codex", ONE | {USER: f"{SHOWN} = false\n"}).skills
    assert (str(entry.state), str(tmp_path / USER) in (entry.reason or "")) == ("user-only", True)
    assert states(tmp_path, "codex", {}, "-c", f"{SHOWN}=true") == {"one": "active"}


@pytest.mark.parametrize("value", ["{}b=1", "skills.x={}"])
@pytest.mark.parametrize("part", ["a.", "["])
def test_a_long_argument_takes_linear_time(value: str, part: str, tmp_path: Path) -> None:
    assert_linear(lambda text: states(tmp_path, "codex", ONE, "-c", value.format(text)), part * 100_000)


# ── trust and projects ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("projects", "read"),
    [
        ({}, ""),
        ({"TOP/repo": "trusted"}, "top sub"),
        ({"TOP/repo": "untrusted"}, ""),
        ({"TOP/repo": "maybe"}, ""),
        ({"TOP/repo/sub": "trusted"}, "sub"),
        ({"TOP/repo": "trusted", "TOP/repo/sub": "untrusted"}, "top"),
        ({"TOP/repo/": "trusted"}, ""),
        ({"TOP/repo/..": "trusted"}, ""),
    ],
)
def test_trust_belongs_to_the_folder_of_a_file_then_to_the_project(
    projects: dict[str, str], read: str, tmp_path: Path
) -> None:
    """Paths are exact; folders above the project do not count. The files say here which Codex's own skills are off."""
    files: dict[str, Any] = {"repo/.git/HEAD": "ref: refs/heads/main\n", **ONE, "repo/sub/x": ""}
    for folder in ("repo", "repo/sub"):
        value = {"repo": "skills.bundled.enabled", "repo/sub": SHOWN}[folder]
        files[f"{folder}/.codex/config.toml"] = f"{value} = false\n"
    lines = [f'[projects.{json.dumps(path)}]\ntrust_level = "{word}"\n' for path, word in projects.items()]
    found = see(tmp_path, "codex", {**files, USER: "".join(lines)}, cwd="repo/sub")
    if "maybe" in projects.values():
        assert found.skills == ()  # a wrong word stops Codex
        return
    counted = {"top": not found.settings.bundled, "sub": bool(found.settings.catalog_off)}
    assert " ".join(name for name in counted if counted[name]) == read


def test_a_linked_working_tree_has_the_trust_of_the_main_one(tmp_path: Path) -> None:
    files = {
        "main/.git/worktrees/repo/x": "", "repo/.git": "gitdir: TOP/main/.git/worktrees/repo\n",
        "repo/.codex/config.toml": f"{SHOWN} = false\n", USER: 'projects."TOP/main".trust_level = "trusted"\n',
    }  # fmt: skip
    assert states(tmp_path, "codex", ONE | files) == {"one": "user-only"}


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: \0", "gitdir: /", "nothing", "gitdir: worktrees/x"])
def test_a_hostile_git_file_gives_no_trust(text: str, tmp_path: Path) -> None:
    trust = 'projects."TOP/main".trust_level = "trusted"\nprojects."/".trust_level = "trusted"\n'
    files = {"repo/.git": text, "repo/.codex/config.toml": f"{SHOWN} = false\n", USER: trust}
    assert states(tmp_path, "codex", ONE | files) == {"one": "active"}


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
        ("[5]", []),
        ("5", []),
    ],
)
def test_settings_say_what_makes_the_root_of_a_project(markers: str | None, names: list[str], tmp_path: Path) -> None:
    """Without one of the names, only the working directory counts; another value stops Codex."""
    files: dict[str, Any] = {"repo/.git/HEAD": "x", "repo/conf/x": "", "repo/sub/package.json": ""}
    for name, folder in (("top", "repo"), ("sub", "repo/sub"), ("deep", "repo/sub/deep")):
        files[f"{folder}/.codex/skills/{name}/"] = None
    user = {} if markers is None else {USER: f"project_root_markers = {markers}\n"}
    assert sorted(states(tmp_path, "codex", {**files, **user}, cwd="repo/sub/deep")) == names


def test_a_project_cannot_say_what_makes_its_root(tmp_path: Path) -> None:
    files = {
        "repo/.git/HEAD": "x", "repo/sub/.codex/config.toml": "project_root_markers = []\n",
        USER: 'projects."TOP/repo".trust_level = "trusted"\n',
    }  # fmt: skip
    assert states(tmp_path, "codex", ONE | files, cwd="repo/sub") == {"one": "active"}


@pytest.mark.parametrize(
    ("user", "arguments", "running"),
    [
        ("model = 5", (), False),
        ("model = 5", ("-c", 'model="x"'), True),
        ('model = "x"', ("-c", "model=5"), False),
        ("[other]\nmodel = 5", (), True),
    ],
)
def test_what_the_files_say_together_is_checked(
    user: str, arguments: tuple[str, ...], running: bool, tmp_path: Path
) -> None:
    """A value of a wrong type counts only if no higher file replaces it."""
    found = see(tmp_path, "codex", ONE | {USER: user}, *arguments)
    assert bool(found.skills) is running
    assert any(item.code == "config-invalid" for item in found.findings) is not running


def test_a_settings_file_that_never_ends_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "home/.codex").mkdir(parents=True)
    os.mkfifo(tmp_path / USER)
    found = see(tmp_path, "codex", ONE)
    assert [item.code for item in found.findings if item.severity == "warning"] == ["config-invalid"]


# ── skills ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("entries", "on"),
    [
        ('{name = "one", enabled = false}', False),
        ('{name = " one ", enabled = false}', False),
        ('{name = "One", enabled = false}', True),
        ('{name = "o*", enabled = false}', True),
        ('{name = "one", enabled = false}, {name = "one", enabled = true}', True),
        ('{path = "TOP/repo/.codex/skills/one/SKILL.md", enabled = false}', False),
        ('{path = "TOP/repo/.codex/skills/one", enabled = false}', True),
        ('{path = "TOP/linked/SKILL.md", enabled = false}', False),
        ('{path = "../../repo/.codex/skills/one/SKILL.md", enabled = false}', False),
        ('{path = "~/../repo/.codex/skills/one/SKILL.md", enabled = false}', False),
        ('{path = "TOP/linked/SKILL.md", enabled = false}, {name = "one", enabled = true}', True),
        ('{name = "one", enabled = false}, {path = "TOP/linked/SKILL.md", enabled = true}', True),
        ('{name = "one", path = "TOP/linked/SKILL.md", enabled = false}', True),
        ("{enabled = false}", True),
        ('{path = "\\u0000", enabled = false}', True),
        ('{name = "one", enabled = 5}', None),
        ('{name = 5, enabled = false}, {name = "one", enabled = false}', None),
    ],
)
def test_the_last_entry_for_a_skill_decides(entries: str, on: bool | None, tmp_path: Path) -> None:
    """By name or by the path of its SKILL.md, relative to the settings file; one of a wrong type stops Codex."""
    (tmp_path / "linked").symlink_to(tmp_path / "repo/.codex/skills/one")
    found = states(tmp_path, "codex", ONE | {USER: f"skills.config = [{entries}]\n"})
    assert found == ({} if on is None else {"one": "active" if on else "disabled"})


def test_many_entries_take_linear_time(tmp_path: Path) -> None:
    see(tmp_path, "codex", {f"repo/.codex/skills/s{number}/": None for number in range(20)})

    def found(count: int) -> set[str]:
        entries = "".join(f'[[skills.config]]\nname = "s{n % 20}"\nenabled = false\n' for n in range(count))
        return set(states(tmp_path, "codex", {USER: entries}).values())

    assert found(8000) == {"disabled"}
    assert_linear(found, 8000)


def shown(found: Catalog) -> int:
    return sum(len(entry.description) for entry in found.skills if entry.state == "active")


@pytest.mark.parametrize(
    ("text", "most", "least"),
    [
        ("", 80, 60),
        ("skills.max_context_tokens = 300", 50, 40),
        ("model_context_window = 15000", 50, 40),
        ("model_context_window = 15000\nskills.max_context_tokens = 400", 80, 60),
        ("skills.bundled.enabled = false", 400, 300),
    ],
)
def test_settings_change_the_budget(text: str, most: int, least: int, tmp_path: Path) -> None:
    """A number, or a part of one; the first setting that has a value counts; the client's own skills may be off."""
    budget = load_host("codex").budget.with_changes(limit=400, unit="bytes")
    host = load_host("codex").with_changes(budget=budget, template=type(load_host("codex").template)())
    files = {"repo/.codex/skills/one/": "x" * 1000, USER: f"{text}\n"}
    assert least <= shown(see(tmp_path, host, files)) <= most


def test_a_switch_turns_all_plugins_off(tmp_path: Path) -> None:
    files = {
        f"home/.codex/plugins/cache/m/{name}/1/{path}": value
        for name in "ab"
        for path, value in ((".codex-plugin/plugin.json", {"name": name}), (f"skills/of-{name}/", None))
    }
    enabled = "".join(f'[plugins."{name}@m"]\nenabled = true\n' for name in "ab")
    assert active(tmp_path, "codex", {**files, USER: enabled}) == ["a:of-a", "b:of-b"]
    off = {USER: f"features.plugins = false\n{enabled}"}
    assert active(tmp_path, "codex", off) == []
    assert active(tmp_path, "codex", off, "--enable", "plugins") == ["a:of-a", "b:of-b"]
    assert active(tmp_path, "codex", {USER: enabled}, "--disable", "plugins") == []


# ── TOML 1.1 ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = {a = 1,\n b = 2,\n}", {"a": 1, "b": 2}),
        ("x = {a = 1, # one } comment\n b = [1,\n 2,\n], }", {"a": 1, "b": [1, 2]}),
        ("x = [{a = 1,},\n {a = 2,\r\n}]", [{"a": 1}, {"a": 2}]),
        ("x = {\n}", {}),
        ('x = "\\x41\\e\\\\x41"', "A\x1b\\x41"),
        ('x = """\\x41\n{a,\n}"""', "A\n{a,\n}"),
        ("x = '\\x41 {a,}'", "\\x41 {a,}"),
        ('x = {"a # }" = "{,}",}', {"a # }": "{,}"}),
        ("x = ['07:32', \"07:32\"] # 07:32", ["07:32", "07:32"]),
    ],
)
def test_newer_forms_are_read(text: str, value: object) -> None:
    """Inline tables over several lines, and escapes; texts and comments that look like them stay."""
    assert tomllib.loads(as_toml_1_0(text)) == {"x": value}


def test_times_may_lack_seconds() -> None:
    read = tomllib.loads(as_toml_1_0("x = 2026-11-22T07:32\ny = 07:32\nz = 07:32:10\n"))
    assert [str(value) for value in read.values()] == ["2026-11-22 07:32:00", "07:32:00", "07:32:10"]


@pytest.mark.parametrize(
    "text", ["x = {,}", "x = {a = 1,,}", "x = {a = 1", 'x = "\\q"', 'x = "a', "x = [1}", 'x = """']
)
def test_what_is_invalid_stays_invalid(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(as_toml_1_0(text))


@given(st.text(alphabet="a=\"'\\{}[],#\n x1:.e", max_size=40))
def test_valid_toml_keeps_its_meaning(text: str) -> None:
    """Whatever TOML 1.0 accepts is the same afterwards."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        as_toml_1_0(text)
        return
    assert tomllib.loads(as_toml_1_0(text)) == value


@pytest.mark.parametrize(
    "text",
    ['"""a\\"' * 15_000, "'''a'" * 20_000, '"' * 100_000, "{" * 100_000, "{a=1,\n" * 15_000, '"' + '\\"' * 200_000],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    assert_linear(as_toml_1_0, text)
