"""Say why an agent does not see a skill, and which command or change fixes that.

An agent loses a skill if neither its model nor its user can reach it there. The *cure* of a loss is what to type or to
change. A loss has one of these kinds: `text` (the agent cannot load the file), `place` (it does not search the folder),
`name` (another skill has the name), `setting` (the user has switched it off), `trust` (the user has not trusted the
folder) and `field` (the author has hidden it).
"""

from __future__ import annotations

import os
import re
import shlex

from prowess._internal.files import MAX_SKILL_FILE_BYTES, SKILL_FILE, UnreadableError, display_path
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.findings import CODES, Severity
from prowess.hosts import skills_folder
from prowess.skill import MAX_NAME, check_skill, fix, from_document, is_portable_name, parse_frontmatter

from ._entry import REACHABLE, Entry, State
from ._filesystem import Filesystem
from ._precedence import evaluate_file
from ._roots import git_root
from ._settings import find_hiding_setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prowess.hosts import Setting
    from prowess.skill import Skill

    from ._catalog import Catalog

__all__ = [
    "Loss",
    "FixedFilesystem",
    "LossFinder",
    "is_identical_copy",
    "fix_command",
    "is_refused_by_mount",
    "mount_command",
    "rejecting_codes",
]


class Loss(Frozen):
    """Why one agent does not see one skill, and what to do."""

    kind: str
    """`text`, `place`, `name`, `setting`, `trust` or `field`."""
    reason: str
    codes: tuple[str, ...] = ()
    """The findings because of which the agent rejects the file; also if it does not search its folder either."""
    cure: str
    """A command, or a sentence that says what to change."""
    is_command: bool = False
    """Whether the cure is a command for the shell."""
    needs_fix: bool = False
    """Whether the command begins with `check --fix` of the skill."""
    skips_validation: bool = False
    """Whether the command turns off the validation of `mount`, which refuses the skill."""

    def as_dict(self) -> dict[str, object]:
        """Return the loss in the shape of every `--json` output."""
        return {"kind": self.kind, "reason": self.reason, "codes": [*self.codes], "cure": self.cure}


class LossFinder:
    """Finds the losses of one agent in one place."""

    def __init__(self, catalog: Catalog, fixed_filesystem: Callable[[str], FixedFilesystem]) -> None:
        self.catalog = catalog
        self.fixed_filesystem = fixed_filesystem
        self.host = catalog.host
        self.disabled = next((item for item in catalog.findings if item.code == "host-disabled"), None)

    def loss(self, entry: Entry) -> Loss | None:
        """Return why the agent does not show a skill that it found, or `None` if the model or the user can reach it."""
        if entry.state in REACHABLE:
            return None
        reason = entry.reason or str(entry.state)
        if entry.state is State.SHADOWED:
            return None if is_identical_copy(entry) else self._lost_name(entry, reason)
        if entry.state is State.UNTRUSTED:
            cure = f"trust the folder in {self.host.title}: start it there and confirm, or change its list of folders"
            return Loss(kind="trust", reason=reason, cure=cure)
        if entry.state is State.DISABLED or entry.rule == "settings":
            return Loss(kind="setting", reason=reason, cure=self._setting_cure(entry))
        return self._lost_text(entry, reason)

    def loss_elsewhere(self, path: str, alone: Entry, *, user: bool, taken: str | None) -> Loss | None:
        """Return why the agent does not see a skill in a folder that it does not search.

        Args:
            path: of its SKILL.md.
            alone: the skill, as if it were alone in a folder of the agent.
            user: whether the skill belongs to the user, not to the project.
            taken: the path of another skill, which has its name at this agent.
        """
        codes = rejecting_codes(alone)
        if not self.host.roots:
            return self._lost_text(alone, alone.reason or "") if codes else None
        if self.disabled is not None:
            cure = self.disabled.hint or f"switch on skills in the settings of {self.host.title}"
            return Loss(kind="setting", reason=self.disabled.message, codes=codes, cure=cure.strip())
        folder = os.path.dirname(os.path.dirname(path))
        reason = f"{self.host.title} does not search {neutral(self.display(folder))}"
        if taken is not None:
            other = neutral(self.display(taken))
            return Loss(
                kind="name",
                reason=f"it has another skill of that name, {other}",
                codes=codes,
                cure=f"give one of the two another name, or remove {other}",
            )
        refused = is_refused_by_mount(alone.skill)
        fixed = self._after_fix(alone) if codes or refused else None
        if fixed is not None and not codes and is_refused_by_mount(fixed.skill):
            fixed = None  # the agent loads it as it is, and the fix is not enough for `mount`
        refused = refused if fixed is None else is_refused_by_mount(fixed.skill)
        cure = mount_command(
            [os.path.dirname(path)],
            self.host.name,
            cwd=self.catalog.cwd,
            home=self.catalog.home,
            user=user,
            validate=not refused,
        )
        if fixed is not None:
            cure = f"{fix_command([path], self.catalog.cwd)} && {cure}"
        elif codes:
            cure = f"{self._lost_text(alone, alone.reason or '').cure}; then `{cure}`"
        return Loss(
            kind="place",
            reason=f"{reason}, and {alone.reason}" if codes else reason,
            codes=codes,
            cure=cure,
            is_command=fixed is not None or not codes,
            needs_fix=fixed is not None,
            skips_validation=refused,
        )

    # ── kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _lost_name(self, entry: Entry, reason: str) -> Loss:
        other = neutral(self.display(entry.shadowed_by or ""))
        return Loss(kind="name", reason=reason, cure=f"give one of the two another name, or remove {other}")

    def _setting_cure(self, entry: Entry) -> str:
        """Return what to change in the settings, so that the agent shows a skill."""
        if entry.rule == "max_skills":
            return "raise `max_skills`, or remove other skills"
        catalog = self.catalog
        found = find_hiding_setting(
            self.host,
            project=git_root(catalog.cwd, self.host.git_marker) or catalog.cwd,
            cwd=catalog.cwd,
            home=catalog.home,
            env=os.environ,
            names={entry.name, entry.folder, entry.frontmatter_name or entry.name},
            paths={entry.path, os.path.dirname(entry.path), entry.real, os.path.dirname(entry.real)},
        )
        if found is None:
            return f"switch it on again: it was {entry.reason or 'switched off'}"
        setting, file, written = found
        return f"{_change_of_setting(setting, written)} in {neutral(self.display(file))}"

    def _lost_text(self, entry: Entry, reason: str) -> Loss:
        """Return the loss of a skill that the agent rejects."""
        codes = rejecting_codes(entry)
        if entry.rule not in CODES:
            return Loss(kind="field", reason=reason, codes=codes, cure=_field_cure(entry))
        kind = "field" if entry.rule == "field-type" else "text"
        if self._after_fix(entry) is not None:
            cure = fix_command([entry.path], self.catalog.cwd)
            return Loss(kind=kind, reason=reason, codes=codes, cure=cure, is_command=True, needs_fix=True)
        hint = next((item.hint for item in entry.findings if item.code == entry.rule and item.hint), None)
        return Loss(kind=kind, reason=reason, codes=codes, cure=(hint or f"change this: {reason}").strip())

    def _after_fix(self, entry: Entry) -> Entry | None:
        """Return how the agent sees a skill after `check --fix`, or `None` if it still does not load it."""
        if entry.skill.document is None:
            return None
        fixed = self.fixed_filesystem(entry.path)
        after = evaluate_file(entry.path, self.host, filesystem=fixed) if fixed.changed else None
        return after if after is not None and after.state in REACHABLE else None

    # ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def display(self, path: str) -> str:
        """Return a path as people write it: relative to the working directory, or with `~`."""
        return display_path(path, self.catalog.cwd, self.catalog.home)


class FixedFilesystem(Filesystem):
    """A file system in which one skill is as `check --fix` would write it."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path, self._fixed = path, b""
        self._parsed: Skill | None = None
        try:
            original = super().data(path, MAX_SKILL_FILE_BYTES, follow=False)
        except UnreadableError:
            self.changed = False
            return
        self._fixed = fix(original, folder=os.path.basename(os.path.dirname(path))).data
        self.changed = self._fixed != original

    def skill(self, path: str, *, real: str | None = None, whole: bool = False, body: bool = True) -> Skill:
        """Return the skill as it is after the fix."""
        if path != self.path:
            return super().skill(path, real=real, whole=whole, body=body)
        if self._parsed is None:
            self._parsed = from_document(parse_frontmatter(self._fixed, path), path)
        return self._parsed

    def text(self, real: str) -> str:
        """Return the text as it is after the fix."""
        if real != self.path:
            return super().text(real)
        return self._fixed.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def rejecting_codes(entry: Entry) -> tuple[str, ...]:
    """Return the codes of the findings because of which an agent rejects a skill; empty if it does not."""
    if entry.state is not State.REJECTED or entry.rule == "settings":
        return ()
    errors = [item.code for item in entry.findings if item.severity is Severity.ERROR]
    return tuple(dict.fromkeys([entry.rule, *errors] if entry.rule in CODES else errors))


def is_identical_copy(entry: Entry) -> bool:
    """Return whether a shadowed skill is a byte-identical copy of the one that wins."""
    return any(item.code == "skill-copy" for item in entry.findings)


def fix_command(paths: Iterable[str], cwd: str) -> str:
    """Return the command that fixes the text of skills.

    Args:
        paths: of their SKILL.md files.
        cwd: the working directory, absolute.
    """
    return f"prowess check --fix {' '.join(_shell_path(path, cwd) for path in paths)}{_cwd_option(cwd)}"


def mount_command(folders: Iterable[str], host: str, *, cwd: str, home: str, user: bool, validate: bool = True) -> str:
    """Return the command that puts skills where an agent looks.

    Args:
        folders: those of the skills, or one that contains skills and nothing else.
        host: the agent.
        cwd: the working directory, absolute.
        home: the user's home, absolute.
        user: whether they belong to the user, not to the project.
        validate: whether `mount` accepts them as they are.
    """
    scope = "--project" if not user and skills_folder(host, "project") else f"--to {_shell_home(home)}"
    arguments = [_mount_argument(folder, cwd) for folder in folders]
    more = "" if validate else " --no-validate"
    return f"prowess mount {' '.join(arguments)} {scope} --host {host}{more}{_cwd_option(cwd)}"


def _mount_argument(folder: str, cwd: str) -> str:
    """Return a skill's folder as an argument of `mount`, with a valid name if its own is not."""
    name, path = os.path.basename(folder), _shell_path(folder, cwd)
    if is_portable_name(name) or not os.path.lexists(os.path.join(folder, SKILL_FILE)):
        return path
    valid = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:MAX_NAME].strip("-")
    valid = valid if len(valid) > 1 else f"skill-{valid or 1}"  # some agents want two characters
    return f"{valid}={path}"


def _shell_path(path: str, cwd: str) -> str:
    """Return a path as an argument of a command, relative to the working directory if it is below it."""
    path = path.removesuffix(f"/{SKILL_FILE}") or path
    if path == cwd:
        return "."
    if path.startswith(cwd + os.sep):
        path = path[len(cwd) + 1 :]
        path = path if os.sep in path and not path.startswith(("-", "~")) else f".{os.sep}{path}"
    return shlex.quote(neutral(path))


def _shell_home(home: str) -> str:
    return "~" if home == os.path.expanduser("~") else shlex.quote(neutral(home))


def _cwd_option(cwd: str) -> str:
    return f" --cwd {shlex.quote(neutral(cwd))}" if cwd != _current_folder() else ""


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def is_refused_by_mount(skill: Skill) -> bool:
    """Return whether `mount` validates a skill with errors."""
    return any(
        (CODES[item.code].spec is Severity.ERROR or item.code in ("name-type", "description-type", "field-type"))
        and item.code != "field-unknown"
        for item in check_skill(skill)
    )


def _field_cure(entry: Entry) -> str:
    return f"change {entry.rule}: {entry.reason or 'it hides the skill'}"


def _change_of_setting(setting: Setting, written: str) -> str:
    """Return what to change in a setting that hides a skill.

    Args:
        setting: of the agent.
        written: the skill's name, path or pattern in it.
    """
    name = quoted(written)
    if setting.form == "names":
        return f"remove {name} from `{setting.key}`"
    if setting.form == "effects":
        return f"set {name} in `{setting.key}` to `{next((w for w, e in setting.effects.items() if e == 'on'), 'on')}`"
    return f"set `enabled` of {name} in `{setting.key}` to true"
