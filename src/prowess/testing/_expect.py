"""a case + how its command ended -> what is not as expected, each with where it differs"""

from __future__ import annotations

from prowess._internal.frozen import Frozen
from prowess._internal.text import nearest_names, quoted

from ._cases import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.sandbox import Result

    from ._cases import Case

__all__ = ["Failure", "failures", "decode_output"]

_MAX_QUOTED_CHARS = 200
"""Characters of a text in a message."""
_MAX_DIFFERENCES = 20
"""Places of one JSON value that are told."""
_MAX_NEAREST_LOOKUPS = 3
"""Missing texts of one stream for which the nearest line is looked for: it takes as long as all the rest."""
_MAX_SEARCHED_LINES = 2_000
"""Lines in which the nearest one is looked for."""


class Failure(Frozen):
    """One thing that is not as expected."""

    kind: str
    """The key of the expectation, as in `stdout-contains`; or why the case could not be run."""
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return it in the shape of `test --json`."""
        return {"kind": self.kind, "message": self.message}


def decode_output(output: bytes) -> str:
    """Return an output as text: what is not UTF-8 is shown as U+FFFD, and every line ends in a line feed."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def failures(case: Case, result: Result) -> Iterator[Failure]:
    """Yield what is not as expected of a command that ended by itself. Its messages are safe to show."""
    if result.exit_code != case.exit_code:
        yield Failure(
            kind="exit-code", message=f"the exit code is {_format_exit_code(result.exit_code)}, not {case.exit_code}"
        )
    streams = {
        "stdout": (decode_output(result.stdout), result.stdout_size > len(result.stdout)),
        "stderr": (decode_output(result.stderr), result.stderr_size > len(result.stderr)),
    }
    for stream, wanted in (("stdout", case.stdout_contains), ("stderr", case.stderr_contains)):
        text, cut = streams[stream]
        missing = [part for part in wanted if _normalize_newlines(part) not in text]
        for at, part in enumerate(missing):
            near = "" if cut or at >= _MAX_NEAREST_LOOKUPS else _nearest_line_hint(part, text)
            yield Failure(kind=f"{stream}-contains", message=_missing_message(stream, part, text, cut) + near)
    for part in case.not_contains:
        for stream, (text, cut) in streams.items():
            at = text.find(_normalize_newlines(part))
            if at >= 0:
                line = text.count("\n", 0, at) + 1
                yield Failure(
                    kind="not-contains", message=f"{stream} contains {quoted(part, _MAX_QUOTED_CHARS)} in line {line}"
                )
            elif cut:
                words = (
                    f"{stream} is longer than what is kept of it, so it may contain {quoted(part, _MAX_QUOTED_CHARS)}"
                )
                yield Failure(kind="not-contains", message=words)
    if case.stdout_json is not ABSENT:
        yield from _json_failures(case, result.stdout, streams["stdout"][1])


def _format_exit_code(code: int | None) -> str:
    if code is not None and code > 128:
        import signal

        try:
            return f"{code} ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return {126: "126 (the command cannot be run)", 127: "127 (the command was not found)"}.get(code or 0, str(code))


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _missing_message(stream: str, part: str, text: str, cut: bool) -> str:
    words = f"{stream} does not contain {quoted(part, _MAX_QUOTED_CHARS)}"
    if cut:
        return f"{words} in the part of it that is kept"
    if not text:
        return f"{words}: it is empty"
    return words


def _nearest_line_hint(part: str, text: str) -> str:
    """Say which line is nearest to a text; nothing where none is near."""
    lines = text.split("\n", _MAX_SEARCHED_LINES)[:_MAX_SEARCHED_LINES]
    near = nearest_names(
        _normalize_newlines(part)[:_MAX_QUOTED_CHARS], (line[:_MAX_QUOTED_CHARS] for line in lines if line), cutoff=0.5
    )
    if near:
        at = next(number for number, line in enumerate(lines, 1) if line[:_MAX_QUOTED_CHARS] == near[0])
        return f"; line {at} is nearest: {quoted(near[0], _MAX_QUOTED_CHARS)}"
    return ""


def _json_failures(case: Case, output: bytes, cut: bool) -> Iterator[Failure]:
    from ._json_match import differences, parse_single_value

    if cut:
        words = "stdout is longer than what is kept of it, so it cannot be read as JSON"
        yield Failure(kind="stdout-json", message=words)
        return
    try:
        found = parse_single_value(output)
    except ValueError as error:
        yield Failure(kind="stdout-json", message=f"stdout is not one JSON value: {error}")
        return
    for number, words in enumerate(differences(case.stdout_json, found)):
        if number >= _MAX_DIFFERENCES:
            yield Failure(kind="stdout-json", message="and more")
            return
        yield Failure(kind="stdout-json", message=words)
