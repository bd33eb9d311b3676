"""The skills that a role names: where they are looked up, how they are loaded, and their errors.

Quotations are of InitRunner's documents on skills.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prowess.agent.role import load_role
from prowess.agent.role._skills import LoadedSkill, load_explicit_skills, read_skill_tools, skill_dirs
from prowess.skill import load
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder for a role, two skill directories, and a home."""
    for name in ("roles", "first", "second", "home/.initrunner/skills"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path.resolve()


def load_references(top: Path, *references: str, **env: str) -> tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]]:
    """Load the skills of a role with these references, with two skill directories."""
    file = top / "roles/role.yaml"
    lines = "".join(f"- {reference!r}\n" for reference in references)
    file.write_text(f"name: a\nprompt: x\nskills:\n{lines}", encoding="utf-8")
    role, findings = load_role(file)
    assert role is not None
    assert findings == ()
    dirs = [str(top / "first"), str(top / "second")]
    return load_explicit_skills(role, dirs=dirs, home=str(top / "home"), env=env)


def write_flat_skill(file: Path) -> Path:
    """Write a skill in InitRunner's flat format."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {file.stem}\ndescription: d\n---\n{file.parent.name} flat\n", encoding="utf-8")
    return file


def loaded_paths(result: tuple[tuple[LoadedSkill, ...], tuple[Finding, ...]], top: Path) -> list[str]:
    loaded, findings = result
    assert findings == ()
    return [os.path.relpath(one.path, top) for one in loaded]


# ── "Resolution Order" ───────────────────────────────────────────────────────────────────────────────────────────────

ORDER = (
    "roles/skills/pdf/SKILL.md",
    "roles/skills/pdf.md",
    "first/pdf/SKILL.md",
    "first/pdf.md",
    "second/pdf/SKILL.md",
    "second/pdf.md",
    "home/.initrunner/skills/pdf/SKILL.md",
    "home/.initrunner/skills/pdf.md",
)


@pytest.mark.parametrize("at", range(len(ORDER)))
def test_a_bare_name_is_looked_up_in_order_of_priority(top: Path, at: int) -> None:
    """InitRunner: "When a skill reference is a bare name (no / or .md suffix)", it searches "in priority order"."""
    for path in ORDER[at:]:
        file = top / path
        if file.name == "SKILL.md":
            skill(file.parent)
        else:
            write_flat_skill(file)
    assert loaded_paths(load_references(top, "pdf"), top) == [ORDER[at]]


def test_skill_dir_comes_before_the_environment_variables(top: Path) -> None:
    """InitRunner: "The --skill-dir CLI option takes precedence over INITRUNNER_SKILL_DIR"."""
    env = {
        "INITRUNNER_SKILL_DIR": f"/b{os.pathsep}/c",
        "PROWESS_SKILL_DIR": f"/d{os.pathsep}{os.pathsep}/b",
        "HOME": "/h",
    }
    assert skill_dirs(["/a", "/z"], env) == ("/a", "/z", "/b", "/c", "/d")
    assert skill_dirs([], {}) == ()
    assert skill_dirs(["here", "~/x"], {}) == (os.path.abspath("here"), os.path.expanduser("~/x"))


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("./skills/pdf/SKILL.md", "roles/skills/pdf/SKILL.md"),
        ("skills/pdf/SKILL.md", "roles/skills/pdf/SKILL.md"),
        ("./skills/pdf", "roles/skills/pdf/SKILL.md"),
        ("./skills/pdf/", "roles/skills/pdf/SKILL.md"),
        ("../first/csv.md", "first/csv.md"),
        ("local.md", "roles/local.md"),
        ("~/own.md", "home/own.md"),
    ],
)
def test_paths_are_relative_to_the_role_s_folder(
    top: Path, monkeypatch: pytest.MonkeyPatch, reference: str, path: str
) -> None:
    """InitRunner: "starting with ./ or /, or ending with .md" they are "relative to the role file's directory"."""
    monkeypatch.setenv("HOME", str(top / "home"))
    monkeypatch.chdir(top / "second")
    skill(top / "roles/skills/pdf")
    skill(top / "first/pdf")
    for file in ("first/csv.md", "roles/local.md", "home/own.md", "first/local.md"):
        write_flat_skill(top / file)
    assert loaded_paths(load_references(top, reference), top) == [path]


def test_a_reference_can_be_an_absolute_path(top: Path) -> None:
    file = skill(top / "elsewhere/pdf")
    assert loaded_paths(load_references(top, str(file)), top) == ["elsewhere/pdf/SKILL.md"]
    assert loaded_paths(load_references(top, str(file.parent)), top) == ["elsewhere/pdf/SKILL.md"]


def test_a_flat_file_has_no_skill_folder(top: Path) -> None:
    """Other files share its folder, so its tools must not see it."""
    write_flat_skill(top / "roles/skills/pdf.md")
    skill(top / "roles/skills/csv")
    pdf, csv = load_references(top, "pdf", "csv")[0]
    assert (pdf.folder, pdf.body.strip()) == (None, "skills flat")
    assert csv.folder == str(top / "roles/skills/csv")


def test_skills_are_loaded_once_in_the_role_s_order(top: Path) -> None:
    """InitRunner: "Skills are merged in the order they appear in spec.skills"; two names of one file are one skill."""
    for name in ("a", "b", "c"):
        skill(top / f"roles/skills/{name}")
    (top / "roles/link").symlink_to("skills/b")
    assert loaded_paths(load_references(top, "c", "a", "./skills/c/SKILL.md", "b", "./link"), top) == [
        "roles/skills/c/SKILL.md",
        "roles/skills/a/SKILL.md",
        "roles/skills/b/SKILL.md",
    ]


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def described(findings: tuple[Finding, ...], top: Path) -> list[str]:
    return [
        f"{os.path.relpath(item.path or '', top)}:{item.line} {item.message.replace(str(top), '')} ({item.hint})"
        for item in findings
    ]


def test_a_missing_skill_is_reported_with_the_paths_that_were_tried(top: Path) -> None:
    """All missing skills together, each with its line and a similar name."""
    skill(top / "roles/skills/summarizer")
    loaded, findings = load_references(top, "sumarizer", "summarizer", "./x.md", "../../../etc")
    assert [one.name for one in loaded] == ["summarizer"]
    assert described(findings, top) == [
        (
            "roles/role.yaml:4 skill not found: `sumarizer` (looked for /roles/skills/sumarizer/SKILL.md, "
            "/roles/skills/sumarizer.md, /first/sumarizer/SKILL.md, /first/sumarizer.md, /second/sumarizer/SKILL.md, "
            "/second/sumarizer.md, /home/.initrunner/skills/sumarizer/SKILL.md, /home/.initrunner/skills/sumarizer.md) "
            "(did you mean `summarizer`?)"
        ),
        (
            "roles/role.yaml:6 skill not found: `./x.md` (looked for /roles/x.md) "
            "(write its path relative to the role, or use `--skill-dir`)"
        ),
        (
            f"roles/role.yaml:7 skill not found: `../../../etc` (looked for {top.parent.parent}/etc, "
            f"{top.parent.parent}/etc/SKILL.md) (write its path relative to the role, or use `--skill-dir`)"
        ),
    ]


@pytest.mark.parametrize("reference", ["", "\0", "a\0b", "x" * 5000, "./" + "y/" * 3000, "~nobody-at-all/x"])
def test_an_invalid_reference_is_a_missing_skill(top: Path, reference: str) -> None:
    """Never an exception."""
    role, _ = load_role(top / "none.yaml")
    assert role is None
    (top / "roles/role.yaml").write_text("name: a\nprompt: x\n")
    role, _ = load_role(top / "roles/role.yaml")
    assert role is not None
    loaded, findings = load_explicit_skills(
        role.with_changes(skills=(reference,), skill_lines=(1,)), dirs=(), home=str(top / "home"), env={}
    )
    assert loaded == ()
    (item,) = findings
    assert item.message.startswith("skill not found: `" + (reference[:1].replace("\0", "\\") or "`"))


def test_missing_requirements_name_the_skill_and_what_it_lacks(top: Path) -> None:
    """InitRunner: "an error with the variable name and skill name", "an error listing the binary and skill name"."""
    more = "requires:\n  env: [SEARCH_API_KEY, EMPTY, SET]\n  bins: [curl-of-nobody, sh]\n"
    skill(top / "roles/skills/web", more=more)
    skill(top / "roles/skills/other", more="requires:\n  bins: [no-such-program]\n")
    loaded, findings = load_references(top, "web", "other", EMPTY=" ", SET="1", PATH="/usr/bin:/bin")
    assert loaded == ()
    assert described(findings, top) == [
        (
            "roles/skills/web/SKILL.md:4 the skill `web` cannot be used: the environment variable `SEARCH_API_KEY` is "
            "not set (set `SEARCH_API_KEY` before you start the agent)"
        ),
        (
            "roles/skills/web/SKILL.md:4 the skill `web` cannot be used: the environment variable `EMPTY` is empty "
            "(set `EMPTY` before you start the agent)"
        ),
        (
            "roles/skills/web/SKILL.md:4 the skill `web` cannot be used: the program `curl-of-nobody` is not on PATH "
            "(install `curl-of-nobody`, or add its folder to PATH)"
        ),
        (
            "roles/skills/other/SKILL.md:4 the skill `other` cannot be used: the program `no-such-program` is not on "
            "PATH (install `no-such-program`, or add its folder to PATH)"
        ),
    ]
    assert {item.code for item in findings} == {"role-invalid"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Do it.\n", "the file does not begin with a `---` line"),
        ("---\nname: pdf\n---\nDo it.\n", "the skill has no `description`"),
        ("---\ndescription: d\n---\nDo it.\n", "the skill has no `name`"),
        ("---\nname: pdf\ndescription: d\ndescription: e\n---\nDo it.\n", ""),
        ("---\nname: pdf\ndescription: d\ntools: {type: git}\n---\n", "`tools` is a map, not a list"),
        ("---\nname: pdf\ndescription: d\ntools:\n- type: gti\n---\n", "unknown tool type `gti`"),
        (
            "---\nname: pdf\ndescription: d\ntools:\n- type: git\n  repo: .\n---\n",
            "unknown key `tools[0].repo`",
        ),
    ],
)
def test_an_invalid_skill_is_not_loaded(top: Path, text: str, words: str) -> None:
    """InitRunner: "name str (required)", "description str (required)"; its tools are as strict as a role's."""
    file = skill(top / "roles/skills/pdf")
    file.write_text(text, encoding="utf-8")
    loaded, findings = load_references(top, "pdf")
    assert loaded == ()
    assert findings
    assert all(item.path == str(file) for item in findings)
    assert any(words in item.message for item in findings), [item.message for item in findings]


def test_other_fields_of_a_skill_are_ignored(top: Path) -> None:
    """InitRunner: "Unknown frontmatter fields are silently ignored"; "a skill cannot reference other skills"."""
    skill(top / "roles/skills/other")
    skill(top / "roles/skills/pdf", more="skills: [other]\nversion: 9\nmetadata: {a: b}\nlicense: MIT\n")
    loaded, findings = load_references(top, "pdf")
    assert findings == ()
    assert [one.name for one in loaded] == ["pdf"]


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_skill_s_tools_are_read_like_a_role_s(top: Path) -> None:
    """With defaults, and with the line in SKILL.md."""
    file = skill(top / "roles/skills/pdf", more="tools:\n- type: git\n- type: web_reader\n  timeout_seconds: 5\n")
    git, web = read_skill_tools(load(str(file)))[0]
    assert (git.kind, git.line, git.where, git.options["read_only"]) == ("git", 5, "tools[0]", True)
    assert (web.kind, web.line, web.options["timeout_seconds"]) == ("web_reader", 6, 5.0)


@pytest.mark.parametrize("tools", ["Read, Grep", "''", ""])
def test_tools_as_text_are_ignored(top: Path, tools: str) -> None:
    """Many skills list names of tools there, as in Claude Code's agents."""
    file = skill(top / "roles/skills/pdf", more=f"tools: {tools}\n")
    assert read_skill_tools(load(str(file))) == ((), [])
    assert [one.tools for one in load_references(top, "pdf")[0]] == [()]
