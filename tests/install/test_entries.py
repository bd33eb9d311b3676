"""The lock says where a skill comes from, and the same source is read from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prowess.install import OpenStore, Store, StoredTree
from prowess.install._entries import entry_for, is_pinned, pinned_revision, recall, remember, same_source, source_of
from prowess.install.sources import Fetched, FetchedSkill, Wanted, parse_source
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


OTHER_COMMIT, OTHER_DIGEST = "c" * 40, f"sha256:{'d' * 64}"
SOURCE = parse_source("acme/skills")
NAMES = ("docx", "pdf")


def fetch(opened: OpenStore) -> Fetched:
    skills = []
    for name in NAMES:
        folder = Path(opened.new_folder(), name)
        folder.mkdir()
        (folder / "SKILL.md").write_text(name)
        skills.append(FetchedSkill(name=name, path=f"skills/{name}", folder=str(folder), extra={"key": name}))
    return Fetched(skills=tuple(skills), revision=OTHER_COMMIT)


def wanted(opened: OpenStore, *only: str, source: str = "acme/skills", revision: str | None = OTHER_COMMIT) -> Wanted:
    return Wanted(source=parse_source(source), opened=opened, only=only, revision=revision)


def add(opened: OpenStore, *only: str, source: str = "acme/skills") -> Fetched:
    """Remember all skills, as those of the whole source unless only some are wanted."""
    fetched = fetch(opened)
    added = [(skill, opened.add(skill.folder).tree.digest) for skill in fetched.skills]
    remember(wanted(opened, *only, source=source, revision=None), fetched.revision, added)
    return fetched


def names(found: Fetched | None) -> list[str] | None:
    return None if found is None else [skill.name for skill in found.skills]


def test_skills_of_a_revision_are_found_again(opened: OpenStore) -> None:
    before = add(opened)
    found = recall(wanted(opened))
    assert found is not None
    assert found.revision == OTHER_COMMIT
    assert [(skill.name, skill.path, skill.extra) for skill in found.skills] == [
        (skill.name, skill.path, skill.extra) for skill in before.skills
    ]
    assert [Path(skill.folder, "SKILL.md").read_text() for skill in found.skills] == ["docx", "pdf"]
    assert names(recall(wanted(opened, "pdf"))) == ["pdf"]
    assert names(recall(wanted(opened, "pdf", source=f"acme/skills#{OTHER_COMMIT}", revision=None))) == ["pdf"]
    assert names(recall(wanted(opened, source="acme/skills:skills/docx"))) == ["docx"]


def test_another_revision_source_or_skill_is_not_known(opened: OpenStore) -> None:
    add(opened)
    assert recall(wanted(opened, revision="a" * 40)) is None
    assert recall(wanted(opened, revision=None)) is None
    assert recall(wanted(opened, source="acme/others")) is None
    assert recall(wanted(opened, "xlsx")) is None
    assert recall(wanted(opened, source="acme/skills:other")) is None


def test_some_skills_are_not_all_skills(opened: OpenStore) -> None:
    add(opened, *NAMES)
    assert recall(wanted(opened)) is None
    assert names(recall(wanted(opened, "pdf", "docx"))) == ["docx", "pdf"]
    add(opened)
    add(opened, *NAMES)
    assert names(recall(wanted(opened))) == ["docx", "pdf"]


def test_a_skill_that_was_swept_is_not_known(opened: OpenStore) -> None:
    fetched = add(opened)
    found = recall(wanted(opened, "pdf"))
    assert found is not None
    Path(found.skills[0].folder, "SKILL.md").unlink()
    Path(found.skills[0].folder).rmdir()
    assert recall(wanted(opened, "pdf")) is None
    assert names(recall(wanted(opened, fetched.skills[0].name))) == ["docx"]


def test_a_skill_that_was_changed_in_the_store_is_not_known(opened: OpenStore) -> None:
    add(opened)
    found = recall(wanted(opened, "pdf"))
    assert found is not None
    Path(found.skills[0].folder, "more.md").write_text("evil")
    assert recall(wanted(opened, "pdf")) is None


@pytest.mark.parametrize(
    ("text", "revision", "expected"),
    [
        ("acme/skills", OTHER_COMMIT, OTHER_COMMIT),
        ("acme/skills", "e" * 64, "e" * 64),
        (f"acme/skills#{OTHER_COMMIT}", None, OTHER_COMMIT),
        ("acme/skills", "abc1234", None),
        ("acme/skills#main", None, None),
        ("acme/skills#v1", None, None),
        (f"oci://registry.example/pdf@{OTHER_DIGEST}", None, OTHER_DIGEST),
        ("oci://registry.example/pdf:v1", None, None),
        ("s3://bucket/skills", "sha256:" + "0" * 64, None),
        ("./folder", OTHER_COMMIT, None),
    ],
)
def test_a_branch_or_tag_is_not_pinned(text: str, revision: str | None, expected: str | None) -> None:
    assert pinned_revision(parse_source(text), revision) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"[]",
        lambda _: b"[" * 100_000,
        lambda known: {**known, "source": "https://evil.example/skills.git"},
        lambda known: {**known, "revision": "b" * 40},
        lambda known: {**known, "skills": []},
        lambda known: {**known, "skills": {"skills/pdf": {"name": "pdf", "digest": 1, "extra": {}}}},
        lambda known: {**known, "skills": {"skills/pdf": {"name": "pdf"}}},
        lambda known: {**known, "all": 1},
        lambda known: {**known, "skills": {"skills/pdf": {"name": "pdf", "digest": "../../..", "extra": {}}}},
    ],
)
def test_a_damaged_record_is_the_same_as_none(opened: OpenStore, change: Any) -> None:
    add(opened)
    (path,) = Path(opened.folder, "sources").iterdir()
    changed = change(json.loads(path.read_text()))
    path.write_bytes(changed if isinstance(changed, bytes) else json.dumps(changed).encode())
    assert recall(wanted(opened, "pdf")) is None


def test_a_record_that_cannot_be_written_is_no_error(opened: OpenStore) -> None:
    Path(opened.folder, "sources").write_text("a file")
    add(opened)
    assert recall(wanted(opened)) is None
