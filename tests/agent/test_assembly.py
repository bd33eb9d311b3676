"""Assembling an agent: its prompt, its skills, and its tools under the role's policy.

Quotations are of InitRunner's documents on skills.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess._internal.installer import install_command
from prowess.agent import Assembly, assemble
from prowess.agent.assembly import Toolbox
from support.rows import rows
from support.skills import skill

if TYPE_CHECKING:
    from prowess.catalog._entry import Entry

TOP = Path(__file__).parent.parent
HEAD = "name: a\nprompt: You help.\nmodel: openai:m\n"
FILES, WRITING = "tools:\n- type: filesystem\n", "tools:\n- type: filesystem\n  read_only: false\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder for a role, and a home."""
    for name in ("roles", "home"):
        (tmp_path / name).mkdir()
    return tmp_path.resolve()


def assemble_role(
    top: Path, more: str = "", *, dirs: tuple[str, ...] = (), invalid: bool = False, **env: str
) -> Assembly:
    """Write a role and assemble it."""
    (top / "roles/role.yaml").write_text(HEAD + more, encoding="utf-8")
    assembly, findings = assemble(top / "roles/role.yaml", dirs=dirs, home=str(top / "home"), env=env)
    assert assembly is not None
    assert assembly.findings == findings
    assert bool(findings) is invalid, [item.message for item in findings]
    return assembly


def tool_origins(toolbox: Assembly | Toolbox) -> dict[str, str]:
    """Return the origin of each tool, by name."""
    return {tool.name: tool.origin for tool in (toolbox if isinstance(toolbox, Toolbox) else toolbox.toolbox).tools}


def active_names(assembly: Assembly) -> list[str]:
    return [] if assembly.catalog is None else [active_entry.name for active_entry in assembly.catalog.active]


def active_entry(assembly: Assembly, name: str) -> Entry:
    assert assembly.catalog is not None
    (found,) = (one for one in assembly.catalog.active if one.name == name)
    return found


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_package_is_named(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command to install it; roles without such tools do not need it."""
    for name in [name for name in sys.modules if name.startswith("prowess.agent.tools.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    assembly = assemble_role(top, "tools: [{type: http, base_url: 'https://example.com'}]\n", invalid=True)
    (item,) = assembly.findings
    assert item.message == "`tools[0]`: the package `httpx2` is not installed"
    assert item.hint == f"install it with `{install_command('agent')}`"
    assert "read_file" in tool_origins(assemble_role(top, FILES))


# ── "Security" ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sockets_are_named_by_the_role_alone(top: Path) -> None:
    """Relative to its folder; a skill has no such key."""
    assembly = assemble_role(top, "security: {unix_sockets: [db.sock, /run/db/sock]}\n")
    assert assembly.toolbox.context.policy.unix_sockets == (str(top / "roles/db.sock"), "/run/db/sock")
    skill(top / "roles/skills/files", more="security: {unix_sockets: [db.sock]}\nunix_sockets: [db.sock]\n")
    assert assemble_role(top, "skills: [files]\n").toolbox.context.policy.unix_sockets == ()


# ── InitRunner's own roles ────────────────────────────────────────────────────────────────────────────────────────────


def initrunner_role(name: str, top: Path, **env: str) -> tuple[Assembly, list[str]]:
    shutil.copytree(TOP / "roles" / name, top / name)
    (file,) = (top / name).glob("*.yaml")
    assembly, findings = assemble(file, home=str(top / "home"), env=env)
    assert assembly is not None
    return assembly, [item.message for item in findings]


def make_programs(top: Path, *names: str) -> str:
    (top / "bin").mkdir()
    for name in names:
        (top / "bin" / name).write_text("#!/bin/sh\n")
        (top / "bin" / name).chmod(0o755)
    return str(top / "bin")


def test_initrunners_reviewer_is_assembled(top: Path) -> None:
    """InitRunner, "Full Example": with the prompt and tools of `code-review`."""
    assembly, findings = initrunner_role("reviewer", top, PATH=make_programs(top, "ruff", "mypy"))
    assert findings == []
    assert assembly.instructions.startswith("You are a senior code reviewer.")
    assert "\n\n## Skill: code-review\n\n## Code Review Skill\n\nYou can review" in assembly.instructions
    toolbox = tool_origins(assembly)
    assert set(toolbox.values()) == {"code-review"}
    assert {"git_diff", "git_changed_files", "read_file", "run_shell"} <= set(toolbox)
    assert active_names(assembly) == []
    assert assembly.notes == ()


def test_initrunners_reviewer_needs_its_programs(top: Path) -> None:
    """InitRunner, "Requirement Checking"."""
    _, findings = initrunner_role("reviewer", top, PATH=make_programs(top, "ruff"))
    assert findings == ["the skill `code-review` cannot be used: the program `mypy` is not on PATH"]


def test_initrunners_demo_discovers_its_skill(top: Path) -> None:
    """InitRunner, "Auto-Discovery Example": `summarizer` is in the catalog; activation adds its tools."""
    assembly, findings = initrunner_role("auto", top)
    assert findings == []
    assert active_names(assembly) == ["summarizer"]
    assert tool_origins(assembly) == {}
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "summarizer"), toolbox)
    assert tool_origins(toolbox) == {"fetch_page": "summarizer"}


def test_initrunners_research_assistant_needs_all_its_skills(top: Path) -> None:
    """InitRunner, "Referencing Skills": without errors once nothing is missing."""
    assembly, findings = initrunner_role("research", top, PATH=make_programs(top))
    assert [words.partition(": ")[0] for words in findings] == [
        "the skill `web-research` cannot be used",
        "the skill `web-research` cannot be used",
        "skill not found",
        "skill not found",
    ]
    shutil.copytree(TOP / "roles/auto/skills/summarizer", top / "research/skills/summarizer")
    skill(top / "research/skills/data-analysis")
    (top / "bin/curl").write_text("#!/bin/sh\n")
    (top / "bin/curl").chmod(0o755)
    env: dict[str, Any] = {"PATH": str(top / "bin"), "SEARCH_API_KEY": "k"}
    complete, invalid = assemble(assembly.role.path, home=str(top / "home"), env=env)
    assert invalid == ()
    assert complete is not None
    assert [part.origin for part in complete.parts] == ["role", "web-research", "summarizer", "data-analysis"]
    assert list(tool_origins(complete).values()) == ["web-research", "web-research"]


# ── malicious skills ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_that_changed_after_the_start_gets_no_new_tools(top: Path) -> None:
    """An agent that can write to the role's folder must not give itself tools."""
    skill(top / "roles/skills/bb")
    assembly = assemble_role(top, WRITING)
    skill(top / "roles/skills/bb", more="tools:\n- {type: shell, require_confirmation: false}\n")
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "bb"), toolbox)
    assert tool_origins(toolbox) == tool_origins(assembly)


@pytest.mark.parametrize(("more", "writes"), rows(__file__, "can_write_files_depends_on_the_configuration"))
def test_can_write_files_depends_on_the_configuration(top: Path, more: str, writes: bool) -> None:
    assert assemble_role(top, more).toolbox.can_write_files is writes
