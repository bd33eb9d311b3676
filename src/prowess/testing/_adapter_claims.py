"""State what an adapter does for its users: the claims of `adapter_suite`."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from prowess.session import Scripts, Trust

from ._adapter_process import send_in_new_process
from ._adapter_project import SkillText, call, expect, expect_times
from ._adapter_tasks import cancelled_send, fifty_conversations
from ._scripted_model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ._adapter_project import Project
    from ._chat_completions import ModelRequest

__all__ = ["CLAIMS"]

_FIRST, _SECOND, _THIRD = "When is high water?", "And low water?", "Which one is higher?"


def _tides(project: Project) -> SkillText:
    """Write the skills that most claims use, and return the one that their conversations are about."""
    project.add("star-charts", "Draws charts of the sky. Use it for stars.")
    return project.add("tide-tables", "Reads tide tables. Use it for high and low water.")


# ── what the model is shown ──────────────────────────────────────────────────────────────────────────────────────────


async def _catalog_in_first_request(project: Project) -> None:
    tides = _tides(project)
    requests = await project.chat().turn(_FIRST)
    expect(_FIRST in requests[0].text, f"expected the user's text {_FIRST!r} in the first request", requests)
    front = requests[0].front(_FIRST)
    for words in (tides.name, tides.description, "star-charts", "Draws charts of the sky. Use it for stars."):
        expect(words in front, f"expected {words!r} in the first request, before the user's text", requests)
    expect_times(requests[0], tides.word, 0, "no body before a skill is activated")


async def _catalog_stays_the_same(project: Project) -> None:
    tides = _tides(project)
    chat = project.chat()
    requests = await chat.turn(_FIRST, call("activate_skill", name=tides.name))
    requests += await chat.turn(f"$star-charts {_SECOND}")
    requests += await chat.turn(_THIRD)
    first = requests[0].front(_FIRST)
    for number, request in enumerate(requests[1:], 2):
        front = request.front(_FIRST)
        message = "expected the same bytes before the first text of the user in each request, for caches of prompts"
        expect(front == first, f"{message}; request {number} differs from the first one", requests)


async def _changed_skill(project: Project) -> None:
    tides = _tides(project)
    old, changed, added = tides.description, "Reads tables of tides and currents.", "Tells the phase of the moon."

    def change(_: ModelRequest) -> Step:
        tides.description = changed
        tides.write(project.skills, body="End with TIDES_CHANGED.")
        project.add("moon-phases", added)
        return project.step(call("activate_skill", name="star-charts"))

    with project.live_catalog() as catalog:
        chat = project.chat(catalog)
        requests = await chat.turn(_FIRST, change)
        unchanged = old in requests[-1].whole and changed not in requests[-1].whole
        expect(unchanged, f"expected {old!r} until the end of the turn", requests)
        requests = await chat.turn(_SECOND, call("activate_skill", name=tides.name))
    for words in (changed, "moon-phases", added):
        expect(words in requests[0].whole, f"expected {words!r} in the turn after the change", requests)
    expect(old not in requests[0].whole, f"expected {old!r} no more: the skill has changed", requests)
    expect_times(requests[-1], "TIDES_CHANGED", 1, "the changed body after `activate_skill`")


# ── activation, mentions and files ───────────────────────────────────────────────────────────────────────────────────


async def _body_on_activation(project: Project) -> None:
    tides = _tides(project)
    chat, activate = project.chat(), call("activate_skill", name=tides.name)
    requests = await chat.turn(_FIRST, activate)
    expect_times(requests[0], tides.word, 0, "no body before a skill is activated")
    expect_times(requests[-1], tides.word, 1, "the body once after `activate_skill`")
    expect_times(requests[-1], "STAR_CHARTS_BODY", 0, "no body of another skill")
    requests = await chat.turn(_SECOND, activate)
    expect_times(requests[0], tides.word, 1, "the body once in the next turn")
    expect_times(requests[-1], tides.word, 1, "the body once after `activate_skill` for the same skill")


async def _calls_at_once(project: Project) -> None:
    tides, stars = _tides(project), SkillText("star-charts", "")
    names = (tides.name, stars.name)
    both = Step(calls=tuple(Call(tool="activate_skill", arguments={"name": name}) for name in names))
    chat = project.chat()
    requests = await chat.turn(_FIRST, both)
    for skill in (tides, stars):
        expect_times(requests[-1], skill.word, 1, f"the body of `{skill.name}` once after both skills are activated")
    chat.conversation.compact()
    requests = await chat.turn(_SECOND)
    for skill in (tides, stars):
        expect_times(requests[0], skill.word, 1, f"the body of the active skill `{skill.name}` once after `compact`")


async def _mention(project: Project) -> None:
    tides = _tides(project)
    moon = project.add("moon-phases", "Tells the phase of the moon.")
    chat = project.chat()
    requests = await chat.turn(f"$tide-tables {_FIRST}", call("activate_skill", name="star-charts"))
    for request in requests:
        expect_times(request, tides.word, 1, "the body once in each request of a turn whose text mentions the skill")
    saved = chat.conversation.save()
    expect(tides.word not in saved, "expected no body of a mentioned skill in what `save` returns", requests)
    requests = await chat.turn(f"{_SECOND} Use the moon-phases skill.")
    expect_times(requests[0], moon.word, 1, "the body once in the next turn, which mentions another skill")
    expect_times(requests[0], tides.word, 0, "no body of a skill that only an earlier turn mentioned")
    requests = await chat.turn(f"$star-charts {_THIRD}")
    expect_times(requests[0], moon.word, 0, "no body of a skill that only an earlier turn mentioned")
    expect_times(requests[0], "STAR_CHARTS_BODY", 1, "the body once if the mentioned skill is already active")


async def _user_only(project: Project) -> None:
    _tides(project)
    moon = project.add("moon-phases", "Tells the phase of the moon.", "disable-model-invocation: true")
    chat = project.chat()
    requests = await chat.turn(_FIRST, call("activate_skill", name=moon.name))
    expect(
        moon.description not in requests[0].whole, "expected a skill that is only for its user to be hidden", requests
    )
    expect_times(requests[-1], moon.word, 0, "no body of a skill that only its user can activate")
    requests = await chat.turn(f"$moon-phases {_SECOND}")
    expect_times(requests[0], moon.word, 1, "the body once in a turn whose text mentions the skill")


async def _mention_not_found(project: Project) -> None:
    _tides(project)
    chat, text = project.chat(), f"Use the tide-tabels skill. {_FIRST}"
    again = f"Use the tide-tabels skill. {_THIRD}"

    def reports(request: ModelRequest) -> int:
        return request.text.replace(text, "").replace(again, "").count("tide-tabels")

    requests = await chat.turn(text, call("activate_skill", name="star-charts"))
    expect(reports(requests[0]) >= 1, "expected a message to the model that no skill is called `tide-tabels`", requests)
    requests = await chat.turn(_SECOND)
    stored = reports(requests[0])
    requests = await chat.turn(again)
    message = "expected no second report of `tide-tabels` when the user mentions it again"
    expect(reports(requests[0]) == stored, message, requests)


async def _file(project: Project) -> None:
    tides = _tides(project)
    (project.skills / "tide-tables/references").mkdir()
    (project.skills / "tide-tables/references/harbours.md").write_text("Dover: HARBOUR_FILE", encoding="utf-8")
    chat = project.chat()
    read = call("read_skill_file", name=tides.name, path="references/harbours.md")
    requests = await chat.turn(_FIRST, call("activate_skill", name=tides.name), read)
    expect_times(requests[1], "HARBOUR_FILE", 0, "no file of a skill before the model reads it")
    expect_times(requests[-1], "HARBOUR_FILE", 1, "the text of the file after `read_skill_file`")


async def _scripts_off(project: Project) -> None:
    tides = _tides(project)
    requests = await project.chat().turn(_FIRST, call("activate_skill", name=tides.name))
    for tool in project.step(_run_script(tides)).calls:
        for request in requests:
            expect(tool.tool not in request.tool_names, f"expected no tool {tool.tool!r} without `scripts=`", [request])


async def _script(project: Project) -> None:
    tides, ran = _tides(project), project.folder / "ran"
    (project.skills / "tide-tables/scripts").mkdir()
    text = f"#!/bin/sh\necho ran > {shlex.quote(str(ran))}\necho HIGH_WATER_$1\n"
    (project.skills / "tide-tables/scripts/high-water.sh").write_text(text, encoding="utf-8")
    # A sandbox is not part of the contract, and not on every machine.
    chat = project.chat(scripts=Scripts(sandbox="none"))
    requests = await chat.turn(_FIRST, call("activate_skill", name=tides.name), _run_script(tides))
    message = "expected a script of a skill that the user does not trust not to run"
    expect(not ran.exists() and "HIGH_WATER_Dover" not in requests[-1].text, message, requests)
    message = "expected the answer to a script that is refused to name the command that trusts it, `prowess trust`"
    expect("prowess trust" in requests[-1].text, message, requests)
    Trust().allow(project.catalog().resolve(tides.name))
    requests = await chat.turn(_SECOND, _run_script(tides))
    expect_times(requests[-1], "HIGH_WATER_Dover", 1, "the output of a script after its skill is trusted")


def _run_script(skill: SkillText) -> Step:
    return call("run_skill_script", skill=skill.name, script="scripts/high-water.sh", args=["Dover"])


async def _failed_call(project: Project) -> None:
    tides = _tides(project)
    chat = project.chat()
    unknown = call("activate_skill", name="tide-tabel")
    lost = call("read_skill_file", name=tides.name, path="references/lost.md")
    requests = await chat.turn(_FIRST, unknown, lost)
    for request, word in ((requests[1], "tide-tabel"), (requests[2], "lost.md")):
        results = "\n".join(message.text for message in request.messages if message.role != "system")
        found = word in results.replace(_FIRST, "")
        expect(found, f"expected the text of the error, with {word!r}, after a call that fails", [request])
    requests = await chat.turn(_SECOND, call("activate_skill", name=tides.name))
    expect_times(requests[-1], tides.word, 1, "the body after `activate_skill`, in the turn after a call that failed")


# ── a conversation that goes on ──────────────────────────────────────────────────────────────────────────────────────


async def _compaction(project: Project) -> None:
    tides = _tides(project)
    chat = project.chat()
    await chat.turn(_FIRST, call("activate_skill", name=tides.name))
    chat.conversation.compact()
    requests = await chat.turn(_SECOND)
    expect(_FIRST not in requests[0].text, f"expected `compact` to drop the message {_FIRST!r}", requests)
    expect_times(requests[0], tides.word, 1, "the body of the active skill once after `compact`")


async def _resume(project: Project) -> None:
    tides = _tides(project)
    chat = project.chat()
    await chat.turn(_FIRST, call("activate_skill", name=tides.name))
    saved = chat.conversation.save()
    try:
        json.loads(saved)
    except (TypeError, ValueError):
        expect(False, f"expected `save` to return JSON; it returned {saved!r}")
    before = len(chat.model.requests)
    chat.expect()
    await send_in_new_process(project, chat.model.url, saved, _SECOND)
    requests = chat.model.requests[before:]
    expect(bool(requests), "expected a request from the new process")
    expect(_FIRST in requests[0].text, f"expected the earlier message {_FIRST!r} in a new process", requests)
    expect_times(requests[0], tides.word, 1, "the body of the active skill once in a new process")


CLAIMS: Mapping[str, tuple[str, Callable[[Project], Awaitable[Any]]]] = {
    "catalog-in-first-request": (
        "The first request has the name and the description of each skill before the user's text.",
        _catalog_in_first_request,
    ),
    "catalog-stays-the-same": (
        "Each request of a conversation begins with the same bytes, so that caches of prompts work.",
        _catalog_stays_the_same,
    ),
    "body-on-activation": (
        "A skill's body reaches the model when it activates the skill, and only once.",
        _body_on_activation,
    ),
    "calls-at-once": ("All skills that the model activates at once are active.", _calls_at_once),
    "mention": (
        "A skill that the user's text mentions is sent in that turn, and neither stored nor sent later.",
        _mention,
    ),
    "user-only": ("A skill that is only for its user is hidden from the model until the user mentions it.", _user_only),
    "mention-not-found": ("A mention of an unknown skill is reported to the model once.", _mention_not_found),
    "file": ("A file of a skill reaches the model when it reads the file.", _file),
    "scripts-off": ("Without the option `scripts`, the model is offered no tool that runs scripts.", _scripts_off),
    "script": ("A script is refused until its user trusts the skill; then its output reaches the model.", _script),
    "changed-skill": ("A skill that changes is seen when the next turn begins, and not before.", _changed_skill),
    "compaction": ("An active skill's body still reaches the model after its messages were dropped.", _compaction),
    "resume": ("A saved conversation goes on in a new process, with its messages and its active skills.", _resume),
    "fifty-conversations": ("Fifty conversations at once see each its own skill and messages.", fifty_conversations),
    "failed-call": ("The error of a tool call reaches the model, and the conversation goes on.", _failed_call),
    "cancellation": ("After a turn is cancelled, the next one shows the right skills.", cancelled_send),
}
"""The sentence and the test of each claim."""
