"""Check the text of a body: what it leaves out, and what works on the machine of its author only.

Sources: agentskills.io, "Specification", "Progressive disclosure"; Anthropic, "Skill authoring best practices",
"Avoid Windows-style paths" and "Avoid time-sensitive information". Each rule reports once a skill, at the first place.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prowess._internal.text import quoted, quoted_list
from prowess.findings import finding
from prowess.skill import find_windows_paths

from ._routes import is_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prowess.findings import Finding
    from prowess.skill import Skill

MAX_LINES, MAX_TOKENS = 500, 5_000
"""Of a body whose details belong into other files."""
_MAX_AGEING = 100
"""Different names and dates that are counted."""


def check_text(skill: Skill, files: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong with the text of a body.

    Args:
        skill: the skill, with its body.
        files: the paths of the files in its folder.
    """
    document = skill.document
    if document is None or document.frontmatter is None or not skill.body.strip():
        return
    body, first = skill.body, document.body_line

    def at(position: int, code: str, message: str, hint: str) -> Finding:
        line = body.count("\n", 0, position)
        column = position - (body.rfind("\n", 0, position) + 1) + 1
        return finding(code, message, path=skill.path, line=first + line, column=column, hint=hint)

    yield from _check_placeholder(skill, at)
    yield from _check_length(skill, files)
    yield from _check_windows_paths(body, files, at)
    yield from _check_author_paths(body, at)
    yield from _check_ageing(body, at)


# ── placeholders ─────────────────────────────────────────────────────────────────────────────────────────────────────

_PLACEHOLDERS = (
    "# Insert instructions below",
    "[TODO: ",
    "## [TODO: ",
    "Describe here what the agent does, step by step, and how it knows that it is done.",
    "Instructions for the agent to follow when this skill is activated.",
)
"""Lines of templates: Anthropic's `template` and `init_skill.py`, `prowess new`, and `skills init`."""


def _check_placeholder(skill: Skill, at: Callable[..., Finding]) -> Iterator[Finding]:
    """Check for text of a template, unless the description is that of one: it is reported once."""
    if is_template((skill.description or "").strip()):
        return
    text = f"\n{skill.body}"
    found = [position for line in _PLACEHOLDERS if (position := text.find(f"\n{line}")) >= 0]
    if found:
        line = text[min(found) + 1 :].split("\n", 1)[0]
        message = f"the body still has the text of a template: {quoted(line)}"
        yield at(min(found), "body-placeholder", message, "replace it with what the agent should do, or remove it")


# ── length ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_length(skill: Skill, files: Iterable[str]) -> Iterator[Finding]:
    """Check for a long body that is read as a whole, whatever the task: no file beside it has details."""
    document = skill.document
    lines = document.line_count if document else 0
    if lines <= MAX_LINES and len(skill.body) <= MAX_TOKENS:  # no text has more tokens than characters by the estimate
        return
    from prowess.prompt import estimate_tokens

    tokens = estimate_tokens(skill.body)
    if (lines <= MAX_LINES and tokens <= MAX_TOKENS) or any(_is_detail(path) for path in files):
        return
    message = (
        f"SKILL.md has {lines:,} lines, its body about {tokens:,} tokens, and no file beside it has details; "
        f"at most {MAX_LINES} lines and {MAX_TOKENS:,} tokens are recommended"
    )
    hint = "move what only some tasks need into files in `references/`, and name each in the step that needs it"
    line = document.body_line if document else None
    yield finding("body-alone", message, path=skill.path, line=line, hint=hint)


def _is_detail(path: str) -> bool:
    """Return whether a file may have details of the body: a text beside SKILL.md that is not about the skill."""
    folder, _, name = path.lower().rpartition("/")
    if folder.split("/")[0] in ("evals", "tests", "test", "agents") or folder.startswith("."):
        return False
    stem, _, ending = name.rpartition(".")
    about = ("skill", "readme", "license", "licence", "notice", "changelog", "contributing", "benchmark", "skill-card")
    return (bool(folder) or ending in ("md", "txt")) and stem not in about and not stem.startswith("license")


# ── paths ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_windows_paths(body: str, files: Iterable[str], at: Callable[..., Finding]) -> Iterator[Finding]:
    for start, end in find_windows_paths(body, frozenset(files)):
        path = body[start:end]
        message = f"the path {quoted(path)} has backslashes, which work on Windows only"
        hint = f"write {quoted(path.replace(chr(92), '/'))}, or run `prowess check --fix`"
        yield at(start, "path-windows", message, hint)
        return


@lru_cache(maxsize=1)
def _find_author_paths() -> Callable[[str], Iterator[re.Match[str]]]:
    return re.compile(
        r"(?<![\w./:@$}%-])(?:/Users/|/home/|[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2})([A-Za-z0-9][A-Za-z0-9._-]{0,63})"
        r"[\\/]{1,2}[\w.-]"
    ).finditer


_NAMES = """
    admin administrator agent alice app appuser azureuser bar baz bob build builder carol centos ci claude codespace
    coder codex copilot dan debian default demo dev developer devuser docker ec2-user example exampleuser fedora foo git
    gitpod guest jane janedoe jdoe jenkins john johndoe jovyan linuxbrew me my myname myuser myusername name node
    nonroot nvidia pi public root runner runneradmin sagemaker-user sandbox shared someone student test
    testuser ubuntu user user-name user_name username users vagrant vscode work workspace x xx xxx you your your-name
    your_name yourname yourself yourusername
"""
_NOT_AUTHORS = frozenset(_NAMES.split())
"""Names of users in examples, of images and of services."""


def _check_author_paths(body: str, at: Callable[..., Finding]) -> Iterator[Finding]:
    if "/Users/" not in body and "/home/" not in body and "Users\\" not in body:
        return
    for match in _find_author_paths()(body):
        if match[1].lower() not in _NOT_AUTHORS:
            end = re.compile(r"[^\s`'\"<>(){}|,;]{0,120}").match(body, match.start())
            path = end[0] if end else match[0]
            message = f"the path {quoted(path)} exists on its author's machine only"
            hint = "write a path relative to the skill's folder or to the project, or use `$HOME`"
            yield at(match.start(), "path-author", message, hint)
            return


# ── what ages ────────────────────────────────────────────────────────────────────────────────────────────────────────


_AGEING = {
    "gpt": r"gpt-?(?:3(?:\.5)?|4)(?:-(?:turbo|32k)|o)?(?:-\d{4}(?:-\d\d){0,2})?",
    "claude-": r"claude-(?:2(?:\.[01])?|instant|3(?:[.-][57])?(?:-(?:opus|sonnet|haiku))?|(?:opus|sonnet|haiku)-4)"
    r"(?:[-@]20\d{6})?(?:-latest)?",
    "gemini-1.": r"gemini-1\.[05](?:-(?:pro|flash))?",
    "text-davinci-": r"text-davinci-\d{3}",
    "o1-": r"o1-(?:mini|preview)",
    **dict.fromkeys(
        ("as of ", "until ", "before ", "after ", "since "),
        r"(?:as of|until|before|after|since) (?:(?:january|february|march|april|may|june|july|august|september|october"
        r"|november|december|q[1-4]) )?202[3-9](?:-\d\d){0,2}",
    ),
}
"""What a name or a date that ages begins with, and the pattern for all of it; in lower case."""


@lru_cache(maxsize=1)
def _ageing_patterns() -> dict[str, re.Pattern[str]]:
    return {start: re.compile(rf"(?<![\w./-]){pattern}(?![\w-])") for start, pattern in _AGEING.items()}


def _check_ageing(body: str, at: Callable[..., Finding]) -> Iterator[Finding]:
    lower = body.lower()
    if len(lower) != len(body):  # a few letters have another length in lower case
        return
    found: dict[str, int] = {}
    for start, pattern in _ageing_patterns().items():
        position = lower.find(start)
        while position >= 0 and len(found) < _MAX_AGEING:
            if match := pattern.match(lower, position):
                found.setdefault(match[0], position)
            position = lower.find(start, position + len(start))
    if not found:
        return
    first, *_ = positions = sorted(found.values())
    lengths = {position: len(text) for text, position in found.items()}
    shown = quoted_list([body[position : position + lengths[position]] for position in positions])
    hint = "name what changes in one place only, and say where to look for what is current"
    yield at(first, "text-ages", f"names of models and dates age: {shown}", hint)
