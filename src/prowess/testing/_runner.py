"""Find the tests of skills and run them, several cases at once, each in a sandbox and in a fresh copy of the skill.

Cases cannot see each other's files, and the skill itself does not change. The case files and `.git` are not copied, and
neither is `__pycache__`: Python would run a compiled file there in place of its source. Links are copied as links; a
command in a sandbox cannot follow them out of the skill. All cases see the same bytes: a file that has changed since
the skill was listed, or that changes while it is copied, is an error. Results keep the order of the cases.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from contextlib import contextmanager, suppress
from time import perf_counter

from prowess._internal.file_status import describe_file_type, stat_fingerprint
from prowess._internal.files import SKILL_FILE, real_path
from prowess._internal.frozen import Frozen
from prowess._internal.fs import CREATE_FLAGS, FOLDER_FLAGS, READ_FLAGS, open_fd, remove_tree, write_all
from prowess._internal.signals import deferred_signals
from prowess._internal.text import PATH_LIMIT, describe_os_error, did_you_mean, quoted
from prowess.checks import evaluate_path, find_skill_files
from prowess.errors import ConfigError, SandboxError, SkillError, SkillNotFoundError
from prowess.sandbox import CHOICES, Limits, Result, find_backend, make_temp_folder, run, stop
from prowess.session import Trust

from ._cases import load_suite
from ._expect import Failure, decode_output, failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prowess.catalog import Entry
    from prowess.findings import Finding
    from prowess.sandbox import Backend

    from ._cases import Case, Suite

    Path = str | os.PathLike[str]
    Progress = Callable[["SkillResult", "CaseResult"], None]

STATUSES = ("passed", "failed", "error", "timeout")
"""The statuses of a case: `failed` if an expectation is not met, `error` if the case could not run."""


class CaseResult(Frozen):
    """The result of one case."""

    case: Case
    status: str
    """One of `STATUSES`."""
    duration: float = 0.0
    """Seconds that its command took."""
    exit_code: int | None = None
    """`None` if the command did not end on its own."""
    failures: tuple[Failure, ...] = ()
    stdout: str = ""
    """At most the first 1 MiB, less if the cases of a run write very much; invalid UTF-8 is shown as U+FFFD."""
    stderr: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
        return {
            "name": self.case.name,
            "file": self.case.file,
            "status": self.status,
            "duration": round(self.duration, 6),
            "exit_code": self.exit_code,
            "failures": [failure.as_dict() for failure in self.failures],
            "stdout": self.stdout,
            "stderr": self.stderr,
        }


class SkillResult(Frozen):
    """The results of the cases of one skill."""

    name: str
    path: str
    """The skill's folder, absolute."""
    cases: tuple[CaseResult, ...] = ()
    """The cases that ran; empty if there are findings."""
    findings: tuple[Finding, ...] = ()
    """Problems in the test files."""

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
        return {
            "name": self.name,
            "path": self.path,
            "cases": [case.as_dict() for case in self.cases],
            "findings": [item.as_dict() for item in self.findings],
        }


class TestReport(Frozen):
    """The results of a run."""

    __test__ = False  # pytest collects classes whose name begins with `Test`

    skills: tuple[SkillResult, ...] = ()
    interrupted: bool = False
    """Whether the run was interrupted before all cases had run."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of skills, of cases that ran, and of cases with each status."""
        statuses = Counter(case.status for skill in self.skills for case in skill.cases)
        by_status = {status: statuses[status] for status in STATUSES}
        return {"skills": len(self.skills), "cases": statuses.total(), **by_status}

    @property
    def exit_code(self) -> int:
        """0 if all cases passed, 1 if one did not, 2 if a test file is invalid."""
        if any(skill.findings for skill in self.skills):
            return 2
        return int(any(case.status != "passed" for skill in self.skills for case in skill.cases))

    def as_dict(self) -> dict[str, object]:
        """Return it as in `test --json`."""
        skills = [skill.as_dict() for skill in self.skills]
        return {"skills": skills, "interrupted": self.interrupted, "counts": self.counts}


MAX_ENTRIES = 20_000
"""The most files, folders and links a skill may have."""
MAX_BYTES = 512 * 1024 * 1024
"""The most bytes all files of a skill may have."""
_EXCLUDED = frozenset((".git", "tests/cases", "tests/test-config.json"))
_COMPILED = "__pycache__"
_CHUNK_BYTES = 1 << 20


class SkillContents(Frozen):
    """The files to copy: paths relative to the skill's folder, each folder before its contents."""

    folder: str
    folders: tuple[tuple[str, int], ...]
    """Paths and modes."""
    files: tuple[tuple[str, int, tuple[int, ...]], ...]
    """Paths, modes and fingerprints."""
    links: tuple[tuple[str, str], ...]
    """Paths and targets."""


def scan_contents(folder: str) -> SkillContents:
    """List the files of a skill.

    Raises:
        SkillError: the skill cannot be listed, is too large, or contains something that cannot be copied.
    """
    folders: list[tuple[str, int]] = []
    files: list[tuple[str, int, tuple[int, ...]]] = []
    links: list[tuple[str, str]] = []
    waiting, size = [""], 0
    while waiting:
        inner = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as entries:
                for entry in entries:
                    path = f"{inner}/{entry.name}" if inner else entry.name
                    if path in _EXCLUDED or entry.name == _COMPILED:
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        folders.append((path, status.st_mode & 0o777))
                        waiting.append(path)
                    elif stat.S_ISREG(status.st_mode):
                        files.append((path, status.st_mode & 0o777, stat_fingerprint(status)))
                        size += status.st_size
                    elif stat.S_ISLNK(status.st_mode):
                        links.append((path, os.readlink(entry.path)))
                    else:
                        message = f"cannot copy {quoted(path, PATH_LIMIT)}: it is {describe_file_type(status.st_mode)}"
                        raise SkillError(message, hint="remove it from the skill")
                    if len(folders) + len(files) + len(links) > MAX_ENTRIES or size > MAX_BYTES:
                        message = f"the skill has more than {MAX_ENTRIES:,} files or {MAX_BYTES // 1024 // 1024} MiB"
                        raise SkillError(message, hint="remove files that the tests do not need")
        except OSError as error:
            message = f"cannot read {quoted(inner or folder, PATH_LIMIT)}: {describe_os_error(error)}"
            raise SkillError(message, hint="fix its permissions") from None
    # Without the case files, `tests` may be empty; then it is not copied either.
    paths = [item[0] for items in (folders, files, links) for item in items]
    if not any(path.startswith("tests/") for path in paths):
        folders = [item for item in folders if item[0] != "tests"]
    return SkillContents(folder=folder, folders=tuple(folders), files=tuple(files), links=tuple(links))


def fixture_error(contents: SkillContents, path: str) -> str | None:
    """Return why a case cannot have an input file, or `None` if it can.

    Args:
        contents: the files of the skill.
        path: the file, relative to the skill's folder, with `/`.
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path.strip("/. "):
        return f"{quoted(path, PATH_LIMIT)} is outside the skill"
    plain = "/".join(part for part in parts if part not in ("", "."))
    real, top = real_path(os.path.join(contents.folder, plain)), real_path(contents.folder)
    if os.path.commonpath((real, top)) != top:
        return f"{quoted(path, PATH_LIMIT)} is a link to a file outside the skill"
    if not os.path.exists(real):
        return f"{quoted(path, PATH_LIMIT)} does not exist in the skill"
    inner = os.path.relpath(real, top).replace(os.sep, "/")
    if any(f"{inner}/".startswith(f"{excluded}/") for excluded in _EXCLUDED):
        return f"{quoted(path, PATH_LIMIT)} is not copied for a case; move it, for example to `tests/fixtures`"
    return None


@contextmanager
def workspace(contents: SkillContents, *, contained: bool = True) -> Iterator[tuple[str, str]]:
    """Yield a temporary folder for one case and the copy of the skill in it; remove both at the end.

    Args:
        contents: the files of the skill.
        contained: whether the case runs in a sandbox.

    Raises:
        SkillError: a file has changed since it was listed, or cannot be copied.
        SandboxError: no temporary folder can be created.
    """
    top = make_temp_folder("case", contained=contained)
    copy = os.path.join(top, os.path.basename(contents.folder) or "skill")
    try:
        try:
            _copy(contents, copy)
        except OSError as error:
            message = f"cannot copy the skill: {describe_os_error(error)}"
            raise SkillError(message, hint="check whether the disk is full or the skill has changed") from None
        yield top, copy
    finally:
        _remove_copy(contents, copy, top)


def _copy(contents: SkillContents, copy: str) -> None:
    os.mkdir(copy, 0o700)
    for path, mode in contents.folders:
        os.mkdir(f"{copy}/{path}", mode | 0o700)
    for path, mode, fingerprint in contents.files:
        _copy_file(contents.folder, copy, path, mode, fingerprint)
    for path, target in contents.links:
        os.symlink(target, f"{copy}/{path}")


def _copy_file(folder: str, copy: str, path: str, mode: int, fingerprint: tuple[int, ...]) -> None:
    """Copy a file that is as it was when it was listed.

    Raises:
        SkillError: it is not.
        OSError: it cannot be copied.
    """
    with open_fd(f"{folder}/{path}", READ_FLAGS) as source:
        size, before = 0, os.fstat(source)
        if stat_fingerprint(before) == fingerprint:
            with open_fd(f"{copy}/{path}", CREATE_FLAGS, mode | 0o600) as target:
                # The block closes the copy before a command runs: a file that is open for writing cannot be executed.
                while size <= before.st_size and (data := os.read(source, _CHUNK_BYTES)):
                    size += len(data)
                    write_all(target, data)
        if size != before.st_size or stat_fingerprint(os.fstat(source)) != fingerprint:
            message = f"{quoted(path, PATH_LIMIT)} changed while the tests were running"
            raise SkillError(message, hint="run the tests again when nothing writes to the skill")


def _remove_copy(contents: SkillContents, copy: str, top: str) -> None:
    """Remove a copy: first only the files that were copied, which usually is all, then the rest.

    A command may have replaced folders by links, so no path inside the copy is followed.
    """
    with suppress(OSError):
        if not contents.folders:
            with open_fd(copy, FOLDER_FLAGS) as fd:
                for path in [item[0] for item in contents.files] + [item[0] for item in contents.links]:
                    os.unlink(path, dir_fd=fd)
            os.rmdir(copy)
        os.rmdir(top)
        return
    remove_tree(top)


class SuiteRun:
    """A run of the tests of one skill."""

    def __init__(self, suite: Suite, sandbox: str) -> None:
        self.suite = suite
        self._sandbox = sandbox
        self._backend: Backend | Failure | None = None
        self._runs_on_trust = False
        self._contents: SkillContents | Failure | None = None

    def result(self, cases: tuple[CaseResult, ...] = ()) -> SkillResult:
        """Return the result of the skill, with the results of its cases."""
        suite = self.suite
        return SkillResult(name=suite.name, path=suite.path, cases=cases, findings=suite.findings)

    def blocking_failure(self, case: Case) -> Failure | None:
        """Return why a case cannot run, or `None` if it can."""
        prepared = self._prepare(case)
        return prepared if isinstance(prepared, Failure) else None

    def run(self, case: Case) -> CaseResult:
        """Run one case."""
        start = perf_counter()
        prepared = self._prepare(case)
        if isinstance(prepared, Failure):
            failure = prepared
        else:
            try:
                backend, contents = prepared
                if not self._runs_on_trust:
                    return self._run_command(case, backend, contents)
                with self._trusted_contents(case) as trusted:
                    return self._run_command(case, backend, trusted)
            except SandboxError as error:
                failure = _failure_from_error("sandbox", error)
            except SkillError as error:
                failure = _failure_from_error("skill", error)
        return CaseResult(case=case, status="error", duration=perf_counter() - start, failures=(failure,))

    def _prepare(self, case: Case) -> tuple[Backend, SkillContents] | Failure:
        """Return what a case needs to run, or why it cannot run."""
        backend, contents = self._choose_backend(), self._scan_skill()
        if isinstance(backend, Failure):
            return backend
        if isinstance(contents, Failure):
            return contents
        problems = (fixture_error(contents, path) for path in case.files)
        message = next((problem for problem in problems if problem is not None), None)
        return (backend, contents) if message is None else Failure(kind="files", message=message)

    def _choose_backend(self) -> Backend | Failure:
        """Return the sandbox for the commands of this skill, or why no sandbox is available. It is chosen once."""
        if self._backend is None:
            try:
                self._backend = find_backend(self._sandbox)
            except SandboxError as error:
                if self._sandbox == "auto" and Trust().allows(self._entry()):
                    self._runs_on_trust = True
                    self._backend = find_backend("auto", trusted=True)
                else:
                    self._backend = _failure_from_error("sandbox", error)
        return self._backend

    def _entry(self) -> Entry:
        return evaluate_path(os.path.join(self.suite.path, SKILL_FILE), "prowess").with_changes(scope="extra")

    @contextmanager
    def _trusted_contents(self, case: Case) -> Iterator[SkillContents]:
        """Yield the files of a sealed copy of the skill, for a case that runs without a sandbox because of trust.

        Raises:
            SkillError: the user does not trust the skill any more, or the case is not part of what they trust.
        """
        with Trust().sealed_copy(self._entry(), contained=False) as copy:
            trusted = load_suite(copy.folder)
            if trusted.findings or case not in trusted.cases or trusted.env != self.suite.env:
                message = f"{quoted(case.file)} changed while the tests were running"
                raise SkillError(message, hint="run the tests again when nothing writes to the skill")
            yield scan_contents(copy.folder)

    def _scan_skill(self) -> SkillContents | Failure:
        """Return the files of the skill, or why they cannot be copied. They are listed once."""
        if self._contents is None:
            try:
                self._contents = scan_contents(self.suite.path)
            except SkillError as error:
                self._contents = _failure_from_error("skill", error)
        return self._contents

    def _run_command(self, case: Case, backend: Backend, contents: SkillContents) -> CaseResult:
        with workspace(contents, contained=backend.name != "none") as (scratch, copy):
            result = run(
                ["/bin/sh", "-c", case.command],
                cwd=copy,
                env=self.suite.env,
                stdin=None if case.stdin is None else case.stdin.encode("utf-8", "surrogateescape"),
                limits=Limits(timeout=self.suite.timeout),
                # The copy is writable with any sandbox, as it is without one.
                writable=(copy,),
                scratch=scratch,
                sandbox=backend,
                # Nothing but the copy can be seen, which contains no socket: those it makes are its own.
                unix_sockets=(),
            )
        return _case_result(case, result, self.suite.timeout)


def _failure_from_error(kind: str, error: SkillError | SandboxError) -> Failure:
    return Failure(kind=kind, message=f"{error}{f' ({error.hint})' if error.hint else ''}")


def _case_result(case: Case, result: Result, timeout: float) -> CaseResult:
    """Compare the result of a command with what its case expects."""
    if result.timed_out:
        status = "timeout"
        message = f"timed out after {timeout:g} s; the command and all its processes were ended"
        case_failures: tuple[Failure, ...] = (Failure(kind="timeout", message=message),)
    else:
        case_failures = tuple(failures(case, result))
        status = "failed" if case_failures else "passed"
        if case_failures and result.out_of_memory:
            message = f"it used more than the {Limits().memory or 0:,} bytes of memory that a case may use"
            case_failures = (Failure(kind="memory", message=message), *case_failures)
    return CaseResult(
        case=case,
        status=status,
        duration=result.duration,
        exit_code=result.exit_code,
        failures=case_failures,
        stdout=decode_output(result.stdout),
        stderr=decode_output(result.stderr),
    )


_POLL_SECONDS = 0.05
"""How often the main thread checks for signals and reports progress."""
_MAX_OUTPUT_CHARS = 64 * 1024 * 1024
"""Characters of output that a run keeps; after that, only the first few of each case."""
_TRUNCATED_CHARS = 4_000


def run_tests(
    paths: Path | Iterable[Path] = ".",
    *,
    case: str | None = None,
    jobs: int = 1,
    sandbox: str = "auto",
    fail_fast: bool = False,
    progress: Progress | None = None,
) -> TestReport:
    """Run the tests of skills.

    Args:
        paths: folders of skills, or folders that contain skills.
        case: run only the cases with this name or file name.
        jobs: how many cases run at once.
        sandbox: one of `sandbox.CHOICES`.
        fail_fast: whether to stop after the first case that does not pass.
        progress: called with each result, in the caller's thread, within a twentieth of a second.

    Raises:
        SkillNotFoundError: no such path, or no such case.
        ConfigError: unknown sandbox.
    """
    path_list = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    suites = [suite for path in path_list for suite in find_suites(os.path.abspath(os.fspath(path)))]
    return run_suites(suites, case=case, jobs=jobs, sandbox=sandbox, fail_fast=fail_fast, progress=progress)


def find_suites(path: str) -> list[Suite]:
    """Return the tests of a skill, or of all skills below a folder. Skills without tests are left out.

    Raises:
        SkillNotFoundError: no such path.
    """
    files, _ = find_skill_files(path)
    suites = (load_suite(os.path.dirname(file)) for file in files if os.path.basename(file) == SKILL_FILE)
    return [suite for suite in suites if suite.cases or suite.findings]


def run_suites(
    suites: Iterable[Suite],
    *,
    case: str | None = None,
    jobs: int = 1,
    sandbox: str = "auto",
    fail_fast: bool = False,
    progress: Progress | None = None,
) -> TestReport:
    """Run loaded tests; otherwise like `run_tests`."""
    if sandbox not in CHOICES:
        hint = did_you_mean(sandbox, CHOICES, f"use one of {', '.join(CHOICES)}")
        raise ConfigError(f"unknown sandbox {quoted(sandbox)}", hint=hint)
    suites = [*{suite.path: suite for suite in suites}.values()]
    selected = {suite.path: suite.cases if case is None else suite.matching_cases(case) for suite in suites}
    if case is not None:
        _require_case(case, suites, selected)
        suites = [suite for suite in suites if selected[suite.path] or suite.findings]
    runs = [SuiteRun(suite, sandbox) for suite in suites]
    queue = [
        (suite_number, case_number, queued)
        for suite_number, suite in enumerate(suites)
        if not suite.findings
        for case_number, queued in enumerate(selected[suite.path])
    ]
    pool = _WorkerPool(runs, queue, fail_fast=fail_fast, progress=progress)
    interrupted = pool.run(jobs)
    skills = (
        suite_run.result(tuple(pool.results[key] for key in sorted(pool.results) if key[0] == number))
        for number, suite_run in enumerate(runs)
    )
    return TestReport(skills=tuple(skills), interrupted=interrupted)


def _require_case(case: str, suites: list[Suite], selected: dict[str, tuple[Case, ...]]) -> None:
    """Check that a suite has the case.

    Raises:
        SkillNotFoundError: none of them has it.
    """
    if any(selected.values()) or any(suite.findings for suite in suites):
        return
    names = (known.name for suite in suites for known in suite.cases)
    raise SkillNotFoundError(
        f"unknown case {quoted(case)}", hint=did_you_mean(case, names, "`prowess test --list` shows the cases")
    )


class _WorkerPool:
    """Threads that run cases from a queue.

    The calling thread only polls, so that Ctrl-C works at once. Workers do not wake it for each case, because that
    would take as long as a case does.
    """

    def __init__(
        self, runs: list[SuiteRun], queue: list[tuple[int, int, Case]], *, fail_fast: bool, progress: Progress | None
    ) -> None:
        self.results: dict[tuple[int, int], CaseResult] = {}
        """The number of a suite and of a case to its result."""
        self._suite_runs, self._queue = runs, deque(queue)
        self._fail_fast, self._progress = fail_fast, progress
        self._pending_progress: deque[tuple[SkillResult, CaseResult]] = deque()
        self._worker_errors: list[BaseException] = []
        self._stopped, self._output_chars = False, 0

    def run(self, jobs: int) -> bool:
        """Run all cases and return whether Ctrl-C interrupted them. No command runs after this returns or raises."""
        from threading import Thread

        workers = [Thread(target=self._run_queued, daemon=True) for _ in range(max(1, min(jobs, len(self._queue))))]
        with deferred_signals() as deliver_signals:
            try:
                for worker in workers:
                    worker.start()
                while any(worker.is_alive() for worker in workers):
                    deliver_signals()
                    next((worker for worker in workers if worker.is_alive()), workers[0]).join(_POLL_SECONDS)
                    self._report_progress()
                deliver_signals()
            except KeyboardInterrupt:
                return True
            finally:
                self._stopped = True
                self._queue.clear()
                # A worker may start its command after `stop`, so stop again until all workers have ended.
                while alive := [worker for worker in workers if worker.is_alive()]:
                    stop()
                    alive[0].join(_POLL_SECONDS)
        self._report_progress()
        for error in self._worker_errors:
            raise error
        return False

    def _run_queued(self) -> None:
        """Run cases until the queue is empty."""
        try:
            while not self._stopped:
                try:
                    suite_number, case_number, case = self._queue.popleft()
                except IndexError:
                    return
                result = self._suite_runs[suite_number].run(case)
                if self._was_stopped(result):
                    return
                self._output_chars += len(result.stdout) + len(result.stderr)
                if self._output_chars > _MAX_OUTPUT_CHARS:
                    result = result.with_changes(
                        stdout=result.stdout[:_TRUNCATED_CHARS], stderr=result.stderr[:_TRUNCATED_CHARS]
                    )
                self.results[suite_number, case_number] = result
                if self._progress is not None:
                    self._pending_progress.append((self._suite_runs[suite_number].result(), result))
                if self._fail_fast and result.status != "passed":
                    self._queue.clear()
        except BaseException as error:  # noqa: BLE001 - `run` raises it in the calling thread
            self._worker_errors.append(error)
            self._queue.clear()

    def _was_stopped(self, result: CaseResult) -> bool:
        """Return whether a case failed only because the run was stopped."""
        return self._stopped and any(failure.kind == "sandbox" for failure in result.failures)

    def _report_progress(self) -> None:
        while self._progress is not None and self._pending_progress:
            self._progress(*self._pending_progress.popleft())
