"""Say what a script did: how it ended, what it printed, and the files it wrote."""

from __future__ import annotations

import os
from itertools import accumulate

from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import neutral
from prowess.sandbox import describe_result

from ._activation import escape_tags
from ._interpreters import missing_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.sandbox import Result

    from ._scripts import WorkFolder

__all__ = ["describe_run", "list_files"]

_MAX_LOOKED_AT = 20_000
"""Files of a working folder that are compared before and after a script."""
_MAX_NAMED = 50
"""Files that a result names; the others are counted."""
_MAX_NAMED_CHARS = 8000
"""Characters of their names."""


def list_files(folder: str) -> dict[str, tuple[int, int, int]] | None:
    """Return the regular files of a folder with what changes when they are written; `None` if there are too many."""
    found: dict[str, tuple[int, int, int]] = {}
    pending, looked_at = [""], 0
    while pending:
        inner = pending.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    looked_at += 1
                    if looked_at > _MAX_LOOKED_AT:
                        return None
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        found[path] = (status.st_ino, status.st_size, status.st_ctime_ns)
        except OSError:
            continue
    return found


def describe_run(
    done: Result,
    timeout: float,
    work: WorkFolder,
    before: dict[str, tuple[int, int, int]] | None,
    shown: Mapping[str, str],
) -> str:
    """Return what a model should know of a script that ran.

    Args:
        done: how it ended.
        timeout: its seconds.
        work: where it worked.
        before: the files that were there.
        shown: folders, and what is shown in place of each.
    """
    after = list_files(work.path)
    lines = [describe_result(done, timeout)]
    if before is None or after is None:
        lines.append(f"the working folder has more than {_MAX_LOOKED_AT:,} files: what the script wrote is not listed")
    else:
        written = sorted(path for path, status in after.items() if before.get(path) != status)
        work.add_written(tuple(written))
        if written:
            lines.append("files it wrote, which `read_script_file` reads:")
            named = _named([f"- {neutral(path)} ({after[path][1]:,} bytes)" for path in written[:_MAX_NAMED]])
            lines += named
            if len(written) > len(named):
                lines.append(f"- and {len(written) - len(named):,} more")
    if done.exit_code != 0:
        lines += [f"hint: {hint}" for hint in missing_hints(done.stderr)]
    text = "\n".join(lines)
    for folder, name in shown.items():
        text = text.replace(folder, neutral(name))
    return escape_tags(escape_special_tokens(text))


def _named(lines: list[str]) -> list[str]:
    """Return the first lines: one at least, and no more than `_MAX_NAMED_CHARS`."""
    sizes = accumulate(map(len, lines))
    return [
        line
        for number, (line, size) in enumerate(zip(lines, sizes, strict=True))
        if not number or size <= _MAX_NAMED_CHARS
    ]
