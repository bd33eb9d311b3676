"""What of a skill may run is decided once, whatever it is called and wherever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from prowess.errors import SkillFileError
from prowess.skill import find_code, is_code, program_words
from support.files import write_file
from support.growth import assert_linear
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

CODE = [
    *("go.py", ".hidden/run.sh", "a/.b/c/x.JS", "scripts/run", "run", ".run", ".sh", "x.py ", "x.py.", "a.b.Ps1"),
    *("Makefile", "references/makefile", "Dockerfile", ".git/hooks/pre-commit", ".git/config", ".envrc"),
    *("package.json", "x/Package.JSON", "requirements.txt", "requirements-dev.txt", ".mcp.json", "pyproject.toml"),
    *("__pycache__/a.cpython-311.pyc", "x.pth", "x.ipynb", "tool.jar", "x.so", "lib.wasm", "x.xlsm", "x.AppImage"),
    *(
        "Dockerfile.dev",
        "makefile.inc",
        "constraints.txt",
        "Cargo.toml",
        "composer.json",
        "deno.json",
        "x.bats",
        "x.nu",
    ),
    *("x.py3", "x.xsh", "x.pex", "x.pif", "x.msc", "x.sh\u200b", "x.\uff50\uff59", "x.py\n", "a.txt:b.js"),
]
DATA = [
    *("references/units.md", "LICENSE", "LICENSE.txt", "README", "data.csv", "assets/a.png", "x.json", "a.yaml"),
    *(".gitignore", ".DS_Store", "scripts/table.csv", "scripts/README.md", "a.template.html", "v1.2.txt"),
]
FIRST = {
    "a first line": b"#!/bin/sh\necho\n",
    "a first line after a mark": b"\xef\xbb\xbf#!/bin/sh\n",
    "a first line after blanks": b"\n  #! /bin/sh\n",
    "Linux": b"\x7fELF\x02\x01",
    "Windows": b"MZ\x90\x00",
    "macOS": b"\xcf\xfa\xed\xfe\x07",
    "macOS, two processors": b"\xca\xfe\xba\xbe\x00",
    "WebAssembly": b"\0asm\x01",
    "an archive": b"PK\3\4\x14",
    "compiled Python": b"\xa7\x0d\r\n\0\0\0\0",
}


@pytest.mark.parametrize("path", CODE)
def test_a_name_says_that_a_file_may_run(path: str) -> None:
    assert is_code(path, 0o100644, b"x")


@pytest.mark.parametrize("path", DATA)
def test_a_document_is_data(path: str) -> None:
    assert not is_code(path, 0o100644, b"x\n\ny, 1\r\n")


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_the_first_bytes_say_that_a_file_may_run(first: bytes) -> None:
    assert is_code("assets/data.csv", 0o100644, first)


@pytest.mark.parametrize("mode", [0o744, 0o654, 0o645])
def test_a_file_may_run_if_anyone_may_execute_it(mode: int) -> None:
    assert is_code("data.csv", mode, b"x")


def test_a_document_of_an_office_is_an_archive_that_does_not_run() -> None:
    assert not is_code("assets/form.docx", 0o644, FIRST["an archive"])


@pytest.mark.parametrize("text", ["see !`curl x | sh`", "```!\ncurl\n```", "> ~~~~ !\n"])
def test_a_command_in_the_text_of_a_skill_runs(text: str, tmp_path: Path) -> None:
    skill(tmp_path / "pdf", body=f"Do it.\n\n{text}\n")
    assert find_code(str(tmp_path / "pdf")) == ("SKILL.md",)
    assert not is_code("references/x.md", 0o644, text.encode())


def test_a_skill_file_that_is_too_long_to_be_read_may_run(tmp_path: Path) -> None:
    skill(tmp_path / "pdf", body="x" * 300_000)
    assert find_code(str(tmp_path / "pdf")) == ("SKILL.md",)


def test_a_skill_in_a_skill_names_code_too(tmp_path: Path) -> None:
    """Some agents find it there."""
    skill(tmp_path / "pdf")
    inner = skill(tmp_path / "pdf/.claude/skills/xls", more="hooks: {Stop: [{command: sh go.txt}]}\n").parent
    write_file(inner / "go.txt", "echo\n")
    write_file(tmp_path / "pdf/go.txt", "text\n")
    found = find_code(str(tmp_path / "pdf"))
    assert found == (".claude/skills/xls/SKILL.md", ".claude/skills/xls/go.txt")


@pytest.mark.parametrize("hooks", ["hooks: {Stop: [{command: echo}]}\n", '"\\x68ooks": {Stop: x}\n'])
def test_hooks_run(hooks: str, tmp_path: Path) -> None:
    skill(tmp_path / "pdf", more=hooks)
    assert find_code(str(tmp_path / "pdf")) == ("SKILL.md",)


@pytest.mark.parametrize(
    "word", ["data/a.txt", "./data/../data/a.txt", "${SKILL_DIR}/data/a.txt", "sh 'data/a.txt'; ls", "x=/y/data/a.txt"]
)
def test_a_file_that_tools_name_may_run(word: str, tmp_path: Path) -> None:
    top = tmp_path / "pdf"
    skill(top, more=f'tools:\n- type: script\n  scripts: [{{path: "{word}"}}]\n')
    for name in ("data/a.txt", "data/b.txt", "a.txt"):
        write_file(top / name, "echo\n")
    assert find_code(str(top)) == tuple(sorted({"data/a.txt", "a.txt"}))


def test_a_link_may_run_if_its_name_or_what_it_leads_to_may(tmp_path: Path) -> None:
    top = tmp_path / "pdf"
    skill(top)
    write_file(top / "references/a.md", "a")
    write_file(top / "lib/tool.py", "a")
    links = {
        "b.md": "references/a.md",
        "c.md": "b.md",
        "folder": "references",
        "again": "folder",
        "top.txt": ".",
        "run.sh": "b.md",
        "Makefile": "b.md",
        "d.csv": "lib/tool.py",
        "e.csv": "d.csv",
        "f.csv": "folder/a.md",  # by a link to a folder: where that leads may change
        "gone.txt": "nothing.txt",
    }
    for name, target in links.items():
        (top / name).symlink_to(target)
    code = {"Makefile", "d.csv", "e.csv", "f.csv", "gone.txt", "lib/tool.py", "run.sh"}
    assert find_code(str(top)) == tuple(sorted(code))


def test_what_a_script_tool_can_start_is_code() -> None:
    """Whatever the runner accepts was shown."""

    @given(st.sampled_from([*CODE, *DATA]), st.sampled_from([b"", b"x", b"#!", b"#!\n", b"#! env\n", *FIRST.values()]))
    def check(path: str, first: bytes) -> None:
        try:
            program_words(path, first)
        except SkillFileError:
            return
        assert is_code(path, 0o644, first)

    check()


def test_chains_of_links_and_many_words_take_no_time(tmp_path: Path) -> None:
    def build(count: int) -> str:
        top = tmp_path / f"chain-{count}"
        if top.exists():
            return str(top)
        skill(top, more="tools:\n" + "".join(f"- {{a: {'b/' * 8}x{number}}}\n" for number in range(count)))
        for number in range(count):
            (top / f"{number + 1}.md").symlink_to(f"{number}.md")
        write_file(top / "0.md", "a")
        return str(top)

    assert_linear(find_code, 1200, setup=build)
