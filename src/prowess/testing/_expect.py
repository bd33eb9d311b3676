"""Compare the result of a command with what its case expects."""

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
"""Characters of a text to show in a message."""
_MAX_DIFFERENCES = 20
"""Differences of one JSON value to report."""
_MAX_NEAREST_LOOKUPS = 3
"""Missing texts of one stream to find the most similar line for: it is slow."""
_MAX_SEARCHED_LINES = 2_000
"""Lines of a stream to compare when looking for the most similar one."""


class Failure(Frozen):
    """An expectation that is not met, or a reason why the case could not run."""

    kind: str
    """The key of the expectation, for example `stdout-contains`; or `files`, `sandbox`, `skill`, `timeout`."""
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return it as in `test --json`."""
        return {"kind": self.kind, "message": self.message}


def decode_output(output: bytes) -> str:
    """Return an output as text: invalid UTF-8 becomes U+FFFD, and every line ends in a line feed."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def failures(case: Case, result: Result) -> Iterator[Failure]:
    """Yield the expectations that the result of a command does not meet. The messages are safe to show."""
    if result.exit_code != case.exit_code:
        yield Failure(
            kind="exit-code", message=f"the exit code is {_format_exit_code(result.exit_code)}, not {case.exit_code}"
        )
    streams = {
        "stdout": (decode_output(result.stdout), result.stdout_size > len(result.stdout)),
        "stderr": (decode_output(result.stderr), result.stderr_size > len(result.stderr)),
    }
    for stream, expected in (("stdout", case.stdout_contains), ("stderr", case.stderr_contains)):
        text, is_cut = streams[stream]
        missing = [part for part in expected if _normalize_newlines(part) not in text]
        for number, part in enumerate(missing):
            near = "" if is_cut or number >= _MAX_NEAREST_LOOKUPS else _nearest_line_hint(part, text)
            yield Failure(kind=f"{stream}-contains", message=_missing_message(stream, part, text, is_cut) + near)
    for part in case.not_contains:
        for stream, (text, is_cut) in streams.items():
            position = text.find(_normalize_newlines(part))
            if position >= 0:
                line = text.count("\n", 0, position) + 1
                message = f"{stream} contains {quoted(part, _MAX_QUOTED_CHARS)} in line {line}"
                yield Failure(kind="not-contains", message=message)
            elif is_cut:
                message = f"{stream} is too long and was cut off, so it may contain {quoted(part, _MAX_QUOTED_CHARS)}"
                yield Failure(kind="not-contains", message=message)
    if case.stdout_json is not ABSENT:
        yield from _json_failures(case, result.stdout, streams["stdout"][1])


def _format_exit_code(code: int | None) -> str:
    if code is not None and code > 128:
        import signal

        try:
            return f"{code} ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return {126: "126 (command not executable)", 127: "127 (command not found)"}.get(code or 0, str(code))


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _missing_message(stream: str, part: str, text: str, is_cut: bool) -> str:
    message = f"{stream} does not contain {quoted(part, _MAX_QUOTED_CHARS)}"
    if is_cut:
        return f"{message} before it was cut off"
    if not text:
        return f"{message}: it is empty"
    return message


def _nearest_line_hint(part: str, text: str) -> str:
    """Return words about the line that is most similar to a text, or an empty text if none is similar."""
    lines = text.split("\n", _MAX_SEARCHED_LINES)[:_MAX_SEARCHED_LINES]
    near = nearest_names(
        _normalize_newlines(part)[:_MAX_QUOTED_CHARS], (line[:_MAX_QUOTED_CHARS] for line in lines if line), cutoff=0.5
    )
    if near:
        line_number = next(number for number, line in enumerate(lines, 1) if line[:_MAX_QUOTED_CHARS] == near[0])
        return f"; the most similar line is {line_number}: {quoted(near[0], _MAX_QUOTED_CHARS)}"
    return ""


def _json_failures(case: Case, output: bytes, is_cut: bool) -> Iterator[Failure]:
    from ._json_match import differences, parse_single_value

    if is_cut:
        message = "stdout is too long and was cut off, so it cannot be read as JSON"
        yield Failure(kind="stdout-json", message=message)
        return
    try:
        value = parse_single_value(output)
    except ValueError as error:
        yield Failure(kind="stdout-json", message=f"stdout is not one JSON value: {error}")
        return
    for number, difference in enumerate(differences(case.stdout_json, value)):
        if number >= _MAX_DIFFERENCES:
            yield Failure(kind="stdout-json", message="and more differences")
            return
        yield Failure(kind="stdout-json", message=difference)
