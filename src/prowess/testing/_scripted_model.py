"""Answer as a model that follows a script, for tests of agents.

    script = "- " step ...
    step   = "call: TOOL" ["with: {ARGUMENT: VALUE ...}"]        ; call a tool
           | "calls:" a list of these                             ; call several tools at once
           | "say: TEXT"                                          ; answer

Each request to the model takes the next step; every conversation starts with the first one. After the last step, the
last `say` is repeated. A plain value that is a JSON literal has its JSON type, any other value is text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, nearest_names, quoted
from prowess.errors import ConfigError
from prowess.findings import format_findings
from prowess.skill import MAX_BYTES, FindingCollector, MappingReader, json_value, read_yaml_list

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_HINT = "a step is `call: TOOL` with `with: {...}`, `calls: [...]` or `say: TEXT`"
_NO_STEPS = "it has no steps"
_STEP_KINDS = ("call", "calls", "say")


class Call(Frozen):
    """A tool call."""

    tool: str
    arguments: Mapping[str, Any] = EMPTY


class Step(Frozen):
    """The response of the model to one request: tool calls, or an answer."""

    calls: tuple[Call, ...] = ()
    """Tools to call at once."""
    say: str = ""
    """The answer, if there are no calls."""


class ScriptedModel:
    """A model that follows a script: no key, no network, the same answers each time.

    Args:
        script: the path of a YAML file; or a list of `Step`s, or of mappings as in the file.

    Raises:
        ConfigError: the script is invalid; the message lists all problems and their places.
    """

    def __init__(self, script: str | os.PathLike[str] | Sequence[Step | Mapping[str, Any]]) -> None:
        self.steps: tuple[Step, ...] = (
            _read_script(os.fspath(script)) if isinstance(script, str | os.PathLike) else _steps_from_python(script)
        )
        answers = [step for step in self.steps if not step.calls]
        self._repeated_step = answers[-1] if answers else None

    def step(self, number: int) -> Step:
        """Return the step for a request of a conversation; the first request has the number 0.

        Raises:
            ConfigError: the script has ended, and has no `say` to repeat.
        """
        if 0 <= number < len(self.steps):
            return self.steps[number]
        if self._repeated_step is None:
            steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps):,} steps"
            raise ConfigError(
                f"the script has only {steps}, but the model is called again", hint="end it with `say: TEXT`"
            )
        return self._repeated_step

    def pydantic_ai(self) -> Any:
        """Return it as a Pydantic AI model, which also supports streaming.

        Raises:
            ImportError: Pydantic AI is not installed.
        """
        try:
            from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
            from pydantic_ai.models.function import DeltaToolCall, FunctionModel
        except ImportError as error:
            from prowess._internal.installer import missing_extra

            message = missing_extra("pydantic-ai-slim", "pydantic-ai", "a scripted model for Pydantic AI")
            raise ImportError(message) from error

        def next_step(messages: Sequence[Any]) -> Step:
            # The messages hold the earlier responses, so one model can serve many conversations at once.
            return self.step(sum(isinstance(message, ModelResponse) for message in messages))

        async def answer(messages: list[Any], _info: Any) -> Any:
            step = next_step(messages)
            if not step.calls:
                return ModelResponse(parts=[TextPart(step.say)])
            # A tool may change its arguments, and the next conversation must not see that.
            return ModelResponse(parts=[ToolCallPart(call.tool, deepcopy(dict(call.arguments))) for call in step.calls])

        async def stream(messages: list[Any], _info: Any) -> AsyncIterator[Any]:
            step = next_step(messages)
            if not step.calls:
                for part in re.findall(r"\s*\S+|\s+$", step.say) or [""]:
                    yield part
            for index, call in enumerate(step.calls):
                yield {index: DeltaToolCall(call.tool, json.dumps(dict(call.arguments)))}

        return FunctionModel(answer, stream_function=stream, model_name="script")


# ── from a file ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_script(path: str) -> tuple[Step, ...]:
    report = FindingCollector(path, "config-invalid")
    try:
        forms = read_yaml_list(read_file(path, MAX_BYTES, follow=True), report)
    except UnreadableError as error:
        raise ConfigError(f"the script {quoted(path, PATH_LIMIT)}: {error.message}", hint=error.hint) from None
    steps = tuple(map(_parse_step, forms))
    if not steps and not report.findings:
        report.add(_NO_STEPS)
    if report.findings:
        findings = sorted(report.findings, key=lambda item: (item.line or 0, item.column or 0))
        raise ConfigError(format_findings(findings), hint=_HINT)
    return steps


def _parse_step(form: MappingReader) -> Step:
    form.allow_only("call", "with", "calls", "say")
    kinds = [name for name in _STEP_KINDS if form.get(name, null_is_missing=False) is not None]
    if len(kinds) != 1:
        form.report.add(f"`{form.prefix}` {_describe_kinds(kinds)}", form.node)
        return Step()
    if form.get("with", null_is_missing=False) is not None and kinds[0] != "call":
        form.report.add(f"`{form.key_path('with')}` needs a `call`", form.get("with", null_is_missing=False))
    if kinds[0] == "say":
        return Step(say=form.get_text("say", required=True) or "")
    if kinds[0] == "call":
        return Step(calls=(_parse_call(form),))
    return Step(calls=_parse_calls(form))


def _describe_kinds(kinds: Sequence[str]) -> str:
    """Return what is wrong with a step that is not exactly one of `call`, `calls` and `say`."""
    return f"has both `{kinds[0]}` and `{kinds[1]}`" if kinds else "has neither `call`, `calls` nor `say`"


def _parse_calls(form: MappingReader) -> tuple[Call, ...]:
    calls = form.get("calls")
    if calls is None or calls.kind != "list" or not calls.items:
        form.report.add(f"`{form.key_path('calls')}` is not a list of `call: TOOL`", calls or form.node)
        return ()
    result = []
    for index, item in enumerate(calls.items):
        path = f"{form.key_path('calls')}[{index}]"
        inner = MappingReader(item, form.report, path)
        if item.kind == "map":
            inner.allow_only("call", "with")
            result.append(_parse_call(inner))
        else:
            form.report.add(f"`{path}` is not `call: TOOL`", item)
    return tuple(result)


def _parse_call(form: MappingReader) -> Call:
    tool = form.get_text("call", required=True)
    if tool is not None and not tool.strip():
        form.report.add(f"`{form.key_path('call')}` is empty", form.get("call"))
    arguments = form.get_mapping("with")
    return Call(tool=tool or "", arguments={} if arguments is None else json_value(arguments.node))


# ── from Python ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _steps_from_python(script: Any) -> tuple[Step, ...]:
    """Return the steps of a script that is a Python list.

    Raises:
        ConfigError: the script is invalid.
    """
    if isinstance(script, Mapping | bytes) or not isinstance(script, Sequence):
        message = f"a script is a list of steps or the path of a file, not {type(script).__name__}"
        raise ConfigError(message, hint=_HINT)
    problems: list[str] = [] if script else [_NO_STEPS]
    steps = tuple(_step_from_python(step, f"[{index}]", problems) for index, step in enumerate(script))
    if problems:
        raise ConfigError("\n".join(f"the script: {problem}" for problem in problems), hint=_HINT)
    return steps


def _step_from_python(step: Any, path: str, problems: list[str]) -> Step:
    if isinstance(step, Step):
        for call in step.calls:
            _check_arguments(call.arguments, path, problems)
        return step
    if not isinstance(step, Mapping):
        problems.append(f"`{path}` is {type(step).__name__}, not a mapping or a `Step`")
        return Step()
    kinds = [name for name in _STEP_KINDS if name in step]
    if len(kinds) != 1:
        problems.append(f"`{path}` {_describe_kinds(kinds)}")
        return Step()
    _check_keys(step, ("call", "with") if kinds[0] == "call" else (kinds[0],), path, problems)
    if kinds[0] == "call":
        return Step(calls=(_call_from_python(step, path, problems),))
    if kinds[0] == "say":
        if not isinstance(step["say"], str):
            problems.append(f"`{path}.say` is {type(step['say']).__name__}, not text")
            return Step()
        return Step(say=step["say"])
    return Step(calls=_calls_from_python(step["calls"], f"{path}.calls", problems))


def _calls_from_python(calls: Any, path: str, problems: list[str]) -> tuple[Call, ...]:
    if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Sequence) or not calls:
        problems.append(f"`{path}` is not a list of calls")
        return ()
    result = []
    for index, call in enumerate(calls):
        inner_path = f"{path}[{index}]"
        if isinstance(call, Call):
            _check_arguments(call.arguments, inner_path, problems)
            result.append(call)
        elif isinstance(call, Mapping):
            _check_keys(call, ("call", "with"), inner_path, problems)
            result.append(_call_from_python(call, inner_path, problems))
        else:
            problems.append(f"`{inner_path}` is {type(call).__name__}, not a mapping or a `Call`")
    return tuple(result)


def _check_keys(step: Mapping[str, Any], names: tuple[str, ...], path: str, problems: list[str]) -> None:
    for key in step:
        if key == "with" and key not in names:
            problems.append(f"`{path}.with` needs a `call`")
        elif key not in names:
            near = nearest_names(str(key), names)
            hint = f" (did you mean {quoted(near[0])}?)" if near else ""
            problems.append(f"unknown key {quoted(f'{path}.{key}')}{hint}")


def _call_from_python(call: Mapping[str, Any], path: str, problems: list[str]) -> Call:
    tool, arguments = call.get("call"), call.get("with")
    if not isinstance(tool, str) or not tool.strip():
        problems.append(f"`{path}.call` is not the name of a tool")
    _check_arguments({} if arguments is None else arguments, f"{path}.with", problems)
    return Call(tool=str(tool), arguments=dict(arguments) if isinstance(arguments, Mapping) else {})


def _check_arguments(arguments: Any, path: str, problems: list[str]) -> None:
    if not isinstance(arguments, Mapping):
        problems.append(f"`{path}` is {type(arguments).__name__}, not a mapping")
        return
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        problems.append(f"`{path}` cannot be written as JSON")
