"""The embedding of `prowess[semantic]`: its tokenizer, and its model with stand-ins for numpy and onnxruntime."""

from __future__ import annotations

import struct
import sys
from hashlib import sha256
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ProwessError
from prowess.search import _minilm
from prowess.search._minilm import MiniLM, token_ids

if TYPE_CHECKING:
    from pathlib import Path

FIRST, LAST, UNKNOWN = 101, 102, 100
"""The numbers that BERT gives to the start and the end of a text, and to a word that it does not know."""


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        # As the documentation of BERT and of its tokenizers has them.
        pytest.param("Hello world", [7592, 2088], id="small-letters"),
        pytest.param("hello, world!", [7592, 1010, 2088, 999], id="punctuation"),
        pytest.param("tokenization", [19204, 3989], id="pieces"),
        pytest.param("h\u00e9llo w\u00f3rld", [7592, 2088], id="accents"),
        pytest.param("he\u0301llo\tworld\r\n", [7592, 2088], id="accents-apart-and-blanks"),
        pytest.param("hello\0\u200b\ud800 world\ufffd", [7592, 2088], id="control-characters"),
        pytest.param("\u4e00\u4e00", [1740, 1740], id="ideographs"),
        pytest.param("\U0001f600", [UNKNOWN], id="unknown"),
        pytest.param("x" * 101, [UNKNOWN], id="too-long-a-word"),
        pytest.param("", [], id="empty"),
    ],
)
def test_a_text_is_split_as_bert_does(text: str, ids: list[int]) -> None:
    assert token_ids(text) == [FIRST, *ids, LAST]


@pytest.mark.parametrize(
    "text", ["hello " * 500_000, "a-" * 1_000_000, "\u4e00" * 1_000_000, "e" + "\u0301" * 1_000_000]
)
def test_only_the_start_of_a_text_counts(text: str) -> None:
    ids = token_ids(text)
    assert len(ids) <= 128
    assert (ids[0], ids[-1]) == (FIRST, LAST)


class Rows(list[Any]):
    """What a test needs of an array."""

    def tolist(self) -> list[Any]:
        return list(self)


class Session:
    """A session whose last hidden state is 3 and 4 in its first two numbers, for every piece of a text."""

    given: dict[str, Any]

    def __init__(self, data: bytes, options: Any, providers: list[str]) -> None:
        self.data, self.options, self.providers = data, options, providers

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        assert names == ["last_hidden_state"]
        Session.given = inputs
        state = [3.0, 4.0, *[0.0] * 382]
        return [[Rows([state for _ in inputs["input_ids"][0]])]]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as the model, and stand-ins for the packages that load it."""
    file = tmp_path / "model.onnx"
    file.write_bytes(b"weights")
    monkeypatch.setattr(_minilm, "SHA256", sha256(b"weights").hexdigest())
    levels = SimpleNamespace(ORT_ENABLE_ALL="all", ORT_DISABLE_ALL="none")
    runtime = SimpleNamespace(SessionOptions=SimpleNamespace, GraphOptimizationLevel=levels, InferenceSession=Session)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(
        sys.modules, "numpy", SimpleNamespace(array=lambda rows, kind: rows if kind == "int64" else None)
    )
    return file


def test_a_vector_is_the_mean_of_its_pieces_with_length_1(model: Path) -> None:
    loaded = MiniLM(str(model), several=False)
    first, second, *others = struct.unpack("<384e", loaded.embed("Hello world"))
    assert (round(first, 3), round(second, 3), set(others)) == (0.6, 0.8, {0.0})
    assert Session.given == {
        "input_ids": [[FIRST, 7592, 2088, LAST]],
        "attention_mask": [[1, 1, 1, 1]],
        "token_type_ids": [[0, 0, 0, 0]],
    }


def test_the_model_runs_on_one_thread_and_is_made_faster_for_several_texts(model: Path) -> None:
    for several, level in ((False, "none"), (True, "all")):
        session: Any = MiniLM(str(model), several=several)._session
        assert session.options.graph_optimization_level == level
        assert (session.options.intra_op_num_threads, session.options.inter_op_num_threads) == (1, 1)
        assert session.providers == ["CPUExecutionProvider"]


def test_another_model_is_refused(model: Path) -> None:
    """Before anything reads it."""
    model.write_bytes(b"other weights")
    with pytest.raises(ProwessError, match="is not the one that Prowess knows"):
        MiniLM(str(model), several=False)


@pytest.mark.parametrize("problem", ["no file", "no runtime", "a runtime that fails", "another runtime"])
def test_a_model_that_cannot_be_loaded_is_an_error(problem: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("invalid graph")

    if problem == "no file":
        model.unlink()
    elif problem == "no runtime":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    elif problem == "a runtime that fails":
        monkeypatch.setattr(sys.modules["onnxruntime"], "InferenceSession", fail)
    else:
        monkeypatch.delattr(sys.modules["onnxruntime"], "GraphOptimizationLevel")
    with pytest.raises(ProwessError, match="the model cannot be loaded: "):
        MiniLM(str(model), several=True)
