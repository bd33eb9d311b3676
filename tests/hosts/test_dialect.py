"""Odd fences and broken YAML, as each client goes on in its own way."""

from __future__ import annotations

import pytest

from prowess.hosts import load_host
from prowess.hosts._dialect import apply_dialect
from prowess.skill import from_document
from prowess.skill._frontmatter import parse_frontmatter


def described(host: str, text: str) -> str | None:
    """The description as a host's own fences and repairs have it; None where a finding rejects."""
    reading = load_host(host).reading
    skill = apply_dialect(from_document(parse_frontmatter(text.encode())), "SKILL.md", reading, lambda: text)
    codes = {item.code for item in skill.findings}
    return None if codes & {*reading.rejects, *reading.as_body, *reading.as_empty} else skill.description


@pytest.mark.parametrize(
    ("host", "text", "description"),
    [
        pytest.param("codex", " ---\nname: x\ndescription: d\n  ---\n", "d", id="codex-blanks-before-a-fence"),
        pytest.param("codex", "---\ndescription: a: b # c\n---\n", "a: b", id="codex-keeps-a-comment-out"),
        pytest.param("codex", "---\ndescription: {a: b}\n---\n", "{a: b}", id="codex-mends-a-map"),
        pytest.param("codex", "---\ndescription: ends:\n---\n", None, id="codex-leaves-a-colon-at-the-end"),
        pytest.param("codex", "---\ndescription: |\n  a: b\nx: c: d\n---\n", "a: b\n", id="codex-spares-blocks"),
        pytest.param("gemini-cli", "---\ndescription: d\n---- x\n", "d", id="gemini-any-line-of-dashes-closes"),
        pytest.param("pi", "----\ndescription: d\n---\n", "d", id="pi-takes-four-dashes"),
        pytest.param("opencode", "---\ndescription: d\n", "d", id="opencode-needs-no-end"),
        pytest.param("opencode", "---\ndescription: a: b # c\n---\n", "a: b # c", id="opencode-keeps-a-comment-in"),
        pytest.param(
            "opencode", "---\nallowed-tools: a: b\ndescription: d\n---\n", None, id="opencode-knows-no-hyphen"
        ),
        pytest.param("claude-code", "---\ndescription: a --- b\n---\n", "a", id="claude-code-dashes-in-a-line-close"),
        pytest.param("claude-code", "---\ndescription: *.py: x\n---\n", "*.py: x", id="claude-code-mends-a-star"),
        pytest.param(
            "claude-code", "---\ndescription: d\ntags:\n  - a: b: c\n---\n", None, id="claude-code-not-in-lists"
        ),
        pytest.param("copilot", "---\ndescription: a: b\n---\n", None, id="copilot-mends-nothing"),
    ],
)
def test_a_client_goes_on_in_its_own_way(host: str, text: str, description: str | None) -> None:
    """Fences and repairs are the host's data."""
    found = described(host, text)
    assert (found.strip() if found else found) == (description.strip() if description else description)


def test_plain_files_are_not_read_again() -> None:
    """What every client takes apart alike costs no second reading."""
    skill = from_document(parse_frontmatter(b"---\nname: x\ndescription: d\n---\nBody\n"))

    def never() -> str:
        raise AssertionError

    for host in ("claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code"):
        assert apply_dialect(skill, "SKILL.md", load_host(host).reading, never) is skill


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
@pytest.mark.parametrize("line", ["a" * 60_000, "a: " + " " * 60_000 + "@", "x:" * 30_000, "- a: " + "b: " * 20_000])
def test_no_line_takes_long(host: str, line: str) -> None:
    """The patterns of the repairs are linear."""
    described(host, f"---\ndescription: a: b\n{line}\n---\n")
