"""Describe the rules of a host in words, in the order in which a user asks about them."""

from __future__ import annotations

from prowess._internal.text import neutral

from ._describe_configuration import (
    describe_arguments,
    describe_files,
    describe_settings,
    describe_trust,
)
from ._describe_plugins import describe_plugins
from ._describe_tables import (
    BUDGET_PHRASES,
    DESCRIPTION_PHRASES,
    ISOLATION_PHRASES,
    NAME_PHRASES,
    READING_PHRASES,
    describe_path,
    describe_table,
    join_words,
    quote_all,
)
from ._reading import DESCRIPTION_ACTIONS, NAME_ACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._host import Flag, Host, Source
    from ._root import Root

FOLDERS_TITLE = "folders, highest precedence first"


def describe_rules(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a host's rules: a title and its lines. Commands, docs and reports use it."""
    for title, lines in (
        (FOLDERS_TITLE, _describe_folders(host)),
        ("which skill wins", _describe_precedence(host)),
        ("what an author can set", (_describe_flag(flag) for flag in host.flags)),
        ("what a user can set", describe_settings(host)),
        ("settings files, highest precedence first", describe_files(host)),
        ("trust", describe_trust(host)),
        ("plugins", describe_plugins(host)),
        ("arguments, for `--client-arg`", describe_arguments(host)),
        ("catalog budget", describe_table(host.budget, BUDGET_PHRASES)),
        ("names", describe_table(host.name_rules, NAME_PHRASES, NAME_ACTIONS)),
        ("descriptions", describe_table(host.description_rules, DESCRIPTION_PHRASES, DESCRIPTION_ACTIONS)),
        ("reading SKILL.md", describe_table(host.reading, READING_PHRASES)),
        ("fields of its own", _describe_fields(host)),
        ("in an isolated home", describe_table(host.isolated, ISOLATION_PHRASES)),
        ("what these rules rest on", (_describe_source(source) for source in host.sources)),
        ("not known", iter(host.unknown)),
    ):
        section = list(lines)
        if section:
            yield title, section


def _describe_source(source: Source) -> str:
    section = f", {source.section}" if source.section else ""
    return f"{source.says}; <{source.link}>{section}, {source.date}"


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


def _describe_folders(host: Host) -> Iterator[str]:
    """Yield a line for each folder, and one for what all have in common."""
    if not host.roots:
        yield "none: skills are mounted, never searched for"
        return
    several_kinds = len(host.plugins) > 1
    traits = [_traits(root) for root in host.roots]
    common = [trait for trait in traits[0] if all(trait in others for others in traits)] if len(traits) > 1 else []
    for root, own in zip(host.roots, traits, strict=True):
        words = [root.scope, *_where(root), *(trait for trait in own if trait not in common)]
        yield f"{_name_root(root, several_kinds=several_kinds)}: {', '.join(words)}"
    if common:
        yield f"in all of them: {', '.join(common)}"


def _name_root(root: Root, *, several_kinds: bool) -> str:
    if root.setting:
        below = f", below each `{root.path}`" if root.path else ""
        return f"the folders listed under {' or '.join(f'`{key}`' for key in root.setting.split('|'))}{below}"
    if root.argument:
        return f"`{root.argument} DIR`" + (f", there `{root.path}`" if root.path else "")
    if root.plugins:
        kind = f" of the kind `{root.plugins}`" if several_kinds else ""
        return f"{'commands' if root.files else 'skills'} of plugins{kind}"
    if root.path == "@skill-dir":
        return "the folders of `--skill-dir`"
    is_list = root.path.startswith("$") and not set(root.path) & {"/", "|"}
    return f"{'the folders in ' if is_list else ''}{describe_path(root.path)}"


_RELATIVE_PHRASES = {
    "cwd": "relative to the working directory",
    "project": "relative to the git root",
    "file": "relative to the folder of the settings file",
}


def _where(root: Root) -> Iterator[str]:
    """Yield the place of a root in words."""
    if root.setting or root.argument:
        yield _RELATIVE_PHRASES[root.relative_to]
    elif not root.plugins and not root.path.startswith(("~", "/", "$", "@")):
        yield _WALK_PHRASES[root.walk]
        if root.without_git != "none":
            yield "without git up to the file system root"
    yield from root.where


def _traits(root: Root) -> list[str]:
    """Return how a root is scanned, in words."""
    depths = {-1: "any depth", 0: "only in the folder itself", 1: "1 level deep"}
    notes = (
        f"files that match `{root.files}`" if root.files else None,
        depths.get(root.depth, f"{root.depth} levels deep"),
        _NESTED_PHRASES.get(root.nested),
        _OWN_SKILL_PHRASES.get(root.own),
        "also skills inside skills" if root.inside and not root.files else None,
        "also hidden folders" if root.hidden else None,
        *root.facts,
        "also single `.md` files" if root.loose else None,
        "without files that .gitignore excludes" if root.ignore_files else None,
        "not if the project folder is the home directory" if root.not_home else None,
        f"a linked folder {_LINK_PHRASES[root.linked_folders]}" if root.linked_folders in _LINK_PHRASES else None,
        f"a linked SKILL.md {_LINK_PHRASES[root.linked_files]}" if root.linked_files in _LINK_PHRASES else None,
    )
    return [note for note in notes if note]


# ── precedence ───────────────────────────────────────────────────────────────────────────────────────────────────────

_COLLISION_PHRASES = {
    "first": "of several skills with one name, the first wins",
    "last": "of several skills with one name, the last wins",
    "keep-all": "several skills with one name are all kept",
    "undefined": "of several skills with one name, the one read last wins; the order of reading is undefined",
}


_COMPARE_PHRASES = {
    "lower": "names are compared without case",
    "folded": "names are compared without case and Unicode form",
}


def _describe_precedence(host: Host) -> Iterator[str]:
    yield _COLLISION_PHRASES.get(host.collision, host.collision)
    yield from host.facts.get("precedence", ())
    if host.folder_names_win:
        yield "inside one folder above, a skill whose valid name equals its own folder wins over others"
    if host.collision_in_root:
        yield f"inside one folder above: {_COLLISION_PHRASES.get(host.collision_in_root, host.collision_in_root)}"
    if host.compare in _COMPARE_PHRASES:
        yield _COMPARE_PHRASES[host.compare]
    if host.suppressed_scopes:
        yield f"findings in {', '.join(host.suppressed_scopes)} are not reported"


# ── front matter ─────────────────────────────────────────────────────────────────────────────────────────────────────

_CONDITION_PHRASES = {
    "true": "`{}: true`",
    "false": "`{}: false`",
    "~true": "`{}: true`, also as text,",
    "~false": "`{}: false`, also as text,",
    "present": "`{}`",
    "absent": "no `{}`",
    "lax-true": "a true value of `{}`",
    "not-lax-bool": "`{}` that is neither true nor false",
    "not-true": "`{}` that is not true",
    "invalid": "text that is no table",
    "truthy": "a true value of `{}`",
    "falsy": "a false value of `{}`",
    "globs": "`{}` with file patterns",
    "not-bool": "`{}` that is not true or false",
    "not-list": "`{}` that is not a list",
    "not-map": "`{}` that is not a map",
    "not-text": "`{}` that is not text",
    "not-texts": "`{}` that is neither text nor a list of texts",
}
_WORD_PHRASES = {
    "is": ("`{}` that is {}", " or "),
    "other": ("`{}` other than {}", " or "),
    "keys": ("keys of `{}` other than {}", ", "),
    "lacks": ("a list `{}` without {}", " and "),
}
"""Conditions about words, and what is between two of the words."""


def _describe_fields(host: Host) -> Iterator[str]:
    for evidence, names in (("observed", host.fields.observed), ("documented only", host.fields.documented)):
        if names:
            yield f"{evidence}: {', '.join(f'`{name}`' for name in names)}"


def _describe_condition(key: str, value: str) -> str:
    """Return one condition of a flag in words."""
    kind, colon, listed = value.partition(":")
    words = listed.split()
    if kind in _WORD_PHRASES and colon:
        phrase, joiner = _WORD_PHRASES[kind]
        return phrase.format(key, quote_all(words, joiner))
    if kind == "found" and colon:
        return f"a match of `{listed}` in `{key}`"
    if kind == "not" and colon:
        return f"`{key}` that is not {join_words([_KIND_PHRASES.get(word, word) for word in words])}"
    return _CONDITION_PHRASES[value].format(key)


_KIND_PHRASES = {"bool": "true or false", "list": "a list", "map": "a map", "number": "a number"}


def _describe_flag(flag: Flag) -> str:
    conditions = " and ".join(_describe_condition(key, value) for key, value in flag.when.items())
    return neutral(f"{conditions}{f' in `{flag.file}`' if flag.file else ''} makes it {flag.state}")
