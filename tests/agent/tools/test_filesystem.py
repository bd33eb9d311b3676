"""A model can list, read, search and write in one folder, and nowhere else."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.errors import ConfigError
from support.tool_calls import failure_message, make_tool_context, tools_by_name

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="not on Windows yet")

SECRET = "the user's secret"
OUTSIDE = "is outside the folder that this tool may use; give a path relative to that folder, without `..`"
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "`path` is missing; read_file takes `path`, `offset`, `limit`"),
        ({"path": None}, "`path` is missing; read_file takes `path`, `offset`, `limit`"),
        ({"file": "a"}, "unknown argument `file`; read_file takes `path`, `offset`, `limit`"),
        ({"self": "a"}, "unknown argument `self`; read_file takes `path`, `offset`, `limit`"),
        ({"path": 1}, "`path` must be a string, not int"),
        ({"path": ["a"]}, "`path` must be a string, not list"),
        ({"path": "a", "offset": "0"}, "`offset` must be an integer, not str"),
        ({"path": "a", "offset": True}, "`offset` must be an integer, not bool"),
        ({"path": "a", "offset": float("nan")}, "`offset` must be an integer, not float"),
        ({"path": "a\0b"}, "`path` contains a NUL character; leave it out"),
        ({"path": "a\ud800"}, "`path` is not valid Unicode; remove the lone surrogate"),
        ({"path": ""}, "the path is empty; give one like `docs/notes.md`"),
        ({"path": "a" * 10_000}, "the path is 10,000 characters long; give one like `docs/notes.md`"),
        ({"path": "a" * 4000}, f"`{'a' * 199}…` is too long; give a shorter path"),
        ({"path": "notes.md", "offset": -1}, None),
        ({"path": "notes.md", "limit": 0}, None),
    ],
)
def test_invalid_arguments_are_a_failed_tool_call(given: dict[str, Any], message: str | None, folder: Path) -> None:
    top = "`offset` must be 0 or more and `limit` 1 or more; leave them out to read from the start"
    assert failure_message(tools_of(folder)["read_file"], **given) == (message or top)


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret.txt",
        "docs/../../secret.txt",
        "docs/../notes.md",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "{}/../secret.txt",
    ],
)
def test_no_path_leads_out_of_the_folder(path: str, folder: Path) -> None:
    """With any of the tools."""
    path = path.format(folder)
    for name, tool in writing(folder).items():
        more = {"write_file": {"content": "x"}, "edit_file": {"old": "a", "new": "b"}, "search_files": {"pattern": "*"}}
        with pytest.raises(RefusedError) as caught:
            tool.call(path=path, **more.get(name, {}))
        assert str(caught.value) == f"`{path}` {OUTSIDE}"
    assert (folder.parent / "secret.txt").read_text() == SECRET


def test_an_absolute_path_can_begin_with_the_folder(folder: Path) -> None:
    """A model that knows the folder may write paths so."""
    assert tools_of(folder)["read_file"].call(path=f"{folder}/notes.md") == "# Notes\n"
    assert failure_message(tools_of(folder)["read_file"], path=f"{folder}-other/notes.md").endswith(OUTSIDE)


def test_links_are_not_followed(folder: Path) -> None:
    """Neither out of the folder nor inside it, and in no part of a path."""
    (folder / "out.md").symlink_to(folder.parent / "secret.txt")
    (folder / "in.md").symlink_to("notes.md")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    tools = writing(folder)
    for path, link in (("out.md", "out.md"), ("in.md", "in.md"), ("up/secret.txt", "up"), ("loop/a/b", "loop")):
        assert failure_message(tools["read_file"], path=path) == f"`{link}` {LINK}"
        assert failure_message(tools["edit_file"], path=path, old="a", new="b") == f"`{link}` {LINK}"
    assert failure_message(tools["list_directory"], path="up") == f"`up` {LINK}"
    assert failure_message(tools["write_file"], path="up/new.md", content="x") == f"`up` {LINK}"
    message = failure_message(tools["write_file"], path="out.md", content="x")
    assert message == "`out.md` is a link; choose another name"
    assert (folder.parent / "secret.txt").read_text() == SECRET
    assert not (folder.parent / "new.md").exists()
    assert "up (a link)" in tools["list_directory"].call()
    assert tools["search_files"].call(pattern="secret*") == "no match for `secret*`"


def test_a_folder_that_became_a_link_is_refused(folder: Path) -> None:
    """Also one of its parents."""
    (folder / "docs/deep/x.md").write_text("x")
    tools = tools_of(folder, root_path="docs/deep")["read_file"]
    assert tools.call(path="x.md") == "x"
    (folder / "docs").rename(folder / "old")
    (folder / "docs").symlink_to("old")
    assert LINK in failure_message(tools, path="x.md")


def test_a_folder_that_keeps_changing_into_a_link_never_leads_out(folder: Path) -> None:
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside/secret.md").write_text(SECRET)
    (folder / "swap").mkdir()
    (folder / "swap/secret.md").write_text("harmless")
    (folder / "link").symlink_to("../outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("swap", "kept"), ("link", "swap"), ("swap", "link"), ("kept", "swap")):
                os.rename(folder / one, folder / other)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        tool, until, read = tools_of(folder)["read_file"], time.monotonic() + 0.5, 0
        while time.monotonic() < until:
            with suppress(ToolFailedError):
                assert tool.call(path="swap/secret.md") == "harmless"
                read += 1
    finally:
        stop.set()
        thread.join()
    assert read


def test_fifos_sockets_and_devices_are_not_opened(folder: Path) -> None:
    """Opening one could block or have effects."""
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)
        listening.bind("socket")
        os.chdir(here)
    tools = writing(folder)
    begun = time.monotonic()
    assert failure_message(tools["read_file"], path="fifo") == "`fifo` is a FIFO; only regular files can be opened"
    assert failure_message(tools["read_file"], path="socket").startswith("`socket` is a socket")
    assert failure_message(tools["write_file"], path="fifo", content="x").startswith(
        "`fifo` is a FIFO; choose another name"
    )
    assert (
        failure_message(tools["list_directory"], path="fifo") == "`fifo` is a FIFO, not a folder; see `list_directory`"
    )
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize("root", ["..", "/etc", "missing", "notes.md", "a\0b", "../other"])
def test_the_policy_limits_the_root_path(root: str, folder: Path) -> None:
    """It must also be an existing folder."""
    (folder.parent / "other").mkdir()
    with pytest.raises(ConfigError, match="`root_path`"):
        tools_of(folder, root_path=root)


@pytest.mark.parametrize("skill", [None, "docs"])
def test_without_roots_tools_are_limited_to_the_role_s_folder(skill: str | None, folder: Path) -> None:
    """Those of skills and the role's own; the role can name `/` as a root."""
    with pytest.raises(ConfigError, match="outside"):
        tools_of(folder, root_path="..", around={"roots": (), "skill": skill and str(folder / skill)})
    assert "secret.txt" in tools_of(folder, root_path="..", around={"roots": ("/",)})["list_directory"].call()


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_listed_with_sizes(folder: Path) -> None:
    """Control characters in names are escaped."""
    (folder / "bad\x1b[2J\n\u202e.md").write_text("")
    (folder / os.fsdecode(b"\xff.md")).write_text("")
    assert tools_of(folder)["list_directory"].call() == (
        "bad\\x1b[2J\\x0a\\u202e.md (0 bytes)\ndocs/\nnotes.md (8 bytes)\n\\xff.md (0 bytes)"
    )
    (folder / "empty").mkdir()
    assert tools_of(folder)["list_directory"].call(path="empty") == "the folder is empty"


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


def test_a_limit_smaller_than_a_character_still_reads_something(folder: Path) -> None:
    (folder / "a.md").write_text("🎉🎉")
    tool = tools_of(folder)["read_file"]
    assert tool.call(path="a.md", limit=1) == "\ufffd\n[bytes 0 to 1 of 8; read on with offset=1]"


def test_a_binary_file_is_not_read(folder: Path) -> None:
    """Text with invalid UTF-8 is."""
    (folder / "a.bin").write_bytes(b"\x7fELF\0\0")
    (folder / "latin.md").write_bytes(b"caf\xe9\r\n")
    (folder / "empty.md").write_bytes(b"")
    tool = tools_of(folder)["read_file"]
    assert failure_message(tool, path="a.bin") == "`a.bin` is a binary file (6 bytes), which cannot be read"
    assert tool.call(path="latin.md") == "caf\ufffd\r\n"
    assert tool.call(path="empty.md") == "[the file is empty]"
    assert failure_message(tool, path="docs") == "`docs` is a folder; list it with `list_directory`"
    assert failure_message(tool, path=".") == "`.` is the folder itself; give the path of a file in it"
    assert failure_message(tool, path="no.md") == "`no.md` does not exist; `list_directory` shows what does"
    assert (
        failure_message(tool, path="notes.md/x") == "`notes.md` is a regular file, not a folder; see `list_directory`"
    )


def test_only_allowed_extensions_are_opened(folder: Path) -> None:
    """With or without a dot in the configuration, in upper or lower case."""
    (folder / "A.MD").write_text("a")
    tools = writing(folder, allowed_extensions=(".md", "TXT"))
    assert tools["read_file"].call(path="A.MD") == "a"
    message = "`docs/deep/test_api.py` does not have an allowed extension; allowed are .md, .txt"
    assert failure_message(tools["read_file"], path="docs/deep/test_api.py") == message
    assert "allowed extension" in failure_message(tools["write_file"], path="x.sh", content="")
    assert tools["write_file"].call(path="new/x.txt", content="é") == "created `new/x.txt`: 2 bytes"


# ── searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "path", "tools"),
    [
        ("*.md", ".", "docs/api.md\nnotes.md"),
        ("*.md", "docs", "docs/api.md"),
        ("docs/*.md", ".", "docs/api.md"),
        ("**/*.py", ".", "docs/deep/test_api.py"),
        ("docs/**", ".", "docs/\ndocs/api.md\ndocs/deep/\ndocs/deep/test_api.py"),
        ("**/deep/**/*.py", ".", "docs/deep/test_api.py"),
        ("[dn]o*s", ".", "docs/"),
        ("[z-a", ".", "no match for `[z-a`"),
        ("../*", ".", "no match for `../*`"),
        ("/etc/*", ".", "no match for `/etc/*`"),
    ],
)
def test_files_are_found_by_pattern(pattern: str, path: str, tools: str, folder: Path) -> None:
    """Except in `.git`."""
    (folder / ".git").mkdir()
    (folder / ".git/x.md").touch()
    assert tools_of(folder)["search_files"].call(pattern=pattern, path=path) == tools


def test_no_pattern_takes_long(folder: Path) -> None:
    deep = folder
    for _ in range(12):
        deep = deep / ("a" * 200)
        deep.mkdir()
        (deep / ("a" * 250)).touch()
    tool, begun = tools_of(folder)["search_files"], time.monotonic()
    assert tool.call(pattern="*a" * 100 + "b").startswith("no match")
    assert tool.call(pattern="**/" * 100 + "b").startswith("no match")
    assert time.monotonic() - begun < 2
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


def test_some_files_are_never_written(folder: Path) -> None:
    """Too large ones, `.git`, folders, and write-protected files."""
    (folder / "fixed.md").write_text("fixed")
    (folder / "fixed.md").chmod(0o444)
    write = writing(folder, max_bytes=10)["write_file"]
    assert failure_message(write, path="a.md", content="é" * 6) == "12 bytes are too many: the limit is 10; write less"
    assert "write-protected" in failure_message(write, path="fixed.md", content="x")
    assert "is a folder; choose another name" in failure_message(write, path="docs", content="x")
    for path in (".git/hooks/pre-commit", "docs/.GIT/config", ".git"):
        assert "is read-only, as everything of the kind `git`" in failure_message(write, path=path, content="x")
    assert "is too long" in failure_message(write, path="b" * 300, content="x")
    assert not (folder / ".git").exists()


def test_an_edit_replaces_text_that_occurs_once(folder: Path) -> None:
    (folder / "a.md").write_bytes(b"one\r\ntwo two\r\n")
    edit = writing(folder, max_bytes=20)["edit_file"]
    assert edit.call(path="a.md", old="one\r\n", new="1\r\n") == "edited `a.md`: 12 bytes"
    assert (folder / "a.md").read_bytes() == b"1\r\ntwo two\r\n"
    assert (
        failure_message(edit, path="a.md", old="two", new="")
        == "`old` occurs 2 times in `a.md`; give more of the text around it"
    )
    assert failure_message(edit, path="a.md", old="x", new="") == "`old` does not occur in `a.md`; read the file again"
    assert failure_message(edit, path="a.md", old="", new="x").startswith("`old` is empty")
    assert failure_message(edit, path="a.md", old="1", new="x" * 50).startswith("61 bytes are too many")
    (folder / "b.md").write_text("x" * 30)
    assert failure_message(edit, path="b.md", old="y", new="").startswith("`b.md` has 30 bytes; the limit is 20")
