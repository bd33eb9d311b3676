"""Read which findings a project ignores, and how severe others are: `pyproject.toml` and comments in its skills.

Both are files of the repository that is checked, so they may be hostile. They count for the repository's own files
only, never for `ALWAYS_ERRORS`, and each needs a reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from prowess._internal.files import SKILL_FILE, UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.globs import NAMES, compile_glob
from prowess._internal.text import PATH_LIMIT, did_you_mean, quoted
from prowess.clients.settings import parse_toml
from prowess.errors import ConfigError
from prowess.filesystem import Filesystem
from prowess.findings import ALWAYS_ERRORS, CODES, DOCS_URL, GROUPS, Finding, Severity, relative_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_CONFIG_BYTES = 1024 * 1024
_MAX_RULES = 1_000
_MAX_PATTERN_CHARS = 500
_MAX_REASON_CHARS = 500
_MAX_PROBLEMS = 10
"""Invalid comments of one file that are reported."""
_OWN_LINE = "write the comment on a line of its own, without blanks before it"

_COMMENT = re.compile(r"(.*)# *prowess: *ignore\b(.*)")
_COMMENT_PARTS = re.compile(r"[ \t]+([A-Za-z0-9_/-]+)[ \t]*(?::[ \t]*(.*))?")
_FENCE = re.compile(r"-{3,}[ \t]*")


class IgnoreRule(Frozen):
    """Findings of one code, or of one group of codes, that are ignored."""

    code: str
    """A code, or a group of codes."""
    skill: str = "*"
    """The name of a skill's folder, or a path relative to the repository, with `*` and `?`; for a comment the path of
    its file."""
    reason: str
    kind: str
    """`comment`, `project` or `option`."""
    place: str
    """Where the rule is written."""

    def matches(self, item: Finding, base: str, skill: str | None = None) -> bool:
        """Return whether the rule is about a finding; those of files need `OwnFiles` too.

        Args:
            item: the finding.
            base: the repository.
            skill: the SKILL.md of the skill in whose folder the file is, if there is one.
        """
        if item.code != self.code and CODES[item.code].group != self.code:
            return False
        if self.kind == "option":
            return True
        if item.code in ALWAYS_ERRORS:
            return False
        if item.path is None:
            return False
        files = {item.path, skill or item.path}
        if self.kind == "comment":
            return self.skill in files
        return any(self.matches_path(path, base) for path in files)

    def matches_path(self, path: str, base: str) -> bool:
        """Return whether a rule of the project names a file or its skill."""
        inside = (relative_path(path, base) or "").replace(os.sep, "/")
        folder, _, file = inside.rpartition("/")
        if file.lower() == SKILL_FILE.lower():  # at the top of the repository, its folder is the repository
            names = {inside, folder or ".", folder.rpartition("/")[2] or os.path.basename(base)}
        else:
            names = {inside, file, file.removesuffix(".md")}
        matches = compile_glob(self.skill, NAMES)
        return any(matches(name) for name in names if name)


_WHERE_CODES_ARE = "each finding ends with its group and its code in brackets"


def read_code(word: str, place: str) -> str:
    """Return the code or the group that a word names; a code may have its group before it, as in `files/link-missing`.

    Raises:
        ConfigError: it does not exist.
    """
    code = _find_code(word)
    if code is None:
        hint = did_you_mean(word, [*CODES, *GROUPS], _WHERE_CODES_ARE)
        raise ConfigError(f"{place}: unknown code or group of findings {quoted(word)}", hint=hint)
    return code


def _find_code(word: str) -> str | None:
    group, slash, code = word.rpartition("/")
    if code in GROUPS and not slash:
        return code
    return code if code in CODES and (not slash or CODES[code].group == group) else None


def option_rules(words: Iterable[str]) -> tuple[IgnoreRule, ...]:
    """Return the rules of `--ignore`.

    Raises:
        ConfigError: a code or a group is unknown.
    """
    codes = dict.fromkeys(read_code(word, "`--ignore`") for word in words)
    return tuple(
        IgnoreRule(code=code, reason=f"--ignore {code}", kind="option", place=f"--ignore {code}") for code in codes
    )


def selected_codes(words: Iterable[str]) -> frozenset[str] | None:
    """Return the codes that `--select` names, or `None` if it names none: all are selected.

    Raises:
        ConfigError: a code or a group is unknown.
    """
    chosen = {read_code(word, "`--select`") for word in words}
    return frozenset(code for code in CODES if chosen & {code, CODES[code].group}) if chosen else None


# ── pyproject.toml ───────────────────────────────────────────────────────────────────────────────────────────────────


class ProjectRules(Frozen):
    """What `[tool.prowess]` says of findings."""

    ignore: tuple[IgnoreRule, ...] = ()
    severity: Mapping[str, Severity] = {}
    """By code."""


def project_rules(base: str, filesystem: Filesystem | None = None) -> ProjectRules:
    """Return the rules of `[tool.prowess]` in the `pyproject.toml` of a folder.

    Args:
        base: the folder.
        filesystem: what was read so far.

    Raises:
        ConfigError: the file cannot be read, or its table `tool.prowess` is invalid.
    """
    path = os.path.join(base, "pyproject.toml")
    try:
        data = (filesystem or Filesystem()).data(path, _MAX_CONFIG_BYTES, follow=False)
    except UnreadableError as error:
        if error.code == "file-missing":
            return ProjectRules()
        raise ConfigError(f"{quoted(path, PATH_LIMIT)} cannot be read: {error.message}", hint=error.hint) from None
    if b"prowess" not in data:
        return ProjectRules()
    try:
        tool = parse_toml(data).get("tool")
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        message = f"{quoted(path, PATH_LIMIT)} is not valid TOML: {quoted(reason, 120)}"
        raise ConfigError(message, hint="fix the file") from None
    table = tool.get("prowess") if isinstance(tool, Mapping) else None
    return ProjectRules() if table is None else read_table(table, "pyproject.toml")


def read_table(table: Any, place: str) -> ProjectRules:
    """Return the rules in a table `tool.prowess`.

    Raises:
        ConfigError: it is invalid.
    """
    _check_keys(table, ("ignore", "severity"), f"{place}: `tool.prowess`")
    return ProjectRules(ignore=tuple(_read_ignore(table, place)), severity=_read_severities(table, place))


def _read_severities(table: Any, place: str) -> dict[str, Severity]:
    """Return the table `severity`: a code, or a group for all of its codes; a code counts more than its group."""
    place = f"{place}: `tool.prowess.severity`"
    words = table.get("severity", {})
    if not isinstance(words, Mapping):
        raise ConfigError(f"{place} is not a table", hint=f"see {DOCS_URL}/ci.md")
    found: dict[str, Severity] = {}
    for word, value in sorted(words.items(), key=lambda pair: pair[0] not in GROUPS):
        code = read_code(word, place)
        if not isinstance(value, str) or value not in [*Severity]:
            hint = f"the severities are {', '.join(Severity)}"
            raise ConfigError(f"{place}: {quoted(word)} is not a severity", hint=hint)
        if code in ALWAYS_ERRORS:
            raise ConfigError(f"{place}: {quoted(code)} is always an error", hint=f"use `--ignore {code}`")
        codes = [code] if code in CODES else [each for each in CODES if CODES[each].group == code]
        found |= {each: Severity(value) for each in codes if each not in ALWAYS_ERRORS}
    return found


def _read_ignore(table: Any, place: str) -> Iterator[IgnoreRule]:
    rules = table.get("ignore", [])
    if not isinstance(rules, list):
        raise ConfigError(
            f"{place}: `tool.prowess.ignore` is not a list of tables", hint="write `[[tool.prowess.ignore]]`"
        )
    if len(rules) > _MAX_RULES:
        raise ConfigError(
            f"{place}: `tool.prowess.ignore` has more than {_MAX_RULES:,} entries", hint="use a pattern in `skill`"
        )
    for number, rule in enumerate(rules, 1):
        yield _read_rule(rule, f"{place}: `tool.prowess.ignore` {number}")


def _read_rule(rule: Any, place: str) -> IgnoreRule:
    _check_keys(rule, ("code", "skill", "reason"), place)
    limits = {"code": 100, "skill": _MAX_PATTERN_CHARS, "reason": _MAX_REASON_CHARS}
    for key, limit in limits.items():
        value = rule.get(key)
        if value is None:
            raise ConfigError(f"{place}: missing key `{key}`", hint="it needs `code`, `skill` and `reason`")
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{place}: `{key}` is not a text", hint="it needs `code`, `skill` and `reason`")
        if len(value) > limit:
            raise ConfigError(f"{place}: `{key}` is longer than {limit} characters", hint="shorten it")
    code = read_code(rule["code"], place)
    if code in ALWAYS_ERRORS:
        raise ConfigError(f"{place}: `{code}` cannot be ignored in a file", hint=f"use `--ignore {code}`")
    skill = rule["skill"].removeprefix("./").rstrip("/")
    return IgnoreRule(code=code, skill=skill, reason=rule["reason"].strip(), kind="project", place=place)


def _check_keys(table: Any, known: tuple[str, ...], place: str) -> None:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{place} is not a table", hint=f"see {DOCS_URL}/ci.md")
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"the keys are {', '.join(known)}")
            raise ConfigError(f"{place}: unknown key {quoted(key)}", hint=hint)


# ── comments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def comment_rules(path: str) -> tuple[list[IgnoreRule], list[str]]:
    """Return the rules in the comments of a skill's front matter, and what is wrong with others.

    A rule is a whole line of the front matter: `# prowess: ignore CODE: REASON`.
    """
    try:
        data = read_file(path)
    except UnreadableError:
        return [], []
    if b"prowess:" not in data:
        return [], []
    lines = re.split("\r\n|\r|\n", data.decode("utf-8-sig", "replace"))
    if not _FENCE.fullmatch(lines[0]):
        return [], []
    rules: list[IgnoreRule] = []
    problems: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        if _FENCE.fullmatch(line):
            return rules, problems
        if match := _COMMENT.fullmatch(line):
            rule = _OWN_LINE if match[1] else _read_comment(match[2], path, number)
            if isinstance(rule, IgnoreRule):
                rules.append(rule)
            elif len(problems) < _MAX_PROBLEMS:
                problems.append(f"{number}: {rule}")
    return [], []  # no closing fence


def _read_comment(text: str, path: str, line: int) -> IgnoreRule | str:
    match = _COMMENT_PARTS.fullmatch(text.rstrip())
    if match is None:
        return "write the comment as `# prowess: ignore CODE: REASON`"
    word, reason = match[1], (match[2] or "").strip()[:_MAX_REASON_CHARS]
    code = _find_code(word)
    if code is None:
        hint = did_you_mean(word, [*CODES, *GROUPS], _WHERE_CODES_ARE)
        return f"the comment ignores an unknown code {quoted(word)}; {hint}"
    if code in ALWAYS_ERRORS:
        return f"a comment cannot ignore `{code}`"
    if not reason:
        return f"the comment gives no reason to ignore `{code}`; write `# prowess: ignore {code}: REASON`"
    return IgnoreRule(code=code, skill=path, reason=reason, kind="comment", place=str(line))
