"""Run an agent that users have, Claude Code or Codex, as a program of its own in a home of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from math import inf
from pathlib import Path

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.errors import ConfigError
from prowess.filesystem import Question
from prowess.hosts import load_host
from prowess.isolation import IsolationConfig, write_home
from prowess.trajectory import message_step, read_sessions, read_steps

from ._agents import MOST_REASON, run_program
from ._place import SKILLS, Place
from ._steps import texts_of, with_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from prowess.trajectory import Activation, RecordedSession

    from ._place import Ran

_PASSED_ON = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")


class _Kind(Frozen):
    """How one agent is started."""

    install: str
    """The command that installs it."""
    skills: str
    """Its folder of skills, relative to the folder of a run."""
    arguments: tuple[str, ...]
    keys: tuple[str, ...]
    """The variables that may have the key to its model: one must be set."""
    variables: tuple[str, ...]
    """Further variables of the user that it gets."""
    needs: tuple[str, ...] = ()
    """Programs that its sandbox needs on Linux."""
    longest: int | None = None
    """Bytes of the path of its folder for temporary files, in which its sandbox makes sockets on Linux."""
    says_cost: bool = False


_KINDS = {
    "claude-code": _Kind(
        install="npm install -g @anthropic-ai/claude-code",
        # It is started without the settings of projects, which could open its sandbox, and then ignores their skills.
        skills="../home/.claude/skills",
        arguments=(
            *("-p", "--output-format", "json", "--strict-mcp-config", "--permission-mode", "acceptEdits"),
            *("--allowedTools", "Skill Read(~/.claude/skills/**)"),
        ),
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_CUSTOM_HEADERS"),
        needs=("bwrap", "socat"),
        longest=74,  # tried with 2.1.330
        says_cost=True,
    ),
    "codex": _Kind(
        install="npm install -g @openai/codex",
        skills=SKILLS,
        arguments=("exec", "--skip-git-repo-check"),
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        variables=("OPENAI_BASE_URL",),
    ),
}
CLIENTS = tuple(_KINDS)
"""The agents that can be run by their names."""


class Client:
    """An agent that users have.

    Args:
        name: one of `CLIENTS`.

    Raises:
        ConfigError: it is not installed, its sandbox cannot run, or it has no key.
    """

    says_steps = True

    def __init__(self, name: str) -> None:
        self.name = self.host = name
        self._kind, self._host = _KINDS[name], load_host(name)
        self.skills, self.says_cost = self._kind.skills, self._kind.says_cost
        self.arguments = self._host.isolated.arguments
        title, program = self._host.title, shutil.which(self._host.isolated.program)
        if program is None:
            message = f"{title} is not installed: there is no program `{self._host.isolated.program}`"
            raise ConfigError(message, hint=f"install it with `{self._kind.install}`")
        self._program = os.path.abspath(program)
        missing = [need for need in self._kind.needs if sys.platform == "linux" and shutil.which(need) is None]
        if missing:
            message = f"the sandbox of {title} needs {' and '.join(f'`{need}`' for need in missing)}"
            raise ConfigError(message, hint="install it with the package manager of this system")
        self._env = {key: os.environ[key] for key in (*self._kind.keys, *self._kind.variables) if os.environ.get(key)}
        if not self._env.keys() & {*self._kind.keys}:
            keys = ", ".join(self._kind.keys)
            raise ConfigError(
                f"{title} has no key to its model", hint=f"set one of {keys}; nothing of your home is used"
            )
        with Place() as place:
            _check_length(title, place.folders[2], self._kind)
            ran = run_program([self._program, "--version"], place, "", 60.0, {})
        found = re.search(rb"\d+(?:\.\d+)+", ran.answer)
        self.version = found[0].decode() if found else ""
        """As it says; empty if it does not."""

    def run(self, place: Place, prompt: str, number: int, seconds: float, cost: float = inf) -> Ran:  # noqa: ARG002 - the protocol
        """Run the program until it ends, and read what it has recorded in its home."""
        proxies = {name: os.environ[name] for name in _PASSED_ON if os.environ.get(name)}
        env, more = dict(self._env), list[str]()
        if self.name == "codex":
            env["CODEX_API_KEY"] = env.get("CODEX_API_KEY") or env.pop("OPENAI_API_KEY")
            if url := env.pop("OPENAI_BASE_URL", None):
                more += ["-c", f"openai_base_url={json.dumps(url)}"]
            more.append("-")  # the prompt is on its standard input
        else:
            env["CLAUDE_CODE_MAX_RETRIES"] = "4"  # ten take minutes
            more += [] if cost == inf else ["--max-budget-usd", f"{cost:.6f}"]
        variables = write_home(
            self._host,
            IsolationConfig(env={**env, **proxies}),
            Path(os.path.dirname(place.home)),
            user_home=os.path.expanduser("~"),
            workdir=place.work,
            secrets=self._env,
        )
        argv = [self._program, *self.arguments, *self._kind.arguments, *more]
        ran = run_program(argv, place, prompt, seconds, variables)
        question = Question.about(place.work, place.home, env={})
        sessions = read_sessions(question, agents=[self.name], cache=False).sessions
        steps = _with_skills(read_steps(self.name, question), sessions)
        ran = with_steps(ran, sessions, steps, place) if sessions else ran
        return _read_result(ran) if self.name == "claude-code" else ran


def _check_length(title: str, folder: str, kind: _Kind) -> None:
    """Check that the sockets of a sandbox fit into a folder for temporary files: if not, no command would run.

    Raises:
        ConfigError: they do not.
    """
    if sys.platform == "linux" and kind.longest is not None and len(os.fsencode(folder)) > kind.longest:
        message = f"the sandbox of {title} cannot work in {quoted(folder, PATH_LIMIT)}: the path is too long"
        raise ConfigError(message, hint="set TMPDIR to a folder with a shorter path, which only you can write to")


def _with_skills(steps: Iterable[Mapping[str, Any]], sessions: Sequence[RecordedSession]) -> list[Mapping[str, Any]]:
    """Return steps that say which skills were offered and used, as those of a session of Prowess do."""
    found: list[dict[str, Any]] = [dict(step) for step in steps]
    for session in sessions:
        for use in session.activations:
            skill = {"id": use.id, "name": use.name, "path": use.path}
            step = next((step for step in found if "extra" not in step and _does(step, use)), None)
            if step is None:
                found.append(message_step("user" if use.by == "user" else "system", "", use.time, skill=skill))
            else:
                step["extra"] = {"skill": skill}
    catalogs = [offer.as_dict() for session in sessions for offer in session.catalog or ()]
    if any(session.catalog is not None for session in sessions):
        found.insert(0, message_step("system", "", sessions[0].first, skills=catalogs))
    return [*found]


def _does(step: Mapping[str, Any], use: Activation) -> bool:
    """Return whether a step has the call by which a skill was used: by its id, or by the file that it reads."""
    calls = step.get("tool_calls", ())
    return any(
        call["tool_call_id"] == use.id or (use.path and any(use.path in text for text in texts_of(call["arguments"])))
        for call in calls
    )


def _read_result(ran: Ran) -> Ran:
    """Return a run of Claude Code with what is in the object that it prints: its answer, and the cost."""
    try:
        value = json.loads(ran.answer)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return ran.with_changes(failure=ran.failure or "it printed no result")
    cost, text = value.get("total_cost_usd"), str(value.get("result") or "")
    failure = ran.failure
    if value.get("is_error") is not False:
        reason = " ".join(text.split()) or str(value.get("subtype"))
        failure = neutral(reason)[:MOST_REASON]
    cost = float(cost) if isinstance(cost, int | float) and 0 <= cost < inf else None
    return ran.with_changes(failure=failure, answer=text.encode("utf-8", "replace"), cost=cost)
