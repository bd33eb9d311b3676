"""Check the scripts that a body runs: whether they start, and whether what they import is declared.

A script is named as a command if it is the first word of a line in a block of shell code, or of inline code, as in
`./scripts/fill.sh`. One that is run by an interpreter, as in `python scripts/fill.py`, needs neither a mode nor a first
line. Sources: agentskills.io, "Specification", "scripts/"; Anthropic, "Skill authoring best practices", "Package
dependencies". Each rule reports once a skill, and only the packages that Prowess knows by their modules count.
"""

from __future__ import annotations

import os
import re
import sys

from prowess._internal.text import PATH_LIMIT, quoted, quoted_list
from prowess.environments import DISTRIBUTIONS
from prowess.findings import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prowess.findings import Finding
    from prowess.skill import Skill

    from ._files import SkillTexts

_MAX_SCRIPTS = 100
"""Scripts of one skill that are checked."""
_MAX_PLACES = 50
"""Places of one script in a body that are looked at."""
_MAX_COMMAND = 500
"""Characters of a command in inline code."""


def check_scripts(skill: Skill, texts: SkillTexts) -> Iterator[Finding]:
    """Yield what keeps the scripts of a skill from running.

    Args:
        skill: the skill, with its body.
        texts: its files.
    """
    if skill.document is None or skill.document.frontmatter is None:
        return
    commands = _named_commands(skill, texts)
    wrong = {path: problem for path in commands if (problem := _first_line_problem(texts.text(path) or ""))}
    for path, problem in wrong.items():
        message = f"the body runs {quoted(path, PATH_LIMIT)} as a command, which {problem}"
        hint = "begin it with a line such as `#!/usr/bin/env bash`, or name the program that runs it"
        yield _at(skill, commands[path], "script-first-line", message, hint)
        break
    yield from _check_modes(skill, texts, {path: at for path, at in commands.items() if path not in wrong})
    yield from _check_packages(skill, texts)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


_OWN_FOLDER = r"\"?(?:\./|\{baseDir\}/|\$\{?(?:CLAUDE_SKILL_DIR|SKILL_DIR|SKILL_ROOT)\}?/)?"
_BEFORE = re.compile(rf"(?:(?:^|\n)[ \t]*(?:[$>] )?|(?P<inline>`)|&& |\|\| ){_OWN_FOLDER}\Z")
"""What is before a command: the beginning of a line or of inline code, or another command."""
_FENCE = re.compile(r"^ {0,8}(`{3,}|~{3,})[ \t]*([\w+-]*)", re.MULTILINE)
_SHELLS = ("bash", "sh", "shell", "zsh", "console", "shell-session", "terminal")


def _named_commands(skill: Skill, texts: SkillTexts) -> dict[str, int]:
    """Return the scripts that the body names as commands, each with the position where it does so first.

    Inline code counts if words follow the path in it, or if it begins with `./`: `scripts/a.py` alone names a file.
    """
    body = skill.body
    found: dict[str, int] = {}
    blocks: list[tuple[int, int]] | None = None
    scripts = [path for path in texts.sizes if _is_script(path) and path in body and _is_text(texts.text(path))]
    for path in scripts[:_MAX_SCRIPTS]:
        position = body.find(path)
        for _ in range(_MAX_PLACES):
            if position < 0:
                break
            after = body[position + len(path) : position + len(path) + 1]
            match = _BEFORE.search(body, max(position - 40, 0), position)
            if match and (not after or after in ' \t\r\n`";&|'):
                blocks = _shell_blocks(body) if blocks is None else blocks
                if _is_inline_command(body, match, position + len(path)) or (
                    not match["inline"]
                    and any(start <= position < end for start, end in blocks)
                    and not body[:position].rpartition("\n")[0].endswith(("\\", "\\\r"))
                ):
                    found[path] = position
                    break
            position = body.find(path, position + len(path))
    return found


def _is_inline_command(body: str, match: re.Match[str], end: int) -> bool:
    if not match["inline"] or body.startswith("``", match.start()) or body[match.start() - 1 : match.start()] == "`":
        return False
    close = body.find("`", end, end + _MAX_COMMAND)
    words = body[end:close] if close >= 0 else ""
    return body.startswith("./", match.start() + 1) or (words.startswith(" ") and "\n" not in words)


_SCRIPTS = (".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".rb", ".pl")


def _is_text(text: str | None) -> bool:
    """Return whether a file is text, as far as its first line says; not a program."""
    return text is not None and text.split("\n", 1)[0].strip("\r\t\ufeff").isprintable()


def _is_script(path: str) -> bool:
    return path.endswith(_SCRIPTS) or "." not in path.rpartition("/")[2]


def _shell_blocks(body: str) -> list[tuple[int, int]]:
    """Return where the blocks of shell code begin and end."""
    blocks: list[tuple[int, int]] = []
    fence, start, is_shell = "", 0, False
    for match in _FENCE.finditer(body):
        if not fence:
            fence, start, is_shell = match[1], match.end(), match[2].lower() in _SHELLS
        elif match[1].startswith(fence) and not match[2]:
            if is_shell:
                blocks.append((start, match.start()))
            fence = ""
    return blocks


def _at(skill: Skill, position: int, code: str, message: str, hint: str) -> Finding:
    body, first = skill.body, skill.document.body_line if skill.document else 1
    line = first + body.count("\n", 0, position)
    column = position - body.rfind("\n", 0, position)
    return finding(code, message, path=skill.path, line=line, column=column, hint=hint)


def _check_modes(skill: Skill, texts: SkillTexts, commands: Mapping[str, int]) -> Iterator[Finding]:
    if sys.platform == "win32":
        return
    wrong = [path for path in commands if not _is_executable(os.path.join(texts.folder, *path.split("/")))]
    if wrong:
        message = f"the body runs {quoted(wrong[0], PATH_LIMIT)} as a command, but its mode does not allow it"
        if len(wrong) > 1:
            message = (
                f"the body runs {quoted_list(wrong, limit=PATH_LIMIT)} as commands, but their modes do not allow it"
            )
        hint = f"`chmod +x {wrong[0]}`, or name the program that runs it"
        yield _at(skill, commands[wrong[0]], "script-mode", message, hint)


def _is_executable(path: str) -> bool:
    try:
        return bool(os.stat(path, follow_symlinks=False).st_mode & 0o111)
    except OSError:
        return True


_PROGRAM = re.compile(r"#![ \t]*(/\S+)")


def _first_line_problem(text: str) -> str:
    """Return what is wrong with the first line of a script; empty if nothing is, or if the text is unknown."""
    line = text.split("\n", 1)[0]
    if not text:
        return ""
    if line.startswith("\ufeff#!"):
        return "begins with a byte order mark, so the system does not find `#!`"
    if not line.startswith("#!"):
        return "does not begin with `#!` and the program that runs it"
    if line.endswith("\r"):
        return "has a first line that ends in a carriage return, which becomes part of the program's name"
    program = _PROGRAM.match(line)
    if program is None:
        return f"has a first line without the path of a program: {quoted(line)}"
    if program[1].startswith(("/Users/", "/home/", "/opt/homebrew/", "/usr/local/Cellar/")):
        return f"has a first line with a program of its author's machine: {quoted(program[1])}"
    return ""


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_IMPORT = re.compile(r"^(?:import|from)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
"""At the left margin: an import inside a block may be an optional one."""
_DECLARATIONS = (
    "requirements",
    "pyproject.toml",
    "environment.y",
    "setup.py",
    "pipfile",
    "uv.lock",
    "package.json",
    "install",
)
"""How names of files begin that declare packages, or install them."""


def _check_packages(skill: Skill, texts: SkillTexts) -> Iterator[Finding]:
    """Check the Python scripts that the body names, for known packages that no text of the skill mentions."""
    scripts = [path for path in texts.sizes if path.endswith(".py") and path.rpartition("/")[2] in skill.body]
    if not scripts or any(path.rpartition("/")[2].lower().startswith(_DECLARATIONS) for path in texts.sizes):
        return
    said = _declared_text(skill)
    found: dict[str, str] = {}
    for path in scripts[:_MAX_SCRIPTS]:
        text = texts.text(path)
        if text is None or "pip install" in text or "uv run" in text or "\n# /// script" in f"\n{text}":
            continue
        for module in dict.fromkeys(_IMPORT.findall(text)):
            package = DISTRIBUTIONS.get(module)
            if package and not any(name.lower() in said for name in _spellings(module, package)):
                found.setdefault(package, path)
    if found:
        packages = sorted(found)
        path = found[packages[0]]
        named = quoted_list(packages, limit=PATH_LIMIT)
        message = f"{quoted(path, PATH_LIMIT)} imports {named}, which nothing in the skill declares"
        hint = "say in the body or in `compatibility` what is needed, or write it into the script as `# /// script`"
        position = skill.body.find(path.rpartition("/")[2])
        yield _at(skill, position, "script-package", message, hint).with_changes(cause=" ".join(packages))


def _declared_text(skill: Skill) -> str:
    """Return all that a skill says of what it needs, in lower case: its fields and its body."""
    fields = skill.document.frontmatter if skill.document else ""
    return f"{fields}\n{skill.body}".lower()


def _spellings(module: str, package: str) -> set[str]:
    return {module, package, package.replace("-", "_"), package.replace("-", " ")}
