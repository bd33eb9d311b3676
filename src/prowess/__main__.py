"""Start the command line: `prowess` and `python -m prowess`."""

# Without `annotations` of `__future__`, a module that a project may have, too.
import os
import sys


def _leave_out_the_project() -> None:
    """Take off Python's path what leads into the working directory, where a project may have a `yaml.py` of its own.

    `python -m prowess` puts the working directory first, and `PYTHONPATH` may name it, for example by an empty part.
    The folder of Prowess itself stays. What Python loads before this, such as `sitecustomize`, cannot be left out here.
    """
    parts = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
        parts += sys.path[:1]
    try:
        here = _real_folder(os.getcwd())
        named = {os.path.abspath(part) for part in parts}
        own = _real_folder(os.path.dirname(os.path.dirname(__file__)))
    except OSError:  # the working directory was removed, so nothing can be loaded from it
        return

    def is_of_project(entry: str) -> bool:
        if os.path.abspath(entry) not in named:
            return False
        try:
            folder = _real_folder(entry)
        except OSError:
            return True
        is_inside = folder.startswith(here) and (here != os.sep or not os.path.isabs(entry))
        return folder != own and (is_inside or here.startswith(folder))

    sys.path[:] = [entry for entry in sys.path if not is_of_project(entry)]


def _real_folder(path: str) -> str:
    """Return a folder without links, with a separator at its end.

    Raises:
        OSError: a link in the path cannot be read.
    """
    return os.path.join(os.path.realpath(path), "")  # noqa: TID251 - `_internal.files` would load further modules


_leave_out_the_project()

from prowess.cli import main  # noqa: E402 - not before that


def run() -> None:
    """Run the command line and end this process."""
    code = main()
    # The normal shutdown of the interpreter takes a tenth of the time of a command and has no effect.
    if sys.gettrace() is None and sys.getprofile() is None and not sys.flags.inspect:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                try:
                    stream.flush()
                except OSError:
                    code = code or 1
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
