"""a list of steps -> a model that follows it

    script = "- " step ...
    step   = "call: TOOL" ["with: {ARGUMENT: VALUE ...}"]        ; a tool is called
           | "calls:" a list of such                              ; several at once
           | "say: TEXT"                                          ; the answer

One step for each request to the model, from the first on in each conversation; past the end the last `say` is repeated.
A plain value that is a literal of JSON has its type, anything else is text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prowess._frozen import EMPTY, Frozen
from prowess.errors import ConfigError
from prowess.files import UnreadableError, read_file
from prowess.findings import neutral, quoted
from prowess.forms import MAX_BYTES, Form, Report, json_value, read_yaml_list

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Call", "ScriptedModel", "Step"]


class Call(Frozen):
    """A tool that is called."""

    tool: str
    arguments: Mapping[str, Any] = EMPTY


class Step(Frozen):
    """What the model does when it is asked once: it calls tools, or it answers."""

    calls: tuple[Call, ...] = ()
    say: str = ""


class ScriptedModel:
    """A model that follows a script, for tests of agents: no key, no network, the same each time.

    Args:
        script: the path of a YAML file; or the steps: `Step`s, or mappings as the file has them.

    Raises:
        ConfigError: it is no script; the message tells all that is wrong, each with its place.
    """

    def __init__(self, script: str | os.PathLike[str] | Sequence[Step | Mapping[str, Any]]) -> None:
        self.steps: tuple[Step, ...] = (
            _read(os.fspath(script)) if isinstance(script, str | os.PathLike) else tuple(map(_step_of, script))
        )
        said = [step for step in self.steps if not step.calls]
        self._last = said[-1] if said else Step()

    def step(self, number: int) -> Step:
        """Return what it does when it is asked for the `number`-th time in a conversation, from 0 on."""
        return self.steps[number] if 0 <= number < len(self.steps) else self._last

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
        import json

        def next_step(messages: Sequence[Any]) -> Step:
            # What was answered so far is in the conversation itself, so many may be held at once.
            return self.step(sum(isinstance(message, ModelResponse) for message in messages))

        def answer(messages: list[Any], _info: Any) -> Any:
            step = next_step(messages)
            if not step.calls:
                return ModelResponse(parts=[TextPart(step.say)])
            return ModelResponse(parts=[ToolCallPart(call.tool, dict(call.arguments)) for call in step.calls])

        async def stream(messages: list[Any], _info: Any) -> AsyncIterator[Any]:
            step = next_step(messages)
            if not step.calls:
                for part in re.findall(r"\s*\S+|\s+$", step.say):
                    yield part
                return
            yield {at: DeltaToolCall(call.tool, json.dumps(dict(call.arguments))) for at, call in enumerate(step.calls)}

        return FunctionModel(answer, stream_function=stream, model_name="script")


def _read(path: str) -> tuple[Step, ...]:
    report = Report(path, "config-invalid")
    try:
        forms = read_yaml_list(read_file(path, MAX_BYTES, follow=True), report)
    except UnreadableError as error:
        raise ConfigError(f"the script {quoted(path, 200)}: {error.message}", hint=error.hint) from None
    steps = tuple(map(_step, forms))
    if report.findings:
        lines = [
            f"{neutral(path)}:{item.line}:{item.column}: {item.message}{f' ({item.hint})' if item.hint else ''}"
            for item in report.findings
        ]
        raise ConfigError(
            "\n".join(lines), hint="a step is `call: TOOL` with `with: {...}`, `calls: [...]` or `say: TEXT`"
        )
    return steps


def _step(form: Form) -> Step:
    form.only("call", "with", "calls", "say")
    given = [name for name in ("call", "calls", "say") if form.get(name, null=False) is not None]
    if len(given) != 1:
        words = "says neither `call`, `calls` nor `say`" if not given else f"says both `{given[0]}` and `{given[1]}`"
        form.report.say(f"`{form.where}` {words}", form.node)
        return Step()
    if form.get("with") is not None and given[0] != "call":
        form.report.say(f"`{form.path('with')}` belongs to a `call`", form.get("with"))
    if given[0] == "say":
        return Step(say=form.text("say") or "")
    if given[0] == "call":
        return Step(calls=(_call(form),))
    calls = form.get("calls")
    if calls is None or calls.kind != "list" or any(item.kind != "map" for item in calls.items) or not calls.items:
        form.report.say(f"`{form.path('calls')}` is not a list of `call: TOOL`", calls or form.node)
        return Step()
    inner = [Form(item, form.report, f"{form.path('calls')}[{at}]") for at, item in enumerate(calls.items)]
    for one in inner:
        one.only("call", "with")
    return Step(calls=tuple(map(_call, inner)))


def _call(form: Form) -> Call:
    tool = form.text("call", needed=True) or ""
    arguments = form.form("with")
    return Call(tool=tool, arguments={} if arguments is None else json_value(arguments.node))


def _step_of(step: Step | Mapping[str, Any]) -> Step:
    """Make a step of what a script in Python has.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(step, Step):
        return step
    calls = [step] if "call" in step else step.get("calls", ())
    wrong = [*(set(step) - {"call", "with", "calls", "say"})] or len({"call", "calls", "say"} & set(step)) != 1
    if wrong or not all(isinstance(call, Mapping) and isinstance(call.get("call"), str) for call in calls):
        words = f"this is no step of a script: {neutral(repr(step)[:100])}"
        raise ConfigError(words, hint='write `{"call": TOOL, "with": {...}}`, `{"calls": [...]}` or `{"say": TEXT}`')
    made = tuple(Call(tool=call["call"], arguments=dict(call.get("with") or {})) for call in calls)
    return Step(calls=made, say=str(step.get("say", "")))
