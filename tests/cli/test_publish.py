"""`prowess publish` checks a skill, packs it, and publishes it to a registry; no tag moves without consent."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.cli.installed import publish
from prowess.lock import read_tree
from support.registry import digest_of_tag

if TYPE_CHECKING:
    from pathlib import Path

    from support.registry import Registry


@pytest.fixture
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "pdf"
    folder.mkdir()
    (folder / "SKILL.md").write_text(
        "---\nname: pdf\ndescription: Use it to read PDF files.\nmetadata:\n  version: '1.0'\n---\nRead it.\n",
        encoding="utf-8",
    )
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    monkeypatch.chdir(tmp_path)
    return folder


def printed_json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_a_published_skill_is_added_by_its_reference(
    registry: Registry, skill: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standard output is the reference alone."""
    assert main(["publish", "pdf", f"oci://{registry.new_repository()}"]) == 0
    captured = capsys.readouterr()
    reference = captured.out.strip()
    assert captured.err.splitlines()[-1].endswith("published as 1.0")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert main(["add", reference, "--yes"]) == 0
    assert read_tree(str(project / ".agents/skills/pdf")) == read_tree(str(skill))
    lock = json.loads((project / "skills-lock.json").read_text(encoding="utf-8"))
    assert lock["skills"]["pdf"]["prowess"]["revision"] == reference.partition("@")[2]
    assert main(["verify"]) == 0


def test_json_says_what_was_published(registry: Registry, skill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"oci://{registry.new_repository()}"
    command = ["publish", "pdf", place, "--tag", "a", "--tag", "b", "--json"]
    assert main([*command, "--dry-run"]) == 0
    planned = printed_json(capsys)
    assert main(command) == 0
    first = printed_json(capsys)
    assert main(command) == 0
    again = printed_json(capsys)
    assert [planned["state"], first["state"], again["state"]] == ["planned", "new", "unchanged"]
    assert planned["reference"] == first["reference"] == again["reference"] == f"{place}@{first['digest']}"
    assert first["tags"] == ["a", "b"]
    assert first["tree"] == read_tree(str(skill)).digest
    data = (skill / "SKILL.md").read_bytes()
    assert first["files"] == [
        {
            "path": "SKILL.md",
            "mode": "100644",
            "size": len(data),
            "bytes": len(data),
            "sha256": sha256(data).hexdigest(),
        }
    ]


def test_a_tag_moves_only_with_consent(
    registry: Registry, skill: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"oci://{registry.new_repository()}:v1"
    assert main(["publish", "pdf", place]) == 0
    before = digest_of_tag(place)
    (skill / "more.md").write_text("more", encoding="utf-8")
    capsys.readouterr()
    assert main(["publish", "pdf", place]) == 1
    assert "the tag `v1` of" in capsys.readouterr().err
    asked: list[str] = []

    def answer(question: str, *, yes: bool) -> bool:
        asked.append(question)
        return yes

    monkeypatch.setattr(publish, "can_ask", lambda: True)
    monkeypatch.setattr(publish, "ask", lambda question: answer(question, yes=False))
    assert main(["publish", "pdf", place]) == 1
    assert digest_of_tag(place) == before
    monkeypatch.setattr(publish, "ask", lambda question: answer(question, yes=True))
    assert main(["publish", "pdf", place]) == 0
    assert len(asked) == 2
    assert digest_of_tag(place) != before
    (skill / "more.md").unlink()
    assert main(["publish", "pdf", place, "--force"]) == 0
    assert (len(asked), digest_of_tag(place)) == (2, before)


def test_errors_of_a_skill_end_the_command_before_anything_is_sent(
    skill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Port 1 of this machine has no server."""
    (skill / "SKILL.md").write_text("---\nname: pdf\nlicense: !tag MIT\n---\n", encoding="utf-8")
    assert main(["publish", "pdf", "oci://127.0.0.1:1/pdf", "--json"]) == 1
    assert printed_json(capsys)["state"] == "failed"
    assert main(["publish", "pdf", "oci://127.0.0.1:1/pdf"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "nothing published"


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("https://example.com", "nothing can be published to"),
        ("owner/repository", "nothing can be published to"),
        (
            "registry.example.com/x",
            "write `oci://REGISTRY/REPOSITORY:TAG`, `s3://BUCKET/PATH`, `file:///FOLDER` or `./NAME.skill`",
        ),
        ("oci://127.0.0.1:1/x@sha256:" + "a" * 64, "names a skill or a digest"),
        ("oci://127.0.0.1:1/x@pdf", "names a skill or a digest"),
        ("oci://x", "is not an artifact of a registry"),
        ("", "nothing can be published to"),
    ],
)
def test_a_destination_that_is_no_registry_is_wrong_use(
    place: str, reason: str, skill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", skill.name, place]) == 2
    assert reason in capsys.readouterr().err


def test_a_folder_without_a_skill_is_wrong_use(skill: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", str(skill.parent), "oci://127.0.0.1:1/x"]) == 2
    assert "name the folder of one skill" in capsys.readouterr().err


def test_a_skill_with_a_link_is_not_published(
    registry: Registry, skill: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An archive with links would not be unpacked."""
    (skill / "link").symlink_to("SKILL.md")
    assert main(["publish", "pdf", f"oci://{registry.new_repository()}"]) == 1
    assert "`link` is a link, which an archive cannot contain" in capsys.readouterr().err
