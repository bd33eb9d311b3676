"""The host `camel-ai` gives the answers of CAMEL's own `SkillToolkit`, tree by tree."""

from __future__ import annotations

import logging
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from camel.toolkits import SkillToolkit

from prowess.hosts import load_host
from support.documents import Document, write_files
from support.lines import lines, unescaped
from support.skills import FakeMachine, make_machine, skill

if TYPE_CHECKING:
    from support.documents import Section

logging.getLogger("camel").setLevel(logging.CRITICAL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    machine = make_machine(tmp_path, "camel-ai")
    monkeypatch.setattr(Path, "home", lambda: machine.home)
    return machine


DOCUMENT = Path(__file__).with_name("camel_toolkit.md")
SECTIONS = [section for section in Document.read(DOCUMENT).sections if section.own("tree")]
LONG = f"---\nname: {'n' * 300}\ndescription: {'d' * 5000}\n---\n"
Answer = dict[str, tuple[str, str]]
"""Name to description and path."""


def toolkit_answer(here: FakeMachine, cwd: Path) -> Answer:
    """Return what the toolkit lists, with its folder in `/etc` moved into the machine."""

    class Moved(SkillToolkit):  # type: ignore[misc]
        def _skill_roots(self) -> list[tuple[str, Path]]:
            roots = super()._skill_roots()
            return [(scope, here.top / "etc/camel/skills" if scope == "system" else root) for scope, root in roots]

    return {item["name"]: (item["description"], item["path"]) for item in Moved(str(cwd)).list_skills()}


def prowess_answer(here: FakeMachine, cwd: Path) -> Answer:
    return {entry.name: (entry.description, entry.path) for entry in here.discover_skills(cwd).active}


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


@pytest.mark.parametrize("section", SECTIONS, ids=[section.title for section in SECTIONS])
def test_a_tree_is_answered_as_the_toolkit_does(section: Section, here: FakeMachine) -> None:
    (tree,) = section.own("tree")
    write_files(here.top, tree.text)
    for cwd in (here.repo, here.repo / "a/b"):
        cwd.mkdir(parents=True, exist_ok=True)
        assert prowess_answer(here, cwd) == toolkit_answer(here, cwd)
    assert prowess_answer(here, here.repo)


@pytest.mark.parametrize("text", [*map(unescaped, lines(DOCUMENT, "files")), LONG], ids=lambda text: ascii(text)[:60])
def test_a_file_is_read_as_the_toolkit_does(text: str, here: FakeMachine) -> None:
    write(here.repo / ".agents/skills/f/SKILL.md", text)
    skill(here.repo / ".agents/skills/good")
    assert prowess_answer(here, here.repo) == toolkit_answer(here, here.repo)


@pytest.mark.parametrize("field", ["name", "description"])
def test_a_value_has_the_type_that_the_toolkit_reads(field: str, here: FakeMachine) -> None:
    """Only text is accepted, and PyYAML reads the numbers, booleans and dates of YAML 1.1."""
    for number, scalar in enumerate(" ".join(lines(DOCUMENT, "values")).split()):
        name, description = (scalar, f"of {number}") if field == "name" else (f"n{number}", scalar)
        write(
            here.repo / f".agents/skills/f{number:03}/SKILL.md", f"---\nname: {name}\ndescription: {description}\n---\n"
        )
    wanted, found = toolkit_answer(here, here.repo), prowess_answer(here, here.repo)
    # The toolkit lists the folder in no fixed order, so of equal names it may take any.
    assert {name for name in wanted if name not in found} == set()
    assert {name for name in found if name not in wanted} == set()
    if field == "description":
        assert found == wanted


def test_a_byte_that_is_not_utf8_ends_the_scan(here: FakeMachine) -> None:
    """The toolkit raises an error; Prowess says which skill it is, and shows the others."""
    skill(here.repo / ".agents/skills/good")
    write(here.repo / ".agents/skills/bad/SKILL.md", b"---\nname: x\ndescription: d\n---\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        toolkit_answer(here, here.repo)
    assert here.states() == {"repo/.agents/skills/bad": "rejected", "repo/.agents/skills/good": "active"}


def test_the_text_for_the_model_lists_the_same_skills(here: FakeMachine) -> None:
    """The block is a part of the description of the toolkit's tool; the files of a skill are left out."""
    from prowess.prompt import render

    skill(here.repo / ".agents/skills/pdf", description="Reads PDF & more.")
    skill(here.home / ".config/camel/skills/doc")
    tool = SkillToolkit(str(here.repo)).get_tools()[1].get_openai_tool_schema()["function"]["description"]
    block = tool[tool.index("<available_skills>") :]
    lines = [line for line in block.splitlines() if not line.startswith("    <files>")]
    assert render(here.discover_skills()).text.splitlines() == lines


def test_the_observed_version_is_the_installed_one() -> None:
    assert load_host("camel-ai").observed.startswith(f"{version('camel-ai')}, ")
