"""policies -> the settings files a client reads

What a client can be told about its sandbox differs from client to client and from version to version; what is written
here was tried with Claude Code 2.1.329, Codex 0.169.0 and Gemini CLI 0.61.0. What a client knows no setting for is
refused: a policy that nobody enforces would be worse than none.
"""

from __future__ import annotations

import os
import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import quoted
from prowess.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from prowess.hosts import Host

    Files = Mapping[str, str]

__all__ = ["SECRET_PATHS", "NetworkPolicy", "SandboxConfig", "policy_problems", "settings_files"]

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
"""What commands in a client's sandbox may not read of the caller's own home."""


class NetworkPolicy(Frozen, kw_only=False):
    """Which domains the commands and the web tools of a client may reach; the client itself always reaches its model.

    `no_network()` and `with_domains(...)` say it in words.
    """

    allowed_domains: Sequence[str] = ()
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


def policy_problems(
    host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig | None, *, user_home: str
) -> Iterator[ConfigError]:
    """Yield what is wrong with the policies, and what of them a client knows no setting for."""
    # What a type checker believes of them, callers need not have looked at.
    given: Any = (("network_policy", network, NetworkPolicy), ("sandbox", sandbox, SandboxConfig))
    wrong = [(name, kind) for name, value, kind in given if value is not None and not isinstance(value, kind)]
    if wrong:
        for name, kind in wrong:
            yield ConfigError(f"`{name}` is no {kind.__name__}", hint=f"write `{kind.__name__}(...)`, or leave it out")
        return
    paths_fit = True
    if network is not None:
        yield from _domain_problems(network.allowed_domains)
    if sandbox is not None:
        for name in ("enabled", "allow_unsandboxed_commands", "bash_auto_allow"):
            # Claude Code leaves out the whole file, and with it the sandbox, where one value is of a wrong type.
            if not isinstance(getattr(sandbox, name), bool):
                yield ConfigError(f"`{name}` is neither true nor false", hint="write `True` or `False`")
        for name in ("writable_paths", "readable_paths", "excluded_commands"):
            if not _is_text_list(getattr(sandbox, name)):
                paths_fit = False
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
        for path in _absolute_paths(sandbox.readable_paths) if paths_fit else ():
            for secret in _existing_secret_paths(user_home):
                if path.startswith(secret + os.sep):
                    words = f"{host.title} can open {quoted(secret, 200)} to commands only as a whole"
                    yield ConfigError(words, hint="name the whole folder in `readable_paths`, or leave it out")


def _domain_problems(domains: Any) -> Iterator[ConfigError]:
    if not isinstance(domains, list | tuple | set | frozenset) or not all(isinstance(one, str) for one in domains):
        yield ConfigError("`allowed_domains` is not a list of texts", hint='write `("github.com",)`')
        return
    for domain in domains:
        if not domain.isascii() or not _DOMAIN(domain.lower()) or len(domain) > 253:
            hint = "write it as in `github.com`, without `https://`, port and path"
            yield ConfigError(f"{quoted(domain)} is not a domain", hint=hint)


def _is_text_list(value: Any) -> bool:
    """Say whether a value is a list of texts or paths that can be."""
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(one, str | os.PathLike) and os.fspath(one) and str(one).isprintable() for one in value)


def settings_files(
    host: Host,
    network: NetworkPolicy | None,
    sandbox: SandboxConfig | None,
    *,
    key: bool,
    user_home: str,
    workdir: str,
) -> Files:
    """Return the settings files of a home: path relative to it, and text. No secret is in them.

    Args:
        host: whose.
        network: without problems; so is `sandbox`.
        sandbox: what its commands may do.
        key: whether the client is given a key to its model.
        user_home: the caller's own home, whose secrets are kept from commands.
        workdir: the empty folder beside the home.
    """
    kind = host.isolated.settings
    if network is not None and sandbox is None:
        sandbox = SandboxConfig()
    if sandbox is not None and not sandbox.enabled:
        sandbox = None
    if kind == "claude":
        return {} if sandbox is None else _claude_settings(host, network, sandbox, user_home)
    if kind == "codex":
        return _codex_settings(network, sandbox, user_home)
    return _gemini_settings(workdir, key=key) if kind == "gemini" else {}


def _existing_secret_paths(user_home: str) -> list[str]:
    """Return what there is of `SECRETS` in a home."""
    paths = (os.path.join(user_home, name) for name in SECRET_PATHS)
    return [path for path in paths if os.path.lexists(path)]


def _is_inside(path: str, top: str) -> bool:
    """Say whether a path is this one or lies below it."""
    return path == top or path.startswith(top.rstrip(os.sep) + os.sep)


def _absolute_paths(paths: Iterable[str]) -> list[str]:
    return [os.path.abspath(os.path.expanduser(path)) for path in paths]


def _claude_settings(host: Host, network: NetworkPolicy | None, sandbox: SandboxConfig, user_home: str) -> Files:
    """`settings.json` of Claude Code: the keys of its schema; it takes those of other names for none at all."""
    table: dict[str, Any] = {
        "enabled": True,
        # Or else it goes on without a sandbox where it cannot make one.
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": sandbox.bash_auto_allow,
        "allowUnsandboxedCommands": sandbox.allow_unsandboxed_commands,
        "excludedCommands": [*map(os.fspath, sandbox.excluded_commands)],
        "filesystem": {
            "allowWrite": _absolute_paths(sandbox.writable_paths),
            "denyRead": _existing_secret_paths(user_home),
            "allowRead": _absolute_paths(sandbox.readable_paths),
        },
        "credentials": {"envVars": [{"name": host.isolated.key_variable, "mode": "deny"}]},
    }
    # Those that a skill brings in its front matter would run outside the sandbox.
    settings: dict[str, Any] = {"sandbox": table, "disableAllHooks": True}
    if network is not None:
        domains = _lowercase_domains(network)
        table["network"] = {"allowedDomains": domains, "strictAllowlist": True}
        # Its web tools are not in the sandbox: they have rules of their own.
        settings["permissions"] = {
            "allow": [f"WebFetch(domain:{domain})" for domain in domains],
            "deny": ["WebSearch"] if domains else ["WebFetch", "WebSearch"],
        }
        settings["skipWebFetchPreflight"] = True
    return {".claude/settings.json": _dump_json(settings)}


def _codex_settings(network: NetworkPolicy | None, sandbox: SandboxConfig | None, user_home: str) -> Files:
    """`config.toml` of Codex. In its `workspace-write` mode commands could write to all of `/tmp`, so to the home."""
    top: dict[str, Any] = {"check_for_update_on_startup": False}
    tables: dict[str, dict[str, Any]] = {
        "features": {"plugins": False, "apps": False, "shell_snapshot": False},
        "analytics": {"enabled": False},
        "shell_environment_policy": {"inherit": "core"},
    }
    if sandbox is not None:
        # Neither hooks nor the servers that a skill may ask for would run in the sandbox.
        tables["features"] |= {"hooks": False, "skill_mcp_dependency_install": False}
        readable = _absolute_paths(sandbox.readable_paths)
        closed = (
            path for path in _existing_secret_paths(user_home) if not any(_is_inside(path, one) for one in readable)
        )
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
            # Without the feature, which is an experiment of Codex, the profile closes the network.
            tables["features"]["network_proxy"] = True
            tables["permissions.prowess.network"]["mode"] = "limited"
            tables["permissions.prowess.network.domains"] = dict.fromkeys(domains, "allow")
    return {".codex/config.toml": _dump_toml(top, tables)}


def _gemini_settings(workdir: str, *, key: bool) -> Files:
    """`settings.json` of Gemini CLI: it speaks to nobody but its model, and trusts the empty folder beside its home."""
    settings: dict[str, Any] = {
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


def _dump_toml(top: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write tables of texts, truth values and lists of texts as TOML, whose texts JSON's are."""
    import json

    def dumps(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines(table: Mapping[str, Any]) -> list[str]:
        return [f"{dumps(key)} = {dumps(value)}" for key, value in table.items()]

    parts = [lines(top), *([f"[{name}]", *lines(table)] for name, table in tables.items())]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
