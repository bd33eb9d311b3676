"""Say what `adapter_suite` needs to know of an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prowess.catalog import Catalog, LiveCatalog
    from prowess.session import Scripts

__all__ = ["Adapter", "Conversation"]


class Conversation(Protocol):
    """A conversation of a framework with a model, which uses skills."""

    async def send(self, text: str) -> str:
        """Do one turn of the user, and return the model's answer."""

    def save(self) -> str:
        """Return what a new process needs to go on with the conversation, as JSON."""

    def compact(self) -> None:
        """Drop the messages before the next turn, as the framework's own compaction would; keep at most a summary."""


class Adapter(Protocol):
    """What `adapter_suite` tests: it begins conversations in a framework.

    Its class must be importable by its name and take no arguments, because one claim makes it in a new process.

    Two more attributes are optional. `explained` maps names of claims to the reason why the framework cannot fulfil
    them; such a claim must really fail. `model_step(step)` returns a `Step` as a model does it in the framework, if
    the framework has its own tools for `activate_skill` and the others, or for answers.
    """

    name: str
    """Of the framework."""

    def conversation(
        self,
        catalog: Catalog | LiveCatalog,
        *,
        model_url: str,
        saved: str | None = None,
        scripts: bool | Scripts = False,
    ) -> Conversation:
        """Begin a conversation, or go on with one.

        Args:
            catalog: the skills to choose from.
            model_url: base URL of the model, which speaks OpenAI's chat completions, whole or as a stream. It needs
                no key, and the name of the model does not matter.
            saved: what `Conversation.save` returned, perhaps in another process.
            scripts: as for `Session.tools`.
        """
