"""Rank skills by the embedding of `prowess[semantic]`: keep a vector for each text, and make missing ones.

A vector is kept in the user's cache by the digest of its text, so a text is embedded once, in whichever catalog it is.
A few missing ones are made at once; more of them by a process of low priority that outlives this one, and until it is
done words alone count. A file that is damaged, of another user or of another model is as if it were missing.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import Lock
from time import monotonic

from prowess._internal.locked import locked
from prowess._internal.ownership import own_folder
from prowess._internal.user_dirs import cache_folder
from prowess.cache import KeptTable
from prowess.errors import ProwessError

from ._minilm import SHA256, VECTOR_BYTES, MiniLM
from ._search_rows import DIGEST_BYTES, text_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from subprocess import Popen
    from typing import Any

_TABLE = ("vectors", SHA256)
_LOCK_FILE = "vectors.lock"
_AT_ONCE = 4
"""Texts that are embedded while a user waits."""
_MOST = 20_000
"""Vectors that are kept, and skills that are ranked by meaning."""
_FIRST_STORED, _STORED = 64, 512
"""Vectors after which they are stored, at first and then each time."""
_RELOAD_SECONDS = 1.0
_RETRY_SECONDS = 300.0
_MAX_NICE = 19
_WORKER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from prowess.search._vectors import run_worker; run_worker(sys.argv[2])"
)
_running: list[Popen[bytes]] = []


class Meaning:
    """The ranker of `prowess[semantic]`. Safe to use from several threads.

    Args:
        path: of the model.
        load: loads it.
    """

    def __init__(self, path: str, load: Callable[..., Any] = MiniLM) -> None:
        self.note = ""
        """Why the last search was by words alone; empty if it was not."""
        self.path, self._load = path, load
        self._model: Any = None
        self._queries = 0
        self._known: dict[bytes, bytes] = {}
        self._loaded_at = self._started_at = -_RETRY_SECONDS
        self._matrix: tuple[Sequence[bytes], Any] | None = None
        self._lock = Lock()

    def scores(self, message: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the cosine of a message and each text; all are embedded now, which takes 20 ms each."""
        with self._lock:
            model = self._ready_model(several=True)
            vectors = [model.embed(text) for text in texts]
            found: Sequence[float] = model.cosines(model.matrix(vectors), model.embed(message)) if texts else ()
            return found

    def kept_scores(self, message: str, digests: Sequence[bytes], text: Callable[[int], str]) -> Sequence[float] | None:
        """Return the cosine of a message and each of some texts; `None` if words alone count, and `note` says why.

        Args:
            message: of a user.
            digests: of the texts; the same list for each message to the same skills.
            text: returns a text by its number.
        """
        with self._lock:
            try:
                return self._kept_scores(message, digests, text)
            except ProwessError as error:
                self.note = str(error)
                return None

    def _kept_scores(
        self, message: str, digests: Sequence[bytes], text: Callable[[int], str]
    ) -> Sequence[float] | None:
        """Return the same as `kept_scores`.

        Raises:
            ProwessError: the model cannot be loaded.
        """
        self.note = f"more than {_MOST:,} skills are not ranked by meaning" if len(digests) > _MOST else ""
        if self.note or not digests:
            return None
        if self._matrix is None or self._matrix[0] is not digests:
            missing = self._missing(digests)
            if len(missing) > _AT_ONCE:
                self._start_worker([text(row) for row in missing])
                self.note = f"the embedding of {len(missing):,} skills is being made, and counts from a later search on"
                return None
            model = self._ready_model(several=False)
            if missing:
                made = {digests[row]: model.embed(text(row)) for row in missing}
                self._known.update(made)
                _store(made)
            self._matrix = digests, model.matrix([self._known[digest] for digest in digests])
        model = self._ready_model(several=self._queries > 0)
        self._queries += 1
        scores: Sequence[float] = model.cosines(self._matrix[1], model.embed(message))
        return scores

    def _missing(self, digests: Sequence[bytes]) -> list[int]:
        """Return the numbers of the texts without a vector."""
        missing = [row for row, digest in enumerate(digests) if digest not in self._known]
        if missing and monotonic() - self._loaded_at >= _RELOAD_SECONDS:
            self._loaded_at = monotonic()
            self._known.update(_load())
            missing = [row for row in missing if digests[row] not in self._known]
        return missing

    def _ready_model(self, *, several: bool) -> Any:
        """Return the model; for a second message a faster one is loaded, which takes longer to load.

        Raises:
            ProwessError: it cannot be loaded.
        """
        if self._model is None or (several and not self._model[0]):
            self._model = several, self._load(self.path, several=several)
        return self._model[1]

    def _start_worker(self, texts: list[str]) -> None:
        """Start a process that makes vectors, unless one is running."""
        _running[:] = [worker for worker in _running if worker.poll() is None]
        folder = cache_folder(os.environ)
        if _running or folder is None or monotonic() - self._started_at < _RETRY_SECONDS or not sys.executable:
            return
        self._started_at = monotonic()
        import json
        from subprocess import DEVNULL, Popen
        from tempfile import TemporaryFile

        # Without the entries that depend on the working directory, which `-I` leaves out too.
        paths = json.dumps([path for path in sys.path if os.path.isabs(path)])
        with suppress(OSError), TemporaryFile() as file:
            file.write(json.dumps(texts).encode())
            file.seek(0)
            _running.append(
                Popen(
                    [sys.executable, "-I", "-c", _WORKER, paths, self.path],
                    stdin=file,
                    stdout=DEVNULL,
                    stderr=DEVNULL,
                    cwd=os.path.dirname(self.path),
                    start_new_session=True,
                )
            )


def run_worker(path: str) -> None:
    """Make the vectors of the texts on standard input, with the lowest priority."""
    import json

    if hasattr(os, "nice"):
        os.nice(_MAX_NICE)
    with suppress(ProwessError):
        make_vectors(path, json.load(sys.stdin))


def make_vectors(path: str, texts: Iterable[str], load: Callable[..., Any] = MiniLM) -> None:
    """Make and keep the vectors of some texts, unless another process does.

    Args:
        path: of the model.
        texts: of skills.
        load: loads the model.

    Raises:
        ProwessError: the model cannot be loaded.
    """
    folder, texts = cache_folder(os.environ), tuple(texts)
    if folder is None or not texts:
        return
    own_folder(folder)
    with locked(folder, _LOCK_FILE, wait=False) as is_locked:
        if not is_locked:
            return
        model = load(path, several=True)
        made: dict[bytes, bytes] = {}
        limit = _FIRST_STORED
        for text in texts:
            made[text_digest(text)] = model.embed(text)
            if len(made) == limit:
                # What cannot be kept would be made again by each search.
                if not _store(made):
                    return
                made, limit = {}, _STORED
        if made:
            _store(made)


def _load() -> dict[bytes, bytes]:
    """Return the kept vectors by the digests of their texts, those stored last first."""
    rows = KeptTable(_TABLE).load()
    packed, vectors = (*rows.get("digests", ()), b"")[0], (*rows.get("vectors", ()), b"")[0]
    count = len(packed) // DIGEST_BYTES
    if len(packed) != count * DIGEST_BYTES or len(vectors) != count * VECTOR_BYTES:
        return {}
    return {
        packed[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]: vectors[row * VECTOR_BYTES : (row + 1) * VECTOR_BYTES]
        for row in range(count)
    }


def _store(made: Mapping[bytes, bytes]) -> bool:
    """Keep further vectors, and forget the oldest ones beyond `_MOST`; return whether that was possible."""
    kept = {**made, **_load()}
    kept = {digest: kept[digest] for digest in [*dict.fromkeys((*made, *kept))][:_MOST]}
    return KeptTable(_TABLE).store({"digests": (b"".join(kept),), "vectors": (b"".join(kept.values()),)})
