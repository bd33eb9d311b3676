"""Write the skills a model chooses from, within a budget.

A sentence introduces them. If not everything fits, the catalog is shortened; then only the sentence says that there
are skills. So a larger budget never shows less. Names are listed here alone, not in the schema of a tool, and without
the paths of files, which a model reads through tools.
"""

from __future__ import annotations

import math
from threading import Lock

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.errors import ActivationError, ConfigError, ProwessError
from prowess.prompt import Prompt, estimate_tokens, render

from ._lookup import MODEL_STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prowess.catalog import Catalog, Entry
    from prowess.search import Index, Ranker, SkillReader
    from prowess.skill import Skill

DEFAULT_TOKENS = 8_000
"""The budget of a catalog if nothing else is configured."""
_WINDOW_SHARE = 50
"""The part of a model's context window that a catalog gets: one in this many."""

_INTRODUCTION = "When a task fits the description of a skill, call `activate_skill` with its name before you go on."
_MORE = " Not everything is listed here: `search_skills` finds more."
_NOTHING_FITS = "There are skills: find one for your task with `search_skills`, then call `activate_skill`."


class Listing(Frozen):
    """What a model is shown of a catalog."""

    text: str
    """The introduction and the catalog; empty without skills, or if not even a sentence fits."""
    prompt: Prompt
    """The catalog: which skills are shown, shortened and left out."""


_MAX_SHARED = 8
_shared: list[tuple[Catalog, tuple[object, ...], Listing]] = []
"""The last listings, most recent last, for all conversations with the same catalog."""


def shared_listing(catalog: Catalog, **options: Any) -> Listing:
    """Return the same as `write_listing`, written once for all conversations with the same catalog and options.

    Raises:
        ConfigError: an unknown unit or format, or an invalid budget or window.
    """
    # Numbers of different types may be equal, though only one of them is a valid budget.
    key = tuple((name, type(value), value) for name, value in sorted(options.items()))
    for known, known_key, listing in tuple(_shared):
        if known is catalog and known_key == key:
            return listing
    listing = write_listing(catalog, **options)
    _shared.append((catalog, key, listing))
    del _shared[:-_MAX_SHARED]
    return listing


def write_listing(
    catalog: Catalog,
    *,
    budget: float | None = None,
    unit: str = "chars",
    format: str | None = None,  # noqa: A002 - the option's own name
    window: int | None = None,
    query: str | None = None,
    index: Index | None = None,
) -> Listing:
    """Write the skills a model chooses from.

    Args:
        catalog: of one host.
        budget: the most that `text` takes; `math.inf` is no limit. `None` is 2 % of `window`, or 8,000 tokens if that
            is unknown.
        unit: what `budget` counts: `chars` or `tokens`.
        format: as for `render`.
        window: the tokens of the model's context window, if known.
        query: a user's message; if not all skills fit, those that it needs come first.
        index: the index of the catalog, for `query`.

    Raises:
        ConfigError: an unknown unit or format, or an invalid budget or window.
    """
    limit, unit = _find_limit(budget, unit, window)
    measure: Callable[[str], int] = estimate_tokens if unit == "tokens" else len

    def room_beside(text: str) -> int | None:
        return None if limit is None else max(0, limit - measure(f"{text}\n\n"))

    options: dict[str, Any] = {"format": format, "unit": unit, "locations": False}
    whole = render(catalog, budget=room_beside(_INTRODUCTION), **options)
    text = _introduce(whole)
    if limit is None or (whole.complete and measure(text) <= limit):
        return Listing(text=text, prompt=whole)
    prompt = render(catalog, budget=room_beside(_INTRODUCTION + _MORE), query=query, index=index, **options)
    text = _introduce(prompt) if prompt.text else _NOTHING_FITS
    return Listing(text=text if measure(text) <= limit else "", prompt=prompt)


def _introduce(prompt: Prompt) -> str:
    if not prompt.text:
        return ""
    more = _MORE if prompt.shortened or prompt.omitted else ""
    return f"{_INTRODUCTION}{more}\n\n{prompt.text}"


def _find_limit(budget: float | None, unit: str, window: int | None) -> tuple[int | None, str]:
    """Return the limit, `None` for no limit, and its unit.

    Raises:
        ConfigError: the budget or the window is invalid.
    """
    if window is not None and window < 1:
        raise ConfigError("a context window must be 1 token or more", hint="leave out `window` if it is unknown")
    if budget is None:
        return (DEFAULT_TOKENS if window is None else window // _WINDOW_SHARE), "tokens"
    if budget == math.inf:
        return None, unit
    if not isinstance(budget, int):
        raise ConfigError("a budget must be a whole number", hint="use `math.inf` for no limit")
    if budget < 0:
        raise ConfigError("a budget cannot be negative", hint="use `math.inf` for no limit")
    return budget, unit


_MAX_BLOCKS = 64
"""Blocks that are kept: many conversations may share a session of an adapter."""

_MAX_CATALOGS = 4
_recent: list[tuple[Catalog, Ranker | None, Index]] = []
"""The last catalogs that were searched, most recent last."""
_lock = Lock()


def index_of(catalog: Catalog, ranker: Ranker | None = None) -> Index:
    """Return the index of the skills that a model can use, by default with the ranker that is installed."""
    from prowess.catalog import mapped_readers
    from prowess.search import Index, installed_ranker

    with _lock:
        for known, known_ranker, index in _recent:
            if known is catalog and known_ranker is ranker:
                return index
        # A provider that fetches files is passed as it is: the index recognizes it, and does not read bodies.
        readers = mapped_readers(
            catalog.readers, lambda reader: reader if hasattr(reader, "read_file") else SafeReader(reader)
        )
        index = Index(catalog.skills, readers, ranker=ranker or installed_ranker(), states=MODEL_STATES)
        _recent.append((catalog, ranker, index))
        del _recent[:-_MAX_CATALOGS]
        return index


class TurnBlocks:
    """The catalog as it is shown for the messages of users.

    Args:
        catalog: the skills to choose from.
        options: as for `write_listing`.
        ranker: ranks by meaning; by default the one that is installed.
    """

    def __init__(self, catalog: Catalog, options: dict[str, Any], ranker: Ranker | None = None) -> None:
        self._catalog, self._options, self._ranker = catalog, options, ranker
        self._texts: dict[str, str] = {}
        self._lock = Lock()

    @property
    def index(self) -> Index:
        """The index of the catalog."""
        return index_of(self._catalog, self._ranker)

    def text(self, prompt: str) -> str:
        """Return the skills that a message needs, the same bytes for the same message."""
        known = self._texts.get(prompt)
        if known is None:
            known = write_listing(self._catalog, **self._options, query=prompt, index=self.index).text
            with self._lock:
                self._texts[prompt] = known
                if len(self._texts) > _MAX_BLOCKS:
                    del self._texts[next(iter(self._texts))]
        return known


class SafeReader:
    """Read the skills of a provider, and turn each exception into a Prowess error, so that conversations continue."""

    def __init__(self, reader: SkillReader) -> None:
        self._reader = reader

    def read(self, skill: Entry) -> Skill:
        """Return a skill with its body.

        Raises:
            ActivationError: the provider failed.
        """
        try:
            return self._reader.read(skill)
        except ProwessError:
            raise
        except Exception as error:
            reason = neutral(str(error) or type(error).__name__)
            raise ActivationError(
                f"the skill {quoted(skill.name)} cannot be read now: {reason}",
                hint="go on without it, or try again later",
            ) from error
