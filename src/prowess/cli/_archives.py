"""Show what is in a `.skill` or `.zip` file as if it were a folder.

It is unpacked into a temporary folder. What is said about the paths in it is said about the file.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager

from ._output import Message, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@contextmanager
def unpacked_paths(paths: Sequence[str]) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield paths of which the archives are replaced by folders with their content, and the archive of each folder.

    Args:
        paths: absolute ones.

    Raises:
        InstallError: an archive is damaged, or contains something that is not allowed.
    """
    archives: dict[str, str] = {}
    with ExitStack() as stack:
        shown = []
        for path in paths:
            if path.lower().endswith((".skill", ".zip")):
                from prowess.install import is_archive_file, unpacked_archive

                if is_archive_file(path):
                    folder = stack.enter_context(unpacked_archive(path))
                    archives[folder] = path
                    shown.append(folder)
                    continue
            shown.append(path)
        yield shown, archives


def say_of_archives(result: Result, archives: Mapping[str, str], cwd: str) -> Result:
    """Return a result in which the temporary folders are called by their archives.

    Args:
        result: what a command found; it is complete afterwards, and reads nothing more.
        archives: the archive of each folder.
        cwd: the working directory; the text has paths relative to it.
    """
    if not archives:
        return result
    # Some messages name the folder above.
    archives = {**archives, **{os.path.dirname(folder): path for folder, path in archives.items()}}
    names = {folder: path.removeprefix(cwd.rstrip(os.sep) + os.sep) for folder, path in archives.items()}
    value = result.as_dict() if callable(result.as_dict) else result.as_dict

    def shown(line: str) -> str:
        for folder, name in names.items():
            line = line.replace(folder, name)
        return line

    text = [Message(shown(line)) if isinstance(line, Message) else type(line)(shown(line)) for line in result.text]
    return Result(_replaced(value, archives), text, result.code, [Message(shown(line)) for line in result.notes])


def _replaced(value: object, archives: Mapping[str, str]) -> object:
    """Return a value of JSON with other paths."""
    if isinstance(value, str):
        for folder, path in archives.items():
            value = value.replace(folder, path)
        return value
    if isinstance(value, dict):
        return {_replaced(key, archives): _replaced(item, archives) for key, item in value.items()}
    return [_replaced(item, archives) for item in value] if isinstance(value, list | tuple) else value
