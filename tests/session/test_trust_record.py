"""The trust record: where it is, what is valid, and how it is written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.session._trust
from prowess.errors import ConfigError
from prowess.session import Trust
from prowess.session._trust import trust_file
from support.growth import END
from support.sessions import discover_project, entry_of, new_session
from support.skills import entry_in_folder, skill
from support.users import ALICE, MALLORY, give, only_root

if TYPE_CHECKING:
    from collections.abc import Callable

DAY = time.strftime("%Y-%m-%d", time.gmtime())
DIGEST = "trust1:" + "0" * 64


@pytest.fixture
def project(scripts_project: Path) -> Path:
    return scripts_project


@pytest.mark.parametrize(
    ("env", "file"),
    [
        ({"PROWESS_CONFIG_DIR": "/a/b/../c", "XDG_CONFIG_HOME": "/x"}, "/a/c/trust.json"),
        ({"PROWESS_CONFIG_DIR": "", "XDG_CONFIG_HOME": "/x"}, "/x/prowess/trust.json"),
        ({"XDG_CONFIG_HOME": "relative"}, "{home}/.config/prowess/trust.json"),
        ({}, "{home}/.config/prowess/trust.json"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_record_is_in_the_configuration_folder_of_the_user(env: dict[str, str], file: str) -> None:
    """Never in a project."""
    assert trust_file(env) == file.format(home=os.environ["HOME"])


def test_a_relative_configuration_folder_is_an_error() -> None:
    """It would be another folder in each project, and a project might bring it."""
    with pytest.raises(ConfigError) as error:
        trust_file({"PROWESS_CONFIG_DIR": "conf"})
    assert str(error.value) == "PROWESS_CONFIG_DIR is not an absolute path: `conf`"
    assert error.value.hint == "set it to an absolute path"


@pytest.mark.parametrize("home", ["", ".", "project"])
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_a_user_without_a_home_is_an_error(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative home does not count."""
    monkeypatch.setenv("HOME", home or ".")
    with pytest.raises(ConfigError) as error:
        trust_file({})
    assert str(error.value) == "no folder for the trust record: you have no home directory"
    assert error.value.hint == "set PROWESS_CONFIG_DIR to a folder of yours"


def test_the_default_file_is_in_the_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path))
    assert Trust().file == str(tmp_path / "trust.json")


def test_a_session_has_the_record_of_its_user(project: Path) -> None:
    """It is outside the project."""
    session = new_session(project)
    assert session.trust is session.trust
    assert session.trust.file == os.path.join(os.environ["PROWESS_CONFIG_DIR"], "trust.json")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_only_the_user_can_read_the_record(umask: int, project: Path, trust: Trust) -> None:
    """Nor the folders that are created for it, whatever the umask; an existing folder above stays as it was."""
    if umask == 0o777:
        os.makedirs(os.path.dirname(trust.file), mode=0o700)
    before = os.umask(umask)
    try:
        trust.allow(entry_of(project))
    finally:
        os.umask(before)
    file = Path(trust.file)
    assert {path.name: path.stat().st_mode & 0o777 for path in (file, file.parent, file.parent.parent)} == {
        "trust.json": 0o600,
        "prowess": 0o700,
        "config": file.parent.parent.stat().st_mode & 0o777 if umask == 0o777 else 0o700,
    }
    assert not file.with_name("trust.json.lock").stat().st_mode & 0o077
    assert sorted(path.name for path in file.parent.iterdir()) == ["trust.json", "trust.json.lock"]


def test_the_record_is_indented_ascii_json(project: Path, trust: Trust) -> None:
    trusted_skill = trust.allow(entry_of(project))
    assert Path(trust.file).read_text("ascii") == (
        json.dumps({"version": 1, "trusted": [trusted_skill.as_dict()]}, indent=2) + "\n"
    )
    assert list(trusted_skill.as_dict()) == ["seal", "name", "path", "since"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep names as Unicode")
def test_a_path_that_is_not_utf8_is_kept(project: Path, trust: Trust) -> None:
    """Byte for byte."""
    folder = project / ".agents/skills" / os.fsdecode(b"caf\xe9\n")
    skill(folder, "cafe")
    odd = entry_in_folder(discover_project(project), folder.name)
    trusted_skill = trust.allow(odd)
    assert trusted_skill.path == str(folder)
    assert trust.all() == (trusted_skill,)
    assert trust.allows(odd)
    assert trust.revoke(odd) == (trusted_skill,)


def record_text(*rows: object, **more: object) -> bytes:
    return json.dumps({"version": 1, "trusted": list(rows), **more}).encode()


def changed_entry(row: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {**row, **fields}


FOUR, INVALID = "must have exactly four texts: seal, name, path, since", "has an invalid `seal`, `path` or `since`"
MALFORMED: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "empty": (lambda _: b"", "it is not JSON"),
    "cut": (lambda row: record_text(row)[:-1], "it is not JSON"),
    "binary": (lambda _: b"\xff\0", "it is not JSON"),
    "utf-16": (lambda row: record_text(row).decode().encode("utf-16"), "it is not JSON"),
    "bom": (lambda row: b"\xef\xbb\xbf" + record_text(row), "it is not JSON"),
    "too deep": (lambda _: b"[" * 100_000, "it is not JSON"),
    "a long number": (lambda _: b"9" * 5000, "it is not JSON"),
    "two texts": (lambda row: record_text(row) + record_text(row), "it is not JSON"),
    "a list": (lambda _: b"[]", "it is not a trust record"),
    "null": (lambda _: b"null", "it is not a trust record"),
    "a key less": (lambda _: b'{"version": 1}', "it is not a trust record"),
    "a key more": (lambda row: record_text(row, more=1), "it is not a trust record"),
    "a key twice": (lambda row: record_text(row)[:-1] + b', "trusted": []}', "it has a duplicate key"),
    "a key twice within": (
        lambda row: record_text(row).replace(b'"name"', b'"name": "xls", "name"'),
        "it has a duplicate key",
    ),
    "version": (lambda row: record_text(row, version=2), "its version is `2`, and only version 1 is known"),
    "true version": (lambda row: record_text(row, version=True), "its version is `True`, and only version 1 is known"),
    "version of text": (lambda row: record_text(row, version="1"), "its version is `1`, and only version 1 is known"),
    "a map": (lambda row: record_text(trusted={"a": row}), "`trusted` is not a list"),
    "a number": (lambda row: record_text(row, 1), f"entry 2 {FOUR}"),
    "a field less": (lambda _: record_text({"seal": DIGEST}), f"entry 1 {FOUR}"),
    "a field more": (lambda row: record_text(changed_entry(row, scope="user")), f"entry 1 {FOUR}"),
    "a wrong type": (lambda row: record_text(changed_entry(row, name=1)), f"entry 1 {FOUR}"),
    "a short seal": (lambda row: record_text(row, changed_entry(row, seal="trust1:0")), f"entry 2 {INVALID}"),
    "a seal and more": (lambda row: record_text(changed_entry(row, seal=DIGEST + "\n")), f"entry 1 {INVALID}"),
    "a relative path": (lambda row: record_text(changed_entry(row, path="x")), f"entry 1 {INVALID}"),
    "a NUL": (lambda row: record_text(changed_entry(row, path="/x\0")), f"entry 1 {INVALID}"),
    "a day": (lambda row: record_text(changed_entry(row, since="now")), f"entry 1 {INVALID}"),
    "too large": (lambda row: record_text(row) + b" " * (4 << 20), "it is larger than 4 MiB"),
}


def assert_record_is_refused(trust: Trust, project: Path, why: str, hint: str | None = None) -> None:
    """Check that a record allows nothing and cannot be changed, and that errors say why and what to do."""
    message = f"the trust record is invalid: {trust.file}: {why}"
    hint = hint or "fix or remove it, then trust your skills again with `prowess trust SKILL`"
    assert not trust.allows(entry_of(project))
    assert trust.denial_reason(entry_of(project)) == f"`pdf` is not trusted: {message}; {hint}"
    for act in (trust.all, lambda: trust.allow(entry_of(project, "xls")), lambda: trust.revoke(entry_of(project))):
        with pytest.raises(ConfigError) as error:
            act()
        assert (str(error.value), error.value.hint) == (message, hint)
    assert trust.allows(entry_of(project).with_changes(scope="user"))


@pytest.mark.parametrize("bad", MALFORMED)
def test_a_malformed_record_allows_nothing_and_stays(bad: str, project: Path, trust: Trust) -> None:
    """Not even its valid entries; it is never overwritten."""
    row = trust.allow(entry_of(project)).as_dict()
    make, why = MALFORMED[bad]
    data = make(row)
    Path(trust.file).write_bytes(data)
    assert_record_is_refused(trust, project, why)
    assert Path(trust.file).read_bytes() == data


NOT_REGULAR: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda file: replace_with_link(file, file.rename(file.with_name("other"))), "it is a link"),
    "a link to nothing": (lambda file: replace_with_link(file, file.with_name("nothing")), "it is a link"),
    "a folder": (lambda file: replace_with(file, Path.mkdir), "it is not a regular file"),
    "a FIFO": (lambda file: replace_with(file, os.mkfifo), "it is not a regular file"),
    "a linked folder": (
        lambda file: replace_with_link(file.parent, file.parent.rename(file.parents[1] / "other")),
        "its folder is a link",
    ),
    "a file for a folder": (lambda file: replace_with(file.parent, Path.touch), "its folder is not a folder"),
}


def replace_with(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    make(path)


def replace_with_link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize("attack", NOT_REGULAR)
def test_a_record_that_is_not_a_regular_file_allows_nothing(attack: str, project: Path, trust: Trust) -> None:
    """No link is followed, and nothing blocks."""
    trust.allow(entry_of(project))
    make, why = NOT_REGULAR[attack]
    make(Path(trust.file))
    assert_record_is_refused(trust, project, why)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_record_that_others_can_write_to_allows_nothing(
    mode: int, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group or all; the file or its folder. Others may read it."""
    trust.allow(entry_of(project))
    file = Path(trust.file)
    file.chmod(mode)
    hint = "if its content is yours, type `chmod go-w {}`, or set `PROWESS_SHARED_DIR` to it if you share it on purpose"
    assert_record_is_refused(trust, project, "other users can write to it", hint.format(file))
    file.chmod(0o644)
    assert trust.allows(entry_of(project))
    file.parent.chmod(mode | 0o111)
    assert_record_is_refused(trust, project, "other users can write to its folder", hint.format(file.parent))
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(file.parent))
    assert trust.allows(entry_of(project))
    monkeypatch.delenv("PROWESS_SHARED_DIR")
    file.parent.chmod(0o755)
    assert trust.allows(entry_of(project))


@only_root
def test_the_record_stays_that_of_the_user_who_calls_sudo(
    project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `sudo`, root has the home of that user on some systems; its files must not be in that user's way."""
    folder = Path(trust.file).parent
    folder.mkdir(mode=0o700, parents=True)
    give(ALICE, folder)
    assert "belongs to another user" in (trust.denial_reason(entry_of(project)) or "")
    monkeypatch.setenv("SUDO_UID", str(ALICE))
    trust.allow(entry_of(project))
    assert trust.allows(entry_of(project))
    assert {path.stat().st_uid for path in folder.iterdir()} == {ALICE}
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    assert not trust.allows(entry_of(project))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other owners")
@pytest.mark.parametrize("which", ["it", "its folder"])
def test_a_record_of_another_user_allows_nothing(
    which: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file or its folder; for root too."""
    trust.allow(entry_of(project))
    if which == "its folder":
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    elif os.geteuid() == 0:
        os.chown(trust.file, 12345, -1)
    else:
        pytest.skip("only root gives files away")
    assert_record_is_refused(trust, project, f"{which} belongs to another user")


def test_an_unreadable_record_allows_nothing(project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not stop root, so the error of the system is simulated."""
    trust.allow(entry_of(project))
    real = os.open

    def refusing(path: Any, *rest: Any, **named: Any) -> int:
        if path == trust.file:
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", refusing)
    assert_record_is_refused(trust, project, "it cannot be read: permission denied")


def test_control_characters_in_the_path_are_escaped(project: Path, tmp_path: Path) -> None:
    trust = Trust(str(tmp_path / "a\x1b[2J" / "trust.json"))
    trust.allow(entry_of(project))
    Path(trust.file).write_text("")
    assert not {"\x1b"} & set(trust.denial_reason(entry_of(project)) or "")


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
def test_a_record_that_cannot_be_written_stays_as_it_was(
    call: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other file is left beside it."""
    trusted_skill = trust.allow(entry_of(project))

    def failing(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(ConfigError) as error:
            trust.allow(entry_of(project, "xls"))
    assert str(error.value) == (f"cannot write the trust record {trust.file}: no space left on device")
    assert error.value.hint == "fix this, or set PROWESS_CONFIG_DIR to another folder"
    assert trust.all() == (trusted_skill,)
    assert sorted(os.listdir(os.path.dirname(trust.file))) == ["trust.json", "trust.json.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="it locks otherwise")
def test_a_record_is_not_written_where_nothing_can_be_locked(
    project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processes that write at the same time, one would lose its answer."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(ConfigError, match=r"^cannot write the trust record .*: no locks available$"):
        trust.allow(entry_of(project))
    assert trust.all() == ()


def test_a_folder_that_cannot_be_created_is_an_error(project: Path, tmp_path: Path) -> None:
    """A file has its name."""
    (tmp_path / "file").write_text("")
    trust = Trust(str(tmp_path / "file/prowess/trust.json"))
    with pytest.raises(ConfigError, match=r"^cannot write the trust record .*: not a directory$"):
        trust.allow(entry_of(project))


def test_a_folder_too_deep_to_create_is_an_error(project: Path, tmp_path: Path) -> None:
    trust = Trust(f"{tmp_path}{'/a' * 3000}/trust.json")
    with pytest.raises(ConfigError, match=r"^cannot write the trust record "):
        trust.allow(entry_of(project))


def test_a_full_record_takes_no_more_skills(project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be invalid afterwards."""
    trusted_skill = trust.allow(entry_of(project))
    monkeypatch.setattr(prowess.session._trust, "MAX_RECORD_BYTES", os.path.getsize(trust.file) + 10)
    with pytest.raises(ConfigError, match=r"^the trust record is full: ") as error:
        trust.allow(entry_of(project, "xls"))
    assert error.value.hint == "remove skills with `prowess trust --remove SKILL`; `prowess trust --list` shows them"
    assert trust.all() == (trusted_skill,)


def test_files_of_a_killed_process_do_not_matter(project: Path, trust: Trust) -> None:
    """Nor a link that another user put there to be written through."""
    trusted_skill = trust.allow(entry_of(project))
    victim = project / "victim"
    victim.write_text("mine")
    Path(trust.file + ".new").symlink_to(victim)
    more = trust.allow(entry_of(project, "xls"))
    assert trust.all() == (trusted_skill, more)
    assert victim.read_text() == "mine"
    assert not Path(trust.file).is_symlink()
    os.unlink(trust.file + ".lock")
    os.symlink(victim, trust.file + ".lock")
    with pytest.raises(ConfigError, match=r"^cannot write the trust record "):
        trust.revoke("pdf")


CHILD = """
import os, signal, sys
from prowess.catalog import discover
from prowess.session import Trust
file, project, name, when = sys.argv[1:]
real = getattr(os, when.partition("-")[2], None)
def dying(*given, **named):
    if when.startswith("before-"):
        os.kill(os.getpid(), signal.SIGKILL)
    if when == "half-write":
        real(given[0], bytes(given[1])[:30])
    else:
        real(*given, **named)
    os.kill(os.getpid(), signal.SIGKILL)
catalog = discover(project, home=project + "/home", env={}, cache=False)
entry = next(entry for entry in catalog.skills if entry.folder == name)
if real:
    setattr(os, when.partition("-")[2], dying)
Trust(file).allow(entry)
"""


def start_child(trust: Trust, project: Path, name: str, when: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CHILD, trust.file, str(project), name, when])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("when", ["before-write", "half-write", "after-write", "before-fsync", "before-replace"])
def test_a_process_killed_while_writing_leaves_the_old_record(when: str, project: Path, trust: Trust) -> None:
    """And no lock: the next process can write at once."""
    trusted_skill = trust.allow(entry_of(project))
    assert start_child(trust, project, "xls", when).wait(END) == -signal.SIGKILL
    assert trust.all() == (trusted_skill,)
    more = trust.allow(entry_of(project, "xls"))
    assert trust.all() == (trusted_skill, more)
    assert sorted(os.listdir(os.path.dirname(trust.file))) == ["trust.json", "trust.json.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_process_killed_after_writing_leaves_the_new_record(project: Path, trust: Trust) -> None:
    trust.allow(entry_of(project))
    assert start_child(trust, project, "xls", "after-replace").wait(END) == -signal.SIGKILL
    assert [row.name for row in trust.all()] == ["pdf", "xls"]


@pytest.mark.slow
def test_sixteen_processes_lose_no_entry(project: Path, trust: Trust) -> None:
    """Each trusts another skill at the same time."""
    names = [f"s{number:02}" for number in range(16)]
    for name in names:
        skill(project / ".agents/skills" / name)
    children = [start_child(trust, project, name) for name in names]
    assert [process.wait(END) for process in children] == [0] * 16
    assert [row.name for row in trust.all()] == names


def test_threads_lose_no_entry(project: Path, trust: Trust) -> None:
    """Trusting and revoking at the same time."""
    names = [f"s{number:02}" for number in range(16)]
    for name in names:
        skill(project / ".agents/skills" / name)
    entries = [entry_in_folder(discover_project(project), name) for name in names]
    for seen in entries[:8]:
        trust.allow(seen)
    threads = [threading.Thread(target=Trust(trust.file).revoke, args=[seen]) for seen in entries[:8]]
    threads += [threading.Thread(target=Trust(trust.file).allow, args=[seen]) for seen in entries[8:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.name for row in trust.all()] == names[8:]
