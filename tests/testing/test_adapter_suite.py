"""The contract of adapters: an adapter that keeps it passes, and each way to break it fails one claim."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from prowess import ConfigError, Scripts, Session
from prowess.testing import AdapterClaim, _adapter_suite, adapter_suite
from support.inner_pytest import run_pytest
from support.proofs import short_or_long
from support.tiny_framework import Message, TinyAdapter, TinyConversation

if TYPE_CHECKING:
    from prowess import Catalog, LiveCatalog, Tool

TOP = Path(__file__).parent.parent.parent
PAGE = (TOP / "docs/adapters/README.md").read_text(encoding="utf-8")
CLAIMS = {claim.name: claim for claim in adapter_suite(TinyAdapter())}
SLOW = ("resume", "fifty-conversations")


@pytest.mark.parametrize(
    "claim",
    [pytest.param(claim, marks=[pytest.mark.slow] if name in SLOW else [], id=name) for name, claim in CLAIMS.items()],
)
def test_an_adapter_that_keeps_the_contract_passes(claim: AdapterClaim) -> None:
    claim.check()


# ── each claim can fail ──────────────────────────────────────────────────────────────────────────────────────────────


class CatalogAtTheEnd(TinyConversation):
    def all_messages(self, messages: list[Message], added: list[str]) -> list[Message]:
        return [*super().all_messages(messages, added)[1:], {"role": "system", "content": self.system()}]


class SkillsInAMessageOfTheirOwn(TinyConversation):
    def all_messages(self, messages: list[Message], added: list[str]) -> list[Message]:
        extra = [{"role": "user", "content": text} for text in (*added, self.tail(messages, added)) if text]
        return [{"role": "system", "content": self.system()}, *messages, *extra]


class ClockInTheSystemMessage(TinyConversation):
    clock = itertools.count()

    def system(self) -> str:
        return f"It is {next(self.clock)} o'clock.\n\n{super().system()}"


class BodyOnEachActivation(TinyConversation):
    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        result = super().call_tool(name, arguments)
        again = "already active" in result
        return Session(self.session.catalog).activate(arguments["name"]).content if again else result


class LastCallWins(TinyConversation):
    def call_all(self, calls: list[Any]) -> list[Message]:
        before, results = self.session.to_json(), []
        for call in calls:
            self.session.restore(before)
            results += super().call_all([call])
        return results


class StoresMentions(TinyConversation):
    def end(self, messages: list[Message], added: list[str]) -> None:
        self.history = [*messages, *({"role": "user", "content": text} for text in added)]


class ShowsAll(TinyConversation):
    def system(self) -> str:
        hidden = [entry for entry in self.session.catalog.skills if entry.state == "user-only"]
        return "\n".join([super().system(), *(entry.description for entry in hidden)])


class HidesWarnings(TinyConversation):
    def begin(self, text: str) -> list[str]:
        return [added for added in super().begin(text) if not added.startswith("warning: ")]


class ForgetsFiles(TinyConversation):
    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        result = super().call_tool(name, arguments)
        return "read" if name == "read_skill_file" and not result.startswith("error") else result


class AlwaysScripts(TinyConversation):
    def tools(self) -> tuple[Tool, ...]:
        return self.session.tools(scripts=self.scripts or True)


class TrustsAll(TinyConversation):
    options = Scripts(sandbox="none", on_untrusted=lambda _: True)

    def tools(self) -> tuple[Tool, ...]:
        return self.session.tools(scripts=self.scripts and self.options)


class ReadsFirst(TinyConversation):
    def call_all(self, calls: list[Any]) -> list[Message]:
        scripts_last = sorted(calls, key=lambda call: call["function"]["name"] == "run_skill_script")
        results = {message["tool_call_id"]: message for message in super().call_all(scripts_last)}
        return [results[call["id"]] for call in calls]


class NeedsActiveSkill(TinyConversation):
    def call_all(self, calls: list[Any]) -> list[Message]:
        active = {record.name for record in self.session.ledger}
        for call in calls:
            given = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "run_skill_script" and given["skill"] not in active:
                call["function"]["name"] = "no_tool"
        return super().call_all(calls)


class OldCatalog(TinyConversation):
    def tools(self) -> tuple[Tool, ...]:
        self.session.update(self.session.catalog)
        return super().tools()


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
        return "error" if result.startswith("error: no skill is called") else result


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
    "calls-at-once": _adapter(LastCallWins),
    "mention": _adapter(StoresMentions),
    "strict-requests": _adapter(SkillsInAMessageOfTheirOwn),
    "user-only": _adapter(ShowsAll),
    "mention-not-found": _adapter(HidesWarnings),
    "scripts-off": _adapter(AlwaysScripts),
    "script": _adapter(TrustsAll),
    "script-at-once": _adapter(NeedsActiveSkill),
    "script-and-file": _adapter(ReadsFirst),
    "file": _adapter(ForgetsFiles),
    "changed-skill": _adapter(OldCatalog),
    "compaction": _adapter(NoTail),
    "resume": _adapter(SavesNoSkills),
    "fifty-conversations": OneSessionForAll,
    "failed-call": _adapter(HidesErrors),
    "cancellation": _adapter(MentionsUntilTheEnd),
}


BUILDS_ON = {
    "body-on-activation": ["script-at-once"],
    "calls-at-once": ["script-at-once"],
    "catalog-in-first-request": ["strict-requests"],
    "compaction": ["calls-at-once"],
    "mention": ["strict-requests"],
}
"""Claims that use what another one is about."""


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.parametrize("name", BROKEN)
def test_each_fault_fails_its_claim_and_no_other(name: str) -> None:
    """The short form checks a slow claim only with its own fault."""
    failed = []
    left_out = short_or_long([claim for claim in SLOW if claim != name], [])
    for claim in adapter_suite(BROKEN[name]()):
        if claim.name in left_out:
            continue
        try:
            claim.check()
        except AssertionError:
            failed.append(claim.name)
    assert {*failed} == {*BUILDS_ON.get(name, ()), name}


# ── what an adapter's author sees ────────────────────────────────────────────────────────────────────────────────────


def test_a_failure_says_what_was_expected_and_what_the_model_was_sent() -> None:
    (claim,) = (claim for claim in adapter_suite(BROKEN["file"]()) if claim.name == "file")
    with pytest.raises(AssertionError) as caught:
        claim.check()
    lines = str(caught.value).splitlines()
    assert lines[0] == "tiny: file: A file of a skill reaches the model when it reads the file."
    expected = "expected the text of the file after `read_skill_file`: the word 'HARBOUR_FILE' once in the messages"
    assert lines[1] == f"{expected}; found 0"
    assert "tools: activate_skill, read_skill_file" in lines
    assert 'assistant: calls read_skill_file({"name": "tide-tables", "path": "references/harbours.md"})' in lines
    assert "tool: read" in lines


class Raises(TinyAdapter):
    def conversation(self, *_: Any, **__: Any) -> TinyConversation:
        raise RuntimeError("no such framework")


class Explained(_adapter(NoTail)):  # type: ignore[misc]
    explained: ClassVar[dict[str, str]] = {"compaction": "It has no hook for requests."}


class WronglyExplained(TinyAdapter):
    explained: ClassVar[dict[str, str]] = {"file": "It reads no files."}


class Fails(TinyConversation):
    def begin(self, text: str) -> list[str]:
        if text.startswith("$"):
            raise RuntimeError("no mentions")
        return super().begin(text)


class Swallows(TinyConversation):
    async def send(self, text: str) -> str:
        try:
            return await super().send(text)
        except asyncio.CancelledError:
            return "cancelled"


NO_RESULT = "messages with the role `tool` are missing after an assistant message with `tool_calls`"


class StoresHalfTurns(TinyConversation):
    async def send(self, text: str) -> str:
        before = self.history
        try:
            return await super().send(text)
        except asyncio.CancelledError:
            call = {"id": "1", "type": "function", "function": {"name": "activate_skill", "arguments": "{}"}}
            self.history = [*before, {"role": "assistant", "content": "", "tool_calls": [call]}]
            raise


class LeavesScripts(TinyConversation):
    async def call_in_thread(self, calls: list[Any]) -> list[Message]:
        return await asyncio.to_thread(self.call_all, calls)


class Blocks(TinyConversation):
    async def call_in_thread(self, calls: list[Any]) -> list[Message]:
        return self.call_all(calls)


class TimesOut(TinyConversation):
    async def send(self, text: str) -> str:  # noqa: ARG002
        raise TimeoutError("no connection")


class NeverEnds(TinyConversation):
    async def send(self, text: str) -> str:
        await asyncio.sleep(60)
        return text


class SavesNothing(TinyConversation):
    def save(self) -> str:
        return ""


class Silent(TinyConversation):
    async def send(self, text: str) -> str:
        return text


def problem(adapter: TinyAdapter, name: str) -> str:
    """Return the first line of what is wrong with a claim."""
    (claim,) = (claim for claim in adapter_suite(adapter) if claim.name == name)
    with pytest.raises(AssertionError) as caught:
        claim.check()
    return str(caught.value).splitlines()[-1 if "\n" not in str(caught.value) else 1]


def test_an_exception_of_an_adapter_is_a_failure() -> None:
    assert problem(Raises(), "file") == "the adapter raised RuntimeError: no such framework"


def test_an_explained_claim_passes_as_long_as_it_fails() -> None:
    (claim,) = (claim for claim in adapter_suite(Explained()) if claim.name == "compaction")
    claim.check()
    assert claim.explanation == "It has no hook for requests."
    assert problem(WronglyExplained(), "file") == "tiny: file is true now: remove it from `explained`"


def test_an_explanation_names_a_claim_and_a_reason() -> None:
    class Misspelt(TinyAdapter):
        explained: ClassVar[dict[str, str]] = {"compacton": "It has no hook."}

    class Empty(TinyAdapter):
        explained: ClassVar[dict[str, str]] = {"compaction": " "}

    with pytest.raises(ConfigError, match="unknown claim `compacton`") as caught:
        adapter_suite(Misspelt())
    assert caught.value.hint == "did you mean `compaction`?"
    with pytest.raises(ConfigError, match="no reason for `compaction`"):
        adapter_suite(Empty())


@pytest.mark.parametrize(
    ("kind", "claim", "message"),
    [
        (Fails, "cancellation", "the adapter raised RuntimeError: no mentions"),
        (Swallows, "cancellation", "expected a cancelled `send` to raise `asyncio.CancelledError`"),
        (
            StoresHalfTurns,
            "cancellation",
            f"the adapter raised RuntimeError: {NO_RESULT}",
        ),
        (LeavesScripts, "cancellation", "expected a cancelled `send` to end its script, with what that has started"),
        (Blocks, "cancellation", "expected `send` to wait for a script without blocking the event loop"),
        (TimesOut, "file", "the adapter raised TimeoutError: no connection"),
        (NeverEnds, "file", "expected `send` to return within 0.1 seconds"),
        (SavesNothing, "resume", "expected `save` to return JSON; it returned ''"),
        (Silent, "file", "expected `send` to call the model at `model_url`, but no request came"),
    ],
)
def test_other_faults_have_messages_of_their_own(
    kind: type[TinyConversation], claim: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is NeverEnds:
        monkeypatch.setattr(_adapter_suite, "SEND_SECONDS", 0.1)
    if kind in (LeavesScripts, Blocks):
        monkeypatch.setattr(_adapter_suite, "_SCRIPT_SECONDS", 4)
        monkeypatch.setattr(_adapter_suite, "_WAIT_SECONDS", 2)
    assert problem(_adapter(kind)(), claim) == message


def test_a_class_that_a_new_process_cannot_find_is_named() -> None:
    class Local(TinyAdapter):
        pass

    assert "at the top of a module" in problem(Local(), "resume")


@pytest.mark.slow
def test_the_adapter_of_the_page_passes(tmp_path: Path) -> None:
    """Also one that is in a file outside `sys.path`."""
    (code,) = re.findall(r"^```python\n(# test_my_adapter\.py\n.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "test_my_adapter.py").write_text(code, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(TOP / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = run_pytest("-q", "-p", "no:cacheprovider", "--import-mode=importlib", tmp_path, cwd=tmp_path, env=env)
    assert f"{len(CLAIMS)} passed" in done.stdout, done.stdout


def test_a_claim_can_be_checked_in_an_asynchronous_test() -> None:
    async def check() -> None:
        CLAIMS["file"].check()

    asyncio.run(check())


def test_claims_in_threads_leave_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
    before = dict(os.environ)
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(CLAIMS[name].check) for name in ("file", "mention", "script")]:
            done.result()
    assert dict(os.environ) == before
