"""The lock says where a skill comes from, and the same source is read from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from prowess.install import Store, StoredTree
from prowess.install._entries import entry_for, is_pinned, same_source, source_of
from prowess.install.sources import Fetched, FetchedSkill, parse_source
from prowess.lock import Lock, LockedSkill, parse_lock
from support.skills import skill

DIGEST = "sha256:" + "0123456789abcdef" * 4
COMMIT = "0123456789abcdef0123456789abcdef01234567"

# text, source, sourceType, sourceUrl
ENTRIES = [
    ("anthropics/skills#main", "anthropics/skills", "github", None),
    ("https://gitlab.com/g/s/r#v1", "g/s/r", "gitlab", "https://gitlab.com/g/s/r.git"),
    ("https://git.example.com/t/s.git", "https://git.example.com/t/s.git", "git", "https://git.example.com/t/s.git"),
    ("git+https://git.example.com/t/s#x", "https://git.example.com/t/s", "git", "https://git.example.com/t/s"),
    (
        "git@github.com:anthropics/skills.git",
        *["git@github.com:anthropics/skills.git", "git", "git@github.com:anthropics/skills.git"],
    ),
    ("ssh://git@host:22/s.git#a/b", "ssh://git@host:22/s.git", "git", "ssh://git@host:22/s.git"),
    ("file:///srv/s.git#v1", "file:///srv/s.git", "git", "file:///srv/s.git"),
    ("git+file:///srv/s", "file:///srv/s", "git", "file:///srv/s"),
    ("oci://ghcr.io/team/pdf:1.2", "ghcr.io/team/pdf", "oci", "oci://ghcr.io/team/pdf"),
    ("oci://ghcr.io/team/pdf", "ghcr.io/team/pdf", "oci", "oci://ghcr.io/team/pdf"),
    (f"oci://ghcr.io/team/pdf@{DIGEST}", "ghcr.io/team/pdf", "oci", "oci://ghcr.io/team/pdf"),
    ("s3://bucket/team", "s3://bucket/team", "bucket", "s3://bucket/team"),
    ("file:///srv/bucket", "file:///srv/bucket", "bucket", "file:///srv/bucket"),
    ("https://example.com/docs", "example.com", "well-known", "https://example.com/docs"),
    ("http://localhost:8000", "localhost:8000", "well-known", "http://localhost:8000"),
    ("/project/skills", "./skills", "local", None),
    ("/elsewhere/skills", "../elsewhere/skills", "local", None),
    ("/project", ".", "local", None),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredTree:
    top = tmp_path_factory.mktemp("store")
    with Store(str(top)).open() as opened:
        folder = Path(opened.new_folder()) / "pdf"
        skill(folder)
        return opened.add(str(folder))


def entry(text: str, stored: StoredTree) -> LockedSkill:
    source = parse_source(text)
    fetched = FetchedSkill(name="pdf", path="skills/pdf", folder=stored.folder)
    return entry_for(source, fetched, Fetched(skills=(fetched,), revision=COMMIT), stored, folder="/project")


@pytest.mark.parametrize(("text", "source", "kind", "url"), ENTRIES, ids=[case[0] for case in ENTRIES])
def test_a_source_is_read_from_the_lock_as_it_was(
    text: str, source: str, kind: str, url: str | None, stored: StoredTree
) -> None:
    written = entry(text, stored)
    assert (written.source, written.source_type, written.source_url) == (source, kind, url)
    read = parse_lock(Lock().with_skills([written]).to_text()).skills["pdf"]
    assert read == written
    expected = parse_source(text)
    found = source_of(read, "/project")
    assert (found.kind, found.url, found.ref) == (expected.kind, expected.url, expected.ref)


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("o/r", False),
        ("o/r#main", False),
        ("o/r#feature/x", False),
        ("o/r#release", False),
        ("o/r#v1", True),
        ("o/r#v1.2.3-rc.1", True),
        ("o/r#pdf@1.0.0", True),
        ("o/r#refs/tags/x", True),
        (f"o/r#{COMMIT}", True),
        (f"o/r#{COMMIT[:7]}", True),
        ("oci://host/x", False),
        ("oci://host/x:latest", False),
        ("oci://host/x:stable", True),
        (f"oci://host/x@{DIGEST}", True),
        ("s3://bucket", False),
    ],
)
def test_a_version_is_pinned_and_a_branch_is_not(text: str, pinned: bool, stored: StoredTree) -> None:
    assert is_pinned(entry(text, stored)) is pinned


def test_the_same_skill_in_another_version_has_the_same_source(stored: StoredTree) -> None:
    one = entry("anthropics/skills#v1", stored)
    assert same_source(one, entry("https://github.com/Anthropics/skills#v2", stored))
    assert same_source(one, one.with_changes(skill_path=None))
    assert not same_source(one, one.with_changes(skill_path="other/SKILL.md"))
    assert not same_source(one, entry("evil/skills#v1", stored))
