"""Write the settings files that enforce network and sandbox policies in a client.

Clients, and versions of a client, differ in the settings of their sandbox. These files were tested with Claude Code
2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0. A policy for which a client has no setting is refused: a policy that is
not enforced would be worse than none.
"""

from __future__ import annotations

import os
import re

from prowess._internal.files import is_inside
from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, quoted
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from prowess.hosts import Host

    Files = Mapping[str, str]

_ENFORCED_BY = ("claude", "codex")
"""The formats of settings with which a client enforces policies."""

_DOMAIN = re.compile(
    r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
).fullmatch
SECRET_PATHS = (
    ".aws", ".azure", ".bash_history", ".cargo/credentials.toml", ".claude", ".claude.json", ".codex",
    ".config/gcloud", ".config/gh", ".config/hub", ".config/prowess", ".copilot", ".docker", ".gemini",
    ".git-credentials", ".gnupg", ".kube", ".local/share/keyrings", ".mozilla", ".my.cnf", ".netrc", ".npmrc",
    ".password-store", ".pgpass", ".pypirc", ".python_history", ".qwen", ".ssh", ".terraform.d", ".vault-token",
    ".zsh_history",
)  # fmt: skip
"""Files and folders of the caller's home that commands in a client's sandbox may not read."""
_LIST_FIELDS = ("writable_paths", "readable_paths", "excluded_commands")


class NetworkPolicy(Frozen, kw_only=False):
    """Which domains the commands and the web tools of a client may reach; the client itself always reaches its model.

    Use `no_network()`, `with_domains(...)` or `unrestricted()`.
    """

    allowed_domains: Sequence[str] = ()
    """Domains such as `github.com`; `*.github.com` covers its subdomains. An empty list closes the network."""
    restricted: bool = True
    """Whether Prowess limits the network; otherwise the client decides."""

    @classmethod
    def no_network(cls) -> Self:
        """Return a policy that closes the network."""
        return cls()

    @classmethod
    def with_domains(cls, *domains: str) -> Self:
        """Return a policy that allows only these domains."""
        return cls(allowed_domains=domains)

    @classmethod
    def unrestricted(cls) -> Self:
        """Return a policy that leaves the network to the client."""
        return cls(restricted=False)


class SandboxConfig(Frozen, kw_only=False):
    """What the commands that a client runs may do."""

    enabled: bool = True
    """Whether they run in the client's sandbox. A client that cannot create its sandbox does not start."""
    writable_paths: tuple[str, ...] = ()
    """Folders that they may write to, besides the working directory."""
    readable_paths: tuple[str, ...] = ()
    """Those of `SECRET_PATHS` in the caller's home that they may read."""
    excluded_commands: tuple[str, ...] = ()
    """Commands that run outside the sandbox, such as `docker`."""
    allow_unsandboxed_commands: bool = False
    """Whether the model may request that a command runs outside the sandbox."""
    bash_auto_allow: bool = True
    """Whether commands in the sandbox run without asking the user."""


def policy_problems(
    host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None, *, user_home: str
) -> Iterator[ConfigError]:
    """Yield what is wrong with the policies, and which of them a client has no setting for."""
    # Callers without a type checker may pass anything.
    policies: tuple[tuple[str, object, type], ...] = (
        ("network_policy", network, NetworkPolicy),
        ("sandbox", sandbox, SandboxConfig),
    )
    wrong = [(name, cls) for name, value, cls in policies if value is not None and not isinstance(value, cls)]
    if wrong:
        for name, cls in wrong:
            hint = f"write `{cls.__name__}(...)`, or leave it out"
            yield ConfigError(f"`{name}` is not a {cls.__name__}", hint=hint)
        return
    if network is not None:
        yield from _network_problems(network)
    if sandbox is not None:
        yield from _field_problems(sandbox)
    limited = network is not None and network.restricted is not False
    if limited and sandbox is not None:
        yield from _conflicts(sandbox)
    wanted = limited or (sandbox is not None and sandbox.enabled)
    if wanted and host.isolated.settings not in _ENFORCED_BY:
        message = f"cannot limit the network or the files of {host.title}: it has no sandbox that Prowess can configure"
        hint = "use claude-code or codex as the host, or remove the limits and run the client in a container"
        yield ConfigError(message, hint=hint)
    if host.isolated.settings == "codex" and sandbox is not None:
        yield from _codex_problems(host, sandbox, user_home)


def _field_problems(sandbox: SandboxConfig) -> Iterator[ConfigError]:
    """Yield the fields with a value of a wrong type."""
    for name in ("enabled", "allow_unsandboxed_commands", "bash_auto_allow"):
        # Claude Code ignores the whole file, and with it the sandbox, if one value has a wrong type.
        if not isinstance(getattr(sandbox, name), bool):
            yield ConfigError(f"`{name}` must be true or false", hint="write `True` or `False`")
    for name in _LIST_FIELDS:
        if not _is_text_list(getattr(sandbox, name)):
            yield ConfigError(f"`{name}` is not a list of strings", hint='write `("/data",)`')


def _conflicts(sandbox: SandboxConfig) -> Iterator[ConfigError]:
    """Yield the settings with which a network policy would not be enforced."""
    outside = [name for name in ("excluded_commands", "allow_unsandboxed_commands") if getattr(sandbox, name)]
    if outside:
        message = f"`{outside[0]}` lets commands run outside the sandbox, where the network policy does not apply"
        yield ConfigError(message, hint="leave one of them out")
    if not sandbox.enabled:
        message = "a network policy needs the sandbox, which is disabled"
        yield ConfigError(message, hint="enable the sandbox, or leave the policy out")


def _codex_problems(host: Host, sandbox: SandboxConfig, user_home: str) -> Iterator[ConfigError]:
    """Yield what Codex has no setting for."""
    for name in ("excluded_commands", "allow_unsandboxed_commands"):
        if getattr(sandbox, name):
            yield ConfigError(f"{host.title} has no setting for `{name}`", hint="leave it out")
    if not all(_is_text_list(getattr(sandbox, name)) for name in _LIST_FIELDS):
        return
    for path in _absolute_paths(sandbox.readable_paths):
        for secret in _existing_secret_paths(user_home):
            if path.startswith(secret + os.sep):
                message = f"{host.title} cannot let commands read only a part of {quoted(secret, PATH_LIMIT)}"
                yield ConfigError(message, hint="name the whole folder in `readable_paths`, or leave it out")


def _network_problems(network: NetworkPolicy) -> Iterator[ConfigError]:
    restricted: object = network.restricted
    if not isinstance(restricted, bool):
        yield ConfigError("`restricted` must be true or false", hint="write `True` or `False`")
    elif not restricted and network.allowed_domains:
        yield ConfigError("`allowed_domains` of an unrestricted network mean nothing", hint="leave one of them out")
    yield from _domain_problems(network.allowed_domains)


def _domain_problems(domains: object) -> Iterator[ConfigError]:
    if not isinstance(domains, list | tuple | set | frozenset) or not all(isinstance(item, str) for item in domains):
        yield ConfigError("`allowed_domains` is not a list of strings", hint='write `("github.com",)`')
        return
    for domain in domains:
        if not domain.isascii() or not _DOMAIN(domain.lower()) or len(domain) > 253:
            hint = "write a domain like `github.com`, without `https://`, port and path"
            yield ConfigError(f"{quoted(domain)} is not a valid domain", hint=hint)


def _is_text_list(value: object) -> bool:
    """Return whether a value is a list of printable strings or paths, none of them empty."""
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(item, str | os.PathLike) and os.fspath(item) and str(item).isprintable() for item in value)


def _effective_policies(
    network: NetworkPolicy | None, sandbox: SandboxConfig | None
) -> tuple[NetworkPolicy | None, SandboxConfig | None]:
    """Return the policies to write: the strictest where none is given; `None` for what is left to the client."""
    if sandbox is None:
        sandbox = SandboxConfig()
    if not sandbox.enabled:
        return None, None  # no client can limit the network of commands outside its sandbox
    if network is None:
        network = NetworkPolicy.no_network()
    return network if network.restricted else None, sandbox


def settings_files(
    host: Host,
    network: NetworkPolicy | None,
    sandbox: SandboxConfig | None,
    *,
    key: bool,
    user_home: str,
    workdir: str,
    secrets: Iterable[str] = (),
) -> Files:
    """Return the settings files of a home: path relative to it, and content. They contain no secret.

    Args:
        host: the client.
        network: the network policy, without problems; `None` is the strictest.
        sandbox: what its commands may do, without problems; `None` is the strictest.
        key: whether the client gets a key to its model.
        user_home: the caller's own home, whose secrets commands may not read.
        workdir: the folder in which the client works.
        secrets: the variables of the client that its commands may not read.
    """
    settings_format = host.isolated.settings
    network, sandbox = _effective_policies(network, sandbox)
    if settings_format == "claude":
        return {} if sandbox is None else _claude_settings(network, sandbox, user_home, secrets)
    if settings_format == "codex":
        return _codex_settings(network, sandbox, user_home)
    return _gemini_settings(workdir, key=key) if settings_format == "gemini" else {}


def _existing_secret_paths(user_home: str) -> list[str]:
    """Return those of `SECRET_PATHS` that exist in a home."""
    paths = (os.path.join(user_home, name) for name in SECRET_PATHS)
    return [path for path in paths if os.path.lexists(path)]


def _absolute_paths(paths: Iterable[str]) -> list[str]:
    return [os.path.abspath(os.path.expanduser(path)) for path in paths]


def _claude_settings(
    network: NetworkPolicy | None, sandbox: SandboxConfig, user_home: str, secrets: Iterable[str]
) -> Files:
    """Return `settings.json` of Claude Code. The keys are those of its schema: it ignores unknown ones."""
    table: dict[str, object] = {
        "enabled": True,
        # Without this it continues without a sandbox if it cannot create a sandbox.
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": sandbox.bash_auto_allow,
        "allowUnsandboxedCommands": sandbox.allow_unsandboxed_commands,
        "excludedCommands": [*map(os.fspath, sandbox.excluded_commands)],
        "filesystem": {
            "allowWrite": _absolute_paths(sandbox.writable_paths),
            "denyRead": _existing_secret_paths(user_home),
            "allowRead": _absolute_paths(sandbox.readable_paths),
        },
        "credentials": {"envVars": [{"name": name, "mode": "deny"} for name in secrets]},
    }
    # Hooks in the front matter of a skill would run outside the sandbox.
    settings: dict[str, object] = {"sandbox": table, "disableAllHooks": True}
    if network is not None:
        domains = _lowercase_domains(network)
        table["network"] = {"allowedDomains": domains, "strictAllowlist": True}
        # Its web tools do not run in the sandbox; they have rules of their own.
        settings["permissions"] = {
            "allow": [f"WebFetch(domain:{domain})" for domain in domains],
            "deny": ["WebSearch"] if domains else ["WebFetch", "WebSearch"],
        }
        settings["skipWebFetchPreflight"] = True
    return {".claude/settings.json": _dump_json(settings)}


def _codex_settings(network: NetworkPolicy | None, sandbox: SandboxConfig | None, user_home: str) -> Files:
    """Return `config.toml` of Codex.

    It uses a permission profile: in the mode `workspace-write` commands could write to all of `/tmp`, home included.
    """
    top: dict[str, object] = {"check_for_update_on_startup": False}
    tables: dict[str, dict[str, object]] = {
        "features": {"plugins": False, "apps": False, "shell_snapshot": False},
        "analytics": {"enabled": False},
        "shell_environment_policy": {"inherit": "core"},
    }
    if sandbox is not None:
        # Hooks, and MCP servers that a skill asks for, would run outside the sandbox.
        tables["features"] |= {"hooks": False, "skill_mcp_dependency_install": False}
        readable = _absolute_paths(sandbox.readable_paths)
        closed = [
            secret for secret in _existing_secret_paths(user_home) if not any(is_inside(secret, p) for p in readable)
        ]
        top["default_permissions"] = "prowess"
        tables["permissions.prowess.filesystem"] = {
            ":root": "read",
            ":tmpdir": "write",
            **dict.fromkeys(closed, "deny"),
            **dict.fromkeys(_absolute_paths(sandbox.writable_paths), "write"),
        }
        tables['permissions.prowess.filesystem.":workspace_roots"'] = {".": "write"}
    if network is not None:
        top["web_search"] = "disabled"
        domains = _lowercase_domains(network)
        tables["permissions.prowess.network"] = {"enabled": bool(domains)}
        if domains:
            # Without this feature, which is experimental, the profile closes the network.
            tables["features"]["network_proxy"] = True
            tables["permissions.prowess.network"]["mode"] = "limited"
            tables["permissions.prowess.network.domains"] = dict.fromkeys(domains, "allow")
    return {".codex/config.toml": _dump_toml(top, tables)}


def _gemini_settings(workdir: str, *, key: bool) -> Files:
    """Return the settings of Gemini CLI: it connects only to its model, and trusts the empty folder beside its home."""
    settings: dict[str, object] = {
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    if key:
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    trusted = {workdir: "TRUST_FOLDER"}
    return {".gemini/settings.json": _dump_json(settings), ".gemini/trustedFolders.json": _dump_json(trusted)}


def _lowercase_domains(network: NetworkPolicy) -> list[str]:
    return sorted({domain.lower() for domain in network.allowed_domains})


def _dump_json(value: object) -> str:
    import json

    return json.dumps(value, indent=2) + "\n"


def _dump_toml(top: Mapping[str, object], tables: Mapping[str, Mapping[str, object]]) -> str:
    """Write tables of strings, booleans and lists of strings as TOML. Its strings are written as JSON strings."""
    import json

    def dumps(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines(table: Mapping[str, object]) -> list[str]:
        return [f"{dumps(key)} = {dumps(value)}" for key, value in table.items()]

    sections = [lines(top), *([f"[{name}]", *lines(table)] for name, table in tables.items())]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"
