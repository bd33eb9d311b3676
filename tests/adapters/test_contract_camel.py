"""The contract of adapters, with CAMEL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("camel")

from adapters.drivers.camel import Driver
from prowess.testing import adapter_suite
from support.contracts import check_claim

if TYPE_CHECKING:
    from prowess.testing import AdapterClaim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(Driver()), ids=str)
def test_the_contract_of_adapters(claim: AdapterClaim) -> None:
    check_claim(claim, "camel-ai")
