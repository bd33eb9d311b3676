"""Which agents lose which skill, why, and that following the cure fixes it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.catalog import AWAITS_TRUST, REACHABLE, discover
from prowess.filesystem import Filesystem, Question
from prowess.hosts import DEFAULT_HOST, host_names, load_host, observed_hosts
from prowess.visibility import ABSENT, Comparison, compare, compare_catalogs
from support.files import write_file
from support.growth import END
from support.hosts import host_from_table
from support.proofs import short_or_long
from support.skills import skill
from support.trees import write_repository

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = tuple(name for name in host_names() if name != DEFAULT_HOST)
REPAIRED = "---\nname: notes\ndescription: Use when: a release is due.\n---\nWrite.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create an empty project and home, and go there."""
    project = tmp_path.resolve() / "my project"
    write_repository(project / ".git")
    (project.parent / "home").mkdir()
    monkeypatch.setenv("HOME", str(project.parent / "home"))
    monkeypatch.setenv("INFER_AGENT_SKILLS_ENABLED", "true")
    monkeypatch.chdir(project)
    return project


def compared(*hosts: str, files: tuple[Path, ...] = ()) -> Comparison:
    return compare(Question.about("."), hosts=hosts or HOSTS, files=map(str, files), cache=False)


def run_in_shell(command: str) -> None:
    """Run a command that Prowess printed, as its user would."""
    runs = command.replace("prowess ", f"{sys.executable} -m prowess ")
    subprocess.run(["/bin/sh", "-c", runs], check=True, capture_output=True, timeout=END)


def test_a_skill_that_every_agent_sees_is_lost_by_none(project: Path) -> None:
    skill(project / ".agents/skills/pdf")
    (row,) = compared("codex", "copilot", "gemini-cli").skills
    assert {host: (view.state, view.loss) for host, view in row.views.items()} == {
        "codex": ("active", None),
        "copilot": ("active", None),
        "gemini-cli": ("active", None),
    }
    assert (row.name, row.scope, row.losers) == ("pdf", "project", ())


def test_a_folder_that_an_agent_does_not_search_is_a_loss_by_place(project: Path) -> None:
    skill(project / ".claude/skills/pdf")
    seen = compared("claude-code", "codex")
    (row,) = seen.skills
    assert row.losers == ("codex",)
    loss = row.views["codex"].loss
    assert loss is not None
    assert (row.views["codex"].state, loss.kind, loss.codes) == (ABSENT, "place", ())
    assert loss.reason == "OpenAI Codex does not search .claude/skills"
    assert loss.cure == "prowess mount .claude/skills/pdf --project --host codex"
    assert [each.name for each in seen.lost("codex")] == ["pdf"]
    assert seen.lost("claude-code") == ()


def test_a_text_that_an_agent_rejects_is_a_loss_by_text(project: Path) -> None:
    write_file(project / ".agents/skills/notes/SKILL.md", REPAIRED)
    (row,) = compared("codex", "copilot", "pi").skills
    assert row.losers == ("copilot", "pi")
    loss = row.views["copilot"].loss
    assert loss is not None
    assert (loss.kind, loss.codes, loss.cure) == (
        "text",
        ("repair-colon",),
        "prowess check --fix .agents/skills/notes",
    )


def test_in_another_folder_a_text_that_would_be_rejected_names_both(project: Path) -> None:
    write_file(project / ".claude/skills/notes/SKILL.md", REPAIRED)
    loss = compared("claude-code", "pi@0.7").skills[0].views["pi@0.7"].loss
    assert loss is not None
    assert (loss.kind, loss.codes) == ("place", ("repair-colon",))
    assert loss.cure == (
        "prowess check --fix .claude/skills/notes && prowess mount .claude/skills/notes --project --host pi@0.7"
    )


def test_an_exact_copy_in_its_place_is_not_a_loss(project: Path) -> None:
    skill(project / ".claude/skills/pdf")
    skill(project / ".agents/skills/pdf")
    seen = compared("claude-code", "codex")
    assert {each.losers for each in seen.skills} == {()}
    assert len(seen.distinct) == 1
    by_path = {os.path.relpath(each.path, project): each for each in seen.skills}
    view = by_path[".claude/skills/pdf/SKILL.md"].views["codex"]
    assert view.winner == str(project / ".agents/skills/pdf/SKILL.md")


def test_a_mounted_copy_that_got_the_name_of_its_folder_is_the_same_skill(project: Path) -> None:
    """After the printed commands nothing is lost, although `mount` changed the name in the copies."""
    file = skill(project / "skills/mlops-mlflow", name="mlflow")
    (file.parent / "notes.txt").write_text("one")
    agents = "claude-code", "codex", "copilot", "infer"
    assert compared(*agents, files=(file,)).skills[0].losers == agents
    for host in ("claude-code", "codex", "infer"):
        run_in_process(f"prowess mount skills/mlops-mlflow --project --host {host} --no-validate")
    seen = compared(*agents, files=(file,))
    assert {each.losers for each in seen.skills} == {()}
    assert len(seen.distinct) == 1
    (view,) = (each.views["codex"] for each in seen.skills if each.path == str(file))
    assert (view.rule, view.reason) == (
        "skill-copy",
        "it has a copy with another name, .agents/skills/mlops-mlflow/SKILL.md",
    )


@pytest.mark.parametrize("changed", ["SKILL.md", "notes.txt"])
def test_an_old_mounted_copy_is_the_same_skill(project: Path, changed: str) -> None:
    """The agent sees it as it was; the copy says how to bring it up to date."""
    file = skill(project / "skills/mlops-mlflow", name="mlflow")
    (file.parent / "notes.txt").write_text("one")
    run_in_process("prowess mount skills/mlops-mlflow --project --host codex --no-validate")
    assert compared("codex", files=(file,)).skills[0].losers == ()
    text = (file.parent / changed).read_text()
    (file.parent / changed).write_text(text[:-1] + "?")
    seen = compared("codex", files=(file,))
    (source,) = seen.distinct
    assert (source.path, source.losers, source.outdated) == (str(file), (), None)
    view = source.views["codex"]
    assert (view.kind, view.reason) == ("seen", "it has an old copy, .agents/skills/mlops-mlflow/SKILL.md")
    (old,) = (each.outdated for each in seen.skills if each.copy_of == str(file))
    assert old is not None
    refusal = "the name `mlflow` differs from the folder name `mlops-mlflow`"
    command = "prowess mount skills/mlops-mlflow --project --host codex --no-validate"
    assert old.cure == f"{command}  # {refusal}"
    assert seen.kinds == {"codex": {"seen": 1}}


def test_another_skill_of_the_same_name_is_a_loss_by_name(project: Path) -> None:
    skill(project / ".claude/skills/pdf", description="One.")
    skill(project / ".agents/skills/pdf", description="Two.")
    seen = compared("claude-code", "codex", "copilot")
    losses = {
        (os.path.relpath(each.path, project).split("/")[0], host): view.loss.kind
        for each in seen.skills
        for host, view in each.views.items()
        if view.loss is not None
    }
    assert losses == {
        (".claude", "codex"): "name",
        (".claude", "copilot"): "name",
        (".agents", "claude-code"): "name",
    }


def test_the_setting_for_one_skill_is_named_not_the_one_for_all(project: Path) -> None:
    """Both are in one file."""
    write_file(project / ".infer/config.yaml", "agent: {skills: {enabled: true, disabled_skills: [pdf]}}\n")
    skill(project / ".infer/skills/pdf")
    for view in compared("infer", "infer-cli").skills[0].views.values():
        loss = view.loss
        assert loss is not None
        assert loss.cure == "remove `pdf` from `agent.skills.disabled_skills` in .infer/config.yaml"


def test_a_skill_that_the_user_switched_off_names_the_setting(project: Path) -> None:
    skill(project / ".claude/skills/pdf")
    (project / ".claude/settings.json").write_text('{"skillOverrides": {"pdf": "off"}}')
    loss = compared("claude-code", "copilot").skills[0].views["claude-code"].loss
    assert loss is not None
    assert (loss.kind, loss.cure) == ("setting", "set `pdf` in `skillOverrides` to `on` in .claude/settings.json")


SETTINGS = {
    "claude-code": (".claude/settings.json", {"skillOverrides": {"other": "off", "pdf": "off"}}),
    "copilot": ("~/.copilot/settings.json", {"disabledSkills": ["other", "pdf"]}),
    "gemini-cli": (".gemini/settings.json", {"skills": {"disabled": ["other", "pdf"]}}),
    "qwen-code": ("~/.qwen/settings.json", {"skills": {"disabled": ["other"], "defaultDisabled": ["pdf"]}}),
    "codex": (
        "~/.codex/config.toml",
        '[[skills.config]]\nname = "pdf"\nenabled = false\n[[skills.config]]\nname = "other"\nenabled = false\n',
    ),
}


@pytest.mark.parametrize("host", SETTINGS)
def test_the_change_of_a_setting_that_is_named_shows_the_skill_again(project: Path, host: str) -> None:
    """The change is made as it is written, with the file and the key that it names."""
    for folder in (".agents/skills", ".claude/skills"):
        skill(project / folder / "pdf")
    name, settings = SETTINGS[host]
    file = project.parent / "home" / name[2:] if name.startswith("~/") else project / name
    write_file(file, settings if isinstance(settings, str) else json.dumps(settings))
    loss = next(each.views[host].loss for each in compared(host).skills)
    assert loss is not None
    assert (loss.kind, loss.cure.endswith(f" in {name}")) == ("setting", True)
    words = re.findall("`([^`]+)`", loss.cure)
    if loss.cure.startswith("set `enabled` of "):
        assert words[1:] == ["pdf", "skills.config"]
        file.write_text(file.read_text().replace("enabled = false", "enabled = true", 1))
    else:
        table, (skill_name, key) = json.loads(file.read_text()), words[:2]
        *path, last = key.split(".")
        inner = table
        for part in path:
            inner = inner[part]
        if loss.cure.startswith("remove "):
            inner[last].remove(skill_name)
        else:
            inner[last][skill_name] = words[2]
        file.write_text(json.dumps(table))
    assert not any(each.losers for each in compared(host).skills)


def test_with_another_home_the_named_setting_is_of_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`CODEX_HOME` belongs to the home of the user who asks."""
    skill(project / ".agents/skills/pdf")
    other, moved = project.parent / "other", project.parent / "moved"
    for file in (other / ".codex/config.toml", moved / "config.toml"):
        write_file(file, str(SETTINGS["codex"][1]))
    monkeypatch.setenv("CODEX_HOME", str(moved))
    losses = [
        row.views["codex"].loss
        for home in (other, None)
        for row in compare(Question.about(".", home), hosts=["codex"], cache=False).skills
    ]
    places = [loss.cure.rpartition(" in ")[2] for loss in losses if loss is not None]
    assert places == ["~/.codex/config.toml", str(moved / "config.toml")]


def test_a_skill_that_its_author_hides_from_the_model_is_not_a_loss(project: Path) -> None:
    skill(project / ".claude/skills/pdf", more="disable-model-invocation: true\n")
    (row,) = compared("claude-code").skills
    assert (row.views["claude-code"].state, row.losers) == ("user-only", ())


def test_files_of_a_repository_are_compared_too(project: Path) -> None:
    file = skill(project / "skills/pdf")
    assert compared("codex").skills == ()
    (row,) = compared("codex", files=(file,)).skills
    assert (row.path, row.losers) == (str(file), ("codex",))


def test_the_cure_of_a_skill_of_the_user_is_in_the_home(project: Path) -> None:
    skill(project.parent / "home/.claude/skills/pdf")
    loss = compared("claude-code", "codex").skills[0].views["codex"].loss
    assert loss is not None
    assert loss.cure == f"prowess mount {project.parent}/home/.claude/skills/pdf --to ~ --host codex"
    run_in_shell(loss.cure)
    assert not any(each.losers for each in compared("claude-code", "codex").skills)


TEXTS = {
    "plain": "---\nname: {folder}\ndescription: Does it.\n---\nDo.\n",
    "colon": "---\nname: {folder}\ndescription: Use when: it is due.\n---\nDo.\n",
    "bom": "\ufeff---\nname: {folder}\ndescription: Does it.\n---\nDo.\n",
    "no-name": "---\ndescription: Does it.\n---\nDo.\n",
    "other-name": "---\nname: other\ndescription: Does it.\n---\nDo.\n",
    "dashes": "----\nname: {folder}\ndescription: Does it.\n----\nDo.\n",
    "sigil": "---\nname: {folder}\ndescription: *all* of it.\n---\nDo.\n",
    "cr": "---\rname: {folder}\rdescription: Does it.\r---\rDo.\r",
    "no-description": "---\nname: {folder}\n---\nDo.\n",
    "long": "---\nname: {folder}\ndescription: " + "x" * 2000 + "\n---\nDo.\n",
}
FOLDERS = (".claude/skills/pdf", ".agents/skills/pdf", "skills/pdf", "a b/it's", "skills/My_Skill", "lib/-x")


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_command_that_is_named_as_the_cure_fixes_the_loss(project: Path, folder: str) -> None:
    """Every loss of every agent: after the command the agent sees the skill, or a copy of it that the command made.

    The short form tries each text and agent in two of the six folders.
    """
    commands, every, first = 0, short_or_long(3, 1), FOLDERS.index(folder)
    for number, (label, text) in enumerate(TEXTS.items()):
        for host in HOSTS[(first + number) % every :: every]:
            file = project / f"{label}-{host}" / folder / "SKILL.md"
            file.parent.mkdir(parents=True)
            write_repository(project / f"{label}-{host}/.git")
            file.write_text(text.format(folder=os.path.basename(folder)), newline="")
            os.chdir(project / f"{label}-{host}")
            (row,) = compared(host, files=(file,)).skills
            loss = row.views[host].loss
            if loss is None or not loss.is_command:
                continue
            commands += 1
            run_in_process(loss.cure)
            after = compared(host, files=(file,))
            views = [each.views[host] for each in after.skills]
            reached = any(view.state in REACHABLE or view.rule == AWAITS_TRUST for view in views)
            # WINK searches no folder, so only the text can be fixed there.
            assert reached or (not load_host(host).roots and not after.skills[0].losers), (label, loss, after.skills)
    assert commands > 20 / every


def run_in_process(command: str) -> None:
    """Run a printed command without the time that a shell and a new process take."""
    import shlex

    from prowess.cli import main

    for part in command.split(" && "):
        name, *arguments = shlex.split(part, comments=True)
        assert name == "prowess"
        assert main(arguments) == 0, part


def test_every_host_has_a_cure_for_each_loss(project: Path) -> None:
    """Nothing that is lost is left without words."""
    files = []
    for number, text in enumerate(TEXTS.values()):
        file = project / f"skills/s{number}/SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(text.format(folder=f"s{number}"), newline="")
        files.append(file)
    for row in compared(*HOSTS, files=tuple(files)).skills:
        for host, view in row.views.items():
            assert view.loss is None or (view.loss.cure and view.loss.reason), (row.path, host)
            assert view.loss is not None or not load_host(host).roots or view.state != ABSENT


def test_the_views_are_in_the_order_of_the_given_hosts(project: Path) -> None:
    skill(project / ".agents/skills/pdf")
    assert compared("pi", "codex").hosts == ("pi", "codex")
    assert [*compared("pi", "codex").skills[0].views] == ["pi", "codex"]
    assert set(observed_hosts()) <= set(HOSTS)


def test_a_skill_that_ships_with_an_agent_is_lost_by_no_other(project: Path) -> None:
    skill(project.parent / "home/.codex/skills/.system/skill-creator")
    skill(project / ".agents/skills/pdf")
    seen = compared("codex", "copilot")
    assert [each.name for each in seen.distinct] == ["pdf"]
    assert {each.losers for each in seen.skills} == {()}


def test_a_skill_of_a_plugin_is_lost_by_no_other_agent(project: Path) -> None:
    """The plugin was installed for one agent."""
    table = {
        "title": "X",
        "roots": [{"plugins": "plugin", "scope": "plugin"}],
        "plugins": {"plugin": {"folders": ["~/.x/plugins/*"]}},
    }
    skill(project.parent / "home/.x/plugins/tools/skills/pdf")
    skill(project / ".agents/skills/csv")
    home = project.parent / "home"
    # The name of a real agent, since its rules for single files are asked by name.
    hosts = {"qwen-code": host_from_table("qwen-code", table), "codex": load_host("codex")}
    catalogs = {name: discover(project, host=host, home=home, env={}) for name, host in hosts.items()}
    seen = compare_catalogs(catalogs, Question.about(project, home))
    assert {each.name: each.losers for each in seen.skills} == {"pdf": (), "csv": ("qwen-code",)}
    assert [each.name for each in seen.distinct] == ["csv"]


def test_places_of_copies_are_looked_up_when_a_cure_is_asked_for(tmp_path: Path) -> None:
    """A table of thousands of skills asks for none, and depends on none of these places."""
    for number in range(3):
        skill(tmp_path / f"repo/.agents/skills/s{number}")
    (tmp_path / "repo/.git").mkdir()
    filesystem = Filesystem()
    record = filesystem.record_fingerprints()
    question = Question.about(tmp_path / "repo", tmp_path)
    comparison = compare(question, hosts=["codex", "claude-code"], cache=False, filesystem=filesystem)
    losses = [found.views["claude-code"].loss for found in comparison.skills]
    assert [loss and loss.kind for loss in losses] == ["place"] * 3
    assert not [path for path in record.links if "skills/s" in path]
    assert all(loss and loss.is_command for loss in losses)
    for number in range(3):
        assert str(tmp_path / f"repo/.claude/skills/s{number}") in record.links
