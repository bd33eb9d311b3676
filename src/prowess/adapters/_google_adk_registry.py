"""Give the skills of a catalog to ADK's own toolset for skills, as a registry.

ADK runs the scripts of a skill itself and trusts every skill. So a skill that the user does not trust comes without its
scripts and without the metadata with which it would choose tools and read the state of the conversation.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from google.adk.skills import Frontmatter, Resources, Script, Skill, SkillRegistry

from prowess._internal.files import read_up_to, skill_files
from prowess._internal.fs import open_inside
from prowess._internal.special_tokens import escape_special_tokens
from prowess._internal.text import neutral
from prowess.errors import SkillError
from prowess.session import Session, escape_tags, resource_folder
from prowess.skill import load

from ._catalog_argument import catalog_argument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prowess.catalog import Catalog, Entry, LiveCatalog

__all__ = ["CatalogSkillRegistry"]

_MAX_BYTES = 16 * 1024 * 1024
"""Of all files of a skill, as in ADK; those after it are left out."""
_MAX_DESCRIPTION = 1024


class CatalogSkillRegistry(SkillRegistry):  # type: ignore[misc]
    """The skills of a catalog for ADK's toolset: `SkillToolset([], registry=CatalogSkillRegistry("."))`.

    Args:
        skills: a directory, whose skills are given as they are then, or a catalog.
        scripts: whether a skill that the user trusts comes with its scripts, which ADK's code executor runs.
        options: as for a `Session`.

    Raises:
        ConfigError: neither a directory nor a catalog, or an invalid option.
    """

    def __init__(
        self,
        skills: str | os.PathLike[str] | Catalog | LiveCatalog = ".",
        *,
        scripts: bool = False,
        **options: Any,
    ) -> None:
        self.catalog = catalog_argument(skills)
        """The skills to choose from."""
        self._skills, self._scripts, self._options = skills, scripts, options
        Session(self.catalog, **options)  # an invalid option is an error now, not in the first call

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an agent be pickled, as for a deployment: the skills are then those of the new process."""
        return partial(type(self), self._skills, scripts=self._scripts, **self._options), ()

    async def get_skill(self, *, name: str) -> Skill:
        """Return a skill that a model may activate.

        Raises:
            SkillError: no skill has this name, or it cannot be read; the message names similar ones.
        """
        return await asyncio.to_thread(self._get_skill, name)

    async def search_skills(self, *, query: str) -> list[Frontmatter]:
        """Find skills by name, description and body, best first."""

        def search() -> list[Frontmatter]:
            hits = Session(self.catalog, **self._options).search(query)
            return [_frontmatter(hit.entry, {}) for hit in hits]

        return await asyncio.to_thread(search)

    def _get_skill(self, name: str) -> Skill:
        session = Session(self.catalog, **self._options)
        content = session.activate(name).content
        (path,) = (record.path for record in session.ledger)
        entry = next(entry for entry in session.catalog.skills if entry.path == path)
        if self._scripts:
            try:
                # What runs is what is trusted: all is read from a sealed copy.
                with session.trust.sealed_copy(entry) as copy:
                    metadata = load(os.path.join(copy.folder, os.path.basename(entry.path))).metadata
                    resources = _read_resources(copy.folder, trusted=True)
                    return Skill(frontmatter=_frontmatter(entry, metadata), instructions=content, resources=resources)
            except SkillError as error:
                content += escape_tags(f"\n\nIts scripts are not available: {error}")
        resources = _read_resources(resource_folder(entry), trusted=False)
        return Skill(frontmatter=_frontmatter(entry, {}), instructions=content, resources=resources)


def _frontmatter(entry: Entry, metadata: Mapping[str, Any]) -> Frontmatter:
    """Return what ADK shows of a skill; a host may accept names that ADK does not, so ADK does not check them."""
    tools, granted = metadata.get("adk_additional_tools"), dict[str, Any]()
    if isinstance(tools, list | tuple) and all(isinstance(tool, str) for tool in tools):
        granted["adk_additional_tools"] = list(tools)
    if metadata.get("adk_inject_state") in (True, "true"):
        granted["adk_inject_state"] = True
    description = neutral(entry.description)[:_MAX_DESCRIPTION]
    return Frontmatter.model_construct(name=neutral(entry.name), description=description, metadata=granted)


def _read_resources(folder: str | None, *, trusted: bool) -> Resources:
    """Read the files that ADK knows: in `references`, `assets` and, of a trusted skill, `scripts`."""
    kinds: dict[str, dict[str, Any]] = {"references": {}, "assets": {}, "scripts": {}}
    room = _MAX_BYTES
    for path, size in skill_files(folder) if folder is not None else ():
        kind, _, name = path.partition("/")
        if kind not in kinds or not name or size > room or (kind == "scripts" and not trusted):
            continue
        try:
            fd = open_inside(folder or "", path.split("/"))
        except (OSError, ValueError):  # it has changed meanwhile
            continue
        try:
            data = read_up_to(fd, room)
        finally:
            os.close(fd)
        if len(data) > room:  # it has grown meanwhile
            continue
        room -= len(data)
        try:
            text = data.decode()
        except ValueError:
            if kind != "scripts":
                kinds[kind][name] = data
            continue
        kinds[kind][name] = Script(src=text) if kind == "scripts" else text if trusted else escape_special_tokens(text)
    return Resources(**kinds)
