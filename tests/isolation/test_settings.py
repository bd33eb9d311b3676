"""Write the settings files of clients, and refuse policies that a client cannot enforce."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from prowess.hosts import host_names, load_host
from prowess.isolation._settings import SECRET_PATHS, NetworkPolicy, SandboxConfig, policy_problems, settings_files

WORKDIR = "/base/work"


@pytest.fixture
def user(tmp_path: Path) -> str:
    """The home of a caller with two secrets."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".netrc").write_text("x")
    return str(tmp_path)


def written(host: str, network: Any, sandbox: Any, user: str, *, key: bool = False) -> Any:
    files = settings_files(
        load_host(host), network, sandbox, key=key, user_home=user, workdir=WORKDIR, secrets=["ANTHROPIC_API_KEY"]
    )
    return {name: (json if name.endswith(".json") else tomllib).loads(text) for name, text in files.items()}


def problems(host: str, network: Any, sandbox: Any, user: str = "/no-home") -> list[str]:
    return [str(one) for one in policy_problems(load_host(host), network, sandbox, user_home=user)]


def claude(user: str, **changes: Any) -> dict[str, Any]:
    """Return the sandbox settings of Claude Code with changes; a name that begins with `_` is a key of `filesystem`."""
    table: dict[str, Any] = {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
        "excludedCommands": [],
        "filesystem": {"allowWrite": [], "denyRead": [f"{user}/.netrc", f"{user}/.ssh"], "allowRead": []},
        "credentials": {"envVars": [{"name": "ANTHROPIC_API_KEY", "mode": "deny"}]},
    }
    for name, value in changes.items():
        inner = table["filesystem"] if name.startswith("_") else table
        inner[name.removeprefix("_")] = value
    return table


CLOSED = {"allowedDomains": [], "strictAllowlist": True}
CLOSED_TOOLS = {"permissions": {"allow": [], "deny": ["WebFetch", "WebSearch"]}, "skipWebFetchPreflight": True}
OPEN = NetworkPolicy.unrestricted()
CLAUDE: dict[str, tuple[Any, Any, dict[str, Any] | None, dict[str, Any]]] = {
    "nothing": (None, None, {"network": CLOSED}, CLOSED_TOOLS),
    "no sandbox": (None, SandboxConfig(enabled=False), None, {}),
    "no sandbox, open": (OPEN, SandboxConfig(enabled=False), None, {}),
    "a sandbox": (None, SandboxConfig(), {"network": CLOSED}, CLOSED_TOOLS),
    "an open network": (OPEN, None, {}, {}),
    "an open network in a sandbox": (OPEN, SandboxConfig(), {}, {}),
    "no network": (NetworkPolicy.no_network(), None, {"network": CLOSED}, CLOSED_TOOLS),
    "domains": (
        NetworkPolicy.with_domains("PyPI.org", "*.github.com", "pypi.org"),
        None,
        {"network": {"allowedDomains": ["*.github.com", "pypi.org"], "strictAllowlist": True}},
        {
            "permissions": {
                "allow": ["WebFetch(domain:*.github.com)", "WebFetch(domain:pypi.org)"],
                "deny": ["WebSearch"],
            },
            "skipWebFetchPreflight": True,
        },
    ),
    "paths": (
        None,
        SandboxConfig(writable_paths=("/data",), readable_paths=("/u/.ssh/known_hosts",)),
        {"network": CLOSED, "_allowWrite": ["/data"], "_allowRead": ["/u/.ssh/known_hosts"]},
        CLOSED_TOOLS,
    ),
    "outside": (
        None,
        SandboxConfig(excluded_commands=("docker",), allow_unsandboxed_commands=True, bash_auto_allow=False),
        {
            "network": CLOSED,
            "excludedCommands": ["docker"],
            "allowUnsandboxedCommands": True,
            "autoAllowBashIfSandboxed": False,
        },
        CLOSED_TOOLS,
    ),
    "both": (
        NetworkPolicy.no_network(),
        SandboxConfig(writable_paths=["/data"]),  # type: ignore[arg-type]
        {"network": CLOSED, "_allowWrite": ["/data"]},
        CLOSED_TOOLS,
    ),
}


@pytest.mark.parametrize("policy", CLAUDE)
def test_the_settings_of_claude_code(policy: str, user: str) -> None:
    """The whole file, for each policy."""
    network, sandbox, changes, more = CLAUDE[policy]
    assert problems("claude-code", network, sandbox) == []
    expected = (
        {}
        if changes is None
        else {".claude/settings.json": {"sandbox": claude(user, **changes), "disableAllHooks": True, **more}}
    )
    assert written("claude-code", network, sandbox, user) == expected


def codex(**changes: Any) -> dict[str, Any]:
    return {
        "check_for_update_on_startup": False,
        "features": {"plugins": False, "apps": False, "shell_snapshot": False},
        "analytics": {"enabled": False},
        "shell_environment_policy": {"inherit": "core"},
        **changes,
    }


FEATURES = {
    "plugins": False,
    "apps": False,
    "shell_snapshot": False,
    "hooks": False,
    "skill_mcp_dependency_install": False,
}


def profile(user: str, *, write: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """Return the permission profile that `default_permissions` names."""
    files: dict[str, Any] = {":root": "read", ":tmpdir": "write", f"{user}/.netrc": "deny", f"{user}/.ssh": "deny"}
    files |= {":workspace_roots": {".": "write"}, **dict.fromkeys(write, "write")}
    return {
        "features": FEATURES,
        "default_permissions": "prowess",
        "permissions": {"prowess": {"filesystem": files, **more}},
    }


def test_the_settings_of_codex(user: str) -> None:
    """The whole file, for each policy."""
    closed = {"web_search": "disabled", **profile(user, network={"enabled": False})}
    domains = {"enabled": True, "mode": "limited", "domains": {"*.github.com": "allow", "pypi.org": "allow"}}
    table: list[tuple[Any, Any, dict[str, Any]]] = [
        (None, None, codex(**closed)),
        (None, SandboxConfig(enabled=False), codex()),
        (OPEN, SandboxConfig(enabled=False), codex()),
        (None, SandboxConfig(), codex(**closed)),
        (OPEN, None, codex(**profile(user))),
        (NetworkPolicy.no_network(), None, codex(**closed)),
        (
            NetworkPolicy.with_domains("pypi.org", "*.github.com"),
            None,
            codex(
                web_search="disabled",
                **{**profile(user, network=domains), "features": {**FEATURES, "network_proxy": True}},
            ),
        ),
        (
            None,
            SandboxConfig(writable_paths=("/da ta", '/"x" 🎉')),
            codex(web_search="disabled", **profile(user, write=("/da ta", '/"x" 🎉'), network={"enabled": False})),
        ),
    ]
    for network, sandbox, expected in table:
        assert problems("codex", network, sandbox, user) == []
        assert written("codex", network, sandbox, user) == {".codex/config.toml": expected}


def test_codex_cannot_open_a_part_of_a_secret(user: str) -> None:
    """A path inside a closed folder would stay closed."""
    opened = SandboxConfig(readable_paths=(f"{user}/.ssh",))
    files = written("codex", None, opened, user)[".codex/config.toml"]["permissions"]["prowess"]["filesystem"]
    assert [path for path, mode in files.items() if mode == "deny"] == [f"{user}/.netrc"]
    inside = SandboxConfig(readable_paths=(f"{user}/.ssh/known_hosts",))
    assert problems("codex", None, inside, user) == [
        f"OpenAI Codex cannot let commands read only a part of `{user}/.ssh`"
    ]
    assert problems("claude-code", None, inside, user) == []


def test_codex_opens_only_the_named_path(user: str) -> None:
    """`.claude` is not `.claude.json`, which contains a login."""
    Path(user, ".claude").mkdir()
    Path(user, ".claude.json").write_text("x")
    opened = SandboxConfig(readable_paths=(f"{user}/.claude",))
    files = written("codex", None, opened, user)[".codex/config.toml"]["permissions"]["prowess"]["filesystem"]
    assert sorted(path for path, mode in files.items() if mode == "deny") == [
        f"{user}/{name}" for name in (".claude.json", ".netrc", ".ssh")
    ]


def test_an_excluded_command_may_be_a_path_object(user: str) -> None:
    outside = SandboxConfig(excluded_commands=(Path("docker"),))  # type: ignore[arg-type]
    settings = written("claude-code", None, outside, user)[".claude/settings.json"]
    assert settings["sandbox"]["excludedCommands"] == ["docker"]


@pytest.mark.parametrize("key", [False, True])
def test_the_settings_of_gemini_cli(key: bool, user: str) -> None:
    """It asks how to log in unless its settings say so. It trusts only the empty folder beside its home."""
    more = {"security": {"auth": {"selectedType": "gemini-api-key"}}} if key else {}
    assert written("gemini-cli", None, None, user, key=key) == {
        ".gemini/settings.json": {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            **more,
        },
        ".gemini/trustedFolders.json": {WORKDIR: "TRUST_FOLDER"},
    }


@pytest.mark.parametrize("host", [name for name in host_names() if name not in ("claude-code", "codex")])
@pytest.mark.parametrize(("network", "sandbox"), [(NetworkPolicy(), None), (None, SandboxConfig())])
def test_a_policy_for_a_client_without_a_configurable_sandbox_is_refused(host: str, network: Any, sandbox: Any) -> None:
    """A policy that is not enforced would be worse than none."""
    title = load_host(host).title
    assert problems(host, network, sandbox) == [
        f"cannot limit the network or the files of {title}: it has no sandbox that Prowess can configure"
    ]
    for network, sandbox in ((None, None), (OPEN, None), (None, SandboxConfig(enabled=False))):
        assert problems(host, network, sandbox) == []


NOT_A_LIST = "`{}` is not a list of strings"
REFUSED: list[tuple[str, Any, Any, list[str]]] = [
    (
        "claude-code",
        NetworkPolicy(allowed_domains=("a.com",), restricted=False),
        None,
        ["`allowed_domains` of an unrestricted network mean nothing"],
    ),
    ("claude-code", NetworkPolicy(restricted="no"), None, ["`restricted` must be true or false"]),  # type: ignore[arg-type]
    *(
        ("claude-code", NetworkPolicy.with_domains(name), None, [f"`{shown}` is not a valid domain"])
        for name, shown in [
            ("https://github.com", "https://github.com"),
            ("github.com/x", "github.com/x"),
            ("github.com:443", "github.com:443"),
            ("git hub.com", "git hub.com"),
            ("", ""),
            ("*", "*"),
            (".com", ".com"),
            ("-a.com", "-a.com"),
            ("a.com\n", "a.com\\x0a"),
            ("a*.com", "a*.com"),
            ("x" * 64, "x" * 59 + "…"),
            ('a") ', 'a") '),
            ("\u212aube.com", "\u212aube.com"),
            ("github.com.", "github.com."),
        ]
    ),
    ("claude-code", NetworkPolicy("github.com"), None, [NOT_A_LIST.format("allowed_domains")]),
    ("claude-code", NetworkPolicy((1,)), None, [NOT_A_LIST.format("allowed_domains")]),  # type: ignore[arg-type]
    ("claude-code", NetworkPolicy(None), None, [NOT_A_LIST.format("allowed_domains")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(writable_paths="/x"), [NOT_A_LIST.format("writable_paths")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(readable_paths=(1,)), [NOT_A_LIST.format("readable_paths")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(writable_paths=("",)), [NOT_A_LIST.format("writable_paths")]),
    ("codex", None, SandboxConfig(writable_paths=("a\0",)), [NOT_A_LIST.format("writable_paths")]),
    ("codex", None, SandboxConfig(writable_paths=("a\udcff",)), [NOT_A_LIST.format("writable_paths")]),
    (
        "claude-code",
        None,
        SandboxConfig(enabled=None, allow_unsandboxed_commands=0, bash_auto_allow="no"),  # type: ignore[arg-type]
        [f"`{name}` must be true or false" for name in ("enabled", "allow_unsandboxed_commands", "bash_auto_allow")],
    ),
    (
        "claude-code",
        ["github.com"],
        {},
        ["`network_policy` is not a NetworkPolicy", "`sandbox` is not a SandboxConfig"],
    ),
    ("codex", False, None, ["`network_policy` is not a NetworkPolicy"]),
    (
        "claude-code",
        NetworkPolicy(),
        SandboxConfig(excluded_commands=("docker",)),
        ["`excluded_commands` lets commands run outside the sandbox, where the network policy does not apply"],
    ),
    (
        "claude-code",
        NetworkPolicy(),
        SandboxConfig(allow_unsandboxed_commands=True),
        ["`allow_unsandboxed_commands` lets commands run outside the sandbox, where the network policy does not apply"],
    ),
    (
        "claude-code",
        NetworkPolicy(),
        SandboxConfig(enabled=False),
        ["a network policy needs the sandbox, which is disabled"],
    ),
    (
        "codex",
        None,
        SandboxConfig(excluded_commands=("docker",), allow_unsandboxed_commands=True),
        [
            "OpenAI Codex has no setting for `excluded_commands`",
            "OpenAI Codex has no setting for `allow_unsandboxed_commands`",
        ],
    ),
]


@pytest.mark.parametrize(("host", "network", "sandbox", "message"), REFUSED)
def test_invalid_policies_are_refused(host: str, network: Any, sandbox: Any, message: list[str]) -> None:
    """All problems are reported."""
    assert problems(host, network, sandbox) == message


def test_paths_are_written_absolute(user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the caller's home, and a relative path is inside the working directory."""
    monkeypatch.setenv("HOME", user)
    monkeypatch.chdir(tmp_path)
    sandbox = SandboxConfig(writable_paths=("~/out", Path("here")))  # type: ignore[arg-type]
    settings = written("claude-code", None, sandbox, user)[".claude/settings.json"]
    assert settings["sandbox"]["filesystem"]["allowWrite"] == [f"{user}/out", f"{tmp_path}/here"]


def test_secret_paths_are_relative_and_sorted() -> None:
    assert list(SECRET_PATHS) == sorted(SECRET_PATHS)
    assert not [name for name in SECRET_PATHS if name.startswith(("/", "~"))]
