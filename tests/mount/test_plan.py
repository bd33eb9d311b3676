"""Describe which skills to mount, and plan a mount: every problem is reported, and nothing is changed."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from endurance import content
from prowess._internal.files import MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES
from prowess.catalog import discover
from prowess.errors import (
    ConfigError,
    HostNotFoundError,
    SkillError,
    SkillMountError,
    SkillNotFoundError,
    SkillValidationError,
)
from prowess.hosts import host_names, load_host
from prowess.mount import SkillConfig, SkillMount, mount, plan, resolve_skill_name, skills_root, unmount
from support.files import write_file
from support.mounting import HOST, KEEP_HINT, MOVE_HINT, ROOT, refused, removed, replace_with_link, varied_skill
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESOLVED: dict[str, tuple[str, str | None, str]] = {
    "a name of its own": ("skills/review-v2", "code-review", "code-review"),
    "a folder": ("skills/code-review", None, "code-review"),
    "a folder with a dot": ("skills/v1.md", None, "v1.md"),
    "a folder and a slash": ("skills/code-review/", None, "code-review"),
    "a folder as one is in it": ("skills/code-review/.", None, "code-review"),
    "a file": ("my-skill.md", None, "my-skill"),
    "a file in capitals": ("MY-SKILL.MD", None, "MY-SKILL"),
    "a file that is not Markdown": ("notes.txt", None, "notes.txt"),
    "a SKILL.md": ("skills/code-review/SKILL.md", None, "code-review"),
    "what is not there": ("nowhere/thing", None, "thing"),
    "an empty name": ("skills/code-review", "", ""),
}


@pytest.mark.parametrize("row", RESOLVED)
def test_a_skill_is_named_by_its_name_or_its_folder_or_its_file(
    row: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order, for absolute and relative paths, and without validation."""
    for folder in ("review-v2", "code-review", "v1.md"):
        skill(top / "skills" / folder)
    source, name, expected = RESOLVED[row]
    monkeypatch.chdir(top)
    assert resolve_skill_name(SkillMount(source, name)) == expected
    assert resolve_skill_name(SkillMount(f"{top}/{source}", name)) == expected
    assert resolve_skill_name(SkillMount(top / source, name)) == expected


ROOTS = {
    "aam": ".claude/skills",
    "amp": ".config/agents/skills",
    "camel": ".camel/skills",
    "camel-ai": ".camel/skills",
    "claude-code": ".claude/skills",
    "cline": ".agents/skills",
    "codex": ".codex/skills",
    "copilot": ".copilot/skills",
    "cursor": ".cursor/skills",
    "gemini-cli": ".agents/skills",
    "goose": ".agents/skills",
    "infer": ".infer/skills",
    "infer-cli": ".infer/skills",
    "initrunner": ".agents/skills",
    "kimi-code": ".kimi-code/skills",
    "letta": ".letta/skills",
    "mistral-vibe": ".vibe/skills",
    "opencode": ".config/opencode/skills",
    "pi": ".pi/agent/skills",
    "pi@0.7": ".pi/agent/skills",
    "prowess": ".prowess/skills",
    "qwen-code": ".qwen/skills",
    "vscode": ".copilot/skills",
}


def test_every_host_with_a_user_root_is_in_the_table() -> None:
    assert {*ROOTS} == {name for name in host_names() if any(root.scope == "user" for root in load_host(name).roots)}


@pytest.mark.parametrize("host", ROOTS)
def test_a_skill_is_mounted_where_its_host_finds_it(host: str, top: Path, home: Path) -> None:
    """The host finds that skill there, and nothing else."""
    (mounted,) = mount([SkillMount(varied_skill(top / "pdf"))], home, host=host).skills
    assert mounted.destination == str(home / ROOTS[host] / "pdf")
    (top / "work").mkdir()
    seen = discover(top / "work", host=host, home=home, env={"INFER_AGENT_SKILLS_ENABLED": "true"}, cache=False)
    assert [entry.path for entry in seen.active] == [f"{mounted.destination}/SKILL.md"]
    assert unmount(None, home, host=host) == (mounted.destination,)
    assert content(home) == {"": ("folder", stat.S_IMODE(home.stat().st_mode), b"")}


def test_a_host_without_a_user_root_is_refused(top: Path, home: Path) -> None:
    """An unknown host is refused, too."""
    mounts = [SkillMount(skill(top / "pdf").parent)]
    for call in (lambda: mount(mounts, home, host="wink"), lambda: unmount(None, home, host="wink")):
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value) == "the host `wink` has no folder for its user's skills"
        assert error.value.hint == "`prowess hosts` shows the folders of each host"
    with pytest.raises(HostNotFoundError):
        skills_root("clod")
    assert not home.exists()


def test_prowess_exports_the_names_and_limits_of_wink() -> None:
    import prowess

    names = ["SkillMount", "SkillConfig", "resolve_skill_name", "validate_skill", "validate_skill_name"]
    package = sys.modules["prowess.mount"]
    assert all(getattr(prowess, name) is getattr(package, name) for name in names)
    assert (MAX_SKILL_FILE_BYTES, MAX_SKILL_TOTAL_BYTES) == (1 << 20, 10 << 20)
    assert issubclass(SkillValidationError, SkillError)
    assert issubclass(SkillNotFoundError, SkillError)
    assert issubclass(SkillMountError, SkillError)


def test_arguments_of_a_wrong_type_are_refused(top: Path) -> None:
    """A string is not a list of names: `ab` would remove the skills `a` and `b`."""
    source, home = skill(top / "ink"), top / "home"
    wrong: list[tuple[Any, Any, str]] = [
        (None, home, "`skills` must be a list, not NoneType"),
        (str(source), home, "`skills` must be a list, not str"),
        (SkillConfig(SkillMount(source)), home, "`skills` must be a list, not SkillMount"),  # type: ignore[arg-type]
        ([source], home, "which is not a SkillMount"),
        ([SkillMount(None)], home, "the source of a skill must be a path, not NoneType"),  # type: ignore[arg-type]
        ([SkillMount(os.fsencode(source))], home, "the source of a skill must be a path, not bytes"),  # type: ignore[arg-type]
        ([SkillMount(source)], None, "the home must be a path, not NoneType"),
        ([SkillMount(source)], os.fsencode(home), "the home must be a path, not bytes"),
        ([SkillMount(source)], "a\0b", "is not a valid path"),
        ([SkillMount(source)], "/\ud800", "is not a valid path"),
    ]
    for skills, place, message in wrong:
        with pytest.raises(SkillMountError, match=message) as error:
            mount(skills, place, host=HOST)
        assert error.value.hint
    assert not home.exists()
    mount([SkillMount(source, "a"), SkillMount(source, "b")], home, host=HOST)
    names: list[tuple[Any, str]] = [("ab", "must be a list, not str"), (5, "not int"), ([None], "must be a string")]
    for name, message in names:
        with pytest.raises(SkillMountError, match=message):
            unmount(name, home, host=HOST)
    assert len(unmount(None, home, host=HOST)) == 2


@pytest.mark.parametrize(
    ("path", "kind"),
    [("gone", "SkillNotFoundError"), ("folder", "SkillValidationError"), ("link", "SkillMountError")],
)
def test_the_error_for_a_source_that_is_not_a_skill_says_why(path: str, kind: str, top: Path, home: Path) -> None:
    """`cases/cli/mount-refused.md` has the message of each."""
    (top / "folder").mkdir()
    (top / "link").symlink_to(skill(top / "pdf").parent)
    assert [problem[0] for problem in refused([SkillMount(top / path)], home)] == [kind]


def test_a_path_with_a_nul_character_is_not_found(home: Path) -> None:
    home.parent.mkdir(exist_ok=True)
    assert refused([SkillMount("a\0b")], home) == [
        ("SkillNotFoundError", f"no such file or folder: `{os.getcwd()}/a\\x00b`", "check the path")
    ]


def test_the_path_to_a_skill_may_contain_links(top: Path, home: Path) -> None:
    """For a folder and for a single file."""
    write_file(top / "real/helper.md", skill(top / "real/pdf").read_text())
    (top / "way").symlink_to("real")
    mounted = mount([SkillMount(top / "way/pdf"), SkillMount(top / "way/helper.md")], home, host=HOST)
    assert [one.name for one in mounted.skills] == ["pdf", "helper"]


def test_two_skills_with_the_same_name_are_refused(top: Path, home: Path) -> None:
    """Wherever their names come from. A disabled skill does not count."""
    one, two = skill(top / "a/pdf").parent, skill(top / "b/pdf").parent
    expected = [
        (
            "SkillMountError",
            "TOP/b/pdf: two skills have the name `pdf`: the other is TOP/a/pdf",
            "give one of them another name",
        )
    ]
    assert refused([SkillMount(one), SkillMount(two)], home) == expected
    assert refused([SkillMount(one), SkillMount(two, "pdf")], home) == expected
    assert len(mount([SkillMount(one, enabled=False), SkillMount(two)], home, host=HOST).skills) == 1


def test_a_skill_is_not_copied_into_itself(top: Path) -> None:
    """Nor into a folder inside it, also if a link leads there."""
    folder = skill(top / "pdf").parent
    (top / "way").symlink_to("pdf")
    for place in (folder, folder / "deep", top / "way"):
        before = content(top)
        with pytest.raises(SkillMountError) as error:
            mount([SkillMount(folder)], place, host=HOST)
        assert str(error.value) == f"{folder}: `{place}/{ROOT}` is inside the skill `{folder}`"
        assert content(top) == before


def test_an_error_has_the_type_of_its_first_problem(top: Path, home: Path) -> None:
    """And all of them; `cases/cli/mount.md` has the text."""
    skill(top / "pdf")
    mounts = [SkillMount(top / "gone"), SkillMount(top / "pdf", "../x"), SkillMount(top / "pdf")]
    with pytest.raises(SkillNotFoundError, match="2 problems; nothing was mounted") as error:
        mount(mounts, home, host=HOST)
    assert [type(one) for one in error.value.problems] == [SkillNotFoundError, SkillMountError]
    assert not home.exists()


BY_HAND: dict[str, Callable[[Path], object]] = {
    "a skill": skill,
    "an empty folder": lambda path: path.mkdir(parents=True),
    "a file": lambda path: write_file(path, "x"),
    "a link": lambda path: replace_with_link(path, "/nowhere"),
}


@pytest.mark.parametrize("row", BY_HAND)
def test_a_target_that_prowess_did_not_mount_is_never_replaced(row: str, top: Path, home: Path) -> None:
    BY_HAND[row](home / ROOT / "pdf")
    message = f"TOP/pdf: `TOP/home/{ROOT}/pdf` already exists, and Prowess did not mount it"
    assert refused([SkillMount(skill(top / "pdf").parent)], home) == [("SkillMountError", message, MOVE_HINT)]


CHANGED: dict[str, Callable[[Path], object]] = {
    "a byte": lambda copy: write_file(copy / "SKILL.md", (copy / "SKILL.md").read_bytes() + b"\n"),
    "a file more": lambda copy: write_file(copy / "more.md", ""),
    "a file less": lambda copy: (copy / "references/a.md").unlink(),
    "the right to execute": lambda copy: (copy / "references/a.md").chmod(0o755),
    "a link in it": lambda copy: (copy / "l").symlink_to("SKILL.md"),
    "a link that leads out": lambda copy: (copy / "l").symlink_to("/etc"),
    "another folder": lambda copy: skill(removed(copy)),
    "a link to what it was": lambda copy: replace_with_link(copy, "../away", copy.parent.parent / "away"),
    "a file in its place": lambda copy: write_file(removed(copy), ""),
}


@pytest.mark.parametrize("row", CHANGED)
def test_a_changed_copy_is_neither_replaced_nor_removed(row: str, top: Path, home: Path) -> None:
    """Its user may need the changes. Removing several skills then removes none."""
    mount([SkillMount(varied_skill(top / "pdf")), SkillMount(skill(top / "ink").parent)], home, host=HOST)
    CHANGED[row](home / ROOT / "pdf")
    message = f"`TOP/home/{ROOT}/pdf` has changed since it was mounted"
    mounts = [SkillMount(top / "pdf"), SkillMount(top / "ink")]
    assert refused(mounts, home) == [("SkillMountError", f"TOP/pdf: {message}", KEEP_HINT)]
    before = content(top)
    for names in (["ink", "pdf"], None):
        with pytest.raises(SkillMountError) as error:
            unmount(names, home, host=HOST)
        assert (str(error.value).replace(str(top), "TOP"), error.value.hint) == (message, KEEP_HINT)
    assert content(top) == before


def test_a_plan_changes_nothing(top: Path, home: Path) -> None:
    """Neither the skills nor the home."""
    mounts = [SkillMount(varied_skill(top / "pdf"), "ink")]
    before = content(top)
    planned = plan(mounts, home, host=HOST)
    assert content(top) == before
    assert (planned.home, planned.host, planned.root) == (str(home), HOST, ROOT)
    assert [(copy.name, copy.source, copy.renamed_from) for copy in planned.copies] == [
        ("ink", str(top / "pdf"), "pdf")
    ]
