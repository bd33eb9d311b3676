"""The contract of adapters, with Pydantic AI."""

from __future__ import annotations

import pytest

pytest.importorskip("pydantic_ai")

from adapters.drivers.pydantic_ai import Driver
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(Driver()), ids=str)
def test_the_contract_of_adapters(claim: AdapterClaim) -> None:
    check_claim(claim, "pydantic-ai-slim")
