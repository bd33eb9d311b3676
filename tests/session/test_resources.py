"""Reading files of a skill: inside its folder, part by part, and without links."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from prowess.catalog import discover
from prowess.errors import SkillFileError
from prowess.session._resources import DEFAULT_LIMIT, MAX_LIMIT, FileText, read_text, resource_folder
from support.growth import calls_at_most, ends
from support.skills import skill

SECRET = "the user's secret"


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


def test_what_is_read_has_its_normalized_path_and_its_size(folder: Path) -> None:
    """`tests/cases/conversations/files.md` has the paths, links and parts that a model can ask for."""
    found = read_text(str(folder), "references//api.md")
    assert found == FileText(path="references/api.md", text="# API\n", offset=0, size=6, next_offset=None)
    assert found.as_dict() == {
        "path": "references/api.md",
        "text": "# API\n",
        "offset": 0,
        "size": 6,
        "next_offset": None,
    }


def test_a_path_to_the_outside_is_refused_without_access_to_the_disk(folder: Path) -> None:
    message = ("`../x` is not inside the skill's folder", "give a path relative to the skill's folder")
    assert refused(folder.parent / "not there", "../x") == message


@pytest.mark.parametrize(("length", "words"), [(300, "the skill has no file `a"), (4097, "` is not a valid path")])
def test_a_long_path_is_refused_in_few_words(length: int, words: str, folder: Path) -> None:
    message, _ = refused(folder, "a" * length)
    assert words in message
    assert len(message) < 100


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


def test_a_folder_that_became_a_link_is_not_read_and_says_so(folder: Path) -> None:
    """The link leads to the same files, so a hint with their names would repeat the one that was asked for."""
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")
    expected = ("the skill's folder was replaced by a link; links are not followed", "go on without the skill")
    assert refused(folder, "notes.txt") == refused(folder, "./notes.txt") == refused(folder, "gone.txt") == expected
