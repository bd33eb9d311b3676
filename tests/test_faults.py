"""The program that plants faults in the source."""

from __future__ import annotations

import ast

import faults

SOURCE = '''\
"""A docstring is not changed."""
__all__ = ["f"]
LIMIT: "int" = 3


def f(name: str = "é", *, deep=False):
    """Nor is this."""
    if name < "b" and deep:
        print(f"{name}")
        return None
    return g(name, limit=LIMIT) or deep
'''


def test_each_kind_of_fault_is_planted() -> None:
    """One place changes, and the module can still be compiled."""
    found = faults.faults_of("src/prowess/skill/_x.py", SOURCE.encode())
    assert [(one.line, one.kind, one.before, one.after) for one in found] == [
        (3, "constant", "3", "4"),
        (6, "constant", '"é"', "('éx')"),
        (6, "constant", "False", "True"),
        (8, "comparison", 'name < "b"', "(name <= 'b')"),
        (8, "condition", 'name < "b" and deep', "(name < 'b' or deep)"),
        (8, "condition", 'name < "b" and deep', "(not (name < 'b' and deep))"),
        (8, "constant", '"b"', "('bx')"),
        (9, "statement", 'print(f"{name}")', "pass"),
        (11, "argument", "g(name, limit=LIMIT)", "(g(name))"),
        (11, "condition", "g(name, limit=LIMIT) or deep", "(g(name, limit=LIMIT) and deep)"),
        (11, "return", "g(name, limit=LIMIT) or deep", "(not (g(name, limit=LIMIT) or deep))"),
    ]
    for one in found:
        assert ast.unparse(ast.parse(one.source(SOURCE.encode()))) != ast.unparse(ast.parse(SOURCE))


def test_the_table_counts_what_is_found() -> None:
    one, other = faults.faults_of("src/prowess/skill/_x.py", SOURCE.encode())[:2]
    one.found = "tests/skill/test_x.py::test_a"
    assert faults.table([one, other]).split("\n")[2:] == [
        "room skill                    2      1",
        "kind constant                 2      1",
        "50.0% of 2 faults are found",
    ]
