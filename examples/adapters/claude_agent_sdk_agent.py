"""Claude Code in a home of its own, by Claude's Agent SDK; a model of our own answers, so no key is needed."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from claude_agent_sdk import ResultMessage, query

from prowess import EphemeralHome, IsolationConfig, SandboxConfig, SkillConfig, SkillMount
from prowess.adapters.claude_agent_sdk import isolated_options

EXAMPLES = Path(__file__).parent.parent / "skills"
USAGE = {"input_tokens": 1, "output_tokens": 1}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "usage": USAGE}
EVENTS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I know my skills."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USAGE},
    {"type": "message_stop"},
]


class Scripted(BaseHTTPRequestHandler):
    """Says one sentence, and keeps what it was sent."""

    sent: list[str] = []  # noqa: RUF012 - there is one model

    def do_POST(self) -> None:
        self.sent.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in EVENTS:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


async def ask(home: EphemeralHome) -> str:
    options = isolated_options(home, model="claude-sonnet-5")
    results = [message async for message in query(prompt="Which skills?", options=options)]
    return next(str(message.result) for message in results if isinstance(message, ResultMessage))


def main() -> None:
    model = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    config = IsolationConfig(
        skills=SkillConfig(
            (SkillMount(EXAMPLES / "csv-profile"), SkillMount(EXAMPLES / "commit-message", name="mine"))
        ),
        api_key="no key",
        env={"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}"},
        # The scripted model requests no commands. Leave this out with a real one: the sandbox is on by default.
        sandbox=SandboxConfig(enabled=False),
    )
    with EphemeralHome(config) as home:
        print(f"agent: {asyncio.run(ask(home))}")
        print(f"mounted: {', '.join(skill.name for skill in home.report.skills)}")
    print(f"the home exists: {home.path.exists()}")
    request = next(text for text in Scripted.sent if "available for use with the Skill tool" in text)
    print("\nThe skills in the request to the model:")
    for line in re.findall(r"- (?:csv-profile|mine): .*?(?=\\n)", request):
        print(f"  {line}")
    model.shutdown()
    model.server_close()
    # Policies, here the strictest, are written to the client's own settings.
    with EphemeralHome(config.with_changes(sandbox=None)) as home:
        settings = json.loads((home.path / ".claude/settings.json").read_text())
        print(f"\nWithout a network: {settings['sandbox']['network']}")


if __name__ == "__main__":
    main()
