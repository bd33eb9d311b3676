"""What the adapters of this repository do beyond the contract of all adapters, claimed once for all frameworks.

A driver whose framework does something else says so in `differs`; such a claim must really fail.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from adapters.chat_templates import FAMILIES, render
from prowess.errors import ConfigError
from prowess.filesystem import Question
from prowess.session import Scripts, Session
from prowess.testing import AdapterClaim, Call, Step
from prowess.testing._adapter_suite import Project, call, expect, expect_strict_roles, expect_times
from prowess.trajectory import read_sessions
from support.growth import END
from support.media import PDF, PNG, write_media
from support.skills import BANK_MESSAGE, GARDEN_MESSAGE, skill, write_many_skills

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from adapters.drivers import Driver
    from prowess.session import UntrustedSkill
    from prowess.testing._adapter_suite import SkillText
    from prowess.testing._scripted_endpoint import ModelRequest

ACTIVE = "is already active since turn {0}; its instructions have not changed."


def tides(project: Project) -> SkillText:
    """Write a skill, and one that only its user can activate."""
    project.add("moon-phases", "Tells the phase of the moon.", "disable-model-invocation: true")
    return project.add("tide-tables", "Reads tide tables.")


def result(request: ModelRequest) -> str:
    """Return the texts after the last message of the model: results of tools, and what an adapter adds."""
    last = max((number for number, message in enumerate(request.messages) if message.role == "assistant"), default=-1)
    return "\n".join(message.text for message in request.messages[last + 1 :])


async def _one_system_message(project: Project) -> None:
    """Each request has the catalog once, at the end of its one system message."""
    skill_text, chat = tides(project), project.chat()
    block = Session(project.catalog()).static_block().strip()
    requests = await chat.turn("How high?", call("activate_skill", name=skill_text.name))
    requests += await chat.turn("And with the tide-tables skill?")
    for request in requests:
        systems = [message.text for message in request.messages if message.role == "system"]
        expect(
            len(systems) == 1 and systems[0].rstrip().endswith(block),
            "expected one system message with the block",
            [request],
        )
        expect_times(request, "<available_skills>", 1, "one catalog")


async def _chat_templates(project: Project) -> None:
    """The chat templates of Mistral, Llama and Qwen accept each request, and Gemma's those of turns without tools."""
    skill_text, chat = tides(project), project.chat()
    requests = await chat.turn("Use $tide-tables.")
    requests += await chat.turn("Now /moon-phases and $lost-skill please.")
    for request in requests:
        for family in FAMILIES:
            expect(skill_text.description in render(family, request), "expected the catalog", [request])
    lost = Call(tool="read_skill_file", arguments={"name": skill_text.name, "path": "lost.md"})
    requests = await chat.turn("Use $tide-tables.", Step(calls=(lost, lost)), Step(calls=(lost,)))
    requests += await chat.turn("How high?", call("activate_skill", name=skill_text.name))
    for request in requests:
        for family in ("llama", "mistral", "qwen"):
            expect_strict_roles(request)
            expect(skill_text.description in render(family, request), "expected the catalog", [request])


async def _saved_catalog(project: Project) -> None:
    """Nothing that is saved has the catalog."""
    tides(project)
    chat = project.chat()
    requests = await chat.turn("How high?")
    expect("<available_skills>" not in chat.conversation.save(), "expected no catalog in what is saved", requests)


async def _schemas(project: Project) -> None:
    """The model is offered the tools of the session as they are: names, descriptions and schemas."""
    tides(project)
    (request,) = await project.chat().turn("Hello.")
    tools = [(tool.name, tool.description, dict(tool.parameters)) for tool in Session(project.catalog()).tools()]
    expect([(tool.name, tool.description, dict(tool.parameters)) for tool in request.tools] == tools, "", [request])


async def _second_activation(project: Project) -> None:
    """A second activation is one line: beside the first, in a later turn, and when a saved conversation goes on.

    The skill is active then also if its messages are gone.
    """
    skill_text, chat = tides(project), project.chat()
    activate = Call(tool="activate_skill", arguments={"name": skill_text.name})
    requests = await chat.turn("How high?", Step(calls=(activate, activate)), Step(calls=(activate,)))
    expect_times(requests[-1], ACTIVE.format(1), 2, "two lines for three activations")
    expect_times(requests[-1], skill_text.word, 1, "one body for three activations")
    again = project.chat(saved=chat.conversation.save())
    requests = await again.turn("And now?", Step(calls=(activate,)))
    expect(ACTIVE.format(1) in result(requests[-1]), "expected one line after a restart", requests)
    expect_times(requests[-1], skill_text.word, 1, "one body after a restart")
    again = project.chat(saved=again.conversation.save())
    again.conversation.compact()
    requests = await again.turn("And now?")
    expect_times(requests[-1], skill_text.word, 1, "one body if the messages are not there after a restart")


async def _new_conversation(project: Project) -> None:
    """Each conversation with one agent gets the body."""
    skill_text, catalog = tides(project), project.catalog()
    chats = [project.chat(catalog), project.chat(catalog)]
    for chat in chats:
        requests = await chat.turn("How high?", call("activate_skill", name=skill_text.name))
        expect_times(requests[-1], skill_text.word, 1, "the body in each conversation")


async def _invalid_record(project: Project) -> None:
    """A record of another version of Prowess is a new session, and the conversation goes on."""
    skill_text, chat = tides(project), project.chat()
    await chat.turn("How high?", call("activate_skill", name=skill_text.name))
    saved, replaced = re.subn(r'(\\*"version\\*": ?)1\b', r"\g<1>99", chat.conversation.save())
    expect(replaced >= 1, "expected the version of the record in what is saved")
    again = project.chat(saved=saved)
    again.conversation.compact()
    requests = await again.turn("And now?")
    expect_times(requests[0], skill_text.word, 0, "no skill of a record that cannot be read")
    requests = await again.turn("How high?", call("activate_skill", name=skill_text.name))
    expect_times(requests[-1], skill_text.word, 1, "the body in the new session")
    expect(ACTIVE.format(1) not in requests[-1].text, "expected the whole body", requests)


async def _user_only_error(project: Project) -> None:
    """A model that activates a skill that only its user can activate gets an error; the user names it in any form."""
    skill_text, chat = tides(project), project.chat()
    requests = await chat.turn("How high?", call("activate_skill", name="moon-phases"))
    expect("only the user can activate the skill `moon-phases`" in result(requests[-1]), "the error", requests)
    requests = await chat.turn("Now /moon-phases please.", call("activate_skill", name=skill_text.name))
    for request in requests:
        expect_times(request, "MOON_PHASES_BODY", 1, "the body in each request of the turn")
    expect("MOON_PHASES_BODY" not in chat.conversation.save(), "expected no named skill in what is saved", requests)


async def _named_and_activated(project: Project) -> None:
    """A skill that the user names is not sent twice: neither when it is active, nor when the model activates it."""
    skill_text, chat = tides(project), project.chat()
    activate = call("activate_skill", name=skill_text.name)
    requests = await chat.turn("Use $tide-tables.", activate)
    expect(ACTIVE.format(1) in result(requests[-1]), "one line", requests)
    expect_times(requests[-1], skill_text.word, 1, "the named skill once")
    stars = project.add("star-charts", "Draws charts.")
    chat = project.chat()
    requests = await chat.turn("Hello.", call("activate_skill", name=stars.name))
    requests = await chat.turn("Use $star-charts.", call("activate_skill", name=stars.name))
    for request in requests:
        expect_times(request, stars.word, 1, "the active and named skill once")


async def _no_skills(project: Project) -> None:
    """Without skills there are no tools and no text."""
    (request,) = await project.chat().turn("Hello.")
    expect(not {*request.tool_names} & {"activate_skill", "read_skill_file"}, "expected no tools", [request])
    expect("skill" not in request.text, "expected no text about skills", [request])


async def _search(project: Project) -> None:
    """Of a catalog that does not fit, each turn shows what its message needs; the model can search for the rest."""
    write_many_skills(project.skills)
    chat = project.chat(budget=600)
    find = call("search_skills", query="garden")
    requests = await chat.turn(BANK_MESSAGE, find)
    expect("- y-garden: " in result(requests[-1]), "expected what the search finds", requests)
    requests += await chat.turn(GARDEN_MESSAGE)
    first, again, other = (request.system for request in requests)
    expect(first == again, "expected the same bytes in a turn", requests)
    expect("z-books" in first and "y-garden" not in first, "expected the skills for the first message", requests)
    expect("z-books" not in other and "y-garden" in other, "expected the skills for the second message", requests)


async def _many_skills(project: Project) -> None:
    """Many skills are shown within 8,000 tokens, with the schemas, and all can be activated."""
    names = [f"s{number:03}{'-name' * 11}" for number in range(600)]
    for name in names:
        skill(project.skills / name, description="Does it. " * 40, body=f"Body of {name}.")
    requests = await project.chat().turn("Hm?", call("activate_skill", name=names[-1]))
    tools = [tool.name for tool in Session(project.catalog()).tools()]
    schemas = "".join(tool.text for tool in requests[0].tools if tool.name in tools)
    shown = requests[0].system.partition("<available_skills>")[2] + schemas
    expect(names[-1] not in shown and 4 * 7_000 < len(shown) < 4 * 8_900, f"{len(shown)} characters", requests)
    expect(f"Body of {names[-1]}." in result(requests[-1]), "expected the body of a skill that is not shown", requests)


async def _wrong_arguments(project: Project) -> None:
    """Wrong arguments are answered in the words of the tool, and the run goes on."""
    tides(project)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("activate_skill", {}, "error: `name` is missing\nhint: `activate_skill` takes `name`, `arguments`"),
        ("activate_skill", {"name": 7}, "error: `name` must be of type string"),
        ("activate_skill", {"name": "tide-tables", "x": 1}, "error: unknown argument `x`"),
        (
            "activate_skill",
            {"name": "tide-tabel"},
            "error: no skill is called `tide-tabel` for host `prowess`\nhint: did you mean",
        ),
        ("read_skill_file", {"name": "tide-tables", "path": "../moon-phases/SKILL.md"}, "error: "),
    ]
    requests = await project.chat().turn("Hm?", *(call(tool, **arguments) for tool, arguments, _ in cases))
    for request, (_, _, words) in zip(requests[1:], cases, strict=True):
        expect(words in result(request), f"expected {words!r}", [request])
    expect_times(requests[-1], "_BODY", 0, "no body")


async def _lost_skill(project: Project) -> None:
    """A skill that was removed since is reported to the model, where its user names it and where the model asks."""
    skill_text, chat = tides(project), project.chat()
    shutil.rmtree(project.skills / skill_text.name)
    requests = await chat.turn("Use $tide-tables.", call("activate_skill", name=skill_text.name))
    expect_times(requests[0], "warning: the skill `tide-tables` cannot be read now", 1, "a warning to the model")
    expect("error: the skill `tide-tables` cannot be read now" in result(requests[-1]), "an error", requests)


async def _file_mentions(project: Project) -> None:
    """What a file of a skill says names no skill, and begins no turn."""
    skill_text, chat = tides(project), project.chat()
    (project.skills / "tide-tables/notes.md").write_text("Use $moon-phases now.", encoding="utf-8")
    requests = await chat.turn("Hm?", call("read_skill_file", name=skill_text.name, path="notes.md"))
    requests += await chat.turn("Go on.", call("activate_skill", name=skill_text.name))
    for request in requests:
        expect_times(request, "MOON_PHASES_BODY", 0, "no skill that only a file names")
    requests = await chat.turn("And?", call("activate_skill", name=skill_text.name))
    expect(ACTIVE.format(2) in result(requests[-1]), "expected that a file begins no turn", requests)


async def _failed_model(project: Project) -> None:
    """A request that fails raises, and the next turn has the right skills."""
    skill_text, chat = tides(project), project.chat()
    await chat.turn("How high?", call("activate_skill", name=skill_text.name))

    def fail(_: ModelRequest) -> Step:
        raise ValueError("the model is down")

    chat.model.expect(default=fail)
    with pytest.raises(Exception, match=r"."):  # each framework has its own
        await chat.conversation.send("Use $moon-phases.")
    requests = await chat.turn("And now?")
    expect_times(requests[0], skill_text.word, 1, "the active skill once after a failed turn")
    expect_times(requests[0], "MOON_PHASES_BODY", 0, "no skill that only the failed turn named")


async def _script_folder(project: Project) -> None:
    """Scripts share a folder in each conversation, also in later turns; the user is asked once in each."""
    skill_text = tides(project)
    text = '#!/bin/sh\necho "tides: $1"\necho "$1" >> out.txt\n'
    (project.skills / "tide-tables/count.sh").write_text(text, encoding="utf-8")
    asked: list[str] = []

    def ask(untrusted: UntrustedSkill) -> bool:
        asked.append(untrusted.entry.name)
        return True

    catalog, scripts = project.catalog(), Scripts(sandbox="none", timeout=END, on_untrusted=ask)
    chats = [project.chat(catalog, scripts=scripts) for _ in range(2)]

    def run(word: str) -> Step:
        return call("run_skill_script", skill=skill_text.name, script="count.sh", args=[word])

    read = call("read_script_file", path="out.txt")
    requests = await chats[0].turn("Count.", call("activate_skill", name=skill_text.name), run("a b"))
    expect("exit code 0\nstdout:\ntides: a b\n" in result(requests[-1]), "expected what the script prints", requests)
    requests = await chats[0].turn("Again.", run("*"), read)
    expect("a b\n*" in result(requests[-1]), "expected what two calls wrote", requests)
    requests = await chats[1].turn("Count.", read)
    expect("no script of this conversation wrote" in result(requests[-1]), "expected a folder of its own", requests)
    await chats[1].turn("Count.", call("activate_skill", name=skill_text.name), run("x"))
    expect(asked == [skill_text.name] * 2, f"expected one question for each conversation, not {asked}")


async def _media_files(project: Project) -> None:
    """The answer about an image or a document says what it is, and the conversation goes on, also after a restart."""
    skill_text, chat = tides(project), project.chat()
    write_media(project.skills / "tide-tables")
    reads = [call("read_skill_file", name=skill_text.name, path=path) for path in ("map.png", "map.pdf")]
    requests = await chat.turn("Show them.", *reads)
    expect(f"`map.png` is an image (image/png, {len(PNG)} bytes)" in result(requests[1]), "the image", requests)
    expect(f"`map.pdf` is a document (application/pdf, {len(PDF)} bytes)" in result(requests[2]), "the file", requests)
    for request in requests:
        expect_strict_roles(request)
    await project.chat(saved=chat.conversation.save()).turn("And now?")


async def _trajectory(project: Project) -> None:
    """The option `trajectory` records each conversation in a file of its own, which it continues after a restart."""
    skill_text, folder, catalog = tides(project), project.folder / "runs", project.catalog()
    folder.mkdir()
    chats = [project.chat(catalog, trajectory=str(folder)) for _ in range(2)]
    await chats[0].turn("How high?", call("activate_skill", name=skill_text.name))
    await chats[1].turn("Now /moon-phases please.")
    again = project.chat(catalog, saved=chats[0].conversation.save(), trajectory=str(folder))
    await again.turn("And now?")
    said = [
        [step["message"] for step in json.loads(file.read_text("utf-8"))["steps"] if step["source"] == "user"]
        for file in folder.iterdir()
    ]
    typed = sorted([text for text in texts if "_BODY" not in text] for texts in said)
    expect(typed == [["How high?", "And now?"], ["Now /moon-phases please."]], f"what the users said, not {said}")
    recording = read_sessions(Question.about(project.home, project.home), agents=(), imports=[str(folder)])
    used = sorted((item.name, item.by, item.path) for each in recording.sessions for item in each.activations)
    paths = {name: str(project.skills / name / "SKILL.md") for name in ("moon-phases", skill_text.name)}
    expected = [("moon-phases", "user", paths["moon-phases"]), (skill_text.name, "model", paths[skill_text.name])]
    expect(used == expected, f"expected {expected}, not {used}")


async def _tool_that_is_gone(project: Project) -> None:
    """A tool that the skills of a turn do not need any more is an answer, not an error."""
    write_many_skills(project.skills)
    with project.live_catalog() as catalog:
        chat = project.chat(catalog, budget=2000)
        await chat.turn("Hello.")
        for path in project.skills.iterdir():
            shutil.rmtree(path)
        project.add("tide-tables", "Reads tide tables.")
        requests = await chat.turn("Hello.", call("search_skills", query="tides"))
    expect("error: `search_skills` is not available now" in result(requests[-1]), "expected an answer", requests)


async def _tool_that_is_new(project: Project) -> None:
    """A live catalog that grows brings the tool that searches it in the next turn."""
    tides(project)
    with project.live_catalog() as catalog:
        chat = project.chat(catalog, budget=2000)
        requests = await chat.turn("Hello.")
        write_many_skills(project.skills)
        requests += await chat.turn("Hello.", call("search_skills", query="tides"))
    offered = ["search_skills" in request.tool_names for request in requests]
    expect(offered == [False, True, True], f"expected the tool in the second turn, not {offered}", requests)
    expect("- tide-tables: " in result(requests[-1]), "expected what the search finds", requests)


async def _first_skill(project: Project) -> None:
    """An agent that was made before its first skill gets it in the next turn."""
    with project.live_catalog() as catalog:
        chat = project.chat(catalog)
        await chat.turn("Hello.")
        skill_text = project.add("tide-tables", "Reads tide tables.")
        requests = await chat.turn("Hello.", call("activate_skill", name=skill_text.name))
    expect(skill_text.description in requests[0].system, "expected the new skill", requests)
    expect_times(requests[-1], skill_text.word, 1, "the body of the new skill")


async def _directory(project: Project) -> None:
    """A directory has the skills that are there when a turn begins."""
    for folder in (project.folder, str(project.folder)):
        chat = project.chat(folder)  # type: ignore[arg-type]
        skill_text = tides(project)
        requests = await chat.turn("Use $tide-tables.")
        expect_times(requests[-1], skill_text.word, 1, "the body of a skill of the directory")


async def _wrong_options(project: Project) -> None:
    """A wrong argument is an error that says what to pass, before the first turn."""
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (None, {}, "not a catalog: an object of type `NoneType`"),
        (b".", {}, "not a catalog: an object of type `bytes`"),
        ("no/such/folder", {}, "no such directory: `no/such/folder`"),
        (project.folder, {"scripts": "yes"}, "`scripts` cannot be 'yes'"),
        (project.catalog(), {"budget": -1}, "a budget cannot be negative"),
    ]
    for catalog, options, message in cases:
        with pytest.raises(ConfigError) as raised:
            project.adapter.conversation(catalog, model_url="http://127.0.0.1:1/v1", **options)
        expect(str(raised.value) == message and bool(raised.value.hint), f"expected {message!r}, not {raised.value!r}")


CLAIMS: dict[str, Callable[[Project], Awaitable[None]]] = {
    claim.__name__[1:].replace("_", "-"): claim
    for claim in (
        _one_system_message,
        _chat_templates,
        _saved_catalog,
        _schemas,
        _second_activation,
        _new_conversation,
        _invalid_record,
        _user_only_error,
        _named_and_activated,
        _no_skills,
        _search,
        _many_skills,
        _wrong_arguments,
        _lost_skill,
        _file_mentions,
        _failed_model,
        _script_folder,
        _media_files,
        _trajectory,
        _tool_that_is_gone,
        _tool_that_is_new,
        _first_skill,
        _directory,
        _wrong_options,
    )
}


def house_claims(driver: Driver) -> list[AdapterClaim]:
    """Return the claims for an adapter of this repository."""
    assert driver.differs.keys() <= CLAIMS.keys()
    return [
        AdapterClaim(
            name=name, title=run.__doc__ or "", adapter=driver, run=run, explanation=driver.differs.get(name, "")
        )
        for name, run in CLAIMS.items()
    ]
