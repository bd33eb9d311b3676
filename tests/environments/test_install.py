"""Packages are installed once, completely, and only where no other user could change them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prowess.environments import (
    Environment,
    Needs,
    environments,
    find_environment,
    find_uv,
    install,
    remove_environment,
)
from prowess.errors import InstallError
from prowess.sandbox import CommandScope
from support.files import write_file
from support.processes import processes_end, processes_with, wait_until
from support.users import MALLORY, only_root
from support.wheels import write_wheel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no cache on Windows")
MODULE = {"shapes.py": "AREA = 4\n"}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place from which packages come."""
    folder = tmp_path / "wheels"
    write_wheel(folder, "shapes", "1.5", MODULE, requires=["lines>=2"])
    write_wheel(folder, "lines", "2.0", {"lines.py": "LENGTH = 2\n"})
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def needs(*requirements: str, python: str = "") -> Needs:
    return Needs(source="requirements.txt", requirements=requirements, python=python)


def run(environment: Environment, code: str) -> str:
    return subprocess.check_output([environment.program, "-I", "-c", code], text=True).strip()


def test_a_package_and_what_it_needs_are_installed_once(index: Path) -> None:
    """The second time neither uv nor a package is needed."""
    made = install(needs("shapes>=1"), os.environ)
    assert run(made, "import shapes, lines; print(shapes.AREA * lines.LENGTH)") == "8"
    (index / "shapes-1.5-py3-none-any.whl").unlink()
    assert install(needs("shapes>=1"), {**os.environ, "PATH": ""}).folder == made.folder
    assert [each.requirements for each in environments(os.environ)] == [("shapes>=1",)]


def test_other_packages_and_other_choices_are_other_environments(index: Path) -> None:
    found = {
        install(needs("shapes"), os.environ).folder,
        install(needs("lines"), os.environ).folder,
        install(needs("lines"), os.environ, builds=True).folder,
        install(needs("lines", "shapes"), os.environ).folder,
    }
    assert len(found) == 4


def test_an_environment_has_nothing_of_that_of_prowess(index: Path) -> None:
    assert run(install(needs("lines"), os.environ), "import importlib.util as u; print(u.find_spec('yaml'))") == "None"


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("nosuchpackage", "`lines`, `nosuchpackage` cannot be installed: "),
        ("shapes>=9", "`lines`, `shapes>=9` cannot be installed: "),
    ],
)
def test_what_fails_leaves_nothing_and_says_why(index: Path, requirement: str, message: str) -> None:
    """A package that is there is not enough if another one is missing."""
    with pytest.raises(InstallError) as failure:
        install(needs("lines", requirement), os.environ)
    assert str(failure.value).startswith(message)
    assert requirement.partition(">")[0] in str(failure.value).removeprefix(message)
    assert environments(os.environ) == []
    assert [name for name in os.listdir(_top()) if not name.startswith(".")] == []


def test_one_that_was_interrupted_is_made_again(index: Path) -> None:
    """Nothing of it is used."""
    made = install(needs("lines"), os.environ)
    os.rename(made.folder, f"{made.folder}.new")
    Path(f"{made.folder}.new/lib/half").write_text("")
    assert find_environment(needs("lines"), os.environ) is None
    again = install(needs("lines"), os.environ)
    assert not Path(again.folder, "lib/half").exists()
    assert os.listdir(_top()) == [name for name in os.listdir(_top()) if not name.endswith(".new")]


def test_two_that_need_one_environment_at_once_make_one(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait for the first."""
    log = tmp_path / "log"
    wrapper = write_file(tmp_path / "bin/uv", f'#!/bin/sh\necho "$1" >> {log}\nexec {find_uv(os.environ)} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python3"))
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(install(needs("lines"), os.environ).folder)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({*found}) == 1
    assert log.read_text().split() == ["venv", "pip"]


def test_an_installation_that_is_stopped_ends_at_once_and_leaves_nothing(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the call of the script that needs it is cancelled."""
    scope, wrapper = CommandScope(), write_file(tmp_path / "bin/uv", "#!/bin/sh\nsleep 66671 & sleep 66671\n")
    wrapper.chmod(0o755)

    def work() -> None:
        with scope, pytest.raises(InstallError, match="`shapes` cannot be installed"):
            install(needs("shapes"), os.environ)

    with ThreadPoolExecutor(1) as threads, monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "bin/python3"))
        working = threads.submit(work)
        wait_until(lambda: len(processes_with("66671")) > 1)
        scope.stop()
        working.result()
    assert processes_end("66671")
    assert not environments(os.environ)
    assert run(install(needs("shapes"), os.environ), "import shapes; print(shapes.AREA)") == "4"


def test_a_package_without_a_wheel_is_built_only_if_the_user_allows_it(index: Path, tmp_path: Path) -> None:
    """To build it runs code of the package, outside of any sandbox."""
    mark = tmp_path / "ran"
    setup = f"from pathlib import Path\nPath({str(mark)!r}).touch()\nraise SystemExit('no')\n"
    with tarfile.open(index / "evil-1.0.tar.gz", "w:gz") as archive:
        for name, text in (("setup.py", setup), ("PKG-INFO", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")):
            row = tarfile.TarInfo(f"evil-1.0/{name}")
            row.size = len(text)
            archive.addfile(row, io.BytesIO(text.encode()))
    with pytest.raises(InstallError) as failure:
        install(needs("evil"), os.environ)
    assert not mark.exists()
    assert failure.value.hint is not None
    assert "Scripts(packages='any')" in failure.value.hint


def test_settings_of_a_project_and_of_a_skill_do_not_count(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those of the working directory nor variables that name another Python or other packages."""
    write_wheel(tmp_path / "evil", "lines", "9.0", {"lines.py": "LENGTH = 'evil'\n"})
    (tmp_path / "uv.toml").write_text(f'find-links = ["{tmp_path}/evil"]\n')
    monkeypatch.chdir(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "UV_PYTHON": "/nowhere", "UV_CONSTRAINT": "/nowhere"}
    assert run(install(needs("lines"), env), "import lines; print(lines.LENGTH)") == "2"


def test_settings_of_the_user_count(index: Path, tmp_path: Path) -> None:
    """A company may have an index of its own."""
    write_file(tmp_path / "config/uv/uv.toml", f'find-links = ["{index}"]\n')
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    del env["UV_FIND_LINKS"]
    assert run(install(needs("lines"), env), "import lines; print(lines.LENGTH)") == "2"


def test_without_uv_the_error_says_how_to_get_it(index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    assert find_uv({"PATH": str(tmp_path)}) is None
    with pytest.raises(InstallError, match="`lines` cannot be installed without uv") as failure:
        install(needs("lines"), {**os.environ, "PATH": "."})
    assert failure.value.hint == "install uv, for example with `pip install uv`"


def test_a_version_of_python_that_is_not_there_is_named(index: Path) -> None:
    with pytest.raises(InstallError, match=r"Python `>=3\.99` cannot be installed"):
        install(needs(python=">=3.99"), os.environ)


@only_root
@pytest.mark.parametrize("place", ["", "environment"])
def test_an_environment_that_another_user_could_have_changed_is_not_used(index: Path, place: str) -> None:
    made = install(needs("lines"), os.environ)
    os.chown(made.folder if place else _top(), MALLORY, MALLORY)
    with pytest.raises(InstallError, match="belongs to another user"):
        install(needs("lines"), os.environ)


def test_environments_are_for_their_user_alone(index: Path) -> None:
    made = install(needs("lines"), os.environ)
    assert [os.stat(path).st_mode & 0o077 for path in (_top(), made.folder)] == [0, 0]


def test_environments_are_listed_and_removed(index: Path) -> None:
    """The one used last first; a folder with another name is not one, and a damaged record is only less to say."""
    made = [install(needs(name), os.environ) for name in ("lines", "shapes")]
    os.utime(os.path.join(made[0].folder, "prowess.json"), (1, 1))
    os.mkdir(os.path.join(_top(), "other"))
    listed = environments(os.environ)
    assert [each.requirements for each in listed] == [("shapes",), ("lines",)]
    assert listed[0].size > 1000
    Path(listed[0].folder, "prowess.json").write_text("[" * 100_000)
    assert environments(os.environ)[0].requirements in ((), ("lines",))
    os.rename(made[0].folder, f"{made[0].folder}.new")
    assert {each.name for each in environments(os.environ)} == {each.name for each in made}
    for each in environments(os.environ):
        remove_environment(each)
    assert [name for name in os.listdir(_top()) if not name.startswith(".")] == ["other"]


def test_looking_for_an_environment_is_no_use_of_it(index: Path) -> None:
    made = install(needs("lines"), os.environ)
    record = os.path.join(made.folder, "prowess.json")
    os.utime(record, (1, 1))
    assert find_environment(needs("lines"), os.environ) is not None
    assert os.stat(record).st_mtime == 1
    install(needs("lines"), os.environ)
    assert os.stat(record).st_mtime > 1


def _top() -> str:
    return os.path.join(os.environ["PROWESS_CACHE_DIR"], "environments")
