"""Group losses that have the same cause, so that one command fixes all of them."""

from __future__ import annotations

import os

from prowess._internal.frozen import Frozen
from prowess.hosts import skills_folder
from prowess.skill import is_portable_name

from ._installed import add_command, install_command
from ._losses import INSTALL
from ._mount_cures import fix_command, mount_argument, mount_command, mount_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._compare import ComparedSkill, Comparison
    from ._installed import Scope
    from ._losses import Loss

_MAX_NAMED = 8
"""Skills that a command names one by one; for more it names their folder, if it can."""


class Cure(Frozen):
    """What to do about some losses."""

    text: str
    """A command or a sentence."""
    is_command: bool
    hosts: tuple[str, ...]
    """The agents that it helps."""


class LossGroup(Frozen):
    """Losses that have the same cause."""

    kind: str
    """As in `Loss`."""
    folders: tuple[str, ...]
    """The folders that contain the folders of the skills: several for a source that a lock installed from."""
    skills: tuple[ComparedSkill, ...]
    hosts: tuple[str, ...]
    reason: str
    cures: tuple[Cure, ...]


def group_losses(comparison: Comparison, *, text: bool = True) -> tuple[LossGroup, ...]:
    """Return the losses of a comparison: those of place by folder, those of text by finding, others by skill.

    Args:
        comparison: of the agents.
        text: whether to return losses by text and field too; `check` shows them with its findings.
    """
    groups: dict[tuple[str, ...], list[tuple[ComparedSkill, list[str]]]] = {}
    for skill in comparison.distinct:
        by_cause: dict[tuple[str, ...], list[str]] = {}
        for host in skill.losers:
            by_cause.setdefault(_cause(skill, host), []).append(host)
        for cause, hosts in by_cause.items():
            if text or cause[0] not in ("text", "field"):
                groups.setdefault((*cause, *hosts), []).append((skill, hosts))
    result = [_group(comparison, key[0], [skill for skill, _ in found], found[0][1]) for key, found in groups.items()]
    return tuple(sorted(result, key=lambda group: (_KINDS.index(group.kind), -len(group.skills), group.folders)))


_KINDS = ("text", "field", "copy", "file-name", "limit", "place", "name", "trust", "setting")


def _cause(skill: ComparedSkill, host: str) -> tuple[str, ...]:
    """Return what skills must share to be in one group."""
    loss = skill.views[host].loss
    if loss is None:
        return ()
    folder = os.path.dirname(os.path.dirname(skill.path))
    if loss.kind == "place":
        # What has to be done by hand is about one skill.
        by_hand = (skill.path, loss.steps) if loss.steps else ()
        return ("place", "" if loss.add_from else folder, skill.scope, loss.add_from, *by_hand)
    if loss.kind in ("text", "file-name") and loss.is_command and not loss.add_from:
        return (loss.kind, *loss.codes)
    if loss.kind == "trust":
        return ("trust", host)
    if loss.kind == "limit":
        return ("limit", loss.reason)
    return (loss.kind, skill.path, loss.cure)


def _group(comparison: Comparison, kind: str, skills: list[ComparedSkill], hosts: list[str]) -> LossGroup:
    first = skills[0].views[hosts[0]].loss
    reason, cure = (first.reason, first.cure) if first is not None else ("", "")
    is_command = first is not None and first.is_command
    folders = tuple(dict.fromkeys(os.path.dirname(os.path.dirname(skill.path)) for skill in skills))
    cures: tuple[Cure, ...] = (Cure(text=cure, is_command=is_command, hosts=tuple(hosts)),)
    if kind == "place":
        cures = tuple(_place_cures(comparison, skills, hosts))
    elif kind in ("text", "file-name") and len(skills) > 1 and first is not None and is_command and not first.add_from:
        losses = (skill.views[hosts[0]].loss for skill in skills)
        files = dict.fromkeys(file for loss in losses if loss is not None for file in loss.files_to_fix)
        command = fix_command(files, comparison.cwd)
        cures = (Cure(text=command, is_command=True, hosts=tuple(hosts)),)
    return LossGroup(kind=kind, folders=folders, skills=tuple(skills), hosts=tuple(hosts), reason=reason, cures=cures)


def _place_cures(comparison: Comparison, skills: list[ComparedSkill], hosts: list[str]) -> Iterable[Cure]:
    """Yield a command for each folder to mount into; it helps all agents that search that folder."""
    if any(loss.add_from for host in hosts if (loss := skills[0].views[host].loss) is not None):
        yield from _add_cures(comparison, skills, hosts)
        return
    user = skills[0].scope == "user"
    by_target: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        if comparison.catalogs[host].host.roots:
            target = mount_folder(host, cwd=comparison.cwd, home=comparison.home, user=user)
            by_target.setdefault(target, []).append(host)
    for helped in by_target.values():
        loss = skills[0].views[helped[0]].loss
        command = _mount_all(comparison, skills, helped, user=user)
        steps = loss.steps if loss is not None else ""
        text = f"{steps}; then `{command}`" if steps else command
        yield Cure(text=text, is_command=not steps, hosts=tuple(helped))


def _add_cures(comparison: Comparison, skills: list[ComparedSkill], hosts: list[str]) -> Iterable[Cure]:
    """Yield a command that installs skills of a lock for all agents, or one for each option that some of them need."""
    by_options: dict[tuple[str, str], list[str]] = {}
    for host in hosts:
        if (loss := skills[0].views[host].loss) is not None:
            by_options.setdefault((loss.options, loss.steps), []).append(host)
    for (options, steps), helped in by_options.items():
        scope: Scope = "user" if " --global" in options else "project"
        folders = {skills_folder(host, scope): host for host in reversed(helped)}
        losses = [loss for skill in skills for host in helped if (loss := skill.views[host].loss) is not None]
        to_fix = dict.fromkeys(file for loss in losses for file in loss.files_to_fix)
        names = dict.fromkeys(loss.argument for loss in losses)
        chosen = [host for host in helped if host in folders.values()]
        if losses[0].add_from == INSTALL:
            command = install_command(names, cwd=comparison.cwd, options=options)
        else:
            command = add_command(losses[0].add_from, names, chosen, cwd=comparison.cwd, options=options)
        command = f"{fix_command(to_fix, comparison.cwd)} && {command}" if to_fix else command
        text = f"{steps}; then `{command}`" if steps else command
        yield Cure(text=text, is_command=not steps, hosts=tuple(helped))


def _mount_all(comparison: Comparison, skills: list[ComparedSkill], hosts: list[str], *, user: bool) -> str:
    """Return the command that mounts skills for agents with one folder, after a fix of those that one cannot load."""
    losses = [(skill, [loss for host in hosts if (loss := skill.views[host].loss) is not None]) for skill in skills]
    to_fix = dict.fromkeys(file for _, found in losses for loss in found for file in loss.files_to_fix)
    command = mount_command(
        _arguments(comparison, skills, [_argument(comparison, skill, found) for skill, found in losses]),
        hosts[0],
        cwd=comparison.cwd,
        home=comparison.home,
        user=user,
        refusal=next((loss.refusal for _, found in losses for loss in found if loss.refusal), ""),
    )
    return f"{fix_command(to_fix, comparison.cwd)} && {command}" if to_fix else command


def _argument(comparison: Comparison, skill: ComparedSkill, losses: list[Loss]) -> str:
    return losses[0].argument or mount_argument(os.path.dirname(skill.path), comparison.cwd)


def _arguments(comparison: Comparison, skills: list[ComparedSkill], arguments: list[str]) -> list[str]:
    """Return the arguments of `mount`: the skills, or the folder that contains them and nothing else, if shorter."""
    folder = os.path.dirname(os.path.dirname(skills[0].path))
    if len(skills) <= _MAX_NAMED or folder == comparison.cwd or not comparison.is_complete:
        return arguments
    below = sum(skill.path.startswith(folder + os.sep) for skill in comparison.skills)
    is_whole = below == len(skills) and all(
        is_portable_name(skill.folder) and skill.name == skill.folder for skill in skills
    )
    return [mount_argument(folder, comparison.cwd)] if is_whole else arguments
