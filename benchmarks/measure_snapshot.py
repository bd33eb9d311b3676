"""Use a snapshot in a process of its own, and print what that costs as JSON.

python -I measure_snapshot.py FOLDER QUERY ...
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Find the skills of a snapshot, begin a conversation, and search for each query."""
    url, *queries = sys.argv[1:]
    began = time.perf_counter()
    from prowess import Session, discover
    from prowess.install.snapshot import SnapshotProvider

    provider = SnapshotProvider(url)
    catalog = discover(".", providers=[provider])
    figures: dict[str, object] = {"skills": len(catalog.skills), "start": time.perf_counter() - began}
    began = time.perf_counter()
    session = Session(catalog)
    session.static_block()
    figures["conversation"] = time.perf_counter() - began
    searches = []
    for query in queries:
        began = time.perf_counter()
        session.search(query)
        searches.append(time.perf_counter() - began)
    figures["searches"] = searches
    began = time.perf_counter()
    provider.refresh(".")
    provider.list(".")
    figures["refresh"] = time.perf_counter() - began
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    figures["peak"] = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
