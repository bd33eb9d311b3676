"""What the tests of several frameworks start with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from support.case_documents import pytest_collect_file  # noqa: F401 - a hook: the documents here are tests
from support.openai_server import ModelServer
from support.skills import skill

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def loop() -> Iterator[AbstractEventLoop]:
    """An event loop that is closed at the end: `run_sync` leaves the one it makes open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a skill `pages`, and with `secret` that is only for its user."""
    skills = tmp_path / "project/.agents/skills"
    skill(skills / "pages", body="Count the pages twice.")
    (skills / "pages/notes.md").write_text("Page 3 is blank.")
    skill(skills / "secret", body="Whisper.", more="disable-model-invocation: true\n")
    return tmp_path / "project"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server of chat completions, whose model says `Done.`."""
    with ModelServer("Done.") as server:
        yield server
