"""An adapter whose framework is not installed says how to install it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

from prowess._internal.installer import install_command

ADAPTERS = [
    ("agent_framework", "agent_framework", "agent-framework-core"),
    ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    ("google_adk", "google.adk", "google-adk"),
    ("crewai", "crewai", "crewai"),
    ("langchain", "langchain", "langchain"),
    ("llama_index", "llama_index", "llama-index-core"),
    ("openai_agents", "agents", "openai-agents"),
    ("pydantic_ai", "pydantic_ai", "pydantic-ai-slim"),
    ("haystack", "haystack", "haystack-ai"),
    ("smolagents", "smolagents", "smolagents"),
    ("strands", "strands", "strands-agents"),
]
"""Module, what it imports, and the package that the sentence names. The extra has the name of the module."""


@pytest.mark.parametrize(("module", "framework", "package"), ADAPTERS, ids=[row[0] for row in ADAPTERS])
def test_a_missing_extra_is_named(module: str, framework: str, package: str) -> None:
    """The whole sentence, with what to type."""
    if find_spec(framework.partition(".")[0]) is not None and find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed here")
    with pytest.raises(ImportError) as caught:
        import_module(f"prowess.adapters.{module}")
    command = install_command(module.replace("_", "-"))
    assert str(caught.value) == f"this adapter needs {package}: {command}"


def test_the_adapter_of_camel_lists_skills_without_it_and_names_it_where_it_needs_it() -> None:
    """Its data model is CAMEL's design, not CAMEL; an agent is."""
    if find_spec("camel") is not None:
        pytest.skip("camel is installed here")
    camel = import_module("prowess.adapters.camel")
    manager = camel.SkillManager([camel.FilesystemSkillProvider(["examples/skills"])])
    (mentioned,) = manager.resolve_mentions("use $csv-profile", manager.list("."))
    for needs, arguments in ((camel.attach, (None, None)), (manager.build_messages, ([mentioned],))):
        with pytest.raises(ImportError) as caught:
            needs(*arguments)
        assert str(caught.value) == f"this adapter needs camel-ai: {install_command('camel')}"
