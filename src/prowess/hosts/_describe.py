"""Describe the rules of a host in words, in the order in which a user asks about them."""

from __future__ import annotations

from prowess._internal.text import neutral
from prowess._internal.variable_paths import usual_path

from ._key_lines import describe_path, join_kinds, key_lines, quote_all, words_of
from ._schema import DESCRIPTION_ACTIONS, NAME_ACTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._schema import Flag, Host, PluginRules, Root, Setting, SettingsFile, Source

FOLDERS_TITLE = "folders, highest precedence first"


def describe_rules(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a host's rules: a title and its lines. Commands, docs and reports use it."""
    precedence = ("collision", "folder_names_win", "collision_in_root", "compare", "suppressed_scopes")
    for title, lines in (
        (FOLDERS_TITLE, _describe_folders(host)),
        ("which skill wins", key_lines(host, *precedence)),
        ("what an author can set", map(_describe_flag, host.flags)),
        ("what a user can set", _describe_settings(host)),
        ("settings files, highest precedence first", _describe_files(host)),
        ("trust", _describe_trust(host)),
        ("plugins", _describe_plugins(host)),
        ("arguments, for `--client-arg`", _describe_arguments(host)),
        ("catalog budget", key_lines(host.budget)),
        ("names", key_lines(_with_actions(host.name_rules, NAME_ACTIONS))),
        ("descriptions", key_lines(_with_actions(host.description_rules, DESCRIPTION_ACTIONS))),
        ("reading SKILL.md", key_lines(host.reading)),
        ("fields of its own", key_lines(host.fields)),
        ("in an isolated home", key_lines(host.isolated)),
        ("what these rules rest on", map(_describe_source, host.sources)),
        ("not known", iter(host.unknown)),
    ):
        section = list(lines)
        if section:
            yield title, section


def _with_actions(rules: Any, usual: Mapping[str, str]) -> Any:
    """Return rules with an action for each kind of value."""
    kinds = ("missing", "null", "empty", "number", "bool", "list", "map")
    return rules.with_changes(on={**dict.fromkeys(kinds, "reject"), **usual, **rules.on})


def _describe_source(source: Source) -> str:
    section = f", {source.section}" if source.section else ""
    return f"{source.says}; <{source.link}>{section}, {source.date}"


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_TRAITS = (
    *("files", "depth", "nested", "own", "hidden", "facts", "loose", "ignore_files", "not_home"),
    *("linked_folders", "linked_files"),
)
"""The keys that say how a root is scanned."""


def _describe_folders(host: Host) -> Iterator[str]:
    """Yield a line for each folder, and one for what all have in common."""
    if not host.roots:
        yield "none: skills are mounted, never searched for"
        return
    several_kinds = len(host.plugins) > 1
    traits = [list(key_lines(root, *_TRAITS, "" if root.files else "inside")) for root in host.roots]
    common = [trait for trait in traits[0] if all(trait in others for others in traits)] if len(traits) > 1 else []
    for root, own in zip(host.roots, traits, strict=True):
        words = [root.scope, *_where(root), *(trait for trait in own if trait not in common)]
        yield f"{_name_root(root, several_kinds=several_kinds)}: {', '.join(words)}"
    if common:
        yield f"in all of them: {', '.join(common)}"


def _name_root(root: Root, *, several_kinds: bool) -> str:
    if root.setting:
        below = f", below each `{root.path}`" if root.path else ""
        return f"the folders listed under {quote_all(root.setting.split('|'), ' or ')}{below}"
    if root.argument:
        return f"`{root.argument} DIR`" + (f", there `{root.path}`" if root.path else "")
    if root.plugins:
        kind = f" of the kind `{root.plugins}`" if several_kinds else ""
        return f"{'commands' if root.files else 'skills'} of plugins{kind}"
    if root.path == "@skill-dir":
        return "the folders of `--skill-dir`"
    is_list = root.path.startswith("$") and not set(root.path) & {"/", "|"}
    return f"{'the folders in ' if is_list else ''}{describe_path(root.path)}"


def _where(root: Root) -> Iterator[str]:
    """Yield the place of a root in words."""
    if root.setting or root.argument:
        yield from key_lines(root, "relative_to")
    elif not root.plugins and _is_relative(root.path):
        yield from key_lines(root, "walk", "without_git")
    yield from root.where


def _is_relative(path: str) -> bool:
    return not path.startswith(("~", "/", "$", "@"))


# ── what an author can set ───────────────────────────────────────────────────────────────────────────────────────────


def _describe_flag(flag: Flag) -> str:
    conditions = " and ".join(_describe_condition(key, value) for key, value in flag.when.items())
    return neutral(f"{conditions}{f' in `{flag.file}`' if flag.file else ''} makes it {flag.state}")


def _describe_condition(key: str, value: str) -> str:
    """Return one condition of a flag in words."""
    kind, _, rest = value.partition(":")
    phrase = next(words for name, words in words_of("Flag", "when").items() if name.partition(":")[0] == kind)
    listed = [rest] if kind == "found" else rest.split()
    words = join_kinds(listed) if kind == "not" else quote_all(listed, " or ")
    return phrase.replace("{key}", key).replace("{words}", words)


# ── what a user can set ──────────────────────────────────────────────────────────────────────────────────────────────

_EXAMPLES = {"names": '["NAME"]', "switch": "false"}


def _describe_settings(host: Host) -> Iterator[str]:
    """Yield a line for each key that hides skills, with an example to paste."""
    for setting in host.settings:
        if setting.form != "trust":
            doc = setting.doc or f"{', '.join(_effect(setting))}; {_example(host, setting)}"
            yield f"`{setting.key}`: {doc}" if setting.key else doc
    yield from key_lines(host, "switch_variable")


def _effect(setting: Setting) -> Iterator[str]:
    """Yield what a setting does, in words."""
    yield from key_lines(setting, "form")
    if setting.part != 1:
        yield f"{setting.part:.0%} of the number" if setting.part < 1 else f"the number times {setting.part:,.0f}"
    yield from key_lines(setting, "merge")


def _example(host: Host, setting: Setting) -> str:
    """Return a line that switches a skill off, and the file that it belongs in: the user's own one if there is one."""
    names = setting.files or tuple(name for name, file in host.settings_files.items() if not file.apart)
    name = "user" if "user" in names else names[-1] if names else ""
    path = host.settings_files[name].path if name else ""
    path = usual_path(path) or path
    if setting.form not in _EXAMPLES:
        return f"in `{path}`"
    return f"example for `{path}`: `{_written(setting.key, _EXAMPLES[setting.form], path)}`"


def _written(key: str, text: str, path: str) -> str:
    """Return a key with its value on one line, in the format of a settings file."""
    if path.endswith(".toml"):
        return f"{key} = {text}"
    for part in reversed(key.split(".")):
        text = f'{{"{part}": {text}}}'
    return text


def _describe_files(host: Host) -> Iterator[str]:
    """Yield a line for each settings file."""
    for file in host.settings_files.values():
        place = ("where",) if _is_relative(file.path) else ()
        where = [file.note] if file.note else list(key_lines(file, *place, "keys", "needs_trust"))
        notes = [*where, *key_lines(file, "invalid", "wrong_type")]
        yield f"{_name_file(file, host)}{': ' if notes else ''}{', '.join(notes)}"


def _name_file(file: SettingsFile, host: Host) -> str:
    """Return what a user calls a settings file: its path, or the arguments whose values are one."""
    if file.path != "@arguments":
        return describe_path(file.path)
    names = quote_all(item.name for item in host.arguments if item.effect == "settings")
    return f"the values of {names}"


def _describe_trust(host: Host) -> Iterator[str]:
    """Yield what decides whether a project is trusted."""
    yield from key_lines(host, "trust_note")
    for setting in host.settings:
        if setting.form == "trust":
            files = "; ".join(_name_file(host.settings_files[name], host) for name in setting.files)
            subject = (f"`{setting.key}`" + (f" in {files}" if files else "")) if setting.key else files
            doc = setting.doc or words_of("Setting", "form")["trust"]
            yield f"{doc}: {subject}" if subject else doc
    yield from key_lines(host, "trust_switch", "trust_default")


def _describe_arguments(host: Host) -> Iterator[str]:
    """Yield a line for each argument."""
    for argument in host.arguments:
        written = " ".join((argument.name, *key_lines(argument, "values")))
        yield f"`{written}`: {argument.doc or ''.join(key_lines(argument, 'effect'))}"


# ── plugins ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _describe_plugins(host: Host) -> Iterator[str]:
    """Yield what is known about plugins; with several kinds of them, each line begins with the name of its kind."""
    for name, rules in host.plugins.items():
        start = f"{name}: " if len(host.plugins) > 1 else ""
        yield from (f"{start}{line}" for line in _describe_kind(rules))


def _describe_kind(rules: PluginRules) -> Iterator[str]:
    if rules.prefix and rules.manifests:
        yield "its skills are called `PLUGIN:SKILL`"
    yield from map(neutral, rules.facts.get("", ()))
    if rules.manifests:
        yield from key_lines(
            rules.with_changes(id=rules.id.format(plugin="FOLDER", manifest="PLUGIN", market="MARKETPLACE"))
        )
        usual = "its folder of skills is `skills`, unless another line here says more"
        yield from map(neutral, rules.facts.get("skills", (usual,)))
