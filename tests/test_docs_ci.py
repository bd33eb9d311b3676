"""The snippets of `docs/ci.md` work: they are run, or compared with what they configure."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from prowess.cli import main
from prowess.cli._parser import command_parser
from support.files import write_file

TOP = Path(__file__).parent.parent
PAGE = (TOP / "docs/ci.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
REPOSITORY = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
ACTION = yaml.safe_load((TOP / "action.yml").read_text(encoding="utf-8"))
SKILL = "---\nname: pdf-tools\ndescription: Fills PDF forms. Use when a form is to be filled.\n---\nDo it.\n"


def test_nothing_installs_prowess_from_a_name_that_anybody_could_register() -> None:
    """It is on no index and in no public repository; `.example` and `<` cannot be registered."""
    assert re.fullmatch(r"https://[a-z]+\.example/prowess", REPOSITORY)
    pages = [TOP / "README.md", TOP / "action.yml", TOP / ".pre-commit-hooks.yaml", *(TOP / "docs").rglob("*.md")]
    by_name = re.compile(
        r"(?:pip|pipx|uv tool|uv) (?:install|run|add)[^`\n]* '?prowess\b(?! ?@)|uvx '?prowess\b"
        r"|github\.com/[\w-]+/prowess\b|(?:uses|repo): *[\w./:-]*(?<!https://git\.example)/prowess\b"
    )
    found = [
        (path.name, line) for path in pages for line in path.read_text("utf-8").splitlines() if by_name.search(line)
    ]
    assert not found


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def configurations() -> list[Any]:
    """Return the YAML blocks that are files of their own, without the front matter of a skill."""
    return [yaml.safe_load(text) for text in blocks("yaml") if not text.startswith("---")]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with a skill that has a warning, as the working directory; `prowess` is on the path."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    write_file(top / "skills/pdf-forms/SKILL.md", SKILL)
    write_file(tmp_path / "bin/prowess", f'#!/bin/sh\nexec {sys.executable} -P -m prowess "$@"\n')
    (tmp_path / "bin/prowess").chmod(0o755)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(TOP / "src"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.chdir(top)
    return top


def run(script: str) -> tuple[int, str]:
    """Run a script as a CI system does; return its exit code and its output."""
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("repository")
def test_the_commands_of_the_shell_work() -> None:
    """A strict check fails; with the baseline that the second block writes it passes."""
    strict, with_baseline = blocks("sh")
    code, output = run(strict)
    assert code == 1
    assert "[loads/name-not-folder]" in output
    code, output = run(with_baseline)
    assert (code, "1 in the baseline" in output) == (0, True)


@pytest.mark.slow
def test_the_makefile_works(repository: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    (text,) = blocks("make")
    write_file(repository / "Makefile", text)
    run(blocks("sh")[1].splitlines()[0])
    done = subprocess.run([make, "check-skills"], capture_output=True, text=True, check=False)
    assert (done.returncode, "1 in the baseline" in done.stderr) == (0, True)


def test_the_hooks_exist_and_take_their_arguments() -> None:
    (config,) = (item for item in configurations() if "repos" in item)
    hooks = {hook["id"] for hook in yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    (source,) = config["repos"]
    assert source["repo"] == REPOSITORY
    for hook in source["hooks"]:
        assert hook["id"] in hooks
        assert command_parser("check").parse_args([*hook["args"], "a/SKILL.md"]).path == ["a/SKILL.md"]
    assert [name for name in hooks if f"`{name}`" not in PAGE and f"id: {name}" not in PAGE] == []


def test_the_workflows_use_inputs_that_exist() -> None:
    workflows = [item for item in configurations() if "jobs" in item]
    assert len(workflows) == 2
    for workflow in workflows:
        assert workflow[True]  # YAML 1.1 reads the key `on` so
        *_, step = workflow["jobs"]["check"]["steps"]
        assert step["uses"].rpartition("@")[0] == "<your-org>/prowess"
        assert set(step["with"]) <= set(ACTION["inputs"])
        assert (workflow["permissions"].get("security-events") == "write") == ("sarif" in step["with"])


def test_every_input_and_output_of_the_action_is_documented() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ", PAGE, re.MULTILINE)
    assert rows == [*ACTION["inputs"]]
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in PAGE] == []


@pytest.mark.slow
def test_the_gitlab_job_writes_its_report(repository: Path) -> None:
    """Without the network, that is without its first line."""
    (job,) = (item["skills"] for item in configurations() if "skills" in item)
    install, *script = job["script"]
    assert install.startswith(f"pip install git+{REPOSITORY}@")
    assert run("\n".join(script))[0] == 0
    report = json.loads((repository / job["artifacts"]["reports"]["codequality"]).read_text(encoding="utf-8"))
    assert [item["check_name"] for item in report] == ["name-not-folder"]
    assert job["artifacts"]["when"] == "always"


def test_all_versions_are_the_same() -> None:
    """Of the hook, the action and the package."""
    assert len(set(re.findall(r"(?:rev: |prowess@)(\S+)", PAGE))) == 1


@pytest.mark.usefixtures("repository")
def test_the_comment_and_the_table_ignore_the_finding(repository: Path) -> None:
    """Each alone makes a strict check pass."""
    (comment,) = (text for text in blocks("yaml") if text.startswith("---"))
    table, severities = blocks("toml")
    check = ["check", "skills", "--strict", "--quiet"]
    assert main(check) == 1
    write_file(repository / "pyproject.toml", table)
    assert main(check) == 0
    (repository / "pyproject.toml").unlink()
    write_file(repository / "skills/pdf-forms/SKILL.md", f"{comment}Do it.\n")
    assert main(check) == 0
    # The severities make another finding one that fails without `--strict`.
    write_file(repository / "skills/pdf-forms/SKILL.md", f"{comment}Read [it](no.md).\n")
    assert main(["check", "skills"]) == 0
    write_file(repository / "pyproject.toml", severities)
    assert main(["check", "skills"]) == 1
