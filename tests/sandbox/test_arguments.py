"""Arguments of `run` that are invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import Limits, run
from support.rows import rows

if TYPE_CHECKING:
    from pathlib import Path

MORE: list[tuple[dict[str, Any], str]] = [
    ({"argv": ["ls", "a\0b"]}, "a word of the command contains a NUL character"),
    ({"argv": ["ls", "\ud800"]}, "a word of the command contains a lone surrogate"),
    ({"argv": ["ls", "x" * 5_000_000]}, "`ls` cannot be started: argument list too long"),
    ({"env": {"A": "a\0b"}}, "the variable `A` contains a NUL character"),
]


@pytest.mark.parametrize(("arguments", "message"), [*rows(__file__, "invalid_arguments_are_errors"), *MORE])
def test_invalid_arguments_are_errors(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Each has a hint, and leaves nothing in the folder for temporary files."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    for name, text in (("empty", "echo"), ("lost", "#!/nowhere/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    named: dict[str, Any] = {"argv": ["ls"], "cwd": tmp_path, "sandbox": "none", **arguments}
    if "limits" in named:
        named["limits"] = Limits(**named["limits"])
    with pytest.raises(SandboxError) as caught:
        run(named.pop("argv"), **named)
    assert str(caught.value) == message
    assert caught.value.hint
