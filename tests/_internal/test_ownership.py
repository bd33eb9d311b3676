"""What is this user's own: folders that are made, paths, and the project above a working directory."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from prowess._internal.file_status import SHARED_VARIABLE, ownership_problem
from prowess._internal.ownership import (
    ForeignError,
    check_own,
    find_foreign,
    find_foreign_below,
    is_own_project,
    own_folder,
)
from support.users import ALICE, MALLORY, give, only_root, run_as

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077, 0o277, 0o777], indirect=True)
def test_each_level_of_a_new_folder_is_for_its_user_alone(umask: None, tmp_path: Path) -> None:
    own_folder(str(tmp_path / "a/b/c"))
    own_folder(str(tmp_path / "a/b/c"))
    assert {stat.S_IMODE((tmp_path / inner).stat().st_mode) for inner in ("a", "a/b", "a/b/c")} == {0o700}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702, 0o722])
@pytest.mark.parametrize("inner", ["top", "top/kept"])
def test_a_folder_that_others_can_write_to_is_refused(mode: int, inner: str, tmp_path: Path) -> None:
    """With the command that helps, and the option for a folder that is shared."""
    own_folder(str(tmp_path / "top/kept"))
    (tmp_path / inner).chmod(mode)
    with pytest.raises(ForeignError) as caught:
        own_folder(str(tmp_path / "top/kept"), str(tmp_path / "top"))
    assert caught.value.strerror == f"`{tmp_path / inner}` can be changed by other users"
    assert caught.value.hint == (
        f"if its content is yours, type `chmod go-w {tmp_path / inner}`, or set `PROWESS_SHARED_DIR` to it if you "
        "share it on purpose"
    )


@only_root
@pytest.mark.parametrize("inner", ["top", "top/kept"])
def test_a_folder_of_another_user_is_refused(inner: str, tmp_path: Path) -> None:
    own_folder(str(tmp_path / "top/kept"))
    os.chown(tmp_path / inner, MALLORY, -1)
    with pytest.raises(ForeignError, match=re.escape(f"`{tmp_path / inner}` belongs to another user")):
        own_folder(str(tmp_path / "top/kept"), str(tmp_path / "top"))


@only_root
def test_a_folder_that_another_user_makes_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the `mkdir`; nothing is made in it."""
    real = os.mkdir

    def mkdir(path: str, mode: int = 0o777) -> None:
        if path.endswith("/a"):
            real(path, 0o777)
            os.chown(path, MALLORY, MALLORY)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(ForeignError):
        own_folder(str(tmp_path / "a/b"))
    assert [*(tmp_path / "a").iterdir()] == []


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("place", ["top", "top/kept"])
def test_only_the_top_may_be_a_link_if_the_caller_says_so(place: str, follow: bool, tmp_path: Path) -> None:
    own_folder(str(tmp_path / "top/kept"))
    (tmp_path / place).rename(tmp_path / "elsewhere")
    (tmp_path / place).symlink_to(tmp_path / "elsewhere")
    if follow and place == "top":
        own_folder(str(tmp_path / "top/kept"), str(tmp_path / "top"), follow=True)
        return
    with pytest.raises(NotADirectoryError):
        own_folder(str(tmp_path / "top/kept"), str(tmp_path / "top"), follow=follow)


@only_root
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    """Although it leads to a folder of this user."""
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("own")
    check_own(str(tmp_path / "link"))
    os.chown(tmp_path / "link", MALLORY, -1, follow_symlinks=False)
    with pytest.raises(ForeignError):
        check_own(str(tmp_path / "link"))


@only_root
def test_root_makes_folders_of_the_user_who_called_sudo_for_that_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise that user could not use them later; elsewhere they are of root."""
    monkeypatch.setenv("SUDO_UID", str(ALICE))
    (tmp_path / "home").mkdir()
    give(ALICE, tmp_path / "home")
    own_folder(str(tmp_path / "home/.config/prowess"))
    own_folder(str(tmp_path / "roots/prowess"))
    owners = [(tmp_path / inner).stat().st_uid for inner in ("home/.config", "home/.config/prowess", "roots/prowess")]
    assert owners == [ALICE, ALICE, 0]


# ── what is shared ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "is_shared"),
    [
        ("{top}/team", True),
        ("/elsewhere:{top}/team/", True),
        ("{top}/link", True),
        ("{top}", True),
        ("{top}/tea", False),
        ("{top}/team/kept/inner", False),
        ("team", False),
        ("", False),
        (":", False),
    ],
)
def test_what_the_user_shares_on_purpose_is_accepted(
    value: str, is_shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of absolute paths, and what is below them."""
    (tmp_path / "team/kept").mkdir(parents=True)
    (tmp_path / "link").symlink_to("team")
    (tmp_path / "team/kept").chmod(0o777)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SHARED_VARIABLE, value.format(top=tmp_path))
    problem = ownership_problem(str(tmp_path / "team/kept"), (tmp_path / "team/kept").stat())
    assert problem == (None if is_shared else "writable")


# ── the way to a file ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_way_through_folders_of_the_user_and_root_has_nothing_foreign(tmp_path: Path) -> None:
    """Also through /tmp, in which only owners can replace what is theirs, and through links."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("")
    (tmp_path / "link").symlink_to("a/../a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "link")
    for inner in ("a/b/file", "link/file", "absolute/file"):
        assert find_foreign(str(tmp_path / inner)) is None


@pytest.mark.parametrize("inner", ["a", "a/b", "a/b/file"])
@pytest.mark.parametrize("way", ["a/b/file", "link/file", "absolute/file"])
def test_a_part_of_the_way_that_others_can_write_to_is_found(inner: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("")
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "link")
    (tmp_path / inner).chmod(0o777)
    found = find_foreign(str(tmp_path / way))
    assert found is not None
    assert found.strerror == f"`{tmp_path / inner}` can be changed by other users"


@only_root
@pytest.mark.parametrize("inner", ["a", "a/b", "a/b/file", "link"])
def test_a_part_of_the_way_of_another_user_is_found(inner: str, tmp_path: Path) -> None:
    """A link too: who owns it could make another one."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("")
    (tmp_path / "link").symlink_to("a/b")
    os.chown(tmp_path / inner, MALLORY, -1, follow_symlinks=False)
    found = find_foreign(str(tmp_path / "link/file"))
    assert found is not None
    assert found.strerror == f"`{tmp_path / inner}` belongs to another user"


def test_a_way_without_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"[Tt]oo many levels"):
        find_foreign(str(tmp_path / "loop"))


def test_what_others_can_write_to_in_a_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_text("")
    (tmp_path / "a/link").symlink_to("/tmp")
    assert find_foreign_below(str(tmp_path), 100) is None
    for inner in ("a/b/file", "a/b", "a"):
        (tmp_path / inner).chmod(0o777)
        found = find_foreign_below(str(tmp_path), 100)
        assert found is not None
        assert f"`{tmp_path / inner}`" in str(found.strerror)


# ── the project above a working directory ────────────────────────────────────────────────────────────────────────────

ROOT = 0
PLACES = {
    # the folder above, its mode, what makes it a project, the working directory: does it count for Alice, root, sudo
    "her own": (ALICE, 0o755, ALICE, ALICE, (True, True, True)),
    "a folder in /tmp, whose .git another user made": (ROOT, 0o1777, MALLORY, ALICE, (False, False, False)),
    "the same for a folder of root": (ROOT, 0o1777, MALLORY, ROOT, (False, False, False)),
    "a folder that all can write to, .git by another user": (ALICE, 0o777, MALLORY, ALICE, (False, False, False)),
    "a folder of another user, with a .git of hers": (MALLORY, 0o755, ALICE, ALICE, (False, True, False)),
    "a folder of another user, in which she works": (MALLORY, 0o755, MALLORY, ALICE, (False, True, False)),
    "the same, open to all": (MALLORY, 0o777, MALLORY, ALICE, (False, True, False)),
    "a project of another user, in whose folder she works": (MALLORY, 0o755, MALLORY, MALLORY, (True, True, True)),
    "a project that root has made": (ROOT, 0o755, ROOT, ALICE, (True, True, True)),
    "a .git of another user in a folder of root": (ROOT, 0o755, MALLORY, ALICE, (False, True, False)),
    "a folder that root has made in her project": (ALICE, 0o755, ALICE, ROOT, (True, True, True)),
    "a folder that root has made in a project of another user": (MALLORY, 0o755, MALLORY, ROOT, (False, True, False)),
    "the group can write, and another user did": (ALICE, 0o775, MALLORY, ALICE, (False, False, False)),
}
"""In a container, root works on the files of a user of the host, without a word from `sudo`."""


@only_root
@pytest.mark.parametrize("place", PLACES)
def test_a_project_above_counts_as_for_git(place: str, open_folder: Path) -> None:
    folder_owner, mode, name_owner, cwd_owner, expected = PLACES[place]
    folder = open_folder / "project"
    cwd = folder / "inner"
    (folder / ".git").mkdir(parents=True)
    cwd.mkdir()
    for path, owner in ((folder, folder_owner), (folder / ".git", name_owner), (cwd, cwd_owner)):
        os.chown(path, owner, owner)
    folder.chmod(mode)
    code = "from prowess._internal.ownership import is_own_project\n"
    code += f"os.environ.update(SUDO)\nprint(is_own_project({str(folder)!r}, '.git', {str(cwd)!r}))"
    answers = []
    for user, caller in ((ALICE, {}), (ROOT, {}), (ROOT, {"SUDO_UID": str(ALICE)})):
        answers.append(run_as(user, code.replace("SUDO", repr(caller)), cwd=open_folder, packages=("_internal",)))
    assert answers == [f"{answer}\n" for answer in expected]


@only_root
def test_a_link_of_another_user_makes_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it leads to a folder of root."""
    (tmp_path / "inner").mkdir()
    (tmp_path / ".git").symlink_to("/usr")
    tmp_path.chmod(0o1777)
    assert is_own_project(str(tmp_path), ".git", str(tmp_path / "inner"))
    os.chown(tmp_path / ".git", MALLORY, -1, follow_symlinks=False)
    assert not is_own_project(str(tmp_path), ".git", str(tmp_path / "inner"))
    assert is_own_project(str(tmp_path), ".git", str(tmp_path))
    monkeypatch.setenv(SHARED_VARIABLE, str(tmp_path))
    assert is_own_project(str(tmp_path), ".git", str(tmp_path / "inner"))


@only_root
@pytest.mark.parametrize("caller", ["", "x", "-1", "0", "99999999999", "²", str(MALLORY + 1)])
def test_an_odd_caller_of_sudo_has_no_further_user(
    caller: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    os.chown(tmp_path / "file", MALLORY, -1)
    monkeypatch.setenv("SUDO_UID", caller)
    with pytest.raises(ForeignError):
        check_own(str(tmp_path / "file"))


@only_root
def test_the_private_group_of_a_user_has_no_other_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many systems make a group for each user, with its name, and let the group write to new files."""
    import grp
    import pwd

    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o664)
    os.chown(tmp_path / "file", ALICE, ALICE)
    monkeypatch.setattr(os, "geteuid", lambda: ALICE)
    path, status = str(tmp_path / "file"), (tmp_path / "file").stat()
    members: list[str] = []
    user = pwd.struct_passwd(("alice", "x", ALICE, ALICE, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("alice", "x", gid, members)))
    assert ownership_problem(path, status) is None
    members.append("mallory")
    assert ownership_problem(path, status) == "writable"
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("staff", "x", gid, [])))
    assert ownership_problem(path, status) == "writable"
