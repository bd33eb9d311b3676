"""No word of a conversation leaves the files of a session: not in an output of a command, and not in the cache."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

from clients._reading import build_home
from prowess import Session, discover
from prowess.cli import main
from prowess.trajectory import AGENTS
from support.project_commands import run_in
from support.recorded import recording_of
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

WORD = "UNMISTAKABLE"


class Planter:
    """Plants a word of its own in each text of a record: in what was said, in arguments, results and files."""

    def __init__(self) -> None:
        self.count = 0

    def plant(self, value: Any) -> Any:
        """Return a value with the words; texts without a blank are names, identifiers, paths and times."""
        if isinstance(value, dict):
            return {key: self.plant(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.plant(item) for item in value]
        if isinstance(value, str) and " " in value:
            self.count += 1
            with suppress(ValueError):  # arguments of a call may be JSON
                return json.dumps(self.plant(json.loads(value)))
            return f"{value}\necho {WORD}{self.count}"
        return value

    def plant_file(self, path: Path) -> None:
        """Plant words in the records of a file."""
        lines = [json.dumps(self.plant(json.loads(line))) + "\n" for line in path.read_text("utf-8").splitlines()]
        path.write_text("".join(lines), encoding="utf-8")

    def plant_database(self, path: Path) -> None:
        """Plant words in the tables of opencode."""
        with closing(sqlite3.connect(path)) as database:
            for table in ("message", "part"):
                for key, data in database.execute(f"select id, data from {table}").fetchall():  # noqa: S608
                    planted = json.dumps(self.plant(json.loads(data)))
                    database.execute(f"update {table} set data = ? where id = ?", (planted, key))  # noqa: S608
            database.execute("update session set title = ?", (f"{WORD}0",))
            database.commit()


def write_planted_home(client: str, home: Path) -> int:
    """Write the home of a client's recorded sessions with planted words, and return how many there are."""
    build_home(client, home)
    planter = Planter()
    for path in home.rglob("*.jsonl"):
        planter.plant_file(path)
    for path in home.rglob("*.db"):
        planter.plant_database(path)
    return planter.count


@pytest.mark.parametrize("client", AGENTS)
def test_no_planted_word_is_in_an_output_or_the_cache(
    client: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And each use is still found, so the words are in records that are read."""
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    project, home = tmp_path.resolve() / "project", tmp_path.resolve() / "home"
    (project / ".git").mkdir(parents=True)
    assert write_planted_home(client, home) > 50
    assert {used.name for session in recording_of(home).sessions for used in session.activations} == {
        *("flags", "knots", "moon", "tide-tables")
    }
    skill(project / ".agents/skills/tide-tables")
    session = Session(discover(project, home=home, env={}), env={}, trajectory=tmp_path / "own.json")
    session.inject(f"Use the tide-tables skill: {WORD}")
    assert WORD in (tmp_path / "own.json").read_text("utf-8")
    page = tmp_path / "page.html"
    many = ("--all-projects", "--since", "2026-01-01")
    imports = ("--import", str(tmp_path / "own.json"))
    shown = []
    for command in (
        ("usage", *many, *imports),
        ("usage", *many, *imports, "--json"),
        ("usage", *many, *imports, "--unused"),
        ("usage", "tide-tables", *many),
        ("why", "tide-tables"),
        ("report", "--usage", "--output", str(page)),
        ("list",),
    ):
        assert run_in(command[0], project, *command[1:]) == 0, command
        shown += [*capsys.readouterr()]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    assert main([]) == 0  # the first screen
    shown += [*capsys.readouterr()]
    texts = [*(text.encode() for text in shown), page.read_bytes()]
    kept = [path.read_bytes() for path in (tmp_path / "cache").iterdir()]
    assert b"tide-tables" in b"".join(texts)
    assert any(b"tide-tables" in data for data in kept)
    assert [data for data in (*texts, *kept) if WORD.encode() in data] == []
