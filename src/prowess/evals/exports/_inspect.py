"""Write the cases of a skill as a task of `inspect-ai`, which runs them with its own agents, models and sandboxes.

The names are those of inspect-ai 0.3.285: the agent `react`, the tool `bash`, and `skill`, which installs a skill.
"""

from __future__ import annotations

import json
import keyword
import re
from base64 import b64encode

from prowess._internal.files import UnreadableError, read_file
from prowess.errors import ConfigError
from prowess.evals._graders import python_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.evals._cases import Evals, Fixture

_KINDS = ("output-contains", "output-not-contains", "output-matches", "output-not-matches")
"""Graders that the task has itself; sentences are for its own judge."""
_MOST_FILE_BYTES = 1024 * 1024
_TASK = '''\
"""The cases of a skill as a task of inspect-ai, written by `prowess eval --export inspect=FILE`.

    inspect eval FILE --model MODEL                          with the skill
    inspect eval FILE --model MODEL -T with_skill=false      without it

{left_out} of {graders} graders are left out: inspect-ai has no such grader.
"""

import json
import re

from inspect_ai import Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, mean, model_graded_qa, scorer, stderr
from inspect_ai.tool import bash, skill

SKILL = {skill}
CASES = json.loads({cases})


@scorer(metrics=[mean(), stderr()])
def graders():
    """Pass if the answer is as all graders of the case say."""

    async def score(state, target):
        text = state.output.completion
        passed = []
        for grader in state.metadata["graders"]:
            found = grader["text"] in text if "contains" in grader["kind"] else bool(re.search(grader["text"], text))
            passed.append(found is ("-not-" not in grader["kind"]))
        return Score(value=float(all(passed)), answer=text)

    return score


@task
def {name}(with_skill: bool = True):
    """Run the cases with the skill or without it."""
    samples = [
        Sample(
            id=case["id"],
            input=case["prompt"],
            target=case["sentences"],
            files=case["files"],
            metadata={{"graders": case["graders"]}},
        )
        for case in CASES
    ]
    tools = [bash(timeout=120), *([skill([SKILL])] if with_skill else [])]
    scorers = [graders(), *([model_graded_qa()] if any(case["sentences"] for case in CASES) else [])]
    return Task(dataset=samples, solver=react(tools=tools), scorer=scorers, sandbox="docker")
'''


def inspect_task(evals: Evals) -> bytes:
    """Return a Python file with a task.

    Args:
        evals: the cases, of a skill that is there.

    Raises:
        ConfigError: a file of a case cannot be read.
    """
    cases = []
    count = usable = 0
    for case in evals.cases:
        sentences = [grader.text for grader in case.graders if grader.kind == "judge" and grader.text.strip()]
        graders = [
            {"kind": item.kind, "text": python_pattern(item.text) if item.kind.endswith("matches") else item.text}
            for item in case.graders
            if item.kind in _KINDS
        ]
        count, usable = count + len(case.graders), usable + len(graders) + len(sentences)
        cases.append(
            {
                "id": case.id,
                "prompt": case.prompt,
                "sentences": "\n".join(filter(None, [case.expected, *sentences])),
                "graders": graders,
                "files": {fixture.path: _data_url(fixture) for fixture in case.fixtures},
            }
        )
    name = re.sub(r"\W+", "_", evals.name, flags=re.ASCII).strip("_").lower() or "skill"
    if name[0].isdigit() or keyword.iskeyword(name):
        name = f"skill_{name}"
    # A literal of ASCII text, in which nothing of the cases is code.
    text = _TASK.format(
        left_out=count - usable, graders=count, skill=ascii(evals.folder), cases=ascii(json.dumps(cases)), name=name
    )
    return text.encode("ascii")


def _data_url(fixture: Fixture) -> str:
    try:
        data = read_file(fixture.source, _MOST_FILE_BYTES) if fixture.source else fixture.text.encode()
    except UnreadableError as error:
        raise ConfigError(f"`--export inspect`: {error.message}", hint="use smaller files") from None
    return f"data:application/octet-stream;base64,{b64encode(data).decode('ascii')}"
