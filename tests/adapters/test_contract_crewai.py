"""The claims of all adapters, for CrewAI."""

from __future__ import annotations

import pytest

pytest.importorskip("crewai")

from adapters.drivers.crewai import CrewAIAdapter
from prowess.testing import AdapterClaim, adapter_suite
from support.contracts import check_claim

# What CrewAI leaves open or still uses is not ours.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")]


@pytest.mark.slow
@pytest.mark.parametrize("claim", adapter_suite(CrewAIAdapter()), ids=str)
def test_claim(claim: AdapterClaim) -> None:
    check_claim(claim, "crewai")
