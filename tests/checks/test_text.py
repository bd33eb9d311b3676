"""The text of a body: a planted fault, and a clean twin, for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.checks._text import check_text
from prowess.skill import Skill, fix_file, from_document, parse_frontmatter
from prowess.skill._fix import fix_paths
from support.growth import assert_linear

if TYPE_CHECKING:
    from pathlib import Path

FILES = ("scripts/fill.py", "scripts/run.bat", "references/a.md")


def skill_of(body: str, description: str = "Fills forms. Use when one is due.") -> Skill:
    path = "skills/x/SKILL.md"
    text = f"---\nname: x\ndescription: {description}\n---\n{body}\n"
    return from_document(parse_frontmatter(text.encode(), path), path)


def found_in(body: str, *, files: tuple[str, ...] = FILES) -> list[tuple[str, int | None, int | None, str]]:
    return [(item.code, item.line, item.column, item.message) for item in check_text(skill_of(body), files)]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param(
            "# A\n\n[TODO: fill this in]",
            ("body-placeholder", 7, 1, "the body still has the text of a template: `[TODO: fill this in]`"),
            id="init-skill",
        ),
        pytest.param(
            "# Insert instructions below",
            ("body-placeholder", 5, 1, "the body still has the text of a template: `# Insert instructions below`"),
            id="template",
        ),
        pytest.param("List each `[TODO: ...]` of the project.", None, id="about-placeholders"),
        pytest.param(
            r"Run `python scripts\fill.py`.",
            ("path-windows", 5, 13, r"the path `scripts\fill.py` has backslashes, which work on Windows only"),
            id="backslash",
        ),
        pytest.param(r"Run `scripts\other.py` of the user.", None, id="another-file"),
        pytest.param(r"Run `C:\x\scripts\fill.py` and `a\scripts\fill.py`.", None, id="inside-another-path"),
        pytest.param(r"Run `scripts\run.bat`.", None, id="batch-file"),
        pytest.param("Run `python scripts/fill.py`.", None, id="slash"),
        pytest.param(
            "Read `/Users/ada/forms/list.csv`.",
            ("path-author", 5, 7, "the path `/Users/ada/forms/list.csv` exists on its author's machine only"),
            id="macos",
        ),
        pytest.param(
            r"Read C:\Users\ada\list.csv now",
            ("path-author", 5, 6, r"the path `C:\Users\ada\list.csv` exists on its author's machine only"),
            id="windows",
        ),
        pytest.param(
            "Read /home/user/a, /Users/me/a, /home/ubuntu/a, $X/home/ada/a, x.com/home/ada/a.", None, id="any"
        ),
        pytest.param("All of /home/ada", None, id="a-home"),
        pytest.param(
            "Ask gpt-4o, Claude-3-Opus-20240229 or gpt-4o, as of March 2025.",
            (
                "text-ages",
                5,
                5,
                "names of models and dates age: `gpt-4o`, `Claude-3-Opus-20240229`, `as of March 2025`",
            ),
            id="ages",
        ),
        pytest.param(
            "Ask the model. Built after 1990; my-gpt-4o, gpt-4ofoo and o1-previewer are names.", None, id="new"
        ),
    ],
)
def test_a_body_is_judged_by_its_text(body: str, found: tuple[str, int, int, str] | None) -> None:
    """Each rule reports once, at the first place."""
    assert found_in(body) == ([] if found is None else [found])


def test_a_template_is_reported_once() -> None:
    """Not if its description is one, too."""
    body = "# Insert instructions below"
    assert list(check_text(skill_of(body, "Describe in one sentence what x does."), FILES)) == []


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        pytest.param((), True, id="alone"),
        pytest.param(("LICENSE.txt", "README.md", "evals/evals.json", "tests/a.md", "skill-card.md"), True, id="about"),
        pytest.param(("references/a.md",), False, id="references"),
        pytest.param(("forms.md",), False, id="beside"),
        pytest.param(("scripts/a.py",), False, id="scripts"),
    ],
)
def test_a_long_body_has_files_for_its_details(files: tuple[str, ...], reported: bool) -> None:
    found = found_in("Fill the field.\n" * 500, files=files)
    message = (
        "SKILL.md has 506 lines, its body about 2,001 tokens, and no file beside it has details; "
        "at most 500 lines and 5,000 tokens are recommended"
    )
    assert found == ([("body-alone", 5, None, message)] if reported else [])


def test_a_body_of_few_long_lines_is_long_too() -> None:
    assert [code for code, *_ in found_in("word " * 3_999, files=())] == []
    assert [code for code, *_ in found_in("word " * 4_000, files=())] == ["body-alone"]


def test_an_empty_body_and_a_broken_file_have_no_text() -> None:
    assert found_in(" ") == []
    broken = from_document(parse_frontmatter(b"/Users/ada/x", "SKILL.md"), "SKILL.md")
    assert list(check_text(broken, FILES)) == []


def test_fix_writes_slashes_into_paths_of_the_skill_only(tmp_path: Path) -> None:
    r"""Not into `\n` or paths of others; line ends and the front matter stay."""
    for file in FILES:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("x")
    before = (
        b"---\r\nname: x\r\ndescription: See scripts\\fill.py\r\n---\r\n"
        b"Run `scripts\\fill.py`, `.\\scripts\\fill.py`, `scripts\\no.py`, `scripts\\run.bat`, `a\\nb`.\r\n"
        b"references\\a.md\r\n"
    )
    path = tmp_path / "SKILL.md"
    path.write_bytes(before)
    assert fix_file(str(path))[1] == ("slashes in paths",)
    assert path.read_bytes() == (
        b"---\r\nname: x\r\ndescription: See scripts\\fill.py\r\n---\r\n"
        b"Run `scripts/fill.py`, `./scripts/fill.py`, `scripts\\no.py`, `scripts\\run.bat`, `a\\nb`.\r\n"
        b"references/a.md\r\n"
    )
    assert fix_file(str(path))[1] == ()
    assert fix_paths(b"scripts\\fill.py \xff", FILES).changes == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *("a", "\n", "\\", "/Users/", "scripts\\", "scripts\\a", "/home/ada/x ", "gpt-", "claude-3-", "as of "),
        *("after 2025 ", "[TODO: ", "C:\\Users\\", "[TODO: x\n", "İ"),
    ],
)
def test_a_body_of_one_word_takes_linear_time(piece: str) -> None:
    """1 MiB of it."""
    assert_linear(lambda one: list(check_text(one, FILES)), piece * ((1 << 20) // len(piece)), setup=skill_of)
