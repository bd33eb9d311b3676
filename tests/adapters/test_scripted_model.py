"""A scripted model in agents of Pydantic AI."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, models
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from prowess.adapters.pydantic_ai import Skills
from prowess.errors import ConfigError
from prowess.testing import ScriptedModel
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.usefixtures("loop")


@pytest.fixture(autouse=True)
def _no_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is asked by mistake; other tests ask servers of their own."""
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


ORDER: list[dict[str, Any]] = [
    {"call": "price", "with": {"item": "tea", "count": 2}},
    {"say": "Tea is 6.\nAnd that is all."},
]


def agent(script: Any, asked: list[Any]) -> Agent[None, str]:
    """Return an agent with two tools that keep what they were asked."""

    def price(item: str, count: int) -> int:
        asked.append((item, count))
        return 3 * count

    def keep(things: list[Any]) -> str:
        asked.append([*things])
        things.append("changed by the tool")
        return "kept"

    return Agent(ScriptedModel(script).pydantic_ai(), tools=[price, keep])


def calls(messages: Sequence[Any]) -> list[tuple[str, Any]]:
    parts = [part for message in messages for part in message.parts]
    return [(part.tool_name, part.args_as_dict()) for part in parts if isinstance(part, ToolCallPart)]


def returned(messages: Sequence[Any]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def test_an_agent_follows_the_script() -> None:
    """Its tools get typed arguments, and the history is that of any model."""
    asked: list[Any] = []
    result = agent(ORDER, asked).run_sync("What is tea?")
    assert result.output == "Tea is 6.\nAnd that is all."
    assert asked == [("tea", 2)]
    assert calls(result.all_messages()) == [("price", {"item": "tea", "count": 2})]
    assert returned(result.all_messages()) == [6]
    assert {message.model_name for message in result.all_messages() if isinstance(message, ModelResponse)} == {"script"}


def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    """With types as in JSON: a tool that needs a number gets one."""
    file = tmp_path / "script.yaml"
    file.write_text("- call: price\n  with: {item: tea, count: 2}\n- say: |-\n    Tea is 6.\n    And that is all.\n")
    asked: list[Any] = []
    assert agent(file, asked).run_sync("What is tea?").output == ORDER[1]["say"]
    assert asked == [("tea", 2)]


@pytest.mark.parametrize(
    "text", ["Tea is 6.\nAnd that is all.", "one", " a  b \n\n", "\n", "", "x" * 2_000, "日本 \u200b é\t."], ids=repr
)
def test_a_streamed_answer_is_the_text_of_the_script(text: str) -> None:
    """Word by word, with every blank; a tool before it is called too."""

    async def stream() -> tuple[str, list[Any], int]:
        asked: list[Any] = []
        pieces = []
        async with agent([ORDER[0], {"say": text}], asked).run_stream("?") as run:
            pieces = [piece async for piece in run.stream_text(delta=True, debounce_by=None)]
        return "".join(pieces), asked, len(pieces)

    whole, asked, count = asyncio.run(stream())
    assert (whole, asked) == (text, [("tea", 2)])
    assert count >= len(text.split())


@pytest.mark.parametrize("streamed", [False, True])
def test_one_step_can_call_several_tools(streamed: bool) -> None:
    """All in one answer of the model, each with its own arguments, in order."""
    script = [
        {"calls": [{"call": "price", "with": {"item": i, "count": n}} for n, i in enumerate("abc", 1)]},
        {"say": "done"},
    ]
    asked: list[Any] = []
    made = agent(script, asked)

    async def run() -> Any:
        if not streamed:
            return (await made.run("?")).all_messages()
        async with made.run_stream("?") as result:
            assert await result.get_output() == "done"
            return result.all_messages()

    messages = asyncio.run(run())
    first = next(message for message in messages if isinstance(message, ModelResponse))
    assert calls([first]) == [("price", {"item": i, "count": n}) for n, i in enumerate("abc", 1)]
    assert returned(messages) == [3, 6, 9]
    assert sorted(asked) == [("a", 1), ("b", 2), ("c", 3)]


def test_each_conversation_begins_at_the_first_step() -> None:
    """A later turn goes on in the script; after its end the last answer repeats."""
    asked: list[Any] = []
    made = agent([*ORDER, {"say": "Anything else?"}], asked)
    first = made.run_sync("What is tea?")
    assert made.run_sync("What is tea?").output == first.output
    assert asked == [("tea", 2), ("tea", 2)]
    second = made.run_sync("Thanks", message_history=first.all_messages())
    third = made.run_sync("Bye", message_history=second.all_messages())
    assert [second.output, third.output] == ["Anything else?"] * 2
    assert len(asked) == 2


def test_twenty_conversations_at_once_do_not_mix() -> None:
    """With one model, each follows the script from its beginning."""
    script = [{"call": "price", "with": {"item": str(n), "count": n}} for n in range(5)] + [{"say": "done"}]
    asked: list[Any] = []
    made = agent(script, asked)

    async def one(number: int) -> tuple[str, list[Any]]:
        if number % 2:
            async with made.run_stream("?") as run:
                return await run.get_output(), returned(run.all_messages())
        result = await made.run("?")
        return result.output, returned(result.all_messages())

    async def all_of_them() -> Any:
        return await asyncio.gather(*map(one, range(20)))

    assert asyncio.run(all_of_them()) == [("done", [0, 3, 6, 9, 12])] * 20
    assert len(asked) == 100


def test_a_tool_cannot_change_the_script() -> None:
    """It gets its own copy of the arguments."""
    asked: list[Any] = []
    made = agent([{"call": "keep", "with": {"things": ["a"]}}, {"say": "done"}], asked)
    for _ in range(2):
        made.run_sync("?")
    assert asked == [["a"], ["a"]]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_script_without_an_answer_ends_the_run_with_an_error(streamed: bool) -> None:
    """Rather than with the framework's, after several retries."""
    made = agent([ORDER[0]], [])

    async def run() -> None:
        if streamed:
            async with made.run_stream("?"):
                pass
        else:
            await made.run("?")

    with pytest.raises(ConfigError, match="the script has only 1 step, but the model is called again"):
        asyncio.run(run())


def test_the_example_in_the_docs_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/testing.md, "Testing agents", with two more tools."""
    text = (Path(__file__).parent.parent.parent / "docs/testing.md").read_text(encoding="utf-8")
    script = re.findall(r"^```yaml\n# script.yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    code = re.findall(r"^```python\n(from pydantic_ai.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "script.yaml").write_text(script[0])
    skill(tmp_path / ".agents/skills/slug", body="Make slugs.")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(compile(code[0], "docs/testing.md", "exec"), space)  # noqa: S102 - it is ours

    @space["agent"].tool_plain  # type: ignore[untyped-decorator]
    def now() -> str:
        return "noon"

    @space["agent"].tool_plain  # type: ignore[untyped-decorator]
    def read_file(path: str, limit: int) -> str:
        return f"{limit} lines of {path}"

    result = space["agent"].run_sync("Make the slugs")
    assert result.output == "I made the slugs."
    activated, *others = returned(result.all_messages())
    assert "Make slugs." in activated
    assert others == ["10 lines of titles.txt", "noon"]


def test_a_script_can_activate_a_skill(tmp_path: Path) -> None:
    """The skill's text reaches the model."""
    skill(tmp_path / ".agents/skills/pdf", body="Turn every page.")
    script = ScriptedModel([{"call": "activate_skill", "with": {"name": "pdf"}}, {"say": "I turned them."}])
    made: Agent[None, str] = Agent(script.pydantic_ai(), capabilities=[Skills(tmp_path)])
    result = made.run_sync("Read it")
    assert result.output == "I turned them."
    assert "Turn every page." in returned(result.all_messages())[0]
