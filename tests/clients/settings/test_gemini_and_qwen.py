"""What Gemini CLI and Qwen Code, which came from it, do each in their own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients import states

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = {"gemini-cli": ".gemini", "qwen-code": ".qwen"}


def state(top: Path, host: str, folders: dict[str, str], settings: Any = None) -> str:
    """Return whether the project is trusted: Gemini CLI shows its skill then, and Qwen Code counts its settings."""
    folder = FOLDERS[host]
    files = {
        f"a/b/{folder}/skills/s/": None,
        f"a/b/{folder}/settings.json": {"skills": {"disabled": ["s"]} if host == "qwen-code" else {}},
        f"home/{folder}/trustedFolders.json": folders,
        f"home/{folder}/settings.json": settings or {},
    }
    found = states(top, host, files, cwd="a/b")["s"]
    return {"rejected": "trusted", "active": "trusted" if host == "gemini-cli" else "untrusted"}.get(found, found)


ON = {"security": {"folderTrust": {"enabled": True}}}
OFF = {"security": {"folderTrust": {"enabled": False}}}


@pytest.mark.parametrize(
    ("folders", "longest", "deepest"),
    [
        ({"TOP/a": "DO_NOT_TRUST"}, "untrusted", "untrusted"),
        ({"TOP/a": "DO_NOT_TRUST", "TOP/a/b": "TRUST_FOLDER"}, "trusted", "trusted"),
        ({"TOP/a": "TRUST_FOLDER", "TOP/a/b": "DO_NOT_TRUST"}, "untrusted", "untrusted"),
        ({"TOP/a/b/c": "DO_NOT_TRUST", "TOP/a": "TRUST_FOLDER"}, "trusted", "trusted"),
        ({"TOP/a/bb": "DO_NOT_TRUST", "TOP/a": "TRUST_FOLDER"}, "trusted", "trusted"),
        ({"TOP/a/b/c": "TRUST_PARENT", "TOP/a/b": "DO_NOT_TRUST"}, "trusted", "untrusted"),
        ({"TOP/link": "DO_NOT_TRUST", "TOP/a": "TRUST_FOLDER"}, "untrusted", "untrusted"),
        ({"TOP/a/./b/": "DO_NOT_TRUST", "TOP/a": "TRUST_FOLDER"}, "untrusted", "untrusted"),
        ({"TOP/a\0": "DO_NOT_TRUST", "TOP/a": "MAYBE", "TOP": "TRUST_FOLDER"}, "trusted", "trusted"),
    ],
)
def test_the_longest_or_the_deepest_folder_counts(
    folders: dict[str, str], longest: str, deepest: str, tmp_path: Path
) -> None:
    """With links resolved, and of two that are equally deep the untrusted one."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    assert state(tmp_path, "gemini-cli", folders, ON) == longest
    assert state(tmp_path, "qwen-code", folders, ON) == deepest


@pytest.mark.parametrize(
    ("host", "folders", "settings", "expected"),
    [
        ("gemini-cli", {"TOP/a": "DO_NOT_TRUST"}, OFF, "trusted"),
        ("gemini-cli", {"TOP/a": "DO_NOT_TRUST"}, ON, "untrusted"),
        ("gemini-cli", {"TOP/a": "DO_NOT_TRUST"}, {}, "untrusted"),
        ("gemini-cli", {}, ON, "trusted"),
        ("qwen-code", {"TOP/a": "DO_NOT_TRUST"}, OFF, "trusted"),
        ("qwen-code", {"TOP/a": "DO_NOT_TRUST"}, {}, "trusted"),
        ("qwen-code", {}, ON, "untrusted"),
        ("qwen-code", {"TOP/a": "TRUST_FOLDER"}, ON, "trusted"),
    ],
)
def test_the_switch_counts_before_the_list(
    host: str, folders: dict[str, str], settings: Any, expected: str, tmp_path: Path
) -> None:
    """Gemini CLI has it on and shows what no list has; Qwen Code has it off, and if on trusts only what a list has."""
    assert state(tmp_path, host, folders, settings) == expected


@pytest.mark.parametrize(
    ("host", "skills", "expected"),
    [
        ("gemini-cli", {"disabled": ["Ab"]}, {"ab": "disabled", "cd": "active"}),
        ("gemini-cli", {"disabled": "ab"}, {"ab": "disabled", "cd": "active"}),
        ("gemini-cli", {"disabled": [" ab"]}, {"ab": "active", "cd": "active"}),
        ("gemini-cli", {"enabled": 0}, {}),
        ("gemini-cli", {"enabled": "false"}, {}),
        ("gemini-cli", {"enabled": "no"}, {"ab": "active", "cd": "active"}),
        ("qwen-code", {"disabled": [" Ab "]}, {"ab": "rejected", "cd": "active"}),
        ("qwen-code", {"disabled": "ab"}, {"ab": "active", "cd": "active"}),
        ("qwen-code", {"defaultDisabled": ["ab", "cd"], "enabled": [" AB"]}, {"ab": "active", "cd": "rejected"}),
        ("qwen-code", {"disabled": ["ab"], "enabled": ["ab"]}, {"ab": "rejected", "cd": "active"}),
        ("qwen-code", {"disabledLevels": ["user", 5, "all"]}, {"ab": "rejected", "cd": "rejected"}),
    ],
)
def test_names_are_compared_without_case(host: str, skills: Any, expected: dict[str, str], tmp_path: Path) -> None:
    """Gemini CLI takes them as they are, and its switch as JavaScript does; Qwen Code removes white space."""
    folder = f"home/{FOLDERS[host]}"
    files = {f"{folder}/skills/ab/": None, f"{folder}/skills/cd/": None, f"{folder}/settings.json": {"skills": skills}}
    assert states(tmp_path, host, files) == expected


@pytest.mark.parametrize(("host", "read"), [("gemini-cli", True), ("qwen-code", False)])
def test_a_variable_may_have_a_default(host: str, read: bool, tmp_path: Path) -> None:
    """For Qwen Code it is a name like any other."""
    folder = f"home/{FOLDERS[host]}"
    files = {f"{folder}/skills/ab/": None, f"{folder}/settings.json": {"skills": {"disabled": ["${X:-ab}"]}}}
    assert (states(tmp_path, host, files)["ab"] != "active") is read
