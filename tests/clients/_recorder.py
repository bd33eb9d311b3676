"""Have the conversations with a client, and take the session files that it writes."""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from clients._conversations import CONVERSATIONS, RESULTS, Step, Turn, World, describe
from clients._fixed import Fixed, day_of
from clients._probe import ClientError, Question
from support.files import write_files
from support.model_server import texts
from support.trees import write_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from clients._probe import Clients, Probe
    from support.model_server import ModelServer

Call = tuple[str, Any]
"""The end of a tool's name, and its arguments."""
RECORDS = "Base directory|skill_listing|.(S|s)kill.|SKILL.md|activate_skill"
"""A pattern for lines that look like records of a skill."""
LONG = 300
"""Characters that are kept of a long text."""
SEVERAL = 3
"""Values that are kept of a list in a record that is bookkeeping."""


@dataclass(frozen=True, kw_only=True)
class Recorder:
    """How to have the conversations with one client."""

    client: str
    argv: Callable[[Clients, Turn, str], Sequence[str]]
    """The program and its arguments for a turn, given the id of the session before; empty if it cannot do that."""
    env: Callable[[str], Mapping[str, str]]
    """The variables that connect it to the model with this address."""
    calls: Callable[[Step, World], Sequence[Call]]
    """The tools that the model calls in a step. `run` and `print` are `run COMMAND`, `agent` has the words."""
    folder: str
    """The folder of its sessions in the home."""
    files: Callable[[Path], dict[str, str]]
    """Returns the session files of a home by their paths in it, without most of the bookkeeping."""
    ids: Callable[[Mapping[str, str]], list[str]]
    """Returns the identifiers of the sessions in such files, without those of sub-agents."""
    identifiers: tuple[str, ...] = ()
    """Patterns of identifiers that are no UUIDs."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Files in the home."""
    catalog: bool = True
    """Whether it records its catalog."""


@dataclass
class Session:
    """What a conversation must have left: written from what was scripted, and from what the model got."""

    version: str
    ids: list[str] = field(default_factory=list)
    offered: list[str] | None = None
    """The skills in the catalog that the model got; nothing if the client does not record it."""
    activations: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    scripts: list[dict[str, Any]] = field(default_factory=list)


class Recording:
    """The conversations with one client."""

    def __init__(self, recorder: Recorder, probe: Probe, clients: Clients, folder: Path) -> None:
        """Write the skills.

        Args:
            recorder: how to have them.
            probe: where the client has its skills.
            clients: the installed clients.
            folder: an empty one.
        """
        self.recorder, self.clients = recorder, clients
        self.version = clients.version(next(iter(probe.packages))) or probe.version
        self.world = World(home=folder / "ada", user=probe.user, project=probe.project)
        self.world.write()
        write_files(self.world.home, recorder.settings)
        write_repository(self.world.cwd / ".git")
        (folder / "scratch").mkdir()
        self.question = Question(home=self.world.home, cwd=self.world.cwd, scratch=folder / "scratch")
        self.starts: list[float] = []
        self.sessions: dict[str, Session] = {}
        self.written: dict[str, str] = {}
        """The session files by their paths below the home."""
        self.missing: list[str] = []
        """The conversations that the client cannot have."""

    def record(self) -> None:
        """Have all conversations.

        Raises:
            ClientError: the client did not do what was scripted.
        """
        with self.clients.model() as model:
            for name, turns in CONVERSATIONS.items():
                for turn in turns:
                    model.turns[f"[{turn.word}]"] = [call for step in turn.steps for call in self._calls(step)]
                if all(turn.of_agent or self.recorder.argv(self.clients, turn, "ID") for turn in turns):
                    self.sessions[name] = self._converse(turns, model)
                else:
                    self.missing.append(name)
        shutil.rmtree(self.world.folder("moon"))

    def fixed(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the session files by their paths below the home, and what was scripted, both with fixed values."""
        fixed = Fixed(self.world.home, self.starts, self.recorder.identifiers)
        files = fixed.files(self.written)
        return files, {name: json.loads(fixed.text(json.dumps(asdict(each)))) for name, each in self.sessions.items()}

    def _calls(self, step: Step) -> Sequence[Call]:
        """Return the tools that the model calls in a step."""
        kind, *values = step
        if kind == "run":
            step = ("run", f"sh {self.world.folder(values[0]) / values[1]}")
        elif kind == "print":
            folder = self.world.home / self.recorder.folder
            step = ("run", f"grep -rhE '{RECORDS}' {folder} | cut -c 1-1200 | head -n 12")
        elif kind == "agent":
            step = ("agent", f"Look at it. [{values[0]}]")
        return self.recorder.calls(step, self.world)

    def _converse(self, turns: Sequence[Turn], model: ModelServer) -> Session:
        """Have one conversation, and return what it must have left."""
        session = Session(version=self.version)
        identifier = ""
        for turn in turns:
            if not turn.of_agent:
                before = self.recorder.ids(self.recorder.files(self.world.home))
                self.starts.append(time.time())
                model.requests.clear()
                argv = [part.replace("{url}", model.url) for part in self.recorder.argv(self.clients, turn, identifier)]
                ended = self.clients.run(argv, self.question, self.recorder.env(model.url))
                found = self.recorder.ids(self.recorder.files(self.world.home))
                new = [each for each in found if each not in before]
                if len(new) > (turn.goes_on != "resumed") or not (new or identifier):
                    raise ClientError(f"[{turn.word}] left the sessions {new}: {(ended.stderr or ended.stdout)[-500:]}")
                identifier = new[0] if new else identifier
                session.ids = [*dict.fromkeys([*session.ids, identifier])]
                # Gemini CLI deletes the file of a resumed session when it is started again.
                self.written |= self.recorder.files(self.world.home)
            self._expect(turn, session, [text for request in model.requests for text in texts(request.json())])
        return session

    def _expect(self, turn: Turn, session: Session, sent: Sequence[str]) -> None:
        """Add what a turn must have left, if the model got it."""
        day = day_of(len(self.starts) - 1)
        uses = [("user", turn.invokes)] if turn.invokes else []
        for by, name in [*uses, *(("model", step[1]) for step in turn.steps if step[0] == "use")]:
            bodies = [text for text, folder in self.world.copies.items() if folder.name == name]
            got = [text for text in bodies if any(text in part for part in sent)]
            if len(got) != 1:
                raise ClientError(f"[{turn.word}]: the model got {len(got)} of {len(bodies)} copies of {name}")
            path = str(self.world.copies[got[0]] / "SKILL.md")
            session.activations.append({"name": name, "by": by, "path": path, "day": day})
        for kind, name, file, *code in (step for step in turn.steps if step[0] in ("read", "run")):
            if not any(RESULTS[file] in text for text in sent):
                raise ClientError(f"[{turn.word}]: the model did not get the result of {file}")
            path = str(self.world.folder(name) / file)
            if kind == "read":
                session.files.append({"path": path, "day": day})
            else:
                session.scripts.append({"path": path, "exit": int(code[0]), "day": day})
        if not any(f"[{turn.word}]" in text for text in sent):
            raise ClientError(f"[{turn.word}]: the model was not asked")
        if self.recorder.catalog:
            names = {folder.name for folder in self.world.copies.values()}
            offered = [name for name in sorted(names) if any(describe(name) in text for text in sent)]
            session.offered = sorted({*(session.offered or ()), *offered})


def json_lines(
    home: Path,
    *patterns: str,
    few: Collection[str] = (),
    kind: Callable[[Any], object] = lambda record: record.get("type"),
) -> dict[str, str]:
    """Return files of JSON lines by their paths, with a few of the records that are bookkeeping.

    Args:
        home: the home that they are in.
        patterns: which files, below it.
        few: the types of records of which only the first is kept.
        kind: returns the type of a record.
    """
    texts = {str(path.relative_to(home)): path.read_text("utf-8") for each in patterns for path in home.glob(each)}
    found, seen = {}, set[object]()
    # In the order of their first times.
    for path, text in sorted(texts.items(), key=lambda item: re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+", item[1])[:1]):
        lines = []
        for line in text.splitlines():
            record = json.loads(line)
            brief = kind(record) in few
            if not brief or kind(record) not in seen:
                kept = shortened(record, brief=brief)
                lines.append(json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n")
            seen.add(kind(record))
        found[path] = "".join(lines)
    return found


def main_files(pattern: str) -> Callable[[Mapping[str, str]], list[str]]:
    """Return the function that finds the identifier of a session in the path of its file, by a group of a pattern."""
    return lambda files: [found[1] for path in files if (found := re.search(pattern, path))]


def shortened(value: Any, *, brief: bool = False) -> Any:
    """Return a value with the middle of long texts left out, unless they are about the skills.

    Args:
        value: a record, or a part of one.
        brief: whether to do so with all texts and lists.
    """
    if isinstance(value, dict):
        return {key: shortened(item, brief=brief) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item, brief=brief) for item in (value[:SEVERAL] if brief else value)]
    if isinstance(value, str) and len(value) > LONG and (brief or "tide-tables" not in value):
        # Between words, so that no path is cut.
        start, end = re.sub(r"\S*\Z", "", value[: LONG // 2]), re.sub(r"\A\S*", "", value[-LONG // 2 :])
        return f"{start}[...]{end}"
    return value
