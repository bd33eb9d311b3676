"""Run one reader on a folder of skills and print what its work cost, measured inside the process.

    python -I benchmarks/measure_reader.py benchmarks/peers/NAME.py ARGUMENT...

It runs in the environment of the peer, so it uses the standard library only. The script of a peer imports what it needs
and has one function, `discover(ARGUMENT...) -> number of skills`; all but Prowess get the folder of the skills. If it
has a function `prepare(ARGUMENT...)` too, that counts as imports. The output is JSON: the number of skills, the
processor seconds of the imports and of the work, and the peak memory of the process in bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import sys
from time import process_time


def peak_memory() -> int:
    """Return the peak memory of this process in bytes.

    `ru_maxrss` is right on macOS; on Linux it starts with the memory of the parent before `exec`.
    """
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Load the script, run it and print the figures; what the peer prints goes to stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    script, *arguments = sys.argv[1:]
    start = process_time()
    functions = runpy.run_path(script)
    if "prepare" in functions:
        functions["prepare"](*arguments)
    loaded = process_time()
    skills = functions["discover"](*arguments)
    done = process_time()
    figures = {"skills": skills, "imports": loaded - start, "work": done - loaded, "peak": peak_memory()}
    os.write(stdout, json.dumps(figures).encode() + b"\n")


if __name__ == "__main__":
    main()
