"""Give the command line for a long-lived command, which another program starts and talks to by its standard streams.

The command line is that of a supervisor of its own (`_server_main`): it starts the command in the sandbox, passes the
standard input and output on, keeps the end of its error stream, and ends everything when its caller is gone.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from prowess._internal.files import package_folder
from prowess._internal.fs import CREATE_FLAGS, open_fd, remove_tree
from prowess._internal.text import describe_os_error
from prowess.errors import SandboxError

from ._backends import Backend, find_backend
from ._limits import Limits
from ._messages import send_message
from ._programs import python_program
from ._run import prepare, scratch_path
from ._runtime import make_temp_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Unpack

    from ._run import CommandOptions

    Path = str | os.PathLike[str]

_USER_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL", "TERM")
_NO_LIMITS = Limits(memory=None, file_size=None, descriptors=None, processes=None)
_CODE = "import sys; sys.path.append(sys.argv[1]); from prowess.sandbox._server_main import main; main(sys.argv[2])"


@contextmanager
def server_command(
    argv: Sequence[Path],
    *,
    cwd: Path,
    sandbox: str | Backend = "auto",
    trusted: bool = False,
    **options: Unpack[CommandOptions],
) -> Iterator[list[str]]:
    """Yield a command line that starts a command as `run` does, but without an end; it can be used once.

    The program that starts it talks to the command by its standard input and output. The command ends with its input:
    a second later it is killed with everything that comes from it. Of its error stream the last part is kept, if that
    is a file. Its variables are in no command line.

    Args:
        argv: the command.
        cwd: the working directory.
        sandbox: one of `CHOICES`, or what `find_backend` returned.
        trusted: whether it may run without a sandbox if none is available.
        options: as for `run`. The timeout of the limits does not count.

    Raises:
        SandboxError: no sandbox is available, the program does not exist, or an argument is invalid.
    """
    backend = sandbox if isinstance(sandbox, Backend) else find_backend(sandbox, trusted=trusted)
    in_memory = backend.name == "bwrap"
    top = make_temp_folder("server", contained=backend.name != "none")
    try:
        home = scratch_path() if in_memory else os.path.join(top, "home")
        if not in_memory:
            os.mkdir(home, 0o700)
        prepared = prepare(argv, cwd, backend, home, in_memory=in_memory, **options)
        request = prepared.request
        if 3 in request["bwrap_files"]:
            # What is inside ends even if the supervisor is killed.
            request["bwrap_files"][3] = b"--die-with-parent\0" + request["bwrap_files"][3]
        file = os.path.join(top, "request")
        try:
            with open_fd(file, CREATE_FLAGS, 0o600) as fd:
                send_message(fd, request)
        except OSError as error:
            message = f"the command cannot be prepared: {describe_os_error(error)}"
            raise SandboxError(message, hint="check whether the disk is full") from None
        yield [python_program(), "-I", "-S", "-c", _CODE, os.path.dirname(package_folder()), file]
    finally:
        remove_tree(top)


def user_server_command(
    argv: Sequence[Path], *, cwd: Path, env: Mapping[str, str]
) -> AbstractContextManager[list[str]]:
    """Yield the command line of a server that is the user's own: as `server_command`, without a sandbox and limits."""
    return server_command(argv, cwd=cwd, env=env, limits=_NO_LIMITS, sandbox="none", python=False)


def user_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the user that a server of their own gets; its configuration names all others."""
    return {name: env[name] for name in _USER_VARIABLES if name in env}
