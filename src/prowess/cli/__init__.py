"""Run the command line: arguments in, exit code out.

Front door: `main`. `_commands` lists the commands. Each is a module with `options(parser)` and `run(args)`, which
returns a `Result` or, if it has printed already, an exit code; only the module of the chosen command is imported. This
package may import every other one; only `__main__` may import it.
"""

from __future__ import annotations

import os
import sys
from errno import EACCES, EDQUOT, EFBIG, EIO, ENOENT, ENOSPC, EPIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_WRITE_ERRNOS = (EPIPE, ENOSPC, EDQUOT, EFBIG, EIO)
_BUILT_MODULES = ("prowess.hosts._tables", "prowess.hosts._key_docs", "prowess.skill._client_fields")
_BUILD_HINT = "type `pip install --editable .`, or `make quick`"

# `prowess --version` loads no other module, so imports are inside functions here.


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. No user error ends in a traceback."""
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    if sys.stdout is None:  # closed before this process started
        return _report_write_error("stdout is closed")
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, for example `head`, has closed the pipe.
        _discard_stdout()
        return 0
    except OSError as error:
        _discard_stdout()
        return _report_write_error(str(error.strerror))
    return code


def _run_command(arguments: list[str]) -> int:
    """Return the exit code of a command, however it ends.

    Raises:
        OSError: its output cannot be written.
    """
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        from ._commands import INTERRUPTED

        return INTERRUPTED
    except SystemExit as error:
        from ._commands import USAGE

        return error.code if isinstance(error.code, int) else USAGE
    except Exception as error:
        if isinstance(error, OSError) and not error.filename and error.errno in _WRITE_ERRNOS:
            raise
        return _report_exception(error)


def _dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names."""
    if not arguments:
        from ._overview import run

        return run()
    name = arguments[0]
    if name in ("-V", "--version"):
        from prowess import __version__

        print(f"prowess {__version__}")
        return 0
    from ._commands import COMMANDS, OK, command_module, main_help

    if name in ("-h", "--help", "help"):
        topic = arguments[1] if len(arguments) > 1 and name == "help" else None
        if topic in COMMANDS:
            return _dispatch([str(topic), "--help"])
        if topic is not None and not topic.startswith("-"):
            return _report_unknown_command(topic)
        print(main_help(), end="")
        return OK
    if name not in COMMANDS:
        return _report_unknown_command(name)
    from ._arguments import parse_plain_arguments

    args = parse_plain_arguments(name, arguments[1:])
    if args is None:
        from ._parser import command_parser

        args = command_parser(name).parse_args(arguments[1:])
    result = command_module(name).run(args)
    if isinstance(result, int):
        return result
    from ._output import print_result

    return print_result(result, is_json=getattr(args, "json", False))


def _report_unknown_command(name: str) -> int:
    from prowess._internal.text import nearest_names, quoted

    from ._commands import COMMANDS, USAGE
    from ._output import print_error

    near = nearest_names(name, [*COMMANDS, "--help", "--version"])
    hint = f"did you mean `prowess {near[0]}`?" if near else "`prowess --help` lists all commands"
    print_error(f"unknown command {quoted(name)}", hint)
    return USAGE


def _report_write_error(reason: str) -> int:
    from ._commands import FAILED
    from ._output import print_error

    print_error(f"cannot write the output: {reason}")
    return FAILED


def _report_exception(error: Exception) -> int:
    """Print an exception as an error and return the exit code for it."""
    from prowess.errors import ConfigError, ProwessError, RoleError

    from ._commands import BUG, FAILED, USAGE
    from ._output import print_error

    if isinstance(error, ProwessError):
        print_error(str(error), error.hint)
        # An unknown host, skill or option is wrong use; a problem in a skill or a role is a failure.
        is_wrong_use = isinstance(error, LookupError | ConfigError) and not isinstance(error, RoleError)
        return USAGE if is_wrong_use else FAILED
    if isinstance(error, OSError) and not error.filename and error.errno in (ENOENT, EACCES):
        print_error(f"cannot open the working directory: {error.strerror}", "change to a directory that exists")
        return FAILED
    if isinstance(error, ModuleNotFoundError) and error.name in _BUILT_MODULES:
        print_error("this source tree has no tables of hosts yet", _BUILD_HINT)
        return FAILED
    if os.environ.get("PROWESS_DEBUG"):
        raise error
    if _has_old_tables():
        print_error("the tables of hosts are older than the host files of this source tree", _BUILD_HINT)
        return FAILED
    print_error(
        f"this is a bug in Prowess: {type(error).__name__}: {error}",
        "set PROWESS_DEBUG=1 to see the traceback, and please report it",
    )
    return BUG


def _has_old_tables() -> bool:
    """Return whether this is a source tree whose host files changed after its tables were made, as by `git pull`.

    An installed package is never one: its files may have any times.
    """
    from pathlib import Path

    package = Path(__file__).resolve().parents[1]
    script, tables = package.parents[1] / "tools/host_tables.py", package / "hosts/_tables.py"
    try:
        made = tables.stat().st_mtime_ns
        return any(path.stat().st_mtime_ns > made for path in (script, *(package / "hosts").glob("*.toml")))
    except OSError:  # no source tree, as it has no script
        return False


def _discard_stdout() -> None:
    """Redirect stdout to nothing, because Python reports the same error again when it closes stdout."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
