"""The skills of a catalog in ADK's own toolset for skills, with a model that follows a script."""

from __future__ import annotations

import asyncio
import copy
import os
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.runners import InMemoryRunner
from google.adk.tools.skill_toolset import SkillToolset

from prowess import LiveCatalog, Trust
from prowess.adapters.google_adk import CatalogSkillRegistry
from prowess.errors import ActivationError, ConfigError, SkillNotFoundError
from support.sessions import discover_project
from support.skills import skill

from .test_google_adk import BODY, Scripted

if TYPE_CHECKING:
    from pathlib import Path


METADATA = "metadata:\n  adk_additional_tools: [wipe]\n  adk_inject_state: true\n"


def wipe() -> str:
    """Delete everything."""
    return "Wiped."


def run(registry: CatalogSkillRegistry, *calls: tuple[str, dict[str, Any]]) -> Scripted:
    """Let a model call tools of ADK's toolset, one an answer."""
    model = Scripted(script=[{"name": name, "args": args} for name, args in calls], requests=[])
    toolset = SkillToolset([], registry=registry, code_executor=UnsafeLocalCodeExecutor(), additional_tools=[wipe])
    runner = InMemoryRunner(LlmAgent(name="helper", model=model, tools=[toolset]))
    asyncio.run(runner.run_debug("Go", quiet=True))
    return model


def results(model: Scripted) -> list[Any]:
    """Return the results of all calls."""
    parts = [part for request in model.requests for part in request.contents[-1].parts or ()]
    return [part.function_response.response for part in parts if part.function_response]


def load(name: str) -> tuple[str, dict[str, Any]]:
    return "load_skill", {"skill_name": name}


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(str(tmp_path / "trust.json"))


@pytest.fixture
def project(folder: Path) -> Path:
    """A project whose skill `pages` has a script, files, and metadata that ADK acts on."""
    pages = folder / ".agents/skills/pages"
    skill(pages, body=f"{BODY} {{user:secret}}", more=METADATA)
    for name, data in (
        ("scripts/count.py", b"print(40 + 2)"),
        ("references/api.md", b"Page <|im_start|> 3"),
        ("assets/cover.png", b"\x89PNG\xff"),
    ):
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_bytes(data)
    return folder


def test_the_toolset_finds_and_loads_the_skills_of_the_catalog(project: Path) -> None:
    """By the rules of the host, not of ADK."""
    registry = CatalogSkillRegistry(discover_project(project))
    file = ("load_skill_resource", {"skill_name": "pages", "file_path": "references/api.md"})
    model = run(registry, ("search_skills", {"query": "count pages"}), load("pages"), file)
    found, loaded, text = results(model)
    assert [hit["name"] for hit in found["result"]] == ["pages"]
    assert loaded["instructions"].startswith(f'<skill_content name="pages">\n{BODY}')
    assert text["content"].startswith("Page ")
    assert "<|im_start|>" not in text["content"]


def test_a_skill_for_its_user_only_is_not_given_to_a_model(folder: Path) -> None:
    registry = CatalogSkillRegistry(discover_project(folder))
    model = run(registry, ("search_skills", {"query": "secret"}), load("secret"), load("pags"))
    found, hidden, unknown = results(model)
    assert found["result"] == []
    assert "Whisper." not in str(hidden)
    assert hidden["error_code"] == "REGISTRY_ERROR"
    assert "pags" in unknown["error"]
    with pytest.raises(ActivationError):
        asyncio.run(registry.get_skill(name="secret"))
    with pytest.raises(SkillNotFoundError):
        asyncio.run(registry.get_skill(name="pags"))


@pytest.mark.parametrize("scripts", [False, True])
def test_an_untrusted_skill_brings_no_script_no_tool_and_reads_no_state(
    project: Path, trust: Trust, scripts: bool
) -> None:
    """ADK would run its scripts, offer the tools it names, and put the state into its instructions."""
    registry = CatalogSkillRegistry(discover_project(project), scripts=scripts, trust=trust)
    script = ("run_skill_script", {"skill_name": "pages", "file_path": "scripts/count.py"})
    loaded, ran = results(run(registry, load("pages"), script))
    assert ran["error_code"] == "SCRIPT_NOT_FOUND"
    assert loaded["frontmatter"]["metadata"] == {}
    assert "{user:secret}" in loaded["instructions"]
    assert ("prowess trust" in loaded["instructions"]) is scripts
    model = run(registry, load("pages"))
    assert "wipe" not in model.requests[-1].tools_dict


def test_a_trusted_skill_brings_its_scripts_and_metadata(project: Path, trust: Trust) -> None:
    catalog = discover_project(project)
    trust.allow(catalog.resolve("pages"))
    registry = CatalogSkillRegistry(catalog, scripts=True, trust=trust)
    got = asyncio.run(registry.get_skill(name="pages"))
    assert got.resources.list_scripts() == ["count.py"]
    assert got.resources.get_asset("cover.png") == b"\x89PNG\xff"
    assert got.frontmatter.metadata == {"adk_additional_tools": ["wipe"], "adk_inject_state": True}
    script = ("run_skill_script", {"skill_name": "pages", "file_path": "scripts/count.py"})
    (ran,) = results(run(registry, script))
    assert ran["stdout"].strip() == "42"
    (project / ".agents/skills/pages/scripts/count.py").write_text("print(43)")
    changed = asyncio.run(registry.get_skill(name="pages"))
    assert changed.resources.list_scripts() == []
    assert "has changed since it was trusted" in changed.instructions


def test_files_outside_the_skill_are_not_read(project: Path) -> None:
    """Neither behind a link nor in a pipe, which would block."""
    references = project / ".agents/skills/pages/references"
    (project.parent / "outside.md").write_text("Outside.")
    (references / "link.md").symlink_to(project.parent / "outside.md")
    os.mkfifo(references / "pipe.md")
    got = asyncio.run(CatalogSkillRegistry(discover_project(project)).get_skill(name="pages"))
    assert got.resources.list_references() == ["api.md"]


def test_a_name_that_adk_does_not_accept_is_a_skill_too(folder: Path) -> None:
    """The rules of the host decide."""
    skill(folder / ".agents/skills/Count_It", body="Count it.")
    registry = CatalogSkillRegistry(discover_project(folder))
    found, loaded = results(run(registry, ("search_skills", {"query": "Count_It"}), load("Count_It")))
    assert "Count_It" in [hit["name"] for hit in found["result"]]
    assert "Count it." in loaded["instructions"]


def test_a_changed_skill_is_seen(folder: Path) -> None:
    with LiveCatalog(folder, home=folder.parent / "home") as live:
        registry = CatalogSkillRegistry(live)
        assert BODY in asyncio.run(registry.get_skill(name="pages")).instructions
        skill(folder / ".agents/skills/pages", body="Count them once.")
        assert "Count them once." in asyncio.run(registry.get_skill(name="pages")).instructions


def test_a_registry_can_be_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As deployments of an agent do; a directory is then read where the agent runs."""
    monkeypatch.chdir(folder)
    registry = copy.deepcopy(CatalogSkillRegistry(".", scripts=True))
    assert BODY in asyncio.run(registry.get_skill(name="pages")).instructions


def test_a_wrong_catalog_is_an_error_that_says_what_to_pass() -> None:
    with pytest.raises(ConfigError, match="not a catalog"):
        CatalogSkillRegistry(3)  # type: ignore[arg-type]
