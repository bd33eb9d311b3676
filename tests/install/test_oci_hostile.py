"""Registries that lie, flood, redirect and ask for credentials: each is an error, and no secret goes elsewhere."""

from __future__ import annotations

import base64
import itertools
import json
import random
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import ConfigError, InstallError
from prowess.install import Store
from prowess.install.sources import digest_of
from prowess.install.sources.oci._registry import Registry, StoredManifest
from prowess.install.sources.oci._skills import parse_index, parse_manifest
from prowess.net import _client as _http
from support.archives import tar_gz
from support.files import write_file
from support.growth import ends
from support.raw_http import RawServer, Request, answer
from support.sources import fetch, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.agentskills.skill.content.v1.tar+gzip"
TITLE = "org.opencontainers.image.title"


ARCHIVE = tar_gz({"pdf/SKILL.md": b"---\nname: pdf\ndescription: Reads PDFs\n---\n"})
BLOB = {"mediaType": LAYER, "digest": digest_of(ARCHIVE), "size": len(ARCHIVE)}


def manifest(*layers: Any, **changes: Any) -> bytes:
    content = {"schemaVersion": 2, "mediaType": MANIFEST, "config": BLOB, "layers": list(layers or (BLOB,)), **changes}
    return json.dumps({key: value for key, value in content.items() if value is not None}).encode()


class FakeRegistry(RawServer):
    """Gives a manifest and a blob; `answers` replaces what it gives for a part of a path."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {"manifests": manifest(), "blobs": ARCHIVE, **answers}
        super().__init__(self._respond)

    def _respond(self, request: Request) -> Any:
        given = next(value for key, value in self.answers.items() if f"/{key}/" in request.target)
        given = given(request) if callable(given) else given
        kind = MANIFEST if "/manifests/" in request.target else "application/octet-stream"
        is_body = isinstance(given, bytes) and not given.startswith(b"HTTP/")
        return answer(given, content_type=kind) if is_body else given


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No pauses, and no credentials of the user who runs the tests."""
    monkeypatch.setattr(_http, "_pause", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def pull(server: RawServer, tmp_path: Path, reference: str = "/team/pdf:v1", **options: Any) -> list[str]:
    with Store(str(tmp_path / "store")).open() as opened:
        fetched = fetch(f"oci://127.0.0.1:{server.port}{reference}", opened, **options)
        return [skill.name for skill in fetched.skills]


def refused(tmp_path: Path, **answers: Any) -> str:
    """Return the error of fetching from a registry; nothing is left in the store."""
    with ends(), FakeRegistry(**answers) as server, pytest.raises(InstallError) as caught:
        pull(server, tmp_path)
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file() and path.name != "in-use"] == []
    return f"{caught.value}; {caught.value.hint}"


def test_the_registry_of_these_tests_works(tmp_path: Path) -> None:
    with FakeRegistry() as server:
        assert pull(server, tmp_path) == ["pdf"]


# ── manifests and blobs ──────────────────────────────────────────────────────────────────────────────────────────────


def endless(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        yield b" " * 65536


def endless_chunks(_: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"1000\r\n" + b"x" * 4096 + b"\r\n"


MANIFESTS: dict[str, tuple[Any, str]] = {
    "endless": (endless, "it sent more than 4,194,304 bytes"),
    "endless chunks": (endless_chunks, "it sent more than 4,194,304 bytes"),
    "a million layers": (b'{"schemaVersion":2,"layers":[' + b"{}," * 1_000_000 + b"{}]}", "more than 10,000 layers"),
    "large layers": (manifest({**BLOB, "size": 1 << 30}), "1,073,741,824 bytes, more than"),
    "the sum of layers": (manifest(*[{**BLOB, "size": 40 << 20}] * 2), "83,886,080 bytes, more than"),
    "too deep": (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "not one of version 2"),
    "text": (b"hello", "not one of version 2"),
    "a list": (b"[]", "not one of version 2"),
    "version 1": (b'{"schemaVersion":1}', "not one of version 2"),
    "nothing": (b'{"schemaVersion":2}', "neither one of layers nor an index"),
    "manifest and index": (manifest(manifests=[]), "neither one of layers nor an index"),
    "another type": (manifest(mediaType="text/html"), "a type that is not known"),
    "a number as type": (manifest(mediaType=7), "neither one of layers nor an index"),
    "layers of text": (manifest("x"), "an invalid list"),
    "layers as an object": (b'{"schemaVersion":2,"layers":{}}', "an invalid list"),
    "no digest": (manifest({"mediaType": LAYER, "size": 1}), "without a digest of SHA-256"),
    "a path as digest": (manifest({**BLOB, "digest": "sha256:../../../v2/x"}), "without a digest of SHA-256"),
    "SHA-512": (manifest({**BLOB, "digest": "sha512:" + "a" * 128}), "without a digest of SHA-256"),
    "negative size": (manifest({**BLOB, "size": -1}), "an invalid size"),
    "true as size": (manifest({**BLOB, "size": True}), "an invalid size"),
    "huge size": (manifest({**BLOB, "size": 1 << 70}), "an invalid size"),
    "smaller size": (manifest({**BLOB, "size": len(ARCHIVE) - 1}), "it sent more than"),
    "larger size": (manifest({**BLOB, "size": len(ARCHIVE) + 1}), "sent other bytes than those of sha256:"),
    "another digest": (manifest({**BLOB, "digest": digest_of(b"x")}), "sent other bytes than those of sha256:"),
    "a layer elsewhere": (manifest({**BLOB, "urls": ["https://10.0.0.7/x"]}), "on another server"),
    "no layers that are read": (manifest({**BLOB, "mediaType": "application/zstd"}), "no layer of its manifest"),
    "a title that leads out": (
        manifest({**BLOB, "mediaType": "text/plain", "annotations": {TITLE: "../../x"}}),
        "is not a path inside the skill",
    ),
    "an absolute title": (
        manifest({**BLOB, "mediaType": "text/plain", "annotations": {TITLE: "/etc/passwd"}}),
        "is not a path inside the skill",
    ),
    "two files of one name": (
        manifest(*[{**BLOB, "mediaType": "text/plain", "annotations": {TITLE: name}} for name in ("a", "A")]),
        "are one name on other systems",
    ),
    "one layer twice": (manifest(BLOB, BLOB), "is there twice"),
    "empty index": (json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}).encode(), "no manifests"),
    "index of an index": (
        json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**BLOB, "mediaType": INDEX}]}).encode(),
        "something else than manifests",
    ),
    "index of a lie": (
        json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [{**BLOB, "mediaType": MANIFEST}]}).encode(),
        f"in place of {BLOB['digest']}",
    ),
    "no such tag": (answer(b"{}", 404), "has no tag `v1`"),
    "an error of the server": (answer(b'{"errors":[{"message":"\x1b[2J secret"}]}', 500), "HTTP status 500"),
    "redirect in a circle": (
        lambda request: answer(status=302, Location=request.target),
        "it redirects again and again",
    ),
    "redirect elsewhere": (answer(status=302, Location="https://example.com/"), "to another host, `example.com`"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_breaks_a_rule_is_refused(name: str, tmp_path: Path) -> None:
    given, reason = MANIFESTS[name]
    message = refused(tmp_path, manifests=given)
    assert reason in message
    assert "\x1b" not in message


BLOBS: dict[str, tuple[Any, str]] = {
    "endless": (endless, f"it sent more than {len(ARCHIVE):,} bytes"),
    "endless chunks": (endless_chunks, f"it sent more than {len(ARCHIVE):,} bytes"),
    "other bytes": (ARCHIVE[::-1], "sent other bytes than those of"),
    "missing": (answer(b"", 404), "HTTP status 404"),
    "private address": (answer(status=307, Location="https://10.0.0.7/x"), "which is not allowed"),
    "credentials of a cloud": (answer(status=307, Location="https://169.254.169.254/x"), "a place of a cloud's"),
    "not encrypted": (answer(status=307, Location="http://example.com/x"), "without encryption"),
    "circle": (lambda request: answer(status=307, Location=request.target), "again and again"),
    "file": (answer(status=307, Location="file:///etc/passwd"), "to an invalid URL"),
}


@pytest.mark.parametrize("name", BLOBS)
def test_a_blob_that_is_not_what_the_manifest_says_is_refused(name: str, tmp_path: Path) -> None:
    given, reason = BLOBS[name]
    assert reason in refused(tmp_path, blobs=given)


def test_the_digest_in_a_header_is_ignored(tmp_path: Path) -> None:
    """The header may say what the user asked for, and the bytes be others."""
    wanted = digest_of(manifest(artifactType="x"))
    lie = answer(manifest(), content_type=MANIFEST, docker_content_digest=wanted)
    with FakeRegistry(manifests=lie) as server, pytest.raises(InstallError, match=f"in place of {wanted}"):
        pull(server, tmp_path, f"/team/pdf@{wanted}")
    with FakeRegistry(manifests=lie) as server, pytest.raises(InstallError, match=f"in place of {wanted}"):
        pull(server, tmp_path, revision=wanted)


@pytest.mark.parametrize(
    "revision", ["../../v2/x/manifests/y", "a/b", "a?b", "v1", "sha256:abc", "sha256:" + "A" * 64, "-x"]
)
def test_a_revision_that_is_no_digest_is_not_sent(revision: str, tmp_path: Path) -> None:
    """As an edited lock may have it."""
    with FakeRegistry() as server:
        with pytest.raises(InstallError, match="invalid tag or digest"):
            pull(server, tmp_path, revision=revision)
        assert server.requests == []


def test_a_registry_that_is_down_half_the_time_works(tmp_path: Path) -> None:
    numbers = itertools.count()
    with FakeRegistry(
        manifests=lambda _: manifest() if next(numbers) % 2 else answer(status=503),
        blobs=lambda _: ARCHIVE if next(numbers) % 2 else None,
    ) as server:
        assert pull(server, tmp_path) == ["pdf"]


# ── credentials ──────────────────────────────────────────────────────────────────────────────────────────────────────


def log_in(server: RawServer, tmp_path: Path, **entry: str) -> None:
    auth = base64.b64encode(b"me:pass-word").decode()
    auths = {f"127.0.0.1:{server.port}": entry or {"auth": auth}}
    write_file(tmp_path / ".docker/config.json", json.dumps({"auths": auths}))


def ask(challenge: str) -> bytes:
    return answer(status=401, WWW_Authenticate=challenge)


def with_token(token: str, given: Any) -> Callable[[Request], Any]:
    """Give something only with a token, and otherwise name the server of tokens at `/token/x`."""

    def respond(request: Request) -> Any:
        if request.headers.get("authorization") == f"Bearer {token}":
            return given
        realm = f"http://{request.headers['host']}/token/x"
        return ask(f'Bearer realm="{realm}",service="tests, all",scope="repository:secret/other:*"')

    return respond


def test_a_token_is_asked_for_this_repository_alone(tmp_path: Path) -> None:
    """Whatever scope the registry proposes."""
    answers = {
        "manifests": with_token("abc", manifest()),
        "blobs": with_token("abc", ARCHIVE),
        "token": b'{"token":"abc"}',
    }
    with FakeRegistry(**answers) as server:
        log_in(server, tmp_path)
        assert pull(server, tmp_path) == ["pdf"]
        (asked,) = [request for request in server.requests if "/token/" in request.target]
        assert asked.target == "/token/x?scope=repository%3Ateam%2Fpdf%3Apull&service=tests%2C+all"
        assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"me:pass-word").decode()
        others = [request.headers.get("authorization") for request in server.requests if request is not asked]
        assert set(others) == {None, "Bearer abc"}


def test_a_public_repository_needs_a_token_and_no_credentials(tmp_path: Path) -> None:
    answers = {"manifests": with_token("abc", manifest()), "token": b'{"access_token":"abc"}'}
    with FakeRegistry(**answers) as server:
        assert pull(server, tmp_path) == ["pdf"]
        assert "basic" not in str(server.requests).lower()


def test_an_identity_token_is_exchanged(tmp_path: Path) -> None:
    answers = {"manifests": with_token("abc", manifest()), "token": b'{"access_token":"abc"}'}
    with FakeRegistry(**answers) as server:
        log_in(server, tmp_path, identitytoken="identity-secret")
        assert pull(server, tmp_path) == ["pdf"]
        (asked,) = [request for request in server.requests if "/token/" in request.target]
        assert (asked.method, b"refresh_token=identity-secret" in asked.body) == ("POST", True)


CHALLENGES = {
    "private address": 'Bearer realm="https://10.0.0.7/token"',
    "credentials of a cloud": 'Bearer realm="https://169.254.169.254/token"',
    "other port of this machine": 'Bearer realm="http://localhost:1/token"',
    "another host": 'Bearer realm="https://tokens.example.com/token"',
    "another host that looks like the registry": 'Bearer realm="https://127.0.0.1.example.com/token"',
    "the server of another registry": 'Bearer realm="https://auth.docker.io/token"',
    "another name of this machine": 'Bearer realm="http://localhost/token"',
    "not encrypted": 'Bearer realm="http://example.com/token"',
    "file": 'Bearer realm="file:///etc/passwd"',
    "credentials in the realm": 'Bearer realm="https://a:b@example.com/"',
    "half a bracket": 'Bearer realm="http://[x"',
    "line break": 'Bearer realm="https://example.com/\\\r\\\nx"',
    "no realm": "Bearer",
    "unknown": "Negotiate abc",
    "empty": "",
    "huge": 'Bearer realm="https://example.com/' + "x" * 20_000 + '"',
    "quotes": 'Bearer realm="' + '\\"' * 3000,
    "commas": "," * 8000,
    "parameters": "Bearer " + ",".join(f"a{number}=b" for number in range(1000)),
}


@pytest.mark.parametrize("name", CHALLENGES)
def test_credentials_go_to_no_other_place_that_a_registry_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other server is even connected."""
    connect = socket.create_connection
    with FakeRegistry(manifests=ask(CHALLENGES[name])) as server:
        own = ("127.0.0.1", server.port)
        monkeypatch.setattr(
            socket, "create_connection", lambda to, **more: connect(to, **more) if to == own else pytest.fail(f"{to}")
        )
        log_in(server, tmp_path)
        with pytest.raises(InstallError) as caught:
            pull(server, tmp_path)
        assert [request.headers.get("authorization") for request in server.requests] == [None]
    assert "pass-word" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("is_known", [True, False])
def test_a_login_goes_to_a_server_of_another_port_only_if_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    """Also on this machine, where each port may be another user's; the user names it for one registry."""
    with RawServer(lambda _: answer(b'{"token":"abc"}')) as other:
        challenge = ask(f'Bearer realm="{other.url}/token"')

        def respond(request: Request) -> Any:
            return manifest() if request.headers.get("authorization") == "Bearer abc" else challenge

        with FakeRegistry(manifests=respond) as server:
            log_in(server, tmp_path)
            registry = f"127.0.0.1:{server.port if is_known else server.port + 1}"
            monkeypatch.setenv(
                "PROWESS_TOKEN_SERVERS", f"a.example.com=b.example.com {registry}=127.0.0.1:{other.port}"
            )
            if is_known:
                assert pull(server, tmp_path) == ["pdf"]
                assert [request.headers.get("authorization", "")[:5] for request in other.requests] == ["Basic"]
                return
            with pytest.raises(InstallError) as caught:
                pull(server, tmp_path)
        assert other.requests == []
    assert "which is not known as its server of tokens" in str(caught.value)
    hint = f"set PROWESS_TOKEN_SERVERS=127.0.0.1:{server.port}=127.0.0.1:{other.port}"
    assert caught.value.hint == f"if this is its server of tokens, {hint}"


def test_without_a_login_any_public_server_of_tokens_is_asked(tmp_path: Path) -> None:
    with RawServer(lambda _: answer(b'{"token":"abc"}')) as other:
        challenge = ask(f'Bearer realm="{other.url}/token"')
        answers = {"manifests": lambda request: manifest() if "authorization" in request.headers else challenge}
        with FakeRegistry(**answers) as server:
            assert pull(server, tmp_path) == ["pdf"]
        assert [request.headers.get("authorization") for request in other.requests] == [None]


def test_a_server_of_tokens_that_redirects_gets_no_further(tmp_path: Path) -> None:
    with RawServer(lambda _: answer(b'{"token":"abc"}')) as other:
        answers = {"manifests": with_token("abc", manifest()), "token": answer(status=302, Location=f"{other.url}/t")}
        with FakeRegistry(**answers) as server:
            log_in(server, tmp_path)
            with pytest.raises(InstallError, match="to another host"):
                pull(server, tmp_path)
        assert other.requests == []


@pytest.mark.parametrize(
    "given",
    [b"", b"hello", b"[]", b"{}", b'{"token":7}', b'{"token":"a\\r\\nX: y"}', b'{"token":"' + b"a" * 20_000 + b'"}'],
    ids=["empty", "text", "list", "nothing", "number", "line break", "long"],
)
def test_a_token_that_no_header_can_contain_is_an_error(given: bytes, tmp_path: Path) -> None:
    assert "server of tokens that does not work" in refused(
        tmp_path, manifests=with_token("abc", manifest()), token=given
    )


def test_a_registry_that_refuses_every_token_is_asked_twice(tmp_path: Path) -> None:
    with FakeRegistry(manifests=with_token("other", b""), token=b'{"token":"abc"}') as server:
        with pytest.raises(InstallError, match="gives no access"):
            pull(server, tmp_path)
        assert len(server.requests) == 3


def test_a_redirected_blob_takes_no_credentials_along(tmp_path: Path) -> None:
    """As registries do whose blobs are in a bucket."""
    with RawServer(lambda _: answer(ARCHIVE)) as bucket:
        blobs = answer(status=307, Location=f"{bucket.url}/signed?key=1")
        answers = {"manifests": with_token("abc", manifest()), "blobs": with_token("abc", blobs)}
        with FakeRegistry(**answers, token=b'{"token":"abc"}') as server:
            log_in(server, tmp_path)
            assert pull(server, tmp_path) == ["pdf"]
        assert [request.headers.get("authorization") for request in bucket.requests] == [None]
        assert bucket.requests[0].target == "/signed?key=1"


def test_an_upload_goes_to_no_other_host(tmp_path: Path) -> None:
    folder = tmp_path / "pdf"
    write_file(folder / "SKILL.md", "---\nname: pdf\ndescription: x\n---\n")
    with RawServer(lambda _: answer(status=201)) as other:

        def respond(request: Request) -> bytes:
            if request.method == "POST":
                return answer(status=202, Location=f"{other.url}/upload")
            return answer(status=404)

        with RawServer(respond) as server, pytest.raises(InstallError, match="another host"):
            publish(folder, f"oci://127.0.0.1:{server.port}/pdf", force=True)
        assert other.requests == []


@pytest.mark.parametrize("location", ["http://[x", "http://127.0.0.1:99999/", "", "\x7f", "x" * 9000])
def test_an_upload_to_an_invalid_url_is_an_error(location: str) -> None:
    with (
        RawServer(lambda _: answer(status=202, Location=location)) as server,
        Registry(f"127.0.0.1:{server.port}", "pdf", push=True, env={}) as registry,
        pytest.raises(InstallError),
    ):
        registry.write_blob(b"data", digest_of(b"data"))


def test_a_file_of_credentials_that_is_not_json_is_an_error_without_its_content(tmp_path: Path) -> None:
    with FakeRegistry(manifests=ask("Basic")) as server:
        write_file(tmp_path / ".docker/config.json", '{"auths": pass-word')
        with pytest.raises(ConfigError, match="is not valid JSON") as caught:
            pull(server, tmp_path)
    assert "pass-word" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("push", [False, True])
def test_a_token_may_do_no_more_than_is_done(push: bool, tmp_path: Path) -> None:
    with FakeRegistry(manifests=with_token("abc", b""), token=b'{"token":"abc"}') as server:
        with Registry(f"127.0.0.1:{server.port}", "team/pdf", push=push, env={"HOME": str(tmp_path)}) as registry:
            registry.manifest("v1")
        (asked,) = [request.target for request in server.requests if "/token/" in request.target]
    assert asked.partition("&")[0].endswith("%3Apull%2Cpush" if push else "%3Apull")


def test_every_manifest_is_parsed_or_refused() -> None:
    """Five hundred wrong ones, always the same."""
    numbers = random.Random(1)  # noqa: S311
    values: list[Any] = [None, True, -1, 1e400, "", "x", [], {}, [[]], [{}], {"a": {}}, BLOB, INDEX, MANIFEST, 2]
    keys = ["schemaVersion", "mediaType", "layers", "manifests", "config", "annotations", "artifactType", "platform"]
    for _ in range(500):
        content: Any = {"schemaVersion": 2, "mediaType": numbers.choice([MANIFEST, INDEX]), "layers": [dict(BLOB)]}
        for _ in range(numbers.randint(1, 4)):
            layers = content.get("layers")
            inner = layers[0] if isinstance(layers, list) and layers and isinstance(layers[0], dict) else content
            numbers.choice([content, inner])[numbers.choice([*keys, "digest", "size", "urls"])] = numbers.choice(values)
        stored = StoredManifest(data=json.dumps(content).encode(), digest="", media_type=numbers.choice([MANIFEST, ""]))
        with suppress(InstallError):
            parse_index(stored)
        with suppress(InstallError):
            parse_manifest(stored)
