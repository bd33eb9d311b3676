"""`prowess run --serve` with a scripted model answers conversations beside slow clients."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.growth import END
from support.slow_clients import talk_beside_slow_clients

if TYPE_CHECKING:
    from pathlib import Path

SLOW_CLIENTS = int(os.environ.get("PROWESS_SLOW_CLIENTS", "20"))
"""`make endurance` has 100, beside as many conversations of 20 turns."""


@pytest.mark.slow
def test_a_served_role_answers_conversations_beside_slow_clients(tmp_path: Path) -> None:
    """The script has one answer for each turn, so a lost or mixed conversation would get that of another turn."""
    (tmp_path / "role.yaml").write_text("name: helper\nprompt: You help.\nmodel: openai:m\n")
    (tmp_path / "script.yaml").write_text("".join(f"- say: answer {turn}\n" for turn in range(1, 21)))
    (tmp_path / "home").mkdir()
    arguments = ["run", "role.yaml", "--serve", "--port", "0", "--home", "home", "--model", "script:script.yaml"]
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        url = process.stderr.readline().partition(" at ")[2].partition(";")[0]
        try:
            talk_beside_slow_clients(
                int(url.rpartition(":")[2].partition("/")[0]),
                slow=SLOW_CLIENTS,
                conversations=SLOW_CLIENTS // 2 if SLOW_CLIENTS < 100 else SLOW_CLIENTS,
                turns=5 if SLOW_CLIENTS < 100 else 20,
                expected=lambda _, turn: f"answer {turn}",
            )
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=END)
    assert (process.returncode, errors) == (130, "")
