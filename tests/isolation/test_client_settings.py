"""Settings files, whole, for a table of policies; what a client cannot hold is refused."""

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
    """A caller with two secrets."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".netrc").write_text("x")
    return str(tmp_path)


def written(host: str, network: Any, sandbox: Any, user: str, *, key: bool = False) -> Any:
    files = settings_files(load_host(host), network, sandbox, key=key, user_home=user, workdir=WORKDIR)
    return {name: (json if name.endswith(".json") else tomllib).loads(text) for name, text in files.items()}


def problems(host: str, network: Any, sandbox: Any, user: str = "/nobody") -> list[str]:
    return [str(one) for one in policy_problems(load_host(host), network, sandbox, user_home=user)]


def claude(user: str, **changes: Any) -> dict[str, Any]:
    """The sandbox that Claude Code is told to use, with changes; a name with `_` is one of `filesystem`."""
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
CLAUDE: dict[str, tuple[Any, Any, dict[str, Any] | None, dict[str, Any]]] = {
    "nothing": (None, None, None, {}),
    "no sandbox": (None, SandboxConfig(enabled=False), None, {}),
    "a sandbox": (None, SandboxConfig(), {}, {}),
    "no network": (
        NetworkPolicy.no_network(),
        None,
        {"network": CLOSED},
        {"permissions": {"allow": [], "deny": ["WebFetch", "WebSearch"]}, "skipWebFetchPreflight": True},
    ),
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
        {"_allowWrite": ["/data"], "_allowRead": ["/u/.ssh/known_hosts"]},
        {},
    ),
    "outside": (
        None,
        SandboxConfig(excluded_commands=("docker",), allow_unsandboxed_commands=True, bash_auto_allow=False),
        {"excludedCommands": ["docker"], "allowUnsandboxedCommands": True, "autoAllowBashIfSandboxed": False},
        {},
    ),
    "both": (
        NetworkPolicy.no_network(),
        SandboxConfig(writable_paths=["/data"]),  # type: ignore[arg-type]
        {"network": CLOSED, "_allowWrite": ["/data"]},
        {"permissions": {"allow": [], "deny": ["WebFetch", "WebSearch"]}, "skipWebFetchPreflight": True},
    ),
}


@pytest.mark.parametrize("policy", CLAUDE)
def test_the_settings_of_claude_code(policy: str, user: str) -> None:
    """Whole, for each policy."""
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
    """What `default_permissions` names."""
    files: dict[str, Any] = {":root": "read", ":tmpdir": "write", f"{user}/.netrc": "deny", f"{user}/.ssh": "deny"}
    files |= {":workspace_roots": {".": "write"}, **dict.fromkeys(write, "write")}
    return {
        "features": FEATURES,
        "default_permissions": "prowess",
        "permissions": {"prowess": {"filesystem": files, **more}},
    }


def test_the_settings_of_codex(user: str) -> None:
    """Whole, for each policy."""
    closed = {"web_search": "disabled", **profile(user, network={"enabled": False})}
    domains = {"enabled": True, "mode": "limited", "domains": {"*.github.com": "allow", "pypi.org": "allow"}}
    table: list[tuple[Any, Any, dict[str, Any]]] = [
        (None, None, codex()),
        (None, SandboxConfig(enabled=False), codex()),
        (None, SandboxConfig(), codex(**profile(user))),
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
            codex(**profile(user, write=("/da ta", '/"x" 🎉'))),
        ),
    ]
    for network, sandbox, expected in table:
        assert problems("codex", network, sandbox, user) == []
        assert written("codex", network, sandbox, user) == {".codex/config.toml": expected}


def test_codex_opens_a_secret_only_as_a_whole(user: str) -> None:
    """What lies in a closed folder stays closed to its commands, so that is said."""
    opened = SandboxConfig(readable_paths=(f"{user}/.ssh",))
    files = written("codex", None, opened, user)[".codex/config.toml"]["permissions"]["prowess"]["filesystem"]
    assert [path for path, mode in files.items() if mode == "deny"] == [f"{user}/.netrc"]
    inside = SandboxConfig(readable_paths=(f"{user}/.ssh/known_hosts",))
    assert problems("codex", None, inside, user) == [
        f"OpenAI Codex cannot let commands read only a part of `{user}/.ssh`"
    ]
    assert problems("claude-code", None, inside, user) == []


def test_codex_opens_what_is_named_and_nothing_that_begins_so(user: str) -> None:
    """`.claude` is not `.claude.json`, where a login is."""
    Path(user, ".claude").mkdir()
    Path(user, ".claude.json").write_text("x")
    opened = SandboxConfig(readable_paths=(f"{user}/.claude",))
    files = written("codex", None, opened, user)[".codex/config.toml"]["permissions"]["prowess"]["filesystem"]
    assert sorted(path for path, mode in files.items() if mode == "deny") == [
        f"{user}/{name}" for name in (".claude.json", ".netrc", ".ssh")
    ]


def test_a_command_may_be_a_path(user: str) -> None:
    """As it may where writable folders are named."""
    outside = SandboxConfig(excluded_commands=(Path("docker"),))  # type: ignore[arg-type]
    settings = written("claude-code", None, outside, user)[".claude/settings.json"]
    assert settings["sandbox"]["excludedCommands"] == ["docker"]


@pytest.mark.parametrize("key", [False, True])
def test_the_settings_of_gemini_cli(key: bool, user: str) -> None:
    """It asks how to log in unless its settings say so, and trusts no folder but the empty one that is ours."""
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
def test_a_client_whose_sandbox_cannot_be_set_is_given_no_policy(host: str, network: Any, sandbox: Any) -> None:
    """A policy that nobody enforces would be worse than none."""
    title = load_host(host).title
    assert problems(host, network, sandbox) == [
        f"{title} has no sandbox that Prowess can configure, so policies would have no effect"
    ]
    assert problems(host, None, SandboxConfig(enabled=False)) == []


NO_LIST = "`{}` is not a list of strings"
REFUSED: list[tuple[str, Any, Any, list[str]]] = [
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
    ("claude-code", NetworkPolicy("github.com"), None, [NO_LIST.format("allowed_domains")]),
    ("claude-code", NetworkPolicy((1,)), None, [NO_LIST.format("allowed_domains")]),  # type: ignore[arg-type]
    ("claude-code", NetworkPolicy(None), None, [NO_LIST.format("allowed_domains")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(writable_paths="/x"), [NO_LIST.format("writable_paths")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(readable_paths=(1,)), [NO_LIST.format("readable_paths")]),  # type: ignore[arg-type]
    ("codex", None, SandboxConfig(writable_paths=("",)), [NO_LIST.format("writable_paths")]),
    ("codex", None, SandboxConfig(writable_paths=("a\0",)), [NO_LIST.format("writable_paths")]),
    ("codex", None, SandboxConfig(writable_paths=("a\udcff",)), [NO_LIST.format("writable_paths")]),
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


@pytest.mark.parametrize(("host", "network", "sandbox", "words"), REFUSED)
def test_a_policy_that_cannot_be_is_refused(host: str, network: Any, sandbox: Any, words: list[str]) -> None:
    """With all that is wrong with it."""
    assert problems(host, network, sandbox) == words


def test_paths_are_written_absolute(user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the caller's home, and a relative path is one below the working directory."""
    monkeypatch.setenv("HOME", user)
    monkeypatch.chdir(tmp_path)
    sandbox = SandboxConfig(writable_paths=("~/out", Path("here")))  # type: ignore[arg-type]
    settings = written("claude-code", None, sandbox, user)[".claude/settings.json"]
    assert settings["sandbox"]["filesystem"]["allowWrite"] == [f"{user}/out", f"{tmp_path}/here"]


def test_secrets_are_relative_and_in_order() -> None:
    """As they are shown."""
    assert list(SECRET_PATHS) == sorted(SECRET_PATHS)
    assert not [name for name in SECRET_PATHS if name.startswith(("/", "~"))]
