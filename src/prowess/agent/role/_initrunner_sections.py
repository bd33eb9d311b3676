"""The types of keys in InitRunner's roles that Prowess checks and does not use: `triggers`, `memory` and others.

Written in a short form, one word for each key: `schedule! prompt! timezone autonomous=truth` is two required texts,
another text, and true or false. After `=` is a kind of `FieldSpec`, with the bounds of a number (`integer:1..200`,
`number:>0..600`), or the allowed texts (`vector|hybrid`). Maps inside a map are keyword arguments. Keys that are not
listed are accepted, since newer versions have more of them. The types are those of InitRunner 2026.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._schema import FieldSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._schema import FieldTable

__all__ = ["SECTIONS", "fields", "section"]

_ANY_NUMBER = (-(10.0**9), 10.0**9)


def fields(words: str, **maps: FieldTable) -> FieldTable:
    """Return a table of keys from the short form, and of maps inside."""
    table = {}
    for word in words.split():
        name, _, kind = word.partition("=")
        table[name.rstrip("!")] = _field(kind or "text", needed=name.endswith("!"))
    return table | {name: FieldSpec(kind="map", keys=keys, is_open=True) for name, keys in maps.items()}


def _field(kind: str, *, needed: bool) -> FieldSpec:
    if "|" in kind:
        return FieldSpec(kind="text", choices=tuple(kind.split("|")), needed=needed)
    kind, _, bounds = kind.partition(":")
    if kind not in ("integer", "number"):
        return FieldSpec(kind=kind, needed=needed, is_open=True)
    low, high = _ANY_NUMBER
    if bounds:
        low, high = (float(bound.lstrip(">")) for bound in bounds.split(".."))
    return FieldSpec(kind=kind, minimum=low, maximum=high, inclusive=not bounds.startswith(">"), needed=needed)


def section(instead: str, words: str = "", **maps: FieldTable) -> FieldSpec:
    """Return a map that is checked and not used."""
    return FieldSpec(kind="map", keys=fields(words, **maps), is_open=True, unused=instead)


def _typed(instead: str, variants: Mapping[str, FieldTable]) -> FieldSpec:
    return FieldSpec(kind="typed-maps", variants=variants, unused=instead)


_EMBEDDINGS = fields("provider model base_url api_key_env")
_ONE_RUN = "a prompt is one run; call `prowess run ROLE -p TEXT` again, with what is left to do"

SECTIONS: FieldTable = {
    "triggers": _typed(
        "let cron, a hook or your own program call `prowess run ROLE -p TEXT`",
        {
            "cron": fields("schedule! prompt! timezone autonomous=truth"),
            "file_watch": fields(
                "paths!=texts extensions=texts prompt_template debounce_seconds=number process_existing=truth "
                "autonomous=truth"
            ),
            "webhook": fields("path port=integer method secret rate_limit_rpm=integer autonomous=truth"),
            "telegram": fields(
                "token_env allowed_users=texts allowed_user_ids=texts allow_all=truth prompt_template autonomous=truth"
            ),
            "discord": fields(
                "token_env channel_ids=texts allowed_roles=texts allowed_user_ids=texts allow_all=truth "
                "prompt_template autonomous=truth"
            ),
            "slack": fields(
                "app_token_env bot_token_env channel_ids=texts allowed_user_ids=texts allow_all=truth "
                "respond_in_thread=truth prompt_template autonomous=truth"
            ),
            "heartbeat": fields(
                "file! interval_seconds=integer:1..1000000000 prompt_prefix active_hours=texts timezone "
                "autonomous=truth"
            ),
        },
    ),
    "sinks": _typed(
        "send the output of `prowess run ROLE -p TEXT --json` on yourself",
        {
            "webhook": fields("url! method headers=text-map timeout_seconds=integer retry_count=integer"),
            "file": fields("path! format=json|text"),
            "custom": fields("module! function!"),
        },
    ),
    "memory": section(
        "a served conversation is kept with `prowess run ROLE --serve --store URL`",
        "store_path store_backend max_sessions=integer max_resume_messages=integer",
        embeddings=_EMBEDDINGS,
        episodic=fields("enabled=truth max_episodes=integer"),
        semantic=fields("enabled=truth max_memories=integer"),
        procedural=fields("enabled=truth max_procedures=integer"),
        consolidation=fields(
            "enabled=truth interval=after_session|after_autonomous|manual max_episodes_per_run=integer model_override"
        ),
    ),
    "ingest": section(
        "put the documents into `references/` of a skill, or let the tool `filesystem` search them",
        "auto=truth sources!=texts watch=truth store_backend store_path",
        chunking=fields("strategy=fixed|paragraph chunk_size=integer chunk_overlap=integer"),
        embeddings=_EMBEDDINGS,
        retriever=fields("strategy=vector|hybrid|hybrid_rerank rrf_k=integer reranker_model"),
    ),
    "autonomy": section(
        _ONE_RUN,
        "continuation_prompt max_history_messages=integer max_plan_steps=integer iteration_delay_seconds=number "
        "max_no_tool_call_iterations=integer max_scheduled_per_run=integer max_scheduled_total=integer "
        "max_schedule_delay_seconds=integer",
        compaction=fields(
            "enabled=truth threshold=integer:1..1000000000 tail_messages=integer:1..1000000000 model_override "
            "summary_prefix"
        ),
    ),
    "reasoning": section(
        "write in the prompt how to plan and to check the answer",
        "pattern=react|todo_driven|plan_execute|reflexion auto_plan=truth reflection_rounds=integer:0..3 "
        "reflection_dimensions=maps success_criteria=texts auto_detect=truth",
    ),
    "execution": section(
        "set `timeout_seconds` of each tool, and `guardrails`",
        "retries=integer:0..10 output_retries=integer:0..10 end_strategy=early|graceful|exhaustive "
        "tool_timeout_seconds=number:>0..1000000000 http_retries=integer:1..10 http_retry_max_wait=number:>0..600",
        max_concurrency=fields("max_running!=integer:1..1000000000 max_queued=integer:0..1000000000"),
    ),
    "resources": section("commands have the sandbox's limits", "memory cpu=number"),
    "observability": section(
        "`prowess run --otel` sends telemetry",
        "backend=otlp|logfire|console endpoint service_name trace_tool_calls=truth trace_token_usage=truth "
        "sample_rate=number:0..1 include_content=truth",
    ),
    "tool_search": section(
        "the model gets every tool at once",
        "enabled=truth always_available=texts max_results=integer:1..20 threshold=number:0..1000000000",
    ),
    "daemon": section(
        "`prowess run ROLE -i --daemon` reloads what changes", "hot_reload=truth reload_debounce_seconds=number:0..30"
    ),
    "output": section(
        "answers are text: describe the form in the prompt, and check the answer where you use it",
        "type=text|json_schema schema_file mode=auto|tool|native|prompted|text",
        schema={},
        schema_={},
    ),
    "deps_schema": section("put the values into the prompt"),
}
"""Keys of `spec`, and of the flat form, that Prowess does not use."""
