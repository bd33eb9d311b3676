from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from prowess.cli import main
from prowess.install import Store


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    return Store(str(tmp_path / "data/store"))


def add(store: Store, body: str) -> str:
    with store.open() as opened:
        folder = Path(opened.new_folder(), "pdf")
        folder.mkdir()
        (folder / "SKILL.md").write_text(body)
        return opened.add(str(folder)).tree.digest


def lock(folder: Path, digest: str, body: str) -> Path:
    files = {"SKILL.md": f"100644 sha256:{hashlib.sha256(body.encode()).hexdigest()}"}
    ours = {"digest": digest, "files": files}
    path = folder / "skills-lock.json"
    entry = {"source": "./pdf", "sourceType": "local", "computedHash": "0" * 64, "prowess": ours}
    path.write_text(json.dumps({"version": 1, "skills": {"pdf": entry}}))
    return path


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["store", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_empty_store_is_shown(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store"]) == 0
    assert capsys.readouterr().out == f"{store.folder}: 0 skills, 0 bytes\n"
    assert not Path(store.folder).exists()


def test_the_store_and_its_projects_are_shown(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lock(tmp_path, add(store, "12345"), "12345")
    store.register(str(path))
    assert output(capsys) == {"folder": store.folder, "skills": 1, "bytes": 5, "projects": [str(path)]}
    assert main(["store", "show"]) == 0
    assert capsys.readouterr().out == f"{store.folder}: 1 skill, 5 bytes\n  used by {path}\n"


def test_gc_removes_what_no_lock_names(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, removed = add(store, "kept"), add(store, "removed")
    store.register(str(lock(tmp_path, kept, "kept")))
    assert main(["store", "gc", "--dry-run"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"would remove {removed}\n"
    assert captured.err == "would remove 1 skill, 7 bytes; 1 skill kept\n"
    assert output(capsys)["skills"] == 2
    found = output(capsys, "gc")
    assert (found["removed"], found["bytes"], found["kept"]) == ([removed], 7, 1)
    assert output(capsys)["skills"] == 1


def test_gc_removes_nothing_while_a_lock_is_damaged(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lock(tmp_path, add(store, "kept"), "kept")
    add(store, "other")
    store.register(str(path))
    path.write_text("{")
    assert main(["store", "gc"]) == 2
    assert "skills-lock.json" in capsys.readouterr().err
    assert output(capsys)["skills"] == 2


@pytest.mark.parametrize("arguments", [["--dry-run"], ["show", "--dry-run"], ["clean"]])
def test_wrong_use_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", *arguments]) == 2
    assert "hint:" in capsys.readouterr().err
