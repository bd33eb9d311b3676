"""Remove folders, even those prepared so that they cannot be removed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess._internal.fs import remove_tree, remove_tree_at

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders have no descriptors there")


def make_deep(top: Path, levels: int) -> None:
    """Nest more folders than fit into a path."""
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)


def make_inaccessible(top: Path) -> None:
    """Create folders that their owner may neither list nor change."""
    (top / "none/inner").mkdir(parents=True)
    (top / "read/inner").mkdir(parents=True)
    (top / "read/inner/file").write_text("x")
    for path, mode in (("none", 0), ("read/inner", 0o500), ("read", 0o500), (".", 0o300)):
        (top / path).chmod(mode)


def test_everything_is_removed_and_link_targets_stay(tmp_path: Path) -> None:
    (tmp_path / "kept/inner").mkdir(parents=True)
    top = tmp_path / "top"
    (top / "a/b").mkdir(parents=True)
    (top / "a/b/file").write_text("x")
    (top / "a/out").symlink_to(tmp_path / "kept")
    os.mkfifo(top / "a/pipe")
    remove_tree(str(top))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["inner", "kept"]


def test_a_parent_may_be_a_link_but_not_the_folder(tmp_path: Path) -> None:
    """On macOS the folder for temporary files is inside a link."""
    (tmp_path / "real/top/inner").mkdir(parents=True)
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "real/other").mkdir()
    (tmp_path / "link").symlink_to("real/other")
    remove_tree(str(tmp_path / "link"))
    remove_tree(str(tmp_path / "way/top"))
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["other"]
    assert (tmp_path / "link").is_symlink()


def test_files_and_missing_folders_are_left_alone(tmp_path: Path) -> None:
    """They are no error."""
    (tmp_path / "file").write_text("x")
    fd = os.open(tmp_path, os.O_RDONLY)
    for name in ("file", "missing", "missing/inner"):
        remove_tree(str(tmp_path / name))
        remove_tree_at(name, fd)
    os.close(fd)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_deep_folders_are_removed_with_few_descriptors(tmp_path: Path) -> None:
    """No descriptor stays open."""
    import resource

    make_deep(tmp_path / "top", 300)
    fd = os.open(tmp_path, os.O_RDONLY)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 20, limits[1]))
    try:
        remove_tree_at("top", fd)
        spare = [os.dup(fd) for _ in range(3)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for one in (fd, *spare):
        os.close(one)
    assert not (tmp_path / "top").exists()


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may do it without permission; see below")
def test_folders_without_permissions_are_removed(tmp_path: Path) -> None:
    make_inaccessible(tmp_path / "top")
    remove_tree(str(tmp_path / "top"))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_removes_folders_without_permissions(tmp_path: Path) -> None:
    """Permissions do not matter to root: the same as above, as another user."""
    os.chown(tmp_path, 65534, 65534)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    script = (
        "import os, sys, pathlib, test_fs_removal\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "top = pathlib.Path(sys.argv[1], 'top')\n"
        "test_fs_removal.make_inaccessible(top)\n"
        "try: os.listdir(top)\n"
        "except PermissionError: print('inaccessible')\n"
        "test_fs_removal.remove_tree(str(top))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    argv = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, [*tmp_path.iterdir()]) == ("inaccessible\n", [])
