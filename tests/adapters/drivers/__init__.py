"""Conversations of each framework, for the contract of adapters: one module for each, of the adapter's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.testing import Conversation


class Driver:
    """Begins conversations with an agent, which those of the same catalog, model and options share."""

    name: str
    package: str
    """The distribution of the framework."""
    differs: ClassVar[dict[str, str]] = {}
    """The claims of `adapters.claims` that are false in this framework, and why."""
    begin: Any
    """Begins a conversation with what `make` returned, and what an earlier conversation saved, or `None`."""

    def __init__(self) -> None:
        self._agents: dict[tuple[object, ...], Any] = {}

    def conversation(
        self, catalog: Catalog | LiveCatalog, *, model_url: str, saved: str | None = None, **options: Any
    ) -> Conversation:
        """Begin a conversation, or go on with one."""
        key = (id(catalog), model_url, *sorted(options.items()))
        if key not in self._agents:
            self._agents[key] = self.make(catalog, model_url, **options)
        conversation: Conversation = self.begin(self._agents[key], saved)
        return conversation

    def make(self, catalog: Any, model_url: str, **options: Any) -> Any:
        """Make what conversations share; `options` are those of its skills."""
        raise NotImplementedError
