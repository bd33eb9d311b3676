"""Which findings are accepted: rules of `pyproject.toml`, comments, `--ignore`, and a baseline."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from prowess.checks._accepted import Accepted, OwnFiles, accept_findings, fingerprints, read_baseline
from prowess.checks._ignore_rules import (
    ProjectRules,
    comment_rules,
    option_rules,
    project_rules,
    read_table,
    selected_codes,
)
from prowess.errors import ConfigError
from prowess.findings import finding
from support.growth import ends

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.findings import Finding


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A git repository."""
    folder = tmp_path.resolve() / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def write(top: Path, path: str, text: str) -> str:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return str(file)


def skill(top: Path, path: str, *comments: str) -> str:
    """Write a skill with comments in its front matter; return its path."""
    return write(top, path, "\n".join(["---", "name: a", *comments, "description: It does.", "---", "Do it.", ""]))


def accept(top: Path, *findings: Finding, **arguments: Any) -> Accepted:
    """Accept findings in the repository, by its own rules and comments."""
    skills = [item.path for item in findings if item.path is not None]
    project = project_rules(str(top))
    rules = (*project.ignore, *arguments.pop("rules", ()))
    return accept_findings(
        findings,
        base=str(top),
        home=str(top.parent),
        **{"skills": skills, "rules": rules, "severity": project.severity, **arguments},
    )


def kinds(accepted: Accepted) -> list[str | None]:
    return [item.kind for item in accepted.findings]


# ── pyproject.toml ───────────────────────────────────────────────────────────────────────────────────────────────────

RULE = "[[tool.prowess.ignore]]\ncode = 'name-case'\nskill = '{}'\nreason = 'the old name is known'\n"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        *[(pattern, True) for pattern in ("pdf", "p*", "skills/pdf", "./skills/pdf/", "skills/*", "*", "*/SKILL.md")],
        *[(pattern, False) for pattern in ("PDF", "skills", "pd", "skills/pd", "/skills/pdf", "name", "[p]")],
    ],
)
def test_a_rule_of_the_project_names_a_skill_by_folder_or_path(top: Path, pattern: str, matches: bool) -> None:
    """`*` matches any characters, `?` one."""
    write(top, "pyproject.toml", RULE.format(pattern))
    path = skill(top, "skills/pdf/SKILL.md")
    accepted = accept(top, finding("name-case", "m", path=path), finding("name-type", "m", path=path))
    assert kinds(accepted) == ["project" if matches else None, None]
    assert accepted.notes == (() if matches else ("pyproject.toml: `tool.prowess.ignore` 1 matches no finding",))
    if matches:
        assert accepted.findings[0].reason == "the old name is known"


def test_a_rule_of_the_project_counts_for_files_of_its_repository_only(top: Path) -> None:
    """Not for a skill elsewhere, in another repository inside, in an installed package, or that a link leads to."""
    write(top, "pyproject.toml", RULE.format("*"))
    (top / "vendor/.git").mkdir(parents=True)
    paths = [
        "vendor/a/SKILL.md",
        "../elsewhere/a/SKILL.md",
        "node_modules/x/a/SKILL.md",
        ".prowess/packages/p/SKILL.md",
    ]
    findings = [finding("name-case", "m", path=skill(top, path)) for path in paths]
    (top / "link").symlink_to("../elsewhere")
    findings += [finding("name-case", "m", path=str(top / "link/a/SKILL.md")), finding("name-case", "m")]
    assert kinds(accept(top, *findings)) == [None] * 6


def test_a_pattern_has_no_character_classes(top: Path) -> None:
    """A folder may be called `[ab]`."""
    write(top, "pyproject.toml", RULE.format("[ab]"))
    findings = [finding("name-case", "m", path=skill(top, f"skills/{name}/SKILL.md")) for name in ("a", "[ab]", "b")]
    assert kinds(accept(top, *findings)) == [None, "project", None]


@pytest.mark.parametrize("pattern", ["project", ".", "SKILL.md"])
def test_a_rule_names_the_skill_at_the_top_of_the_repository(top: Path, pattern: str) -> None:
    write(top, "pyproject.toml", RULE.format(pattern))
    assert kinds(accept(top, finding("name-case", "m", path=skill(top, "SKILL.md")))) == ["project"]


def test_a_link_inside_the_repository_leads_to_its_own_file(top: Path) -> None:
    """As from one agent's folder to another's."""
    skill(top, ".agents/skills/a/SKILL.md", "# prowess: ignore name-case: known")
    (top / ".claude").mkdir()
    (top / ".claude/skills").symlink_to("../.agents/skills")
    accepted = accept(top, finding("name-case", "m", path=str(top / ".claude/skills/a/SKILL.md")))
    assert kinds(accepted) == ["comment"]


def test_without_a_file_or_a_table_there_are_no_rules(top: Path) -> None:
    assert project_rules(str(top)) == ProjectRules()
    for text in (
        "",
        "[tool.ruff]\n",
        "[project]\nname = 'prowess-skills'\n",
        "broken [ toml",
        "[tool]\nx = 'prowess'\n",
    ):
        write(top, "pyproject.toml", text)
        assert project_rules(str(top)) == ProjectRules()


def test_the_project_sets_severities(top: Path) -> None:
    """Of a group, and of a code in it; for its own files, and never of what is always an error."""
    write(top, "pyproject.toml", "[tool.prowess.severity]\nlink-missing = 'error'\nfiles = 'info'\nloads = 'info'\n")
    own = skill(top, "a/SKILL.md")
    codes = ("link-missing", "body-empty", "frontmatter-code", "description-placeholder")
    findings = [finding(code, "m", path=own) for code in codes]
    findings += [finding("body-empty", "m", path=skill(top, "../other/SKILL.md")), finding("host-disabled", "m")]
    accepted = accept(top, *findings)
    assert [item.severity for item in accepted.counting] == ["error", "info", "error", "warning", "warning", "info"]


def test_a_group_is_ignored_by_options_rules_and_comments(top: Path) -> None:
    """With or without its group before it, a code means the same."""
    write(top, "pyproject.toml", RULE.format("a").replace("name-case", "loads"))
    own = skill(top, "a/SKILL.md", "# prowess: ignore files/link-missing: known", "# prowess: ignore routes: known")
    codes = ("name-case", "frontmatter-code", "link-missing", "body-empty", "description-placeholder", "eval-unknown")
    accepted = accept(top, *(finding(code, "m", path=own) for code in codes), rules=option_rules(["evals"]))
    assert kinds(accepted) == ["project", None, "comment", None, "comment", "option"]
    assert accepted.notes == ()


def test_select_reports_the_named_codes_and_groups_only(top: Path) -> None:
    """The notes about the baseline and unused rules are about all findings."""
    assert selected_codes([]) is None
    selected = selected_codes(["files", "loads/name-case"])
    assert selected is not None
    assert {"name-case", "link-missing"} <= selected
    own = skill(top, "a/SKILL.md", "# prowess: ignore name-type: known")
    codes = ("name-case", "name-type", "link-missing", "eval-unknown")
    accepted = accept(top, *(finding(code, "m", path=own) for code in codes), select=selected)
    assert [item.finding.code for item in accepted.findings] == ["name-case", "link-missing"]
    assert accepted.notes == ()


@pytest.mark.parametrize("word", ["name-cas", "file", "files/name-case", "/name-case", "loads/", "loads/loads", ""])
def test_an_unknown_word_of_select_is_an_error(word: str) -> None:
    with pytest.raises(ConfigError, match="`--select`: unknown code or group of findings"):
        selected_codes([word])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("tool.prowess.ignores = []", "`tool.prowess`: unknown key `ignores`", "did you mean `ignore`?"),
        ("tool.prowess.x = 1", "`tool.prowess`: unknown key `x`", "the keys are ignore, severity"),
        ("tool.prowess = 1", "`tool.prowess` is not a table", "/docs/ci.md"),
        ("tool.prowess.ignore = {}", "`tool.prowess.ignore` is not a list of tables", "[[tool.prowess.ignore]]"),
        ("tool.prowess.ignore = [1]", "`tool.prowess.ignore` 1 is not a table", ""),
        (RULE.replace("reason", "reson"), "1: unknown key `reson`", "did you mean `reason`?"),
        (
            RULE.replace("reason = 'the old name is known'", ""),
            "1: missing key `reason`",
            "`code`, `skill` and `reason`",
        ),
        (RULE.replace("the old name is known", "  "), "1: `reason` is not a text", ""),
        (RULE.replace("skill = '{}'\n", ""), "1: missing key `skill`", ""),
        (
            RULE.replace("name-case", "name-cast"),
            "1: unknown code or group of findings `name-cast`",
            "did you mean `name-case`?",
        ),
        (RULE.replace("'name-case'", "7"), "1: `code` is not a text", ""),
        (RULE.replace("name-case", "frontmatter-code"), "`frontmatter-code` cannot be ignored in a file", "--ignore"),
        (RULE.replace("{}", "x" * 501), "`skill` is longer than 500 characters", ""),
        ("# prowess\n[[tool.x]\n", "is not valid TOML", "fix the file"),
        ("prowess = " + "[" * 5000, "is not valid TOML", "fix the file"),
        ("[tool.prowess]\nx = " + "[" * 100_000 + "]" * 100_000, "it is nested too deeply", ""),
        ("tool.prowess" + ".a" * 5000 + " = 1", "too many parts", ""),
        ("tool.prowess.severity = 1", "`tool.prowess.severity` is not a table", "/docs/ci.md"),
        ("tool.prowess.severity.name-cas = 'info'", "unknown code or group of findings `name-cas`", "`name-case`"),
        ("tool.prowess.severity.name-case = 'warn'", "`name-case` is not a severity", "error, warning, info"),
        ("tool.prowess.severity.name-case = 1", "`name-case` is not a severity", "error, warning, info"),
        ("tool.prowess.severity.frontmatter-code = 'info'", "`frontmatter-code` is always an error", "--ignore"),
        (RULE * 1001, "has more than 1,000 entries", "pattern"),
        ("# prowess " + "x" * 1024 * 1024, "larger than 1 MiB", ""),
        ("tool.prowess.'\x1b[31m' = 1", "is not valid TOML", ""),
        ('tool.prowess."\\u001b[31m" = 1', "unknown key `\\x1b[31m`", ""),
    ],
)
def test_an_invalid_table_is_an_error(top: Path, text: str, message: str, hint: str) -> None:
    """With what is wrong, at once, and nothing that a terminal obeys."""
    write(top, "pyproject.toml", text)
    with ends():
        with pytest.raises(ConfigError, match=re.escape(message)) as raised:
            project_rules(str(top))
        assert hint in (raised.value.hint or "")
        assert "\x1b" not in str(raised.value)


def test_a_config_that_is_no_file_is_an_error(top: Path) -> None:
    """A FIFO does not block; a link is not followed, so that an error cannot quote another file."""
    os.mkfifo(top / "pyproject.toml")
    with pytest.raises(ConfigError, match="a FIFO"):
        project_rules(str(top))
    (top / "pyproject.toml").unlink()
    (top / "pyproject.toml").symlink_to("/etc/passwd")
    with pytest.raises(ConfigError, match="it is a link"):
        project_rules(str(top))


# ── comments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_comment_ignores_one_code_in_its_own_file(top: Path) -> None:
    """With its reason, which reports repeat."""
    path = skill(top, "a/SKILL.md", "# prowess: ignore name-case: the old name is known")
    other = skill(top, "b/SKILL.md")
    findings = [finding(code, "m", path=file) for file in (path, other) for code in ("name-case", "name-type")]
    accepted = accept(top, *findings)
    assert kinds(accepted) == ["comment", None, None, None]
    assert accepted.findings[0].reason == "the old name is known"
    assert accepted.counting == tuple(findings[1:])
    assert (accepted.ignored, accepted.in_baseline, accepted.notes) == (1, 0, ())


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("# prowess: ignore", "2: write the comment as `# prowess: ignore CODE: REASON`"),
        ("# prowess: ignore name-case", "2: the comment gives no reason to ignore `name-case`"),
        ("# prowess: ignore name-case:  ", "2: the comment gives no reason to ignore `name-case`"),
        (
            "# prowess: ignore name-cas: x",
            "2: the comment ignores an unknown code `name-cas`; did you mean `name-case`?",
        ),
        ("# prowess: ignore name-case, name-type: x", "2: write the comment as"),
        ("# prowess: ignore frontmatter-code: x", "2: a comment cannot ignore `frontmatter-code`"),
        ("  # prowess: ignore name-case: x", "2: write the comment on a line of its own"),
        ("title: a # prowess: ignore name-case: x", "2: write the comment on a line of its own"),
        ("title: |\n  # prowess: ignore name-case: x", "3: write the comment on a line of its own"),
    ],
)
def test_an_invalid_comment_ignores_nothing(top: Path, comment: str, problem: str) -> None:
    path = write(top, "a/SKILL.md", f"---\n{comment}\nname: a\n---\n")
    accepted = accept(top, finding("name-case", "m", path=path), finding("frontmatter-code", "m", path=path))
    assert kinds(accepted) == [None, None]
    (note,) = accepted.notes
    assert note.startswith(f"a/SKILL.md:{problem}")


@pytest.mark.parametrize(
    "text",
    [
        "# prowess: ignore name-case: x\n---\nname: a\n---\n",
        "---\nname: a\n---\n# prowess: ignore name-case: x\n",
        "---\n# prowess: ignore name-case: x\nname: a\n",
        "# prowess: ignore name-case: x\n",
        "",
    ],
    ids=["before", "body", "unclosed", "no-front-matter", "empty"],
)
def test_only_a_whole_line_of_the_front_matter_is_a_comment(top: Path, text: str) -> None:
    assert comment_rules(write(top, "a/SKILL.md", text)) == ([], [])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_comment_may_have_any_line_ends(top: Path, newline: str) -> None:
    path = str(top / "SKILL.md")
    lines = ["\ufeff---", "#prowess:ignore name-case:  x ", "name: a", "---", ""]
    (top / "SKILL.md").write_bytes(newline.join(lines).encode())
    (rule,), problems = comment_rules(path)
    assert (rule.code, rule.reason, rule.place, problems) == ("name-case", "x", "2", [])


def test_a_comment_of_a_file_from_elsewhere_does_not_count(top: Path) -> None:
    """A skill that was installed, or that belongs to another repository, does not silence what is said about it."""
    comment = "# prowess: ignore name-case: trust me"
    (top / "vendor/.git").mkdir(parents=True)
    paths = [
        "vendor/a/SKILL.md",
        "../home/.agents/skills/a/SKILL.md",
        "node_modules/a/SKILL.md",
        ".aam/packages/p/SKILL.md",
    ]
    for path in paths:
        file = skill(top, path, comment)
        assert not OwnFiles(str(top)).contains(file)
        assert kinds(accept(top, finding("name-case", "m", path=file))) == [None]
    outside = top.parent / "no-repository"
    file = skill(outside, "a/SKILL.md", comment)
    assert kinds(accept(outside, finding("name-case", "m", path=file))) == [None]


def test_a_file_that_git_ignores_does_not_silence_its_findings(top: Path) -> None:
    """It was installed, and is not a part of the repository: neither its comment nor a rule of the project counts."""
    write(top, ".gitignore", ".claude/\n*.local/\n!keep.local/\n")
    write(top, ".git/info/exclude", "excluded\n")
    write(top, "sub/.gitignore", "SKILL.md\n")
    write(top, "pyproject.toml", RULE.format("*").replace("name-case", "name-type"))
    paths = [".claude/skills/a", "skills/b.local", "excluded/a", "sub/a", "skills/keep.local", "skills/a"]
    files = [skill(top, f"{path}/SKILL.md", "# prowess: ignore name-case: trust me") for path in paths]
    findings = [finding(code, "m", path=file) for code in ("name-case", "name-type") for file in files]
    assert kinds(accept(top, *findings)) == [*[None] * 4, *["comment"] * 2, *[None] * 4, *["project"] * 2]


@pytest.mark.needs("git")
def test_a_file_that_git_tracks_is_one_of_the_repository(top: Path) -> None:
    """Though its rules name it."""
    (top / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    write(top, ".gitignore", ".claude/\n")
    file = skill(top, ".claude/skills/a/SKILL.md", "# prowess: ignore name-case: known")
    assert kinds(accept(top, finding("name-case", "m", path=file))) == [None]
    subprocess.run(["git", "-C", str(top), "add", "-f", file], check=True)
    assert kinds(accept(top, finding("name-case", "m", path=file))) == ["comment"]


def test_a_comment_that_matches_nothing_is_a_note(top: Path) -> None:
    path = skill(top, "a/SKILL.md", "# prowess: ignore name-case: fixed long ago")
    accepted = accept(top, skills=[path])
    assert accepted.notes == ("a/SKILL.md:3: the comment ignores `name-case`, which is not found",)


def test_a_hostile_file_has_a_bounded_number_of_notes(top: Path) -> None:
    path = skill(top, "a/SKILL.md", *["# prowess: ignore \x1b[31m"] * 10_000)
    assert len(accept(top, skills=[path]).notes) == 10


def test_a_check_of_some_skills_says_nothing_about_rules_for_others(top: Path) -> None:
    """As in a hook that checks the changed files."""
    write(top, "pyproject.toml", RULE.format("pdf") + RULE.format("other") + RULE.format("*"))
    path = skill(top, "skills/pdf/SKILL.md")
    rules = option_rules(["name-type"])
    assert len(accept(top, skills=[path], rules=rules).notes) == 4
    notes = accept(top, skills=[path], rules=rules, whole=False).notes
    assert notes == ("pyproject.toml: `tool.prowess.ignore` 1 matches no finding",)


# ── --ignore ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_option_ignores_a_code_everywhere() -> None:
    """Also one that a file cannot ignore."""
    items = [finding(code, "m", path="/elsewhere/a") for code in ("name-case", "frontmatter-code", "name-type")]
    accepted = accept_findings(
        [*items, finding("name-case", "m")], base="/r", home="/h", rules=option_rules(["name-case", "frontmatter-code"])
    )
    assert kinds(accepted) == ["option", "option", None, "option"]


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(ConfigError, match="`--ignore`: unknown code or group of findings `name-cas`") as raised:
        option_rules(["name-case", "name-cas"])
    assert raised.value.hint == "did you mean `name-case`?"


# ── the baseline ─────────────────────────────────────────────────────────────────────────────────────────────────────


def baseline(top: Path, *findings: Finding, root: str | None = None) -> str:
    """Write a baseline as `check --json` does."""
    root = root or str(top)
    written = [
        {**item.as_dict(), "fingerprint": fingerprint}
        for item, fingerprint in zip(findings, fingerprints(findings, root, str(top.parent)), strict=True)
    ]
    return write(top.parent, "baseline.json", json.dumps({"findings": written, "counts": {}, "root": root}))


def test_old_findings_are_accepted_and_new_ones_are_not(top: Path) -> None:
    """A moved line is no new finding; a second equal one is."""
    path = skill(top, "a/SKILL.md")
    old = finding("link-missing", "the link `x`", path=path, line=3)
    file = read_baseline(baseline(top, old))
    moved, second = old.with_changes(line=40), old.with_changes(line=50)
    other = finding("link-missing", "the link `y`", path=path, line=3)
    accepted = accept(top, moved, second, other, baseline=file)
    assert kinds(accepted) == ["baseline", None, None]
    assert (accepted.in_baseline, accepted.ignored) == (1, 0)


def test_the_baseline_of_another_machine_works(top: Path) -> None:
    skill(top, "a/SKILL.md")
    theirs = finding("name-case", "m in `/Users/bo/p/b`", path="/Users/bo/p/a/SKILL.md")
    file = read_baseline(baseline(top, theirs, root="/Users/bo/p"))
    ours = theirs.with_changes(path=str(top / "a/SKILL.md"), message=f"m in `{top}/b`")
    assert kinds(accept(top, ours, baseline=file)) == ["baseline"]


def test_fixed_findings_are_counted(top: Path) -> None:
    """If their file was checked, or is gone; not if only other skills were checked."""
    first, second = skill(top, "a/SKILL.md"), skill(top, "b/SKILL.md")
    gone = str(top / "gone/SKILL.md")
    file = read_baseline(baseline(top, *(finding("name-case", "m", path=path) for path in (first, second, gone))))
    assert accept(top, skills=[first, second], baseline=file).notes == ("3 findings of the baseline are fixed",)
    assert accept(top, skills=[first], baseline=file).notes == ("2 findings of the baseline are fixed",)
    assert accept(top, skills=[], baseline=file).notes == ("1 finding of the baseline is fixed",)


GOOD = {"root": "/r", "findings": [{"code": "name-case", "path": "/r/a", "fingerprint": "0" * 32}], "counts": {}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is not JSON"),
        ("\xff", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it has no list of `findings`"),
        ("null", "it has no list of `findings`"),
        ('{"runs": []}', "it has no list of `findings`"),
        ('{"findings": {}}', "it has no list of `findings`"),
        ('{"findings": [], "counts": {}}', "it has no `root`"),
        ('{"findings": [1], "root": "/"}', "a finding has no `fingerprint`"),
        ('{"findings": [{"fingerprint": "x"}], "root": "/"}', "a finding has no `fingerprint`"),
        (json.dumps(GOOD).replace("name-case", "of-another-tool"), "a finding has no known `code`"),
    ],
)
def test_a_foreign_file_is_an_error_and_no_empty_baseline(top: Path, content: str, reason: str) -> None:
    path = top / "baseline.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ConfigError, match=re.escape(f"is not a baseline: {reason}")) as raised:
        read_baseline(str(path))
    assert raised.value.hint == "write it with `prowess check --json > FILE`"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert len(read_baseline(str(path)).files) == 1


def test_a_baseline_that_cannot_be_read_is_an_error(top: Path) -> None:
    """Missing, a folder, or a FIFO, which does not block."""
    os.mkfifo(top / "fifo")
    for name, reason in (("no.json", "no such file"), ("..", "a folder"), ("fifo", "a FIFO"), ("a\0b", "no such file")):
        with pytest.raises(ConfigError, match=f"cannot read the baseline .*: .*{reason}"):
            read_baseline(str(top / name))


def test_windows_paths_of_a_baseline_are_relative_to_its_root(top: Path) -> None:
    value = {**GOOD, "root": r"C:\work\r", "findings": [{**GOOD["findings"][0], "path": r"C:\work\r\a\SKILL.md"}]}  # type: ignore[index]
    path = write(top, "baseline.json", json.dumps(value))
    assert list(read_baseline(path).files.values()) == ["a/SKILL.md"]


# ── any content ──────────────────────────────────────────────────────────────────────────────────────────────────────

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.sampled_from(["name-case", "0" * 32, "/r"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["findings", "root", "code", "path", "fingerprint", "skill", "reason", "ignore"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(value=JSON)
def test_any_json_is_a_baseline_or_an_error(value: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        with suppress(ConfigError):
            assert accept_findings([], base=folder, home=folder, baseline=read_baseline(path)).findings == ()


@pytest.mark.slow
@given(content=st.binary(max_size=60), before=st.sampled_from([b"", b"[tool.prowess]\n", b"---\n# prowess: ignore "]))
def test_any_bytes_are_rules_or_an_error(content: bytes, before: bytes) -> None:
    """In `pyproject.toml` and in a skill."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("pyproject.toml", "SKILL.md"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(before + content + b"\n---\n")
        with suppress(ConfigError):
            project_rules(folder)
        comment_rules(os.path.join(folder, "SKILL.md"))


@pytest.mark.slow
@given(value=JSON)
def test_any_table_is_rules_or_an_error(value: object) -> None:
    with suppress(ConfigError):
        for rule in read_table(value, "pyproject.toml").ignore:
            rule.matches(finding("name-case", "m", path="/r/a/SKILL.md"), "/r")
