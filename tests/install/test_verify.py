from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prowess._internal.file_status import foreign_problem
from prowess.errors import ConfigError, SkillNotFoundError
from prowess.install import Verification, verify
from prowess.lock import LINK_KEY, Lock, LockedSkill, computed_hash, find_project, read_tree
from support.users import ALICE, MALLORY, give, only_root

if TYPE_CHECKING:
    from pathlib import Path

SHARED = ".agents/skills"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the skills `pdf` and `docx` in the shared folder."""
    project = tmp_path / "project"
    for name in ("pdf", "docx"):
        folder = project / SHARED / name
        (folder / "scripts").mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\n---\n")
        (folder / "scripts/run.sh").write_text("run")
        (folder / "scripts/run.sh").chmod(0o755)
        (folder / "link").symlink_to("SKILL.md")
    return project


def locked(folder: Path, **changes: object) -> LockedSkill:
    tree = read_tree(str(folder))
    skill = LockedSkill(
        name=folder.name,
        source="acme/skills",
        source_type="github",
        computed_hash=computed_hash(str(folder)),
        tree_digest=tree.digest,
        files={file.path: f"{file.mode} sha256:{file.sha256}" for file in tree.files},
    )
    return skill.with_changes(**changes)


def by_hash(folder: Path) -> LockedSkill:
    """As the tool `skills` leaves an entry."""
    return locked(folder, tree_digest=None, files={})


@pytest.fixture
def lock(project: Path) -> Lock:
    return Lock().with_skills(locked(project / SHARED / name) for name in ("pdf", "docx"))


def found(verification: Verification, top: Path) -> list[tuple[str, str]]:
    """Return the kind and path of each difference."""
    return [
        (item.kind, os.path.relpath(os.path.join(skill.path, item.path), top).replace("/.", ""))
        for skill in verification.skills
        for item in skill.differences
    ]


def test_what_was_installed_is_as_locked(project: Path, lock: Lock) -> None:
    """Whatever the umask: only whether a file can be executed counts."""
    (project / SHARED / "pdf/SKILL.md").chmod(0o600)
    (project / SHARED / "pdf/empty").mkdir()
    result = verify(lock, str(project))
    assert [(skill.name, skill.method, skill.link) for skill in result.skills] == [
        ("docx", "files", None),
        ("pdf", "files", None),
    ]
    assert (result.different, result.not_locked) == ((), ())


def change(folder: Path) -> None:
    (folder / "SKILL.md").write_text("---\nname: pdx\n---\n")


PDF = f"{SHARED}/pdf"
CHANGES: dict[str, tuple[str, str, str]] = {
    "a byte": ("echo x > SKILL.md", "changed", "/SKILL.md"),
    "missing": ("rm SKILL.md", "missing", "/SKILL.md"),
    "extra": ("echo x > scripts/new.py", "extra", "/scripts/new.py"),
    "extra link": ("ln -s /etc x", "extra", "/x"),
    "not UTF-8": (r"touch $(printf 'a\377')", "extra", "/a\udcff"),
    "executable": ("chmod 755 SKILL.md", "mode", "/SKILL.md"),
    "not executable": ("chmod 644 scripts/run.sh", "mode", "/scripts/run.sh"),
    "link target": ("ln -sf /etc/passwd link", "link", "/link"),
    "file for a link": ("rm link; echo x > link", "type", "/link"),
    "link for a file": ("ln -sf /bin/sh scripts/run.sh", "type", "/scripts/run.sh"),
    "link for a folder": ("mv scripts ../../../run; ln -s ../../../run scripts", "type", "/scripts"),
    "FIFO": ("rm SKILL.md; mkfifo SKILL.md", "changed", "/SKILL.md"),
    "a terabyte": ("truncate -s 1T SKILL.md", "changed", "/SKILL.md"),
    "folder for a file": ("rm SKILL.md; mkdir SKILL.md", "missing", "/SKILL.md"),
    "deep": ("mkdir -p $(printf 'd/%.0s' $(seq 70)); touch $(printf 'd/%.0s' $(seq 70))x", "extra", "/d" * 65),
    "no skill": ("rm -r ../pdf", "missing", ""),
    "file for a skill": ("rm -r ../pdf; echo x > ../pdf", "type", ""),
}


MODES: dict[str, tuple[str, str, str, str]] = {
    "all users": ("chmod o+w SKILL.md", "writable", "SKILL.md", "all users can change it: `chmod go-w`"),
    "a folder": ("chmod 777 scripts", "writable", "scripts", "all users can change it: `chmod go-w`"),
    "the skill": ("chmod 1777 .", "writable", "", "all users can change it: `chmod go-w`"),
    "the skills": ("chmod 777 ..", "writable", "", "above it, `.agents/skills`: all users can change it"),
    "a folder above": ("chmod o+w ../..", "writable", "", "above it, `.agents`: all users can change it"),
    "set-user-ID": ("chmod u+s SKILL.md", "special", "SKILL.md", "set-user-ID: `chmod u-s`"),
    "more bits": (
        "chmod 7755 scripts/run.sh",
        "special",
        "scripts/run.sh",
        "set-user-ID, set-group-ID, sticky: `chmod u-s,g-s,-t`",
    ),
}


@pytest.mark.parametrize("is_by_hash", [False, True])
@pytest.mark.parametrize("case", MODES)
def test_a_mode_that_lets_others_in_is_a_difference(case: str, is_by_hash: bool, project: Path) -> None:
    """Also of an entry that another tool has written."""
    command, *expected = MODES[case]
    (project / PDF / "link").unlink()
    lock = Lock().with_skills([(by_hash if is_by_hash else locked)(project / PDF)])
    subprocess.run(["sh", "-c", command], cwd=project / PDF, check=True)
    (result,) = verify(lock, str(project)).skills
    assert [[item.kind, item.path, item.found] for item in result.differences] == [expected]


def test_what_a_user_shares_on_purpose_can_be_written_to(
    project: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a special bit stays a difference."""
    subprocess.run(["chmod", "-R", "g+ws,o+w", project / PDF], check=True)
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(project))
    assert found(verify(lock, str(project)), project) == [
        ("special", f"{PDF}/SKILL.md"),
        ("special", f"{PDF}/scripts/run.sh"),
    ]


def test_the_private_group_of_a_user_can_write(project: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many systems make a group for each user, and let it write to new files; another group is others."""
    import grp
    import pwd

    subprocess.run(["chmod", "-R", "g+w", project / PDF], check=True)
    user = pwd.struct_passwd(("ada", "x", os.geteuid(), 4711, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    for name in ("ada", "staff"):
        monkeypatch.setattr(grp, "getgrgid", lambda _, name=name: grp.struct_group((name, "x", 4711, [])))
        words = {item.found for skill in verify(lock, str(project)).skills for item in skill.differences}
        assert words == (set() if name == "ada" else {"its group can change it: `chmod g-w`"})


GROUPS: dict[str, tuple[tuple[str, int, int] | None, tuple[str, int, list[str]] | None, bool]] = {
    "of a user": (("ada", 4711, 4711), ("ada", 4711, []), True),
    "of a user, with a member": (("ada", 4711, 4711), ("ada", 4711, ["bob"]), False),
    "root's": (("root", 0, 0), ("root", 0, []), False),
    "of a user of the machine outside a container": (None, None, True),
    "of a user who has no private group": (("ada", 4711, 100), ("users", 100, []), False),
    "without a name": (("ada", 4711, 4711), None, False),
}
"""The owner, the group and its members, and whether it is private."""


@pytest.mark.parametrize("case", GROUPS)
def test_which_group_is_private(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    user, group, is_private = GROUPS[case]

    def find(entry: object) -> object:
        if entry is None:
            raise KeyError
        return entry

    account = user and pwd.struct_passwd((user[0], "x", user[1], user[2], "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: find(account))
    monkeypatch.setattr(
        grp, "getgrgid", lambda _: find(group and grp.struct_group((group[0], "x", group[1], group[2])))
    )
    owner, number = user[1] if user else 1000, group[1] if group else user[2] if user else 1000
    status = os.stat_result((0o100664, 0, 0, 1, owner, number, 0, 0, 0, 0))
    assert (foreign_problem(status, also=[owner]) is None) == is_private


@only_root
def test_a_file_of_another_user_is_a_difference(project: Path, lock: Lock) -> None:
    """Also a folder and a link; but root in a container trusts the owner of the project."""
    give(MALLORY, project / PDF)
    paths = [PDF, f"{PDF}/SKILL.md", f"{PDF}/link", f"{PDF}/scripts", f"{PDF}/scripts/run.sh"]
    result = verify(lock, str(project))
    assert found(result, project) == [("owner", path) for path in paths]
    words = {item.found for skill in result.different for item in skill.differences}
    assert words == {f"belongs to the user {MALLORY}: `prowess install`"}
    os.chown(project, MALLORY, -1)
    assert verify(lock, str(project)).different == ()


@only_root
@pytest.mark.parametrize("caller", [MALLORY, ALICE])
def test_with_sudo_the_files_of_its_caller_are_no_difference(
    caller: int, project: Path, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(MALLORY, project / PDF / "SKILL.md")
    monkeypatch.setenv("SUDO_UID", str(caller))
    assert bool(verify(lock, str(project)).different) == (caller == ALICE)


def test_a_link_in_place_of_a_skill_leads_to_a_copy_or_where_the_lock_says(project: Path, lock: Lock) -> None:
    """Elsewhere in the project, the same bytes are a difference, in each link to them."""
    shutil.copytree(project / PDF, project / "mine/pdf", symlinks=True)
    for folder in (".claude/skills", ".qwen/skills"):
        (project / folder).mkdir(parents=True)
        (project / folder / "pdf").symlink_to("../../mine/pdf")
    links = [("link", ".claude/skills/pdf"), ("link", ".qwen/skills/pdf")]
    assert found(verify(lock, str(project)), project) == links
    pdf = lock.skills["pdf"].with_changes(other_prowess={LINK_KEY: True}, skill_path="pdf/SKILL.md")
    local = lock.with_skills([pdf.with_changes(source="./mine", source_type="local")])
    assert found(verify(local, str(project)), project) == []
    other = lock.with_skills([pdf.with_changes(source="./other", source_type="local")])
    assert found(verify(other, str(project)), project) == links


@pytest.mark.parametrize("case", CHANGES)
def test_each_change_is_found(case: str, project: Path, lock: Lock) -> None:
    command, kind, path = CHANGES[case]
    subprocess.run(["sh", "-c", command], cwd=project / PDF, check=True)
    difference = (kind, PDF + path)
    assert found(verify(lock, str(project)), project) == [difference]
    assert found(verify(lock, str(project), names=["pdf"]), project) == [difference]
    assert found(verify(lock, str(project), names=["docx"]), project) == []


def test_an_unreadable_file_is_a_difference(project: Path, lock: Lock) -> None:
    (project / PDF / "SKILL.md").chmod(0)
    (project / PDF / "scripts").chmod(0)
    expected = [
        ("unreadable", f"{PDF}/SKILL.md"),
        ("unreadable", f"{PDF}/scripts"),
        ("missing", f"{PDF}/scripts/run.sh"),
    ]
    try:
        differences = found(verify(lock, str(project)), project)
    finally:
        (project / PDF / "scripts").chmod(0o755)
    if os.geteuid():
        assert differences == expected
    else:
        assert differences == []


def test_a_lock_that_contradicts_itself_is_a_difference(project: Path, lock: Lock) -> None:
    """A list of files was edited, but not the digest of all of them."""
    pdf = lock.skills["pdf"]
    change(project / PDF)
    digest = hashlib.sha256((project / PDF / "SKILL.md").read_bytes()).hexdigest()
    edited = lock.with_skills([pdf.with_changes(files={**pdf.files, "SKILL.md": f"100644 sha256:{digest}"})])
    assert found(verify(edited, str(project)), project) == [("lock", PDF)]


def test_each_copy_for_an_agent_is_verified(project: Path, lock: Lock) -> None:
    """The folders are those of the agents in the lock; a copy that is in another folder of an agent counts too."""
    lock = lock.with_skills([lock.skills["pdf"].with_changes(hosts=("claude-code", "codex"))])
    assert found(verify(lock, str(project)), project) == [("missing", ".claude/skills/pdf")]
    for folder in (".claude/skills", ".qwen/skills"):
        shutil.copytree(project / PDF, project / folder / "pdf", symlinks=True)
        change(project / folder / "pdf")
    expected = [("changed", f"{folder}/pdf/SKILL.md") for folder in (".claude/skills", ".qwen/skills")]
    assert found(verify(lock, str(project)), project) == expected
    paths = [os.path.relpath(skill.path, project) for skill in verify(lock, str(project), names=["pdf"]).skills]
    assert paths == [f"{folder}/pdf" for folder in (SHARED, ".claude/skills", ".qwen/skills")]


def test_folders_of_agents_that_are_one_folder_are_read_once(project: Path, lock: Lock) -> None:
    (project / ".claude").mkdir()
    (project / ".claude/skills").symlink_to("../.agents/skills")
    lock = lock.with_skills([lock.skills["pdf"].with_changes(hosts=("claude-code",))])
    assert [skill.name for skill in verify(lock, str(project)).skills] == ["docx", "pdf"]
    assert verify(lock, str(project)).different == ()


def test_a_skill_that_is_a_link_is_read_in_the_project_and_the_store(project: Path, lock: Lock, tmp_path: Path) -> None:
    """Only there: a link to another place is a difference, and what it leads to is not read."""
    store = tmp_path / "store"
    shutil.move(project / PDF, store / "pdf")
    (project / PDF).symlink_to(store / "pdf")
    assert found(verify(lock, str(project)), project) == [("outside", PDF)]
    result = verify(lock, str(project), store=str(store))
    assert [(skill.link, skill.differences) for skill in result.skills] == [(None, ()), (str(store / "pdf"), ())]
    change(store / "pdf")
    assert found(verify(lock, str(project), store=str(store)), project) == [("changed", f"{PDF}/SKILL.md")]
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/docx").symlink_to("../../.agents/skills/docx")
    docx = [skill for skill in verify(lock, str(project)).skills if skill.name == "docx"]
    assert [(skill.link, skill.differences) for skill in docx] == [(None, ()), ("../../.agents/skills/docx", ())]


@pytest.mark.parametrize(
    ("target", "kind"), [("elsewhere", "outside"), ("itself", "unreadable"), ("project/none", "missing")]
)
def test_a_skills_folder_that_leads_out_is_not_read(
    target: str, kind: str, project: Path, lock: Lock, tmp_path: Path
) -> None:
    shutil.move(project / ".agents", tmp_path / "elsewhere")
    (project / ".agents").symlink_to({"itself": ".agents"}.get(target, tmp_path / target))
    assert [kind for kind, _ in found(verify(lock, str(project)), project)] == [kind] * 2


def test_skills_that_are_not_locked_are_named(project: Path, lock: Lock) -> None:
    """Those with a SKILL.md, in any folder of an agent; a folder without one is no skill."""
    for path in (f"{SHARED}/mine", ".claude/skills/other"):
        shutil.copytree(project / PDF, project / path)
    (project / SHARED / "notes").mkdir()
    paths = (str(project / ".agents/skills/mine"), str(project / ".claude/skills/other"))
    assert verify(lock, str(project)).not_locked == paths
    assert verify(lock, str(project), names=["pdf"]).not_locked == ()


def test_skills_that_are_not_locked_are_named_where_only_some_agents_find_them(project: Path, lock: Lock) -> None:
    """Codex and others find them there, and files too; a link in such a folder may lead to one."""
    for path in ("SKILL.md", "file.md"):
        shutil.copy(project / PDF / "SKILL.md", project / SHARED / path)
    (project / SHARED / "README.md").write_text("# These are our skills\n")
    for path in ("group/mine", "group/inner/deep"):
        shutil.copytree(project / PDF, project / SHARED / path)
    (project / SHARED / "group/linked").symlink_to("../pdf")
    (project / SHARED / "group/notes").mkdir()
    found = [os.path.relpath(path, project / SHARED) for path in verify(lock, str(project)).not_locked]
    assert found == ["SKILL.md", "file.md", "group/inner/deep", "group/linked", "group/mine"]


def test_the_hash_of_the_other_tool_is_enough(project: Path) -> None:
    """It has written the entry anew. Its hash covers no links, modes and some folders, whose files are differences."""
    (project / PDF / "link").unlink()
    lock = Lock().with_skills([by_hash(project / PDF)])
    (result,) = verify(lock, str(project)).skills
    assert (result.method, result.differences) == ("computedHash", ())
    (project / PDF / "x").symlink_to("/etc")
    (project / PDF / "node_modules").mkdir()
    (project / PDF / "node_modules/x.js").write_text("")
    change(project / PDF)
    assert found(verify(lock, str(project)), project) == [
        ("hash", PDF),
        ("extra", f"{PDF}/node_modules/x.js"),
        ("extra", f"{PDF}/x"),
    ]
    shutil.rmtree(project / PDF)
    assert found(verify(lock, str(project)), project) == [("missing", PDF)]


def test_the_other_tool_may_have_installed_for_any_agent(project: Path) -> None:
    """Its lock does not say for which. The folder of a skill with another name is its name in lower case."""
    folder = project / ".claude/skills/my-docs"
    folder.parent.mkdir(parents=True)
    shutil.move(project / PDF, folder)
    (folder / "link").unlink()
    lock = Lock().with_skills([by_hash(folder).with_changes(name="My Docs")])
    (result,) = verify(lock, str(project)).skills
    assert (result.path, result.differences) == (str(folder), ())


def test_what_cannot_be_compared_is_a_difference(project: Path) -> None:
    """Names whose order is in doubt, or no hash; with our own digests the names do not matter."""
    (project / PDF / "link").unlink()
    for name in ("é", "f"):
        (project / PDF / name).write_text("")
    own = locked(project / PDF)
    assert own.computed_hash is None
    assert verify(Lock().with_skills([own]), str(project)).different == ()
    for computed in (None, "0" * 64):
        lock = Lock().with_skills([own.with_changes(tree_digest=None, files={}, computed_hash=computed)])
        assert found(verify(lock, str(project)), project) == [("unknown", PDF)]


def test_names_and_agents_must_be_known(project: Path, lock: Lock) -> None:
    with pytest.raises(SkillNotFoundError, match="`pfd`") as caught:
        verify(lock, str(project), names=["pfd"])
    assert caught.value.hint == "did you mean `pdf`?"
    with pytest.raises(ConfigError, match="the agent `no-such-agent`"):
        verify(lock.with_skills([lock.skills["pdf"].with_changes(hosts=("no-such-agent",))]), str(project))


def test_the_skills_of_a_user_are_in_the_home(project: Path, lock: Lock) -> None:
    lock = lock.with_skills([lock.skills["pdf"].with_changes(hosts=("opencode",))])
    assert found(verify(lock, str(project), scope="user"), project) == [("missing", ".config/opencode/skills/pdf")]
    shutil.copytree(project / PDF, project / ".config/opencode/skills/pdf", symlinks=True)
    assert verify(lock, str(project), scope="user").different == ()


def test_the_lock_of_a_project_is_the_nearest_in_its_repository(tmp_path: Path) -> None:
    """A lock above the repository is another user's, perhaps."""
    inner = tmp_path / "project/packages/one/src"
    inner.mkdir(parents=True)
    (tmp_path / "skills-lock.json").touch()
    assert find_project(str(inner)) == str(inner)
    (tmp_path / "project/.git").mkdir()
    assert find_project(str(inner)) == str(tmp_path / "project")
    (tmp_path / "project/packages/one/skills-lock.json").touch()
    assert find_project(str(inner)) == str(tmp_path / "project/packages/one")


def test_sha256sum_agrees(project: Path, lock: Lock) -> None:
    """An independent program finds the same digests."""
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is missing")
    lines = [
        f"{value.partition(':')[2]}  {name}/{path}\n"
        for name, skill in lock.skills.items()
        for path, value in skill.files.items()
        if not value.startswith("120000")
    ]
    command = ["sha256sum", "--check", "--strict", "--quiet"]
    assert len(lines) == 4
    assert subprocess.run(command, input="".join(lines), text=True, cwd=project / SHARED, check=False).returncode == 0
