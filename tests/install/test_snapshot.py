"""Snapshots of many skills: what is written, found and refused."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from prowess._internal.text import normalize_name
from prowess.catalog import Catalog, ManySkills, State, discover
from prowess.errors import ConfigError, InstallError, ProwessError, SkillNotFoundError
from prowess.install.snapshot import SnapshotProvider, write_snapshot
from prowess.install.snapshot._file import SnapshotFile, SnapshotRow, write_file
from prowess.install.snapshot._provider import SnapshotTable
from prowess.prompt import render
from prowess.search import Index
from support.skills import skill

_TEXT = """
audit build chart check clean deploy draft extract fill fix format merge migrate monitor plan profile publish
report review schedule search split api archive budget calendar changelog cluster commit contract csv
dashboard dataset diagram email form image incident invoice json ledger metric model notebook pdf pipeline
prompt query schema slide table ticket token video wiki über 数据表格
"""
WORDS = _TEXT.split()
QUERIES = (
    *("pdf", "extract tables from a pdf", "deploy the dashboard", "deplo", "ticets", "fill", "wiki email json"),
    *("please help me publish a changelog for the next incident of our cluster pipeline", "数据", "Über", "zzz", "..."),
    *("audit-api-7", "audit api 7", "team-1", "the"),
)
NUMBER = 120


def write_skills(folder: Path, number: int = NUMBER) -> None:
    """Write skills with words that many have, and words that few have."""
    dice = Random(7)  # noqa: S311
    for index in range(number):
        first, second = dice.choice(WORDS[:22]), dice.choice(WORDS[22:-2])
        text = " ".join(dice.choice(WORDS) for _ in range(dice.randint(4, 30)))
        body = "\n".join(["# " + dice.choice(WORDS), *(" ".join(dice.choices(WORDS, k=9)) for _ in range(4))])
        more = "disable-model-invocation: true\n" if index % 40 == 3 else ""
        skill(
            folder / f"team-{index % 3}/{first}-{second}-{index}",
            description=f"Use it to {text}.",
            body=body,
            more=more,
        )


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("skills")
    write_skills(folder)
    return folder


@pytest.fixture(scope="module")
def written(skills: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a snapshot; tests that change it copy it."""
    out = tmp_path_factory.mktemp("out")
    report = write_snapshot(skills, out, env={"PROWESS_NO_CACHE": "1"})
    assert (report.skills, report.read, report.findings) == (NUMBER, NUMBER, ())
    return out


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def data_file(out: Path) -> Path:
    return out / f"snapshot-{json.loads((out / 'snapshot.json').read_bytes())['sha256']}.bin"


def remote_catalog(out: Path, cache: Path, where: Path, **options: Any) -> Catalog:
    return discover(where, home=where / "home", providers=[SnapshotProvider(out, cache=cache, **options)])


def found(index: Index, query: str, limit: int) -> list[tuple[str, float]]:
    return [(hit.entry.name, hit.score) for hit in index.search(query, limit)]


# ── searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["with long integers", "one by one"])
def test_a_search_finds_what_a_search_on_this_machine_finds(
    skills: Path, written: Path, cache: Path, tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same skills in the same order with the same scores, for any number of hits."""
    monkeypatch.setattr("prowess.install.snapshot._file._FEW", few)
    local = Index(discover(tmp_path, home=tmp_path / "home", skill_dirs=[skills]).skills, cache=False)
    remote = remote_catalog(written, cache, tmp_path)
    index = Index(remote.skills)
    for query in QUERIES:
        for limit in (1, 10, 200):
            assert found(index, query, limit) == found(local, query, limit), query
    assert found(index, "pdf", 5)


@pytest.mark.parametrize("few", [0, 1 << 30], ids=["with long integers", "one by one"])
def test_skills_of_this_machine_count_in_the_same_search(
    skills: Path, written: Path, cache: Path, tmp_path: Path, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if all were on this machine; of two skills with one name, the one of this machine is found."""
    monkeypatch.setattr("prowess.install.snapshot._file._FEW", few)
    own = tmp_path / "own"
    skill(own / "extract-tables", description="Extracts tables from a pdf.", body="pdf")
    name = next(path.name for path in sorted(skills.glob("*/*")))
    skill(own / name, description="Extracts a pdf.", body="pdf")
    remote = discover(
        tmp_path, home=tmp_path / "home", skill_dirs=[own], providers=[SnapshotProvider(written, cache=cache)]
    )
    hits = Index(remote.skills).search("extract pdf", 200)
    assert [hit.entry.name for hit in hits].count(name) == 1
    assert {hit.entry.path for hit in hits if hit.entry.name == name} == {str(own / name / "SKILL.md")}
    assert "extract-tables" in [hit.entry.name for hit in hits[:3]]
    shadowed = [entry for entry in remote.explain(name) if entry.state is State.SHADOWED]
    assert [entry.shadowed_by for entry in shadowed] == [str(own / name / "SKILL.md")]


def test_a_model_does_not_find_what_authors_hide_from_it(written: Path, cache: Path, tmp_path: Path) -> None:
    remote = remote_catalog(written, cache, tmp_path)
    hidden = [entry.name for entry in remote.skills if entry.state is State.USER_ONLY]
    assert len(hidden) == NUMBER // 40
    everything = Index(remote.skills).search("use it pdf json api", 500)
    shown = Index(remote.skills, states=(State.ACTIVE,)).search("use it pdf json api", 500)
    assert {hit.entry.name for hit in everything} - {hit.entry.name for hit in shown} <= set(hidden)
    assert not {hit.entry.name for hit in shown} & set(hidden)


# ── catalogs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_skills_are_found_by_name_and_path(skills: Path, written: Path, cache: Path, tmp_path: Path) -> None:
    remote = remote_catalog(written, cache, tmp_path)
    place = sorted(skills.glob("*/*"))[6]
    entry = remote.resolve(place.name.upper())
    assert entry.path == f"snapshot+file://{written}/{place.parent.name}/{place.name}/SKILL.md"
    assert (entry.name, entry.scope, entry.state) == (place.name, "remote", State.ACTIVE)
    assert remote.resolve(entry.path).digest == entry.digest
    assert len(remote.skills) == remote.counts["found"] == NUMBER
    with pytest.raises(SkillNotFoundError, match="no skill is called"):
        remote.resolve("team-1")


@pytest.mark.parametrize("form", [None, "markdown", "json"])
@pytest.mark.parametrize("budget", [0, 60, 700, 5000, 1_000_000])
def test_a_prompt_shows_what_it_would_show_of_an_ordinary_catalog(
    written: Path, cache: Path, tmp_path: Path, budget: int, form: str | None
) -> None:
    """Though only those entries are made that fit: the same text, and the same names in each list."""
    skill(tmp_path / "own/mine", description="Of this machine.")
    second = tmp_path / "second"
    skill(second / "skills/mine", description="Shadowed.")
    skill(second / "skills/other", description="Of another snapshot.")
    write_snapshot(second / "skills", second / "out", env={"PROWESS_NO_CACHE": "1"})
    providers = [SnapshotProvider(place, cache=cache) for place in (written, second / "out")]
    many = discover(tmp_path, home=tmp_path / "home", skill_dirs=[tmp_path / "own"], providers=providers)
    plain = many.with_changes(skills=tuple(many.skills))
    index = Index(many.skills, states=(State.ACTIVE,))
    options: dict[str, Any] = {"budget": budget, "format": form, "index": index}
    for query in (None, "extract tables from a pdf"):
        assert render(many, query=query, **options) == render(plain, query=query, **options)
    pinned = index.search("wiki email", 1)[0].entry.name
    if budget >= 700:
        levels: dict[str, Any] = {"levels": {pinned: "pin", "mine": "off"}}
        assert render(many, **options, **levels) == render(plain, **options, **levels)
    with pytest.raises(ConfigError, match="no active skill is called `unknown`"):
        render(many, budget=budget, levels={"unknown": "pin"})


def test_a_catalog_survives_a_copy_by_pickle(written: Path, cache: Path, tmp_path: Path) -> None:
    remote = pickle.loads(pickle.dumps(remote_catalog(written, cache, tmp_path)))  # noqa: S301
    assert [entry.name for entry in remote.skills[:3]] == [
        entry.name for entry in remote_catalog(written, cache, tmp_path).skills[:3]
    ]


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_skills_that_did_not_change_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the new data is what it would be if all were read."""
    monkeypatch.setattr("prowess.install.snapshot._write.SETTLE_NS", 0)
    monkeypatch.setattr("prowess.install.snapshot._file._DENSE_SHARE", 3)
    top, env = tmp_path / "skills", {"PROWESS_CACHE_DIR": str(tmp_path / "cache")}
    write_skills(top, 30)
    assert write_snapshot(top, tmp_path / "out", env=env).read == 30
    again = write_snapshot(top, tmp_path / "out", env=env)
    assert (again.skills, again.read) == (30, 0)
    first = sorted(top.glob("*/*"))[4]
    (first / "SKILL.md").write_text(f"---\nname: {first.name}\ndescription: Changed for zebras.\n---\n\nwiki\n")
    skill(top / "team-1/aaa-new", description="A new pdf.", body="json")
    for path in sorted(top.glob("*/*"))[7].iterdir():
        path.unlink()
    changed = write_snapshot(top, tmp_path / "out", env=env)
    assert (changed.skills, changed.read) == (30, 2)
    whole = write_snapshot(top, tmp_path / "whole", env={"PROWESS_NO_CACHE": "1"})
    assert (whole.read, whole.sha256) == (30, changed.sha256)


def test_writing_again_keeps_the_data_that_readers_may_still_fetch(tmp_path: Path) -> None:
    top, out = tmp_path / "skills", tmp_path / "out"
    names = []
    for number in range(3):
        skill(top / f"pdf-{number}", description="Fills a form.")
        names.append(f"snapshot-{write_snapshot(top, out, env={'PROWESS_NO_CACHE': '1'}).sha256}.bin")
    assert sorted(name for name in os.listdir(out) if name.endswith(".bin")) == sorted(names[1:])


def test_skills_that_cannot_be_used_are_left_out_and_reported(tmp_path: Path) -> None:
    top = tmp_path / "skills"
    skill(top / "a/pdf", description="Fills a form.")
    skill(top / "b/pdf", description="The same name.")
    skill(top / "bad", description="Leads out.")
    (top / "bad/link").symlink_to("/etc/passwd")
    skill(top / "colon", "docs:pdf", description="Looks like a skill of a server.")
    report = write_snapshot(top, tmp_path / "out", env={"PROWESS_NO_CACHE": "1"})
    assert report.skills == 1
    assert [Path(item.path or "").parent.name for item in report.findings] == ["pdf", "bad", "colon"]


# ── refreshing ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_fresh_snapshot_in_the_cache_needs_no_place(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All processes share it; a place that fails later leaves the last good one, and a finding says so."""
    out = tmp_path / "out"
    skill(tmp_path / "skills/pdf", description="Fills a form.")
    write_snapshot(tmp_path / "skills", out, env={"PROWESS_NO_CACHE": "1"})
    assert len(SnapshotProvider(out, cache=cache).list("/")) == 1
    pointer = (out / "snapshot.json").read_bytes()
    (out / "snapshot.json").unlink()
    fresh = SnapshotProvider(out, cache=cache)
    assert (len(fresh.list("/")), fresh.findings) == (1, ())
    fresh.refresh("/")
    assert len(fresh.list("/")) == 1
    assert [item.code for item in fresh.findings] == ["server-failed"]
    assert "an earlier one is used" in fresh.findings[0].message
    (out / "snapshot.json").write_bytes(pointer)
    data_file(out).unlink()  # unchanged, so the data is not fetched
    fresh.refresh("/")
    assert (len(fresh.list("/")), fresh.findings) == (1, ())


def test_a_newer_snapshot_replaces_the_last_one(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "out"
    skill(tmp_path / "skills/pdf", description="Fills a form.")
    write_snapshot(tmp_path / "skills", out, env={"PROWESS_NO_CACHE": "1"})
    provider = SnapshotProvider(out, cache=cache, max_age=0)
    before = provider.list("/")
    skill(tmp_path / "skills/wiki", description="Writes a page.")
    write_snapshot(tmp_path / "skills", out, env={"PROWESS_NO_CACHE": "1"})
    assert [entry.name for entry in provider.list("/")] == ["pdf", "wiki"]
    assert [entry.name for entry in before] == ["pdf"]
    (folder,) = (cache / "snapshots").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["current.json", "lock", data_file(out).name]


def test_without_a_cache_each_process_fetches_for_itself(written: Path) -> None:
    provider = SnapshotProvider(written, env={"PROWESS_NO_CACHE": "1"})
    assert len(provider.list("/")) == NUMBER


# ── hostile snapshots ────────────────────────────────────────────────────────────────────────────────────────────────


def use(path: Path) -> None:
    """Ask for everything that a program can ask for, as if a folder had this data."""
    use_all(SnapshotTable(SnapshotFile(str(path), "it"), "root/", None))  # type: ignore[arg-type]


def test_damaged_data_is_an_error_and_nothing_else(written: Path, tmp_path: Path) -> None:
    """Whatever byte is wrong: all that a program can ask for gives an answer or a Prowess error."""
    good, dice, refused = data_file(written).read_bytes(), Random(3), 0  # noqa: S311
    for number in range(150):
        data = bytearray(good)
        for _ in range(1 if number % 2 else 40):
            # The header, the start of a page, or anywhere.
            page = dice.randrange(len(data) // 4096) * 4096
            at = dice.choice((dice.randrange(100), page + dice.randrange(16), dice.randrange(len(data))))
            data[at] = dice.choice((0, 1, 0x7F, 0xFF, data[at] ^ 0x10))
        (tmp_path / "data").write_bytes(data)
        try:
            use(tmp_path / "data")
        except ProwessError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"name": "docs:pdf"}, "the name of a skill is invalid"),
        ({"name": ""}, "the name of a skill is invalid"),
        ({"name": "a\nb"}, "the name of a skill is invalid"),
        ({"name": "x" * 257}, "its names are too long"),
        ({"path": "../pdf"}, "the path of a skill is invalid"),
        ({"path": "/etc/pdf"}, "the path of a skill is invalid"),
        ({"path": "a//pdf"}, "the path of a skill is invalid"),
        ({"path": "a\u202epdf"}, "the path of a skill is invalid"),
        ({"description": "x" * 300_000}, "the description of a skill is too long"),
    ],
)
def test_names_and_paths_that_look_like_others_are_refused(values: dict[str, str], words: str, tmp_path: Path) -> None:
    fields: dict[str, Any] = {"name": "pdf", "path": "pdf", "description": "Fills.", "digest": "sha256:" + "0" * 64}
    write_file(str(tmp_path / "data"), [SnapshotRow(**{**fields, **values})], {})
    with pytest.raises(InstallError, match=words):
        use(tmp_path / "data")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE VIEW more AS SELECT * FROM skills", "its header is invalid"),
        ("CREATE TRIGGER more AFTER INSERT ON skills BEGIN DELETE FROM keys; END", "its header is invalid"),
        ("CREATE TABLE more (x)", "its header is invalid"),
        ("CREATE INDEX more ON skills (name)", "its header is invalid"),
        ("DROP TABLE terms", "its header is invalid"),
        ("ALTER TABLE skills RENAME COLUMN flags TO name2", "its header is invalid"),
        ("DROP TABLE terms; CREATE VIEW terms AS SELECT * FROM keys", "its header is invalid"),
        ("PRAGMA user_version = 1", "has version 1, and this Prowess reads version 3"),
        ("PRAGMA application_id = 1", "it is not a snapshot"),
        ("UPDATE counts SET skills = -1", "its header is invalid"),
        ("UPDATE counts SET skills = 'many'", "its header is invalid"),
        ("UPDATE counts SET skills = 1000001", "its header is invalid"),
        ("DELETE FROM counts", "its header is invalid"),
        ("UPDATE counts SET skills = 1000", "it lacks a skill"),
        ("UPDATE skills SET name = x'00'", "its names are too long or no texts"),
        ("UPDATE skills SET path = x'05'", "the path of a skill is too long or no text"),
        ("UPDATE texts SET description = NULL", "the description of a skill is too long or no text"),
        ("UPDATE texts SET description = CAST(x'ff' AS TEXT)", "its pages are invalid"),
        ("UPDATE skills SET digest = x'00'", "the digest of a skill is invalid"),
        ("UPDATE skills SET flags = 'none'", "its names are too long or no texts"),
        ("UPDATE keys SET row = row + 1000", "a name leads to a skill that it does not have"),
        ("UPDATE terms SET term = CAST(hex(term) AS TEXT)", "a word is not UTF-8"),
        ("UPDATE terms SET term = CAST(term || x'ff' AS BLOB)", "a word is not UTF-8"),
        ("UPDATE terms SET skills = NULL", "the postings of a word have an invalid size"),
        ("UPDATE terms SET skills = 1000000", "the postings of a word have an invalid size"),
        ("UPDATE terms SET rows = NULL, impacts = NULL", "the postings of a word have an invalid size"),
        ("UPDATE terms SET rows = zeroblob(3)", "the postings of a word have an invalid size"),
        ("UPDATE terms SET rows = 1.5", "the postings of a word have an invalid size"),
        ("UPDATE terms SET impacts = zeroblob(3)", "the postings of a word have an invalid size"),
        ("UPDATE terms SET rows = x'ffffffff', skills = 1, impacts = NULL", "leads to a skill that it does not have"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused(statement: str, words: str, written: Path, tmp_path: Path) -> None:
    """Anyone can make one with SQLite: nothing in it runs, and every value is checked."""
    path = tmp_path / "data"
    path.write_bytes(data_file(written).read_bytes())
    with closing(sqlite3.connect(path)) as database:
        database.executescript(statement)
    with pytest.raises(InstallError, match=words):
        use(path)


def test_a_query_that_does_not_end_is_stopped(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of a hostile file may refer to each other again and again."""
    monkeypatch.setattr("prowess.install.snapshot._file._STEPS", 10)
    monkeypatch.setattr("prowess.install.snapshot._file._MAX_STEPS", 20)
    with pytest.raises(InstallError, match="its pages are invalid"):
        use(data_file(written))


def use_all(table: Any) -> None:
    skills = ManySkills((), (table,))
    assert len(list(table.names_and_states())) == len(table)
    index = Index(skills, cache=False)
    for query in ("pdf", "extract tab", "ticets", "wiki email json 数据"):
        table.postings.best({"pdf": 1.0, "json": 0.5}, 5)
        assert len(index.search(query, 5)) <= 5
    for entry in skills:
        assert isinstance(f"{entry.path}{entry.description}{entry.folder}{entry.digest}", str)
        assert isinstance(skills.named(normalize_name(entry.name)), list)
    list(table.postings.all_terms())


@pytest.mark.parametrize("size", [0, 1, 47, 48, 300, 2000])
def test_a_truncated_snapshot_is_refused(written: Path, cache: Path, tmp_path: Path, size: int) -> None:
    """Though its pointer has the right digest; the last good one stays."""
    out = tmp_path / "out"
    skill(tmp_path / "skills/pdf", description="Fills a form.")
    write_snapshot(tmp_path / "skills", out, env={"PROWESS_NO_CACHE": "1"})
    provider = SnapshotProvider(out, cache=cache, max_age=0)
    assert len(provider.list("/")) == 1
    publish(out, data_file(written).read_bytes()[:size])
    assert len(provider.list("/")) == 1
    assert len(provider.findings) == 1
    other = SnapshotProvider(out, cache=tmp_path / "other")
    assert (list(other.list("/")), len(other.findings)) == ([], 1)
    with pytest.raises(InstallError):
        other.table()


def publish(out: Path, data: bytes) -> None:
    import hashlib

    sha256 = hashlib.sha256(data).hexdigest()
    (out / f"snapshot-{sha256}.bin").write_bytes(data)
    (out / "snapshot.json").write_text(json.dumps({"version": 1, "sha256": sha256, "size": len(data)}))


def other_digest(out: Path) -> None:
    data_file(out).write_bytes(data_file(out).read_bytes()[:-1] + b"\1")


def larger(out: Path) -> None:
    data_file(out).write_bytes(data_file(out).read_bytes() + b"\0")


def pointer(**values: object) -> Any:
    good = {"version": 1, "sha256": "0" * 64, "size": 10}
    return lambda out: (out / "snapshot.json").write_text(json.dumps({**good, **values}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_digest, "does not have the digest"),
        (larger, "more than"),
        (pointer(sha256="../../etc/passwd"), "is invalid"),
        (pointer(size=-1), "is invalid"),
        (pointer(size=1 << 60), "too large"),
        (pointer(size=True), "is invalid"),
        (pointer(version=2), "is invalid"),
        (pointer(), "cannot read snapshot-"),
        (lambda out: (out / "snapshot.json").write_text("[" * 60000), "is invalid"),
        (lambda out: (out / "snapshot.json").write_bytes(b" " * 70000), "more than"),
        (lambda out: (out / "snapshot.json").unlink(), "cannot read snapshot.json"),
    ],
)
def test_what_is_not_a_snapshot_is_refused(written: Path, tmp_path: Path, cache: Path, change: Any, words: str) -> None:
    import shutil

    out = tmp_path / "out"
    shutil.copytree(written, out)
    change(out)
    with pytest.raises(InstallError, match=words):
        SnapshotProvider(out, cache=cache).table()
    assert not list(cache.glob("snapshots/*/*.bin"))


@pytest.mark.parametrize("url", ["ftp://host/x", "file://elsewhere/x", "x://", "file://"])
def test_urls_of_other_kinds_are_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        SnapshotProvider(url)


@pytest.mark.slow
def test_writers_of_one_snapshot_work_one_after_another(tmp_path: Path) -> None:
    """Otherwise one removes the data that another names a moment later."""
    skill(tmp_path / "skills/pdf")
    out = tmp_path / "out"
    out.mkdir()
    fcntl = pytest.importorskip("fcntl")
    other = os.open(out, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    writer = Thread(target=write_snapshot, args=(tmp_path / "skills", out), kwargs={"env": {"PROWESS_NO_CACHE": "1"}})
    writer.start()
    try:
        writer.join(0.3)
        assert not (out / "snapshot.json").exists()
    finally:
        os.close(other)
        writer.join()
    assert data_file(out).is_file()
