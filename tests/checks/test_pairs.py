"""Skills against each other: those that claim the same requests, near copies, and words of a whole catalog."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.checks import report
from prowess.checks._accepted import accept_findings
from prowess.filesystem import Filesystem, Question
from support.growth import ends

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding

PDF = "Fills the fields of PDF forms with values from a table. Use when a tax form is due."
RULES = ("skill-overlap", "skill-near-copy", "description-general")
LINES = [f"Line {number} of the instructions says what to do with field {number}." for number in range(20)]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def write(
    top: Path, folder: str, description: str = PDF, body: str = "Do it.", fields: str = "", name: str = ""
) -> Path:
    path = top / folder / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    name = name or path.parent.name
    path.write_text(f"---\nname: {name}\ndescription: {description}\n{fields}---\n{body}\n")
    return path


def found_in(top: Path, *paths: str, agents: tuple[str, ...] = ()) -> list[Finding]:
    question = Question.about(top, top.parent / "home")
    named = [str(top / path) for path in paths] or None
    result = report(question, named, agents=agents, filesystem=Filesystem(), advise=True)
    return [item for item in result.findings if item.code in RULES]


def messages(findings: list[Finding], top: Path) -> list[tuple[str, str]]:
    return [(os.path.relpath(item.path or "", top), item.message) for item in findings]


# ── the same requests ────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_skills_that_claim_the_same_requests_are_one_finding(top: Path) -> None:
    """At the one that the search does not prefer, with the line of its description."""
    write(top, "a/pdf-forms")
    write(top, "a/form-tables", f"{PDF} Also for letters.")
    write(top, "a/csv", "Reads tables. Use for sums.")
    found = found_in(top, "a")
    message = (
        "`form-tables` claims the same requests as `pdf-forms`: both say `fields`, `values`, `fills`, `forms`, "
        "`table`, `due` and 2 more; for these the search prefers `pdf-forms`"
    )
    assert messages(found, top) == [("a/form-tables/SKILL.md", message)]
    assert (found[0].line, found[0].column) == (3, 1)


def test_a_group_of_skills_is_one_cause(top: Path) -> None:
    for name in ("pdf-forms", "form-tables", "tax-forms", "table-fields"):
        write(top, f"a/{name}")
    found = found_in(top, "a")
    accepted = accept_findings(found, base=str(top), home=str(top.parent))
    (item,) = accepted.counting
    assert "claims the same requests as " in item.message
    assert all(name in item.message for name in ("`pdf-forms`", "`form-tables`", "`tax-forms`"))


def test_skills_of_different_agents_do_not_compete(top: Path) -> None:
    """Each of the two agents sees one of them."""
    write(top, ".claude/skills/pdf-forms")
    write(top, ".codex/skills/form-tables")
    assert found_in(top, agents=("claude-code", "codex")) == []
    write(top, ".claude/skills/tax-forms")
    assert [item.code for item in found_in(top, agents=("claude-code", "codex"))] == ["skill-overlap"]


def test_a_repository_offers_skills_that_compete(top: Path) -> None:
    """No agent sees them here."""
    write(top, "skills/pdf-forms")
    write(top, "skills/form-tables")
    assert [item.code for item in found_in(top, agents=("codex",))] == ["skill-overlap"]


def test_a_skill_that_users_alone_choose_does_not_compete(top: Path) -> None:
    write(top, "a/pdf-forms")
    write(top, "a/form-tables", fields="disable-model-invocation: true\n")
    assert found_in(top, "a") == []


# ── near copies ──────────────────────────────────────────────────────────────────────────────────────────────────────


def changed(count: int) -> str:
    """Return the lines with other words in some of them."""
    return "\n".join([*(f"Another sentence, number {number}, is here now." for number in range(count)), *LINES[count:]])


@pytest.mark.parametrize(("count", "reported"), [(0, True), (1, True), (10, False), (20, False)])
def test_a_body_with_few_changes_is_a_near_copy(top: Path, count: int, reported: bool) -> None:
    write(top, "a/pdf-forms", "Fills forms. Use when one is due.", "\n".join(LINES))
    write(top, "a/letters", "Writes letters. Use for mail.", changed(count))
    found = messages(found_in(top, "a"), top)
    assert [path for path, _ in found] == (["a/pdf-forms/SKILL.md"] if reported else [])
    for _, message in found:
        share = "all" if count == 0 else "90%"
        assert message == (
            f"`pdf-forms` is a near copy of `../letters`: {share} of the body is equal, and neither has other files"
        )


def test_a_renamed_folder_says_how_many_files_are_equal(top: Path) -> None:
    for name in ("pdf-forms", "letters"):
        write(top, f"a/{name}", f"About {name}. Use for it.", "\n".join(LINES))
        (top / f"a/{name}/b.md").write_text("b")
        (top / f"a/{name}/{name}.md").write_text("c")
    ((_, message),) = messages(found_in(top, "a"), top)
    assert message.endswith("all of the body is equal, and 1 of 3 other files")


def test_the_older_copy_is_reported(top: Path) -> None:
    """By its version, or else by the day of its last change."""
    old = write(top, "a/letters", "Letters. Use for mail.", "\n".join(LINES), "metadata:\n  version: '1.9'\n")
    new = write(top, "a/pdf-forms", "Forms. Use for PDF.", "\n".join(LINES), "metadata:\n  version: '1.10'\n")
    ((path, message),) = messages(found_in(top, "a"), top)
    assert (path, message.partition("; ")[2]) == ("a/letters/SKILL.md", "it is older: version 1.9, the other has 1.10")
    for file, seconds in ((old, 1_800_000_000), (new, 1_700_000_000)):
        file.write_text(file.read_text().replace("metadata:\n  version", "metadata:\n  build"))
        os.utime(file, (seconds, seconds))
    ((path, message),) = messages(found_in(top, "a"), top)
    assert path == "a/pdf-forms/SKILL.md"
    assert message.partition("; ")[2] == "it was changed on 2023-11-14, the other on 2027-01-15"


def test_copies_of_one_name_are_reported_if_they_differ(top: Path) -> None:
    """An exact copy is another finding, where an agent sees it."""
    write(top, "a/pdf-forms", body="\n".join(LINES))
    write(top, "b/pdf-forms", body="\n".join(LINES))
    assert found_in(top, "a", "b") == []
    write(top, "b/pdf-forms", body=changed(1))
    assert [item.code for item in found_in(top, "a", "b")] == ["skill-near-copy"]


def test_short_bodies_are_no_copies(top: Path) -> None:
    write(top, "a/pdf-forms", "Forms. Use for PDF.", LINES[0])
    write(top, "a/letters", "Letters. Use for mail.", LINES[0])
    assert found_in(top, "a") == []


# ── words of a catalog ───────────────────────────────────────────────────────────────────────────────────────────────


def test_words_that_half_of_the_descriptions_have_name_no_subject(top: Path) -> None:
    for number in range(10):
        write(top, f"a/kind-{number}", f"Reads invoices of kind{number}. Use when one is there.")
    write(top, "a/any", "Reads invoices. Use when one is there.")
    ((path, message),) = messages(found_in(top, "a"), top)
    assert path == "a/any/SKILL.md"
    assert message == "the description fits most requests: no word names a subject (`reads`, `invoices`)"


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_many_equal_bodies_end(top: Path) -> None:
    """Of 300 skills each is a copy of each; they are one cause."""
    for number in range(300):
        write(top, f"a/kind-{number}", f"About kind{number}. Use for it.", "\n".join(LINES))
    with ends():
        found = found_in(top, "a")
    accepted = accept_findings(found, base=str(top), home=str(top.parent))
    assert len(accepted.counting) == 1
    assert 0 < len(found) <= 500


def test_bodies_of_one_word_are_compared(top: Path) -> None:
    for name, body in (
        ("a", "x" * 900_000),
        ("b", "x " * 450_000),
        ("c", "x\n" * 450_000),
        ("d", f"{'y' * 40}\n" * 9_000),
    ):
        write(top, f"a/{name}", f"About {name}. Use for it.", body)
    with ends():
        found_in(top, "a")
