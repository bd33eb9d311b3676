"""A catalog that was stored in the cache is loaded unchanged; the key of a result tells by what code it was made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import prowess.cache._code_fingerprint
import prowess.cache._recorded
from prowess.cache import code_fingerprint
from prowess.catalog import Catalog, Entry, catalog_output, discover
from prowess.filesystem import Question
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Skills of every state: active, shadowed, rejected, in a package, behind a link."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", -(10**18))
    top = tmp_path.resolve()
    (top / "repo/.git").mkdir(parents=True)
    skills = top / "repo/.agents/skills"
    skill(skills / "plain")
    skill(skills / "needs", more="requires:\n  bins: [git]\n")
    skill(skills / "Odd", '"ODD"')
    skill(skills / "broken", '"unclosed')
    skill(top / "repo/.claude/skills/plain", description="another")
    skill(top / "repo/.prowess/packages/p/skills/plain")
    skill(top / "repo/lib/inside")
    (skills / "in").symlink_to("../../lib/inside")
    (skills / "nowhere").symlink_to("absent")
    return top


def read(top: Path, host: str = "prowess", **options: Any) -> Catalog:
    return discover(top / "repo", host, home=top / "home", **options)


@pytest.mark.parametrize("host", ["prowess", "claude-code", "codex", "pi", "opencode"])
def test_a_stored_catalog_is_loaded_unchanged(top: Path, host: str) -> None:
    """Whatever the state of a skill; the disk is read only for what is not stored."""
    now, _, recalled = read(top, host, cache=False), read(top, host), read(top, host)
    assert isinstance(recalled.source, tuple), "it is from the cache"
    names = Entry._fields()[:-1]  # all but the parsed skill
    assert [[getattr(entry, name) for name in names] for entry in recalled.skills] == [
        [getattr(entry, name) for name in names] for entry in now.skills
    ]
    assert recalled.findings == now.findings
    assert recalled.host == now.host
    assert recalled.host_rules == now.host_rules
    if host == "prowess":
        assert {str(entry.state) for entry in recalled.skills} == {"active", "shadowed", "rejected"}
        assert any(entry.requirements.bins for entry in recalled.skills)
    assert [entry.skill.name for entry in recalled.skills] == [entry.skill.name for entry in now.skills]
    assert [root.path for root in recalled.scan_roots] == [root.path for root in now.scan_roots]


def test_an_empty_catalog_is_stored(top: Path) -> None:
    for _ in range(2):
        assert discover(top, "wink", home=top / "home").skills == ()


def test_the_code_fingerprint_covers_source_files_python_and_pyyaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is taken when the module is imported: replaced files do not change the code that runs."""
    state = code_fingerprint()
    package = tmp_path / "package"
    for name in (*prowess.cache._code_fingerprint._CODE_PACKAGES, "catalog/any/depth", "mount"):
        (package / name).mkdir(parents=True)
    monkeypatch.setattr(prowess.cache._code_fingerprint, "package_folder", lambda: str(package))
    fingerprint = prowess.cache._code_fingerprint._fingerprint_code
    states = {state, fingerprint()}
    deep = package / "catalog/any/depth/deep.py"
    for file in (package / "top.py", deep, package / "hosts/compiled.pyc"):
        file.write_text("1")
        states.add(fingerprint())
    os.utime(deep, ns=(1, 1))
    states.add(fingerprint())
    (package / "catalog/any/__pycache__").mkdir()
    (package / "catalog/any/__pycache__/deep.pyc").write_text("1")
    (package / "mount/any.py").write_text("1")
    assert fingerprint() in states, "compiled files and packages that do not fill the cache change nothing"
    (tmp_path / "yaml").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    states.add(fingerprint())
    monkeypatch.setattr("sys.version", "4.0")
    states.add(fingerprint())
    assert len(states) == 8
    assert code_fingerprint() == state


def test_the_code_fingerprint_covers_every_module_that_discovery_loads(top: Path) -> None:
    """For every host, with skills that need YAML, a repair and a digest."""
    code = """
import sys
from prowess.catalog import discover
from prowess.hosts import host_names
for host in host_names():
    catalog = discover(sys.argv[1], host, home=sys.argv[1], cache=False)
    print([entry.as_dict() for entry in catalog.skills], catalog.settings, file=sys.stderr)
print(*(module.__spec__.origin for name, module in sys.modules.items() if name.startswith("prowess")), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code, str(top / "repo")], capture_output=True, text=True, check=True)
    files = done.stdout.split("\n")[:-1]
    assert len(files) > 30
    assert set(files) - set(code_fingerprint().split("\n")) == set()


def test_an_output_is_made_once_for_each_purpose(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the catalog, which an output for another purpose is made of."""
    monkeypatch.setattr(prowess.cache._recorded, "SETTLE_NS", 0)
    calls = []

    def make(catalog: Catalog) -> tuple[bytes, str]:
        calls.append(len(catalog.skills))
        return b"out\0put\n", "note"

    def ask(purpose: str = "test") -> tuple[bytes, str]:
        return catalog_output(Question.about(top / "repo", top / "home"), "prowess", purpose=purpose, make=make)

    time.sleep(0.02)
    assert [ask(), ask(), ask()] == [(b"out\0put\n", "note")] * 3
    assert len(calls) == 1
    ask("another")
    assert len(calls) == 2


def test_code_in_an_archive_has_no_fingerprint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So nothing is cached, and nothing fails."""
    (tmp_path / "archive.zip").write_text("x")
    package = str(tmp_path / "archive.zip/prowess")
    monkeypatch.setattr(prowess.cache._code_fingerprint, "package_folder", lambda: package)
    assert prowess.cache._code_fingerprint._fingerprint_code() == ""
