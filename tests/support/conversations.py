"""Have a conversation with the skills of a case document: its commands are those of `tests/cases/README.md`."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from prowess import Scripts, Session, discover
from prowess.errors import ProwessError
from support.programs import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from prowess.catalog import Catalog


class ConversationCommands:
    """The session of a conversation, and a command for each thing that a framework does with it."""

    def __init__(self, top: Path, env: Mapping[str, str]) -> None:
        self._top, self._env = top, env
        self._options: dict[str, Any] = {}
        self._scripts: bool | Scripts = False
        self._session: Session | None = None
        self._commands: dict[str, Callable[..., str]] = {
            "session": self._start,
            "say": lambda text: "\n".join(message["content"] for message in self.session.inject(text)),
            "call": self._call,
            "activate": lambda *words: self.session.activate(*words, by="user").content,
            "tools": lambda: " ".join(tool.name for tool in self.session.tools(scripts=self._scripts)),
            "block": lambda: self.session.static_block(),  # noqa: PLW0108 - of the session at that time
            "tail": lambda *budget: self.session.tail(*map(int, budget)),
            "ledger": self._ledger,
            "granted": self._granted,
            "save": self._save,
            "reload": self._reload,
        }

    @property
    def session(self) -> Session:
        """The session; a new one before the first command."""
        if self._session is None:
            self._session = Session(self._catalog(), env=self._env, **self._options)
        return self._session

    def run(self, line: str) -> str | None:
        """Return what a command of a conversation prints; `None` if the line is another command."""
        name = line.partition(" ")[0]
        if name not in self._commands:
            return None
        with patch.dict(os.environ, self._env, clear=True):
            try:
                text = self._commands[name](*shlex.split(line)[1:])
            except ProwessError as error:
                text = f"! error: {error}" + (f"\n! hint: {error.hint}" if error.hint else "")
        return f"{text}\n" if text and not text.endswith("\n") else text

    def _catalog(self) -> Catalog:
        return discover(self._top / "project", home=self._top / "home", env={}, cache=False)

    def _start(self, *words: str) -> str:
        """Begin a conversation with options of its session; `scripts=SANDBOX` lets a model run scripts, in `cwd`."""
        options = _arguments(words)
        sandbox, cwd = options.pop("scripts", None), options.pop("cwd", None)
        if sandbox == "bwrap":
            require("bwrap")
        self._scripts = Scripts(sandbox=sandbox, cwd=cwd) if sandbox else False
        self._options, self._session = options, None
        return ""

    def _call(self, name: str, *words: str) -> str:
        (tool,) = (tool for tool in self.session.tools(scripts=self._scripts) if tool.name == name)
        return tool.call(**_arguments(words))

    def _ledger(self) -> str:
        session = self.session
        return "\n".join(
            f"{row.name}: by the {row.by} in turn {row.turn}"
            + (f", arguments {row.arguments}" if row.arguments is not None else "")
            + (f", files {' '.join(row.files)}" if row.files else "")
            for row in session.ledger
        )

    def _granted(self, name: str) -> str:
        grants = self.session.granted(name)
        if grants.denial_reason:
            return f"nothing: {grants.denial_reason}"
        return f"tools {json.dumps(grants.tools)}\nscripts {' '.join(grants.scripts)}".rstrip()

    def _reload(self) -> str:
        """Go on with the skills that there are now."""
        self.session.update(self._catalog())
        return ""

    def _save(self) -> str:
        """Go on with the conversation in a new process."""
        self._session = Session.from_json(self.session.to_json(), self._catalog(), env=self._env, **self._options)
        return ""


def _arguments(words: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of words such as `name=pdf limit=3`: JSON if it is valid, else text."""
    return {name: _value(value) for name, _, value in (word.partition("=") for word in words)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
