"""Assembling an agent: its prompt, its skills, and its tools under the role's policy.

Quotations are of InitRunner's documents on skills.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent import Assembly, assemble
from prowess.agent._toolbox import Toolbox
from prowess.agent.policy import RefusedError
from prowess.session import Trust
from support.skills import skill

if TYPE_CHECKING:
    from prowess.catalog._entry import Entry

TOP = Path(__file__).parent.parent
HEAD = "name: a\nprompt: You help.\nmodel: openai:m\n"
FILES, WRITING = "tools:\n- type: filesystem\n", "tools:\n- type: filesystem\n  read_only: false\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder for a role, and a home."""
    for name in ("roles", "home"):
        (tmp_path / name).mkdir()
    return tmp_path.resolve()


def assemble_role(
    top: Path, more: str = "", *, dirs: tuple[str, ...] = (), invalid: bool = False, **env: str
) -> Assembly:
    """Write a role and assemble it."""
    (top / "roles/role.yaml").write_text(HEAD + more, encoding="utf-8")
    assembly, findings = assemble(top / "roles/role.yaml", dirs=dirs, home=str(top / "home"), env=env)
    assert assembly is not None
    assert assembly.findings == findings
    assert bool(findings) is invalid, [item.message for item in findings]
    return assembly


def tool_origins(toolbox: Assembly | Toolbox) -> dict[str, str]:
    """Return the origin of each tool, by name."""
    return {tool.name: tool.origin for tool in (toolbox if isinstance(toolbox, Toolbox) else toolbox.toolbox).tools}


def active_names(assembly: Assembly) -> list[str]:
    return [] if assembly.catalog is None else [active_entry.name for active_entry in assembly.catalog.active]


def active_entry(assembly: Assembly, name: str) -> Entry:
    assert assembly.catalog is not None
    (found,) = (one for one in assembly.catalog.active if one.name == name)
    return found


READ = ("read_file", "list_directory", "search_files")


# ── "How Merging Works": the prompt ──────────────────────────────────────────────────────────────────────────────────


def test_bodies_are_appended_to_the_prompt_in_the_role_s_order(top: Path) -> None:
    """InitRunner: "appended to spec.role as an additional section, separated by a header"."""
    skill(top / "roles/skills/b", body="\nDo b.\n\n")
    skill(top / "roles/skills/a", body="# A\n\nDo a.")
    assembly = assemble_role(top, "skills: [b, a]\n")
    assert assembly.instructions == "You help.\n\n## Skill: b\n\nDo b.\n\n## Skill: a\n\n# A\n\nDo a."
    assert [part.origin for part in assembly.parts] == ["role", "b", "a"]


# ── "How Merging Works": tools ───────────────────────────────────────────────────────────────────────────────────────


def test_equal_configurations_make_one_tool(top: Path) -> None:
    """InitRunner: "If multiple skills define the same tool type with identical config, only one instance"."""
    skill(top / "roles/skills/a", more="tools:\n- type: git\n- type: filesystem\n")
    skill(top / "roles/skills/b", more="tools:\n- type: filesystem\n  read_only: true\n  root_path: .\n")
    toolbox = tool_origins(assemble_role(top, "skills: [a, b]\n"))
    assert len(set(toolbox)) == len(toolbox)
    assert set(toolbox.values()) == {"a"}
    one = tool_origins(assemble_role(top, "skills: [a]\n"))
    assert toolbox == one


def test_a_different_configuration_makes_a_tool_with_another_name(top: Path) -> None:
    """Both are kept, and the model can tell them apart."""
    skill(top / "roles/skills/my-files", more=WRITING)
    skill(top / "roles/skills/more-files", more="tools:\n- type: filesystem\n  max_bytes: 5\n")
    toolbox = tool_origins(assemble_role(top, "skills: [my-files, more-files]\n" + FILES))
    assert toolbox["read_file"] == "role"
    assert toolbox["my_files_read_file"] == "my-files"
    assert toolbox["more_files_read_file"] == "more-files"
    assert toolbox["write_file"] == "my-files"


def test_the_role_s_own_tools_are_never_lost_or_renamed(top: Path) -> None:
    """For any tools and any order of skills."""
    own = tool_origins(assemble_role(top, WRITING))
    assert set(own.values()) == {"role"}
    for number, more in enumerate((FILES, WRITING, "tools:\n- type: filesystem\n  max_bytes: 1\n")):
        skill(top / f"roles/skills/s{number}", more=more)
    toolbox = tool_origins(assemble_role(top, "skills: [s0, s1, s2]\n" + WRITING))
    assert {name: origin for name, origin in toolbox.items() if origin == "role"} == own


def test_equal_scripts_in_different_folders_are_different_tools(top: Path) -> None:
    """Each runs its own file."""
    for name in ("a", "b"):
        folder = skill(
            top / f"roles/skills/{name}", more="tools:\n- type: script\n  scripts: [{name: hi, path: hi.sh}]\n"
        ).parent
        (folder / "hi.sh").write_text(f"echo {name}\n")
    assert tool_origins(assemble_role(top, "skills: [a, b]\n")) == {"hi": "a", "b_hi": "b"}


def test_no_tool_can_have_the_name_of_a_session_tool(top: Path) -> None:
    """A skill must not replace `activate_skill`."""
    scripts = "tools:\n- type: script\n  scripts:\n" + "".join(
        f"  - {{name: {name}, body: 'true'}}\n" for name in ("activate_skill", "read_skill_file", "search_skills")
    )
    skill(top / "roles/skills/bad", more=scripts)
    assert set(tool_origins(assemble_role(top, "skills: [bad]\n"))) == {
        "bad_activate_skill",
        "bad_read_skill_file",
        "bad_search_skills",
    }
    assert set(tool_origins(assemble_role(top, scripts))) == {
        "activate_skill_2",
        "read_skill_file_2",
        "search_skills_2",
    }


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_errors_are_reported_together(top: Path) -> None:
    """Those of the role, of its skills and of their tools, each with its file."""
    skill(top / "roles/skills/a", more="requires: {env: [NOT_THERE]}\n")
    script = "tools:\n- type: script\n  scripts: [{name: hi, path: hi.sh}]\n"
    b = skill(top / "roles/skills/b", more=script)
    assembly = assemble_role(top, "skils: [x]\nskills: [a, b, c]\n" + script, invalid=True, dirs=("/no/such/folder",))
    reported = [(os.path.relpath(item.path or "", top), item.line, item.message[:46]) for item in assembly.findings]
    assert reported == [
        ("roles/role.yaml", 4, "unknown key `skils`"),
        ("roles/role.yaml", None, "skill directory `/no/such/folder` does not exist"[:46]),
        ("roles/skills/a/SKILL.md", 4, "the skill `a` cannot be used: the environment "[:46]),
        ("roles/role.yaml", 5, "skill not found: `c` (looked for " + str(top)[:13]),
        ("roles/role.yaml", 7, "`tools[0]`: the script `hi`: `hi.sh` does not "),
        (os.path.relpath(b, top), 5, "`tools[0]`: the script `hi`: `hi.sh` does not "),
    ]


@pytest.mark.parametrize("named", [True, False], ids=["named", "discovered"])
def test_a_skill_s_tool_of_a_type_that_is_not_here_is_a_note(top: Path, named: bool) -> None:
    """Its other tools are offered, and the skill is used; a misspelt type is a mistake all the same."""
    skill(
        top / "roles/skills/notify",
        more="tools:\n- type: slack\n  webhook_url: https://example.com\n- type: filesystem\n",
    )
    assembly = assemble_role(top, "skills: [notify]\n" if named else "")
    toolbox = assembly.toolbox
    notes = list(assembly.notes)
    if not named:
        toolbox = toolbox.copy()
        assembly.add_discovered_tools(active_entry(assembly, "notify"), toolbox)
        notes = toolbox.notes
    assert notes == ["`notify`: `tools[0] (slack)` is not run; use instead: the tool `http` with the webhook's URL"]
    assert "read_file" in tool_origins(toolbox)
    skill(top / "roles/skills/notify", more="tools:\n- type: filesytem\n")
    if named:
        assert assemble_role(top, "skills: [notify]\n", invalid=True).findings[0].message == (
            "unknown tool type `filesytem`"
        )


def test_an_mcp_server_needs_a_command_or_a_url(top: Path) -> None:
    """This is checked before anything is started."""
    assembly = assemble_role(top, "tools:\n- type: mcp\n- type: mcp\n  transport: sse\n", invalid=True)
    assert [item.message for item in assembly.findings] == [
        "`tools[0]`: `command` is missing: an `mcp` tool with the transport `stdio` needs it",
        "`tools[1]`: `url` is missing: an `mcp` tool with the transport `sse` needs it",
    ]
    fine = assemble_role(top, "tools:\n- {type: mcp, command: server}\n- {type: mcp, command: server}\n")
    assert [origin for origin, *_ in fine.toolbox.mcp_servers] == ["role"]


def test_a_missing_package_is_named(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command to install it; roles without such tools do not need it."""
    for name in [name for name in sys.modules if name.startswith("prowess.agent.tools.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    assembly = assemble_role(top, "tools: [{type: http, base_url: 'https://example.com'}]\n", invalid=True)
    (item,) = assembly.findings
    assert item.message == "`tools[0]`: the package `httpx2` is not installed"
    assert item.hint == "install it with `pip install 'prowess[agent]'`"
    assert "read_file" in tool_origins(assemble_role(top, FILES))


# ── "Auto-Discovered Skills" ─────────────────────────────────────────────────────────────────────────────────────────


def test_skills_are_discovered_in_initrunners_folders(top: Path) -> None:
    """InitRunner, "Discovery Paths": beside the role, the project, extra folders, the user's two."""
    for name, folder in {
        "one": "roles/skills",
        "two": "roles/.agents/skills",
        "three": "extra",
        "four": "variable",
        "five": "home/.agents/skills",
        "six": "home/.initrunner/skills",
    }.items():
        skill(top / folder / name)
    for name, folder in {"no-1": "home/.claude/skills", "no-2": "roles", "no-3": "roles/.claude/skills"}.items():
        skill(top / folder / name)
    assembly = assemble_role(top, dirs=(str(top / "extra"),), INITRUNNER_SKILL_DIR=str(top / "variable"))
    assert active_names(assembly) == ["one", "two", "three", "four", "five", "six"]
    assert assembly.notes == ()
    assert assembly.instructions == "You help."


def test_a_higher_scope_shadows_a_lower_one_with_a_note(top: Path) -> None:
    """InitRunner: "Higher-priority scopes override lower-priority scopes on name collision. A warning is logged"."""
    first = skill(top / "roles/skills/pdf")
    second, third = skill(top / "roles/.agents/skills/pdf"), skill(top / "home/.initrunner/skills/pdf")
    assembly = assemble_role(top)
    assert active_names(assembly) == ["pdf"]
    assert active_entry(assembly, "pdf").path == str(first)
    assert [note.partition(": ")[0] for note in assembly.notes] == [
        f"`pdf` in {second} is shadowed",
        f"`pdf` in {third} is shadowed",
    ]


@pytest.mark.parametrize(
    "form", ["auto_skills: {enabled: false}\n", "auto_skills:\n  enabled: false\n  max_skills: 3\n"]
)
def test_discovery_can_be_switched_off(top: Path, form: str) -> None:
    """InitRunner: "To disable auto-discovery"; skills that the role names still work."""
    skill(top / "roles/skills/pdf")
    assembly = assemble_role(top, form + "skills: [pdf]\n")
    assert assembly.catalog is None
    assert "## Skill: pdf" in assembly.instructions


def test_only_folders_one_level_deep_are_discovered(top: Path) -> None:
    """InitRunner: "Only directory format", "Only 1 level deep", "Directories like .git/ ... are skipped"."""
    skill(top / "roles/skills/pdf")
    skill(top / "roles/skills/group/csv")
    (top / "roles/skills/flat.md").write_text("---\nname: flat\ndescription: d\n---\n")
    for name in (".git", "node_modules", "__pycache__", ".venv", "dist"):
        skill(top / "roles/skills" / name, "skipped")
    assert active_names(assemble_role(top)) == ["pdf"]


def test_a_skill_without_a_description_is_not_discovered(top: Path) -> None:
    """InitRunner: "Skills without a description in frontmatter are skipped"."""
    skill(top / "roles/skills/pdf")
    skill(top / "roles/skills/mute", description="")
    (top / "roles/skills/none").mkdir()
    (top / "roles/skills/none/SKILL.md").write_text("---\nname: none\n---\nDo it.\n")
    assert active_names(assemble_role(top)) == ["pdf"]


@pytest.mark.parametrize("initrunner_role", [False, True], ids=["flat", "initrunner"])
def test_at_most_max_skills_are_discovered(top: Path, initrunner_role: bool) -> None:
    """InitRunner: "Total discovered skills capped at max_skills"; a note names those that are left out."""
    for number in range(5):
        skill(top / f"roles/skills/s{number}")
    more = "auto_skills: {max_skills: 3}\n"
    assembly = assemble_role(top, more)
    if initrunner_role:
        file = top / "roles/role.yaml"
        file.write_text(
            "apiVersion: initrunner/v1\nkind: Agent\nmetadata: {name: a}\n"
            "spec:\n  role: You help.\n  model: {name: m}\n  auto_skills: {max_skills: 3}\n"
        )
        found, findings = assemble(file, home=str(top / "home"), env={})
        assert findings == ()
        assert found is not None
        assembly = found
    assert active_names(assembly) == ["s0", "s1", "s2"]
    assert [note.partition(":")[0] for note in assembly.notes] == ["`s3` is left out", "`s4` is left out"]
    assert "3" in assembly.notes[0]


def test_skills_that_the_role_names_are_not_discovered_again(top: Path) -> None:
    """InitRunner: "skips it (deduplication by resolved file path)"; they do not count for `max_skills`."""
    for number in range(5):
        skill(top / f"roles/skills/s{number}")
    skill(top / "elsewhere/linked")
    (top / "roles/skills/linked").symlink_to("../../elsewhere/linked")
    assembly = assemble_role(top, "skills: [s0, ../elsewhere/linked]\nauto_skills: {max_skills: 3}\n")
    assert [one.name for one in assembly.explicit] == ["s0", "linked"]
    assert active_names(assembly) == ["s1", "s2", "s3"]
    assert [note.partition(":")[0] for note in assembly.notes] == ["`s4` is left out"]


def test_a_missing_skill_directory_from_the_environment_is_a_note(top: Path) -> None:
    """One from `--skill-dir` is an error."""
    skill(top / "roles/skills/pdf")
    skill(top / "variable/csv")
    named = f"{top}/nowhere{os.pathsep}{top}/variable"
    for name in ("INITRUNNER_SKILL_DIR", "PROWESS_SKILL_DIR"):
        assembly = assemble_role(top, **dict.fromkeys([name], named))  # type: ignore[arg-type]
        assert active_names(assembly) == ["pdf", "csv"]
        assert assembly.notes == (f"skill directory `{top}/nowhere`, named by an environment variable, does not exist",)


# ── tools of discovered skills ────────────────────────────────────────────────────────────────────────────────────────


def test_a_discovered_skill_s_tools_are_added_on_activation(top: Path) -> None:
    """InitRunner: "Auto-discovered skills are lazy"; the role's policy applies to them."""
    skill(top / "roles/skills/files", more=FILES)
    assembly = assemble_role(top, "security: {deny: [search_files]}\n")
    assert tool_origins(assembly) == {}
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "files"), toolbox)
    assert set(tool_origins(toolbox).values()) == {"files"}
    assert "read_file" in tool_origins(toolbox)
    assert "search_files" not in tool_origins(toolbox)
    assert tool_origins(assembly) == {}


@pytest.mark.parametrize("folder", ["roles/skills", "roles/.agents/skills"])
def test_skills_in_the_role_s_folder_share_its_trust(top: Path, folder: str) -> None:
    """InitRunner, "Trust Model": "project-level skills do not expand the trust boundary"."""
    skill(top / folder / "files", more=FILES)
    assembly = assemble_role(top)
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "files"), toolbox)
    assert "read_file" in tool_origins(toolbox)
    assert toolbox.notes == []


def test_an_untrusted_skill_outside_the_role_s_folder_gets_no_tools(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note says why; a link in the role's folder to such a skill changes nothing."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(top / "config"))
    skill(top / "extra/files", more=FILES)
    skill(top / "elsewhere/linked", more=FILES)
    (top / "roles/skills").mkdir()
    (top / "roles/skills/linked").symlink_to("../../elsewhere/linked")
    assembly = assemble_role(top, dirs=(str(top / "extra"),))
    for name in ("files", "linked"):
        toolbox = assembly.toolbox.copy()
        assembly.add_discovered_tools(active_entry(assembly, name), toolbox)
        assert tool_origins(toolbox) == {}
        (note,) = toolbox.notes
        assert note.startswith(f"the tools of `{name}` are not offered: `{name}` is not trusted: review it, then type")
    Trust().allow(active_entry(assembly, "files"))
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "files"), toolbox)
    assert "read_file" in tool_origins(toolbox)


def test_a_note_on_a_skill_that_cannot_be_copied_says_what_to_do(top: Path) -> None:
    """What is too large or leads elsewhere cannot be compared with what was reviewed."""
    skill(top / "home/.agents/skills/files", more=FILES)
    (top / "home/.agents/skills/files/python").symlink_to("/usr/bin/python3")
    assembly = assemble_role(top)
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "files"), toolbox)
    (note,) = toolbox.notes
    assert note.startswith(
        "the tools of `files` are not offered: the link `python` leads out of the skill (put the file"
    )


def test_skills_in_the_user_s_home_need_no_trust(top: Path) -> None:
    """The user put them there."""
    skill(top / "home/.agents/skills/files", more=FILES)
    assembly = assemble_role(top)
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "files"), toolbox)
    assert set(tool_origins(toolbox).values()) == {"files"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("tools:\n- type: gti\n", "unknown tool type `gti`"),
        (
            "tools:\n- type: script\n  scripts: [{name: hi, path: hi.sh}]\n",
            "`tools[0]`: the script `hi`: `hi.sh` does not exist",
        ),
    ],
)
def test_invalid_tools_of_a_discovered_skill_are_a_note(
    top: Path, more: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The skill is not part of the role, so the role still runs."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(top / "config"))
    skill(top / "roles/skills/bad", more=more)
    assembly = assemble_role(top)
    Trust().allow(active_entry(assembly, "bad"))
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "bad"), toolbox)
    assert tool_origins(toolbox) == {}
    (note,) = toolbox.notes
    assert words in note


# ── "Security" ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("denied", ["filesystem", "write_file"])
def test_a_skill_cannot_add_a_tool_that_the_role_denies(top: Path, denied: str) -> None:
    """InitRunner: "Skills cannot weaken or bypass security policies"; not even under another name."""
    skill(top / "roles/skills/files", more=WRITING + "- type: filesystem\n  read_only: false\n  max_bytes: 9\n")
    assembly = assemble_role(top, f"skills: [files]\nsecurity: {{deny: [{denied}]}}\n" + WRITING)
    assert not any("write_file" in name for name in tool_origins(assembly))
    if denied == "filesystem":
        assert tool_origins(assembly) == {}
        assert assembly.notes[0] == "the role denies tools of type `filesystem`, requested by `role`"
    else:
        assert "the role denies the tool `write_file`, requested by `files`" in assembly.notes


@pytest.mark.parametrize("asked", ["filesystem", "read_file", "files_read_file"])
def test_the_role_s_ask_applies_to_tools_of_skills(top: Path, asked: str) -> None:
    """By type, by the tool's name, and by its name in this role."""
    skill(top / "roles/skills/files", more=WRITING)
    assembly = assemble_role(top, f"skills: [files]\nsecurity: {{ask: [{asked}]}}\n" + FILES)
    ask = {tool.name: tool.ask for tool in assembly.toolbox.tools}
    assert ask["files_read_file"] is True
    assert ask["read_file"] is (asked != "files_read_file")


def test_sockets_are_named_by_the_role_alone(top: Path) -> None:
    """Relative to its folder; a skill has no such key."""
    assembly = assemble_role(top, "security: {unix_sockets: [db.sock, /run/db/sock]}\n")
    assert assembly.toolbox.context.policy.unix_sockets == (str(top / "roles/db.sock"), "/run/db/sock")
    skill(top / "roles/skills/files", more="security: {unix_sockets: [db.sock]}\nunix_sockets: [db.sock]\n")
    assert assemble_role(top, "skills: [files]\n").toolbox.context.policy.unix_sockets == ()


@pytest.mark.skipif(sys.platform == "win32", reason="tools do not work on Windows yet")
def test_what_the_role_runs_is_not_written(top: Path) -> None:
    """Its own file, its skills, its scripts and its MCP servers; the role alone can allow it."""
    (top / "roles/flat.txt.md").write_text("---\nname: flat\ndescription: d\n---\n" + "x")
    for name in ("s.py", "server.py", "check", "free.txt"):
        (top / "roles" / name).write_text("x")
    tools = WRITING + (
        "- {type: script, scripts: [{name: s, path: s.py}]}\n"
        "- {type: mcp, command: python3, args: [server.py]}\n"
        "- {type: shell, allowed_commands: [./check]}\n"
    )
    assembly = assemble_role(top, "skills: [./flat.txt.md]\n" + tools)
    (write,) = (tool for tool in assembly.toolbox.tools if tool.name == "write_file")
    for path in ("role.yaml", "s.py", "server.py", "check", "flat.txt.md"):
        with pytest.raises(RefusedError, match=r"with `security.allow_writes: \[role\]`"):
            write.call(path=path, content="y")
    write.call(path="free.txt", content="y")
    allowed = assemble_role(top, "security: {allow_writes: [role]}\n" + tools)
    (write,) = (tool for tool in allowed.toolbox.tools if tool.name == "write_file")
    write.call(path="s.py", content="y")


def test_protected_kinds_are_allowed_by_the_role_alone(top: Path) -> None:
    """By names that exist; a skill has no such key."""
    skill(top / "roles/skills/files", more="security: {allow_writes: [git]}\nallow_writes: [git]\n" + WRITING)
    assembly = assemble_role(top, "skills: [files]\n")
    assert assembly.toolbox.context.policy.allow_writes == frozenset()
    (write,) = (tool for tool in assembly.toolbox.tools if tool.name == "write_file")
    with pytest.raises(RefusedError, match="is read-only"):
        write.call(path=".git/hooks/x", content="x")
    (found,) = assemble_role(top, "security: {allow_writes: [skil]}\n", invalid=True).findings
    assert (found.message, found.hint) == ("invalid value `skil` in `security.allow_writes`", "did you mean `skill`?")


def test_roots_apply_to_tools_of_skills(top: Path) -> None:
    skill(top / "roles/skills/files", more="tools:\n- type: filesystem\n  root_path: ..\n")
    (top / "secret.txt").write_text("secret")
    assembly = assemble_role(top, "skills: [files]\n", invalid=True)
    assert "outside" in assembly.findings[0].message
    fine = assemble_role(top, "skills: [files]\nsecurity: {roots: [..]}\n")
    (read,) = (tool for tool in fine.toolbox.tools if tool.name == "read_file")
    assert "secret" in read.call(path="secret.txt")
    with pytest.raises(RefusedError):
        read.call(path="/etc/passwd")


@pytest.mark.parametrize(
    ("tool", "security"),
    [
        ("{type: http, base_url: 'https://evil.example'}", "{allowed_hosts: [good.example]}"),
        ("{type: http, base_url: 'http://127.0.0.1:1', allow_private: true}", "{}"),
    ],
    ids=["allowed_hosts", "allow_private"],
)
def test_network_rules_apply_to_tools_of_skills(top: Path, tool: str, security: str) -> None:
    """`allow_private` in a skill is not enough: the role must allow it too."""
    skill(top / "roles/skills/web", more=f"tools:\n- {tool}\n")
    assembly = assemble_role(top, f"skills: [web]\nsecurity: {security}\n", invalid=True)
    (item,) = assembly.findings
    assert "invalid `base_url`" in item.message


# ── InitRunner's own roles ────────────────────────────────────────────────────────────────────────────────────────────


def initrunner_role(name: str, top: Path, **env: str) -> tuple[Assembly, list[str]]:
    shutil.copytree(TOP / "roles" / name, top / name)
    (file,) = (top / name).glob("*.yaml")
    assembly, findings = assemble(file, home=str(top / "home"), env=env)
    assert assembly is not None
    return assembly, [item.message for item in findings]


def make_programs(top: Path, *names: str) -> str:
    (top / "bin").mkdir()
    for name in names:
        (top / "bin" / name).write_text("#!/bin/sh\n")
        (top / "bin" / name).chmod(0o755)
    return str(top / "bin")


def test_initrunners_reviewer_is_assembled(top: Path) -> None:
    """InitRunner, "Full Example": with the prompt and tools of `code-review`."""
    assembly, findings = initrunner_role("reviewer", top, PATH=make_programs(top, "ruff", "mypy"))
    assert findings == []
    assert assembly.instructions.startswith("You are a senior code reviewer.")
    assert "\n\n## Skill: code-review\n\n## Code Review Skill\n\nYou can review" in assembly.instructions
    toolbox = tool_origins(assembly)
    assert set(toolbox.values()) == {"code-review"}
    assert {"git_diff", "git_changed_files", "read_file", "run_shell"} <= set(toolbox)
    assert active_names(assembly) == []
    assert assembly.notes == ()


def test_initrunners_reviewer_needs_its_programs(top: Path) -> None:
    """InitRunner, "Requirement Checking"."""
    _, findings = initrunner_role("reviewer", top, PATH=make_programs(top, "ruff"))
    assert findings == ["the skill `code-review` cannot be used: the program `mypy` is not on PATH"]


def test_initrunners_demo_discovers_its_skill(top: Path) -> None:
    """InitRunner, "Auto-Discovery Example": `summarizer` is in the catalog; activation adds its tools."""
    assembly, findings = initrunner_role("auto", top)
    assert findings == []
    assert active_names(assembly) == ["summarizer"]
    assert tool_origins(assembly) == {}
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "summarizer"), toolbox)
    assert tool_origins(toolbox) == {"fetch_page": "summarizer"}


def test_initrunners_research_assistant_needs_all_its_skills(top: Path) -> None:
    """InitRunner, "Referencing Skills": without errors once nothing is missing."""
    assembly, findings = initrunner_role("research", top, PATH=make_programs(top))
    assert [words.partition(": ")[0] for words in findings] == [
        "the skill `web-research` cannot be used",
        "the skill `web-research` cannot be used",
        "skill not found",
        "skill not found",
    ]
    shutil.copytree(TOP / "roles/auto/skills/summarizer", top / "research/skills/summarizer")
    skill(top / "research/skills/data-analysis")
    (top / "bin/curl").write_text("#!/bin/sh\n")
    (top / "bin/curl").chmod(0o755)
    env: dict[str, Any] = {"PATH": str(top / "bin"), "SEARCH_API_KEY": "k"}
    complete, invalid = assemble(assembly.role.path, home=str(top / "home"), env=env)
    assert invalid == ()
    assert complete is not None
    assert [part.origin for part in complete.parts] == ["role", "web-research", "summarizer", "data-analysis"]
    assert list(tool_origins(complete).values()) == ["web-research", "web-research"]


# ── malicious skills ──────────────────────────────────────────────────────────────────────────────────────────────────

CALLING = "tools:\n- {type: http, base_url: 'https://example.com', headers: {X: '${A_KEY}'}}\n"


def test_a_skill_gets_only_the_variables_that_it_requires(top: Path) -> None:
    """Otherwise it could send any of its user's keys anywhere."""
    skill(top / "roles/skills/b", "b", more=CALLING)
    assembly = assemble_role(top, "skills: [b]\n", invalid=True, A_KEY="secret")
    (found,) = assembly.findings
    assert "A_KEY" in found.message
    assert "secret" not in found.message
    skill(top / "roles/skills/b", "b", more=f"{CALLING}requires: {{env: [A_KEY]}}\n")
    assert tool_origins(assemble_role(top, "skills: [b]\n", A_KEY="secret")) == {"http_request": "b"}


def test_a_skill_that_changed_after_the_start_gets_no_new_tools(top: Path) -> None:
    """An agent that can write to the role's folder must not give itself tools."""
    skill(top / "roles/skills/bb")
    assembly = assemble_role(top, WRITING)
    skill(top / "roles/skills/bb", more="tools:\n- {type: shell, require_confirmation: false}\n")
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(active_entry(assembly, "bb"), toolbox)
    assert tool_origins(toolbox) == tool_origins(assembly)


@pytest.mark.parametrize(
    ("more", "writes"),
    [
        ("", False),
        (FILES, False),
        (WRITING, True),
        ("tools: [{type: shell}]\n", True),
        ("tools: [{type: git}]\n", False),
    ],
    ids=["none", "reading", "writing", "shell", "git"],
)
def test_can_write_files_depends_on_the_configuration(top: Path, more: str, writes: bool) -> None:
    assert assemble_role(top, more).toolbox.can_write_files is writes
