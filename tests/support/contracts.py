"""Check a claim about an adapter, and compare the result with the one in the table of docs/adapters/README.md.

`PROWESS_RECORD_ADAPTERS=1` records the results. They are in docs/adapters/results, one file for each framework.
"""

from __future__ import annotations

import fcntl
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from prowess.testing._adapter_suite import CLAIMS

if TYPE_CHECKING:
    from prowess.testing import AdapterClaim

RESULTS = Path(__file__).parents[2] / "docs/adapters/results"
OK = "ok"


def check_claim(claim: AdapterClaim, package: str) -> None:
    """Check a claim, and compare the result with what is recorded.

    Args:
        claim: about an adapter of this repository.
        package: the distribution of its framework, for the version.

    Raises:
        AssertionError: the claim is false, or its result is not what is recorded.
    """
    claim.check()
    module = type(claim.adapter).__module__.rpartition(".")[2]  # of the same name as that of the adapter
    file, result = RESULTS / f"{module}.json", claim.explanation or OK
    if os.environ.get("PROWESS_RECORD_ADAPTERS"):
        _record(file, claim, version(package), result)
    recorded = json.loads(file.read_text(encoding="utf-8"))["claims"] if file.exists() else {}
    hint = "run this test with PROWESS_RECORD_ADAPTERS=1, then `make docs`"
    assert recorded.get(claim.name) == result, f"docs/adapters/results/{file.name} is not up to date: {hint}"


def _record(file: Path, claim: AdapterClaim, tested_version: str, result: str) -> None:
    """Write a result; other processes may record others at the same time."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        text = stream.read()
        results = {**(json.loads(text)["claims"] if text else {}), claim.name: result}
        claims = {name: results[name] for name in CLAIMS if name in results}
        value = {"framework": claim.adapter.name, "version": tested_version, "claims": claims}
        stream.truncate(0)
        stream.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
