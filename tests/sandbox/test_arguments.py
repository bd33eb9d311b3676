"""Arguments of `run` that are invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prowess.errors import SandboxError
from prowess.sandbox import Limits, run

if TYPE_CHECKING:
    from pathlib import Path

INVALID: list[tuple[dict[str, Any], str]] = [
    ({"argv": []}, "the command is empty"),
    ({"argv": [""]}, "the command is empty"),
    ({"argv": "ls -l"}, "a command must be a list of words"),
    ({"argv": ["nosuch-command"]}, "command not found: `nosuch-command`"),
    ({"argv": ["./nosuch"]}, "program not found: `./nosuch`"),
    ({"argv": ["./plain"]}, "`./plain` is not executable"),
    ({"argv": ["./empty"]}, "`./empty` cannot be started: exec format error"),
    ({"argv": ["./lost"]}, "`./lost` cannot be started: no such file or directory"),
    ({"argv": ["./folder"]}, "program not found: `./folder`"),
    ({"argv": ["ls", "a\0b"]}, "a word of the command contains a NUL character"),
    ({"argv": ["ls", "\ud800"]}, "a word of the command contains a lone surrogate"),
    ({"argv": ["ls", "x" * 5_000_000]}, "`ls` cannot be started: argument list too long"),
    ({"argv": ["ls", 1]}, "a word of the command must be text, not int"),
    ({"env": {"A": "a\0b"}}, "the variable `A` contains a NUL character"),
    ({"env": {"A=B": "a"}}, "`A=B` is not a valid name of a variable"),
    ({"env": {"": "a"}}, "`` is not a valid name of a variable"),
    ({"env": {"A": 1}}, "the variable `A` must be text, not int"),
    ({"stdin": "text"}, "`stdin` must be bytes"),
    ({"readable": ["/nowhere"]}, "a readable path does not exist: `/nowhere`"),
    ({"writable": ["/"]}, "a writable path cannot be `/`"),
    ({"scratch": "/nowhere"}, "the scratch folder does not exist: `/nowhere`"),
    ({"cwd": "/nowhere"}, "the working directory does not exist: `/nowhere`"),
    ({"cwd": "/etc/passwd"}, "the working directory `/etc/passwd` is not a folder"),
    *(({"limits": Limits(timeout=value)}, f"`timeout` cannot be {value!r}") for value in (0, -1, True)),
    *(({"limits": Limits(timeout=float(value))}, f"`timeout` cannot be {value}") for value in ("nan", "inf")),
    ({"limits": Limits(timeout="30")}, "`timeout` cannot be '30'"),  # type: ignore[arg-type]
    ({"limits": Limits(memory=0)}, "`memory` cannot be 0"),
    ({"limits": Limits(output=-1)}, "`output` cannot be -1"),
    ({"limits": Limits(descriptors=True)}, "`descriptors` cannot be True"),
    ({"limits": Limits(processes=2**70)}, f"`processes` cannot be {2**70}"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID, ids=[message[:50] for _, message in INVALID])
def test_invalid_arguments_are_errors(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Each has a hint, and leaves nothing in the folder for temporary files."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "folder").mkdir()
    for name, text in (("empty", "echo"), ("lost", "#!/nowhere/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    named: dict[str, Any] = {"argv": ["ls"], "cwd": tmp_path, "sandbox": "none", **arguments}
    with pytest.raises(SandboxError) as caught:
        run(named.pop("argv"), **named)
    assert str(caught.value) == message
    assert caught.value.hint
