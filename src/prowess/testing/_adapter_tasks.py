"""State what an adapter does for conversations that run at once or are cancelled."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import TYPE_CHECKING

from ._adapter_project import Chat, call, expect, expect_times
from ._scripted_endpoint import FINAL_ANSWER
from ._scripted_model import Step

if TYPE_CHECKING:
    from ._adapter_project import Project
    from ._chat_completions import ModelRequest

__all__ = ["cancelled_send", "fifty_conversations"]

_CONVERSATIONS = 50
_MODEL_SECONDS = 0.02
"""How long the model thinks, so that the requests of conversations alternate."""
_WAIT_SECONDS = 20.0


# ── at once ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Model:
    """Activates the skill of each conversation once, which a tag in the user's text tells."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._activated: set[str] = set()
        self.requests: list[tuple[str, ModelRequest]] = []
        """Each with the tag of its conversation, which is empty unless there is exactly one."""

    def __call__(self, request: ModelRequest) -> Step:
        tags = set(re.findall(r"\[case (\d\d)\]", request.text))
        tag = tags.pop() if len(tags) == 1 else ""
        self.requests.append((tag, request))
        time.sleep(_MODEL_SECONDS)
        if tag and tag not in self._activated:
            self._activated.add(tag)
            return self._project.step(call("activate_skill", name=f"topic-{tag}"))
        return self._project.step(Step(say=f"{FINAL_ANSWER} (case {tag})"))


async def fifty_conversations(project: Project) -> None:
    """Have conversations with the same catalog and model, so that a framework can share one agent.

    Each activates its own skill, and then mentions that of the next one.
    """
    tags = [f"{number:02}" for number in range(_CONVERSATIONS)]
    for tag in tags:
        project.add(f"topic-{tag}", f"Knows topic {tag}.")
    catalog, shared, model = project.catalog(), project.model(), _Model(project)
    shared.expect(default=model)
    conversations = {tag: project.adapter.conversation(catalog, model_url=shared.url) for tag in tags}
    others = dict(zip(tags, [*tags[1:], tags[0]], strict=True))
    for text in ("What is the topic?", "And $topic-{}?"):
        sends = (conversations[tag].send(f"[case {tag}] {text.format(others[tag])}") for tag in tags)
        for tag, answer in zip(tags, await asyncio.gather(*sends), strict=True):
            own = f"(case {tag})"
            expect(own in answer, f"expected the conversation {tag} to get its own answer, {own!r}; got {answer!r}")
    for tag, request in model.requests:
        expect(bool(tag), "expected the texts of one conversation in each request", [request])
        bodies = set(re.findall(r"TOPIC_(\d\d)_BODY", request.text))
        own_skills = {tag, others[tag]} if f"$topic-{others[tag]}" in request.text else {tag}
        expect(bodies <= own_skills, f"expected only skills of conversation {tag}, found {sorted(bodies)}", [request])
    last = dict(model.requests)
    for tag in tags:
        expect_times(last[tag], f"TOPIC_{tag}_BODY", 1, f"the body of the active skill once in conversation {tag}")
        expect_times(last[tag], f"TOPIC_{others[tag]}_BODY", 1, f"the body of its mention once in conversation {tag}")


# ── cancelled ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def cancelled_send(project: Project) -> None:
    """Cancel a turn that mentions a skill, and mention another one in the next turn."""
    bread = project.add("bread-timer", "Times the baking of bread.")
    stars, tides = project.add("star-charts", "Draws charts."), project.add("tide-tables", "Reads tide tables.")
    chat = project.chat()
    await chat.turn("How long does it bake?", call("activate_skill", name=bread.name))
    await _cancel_turn(project, chat, "$star-charts Where is Mars?")
    requests = await chat.turn("$tide-tables When is high water?")
    expect_times(requests[0], tides.word, 1, "the body of the mentioned skill once after a cancelled turn")
    expect_times(requests[0], stars.word, 0, "no body that the cancelled turn mentioned")
    expect_times(requests[0], bread.word, 1, "the body of the active skill once after a cancelled turn")
    await _cancel_turn(project, chat, "And Venus?", call("activate_skill", name=stars.name))
    requests = await chat.turn("And low water?")
    expect_times(requests[0], bread.word, 1, "the body of the active skill once after a turn cancelled in the middle")
    found = requests[0].text.count(stars.word)
    expect(found <= 1, f"expected at most one body of a skill that a cancelled turn activated, found {found}", requests)


async def _cancel_turn(project: Project, chat: Chat, text: str, *steps: Step) -> None:
    """Cancel a `send` while the model thinks, after the steps."""
    asked, release = threading.Event(), threading.Event()

    def think(_: ModelRequest) -> Step:
        asked.set()
        release.wait(_WAIT_SECONDS)
        return project.step(Step(say="Too late."))

    chat.model.expect(*map(project.step, steps), think)
    task = asyncio.ensure_future(chat.conversation.send(text))
    waiting = asyncio.ensure_future(asyncio.to_thread(asked.wait, _WAIT_SECONDS))
    try:
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        if task.done() and not asked.is_set():
            task.result()  # raises what ended it
        expect(asked.is_set(), "expected `send` to call the model")
        expect(not task.done(), "expected `send` to wait for the model without blocking the event loop")
        task.cancel()
        await asyncio.wait([task], timeout=_WAIT_SECONDS / 2)
        expect(task.done(), f"expected a cancelled `send` to end within {_WAIT_SECONDS / 2:.0f} seconds")
        expect(task.cancelled(), "expected a cancelled `send` to raise `asyncio.CancelledError`")
    finally:
        asked.set()
        release.set()
