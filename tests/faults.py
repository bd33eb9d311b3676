#!/usr/bin/env python3
"""Plant random faults in the source, one at a time, and say which share of them the tests find.

    python tests/faults.py --count 200 --seed 1 --jobs 2 [--rooms skill mount] [--at COMMIT] [--json FILE]

Each fault is in a copy of the repository. First all tests run once, to see which of them run which lines. Of those that
run the line of a fault, the ones that mirror its module run first, then the quickest, until one fails or they have
taken a minute; for a line that runs on import alone, those that run anything of the module. A line that only other
processes run, which are not watched, is tried with the tests of its module and room. A test that fails without the
fault too does not count. Before and after a change, the same seed and count give shares that can be compared.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOP = Path(__file__).resolve().parents[1]
PACKAGE = "src/prowess"
OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
NOT_TESTED = ("tests/adapters", "tests/real", "tests/cases/README.md")
"""Folders whose tests need more than the environment of development."""

NO_START = "pytest does not start"
MOST_SECONDS = 60.0
"""That the tests of one fault take, without it."""


@dataclass(kw_only=True)
class Fault:
    """A change of one place, and what the tests say of it."""

    module: str
    line: int
    kind: str
    before: str
    after: str
    start: int = field(repr=False)
    end: int = field(repr=False)
    found: str | None = None
    """The test that failed, or `time-out` if those of its module or room never end."""

    @property
    def room(self) -> str:
        """The package below `prowess`, or a module beside them."""
        return self.module.removeprefix(f"{PACKAGE}/").partition("/")[0]

    def source(self, source: bytes) -> bytes:
        """Return a module with the fault."""
        return source[: self.start] + self.after.encode() + source[self.end :]


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def faults_of(module: str, source: bytes) -> list[Fault]:
    """Return all faults that can be planted in a module."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for kind, node, after in _changes(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        found.append(
            Fault(module=module, line=node.lineno, kind=kind, before=before, after=after, start=start, end=end)
        )
    return sorted(found, key=lambda fault: (fault.start, fault.kind, fault.after))


def _is_other_code(before: bytes, after: bytes) -> bool:
    try:
        return ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
    except SyntaxError:
        return False


def _changes(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Return kinds of faults, the nodes that they replace, and by what."""
    for node in _nodes(tree):
        match node:
            case ast.Compare(ops=[one]) if type(one) in OTHER_COMPARISON:
                turned = ast.Compare(node.left, [OTHER_COMPARISON[type(one)]()], node.comparators)
                yield "comparison", node, f"({ast.unparse(turned)})"
            case ast.If() | ast.While() | ast.IfExp() if not _names(node.test, "TYPE_CHECKING"):
                yield "condition", node.test, f"(not ({ast.unparse(node.test)}))"
            case ast.BoolOp():
                other = ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
                yield "condition", node, f"({ast.unparse(other)})"
            case ast.Constant(value=bool() as value):
                yield "constant", node, repr(not value)
            case ast.Constant(value=int() as value):
                yield "constant", node, repr(value + 1)
            case ast.Constant(value=str() as value) if value:
                yield "constant", node, f"({value + 'x'!r})"
            case ast.Expr(value=ast.Call()) | ast.Assign() | ast.AugAssign():
                yield "statement", node, "pass"
            case ast.Call(keywords=[*_, ast.keyword(arg=str())]):
                fewer = ast.Call(node.func, node.args, node.keywords[:-1])
                yield "argument", node, f"({ast.unparse(fewer)})"
            case ast.Return(value=ast.expr() as value) if not _is_null(value):
                yield "return", value, "None" if not _is_boolean(value) else f"(not ({ast.unparse(value)}))"


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Return all nodes that run: no annotations, docstrings, f-string parts, decorators or names of the module."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.Assign) and _names(node.targets[0], "__all__"):
                continue
            yield node
            yield from _nodes(node)


def _names(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_null(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_boolean(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def chosen(top: Path, count: int, seed: int, rooms: Sequence[str]) -> list[Fault]:
    """Return random faults, as many of each kind as chance gives where each kind is as likely."""
    by_kind: dict[str, list[Fault]] = {}
    sources: dict[str, bytes] = {}
    for path in sorted((top / PACKAGE).rglob("*.py")):
        module = path.relative_to(top).as_posix()
        room = module.removeprefix(f"{PACKAGE}/").partition("/")[0]
        source = path.read_bytes()
        if (not rooms or room in rooms) and b"` writes this module" not in source[:500]:
            sources[module] = source
            for fault in faults_of(module, source):
                by_kind.setdefault(fault.kind, []).append(fault)
    dice = random.Random(seed)  # noqa: S311 - nothing secret
    kinds, found = sorted(by_kind), list[Fault]()
    while kinds and len(found) < count:
        fault = dice.choice(by_kind[dice.choice(kinds)])
        if _is_other_code(sources[fault.module], fault.source(sources[fault.module])):
            found.append(fault)
    return found


# ── copies of the repository ─────────────────────────────────────────────────────────────────────────────────────────


class Copy:
    """A clone of the repository with an environment of its own, in which faults are planted."""

    def __init__(self, top: Path, commit: str, minutes: float) -> None:
        self.top, self.watched_top, self.seconds = top, top, minutes * 60
        commands: list[list[str | Path]] = [
            ["git", "clone", "--quiet", "--shared", "--no-checkout", TOP, top],
            ["git", "-C", top, "checkout", "--quiet", commit],
            [sys.executable, "-m", "venv", "--without-pip", top / ".venv"],
        ]
        for command in commands:
            subprocess.run(command, check=True, capture_output=True)
        self.python = top / ".venv/bin/python"
        packages = next((top / ".venv/lib").glob("python*/site-packages"))
        # The files .pth of the other environment, such as that of its editable installation, do not count here.
        (packages / "copy.pth").write_text(f"{top / 'src'}\n{sysconfig.get_path('purelib')}\n")
        for script in Path(sys.executable).parent.iterdir():
            target = top / ".venv/bin" / script.name
            if not target.exists():
                first, _, rest = script.read_bytes().partition(b"\n")
                target.write_bytes(f"#!{self.python}\n".encode() + rest if b"python" in first else first + b"\n" + rest)
                target.chmod(0o755)
        self.broken: set[str] = set()
        """Tests that fail without a fault."""
        self.durations: dict[str, float] = {}
        """Of each test, in seconds."""
        self.watched: dict[str, dict[int, set[str]]] = {}

    def twin(self, top: Path, commit: str) -> Copy:
        """Return another copy that knows the same of the tests."""
        other = Copy(top, commit, self.seconds / 60)
        other.durations, other.watched_top = self.durations, self.watched_top
        return other

    def try_fault(self, fault: Fault) -> Fault:
        """Plant a fault, run the tests, and take it away."""
        path = self.top / fault.module
        source = path.read_bytes()
        try:
            for tests in self.stages(fault):
                fault.found = self.failing(path, source, fault, tests)
                if fault.found:
                    break
        finally:
            path.write_bytes(source)
        return fault

    def failing(self, path: Path, source: bytes, fault: Fault, tests: list[str]) -> str | None:
        """Return the first test that fails with the fault, and not without it."""
        while True:
            path.write_bytes(fault.source(source))
            test = self.first_failure(tests)
            if test is None or test == "time-out":
                return test
            path.write_bytes(source)
            if "::" not in test or self.first_failure([test]) in (None, NO_START):
                return test
            self.broken.add(test)

    def watch_tests(self) -> None:
        """Run all tests once, and keep which of them run which lines, and how long each takes."""
        settings = self.top / ".git/coverage.ini"
        settings.write_text(f"[run]\nsource = {self.top / PACKAGE}\ndata_file = {self.top}/.git/watched\n", "utf-8")
        report = self.top / ".git/tests.xml"
        options = [
            "-n",
            "auto",
            "--dist",
            "worksteal",
            f"--cov={self.top / PACKAGE}",
            "--cov-context=test",
            "--cov-report=",
        ]
        command: list[str | Path] = [self.python, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *options]
        command += [f"--cov-config={settings}", f"--junitxml={report}", "tests"]
        command += [f"--ignore={path}" for path in (*NOT_TESTED, "tests/support")]
        subprocess.run(command, cwd=self.top, env=self.environment(), check=False, capture_output=True)
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by pytest just now
            module = f"{case.get('classname', '').replace('.', '/')}.py"
            self.durations[f"{module}::{case.get('name')}"] = float(case.get("time", 0))

    def tests_of_lines(self, module: str) -> dict[int, set[str]]:
        """Return the tests that run each line of a module."""
        from coverage import CoverageData  # type: ignore[import-not-found]  # in the environment of this task alone

        if module not in self.watched:
            data = CoverageData(str(self.watched_top / ".git/watched"))
            data.read()
            lines = data.contexts_by_lineno(str(self.watched_top / module))
            self.watched[module] = {
                line: {test.rpartition("|")[0] for test in tests if test} for line, tests in lines.items()
            }
        return self.watched[module]

    def stages(self, fault: Fault) -> Iterator[list[str]]:
        """Return the tests that run the line of a fault; else those of its module, and those of its room."""
        names, room = self.mirrors(fault.module)
        lines = self.tests_of_lines(fault.module)
        tests = lines.get(fault.line) or (set().union(*lines.values()) if fault.line in lines else set())
        tests = {test for test in tests if test in self.durations}
        if tests:
            left = MOST_SECONDS
            chosen: list[str] = []
            for test in sorted(
                tests, key=lambda test: (test.partition("::")[0] not in names, self.durations[test], test)
            ):
                left -= self.durations[test]
                if left < 0 and chosen:
                    break
                chosen.append(test)
            listed = self.top / ".git/tests.txt"
            listed.write_text("\n".join(chosen), "utf-8")
            yield [f"@{listed}"]
            return
        if names:
            yield names
        if room:
            yield [room]

    def mirrors(self, module: str) -> tuple[list[str], str]:
        """Return the files of tests that mirror a module or name it, and the folder of those of its room, if any."""
        *folders, name = module.removeprefix(f"{PACKAGE}/").removesuffix(".py").split("/")
        word = name.strip("_") if name != "__init__" else (folders[-1] if folders else "imports")
        room = self.top / "tests" / folders[0] if folders else self.top / "tests"
        own = {path for path in (self.top / "tests").rglob(f"test_{word}*.py") if not folders or room in path.parents}
        dotted = ".".join(["prowess", *folders, name])
        own |= {path for path in (self.top / "tests").rglob("test_*.py") if dotted in path.read_text("utf-8")}
        names = [path.relative_to(self.top).as_posix() for path in sorted(own)]
        has_room = folders and room.is_dir() and not f"tests/{folders[0]}".startswith(NOT_TESTED)
        return [path for path in names if not path.startswith(NOT_TESTED)], f"tests/{folders[0]}" if has_room else ""

    def first_failure(self, tests: list[str]) -> str | None:
        """Run tests until one fails, and return it."""
        command: list[str | Path] = [
            self.python,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            "-rfE",
            *tests,
        ]
        command += [f"--deselect={test}" for test in sorted(self.broken)]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=self.top, env=self.environment(), stdout=pipe, stderr=pipe, text=True, start_new_session=True
        ) as process:
            try:
                output, _ = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return "time-out"
        if process.returncode in (0, 5):
            return None
        match = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        return match[1] if match else NO_START

    def environment(self) -> dict[str, str]:
        """Return the variables with which its tests run."""
        path = f"{self.python.parent}:{os.environ['PATH']}"
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "1000", "PATH": path}
        env.pop("PYTHONPATH", None)
        return env


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


def table(faults: Sequence[Fault]) -> str:
    """Return what was found, a row for each room and each kind."""
    lines = ["", f"{'':24}planted  found"]
    for title, key in (("room", "room"), ("kind", "kind")):
        planted = Counter(getattr(fault, key) for fault in faults)
        found = Counter(getattr(fault, key) for fault in faults if fault.found)
        lines += [f"{title} {name:<{23 - len(title)}}{planted[name]:>7}  {found[name]:>5}" for name in sorted(planted)]
    share = sum(bool(fault.found) for fault in faults) / max(1, len(faults))
    return "\n".join([*lines, f"{share:.1%} of {len(faults)} faults are found"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant faults, and print those that no test finds and a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", default=[])
    parser.add_argument("--at", metavar="COMMIT", default="HEAD")
    parser.add_argument("--minutes", type=float, default=10, help="for each run of tests; more counts as found")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    commit = subprocess.check_output(["git", "-C", TOP, "rev-parse", options.at], text=True).strip()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        first = Copy(Path(folder, "0"), commit, options.minutes)
        print("watching which tests run which lines (minutes) ...", flush=True)
        first.watch_tests()
        print(f"{len(first.durations):,} tests", flush=True)
        copies.put(first)
        for number in range(1, options.jobs):
            copies.put(first.twin(Path(folder, str(number)), commit))

        def work(fault: Fault) -> Fault:
            copy, started = copies.get(), time.monotonic()
            try:
                copy.try_fault(fault)
            finally:
                copies.put(copy)
            seconds = time.monotonic() - started
            print(
                f"{fault.module}:{fault.line} {fault.kind}: {fault.found or 'NOT FOUND'} ({seconds:.0f} s)", flush=True
            )
            if not fault.found:
                print(f"    - {fault.before}\n    + {fault.after}", flush=True)
            return fault

        faults = chosen(Path(folder, "0"), options.count, options.seed, options.rooms)
        with ThreadPoolExecutor(options.jobs) as pool:
            faults = list(pool.map(work, faults))
    print(table(faults))
    if options.json:
        rows = [{key: value for key, value in asdict(fault).items() if key not in ("start", "end")} for fault in faults]
        result = {
            "commit": commit,
            "seed": options.seed,
            "found": sum(bool(one.found) for one in faults),
            "faults": rows,
        }
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
