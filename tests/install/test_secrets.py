"""What is published has no secrets: files are refused by their names and by what they contain."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import prepare_skill
from support.files import write_file
from support.growth import assert_linear
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    *(".env", ".Env", ".env.local", ".env.production", ".env~", ".env.bak", ".env copy", "prod.env", "a/b/.env"),
    *("id_rsa", "ID_ED25519", "id_ecdsa_sk", "server.key", "cert.p12", "vault.kdbx", "x.jks", "AuthKey.p8", "my.ovpn"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd", ".envrc", ".bash_history"),
    *("credentials", "credentials.json", "secrets.yaml", ".secrets.toml", "client_secret_123.json", "kubeconfig"),
    *(".ssh/config", ".aws/config", ".docker/config.json", "terraform.tfstate", "prod.tfvars", "auth.json"),
]
HARMLESS_NAMES = [
    *(".env.example", ".env.sample", "env.md", "id_rsa.pub", "environment.yml", "keys.md", "credentials.example.json"),
    *("secrets.md", "monkey", "tokens.csv", ".envoy.yaml", "secret_santa.py", "keyboard.json"),
]


def made(pattern: str) -> str:
    """Return a secret that no tool has seen: each `?` becomes a letter or digit, always the same."""
    chooser = random.Random(pattern)  # noqa: S311 - no secret
    return "".join(chooser.choice(string.ascii_letters[:20] + "56789") if char == "?" else char for char in pattern)


SECRETS = [
    "-----BEGIN PRIVATE KEY-----\nMIIE",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "PuTTY-User-Key-File-3: ssh-ed25519",
    "AKIA" + made("?" * 16).upper(),
    *(made(f"{start}{'?' * 36}") for start in ("ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "npm_", "hf_", "gsk_")),
    *(made(f"{start}{'?' * 40}") for start in ("sk-", "sk-proj-", "sk-ant-api03-", "sk_live_", "whsec_", "dckr_pat_")),
    *(made(f"{start}{'?' * 24}") for start in ("xoxb-", "xoxp-", "xapp-", "ya29.", "GOCSPX-")),
    made("AIza" + "?" * 35),
    made("hooks.slack.com/services/T????????/B????????/" + "?" * 24),
    made(f"AccountKey={'?' * 86}=="),
    made(f"eyJ{'?' * 20}.eyJ{'?' * 30}.{'?' * 40}"),
    made("postgres://app:?????????@db.example.org/x"),
    made("https://ada:????????????@git.example.org/x.git"),
    made('"api_key": "????????9??????????????"'),
    made("export DB_PASSWORD='???????????8????????'"),
    made("client_secret=?????????????7??????????????"),
    made('api_key = "????9???????"'),
    'password = "hunter2hunter2"',
    made("db_pwd: ????8???"),
]
HARMLESS = [
    "AKIAIOSFODNN7EXAMPLE",
    "sk-your-key-goes-here-please-put-it-in",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "https://user:password@example.org and postgres://postgres:postgres@localhost",
    "api_key = os.environ['SERVICE_API_KEY_FOR_PRODUCTION']",
    "token=${GITHUB_TOKEN} password: <your password> secret = get_secret_of_user_2(name)",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "cache:\n  key: job1-cache and Key={'PK': 'student_123'}",
    "the key: value pairs, max_tokens=100000000000000000",
]


def problem(folder: Path, path: str, content: bytes) -> str:
    """Return what is wrong with a skill that has this file too, or nothing."""
    skill(folder)
    write_file(folder / path, content)
    try:
        prepare_skill(str(folder))
    except InstallError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", NAMES)
def test_a_file_with_a_name_of_secrets_is_refused(path: str, tmp_path: Path) -> None:
    assert f"\n  {path}: its name is that of a file with secrets" in problem(tmp_path / "pdf", path, b"")


@pytest.mark.parametrize("path", HARMLESS_NAMES)
def test_other_names_are_published(path: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "pdf", path, b"") == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_file_that_contains_a_secret_is_refused(secret: str, encoding: str, tmp_path: Path) -> None:
    """Wherever it is in the file, and whatever the file is called."""
    text = "one\n" * 2000 + f"see ({secret})\n"
    found = problem(tmp_path / "pdf", "references/usage.md", text.encode(encoding))
    assert "\n  references/usage.md: line 2,001 has what looks like a" in found


@pytest.mark.parametrize("text", HARMLESS)
def test_examples_are_published(text: str, tmp_path: Path) -> None:
    assert problem(tmp_path / "pdf", "references/usage.md", f"one\n{text}\n".encode()) == ""


@pytest.mark.parametrize("text", ["password=://a:eyJ-_.sk-ghp_", "-eyJ-SG.", "://a:", "key = '"])
def test_a_large_file_is_searched_in_linear_time(text: str, tmp_path: Path) -> None:
    def build(text: str) -> str:
        skill(tmp_path / "pdf")
        write_file(tmp_path / "pdf/a.md", text)
        return str(tmp_path / "pdf")

    assert_linear(prepare_skill, text * 40_000, setup=build)
