"""`docs/architecture.md` and CONTRIBUTING.md name files, functions and tests that exist.

`test_docs.py` compares the generated parts.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
SOURCE = TOP / "src/prowess"
PAGE = (TOP / "docs/architecture.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    """Return the cells of the tables below a heading, without their heads."""
    level, rest = re.split(rf"^(##+) {re.escape(heading)}\n", PAGE, flags=re.MULTILINE)[1:]
    section = re.split(rf"^#{{2,{len(level)}}} ", rest, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (.+) \|$(?!\n\|--)", section, re.MULTILINE)
    return [row.split(" | ") for row in rows]


def code(cell: str) -> list[str]:
    """Return what is in back-ticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


@cache
def definitions(file: Path) -> set[str]:
    """Return the classes and functions of a module, methods as `Class.method`."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


def missing(names: list[str], folder: Path) -> list[str]:
    """Return the names of files and folders that do not exist; `*` is a wildcard, NAME a placeholder."""
    return [name for name in names if not list(folder.glob(pattern(name)))]


def pattern(name: str) -> str:
    """Return a path as a pattern: NAME is the name of a public module, which has no underscore in front."""
    return name.replace("NAME", "[a-z]*")


def exists(file: str, name: str) -> bool:
    """Return whether a file of the repository defines a class or function."""
    return (TOP / file).is_file() and name in definitions(TOP / file)


WALKS = re.findall(r"^### (An? .+ becomes .+)$", PAGE, re.MULTILINE)


def test_the_page_is_short_enough_to_read() -> None:
    assert len(PAGE.splitlines()) <= 700


def test_there_are_six_walks() -> None:
    assert len(WALKS) == 6


@pytest.mark.parametrize("heading", WALKS)
def test_each_step_of_a_walk_names_a_function(heading: str) -> None:
    """The second column is a file, the third one a function or method of it."""
    rows = table(heading)
    assert len(rows) >= 6
    steps = [(f"src/prowess/{file}", name) for _, files, names in rows for file in code(files) for name in code(names)]
    assert len(steps) >= len(rows)
    assert [step for step in steps if not exists(*step)] == []


def test_the_table_of_changes_names_files_and_tests() -> None:
    rows = table("I want to change")
    assert len(rows) >= 30
    assert [row for row in rows if not code(row[1]) or not code(row[2])] == []
    assert missing([name for _, files, _ in rows for name in code(files)], SOURCE) == []
    assert missing([name for _, _, tests in rows for name in code(tests)], TOP / "tests") == []


def test_each_row_of_changes_starts_in_one_file() -> None:
    assert [row for row in table("I want to change") if len(code(row[1])) != 1] == []


def test_the_keys_of_files_are_in_the_files_that_read_and_use_them() -> None:
    """A key in a file may be an attribute: `stdout-json` is `stdout_json`."""
    rows = table("Keys of files")
    assert len(rows) >= 20
    uses = [(key, file) for keys, *files in rows for key in code(keys) for cell in files for file in code(cell)]
    absent = [
        use
        for use in uses
        if not {(name := use[0].split(".")[-1]), name.replace("-", "_")}
        & set(re.findall(r"[\w-]+", (SOURCE / use[1]).read_text(encoding="utf-8")))
    ]
    assert absent == []


def test_each_invariant_names_a_test() -> None:
    """As pytest does: `tests/FILE::TEST`."""
    rows = table("Invariants")
    assert len(rows) >= 12
    tests = [test for _, cell in rows for test in code(cell)]
    assert [test for test in tests if not exists(*test.split("::"))] == []


def test_the_glossary_is_short() -> None:
    assert 15 <= len(table("Glossary")) <= 18


def test_the_recipes_name_files_that_exist() -> None:
    """Paths with a placeholder (NAME, CODE, TYPE) are new files."""
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    words = [word for span in code(text.replace("```", "")) for word in span.split()]
    paths = [word for word in words if re.match(r"(src|tests|docs)/", word) and not re.search(r"[A-Z]{4}", word)]
    assert len(paths) >= 20
    assert missing(paths, TOP) == []
