"""Snapshots in registries: what is there is uploaded and fetched once, and what a registry sends is checked."""

from __future__ import annotations

import hashlib
import http.client
import json
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess import Session, discover
from prowess.cli import main
from prowess.errors import ActivationError, ConfigError, InstallError
from prowess.install.snapshot import SnapshotProvider, write_snapshot
from prowess.install.snapshot._registry import (
    parse_data,
    parse_index,
    parse_pack,
    write_data,
    write_index,
    write_packs,
)
from prowess.install.sources.oci._registry import Descriptor, Registry as Repository, StoredManifest
from support.programs import require
from support.raw_http import RawServer, Request, answer
from support.registry import Registry, log_in, private_registry, registry, start_registry
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["private_registry", "registry"]


class Proxy(RawServer):
    """Passes on what a registry answers; `changed` has other answers, by a part of the method and the path."""

    def __init__(self, host: str, repository: str) -> None:
        self.changed: dict[str, bytes] = {}
        self._registry, self._repository = host, repository
        super().__init__(self._respond)

    def _respond(self, request: Request) -> bytes:
        for part, sent in self.changed.items():
            if part in f"{request.method} {request.target}":
                return sent
        with closing(http.client.HTTPConnection(self._registry)) as connection:
            connection.request(request.method, request.target, request.body, request.headers)
            got = connection.getresponse()
            body = got.read()
        size = len(body) if request.method == "GET" else got.getheader("Content-Length", "0")
        kind, location, etag = map(got.getheader, ("Content-Type", "Location", "ETag"))
        return answer(body, got.status, content_type=kind, location=location, etag=etag, content_length=size)

    @property
    def place(self) -> str:
        """The host and the repository."""
        return f"127.0.0.1:{self.port}/{self._repository}/snap"

    def asked(self) -> list[str]:
        """Return the method and the path below the repository of each request since the last call."""
        found = [f"{request.method} {request.target.partition('/snap/')[2]}" for request in self.requests]
        self.requests.clear()
        return found


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two dozen skills; a pack has few of them, so that there are several."""
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("prowess.install.snapshot._registry._PACK_SIZE", 5)
    for number in range(24):
        skill(tmp_path / f"skills/pdf-{number}", description=f"Fills form {number}.", body=f"Use form {number}.")
    return tmp_path / "skills"


@pytest.fixture
def proxy(registry: Registry) -> Iterator[Proxy]:
    with Proxy(registry.host, registry.new_repository().partition("/")[2]) as server:
        yield server


def url_of(proxy: Proxy) -> str:
    return f"oci://{proxy.place}"


def write(skills: Path, proxy: Proxy, cache: str = "made") -> list[str]:
    """Write the snapshot, and return what was sent to the registry."""
    proxy.asked()
    write_snapshot(skills, url_of(proxy), env={"PROWESS_CACHE_DIR": str(skills.parent / cache)})
    return [request for request in proxy.asked() if not request.startswith(("GET", "HEAD"))]


@pytest.mark.slow
def test_a_snapshot_in_a_registry_is_used_as_one_on_a_web_server(
    skills: Path, proxy: Proxy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unchanged one costs one request; a skill is fetched alone, when it is activated, and once."""
    sent = write(skills, proxy)
    assert sent[-1] == "PUT manifests/snapshot"
    assert len([request for request in sent if request.startswith("POST blobs")]) == 24 + 2  # data, empty config
    assert len([request for request in sent if request.startswith("PUT manifests/snapshot-")]) == 8 + 1
    where = partial(SnapshotProvider, url_of(proxy), cache=tmp_path / "cache")
    assert len(where().list("/")) == 24
    assert [request.partition(":")[0] for request in proxy.asked()] == [
        "GET manifests/snapshot",
        "GET manifests/sha256",
        "GET blobs/sha256",
    ]
    provider = where()
    assert (len(provider.list("/")), proxy.asked()) == (24, [])
    provider.refresh("/")
    assert len(provider.list("/")) == 24
    (request,) = proxy.requests
    assert "if-none-match" in request.headers
    proxy.asked()
    session = Session(discover(tmp_path, home=tmp_path / "home", providers=[where()]))
    assert "Use form 7." in session.activate("pdf-7").content
    assert len([request for request in proxy.asked() if request.startswith("GET blobs")]) == 1
    session = Session(discover(tmp_path, home=tmp_path / "home", providers=[where()]))
    assert "Use form 7." in session.activate("pdf-7").content
    assert proxy.asked() == []
    assert session.catalog.resolve("pdf-7").path == f"snapshot+{url_of(proxy)}:snapshot/pdf-7/SKILL.md"
    assert main(["search", "form 11", "--from", url_of(proxy), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["name"] == "pdf-11"


@pytest.mark.slow
def test_only_what_changed_is_uploaded(skills: Path, proxy: Proxy, tmp_path: Path) -> None:
    """Also on a machine that did not write the one before; a reader of that one still gets its skills."""
    write(skills, proxy)
    reader = SnapshotProvider(url_of(proxy), cache=tmp_path / "cache", max_age=3600)
    catalog = discover(tmp_path, home=tmp_path / "home", providers=[reader])
    for machine in ("made", "other"):
        assert write(skills, proxy, machine) == ["PUT manifests/snapshot-data"]
    skill(skills / "pdf-3", description="Fills form 3.", body="Use the new form.")
    sent = write(skills, proxy, "third")
    assert len([request for request in sent if request.startswith("POST blobs")]) == 1 + 1  # the archive and the data
    assert len([request for request in sent if request.startswith("PUT manifests/snapshot-pack")]) == 1
    assert sent[-1] == "PUT manifests/snapshot"
    assert "Use form 3." in Session(catalog).activate("pdf-3").content
    newer = discover(
        tmp_path, home=tmp_path / "home", providers=[SnapshotProvider(url_of(proxy), cache=tmp_path / "2")]
    )
    assert "Use the new form." in Session(newer).activate("pdf-3").content


@pytest.mark.slow
def test_no_archive_is_collected_as_garbage(skills: Path, tmp_path: Path) -> None:
    require("docker-registry")
    env = {"PROWESS_CACHE_DIR": str(tmp_path / "made")}
    with start_registry() as own:
        repository = own.new_repository()
        write_snapshot(skills, f"oci://{repository}", env=env)
        skill(skills / "pdf-3", description="Fills form 3.", body="Use the new form.")
        write_snapshot(skills, f"oci://{repository}", env=env)
        own.collect_garbage()
        reader = SnapshotProvider(f"oci://{repository}", cache=tmp_path / "cache")
        catalog = discover(tmp_path, home=tmp_path / "home", providers=[reader])
        for number in (0, 3, 23):
            assert " form" in Session(catalog).activate(f"pdf-{number}").content


@pytest.mark.slow
def test_a_private_registry_gets_the_credentials_of_the_user(
    private_registry: Registry, skills: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"oci://{private_registry.new_repository()}"
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "missing.json"))
    with pytest.raises(InstallError, match="gives no access"):
        write_snapshot(skills, url, env={"PROWESS_CACHE_DIR": str(tmp_path / "made")})
    log_in(monkeypatch, tmp_path, private_registry)
    write_snapshot(skills, url, env={"PROWESS_CACHE_DIR": str(tmp_path / "made")})
    provider = SnapshotProvider(url, cache=tmp_path / "cache", max_age=0)
    catalog = discover(tmp_path, home=tmp_path / "home", providers=[provider])
    assert "Use form 3." in Session(catalog).activate("pdf-3").content
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "missing.json"))
    assert len(provider.list("/")) == 24
    assert "gives no access" in provider.findings[0].message


@pytest.mark.slow
def test_a_snapshot_named_by_its_digest_stays_as_it_is(skills: Path, proxy: Proxy, tmp_path: Path) -> None:
    """It cannot be written under a digest."""
    write(skills, proxy)
    with Repository(*proxy.place.split("/", 1), env={}) as repository:
        index = repository.manifest("snapshot")
    assert index is not None
    (skills / "pdf-3/SKILL.md").unlink()
    write(skills, proxy)
    url = f"{url_of(proxy)}@{index.digest}"
    assert len(SnapshotProvider(url, cache=tmp_path / "cache").list("/")) == 24
    assert len(SnapshotProvider(url_of(proxy), cache=tmp_path / "cache").list("/")) == 23
    with pytest.raises(ConfigError, match="under a tag"):
        write_snapshot(skills, url, env={"PROWESS_CACHE_DIR": str(tmp_path / "made")})


@pytest.mark.slow
def test_an_upload_that_fails_leaves_the_old_snapshot(skills: Path, proxy: Proxy, tmp_path: Path) -> None:
    """And the next one uploads what is left."""
    write(skills, proxy)
    skill(skills / "wiki", description="Writes a page.")
    proxy.changed = {"PUT /v2": answer(status=500)}
    with pytest.raises(InstallError):
        write(skills, proxy)
    proxy.changed = {}
    reader = SnapshotProvider(url_of(proxy), cache=tmp_path / "cache", max_age=0)
    assert len(reader.list("/")) == 24
    write(skills, proxy)
    assert len(reader.list("/")) == 25


def test_another_artifact_is_not_replaced_by_a_snapshot(skills: Path, proxy: Proxy, tmp_path: Path) -> None:
    """Whatever the tag leads to: a skill, or a manifest that is invalid."""
    for sent in (b'{"schemaVersion":2,"layers":[]}', b"[]", b"x", b"[" * 100_000):
        proxy.changed = {"GET": answer(sent)}
        with pytest.raises(InstallError, match="is something else than a snapshot"):
            write(skills, proxy)
        assert SnapshotProvider(url_of(proxy), cache=tmp_path / "cache").list("/") == ()


@pytest.mark.slow
def test_what_a_registry_changes_is_refused(skills: Path, proxy: Proxy, tmp_path: Path) -> None:
    """Other bytes for the data or an archive, another pack, a pack that is missing; the last good snapshot stays."""
    write(skills, proxy)
    proxy.changed = {"snap/blobs/": answer(b"other")}
    with pytest.raises(InstallError, match="sent other bytes"):
        SnapshotProvider(url_of(proxy), cache=tmp_path / "first").table()
    proxy.changed = {}
    provider = SnapshotProvider(url_of(proxy), cache=tmp_path / "cache")
    catalog = discover(tmp_path, home=tmp_path / "home", providers=[provider])
    other = b'{"schemaVersion":2,"layers":[]}'
    for part, sent, words in (
        ("snap/blobs/", answer(b"other"), "sent other bytes"),
        ("snap/manifests/sha256", answer(other), "in place of"),
        ("snap/manifests/sha256", answer(status=404), "has lost"),
        ("snap/manifests/snapshot", answer(status=404), "no such tag"),
        ("snap/manifests/snapshot", answer(b"[]"), "something else than a snapshot"),
    ):
        proxy.changed = {part: sent}
        with pytest.raises(ActivationError, match=words):
            Session(catalog).activate("pdf-5")
        provider.refresh("/")
        assert len(provider.list("/")) == 24
    assert "an earlier one is used" in provider.findings[0].message
    proxy.changed = {}
    assert "Use form 5." in Session(catalog).activate("pdf-5").content


@pytest.mark.slow
def test_an_archive_of_another_skill_is_refused(
    skills: Path, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exchanged(archives: dict[str, Descriptor]) -> list[StoredManifest]:
        return write_packs(dict(zip(archives, reversed(archives.values()), strict=True)))

    monkeypatch.setattr("prowess.install.snapshot._registry.write_packs", exchanged)
    write(skills, proxy)
    provider = SnapshotProvider(url_of(proxy), cache=tmp_path / "cache")
    catalog = discover(tmp_path, home=tmp_path / "home", providers=[provider])
    with pytest.raises(ActivationError, match="does not have the digest that the snapshot names"):
        Session(catalog).activate("pdf-5")


@pytest.mark.parametrize(
    "url",
    [
        "oci://",
        "oci://a b/c",
        "oci://reg.example/x?y",
        "oci://u:secret@reg.example/x/y",
        "oci://reg.example/x?t=secret",
    ],
)
def test_urls_that_cannot_be_a_registry_are_refused(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SnapshotProvider(url)
    assert "secret" not in str(raised.value)


BLOB = Descriptor(media_type="x/y", digest=f"sha256:{'0' * 64}", size=1)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("manifests", {}),
        ("manifests", 1),
        ("manifests", [1]),
        ("packs", []),
        ("packs", [{}]),
        ("packs", 3),
        ("packs", 1 << 14),
        ("digest", "sha256:../x"),
        ("size", -1),
        ("size", True),
        ("annotations", []),
    ],
)
def test_an_index_that_breaks_a_rule_is_refused(part: str, value: object) -> None:
    content = json.loads(write_index(write_data(BLOB), write_packs({})).data)
    data, pack = content["manifests"]
    if part == "manifests":
        content["manifests"] = value
    elif part == "packs":
        content["manifests"] = [data, *([pack] * value if isinstance(value, int) else value)]  # type: ignore[misc]
    else:
        pack[part] = value
    stored = StoredManifest(data=json.dumps(content).encode(), digest="", media_type="")
    with pytest.raises(InstallError, match="is invalid"):
        parse_index(stored, "oci://reg.example/x")
    for parse in (parse_data, parse_pack):
        with pytest.raises(InstallError, match="is invalid"):
            parse(stored, "oci://reg.example/x")


def test_each_archive_is_in_the_pack_that_its_digest_names() -> None:
    """However many there are; the same archives give the same bytes."""
    for count in (0, 1, 256, 257, 5000):
        trees = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]
        packs = write_packs(dict.fromkeys(trees, BLOB))
        assert packs == write_packs(dict.fromkeys(reversed(trees), BLOB))
        index = parse_index(write_index(write_data(BLOB), packs), "")
        by_digest = {pack.digest: parse_pack(pack, "") for pack in packs}
        assert all(tree in by_digest[index.pack_of(tree).digest] for tree in trees)
