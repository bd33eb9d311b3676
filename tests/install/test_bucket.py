"""Fetch skills from buckets and shared folders, and publish them there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess.errors import ConfigError, InstallError, SkillNotFoundError
from prowess.install import OpenStore, PackedSkill, Store, prepare_skill
from prowess.install.archive import pack_skill
from prowess.install.lock import read_tree
from prowess.install.sources.bucket import _buckets as objects_module
from prowess.install.sources.bucket._buckets import run_calls
from support.growth import ends
from support.s3_server import SECRET, FakeBucket, rclone_server, use_endpoint
from support.site_server import Request, Site, redirect
from support.sources import fetch, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prowess.install.sources import Fetched

    Fetch = Callable[[str], Fetched]


def skill(name: str, body: str = "Body.") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n".encode()


@pytest.fixture(autouse=True)
def few_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.install.sources.bucket._buckets._RETRIES", 0)
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)


def fetch_from(
    bucket: FakeBucket | Site, monkeypatch: pytest.MonkeyPatch, opened: OpenStore, *only: str, url: str = "s3://bucket"
) -> Fetched:
    use_endpoint(monkeypatch, bucket.url)
    return fetch(url, opened, only=only)


def paths_in(folder: str) -> list[str]:
    return [file.path for file in read_tree(folder).files]


# ── what is a skill ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_with_a_skill_file_is_a_skill(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    contents = {
        "README.md": b"not a skill",
        "team/pdf/SKILL.md": skill("pdf"),
        "team/pdf/scripts/run.sh": b"run",
        "team/pdf/inner/SKILL.md": skill("inner"),
        "team/pdf-more/notes.txt": b"beside it",
        "web/SKILL.md": skill("web"),
    }
    with FakeBucket(contents) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened)
    assert [(found.name, found.path, paths_in(found.folder)) for found in fetched.skills] == [
        ("pdf", "team/pdf", ["SKILL.md", "inner/SKILL.md", "scripts/run.sh"]),
        ("web", "web", ["SKILL.md"]),
    ]
    assert Path(fetched.skills[1].folder, "SKILL.md").read_bytes() == skill("web")


def test_a_bucket_can_be_one_skill(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"skills/pdf/SKILL.md": skill("pdf"), "skills/pdf/a/b": b"1", "other": b""}) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened, url="s3://bucket/skills/pdf")
    [found] = fetched.skills
    assert (found.name, found.path, paths_in(found.folder)) == ("pdf", "", ["SKILL.md", "a/b"])


def test_only_wanted_skills_are_read(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"pdf/SKILL.md": skill("pdf"), "web/SKILL.md": skill("web")}) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened, "web")
        assert [request.target for request in bucket.requests[1:]] == ["/bucket/web/SKILL.md"]
    assert [found.name for found in fetched.skills] == ["web"]


def test_a_skill_is_found_by_the_name_in_its_file(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"PDF tools/SKILL.md": skill("pdf"), "web/SKILL.md": skill("web")}) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened, "pdf")
    assert [found.path for found in fetched.skills] == ["PDF tools"]


def test_the_markers_of_folders_are_not_files(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    contents = {
        "team/": b"",
        "team/pdf/": b"",
        "team/pdf/SKILL.md": skill("pdf"),
        "team/pdf/a/": b"",
        "team/pdf/a/b": b"",
    }
    with FakeBucket(contents) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened, url="s3://bucket/team")
    assert paths_in(fetched.skills[0].folder) == ["SKILL.md", "a/b"]


def test_a_skill_without_a_name_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"bad/SKILL.md": b"no front matter", "web/SKILL.md": skill("web")}) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened)
    assert [found.name for found in fetched.skills] == ["web"]
    assert [(item.code, item.path) for item in fetched.findings] == [
        ("frontmatter-missing", "s3://bucket/bad/SKILL.md")
    ]


def test_the_revision_changes_with_the_content(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"pdf/SKILL.md": skill("pdf"), "web/SKILL.md": skill("web")}) as bucket:
        both = [fetch_from(bucket, monkeypatch, opened).revision for _ in range(2)]
        one = fetch_from(bucket, monkeypatch, opened, "pdf").revision
        bucket.objects["web/SKILL.md"] = skill("web", "Other.")
        assert fetch_from(bucket, monkeypatch, opened, "pdf").revision == one
        assert len({*both, one, fetch_from(bucket, monkeypatch, opened).revision}) == 3


@pytest.mark.slow
def test_the_server_of_rclone_gives_what_was_uploaded(
    monkeypatch: pytest.MonkeyPatch, opened: OpenStore, tmp_path: Path
) -> None:
    folder = tmp_path / "buckets/bucket/team/pdf"
    (folder / "déjà vu").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill("pdf"))
    (folder / "déjà vu/100%25 #1?.txt").write_bytes(bytes(range(256)))
    with rclone_server(tmp_path) as url:
        use_endpoint(monkeypatch, url)
        fetched = fetch("s3://bucket/team", opened)
        assert read_tree(fetched.skills[0].folder) == read_tree(str(folder))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
        with pytest.raises(InstallError, match="s3://bucket/team denies access") as denied:
            fetch("s3://bucket/team", opened)
    assert "secret" not in f"{denied.value} {denied.value.hint} {denied.value.__cause__}"


@pytest.mark.needs("openssl")
@pytest.mark.slow
def test_certificates_are_checked_with_those_of_a_variable(
    monkeypatch: pytest.MonkeyPatch, opened: OpenStore, tmp_path: Path
) -> None:
    authority, server = (tmp_path / "authority", tmp_path / "server")
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days=2"]
    names = ["-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]
    for path, more in (
        (authority, ["-subj", "/CN=authority"]),
        (server, [*names, "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"]),
    ):
        files = ["-keyout", f"{path}.key", "-out", f"{path}.crt"]
        subprocess.run([*request, *files, *more], check=True, capture_output=True)
    (tmp_path / "buckets/bucket/pdf").mkdir(parents=True)
    (tmp_path / "buckets/bucket/pdf/SKILL.md").write_bytes(skill("pdf"))
    with rclone_server(tmp_path, "--cert", f"{server}.crt", "--key", f"{server}.key") as url:
        assert url.startswith("https://")
        use_endpoint(monkeypatch, url)
        with pytest.raises(InstallError, match="has a certificate that is not trusted"):
            fetch("s3://bucket", opened)
        monkeypatch.setenv("AWS_CA_BUNDLE", f"{authority}.crt")
        assert [found.name for found in fetch("s3://bucket", opened).skills] == ["pdf"]


def test_a_bucket_of_google_is_read(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"pdf/SKILL.md": skill("pdf")}) as bucket:
        monkeypatch.setenv("GOOGLE_BASE_URL", bucket.url)
        assert [found.name for found in fetch("gs://bucket", opened).skills] == ["pdf"]


def test_a_bucket_of_azure_is_read(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"pdf/SKILL.md": skill("pdf")}) as bucket:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", bucket.url)
        assert [found.name for found in fetch("az://bucket", opened).skills] == ["pdf"]


def archive_of(folder: Path, name: str, body: str = "Body.") -> bytes:
    (folder / name / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_bytes(skill(name, body))
    (folder / name / "scripts/run.sh").write_text("run")
    (folder / name / "scripts/run.sh").chmod(0o755)
    return pack_skill(str(folder / name), "")[0]


# ── archives ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_archives_are_skills_with_modes(monkeypatch: pytest.MonkeyPatch, opened: OpenStore, tmp_path: Path) -> None:
    """Only directly below the path; deeper ones, and those in a skill, are files."""
    data = archive_of(tmp_path, "pdf")
    in_folder = pack_skill(str(tmp_path / "pdf"), "pdf")[0]
    contents = {"pdf.tar.gz": data, "web/SKILL.md": skill("web"), "web/data.tar.gz": b"data", "old/pdf.tar.gz": b""}
    with FakeBucket({**contents, "notes-1.0.tar.gz": b""}) as bucket:
        fetched = fetch_from(bucket, monkeypatch, opened)
        bucket.objects = {"pdf.tar.gz": in_folder}
        again = fetch_from(bucket, monkeypatch, opened, "pdf")
    assert [(found.name, found.path) for found in fetched.skills] == [("pdf", "pdf.tar.gz"), ("web", "web")]
    for found in (fetched.skills[0], again.skills[0]):
        assert read_tree(found.folder) == read_tree(str(tmp_path / "pdf"))


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"no archive", "pdf.tar.gz`: invalid archive"), (None, "contains the skill `web`"), (b"", "invalid archive")],
)
def test_an_archive_that_is_not_what_it_should_be_is_refused(
    data: bytes | None, message: str, monkeypatch: pytest.MonkeyPatch, opened: OpenStore, tmp_path: Path
) -> None:
    data = archive_of(tmp_path, "web") if data is None else data
    with FakeBucket({"pdf.tar.gz": data}) as bucket, pytest.raises(InstallError, match=message):
        fetch_from(bucket, monkeypatch, opened)


# ── a folder as a bucket ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_read_like_a_bucket_with_modes(opened: OpenStore, tmp_path: Path) -> None:
    folder = tmp_path / "shared folder"
    (folder / "pdf/scripts").mkdir(parents=True)
    (folder / "pdf/SKILL.md").write_bytes(skill("pdf"))
    (folder / "pdf/scripts/run.sh").write_text("run")
    (folder / "pdf/scripts/run.sh").chmod(0o755)
    fetched = fetch(f"file://{tmp_path}/shared%20folder", opened)
    assert read_tree(fetched.skills[0].folder) == read_tree(str(folder / "pdf"))
    assert fetched.revision is None


def test_links_in_a_folder_are_not_followed(opened: OpenStore, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    (folder / "pdf").mkdir(parents=True)
    (folder / "pdf/SKILL.md").write_bytes(skill("pdf"))
    (folder / "linked").symlink_to("/etc")
    (folder / "pdf/passwd").symlink_to("/etc/passwd")
    with pytest.raises(InstallError, match="pdf/passwd` cannot be read: it is a link"):
        fetch(f"file://{folder}", opened)


# ── buckets that do not behave ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("pdf/../../escape", "key is not a path"),
        ("pdf//empty", "key is not a path"),
        ("pdf/a\x01b", "cannot be used|key is not a path"),
        ("pdf/a\nb", "key is not a path"),
        ("pdf/back\\slash", "backslash"),
        ("pdf/\x9b31m", "control character"),
        ("pdf/.git/hooks/pre-commit", "another system reads"),
        ("pdf/skill.MD", "one name on other systems"),
        ("pdf/ＳKILL.md", "one name on other systems"),
        ("pdf/SKILL.md/more", "is a file and a folder"),
        ("pdf/" + "d/" * 70 + "deep", "is too long"),
        ("pdf/" + "n" * 300, "is too long"),
    ],
)
def test_a_key_that_is_no_path_inside_the_skill_is_refused(
    key: str, message: str, monkeypatch: pytest.MonkeyPatch, opened: OpenStore, tmp_path: Path
) -> None:
    with (
        FakeBucket({"pdf/SKILL.md": skill("pdf"), key: b"hostile"}) as bucket,
        pytest.raises(InstallError, match=message) as refused,
    ):
        fetch_from(bucket, monkeypatch, opened)
    assert str(refused.value).isprintable()
    assert not [*tmp_path.rglob("escape*")]


def test_keys_outside_the_path_are_refused(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with (
        FakeBucket({"other/SKILL.md": skill("pdf")}, listed=["other/SKILL.md"]) as bucket,
        pytest.raises(InstallError, match=r"lists `other/SKILL\.md`, which is outside"),
    ):
        fetch_from(bucket, monkeypatch, opened, url="s3://bucket/team")


def test_a_key_that_is_listed_twice_is_refused(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with (
        FakeBucket({"pdf/SKILL.md": skill("pdf")}, listed=["pdf/SKILL.md"] * 2) as bucket,
        pytest.raises(InstallError, match="is there twice"),
    ):
        fetch_from(bucket, monkeypatch, opened)


def test_a_redirect_to_another_host_is_not_followed(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-the-test")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("AWS_PROXY_EXCLUDES", "localhost")
    with FakeBucket({"pdf/SKILL.md": skill("pdf")}) as other:
        to = other.url.replace("127.0.0.1", "localhost")
        with (
            Site({"*": lambda request: redirect(f"{to}{request.target}", "307 Temporary Redirect")}) as site,
            pytest.raises(InstallError, match="cannot be reached, or redirects to another host"),
        ):
            fetch_from(site, monkeypatch, opened)
        assert not other.requests


def test_an_object_that_changes_between_list_and_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, opened: OpenStore
) -> None:
    class Changing(FakeBucket):
        def page(self, prefix: str) -> bytes:
            answer = super().page(prefix)
            self.objects["pdf/SKILL.md"] = skill("pdf", "BODY.")
            return answer

    with Changing({"pdf/SKILL.md": skill("pdf")}) as bucket, pytest.raises(InstallError, match="changed while"):
        fetch_from(bucket, monkeypatch, opened)


def test_an_object_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    class Endless(FakeBucket):
        def answer(self, request: Request) -> bytes:
            data = super().answer(request)
            return data.replace(b"content-length: 47", b"content-length: 1000000000000") + bytes(1 << 20)

    assert len(skill("pdf")) == 47
    with Endless({"pdf/SKILL.md": skill("pdf")}) as bucket, pytest.raises(InstallError, match="changed while"):
        fetch_from(bucket, monkeypatch, opened)


def test_a_list_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    monkeypatch.setattr(objects_module, "_SECONDS", 0.2)
    with (
        FakeBucket({}, endless=True) as bucket,
        pytest.raises(InstallError, match="s3://bucket did not answer in"),
    ):
        fetch_from(bucket, monkeypatch, opened)
    monkeypatch.setattr(objects_module, "_SECONDS", 60.0)
    monkeypatch.setattr(objects_module, "MAX_OBJECTS", 100)
    with (
        FakeBucket({}, listed=["a", "b", "c"], endless=True) as bucket,
        pytest.raises(InstallError, match="more than 100 objects"),
    ):
        fetch_from(bucket, monkeypatch, opened)


def test_a_skill_that_is_too_large_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, opened: OpenStore
) -> None:
    monkeypatch.setattr("prowess.install.sources.bucket._skills.MAX_DIGEST_BYTES", 1000)
    with (
        FakeBucket({"pdf/SKILL.md": skill("pdf"), "pdf/a": bytes(600), "pdf/b": bytes(600)}) as bucket,
        pytest.raises(InstallError, match="the skill `pdf` has more bytes than is allowed"),
    ):
        fetch_from(bucket, monkeypatch, opened)
    assert len(bucket.requests) == 1


def test_two_skills_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with (
        FakeBucket({"a/SKILL.md": skill("pdf"), "b/SKILL.md": skill("pdf")}) as bucket,
        pytest.raises(InstallError, match="two skills in s3://bucket have the name `pdf`: `a` and `b`"),
    ):
        fetch_from(bucket, monkeypatch, opened)


def test_a_wanted_skill_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with (
        FakeBucket({"pdf/SKILL.md": skill("pdf")}) as bucket,
        pytest.raises(SkillNotFoundError, match="no skill `web` in s3://bucket"),
    ):
        fetch_from(bucket, monkeypatch, opened, "web")
    with FakeBucket({"a": b""}) as bucket, pytest.raises(InstallError, match="no skills in s3://bucket"):
        fetch_from(bucket, monkeypatch, opened)


def test_a_store_that_fails_half_the_time_is_asked_again(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    monkeypatch.setattr("prowess.install.sources.bucket._buckets._RETRIES", 8)
    with FakeBucket({"pdf/SKILL.md": skill("pdf")}) as bucket:
        bucket.failures = 1
        assert [found.name for found in fetch_from(bucket, monkeypatch, opened).skills] == ["pdf"]


def test_requests_without_credentials_are_not_signed(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    with FakeBucket({"pdf/SKILL.md": skill("pdf")}) as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.url)
        fetch("s3://bucket", opened)
        assert not [request for request in bucket.requests if "authorization" in request.headers]


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("AWS_ENDPOINT_URL", "http://example.com", "on `example.com` is not encrypted"),
        ("AWS_ENDPOINT_URL", "ftp://example.com", "the endpoint of the bucket is invalid"),
        ("AWS_ENDPOINT_URL", f"https://user:{SECRET}@example.com", "the endpoint of the bucket is invalid"),
        ("AWS_ENDPOINT_URL", "https://a.example,evil.example", "the endpoint of the bucket is invalid"),
        ("AWS_CA_BUNDLE", "/missing", "the certificates of `AWS_CA_BUNDLE` cannot be read"),
        ("AWS_SERVER_SIDE_ENCRYPTION", SECRET, "the settings of the bucket are invalid"),
    ],
)
def test_invalid_settings_are_refused_and_not_repeated(
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, opened: OpenStore
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=message) as refused:
        fetch("s3://bucket", opened)
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_a_bucket_of_azure_needs_an_account(opened: OpenStore) -> None:
    with pytest.raises(ConfigError, match="has no account") as refused:
        fetch("az://bucket", opened)
    assert refused.value.hint == "set `AZURE_STORAGE_ACCOUNT_NAME`"


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(ConfigError) as missing:
        fetch("s3://bucket", opened)
    assert missing.value.hint == "pip install 'prowess[bucket]'"


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)


def packed(folder: Path, body: str = "Body.") -> PackedSkill:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: Does it.\n---\n{body}\n")
    (folder / "run.sh").write_text("run")
    (folder / "run.sh").chmod(0o755)
    return prepare_skill(str(folder))


@pytest.fixture
def fetched(tmp_path: Path) -> Iterator[Fetch]:
    with Store(str(tmp_path / "store")).open() as opened:
        yield lambda url: fetch(url, opened)


@pytest.mark.slow
def test_what_is_published_at_the_same_time_is_all_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fetched: Fetch
) -> None:
    skills = [packed(tmp_path / f"skills/skill-{number}") for number in range(8)]
    (tmp_path / "buckets/bucket").mkdir(parents=True)
    with rclone_server(tmp_path) as url:
        use_endpoint(monkeypatch, url)
        with ThreadPoolExecutor(4) as pool:
            states = [*pool.map(lambda skill: publish(skill, "s3://bucket/team").state, skills)]
        assert states == ["new"] * 8
        found = fetched("s3://bucket/team")
        assert [skill.name for skill in found.skills] == [skill.name for skill in skills]
        for one, other in zip(found.skills, skills, strict=True):
            assert read_tree(one.folder) == other.tree
        changed = packed(tmp_path / "skills/skill-0", "Changed.")
        assert publish(skills[1], "s3://bucket/team").state == "unchanged"
        with pytest.raises(InstallError, match=r"has another `skill-0\.tar\.gz`"):
            publish(changed, "s3://bucket/team")
        assert publish(changed, "s3://bucket/team", force=True).state == "moved"
        assert read_tree(fetched("s3://bucket/team").skills[0].folder) == changed.tree


def test_a_skill_is_published_into_a_folder(tmp_path: Path, fetched: Fetch) -> None:
    skill, url = packed(tmp_path / "pdf"), f"file://{tmp_path}/shared%20folder/team"
    assert publish(skill, url, dry_run=True).state == "planned"
    assert not (tmp_path / "shared folder").exists()
    done = publish(skill, url)
    archive = tmp_path / "shared folder/team/pdf.tar.gz"
    assert [*archive.parent.iterdir()] == [archive]
    assert (done.state, done.reference, done.size) == ("new", f"{url}@pdf", archive.stat().st_size)
    assert done.digest == f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    assert publish(skill, url).state == "unchanged"
    [found] = fetched(done.reference).skills
    assert read_tree(found.folder) == skill.tree
    archive.write_bytes(b"other")
    assert publish(skill, url, force=True).state == "moved"
    archive.unlink()
    archive.symlink_to("/etc/passwd")
    with pytest.raises(InstallError, match="it is a link"):
        publish(skill, url, force=True)


def test_a_skill_that_another_process_replaces_meanwhile_is_not_overwritten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine, other = packed(tmp_path / "pdf"), packed(tmp_path / "pdf", "Other.")
    for before in ({}, {"pdf.tar.gz": b"before"}):
        with FakeBucket(before) as bucket:
            bucket.before_write = partial(bucket.objects.update, {"pdf.tar.gz": other.archive})
            use_endpoint(monkeypatch, bucket.url)
            with pytest.raises(InstallError, match="s3://bucket was changed meanwhile"):
                publish(mine, "s3://bucket", force=True)
            assert bucket.objects == {"pdf.tar.gz": other.archive}
            bucket.before_write = partial(bucket.objects.update, {"pdf.tar.gz": mine.archive})
            assert publish(mine, "s3://bucket", force=True).state == "moved"


def test_a_bucket_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    skill = packed(tmp_path / "pdf")
    with FakeBucket({}) as bucket:
        use_endpoint(monkeypatch, bucket.url)
        bucket.refuses_writes = True
        with pytest.raises(InstallError, match="s3://bucket denies access"):
            publish(skill, "s3://bucket")
    (tmp_path / "file").touch()
    with pytest.raises(InstallError, match=r"cannot write `pdf\.tar\.gz`"):
        publish(skill, f"file://{tmp_path}/file")
    with pytest.raises(InstallError, match="a bucket has no tags"):
        publish(skill, f"file://{tmp_path}", "v1")


def test_results_of_calls_at_the_same_time_are_all_there() -> None:
    both = threading.Barrier(2, timeout=5)

    def call(number: int) -> int:
        both.wait()
        return number

    assert sorted(run_calls([partial(call, number) for number in range(20)], 10, 2)) == [*range(20)]
    assert [*run_calls([], 10)] == []


def test_a_call_that_does_not_return_is_left_behind() -> None:
    with ends():
        release = threading.Event()
        with pytest.raises(TimeoutError):
            [*run_calls([release.wait], 0.05)]
    release.set()


def test_no_call_begins_after_one_that_failed() -> None:
    begun: list[int] = []

    def fail() -> None:
        begun.append(1)
        raise LookupError("one")

    with pytest.raises(LookupError, match="one"):
        [*run_calls([fail] * 1000, 10)]
    assert len(begun) < 5
