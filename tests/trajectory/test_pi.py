"""What the records of pi say of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prowess.trajectory import Activation, Offer
from support.recorded import Records, session_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

PDF = "/work/.pi/skills/pdf"
CATALOG = f"""<available_skills>
  <skill>
    <name>paper</name>
    <description>Does pdf.</description>
    <location>{PDF}/SKILL.md</location>
  </skill>
</available_skills>"""


def pi(home: Path, records: Records) -> None:
    """Write a session of pi."""
    start = {"type": "session", "version": 3, "id": "s1", "cwd": "/work"}
    lines = [
        {"id": f"e{number}", "timestamp": f"2026-11-20T10:00:{number:02}.000Z", **record}
        for number, record in enumerate([start, *records])
    ]
    write_lines(home / ".pi/agent/sessions/--work--/2026-11-20_s1.jsonl", lines)


def message(role: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, **more}}


def says(text: str = "Do it.") -> dict[str, Any]:
    return message("user", content=[{"type": "text", "text": text}])


def call(tool: str, key: str = "c1", **arguments: Any) -> dict[str, Any]:
    return message("assistant", content=[{"type": "toolCall", "id": key, "name": tool, "arguments": arguments}])


def result(key: str = "c1", text: str = "", *, error: bool = False) -> dict[str, Any]:
    return message("toolResult", toolCallId=key, isError=error, content=[{"type": "text", "text": text}])


def test_reading_skill_md_is_a_use(tmp_path: Path) -> None:
    """By a path that may be relative; the catalog has the name."""
    pi(
        tmp_path,
        [
            message("system", sections={"skills": CATALOG}),
            says(),
            call("read", "c1", path=".pi/skills/pdf/SKILL.md"),
            result("c1", "---"),
            call("read", "c2", path=f"{PDF}/gone/SKILL.md"),
            result("c2", "ENOENT", error=True),
            call("read", "c3", path=f"{PDF}/SKILL.md"),
        ],
    )
    session = session_of(tmp_path)
    assert (session.agent, session.id, session.cwd) == ("pi", "s1", "/work")
    assert session.catalog == (Offer(name="paper", path=f"{PDF}/SKILL.md"),)
    assert session.activations == (
        Activation(id="c1", name="paper", path=f"{PDF}/SKILL.md", by="model", time="2026-11-20T10:00:04Z"),
    )


def test_a_skill_that_the_user_called(tmp_path: Path) -> None:
    text = f'<skill name="pdf" location="{PDF}/SKILL.md">\nDo it well.\n</skill>'
    pi(tmp_path, [says(text), says(f"I typed {text}")])
    (used,) = session_of(tmp_path).activations
    assert (used.id, used.name, used.path, used.by) == ("e1", "pdf", f"{PDF}/SKILL.md", "user")


def test_files_and_scripts(tmp_path: Path) -> None:
    pi(
        tmp_path,
        [
            says(),
            call("read", "c1", path=f"{PDF}/forms.md"),
            result("c1", "Forms"),
            call("bash", "c2", command=f"python3 {PDF}/fill.py"),
            result("c2", "x\n\nCommand exited with code 3", error=True),
            call("bash", "c3", command=f"python3 {PDF}/check.py"),
            result("c3", "x"),
            call("bash", "c4", command=f"python3 {PDF}/never.py"),
            result("c4", "aborted", error=True),
        ],
    )
    session = session_of(tmp_path)
    assert [file.path for file in session.files] == [f"{PDF}/forms.md"]
    assert [(script.path, script.exit) for script in session.scripts] == [(f"{PDF}/fill.py", 3), (f"{PDF}/check.py", 0)]
