"""Skills in the shapes of published ones act in an agent: a scripted model activates each, and runs its script.

The shapes were found in the skills of anthropics/skills, github/awesome-copilot and davila7/claude-code-templates.
"""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from prowess import Scripts, Session, Trust, discover
from prowess.adapters.pydantic_ai import Skills
from support.skills import skill

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from pathlib import Path

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.slow]

SKILLS: dict[str, dict[str, str]] = {
    # A program with options that reads a table and prints JSON, as one that ranks the features of a product.
    "feature-ranks": {
        "scripts/rank.py": """\
#!/usr/bin/env python3
import argparse, csv, json

parser = argparse.ArgumentParser()
parser.add_argument("table")
parser.add_argument("--best", type=int, default=3)
options = parser.parse_args()
with open(options.table, newline="") as file:
    rows = [{**row, "rank": int(row["reach"]) / int(row["effort"])} for row in csv.DictReader(file)]
rows.sort(key=lambda row: -row["rank"])
print(json.dumps(rows[: options.best]))
"""
    },
    # A check in bash with colors and symbols, as one that looks at the front matter of an agent.
    "agent-check": {
        "scripts/check.sh": """\
#!/bin/bash
set -euo pipefail
RED='\\033[0;31m'; GREEN='\\033[0;32m'; NC='\\033[0m'
[ $# -eq 1 ] || { echo "usage: $0 FILE"; exit 2; }
if [ "$(head -1 "$1")" != "---" ]; then echo -e "${RED}✗${NC} no front matter"; exit 1; fi
for field in name description; do
  grep -q "^$field:" "$1" && echo -e "${GREEN}✓${NC} $field" || { echo -e "${RED}✗${NC} $field"; exit 1; }
done
"""
    },
    # A validator in JavaScript modules, as one for maps of evidence.
    "map-check": {
        "scripts/contract.mjs": "export const required = ['title', 'nodes'];\n",
        "scripts/validate.mjs": """\
#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { required } from './contract.mjs';
const map = JSON.parse(await readFile(process.argv[2], 'utf-8'));
const missing = required.filter((key) => !(key in map));
console.log(missing.length ? `INVALID: ${missing}` : 'VALID');
process.exit(missing.length ? 1 : 0);
""",
    },
    # A form in the terminal that asks one question after the other, as one for reports of bugs.
    "bug-form": {
        "scripts/form.sh": """\
#!/bin/bash
read -r -p "Title: " title
read -r -p "Severity (1-4): " severity
mkdir -p reports
printf '# %s\\n\\nSeverity: %s\\n' "$title" "$severity" > reports/bug.md
echo "Saved reports/bug.md"
"""
    },
    # A package of modules that unpacks a document, as those for office files.
    "office-files": {
        "scripts/office/__init__.py": "",
        "scripts/office/names.py": "def inner_names(archive):\n    return sorted(archive.namelist())\n",
        "scripts/office/unpack.py": """\
import sys, zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from office.names import inner_names

with zipfile.ZipFile(sys.argv[1]) as archive:
    archive.extractall(sys.argv[2])
    print(*inner_names(archive), sep="\\n")
""",
    },
    # A program that needs a package which is not installed, as those for PDF files.
    "page-forms": {"scripts/fields.py": "import nosuchpdflibrary\nprint(nosuchpdflibrary.fields())\n"},
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with these skills and the files that a user would have."""
    for name, files in SKILLS.items():
        folder = skill(tmp_path / "project/.agents/skills" / name).parent
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    work = tmp_path / "project"
    (work / "features.csv").write_text("name,reach,effort\na,10,5\nb,30,3\n")
    (work / "agent.md").write_text("---\nname: counter\ndescription: Counts.\n---\n")
    (work / "map.json").write_text('{"title": "x"}')
    with zipfile.ZipFile(work / "letter.docx", "w") as archive:
        archive.writestr("word/document.xml", "<document/>")
    return work


RUNS: list[Any] = [
    (
        "feature-ranks",
        {"script": "scripts/rank.py", "args": ["features.csv", "--best", "1"]},
        'exit code 0\nstdout:\n[{"name": "b", "reach": "30", "effort": "3", "rank": 10.0}]',
    ),
    (
        "agent-check",
        {"script": "scripts/check.sh", "args": ["agent.md"]},
        "exit code 0\nstdout:\n✓ name\n✓ description",
    ),
    pytest.param(
        "map-check",
        {"script": "scripts/validate.mjs", "args": ["map.json"]},
        "exit code 1\nstdout:\nINVALID: nodes",
        marks=pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
    ),
    (
        "bug-form",
        {"script": "scripts/form.sh", "input": "Broken button\n2\n"},
        (
            "exit code 0\nstdout:\nSaved reports/bug.md\nfiles it wrote, which `read_script_file` reads:\n"
            "- reports/bug.md (29 bytes)"
        ),
    ),
    (
        "office-files",
        {"script": "scripts/office/unpack.py", "args": ["letter.docx", "out"]},
        (
            "exit code 0\nstdout:\nword/document.xml\nfiles it wrote, which `read_script_file` reads:\n"
            "- out/word/document.xml (11 bytes)"
        ),
    ),
    (
        "page-forms",
        {"script": "scripts/fields.py"},
        "hint: the Python package of the module `nosuchpdflibrary` is missing: `pip install nosuchpdflibrary`",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "answer"), RUNS)
def test_a_skill_of_a_published_shape_acts(
    project: Path, name: str, arguments: dict[str, Any], answer: str, loop: AbstractEventLoop
) -> None:
    """Refused at first, with the command that trusts it; then its script works on the files of the project."""
    catalog, trust = discover(project), Trust(str(project.parent / "trust.json"))
    calls = [("activate_skill", {"name": name}), ("run_skill_script", {"skill": name, **arguments})]

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} >= {"run_skill_script", "read_script_file"}
        step = sum(isinstance(message, ModelResponse) for message in messages) % 3
        return ModelResponse([ToolCallPart(*calls[step])] if step < 2 else [TextPart("Done.")])

    session = Session(catalog, trust=trust)
    agent = Agent(FunctionModel(model), capabilities=[Skills(session, scripts=Scripts(cwd=project))])
    assert f"`prowess trust {project}/.agents/skills/{name}`" in last_answer(agent, "Try it.")
    trust.allow(catalog.resolve(name))
    assert last_answer(agent, "Try it again.").endswith(answer)


def last_answer(agent: Agent[None, str], prompt: str) -> str:
    """Return what the model got for its last call of a tool."""
    messages = agent.run_sync(prompt).all_messages()
    return [str(part.content) for message in messages for part in message.parts if isinstance(part, ToolReturnPart)][-1]
