"""Links that lead out of a skill's folder: each cause once, in one skill and in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.checks._accepted import accept_findings, read_baseline
from prowess.checks._links import check_escaping_links
from prowess.cli import main
from prowess.filesystem import Filesystem
from prowess.skill import from_document, load, parse_frontmatter

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding


class CountingFilesystem(Filesystem):
    """Counts the paths that are looked up."""

    count = 0

    def link_kind(self, path: str) -> str:
        self.count += 1
        return super().link_kind(path)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A git repository with two skills, one of them in a plugin, and a file outside of them."""
    folder = tmp_path.resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    for path in ("skills/csv", "plugins/p/skills/tax", "plugins/p/.claude-plugin", "plugins/p/docs"):
        (folder / path).mkdir(parents=True)
    for path in ("skills/csv/SKILL.md", "plugins/p/skills/tax/SKILL.md"):
        (folder / path).write_text("---\nname: x\ndescription: d\n---\nDo it.\n")
    for path in ("skills/csv/notes.md", "README.md", "plugins/p/docs/a.md", "../secret.md"):
        (folder / path).write_text("text")
    return folder


def found_in(top: Path, body: str, folder: str = "skills/pdf") -> list[Finding]:
    """Check a skill with a body."""
    file = top / folder / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {file.parent.name}\ndescription: d\n---\n{body}\n")
    return list(check_escaping_links(load(str(file)), Filesystem()))


def messages(findings: list[Finding]) -> list[tuple[str, int | None, str]]:
    return [(item.code, item.column, item.message) for item in findings]


OUT = "leads out of the repository"
COPY = "leads out of the skill's folder, to a file that a copy of the skill lacks"
NO_DOCS = "leads to a missing file: there is no `../../docs`"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param("[a](../csv/SKILL.md)", ("link-beside", "leads to a skill beside this one"), id="skill"),
        pytest.param("[a](../csv)", ("link-beside", "leads to a skill beside this one"), id="folder-of-a-skill"),
        pytest.param("[a](../csv/notes.md)", ("link-beside", "leads to a skill beside this one"), id="its-file"),
        pytest.param("[a](../../README.md)", ("link-escapes", COPY), id="file-of-the-repository"),
        pytest.param("[a](../../no.md)", ("link-escapes", "leads to a missing file"), id="missing"),
        pytest.param("[a](../../docs/b/c.md)", ("link-escapes", NO_DOCS), id="missing-folder"),
        pytest.param(
            "[a](../../lib/csv/notes.md)",
            ("link-escapes", "leads to a missing file; it is at `../csv/notes.md`"),
            id="moved",
        ),
        pytest.param("[a](../csv/no.md)", ("link-escapes", "leads to a missing file"), id="missing-in-a-skill"),
        pytest.param("[a](../../../secret.md)", ("link-escapes", OUT), id="outside"),
        pytest.param("[a](/etc/passwd)", ("link-escapes", OUT), id="absolute"),
        pytest.param("[a](" + "../" * 19 + "x)", ("link-escapes", OUT), id="above-the-root"),
    ],
)
def test_a_link_out_of_the_folder_says_where_it_leads(top: Path, body: str, found: tuple[str, str]) -> None:
    code, words = found
    target = body[body.index("(") + 1 : -1]
    assert messages(found_in(top, body)) == [(code, 5, f"the link `{target}` {words}")]


def test_a_link_to_a_file_of_the_same_plugin_is_information(top: Path) -> None:
    """To one of another plugin it is not."""
    found = found_in(top, "[a](../../docs/a.md)", "plugins/p/skills/pdf")
    assert [item.code for item in found] == ["link-beside"]
    (top / "plugins/q/.claude-plugin").mkdir(parents=True)
    found = found_in(top, "[a](../../../p/docs/a.md)", "plugins/q/skills/pdf")
    assert [item.code for item in found] == ["link-escapes"]


def test_a_link_inside_the_skill_is_not_reported(top: Path) -> None:
    assert found_in(top, "[a](b.md) [c](x/../d.md) [e](https://x.example/../y) `[f](../no.md)`") == []


def test_links_of_one_cause_are_one_finding(top: Path) -> None:
    """At the first of them."""
    body = "[a](../../docs/a.md) [b](../../docs/b.md) [c](../../docs/a.md) [d](../csv) [e](../csv/notes.md)"
    assert messages(found_in(top, body)) == [
        ("link-escapes", 5, f"the link `../../docs/a.md` {NO_DOCS} (2 such links)"),
        ("link-beside", 68, "the link `../csv` leads to a skill beside this one (2 such links)"),
    ]


def test_a_link_of_the_disk_is_not_followed(top: Path) -> None:
    (top / "out").symlink_to("../secret.md")
    (top / "far").symlink_to("..")
    found = found_in(top, "[a](../../out) [b](../../far/nothing)")
    assert [item.message.split(" leads ")[1] for item in found] == [COPY.removeprefix("leads ")] * 2


def test_one_cause_in_several_skills_is_one_finding(top: Path) -> None:
    """It names the others. A comment that ignores one of them takes it out; the baseline accepts each of them."""
    found = [
        item
        for name in "abcde"
        for item in found_in(top, f"[x](../../docs/{name}.md) [y](../../no-{name}.md)", f"skills/{name}")
    ]
    skills = [str(top / f"skills/{name}/SKILL.md") for name in "abcde"]
    accepted = accept_findings(found, base=str(top), home=str(top.parent), skills=skills)
    assert [item.finding.message for item in accepted.findings] == [
        f"the link `../../docs/a.md` {NO_DOCS}; also in `b`, `c`, `d` and 1 more",
        *(f"the link `../../no-{name}.md` leads to a missing file" for name in "abcde"),
    ]
    assert [len(item.also) for item in accepted.findings] == [4, 0, 0, 0, 0, 0]

    file = top / "skills/a/SKILL.md"
    file.write_text(file.read_text().replace("name: a", "# prowess: ignore link-escapes: known\nname: a"))
    accepted = accept_findings(found, base=str(top), home=str(top.parent), skills=skills)
    assert accepted.ignored == 2
    assert accepted.counting[0].message == f"the link `../../docs/b.md` {NO_DOCS}; also in `c`, `d`, `e`"


def test_a_baseline_accepts_every_place_of_a_finding(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        found_in(top, f"[x](../../docs/{name}.md)", f"skills/{name}")
    monkeypatch.chdir(top)
    arguments = ["check", "skills", "--select", "link-escapes", "--host", "prowess", "--json"]
    main(arguments)
    baseline = top / "baseline.json"
    baseline.write_text(capsys.readouterr().out)
    assert len(read_baseline(str(baseline)).files) == 3
    main([*arguments, "--baseline", str(baseline)])
    assert '"findings": []' in capsys.readouterr().out


def test_a_body_of_links_costs_as_many_look_ups_as_it_has_links_at_most(top: Path) -> None:
    """However many there are: 1,000 are checked, and 20 causes reported."""
    body = " ".join(f"[a](../../d{number}/x.md)" for number in range(5_000))
    text = f"---\nname: pdf\ndescription: d\n---\n{body}\n"
    path = str(top / "skills/pdf/SKILL.md")
    skill = from_document(parse_frontmatter(text.encode(), path), path)
    filesystem = CountingFilesystem()
    assert len(list(check_escaping_links(skill, filesystem))) == 20
    assert filesystem.count < 10_000
