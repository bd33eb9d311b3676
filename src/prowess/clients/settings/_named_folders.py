"""Find the directories of skills that settings and arguments of a client name."""

from __future__ import annotations

import os

from prowess._internal.files import expand_home
from prowess._internal.frozen import Frozen

from ._settings_values import texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.filesystem import Filesystem, Question
    from prowess.hosts import Root


class NamedFolder(Frozen, kw_only=False):
    """A directory of skills that a settings file or an argument names."""

    folder: str
    """As it is written there."""
    file: str
    """The settings file; empty for an argument."""


def listed_folders(value: object) -> list[str]:
    """Return what the value of a setting names as directories."""
    return texts_of(value)


def named_directory(
    root: Root,
    named: NamedFolder,
    question: Question,
    project: str,
    filesystem: Filesystem,
) -> str | None:
    """Return the directory that a setting or an argument names; `None` if the client ignores it.

    Args:
        root: for which it is named.
        named: what is written.
        question: where the client is started.
        project: the git root, or the working directory without one.
        filesystem: what was read so far.
    """
    written = named.folder.strip() if root.strips else named.folder
    return join_named(root, expand_home(written, question.home), question, project) if written else None


def join_named(root: Root, directory: str, question: Question, project: str) -> str:
    """Return a directory that may be relative to what `relative_to` of its root says."""
    return os.path.join(project if root.relative_to == "project" else question.cwd, directory)
