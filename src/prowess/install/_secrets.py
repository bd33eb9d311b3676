"""Find secrets in a skill that is about to be published: by the names of files, and in what they contain.

This is help against accidents. What is compressed, encrypted or encoded is not read.
"""

from __future__ import annotations

import os
import posixpath
import re

from prowess._internal.text import PATH_LIMIT, neutral, quoted
from prowess.errors import ConfigError, InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NAMES = re.compile(
    r"""
    \.env(?![a-z0-9]).* | \.envrc | .*\.env | .*\.env\.(?:local|prod\w*|dev\w*|staging|test)
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)? | .*\.(?:key|p8|p12|pfx|jks|keystore|kdbx?|ppk|ovpn|tfvars|tfstate)
    | [._]netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.s3cfg | \.boto | \.dockercfg | \.git-credentials
    | \.htpasswd | \.vault-token | \.?credentials(?:\.(?:json|ya?ml|toml|ini|csv|txt))?
    | (?:client[_-]?secret|service[_-]?account|application_default_credentials).*\.json
    | \.?secrets?(?:\.(?:json|ya?ml|toml|ini|env|txt))? | kubeconfig | auth\.json | \.[a-z]*_history
    """,
    re.VERBOSE,
).fullmatch
_EXAMPLES = re.compile(r".*[._-](?:example|sample|template|tmpl|dist|defaults?|schema)(?:\..*)?|.*\.pub").fullmatch
_COPY = re.compile(r"(?:~|[ ._-](?:bak|backup|old|orig|save|swp|tmp|copy))+\Z")
_FOLDERS = frozenset((".env", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".password-store"))
_EQUALS = rb"""["']?\s{0,3}(?::|=>?)\s{0,3}["']?"""
_CONTENTS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    "a private key": (
        b"PRIVATE KEY|PuTTY-User-Key",
        re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"),
    ),
    "a key of AWS": (b"AKIA|ASIA", re.compile(rb"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b")),
    "a token of GitHub": (
        b"ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        re.compile(rb"\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ),
    "a token of GitLab": (
        b"glpat-|glptt-|gldt-|glrt-|glsoat-",
        re.compile(rb"\b(gl(?:pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{20,})"),
    ),
    "a key of a model's provider": (
        b"sk-|sk_|r8_|gsk_|xai-|pplx-|hf_",
        re.compile(rb"\b((?:sk|r8|gsk|xai|pplx)[-_][A-Za-z0-9_-]{24,}|hf_[A-Za-z0-9]{30,})"),
    ),
    "a key of Google": (
        b"AIza|ya29.|GOCSPX-",
        re.compile(rb"\b(AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})"),
    ),
    "a token of Slack": (
        b"xox|xapp-|hooks.slack.com",
        re.compile(
            rb"\b(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,})|(hooks\.slack\.com/services/T\w+/B\w+/\w+)"
        ),
    ),
    "a key of Stripe": (b"k_live_|whsec_", re.compile(rb"\b([rs]k_live_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z]{24,})")),
    "a token of a registry": (
        b"npm_|pypi-AgE|dckr_pat_",
        re.compile(rb"\b(npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,})"),
    ),
    "a key of a service": (
        b"SG.|dop_v1_|:AA|shpat_|shpss_|lin_api_",
        re.compile(
            rb"\b(SG\.[\w-]{16,40}\.[\w-]{16,60}|dop_v1_[a-f0-9]{64}|\d{8,10}:AA[\w-]{33}|shp(?:at|ss)_[a-f0-9]{32}|lin_api_\w{32,})"
        ),
    ),
    "a key of Azure": (
        b"AccountKey|SharedAccessKey|sig=",
        re.compile(rb"(?:AccountKey|SharedAccessKey|sig)=([A-Za-z0-9+/%]{40,}=*)"),
    ),
    "a token": (b"eyJ", re.compile(rb"\b(eyJ[\w-]{10,2000}\.eyJ[\w-]{10,9000}\.[\w-]{10,2000})")),
    "a password in a URL": (b"://", re.compile(rb"://[^\s/:@'\"<>{}$]{1,100}:([^\s/:@'\"<>{}$]{6,100})@[\w.-]")),
    "a secret": (
        b"ey|EY|ecret|ECRET|oken|OKEN|assw|ASSW|wd|WD",
        re.compile(
            rb"""(?:(?:[kK]ey|KEY|[sS]ecret|SECRET|[tT]oken|TOKEN)%(equals)b(%(character)b{12,200}=*)"""
            rb"""|(?:[pP]assw(?:or)?d|PASSW(?:OR)?D|[pP]wd|PWD)%(equals)b(%(character)b{8,200}=*))(?![\w(])"""
            % {b"equals": _EQUALS, b"character": rb"[A-Za-z0-9+/_.~!@#%^&*-]"}
        ),
    ),
}
"""What is found, what is in each text with it, and how it looks; the group is the secret itself."""
_PLACEHOLDER = re.compile(rb"(?i)example|placeholder|dummy|your[_-]|change|replace|redacted|x{4}|\*{3}")
_MADE_UP = re.compile(rb"(?i)test|fake|sample|pass|secret|user|admin|guest|postgres|0123|1234|abcd")
_FORMLESS = ("a secret", "a password in a URL")
"""What has no form of its own, so that names, paths and examples look like it."""
_MIN_KINDS = 6
"""Different characters of a secret."""


def check_secrets(files: Mapping[str, bytes], allowed: Iterable[str] = ()) -> None:
    """Check that files have no secrets, but those that their owner names.

    Args:
        files: the content of each, by its path.
        allowed: paths of files that may have secrets.

    Raises:
        ConfigError: there is no file with an allowed path.
        InstallError: files may have secrets.
    """
    named = {posixpath.normpath(path.replace(os.sep, "/")) for path in allowed}
    for path in sorted(named - files.keys()):
        raise ConfigError(
            f"`--force` names {quoted(path, PATH_LIMIT)}, which the skill does not have", hint="check the path"
        )
    found = [
        (path, reason)
        for path, data in sorted(files.items())
        if path not in named
        for reason in [find_secret(path, data)]
        if reason
    ]
    if not found:
        return
    lines = "".join(f"\n  {neutral(path)}: {reason}" for path, reason in found)
    message = (
        f"{len(found):,} {'file' if len(found) == 1 else 'files'} may contain secrets; nothing was published:{lines}"
    )
    options = " ".join(f"--force={neutral(path)}" for path, _ in found[:3])
    more = " and so on" if len(found) > 3 else ""
    raise InstallError(message, hint=f"remove them from the skill; if everyone may read them, add `{options}`{more}")


def find_secret(path: str, data: bytes) -> str | None:
    """Return why a file may have a secret, or `None`."""
    *folders, name = path.lower().split("/")
    name = _COPY.sub("", name)
    if (_NAMES(name) and not _EXAMPLES(name)) or not _FOLDERS.isdisjoint(folders):
        return "its name is that of a file with secrets"
    for text in _texts(data):
        for kind, (parts, pattern) in _CONTENTS.items():
            # Most patterns are not searched: that a part is missing is known a hundred times as fast.
            for match in pattern.finditer(text) if any(part in text for part in parts.split(b"|")) else ():
                if _is_real(kind, next(filter(None, match.groups()), b"")):
                    line = text.count(b"\n", 0, match.start()) + 1
                    return f"line {line:,} has what looks like {kind}"
    return None


def _is_real(kind: str, secret: bytes) -> bool:
    """Return whether what looks like a secret is no placeholder; of a private key, only the first line counts."""
    if not secret:
        return True
    if _PLACEHOLDER.search(secret) or len(set(secret)) < _MIN_KINDS:
        return False
    if kind not in _FORMLESS:
        return True
    has_digit = any(48 <= byte <= 57 for byte in secret)
    is_name = secret.count(b"_") + secret.count(b".") + secret.count(b"/") > 2
    return not _MADE_UP.search(secret) and (kind != "a secret" or (has_digit and not secret.isdigit() and not is_name))


def _texts(data: bytes) -> Iterator[bytes]:
    """Yield the content of a file, and once more without the zeros of UTF-16."""
    yield data
    if b"\0" in data[:4096]:
        yield data.replace(b"\0", b"")
