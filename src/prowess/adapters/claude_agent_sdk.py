"""EphemeralHome -> options of claude-agent-sdk, with which its Claude Code sees that home and nothing else

The SDK gives its child the caller's whole environment, and merges into it what the options say. So the child that it
starts is not Claude Code but a launcher of eight lines, which lies beside the home: it shows that the home is in use,
lets through what the home's environment has, sets `HOME` and `TMPDIR` itself, and becomes Claude Code.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess._internal.tempdirs import IN_USE_FILE
from prowess.adapters import missing_extra
from prowess.errors import ConfigError

try:
    import claude_agent_sdk
    from claude_agent_sdk import ClaudeAgentOptions
except ImportError as error:
    raise ImportError(missing_extra("claude-agent-sdk", "claude-agent-sdk")) from error

if TYPE_CHECKING:
    from prowess.isolation import EphemeralHome

__all__ = ["isolated_options"]

RESERVED_OPTIONS = ("env", "setting_sources", "settings", "user")
"""Options that the home sets, or that would lead out of it."""
_SDK_VARIABLES = (
    "CLAUDE_AGENT_SDK_CLIENT_APP",
    "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "PWD",
    "TRACEPARENT",
    "TRACESTATE",
)
"""Variables with which the SDK (0.2.187) tells its child about itself."""
_LAUNCHER_SOURCE = """\
import fcntl, os, sys
mark = os.open({mark}, os.O_RDONLY)
fcntl.flock(mark, fcntl.LOCK_SH)
os.set_inheritable(mark, True)
names = frozenset({names})
env = {{name: value for name, value in os.environ.items() if name in names}}
env.update({fixed})
os.execve({program}, [{program}, *sys.argv[1:]], env)
"""


def isolated_options(home: EphemeralHome, *, cli_path: str | None = None, **options: Any) -> ClaudeAgentOptions:
    """Return options with which `query` and `ClaudeSDKClient` start Claude Code in a home of its own.

    All mounted skills are enabled, and no settings of a project are read: they could undo those of the home. The child
    starts in the home's empty `workdir` unless `cwd` says otherwise.

    Args:
        home: of the host `claude-code`; it must stay open as long as the child runs.
        cli_path: Claude Code's program; by default the one that came with the SDK, else the one on the `PATH`.
        options: of `ClaudeAgentOptions`, but none of `OWN`.

    Raises:
        ConfigError: an option is one of `OWN`, the home is another client's, or there is no Claude Code.
    """
    if home.host.name != "claude-code":
        raise ConfigError(
            f"the SDK starts Claude Code, and this home is made for {home.host.title}",
            hint='make it with `host="claude-code"`',
        )
    if taken := sorted(set(RESERVED_OPTIONS) & options.keys()):
        raise ConfigError(
            f"`{taken[0]}` is for the home to set", hint="use `IsolationConfig`, and `cli_path` for the program"
        )
    arguments = {str(name).lstrip("-").partition("=")[0] for name in options.get("extra_args") or ()}
    if taken := sorted({name.replace("_", "-") for name in RESERVED_OPTIONS} & arguments):
        raise ConfigError(
            f"`{taken[0]}` in `extra_args` would undo the settings of the home", hint="use `IsolationConfig`"
        )
    if not home.path.is_dir():
        raise ConfigError("the home is closed", hint="start the client inside the `with` block")
    given = {"cwd": home.workdir, "skills": "all", **options}
    return ClaudeAgentOptions(
        cli_path=_write_launcher(home, _find_program(home, cli_path)),
        env={**home.env},
        setting_sources=["user"],
        **given,
    )


def _find_program(home: EphemeralHome, cli_path: str | None) -> str:
    """Return the path of Claude Code.

    Raises:
        ConfigError: there is none.
    """
    bundled = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    if cli_path is None and bundled.is_file():
        return str(bundled)
    found = shutil.which(cli_path or "claude", path=home.env["PATH"])
    if found is None:
        raise ConfigError(
            f"there is no Claude Code: {cli_path or 'no `claude` on the PATH'}",
            hint="`npm install -g @anthropic-ai/claude-code`, or name the program in `cli_path`",
        )
    return os.path.abspath(found)


def _write_launcher(home: EphemeralHome, program: str) -> Path:
    """Write what the SDK starts in Claude Code's place."""
    folder = home.path.parent / "bin"
    folder.mkdir(mode=0o700, exist_ok=True)
    fixed = {name: home.env[name] for name in ("HOME", "TMPDIR")}
    code = folder / "claude.py"
    names = sorted({*home.env, *_SDK_VARIABLES})
    paths = {"mark": repr(str(home.path.parent / IN_USE_FILE)), "program": repr(program)}
    code.write_text(_LAUNCHER_SOURCE.format(names=names, fixed=repr(fixed), **paths), encoding="utf-8")
    # A shell starts Python, because the path after `#!` may hold no blank.
    start = folder / "claude"
    start.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", str(code)])} "$@"\n', encoding="utf-8")
    start.chmod(0o700)
    return start
