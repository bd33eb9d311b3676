"""pytest collects the cases of skills: each an item, of skills alone, and nothing else is disturbed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support.files import write_file
from support.inner_pytest import run_pytest
from support.processes import processes_end
from support.skills import skill
from support.suites import write_suite

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are not run on Windows yet")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, in which the plugin is the one of this tree."""
    source = str(Path(__file__).parents[2] / "src")
    monkeypatch.setenv("PYTHONPATH", source)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    place = pytester.path.parent / f"{pytester.path.name}-tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return pytester.path


LOADED_BY_ENTRY_POINT = """
import sys, pytest
from prowess.testing import plugin
sys.exit(pytest.main(sys.argv[1:], plugins=[plugin]))
"""


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest with no plugin that is found by its entry point, because loading all of them takes long."""
    return run_with(pytester, "-p", "prowess", "--skill-sandbox", "none", "-p", "no:cacheprovider", *arguments)


def run_with(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    """Run pytest."""
    done = run_pytest(*arguments, cwd=pytester.path, env=os.environ)
    return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0)


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    found = result.parseoutcomes()
    found.pop("seconds", None)
    return found


def node_ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line and " " not in line]


@pytest.mark.slow
def test_each_case_is_an_item(project: Path, pytester: pytest.Pytester) -> None:
    """Its node is the file and its name; its output and its failures are reported without a traceback."""
    write_suite(
        project / "pdf", {"1-a": "true", "2-b": {"command": "echo out; echo err >&2; exit 3", "stdout-contains": ["x"]}}
    )
    result = run(pytester, "--collect-only", "-q")
    assert node_ids(result) == ["pdf/tests/cases/1-a.yaml::1-a", "pdf/tests/cases/2-b.yaml::2-b"]
    result = run(pytester)
    assert (result.ret, outcomes(result)) == (1, {"passed": 1, "failed": 1})
    result.stdout.fnmatch_lines(
        [
            "*pdf: 2-b*",
            "exit-code: the exit code is 3, not 0",
            "stdout-contains: stdout does not contain `x`*",
            "*stdout*",
            "| out",
            "*stderr*",
            "| err",
            "FAILED pdf/tests/cases/2-b.yaml::2-b*",
        ]
    )
    assert "runner.py" not in result.stdout.str()


@pytest.mark.slow
def test_a_skill_below_is_chosen_as_any_test_is(project: Path, pytester: pytest.Pytester) -> None:
    """By `-k`, by a path and by a node."""
    write_suite(project / "skills/pdf", {"first": "true", "second": "false"})
    write_suite(project / "skills/xls", {"first": "true"})
    assert outcomes(run(pytester, "-k", "first")) == {"passed": 2, "deselected": 1}
    assert outcomes(run(pytester, "skills/xls", "skills/pdf/tests/cases/second.yaml")) == {"passed": 1, "failed": 1}
    assert outcomes(run(pytester, "skills/pdf/tests/cases/first.yaml::first")) == {"passed": 1}


@pytest.mark.slow
def test_the_statuses_of_cases_are_those_of_tests(project: Path, pytester: pytest.Pytester) -> None:
    """A case that could not run is an error, a time-out is a failure with that message."""
    cases: dict[str, Any] = {
        "good": "true",
        "bad": "false",
        "none": {"command": "true", "files": ["x.csv"]},
        "slow": "M=mark-of-pytest sleep 600",
    }
    write_suite(project / "pdf", cases, {"timeout": 0.5})
    result = run(pytester, "--junitxml", "report.xml")
    assert (result.ret, outcomes(result)) == (1, {"passed": 1, "failed": 2, "errors": 1})
    top = ET.parse(project / "report.xml").getroot()  # noqa: S314 - what pytest wrote
    found = {case.get("name"): [(one.tag, one.get("message")) for one in case] for case in top.iter("testcase")}
    assert set(found) == set(cases)
    assert found["good"] == []
    assert found["bad"] == [("failure", "Failed: exit-code: the exit code is 1, not 0")]
    assert [tag for tag, _ in found["none"]] == ["error"]
    assert "files: `x.csv` does not exist in the skill" in str(found["none"])
    assert "timeout: timed out after" in str(found["slow"])
    assert processes_end("mark-of-pytest")


@pytest.mark.slow
def test_hidden_folders_of_clients_are_looked_into_and_others_not(project: Path, pytester: pytest.Pytester) -> None:
    """`.agents`, `.claude` and their like, where projects keep skills; not `.git` or `.venv`."""
    for folder in (
        ".agents/skills",
        ".claude/skills",
        ".gemini/skills",
        ".git/x",
        ".venv/lib",
        ".hidden",
        "node_modules",
    ):
        write_suite(project / folder / "pdf", {"a": "true"})
    (project / ".claude/test_other.py").write_text("def test_it(): pass\n")
    ids = node_ids(run(pytester, "--collect-only", "-q"))
    skills = [name for name in ids if name.endswith("pdf/tests/cases/a.yaml::a")]
    assert skills == [f"{name}/skills/pdf/tests/cases/a.yaml::a" for name in (".agents", ".claude", ".gemini")]


@pytest.mark.slow
def test_a_skill_may_have_a_name_that_pytest_ignores(project: Path, pytester: pytest.Pytester) -> None:
    """`build` is a good name of a skill; `prowess test` runs its cases, too."""
    for name in ("build", "dist", "venv"):
        write_suite(project / "skills" / name, {"a": "true"})
    (project / "skills/build/lib").mkdir()
    (project / "build").mkdir()
    for folder in ("skills/build/lib", "build"):
        (project / folder / "test_it.py").write_text("def test_it(): pass\n")
    ids = node_ids(run(pytester, "--collect-only", "-q"))
    found = [name for name in ids if name.endswith("cases/a.yaml::a")]
    assert found == [f"skills/{name}/tests/cases/a.yaml::a" for name in ("build", "dist", "venv")]
    assert not any(name.startswith("build/") for name in ids)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--ignore=.claude", "--ignore-glob=.cl*", "--ignore-glob=.claude"])
def test_ignored_folders_are_not_collected(option: str, project: Path, pytester: pytest.Pytester) -> None:
    """Above all that of an untrusted skill."""
    for folder in (".claude", ".agents"):
        write_suite(project / folder / "skills/pdf", {"a": "true"})
    ids = [name for name in node_ids(run(pytester, "--collect-only", "-q", option)) if name.endswith("a.yaml::a")]
    assert ids == [".agents/skills/pdf/tests/cases/a.yaml::a"]


@pytest.mark.slow
def test_a_project_without_skills_notices_nothing(
    project: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its `tests/cases/x.yaml` and hidden folders are ignored, and Prowess is not loaded."""
    write_file(project / "tests/cases/x.yaml", "[broken")
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/test_it.py").write_text("def test_it(): assert False\n")
    (project / ".agents").mkdir()
    pytester.makepyfile(
        """
        import sys
        def test_it():
            assert "prowess.testing._runner" not in sys.modules
            assert "yaml" not in sys.modules
        """
    )
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = run_with(pytester)
    assert (result.ret, outcomes(result)) == (0, {"passed": 1})
    result.stdout.fnmatch_lines(["plugins:*prowess*"])


@pytest.mark.slow
def test_other_files_beside_cases_are_left_alone(project: Path, pytester: pytest.Pytester) -> None:
    """Those of another ending, and those below."""
    folder = write_suite(project / "pdf", {"a": "true"})
    (folder / "tests/cases/notes.txt").write_text("x")
    (folder / "tests/cases/.hidden.yaml").write_text("x")
    write_file(folder / "tests/fixtures/cases/x.yaml", "[")
    write_file(folder / "tests/cases/inner/x.yaml", "[")
    (folder / "tests/cases/b.YML").write_text("name: b\ninput: {command: 'true'}\n")
    assert node_ids(run(pytester, "--collect-only", "-q")) == [
        *("pdf/tests/cases/a.yaml::a", "pdf/tests/cases/b.YML::b")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["tests/test-config.json", "tests/cases/z.yaml"])
def test_a_wrong_file_is_an_error_of_collection(wrong: str, project: Path, pytester: pytest.Pytester) -> None:
    """With its place; as in `prowess test` that skill is not tested, and pytest stops before all others."""
    folder = write_suite(project / "bad", {"a": f"touch {project}/ran"})
    (folder / wrong).write_text("{\n")
    write_suite(project / "good", {"a": "true"})
    result = run(pytester)
    assert result.ret == 2
    assert f"{folder}/{wrong}:" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    result = run(pytester, "--continue-on-collection-errors")
    assert outcomes(result)["passed"] == 1
    assert not (project / "ran").exists()


@pytest.mark.slow
def test_without_a_sandbox_cases_are_errors(
    project: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reason and the remedy; the default is `auto`, and nothing is run."""
    if sys.platform != "linux":
        pytest.skip("bwrap is of Linux")
    monkeypatch.setenv("PATH", str(project))
    write_suite(project / "pdf", {"a": f"touch {project}/ran"})
    result = run_with(pytester, "-p", "prowess.testing.plugin")
    assert (result.ret, outcomes(result)) == (1, {"errors": 1})
    assert "_pytest" not in result.stdout.str()
    result.stdout.fnmatch_lines(["sandbox: no sandbox available: *"])
    assert not (project / "ran").exists()
    assert outcomes(run(pytester)) == {"passed": 1}
    assert run(pytester, "--skill-sandbox", "bwarp").ret == 4


@pytest.mark.slow
def test_a_project_with_cases_learns_how_to_switch_the_plugin_on(project: Path, pytester: pytest.Pytester) -> None:
    """Otherwise nothing would say why no case runs."""
    write_suite(project / ".agents/skills/pdf", {"a": "true"})
    (project / "test_own.py").write_text("def test_own(): pass")
    command = (sys.executable, "-c", LOADED_BY_ENTRY_POINT, "-p", "no:cacheprovider")
    advice = "*`prowess_skills = true`*`-p prowess`"
    result = pytester.run(*command)
    result.stdout.fnmatch_lines(["prowess: the tests of skills are switched off; " + advice])
    result = pytester.run(*command, "--skill-sandbox", "none")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*`--skill-sandbox` has no effect*" + advice])
    assert "switched off" not in run(pytester).stdout.str()
    shutil.rmtree(project / ".agents")
    assert "prowess:" not in pytester.run(*command).stdout.str()


@pytest.mark.slow
def test_the_work_can_be_shared(project: Path, pytester: pytest.Pytester) -> None:
    """With `-n 2` of pytest-xdist: every case once, and nothing is left."""
    if importlib.util.find_spec("xdist") is None:
        pytest.fail("this test needs pytest-xdist, which is in the group `dev`")
    write_suite(
        project / "pdf", {f"c{number:02}": f"echo {number} >> {project}/ran; exit {number % 2}" for number in range(20)}
    )
    result = run(pytester, "-n", "2", "-p", "xdist.plugin")
    assert (result.ret, outcomes(result)) == (1, {"passed": 10, "failed": 10})
    assert sorted(int(line) for line in (project / "ran").read_text().split()) == [*range(20)]
    assert os.listdir(os.environ["TMPDIR"]) == []


@pytest.mark.slow
def test_strict_suites_are_fit_for_it(project: Path, pytester: pytest.Pytester) -> None:
    """Warnings as errors, strict markers and configuration, the newest way to import."""
    write_suite(project / "pdf", {"a": "true"})
    result = run(pytester, "-W", "error", "--strict-markers", "--strict-config", "--import-mode=importlib")
    assert (result.ret, outcomes(result)) == (0, {"passed": 1})


@pytest.mark.slow
def test_hostile_output_is_escaped(project: Path, pytester: pytest.Pytester) -> None:
    """It neither controls a terminal nor commands a CI system; the same in `prowess test`."""
    line = r"printf 'a\033[2J\000b\n::error::x\n##[add-mask]a ##vso[x]\n'; printf '\033]0;t\007' >&2; exit 3"
    write_suite(project / "pdf", {"a": line})
    shown = run(pytester, "--color=no").stdout.str()
    assert [part for part in ("\x1b", "\0", "\a", "##[", "##vso") if part in shown] == []
    for part in (r"| a\x1b[2J\x00b", "| ::error::x", r"| \x23#[add-mask]a \x23#vso[x]", r"| \x1b]0;t\x07"):
        assert f"\n{part}\n" in shown


@pytest.mark.slow
def test_a_file_of_a_skill_that_is_not_utf_8_is_reported(project: Path, pytester: pytest.Pytester) -> None:
    """And the message is escaped."""
    folder = write_suite(project / "pdf", {"a": {"command": "true", "stdout-contains": ["\x1b[2J"]}})
    result = run(pytester)
    assert result.ret in (1, 2)
    assert "\x1b[2J" not in result.stdout.str()
    (folder / "tests/cases/a.yaml").write_bytes(b"name: \xff\n")
    assert run(pytester).ret == 2


@pytest.mark.slow
def test_an_invalid_skill_can_be_tested(project: Path, pytester: pytest.Pytester) -> None:
    """A skill with an invalid SKILL.md is tested too; a skill without tests is ignored."""
    (write_suite(project / "pdf", {"a": "true"}) / "SKILL.md").write_text("")
    skill(project / "plain")
    assert outcomes(run(pytester)) == {"passed": 1}


@pytest.mark.slow
def test_our_own_suite_is_not_disturbed(pytester: pytest.Pytester) -> None:
    """No tests of skills are collected from this repository's own: they are what other tests are about."""
    top = Path(__file__).parents[2]
    result = run_with(
        pytester,
        *("--collect-only", "-q", "--rootdir", top, "-c", top / "pyproject.toml", "-p", "no:cacheprovider"),
        *(top / "tests/testing", top / "tests/golden"),
    )
    assert [name for name in node_ids(result) if ".py::" not in name] == []
    assert any("test_plugin.py::" in name for name in node_ids(result))
