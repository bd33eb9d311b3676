"""Trust is checked in the call: whatever changes after tools were listed, no changed byte runs."""

from __future__ import annotations

import os
import py_compile
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from prowess.agent import Assembly, assemble
from prowess.agent.policy import RefusedError, ToolFailedError
from prowess.session import Trust
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.agent.assembly import Toolbox
    from prowess.catalog import Entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")

ROLE = "name: a\nprompt: You help.\nmodel: openai:m\n"
SCRIPT = "tools:\n- type: script\n  scripts: [{name: hello, path: scripts/run.sh}]\n"
PYTHON_SCRIPT = "tools:\n- type: script\n  scripts: [{name: hello, path: scripts/run.py}]\n"
GOOD, EVIL = "echo good\n", "echo evil\n"
ALL_KINDS = """tools:
- {type: filesystem}
- {type: shell, require_confirmation: false}
- {type: python, require_confirmation: false}
- {type: script, scripts: [{name: hello, path: scripts/run.sh}]}
- {type: mcp, command: python3, args: [scripts/run.sh]}
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a role, a home, and a folder of discovered skills; nothing is trusted yet."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    for name in ("roles", "home", "extra"):
        (tmp_path / name).mkdir()
    return tmp_path.resolve()


def write_skill(folder: Path, more: str = SCRIPT, text: str = GOOD) -> Path:
    """Write a skill with a script, and return the path of the script."""
    skill(folder, more=more)
    (folder / "scripts").mkdir()
    script = folder / ("scripts/run.py" if more is PYTHON_SCRIPT else "scripts/run.sh")
    script.write_text(text)
    return script


def assemble_role(top: Path, more: str = "", *, sandbox: str = "none", key: str = "") -> Assembly:
    (top / "roles/role.yaml").write_text(ROLE + more)
    assembly, findings = assemble(
        top / "roles/role.yaml", dirs=(str(top / "extra"),), home=str(top / "home"), env={"KEY": key}, sandbox=sandbox
    )
    assert assembly is not None
    assert findings == ()
    return assembly


def entry(assembly: Assembly, name: str = "pdf") -> Entry:
    assert assembly.catalog is not None
    (found,) = (one for one in assembly.catalog.active if one.name == name)
    return found


def activated(assembly: Assembly) -> Toolbox:
    """Return the tools after the skill was activated."""
    toolbox = assembly.toolbox.copy()
    assembly.add_discovered_tools(entry(assembly), toolbox)
    return toolbox


def call(toolbox: Toolbox, name: str = "hello", **arguments: Any) -> str:
    (tool,) = (tool for tool in toolbox.tools if tool.name == name)
    return tool.call(**arguments)


def refusal(toolbox: Toolbox, name: str = "hello", **arguments: Any) -> str:
    with pytest.raises(RefusedError) as caught:
        call(toolbox, name, **arguments)
    return str(caught.value)


# ── discovered skills ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["extra", "roles/skills"])
def test_a_script_that_changed_after_its_tool_was_listed_is_refused(top: Path, place: str) -> None:
    """The refusal says what to type; the user's answer counts from the next listing on."""
    script = write_skill(top / place / "pdf")
    assembly = assemble_role(top)
    Trust().allow(entry(assembly))
    toolbox = activated(assembly)
    assert call(toolbox) == "exit code 0\nstdout:\ngood"
    script.write_text(EVIL)
    message = refusal(toolbox)
    assert "`pdf` has changed since it was trusted on " in message
    assert f"`prowess trust {top / place / 'pdf'}`" in message
    Trust().allow(entry(assembly))
    assert "has changed since its tools were listed" in refusal(toolbox)
    assert call(activated(assembly)) == "exit code 0\nstdout:\nevil"


@pytest.mark.parametrize("name", ["hello", "run_shell", "run_python", "read_file"])
def test_trust_that_was_revoked_after_the_tools_were_listed_has_ended(top: Path, name: str) -> None:
    """For every type of tool."""
    write_skill(top / "extra/pdf", ALL_KINDS)
    assembly = assemble_role(top)
    Trust().allow(entry(assembly))
    toolbox = activated(assembly)
    Trust().revoke(entry(assembly))
    arguments = {"hello": {}, "run_shell": {"command": "true"}, "run_python": {"code": "1"}, "read_file": {"path": "a"}}
    assert refusal(toolbox, name, **arguments[name]).startswith("`pdf` is not trusted: review it, then type")


def test_a_skill_beside_a_role_starts_no_process_without_trust(top: Path) -> None:
    """The rest of its tools share the role's trust."""
    write_skill(top / "roles/skills/pdf", ALL_KINDS)
    assembly = assemble_role(top)
    toolbox = activated(assembly)
    assert {tool.kind for tool in toolbox.tools} == {"filesystem"}
    assert toolbox.mcp_servers == []
    (note,) = toolbox.notes
    assert note.startswith(
        "the tools of `pdf` that start a process or send variables are not offered: `pdf` is not trusted"
    )
    assert f"`prowess trust {top}/roles/skills/pdf`" in note
    Trust().allow(entry(assembly))
    toolbox = activated(assembly)
    assert {tool.kind for tool in toolbox.tools} == {"filesystem", "shell", "python", "script"}
    assert len(toolbox.mcp_servers) == 1
    assert toolbox.notes == []


def test_a_skill_beside_a_role_sends_no_variable_without_trust(top: Path) -> None:
    """It could name any key of its user."""
    http = "tools:\n  - type: http\n    base_url: https://example.com\n    headers: {Authorization: 'Bearer ${KEY}'}\n"
    write_skill(top / "roles/skills/pdf", f"requires:\n  env: [KEY]\n{http}")
    assembly = assemble_role(top, key="secret")
    toolbox = activated(assembly)
    assert toolbox.tools == []
    assert "are not offered: `pdf` is not trusted" in toolbox.notes[0]
    Trust().allow(entry(assembly))
    assert {tool.kind for tool in activated(assembly).tools} == {"http"}


def test_without_a_sandbox_an_untrusted_skill_beside_a_role_runs_nothing(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on the machine itself either."""
    monkeypatch.setenv("PATH", str(top))
    write_skill(top / "roles/skills/pdf")
    assembly = assemble_role(top, sandbox="auto")
    assert activated(assembly).tools == []
    Trust().allow(entry(assembly))
    toolbox = activated(assembly)
    if sys.platform == "linux":
        assert call(toolbox) == "exit code 0\nstdout:\ngood"
    Trust().revoke(entry(assembly))
    assert "is not trusted" in refusal(toolbox)


def test_tools_are_read_from_the_bytes_that_are_trusted(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SKILL.md that is exchanged for a moment does not give its skill another tool."""
    write_skill(top / "extra/pdf")
    file = top / "extra/pdf/SKILL.md"
    trusted = file.read_text()
    assembly = assemble_role(top)
    Trust().allow(entry(assembly))
    evil = trusted.replace("path: scripts/run.sh", "body: echo evil")
    original = Trust.denial_reason

    def exchange(self: Trust, one: Entry) -> str | None:
        file.write_text(trusted)
        reason = original(self, one)
        file.write_text(evil)
        return reason

    monkeypatch.setattr(Trust, "denial_reason", exchange)
    file.write_text(evil)
    assert all("evil" not in call(toolbox) for toolbox in [activated(assembly)] if toolbox.tools)


@pytest.mark.slow
def test_no_changed_script_runs_while_its_file_changes_all_the_time(top: Path) -> None:
    """A change between the check and the run is refused or has no effect."""
    script = write_skill(top / "extra/pdf")
    assembly = assemble_role(top)
    Trust().allow(entry(assembly))
    toolbox, end = activated(assembly), threading.Event()

    def flip() -> None:
        while not end.is_set():
            script.write_text(EVIL)
            script.write_text(GOOD)
            end.wait(0.0005)

    thread = threading.Thread(target=flip)
    thread.start()
    answers = set()
    try:
        for _ in range(200):
            with suppress(ToolFailedError):
                answers.add(call(toolbox))
    finally:
        end.set()
        thread.join()
    script.write_text(GOOD)
    answers.add(call(toolbox))
    assert answers == {"exit code 0\nstdout:\ngood"}


@pytest.mark.parametrize("level", ["extra", "extra/pdf", "extra/pdf/scripts"])
def test_a_folder_that_is_exchanged_for_a_link_changes_nothing_that_runs(top: Path, level: str) -> None:
    """The skill's folder, one above it, or one inside it."""
    write_skill(top / "extra/pdf")
    assembly = assemble_role(top)
    Trust().allow(entry(assembly))
    toolbox = activated(assembly)
    (top / level).rename(top / "moved")
    write_skill(top / "evil/pdf", text=EVIL)
    (top / level).symlink_to({"extra": "evil", "extra/pdf": "../evil/pdf"}.get(level, "../../evil/pdf/scripts"))
    assert "evil" not in refusal(toolbox).replace(str(top / "evil"), "")


# ── skills that a role names ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_named_skill_runs_the_bytes_that_the_role_was_loaded_with(top: Path) -> None:
    """A tool that writes cannot change what runs next."""
    script = write_skill(top / "roles/skills/pdf")
    toolbox = assemble_role(top, "skills: [pdf]\n").toolbox
    assert call(toolbox) == "exit code 0\nstdout:\ngood"
    script.write_text(EVIL)
    assert refusal(toolbox).startswith("`pdf` has changed since the role was loaded")
    script.write_text(GOOD)
    assert call(toolbox) == "exit code 0\nstdout:\ngood"
    (script.parent / "helper.sh").write_text("")
    assert refusal(toolbox).startswith("`pdf` has changed since the role was loaded")


def test_a_script_finds_its_skill_in_the_copy(top: Path) -> None:
    """As working directory, beside itself, and under a working directory that the configuration names."""
    more = SCRIPT + "  working_dir: skills/pdf/scripts\n"
    script = write_skill(top / "roles/skills/pdf", more, 'cat data "$(dirname "$0")/data"; pwd\n')
    (script.parent / "data").write_text("data\n")
    lines = call(assemble_role(top, "skills: [pdf]\n").toolbox).split("\n")
    assert lines[:4] == ["exit code 0", "stdout:", "data", "data"]
    assert not lines[4].startswith(str(top))


def test_a_program_of_a_skill_that_shell_names_by_its_path_runs_from_the_copy(top: Path) -> None:
    """As a script does."""
    more = "tools:\n- {type: shell, require_confirmation: false, allowed_commands: [skills/pdf/scripts/run.sh]}\n"
    script = write_skill(top / "roles/skills/pdf", more, '#!/bin/sh\necho "$0"\n')
    script.chmod(0o755)
    toolbox = assemble_role(top, "skills: [pdf]\n").toolbox
    answer = call(toolbox, "run_shell", command="skills/pdf/scripts/run.sh")
    assert answer.startswith("exit code 0")
    assert str(top) not in answer
    script.write_text("#!/bin/sh\necho evil\n")
    assert refusal(toolbox, "run_shell", command="skills/pdf/scripts/run.sh").startswith("`pdf` has changed since")


def test_an_interpreter_in_the_skill_runs_from_the_copy_whatever_the_working_directory(top: Path) -> None:
    more = SCRIPT + "  working_dir: .\n  interpreter: skills/pdf/scripts/interpreter\n"
    script = write_skill(top / "roles/skills/pdf", more)
    (script.parent / "interpreter").write_text('#!/bin/sh\necho "$0"\n')
    (script.parent / "interpreter").chmod(0o755)
    answer = call(assemble_role(top, "skills: [pdf]\n").toolbox)
    assert answer.startswith("exit code 0")
    assert str(top) not in answer


def test_a_planted_compiled_file_does_not_run(top: Path) -> None:
    """Neither one that was there before, nor one that came later."""
    script = write_skill(top / "roles/skills/pdf", PYTHON_SCRIPT, "import helper\n")
    helper = script.parent / "helper.py"
    helper.write_text("print('evil')\n")
    status = helper.stat()
    target = script.parent / f"__pycache__/helper.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(helper), cfile=str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    helper.write_text("print('good')\n")
    os.utime(helper, ns=(status.st_atime_ns, status.st_mtime_ns))
    toolbox = assemble_role(top, "skills: [pdf]\n").toolbox
    assert call(toolbox) == "exit code 0\nstdout:\ngood"
    target.write_bytes(target.read_bytes() + b"\0")
    assert refusal(toolbox).startswith("`pdf` has changed since the role was loaded")


# ── the role's own scripts ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["run.sh", "scripts/run.sh"])
def test_a_role_s_own_script_runs_as_it_was_loaded(top: Path, path: str) -> None:
    """Right in the role's folder, or in a folder of its own."""
    script = top / "roles" / path
    script.parent.mkdir(exist_ok=True)
    script.write_text("cat data\n")
    (top / "roles/data").write_text("first\n")
    toolbox = assemble_role(top, SCRIPT.replace("scripts/run.sh", path)).toolbox
    assert call(toolbox) == "exit code 0\nstdout:\nfirst"
    (top / "roles/data").write_text("second\n")
    assert call(toolbox) == "exit code 0\nstdout:\nsecond"
    script.write_text(EVIL)
    assert "has changed since the role was loaded" in refusal(toolbox)


def test_a_role_s_own_script_imports_the_neighbours_it_was_loaded_with(top: Path) -> None:
    """The folder that it is in is copied whole."""
    (top / "roles/scripts").mkdir()
    (top / "roles/scripts/run.py").write_text("import helper\n")
    (top / "roles/scripts/helper.py").write_text("print('good')\n")
    toolbox = assemble_role(top, PYTHON_SCRIPT).toolbox
    assert call(toolbox) == "exit code 0\nstdout:\ngood"
    (top / "roles/scripts/helper.py").write_text("print('evil')\n")
    assert refusal(toolbox).startswith("`scripts` has changed since the role was loaded")
