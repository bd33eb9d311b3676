"""Give each claim about an adapter a project with skills, a home of its own, and conversations with scripted models."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess.catalog import LiveCatalog, discover

from ._scripted_endpoint import FINAL_ANSWER, ScriptedConversation, ScriptedEndpoint
from ._scripted_model import Call, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.catalog import Catalog

    from ._adapter import Adapter, Conversation
    from ._chat_completions import ModelRequest
    from ._scripted_endpoint import Answer

__all__ = ["Chat", "Project", "SkillText", "call", "expect", "expect_times", "project_for"]

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
