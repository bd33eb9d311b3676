"""Start the command line: `prowess` and `python -m prowess`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and sys.path and not getattr(sys.flags, "safe_path", False):
    # `python -m prowess` puts the working directory first, where a project may have a `yaml.py` of its own.
    try:
        if sys.path[0] in ("", os.getcwd()):
            del sys.path[0]
    except FileNotFoundError:  # the directory was removed
        pass

from prowess.cli import main


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
