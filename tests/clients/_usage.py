"""Record the sessions of one client, and compare what Prowess reads of them with what was scripted."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clients._ask import SHARED_MEMORY
from clients._probe import ClientError
from clients._reading import build_home, differences, expected_sessions, save_sessions, scripted_rows
from clients._recorder import Recording
from clients._trees import HERE, run_module

if TYPE_CHECKING:
    from clients._ask import Problem
    from clients._probe import Clients, Probe


ATTEMPTS = 2
"""On a busy machine a client may lose what a command printed; then it has all conversations once more."""


def recorder_file(client: str) -> Path:
    """Return the file that says how to have the conversations with a client."""
    return HERE / "recorders" / f"{client.replace('-', '_')}.py"


def observe_usage(probe: Probe, clients: Clients, *, check: bool) -> tuple[list[Problem], dict[str, Any]]:
    """Have the conversations with one client; return what differs, and what was asked.

    Args:
        probe: which client.
        clients: the installed ones.
        check: whether to compare with the expected sessions instead of writing them.
    """
    client = probe.client
    asked: dict[str, Any] = {"client": client}
    # In the names of some folders other characters become `-`.
    place = SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None
    with tempfile.TemporaryDirectory(prefix=f"observe{os.getpid()}x", dir=place) as name:
        folder = Path(name).resolve()
        recorder = run_module(recorder_file(client)).RECORDER
        for number in range(ATTEMPTS):
            recording = Recording(recorder, probe, clients, folder / f"run{number}")
            try:
                recording.record()
                break
            except ClientError as error:
                if number + 1 == ATTEMPTS:
                    return [{"client": client, "error": str(error)}], asked
        files, expected = recording.fixed()
        save_sessions(client, files, expected, folder / "new")
        wrong = differences(client, build_home(client, folder / "home", folder / "new"), expected)
    problems: list[Problem] = [{"client": client, "tree": name, "prowess": text} for name, text in wrong.items()]
    if check:
        recorded = expected_sessions(client)
        for name in dict.fromkeys([*recorded, *expected]):
            # They are numbered in the order of the records, of which another run may have more.
            old, new = ({**found[name], "ids": []} if name in found else None for found in (recorded, expected))
            if old != new:
                problems.append({"client": client, "tree": name, "recorded": old, "now": new})
    else:
        save_sessions(client, files, expected)
    cells = sum(len(scripted_rows(session)) for session in expected.values())
    asked |= {"version": recording.version, "trees": len(expected), "cells": cells, "differing": len(problems)}
    return problems, asked
