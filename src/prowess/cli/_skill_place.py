"""Choose the folder of a project for a new skill, and say which agents see the skill there.

The folder is the one that most agents in use search. Who sees the skill is never assumed: the agents' rules are asked
after it is written.
"""

from __future__ import annotations

import os
import shlex

from prowess._internal.files import real_path
from prowess._internal.text import neutral
from prowess.catalog import AWAITS_TRUST, REACHABLE, compare, find_scan_roots, git_root, mount_argument, mount_command
from prowess.errors import ConfigError
from prowess.hosts import detected_hosts, load_host, observed_hosts

from ._output import join_words, print_stderr
from ._scaffold import DEFAULT_FOLDER, project_folder, skills_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from prowess.catalog import View

__all__ = ["SkillPlace", "print_who_sees", "views_of"]


class SkillPlace:
    """Where a new skill goes, and for which agents."""

    def __init__(self, args: Namespace) -> None:
        """Find the agents: the named ones, or those in use.

        Raises:
            HostNotFoundError: a host is unknown.
        """
        self.home = os.path.abspath(args.home or os.path.expanduser("~"))
        self.args = args
        self.cwd = real_path(args.cwd or ".")
        self.project = git_root(self.cwd) or self.cwd
        self.named = tuple(dict.fromkeys(load_host(name).name for name in args.host or ()))
        self.in_use = detected_hosts(self.cwd, self.home, [self.project])

    @property
    def hosts(self) -> tuple[str, ...]:
        """The agents for which it is said whether they see the skill: where none is in use, the observed ones."""
        return self.named or self.in_use or observed_hosts()

    def folder(self, command: str, name: str) -> tuple[str, str]:
        """Return the folder of skills, and the folder that no link on the way to it may leave.

        Args:
            command: the command, for a hint.
            name: the name of the skill.

        Raises:
            ConfigError: a named agent has no folder in a project, or no folder serves all of the named ones.
        """
        if len(self.named) == 1:
            only = load_host(self.named[0])
            return skills_folder(self.cwd, only), project_folder(self.cwd, only)
        for host in self.named:
            skills_folder(self.cwd, load_host(host))
        hosts = self.named or self.in_use
        searched = {host: set(self._searched_by(host)) for host in hosts}
        folder = self._most_searched(searched)
        missing = [host for host in self.named if real_path(folder) not in searched[host]]
        if missing:
            served = [host for host in self.named if host not in missing]
            raise ConfigError(
                f"no folder is searched by all of {', '.join(self.named)}",
                hint=neutral(
                    ", then ".join(f"`{each}`" for each in self._separate_commands(command, name, folder, served))
                ),
            )
        return folder, self.project

    def _separate_commands(self, command: str, name: str, folder: str, served: Sequence[str]) -> Iterator[str]:
        """Yield the commands that reach all named agents: one creates the skill, the others copy it."""
        served = served or self.named[:1]
        if len(served) == 1:
            folder = skills_folder(self.cwd, load_host(served[0]))
        where = [f"--cwd {shlex.quote(self.args.cwd)}"] if self.args.cwd else []
        yield " ".join([command, *(f"--host {host}" for host in served), *where])
        for host in self.named:
            if host not in served:
                skill = os.path.join(folder, name)
                yield mount_command([mount_argument(skill, self.cwd)], host, cwd=self.cwd, home=self.home, user=False)

    def _searched_by(self, host: str) -> Iterator[str]:
        """Yield the real paths of the project's folders that an agent searches from the working directory."""
        for path in self._roots(host):
            yield real_path(path)

    def _roots(self, host: str) -> Iterator[str]:
        roots = find_scan_roots(
            load_host(host), self.cwd, self.home, env=os.environ, home_variables={} if self.args.home else None
        )
        for root in roots:
            if root.scope == "project" and root.nested is None and root.project_folder in (self.cwd, self.project):
                yield root.path

    def _most_searched(self, searched: dict[str, set[str]]) -> str:
        """Return the folder that most agents search; of several the shared one, and the one at the project's top."""
        default = os.path.join(self.project, DEFAULT_FOLDER)
        candidates = [default, os.path.join(self.cwd, DEFAULT_FOLDER)]
        candidates += [path for host in searched for path in self._roots(host)]
        candidates = list(dict.fromkeys(candidates))

        def rank(path: str) -> tuple[int, bool, bool]:
            real = real_path(path)
            count = sum(real in paths for paths in searched.values())
            is_shared = path.endswith(os.sep + DEFAULT_FOLDER)
            is_at_top = path.startswith(self.project + os.sep) and not path.startswith(self.cwd + os.sep)
            return -count, not is_shared, not (is_at_top or self.cwd == self.project)

        return min(candidates, key=rank)


def views_of(place: SkillPlace, args: Namespace, path: str) -> dict[str, View]:
    """Return how each agent sees a skill that was written."""
    compared = compare(place.cwd, hosts=place.hosts, home=args.home, files=[path], only_files=True)
    (skill,) = compared.skills
    return dict(skill.views)


def print_who_sees(place: SkillPlace, views: dict[str, View], *, searched: bool = True) -> None:
    """Print one line that says which agents see the skill, and a hint for each agent in use that does not.

    Args:
        place: where the skill is.
        views: from `views_of`.
        searched: whether the folder was chosen for the agents; otherwise no command is suggested to reach them.
    """
    seeing = [host for host, view in views.items() if view.state in REACHABLE or view.rule == AWAITS_TRUST]
    others = [host for host in views if host not in seeing]
    before = "" if place.named or place.in_use else "no agent found on this machine; of those that were observed, "
    print_stderr(before + _sentence(seeing, others))
    if before or not searched:
        return
    for host in others:
        loss = views[host].loss
        if loss is not None:
            cure = f"run `{loss.cure}`" if loss.is_command else loss.cure
            print_stderr(f"\nhint: {neutral(loss.reason)}; {neutral(cure)}")


def _sentence(seeing: Sequence[str], others: Sequence[str]) -> str:
    """Return which agents see a skill and which do not."""
    if not seeing:
        return f"it is not seen by {join_words(others, 'or')}"
    return f"it is seen by {join_words(seeing)}" + (f", not by {join_words(others, 'or')}" if others else "")
