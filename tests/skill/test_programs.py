"""Front matter that is a program: gray-matter evaluates JavaScript after `---js`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.catalog import discover
from prowess.checks import check
from prowess.findings import Severity
from prowess.hosts import host_names
from prowess.skill import parse_frontmatter

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = {
    "js": b"---js\n{}\n---\nBody.\n",
    "upper case": b"---JS\n{}\n---\nBody.\n",
    "javascript": b"---JavaScript\n{}\n---\nBody.\n",
    "blanks": b"--- \tjs \t\n{}\n---\nBody.\n",
    "CRLF": b"---js\r\n{}\r\n---\r\nBody.\r\n",
    "a byte order mark": b"\xef\xbb\xbf---js\n{}\n---\n",
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf---js\n{}\n---\n",
    "a lone carriage return first": b"---\rjs\nname: pdf\ndescription: Does.\n---\nBody.\n",
    "a carriage return and fields": b"---\rjs\nname: pdf\n---\rdescription: Does.\n---\nBody.\n",
    "a form feed": b"---\x0cjs\n{}\n---\n",
    "a no-break space": "---\u00a0js\n{}\n---\n".encode(),
    "a zero-width no-break space": "---\ufeffjs\u2028\n{}\n---\n".encode(),
    "no closing fence": b"---js\n{}\n",
    "no line feed": b"---js1",
    "coffee": b"---coffee\nname: 1\n---\n",
    "CoffeeScript": b"---CoffeeScript\nname: 1\n---\n",
    "cson": b"---cson\nname: 1\n---\n",
    "typescript": b"---ts\n{}\n---\n",
}
NO_PROGRAMS = {
    "yaml": b"---yaml\nname: pdf\n---\n",
    "json": b"---json\n{}\n---\n",
    "toml": b"---toml\nname = 1\n---\n",
    "plain": b"---\njs: 1\n---\n",
    "blanks": b"---  \njs\n---\n",
    "another word": b"---jsx5\n---\n",
    "more dashes": b"----js\n---\n",
    "a later line": b"\n---js\n{}\n---\n",
    "text": b"js\n---js\n",
    "an empty file": b"",
    "a fence": b"---",
}


def write(top: Path, data: bytes) -> Path:
    file = top / ".claude/skills/pdf/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("kind", PROGRAMS)
def test_front_matter_that_is_a_program_is_an_error_for_every_host(kind: str, tmp_path: Path) -> None:
    """And under every policy, at the language, also if more is wrong with the file."""
    file = write(tmp_path, PROGRAMS[kind])
    for rule in ("guide", "spec", *host_names()):
        findings = check([file], policy=rule) if rule in ("guide", "spec") else check([file], hosts=[rule])
        found = [item for item in findings if item.code == "frontmatter-code"]
        assert [(item.severity, item.line, item.column, item.path) for item in found] == [
            (Severity.ERROR, 1, 4, str(file))
        ], rule
        assert found[0].hint


@pytest.mark.parametrize("kind", NO_PROGRAMS)
def test_other_front_matter_is_no_program(kind: str) -> None:
    """Another language is an ordinary finding."""
    assert "frontmatter-code" not in {item.code for item in parse_frontmatter(NO_PROGRAMS[kind]).findings}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_is_in_no_catalog_of_prowess_and_opencode(kind: str, tmp_path: Path) -> None:
    """It is rejected with the reason, with the cache too."""
    file = write(tmp_path, PROGRAMS[kind])
    for host in ("prowess", "opencode", "prowess", "opencode"):
        (entry,) = discover(tmp_path, host=host, home=tmp_path / "home", env={}).skills
        assert (entry.path, entry.state, entry.rule) == (str(file), "rejected", "frontmatter-code")


def test_no_program_is_evaluated(tmp_path: Path) -> None:
    """Whatever reads it."""
    proof = tmp_path / "proof"
    file = write(tmp_path, f"---js\nrequire('fs').writeFileSync('{proof}', '')\n---\n".encode())
    check([file])
    discover(tmp_path, host="opencode", home=tmp_path / "home", env={})
    assert not proof.exists()
