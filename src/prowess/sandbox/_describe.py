"""Describe how a command ended, for a model: its exit code and its output as text that is safe to show."""

from __future__ import annotations

import codecs

from prowess._internal.patterns import compile_on_use
from prowess._internal.text import neutral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._run import Result

_MAX_REASONS, _MAX_REASON_CHARS = 3, 250
"""Reasons of refused hosts that a result shows: with them it has less than 1,000 bytes besides output."""

_COLOR = compile_on_use(r"\x1b\[[0-9;:]{0,100}m")


def describe_result(done: Result, timeout: float) -> str:
    """Return a command's exit code and output as text."""
    summary = f"stopped: it took longer than {timeout:g} seconds" if done.timed_out else f"exit code {done.exit_code}"
    if done.killed and not done.timed_out:
        summary += f"; processes it left running were stopped ({done.killed})"
    if done.out_of_memory:
        summary += "; it used too much memory"
    if done.out_of_space:
        summary += "; it wrote too many files, or too large ones"
    # Many programs do not show the reason that the proxy gives them.
    lines = [summary, *(f"network: {reason[:_MAX_REASON_CHARS]}" for reason in done.refused_hosts[:_MAX_REASONS])]
    if left_out := len(done.refused_hosts[_MAX_REASONS:]):
        lines.append(f"network: {left_out} more hosts were refused")
    for name, data, size in (("stdout", done.stdout, done.stdout_size), ("stderr", done.stderr, done.stderr_size)):
        if size:
            lines += [f"{name}:", decode_output(data, size)]
    return "\n".join(lines if len(lines) > 1 else (summary, "no output"))


def decode_output(data: bytes, size: int) -> str:
    """Return output as text: colors are left out, hidden characters are escaped, and a note says how much is left out.

    Args:
        data: the first bytes of the output.
        size: the bytes of all output.
    """
    whole = size <= len(data)
    # A character that is cut in two at the end is left out.
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=whole)
    lines = _COLOR.sub("", text).replace("\r\n", "\n").split("\n")
    visible = "\n".join("\t".join(map(neutral, line.split("\t"))) for line in lines).rstrip("\n")
    if not whole:
        visible += f"\n[the first {len(data):,} of {size:,} bytes; {size - len(data):,} are left out; ask for less]"
    return visible
