"""The files that `prowess index` writes are what servers and other tools need, and replace only what it wrote."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from prowess.errors import InstallError
from prowess.install import Store
from prowess.install.lock import read_tree
from prowess.install.sources.site import index_skills
from support.sources import fetch
from support.web_server import SCHEMA, static_server


def skill(folder: Path, description: str = "Does it.", **files: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\nBody.\n")
    for name, text in files.items():
        (folder / "scripts").mkdir(exist_ok=True)
        (folder / "scripts" / name).write_text(text)
        (folder / "scripts" / name).chmod(0o755)
    return str(folder)


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [
        skill(tmp_path / "skills/web", run="run"),
        skill(tmp_path / "skills/pdf", "Reads ünïcode."),
    ]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_web_server_offers_what_was_written(folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path / "site"))
    with static_server(tmp_path / "site") as server, Store(str(tmp_path / "store")).open() as opened:
        fetched = fetch(server.url, opened)
        assert [(found.name, read_tree(found.folder)) for found in fetched.skills] == [
            ("pdf", read_tree(folders[1])),
            ("web", read_tree(folders[0])),
        ]


def test_the_index_has_the_fields_of_the_specification(folders: list[str], tmp_path: Path) -> None:
    written = index_skills(folders, str(tmp_path))
    folder = tmp_path / ".well-known/agent-skills"
    data = content(folder)
    index = json.loads(data["index.json"])
    assert index["$schema"] == SCHEMA
    assert [(entry["name"], entry["type"], entry["url"], entry["description"]) for entry in index["skills"]] == [
        ("pdf", "skill-md", "pdf/SKILL.md", "Reads ünïcode."),
        ("web", "archive", "web.tar.gz", "Does it."),
    ]
    for entry, item in zip(index["skills"], written, strict=True):
        assert entry["digest"] == item.digest == f"sha256:{hashlib.sha256(data[entry['url']]).hexdigest()}"
        assert item.size == len(data[item.path])
    assert {*data} == {"index.json", "pdf/SKILL.md", "web.tar.gz"}
    umask = os.umask(0)
    os.umask(umask)
    assert folder.stat().st_mode & 0o777 == 0o777 & ~umask


def test_the_same_skills_give_the_same_bytes(folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path / "one"))
    for folder in folders:
        os.utime(f"{folder}/SKILL.md", (1, 1))
        os.chmod(f"{folder}/SKILL.md", 0o600)
    index_skills(reversed(folders), str(tmp_path / "two"))
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_skill_that_is_gone_is_removed_and_other_files_of_the_site_stay(folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "site/.well-known").mkdir(parents=True)
    (tmp_path / "site/.well-known/security.txt").write_text("other")
    (tmp_path / "site/index.html").write_text("page")
    index_skills(folders, str(tmp_path / "site"))
    index_skills(folders[1:], str(tmp_path / "site"))
    assert {*content(tmp_path / "site")} == {
        ".well-known/agent-skills/index.json",
        ".well-known/agent-skills/pdf/SKILL.md",
        ".well-known/security.txt",
        "index.html",
    }


@pytest.mark.parametrize("other", ["notes.txt", "pdf/notes.txt", "link"])
def test_files_of_others_are_never_removed(other: str, folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path))
    path = tmp_path / ".well-known/agent-skills" / other
    path.symlink_to("/etc") if other == "link" else path.write_text("mine")
    before = content(tmp_path)
    with pytest.raises(InstallError, match=f"has `{other}`, which `prowess index` did not write"):
        index_skills(folders[:1], str(tmp_path))
    assert content(tmp_path) == before
    assert os.path.lexists(path)


def test_a_folder_that_is_a_link_is_not_replaced(folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".well-known").mkdir()
    (tmp_path / ".well-known/agent-skills").symlink_to(tmp_path / "real")
    with pytest.raises(InstallError, match="is not a folder"):
        index_skills(folders, str(tmp_path))
    assert not content(tmp_path / "real")


def test_nothing_changes_if_a_skill_cannot_be_offered(folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path))
    before = content(tmp_path / ".well-known")
    bad = Path(skill(tmp_path / "more/bad"))
    (bad / "link").symlink_to("SKILL.md")
    cases = [
        ([str(bad)], "`link` is a link, which an archive cannot contain"),
        ([skill(tmp_path / "other/pdf"), folders[1]], "two skills have the name `pdf`"),
        ([skill(tmp_path / "more/Not_portable")], "has no name that an index can have"),
        ([skill(tmp_path / "more/long", "x" * 1025)], "has no description that an index can have"),
        ([str(tmp_path / "missing")], "has no name that an index can have"),
    ]
    for wrong, message in cases:
        with pytest.raises(InstallError, match=message):
            index_skills([*folders[:1], *wrong], str(tmp_path))
    assert content(tmp_path / ".well-known") == before
    assert [path.name for path in (tmp_path / ".well-known").iterdir()] == ["agent-skills"]


def test_what_a_killed_process_left_is_removed(folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path))
    shutil.copytree(tmp_path / ".well-known/agent-skills", tmp_path / ".well-known/.prowess-index-killed")
    index_skills(folders, str(tmp_path))
    assert [path.name for path in (tmp_path / ".well-known").iterdir()] == ["agent-skills"]
