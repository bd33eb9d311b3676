"""What the records of GitHub Copilot CLI say of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.trajectory import Activation, Offer
from support.recorded import Records, session_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/home/ada/.copilot/skills/pdf"
CATALOG = """You have skills.
<available_skills>
<skill>
  <name>pdf</name>
  <description>Does pdf &amp; forms.</description>
  <location>personal-copilot</location>
</skill>
<skill><name>csv</name><description></description><location>project</location></skill>
Additional skills available (invoke by name): old, new
</available_skills>"""


def copilot(home: Path, records: Records) -> None:
    """Write a session of Copilot, which begins with its own record."""
    start = {"copilotVersion": "1.0.102", "sessionId": "s1", "context": {"cwd": "/work", "gitRoot": "/work"}}
    lines = [
        {"id": f"e{number}", "timestamp": f"2026-11-20T10:00:{number:02}.000Z", **record}
        for number, record in enumerate([event("session.start", **start), *records])
    ]
    write_lines(home / ".copilot/session-state/s1/events.jsonl", lines)


def event(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def call(tool: str, key: str = "c1", **arguments: Any) -> dict[str, Any]:
    return event("tool.execution_start", toolCallId=key, toolName=tool, arguments=arguments)


def done(key: str = "c1", *, success: bool = True, **data: Any) -> dict[str, Any]:
    return event("tool.execution_complete", toolCallId=key, success=success, **data)


def test_the_catalog_ends_with_names_alone(tmp_path: Path) -> None:
    copilot(tmp_path, [event("system.message", content=CATALOG)])
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.version, session.cwd) == ("copilot", "s1", "1.0.102", "/work")
    assert session.catalog == (
        Offer(name="pdf"),
        Offer(name="csv", description="none"),
        Offer(name="old", description="none"),
        Offer(name="new", description="none"),
    )


def test_a_skill_was_used_if_it_was_invoked(tmp_path: Path) -> None:
    """Not if it was called only, or typed in a prompt of `-p`."""
    used = {"name": "pdf", "path": f"{PDF}/SKILL.md", "source": "personal-copilot"}
    copilot(
        tmp_path,
        [
            event("user.message", content="/pdf skill"),
            call("skill", "c1", skill="unknown"),
            done("c1", success=False),
            call("skill", "c2", skill="pdf"),
            done("c2"),
            event("skill.invoked", trigger="agent-invoked", **used),
            event("skill.invoked", trigger="user-invoked", **used),
        ],
    )
    assert session_of(tmp_path).activations == (
        Activation(id="e6", name="pdf", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:06Z"),
        Activation(id="e7", name="pdf", path=f"{PDF}/SKILL.md", by="user", time="2026-11-20T10:00:07Z"),
    )


def test_files_and_scripts(tmp_path: Path) -> None:
    """A command that fails is a success with an exit code."""
    copilot(
        tmp_path,
        [
            call("view", "c1", path=f"{PDF}/forms.md"),
            done("c1"),
            call("bash", "c2", command=f"python3 {PDF}/scripts/fill.py"),
            done("c2", shellExecution={"exitCode": 3}),
            call("view", "c3", path=f"{PDF}/gone.md"),
            done("c3", success=False),
            call("bash", "c4", command=f"{PDF}/scripts/never.sh"),
        ],
    )
    session = session_of(tmp_path)
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/scripts/fill.py", 3)]
