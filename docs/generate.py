# ruff: noqa: INP001 - a script, not a package
"""Generate the pages of docs/ that come from the code. `make docs` runs it; tests compare.

`help.md`, `prowess.1`, `role.schema.json` and `src/prowess/finding_texts.json` are generated as a whole. Other pages
have generated parts between `<!-- generated -->` marks. On `README.md` and the pages of commands, the output in
console blocks is generated: each line after `$` is run in the project of `examples/demo.py`.
"""

from __future__ import annotations

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
from pathlib import Path
from typing import TYPE_CHECKING

from prowess import hosts
from prowess.agent import role
from prowess.agent.role import _initrunner as initrunner, _keys as keys
from prowess.cli import main
from prowess.cli._commands import COMMANDS
from prowess.cli.skills.hosts import folders as skills_folders
from prowess.findings import CODES, DOCS_URL
from prowess.hosts import KEY_DOCS, describe_rules, host_names, load_host
from prowess.testing._adapter_suite import CLAIMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.agent.role._schema import FieldSpec, FieldTable
    from prowess.hosts import Host

DOCS = Path(__file__).parent
GENERATED = re.compile(r"^(<!-- generated -->\n)(.*?)(^<!-- /generated -->)$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(
    r"(?i:save this as) `(?P<path>[^`]+)`:\n\n```\w+\n(?P<content>.*?)^```$"
    r"|^(?P<begin>```console\n)(?P<console>.*?)(?P<end>^```)$",
    re.DOTALL | re.MULTILINE,
)


def help_page() -> str:
    """Return `help.md`: the output of `prowess --help` and of `--help` for each command."""
    parts = ["# The command line\n\n`make docs` writes this page from the output of `--help`.\n"]
    for arguments in ([], *([name] for name in COMMANDS)):
        command = " ".join(["prowess", *arguments])
        parts.append(f"## `{command}`\n\n```text\n$ {command} --help\n{_run_command([*arguments, '--help'])[0]}```\n")
    return "\n".join(parts)


def _run_command(arguments: list[str], stderr: io.StringIO | None = None) -> tuple[str, int]:
    """Run `prowess` with arguments and return its output and its exit code; stderr is part of the output by default."""
    if "--" in arguments:  # it starts a process, whose output cannot be redirected in this one
        return _run_program(["python3", "-m", "prowess", *arguments])
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr or stdout):
        code = main(arguments)
    return stdout.getvalue(), code


def _run_program(argv: list[str]) -> tuple[str, int]:
    """Run Python, or the only other program of a page, and return its output and its exit code."""
    assert argv[0] in ("python3", "rm"), argv  # noqa: S101 - pages use no other program
    argv = [{"python3": sys.executable, "rm": "/bin/rm"}[argv[0]], *argv[1:]]
    env = {**os.environ, "PYTHONPATH": str(DOCS.parent / "src")}
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout, done.returncode


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def host_page(name: str, page: str) -> str:
    """Return the page of a host, with the rules of its file in words."""
    host = load_host(name)
    page = page or f"# {host.title}\n\n<!-- generated -->\n<!-- /generated -->\n\n## Good to know\n"
    return _replace_generated(page, "".join(f"{line}\n" for line in _host_lines(host)))


def _host_lines(host: Host) -> Iterator[str]:
    version, _, date = host.observed.rpartition(", ")
    yield f"`--host {host.name}`. " + (
        f"**Observed**: version {version}, on {date}." if version else f"**Documented**: {host.documented}."
    )
    yield f"Activation: {host.activation}."
    yield from (f"See <{link}>." for link in host.links)
    for title, lines in describe_rules(host):
        yield from ("", f"## {title[0].upper()}{title[1:]}", "")
        yield from (f"- {_link_codes(line)}" for line in lines)


def _link_codes(line: str) -> str:
    """Link the code of each finding to its page."""
    return re.sub(r"[a-z0-9-]+", lambda m: f"[`{m[0]}`](../findings/{m[0]}.md)" if m[0] in CODES else m[0], line)


def hosts_page(page: str) -> str:
    """Return the index of the hosts, with the table of hosts and the keys of a host file."""
    rows = ["| host | title | evidence | project folders | user folders |", "|---|---|---|---|---|"]
    for name in host_names():
        host = load_host(name)
        folders = [", ".join(f"`{path}`" for path in skills_folders(host, user=user)) for user in (False, True)]
        evidence = f"observed {host.observed}" if host.observed else "documented"
        rows.append(f"| [`{name}`]({name}.md) | {host.title} | {evidence} | {folders[0]} | {folders[1]} |")
    return _replace_generated(page, "\n".join([*rows, ""]), "\n".join(_host_keys()) + "\n")


TABLES = {
    "Host": "The file itself",
    "Source": "`[[sources]]`",
    "Root": "`[[roots]]`, and `[walk]` for keys that all roots share",
    "ReadingRules": "`[reading]`",
    "NameRules": "`[name_rules]`",
    "DescriptionRules": "`[description_rules]`",
    "HonouredFields": "`[fields]`",
    "Flag": "`[[flags]]`",
    "SettingsFile": "`[settings_files.NAME]`",
    "Setting": "`[[settings]]`",
    "Argument": "`[[arguments]]`",
    "PluginRules": "`[plugins.NAME]`",
    "Budget": "`[budget]`",
    "Template": "`[template]`",
    "IsolatedLaunch": "`[isolated]`",
}
"""Class of `hosts/_schema.py` to the table of a host file that it describes."""


def _host_keys() -> Iterator[str]:
    """Yield the tables of the keys of a host file, with the documentation of each."""
    for name, title in TABLES.items():
        yield from (f"### {title}", "", _one_line(getattr(hosts, name).__doc__), "")
        yield from ("| key | default | means |", "|---|---|---|")
        for key, (text, default, words) in KEY_DOCS[name].items():
            values = ", ".join(f"{_value(value)}{means and f' ({means})'}" for value, means in words.items())
            sentence, _, rest = text.partition(". ")
            meaning = f"{sentence.removesuffix('.')}: {values}. {rest}" if values else text
            yield f"| `{key}` | {_default(default)} | {_one_line(_with_placeholders(meaning))} |"
        yield ""


def _value(word: str) -> str:
    return word if word.startswith("another ") else f"`{word}`"


def _with_placeholders(text: str) -> str:
    """Return the documentation of a key without the notation of its place for the value."""
    return re.sub(r"\{(?:place|types|words)?\}", "VALUE", text).replace("{key}", "KEY")


def _one_line(text: str | None) -> str:
    return " ".join((text or "").replace("|", "\\|").split())


def _default(default: object) -> str:
    if default is None:
        return "required"
    shown = ", ".join(default) if isinstance(default, tuple) else "" if default == {} else default
    shown = str(shown).lower() if isinstance(shown, bool) else str(shown)
    return shown and f"`{shown}`".replace("\n", "\\n")


def _replace_generated(page: str, *parts: str) -> str:
    """Replace the text between the marks of a page, in order."""
    remaining = iter(parts)
    return GENERATED.sub(lambda match: match[1] + next(remaining) + match[3], page)


# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def roles_page(page: str) -> str:
    """Return the page about roles, with the tables of all keys."""
    return _replace_generated(
        page, "\n".join(_key_table(keys.FLAT_FIELDS)), "\n".join(_tool_tables()), "\n".join(_initrunner_table())
    )


def _key_table(fields: FieldTable) -> Iterator[str]:
    """Yield a table of keys; the keys of a map follow the map."""
    yield from ("| key | type | default | means |", "|---|---|---|---|")
    yield from _key_rows(fields, "")
    yield ""


def _key_rows(fields: FieldTable, prefix: str) -> Iterator[str]:
    for name, field in fields.items():
        if field.kind == "refused" or field.unused:
            continue
        yield f"| `{prefix}{name}` | {_field_type(field)} | {_field_default(field)} | {_one_line(field.doc)} |"
        nested = keys.MODEL_FIELDS if field.kind == "model" else field.keys
        yield from _key_rows(nested, f"{prefix}{name}{'[]' if field.kind == 'maps' else ''}.")


def _initrunner_table() -> Iterator[str]:
    """Yield a table of the keys of InitRunner's roles, with what happens to each."""
    yield from ("| key | here | what to use instead, or why |", "|---|---|---|")
    yield from _initrunner_rows(keys.INITRUNNER_FIELDS, "")
    for name, field in initrunner.table("flat").items():
        yield f"| `{name}` (flat form) | refused | {field.doc}; {field.hint} |"
    yield f"| `kind: {'`, `'.join(initrunner.MEMBER_KEYS)}` | refused | a role is one agent; {initrunner.SEVERAL} |"
    for kind, hint in initrunner.OTHER_KINDS.items():
        yield f"| `kind: {kind}` | refused | it is not an agent; {hint} |"
    for kind, table in keys.TOOL_FIELDS.items():
        yield f"| tool `{kind}` | run |  |"
        yield from _initrunner_rows({name: field for name, field in table.items() if field.unused}, f"{kind}.")
    for kind, field in initrunner.UNUSED_TOOLS.items():
        yield f"| tool `{kind}` | read | {field.unused} |"
    yield f"| any other tool | read | {initrunner.instead_of_tool('')} |"
    yield ""


def _initrunner_rows(fields: FieldTable, prefix: str) -> Iterator[str]:
    for name, field in fields.items():
        if field.kind == "refused":
            outcome, text = "refused", f"{field.doc}; {field.hint}"
        else:
            outcome, text = ("read", field.unused) if field.unused else ("run", "")
        yield f"| `{prefix}{name}` | {outcome} | {text} |"
        nested = keys.MODEL_FIELDS if field.kind == "model" else field.keys
        if not field.unused:
            yield from _initrunner_rows(nested, f"{prefix}{name}.")


_TYPE_NAMES = {
    "texts": "list of texts",
    "truth": "true or false",
    "integer": "whole number",
    "text-map": "map of texts",
    "maps": "list of maps",
    "model": "text or map",
    "tools": "list of maps",
    "guardrails": "map",
    "capabilities": "list",
    "backend": "text",
    "memory": "text",
}


def _field_type(field: FieldSpec) -> str:
    if field.choices:
        choices = ", ".join(f"`{choice}`" for choice in field.choices)
        return f"{'some' if field.kind == 'texts' else 'one'} of {choices}"
    name = _TYPE_NAMES.get(field.kind, field.kind)
    if field.kind == "integer":
        return f"{name}, {field.minimum:,.0f} to {field.maximum:,.0f}"
    if field.kind == "number":
        return f"{name}, {'from' if field.inclusive else 'above'} {field.minimum:g} to {field.maximum:g}"
    return name


def _field_default(field: FieldSpec) -> str:
    if field.needed:
        return "required"
    if field.default in (None, "", ()) or field.default == {}:
        return ""
    if isinstance(field.default, tuple):
        return f"`{', '.join(field.default)}`"
    return f"`{json.dumps(field.default).strip(chr(34))}`"


def _tool_tables() -> Iterator[str]:
    for tool_type, fields in keys.TOOL_FIELDS.items():
        yield from (f"### `{tool_type}`", "")
        yield from _key_table({name: field for name, field in fields.items() if name not in keys.SHARED_TOOL_FIELDS})
    yield from ("### Keys of every type", "")
    yield from _key_table(keys.SHARED_TOOL_FIELDS)


# ── architecture ─────────────────────────────────────────────────────────────────────────────────────────────────────


def architecture_page(page: str) -> str:
    """Return the map of the source, with the picture, the modules and the findings."""
    parts = runpy.run_path(str(DOCS / "architecture.py"))["PARTS"]
    return _replace_generated(page, *(part() for part in parts))


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def command_page(page: str) -> str:
    """Return the page of a command, with the real output in its console blocks, run one after the other.

    A block of another language below a line that ends with "save this as `PATH`:" is written to that file.
    """

    def block(match: re.Match[str]) -> str:
        if match["path"]:
            Path(match["path"]).write_text(match["content"], encoding="utf-8")
            return match[0]
        return "".join((match["begin"], *_console_lines(match["console"], root), match["end"]))

    with tempfile.TemporaryDirectory(prefix="prowess-docs-") as folder, _demo_user(Path(folder).resolve()) as root:
        return BLOCK.sub(block, page)


@contextlib.contextmanager
def _demo_user(root: Path) -> Iterator[Path]:
    """Become a user without environment variables, in the home and project of `examples/demo.py`."""
    runpy.run_path(str(DOCS.parent / "examples/demo.py"))["furnish"](root)
    cwd, environment = Path.cwd(), dict(os.environ)
    os.chdir(root / "project")
    os.environ.clear()
    os.environ.update(HOME=str(root / "home"), PATH="")
    try:
        yield root
    finally:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)


def _console_lines(block: str, root: Path) -> Iterator[str]:
    """Yield the commands of a console block, each followed by its output."""
    code = 0
    for line in re.findall(r"^\$ .*\n", block, re.MULTILINE):
        yield line
        if line == "$ echo $?\n":
            yield f"{code}\n"
            continue
        command = line[2:].removesuffix("2>/dev/null\n").replace("~/", f"{root}/home/").replace("/home/ada", str(root))
        words = shlex.split(command)
        if words[0] == "prowess":
            output, code = _run_command(words[1:], io.StringIO() if "2>/dev/null" in line else None)
        else:
            output, code = _run_program(words)
        assert "needs Jinja2" not in output, "install the extra `report` first"  # noqa: S101 - the page shows a report
        if words[1] == "test":  # a busy machine takes a second for a case
            output = re.sub(r"  \(\d+\.\d s\)$", "", output, flags=re.MULTILINE)
        if words[1] == "publish":  # the digest depends on the library that compresses
            output = re.sub(r"sha256:[0-9a-f]{64}", f"sha256:{'0123456789abcdef' * 4}", output)
        yield output.replace(f"{root}/project", "/home/ada/project").replace(f"{root}/home", "/home/ada")


# ── adapters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def adapters_page(page: str) -> str:
    """Return the overview of the adapters with the recorded results of their contract, claim by framework."""
    records = {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted((DOCS / "adapters/results").glob("*.json"))
    }
    titles = {name: record["framework"] for name, record in records.items()}
    links = [f"[{titles[name]}]({name}.md)" for name in records]
    notes: list[str] = []

    def cell(name: str, claim: str) -> str:
        result = records[name]["claims"].get(claim, "not tested")
        if result in ("ok", "not tested"):
            return {"ok": "yes"}.get(result, result)
        notes.append(f"{len(notes) + 1}. {titles[name]}, `{claim}`: {result}")
        return f"no ({len(notes)})"

    rows = [f"| claim | {' | '.join(links)} |", f"|---|{'---|' * len(links)}"]
    rows += [f"| `{claim}` | {' | '.join(cell(name, claim) for name in records)} |" for claim in CLAIMS]
    rows.append(f"| tested with | {' | '.join(record['version'] for record in records.values())} |")
    claims = [f"| `{claim}` | {title} |" for claim, (title, _) in CLAIMS.items()]
    lines = ["| claim | what it says |", "|---|---|", *claims]
    lines += ["", *rows, *([""] if notes else []), *notes] if records else []
    return _replace_generated(page, "\n".join(lines) + "\n")


# ── findings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def finding_texts() -> str:
    """Return the data file of the package with what each code means and how to fix it, from its page."""
    texts = {code: _finding_text(code) for code in CODES}
    return json.dumps(texts, indent=1, ensure_ascii=False) + "\n"


def finding_page(code: str, text: str) -> str:
    """Return the page of a code with the hosts that reject its example."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from support.finding_examples import rejecting_line

    with tempfile.TemporaryDirectory() as top:
        line = rejecting_line(code, Path(top))
    return text if line is None else re.sub(r"^Rejected by: .*$", line, text, flags=re.MULTILINE)


def _finding_text(code: str) -> tuple[str, str, str]:
    whole = (DOCS / "findings" / f"{code}.md").read_text(encoding="utf-8")
    page = re.sub(r"^```.*?^```$", "", whole, flags=re.DOTALL | re.MULTILINE)
    meaning = page.split("\n\n")[2]
    fix = page.split("\n## How to fix it\n")[1].split("\n## ")[0].strip().split("\n\n")[0]
    text = whole.split("\n", 4)[4]  # below the title and the severities
    return _absolute_links(_one_line(meaning)), _absolute_links(_one_line(fix)), _absolute_links(text.strip())


def _absolute_links(text: str) -> str:
    return re.sub(r"\]\(\.\./", f"]({DOCS_URL}/", text)


def _format_json(value: object, indent: str = "") -> str:
    """Return JSON with each list and each object on one line if it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) < 118 or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    if isinstance(value, list):
        opening, closing, rows = "[", "]", [_format_json(item, inner) for item in value]
    else:
        opening, closing = "{", "}"
        rows = [f"{json.dumps(key)}: {_format_json(item, inner)}" for key, item in value.items()]
    return "\n".join((opening, *(f"{inner}{row}," for row in rows[:-1]), f"{inner}{rows[-1]}", f"{indent}{closing}"))


PAGES: dict[str, Callable[[str], str]] = {
    "README.md": command_page,
    "help.md": lambda _: help_page(),
    "architecture.md": architecture_page,
    "adapters/README.md": adapters_page,
    "hosts/README.md": hosts_page,
    **{f"hosts/{name}.md": partial(host_page, name) for name in host_names()},
    **{f"findings/{code}.md": partial(finding_page, code) for code in CODES},
    "roles.md": roles_page,
    "role.schema.json": lambda _: _format_json(role.schema()) + "\n",
    **{f"commands/{name}.md": command_page for name in COMMANDS},
    "prowess.1": lambda _: runpy.run_path(str(DOCS / "man_page.py"))["man_page"](),
    "../src/prowess/finding_texts.json": lambda _: finding_texts(),
}
"""Page to the function that returns its new text from the old one."""


if __name__ == "__main__":
    for name, generate in PAGES.items():
        file = DOCS / name
        file.write_text(generate(file.read_text(encoding="utf-8") if file.exists() else ""), encoding="utf-8")
