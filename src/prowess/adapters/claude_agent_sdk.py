"""Start Claude Code through claude-agent-sdk in an isolated home.

The SDK gives its child process the whole environment of the caller and adds the variables of the options. So the child
is a launcher of eight lines next to the home: it marks the home as in use, keeps only the variables of the home's
environment, sets `HOME` and `TMPDIR`, and replaces itself with Claude Code.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prowess._internal.installer import missing_extra
from prowess._internal.tempdirs import IN_USE_FILE
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
"""Options that the home sets, or that would break its isolation."""
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
"""Variables that the SDK (0.2.187) sets for its child."""
_LAUNCHER_SOURCE = """\
import fcntl, os, sys
lock = os.open({lock}, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_SH)
os.set_inheritable(lock, True)
names = frozenset({names})
env = {{name: value for name, value in os.environ.items() if name in names}}
env.update({fixed})
os.execve({program}, [{program}, *sys.argv[1:]], env)
"""


def isolated_options(home: EphemeralHome, *, cli_path: str | None = None, **options: Any) -> ClaudeAgentOptions:
    """Return options that make `query` and `ClaudeSDKClient` start Claude Code in an isolated home.

    All mounted skills are enabled. Project settings are not read, because they could undo those of the home. Claude
    Code starts in the empty `workdir` of the home unless `cwd` is given.

    Args:
        home: a home for the host `claude-code`; it must stay open as long as Claude Code runs.
        cli_path: the program of Claude Code; by default the one of the SDK, or else the one on the `PATH`.
        options: more options of `ClaudeAgentOptions`, except `RESERVED_OPTIONS`.

    Raises:
        ConfigError: an option is reserved, the home is for another host, or Claude Code is not installed.
    """
    if home.host.name != "claude-code":
        raise ConfigError(
            f"the SDK starts Claude Code, but this home is for {home.host.title}",
            hint='create it with `EphemeralHome(host="claude-code")`',
        )
    if reserved := sorted(set(RESERVED_OPTIONS) & options.keys()):
        raise ConfigError(
            f"the home sets the option `{reserved[0]}`", hint="use `IsolationConfig`, and `cli_path` for the program"
        )
    arguments = {str(name).lstrip("-").partition("=")[0] for name in options.get("extra_args") or ()}
    if reserved := sorted({name.replace("_", "-") for name in RESERVED_OPTIONS} & arguments):
        raise ConfigError(
            f"`{reserved[0]}` in `extra_args` would undo the settings of the home", hint="use `IsolationConfig`"
        )
    if not home.path.is_dir():
        raise ConfigError("the home is closed", hint="start Claude Code inside the `with` block")
    all_options = {"cwd": home.workdir, "skills": "all", **options}
    return ClaudeAgentOptions(
        cli_path=_write_launcher(home, _find_program(home, cli_path)),
        env={**home.env},
        setting_sources=["user"],
        **all_options,
    )


def _find_program(home: EphemeralHome, cli_path: str | None) -> str:
    """Return the path of Claude Code.

    Raises:
        ConfigError: Claude Code is not installed.
    """
    bundled = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    if cli_path is None and bundled.is_file():
        return str(bundled)
    program = shutil.which(cli_path or "claude", path=home.env["PATH"])
    if program is None:
        raise ConfigError(
            f"Claude Code not found: {cli_path or 'no `claude` on the PATH'}",
            hint="`npm install -g @anthropic-ai/claude-code`, or give its path as `cli_path`",
        )
    return os.path.abspath(program)


def _write_launcher(home: EphemeralHome, program: str) -> Path:
    """Write the launcher that the SDK starts instead of Claude Code."""
    folder = home.path.parent / "bin"
    folder.mkdir(mode=0o700, exist_ok=True)
    fixed = {name: home.env[name] for name in ("HOME", "TMPDIR")}
    script = folder / "claude.py"
    names = sorted({*home.env, *_SDK_VARIABLES})
    paths = {"lock": repr(str(home.path.parent / IN_USE_FILE)), "program": repr(program)}
    script.write_text(_LAUNCHER_SOURCE.format(names=names, fixed=repr(fixed), **paths), encoding="utf-8")
    # A shell starts Python, because the path after `#!` must not contain blanks.
    launcher = folder / "claude"
    launcher.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", str(script)])} "$@"\n', encoding="utf-8")
    launcher.chmod(0o700)
    return launcher
