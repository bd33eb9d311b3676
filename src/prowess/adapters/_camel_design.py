"""The names of CAMEL's own design of skills: issue 3711, `Chatagent support Skill`, phase 1

They find skills as the host `camel` does, and need no CAMEL until they build messages.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, normalize_name, quoted
from prowess.adapters import missing_extra
from prowess.catalog import Entry, State, discover
from prowess.catalog import SkillProvider as _SkillProvider
from prowess.errors import ActivationError, ProwessError, SkillNotFoundError
from prowess.findings import Severity
from prowess.session import escape_tags, find_mentions
from prowess.skill import Requirements, Skill, load

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
    """A skill that was named could not be read; the turn goes on without it."""


# ── the data model ────────────────────────────────────────────────────────────────────────────────────────────────────


class SkillMetadata(Frozen, kw_only=False, not_compared=("path", "scope")):
    """What is known of a skill before its body is read."""

    name: str
    description: str
    short_description: str | None = None
    """Its `metadata.short-description`."""
    path: str = ""
    """Of its SKILL.md; empty where it has none."""
    scope: str = "external"
    """`repo`, `user`, `system` or `external`."""


class SkillDocument(Frozen, kw_only=False):
    """A skill with its body."""

    meta: SkillMetadata
    body: str
    """Without the front matter."""


class SkillError(Frozen, kw_only=False):
    """A skill that is not listed, and why: a value, it is never raised."""

    source: str
    """The path of its SKILL.md."""
    message: str


class SkillLoadOutcome(Frozen, kw_only=False):
    """What was found from a directory."""

    skills: tuple[SkillMetadata, ...] = ()
    """Highest precedence first: repo, user, system, external."""
    errors: tuple[SkillError, ...] = ()
    """Of the skills that were skipped, but for those of the system, which its user could not mend."""


_CAMEL_SCOPES = {"project": "repo", "extra": "external"}
_LISTED_STATES = (State.ACTIVE, State.USER_ONLY, State.DEFERRED)


class SkillLoader:
    """Finds skills as the host `camel` does; each call looks at the disk.

    Args:
        skill_dirs: further directories, the scope `external`, highest precedence first.
        home: the user's home instead of `~`.
        env: the environment; the process's by default.
        host: whose rules find the skills.
    """

    def __init__(
        self,
        skill_dirs: Iterable[str | os.PathLike[str]] = (),
        *,
        home: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        host: str | Host = "camel",
    ) -> None:
        self._skill_dirs, self._home, self._env, self._host = tuple(skill_dirs), home, env, host

    def list(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are seen from a directory, without their bodies."""
        catalog = discover(cwd, host=self._host, home=self._home, skill_dirs=self._skill_dirs, env=self._env)
        known = [entry for entry in catalog.skills if entry.state in _LISTED_STATES]
        return SkillLoadOutcome(skills=tuple(map(_to_metadata, known)), errors=tuple(_catalog_errors(catalog)))

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read a skill's file now.

        Raises:
            SkillNotFoundError: it has no file.
            ActivationError: the file is gone, cannot be read, or is none that can be loaded.
        """
        if not meta.path:
            raise SkillNotFoundError(f"the skill {quoted(meta.name)} has no file", hint="list the skills again")
        skill = load(meta.path)
        wrong = next((item.message for item in skill.findings if item.severity is Severity.ERROR), None)
        if skill.document is None or wrong is not None:
            raise ActivationError(f"the skill {quoted(meta.name)} cannot be read now: {neutral(wrong or meta.path)}")
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


# ── providers and their manager ───────────────────────────────────────────────────────────────────────────────────────


SkillProvider = _SkillProvider[SkillMetadata, SkillDocument]
"""`prowess.SkillProvider`, of CAMEL's own kinds of skills."""


class FilesystemSkillProvider:
    """The skills on this machine, looked for once for each directory until `refresh`.

    Args:
        skill_dirs: further directories, highest precedence first.
        loader: what finds and reads them, instead of one for `skill_dirs`.
    """

    def __init__(self, skill_dirs: Iterable[str | os.PathLike[str]] = (), *, loader: SkillLoader | None = None) -> None:
        self._loader = SkillLoader(skill_dirs) if loader is None else loader
        self._outcomes: dict[str, SkillLoadOutcome] = {}

    def outcome(self, cwd: str | os.PathLike[str]) -> SkillLoadOutcome:
        """Return the skills that are seen from a directory, and what is wrong with those that were skipped."""
        key = os.path.realpath(cwd)
        if key not in self._outcomes:
            self._outcomes[key] = self._loader.list(key)
        return self._outcomes[key]

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are seen from a directory."""
        return [*self.outcome(cwd).skills]

    def read(self, meta: SkillMetadata) -> SkillDocument:
        """Read a skill's file now.

        Raises:
            SkillNotFoundError: it has no file.
            ActivationError: the file is gone, cannot be read, or is none that can be loaded.
        """
        return self._loader.read(meta)

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Look again at the next `list`."""
        self._outcomes.pop(os.path.realpath(cwd), None)


class SkillManager:
    """The skills of several providers, listed once for each directory until `refresh`.

    Args:
        providers: highest precedence first; the file system by default.
    """

    def __init__(self, providers: Iterable[SkillProvider] | None = None) -> None:
        self.providers = (FilesystemSkillProvider(),) if providers is None else tuple(providers)
        self._skills: dict[str, dict[str, SkillMetadata]] = {}
        self._provider_by_skill: dict[tuple[str, str], SkillProvider] = {}

    def list(self, cwd: str | os.PathLike[str]) -> Sequence[SkillMetadata]:
        """Return the skills that are seen from a directory; of several with one name the first."""
        key = os.path.realpath(cwd)
        if key not in self._skills:
            found: dict[str, SkillMetadata] = {}
            for provider in self.providers:
                for meta in provider.list(key):
                    if found.setdefault(normalize_name(meta.name), meta) is meta:
                        self._provider_by_skill[meta.name, meta.path] = provider
            self._skills[key] = found
        return [*self._skills[key].values()]

    def errors(self, cwd: str | os.PathLike[str]) -> Sequence[SkillError]:
        """Return what is wrong with the skills that were skipped."""
        known = [provider for provider in self.providers if isinstance(provider, FilesystemSkillProvider)]
        return [error for provider in known for error in provider.outcome(cwd).errors]

    def refresh(self, cwd: str | os.PathLike[str]) -> None:
        """Look again at the next `list`."""
        key = os.path.realpath(cwd)
        self._skills.pop(key, None)
        for provider in self.providers:
            provider.refresh(key)

    def resolve_mentions(self, user_text: str, skills: Iterable[SkillMetadata]) -> Sequence[SkillMetadata]:
        """Return the skills a user's text names, each once, in the order of the text."""
        metas = {entry.path: meta for meta in skills for entry in (_to_entry(meta),)}
        found = find_mentions(user_text, map(_to_entry, metas.values()))
        named = dict.fromkeys(item.entry.path for item in found if item.entry is not None)
        return [metas[path] for path in named]

    def build_messages(self, mentions: Iterable[SkillMetadata]) -> Sequence[Any]:
        """Read skills, and return each as a CAMEL user message that belongs to one turn.

        The message's `meta_dict` is `{"skill": True}`, by which an agent with a session keeps it out of its memory. A
        skill that cannot be read is a `SkillWarning` and is left out.

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
        home = self._provider_by_skill.get((meta.name, meta.path))
        if home is None:
            raise SkillNotFoundError(f"no skill is listed as {quoted(meta.name)}", hint="list the skills first")
        try:
            return home.read(meta)
        except ProwessError:
            raise
        except Exception as error:
            words = f"the skill {quoted(meta.name)} cannot be read now: {neutral(str(error) or type(error).__name__)}"
            raise ActivationError(words) from error


_SKILL_META = {"skill": True}


def _to_entry(meta: SkillMetadata) -> Entry:
    """Return a skill in the shape in which mentions are looked for."""
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
    """Write a skill as the design does; nothing in it can close the wrapper."""
    meta, body = document.meta, document.body.strip("\n")
    name, path = (escape_tags(neutral(text), "skill", "name", "path") for text in (meta.name, meta.path))
    return f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{escape_tags(body, 'skill')}\n</skill>"


def import_camel() -> Any:
    """Return what is needed of CAMEL.

    Raises:
        ImportError: it is not installed.
    """
    from types import SimpleNamespace

    try:
        from camel.messages import BaseMessage
        from camel.toolkits import FunctionTool
    except ImportError as error:
        raise ImportError(missing_extra("camel-ai", "camel")) from error
    return SimpleNamespace(BaseMessage=BaseMessage, FunctionTool=FunctionTool)
