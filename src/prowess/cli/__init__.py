"""argv -> exit code

A table of commands. Only the chosen command's module is imported, and only its parser is built.
"""

from __future__ import annotations

import os
import sys
from errno import EACCES, EDQUOT, EFBIG, EIO, ENOENT, ENOSPC, EPIPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "list": "every skill and its state; without --host, what each agent on this machine sees",
    "why": "the whole chain behind one name",
    "show": "one skill: fields, files, sizes, tokens, digest, findings",
    "check": "what is wrong with skills, and how to mend it",
    "prompt": "the catalog block a model would get",
    "activate": "what the model would read of a skill",
    "read": "a file of a skill",
    "search": "skills by name, description and body, the best first",
    "new": "write a new skill that passes `check`",
    "init": "make a project's skills folder with an example",
    "trust": "say that a skill's tools and scripts may be used, until a byte of it changes",
    "mount": "put skills into a home where an agent finds them, all of them or none",
    "exec": "start an agent in a home of its own, with nothing but the skills and variables it is given",
    "test": "run the tests of skills, each in a fresh copy and contained",
    "run": "run a role: an agent in one YAML file",
    "validate": "say whether a role would run, and all that keeps it from that",
    "hosts": "the agents Prowess knows, their folders and the evidence",
}
"""Command to what it does; each is a module of this package."""

OK, FAILED, USAGE, BUG, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""Exit codes: fine; errors found or a failure; wrong use; a bug of Prowess; interrupted; terminated."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code. Nothing a user can cause ends in a traceback."""
    # Not `list(...)`: once the command of that name is imported, the word means its module here.
    arguments = [*(sys.argv[1:] if argv is None else argv)]
    if sys.stdout is None:  # it was closed before we began
        from ._options import print_error

        print_error("the output cannot be written: there is no stdout")
        return FAILED
    try:
        code = _run_command(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` for one, has seen enough.
        _discard_stdout()
        return OK
    except OSError as error:
        from ._options import print_error

        _discard_stdout()
        print_error(f"the output cannot be written: {error.strerror}")
        return FAILED
    return code


def _run_command(arguments: list[str]) -> int:
    """Return the exit code of a command, however it ends.

    Raises:
        OSError: its output cannot be written.
    """
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    except Exception as error:
        if isinstance(error, OSError) and not error.filename and error.errno in _WRITE_ERRNOS:
            raise
        return _report_exception(error)


_WRITE_ERRNOS = (EPIPE, ENOSPC, EDQUOT, EFBIG, EIO)


def _discard_stdout() -> None:
    """Send what is still to be written nowhere; Python would complain once more when it closes stdout."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("-V", "--version"):
        from prowess import __version__

        print(f"prowess {__version__}")
        return OK
    from ._options import main_help, print_error

    if name in ("-h", "--help", "help"):
        topic = arguments[1] if len(arguments) > 1 and name == "help" else None
        if topic in COMMANDS:
            return _dispatch([str(topic), "--help"])
        print(main_help(), end="")
        return OK if arguments else USAGE
    if name not in COMMANDS:
        from prowess._internal.text import nearest_names, neutral

        near = nearest_names(name, COMMANDS)
        print_error(
            f"there is no command `{neutral(name[:40])}`",
            f"did you mean `prowess {near[0]}`?" if near else "`prowess --help` lists them",
        )
        return USAGE
    from importlib import import_module

    module = import_module(f".{name}", __name__)
    result: int = module.run(module.parser().parse_args(arguments[1:]))
    return result


def _report_exception(error: Exception) -> int:
    from prowess.errors import ConfigError, ProwessError

    from ._options import print_error

    if isinstance(error, ProwessError):
        print_error(str(error), error.hint)
        # Names of hosts, skills and options that do not exist are wrong use; what is wrong with a skill is a failure.
        return USAGE if isinstance(error, LookupError | ConfigError) else FAILED
    if isinstance(error, OSError) and not error.filename and error.errno in (ENOENT, EACCES):
        print_error(f"the working directory cannot be found: {error.strerror}", "change to one that is there")
        return FAILED
    if os.environ.get("PROWESS_DEBUG"):
        raise error
    print_error(
        f"this is a bug in Prowess: {type(error).__name__}: {error}",
        "set PROWESS_DEBUG=1 to see where, and please report it",
    )
    return BUG
