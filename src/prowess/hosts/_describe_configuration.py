"""Describe in words what a user of a client can set: settings files and their keys, trust, arguments."""

from __future__ import annotations

from prowess._internal.variable_paths import usual_path

from ._describe_tables import describe_path, quote_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ._configuration import Argument, Setting, SettingsFile
    from ._host import Host

__all__ = ["describe_arguments", "describe_files", "describe_settings", "describe_trust"]

_EFFECT_PHRASES = {
    "off": "stays in the list, and the model does not get it",
    "gone": "is not loaded",
    "name-only": "is reduced to its name",
    "user-only": "is left to the user",
    "on": "is on",
}
"""The effects of settings on a skill."""
_FORM_PHRASES = {
    "names": "names of skills that are off",
    "effects": "what happens to each skill",
    "entries": "skills, by name or path, that are on or off",
    "switch": "all skills on or off",
    "rules": "what happens to each skill, by tool and name",
    "denied": "rules about tools; one that denies `{tool}` as a whole hides all skills from the model",
    "closed": "which skills are not read because only plugins may have some",
    "variables": "environment variables, which replace those of the environment",
    "description": "the most characters of a description",
    "budget": "the size of the catalog, in place of the limit below",
    "catalog": "false hides all skills from the model",
    "bundled": "false removes the agent's own skills, so that they take nothing of the budget",
    "unread": "folders in which no skill is read",
    "scopes": "whose skills are not read: {words}",
    "tools": "the tools of the model; it gets a catalog only with {tools}",
    "filter": "names of skills, with `*` and `?` or as `re:` and a regular expression",
}
_FILTER_PHRASES = {"match": "a skill that matches {}", "rest": "if there are any, each other skill {}"}
_TRUST_PHRASES = {
    "folders": "which folders are trusted",
    "folder-lists": "which folders are trusted",
    "file-trust": "which folders are trusted",
    "trusted": "which folders are trusted",
    "trust": "whether projects are trusted",
}


def describe_settings(host: Host) -> Iterator[str]:
    """Yield a line for each key that hides skills, with an example to paste."""
    if host.agent:
        chosen = f" unless `{host.agent_key}` names another" if host.agent_key else ""
        yield f"`{{agent}}` is `{host.agent}`{chosen}"
    for setting in host.settings:
        if setting.form not in _TRUST_PHRASES:
            yield f"`{setting.key}`: {_effect(setting, host)}; {_example(host, setting)}"
    if host.switch_variable:
        yield f"the variable `{host.switch_variable}`: all skills on or off, whatever the files say"
    if not host.enabled:
        yield "skills are off unless one of these enables them"


def _effect(setting: Setting, host: Host) -> str:
    """Return what a setting does, in words."""
    tools, listed = quote_all(host.catalog_tools, " or "), quote_all(setting.effects)
    words = [_FORM_PHRASES[setting.form].format(tool=setting.tool, tools=tools, words=listed)]
    if setting.form in ("names", "entries"):
        words.append(f"a skill named there {_EFFECT_PHRASES[setting.effects.get('off', 'off')]}")
    elif setting.form in ("effects", "rules"):
        words += [f"`{word}`: {_EFFECT_PHRASES.get(effect, effect)}" for word, effect in setting.effects.items()]
    elif setting.form == "filter":
        words += [_FILTER_PHRASES[part].format(_EFFECT_PHRASES[effect]) for part, effect in setting.effects.items()]
    elif setting.form == "budget" and setting.part != 1:
        words.append(
            f"{setting.part:.0%} of the number" if setting.part < 1 else f"the number times {setting.part:,.0f}"
        )
    if setting.unless:
        words.append(f"those of `{setting.unless}` stay on")
    if setting.over:
        words.append(f"merged over `{setting.over}`")
    if setting.patterns or setting.form == "rules":
        words.append("names may contain `*` and `?`, and the last match counts")
    if setting.fold:
        words.append("upper and lower case are the same")
    if setting.merge == "first":
        words.append("only the first file that has the key counts")
    return ", ".join(words)


def _example(host: Host, setting: Setting) -> str:
    """Return a line that switches a skill off, and the file that it belongs in."""
    name = _example_file(host, setting)
    path = host.settings_files[name].path if name else ""
    path = usual_path(path) or path
    word = next((word for word, effect in setting.effects.items() if effect != "on"), "off")
    value: Any = {
        "names": ["NAME"],
        "effects": {"NAME": word},
        "entries": [{"name": "NAME", "enabled": False}],
        "switch": False,
        "rules": {setting.tool: {"NAME": word}},
    }.get(setting.form)
    if value is None:
        return f"in `{path}`"
    return f"example for `{path}`: `{_written(setting.key.replace('{agent}', host.agent), value, path)}`"


def _example_file(host: Host, setting: Setting) -> str:
    """Return the settings file that a user would write: the user's own one if there is one."""
    names = setting.files or tuple(name for name, file in host.settings_files.items() if not file.apart)
    return "user" if "user" in names else names[-1] if names else ""


def _written(key: str, value: Any, path: str) -> str:
    """Return a key with its value on one line, in the format of a settings file."""
    if path.endswith(".toml"):
        return f"{key} = {_literal(value, '{} = {}')}"
    for part in reversed(key.split(".")):
        value = {part: value}
    return _literal(value, '"{}": {}')


def _literal(value: Any, pair: str) -> str:
    """Return a value as JSON or TOML, which differ in how they write a key with its value."""
    if isinstance(value, dict):
        return "{" + ", ".join(pair.format(key, _literal(item, pair)) for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item, pair) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


# ── files and trust ──────────────────────────────────────────────────────────────────────────────────────────────────

_WHERE_PHRASES = {
    "cwd": "in the working directory",
    "project": "in the git root, or without git in the working directory",
    "both": "in the working directory, then in the git root",
    "upwards": "in each folder from the working directory up to the git root, the nearest first",
    "downwards": "in each folder from the working directory up to the git root, the git root first",
}
_WRONG_TYPE_PHRASES = {
    "key": "a value of a wrong type does not count",
    "void": "one value of a wrong type voids the whole file",
    "stops": "if one value has a wrong type, the agent refuses to start",
    "stops-merged": "if a value that counts in the end has a wrong type, the agent refuses to start",
}
_SETTING_EFFECTS = ("set", "settings")
"""The effects of arguments whose values are settings."""


def describe_files(host: Host) -> Iterator[str]:
    """Yield a line for each settings file."""
    for file in host.settings_files.values():
        notes = (*_file_notes(file),)
        yield f"{_name_file(file, host)}{': ' if notes else ''}{', '.join(notes)}"


def _name_file(file: SettingsFile, host: Host) -> str:
    """Return what a user calls a settings file: its path, or the arguments whose values are one."""
    if file.path != "@arguments":
        return describe_path(file.path)
    names = quote_all(item.name for item in host.arguments if item.effect in _SETTING_EFFECTS)
    return f"the values of {names}"


def _file_notes(file: SettingsFile) -> Iterator[str]:
    if file.markdown:
        yield f"the front matter of each Markdown file there is the value of `{file.markdown}.NAME`"
    if file.inline:
        yield "the text in this variable"
    if file.under:
        yield f"only the value of `{file.under}`"
    if file.beside:
        yield f"then {', '.join(f'`{name}`' for name in file.beside)} beside it"
    if file.argument:
        yield f"in each folder of `{file.argument}`"
    elif not file.path.startswith(("~", "/", "$", "@")):
        yield _WHERE_PHRASES.get(file.where, file.where)
    if file.without_git != "none":
        yield "without git up to the file system root"
    if file.substitutes:
        yield "`{env:NAME}` and `{file:PATH}` are replaced"
    if file.unless:
        yield f"not if {' or '.join(name.partition('=')[0] for name in file.unless)} is set"
    if file.keys:
        yield f"only {quote_all(file.keys)}"
    if file.not_untrusted:
        yield "not in an untrusted project"
    if file.needs_trust:
        yield "only in a trusted working directory" if file.trust_of == "cwd" else "only in a trusted project"
    if file.invalid == "stops":
        yield "if it cannot be read, the agent refuses to start"
    if file.wrong_type in _WRONG_TYPE_PHRASES:
        yield _WRONG_TYPE_PHRASES[file.wrong_type]


def describe_trust(host: Host) -> Iterator[str]:
    """Yield what decides whether a project is trusted."""
    if host.trust_note:
        yield host.trust_note
    if host.trust_value:
        yield f"with `{host.trust_variable}={host.trust_value}` in the environment, every project is trusted"
    elif host.trust_variable:
        yield f"the variable `{host.trust_variable}` says whether a project is trusted"
    for setting in host.settings:
        if setting.form in _TRUST_PHRASES:
            files = "; ".join(_name_file(host.settings_files[name], host) for name in setting.files)
            subject = (f"`{setting.key}`" + (f" in {files}" if files else "")) if setting.key else files
            yield f"{_TRUST_PHRASES[setting.form]}: {subject}"
    if host.trust_switch:
        yield f"if `{host.trust_switch}` is false, every folder is trusted"
    if host.trust_default != "unknown":
        yield f"otherwise a project is {host.trust_default}"


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────

_ARGUMENT_PHRASES = {
    "roots": "adds a folder, as above",
    "trusted": "the project is trusted",
    "untrusted": "the project is not trusted",
    "off": "no skills at all",
    "tools": "the only tools of the model, with commas",
    "not-tools": "tools that the model does not have, with commas",
    "no-tools": "no tools for the model, unless another argument names some",
    "agent": "the agent that runs",
    "files": "lists the settings files that count, by name: {files}",
    "sources": "lists the settings files and folders that count, by name: {files}",
    "only-roots": "adds a folder, as above, in place of those of projects and users",
    "named": "no skills but those that arguments name",
    "set": "a line of the settings: `{sets}`",
    "settings": "settings as JSON, or a file with them",
    "variable": "the same as the variable `{sets}`",
    "plugins": "adds a folder of plugins, as above",
    "only-plugins": "only these plugins count, by name, with commas",
    "denied-tools": "rules about tools; one that denies `{tool}` as a whole hides all skills from the model",
    "only-tools": "the only tools of the model; without `{tool}` it gets no catalog",
}


def describe_arguments(host: Host) -> Iterator[str]:
    """Yield a line for each argument."""
    for argument in host.arguments:
        yield f"`{argument.name}{_VALUE_NAMES.get(argument.values, '')}`: {_describe_effect(argument, host)}"


_VALUE_NAMES: Mapping[str, str] = {"one": " VALUE", "many": " VALUE..."}


def _describe_effect(argument: Argument, host: Host) -> str:
    names = (file.source or name for name, file in host.settings_files.items() if not file.always)
    return _ARGUMENT_PHRASES[argument.effect].format(
        files=quote_all(dict.fromkeys(names)), sets=argument.sets.replace("{value}", "VALUE"), tool=argument.tool
    )
