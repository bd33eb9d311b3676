"""Describe in words what a user of a client can set: settings files and their keys, trust, arguments."""

from __future__ import annotations

from prowess._internal.variable_paths import usual_path

from ._describe_tables import describe_path, quote_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._configuration import Setting, SettingsFile
    from ._host import Host

_FORM_PHRASES = {
    "names": "names of skills that are off, a skill named there stays in the list, and the model does not get it",
    "switch": "all skills on or off",
    "budget": "the size of the catalog, in place of the limit below",
}
_EXAMPLES = {"names": '["NAME"]', "switch": "false"}


def describe_settings(host: Host) -> Iterator[str]:
    """Yield a line for each key that hides skills, with an example to paste."""
    for setting in host.settings:
        if setting.form != "trust":
            doc = setting.doc or f"{_effect(setting)}; {_example(host, setting)}"
            yield f"`{setting.key}`: {doc}" if setting.key else doc
    if host.switch_variable:
        yield f"the variable `{host.switch_variable}`: all skills on or off, whatever the files say"
    yield from host.facts.get("settings", ())


def _effect(setting: Setting) -> str:
    """Return what a setting does, in words."""
    words = [_FORM_PHRASES[setting.form]]
    if setting.part != 1:
        words.append(
            f"{setting.part:.0%} of the number" if setting.part < 1 else f"the number times {setting.part:,.0f}"
        )
    if setting.merge == "first":
        words.append("only the first file that has the key counts")
    return ", ".join(words)


def _example(host: Host, setting: Setting) -> str:
    """Return a line that switches a skill off, and the file that it belongs in."""
    name = _example_file(host, setting)
    path = host.settings_files[name].path if name else ""
    path = usual_path(path) or path
    if setting.form not in _EXAMPLES:
        return f"in `{path}`"
    return f"example for `{path}`: `{_written(setting.key, _EXAMPLES[setting.form], path)}`"


def _example_file(host: Host, setting: Setting) -> str:
    """Return the settings file that a user would write: the user's own one if there is one."""
    names = setting.files or tuple(name for name, file in host.settings_files.items() if not file.apart)
    return "user" if "user" in names else names[-1] if names else ""


def _written(key: str, text: str, path: str) -> str:
    """Return a key with its value on one line, in the format of a settings file."""
    if path.endswith(".toml"):
        return f"{key} = {text}"
    for part in reversed(key.split(".")):
        text = f'{{"{part}": {text}}}'
    return text


# ── files and trust ──────────────────────────────────────────────────────────────────────────────────────────────────

_WHERE_PHRASES = {
    "cwd": "in the working directory",
    "project": "in the git root, or without git in the working directory",
    "both": "in the working directory, then in the git root",
    "upwards": "in each folder from the working directory up to the git root, the nearest first",
}
_WRONG_TYPE_PHRASES = {
    "key": "a value of a wrong type does not count",
    "void": "one value of a wrong type voids the whole file",
    "stops": "if one value has a wrong type, the agent refuses to start",
    "stops-merged": "if a value that counts in the end has a wrong type, the agent refuses to start",
}


def describe_files(host: Host) -> Iterator[str]:
    """Yield a line for each settings file."""
    for file in host.settings_files.values():
        notes = (*_file_notes(file),)
        yield f"{_name_file(file, host)}{': ' if notes else ''}{', '.join(notes)}"


def _name_file(file: SettingsFile, host: Host) -> str:
    """Return what a user calls a settings file: its path, or the arguments whose values are one."""
    if file.path != "@arguments":
        return describe_path(file.path)
    names = quote_all(item.name for item in host.arguments if item.effect == "settings")
    return f"the values of {names}"


def _file_notes(file: SettingsFile) -> Iterator[str]:
    if file.note:
        yield file.note
    else:
        if not file.path.startswith(("~", "/", "$", "@")):
            yield _WHERE_PHRASES[file.where]
        if file.keys:
            yield f"only {quote_all(file.keys)}"
        if file.needs_trust:
            yield "only in a trusted project"
    if file.invalid == "stops":
        yield "if it cannot be read, the agent refuses to start"
    if file.wrong_type in _WRONG_TYPE_PHRASES:
        yield _WRONG_TYPE_PHRASES[file.wrong_type]


def describe_trust(host: Host) -> Iterator[str]:
    """Yield what decides whether a project is trusted."""
    if host.trust_note:
        yield host.trust_note
    yield from host.facts.get("trust", ())
    for setting in host.settings:
        if setting.form == "trust":
            files = "; ".join(_name_file(host.settings_files[name], host) for name in setting.files)
            subject = (f"`{setting.key}`" + (f" in {files}" if files else "")) if setting.key else files
            doc = setting.doc or "which folders are trusted"
            yield f"{doc}: {subject}" if subject else doc
    if host.trust_switch:
        yield f"if `{host.trust_switch}` is false, every folder is trusted"
    if host.trust_default != "unknown":
        yield f"otherwise a project is {host.trust_default}"


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────

_ARGUMENT_PHRASES = {
    "roots": "adds a folder, as above",
    "trusted": "the project is trusted",
    "untrusted": "the project is not trusted",
    "tools": "the only tools of the model, with commas",
    "not-tools": "tools that the model does not have, with commas",
    "only-plugins": "only these plugins count, by name, with commas",
}
_VALUE_NAMES = {"one": " VALUE", "many": " VALUE..."}


def describe_arguments(host: Host) -> Iterator[str]:
    """Yield a line for each argument."""
    for argument in host.arguments:
        doc = argument.doc or _ARGUMENT_PHRASES[argument.effect]
        yield f"`{argument.name}{_VALUE_NAMES.get(argument.values, '')}`: {doc}"
