"""A hint is true after it is followed: the finding is gone, no other finding appeared, and no agent lost the skill."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from endurance import content
from prowess.catalog._entry import State
from prowess.catalog._resolve import evaluate_file
from prowess.checks._check import report
from prowess.checks._check_file import check_file
from prowess.filesystem import Question
from prowess.findings import Severity
from prowess.hosts import host_names
from prowess.skill import fix_file, from_document, parse_frontmatter
from support.documents import Document
from support.hints import FIX, Hinted, ways
from support.strategies import skill_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.findings import Finding

HOSTS = host_names()
CONTROLS = re.compile(r"\\x(?:0[0-8bcef]|1[0-9a-f]|7f)")
"""Control characters, as `repr` writes them."""
GOOD = "description: Fills PDF forms. Use when a form is to be filled."
BODY = "Read the fields of the form, then fill them.\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A skill with problems."""

    data: bytes
    folder: str = "pdf-forms"
    file: str = "SKILL.md"

    def write(self, top: Path) -> Path:
        path = top / self.folder / self.file
        path.parent.mkdir(parents=True)
        path.write_bytes(self.data)
        return path


def case(front: str, *, folder: str = "pdf-forms", body: str = BODY, file: str = "SKILL.md") -> Case:
    return Case(f"---\n{front}\n---\n{body}".encode("utf-8", "surrogateescape"), folder, file)


DOCUMENT = Document.read(Path(__file__).with_name("hinted_skills.md"))


def documented(title: str) -> dict[str, tuple[str, Path]]:
    """Return the text and the path of each skill below a heading of the document."""
    sections = [each for each in DOCUMENT.sections if each.parent is not None and each.parent.title == title]
    return {each.title: (block.text, Path(block.path or "")) for each in sections for block in each.content}


def value(cell: str) -> str:
    """Return what a cell of the document says."""
    text = cell.strip("`")
    return str(json.loads(text)) if text.startswith('"') else text


(NAMES,) = (section.tables[0].rows[1:] for section in DOCUMENT.sections if section.title == "Names")
FRONTS = {
    **{f"name: {key}": (f"name: '{value(name)}'\n{GOOD}", value(folder)) for key, name, folder, _ in NAMES},
    **{
        f"plain name: {key}": (f"name: {value(name)}\n{GOOD}", value(folder))
        for key, name, folder, also in NAMES
        if also
    },
    **{key: (text, path.parent.name) for key, (text, path) in documented("Front matter").items()},
    "description long": (f"name: pdf-forms\ndescription: {'Fills forms. ' * 100}", "pdf-forms"),
    "description long, a block": (
        "name: pdf-forms\ndescription: |\n" + "\n".join(['  It\'s "so": #1 — fills forms.'] * 50),
        "pdf-forms",
    ),
    "description long, emoji": (f"name: pdf-forms\ndescription: Use it. {'📄' * 1100}", "pdf-forms"),
    "description of a new skill": ("name: pdf-forms\ndescription: Describe in one sentence what it does.", "pdf-forms"),
    "description hidden": ("name: pdf-forms\ndescription: Fills\u200b PDF\u202e forms. Use it.", "pdf-forms"),
    "description only hidden": ("name: pdf-forms\ndescription: '\u200b\u2060'", "pdf-forms"),
    "compatibility long": (f"name: pdf-forms\n{GOOD}\ncompatibility: {'Needs git. ' * 60}", "pdf-forms"),
    "misspelt fields that are too long or not text": (
        f"name: pdf-forms\n{GOOD}\nlicence: [MIT]\ncompatability: {'Needs git. ' * 60}\ndesc: Fills forms",
        "pdf-forms",
    ),
    "a tab": (f"name: pdf-forms\n{GOOD}\nmetadata:\n\tauthor: Ada", "pdf-forms"),
    "two tabs": (f"name: pdf-forms\n{GOOD}\nmetadata:\n\tauthor: Ada\n\tversion: '1'", "pdf-forms"),
    "controls": ("name: pdf-forms\ndescription: Fills\x07 forms\x1b[2J. Use it.", "pdf-forms"),
    "a character at which YAML 1.1 breaks lines": (
        "name: pdf-forms\ndescription: Fills\u2028 forms. Use it.",
        "pdf-forms",
    ),
}
FILES = {
    **{key: Case(f"{text}\n".encode(), *path.parts) for key, (text, path) in documented("Whole files").items()},
    "mark": Case(b"\xef\xbb\xbf---\nname: pdf-forms\n" + GOOD.encode() + b"\n---\nDo it.\n"),
    "latin": Case(b"---\nname: pdf-forms\n" + GOOD.encode() + b"\n---\nCaf\xe9.\n"),
    "latin front": Case(b"---\nname: pdf-forms\ndescription: Caf\xe9. Use it.\n---\nDo it.\n"),
    "latin front with a repair": Case(b"---\nname: pdf-forms\ndescription: @Caf\xe9. Use it.\n---\nDo it.\n"),
    "UTF-16": Case(f"---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode("utf-16")),
    "NUL": Case(f"---\nname: pdf-forms\n{GOOD}\n---\nDo \0 it.\0\n".encode()),
    "NUL in front": Case(f"---\nname: pdf-forms\n{GOOD}\0\n---\nDo it.\n".encode()),
    "CR": Case(f"---\rname: pdf-forms\r{GOOD}\r---\rDo it.\r".encode()),
    "nothing": Case(b""),
    "blank lines first": Case(f"\n\n---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "blanks after fences": Case(f"--- \nname: pdf-forms\n{GOOD}\n---\t\nDo it.\n".encode()),
    "large front": Case(f"---\nname: pdf-forms\n{GOOD}\nbig: {'x' * 70_000}\n---\nDo it.\n".encode()),
    "large file": Case(f"---\nname: pdf-forms\n{GOOD}\n---\n{'Do it. ' * 200_000}\n".encode()),
    "many events": Case(f"---\nname: pdf-forms\nx: [{', '.join(['a'] * 20_100)}]\n{GOOD}\n---\nDo it.\n".encode()),
    "long body": case(f"name: pdf-forms\n{GOOD}", body="Do it.\n" * 600),
}


def styled(name: str, front: str, folder: str) -> dict[str, Case]:
    """Return a case as people write it: with other line ends, a mark, comments, fields of agents and blocks."""
    more = "# A comment: with a colon\n"
    plain = case(front, folder=folder)
    result = {name: plain, f"{name}, CRLF": Case(plain.data.replace(b"\n", b"\r\n"), folder)}
    if name != "deep" and not front.startswith(("- ", "Fills")):
        result[f"{name}, mark"] = Case(b"\xef\xbb\xbf" + plain.data, folder)
        result[f"{name}, comment"] = case(f"{more}{front}", folder=folder)
    return result


CASES: dict[str, Case] = {
    **FILES,
    **{name: each for key, (front, folder) in FRONTS.items() for name, each in styled(key, front, folder).items()},
}


def found(file: Path, rule: str) -> list[Finding]:
    """Check whether agents load it. How good it is depends on all of its words, so its pages show how to improve it."""
    return [*report(Question.about("."), [str(file)], policy=rule).findings]


_VERDICTS: dict[int, tuple[dict[str, Counter[str]], set[str]]] = {}


def verdicts(file: Path) -> tuple[dict[str, Counter[str]], set[str]]:
    """Return how often each rule has each code, and the agents that do not load a file: once for each content."""
    key = hash((file.name, file.parent.name, *sorted(content(file.parent).items())))
    if key not in _VERDICTS:
        codes = {rule: Counter(item.code for item in found(file, rule)) for rule in ("guide", "spec")}
        _VERDICTS[key] = codes, rejected(file)
    return _VERDICTS[key]


def rejected(file: Path) -> set[str]:
    if file.name != "SKILL.md":
        return set(HOSTS)
    entries = {host: evaluate_file(str(file), host) for host in HOSTS}
    # An agent that can read the file at last does what its author says of users and models.
    return {
        host
        for host, entry in entries.items()
        if entry.state is State.REJECTED and "disable-model-invocation" not in entry.rule
    }


def moved(file: Path, top: Path) -> Path:
    """Copy the skill to another folder above it."""
    shutil.copytree(file.parent, top / file.parent.name, symlinks=True)
    return top / file.parent.name / file.name


def assert_true(item: Finding, file: Path, tmp_path: Path) -> Path:
    """Follow a hint in every way, and return the skill after the first way."""
    before, lost = verdicts(file)
    assert item.hint is not None, item
    results = []
    for number, (follow, match) in enumerate(ways(item.hint)):
        place = tmp_path / f"{len(list(tmp_path.iterdir()))}-{number}"
        hinted = Hinted(moved(file, place), item)
        follow(hinted, match)
        after, lost_now = verdicts(hinted.file)
        context = f"{item.code}: {item.hint!r} by {follow.__name__}:\n{hinted.data[:600]!r}"
        for rule in before:
            assert after[rule][item.code] < before[rule][item.code], f"the finding is still there; {context}"
            assert after[rule] <= before[rule], f"new findings: {after[rule] - before[rule]}; {context}"
        # Tabs in several lines, or a NUL in UTF-16: agents differ about a file that is changed by half.
        half = any(after[rule][item.code] for rule in after) or item.code == "encoding-nul"
        assert half or lost_now <= lost, f"now rejected by {lost_now - lost}; {context}"
        results.append(hinted.file)
    return results[0]


def is_slow(name: str) -> bool:
    """Tell whether a case takes long: another style of a case, or many findings or lines."""
    long = ("everything", "invalid values", "many events", "fields of agents", "large")
    return name.endswith((", CRLF", ", mark", ", comment")) or name.startswith(long)


def marked(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.slow] if is_slow(name) else []) for name in names]


@pytest.mark.parametrize("name", marked(CASES))
def test_every_hint_that_is_followed_is_true(name: str, tmp_path: Path) -> None:
    """Each hint alone, then one after the other, until there is no finding left."""
    file = CASES[name].write(tmp_path / "first")
    (tmp_path / "ways").mkdir()
    for item in found(file, "guide")[1:]:
        assert_true(item, file, tmp_path / "ways")
    for _ in range(40):
        findings = found(file, "guide")
        if not findings:
            return
        file = assert_true(findings[0], file, tmp_path / "ways")
    pytest.fail(f"the hints never end: {findings}")


PLAIN = [name for name in CASES if not name.endswith((", CRLF", ", mark", ", comment"))]


@pytest.mark.parametrize("name", marked(PLAIN))
def test_an_agent_loads_a_skill_after_its_hints_are_followed(name: str, tmp_path: Path) -> None:
    """Each agent that rejects it at first, whatever the agent's own rules are."""
    file = CASES[name].write(tmp_path / "first")
    for host in rejected(file) if file.name == "SKILL.md" else ():
        now, steps = file, []
        for number in range(12):
            if evaluate_file(str(now), host).state is not State.REJECTED:
                break
            error = next(item for item in check_file(str(now), host) if item.severity is Severity.ERROR)
            assert error.hint is not None, f"{host} gives no hint for {error.code}: {error.message}"
            ((follow, match), *_) = ways(error.hint)
            hinted = Hinted(moved(now, tmp_path / f"{host}-{number}"), error)
            follow(hinted, match)
            steps.append((error.code, error.message, error.hint))
            now = hinted.file
        else:
            pytest.fail(f"{host} never loads it: {steps}\n{now.read_bytes()[:500]!r}")


@pytest.mark.slow
@given(skill_bytes())
def test_what_a_hint_says_about_fix_is_true(data: bytes) -> None:
    """For any bytes: a finding with that hint is gone, values lose only control characters, and no fix is left."""
    with TemporaryDirectory() as top:
        file = Case(data).write(Path(top))
        named = {item.code for item in check_file(str(file)) if FIX in (item.hint or "")}
        before = from_document(parse_frontmatter(data))
        fix_file(str(file))
        left = check_file(str(file))
        assert not (named - {"field-unknown"}) & {item.code for item in left}
        assert not [item for item in left if FIX in (item.hint or "")]
        fixed = file.read_bytes()
        assert fix_file(str(file)) == (str(file), ())
    after = from_document(parse_frontmatter(fixed))
    assert CONTROLS.sub("", repr(after.with_changes(name=before.name))) == CONTROLS.sub("", repr(before))
    assert after.name in (before.name, "pdf-forms") or repr(after.name) == CONTROLS.sub("", repr(before.name))
