"""The claims of all adapters, for Google's ADK."""

from __future__ import annotations

import pytest

pytest.importorskip("google.adk")

from adapters.drivers.google_adk import GoogleAdkAdapter
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(GoogleAdkAdapter()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "google-adk")
