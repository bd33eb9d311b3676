"""Give each run its arm: a fresh folder with the files of the case and the skill of the arm, and a home beside it."""

from __future__ import annotations

import os
import shutil

from prowess._internal.files import UnreadableError, is_inside, read_file, real_path, skill_files
from prowess._internal.text import PATH_LIMIT, describe_os_error, normalize_name, quoted
from prowess.catalog import discover
from prowess.checks import find_skill_files
from prowess.errors import ConfigError
from prowess.hosts import load_host
from prowess.sandbox import find_backend
from prowess.skill import is_portable_name
from prowess.visibility import KIND_WORDS, Kind, kind_of

from ._grade import grade, run_check
from ._place import SKILLS, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prowess.catalog import Entry
    from prowess.hosts import Host

    from ._cases import EvalCase, Evals
    from ._place import Ran

    _Files = Mapping[str, tuple[bytes, bool]]

_HIDDEN = ("evals/", "eval.yaml", "eval.yml", "tests/eval.yaml", "tests/eval.yml")
"""What of a skill no run sees: its own cases; neither does it see the files that were read."""
_MOST_BYTES = 64 * 1024 * 1024


class Arms:
    """The two sets of skills that are compared: the skill, and no skill or another version of it.

    The skill and the files of all cases are read when this is made, so that no run changes what another one gets.

    Args:
        evals: the cases.
        other: the folder of the skill that the second arm has: an older version, or the same one to test chance. By
            default the second arm has no skill.
        neighbours: folders of other skills, which both arms have.
        skills: where the agent looks for skills, relative to its folder.
        host: by whose rules it is predicted what each arm sees.
        arguments: with which the agent is started, as far as they change what it sees.

    Raises:
        ConfigError: a file cannot be read, the files are too large, a case brings a skill, or the arms do not differ.
        SandboxError: a case is graded by a command, and this machine has no sandbox.
    """

    def __init__(
        self,
        evals: Evals,
        other: str | None = None,
        *,
        neighbours: Sequence[str] = (),
        skills: str = SKILLS,
        host: str | Host = "prowess",
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.evals, self.is_null = evals, other == evals.folder
        name = evals.name if is_portable_name(evals.name) else os.path.basename(evals.folder)
        self.skill_folder = f"{skills}/{name}"
        """Where a run has the skill, relative to its folder."""
        self.hidden_folder = skills if neighbours else self.skill_folder
        """Where a run has skills, relative to its folder: what is in it is no output."""
        self.is_alone = other is None
        """Whether only the first arm has the skill."""
        self._host, self._arguments = load_host(host) if isinstance(host, str) else host, arguments
        self._title = "an agent" if host == "prowess" else self._host.title
        self._bytes = 0
        tops = [real_path(top) for top in (evals.folder, other) if top is not None]
        self._case_files = {os.path.relpath(real_path(file), top) for file in evals.files for top in tops}
        self._skills = (self._read_skill(evals.folder), None if other is None else self._read_skill(other))
        if self._skills[0] == self._skills[1] and not self.is_null:
            hint = "name another version; `--null` runs the same one twice, to test chance"
            raise ConfigError("the files of both versions are the same", hint=hint)
        self._neighbours = {f"{skills}/{os.path.basename(folder)}": self._read_skill(folder) for folder in neighbours}
        self._fixtures = {
            id(case): {  # two files may have the same ids
                fixture.path: (self._read(fixture.source) if fixture.source else fixture.text.encode(), False)
                for fixture in case.fixtures
            }
            for case in evals.cases
        }
        self._checks = {
            folder: self._read_checks(folder)
            for folder in {
                os.path.dirname(case.path)
                for case in evals.cases
                if any(grader.kind == "command" for grader in case.graders)
            }
        }
        if self._checks:
            find_backend("auto")
        self._check()

    def _read_checks(self, folder: str) -> _Files:
        """Return the files beside a case, for the commands that grade it; no run sees them."""
        paths = {name: os.path.join(folder, *name.split("/")) for name, _ in skill_files(folder)}
        return {name: (self._read(path), os.access(path, os.X_OK)) for name, path in paths.items()}

    def _read_skill(self, folder: str) -> _Files:
        """Return the files of a skill that a run sees, and whether each may be executed."""
        paths = {name: os.path.join(folder, *name.split("/")) for name, _ in skill_files(folder)}
        return {
            name: (self._read(path), os.access(path, os.X_OK))
            for name, path in paths.items()
            if not name.startswith(_HIDDEN) and name not in self._case_files
        }

    def _read(self, path: str) -> bytes:
        try:
            data = read_file(path, _MOST_BYTES)
        except UnreadableError as error:
            message = f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}"
            raise ConfigError(message, hint="a file of a case must be a regular file") from None
        self._bytes += len(data)
        if self._bytes > _MOST_BYTES:
            raise ConfigError("the skill and the files of its cases have more than 64 MiB", hint="use smaller files")
        return data

    def _check(self) -> None:
        """Predict what the program finds in each arm.

        Raises:
            ConfigError: the skill is not what an agent would load, or the arm without it has it too.
        """
        without_files = [case for case in self.evals.cases if not case.fixtures]
        # All cases without files have the same folder.
        for case in [*without_files[:1], *(case for case in self.evals.cases if case.fixtures)]:
            for arm in (1, 0):
                with Place() as place:
                    self.fill(place, case, arm)
                    seen = self._seen(place)
                    own = [entry for entry in seen if is_inside(entry.real, real_path(place.skill))]
                    if self._skills[arm] is None:
                        if seen:
                            message = f"without the skill, {quoted(self.evals.name)} is found in {quoted(seen[0].root)}"
                            hint = f"remove it there, or from the files of case {quoted(case.id)}"
                            raise ConfigError(message, hint=hint)
                    elif not any(kind_of(entry) is Kind.SEEN for entry in own):
                        entry = next(iter((*own, *seen)), None)
                        reason = f": {KIND_WORDS[kind_of(entry)]}, {entry.reason}" if entry is not None else ""
                        message = f"{self._title} would not load {quoted(self.evals.name)}{reason}"
                        raise ConfigError(message, hint="`prowess check` says why")

    def _seen(self, place: Place) -> list[Entry]:
        """Return the skills with the name of this one that the agent finds, whatever it does with them."""
        catalog = discover(
            place.work, host=self._host, home=place.home, env={}, client_args=self._arguments, cache=False
        )
        own = normalize_name(self.evals.name)
        return [entry for entry in catalog.skills if own in (normalize_name(entry.name), normalize_name(entry.folder))]

    def files_of(self, case: EvalCase) -> Mapping[str, bytes]:
        """Return the files of a case, by their paths in the folder of a run."""
        return {path: data for path, (data, _) in self._fixtures[id(case)].items()}

    def fill(self, place: Place, case: EvalCase, arm: int) -> None:
        """Write the files of a case, and the skill that an arm has.

        Args:
            place: the folders of the run.
            case: of the eval.
            arm: 0 has the skill; 1 has no skill, or another version.

        Raises:
            ConfigError: they do not fit into one folder.
        """
        place.name, place.has_skill = self.evals.name, self._skills[arm] is not None
        place.skill = os.path.normpath(os.path.join(place.work, *self.skill_folder.split("/")))
        try:
            _write(place.work, self._fixtures[id(case)])
            _write(place.skill, self._skills[arm] or {})
            for folder, files in self._neighbours.items():
                _write(os.path.join(place.work, *folder.split("/")), files)
        except (OSError, ValueError) as error:
            message = f"the files of case {quoted(case.id)} cannot be written: {describe_os_error(error)}"
            raise ConfigError(
                message, hint="give each file a path of its own, which is not the folder of another"
            ) from None

    def grade(self, place: Place, case: EvalCase, ran: Ran) -> tuple[bool | None, ...]:
        """Return whether a run that has ended passes each grader of its case.

        Args:
            place: the folders of the run.
            case: of the eval.
            ran: the run.
        """
        name, is_alone = self.evals.name, self.is_alone
        grades = [*grade(case.graders, ran, place.work, self.hidden_folder, name=name, is_alone=is_alone)]
        for number, grader in enumerate(case.graders):
            if grader.kind == "command":
                # Of what it writes, no other grader and no record sees anything.
                with Place() as copy:
                    if real_path(place.work) != place.work:
                        grades[number] = False
                        continue
                    shutil.copytree(place.work, copy.work, symlinks=True, dirs_exist_ok=True)
                    _write(copy.home, self._checks[os.path.dirname(case.path)])
                    grades[number] = run_check(grader, copy.work, copy.home)
        return tuple(grades)


def neighbours_of(folder: str) -> list[str]:
    """Return the folders of the other skills in the folder that a skill is in, such as those of its plugin.

    Raises:
        ConfigError: two of them have the same name.
    """
    own = os.path.join(real_path(folder), "")
    found: dict[str, str] = {os.path.basename(real_path(folder)): folder}
    for path in find_skill_files(os.path.dirname(real_path(folder)))[0]:
        other = os.path.dirname(path)
        if os.path.join(real_path(other), "").startswith(own):
            continue
        first = found.setdefault(os.path.basename(other), other)
        if first != other:
            message = f"two skills have a folder with the same name: {quoted(first, PATH_LIMIT)}"
            raise ConfigError(f"{message} and {quoted(other, PATH_LIMIT)}", hint="rename one of them")
    return list(found.values())[1:]


def _write(top: str, files: _Files) -> None:
    for name, (data, is_executable) in files.items():
        path = os.path.join(top, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
        if is_executable:
            os.chmod(path, 0o700)
