"""Check that a skill is hidden from the models of all agents, if its author hides it.

An agent may ignore the field of SKILL.md and read a file beside it instead: Codex reads `agents/openai.yaml`. Which
file sets what is data: a flag with `file` in a host's table.
"""

from __future__ import annotations

import os

from prowess._internal.text import quoted
from prowess.findings import finding
from prowess.hosts import TABLES, Flag, load_host
from prowess.skill import FALSE_WORDS

from ._entry import State
from ._sidecar_values import sidecar_matches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prowess.findings import Finding
    from prowess.skill import Skill

    from ._filesystem import Filesystem

__all__ = ["check_sidecars"]

_HIDING_FIELD = "disable-model-invocation"


def check_sidecars(skill: Skill, filesystem: Filesystem, hosts: Iterable[str] | None = None) -> Iterator[Finding]:
    """Yield a finding for each agent whose model sees a skill that its author hides.

    Args:
        skill: the skill.
        filesystem: reads the files beside it.
        hosts: the agents; all by default.
    """
    field = skill.fields.get(_HIDING_FIELD)
    # An invalid value counts too: who corrects it must not get the next finding.
    if field is None or skill.path is None or str(field.value).strip().lower() in {"", *FALSE_WORDS}:
        return
    for name in TABLES if hosts is None else hosts:
        host = load_host(name)
        hides_by_field = any(_HIDING_FIELD in flag.when and flag.state == State.USER_ONLY for flag in host.flags)
        sidecars = [flag for flag in host.flags if flag.file and flag.state == State.USER_ONLY]
        if sidecars and not hides_by_field and not any(sidecar_matches(filesystem, skill.path, s) for s in sidecars):
            yield finding(
                "field-ignored",
                f"{host.title} ignores {quoted(_HIDING_FIELD)}, so its model sees this skill",
                path=skill.path,
                line=field.line,
                column=field.column,
                hint=_hint(sidecars[0], filesystem, os.path.dirname(skill.path)),
            )


def _hint(flag: Flag, filesystem: Filesystem, folder: str) -> str:
    """Say what to write into the file: a line to paste, unless one of its keys is there already."""
    ((key, value),) = flag.when.items()
    top, *rest = key.split(".")
    if top in filesystem.yaml(os.path.join(folder, *flag.file.split("/"))):
        return f"set `{key}` to `{value}` in `{flag.file}` beside SKILL.md"
    text = value
    for part in reversed(rest):
        text = f"{{{part}: {text}}}"
    return f"write `{top}: {text}` into `{flag.file}` beside SKILL.md"
