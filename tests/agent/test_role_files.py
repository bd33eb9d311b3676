"""Tools write neither what Prowess keeps for itself, nor what the programs of a role would load."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.agent import assemble
from prowess.agent.policy import RefusedError
from prowess.agent.role_files import python_module
from prowess.guard import KINDS
from support.files import write_files
from support.rows import rows
from support.tool_calls import require_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., str]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tools do not work on Windows yet")

HEAD = "name: a\nprompt: You help.\nmodel: openai:m\ntools:\n- {type: filesystem, read_only: false}\n"
SHELL = "- {type: shell, require_confirmation: false}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The role's folder, with programs."""
    top = tmp_path.resolve() / "role"
    files = {
        "scripts/run.py": "import lib\n",
        "scripts/lib.py": "x = 1\n",
        "s.txt": "#!tools/own -x\n",
        "tools/own": "#!/bin/sh\n",
        "tools/other": "#!/bin/sh\n",
        "server.py": "x\n",
        "srv/main.py": "x\n",
        "local/__main__.py": "x\n",
        "lib/a.txt": "x\n",
    }
    return write_files(top, files)


def tool(
    folder: Path, name: str, tools: str = "", *, dirs: tuple[str, ...] = (), more: str = "", path: str = ""
) -> Call:
    """Return what calls a tool of a role in a folder."""
    (folder / "role.yaml").write_text(HEAD + tools + more)
    assembly, findings = assemble(folder / "role.yaml", dirs=dirs, home=str(folder.parent), env={"PATH": path})
    assert assembly is not None, findings
    assert not findings
    return next(item.call for item in assembly.toolbox.tools if item.name == name)


# ── what Prowess keeps ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def own_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let Prowess keep everything in the role's folder."""
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(folder / "state/conf"))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(folder / ".config/kept"))
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (folder / "tmp").mkdir()
    return folder


@pytest.mark.parametrize("path", rows(__file__, "no_role_can_allow_to_write_what_prowess_keeps"))
def test_no_role_can_allow_to_write_what_prowess_keeps(path: str, own_folders: Path) -> None:
    """The trust record, the cache and the copies that it runs."""
    write = tool(own_folders, "write_file", more=f"security: {{allow_writes: [{', '.join(KINDS)}]}}\n")
    with pytest.raises(RefusedError, match="is read-only: it belongs to Prowess itself"):
        write(path=path, content="{}")
    write(path="tmp/other", content="x")


def test_a_record_in_the_role_s_folder_is_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(folder))
    write = tool(folder, "write_file")
    for name in ("trust.json", "trust.json.new", "TRUST.JSON.lock"):
        with pytest.raises(RefusedError, match="belongs to Prowess"):
            write(path=name, content="{}")
    write(path="trust.md", content="x")


@pytest.mark.slow
def test_a_command_does_not_write_what_prowess_keeps(own_folders: Path) -> None:
    require_sandbox()
    run = tool(own_folders, "run_shell", SHELL)
    line = (
        "for f in state/conf .config/kept tmp; do mkdir -p $f/new; echo x > $f/trust.json; mv $f moved; done;"
        " mkdir conf; echo x > conf/trust.json; mv conf state/conf/..; mv state state2; echo x > fine"
    )
    run(command=f"sh -c '{line}'")
    left = {str(path.relative_to(own_folders)) for path in own_folders.rglob("*trust.json")}
    assert left <= {"conf/trust.json", "state/conf.json"}
    assert (own_folders / "fine").exists()
    assert not (own_folders / "tmp/new").exists()
    assert not (own_folders / "state2").exists()


@pytest.mark.slow
def test_the_folder_of_temporary_files_is_read_only_for_commands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that is made there meanwhile cannot be distinguished from what the command makes."""
    require_sandbox()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    result = tool(folder, "run_shell", SHELL)(command="touch x")
    assert "the folder was read-only for this command: Prowess keeps temporary files there" in result
    assert not (folder / "x").exists()


@pytest.mark.slow
def test_links_on_the_way_are_protected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that is replaced would lead to another record; what it leads to is protected as well."""
    (folder / "real/conf").mkdir(parents=True)
    (folder / "middle").symlink_to("real")
    (folder / "state").symlink_to("middle")
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(folder / "state/conf"))
    with pytest.raises(RefusedError, match="belongs to Prowess"):
        tool(folder, "write_file")(path="real/conf/trust.json", content="{}")
    require_sandbox()
    run = tool(folder, "run_shell", SHELL)
    run(command="sh -c 'mkdir -p o/conf; echo x > o/conf/trust.json; rm state; ln -s o state; ln -sfn o middle'")
    assert os.readlink(folder / "state") == "middle"
    assert os.readlink(folder / "middle") == "real"
    assert not (folder / "state/conf/trust.json").exists()


# ── what the role runs ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_command_does_not_write_beside_a_script(folder: Path) -> None:
    require_sandbox()
    run = tool(folder, "run_shell", SHELL + "- {type: script, scripts: [{name: s, path: scripts/run.py}]}\n")
    line = "echo x >> scripts/lib.py; echo x > scripts/new.py; mkdir n; mv scripts n; echo x > fine"
    run(command=f"sh -c '{line}'")
    assert sorted(path.name for path in (folder / "scripts").iterdir()) == ["lib.py", "run.py"]
    assert (folder / "scripts/lib.py").read_text() == "x = 1\n"
    assert (folder / "fine").exists()


@pytest.mark.parametrize(("line", "module"), rows(__file__, "a_module_is_found_in_a_command_line"))
def test_a_module_is_found_in_a_command_line(line: str, module: str | None) -> None:
    assert python_module(line.split()) == module
