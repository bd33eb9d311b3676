"""A client's environment: what of the caller's is in it, and which variables are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names, load_host
from prowess.isolation._env import build_environment, is_allowed_variable, variable_problems

if TYPE_CHECKING:
    from pathlib import Path

LET_IN = (
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
    # ways to secrets
    "BOTO_CONFIG", "CURL_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "GNUPGHOME", "GPG_AGENT_INFO",
    "HTTPS_PROXY", "HTTP_PROXY", "KRB5CCNAME", "KRB5_KTNAME", "KUBECONFIG", "NETRC", "PGSERVICEFILE", "SSH_AGENT_PID",
    "SSH_AUTH_SOCK", "XAUTHORITY", "all_proxy", "https_proxy",
    # out of the home
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GIT_DIR", "HOME", "OLDPWD", "PROWESS_CONFIG_DIR", "PWD", "QWEN_HOME", "TEMP", "TMP", "TMPDIR", "USERPROFILE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "ZDOTDIR",
    # code
    "BASH_ENV", "BASH_FUNC_ls%%", "BUN_OPTIONS", "CLASSPATH", "DYLD_INSERT_LIBRARIES", "ENV", "GCONV_PATH",
    "GIT_SSH_COMMAND", "GLIBC_TUNABLES", "JAVA_TOOL_OPTIONS", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "LESSOPEN",
    "LUA_INIT", "MAVEN_OPTS", "NODE_OPTIONS", "NODE_PATH", "OPENSSL_CONF", "PERL5LIB", "PERL5OPT", "PHPRC",
    "PROMPT_COMMAND", "PS4", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT", "SHELLOPTS",
    "VIRTUAL_ENV", "_JAVA_OPTIONS",
)  # fmt: skip


@pytest.mark.parametrize("name", LET_IN)
def test_what_is_harmless_is_let_in(name: str) -> None:
    """With `include_host_env`."""
    assert is_allowed_variable(name, "x")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_may_be_a_secret_or_lead_out_or_load_code_is_not(name: str) -> None:
    """By its name, whatever it holds."""
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
def test_a_value_that_looks_like_a_secret_or_leads_to_the_callers_home_is_left_out(value: str) -> None:
    """Whatever it is called."""
    assert not is_allowed_variable("MY_SETTING", value, ("/home/ada",))


@pytest.mark.parametrize("value", ["", "1", "sk-1", "task-force-one", "https://example.com/a@b", "/opt/thing"])
def test_an_ordinary_value_is_let_in(value: str) -> None:
    """Also one that only reminds of a secret."""
    assert is_allowed_variable("MY_SETTING", value, ("/home/ada",))


MOVING = (
    "CLAUDE_CODE_MANAGED_SETTINGS_PATH", "CLAUDE_CODE_PLUGIN_DIRS", "CLAUDE_CONFIG_DIR",
    "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CODEX_HOME", "CODEX_SQLITE_HOME", "COPILOT_HOME", "COPILOT_SKILLS_DIRS",
    "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "HOME", "Home", "OLDPWD",
    "PI_CODING_AGENT_DIR", "PWD", "QWEN_HOME", "TEMP", "TMP", "TMPDIR", "USERPROFILE", "XDG_CONFIG_HOME",
    "xdg_data_home",
)  # fmt: skip


@pytest.mark.parametrize("name", MOVING)
def test_what_would_move_a_client_is_refused(name: str) -> None:
    """In `env`, for each client."""
    for host in ("claude-code", "prowess"):
        (problem,) = variable_problems(load_host(host), {name: "/x"}, None)
        assert str(problem) == f"`{name}` would move the client out of its home"
        assert problem.hint == "leave it out: the home sets what it needs"


@pytest.mark.parametrize(
    ("env", "words"),
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
def test_what_is_no_variable_is_refused(env: dict[str, str], words: str) -> None:
    """No secret is in what is said about it."""
    (problem,) = variable_problems(load_host("codex"), env, None)
    assert str(problem) == words


def test_what_the_caller_names_is_given_whatever_it_is() -> None:
    """The caller's own word counts: proxies, addresses of models, options that load code."""
    names = ("ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NODE_OPTIONS", "PYTHONPATH", "MY_TOKEN", "PATH", "CLAUDE_CODE_DEBUG")
    assert [*variable_problems(load_host("claude-code"), dict.fromkeys(names, "x"), "key")] == []


def test_a_key_goes_where_the_host_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the caller's own does not."""
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


def test_a_key_that_no_variable_takes_or_that_is_given_twice_is_refused() -> None:
    """It would be lost, or one of the two would be."""
    (problem,) = variable_problems(load_host("goose"), None, "x")
    assert str(problem) == f"Prowess does not know which variable takes the key of {load_host('goose').title}"
    assert problem.hint == "set the variable in `env`"
    (problem,) = variable_problems(load_host("claude-code"), {"ANTHROPIC_API_KEY": "y"}, "x")
    assert str(problem) == "the key of Claude Code is given twice: as `api_key`, and as `ANTHROPIC_API_KEY`"
    (problem,) = variable_problems(load_host("claude-code"), None, "x\0")
    assert str(problem) == "the key is not a string without NUL characters"


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_path_the_systems_own_is_given(
    path: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty one would mean the folder the client is started in."""
    monkeypatch.delenv("PATH")
    if path is not None:
        monkeypatch.setenv("PATH", path)
    made = build_environment(load_host("codex"), None, None, include_host_env=False, base=str(tmp_path))
    assert made["PATH"] == "/bin:/usr/bin"
