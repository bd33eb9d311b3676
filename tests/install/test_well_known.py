"""Skills are fetched from sites; an index and a server that do not behave are refused."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import InstallError, SkillNotFoundError
from prowess.install.sources import Fetched, site as module
from prowess.lock import read_tree
from prowess.net import _client as http_module
from support.archives import tar_gz
from support.site_server import Site, redirect, reply
from support.sources import fetch
from support.web_server import INDEX, OLD_INDEX, SCHEMA, entry, index_of, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.install import OpenStore


def skill(name: str, body: str = "Body.") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n".encode()


PDF = skill("pdf")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "_pause", lambda _: None)


def fetch_from(site: Site, opened: OpenStore, *only: str, path: str = "") -> Fetched:
    return fetch(f"{site.url}{path}", opened, only=only)


def files_of(folder: str) -> dict[str, bytes]:
    return {file.path: Path(folder, file.path).read_bytes() for file in read_tree(folder).files}


def test_single_files_and_archives_are_fetched(opened: OpenStore) -> None:
    archive = tar_gz({"SKILL.md": skill("web"), "scripts/run.sh": b"run"}, mode=0o755)
    index = index_of(entry("pdf", PDF), entry("web", archive, "web.tar.gz"), unknown=1)
    with site_of({INDEX: index, "pdf/SKILL.md": PDF, "web.tar.gz": archive}) as site:
        fetched = fetch_from(site, opened)
    assert [(found.name, files_of(found.folder)) for found in fetched.skills] == [
        ("pdf", {"SKILL.md": PDF}),
        ("web", {"SKILL.md": skill("web"), "scripts/run.sh": b"run"}),
    ]
    assert read_tree(fetched.skills[1].folder).files[1].mode == "100755"
    assert fetched.skills[0].extra == {"wellKnownDigest": f"sha256:{hashlib.sha256(PDF).hexdigest()}"}


def test_a_zip_archive_is_unpacked(opened: OpenStore) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SKILL.md", PDF)
        archive.writestr("notes.txt", b"notes")
    data = buffer.getvalue()
    with site_of({INDEX: index_of(entry("pdf", data, "pdf.zip")), "pdf.zip": data}) as site:
        assert files_of(fetch_from(site, opened).skills[0].folder) == {"SKILL.md": PDF, "notes.txt": b"notes"}


def test_only_wanted_skills_are_fetched(opened: OpenStore) -> None:
    index = index_of(entry("pdf", PDF), entry("web", b"missing"))
    with site_of({INDEX: index, "pdf/SKILL.md": PDF}) as site:
        assert [found.name for found in fetch_from(site, opened, "pdf").skills] == ["pdf"]
        with pytest.raises(SkillNotFoundError, match="has no skill `other`") as missing:
            fetch_from(site, opened, "other")
    assert missing.value.hint == "it has `pdf`, `web`"


def test_the_index_below_the_path_counts_and_no_other(opened: OpenStore) -> None:
    inner = index_of(entry("pdf", PDF, "/files/pdf.md"))
    pages = {f"/team{INDEX}": inner, "/files/pdf.md": PDF, INDEX: index_of(entry("all", PDF))}
    with site_of(pages) as site:
        assert [found.name for found in fetch_from(site, opened, path="/team").skills] == ["pdf"]
        with pytest.raises(InstallError, match="offers no skills"):
            fetch_from(site, opened, path="/other")


def test_the_url_of_a_skill_names_it(opened: OpenStore) -> None:
    index = index_of(entry("pdf", PDF), entry("web", b"missing"))
    with site_of({INDEX: index, "pdf/SKILL.md": PDF}) as site:
        for path in ("/.well-known/agent-skills/pdf/SKILL.md", "/.well-known/agent-skills/pdf"):
            assert [found.name for found in fetch_from(site, opened, path=path).skills] == ["pdf"]


def test_the_older_version_lists_files(opened: OpenStore) -> None:
    old = {"skills": [{"name": "pdf", "description": "d", "files": ["SKILL.md", "notes/a b.txt"]}]}
    pages = {OLD_INDEX: json.dumps(old).encode(), "/.well-known/skills/pdf/SKILL.md": PDF}
    with site_of({**pages, "/.well-known/skills/pdf/notes/a%20b.txt": b"notes"}) as site:
        [found] = fetch_from(site, opened).skills
    assert files_of(found.folder) == {"SKILL.md": PDF, "notes/a b.txt": b"notes"}
    # The files one after the other, each path and content ended by NUL, as the tool `skills` hashes them.
    expected = hashlib.sha256(b"SKILL.md\0" + PDF + b"\0notes/a b.txt\0notes\0").hexdigest()
    assert found.extra == {"wellKnownDigest": f"sha256:{expected}"}


def test_the_revision_changes_with_the_content_of_the_skills(opened: OpenStore) -> None:
    other = skill("web")
    index = index_of(entry("pdf", PDF), entry("web", other))
    with site_of({INDEX: index, "pdf/SKILL.md": PDF, "web/SKILL.md": other}) as site:
        both, one = fetch_from(site, opened).revision, fetch_from(site, opened, "pdf").revision
        site.pages = {**site.pages, INDEX: reply(index_of(entry("pdf", PDF)))}
        assert fetch_from(site, opened).revision == one != both


def test_a_type_of_a_later_version_is_left_out(opened: OpenStore) -> None:
    index = index_of(entry("pdf", PDF), entry("web", b"", type="model"))
    steps: list[str] = []
    with site_of({INDEX: index, "pdf/SKILL.md": PDF}) as site:
        fetched = fetch(site.url, opened, progress=steps.append)
        with pytest.raises(InstallError, match="has the skill `web` as the type `model`, which is not known"):
            fetch_from(site, opened, "web")
    assert [found.name for found in fetched.skills] == ["pdf"]
    assert "left out `web`: the type `model` is not known" in steps


def test_a_redirect_on_the_same_server_is_followed(opened: OpenStore) -> None:
    pages = {"/real/index.json": reply(index_of(entry("pdf", PDF))), "/real/pdf/SKILL.md": reply(PDF)}
    with Site({**pages, INDEX: redirect("/real/index.json")}) as site:
        assert [found.name for found in fetch_from(site, opened).skills] == ["pdf"]


def test_a_mirror_that_is_down_half_the_time_is_asked_again(opened: OpenStore) -> None:
    with site_of({INDEX: index_of(entry("pdf", PDF)), "pdf/SKILL.md": PDF}) as site:
        pages, count = dict(site.pages), [0]

        def answer(request: Any) -> Any:
            count[0] += 1
            return reply(status="503 Unavailable") if count[0] % 2 else pages[request.target]

        site.pages = dict.fromkeys(pages, answer)
        assert [found.name for found in fetch_from(site, opened).skills] == ["pdf"]
        site.pages = {"*": reply(status="503 Unavailable")}
        with pytest.raises(InstallError, match="answers with the HTTP status 503"):
            fetch_from(site, opened)


# ── sites that do not behave ─────────────────────────────────────────────────────────────────────────────────────────


def old_index(*files: object, name: str = "pdf") -> bytes:
    return json.dumps({"skills": [{"name": name, "description": "d", "files": files}]}).encode()


@pytest.mark.parametrize(
    ("index", "message"),
    [
        pytest.param(b"<html>", "is not JSON", id="html"),
        pytest.param(b"\xff{}", "it is not UTF-8", id="not UTF-8"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"skills":' + b"[{}," * 300_000, "is too large", id="many"),
        pytest.param(b'{"skills": [], "skills": []}', "the key `skills` comes twice", id="duplicate key"),
        pytest.param(b'{"skills": NaN}', "is not a number of JSON", id="NaN"),
        pytest.param(b"[]", "has no list `skills`", id="no object"),
        pytest.param(b'{"skills": {}}', "has no list `skills`", id="no list"),
        pytest.param(b'{"skills": [1]}', "has no list `skills`", id="no entry"),
        pytest.param(b'{"$schema": "https://x/9\x07", "skills": []}', "is not JSON", id="control character"),
        pytest.param(b'{"$schema": "x/9\\u0007", "skills": []}', "has the schema `x/9.x07`", id="schema"),
        pytest.param(b'{"$schema": null, "skills": []}', "lists no skills", id="empty"),
        pytest.param(index_of(entry("pdf", PDF), entry("pdf", PDF)), "`pdf` comes twice", id="twice"),
        pytest.param(index_of(entry("../pdf", PDF)), "has an invalid name", id="name"),
        pytest.param(index_of({**entry("pdf", PDF), "name": ["pdf"]}), "has an invalid name", id="name type"),
        pytest.param(index_of(entry("pdf", PDF, digest="md5:1")), "has no `digest`", id="digest"),
        pytest.param(index_of({**entry("pdf", PDF), "url": 7}), "has no `url`", id="url type"),
        pytest.param(index_of(entry("pdf", PDF, type=None)), "has no `type`", id="type"),
        pytest.param(index_of(entry("pdf", b"other")), "does not have the digest of the index", id="other digest"),
        pytest.param(index_of(entry("pdf", PDF, "https://evil.example/x")), "on another host, `evil", id="host"),
        pytest.param(index_of(entry("pdf", PDF, "//127.0.0.1:1/x")), "on another host", id="port"),
        pytest.param(index_of(entry("pdf", PDF, "file:///etc/passwd")), "has an invalid URL", id="file"),
        pytest.param(index_of(entry("pdf", PDF, "https://user:pw@x/")), "has an invalid URL", id="user"),
        pytest.param(index_of(entry("pdf", PDF, "../../secret")), "has a URL with `..`", id="above"),
        pytest.param(index_of(entry("pdf", PDF, "%2e%2e/secret")), "has a URL with `..`", id="encoded"),
        pytest.param(index_of(entry("pdf", PDF, "missing")), "answers with the HTTP status 404", id="missing"),
        pytest.param(index_of(entry("web", PDF, "pdf/SKILL.md")), "is called `pdf` there", id="other name"),
        pytest.param(old_index("SKILL.md", "../../etc/passwd"), "lists a file that is refused", id="file outside"),
        pytest.param(old_index("SKILL.md", "/etc/passwd"), "lists a file that is refused", id="absolute"),
        pytest.param(old_index("SKILL.md", "https://x/y"), "lists a file that is refused", id="a URL as file"),
        pytest.param(old_index("SKILL.md", "skill.md"), "one name on other systems", id="case"),
        pytest.param(old_index("SKILL.md", "SKILL.md"), "is there twice", id="file twice"),
        pytest.param(old_index("SKILL.md", 1), "lists no `SKILL.md`", id="file type"),
        pytest.param(old_index("notes.txt"), "lists no `SKILL.md`", id="no skill file"),
    ],
)
def test_an_index_that_breaks_a_rule_is_refused(index: bytes, message: str, opened: OpenStore) -> None:
    with (
        site_of({INDEX: index, "pdf/SKILL.md": PDF}) as site,
        pytest.raises(InstallError, match=message) as refused,
    ):
        fetch_from(site, opened)
    assert str(refused.value).isprintable()


def test_an_index_that_does_not_end_is_refused(opened: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(_: object) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"
        while True:
            yield b" " * 65536

    with Site({INDEX: endless}) as site, pytest.raises(InstallError, match="more than 8,388,608 bytes"):
        fetch_from(site, opened)
    monkeypatch.setattr(module, "_SECONDS", 0.2)

    def slow(_: object) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"
        while True:
            time.sleep(0.05)
            yield b" "

    with Site({INDEX: slow}) as site, pytest.raises(InstallError, match="did not answer in time"):
        fetch_from(site, opened)


def test_a_million_skills_are_refused(opened: OpenStore) -> None:
    many = b'{"$schema": "%s", "skills": [%s{}]}' % (SCHEMA.encode(), b"{}," * 20_000)
    with site_of({INDEX: many}) as site, pytest.raises(InstallError, match="lists more than 10,000 skills"):
        fetch_from(site, opened)


def test_an_artifact_that_is_too_large_is_refused(opened: OpenStore) -> None:
    large = PDF + bytes(1 << 20)
    with (
        site_of({INDEX: index_of(entry("pdf", large)), "pdf/SKILL.md": large}) as site,
        pytest.raises(InstallError, match="more than 1,048,576 bytes"),
    ):
        fetch_from(site, opened)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"../SKILL.md": PDF}, "not a path inside"),
        ({"SKILL.md": PDF, "/etc/passwd": b""}, "is an absolute path"),
        ({"other/SKILL.md": PDF}, "has no name in its SKILL.md"),
    ],
)
def test_an_archive_that_breaks_a_rule_is_refused(files: dict[str, bytes], message: str, opened: OpenStore) -> None:
    data = tar_gz(files)
    with (
        site_of({INDEX: index_of(entry("pdf", data, "pdf.tar.gz")), "pdf.tar.gz": data}) as site,
        pytest.raises(InstallError, match=message),
    ):
        fetch_from(site, opened)


def test_a_bomb_is_refused(opened: OpenStore, tmp_path: Path) -> None:
    data = tar_gz({"SKILL.md": PDF, "zeros": bytes(65 << 20)})
    assert len(data) < 100_000
    with (
        site_of({INDEX: index_of(entry("pdf", data, "pdf.tar.gz")), "pdf.tar.gz": data}) as site,
        pytest.raises(InstallError),
    ):
        fetch_from(site, opened)
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 66 << 20


def test_a_redirect_to_another_server_is_refused(opened: OpenStore) -> None:
    with Site({}) as other, Site({INDEX: redirect(f"{other.url}{INDEX}")}) as site:
        with pytest.raises(InstallError, match="redirects to another host"):
            fetch_from(site, opened)
        assert not other.requests


def test_a_page_in_place_of_an_index_is_no_index(opened: OpenStore) -> None:
    """Some sites answer every request with their page."""
    page = reply(b"<html>", kind="text/html; charset=utf-8")
    with Site({"*": page}) as site, pytest.raises(InstallError, match="offers no skills"):
        fetch_from(site, opened)
    with Site({"*": reply(status="403 Forbidden")}) as site, pytest.raises(InstallError, match="status 403"):
        fetch_from(site, opened)
