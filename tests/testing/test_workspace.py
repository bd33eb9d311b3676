"""Fresh copies of a skill: whole, its own, and gone afterwards, whatever a command did to them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError, SkillError
from prowess.testing._runner import fixture_error, scan_contents, workspace
from support.files import write_file
from support.rows import rows
from support.suites import snapshot, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A skill with all that a copy can hold, and a file beside it."""
    folder = write_suite(tmp_path / "skills/pdf", {"a": "true"}, {})
    (folder / "scripts/deep/er").mkdir(parents=True)
    (folder / "scripts/run").write_text("#!/bin/sh\necho run\n")
    (folder / "scripts/run").chmod(0o755)
    (folder / "scripts/deep/er/data.bin").write_bytes(bytes(range(256)) * 5000)
    (folder / "empty").mkdir()
    (folder / "empty file").touch()
    (folder / "scripts/linked").symlink_to("run")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "out").symlink_to("../../beside")
    write_file(folder / "tests/fixtures/ä\n.csv", "1")
    write_file(folder / ".git/config", "[core]")
    (folder / ".hidden").write_text("x")
    write_file(tmp_path / "beside/keep", "keep")
    return folder


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files; none of pytest's, which cannot remove what is as deep as here."""
    place = Path(tempfile.mkdtemp(prefix="prowess-tests-")).resolve()
    monkeypatch.setenv("TMPDIR", str(place))
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=False)


def test_a_copy_has_everything_except_cases_and_git(made: Path) -> None:
    """Names, bytes, modes and links; `tests/cases`, `tests/test-config.json` and `.git` no script needs."""
    with workspace(scan_contents(str(made))) as (top, copy):
        assert Path(copy).parent == Path(top)
        assert Path(copy).name == "pdf"
        ours, theirs = snapshot(Path(copy)), snapshot(made)
    left_out = (".git", "tests/cases", "tests/test-config.json")
    wanted = {path: row for path, row in theirs.items() if not path.startswith(left_out)}
    for files in (ours, wanted):
        files.pop(".")
    assert {path: (row[0], row[4]) for path, row in ours.items()} == {p: (r[0], r[4]) for p, r in wanted.items()}


def test_tests_that_hold_nothing_else_are_left_out(tmp_path: Path) -> None:
    """No empty folder is left."""
    with workspace(scan_contents(str(write_suite(tmp_path / "pdf", {"a": "true"}, {})))) as (_, copy):
        assert os.listdir(copy) == ["SKILL.md"]


def test_a_copy_can_be_changed_and_other_copies_do_not(made: Path) -> None:
    """Even if the skill is read-only; only its user has access to the folder, and no file is set-uid."""
    (made / "scripts/run").chmod(0o4555)
    (made / "scripts").chmod(0o555)
    with workspace(scan_contents(str(made))) as (top, copy):
        assert os.stat(top).st_mode & 0o777 == 0o700
        assert os.stat(f"{copy}/scripts/run").st_mode & 0o7777 == 0o755
        assert os.stat(f"{copy}/scripts").st_mode & 0o700 == 0o700
        Path(copy, "scripts/new").write_text("x")
        Path(copy, "scripts/run").write_text("y")
    assert (made / "scripts/run").read_text() == "#!/bin/sh\necho run\n"
    (made / "scripts").chmod(0o755)


# ── the end of a copy ────────────────────────────────────────────────────────────────────────────────────────────────


def locked(copy: Path) -> None:
    """Leave folders that cannot be listed or written."""
    (copy / "a/b/c").mkdir(parents=True)
    (copy / "a/b/c/file").touch()
    (copy / "a/b").chmod(0o000)
    (copy / "scripts").chmod(0o500)
    copy.chmod(0o555)
    copy.parent.chmod(0o500)


def deep(copy: Path) -> None:
    """Leave folders deeper than any path may be long, or than Python may recurse."""
    fd = os.open(copy, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 60, dir_fd=fd)
        inner = os.open("d" * 60, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)


def many(copy: Path) -> None:
    """Leave many files, a FIFO, a socket's name and a link."""
    for number in range(2000):
        (copy / f"{number}").touch()
    os.mkfifo(copy / "fifo")
    (copy / "up").symlink_to("..")


def nothing(copy: Path) -> None:
    """Remove all there is."""
    (copy / "SKILL.md").unlink()
    copy.rename(copy.parent / "other")


@pytest.mark.slow
@pytest.mark.parametrize("act", [locked, deep, many, nothing], ids=lambda act: act.__name__)
def test_whatever_a_command_leaves_is_removed(act: object, made: Path, place: Path) -> None:
    """However deep, many or locked, and by whom the copy was moved."""
    with workspace(scan_contents(str(made))) as (_, copy):
        act(Path(copy))  # type: ignore[operator]
    assert os.listdir(place) == []


@pytest.mark.parametrize("what", ["pdf", "pdf/scripts", "pdf/scripts/deep", "plain"])
def test_no_link_that_a_command_put_there_is_followed(what: str, made: Path) -> None:
    """A folder of the copy that has become a link to the skill itself, or to any folder with the same names."""
    write_suite(made.parent / "plain", {"a": "true"})
    before = snapshot(made.parent)
    with workspace(scan_contents(str(made.parent / what.partition("/")[0]))) as (top, _):
        Path(top, what).rename(Path(top, "moved"))
        Path(top, what).symlink_to(made.parent / what)
    assert snapshot(made.parent) == before


def test_a_copy_is_removed_after_a_failure(made: Path, place: Path) -> None:
    """By an exception of whatever kind."""
    with pytest.raises(KeyboardInterrupt), workspace(scan_contents(str(made))):
        raise KeyboardInterrupt
    assert os.listdir(place) == []


def test_a_skill_that_changes_while_it_is_copied_is_an_error(made: Path, place: Path) -> None:
    """A file that has gone or has become something else; nothing is left of the copy."""
    found = scan_contents(str(made))
    (made / "scripts/run").unlink()
    with pytest.raises(SkillError, match="cannot copy the skill: no such file"), workspace(found):
        pass
    os.mkfifo(made / "scripts/run")
    with pytest.raises(SkillError, match="`scripts/run` changed while the tests were running"), workspace(found):
        pass
    assert os.listdir(place) == []


def grow(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"x" * 3_000_000)


def replace(file: Path) -> None:
    file.with_name("new").write_bytes(file.read_bytes())
    file.with_name("new").replace(file)


@pytest.mark.parametrize(
    "change", [grow, replace, lambda file: os.truncate(file, 1), lambda file: file.write_bytes(file.read_bytes())]
)
def test_a_file_that_changed_since_it_was_listed_is_an_error(made: Path, place: Path, change: Any) -> None:
    """It is neither cut nor taken as it is now: all cases see the same bytes."""
    found = scan_contents(str(made))
    change(made / "scripts/deep/er/data.bin")
    message = "`scripts/deep/er/data.bin` changed while the tests were running"
    with pytest.raises(SkillError, match=message), workspace(found):
        pytest.fail("a case would run")
    assert os.listdir(place) == []


@pytest.mark.parametrize("moment", ["before", "during"])
def test_a_file_that_grows_while_it_is_copied_is_an_error(
    made: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before its first byte is read, or after its last one."""
    found, original, file = scan_contents(str(made)), os.read, made / "scripts/deep/er/data.bin"

    def read(fd: int, size: int) -> bytes:
        is_file = os.path.samestat(os.fstat(fd), file.stat())
        if is_file and moment == "before":
            grow(file)
        data = original(fd, size)
        if is_file and moment == "during":
            grow(file)
        return data

    monkeypatch.setattr("prowess.testing._runner.os.read", read)
    with pytest.raises(SkillError, match="changed while the tests were running"), workspace(found):
        pytest.fail("a case would run")


def test_compiled_files_are_not_copied(made: Path) -> None:
    """Python would run them in place of their sources."""
    write_file(made / "scripts/__pycache__/run.pyc", b"\0")
    with workspace(scan_contents(str(made))) as (_, copy):
        assert list(Path(copy).rglob("__pycache__")) == []


def test_without_a_temporary_folder_the_case_is_an_error(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it."""
    found = scan_contents(str(made))
    monkeypatch.setenv("TMPDIR", str(made / "nowhere"))
    with pytest.raises(SandboxError, match="cannot make a folder for temporary files"), workspace(found):
        pass


# ── hostile skills ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_huge_skill_is_an_error(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """11 GiB that take no room on the disk, or more files than one skill has."""
    with (made / "huge").open("wb") as file:
        file.truncate(11 * 1024**3)
    with pytest.raises(SkillError, match="the skill has more than 20,000 files or 512 MiB"):
        scan_contents(str(made))
    (made / "huge").unlink()
    monkeypatch.setattr("prowess.testing._runner.MAX_ENTRIES", 5)
    with pytest.raises(SkillError, match="the skill has more than 5 files or 512 MiB"):
        scan_contents(str(made))


@pytest.mark.slow
def test_a_skill_with_100000_files_is_refused_after_some(tmp_path: Path) -> None:
    """Without listing all of them."""
    folder = write_suite(tmp_path / "many", {"a": "true"})
    (folder / "x").mkdir()
    fd = os.open(folder / "x", os.O_RDONLY)
    for number in range(100):
        os.mkdir(f"{number}", dir_fd=fd)
    os.close(fd)
    original = folder / "x/0/0"
    original.touch()
    for number in range(21_000):
        os.link(original, folder / f"x/{number % 100}/f{number}")
    with pytest.raises(SkillError, match="20,000"):
        scan_contents(str(folder))


def test_an_unreadable_file_is_an_error(made: Path) -> None:
    """With the folder's name."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (made / "scripts").chmod(0o000)
    with pytest.raises(SkillError, match="cannot read `scripts`: permission denied"):
        scan_contents(str(made))
    (made / "scripts").chmod(0o755)


# ── fixtures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "words"),
    [*rows(__file__, "a_file_that_is_not_the_skill_s_is_a_problem"), ("a\0b", "`a\\x00b` is outside the skill")],
)
def test_a_file_that_is_not_the_skill_s_is_a_problem(path: str, words: str, made: Path) -> None:
    """Missing, escaping by its name or by a link, or left out of the copy."""
    (made / "loop").symlink_to("loop")
    (made / "cases").symlink_to("tests/cases")
    (made.parent.parent / "beside").rename(made.parent / "beside")
    (made / "out").unlink()
    (made / "out").symlink_to("../beside")
    assert fixture_error(scan_contents(str(made)), path) == words


@pytest.mark.parametrize(
    "path", ["SKILL.md", "./SKILL.md", "scripts//run", "scripts", "tests/fixtures/ä\n.csv", "scripts/linked"]
)
def test_a_file_of_the_skill_has_no_error(path: str, made: Path) -> None:
    """A folder and a link within the skill, too."""
    assert fixture_error(scan_contents(str(made)), path) is None


def test_a_skill_that_is_reached_by_a_link_has_its_files(made: Path, tmp_path: Path) -> None:
    """Installers link skills."""
    (tmp_path / "linked").symlink_to(made)
    found = scan_contents(str(tmp_path / "linked"))
    assert fixture_error(found, "scripts/run") is None
    with workspace(found) as (_, copy):
        assert Path(copy, "scripts/run").is_file()
