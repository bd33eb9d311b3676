"""docs/testing.md: what it teaches works, and its tables name all there is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from prowess.cli import main
from prowess.skill._forms import FindingCollector, read_yaml_mapping
from prowess.testing import ScriptedModel, load_suite, run_tests
from prowess.testing._cases import DEFAULT_TIMEOUT, MAX_CASES, MAX_TEXTS, MAX_TIMEOUT
from prowess.testing._runner import STATUSES
from support.programs import works
from support.skills import skill
from support.suites import without_durations

TOP = Path(__file__).parent.parent.parent
TEXT = (TOP / "docs/testing.md").read_text(encoding="utf-8")
SANDBOX = "auto" if works("bwrap") else "none"


def blocks(kind: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return found


def named(kind: str, folder: str) -> dict[str, str]:
    """Return the blocks whose first line names a file in a folder."""
    return {match[1]: block for block in blocks(kind) if (match := re.match(rf"# ({folder}\S+)\n", block))}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the skill of the page."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    slug = skill(top / ".agents/skills/slug").parent
    files = {**named("python", "scripts/"), **named("yaml", "tests/cases/")}
    assert len(files) == 5
    files["tests/fixtures/titles.txt"] = "One\nTwo\nThree\n"
    for path, text in files.items():
        (slug / path).parent.mkdir(parents=True, exist_ok=True)
        (slug / path).write_text(text, encoding="utf-8")
    monkeypatch.chdir(top)
    return top


def printed(text: str, project: Path) -> str:
    """Return the output of a command as on the page, without durations."""
    return without_durations(text.replace(str(project), "/home/ada/project"))


@pytest.mark.slow
def test_the_examples_on_the_page_work(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its cases run with the output on the page; the failing case is added later."""
    later = project / ".agents/skills/slug/tests/cases/04-accents.yaml"
    hidden = later.rename(project / "hidden")
    shown = [block for block in blocks("text") if block.startswith("$ prowess test")]
    assert len(shown) == 2
    for block, code in zip(shown, (0, 1), strict=True):
        typed, _, expected = block.partition("\n")
        assert main([*shlex.split(typed)[2:], "--sandbox", SANDBOX]) == code
        assert printed(capsys.readouterr().out, project) == expected
        if code == 0:
            hidden.rename(later)


def test_the_json_on_the_page_is_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same keys in the same order, and the values of the case that it shows."""
    (block,) = (block for block in blocks("json") if '"skills"' in block)
    expected = json.loads(block)
    main(["test", "slug", "--case", "accents", "--json", "--sandbox", SANDBOX])
    made = json.loads(capsys.readouterr().out)
    for value in (expected, made):
        (case,) = value["skills"][0]["cases"]
        case["duration"] = 0
        case["failures"] = [failure for failure in case["failures"] if failure["kind"] == "stdout-json"]
    made["skills"][0]["path"] = "/home/ada/project/.agents/skills/slug"
    assert json.dumps(made) == json.dumps(expected)


def keys(heading: str) -> dict[str, list[str]]:
    """Return the rows of the table below a heading: key to its cells."""
    section = TEXT.split(f"\n### {heading}\n")[1].split("\n#", maxsplit=1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_the_tables_have_exactly_the_keys_there_are(project: Path) -> None:
    """The hint for an unknown key lists all known keys."""
    folder = project / ".agents/skills/slug"
    case = folder / "tests/cases/04-accents.yaml"
    case.write_text("name: a\nzzzz: 1\ninput:\n  zzzz: 1\n  command: x\nexpected:\n  zzzz: 1\n")
    (folder / "tests/test-config.json").write_text('{"version": 1, "zzzz": 1}')
    known_keys = {Path(item.path or "").name: [] for item in load_suite(folder).findings}  # type: dict[str, list[str]]
    for item in load_suite(folder).findings:
        known_keys[Path(item.path or "").name].append((item.hint or "").removeprefix("the known keys are "))
    top, given, expected = (line.split(", ") for line in known_keys["04-accents.yaml"])
    wanted = [
        *(name for name in top if name not in ("input", "expected")),
        *(f"input.{name}" for name in given),
        *(f"expected.{name}" for name in expected),
    ]
    assert list(keys("`tests/cases/*.yaml`")) == wanted
    assert list(keys("`tests/test-config.json`")) == known_keys["test-config.json"][0].split(", ")


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    """Defaults and limits."""
    timeout = keys("`tests/test-config.json`")["timeout"]
    assert timeout[:2] == [f"number above 0, at most {MAX_TIMEOUT:g}", f"{DEFAULT_TIMEOUT:g}"]
    assert f"more than {MAX_CASES:,} cases" in TEXT
    assert f"a list of more than {MAX_TEXTS:,} texts" in TEXT
    statuses = TEXT.split("\n| status | means |\n")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", statuses, re.MULTILINE)) == STATUSES


def test_the_script_on_the_page_is_valid(tmp_path: Path) -> None:
    """For a model: three steps, two calls in the second."""
    (text,) = named("yaml", "script").values()
    (tmp_path / "script.yaml").write_text(text)
    assert [len(step.calls) for step in ScriptedModel(tmp_path / "script.yaml").steps] == [1, 2, 0]


def test_the_case_of_the_readme_passes(tmp_path: Path) -> None:
    """In the skill that it names a script of."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", (TOP / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (text,) = (block for block in blocks if "expected:" in block)
    shutil.copytree(TOP / "examples/skills/csv-profile", tmp_path / "csv-profile")
    shutil.rmtree(tmp_path / "csv-profile/tests/cases")
    (tmp_path / "csv-profile/tests/cases").mkdir()
    (tmp_path / "csv-profile/tests/cases/orders.yaml").write_text(text)
    report = run_tests(tmp_path, sandbox=SANDBOX)
    assert report.counts["passed"] == 1
    assert report.exit_code == 0


def test_every_yaml_of_the_page_is_yaml() -> None:
    """Also what is for a CI."""
    for block in blocks("yaml"):
        report = FindingCollector("page", "test-invalid")
        assert read_yaml_mapping(block.encode(), report) is not None or "a list, not" in report.findings[0].message
