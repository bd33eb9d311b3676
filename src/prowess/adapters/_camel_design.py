"""Provide the classes of CAMEL's own design of skills: issue 3711, `Chatagent support Skill`, phase 1.

They find skills by the rules of the host `camel`. CAMEL itself is imported only to build messages.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from prowess._internal.files import real_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.catalog import (
    REACHABLE,
    Entry,
    FilesystemSkillProvider as _FilesystemSkillProvider,
    SkillProvider as _SkillProvider,
    State,
)
from prowess.errors import ActivationError, ProwessError, SkillNotFoundError
from prowess.findings import Severity
from prowess.session import escape_tags, find_mentions
from prowess.skill import Requirements, Skill, load

from ._extras import missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prowess.catalog import Catalog
    from prowess.hosts import Host

__all__ = [
    "FilesystemSkillProvider",
    "SkillDocument",
    "SkillError",
    "SkillLoadOutcome",
    "SkillLoader",
    "SkillManager",
    "SkillMetadata",
    "SkillProvider",
    "SkillWarning",
    "import_camel",
]


class SkillWarning(UserWarning):
    """A skill that a message names cannot be read; the turn continues without it."""


# ── the data model ────────────────────────────────────────────────────────────────────────────────────────────────────


class SkillMetadata(Frozen, kw_only=False, not_compared=("path", "scope")):
    """A skill without its body."""

    name: str
    description: str
    short_description: str | None = None
    """`metadata.short-description` of the front matter."""
    path: str = ""
    """The path of its SKILL.md, empty if it has no file."""
    scope: str = "external"
    """`repo`, `user`, `system` or `external`."""


class SkillDocument(Frozen, kw_only=False):
    """A skill with its body."""

    meta: SkillMetadata
    body: str
    """Without the front matter."""


class SkillError(Frozen, kw_only=False):
    """The reason why a skill is not listed: a value, never raised."""

    source: str
    """The path of its SKILL.md."""
    message: str


class SkillLoadOutcome(Frozen, kw_only=False):
    """The skills and errors that were found from a directory."""

    skills: tuple[SkillMetadata, ...] = ()
    """Highest precedence first: repo, user, system, external."""
    errors: tuple[SkillError, ...] = ()
    """Errors of skipped skills, except system skills, which the user cannot fix."""


_CAMEL_SCOPES = {"project": "repo", "extra": "external"}


class SkillLoader:
    """Finds skills by the rules of the host `camel`, as they are at each call. While nothing changes, nothing is read.

    Args:
        skill_dirs: more directories, of the scope `external`, highest precedence first.
        home: the user's home directory instead of `~`.
        env: the environment; by default that of this process.
        host: the host whose rules apply.
    """

    def __init__(
        self,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        home: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        host: str | Host = "camel",
    ) -> None:
        self._files = _FilesystemSkillProvider(host, home=home, skill_dirs=skill_dirs, env=env)

    def list(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are found from a directory, without their bodies."""
        catalog = self._files.catalog(cwd)
        listed = [entry for entry in catalog.skills if entry.state in REACHABLE]
        return SkillLoadOutcome(skills=tuple(map(_to_metadata, listed)), errors=tuple(_catalog_errors(catalog)))

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Read the disk at the next `list`, even if nothing seems to have changed."""
        self._files.refresh(os.fspath(cwd))

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read the file of a skill.

        Raises:
            SkillNotFoundError: the skill has no file.
            ActivationError: the file is missing, unreadable, or not a valid skill.
        """
        if not meta.path:
            raise SkillNotFoundError(f"the skill {quoted(meta.name)} has no file", hint="list the skills again")
        skill = load(meta.path)
        problem = next((item.message for item in skill.findings if item.severity is Severity.ERROR), None)
        if skill.document is None or problem is not None:
            raise ActivationError(f"the skill {quoted(meta.name)} cannot be read now: {neutral(problem or meta.path)}")
        return SkillDocument(meta=meta, body=skill.body)


def _to_metadata(entry: Entry) -> SkillMetadata:
    return SkillMetadata(
        name=entry.name,
        description=entry.description,
        short_description=entry.skill.short_description,
        path=entry.path,
        scope=_CAMEL_SCOPES.get(entry.scope, entry.scope),
    )


def _catalog_errors(catalog: Catalog) -> Iterator[SkillError]:
    for entry in catalog.skills:
        if entry.state is State.REJECTED and entry.scope not in catalog.host.suppressed_scopes:
            yield SkillError(source=entry.path, message=entry.reason or entry.rule)
    for item in catalog.findings:
        if item.severity is not Severity.INFO:
            yield SkillError(source=item.path or catalog.cwd, message=item.message)


# ── providers and the manager ────────────────────────────────────────────────────────────────────────────────────────


SkillProvider = _SkillProvider[SkillMetadata, SkillDocument]
"""`prowess.SkillProvider` with the skill classes of this module."""


class FilesystemSkillProvider:
    """Provides the skills on this machine, as they are at each call.

    Args:
        skill_dirs: more directories, highest precedence first.
        loader: used instead of a loader for `skill_dirs`.
    """

    def __init__(self, skill_dirs: Iterable[str | os.PathLike[str]] = (), *, loader: SkillLoader | None = None) -> None:
        self._loader = SkillLoader(skill_dirs) if loader is None else loader

    def outcome(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are found from a directory, and the errors of skipped ones."""
        return self._loader.list(real_path(cwd))

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are found from a directory."""
        return [*self.outcome(cwd).skills]

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read the file of a skill.

        Raises:
            SkillNotFoundError: the skill has no file.
            ActivationError: the file is missing, unreadable, or not a valid skill.
        """
        return self._loader.read(meta)

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Read the disk at the next `list`, even if nothing seems to have changed."""
        self._loader.refresh(real_path(cwd))


class SkillManager:
    """Combines the skills of several providers, each asked at each call.

    Args:
        providers: highest precedence first; the file system by default.
    """

    def __init__(self, providers: Iterable[SkillProvider] | None = None) -> None:
        self.providers = (FilesystemSkillProvider(),) if providers is None else tuple(providers)
        self._provider_by_skill: dict[tuple[str, str], SkillProvider] = {}

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are found from a directory; if several have one name, only the first."""
        key = real_path(cwd)
        skills_by_name: dict[str, SkillMetadata] = {}
        for provider in self.providers:
            for meta in provider.list(key):
                if skills_by_name.setdefault(normalize_name(meta.name), meta) is meta:
                    self._provider_by_skill[meta.name, meta.path] = provider
        return [*skills_by_name.values()]

    def errors(self, cwd: str | os.PathLike[str]) -> Sequence[SkillError]:
        """Return the errors of skipped skills."""
        providers = [provider for provider in self.providers if isinstance(provider, FilesystemSkillProvider)]
        return [error for provider in providers for error in provider.outcome(cwd).errors]

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Let each provider look again at the next `list`."""
        key = real_path(cwd)
        for provider in self.providers:
            provider.refresh(key)

    def resolve_mentions(self, user_text: str, skills: Iterable[SkillMetadata]) -> Sequence[SkillMetadata]:
        """Return the skills that a user's text names, each once, in the order of the text."""
        metas = {entry.path: meta for meta in skills for entry in (_to_entry(meta),)}
        mentions = find_mentions(user_text, map(_to_entry, metas.values()))
        paths = dict.fromkeys(mention.entry.path for mention in mentions if mention.entry is not None)
        return [metas[path] for path in paths]

    def build_messages(self, mentions: Iterable[SkillMetadata]) -> Sequence[Any]:
        """Read skills, and return each as a CAMEL user message for one turn.

        The `meta_dict` of a message is `{"skill": True}`, so an agent with a session does not store it in its memory.
        For a skill that cannot be read there is a `SkillWarning` and no message.

        Raises:
            ImportError: CAMEL is not installed.
        """
        make = import_camel().BaseMessage.make_user_message
        messages = []
        for meta in mentions:
            try:
                text = _render_document(self._read(meta))
            except ProwessError as error:
                warnings.warn(str(error), SkillWarning, stacklevel=2)
                continue
            messages.append(make(role_name="User", content=text, meta_dict=dict(_SKILL_META)))
        return messages

    def _read(self, meta: SkillMetadata) -> SkillDocument:
        provider = self._provider_by_skill.get((meta.name, meta.path))
        if provider is None:
            raise SkillNotFoundError(f"unknown skill {quoted(meta.name)}", hint="call `list` first")
        try:
            return provider.read(meta)
        except ProwessError:
            raise
        except Exception as error:
            message = f"the skill {quoted(meta.name)} cannot be read now: {neutral(str(error) or type(error).__name__)}"
            raise ActivationError(message) from error


_SKILL_META = {"skill": True}


def _to_entry(meta: SkillMetadata) -> Entry:
    """Return a skill as a catalog entry, for `find_mentions`."""
    path = meta.path or f"{meta.scope}:{meta.name}"
    return Entry(
        name=meta.name,
        frontmatter_name=meta.name,
        folder=os.path.basename(os.path.dirname(meta.path)) or meta.name,
        description=meta.description,
        path=path,
        real=path,
        scope=meta.scope,
        root="",
        state=State.ACTIVE,
        rule="found",
        requirements=Requirements(),
        skill=Skill(),
    )


def _render_document(document: SkillDocument) -> str:
    """Return the text of a skill in the format of the design; its content cannot close the tags."""
    meta, body = document.meta, document.body.strip("\n")
    name, path = (escape_tags(neutral(text), "skill", "name", "path") for text in (meta.name, meta.path))
    return f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{escape_tags(body, 'skill')}\n</skill>"


def import_camel() -> Any:
    """Return the classes of CAMEL that this adapter uses.

    Raises:
        ImportError: CAMEL is not installed.
    """
    from types import SimpleNamespace

    try:
        from camel.messages import BaseMessage
        from camel.toolkits import FunctionTool
    except ImportError as error:
        raise ImportError(missing_extra("camel-ai", "camel")) from error
    return SimpleNamespace(BaseMessage=BaseMessage, FunctionTool=FunctionTool)
