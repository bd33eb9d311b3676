"""List the keys of InitRunner's roles that Prowess does not have, and what it does with each.

A key is *not used*, with one warning for all of them, if the role can do no more without it than its author wrote. It
is *refused*, with an error, if it limits what the role may do, or changes what is sent, and Prowess would not keep to
it. The keys are those of InitRunner 2026.10, of `kind: Agent` and of its flat form.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prowess._internal.text import quoted

from ._initrunner_sections import SECTIONS, fields, section
from ._schema import FieldSpec
from ._several import RUN_EACH

if TYPE_CHECKING:
    from prowess.skill import MappingReader

    from ._schema import FieldTable

__all__ = [
    "GUARDRAIL_FIELDS",
    "METADATA_FIELDS",
    "MODEL_FIELDS",
    "SECURITY_FIELDS",
    "SPEC_FIELDS",
    "TEAM_FIELDS",
    "read_backend",
    "read_capabilities",
    "read_memory",
]

_MEMORY = re.compile(r"([0-9]{1,12})([bkmg]?)", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_MAX_MEMORY = 2**50


def _refused(reason: str, hint: str) -> FieldSpec:
    return FieldSpec(kind="refused", doc=reason, hint=hint)


def _unused(instead: str, words: str) -> FieldTable:
    """Return keys in the short form that all have the same replacement."""
    return {name: field.with_changes(unused=instead) for name, field in fields(words).items()}


METADATA_FIELDS: FieldTable = {
    "team": FieldSpec(kind="text", doc="the team that the role belongs to", default=""),
    "spec_version": FieldSpec(kind="text", doc="the version of InitRunner's format"),
    **_unused("install them yourself; what a tool misses, its call reports", "dependencies=texts"),
    "bundle": section("pack the role's folder yourself, for example with `tar`", "include=texts"),
}
_SETTING = "the model's default is used"
MODEL_FIELDS: FieldTable = {
    **_unused(
        "a failed request ends the turn; run it again with `--model`",
        "fallback=texts fallback_on=texts",
    ),
    "concurrency": section(
        "limit the requests where you call the role", "max_running!=integer:1..1000000000 max_queued=integer share"
    ),
    **_unused(
        _SETTING,
        "prompt_cache=any top_k=integer:1..1000000000 seed=integer stop_sequences=texts parallel_tool_calls=truth "
        "presence_penalty=number:-2..2 frequency_penalty=number:-2..2 logit_bias=text-map "
        "thinking=false|minimal|low|medium|high|xhigh",
    ),
    "extra_headers": _refused(
        "requests would be sent without these headers", "remove it, or put a proxy that adds them in `model.base_url`"
    ),
    "extra_body": _refused(
        "requests would be sent without it, for example stored by the provider",
        "remove it, or put a proxy that adds it in `model.base_url`",
    ),
    "tool_choice": _refused(
        "the model would have its tools", "remove it; to withhold tools, list them in `security.deny`"
    ),
}
_PER_RUN = "remove it, and set `max_tokens_per_run`, `max_requests` or `timeout_seconds`"
_NO_TRIGGERS = "it limits runs that triggers start, and none are; set a budget at the model's provider"
GUARDRAIL_FIELDS: FieldTable = {
    "max_request_limit": FieldSpec(
        kind="integer", doc="InitRunner's name of `max_requests`; the smaller one counts", minimum=1
    ),
    "total_tokens_limit": FieldSpec(
        kind="integer", doc="InitRunner's name of `max_tokens_per_run`; the smaller one counts", minimum=1
    ),
    "run_token_budget": FieldSpec(
        kind="integer", doc="another name of `max_tokens_per_run`; the smallest one counts", minimum=1
    ),
    "input_tokens_limit": FieldSpec(kind="integer", doc="the most tokens of all requests in a run", minimum=1),
    "session_token_budget": FieldSpec(
        kind="integer", doc="the most tokens of a conversation; after that it answers no more", minimum=1
    ),
    "per_request_input_tokens_limit": FieldSpec(kind="integer", doc="the most tokens of one request", minimum=1),
    "cost_limit": _refused("costs are not counted", _PER_RUN),
    "team_token_budget": _refused("a role is one agent", "remove it, and set `max_tokens_per_run`"),
    "team_timeout_seconds": _refused("a role is one agent", "remove it, and set `timeout_seconds`"),
    **_unused(
        _NO_TRIGGERS,
        "daemon_token_budget=integer:1..1000000000000 daemon_daily_token_budget=integer:1..1000000000000 "
        "daemon_daily_cost_budget=number:>0..1000000000 daemon_weekly_cost_budget=number:>0..1000000000 "
        "budget_timezone",
    ),
    **_unused(
        "a prompt is one run, and the agent does not prompt itself",
        "max_iterations=integer:1..1000000000 autonomous_token_budget=integer:1..1000000000000 "
        "autonomous_timeout_seconds=integer:1..1000000000",
    ),
    "retry_policy": section(
        "a failed run is not repeated; repeat it where you call the role",
        "max_attempts=integer:1..5 backoff_base_seconds=number:0.5..30 backoff_max_seconds=number:1..300",
    ),
    "circuit_breaker": section(
        "stop calling the role where you call it",
        "failure_threshold=integer:1..100 reset_timeout_seconds=integer:10..3600",
    ),
}
_OWN_RULES = "remove it, and choose what tools reach with the keys of `security` and of each tool"
_PROXY = "remove it, and put a reverse proxy that does it in front of `prowess run --serve`"
_OWN_SANDBOX = "commands always run in the sandbox of Prowess"
_BACKENDS = ("auto", "bwrap", "docker", "none")
_SANDBOX_FIELDS: FieldTable = {
    "backend": FieldSpec(
        kind="backend",
        doc="`auto`, `bwrap`, `docker` or `none`: commands run in the sandbox of Prowess with each of them",
        schema={"enum": [*_BACKENDS, None]},
    ),
    "network": FieldSpec(
        kind="text",
        doc="`none` closes the network to commands, also to those of tools with `network: true`",
        choices=("none", "bridge", "host"),
    ),
    "memory_limit": FieldSpec(
        kind="memory",
        doc="the most memory of a command, such as `256m`",
        schema={"type": ["string", "number", "null"], "pattern": "^[0-9]{1,12}[bkmgBKMG]?$"},
    ),
    "read_only_rootfs": FieldSpec(kind="truth", doc="commands never write outside the folders that the role allows"),
    **_unused("a command has `timeout_seconds`", "cpu_limit=number:>0..1000000000"),
    **_unused(
        "commands see the folders in `security.roots`",
        "allowed_read_paths=texts allowed_write_paths=texts bind_mounts=maps",
    ),
    **_unused("name the variables in the tool's own configuration", "env_passthrough=texts"),
    "docker": FieldSpec(
        kind="map",
        keys={
            **_unused(f"{_OWN_SANDBOX}, with the programs of this machine", "image user"),
            "runtime": _refused("commands run without this runtime", "remove it, or run the role inside a container"),
            "extra_args": _refused(
                "commands run without these limits", "remove it, or run the role inside a container"
            ),
        },
    ),
    "ssh": _refused("commands would run on this machine", "remove it, and run Prowess on the other machine"),
}
SECURITY_FIELDS: FieldTable = {
    "preset": _refused("Prowess has no presets", "remove it, and write the keys of `security` that you want"),
    "content": _refused("prompts and answers are not filtered", "remove it, and filter them where you call the role"),
    "server": _refused("`--serve` has rules of its own", _PROXY),
    "rate_limit": _refused("requests are not counted", _PROXY),
    "tools": _refused("rules for InitRunner's own tools are not applied", _OWN_RULES),
    "docker": _refused("InitRunner has replaced it", "write it as `sandbox: {backend: docker}`"),
    "sandbox": FieldSpec(kind="map", doc="InitRunner's settings of the sandbox", keys=_SANDBOX_FIELDS),
    "resources": section("it limits what `ingest` reads", "max_file_size_mb=number max_total_ingest_mb=number"),
    "audit": section("`--json` and `--otel` report what a run did", "max_records=integer retention_days=integer"),
}
_CAPABILITIES = (
    *("Caching", "Citations", "FileUnderstanding", "ImageGeneration", "IncludeToolReturnSchemas", "MCP", "Thinking"),
    *("ToolSearch", "WebFetch", "WebSearch", "XSearch"),
)
"""Capabilities of Pydantic AI that only add something."""
SPEC_FIELDS: FieldTable = {
    **SECTIONS,
    "capabilities": FieldSpec(
        kind="capabilities",
        unused="for `MCP`, `WebFetch` and `WebSearch` the tools `mcp` and `web_reader`; others may be rules, and "
        "are refused",
        schema={
            "type": ["array", "null"],
            "items": {
                "anyOf": [
                    {"enum": [*_CAPABILITIES]},
                    {
                        "type": "object",
                        "propertyNames": {"enum": [*_CAPABILITIES]},
                        "minProperties": 1,
                        "maxProperties": 1,
                    },
                ]
            },
        },
    ),
}


def read_capabilities(mapping: MappingReader, name: str) -> None:
    """Check `capabilities`: names, or maps from one name to its settings. Others than those listed may be rules."""
    node = mapping.get(name)
    if node is None:
        return
    if node.kind != "list":
        mapping.report_wrong_type(name, node, "a list", f"write each item below `{name}:`, after a dash")
        return
    for index, item in enumerate(node.items):
        where = f"{name}[{index}]"
        if item.kind == "list" or (item.kind == "map" and len(item.keys) != 1):
            mapping.report_wrong_type(where, item, "a name, or a map with one name")
            continue
        word = item.keys[0].text if item.kind == "map" else item.text
        if word not in _CAPABILITIES:
            message = f"the capability {quoted(word)} in {quoted(mapping.key_path(name))} is not supported"
            mapping.report.add(message, item, "it may be a rule for the agent: remove it")


def read_backend(mapping: MappingReader, name: str) -> str | None:
    """Read the name of a sandbox; that of Prowess is used in place of each."""
    text = mapping.get_text(name)
    if text is None:
        return None
    if text not in _BACKENDS:
        message = f"the sandbox {quoted(text)} of {quoted(mapping.key_path(name))} is not supported"
        hint = f"commands would run on this machine: remove it, or use one of {', '.join(_BACKENDS)}"
        mapping.report.add(message, mapping.get(name), hint)
        return None
    if text == "docker":
        mapping.add_unused(name, _OWN_SANDBOX)
    return text


def read_memory(mapping: MappingReader, name: str) -> int | None:
    """Read an amount of memory, such as `256m`; return bytes."""
    node, text = mapping.get(name), mapping.get_text(name)
    if node is None or text is None:
        return None
    match = _MEMORY.fullmatch(text)
    if match is None or not 0 < (value := int(match[1]) * _UNITS[match[2].lower()]) <= _MAX_MEMORY:
        mapping.report_wrong_type(name, node, "an amount of memory", "write it as `256m` or `1g`")
        return None
    return value


TEAM_FIELDS: FieldTable = {
    **{
        name: _refused("a role is one agent", RUN_EACH)
        for name in (
            *("agents", "run", "debate", "ensemble", "handoff_max_chars", "shared_memory", "shared_documents"),
            "durability",
        )
    }
}
"""Fields of the flat form that describe several agents."""
