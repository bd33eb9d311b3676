"""The contract of adapters, for each adapter whose framework is installed: they have several environments."""

from __future__ import annotations

import runpy
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adapters.claims import house_claims
from prowess.testing import adapter_suite
from support.contracts import check_claim

if TYPE_CHECKING:
    from prowess.testing import AdapterClaim

TOP = Path(__file__).parents[2]
MODULES = {"google_adk": "google.adk", "llama_index": "llama_index.core", "openai_agents": "agents"}
"""The module of a framework, if it has another name than its driver."""


def is_installed(name: str) -> bool:
    """Return whether the framework of a driver is installed in this environment."""
    module = MODULES.get(name, name)
    return bool(find_spec(module.partition(".")[0]) and find_spec(module))


NAMES = [file.stem for file in sorted((Path(__file__).parent / "drivers").glob("[a-z]*.py")) if is_installed(file.stem)]
if not NAMES:
    pytest.skip("no framework is installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a framework
    DRIVERS: dict[str, Any] = {name: import_module(f"adapters.drivers.{name}").Driver() for name in NAMES}
if "smolagents" in DRIVERS:
    DRIVERS["smolagents-code"] = import_module("adapters.drivers.smolagents").CodeDriver()
EXAMPLES = {
    "camel": "kept: no",
    "agent_framework": "What was activated: commit-message, csv-profile",
    "google_adk": "What was activated: commit-message, csv-profile",
    "langchain": "Conventional Commits",
    "openai_agents": "Conventional Commits",
    "pydantic_ai": """\
> What is in orders.csv? Use the csv-profile skill.
  the model was sent: csv-profile
> Commit it.
  the model calls activate_skill(name='commit-message')
  the model was sent: commit-message
""",
}
"""What an example prints, if not only the name of a skill."""

# What frameworks leave open or still use is not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Skipping serialization of known unserializable key"),
]


def claims(make: Any) -> list[Any]:
    """Return the claims about drivers as parameters."""
    return [pytest.param(claim, id=f"{name}-{claim}") for name, driver in DRIVERS.items() for claim in make(driver)]


@pytest.mark.slow
@pytest.mark.parametrize("claim", claims(adapter_suite))
def test_the_contract_of_adapters(claim: AdapterClaim) -> None:
    """As the table of docs/adapters/README.md says."""
    if type(claim.adapter).__name__ == "Driver":
        check_claim(claim, claim.adapter.package)  # type: ignore[attr-defined]
    else:  # agents of another form, which have no column
        claim.check()


@pytest.mark.parametrize("claim", claims(house_claims))
def test_what_all_adapters_of_this_repository_do(claim: AdapterClaim) -> None:
    claim.check()


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, on the example skills."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    runpy.run_path(str(TOP / f"examples/adapters/{name}_agent.py"), run_name="__main__")
    assert EXAMPLES.get(name, "commit-message") in capsys.readouterr().out
