"""Name the states of a skill, and the reasons why an agent loses one, as a report shows them."""

from __future__ import annotations

from prowess._internal.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.visibility import View


class Look(Frozen, kw_only=False):
    """How a state is shown; its shape is the class of that name in `page.css`."""

    shape: str
    label: str
    """In two words at most, for screen readers and lists."""
    meaning: str
    """A sentence for the legend."""


_COPY = "copy"
"""The shape of a skill that an agent has as an exact copy from another folder."""
_UNDEFINED = "undefined"
"""The shape of a skill that shares its name with others while nothing says which of them wins."""

SEEN = ("active", _COPY)
"""States in which the model of an agent sees a skill."""

STATES = {
    shape: Look(shape, label, meaning)
    for shape, label, meaning in (
        ("active", "sees it", "The model sees the skill and can use it."),
        (_COPY, "copy", "The agent has an exact copy of the skill from another folder."),
        ("user-only", "user only", "The user can call the skill; the model does not see it."),
        ("deferred", "later", "The skill appears later, with the folder or the files that it is for."),
        ("shadowed", "hidden", "Another skill with the same name wins."),
        (_UNDEFINED, "undefined", "Several skills have the name, and which one wins is undefined."),
        ("disabled", "off", "A setting switches the skill off."),
        ("untrusted", "not trusted", "The agent does not trust the folder of the skill."),
        ("rejected", "rejected", "The agent finds the skill and does not load it."),
        ("absent", "not searched", "The skill is in no folder that the agent searches."),
    )
}
"""Each state, the best first."""

LOSS_PHRASES = {
    "text": ("rejected for its text", "rejected for their text"),
    "place": ("in a folder that it does not search", "in folders that it does not search"),
    "name": ("hidden by a skill of the same name", "hidden by skills of the same name"),
    "setting": ("switched off by a setting", "switched off by a setting"),
    "trust": ("in a folder that it does not trust", "in folders that it does not trust"),
    "field": ("limited by a field that it reads", "limited by a field that it reads"),
}
"""Kind of a loss to the words after a count: of one skill, of several."""


def look_of(view: View) -> Look:
    """Return how the state of a skill at an agent is shown."""
    if view.rule == "undefined":
        return STATES[_UNDEFINED]
    is_copy = view.loss is None and view.winner is not None and view.state in ("absent", "shadowed")
    return STATES[_COPY if is_copy else view.state]
