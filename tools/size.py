# ruff: noqa: INP001 - a script, not a package
"""Count the lines of code of each room and of the tests, and hold the house against its limits (`make size`)."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE, TESTS = REPOSITORY / "src" / "prowess", REPOSITORY / "tests"
GENERATED = {SOURCE / "hosts/_tables.py", SOURCE / "hosts/_key_docs.py", SOURCE / "skill/_client_fields.py"}
MOST_SOURCE, MOST_TESTS, MOST_MODULES, LONG_MODULE = 42_000, 45_000, 26, 600
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def lines_of_code(text: str) -> int:
    """Return how many lines of a module are code: not blank, no comment and no docstring."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        for statement in getattr(node, "body", ()) if not isinstance(node, (ast.Lambda, ast.IfExp)) else ():
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                code.difference_update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(code)


def measure(top: Path) -> dict[Path, int]:
    """Return the lines of code of each module below a folder."""
    return {
        path: lines_of_code(path.read_text("utf-8"))
        for path in sorted(top.rglob("*.py"))
        if path not in GENERATED and "__pycache__" not in path.parts and "golden" not in path.parts
    }


def main() -> int:
    """Print a table with a row for each room; exit 1 if a limit is exceeded."""
    failures: list[str] = []
    for top, most in ((SOURCE, MOST_SOURCE), (TESTS, MOST_TESTS)):
        sizes = measure(top)
        rooms: dict[str, list[int]] = defaultdict(list)
        for path, lines in sizes.items():
            parts = path.relative_to(top).parts
            rooms[parts[0] + ("/" if len(parts) > 1 else "")].append(lines)
        print(f"{top.relative_to(REPOSITORY)!s:30}{'lines':>8}{'modules':>9}{'longest':>9}")
        for room, lines in sorted(rooms.items(), key=lambda row: -sum(row[1])):
            print(f"  {room:28}{sum(lines):8,}{len(lines):9}{max(lines):9}")
        total = sum(sizes.values())
        print(f"  {'all':28}{total:8,}{len(sizes):9}{max(sizes.values()):9}\n")
        if total > most:
            failures.append(f"{top.name} has {total:,} lines of code, more than {most:,}")
        folders: dict[Path, int] = defaultdict(int)
        for path in sizes:
            folders[path.parent] += path.name != "__init__.py"
        if top is SOURCE:
            failures += [
                f"{folder.relative_to(REPOSITORY)} has {count} modules side by side, more than {MOST_MODULES}"
                for folder, count in sorted(folders.items())
                if count > MOST_MODULES
            ]
            failures += [
                f"{path.relative_to(REPOSITORY)} has {lines} lines, more than {LONG_MODULE}"
                for path, lines in sizes.items()
                if lines > LONG_MODULE
            ]
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
