"""Describe the rules of a host in words."""

from __future__ import annotations

from collections.abc import Mapping

from prowess._internal.text import neutral

from ._reading import DESCRIPTION_ACTIONS, NAME_ACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._host import Flag, Host, Root

__all__ = ["FOLDERS_TITLE", "describe_rules"]

FOLDERS_TITLE = "folders, highest precedence first"


def describe_rules(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a host's rules: a title and its lines. Commands, docs and reports use it."""
    flags = (_describe_flag(flag) for flag in host.flags)
    for title, lines in (
        (FOLDERS_TITLE, (_describe_root(root) for root in host.roots)),
        ("which skill wins", _describe_precedence(host)),
        ("names", _describe_table(host.name_rules, _NAME_PHRASES, NAME_ACTIONS)),
        ("descriptions", _describe_table(host.description_rules, _DESCRIPTION_PHRASES, DESCRIPTION_ACTIONS)),
        ("reading SKILL.md", _describe_table(host.reading, _READING_PHRASES)),
        ("catalog budget", _describe_table(host.budget, _BUDGET_PHRASES)),
        ("fields of its own", _describe_fields(host)),
        ("what an author can set", flags),
        ("what a user can set", _describe_settings(host)),
        ("in an isolated home", _describe_table(host.isolated, _ISOLATION_PHRASES)),
        ("not known", iter(host.unknown)),
    ):
        section = list(lines) or (["none: skills are mounted, never searched for"] if title == FOLDERS_TITLE else [])
        if section:
            yield title, section


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_WALK_PHRASES = {
    "none": "in the working directory",
    "git-root": "from the working directory up to the git root",
    "filesystem-root": "from the working directory up to the file system root",
    "project": "in the git root, or without git in the working directory",
}
_LINK_PHRASES = {"skip": "is not followed", "bounded": "is followed only inside the project and the skills folders"}
_OWN_SKILL_PHRASES = {
    "yes": "a SKILL.md in the folder itself is a skill too",
    "last": "a SKILL.md in the folder itself is a skill too, of the lowest precedence",
    "alone": "a SKILL.md in the folder itself hides all other skills in it",
}
_NESTED_PHRASES = {
    "active": "also below the project folder",
    "deferred": "also below the project folder, where skills appear later",
}


def _describe_root(root: Root) -> str:
    words = [root.scope]
    if not root.path.startswith(("~", "/", "$", "@")):
        words.append(_WALK_PHRASES[root.walk])
        if root.without_git != "none":
            words.append("without git up to the file system root")
        if root.home_stops:
            words.append("stopping below the home directory")
    words.append("any depth" if root.depth < 0 else "1 level deep" if root.depth == 1 else f"{root.depth} levels deep")
    notes = (
        _NESTED_PHRASES.get(root.nested),
        _OWN_SKILL_PHRASES.get(root.own),
        "also skills inside skills" if root.inside else None,
        "also hidden folders" if root.hidden else None,
        "also single `.md` files" if root.loose else None,
        "without files that .gitignore excludes" if root.ignore_files else None,
        "not if the project folder is the home directory" if root.not_home else None,
        f"a linked folder {_LINK_PHRASES[root.linked_folders]}" if root.linked_folders in _LINK_PHRASES else None,
        f"a linked SKILL.md {_LINK_PHRASES[root.linked_files]}" if root.linked_files in _LINK_PHRASES else None,
    )
    return f"{root.path}: {', '.join([*words, *(note for note in notes if note)])}"


# ── precedence ───────────────────────────────────────────────────────────────────────────────────────────────────────

_COLLISION_PHRASES = {
    "first": "of several skills with one name, the first wins",
    "last": "of several skills with one name, the last wins",
    "keep-all": "several skills with one name are all kept",
    "undefined": "of several skills with one name, the one read last wins; the order of reading is undefined",
}


def _describe_precedence(host: Host) -> Iterator[str]:
    yield _COLLISION_PHRASES.get(host.collision, host.collision)
    if not host.levels_first and any(root.walk != "none" for root in host.roots):
        yield "the order of the folders above counts more than how close a folder is"
    if host.folder_names_win:
        yield "inside one folder above, a skill whose valid name equals its own folder wins over others"
    if host.compare == "folded":
        yield "names are compared without case and Unicode form"
    if host.max_skills:
        yield f"at most {host.max_skills} skills"
    if host.suppressed_scopes:
        yield f"findings in {', '.join(host.suppressed_scopes)} are not reported"


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_ACTION_PHRASES = {
    "body": "is taken from the body",
    "folder": "is replaced by the folder's name",
    "hide": "hides the skill from the model, not from the list",
    "keep": "is shown as empty",
    "reject": "rejects the skill",
    "text": "is used as written",
    "value": "is converted to text as in JavaScript",
}
_DEFAULT_ACTIONS = dict.fromkeys(("missing", "null", "empty", "number", "bool", "list", "map"), "reject")
_VALUE_PHRASES = {
    "block": "as block scalars",
    "cut": "cut",
    "drop": "the skill is not loaded",
    "first-line": "every description keeps its first line",
    "level": "all descriptions are cut evenly",
    "omit": "the first skill that does not fit and all after it are left out",
    "name-list": "the first skill that does not fit and all after it are listed by name in the last line",
    "name-only": "skills that do not fit lose their description",
    "skip": "left out",
    "strip": "used without `#`",
    "bytes": "bytes of UTF-8",
    "tokens": "tokens of four bytes",
    "utf16": "UTF-16 code units",
    "width": "terminal cells",
}
"""The meaning of values in host files."""
_NAME_PHRASES = {
    "identity": "the name of a skill is its {}",
    "on": "a name that is",
    "trim": "white space around it is kept",
    "one_line": "white space is collapsed",
    "pattern": "must match `{}`",
    "max_length": "at most {} characters",
    "must_equal_folder": "must be the folder's name",
    "reserved": "must not contain {}",
    "replace": "every match of `{}` becomes `{}`",
    "alias_pattern": "the name in the front matter is an alias if it matches `{}`",
}
_DESCRIPTION_PHRASES = {
    "on": "a description that is",
    "trim": "white space around it is kept",
    "fallback": "if the body is empty too, it is `{}`",
    "fallback_lines": "from the body, {} lines are taken",
    "fallback_headings": "headings of the body: {}",
    "fallback_length": "from the body, at most {} characters are taken",
    "fallback_ellipsis": "if cut there, it ends in `{}`",
    "limit": "at most {} characters",
    "past_limit": "beyond the limit: {}",
    "ellipsis": "if cut, it ends in `{}`",
    "one_line": "white space is collapsed",
    "clean": "invisible characters become blanks",
    "escape": "written as entities: `{}`",
    "append": "appended to it: {}",
    "joiner": "between the two: `{}`",
    "unit": "counted in {}",
}
_READING_PHRASES = {
    "rejects": "does not load a skill with {}",
    "as_body": "takes the whole file as the body with {}",
    "as_empty": "takes the front matter as empty with {}",
    "opening": "its opening fence is `{}`",
    "closing": "its closing fence is `{}`",
    "line_breaks": "these characters end a line too: `{}`",
    "refuses": "its YAML parser rejects `{}`",
    "texts": "it reads `{}` as text",
    "not_texts": "it reads `{}` as a number or date",
    "repair": "values that its YAML parser rejects are quoted ({}) and parsed again",
    "duplicates": "only these keys must be unique: {}",
    "second_parser": "if the YAML is invalid, fields are read line by line ({})",
    "second_for_types": "the same if a name or description is missing or not text",
    "whole_file": "errors in the body count too",
}
_BUDGET_PHRASES = {
    "limit": "at most {} in total",
    "unit": "counted in {}",
    "greedy": "if a skill does not fit, later and shorter ones may",
    "reserved": "its own skills take {} of it",
    "bundled": "its own skill `{}` takes {} characters of it",
    "degrade": "beyond it: {}",
    "note": "{}",
}
_ISOLATION_PHRASES = {
    "program": "started with `{}`",
    "arguments": "first arguments, one by one: `{}`",
    "key_variable": "its key is in `{}`",
    "env": "`{}` is `{}`",
    "settings": "its settings are written in the format of {}",
}


def _describe_table(
    table: Any, phrases: Mapping[str, str], default_actions: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield a line for each field of a host's table that is not the default.

    Args:
        table: one of the tables of a `Host`.
        phrases: words for each field, with `{}` for its value; a field without words is shown by its name.
        default_actions: what happens to values that are not text, if the table's `on` does not say.
    """
    defaults = type(table)()
    for name in type(table).__annotations__:
        value = getattr(table, name)
        if name == "on":
            yield from _describe_actions(phrases["on"], {**_DEFAULT_ACTIONS, **(default_actions or {}), **value})
        elif value != getattr(defaults, name) or name == "identity":
            yield from _fill_phrase(phrases.get(name, name.replace("_", " ") + ": {}"), value)


def _describe_actions(start: str, actions: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each action, with the types of values it applies to."""
    type_phrases = {"number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}
    for action, words in _ACTION_PHRASES.items():
        types = [type_phrases.get(key, key) for key, other in actions.items() if other == action]
        if types:
            yield f"{start} {' or '.join([', '.join(types[:-1]), types[-1]] if types[:-1] else types)} {words}"


def _fill_phrase(phrase: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (neutral(phrase.replace("{}", str(key), 1).replace("{}", str(item))) for key, item in value.items())
    elif isinstance(value, bool):
        yield phrase.replace("{}", "yes" if value else "no")
    else:
        value = getattr(value, "quote", value)
        value = _VALUE_PHRASES.get(value, value) if isinstance(value, str) else value
        shown = ", ".join(value) if isinstance(value, tuple) else f"{value:,}" if isinstance(value, int) else str(value)
        yield phrase.replace("{}", neutral(shown))


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_CONDITION_PHRASES = {
    "true": "`{}: true`",
    "false": "`{}: false`",
    "~true": "`{}: true`, also as text,",
    "~false": "`{}: false`, also as text,",
    "present": "`{}`",
    "truthy": "a true value of `{}`",
    "falsy": "a false value of `{}`",
    "globs": "`{}` with file patterns",
    "not-bool": "`{}` that is not true or false",
    "not-list": "`{}` that is not a list",
    "not-map": "`{}` that is not a map",
    "not-text": "`{}` that is not text",
    "not-texts": "`{}` that is neither text nor a list of texts",
}
_SETTINGS_FORM_PHRASES = {
    "names": "names of disabled skills",
    "effects": "skills and their states",
    "entries": "skills with `enabled`",
    "switch": "all skills on or off",
    "folders": "trusted folders",
    "trust": "whether projects are trusted",
}


def _describe_fields(host: Host) -> Iterator[str]:
    for evidence, names in (("observed", host.fields.observed), ("documented only", host.fields.documented)):
        if names:
            yield f"{evidence}: {', '.join(f'`{name}`' for name in names)}"


def _describe_flag(flag: Flag) -> str:
    conditions = " and ".join(
        _CONDITION_PHRASES.get(value, f"`{{}}: {value}`").format(key) for key, value in flag.when.items()
    )
    return f"{conditions}{f' in `{flag.file}`' if flag.file else ''} makes it {flag.state}"


def _describe_settings(host: Host) -> Iterator[str]:
    for setting in host.settings:
        names = setting.files or tuple(name for name, file in host.settings_files.items() if not file.apart)
        files = ", ".join(f"`{host.settings_files[name].path}`" for name in names)
        form = _SETTINGS_FORM_PHRASES.get(setting.form, setting.form)
        yield f"{f'`{setting.key}` in ' if setting.key else ''}{files}: {form}"
    if host.switch_variable:
        yield f"the variable `{host.switch_variable}`: all skills on or off, whatever the files say"
    if not host.enabled:
        yield "skills are off unless one of these enables them"
    if host.trust_note:
        yield host.trust_note
