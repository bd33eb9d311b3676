"""The claims of all adapters, for Microsoft Agent Framework."""

from __future__ import annotations

import pytest

pytest.importorskip("agent_framework")

from adapters.drivers.agent_framework import AgentFrameworkAdapter
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(AgentFrameworkAdapter()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "agent-framework-core")
