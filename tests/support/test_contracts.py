"""A recorded result of the contract of adapters is true, or the test fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from prowess.testing import adapter_suite
from support import contracts
from support.tiny_framework import TinyAdapter, TinyConversation

if TYPE_CHECKING:
    from pathlib import Path


class NoFiles(TinyConversation):
    """A conversation that reads no files."""

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool of the model."""
        return "" if name == "read_skill_file" else super().call_tool(name, arguments)


class NoFilesAdapter(TinyAdapter):
    """Says so."""

    conversation_type = NoFiles
    explained: ClassVar[dict[str, str]] = {"file": "It has no room for files."}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(contracts, "RESULTS", tmp_path / "results")
    monkeypatch.delenv("PROWESS_RECORD_ADAPTERS", raising=False)
    return tmp_path / "results"


def check(adapter: TinyAdapter, name: str) -> None:
    (claim,) = (claim for claim in adapter_suite(adapter) if claim.name == name)
    contracts.check_claim(claim, "pytest")


def test_a_result_that_is_not_recorded_fails(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"results/tiny_framework\.json is not up to date: run"):
        check(TinyAdapter(), "file")
    monkeypatch.setenv("PROWESS_RECORD_ADAPTERS", "1")
    check(TinyAdapter(), "mention")
    check(TinyAdapter(), "file")
    monkeypatch.delenv("PROWESS_RECORD_ADAPTERS")
    check(TinyAdapter(), "file")
    record = json.loads((results / "tiny_framework.json").read_text())
    assert record == {"framework": "tiny", "version": pytest.__version__, "claims": {"mention": "ok", "file": "ok"}}


def test_a_result_that_differs_from_the_record_fails(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways: a claim that fails now, and an explanation that is not in the table."""
    monkeypatch.setenv("PROWESS_RECORD_ADAPTERS", "1")
    check(NoFilesAdapter(), "file")
    monkeypatch.delenv("PROWESS_RECORD_ADAPTERS")
    file = results / "test_contracts.json"
    assert json.loads(file.read_text())["claims"] == {"file": "It has no room for files."}
    file.write_text(file.read_text().replace("It has no room for files.", "ok"))
    with pytest.raises(AssertionError, match="is not up to date"):
        check(NoFilesAdapter(), "file")


def test_a_claim_that_fails_is_not_recorded(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_RECORD_ADAPTERS", "1")
    monkeypatch.setattr(NoFilesAdapter, "explained", {})
    with pytest.raises(AssertionError, match="expected the text of the file"):
        check(NoFilesAdapter(), "file")
    assert not results.exists()
