"""Find six facts of a skill that a person must know who decides about it. None of them is a verdict.

hidden characters, decoded; what looks like a secret; a download, or encoded text, that runs; commands that agents run
when they load the skill; tools that are granted without limits; programs and archives.

`find_facts` is the only answer: `check`, `add`, `update`, `trust` and the report show what it returns.
"""

from __future__ import annotations

import os
import re

from prowess._internal.frozen import Frozen
from prowess._internal.patterns import compile_on_use
from prowess._internal.text import quoted
from prowess.findings import finding

from ._binaries import binary_kind
from ._downloads import find_downloads
from ._files import read_files
from ._hidden_text import find_hidden_text
from ._secrets import find_secrets, has_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prowess.findings import Finding
    from prowess.skill import Skill, Value

    from ._files import SkillFile, SkillFiles

OWASP = {"text-hidden": "AST04", "code-encoded": "AST04", "tools-unlimited": "AST03"}
"""The risks of the OWASP Agentic Skills Top 10 (owasp.org/www-project-agentic-skills-top-10, 2026) that name a fact:
AST03 "Over-Privileged Skills", and AST04 "Insecure Metadata", which names hidden characters and base64 in the text of a
skill. The list does not name the other facts."""
_HINTS = {
    "text-hidden": "every agent gives hidden characters to its model, and a reader does not see them; remove them",
    "secret-likely": "all who get the skill can read it; if it is a secret, remove and revoke it",
    "download-runs": "any agent with a shell may run it; download a fixed version, and compare its digest first",
    "code-encoded": "any agent with a shell may run it; write it as text that a person can read",
    "command-on-load": "other agents do not run it; remove it if nothing should run",
    "tools-unlimited": "name what is needed, such as `Bash(git log:*)`; other agents ask as usual",
    "file-binary": "any agent with a shell may run or unpack it; say where it comes from",
    "file-unsearched": "read them, or split them",
}
_MAX_PER_CODE = 20
"""Facts of one kind in one skill; the last one counts the others."""
_MAX_SHOWN = 120
_MAX_HOOKS = 3
"""Commands of hooks that a fact shows."""
_RUNS_COMMANDS = "Claude Code"
"""Documented: code.claude.com/docs/en/skills, "Inject dynamic context" and "Hooks in skills" (2026-11)."""
_SKIP_QUESTIONS = "Claude Code and GitHub Copilot do"
"""Documented: code.claude.com/docs/en/skills, `allowed-tools`; docs.github.com, "Adding agent skills for GitHub Copilot
CLI", "Enabling a skill to run a script" (2026-11)."""
_INLINE_COMMAND = compile_on_use(r"(?<![\w`!])!`([^`\n]{1,2000})`")
_COMMAND_BLOCK = compile_on_use(r"^[ \t>*+-]*(?P<fence>`{3,}|~{3,})[ \t]*!", re.MULTILINE)
_UNLIMITED = compile_on_use(
    r"\*|all|(?:bash|shell|powershell|run_shell_command|execute|terminal|run_in_terminal|run_terminal_cmd|mcp__\*)"
    r"(?:\((?:\*|:\*|\*:\*|\*\*|\* \*)?\))?",
    re.IGNORECASE,
)


class Fact(Frozen):
    """One fact about a skill."""

    code: str
    path: str
    """Of a file in the skill, with `/`."""
    line: int | None = None
    """1-based."""
    message: str

    @property
    def text(self) -> str:
        """The message, with the risk of OWASP that names such a fact."""
        return f"{self.message} (OWASP {OWASP[self.code]})" if self.code in OWASP else self.message

    def as_finding(self, folder: str) -> Finding:
        """Return it as a finding of a file below the folder of the skill."""
        path = os.path.join(folder, *self.path.split("/"))
        return finding(self.code, self.text, path=path, line=self.line, hint=_HINTS[self.code])


def find_facts(skill: Skill, listed: Sequence[tuple[str, int]] | None = None) -> tuple[Fact, ...]:
    """Return the facts of a skill, file by file; its SKILL.md first.

    Args:
        skill: its SKILL.md, read from its folder with the body.
        listed: the files in the folder with their sizes in bytes, if that is known.
    """
    if skill.document is None:  # it cannot be read, which another finding says
        return ()
    folder, name = os.path.split(skill.path or "")
    return facts_in(skill, name, read_files(folder, name, listed))


def facts_in(skill: Skill, name: str, files: SkillFiles) -> tuple[Fact, ...]:
    """Return the facts of a skill whose files were read.

    Args:
        skill: its SKILL.md.
        name: of that file.
        files: all files of its folder.
    """
    found: dict[str, list[Fact]] = {}
    for fact in (
        *_facts_of_skill(skill, name),
        *(fact for file in files.files for fact in _facts_of_file(file, skill, name)),
    ):
        found.setdefault(fact.code, []).append(fact)
    if files.unsearched:
        count = f"{files.unsearched:,} {'file is' if files.unsearched == 1 else 'files are'}"
        first = f"{', such as' if files.unsearched > 1 else ':'} {quoted(files.first_unsearched, 200)}"
        message = f"{count} too large to be searched for facts{first}"
        found["file-unsearched"] = [Fact(code="file-unsearched", path=name, message=message)]
    facts = [fact for of_code in found.values() for fact in _limited(of_code)]
    return tuple(sorted(facts, key=lambda fact: (fact.path != name, fact.path, fact.line or 0)))


def fact_findings(skill: Skill, listed: Sequence[tuple[str, int]] | None = None) -> tuple[Finding, ...]:
    """Return the facts of a skill as findings of its files; see `find_facts`."""
    folder = os.path.dirname(skill.path or "")
    return tuple(fact.as_finding(folder) for fact in find_facts(skill, listed))


def _limited(facts: list[Fact]) -> Iterable[Fact]:
    """Return the first facts of one kind; the last of these says how many more there are."""
    if len(facts) <= _MAX_PER_CODE:
        return facts
    last, more = facts[_MAX_PER_CODE - 1], len(facts) - _MAX_PER_CODE
    return (*facts[: _MAX_PER_CODE - 1], last.with_changes(message=f"{last.message}, and {more:,} more of this kind"))


# ── the SKILL.md ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _facts_of_skill(skill: Skill, name: str) -> Iterator[Fact]:
    yield from _granted_tools(skill, name)
    yield from _hooks(skill, name)
    yield from _commands_on_load(skill, name)


def _granted_tools(skill: Skill, name: str) -> Iterator[Fact]:
    for key in ("allowed-tools", "allowed_tools"):
        if (field := skill.fields.get(key)) is None:
            continue
        unlimited = [tool for tool in dict.fromkeys(skill.allowed_tools) if _UNLIMITED.fullmatch(tool.strip())]
        for tool in unlimited:
            message = f"{quoted(tool)} is granted without limits: {_SKIP_QUESTIONS} not ask before using it"
            yield Fact(code="tools-unlimited", path=name, line=field.line, message=message)
        return


def _hooks(skill: Skill, name: str) -> Iterator[Fact]:
    field = skill.fields.get("hooks")
    if field is None or not field.value:
        return
    commands = [*dict.fromkeys(_commands(field.value))][:_MAX_HOOKS]
    if not commands:  # Claude Code ignores other values, or they run no command
        return
    what = ", ".join(quoted(command, _MAX_SHOWN) for command in commands)
    message = f"{_RUNS_COMMANDS} runs {what} while the skill is in use"
    yield Fact(code="command-on-load", path=name, line=field.line, message=message)


def _commands(value: Value, key: str = "") -> Iterator[str]:
    """Yield the commands in the hooks of a front matter."""
    if isinstance(value, str):
        if key == "command":
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _commands(item)
    else:
        for inner, item in value.items():
            yield from _commands(item, inner)


def _commands_on_load(skill: Skill, name: str) -> Iterator[Fact]:
    body = skill.body
    if skill.document is None or "!" not in body:
        return
    first = skill.document.body_line
    for match in _INLINE_COMMAND.finditer(body) if "!`" in body else ():
        line = first + body.count("\n", 0, match.start())
        message = f"{_RUNS_COMMANDS} runs {quoted(match[1], _MAX_SHOWN)} when it loads the skill"
        yield Fact(code="command-on-load", path=name, line=line, message=message)
    for match in _COMMAND_BLOCK.finditer(body) if "!" in body else ():
        start = body.find("\n", match.end()) + 1
        end = body.find(match["fence"], start) if start else -1
        block = body[start : end if end > 0 else start + 2000].strip() if start else ""
        line = first + body.count("\n", 0, match.start())
        shown = quoted(" ".join(block[: 4 * _MAX_SHOWN].split()), _MAX_SHOWN)
        message = f"{_RUNS_COMMANDS} runs {shown} when it loads the skill"
        yield Fact(code="command-on-load", path=name, line=line, message=message)


# ── all files ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _facts_of_file(file: SkillFile, skill: Skill, name: str) -> Iterator[Fact]:
    path = file.path
    if has_secret_name(path):
        message = "its name is that of a file with secrets"
        yield Fact(code="secret-likely", path=path, message=message)
    if kind := binary_kind(path, file.data):
        yield Fact(code="file-binary", path=path, message=f"{kind}, {_size(file.size)}")
        return
    if not file.is_text:
        return
    first_line = skill.document.body_line if skill.document and path == name else 1
    # Another rule is about the front matter.
    for line, message in find_hidden_text(file, first_line):
        yield Fact(code="text-hidden", path=path, line=line, message=message)
    # A token is often given to a name, and is one secret.
    for line, what in {line: what for what, line in reversed([*find_secrets(file.data)])}.items():
        yield Fact(code="secret-likely", path=path, line=line, message=f"what looks like {what}")
    for code, line, message in find_downloads(file):
        yield Fact(code=code, path=path, line=line, message=message)


def _size(size: int) -> str:
    """Return a size in words."""
    if size < 1_000:
        return f"{size:,} {'byte' if size == 1 else 'bytes'}"
    return f"{size / 1e3:.1f} kB" if size < 999_950 else f"{size / 1e6:.1f} MB"
