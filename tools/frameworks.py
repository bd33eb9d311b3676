# ruff: noqa: INP001 - a script, not a package
"""Run the lines of each adapter's page with the wheel in an empty environment. `make frameworks` runs it.

For each page, a new environment gets what the page's `pip` line installs, with the wheel that is built here in place of
`.`, and nothing else. Its Python code runs in a new project with an empty home; the model is a server on the loopback
address. `make test` runs the same code in environments that have more, and hides the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import copytree
from time import perf_counter

TOP = Path(__file__).parents[1]
sys.path.insert(0, str(TOP / "tests"))

from adapters.test_docs_as_installed import PAGES, STUBS, Model, model_variables, programs, requirements  # noqa: E402

UV = Path(sys.executable).parent / "uv"


def main() -> int:
    """Return 0 if the lines of all pages, or of those that are named, run."""
    named = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="prowess-frameworks-") as folder:
        top = Path(folder)
        subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", top / "dist", TOP], check=True)
        (wheel,) = (top / "dist").glob("*.whl")
        for page in PAGES:
            if named and not any(name in page for name in named):
                continue
            start = perf_counter()
            problem = _try_page(page, wheel, top / Path(page).stem)
            failed += bool(problem)
            print(f"{page}: {problem or 'passed'} ({perf_counter() - start:.0f} s)", flush=True)
    return 1 if failed else 0


def _try_page(page: str, wheel: Path, folder: Path) -> str:
    """Return what failed, or an empty text."""
    python = folder / "venv/bin/python"
    words = [word.replace("prowess[", f"{wheel}[", 1) for word in requirements(page)]
    for command in (
        [UV, "venv", "--quiet", "--python", sys.executable, folder / "venv"],
        [UV, "pip", "install", "--quiet", "--python", python, *words],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"cannot be installed:\n{done.stderr}"
    for number, code in enumerate(programs(page)):
        project = folder / f"project{number}"
        copytree(TOP / "examples/skills", project / ".agents/skills")
        (project / "examples").symlink_to(TOP / "examples")
        (folder / "home").mkdir(exist_ok=True)
        with Model() as model:
            env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), **model_variables(f"{model.url}/v1")}
            command = [python, "-c", code]
            done = subprocess.run(
                command, cwd=project, env=env, capture_output=True, text=True, timeout=300, check=False
            )
        if done.returncode:
            return f"program {number + 1} fails:\n{done.stderr}"
        if page not in STUBS and "<available_skills>" not in json.dumps(model.requests[:1]):
            return f"program {number + 1} shows the model no skills"
    return ""


if __name__ == "__main__":
    sys.exit(main())
