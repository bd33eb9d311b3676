"""An adapter whose framework is not installed says how to install it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

ADAPTERS = [
    (
        "agent_framework",
        "agent_framework",
        "this adapter needs agent-framework-core: pip install 'prowess[agent-framework]'",
    ),
    (
        "claude_agent_sdk",
        "claude_agent_sdk",
        "this adapter needs claude-agent-sdk: pip install 'prowess[claude-agent-sdk]'",
    ),
    ("google_adk", "google.adk", "this adapter needs google-adk: pip install 'prowess[google-adk]'"),
    ("crewai", "crewai", "this adapter needs crewai: pip install 'prowess[crewai]'"),
    ("langchain", "langchain", "this adapter needs langchain: pip install 'prowess[langchain]'"),
    (
        "llama_index",
        "llama_index",
        "this adapter needs llama-index-core: pip install 'prowess[llama-index]'",
    ),
    ("openai_agents", "agents", "this adapter needs openai-agents: pip install 'prowess[openai-agents]'"),
    ("pydantic_ai", "pydantic_ai", "this adapter needs pydantic-ai-slim: pip install 'prowess[pydantic-ai]'"),
    ("haystack", "haystack", "this adapter needs haystack-ai: pip install 'prowess[haystack]'"),
    ("smolagents", "smolagents", "this adapter needs smolagents: pip install 'prowess[smolagents]'"),
    ("strands", "strands", "this adapter needs strands-agents: pip install 'prowess[strands]'"),
]
"""Module, what it imports, and the sentence."""


@pytest.mark.parametrize(("module", "framework", "sentence"), ADAPTERS, ids=[row[0] for row in ADAPTERS])
def test_a_missing_extra_is_named(module: str, framework: str, sentence: str) -> None:
    """The whole sentence, with what to type."""
    if find_spec(framework.partition(".")[0]) is not None and find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed here")
    with pytest.raises(ImportError) as caught:
        import_module(f"prowess.adapters.{module}")
    assert str(caught.value) == sentence


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
        assert str(caught.value) == "this adapter needs camel-ai: pip install 'prowess[camel]'"
