"""Say why an agent does not see a skill, and which command or change fixes that.

An agent loses a skill if neither its model nor its user can reach it there. The *cure* of a loss is what to type or to
change. A loss has one of these kinds: `text` (the agent cannot load the file), `place` (it does not search the folder),
`limit` (it stops before this folder), `file-name` (the file is not called `SKILL.md`), `copy` (it cannot load the
mounted copy that it has), `name` (another skill has the name), `setting` (the user has switched it off), `trust` (the
user has not trusted the folder) and `field` (the author has hidden it).
"""

from __future__ import annotations

import os
import shlex
from collections import deque
from functools import cached_property, lru_cache

from prowess._internal.files import SKILL_FILE, display_path
from prowess._internal.frozen import Frozen, LazyFrozen
from prowess._internal.text import neutral, quoted
from prowess.catalog import AWAITS_TRUST, REACHABLE, Entry, Evaluator, State, evaluate_alone
from prowess.clients.settings import find_hiding_setting
from prowess.filesystem import git_root
from prowess.find import FoundSkill, ScanRoot
from prowess.findings import CODES, Severity, apply_policy
from prowess.hosts import Root, load_host, skills_folder
from prowess.skill import change_name, check_skill, from_document, parse_frontmatter, reason_not_to_fix

from ._fixed_filesystem import FilesystemWithText
from ._installed import InstalledSkills, add_command, install_command, update_command
from ._kinds import is_identical_copy
from ._mount_cures import (
    MountTarget,
    fix_command,
    is_typable,
    mount_argument,
    mount_command,
    mount_folder,
    mount_target,
)
from ._mount_rules import mount_blockers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.catalog import Catalog
    from prowess.filesystem import Filesystem, Question
    from prowess.findings import Finding
    from prowess.skill import Skill

    from ._fixed_filesystem import FixedFilesystem
    from ._installed import InstalledSkill
    from ._mount_cures import TakenNames
    from ._mounted_copies import MountedCopies


INSTALL = "install"


class Loss(LazyFrozen):
    """Why one agent does not see one skill, and what to do.

    What to do takes longer to find out than the reason, so it is found when it is first asked for.
    """

    kind: str
    """`text`, `place`, `limit`, `file-name`, `name`, `setting`, `trust`, `field` or `copy`."""
    reason: str
    codes: tuple[str, ...] = ()
    """The findings because of which the agent rejects the file; also if it does not search its folder either."""
    cure: str
    """A command, or a sentence that says what to change."""
    is_command: bool = False
    """Whether the cure is a command for the shell."""
    files_to_fix: tuple[str, ...] = ()
    """The SKILL.md that the command fixes first, and copies of it."""
    refusal: str = ""
    """Why the command turns off the validation of `mount`; empty if it does not."""
    steps: str = ""
    """What has to be done by hand before the command; the cure says that too."""
    argument: str = ""
    """The skill as an argument of `mount`, or of `add` if it has a source."""
    add_from: str = ""
    """The source of a skill of a lock, as an argument of `add`; empty for other skills, and `INSTALL` if the lock names
    the folder that the agent searches, and `prowess install` makes it again."""
    options: str = ""
    """More options of `add`, each after a blank."""

    def as_dict(self) -> dict[str, object]:
        """Return the loss in the shape of every `--json` output."""
        return {"kind": self.kind, "reason": self.reason, "codes": [*self.codes], "cure": self.cure}


class _Cure:
    """Finds the cure of a loss once. It is small, since there may be ten thousand."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Loss]) -> None:
        self._find = find
        self._found: Loss | None = None

    def __call__(self) -> Loss:
        if self._found is None:
            self._found = self._find()
        return self._found


class FixEffects(Frozen):
    """What a fix of one file changes beside it."""

    copies: tuple[str, ...] = ()
    """The copies that agents have, which the same command can fix."""
    left: tuple[str, ...] = ()
    """Other copies that agents have."""
    names: tuple[tuple[str, str], ...] = ()
    """What to do first about skills of the same name, each with the agent that it is for; empty for all agents."""

    def steps(self, host: str) -> list[str]:
        """Return what to do about skills of the same name before the fix is a cure for an agent."""
        return [*dict.fromkeys(sentence for name, sentence in self.names if name in ("", host))]


class CureQueue:
    """The cures to find, in one order: of two that want one name for their copy, the first gets it."""

    def __init__(self, question: Question, filesystem: Filesystem, mounted: MountedCopies) -> None:
        self.filesystem, self.mounted = filesystem, mounted
        self.installed = InstalledSkills(question, filesystem)
        self.effects_of_fix: Callable[[str], FixEffects]
        """The other effects of a fix of a file; set when the finders of all agents are there."""
        self.finder_of: Callable[[str], LossFinder]
        """The finder of an agent, also of one that is not in question; set likewise."""
        self._waiting: deque[Callable[[], Loss]] = deque()
        self._running = False

    def add(self, find: Callable[[], Loss]) -> Callable[[], Loss]:
        """Add one; return a function that finds it once."""
        self.installed.read()
        cure = _Cure(find)
        self._waiting.append(cure)
        return cure

    def load_field(self, subject: Callable[[], Loss], name: str) -> object:
        """Return a field of a loss that was not set when it was made."""
        if not self._running:  # a cure may ask for another one
            self._running = True
            try:
                while self._waiting:
                    self._waiting.popleft()()
            finally:
                self._running = False
        return getattr(subject(), name)


class LossFinder:
    """Finds the losses of one agent in one place."""

    def __init__(
        self,
        catalog: Catalog,
        fixed_filesystem: Callable[[str], FixedFilesystem],
        taken_names: TakenNames,
        cures: CureQueue,
    ) -> None:
        """Prepare.

        Args:
            catalog: of the agent.
            fixed_filesystem: returns what `check --fix` makes of a file.
            taken_names: of all agents in question.
            cures: those to find, of all agents in question.
        """
        self.catalog = catalog
        self.fixed_filesystem = fixed_filesystem
        self.taken_names = taken_names
        self.cures = cures
        self._mount_folders: dict[bool, tuple[str, str]] = {}
        self.host = catalog.host
        self.disabled = next((item for item in catalog.findings if item.code == "host-disabled"), None)

    @cached_property
    def _copies(self) -> FilesystemWithText:
        """The file system with the copy, or the fixed file, that was asked about last."""
        return FilesystemWithText("", b"", self.cures.filesystem)

    @cached_property
    def _evaluator(self) -> Evaluator:
        """Of the agent's rules and settings, for copies and fixed files; made when first needed.

        There is only one, since it refers to itself, and a command collects no garbage.
        """
        return Evaluator(self.host, self.catalog.settings, self._copies)

    def winner(self, entry: Entry) -> Entry | None:
        """Return the skill that a shadowed one loses its name to."""
        return self._by_path.get(entry.shadowed_by or "")

    @cached_property
    def _by_path(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in reversed(self.catalog.skills)}

    def loss(self, entry: Entry) -> Loss | None:
        """Return why the agent does not show a skill that it found, or `None` if the model or the user can reach it."""
        if entry.state in REACHABLE or entry.rule == AWAITS_TRUST:
            # The agent asks its user for trust when it is started there.
            return None
        reason = entry.reason or str(entry.state)
        if entry.state is State.SHADOWED:
            if not is_identical_copy(entry):
                return self._lost_name(entry.path, entry.shadowed_by or "", reason)
            # The copy that wins may be switched off itself.
            winner = self.winner(entry)
            return None if winner is None or winner.state is State.SHADOWED else self.loss(winner)
        if entry.state is State.UNTRUSTED:
            cure = f"trust the folder in {self.host.title}: start it there and confirm, or change its list of folders"
            return Loss(kind="trust", reason=reason, cure=cure)
        if entry.state is State.DISABLED or entry.rule == "settings":
            return self._lazy_loss(
                "setting", reason, (), lambda: Loss(kind="setting", reason=reason, cure=self._setting_cure(entry))
            )
        return self._lost_text(entry, reason)

    def loss_elsewhere(
        self, path: str, alone: Entry, *, user: bool, taken: str | None, is_copy: Callable[[str], bool]
    ) -> Loss | None:
        """Return why the agent does not see a skill in a folder that it does not search.

        Args:
            path: of its SKILL.md.
            alone: the skill, as if it were alone in a folder of the agent.
            user: whether the skill belongs to the user, not to the project.
            taken: the path of another skill, which has its name at this agent.
            is_copy: whether the skill at a path is the same as this one.
        """
        codes = rejecting_codes(alone)
        if not self.host.roots:
            return self._lost_text(alone, alone.reason or "") if codes else None
        if self.disabled is not None:
            cure = self.disabled.hint or f"switch on skills in the settings of {self.host.title}"
            return Loss(kind="setting", reason=self.disabled.message, codes=codes, cure=cure.strip())
        if path in self._misnamed:
            return self._lost_file_name(alone)
        limit = self._limit_before(path)
        if limit is not None:
            return limit
        folder = os.path.dirname(os.path.dirname(path))
        reason = f"{self.host.title} does not search {neutral(self.display(folder))}"
        if taken is not None:
            other = f"it has another skill of that name, {neutral(self.display(taken))}"
            return self._lost_name(path, taken, other).with_changes(codes=codes)
        reason = f"{reason}, and {alone.reason}" if codes else reason
        reason = f"{reason}, and {_wrong_name(path)}" if is_misnamed_file(path) else reason
        return self._lost_place(path, alone, reason, user=user, is_copy=is_copy)

    # ── cures on first use ───────────────────────────────────────────────────────────────────────────────────────────

    def _lazy_loss(self, kind: str, reason: str, codes: tuple[str, ...], find: Callable[[], Loss]) -> Loss:
        """Return a loss whose cure is found on first use."""
        return Loss.from_loader(self.cures, self.cures.add(find), kind=kind, reason=reason, codes=codes)

    def _lost_file_name(self, alone: Entry) -> Loss:
        """Return the loss of a skill in a folder that the agent searches, whose file is called `skill.md`."""
        path, reason = alone.path, f"{_wrong_name(alone.path)}, and agents look for `{SKILL_FILE}` exactly"
        if os.path.lexists(os.path.join(os.path.dirname(path), SKILL_FILE)):
            return Loss(kind="file-name", reason=reason, cure=f"remove it: `{SKILL_FILE}` is there too")
        return self._lazy_loss("file-name", reason, (), lambda: self._renamed(alone, reason))

    def _renamed(self, alone: Entry, reason: str) -> Loss:
        """Return the loss of a skill whose file is called `skill.md`, with the command that gives it the right name."""
        installed, path = self.cures.installed.at(os.path.dirname(alone.path)), alone.path
        if installed is not None and path != installed.source_file and not installed.is_local_link:
            steps = [*installed.steps(self.host.name, cwd=self.catalog.cwd, filesystem=self.cures.filesystem)]
            return Loss(kind="file-name", reason=reason, cure="; ".join(steps))
        fixed, files = self._after_fix(alone), self._files_to_fix(path)
        steps, command = self._steps_before_fix(path), fix_command(files, self.catalog.cwd)
        if fixed is None:
            steps = [f"rename it to `{SKILL_FILE}`", self._lost_text(alone, alone.reason or "").cure]
            return Loss(kind="file-name", reason=reason, cure="; then ".join(steps))
        if fixed.state not in REACHABLE and (hidden := self.loss(fixed)) is not None:
            steps.append(hidden.cure)
        cure = f"{'; '.join(steps)}; then `{command}`" if steps else command
        return Loss(kind="file-name", reason=reason, cure=cure, is_command=not steps, files_to_fix=files)

    def _limit_before(self, path: str) -> Loss | None:
        """Return the loss of a skill in a folder that the agent searches, if it stops before this one."""
        if not self._limited:
            return None
        folder = os.path.dirname(path)
        while folder not in self._limited:
            folder, below = os.path.dirname(folder), folder
            if folder == below:
                return None
        item = self._limited[folder]
        reason = f"{self.host.title} stops in {neutral(self.display(folder))}: {item.message}"
        return Loss(kind="limit", reason=reason, cure=item.hint or "move skills into fewer folders")

    @cached_property
    def _misnamed(self) -> frozenset[str]:
        """The files called `skill.md` in folders that the agent searches."""
        findings = self.catalog.findings
        return frozenset(item.path for item in findings if item.code == "file-name-case" and item.path is not None)

    @cached_property
    def _limited(self) -> dict[str, Finding]:
        """The findings about folders in which the agent stops, by folder."""
        findings = reversed(self.catalog.findings)
        return {item.path: item for item in findings if item.code == "folder-limit" and item.path is not None}

    def _mount_folder(self, user: bool) -> tuple[str, str]:
        """Return the home or the folder of the project that `mount` uses, and the skills folder relative to it."""
        if user not in self._mount_folders:
            catalog = self.catalog
            self._mount_folders[user] = mount_folder(self.host.name, cwd=catalog.cwd, home=catalog.home, user=user)
        return self._mount_folders[user]

    # ── kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _lost_place(self, path: str, alone: Entry, reason: str, *, user: bool, is_copy: Callable[[str], bool]) -> Loss:
        """Return the loss of a skill in a folder that the agent does not search."""

        def target() -> MountTarget:
            return mount_target(path, alone.frontmatter_name, mount_root, self.cures.filesystem)

        mount_root = self._mount_folder(user)
        return self._lazy_loss(
            "place",
            reason,
            rejecting_codes(alone),
            lambda: self._mounted(alone, reason, target(), user=user, is_copy=is_copy),
        )

    def _mounted(
        self, alone: Entry, reason: str, target: MountTarget, *, user: bool, is_copy: Callable[[str], bool]
    ) -> Loss:
        """Return the loss of a skill in a folder that the agent does not search, with the command that mounts it."""
        installed = self.cures.installed.at(os.path.dirname(alone.path))
        if installed is not None:
            return self._installed_too(alone, reason, installed, is_copy=is_copy)
        real = self.cures.filesystem.real(alone.path)
        if (source := self.cures.mounted.original(real)) != real:  # a copy of a copy would not follow the source
            target = target.with_changes(source=os.path.dirname(source))
            return self._mounted(self.alone(source), reason, target, user=user, is_copy=is_copy)
        return self._by_mount(alone, reason, target, user=user, is_copy=is_copy)

    def remounted(self, target: MountTarget, reason: str, *, user: bool) -> Loss:
        """Return the loss of a mounted copy, with the command that mounts it again.

        Args:
            target: the copy that there is.
            reason: what is wrong with it.
            user: whether it belongs to the user, not to the project.
        """
        source = os.path.join(target.source, SKILL_FILE)
        is_copy = self._is_mounted_with(source)
        return self._lazy_loss(
            "copy", reason, (), lambda: self._by_mount(self.alone(source), reason, target, user=user, is_copy=is_copy)
        )

    def _is_mounted_with(self, path: str) -> Callable[[str], bool]:
        """Return what says whether a skill is the one at a path, or was mounted from it or from its source."""
        original, real = self.cures.mounted.original, self.cures.filesystem.real
        return lambda other: original(real(other)) == original(real(path))

    def _by_mount(
        self, alone: Entry, reason: str, target: MountTarget, *, user: bool, is_copy: Callable[[str], bool]
    ) -> Loss:
        """Return the loss of a skill with the command that mounts it, and what has to be done before."""
        cwd, home, host, codes = self.catalog.cwd, self.catalog.home, self.host.name, rejecting_codes(alone)
        copy = self._copy(alone, target, self._text(alone, fixed=False), user=user)
        refusal = _refusal(alone.skill)
        is_fit = copy is not None and copy[0].state in REACHABLE and not refusal
        fixed = None if is_fit else self._copy(alone, target, self._text(alone, fixed=True), user=user)
        # `check --fix` fails if other errors remain.
        needs_fix = fixed is not None and fixed[0].state in REACHABLE and not _has_errors(fixed[1])
        if copy is not None and copy[0].state in REACHABLE and needs_fix:
            needs_fix = bool(refusal) and fixed is not None and not mount_blockers(fixed[1])
        chosen = fixed if needs_fix else copy
        is_misnamed = is_misnamed_file(alone.path)
        needs_fix = needs_fix or (is_misnamed and chosen is not None and not _has_errors(chosen[1]))
        refusal = _refusal(chosen[1]) if needs_fix and chosen is not None else refusal
        if target.is_linked_under_other_name:
            refusal = refusal or "the folder that the link leads to has another name"
        steps = target.steps(self.display, self.cures.filesystem)
        program = next((item for item in alone.skill.findings if item.code == "frontmatter-code"), None)
        if program is not None:
            steps.append(program.hint or program.message)  # never mounted, also without validation
        elif chosen is None or chosen[0].state not in REACHABLE:
            steps.append(self._step_before_mount(alone, chosen[0] if chosen is not None else None))
            rejected = rejecting_codes(alone if chosen is None else chosen[0])
            if rejected and {item.code for item in mount_blockers(alone.skill)} <= {*rejected}:
                refusal = ""  # after that step
        if needs_fix:
            steps += self._steps_before_fix(alone.path)
            is_copy = self._is_mounted_with(alone.path)  # other copies stay as they are
        elif is_misnamed:
            steps.append(f"rename {neutral(self.display(alone.path))} to `{SKILL_FILE}`")
        conflict = self.taken_names.conflict(target, host, is_copy)
        if conflict is not None:
            other, losing = conflict
            who = "would get the same folder" if losing is None else f"has that name at {load_host(losing).title}"
            steps.append(f"give this skill or {neutral(self.display(other))}, which {who}, another name")
        elif (locked := self.cures.installed.named(target.name, target.base)) is not None and not is_copy(locked.file):
            steps.append(
                f"give this skill another name: {neutral(self.display(locked.file))} has that name in the lock"
            )
        argument = mount_argument(target.source, cwd, target.name)
        command = mount_command([argument], host, cwd=cwd, home=home, user=user, refusal=refusal)
        if needs_fix:
            command = f"{fix_command(self._files_to_fix(alone.path), cwd)} && {command}"
        by_hand = "; ".join(filter(None, steps))
        return Loss(
            kind="place",
            reason=reason,
            codes=codes,
            cure=f"{by_hand}; then `{command}`" if by_hand else command,
            is_command=not by_hand,
            files_to_fix=self._files_to_fix(alone.path) if needs_fix else (),
            refusal=refusal,
            steps=by_hand,
            argument=argument,
        )

    def _installed_too(
        self, alone: Entry, reason: str, installed: InstalledSkill, *, is_copy: Callable[[str], bool]
    ) -> Loss:
        """Return the loss of a skill of a lock in a folder that the agent does not search, with the cure by `add`."""
        cwd, home, host, filesystem = self.catalog.cwd, self.catalog.home, self.host.name, self.cures.filesystem
        target, user = installed.target(host, home), installed.scope_for(host) == "user"
        file = installed.source_file if filesystem.kind(installed.source_file) == "f" else ""
        source = self._text(alone.with_changes(path=file or alone.path), fixed=False)
        copy = self._copy(alone, target, source, user=user)
        argument, options = neutral(installed.entry.name), installed.options(host, home)
        conflict = self.taken_names.conflict(target, host, is_copy)
        by_name = ""
        if conflict is not None:
            other, losing = conflict
            who = "would get the same folder" if losing is None else f"has that name at {load_host(losing).title}"
            by_name = f"rename {neutral(self.display(other))}, which {who}"
        if installed.is_missing(os.path.dirname(target.path), filesystem):
            argument = shlex.quote(argument)
            options = installed.global_option(installed.scope_for(host), home)
            command = install_command([argument], cwd=cwd, options=options)
            return Loss(
                kind="place",
                reason=reason,
                codes=rejecting_codes(alone),
                cure=f"{by_name}; then `{command}`" if by_name else command,
                is_command=not by_name,
                steps=by_name,
                argument=argument,
                add_from=INSTALL,
                options=options,
            )
        steps = [*installed.steps(host, cwd=cwd, filesystem=filesystem)]
        steps += target.place_steps(self.display, filesystem)
        root = self._root_of(target.root, user=user)
        if installed.entry.is_link and (
            root.linked_folders == "skip" or (root.linked_folders == "bounded" and not file)
        ):
            name = neutral(installed.entry.name)
            why = f"it is installed as a link, and {self.host.title} follows none"
            steps.append(f"{why}: `prowess remove {name}`, and add it again without `--link`")
        file_to_fix = ""
        if copy is None or copy[0].state not in REACHABLE:
            fixed = (
                self._copy(alone, target, self._text(alone.with_changes(path=file), fixed=True), user=user)
                if file
                else None
            )
            if fixed is not None and fixed[0].state in REACHABLE and not _has_errors(fixed[1]) and is_typable(file):
                file_to_fix = file
            else:
                steps.append(f"in its source: {self._step_before_mount(alone, copy[0] if copy is not None else None)}")
        command = add_command(installed.source(cwd), [argument], [host], cwd=cwd, options=options)
        if file_to_fix:
            command = f"{fix_command([file_to_fix], cwd)} && {command}"
        by_hand = "; ".join(filter(None, [*steps, by_name]))
        return Loss(
            kind="place",
            reason=reason,
            codes=rejecting_codes(alone),
            cure=(f"{by_hand}; then `{command}`" if installed.source(cwd) else by_hand) if by_hand else command,
            is_command=not by_hand,
            files_to_fix=(file_to_fix,) if file_to_fix else (),
            steps=by_hand,
            argument=argument,
            add_from=installed.source(cwd),
            options=options,
        )

    def _text(self, entry: Entry, *, fixed: bool) -> bytes | None:
        """Return the text of a skill as it is, or as `check --fix` writes it; `None` if that changes nothing."""
        if entry.skill.document is None:
            return None
        filesystem = self.fixed_filesystem(entry.path)
        return (filesystem.fixed if filesystem.changed else None) if fixed else filesystem.original

    def _root_of(self, folder: str, *, user: bool) -> Root:
        """Return the root that a mounted copy is in."""
        scope = "user" if user or skills_folder(self.host.name, "project") is None else "project"
        for root in self.host.roots:
            if root.scope == scope and root.path.rpartition("|")[2].removeprefix("~/") == folder:
                return root
        return Root(path="", scope=scope)

    def _copy(self, alone: Entry, target: MountTarget, data: bytes | None, *, user: bool) -> tuple[Entry, Skill] | None:
        """Return how the agent sees a copy with a text, and the skill before it is copied; `None` without a copy."""
        if not data or alone.skill.document is None:
            return None
        skill, renamed, copied = _renamed_skill(alone.path, data, target.name)
        if renamed is None or copied is None:
            return None
        self._copies.replace(target.path, renamed, copied)
        root = self._root_of(target.root, user=user)
        found = FoundSkill(
            target.path, target.path, ScanRoot(target.folder, root.scope, root), self._copies.skill(target.path)
        )
        return self._evaluator.entry(found), skill

    def _step_before_mount(self, alone: Entry, copy: Entry | None) -> str:
        """Return what to change so that the agent shows a copy."""
        if copy is None or copy.state is State.REJECTED:
            entry = alone if copy is None or rejecting_codes(alone) else copy
            return self._lost_text(entry, entry.reason or "the name cannot be changed").cure
        loss = self.loss(copy)
        return loss.cure if loss is not None else ""

    def _lost_name(self, path: str, other: str, reason: str) -> Loss:
        """Return the loss of a skill because another one has its name."""
        installed, source = (self.cures.installed.at(os.path.dirname(each)) for each in (other, path))
        if installed is not None and installed is source and path == installed.source_file != other:
            return self._lost_to_installed(path, other, installed)
        cure = "give one of the two another name"
        cure += f", or remove {neutral(self.display(other))}" if other else ""
        return Loss(kind="name", reason=reason, cure=cure)

    def _lost_to_installed(self, path: str, other: str, installed: InstalledSkill) -> Loss:
        """Return the loss of the source of a skill of a lock, because the installed one differs from it."""
        cwd, filesystem = self.catalog.cwd, self.cures.filesystem
        steps = [*installed.steps(self.host.name, cwd=cwd, filesystem=filesystem)]
        what = "which has changed" if not steps else "and one of the two has changed"
        reason = f"{self.display(other)} is installed from {self.display(path)}, {what}"
        update = update_command(installed, cwd=cwd, home=self.catalog.home)
        steps += self._steps_before_update(other, installed)
        cure = f"{'; '.join(steps)}; then `{update}`" if steps else update
        return Loss(kind="name", reason=neutral(reason), cure=cure, is_command=not steps)

    def _setting_cure(self, entry: Entry) -> str:
        """Return what to change in the settings, so that the agent shows a skill."""
        if entry.rule == "max_skills":
            return "raise `max_skills`, or remove other skills"
        catalog = self.catalog
        found = find_hiding_setting(
            self.host,
            self.taken_names.question,
            project=git_root(catalog.cwd, self.host.git_marker) or catalog.cwd,
            names={entry.name, entry.folder, entry.frontmatter_name or entry.name},
            paths={entry.path, os.path.dirname(entry.path), entry.real, os.path.dirname(entry.real)},
        )
        if found is None:
            return f"switch it on again: it was {entry.reason or 'switched off'}"
        return f"{found.cure} in {neutral(self.display(found.file))}"

    def _lost_text(self, entry: Entry, reason: str) -> Loss:
        """Return the loss of a skill that the agent rejects."""
        codes = rejecting_codes(entry)
        if entry.rule not in CODES:
            return Loss(kind="field", reason=reason, codes=codes, cure=_field_cure(entry))
        kind = "field" if entry.rule == "field-type" else "text"
        return self._lazy_loss(kind, reason, codes, lambda: self._fixed(entry, kind, reason))

    def _fixed(self, entry: Entry, kind: str, reason: str) -> Loss:
        """Return the loss of a skill that the agent rejects, with the command that fixes it, if one does."""
        codes = rejecting_codes(entry)
        installed = self.cures.installed.at(os.path.dirname(entry.path))
        if installed is not None and entry.path != installed.source_file and not installed.entry.is_link:
            return self._fixed_in_source(entry, kind, reason, installed)
        fixed = self._after_fix(entry) if is_typable(entry.path) else None
        if fixed is not None:
            files, steps = self._files_to_fix(entry.path), self._steps_before_fix(entry.path)
            if fixed.state not in REACHABLE and (hidden := self.loss(fixed)) is not None:
                steps.append(hidden.cure)
            cure = fix_command(files, self.catalog.cwd)
            cure = f"{'; '.join(steps)}; then `{cure}`" if steps else cure
            return Loss(kind=kind, reason=reason, codes=codes, cure=cure, is_command=not steps, files_to_fix=files)
        hint = next((item.hint for item in entry.findings if item.code == entry.rule and item.hint), None)
        return Loss(kind=kind, reason=reason, codes=codes, cure=(hint or f"change this: {reason}").strip())

    def _fixed_in_source(self, entry: Entry, kind: str, reason: str, installed: InstalledSkill) -> Loss:
        """Return the loss of a skill of a lock that the agent rejects: a change of the copy would not be kept."""
        codes, file, cwd = rejecting_codes(entry), installed.source_file, self.catalog.cwd
        update = update_command(installed, cwd=cwd, home=self.catalog.home)
        if file and is_typable(file) and self.cures.filesystem.kind(file) == "f":
            source, copy = self.fixed_filesystem(file).original, self.fixed_filesystem(entry.path).original
            fixed = self._after_fix(entry)
            if source == copy and fixed is not None and fixed.state in REACHABLE:
                cure, steps = (
                    f"{fix_command([file], cwd)} && {update}",
                    self._steps_before_update(entry.path, installed),
                )
                steps += [why] if (why := reason_not_to_fix(file)) else []
                cure = f"{'; '.join(steps)}; then `{cure}`" if steps else cure
                return Loss(kind=kind, reason=reason, codes=codes, cure=cure, is_command=not steps, add_from=file)
        hint = next((item.hint for item in entry.findings if item.code == entry.rule and item.hint), "")
        where = installed.source(cwd) or neutral(installed.entry.source)
        cure = f"it is installed: change it in its source, {where}{f' ({hint})' if hint else ''}; then `{update}`"
        return Loss(kind=kind, reason=reason, codes=codes, cure=cure, add_from=where)

    def _after_fix(self, entry: Entry) -> Entry | None:
        """Return how the agent sees a skill after `check --fix`, or `None` if it still does not load it."""
        if entry.skill.document is None:
            return None
        fixed = self.fixed_filesystem(entry.path)
        if not fixed.changed and not is_misnamed_file(entry.path):
            return None
        root = self.host.roots[0] if self.host.roots else Root(path="", scope="extra")
        scan_root = ScanRoot(entry.root, entry.scope, root)
        skill, path = fixed.skill(entry.path), os.path.join(os.path.dirname(entry.path), SKILL_FILE)
        self._copies.replace(path, fixed.fixed, skill)
        after = self._evaluator.entry(FoundSkill(path, path, scan_root, skill))
        return None if after.state is State.REJECTED and after.rule != "settings" else after

    def _files_to_fix(self, path: str) -> tuple[str, ...]:
        """Return a file to fix, with the copies of it that agents have, which would not be copies otherwise."""
        return path, *self.cures.effects_of_fix(path).copies

    def _steps_before_fix(self, path: str) -> list[str]:
        """Return what `check --fix` of a file needs done by hand first, as sentences."""
        effects = self.cures.effects_of_fix(path)
        steps = [why] if (why := reason_not_to_fix(path)) else []
        return [*steps, *effects.steps(self.host.name), *map(self._step_for_copy, effects.left)]

    def _steps_before_update(self, path: str, installed: InstalledSkill) -> list[str]:
        """Return what an update of an installed skill needs done by hand first, as sentences.

        Args:
            path: of the SKILL.md that it changes.
            installed: the skill.
        """
        effects = self.cures.effects_of_fix(path)
        return [
            *effects.steps(self.host.name),
            *(
                self._step_for_copy(copy)
                for copy in (*effects.copies, *effects.left)
                if not self._follows(copy, installed)
            ),
        ]

    def _follows(self, copy: str, installed: InstalledSkill) -> bool:
        """Return whether an update of an installed skill changes a copy of it too."""
        folder = os.path.dirname(copy)
        is_inside = folder.startswith(os.path.join(installed.root, ""))
        return folder in installed.folders or (is_inside and self.cures.mounted.is_mounted(folder))

    def _step_for_copy(self, copy: str) -> str:
        return f"change {neutral(self.display(copy))} in the same way, which is a copy of it"

    def alone(self, path: str) -> Entry:
        """Return a skill as if it were alone in a folder of the agent."""
        return evaluate_alone(path, self._evaluator)

    def after_fix(self, path: str, entry: Entry | None) -> tuple[Entry, Entry] | None:
        """Return how the agent sees a skill now, and after `check --fix`, if it finds and loads it only then.

        Args:
            path: of the file to fix.
            entry: how the agent sees it now, if it loads it.
        """
        if entry is None and path in self._misnamed:
            entry = self.alone(path)
        elif entry is None or entry.state is not State.REJECTED or entry.rule == "settings":
            return None
        after = self._after_fix(entry)
        return None if after is None or after.state not in REACHABLE else (entry, after)

    # ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def display(self, path: str) -> str:
        """Return a path as people write it: relative to the working directory, or with `~`."""
        return display_path(path, self.catalog.cwd, self.catalog.home)


@lru_cache(maxsize=4)
def _renamed_skill(path: str, data: bytes, name: str) -> tuple[Skill, bytes | None, Skill | None]:
    """Return a skill, its text under another name, and the skill that this is; `None` if it cannot be renamed.

    The agents are asked skill by skill, so the last few are kept.
    """
    skill = from_document(parse_frontmatter(data, path), path)
    renamed = data if skill.name in (None, name) else change_name(data, name)
    if renamed is None:
        return skill, None, None
    copy = os.path.join(os.sep, name, SKILL_FILE)
    return skill, renamed, from_document(parse_frontmatter(renamed, copy), copy)


def rejecting_codes(entry: Entry) -> tuple[str, ...]:
    """Return the codes of the findings because of which an agent rejects a skill; empty if it does not."""
    if entry.state is not State.REJECTED or entry.rule == "settings":
        return ()
    errors = [item.code for item in entry.findings if item.severity is Severity.ERROR]
    return tuple(dict.fromkeys([entry.rule, *errors] if entry.rule in CODES else errors))


def _refusal(skill: Skill) -> str:
    """Return why `mount` refuses a skill; empty if it does not."""
    return next((item.message for item in mount_blockers(skill)), "")


def is_misnamed_file(path: str) -> bool:
    """Return whether a file is called `skill.md`."""
    return os.path.basename(path) != SKILL_FILE and os.path.basename(path).lower() == SKILL_FILE.lower()


def _wrong_name(path: str) -> str:
    return f"the file is called {quoted(os.path.basename(path))}"


def _has_errors(skill: Skill) -> bool:
    return any(item.severity is Severity.ERROR for item in apply_policy(check_skill(skill), "guide"))


def _field_cure(entry: Entry) -> str:
    """Return what to change in a field: the hint of the finding because of which an agent rejects the skill, if any."""
    hint = next((item.hint for item in entry.findings if item.severity is Severity.ERROR and item.hint), None)
    if hint is not None and entry.state is State.REJECTED:
        return hint
    return f"change {entry.rule}: {entry.reason or 'it hides the skill'}"
