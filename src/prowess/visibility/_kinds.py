"""Name what the model of an agent gets of a skill: the kinds of `View.kind`, and the words for them."""

from __future__ import annotations

from enum import StrEnum

from prowess.catalog import Entry, State


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
    Kind.USER_ONLY: "user only",
    Kind.DEFERRED: "later",
    Kind.NAME_ONLY: "by name only",
    Kind.LEFT_OUT: "over the budget",
    Kind.UNTRUSTED: "not trusted",
    Kind.OFF: "switched off",
    Kind.NAME_TAKEN: "name taken",
    Kind.UNDEFINED: "not decided",
    Kind.REJECTED: "rejected",
    Kind.BEYOND_LIMIT: "behind a limit",
    Kind.FILE_NAME: "not called SKILL.md",
    Kind.ELSEWHERE: "in other folders",
}
"""Each kind in the words that every screen uses, the best first."""
_BY_STATE = {
    State.ACTIVE: Kind.SEEN,
    State.USER_ONLY: Kind.USER_ONLY,
    State.DEFERRED: Kind.DEFERRED,
    State.SHADOWED: Kind.NAME_TAKEN,
    State.DISABLED: Kind.OFF,
    State.UNTRUSTED: Kind.UNTRUSTED,
    State.REJECTED: Kind.REJECTED,
}
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
