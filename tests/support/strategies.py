"""Hypothesis strategies: front matter, `SKILL.md` files, bytes, skills."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import settings, strategies as st

from prowess.skill import FIELDS, Requirements, Skill

if TYPE_CHECKING:
    from prowess.skill._yaml import Value

# By default every run has the same examples. `make long` tries more, and others each time; `make quick` tries few.
settings.register_profile("ci", max_examples=100, derandomize=True, deadline=None)
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("PROWESS_HYPOTHESIS", "ci"))


def examples(share: float) -> settings:
    """Return settings for a part, or a multiple, of the examples of the profile."""
    return settings(max_examples=int(settings().max_examples * share))


_KEYS = st.sampled_from([*FIELDS, "allowed_tools", "k", "my key", "clé", '"q"', "<<", "? x", "1"])
_TOKENS = st.sampled_from(
    [
        *[
            ": ",
            ":",
            "- ",
            "-",
            "? ",
            "@",
            "*",
            "&",
            "!",
            "!!",
            "%",
            "`",
            "{{",
            "}}",
            "[[",
            "]]",
            "[",
            "]",
            "{",
            "}",
            ",",
            "#",
            " #",
            "'",
            '"',
            ">",
            ">-",
            "~",
            "\t",
            "  ",
            "\n",
            "\n  ",
            "\n\t",
            "\n- ",
            "---",
            "\n---\n",
            "\\",
        ],
        "|",
        "|\n",
        "text",
        "Use when: ",
        "*.py",
        "&a",
        "*a",
        "<<: *a",
        "!!python/object",
        "é",
        "📦",
        "\u2028",
        "\x85",
        "\u202e",
        "\x00",
        "\x1b",
        "\ufeff",
        "https://a/b",
        "null",
        "1.10",
    ]
)
_LINES = st.one_of(
    st.tuples(st.sampled_from(["", "  ", "\t", "- ", "  - ", "    "]), _KEYS, st.lists(_TOKENS, max_size=4)).map(
        lambda line: f"{line[0]}{line[1]}: {''.join(line[2])}"
    ),
    st.lists(_TOKENS, max_size=5).map("".join),
    st.sampled_from(["# a: b: c", "", "  more text", "  more: text: here", "m:", "name: x", "description: |", "\t\tx"]),
)


def front_matters() -> st.SearchStrategy[str]:
    """Return front matter, valid or not."""
    return st.lists(_LINES, max_size=7).map("\n".join)


def plain_values() -> st.SearchStrategy[str]:
    """Return one-line values as typed by people who do not know YAML."""
    words = st.sampled_from(
        ["Use when: ", "a: b", "*.py", "@me", "`code`", "{{ x }}", "100%", "%", "it's", '"so"', "& co", "x", "📦", "é:"]
    )
    return st.lists(words, min_size=1, max_size=4).map(" ".join).map(str.strip)


def skill_bytes() -> st.SearchStrategy[bytes]:
    """Return whole files: front matter and a body, damaged at times, or random bytes."""
    fence = st.sampled_from(["---", "--- ", "----", "---\t", "--", "...", " ---", ""])
    newline = st.sampled_from(["\n", "\r\n", "\r"])
    body = st.sampled_from(["", "\nBody\n", "\n# T\n[a](b.md) `[x](y)`\n```\n[c](d)\n", "\n\x00"])

    def file(parts: tuple[str, str, str, str, str]) -> str:
        before, front, after, text, end = parts
        return f"{before}\n{front}\n{after}{text}".replace("\n", end)

    texts = st.tuples(fence | st.just("---"), front_matters(), st.just("---") | fence, body, newline).map(file)
    good = st.tuples(st.just("---"), front_matters(), st.just("---"), body, st.just("\n")).map(file)
    whole = st.one_of(good, texts).map(lambda text: text.encode("utf-8", "surrogatepass"))
    damaged = st.tuples(whole, st.integers(0, 200), st.binary(max_size=4)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    )
    marked = st.tuples(st.sampled_from([b"\xef\xbb\xbf", b"\xff\xfe", b""]), whole).map(b"".join)
    return st.one_of(whole, damaged, marked, st.binary(max_size=200))


# Any text of a file: newlines are normalised, and surrogates cannot be encoded.
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=30) | st.sampled_from(
    ["yes", "1:30", "null", "~", "a: b", "- a", "#", " x ", "", "a\nb\n", "---", "2026-11-01", "0x1", "@a", "y", "\t"]
)
_WORD = st.text(st.sampled_from("abcXYZ09-_.*/:()"), min_size=1, max_size=8)
_VALUE: st.SearchStrategy[Value] = st.recursive(
    _TEXT,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(_TEXT, inner, max_size=3),
    ),
    max_leaves=6,
)
_OPTIONAL = st.none() | _TEXT


@st.composite
def skills(draw: Any) -> Skill:
    """Return skills that a `SKILL.md` can contain."""
    packages = tuple(draw(st.lists(_TEXT, max_size=2)))
    extra_keys = (_TEXT | st.just("x")).filter(lambda key: key not in FIELDS and key != "allowed_tools")
    return Skill(
        name=draw(_OPTIONAL),
        description=draw(_OPTIONAL),
        license=draw(_OPTIONAL),
        compatibility=None if packages else draw(_OPTIONAL),
        metadata=draw(st.dictionaries(_TEXT, _VALUE, max_size=3)),
        allowed_tools=tuple(draw(st.lists(_WORD | _TEXT.filter(bool), max_size=3))),
        disable_model_invocation=draw(st.booleans()),
        user_invocable=draw(st.booleans()),
        context=draw(_OPTIONAL),
        agent=draw(_OPTIONAL),
        model=draw(_OPTIONAL),
        argument_hint=draw(_OPTIONAL),
        paths=tuple(draw(st.lists(_TEXT.filter(bool), max_size=2))),
        tools=draw(_TEXT | st.lists(st.dictionaries(_TEXT, _VALUE, max_size=2), max_size=2).map(tuple)),
        requirements=Requirements(
            env=tuple(draw(st.lists(_TEXT, max_size=2))),
            bins=tuple(draw(st.lists(_TEXT, max_size=2))),
            packages=packages,
        ),
        extra=draw(st.dictionaries(extra_keys, _VALUE, max_size=2)),
        body=draw(_TEXT),
    )
