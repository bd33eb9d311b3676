"""The contract of all adapters, kept by that of smolagents."""

from __future__ import annotations

import pytest

pytest.importorskip("smolagents")

from adapters.drivers.smolagents import CodeDriver, Driver
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(Driver()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "smolagents")


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(CodeDriver()), ids=str)
def test_claim_in_code(claim: AdapterClaim) -> None:
    claim.check()
