"""Find what an eval cannot show, before anything runs: level 0."""

from __future__ import annotations

import re

from prowess._internal.files import UnreadableError, read_file
from prowess._internal.frozen import Frozen
from prowess._internal.text import neutral, quoted
from prowess.findings import Finding, Severity, finding
from prowess.search import ordered_terms

from ._first_file import REPLACE
from ._statistics import AFTER, BEFORE, COMPARED_PAIRS, MIN_CASES, chance_shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._cases import EvalCase, Evals, Fixture, Grader

_MOST_COMPARED = 1_000
"""Cases that are compared with each other; of more, only equal ones are found."""
_ALIKE = 0.9
"""The share of common words from which on two prompts are nearly the same."""
_REPEATED_WORDS = 8
"""Words in a row of a skill that a grader repeats."""
_SHORTEST_ANSWER = 8
"""Characters of a text that is an answer if a file of the case has it."""
_MOST_FIXTURE_BYTES = 256 * 1024
_MOST_FIXTURES_BYTES = 64 * 1024 * 1024
"""Of the files of all cases; a file counts for each case that has it."""
_VAGUE = frozenset(
    """
    answer response result output task work job agent skill assistant good great well nice fine correct correctly
    right proper properly appropriate appropriately high quality helpful useful clear clearly complete completely
    success successful successfully expected valid sensible reasonable satisfactory user request needs best
    practice practices follows follow looks works done handles handle
    """.split()  # noqa: SIM905 - a list of quoted words would be four times as long
)
"""Words that praise a result, or only say that there is one."""
_find_words = re.compile(r"[\w'-]+").findall


class Power(Frozen):
    """How often a plan shows an improvement."""

    cases: int
    runs: int
    shown: float
    """The chance to show that passing rises from `BEFORE` to `AFTER`."""
    compared: float | None
    """The same with `COMPARED_PAIRS` pairs; `None` if the plan has as many."""

    def as_dict(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            "cases": self.cases,
            "runs": self.runs,
            "pairs": self.cases * self.runs,
            "from": BEFORE,
            "to": AFTER,
            "shown": round(self.shown, 4),
            "compared": None if self.compared is None else {"pairs": COMPARED_PAIRS, "shown": round(self.compared, 4)},
        }

    @property
    def sentence(self) -> str:
        """The power in words."""
        plan = f"{_count(self.cases, 'case')} with {_count(self.runs, 'run')}"
        plan = f"{plan} {'is' if self.cases == 1 else 'are'} {_count(self.cases * self.runs, 'pair')}"
        text = f"{plan}: an improvement from {BEFORE:.0%} to {AFTER:.0%} is shown in {_of_100(self.shown)} evaluations"
        if self.compared is not None:
            text += f"; {COMPARED_PAIRS} pairs would show it in {_of_100(self.compared).partition(' ')[0]}"
        return text.replace("%", " %")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _of_100(chance: float) -> str:
    """Return a chance as a count: never 100, since chance stays."""
    return f"{min(round(chance * 100), 99)} of 100"


def measure_power(cases: int, runs: int, *, open_ended: bool = False) -> Power:
    """Return how often a plan with some cases and runs of each shows an improvement."""
    pairs = cases * runs
    compared = chance_shown(COMPARED_PAIRS, open_ended=open_ended) if pairs < COMPARED_PAIRS else None
    return Power(cases=cases, runs=runs, shown=chance_shown(pairs, open_ended=open_ended), compared=compared)


def find_weaknesses(evals: Evals) -> tuple[Finding, ...]:
    """Return why an eval cannot show what it should: those of the whole first, then case by case."""
    if not evals.cases:
        return () if evals.files else (_no_evals(evals),)
    found = [*_of_all(evals), *_similar(evals.cases)]
    body = _runs_of_words(f"{evals.description}\n{evals.body}")
    texts = _Texts()
    for case in evals.cases:
        found += _of_case(case, body, texts)
    return tuple(found)


def _no_evals(evals: Evals) -> Finding:
    hint = "`prowess eval init SKILL` writes a first file; `--cases` names one that is somewhere else"
    return finding("eval-unsound", f"{quoted(evals.name)} has no evals", path=evals.folder, hint=hint)


def _weak(case: EvalCase | Grader, path: str, message: str, hint: str) -> Finding:
    return finding("eval-unsound", neutral(message), path=path, line=case.line, column=case.column, hint=hint)


def _of_all(evals: Evals) -> Iterator[Finding]:
    cases, first = evals.cases, evals.cases[0]
    path = evals.files[0]
    if len(cases) < MIN_CASES:
        message = f"{_count(len(cases), 'case')}, so no verdict about other tasks is possible"
        yield finding("eval-unsound", message, path=path, line=1, hint=f"write at least {MIN_CASES} cases")
    yield from _without_others(evals)
    if not any(case.triggers for case in cases):
        message = "no case is one in which the skill must be used"
        yield _weak(first, first.path, message, "add tasks that it is for")


def _without_others(evals: Evals) -> Iterator[Finding]:
    """Yield that no case shows whether the skill is used too often."""
    if all(case.triggers for case in evals.cases):
        message = "no case is one in which the skill must not be used"
        hint = 'add tasks that only look like its own, with `"should_trigger": false`'
        yield finding("eval-unsound", message, path=evals.files[0], line=1, column=1, hint=hint)


def check_evals(evals: Evals) -> Iterator[Finding]:
    """Yield what a check says of evals: what is wrong with their files, and that no case is about other tasks."""
    yield from evals.findings
    if evals.cases and not evals.findings:
        # Every eval starts like this, so it is no warning; and after a mistake, it is not known which cases count.
        yield from (item.with_changes(severity=Severity.INFO) for item in _without_others(evals))


def _similar(cases: tuple[EvalCase, ...]) -> Iterator[Finding]:
    """Yield the cases that are nearly the same as an earlier one."""
    hint = "change what it asks for, or remove it; a copy counts twice and shows nothing new"
    seen: dict[str, EvalCase] = {}
    words: list[tuple[EvalCase, frozenset[str]]] = []
    for case in cases:
        same = seen.setdefault(" ".join(case.prompt.lower().split()), case)
        own = frozenset(ordered_terms(case.prompt))
        if same is case and len(cases) <= _MOST_COMPARED:
            same = next((other for other, terms in words if _are_alike(own, terms)), case)
            words.append((case, own))
        if same is not case:
            nearly = "the same prompt as" if same.prompt == case.prompt else "nearly the same prompt as"
            yield _weak(case, case.path, f"case {quoted(case.id)} has {nearly} {quoted(same.id)}", hint)


def _are_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    return len(first & second) >= _ALIKE * len(first | second) and len(first | second) > 3


def _of_case(case: EvalCase, body: frozenset[tuple[str, ...]], texts: _Texts) -> Iterator[Finding]:
    if case.prompt.startswith(REPLACE):
        message = f"the prompt of {quoted(case.id)} is the one that `prowess eval init` wrote"
        yield _weak(case, case.path, message, "write a task as a user would")
        return
    if case.expected.strip() and not case.graders:
        yield _weak(
            case,
            case.path,
            f"no grader looks at the expected output of {quoted(case.id)}",
            "add `assertions` that say what is checked",
        )
    answers = texts.find(case)
    for grader in case.graders:
        if grader.kind == "judge" and grader.text and (_is_vague(grader.text) or grader.text.startswith(REPLACE)):
            message = f"{quoted(grader.text)} names nothing that can be observed"
            yield _weak(grader, case.path, message, "name a file, a value, a command or a text that must be there")
        elif grader.kind in ("judge", "output-contains") and _runs_of_words(grader.text) & body:
            message = f"{quoted(grader.text)} repeats words of the skill, so it tests parroting, not results"
            yield _weak(grader, case.path, message, "say what the result must be, in other words")
        if _is_answer(grader) and grader.text in answers:
            message = f"{quoted(answers[grader.text])} contains the answer {quoted(grader.text)}"
            yield _weak(grader, case.path, message, "look for something that the agent must work out")


def _is_answer(grader: Grader) -> bool:
    return grader.kind in ("output-contains", "file-contains") and len(grader.text) >= _SHORTEST_ANSWER


def _is_vague(text: str) -> bool:
    """Return whether a sentence has no word but praise."""
    words = [word.lower() for word in _find_words(text)]
    content = [word for word in words if ordered_terms(word)]
    return not any(word not in _VAGUE for word in content)


def _runs_of_words(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.lower() for word in _find_words(text)]
    return frozenset(tuple(words[start : start + _REPEATED_WORDS]) for start in range(len(words) - _REPEATED_WORDS + 1))


class _Texts:
    """Looks for answers in the files of cases: one file at a time is held, and so many bytes are read of all."""

    def __init__(self) -> None:
        self._left = _MOST_FIXTURES_BYTES

    def find(self, case: EvalCase) -> dict[str, str]:
        """Return each answer that a file of the case contains, with the first such file."""
        wanted = {grader.text for grader in case.graders if _is_answer(grader)}
        found: dict[str, str] = {}
        for fixture in case.fixtures:
            missing = wanted - found.keys()
            if missing:
                text = self._text_of(fixture)
                found |= {answer: fixture.path for answer in missing if answer in text}
        return found

    def _text_of(self, fixture: Fixture) -> str:
        """Return the text of a file; empty if it is not text, or too large to be read."""
        if not fixture.source:
            return fixture.text
        try:
            data = read_file(fixture.source, min(_MOST_FIXTURE_BYTES, self._left))
        except UnreadableError:
            return ""
        self._left -= len(data)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return ""
