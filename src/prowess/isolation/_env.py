"""Build a client's environment from nothing, without variables that may be secrets.

Build a client's environment.

Decide whether an environment variable may be a secret, by its name and by its value.

Each is enough: a name that contains a word for secrets or begins like those of a service with accounts, and a value
that has the form of a key. A value under an unknown name must look like words, numbers, paths or versions: a key of an
unknown service is as random as any other.

It is built from nothing. A variable of the caller is in it if it is in a short list; or, with `include_host_env`, if it
cannot be a secret, does not lead out of its home or to the desktop, and does not load code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import pairwise

from prowess._internal.files import real_path
from prowess._internal.text import quoted
from prowess.errors import ConfigError
from prowess.hosts import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.hosts import Host

_HARMLESS_NAMES = frozenset(
    ("DESKTOP_SESSION", "GITHUB_ACTIONS", "GITLAB_CI", "KEYBOARD_LAYOUT", "MAX_TOKENS", "TOKENIZERS_PARALLELISM")
)
"""Not secrets, although their names contain such a word."""
_PART = re.compile(
    r"2FA|ACCOUNT|ADDRESS|AGENT|ASSERTION|AUTH|BEARER|CERT|CIPHER|CONN|COOKIE|CRED|CRYPT|DATABASE|DSN|ENTROPY|FERNET"
    r"|HASH|HEADER|HMAC|IDENTITY|JDBC|JWT|KEY|LICENSE|LOGIN|MNEMONIC|MONGO|OTP|PASS|PASSWD|PEPPER|PHRASE|PRIV|PROXY"
    r"|PRV|PWD|PWS?(?:_|$)|RECOVERY|SALT|SASL|SECRET|SECURE|SEED|SESSION|SIGN|SMTP|SOCK|SOPS|TOKEN|UNLOCK|UNSEAL"
    r"|UR[IL]|VAULT|WALLET|WEBHOOK"
).search
"""Parts of names, anywhere: `DBPASS`, `apiKey` and `MYTOKENS` too."""
_WORD = re.compile(
    r"(?:^|_)(?:ACCESS|AES|AK|BACKUP_CODES?|BOT|BROKER|CMK|CSRF|CVC|CVV|DEK|ENC|GRANT|HEC|IBAN|IPC|IV|JAAS|JKS|KDF|KEK"
    r"|LDAP|MFA|NONCE|NTLM|OIDC|P|PATS?|PEM|PFX|PGP|PINS?|PK|PSK|PWS?|RSA|SAML|SAS|SESS|SID|SK|SSN|SSO|TICKET|TLS|XSRF)(?:_|$)"
).search
"""Short words, which would be part of too many others."""
_SERVICE = re.compile(
    r"ACTIONS_|ALIBABA|ALIYUN|AMQP|ANTHROPIC|APPVEYOR|ARM_|AWS|AZURE|BITBUCKET|BORG_|BOTO|BUILDKITE|CELERY|CF_|CIRCLE"
    r"|CLAUDE|CLOUDFLARE|CLOUDSDK|CODEX|COHERE|CONSUL|COPILOT|CURL_HOME|DATADOG|DB_|DD_|DEEPSEEK|DIGITALOCEAN|DISCORD"
    r"|DOCKER|DO_|ELASTIC|FIREBASE|FIREWORKS|FLY_|GCLOUD|GCP|GEMINI|GH_|GIT|GNUPG|GOOGLE|GROQ|HCLOUD|HEROKU|HF_|HUGGING"
    r"|IMAP|INFLUX|JENKINS|JIRA|KAFKA|KRB5|KUBE|LANGCHAIN|LANGFUSE|LANGSMITH|LINODE|MAIL(?:GUN|CHIMP|JET|_)|MISTRAL|MYSQL"
    r"|NETLIFY|NETRC|NEW_RELIC|NOMAD|NOTION|OCI_|OKTA|OPENAI|OPENROUTER|PERPLEXITY|PG[A-Z]|PINECONE|PODMAN|POSTGRES"
    r"|PROWESS|PULUMI|QWEN|RABBITMQ|RCLONE|REDIS|REGISTRY|REPLICATE|RESTIC|SENDGRID|SENTRY|SHOPIFY|SLACK|SNOWFLAKE"
    r"|SQLALCHEMY|SSH|STRIPE|SUPABASE|TAILSCALE|TELEGRAM|TERRAFORM|TF_|TOGETHER|TRAVIS|TWILIO|VERCEL|WANDB|XAI_|ZAI_"
).match
"""Beginnings of names, of clients and of services with accounts."""
_KEY_FORM = re.compile(
    r"://[^/\s]*@|-----BEGIN|/run/user/|(?:^|[^A-Za-z0-9])"
    r"(?:AGE-SECRET-KEY-|AKIA|ASIA|AIza|ATATT|EAAC|SG\.|dckr_pat_|dop_v1_|doo_v1_|eyJ|figd_|gh[opsru]_|github_pat_|glpat-"
    r"|gldt-|glrt-|glsa_|glc_|gsk_|hf_|hvb\.|hvs\.|lin_api_|lsv2_|napi_|ntn_|npm_|nvapi-|pat-|phc_|phx_|pplx-|pul-|pypi-"
    r"|r8_|re_|rk_|rnd_|rpa_|sbp_|secret_|shpat_|shpss_|sk-|sk_|sntrys_|sq0|tskey-|tvly-|vercel_|whsec_|xai-|xapp-"
    r"|xox[a-z]-|ya29\.|[spx]prv)[\w-]{8}"
    r"|(?i:accountkey|api[_-]?key|bearer|basic|passw(?:or)?d|pwd|secret|sig|token)(?:\"?\s*[=:]|\s)\s*[^\s;]"
).search
"""Keys of known services, URLs with a user, private keys, and settings that contain a password."""
_NAMES_SECRET = re.compile(
    r"(?<!PUBLIC_)KEY|TOKEN(?!IZE)|SECRET|PASS(?!IVE|T)|PASSWD|(?<!^)(?<!OLD)PWD|CREDENTIAL|COOKIE|BEARER|WEBHOOK|PRIVATE"
).search
"""Parts of the names of variables whose values are secrets."""
_MIN_SECRET = 8
"""Characters of a value that is removed."""
_PHRASE = re.compile(r"\W*(?:[a-z]{3,8}\W+){11,}[a-z]{3,8}\W*").fullmatch
"""The words that restore a wallet."""
_LONG_NUMBER = re.compile(r"(?<![0-9.])[0-9]{13,}(?![0-9.])").search
_UUID = re.compile(r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})").search
"""Some services have keys of this form."""
_RUN_IN_PATH = re.compile(r"[A-Za-z0-9+=_-]{16,}").finditer
_RUN = re.compile(r"[A-Za-z0-9+=_/-]{16,}").finditer
_MIN_CHANGES = 5
"""Changes between capitals, small letters and digits that make a run of characters random."""


def is_secret_name(name: str) -> bool:
    """Return whether a variable may be a secret, or lead to one, according to its name."""
    if name.upper() in _HARMLESS_NAMES:
        return False
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
    plain = re.sub(r"[0-9]+", "_", words)
    joined = words.replace("_", "")
    return any(_PART(text) for text in (words, joined)) or bool(_WORD(plain) or _SERVICE(name.upper()))


def is_secret_value(value: str) -> bool:
    """Return whether a value has the form of a secret."""
    if _KEY_FORM(value) or _PHRASE(value) or _LONG_NUMBER(value) or _UUID(value):
        return True
    runs = (_RUN_IN_PATH if value.startswith("/") else _RUN)(value)
    return any(_is_random(run[0]) for run in runs)


def secret_values(env: Mapping[str, str]) -> frozenset[bytes]:
    """Return the values of variables that are secrets, to remove them from what is written.

    Fewer than those that a client does not get: a name such as `GITHUB_REF_NAME` has a value that any text may have.
    """
    return frozenset(
        os.fsencode(value)
        for name, value in env.items()
        if len(value) >= _MIN_SECRET
        and (is_secret_value(value) or (_NAMES_SECRET(name.upper()) and name.upper() not in _HARMLESS_NAMES))
        and not (os.path.isabs(value) and os.path.lexists(value))
    )


def _is_random(run: str) -> bool:
    """Return whether characters look random: letters and digits take turns, more often than in words and versions."""
    if not any(character.isdigit() for character in run):
        return False
    kinds = [0 if character.isdigit() else 1 if character.isupper() else 2 for character in run if character.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) >= _MIN_CHANGES


ALLOWED_VARIABLES = frozenset(
    (
        "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LC_ADDRESS", "LC_ALL", "LC_COLLATE", "LC_CTYPE",
        "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES", "LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER",
        "LC_TELEPHONE", "LC_TIME", "LINES", "LOGNAME", "NODE_EXTRA_CA_CERTS", "NO_COLOR", "PATH", "SHELL",
        "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TZ", "USER",
    )
)  # fmt: skip
"""The caller's variables that every client gets. Other names with `LC_` may have any meaning: ssh passes them on."""

_SET_BY_HOME = frozenset(("HOME", "HOMEDRIVE", "HOMEPATH", "PWD", "OLDPWD", "TEMP", "TMP", "TMPDIR", "USERPROFILE"))
"""Set by the home itself."""
_FOLDER_VARIABLES = frozenset(
    place["path"][1:].partition("|")[0].partition("/")[0]
    for table in TABLES.values()
    for place in (*table.get("roots", ()), *table.get("settings_files", {}).values())
    if place.get("path", "").startswith("$") and not place.get("inline")
)
"""Variables that move the folders or settings files of a client, according to the host files."""
_IS_FOLDER_VARIABLE = re.compile(
    r"XDG_.*|(?:CLAUDE|CODEX|COPILOT|GEMINI|QWEN)_.*(?:HOME|DIR|DIRS|PATH|SETTINGS)"
).fullmatch
"""Variables that move the folders of a client, judged by their names."""
_LOADS_CODE = re.compile(
    r"ANT_|BABEL_|BASH|BUNDLE_|BUN_|CATALINA|CHROME_|CLASSPATH|COMPOSER|COREPACK|CORECLR|COR_|DENO_|DOTNET|DYLD_|ELECTRON"
    r"|EMACS|ENV$|ERL_|EXINIT|FPATH$|GCONV|GEM_|GIO_|GLIBC|GOFLAGS|GRADLE|GTK|GUILE|IFS$|JAVA_TOOL|JDK_JAVA|JULIA|JUPYTER"
    r"|LD_|LESS|LOCPATH|LUA_|MALLOC|MAVEN|NIX_|NLSPATH|NODE_|NPM|NVIM|OPENSSL|PERL|PHP|PIP_|PKG_CONFIG|PNPM|PROMPT|PS\d$"
    r"|PUPPETEER|PYTHON|QT_|RUBY|RUSTC|RUSTFLAGS|R_|SHELLOPTS|SYSTEMD_|TCLLIBPATH|TERMCAP|TERMINFO|TS_NODE|UV_|VIM"
    r"|VIRTUAL_ENV|VSCODE|YARN|ZDOTDIR|AWK|CARGO_(?:BUILD|ENCODED|TARGET)|CCACHE|COMPILER_PATH|CUDA_INJ|FZF_|GCC_|GOENV$"
    r"|GOTOOLCHAIN$|GST_|HELM|INPUTRC$|IS_SANDBOX$|JQ_|LIBGL|LISTEN_|MAKEFILES$|OCL_|OTEL_|PKCS11|RIPGREP|SANDBOX"
    r"|SDL_|SEATBELT|SWIFT_EXEC|TEXMF|TSC_|USE_BUILTIN|VK_|.*_(?:RSH|RUNNER|SSH)$|.*(?:LIB|LIBRARY|MODULE|PLUGIN)_?PATH$"
    r"|.*OPTIONS$|.*_(?:JAVA|JVM|PRELOAD|WRAPPER)(?:_|$)|.*OPTS$"
).match
"""Variables whose names begin with one of these make programs load code, run commands or change a client's sandbox."""
_LEADS_TO_DESKTOP = re.compile(r"DISPLAY$|KITTY|PULSE|STY$|TMUX|WAYLAND|ZELLIJ").match
"""Variables that lead to the caller's screen, keyboard or terminal."""
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


def is_allowed_variable(name: str, value: str, homes: tuple[str, ...] = ()) -> bool:
    """Return whether `include_host_env` passes a variable on.

    Args:
        name: its name.
        value: its value.
        homes: the caller's home, under each of its paths; no value may contain one.
    """
    upper = name.upper()
    if not _VARIABLE_NAME(name) or _moves_client(name):
        return False
    if is_secret_name(name) or is_secret_value(value) or _LOADS_CODE(upper) or _LEADS_TO_DESKTOP(upper):
        return False
    return not any(home in value for home in homes)


def _moves_client(name: str) -> bool:
    """Return whether a variable would move a client out of its home."""
    upper = name.upper()
    return upper in _SET_BY_HOME or upper in _FOLDER_VARIABLES or bool(_IS_FOLDER_VARIABLE(upper))


def variable_problems(host: Host, env: Mapping[str, str] | None, api_key: str | None) -> Iterator[ConfigError]:
    """Yield what is wrong with the variables and the key for a client."""
    variables: Any = {} if env is None else env  # callers without a type checker may pass anything
    if not isinstance(variables, Mapping):
        yield ConfigError(f"`env` must be a mapping, not {type(variables).__name__}", hint='write `{"NAME": "value"}`')
        variables = {}
    for name, value in variables.items():
        if not isinstance(name, str) or not _VARIABLE_NAME(name):
            yield ConfigError(f"{quoted(str(name))} is not a valid variable name", hint="use letters, digits and `_`")
        elif _moves_client(name):
            message = f"`{name}` would move the client out of its home"
            yield ConfigError(message, hint="leave it out: the home sets what it needs")
        elif not _is_value(value):
            yield ConfigError(f"the value of `{name}` is not a string without NUL characters", hint="pass a string")
    if api_key is not None:
        variable = host.isolated.key_variable
        if not _is_value(api_key):
            yield ConfigError("the key is not a string without NUL characters", hint="pass a string")
        elif not variable:
            message = f"Prowess does not know which variable takes the key of {host.title}"
            yield ConfigError(message, hint="set the variable in `env`")
        elif variable in variables:
            message = f"the key of {host.title} is given twice: as `api_key`, and as `{variable}`"
            yield ConfigError(message, hint="leave one of them out")


def _is_value(value: object) -> bool:
    """Return whether a variable can have this value."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def build_environment(
    host: Host, env: Mapping[str, str] | None, api_key: str | None, *, include_host_env: bool, base: str
) -> Mapping[str, str]:
    """Build a client's whole environment.

    Args:
        host: the client.
        env: variables without problems, which override all others.
        api_key: the key to its model.
        include_host_env: whether to pass on every variable of the caller that `is_allowed_variable`.
        base: the folder that contains its home and its `TMPDIR`.
    """
    caller = os.path.expanduser("~")
    homes = tuple(home for home in {caller, real_path(caller)} if home.strip("/"))
    variables = {
        name: value
        for name, value in os.environ.items()
        if name in ALLOWED_VARIABLES or (include_host_env and is_allowed_variable(name, value, homes))
    }
    variables["PATH"] = variables.get("PATH") or os.defpath
    variables |= host.isolated.env
    if api_key is not None:
        variables[host.isolated.key_variable] = api_key
    variables |= env or {}
    return variables | {"HOME": os.path.join(base, "home"), "TMPDIR": os.path.join(base, "tmp")}
