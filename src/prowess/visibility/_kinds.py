"""Name what the model of an agent gets of a skill: the kinds of `View.kind`, and the words for them."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property

from prowess.catalog import REACHABLE, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.catalog import Catalog, Entry
    from prowess.filesystem import Filesystem

    from ._copies import CopyFinder
    from ._mounted_copies import MountedCopies


class Kind(StrEnum):
    """What an agent's model gets of a skill now; compares equal to its word, which `--json` prints."""

    SEEN = "seen"
    USER_ONLY = "user-only"
    """The user can call it; the model does not see it."""
    DEFERRED = "deferred"
    """The model sees it later: it is for a folder further down, or for certain files."""
    NAME_ONLY = "name-only"
    """The model gets the name without the description: over the agent's budget, or by a setting."""
    LEFT_OUT = "left-out"
    """Over the agent's budget, so that the model does not get it."""
    UNTRUSTED = "untrusted"
    OFF = "off"
    NAME_TAKEN = "name-taken"
    """Another skill has its name."""
    UNDEFINED = "undefined"
    """It shares its name with others, and which of them the agent reads last is a race."""
    REJECTED = "rejected"
    BEYOND_LIMIT = "beyond-limit"
    """The agent reads a limited number of folders or of files, and stops before this one."""
    FILE_NAME = "file-name"
    """The file is called `skill.md`, and the agent looks for `SKILL.md` exactly."""
    ELSEWHERE = "elsewhere"
    """It is in a folder that the agent does not search."""


KIND_WORDS = {
    Kind.SEEN: "seen",
    Kind.USER_ONLY: "user-only",
    Kind.DEFERRED: "deferred",
    Kind.NAME_ONLY: "name only",
    Kind.LEFT_OUT: "over budget",
    Kind.UNTRUSTED: "not trusted",
    Kind.OFF: "switched off",
    Kind.NAME_TAKEN: "name taken",
    Kind.UNDEFINED: "not decided",
    Kind.REJECTED: "rejected",
    Kind.BEYOND_LIMIT: "behind a limit",
    Kind.FILE_NAME: "not called SKILL.md",
    Kind.ELSEWHERE: "in another folder",
}
"""Each kind in the words that every screen uses, the best first."""
KIND_MEANINGS = {
    Kind.SEEN: "the model sees it",
    Kind.USER_ONLY: "only the user can call it",
    Kind.DEFERRED: "the model sees it later, for some files or folders",
    Kind.NAME_ONLY: "the model gets its name without the description",
    Kind.LEFT_OUT: "the agent leaves it out because of its budget",
    Kind.UNTRUSTED: "the agent does not trust the folder",
    Kind.OFF: "a setting switches it off",
    Kind.NAME_TAKEN: "another skill has its name",
    Kind.UNDEFINED: "skills share that name; the winner is not decided",
    Kind.REJECTED: "the agent does not load it",
    Kind.BEYOND_LIMIT: "the agent stops before it, at a limit",
    Kind.FILE_NAME: "the file is not called SKILL.md",
    Kind.ELSEWHERE: "the agent does not search that folder",
}
"""Each kind in a sentence, for the legend of a table."""
_BY_STATE = {
    State.ACTIVE: Kind.SEEN,
    State.USER_ONLY: Kind.USER_ONLY,
    State.DEFERRED: Kind.DEFERRED,
    State.SHADOWED: Kind.NAME_TAKEN,
    State.DISABLED: Kind.OFF,
    State.UNTRUSTED: Kind.UNTRUSTED,
    State.REJECTED: Kind.REJECTED,
}
_HIDDEN = (State.UNTRUSTED, State.DISABLED)
"""The states of a skill that its user can let the agent show, without another copy."""
BUDGET = "budget"
"""The rule of an entry that its agent shortens or leaves out because of its budget."""


def kind_of(entry: Entry) -> Kind:
    """Return what the model gets of a skill that its agent finds. A copy of a skill that it sees is not known here."""
    if entry.rule == "undefined":
        return Kind.UNDEFINED
    if entry.rule == BUDGET and entry.state is State.USER_ONLY:
        return Kind.LEFT_OUT
    if entry.rule == "name-only" or (entry.rule == BUDGET and entry.state is State.ACTIVE and not entry.description):
        return Kind.NAME_ONLY
    if entry.rule == "max_skills":
        return Kind.BEYOND_LIMIT
    if entry.rule == "settings" and entry.state is State.REJECTED:
        return Kind.OFF
    return _BY_STATE[entry.state]


class EntryKinds:
    """What the model of one agent gets of each skill that the agent finds, also through a copy of it.

    A mounted copy is the same skill as its source, also if one of them has changed since.
    """

    def __init__(self, catalog: Catalog, filesystem: Filesystem, mounted: MountedCopies | None = None) -> None:
        """Take the skills of an agent.

        Args:
            catalog: of the agent.
            filesystem: what was read so far.
            mounted: the mounted copies that are known; by default those of the catalog.
        """
        self._catalog, self._filesystem = catalog, filesystem
        self._given_copies = mounted
        self._finders: dict[tuple[State, ...], tuple[CopyFinder, dict[str, Entry]]] = {}
        self._by_original: dict[tuple[State, ...], dict[str, Entry]] = {}

    @cached_property
    def mounted(self) -> MountedCopies:
        """The mounted copies."""
        from ._mounted_copies import MountedCopies

        known = {entry.real for entry in self._catalog.skills}
        return self._given_copies or MountedCopies(self._catalog.cwd, self._filesystem, known)

    def kind(self, entry: Entry, real: str | None = None) -> Kind:
        """Return what the model gets of a skill of the catalog; the arguments are those of `copy`."""
        entry = entry if entry.state in REACHABLE else self.copy(entry, real) or entry
        if entry.shadowed_by is not None and is_identical_copy(entry):
            entry = self._by_path.get(entry.shadowed_by) or entry
        if entry.state is State.ACTIVE and entry.rule == "undefined" and entry.path not in self._races:
            return Kind.SEEN  # whichever the agent reads last
        return kind_of(entry)

    def copy(self, entry: Entry, real: str | None = None) -> Entry | None:
        """Return the copy of a skill that the agent or its user can reach, or else one that they could.

        Args:
            entry: the skill, which need not be in the catalog.
            real: the path of its SKILL.md without links; `None` for the one that the entry has.
        """
        if entry.state in _HIDDEN:
            return self._copies(REACHABLE, entry, real)
        return self._copies(REACHABLE, entry, real) or self._copies(_HIDDEN, entry, real)

    def rejected_copy(self, real: str) -> Entry | None:
        """Return the mounted copy of a skill, or its source, that the agent rejects.

        Args:
            real: the path of the skill's SKILL.md without links.
        """
        return self._mounted_as(real, (State.REJECTED,))

    def _copies(self, states: tuple[State, ...], entry: Entry, real: str | None) -> Entry | None:
        if states not in self._finders:
            self._finders[states] = self._finder(states)
        finder, entries = self._finders[states]
        original = finder.original(real or entry.real, entry.frontmatter_name)
        return self._mounted_as(real or entry.real, states) if original is None else entries[original]

    def _mounted_as(self, real: str, states: tuple[State, ...]) -> Entry | None:
        """Return the first skill in one of some states that was mounted from a skill, or that it was mounted from."""
        if states not in self._by_original:
            entries = reversed(self._catalog.skills)
            found = {self.mounted.original(entry.real): entry for entry in entries if entry.state in states}
            self._by_original[states] = found
        return self._by_original[states].get(self.mounted.original(real))

    def _finder(self, states: tuple[State, ...]) -> tuple[CopyFinder, dict[str, Entry]]:
        from ._copies import CopyFinder

        entries = {entry.real: entry for entry in reversed(self._catalog.skills) if entry.state in states}
        finder = CopyFinder(self._filesystem)
        for entry in reversed(entries.values()):
            finder.add(entry.real, entry.frontmatter_name)
        return finder, entries

    @cached_property
    def _by_path(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in reversed(self._catalog.skills)}

    @cached_property
    def _races(self) -> set[str | None]:
        """The paths of the skills that others of their name, which are not the same, may replace."""
        losers = (
            entry for entry in self._catalog.skills if entry.rule == "undefined" and entry.shadowed_by is not None
        )
        return {entry.shadowed_by for entry in losers if not (is_identical_copy(entry) or self._is_mounted_with(entry))}

    def _is_mounted_with(self, entry: Entry) -> bool:
        """Return whether a shadowed skill and the one that wins are a mounted copy and its source."""
        winner = self._by_path.get(entry.shadowed_by or "")
        return winner is not None and self.mounted.original(winner.real) == self.mounted.original(entry.real)


def is_identical_copy(entry: Entry) -> bool:
    """Return whether a shadowed skill is a byte-identical copy of the one that wins."""
    return any(item.code == "skill-copy" for item in entry.findings)
