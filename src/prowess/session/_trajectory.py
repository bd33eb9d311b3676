"""Record what a session does: in a trajectory, and in the span of OpenTelemetry that a program has opened."""

from __future__ import annotations

import os
import sys
import warnings

from prowess.errors import ProwessError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from prowess.catalog import Catalog, Entry
    from prowess.trajectory import TrajectoryFile

    from ._listing import Listing

_SOURCES = {"managed": "policySettings", "project": "projectSettings", "user": "userSettings"}
"""Where a skill is from, in the words of Claude Code; other scopes have the same words there and here."""

RECORDED_TOOLS = ("activate_skill", "read_skill_file", "run_skill_script")
"""The tools whose calls a session records."""


class Trajectory:
    """What a conversation leaves in a file.

    A file that cannot be written ends the record and not the conversation: there is a warning, once.

    Args:
        path: as for a `TrajectoryFile`.
        about: returns the ID of the conversation, the agent, and what returns the steps with which a new file begins.

    Raises:
        ConfigError: the path cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        about: Callable[[], tuple[str, Mapping[str, object], Callable[[], list[dict[str, Any]]]]],
    ) -> None:
        from prowess.trajectory import TrajectoryFile

        self.file: TrajectoryFile = TrajectoryFile(path)
        self.failure: str | None = None
        """Why the file is not complete."""
        self.warns = True
        """Whether a failure is a warning too; otherwise the caller reads `failure`."""
        self._about = about

    def add(self, *steps: dict[str, Any], tokens: tuple[int, int] = (0, 0)) -> None:
        """Add steps that `message_step` and `call_step` returned; see `TrajectoryFile.add`."""
        if self.failure is not None:
            return
        try:
            self.file.add(*self._about(), steps, tokens)
        except OSError as error:
            from prowess.trajectory import describe_failure

            self.failure = describe_failure(error)
            if self.warns:
                warnings.warn(self.failure, RuntimeWarning, stacklevel=4)

    def say(self, source: str, text: str, **extra: object) -> None:
        """Add a step with a message; see `message_step`."""
        self.add(message(source, text, **extra))


def message(source: str, text: str, **extra: object) -> dict[str, Any]:
    """Return the step of a message of now."""
    from prowess.trajectory import message_step

    return message_step(source, text, _now(), **extra)


def recorded_call(tool: str, arguments: Mapping[str, Any], content: str, **extra: object) -> dict[str, Any]:
    """Return the step of a call that has ended now."""
    from prowess.trajectory import call_step

    return call_step(tool, arguments, content, _now(), new_id("call"), **extra)


def new_id(kind: str) -> str:
    """Return an ID that no other trajectory has."""
    return f"{kind}_{os.urandom(8).hex()}"


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RecordedCall:
    """A call of the model: what is in the block is recorded when it ends, an error too.

    Args:
        trajectory: `None` without one.
        tool: its name.
        arguments: what it was called with; those that are `None` were left out.
        by: `model` or `user`.
    """

    def __init__(self, trajectory: Trajectory | None, tool: str, arguments: Mapping[str, Any], by: str) -> None:
        self._trajectory, self._tool, self._by = trajectory, tool, by
        self._arguments = arguments
        self._content = ""
        self._extra: dict[str, object] = {}

    def result(self, content: str, **extra: object) -> None:
        """Say what came of it: the text that the model gets, and what it did with a skill."""
        self._content, self._extra = content, extra

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if self._trajectory is None or (error is not None and not isinstance(error, ProwessError | OSError)):
            return
        if self._by == "user":
            if error is None:
                self._trajectory.add(message("user", self._content, **self._extra))
            return
        arguments = {name: value for name, value in self._arguments.items() if value is not None}
        content, extra = (self._content, self._extra) if error is None else (f"error: {error}", {"skill": None})
        self._trajectory.add(recorded_call(self._tool, arguments, content, **extra))


def about_skill(entry: Entry) -> dict[str, object]:
    """Return `extra.skill` of a step in which a skill was used."""
    return {"id": new_id("use"), "name": entry.name, "path": entry.path if os.path.isabs(entry.path) else None}


def file_of(entry: Entry, path: str) -> str | None:
    """Return the absolute path of a file of a skill; `None` if it is not on this machine."""
    return os.path.join(os.path.dirname(entry.path), path) if os.path.isabs(entry.path) else None


def about_agent(catalog: Catalog) -> dict[str, object]:
    """Return `agent` of a trajectory."""
    version = sys.modules["prowess"].__version__  # the package imports rooms above this one
    return {"name": catalog.host.name, "version": version, "extra": {"cwd": catalog.cwd}}


def catalog_step(catalog: Catalog, listing: Listing) -> dict[str, Any]:
    """Return the step in which a model is shown the catalog."""
    shortened = {*listing.prompt.shortened}
    paths = {entry.name: entry.path for entry in reversed(catalog.active)}
    skills = [
        {
            "name": name,
            "path": path if os.path.isabs(path := paths.get(name, "")) else None,
            "description": "short" if name in shortened else "full",
        }
        for name in listing.prompt.shown
    ]
    return message("system", listing.text, skills=skills)


def report_use(entry: Entry, by: str) -> None:
    """Add the event that Claude Code has for the use of a skill (2.1.330) to the current span of OpenTelemetry.

    A program that has configured a tracer has imported the API; otherwise nothing of it is imported here.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return
    span = trace.get_current_span()
    if span.is_recording():
        attributes = {
            "skill.name": entry.name,
            "skill.source": _SOURCES.get(entry.scope, entry.scope),
            "invocation_trigger": "user-slash" if by == "user" else "claude-proactive",
        }
        span.add_event("claude_code.skill_activated", attributes)
