#!/usr/bin/env python3
"""Ask the real clients which skills they see, and record their answers or compare them with the recorded ones.

    python tests/clients/observe.py [--check] [--client C]... [--trees DIR] [--json] [TREE...]

`make observe` installs the clients first; `PROWESS_CLIENTS=.../node_modules` names an installation that is there.
docs/observing.md explains the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    HERE = Path(__file__).resolve().parent
    sys.path = [str(HERE.parent), str(HERE.parents[1] / "src"), *(path for path in sys.path if path != str(HERE))]
    from clients._run import main

    sys.exit(main())
