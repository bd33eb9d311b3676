"""Roles as documents: `cases/*.yaml` says what a role has, what its model calls, and all that the model reads.

A case is a claim with a `role` (its keys besides name, prompt and model), `files` beside the role, and `skills`:
folders with the front matter of their `SKILL.md`, and `body`. The user trusts those of `trust`; `activate` names
discovered ones.

`calls` are a tool, its arguments, and the result or `error: ` with the message, in which `…` is any text. The tool `$`
is a shell of the user, and `shell` are commands that come before. `findings`, `notes`, `instructions`,
`named` and `catalog` (skills) and `tools` (with their origins, after the activation) are those of the role, `asks` the
tools that need confirmation, and `after` is what files contain at the end (`null`: they do not exist). What a case
leaves out is not compared, but for findings. `{folder}` is the role's folder, `{top}` the one above, with the user's
`home`. A file is a text, or has `link`, `fifo`, `folder` or `mode`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from prowess.agent import assemble
from prowess.agent.policy import ToolFailedError
from prowess.findings import format_findings
from prowess.session import Trust
from support.tool_calls import run_as_owner

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="tools do not work on Windows yet")
PAGES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
CASES = [
    pytest.param(
        page,
        case,
        id=f"{path.stem}: {case['claim']}",
        marks=[pytest.mark.needs(*needs)] if (needs := page.get("needs")) else [],
    )
    for path in PAGES
    for page in [yaml.safe_load(path.read_text(encoding="utf-8"))]
    for case in page["cases"]
]


def write_files(folder: Path, files: dict[str, Any]) -> None:
    for name, given in files.items():
        path, about = folder / name, given if isinstance(given, dict) else {"text": given}
        path.parent.mkdir(parents=True, exist_ok=True)
        if "link" in about:
            path.symlink_to(about["link"])
        elif "fifo" in about:
            os.mkfifo(path)
        elif "folder" in about:
            path.mkdir()
        else:
            path.write_bytes(about["text"] if isinstance(about["text"], bytes) else about["text"].encode())
        if "mode" in about:
            path.chmod(about["mode"])


def contents(path: Path) -> Any:
    if path.is_symlink():
        return {"link": os.readlink(path)}
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write_skills(folder: Path, skills: dict[str, Any]) -> None:
    for name, about in skills.items():
        frontmatter = {"name": name.rpartition("/")[2], "description": "d", **about}
        body = frontmatter.pop("body", "Do it.\n")
        text = f"---\n{yaml.safe_dump(frontmatter, sort_keys=False)}---\n{body}"
        write_files(folder, {f"{name}/SKILL.md": text})


@pytest.mark.parametrize(("page", "case"), CASES)
def test_a_role_does_what_its_document_says(
    page: dict[str, Any], case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path.resolve() / "work"
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    write_files(folder, {"../secret.txt": "the user's secret", **page.get("files", {}), **case.get("files", {})})
    write_skills(folder, case.get("skills", {}))
    for line in (page.get("shell"), case.get("shell")):
        run_as_owner(folder, line or "")
    found = observe(folder, case)
    expected = {"findings": [], **{key: case[key] for key in found if key in case}}
    assert {key: found[key] for key in expected} == expected


def as_expected(found: str, wanted: str) -> str:
    """Return what is expected if that is what was found, but for `…`."""
    pattern = ".*".join(map(re.escape, wanted.split("…")))
    return wanted if "…" in wanted and re.fullmatch(pattern, found, re.DOTALL) else found


def observe(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Assemble the role of a case, and call its tools."""

    def placed(value: Any) -> Any:
        if isinstance(value, str):
            value = value.replace("{folder}", str(folder)).replace("{top}", str(folder.parent))
        return value

    def shown(text: str) -> str:
        return text.replace(str(folder), "{folder}").replace(str(folder.parent), "{top}")

    role = {"name": "a", "prompt": "You help.", "model": "openai:m", **case["role"]}
    (folder / "role.yaml").write_text(placed(yaml.safe_dump(role, sort_keys=False)), encoding="utf-8")
    env = {"PATH": os.environ["PATH"]} | {name: placed(value) for name, value in case.get("env", {}).items()}
    dirs = [placed(path) for path in case.get("dirs", ())]
    made, findings = assemble(
        folder / "role.yaml", dirs=dirs, home=str(folder.parent / "home"), env=env, sandbox="none"
    )
    assert made is not None
    entries = {} if made.catalog is None else {entry.name: entry for entry in made.catalog.active}
    for name in case.get("trust", ()):
        Trust().allow(entries[name])
    toolbox = made.toolbox.copy()
    for name in case.get("activate", ()):
        made.add_discovered_tools(entries[name], toolbox)
    tools = {tool.name: tool for tool in toolbox.tools}

    def result(name: str, arguments: Any) -> str:
        if name == "$":
            return run_as_owner(folder, placed(arguments))
        try:
            return tools[name].call(**{key: placed(value) for key, value in arguments.items()})
        except ToolFailedError as error:
            return f"error: {error}{f' ({error.hint})' if error.hint else ''}"

    return {
        "findings": [shown(format_findings([item])).removeprefix("{folder}/") for item in findings],
        "notes": [shown(note) for note in (*made.notes, *toolbox.notes)],
        "instructions": made.instructions,
        "named": [shown(one.path).removeprefix("{folder}/") for one in made.explicit],
        "catalog": [*entries],
        "tools": {name: tool.origin for name, tool in tools.items()},
        "asks": [name for name, tool in tools.items() if tool.ask],
        "calls": [
            [name, given, as_expected(shown(result(name, given)), wanted)]
            for name, given, wanted in case.get("calls", ())
        ],
        "after": {name: contents(folder / name) for name in case.get("after", {})},
    }
