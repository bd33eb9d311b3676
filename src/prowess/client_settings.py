"""policies -> the settings files a client reads

What a client can be told about its sandbox differs from client to client and from version to version; what is written
here was tried with Claude Code 2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0. What a client knows no setting for is
refused: a policy that nobody enforces would be worse than none.
"""

from __future__ import annotations

import os
import re

from ._frozen import Frozen
from .errors import ConfigError
from .findings import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Self

    from .host import Host

    Files = Mapping[str, str]

__all__ = ["NetworkPolicy", "SandboxConfig", "policy_problems", "settings_files"]

_DOMAIN = re.compile(
    r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
).fullmatch
SECRETS = (
    ".aws", ".azure", ".bash_history", ".claude", ".claude.json", ".codex", ".config/gcloud", ".config/gh", ".docker",
    ".gemini", ".git-credentials", ".gnupg", ".kube", ".local/share/keyrings", ".netrc", ".npmrc", ".pypirc", ".ssh",
    ".zsh_history",
)  # fmt: skip
"""What commands in a client's sandbox may not read of the caller's own home."""


class NetworkPolicy(Frozen, kw_only=False):
    """Which domains the commands and the web tools of a client may reach; the client itself always reaches its model.

    `no_network()` and `with_domains(...)` say it in words.
    """

    allowed_domains: Iterable[str] = ()
    """As in `github.com`; `*.github.com` stands for all below it. None at all closes the network."""

    @classmethod
    def no_network(cls) -> Self:
        """Return the policy that closes the network."""
        return cls()

    @classmethod
    def with_domains(cls, *domains: str) -> Self:
        """Return the policy that leaves only these domains open."""
        return cls(allowed_domains=domains)


class SandboxConfig(Frozen, kw_only=False):
    """What the commands that a client runs may do."""

    enabled: bool = True
    """Whether they run in the client's sandbox; a client that cannot make one must not start."""
    writable_paths: tuple[str, ...] = ()
    """Folders they may write to, beside the working directory."""
    readable_paths: tuple[str, ...] = ()
    """What they may read of the caller's home that is kept from them otherwise: `SECRETS`."""
    excluded_commands: tuple[str, ...] = ()
    """Commands that run outside the sandbox, as in `docker`."""
    allow_unsandboxed_commands: bool = False
    """Whether the model may ask for a command to run outside it."""
    bash_auto_allow: bool = True
    """Whether commands in the sandbox run without a question."""


def policy_problems(host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None) -> Iterator[ConfigError]:
    """Yield what is wrong with the policies, and what of them a client knows no setting for."""
    if network is not None:
        domains = network.allowed_domains
        if isinstance(domains, str) or not all(isinstance(domain, str) for domain in domains):
            yield ConfigError("`allowed_domains` is not a list of texts", hint='write `("github.com",)`')
        else:
            for domain in domains:
                if not _DOMAIN(domain.lower()) or len(domain) > 253:
                    hint = "write it as in `github.com`, without `https://` and path"
                    yield ConfigError(f"{quoted(domain)} is not a domain", hint=hint)
    if sandbox is not None:
        for name in ("writable_paths", "readable_paths", "excluded_commands"):
            value = getattr(sandbox, name)
            texts = not isinstance(value, str) and all(isinstance(one, str | os.PathLike) for one in value)
            if not texts or any("\0" in os.fspath(one) for one in value):
                yield ConfigError(f"`{name}` is not a list of texts", hint='write `("/data",)`')
        outside = [name for name in ("excluded_commands", "allow_unsandboxed_commands") if getattr(sandbox, name)]
        if network is not None and outside:
            words = f"`{outside[0]}` lets commands run outside the sandbox, where no network policy holds"
            yield ConfigError(words, hint="leave out the one or the other")
        if network is not None and not sandbox.enabled:
            words = "no network policy holds without a sandbox"
            yield ConfigError(words, hint="leave out the policy, or do not switch the sandbox off")
    wanted = network is not None or (sandbox is not None and sandbox.enabled)
    if wanted and host.isolated.settings not in ("claude", "codex"):
        words = f"{host.title} has no sandbox that Prowess can set, so no network or sandbox policy would hold"
        yield ConfigError(words, hint="leave the policy out, and start the client in a container of your own")
    if host.isolated.settings == "codex" and sandbox is not None:
        for name in ("excluded_commands", "allow_unsandboxed_commands"):
            if getattr(sandbox, name):
                yield ConfigError(f"{host.title} knows no setting for `{name}`", hint="leave it out")


def settings_files(
    host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None, *, key: bool, user_home: str
) -> Files:
    """Return the settings files of a home: path relative to it, and text.

    Args:
        host: whose.
        network: without problems; so is `sandbox`.
        sandbox: what its commands may do.
        key: whether the client is given a key to its model.
        user_home: the caller's own home, whose secrets are kept from commands.
    """
    write = _WRITERS.get(host.isolated.settings)
    return {} if write is None else write(host, network, sandbox, key, user_home)


def _claude(
    host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None, _key: bool, user_home: str
) -> Files:
    """`settings.json` of Claude Code: the keys of its schema; it takes those of other names for none at all."""
    if network is None and (sandbox is None or not sandbox.enabled):
        return {}
    sandbox = sandbox or SandboxConfig()
    readable = [os.path.abspath(path) for path in sandbox.readable_paths]
    secrets = (os.path.join(user_home, name) for name in SECRETS)
    table: dict[str, Any] = {
        "enabled": True,
        # Or else it goes on without a sandbox where it cannot make one.
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": sandbox.bash_auto_allow,
        "allowUnsandboxedCommands": sandbox.allow_unsandboxed_commands,
        "excludedCommands": [*sandbox.excluded_commands],
        "filesystem": {
            "allowWrite": [os.path.abspath(path) for path in sandbox.writable_paths],
            "denyRead": [path for path in secrets if os.path.lexists(path)],
            "allowRead": readable,
        },
        "credentials": {"envVars": [{"name": host.isolated.key_variable, "mode": "deny"}]},
    }
    settings: dict[str, Any] = {"sandbox": table}
    if network is not None:
        domains = [domain.lower() for domain in network.allowed_domains]
        table["network"] = {"allowedDomains": domains, "strictAllowlist": True}
        # Its web tools are not in the sandbox: they have rules of their own.
        settings["permissions"] = {
            "allow": [f"WebFetch(domain:{domain})" for domain in domains],
            "deny": ["WebSearch"] if domains else ["WebFetch", "WebSearch"],
        }
        settings["skipWebFetchPreflight"] = True
    return {".claude/settings.json": _json(settings)}


def _codex(
    _host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None, _key: bool, _user_home: str
) -> Files:
    """`config.toml` of Codex."""
    top: dict[str, Any] = {"check_for_update_on_startup": False}
    tables: dict[str, dict[str, Any]] = {
        "features": {"plugins": False, "apps": False, "shell_snapshot": False},
        "analytics": {"enabled": False},
        "shell_environment_policy": {"inherit": "core"},
    }
    domains = [domain.lower() for domain in network.allowed_domains] if network is not None else []
    writable = [os.path.abspath(path) for path in sandbox.writable_paths] if sandbox is not None else []
    if network is not None:
        top["web_search"] = "disabled"
    if domains:
        # Without the feature, which is an experiment of Codex, the profile closes the network.
        top["default_permissions"] = "prowess"
        tables["features"]["network_proxy"] = True
        tables["permissions.prowess.filesystem"] = {":root": "read", **dict.fromkeys(writable, "write")}
        tables['permissions.prowess.filesystem.":workspace_roots"'] = {".": "write"}
        tables["permissions.prowess.network"] = {"enabled": True, "mode": "limited"}
        tables["permissions.prowess.network.domains"] = dict.fromkeys(domains, "allow")
    elif network is not None or (sandbox is not None and sandbox.enabled):
        top["sandbox_mode"] = "workspace-write"
        tables["sandbox_workspace_write"] = {"network_access": network is None, "writable_roots": writable}
    return {".codex/config.toml": _toml(top, tables)}


def _gemini(
    _host: Host, _network: NetworkPolicy | None, _sandbox: SandboxConfig | None, key: bool, _user_home: str
) -> Files:
    """`settings.json` of Gemini CLI: it speaks to nobody but its model."""
    settings: dict[str, Any] = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    if key:
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    return {".gemini/settings.json": _json(settings)}


_WRITERS: Mapping[str, Callable[..., Files]] = {"claude": _claude, "codex": _codex, "gemini": _gemini}


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2) + "\n"


def _toml(top: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write tables of texts, truth values and lists of texts as TOML, whose texts JSON's are."""
    import json

    def lines(table: Mapping[str, Any]) -> list[str]:
        return [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items()]

    parts = [lines(top), *([f"[{name}]", *lines(table)] for name, table in tables.items())]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
