"""Rules of hosts that a table of one host alone shows: names, descriptions, flags, trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from support.clients import states as client_states
from support.hosts import host_from_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prowess.catalog import Catalog


def catalog(top: Path, files: Mapping[str, str | bytes], **table: Any) -> Catalog:
    for name, content in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    host = host_from_table("x", {"title": "X", "roots": [{"path": ".x", "scope": "project"}], **table})
    (top / "home").mkdir(exist_ok=True)
    return discover(top, host=host, home=top / "home", env={}, cache=False)


def states(found: Catalog) -> dict[str, str]:
    return {entry.folder: str(entry.state) for entry in found.skills}


def front(lines: str) -> str:
    return f"---\n{lines}\n---\nBody.\n"


GOOD = "name: a\ndescription: d"


def test_names_may_be_compared_in_lower_case_only(tmp_path: Path) -> None:
    """Not in their Unicode form, as with `folded`."""
    files = {
        f".x/{folder}/SKILL.md": front(f"name: {name}\ndescription: d")
        for folder, name in (("1", "A"), ("2", "a"), ("3", "é"), ("4", "e\u0301"))
    }
    assert states(catalog(tmp_path, files, compare="lower")) == {
        "1": "active", "2": "shadowed", "3": "active", "4": "active",
    }  # fmt: skip


def test_a_collision_in_one_root_may_be_undefined(tmp_path: Path) -> None:
    """One between two roots still has a winner."""
    roots = [{"path": ".x", "scope": "project"}, {"path": ".y", "scope": "project"}]
    files = {f"{folder}/SKILL.md": front(GOOD) for folder in (".x/1", ".x/2", ".y/3")}
    found = catalog(tmp_path, files, roots=roots, collision_in_root="undefined")
    reasons = {entry.folder: "undefined" in (entry.reason or "") for entry in found.skills}
    assert reasons == {"1": True, "2": True, "3": False}


@pytest.mark.parametrize(
    ("wanted", "matching"),
    [
        pytest.param("lax-true", ["true", "yes", "1", "'on'", "T"], id="lax-true"),
        pytest.param("not-lax-bool", ["2", "maybe", "[true]", "null"], id="not-lax-bool"),
        pytest.param("is:2 maybe", ["maybe"], id="is"),
        pytest.param("other:maybe", ["true", "yes", "1", "'on'", "T", "2", "[true]", "null", "no"], id="other"),
        pytest.param("not:text number bool", ["[true]", "null"], id="not"),
        pytest.param("absent", ["null"], id="absent"),
    ],
)
def test_a_flag_matches_by_these_words(wanted: str, matching: list[str], tmp_path: Path) -> None:
    values = ["true", "yes", "1", "'on'", "T", "2", "maybe", "[true]", "null", "no"]
    files = {
        f".x/{number}/SKILL.md": front(f"name: s{number}\ndescription: d\nf: {value}")
        for number, value in enumerate(values)
    }
    flag = {"when": {"f": wanted}, "state": "user-only", "reason": "f"}
    found = catalog(tmp_path, files, flags=[flag])
    hidden = [values[int(entry.folder)] for entry in found.skills if entry.state == "user-only"]
    assert hidden == matching


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param("policy:\n  allow: true\n", False, id="true"),
        pytest.param("policy:\n  allow: maybe\n", True, id="not-true"),
        pytest.param("policy: x\n", True, id="not-map"),
        pytest.param("policy:\n  other: 1\n", True, id="other-key"),
        pytest.param("- a\n", True, id="list"),
        pytest.param("x: [\n", True, id="broken"),
        pytest.param("", False, id="empty"),
    ],
)
def test_an_invalid_file_beside_a_skill_may_hide_it(text: str, hidden: bool, tmp_path: Path) -> None:
    flag = {"file": "agents/x.yaml", "state": "user-only", "reason": "x"}
    words = [{"policy.allow": "not-true"}, {"policy": "not:map null"}, {"policy": "keys:allow"}, {"": "invalid"}]
    files = {".x/a/SKILL.md": front(GOOD), ".x/a/agents/x.yaml": text}
    (entry,) = catalog(tmp_path, files, flags=[{**flag, "when": when} for when in words]).skills
    assert (entry.state == "user-only") is hidden


def test_a_value_of_the_wrong_type_may_void_its_key_alone(tmp_path: Path) -> None:
    table = {
        "roots": [{"setting": "dirs", "scope": "extra"}, {"setting": "more", "scope": "extra"}],
        "settings_files": {"user": {"path": "~/x.toml", "wrong_type": "key"}},
        "settings_types": {"dirs": "texts"},
    }
    files = {"a/one/SKILL.md": front("name: one\ndescription: d"), "b/two/SKILL.md": front("name: two\ndescription: d")}
    found = catalog(tmp_path, {**files, "home/x.toml": 'dirs = ["a", 5]\nmore = ["b", 5]'}, **table)
    assert states(found) == {"two": "active"}
    assert [item.code for item in found.findings] == ["config-invalid"]


def test_one_root_may_be_stricter(tmp_path: Path) -> None:
    """With a name that is not the folder's."""
    roots = [{"path": ".x", "scope": "project", "name_is_folder": True}]
    files = {
        ".x/good/SKILL.md": front("name: good\ndescription: d"),
        ".x/other/SKILL.md": front("name: another\ndescription: d"),
        ".x/field/SKILL.md": front("name: field\ndescription: d\nversion: 1"),
    }
    found = states(catalog(tmp_path, files, roots=roots))
    assert found == {"good": "active", "other": "rejected", "field": "active"}


def test_a_tag_says_what_a_quoted_value_is(tmp_path: Path) -> None:
    """`!!bool "true"` is true, and `!!int "3"` is a number; a tag that does not fit changes nothing."""
    values = {"1": '!!bool "true"', "2": '"true"', "3": '!!bool "x"', "4": '!!int "3"'}
    files = {
        f".x/{key}/SKILL.md": front(f"name: {key}a\ndescription: d\noff: {value}") for key, value in values.items()
    }
    flags = [{"when": {"off": "not:bool"}, "state": "rejected", "reason": "no"}]
    flags.append({"when": {"off": "true"}, "state": "user-only", "reason": "off"})
    expected = {"1": "user-only", "2": "rejected", "3": "rejected", "4": "rejected"}
    assert states(catalog(tmp_path, files, flags=flags)) == expected


def test_a_list_of_texts_has_no_other_items(tmp_path: Path) -> None:
    """Quoted items are texts, whatever is in them."""
    values = {"1": "[a, b]", "2": "[a, 1]", "3": '["1", "true"]', "4": "[a, null]", "5": "\n  - 1", "6": '\n  - "1"'}
    files = {f".x/{key}/SKILL.md": front(f"name: {key}a\ndescription: d\nt: {value}") for key, value in values.items()}
    flags = [{"when": {"t": "not-texts"}, "state": "rejected", "reason": "no"}]
    found = states(catalog(tmp_path, files, flags=flags))
    assert {key for key, state in found.items() if state == "active"} == {"1", "3", "6"}


def test_a_command_may_be_called_like_a_skill_file(tmp_path: Path) -> None:
    """It is read as the other files of its folder: without front matter too."""
    roots = [{"path": ".x", "scope": "project", "files": r".*\.md", "depth": 0}]
    reading = {"loose_as_body": ["frontmatter-missing"], "rejects": ["frontmatter-missing"]}
    rules = {"on": {"missing": "body"}}
    (entry,) = catalog(
        tmp_path, {".x/SKILL.md": "Do it.\n"}, roots=roots, reading=reading, description_rules=rules
    ).skills
    assert (entry.name, str(entry.state)) == ("SKILL", "active")


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
    assert client_states(tmp_path, one, {"repo/.x/skills/one/SKILL.md": text}) == {"one": "user-only"}
    off = {"home/.x/x.toml": 'off = ["one"]\nplugins.p = false\n'}
    assert client_states(tmp_path, one, off) == {"one": "disabled"}
    (tmp_path / "repo/.x/skills/one/SKILL.md").unlink()
    moved = {"home/.x/plugins/p/skills/one/SKILL.md": text, "home/.x/x.toml": "plugins.p = false\n"}
    assert client_states(tmp_path, one, moved) == {"one": "rejected"}
