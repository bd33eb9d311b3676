"""Build a client's environment, and refuse invalid variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names, load_host
from prowess.isolation._env import build_environment, is_allowed_variable, variable_problems

if TYPE_CHECKING:
    from pathlib import Path

HARMLESS = (
    "BROWSER", "CARGO_TERM_COLOR", "CI", "DEBIAN_FRONTEND", "DEBUG", "EDITOR", "GOPATH", "HOSTNAME", "JAVA_HOME",
    "LOG_LEVEL", "MAKEFLAGS", "MY_SETTING", "OMP_NUM_THREADS", "PAGER", "SHLVL", "TERM_PROGRAM", "VISUAL",
)  # fmt: skip
LEFT_OUT = (
    # secrets
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "CODEX_API_KEY", "DATABASE_URL", "DB_PASS",
    "DB_PASSWORD", "GEMINI_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "HF_TOKEN",
    "LD_LICENSE", "MYSQL_PWD", "NPM_TOKEN", "OPENAI_API_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "PGPASSFILE", "REDIS_URI",
    "SENTRY_DSN", "SLACK_WEBHOOK", "STRIPE_SK_SECRET", "TWINE_PASSWORD", "VAULT_ADDR", "db_password", "my_token",
    # leading to secrets
    "BOTO_CONFIG", "CURL_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "GNUPGHOME", "GPG_AGENT_INFO",
    "HTTPS_PROXY", "HTTP_PROXY", "KRB5CCNAME", "KRB5_KTNAME", "KUBECONFIG", "NETRC", "PGSERVICEFILE", "SSH_AGENT_PID",
    "SSH_AUTH_SOCK", "XAUTHORITY", "all_proxy", "https_proxy",
    # leading out of the home
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GIT_DIR", "HOME", "OLDPWD", "PROWESS_CONFIG_DIR", "PWD", "QWEN_HOME", "TEMP", "TMP", "TMPDIR", "USERPROFILE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "ZDOTDIR",
    # loading code
    "BASH_ENV", "BASH_FUNC_ls%%", "BUN_OPTIONS", "CLASSPATH", "DYLD_INSERT_LIBRARIES", "ENV", "GCONV_PATH",
    "GIT_SSH_COMMAND", "GLIBC_TUNABLES", "JAVA_TOOL_OPTIONS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "LESSOPEN",
    "LUA_INIT", "MAVEN_OPTS", "NODE_OPTIONS", "NODE_PATH", "OPENSSL_CONF", "PERL5LIB", "PERL5OPT", "PHPRC",
    "PROMPT_COMMAND", "PS4", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "SHELLOPTS",
    "VIRTUAL_ENV", "_JAVA_OPTIONS",
)  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_variables_are_passed_on(name: str) -> None:
    """With `include_host_env`."""
    assert is_allowed_variable(name, "x")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_variables_that_may_be_secrets_or_lead_out_or_load_code_are_left_out(name: str) -> None:
    """Judged by their names, with any value."""
    assert not is_allowed_variable(name, "x")


@pytest.mark.parametrize(
    "value",
    [
        "https://ada:pw@example.com/x",
        "postgres://u@db/x",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "sk-ant-api03-abcdefgh",
        "hvs.CAESIJabcdefgh",
        "ya29.a0AfB_abcdefgh",
        "dckr_pat_abcdefgh",
        "AGE-SECRET-KEY-1QYQSZQGPQ",
        "Bearer abcdefgh",
        "Server=db;User Id=ada;Password=x",
        "AccountName=ada;AccountKey=x==",
        "ghp_abcdefghijkl",
        "x=AKIAIOSFODNN7EXAMPLE",
        '{"k": "xoxb-12345678"}',
        "eyJhbGciOiJIUzI1NiJ9.e30.x",
        "unix:path=/run/user/1000/bus",
        "/home/ada/.config/thing",
        "/opt/x:/home/ada/bin",
    ],
)
def test_values_that_look_like_secrets_or_contain_the_callers_home_are_left_out(value: str) -> None:
    """Whatever the name of the variable."""
    assert not is_allowed_variable("MY_SETTING", value, ("/home/ada",))


@pytest.mark.parametrize("value", ["", "1", "sk-1", "task-force-one", "https://example.com/a@b", "/opt/thing"])
def test_ordinary_values_are_passed_on(value: str) -> None:
    """Even if they resemble a secret."""
    assert is_allowed_variable("MY_SETTING", value, ("/home/ada",))


MOVING = (
    "CLAUDE_CODE_MANAGED_SETTINGS_PATH", "CLAUDE_CODE_PLUGIN_DIRS", "CLAUDE_CONFIG_DIR",
    "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CODEX_HOME", "CODEX_SQLITE_HOME", "COPILOT_HOME", "COPILOT_SKILLS_DIRS",
    "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "HOME", "Home", "OLDPWD",
    "PI_CODING_AGENT_DIR", "PWD", "QWEN_HOME", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "XDG_CONFIG_HOME",
    "xdg_data_home",
)  # fmt: skip


@pytest.mark.parametrize("name", MOVING)
def test_variables_that_move_a_client_out_of_its_home_are_refused(name: str) -> None:
    """In `env`, for every client."""
    for host in ("claude-code", "prowess"):
        (problem,) = variable_problems(load_host(host), {name: "/x"}, None)
        assert str(problem) == f"`{name}` would move the client out of its home"
        assert problem.hint == "leave it out: the home sets what it needs"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"": "x"}, "`` is not a valid variable name"),
        ({"A=B": "x"}, "`A=B` is not a valid variable name"),
        ({"A\0": "x"}, "`A\\x00` is not a valid variable name"),
        ({"1A": "x"}, "`1A` is not a valid variable name"),
        ({"A\n": "x"}, "`A\\x0a` is not a valid variable name"),
        ({1: "x"}, "`1` is not a valid variable name"),
        ({"A": 1}, "the value of `A` is not a string without NUL characters"),
        ({"A": "x\0y"}, "the value of `A` is not a string without NUL characters"),
        ({"A": None}, "the value of `A` is not a string without NUL characters"),
    ],
)
def test_invalid_variables_are_refused(env: dict[str, str], message: str) -> None:
    """The message does not contain the value."""
    (problem,) = variable_problems(load_host("codex"), env, None)
    assert str(problem) == message


def test_any_other_variable_can_be_set_in_env() -> None:
    """Proxies, addresses of models, options that load code."""
    names = ("ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NODE_OPTIONS", "PYTHONPATH", "MY_TOKEN", "PATH", "CLAUDE_CODE_DEBUG")
    assert [*variable_problems(load_host("claude-code"), dict.fromkeys(names, "x"), "key")] == []


def test_a_key_is_set_in_the_variable_of_its_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's own key is not passed on."""
    taken = {}
    for host in map(load_host, host_names()):
        if variable := host.isolated.key_variable:
            monkeypatch.setenv(variable, "the caller's")
            for everything in (False, True):
                with_key = build_environment(host, None, "given", include_host_env=everything, base=str(tmp_path))
                without = build_environment(host, None, None, include_host_env=everything, base=str(tmp_path))
                assert with_key[variable] == "given"
                assert variable not in without
            taken[host.name] = variable
    assert taken == {
        "claude-code": "ANTHROPIC_API_KEY",
        "codex": "CODEX_API_KEY",
        "gemini-cli": "GEMINI_API_KEY",
        "qwen-code": "OPENAI_API_KEY",
    }


def test_a_key_without_a_variable_or_given_twice_is_refused() -> None:
    (problem,) = variable_problems(load_host("goose"), None, "x")
    assert str(problem) == f"Prowess does not know which variable takes the key of {load_host('goose').title}"
    assert problem.hint == "set the variable in `env`"
    (problem,) = variable_problems(load_host("claude-code"), {"ANTHROPIC_API_KEY": "y"}, "x")
    assert str(problem) == "the key of Claude Code is given twice: as `api_key`, and as `ANTHROPIC_API_KEY`"
    (problem,) = variable_problems(load_host("claude-code"), None, "x\0")
    assert str(problem) == "the key is not a string without NUL characters"


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_path_the_default_path_is_set(
    path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty one would mean the current folder."""
    monkeypatch.delenv("PATH")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    made = build_environment(load_host("codex"), None, None, include_host_env=False, base=str(tmp_path))
    assert made["PATH"] == "/bin:/usr/bin"
