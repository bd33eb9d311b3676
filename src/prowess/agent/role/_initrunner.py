"""List the fields of InitRunner's roles that Prowess does not have, and what it does with each.

A field is *ignored*, with a note, if the role can do no more without it than its author wrote. It is *refused*, with an
error, if it limits or changes what the role may do or send, and Prowess would not keep to it. The fields are those of
InitRunner 2026.10, of `kind: Agent` and of its flat form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._schema import FieldSpec

if TYPE_CHECKING:
    from ._schema import FieldTable

__all__ = [
    "GUARDRAIL_FIELDS",
    "METADATA_FIELDS",
    "MODEL_FIELDS",
    "SECURITY_FIELDS",
    "SPEC_FIELDS",
    "TEAM_FIELDS",
]


def _ignored(reason: str) -> FieldSpec:
    return FieldSpec(kind="ignored", doc=reason)


def _refused(reason: str, hint: str) -> FieldSpec:
    return FieldSpec(kind="refused", doc=reason, hint=hint)


_SETTING = "the model's default is used"

METADATA_FIELDS: FieldTable = {
    "team": _ignored("it is information only"),
    "dependencies": _ignored("nothing is installed; a missing package or program is reported when a tool needs it"),
    "bundle": _ignored("roles are not packed into bundles"),
    "spec_version": _ignored("the keys of the file say which form it has"),
}
MODEL_FIELDS: FieldTable = {
    "concurrency": _ignored("requests are not queued"),
    "fallback": _ignored("a failed request is an error of the turn; no other model is asked"),
    "fallback_on": _ignored("no other model is asked"),
    "prompt_cache": _ignored("only the cost changes"),
    "top_k": _ignored(_SETTING),
    "seed": _ignored(_SETTING),
    "stop_sequences": _ignored(_SETTING),
    "parallel_tool_calls": _ignored(_SETTING),
    "presence_penalty": _ignored(_SETTING),
    "frequency_penalty": _ignored(_SETTING),
    "logit_bias": _ignored(_SETTING),
    "thinking": _ignored(_SETTING),
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
_PER_DAY = "remove it, and set a budget at the model's provider; each run keeps to `max_tokens_per_run`"
GUARDRAIL_FIELDS: FieldTable = {
    "max_request_limit": _refused("the limit would not be kept", "write it as `max_requests`"),
    "input_tokens_limit": _refused("the limit would not be kept", _PER_RUN),
    "total_tokens_limit": _refused("the limit would not be kept", "write it as `max_tokens_per_run`"),
    "per_request_input_tokens_limit": _refused("the limit would not be kept", _PER_RUN),
    "cost_limit": _refused("costs are not counted", _PER_RUN),
    "session_token_budget": _refused("the tokens of several runs are not added up", _PER_DAY),
    "run_token_budget": _refused("the limit would not be kept", "write it as `max_tokens_per_run`"),
    "daemon_token_budget": _refused("the tokens of several runs are not added up", _PER_DAY),
    "daemon_daily_token_budget": _refused("the tokens of several runs are not added up", _PER_DAY),
    "daemon_daily_cost_budget": _refused("costs are not counted", _PER_DAY),
    "daemon_weekly_cost_budget": _refused("costs are not counted", _PER_DAY),
    "team_token_budget": _refused("a role is one agent", "remove it, and set `max_tokens_per_run`"),
    "team_timeout_seconds": _refused("a role is one agent", "remove it, and set `timeout_seconds`"),
    "budget_timezone": _ignored("no budget is reset each day"),
    "max_iterations": _ignored("a prompt is one run; the agent does not prompt itself"),
    "autonomous_token_budget": _ignored("the agent does not prompt itself"),
    "autonomous_timeout_seconds": _ignored("the agent does not prompt itself"),
    "retry_policy": _ignored("a failed run is not repeated"),
    "circuit_breaker": _ignored("a failed run is not repeated"),
}
_SANDBOX_HINT = "remove it, and choose what tools reach with the keys of `security` and of each tool"
SECURITY_FIELDS: FieldTable = {
    "preset": _refused("Prowess has no presets", "remove it, and write the keys of `security` that you want"),
    "content": _refused("prompts and answers are not filtered", "remove it, and filter them where you call the role"),
    "server": _refused(
        "`--serve` has rules of its own", "remove it; put a reverse proxy in front of `prowess run --serve`"
    ),
    "rate_limit": _refused(
        "requests are not counted", "remove it; put a reverse proxy in front of `prowess run --serve`"
    ),
    "resources": _ignored("it limits what `ingest` reads, which is ignored too"),
    "tools": _refused("custom tools and their rules do not exist here", _SANDBOX_HINT),
    "sandbox": _refused("commands run in the sandbox of Prowess", _SANDBOX_HINT),
    "audit": _ignored("there is no audit log; `--json` and `--otel` report what a run did"),
}
SPEC_FIELDS: FieldTable = {
    "output": _refused("answers are text, which nothing checks", "remove it, and describe the form in the prompt"),
    "capabilities": _refused("they may add tools or rules", "remove it, and list tools under `tools`"),
    "deps_schema": _ignored("a run gets no values but its prompt"),
    "triggers": _ignored("nothing starts the role; let cron or a hook run `prowess run ROLE -p TEXT`"),
    "sinks": _ignored("the answer goes to standard output, and nowhere else"),
    "ingest": _ignored("no documents are indexed; `filesystem` and skills read files"),
    "memory": _ignored("a conversation starts empty, and nothing of it is kept"),
    "autonomy": _ignored("a prompt is one run; the agent does not prompt itself"),
    "reasoning": _ignored("the model's own reasoning is used"),
    "execution": _ignored("tools have `timeout_seconds`, and a run has `guardrails`"),
    "resources": _ignored("commands have the limits of the sandbox"),
    "observability": _ignored("`--otel` sends telemetry"),
    "tool_search": _ignored("the model gets all tools"),
    "daemon": _ignored("`--daemon` always reloads"),
}
_ONE_AGENT = "make a role of each agent, or run it with InitRunner"
TEAM_FIELDS: FieldTable = {
    **{
        name: _refused("a role is one agent", _ONE_AGENT)
        for name in (
            *("agents", "run", "debate", "ensemble", "handoff_max_chars", "shared_memory", "shared_documents"),
            "durability",
        )
    }
}
"""Fields of the flat form that describe several agents."""
