"""What one command has read of the file system."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.filesystem._filesystem import Filesystem
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


class Opens:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        for name in ("open", "scandir"):
            monkeypatch.setattr(os, name, self.noting(getattr(os, name)))

    def noting(self, real: Any) -> Any:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            self.paths.append(str(path))
            return real(path, *rest, **named)

        return call


def test_a_listing_is_sorted_and_has_kinds(tmp_path: Path) -> None:
    """`d` folder, `f` file, `l` link, `?` other; each directory is listed once."""
    (tmp_path / "b").mkdir()
    (tmp_path / "a").write_text("x")
    (tmp_path / "d").symlink_to("b")
    (tmp_path / "e").symlink_to("nowhere")
    os.mkfifo(tmp_path / "c")
    filesystem = Filesystem()
    wanted = (("a", "f"), ("b", "d"), ("c", "?"), ("d", "l"), ("e", "l"))
    assert filesystem.listing(str(tmp_path)) == wanted
    (tmp_path / "new").write_text("x")
    assert filesystem.listing(str(tmp_path)) == wanted
    assert len(Filesystem().listing(str(tmp_path))) == 6


@pytest.mark.parametrize("name", ["absent", "file", "nul\0", "file/below"])
def test_a_listing_that_fails_is_an_error_each_time(name: str, tmp_path: Path) -> None:
    """The error is cached too."""
    (tmp_path / "file").write_text("x")
    filesystem = Filesystem()
    for _ in range(2):
        with pytest.raises(OSError, match=r"."):
            filesystem.listing(str(tmp_path / "x")[:-1] + name)


def test_a_skill_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of the file is enough until the whole file is needed; the whole file serves both."""
    path = str(skill(tmp_path / "pdf", body="x" * 9000))
    opens = Opens(monkeypatch)
    filesystem = Filesystem()
    head = filesystem.skill(path)
    assert filesystem.skill(path) is head
    assert opens.paths == [path]
    whole = filesystem.skill(path, whole=True)
    assert whole.body.rstrip() == "x" * 9000
    assert filesystem.skill(path) is filesystem.skill(path, whole=True) is whole
    assert opens.paths == [path, path]


def test_the_start_of_a_file_gives_the_same_fields(tmp_path: Path) -> None:
    """Fields and findings are the same, however long the front matter and the body are."""
    for size in (0, 10, 4000, 4096, 5000, 20_000, 60_000):
        path = str(skill(tmp_path / f"s{size}", more=f"k: {'é' * (size // 2)}\n", body="ü" * 5000))
        head, whole = Filesystem().skill(path), Filesystem().skill(path, whole=True)
        assert head.fields == whole.fields
        assert head.findings == whole.findings
        assert head.name == f"s{size}"


def test_a_missing_file_is_a_finding_and_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without SKILL.md costs one open."""
    opens = Opens(monkeypatch)
    filesystem = Filesystem()
    for _ in range(3):
        assert [item.code for item in filesystem.skill(str(tmp_path / "SKILL.md")).findings] == ["file-missing"]
    assert len(opens.paths) == 1


def test_a_link_is_followed_only_if_asked(tmp_path: Path) -> None:
    """Both results are cached separately."""
    skill(tmp_path / "real")
    link = tmp_path / "SKILL.md"
    link.symlink_to("real/SKILL.md")
    filesystem = Filesystem()
    assert [item.code for item in filesystem.skill(str(link)).findings] == ["file-is-link"]
    assert filesystem.skill(str(link), real=os.path.realpath(link)).name == "real"
    assert filesystem.skill(str(link)).document is None


@pytest.mark.parametrize(
    ("text", "table"),
    [
        pytest.param("a: {b: false}\n", {"a": {"b": "false"}}, id="table"),
        pytest.param("- a\n", {}, id="list"),
        pytest.param('"', {}, id="broken"),
        pytest.param("", {}, id="empty"),
        pytest.param("x" * 70_000, {}, id="too-large"),
    ],
)
def test_a_yaml_file_is_a_mapping_or_empty(text: str, table: dict[str, Any], tmp_path: Path) -> None:
    """Never an exception."""
    (tmp_path / "x.yaml").write_text(text)
    assert Filesystem().yaml(str(tmp_path / "x.yaml")) == table
    assert Filesystem().yaml(str(tmp_path / "absent.yaml")) == {}
