"""`tools/system_packages.sh` installs what is missing, or prints the command to type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/system_packages.sh"
TOOLS = ("cat", "env", "head", "sed", "sh", "tail", "tr", "uname", "uniq")
WORKS = "exit 7"
"""What a working bwrap does here: it runs `exit 7` in a sandbox."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages are installed on Linux only")


class Machine:
    """A folder that is all of `PATH`."""

    def __init__(self, folder: Path, user: int = 0) -> None:
        self.folder = folder
        folder.mkdir()
        for name in TOOLS:
            found = shutil.which(name)
            assert found
            (folder / name).symlink_to(found)
        self.has("id", f"echo {user}")

    def has(self, name: str, script: str) -> None:
        """Put a program on `PATH`."""
        (self.folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.folder / name).chmod(0o755)

    def installs(self, manager: str, before: str = "") -> None:
        """Give it a package manager that writes down how it was called, and puts each package there as bwrap."""
        new = f"printf '#!/bin/sh\\n{WORKS}\\n' >{self.folder}/bwrap; /bin/chmod +x {self.folder}/bwrap"
        self.has(manager, f'echo "{manager} $*" >>{self.folder}/log; {before}\ncase "$*" in *install*) {new};; esac')

    @property
    def log(self) -> list[str]:
        """How its package manager was called."""
        file = self.folder / "log"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def run(self, *arguments: str, **env: str) -> tuple[int, str]:
        """Run the script; return its exit code and what it prints."""
        done = subprocess.run(
            [self.folder / "sh", SCRIPT, *arguments],
            env={"PATH": str(self.folder), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "bin")


@pytest.fixture
def of_a_user(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "bin", user=1000)


INSTALLING = "make: installing bubblewrap with {}: commands of skills run in its sandbox\n"
APT_OPTIONS = "-qq -y -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1"


def test_nothing_is_printed_and_installed_if_all_is_there(machine: Machine) -> None:
    machine.installs("apt-get")
    machine.has("bwrap", WORKS)
    machine.has("git", "exit 1")
    assert machine.run("bwrap", "git", CI="true") == (0, "")
    assert machine.run("--advice", "bwrap", "git") == (0, "")
    assert machine.log == []


def test_root_installs_what_is_missing_with_apt_get(machine: Machine) -> None:
    machine.installs("apt-get")
    machine.has("git", "exit 1")
    assert machine.run("bwrap", "git", CI="true") == (0, INSTALLING.format("apt-get"))
    assert machine.log == [f"apt-get {APT_OPTIONS} install --no-install-recommends bubblewrap"]
    assert machine.run("bwrap", CI="true") == (0, "")


def test_root_installs_what_is_missing_with_dnf(machine: Machine) -> None:
    machine.installs("dnf")
    assert machine.run("bwrap", CI="true") == (0, INSTALLING.format("dnf"))
    assert machine.log == ["dnf -q -y --setopt=install_weak_deps=False install bubblewrap"]


def test_a_new_machine_is_given_the_list_of_packages_first(machine: Machine) -> None:
    """`apt-get install` fails where `apt-get update` never ran, as in most images of containers."""
    machine.installs("apt-get", f'case "$*" in *update) : >{machine.folder}/known;; esac; [ -e {machine.folder}/known ]'
                                " || { echo 'E: Unable to locate package bubblewrap'; exit 100; }")  # fmt: skip
    assert machine.run("bwrap", CI="true") == (0, INSTALLING.format("apt-get"))
    assert [line.split()[-1] for line in machine.log] == ["bubblewrap", "update", "bubblewrap"]


def test_a_user_installs_with_a_sudo_that_asks_for_no_password(of_a_user: Machine) -> None:
    of_a_user.installs("apt-get")
    of_a_user.has("sudo", '[ "$1" = -n ] || exit 9; shift; [ "$1" = true ] || exec "$@"')
    assert of_a_user.run("bwrap", CI="true") == (0, INSTALLING.format("apt-get"))
    assert len(of_a_user.log) == 1


def test_a_user_who_would_be_asked_for_a_password_is_given_the_command(of_a_user: Machine) -> None:
    """With `CI=true` a missing program is a failure."""
    of_a_user.installs("apt-get")
    of_a_user.has("sudo", "echo 'sudo: a password is required' >&2; exit 1")
    message = "bubblewrap is missing; install it with: sudo apt-get install bubblewrap\n"
    assert of_a_user.run("bwrap") == (0, f"make: {message}")
    assert of_a_user.run("bwrap", CI="true") == (1, f"make: {message}")
    assert of_a_user.run("--advice", "bwrap", CI="true") == (0, message)
    assert of_a_user.log == []


def test_a_user_without_sudo_is_given_a_command_for_root(of_a_user: Machine) -> None:
    of_a_user.installs("dnf")
    message = "bubblewrap and git-core are missing; install them with: su -c 'dnf install bubblewrap git-core'\n"
    assert of_a_user.run("--advice", "bwrap", "git") == (0, message)


def test_a_package_manager_that_fails_is_quoted(machine: Machine) -> None:
    """Without a network, say; the tests that need nothing else go on."""
    machine.has("apt-get", "echo E: Unable to fetch some archives >&2; exit 100")
    message = f"""\
{INSTALLING.format("apt-get")}make: apt-get: E: Unable to fetch some archives
make: bubblewrap is missing; install it with: apt-get install bubblewrap
"""
    assert machine.run("bwrap") == (0, message)
    assert machine.run("bwrap", CI="true") == (1, message)


def test_without_a_known_package_manager_the_packages_are_named(machine: Machine) -> None:
    message = "make: bubblewrap, git and openssl are missing; install them with the package manager of this system\n"
    assert machine.run("bwrap", "git", "openssl") == (0, message)


def test_a_bubblewrap_that_does_not_work_is_not_installed_again(machine: Machine) -> None:
    machine.installs("apt-get")
    machine.has("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    code, message = machine.run("bwrap", CI="true")
    assert code == 1
    assert message.startswith("make: bubblewrap does not work (No permissions to create new namespace); allow it ")
    assert machine.run("bwrap") == (0, message)
    assert machine.log == []


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_a_browser_has_several_names(machine: Machine, name: str) -> None:
    """Debian, Fedora and Google name the same engine differently."""
    message = "chromium is missing; install it with the package manager of this system\n"
    assert machine.run("--advice", "chromium") == (0, message)
    machine.has(name, "exit 1")
    assert machine.run("--advice", "chromium") == (0, "")


def test_a_library_is_looked_for_by_loading_it(machine: Machine) -> None:
    """A small Debian has no libatomic, without which the program that drives the browser does not start."""
    machine.has("python3", "exit 1")
    machine.has("uname", "echo Linux")
    message = "libatomic1 is missing; install it with the package manager of this system\n"
    assert machine.run("--advice", "libatomic") == (0, message)
    machine.has("python3", "exit 0")
    assert machine.run("--advice", "libatomic") == (0, "")


def test_a_python_that_makes_no_environments_is_always_a_failure(machine: Machine) -> None:
    """Nothing works without them; Debian has a package for each version of Python."""
    machine.has("python3", 'case "$*" in *version*) echo python3.11-venv;; *) exit 1;; esac')
    machine.has("apt-get", "exit 100")
    code, message = machine.run("venv")
    assert (code, message.splitlines()[-1]) == (
        1,
        "make: python3.11-venv is missing; install it with: apt-get install python3.11-venv",
    )
    assert machine.run("venv", PYTHON=sys.executable) == (0, "")


def test_a_program_that_is_not_in_the_table_is_an_error(machine: Machine) -> None:
    assert machine.run("gti") == (2, "system_packages.sh: unknown program: gti\n")


def test_few_programs_run_if_nothing_is_missing(machine: Machine) -> None:
    """The script runs before each `make test`."""
    for name in TOOLS[:1] + TOOLS[2:]:
        program = (machine.folder / name).readlink()
        (machine.folder / name).unlink()
        machine.has(name, f'echo {name} >>{machine.folder}/log; exec {program} "$@"')
    for name in ("bwrap", "git", "openssl", "socat"):
        machine.has(name, WORKS if name == "bwrap" else "exit 1")
    assert machine.run("--advice", "bwrap", "git", "openssl", "socat") == (0, "")
    assert len(machine.log) < 20
