"""Sources of a lock that reach what only this user reaches need the user's word once, however they are written."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import LockSources, parse_source

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.install import Source

NO_RECORD = {"PROWESS_CONFIG_DIR": "/dev/null/config"}
PRIVATE = {
    "loopback": "https://127.0.0.1/x.git",
    "loopback with a port": "https://localhost:8443/x.git",
    "loopback without TLS": "http://localhost:8000/x.git",
    "loopback, IPv6": "https://[::1]/x.git",
    "IPv4 in IPv6": "https://[::ffff:10.0.0.7]/x.git",
    "private": "https://10.0.0.7/team/x.git",
    "private, short": "https://127.1/x.git",
    "private, one number": "https://2130706433/x.git",
    "private, hexadecimal": "https://0x7f000001/x.git",
    "private, octal": "https://0177.0.0.1/x.git",
    "credentials of a cloud": "https://169.254.169.254/x.git",
    "link-local": "https://[fe80::1]/x.git",
    "a name without a domain": "https://intranet/x.git",
    "a local domain": "https://git.corp.internal/x.git",
    "a capital letter": "HTTPS://LocalHost/x.git",
    "a name that leads to a private address": "https://rebind.example.com/x.git",
    "a registry of this machine": "oci://localhost:5000/team/pdf",
    "a registry of the network": "oci://192.168.1.9/team/pdf",
    "a site of the network": "https://intranet.local",
    "ssh": "ssh://git@github.com/team/x.git",
    "ssh, short": "git@github.com:team/x.git",
    "ssh without a user": "github.com:team/x/y.git",
    "S3": "s3://bucket/skills",
    "Google": "gs://bucket/skills",
    "Azure": "az://bucket/skills",
    "a shared folder": "file:///srv/skills",
    "a repository of this machine": "git+file:///srv/skills",
    "a repository of this machine, encoded": "file:///srv/%73kills.git",
    "the root": "/",
    "the home": "/home/ada",
    "a folder beside the project": "PROJECT/../other",
    "a link out of the project": "PROJECT/link",
}
PUBLIC = {
    "GitHub": "team/skills",
    "HTTPS": "https://git.example.com/x.git",
    "an address": "https://93.184.216.34/x.git",
    "a registry": "oci://ghcr.io/team/pdf:1",
    "a registry with a port": "oci://registry.example.com:5000/team/pdf",
    "a site": "https://skills.example.com",
    "a folder of the project": "PROJECT/skills",
    "the project": "PROJECT",
    "a repository in the project": "git+file://PROJECT/x",
}


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer like the DNS, and like the C library, which reads numbers in any form."""
    numbers = ("127.1", "2130706433", "0x7f000001", "0177.0.0.1")
    known = {**dict.fromkeys(numbers, "127.0.0.1"), "rebind.example.com": "10.0.0.7"}
    monkeypatch.setattr("prowess.net.look_up_host", lambda host, _: (known.get(host, "93.184.216.34"),))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "skills").mkdir(parents=True)
    (project / "link").symlink_to(tmp_path)
    return project


def source(text: str, root: Path) -> Source:
    return parse_source(text.replace("PROJECT", str(root)))


def is_allowed(sources: LockSources, text: str, root: Path) -> bool:
    try:
        sources.check(source(text, root), ("pdf",), str(root))
    except InstallError:
        return False
    return True


@pytest.mark.parametrize("text", PRIVATE.values(), ids=PRIVATE)
def test_a_private_source_needs_the_user_s_word(text: str, root: Path, tmp_path: Path) -> None:
    """Once: as the message names it, or as the source is written."""
    env = {"PROWESS_CONFIG_DIR": str(tmp_path / "config")}
    assert not is_allowed(LockSources(env), text, root)
    with pytest.raises(InstallError, match="needs your word once") as refused:
        LockSources(env).check(source(text, root), ("pdf",), str(root))
    (named,) = shlex.split((refused.value.hint or "").partition("--allow-source ")[2].rstrip("`"))
    assert is_allowed(LockSources(NO_RECORD, allowed=[named]), text, root)
    assert is_allowed(LockSources(env, allowed=[source(text, root).text]), text, root)
    assert is_allowed(LockSources(env), text, root)


@pytest.mark.parametrize("text", PUBLIC.values(), ids=PUBLIC)
def test_a_public_source_and_the_project_need_no_word(text: str, root: Path) -> None:
    assert is_allowed(LockSources(NO_RECORD), text, root)


def test_an_answer_counts_for_all_of_a_server_and_for_no_other(root: Path, tmp_path: Path) -> None:
    env = {"PROWESS_CONFIG_DIR": str(tmp_path / "config")}
    asked: list[tuple[str, str, tuple[str, ...]]] = []

    def ask(key: str, reason: str, names: tuple[str, ...]) -> bool:
        asked.append((key, reason, names))
        return key == "ssh://git@github.com"

    sources = LockSources(env, ask)
    for text in ("git@github.com:team/x.git", "ssh://git@github.com/other/y.git", "git@evil.example.com:team/x.git"):
        is_allowed(sources, text, root)
        is_allowed(sources, text, root)
    assert asked == [
        ("ssh://git@github.com", "it is reached with your keys of ssh", ("pdf",)),
        ("ssh://git@evil.example.com", "it is reached with your keys of ssh", ("pdf",)),
    ]
    assert json.loads((tmp_path / "config/allowed-sources.json").read_text())["sources"] == ["ssh://git@github.com"]
    others = ("ssh://git@github.com:2222/x.git", "ssh://root@github.com/x.git", "ssh://git@github.com.evil.org/x.git")
    assert not any(is_allowed(LockSources(env), text, root) for text in others)


def test_a_folder_is_allowed_with_those_below_and_no_other(root: Path, tmp_path: Path) -> None:
    sources = LockSources(NO_RECORD, allowed=["/srv/team"])
    assert is_allowed(sources, "/srv/team/skills", root)
    assert not any(is_allowed(sources, text, root) for text in ("/srv", "/srv/team2", "/srv/team/../other"))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"sources": 1}', '{"sources": [1, null]}', "x" * 2_000_000])
def test_a_damaged_record_allows_nothing(content: str, root: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(mode=0o700)
    (tmp_path / "config/allowed-sources.json").write_text(content)
    assert not is_allowed(LockSources({"PROWESS_CONFIG_DIR": str(tmp_path / "config")}), "/", root)
