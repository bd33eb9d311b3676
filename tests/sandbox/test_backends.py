"""Which sandbox this machine has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import _backends as backends, find_backend, run, stop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Start without any probe, and list the programs that are probed."""
    paths: list[str] = []
    probe = backends._probe

    def listing(backend: backends.Backend) -> None:
        paths.append(backend.path)
        probe(backend)

    monkeypatch.setattr(backends, "_probe", listing)
    monkeypatch.setattr(backends, "_working", set())
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return paths


def refused(choice: str = "auto", **options: Any) -> tuple[str, str | None]:
    with pytest.raises(SandboxError) as caught:
        find_backend(choice, **options)
    return str(caught.value), caught.value.hint


@pytest.mark.usefixtures("linux")
def test_auto_refuses_untrusted_commands_without_bwrap(
    probes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trusted command runs without a sandbox."""
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = "no sandbox available: `bwrap` is not on PATH"
    remedy = (
        "install bubblewrap (`apt install bubblewrap`), or review the skill and, if you trust it, type `--sandbox none`"
    )
    assert refused() == (reason, remedy)
    assert refused("bwrap", trusted=True) == (reason, remedy)
    assert find_backend(trusted=True).name == "none"
    assert probes == []


@pytest.mark.usefixtures("linux")
def test_a_broken_bwrap_is_an_error(probes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its message; it is tried again each time, since the user may fix it."""
    fake = tmp_path / "bin/bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    reason, hint = refused()
    assert reason == "no sandbox available: `bwrap` does not work here: No permissions to create new namespace"
    assert hint is not None
    assert hint.startswith("allow it to create user namespaces")
    refused()
    assert len(probes) == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("linux")
def test_bwrap_in_a_relative_folder_on_path_is_ignored(
    probes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project could contain it."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\nexit 7\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:")
    assert "not on PATH" in refused()[0]


@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize("folder", ["{}/bin", "/proc/self/cwd/bin", "{}/../link", "{}/../bin"])
def test_bwrap_in_the_working_directory_is_ignored(
    folder: str, probes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However `PATH` names it; in a home, programs are the user's own."""
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    fake = project / "bin/bwrap"
    fake.write_text("#!/bin/sh\nexit 7\n")
    fake.chmod(0o755)
    (tmp_path / "link").symlink_to("project/bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bwrap").symlink_to(fake)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", folder.format(project))
    assert "not on PATH" in refused()[0]
    assert probes == []
    monkeypatch.setenv("HOME", str(project))
    assert find_backend().path == f"{folder.format(project)}/bwrap"


def test_a_successful_probe_is_remembered(bwrap: str, probes: list[str], tmp_path: Path) -> None:
    """Until the machine restarts, for this program and this user, across processes."""
    assert find_backend().name == find_backend().name == "bwrap"
    backends._working.clear()
    assert find_backend().name == "bwrap"
    assert len(probes) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["sandbox"]


@pytest.mark.parametrize("damage", ["empty", "cut", "bit", "other", "folder", "link", "writable", "no-folder"])
def test_an_invalid_probe_cache_is_ignored(damage: str, bwrap: str, probes: list[str], tmp_path: Path) -> None:
    """Bwrap is tried again, and nothing is raised."""
    find_backend()
    backends._working.clear()
    file = tmp_path / "cache/sandbox"
    data = file.read_bytes()
    if damage in ("empty", "cut", "bit", "other"):
        broken = {"empty": b"", "cut": data[:-5], "bit": bytes([data[0] ^ 1]) + data[1:], "other": b"\xff" * 9000}
        file.write_bytes(broken[damage])
    elif damage == "writable":
        file.chmod(0o666)
    else:
        file.unlink()
        if damage == "folder":
            file.mkdir()
        elif damage == "link":
            (tmp_path / "elsewhere").write_bytes(data)
            file.symlink_to(tmp_path / "elsewhere")
        else:
            file.parent.rmdir()
            file.parent.write_text("a file")
    assert find_backend().name == "bwrap"
    assert len(probes) == 2


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ("bwarp", ("unknown sandbox `bwarp`", "did you mean `bwrap`?")),
        ("", ("unknown sandbox ``", "choose one of auto, bwrap, seatbelt, none")),
        ("seatbelt", ("the sandbox `seatbelt` does not exist on this system", "use `--sandbox bwrap`")),
    ],
)
@pytest.mark.usefixtures("linux")
def test_an_unknown_sandbox_is_an_error(choice: str, error: tuple[str, str]) -> None:
    """The hint names the nearest one."""
    assert refused(choice) == error


def test_commands_in_bwrap_share_one_start_of_python(
    bwrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that bwrap costs less than a start of Python (`make bench` measures it)."""
    stop()
    started: list[object] = []
    spawn = os.posix_spawn

    def counting(*given: Any, **named: Any) -> int:
        started.append(given[1])
        return spawn(*given, **named)

    monkeypatch.setattr(os, "posix_spawn", counting)
    for _ in range(10):
        assert run(["/bin/true"], cwd=tmp_path, sandbox=bwrap).exit_code == 0
    assert len(started) == 1
