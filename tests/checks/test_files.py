"""The files of a skill against its body: a planted fault, and a clean twin, for each rule."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.checks._check_file import check_file
from prowess.checks._files import SkillTexts
from prowess.filesystem import Filesystem
from prowess.findings import CODES
from prowess.skill import load
from support.growth import assert_linear, ends

if TYPE_CHECKING:
    from pathlib import Path

RULES = {code for code in CODES if code.startswith(("reference-", "file-unref", "script-"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a skill in a repository."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    return top / "skills/forms"


def write(folder: Path, body: str, files: dict[str, str], *, name: str = "forms", fields: str = "") -> str:
    for path, text in {
        **files,
        "SKILL.md": f"---\nname: {name}\ndescription: Fills forms. Use when one is due.\n{fields}---\n{body}\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return str(folder / "SKILL.md")


def found_in(folder: Path, body: str, files: dict[str, str], **options: str) -> list[tuple[str, int | None, str]]:
    path = write(folder, body, files, **options)
    return [(item.code, item.line, item.message) for item in check_file(path, advise=True) if item.code in RULES]


# ── named, and missing ───────────────────────────────────────────────────────────────────────────────────────────────

SCRIPT = {"scripts/a.py": "print()\n"}
PAGE = {"references/a.md": "A.\n"}
MISSING = "the body names `{}`, which is missing"


@pytest.mark.parametrize(
    ("body", "files", "missing"),
    [
        pytest.param("Run `python scripts/b.py x`.", SCRIPT, "scripts/b.py", id="script"),
        pytest.param("Run `python scripts/a.py x`.", SCRIPT, None, id="there"),
        pytest.param("```bash\npython ./scripts/b.py\n```\n`scripts/a.py`", SCRIPT, "scripts/b.py", id="block"),
        pytest.param(
            "Run `python ${CLAUDE_SKILL_DIR}/scripts/b.py`, `scripts/a.py`.", SCRIPT, "scripts/b.py", id="own"
        ),
        pytest.param("For dates see `references/b.md`.", {}, "references/b.md", id="reference"),
        pytest.param("Run `python scripts/b.py`.", {}, None, id="no-scripts-here"),
        pytest.param("The build has `references/b.md`.", {}, None, id="no-references-here"),
        pytest.param("Create `scripts/b.py`. Use `scripts/a.py`.", SCRIPT, None, id="is-written"),
        pytest.param("`python scripts/a.py > scripts/b.json`", SCRIPT, None, id="output"),
        pytest.param(
            "`node x > scripts/b.md`, read `scripts/b.md` and scripts/a.py", SCRIPT, None, id="written-before"
        ),
        pytest.param("The project has\nits own `scripts/b.py`; `scripts/a.py`.", SCRIPT, None, id="line-before"),
        pytest.param("`other/scripts/b.py`, `~/scripts/b.py`, scripts/a.py", SCRIPT, None, id="elsewhere"),
        pytest.param("`scripts/*.py`, `scripts/<name>.py`, scripts/a.py", SCRIPT, None, id="pattern"),
        pytest.param("`scripts/my_script.py`, scripts/a.py", SCRIPT, None, id="placeholder"),
        pytest.param("`scripts/../../b.py`, scripts/a.py", SCRIPT, None, id="outside"),
        pytest.param("See [references/b.md](references/b.md).", PAGE, None, id="link"),
    ],
)
def test_the_body_names_files_that_are_there(
    folder: Path, body: str, files: dict[str, str], missing: str | None
) -> None:
    """A missing link is another finding."""
    found = [item for item in found_in(folder, body, files) if item[0] == "reference-missing"]
    assert [message for _, _, message in found] == ([] if missing is None else [MISSING.format(missing)])


def test_missing_files_are_one_finding_at_the_first(folder: Path) -> None:
    body = (
        "x\n\nSee `references/b.md`, `references/c.md`, `references/b.md`.\nRead references/d.md and references/e.md."
    )
    message = "the body names `references/b.md`, `references/c.md`, `references/d.md` and 1 more, which are missing"
    assert found_in(folder, body, {}) == [("reference-missing", 7, message)]


def test_a_file_of_the_project_is_there(folder: Path) -> None:
    (folder / "../../scripts").mkdir(parents=True)
    (folder / "../../scripts/b.py").write_text("")
    assert found_in(folder, "`python scripts/b.py`, `python scripts/a.py`", SCRIPT) == []


def test_a_skill_about_skills_names_files_of_others(folder: Path) -> None:
    assert found_in(folder, "See `references/b.md`.", {}, name="skill-writer") == []


# ── there, and never named ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "files", "unnamed"),
    [
        pytest.param("Do it.", PAGE, "`references/a.md` (3 bytes)", id="never"),
        pytest.param("Read `references/a.md`.", PAGE, None, id="named"),
        pytest.param("Read the rest in `references/`.", PAGE, None, id="folder"),
        pytest.param("Read what is in the references folder.", PAGE, None, id="folder-in-words"),
        pytest.param("Read references/*.md.", PAGE, None, id="pattern"),
        pytest.param("See b.", {**PAGE, "b.md": "See a.md."}, None, id="named-elsewhere"),
        pytest.param("See b.py.", {"scripts/b.py": "import tables", "scripts/tables.py": "x"}, None, id="imported"),
        pytest.param("x", {"references/a.md": "See a.md."}, "`references/a.md` (9 bytes)", id="named-by-itself"),
        pytest.param(
            "x",
            {"scripts/test_a.py": "", "references/LICENSE": "", "assets/a.png": "", "tests/a.md": "", "notes.md": ""},
            None,
            id="others-look-for-it",
        ),
        pytest.param("x", {**PAGE, "references/SKILL.md": "---\nname: b\n---\n"}, None, id="of-another-skill"),
        pytest.param("x", {**PAGE, "data.md": "y" * 70_000}, None, id="a-text-was-not-read"),
        pytest.param("x", {f"assets/part-{n}.md": "" for n in range(101)}, None, id="data"),
        pytest.param(
            "x",
            {f"references/{name}.md": "ab" for name in "abcde"},
            "`references/a.md`, `references/b.md`, `references/c.md` and 2 more (10 bytes)",
            id="several",
        ),
    ],
)
def test_a_text_of_the_skill_names_each_file(
    folder: Path, body: str, files: dict[str, str], unnamed: str | None
) -> None:
    """With its size."""
    found = [item for item in found_in(folder, body, files) if item[0] == "file-unreferenced"]
    assert found == ([] if unnamed is None else [("file-unreferenced", 5, f"no text of the skill names {unnamed}")])


# ── more than one step away ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_that_only_another_one_names_is_reported(folder: Path) -> None:
    files = {"references/a.md": "See [b](b.md), [c](../references/c.md), [d](no.md), [e](https://x/b.md)."}
    files |= {"references/b.md": "B.\n", "references/c.md": "C.\n"}
    message = "only `references/a.md` names `references/b.md`, `references/c.md`; the body does not"
    assert found_in(folder, "Read `references/a.md`.", files) == [("reference-nested", 5, message)]
    assert found_in(folder, "Read `references/a.md`, then b.md or c.md.", files) == []
    assert found_in(folder, "Read `references/a.md`; the rest is in `references/`.", files) == []


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

SHELL = {"scripts/a.sh": "#!/bin/sh\necho\n"}
MODE = "the body runs `scripts/a.sh` as a command, but its mode does not allow it"
FIRST = "the body runs `scripts/a.sh` as a command, which "
RUN = "Run `./scripts/a.sh x`."
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")


@posix
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(RUN, id="inline"),
        pytest.param("Run `scripts/a.sh x`.", id="with-arguments"),
        pytest.param("```bash\nscripts/a.sh\n```", id="block"),
        pytest.param("1. Do:\n   ```sh\n   $ ./scripts/a.sh x\n   ```", id="indented-block"),
        pytest.param('```bash\ncd x && "${CLAUDE_SKILL_DIR}/scripts/a.sh"\n```', id="second-command"),
    ],
)
def test_a_script_that_is_a_command_is_executable(folder: Path, body: str) -> None:
    assert [message for _, _, message in found_in(folder, body, SHELL)] == [MODE]
    (folder / "scripts/a.sh").chmod(0o755)
    assert found_in(folder, body, SHELL) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("Run `sh scripts/a.sh x`.", id="interpreter"),
        pytest.param("See `scripts/a.sh`.", id="a-name"),
        pytest.param("```bash\ntorchrun \\\n  scripts/a.sh\n```", id="argument-on-its-own-line"),
        pytest.param("```python\nscripts/a.sh\n```", id="no-shell"),
        pytest.param("```\nscripts/a.sh\n```", id="no-language"),
        pytest.param("Run `x/scripts/a.sh y`, scripts/a.sh.", id="elsewhere"),
    ],
)
def test_other_scripts_need_no_mode(folder: Path, body: str) -> None:
    assert found_in(folder, body, SHELL) == []


@posix
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("echo\n", "does not begin with `#!` and the program that runs it", id="none"),
        pytest.param(
            "\ufeff#!/bin/sh\n", "begins with a byte order mark, so the system does not find `#!`", id="byte-order-mark"
        ),
        pytest.param(
            "#!/bin/sh\r\necho\r\n",
            "has a first line that ends in a carriage return, which becomes part of the program's name",
            id="carriage-return",
        ),
        pytest.param("#!sh\n", "has a first line without the path of a program: `#!sh`", id="no-path"),
        pytest.param(
            "#!/home/ada/bin/sh\n",
            "has a first line with a program of its author's machine: `/home/ada/bin/sh`",
            id="author",
        ),
        pytest.param("#!/usr/bin/env sh\n", None, id="env"),
        pytest.param("", None, id="empty"),
    ],
)
def test_a_script_that_is_a_command_names_its_program(folder: Path, text: str, problem: str | None) -> None:
    """One without a first line needs no mode: both are one finding."""
    write(folder, RUN, {"scripts/a.sh": text})
    (folder / "scripts/a.sh").chmod(0o755 if problem is None else 0o644)
    found = found_in(folder, RUN, {"scripts/a.sh": text})
    assert found == ([] if problem is None else [("script-first-line", 5, FIRST + problem)])


PACKAGES = "`scripts/a.py` imports `numpy`, `pyyaml`, which nothing in the skill declares"
IMPORTS = (
    "import os, json\nimport numpy as np\nfrom yaml import load\ntry:\n    import pandas\nexcept ImportError: pass\n"
)


@pytest.mark.parametrize(
    ("body", "files", "fields", "reported"),
    [
        pytest.param("Run `python scripts/a.py`.", {"scripts/a.py": IMPORTS}, "", True, id="undeclared"),
        pytest.param("Needs NumPy and PyYAML: `python scripts/a.py`.", {"scripts/a.py": IMPORTS}, "", False, id="body"),
        pytest.param("`scripts/a.py`", {"scripts/a.py": IMPORTS}, "compatibility: numpy, yaml\n", False, id="field"),
        pytest.param(
            "`scripts/a.py`", {"scripts/a.py": IMPORTS, "requirements.txt": "x"}, "", False, id="requirements"
        ),
        pytest.param("`scripts/a.py`", {"scripts/a.py": f"# pip install x\n{IMPORTS}"}, "", False, id="comment"),
        pytest.param("`scripts/a.py`", {"scripts/a.py": f"# /// script\n# ///\n{IMPORTS}"}, "", False, id="metadata"),
        pytest.param("See `scripts/`.", {"scripts/a.py": IMPORTS}, "", False, id="not-named"),
        pytest.param("`scripts/a.py`", {"scripts/a.py": "import unknown_module\n"}, "", False, id="unknown"),
    ],
)
def test_packages_are_declared(folder: Path, body: str, files: dict[str, str], fields: str, reported: bool) -> None:
    """Those of imports at the left margin that Prowess knows."""
    found = found_in(folder, body, files, fields=fields)
    assert [message for code, _, message in found if code == "script-package"] == ([PACKAGES] if reported else [])


# ── bad input ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_link_is_followed(folder: Path) -> None:
    """A file behind a link is there, and is not read."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "../../secret.py").write_text("import numpy\n")
    (folder / "scripts/b.py").symlink_to("../../../secret.py")
    assert found_in(folder, "`python scripts/b.py`, `./scripts/b.py`, `python scripts/a.py`", SCRIPT) == []


def test_binary_large_and_many_files_are_not_read(folder: Path) -> None:
    files = {f"references/{number}.md": "x" for number in range(100)} | {"a.md": "\0", "b.md": "y" * 70_000}
    texts = SkillTexts(load(write(folder, "x", files)), Filesystem())
    assert texts.text("a.md") is None
    assert texts.text("b.md") is None
    assert sum(texts.text(path) is not None for path in files) < 100


def test_names_of_files_may_be_hostile(folder: Path) -> None:
    """Escape sequences are shown, and nothing crashes."""
    files = {"references/\x1b[31m.md": "x", "scripts/(a+)+$.py": "import numpy\n", "references/a\nb.md": "x"}
    if sys.platform == "darwin":
        files.pop("references/\x1b[31m.md")
    for _, _, message in found_in(folder, "x", files):
        assert message.isprintable()
    os.mkfifo(folder / "scripts/c.sh")
    found_in(folder, "`./scripts/c.sh x`", files)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "scripts/",
            "scripts/a.py ",
            "see references/x.md\n",
            "`scripts/a.sh ",
            "```bash\nscripts/a.sh\n",
            "references",
        ),
        *("scripts/a.sh`", "$ scripts/a.sh\n", "references/aaa.", "a" * 50 + "/", "\\\nscripts/a.sh"),
    ],
)
def test_a_hostile_body_takes_linear_time(folder: Path, piece: str) -> None:
    """1 MiB of it, beside files that it names."""
    files = {**SHELL, **SCRIPT, "references/b.md": "x"}
    write(folder, "", files)

    def setup(body: str) -> str:
        return write(folder, body, files)

    assert_linear(lambda path: check_file(path, advise=True), piece * (1_000_000 // len(piece)), setup=setup)


@pytest.mark.slow
def test_a_skill_with_10_000_files_ends(folder: Path) -> None:
    files = {f"references/{number // 100}/page-{number}.md": "x" for number in range(10_000)}
    with ends():
        found_in(folder, "See `references/1/page-100.md`.", files)
