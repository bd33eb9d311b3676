"""A command that is printed as a cure cures, for every skill that it names, and takes no skill from another agent."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.filesystem import Question
from prowess.find import find_repository_skills
from prowess.skill import integrity_digest
from prowess.visibility import Comparison, compare, group_losses
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "---\nname: {name}\ndescription: Does it.\n---\nDo.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty project and home, and go there."""
    project = tmp_path.resolve() / "project"
    write_repository(project / ".git")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path.resolve() / "home"))
    monkeypatch.chdir(project)
    return project


def write(path: Path, text: str) -> Path:
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text(text)
    return path


def compared(*hosts: str) -> Comparison:
    """Compare from the working directory all skills of its folder."""
    files = [item.path for item in find_repository_skills(".").skills]
    return compare(Question.about("."), hosts=hosts, files=files, cache=False)


def cures(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Return the commands, and the sentences."""
    found = [cure for group in group_losses(comparison) for cure in group.cures]
    commands = [cure.text for cure in found if cure.is_command]
    return commands, [cure.text for cure in found if not cure.is_command]


def run(command: str) -> None:
    for part in command.split(" && "):
        name, *arguments = shlex.split(part, comments=True)
        assert name == "prowess"
        assert main(arguments) == 0, part


def losers(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    return {item.folder: item.losers for item in comparison.distinct if item.losers}


def test_a_command_names_no_skill_that_the_agent_would_reject_anyway(project: Path) -> None:
    skill(project / "skills/good")
    write(project / "skills/list", "---\nname: list\ndescription: [a, b]\n---\nDo.\n")
    commands, sentences = cures(compared("codex"))
    assert commands == ["prowess mount skills/good --project --host codex"]
    assert len(sentences) == 1
    assert sentences[0].endswith("; then `prowess mount skills/list --project --host codex`")
    run(commands[0])
    assert losers(compared("codex")) == {"list": ("codex",)}


@pytest.mark.parametrize(
    "field", ["license: [MIT]", "metadata: [a]", "allowed-tools: [Read]", "compatibility: {a: b}", "colour: red"]
)
def test_a_skill_that_mount_would_refuse_is_fixed_or_not_validated(project: Path, field: str) -> None:
    write(project / "skills/pdf", f"---\nname: pdf\ndescription: Does it.\n{field}\n---\nDo.\n")
    (command,), _ = cures(compared("claude-code"))
    run(command)
    assert not losers(compared("claude-code"))


def test_a_program_as_front_matter_is_in_no_command(project: Path) -> None:
    write(project / "skills/js", "---js\nmodule.exports = {}\n---\nDo.\n")
    assert cures(compared("claude-code", "codex", "gemini-cli"))[0] == []


@pytest.mark.parametrize("name", ["other", "Upper Case", "a_b", "x" * 70, "été"])
def test_after_the_command_a_skill_whose_name_is_not_that_of_its_folder_is_not_lost(project: Path, name: str) -> None:
    write(project / ".claude/skills/pdf", TEXT.format(name=name))
    (project / ".claude/skills/pdf/notes.txt").write_text("Notes.\n")
    before = compared("codex", "claude-code")
    (command,), _ = cures(before)
    run(command)
    after = compared("codex", "claude-code")
    assert not losers(after)
    assert len(after.distinct) == 1


def test_a_copy_that_was_changed_is_another_skill(project: Path) -> None:
    write(project / ".claude/skills/pdf", TEXT.format(name="A B"))
    (project / ".claude/skills/pdf/notes.txt").write_text("Notes.\n")
    (command,), _ = cures(compared("codex"))
    run(command)
    (project / ".agents/skills/pdf/notes.txt").write_text("Other\n")
    assert len(compared("codex").distinct) == 2


def test_the_target_of_a_linked_folder_is_mounted(project: Path) -> None:
    write(project / "shared/pdf", TEXT.format(name="pdf"))
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/linked").symlink_to("../../shared/pdf")
    shown = compare(Question.about("."), hosts=["claude-code", "codex"], cache=False)
    (command,), _ = cures(shown)
    assert command.startswith("prowess mount shared/pdf ")
    run(command)
    assert not losers(compare(Question.about("."), hosts=["claude-code", "codex"], cache=False))


def test_a_link_as_skill_file_is_replaced_by_hand_first(project: Path) -> None:
    (project / "text.md").write_text(TEXT.format(name="pdf"))
    (project / ".claude/skills/pdf").mkdir(parents=True)
    (project / ".claude/skills/pdf/SKILL.md").symlink_to("../../../text.md")
    commands, (sentence,) = cures(compare(Question.about("."), hosts=["claude-code", "codex"], cache=False))
    assert commands == []
    assert "a link" in sentence


def test_a_file_that_some_agents_reach_through_a_link_is_one_skill(project: Path) -> None:
    write(project / ".agents/skills/pdf", TEXT.format(name="pdf"))
    (project / ".claude/skills/pdf").mkdir(parents=True)
    (project / ".claude/skills/pdf/SKILL.md").symlink_to("../../../.agents/skills/pdf/SKILL.md")
    hosts = ("claude-code", "copilot", "codex", "gemini-cli", "opencode", "pi", "qwen-code")
    (row,) = compare(Question.about("."), hosts=hosts, cache=False).skills
    assert row.real.endswith("/.agents/skills/pdf/SKILL.md")
    assert "codex" not in row.losers
    assert {host for host, view in row.views.items() if view.state == "rejected"} <= set(row.losers)


@pytest.mark.parametrize("kind", ["skill", "link", "file"])
def test_what_is_where_the_copy_would_be_is_moved_by_hand_first(project: Path, kind: str) -> None:
    skill(project / "skills/pdf")
    place = project / ".agents/skills"
    if kind == "skill":
        write(place / "pdf", "No front matter.")
    elif kind == "link":
        (project / "elsewhere").mkdir()
        (project / ".agents").mkdir()
        place.symlink_to("../elsewhere")
    else:
        (project / ".agents").write_text("")
    commands, sentences = cures(compared("codex"))
    assert not [command for command in commands if "mount" in command]
    assert any("; then `prowess mount skills/pdf --project --host codex`" in sentence for sentence in sentences)


def test_no_command_hides_the_skill_of_another_agent(project: Path) -> None:
    skill(project / ".claude/skills/pdf", description="One.")
    skill(project.parent / "home/.gemini/skills/pdf", description="Two.")
    commands, sentences = cures(compared("codex", "gemini-cli"))
    assert not [command for command in commands if ".claude/skills/pdf" in command]
    assert any("which has that name at Gemini CLI, another name" in sentence for sentence in sentences)


def test_a_copy_where_the_other_agent_looks_last_is_a_command(project: Path) -> None:
    """Claude Code lets the user win over the project, so nothing is taken from it."""
    skill(project / ".codex/skills/pdf", description="One.")
    skill(project.parent / "home/.claude/skills/pdf", description="Two.")
    loss = (
        next(item for item in compared("copilot", "claude-code").skills if ".codex" in item.path).views["copilot"].loss
    )
    assert loss is not None
    assert loss.is_command


def test_of_two_skills_of_one_name_only_one_gets_a_command(project: Path) -> None:
    skill(project / "packages/a/skills/pdf", description="One.")
    skill(project / "packages/b/skills/pdf", description="Two.")
    commands, (sentence,) = cures(compared("codex"))
    assert commands == ["prowess mount packages/a/skills/pdf --project --host codex"]
    assert "packages/a/skills/pdf/SKILL.md, which would get the same folder, another name" in sentence


def test_a_command_that_puts_a_copy_elsewhere_for_some_agents_is_not_theirs(project: Path) -> None:
    """From a package, Codex searches the top of the repository and Gemini CLI the package."""
    skill(project / "packages/a/skills/pdf")
    os.chdir(project / "packages/a")
    hosts = ("codex", "copilot", "gemini-cli")
    for group in group_losses(compared(*hosts)):
        for cure in group.cures:
            run(cure.text)
            seen = compared(*hosts)
            assert not set(losers(seen).get("pdf", ())) & set(cure.hosts)
            for made in (project / ".agents", project / "packages/a/.agents"):
                shutil.rmtree(made, ignore_errors=True)


def test_a_command_fixes_a_skill_that_one_of_its_agents_cannot_load(project: Path) -> None:
    write(project / "skills/pdf", "---\nname: pdf\ndescription: Use when: it is due.\n---\nDo.\n")
    for hosts in (("codex", "copilot"), ("copilot", "codex")):
        (command,), _ = cures(compared(*hosts))
        assert command.startswith("prowess check --fix skills/pdf && ")
    run(command)
    assert not losers(compared("codex", "copilot"))


def test_a_setting_that_would_hide_the_copy_is_changed_first(project: Path) -> None:
    skill(project / ".claude/skills/pdf")
    settings = project.parent / "home/.gemini/settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"skills": {"disabled": ["pdf"]}}))
    commands, (sentence,) = cures(compared("gemini-cli"))
    assert commands == []
    assert sentence.startswith("remove `pdf` from `skills.disabled` in ~/.gemini/settings.json; then `prowess mount ")


def test_a_fix_after_which_another_skill_has_the_name_is_no_command(project: Path) -> None:
    skill(project / ".agents/skills/pdf")
    write(project.parent / "home/.agents/skills/pdf", "---\nname: pdf\ndescription: Use when: due.\n---\nDo.\n")
    commands, (sentence,) = cures(compare(Question.about("."), hosts=["copilot"], cache=False))
    assert commands == []
    assert sentence.startswith(
        "give this skill or .agents/skills/pdf/SKILL.md, which has that name, another name; then"
    )


def test_a_copy_behind_another_skill_of_its_name_is_no_loss(project: Path) -> None:
    """Codex shows all skills of a name."""
    skill(project / ".agents/skills/pdf", description="Other.")
    skill(project.parent / "home/.agents/skills/pdf", description="Same.")
    skill(project / ".claude/skills/pdf", description="Same.")
    seen = compared("codex")
    assert not losers(seen)


def test_a_copy_of_what_an_agent_brings_along_is_counted(project: Path) -> None:
    system = project.parent / "home/.codex/skills/.system"
    skill(system / "pdf")
    (project / ".codex").mkdir()
    (project / ".codex/skills").symlink_to(system)
    shutil.copytree(system / "pdf", project / ".opencode/skills/pdf")
    seen = compare(Question.about("."), hosts=["claude-code", "codex", "opencode"], cache=False)
    assert losers(seen) == {"pdf": ("claude-code",)}


@pytest.mark.parametrize("folder", ["a\nb", "a\x1b[31m", "a\u202eb"])
def test_a_path_that_cannot_be_typed_is_in_no_command(project: Path, folder: str) -> None:
    """Its printed form could be the path of another skill."""
    write(project / "skills" / folder, TEXT.format(name="pdf"))
    write(project / ".agents/skills" / folder, "---\nname: x\ndescription: Use when: due.\n---\nDo.\n")
    commands, sentences = cures(compared("codex", "copilot"))
    assert commands == []
    assert sentences


def test_a_copy_of_a_skill_that_is_switched_off_is_lost_too(project: Path) -> None:
    home = project.parent / "home"
    skill(home / ".copilot/skills/pdf")
    shutil.copytree(home / ".copilot/skills/pdf", home / ".agents/skills/pdf")
    (home / ".copilot/settings.json").write_text(json.dumps({"disabledSkills": ["pdf"]}))
    seen = compare(Question.about("."), hosts=["copilot"], cache=False)
    assert losers(seen) == {"pdf": ("copilot",)}
    assert cures(seen)[1] == ["remove `pdf` from `disabledSkills` in ~/.copilot/settings.json"]


# ── mounted copies of a skill that has changed ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["skills/pdf", ".claude/skills/pdf", "skills/My Skill"])
def test_after_a_change_of_a_skill_the_command_mounts_its_copies_again(project: Path, place: str) -> None:
    """With the name that the copy has, and to the folder of whichever agent it was mounted for."""
    file = skill(project / place, "pdf")
    hosts = ("claude-code", "codex", "copilot", "opencode")
    for command in cures(compared(*hosts))[0]:
        run(command)
    before = compared(*hosts)
    assert losers(before) == {}
    file.write_text(file.read_text().replace("Do it.", "Do it twice."))
    changed = compared(*hosts)
    assert (losers(changed), changed.kinds) == ({}, before.kinds)
    copies = [each.outdated for each in changed.skills if each.outdated is not None]
    assert len(copies) == len(before.skills) - 1
    for copy in copies:
        assert copy.is_command
        run(copy.cure)
    after = compared(*hosts)
    assert (losers(after), after.kinds, [each.outdated for each in after.skills if each.outdated]) == (
        {},
        before.kinds,
        [],
    )


def test_a_copy_that_was_changed_by_hand_is_another_skill(project: Path) -> None:
    """`mount` would not replace it."""
    skill(project / "skills/pdf")
    assert main(["mount", "skills/pdf", "--project", "--host", "codex"]) == 0
    copy = project / ".agents/skills/pdf/SKILL.md"
    copy.write_text(copy.read_text() + "And more.\n")
    commands, sentences = cures(compared("codex"))
    assert commands == []
    assert [text.partition(",")[0] for text in sentences] == ["give one of the two another name"]


@pytest.mark.parametrize(
    "record",
    ["", "[]", "[" * 100_000, '{"skills": 1}', '{"skills": [{"name": "pdf", "source": 1, "seal": null}]}', "\0"],
)
def test_a_record_that_is_not_one_of_mount_s_is_ignored(project: Path, record: str) -> None:
    skill(project / "skills/pdf", description="One.")
    skill(project / ".agents/skills/pdf", description="Two.")
    (project / ".agents/.prowess-skills.json").write_text(record)
    commands, sentences = cures(compared("codex"))
    assert (commands, len(sentences)) == ([], 1)


def test_a_record_cannot_name_another_source(project: Path) -> None:
    """Who writes the record decides nothing but the words for two skills that are there."""
    skill(project / "skills/pdf", description="One.")
    skill(project / "other/pdf", description="Two.")
    assert main(["mount", "other/pdf", "--project", "--host", "codex"]) == 0
    (project / "other/pdf/SKILL.md").write_text(TEXT.format(name="pdf"))
    found = {os.path.relpath(each.path, project): each for each in compared("codex").skills}
    copy = found[".agents/skills/pdf/SKILL.md"]
    assert copy.outdated is not None
    assert (os.path.relpath(copy.copy_of or "", project), copy.outdated.cure) == (
        "other/pdf/SKILL.md",
        "prowess mount other/pdf --project --host codex",
    )
    record = project / ".agents/.prowess-skills.json"
    record.write_text(record.read_text().replace("../other/pdf", "/etc"))
    assert all(each.copy_of is None for each in compared("codex").skills)


@pytest.mark.parametrize("umask", ["022", "002", "077"])
@pytest.mark.parametrize("record", ["new", "old"])
def test_a_clone_knows_its_mounted_copies_under_each_umask(
    project: Path, umask: str, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What git does not keep does not count: where the project is, modes but the right to execute, empty folders."""
    run("prowess new slug --dir .agents/skills")
    (project / ".agents/skills/slug/run.sh").write_text("#!/bin/sh\n")
    (project / ".agents/skills/slug/run.sh").chmod(0o755)
    if record == "new":
        (project / ".agents/skills/slug/empty/deep").mkdir(parents=True)
    run("prowess mount .agents/skills/slug --project --host claude-code")
    file, clone = project / ".claude/.prowess-skills.json", project.with_name("clone")
    assert json.loads(file.read_text())["skills"][0]["source"] == "../.agents/skills/slug"
    if record == "old":  # as it was written before: the path was absolute, and the digest had the modes
        data = json.loads(file.read_text())
        data["skills"][0]["source"] = str(clone / ".agents/skills/slug")
        data["skills"][0]["seal"] = integrity_digest(str(project / ".claude/skills/slug"))
        file.write_text(json.dumps(data))
    # `=` without `a` obeys the umask, as git does, which keeps no empty folder.
    script = f"umask {umask}; cp -R project clone; chmod -R =rwX clone; find clone/.[ac]* -type d -empty -delete"
    subprocess.run(["sh", "-c", script], cwd=project.parent, check=True)
    monkeypatch.chdir(clone)
    assert [(item.path, item.copy_of) for item in compared("claude-code", "codex").skills] == [
        (str(clone / ".agents/skills/slug/SKILL.md"), None),
        (str(clone / ".claude/skills/slug/SKILL.md"), str(clone / ".agents/skills/slug/SKILL.md")),
    ]
    (clone / ".agents/skills/slug/run.sh").write_text("#!/bin/sh\ntrue\n")
    run("prowess mount .agents/skills/slug --project --host claude-code")
    assert (clone / ".claude/skills/slug/run.sh").read_text() == "#!/bin/sh\ntrue\n"
    (clone / ".claude/skills/slug/run.sh").chmod(0o644)
    assert main(["mount", "--remove", "slug", "--project", "--host", "claude-code"]) == 1
    (clone / ".claude/skills/slug/run.sh").chmod(0o755)
    run("prowess mount --remove slug --project --host claude-code")
    assert not (clone / ".claude").exists()
