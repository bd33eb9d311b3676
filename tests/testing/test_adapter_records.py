"""The recorded results of the contract of adapters."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from prowess.testing._adapter_suite import CLAIMS

TOP = Path(__file__).parent.parent.parent
WITHOUT_SESSION = {"claude_agent_sdk"}
NAMES = {file.stem for file in (TOP / "src/prowess/adapters").glob("[a-z]*.py")} - WITHOUT_SESSION
RECORDS: dict[str, Any] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in (TOP / "docs/adapters/results").glob("*.json")
}


def test_each_adapter_has_a_driver_an_example_and_a_record() -> None:
    drivers = {file.stem for file in (TOP / "tests/adapters/drivers").glob("[a-z]*.py")}
    examples = {file.stem.removesuffix("_agent") for file in (TOP / "examples/adapters").glob("*_agent.py")}
    assert (drivers, set(RECORDS)) == (NAMES, NAMES)
    assert examples >= NAMES


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_each_record_has_all_claims_and_reasons(name: str) -> None:
    """A reason is a sentence."""
    results = RECORDS[name]["claims"]
    assert [*results] == [*CLAIMS]
    assert [text for text in results.values() if text != "ok" and (len(text) < 30 or not text.endswith("."))] == []


def test_the_table_says_why_a_claim_fails_and_what_is_not_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = runpy.run_path(str(TOP / "docs/generate.py"))["adapters_page"]
    monkeypatch.setitem(generate.__globals__, "DOCS", tmp_path)
    (tmp_path / "adapters/results").mkdir(parents=True)
    claims = {"mention": "ok", "file": "It has no room for files."}
    for name, version in (("one", "1.0"), ("two", "2.0")):
        record = {"framework": name.title(), "version": version, "claims": claims}
        (tmp_path / f"adapters/results/{name}.json").write_text(json.dumps(record))
    lines = generate("<!-- generated -->\n<!-- /generated -->\n").splitlines()
    assert "| claim | [One](one.md) | [Two](two.md) |" in lines
    assert "| `mention` | yes | yes |" in lines
    assert "| `file` | no (1) | no (2) |" in lines
    assert "| `resume` | not tested | not tested |" in lines
    assert lines[-4:-1] == [
        "",
        "1. One, `file`: It has no room for files.",
        "2. Two, `file`: It has no room for files.",
    ]
    assert "| tested with | 1.0 | 2.0 |" in lines
