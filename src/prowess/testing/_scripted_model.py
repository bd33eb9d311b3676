"""a list of steps -> a model that follows it

    script = "- " step ...
    step   = "call: TOOL" ["with: {ARGUMENT: VALUE ...}"]        ; a tool is called
           | "calls:" a list of such                              ; several at once
           | "say: TEXT"                                          ; the answer

One step for each request to the model, from the first on in each conversation; past the end the last `say` is repeated.
A plain value that is a literal of JSON has its type, anything else is text.
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
from prowess._internal.text import nearest_names, quoted
from prowess.errors import ConfigError
from prowess.findings import format_findings
from prowess.skill import MAX_BYTES, FindingCollector, MappingReader, json_value, read_yaml_list

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Call", "ScriptedModel", "Step"]

_HINT = "a step is `call: TOOL` with `with: {...}`, `calls: [...]` or `say: TEXT`"


class Call(Frozen):
    """A tool that is called."""

    tool: str
    arguments: Mapping[str, Any] = EMPTY


class Step(Frozen):
    """What the model does when it is asked once: it calls tools, or it answers."""

    calls: tuple[Call, ...] = ()
    """All at once."""
    say: str = ""
    """Where there are no calls."""


class ScriptedModel:
    """A model that follows a script, for tests of agents: no key, no network, the same each time.

    Args:
        script: the path of a YAML file; or the steps: `Step`s, or mappings as the file has them.

    Raises:
        ConfigError: it is no script; the message tells all that is wrong, each with its place.
    """

    def __init__(self, script: str | os.PathLike[str] | Sequence[Step | Mapping[str, Any]]) -> None:
        self.steps: tuple[Step, ...] = (
            _read_script(os.fspath(script)) if isinstance(script, str | os.PathLike) else _steps_from_python(script)
        )
        said = [step for step in self.steps if not step.calls]
        self._repeated_step = said[-1] if said else None

    def step(self, number: int) -> Step:
        """Return what it does when it is asked for the `number`-th time in a conversation, from 0 on.

        Raises:
            ConfigError: the script is at its end, and has no `say` that could be repeated.
        """
        if 0 <= number < len(self.steps):
            return self.steps[number]
        if self._repeated_step is None:
            steps = "1 step" if len(self.steps) == 1 else f"{len(self.steps):,} steps"
            raise ConfigError(f"the script has {steps} and is asked for one more", hint="end it with `say: TEXT`")
        return self._repeated_step

    def pydantic_ai(self) -> Any:
        """Return it as a model of Pydantic AI, which can also be streamed.

        Raises:
            ImportError: Pydantic AI is not installed.
        """
        try:
            from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
            from pydantic_ai.models.function import DeltaToolCall, FunctionModel
        except ImportError as error:
            words = "a scripted model for Pydantic AI needs pydantic-ai-slim: pip install 'prowess[pydantic-ai]'"
            raise ImportError(words) from error

        def next_step(messages: Sequence[Any]) -> Step:
            # What was answered so far is in the conversation itself, so many may be held at once.
            return self.step(sum(isinstance(message, ModelResponse) for message in messages))

        async def answer(messages: list[Any], _info: Any) -> Any:
            step = next_step(messages)
            if not step.calls:
                return ModelResponse(parts=[TextPart(step.say)])
            # A tool may change what it is given, and the next conversation must not see that.
            return ModelResponse(parts=[ToolCallPart(call.tool, deepcopy(dict(call.arguments))) for call in step.calls])

        async def stream(messages: list[Any], _info: Any) -> AsyncIterator[Any]:
            step = next_step(messages)
            if not step.calls:
                for part in re.findall(r"\s*\S+|\s+$", step.say) or [""]:
                    yield part
            for at, call in enumerate(step.calls):
                yield {at: DeltaToolCall(call.tool, json.dumps(dict(call.arguments)))}

        return FunctionModel(answer, stream_function=stream, model_name="script")


# ── from a file ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_script(path: str) -> tuple[Step, ...]:
    report = FindingCollector(path, "config-invalid")
    try:
        forms = read_yaml_list(read_file(path, MAX_BYTES, follow=True), report)
    except UnreadableError as error:
        raise ConfigError(f"the script {quoted(path, 200)}: {error.message}", hint=error.hint) from None
    steps = tuple(map(_parse_step, forms))
    if not steps and not report.findings:
        report.add("there is no step in it")
    if report.findings:
        found = sorted(report.findings, key=lambda item: (item.line or 0, item.column or 0))
        raise ConfigError(format_findings(found), hint=_HINT)
    return steps


def _parse_step(form: MappingReader) -> Step:
    form.allow_only("call", "with", "calls", "say")
    given = [name for name in ("call", "calls", "say") if form.get(name, null_is_missing=False) is not None]
    if len(given) != 1:
        words = "says neither `call`, `calls` nor `say`" if not given else f"says both `{given[0]}` and `{given[1]}`"
        form.report.add(f"`{form.prefix}` {words}", form.node)
        return Step()
    if form.get("with", null_is_missing=False) is not None and given[0] != "call":
        form.report.add(f"`{form.key_path('with')}` belongs to a `call`", form.get("with", null_is_missing=False))
    if given[0] == "say":
        return Step(say=form.get_text("say", required=True) or "")
    if given[0] == "call":
        return Step(calls=(_parse_call(form),))
    calls = form.get("calls")
    if calls is None or calls.kind != "list" or not calls.items:
        form.report.add(f"`{form.key_path('calls')}` is not a list of `call: TOOL`", calls or form.node)
        return Step()
    made = []
    for at, item in enumerate(calls.items):
        where = f"{form.key_path('calls')}[{at}]"
        inner = MappingReader(item, form.report, where)
        if item.kind == "map":
            inner.allow_only("call", "with")
            made.append(_parse_call(inner))
        else:
            form.report.add(f"`{where}` is not `call: TOOL`", item)
    return Step(calls=tuple(made))


def _parse_call(form: MappingReader) -> Call:
    tool = form.get_text("call", required=True)
    if tool is not None and not tool.strip():
        form.report.add(f"`{form.key_path('call')}` names no tool", form.get("call"))
    arguments = form.get_mapping("with")
    return Call(tool=tool or "", arguments={} if arguments is None else json_value(arguments.node))


# ── from Python ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _steps_from_python(script: Any) -> tuple[Step, ...]:
    """Make steps of what a script in Python has.

    Raises:
        ConfigError: it has what is none.
    """
    if isinstance(script, Mapping | bytes) or not isinstance(script, Sequence):
        words = f"a script is a list of steps or the path of a file, not {type(script).__name__}"
        raise ConfigError(words, hint=_HINT)
    wrong: list[str] = [] if script else ["there is no step in it"]
    steps = tuple(_step_from_python(step, f"[{at}]", wrong) for at, step in enumerate(script))
    if wrong:
        raise ConfigError("\n".join(f"the script: {words}" for words in wrong), hint=_HINT)
    return steps


def _step_from_python(step: Any, where: str, wrong: list[str]) -> Step:
    if isinstance(step, Step):
        for call in step.calls:
            _check_arguments(call.arguments, where, wrong)
        return step
    if not isinstance(step, Mapping):
        wrong.append(f"`{where}` is {type(step).__name__}, not a mapping or a `Step`")
        return Step()
    given = [name for name in ("call", "calls", "say") if name in step]
    if len(given) != 1:
        words = "says neither `call`, `calls` nor `say`" if not given else f"says both `{given[0]}` and `{given[1]}`"
        wrong.append(f"`{where}` {words}")
        return Step()
    _check_keys(step, ("call", "with") if given[0] == "call" else (given[0],), where, wrong)
    if given[0] == "call":
        return Step(calls=(_call_from_python(step, where, wrong),))
    if given[0] == "say":
        if not isinstance(step["say"], str):
            wrong.append(f"`{where}.say` is {type(step['say']).__name__}, not text")
            return Step()
        return Step(say=step["say"])
    calls = step["calls"]
    if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Sequence) or not calls:
        wrong.append(f"`{where}.calls` is not a list of calls")
        return Step()
    made = []
    for at, call in enumerate(calls):
        inner = f"{where}.calls[{at}]"
        if isinstance(call, Call):
            _check_arguments(call.arguments, inner, wrong)
            made.append(call)
        elif isinstance(call, Mapping):
            _check_keys(call, ("call", "with"), inner, wrong)
            made.append(_call_from_python(call, inner, wrong))
        else:
            wrong.append(f"`{inner}` is {type(call).__name__}, not a mapping or a `Call`")
    return Step(calls=tuple(made))


def _check_keys(step: Mapping[str, Any], names: tuple[str, ...], where: str, wrong: list[str]) -> None:
    for key in step:
        if key == "with" and key not in names:
            wrong.append(f"`{where}.with` belongs to a `call`")
        elif key not in names:
            near = nearest_names(str(key), names)
            hint = f" (did you mean {quoted(near[0])}?)" if near else ""
            wrong.append(f"unknown key {quoted(f'{where}.{key}')}{hint}")


def _call_from_python(call: Mapping[str, Any], where: str, wrong: list[str]) -> Call:
    tool, arguments = call.get("call"), call.get("with")
    if not isinstance(tool, str) or not tool.strip():
        wrong.append(f"`{where}.call` is not the name of a tool")
    _check_arguments({} if arguments is None else arguments, f"{where}.with", wrong)
    return Call(tool=str(tool), arguments=dict(arguments) if isinstance(arguments, Mapping) else {})


def _check_arguments(arguments: Any, where: str, wrong: list[str]) -> None:
    if not isinstance(arguments, Mapping):
        wrong.append(f"`{where}` is {type(arguments).__name__}, not a mapping")
        return
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        wrong.append(f"`{where}` holds what cannot be written as JSON")
