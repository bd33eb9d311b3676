"""Test an adapter: one contract for all frameworks, with a scripted model and no network.

@pytest.mark.parametrize("claim", adapter_suite(MyAdapter()), ids=str)
def test_my_adapter(claim):
    claim.check()
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, quoted
from prowess.catalog import LiveCatalog, discover
from prowess.errors import ConfigError
from prowess.session import Scripts, Trust

from ._scripted_endpoint import FINAL_ANSWER, ScriptedConversation, ScriptedEndpoint
from ._scripted_model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping

    from prowess.catalog import Catalog

    from ._scripted_endpoint import Answer, ModelRequest


class Conversation(Protocol):
    """A conversation of a framework with a model, which uses skills."""

    async def send(self, text: str) -> str:
        """Do one turn of the user, and return the model's answer."""

    def save(self) -> str:
        """Return what a new process needs to go on with the conversation, as JSON."""

    def compact(self) -> None:
        """Drop the messages before the next turn, as the framework's own compaction would; keep at most a summary."""


class Adapter(Protocol):
    """What `adapter_suite` tests: it begins conversations in a framework.

    Its class must be importable by its name and take no arguments, because one claim makes it in a new process.

    Two more attributes are optional. `explained` maps names of claims to the reason why the framework cannot fulfil
    them; such a claim must really fail. `model_step(step)` returns a `Step` as a model does it in the framework, if
    the framework has its own tools for `activate_skill` and the others, or for answers.
    """

    name: str
    """Of the framework."""

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        """Begin a conversation, or go on with one.

        Args:
            catalog: the skills to choose from.
            model_url: base URL of the model, which speaks OpenAI's chat completions, whole or as a stream. It needs
                no key, and the name of the model does not matter.
            saved: what `Conversation.save` returned, perhaps in another process.
            scripts: as for `Session.tools`.
        """


SEND_SECONDS = 120
"""How long a `send` may take; a framework may load much at its first one."""
_VARIABLES = ("PROWESS_SKILL_DIR", "PROWESS_NO_CACHE", "OPENAI_BASE_URL", "OPENAI_API_BASE", "XDG_CONFIG_HOME")
"""Removed, because they would change what is tested."""
_environment_lock = threading.Lock()
"""Claims in other threads wait, because the environment belongs to the process."""


class SkillText:
    """A skill of the project, with words that only its parts contain.

    Attributes:
        name: of the skill.
        description: in the catalog.
        word: only in the body.
    """

    def __init__(self, name: str, description: str, more: str = "") -> None:
        self.name, self.description, self._more = name, description, f"{more}\n" if more else ""
        self.word = f"{name.replace('-', '_').upper()}_BODY"

    def write(self, folder: Path, body: str = "") -> None:
        """Write the skill into a folder of skills; it replaces an earlier version."""
        (folder / self.name).mkdir(parents=True, exist_ok=True)
        fields = f"name: {self.name}\ndescription: {self.description}\n{self._more}"
        text = f"---\n{fields}---\n{body or f'End with {self.word}.'}\n"
        (folder / self.name / "SKILL.md").write_text(text, encoding="utf-8")


class Project:
    """A project with skills, and the adapter that is tested in it.

    Attributes:
        adapter: the adapter.
        folder: of the project.
        home: of its user, who trusts no skill yet.
        skills: the folder of its skills.
    """

    def __init__(self, adapter: Adapter, endpoint: ScriptedEndpoint, top: Path) -> None:
        self.adapter, self._endpoint = adapter, endpoint
        self.folder, self.home = top / "project", top / "home"
        self.skills = self.folder / ".agents/skills"
        (self.folder / ".git").mkdir(parents=True)  # nothing above it is searched
        self.home.mkdir()

    def add(self, name: str, description: str, more: str = "") -> SkillText:
        """Write a skill, perhaps with more lines of front matter."""
        skill = SkillText(name, description, more)
        skill.write(self.skills)
        return skill

    def catalog(self) -> Catalog:
        """Return the skills of the project, as they are now."""
        return discover(self.folder, home=self.home)

    def live_catalog(self) -> LiveCatalog:
        """Return the skills of the project, as they will be."""
        return LiveCatalog(self.folder, home=self.home)

    def model(self) -> ScriptedConversation:
        """Return a model for one conversation or more."""
        return self._endpoint.conversation()

    def chat(self, catalog: Catalog | LiveCatalog | None = None, **options: Any) -> Chat:
        """Begin a conversation; `options` are those of `Adapter.conversation`."""
        return Chat(self.adapter, self.catalog() if catalog is None else catalog, self.model(), **options)

    def step(self, step: Step) -> Step:
        """Return a step as a model does it in the adapter's framework."""
        return framework_step(self.adapter, step)


def framework_step(adapter: Adapter, step: Step) -> Step:
    """Return a step as a model does it in the adapter's framework: its own tools may replace those of Prowess."""
    translate: Callable[[Step], Step] | None = getattr(adapter, "model_step", None)
    return step if translate is None else translate(step)


class Chat:
    """A conversation of an adapter with a scripted model.

    Attributes:
        model: what answers.
        conversation: of the adapter.
    """

    def __init__(
        self, adapter: Adapter, catalog: Catalog | LiveCatalog, model: ScriptedConversation, **options: Any
    ) -> None:
        self._adapter, self.model = adapter, model
        self.conversation: Conversation = adapter.conversation(catalog, model_url=model.url, **options)

    async def turn(self, text: str, *steps: Answer) -> list[ModelRequest]:
        """Send a user's text, and return what the model was sent in this turn.

        Args:
            text: of the user.
            steps: what the model does before it answers; a function returns a step of the framework.
        """
        before = len(self.model.requests)
        self.expect(*steps)
        limit = asyncio.timeout(SEND_SECONDS)
        try:
            async with limit:  # in this task, as an application would wait
                answer: object = await self.conversation.send(text)
        except TimeoutError:
            if not limit.expired():
                raise  # of the adapter
            raise AssertionError(f"expected `send` to return within {SEND_SECONDS} seconds") from None
        requests = self.model.requests[before:]
        expect(bool(requests), "expected `send` to call the model at `model_url`, but no request came")
        left = self.model.steps_left
        expect(not left, f"expected {left} more requests: the model called a tool, and was sent no result", requests)
        expect(
            isinstance(answer, str) and FINAL_ANSWER in answer,
            f"expected `send` to return the model's answer {FINAL_ANSWER!r}; it returned {answer!r}",
            requests,
        )
        return requests

    def expect(self, *steps: Answer) -> None:
        """Set what the model does next; then it answers."""
        final = framework_step(self._adapter, Step(say=FINAL_ANSWER))
        answers = [framework_step(self._adapter, step) if isinstance(step, Step) else step for step in steps]
        self.model.expect(*answers, default=final)


def call(tool: str, **arguments: Any) -> Step:
    """Return the step of a model that calls a tool of `Session.tools`."""
    return Step(calls=(Call(tool=tool, arguments=arguments),))


def expect(condition: bool, message: str, requests: list[ModelRequest] | None = None) -> None:
    """Raise an error for the author of an adapter if a condition is false.

    Raises:
        AssertionError: it is false; the message includes what the model was sent.
    """
    if condition:
        return
    count = len(requests or ())
    shown = [
        f"── request {number} of {count} ──\n{request.describe()}" for number, request in enumerate(requests or (), 1)
    ]
    raise AssertionError("\n".join([message, *(["the model was sent:"] if shown else []), *shown]))


def expect_times(request: ModelRequest, word: str, times: int, where: str) -> None:
    """Check how often a word is in the messages of a request.

    Args:
        request: what the model was sent.
        word: of one part of a skill.
        times: how often.
        where: what the word shows, and in which request: the rest of a sentence that begins with "expected".

    Raises:
        AssertionError: it is there more or less often.
    """
    found = request.text.count(word)
    message = f"expected {where}: the word {word!r} {_how_often(times)} in the messages; found {found}"
    expect(found == times, message, [request])


def _how_often(times: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(times, f"{times} times")


@contextmanager
def project_for(adapter: Adapter) -> Iterator[Project]:
    """Yield a project for one claim, in an environment that is the same on all machines."""
    with (
        tempfile.TemporaryDirectory(prefix="prowess-adapter-", ignore_cleanup_errors=True) as top,
        ScriptedEndpoint() as endpoint,
    ):
        project = Project(adapter, endpoint, Path(top).resolve())
        with _environment(
            HOME=str(project.home),
            USERPROFILE=str(project.home),
            PROWESS_CONFIG_DIR=str(project.home / "config"),
            PROWESS_CACHE_DIR=str(project.home / "cache"),
            OPENAI_API_KEY="none",
            NO_PROXY="127.0.0.1",
            no_proxy="127.0.0.1",
        ):
            yield project


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables of the environment, and remove those that would change what is tested, for a while."""
    with _environment_lock:
        before = {name: os.environ.get(name) for name in (*variables, *_VARIABLES)}
        try:
            for name in _VARIABLES:
                os.environ.pop(name, None)
            os.environ.update(variables)
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


# ── a new process ────────────────────────────────────────────────────────────────────────────────────────────────────


async def _send_in_new_process(project: Project, url: str, saved: str, text: str) -> None:
    """Send a user's text in a conversation that another process began: `python -m prowess.testing._adapter_suite`.

    The class of the adapter is named by its module and its name; a module that is a file in no package is loaded from
    the file. The order is JSON on stdin.

    Raises:
        AssertionError: the process failed.
    """
    kind = type(project.adapter)
    name = kind.__qualname__
    expect("<locals>" not in name, f"expected the class `{name}` at the top of a module, for the new process")
    order = {
        "module": kind.__module__,
        "file": inspect.getfile(kind),
        "class": name,
        "folder": str(project.folder),
        "home": str(project.home),
        "url": url,
        "saved": saved,
        "text": text,
    }
    await asyncio.to_thread(_run, json.dumps(order))


def _run(order: str) -> None:
    argv = [sys.executable, "-m", "prowess.testing._adapter_suite"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            argv, input=order, env=env, capture_output=True, text=True, timeout=SEND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"expected the new process to end within {SEND_SECONDS} seconds") from None
    expect(done.returncode == 0, f"expected the new process to end well; it printed:\n{done.stderr[-4000:]}")


def _make_adapter(module: str, file: str, name: str) -> Adapter:
    try:
        loaded = importlib.import_module(module if module != "__main__" else "")
    except (ModuleNotFoundError, ValueError):  # it is a file: a script, or a test outside `sys.path`
        spec = importlib.util.spec_from_file_location(module, file)
        if spec is None or spec.loader is None:
            raise
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[module] = loaded
        spec.loader.exec_module(loaded)
    value: Any = loaded
    for part in name.split("."):
        value = getattr(value, part)
    adapter: Adapter = value()
    return adapter


async def _send(order: dict[str, str]) -> None:
    adapter = _make_adapter(order["module"], order["file"], order["class"])
    catalog = discover(order["folder"], home=order["home"])
    await adapter.conversation(catalog, model_url=order["url"], saved=order["saved"]).send(order["text"])


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


async def _fifty_conversations(project: Project) -> None:
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


async def _cancellation(project: Project) -> None:
    await _cancelled_send(project)
    await _cancelled_script(project)


async def _cancelled_send(project: Project) -> None:
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


_SCRIPT_SECONDS = 3 * _WAIT_SECONDS
"""How long a script works if nothing ends it."""


async def _cancelled_script(project: Project) -> None:
    """Cancel a turn while a script of a skill runs, and run another script in the next turn."""
    waves, ready = project.add("wave-watch", "Watches waves."), project.folder / "ready"
    lines = [
        "#!/bin/sh",
        "sleep 3600 &",
        f"echo $$ $! > {shlex.quote(f'{ready}.new')}",
        f"mv {shlex.quote(f'{ready}.new')} {shlex.quote(str(ready))}",
        "wait",
    ]
    (project.skills / "wave-watch/watch.sh").write_text("\n".join(lines), encoding="utf-8")
    (project.skills / "wave-watch/count.sh").write_text("#!/bin/sh\necho WAVES_COUNTED\n", encoding="utf-8")
    Trust().allow(project.catalog().resolve(waves.name))
    chat = project.chat(scripts=Scripts(sandbox="none", timeout=_SCRIPT_SECONDS))
    await chat.turn("How are the waves?", call("activate_skill", name=waves.name))
    both = [call("run_skill_script", skill=waves.name, script=script) for script in ("watch.sh", "count.sh")]
    chat.model.expect(project.step(Step(calls=tuple(tool for step in both for tool in step.calls))))
    task = asyncio.ensure_future(chat.conversation.send("Watch them."))
    await _until(lambda: task.done() or ready.exists())
    if task.done() and not ready.exists():
        task.result()  # raises what ended it
    expect(ready.exists(), "expected `send` to run a script", chat.model.requests)
    processes = [int(number) for number in ready.read_text(encoding="utf-8").split()]
    runs = all(map(_is_running, processes))
    expect(runs, "expected `send` to wait for a script without blocking the event loop")
    task.cancel()
    try:
        ended = await _until(lambda: not any(map(_is_running, processes)))
        expect(ended, "expected a cancelled `send` to end its script, with what that has started")
    finally:  # or nothing ends before it
        for process in filter(_is_running, processes):
            os.kill(process, signal.SIGKILL)
    await asyncio.wait([task], timeout=_WAIT_SECONDS)
    expect(task.cancelled(), "expected a `send` that is cancelled while a script runs to raise `CancelledError`")
    requests = await chat.turn("Count them.", call("run_skill_script", skill=waves.name, script="count.sh"))
    expect_times(requests[-1], "WAVES_COUNTED", 1, "the output of a script after a script was cancelled")


async def _until(is_true: Callable[[], bool]) -> bool:
    """Wait until something is true; return whether it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_WAIT_SECONDS):
            while not is_true():
                await asyncio.sleep(0.01)
    return is_true()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


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


async def _script_at_once(project: Project) -> None:
    tides = _tides(project)
    (project.skills / "tide-tables/scripts").mkdir()
    (project.skills / "tide-tables/scripts/high-water.sh").write_text(
        "#!/bin/sh\necho HIGH_WATER_$1\n", encoding="utf-8"
    )
    Trust().allow(project.catalog().resolve(tides.name))
    activate, run = call("activate_skill", name=tides.name), _run_script(tides)
    for steps in ((activate, run), (run, activate)):
        chat = project.chat(scripts=Scripts(sandbox="none"))
        requests = await chat.turn(_FIRST, Step(calls=tuple(tool for step in steps for tool in step.calls)))
        expect_times(requests[-1], "HIGH_WATER_Dover", 1, "the output of a script that runs beside the activation")
        expect_times(requests[-1], tides.word, 1, "the body once after a script that runs beside the activation")
        requests = await chat.turn(_SECOND, activate)
        expect_times(requests[-1], tides.word, 1, "the body once after `activate_skill` for the same skill")


async def _script_and_file(project: Project) -> None:
    tides = _tides(project)
    text = "#!/bin/sh\nsleep 0.5\necho $1_WAS_WRITTEN >> heights.txt\ncat heights.txt\n"
    (project.skills / "tide-tables/measure.sh").write_text(text, encoding="utf-8")
    Trust().allow(project.catalog().resolve(tides.name))
    measure = [call("run_skill_script", skill=tides.name, script="measure.sh", args=[word]) for word in ("HIGH", "LOW")]
    steps = (measure[0], call("read_script_file", path="heights.txt"), measure[1])
    chat = project.chat(scripts=Scripts(sandbox="none"))
    await chat.turn(_FIRST, call("activate_skill", name=tides.name))
    requests = await chat.turn(_SECOND, Step(calls=tuple(tool for step in steps for tool in step.calls)))
    expect_times(
        requests[-1], "HIGH_WAS_WRITTEN", 3, "what a script wrote: its output, the file, and the next script's"
    )
    expect_times(requests[-1], "LOW_WAS_WRITTEN", 1, "what a later script of the message wrote: only its output")


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


async def _strict_requests(project: Project) -> None:
    tides = _tides(project)
    project.add("moon-phases", "Tells the phase of the moon.")
    stars, lost = call("activate_skill", name="star-charts"), call("read_skill_file", name=tides.name, path="lost.md")
    chat = project.chat()
    requests = await chat.turn(f"$tide-tables {_FIRST}", stars, lost)
    requests += await chat.turn(f"Use the tide-tabels skill. {_SECOND}", lost)
    requests += await chat.turn(f"$moon-phases {_THIRD}")
    chat.conversation.compact()
    requests += await chat.turn(f"$tide-tables {_FIRST}", lost)
    requests += await chat.turn(_SECOND)
    for request in requests:
        expect_strict_roles(request)


def expect_strict_roles(request: ModelRequest) -> None:
    """Check the order of messages in a request, as the strictest servers do.

    Raises:
        AssertionError: there are two system messages or a late one, or roles do not alternate.
    """
    roles = [message.role for message in request.messages]
    rest = roles[1:] if roles[:1] == ["system"] else roles
    expect("system" not in rest, "expected one system message at most, and first", [request])
    for previous, role in pairwise(rest):
        follows = {"user": ("assistant",), "tool": ("assistant", "tool"), "assistant": ("user", "tool")}.get(role, ())
        message = f"expected a message of the role `{role}` not to follow one of the role `{previous}`"
        expect(previous in follows, message, [request])
    expect(rest[-1:] != ["assistant"], "expected no message of the model at the end", [request])


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
    await _send_in_new_process(project, chat.model.url, saved, _SECOND)
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
    "strict-requests": (
        "Each request has one system message, first; then user and model alternate, and results follow their calls.",
        _strict_requests,
    ),
    "user-only": ("A skill that is only for its user is hidden from the model until the user mentions it.", _user_only),
    "mention-not-found": ("A mention of an unknown skill is reported to the model once.", _mention_not_found),
    "file": ("A file of a skill reaches the model when it reads the file.", _file),
    "scripts-off": ("Without the option `scripts`, the model is offered no tool that runs scripts.", _scripts_off),
    "script": ("A script is refused until its user trusts the skill; then its output reaches the model.", _script),
    "script-at-once": ("A script runs in the message that activates its skill, in any order.", _script_at_once),
    "script-and-file": ("Scripts of one message, and what reads their files, run in its order.", _script_and_file),
    "changed-skill": ("A skill that changes is seen when the next turn begins, and not before.", _changed_skill),
    "compaction": ("An active skill's body still reaches the model after its messages were dropped.", _compaction),
    "resume": ("A saved conversation goes on in a new process, with its messages and its active skills.", _resume),
    "fifty-conversations": ("Fifty conversations at once see each its own skill and messages.", _fifty_conversations),
    "failed-call": ("The error of a tool call reaches the model, and the conversation goes on.", _failed_call),
    "cancellation": (
        "A cancelled turn ends its script at once, and the next turn shows the right skills.",
        _cancellation,
    ),
}
"""The sentence and the test of each claim."""


class AdapterClaim(Frozen):
    """One thing that an adapter does for its users."""

    name: str
    """For example `body-on-activation`."""
    title: str
    """A sentence."""
    adapter: Adapter
    run: Callable[[Project], Awaitable[None]]
    """Raises AssertionError if the claim is false."""
    explanation: str = ""
    """Why the claim is false in this framework; empty if it is true."""

    def __str__(self) -> str:
        """Return the name, for the ids of tests."""
        return self.name

    def check(self) -> None:
        """Test the claim.

        Raises:
            AssertionError: it is false, although there is no explanation; or it is true, although there is one.
        """
        problem = self._problem()
        if problem is not None and not self.explanation:
            raise AssertionError(f"{self.adapter.name}: {self.name}: {self.title}\n{problem}") from problem
        if problem is None and self.explanation:
            message = f"{self.adapter.name}: {self.name} is true now: remove it from `explained`"
            raise AssertionError(message)

    def _problem(self) -> Exception | None:
        """Run the claim, and return what is wrong."""

        async def run() -> None:
            with project_for(self.adapter) as project:
                await self.run(project)

        try:
            _run_to_end(run)
        except AssertionError as error:
            return error
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - an adapter may raise anything
            wrapped = AssertionError(f"the adapter raised {type(error).__name__}: {error}")
            wrapped.__cause__ = error
            return wrapped
        return None


def _run_to_end(run: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a coroutine in an event loop of its own, also if this thread has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(run())
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(run())).result()


def adapter_suite(adapter: Adapter) -> tuple[AdapterClaim, ...]:
    """Return the claims of the contract that every adapter passes.

    Args:
        adapter: makes conversations in its framework.

    Raises:
        ConfigError: `explained` names an unknown claim, or gives no reason.
    """
    explained = dict(getattr(adapter, "explained", {}))
    for name, reason in explained.items():
        if name not in CLAIMS:
            raise ConfigError(
                f"unknown claim {quoted(name)} in `explained`",
                hint=did_you_mean(name, CLAIMS, "they are the names of the claims"),
            )
        if not reason.strip():
            raise ConfigError(f"no reason for {quoted(name)} in `explained`", hint="say why the framework cannot")
    return tuple(
        AdapterClaim(name=name, title=title, adapter=adapter, run=run, explanation=explained.get(name, ""))
        for name, (title, run) in CLAIMS.items()
    )


if __name__ == "__main__":
    asyncio.run(_send(json.load(sys.stdin)))
