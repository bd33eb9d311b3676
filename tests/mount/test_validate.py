"""Validate a skill before mounting: its name, its front matter, programs and repositories in it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from prowess._internal.files import skill_digest
from prowess.errors import SkillError, SkillMountError, SkillValidationError
from prowess.hosts import host_names, load_host
from prowess.isolation import EphemeralHome, IsolationConfig
from prowess.mount import SkillConfig, SkillMount, mount, validate_skill, validate_skill_name
from support.files import write_file
from support.mounting import HOST, NAME_HINT, ROOT, refused, skill_text
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["pdf-processing", "data-analysis", "code-review", "skill2", "a", "7", "a" * 64])
def test_names_of_the_specification_are_valid(name: str) -> None:
    """Its own examples, and the shortest and longest name."""
    validate_skill_name(name)


NO_NAMES: dict[str, tuple[Any, str]] = {
    "upper case": ("PDF-Processing", "`PDF-Processing` is not a valid skill name"),
    "a hyphen first": ("-pdf", "`-pdf` is not a valid skill name"),
    "a hyphen last": ("pdf-", "`pdf-` is not a valid skill name"),
    "two hyphens": ("pdf--process", "`pdf--process` is not a valid skill name"),
    "an underscore": ("skill_v2", "`skill_v2` is not a valid skill name"),
    "a newline": ("foo\n", "`foo\\x0a` is not a valid skill name"),
    "a NUL": ("a\0b", "`a\\x00b` is not a valid skill name"),
    "a way up": ("../x", "`../x` is not a valid skill name"),
    "two dots": ("..", "`..` is not a valid skill name"),
    "one dot": (".", "`.` is not a valid skill name"),
    "a slash": ("a/b", "`a/b` is not a valid skill name"),
    "a backslash": ("a\\b", "`a\\b` is not a valid skill name"),
    "an absolute path": ("/etc", "`/etc` is not a valid skill name"),
    "another alphabet": ("é", "`é` is not a valid skill name"),
    "digits of another alphabet": ("٣", "`٣` is not a valid skill name"),
    "a blank": ("a b", "`a b` is not a valid skill name"),
    "nothing": ("", "the skill name is empty"),
    "no text": (5, "a skill name must be a string, not int"),
    "65 letters": ("b" * 65, f"the name `{'b' * 59}…` has 65 characters; at most 64 are allowed"),
}


@pytest.mark.parametrize("row", NO_NAMES)
def test_an_invalid_name_is_refused(row: str, top: Path, home: Path) -> None:
    """By `validate_skill_name` and by `mount`, whether it is given or comes from a path."""
    name, message = NO_NAMES[row]
    hints = {"no text": "pass a string", "65 letters": "shorten it"}
    hint = hints.get(row, NAME_HINT)
    with pytest.raises(SkillMountError) as error:
        validate_skill_name(name)
    assert (str(error.value), error.value.hint) == (message, hint)
    write_file(top / "pdf.md", skill(top / "pdf").read_text())
    for source in ("pdf", "pdf.md"):
        expected = [("SkillMountError", f"TOP/{source}: {message}", hint)]
        assert refused([SkillMount(top / source, name)], home) == expected
        assert refused([SkillMount(top / source, name)], home, validate_on_mount=False) == expected


def test_an_invalid_name_from_a_path_is_refused(top: Path, home: Path) -> None:
    write_file(top / "My_Notes.md", skill(top / "pdf").read_text())
    assert refused([SkillMount(top / "My_Notes.md")], home) == [
        (
            "SkillMountError",
            "TOP/My_Notes.md: `My_Notes` is not a valid skill name",
            NAME_HINT,
        )
    ]


def test_a_skill_that_breaks_a_rule_is_refused(top: Path, home: Path) -> None:
    """WINK's "Validation errors"; `cases/cli/mount-refused.md` has each of them, and `validate_on_mount=False`."""
    file = write_file(top / "pdf/SKILL.md", skill_text(description='""'))
    message, hint = "3: the description is empty", "say what the skill does and when to use it"
    with pytest.raises(SkillValidationError) as error:
        validate_skill(top / "pdf")
    assert (str(error.value), error.value.hint) == (f"{file}:{message}", hint)
    assert [f"{item.line}: {item.message}" for item in error.value.findings] == [message]
    assert refused([SkillMount(top / "pdf")], home) == [("SkillValidationError", f"TOP/pdf/SKILL.md:{message}", hint)]
    (mounted,) = mount(SkillConfig((SkillMount(top / "pdf"),), validate_on_mount=False), home, host=HOST).skills
    assert mounted.digest == skill_digest(mounted.destination)


def test_a_single_file_may_have_another_name_than_its_front_matter(top: Path, home: Path) -> None:
    """The copy gets the name of its folder."""
    write_file(top / "helper.md", skill_text(name="something-else"))
    validate_skill(top / "helper.md")
    (mounted,) = mount([SkillMount(top / "helper.md")], home, host=HOST).skills
    assert (mounted.name, mounted.renamed_from) == ("helper", "something-else")
    assert (home / ROOT / "helper/SKILL.md").read_text() == skill_text(name="helper")


def test_unknown_fields_are_allowed(top: Path, home: Path) -> None:
    """A client may define its own fields."""
    write_file(top / "pdf/SKILL.md", skill_text(model="opus", context="fork"))
    validate_skill(top / "pdf")
    mount([SkillMount(top / "pdf")], home, host=HOST)
    assert (home / ROOT / "pdf/SKILL.md").read_text() == skill_text(model="opus", context="fork")


@given(st.text(max_size=70) | st.text("ab-", max_size=70))
def test_exactly_the_names_of_the_specification_are_valid(name: str) -> None:
    """1 to 64 of `a-z`, `0-9` and `-`, no `-` at an end or beside another."""
    fits = (
        1 <= len(name) <= 64
        and all(letter in "abcdefghijklmnopqrstuvwxyz0123456789-" for letter in name)
        and not (name.startswith("-") or name.endswith("-") or "--" in name)
    )
    try:
        validate_skill_name(name)
    except SkillMountError:
        assert not fits
    else:
        assert fits


PROGRAM = "---js\n{}\n---\nBody.\n"


def sources(top: Path) -> dict[str, Path]:
    """Return skills with a program in one of their files."""
    top.mkdir()
    for name in ("own", "inner", "hidden", "lower"):
        skill(top / name)
    for path in ("own/SKILL.md", "inner/docs/a/SKILL.md", "hidden/.x/node_modules/SKILL.md", "lower/b/skill.md"):
        write_file(top / path, PROGRAM)
    (top / "flat.md").write_text(PROGRAM)
    return {path.stem: path for path in top.iterdir()}


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("kind", ["own", "inner", "hidden", "lower", "flat"])
def test_a_program_is_never_mounted(tmp_path: Path, kind: str, *, validate: bool) -> None:
    """For any host, with validation and without, on any level of the skill."""
    source = sources(tmp_path / "skills")[kind]
    config = SkillConfig((SkillMount(source, name="pdf"),), validate_on_mount=validate)
    for host in host_names():
        if any(root.scope == "user" for root in load_host(host).roots):
            with pytest.raises(SkillError) as caught:
                mount(config, tmp_path / "home", host=host)
            assert type(caught.value) is SkillValidationError, host
            assert caught.value.findings[0].code == "frontmatter-code"
            assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("kind", ["own", "inner", "hidden", "lower", "flat"])
def test_a_program_is_not_valid(tmp_path: Path, kind: str) -> None:
    """The finding says where."""
    with pytest.raises(SkillValidationError, match="the front matter is a program") as caught:
        validate_skill(sources(tmp_path / "skills")[kind])
    assert caught.value.findings[0].line == 1


def test_a_skill_that_shows_programs_is_mounted(tmp_path: Path) -> None:
    """In its text and in other files."""
    skill(tmp_path / "pdf", body="---js\n{}\n---")
    (tmp_path / "pdf/example.md").write_text(PROGRAM)
    mount(SkillConfig((SkillMount(tmp_path / "pdf"),)), tmp_path / "home", host="opencode")
    assert (tmp_path / "home/.config/opencode/skills/pdf/SKILL.md").is_file()


NAMES = {
    "upper case": ".GIT",
    "mixed case": ".Git",
    "short name of Windows": "GIT~1",
    "another short name": "git~12",
    "dot at the end": ".git.",
    "blanks at the end": ".git . ",
    "stream of NTFS": ".git::$INDEX_ALLOCATION",
    "backslash": ".git\\hooks",
    "zero-width non-joiner": ".g\u200cit",
    "byte order mark": "\ufeff.git",
    "soft hyphen": ".gi\u00adt",
    "variation selector": ".git\ufe0f",
    "full width": "\uff0e\uff47\uff49\uff54",
    "dotted capital I": ".G\u0130T",
    "bytes that are not UTF-8": ".gi\udcfft",
    "Mercurial": ".hg",
    "Sapling": ".SL",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_other_spellings_of_a_repository_are_refused(name: str, tmp_path: Path) -> None:
    """Another system, or git on it, takes each of them for the same."""
    folder = skill(tmp_path / "pdf").parent
    write_file(folder / "a" / name / "config", "[core]\n")
    with pytest.raises(SkillValidationError, match="is a repository"):
        validate_skill(folder)
    with pytest.raises(SkillMountError, match="is a repository"):
        mount([SkillMount(folder)], tmp_path / "home", host=HOST)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "names",
    [("HEAD", "objects/x", "refs/x"), ("head", "Objects/x", "REFS/x"), ("HEAD", "commondir")],
    ids=["plain", "other case", "shared objects"],
)
@pytest.mark.parametrize("place", ["", "a/b"])
def test_a_bare_repository_is_refused(names: tuple[str, ...], place: str, tmp_path: Path) -> None:
    """Git finds it without a `.git`."""
    folder = skill(tmp_path / "pdf").parent
    for name in names:
        write_file(folder / place / name, "x")
    with pytest.raises(SkillValidationError, match="is a bare git repository"):
        validate_skill(folder)
    with pytest.raises(SkillMountError, match="is a bare git repository"):
        mount(SkillConfig((SkillMount(folder),), validate_on_mount=False), tmp_path / "home", host=HOST)


@pytest.mark.needs("git")
def test_what_git_itself_makes_is_refused(tmp_path: Path) -> None:
    """A clone, a bare clone, a worktree."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    top = skill(tmp_path / "pdf").parent
    subprocess.run([*git, "init", "-q", top], check=True)
    subprocess.run([*git, "-C", top, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    for number, command in enumerate((["clone", "-q"], ["clone", "-q", "--bare"])):
        folder = skill(tmp_path / f"s{number}").parent
        subprocess.run([*git, *command, top, folder / "inner"], check=True)
    subprocess.run([*git, "-C", top, "worktree", "add", "-q", tmp_path / "s2"], check=True)
    skill(tmp_path / "s2")
    for folder in (top, *(tmp_path / f"s{number}" for number in range(3))):
        with pytest.raises(SkillMountError, match="repository"):
            mount([SkillMount(folder)], tmp_path / "home", host=HOST)


def test_an_isolated_home_takes_no_repository(tmp_path: Path) -> None:
    """`prowess exec` and the adapters make such homes."""
    folder = skill(tmp_path / "pdf").parent
    write_file(folder / ".git/hooks/pre-commit", "#!/bin/sh\n")
    config = IsolationConfig(skills=SkillConfig((SkillMount(folder),)))
    with pytest.raises(SkillMountError, match=r"`\.git` is a repository"), EphemeralHome(config, host=HOST):
        pass


def test_files_that_only_mention_git_are_mounted(tmp_path: Path) -> None:
    folder = skill(tmp_path / "pdf").parent
    names = (".gitignore", ".gitattributes", ".github/x", "git", "git.md", ".gitx", "x.git", "HEAD", "objects/x", "a~1")
    for name in names:
        write_file(folder / name, "x")
    validate_skill(folder)
    (mounted,) = mount([SkillMount(folder)], tmp_path / "home", host=HOST).skills
    assert mounted.files == len(names) + 1
