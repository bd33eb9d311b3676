"""Snapshots on web servers: one conditional request refreshes them, and what a server sends is checked."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess import Session, discover
from prowess._internal.installer import install_command
from prowess.cli import main
from prowess.errors import ConfigError, InstallError
from prowess.install.snapshot import SnapshotProvider, write_snapshot
from support.s3_server import FakeBucket, use_endpoint
from support.site_server import Request, Site, reply
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    skill(tmp_path / "skills/pdf", description="Fills a form.", body="Use the form.")
    skill(tmp_path / "skills/wiki", description="Writes a page.")
    write_snapshot(tmp_path / "skills", tmp_path / "out")
    return tmp_path / "out"


def serve_file(out: Path, request: Request) -> bytes:
    """Answer as a plain web server does."""
    path = out / request.target.removeprefix("/org/")
    if not path.is_file():
        return reply(status="404 Not Found")
    data = path.read_bytes()
    etag = f'"{hashlib.sha256(data).hexdigest()[:8]}"'
    if request.headers.get("if-none-match") == etag:
        return reply(status="304 Not Modified", etag=etag)
    return reply(data, etag=etag)


@pytest.fixture
def site(out: Path) -> Iterator[Site]:
    with Site({"*": partial(serve_file, out)}) as server:
        yield server


def url_of(site: Site) -> str:
    return f"http://127.0.0.1:{site.port}/org"


def asked(site: Site) -> list[str]:
    """Return the objects that were asked for since the last call."""
    names = [request.target.removeprefix("/org/")[:12] for request in site.requests]
    site.requests.clear()
    return names


def test_an_unchanged_snapshot_costs_one_conditional_request(site: Site, out: Path, tmp_path: Path) -> None:
    """And none if another process asked a moment ago; a skill is fetched when it is activated, once."""
    where = partial(SnapshotProvider, url_of(site) + "/", cache=tmp_path / "cache")
    assert len(where().list("/")) == 2
    assert asked(site) == ["snapshot.jso", "snapshot-" + json.loads((out / "snapshot.json").read_bytes())["sha256"][:3]]
    provider = where()
    assert (len(provider.list("/")), asked(site)) == (2, [])
    provider.refresh("/")
    assert len(provider.list("/")) == 2
    (request,) = site.requests
    assert (request.target, "if-none-match" in request.headers) == ("/org/snapshot.json", True)
    asked(site)
    session = Session(discover(tmp_path, home=tmp_path / "home", providers=[where()]))
    for _ in range(2):
        assert "Use the form." in session.activate("pdf").content or session.ledger
    assert [name[:7] for name in asked(site)] == ["skills/"]
    entry = session.catalog.resolve("pdf")
    assert entry.path == f"snapshot+{url_of(site)}/pdf/SKILL.md"


def test_a_server_that_fails_leaves_the_last_snapshot(site: Site, tmp_path: Path) -> None:
    provider = SnapshotProvider(url_of(site), cache=tmp_path / "cache", max_age=0)
    assert len(provider.list("/")) == 2
    for answer in (reply(status="500 Oops"), reply("{}"), reply(b"x" * 70_000)):
        site.pages = {"*": answer}
        assert len(provider.list("/")) == 2
        (finding,) = provider.findings
        assert "an earlier one is used" in finding.message


def test_processes_that_start_at_once_fetch_the_data_once(site: Site, out: Path, tmp_path: Path) -> None:
    """Also after one of them was killed in the middle of its download."""
    left = json.loads((out / "snapshot.json").read_bytes())["sha256"]
    for turn in range(2):
        cache = tmp_path / f"cache-{turn}"
        if turn:
            with pytest.raises(InstallError):
                SnapshotProvider(url_of(site).replace("/org", "/none"), cache=cache).table()
            (folder,) = (tmp_path / "cache-0/snapshots").iterdir()
            (cache / "snapshots" / folder.name).mkdir()
            (cache / "snapshots" / folder.name / f".snapshot-{left}.bin").write_bytes(b"a part")
        providers = [SnapshotProvider(url_of(site), cache=cache) for _ in range(6)]
        with ThreadPoolExecutor(6) as threads:
            assert [len(skills) for skills in threads.map(lambda one: one.list("/"), providers)] == [2] * 6
        assert asked(site).count(f"snapshot-{left[:3]}") == 1
        assert not list(cache.glob("snapshots/*/.*"))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(status="404 Not Found"), "the server answered with status 404"),
        (reply(status="304 Not Modified"), "the server answered with status 304"),
        (reply("<html>"), "is invalid"),
        (reply(b"x" * 70_000), "more than"),
    ],
)
def test_a_server_without_a_snapshot_is_an_error(site: Site, tmp_path: Path, answer: bytes, words: str) -> None:
    site.pages = {"*": answer}
    provider = SnapshotProvider(url_of(site), cache=tmp_path / "cache")
    with pytest.raises(InstallError, match=words):
        provider.table()
    assert (list(provider.list("/")), [item.code for item in provider.findings]) == ([], ["server-failed"])


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/org",
        "https://user:secret@example.com/org",
        "https://example.com/org?token=secret",
        "https://",
        "https://user:a?secret@example.com/org",
        "oci://user:secret@example.com/org",
        "ftp://example.com/org?token=secret",
        "file://user:secret@host/org",
        "file://[x/org",
        "s3://bucket/org?token=secret",
    ],
)
def test_urls_that_cannot_be_a_snapshot_are_refused(url: str) -> None:
    """What may be a password is not repeated."""
    with pytest.raises(ConfigError) as raised:
        SnapshotProvider(url)
    assert "secret" not in str(raised.value)


# ── buckets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_snapshot_in_a_bucket_is_used_as_one_on_a_web_server(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also inside an event loop of an application."""
    files = {f"org/{path.relative_to(out).as_posix()}": path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with FakeBucket(files) as bucket:
        use_endpoint(monkeypatch, f"http://127.0.0.1:{bucket.port}")
        provider = SnapshotProvider("s3://bucket/org", cache=tmp_path / "cache")

        async def listed() -> int:
            return len(provider.list("/"))

        assert asyncio.run(listed()) == 2
        names = [request.target.partition("?")[0].removeprefix("/bucket/org/")[:9] for request in bucket.requests]
        assert names == ["snapshot.", "snapshot-"]
        bucket.requests.clear()
        provider.refresh("/")
        assert asyncio.run(listed()) == 2
        assert [request.target.partition("?")[0] for request in bucket.requests] == ["/bucket/org/snapshot.json"]
        catalog = discover(tmp_path, home=tmp_path / "home", providers=[provider])
        assert "Use the form." in Session(catalog).activate("pdf").content
        assert catalog.resolve("pdf").path == "snapshot+s3://bucket/org/pdf/SKILL.md"
        bucket.objects["org/snapshot.json"] = b"x" * 70_000
        provider.refresh("/")
        assert len(provider.list("/")) == 2
        assert "has more than 65,536 bytes" in provider.findings[0].message
        bucket.objects.clear()
        assert SnapshotProvider("s3://bucket/org", cache=tmp_path / "other").list("/") == ()


@pytest.mark.parametrize("url", ["s3://", "s3://a b/c", "s3://bucket/x?y", "s3://user:secret@bucket/x", "gs://../x"])
def test_urls_that_cannot_be_a_bucket_are_refused(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SnapshotProvider(url)
    assert "secret" not in str(raised.value)


def test_without_the_extra_the_message_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    provider = SnapshotProvider("s3://bucket/org", cache=tmp_path / "cache")
    with pytest.raises(ConfigError) as raised:
        provider.table()
    assert raised.value.hint == install_command("bucket")
    assert provider.list("/") == ()
    assert provider.findings[0].hint == install_command("bucket")


def test_a_snapshot_is_written_to_a_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pointer last; and later only what is new, unless the bucket has lost something."""
    skill(tmp_path / "skills/pdf", description="Fills a form.")
    skill(tmp_path / "skills/wiki", description="Writes a page.")
    env = {"PROWESS_CACHE_DIR": str(tmp_path / "made")}

    def written(bucket: FakeBucket) -> list[str]:
        bucket.requests.clear()
        write_snapshot(tmp_path / "skills", "s3://bucket/org/", env=env)
        puts = [request.target.partition("?")[0] for request in bucket.requests if request.method == "PUT"]
        return [name.removeprefix("/bucket/org/").partition("/")[0][:9] for name in puts]

    with FakeBucket({}) as bucket:
        use_endpoint(monkeypatch, f"http://127.0.0.1:{bucket.port}")
        assert written(bucket) == ["skills", "skills", "snapshot-", "snapshot."]
        skill(tmp_path / "skills/csv", description="Reads a table.")
        assert written(bucket) == ["skills", "snapshot-", "snapshot."]
        provider = SnapshotProvider("s3://bucket/org", cache=tmp_path / "cache")
        assert [entry.name for entry in provider.list("/")] == ["csv", "pdf", "wiki"]
        bucket.objects.clear()
        assert len(written(bucket)) == 5
        assert main(["search", "page", "--from", "s3://bucket/org", "--json"]) == 0
        assert [hit["name"] for hit in json.loads(capsys.readouterr().out)["results"]] == ["wiki"]
    with pytest.raises(ConfigError):
        write_snapshot(tmp_path / "skills", "s3://bucket/org", env={"PROWESS_NO_CACHE": "1"})
