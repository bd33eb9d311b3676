"""Build a client's environment, and refuse invalid variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.hosts import host_names, load_host
from prowess.isolation._env import build_environment, is_allowed_variable, variable_problems

if TYPE_CHECKING:
    from pathlib import Path

HARMLESS = {
    "ANDROID_HOME": "/opt/android-sdk",
    "BROWSER": "/usr/bin/firefox",
    "CARGO_TERM_COLOR": "always",
    "CC": "gcc-12",
    "CFLAGS": "-O2 -g -march=x86-64-v3 -fstack-protector-strong",
    "CI": "true",
    "CLICOLOR": "1",
    "CMAKE_BUILD_PARALLEL_LEVEL": "8",
    "COLORFGBG": "15;0",
    "CONDA_DEFAULT_ENV": "base",
    "CUDA_VISIBLE_DEVICES": "0,1",
    "DEBIAN_FRONTEND": "noninteractive",
    "DEBUG": "app:*",
    "DESKTOP_SESSION": "gnome",
    "EDITOR": "vim",
    "GITHUB_ACTIONS": "true",
    "GITLAB_CI": "true",
    "GOARCH": "amd64",
    "GOPATH": "/srv/go",
    "HISTSIZE": "10000",
    "HOSTNAME": "build-worker-17.internal.example.com",
    "HOSTTYPE": "x86_64",
    "JAVA_HOME": "/usr/lib/jvm/java-17-openjdk-amd64",
    "KONSOLE_VERSION": "230804",
    "LOG_LEVEL": "info",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:*.tar=01;31:*.7z=01;31",
    "MACHTYPE": "x86_64-pc-linux-gnu",
    "MAKEFLAGS": "-j8",
    "MANWIDTH": "100",
    "MY_SETTING": "mine",
    "OMP_NUM_THREADS": "4",
    "OSTYPE": "linux-gnu",
    "PAGER": "less -R",
    "RUST_BACKTRACE": "1",
    "RUST_LOG": "my_crate=debug,hyper=info",
    "SHLVL": "2",
    "SOURCE_DATE_EPOCH": "1767225600",
    "SYSTEMROOT": "C:\\Windows",
    "TERM_PROGRAM": "iTerm.app",
    "TERM_PROGRAM_VERSION": "3.5.10",
    "TOKENIZERS_PARALLELISM": "false",
    "VISUAL": "code --wait",
    "WSL_DISTRO_NAME": "Ubuntu-24.04",
    "greeting": "The quick brown fox jumps over the lazy dog.",
}
"""Real variables with usual values."""
LEFT_OUT = (
    # secrets
    "ACCESS", "ACCOUNT_SID", "ADMINPW", "CLIENT_ASSERTION", "DATA_DEK", "ENTROPY", "ETH_PRIV", "KEK", "NTLM", "TG_BOT",
    "UNLOCK_CODE", "UNSEAL", "WALLET_XPRV",
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "APPLE_ID_PASSWORD",
    "ARM_CLIENT_SECRET", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET", "AZURE_STORAGE_CONNECTION_STRING", "BACKUP_CODES", "BORG_PASSPHRASE", "CELERY_BROKER",
    "CF_ACCOUNT_ID", "CLIENT_P12", "CODEX_API_KEY", "COSIGN_PASSWORD", "CSRF", "DATABASE", "DATABASE_URL", "DBPASS",
    "DB_DSN", "DB_PASS", "DB_PASSWORD", "DB_PW2", "DD_API_KEY", "DISCORD_WEBHOOK", "DJANGO_SECRET_KEY", "ENCRYPTION",
    "ERLANG_COOKIE", "FERNET", "FIREBASE_CONFIG", "GEMINI_API_KEY", "GH_TOKEN", "GITHUB_PAT", "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS", "HASH_SALT", "HF_TOKEN", "JAAS_CONFIG", "JDBC_CONNECTION", "JENKINS_USER",
    "KAFKA_SASL", "LC_API_TOKEN", "LDAP_BIND", "LD_LICENSE", "LICENSE", "MASTER_SEED", "MFA", "MNEMONIC",
    "MNEMONIC_WORDS", "MONGO", "MYSQL_PWD", "My.Token", "MySeed", "NPM_TOKEN", "OPENAI_API_KEY",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTP", "PEPPER", "PGPASSFILE", "PGPASSWORD", "PGUSER", "PIN", "POSTGRES_DSN", "PRIVATE", "PSK", "RAILS_MASTER_KEY",
    "RECOVERY_PHRASE", "REDIS_URI", "RESTIC_REPOSITORY", "SALT", "SECRET2", "SEED", "SEEDPHRASE", "SEED_PHRASE",
    "SENTRY_DSN", "SIGNING", "SLACK_WEBHOOK", "SMTP_LOGIN", "SNOWFLAKE_USER", "STRIPE_SK", "STRIPE_SK_SECRET",
    "SUPABASE_SERVICE_ROLE", "TF_VAR_anything", "TOTP", "TWILIO_SID", "TWINE_PASSWORD", "VAULT_ADDR", "WALLET",
    "WG_PSK", "WIFI_PW", "X_API_K_E_Y", "apiKey", "authCode", "db_password", "dbPw", "myPin", "my_token", "userPAT",
    # leading to secrets
    "BOTO_CONFIG", "CURL_HOME", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "TMUX", "STY",
    "WAYLAND_DISPLAY", "KITTY_LISTEN_ON", "DOCKER_HOST", "GNUPGHOME", "GPG_AGENT_INFO",
    "HTTPS_PROXY", "HTTP_PROXY", "KRB5CCNAME", "KRB5_KTNAME", "KUBECONFIG", "NETRC", "PGSERVICEFILE", "RCLONE_CONFIG",
    "REGISTRY_AUTH_FILE", "SSH_AGENT_PID", "SSH_AUTH_SOCK", "XAUTHORITY", "all_proxy", "https_proxy",
    # leading out of the home
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GIT_DIR", "HOME", "OLDPWD", "PROWESS_CONFIG_DIR", "PWD", "QWEN_HOME", "TEMP", "TMP", "TMPDIR", "USERPROFILE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR", "ZDOTDIR",
    # loading code
    "BASH_ENV", "BASH_FUNC_ls%%", "BUNDLE_GEMFILE", "BUN_OPTIONS", "CLASSPATH", "CORECLR_PROFILER_PATH",
    "DOTNET_STARTUP_HOOKS", "DYLD_INSERT_LIBRARIES", "ELECTRON_RUN_AS_NODE", "ENV", "ERL_FLAGS", "GCONV_PATH",
    "GEM_HOME", "GIT_SSH_COMMAND", "GLIBC_TUNABLES", "GOFLAGS", "GTK_MODULES", "JAVA_TOOL_OPTIONS", "JULIA_LOAD_PATH",
    "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "LESSOPEN", "LUA_INIT", "MAVEN_OPTS", "NODE_OPTIONS", "NODE_PATH",
    "NPM_CONFIG_SCRIPT_SHELL", "OPENSSL_CONF", "PERL5LIB", "PERL5OPT", "PHPRC", "PROMPT_COMMAND", "PS4", "PYTHONHOME",
    "PYTHONPATH", "PYTHONSTARTUP", "QT_PLUGIN_PATH", "RUBYLIB", "RUBYOPT", "RUSTC_WRAPPER", "R_PROFILE", "SHELLOPTS",
    "VIMINIT", "VIRTUAL_ENV", "VSCODE_IPC_HOOK_CLI", "_JAVA_OPTIONS", "npm_config_userconfig",
    "AWKLIBPATH", "CAML_LD_LIBRARY_PATH", "CARGO_BUILD_RUSTC", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
    "CUDA_INJECTION64_PATH", "CVS_RSH", "GCC_EXEC_PREFIX", "GOENV", "GST_PLUGIN_PATH", "HELM_PLUGINS", "INPUTRC",
    "JQ_LIBRARY_PATH", "LIBPATH", "MAKEFILES", "RIPGREP_CONFIG_PATH", "RSYNC_RSH", "SHLIB_PATH", "SVN_SSH",
    "SWIFT_EXEC", "VK_LAYER_PATH",
    # changing a client's sandbox, or where it reports to
    "IS_SANDBOX", "OTEL_EXPORTER_OTLP_ENDPOINT", "SANDBOX", "SANDBOX_FLAGS", "SEATBELT_PROFILE",
    "USE_BUILTIN_RIPGREP",
)  # fmt: skip


@pytest.mark.parametrize(("name", "value"), HARMLESS.items(), ids=[*HARMLESS])
def test_harmless_variables_are_passed_on(name: str, value: str) -> None:
    """With `include_host_env`."""
    assert is_allowed_variable(name, value, ("/home/ada",))


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
        "sk_live_51HabcdEFGH",
        "Basic dXNlcjpwdw==",
        "SharedAccessSignature sr=x&sig=abc",
        '{"password": "hunter2"}',
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "4d6f646562a8c3e1f0b79d55aa10ff32",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "dGhpcyBpcyBhIHNlY3JldCB2YWx1ZQ==",
        "7Fq-2xP_9aLk3Zw8RtY1",
        "x" * 30 + " 8Kd93jsL20dkPq81",
        "cf45b3c0-7a1e-4f6b-9d0a-2b1c3d4e5f60",
        "4111111111111111",
        "/home/ada/.config/thing",
        "/opt/x:/home/ada/bin",
    ],
)
def test_values_that_look_like_secrets_or_contain_the_callers_home_are_left_out(value: str) -> None:
    """Whatever the name of the variable."""
    assert not is_allowed_variable("MY_SETTING", value, ("/home/ada",))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1",
        "sk-1",
        "task-force-one",
        "https://example.com/a@b",
        "/opt/thing",
        "2026-11-22T12:00:00+01:00",
        "x86_64-unknown-linux-gnu",
        "SomeVeryLongClassNameOfTests",
        "/usr/lib/python3.11/site-packages:/opt/llvm-17/bin",
        "THIS_IS_A_CONSTANT_2",
        "de_DE.UTF-8",
        "10.0.22631.4317",
    ],
)
def test_ordinary_values_are_passed_on(value: str) -> None:
    """Even if they resemble a secret."""
    assert is_allowed_variable("MY_SETTING", value, ("/home/ada",))


MOVING = (
    "CLAUDE_CODE_MANAGED_SETTINGS_PATH", "CLAUDE_CODE_PLUGIN_DIRS", "CLAUDE_CONFIG_DIR",
    "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLINE_DIR", "CLINE_GLOBAL_SETTINGS_PATH", "CODEX_HOME", "CODEX_SQLITE_HOME",
    "COPILOT_HOME", "COPILOT_SKILLS_DIRS", "KIMI_CODE_HOME", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "VIBE_HOME",
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


def test_only_the_variables_of_the_locale_are_passed_on_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other variable with `LC_` may have been passed on by ssh."""
    for name in ("LC_ALL", "LC_MESSAGES", "LC_API_TOKEN", "LC_ANYTHING"):
        monkeypatch.setenv(name, "C")
    made = build_environment(load_host("codex"), None, None, include_host_env=False, base=str(tmp_path))
    assert {name for name in made if name.startswith("LC_")} >= {"LC_ALL", "LC_MESSAGES"}
    assert not made.keys() & {"LC_API_TOKEN", "LC_ANYTHING"}
