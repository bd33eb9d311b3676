"""Test an adapter: one contract for all frameworks, with a scripted model and no network.

@pytest.mark.parametrize("claim", adapter_suite(MyAdapter()), ids=str)
def test_my_adapter(claim):
    claim.check()
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from prowess._internal.frozen import Frozen
from prowess._internal.text import did_you_mean, quoted
from prowess.errors import ConfigError

from ._adapter_claims import CLAIMS
from ._adapter_project import project_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from ._adapter import Adapter
    from ._adapter_project import Project

__all__ = ["AdapterClaim", "adapter_suite"]


class AdapterClaim(Frozen):
    """One thing that an adapter does for its users."""

    name: str
    """For example `body-on-activation`."""
    title: str
    """A sentence."""
    adapter: Adapter
    run: Callable[[Project], Awaitable[None]]
    """Raises AssertionError if the claim is false."""
    explanation: str = ""
    """Why the claim is false in this framework; empty if it is true."""

    def __str__(self) -> str:
        """Return the name, for the ids of tests."""
        return self.name

    def check(self) -> None:
        """Test the claim.

        Raises:
            AssertionError: it is false, although there is no explanation; or it is true, although there is one.
        """
        problem = self._problem()
        if problem is not None and not self.explanation:
            raise AssertionError(f"{self.adapter.name}: {self.name}: {self.title}\n{problem}") from problem
        if problem is None and self.explanation:
            message = f"{self.adapter.name}: {self.name} is true now: remove it from `explained`"
            raise AssertionError(message)

    def _problem(self) -> Exception | None:
        """Run the claim, and return what is wrong."""

        async def run() -> None:
            with project_for(self.adapter) as project:
                await self.run(project)

        try:
            _run_to_end(run)
        except AssertionError as error:
            return error
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - an adapter may raise anything
            wrapped = AssertionError(f"the adapter raised {type(error).__name__}: {error}")
            wrapped.__cause__ = error
            return wrapped
        return None


def _run_to_end(run: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run a coroutine in an event loop of its own, also if this thread has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(run())
        return
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(run())).result()


def adapter_suite(adapter: Adapter) -> tuple[AdapterClaim, ...]:
    """Return the claims of the contract that every adapter passes.

    Args:
        adapter: makes conversations in its framework.

    Raises:
        ConfigError: `explained` names an unknown claim, or gives no reason.
    """
    explained = dict(getattr(adapter, "explained", {}))
    for name, reason in explained.items():
        if name not in CLAIMS:
            raise ConfigError(
                f"unknown claim {quoted(name)} in `explained`",
                hint=did_you_mean(name, CLAIMS, "they are the names of the claims"),
            )
        if not reason.strip():
            raise ConfigError(f"no reason for {quoted(name)} in `explained`", hint="say why the framework cannot")
    return tuple(
        AdapterClaim(name=name, title=title, adapter=adapter, run=run, explanation=explained.get(name, ""))
        for name, (title, run) in CLAIMS.items()
    )
