"""Decide whether an environment variable may be a secret, by its name and by its value.

Each is enough: a name that contains a word for secrets or begins like those of a service with accounts, and a value
that has the form of a key. A value under an unknown name must look like words, numbers, paths or versions: a key of an
unknown service is as random as any other.
"""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["is_secret_name", "is_secret_value"]

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


def _is_random(run: str) -> bool:
    """Return whether characters look random: letters and digits take turns, more often than in words and versions."""
    if not any(character.isdigit() for character in run):
        return False
    kinds = [0 if character.isdigit() else 1 if character.isupper() else 2 for character in run if character.isalnum()]
    return sum(one != other for one, other in pairwise(kinds)) >= _MIN_CHANGES
