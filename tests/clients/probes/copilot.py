"""Ask GitHub Copilot CLI: `copilot skill list --json`, and the system message of one prompt to a model of one's own."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from clients._probe import Answer, ClientError, Listed, Probe, Shown

if TYPE_CHECKING:
    from clients._probe import Clients, Question

PROGRAM = "@github/copilot-linux-x64/copilot"
SKILL = re.compile(
    r"<skill>\n  <name>(.*?)</name>\n  <description>(.*?)</description>\n  <location>(.*?)</location>\n</skill>",
    re.DOTALL,
)
REST = re.compile(r"^Additional skills available \(invoke by name\): (.*)$", re.MULTILINE)


def environment(clients: Clients) -> dict[str, str]:
    """Return the variables of every run: no network, and its unpacked program in one place for all homes."""
    unpacked = clients.file(PROGRAM).parents[3] / "copilot-package"
    return {"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_PKG_CACHE_HOME": str(unpacked)}


def skill_file(folder: str) -> str | None:
    """Return the file of a skill in a folder of its list; nothing for a command, whose folder has many."""
    file = Path(folder) / "SKILL.md"
    return str(file) if file.is_file() and file.parent.name != "commands" else None


def listed(question: Question, clients: Clients) -> tuple[list[Listed], set[str]]:
    """Return its list, and the names of its bundled skills."""
    argv = [str(clients.file(PROGRAM)), *question.args, "skill", "list", "--json"]
    run = clients.run(argv, question, environment(clients))
    if run.returncode != 0:
        raise ClientError(f"`skill list` failed: {run.stderr.strip()[-500:]}")
    rows = json.loads(run.stdout)
    bundled = {row["name"] for row in rows if row["source"] == "builtin"}
    folders = [row["path"] for row in rows]
    own = [
        Listed(
            row["name"],
            skill_file(row["path"]) if folders.count(row["path"]) == 1 else None,
            row["description"],
            row["enabled"],
        )
        for row in rows
        if row["source"] != "builtin"
    ]
    return own, bundled


def catalog(question: Question, clients: Clients) -> str:
    """Return what the model got: the part of the system message with the skills, or an empty text."""
    with clients.model() as model:
        provider = {
            "COPILOT_PROVIDER_BASE_URL": model.url,
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "key",
            "COPILOT_MODEL": "claude-sonnet-4.6",
        }
        argv = [str(clients.file(PROGRAM)), *question.args, "-p", "hi"]
        run = clients.run(argv, question, environment(clients) | provider)
        posted = [request for request in model.requests if request.path.endswith("/messages")]
    if not posted:
        raise ClientError(f"the model was asked nothing: {run.stderr.strip()[-500:]}")
    system = posted[0].json()["system"]
    text = system if isinstance(system, str) else "\n".join(part["text"] for part in system)
    start, end = text.find("<skill>\n<available_skills>"), text.rfind("</available_skills>\n</skill>")
    return text[start:end] if -1 < start < end else ""


def shown(text: str, rows: list[Listed], bundled: set[str]) -> list[Shown]:
    """Return the skills of a catalog; those that it only names have an empty description."""
    paths = {row.name: row for row in rows}
    entries = [
        (html.unescape(name), html.unescape(description))
        for name, description, scope in SKILL.findall(text)
        if scope != "builtin"
    ]
    named = REST.search(text)
    rest = [html.unescape(name) for name in named.group(1).split(", ")] if named else []
    entries += [(name, "") for name in rest if name not in bundled]
    answers = []
    for name, description in entries:
        row = paths.get(name)
        same = row is not None and description in ("", row.description)
        answers.append(Shown(name, description, row.path if row and same else None))
    return answers


def ask(question: Question, clients: Clients) -> Answer:
    """Ask for its list first, since a conversation writes to the home.

    The list takes the options of a conversation, but looks into no folder of `--add-dir`: of a skill that has the name
    of one there, a conversation knows nothing.
    """
    rows, bundled = listed(question, clients)
    entries = shown(catalog(question, clients), rows, bundled)
    if "--add-dir" in question.args:
        descriptions = {entry.name: entry.description for entry in entries}
        rows = [row for row in rows if descriptions.get(row.name, row.description) in ("", row.description)]
    return Answer(listed=rows, shown=entries)


PROBE = Probe(
    client="copilot",
    packages={"@github/copilot": "1.0.102"},
    project=".github/skills",
    user=".copilot/skills",
    ask=ask,
)
