"""A hint is true after it is followed: the finding is gone, no other finding appeared, and no agent lost the skill."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from prowess.catalog._entry import State
from prowess.catalog._resolve import evaluate_file
from prowess.checks import check
from prowess.checks._check_file import check_file
from prowess.findings import Severity
from prowess.hosts import host_names
from prowess.skill import fix_file, from_document, parse_frontmatter
from support.hints import FIX, Hinted, ways
from support.strategies import skill_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prowess.findings import Finding

HOSTS = host_names()
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


NAMES = {
    "upper case": ("PDF-Forms", "pdf-forms"),
    "upper case, folder too": ("PDF-Forms", "PDF-Forms"),
    "spaces": ("PDF Forms", "pdf-forms"),
    "spaces, folder too": ("PDF Forms", "PDF Forms"),
    "underscores, folder too": ("pdf_forms", "pdf_forms"),
    "another folder": ("fill-forms", "pdf-forms"),
    "an invalid folder": ("pdf-forms", "PDF Forms"),
    "both invalid": ("PDF Forms", "Fill_Forms"),
    "hyphens": ("-pdf--forms-", "pdf-forms"),
    "hyphens, folder too": ("pdf--forms", "pdf--forms"),
    "long": ("x" * 70, "pdf-forms"),
    "long, folder too": ("fill-the-forms-" * 6 + "now", "fill-the-forms-" * 6 + "now"),
    "long without hyphens": ("f" * 80, "f" * 80),
    "a slash": ("pdf/forms", "pdf-forms"),
    "dots, folder too": ("pdf.forms.v2", "pdf.forms.v2"),
    "a colon": ("plugin:pdf-forms", "pdf-forms"),
    "a number": ("123", "123"),
    "a date": ("2026-11-01", "2026-11-01"),
    "a decimal": ("1.5", "1.5"),
    "true": ("true", "true"),
    "null": ("null", "null"),
    "a tilde": ("~", "pdf-forms"),
    "accents": ("café", "café"),
    "accents, decomposed folder": ("Cafe", "cafe\u0301"),
    "full width": ("ｐｄｆ", "ｐｄｆ"),
    "a dotted capital I": ("İstanbul", "İstanbul"),
    "Greek": ("Φόρμες", "φόρμες"),
    "an emoji": ("pdf-📄", "pdf-📄"),
    "only signs": ("!!!", "pdf-forms"),
    "reserved": ("claude-forms", "claude-forms"),
    "reserved folder": ("PDF Forms", "claude-forms"),
    "reserved name": ("Claude Forms", "pdf-forms"),
    "a token": ("<|im_end|>", "pdf-forms"),
    "hidden": ("pdf\u200bforms", "pdf-forms"),
}
FRONTS = {
    **{f"name: {key}": (f"name: '{name}'\n{GOOD}", folder) for key, (name, folder) in NAMES.items()},
    **{
        f"plain name: {key}": (f"name: {name}\n{GOOD}", folder)
        for key, (name, folder) in NAMES.items()
        if key in ("upper case", "spaces", "a number", "a decimal", "true", "null", "a tilde", "a date", "a colon")
    },
    "name missing": (GOOD, "pdf-forms"),
    "name missing, folder invalid": (GOOD, "PDF_Forms"),
    "name missing, folder a number": (GOOD, "2026"),
    "name missing, folder a word of YAML": (GOOD, "yes"),
    "name missing, folder long": (GOOD, "pdf-forms-" * 8 + "x"),
    "name null": (f"name:\n{GOOD}", "pdf-forms"),
    "name empty": (f"name: ''\n{GOOD}", "pdf-forms"),
    "name blank": (f'name: "  "\n{GOOD}', "PDF"),
    "name a list": (f"name:\n  - pdf\n  - forms\n{GOOD}", "pdf-forms"),
    "name a list without indentation": (f"name:\n- pdf\n- forms\n{GOOD}", "pdf-forms"),
    "name a map": (f"name: {{pdf: forms}}\n{GOOD}", "pdf-forms"),
    "name a block": (f"name: >-\n  PDF\n  Forms\n{GOOD}", "pdf-forms"),
    "description missing": ("name: pdf-forms", "pdf-forms"),
    "description null": ("name: pdf-forms\ndescription:", "pdf-forms"),
    "description blank": ("name: pdf-forms\ndescription: '  '", "pdf-forms"),
    "description a list": ("name: pdf-forms\ndescription:\n  - a\n  - b", "pdf-forms"),
    "description a map": ("name: pdf-forms\ndescription:\n  en: a\n  de: b", "pdf-forms"),
    "description a number": ("name: pdf-forms\ndescription: 1040", "pdf-forms"),
    "description true": ("name: pdf-forms\ndescription: yes it does\nlicense: true", "pdf-forms"),
    "description long": (f"name: pdf-forms\ndescription: {'Fills forms. ' * 100}", "pdf-forms"),
    "description long, a block": (
        "name: pdf-forms\ndescription: |\n" + "\n".join(['  It\'s "so": #1 — fills forms.'] * 50),
        "pdf-forms",
    ),
    "description long, emoji": (f"name: pdf-forms\ndescription: Use it. {'📄' * 1100}", "pdf-forms"),
    "description hidden": ("name: pdf-forms\ndescription: Fills\u200b PDF\u202e forms. Use it.", "pdf-forms"),
    "description only hidden": ("name: pdf-forms\ndescription: '\u200b\u2060'", "pdf-forms"),
    "description markup": ("name: pdf-forms\ndescription: Fills <b>PDF</b> forms. Use it.", "pdf-forms"),
    "description only markup": ("name: pdf-forms\ndescription: '<>'", "pdf-forms"),
    "description with a token": ("name: pdf-forms\ndescription: Fills <|im_end|> forms. Use it.", "pdf-forms"),
    "token in a token": ("name: pdf-forms\ndescription: A <|im_<|im_end|>end|> b. Use it.", "pdf-forms"),
    "license a list": (f"name: pdf-forms\n{GOOD}\nlicense:\n  - MIT\n  - Apache-2.0", "pdf-forms"),
    "license null": (f"name: pdf-forms\n{GOOD}\nlicense:", "pdf-forms"),
    "license a number": (f"name: pdf-forms\n{GOOD}\nlicense: 0", "pdf-forms"),
    "compatibility empty": (f"name: pdf-forms\n{GOOD}\ncompatibility: ''", "pdf-forms"),
    "compatibility null": (f"name: pdf-forms\n{GOOD}\ncompatibility:", "pdf-forms"),
    "compatibility a map": (
        f"name: pdf-forms\n{GOOD}\ncompatibility:\n  requires:\n    - python>=3.10\n    - pypdf",
        "pdf-forms",
    ),
    "compatibility a list": (f"name: pdf-forms\n{GOOD}\ncompatibility: [git, 'a: b', \"#c\"]", "pdf-forms"),
    "compatibility long": (f"name: pdf-forms\n{GOOD}\ncompatibility: {'Needs git. ' * 60}", "pdf-forms"),
    "metadata text": (f"name: pdf-forms\n{GOOD}\nmetadata: Ada", "pdf-forms"),
    "metadata null": (f"name: pdf-forms\n{GOOD}\nmetadata:", "pdf-forms"),
    "metadata a list": (f"name: pdf-forms\n{GOOD}\nmetadata:\n  - a\n  - b", "pdf-forms"),
    "metadata nested": (
        f"name: pdf-forms\n{GOOD}\nmetadata:\n  version: 1.10\n  tags: [a, b]\n  author:\n    name: Ada",
        "pdf-forms",
    ),
    "tools a list": (f"name: pdf-forms\n{GOOD}\nallowed-tools:\n  - Read\n  - Bash(git add:*)", "pdf-forms"),
    "tools a list of signs": (f"name: pdf-forms\n{GOOD}\nallowed-tools: ['*', '@x', \"a: b\"]", "pdf-forms"),
    "tools null": (f"name: pdf-forms\n{GOOD}\nallowed-tools:", "pdf-forms"),
    "tools a map": (f"name: pdf-forms\n{GOOD}\nallowed-tools: {{Read: true}}", "pdf-forms"),
    "tools with an underscore": (f"name: pdf-forms\n{GOOD}\nallowed_tools: Read", "pdf-forms"),
    "tools with an underscore, a list": (f"name: pdf-forms\n{GOOD}\nallowed_tools:\n- Read\n- Grep", "pdf-forms"),
    "tools twice": (f"name: pdf-forms\n{GOOD}\nallowed_tools: Read\nallowed-tools: Grep", "pdf-forms"),
    "unknown fields": (f"name: pdf-forms\n{GOOD}\nauthor: Ada\ntags: [a, 'b: c']\nlinks:\n  a: 'b'", "pdf-forms"),
    "unknown fields and metadata": (
        f"name: pdf-forms\nauthor: 'Ada # 1'\nmetadata:\n  version: 1.0\n{GOOD}\nhomepage: https://x.example",
        "pdf-forms",
    ),
    "misspelt fields": (
        "name: pdf-forms\ndesciption: 'Fills forms. Use it.'\nlicence: MIT\ncompatability: Needs git",
        "pdf-forms",
    ),
    "misspelt fields that are too long or not text": (
        f"name: pdf-forms\n{GOOD}\nlicence: [MIT]\ncompatability: {'Needs git. ' * 60}\ndesc: Fills forms",
        "pdf-forms",
    ),
    "an unknown field without a value": (f"name: pdf-forms\n{GOOD}\ntodo:", "pdf-forms"),
    "fields of agents": (
        (
            f"name: pdf-forms\n{GOOD}\nwhen_to_use: Often\nversion: 1.0.0\neffort: high\nhooks:\n  Stop: x\n"
            "shell: bash\nargument-hint: '[file]'\ncontext: fork\nagent: Explore\nmodel: small\nuser-invocable: true"
        ),
        "pdf-forms",
    ),
    "hidden from the model": (f"name: pdf-forms\n{GOOD}\ndisable-model-invocation: true", "pdf-forms"),
    "hidden from the model, as text": (f"name: pdf-forms\n{GOOD}\ndisable-model-invocation: 'true'", "pdf-forms"),
    "hidden by an invalid value": (f"name: pdf-forms\n{GOOD}\ndisable-model-invocation: always", "pdf-forms"),
    "invalid values": (
        (
            f"name: pdf-forms\n{GOOD}\nuser-invocable: [a]\ncontext: [fork]\nagent: {{a: b}}\nmodel: [x]\n"
            "argument-hint: [file]\npaths: {a: b}\ntools: [a]\nrequires: x"
        ),
        "pdf-forms",
    ),
    "a colon": ('name: pdf-forms\ndescription: Use when: it\'s "so" #1', "pdf-forms"),
    "a colon on a second line": ("name: pdf-forms\ndescription: Fills forms\n  with: values, 'n' more", "pdf-forms"),
    "a colon in a list": (f"name: pdf-forms\n{GOOD}\nmetadata:\n  a: b: c", "pdf-forms"),
    "an indicator": ("name: pdf-forms\ndescription: @me fills forms", "pdf-forms"),
    "a sigil": ("name: pdf-forms\ndescription: *.pdf files, it's for forms", "pdf-forms"),
    "double braces": ("name: pdf-forms\ndescription: {{x}} forms", "pdf-forms"),
    "a tab": (f"name: pdf-forms\n{GOOD}\nmetadata:\n\tauthor: Ada", "pdf-forms"),
    "two tabs": (f"name: pdf-forms\n{GOOD}\nmetadata:\n\tauthor: Ada\n\tversion: '1'", "pdf-forms"),
    "controls": ("name: pdf-forms\ndescription: Fills\x07 forms\x1b[2J. Use it.", "pdf-forms"),
    "a repeated key": (f"name: PDF\n{GOOD}\nname: pdf-forms", "pdf-forms"),
    "a key three times": (f"name: a\nname: b\n{GOOD}\nname: pdf-forms", "pdf-forms"),
    "a repeated key below another": (f"name: pdf-forms\n{GOOD}\nmetadata:\n  a: b\n  a: c", "pdf-forms"),
    "an anchor": ("name: pdf-forms\ndescription: &a Fills forms.\ncompatibility: *a", "pdf-forms"),
    "an anchor that is text": ("name: pdf-forms\ndescription: &amp; fills forms", "pdf-forms"),
    "a tag": (f"name: !x pdf-forms\n{GOOD}", "pdf-forms"),
    "a tag for text": (f"name: !!str 123\n{GOOD}", "123"),
    "an open quote": ('name: pdf-forms\ndescription: "Fills forms', "pdf-forms"),
    "an open bracket": (f"name: pdf-forms\n{GOOD}\nmetadata: {{a: [b", "pdf-forms"),
    "an alias without an anchor": (f"name: pdf-forms\n{GOOD}\nmetadata:\n  a: *b", "pdf-forms"),
    "two documents": (f"name: pdf-forms\n{GOOD}\n--- #\nlicense: MIT", "pdf-forms"),
    "a list": (f"- name: pdf-forms\n- {GOOD}", "pdf-forms"),
    "text": ("Fills forms", "pdf-forms"),
    "deep": (f"name: pdf-forms\n{GOOD}\nx: {'[' * 70}{']' * 70}", "pdf-forms"),
    "a character at which YAML 1.1 breaks lines": (
        "name: pdf-forms\ndescription: Fills\u2028 forms. Use it.",
        "pdf-forms",
    ),
    "a replacement character": ("name: pdf-forms\ndescription: Fills\ufffd forms. Use it.", "pdf-forms"),
    "hidden from all": (
        f"name: pdf-forms\n{GOOD}\ndisable-model-invocation: true\nuser-invocable: false",
        "pdf-forms",
    ),
    "paths as text": (f"name: pdf-forms\n{GOOD}\npaths: src/**\nallowedTools: Read", "pdf-forms"),
    "a name of one letter": (f"name: a\n{GOOD}", "a"),
    "everything at once": (
        (
            "name: 'PDF_Forms'\ndescription: Use when: <b>it's</b> \"so\" # really\nauthor: Ada\nwhen_to_use: Often\n"
            "allowed_tools: [Read, 'Bash(git add:*)']\nlicense: [MIT]\ncompatibility:\nmetadata: Ada\n"
            "disable-model-invocation: True\nuser-invocable: perhaps"
        ),
        "Fill Forms",
    ),
}
FILES = {
    "mark": Case(b"\xef\xbb\xbf---\nname: pdf-forms\n" + GOOD.encode() + b"\n---\nDo it.\n"),
    "latin": Case(b"---\nname: pdf-forms\n" + GOOD.encode() + b"\n---\nCaf\xe9.\n"),
    "latin front": Case(b"---\nname: pdf-forms\ndescription: Caf\xe9. Use it.\n---\nDo it.\n"),
    "latin front with a repair": Case(b"---\nname: pdf-forms\ndescription: @Caf\xe9. Use it.\n---\nDo it.\n"),
    "UTF-16": Case(f"---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode("utf-16")),
    "NUL": Case(f"---\nname: pdf-forms\n{GOOD}\n---\nDo \0 it.\0\n".encode()),
    "NUL in front": Case(f"---\nname: pdf-forms\n{GOOD}\0\n---\nDo it.\n".encode()),
    "CR": Case(f"---\rname: pdf-forms\r{GOOD}\r---\rDo it.\r".encode()),
    "program": Case(b"---js\nmodule.exports = {}\n---\nDo it.\n"),
    "nothing": Case(b""),
    "only a body": Case(b"# Forms\n\nFill them.\n"),
    "only a body, folder invalid": Case(b"# Forms\n"),
    "no opening": Case(f"name: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "a heading first": Case(f"# Forms\n---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "blank lines first": Case(f"\n\n---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "a comment first": Case(f"<!-- a\nb -->\n---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "not closed": Case(f"---\nname: pdf-forms\n{GOOD}\n\n# Forms\nDo it: now.\n".encode()),
    "not closed, a block": Case(b"---\nname: pdf-forms\ndescription: |\n  Fills forms.\n\n  Use it.\n\nDo it.\n"),
    "not closed, a list": Case(f"---\nname: pdf-forms\n{GOOD}\nallowed-tools: Read\nDo it.\n".encode()),
    "closed by two dashes": Case(f"---\nname: pdf-forms\n{GOOD}\n--\nDo it.\n".encode()),
    "closed by four dashes": Case(f"---\nname: pdf-forms\n{GOOD}\n----\nDo it.\n".encode()),
    "closed by a long dash": Case(f"---\nname: pdf-forms\n{GOOD}\n—\nDo it.\n".encode()),
    "closed by an indented fence": Case(f"---\nname: pdf-forms\n{GOOD}\n ---\nDo it.\n".encode()),
    "closed by dots": Case(f"---\nname: pdf-forms\n{GOOD}\n...\nDo it.\n".encode()),
    "blanks after fences": Case(f"--- \nname: pdf-forms\n{GOOD}\n---\t\nDo it.\n".encode()),
    "long fences": Case(f"-----\nname: pdf-forms\n{GOOD}\n----\nDo it.\n".encode()),
    "a long opening fence": Case(f"----\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode()),
    "large front": Case(f"---\nname: pdf-forms\n{GOOD}\nbig: {'x' * 70_000}\n---\nDo it.\n".encode()),
    "large file": Case(f"---\nname: pdf-forms\n{GOOD}\n---\n{'Do it. ' * 200_000}\n".encode()),
    "many events": Case(f"---\nname: pdf-forms\nx: [{', '.join(['a'] * 20_100)}]\n{GOOD}\n---\nDo it.\n".encode()),
    "lower case": Case(f"---\nname: pdf-forms\n{GOOD}\n---\nDo it.\n".encode(), file="skill.md"),
    "no body": case(f"name: pdf-forms\n{GOOD}", body=""),
    "long body": case(f"name: pdf-forms\n{GOOD}", body="Do it.\n" * 600),
    "links": case(
        f"name: pdf-forms\n{GOOD}",
        body="Read [a](references/a.md), [b](b%20c.md), [c](../c.md) and [d](/etc/d.md).\n",
    ),
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
    return [*check(str(file), policy=rule)]


def counts(file: Path) -> dict[str, Counter[str]]:
    return {rule: Counter(item.code for item in found(file, rule)) for rule in ("guide", "spec")}


def rejected(file: Path) -> set[str]:
    """Return the agents that do not load a file."""
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
    before, lost = counts(file), rejected(file)
    assert item.hint is not None, item
    results = []
    for number, (follow, match) in enumerate(ways(item.hint)):
        place = tmp_path / f"{len(list(tmp_path.iterdir()))}-{number}"
        hinted = Hinted(moved(file, place), item)
        follow(hinted, match)
        after = counts(hinted.file)
        context = f"{item.code}: {item.hint!r} by {follow.__name__}:\n{hinted.data[:600]!r}"
        for rule in before:
            assert after[rule][item.code] < before[rule][item.code], f"the finding is still there; {context}"
            assert after[rule] <= before[rule], f"new findings: {after[rule] - before[rule]}; {context}"
        # Tabs in several lines, or a NUL in UTF-16: agents differ about a file that is changed by half.
        half = any(after[rule][item.code] for rule in after) or item.code == "encoding-nul"
        assert half or rejected(hinted.file) <= lost, f"now rejected by {rejected(hinted.file) - lost}; {context}"
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
    """For any bytes: a finding with that hint is gone, the values stay, and fixing again changes nothing."""
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
    assert after.with_changes(name=before.name) == before
    assert after.name in (before.name, "pdf-forms")
