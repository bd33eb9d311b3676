"""Ask one client about trees, and compare its answers with the recorded ones and with Prowess."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients._answers import load_answers, save_answers
from clients._cells import Cells, cells, differing, keep_undefined, merged, prowess_differs
from clients._places import is_inside, turn_order, with_etc
from clients._probe import ClientError, Clients, Probe, Question
from prowess.hosts import host_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clients._built import BuiltTree
    from clients._trees import Tree, TreeSource

Problem = dict[str, Any]
SHARED_MEMORY = "/dev/shm"


class Observer:
    """Asks one client, and compares or records what it answers."""

    def __init__(self, probe: Probe, clients: Clients, folder: Path, *, check: bool, all_recorded: bool) -> None:
        """Prepare to ask.

        Args:
            probe: how to ask.
            clients: the installed clients.
            folder: where the answers are recorded.
            check: whether to compare with the record instead of writing it.
            all_recorded: whether each tree must have a record to compare with.
        """
        self.probe, self.clients, self.folder = probe, clients, folder
        self.check, self.all_recorded = check, all_recorded
        self.record = load_answers(probe.client, folder)
        self.files = self.trees = self.differing = 0

    def observe(self, trees: Sequence[TreeSource | BuiltTree]) -> Iterator[Problem]:
        """Ask about trees; yield each cell that differs, and each question without an answer."""
        for package, version in self.probe.packages.items():
            client = self.probe.client
            installed = self.clients.version(package)
            if installed is None and self.probe.needs:
                print(f"{client} is not asked: it is not installed, and needs {self.probe.needs}", file=sys.stderr)
                return
            if installed != version:
                found = "is not installed" if installed is None else f"is {installed}"
                yield {"client": client, "error": f"{package} {found}; its probe is for {version}"}
            if installed is None:
                return
        for number, source in enumerate(trees, 1):
            print(f"{self.probe.client} {number}/{len(trees)} {source.name}", file=sys.stderr, flush=True)
            wrong = set()
            for problem in self.ask_and_compare(source):
                wrong.add(problem.get("variant", problem.get("unknown")))
                yield {"client": self.probe.client, "tree": source.name, **problem}
            self.trees += 1
            self.differing += len(wrong)

    def ask_and_compare(self, source: TreeSource | BuiltTree) -> Iterator[Problem]:
        """Ask about one tree; yield what differs."""
        try:
            found, unknown, wrong = self.ask(source)
        except ClientError as error:
            yield {"error": str(error)}
            return
        yield from ({"unknown": name} for name in unknown)
        yield from ({"variant": variant, "prowess": problem} for variant, problem in wrong.items())
        recorded = self.record["trees"].get(source.name)
        if not self.check:
            self.write(source.name, found)
        elif recorded is not None:
            for variant, (old, new) in differing(recorded, found, levelled=self.probe.levelled).items():
                yield {"variant": variant, "recorded": old, "now": new}
        elif self.all_recorded:
            yield {"error": "no answer is recorded"}

    def ask(self, source: TreeSource | BuiltTree) -> tuple[Cells, list[str], dict[str, str]]:
        """Ask about one tree as often as the probe says, each time about a fresh copy.

        Returns:
            its cells, the names of skills that belong to no file of the tree, and by variant how Prowess differs.

        Raises:
            ClientError: the client did not answer.
        """
        runs: list[Cells] = []
        unknown: list[str] = []
        for number in range(self.probe.asks):
            with _prepared(source, self.probe, turned=number % 2 == 1) as (tree, question):
                answer = self.probe.ask(question, self.clients)
                found, unknown = cells(tree, answer)
                runs.append(found)
        result = merged(runs)
        recorded = self.record["trees"].get(source.name, {})
        if self.record["version"] in (None, self.version()):
            result = keep_undefined(recorded, result)
        with _prepared(source, self.probe) as (tree, _):
            self.files += len(tree.variants)
            if self.probe.client not in host_names():  # a new client whose rules are not written yet
                return result, unknown, {}
            return result, unknown, prowess_differs(tree, self.probe.client, result, races=self.probe.asks > 1)

    def version(self) -> str:
        """Return the version of the client."""
        return self.clients.version(next(iter(self.probe.packages))) or self.probe.version

    def write(self, tree: str, found: Cells) -> None:
        """Record the cells of a tree."""
        self.record["trees"][tree] = found
        self.record["version"], self.record["date"] = self.version(), f"{datetime.now(UTC):%Y-%m-%d}"
        self.record["project"], self.record["user"] = self.probe.project, self.probe.user
        save_answers(self.record, self.folder)


@contextmanager
def _prepared(source: TreeSource | BuiltTree, probe: Probe, *, turned: bool = False) -> Iterator[tuple[Tree, Question]]:
    """Write a fresh copy of a tree, with its own `/etc` if it has one, and return it with the question about it.

    Args:
        source: the tree.
        probe: whose client is asked.
        turned: whether its folders list their files in the opposite order, for a client that does not sort them.
    """
    with ExitStack() as stack:
        place = SHARED_MEMORY if probe.unsorted and os.path.isdir(SHARED_MEMORY) else None
        folder = tempfile.TemporaryDirectory(prefix="observe-", ignore_cleanup_errors=True, dir=place)
        fresh = Path(stack.enter_context(folder)).resolve()
        tree = stack.enter_context(source.placed(fresh, probe))
        if turned and place is not None:
            turn_order(tree.root)
        if tree.etc.is_dir():
            if not is_inside():
                raise ClientError("a tree with files in /etc needs `unshare`, which does not work here")
            stack.enter_context(with_etc(tree.etc, fresh / "machine"))
        scratch = fresh / "scratch"
        scratch.mkdir()
        yield (
            tree,
            Question(home=tree.home, cwd=tree.cwd, scratch=scratch, args=tuple(tree.args), env=dict(tree.env)),
        )
