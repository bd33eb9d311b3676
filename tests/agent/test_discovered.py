"""The skills of servers that a role names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.agent import Assembly, assemble
from support.files import write_file
from support.skill_servers import ENTRY, FILES, digest, serve
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.skill_servers import SkillServer

TOOLS = b"---\nname: pdf\ndescription: Reads PDF files.\ntools: [{type: filesystem}]\n---\nRead them aloud.\n"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SkillServer]:
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    with serve() as (url, server):
        write_file(tmp_path / "home/.prowess/config.toml", f'[[servers]]\nname = "docs"\nurl = "{url}"\n')
        yield server


def assemble_role(top: Path, more: str) -> Assembly:
    path = top / "role/role.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"name: a\nprompt: You help.\nmodel: openai:m\n{more}")
    made, _ = assemble(str(path), home=str(top / "home"), env={})
    assert made is not None
    return made


def names(made: Assembly) -> list[str]:
    return [] if made.catalog is None else [entry.name for entry in made.catalog.active]


def test_a_role_names_a_server(served: SkillServer, tmp_path: Path) -> None:
    """Its skills are offered beside the others, and no file is fetched; without its name it is not asked."""
    skill(tmp_path / "role/skills/mine")
    assert names(assemble_role(tmp_path, "")) == ["mine"]
    assert served.methods == []
    made = assemble_role(tmp_path, "skills: [mcp:docs]\n")
    assert (names(made), made.findings, made.notes) == (["mine", "docs:pdf"], (), ())
    assert served.methods == ["server/discover", "skills/list"]
    assert names(assemble_role(tmp_path, "skills: [mcp:docs]\nauto_skills: {enabled: false}\n")) == ["docs:pdf"]


def test_a_skill_of_a_server_brings_no_tools(
    served: SkillServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if a folder of the role looks like its path."""
    served.files = {**FILES, ENTRY["uri"]: TOOLS}
    frontmatter = {"name": "pdf", "description": "Reads PDF files.", "tools": [{"type": "filesystem"}]}
    file = {"uri": ENTRY["uri"], "digest": digest(TOOLS), "size": len(TOOLS)}
    served.entries = [{**ENTRY, "frontmatter": frontmatter, "resources": [file]}]
    write_file(tmp_path / "role/mcp:/docs/skill:/pdf/SKILL.md", TOOLS)
    monkeypatch.chdir(tmp_path / "role")
    made = assemble_role(tmp_path, "skills: [mcp:docs]\n")
    session = made.new_session()
    assert session is not None
    assert "Read them aloud." in session.activate("docs:pdf").content
    assert [tool.name for tool in made.toolbox_with(session).tools] == [tool.name for tool in made.toolbox.tools]


def test_a_server_that_is_not_configured_is_an_error_of_the_role(served: SkillServer, tmp_path: Path) -> None:
    """At its line."""
    made = assemble_role(tmp_path, "skills:\n- mcp:other\n")
    assert [(item.message, item.line) for item in made.findings] == [("no server is called `other`", 5)]
    assert served.methods == []


def test_a_server_that_fails_is_a_note(served: SkillServer, tmp_path: Path) -> None:
    """The role runs with its other skills."""
    served.what = "list-error"
    skill(tmp_path / "role/skills/mine")
    made = assemble_role(tmp_path, "skills: [mcp:docs]\n")
    assert (names(made), made.findings) == (["mine"], ())
    assert "the MCP server `docs`: its skills cannot be listed" in made.notes[0]
