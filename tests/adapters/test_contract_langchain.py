"""The contract of adapters, with LangChain."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain")

from adapters.drivers.langchain import Driver
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(Driver()), ids=str)
def test_the_contract_of_adapters(claim: AdapterClaim) -> None:
    check_claim(claim, "langchain")
