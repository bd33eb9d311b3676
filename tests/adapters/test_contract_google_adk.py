"""The claims of all adapters, for Google's ADK."""

from __future__ import annotations

import pytest

pytest.importorskip("google.adk")

from adapters.drivers.google_adk import GoogleAdkAdapter
from prowess.testing import AdapterClaim, adapter_suite


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(GoogleAdkAdapter()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    claim.check()
