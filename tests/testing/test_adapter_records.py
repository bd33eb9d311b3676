"""The recorded results of the contract of adapters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prowess.testing._adapter_claims import CLAIMS

TOP = Path(__file__).parent.parent.parent
WITHOUT_SESSION = {"claude_agent_sdk"}
NAMES = {file.stem for file in (TOP / "src/prowess/adapters").glob("[a-z]*.py")} - WITHOUT_SESSION
RECORDS: dict[str, Any] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in (TOP / "docs/adapters/results").glob("*.json")
}


def test_each_adapter_has_a_driver_a_test_and_a_record() -> None:
    drivers = {file.stem for file in (TOP / "tests/adapters/drivers").glob("[a-z]*.py")}
    tests = {file.stem.removeprefix("test_contract_") for file in (TOP / "tests/adapters").glob("test_contract_*.py")}
    assert (drivers, tests, set(RECORDS)) == (NAMES, NAMES, NAMES)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_each_record_has_all_claims_and_reasons(name: str) -> None:
    """A reason is a sentence."""
    results = RECORDS[name]["claims"]
    assert [*results] == [*CLAIMS]
    assert [text for text in results.values() if text != "ok" and (len(text) < 30 or not text.endswith("."))] == []
