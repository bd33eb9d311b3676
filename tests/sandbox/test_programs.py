"""Which folders of the system, of Pythons and of virtual environments a command sees."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prowess.sandbox import find_user_program
from prowess.sandbox._programs import hidden_parts, python_folders
from support.commands import SOURCE, run_python, run_shell
from support.files import write_file, write_files

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = ("bin", "games", "include", "lib", "lib32", "lib64", "libexec", "libx32", "sbin", "share")
SOFTWARE = ("cuda", "go", "julia", "openjdk-", "rustup", "texlive")


def test_of_usr_only_folders_with_programs_are_visible(bwrap: str, tmp_path: Path) -> None:
    """Not `src`, where images of containers have an application, nor `etc`, where npm may keep a token."""
    code = """if True:
        import os
        for top in ("/usr", "/usr/local"):
            print(*(entry.name for entry in os.scandir(top) if not entry.is_dir() or os.listdir(entry)))
    """
    visible = run_python(code, tmp_path, sandbox=bwrap).stdout.decode().split()
    assert {name for name in visible if not name.startswith(SOFTWARE)} <= {*SHOWN, "local", "man"}
    assert {name for name in SHOWN if os.path.isdir(f"/usr/{name}") and os.listdir(f"/usr/{name}")} <= {*visible}


@pytest.fixture
def usr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `/usr` with programs and projects, which a command sees beside the other one."""
    folder = tmp_path / "usr"
    project = {".env": "KEY=1", ".agents/skills/pdf/SKILL.md": "pdf", "inner/x": "x"}
    places = ("src/app", "app", "local/src/app", "local/app", "share/app", "local/lib/app")
    write_files(folder, {f"{place}/{name}": text for place in places for name, text in project.items()})
    write_files(folder, {"share/tool/data": "data", "local/go/bin/go": "go", "local/etc/npmrc": "token", ".env": "K"})
    shown = (*python_folders(), str(folder))
    monkeypatch.setattr("prowess.sandbox._profiles.python_folders", lambda: shown)
    monkeypatch.setattr("prowess.sandbox._profiles.hidden_parts", partial(hidden_parts, usr=str(folder)))
    return folder


def test_applications_in_usr_are_hidden(bwrap: str, usr: Path, tmp_path: Path) -> None:
    """A project among programs is visible, unless Prowess works in it."""
    line = f"cd {usr}; find . -type f -size +0 | sort; touch src/new local/app/new 2>&1 | wc -l"
    (tmp_path / "work").mkdir()
    shown = [b"./local/go/bin/go", b"./share/tool/data"]
    for place in (b"local/lib/app", b"share/app"):
        shown += [b"./%s/%s" % (place, name) for name in (b".agents/skills/pdf/SKILL.md", b".env", b"inner/x")]
    assert run_shell(line, tmp_path / "work", sandbox=bwrap).stdout.split() == [*sorted(shown), b"2"]


@pytest.mark.parametrize("place", ["src/app", "app", "local/src/app", "local/app", "share/app", "local/lib/app"])
@pytest.mark.parametrize("where", [".", "inner", ".agents/skills/pdf"])
def test_a_project_in_usr_is_hidden_from_its_commands(
    bwrap: str, usr: Path, monkeypatch: pytest.MonkeyPatch, place: str, where: str
) -> None:
    """Prowess works in it, or in a folder of it; what a command is given of it is visible."""
    project = usr / place
    monkeypatch.chdir(project / where)
    line = f"cat {usr}/share/tool/data; cat {project}/.env; ls -A {project}; touch {project}/new; cat x"
    done = run_shell(line, project / "inner", sandbox=bwrap)
    assert done.stdout == b"datainner\nx"
    assert b"No such file" in done.stderr
    assert b"Read-only file system" in done.stderr
    assert run_shell("cat .env", project, sandbox=bwrap).stdout == b"KEY=1"


def test_of_a_project_that_is_a_virtual_environment_only_programs_and_libraries_are_visible(
    bwrap: str, tmp_path: Path
) -> None:
    """Prowess is installed in it, and its Python works."""
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project], check=True)
    packages = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    files = {".env": "KEY=1", "notes": "n", "share/x": "x", "lib/own.py": "own", "lib64x/x": "x"}
    write_files(project, {**files, f"lib/{packages}/site-packages/package.py": "print('package')"})
    line = f"ls -A {project} {project}/lib; python3 -c 'import package'; {project}/bin/python -c 'import package'"
    code = f"from prowess.sandbox import run; print(run(['/bin/sh', '-c', {line!r}], cwd='/usr/bin').stdout.decode())"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [project / "bin/python", "-c", code], env=env, cwd=project, capture_output=True, text=True, check=True
    )
    words = f"{project}: bin lib pyvenv.cfg {project}/lib: {packages} package package"
    assert done.stdout.split() == words.split()


# ── virtual environments on the user's PATH ──────────────────────────────────────────────────────────────────────────


def write_python(folder: Path) -> Path:
    write_files(folder, {"bin/python3": "#!/bin/sh\n", "lib/python3.12/os.py": "", "share/x": "", "secret": ""})
    (folder / "bin/python3").chmod(0o755)
    return folder


def write_environment(folder: Path, base: Path, *, by: str = "link") -> Path:
    """Write an environment with a program, which names its Python by a link or by its settings."""
    home = base / "bin" if by == "settings" else "/nowhere/bin"
    write_files(folder, {"pyvenv.cfg": f"version = 3.12\nhome = {home}\n", "bin/tool": "#!/bin/sh\n"})
    (folder / "bin/tool").chmod(0o755)
    (folder / "lib/python3.12/site-packages").mkdir(parents=True)
    (folder / "lib/libx.so.1").touch()
    if by == "link":
        (folder / "bin/python").symlink_to(base / "bin/python3")
    return folder


def needed_by_tool(folder: Path, home: Path, **env: str) -> set[str]:
    """Return what the program of an environment needs, relative to the home."""
    program, needed = find_user_program("tool", {"PATH": f"{folder}/bin", "HOME": str(home), **env})
    assert program == f"{folder}/bin/tool"
    return {os.path.relpath(path, home) for path in needed} - {"project/.venv/bin/tool"}


@pytest.mark.parametrize("by", ["link", "settings"])
@pytest.mark.parametrize(
    ("place", "env"),
    [
        ("python", {}),
        ("work/.python/3.12", {}),
        (".pyenv/versions/3.12.1", {}),
        (".local/share/uv/python/cpython-3.12.1-linux", {}),
        (".tools/pyenv/versions/3.12.1", {"PYENV_ROOT": ".tools/pyenv"}),
        (".tools/uv/cpython-3.12.1-linux", {"UV_PYTHON_INSTALL_DIR": ".tools/uv"}),
    ],
)
def test_the_python_of_a_virtual_environment_is_visible(
    tmp_path: Path, by: str, place: str, env: dict[str, str]
) -> None:
    """Its programs and libraries, where pyenv and uv keep Pythons too."""
    base = write_python(tmp_path / place)
    variables = {name: str(tmp_path / value) for name, value in env.items()}
    needed = needed_by_tool(write_environment(tmp_path / "project/.venv", base, by=by), tmp_path, **variables)
    assert needed == {"project/.venv", f"{place}/bin", f"{place}/lib", f"{place}/share"}
    (base / "secret").unlink()
    assert needed_by_tool(tmp_path / "project/.venv", tmp_path, **variables) == {"project/.venv", place}


def test_other_files_in_a_virtual_environment_are_not_visible(tmp_path: Path) -> None:
    """It may be a project, with libraries and settings of its own."""
    environment = write_environment(tmp_path / "project/.venv", write_python(tmp_path / "python"))
    parts = {"bin", "pyvenv.cfg", "lib", *(f"../../python/{name}" for name in ("bin", "lib", "share"))}
    write_file(environment / ".env", "KEY=1")
    assert needed_by_tool(environment, tmp_path) == {os.path.normpath(f"project/.venv/{name}") for name in parts}
    write_file(environment / "lib/own.py", "")
    parts = {*parts - {"lib"}, "lib/python3.12", "lib/libx.so.1"}
    assert needed_by_tool(environment, tmp_path) == {os.path.normpath(f"project/.venv/{name}") for name in parts}


@pytest.mark.parametrize("by", ["link", "settings"])
@pytest.mark.parametrize(
    "place", [".ssh", ".ssh/python", ".aws/x/y", ".pyenv", ".local/share/uv", ".config/uv/python/x"]
)
def test_a_python_in_another_hidden_folder_of_the_home_is_not_visible(tmp_path: Path, by: str, place: str) -> None:
    """The settings of a virtual environment can be any project's."""
    base = write_python(tmp_path / place)
    assert needed_by_tool(write_environment(tmp_path / "project/.venv", base, by=by), tmp_path) == set()


def test_a_folder_that_is_no_python_is_not_visible(tmp_path: Path) -> None:
    """Nor is the home, whatever it has."""
    write_files(tmp_path, {"Documents/bin/python3": "", "Documents/lib/letter.txt": ""})
    environment = write_environment(tmp_path / "project/.venv", tmp_path / "Documents")
    assert needed_by_tool(environment, tmp_path) == set()
    (environment / "bin/python").unlink()
    (environment / "bin/python").symlink_to(write_python(tmp_path) / "bin/python3")
    assert needed_by_tool(environment, tmp_path) == set()


def test_links_in_a_virtual_environment_lead_nowhere(tmp_path: Path) -> None:
    """A project can have any: its `lib/python3.9` is not the user's keys, and not the project."""
    base = write_python(tmp_path / "python")
    environment = write_environment(tmp_path / "project/.venv", base)
    write_files(tmp_path, {".ssh/id": "key", "project/.venv/lib/own.py": "", "project/.venv/.env": ""})
    (environment / "lib/python3.9").symlink_to(tmp_path / ".ssh")
    (environment / "lib/python3.8").symlink_to("..")
    (environment / "lib/key.so").symlink_to(tmp_path / ".ssh/id")
    (environment / "lib64").symlink_to("../..")
    (base / "libexec").symlink_to(tmp_path / ".ssh")
    parts = {f"project/.venv/{name}" for name in ("bin", "pyvenv.cfg", "lib/python3.12", "lib/libx.so.1")}
    assert needed_by_tool(environment, tmp_path) == parts | {"python/bin", "python/lib", "python/share"}
    (environment / "pyvenv.cfg").rename(tmp_path / "other.cfg")
    (environment / "pyvenv.cfg").symlink_to(tmp_path / "other.cfg")
    assert needed_by_tool(environment, tmp_path) == set()


def test_a_python_behind_a_link_is_visible_under_both_names(tmp_path: Path) -> None:
    """As uv names it: without the last part of the version."""
    uv = tmp_path / ".local/share/uv/python"
    (write_python(uv / "cpython-3.12.1") / "secret").unlink()
    (uv / "cpython-3.12").symlink_to("cpython-3.12.1")
    environment = write_environment(tmp_path / "project/.venv", uv / "cpython-3.12", by="settings")
    pythons = {f".local/share/uv/python/cpython-{version}" for version in ("3.12", "3.12.1")}
    assert needed_by_tool(environment, tmp_path) == {"project/.venv", *pythons}


def test_this_python_is_found_by_a_relative_path_too(tmp_path: Path) -> None:
    """Then `sys.executable` may be relative, and the working directory changes."""
    (tmp_path / "link").symlink_to(sys.prefix)
    code = (
        "import os; from prowess.sandbox import python_program as p; os.chdir('/'); print(p(), os.access(p(), os.X_OK))"
    )
    name = os.path.basename(sys.executable)
    done = subprocess.run(
        ["sh", "-c", f'exec {name} -c "$0"', code],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"link/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path}/link/bin/{name} True\n"
