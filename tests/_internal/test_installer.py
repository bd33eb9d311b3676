"""A missing extra is named with a command that works where Prowess is installed, and needs no package index."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import Distribution
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.installer import install_command

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "ENV/bin/python -m pip install"
CLONE = {"url": "file://ENV/my%20prowess", "dir_info": {}}
EDITABLE = {"url": "file://ENV/prowess", "dir_info": {"editable": True}}
COMMIT = {"url": "https://example.org/p.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
WHEEL = {"url": "https://example.org/p-1-py3-none-any.whl", "archive_info": {}}
PIPX = {"pipx_metadata.json": json.dumps({"main_package": {"package_or_url": "/src/prowess[report, mcp]"}})}
UV_TOOL = {"uv-receipt.toml": '[tool]\nrequirements = [{ name = "prowess", extras = ["report"], directory = "/" }]\n'}
METADATA = """\
Metadata-Version: 2.4
Name: prowess
Version: 1
Requires-Dist: pyyaml>=6
Requires-Dist: sqlalchemy<3,>=2; extra == 'store'
Requires-Dist: psycopg[binary]<4; extra == 'store'
Requires-Dist: jinja2; extra == 'storefront'
"""


def command(top: Path, origin: Any, installer: str, records: dict[str, str]) -> str:
    """Return the command for an environment with these records, which is called ENV in it."""
    info = top / "prowess-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "INSTALLER").write_text(installer)
    for folder in ("my prowess", "prowess", "it's/\u202e"):
        (top / folder).mkdir(parents=True)
    if origin is not None:
        text = origin if isinstance(origin, str) else json.dumps(origin).replace("ENV", str(top))
        (info / "direct_url.json").write_text(text)
    for name, text in records.items():
        (top / name).write_text(text)
    return install_command("store", prefix=str(top), installed=Distribution.at(info)).replace(str(top), "ENV")


@pytest.mark.parametrize(
    ("origin", "installer", "records", "expected"),
    [
        pytest.param(CLONE, "pip\n", {}, f"{PYTHON} 'ENV/my prowess[store]'", id="clone"),
        pytest.param(EDITABLE, "pip\n", {}, f"{PYTHON} --editable 'ENV/prowess[store]'", id="editable clone"),
        pytest.param(
            COMMIT, "pip\n", {}, f"{PYTHON} 'prowess[store] @ git+https://example.org/p.git@abc123'", id="commit"
        ),
        pytest.param(
            WHEEL, "pip\n", {}, f"{PYTHON} 'prowess[store] @ https://example.org/p-1-py3-none-any.whl'", id="wheel"
        ),
        pytest.param(
            CLONE, "uv", {}, "uv pip install --python ENV/bin/python 'ENV/my prowess[store]'", id="uv without pip"
        ),
        pytest.param(
            CLONE, "pip", PIPX, "pipx install --force 'ENV/my prowess[mcp,report,store]'", id="pipx keeps extras"
        ),
        pytest.param(CLONE, "uv", UV_TOOL, "uv tool install 'ENV/my prowess[report,store]'", id="uv tool keeps them"),
        pytest.param(
            None, "pip", {}, f"{PYTHON} 'sqlalchemy<3,>=2' 'psycopg[binary]<4'", id="packages if the origin is unknown"
        ),
        pytest.param(
            {"url": "file:///gone", "dir_info": {}},
            "pip",
            {},
            f"{PYTHON} 'sqlalchemy<3,>=2' 'psycopg[binary]<4'",
            id="packages if the clone is gone",
        ),
        pytest.param(
            {"url": "file://ENV/it's/\u202e", "dir_info": {}},
            "pip",
            {},
            f"{PYTHON} 'ENV/it'\\''s/\\u202e[store]'",
            id="hidden characters",
        ),
    ],
)
def test_the_command_is_of_the_program_that_installed_prowess(
    origin: Any, installer: str, records: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert command(tmp_path, origin, installer, records) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        '{"url": 1}',
        '{"url": null, "vcs_info": 3}',
        '{"main_package": [], "dir_info": 1}',
        "[" * 9999,
    ],
)
def test_a_broken_record_is_an_unknown_origin(text: str, tmp_path: Path) -> None:
    records = {"pipx_metadata.json": text}
    assert command(tmp_path, text, "pip", records) == f"{PYTHON} 'sqlalchemy<3,>=2' 'psycopg[binary]<4'"


@pytest.mark.parametrize("origin", [None, CLONE, EDITABLE, COMMIT, WHEEL, {}, "?"])
@pytest.mark.parametrize("records", [{}, PIPX, UV_TOOL])
def test_no_command_installs_prowess_by_its_name(origin: Any, records: dict[str, str], tmp_path: Path) -> None:
    """The name is free on the indexes, so anybody could publish something else under it."""
    words = shlex.split(command(tmp_path, origin, "pip", records))
    assert not [word for word in words if word.startswith("prowess") and " @ " not in word]
