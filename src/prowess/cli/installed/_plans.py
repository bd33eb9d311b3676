"""Share what the commands that install, update and remove skills have in common."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import contextmanager

from prowess._internal.files import display_path, real_path
from prowess._internal.signals import signals_as_exception
from prowess._internal.text import neutral, quoted
from prowess.cli._output import (
    ProgressLine,
    as_dicts,
    ask,
    can_ask,
    finding_lines,
    format_size,
    format_value,
    json_fields,
    pluralize,
    print_stderr,
    to_json_value,
    wrap_for_terminal,
)
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prowess.cli._parser import Arguments, Parser
    from prowess.install import Installation, PlannedSkill, Target
    from prowess.skill import Value
    from prowess.visibility import View

FORCE_HELP = "also replace or remove skills that were changed after they were installed"
_MAX_LISTED = 20
"""The most files or scripts of a skill that are listed."""
_MAX_OF_CODE = 3
"""The most findings of one kind that a terminal shows of a skill."""
_MAX_COMPETES = 3
"""Competing skills that are named."""


def add_install_options(parser: Parser, *, yes: bool = True) -> None:
    """Add the options of every command that changes what is installed."""
    if yes:
        parser.flag("--yes", "-y", "do not ask for confirmation")
    parser.add_json()
    group = parser.group("where to install")
    group.flag("--global", "for all projects, below the home directory", dest="is_global")
    group.add_place("a folder of the project")


def add_allow_source(parser: Parser) -> None:
    """Add the option that allows sources of a lock."""
    parser.values(
        "--allow-source",
        "SOURCE",
        "use this source of the lock although it is private: a folder elsewhere, ssh, a bucket or a host of your "
        "network (repeatable, needed once)",
    )


def typed_command(name: str, args: Arguments, arguments: Sequence[str]) -> str:
    """Return a command with what the user typed, so that it can be typed again.

    Args:
        name: of the command.
        args: of the command.
        arguments: those that are not options.
    """
    options = [part for host in getattr(args, "host", ()) for part in ("--host", host)]
    options += [f"--{option}" for option in ("link", "force") if getattr(args, option, False)]
    options += [part for source in getattr(args, "allow_source", ()) for part in ("--allow-source", source)]
    words = " ".join(shlex.quote(neutral(word)) for word in (*arguments, *options))
    return f"prowess {name}{words and ' '}{words}{place_options(args)}"


def place_options(args: Arguments) -> str:
    """Return the options that say where skills are installed, each after a blank, to be typed again."""
    places = "".join(
        f" --{name} {shlex.quote(neutral(value))}" for name in ("cwd", "home") if (value := getattr(args, name))
    )
    return f"{' --global' if args.is_global else ''}{places}"


class Shown:
    """Where things are, and how their paths are shown."""

    def __init__(self, args: Arguments) -> None:
        from prowess.install import find_target

        self.cwd = os.path.abspath(args.cwd or ".")
        self.home = os.path.abspath(args.home or os.path.expanduser("~"))
        self.named: tuple[str, ...] = tuple(getattr(args, "host", ()))
        """The agents of `--host`."""
        self.options = place_options(args)
        """The options that say where, as the user typed them, each after a blank."""
        self.target: Target = find_target(self.cwd, self.home, os.environ, is_global=args.is_global)
        self.progress = ProgressLine()

    @contextmanager
    def installation(self, args: Arguments, agents: Sequence[str] = ()) -> Iterator[Installation]:
        """Yield where skills are installed, and how; SIGTERM ends the block with an exception.

        Args:
            args: of the command.
            agents: those for which it is said what they see.
        """
        from prowess.filesystem import Question
        from prowess.install import Installation, LockSources, Store

        allowed = getattr(args, "allow_source", ())
        asks = can_ask() and not args.json and not getattr(args, "yes", False)
        sources = LockSources(os.environ, self.ask_about if asks else None, allowed, self.cwd)
        with signals_as_exception(("SIGTERM",)), Store.for_user(os.environ).open() as opened:
            try:
                yield Installation(
                    target=self.target,
                    opened=opened,
                    question=Question.about(self.cwd, args.home),
                    agents=tuple(agents),
                    force=args.force,
                    progress=self.progress.show,
                    waiting=waiting,
                    sources=sources,
                )
            finally:
                self.progress.clear()

    def ask_about(self, source: str, reason: str, names: Sequence[str]) -> bool:
        """Ask whether a source that a lock names may be used, now and later."""
        self.progress.clear()
        return ask(f"the lock takes {describe_choice(names)} from {quoted(source)}: {reason}; allow it?")

    def path(self, path: str) -> str:
        """Return a path as people write it."""
        return neutral(display_path(path, real_path(self.cwd), self.home))

    def root_path(self, path: str) -> str:
        """Return a path as people write it at the top of the project."""
        return neutral(display_path(path, self.target.root, self.home))

    @staticmethod
    def argument(path: str) -> str:
        """Return a path as people type it for a shell here."""
        from prowess.visibility import mount_argument

        return mount_argument(path, real_path("."))

    def as_dict(self) -> dict[str, object]:
        """Return the project in the shape of `--json`."""
        return {"project": self.target.root, "lock": self.target.lock_file}


def waiting() -> None:
    """Say that another process has to finish first."""
    print_stderr("waiting for another process that changes the skills of this project")


def require_consent(args: Arguments, command: str, effect: str = "", *, dry_run: bool = True) -> None:
    """Refuse to go on where no user can be asked.

    Args:
        args: of the command.
        command: which does the same, without `--yes`.
        effect: what it does then, if the user may not expect that.
        dry_run: whether the command has the option `--dry-run`.

    Raises:
        ConfigError: neither a terminal nor `--yes`.
    """
    if not args.yes and (args.json or not can_ask()):
        message = "there is no terminal to ask on" if not args.json else "`--json` does not ask"
        raise ConfigError(
            f"{message}; nothing was changed",
            hint=f"`{command} --yes`{effect and f' {effect}'}{'; `--dry-run` shows what it would do' * dry_run}",
        )


def planned_lines(skill: PlannedSkill, shown: Shown, same_name: Sequence[str], *, files: bool) -> Iterator[str]:
    """Yield what would be installed of one skill."""
    yield f"{neutral(skill.name)}: {state_of(skill)}"
    if skill.description:
        yield from wrap_for_terminal(f"  {_cut(neutral(skill.description))}", "  ")
    listed = [f"{neutral(file.path)} ({format_size(file.size)})" for file in skill.tree.files] if files else []
    facts: list[tuple[str, str, Sequence[str]]] = [
        ("files", f"{pluralize(len(skill.tree.files), 'file')}, {format_size(skill.tree.size)}", listed),
        ("scripts", _scripts(skill), [*map(neutral, skill.scripts)]),
        ("allowed", _allowed(skill), []),
        ("tools", _tools(skill.tools), []),
        *([("mentions", mentions, [])] if (mentions := _mentions(skill)) else []),
        ("into", described_folders(skill.folders, skill.links, shown), []),
        ("seen by", ", ".join(skill.agents) or "no agent", []),
    ]
    lost = [(host, view) for host, view in skill.views.items() if host not in skill.agents]
    if lost:
        reasons = [f"{host}: {describe_view(view, shown)}" for host, view in lost]
        facts.append(("not by", ", ".join(host for host, _ in lost), reasons))
    facts += [("competes", f"with {item.describe()}", []) for item in skill.competes[:_MAX_COMPETES]]
    if len(skill.competes) > _MAX_COMPETES:
        facts.append(("", f"and with {len(skill.competes) - _MAX_COMPETES:,} more", []))
    facts += [("older?", reason, []) for reason in skill.older]
    facts += [("also", f"{shown.path(path)} has the same name", []) for path in same_name]
    for key, text, details in facts:
        yield from wrap_for_terminal(f"  {key:<9}{text}", " " * 11)
        for line in details[:_MAX_LISTED]:
            yield from wrap_for_terminal(f"    {line}", "      ")
        if len(details) > _MAX_LISTED:
            yield f"    and {len(details) - _MAX_LISTED:,} more"
    # A terminal shows the first few of each kind, as `check` does.
    limit = _MAX_OF_CODE if sys.stdout.isatty() else len(skill.findings)
    for code in dict.fromkeys(item.code for item in skill.findings):
        found = [item for item in skill.findings if item.code == code]
        yield from finding_lines(found[:limit], indent="  ")
        if len(found) > limit:
            yield f"  ... and {len(found) - limit:,} more [{code}]"


def described_folders(folders: Sequence[str], links: Sequence[str], shown: Shown) -> str:
    """Return where skills are: the folders with copies, then those with links to the first."""
    copies = ", ".join(shown.path(folder) for folder in folders if folder not in links)
    return f"{copies}, linked in {', '.join(map(shown.path, links))}" if links else copies


def describe_view(view: View, shown: Shown) -> str:
    """Return why the model of an agent does not see a skill, and what changes that."""
    from prowess.hosts import load_host
    from prowess.visibility import KIND_WORDS, Kind

    words, loss = KIND_WORDS[view.kind], view.loss
    if view.kind is Kind.UNTRUSTED:
        return f"{words}: trust this folder in {load_host(view.host).title} first"
    if view.kind is Kind.ELSEWHERE and shown.named:
        return f"{words}: without `--host` it is installed there too"
    why = loss.cure if loss is not None and loss.kind == "setting" else view.reason
    return f"{words}: {neutral(why)}" if why else words


def short_line(skill: PlannedSkill, same_name: Sequence[str]) -> str:
    """Return what would be installed of one of many skills."""
    facts = [state_of(skill), pluralize(len(skill.tree.files), "file"), format_size(skill.tree.size)]
    if skill.scripts:
        facts.append(pluralize(len(skill.scripts), "script"))
    if skill.allowed_tools:
        facts.append(f"allowed-tools {_cut(neutral(', '.join(skill.allowed_tools)), 60)}")
    if skill.tools is not None:
        facts.append(f"tools {_cut(_tools(skill.tools), 60)}")
    if skill.competes:
        facts.append(f"would compete with {describe_choice([item.name for item in skill.competes])}")
    facts += skill.older
    facts += dict.fromkeys(item.code for item in skill.findings if item.group == "safety")
    if skill.findings:
        facts.append(pluralize(len(skill.findings), "finding"))
    if same_name:
        facts.append("another skill has this name")
    return f"{neutral(skill.name)}: {', '.join(facts)}"


def _mentions(skill: PlannedSkill) -> str:
    """Return what a skill mentions and declares, on one line; empty if that is nothing."""
    from prowess.capabilities import Capabilities, difference, joined

    return joined(difference(Capabilities(), skill.capabilities).adds)


def _scripts(skill: PlannedSkill) -> str:
    """Return how many files may run, and how many others are in their folders."""
    code = {*skill.scripts}
    folders = {os.path.dirname(path) for path in code} - {""}
    data = [file for file in skill.tree.files if file.path not in code and os.path.dirname(file.path) in folders]
    beside = f", beside {pluralize(len(data), 'file')} of data" if data else ""
    return f"{len(skill.scripts):,}{beside}" if skill.scripts else "none"


def _allowed(skill: PlannedSkill) -> str:
    if not skill.allowed_tools:
        return "none"
    return (
        f"{_cut(neutral(', '.join(skill.allowed_tools)))}: a client may skip asking for these; Prowess grants nothing"
    )


def _tools(value: Value | None) -> str:
    """Return the names of the tools that a skill declares."""
    if value is None:
        return "none"
    names = [
        str(item.get("name") or item.get("type") or item) if isinstance(item, Mapping) else format_value(item)
        for item in (value if isinstance(value, tuple) else (value,))
    ]
    return _cut(neutral(", ".join(names)))


def _cut(text: str, limit: int = 200) -> str:
    """Return a text, or its beginning with a mark if it is longer."""
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def state_of(skill: PlannedSkill) -> str:
    """Return what installing a skill does: `new`, `replaces the installed one` or `already installed`."""
    if skill.previous is None:
        return "new"
    return "already installed" if skill.previous.tree_digest == skill.item.digest else "replaces the installed one"


def planned_as_dict(skill: PlannedSkill, same_name: Sequence[str]) -> dict[str, object]:
    """Return what `--json` prints about a skill."""
    entry = skill.item.entry
    return {
        "name": skill.name,
        "state": state_of(skill),
        "path": entry.skill_path,
        "revision": entry.revision,
        "digest": skill.item.digest,
        "files": [json_fields(file, "path mode size sha256") for file in skill.tree.files],
        "bytes": skill.tree.size,
        **json_fields(skill, "scripts allowed_tools"),
        "tools": None if skill.tools is None else to_json_value(skill.tools),
        "capabilities": skill.capabilities.to_value(),
        "destinations": skill.folders,
        "link": skill.item.link,
        "linked": skill.links,
        "agents": skill.agents,
        "hosts": {host: view.as_dict() for host, view in skill.views.items()},
        "competes": [item.as_dict() for item in skill.competes],
        "older": skill.older,
        "same_name": same_name,
        "findings": as_dicts(skill.findings),
    }


def describe_choice(names: Sequence[str]) -> str:
    """Return the names of skills for a question or message."""
    return quoted(names[0]) if len(names) == 1 else pluralize(len(names), "skill")
