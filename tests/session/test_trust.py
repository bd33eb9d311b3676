"""Trust: what its user allowed, as long as it is that; a record that is not surely the user's allows nothing."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import prowess.session._trust_record
from prowess.catalog import discover
from prowess.catalog._entry import State
from prowess.errors import AmbiguousSkillError, ConfigError, SkillError, SkillNotFoundError
from prowess.session._trust import ALWAYS_TRUSTED_SCOPES, Trust, needs_trust, trusted_folder
from prowess.session._trust_record import TrustedSkill, parse_record, trust_file
from prowess.skill._integrity import integrity_digest
from support.skills import entry_in_folder, skill

if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.catalog import Catalog
    from prowess.catalog._entry import Entry

DAY = time.strftime("%Y-%m-%d", time.gmtime())
SEAL = "trust1:" + "0" * 64


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two skills."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    for name in ("pdf", "xls"):
        folder = skill(top / ".agents/skills" / name).parent
        (folder / "scripts").mkdir()
        (folder / "scripts/run.py").write_text("print(1)\n")
    return top


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    """A user who has trusted nothing yet, and has no folder for it."""
    return Trust(str(tmp_path.resolve() / "config/prowess/trust.json"))


def see(project: Path, **more: Any) -> Catalog:
    return discover(project, home=project.parent / "home", env={}, cache=False, **more)


def entry(project: Path, name: str = "pdf", **more: Any) -> Entry:
    return entry_in_folder(see(project, **more), name)


def script(project: Path, name: str = "pdf") -> Path:
    return project / ".agents/skills" / name / "scripts/run.py"


# ── who needs it ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scope", ["project", "package", "extra", "", "User", "one that does not exist yet"])
def test_what_somebody_else_may_have_brought_needs_trust(scope: str, project: Path, trust: Trust) -> None:
    """A project, a package, a folder that was named; and any scope that nobody has thought of here."""
    assert needs_trust(entry(project).with_changes(scope=scope))
    assert not trust.allows(entry(project).with_changes(scope=scope))


@pytest.mark.parametrize("scope", ["managed", "user", "system"])
def test_what_the_user_or_the_administrator_put_there_needs_none(scope: str, project: Path, trust: Trust) -> None:
    """Not even a record that can be read."""
    own = entry(project).with_changes(scope=scope)
    assert not needs_trust(own)
    assert trust.allows(own)
    assert trust.denial_reason(own) is None
    assert not os.path.exists(os.path.dirname(trust.file))


# ── the word of a user ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_is_not_trusted_until_its_user_says_so(project: Path, trust: Trust) -> None:
    """And asking leaves nothing behind."""
    folder = project / ".agents/skills/pdf"
    assert trust.denial_reason(entry(project)) == f"`pdf` is not trusted: review it, then type `prowess trust {folder}`"
    assert not trust.allows(entry(project))
    assert not os.path.exists(os.path.dirname(trust.file))
    made = trust.allow(entry(project))
    assert made == TrustedSkill(digest=integrity_digest(str(folder)) or "", name="pdf", path=str(folder), since=DAY)
    assert trust.allows(entry(project))
    assert trust.denial_reason(entry(project)) is None
    assert not trust.allows(entry(project, "xls"))
    assert trust.all() == (made,)
    assert Trust(trust.file).all() == (made,)


def test_a_changed_byte_asks_again(project: Path, trust: Trust) -> None:
    """And the byte as it was does not: it is the bytes that are trusted. No answer is kept between two questions."""
    seen = entry(project)
    trust.allow(seen)
    status = script(project).stat()
    script(project).write_text("print(2)\n")
    os.utime(script(project), ns=(status.st_atime_ns, status.st_mtime_ns))
    folder = project / ".agents/skills/pdf"
    assert trust.denial_reason(seen) == (
        f"`pdf` has changed since it was trusted on {DAY}: review it, then type `prowess trust {folder}`"
    )
    assert not trust.allows(seen)
    script(project).write_text("print(1)\n")
    assert trust.allows(seen)


def test_trust_in_a_changed_skill_takes_the_place_of_that_in_the_old_one(project: Path, trust: Trust) -> None:
    """Nobody can bring back what was trusted there once."""
    trust.allow(entry(project))
    script(project).write_text("print(2)\n")
    made = trust.allow(entry(project))
    assert trust.all() == (made,)
    script(project).write_text("print(1)\n")
    assert not trust.allows(entry(project))


def test_trusting_twice_is_trusting_once(project: Path, trust: Trust) -> None:
    """The first day counts, and nothing is written."""
    trust.allow(entry(project))
    file = Path(trust.file)
    file.write_text(file.read_text().replace(DAY, "2001-02-03"))
    before = file.stat()
    assert trust.allow(entry(project)).since == "2001-02-03"
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_copies_are_trusted_together(project: Path, trust: Trust) -> None:
    """The same bytes are the same skill, wherever they lie; a copy that differs is another."""
    trust.allow(entry(project))
    other = project.parent / "other"
    (other / ".git").mkdir(parents=True)
    shutil.copytree(project / ".agents", other / ".agents")
    assert trust.allows(entry(other))
    script(other).write_text("print(2)\n")
    assert not trust.allows(entry(other))
    assert trust.allows(entry(project))


def test_what_was_shown_is_what_is_trusted(project: Path, trust: Trust) -> None:
    """A change between the look and the word is an error, and nothing is recorded."""
    shown = integrity_digest(str(project / ".agents/skills/pdf"))
    script(project).write_text("print(2)\n")
    with pytest.raises(SkillError) as error:
        trust.allow(entry(project), digest=shown)
    assert str(error.value) == "`pdf` is not trusted: it has changed since it was shown"
    assert error.value.hint == "review it again"
    assert trust.all() == ()


def test_a_linked_folder_is_trusted_for_what_it_leads_to(project: Path, trust: Trust) -> None:
    """The folder is the real one; the link may lead elsewhere tomorrow."""
    away = skill(project / "lib/real").parent
    link = project / ".agents/skills/linked"
    link.symlink_to(away)
    linked = entry_in_folder(see(project), "linked")
    assert trusted_folder(linked) == str(away)
    assert trust.allow(linked).path == str(away)
    assert trust.allows(linked)
    skill(project / "lib/evil", "real", body="Do harm.")
    link.unlink()
    link.symlink_to(project / "lib/evil")
    assert not trust.allows(linked)


def test_a_link_out_of_the_skill_makes_it_untrustable(project: Path, trust: Trust) -> None:
    """Its bytes are elsewhere; the reason and what to do are said."""
    (script(project).parent / "lib").symlink_to("../../../../lib")
    words = "`pdf` cannot be trusted: the link `scripts/lib` leads out of the skill"
    hint = "put the file itself into the skill"
    assert trust.denial_reason(entry(project)) == f"{words}; {hint}"
    with pytest.raises(SkillError) as error:
        trust.allow(entry(project))
    assert (str(error.value), error.value.hint) == (words, hint)
    assert not os.path.exists(trust.file)


def test_a_skill_without_a_folder_of_its_own_cannot_be_trusted(project: Path, trust: Trust) -> None:
    """Its neighbours would be trusted with it."""
    flat = entry(project).with_changes(path=str(project / ".agents/skills/flat.md"))
    words = "`flat.md` has no folder of its own"
    hint = "move it to a folder of its own, as SKILL.md"
    assert trust.denial_reason(flat) == f"`pdf` cannot be trusted: {words}; {hint}"
    with pytest.raises(SkillError, match=f"^`pdf` cannot be trusted: {words}$"):
        trust.allow(flat)


def test_a_skill_that_is_rejected_cannot_be_trusted(project: Path, trust: Trust) -> None:
    """Nobody can say what it would do."""
    (project / ".agents/skills/pdf/SKILL.md").write_text("no front matter")
    bad = entry(project)
    assert bad.state is State.REJECTED
    with pytest.raises(SkillError) as error:
        trust.allow(bad)
    assert str(error.value) == f"`pdf` cannot be trusted: {bad.reason}"
    assert error.value.hint == f"`prowess check {bad.path}` shows what to fix"


@pytest.mark.parametrize(
    ("folder", "typed"),
    [
        ("plain", "{}/plain"),
        ("with blank", "'{}/with blank'"),
        ("it's", "'{}/it'\"'\"'s'"),
        ("$(rm)", "'{}/$(rm)'"),
        ("a\x1b[2Jb", "'{}/a\\x1b[2Jb'"),
    ],
)
def test_what_to_type_can_be_typed(folder: str, typed: str, project: Path, trust: Trust) -> None:
    """A path is quoted as a shell wants it, and touches no terminal."""
    skill(project / ".agents/skills" / folder, "odd")
    said = trust.denial_reason(entry_in_folder(see(project), folder))
    where = typed.format(project / ".agents/skills")
    assert said == f"`odd` is not trusted: review it, then type `prowess trust {where}`"


# ── taking it back ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_is_revoked_with_its_copies(project: Path, trust: Trust) -> None:
    """The same bytes are allowed nowhere any more."""
    other = project.parent / "other"
    shutil.copytree(project, other)
    made = (trust.allow(entry(project)), trust.allow(entry(other)))
    kept = trust.allow(entry(project, "xls"))
    assert trust.revoke(entry(project)) == made
    assert trust.all() == (kept,)
    assert not trust.allows(entry(other))


@pytest.mark.parametrize(
    "reference",
    [
        "pdf",
        "PDF",
        "{folder}",
        "{folder}/",
        "{folder}/SKILL.md",
        "{seal}",
        "{start}",
        "{letters}",
    ],
)
def test_a_skill_is_revoked_by_any_of_its_names_also_when_it_is_gone(
    reference: str, project: Path, trust: Trust
) -> None:
    """Name, path, and the beginning of its seal, with and without the word before it."""
    made, kept = trust.allow(entry(project)), trust.allow(entry(project, "xls"))
    shutil.rmtree(made.path)
    start = made.digest[:15]
    name = reference.format(folder=made.path, seal=made.digest, start=start, letters=start.removeprefix("trust1:"))
    assert trust.revoke(name) == (made,)
    assert trust.all() == (kept,)


def test_a_skill_that_changed_is_revoked_too(project: Path, trust: Trust) -> None:
    """By its folder."""
    made = trust.allow(entry(project))
    script(project).write_text("print(2)\n")
    assert trust.revoke(entry(project)) == (made,)


@pytest.mark.parametrize("reference", ["zzz", "", "trust1:", "0" * 8, "trust1:" + "0" * 64, "/", "\0"])
def test_what_is_not_on_record_cannot_be_revoked(reference: str, project: Path, trust: Trust) -> None:
    """And the record stays as it is."""
    kept = trust.allow(entry(project))
    with pytest.raises(SkillNotFoundError, match=r" is not a trusted skill$") as error:
        trust.revoke(reference)
    assert error.value.hint == "`prowess trust --list` shows all"
    with pytest.raises(SkillNotFoundError, match=r"^`xls` is not a trusted skill$"):
        trust.revoke(entry(project, "xls"))
    assert trust.all() == (kept,)


def test_nothing_is_made_to_say_that_nothing_is_on_record(trust: Trust) -> None:
    """Neither a folder nor a lock."""
    with pytest.raises(SkillNotFoundError):
        trust.revoke("pdf")
    assert not os.path.exists(os.path.dirname(trust.file))


def test_a_name_of_two_skills_is_ambiguous(project: Path, trust: Trust) -> None:
    """Both are named; nothing is removed."""
    other = project.parent / "other"
    shutil.copytree(project, other)
    script(other).write_text("print(2)\n")
    made = (trust.allow(entry(project)), trust.allow(entry(other)))
    with pytest.raises(AmbiguousSkillError) as error:
        trust.revoke("pdf")
    lines = [f"  {row.digest[:15]}  {row.path}" for row in made]
    assert str(error.value).splitlines() == ["`pdf` matches 2 trusted skills:", *lines]
    assert error.value.candidates == tuple(row.path for row in made)
    assert trust.revoke(made[1].path) == (made[1],)
    assert trust.all() == (made[0],)


# ── where the record is ──────────────────────────────────────────────────────────────────────────────────────────────


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
def test_the_record_is_in_the_user_s_configuration(env: dict[str, str], file: str) -> None:
    """Never in a project."""
    assert trust_file(env) == file.format(home=os.environ["HOME"])


def test_a_relative_folder_for_the_record_is_refused() -> None:
    """It would be another one in each project, and a project might bring it."""
    with pytest.raises(ConfigError) as error:
        trust_file({"PROWESS_CONFIG_DIR": "conf"})
    assert str(error.value) == "PROWESS_CONFIG_DIR is not an absolute path: `conf`"
    assert error.value.hint == "set it to an absolute path"


@pytest.mark.parametrize("home", ["", ".", "project"])
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_a_user_without_a_home_is_told_what_to_do(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative home is none."""
    monkeypatch.setenv("HOME", home or ".")
    with pytest.raises(ConfigError) as error:
        trust_file({})
    assert str(error.value) == "no folder for the trust record: you have no home directory"
    assert error.value.hint == "set PROWESS_CONFIG_DIR to a folder of yours"


def test_the_default_is_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the process."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path))
    assert Trust().file == str(tmp_path / "trust.json")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_the_record_is_the_user_s_alone(umask: int, project: Path, trust: Trust) -> None:
    """The folders that are made for it too, whatever the umask; a folder above that was there stays as it was."""
    if umask == 0o777:
        os.makedirs(os.path.dirname(trust.file), mode=0o700)
    before = os.umask(umask)
    try:
        trust.allow(entry(project))
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


def test_the_record_is_plain_to_read(project: Path, trust: Trust) -> None:
    """JSON of its fields, in ASCII."""
    made = trust.allow(entry(project))
    assert Path(trust.file).read_text("ascii") == (
        json.dumps({"version": 1, "trusted": [made.as_dict()]}, indent=2) + "\n"
    )
    assert list(made.as_dict()) == ["seal", "name", "path", "since"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep names as Unicode")
def test_a_path_that_is_not_utf8_is_kept(project: Path, trust: Trust) -> None:
    """Byte for byte."""
    folder = project / ".agents/skills" / os.fsdecode(b"caf\xe9\n")
    skill(folder, "cafe")
    odd = entry_in_folder(see(project), folder.name)
    made = trust.allow(odd)
    assert made.path == str(folder)
    assert trust.all() == (made,)
    assert trust.allows(odd)
    assert trust.revoke(odd) == (made,)


# ── a record that cannot be believed ─────────────────────────────────────────────────────────────────────────────────


def text(*rows: object, **more: object) -> bytes:
    return json.dumps({"version": 1, "trusted": list(rows), **more}).encode()


def changed(row: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {**row, **fields}


BAD: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "empty": (lambda _: b"", "it is not JSON"),
    "cut": (lambda row: text(row)[:-1], "it is not JSON"),
    "binary": (lambda _: b"\xff\0", "it is not JSON"),
    "utf-16": (lambda row: text(row).decode().encode("utf-16"), "it is not JSON"),
    "bom": (lambda row: b"\xef\xbb\xbf" + text(row), "it is not JSON"),
    "too deep": (lambda _: b"[" * 100_000, "it is not JSON"),
    "a long number": (lambda _: b"9" * 5000, "it is not JSON"),
    "two texts": (lambda row: text(row) + text(row), "it is not JSON"),
    "a list": (lambda _: b"[]", "it is not a trust record"),
    "null": (lambda _: b"null", "it is not a trust record"),
    "a key less": (lambda _: b'{"version": 1}', "it is not a trust record"),
    "a key more": (lambda row: text(row, more=1), "it is not a trust record"),
    "a key twice": (lambda row: text(row)[:-1] + b', "trusted": []}', "it has a duplicate key"),
    "a key twice within": (
        lambda row: text(row).replace(b'"name"', b'"name": "xls", "name"'),
        "it has a duplicate key",
    ),
    "version": (lambda row: text(row, version=2), "its version is `2`, and only version 1 is known"),
    "true version": (lambda row: text(row, version=True), "its version is `True`, and only version 1 is known"),
    "version of text": (lambda row: text(row, version="1"), "its version is `1`, and only version 1 is known"),
    "a map": (lambda row: text(trusted={"a": row}), "`trusted` is not a list"),
    "a number": (lambda row: text(row, 1), "entry 2 must have exactly four texts: seal, name, path, since"),
    "a field less": (lambda _: text({"seal": SEAL}), "entry 1 must have exactly four texts: seal, name, path, since"),
    "a field more": (
        lambda row: text(changed(row, scope="user")),
        "entry 1 must have exactly four texts: seal, name, path, since",
    ),
    "a wrong type": (
        lambda row: text(changed(row, name=1)),
        "entry 1 must have exactly four texts: seal, name, path, since",
    ),
    "a short seal": (
        lambda row: text(row, changed(row, seal="trust1:0")),
        "entry 2 has an invalid `seal`, `path` or `since`",
    ),
    "a seal and more": (
        lambda row: text(changed(row, seal=SEAL + "\n")),
        "entry 1 has an invalid `seal`, `path` or `since`",
    ),
    "a relative path": (
        lambda row: text(changed(row, path="x")),
        "entry 1 has an invalid `seal`, `path` or `since`",
    ),
    "a NUL": (lambda row: text(changed(row, path="/x\0")), "entry 1 has an invalid `seal`, `path` or `since`"),
    "a day": (lambda row: text(changed(row, since="now")), "entry 1 has an invalid `seal`, `path` or `since`"),
    "too large": (lambda row: text(row) + b" " * (4 << 20), "it is larger than 4 MiB"),
}


def refuses(trust: Trust, project: Path, why: str, hint: str | None = None) -> None:
    """See that a record allows nothing, that nobody can add to it, and that it is told why and what to do."""
    words = f"the trust record is invalid: {trust.file}: {why}"
    hint = hint or "fix or remove it, then trust your skills again with `prowess trust SKILL`"
    assert not trust.allows(entry(project))
    assert trust.denial_reason(entry(project)) == f"`pdf` is not trusted: {words}; {hint}"
    for act in (trust.all, lambda: trust.allow(entry(project, "xls")), lambda: trust.revoke(entry(project))):
        with pytest.raises(ConfigError) as error:
            act()
        assert (str(error.value), error.value.hint) == (words, hint)
    assert trust.allows(entry(project).with_changes(scope="user"))


@pytest.mark.parametrize("bad", BAD)
def test_a_record_that_is_malformed_allows_nothing_and_stays(bad: str, project: Path, trust: Trust) -> None:
    """Not even what it holds plainly; and it is never written over."""
    row = trust.allow(entry(project)).as_dict()
    make, why = BAD[bad]
    data = make(row)
    Path(trust.file).write_bytes(data)
    refuses(trust, project, why)
    assert Path(trust.file).read_bytes() == data


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda file: link(file, file.rename(file.with_name("other"))), "it is a link"),
    "a link to nothing": (lambda file: link(file, file.with_name("nothing")), "it is a link"),
    "a folder": (lambda file: instead(file, Path.mkdir), "it is not a regular file"),
    "a FIFO": (lambda file: instead(file, os.mkfifo), "it is not a regular file"),
    "a linked folder": (
        lambda file: link(file.parent, file.parent.rename(file.parents[1] / "other")),
        "its folder is a link",
    ),
    "a file for a folder": (lambda file: instead(file.parent, Path.touch), "its folder is not a folder"),
}


def instead(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    make(path)


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_record_that_is_something_else_allows_nothing(attack: str, project: Path, trust: Trust) -> None:
    """Neither a link is followed, nor does anything block."""
    trust.allow(entry(project))
    make, why = ATTACKS[attack]
    make(Path(trust.file))
    refuses(trust, project, why)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_record_that_others_may_write_allows_nothing(mode: int, project: Path, trust: Trust) -> None:
    """The group or all; the file or its folder. That others may read it is nothing."""
    trust.allow(entry(project))
    file = Path(trust.file)
    file.chmod(mode)
    hint = "if its content is yours, type `chmod go-w {}`; if not, remove it"
    refuses(trust, project, "other users can write to it", hint.format(file))
    file.chmod(0o644)
    assert trust.allows(entry(project))
    file.parent.chmod(mode | 0o111)
    refuses(trust, project, "other users can write to its folder", hint.format(file.parent))
    file.parent.chmod(0o755)
    assert trust.allows(entry(project))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other owners")
@pytest.mark.parametrize("which", ["it", "its folder"])
def test_a_record_of_somebody_else_allows_nothing(
    which: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file or its folder; also for root, to whom all is open."""
    trust.allow(entry(project))
    if which == "its folder":
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    elif os.geteuid() == 0:
        os.chown(trust.file, 12345, -1)
    else:
        pytest.skip("only root gives files away")
    refuses(trust, project, f"{which} belongs to another user")


def test_a_record_that_cannot_be_read_allows_nothing(
    project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Permissions mean nothing to root, so the system's answer is put into its mouth."""
    trust.allow(entry(project))
    real = os.open

    def refusing(path: Any, *rest: Any, **named: Any) -> int:
        if path == trust.file:
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", refusing)
    refuses(trust, project, "it cannot be read: permission denied")


def test_a_path_with_escapes_touches_no_terminal(project: Path, tmp_path: Path) -> None:
    """Wherever the record is."""
    trust = Trust(str(tmp_path / "a\x1b[2J" / "trust.json"))
    trust.allow(entry(project))
    Path(trust.file).write_text("")
    assert not {"\x1b"} & set(trust.denial_reason(entry(project)) or "")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("call", ["write", "fsync", "replace", "fchmod"])
def test_a_record_that_cannot_be_written_stays_as_it_was(
    call: str, project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails; nothing is left beside it."""
    made = trust.allow(entry(project))

    def failing(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(ConfigError) as error:
            trust.allow(entry(project, "xls"))
    assert str(error.value) == (f"cannot write the trust record {trust.file}: no space left on device")
    assert error.value.hint == "fix this, or set PROWESS_CONFIG_DIR to another folder"
    assert trust.all() == (made,)
    assert sorted(os.listdir(os.path.dirname(trust.file))) == ["trust.json", "trust.json.lock"]


def test_a_folder_that_cannot_be_made_is_told(project: Path, tmp_path: Path) -> None:
    """A file is in the way."""
    (tmp_path / "file").write_text("")
    trust = Trust(str(tmp_path / "file/prowess/trust.json"))
    with pytest.raises(ConfigError, match=r"^cannot write the trust record .*: not a directory$"):
        trust.allow(entry(project))


def test_a_folder_too_deep_to_be_made_is_told(project: Path, tmp_path: Path) -> None:
    """However many folders above it are missing."""
    trust = Trust(f"{tmp_path}{'/a' * 1800}/trust.json")
    with pytest.raises(ConfigError, match=r"^cannot write the trust record "):
        trust.allow(entry(project))


def test_a_record_that_is_full_takes_no_more(project: Path, trust: Trust, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would not be believed afterwards."""
    made = trust.allow(entry(project))
    monkeypatch.setattr(prowess.session._trust_record, "MAX_RECORD_BYTES", os.path.getsize(trust.file) + 10)
    with pytest.raises(ConfigError, match=r"^the trust record is full: ") as error:
        trust.allow(entry(project, "xls"))
    assert error.value.hint == "remove skills with `prowess trust --remove SKILL`; `prowess trust --list` shows them"
    assert trust.all() == (made,)


def test_what_a_killed_process_left_is_no_obstacle(project: Path, trust: Trust) -> None:
    """Nor is a link that somebody put there to be written through."""
    made = trust.allow(entry(project))
    victim = project / "victim"
    victim.write_text("mine")
    Path(trust.file + ".new").symlink_to(victim)
    more = trust.allow(entry(project, "xls"))
    assert trust.all() == (made, more)
    assert victim.read_text() == "mine"
    assert not Path(trust.file).is_symlink()
    os.unlink(trust.file + ".lock")
    os.symlink(victim, trust.file + ".lock")
    with pytest.raises(ConfigError, match=r"^cannot write the trust record "):
        trust.revoke("pdf")


CHILD = """
import os, signal, sys
from prowess.catalog import discover
from prowess.session._trust import Trust
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


def child(trust: Trust, project: Path, name: str, when: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CHILD, trust.file, str(project), name, when])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
@pytest.mark.parametrize("when", ["before-write", "half-write", "after-write", "before-fsync", "before-replace"])
def test_a_process_that_is_killed_before_the_end_leaves_the_old_record(when: str, project: Path, trust: Trust) -> None:
    """And no lock: the next one trusts at once."""
    made = trust.allow(entry(project))
    assert child(trust, project, "xls", when).wait(60) == -signal.SIGKILL
    assert trust.all() == (made,)
    more = trust.allow(entry(project, "xls"))
    assert trust.all() == (made, more)
    assert sorted(os.listdir(os.path.dirname(trust.file))) == ["trust.json", "trust.json.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_process_that_is_killed_after_it_leaves_the_new_record(project: Path, trust: Trust) -> None:
    """Whole."""
    trust.allow(entry(project))
    assert child(trust, project, "xls", "after-replace").wait(60) == -signal.SIGKILL
    assert [row.name for row in trust.all()] == ["pdf", "xls"]


def test_sixteen_processes_lose_nothing(project: Path, trust: Trust) -> None:
    """Each trusts a skill of its own, at once."""
    names = [f"s{number:02}" for number in range(16)]
    for name in names:
        skill(project / ".agents/skills" / name)
    children = [child(trust, project, name) for name in names]
    assert [process.wait(120) for process in children] == [0] * 16
    assert [row.name for row in trust.all()] == names


def test_threads_lose_nothing(project: Path, trust: Trust) -> None:
    """The lock is between threads of one process too; trusting and revoking mix."""
    names = [f"s{number:02}" for number in range(16)]
    for name in names:
        skill(project / ".agents/skills" / name)
    entries = [entry_in_folder(see(project), name) for name in names]
    for seen in entries[:8]:
        trust.allow(seen)
    threads = [threading.Thread(target=Trust(trust.file).revoke, args=[seen]) for seen in entries[:8]]
    threads += [threading.Thread(target=Trust(trust.file).allow, args=[seen]) for seen in entries[8:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.name for row in trust.all()] == names[8:]


# ── what the pages say ───────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_the_record_as_it_is() -> None:
    """Its example is one that is believed, and its scopes are those that need trust."""
    page = (Path(__file__).parents[2] / "docs/trust.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(parse_record(example.encode())) == 1
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \|$", page, re.MULTILINE))
    assert {scope for scope, needed in rows.items() if needed == "no"} == ALWAYS_TRUSTED_SCOPES
    assert {scope for scope, needed in rows.items() if needed == "yes"} == {"project", "package", "extra"}


def test_the_page_s_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the root of the repository, by a user who has trusted nothing."""
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    failed, tried = doctest.testfile("docs/trust.md", module_relative=False)
    assert (failed, tried > 5) == (0, True)
