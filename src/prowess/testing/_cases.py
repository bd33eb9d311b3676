"""a skill's `tests/` -> its cases, and all that is wrong with them

    tests/test-config.json   version, timeout, env
    tests/cases/*.yaml       name, description, input: command, stdin, files;
                             expected: exit-code, stdout-contains, stderr-contains, not-contains, stdout-json

The format is that of UAAPS ("Skill Testing"). A typo must not make a test pass, so a key that is not known is wrong,
and where anything is wrong no case of that skill is run.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import quoted
from prowess.skill import MAX_BYTES, FindingCollector, json_value, load, read_json_mapping, read_yaml_mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from prowess.findings import Finding
    from prowess.skill import MappingReader, Node

__all__ = ["ABSENT", "DEFAULT_TIMEOUT", "MAX_TIMEOUT", "Case", "Suite", "skill_folder_of_cases", "load_suite"]

CONFIG_FILE = "tests/test-config.json"
CASES_FOLDER = "tests/cases"
DEFAULT_TIMEOUT = 30.0
"""Seconds a case may take where nobody says how long."""
MAX_TIMEOUT = 86_400.0
"""Seconds: a day."""
MAX_CASES = 10_000
"""Of one skill."""
MAX_TEXTS = 1_000
"""Of one list."""
_match_case_name = re.compile(r"[a-z0-9-]+").fullmatch
_MAX_NAME = 64
_match_variable_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_SUFFIXES = (".yaml", ".yml")
_FINDING_CODE = "test-invalid"
_SPLIT_HINT = "make more than one file of it, or keep data in fixtures"


class _Absent:
    """Stands for no value, where `None` is one."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""There is nothing to compare."""


class Case(Frozen):
    """One test of a skill's scripts."""

    name: str
    file: str
    """Relative to the skill's folder, with `/`."""
    command: str
    """What `/bin/sh -c` runs, in a fresh copy of the skill."""
    description: str = ""
    stdin: str | None = None
    files: tuple[str, ...] = ()
    """What must be there, relative to the skill's folder."""
    exit_code: int = 0
    """128 and its number for a signal."""
    stdout_contains: tuple[str, ...] = ()
    stderr_contains: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    """What neither stream may hold."""
    stdout_json: Any = ABSENT
    """What standard output must match, as `json_match` says."""


class Suite(Frozen):
    """The tests of one skill."""

    name: str
    """The skill's, as its front matter has it; its folder's name where there is none."""
    path: str
    """The skill's folder, absolute."""
    cases: tuple[Case, ...] = ()
    """In the natural order of their files."""
    findings: tuple[Finding, ...] = ()
    """What is wrong; then no case is run."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for each case."""
    env: Mapping[str, str] = EMPTY

    def matching_cases(self, which: str) -> tuple[Case, ...]:
        """Return the cases that one word means: the stem of a file, its name, or a case's `name`."""
        by_name = [case for case in self.cases if case.name == which]
        return tuple(by_name or (case for case in self.cases if which in _file_names(case)))


def _file_names(case: Case) -> tuple[str, ...]:
    file = os.path.basename(case.file)
    return file, os.path.splitext(file)[0], case.file


def skill_folder_of_cases(file: str) -> str | None:
    """Return the skill's folder that a file of cases belongs to; None for any other file."""
    cases, name = os.path.split(file)
    tests, inner = os.path.split(cases)
    folder, outer = os.path.split(tests)
    if not name.lower().endswith(_SUFFIXES) or f"{outer}/{inner}" != CASES_FOLDER:
        return None
    return folder if os.path.isfile(os.path.join(folder, SKILL_FILE)) else None


def load_suite(folder: str | os.PathLike[str]) -> Suite:
    """Read the tests of a skill. Whatever is wrong is in the suite's findings; nothing is raised.

    Args:
        folder: of the skill.
    """
    path = os.path.abspath(os.fspath(folder))
    findings: list[Finding] = []
    timeout, env = _read_config(path, findings)
    cases: list[Case] = []
    names: dict[str, str] = {}
    for file in _case_files(path, findings):
        report = FindingCollector(os.path.join(path, *file.split("/")), _FINDING_CODE)
        case = _read_case(file, path, report)
        if case is not None and case.name in names:
            hint = "give one of them another name"
            report.add(f"the name {quoted(case.name)} is that of {quoted(names[case.name], 200)} too", hint=hint)
        if case is not None:
            names.setdefault(case.name, file)
            cases.append(case)
        findings += report.findings
    name = load(os.path.join(path, SKILL_FILE)).name or os.path.basename(path)
    return Suite(name=name, path=path, cases=tuple(cases), findings=tuple(findings), timeout=timeout, env=env)


def _read(folder: str, file: str, report: FindingCollector) -> bytes | None:
    """Return what a file of the tests holds; None where it cannot be read, which is reported."""
    at = folder
    for part in file.split("/")[:-1]:
        at = os.path.join(at, part)
        if os.path.islink(at):
            words = f"{quoted(os.path.relpath(at, folder))} is a link, which is not followed"
            report.add(words, hint="put the folder itself there")
            return None
    try:
        return read_file(os.path.join(folder, *file.split("/")), MAX_BYTES)
    except UnreadableError as error:
        report.add(error.message, hint=_SPLIT_HINT if error.code == "file-too-large" else error.hint)
        return None


def _read_config(folder: str, findings: list[Finding]) -> tuple[float, dict[str, str]]:
    path = os.path.join(folder, *CONFIG_FILE.split("/"))
    timeout, env = DEFAULT_TIMEOUT, dict[str, str]()
    if os.path.lexists(path):
        report = FindingCollector(path, _FINDING_CODE)
        data = _read(folder, CONFIG_FILE, report)
        form = None if data is None else read_json_mapping(data, report)
        if form is not None:
            form.allow_only("version", "timeout", "env")
            version = form.get("version", required=True)
            if version is not None and (version.kind != "number" or version.text not in ("1", "1.0")):
                hint = "write it without quotes" if version.text == "1" else "only version 1 of the format is known"
                form.report_wrong_type("version", version, "1", hint)
            timeout = form.get_number("timeout", above=0, most=MAX_TIMEOUT) or timeout
            env = _parse_env(form, report)
        findings += report.findings
    return timeout, env


def _parse_env(form: MappingReader, report: FindingCollector) -> dict[str, str]:
    env = form.get_text_map("env")
    node = form.get("env")
    for key, item in zip(node.keys, node.items, strict=True) if node is not None and node.kind == "map" else ():
        # JSON says what is text: `1` may have been meant as `"1.0"`.
        if item.kind in ("bool", "number"):
            form.report_wrong_type(f"env.{key.text}", item, "text", "put it in quotes")
        if not _match_variable_name(key.text):
            hint = "use letters, digits and `_`, no digit first"
            report.add(f"{quoted(f'env.{key.text}')} is no name of a variable", key, hint)
        elif "\0" in item.text:
            report.add(f"{quoted(f'env.{key.text}')} holds NUL", item, "remove it")
    return env


def _case_files(folder: str, findings: list[Finding]) -> Iterator[str]:
    """Yield the files of cases in natural order: `2` before `10`."""
    place = os.path.join(folder, *CASES_FOLDER.split("/"))
    report = FindingCollector(place, _FINDING_CODE)
    names: list[str] = []
    if os.path.islink(place) or os.path.islink(os.path.dirname(place)):
        report.add("the folder of the cases is a link, which is not followed", hint="put the folder itself there")
    else:
        try:
            names = [name for name in os.listdir(place) if name.lower().endswith(_SUFFIXES) and name[0] != "."]
        except FileNotFoundError:
            pass
        except OSError as error:
            words = f"the cases cannot be listed: {(error.strerror or 'unknown').lower()}"
            report.add(words, hint="make a folder there that can be read")
    if len(names) > MAX_CASES:
        words = f"there are {len(names):,} files of cases, and at most {MAX_CASES:,} are taken"
        report.add(words, hint="make more than one skill of it")
        names = []
    findings += report.findings
    yield from (f"{CASES_FOLDER}/{name}" for name in sorted(names, key=_natural_sort_key))


def _natural_sort_key(name: str) -> tuple[Any, ...]:
    parts = re.split(r"([0-9]+)", os.path.splitext(name)[0].lower())
    return ([(int(part), "") if at % 2 else (-1, part) for at, part in enumerate(parts)], name)


def _read_case(file: str, folder: str, report: FindingCollector) -> Case | None:
    """Read one case; None where it has not even a name and a command."""
    data = _read(folder, file, report)
    form = None if data is None else read_yaml_mapping(data, report)
    if form is None:
        return None
    form.allow_only("name", "description", "input", "expected")
    name = form.get_text("name", required=True)
    if name is not None and (not _match_case_name(name) or len(name) > _MAX_NAME):
        hint = f"use lower case letters, digits and hyphens, at most {_MAX_NAME} of them"
        report.add(f"{quoted(name)} is no name of a case", form.get("name"), hint)
    description = form.get_text("description") or ""
    given = form.get_mapping("input", required=True)
    command = stdin = None
    files: tuple[str, ...] = ()
    if given is not None:
        given.allow_only("command", "stdin", "files")
        command = given.get_text("command", required=True)
        if command is not None and not command.strip():
            report.add("`input.command` is empty", given.get("command"), "write what `/bin/sh -c` is to run")
        if command is not None and "\0" in command:
            report.add("`input.command` holds NUL", given.get("command"), "remove it")
        stdin, files = given.get_text("stdin"), _parse_texts("files", given)
    form.report_empty("expected")
    wanted = form.get_mapping("expected")
    more = {} if wanted is None else _parse_expected(wanted)
    if name is None or command is None:
        return None
    return Case(name=name, file=file, command=command, description=description, stdin=stdin, files=files, **more)


def _parse_expected(form: MappingReader) -> dict[str, Any]:
    """Read what is expected. A key without a value is wrong: who reads it would believe that something is tested."""
    keys = ("exit-code", "stdout-contains", "stderr-contains", "not-contains", "stdout-json")
    form.allow_only(*keys)
    form.report_empty(*keys)
    found: dict[str, Any] = {key.replace("-", "_"): _parse_texts(key, form) for key in keys[1:4]}
    code = form.get_integer("exit-code", 0, 255)
    found["exit_code"] = 0 if code is None else code
    node = form.get("stdout-json", null_is_missing=False)
    if node is not None:
        from ._json_match import exact_number

        _report_empty_values(form.key_path("stdout-json"), node, form.report)
        try:
            found["stdout_json"] = json_value(node, exact_number)
        except ValueError as error:
            form.report.add(f"`expected.stdout-json` holds a number that cannot be read: {error}", node, "shorten it")
    return found


def _report_empty_values(path: str, node: Node, report: FindingCollector) -> None:
    """Report what has nothing behind it inside of `stdout-json`: it could be meant as null, as text, or as anything."""
    names = (f".{key.text}" for key in node.keys) if node.keys else (f"[{at}]" for at in range(len(node.items)))
    for name, item in zip(names, node.items, strict=True):
        if item.plain and not item.text:
            hint = "write `null`, `''` for an empty text, or its value"
            report.add(f"{quoted(f'{path}{name}')} is empty", item, hint)
        _report_empty_values(f"{path}{name}", item, report)


def _parse_texts(name: str, form: MappingReader) -> tuple[str, ...]:
    """Return a list of texts, none of which is empty."""
    texts, node = form.get_texts(name), form.get(name)
    for item in node.items if node is not None and node.kind == "list" else ():
        if item.kind == "text" and not item.text:
            hint = "remove it" if name == "files" else "write a text; this one is in everything"
            form.report.add(f"{quoted(form.key_path(name))} holds an empty text", item, hint)
    if len(texts) > MAX_TEXTS:
        words = f"{quoted(form.key_path(name))} holds {len(texts):,} texts, and at most {MAX_TEXTS:,} are taken"
        form.report.add(words, node, "make more than one case of it")
    return texts
