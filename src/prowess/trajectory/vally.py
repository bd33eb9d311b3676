"""Read the trials of Vally, as `results.jsonl` has them (0.18), as trajectories of ATIF.

A line is one trial: `{"type": "trial-result", "variant", "status", "durationMs", "trajectory": {"stimulus": {"prompt"},
"events": [{"type", "data"} ...], "output"}}`.
"""

from __future__ import annotations

from ._lines import Lines, at, objects_at, text_at
from .atif import VERSION, call_step, message_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def read_trials(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the trials of a file: the variant, and the trajectory with `final_metrics` and `extra.seconds`.

    Raises:
        UnreadableSessionError: it cannot be read.
    """
    lines = Lines(path)
    for line in lines:
        record = lines.record(line)
        trajectory = record.get("trajectory")
        if record.get("type") == "trial-result" and isinstance(trajectory, dict):
            yield text_at(record, "variant"), _trajectory(record, trajectory)


def _trajectory(record: dict[str, Any], trajectory: dict[str, Any]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [message_step("user", text_at(trajectory, "stimulus", "prompt"), "")]
    calls: dict[str, dict[str, Any]] = {}
    for event in objects_at(trajectory, "events"):
        kind, data, key = text_at(event, "type"), event.get("data"), text_at(event, "data", "toolCallId")
        if kind == "assistant_message":
            steps.append(message_step("agent", text_at(data, "content"), ""))
        elif kind == "tool_call":
            arguments = at(data, "arguments")
            calls[key] = call_step(
                text_at(data, "toolName"), arguments if isinstance(arguments, dict) else {}, "", "", key
            )
            steps.append(calls[key])
        elif kind == "tool_result" and key in calls:
            result = at(data, "result")
            calls[key]["observation"]["results"][0] |= {
                "content": result if isinstance(result, str) else "",
                "extra": {"is_error": at(data, "success") is False},
            }
        elif kind == "token_usage":
            names = {"prompt_tokens": "inputTokens", "completion_tokens": "outputTokens"}
            steps.append(
                {**message_step("agent", "", ""), "metrics": {to: at(data, name) for to, name in names.items()}}
            )
    output = text_at(trajectory, "output")
    if output and output not in (step["message"] for step in steps[1:]):
        steps.append(message_step("agent", output, ""))
    return {
        "schema_version": VERSION,
        "agent": {"name": "vally", "version": text_at(trajectory, "metadata", "model") or "unknown"},
        "steps": steps,
        "extra": {"failed": text_at(record, "status") not in ("", "success"), "milliseconds": record.get("durationMs")},
    }
