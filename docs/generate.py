# ruff: noqa: INP001 - a script, not a package
"""The code -> the pages of docs/ that are made from it. `make docs` writes them; tests compare.

`help.md` is all made. A host's page and the hosts' index have parts between `<!-- generated -->` marks; the rest is
written by hand, and so are the pages of commands, where only what follows a `$` in a console block is made: it is what
the command prints in the tree of `examples/demo.py`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.agent.role import _role as role
from prowess.agent.role._tool_schemas import TOOL_FIELDS
from prowess.cli import COMMANDS, main
from prowess.cli import hosts as hosts_command
from prowess.findings import CODES
from prowess.hosts import _host as host_module
from prowess.hosts import host_names, load_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.agent.role._schema import FieldSpec, FieldTable
    from prowess.hosts import Host

DOCS = Path(__file__).parent
PARTS = re.compile(r"^(<!-- generated -->\n)(.*?)(^<!-- /generated -->)$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^(```console\n)(.*?)(^```)$", re.DOTALL | re.MULTILINE)


def help_page() -> str:
    """Return `help.md`: what `--help` prints, for the whole and for each command."""
    parts = ["# The command line\n\nThis page is made by `make docs` from what `--help` prints.\n"]
    for arguments in ([], *([name] for name in COMMANDS)):
        command = " ".join(["prowess", *arguments])
        parts.append(f"## `{command}`\n\n```text\n$ {command} --help\n{_printed([*arguments, '--help'])[0]}```\n")
    return "\n".join(parts)


def _printed(arguments: list[str], errors: io.StringIO | None = None) -> tuple[str, int]:
    """Run a command line and return what a terminal shows of it, and its exit code."""
    if "--" in arguments:  # what it starts prints for itself
        argv = [sys.executable, "-m", "prowess", *arguments]
        env = {**os.environ, "PYTHONPATH": str(DOCS.parent / "src")}
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.stdout, done.returncode
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors or out):
        code = main(arguments)
    return out.getvalue(), code


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def host_page(name: str, old: str) -> str:
    """Return a host's page: what its file says in words, then what is written by hand."""
    host = load_host(name)
    old = old or f"# {host.title}\n\n<!-- generated -->\n<!-- /generated -->\n\n## Good to know\n"
    return _with(old, "".join(f"{line}\n" for line in _host_lines(host)))


def _host_lines(host: Host) -> Iterator[str]:
    version, _, date = host.observed.rpartition(", ")
    yield f"`--host {host.name}`. " + (
        f"**Observed**: version {version} was asked on {date}." if version else f"**Documented**: {host.documented}."
    )
    yield f"Activation: {host.activation}."
    yield from (f"See <{link}>." for link in host.links)
    for title, lines in hosts_command.describe_sections(host):
        yield from ("", f"## {title[0].upper()}{title[1:]}", "")
        for line in lines:
            path, _, words = line.partition(": ")
            folder = title == hosts_command.FOLDERS_TITLE and host.roots
            yield f"- `{path}`: {words}" if folder else f"- {_linked(line)}"


def _linked(line: str) -> str:
    """Link each code of a finding to its page."""
    return re.sub(r"[a-z0-9-]+", lambda m: f"[`{m[0]}`](../findings/{m[0]}.md)" if m[0] in CODES else m[0], line)


def hosts_page(old: str) -> str:
    """Return the index of the hosts, with the table and the keys of a host's file."""
    rows = ["| host | title | evidence | project folders | user folders |", "|---|---|---|---|---|"]
    for name in host_names():
        host = load_host(name)
        folders = [", ".join(f"`{path}`" for path in hosts_command.folders(host, user)) for user in (False, True)]
        evidence = f"observed {host.observed}" if host.observed else "documented"
        rows.append(f"| [`{name}`]({name}.md) | {host.title} | {evidence} | {folders[0]} | {folders[1]} |")
    return _with(old, "\n".join([*rows, ""]), "\n".join(_keys()) + "\n")


TABLES = {
    "Host": "The file itself",
    "Root": "`[[roots]]`, and `[walk]` for what all of them have in common",
    "ReadingRules": "`[reading]`",
    "Repair": "`[reading.repair]`",
    "NameRules": "`[name_rules]`",
    "DescriptionRules": "`[description_rules]`",
    "Flag": "`[[flags]]`",
    "Setting": "`[[settings]]`",
    "Budget": "`[budget]`",
    "Template": "`[template]`",
    "IsolatedLaunch": "`[isolated]`",
}
"""The dataclasses of `hosts/_host.py` to the tables of a host's file."""


def _keys() -> Iterator[str]:
    """Yield the keys of a host's file, with what `hosts/_host.py` says below each."""
    tree = ast.parse(Path(host_module.__file__ or "").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name, title in TABLES.items():
        yield from (f"### {title}", "", _one_line(ast.get_docstring(classes[name])), "")
        yield from ("| key | default | means |", "|---|---|---|")
        for node, after in pairwise([*classes[name].body, ast.Pass()]):
            if isinstance(node, ast.AnnAssign):
                said = ast.literal_eval(after.value) if isinstance(after, ast.Expr) else ""
                yield f"| `{ast.unparse(node.target)}` | {_default(node.value)} | {_one_line(said)} |"
        yield ""


def _one_line(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())


def _default(value: ast.expr | None) -> str:
    if value is None:
        return "needed"
    if not isinstance(value, ast.Constant | ast.UnaryOp | ast.Tuple):
        return ""
    plain = ast.literal_eval(value)
    if plain in ("", (), None):
        return ""
    shown = ", ".join(plain) if isinstance(plain, tuple) else str(plain).lower() if plain in (True, False) else plain
    return f"`{shown}`".replace("\n", "\\n")


def _with(text: str, *parts: str) -> str:
    """Put parts between the marks of a page, in order."""
    rest = iter(parts)
    return PARTS.sub(lambda match: match[1] + next(rest) + match[3], text)


# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def roles_page(old: str) -> str:
    """Return the page on roles, with the tables of all keys."""
    return _with(old, "\n".join(_key_rows(role.FLAT_FIELDS)), "\n".join(_tool_tables()))


def _key_rows(table: FieldTable) -> Iterator[str]:
    """Yield the rows of a table, those of maps inside it below their own."""
    yield from ("| key | type | default | means |", "|---|---|---|---|")
    yield from _rows(table, "")
    yield ""


def _rows(table: FieldTable, before: str) -> Iterator[str]:
    for name, key in table.items():
        yield f"| `{before}{name}` | {_kind(key)} | {_default_of(key)} | {_one_line(key.doc)} |"
        inner = role.MODEL_FIELDS if key.kind == "model" else key.keys
        yield from _rows(inner, f"{before}{name}{'[]' if key.kind == 'maps' else ''}.")


_KINDS = {
    "texts": "list of texts",
    "truth": "true or false",
    "integer": "whole number",
    "text-map": "map of texts",
    "maps": "list of maps",
    "model": "text or map",
    "tools": "list of maps",
}


def _kind(key: FieldSpec) -> str:
    if key.choices:
        return f"{'some' if key.kind == 'texts' else 'one'} of {', '.join(f'`{one}`' for one in key.choices)}"
    words = _KINDS.get(key.kind, key.kind)
    if key.kind == "integer":
        return f"{words}, {key.minimum:,.0f} to {key.maximum:,.0f}"
    return (
        f"{words}, {'from' if key.inclusive else 'above'} {key.minimum:g} to {key.maximum:g}"
        if key.kind == "number"
        else words
    )


def _default_of(key: FieldSpec) -> str:
    if key.needed:
        return "needed"
    if key.default in (None, "", ()) or key.default == {}:
        return ""
    shown = ", ".join(key.default) if isinstance(key.default, tuple) else json.dumps(key.default).strip('"')
    return f"`{shown}`"


def _tool_tables() -> Iterator[str]:
    for kind, table in TOOL_FIELDS.items():
        yield from (f"### `{kind}`", "")
        yield from _key_rows(table)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def command_page(old: str) -> str:
    """Return a command's page with what its console blocks really print, one after the other in a fresh tree."""
    with tempfile.TemporaryDirectory(prefix="prowess-docs-") as folder, _at_home(Path(folder).resolve()) as root:
        return CONSOLE.sub(lambda match: match[1] + "".join(_typed(match[2], root)) + match[3], old)


@contextlib.contextmanager
def _at_home(root: Path) -> Iterator[Path]:
    """Be a user whose home and project are those of the demonstration, and who has set no variable."""
    runpy.run_path(str(DOCS.parent / "examples/demo.py"))["furnish"](root)
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(root / "project")
    os.environ.clear()
    os.environ.update(HOME=str(root / "home"), PATH="")
    try:
        yield root
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)


def _typed(block: str, root: Path) -> Iterator[str]:
    """Yield a console block, each line that begins with `$` followed by what it prints."""
    code = 0
    for line in re.findall(r"^\$ .*\n", block, re.MULTILINE):
        yield line
        if line == "$ echo $?\n":
            yield f"{code}\n"
            continue
        typed = line[2:].removesuffix("2>/dev/null\n").replace("~/", f"{root}/home/").replace("/home/ada", str(root))
        words = shlex.split(typed)
        assert words[0] == "prowess", line  # noqa: S101 - nothing else is run
        text, code = _printed(words[1:], io.StringIO() if "2>/dev/null" in line else None)
        yield text.replace(f"{root}/project", "/home/ada/project").replace(f"{root}/home", "/home/ada")


PAGES: dict[str, Callable[[str], str]] = {
    "help.md": lambda _: help_page(),
    "hosts/README.md": hosts_page,
    **{f"hosts/{name}.md": partial(host_page, name) for name in host_names()},
    "roles.md": roles_page,
    "role.schema.json": lambda _: json.dumps(role.schema(), indent=2, ensure_ascii=False) + "\n",
    **{f"commands/{name}.md": command_page for name in COMMANDS},
}
"""Page to what makes it of the old one."""


if __name__ == "__main__":
    for name, make in PAGES.items():
        page = DOCS / name
        page.write_text(make(page.read_text(encoding="utf-8") if page.exists() else ""), encoding="utf-8")
