"""Say what the rules of a host rest on: the real client that was run, its documents, or a design."""

from __future__ import annotations

from prowess._internal.frozen import Frozen

from ._raw_values import raw_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

EVIDENCE_MARK = "*"
"""Behind the name of an agent that was never run, only read about."""


class Evidence(Frozen):
    """What the rules of one host rest on."""

    kind: str
    """`observed` (the real client was run), `documented` (only read about) or `designed` (a client that is planned)."""
    version: str | None = None
    """Of the client that was observed."""
    date: str | None = None
    """Of the observation, or of the latest of the `sources`."""
    source: str
    """The real client, or the document."""
    sources: tuple[dict[str, Any], ...] = ()
    """What is read where: `says`, `link`, `section` and `date` of each."""

    def as_dict(self) -> dict[str, object]:
        """Return the evidence in the shape of every `--json` output."""
        return {
            "kind": self.kind,
            "version": self.version,
            "date": self.date,
            "source": self.source,
            "sources": [*self.sources],
        }


def evidence_of(name: str) -> Evidence:
    """Return the evidence of a host."""
    version, _, date = str(raw_value(name, "observed") or "").rpartition(", ")
    if version:
        return Evidence(kind="observed", version=version, date=date, source="the real client")
    sources = tuple({key: source.get(key, "") for key in _KEYS} for source in raw_value(name, "sources") or ())
    return Evidence(
        kind="designed" if raw_value(name, "design") else "documented",
        date=max((str(source["date"]) for source in sources), default="") or None,
        source=str(raw_value(name, "documented")),
        sources=sources,
    )


_KEYS = ("says", "link", "section", "date")


def evidence_marks(names: Iterable[str]) -> list[str]:
    """Return names of hosts, with `*` behind those that are only documented. A design has no client to run."""
    return [name + EVIDENCE_MARK if _is_documented(name) else name for name in names]


def evidence_note(names: Iterable[str]) -> str | None:
    """Return the line that explains `*`, or `None` if none of these agents has it."""
    unseen = [name for name in names if _is_documented(name)]
    return f"{EVIDENCE_MARK} from documentation, never run: {', '.join(unseen)}" if unseen else None


def _is_documented(name: str) -> bool:
    return not raw_value(name, "observed") and not raw_value(name, "design")
