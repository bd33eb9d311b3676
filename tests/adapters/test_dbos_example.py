"""The example of durable runs, on a real PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.growth import END

pytest.importorskip("dbos")

EXAMPLE = Path(__file__).parents[2] / "examples/adapters/dbos_agent.py"


@pytest.mark.slow
@pytest.mark.needs("postgres")
def test_a_run_goes_on_after_its_process_was_killed_in_a_tool_call(request: pytest.FixtureRequest) -> None:
    """No request to the model is repeated, and no call that had ended; the one that was interrupted runs again."""
    server = request.getfixturevalue("postgres_server")
    url = server.new_database()
    done = subprocess.run([sys.executable, EXAMPLE, url], capture_output=True, text=True, check=False, timeout=END)
    assert done.stdout.splitlines() == [
        "> a process",
        "  the model calls activate_skill",
        "  the model calls count_rows",
        "  count_rows('orders.csv') begins",
        "  is killed",
        "> a process",
        "  count_rows('orders.csv') begins",
        "  the model answers",
        "  orders.csv has 4 rows. Active skills: csv-profile.",
        "  ends with 0",
    ], done.stderr
    database = url.partition("@/")[2].partition("?")[0]
    steps = server.run("SELECT function_name FROM dbos.operation_outputs", database).splitlines()
    assert steps.count("count_rows") == 1
