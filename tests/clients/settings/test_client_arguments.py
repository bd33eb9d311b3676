"""Arguments of a client that change its skills, and folders that its settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients import active, see
from support.hosts import host_from_table

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.hosts import Host

OWN = {"path": ".x/skills", "scope": "project"}
ADD = {"name": "--add", "values": "one", "effect": "roots"}
FILES: dict[str, Any] = {
    "repo/.x/skills/own/": None, "repo/near/skills/near/": None, "home/far/far/": None, "home/.x/beside/beside/": None,
}  # fmt: skip
USER, PROJECT = "home/.x/settings.json", "repo/.x/s.json"


def host(*roots: dict[str, Any], client: str = "x", **table: Any) -> Host:
    """Return a host with one project folder and a settings file of the user; a client does what it alone does."""
    files = {"user": {"path": "~/.x/settings.json"}, "project": {"path": ".x/s.json", "needs_trust": True}}
    return host_from_table(client, {"title": "X", "roots": [OWN, *roots], "settings_files": files, **table})


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ((), ["own"]),
        (("--add", "near"), ["own", "near"]),
        (("--add=near",), ["own", "near"]),
        (("--other", "--add", "near"), ["own", "near"]),
        (("--add=absent", "--add=./near/../near"), ["own", "near"]),
    ],
)
def test_an_argument_names_a_folder_below_which_a_root_is(
    words: tuple[str, ...], seen: list[str], tmp_path: Path
) -> None:
    """Relative to the working directory."""
    one = host({"argument": "--add", "path": "skills", "scope": "extra"}, arguments=[ADD])
    assert active(tmp_path, one, FILES, *words) == seen


def test_an_argument_with_many_values_ends_at_the_next_argument(tmp_path: Path) -> None:
    """As clients read `--add-dir a b -p`."""
    one = host({"argument": "--add", "scope": "extra"}, arguments=[{**ADD, "values": "many"}])
    words = ("--add", "near/skills", "TOP/home/far/../far", "-p", "near")
    assert active(tmp_path, one, FILES, *words) == ["own", "near", "far"]


def test_an_unknown_argument_is_a_finding(tmp_path: Path) -> None:
    """It says which ones matter; control characters are escaped."""
    found = see(tmp_path, host(arguments=[ADD]), FILES, "--modle\x1b[31m").findings
    (problem,) = [item for item in found if item.code == "argument-ignored"]
    assert "\x1b" not in problem.message
    assert "`--add`" in str(problem.hint)


@pytest.mark.parametrize(
    ("folder", "keys", "seen"),
    [
        ("~/far", {}, "far"),
        ("~/far", {"client": "copilot"}, ""),
        ("~/far", {"client": "opencode"}, "far"),
        ("~", {"path": "far"}, "far"),
        ("~", {"path": "far", "client": "opencode"}, ""),
        ("near/skills", {}, "near"),
        (" near/skills\n", {"strips": True}, "near"),
        ("  ", {"strips": True}, ""),
        ("beside", {"client": "pi"}, "beside"),
        ("", {}, ""),
        ("a\0b", {}, ""),
        (7, {}, ""),
    ],
)
def test_a_setting_names_folders(folder: Any, keys: dict[str, Any], seen: str, tmp_path: Path) -> None:
    """Relative to what the client takes; other values are ignored."""
    client = keys.get("client", "x")
    root = {key: value for key, value in keys.items() if key != "client"}
    one = host({"setting": "skills.dirs", "scope": "extra", **root}, client=client)
    assert active(tmp_path, one, FILES | {USER: {"skills": {"dirs": [folder]}}}) == ["own", *([seen] if seen else [])]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (" ~/far ", ["far"]),
        ("file://TOP/home/far", ["far"]),
        ("file://TOP/home/f%61r", ["far"]),
        ("file://other/far", []),
        ("", ["beside", "loose"]),
        ("~/far/loose.md", ["loose"]),
        ("~/far/loose.txt", []),
        ("~/far/\0", []),
    ],
)
def test_a_setting_of_pi_names_a_path_as_node_reads_it(written: str, seen: list[str], tmp_path: Path) -> None:
    """Also a file, and the folder of the settings file."""
    loose = "---\nname: loose\ndescription: d\n---\n"
    files = {"home/.x/loose.md": loose, "home/far/loose.md": loose, "home/far/loose.txt": loose}
    root = {"setting": "paths", "relative_to": "file", "depth": 2, "scope": "extra"}
    found = active(tmp_path, host(root, client="pi"), FILES | files | {USER: {"paths": [written]}})
    assert found in (["own", *seen], ["own", *[name for name in seen if name != "loose"]])


def test_ten_thousand_folders_are_a_finding(tmp_path: Path) -> None:
    """The first thousand count."""
    folders = [f"/absent/{number}" for number in range(10_000)]
    found = see(tmp_path, host({"setting": "dirs", "scope": "extra"}), {USER: {"dirs": folders}})
    assert [item.code for item in found.findings] == ["config-invalid"]
    assert len(found.scan_roots) == 1001


def test_two_roots_of_one_setting_have_the_folders_of_their_own_files(tmp_path: Path) -> None:
    """And their own place among the others."""
    roots = [
        {"setting": "paths", "setting_files": ["project"], "scope": "project"},
        OWN,
        {"setting": "paths", "setting_files": ["user"], "scope": "user"},
    ]
    files = FILES | {USER: {"paths": ["~/.x/beside"]}, PROJECT: {"paths": ["near/skills"]}}
    assert active(tmp_path, host(roots=roots, trust_default="trusted"), files) == ["near", "own", "beside"]


@pytest.mark.parametrize(
    ("default", "words", "seen"),
    [
        ("unknown", (), ["own"]),
        ("unknown", ("--yes",), []),
        ("unknown", ("--yes", "--no"), []),  # untrusted: the project's skills are not loaded
        ("untrusted", (), []),
        ("trusted", (), []),
    ],
)
def test_a_file_of_the_project_counts_only_with_trust(
    default: str, words: tuple[str, ...], seen: list[str], tmp_path: Path
) -> None:
    """Trust comes from an argument or the default of the client; the last argument counts."""
    arguments = [{"name": "--yes", "effect": "trusted"}, {"name": "--no", "effect": "untrusted"}]
    one = host(settings=[{"key": "off", "form": "names"}], arguments=arguments, trust_default=default)
    assert active(tmp_path, one, FILES | {PROJECT: {"off": ["own"]}}, *words) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"paths": ["~/far"]}', ["own", "far"]),
        (b'\xef\xbb\xbf{"paths": ["~/far"], "x": "\xff"}', ["own", "far"]),
        ('{"paths": ["~/far"],}', ["own"]),
        ('{"paths": ["~/far"]} // x', ["own"]),
        ('{"paths": ["~/far"], "x": NaN}', ["own"]),
    ],
)
def test_a_client_may_read_json_to_the_letter(text: str | bytes, seen: list[str], tmp_path: Path) -> None:
    """No comments, no trailing commas, no `NaN`; bytes that are not UTF-8 are replaced."""
    files = {"user": {"path": "~/.x/settings.json", "comments": False}}
    one = host({"setting": "paths", "scope": "extra"}, settings_files=files)
    assert active(tmp_path, one, FILES | {USER: text}) == seen


@pytest.mark.parametrize(
    ("keys", "seen", "codes"),
    [
        ({}, [], []),
        ({"wrong_type": "void"}, ["own"], ["config-invalid"]),
        ({"wrong_type": "stops"}, None, ["config-invalid", "host-disabled"]),
        ({"wrong_type": "key"}, [], []),
        ({"wrong_type": "void", "keys": ["off"]}, [], []),
        ({"wrong_type": "void", "keys": ["other"]}, ["own"], []),
        ({"invalid": "stops", "comments": False}, None, ["config-invalid", "host-disabled"]),
        ({"comments": False}, ["own"], ["config-invalid"]),
    ],
)
def test_a_bad_file_has_the_clients_consequence(
    keys: dict[str, Any], seen: list[str] | None, codes: list[str], tmp_path: Path
) -> None:
    """The value or the file is ignored, or the client refuses to start; keys that do not count are not checked."""
    files = {"user": {"path": "~/.x/settings.json", **keys}}
    one = host(settings_files=files, settings=[{"key": "off", "form": "names"}], settings_types={"model": "text"})
    found = see(tmp_path, one, FILES | {USER: '{"off": ["own"], "model": 5} // x'})
    assert [entry.name for entry in found.skills if entry.state == "active"] == (seen or [])
    assert sorted(item.code for item in found.findings) == codes
    assert (found.skills == ()) is (seen is None)


def test_a_variable_may_list_folders(tmp_path: Path) -> None:
    """Those of Copilot are separated by commas; white space between them may be removed."""
    one = host(roots=[{"path": "$X_DIRS", "scope": "extra", "strips": True}], client="copilot")
    found = see(tmp_path, one, FILES, env={"X_DIRS": " TOP/home/far , "})
    assert [root.path for root in found.scan_roots] == [f"{tmp_path}/home/far"]
