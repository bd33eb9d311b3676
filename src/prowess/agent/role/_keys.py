"""The keys of a role's file, in both forms, as tables; and the JSON Schema that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY
from prowess.agent.protected import KINDS

from . import _initrunner as initrunner
from ._definitions import share_definitions
from ._schema import FieldSpec, schema as fields_schema
from ._tool_config import TOOLS_SCHEMA

if TYPE_CHECKING:
    from ._schema import FieldTable

__all__ = ["FLAT_FIELDS", "GUARDRAIL_FIELDS", "INITRUNNER_FIELDS", "MODEL_FIELDS", "schema"]

API_VERSION = "initrunner/v1"
MAX_SKILLS = 200
"""InitRunner, "Configuration": `max_skills: 50   # default: 50, max: 200`."""
MODEL_FIELDS: FieldTable = {
    "provider": FieldSpec(kind="text", doc="the provider, such as `openai` or `anthropic`", default="openai"),
    "name": FieldSpec(kind="text", doc="the provider's name of the model; without it, `--model` is needed"),
    "base_url": FieldSpec(kind="text", doc="the URL of a server with OpenAI's API"),
    "api_key_env": FieldSpec(
        kind="text", doc="the environment variable with the API key, instead of the provider's usual one"
    ),
    "temperature": FieldSpec(kind="number", doc="the sampling temperature", inclusive=True, maximum=2),
    "top_p": FieldSpec(kind="number", doc="nucleus sampling: the share of likely words to choose from", maximum=1),
    "max_tokens": FieldSpec(kind="integer", doc="the most tokens of one answer", minimum=1),
    "context_window": FieldSpec(
        kind="integer", doc="the tokens of its context window; the catalog of skills gets 2 % of it", minimum=1
    ),
    **initrunner.MODEL_FIELDS,
}
GUARDRAIL_FIELDS: FieldTable = {
    "max_tokens_per_run": FieldSpec(
        kind="integer", doc="the most tokens of all requests and answers in a run", default=50_000, minimum=1
    ),
    "max_tool_calls": FieldSpec(kind="integer", doc="the most tool calls in a run", default=20, minimum=0),
    "max_requests": FieldSpec(kind="integer", doc="the most requests to the model in a run", default=50, minimum=1),
    "timeout_seconds": FieldSpec(
        kind="number", doc="the time limit of a run, in seconds", default=300.0, maximum=86_400
    ),
    **initrunner.GUARDRAIL_FIELDS,
}
_SECURITY_FIELDS: FieldTable = {
    "deny": FieldSpec(kind="texts", doc="types or names of tools that are not offered", default=()),
    "ask": FieldSpec(
        kind="texts", doc="types or names of tools that need the user's confirmation before each call", default=()
    ),
    "allowed_hosts": FieldSpec(
        kind="texts", doc="domains that tools may connect to, with their subdomains; empty allows all", default=()
    ),
    "allow_private": FieldSpec(
        kind="truth",
        doc="whether commands and a skill's tools may connect to this machine and its network",
        default=False,
    ),
    "roots": FieldSpec(kind="texts", doc="the folders that tools may read and write", default=(".",)),
    "unix_sockets": FieldSpec(
        kind="texts", doc="Unix sockets that programs of the role's own tools may connect to", default=()
    ),
    "allow_writes": FieldSpec(
        kind="texts", doc="kinds of protected files that tools may write", default=(), choices=tuple(KINDS)
    ),
    **initrunner.SECURITY_FIELDS,
}
_AUTO_SKILLS_FIELDS: FieldTable = {
    "enabled": FieldSpec(kind="truth", doc="whether to discover skills", default=True),
    "max_skills": FieldSpec(
        kind="integer", doc="the most skills to discover", default=50, minimum=1, maximum=MAX_SKILLS
    ),
}
_MODEL_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"\S", "description": "`provider:name` or `openai:NAME@URL`"},
        fields_schema(MODEL_FIELDS),
        {"type": "null"},
    ]
}
_COMMON_FIELDS: FieldTable = {
    "model": FieldSpec(kind="model", doc="the model, as a map or as `provider:name`", schema=_MODEL_SCHEMA),
    "skills": FieldSpec(kind="texts", doc="names or paths of skills to load whole", default=()),
    "auto_skills": FieldSpec(kind="map", doc="settings for discovered skills", keys=_AUTO_SKILLS_FIELDS, default=EMPTY),
    "tools": FieldSpec(kind="tools", doc="the role's own tools", schema=TOOLS_SCHEMA, default=()),
    "guardrails": FieldSpec(
        kind="guardrails",
        doc="the limits of one run",
        keys=GUARDRAIL_FIELDS,
        schema=fields_schema(GUARDRAIL_FIELDS) | {"type": ["object", "null"]},
    ),
    "security": FieldSpec(
        kind="map",
        doc="the policy for every tool, the role's own and those of skills",
        keys=_SECURITY_FIELDS,
        default=EMPTY,
    ),
    **initrunner.SPEC_FIELDS,
}
_METADATA_FIELDS: FieldTable = {
    "name": FieldSpec(kind="text", doc="the agent's name", needed=True),
    "description": FieldSpec(kind="text", doc="what the agent is for", default=""),
    "tags": FieldSpec(kind="texts", doc="words to find the role by", default=()),
    "author": FieldSpec(kind="text", doc="the role's author", default=""),
    "version": FieldSpec(kind="text", doc="the role's version", default=""),
    **initrunner.METADATA_FIELDS,
}
_PROMPT_FIELD = FieldSpec(kind="text", doc="the system prompt", needed=True)
INITRUNNER_FIELDS: FieldTable = {
    "apiVersion": FieldSpec(kind="text", doc="the version of the format", needed=True, choices=(API_VERSION,)),
    "kind": FieldSpec(kind="text", doc="the kind of file", needed=True, choices=("Agent",)),
    "metadata": FieldSpec(
        kind="map", doc="information about the role", keys=_METADATA_FIELDS, needed=True, default=EMPTY
    ),
    "spec": FieldSpec(
        kind="map", doc="the role", keys={"role": _PROMPT_FIELD, **_COMMON_FIELDS}, needed=True, default=EMPTY
    ),
}
FLAT_FIELDS: FieldTable = {**_METADATA_FIELDS, "prompt": _PROMPT_FIELD, **_COMMON_FIELDS, **initrunner.TEAM_FIELDS}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a role's file, with both forms."""
    forms = share_definitions({"oneOf": [fields_schema(INITRUNNER_FIELDS), fields_schema(FLAT_FIELDS)]})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A role of Prowess", **forms}
