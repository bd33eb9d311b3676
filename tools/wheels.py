# ruff: noqa: INP001 - a script, not a package
"""Build the wheel and the sdist, check them, and try them with each Python of this machine. `make wheels` runs it.

For each Python, the wheel is installed in a new environment; `prowess` is started there, and the tests in `TESTS` run
from the unpacked sdist against the installed wheel. Name further interpreters in PYTHONS, a list of paths.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TESTS = ("_internal", "skill", "hosts", "catalog", "mount", "cli", "test_bad_input.py", "test_golden.py")
"""Files and folders of tests/ that need neither a framework nor the tools of development."""
NOT_NEEDED = ("axe-", "import-linter", "mypy", "playwright", "ruff", "types-")
"""Packages of the group `dev` that these tests do not need."""


def main() -> int:
    """Return 0 if all is well with each Python that was found."""
    with tempfile.TemporaryDirectory(prefix="prowess-wheels-") as folder:
        dist = Path(folder) / "dist"
        _run(sys.executable, "-m", "build", "--outdir", str(dist), str(TOP))
        wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
        _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
        results = {}
        for python in _interpreters():
            version = _version(python)
            print(f"\n── Python {version}: {python}", flush=True)
            results[version] = _try_python(python, wheel, sdist, Path(folder) / version)
        missing = [version for version in VERSIONS if not any(name.startswith(version) for name in results)]
        print()
        for version, result in results.items():
            print(f"Python {version}: {result or 'passed'}")
        if missing:
            print(f"not found, so not tried: Python {', '.join(missing)}")
        return 1 if not results or any(results.values()) else 0


def _try_python(python: str, wheel: Path, sdist: Path, folder: Path) -> str:
    """Return what failed, or an empty text."""
    _run(python, "-m", "venv", str(folder / "venv"))
    programs = folder / "venv/bin"
    packages = [
        package
        for package in tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["dev"]
        if not package.startswith(NOT_NEEDED)
    ]
    install = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps: dict[str, list[str]] = {
        "the wheel cannot be installed": [*install, str(wheel)],
        "`prowess --version` fails": [str(programs / "prowess"), "--version"],
        "`prowess list` fails": [str(programs / "prowess"), "list", "--home", str(folder), "--cwd", str(folder)],
        "the packages of the tests cannot be installed": [*install, *packages],
        "tests fail": [
            *(str(programs / "python"), "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"),
            # The installed wheel, not src/.
            *("-p", "no:cacheprovider", "-o", "pythonpath=tests", *(f"tests/{name}" for name in TESTS)),
        ],
    }
    with tarfile.open(sdist) as archive:
        # Python 3.11.4 brought the argument, and 3.14 makes it the default.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)  # noqa: S202 - it was built just before
    for failure, command in steps.items():
        done = subprocess.run(command, cwd=folder / sdist.name.removesuffix(".tar.gz"), check=False)
        if done.returncode:
            return failure
    return ""


def _interpreters() -> list[str]:
    """Return an interpreter of each version that is found: in PYTHONS, on the PATH, and those of pyenv."""
    named = [name for name in os.environ.get("PYTHONS", "").split(os.pathsep) if name]
    on_path = [shutil.which(f"python{version}") or "" for version in VERSIONS]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/*/bin/python3.*")
    found: dict[str, str] = {}
    for path in [*named, *on_path, *sorted(str(path) for path in pyenv if re.search(r"python3\.\d+$", path.name))]:
        minor = path and ".".join(_version(path).split(".")[:2])
        if minor in VERSIONS:
            found.setdefault(minor, path)
    return [found[minor] for minor in sorted(found)]


def _version(python: str) -> str:
    """Return the version of an interpreter, or an empty text if it cannot be started."""
    code = "import ensurepip, platform, venv; print(platform.python_version())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
