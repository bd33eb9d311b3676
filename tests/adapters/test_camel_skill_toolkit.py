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
from support.skills import FakeMachine, make_machine, skill

if TYPE_CHECKING:
    from collections.abc import Callable

logging.getLogger("camel").setLevel(logging.CRITICAL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    machine = make_machine(tmp_path, "camel-ai")
    monkeypatch.setattr(Path, "home", lambda: machine.home)
    return machine


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


def roots_of(here: FakeMachine) -> list[Path]:
    return [
        here.repo / ".camel/skills",
        here.repo / ".agents/skills",
        here.home / ".camel/skills",
        here.home / ".config/camel/skills",
        here.etc / "camel/skills",
    ]


def every_root(here: FakeMachine) -> None:
    for number, root in enumerate(roots_of(here)):
        skill(root / f"s{number}")
    for folder in (".claude", ".github", ".codex", ".infer", "."):
        skill(here.repo / folder / "skills" / f"not-{folder.strip('.')}")
        skill(here.home / folder / "skills" / f"not-at-home-{folder.strip('.')}")
    skill(here.home / ".agents/skills/not-at-home")
    skill(here.home / ".config/camel/not-below-skills")


def collisions(here: FakeMachine) -> None:
    roots = roots_of(here)
    for first in range(len(roots)):
        for root in roots[first:]:
            skill(root / f"c{first}", description=f"of {root.parent.parent.name}")


def depths_and_insides(here: FakeMachine) -> None:
    root = here.repo / ".agents/skills"
    skill(root, "in-the-root")
    skill(root / "a")
    skill(root / "a/inside")
    skill(root / "group/b")
    skill(root / "/".join("0123456789") / "deep")
    skill(root / "node_modules/m")
    skill(root / "__pycache__/p")
    skill(root / ".hidden/h")
    skill(root / "group/.h2")
    skill(root / ".git/g")
    (root / "SKILL.md/x").parent.parent.mkdir(exist_ok=True)
    (root / "folder/SKILL.md").mkdir(parents=True)
    write(root / "lower/skill.md", "---\nname: lower\ndescription: d\n---\n")
    write(root / "flat.md", "---\nname: flat\ndescription: d\n---\n")


def links(here: FakeMachine) -> None:
    root = here.repo / ".agents/skills"
    elsewhere = skill(here.repo / "elsewhere/linked")
    root.mkdir(parents=True)
    (root / "folder").symlink_to(elsewhere.parent)
    (root / "file").mkdir()
    (root / "file/SKILL.md").symlink_to(elsewhere)
    (root / "dangling").mkdir()
    (root / "dangling/SKILL.md").symlink_to("nowhere")
    (root / "loop").symlink_to(root)
    (here.home / ".camel").mkdir()
    skill(here.repo / "outside/through-the-root")
    (here.home / ".camel/skills").symlink_to(here.repo / "outside")


def from_below(here: FakeMachine) -> None:
    skill(here.repo / ".agents/skills/above")
    skill(here.repo / "a/.agents/skills/between")
    skill(here.repo / "a/b/.camel/skills/mine")


TREES = [every_root, collisions, depths_and_insides, links, from_below]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.__name__)
def test_a_tree_is_answered_as_the_toolkit_does(tree: Callable[[FakeMachine], None], here: FakeMachine) -> None:
    tree(here)
    for cwd in (here.repo, here.repo / "a/b"):
        cwd.mkdir(parents=True, exist_ok=True)
        assert prowess_answer(here, cwd) == toolkit_answer(here, cwd)
    assert prowess_answer(here, here.repo)


FILES = [
    "---\nname: x\ndescription: d\n---\nbody",
    "---\nname: x\ndescription: d\n---",
    "---\r\nname: x\r\ndescription: d\r\n---\r\nbody",
    "---\rname: x\rdescription: d\r---\rbody",
    "  ---  \nname: x\ndescription: d\n\t--- \nbody",
    "\n---\nname: x\ndescription: d\n---\n",
    "\ufeff---\nname: x\ndescription: d\n---\n",
    "----\nname: x\ndescription: d\n---\n",
    "---\nname: x\ndescription: d\n----\n",
    "---\nname: x\ndescription: d\n...\n---\n",
    "---\nname: x\ndescription: d\n",
    "---\n---\n",
    "---\n",
    "---",
    "",
    "no front matter",
    "---\n- a\n- b\n---\n",
    "---\ntext\n---\n",
    "---\nname: x\ndescription: |\n  a\n  --- b\n  ---\n  c\n---\n",
    "---\nname: x\ndescription: a --- b\n---\n",
    "---\nname: x\n---\n",
    "---\ndescription: d\n---\n",
    "---\nname: x\nname: y\ndescription: d\ndescription: e\n---\n",
    "---\nname: &n x\ndescription: *n\n---\n",
    "---\nname: !foo x\ndescription: d\n---\n",
    "---\nname: x\ndescription: use: colons\n---\n",
    "---\nname: x\ndescription: @at\n---\n",
    "---\nname: x\ndescription: `tick`\n---\n",
    "---\nname: x\ndescription: *star\n---\n",
    "---\nname: x\ndescription: %percent\n---\n",
    "---\nname: x\ndescription: {{ braces }}\n---\n",
    "---\nname: x\ndescription: [a\n---\n",
    '---\nname: x\ndescription: "open\n---\n',
    "---\nname: x\n\tdescription: d\n---\n",
    "---\nname: x\ndescription: d\nmore:\n\t- a\n---\n",
    '---\nname: "  x  "\ndescription: "  d\\n\\n"\n---\n',
    "---\nname: Any Name! ünï\ndescription: d\n---\n",
    f"---\nname: {'n' * 300}\ndescription: {'d' * 5000}\n---\n",
    '---\nname: ""\ndescription: d\n---\n',
    '---\nname: x\ndescription: ""\n---\n',
    '---\nname: x\ndescription: "   "\n---\n',
    "---\nname: x\ndescription: >\n  folded\n  text\n\n  more\nlicense: [MIT]\nallowed-tools: {a: b}\n---\n",
    "---\nname: x\ndescription: d\ndisable-model-invocation: true\nuser-invocable: false\n---\n",
    "---\nname: x # comment\ndescription: d#e # f\n---\n",
    "---\n# comment\nname: x\ndescription: d\n---\n",
    "---\nname: x\ndescription: d\x07\n---\n",
    "---\nname: x\ndescription: d\x7f\n---\n",
    "---\nname: x\ndescription: d\n---\n\x00\x07",
    *(
        f"---\nname: x\ndescription: a{character}name: y\n---\n"
        for character in ("\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\xa0")
    ),
    "---\nname: x\ndescription: d\n\u2028---\u2028\n",
    "---\x85name: x\x85description: d\x85---\x85body",
]


@pytest.mark.parametrize("text", FILES, ids=ascii)
def test_a_file_is_read_as_the_toolkit_does(text: str, here: FakeMachine) -> None:
    write(here.repo / ".agents/skills/f/SKILL.md", text)
    skill(here.repo / ".agents/skills/good")
    assert prowess_answer(here, here.repo) == toolkit_answer(here, here.repo)


SCALARS = """
~ null Null NULL nUll true True TRUE tRue false yes Yes YES yEs no No NO on On ON off Off OFF oFF y n Y N
0 1 12 -1 +1 007 08 0189 0x1F 0o17 0b101 0b12 1_000 1e3 1E5 1.5 1. .5 -.5 +.5 -.5e3 1.5e3 1.5e+3
1.5E-3 1e+3 .inf -.inf .NaN .nan
1:30 1:30:45 1:75 1:30.5 190:20:30 2026-01-01 2026-1-1 2026-01-01T10:00:00Z 2026-11 1.2.3 v1 1a a1 = << - -- ? : ~a
"true" 'yes' "1" '2026-01-01' "~" '' "" [a] {a:b} 1__0 _1 -_1 00 -0 +0 0.0 0_8 1_0.5_0 12e03 12.5e03
"""


@pytest.mark.parametrize("field", ["name", "description"])
def test_a_value_has_the_type_that_the_toolkit_reads(field: str, here: FakeMachine) -> None:
    """Only text is accepted, and PyYAML reads the numbers, booleans and dates of YAML 1.1."""
    for number, scalar in enumerate(SCALARS.split()):
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
