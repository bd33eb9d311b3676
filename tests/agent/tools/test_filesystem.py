"""A model can list, read, search and write in one folder, and nowhere else."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.policy import ToolFailedError
from support.files import write_file
from support.growth import calls_at_most
from support.tool_calls import failure_message, make_tool_context, tools_by_name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not on Windows yet")

SECRET = "the user's secret"
LINK = (
    "is a link, and links are not followed; "
    "give the path of its target, if that is in the folder that this tool may use"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A role's folder, with a secret beside it."""
    top = tmp_path.resolve()
    (top / "secret.txt").write_text(SECRET)
    inside = top / "work"
    (inside / "docs/deep").mkdir(parents=True)
    (inside / "notes.md").write_text("# Notes\n")
    (inside / "docs/api.md").write_text("api\n")
    (inside / "docs/deep/test_api.py").write_text("pass\n")
    return inside


def tools_of(folder: Path, **given: Any) -> dict[str, Any]:
    return tools_by_name("filesystem", make_tool_context(folder, **given.pop("around", {})), **given)


def writing(folder: Path, **given: Any) -> dict[str, Any]:
    return tools_of(folder, read_only=False, **given)


# ── tools and arguments ───────────────────────────────────────────────────────────────────────────────────────────────


def test_writing_tools_exist_only_if_configured(folder: Path) -> None:
    """They need confirmation if the configuration requires it."""
    assert list(tools_of(folder)) == ["list_directory", "read_file", "search_files"]
    asked = {name: tool.ask for name, tool in writing(folder, require_confirmation=True).items()}
    assert asked == {
        **dict.fromkeys(("list_directory", "read_file", "search_files"), False),
        "write_file": True,
        "edit_file": True,
    }


def test_arguments_are_described_as_json_schema(folder: Path) -> None:
    assert tools_of(folder)["read_file"].parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file's path, relative to the folder that this tool may use"},
            "offset": {"type": "integer", "description": "the first byte to read", "default": 0},
            "limit": {"type": "integer", "description": "the most bytes to read; 199,000 by default"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_that_became_a_link_is_refused(folder: Path) -> None:
    """Also one of its parents."""
    (folder / "docs/deep/x.md").write_text("x")
    tools = tools_of(folder, root_path="docs/deep")["read_file"]
    assert tools.call(path="x.md") == "x"
    (folder / "docs").rename(folder / "old")
    (folder / "docs").symlink_to("old")
    assert LINK in failure_message(tools, path="x.md")


def test_a_folder_that_keeps_changing_into_a_link_never_leads_out(folder: Path) -> None:
    write_file(folder.parent / "outside/secret.md", SECRET)
    write_file(folder / "swap/secret.md", "harmless")
    (folder / "link").symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("swap", "kept"), ("link", "swap"), ("swap", "link"), ("kept", "swap")):
                os.rename(folder / one, folder / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        tool, read = tools_of(folder)["read_file"], 0
        while read < 100:
            with suppress(ToolFailedError):
                assert tool.call(path="swap/secret.md") == "harmless"
                read += 1
    finally:
        stop.set()
        thread.join()
    assert read


def test_sockets_are_not_opened_and_paths_have_a_limit(folder: Path) -> None:
    """Opening one could block or have effects."""
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)
        listening.bind("socket")
        os.chdir(here)
    read = tools_of(folder)["read_file"]
    assert failure_message(read, path="socket").startswith("`socket` is a socket")
    expected = "the path is 10,000 characters long; give one like `docs/notes.md`"
    assert failure_message(read, path="a" * 10_000) == expected
    assert failure_message(read, path="a" * 4000) == f"`{'a' * 199}…` is too long; give a shorter path"


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_long_listing_is_cut(folder: Path) -> None:
    """The last line says how many more entries there are."""
    for number in range(1203):
        (folder / f"docs/{number:05}").touch()
    lines = tools_of(folder)["list_directory"].call(path="docs").split("\n")
    assert (len(lines), lines[0]) == (501, "00000 (0 bytes)")
    assert lines[-1] == "[and 705 more; use `search_files` to find them]"
    tools = tools_of(folder)["search_files"].call(pattern="0*").split("\n")
    assert tools[-1] == "[only the first 500 matches; use a narrower pattern, or search in one of the folders]"


def test_a_long_file_is_read_in_parts(folder: Path) -> None:
    """Each part begins where the one before ended, and no character is cut."""
    text = "".join(f"{number:04} åβ漢🎉\n" for number in range(500))
    (folder / "long.md").write_text(text, newline="")
    tool = tools_of(folder, max_bytes=1001)["read_file"]
    whole, offset = "", 0
    for _ in range(30):
        part = tool.call(path="long.md", offset=offset)
        message, mark, rest = part.rpartition("\n[bytes ")
        if not mark:
            whole += part
            break
        whole, offset = whole + message, int(rest.split("offset=")[1].rstrip("]"))
    assert whole == text
    size = len(text.encode())
    assert tool.call(path="long.md", limit=4).endswith(f"\n[bytes 0 to 4 of {size:,}; read on with offset=4]")
    assert tool.call(path="long.md", limit=10**30, offset=10**30) == f"[end of file: it has {size:,} bytes]"


# ── searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_pattern_takes_long(folder: Path) -> None:
    deep = folder
    for _ in range(12):
        deep = deep / ("a" * 200)
        deep.mkdir()
        (deep / ("a" * 250)).touch()
    tool = tools_of(folder)["search_files"]
    with calls_at_most(7_000_000):
        assert tool.call(pattern="*a" * 100 + "b").startswith("no match")
        assert tool.call(pattern="**/" * 100 + "b").startswith("no match")
    assert "invalid pattern" in failure_message(tool, pattern="a" * 501)
    assert "invalid pattern" in failure_message(tool, pattern="")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_replaced_in_one_step(folder: Path) -> None:
    """Its permissions stay, a reader sees all of the old text, and no other file is left."""
    (folder / "run.sh").write_text("old")
    (folder / "run.sh").chmod(0o750)
    tools = writing(folder)
    with open(folder / "run.sh", encoding="utf-8") as old:
        assert tools["write_file"].call(path="run.sh", content="new\r\n") == "wrote `run.sh`: 5 bytes"
        assert old.read() == "old"
    assert (folder / "run.sh").read_bytes() == b"new\r\n"
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o750
    assert sorted(path.name for path in folder.iterdir()) == ["docs", "notes.md", "run.sh"]
