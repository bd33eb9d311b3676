"""Names and descriptions as single clients read them, and what `prowess hosts` says of that."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess._internal.text import collapse_hidden_runs
from prowess.catalog import evaluate_file
from prowess.clients import of_client
from prowess.clients.reading import clean_description, is_alias, name_problem
from prowess.hosts import load_host
from support import strategies  # noqa: F401 - its profile makes every run the same

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prowess.catalog import Entry


def seen(host: str, top: Path, front: str, folder: str = "a", body: str = "Body.") -> Entry:
    """Return how a host sees a skill with this front matter."""
    (top / folder).mkdir()
    file = top / folder / "SKILL.md"
    file.write_text(f"---\n{front}\n---\n{body}\n", encoding="utf-8")
    return evaluate_file(str(file), host)


@pytest.mark.parametrize(
    ("host", "front", "folder", "name"),
    [
        pytest.param("cline", 'name: "NS:A"\ndescription: d', "a", "ns:a", id="lower-case-with-a-colon"),
        pytest.param("cline", "name: B\ndescription: d", "a", "B", id="without-a-colon"),
        pytest.param("copilot", "description: d", "trail ", "trail-", id="blanks-of-a-folder-stay"),
        pytest.param("copilot", "name: ' b '\ndescription: d", "a", "b", id="blanks-of-a-name-do-not"),
        pytest.param("pi", "description: d", "trail ", "trail ", id="pi-keeps-both"),
        pytest.param("codex", "name: ' a \t b '\ndescription: d", "a", "a b", id="runs-of-blanks-become-one"),
    ],
)
def test_a_client_names_a_skill_in_its_own_way(host: str, front: str, folder: str, name: str, tmp_path: Path) -> None:
    assert seen(host, tmp_path, front, folder).name == name


@pytest.mark.parametrize(
    ("host", "name", "namespace", "code"),
    [
        ("infer", "my-claude-skill", None, "name-reserved"),
        ("infer", "pdf", None, None),
        ("codex", "a" * 64, "p" * 64, None),
        ("codex", "a" * 64, "p" * 65, "name-too-long"),
        ("codex", "a" * 200, None, None),
        ("claude-code", "a\u200bb", None, "name-characters"),
        ("claude-code", " a", None, "name-characters"),
        ("claude-code", "a" * 257, None, "name-characters"),
        ("claude-code", "a b", None, None),
        ("gemini-cli", " \u200b", None, None),
    ],
)
def test_a_client_refuses_names_of_its_own(host: str, name: str, namespace: str | None, code: str | None) -> None:
    problem = of_client(host, name_problem)(name, namespace)
    assert (problem and problem[0]) == code


def test_descriptions_that_the_model_does_not_get_are_empty(tmp_path: Path) -> None:
    entry = seen("cline", tmp_path, "name: a\ndescription: d")
    assert (entry.name, entry.description, str(entry.state)) == ("a", "", "active")


@pytest.mark.parametrize(
    ("host", "front", "description"),
    [
        ("claude-code", "description: d\nwhen_to_use: w", "d - w"),
        ("claude-code", "description: d\nwhen_to_use: 0x10", "d - 16"),
        ("claude-code", "description: d\nwhen_to_use: [a, 1.0]", "d - a,1"),
        ("claude-code", "description: d\nwhen_to_use: null", "d"),
        ("claude-code", 'description: "a<b>\\u200b\\u200bc"', "a&lt;b&gt; c"),
        ("qwen-code", "name: a\ndescription: d\nwhen_to_use: w", "d — w (Project)"),
        ("qwen-code", "name: a\ndescription: d\nwhen_to_use: 16", "d (Project)"),
        ("qwen-code", "name: a\ndescription: d", "d (Project)"),
        ("codex", "name: a\ndescription: d\nwhen_to_use: w", "d"),
    ],
)
def test_a_client_adds_to_descriptions(host: str, front: str, description: str, tmp_path: Path) -> None:
    assert seen(host, tmp_path, front).description.lower() == description.lower()


@pytest.mark.parametrize(
    ("host", "body", "description"),
    [
        ("claude-code", "# Title\nText", "Title"),
        ("claude-code", "a" * 101, "a" * 97 + "..."),
        ("claude-code", "", "Skill"),
        ("copilot", "# Title\none\n\n two \nthree\nfour", "one two three"),
        ("copilot", "a" * 1025, "a" * 1024),
        ("letta", "# Title\nText", "# Title"),
    ],
)
def test_a_missing_description_comes_from_the_body(host: str, body: str, description: str, tmp_path: Path) -> None:
    assert seen(host, tmp_path, "name: a", body=body).description == description


@pytest.mark.parametrize(
    ("written", "state"),
    [
        ("|\n  {1024}", "active"),
        ("|\n  {1024}\n", "rejected"),
        ("|\n  {1024}\nb: c", "rejected"),
        ("|\n  {1024}\n# comment", "rejected"),
        ("|+\n  {1023}\n", "active"),
        ("|+\n  {1024}\n", "rejected"),
        ('"{1024}\\n"', "rejected"),
    ],
)
def test_a_block_scalar_at_an_open_end_has_no_line_end(written: str, state: str, tmp_path: Path) -> None:
    """For Copilot it is one character shorter only if nothing follows it before the fence."""
    text = re.sub(r"\{(\d+)\}", lambda match: "x" * int(match[1]), written)
    assert seen("copilot", tmp_path, f"name: a\ndescription: {text}").state == state


# ── what `prowess hosts claude-code` says ────────────────────────────────────────────────────────────────────────────

CLAUDE = load_host("claude-code")


def pattern_in(facts: Mapping[str, tuple[str, ...]], words: str) -> str:
    """Return the regular expression in the line that contains the words."""
    return next(line.split("`")[1] for lines in facts.values() for line in lines if words in line)


REMOVED = pattern_in(CLAUDE.description_rules.facts, "is removed first")
REFUSED = pattern_in(CLAUDE.name_rules.facts, "rejects the skill")
ALIAS = pattern_in(CLAUDE.name_rules.facts, "is an alias")


@given(st.text() | st.text(st.sampled_from("\x1b[]0m;\x07\\\x9bPa é")))
def test_what_is_removed_is_what_the_rules_say(text: str) -> None:
    """Although printable ASCII is not searched."""
    escaped = collapse_hidden_runs(re.sub(REMOVED, "", text)).replace("<", "&lt;").replace(">", "&gt;")
    assert of_client("claude-code", clean_description)(text) == escaped


@given(st.text() | st.text(st.sampled_from("a: <\u200b\u0300")))
def test_refused_names_and_aliases_are_those_of_the_rules(text: str) -> None:
    refused = of_client("claude-code", name_problem)(text, None) is not None
    assert refused == (re.search(REFUSED, text) is not None)
    assert of_client("claude-code", is_alias)(text) == (re.fullmatch(ALIAS, text) is not None)
