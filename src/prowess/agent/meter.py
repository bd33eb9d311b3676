"""Count what a model reads, writes and costs while it runs, and stop it when it costs too much."""

from __future__ import annotations

from contextlib import asynccontextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any

from pydantic_ai.models.wrapper import WrapperModel

from prowess.errors import ProwessError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai.messages import ModelResponse

__all__ = ["Meter", "cost_of"]

_MOST_TOKENS = 10**12
"""That an answer may say; more is nonsense."""


class Meter(WrapperModel):
    """A model whose answers are counted.

    Args:
        model: of Pydantic AI.
        most: US dollars; the answer that costs more is the last one.
    """

    def __init__(self, model: Any, most: float) -> None:
        super().__init__(model)
        self._most = most
        self.tokens: int | None = 0
        """That it read and wrote; `None` if the server did not say that of an answer."""
        self.cost: float | None = 0.0
        """In US dollars; `None` if the price of an answer is not known."""

    async def request(self, *args: Any, **options: Any) -> ModelResponse:
        """Send a request and count its answer."""
        response = await super().request(*args, **options)
        self._count(response)
        return response

    @asynccontextmanager
    async def request_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any]:
        """Send a request and count its answer when it has arrived."""
        async with super().request_stream(*args, **options) as stream:
            yield stream
        self._count(stream.get())

    def _count(self, response: ModelResponse) -> None:
        usage = response.usage
        numbers = (usage.input_tokens, usage.output_tokens)
        said = all(isinstance(number, int) and 0 <= number < _MOST_TOKENS for number in numbers) and any(numbers)
        cost = cost_of(response) if said else None
        self.tokens = None if self.tokens is None or not said else self.tokens + sum(numbers)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        if self.cost is not None and self.cost > self._most:
            raise ProwessError("the run cost more than `--max-cost` leaves")


def cost_of(response: ModelResponse) -> float | None:
    """Return the price of an answer in US dollars; `None` if it is not known."""
    try:
        price = float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError, ArithmeticError):
        return None
    return price if isfinite(price) and price >= 0 else None
