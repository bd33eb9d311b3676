"""The matrix of skills and agents: it fits the terminal, merges equal rows, and loses nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess._internal.text import display_width, neutral
from prowess.cli._output import choose_color
from prowess.cli.skills._matrix import KIND_SYMBOLS, MatrixRow, agent_titles, format_legend, format_matrix
from prowess.hosts import host_names, raw_value
from prowess.visibility import KIND_MEANINGS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AGENTS = ("prowess", "claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code")
SHORT = ("prowess", "claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")
SYMBOLS = ("yes", "user", "later", "-", "off", "no", "?", "")


@pytest.fixture(autouse=True)
def _plain() -> Iterator[None]:
    choose_color("never")
    yield
    choose_color("auto")


def row(name: str, *cells: str, where: str = ".agents/skills", folder: str | None = None) -> MatrixRow:
    return MatrixRow(name=name, folder=name if folder is None else folder, where=where, cells=cells)


def matrix(rows: Sequence[MatrixRow], agents: Sequence[str] = ("codex", "pi"), **more: object) -> list[str]:
    return format_matrix(rows, agents, width=80, **more)  # type: ignore[arg-type]


def test_skills_are_below_their_folder() -> None:
    """A skill whose folder has another name shows both."""
    rows = [
        row("pdf", "yes", "-"),
        row("csv", "no", "", where="~/.codex/skills"),
        row("docx", "yes", "user", folder="word"),
    ]
    assert matrix(rows) == [
        "SKILL          codex  pi",
        ".agents/skills",
        "  pdf          yes    -",
        "  docx (word)  yes    user",
        "~/.codex/skills",
        "  csv          no",
    ]


def test_wide_characters_keep_the_columns() -> None:
    """A character of two cells counts as two."""
    assert matrix([row("日本", "yes", "-"), row("pdf-x", "no", "no")]) == [
        "SKILL    codex  pi",
        ".agents/skills",
        "  日本   yes    -",
        "  pdf-x  no     no",
    ]


def test_skills_of_a_folder_with_the_same_cells_share_a_row() -> None:
    """Three or more; two rows would take as many lines."""
    rows = [row(f"skill-{number}", "yes", "-") for number in range(12)]
    rows += [row("one", "no", "no"), row("two", "no", "no"), row("other", "yes", "-", where="~/.pi/skills")]
    assert matrix(rows) == [
        "SKILL        codex  pi",
        ".agents/skills",
        "  12 skills  yes    -",
        "    skill-0, skill-1, skill-2, skill-3, skill-4, skill-5, skill-6, skill-7,",
        "    skill-8, skill-9, skill-10, skill-11",
        "  one        no     no",
        "  two        no     no",
        "~/.pi/skills",
        "  other      yes    -",
    ]


def test_rows_are_not_merged_on_request() -> None:
    """A row for each skill."""
    rows = [row(f"skill-{number}", "yes", "-") for number in range(3)]
    assert matrix(rows, merge=False) == [
        "SKILL      codex  pi",
        ".agents/skills",
        "  skill-0  yes    -",
        "  skill-1  yes    -",
        "  skill-2  yes    -",
    ]


def test_a_comma_in_a_name_does_not_make_two_skills() -> None:
    """Such a name is quoted; so is one with blanks at its ends."""
    rows = [row("a, b", "yes", "-"), row(" c", "yes", "-"), row("d", "yes", "-"), row("", "yes", "-", folder="e")]
    assert matrix(rows)[-1] == "    `a, b`, ` c`, d, `` (e)"


def test_eight_agents_fit_eighty_columns() -> None:
    """In one block, with the short names of agents; a long name has a line of its own."""
    rows = [row("pdf", *SYMBOLS), row("a-skill-with-a-long-name", *SYMBOLS[::-1])]
    titles = agent_titles(AGENTS, SHORT, rows, 80)
    assert titles == [*SHORT]
    assert format_matrix(rows, titles, width=80) == [
        "SKILL              prowess  claude  codex  copilot  gemini  opencode  pi    qwen",
        ".agents/skills",
        "  pdf              yes      user    later  -        off     no        ?",
        "  a-skill-with-a-long-name",
        "                            ?       no     off      -       later     user  yes",
    ]


def test_agents_keep_their_names_where_these_fit() -> None:
    """A user can type what the heading says."""
    rows = [row("pdf", "yes", "yes", "yes")]
    assert agent_titles(AGENTS[:3], SHORT[:3], rows, 80) == [*AGENTS[:3]]
    assert agent_titles(AGENTS, SHORT, [row("pdf", *SYMBOLS)], 200) == [*AGENTS]


@pytest.mark.parametrize("count", [1, 8, 9, 18, 40])
def test_many_agents_make_blocks(count: int) -> None:
    """Each agent is in one block, in order, and each block has all skills."""
    agents = [f"agent-{number}" for number in range(count)]
    rows = [row("pdf", *(["yes"] * count)), row("csv", *(["later"] * count))]
    blocks = "\n".join(matrix(rows, agents)).split("\n\n")
    assert re.findall(r"agent-\d+", "".join(blocks)) == agents
    assert "\n".join(blocks).count("later") == count
    assert all("\n  pdf " in block and "\n  csv " in block for block in blocks)
    sizes = [len(block.split("\n")[0].split()) - 1 for block in blocks]
    assert max(sizes) - min(sizes) <= len(blocks)
    assert len(blocks) == {1: 1, 8: 2, 9: 2, 18: 3, 40: 6}[count]


def test_no_skills_and_no_agents() -> None:
    """Only a heading."""
    assert matrix([]) == ["SKILL  codex  pi"]
    assert matrix([row("pdf")], []) == ["SKILL", ".agents/skills", "  pdf"]


WORDS = st.text(st.characters(codec="utf-8"), max_size=90)


@pytest.mark.slow
@given(
    st.integers(0, 20).flatmap(
        lambda count: st.lists(
            st.builds(
                MatrixRow,
                name=WORDS,
                folder=WORDS,
                where=st.sampled_from(["", "a", "~/.x", "w" * 100]),
                cells=st.tuples(*([st.sampled_from(SYMBOLS)] * count)),
            ),
            max_size=8,
        )
    ),
    st.integers(60, 130),
    st.booleans(),
)
def test_no_line_is_wrapped_or_forged(rows: list[MatrixRow], width: int, merge: bool) -> None:
    """Whatever skills are called, each line fits, and each has its name or the first part of it."""
    count = len(rows[0].cells) if rows else 8
    names = [*AGENTS, *(f"agent{number}" for number in range(12))][:count]
    short = [*SHORT, *names[8:]][:count]
    titles = agent_titles(names, short, rows, width)
    lines = format_matrix(rows, titles, width=width, merge=merge)
    lines += format_legend(rows, names, titles, width=width)
    assert [line for line in lines if display_width(line) > width or line != neutral(line)] == []
    text = "\n".join(lines)
    assert [item.name for item in rows if neutral(item.name)[: width // 3] not in text] == []


def test_the_legend_has_only_symbols_that_occur() -> None:
    """And the agents whose names are shortened."""
    rows = [row("pdf", "yes", "yes", "-")]
    assert list(format_legend(rows, AGENTS[:3], AGENTS[:3], width=80)) == [
        "  yes     the model sees it",
        "  -       another skill has its name",
    ]
    assert list(format_legend([row("pdf", "")], ["claude-code"], ["claude"], width=80)) == [
        "  (empty) the agent does not search that folder",
        "  claude = claude-code",
    ]


def test_every_kind_has_a_symbol_with_a_meaning() -> None:
    assert {*KIND_SYMBOLS} == {*KIND_MEANINGS} == {*Kind}
    assert len({*KIND_SYMBOLS.values()}) == len(Kind)
    for kind, symbol in KIND_SYMBOLS.items():
        (line,) = format_legend([row("pdf", symbol)], ["pi"], ["pi"], width=80)
        assert line.endswith(f" {KIND_MEANINGS[kind]}")


def test_painted_cells_keep_their_columns() -> None:
    """Colour takes no room."""
    rows = [row("pdf", *SYMBOLS), row("csv", *SYMBOLS[::-1])]
    plain = format_matrix(rows, SHORT, width=80)
    choose_color("always")
    painted = format_matrix(rows, SHORT, width=80)
    assert painted != plain
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in painted] == plain


def test_headings_of_agents_are_short_and_unique() -> None:
    """Eight of them fit eighty columns; none is the name of another agent."""
    headings = [str(raw_value(name, "short") or name) for name in host_names()]
    assert len({*headings}) == len(headings)
    assert max(map(len, headings)) <= 10
    assert not {heading for heading, name in zip(headings, host_names(), strict=True) if heading != name} & {
        *host_names()
    }
    rows = [row("pdf", *(["later"] * 8))]
    for first in range(len(headings) - 7):
        assert "" not in format_matrix(rows, headings[first : first + 8], width=80)
