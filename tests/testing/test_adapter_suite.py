"""The contract of adapters: an adapter that keeps it passes, and each way to break it fails one claim."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from prowess import LiveCatalog, Session
from prowess.testing import AdapterClaim, adapter_suite
from support.tiny_framework import Message, TinyAdapter, TinyConversation

if TYPE_CHECKING:
    from prowess import Catalog

CLAIMS = {claim.name: claim for claim in adapter_suite(TinyAdapter())}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=str)
def test_an_adapter_that_keeps_the_contract_passes(claim: AdapterClaim) -> None:
    claim.check()


# ── each claim can fail ──────────────────────────────────────────────────────────────────────────────────────────────


class CatalogAtTheEnd(TinyConversation):
    def all_messages(self, messages: list[Message], added: list[str]) -> list[Message]:
        return [*super().all_messages(messages, added)[1:], {"role": "system", "content": self.system()}]


class ClockInTheSystemMessage(TinyConversation):
    clock = itertools.count()

    def system(self) -> str:
        return f"It is {next(self.clock)} o'clock.\n\n{super().system()}"


class BodyOnEachActivation(TinyConversation):
    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        result = super().call_tool(name, arguments)
        again = "already active" in result
        return Session(self.session.catalog).activate(arguments["name"]).content if again else result


class StoresMentions(TinyConversation):
    def end(self, messages: list[Message], added: list[str]) -> None:
        self.history = [*messages, *({"role": "user", "content": text} for text in added)]


class ForgetsFiles(TinyConversation):
    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        result = super().call_tool(name, arguments)
        return "read" if name == "read_skill_file" and not result.startswith("error") else result


class OldCatalog(TinyConversation):
    def __init__(self, session: Session, url: str, history: list[Message]) -> None:
        super().__init__(Session.from_json(session.to_json(), session.catalog), url, history)


class NoTail(TinyConversation):
    def tail(self, messages: list[Message], added: list[str]) -> str:  # noqa: ARG002
        return ""


class SavesNoSkills(TinyConversation):
    def save(self) -> str:
        texts = [message for message in self.history if message["role"] == "user"]
        return TinyConversation(Session(self.session.catalog), self.url, texts).save()


class OneSessionForAll(TinyAdapter):
    sessions: ClassVar[dict[str, Session]] = {}

    def conversation(self, catalog: Catalog | LiveCatalog, *, model_url: str, **options: Any) -> TinyConversation:
        made = super().conversation(catalog, model_url=model_url, **options)
        made.session = self.sessions.setdefault(model_url, made.session)
        return made


class HidesErrors(TinyConversation):
    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        result = super().call_tool(name, arguments)
        return "error" if result.startswith("error") else result


class MentionsUntilTheEnd(TinyConversation):
    pending: tuple[str, ...] = ()

    def begin(self, text: str) -> list[str]:
        self.pending += tuple(super().begin(text))
        return [*self.pending]

    def end(self, messages: list[Message], added: list[str]) -> None:
        super().end(messages, added)
        self.pending = ()


def _adapter(kind: type[TinyConversation]) -> type[TinyAdapter]:
    """Return a class that a new process finds by its name."""
    made = type(f"{kind.__name__}Adapter", (TinyAdapter,), {"conversation_type": kind, "__module__": __name__})
    globals()[made.__name__] = made
    return made


BROKEN = {
    "catalog-in-first-request": _adapter(CatalogAtTheEnd),
    "catalog-stays-the-same": _adapter(ClockInTheSystemMessage),
    "body-on-activation": _adapter(BodyOnEachActivation),
    "mention": _adapter(StoresMentions),
    "file": _adapter(ForgetsFiles),
    "changed-skill": _adapter(OldCatalog),
    "compaction": _adapter(NoTail),
    "resume": _adapter(SavesNoSkills),
    "fifty-conversations": OneSessionForAll,
    "failed-call": _adapter(HidesErrors),
    "cancellation": _adapter(MentionsUntilTheEnd),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_fails_its_claim_and_no_other(name: str) -> None:
    failed = []
    for claim in adapter_suite(BROKEN[name]()):
        try:
            claim.check()
        except AssertionError:
            failed.append(claim.name)
    assert failed == [name]
