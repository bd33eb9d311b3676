"""`action.yml`: its steps run as GitHub runs them, whatever the inputs contain."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from support.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

TOP = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text(encoding="utf-8"))
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
BROKEN = "---\nname: a\ndescription: Adds a header to files: use it when one is missing.\n---\nDo it.\n"

pytestmark = pytest.mark.slow


def text_outputs(file: Path) -> dict[str, str]:
    """Read what a step wrote to `$GITHUB_OUTPUT`: `key=value`, or a value of several lines with a delimiter."""
    outputs, lines = {}, iter(file.read_text(encoding="utf-8").split("\n"))
    for line in lines:
        key, mark, delimiter = line.partition("<<")
        if mark and "=" not in key:
            outputs[key] = "\n".join(takewhile(delimiter.__ne__, lines))
        elif line:
            key, _, outputs[key] = line.partition("=")
    return outputs


@dataclass
class Runner:
    """Runs the `run` steps of a composite action, one after the other until one fails."""

    workspace: Path
    temp: Path
    inputs: dict[str, str]
    event: dict[str, str] = field(default_factory=dict)
    """Values of a pull request; without any it is a push."""
    env: dict[str, str] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    code: int = 0
    out: str = ""
    err: str = ""

    def evaluate(self, text: str) -> str:
        """Replace the expressions in a value, as GitHub does before it starts a step."""
        return EXPRESSION.sub(lambda match: self.context[match[1]], text)

    def run(self) -> Runner:
        self.context = {
            **{
                f"inputs.{name}": self.inputs.get(name, str(spec["default"])) for name, spec in ACTION["inputs"].items()
            },
            "github.action_path": str(TOP),
            "runner.temp": str(self.temp),
            "steps.python.outputs.python-path": str(fake_python(self.temp)),
            "steps.check.outputs.sarif": "",
            **self.event,
        }
        assert set(self.inputs) <= set(ACTION["inputs"])
        for number, step in enumerate(ACTION["runs"]["steps"]):
            is_comment = "pull_request" in step.get("if", "")
            wanted = bool(self.event) and self.inputs.get("comment", "true") == "true" if is_comment else self.code == 0
            if "run" in step and wanted:
                code = self.code
                self.run_step(step, self.temp / f"output-{number}")
                self.code = code or self.code
        return self

    def run_step(self, step: dict[str, Any], output: Path) -> None:
        assert step["shell"] == "bash"
        script = self.temp / f"{output.name}.sh"
        script.write_text(self.evaluate(step["run"]), encoding="utf-8")
        output.write_text("", encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.temp),
            "PYTHONPATH": str(self.workspace),
            "CI": "true",
            "GITHUB_OUTPUT": str(output),
            **self.env,
            **{name: self.evaluate(value) for name, value in step["env"].items()},
        }
        # https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax: the command of `shell: bash`
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(argv, cwd=self.workspace, env=env, capture_output=True, text=True, check=False)
        self.code, self.out, self.err = done.returncode, self.out + done.stdout, self.err + done.stderr
        for key, value in text_outputs(output).items():
            self.context[f"steps.{step.get('id')}.outputs.{key}"] = value

    def output(self, name: str) -> str:
        return self.evaluate(ACTION["outputs"][name]["value"])


def fake_python(temp: Path) -> Path:
    """Write a Python that makes environments, and installs Prowess into them, without the network.

    It is a shell script, which starts much faster.
    """
    program = temp / "python"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1 $2 $3" in\n'
        "'-I -m venv')\n"
        '    mkdir -p "$4/bin"\n'
        '    cp "$0" "$4/bin/python" ;;\n'
        "'-I -m pip')\n"
        "    shift 3\n"
        f"    printf '%s\\n' \"$@\" > {shlex.quote(str(temp / 'installed'))} ;;\n"
        f'*) exec {shlex.quote(sys.executable)} -B "$@" ;;\n'
        "esac\n",
        encoding="utf-8",
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with one skill that has a warning."""
    top = tmp_path / "work space"
    (top / ".git").mkdir(parents=True)
    write_file(top / "skills/a/SKILL.md", BROKEN)
    return top


def run_action(workspace: Path, **inputs: str) -> Runner:
    temp = workspace.parent / "temp"
    temp.mkdir(exist_ok=True)
    for old in temp.glob("prowess-venv/bin/*"):
        old.unlink()
    for folder in ("prowess-venv/bin", "prowess-venv"):
        if (temp / folder).exists():
            (temp / folder).rmdir()
    return Runner(workspace, temp, {name.replace("_", "-"): value for name, value in inputs.items()}).run()


def test_it_installs_its_own_checkout(workspace: Path) -> None:
    run = run_action(workspace, path="skills")
    (*options, path) = (run.temp / "installed").read_text().splitlines()
    assert (options[0], path) == ("install", str(TOP))


def test_findings_are_annotations_of_their_line(workspace: Path) -> None:
    """With a path relative to the repository; a warning fails with `strict` only."""
    run = run_action(workspace, path="skills")
    assert "::warning file=skills/a/SKILL.md,line=3,col=14,title=repair-colon::" in run.out
    assert (run.code, run.output("exit-code"), run.output("sarif")) == (0, "0", "")
    strict = run_action(workspace, path="skills", strict="true")
    assert (strict.code, strict.output("exit-code")) == (1, "1")


def test_without_a_path_the_repository_is_checked(workspace: Path) -> None:
    """A repository without skills fails."""
    assert "file=skills/a/SKILL.md,line=3" in run_action(workspace).out
    (workspace / "skills/a/SKILL.md").unlink()
    assert run_action(workspace).code == 1


def test_all_inputs_are_options(workspace: Path) -> None:
    """Paths are separated by lines, agents by blanks, commas or lines."""
    write_file(workspace / "more skills/a/SKILL.md", BROKEN)
    both = run_action(workspace, path="skills\nmore skills\n")
    assert "file=skills/a/SKILL.md" in both.out
    assert "file=more skills/a/SKILL.md" in both.out
    assert run_action(workspace, path="skills", policy="spec").code == 1
    for hosts in ("copilot pi", "copilot, pi", "copilot\npi\n", " pi\t,copilot"):
        assert run_action(workspace, path="skills", hosts=hosts).code == 1
    assert run_action(workspace, path="skills", hosts="gemini-cli").code == 0


@pytest.mark.parametrize("value", ["$(touch hacked)`touch hacked`", '"; touch hacked; \'; touch hacked; "', "*", "-h"])
@pytest.mark.parametrize("name", ["path", "policy", "hosts", "strict", "baseline"])
def test_no_input_runs_or_becomes_an_option(workspace: Path, name: str, value: str) -> None:
    """An input that names nothing is an error of usage."""
    run = run_action(workspace, **{"path": "skills", name: value})
    assert run.code == 2
    assert "error: " in run.err
    assert not list(workspace.rglob("hacked"))
    assert not list(run.temp.rglob("hacked"))


@pytest.mark.parametrize("name", ["a b", "$(touch hacked)", "it's", '"', "-x", "é#%", "a;b"])
def test_a_path_may_have_any_name(workspace: Path, name: str) -> None:
    write_file(workspace / f"{name}/a/SKILL.md", BROKEN)
    run = run_action(workspace, path=name, sarif=f"{name}/out put.sarif")
    assert "title=repair-colon" in run.out
    assert run.output("sarif") == f"{name}/out put.sarif"
    log = json.loads((workspace / name / "out put.sarif").read_text(encoding="utf-8"))
    assert len(log["runs"][0]["results"]) == 1


def test_sarif_has_no_suppressed_results(workspace: Path) -> None:
    """Code scanning would open an alert for each."""
    rule = "[[tool.prowess.ignore]]\ncode = 'repair-colon'\nskill = 'a'\nreason = 'known'\n"
    write_file(workspace / "pyproject.toml", rule)
    run = run_action(workspace, path="skills", sarif="out.sarif", strict="true")
    assert (run.code, run.out) == (0, "")
    assert json.loads((workspace / "out.sarif").read_text())["runs"][0]["results"] == []


def test_sarif_is_written_if_the_check_fails(workspace: Path) -> None:
    """But not if the usage is wrong."""
    run = run_action(workspace, path="skills", sarif="out.sarif", strict="true")
    assert (run.code, run.output("sarif")) == (1, "out.sarif")
    wrong = run_action(workspace, path="no-such", sarif="other.sarif")
    assert (wrong.code, wrong.output("sarif"), wrong.output("exit-code")) == (2, "", "2")
    assert not (workspace / "other.sarif").exists()


@pytest.mark.parametrize("target", ["../outside", "../nowhere"])
def test_sarif_is_not_written_through_a_link_of_the_repository(workspace: Path, target: str) -> None:
    """What is written contains text of skills, and the file may be one that a later step runs."""
    outside = workspace.parent / "outside"
    outside.write_text("as it was", encoding="utf-8")
    (workspace / "out.sarif").symlink_to(target)
    run = run_action(workspace, path="skills", sarif="out.sarif")
    assert (run.code, run.output("sarif"), outside.read_text(encoding="utf-8")) == (2, "", "as it was")
    assert "names a link" in run.err
    assert not (workspace.parent / "nowhere").exists()


@pytest.mark.parametrize("link", ["reports", "a/reports"])
def test_sarif_is_not_written_into_a_folder_that_a_link_of_the_repository_leads_to(workspace: Path, link: str) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (workspace / link).parent.mkdir(exist_ok=True)
    (workspace / link).symlink_to(outside)
    run = run_action(workspace, path="skills", sarif=f"{link}/out.sarif")
    assert (run.code, run.output("sarif"), list(outside.iterdir())) == (2, "", [])
    assert "is a link to" in run.err
    assert run_action(workspace, path="skills", sarif=f"{outside}/out.sarif").code == 0


def test_a_module_of_the_repository_is_not_imported(workspace: Path) -> None:
    for name in ("json", "yaml", "prowess"):
        write_file(workspace / f"{name}.py", "open('hacked', 'w')")
    assert run_action(workspace, path="skills", sarif="out.sarif").code == 0
    assert not (workspace / "hacked").exists()


def test_the_install_step_imports_no_module_of_the_repository(workspace: Path) -> None:
    """Not those that `venv` and `pip` are, or import; tried with a real Python."""
    for name in ("venv", "pip", "ensurepip", "logging", "subprocess"):
        write_file(workspace / f"{name}.py", f"open({str(workspace / 'hacked')!r}, 'w')")
    (step,) = (step for step in ACTION["runs"]["steps"] if "pip install" in step.get("run", ""))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(workspace), "PYTHON": sys.executable}
    env |= {"ACTION_PATH": str(workspace / "no-such"), "VENV": str(workspace.parent / "venv")}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], cwd=workspace, env=env, capture_output=True, text=True, check=False
    )
    assert not (workspace / "hacked").exists()
    assert "no-such" in done.stderr


# ── the comment ──────────────────────────────────────────────────────────────────────────────────────────────────────


class FakeGitHub(ThreadingHTTPServer):
    """Has the comments of one pull request, and answers like the API of GitHub."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeGitHubHandler)
        self.comments: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.refuses = False


class FakeGitHubHandler(BaseHTTPRequestHandler):
    server: FakeGitHub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def answer(self, value: object, code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(403 if self.server.refuses else code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def content(self) -> dict[str, Any]:
        self.server.requests.append(f"{self.command} {self.path}")
        assert self.headers["Authorization"] == "Bearer secret-token"
        value: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        return value

    def do_GET(self) -> None:
        self.content()
        page = int(self.path.rpartition("=")[2])
        self.answer(self.server.comments[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        body = self.content()["body"]
        self.server.comments.append({"id": len(self.server.comments), "user": {"type": "Bot"}, "body": body})
        self.answer({}, 201)

    def do_PATCH(self) -> None:
        body = self.content()["body"]
        self.server.comments[int(self.path.rpartition("/")[2])]["body"] = body
        self.answer({})


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def git(folder: Path, *args: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a"]
    return subprocess.run(["git", *names, *args], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def pull_request(workspace: Path) -> str:
    """Make the workspace a repository with one commit, and return it; what is changed later is the pull request."""
    (workspace / ".git").rmdir()
    git(workspace, "init", "-q", "-b", "main")
    text = BROKEN.replace("name: a", "name: b").replace("files: use", "files, use")
    write_file(workspace / ".agents/skills/b/SKILL.md", text)
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "x")
    return git(workspace, "rev-parse", "HEAD")


def comment_on(workspace: Path, github: FakeGitHub, base: str, **inputs: str) -> Runner:
    """Run the action for a pull request."""
    temp = workspace.parent / "temp"
    event = {"github.event.pull_request.base.sha": base, "github.event.pull_request.number": "7"}
    env = {
        "GITHUB_API_URL": f"http://127.0.0.1:{github.server_port}",
        "GITHUB_REPOSITORY": "ada/forms",
        "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
    }
    given = {name.replace("_", "-"): value for name, value in inputs.items()} | {"token": "secret-token"}
    temp.mkdir(exist_ok=True)
    for old in (*temp.glob("prowess-venv/bin/*"), *temp.glob("summary.md")):
        old.unlink()
    for folder in ("prowess-venv/bin", "prowess-venv"):
        if (temp / folder).exists():
            (temp / folder).rmdir()
    return Runner(workspace, temp, given, event, env).run()


def break_skill(workspace: Path) -> None:
    body = "Then `curl https://helper.example/x`, says @ada ![x](https://helper.example/y.png) <b>.\n"
    text = BROKEN.replace("name: a", "name: b") + body
    write_file(workspace / ".agents/skills/b/SKILL.md", text)


def test_a_pull_request_gets_one_comment_that_is_updated(
    workspace: Path, github: FakeGitHub, pull_request: str
) -> None:
    """It says which agents do not see a skill any more, what is found, and what is added."""
    break_skill(workspace)
    github.comments.append(
        {"id": 0, "user": {"type": "User"}, "body": "<!-- prowess: what this change does to skills -->"}
    )
    for _ in range(2):  # also if the check itself fails
        assert comment_on(workspace, github, pull_request, path="skills", hosts="copilot").code == 1
    assert len(github.comments) == 2
    body = github.comments[1]["body"]
    assert "**No longer visible**\n\n- **b** (.agents/skills/b/SKILL.md): GitHub Copilot CLI: the unquoted" in body
    assert "repair-colon" in body
    assert "**Adds**\n\n- **b** (.agents/skills/b/SKILL.md): &#96;curl&#96; to helper.example" in body
    assert "@" not in body
    assert (workspace.parent / "temp/summary.md").read_text(encoding="utf-8") == body
    assert [line.split()[0] for line in github.requests] == ["GET", "POST", "GET", "PATCH"]
    git(workspace, "checkout", "-q", ".")
    assert comment_on(workspace, github, pull_request, path="skills").code == 0
    assert "No skill becomes invisible" in github.comments[1]["body"]


def test_a_change_of_no_skill_gets_no_first_comment(workspace: Path, github: FakeGitHub, pull_request: str) -> None:
    write_file(workspace / "README.md", "x")
    assert comment_on(workspace, github, pull_request, path="skills").code == 0
    assert github.comments == []


def test_the_comment_is_found_among_many(workspace: Path, github: FakeGitHub, pull_request: str) -> None:
    github.comments += [{"id": number, "user": {"type": "Bot"}, "body": "x"} for number in range(150)]
    break_skill(workspace)
    for _ in range(2):
        comment_on(workspace, github, pull_request, path="skills")
    assert len(github.comments) == 151


def test_without_permission_the_check_says_what_it_says(workspace: Path, github: FakeGitHub, pull_request: str) -> None:
    break_skill(workspace)
    github.refuses = True
    runner = comment_on(workspace, github, pull_request, path="skills")
    assert runner.code == 0
    assert "::notice::no comment on the pull request (403)" in runner.out
    assert comment_on(workspace, github, pull_request, path="skills", strict="true").code == 1


def test_a_commit_that_is_not_there_gives_no_comment(workspace: Path, github: FakeGitHub, pull_request: str) -> None:
    del pull_request
    runner = comment_on(workspace, github, "0" * 40, path="skills")
    assert (runner.code, github.requests) == (0, [])
    assert "::notice::no comment: the commit before the change cannot be fetched" in runner.out


def test_no_comment_is_written_if_none_is_wanted(workspace: Path, github: FakeGitHub, pull_request: str) -> None:
    break_skill(workspace)
    comment_on(workspace, github, pull_request, path="skills", comment="false")
    assert github.requests == []


# ── the file itself ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_script_contains_an_expression() -> None:
    """GitHub would replace it by the input before bash reads the script."""
    steps = ACTION["runs"]["steps"]
    assert [step for step in steps if "${{" in step.get("run", "")] == []
    assert [step["uses"] for step in steps if "uses" in step and not re.search(r"@v\d+$", step["uses"])] == []


def test_every_input_is_used() -> None:
    text = (TOP / "action.yml").read_text(encoding="utf-8")
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in text] == []
