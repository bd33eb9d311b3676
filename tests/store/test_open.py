"""Opening a store: its URL, its tables, its file, and databases that fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.installer import install_command
from prowess.errors import ConfigError, StoreError
from prowess.store import open_store
from support.growth import END
from support.postgres import start_postgres
from support.programs import require
from support.users import ALICE, MALLORY, only_root

if TYPE_CHECKING:
    from support.postgres import Postgres

SECRET = "s3cret-word"
CLOSED = "`postgresql://127.0.0.1:1/d`"
"""A port on which nothing listens."""
SOURCE = Path(__file__).parents[2] / "src"


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=END)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        pytest.param("", "no URL of a store given", id="empty"),
        pytest.param("conversations.db", "the store is not a URL", id="path"),
        pytest.param(f"mysql://u:{SECRET}@h/d", "unknown database `mysql`", id="mysql"),
        pytest.param(f"postgresql://u:{SECRET}@h:port/d", "invalid URL of a store", id="port"),
        pytest.param(f"postgresql://u:{SECRET}@h", "the URL of the store names no database", id="no-database"),
        pytest.param(f"postgresql://u:x@{SECRET}@127.0.0.1:1/d", "has more than one `@`", id="at"),
        pytest.param(f"postgresql://u:x@{SECRET}/y@127.0.0.1:1/d", "has more than one `@`", id="at-slash"),
        pytest.param("sqlite://", "the URL of an SQLite store names no file", id="no-file"),
        pytest.param("sqlite:///:memory:", "the URL of an SQLite store names no file", id="memory"),
        pytest.param(f"sqlite:///x?password={SECRET}", "has a host, a user or options", id="options"),
        pytest.param("sqlite:////nowhere/at/all/x.db", "cannot open the store `/nowhere/at/all/x.db`", id="folder"),
        pytest.param("sqlite:////dev/null", "the store `/dev/null` is not a regular file", id="device"),
        pytest.param("sqlite:///a\x00b", "cannot open the store", id="nul"),
        pytest.param(f"postgresql://u:{SECRET}@127.0.0.1:1/d", f"the store {CLOSED} failed", id="refused"),
        pytest.param(f"postgres://127.0.0.1:1/d?password={SECRET}", f"the store {CLOSED} failed", id="query"),
        pytest.param("postgresql://127.0.0.1:1/d?no_such_option=1", f"the store {CLOSED} failed", id="option"),
    ],
)
def test_a_url_that_cannot_be_used_is_an_error_without_its_password(url: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(url)
    assert message in str(caught.value)
    assert caught.value.hint
    assert SECRET not in f"{caught.value} {caught.value.hint}"


def test_a_password_that_is_refused_is_not_shown() -> None:
    """Neither in the error nor in the store's own description."""
    require("postgres")
    with start_postgres() as server:
        server.run(f"CREATE ROLE u LOGIN PASSWORD '{SECRET}'")
        (server.folder / "data/pg_hba.conf").write_text("local all tests trust\nlocal all all scram-sha-256\n")
        server.run("SELECT pg_reload_conf()")
        with pytest.raises(ConfigError, match="password authentication failed") as caught:
            open_store(f"postgresql://u:wrong-{SECRET}@/postgres?host={server.folder}")
        assert SECRET not in f"{caught.value} {caught.value.hint}"
        server.run("GRANT ALL ON SCHEMA public TO u")
        with open_store(f"postgresql://u:{SECRET}@/postgres?host={server.folder}") as store:
            assert repr(store) == f"Store(`postgresql://{server.folder}/postgres`)"


def test_only_its_user_can_read_the_file(tmp_path: Path) -> None:
    """And the files that SQLite puts beside it."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as store, store.turn("c") as turn:
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        turn.save()
    assert modes["store.db"] == 0o600
    assert set(modes.values()) == {0o600}
    assert len(modes) > 1


@pytest.mark.parametrize("umask", [0o000, 0o022])
@pytest.mark.parametrize("mode", [0o644, 0o640])
def test_an_older_file_is_closed_to_others(mode: int, umask: int, tmp_path: Path) -> None:
    """And the files beside it."""
    before = os.umask(umask)
    try:
        with open_store(f"sqlite:///{tmp_path}/store.db") as store, store.turn("c") as turn:
            turn.save()
        (tmp_path / "store.db").chmod(mode)
        (tmp_path / "store.db-journal").write_bytes(b"")
        (tmp_path / "store.db-journal").chmod(mode)
        with open_store(f"sqlite:///{tmp_path}/store.db") as store, store.turn("c") as turn:
            assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
            turn.save()
    finally:
        os.umask(before)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal", "-turns"])
@pytest.mark.parametrize("target", ["precious", "missing", "folder"])
def test_no_file_of_a_store_is_a_link(ending: str, target: str, tmp_path: Path) -> None:
    """SQLite would write through it."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/precious").write_text("precious")
    (tmp_path / "out/folder").mkdir()
    (tmp_path / "db").mkdir(mode=0o700)
    (tmp_path / f"db/store.db{ending}").symlink_to(tmp_path / "out" / target)
    with pytest.raises(ConfigError, match="it is a link"):
        open_store(f"sqlite:///{tmp_path}/db/store.db")
    assert (tmp_path / "out/precious").read_text() == "precious"
    assert not (tmp_path / "out/missing").exists()


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", "-turns"])
def test_no_file_of_a_store_is_a_fifo(ending: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"store.db{ending}")
    with pytest.raises(ConfigError, match="is not a regular file"):
        open_store(f"sqlite:///{tmp_path}/store.db")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
@pytest.mark.parametrize("place", ["", "store.db", "store.db-wal", "store.db-journal"])
def test_a_store_that_others_can_write_to_is_refused(
    place: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also its folder, in which others could put the files that SQLite keeps beside it."""
    open_store(f"sqlite:///{tmp_path}/store.db").close()
    for ending in ("-wal", "-journal"):
        (tmp_path / f"store.db{ending}").write_bytes(b"")
    (tmp_path / place).chmod(mode)
    with pytest.raises(ConfigError, match="can be changed by other users") as caught:
        open_store(f"sqlite:///{tmp_path}/store.db")
    assert "set `PROWESS_SHARED_DIR` to it if you share it on purpose" in (caught.value.hint or "")
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(tmp_path))
    open_store(f"sqlite:///{tmp_path}/store.db").close()
    if not place.endswith("-wal"):  # which SQLite removes
        assert (tmp_path / place).stat().st_mode & 0o7777 == mode


@only_root
@pytest.mark.parametrize("place", ["", "store.db", "store.db-wal"])
def test_a_store_of_another_user_is_refused_and_that_of_the_project_s_owner_is_not(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root in a container works in a project of a user of the host."""
    monkeypatch.chdir("/")
    open_store(f"sqlite:///{tmp_path}/store.db").close()
    (tmp_path / "store.db-wal").write_bytes(b"")
    os.chown(tmp_path / place, MALLORY, -1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        open_store(f"sqlite:///{tmp_path}/store.db")
    (tmp_path / "cwd").mkdir()
    os.chown(tmp_path / "cwd", MALLORY, -1)
    monkeypatch.chdir(tmp_path / "cwd")
    open_store(f"sqlite:///{tmp_path}/store.db").close()
    (tmp_path / "store.db-wal").write_bytes(b"")
    os.chown(tmp_path / place, MALLORY, -1)
    monkeypatch.setenv("SUDO_UID", str(ALICE))
    with pytest.raises(ConfigError, match="belongs to another user"):
        open_store(f"sqlite:///{tmp_path}/store.db")


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("These are my notes, not a database.\n" * 50)
    (tmp_path / "notes.txt").chmod(0o644)
    with pytest.raises(ConfigError, match="file is not a database"):
        open_store(f"sqlite:///{tmp_path}/notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("These are my notes")
    assert (tmp_path / "notes.txt").stat().st_mode & 0o777 == 0o644


def test_processes_that_open_an_empty_database_at_once_all_succeed(url: str) -> None:
    code = "import sys; from prowess.store import open_store; open_store(sys.argv[1]).turn('c' + sys.argv[2]).save()"

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda number: run_python(code, url, str(number)), range(4)))
    assert [done.stderr for done in ended] == [""] * 4
    with open_store(url) as store:
        assert None not in [store.load(f"c{number}") for number in range(4)]


def test_tables_of_another_version_are_refused(url: str) -> None:
    with open_store(url) as store, store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE prowess_schema SET version = 2")
    with pytest.raises(ConfigError, match=re.escape("has tables of version 2, not 1")):
        open_store(url)


def test_an_error_of_the_database_has_no_text_of_the_conversation(url: str) -> None:
    """One line of the database's own words, and no statement."""
    with open_store(url) as store:
        with store._engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE prowess_conversations")
        with store.turn(None, key="k") as turn, pytest.raises(StoreError) as caught:
            turn.save(history=SECRET, conversation="c")
        assert SECRET not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "prowess_conversations" in str(caught.value)


@pytest.mark.parametrize(("encoding", "locale"), [("SQL_ASCII", "C"), ("LATIN1", "C")])
def test_a_database_that_is_not_in_utf8_is_refused(postgres_server: Postgres, encoding: str, locale: str) -> None:
    """Texts would be lost, or be bytes."""
    name = f"in_{encoding.lower()}_{os.getpid()}"
    postgres_server.run(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE '{locale}' TEMPLATE template0")
    with pytest.raises(ConfigError, match=f"has the encoding {encoding}, not UTF-8$") as caught:
        open_store(postgres_server.url(name))
    assert caught.value.hint == "create its database with `ENCODING 'UTF8' TEMPLATE template0`"


@pytest.mark.slow
def test_a_store_works_again_when_its_server_is_back(postgres_server: Postgres) -> None:
    """All connections are cut; the next turn opens new ones."""
    url = postgres_server.new_database()
    with open_store(url) as store:
        store.turn("c").save(history="a")
        database = url.partition("@/")[2].partition("?")[0]
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"  # noqa: S608
        assert postgres_server.run(cut).startswith("t")
        with store.turn("c") as turn:
            assert turn.saved is not None
            assert turn.saved.history == "a"


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("sqlalchemy", f"this store needs SQLAlchemy: {install_command('store')}"),
        ("psycopg", f"this store needs psycopg: {install_command('postgresql')}"),
    ],
)
def test_a_missing_package_names_the_extra(missing: str, sentence: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from prowess.store import open_store; open_store(sys.argv[1])"
    done = run_python(code, "postgresql://127.0.0.1:1/d")
    assert done.stderr.splitlines()[-1] == f"ImportError: {sentence}"


def test_the_front_door_imports_no_database_before_it_is_used() -> None:
    code = "import sys, prowess.store; prowess.store.open_store; print('sqlalchemy' in sys.modules)"
    assert run_python(code).stdout == "False\n"
