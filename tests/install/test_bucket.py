"""Fetch skills from buckets and shared folders, and publish them there."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prowess._internal.installer import install_command
from prowess.errors import AmbiguousSkillError, ConfigError, InstallError, SkillNotFoundError
from prowess.install import OpenStore, PackedSkill, prepare_skill
from prowess.install.archive import pack_skill
from prowess.install.sources.bucket import _buckets as objects_module
from prowess.install.sources.bucket._buckets import run_calls
from prowess.lock import read_tree
from support.files import write_file
from support.growth import END, ends
from support.s3_server import SECRET, FakeBucket, rclone_server, use_endpoint
from support.site_server import Request, Site, redirect
from support.sources import fetch, publish

if TYPE_CHECKING:
    from collections.abc import Callable

    from prowess.install.sources import Fetched

    Fetch = Callable[..., Fetched]


def skill(name: str, body: str = "Body.") -> bytes:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n".encode()


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second attempts, and no credentials of the user who runs the tests."""
    monkeypatch.setattr("prowess.install.sources.bucket._buckets._RETRIES", 0)
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> Fetch:
    """Fetch skills from a server, or from a bucket with some contents."""

    def fetch_from(
        server: FakeBucket | Site | dict[str, bytes] | None, *only: str, url: str = "s3://bucket"
    ) -> Fetched:
        if isinstance(server, dict):
            with FakeBucket(server) as bucket:
                return fetch_from(bucket, *only, url=url)
        if server is not None:
            use_endpoint(monkeypatch, server.url)
        return fetch(url, opened, only=only)

    return fetch_from


def files_of(fetched: Fetched) -> dict[str, tuple[str, list[str]]]:
    """Return the path and the files of each skill."""
    return {skill.name: (skill.path, [file.path for file in read_tree(skill.folder).files]) for skill in fetched.skills}


# ── what is a skill ──────────────────────────────────────────────────────────────────────────────────────────────────

PDF, WEB = {"pdf/SKILL.md": skill("pdf")}, {"web/SKILL.md": skill("web")}
LAYOUTS: dict[str, tuple[dict[str, bytes], str, str, dict[str, tuple[str, list[str]]]]] = {
    "a folder with a skill file is a skill": (
        {
            "README.md": b"not a skill",
            "team/pdf/SKILL.md": skill("pdf"),
            "team/pdf/scripts/run.sh": b"run",
            "team/pdf/inner/SKILL.md": skill("inner"),
            "team/pdf-more/notes.txt": b"beside it",
            **WEB,
        },
        "s3://bucket",
        "",
        {"pdf": ("team/pdf", ["SKILL.md", "inner/SKILL.md", "scripts/run.sh"]), "web": ("web", ["SKILL.md"])},
    ),
    "a bucket can be one skill": (
        {"skills/pdf/SKILL.md": skill("pdf"), "skills/pdf/a/b": b"1", "other": b""},
        "s3://bucket/skills/pdf",
        "",
        {"pdf": ("", ["SKILL.md", "a/b"])},
    ),
    "the name in the file counts": (
        {"PDF tools/SKILL.md": skill("pdf"), **WEB},
        "s3://bucket",
        "pdf",
        {"pdf": ("PDF tools", ["SKILL.md"])},
    ),
    "the markers of folders are not files": (
        {"team/": b"", "team/pdf/": b"", "team/pdf/SKILL.md": skill("pdf"), "team/pdf/a/": b"", "team/pdf/a/b": b""},
        "s3://bucket/team",
        "",
        {"pdf": ("pdf", ["SKILL.md", "a/b"])},
    ),
}


@pytest.mark.parametrize(("contents", "url", "only", "expected"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_skills_of_a_bucket_are_found(
    contents: dict[str, bytes], url: str, only: str, expected: dict[str, tuple[str, list[str]]], fetched: Fetch
) -> None:
    found = fetched(contents, *filter(None, (only,)), url=url)
    assert files_of(found) == expected
    for one in found.skills:
        assert Path(one.folder, "SKILL.md").read_bytes() == skill(one.name)


def test_only_wanted_skills_are_read(fetched: Fetch) -> None:
    with FakeBucket({**PDF, **WEB}) as bucket:
        assert [*files_of(fetched(bucket, "web"))] == ["web"]
        assert [request.target for request in bucket.requests[1:]] == ["/bucket/web/SKILL.md"]


def test_a_folder_names_a_skill_unless_another_skill_has_the_name(fetched: Fetch) -> None:
    other = {"qa/SKILL.md": skill("quality")}
    assert files_of(fetched(other | PDF, "qa")) == {"quality": ("qa", ["SKILL.md"])}
    assert files_of(fetched({**other, "x/SKILL.md": skill("qa")}, "qa")) == {"qa": ("x", ["SKILL.md"])}
    with pytest.raises(AmbiguousSkillError, match=r"^`qa` is the folder of 2 skills: `quality`, `test`$"):
        fetched({**other, "x/qa/SKILL.md": skill("test")}, "qa")


def test_progress_counts_one_skill_as_one(monkeypatch: pytest.MonkeyPatch, opened: OpenStore) -> None:
    texts: list[str] = []
    with FakeBucket(PDF | WEB) as bucket:
        use_endpoint(monkeypatch, bucket.url)
        fetch("s3://bucket", opened, only=("pdf",), progress=texts.append)
        fetch("s3://bucket", opened, progress=texts.append)
    assert [text for text in texts if text.startswith("fetching")] == [
        "fetching 1 skill from s3://bucket",
        "fetching 2 skills from s3://bucket",
    ]


def test_a_skill_without_a_name_is_left_out_and_reported(fetched: Fetch) -> None:
    found = fetched({"bad/SKILL.md": b"no front matter", **WEB})
    assert [*files_of(found)] == ["web"]
    assert [(item.code, item.path) for item in found.findings] == [("frontmatter-missing", "s3://bucket/bad/SKILL.md")]


def test_the_revision_changes_with_the_content(fetched: Fetch) -> None:
    with FakeBucket({**PDF, **WEB}) as bucket:
        both = [fetched(bucket).revision for _ in range(2)]
        one = fetched(bucket, "pdf").revision
        bucket.objects["web/SKILL.md"] = skill("web", "Other.")
        assert fetched(bucket, "pdf").revision == one
        assert len({*both, one, fetched(bucket).revision}) == 3


@pytest.mark.slow
def test_the_server_of_rclone_gives_what_was_uploaded(
    monkeypatch: pytest.MonkeyPatch, fetched: Fetch, tmp_path: Path
) -> None:
    folder = tmp_path / "buckets/bucket/team/pdf"
    (folder / "déjà vu").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill("pdf"))
    (folder / "déjà vu/100%25 #1?.txt").write_bytes(bytes(range(256)))
    with rclone_server(tmp_path) as url:
        use_endpoint(monkeypatch, url)
        found = fetched(None, url="s3://bucket/team")
        assert read_tree(found.skills[0].folder) == read_tree(str(folder))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
        with pytest.raises(InstallError, match="s3://bucket/team denies access") as denied:
            fetched(None, url="s3://bucket/team")
    assert "secret" not in f"{denied.value} {denied.value.hint} {denied.value.__cause__}"


@pytest.mark.needs("openssl")
@pytest.mark.slow
def test_certificates_are_checked_with_those_of_a_variable(
    monkeypatch: pytest.MonkeyPatch, fetched: Fetch, tmp_path: Path
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
    write_file(tmp_path / "buckets/bucket/pdf/SKILL.md", skill("pdf"))
    with rclone_server(tmp_path, "--cert", f"{server}.crt", "--key", f"{server}.key") as url:
        assert url.startswith("https://")
        use_endpoint(monkeypatch, url)
        with pytest.raises(InstallError, match="has a certificate that is not trusted"):
            fetched(None)
        monkeypatch.setenv("AWS_CA_BUNDLE", f"{authority}.crt")
        assert [*files_of(fetched(None))] == ["pdf"]


@pytest.mark.parametrize(
    ("url", "endpoint", "settings"),
    [
        ("gs://bucket", "GOOGLE_BASE_URL", {}),
        ("az://bucket", "AZURE_STORAGE_ENDPOINT", {"AZURE_STORAGE_ACCOUNT_NAME": "account"}),
    ],
    ids=["google", "azure"],
)
def test_buckets_of_other_clouds_are_read(
    url: str, endpoint: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, fetched: Fetch
) -> None:
    with FakeBucket(PDF) as bucket:
        for name, value in {**settings, endpoint: bucket.url}.items():
            monkeypatch.setenv(name, value)
        assert [*files_of(fetched(None, url=url))] == ["pdf"]


def packed(folder: Path, body: str = "Body.") -> PackedSkill:
    write_file(folder / "SKILL.md", skill(folder.name, body))
    (folder / "run.sh").write_text("run")
    (folder / "run.sh").chmod(0o755)
    return prepare_skill(str(folder))


# ── archives ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_archives_are_skills_with_modes(fetched: Fetch, tmp_path: Path) -> None:
    """Only directly below the path; deeper ones, and those in a skill, are files."""
    skill = packed(tmp_path / "pdf")
    files = [file.path for file in skill.tree.files]
    for contents in (
        {
            "pdf.tar.gz": skill.archive,
            **WEB,
            "web/data.tar.gz": b"data",
            "old/pdf.tar.gz": b"",
            "notes-1.0.tar.gz": b"",
        },
        {"pdf.tar.gz": pack_skill(skill.folder, "")[0], **WEB, "web/data.tar.gz": b"data"},
    ):
        found = fetched(contents)
        assert files_of(found) == {"pdf": ("pdf.tar.gz", files), "web": ("web", ["SKILL.md", "data.tar.gz"])}
        assert read_tree(found.skills[0].folder) == skill.tree


# ── a folder as a bucket ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_is_read_like_a_bucket_with_modes(fetched: Fetch, tmp_path: Path) -> None:
    """Without following links."""
    skill = packed(tmp_path / "shared folder/pdf")
    url = f"file://{tmp_path}/shared%20folder"
    found = fetched(None, url=url)
    assert (read_tree(found.skills[0].folder), found.revision) == (skill.tree, None)
    (tmp_path / "shared folder/linked").symlink_to("/etc")
    (tmp_path / "shared folder/pdf/passwd").symlink_to("/etc/passwd")
    with pytest.raises(InstallError, match="pdf/passwd` cannot be read: it is a link"):
        fetched(None, url=url)


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
    key: str, message: str, fetched: Fetch, tmp_path: Path
) -> None:
    with pytest.raises(InstallError, match=message) as refused:
        fetched({**PDF, key: b"hostile"})
    assert str(refused.value).isprintable()
    assert not [*tmp_path.rglob("escape*")]


class Changing(FakeBucket):
    """Its object changes after it was listed."""

    def page(self, prefix: str) -> bytes:
        answer = super().page(prefix)
        self.objects["pdf/SKILL.md"] = skill("pdf", "BODY.")
        return answer


class Endless(FakeBucket):
    """Its object does not end."""

    def answer(self, request: Request) -> bytes:
        data = super().answer(request)
        size = f"content-length: {len(PDF['pdf/SKILL.md'])}".encode()
        return data.replace(size, b"content-length: 1000000000000") + bytes(1 << 20)


BAD: dict[str, tuple[Callable[[], FakeBucket], str]] = {
    "a key outside the path": (
        partial(FakeBucket, {"other/SKILL.md": skill("pdf")}, listed=["other/SKILL.md"]),
        r"lists `other/SKILL\.md`, which is outside",
    ),
    "a key that is listed twice": (partial(FakeBucket, PDF, listed=["pdf/SKILL.md"] * 2), "is there twice"),
    "an object that changes between list and read": (partial(Changing, PDF), "changed while"),
    "an object that does not end": (partial(Endless, PDF), "changed while"),
    "two skills of one name": (
        partial(FakeBucket, {"a/SKILL.md": skill("pdf"), "b/SKILL.md": skill("pdf")}),
        "two skills in s3://bucket have the name `pdf`: `a` and `b`",
    ),
    "no skills": (partial(FakeBucket, {"a": b""}), "no skills in s3://bucket"),
    "no archive": (partial(FakeBucket, {"pdf.tar.gz": b"no archive"}), "pdf.tar.gz`: invalid archive"),
    "an empty archive": (partial(FakeBucket, {"pdf.tar.gz": b""}), "invalid archive"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_a_bucket_that_breaks_a_rule_is_refused(make: Callable[[], FakeBucket], message: str, fetched: Fetch) -> None:
    with make() as bucket, pytest.raises(InstallError, match=message):
        fetched(bucket, url="s3://bucket/team" if "outside" in message else "s3://bucket")


def test_an_archive_with_another_skill_is_refused(fetched: Fetch, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="contains the skill `web`"):
        fetched({"pdf.tar.gz": packed(tmp_path / "web").archive})


def test_a_wanted_skill_that_is_missing_is_an_error(fetched: Fetch) -> None:
    with pytest.raises(SkillNotFoundError, match="s3://bucket has no skill `web`"):
        fetched(PDF, "web")


def test_a_redirect_to_another_host_is_not_followed(monkeypatch: pytest.MonkeyPatch, fetched: Fetch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-the-test")
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("AWS_PROXY_EXCLUDES", "localhost")
    with FakeBucket(PDF) as other:
        to = other.url.replace("127.0.0.1", "localhost")
        with (
            Site({"*": lambda request: redirect(f"{to}{request.target}", "307 Temporary Redirect")}) as site,
            pytest.raises(InstallError, match="cannot be reached, or redirects to another host"),
        ):
            fetched(site)
        assert not other.requests


def test_a_list_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch, fetched: Fetch) -> None:
    monkeypatch.setattr(objects_module, "_SECONDS", 0.2)
    with FakeBucket({}, endless=True) as bucket, pytest.raises(InstallError, match="s3://bucket did not answer in"):
        fetched(bucket)
    monkeypatch.setattr(objects_module, "_SECONDS", 60.0)
    monkeypatch.setattr(objects_module, "MAX_OBJECTS", 100)
    endless = FakeBucket({}, listed=["a", "b", "c"], endless=True)
    with endless as bucket, pytest.raises(InstallError, match="more than 100 objects"):
        fetched(bucket)


def test_a_skill_that_is_too_large_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, fetched: Fetch
) -> None:
    monkeypatch.setattr("prowess.install.sources.bucket._skills.MAX_DIGEST_BYTES", 1000)
    with FakeBucket({**PDF, "pdf/a": bytes(600), "pdf/b": bytes(600)}) as bucket:
        with pytest.raises(InstallError, match="the skill `pdf` has more bytes than is allowed"):
            fetched(bucket)
        assert len(bucket.requests) == 1


def test_a_store_that_fails_half_the_time_is_asked_again(monkeypatch: pytest.MonkeyPatch, fetched: Fetch) -> None:
    monkeypatch.setattr("prowess.install.sources.bucket._buckets._RETRIES", 8)
    with FakeBucket(PDF) as bucket:
        bucket.failures = 1
        assert [*files_of(fetched(bucket))] == ["pdf"]


def test_requests_without_credentials_are_not_signed(monkeypatch: pytest.MonkeyPatch, fetched: Fetch) -> None:
    with FakeBucket(PDF) as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.url)
        fetched(None)
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
    variable: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch, fetched: Fetch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=message) as refused:
        fetched(None)
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_what_is_missing_on_this_machine_is_named(monkeypatch: pytest.MonkeyPatch, fetched: Fetch) -> None:
    with pytest.raises(ConfigError, match="has no account") as refused:
        fetched(None, url="az://bucket")
    assert refused.value.hint == "set `AZURE_STORAGE_ACCOUNT_NAME`"
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigError) as missing:
        fetched(None)
    assert missing.value.hint == install_command("bucket")


# ── publishing ───────────────────────────────────────────────────────────────────────────────────────────────────────


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
        found = fetched(None, url="s3://bucket/team")
        assert [skill.name for skill in found.skills] == [skill.name for skill in skills]
        for one, other in zip(found.skills, skills, strict=True):
            assert read_tree(one.folder) == other.tree
        changed = packed(tmp_path / "skills/skill-0", "Changed.")
        assert publish(skills[1], "s3://bucket/team").state == "unchanged"
        with pytest.raises(InstallError, match=r"has another `skill-0\.tar\.gz`"):
            publish(changed, "s3://bucket/team")
        assert publish(changed, "s3://bucket/team", force=True).state == "moved"
        assert read_tree(fetched(None, url="s3://bucket/team").skills[0].folder) == changed.tree


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
    [found] = fetched(None, url=done.reference).skills
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
    both = threading.Barrier(2, timeout=END)

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


def test_a_folder_without_skills_may_be_a_repository(fetched: Fetch, tmp_path: Path) -> None:
    """Such as a bare one."""
    (tmp_path / "objects").mkdir()
    with pytest.raises(InstallError, match="no skills in ") as caught:
        fetched(None, url=f"file://{tmp_path}")
    assert caught.value.hint is not None
    assert f"if this is a git repository, write `git+file://{tmp_path}`" in caught.value.hint
