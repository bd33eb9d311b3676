"""The folder that is open to a model is listed, read, searched and written; nothing else is, whatever it says."""

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
OUTSIDE = "is outside of the folder that is open to this tool; give a path relative to that folder, without `..`"
LINK = (
    "is a link, and links are not followed, wherever they lead; "
    "name the file itself, if it lies in the folder that is open to this tool"
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


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_what_is_writable_can_be_written(folder: Path) -> None:
    """Tools that write are there, and ask, where the configuration says so."""
    assert list(tools_of(folder)) == ["list_directory", "read_file", "search_files"]
    asked = {name: tool.ask for name, tool in writing(folder, require_confirmation=True).items()}
    assert asked == {
        **dict.fromkeys(("list_directory", "read_file", "search_files"), False),
        "write_file": True,
        "edit_file": True,
    }


def test_arguments_are_described(folder: Path) -> None:
    """As JSON Schema."""
    assert tools_of(folder)["read_file"].parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "of the file, relative to the folder that is open to this tool"},
            "offset": {"type": "integer", "description": "the first byte to read", "default": 0},
            "limit": {"type": "integer", "description": "bytes at most; 199,000 if left out"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`path` is missing; read_file takes `path`, `offset`, `limit`"),
        ({"path": None}, "`path` is missing; read_file takes `path`, `offset`, `limit`"),
        ({"file": "a"}, "there is no argument `file`; read_file takes `path`, `offset`, `limit`"),
        ({"self": "a"}, "there is no argument `self`; read_file takes `path`, `offset`, `limit`"),
        ({"path": 1}, "`path` must be text, not int"),
        ({"path": ["a"]}, "`path` must be text, not list"),
        ({"path": "a", "offset": "0"}, "`offset` must be a whole number, not str"),
        ({"path": "a", "offset": True}, "`offset` must be a whole number, not bool"),
        ({"path": "a", "offset": float("nan")}, "`offset` must be a whole number, not float"),
        ({"path": "a\0b"}, "`path` holds a NUL character; leave it out"),
        ({"path": "a\ud800"}, "`path` holds half a character; remove the lone surrogate"),
        ({"path": ""}, "the path is empty; give one like `docs/notes.md`"),
        ({"path": "a" * 10_000}, "the path is 10,000 characters long; give one like `docs/notes.md`"),
        ({"path": "a" * 4000}, f"`{'a' * 199}…` is too long for a name; give a shorter one"),
        ({"path": "notes.md", "offset": -1}, None),
        ({"path": "notes.md", "limit": 0}, None),
    ],
)
def test_arguments_that_do_not_fit_are_told(given: dict[str, Any], said: str | None, folder: Path) -> None:
    """In words, and as nothing but a failed tool."""
    top = "`offset` must be 0 or more and `limit` 1 or more; leave them out to read from the top"
    assert failure_message(tools_of(folder)["read_file"], **given) == (said or top)


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
def test_no_path_leads_out(path: str, folder: Path) -> None:
    """For any of the tools."""
    path = path.format(folder)
    for name, tool in writing(folder).items():
        more = {"write_file": {"content": "x"}, "edit_file": {"old": "a", "new": "b"}, "search_files": {"pattern": "*"}}
        with pytest.raises(RefusedError) as caught:
            tool.call(path=path, **more.get(name, {}))
        assert str(caught.value) == f"`{path}` {OUTSIDE}"
    assert (folder.parent / "secret.txt").read_text() == SECRET


def test_an_absolute_path_may_begin_with_the_folder(folder: Path) -> None:
    """A model that was told where it is writes so."""
    assert tools_of(folder)["read_file"].call(path=f"{folder}/notes.md") == "# Notes\n"
    assert failure_message(tools_of(folder)["read_file"], path=f"{folder}-other/notes.md").endswith(OUTSIDE)


def test_links_are_not_followed(folder: Path) -> None:
    """Neither out, nor to another place inside, nor on the way."""
    (folder / "out.md").symlink_to(folder.parent / "secret.txt")
    (folder / "in.md").symlink_to("notes.md")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    found = writing(folder)
    for path, link in (("out.md", "out.md"), ("in.md", "in.md"), ("up/secret.txt", "up"), ("loop/a/b", "loop")):
        assert failure_message(found["read_file"], path=path) == f"`{link}` {LINK}"
        assert failure_message(found["edit_file"], path=path, old="a", new="b") == f"`{link}` {LINK}"
    assert failure_message(found["list_directory"], path="up") == f"`up` {LINK}"
    assert failure_message(found["write_file"], path="up/new.md", content="x") == f"`up` {LINK}"
    said = failure_message(found["write_file"], path="out.md", content="x")
    assert said == "`out.md` is a link, which is not replaced; choose another name"
    assert (folder.parent / "secret.txt").read_text() == SECRET
    assert not (folder.parent / "new.md").exists()
    assert "up (a link)" in found["list_directory"].call()
    assert found["search_files"].call(pattern="secret*") == "nothing is named like `secret*`"


def test_the_folder_itself_may_not_become_a_link(folder: Path) -> None:
    """Also not one of those above it."""
    (folder / "docs/deep/x.md").write_text("x")
    found = tools_of(folder, root_path="docs/deep")["read_file"]
    assert found.call(path="x.md") == "x"
    (folder / "docs").rename(folder / "old")
    (folder / "docs").symlink_to("old")
    assert LINK in failure_message(found, path="x.md")


def test_what_is_changed_meanwhile_leads_nowhere(folder: Path) -> None:
    """A folder that is a link every other moment never lets out."""
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
    """They would block, or do something."""
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)
        listening.bind("socket")
        os.chdir(here)
    found = writing(folder)
    begun = time.monotonic()
    assert failure_message(found["read_file"], path="fifo") == "`fifo` is a FIFO; only regular files can be opened"
    assert failure_message(found["read_file"], path="socket").startswith("`socket` is a device or socket")
    assert failure_message(found["write_file"], path="fifo", content="x").startswith(
        "`fifo` is a FIFO, which is not replaced"
    )
    assert (
        failure_message(found["list_directory"], path="fifo") == "`fifo` is a FIFO, not a folder; see `list_directory`"
    )
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize("root", ["..", "/etc", "missing", "notes.md", "a\0b", "../other"])
def test_a_configuration_opens_only_what_the_policy_opens(root: str, folder: Path) -> None:
    """And only a folder that is there."""
    (folder.parent / "other").mkdir()
    with pytest.raises(ConfigError, match="`root_path`"):
        tools_of(folder, root_path=root)


def test_a_skill_opens_nothing_but_the_roles_folder(folder: Path) -> None:
    """Also where the policy has no roots; the role's own tools then open what they name."""
    with pytest.raises(ConfigError, match="outside"):
        tools_of(folder, root_path="..", around={"roots": (), "skill": str(folder / "docs")})
    assert "secret.txt" in tools_of(folder, root_path="..", around={"roots": ()})["list_directory"].call()


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_listed(folder: Path) -> None:
    """With sizes, and names that cannot do harm."""
    (folder / "bad\x1b[2J\n\u202e.md").write_text("")
    (folder / os.fsdecode(b"\xff.md")).write_text("")
    assert tools_of(folder)["list_directory"].call() == (
        "bad\\x1b[2J\\x0a\\u202e.md (0 bytes)\ndocs/\nnotes.md (8 bytes)\n\\xff.md (0 bytes)"
    )
    (folder / "empty").mkdir()
    assert tools_of(folder)["list_directory"].call(path="empty") == "the folder is empty"


def test_a_listing_has_an_end(folder: Path) -> None:
    """And says how much more there is."""
    for number in range(1203):
        (folder / f"docs/{number:05}").touch()
    lines = tools_of(folder)["list_directory"].call(path="docs").split("\n")
    assert (len(lines), lines[0]) == (501, "00000 (0 bytes)")
    assert lines[-1] == "[and 705 more; find them with `search_files`]"
    found = tools_of(folder)["search_files"].call(pattern="0*").split("\n")
    assert found[-1] == "[these are the first 500; search for less, or in one of the folders]"


def test_a_long_file_is_read_on(folder: Path) -> None:
    """Where one part ends, the next begins, and no character is cut."""
    text = "".join(f"{number:04} åβ漢🎉\n" for number in range(500))
    (folder / "long.md").write_text(text, newline="")
    tool = tools_of(folder, max_bytes=1001)["read_file"]
    whole, offset = "", 0
    for _ in range(30):
        part = tool.call(path="long.md", offset=offset)
        said, mark, rest = part.rpartition("\n[bytes ")
        if not mark:
            whole += part
            break
        whole, offset = whole + said, int(rest.split("offset=")[1].rstrip("]"))
    assert whole == text
    size = len(text.encode())
    assert tool.call(path="long.md", limit=4).endswith(f"\n[bytes 0 to 4 of {size:,}; read on with offset=4]")
    assert tool.call(path="long.md", limit=10**30, offset=10**30) == f"[the end: the file has {size:,} bytes]"


def test_a_character_larger_than_the_limit_does_not_stop_reading(folder: Path) -> None:
    """Something is read each time."""
    (folder / "a.md").write_text("🎉🎉")
    tool = tools_of(folder)["read_file"]
    assert tool.call(path="a.md", limit=1) == "\ufffd\n[bytes 0 to 1 of 8; read on with offset=1]"


def test_what_is_no_text_is_said_so(folder: Path) -> None:
    """Bytes that are not UTF-8 are read all the same."""
    (folder / "a.bin").write_bytes(b"\x7fELF\0\0")
    (folder / "latin.md").write_bytes(b"caf\xe9\r\n")
    (folder / "empty.md").write_bytes(b"")
    tool = tools_of(folder)["read_file"]
    assert failure_message(tool, path="a.bin") == "`a.bin` is no text file (6 bytes); it cannot be read as one"
    assert tool.call(path="latin.md") == "caf\ufffd\r\n"
    assert tool.call(path="empty.md") == "[the file is empty]"
    assert failure_message(tool, path="docs") == "`docs` is a folder; list it with `list_directory`"
    assert failure_message(tool, path=".") == "`.` is the folder itself; name a file in it"
    assert failure_message(tool, path="no.md") == "there is no `no.md`; `list_directory` shows what there is"
    assert failure_message(tool, path="notes.md/x") == "`notes.md` is a file, not a folder; see `list_directory`"


def test_endings_are_kept_to(folder: Path) -> None:
    """With a dot or without, whatever their case."""
    (folder / "A.MD").write_text("a")
    found = writing(folder, allowed_extensions=(".md", "TXT"))
    assert found["read_file"].call(path="A.MD") == "a"
    said = "`docs/deep/test_api.py` is of a kind that is not open to this tool; files that are end in .md, .txt"
    assert failure_message(found["read_file"], path="docs/deep/test_api.py") == said
    assert "not open" in failure_message(found["write_file"], path="x.sh", content="")
    assert found["write_file"].call(path="new/x.txt", content="é") == "made `new/x.txt`: 2 bytes"


# ── searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.md", ".", "docs/api.md\nnotes.md"),
        ("*.md", "docs", "docs/api.md"),
        ("docs/*.md", ".", "docs/api.md"),
        ("**/*.py", ".", "docs/deep/test_api.py"),
        ("docs/**", ".", "docs/\ndocs/api.md\ndocs/deep/\ndocs/deep/test_api.py"),
        ("**/deep/**/*.py", ".", "docs/deep/test_api.py"),
        ("[dn]o*s", ".", "docs/"),
        ("[z-a", ".", "nothing is named like `[z-a`"),
        ("../*", ".", "nothing is named like `../*`"),
        ("/etc/*", ".", "nothing is named like `/etc/*`"),
    ],
)
def test_names_are_found(pattern: str, path: str, found: str, folder: Path) -> None:
    """`.git` is left out."""
    (folder / ".git").mkdir()
    (folder / ".git/x.md").touch()
    assert tools_of(folder)["search_files"].call(pattern=pattern, path=path) == found


def test_no_pattern_takes_long(folder: Path) -> None:
    """However it is written, and whatever the names."""
    deep = folder
    for _ in range(12):
        deep = deep / ("a" * 200)
        deep.mkdir()
        (deep / ("a" * 250)).touch()
    tool, begun = tools_of(folder)["search_files"], time.monotonic()
    assert tool.call(pattern="*a" * 100 + "b").startswith("nothing")
    assert tool.call(pattern="**/" * 100 + "b").startswith("nothing")
    assert time.monotonic() - begun < 2
    assert "cannot be a pattern" in failure_message(tool, pattern="a" * 501)
    assert "cannot be a pattern" in failure_message(tool, pattern="")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_replaced_in_one_step(folder: Path) -> None:
    """It keeps its permissions, who reads the old one reads all of it, and nothing is left beside it."""
    (folder / "run.sh").write_text("old")
    (folder / "run.sh").chmod(0o750)
    found = writing(folder)
    with open(folder / "run.sh", encoding="utf-8") as old:
        assert found["write_file"].call(path="run.sh", content="new\r\n") == "wrote `run.sh`: 5 bytes"
        assert old.read() == "old"
    assert (folder / "run.sh").read_bytes() == b"new\r\n"
    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) == 0o750
    assert sorted(path.name for path in folder.iterdir()) == ["docs", "notes.md", "run.sh"]


def test_what_may_not_be_written_is_not(folder: Path) -> None:
    """Too much, git's own, folders, and what is write-protected."""
    (folder / "fixed.md").write_text("fixed")
    (folder / "fixed.md").chmod(0o444)
    write = writing(folder, max_bytes=10)["write_file"]
    assert (
        failure_message(write, path="a.md", content="é" * 6)
        == "12 bytes are too many: at most 10 are written; write less"
    )
    assert "write-protected" in failure_message(write, path="fixed.md", content="x")
    assert "is a folder, which is not replaced" in failure_message(write, path="docs", content="x")
    for path in (".git/hooks/pre-commit", "docs/.GIT/config", ".git"):
        assert "is git's own" in failure_message(write, path=path, content="x")
    assert "is too long for a name" in failure_message(write, path="b" * 300, content="x")
    assert not (folder / ".git").exists()


def test_a_piece_is_replaced(folder: Path) -> None:
    """Where it is there exactly once."""
    (folder / "a.md").write_bytes(b"one\r\ntwo two\r\n")
    edit = writing(folder, max_bytes=20)["edit_file"]
    assert edit.call(path="a.md", old="one\r\n", new="1\r\n") == "edited `a.md`: 12 bytes"
    assert (folder / "a.md").read_bytes() == b"1\r\ntwo two\r\n"
    assert (
        failure_message(edit, path="a.md", old="two", new="")
        == "`old` is in `a.md` 2 times; give more of what is around it"
    )
    assert failure_message(edit, path="a.md", old="x", new="") == "`old` is in `a.md` not at all; read the file again"
    assert failure_message(edit, path="a.md", old="", new="x").startswith("`old` is empty")
    assert failure_message(edit, path="a.md", old="1", new="x" * 50).startswith("61 bytes are too many")
    (folder / "b.md").write_text("x" * 30)
    assert failure_message(edit, path="b.md", old="y", new="").startswith(
        "`b.md` has 30 bytes, and at most 20 are edited"
    )
