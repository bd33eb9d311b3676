"""`prowess add`, from a folder or a repository to the project and its lock."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from endurance import content
from prowess.cli import main
from prowess.install import read_lock, read_tree
from support.installing import Machine, make_machine, repository
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Machine:
    return make_machine(tmp_path, monkeypatch, capsys)


def test_a_skill_of_a_folder_is_copied_and_locked(machine: Machine) -> None:
    out, err = machine.run("add", "../source", "pdf", "--yes")
    installed = machine.project / ".agents/skills/pdf"
    assert machine.installed() == ["pdf"]
    assert content(installed).keys() == content(machine.source / "skills/pdf").keys()
    assert (installed / "scripts/run.sh").stat().st_mode & 0o111
    entry = read_lock(str(machine.lock)).skills["pdf"]
    assert entry.tree_digest == read_tree(str(machine.source / "skills/pdf")).digest
    assert (entry.source, entry.source_type, entry.skill_path) == ("../source", "local", "skills/pdf/SKILL.md")
    assert out.endswith("installed `pdf` in .agents/skills/pdf\n")
    assert err == "1 skill locked in skills-lock.json\n"
    assert machine.run("verify")
    assert sorted(path.name for path in machine.project.iterdir()) == [".agents", ".git", "skills-lock.json"]


def test_what_would_be_installed_is_shown_before_it_asks(machine: Machine) -> None:
    skill(machine.home / ".agents/skills/pdf")
    (machine.home / ".codex").mkdir()
    file = machine.source / "skills/pdf/SKILL.md"
    file.write_text(file.read_text().replace("---\n", "---\nallowed-tools: Bash(git:*)\n", 1))
    out, err = machine.run("add", "../source", "pdf", code=2)
    assert out.splitlines() == [
        "../source: 1 skill",
        "pdf: new",
        "  Does pdf. Use it for pdf.",
        f"  files    2 files, {file.stat().st_size + 5} bytes",
        f"    SKILL.md ({file.stat().st_size} bytes)",
        "    scripts/run.sh (5 bytes)",
        "  scripts  1",
        "    scripts/run.sh",
        "  allowed  Bash(git:*): a client may skip asking for these; Prowess grants nothing",
        "  tools    none",
        "  into     .agents/skills/pdf",
        "  seen by  codex",
        "  also     ~/.agents/skills/pdf has the same name",
    ]
    assert "there is no terminal to ask on; nothing was changed" in err
    assert "hint: `prowess add ../source --yes`; `--dry-run` shows what it would do" in err
    assert not machine.lock.exists()
    assert not machine.installed()


def test_a_dry_run_shows_the_same_and_changes_nothing(machine: Machine) -> None:
    before = content(machine.project)
    out, err = machine.run("add", "../source", "pdf", "--dry-run")
    assert (out, err) == (machine.run("add", "../source", "pdf", code=2)[0], "")
    shown = machine.json("add", "../source", "pdf", "--dry-run")
    assert content(machine.project) == before
    assert shown["installed"] == []
    assert shown["skills"] == machine.json("add", "../source", "pdf", "--yes")["skills"]


def test_a_long_description_is_cut_with_a_mark(machine: Machine) -> None:
    skill(machine.source / "skills/long", description="x" * 201)
    assert f"  {'x' * 199}…\n" in machine.run("add", "../source", "long", "--dry-run")[0]


def test_all_skills_of_a_source_are_installed_together(machine: Machine) -> None:
    found = machine.json("add", "../source", "--yes")
    assert machine.installed() == ["csv", "pdf"]
    assert [item["name"] for item in found["skills"]] == ["csv", "pdf"]
    assert found["skills"][1]["scripts"] == ["scripts/run.sh"]
    assert found["skills"][1]["destinations"] == [str(machine.project / ".agents/skills/pdf")]


def test_many_skills_are_listed_on_a_line_each(machine: Machine) -> None:
    for number in range(6):
        skill(machine.source / f"skills/s{number}", more="allowed-tools: Read\n" if number == 1 else "")
    out, _ = machine.run("add", "../source", "--yes")
    lines = out.splitlines()
    assert lines[0] == "../source: 8 skills"
    assert lines[2].startswith("pdf: new, 2 files, ")
    assert lines[2].endswith(", 1 script")
    assert lines[4].endswith(", allowed-tools Read")
    assert lines[9] == "seen by no agent on this machine; name a skill to see more of it"


def test_the_same_command_again_changes_nothing(machine: Machine) -> None:
    machine.run("add", "../source", "--yes")
    before = content(machine.project)
    out, _ = machine.run("add", "../source", "--yes")
    assert content(machine.project) == before
    assert "already installed: `pdf`" in out


def test_a_new_version_replaces_the_old_one(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    (machine.source / "skills/pdf/scripts/run.sh").unlink()
    (machine.source / "skills/pdf/new.md").write_text("new")
    out, _ = machine.run("add", "../source", "pdf", "--yes")
    assert "pdf: replaces the installed one" in out
    assert content(machine.project / ".agents/skills/pdf").keys() == {"", "SKILL.md", "new.md"}
    machine.run("verify")


def test_several_agents_get_copies(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes", "--host", "claude-code", "--host", "codex")
    assert machine.installed(".claude/skills") == machine.installed(".agents/skills") == ["pdf"]
    assert read_lock(str(machine.lock)).skills["pdf"].hosts == ("claude-code", "codex")


def test_an_agent_that_is_added_later_keeps_the_others(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    assert read_lock(str(machine.lock)).skills["pdf"].hosts == ()
    machine.run("add", "../source", "pdf", "--yes", "--host", "claude-code")
    machine.run("remove", "pdf")
    assert machine.installed(".claude/skills") == machine.installed(".agents/skills") == []


@pytest.mark.parametrize("where", ["folder", "store"])
def test_links_lead_to_a_folder_source_or_to_the_store(where: str, machine: Machine) -> None:
    if where == "folder":
        machine.run("add", "../source", "pdf", "--yes", "--link")
        expected = machine.source / "skills/pdf"
    else:
        machine.run("add", repository(machine), "pdf", "--yes", "--link")
        digest = read_lock(str(machine.lock)).skills["pdf"].tree_digest or ""
        expected = machine.project.parent / "data/store/sha256" / digest[7:9] / digest[7:]
    link = machine.project / ".agents/skills/pdf"
    assert os.readlink(link) == str(expected)
    machine.run("install")
    machine.run("remove", "pdf")
    assert not os.path.lexists(link)
    assert (expected / "SKILL.md").exists()


def test_a_link_inside_the_project_is_relative_and_made_again(machine: Machine) -> None:
    skill(machine.project / "skills/own")
    machine.run("add", "./skills", "own", "--yes", "--link", "--host", "claude-code", "--host", "codex")
    before = content(machine.project)
    assert os.readlink(machine.project / ".claude/skills/own") == "../../skills/own"
    machine.run("verify")
    for folder in (".agents", ".claude"):
        shutil.rmtree(machine.project / folder)
    machine.run("install")
    assert content(machine.project) == before


def test_a_lock_cannot_have_a_link_made_that_leaves_the_project(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes", "--link")
    (machine.project / ".agents/skills/pdf").unlink()
    machine.run("install")
    assert not (machine.project / ".agents/skills/pdf").is_symlink()
    machine.run("verify")


def test_a_global_skill_is_in_the_home_and_its_lock_in_the_data_folder(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes", "--global")
    assert (machine.home / ".agents/skills/pdf/SKILL.md").exists()
    assert [path.name for path in machine.project.iterdir()] == [".git"]
    assert (machine.project.parent / "data/skills-lock.json").exists()
    machine.run("remove", "pdf", "--global")
    assert list(machine.home.iterdir()) == []


def test_a_skill_of_a_repository_is_locked_at_its_commit(machine: Machine) -> None:
    url = repository(machine)
    machine.run("add", f"{url}#main@pdf", "--yes")
    commit = (machine.source / ".git/refs/heads/main").read_text().strip()
    entry = read_lock(str(machine.lock)).skills["pdf"]
    assert (entry.revision, entry.ref, entry.skill_path) == (commit, "main", "skills/pdf/SKILL.md")
    assert machine.installed() == ["pdf"]


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_that_is_not_in_the_lock_is_never_overwritten(force: list[str], machine: Machine) -> None:
    skill(machine.project / ".agents/skills/pdf", description="Mine.")
    before = content(machine.project)
    _, err = machine.run("add", "../source", "--yes", *force, code=1)
    assert "exists, and was not installed by Prowess" in err
    assert "hint: move it away" in err
    assert content(machine.project) == before


def test_a_commit_whose_skills_are_in_the_store_needs_no_source(machine: Machine) -> None:
    source = repository(machine)
    command = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(command, cwd=machine.source, check=True, capture_output=True, text=True).stdout.strip()
    machine.run("add", source, "pdf", "--yes")
    machine.source.rename(machine.source.with_name("gone"))
    machine.run("remove", "pdf")
    machine.run("add", source, "pdf", "--yes", code=1)
    machine.run("add", f"{source}#{commit}", "csv", "--yes", code=1)
    machine.run("add", f"{source}#{commit}", "pdf", "--yes")
    assert machine.installed() == ["pdf"]
    assert read_lock(str(machine.lock)).skills["pdf"].revision == commit


def test_a_changed_skill_is_replaced_with_force_only(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    (machine.project / ".agents/skills/pdf/SKILL.md").write_text("mine")
    (machine.source / "skills/pdf/new.md").write_text("new")
    _, err = machine.run("add", "../source", "pdf", "--yes", code=1)
    assert "was changed after it was installed" in err
    assert (machine.project / ".agents/skills/pdf/SKILL.md").read_text() == "mine"
    machine.run("add", "../source", "pdf", "--yes", "--force")
    machine.run("verify")


def test_a_name_of_another_source_is_refused(machine: Machine) -> None:
    machine.run("add", "../source", "pdf", "--yes")
    skill(machine.project.parent / "other/pdf")
    _, err = machine.run("add", "../other", "--yes", code=1)
    assert "`pdf` is installed from another source: `../source`" in err


def test_two_different_skills_of_one_name_are_refused_but_copies_are_not(machine: Machine) -> None:
    skill(machine.source / ".claude/skills/csv")
    machine.run("add", "../source", "csv", "--yes")
    skill(machine.source / ".claude/skills/csv", description="Another.")
    _, err = machine.run("add", "../source", "csv", "--yes", code=1)
    assert "two different skills are named `csv`: in `.claude/skills/csv` and `skills/csv`" in err


def test_a_name_that_differs_only_in_case_is_refused(machine: Machine) -> None:
    skill(machine.project / ".agents/skills/PDF")
    _, err = machine.run("add", "../source", "pdf", "--yes", code=1)
    assert "are one name on some systems" in err


@pytest.mark.parametrize("name", ["../up", "a/b", "Pdf", '"a\\nb"', '"."', "con\u0131"])
def test_an_invalid_name_is_refused(name: str, machine: Machine) -> None:
    """A skill is installed under the name in its front matter, wherever it is in the source."""
    skill(machine.source / "skills/odd", name)
    _, err = machine.run("add", "../source", "--yes", code=1)
    assert "is not a valid skill name" in err
    assert not machine.installed()


def test_the_name_of_a_device_is_refused(machine: Machine) -> None:
    skill(machine.source / "skills/con")
    assert (
        "`con` has a name that another system reads as something else"
        in machine.run("add", "../source", "con", "--yes", code=1)[1]
    )


def test_a_skill_is_installed_under_its_own_name(machine: Machine) -> None:
    skill(machine.source / "skills/odd folder", "plain")
    machine.run("add", "../source", "plain", "--yes")
    assert machine.installed() == ["plain"]
    assert read_lock(str(machine.lock)).skills["plain"].skill_path == "skills/odd folder/SKILL.md"


def test_a_name_that_the_source_lacks_is_wrong_use(machine: Machine) -> None:
    _, err = machine.run("add", "../source", "pfd", "--yes", code=2)
    assert "has no skill `pfd`" in err
    assert "did you mean `pdf`?" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--upload-pack=x"], "missing argument"),
        (["--", "--upload-pack=x"], "begins like an option"),
        (["ext::x"], "names a program"),
        (["../nothing"], "does not exist"),
        (["../project"], "contains no skills"),
    ],
)
def test_an_invalid_source_is_an_error(arguments: list[str], problem: str, machine: Machine) -> None:
    found = main(["add", "--yes", "--cwd", str(machine.project), "--home", str(machine.home), *arguments])
    assert found in (1, 2)
    assert problem in machine.capsys.readouterr().err


def test_a_folder_that_could_be_a_repository_is_refused(machine: Machine) -> None:
    """Someone else may own the repository of that name."""
    skill(machine.project / "team/skills/pdf")
    _, err = machine.run("add", "team/skills", "--yes", code=1)
    assert "hint: write `./team/skills` for the folder, or `https://github.com/team/skills`" in err


def test_a_folder_without_a_dot_before_it_is_named(machine: Machine) -> None:
    skill(machine.project / "team/pdf")
    _, err = machine.run("add", "team", "--dry-run", code=1)
    assert err.startswith("error: the source `team` is not a repository")
    assert err.endswith("hint: write `./team` for the folder here\n")


def test_commands_at_once_lose_nothing(machine: Machine) -> None:
    for number in range(4):
        skill(machine.source / f"skills/s{number}")

    pids = []
    for number in range(4):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                machine.run("add", "../source", f"s{number}", "--yes")
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
    assert machine.installed() == [*read_lock(str(machine.lock)).skills] == ["s0", "s1", "s2", "s3"]


def test_foreign_text_cannot_forge_lines(machine: Machine) -> None:
    skill(
        machine.source / "skills/pdf", description='"line\\nerror: \\x1b[31mred"', more='allowed-tools: "a\\x1b[2Jb"\n'
    )
    (machine.source / "skills/pdf/scripts/\x1b[31m.sh").unlink(missing_ok=True)
    out, err = machine.run("add", "../source", "pdf", "--yes")
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    assert not any(line.startswith("error") for line in out.splitlines())


def test_an_invalid_lock_is_an_error_and_stays(machine: Machine) -> None:
    machine.lock.write_text("{")
    machine.run("add", "../source", "--yes", code=2)
    assert machine.lock.read_text() == "{"
    assert not machine.installed()


def test_a_link_in_place_of_the_skills_folder_is_refused(machine: Machine) -> None:
    (machine.home / "skills").mkdir()
    (machine.project / ".agents").mkdir()
    (machine.project / ".agents/skills").symlink_to(machine.home / "skills")
    _, err = machine.run("add", "../source", "--yes", code=1)
    assert "is or contains a link" in err
    assert list((machine.home / "skills").iterdir()) == []


def test_the_answer_no_installs_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prowess.cli._installing.is_terminal", lambda: True)
    monkeypatch.setattr("prowess.cli.add.is_terminal", lambda: True)
    for answer, code, names in (("n\n", 1, []), ("", 1, []), ("y\n", 0, ["pdf"])):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        _, err = machine.run("add", "../source", "pdf", code=code)
        assert "install `pdf`? [y/N]" in err
        assert machine.installed() == names
