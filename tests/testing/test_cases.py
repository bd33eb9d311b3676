"""The files of a skill's tests: what they may say, and that nothing runs where anything in them is wrong."""

from __future__ import annotations

import os
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from prowess.findings import Severity
from prowess.skill._forms import MAX_BYTES
from prowess.testing._cases import ABSENT, Case, load_suite, skill_folder_of_cases
from prowess.testing._expect import differences, parse_single_value
from support import strategies  # noqa: F401 - loads the profile
from support.growth import calls_at_most, ends
from support.rows import rows
from support.skills import skill

if TYPE_CHECKING:
    from prowess.testing._cases import Suite

GOOD = "name: a\ninput:\n  command: 'true'\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A skill with an empty folder of cases."""
    folder = skill(tmp_path.resolve() / "pdf").parent
    (folder / "tests/cases").mkdir(parents=True)
    return folder


def put(here: Path, text: str | bytes, name: str = "a.yaml") -> Path:
    file = here / "tests/cases" / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def problems(suite: Suite) -> list[str]:
    """Return what is wrong, each in a line, its path below the skill."""
    lines = []
    for item in suite.findings:
        assert (item.code, item.severity) == ("test-invalid", Severity.ERROR)
        path = os.path.relpath(item.path or "", suite.path)
        place = ":".join(str(part) for part in (path, item.line, item.column) if part is not None)
        lines.append(f"{place}: {item.message}{f' ({item.hint})' if item.hint else ''}")
    return lines


def only(here: Path, text: str | bytes) -> Case:
    """Return the case in a file; there must be no findings."""
    put(here, text)
    suite = load_suite(here)
    assert problems(suite) == []
    (case,) = suite.cases
    return case


def wrong(here: Path, text: str | bytes) -> list[str]:
    """Return what is wrong with the one file of cases."""
    put(here, text)
    lines = problems(load_suite(here))
    assert all(line.startswith("tests/cases/a.yaml:") for line in lines)
    return [line.removeprefix("tests/cases/a.yaml:") for line in lines]


def expecting(here: Path, yaml_lines: str) -> Case:
    return only(here, f"{GOOD}expected:\n{yaml_lines}")


# ── a case ───────────────────────────────────────────────────────────────────────────────────────────────────────────

UAAPS = """\
name: basic-pdf-extraction
description: Verify script extracts text from a single-page PDF
input:
  command: "python scripts/extract.py tests/fixtures/sample.pdf"
  stdin: null
  files:
    - tests/fixtures/sample.pdf
expected:
  exit-code: 0
  stdout-contains:
    - "Hello, World"
    - "Page 1"
  not-contains:
    - "ERROR"
    - "Traceback"
"""


def test_the_example_of_the_format_is_read_unchanged(here: Path) -> None:
    """UAAPS, "Test Case Format"."""
    assert only(here, UAAPS) == Case(
        name="basic-pdf-extraction",
        file="tests/cases/a.yaml",
        description="Verify script extracts text from a single-page PDF",
        command="python scripts/extract.py tests/fixtures/sample.pdf",
        files=("tests/fixtures/sample.pdf",),
        stdout_contains=("Hello, World", "Page 1"),
        not_contains=("ERROR", "Traceback"),
    )


def test_a_case_needs_only_a_name_and_a_command(here: Path) -> None:
    """Then the exit code is to be 0, and nothing else is looked at."""
    assert only(here, GOOD) == Case(name="a", file="tests/cases/a.yaml", command="true")
    assert repr(only(here, GOOD).stdout_json) == "ABSENT"


def test_every_key_is_read(here: Path) -> None:
    """Each by its type."""
    text = f"{GOOD}  stdin: x\n  files: [f]\ndescription: d\nexpected:\n  exit-code: 3\n  stdout-contains: [o]\n"
    assert only(here, f"{text}  stderr-contains: [e]\n  not-contains: [n]\n  stdout-json: {{k: 1}}\n") == Case(
        name="a",
        file="tests/cases/a.yaml",
        command="true",
        description="d",
        stdin="x",
        files=("f",),
        exit_code=3,
        stdout_contains=("o",),
        stderr_contains=("e",),
        not_contains=("n",),
        stdout_json={"k": 1},
    )


@pytest.mark.parametrize(
    ("written", "stdin"), [*rows(__file__, "stdin_is_text_or_nothing"), ('  stdin: "a\\0b"\n', "a\0b")], ids=repr
)
def test_stdin_is_text_or_nothing(written: str, stdin: str | None, here: Path) -> None:
    """Absent or null is the end of the input; anything else is what its author typed."""
    assert only(here, GOOD + written).stdin == stdin


def test_texts_are_read_as_typed(here: Path) -> None:
    """Whatever YAML would make of them."""
    case = expecting(
        here, "  stdout-contains: [012, yes, 2024-01-01, 1e5, true, null, ~, '']".replace(", ''", "") + "\n"
    )
    assert case.stdout_contains == ("012", "yes", "2024-01-01", "1e5", "true", "null", "~")
    assert only(here, "name: 2024\ninput: {command: yes}\ndescription: 1.0\n").with_changes(file="") == Case(
        name="2024", file="", command="yes", description="1.0"
    )


@pytest.mark.parametrize("name", ["a", "1", "a-b", "a--b", "-", "a" * 64, "on"])
def test_a_name_is_of_lower_case_letters_digits_and_hyphens(name: str, here: Path) -> None:
    """UAAPS: `[a-z0-9-]`, at most 64 of them."""
    assert only(here, GOOD.replace("name: a", f"name: '{name}'")).name == name


@pytest.mark.parametrize("name", ["A", "a_b", "a b", "é", "a" * 65, "''", '"a\\n"', "a/b", '"\\e[2J"'])
def test_another_name_is_wrong(name: str, here: Path) -> None:
    """With what a name may have."""
    (line,) = wrong(here, GOOD.replace("name: a", f"name: {name}"))
    assert line.startswith("1:7: `")
    assert line.endswith("` is not a valid case name (use lower case letters, digits and hyphens, at most 64 of them)")


# ── what is wrong with a case ────────────────────────────────────────────────────────────────────────────────────────


def documented(language: str) -> list[Any]:
    """Return the files of a language in `wrong_files.md`, each with what is reported of it."""
    document = (Path(__file__).parent / "wrong_files.md").read_text(encoding="utf-8")
    pattern = rf"^### ([^\n]*)\n\n```{language}\n(.*?)```\n\n```text\n(.*?)```$"
    found = re.findall(pattern, document, re.DOTALL | re.MULTILINE)
    assert len(found) == document.count(f"```{language}\n") > 0
    return [pytest.param(text, report.splitlines(), id=title) for title, text, report in found]


@pytest.mark.parametrize(("text", "lines"), documented("yaml"))
def test_all_problems_of_a_case_are_reported_together(text: str, lines: list[str], here: Path) -> None:
    """Each with its place and what to do: a typo must not make a test pass."""
    assert sorted(line.strip() for line in wrong(here, text)) == lines


def test_an_empty_file_and_a_merge_key_are_problems(here: Path) -> None:
    assert wrong(here, "") == [" the file is empty (add its content, or remove the file)"]
    assert wrong(here, GOOD + "<<: {expected: {}}\n")


@pytest.mark.parametrize("key", ["exit-code", "stdout-contains", "stderr-contains", "not-contains", "stdout-json"])
def test_an_empty_expectation_is_an_error(key: str, here: Path) -> None:
    """It looks as if it tested something. A written `null` means no value, or JSON's null."""
    (line,) = wrong(here, f"{GOOD}expected:\n  {key}:\n")
    assert line.startswith(f"5:{len(key) + 4}: `expected.{key}` is empty (")
    case = expecting(here, f"  {key}: null\n")
    assert case.with_changes(stdout_json=ABSENT) == Case(name="a", file="tests/cases/a.yaml", command="true")
    assert case.stdout_json is (None if key == "stdout-json" else ABSENT)


@pytest.mark.parametrize(("value", "place"), rows(__file__, "an_empty_value_inside_stdout_json_is_an_error"))
def test_an_empty_value_inside_stdout_json_is_an_error(value: str, place: str, here: Path) -> None:
    """It was an empty text, which hardly anybody means who leaves it out."""
    (line,) = wrong(here, f"{GOOD}expected:\n  stdout-json: {value}\n")
    assert line.startswith(f"5:{place} is empty (write `null`, ")
    case = expecting(here, "  stdout-json: {a: '', b: null, c: ~, d: [], e: {}}\n")
    assert case.stdout_json == {"a": "", "b": None, "c": "~", "d": [], "e": {}}


def test_a_list_holds_at_most_a_thousand_texts(here: Path) -> None:
    """Each is looked for in all of an output."""
    written = "".join(f"  - x{number}\n" for number in range(1_001))
    (line,) = wrong(here, f"{GOOD}expected:\n  not-contains:\n{written}")
    assert line == ("6:3: `expected.not-contains` has 1,001 texts; at most 1,000 are allowed (split the case)")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"name: \xff\n", id="latin-1"),
        pytest.param(GOOD.encode("utf-16"), id="utf-16"),
        pytest.param(b"name:\n\ta: 1\n", id="tab"),
        pytest.param(b"a: &x [1]\nb: *x\n", id="alias"),
        pytest.param(b"a: !!set {}\n", id="tag"),
        pytest.param(b"[" * 70, id="depth"),
        pytest.param(b"- x\n" * 60_000, id="events"),
        pytest.param(GOOD.encode() + b"---\n" + GOOD.encode(), id="two"),
        pytest.param(GOOD.encode() + b"\x00", id="nul"),
    ],
)
def test_unsupported_yaml_is_one_finding(data: bytes, here: Path) -> None:
    """Never a traceback."""
    assert len(wrong(here, data)) == 1


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(here: Path) -> None:
    """And a command of more lines has line feeds."""
    text = GOOD.replace("'true'", "|\n    a\n    b")
    plain = only(here, text)
    assert plain.command == "a\nb\n"
    assert only(here, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == plain


def test_a_vast_file_is_not_read(here: Path) -> None:
    """100 MB, of which nothing is taken into memory; nor a million events."""
    with ends():
        file = put(here, "- x\n")
        os.truncate(file, 100_000_000)
        assert problems(load_suite(here)) == [
            "tests/cases/a.yaml: it is larger than 262,144 bytes (split the file, or move data to `tests/fixtures`)"
        ]
        put(here, b"- x\n" * 1_000_000)
        assert len(load_suite(here).findings) == 1
        put(here, GOOD.encode() + b"#" * (MAX_BYTES - len(GOOD)))
        assert load_suite(here).findings == ()


# ── JSON that is expected ────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(document: str) -> list[tuple[str, str, list[str]]]:
    """Return the rows of the tables: what is expected, an output, and what is reported."""
    text = (Path(__file__).parent / document).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.*)` \| `(.*)` \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| `", text, re.MULTILINE)) > 0
    return [(typed, output, re.findall(r"`(.*?)`(?:; |$)", reported)) for typed, output, reported in rows]


@pytest.mark.parametrize(("typed", "output", "reported"), rows_of("stdout_json.md"))
def test_json_is_expected_as_the_tables_say(typed: str, output: str, reported: list[str], here: Path) -> None:
    """At the top, as a value in an object, and in an array."""
    for written, wrapped, path in (
        (f" {typed}", output, "$"),
        (f"\n    k: {typed}", f'{{"k": {output}}}', "$.k"),
        (f"\n  - {typed}", f"[{output}]", "$[0]"),
    ):
        case = expecting(here, f"  stdout-json:{written}\n")
        found = list(differences(case.stdout_json, parse_single_value(wrapped)))
        assert found == [line.replace("$", path, 1) for line in reported]


def test_a_number_may_have_ten_thousand_digits(here: Path) -> None:
    case = expecting(here, f"  stdout-json: {'9' * 10_000}\n")
    assert list(differences(case.stdout_json, parse_single_value("9" * 10_000))) == []


def test_json_may_be_expected_at_the_top_of_any_type(here: Path) -> None:
    """UAAPS has objects; arrays and scalars are compared as well."""
    for typed, value in (("[1]", [1]), ("x", "x"), ("0", 0), ("false", False), ("{}", {}), ("''", "")):
        assert expecting(here, f"  stdout-json: {typed}\n").stdout_json == value
    assert expecting(here, "  stdout-json: 0.1\n").stdout_json == Decimal("0.1")


def test_keys_below_json_are_anything(here: Path) -> None:
    """They are the output's, not the format's."""
    case = expecting(here, "  stdout-json: {1: {exit_code: 1}, yes: {}, '': []}\n")
    assert case.stdout_json == {"1": {"exit_code": 1}, "yes": {}, "": []}


# ── the config ───────────────────────────────────────────────────────────────────────────────────────────────────────


def configured(here: Path, text: str | bytes) -> Suite:
    (here / "tests/test-config.json").write_bytes(text.encode() if isinstance(text, str) else text)
    put(here, GOOD)
    return load_suite(here)


def test_there_need_be_no_config(here: Path) -> None:
    """The default is thirty seconds and no variables."""
    put(here, GOOD)
    suite = load_suite(here)
    assert (suite.findings, suite.timeout, dict(suite.env)) == ((), 30.0, {})


def test_a_config_says_how_long_and_which_variables(here: Path) -> None:
    """Of the one version there is."""
    suite = configured(here, '{"version": 1, "timeout": 2.5, "env": {"A_1": "x", "_b": "", "C": "é\\n"}}')
    assert (suite.findings, suite.timeout) == ((), 2.5)
    assert dict(suite.env) == {"A_1": "x", "_b": "", "C": "é\n"}
    assert configured(here, '\ufeff{"version": 1.0,\r\n "timeout": null, "env": null}\r\n').findings == ()


TIMEOUT = "not a number above 0 and at most 86400"
VERSION = "only version 1 is supported"


@pytest.mark.parametrize(("text", "lines"), documented("json"))
def test_a_problem_of_a_config_is_reported(text: str, lines: list[str], here: Path) -> None:
    """Once, and then no case is run."""
    found = problems(configured(here, text))
    assert [line.removeprefix("tests/test-config.json:").strip() for line in found] == lines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *rows(__file__, "a_config_that_a_document_cannot_show_has_one_problem"),
        ("[" * 200_000, "the file is not valid JSON: too many levels (use fewer levels)"),
        (b'{"version": 1, "env": {"A": "\xff"}}', "byte 0xff at offset 29 is not UTF-8 (save the file as UTF-8)"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_config_that_a_document_cannot_show_has_one_problem(text: str | bytes, words: str, here: Path) -> None:
    (line,) = problems(configured(here, text))
    assert line.startswith("tests/test-config.json:")
    assert words in line


def test_all_problems_of_a_config_are_reported_with_their_place(here: Path) -> None:
    """As with a case."""
    text = '{\n  "version": 2,\n  "timout": 3,\n  "env": {"A": 1, "B-C": "x"}\n}\n'
    assert problems(configured(here, text)) == [
        "tests/test-config.json:3:3: unknown key `timout` (did you mean `timeout`?)",
        f"tests/test-config.json:2:14: `version` is a number (`2`), not 1 ({VERSION})",
        "tests/test-config.json:4:16: `env.A` is a number (`1`), not text (put it in quotes)",
        (
            "tests/test-config.json:4:19: `env.B-C` is not a valid variable name"
            " (use letters, digits and `_`, and no digit first)"
        ),
    ]


# ── files and folders ────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_come_in_natural_order(here: Path) -> None:
    """`2` before `10`, upper case beside lower case, digits of other scripts as letters; the same each time."""
    names = ["1.yaml", "2.yaml", "02.yaml", "10.yaml", "a.yaml", "A.yaml", "b.yml", "a2.yaml", "a10.YAML", "B1.yml"]
    names += ["٣.yaml", "٣a1.yaml", "²x.yaml", "x²1.yaml", "é.yaml", "01-b-2.yaml", "01-b-10.yaml", f"{'9' * 240}.yaml"]
    random.Random(0).shuffle(names)  # noqa: S311 - an order, not a secret
    for number, name in enumerate(names):
        put(here, GOOD.replace("name: a", f"name: n{number}"), name)
    suite = load_suite(here)
    assert problems(suite) == []
    assert [os.path.basename(case.file) for case in suite.cases] == [
        "1.yaml",
        "01-b-2.yaml",
        "01-b-10.yaml",
        "02.yaml",
        "2.yaml",
        "10.yaml",
        f"{'9' * 240}.yaml",
        "A.yaml",
        "a.yaml",
        "a2.yaml",
        "a10.YAML",
        "b.yml",
        "B1.yml",
        "x²1.yaml",
        "²x.yaml",
        "é.yaml",
        "٣.yaml",
        "٣a1.yaml",
    ]


def test_other_files_beside_the_cases_are_left_alone(here: Path) -> None:
    """Notes, what an editor keeps, folders."""
    put(here, GOOD)
    for name in ("README.md", ".b.yaml", "b.yaml~", "b.yaml.swp", "b.json", "yaml"):
        put(here, "::", name)
    (here / "tests/cases/more").mkdir()
    (here / "tests/cases/more/c.yaml").write_text("::")
    suite = load_suite(here)
    assert (problems(suite), [case.file for case in suite.cases]) == ([], ["tests/cases/a.yaml"])


def test_two_cases_of_one_name_are_wrong(here: Path) -> None:
    """It is reported for the second one, in any file."""
    put(here, GOOD, "1.yaml")
    put(here, GOOD, "2.yml")
    assert problems(load_suite(here)) == [
        "tests/cases/2.yml: duplicate case name `a`, also in `tests/cases/1.yaml` (rename one of them)"
    ]


def test_a_case_is_chosen_by_its_name_or_its_file(here: Path) -> None:
    """A name goes before a file; what nothing is called chooses nothing."""
    for file, name in (("01-basic.yaml", "one"), ("02-more.yml", "two"), ("two.yaml", "three"), ("03.x.yaml", "four")):
        put(here, GOOD.replace("name: a", f"name: {name}"), file)
    suite = load_suite(here)
    chosen = {
        "one": ["one"],
        "01-basic": ["one"],
        "01-basic.yaml": ["one"],
        "tests/cases/01-basic.yaml": ["one"],
        "02-more.yml": ["two"],
        "two": ["two"],
        "two.yaml": ["three"],
        "03.x": ["four"],
        "01-basic.yml": [],
        "01": [],
        "ONE": [],
        "": [],
    }
    assert {which: [case.name for case in suite.matching_cases(which)] for which in chosen} == chosen


@pytest.mark.parametrize("link", ["tests", "tests/cases", "tests/cases/a.yaml", "tests/test-config.json"])
def test_a_link_is_not_followed(link: str, here: Path) -> None:
    """Not even one to a valid file inside the skill."""
    configured(here, '{"version": 1}')
    path = here / link
    path.rename(here / "elsewhere")
    path.symlink_to(here / "elsewhere")
    lines = problems(load_suite(here))
    assert lines
    assert all("is a link, which is not followed" in line for line in lines)
    assert all(line.endswith("itself there)") for line in lines)


def test_a_linked_skill_is_tested_at_its_target(here: Path) -> None:
    """Many skills folders are filled with links."""
    put(here, GOOD)
    (here.parent / "linked").symlink_to(here)
    suite = load_suite(here.parent / "linked")
    assert (problems(suite), len(suite.cases)) == ([], 1)


def test_special_files_are_reported_and_never_waited_for(here: Path) -> None:
    """A FIFO without a writer, a folder, a device."""
    os.mkfifo(here / "tests/cases/fifo.yaml")
    (here / "tests/cases/folder.yaml").mkdir()
    (here / "tests/cases/null.yaml").symlink_to("/dev/null")
    with ends():
        assert problems(load_suite(here)) == [
            "tests/cases/fifo.yaml: it is a FIFO, not a regular file (put a text file there)",
            "tests/cases/folder.yaml: it is a folder, not a regular file (put a text file there)",
            "tests/cases/null.yaml: it is a link, which is not followed (put the file itself there)",
        ]


def test_a_file_instead_of_the_folder_of_cases_is_reported(here: Path) -> None:
    """It has no cases."""
    (here / "tests/cases").rmdir()
    (here / "tests/cases").write_text("")
    assert problems(load_suite(here)) == [
        "tests/cases: cannot list the cases: not a directory (make it a readable folder)"
    ]


def test_a_skill_without_tests_has_no_cases_and_no_findings(here: Path) -> None:
    """An empty folder of cases; no folder; no SKILL.md."""
    assert load_suite(here).cases == ()
    (here / "tests/cases").rmdir()
    (here / "tests").rmdir()
    (here / "SKILL.md").unlink()
    suite = load_suite(here)
    assert (suite.cases, suite.findings, suite.name) == ((), (), "pdf")


@pytest.mark.slow
def test_eleven_thousand_files_are_too_many(here: Path) -> None:
    """None of them is read."""
    for number in range(11_000):
        os.mknod(here / f"tests/cases/{number}.yaml")
    with calls_at_most(90_000):
        suite = load_suite(here)
        assert problems(suite) == ["tests/cases: 11,000 case files; at most 10,000 are allowed (split the skill)"]
        assert suite.cases == ()


def test_a_file_name_that_is_not_utf_8_is_valid(here: Path) -> None:
    """Its name is safe to show."""
    name = os.fsdecode(b"\xff\x1b[2J.yaml")
    put(here, GOOD, name)
    put(here, GOOD, "z.yaml")
    put(here, GOOD, os.fsdecode(b"\xff\x1b[2K.yaml"))
    lines = problems(load_suite(here))
    assert "duplicate case name `a`, also in `tests/cases/z.yaml`" in lines[0]
    (here / "tests/cases/z.yaml").unlink()
    (line,) = problems(load_suite(here))
    assert "duplicate case name `a`, also in `tests/cases/\\xff\\x1b[2J.yaml`" in line


def test_the_name_of_a_suite_is_its_skill_s(here: Path) -> None:
    """That of its front matter."""
    skill(here, "other")
    assert load_suite(here).name == "other"
    assert load_suite(str(here)).path == str(here)


def test_the_skill_of_a_case_file_is_found(here: Path) -> None:
    """`SKILL/tests/cases/NAME.yaml` if `SKILL` has a SKILL.md; nothing else."""
    top = str(here)
    assert skill_folder_of_cases(f"{top}/tests/cases/a.yaml") == top
    assert skill_folder_of_cases(f"{top}/tests/cases/a.YML") == top
    for other in ("tests/cases/a.txt", "tests/a.yaml", "cases/a.yaml", "a.yaml", "tests/cases/b/a.yaml"):
        assert skill_folder_of_cases(f"{top}/{other}") is None
    (here / "SKILL.md").unlink()
    assert skill_folder_of_cases(f"{top}/tests/cases/a.yaml") is None


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["yes", "~", "null", "012", "1e3", "a: b", "- a", "#", " x ", "a\nb\n", "---", "\t", "\x85", "\u2028"]
)
_TEXTS = st.lists(_TEXT.filter(bool), max_size=3).map(tuple)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def cases(draw: Any) -> Case:
    """Cases that a file can hold."""
    return Case(
        name=draw(st.text("abc019-", min_size=1, max_size=64)),
        file="tests/cases/a.yaml",
        command=draw(_TEXT.filter(lambda text: text.strip() and "\0" not in text)),
        description=draw(_TEXT),
        stdin=draw(st.none() | _TEXT),
        files=draw(_TEXTS),
        exit_code=draw(st.integers(0, 255)),
        stdout_contains=draw(_TEXTS),
        stderr_contains=draw(_TEXTS),
        not_contains=draw(_TEXTS),
        stdout_json=draw(st.just(ABSENT) | _JSON),
    )


def rendered(case: Case) -> str:
    """Write a case by a writer of YAML that knows nothing of how it is read."""
    expected: dict[str, Any] = {
        "exit-code": case.exit_code,
        "stdout-contains": [*case.stdout_contains],
        "stderr-contains": [*case.stderr_contains],
        "not-contains": [*case.not_contains],
    }
    if case.stdout_json is not ABSENT:
        expected["stdout-json"] = case.stdout_json
    given_ = {"command": case.command, "stdin": case.stdin, "files": [*case.files]}
    whole = {"name": case.name, "description": case.description, "input": given_, "expected": expected}
    return yaml.dump(whole, Dumper=_Quoting, allow_unicode=False)


class _Quoting(yaml.SafeDumper):
    """Quotes every text, and repeats what is there twice."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases())
def test_a_case_that_is_written_is_read_back(here: Path, case: Case) -> None:
    """Whatever its texts look like."""
    assert only(here, rendered(case)) == case


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("name: iputcomdx\n-[]{}\"'|", max_size=60).map(str.encode))
def test_whatever_a_file_holds_nothing_is_raised(here: Path, data: bytes) -> None:
    """It is a case, or there is a finding."""
    put(here, data)
    suite = load_suite(here)
    assert suite.cases or suite.findings
