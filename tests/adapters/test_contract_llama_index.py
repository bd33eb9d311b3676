"""The claims of all adapters, for LlamaIndex."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")

from adapters.drivers.llama_index import LlamaIndexAdapter
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex reads all members of its models
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),  # a memory
]


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(LlamaIndexAdapter()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "llama-index-core")
