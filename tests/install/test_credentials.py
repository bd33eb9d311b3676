"""Credentials of registries come from the files and helpers of container tools, and are never shown."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError
from prowess.install.sources.oci._registry import Credentials, find_credentials
from support.files import write_file

if TYPE_CHECKING:
    from pathlib import Path

HOST = "registry.example.com"


def encoded(user: str, password: str = "secret") -> dict[str, str]:  # noqa: S107
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def write(path: Path, **content: Any) -> None:
    write_file(path, json.dumps(content))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}


def user(env: dict[str, str], registry: str = HOST, repository: str = "team/pdf") -> str | None:
    found = find_credentials(registry, repository, env)
    return None if found is None else found.user or found.identity_token


def helper(env: dict[str, str], name: str, script: str) -> None:
    from pathlib import Path

    program = Path(env["PATH"]) / f"docker-credential-{name}"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


def test_files_are_read_in_the_order_of_container_tools(env: dict[str, str], tmp_path: Path) -> None:
    assert user(env) is None
    write(tmp_path / ".docker/config.json", auths={HOST: encoded("docker")})
    assert user(env) == "docker"
    write(tmp_path / ".config/containers/auth.json", auths={HOST: encoded("config")})
    assert user(env) == "config"
    write(tmp_path / "run/containers/auth.json", auths={HOST: encoded("runtime")})
    assert user(env) == "runtime"
    write(tmp_path / "other/config.json", auths={HOST: encoded("moved")})
    write(tmp_path / "file.json", auths={"other": encoded("named")})
    assert user({**env, "REGISTRY_AUTH_FILE": str(tmp_path / "file.json")}) is None
    assert user({"HOME": "/nowhere", "DOCKER_CONFIG": str(tmp_path / "other")}) == "moved"


@pytest.mark.parametrize(
    ("key", "registry", "expected"),
    [
        (HOST, HOST, True),
        (f"https://{HOST}", HOST, True),
        (f"https://{HOST}/v1/", HOST, True),
        (f"{HOST}/team", HOST, True),
        (f"{HOST}/team/pdf", HOST, True),
        (f"{HOST}/tea", HOST, False),
        (f"{HOST}/team/pdf/x", HOST, False),
        (f"{HOST}:443", HOST, False),
        (f"{HOST}.evil.com", HOST, False),
        ("example.com", HOST, False),
        (HOST, f"{HOST}:5000", False),
        ("https://index.docker.io/v1/", "docker.io", True),
        ("https://index.docker.io/v1/", HOST, False),
    ],
)
def test_credentials_are_for_one_registry(
    key: str, registry: str, expected: bool, env: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path / ".docker/config.json", auths={key: encoded("me")})
    assert user(env, registry) == ("me" if expected else None)


def test_the_credentials_of_a_part_of_a_registry_come_first(env: dict[str, str], tmp_path: Path) -> None:
    auths = {HOST: encoded("all"), f"{HOST}/team": encoded("team")}
    write(tmp_path / ".docker/config.json", auths=auths)
    assert (user(env), user(env, repository="other/pdf")) == ("team", "all")


def test_a_helper_is_asked_for_its_registry(env: dict[str, str], tmp_path: Path) -> None:
    """It gets the registry as input, and no shell reads its name."""
    helper(env, "test", 'read host; printf \'{"Username":"<token>","Secret":"%s %s"}\' "$1" "$host"')
    write(tmp_path / ".docker/config.json", credHelpers={HOST: "test"}, auths={HOST: encoded("written")})
    assert user(env) == f"get {HOST}"
    write(tmp_path / ".docker/config.json", credsStore="test")
    assert (user(env), user(env, "docker.io")) == (f"get {HOST}", "get https://index.docker.io/v1/")


def test_a_helper_may_have_a_token_or_nothing(env: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / ".docker/config.json", credsStore="test")
    helper(env, "test", 'printf \'{"Username":"<token>","Secret":"abc"}\'')
    assert user(env) == "abc"
    helper(env, "test", "echo credentials not found; exit 1")
    assert user(env) is None


@pytest.mark.parametrize("name", ["missing", "../bin/test", "a;b", "$(id)", "", "-x", "a" * 100])
def test_a_helper_that_is_not_there_is_an_error(name: str, env: dict[str, str], tmp_path: Path) -> None:
    helper(env, "test", "exit 1")
    write(tmp_path / ".docker/config.json", credHelpers={HOST: name})
    with pytest.raises(ConfigError, match="which is not installed"):
        user(env)


def test_a_helper_in_a_folder_of_the_project_is_not_started(
    env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper(env, "test", 'printf \'{"Username":"me","Secret":"x"}\'')
    write(tmp_path / ".docker/config.json", credsStore="test")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="which is not installed"):
        user({**env, "PATH": "bin:"})


@pytest.mark.parametrize("answer", ["secret-word", "{}", "[]", '{"Username":1,"Secret":"secret-word"}', ""])
def test_an_invalid_answer_of_a_helper_is_not_shown(answer: str, env: dict[str, str], tmp_path: Path) -> None:
    helper(env, "test", f"printf '{answer}'")
    write(tmp_path / ".docker/config.json", credsStore="test")
    with pytest.raises(ConfigError, match="gave an invalid answer") as caught:
        user(env)
    assert "secret-word" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"auth": "?"},
        {"auth": 7},
        {"auth": "bm8="[:3]},
        encoded("a\r\nX: y"),
        encoded("me", "a\nb"),
        {"auth": ""},
        {"username": "me", "password": "\ud800"},
    ],
    ids=range(8),
)
def test_what_no_header_can_contain_is_no_credential(entry: Any, env: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / ".docker/config.json", auths={HOST: entry})
    assert user(env) is None


@pytest.mark.parametrize(
    "content", [[], "x", {"auths": []}, {"auths": {HOST: []}}, {"credHelpers": 1, "credsStore": 1}]
)
def test_files_of_other_shapes_have_no_credentials(content: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / ".docker/config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content), encoding="utf-8")
    if isinstance(content, dict):
        assert user(env) is None
    else:
        with pytest.raises(ConfigError, match="is not valid JSON"):
            user(env)


def test_credentials_are_not_shown() -> None:
    shown = f"{Credentials('me', 'secret', 'token')!r} {Credentials('me', 'secret', 'token')}"
    assert "secret" not in shown
    assert "token" not in shown
    assert "me" not in shown
