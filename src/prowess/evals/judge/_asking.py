"""Send messages to the model that judges."""

from __future__ import annotations

import asyncio
from math import inf

from prowess._internal.text import neutral
from prowess.errors import ProwessError
from prowess.evals._model import open_model, price_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SECONDS = 120.0
_MOST_TOKENS = 8_000
"""Of one answer, with what a model thinks."""
_MOST_PROBLEM = 300
"""Characters of what a server says."""


class ModelAsk:
    """A model of `--judge`; each message is a conversation of its own.

    Args:
        name: as `--model` of `prowess run` has it.

    Raises:
        ConfigError: there is no such model, or its key is missing.
        ImportError: Pydantic AI is not installed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        model, self.name = open_model(name, "`--judge`")
        self.says_cost = price_of(model) is not None
        """Whether the price of the model is known."""
        self.tokens: int | None = 0
        """That it read and wrote; `None` if an answer did not say that."""
        self.cost: float | None = 0.0
        """In US dollars; `None` if the price of an answer is not known."""

    def __call__(self, instructions: str, message: str) -> str:
        """Return what the model answers.

        Raises:
            ProwessError: the server fails.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, TextPart, UserPromptPart

        from prowess.agent.meter import Meter

        meter = Meter(open_model(self._name, "`--judge`")[0], inf)
        request = ModelRequest(parts=[SystemPromptPart(instructions), UserPromptPart(message)])
        settings: Any = {"timeout": _SECONDS, "max_tokens": _MOST_TOKENS}

        async def send() -> Any:
            async with meter:  # which closes its connections
                return await model_request(meter, [request], model_settings=settings)

        try:
            response = asyncio.run(send())
        except Exception as error:  # noqa: BLE001 - each provider raises its own
            raise ProwessError(neutral(" ".join(str(error).split()))[:_MOST_PROBLEM]) from None
        finally:
            self.tokens = None if self.tokens is None or meter.tokens is None else self.tokens + meter.tokens
            self.cost = None if self.cost is None or meter.cost is None else self.cost + meter.cost
        return "\n".join(part.content for part in response.parts if isinstance(part, TextPart))
