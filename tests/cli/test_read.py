"""`prowess read`: a text file of a skill, and no other."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from support.project_commands import json_in, run_in
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill that has files, a secret beside it, and a skill for its user alone."""
    top = tmp_path.resolve() / "project"
    (top / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    folder = skill(top / ".agents/skills/pdf").parent
    (folder / "references").mkdir()
    (folder / "references/api.md").write_text("# API\n\tä€\n")
    (folder / "blank.txt").touch()
    (folder / "x.png").write_bytes(b"\x89PNG\0")
    (folder / "link.md").symlink_to("../secret.md")
    (top / ".agents/skills/secret.md").write_text("secret")
    skill(top / ".agents/skills/manual", more="disable-model-invocation: true\n", body="By hand.")
    return top


run = partial(run_in, "read")
data = partial(json_in, "read")


@pytest.mark.parametrize(
    ("arguments", "out", "err"),
    [
        (["references/api.md"], "# API\n\tä€\n", ""),
        (["./references//api.md"], "# API\n\tä€\n", ""),
        (["blank.txt"], "", ""),
        (["references/api.md", "--limit", "5"], "# API\n", "the file has 13 bytes; continue with `--offset 5`\n"),
        (
            ["references/api.md", "--offset", "6", "--limit", "5"],
            "\tä\n",
            "the file has 13 bytes; continue with `--offset 9`\n",
        ),
        (["references/api.md", "--offset", "13"], "", "nothing to read at `--offset 13`: the file has 13 bytes\n"),
        (
            ["references/api.md", "--offset", "999", "--limit", "1"],
            "",
            "nothing to read at `--offset 999`: the file has 13 bytes\n",
        ),
    ],
    ids=["whole", "other-path", "empty", "limit", "character", "end", "beyond"],
)
def test_a_file_is_printed(
    arguments: list[str], out: str, err: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data on stdout; if the file continues, stderr has the next offset."""
    assert run(project, "pdf", *arguments) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (out, err)


def test_json_is_the_part_and_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the name of the skill and the size of the whole."""
    assert data(project, "PDF", "references/api.md", "--offset", "2", "--limit", "3", capsys=capsys) == {
        "name": "pdf",
        "path": "references/api.md",
        "text": "API",
        "offset": 2,
        "size": 13,
        "next_offset": 5,
    }
    whole = data(project, "pdf", "references/api.md", capsys=capsys)
    assert (whole["text"], whole["next_offset"]) == ("# API\n\tä€\n", None)


def test_the_user_may_read_a_user_only_skill(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command acts as the user."""
    assert data(project, "manual", "SKILL.md", capsys=capsys)["text"].endswith("By hand.\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["pdf", "../secret.md"],
            1,
            "`../secret.md` is not inside the skill's folder\n\nhint: give a path relative to the skill's folder",
        ),
        (
            ["pdf", "link.md"],
            1,
            "`link.md` is a link or behind one; links are not followed\n\nhint: ",
        ),
        (["pdf", "api.md"], 1, "the skill has no file `api.md`\n\nhint: did you mean `references/api.md`?\n"),
        (["pdf", "references"], 1, "`references` is a folder\n\nhint: did you mean `references/api.md`?\n"),
        (["pdf", "x.png"], 1, "`x.png` is not a text file (5 bytes)\n\nhint: read it with a script\n"),
        (["pdf", "q\x1b[2J"], 1, "the skill has no file `q\\x1b[2J`\n"),
        (["pdf", ""], 1, "`` is not a valid path\n\nhint: name a file of the skill, as in `references/api.md`\n"),
        (["pfd", "a.md"], 2, "no skill is called `pfd` for host `prowess`\n\nhint: did you mean `pdf`?\n"),
        (
            ["pdf"],
            2,
            "missing argument: FILE\n\nhint: run `prowess read --help` for its options\n",
        ),
        *(
            (
                ["pdf", "blank.txt", f"--{option}={value}"],
                2,
                f"`--{option}` takes a number of bytes, {least} or more\n\nhint: for example `--{option} 4096`\n",
            )
            for option, least, values in (("offset", 0, ("-1", "x", "", "٣")), ("limit", 1, ("0", "1.5", "9" * 99)))
            for value in values
        ),
    ],
    ids=repr,
)
def test_an_unreadable_file_is_an_error(
    arguments: list[str], code: int, message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 for a file, 2 for wrong use; nothing on stdout, and nothing of a secret."""
    for more in ([], ["--json"]):
        assert run(project, *arguments, *more) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {message}")


def test_a_file_cannot_touch_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not show is an escape, lines and tabs stay, and no line is a command to a CI system."""
    (project / ".agents/skills/pdf/x.md").write_text("a\x1b[2J\u202e\r\n\t::error::b\n::set-env::c\n")
    assert run(project, "pdf", "x.md") == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("a\\x1b[2J\\u202e\\x0d\n\t\\x3a:error::b\n\\x3a:set-env::c\n", "")
    assert run(project, "pdf", "x.md", "--json") == 0
    raw = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(raw)
    assert json.loads(raw)["text"] == "a\x1b[2J\u202e\r\n\t::error::b\n::set-env::c\n"


def test_a_skill_that_is_a_single_file_has_no_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other files in that folder are not part of it."""
    root = project.parent / "home/.pi/agent/skills"
    root.mkdir(parents=True)
    (root / "flat.md").write_text("---\nname: flat\ndescription: Flat.\n---\nFlat.\n")
    (root / "secret.txt").write_text("secret")
    assert run(project, "flat", "secret.txt", "--host", "pi") == 1
    message = "error: the skill has no files of its own\n\nhint: it only has its instructions\n"
    assert capsys.readouterr() == ("", message)
