from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from prowess.errors import ConfigError
from prowess.install import ImportedLock, read_apm_lock, with_installed_files
from prowess.install.lock import read_tree

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HASH = hashlib.sha256(b"one\ntwo\n").hexdigest()
LOCK = f"""\
lockfile_version: '2'
generated_at: '2026-01-01T00:00:00+00:00'
apm_version: 0.26.0
dependencies:
- repo_url: acme/skills
  materialization_repo_url: Acme/Skills
  resolved_commit: {COMMIT}
  resolved_ref: v1
  virtual_path: skills/pdf
  is_virtual: true
  package_type: claude_skill
  deployed_files:
  - .agents/skills/pdf
  - .agents/skills/pdf/SKILL.md
  - .claude/skills/pdf/SKILL.md
  deployed_file_hashes:
    .agents/skills/pdf/SKILL.md: sha256:{HASH}
- repo_url: https://github.com/acme/bundle
  resolved_commit: {COMMIT}
  resolved_ref: {COMMIT}
  package_type: skill_bundle
  deployed_files: [.claude/skills/one/SKILL.md, .claude/skills/two/SKILL.md, .github/instructions/x.md]
- repo_url: group/sub/skills
  host: gitlab.com
  resolved_commit: {COMMIT}
  deployed_files: [.agents/skills/lab/SKILL.md]
- repo_url: team/skills
  host: git.example
  port: 8443
  resolved_commit: {COMMIT}
  deployed_files: [.agents/skills/own/SKILL.md]
- repo_url: _local/tools
  source: local
  local_path: ./packages/tools
  deployed_files: [.agents/skills/tools/SKILL.md]
- repo_url: acme/instructions
  resolved_commit: {COMMIT}
  package_type: apm_package
  deployed_files: [.github/instructions/x.md]
- {{repo_url: acme/registry, source: registry, deployed_files: [.agents/skills/r/SKILL.md]}}
- {{repo_url: acme/plain, is_insecure: true, resolved_commit: {COMMIT}, deployed_files: [.agents/skills/i/SKILL.md]}}
- {{repo_url: acme/proxied, registry_prefix: x, resolved_commit: {COMMIT}, deployed_files: [.agents/skills/x/SKILL.md]}}
- {{repo_url: acme/branch, resolved_ref: main, deployed_files: [.agents/skills/b/SKILL.md]}}
- {{repo_url: _local/far, source: local, local_path: /srv/far, deployed_files: [.agents/skills/far/SKILL.md]}}
- {{repo_url: acme/again, resolved_commit: {COMMIT}, deployed_files: [.agents/skills/pdf/SKILL.md]}}
- {{repo_url: -x/../y, resolved_commit: {COMMIT}, deployed_files: [.agents/skills/y/SKILL.md]}}
- {{repo_url: acme/out, resolved_commit: {COMMIT}, deployed_files: [../etc/skills/o/SKILL.md, a/../skills/o/SKILL.md]}}
- {{repo_url: acme/dots, resolved_commit: {COMMIT}, deployed_files: [.agents/skills/../SKILL.md]}}
mcp_servers: [github]
lsp_servers: [pyright]
local_deployed_files: [.github/skills/mine/SKILL.md]
"""


def imported(tmp_path: Path, text: str = LOCK) -> ImportedLock:
    (tmp_path / "apm.lock.yaml").write_text(text)
    return read_apm_lock(str(tmp_path / "apm.lock.yaml"))


def test_skills_of_git_and_of_folders_are_taken(tmp_path: Path) -> None:
    """With their commits, and the agents if they are not only in the folder that agents share."""
    taken = {
        skill.entry.name: (skill.entry.source_type, skill.entry.source, skill.entry.source_url, skill.entry.hosts)
        for skill in imported(tmp_path).skills
    }
    gitlab, own = "https://gitlab.com/group/sub/skills.git", "https://git.example:8443/team/skills.git"
    assert taken == {
        "pdf": ("github", "Acme/Skills", None, ("claude-code", "prowess")),
        "one": ("github", "acme/bundle", None, ("claude-code",)),
        "two": ("github", "acme/bundle", None, ("claude-code",)),
        "lab": ("gitlab", "group/sub/skills", gitlab, ()),
        "own": ("git", own, own, ()),
        "tools": ("local", "./packages/tools", None, ()),
    }
    pdf, one = imported(tmp_path).skills[:2]
    assert (pdf.entry.ref, pdf.entry.revision, pdf.entry.skill_path) == ("v1", COMMIT, "skills/pdf/SKILL.md")
    assert (one.entry.ref, one.entry.revision, one.entry.skill_path) == (None, COMMIT, None)
    assert pdf.folders == (".agents/skills/pdf", ".claude/skills/pdf")


def test_the_lock_that_apm_wrote_is_read() -> None:
    """Recorded by `python tests/apm_tool.py --record`, with version 0.35.0."""
    lock = read_apm_lock(str(Path(__file__).parent / "apm_tool/apm.lock.yaml"))
    taken = {skill.entry.name: (skill.entry.source, skill.entry.ref, skill.entry.skill_path) for skill in lock.skills}
    assert taken == {
        "notes": ("./packages/notes", None, None),
        "docx": ("acme/skills", None, "skills/docx/SKILL.md"),
        "pdf": ("acme/skills", "main", "skills/pdf/SKILL.md"),
    }
    assert lock.left_out == ()
    assert all(len(skill.entry.revision or "") == 40 for skill in lock.skills if skill.entry.source_type == "github")
    assert {len(skill.folders) for skill in lock.skills} == {2}
    assert all(len(value) == 64 for skill in lock.skills for value in skill.hashes.values())


def test_what_is_left_out_has_a_reason(tmp_path: Path) -> None:
    assert dict(imported(tmp_path).left_out) == {
        "acme/instructions": "has no skill (it is a package of type `apm_package`)",
        "acme/registry": "comes from a registry of APM",
        "acme/plain": "is fetched with http, without encryption",
        "acme/proxied": "is fetched from a proxy",
        "acme/branch": "has no commit",
        "_local/far": "is a folder outside this project",
        "pdf": "comes twice; the first is from Acme/Skills",
        "-x/../y": "has a repository that is not known: `-x/../y`",
        "acme/out": "has no skill",
        "..": "skills.`..` is not the name of a skill",
        "github": "is an MCP server, not a skill",
        "pyright": "is a language server, not a skill",
        "mine": "is a skill of this project itself",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it has no list `dependencies`"),
        ("a: [", ":2:1: the file is not valid YAML"),
        ("lockfile_version: '3'\ndependencies: []", "lockfile_version must be 1 or 2, and is `3`"),
        ("dependencies: {}", "it has no list `dependencies`"),
        ("dependencies: &a [*a]", "anchors and aliases are not allowed"),
        ("- x", "it has no list `dependencies`"),
    ],
)
def test_another_file_is_an_error(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        imported(tmp_path, text)
    assert problem in str(caught.value)
    with pytest.raises(ConfigError):
        read_apm_lock(str(tmp_path / "missing"))


def test_files_are_locked_if_they_are_those_of_the_other_lock(tmp_path: Path) -> None:
    """Line ends do not count in its hashes; a file more or another byte does."""
    (pdf,) = (skill for skill in imported(tmp_path).skills if skill.entry.name == "pdf")
    assert with_installed_files(pdf, str(tmp_path)) is None
    folder = tmp_path / ".agents/skills/pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(b"one\r\ntwo\r\n")
    entry = with_installed_files(pdf, str(tmp_path))
    assert entry is not None
    assert entry.tree_digest == read_tree(str(folder)).digest
    assert list(entry.files) == ["SKILL.md"]
    (folder / "more").touch()
    assert with_installed_files(pdf, str(tmp_path)) is None
    (folder / "more").unlink()
    (folder / "SKILL.md").write_bytes(b"one\ntwo\nthree")
    assert with_installed_files(pdf, str(tmp_path)) is None
