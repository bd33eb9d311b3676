"""A hint about the place of a skill, a setting or a role is true after it is followed, as in `test_hints`."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.findings import CODES
from support.finding_examples import Built, build, page
from test_docs_findings import run_example
from test_hints import CASES, found

if TYPE_CHECKING:
    from collections.abc import Callable

Item = dict[str, Any]


def skill_at(folder: Path, name: str) -> None:
    """Write a skill."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: Fills forms. Use when a form must be filled.\n---\nDo it.\n"
    )


def create(built: Built, item: Item) -> Built:
    """Run the command of the hint."""
    command = re.search("`prowess new NAME --dir (.+)` writes a skill", item["hint"])
    assert command is not None
    assert (
        main(
            [
                "new",
                "fill-forms",
                "--dir",
                command[1],
                "--description",
                "Fills PDF files. Use when a form must be filled.",
            ]
        )
        == 0
    )
    return built


def put_file(built: Built, item: Item) -> Built:
    path = Path(item["path"])
    path.unlink()
    skill_at(path.parent, path.parent.name)
    return built


def move_up(built: Built, item: Item) -> Built:
    """Move a skill's folder to the folder above."""
    folder = Path(item["path"]).parent
    shutil.move(folder, folder.parent.parent / folder.name)
    return built


def copy_here(built: Built, item: Item) -> Built:
    path = Path(item["path"])
    target = path.resolve()
    path.unlink()
    shutil.copytree(target, path)
    return built


def pass_folder(built: Built, item: Item) -> Built:
    """Pass the folder of the linked skill instead of the link."""
    path = Path(item["path"])
    target = path.resolve()
    path.unlink()
    return replace(built, argv=(*built.argv, "--skill-dir", str(target.parent)))


def rename(built: Built, item: Item) -> Built:
    folder = Path(item["path"]).parent
    shutil.rmtree(folder)
    skill_at(folder.with_name("another-name"), "another-name")
    return built


def remove(built: Built, item: Item) -> Built:
    shutil.rmtree(Path(item["path"]).parent)
    return built


def rename_to_utf8(built: Built, item: Item) -> Built:
    (folder,) = (built.project / ".agents/skills").iterdir()
    folder.rename(folder.with_name("cafe"))
    return built


def raise_limit(built: Built, item: Item) -> Built:
    role = built.project / "role.yaml"
    role.write_text(role.read_text().replace("max_skills: 1", "max_skills: 2"))
    return built


def remove_skill(built: Built, item: Item) -> Built:
    shutil.rmtree(built.project / "skills/pdf-merge")
    return built


def show_hidden(built: Built, item: Item) -> Built:
    (built.project / "pdf-forms/.cache").rename(built.project / "pdf-forms/cache")
    return built


def remove_hidden(built: Built, item: Item) -> Built:
    shutil.rmtree(built.project / "pdf-forms/.cache")
    return built


def did_you_mean(built: Built, item: Item) -> Built:
    wrong = re.search("unknown key `(?:.+\\.)?(.+)`", item["message"])
    right = re.fullmatch("did you mean `(.+)`\\?", item["hint"])
    assert wrong is not None
    assert right is not None
    path = Path(item["path"])
    path.write_text(path.read_text().replace(wrong[1], right[1]).replace("[pdf-forms]", "[]"))
    return built


def add_missing_file(built: Built, item: Item) -> Built:
    name = re.search("missing file `(.+)`", item["message"])
    assert name is not None
    (built.project / "slug" / name[1]).write_text("Red apples")
    return built


def name_a_text(built: Built, item: Item) -> Built:
    path = Path(item["path"])
    path.write_text(path.read_text().replace("good and helpful", "blue-pears"))
    return built


FOLLOW: dict[str, tuple[str, tuple[Callable[[Built, Item], Built], ...]]] = {
    "file-missing": ("`prowess new NAME --dir .+` writes a skill", (create,)),
    "file-not-regular": ("put a text file there", (put_file,)),
    "file-is-link": ("put the file itself there", (put_file,)),
    "code-hidden": ("give it a name without the dot, or remove it", (show_hidden, remove_hidden)),
    "folder-skipped": ("move the skill out of it", (move_up,)),
    "folder-too-deep": ("move its folder up", (move_up,)),
    "folder-link": ("copy the skill here, or pass its folder with `--skill-dir`", (copy_here, pass_folder)),
    "path-not-utf8": ("rename the folder", (rename_to_utf8,)),
    "name-shadowed": ("rename one of the two, or remove it", (rename, remove)),
    "name-lookalike": ("rename one of them", (rename,)),
    "skill-copy": ("remove one of the two, unless another agent finds only one of them", (remove,)),
    "skill-limit": ("raise `max_skills`, or remove some", (raise_limit, remove_skill)),
    "test-invalid": ("did you mean `.+`\\?", (did_you_mean,)),
    "eval-unknown": ("did you mean `.+`\\?", (did_you_mean,)),
    "eval-invalid": ("paths begin in `.+` or beside the file", (add_missing_file,)),
    "eval-unsound": ("name a file, a value, a command or a text that must be there", (name_a_text,)),
    "role-invalid": ("did you mean `.+`\\?", (did_you_mean,)),
}
"""Code to its hint in the example of its page, and the ways to follow it."""

VARIABLES = {
    "host-disabled": ("INFER_AGENT_SKILLS_ENABLED", "set INFER_AGENT_SKILLS_ENABLED=true to switch them on"),
    "host-trust": (
        "GEMINI_CLI_TRUST_WORKSPACE",
        "trust the folder in Gemini CLI, or set GEMINI_CLI_TRUST_WORKSPACE=true",
    ),
}

NOT_MECHANICAL = {
    "lock-invalid": "what the lock said is known to git alone",
    "not-installed": "the source of the lock is needed: `tests/cases/cli/lock-missing.md` follows it",
    "file-unreadable": "only the owner can change permissions, and root, who runs the tests, is not bound by them",
    "folder-unreadable": "the same",
    "folder-limit": "which of two thousand folders to move is the choice of the user",
    "root-not-folder": "which path was meant is known to the user alone",
    "config-invalid": "what the settings should say is known to the user alone",
    "server-failed": "which command starts the server, or where it is, is known to the user alone",
    "mcp-left-out": "what to write instead is in the message, and differs for each field",
    "mcp-large": "which files a skill can do without is known to its author alone",
    "copy-outdated": "`visibility/test_surfaces.py` follows it; an up-to-date copy is one too, so `skill-copy` follows",
    "server-skill": "only who maintains the server can change what it lists",
    "argument-ignored": "which argument was meant is known to the user alone",
    **dict.fromkeys(
        (
            *("description-placeholder", "description-when", "description-what", "description-person"),
            *("description-repeats", "description-general", "description-cut", "skill-overlap", "skill-near-copy"),
            *("body-placeholder", "body-alone", "path-windows", "path-author", "text-ages", "reference-nested"),
            *("reference-missing", "link-beside"),
            *("file-unreferenced", "script-mode", "script-first-line", "script-package"),
            *("text-hidden", "secret-likely", "download-runs", "code-encoded", "command-on-load"),
            *("tools-unlimited", "file-binary", "file-unsearched"),
        ),
        "what to write instead is the choice of its author; the page shows an example, which `test_docs_findings` runs",
    ),
}
"""Codes whose hints a test cannot follow."""


def test_every_code_is_covered(tmp_path: Path) -> None:
    """By a skill with the finding, an example of a page, a variable, or a reason why its hint cannot be followed."""
    of_skills = {
        item.code
        for name, case in CASES.items()
        if not name.endswith((", CRLF", ", comment"))
        for item in found(case.write(tmp_path / str(len([*tmp_path.iterdir()]))), "guide")
    }
    assert of_skills | FOLLOW.keys() | VARIABLES.keys() | NOT_MECHANICAL.keys() == CODES.keys()


@pytest.mark.parametrize(
    ("code", "number"), [(code, n) for code, (_, ways) in FOLLOW.items() for n in range(len(ways))]
)
def test_a_hint_about_a_place_is_true(code: str, number: int, tmp_path: Path) -> None:
    built = build(page(code).blocks[0], tmp_path)
    before = run_example(built)
    item = next(item for item in before if item["code"] == code)
    pattern, ways = FOLLOW[code]
    assert re.fullmatch(pattern, item["hint"]), item["hint"]
    counts = Counter(each["code"] for each in before)
    after = Counter(each["code"] for each in run_example(ways[number](built, item)))
    del after["body-placeholder"]  # of the skill that `prowess new` writes
    if code == "eval-invalid":
        del after["eval-unsound"]  # only a valid file has it
    assert after[code] < counts[code]
    assert after <= counts, after


@pytest.mark.parametrize("code", VARIABLES)
def test_a_hint_that_names_a_variable_is_true(code: str, tmp_path: Path) -> None:
    name, hint = VARIABLES[code]
    built = build(page(code).blocks[0], tmp_path)
    (item,) = run_example(built)
    assert (item["code"], item["hint"]) == (code, hint)
    assert run_example(built, variables={name: "true"}) == []
