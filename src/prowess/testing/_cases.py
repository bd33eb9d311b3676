"""Load the test cases of a skill.

    tests/test-config.json   version, timeout, env
    tests/cases/*.yaml       name, description, input: command, stdin, files;
                             expected: exit-code, stdout-contains, stderr-contains, not-contains, stdout-json

The format is that of UAAPS ("Skill Testing"). A typo must not make a test pass: an unknown key is an error, and if
there is any error, no case of that skill runs.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import EMPTY, Frozen
from prowess._internal.text import PATH_LIMIT, describe_os_error, quoted
from prowess.skill import MAX_BYTES, FindingCollector, json_value, load, read_json_mapping, read_yaml_mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal
    from typing import Any

    from prowess.findings import Finding
    from prowess.skill import MappingReader, Node

CONFIG_FILE = "tests/test-config.json"
CASES_FOLDER = "tests/cases"
DEFAULT_TIMEOUT = 30.0
"""Seconds that a case may take by default."""
MAX_TIMEOUT = 86_400.0
"""The longest time-out in seconds: a day."""
MAX_CASES = 10_000
"""The most cases a skill may have."""
MAX_TEXTS = 1_000
"""The most texts a list may have."""
_match_case_name = re.compile(r"[a-z0-9-]+").fullmatch
_MAX_NAME = 64
_match_variable_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_SUFFIXES = (".yaml", ".yml")
_FINDING_CODE = "test-invalid"
_SPLIT_HINT = "split the file, or move data to `tests/fixtures`"


class _Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""No expected value; `None` is an expected value, JSON's `null`."""


class Case(Frozen):
    """One test of a skill's scripts."""

    name: str
    file: str
    """Relative to the skill's folder, with `/`."""
    command: str
    """The command for `/bin/sh -c`, run in a fresh copy of the skill."""
    description: str = ""
    stdin: str | None = None
    files: tuple[str, ...] = ()
    """Files that must exist, relative to the skill's folder."""
    exit_code: int = 0
    """128 plus the number of the signal, if a signal ends the command."""
    stdout_contains: tuple[str, ...] = ()
    stderr_contains: tuple[str, ...] = ()
    not_contains: tuple[str, ...] = ()
    """Texts that neither output may contain."""
    stdout_json: Any = ABSENT
    """The JSON that standard output must match, by the rules of `_expect`."""


class Suite(Frozen):
    """The tests of one skill."""

    name: str
    """The name in the front matter of the skill, or else the name of its folder."""
    path: str
    """The skill's folder, absolute."""
    cases: tuple[Case, ...] = ()
    """In the natural order of their files."""
    findings: tuple[Finding, ...] = ()
    """Problems in the test files; if there are any, no case runs."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds for each case."""
    env: Mapping[str, str] = EMPTY

    def matching_cases(self, name: str) -> tuple[Case, ...]:
        """Return the cases with this name; or else those with this file name, with or without suffix."""
        by_name = [case for case in self.cases if case.name == name]
        return tuple(by_name or (case for case in self.cases if name in _file_names(case)))


def _file_names(case: Case) -> tuple[str, ...]:
    file = os.path.basename(case.file)
    return file, os.path.splitext(file)[0], case.file


def skill_folder_of_cases(file: str) -> str | None:
    """Return the folder of the skill that a case file belongs to, or `None` for any other file."""
    cases, name = os.path.split(file)
    tests, inner = os.path.split(cases)
    folder, outer = os.path.split(tests)
    if not name.lower().endswith(_SUFFIXES) or f"{outer}/{inner}" != CASES_FOLDER:
        return None
    return folder if os.path.isfile(os.path.join(folder, SKILL_FILE)) else None


def load_suite(folder: str | os.PathLike[str]) -> Suite:
    """Load the tests of a skill. Problems are in the findings of the suite; nothing is raised.

    Args:
        folder: the folder of the skill.
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
            duplicate = f"duplicate case name {quoted(case.name)}, also in {quoted(names[case.name], PATH_LIMIT)}"
            report.add(duplicate, hint="rename one of them")
        if case is not None:
            names.setdefault(case.name, file)
            cases.append(case)
        findings += report.findings
    name = load(os.path.join(path, SKILL_FILE)).name or os.path.basename(path)
    return Suite(name=name, path=path, cases=tuple(cases), findings=tuple(findings), timeout=timeout, env=env)


def _read(folder: str, file: str, report: FindingCollector) -> bytes | None:
    """Return the bytes of a test file; if it cannot be read, report it and return `None`."""
    parent = folder
    for part in file.split("/")[:-1]:
        parent = os.path.join(parent, part)
        if os.path.islink(parent):
            message = f"{quoted(os.path.relpath(parent, folder))} is a link, which is not followed"
            report.add(message, hint="put the folder itself there")
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
                hint = "write it without quotes" if version.text == "1" else "only version 1 is supported"
                form.report_wrong_type("version", version, "1", hint)
            timeout = form.get_number("timeout", minimum=0, maximum=MAX_TIMEOUT) or timeout
            env = _parse_env(form, report)
        findings += report.findings
    return timeout, env


def _parse_env(form: MappingReader, report: FindingCollector) -> dict[str, str]:
    env = form.get_text_map("env")
    node = form.get("env")
    for key, item in zip(node.keys, node.items, strict=True) if node is not None and node.kind == "map" else ():
        # In JSON, `1` and `"1.0"` are different values, and only text says which one the author wants.
        if item.kind in ("bool", "number"):
            form.report_wrong_type(f"env.{key.text}", item, "text", "put it in quotes")
        if not _match_variable_name(key.text):
            hint = "use letters, digits and `_`, and no digit first"
            report.add(f"{quoted(f'env.{key.text}')} is not a valid variable name", key, hint)
        elif "\0" in item.text:
            report.add(f"{quoted(f'env.{key.text}')} contains a NUL character", item, "remove it")
    return env


def _case_files(folder: str, findings: list[Finding]) -> Iterator[str]:
    """Yield the case files in natural order: `2` before `10`."""
    cases_folder = os.path.join(folder, *CASES_FOLDER.split("/"))
    report = FindingCollector(cases_folder, _FINDING_CODE)
    names: list[str] = []
    if os.path.islink(cases_folder) or os.path.islink(os.path.dirname(cases_folder)):
        report.add("the folder of cases is a link, which is not followed", hint="put the folder itself there")
    else:
        try:
            names = [name for name in os.listdir(cases_folder) if name.lower().endswith(_SUFFIXES) and name[0] != "."]
        except FileNotFoundError:
            pass
        except OSError as error:
            message = f"cannot list the cases: {describe_os_error(error)}"
            report.add(message, hint="make it a readable folder")
    if len(names) > MAX_CASES:
        message = f"{len(names):,} case files; at most {MAX_CASES:,} are allowed"
        report.add(message, hint="split the skill")
        names = []
    findings += report.findings
    yield from (f"{CASES_FOLDER}/{name}" for name in sorted(names, key=_natural_sort_key))


def _natural_sort_key(name: str) -> tuple[Any, ...]:
    parts = re.split(r"([0-9]+)", os.path.splitext(name)[0].lower())
    return ([(int(part), "") if number % 2 else (-1, part) for number, part in enumerate(parts)], name)


def _read_case(file: str, folder: str, report: FindingCollector) -> Case | None:
    """Return a case, or `None` if it has no name or no command."""
    data = _read(folder, file, report)
    form = None if data is None else read_yaml_mapping(data, report)
    if form is None:
        return None
    form.allow_only("name", "description", "input", "expected")
    name = form.get_text("name", required=True)
    if name is not None and (not _match_case_name(name) or len(name) > _MAX_NAME):
        hint = f"use lower case letters, digits and hyphens, at most {_MAX_NAME} of them"
        report.add(f"{quoted(name)} is not a valid case name", form.get("name"), hint)
    description = form.get_text("description") or ""
    input_form = form.get_mapping("input", required=True)
    command = stdin = None
    files: tuple[str, ...] = ()
    if input_form is not None:
        input_form.allow_only("command", "stdin", "files")
        command = input_form.get_text("command", required=True)
        if command is not None and not command.strip():
            report.add("`input.command` is empty", input_form.get("command"), "add the command for `/bin/sh -c`")
        if command is not None and "\0" in command:
            report.add("`input.command` contains a NUL character", input_form.get("command"), "remove it")
        stdin, files = input_form.get_text("stdin"), _parse_texts("files", input_form)
    form.report_empty("expected")
    expected_form = form.get_mapping("expected")
    expected = {} if expected_form is None else parse_expected(expected_form)
    if name is None or command is None:
        return None
    return Case(name=name, file=file, command=command, description=description, stdin=stdin, files=files, **expected)


def parse_expected(form: MappingReader) -> dict[str, Any]:
    """Return the expected values. A key without a value is an error, because it looks as if it tested something."""
    keys = ("exit-code", "stdout-contains", "stderr-contains", "not-contains", "stdout-json")
    form.allow_only(*keys)
    form.report_empty(*keys)
    expected: dict[str, Any] = {key.replace("-", "_"): _parse_texts(key, form) for key in keys[1:4]}
    code = form.get_integer("exit-code", 0, 255)
    expected["exit_code"] = 0 if code is None else code
    node = form.get("stdout-json", null_is_missing=False)
    if node is not None:
        _report_empty_values(form.key_path("stdout-json"), node, form.report)
        try:
            expected["stdout_json"] = json_value(node, exact_number)
        except ValueError as error:
            form.report.add(f"`expected.stdout-json` contains an invalid number: {error}", node, "shorten it")
    return expected


def exact_number(text: str) -> Decimal:
    """Return a JSON number with all its digits.

    Raises:
        ValueError: its exponent has more than 18 digits.
    """
    from decimal import Decimal, InvalidOperation

    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the exponent of {quoted(text)} is too large") from None


def _report_empty_values(path: str, node: Node, report: FindingCollector) -> None:
    """Report empty values inside `stdout-json`, which could mean null, an empty text, or anything."""
    names = (f".{key.text}" for key in node.keys) if node.keys else (f"[{index}]" for index in range(len(node.items)))
    for name, item in zip(names, node.items, strict=True):
        if item.plain and not item.text:
            hint = "write `null`, `''` for an empty text, or a value"
            report.add(f"{quoted(f'{path}{name}')} is empty", item, hint)
        _report_empty_values(f"{path}{name}", item, report)


def _parse_texts(name: str, form: MappingReader) -> tuple[str, ...]:
    """Return a list of texts; report empty texts in it."""
    texts, node = form.get_texts(name), form.get(name)
    for item in node.items if node is not None and node.kind == "list" else ():
        if item.kind == "text" and not item.text:
            hint = "remove it" if name == "files" else "write some text; every output contains the empty text"
            form.report.add(f"{quoted(form.key_path(name))} contains an empty text", item, hint)
    if len(texts) > MAX_TEXTS:
        message = f"{quoted(form.key_path(name))} has {len(texts):,} texts; at most {MAX_TEXTS:,} are allowed"
        form.report.add(message, node, "split the case")
    return texts
