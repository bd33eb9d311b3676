"""Decide which of the skills that a host found win.

This is the only place where precedence is decided. `_evaluate` says what a host does with one skill; here skills meet:
which wins, which are too many, how much of each is shown.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import groupby

from prowess._internal.text import neutral, normalize_name, quoted
from prowess.clients import of_client
from prowess.clients.reading import cut_description, is_alias
from prowess.findings import Finding, finding
from prowess.hosts import collation_key
from prowess.skill import MAX_NAME

from ._budget import fit_to_budget, hidden_skills_take_names, hide_all
from ._entry import Entry, State
from ._evaluate import Evaluator, shares_names_of_plugins
from ._verdicts import LIST_ONLY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from prowess.clients.settings import Settings
    from prowess.filesystem import Filesystem
    from prowess.find import FoundSkill, ScanRoot
    from prowess.hosts import Flag, Host, Root

    from ._entry import Entry
    from ._evaluate import Reading

_NOT_LISTED = (State.REJECTED, State.SHADOWED)
"""States of skills that are not in the client's own list."""


class Precedence:
    """Decides among the skills that one host found, and reports problems between them."""

    def __init__(self, host: Host, settings: Settings, filesystem: Filesystem, expand: Callable[[str], str]) -> None:
        """Take the rules, what the user has set, and a function that says where a path of a host file is."""
        self.host, self.settings, self.filesystem, self.expand = host, settings, filesystem, expand
        self.evaluator = Evaluator(host, settings, filesystem)
        self._is_alias = of_client(host.name, is_alias)
        self.hidden_take_names = of_client(host.name, hidden_skills_take_names)()
        self.findings: list[Finding] = []
        self.moved: set[str] = set()
        """The paths of skills that are shown under another name, since theirs is taken."""
        self.hidden_losers: set[str] = set()
        """The paths of skills that the model does not see and that lose their name, but not their alias."""
        self.named_reasons = {flag.reason for flag in host.flags if of_client(host.name, keeps_name)(flag)}
        """The reasons of rejected skills that hide others of their name."""

    def resolve(self, found: tuple[FoundSkill, ...]) -> tuple[Entry, ...]:
        """Return the entries of the found skills, in the order in which the host shows them."""
        scan_roots = dict.fromkeys(item.scan_root.path for item in found)
        entries = [self.evaluator.entry(item) for item in found]
        entries = _sort_roots(entries, of_client(self.host.name, sorts_by_name))
        if of_client(self.host.name, shares_names_of_plugins)():
            entries = _share_names(entries, self.shadow)
        entries, self.moved = _scope_taken_names(self.host, entries)
        entries = self.resolve_collisions(entries)
        if self.moved:
            entries.sort(key=lambda entry: entry.path in self.moved)
        entries = self.add_aliases(entries)
        entries = self.apply_max_skills(entries)
        entries = self.sort_entries(entries)
        entries = hide_all(self.host, self.settings, entries, self.evaluator.is_typed)
        entries = fit_to_budget(
            self.host,
            entries,
            self.settings,
            roots=tuple(scan_roots),
            first_line=self.evaluator.first_line,
            expand=self.expand,
        )
        if self.host.trust_note and self.settings.trust != "trusted" and any(e.scope == "project" for e in entries):
            hint = of_client(self.host.name, trust_hint)(self.host)
            self.findings.append(finding("host-trust", self.host.trust_note, hint=hint))
        return tuple(entries)

    def resolve_collisions(self, entries: list[Entry]) -> list[Entry]:
        """Let one skill of each name win, as the host does."""
        if self.host.collision == "keep-all" or _all_names_differ(filter(self.has_name, entries)):
            return entries
        result = list(entries)
        spellings: dict[str, Entry] = {}
        for index, first in self.find_winners(entries):
            entry = entries[index]
            if first == index:
                similar = spellings.setdefault(normalize_name(entry.name), entry)
                if similar.name != entry.name:  # those of two packages may have the same name
                    names = f"{quoted(similar.name)} and {quoted(entry.name)}"
                    message = f"the names {names} differ only in case or Unicode form"
                    self.findings.append(finding("name-lookalike", message, path=entry.path, hint="rename one of them"))
                continue
            winner = entries[first]
            if entry.state is State.DEFERRED and (nested := _scan_root(entry).nested) is not None:
                # A nested skill stays available under a name with its folder.
                result[index] = entry.with_changes(name=f"{nested}:{entry.name}")
                continue
            if entry.state is State.USER_ONLY and not self.hidden_take_names:
                self.hidden_losers.add(entry.path)
            result[index] = self.shadow(entry, winner)
        winning = {entry.shadowed_by for entry in result if entry.rule == "undefined"}
        if winning:
            reason = "undefined: the agent reads these in no fixed order, and the last to finish wins"
            result = [
                entry.with_changes(reason=reason, rule="undefined") if entry.path in winning else entry
                for entry in result
            ]
        return result

    def has_name(self, entry: Entry) -> bool:
        """Return whether a skill can hide others of its name, or be hidden by them."""
        return entry.state not in (State.REJECTED, State.UNTRUSTED) or entry.reason in self.named_reasons

    def find_winners(self, entries: list[Entry]) -> list[tuple[int, int]]:
        """Return the index of each skill that takes part, in the order of precedence, with the index of its winner."""
        order = range(len(entries)) if self.host.collision != "last" else range(len(entries) - 1, -1, -1)
        keys: dict[int, tuple[bool, str]] = {}
        winners: dict[tuple[bool, str], int] = {}
        apart: dict[int, int] = {}
        hidden: dict[tuple[bool, str], int] = {}
        for index in order:
            entry = entries[index]
            if not self.has_name(entry):
                continue
            # A name with a namespace never collides with a bare name, even if that is written to look like it.
            name = self.compared_name(entry.name)
            key = (entry.namespace is not None, name)
            hides_nothing = not self.hidden_take_names or entry.rule == LIST_ONLY
            if hides_nothing and entry.state in (State.DEFERRED, State.USER_ONLY):
                # It loses to a skill that the model sees, and to another one in the client's list.
                first = hidden.setdefault(key, index) if entry.state is State.USER_ONLY else index
                apart[index] = winners.get(key, first)
                continue
            keys[index] = key
            winner = entries[winners.setdefault(key, index)]
            if (
                self.host.folder_names_win
                and winner is not entry
                and winner.root == entry.root
                and _folder_name_rank(entry) < _folder_name_rank(winner)
            ):
                winners[key] = index
        pairs = {index: winners[key] for index, key in keys.items()} | apart
        return [(index, pairs[index]) for index in order if index in pairs]

    def compared_name(self, name: str) -> str:
        """Return a name as the host compares it with others."""
        if self.host.compare == "lower":
            return name.lower()
        return normalize_name(name) if self.host.compare == "folded" else name

    def shadow(self, entry: Entry, winner: Entry) -> Entry:
        """Return a skill as shadowed by the one that wins its name, with the reason."""
        other = neutral(winner.path)
        same_root = entry.root == winner.root and entry.scope == winner.scope
        if ((same_root and self.host.collision_in_root) or self.host.collision) == "undefined":
            rule = "undefined"
            reason = f"undefined: the agent reads this and {other} in no fixed order, and the last to finish wins"
        else:
            by_folder = self.host.folder_names_win and _wins_by_folder(entry, winner)
            rule = "folder-name" if by_folder else "name-shadowed"
            reason = f"{other} wins: {by_folder or _precedence_reason(entry, winner)}"
        if self.are_identical(entry, winner):
            message = f"a byte-identical copy of {other}"
            # `mount` makes such copies, for agents that search different folders.
            hint = "remove one of the two, unless another agent finds only one of them"
            problem = finding("skill-copy", message, path=entry.path, hint=hint)
            reason = f"{reason}; it is a byte-identical copy"
        else:
            message = f"{quoted(entry.name)} is hidden by {other}"
            problem = finding("name-shadowed", message, path=entry.path, hint="rename one of the two, or remove it")
        return entry.with_changes(
            state=State.SHADOWED,
            reason=reason,
            rule=rule,
            shadowed_by=winner.path,
            findings=(*entry.findings, problem),
        )

    def are_identical(self, entry: Entry, winner: Entry) -> bool:
        """Return whether two skills are byte-identical. Names and sizes are compared before any file is read."""
        if entry.frontmatter_name != winner.frontmatter_name:
            return False
        if self.filesystem.files(entry.path) != self.filesystem.files(winner.path):
            return False
        digest = self.filesystem.digest(entry.path)
        return digest is not None and digest == self.filesystem.digest(winner.path)

    def add_aliases(self, entries: list[Entry]) -> list[Entry]:
        """Add the name in the front matter as an alias for a host that uses folder names, unless it is taken."""
        rules = self.host.name_rules
        if rules.identity != "folder":
            return entries
        hiding = {", ".join(flag.when) for flag in self.host.flags if flag.state == "rejected"}
        used_names = {
            entry.name
            for entry in entries
            if entry.state in (State.ACTIVE, State.USER_ONLY)
            or (entry.state is State.REJECTED and entry.rule in hiding)
        }
        aliases: dict[str, str] = {}
        result = []
        for entry in entries:
            alias = self.evaluator.frontmatter_alias(entry)
            if alias == entry.name and alias in used_names:
                result.append(entry)
                continue
            if alias and entry.namespace is not None and not alias.startswith(f"{entry.namespace}:"):
                # The file of a command may be in a folder, which is a part of its name.
                own = _scan_root(entry).root.files and _scan_root(entry).plugin
                alias = f"{entry.name.rpartition(':')[0] if own else entry.namespace}:{alias}"
            if (
                alias
                and alias not in used_names
                and aliases.get(alias, entry.name) == entry.name
                and not (entry.state is State.REJECTED and not self.is_loaded(entry))
                and self._is_alias(alias)
                and (entry.state is not State.SHADOWED or entry.path in self.hidden_losers)
                and entry.path not in self.moved
            ):
                if entry.state is not State.DEFERRED:
                    aliases.setdefault(alias, entry.name)
                if entry.state is not State.SHADOWED and entry.rule != "name-only":
                    entry = entry.with_changes(alias=alias)
            result.append(entry)
        return result

    def is_loaded(self, entry: Entry) -> bool:
        """Return whether the client has read a rejected skill: not if its whole folder or plugin is off."""
        return entry.rule != "settings" or entry.folder in self.settings.effects

    def apply_max_skills(self, entries: list[Entry]) -> list[Entry]:
        """Switch off the skills that exceed the host's limit."""
        limit = self.settings.max_skills
        if not limit:
            return entries
        result, active = [], 0
        for entry in entries:
            if entry.state is State.ACTIVE:
                active += 1
                if active > limit:
                    reason = f"only the first {limit} skills are used (`max_skills`)"
                    entry = entry.with_changes(state=State.DISABLED, reason=reason, rule="max_skills")
            result.append(entry)
        if active > limit:
            message = f"{active} skills were found, and only the first {limit} are used (`max_skills`)"
            self.findings.append(finding("skill-limit", message, hint="raise `max_skills`, or remove some"))
        return result

    def sort_entries(self, entries: list[Entry]) -> list[Entry]:
        """Put the entries in the order in which the host shows them."""
        if self.host.sorts == "files":
            return _sort_files(entries, self.moved)
        if self.host.sorts == "name":
            return sorted(entries, key=lambda entry: entry.name)
        if self.host.sorts == "scopes":
            order = {scope: number for number, group in enumerate(self.host.scope_order) for scope in group.split("|")}
            # Folders of the question itself (`--skill-dir`) are in no scope of the client: they come first.
            return sorted(entries, key=lambda entry: (order.get(entry.scope, -1), entry.name, entry.path))
        if self.host.sorts != "runs":
            return entries
        # Losing skills are not in the client's list, so they do not split a run.
        losers = [entry for entry in entries if entry.state in _NOT_LISTED]
        listed = [entry for entry in entries if entry.state not in _NOT_LISTED]
        runs = groupby(listed, key=lambda entry: (entry.scope, _scan_root(entry).level > 0))
        return [entry for _, run in runs for entry in sorted(run, key=lambda entry: entry.name)] + losers


def _all_names_differ(entries: Iterable[Entry]) -> bool:
    """Return whether no two skills have the same name, whatever its case or Unicode form."""
    names = [entry.name for entry in entries]
    return len(set(map(normalize_name, names))) == len(names)


def _precedence_reason(entry: Entry, winner: Entry) -> str:
    """Return why one of two skills with the same name comes first."""
    if entry.scope != winner.scope:
        return f"{winner.scope} before {entry.scope}"
    if entry.root != winner.root:
        return f"{neutral(winner.root)} comes first"
    return f"{quoted(winner.folder)} sorts first"


_is_plain_name = re.compile(r"[^\W_]+(?:-[^\W_]+)*").fullmatch
_NO_FOLDER_NAME = sys.maxsize
"""The rank of a skill whose name is not that of its folder."""


def _folder_name_rank(entry: Entry) -> int:
    """Return how far below its root a skill is whose valid name equals its folder; the smallest rank wins.

    A folder with any name can be put deep inside a root, but only one can be nearest to it.
    """
    name = entry.name if entry.namespace is None else entry.name.removeprefix(f"{entry.namespace}:")
    if not entry.folder.isascii():
        import unicodedata

        # Some file systems write the names of folders in another form than people type.
        is_own = unicodedata.normalize("NFC", entry.folder) == name
    else:
        is_own = entry.folder == name
    # Another spelling of a name, such as one in full-width letters, is not the plain name that it is compared as.
    valid = is_own and len(name) <= MAX_NAME and name == normalize_name(name) and _is_plain_name(name)
    return entry.path.removeprefix(entry.root).count("/") if valid else _NO_FOLDER_NAME


def _wins_by_folder(entry: Entry, winner: Entry) -> str:
    """Return why a skill wins in its own root, if the names of folders decided; otherwise an empty text."""
    if entry.root != winner.root or _folder_name_rank(winner) >= _folder_name_rank(entry):
        return ""
    if _folder_name_rank(entry) < _NO_FOLDER_NAME:
        return "of two skills that are called like their folders, it is nearer to the skills folder"
    return f"it is called like its folder, and {quoted(entry.folder)} is called otherwise"


# ── order, and names that are taken ──────────────────────────────────────────────────────────────────────────────────


def keeps_name(flag: Flag) -> bool:  # noqa: ARG001
    """Return whether a skill that a flag rejects still hides others of its name with a lower precedence."""
    return False


def trust_hint(host: Host) -> str:
    """Return how a user trusts a folder."""
    return f"trust the folder in {host.title}"


def _scan_root(entry: Entry) -> ScanRoot:
    """Return the skills folder in which a skill was found."""
    reading: Reading = entry.source[1]
    return reading.item.scan_root


def sorts_by_name(root: Root) -> bool:  # noqa: ARG001
    """Return whether skills of a root are sorted by the names that the client gives them, not by their folders."""
    return False


def taken_name(root: Root, folder: str, name: str) -> tuple[str, str] | None:  # noqa: ARG001
    """Return what a skill whose name is taken is called and the end of its description; `None` if it is hidden.

    Args:
        root: of the skill.
        folder: the name of the folder to which the root belongs.
        name: of the skill.
    """
    return None


def _sort_roots(entries: list[Entry], is_sorted: Callable[[Root], bool]) -> list[Entry]:
    """Return the skills, highest precedence first, those of some skills folders sorted by name within each."""
    if is_sorted is sorts_by_name:
        return entries
    result: list[Entry] = []
    for _, group in groupby(entries, key=lambda entry: entry.root):
        run = [*group]
        by_name = is_sorted(_scan_root(run[0]).root)
        result += sorted(run, key=lambda entry: collation_key(entry.name)) if by_name else run
    return result


def _sort_files(entries: list[Entry], moved: Collection[str]) -> list[Entry]:
    """Return the skills, those of folders whose files are skills sorted by name; all others keep their places.

    Args:
        entries: in order.
        moved: the paths of skills that have other names than their own, and keep their places too.
    """
    roots = map(_scan_root, entries)
    places = [at for at, root in enumerate(roots) if root.root.files and not root.plugin]
    places = [at for at in places if entries[at].path not in moved]
    ordered = sorted((entries[at] for at in places), key=lambda entry: collation_key(entry.name))
    result = list(entries)
    for at, entry in zip(places, ordered, strict=True):
        result[at] = entry
    return result


def _scope_taken_names(host: Host, entries: list[Entry]) -> tuple[list[Entry], set[str]]:
    """Return the skills, highest precedence first, some under another name, and the paths of these.

    Some skills folders show a skill under another name if its name is taken, even by a hidden skill.
    """
    hiding = {", ".join(flag.when) for flag in host.flags if flag.state == "rejected"}
    renamed = of_client(host.name, taken_name)
    if renamed is taken_name:
        return entries, set()
    taken: set[str] = set()
    moved: set[str] = set()
    result = []
    for entry in entries:
        is_hidden = entry.state is State.REJECTED and entry.rule in hiding
        if entry.state in (State.ACTIVE, State.USER_ONLY) or is_hidden:
            scan_root = _scan_root(entry)
            folder = os.path.basename(scan_root.path.removesuffix(f"/{scan_root.root.path}"))
            if entry.name in taken and not is_hidden and (own := renamed(scan_root.root, folder, entry.name)):
                name, text = own
                description = cut_description(f"{entry.description}{text}", host.description_rules)
                entry = entry.with_changes(name=name, description=description)
                moved.add(entry.path)
            taken.add(entry.name)
        result.append(entry)
    return result, moved


def _share_names(entries: list[Entry], shadow: Callable[[Entry, Entry], Entry]) -> list[Entry]:
    """Let skills of several plugins with one name stay, with the plugin in front of the name.

    This is so if a plugin's skill wins the name; the others, which are in no plugin, are hidden by it.

    Args:
        entries: the skills, highest precedence first.
        shadow: returns a skill as hidden by another one.
    """
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.namespace is None and entry.state not in (State.REJECTED, State.UNTRUSTED):
            groups.setdefault((entry.name, entry.rule == LIST_ONLY), []).append(index)
    result = list(entries)
    for (name, _), group in groups.items():
        owners = {index: _plugin(entries[index]) for index in group}
        if not owners[group[0]] or len(set(filter(None, owners.values()))) < 2:
            continue
        for index in group:
            plugin = owners[index]
            if plugin:
                result[index] = entries[index].with_changes(name=f"{plugin}:{name}", namespace=plugin)
            else:
                result[index] = shadow(entries[index], entries[group[0]])
    return result


def _plugin(entry: Entry) -> str:
    """Return the plugin of a skill, if it has one; commands are called the same in all of them."""
    return _scan_root(entry).plugin if entry.path.endswith("/SKILL.md") else ""
