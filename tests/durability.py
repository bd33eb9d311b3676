"""Kill processes that serve conversations from one database, and check that each turn is stored once and in order.

`python tests/durability.py` has 100 conversations of 20 turns on PostgreSQL, over four processes of `prowess run
--serve`, one of which is killed every second; with `--sqlite` on SQLite. With other numbers, and `--within SECONDS`, it
shows that a conversation whose process was killed goes on at once. `tests/adapters/test_durability.py` does the same
with smaller numbers.

Clients do what a careful client does: they send a request with an `Idempotency-Key`, to any of the processes, and send
it again until it is answered.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import httpx2

from prowess.store import open_store
from support.growth import END
from support.postgres import start_postgres
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE = Path(__file__).parents[1] / "src"
ROLE = "name: helper\nprompt: You help.\nmodel: openai:m\n"
PATIENCE = 600.0
"""Seconds after which a turn counts as never answered."""


@dataclass
class Outcome:
    """What happened."""

    kills: int = 0
    sent_again: Counter[str] = field(default_factory=Counter)
    """Requests that were sent again, by the reason."""
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """From the moment that all processes were ready."""


class Farm:
    """Processes that serve one role from one database; one that ends is started again."""

    def __init__(self, folder: Path, url: str, size: int, outcome: Outcome) -> None:
        self.folder, self.url, self.outcome, self.random = folder, url, outcome, Random(1)  # noqa: S311 - a test
        self.ready: dict[int, tuple[str, asyncio.subprocess.Process]] = {}
        self.tasks = [asyncio.create_task(self._keep_running(0))]
        self.size = size

    async def start(self) -> None:
        """Start the first process, which compiles the modules, and then the others, and wait until all are ready."""
        await self.address()
        self.tasks += [asyncio.create_task(self._keep_running(slot)) for slot in range(1, self.size)]
        while len(self.ready) < self.size and not self.outcome.problems:
            await asyncio.sleep(0.05)

    async def _keep_running(self, slot: int) -> None:
        command = [sys.executable, "-m", "prowess", "run", "role.yaml", "--serve", "--port", "0", "--home", "home"]
        # Without compiled modules a start takes three times as long.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPYCACHEPREFIX": str(self.folder / "compiled"), "PYTHONPATH": str(SOURCE)}
        env |= {"PROWESS_STORE": self.url, "PROWESS_NO_CACHE": "1"}
        while True:
            process = await asyncio.create_subprocess_exec(
                *command, "--model", "script:script.yaml", cwd=self.folder, env=env, stderr=asyncio.subprocess.PIPE
            )
            assert process.stderr is not None
            try:
                line = (await process.stderr.readline()).decode()
                address = line.partition(" at ")[2].partition(";")[0]
                if not address:
                    self.outcome.problems.append(f"a process did not start: {line}")
                    return
                self.ready[slot] = address, process
                rest = (await process.stderr.read()).decode()
                if rest:
                    self.outcome.problems.append(f"a process wrote: {rest[-500:]}")
            except asyncio.CancelledError:
                os.kill(process.pid, signal.SIGKILL)
                raise
            finally:
                self.ready.pop(slot, None)
                await process.wait()

    async def kill_often(self, seconds: float) -> None:
        """Kill one of the processes again and again; on a busy machine not before another one is ready."""
        while True:
            await asyncio.sleep(seconds)
            if len(self.ready) > 1:
                slot = self.random.choice([*self.ready])
                os.kill(self.ready.pop(slot)[1].pid, signal.SIGKILL)
                self.outcome.kills += 1

    async def address(self) -> str:
        """Return the address of a process that runs, perhaps.

        Raises:
            RuntimeError: no process can be started.
        """
        while not self.ready:
            if all(task.done() for task in self.tasks):
                raise RuntimeError(f"all processes have ended: {self.outcome.problems}")
            await asyncio.sleep(0.05)
        return self.random.choice([*self.ready.values()])[0]

    async def stop(self) -> None:
        """End all processes."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def send(farm: Farm, client: httpx2.AsyncClient, headers: Mapping[str, str], text: str) -> str:
    """Send a message until it is answered, and return the answer.

    Raises:
        TimeoutError: it is not.
    """
    body = {"model": "helper", "messages": [{"role": "user", "content": text}]}
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            answer = await client.post(f"{await farm.address()}/chat/completions", json=body, headers=headers)
        except httpx2.HTTPError as error:
            farm.outcome.sent_again[type(error).__name__] += 1
        else:
            if answer.status_code == 200:
                return str(answer.json()["choices"][0]["message"]["content"])
            farm.outcome.sent_again[f"status {answer.status_code}"] += 1
            if answer.status_code not in (409, 503):
                farm.outcome.problems.append(f"status {answer.status_code}: {answer.text[:300]}")
        await asyncio.sleep(0.1)
    raise TimeoutError(text)


async def converse(farm: Farm, client: httpx2.AsyncClient, number: int, turns: int, pause: float) -> None:
    """Have one conversation; the second half of its turns is sent twice even if it was answered."""
    for turn in range(1, turns + 1):
        await asyncio.sleep(pause)
        headers = {"X-Conversation-Id": f"conversation {number}", "Idempotency-Key": f"{number}.{turn}"}
        for _ in range(1 if turn <= turns // 2 else 2):
            answer = await send(farm, client, headers, f"message {number}.{turn}")
            if answer != f"answer {turn}":
                farm.outcome.problems.append(f"message {number}.{turn} was answered with: {answer}")


def check(url: str, conversations: int, turns: int) -> list[str]:
    """Return what is wrong with what is stored."""
    from sqlalchemy import create_engine, text

    with open_store(url):  # it has the tables of this version
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, version, ledger, history FROM prowess_conversations")).all()
        unanswered = connection.execute(text("SELECT COUNT(*) FROM prowess_requests WHERE answer IS NULL")).scalar()
        answered = connection.execute(text("SELECT COUNT(*) FROM prowess_requests")).scalar()
    engine.dispose()
    problems = [] if len(rows) == conversations else [f"{len(rows)} conversations are stored, not {conversations}"]
    if (unanswered, answered) != (0, conversations * turns):
        problems.append(f"{answered} requests are stored, {unanswered} of them without an answer")
    for name, version, ledger, history in rows:
        number = name.rpartition(" ")[2]
        expected = [word for turn in range(1, turns + 1) for word in (f"message {number}.{turn}", f"answer {turn}")]
        if said(json.loads(history)) != expected or version != turns:
            problems.append(f"{name}, version {version}: {said(json.loads(history))}")
        if [record["name"] for record in json.loads(ledger)["ledger"]] != ["tides"]:
            problems.append(f"{name}: {ledger}")
    return problems


def said(history: list[Any]) -> list[str]:
    """Return what the user and the model said, in order."""
    parts = [part for message in history for part in message["parts"]]
    return [part["content"] for part in parts if part["part_kind"] in ("user-prompt", "text")]


async def _run(
    folder: Path,
    url: str,
    outcome: Outcome,
    *,
    conversations: int,
    turns: int,
    processes: int,
    interval: float,
    pause: float,
) -> None:
    farm = Farm(folder, url, processes, outcome)
    await farm.start()
    start = time.monotonic()
    killer = asyncio.create_task(farm.kill_often(interval))
    try:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx2.AsyncClient(timeout=END, limits=limits, trust_env=False) as client:
            await asyncio.gather(*(converse(farm, client, number, turns, pause) for number in range(conversations)))
        outcome.seconds = time.monotonic() - start
    finally:
        killer.cancel()
        await farm.stop()


def run(url: str, *, conversations: int, turns: int, **options: Any) -> Outcome:
    """Have conversations while processes are killed, and check what is stored at the end.

    Args:
        url: an empty database.
        conversations: their number.
        turns: of each.
        options: `processes`, the seconds between two kills (`interval`) and before each turn (`pause`).
    """
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "role.yaml").write_text(ROLE)
        steps = [
            "- call: activate_skill\n  with: {name: tides}\n",
            *(f"- say: answer {at + 1}\n" for at in range(turns)),
        ]
        (folder / "script.yaml").write_text("".join(steps))
        (folder / "home").mkdir()
        skill(folder / "skills/tides")
        asyncio.run(_run(folder, url, outcome, conversations=conversations, turns=turns, **options))
    outcome.problems += check(url, conversations, turns)
    return outcome


def main() -> int:
    """Run the whole proof and print its outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two kills")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="more are a problem")
    parser.add_argument("--sqlite", action="store_true", help="store them in a file, not on PostgreSQL")
    options = parser.parse_args()
    given = {name: value for name, value in vars(options).items() if name not in ("within", "sqlite")}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = f"sqlite:///{folder}/store.db"
        url = file if options.sqlite else stack.enter_context(start_postgres()).new_database()
        outcome = run(url, pause=0.0, **given)
    if options.within is not None and outcome.seconds > options.within:
        outcome.problems.append(f"it took {outcome.seconds:.0f} s, not {options.within:.0f}")
    again = ", ".join(f"{count} after {reason}" for reason, count in outcome.sent_again.most_common())
    print(
        f"{options.conversations} conversations of {options.turns} turns in {outcome.seconds:.0f} s: "
        f"{outcome.kills} processes killed, {sum(outcome.sent_again.values())} requests sent again ({again})"
    )
    for problem in outcome.problems[:20]:
        print(problem)
    print(f"{len(outcome.problems)} problems" if outcome.problems else "nothing lost, nothing twice")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
