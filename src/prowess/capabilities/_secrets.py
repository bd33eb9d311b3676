"""Find secrets in the files of a skill, by their names and by what they contain, and remove them from what is recorded.

This is help against accidents. What is compressed, encrypted or encoded is not read. `publish` refuses what is found
here, and a check reports it.
"""

from __future__ import annotations

import re

from prowess._internal.patterns import compile_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAMES = compile_on_use(
    r"""
    \.env(?![a-z0-9]).* | \.envrc | .*\.env | .*\.env\.(?:local|prod\w*|dev\w*|staging|test)
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)? | .*\.(?:key|p8|p12|pfx|jks|keystore|kdbx?|ppk|ovpn|tfvars|tfstate)
    | [._]netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.s3cfg | \.boto | \.dockercfg | \.git-credentials
    | \.htpasswd | \.vault-token | \.?credentials(?:\.(?:json|ya?ml|toml|ini|csv|txt))?
    | (?:client[_-]?secret|service[_-]?account|application_default_credentials).*\.json
    | \.?secrets?(?:\.(?:json|ya?ml|toml|ini|env|txt))? | kubeconfig | auth\.json | \.[a-z]*_history
    """,
    re.VERBOSE,
)
_EXAMPLES = compile_on_use(r".*[._-](?:example|sample|template|tmpl|dist|defaults?|schema)(?:\..*)?|.*\.pub")
_COPY = compile_on_use(r"(?:~|[ ._-](?:bak|backup|old|orig|save|swp|tmp|copy))+\Z")
_FOLDERS = frozenset((".env", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", ".password-store"))
_EQUALS = rb"""["']?\s{0,3}(?::|=>?)\s{0,3}["']?"""
_TOKENS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    "a key of AWS": (b"AKIA|ASIA", compile_on_use(rb"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b")),
    "a token of GitHub": (
        b"gh[pousr]_|github_pat_",
        compile_on_use(rb"\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    ),
    "a token of GitLab": (
        b"gl(?:pat|ptt|dt|rt|soat)-",
        compile_on_use(rb"\b(gl(?:pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{20,})"),
    ),
    "a key of a model's provider": (
        b"(?:sk|r8|gsk|xai|pplx)[-_]|hf_",
        compile_on_use(rb"\b((?:sk|r8|gsk|xai|pplx)[-_][A-Za-z0-9_-]{24,}|hf_[A-Za-z0-9]{30,})"),
    ),
    "a key of Google": (
        rb"AIza|ya29\.|GOCSPX-",
        compile_on_use(rb"\b(AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})"),
    ),
    "a token of Slack": (
        b"xox|xapp-",
        compile_on_use(rb"\b(xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,})"),
    ),
    "a key of Stripe": (
        b"k_live_|whsec_",
        compile_on_use(rb"\b([rs]k_live_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z]{24,})"),
    ),
    "a token of a registry": (
        b"npm_|pypi-AgE|dckr_pat_",
        compile_on_use(rb"\b(npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,})"),
    ),
    "a key of a service": (
        rb"SG\.|dop_v1_|:AA|shpat_|shpss_|lin_api_",
        compile_on_use(
            rb"\b(SG\.[\w-]{16,40}\.[\w-]{16,60}|dop_v1_[a-f0-9]{64}|\d{8,10}:AA[\w-]{33}|shp(?:at|ss)_[a-f0-9]{32}|lin_api_\w{32,})"
        ),
    ),
    "a token": (b"eyJ", compile_on_use(rb"\b(eyJ[\w-]{10,2000}\.eyJ[\w-]{10,9000}\.[\w-]{10,2000})")),
}
"""Tokens, what each has near its beginning, and how it looks; the group is the secret itself."""
_KINDS_OF_STARTS = [*_TOKENS]
_TOKEN_START = compile_on_use(b"|".join(b"(%b)" % start for start, _ in _TOKENS.values()))
_MAX_BEFORE_RUN = 5
"""What may be before the long run of a token: `ya29.`."""
_TOKEN_CHARACTERS = bytes(
    ord("a") if byte < 0x80 and (chr(byte).isalnum() or chr(byte) in "_-") else ord(" ") for byte in range(256)
)
"""Maps what tokens consist of to `a`, and the rest to a blank."""
_LONG_RUN = b"a" * 20
"""No token has fewer characters side by side; most words are shorter."""
_PRIVATE_KEY = "a private key"
_KEY_END = compile_on_use(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: \w+")
_OTHERS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    _PRIVATE_KEY: (
        b"PRIVATE KEY|PuTTY-User-Key",
        compile_on_use(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d"),
    ),
    "a token of Slack": (b"hooks.slack.com", compile_on_use(rb"(hooks\.slack\.com/services/T\w+/B\w+/\w+)")),
    "a key of Azure": (
        b"AccountKey|SharedAccessKey|sig=",
        compile_on_use(rb"(?:AccountKey|SharedAccessKey|sig)=([A-Za-z0-9+/%]{40,}=*)"),
    ),
    "a password in a URL": (
        b"://",
        compile_on_use(rb"://[^\s/:@'\"<>{}$]{1,100}:([^\s/:@'\"<>{}$]{6,100})@[\w.-]"),
    ),
}
"""Secrets without a long run, what is in each text with one, and how they look."""
_OTHER_PARTS = [(kind, parts.split(b"|"), pattern) for kind, (parts, pattern) in _OTHERS.items()]
_ASSIGNED = compile_on_use(
    rb"""(?:(?:[kK]ey|KEY|[sS]ecret|SECRET|[tT]oken|TOKEN)%(equals)b(%(character)b{12,200}=*)"""
    rb"""|(?:[pP]assw(?:or)?d|PASSW(?:OR)?D|[pP]wd|PWD)%(equals)b(%(character)b{8,200}=*))(?![\w(.\[])"""
    % {b"equals": _EQUALS, b"character": rb"[A-Za-z0-9+/_.~!@#%^&*-]"}
)
_ASSIGNED_NAMES = (b"key", b"secret", b"token", b"passw", b"pwd")
_PLACEHOLDER = compile_on_use(
    rb"(?i)example|placeholder|dummy|your[_-]|change|replace|redacted|x{4}|\*{3}|a1b2c3|1234567|abcdefg"
)
_MADE_UP = compile_on_use(rb"(?i)test|fake|sample|pass|secret|user|admin|guest|postgres|0123|1234|abcd")
_NOT_SECRET = compile_on_use(
    rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # the number of a row, or of a tenant
    rb"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"  # an expression of a program
    rb"|[A-Za-z]{3,}(?:-[A-Za-z]{3,})*-[0-9]{1,4}"  # words with a number
)
_NOT_SECRET_NAME = compile_on_use(
    rb"(?i)(?:public(?:key)?|row|cache|idempotency|partition|sort|primary|foreign|rl)[-_ ]?\Z"
)
"""Before `key` or `token`: keys and tokens that are public. `rlkey` is part of every public link of Dropbox."""
_EMPTY_KEY = compile_on_use(rb"(?:\s|\\[nr])*(?:\.{3}|\xe2\x80\xa6|[\"'`<\[$#/-])")
"""After the first line of a private key: what shows that the key itself is left out."""
_FORMLESS = ("a secret", "a password in a URL")
"""What has no form of its own, so that names, paths and examples look like it."""
_MIN_KINDS = 6
"""Different characters of a secret."""


def find_secret(path: str, data: bytes) -> str | None:
    """Return why a file may have a secret, or `None`."""
    if has_secret_name(path):
        return "its name is that of a file with secrets"
    kind, line = next(find_secrets(data), ("", 0))
    return f"line {line:,} has what looks like {kind}" if kind else None


def has_secret_name(path: str) -> bool:
    """Return whether a file of a skill has the name of a file with secrets."""
    *folders, name = path.lower().split("/")
    name = _COPY.sub("", name)
    return bool(_NAMES.fullmatch(name) and not _EXAMPLES.fullmatch(name)) or not _FOLDERS.isdisjoint(folders)


def find_secrets(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield what looks like a secret in a file: its kind, and the line on which it begins, from 1."""
    for text in _texts(data):
        for kind, start, _ in _secrets_in(text):
            yield kind, text.count(b"\n", 0, start) + 1


def remove_secrets(data: bytes, path: str = "", known: Iterable[bytes] = ()) -> bytes | None:
    """Return a text or file with a note in place of each secret; `None` if that is not possible.

    Args:
        data: its content.
        path: of the file; all of a file with a name for secrets is one.
        known: secrets that are removed whatever they look like.
    """
    for secret in known:
        data = data.replace(secret, b"[secret removed]")
    parts, end = [], 0
    for kind, _, (start, stop) in sorted(_secrets_in(data), key=lambda found: found[2]):
        if start >= end:
            parts += [data[end:start], f"[{kind} removed]".encode()]
        if kind == _PRIVATE_KEY and stop > end:  # only its first line was found
            stop = match.end() if (match := _KEY_END.search(data, stop)) else len(data)
        end = max(end, stop)
    data = b"".join((*parts, data[end:]))
    return None if find_secret(path, data) is not None else data


def _secrets_in(text: bytes) -> Iterator[tuple[str, int, tuple[int, int]]]:
    """Yield what looks like a secret in a text: its kind, where it is noticed, and where it begins and ends."""
    patterns = [(kind, _TOKENS[kind][1]) for kind in _kinds_of_tokens(text)]
    patterns += [(kind, pattern) for kind, parts, pattern in _OTHER_PARTS if any(part in text for part in parts)]
    for kind, pattern in patterns:
        for match in pattern.finditer(text):
            secret = match[1] if match.lastindex else b""
            if _is_real(kind, secret) if secret else not _EMPTY_KEY.match(text, match.end()):
                yield kind, match.start(), match.span(1 if secret else 0)
    for match in _assigned(text):
        group = 1 if match[1] else 2
        if _is_real("a secret", match[group]):
            yield "a secret", match.start(), match.span(group)


def _kinds_of_tokens(text: bytes) -> list[str]:
    """Return the kinds of tokens that a text may have, which is much faster to know than where they are."""
    runs, found = text.translate(_TOKEN_CHARACTERS), set[int]()
    start = runs.find(_LONG_RUN)
    while start >= 0:
        end = runs.find(b" ", start)
        end = len(text) if end < 0 else end
        found.update(
            match.lastindex or 0 for match in _TOKEN_START.finditer(text, max(0, start - _MAX_BEFORE_RUN), end)
        )
        start = runs.find(_LONG_RUN, end)
    return [_KINDS_OF_STARTS[number - 1] for number in sorted(found)]


def _assigned(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield what is given to a name like that of a secret: the text is one of two groups."""
    lower = text.lower()
    for name in _ASSIGNED_NAMES:
        start = lower.find(name)
        while start >= 0:
            match = _ASSIGNED.match(text, start)
            if match and not _NOT_SECRET_NAME.search(text, max(0, start - 16), start):
                yield match
            start = lower.find(name, start + len(name))


def _is_real(kind: str, secret: bytes) -> bool:
    """Return whether what looks like a secret is no placeholder."""
    if _PLACEHOLDER.search(secret) or len(set(secret)) < _MIN_KINDS:
        return False
    if kind not in _FORMLESS:
        return True
    has_digit = any(48 <= byte <= 57 for byte in secret)
    is_name = secret.count(b"_") + secret.count(b".") + secret.count(b"/") > 2 or _NOT_SECRET.fullmatch(secret)
    return not _MADE_UP.search(secret) and (kind != "a secret" or (has_digit and not secret.isdigit() and not is_name))


def _texts(data: bytes) -> Iterator[bytes]:
    """Yield the content of a file, and once more without the zeros of UTF-16."""
    yield data
    if b"\0" in data[:4096]:
        yield data.replace(b"\0", b"")
