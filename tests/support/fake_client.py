"""A client that prints what it sees, and a caller with secrets that it must not see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

# A shell starts background jobs with these signals ignored, and the processes of tests would inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

EXAMPLES = Path(__file__).parents[2] / "examples/skills"
DECOY = "decoy-7d1c"
"""Is in every value of the caller that a client must not get."""
CLIENT_SOURCE = """\
import json, os, sys
from pathlib import Path
roots = [path for path in Path.home().glob(".*/skills") if path.is_dir()]
skills = {f"{path.parent.parent.name}/{path.name}" for root in roots for path in root.iterdir() if path.is_dir()}
env = {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}  # Python may set it
print(json.dumps({"env": env, "skills": sorted(skills), "argv": sys.argv[1:], "cwd": os.getcwd()}))
"""
SECRETS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "CLAUDE_CONFIG_DIR", "CODEX_API_KEY", "CODEX_HOME", "DATABASE_URL", "GEMINI_API_KEY", "GEMINI_CLI_HOME", "GH_TOKEN",
    "HTTPS_PROXY", "LD_PRELOAD_DECOY", "NODE_OPTIONS", "OPENAI_API_KEY", "PYTHONPATH", "SSH_AUTH_SOCK",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
"""Variables of the caller that a client must not get."""


def client_report(out: str | bytes) -> Any:
    """Parse what the client printed."""
    return json.loads(out)


def fake_client(folder: Path, name: str = "client") -> str:
    """Write the client and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS -c '{CLIENT_SOURCE}' \"$@\"\n".replace("'\"'", '"'))
    file.chmod(0o755)
    return str(file)


def caller_env(top: Path) -> dict[str, str]:
    """Return the environment of a caller with skills and secrets; temporary homes go into `top / "t m p"`."""
    for root in ("home/.claude", "home/.agents", "home/.codex", "moved"):
        folder = top / root / "skills" / DECOY
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {DECOY}\ndescription: {DECOY}\n---\n")
    (top / "t m p").mkdir()
    env = dict.fromkeys(SECRETS, DECOY) | {
        "HTTPS_PROXY": f"http://{DECOY}:pw@proxy:1",
        "CLAUDE_CONFIG_DIR": str(top / "moved"),
    }
    plain = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LC_TIME": "C", "TZ": "UTC", "TERM": "dumb", "USER": "ada"}
    own = {"HOME": str(top / "home"), "TMPDIR": str(top / "t m p"), "EDITOR": "vi", "MY_SETTING": "mine"}
    source = str(Path(__file__).parents[2] / "src")
    return env | plain | own | {"PYTHONPATH": source, "MINE_TOO": str(top / "home/thing")}


def remaining_homes(top: Path) -> list[str]:
    """Return what is left in the directory of temporary homes."""
    return sorted(os.listdir(top / "t m p"))


def start_python(code: str, env: dict[str, str], *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start Python with some code."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=env, **options)
