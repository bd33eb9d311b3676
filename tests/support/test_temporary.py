"""The folder for the files of a run of tests is in memory only where that can be."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from support.cases import new_folder
from support.temporary import ENOUGH, MEMORY, place_for_tests

if sys.platform != "linux":
    pytest.skip("no such folder", allow_module_level=True)


@pytest.mark.parametrize(
    ("free", "flags", "place"),
    [
        pytest.param(ENOUGH, 0, MEMORY, id="room"),
        pytest.param(64 << 20, 0, None, id="the size in a container"),
        pytest.param(ENOUGH, os.ST_NOEXEC, None, id="no programs"),
        pytest.param(ENOUGH, os.ST_RDONLY, None, id="read-only"),
    ],
)
def test_the_folder_is_in_memory_if_it_has_room_and_programs_can_run(
    monkeypatch: pytest.MonkeyPatch, free: int, flags: int, place: str | None
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("os.access", lambda *_: not flags & os.ST_RDONLY)
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=free >> 12, f_frsize=1 << 12, f_flag=flags))
    assert place_for_tests() == place


def test_a_folder_that_the_user_names_is_the_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert place_for_tests() is None


def test_a_system_without_the_folder_uses_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("support.temporary.MEMORY", "/dev/shm/none")
    assert place_for_tests() is None


def test_folders_of_cases_have_the_same_length_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows in tables, and in numbers of characters."""
    with new_folder() as one:
        monkeypatch.setattr("support.temporary.MEMORY", "/dev/shm/none")
        monkeypatch.setenv("TMPDIR", "/dev")
        with new_folder() as other:
            assert len(str(one)) == len(str(other))
