"""the caller's environment + a configuration -> a client's environment

It is made from nothing. What the caller has in its own is in it if it stands in a short list, or if the caller says so
and it can neither be a secret, nor lead out of the client's home, nor load code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from prowess._internal.text import quoted
from prowess.errors import ConfigError
from prowess.hosts import TABLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from prowess.hosts import Host

__all__ = ["ALLOWED_VARIABLES", "build_environment", "is_allowed_variable", "variable_problems"]

ALLOWED_VARIABLES = frozenset(
    (
        "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "LOGNAME", "NODE_EXTRA_CA_CERTS",
        "NO_COLOR", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TZ", "USER",
    )
)  # fmt: skip
"""What a client gets of the caller's environment, with all that begins with `LC_`."""

_SET_BY_HOME = frozenset(("HOME", "HOMEDRIVE", "HOMEPATH", "PWD", "OLDPWD", "TEMP", "TMP", "TMPDIR", "USERPROFILE"))
"""What the home itself sets."""
_FOLDER_VARIABLES = frozenset(
    root["path"][1:].partition("|")[0].partition("/")[0]
    for table in TABLES.values()
    for root in table.get("roots", ())
    if root["path"].startswith("$")
)
"""What moves the folders of a client, as the host files know it."""
_IS_FOLDER_VARIABLE = re.compile(
    r"XDG_.*|(?:CLAUDE|CODEX|COPILOT|GEMINI|QWEN)_.*(?:HOME|DIR|DIRS|PATH|SETTINGS)"
).fullmatch
"""What moves them by its name."""
_SECRET_NAME = re.compile(
    r"ADDRESS|AGENT|AUTH|BEARER|CERT|CONN|COOKIE|CRED|DSN|HEADER|JWT|KEY|LICENSE|PASS|PRIVATE|PROXY|PWD|SECRET|SESSION"
    r"|SIGN|SOCK|TOKEN|UR[IL]|WEBHOOK|(?:^|_)(?:IPC|PAT|PIN|PW|SAS|TLS)(?:_|$)"
).search
"""A name with one of these in it may be that of a secret, or of a way to one."""
_BLOCKED_PREFIX = re.compile(
    r"ANTHROPIC|AWS|AZURE|CLAUDE|CLOUDSDK|CODEX|COPILOT|BOTO|CURL_HOME|DOCKER|GCLOUD|GCP|GEMINI|GH_|GIT|GNUPG"
    r"|GOOGLE|HF_|KRB5|KUBE|NETRC|OPENAI|PGSERVICE|PROWESS|QWEN|SSH|VAULT"  # of clients and of services with accounts
    r"|BASH|BUN_|CLASSPATH|DENO_|DYLD_|ENV$|GCONV|GLIBC|IFS$|JAVA_TOOL|JDK_JAVA|LD_|LESS|LOCPATH|LUA_|NODE_|NPM|OPENSSL"
    r"|PERL|PHP|PIP_|PROMPT|PS\d$|PYTHON|RUBY|SHELLOPTS|UV_|VIRTUAL_ENV|ZDOTDIR|.*OPTIONS$|.*_OPTS$"  # load code
).match
"""Names that begin so are of a family of which none is let in."""
_SECRET_VALUE = re.compile(
    r"://[^/\s]*@|-----BEGIN|/run/user/|(?:^|[\s=:,\"'])"
    r"(?:AGE-SECRET-KEY-|AKIA|ASIA|AIza|ATATT|SG\.|dckr_pat_|dop_v1_|eyJ|gh[opsru]_|github_pat_|glpat-|glsa_|gsk_|hf_"
    r"|hvs\.|npm_|pypi-|rk_|shpat_|sk-|sk_|whsec_|xai-|xapp-|xox[a-z]-|ya29\.)[\w-]{8}"
    r"|(?i:accountkey|bearer|passw(?:or)?d|pwd|secret|token)(?:=|\s)\s*[^\s;]"
).search
"""What has such a thing in it is a secret whatever it is called."""
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


def is_allowed_variable(name: str, value: str, homes: tuple[str, ...] = ()) -> bool:
    """Say whether `include_host_env` lets a variable in.

    Args:
        name: its name.
        value: its value.
        homes: folders of the caller that none of it may lead to.
    """
    upper = name.upper()
    if not _VARIABLE_NAME(name) or upper in _SET_BY_HOME or upper in _FOLDER_VARIABLES or _IS_FOLDER_VARIABLE(upper):
        return False
    if _SECRET_NAME(upper) or _BLOCKED_PREFIX(upper) or _SECRET_VALUE(value):
        return False
    return not any(home in value for home in homes)


def variable_problems(host: Host, env: Mapping[str, str] | None, api_key: str | None) -> Iterator[ConfigError]:
    """Yield what is wrong with the variables and the key that a client is given."""
    # What a type checker believes of them, callers need not have looked at.
    given: Any = {} if env is None else env
    key: Any = api_key
    if not isinstance(given, Mapping):
        yield ConfigError(f"`env` is a mapping, not {type(given).__name__}", hint='write `{"NAME": "value"}`')
        given = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _VARIABLE_NAME(name):
            hint = "use letters, digits and `_`"
            yield ConfigError(f"{quoted(str(name))} is no name of a variable", hint=hint)
        elif name.upper() in _SET_BY_HOME or name.upper() in _FOLDER_VARIABLES or _IS_FOLDER_VARIABLE(name.upper()):
            words = f"`{name}` would lead the client out of its home"
            yield ConfigError(words, hint="leave it out: the home sets what it needs")
        elif not _is_value(value):
            yield ConfigError(f"the value of `{name}` is not a text without NUL", hint="give it as text")
    if key is not None:
        variable = host.isolated.key_variable
        if not _is_value(key):
            yield ConfigError("the key is not a text without NUL", hint="give it as text")
        elif not variable:
            words = f"Prowess does not know which variable takes the key of {host.title}"
            yield ConfigError(words, hint="name the variable in `env`")
        elif variable in given:
            words = f"the key of {host.title} is given twice: as `api_key`, and as `{variable}`"
            yield ConfigError(words, hint="leave out the one or the other")


def _is_value(value: Any) -> bool:
    """Say whether a variable can have a value."""
    try:
        return isinstance(value, str) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def build_environment(
    host: Host, env: Mapping[str, str] | None, api_key: str | None, *, include_host_env: bool, base: str
) -> Mapping[str, str]:
    """Make a client's whole environment.

    Args:
        host: the client.
        env: without problems.
        api_key: to its model.
        include_host_env: whether all of the caller's is let in that `passes`.
        base: the folder with its home and its `TMPDIR`.
    """
    caller = os.path.expanduser("~")
    homes = tuple(home for home in {caller, os.path.realpath(caller)} if home.strip("/"))
    made = {
        name: value
        for name, value in os.environ.items()
        if name in ALLOWED_VARIABLES
        or name.startswith("LC_")
        or (include_host_env and is_allowed_variable(name, value, homes))
    }
    made["PATH"] = made.get("PATH") or os.defpath
    made |= host.isolated.env
    if api_key is not None:
        made[host.isolated.key_variable] = api_key
    made |= env or {}
    return made | {"HOME": os.path.join(base, "home"), "TMPDIR": os.path.join(base, "tmp")}
