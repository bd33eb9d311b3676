"""Reading files of a skill: inside its folder, part by part, and without links."""

from __future__ import annotations

import os
import resource
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.errors import SkillFileError, SkillNotFoundError
from prowess.session import Session
from prowess.session._resources import DEFAULT_LIMIT, MAX_LIMIT, FileText, read_text, resource_folder
from support.growth import calls_at_most, ends
from support.skills import skill

if TYPE_CHECKING:
    from prowess.catalog._entry import Entry

SECRET = "the user's secret"
OUTSIDE = "is not inside the skill's folder"
ONLY_INSIDE = "give a path relative to the skill's folder"
NAMES = "its files are `SKILL.md`, `notes.txt`, `references/api.md`, `references/deep/more.md`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill's folder, with a secret beside it."""
    top = tmp_path.resolve()
    (top / "secret.txt").write_text(SECRET)
    inside = skill(top / "pdf").parent
    (inside / "references/deep").mkdir(parents=True)
    (inside / "references/api.md").write_text("# API\n")
    (inside / "references/deep/more.md").write_text("more\n")
    (inside / "notes.txt").write_text("notes\n")
    return inside


def refused(folder: Path, path: str, **more: int) -> tuple[str, str | None]:
    """Return the error and the hint for a path that is not read."""
    with pytest.raises(SkillFileError) as caught:
        read_text(str(folder), path, **more)
    assert SECRET not in f"{caught.value} {caught.value.hint}"
    return str(caught.value), caught.value.hint


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("notes.txt", "notes.txt"),
        ("./notes.txt", "notes.txt"),
        ("references//api.md", "references/api.md"),
        ("references/./deep/more.md", "references/deep/more.md"),
        ("notes.txt/", "notes.txt"),
        ("SKILL.md", "SKILL.md"),
    ],
)
def test_a_file_inside_the_folder_is_read(path: str, shown: str, folder: Path) -> None:
    """However its path is written; the normalized path is returned."""
    text = (folder / shown).read_text()
    found = read_text(str(folder), path)
    assert found == FileText(path=shown, text=text, offset=0, size=len(text), next_offset=None)
    assert found.as_dict() == {"path": shown, "text": text, "offset": 0, "size": len(text), "next_offset": None}


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret.txt",
        "references/../../secret.txt",
        "references/../notes.txt",
        "./../secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        ".",
        "./",
        "/notes.txt",
    ],
)
def test_a_path_to_the_outside_is_refused(path: str, folder: Path) -> None:
    """Without access to the disk, even if it leads back inside."""
    assert refused(folder, path) == (f"`{path}` {OUTSIDE}", ONLY_INSIDE)
    assert refused(folder.parent / "not there", path) == (f"`{path}` {OUTSIDE}", ONLY_INSIDE)


@pytest.mark.parametrize("path", ["", "\0", "notes.txt\0.md", "a" * 4097], ids=["empty", "nul", "nul inside", "long"])
def test_an_invalid_path_is_refused(path: str, folder: Path) -> None:
    """The hint has an example."""
    message, hint = refused(folder, path)
    assert message.endswith("` is not a valid path")
    assert len(message) < 100
    assert hint == "name a file of the skill, as in `references/api.md`"


@pytest.mark.skipif(os.sep != "/", reason="there a backslash is a slash")
@pytest.mark.parametrize(
    "path",
    [
        "..\\secret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "..%2fsecret.txt",
        "\uff0e\uff0e/secret.txt",
        "..\u2215secret.txt",
        "~/secret.txt",
        "$HOME/secret.txt",
        "file:secret.txt",
        "C:\\secret.txt",
        "...",
        "a" * 300,
        "\ud800",
        "notes.txt/more",
    ],
    ids=repr,
)
def test_nothing_in_a_path_is_decoded_or_expanded(path: str, folder: Path) -> None:
    """It names a file literally, and this file is missing."""
    assert refused(folder, path)[0].startswith("the skill has no file `")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("api.md", "did you mean `references/api.md`?"),
        ("reference/api.md", "did you mean `references/api.md` or `references/deep/more.md`?"),
        ("note.txt", "did you mean `notes.txt`?"),
        ("zzz", NAMES),
    ],
)
def test_the_hint_names_similar_files(path: str, hint: str, folder: Path) -> None:
    """Else the first files."""
    assert refused(folder, path) == (f"the skill has no file `{path}`", hint)


def test_the_hint_has_whole_names(folder: Path) -> None:
    """It is there to be typed; hidden characters are escaped, and at most eight files are named."""
    long = "references/" + "a-rather-long-name-" * 5 + ".md"
    (folder / long).touch()
    (folder / "x\x1b[2J.md").touch()
    for number in range(9):
        (folder / f"q{number}").touch()
    assert refused(folder, long[:-1]) == (
        f"the skill has no file `{long[:59]}…`",
        f"did you mean `{long}`?",
    )
    assert refused(folder, "x[2J.md")[1] == "did you mean `x\\x1b[2J.md`?"
    assert str(refused(folder, "#")[1]).endswith("`q3`, `q4`, `q5` and others")


@pytest.mark.slow
def test_long_names_are_compared_in_bounded_time(folder: Path) -> None:
    """A thousand long names of one letter took six seconds."""
    deep = folder / "SKILLS" / ("a" * 180) / ("a" * 100)
    deep.mkdir(parents=True)
    for number in range(1000):
        (deep / f"{'a' * 20}{number:04}").touch()
    with calls_at_most(30_000_000):
        assert refused(folder, "a" * 199)[0].startswith("the skill has no file `")


# ── links and other things ───────────────────────────────────────────────────────────────────────────────────────────

NOT_FOLLOWED = "is a link or behind one; links are not followed"


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("a.md", "../secret.txt", "a.md"),
        ("a.md", "/etc/passwd", "a.md"),
        ("a.md", "notes.txt", "a.md"),
        ("a.md", "gone", "a.md"),
        ("a.md", "a.md", "a.md"),
        ("up", "..", "up/secret.txt"),
        ("up", "references", "up/api.md"),
        ("references/up", "../..", "references/up/secret.txt"),
        ("root", "/", "root/etc/passwd"),
    ],
)
def test_no_link_is_followed(link: str, target: str, path: str, folder: Path) -> None:
    """Whatever its target, and at any position in the path."""
    (folder / link).symlink_to(target)
    assert refused(folder, path)[0] == f"`{path}` {NOT_FOLLOWED}"


def test_a_folder_that_became_a_link_is_not_read(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")
    with pytest.raises(SkillFileError):
        read_text(str(folder), "notes.txt")


def test_a_file_that_is_not_regular_is_refused_at_once(folder: Path) -> None:
    """A folder, a FIFO without a writer, a socket."""
    os.mkfifo(folder / "fifo")
    here = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket")
    finally:
        os.chdir(here)
    with ends():
        near = "did you mean `references/api.md` or `references/deep/more.md`?"
        assert refused(folder, "references") == ("`references` is a folder", near)
        assert refused(folder, "fifo") == ("`fifo` is not a regular file", NAMES)
        assert refused(folder, "socket") == ("`socket` is not a regular file", NAMES)


def test_a_missing_folder_is_an_error(folder: Path) -> None:
    gone = folder.parent / "gone"
    assert refused(gone, "notes.txt") == ("the skill's folder no longer exists", "go on without the skill")


def test_a_skill_without_a_folder_has_no_files() -> None:
    """For example a skill of a provider."""
    with pytest.raises(SkillFileError, match=r"^the skill has no files of its own$") as caught:
        read_text(None, "SKILL.md")
    assert caught.value.hint == "it only has its instructions"


@pytest.mark.slow
def test_no_secret_is_read_while_files_are_swapped(folder: Path) -> None:
    """A file becomes a link and a file again, and so does a folder above it."""
    done = threading.Event()
    (folder / "sub").mkdir()
    (folder / "sub/secret.txt").write_text("harmless")
    (folder / "link").symlink_to("..")

    def swap() -> None:
        while not done.is_set():
            os.replace(folder / "sub", folder / "moved")
            os.symlink("..", folder / "sub")
            os.unlink(folder / "sub")
            os.replace(folder / "moved", folder / "sub")
            os.symlink("../secret.txt", folder / "notes.new")
            os.replace(folder / "notes.new", folder / "notes.txt")
            (folder / "notes.new").write_text("harmless")
            os.replace(folder / "notes.new", folder / "notes.txt")

    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(1500):
            for path in ("sub/secret.txt", "notes.txt"):
                try:
                    seen.add(read_text(str(folder), path).text)
                except SkillFileError:
                    seen.add("refused")
    finally:
        done.set()
        thread.join()
    assert seen <= {"harmless", "notes\n", "refused"}
    assert "harmless" in seen


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("offset", "limit", "text", "next_offset"),
    [
        (0, None, "0123456789", None),
        (0, 10, "0123456789", None),
        (0, 9, "012345678", 9),
        (0, 1, "0", 1),
        (9, 1, "9", None),
        (4, 3, "456", 7),
        (10, 1, "", None),
        (10**30, 10**30, "", None),
        (0, 10**30, "0123456789", None),
    ],
)
def test_a_part_begins_at_its_offset_and_ends_at_its_limit(
    offset: int, limit: int | None, text: str, next_offset: int | None, folder: Path
) -> None:
    """In bytes; the next part begins where it ends."""
    (folder / "ten").write_text("0123456789")
    found = read_text(str(folder), "ten", offset=offset, limit=limit)
    assert found == FileText(path="ten", text=text, offset=offset, size=10, next_offset=next_offset)


@pytest.mark.parametrize(("offset", "limit"), [(-1, 1), (0, 0), (0, -1), (-(10**30), 5)])
def test_an_invalid_offset_or_limit_is_refused(offset: int, limit: int, folder: Path) -> None:
    """Before anything is opened."""
    error = ("`offset` must be 0 or more and `limit` 1 or more", "leave them out to read from the start")
    assert refused(folder, "notes.txt", offset=offset, limit=limit) == error


@pytest.mark.parametrize("limit", [*range(5, 12), 64, 1000])
@pytest.mark.parametrize("text", ["aä€😀" * 20, "😀" * 50, "ä" * 99, "€" * 70, "plain " * 40])
def test_the_parts_of_a_file_make_up_its_text(text: str, limit: int, folder: Path) -> None:
    """No character is cut in two."""
    (folder / "text").write_text(text, encoding="utf-8")
    parts, at = [], 0
    while True:
        found = read_text(str(folder), "text", offset=at, limit=limit)
        parts.append(found.text)
        assert len(found.text.encode()) <= limit
        if found.next_offset is None:
            break
        assert found.next_offset > at
        at = found.next_offset
    assert "".join(parts) == text


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_smallest_parts_reach_the_end(limit: int, folder: Path) -> None:
    """A part too small for a character is shown as invalid bytes."""
    (folder / "text").write_text("😀€")
    at: int | None = 0
    for _ in range(8):
        at = read_text(str(folder), "text", offset=at or 0, limit=limit).next_offset
        if at is None:
            break
    assert at is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfbom\n", "bom\n"),
        (b"a\xef\xbb\xbfb", "a\ufeffb"),
        (b"caf\xe9\n", "caf\ufffd\n"),
        (b"a\r\nb\r", "a\r\nb\r"),
        (b"\x1b[2J", "\x1b[2J"),
        (b"", ""),
        (b"\xff\xfe\xfd\xfc\xfb", "\ufffd" * 5),
        (b"\x80" * 10, "\ufffd" * 10),
    ],
    ids=["bom", "bom inside", "latin-1", "line ends", "escape", "empty", "no text", "tails"],
)
def test_bytes_are_decoded_as_utf8(data: bytes, text: str, folder: Path) -> None:
    """Without a mark at the beginning; line ends stay."""
    (folder / "text").write_bytes(data)
    assert read_text(str(folder), "text") == FileText(
        path="text", text=text, offset=0, size=len(data), next_offset=None
    )


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "ab".encode("utf-16"), b"\0"])
def test_a_file_with_a_nul_byte_is_not_text(data: bytes, folder: Path) -> None:
    (folder / "x.png").write_bytes(data)
    message = f"`x.png` is not a text file ({len(data)} bytes)"
    assert refused(folder, "x.png") == (message, "read it with a script")


def test_a_part_of_a_gigabyte_is_read_fast(folder: Path) -> None:
    """Only this part is read, and at most 1 MiB."""
    with (folder / "huge").open("wb") as file:
        file.write(b"x" * (MAX_LIMIT + 5))
        file.truncate(1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ends():
        found = read_text(str(folder), "huge")
        most = read_text(str(folder), "huge", limit=1 << 40)
        assert (len(found.text), found.size, found.next_offset) == (DEFAULT_LIMIT, 1 << 30, DEFAULT_LIMIT)
        assert (len(most.text), most.next_offset) == (MAX_LIMIT, MAX_LIMIT)
        assert refused(folder, "huge", offset=1 << 29)[0] == "`huge` is not a text file (1,073,741,824 bytes)"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.slow
def test_ten_thousand_files_are_fast(folder: Path) -> None:
    """A file is read by its name, and a missing one is an error soon."""
    (folder / "many").mkdir()
    for number in range(10_000):
        (folder / f"many/file-{number:05}.md").touch()
    (folder / "many/file-09999.md").write_text("last\n")
    with calls_at_most(2_000_000):
        assert read_text(str(folder), "many/file-09999.md").text == "last\n"
        assert refused(folder, "many/file-xxxxx.md")[0] == "the skill has no file `many/file-xxxxx.md`"


# ── which folder ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_folder_of_a_skill_contains_its_file(tmp_path: Path) -> None:
    """The target of a linked folder; the folder of a linked file; no folder for a single file."""
    top = tmp_path.resolve()
    skill(top / "p/.git/x")
    real = skill(top / "elsewhere/linked").parent
    shared = skill(top / "elsewhere/shared").rename(top / "elsewhere/shared/OTHER.md")
    (shared.parent / "secret.txt").write_text(SECRET)
    root = top / "h/.pi/agent/skills"
    plain = skill(root / "plain").parent
    (root / "linked").symlink_to(real)
    (root / "by-file").mkdir()
    (root / "by-file/SKILL.md").symlink_to(shared)
    (root / "flat.md").write_text("---\nname: flat\ndescription: Flat.\n---\nFlat.\n")
    entries = discover(top / "p", host="pi", home=top / "h", env={}, cache=False).skills
    found = {Path(entry.path).relative_to(root).parts[0]: resource_folder(entry) for entry in entries}
    assert found == {"plain": str(plain), "linked": str(real), "by-file": str(root / "by-file"), "flat.md": None}


@pytest.mark.parametrize("path", ["memory://pdf", "memory://pdf/SKILL.md", "SKILL.md", "pdf/SKILL.md", ""])
def test_a_skill_that_is_not_a_file_has_no_folder(path: str, tmp_path: Path) -> None:
    """A relative path would be a path below the current directory."""
    skill(tmp_path / "skills/pdf")
    (entry,) = discover(tmp_path, home=tmp_path, skill_dirs=[tmp_path / "skills"], env={}, cache=False).skills
    assert resource_folder(entry.with_changes(path=path, real=path)) is None


# ── in a conversation ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A conversation with a skill and one that is for its user alone, each with a file."""
    root = tmp_path.resolve() / "project/.agents/skills"
    (tmp_path / "project/.git").mkdir(parents=True)
    for name, more in (("pdf", ""), ("manual", "disable-model-invocation: true\n")):
        file = skill(root / name, more=more)
        (file.parent / "a.md").write_text(f"{name}\n")
    return Session(discover(tmp_path / "project", home=tmp_path / "home", env={}, cache=False))


def entry(session: Session, name: str) -> Entry:
    return session.catalog.resolve(name)


def test_files_of_a_visible_skill_can_be_read_before_it_is_activated(session: Session) -> None:
    """This does not change the ledger."""
    assert session.read("pdf", "a.md").text == "pdf\n"
    assert session.ledger == ()


def test_files_of_a_user_only_skill_need_activation_by_its_user(session: Session) -> None:
    """By a mention, or otherwise."""
    with pytest.raises(Exception, match=r"^only the user can activate the skill `manual`$"):
        session.read("manual", "a.md")
    assert session.inject("use $manual") != []
    assert session.read("manual", "a.md").text == "manual\n"


def test_files_that_were_read_are_in_the_ledger(session: Session) -> None:
    """Each once, in order, also after another activation; without those that could not be read."""
    session.activate("pdf")
    for path in ("a.md", "SKILL.md", "./a.md"):
        session.read("pdf", path)
    with pytest.raises(SkillFileError):
        session.read("pdf", "b.md")
    session.activate("pdf", "other")
    assert [(record.name, record.files) for record in session.ledger] == [("pdf", ("a.md", "SKILL.md"))]


def test_files_of_an_unknown_skill_cannot_be_read(session: Session) -> None:
    """The hint has a similar name; a path is not a name for a model."""
    with pytest.raises(SkillNotFoundError) as caught:
        session.read("pfd", "a.md")
    assert caught.value.hint == "did you mean `pdf`?"
    with pytest.raises(SkillNotFoundError):
        session.read(os.path.dirname(entry(session, "manual").path), "a.md")
