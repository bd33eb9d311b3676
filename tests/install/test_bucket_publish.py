"""Skills are published into buckets by any number of processes at once."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.errors import InstallError
from prowess.install import Fetched, Store, parse_source, read_tree
from prowess.install._publish import PackedSkill, Published, parse_destination, prepare_skill, publish_skill
from prowess.install.bucket._fetch import fetch
from support.s3_server import FakeBucket, rclone_server, use_endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Fetch = Callable[[str], Fetched]


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


def publish(skill: PackedSkill, url: str, *, force: bool = False, dry_run: bool = False) -> Published:
    return publish_skill(skill, parse_destination(url), may_move=lambda _: force, dry_run=dry_run)


@pytest.fixture
def fetched(tmp_path: Path) -> Iterator[Fetch]:
    with Store(str(tmp_path / "store")).open() as opened:
        yield lambda url: fetch(parse_source(url), opened)


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
        publish_skill(skill, parse_destination(f"file://{tmp_path}"), tags=("v1",), may_move=bool)
