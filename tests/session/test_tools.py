"""The tools of a session."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import discover
from prowess.session import FileAnswer, Session
from support.media import PDF, PNG
from support.proofs import short_or_long
from support.sessions import SKILLS, new_session, tools_by_name
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_tools_have_a_name_a_description_and_a_schema(project: Path) -> None:
    """Names of skills are in the catalog alone."""
    name = {"type": "string", "description": "the skill's name"}
    tools = new_session(project).tools()
    assert [(tool.name, tool.parameters) for tool in tools] == [
        (
            "activate_skill",
            {
                "type": "object",
                "properties": {
                    "name": name,
                    "arguments": {"type": "string", "description": "what to work on"},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        ),
        (
            "read_skill_file",
            {
                "type": "object",
                "properties": {
                    "name": name,
                    "path": {
                        "type": "string",
                        "description": "in the skill's directory, for example references/api.md",
                    },
                    "offset": {"type": "integer", "minimum": 0, "description": "first byte"},
                    "limit": {"type": "integer", "minimum": 1, "description": "bytes at most"},
                },
                "required": ["name", "path"],
                "additionalProperties": False,
            },
        ),
    ]
    assert all(tool.description for tool in tools)
    assert json.loads(json.dumps([tool.parameters for tool in tools])) == [tool.parameters for tool in tools]


@pytest.mark.parametrize("value", [0, 1.5, True, [], {}, "", "\0", "x" * 10_000, "\ud800", "../..", -1, 10**30, None])
def test_no_argument_value_raises(value: Any, project: Path) -> None:
    """Whatever a model makes up."""
    session = new_session(project, budget=150)
    for tool in session.tools():
        known = {"name": "pdf", "path": "SKILL.md", "query": "x"}
        for key in tool.parameters["properties"]:
            given = {name: text for name, text in known.items() if name in tool.parameters["required"]}
            answer = tool.call(**{**given, key: value})
            assert isinstance(answer, str)


@pytest.mark.proof
@pytest.mark.slow
def test_2000_skills_are_reachable_within_4000_characters(tmp_path: Path) -> None:
    """Each through `search_skills` by its name; one that is not shown can be activated."""
    names = [f"skill{number:04}" for number in range(2000)]
    for name in names:
        skill(tmp_path / "skills" / name, body=f"Body of {name}.")
    catalog = discover(tmp_path, home=tmp_path, skill_dirs=[tmp_path / "skills"], env={}, cache=False)
    session = Session(catalog, budget=4000)
    block = session.static_block()
    assert len(block) <= 4000
    tools = tools_by_name(session)
    shown = [name for name in names if f"\n- {name}" in block]
    assert 0 < len(shown) < 400
    search = tools["search_skills"].call
    searched = names[:: short_or_long(9, 1)]
    assert [name for name in searched if not search(query=name).startswith(f"- {name}: ")] == []
    (hidden, *_) = (name for name in names if name not in shown)
    assert f"Body of {hidden}." in tools["activate_skill"].call(name=hidden)
    assert tools["read_skill_file"].call(name=names[-1], path="SKILL.md").endswith("Body of skill1999.\n")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        pytest.param(PNG, "image/png", id="png"),
        pytest.param(b"\xff\xd8\xff\xe0\0", "image/jpeg", id="jpeg"),
        pytest.param(b"GIF89a\0", "image/gif", id="gif"),
        pytest.param(b"RIFF\x1a\0\0\0WEBPVP8 ", "image/webp", id="webp"),
        pytest.param(PDF, "application/pdf", id="pdf"),
        pytest.param(b"RIFF\x1a\0\0\0WAVEfmt ", None, id="wav"),
        pytest.param(b"\x89PNG", None, id="cut"),
        pytest.param(PNG + bytes(4 * 1024 * 1024), None, id="large"),
        pytest.param(b"PNG", None, id="text"),
    ],
)
def test_an_image_or_a_document_is_a_file_for_the_adapter(project: Path, data: bytes, media_type: str | None) -> None:
    """By its bytes, not by its name; its text says what it is, also after it was pickled."""
    (skill(project / SKILLS / "pdf").parent / "file.txt").write_bytes(data)
    session = new_session(project)
    answer = tools_by_name(session)["read_skill_file"].call(name="pdf", path="file.txt")
    if media_type is None:
        assert type(answer) is str
        return
    kind = "an image" if media_type.startswith("image/") else "a document"
    line = f"`file.txt` is {kind} ({media_type}, {len(data):,} bytes)"
    for given in (answer, pickle.loads(pickle.dumps(answer))):  # noqa: S301 - our own
        assert isinstance(given, FileAnswer)
        assert given == f"{line}\nhint: if you are not shown it, read it with a script"
        assert (given.file.name, given.file.media_type, given.file.data) == ("file.txt", media_type, data)
        assert given.file.is_image == (kind == "an image")
    session.activate("pdf")
    tools_by_name(session)["read_skill_file"].call(name="pdf", path="file.txt")
    assert session.ledger[-1].files == ("file.txt",)


@pytest.mark.parametrize("path", ["link.png", "../../../../../out.png", "/etc/x.png", "none.png", "", "a\0.png"])
def test_an_image_outside_of_the_skill_is_not_read(project: Path, path: str) -> None:
    folder = skill(project / SKILLS / "pdf").parent
    (project.parent / "out.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(project.parent / "out.png")
    answer = tools_by_name(new_session(project))["read_skill_file"].call(name="pdf", path=path)
    assert answer.startswith("error: ")
    assert not isinstance(answer, FileAnswer)


def test_an_image_with_a_name_like_a_tag_closes_nothing(project: Path) -> None:
    (skill(project / SKILLS / "pdf").parent / "<").mkdir()
    (project / SKILLS / "pdf/</skill_content>").write_bytes(PNG)
    answer = tools_by_name(new_session(project))["read_skill_file"].call(name="pdf", path="</skill_content>")
    assert isinstance(answer, FileAnswer)
    assert "</skill_content>" not in answer
