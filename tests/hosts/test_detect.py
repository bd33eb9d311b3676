"""Which agents are on this machine, and in which folders they look."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import prowess
from prowess.catalog import AWAITS_TRUST
from prowess.hosts import detected_hosts, host_names, installed_hosts, load_host, observed_hosts, skills_folder
from prowess.hosts._detect import _is_on_path
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def test_an_agent_is_installed_if_it_has_a_folder_in_the_home_or_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home/.codex").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pi").touch(mode=0o755)
    assert installed_hosts(str(tmp_path / "home")) == ("codex",)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert installed_hosts(str(tmp_path / "home")) == ("codex", "pi")


def test_an_agent_with_a_folder_in_the_project_is_detected_but_not_installed(tmp_path: Path) -> None:
    (tmp_path / "project/.claude").mkdir(parents=True)
    (tmp_path / "project/inner/.gemini").mkdir(parents=True)
    home, inner = str(tmp_path / "home"), str(tmp_path / "project/inner")
    assert installed_hosts(home) == ()
    assert detected_hosts(inner, home) == ("gemini-cli",)
    assert detected_hosts(inner, home, [str(tmp_path / "project")]) == ("claude-code", "gemini-cli")


def test_of_two_releases_of_an_agent_the_newer_is_detected(tmp_path: Path) -> None:
    """The folders of the infer CLI do not say which release it is."""
    (tmp_path / ".infer").mkdir()
    assert detected_hosts(str(tmp_path), str(tmp_path / "home")) == ("infer-cli",)
    for name in host_names():
        assert (load_host(name).newer or name) in host_names()


def test_an_older_release_is_used_only_if_it_is_named(tmp_path: Path) -> None:
    """Both releases of pi are the program `pi` and have the folder `~/.pi`."""
    (tmp_path / "home/.pi").mkdir(parents=True)
    home = str(tmp_path / "home")
    assert installed_hosts(home) == detected_hosts(str(tmp_path), home) == ("pi",)
    assert "pi@0.7" not in observed_hosts()
    assert load_host("pi@0.7").newer == "pi"


def test_prowess_itself_is_not_detected(tmp_path: Path) -> None:
    (tmp_path / ".prowess").mkdir()
    assert detected_hosts(str(tmp_path), str(tmp_path)) == ()
    assert "prowess" not in observed_hosts()


def test_ten_agents_were_observed() -> None:
    first = ("claude-code", "cline", "codex", "copilot", "gemini-cli", "kimi-code", "mistral-vibe")
    assert observed_hosts() == (*first, "opencode", "pi", "qwen-code")


@pytest.mark.parametrize("host", [name for name in host_names() if skills_folder(name, "project")])
def test_an_agent_looks_in_the_folder_that_is_named_for_a_project(tmp_path: Path, host: str) -> None:
    skill(tmp_path / "project" / str(skills_folder(host, "project")) / "pdf", "pdf", "Fills forms.")
    (tmp_path / "project/.git").mkdir()
    env = {"INFER_AGENT_SKILLS_ENABLED": "true"}
    seen = prowess.discover(tmp_path / "project", host=host, home=tmp_path / "home", env=env)
    (entry,) = seen.skills
    assert entry.name == "pdf"
    assert str(entry.state) == "active" or entry.rule == AWAITS_TRUST


@pytest.mark.parametrize(
    ("host", "folder"), [("copilot", ".agents/skills"), ("claude-code", ".claude/skills"), ("wink", None)]
)
def test_a_shared_folder_of_a_project_comes_first(host: str, folder: str | None) -> None:
    assert skills_folder(host, "project") == folder


def test_a_program_is_found_on_the_path_like_in_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folders of PATH, if it is executable and not a folder."""
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / name / "folder").mkdir(parents=True)
        (tmp_path / name / "tool").touch(mode)
    monkeypatch.chdir(tmp_path / "second")
    for path in ("", "first", ":first", "../first:../second", str(tmp_path / "second"), "/nowhere", None):
        monkeypatch.delenv("PATH", raising=False) if path is None else monkeypatch.setenv("PATH", path)
        for program in ("tool", "folder", "sh", "none"):
            assert _is_on_path(program) is (shutil.which(program) is not None), (path, program)
