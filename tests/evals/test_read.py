"""The forms of eval files that published skills have, and what is wrong in them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from prowess.evals import read_evals
from prowess.findings import Severity
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.evals import Evals


def put(folder: Path, files: dict[str, str]) -> Path:
    """Write a skill with some files."""
    skill(folder)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, files: dict[str, str], cases: str | None = None) -> Evals:
    """Return the evals of a skill `pdf` with some files."""
    put(folder / "pdf", files)
    return read_evals(str(folder / "pdf"), cases)


AGENTSKILLS = """{
  "skill_name": "pdf",
  "evals": [
    {
      "id": 1,
      "prompt": "Fill the form",
      "expected_output": "A filled form",
      "files": ["evals/files/form.txt"],
      "assertions": [
        "The name is Ada",
        {"type": "contains", "value": "Ada"},
        {"type": "not_contains_pattern", "pattern": "ERR[0-9]+", "text": "no error"}
      ]
    },
    {"id": "no", "prompt": "Tell a joke", "should_trigger": false, "expectations": ["It is short"]},
    {"prompt": "Print", "expected": {"exit-code": 0, "stdout-contains": ["page 1"]}}
  ]
}
"""
NVIDIA = """[
  {"id": "a", "question": "Fill it", "expected_skill": "pdf", "expected_script": null, "ground_truth": "Filled",
   "expected_behavior": ["Reads the form", "Writes it"]},
  {"id": "b", "question": "A joke", "expected_skill": null, "ground_truth": "One", "expected_behavior": []},
  {"id": "c", "question": "A table", "expected_skill": "csv", "ground_truth": "", "expected_behavior": []}
]
"""
TRIGGERS = '[{"query": "fill this", "should_trigger": true}, {"query": "a joke", "should_trigger": false}]'
SCENARIOS = """\
scenarios:
  - name: "Fill it"
    prompt: "Fill the form"
    setup:
      files:
        - path: "form.txt"
          content: "Name:"
        - path: "copy.txt"
          source: "evals/files/form.txt"
    assertions:
      - type: "output_contains"
        value: "Ada"
      - type: "file_exists"
        path: "*.pdf"
      - type: "exit_success"
    rubric:
      - "Writes the name"
    expect_tools: ["bash"]
    reject_tools: ["create_file"]
    max_turns: 10
    timeout: 120
  - name: "A joke"
    prompt: "Tell a joke"
    expect_activation: false
"""
STIMULI = """\
name: pdf-eval
type: capability
defaults:
  runs: 1
stimuli:
  - name: fill
    prompt: |
      Fill the form
    tags:
      area: forms
    environment:
      files:
        - src: evals/files/form.txt
          dest: form.txt
    graders:
      - type: output-matches
        config:
          pattern: (Ada|ada)
          negate: true
      - type: tool-calls
        config:
          required: [bash]
      - type: prompt
    rubric:
      - The name is filled in
    constraints:
      max_turns: 5
  - name: joke
    prompt: Tell a joke
    graders:
      - type: skill-invocation
        config:
          disallowed: [pdf]
"""
FILES = {"evals/files/form.txt": "Name:"}


def test_the_form_of_agentskills(tmp_path: Path) -> None:
    evals = read(tmp_path, {"evals/evals.json": AGENTSKILLS, **FILES})
    assert evals.findings == ()
    first, second, third = evals.cases
    assert [case.id for case in evals.cases] == ["1", "no", "3"]
    assert (first.prompt, first.expected, first.triggers, first.skill) == (
        "Fill the form",
        "A filled form",
        True,
        "pdf",
    )
    assert [(grader.kind, grader.text) for grader in first.graders] == [
        ("judge", "The name is Ada"),
        ("output-contains", "Ada"),
        ("output-not-matches", "ERR[0-9]+"),
    ]
    assert [(file.path, os.path.basename(file.source)) for file in first.fixtures] == [
        ("evals/files/form.txt", "form.txt")
    ]
    assert (second.triggers, second.skill, second.graders[0].text) == (False, None, "It is short")
    assert (third.graders[0].kind, third.graders[0].config["stdout_contains"]) == ("expected", ("page 1",))
    assert (first.line, second.line) == (4, 15)


def test_the_form_of_nvidia(tmp_path: Path) -> None:
    """Another skill that is beside it is no mistake."""
    skill(tmp_path / "csv")
    evals = read(tmp_path, {"evals/evals.json": NVIDIA})
    assert evals.findings == ()
    assert [(case.id, case.skill, case.triggers) for case in evals.cases] == [
        ("a", "pdf", True),
        ("b", None, False),
        ("c", "csv", False),
    ]
    assert [grader.text for grader in evals.cases[0].graders] == ["Reads the form", "Writes it"]
    assert evals.cases[0].expected == "Filled"


def test_lists_of_triggers(tmp_path: Path) -> None:
    """Beside other files, and as the `queries` of a mapping."""
    evals = read(tmp_path, {"evals/trigger-evals.json": TRIGGERS, "evals/data.json": "[1]"})
    assert evals.findings == ()
    assert [(case.prompt, case.triggers) for case in evals.cases] == [("fill this", True), ("a joke", False)]
    evals = read(tmp_path / "b", {"evals/evals.json": f'{{"queries": {TRIGGERS}}}'})
    assert (len(evals.cases), evals.findings) == (2, ())


@pytest.mark.parametrize("name", ["tests/eval.yaml", "eval.yaml", "evals/eval.yml", "evals/fill.eval.yaml"])
def test_scenarios_of_dotnet(name: str, tmp_path: Path) -> None:
    evals = read(tmp_path, {name: SCENARIOS, **FILES})
    assert evals.findings == ()
    first, second = evals.cases
    assert [grader.kind for grader in first.graders] == [
        *("output-contains", "file-exists", "exit-success", "judge"),
        *("tool-used", "tool-used", "limit"),
    ]
    assert first.graders[1].path == "*.pdf"
    assert [grader.config.get("max") for grader in first.graders if grader.kind == "tool-used"] == [None, 0]
    assert [(file.path, bool(file.source), file.text) for file in first.fixtures] == [
        ("form.txt", False, "Name:"),
        ("copy.txt", True, ""),
    ]
    assert (second.id, second.triggers) == ("A joke", False)


def test_stimuli_of_vally(tmp_path: Path) -> None:
    evals = read(tmp_path, {"evals/eval.yaml": STIMULI, **FILES})
    assert evals.findings == ()
    first, second = evals.cases
    assert [grader.kind for grader in first.graders] == [
        *("output-not-matches", "tool-used", "judge", "judge", "limit"),
    ]
    assert first.tags == ("area:forms",)
    assert first.fixtures[0].path == "form.txt"
    assert (second.triggers, second.skill) == (False, None)


def test_case_folders_of_claude_code(tmp_path: Path) -> None:
    files = {
        "evals/fill/prompt.md": "---\ntags: [forms]\nmax_turns: 20\n---\n\nFill the form\n",
        "evals/fill/graders/name.md": "---\ntype: regex\ntarget: last_message\n---\nAda\n",
        "evals/fill/graders/used.md": "---\ntype: tool_used\ntool: Skill\ninput_match: '\"pdf\"'\n---\nIt is used.\n",
        "evals/fill/graders/good.md": "---\ntype: llm\n---\nThe name is filled in\n",
        "evals/joke/case.yaml": (
            'schema_version: "1.0"\nname: joke\nexecution:\n  prompt: Tell a joke\ngraders:\n'
            "  - type: tool_used\n    tool: Skill\n    input_match: pdf\n    min: 0\n    max: 0\n"
        ),
    }
    evals = read(tmp_path, files)
    assert evals.findings == ()
    fill, joke = evals.cases
    assert (fill.id, fill.prompt, fill.tags, fill.triggers) == ("fill", "Fill the form", ("forms",), True)
    assert [(grader.kind, grader.text) for grader in fill.graders] == [
        ("judge", "The name is filled in"),
        ("output-matches", "Ada"),
        ("skill-used", "Skill"),
    ]
    assert (joke.prompt, joke.triggers) == ("Tell a joke", False)


def test_a_file_or_a_folder_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "far/one").mkdir(parents=True)
    (tmp_path / "far/evals.json").write_text('[{"query": "a", "should_trigger": true}]')
    (tmp_path / "far/one/prompt.md").write_text("Do it\n")
    (tmp_path / "far/mine.json").write_text('{"prompt": "one case alone", "assertions": ["It is blue"]}')
    names = {"far": ["1", "one"], "far/mine.json": ["1"], "far/one": ["one"]}
    for name, ids in names.items():
        evals = read(tmp_path, {"evals/evals.json": AGENTSKILLS, **FILES}, str(tmp_path / name))
        assert [case.id for case in evals.cases] == ids, name


MISTAKES = [
    ("evals/evals.json", ('"evals"', '"evls"'), 3, "eval-invalid", "unknown key `evls`", "did you mean `evals`?"),
    (
        *("evals/evals.json", ('"should_trigger"', '"should_triger"'), 15, "eval-unknown"),
        *("unknown key `evals[1].should_triger`", "did you mean `should_trigger`?"),
    ),
    (
        *("evals/evals.json", ('"skill_name": "pdf"', '"skill_name": "pfd"'), 2, "eval-unknown"),
        *("`skill_name` is another skill: `pfd`", "did you mean `pdf`?"),
    ),
    ("evals/evals.json", ('"id": "no"', '"id": 1'), 15, "eval-invalid", "duplicate id `1`, also at line 4", None),
    ("evals/evals.json", ("form.txt", "from.txt"), 8, "eval-invalid", "missing file `evals/files/from.txt`", None),
    (
        *("evals/evals.json", ('"contains"', '"contians"'), 11, "eval-invalid"),
        *("unknown grader `contians`", "did you mean `contains`?"),
    ),
    (
        *("evals/evals.json", ("ERR[0-9]+", "ERR[0-9+"), 12, "eval-invalid"),
        *("invalid pattern `ERR[0-9+`: unterminated character set at position 3", None),
    ),
    ("evals/evals.json", ('"prompt": "Print", ', ""), 16, "eval-invalid", "missing key `evals[2].prompt`", None),
    (
        *("evals/evals.json", ("stdout-contains", "stdout-contain"), 16, "eval-invalid"),
        *("unknown key `evals[2].expected.stdout-contain`", "did you mean `stdout-contains`?"),
    ),
    ("evals/eval.yaml", ("rubric:", "rubrik:"), 16, "eval-unknown", "unknown key `scenarios[0].rubrik`", None),
    (
        *("evals/eval.yaml", ("evals/files/form.txt", "../../../etc/passwd"), 9, "eval-invalid"),
        *("the file `../../../etc/passwd` is outside of the skill and its repository", "copy it into the skill"),
    ),
    (
        *("evals/eval.yaml", ("copy.txt", "../copy.txt"), 8, "eval-invalid"),
        *("`../copy.txt` leads out of the folder of the agent", None),
    ),
    ("evals/eval.yaml", ("timeout: 120", "timeout: [1"), 22, "eval-invalid", None, None),
    ("evals/eval.yaml", ('path: "*.pdf"', ""), 13, "eval-invalid", "the grader `file-exists` names no file", None),
    *(
        ("evals/eval.yaml", ("exit_success", kind), 16, "eval-invalid", f"the grader `{name}` names no file", None)
        for kind, name in (
            ('file_contains"\n        value: "x', "file-contains"),
            ('file_not_contains"\n        value: "x', "file-not-contains"),
            ('file_matches"\n        pattern: "x', "file-matches"),
            ('file_not_matches"\n        pattern: "x', "file-not-matches"),
        )
    ),
    (
        *("evals/eval.yaml", ("copy.txt", "sub/../form.txt"), 8, "eval-invalid"),
        *("two files of the case would be `form.txt`", "give each a path of its own"),
    ),
    (
        *("evals/evals.json", ('"exit-code": 0', '"exit-code": 1'), 16, "eval-invalid"),
        *("`evals[2].expected.exit-code` can only be 0: a run that ends with another one is not graded", "remove it"),
    ),
    ("evals/eval.yaml", ("expect_activation: false", "expect_activation: no"), 24, "eval-invalid", None, None),
]


@pytest.mark.parametrize(
    ("name", "change", "line", "code", "message", "hint"), MISTAKES, ids=[str(each[1][1]) for each in MISTAKES]
)
def test_a_mistake_is_found_at_its_line(
    name: str, change: tuple[str, str], line: int, code: str, message: str | None, hint: str | None, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("x")
    folder = tmp_path / "a/b"
    text = AGENTSKILLS if name.endswith("json") else SCENARIOS
    assert text.count(change[0]) >= 1
    evals = read(folder, {name: text.replace(*change, 1), **FILES})
    found = [item for item in evals.findings if item.line == line]
    assert [item.code for item in found] == [code], evals.findings
    assert found[0].path == str(folder / "pdf" / name)
    assert found[0].column is not None
    assert message is None or found[0].message == message
    assert found[0].hint is not None
    assert hint is None or found[0].hint == hint
    assert evals.is_valid is (found[0].severity is not Severity.ERROR)


HOSTILE = [
    *("", "[]", "{}", "null", "1", '"text"', "[[[[", '{"evals": 1}', '{"evals": [1, null, []]}', '{"evals": [{}]}'),
    *('[{"question": [1]}]', '[{"query": {"a": 1}, "should_trigger": "maybe"}]', '{"scenarios": [{"prompt": ""}]}'),
    '{"evals": [{"prompt": "a", "files": [null, {}, {"source": "\\u0000"}, {"path": "/x", "content": "y"}, 1]}]}',
    '{"evals": [{"prompt": "a", "assertions": [null, [], {}, {"type": []}, {"type": "regex", "value": "(" }]}]}',
    '{"evals": [{"prompt": "a", "graders": {}, "tags": {"a": 1}, "expected": [], "expected_skill": "../../x"}]}',
    '{"stimuli": [{"prompt": "a", "graders": [{"type": "skill-invocation", "config": {"disallowed": 1}}]}]}',
    '{"stimuli": [{"prompt": "a", "environment": {"files": 1}, "constraints": [1], "rubric": "one"}]}',
    json.dumps({"evals": [{"prompt": "a", "assertions": [{"type": "regex", "value": "(a" * 1500}]}]}),
    "[" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:40] for text in HOSTILE])
def test_damaged_files_are_findings(text: str, tmp_path: Path) -> None:
    """As JSON and as YAML; nothing is raised, and the cases do not run."""
    for name in ("evals/evals.json", "eval.yaml", "evals/one/case.yaml", "evals/one/graders/a.md"):
        evals = read(
            tmp_path / name.replace("/", "-"), {name: text, "evals/one/prompt.md": f"---\n{text}\n---\n{text}"}
        )
        assert all(item.path and item.hint for item in evals.findings)
        assert evals.findings or (name, text) == ("evals/one/graders/a.md", "{}")


def test_files_that_are_no_files_are_findings(tmp_path: Path) -> None:
    """A FIFO does not block, a link is not followed, a large file is not read."""
    folder = put(tmp_path / "pdf", {"evals/big.eval.yaml": " " * 300_000, "other.json": AGENTSKILLS})
    os.mkfifo(folder / "evals/evals.json")
    (folder / "evals/link.eval.yaml").symlink_to(folder / "other.json")
    evals = read_evals(str(folder))
    assert [(os.path.basename(item.path or ""), item.code) for item in evals.findings] == [
        ("big.eval.yaml", "eval-invalid"),
        ("evals.json", "eval-invalid"),
        ("link.eval.yaml", "eval-invalid"),
    ]
    assert evals.cases == ()


def test_many_cases_are_read(tmp_path: Path) -> None:
    """As many as fit into a file of 256 KiB."""
    cases = [{"query": f"q{number}", "should_trigger": True} for number in range(5500)]
    evals = read(tmp_path, {"evals/evals.json": json.dumps(cases)})
    assert (len(evals.cases), evals.findings) == (5500, ())
    names = {f"evals/trigger{part}.json": json.dumps(cases) for part in range(2)}
    evals = read(tmp_path / "b", names)
    assert len(evals.cases) == 10_000
    assert [item.message for item in evals.findings] == ["more than 10,000 cases"]
    evals = read(tmp_path / "c", {f"evals/trigger{part}.json": json.dumps(cases) for part in range(5)})
    assert [item.message for item in evals.findings] == ["more than 10,000 cases"]
    assert len(evals.files) == 2  # the others are not read


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    """Nothing outside of the skill is read, whatever it links to."""
    outside = tmp_path / "outside"
    put(outside, {"eval.yaml": SCENARIOS, "good.md": "---\ntype: contains\n---\na secret\n"})
    folder = put(tmp_path / "pdf", {"evals/one/prompt.md": "Do it\n"})
    for link in ("tests", "evals/one/graders", "evals/two"):
        (folder / link).symlink_to(outside)
    evals = read_evals(str(folder))
    assert [os.path.relpath(file, folder) for file in evals.files] == ["evals/one/prompt.md"]
    assert [item.message for item in evals.findings] == ["the case has no grader"]
    (folder / "evals/one/graders").unlink()
    (folder / "evals").rename(folder / "cases")
    (folder / "evals").symlink_to(folder / "cases")
    assert read_evals(str(folder)).files == ()
