"""Find out which of a client's agents runs, since each has settings of its own."""

from __future__ import annotations

from collections.abc import Mapping

from ._setting_values import merge_deep, merge_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from prowess.hosts import Host

    from ._client_arguments import ClientArguments

__all__ = ["chosen_agent"]


def chosen_agent(
    host: Host, arguments: ClientArguments, values: Callable[..., Iterator[tuple[str, Any]]]
) -> tuple[str, str]:
    """Return the agent that runs, and the settings file because of which none can; empty if one can.

    Args:
        host: the client.
        arguments: those that it is started with; an agent there that cannot run is ignored.
        values: returns the values of a key of its settings, each with its file, highest precedence first.
    """
    named = [given[-1] for _, given in arguments.with_effect("agent") if given]
    default = next(((path, name) for path, name in values(host.agent_key)), None) if host.agent_key else None
    if not host.agents:
        names = [*named, *([default[1]] if default is not None else [])]
        return next((name for name in names if _is_key(name)), host.agent), ""
    kinds, source = _agent_kinds(host, values)
    if named and kinds.get(named[-1]) in ("primary", "hidden", "all"):
        return named[-1] if _is_key(named[-1]) else host.agent, ""
    if default is not None and isinstance(default[1], str) and default[1]:
        path, name = default
        return (name, "") if kinds.get(name) in ("primary", "all") and _is_key(name) else (host.agent, path)
    first = next((name for name, kind in kinds.items() if kind in ("primary", "all") and _is_key(name)), "")
    return (first, "") if first else (host.agent, source)


def _agent_kinds(host: Host, values: Callable[..., Iterator[tuple[str, Any]]]) -> tuple[dict[str, str], str]:
    """Return the agents in order, each with its kind, and a file that configures them."""
    table: dict[str, Any] = {}
    source = ""
    for key, kind in host.agent_tables.items():
        found = [(path, value) for path, value in values(key) if isinstance(value, Mapping)]
        source = source or (found[0][0] if found else "")
        agents = merge_files(found) or {}
        table = merge_deep(table, agents)
        table = merge_deep(table, {name: {"mode": kind} for name in agents} if kind else {})
    kinds = dict(host.agents)
    for name, rules in table.items():
        if not isinstance(rules, Mapping):
            continue
        if rules.get("disable") is True:
            kinds.pop(name, None)
            continue
        hidden = rules.get("hidden", kinds.get(name) == "hidden")
        own = kinds.get(name, "all")
        mode = rules.get("mode") or ("primary" if own == "hidden" else own)
        kinds[name] = "hidden" if hidden and mode != "subagent" else str(mode)
    return kinds, source


def _is_key(name: object) -> bool:
    """Return whether a name can be part of a dotted key."""
    return isinstance(name, str) and name != "" and "." not in name
