from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.install import OpenStore, Store, parse_source
from prowess.install._fetched import Fetched, FetchedSkill
from prowess.install._known import pinned_revision, recall, remember

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMIT, DIGEST = "c" * 40, f"sha256:{'d' * 64}"
SOURCE = parse_source("acme/skills")
NAMES = ("docx", "pdf")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenStore]:
    with Store(str(tmp_path / "store")).open() as result:
        yield result


def fetch(opened: OpenStore) -> Fetched:
    skills = []
    for name in NAMES:
        folder = Path(opened.new_folder(), name)
        folder.mkdir()
        (folder / "SKILL.md").write_text(name)
        skills.append(FetchedSkill(name=name, path=f"skills/{name}", folder=str(folder), extra={"key": name}))
    return Fetched(skills=tuple(skills), revision=COMMIT)


def add(opened: OpenStore, *, all_skills: bool = True, source: Any = SOURCE) -> Fetched:
    fetched = fetch(opened)
    added = [(skill, opened.add(skill.folder).tree.digest) for skill in fetched.skills]
    remember(source, fetched, added, opened, all_skills=all_skills)
    return fetched


def names(found: Fetched | None) -> list[str] | None:
    return None if found is None else [skill.name for skill in found.skills]


def test_skills_of_a_revision_are_found_again(opened: OpenStore) -> None:
    before = add(opened)
    found = recall(SOURCE, opened, (), COMMIT)
    assert found is not None
    assert found.revision == COMMIT
    assert [(skill.name, skill.path, skill.extra) for skill in found.skills] == [
        (skill.name, skill.path, skill.extra) for skill in before.skills
    ]
    assert [Path(skill.folder, "SKILL.md").read_text() for skill in found.skills] == ["docx", "pdf"]
    assert names(recall(SOURCE, opened, ("pdf",), COMMIT)) == ["pdf"]
    assert names(recall(parse_source(f"acme/skills#{COMMIT}"), opened, ("pdf",), None)) == ["pdf"]
    assert names(recall(parse_source("acme/skills:skills/docx"), opened, (), COMMIT)) == ["docx"]


def test_another_revision_source_or_skill_is_not_known(opened: OpenStore) -> None:
    add(opened)
    assert recall(SOURCE, opened, (), "a" * 40) is None
    assert recall(SOURCE, opened, (), None) is None
    assert recall(parse_source("acme/others"), opened, (), COMMIT) is None
    assert recall(SOURCE, opened, ("xlsx",), COMMIT) is None
    assert recall(parse_source("acme/skills:other"), opened, (), COMMIT) is None


def test_some_skills_are_not_all_skills(opened: OpenStore) -> None:
    add(opened, all_skills=False)
    assert recall(SOURCE, opened, (), COMMIT) is None
    assert names(recall(SOURCE, opened, ("pdf", "docx"), COMMIT)) == ["docx", "pdf"]
    add(opened)
    add(opened, all_skills=False)
    assert names(recall(SOURCE, opened, (), COMMIT)) == ["docx", "pdf"]


def test_a_skill_that_was_swept_is_not_known(opened: OpenStore) -> None:
    fetched = add(opened)
    found = recall(SOURCE, opened, ("pdf",), COMMIT)
    assert found is not None
    Path(found.skills[0].folder, "SKILL.md").unlink()
    Path(found.skills[0].folder).rmdir()
    assert recall(SOURCE, opened, ("pdf",), COMMIT) is None
    assert names(recall(SOURCE, opened, (fetched.skills[0].name,), COMMIT)) == ["docx"]


def test_a_skill_that_was_changed_in_the_store_is_not_known(opened: OpenStore) -> None:
    add(opened)
    found = recall(SOURCE, opened, ("pdf",), COMMIT)
    assert found is not None
    Path(found.skills[0].folder, "more.md").write_text("evil")
    assert recall(SOURCE, opened, ("pdf",), COMMIT) is None


@pytest.mark.parametrize(
    ("text", "revision", "expected"),
    [
        ("acme/skills", COMMIT, COMMIT),
        ("acme/skills", "e" * 64, "e" * 64),
        (f"acme/skills#{COMMIT}", None, COMMIT),
        ("acme/skills", "abc1234", None),
        ("acme/skills#main", None, None),
        ("acme/skills#v1", None, None),
        (f"oci://registry.example/pdf@{DIGEST}", None, DIGEST),
        ("oci://registry.example/pdf:v1", None, None),
        ("s3://bucket/skills", "sha256:" + "0" * 64, None),
        ("./folder", COMMIT, None),
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
    assert recall(SOURCE, opened, ("pdf",), COMMIT) is None


def test_a_record_that_cannot_be_written_is_no_error(opened: OpenStore) -> None:
    Path(opened.folder, "sources").write_text("a file")
    add(opened)
    assert recall(SOURCE, opened, (), COMMIT) is None
