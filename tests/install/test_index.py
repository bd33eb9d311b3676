"""A web server offers what `prowess index` writes; `cases/cli/index.md` has what it replaces and refuses."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import Store
from prowess.install.sources.site import index_skills
from prowess.lock import read_tree
from support.files import write_file
from support.sources import fetch
from support.web_server import SCHEMA, static_server

if TYPE_CHECKING:
    from pathlib import Path


def skill(folder: Path, description: str = "Does it.", **files: str) -> str:
    write_file(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: {description}\n---\nBody.\n")
    for name, text in files.items():
        write_file(folder / "scripts" / name, text)
        (folder / "scripts" / name).chmod(0o755)
    return str(folder)


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    return [
        skill(tmp_path / "skills/web", run="run"),
        skill(tmp_path / "skills/pdf", "Reads ünïcode."),
    ]


def test_a_web_server_offers_what_was_written(folders: list[str], tmp_path: Path) -> None:
    index_skills(folders, str(tmp_path / "site"))
    with static_server(tmp_path / "site") as server, Store(str(tmp_path / "store")).open() as opened:
        fetched = fetch(server.url, opened)
        assert [(found.name, read_tree(found.folder)) for found in fetched.skills] == [
            ("pdf", read_tree(folders[1])),
            ("web", read_tree(folders[0])),
        ]


def test_the_index_says_what_was_written(folders: list[str], tmp_path: Path) -> None:
    written = index_skills(reversed(folders), str(tmp_path))
    folder = tmp_path / ".well-known/agent-skills"
    index = json.loads((folder / "index.json").read_bytes())
    assert index["$schema"] == SCHEMA
    for entry, item in zip(index["skills"], written, strict=True):
        data = (folder / item.path).read_bytes()
        assert (entry["name"], entry["url"], entry["digest"]) == (item.name, item.path, item.digest)
        assert (item.digest, item.size) == (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data))


def test_a_folder_without_a_skill_is_refused(folders: list[str], tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="has no name that an index can have"):
        index_skills([*folders, str(tmp_path / "missing")], str(tmp_path / "site"))
    assert [*(tmp_path / "site/.well-known").iterdir()] == []
