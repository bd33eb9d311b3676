"""Collect what settings and arguments say about plugins."""

from __future__ import annotations

from collections.abc import Mapping

from ._settings_files import truth_of
from ._user_settings import PluginSetting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    from prowess.hosts import PluginRules

    from ._client_arguments import ClientArguments

    class Values(Protocol):
        """`SettingsReader.values`."""

        def __call__(self, key: str, files: tuple[str, ...] = (), merge: str = "join") -> Iterator[tuple[str, Any]]:
            """Yield the values of a key, each with its file."""


__all__ = ["read_plugin_setting"]

_MAX_NAMED_FOLDERS = 1000
"""Folders of plugins that arguments may name."""


def read_plugin_setting(
    rules: PluginRules, values: Values, arguments: ClientArguments, *, trusted: bool
) -> PluginSetting:
    """Return which plugins of one table the settings switch on and off, and which folders arguments name.

    Args:
        rules: of the table.
        values: returns the values of a key.
        arguments: of the client.
        trusted: whether the project is.
    """
    answers: dict[str, tuple[bool, str]] = {}
    found = list(values(rules.setting, rules.setting_files, rules.merge)) if rules.setting else []
    for path, value in reversed(found):
        for name, item in value.items() if isinstance(value, Mapping) else ():
            answer = item.get("enabled", True) if isinstance(item, Mapping) else item
            if isinstance(answer, bool | list):
                answers[name] = answer is True or (rules.lists_are_on and isinstance(answer, list)), path
    for path, value in values(rules.setting_off, rules.setting_files) if rules.setting_off else ():
        names = value if isinstance(value, list | tuple) else ()
        answers |= {name.strip(): (False, path) for name in names if isinstance(name, str)}
    switch = next(iter(values(rules.switch, rules.setting_files, "first")), ("", True)) if rules.switch else None
    market = rules.market
    files = () if market is None else (*market.setting_files, *(market.trusted_files if trusted else ()))
    markets = values(market.setting, files) if market is not None and market.setting else ()
    named = arguments.values(rules.argument) if rules.argument else []
    granted = values(rules.skills_on, rules.setting_files, "union") if rules.skills_on else ()
    allowed = next(iter(values(rules.allowed, rules.setting_files, "first")), None) if rules.allowed else None
    blocked = next(iter(values(rules.blocks_git, rules.setting_files, "first")), None) if rules.blocks_git else None
    return PluginSetting(
        allowed=(allowed[0], tuple(allowed[1])) if allowed and isinstance(allowed[1], list) and allowed[1] else None,
        git_blocked=blocked[0] if blocked and truth_of(blocked[1]) else "",
        answers=answers,
        off=switch[0] if switch is not None and switch[1] is False else "",
        markets=tuple(markets),
        named=tuple(named[:_MAX_NAMED_FOLDERS]),
        skills_on=frozenset(
            name.strip().lower()
            for _, names in granted
            if isinstance(names, list | tuple)
            for name in names
            if isinstance(name, str)
        ),
    )
