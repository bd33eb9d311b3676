"""Read the files of skills that a provider has, and copy them to this machine to run or trust them."""

from __future__ import annotations

from contextlib import contextmanager

from prowess._internal.text import neutral, quoted
from prowess.errors import ProwessError, SkillError, SkillFileError

from ._resources import file_text, split_path
from ._trust import trusted_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog, Entry, FilesProvider

    from ._resources import FileText


def files_provider(catalog: Catalog, entry: Entry) -> FilesProvider | None:
    """Return the provider that has the files of a skill; `None` if they are on this machine, or it has no files."""
    provider = catalog.readers.get(entry.path)
    return provider if hasattr(provider, "read_file") else None  # type: ignore[return-value]


def read_remote_text(provider: FilesProvider, entry: Entry, path: str, *, offset: int, limit: int | None) -> FileText:
    """Read a text file of a skill, as `read_text` does.

    Raises:
        SkillFileError: the skill has no such text file, or the provider failed.
    """
    name = "/".join(split_path(path))
    try:
        data = provider.read_file(entry, name)
    except ProwessError:
        raise
    except Exception as error:
        reason = neutral(str(error) or type(error).__name__)
        raise SkillFileError(f"{quoted(name)} cannot be read: {reason}", hint="go on without it") from error
    return file_text(data, name, offset=offset, limit=limit)


@contextmanager
def skill_folder(catalog: Catalog, entry: Entry) -> Iterator[str]:
    """Yield the folder with the files of a skill: its own, or a copy of what its provider has, removed at the end.

    Raises:
        SkillError: the skill has no folder of its own, or its files cannot be copied.
    """
    provider = files_provider(catalog, entry)
    if provider is None:
        yield trusted_folder(entry)
        return
    try:
        copy = provider.copy(entry)
        folder = copy.__enter__()
    except ProwessError:
        raise
    except Exception as error:
        reason = neutral(str(error) or type(error).__name__)
        raise SkillError(f"{quoted(entry.name)} cannot be copied: {reason}", hint="try again later") from error
    try:
        yield folder
    finally:
        copy.__exit__(None, None, None)
