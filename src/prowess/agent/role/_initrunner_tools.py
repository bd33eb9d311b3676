"""List InitRunner's types of tools that Prowess does not have: how they are configured, and what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._initrunner_sections import section

if TYPE_CHECKING:
    from ._schema import FieldTable

__all__ = ["UNUSED_TOOLS", "instead_of_tool"]

_SERVER = "an `mcp` server that has such a tool"
_OTHER = "no such type here; use an `mcp` server, or a `script`"
_OTHER_ROLE = "start the other role with a `prowess run ROLE -p TEXT` of its own"
_AGENT_REFS = "agents!=maps max_depth=integer timeout_seconds=integer"
_PAGES = "allowed_domains=texts blocked_domains=texts max_content_bytes=integer timeout_seconds=integer user_agent"

UNUSED_TOOLS: FieldTable = {
    "api": section("the tool `http`, with `headers`", "name! description base_url! headers=text-map endpoints!=maps"),
    "audio": section(
        f"{_SERVER}, or a skill with a script",
        "youtube_languages=texts include_timestamps=truth transcription_model max_audio_mb=number "
        "max_transcript_chars=integer",
    ),
    "blackboard": section(
        "nothing: a role is one agent", "max_entries=integer:1..1000 max_value_chars=integer:1..100000"
    ),
    "calculator": section("the tool `python`", "max_expression_length=integer"),
    "clarify": section(
        "`prowess run ROLE -i`, where the model asks in its answer",
        "max_clarifications=integer:1..10 timeout_seconds=integer:30..3600",
    ),
    "csv_analysis": section(
        "the tool `python` with `working_dir`, or a skill with a script",
        "root_path max_rows=integer max_file_size_mb=number delimiter",
    ),
    "custom": section(_OTHER, "module! function"),
    "datetime": section("write the date into the prompt, or use the tool `python`", "default_timezone"),
    "delegate": section(_OTHER_ROLE, f"{_AGENT_REFS} mode=inline|mcp|a2a"),
    "email": section(
        _SERVER,
        "imap_host! smtp_host imap_port=integer smtp_port=integer username! password! use_ssl=truth default_folder "
        "read_only=truth max_results=integer max_body_chars=integer timeout_seconds=integer",
    ),
    "image_gen": section(
        _SERVER,
        "provider=openai|stability api_key_env default_size default_quality default_style output_dir input_root model "
        "timeout_seconds=integer",
    ),
    "pdf_extract": section(
        "a skill with a script",
        "root_path max_pages=integer:1..1000000000 max_content_bytes=integer max_file_size_mb=number",
    ),
    "search": section(
        f"{_SERVER}, or `web_reader` for pages that the model knows",
        "provider=duckduckgo|serpapi|brave|tavily api_key max_results=integer safe_search=truth "
        "timeout_seconds=integer",
    ),
    "slack": section(
        "the tool `http` with the webhook's URL",
        "webhook_url! default_channel username icon_emoji timeout_seconds=integer max_response_bytes=integer",
    ),
    "spawn": section(_OTHER_ROLE, f"{_AGENT_REFS} max_concurrent=integer:1..16"),
    "sql": section(
        f"{_SERVER}, or the tool `python`",
        "database! read_only=truth max_rows=integer max_result_bytes=integer timeout_seconds=integer",
    ),
    "think": section("the model's own reasoning", "critique=truth max_thoughts=integer:1..200"),
    "todo": section("the model's own plan", "max_items=integer:1..100 shared=truth shared_path"),
    "web_scraper": section("the tool `web_reader`", _PAGES),
}


def instead_of_tool(kind: str) -> str:
    """Return what to use in place of a type of tool that Prowess does not have."""
    return UNUSED_TOOLS[kind].unused if kind in UNUSED_TOOLS else _OTHER
