"""Check the files of a skill against its body: named and missing, there and never named, and scripts that cannot run.

Sources: agentskills.io, "Specification", "File references"; Anthropic, "Skill authoring best practices", "Avoid deeply
nested references". Each rule reports once a skill. Files are read as far as a rule needs them, and within limits; no
link is followed.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from prowess._internal.files import UnreadableError
from prowess._internal.text import PATH_LIMIT, quoted, quoted_list
from prowess.findings import finding
from prowess.skill import USUAL_FOLDERS, find_body_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prowess.filesystem import Filesystem
    from prowess.findings import Finding
    from prowess.skill import Skill

_MAX_BYTES = 64 * 1024
"""Bytes of one file that are read."""
_MAX_READ = 60
"""Files of one skill that are read."""
_MAX_PATHS = 1_000
"""Different paths of one body that are checked."""


class SkillTexts:
    """The files beside a SKILL.md, and their texts, each read once and only if a rule asks for it."""

    def __init__(self, skill: Skill, filesystem: Filesystem) -> None:
        self.skill, self.filesystem = skill, filesystem
        self.folder = os.path.dirname(skill.path or "")
        files = [(path, size) for path, size in filesystem.files(skill.path or "") if path != "SKILL.md"]
        # What is below another SKILL.md belongs to that skill.
        inner = tuple(path[: -len("SKILL.md")] for path, _ in files if path.endswith("/SKILL.md"))
        self.sizes = {path: size for path, size in files if not (inner and path.startswith(inner))}
        self._texts: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        """Return the text of a file; `None` if it is large, binary or unreadable, or if enough files were read."""
        if path not in self._texts:
            self._texts[path] = None
            if self.sizes.get(path, _MAX_BYTES + 1) <= _MAX_BYTES and len(self._texts) <= _MAX_READ:
                try:
                    data = self.filesystem.data(os.path.join(self.folder, *path.split("/")), _MAX_BYTES, follow=False)
                except UnreadableError:
                    data = b"\0"
                self._texts[path] = None if b"\0" in data else data.decode("utf-8", "replace")
        return self._texts[path]


def check_files(skill: Skill, texts: SkillTexts, exists: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield what is wrong between a body and the files beside it.

    Args:
        skill: the skill, with its body.
        texts: its files.
        exists: tells whether a path inside the skill's folder exists: a file, a folder or a link.
    """
    if skill.document is None or skill.document.frontmatter is None:
        return
    yield from _check_missing(skill, texts, exists)
    yield from _check_unreferenced(skill, texts)
    yield from _check_nested(skill, texts)


# ── named, and missing ───────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1)
def _match_path() -> Callable[[str, int], re.Match[str] | None]:
    return re.compile(
        rf"((?:{'|'.join(USUAL_FOLDERS)})/[\w./-]{{0,200}}\w\.[A-Za-z0-9]{{1,6}})(?![\w/*<{{$%-]|\.\w|`?\]\()"
    ).match


_OWN_FOLDER = ("./", "{baseDir}/", "$CLAUDE_SKILL_DIR/", "${CLAUDE_SKILL_DIR}/", "${SKILL_DIR}/", "$SKILL_DIR/")
"""What the path of a file of the skill itself may begin with."""
_IN_PATH = frozenset("./$}{<>\\@%~*-_")


def _find_paths(body: str) -> Iterator[tuple[int, str]]:
    """Yield the paths of a text that begin with a usual folder of skills, and where they are."""
    for position in sorted({at for folder in USUAL_FOLDERS for at in _find_all(body, f"{folder}/")}):
        before = position
        for start in _OWN_FOLDER:
            if body.startswith(start, max(position - len(start), 0), position):
                before = position - len(start)
                break
        if before and (body[before - 1] in _IN_PATH or body[before - 1].isalnum()):
            continue
        if match := _match_path()(body, position):
            yield position, match[1]


def _find_all(text: str, word: str) -> Iterator[int]:
    position = text.find(word)
    while position >= 0:
        yield position
        position = text.find(word, position + len(word))


_NOT_HERE = re.compile(
    r"creat|writ|sav|generat|output|produc|\badd|copy|copied|move|clon|checkout|example|e\.g\.|such as|\blike\b"
    r"|would|could|should|expects?|must contain|optional|\b(?:if|whether|its|new|not|don't|avoid|bad|wrong)\b"
    r"|template for|instead of|your |project|repo|upstream|parent|another skill|skills? |skill['’]s|plugin"
    r"|>|--?o(?:ut\w*)?[ =]|└|├|│|❌|✗",
    re.IGNORECASE,
)
"""What says, before a path on its line, that the file is not one of the skill."""
_HERE = re.compile(
    r"\b(?:see|read|open|refer|references?|consult|details?|load|check|follow|in|use|documented)\b[^|]{0,80}$",
    re.IGNORECASE,
)
"""What says, before a path on its line, that the file is there to be read."""
_PLACEHOLDER = re.compile(
    r"(?:^|[/_-])(?:script_?name|file_?name|your|my|foo|bar|name|xxx?|example|sample)(?:[._-]|$)", re.IGNORECASE
)
"""What is in the name of a placeholder for a file."""
_MAX_LINE = 2_000
"""Characters of a line before a path that are looked at."""


def _check_missing(skill: Skill, texts: SkillTexts, exists: Callable[[str], bool]) -> Iterator[Finding]:
    """Check paths in the text and in code; links are checked by `check_links`."""
    name = (skill.name or skill.folder).lower()
    if "skill" in name or "plugin" in name or "/" not in skill.body or skill.document is None:
        return  # the paths of such a skill are those of the skills that it writes
    folders = {path.split("/", 1)[0] for path in texts.sizes if "/" in path}
    links: set[str] | None = None
    checked: set[str] = set()
    missing: list[tuple[str, int]] = []
    body = skill.body
    for position, target in _find_paths(body):
        path = os.path.normpath(target).replace(os.sep, "/")
        if path in checked or path in texts.sizes or path.startswith("..") or _PLACEHOLDER.search(path):
            continue
        before = _text_before(body, position)
        top = path.split("/", 1)[0]
        if top not in folders and (top in ("scripts", "templates", "examples") or not _HERE.search(before)):
            continue
        if _NOT_HERE.search(before):
            continue
        checked.add(path)
        if len(checked) > _MAX_PATHS:
            break
        if links is None:  # reported as links, if they are missing
            links = {os.path.normpath(target).replace(os.sep, "/") for target, _, _ in find_body_links(skill)}
        if path not in links and not exists(path) and not _is_output(body, target):
            missing.append((path, position))
    if not missing:
        return
    path, start = missing[0]
    message = f"the body names {quoted(path, PATH_LIMIT)}, which is missing"
    if len(missing) > 1:
        message = f"the body names {quoted_list([path for path, _ in missing], limit=PATH_LIMIT)}, which are missing"
    line = skill.document.body_line + body.count("\n", 0, start)
    column = start - body.rfind("\n", 0, start)
    hint = "add the file, or fix the path"
    item = finding("reference-missing", message, path=skill.path, line=line, column=column, hint=hint)
    yield item.with_changes(cause=" ".join(path for path, _ in missing))


def _is_output(body: str, path: str) -> bool:
    """Return whether a command of the body writes a file, as in `> scripts/prompt.md`, before another one reads it."""
    return any(f"{before}{path}" in body for before in ("> ", ">", "> ./", "-o ", "--output "))


def _text_before(body: str, position: int) -> str:
    """Return what is before a position on its line, and the line before it if its sentence may begin there."""
    start = body.rfind("\n", 0, position) + 1
    if start and body[start : start + 1].isalpha() | (body[start : start + 1] in " `"):
        start = body.rfind("\n", 0, start - 1) + 1
    return body[max(start, position - _MAX_LINE) : position]


# ── there, and never named ───────────────────────────────────────────────────────────────────────────────────────────

_NEVER_NAMED = re.compile(
    r"(?:^|/)(?:LICEN[CS]E|NOTICE|README|CHANGELOG|COPYING|CONTRIBUTING|AUTHORS|SECURITY|THIRD_?PARTY|AGENTS|CLAUDE)[^/]*$"
    r"|(?:^|/)(?:__init__|__main__|conftest|setup)\.py$|(?:^|/)(?:package(?:-lock)?|tsconfig|metadata|plugin|manifest)\.json$"
    r"|(?:^|/)(?:requirements[^/]*\.txt|pyproject\.toml|uv\.lock|go\.(?:mod|sum)|Cargo\.(?:toml|lock)|Makefile|Dockerfile)$"
    r"|(?:^|/)(?:[^/]*(?:_test|\.test|\.spec|-test)\.\w+|test_[^/]*)$"
    r"|(?:^|/)(?:\.|tests?/|evals?/|fixtures/|testdata/|node_modules/|__pycache__/)"
    r"|\.(?:pyc|sig|lock|map|ttf|otf|woff2?|png|jpe?g|gif|svg|ico|webp)$",
    re.IGNORECASE,
)
"""Files that no text has to name: about the skill itself, tests, what tools look for, pictures and fonts."""


_MAX_UNNAMED = 100
"""With more files that the body does not name, they are data that a script finds."""


def _check_unreferenced(skill: Skill, texts: SkillTexts) -> Iterator[Finding]:
    """Check whether a model can learn of each file: from the body, or from another file."""
    candidates = [
        path
        for path in texts.sizes
        if path.split("/", 1)[0] in USUAL_FOLDERS and "/" in path and not _NEVER_NAMED.search(path)
    ]
    left = _unnamed(candidates, skill.body)
    if not left or len(left) > _MAX_UNNAMED:
        return
    for other, size in texts.sizes.items():
        text = texts.text(other)
        if text is None and size <= 16 * _MAX_BYTES and not _is_binary(other):
            return  # a text that was not read may name them
        if text is not None:
            left = [path for path in left if path == other] + _unnamed([path for path in left if path != other], text)
        if not left:
            return
    left.sort()
    size = sum(texts.sizes[path] for path in left)
    message = f"no text of the skill names {quoted_list(left, limit=PATH_LIMIT)} ({size:,} bytes)"
    line = skill.document.body_line if skill.document else None
    hint = "name each in the step of the body that needs it, or remove it"
    yield finding("file-unreferenced", message, path=skill.path, line=line, hint=hint)


def _is_binary(path: str) -> bool:
    return path.lower().endswith(
        (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".zip", ".gz", ".ttf", ".otf", ".woff", ".woff2")
    )


def _unnamed(paths: Iterable[str], text: str) -> list[str]:
    """Return those of some files that a text names neither by their names nor by a folder of theirs."""
    named_folders: dict[str, bool] = {}
    left = []
    for path in paths:
        *folders, name = path.split("/")
        if name in text or _has_word(name.split(".", 1)[0], text):
            continue
        for folder in folders:
            if folder not in named_folders:
                named_folders[folder] = folder in text and _names_folder(text, folder)
        if not any(named_folders[folder] for folder in folders):
            left.append(path)
    return left


def _has_word(word: str, text: str) -> bool:
    """Return whether a text has the name of a file without its ending, as code that imports it does."""
    if len(word) <= _MIN_STEM or word not in text:
        return False
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


_MIN_STEM = 3
"""A name without its ending is looked for if it is longer: `run` is in every text."""


def _names_folder(text: str, folder: str) -> bool:
    """Return whether a text names a folder as such, as in `references/` or `assets/*.md`."""
    after = r"(?:/(?![\w-]+[./])|[`'\"*)]|(?: \w+){0,2} (?:folder|director(?:y|ies))\b)"
    return re.search(rf"(?<![\w-]){re.escape(folder)}{after}", text) is not None


# ── more than one step away ──────────────────────────────────────────────────────────────────────────────────────────

_LINK = re.compile(r"\]\(<?([^()\s<>\"#?]{1,300})")


def _check_nested(skill: Skill, texts: SkillTexts) -> Iterator[Finding]:
    """Check for texts that only another file of the skill names: a model may read such a file in part only."""
    body = skill.body
    pages = [path for path in texts.sizes if path.endswith(".md") and "/" in path and not _NEVER_NAMED.search(path)]
    unnamed = set(_unnamed(pages, body))
    found: list[tuple[str, str]] = []
    for path in pages if unnamed else ():
        if path.rpartition("/")[2] in body:
            for target in _LINK.findall(texts.text(path) or ""):
                other = os.path.normpath(os.path.join(os.path.dirname(path), target)).replace(os.sep, "/")
                if other in unnamed:
                    found.append((path, other))
    others = list(dict.fromkeys(other for _, other in found))
    if others:
        line = skill.document.body_line if skill.document else None
        named = next(path for path, other in found if other == others[0])
        message = f"only {quoted(named, PATH_LIMIT)} names {quoted_list(others, limit=PATH_LIMIT)}; the body does not"
        hint = "name each file that a model must read in the body, too"
        yield finding("reference-nested", message, path=skill.path, line=line, hint=hint)
