"""A catalog of skills to mention, and texts that mention them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from prowess.catalog import Entry, State
from prowess.session import find_mentions
from prowess.skill import Skill
from support import strategies  # noqa: F401 - its profile makes every run the same
from support.skills import make_entry


def new_entry(name: str, state: str = "active", **more: Any) -> Entry:
    """Return an entry of a catalog; the part before a colon is its package."""
    package, _, inner = name.rpartition(":")
    known: dict[str, Any] = {"frontmatter_name": inner, "folder": inner, "namespace": package or None, "scope": "user"}
    return make_entry(name, "Does it.", **{**known, "state": State(state), "skill": Skill(), **more})


SKILLS = (
    new_entry("pdf"),
    new_entry("docx"),
    new_entry("pdf-tools"),
    new_entry("PDF Tools"),
    new_entry("load test"),
    new_entry("writing"),
    new_entry("cache"),
    new_entry("path"),
    new_entry("C++"),
    new_entry("📦"),
    new_entry("résumé"),
    new_entry("office:slides"),
    new_entry("a:dup"),
    new_entry("b:dup"),
    new_entry("hidden-one", "user-only"),
    new_entry("later", "deferred"),
    new_entry("twice", "shadowed", reason="/x wins"),
    new_entry("twice"),
    new_entry("off", "disabled", reason="settings\u202e say so"),
    new_entry("under", "shadowed"),
    new_entry("strange", "untrusted"),
    new_entry("broken", "rejected", reason="no description"),
)


def mentioned_names(text: str) -> list[str]:
    """Return what a text names: the skill, or the name with a question mark if it is unresolved."""
    found = find_mentions(text, SKILLS)
    for item in found:
        assert text[item.start : item.end] == item.text
        assert (item.entry is None) is (item.problem is not None)
    return [item.entry.name if item.entry else f"{item.name}?" for item in found]


_PARTS = st.sampled_from(
    [
        *("$pdf", "/docx", "@pdf", "office:slides", "use the pdf skill", "with PDF Tools and docx skills", "$off"),
        *(
            " ",
            "\n",
            "\n\n",
            "    ",
            "\t",
            "`",
            "``",
            "```",
            "~~~",
            "<!--",
            "-->",
            "> ",
            "- ",
            "(",
            ")",
            '"',
            "\\",
            "*",
        ),
        *(
            "don't ",
            "never use ",
            "not ",
            "without ",
            ", use ",
            " but ",
            ". ",
            "and ",
            "skill",
            "skill called ",
            "the ",
        ),
        *("https://", "www.", "](", "\0", "\ud800", "\u202e", "\u0301", "＄", "$", "pdf", "C++", "📦", "\r\n", "\x85"),
    ]
)


def mention_texts() -> st.SearchStrategy[str]:
    """Return a strategy of texts with mentions, code and negations."""
    return st.lists(_PARTS | st.text(max_size=3), max_size=14).map("".join)
