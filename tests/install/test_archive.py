"""Untrusted archives unpack into files and folders, or are refused; skills are packed the same everywhere."""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import stat
import struct
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import InstallError
from prowess.install.archive import Limits, pack_skill, unpack
from prowess.lock import read_tree
from support.files import write_file, write_files
from support.growth import calls_at_most

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"SKILL.md": b"---\nname: pdf\n---\n", "scripts/run.sh": b"#!/bin/sh\n", "notes/a/b/c.txt": b"", "é.md": b"x"}


def tar(*entries: Any, form: int = tarfile.PAX_FORMAT, **options: Any) -> bytes:
    """Write an archive; an entry is a path, a pair with its content, or a `TarInfo`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form, **options) as archive:
        for entry in entries:
            name, data = entry if isinstance(entry, tuple) else (entry, b"data")
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if info.isfile() and info.size == 0:
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def special(kind: bytes, name: str = "x", **fields: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def raw_header(kind: bytes, name: bytes, size: int, body: bytes = b"") -> bytes:
    """Return an entry whose kind and size are as given, whatever its content is."""
    numbers = b"0000644\0" + b"0000000\0" * 2 + b"%011o\0" % size + b"00000000000\0"
    start, end = name.ljust(100, b"\0") + numbers, kind.ljust(101, b"\0") + b"ustar\x0000"
    end = end.ljust(512 - len(start) - 8, b"\0")
    return start + b"%06o\0 " % (sum(start) + sum(end) + 256) + end + body + bytes(-len(body) % 512)


def pax(**records: str) -> bytes:
    body = b""
    for key, text in records.items():
        rest = f" {key.replace('__', '.')}={text}\n".encode()
        size = len(rest) + 2
        body += b"%d%s" % (size if size >= 10 else size - 1, rest)
    return raw_header(b"x", b"pax", len(body), body)


END = bytes(1024)
FILE = raw_header(b"0", b"a", 4, b"data")


def zip_of(*entries: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            name, data = entry if isinstance(entry, tuple) else (entry, b"data")
            archive.writestr(name, data)
    return out.getvalue()


def zip_info(name: str, mode: int = 0o100644, **fields: Any) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def unpack_into(folder: Path, data: bytes, kind: str = "tar", limits: Limits | None = None) -> dict[str, bytes]:
    target = folder / "target"
    target.mkdir()
    unpack(io.BytesIO(data), kind, str(target), limits)
    return {str(path.relative_to(target)): path.read_bytes() for path in sorted(target.rglob("*")) if path.is_file()}


# ── what is read ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_archives_of_other_programs_are_unpacked(form: int, tmp_path: Path) -> None:
    assert unpack_into(tmp_path, tar(*FILES.items(), form=form)) == FILES


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read_in_every_form(form: int, tmp_path: Path) -> None:
    name = "/".join(["long-name" * 5] * 4)
    assert unpack_into(tmp_path, tar((name, b"x"), form=form)) == {name: b"x"}


def test_a_zip_is_unpacked(tmp_path: Path) -> None:
    assert unpack_into(tmp_path, zip_of(("folder/", b""), *FILES.items()), "zip") == FILES


@pytest.mark.parametrize("second", [b"", b"up\x07\0\x01\0\0\0\0\xc3\xa9"], ids=["as macOS", "as zip"])
def test_a_zip_whose_names_are_utf_8_without_the_mark_is_unpacked(second: bytes, tmp_path: Path) -> None:
    data = zip_of(zip_info("qq", extra=second)).replace(b"qq", b"\xc3\xa9")
    assert unpack_into(tmp_path, data, "zip") == {"é": b"data"}


@pytest.mark.parametrize("prefix", ["./", ""])
def test_a_folder_that_was_packed_from_inside_is_unpacked(prefix: str, tmp_path: Path) -> None:
    data = tar(special(tarfile.DIRTYPE, prefix or "."), *((prefix + name, data) for name, data in FILES.items()))
    assert unpack_into(tmp_path, data) == FILES


def test_gzip_in_several_parts_is_read(tmp_path: Path) -> None:
    """As programs write it that compress on several processors."""
    data = tar(*FILES.items())
    parts = b"".join(gzip.compress(data[at : at + 700]) for at in range(0, len(data), 700))
    assert unpack_into(tmp_path, parts, "tar.gz") == FILES


def test_the_comment_that_git_writes_is_no_change_of_files(tmp_path: Path) -> None:
    data = tar("a", pax_headers={"comment": "0" * 40})
    assert unpack_into(tmp_path, data) == {"a": b"data"}


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_only_the_right_to_execute_is_kept(kind: str, tmp_path: Path) -> None:
    modes = {"run": 0o6755, "open": 0o666, "closed": 0o000}
    infos = [zip_info(name, stat.S_IFREG | mode) for name, mode in modes.items()]
    tar_infos = [special(tarfile.REGTYPE, name, mode=mode) for name, mode in modes.items()]
    unpack_into(tmp_path, zip_of(*infos) if kind == "zip" else tar(*tar_infos), kind)
    umask = os.umask(0)
    os.umask(umask)
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "target").iterdir()}
    assert found == {"run": 0o777 & ~umask, "open": 0o666 & ~umask, "closed": 0o666 & ~umask}


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = [
    *("../x", "a/../../x", "/x", "a//x", "a/./x", "a\\x", "a\nx", "a\x00x", ".git/config", "a/.GIT/x", "con", "a:b"),
    "x" * 300,
    "/".join("x" * 1000),
]
TARS: dict[str, tuple[bytes, str]] = {
    "hard link": (tar(special(tarfile.LNKTYPE, linkname="SKILL.md")), "is a link"),
    "symbolic link": (tar(special(tarfile.SYMTYPE, linkname="/etc")), "is a link"),
    "link then file": (tar(special(tarfile.SYMTYPE, "a", linkname="/tmp"), "a/x"), "is a link"),
    "device": (tar(special(tarfile.CHRTYPE)), "is a device"),
    "block device": (tar(special(tarfile.BLKTYPE)), "is a device"),
    "fifo": (tar(special(tarfile.FIFOTYPE)), "is a FIFO"),
    "sparse": (raw_header(b"S", b"a", 0) + END, "is a sparse file"),
    "sparse in pax": (pax(GNU__sparse__major="1") + FILE + END, "which is for links and sparse files"),
    "unknown kind": (raw_header(b"Z", b"a", 0) + END, "is neither a file nor a folder"),
    "long link": (raw_header(b"K", b"a", 4, b"/etc") + FILE + END, "is neither a file nor a folder"),
    "folder with content": (raw_header(b"5", b"a", 4, b"data") + END, "is a folder with content"),
    "twice": (tar("a", "a"), "is there twice"),
    "file and folder": (tar("a", "a/b"), "is there twice"),
    "folder and file": (tar("a/b", "a"), "is there twice"),
    "letters": (tar("a/README", "a/readme"), "are one name on other systems"),
    "letters of folders": (tar("A/x", "a/y"), "are one name on other systems"),
    "forms of letters": (tar("\ufb01", "fi"), "are one name on other systems"),
    "composed": (tar("\u00e9", "e\u0301"), "are one name on other systems"),
    "not UTF-8": (raw_header(b"0", b"\xff", 0) + END, "is not UTF-8"),
    "no name": (raw_header(b"0", b"", 0) + END, "a file has no name"),
    "pax size": (pax(size="512") + FILE + END, "two sizes"),
    "pax size of no digits": (pax(size="4e0") + FILE + END, "two sizes"),
    "two names": (pax(path="a") + raw_header(b"L", b"l", 1, b"b") + FILE + END, "two names"),
    "names for all": (raw_header(b"g", b"g", 10, b"10 path=b\n") + FILE + END, "changes all files"),
    "pax without length": (raw_header(b"x", b"x", 7, b"path=b\n") + FILE + END, "invalid header"),
    "pax too long": (raw_header(b"x", b"x", 10, b"99 path=b\n") + FILE + END, "invalid header"),
    "pax too short": (raw_header(b"x", b"x", 10, b"4 path=bc\n") + FILE + END, "invalid header"),
    "huge pax": (raw_header(b"x", b"x", 1 << 30) + END, "a header of more than"),
    "name without a file": (pax(path="b") + END, "it ends too early"),
    "checksum": (FILE[:148] + b"0000000\0" + FILE[156:] + END, "not a tar archive"),
    "negative size": (raw_header(b"0", b"a", 0)[:124] + b"\xff" * 388, "invalid checksum"),
    "text": (b"hello" * 500, "invalid checksum"),
    "empty": (b"", "it ends too early"),
    "no end": (FILE, "it ends too early"),
    "cut": (tar("a", "b")[:1100], "it ends too early"),
    "data behind": (FILE + END + b"x", "other data follows it"),
    "another archive behind": (FILE + END + FILE + END, "other data follows it"),
    "huge file": (raw_header(b"0", b"a", 8**11 - 1) + END, "it ends too early"),
}


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    if "\0" not in name:
        with pytest.raises(InstallError):
            unpack_into(tmp_path, tar("SKILL.md", name))
        assert {path.name for path in tmp_path.rglob("*")} <= {"target", "SKILL.md"}
    (tmp_path / "zip").mkdir()
    data = zip_of("SKILL.md", "q" * len(name)).replace(b"q" * len(name), name.encode())
    with pytest.raises(InstallError):
        unpack_into(tmp_path / "zip", data, "zip")


@pytest.mark.parametrize("name", TARS)
def test_a_tar_with_anything_but_files_and_folders_is_refused(name: str, tmp_path: Path) -> None:
    data, reason = TARS[name]
    with pytest.raises(InstallError, match=reason):
        unpack_into(tmp_path, data)
    assert all(path.is_file() or path.is_dir() for path in tmp_path.rglob("*"))


def overlapping() -> bytes:
    """Return an archive in which two files share one part."""
    data = bytearray(zip_of(("a", b"x" * 100), ("b", b"x" * 100)))
    second = data.rindex(b"PK\1\2")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    data[second + 46 : second + 47] = b"a"
    return bytes(data)


def other_local_name() -> bytes:
    data = bytearray(zip_of("a"))
    data[30:31] = b"b"
    return bytes(data)


def with_count(count: int) -> bytes:
    data = bytearray(zip_of("a"))
    data[-14:-10] = struct.pack("<HH", count, count)
    return bytes(data)


def with_hidden_file(*, first: bool) -> bytes:
    """Return an archive with a file that its list does not name, before or after the other."""
    data = bytearray(zip_of("a", "b"))
    start = data.index(b"PK\1\2")
    record = data.index(b"PK\1\2", start + 4) - start
    at = start if first else start + record
    del data[at : at + record]
    count, size = 1, len(data) - 22 - start
    data[-14:-6] = struct.pack("<HHI", count, count, size)
    return bytes(data)


def with_second_list(comment: bytes = b"") -> bytes:
    """Return an archive with another list of files in the comment of the first, which only some programs read."""
    with_comment = zip_info("a", comment=bytes(76))
    data = bytearray(zip_of((with_comment, b"one")))
    end = len(data) - 22
    size, start = struct.unpack("<II", data[end + 12 : end + 20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size - 76, start)
    data[end - 76 : end] = record + struct.pack("<4sLQL", b"PK\6\7", 0, end - 76, 1)
    data[-2:] = struct.pack("<H", len(comment))
    return bytes(data) + comment


ZIPS: dict[str, tuple[bytes, str]] = {
    "link": (zip_of((zip_info("a", stat.S_IFLNK | 0o777), b"/etc")), "is a link"),
    "device": (zip_of(zip_info("a", stat.S_IFCHR | 0o666)), "is neither a file nor a folder"),
    "folder with the mode of a file": (zip_of((zip_info("a/"), b"")), "is neither a file nor a folder"),
    "folder with content": (zip_of((zip_info("a/", stat.S_IFDIR | 0o755), b"x")), "is a folder with content"),
    "twice": (zip_of("a", "b").replace(b"b", b"a"), "is there twice"),
    "letters": (zip_of("README", "readme"), "are one name on other systems"),
    "method": (zip_of((zip_info("a", compress_type=zipfile.ZIP_LZMA), b"x")), "compressed in a way"),
    "old letters": (zip_of("qq").replace(b"qq", b"\x82\xff"), "is not UTF-8"),
    "second name": (zip_of(zip_info("a", extra=b"up\x06\0\x01\0\0\0\0b")), "has two names"),
    "shared content": (overlapping(), "shares its content with another file"),
    "another local name": (other_local_name(), "damaged"),
    "before": (b"MZ" + zip_of("a"), "other data precedes it"),
    "behind": (zip_of("a") + b"x", "other data follows it"),
    "more than it lists": (with_count(2), "other data precedes it"),
    "less than it lists": (with_count(0), "another length than its end says"),
    "zip64": (with_count(0xFFFF), "it lists more than"),
    "hidden file before": (with_hidden_file(first=True), "data that its list does not name"),
    "hidden file behind": (with_hidden_file(first=False), "data that its list does not name"),
    "second list": (with_second_list(), "a second list of files"),
    "second list and a long comment": (with_second_list(bytes(0xFFFF)), "a second list of files"),
    "checksum": (zip_of(("a", b"x" * 99)).replace(zip_of(("a", b"x" * 99))[14:18], b"abcd"), "damaged"),
    "empty": (b"", "not a zip archive"),
    "text": (b"hello" * 100, "not a zip archive"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ZIPS)
def test_a_zip_with_anything_but_files_and_folders_is_refused(name: str, tmp_path: Path) -> None:
    data, reason = ZIPS[name]
    with pytest.raises(InstallError, match=reason):
        unpack_into(tmp_path, data, "zip")
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))


@pytest.mark.parametrize(
    "data",
    [gzip.compress(tar("a"))[:-1], gzip.compress(tar("a")) + b"x", gzip.compress(tar("a"))[:-8] + bytes(8), b"", b"x"],
    ids=["cut", "data behind", "checksum", "empty", "text"],
)
def test_damaged_gzip_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="invalid archive"):
        unpack_into(tmp_path, data, "tar.gz")


def test_a_million_entries_are_refused_early(tmp_path: Path) -> None:
    entries = raw_header(b"5", b"a", 0) * 1000
    data = gzip.compress(entries * 20, 1)
    with calls_at_most(400_000), pytest.raises(InstallError, match="it lists more than 1,000 files"):
        unpack_into(tmp_path, data, "tar.gz", Limits(entries=1000))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["file", "after the end", "pax"])
def test_a_bomb_is_refused(where: str, tmp_path: Path) -> None:
    """Only a part of it is unpacked."""
    zeros = bytes(20 << 20)
    data = {
        "file": raw_header(b"0", b"a", len(zeros), zeros) + END,
        "after the end": FILE + END + zeros,
        "pax": (raw_header(b"x", b"x", 1 << 16, b"65536 comment=".ljust((1 << 16) - 1, b"x") + b"\n") + FILE) * 320,
    }[where]
    with pytest.raises(InstallError, match=r"200 times as large|is there twice"):
        unpack_into(tmp_path, gzip.compress(data, 9), "tar.gz")
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size <= 9 << 20


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_the_sum_of_all_files_is_limited(kind: str, tmp_path: Path) -> None:
    files = [(f"{number}", os.urandom(3000)) for number in range(300)]
    data = tar(*files) if kind == "tar" else zip_of(*files)
    with pytest.raises(InstallError, match="it contains more than 100,000 bytes"):
        unpack_into(tmp_path, data, kind, Limits(size=100_000, entries=400))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_damaged_archives_are_errors_and_write_nothing_elsewhere(kind: str, tmp_path: Path) -> None:
    """Sixty changes of a byte or two, always the same ones."""
    numbers = random.Random(kind)  # noqa: S311
    folder = tmp_path / "work"
    folder.mkdir()
    good = zip_of(("d/", b""), *FILES.items()) if kind == "zip" else tar(*FILES.items())
    good = gzip.compress(good, mtime=0) if kind == "tar.gz" else good
    for _ in range(int(os.environ.get("PROWESS_FUZZ_RUNS", "60"))):
        data = bytearray(good)
        for _ in range(numbers.randint(1, 3)):
            at = numbers.randrange(len(data)) if kind != "tar" else numbers.randrange(512) + 512 * numbers.randrange(8)
            data[at] = numbers.choice([0, 0xFF, 0x2F, 0x2E, numbers.randrange(256)])
        target = folder / "target"
        target.mkdir()
        try:
            unpack(io.BytesIO(bytes(data)), kind, str(target))
        except InstallError:
            pass
        else:
            read_tree(str(target))
        assert os.listdir(folder) == ["target"]
        assert not any(path.is_symlink() for path in target.rglob("*"))
        shutil.rmtree(target)


# ── packing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_files(tmp_path / "pdf", {**FILES, "x" * 90 + "/" + "ü" * 40: b"long", "y" * 120: b"ascii"})
    (folder / "scripts/run.sh").chmod(0o755)
    return folder


@pytest.mark.parametrize("unpack_other", [True, False], ids=["by tarfile", "by us"])
def test_a_packed_skill_unpacks_to_the_same_tree(unpack_other: bool, skill: Path, tmp_path: Path) -> None:
    data, tree = pack_skill(str(skill), "pdf")
    target = tmp_path / "target"
    target.mkdir()
    if unpack_other:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            # Python 3.11.4 brought the argument, and 3.14 makes it the default.
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(target, **safely)  # type: ignore[arg-type]  # noqa: S202 - it was packed above
    else:
        unpack(io.BytesIO(data), "tar.gz", str(target))
    assert os.listdir(target) == ["pdf"]
    assert read_tree(str(target / "pdf")) == tree == read_tree(str(skill))


def test_an_archive_names_no_user_and_no_time(skill: Path) -> None:
    data, _ = pack_skill(str(skill), "pdf")
    assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            assert (info.uid, info.gid, info.uname, info.gname, info.mtime) == (0, 0, "", "", 0)
            assert info.mode == (0o755 if info.isdir() or info.name == "pdf/scripts/run.sh" else 0o644)


def test_the_same_files_are_packed_into_the_same_bytes(skill: Path, tmp_path: Path) -> None:
    """Whatever their times, owners and other permissions are, and however the folder was filled."""
    first, _ = pack_skill(str(skill), "pdf")
    copy = tmp_path / "copy"
    for path in sorted(skill.rglob("*"), reverse=True):
        if path.is_file():
            (copy / path.relative_to(skill)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / path.relative_to(skill))
    (copy / "scripts/run.sh").chmod(0o700)
    (copy / "empty").mkdir()
    assert pack_skill(str(copy), "pdf")[0] == first


def test_the_bytes_of_a_packed_skill_never_change(tmp_path: Path) -> None:
    """The tar inside is written by hand, field by field, from its specification."""
    (tmp_path / "a").write_bytes(b"hi")
    data, _ = pack_skill(str(tmp_path), "s")
    folder = raw_header(b"5", b"s/", 0)
    numbers = folder.index(b"0000644")
    folder = folder[:numbers] + b"0000755" + folder[numbers + 7 :]
    checksum = sum(folder[:148] + b" " * 8 + folder[156:])
    folder = folder[:148] + b"%06o\0 " % checksum + folder[156:]
    assert gzip.decompress(data) == folder + raw_header(b"0", b"s/a", 2, b"hi") + END


@pytest.mark.parametrize("length", [*range(96, 104), 988, 989, 990, 991])
def test_names_of_every_length_are_read_again(length: int, tmp_path: Path) -> None:
    """The length in a pax record counts its own digits."""
    name = "/".join(["n" * 49] * 30)[: length - 2].rstrip("/")
    write_file(tmp_path / "skill" / name, b"x")
    data, _ = pack_skill(str(tmp_path / "skill"), "s")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames()[-1] == f"s/{name}"
    assert unpack_into(tmp_path, data, "tar.gz") == {f"s/{name}": b"x"}


def test_a_link_is_not_packed(skill: Path) -> None:
    (skill / "link").symlink_to("SKILL.md")
    with pytest.raises(InstallError, match="`link` is a link, which an archive cannot contain"):
        pack_skill(str(skill), "pdf")
