"""The keys of a role's file, in both forms, as tables; and the JSON Schema that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import EMPTY
from prowess.agent.protected import KINDS

from ._initrunner import table as initrunner_table
from ._schema import FieldSpec, field_schema, schema as fields_schema
from ._tools import tools_schema

if TYPE_CHECKING:
    from ._schema import FieldTable

API_VERSION = "initrunner/v1"
MAX_SKILLS = 200
"""InitRunner, "Configuration": `max_skills: 50   # default: 50, max: 200`."""
MODEL_FIELDS: FieldTable = {
    "provider": FieldSpec("text", "the provider, such as `openai` or `anthropic`", default="openai"),
    "name": FieldSpec("text", "the provider's name of the model; without it, `--model` is needed"),
    "base_url": FieldSpec("text", "the URL of a server with OpenAI's API"),
    "api_key_env": FieldSpec("text", "the environment variable with the API key, instead of the provider's usual one"),
    "temperature": FieldSpec("number", "the sampling temperature", inclusive=True, maximum=2),
    "top_p": FieldSpec("number", "nucleus sampling: the share of likely words to choose from", maximum=1),
    "max_tokens": FieldSpec("integer", "the most tokens of one answer", minimum=1),
    "context_window": FieldSpec(
        "integer", "the tokens of its context window; the catalog of skills gets 2 % of it", minimum=1
    ),
    **initrunner_table("model"),
}
GUARDRAIL_FIELDS: FieldTable = {
    "max_tokens_per_run": FieldSpec(
        "integer", "the most tokens of all requests and answers in a run", default=50_000, minimum=1
    ),
    "max_tool_calls": FieldSpec("integer", "the most tool calls in a run", default=20, minimum=0),
    "max_requests": FieldSpec("integer", "the most requests to the model in a run", default=50, minimum=1),
    "timeout_seconds": FieldSpec("number", "the time limit of a run, in seconds", default=300.0, maximum=86_400),
    **initrunner_table("guardrails"),
}
_SECURITY_FIELDS: FieldTable = {
    "deny": FieldSpec("texts", "types or names of tools that are not offered", default=()),
    "ask": FieldSpec("texts", "types or names of tools that need the user's confirmation before each call", default=()),
    "allowed_hosts": FieldSpec(
        "texts", "domains that tools may connect to, with their subdomains; empty allows all", default=()
    ),
    "allow_private": FieldSpec(
        "truth", "whether commands and a skill's tools may connect to this machine and its network", default=False
    ),
    "roots": FieldSpec("texts", "the folders that tools may read and write", default=(".",)),
    "unix_sockets": FieldSpec("texts", "Unix sockets that programs of the role's own tools may connect to", default=()),
    "allow_writes": FieldSpec(
        "texts", "kinds of protected files that tools may write", default=(), choices=tuple(KINDS)
    ),
    **initrunner_table("security"),
}
_AUTO_SKILLS_FIELDS: FieldTable = {
    "enabled": FieldSpec("truth", "whether to discover skills", default=True),
    "max_skills": FieldSpec("integer", "the most skills to discover", default=50, minimum=1, maximum=MAX_SKILLS),
}
_MODEL_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"\S", "description": "`provider:name` or `openai:NAME@URL`"},
        fields_schema(MODEL_FIELDS),
        {"type": "null"},
    ]
}
_COMMON_FIELDS: FieldTable = {
    "model": FieldSpec("model", "the model, as a map or as `provider:name`", schema=_MODEL_SCHEMA),
    "skills": FieldSpec("texts", "names or paths of skills to load whole", default=()),
    "auto_skills": FieldSpec("map", "settings for discovered skills", keys=_AUTO_SKILLS_FIELDS, default=EMPTY),
    "tools": FieldSpec("tools", "the role's own tools", default=()),
    "guardrails": FieldSpec(
        "guardrails",
        "the limits of one run",
        keys=GUARDRAIL_FIELDS,
        schema=fields_schema(GUARDRAIL_FIELDS) | {"type": ["object", "null"]},
    ),
    "security": FieldSpec(
        "map", "the policy for every tool, the role's own and those of skills", keys=_SECURITY_FIELDS, default=EMPTY
    ),
    **initrunner_table("spec"),
}
_METADATA_FIELDS: FieldTable = {
    "name": FieldSpec("text", "the agent's name", needed=True),
    "description": FieldSpec("text", "what the agent is for", default=""),
    "tags": FieldSpec("texts", "words to find the role by", default=()),
    "author": FieldSpec("text", "the role's author", default=""),
    "version": FieldSpec("text", "the role's version", default=""),
    **initrunner_table("metadata"),
}
_PROMPT_FIELD = FieldSpec("text", "the system prompt", needed=True)
INITRUNNER_FIELDS: FieldTable = {
    "apiVersion": FieldSpec("text", "the version of the format", needed=True, choices=(API_VERSION,)),
    "kind": FieldSpec("text", "the kind of file", needed=True, choices=("Agent",)),
    "metadata": FieldSpec("map", "information about the role", keys=_METADATA_FIELDS, needed=True, default=EMPTY),
    "spec": FieldSpec("map", "the role", keys={"role": _PROMPT_FIELD, **_COMMON_FIELDS}, needed=True, default=EMPTY),
}
FLAT_FIELDS: FieldTable = {**_METADATA_FIELDS, "prompt": _PROMPT_FIELD, **_COMMON_FIELDS, **initrunner_table("flat")}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a role's file, with both forms; what they share is in `$defs`."""
    tools, definitions = tools_schema()
    shared = {**_METADATA_FIELDS, **_COMMON_FIELDS, "tools": _COMMON_FIELDS["tools"].with_changes(schema=tools)}
    definitions |= {name: field_schema(field) for name, field in shared.items()}
    refs = {
        name: field.with_changes(schema={"$ref": f"#/$defs/{name}"}, doc="", unused="")
        for name, field in shared.items()
    }
    metadata = {name: refs[name] for name in _METADATA_FIELDS}
    spec = {"role": _PROMPT_FIELD, **{name: refs[name] for name in _COMMON_FIELDS}}
    forms = [
        fields_schema(
            {
                **INITRUNNER_FIELDS,
                "metadata": INITRUNNER_FIELDS["metadata"].with_changes(keys=metadata),
                "spec": INITRUNNER_FIELDS["spec"].with_changes(keys=spec),
            }
        ),
        fields_schema({**FLAT_FIELDS, **refs}),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A role of Prowess",
        "oneOf": forms,
        "$defs": dict(sorted(definitions.items())),
    }
