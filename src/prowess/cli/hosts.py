"""prowess hosts -> the agents Prowess knows, and the rules of each in words"""

from __future__ import annotations

import os
from collections.abc import Mapping

from prowess._internal.text import neutral
from prowess.cli import OK
from prowess.cli._options import format_table, make_parser, print_json, print_stdout
from prowess.errors import ConfigError
from prowess.hosts import DESCRIPTION_ACTIONS, NAME_ACTIONS, Flag, Host, Root, host_names, load_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from typing import Any

    from prowess.catalog import ScanRoot


def parser() -> ArgumentParser:
    """Build the command's parser."""
    result = make_parser(
        "hosts",
        epilog="rules that are `observed` were asked of the real client, those that are `documented` were read",
    )
    result.add_argument(
        "name", metavar="NAME", nargs="?", help="one agent: all its rules, and which of its folders exist"
    )
    result.add_argument("--json", action="store_true", help="print JSON")
    group = result.add_argument_group("where to look")
    group.add_argument("--cwd", metavar="DIR", help="the folder the agent is started in (default: this one)")
    group.add_argument("--home", metavar="DIR", help="the user's home (default: yours)")
    return result


def run(args: Namespace) -> int:
    """Print the table, or one host."""
    hosts = [load_host(name) for name in ([args.name] if args.name else host_names())]
    here = {host.name: _scan_roots(host, args) for host in hosts} if args.name else {}
    if args.json:
        print_json([_as_dict(host, here.get(host.name)) for host in hosts])
        return OK
    if args.name:
        for line in _describe_host(hosts[0], here[args.name]):
            print_stdout(line)
        return OK
    heading = ("NAME", "TITLE", "EVIDENCE", "PROJECT FOLDERS", "USER FOLDERS")
    rows = [
        (host.name, host.title, _evidence(host), _join_folders(host, False), _join_folders(host, True))
        for host in hosts
    ]
    for line in format_table([heading, *rows], fit_terminal=False):
        print_stdout(line)
    return OK


def _scan_roots(host: Host, args: Namespace) -> tuple[ScanRoot, ...]:
    """Return the host's folders on this machine, whether or not they are there."""
    for option in ("cwd", "home"):
        value = getattr(args, option)
        if value is not None and not os.path.isdir(value):
            raise ConfigError(f"`--{option}` is not a folder: {neutral(value)}", hint="check the path")
    from prowess.catalog import find_scan_roots

    home = os.path.abspath(args.home or os.path.expanduser("~"))
    return find_scan_roots(
        host, os.path.realpath(args.cwd or "."), home, env=os.environ, use_home_variables=args.home is None
    )


def _evidence(host: Host) -> str:
    return f"observed {host.observed}" if host.observed else "documented"


def _is_user_root(root: Root) -> bool:
    return root.path.startswith("~") or "|~" in root.path


def folders(host: Host, user: bool) -> list[str]:
    """Return the folders of a project or of a user's home, as a host's file writes them."""
    paths = [
        root.path.partition("|")[2] or root.path
        for root in host.roots
        if _is_user_root(root) is user and (user or not root.path.startswith(("/", "$", "@")))
    ]
    return list(dict.fromkeys(paths))


def _join_folders(host: Host, user: bool) -> str:
    return ", ".join(folders(host, user)) or "-"


def _as_dict(host: Host, here: tuple[ScanRoot, ...] | None) -> dict[str, object]:
    from dataclasses import asdict

    value: dict[str, object] = {
        **asdict(host),
        "evidence": "observed" if host.observed else "documented",
        "project": folders(host, False),
        "user": folders(host, True),
    }
    if here is not None:
        value["places"] = [
            {"path": scan_root.path, "scope": scan_root.scope, "exists": os.path.isdir(scan_root.path)}
            for scan_root in here
        ]
    return value


# ── one host in words ────────────────────────────────────────────────────────────────────────────────────────────────


def _describe_host(host: Host, here: tuple[ScanRoot, ...]) -> Iterator[str]:
    yield f"{host.title} (`--host {host.name}`)"
    yield f"  {f'observed: {host.observed}' if host.observed else f'documented: {host.documented}'}"
    yield from (f"  see {link}" for link in host.links)
    if host.activation:
        yield f"  activation: {host.activation}"
    found = [f"{neutral(scan_root.path)} ({scan_root.scope})" for scan_root in here if os.path.isdir(scan_root.path)]
    for title, lines in describe_sections(host):
        yield from ("", title)
        yield from (f"  {line}" for line in lines)
        if title == FOLDERS_TITLE:
            yield from ("", "of these exist here", *(f"  {line}" for line in found or ["none"]))


FOLDERS_TITLE = "folders, highest precedence first"


def describe_sections(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Yield a host's rules in words: a title, and its lines. `docs/hosts` has the same."""
    flags = (_describe_flag(flag) for flag in host.flags)
    for title, lines in (
        (FOLDERS_TITLE, (_describe_root(root) for root in host.roots)),
        ("which skill wins", _describe_precedence(host)),
        ("names", _describe_table(host.name_rules, _NAME_PHRASES, NAME_ACTIONS)),
        ("descriptions", _describe_table(host.description_rules, _DESCRIPTION_PHRASES, DESCRIPTION_ACTIONS)),
        ("reading a file", _describe_table(host.reading, _READING_PHRASES)),
        ("budget of the catalog", _describe_table(host.budget, _BUDGET_PHRASES)),
        ("what an author can set", flags),
        ("what a user can set", _describe_settings(host)),
        ("in a home of its own", _describe_table(host.isolated, _ISOLATION_PHRASES)),
        ("not known", iter(host.unknown)),
    ):
        told = list(lines) or (["none: skills are mounted, never found"] if title == FOLDERS_TITLE else [])
        if told:
            yield title, told


_WALK_PHRASES = {
    "none": "in the working directory",
    "git-root": "from the working directory up to the git root",
    "filesystem-root": "from the working directory all the way up",
    "project": "in the git root, else in the working directory",
}
_LINK_PHRASES = {"skip": "not followed", "bounded": "followed inside the project and the skills folders"}


def _describe_root(root: Root) -> str:
    words = [root.scope]
    if not root.path.startswith(("~", "/", "$", "@")):
        words.append(_WALK_PHRASES[root.walk])
        if root.without_git != "none":
            words.append("all the way up without git")
        if root.home_stops:
            words.append("not as far as the home")
    words.append("any depth" if root.depth < 0 else "1 level deep" if root.depth == 1 else f"{root.depth} levels deep")
    own = {
        "yes": "a SKILL.md in it counts too",
        "last": "a SKILL.md in it counts last",
        "alone": "a SKILL.md in it hides the rest",
    }
    notes = {
        "nested": {"active": "nested ones too", "deferred": "nested ones appear later"}.get(root.nested),
        "own": own.get(root.own),
        "inside": "skills inside skills too" if root.inside else None,
        "hidden": "hidden folders too" if root.hidden else None,
        "loose": "flat files too" if root.loose else None,
        "ignore": "without what .gitignore leaves out" if root.ignore_files else None,
        "home": "not where that is the home" if root.not_home else None,
        "folders": f"linked folders {_LINK_PHRASES[root.linked_folders]}"
        if root.linked_folders in _LINK_PHRASES
        else None,
        "files": f"a linked SKILL.md {_LINK_PHRASES[root.linked_files]}"
        if root.linked_files in _LINK_PHRASES
        else None,
    }
    return f"{root.path}: {', '.join([*words, *(note for note in notes.values() if note)])}"


_COLLISION_PHRASES = {
    "first": "of two with one name the first wins",
    "last": "of two with one name the last wins",
    "keep-all": "two with one name both stay",
    "undefined": "of two with one name the last to be read wins, in no fixed order",
}


def _describe_precedence(host: Host) -> Iterator[str]:
    yield _COLLISION_PHRASES.get(host.collision, host.collision)
    if not host.levels_first and any(root.walk != "none" for root in host.roots):
        yield "a folder's place in the list counts before how near it is"
    if host.compare == "folded":
        yield "names are the same without regard to case and Unicode form"
    if host.max_skills:
        yield f"at most {host.max_skills} skills"
    if host.suppressed_scopes:
        yield f"findings in {', '.join(host.suppressed_scopes)} are not reported"


_ACTION_PHRASES = {
    "body": "is taken from the body",
    "folder": "becomes the folder's name",
    "hide": "keeps the skill in the list and from the model",
    "keep": "is shown empty",
    "reject": "keeps the skill from being loaded",
    "text": "is taken as it is written",
    "value": "is taken as what it is worth in JavaScript",
}
_DEFAULT_ACTIONS = dict.fromkeys(("missing", "null", "empty", "number", "bool", "list", "map"), "reject")
_VALUE_PHRASES = {
    "block": "as block scalars",
    "cut": "cut",
    "drop": "the skill is not loaded",
    "first-line": "every description keeps its first line",
    "level": "all descriptions are cut evenly",
    "name-list": "the first that does not fit and all after it are named in one last line",
    "name-only": "those that do not fit lose their description",
    "skip": "left out",
    "strip": "taken without `#`",
    "tokens": "tokens of four bytes",
    "utf16": "units of UTF-16",
    "width": "cells of a terminal",
}
"""What words of a host's file mean, where they are told."""
_NAME_PHRASES = {
    "identity": "a skill is called by its {}",
    "on": "a name that is",
    "trim": "white space around it is kept",
    "one_line": "white space is collapsed",
    "pattern": "must match `{}`",
    "max_length": "at most {} characters",
    "must_equal_folder": "must be the folder's name",
    "reserved": "must not hold {}",
    "replace": "what matches `{}` becomes `{}`",
    "alias_pattern": "the front matter's name is an alias where it matches `{}`",
}
_DESCRIPTION_PHRASES = {
    "on": "a description that is",
    "trim": "white space around it is kept",
    "fallback": "where the body is empty too it is `{}`",
    "fallback_lines": "the body gives {} lines",
    "fallback_headings": "headings of the body: {}",
    "fallback_length": "the body gives at most {} characters",
    "fallback_ellipsis": "what is cut there ends in `{}`",
    "limit": "at most {} characters",
    "past_limit": "past the limit: {}",
    "ellipsis": "what is cut ends in `{}`",
    "one_line": "white space is collapsed",
    "clean": "what does not show becomes a blank",
    "escape": "written as entities: `{}`",
    "append": "added to it: {}",
    "joiner": "between the two: `{}`",
    "unit": "counted in {}",
}
_READING_PHRASES = {
    "rejects": "does not load a skill with {}",
    "as_body": "takes the whole file for the body with {}",
    "as_empty": "takes the front matter for empty with {}",
    "opening": "its opening fence is `{}`",
    "closing": "its closing fence is `{}`",
    "refuses": "its YAML gives up on `{}`",
    "texts": "text to it is `{}`",
    "not_texts": "a number or date to it is `{}`",
    "repair": "values its YAML gives up on are quoted ({}) and read again",
    "duplicates": "only these must not stand twice: {}",
    "second_parser": "where YAML fails, fields are read line by line ({})",
    "second_for_types": "so is a name or description that is not text, or missing",
    "whole_file": "a fault in the body counts too",
}
_BUDGET_PHRASES = {
    "limit": "at most {} in all",
    "unit": "counted in {}",
    "greedy": "what does not fit leaves its room to later, shorter ones",
    "reserved": "{} of it taken by its own skills",
    "bundled": "`{}`, its own, takes part with {} characters",
    "degrade": "past it: {}",
    "note": "{}",
}

_ISOLATION_PHRASES = {
    "program": "started with `{}`",
    "arguments": "given first, word by word: `{}`",
    "key_variable": "its key is in `{}`",
    "env": "`{}` is `{}`",
    "settings": "its settings are written as {} reads them",
}


def _describe_table(table: Any, phrases: Mapping[str, str], kinds: Mapping[str, str] | None = None) -> Iterator[str]:
    """Tell what of a host's table is not the default; a field without a phrase is told by its name.

    Args:
        table: one of `Host`'s.
        phrases: field to words, with `{}` for its value; without, where the words say it.
        kinds: what becomes of values that are not text, where the table's `on` does not say.
    """
    plain = type(table)()
    for name in type(table).__annotations__:
        value = getattr(table, name)
        if name == "on":
            yield from _describe_value_kinds(phrases["on"], {**_DEFAULT_ACTIONS, **(kinds or {}), **value})
        elif value != getattr(plain, name) or name == "identity":
            yield from _fill_phrase(phrases.get(name, name.replace("_", " ") + ": {}"), value)


def _describe_value_kinds(start: str, on: Mapping[str, str]) -> Iterator[str]:
    """Tell what becomes of a value that is missing, a number and so on, one line for each fate."""
    shown = {"number": "a number", "bool": "true or false", "list": "a list", "map": "a map"}
    for fate, words in _ACTION_PHRASES.items():
        which = [shown.get(kind, kind) for kind, action in on.items() if action == fate]
        if which:
            yield f"{start} {' or '.join([', '.join(which[:-1]), which[-1]] if which[:-1] else which)} {words}"


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


_CONDITION_PHRASES = {
    "true": "`{}: true`",
    "false": "`{}: false`",
    "~true": "`{}: true`, as text too,",
    "~false": "`{}: false`, as text too,",
    "present": "`{}`",
    "truthy": "`{}` that says yes",
    "falsy": "`{}` that does not say yes",
    "globs": "`{}` that names files",
    "not-bool": "`{}` that is not true or false",
    "not-list": "`{}` that is not a list",
    "not-map": "`{}` that is not a map",
    "not-text": "`{}` that is not text",
    "not-texts": "`{}` that is neither text nor a list of texts",
}


def _describe_flag(flag: Flag) -> str:
    needed = " and ".join(
        _CONDITION_PHRASES.get(value, f"`{{}}: {value}`").format(key) for key, value in flag.when.items()
    )
    return f"{needed}{f' in `{flag.file}`' if flag.file else ''} makes it {flag.state}"


_SETTINGS_FORM_PHRASES = {
    "names": "names of skills that are off",
    "effects": "what becomes of a skill",
    "entries": "skills with `enabled`",
    "switch": "all skills on or off",
    "folders": "folders that are trusted",
}


def _describe_settings(host: Host) -> Iterator[str]:
    for row in host.settings:
        yield f"{f'`{row.key}` in ' if row.key else ''}`{row.file}`: {_SETTINGS_FORM_PHRASES.get(row.form, row.form)}"
    if host.switch_variable:
        yield f"the variable `{host.switch_variable}`: all skills on or off, over any file"
    if not host.enabled:
        yield "skills are off unless one of these says otherwise"
    if host.trust_note:
        yield host.trust_note
