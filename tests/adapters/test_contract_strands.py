"""The contract of all adapters, kept by that of Strands."""

from __future__ import annotations

import pytest

pytest.importorskip("strands")

from adapters.drivers.strands import Driver
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(Driver()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "strands-agents")
