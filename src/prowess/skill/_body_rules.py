"""Check the body of a skill, and the links in it.

Sources: agentskills.io, "Specification" (2026-11).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from prowess._internal.text import quoted
from prowess.findings import Finding, finding

from ._rules import MAX_FINDINGS_PER_CODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from ._skill import Skill

MAX_LINES = 500
"""Lines of a SKILL.md; "Progressive disclosure"."""


def check_body(skill: Skill) -> Iterator[Finding]:
    """Check what needs the whole file: specification, "Body content" and "Progressive disclosure"."""
    document = skill.document
    if document is None or document.frontmatter is None:
        return
    if not skill.body.strip():
        yield finding(
            "body-empty",
            "no instructions below the front matter",
            path=skill.path,
            line=document.body_line,
            hint="write what the agent should do",
        )
    if document.line_count > MAX_LINES:
        yield finding(
            "body-too-long",
            f"SKILL.md has {document.line_count:,} lines; at most {MAX_LINES} are recommended",
            path=skill.path,
            line=MAX_LINES + 1,
            hint="move details into files in `references/`",
        )


_LINK_PATTERN = r"(?<!!)\[[^\[\]\n]{0,200}\]\(\s*<?(?P<target>[^()\s<>\"]{1,300})>?(?:\s+\"[^\"\n]{0,200}\")?\s*\)"
_PLACEHOLDER_PATTERN = r"(?:^|\s)\[[A-Z][A-Za-z ]{2,40}\](?:\s|$)"
"""A text in brackets that is no link: the line is part of a template, as in `- [file.md](file.md): [Description]`."""
_CODE_FENCE_PATTERN = r"^ {0,3}(```+|~~~+)"


def _without_code(line: str) -> str:
    """Replace the code spans of a line with blanks; a span ends at the next run of as many back-ticks."""
    if "`" not in line:
        return line
    runs = [(run.start(), run.end()) for run in re.finditer(r"`+", line)]
    closing: list[int | None] = [None] * len(runs)
    last: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        closing[number] = last.get(length)
        last[length] = number
    parts, position, number = [], 0, 0
    while number < len(runs):
        other = closing[number]
        if other is not None:
            start, end = runs[number][0], runs[other][1]
            parts += [line[position:start], " " * (end - start)]
            position, number = end, other
        number += 1
    return "".join([*parts, line[position:]])


def find_body_links(skill: Skill) -> Iterator[tuple[str, int, int]]:
    """Yield the relative links of the body outside code and templates: target, line, column.

    The target is a path relative to the skill's folder; it may be missing, and may lead out of the folder.
    """
    if skill.document is None:
        return
    # Compiled here, because only a check reads bodies.
    link_pattern, fence_pattern = re.compile(_LINK_PATTERN), re.compile(_CODE_FENCE_PATTERN)
    placeholder = re.compile(_PLACEHOLDER_PATTERN).search
    fence = ""
    for number, line in enumerate(skill.body.split("\n"), skill.document.body_line):
        if match := fence_pattern.match(line):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence):
                fence = ""
            continue
        if fence or "](" not in line or (("] " in line or line.rstrip().endswith("]")) and placeholder(line)):
            continue
        for match in link_pattern.finditer(_without_code(line)):
            target = match["target"].split("#")[0].split("?")[0]
            if "%" in target:
                from urllib.parse import unquote

                target = unquote(target)
            if not target or "\0" in target or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//|[{$]", target):
                continue
            yield target, number, match.start("target") + 1


_MAX_LINKS = 1000
"""Different links of one body that are checked."""


Links = Iterable[tuple[str, int, int]]
"""Target, line and column of each."""


def check_links(
    skill: Skill, exists: Callable[[str], bool], links: Links | None = None, files: Iterable[str] = ()
) -> Iterator[Finding]:
    """Check that the links of the body lead to files of the skill: specification, "File references".

    One cause is reported once: a folder that is missing, or files that are all elsewhere in the skill. Links that lead
    out of the skill's folder are left out.

    Args:
        skill: the skill, with its body.
        exists: tells whether a path inside the skill's folder exists.
        links: those of the body, if they are known.
        files: the paths of the files in the skill's folder, with `/`.
    """
    checked: set[str] = set()
    missing: dict[str, list[tuple[str, int, int]]] = {}
    where: dict[str, str] = {}
    elsewhere: dict[str, str] | None = None
    for target, line, column in find_body_links(skill) if links is None else links:
        path = os.path.normpath(target)
        if path in checked or os.path.isabs(path) or path == ".." or path.startswith(".." + os.sep):
            continue
        checked.add(path)
        if not exists(path):
            elsewhere = _unique_names(files) if elsewhere is None else elsewhere
            folder = _missing_folder(path, exists)
            found = elsewhere.get(os.path.basename(path))
            cause = "" if found else folder or path
            where.setdefault(
                cause, f"; it is at {quoted(found)}" if found else f": there is no {quoted(folder)}" if folder else ""
            )
            missing.setdefault(cause, []).append((target, line, column))
        if len(missing) == MAX_FINDINGS_PER_CODE or len(checked) == _MAX_LINKS:
            break
    for cause, places in missing.items():
        target, line, column = places[0]
        count = f" ({len(places):,} such links)" if len(places) > 1 else ""
        yield finding(
            "link-missing",
            f"the link {quoted(target)} leads to a missing file{where[cause]}{count}",
            path=skill.path,
            line=line,
            column=column,
            hint="fix the link, or add the file",
        )


def _missing_folder(path: str, exists: Callable[[str], bool]) -> str:
    """Return the first folder of a path that is missing; empty if all of them are there."""
    parts = path.split(os.sep)[:-1]
    for end in range(1, len(parts) + 1):
        folder = os.path.join(*parts[:end])
        if not exists(folder):
            return folder
    return ""


def _unique_names(files: Iterable[str]) -> dict[str, str]:
    """Return the path of each file whose name no other file has."""
    found: dict[str, str] = {}
    several: set[str] = set()
    for file in files:
        name = file.rpartition("/")[2]
        if name in found:
            several.add(name)
        found[name] = file
    return {name: path for name, path in found.items() if name not in several}


USUAL_FOLDERS = ("scripts", "references", "reference", "assets", "resources", "templates", "examples")
"""Folders whose files a body names: those of the specification, and the usual ones."""
_FOLDER = rf"(?:{'|'.join(USUAL_FOLDERS)})"
_WINDOWS_PATH = rf"(?<![\w\\:/.-])(?:\.\\)?({_FOLDER}\\(?:[\w.-]{{1,80}}\\){{0,6}}[\w-]{{1,80}}\.\w{{1,6}})(?![\w\\])"


def find_windows_paths(text: str, files: Container[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each path with backslashes that names a file of the skill.

    `cmd.exe` runs a `.bat` file by such a path only.

    Args:
        text: of a body.
        files: the paths of the files in the skill's folder, with `/`.
    """
    if not any(f"{folder}\\" in text for folder in USUAL_FOLDERS):
        return
    for match in re.finditer(_WINDOWS_PATH, text):
        if match[1].replace("\\", "/") in files and not match[1].lower().endswith((".bat", ".cmd")):
            yield match.start(), match.end()
