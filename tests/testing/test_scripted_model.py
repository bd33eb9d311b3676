"""A model that follows a script: valid scripts, and the errors of invalid ones."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prowess._internal.installer import install_command
from prowess.errors import ConfigError
from prowess.testing import Call, ScriptedModel, Step
from support.rows import rows

HINT = "a step is `call: TOOL` with `with: {...}`, `calls: [...]` or `say: TEXT`"


def file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "script.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems(script: Any) -> list[str]:
    """Return what is wrong with a script, line by line, without the path of its file."""
    with pytest.raises(ConfigError) as caught:
        ScriptedModel(script)
    assert caught.value.hint == HINT
    lines = str(caught.value).split("\n")
    if isinstance(script, Path):
        assert all(line.startswith(f"{script}:") for line in lines)
        return [line.removeprefix(f"{script}:").lstrip() for line in lines]
    assert all(line.startswith("the script: ") for line in lines)
    return [line.removeprefix("the script: ") for line in lines]


# ── what a script says ───────────────────────────────────────────────────────────────────────────────────────────────

STEPS = (
    Step(calls=(Call(tool="read_file", arguments={"path": "a.txt", "limit": 10}),)),
    Step(calls=(Call(tool="now"), Call(tool="add", arguments={"numbers": [1, 2.5, True, None]}))),
    Step(say="It is done."),
)
WRITTEN = """\
- call: read_file
  with:
    path: a.txt
    limit: 10
- calls:
  - call: now
  - call: add
    with: {numbers: [1, 2.5, true, null]}
- say: It is done.
"""
IN_PYTHON: list[dict[str, Any]] = [
    {"call": "read_file", "with": {"path": "a.txt", "limit": 10}},
    {"calls": [{"call": "now"}, {"call": "add", "with": {"numbers": [1, 2.5, True, None]}}]},
    {"say": "It is done."},
]


def test_a_script_is_a_file_or_a_list(tmp_path: Path) -> None:
    """Of mappings as in the file, or of `Step` and `Call` values, with the same result."""
    path = file(tmp_path, WRITTEN)
    scripts: list[Any] = [path, str(path), IN_PYTHON, STEPS, [*STEPS], [IN_PYTHON[0], *STEPS[1:]]]
    for script in scripts:
        assert ScriptedModel(script).steps == STEPS


def test_after_the_last_step_the_last_say_is_repeated(tmp_path: Path) -> None:
    """Even if a call comes after it."""
    model = ScriptedModel(file(tmp_path, "- say: one\n- say: two\n- call: now\n"))
    assert [model.step(number).say for number in range(6)] == ["one", "two", "", "two", "two", "two"]
    assert model.step(2).calls == (Call(tool="now"),)


def test_a_script_that_never_says_anything_ends() -> None:
    """As an error, because a framework would retry an empty answer."""
    model = ScriptedModel([{"call": "now"}])
    with pytest.raises(ConfigError, match=r"^the script has only 1 step, but the model is called again$") as caught:
        model.step(1)
    assert caught.value.hint == "end it with `say: TEXT`"


@pytest.mark.parametrize(("typed", "value"), rows(__file__, "an_argument_has_the_type_it_has_in_json"))
def test_an_argument_has_the_type_it_has_in_json(typed: str, value: object, tmp_path: Path) -> None:
    """Anything but a JSON literal is text."""
    (step,) = ScriptedModel(file(tmp_path, f"- call: t\n  with:\n    a: {typed}\n")).steps
    made = step.calls[0].arguments["a"]
    assert (type(made), made) == (type(value), value)


def test_a_say_is_the_text_as_typed(tmp_path: Path) -> None:
    """Even if it looks like another type."""
    script = file(tmp_path, "- say: 12\n- say: yes\n- say: ''\n- say: |\n    a\n\n    b\n- say: 'null'\n")
    assert [step.say for step in ScriptedModel(script).steps] == ["12", "yes", "", "a\n\nb\n", "null"]


# ── invalid scripts ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "expected"), rows(__file__, "all_problems_of_a_file_are_reported_together"))
def test_all_problems_of_a_file_are_reported_together(text: str, expected: list[str], tmp_path: Path) -> None:
    """Each with its line and column."""
    assert problems(file(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *rows(__file__, "a_file_without_a_list_of_steps_is_an_error"),
        (b"- say: \xff\n", "byte 0xff at offset 7 is not UTF-8 (save the file as UTF-8)"),
    ],
    ids=repr,
)
def test_a_file_without_a_list_of_steps_is_an_error(text: str | bytes, words: str, tmp_path: Path) -> None:
    """As any file of ours is."""
    assert problems(file(tmp_path, text)) == [words]


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    """And never waited for. A link is followed: it is the caller's."""
    os.mkfifo(tmp_path / "fifo")
    for path, words in ((tmp_path / "none.yaml", "no such file"), (tmp_path / "fifo", "it is a FIFO")):
        with pytest.raises(ConfigError, match=words):
            ScriptedModel(path)
    (tmp_path / "link.yaml").symlink_to(file(tmp_path, WRITTEN))
    assert ScriptedModel(tmp_path / "link.yaml").steps == STEPS


@pytest.mark.parametrize(("script", "expected"), rows(__file__, "all_problems_of_a_list_are_reported_together"))
def test_all_problems_of_a_list_are_reported_together(script: list[Any], expected: list[str]) -> None:
    """Each with its number."""
    assert problems(script) == expected


def test_arguments_are_values_of_json() -> None:
    step = Step(calls=(Call(tool="x", arguments={"a": {1}}),))
    assert problems([*({"call": "x", "with": {"a": value}} for value in (object, math.nan)), step]) == [
        "`[0].with` cannot be written as JSON",
        "`[1].with` cannot be written as JSON",
        "`[2]` cannot be written as JSON",
    ]


@pytest.mark.parametrize("script", [{"say": "x"}, None, 1, b"x", iter(())], ids=lambda value: type(value).__name__)
def test_another_type_than_a_list_is_an_error(script: Any) -> None:
    """One step without its list is the likeliest."""
    with pytest.raises(ConfigError, match=r"^a script is a list of steps or the path of a file, not \w+$"):
        ScriptedModel(script)
    assert problems([]) == ["it has no steps"]


def test_messages_are_safe_to_show(tmp_path: Path) -> None:
    """Nothing of a script reaches a terminal as it is."""
    evil = "\x1b[2J\u202e"
    for lines in (
        problems(file(tmp_path, '- "\\e[2J\\u202e": 1\n')),
        problems([{"call": "x", evil: 1}, {"say": "", evil: 1}]),
    ):
        assert "".join(lines).isprintable()


def test_a_script_needs_no_framework_and_says_which_one_is_missing() -> None:
    """Reading a script loads none; asking for a model names the extra to install."""
    code = """
import sys
sys.modules["pydantic_ai"] = None
from prowess.testing import ScriptedModel
model = ScriptedModel([{"say": "x"}])
assert not {"yaml", "pytest"} & {*sys.modules}
try:
    model.pydantic_ai()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"a scripted model for Pydantic AI needs pydantic-ai-slim: {install_command('pydantic-ai')}\n"
    )
