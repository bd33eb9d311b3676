"""The integrity digest: it changes with everything in a folder, and nothing outside is read."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

import prowess.skill._integrity
from prowess.errors import SkillError
from prowess.skill._integrity import integrity_digest, read_integrity
from support.files import opened_below, write_file
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMES = st.text("ab.-é\n ", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
ENTRIES = st.one_of(
    st.tuples(st.just("f"), st.binary(max_size=20), st.integers(0, 0o777)),
    st.tuples(st.just("d"), st.just(b""), st.integers(0, 0o777)),
    st.tuples(st.just("l"), st.sampled_from([b"SKILL.md", b"x/y", b"a"]), st.just(0)),
)
TREES = st.dictionaries(NAMES, st.tuples(ENTRIES, st.dictionaries(NAMES, ENTRIES, max_size=3)), max_size=4)
Tree = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill with one entry of each type."""
    top = tmp_path / "pdf"
    skill(top)
    write_file(top / "scripts/fill.py", "print(1)\n")
    (top / "scripts/link").symlink_to("../references/a.md")
    write_file(top / "references/a.md", "a")
    (top / "empty").mkdir()
    return top


@pytest.fixture(params=["descriptors", "paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use descriptors of folders, or paths as on systems without them."""
    if request.param == "paths":
        monkeypatch.setattr(prowess.skill._integrity, "SUPPORTS_DIR_FD", False)
    return str(request.param)


def reason(folder: Path) -> tuple[str, str | None]:
    """Return the error for a folder without digest, and its hint."""
    with pytest.raises(SkillError) as error:
        read_integrity(str(folder))
    assert integrity_digest(str(folder)) is None
    return str(error.value), error.value.hint


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────

CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda top: (top / "scripts/fill.py").write_text("print(2)\n"),
    "a byte of SKILL.md": lambda top: (top / "SKILL.md").write_bytes(b"x" + (top / "SKILL.md").read_bytes()[1:]),
    "a permission of a file": lambda top: (top / "scripts/fill.py").chmod(0o755),
    "a set-user-id bit": lambda top: (top / "scripts/fill.py").chmod(0o4644),
    "a permission of a folder": lambda top: (top / "references").chmod(0o711),
    "a permission of the skill itself": lambda top: top.chmod(0o711),
    "a name": lambda top: (top / "scripts/fill.py").rename(top / "scripts/Fill.py"),
    "a folder's name": lambda top: (top / "empty").rename(top / "void"),
    "a place": lambda top: (top / "scripts/fill.py").rename(top / "references/fill.py"),
    "a file more": lambda top: (top / "scripts/__init__.py").write_text(""),
    "a hidden file more": lambda top: (top / ".git").write_text(""),
    "an empty folder more": lambda top: (top / "scripts/__pycache__").mkdir(),
    "a link more": lambda top: (top / "more").symlink_to("SKILL.md"),
    "a file less": lambda top: (top / "references/a.md").unlink(),
    "a folder less": lambda top: (top / "empty").rmdir(),
    "a link less": lambda top: (top / "scripts/link").unlink(),
    "another target": lambda top: relink(top / "scripts/link", "../SKILL.md"),
    "another way to the same target": lambda top: relink(top / "scripts/link", "./../references/a.md"),
    "a file for a link": lambda top: refile(top / "scripts/link"),
    "a file for a folder": lambda top: refile(top / "empty"),
}


def relink(link: Path, target: str) -> None:
    link.unlink()
    link.symlink_to(target)


def refile(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        path.rmdir()
    path.write_text("a")


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_the_digest(change: str, folder: Path, way: str) -> None:
    """Bytes, permissions, names, positions, added and removed entries, and targets of links."""
    before = integrity_digest(str(folder))
    assert before is not None
    CHANGES[change](folder)
    after = integrity_digest(str(folder))
    assert after is not None
    assert after != before


def test_a_change_with_the_same_size_and_time_changes_the_digest(folder: Path, way: str) -> None:
    """Time stamps are not used."""
    file = folder / "scripts/fill.py"
    before, status = integrity_digest(str(folder)), file.stat()
    file.write_text("print(2)\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert integrity_digest(str(folder)) not in (before, None)


@pytest.mark.parametrize(
    "change", ["a second read", "dates", "a hard link outside", "a copy", "another name", "a link"]
)
def test_what_is_not_in_the_folder_does_not_change_the_digest(
    change: str, folder: Path, tmp_path: Path, way: str
) -> None:
    """Neither times, nor its own name and path, nor other links to the same bytes."""
    before, path = integrity_digest(str(folder)), folder
    if change == "dates":
        os.utime(folder / "SKILL.md", (0, 0))
    elif change == "a hard link outside":
        os.link(folder / "SKILL.md", tmp_path / "outside")
    elif change == "a copy":
        path = Path(shutil.copytree(folder, tmp_path / "copy", symlinks=True))
    elif change == "another name":
        path = folder.rename(tmp_path / "fdp")
    elif change == "a link":
        (tmp_path / "link").symlink_to(folder)
        path = tmp_path / "link"
    assert integrity_digest(str(path)) == before


def test_descriptors_and_paths_give_the_same_digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the digest that the module's docstring describes."""
    from hashlib import sha256

    def record(kind: str, path: str, content: bytes | None = None) -> bytes:
        mode = os.lstat(folder / path).st_mode & 0o7777
        rest = "0 -" if content is None else f"{len(content)} {sha256(content).hexdigest()}"
        return f"{kind} {mode:04o} {rest}\0{path}\0".encode()

    records = [
        record("d", ""),
        record("f", "SKILL.md", (folder / "SKILL.md").read_bytes()),
        record("d", "empty"),
        record("d", "references"),
        record("f", "references/a.md", b"a"),
        record("d", "scripts"),
        record("f", "scripts/fill.py", b"print(1)\n"),
        record("l", "scripts/link", b"../references/a.md"),
    ]
    wanted = f"trust1:{sha256(b''.join(records)).hexdigest()}"
    assert integrity_digest(str(folder)) == wanted
    monkeypatch.setattr(prowess.skill._integrity, "SUPPORTS_DIR_FD", False)
    assert integrity_digest(str(folder)) == wanted


# ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────


def build(tree: Tree, top: Path) -> list[Path]:
    """Write a generated skill and return the paths of its entries."""
    skill(top)
    paths = []

    def write(path: Path, kind: str, content: bytes, mode: int) -> None:
        if kind == "l":
            path.symlink_to(os.fsdecode(content))
        elif kind == "d":
            path.mkdir()
        else:
            path.write_bytes(content)
            path.chmod(mode | 0o600)
        paths.append(path)

    for name, ((kind, content, mode), inner) in tree.items():
        write(top / name, kind, content, mode)
        for below, entry in inner.items() if kind == "d" else ():
            write(top / name / below, *entry)
        if kind == "d":
            (top / name).chmod(mode | 0o700)
    return [top / "SKILL.md", *paths]


@given(tree=TREES, data=st.data())
def test_any_change_changes_the_digest_and_undoing_it_restores_it(tree: Tree, data: st.DataObject) -> None:
    """One byte, one permission bit, one name or one target, anywhere."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top, "s")
        path = data.draw(st.sampled_from(build(tree, folder)))
        before = integrity_digest(str(folder))
        assert before is not None
        undo = one_change(path, data)
        after = integrity_digest(str(folder))
        assert after is not None
        assert after != before
        undo()
        assert integrity_digest(str(folder)) == before


def one_change(path: Path, data: st.DataObject) -> Callable[[], object]:
    """Change one property of an entry, and return a function that undoes it."""
    status = path.lstat()
    if path.is_symlink():
        target = path.readlink()
        relink(path, f"{target}b")
        return lambda: relink(path, str(target))
    kinds = ["name", "mode", *(["byte"] if path.is_file() and status.st_size else [])]
    kind = data.draw(st.sampled_from(kinds))
    if kind == "name":
        other = path.with_name(f"{path.name}x")
        path.rename(other)
        return lambda: other.rename(path)
    if kind == "mode":
        # The permissions to read stay, because only root could read the folder without them.
        bit = data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 512]))
        bit = 1 if bit == 64 and path.is_dir() else bit
        path.chmod(status.st_mode & 0o7777 ^ bit)
        return lambda: path.chmod(status.st_mode & 0o7777)
    content = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7))
    path.write_bytes(content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :])
    return lambda: path.write_bytes(content)


@given(one=TREES, other=TREES)
def test_different_folders_have_different_digests(one: Tree, other: Tree) -> None:
    """Whatever the names of their files are."""
    with tempfile.TemporaryDirectory() as top:
        first, second = Path(top, "1"), Path(top, "2")
        build(one, first)
        build(other, second)
        assert (integrity_digest(str(first)) == integrity_digest(str(second))) is (listing(first) == listing(second))


def listing(top: Path) -> list[tuple[Any, ...]]:
    """Return the paths, modes and contents in a folder."""
    rows: list[tuple[Any, ...]] = []
    for path in [top, *sorted(top.rglob("*"))]:
        content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        rows.append((str(path.relative_to(top)), path.lstat().st_mode, content))
    return rows


# ── folders without digest ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../..", "../../x", "./.././../x", "..//../x", "../../pdf/SKILL.md", "{}/SKILL.md"]
)
def test_a_link_out_of_the_folder_is_an_error(target: str, folder: Path, way: str) -> None:
    """Even if it leads back in: the folder above may change."""
    (folder / "scripts/out").symlink_to(target.format(folder))
    assert reason(folder) == ("the link `scripts/out` leads out of the skill", "put the file itself into the skill")


def test_a_link_that_leads_out_through_another_link_is_an_error(folder: Path, way: str) -> None:
    """`deep/..` is the parent of the target of `deep`."""
    (folder / "references/deeper").mkdir()
    (folder / "references/deep").symlink_to("../empty")
    assert integrity_digest(str(folder)) is not None
    (folder / "scripts/out").symlink_to("../references/deep/../../outside")
    assert reason(folder) == (
        "the link `scripts/out` has `..` after a folder name",
        "write `..` only at the beginning of its target",
    )


@pytest.mark.parametrize("target", ["..", ".", "../SKILL.md", "link", "nothing", "../references/b", "a/b/c"])
def test_a_link_inside_the_folder_is_allowed(target: str, folder: Path, way: str) -> None:
    """Even if its target is missing, or it forms a loop."""
    (folder / "scripts/in").symlink_to(target)
    assert integrity_digest(str(folder)) is not None


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    except OSError:
        pytest.skip("only root makes devices")


@pytest.mark.parametrize("make", [fifo, unix_socket, device])
def test_a_special_file_is_an_error(make: Callable[[Path], None], folder: Path, way: str) -> None:
    """A FIFO, a socket or a device; none of them is opened."""
    make(folder / "odd")
    assert reason(folder) == ("`odd` is not a file, folder or link", "remove it from the skill")


def test_an_unreadable_file_or_folder_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not bind root, so the error is simulated."""
    real = os.open
    for name in ("fill.py", "references"):

        def refusing(path: Any, *rest: Any, name: str = name, **named: Any) -> int:
            if path == name:
                raise PermissionError(13, "Permission denied")
            return real(path, *rest, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refusing)
            shown = "scripts/fill.py" if name == "fill.py" else name
            assert reason(folder) == (f"`{shown}` cannot be read: permission denied", "fix its permissions")


@pytest.mark.parametrize("make", [lambda _: None, lambda path: path.write_text("x")])
def test_a_missing_folder_is_an_error(make: Callable[[Path], object], tmp_path: Path, way: str) -> None:
    """So is a file."""
    make(tmp_path / "x")
    assert reason(tmp_path / "x")[0].startswith("the skill's folder cannot be read: n")


def test_hidden_characters_in_names_are_escaped(folder: Path) -> None:
    """Messages are shown on a terminal."""
    fifo(folder / "a\x1b[2J\u202eb")
    assert reason(folder)[0] == "`a\\x1b[2J\\u202eb` is not a file, folder or link"


def test_a_skill_that_is_too_large_is_an_error(folder: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, or all together; the limits are those of a digest."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    monkeypatch.setattr(prowess.skill._integrity, "MAX_DIGEST_BYTES", size)
    assert integrity_digest(str(folder)) is not None
    (folder / "one-more").write_text("x")
    monkeypatch.setattr(prowess.skill._integrity, "MAX_DIGEST_BYTES", 64 * 1024 * 1024)
    with (folder / "hole").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    assert reason(folder) == ("the skill is larger than 64 MiB", "remove files that the skill does not need")
    monkeypatch.setattr(prowess.skill._integrity, "MAX_SKILL_FILES", 8)
    (folder / "hole").unlink()
    assert integrity_digest(str(folder)) is not None
    (folder / "two-more").symlink_to("one-more")
    assert reason(folder) == (
        "the skill has more than 8 files, folders and links",
        "remove files that the skill does not need",
    )


def test_a_skill_that_is_too_deep_is_an_error(folder: Path, way: str) -> None:
    """The limit of levels is also a limit of open descriptors."""
    deep = folder.joinpath(*["d"] * 64)
    deep.mkdir(parents=True)
    assert integrity_digest(str(folder)) is not None
    (deep / "d").mkdir()
    assert reason(folder) == ("the skill has more than 64 levels of folders", "use fewer levels")


def test_no_descriptor_stays_open(folder: Path, way: str) -> None:
    """With and without a digest."""
    fifo(folder / "scripts/zz")
    for _ in range(5):
        assert integrity_digest(str(folder)) is None
    (folder / "scripts/zz").unlink()
    assert integrity_digest(str(folder)) is not None
    assert opened_below(folder) == []


# ── changes during reading ─────────────────────────────────────────────────────────────────────────────────────────

SWAPS: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "a file for a link": ("fill.py", lambda path, secret: path.symlink_to(secret / "file")),
    "a file for another": ("fill.py", lambda path, secret: shutil.copy(secret / "file", path)),
    "a file for a FIFO": ("fill.py", lambda path, _: fifo(path)),
    "a file for a folder": ("fill.py", lambda path, _: path.mkdir()),
    "a folder for a link": ("scripts", lambda path, secret: path.symlink_to(secret)),
    "a link for a file": ("link", lambda path, _: path.write_text("a")),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_file_that_is_swapped_before_it_is_opened_is_an_error(
    swap: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing outside is read, and nothing blocks."""
    secret = tmp_path / "secret"
    write_file(secret / "file", "secret")
    name, make = SWAPS[swap]
    real, opened = os.stat, watch_opened(monkeypatch)

    def swapping(path: Any, **named: Any) -> os.stat_result:
        status = real(path, **named)
        if path == name:
            monkeypatch.setattr(os, "stat", real)
            found = next(found for found in folder.rglob(name))
            found.rename(tmp_path / "moved")
            make(found, secret)
        return status

    monkeypatch.setattr(os, "stat", swapping)
    assert integrity_digest(str(folder)) is None
    assert os.stat is real, "nothing was swapped"
    assert not {os.path.realpath(path) for path in opened} & {str(secret), str(secret / "file")}


def watch_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the path of every file that is opened."""
    real, opened = os.open, list[str]()

    def noting(*given: Any, **named: Any) -> int:
        fd = real(*given, **named)
        if sys.platform == "linux":
            opened.append(os.readlink(f"/proc/self/fd/{fd}"))
        return fd

    monkeypatch.setattr(os, "open", noting)
    return opened


def while_read(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run a function once, after the first bytes of a file were read."""
    real = os.read

    def reading(fd: int, size: int) -> bytes:
        data = real(fd, size)
        monkeypatch.setattr(os, "read", real)
        act()
        return data

    monkeypatch.setattr(os, "read", reading)


ACTS: dict[str, Callable[[Path], object]] = {
    "bytes are added": lambda top: [path.open("a").write("x") for path in top.rglob("*.py")],
    "a file comes": lambda top: (top / "new").write_text("x"),
    "a file comes in a folder": lambda top: (top / "scripts/new").write_text("x"),
    "permissions change": lambda top: (top / "scripts/fill.py").chmod(0o777),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_change_during_reading_is_an_error(
    act: str, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status of every entry is compared again."""
    folder = tmp_path / "s"
    write_file(folder / "scripts/fill.py", "x")
    before = integrity_digest(str(folder))
    assert before is not None
    while_read(monkeypatch, lambda: ACTS[act](folder))
    assert reason_once(folder) == ("the skill changed while it was read", "try again")
    assert integrity_digest(str(folder)) not in (before, None)


def reason_once(folder: Path) -> tuple[str, str | None]:
    with pytest.raises(SkillError) as error:
        read_integrity(str(folder))
    return str(error.value), error.value.hint


@pytest.fixture(autouse=True)
def _same_umask() -> Iterator[None]:
    """Give files of tests the same permissions for every user."""
    before = os.umask(0o022)
    yield
    os.umask(before)
