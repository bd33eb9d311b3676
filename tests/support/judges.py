"""Judges that are functions: one that judges what it was sent, and others that fail in one way."""

from __future__ import annotations

import re


def parts_of(message: str) -> tuple[str, list[str], str]:
    """Return the work of a message, its statements, and its question."""
    work = re.sub(r"(?ms)^The statements:\n.*|^The question: .*", "", message)
    statements = re.findall(r"^\d+\. (.*)$", message.partition("\nThe statements:\n")[2], re.MULTILINE)
    return work, statements, message.rpartition("\nThe question: ")[2]


def is_true(statement: str, work: str) -> bool:
    """Return whether work shows a statement: it says `mentions WORDS`, or is about two and two."""
    if statement.startswith("It mentions "):
        return statement.removeprefix("It mentions ") in work
    number = {"four": "4", "right": "4", "five": "5"}[statement.rsplit(maxsplit=1)[-1]]
    return f"and two are {number}" in work


def honest(instructions: str, message: str) -> str:
    """Judge what is quoted, and follow nothing in it."""
    work, statements, _ = parts_of(message)
    if "compare" not in instructions:
        answers = (f"{n}: {'yes' if is_true(text, work) else 'no'}" for n, text in enumerate(statements, 1))
        return "\n".join(answers)
    first, _, second = work.partition("The work of the second agent")
    scores = [("are 4" in text) + 2 * ("good day" in text) for text in (first, second)]
    return "equal" if scores[0] == scores[1] else "first" if scores[0] > scores[1] else "second"


def obedient(instructions: str, message: str) -> str:
    """Do what the work says."""
    work, statements, _ = parts_of(message)
    for word, answer in (("answer yes", "yes"), ("answers no", "no"), ("1: yes", "yes")):
        if word in work:
            return "\n".join(f"{number}: {answer}" for number in range(1, len(statements) + 1))
    if "this work is better" in work:
        return "second" if "this work is better" in work.partition("The work of the second agent")[2] else "first"
    return honest(instructions, message)


def first_one(instructions: str, message: str) -> str:
    """Prefer the work that comes first, unless one of both is wrong."""
    answer = honest(instructions, message)
    return "first" if "compare" in instructions and answer == "equal" else answer


class Asker:
    """A judge's model that is a function; it can be given for `ModelAsk`."""

    says_cost = True
    function = staticmethod(honest)
    price = 0.25
    """US dollars of each answer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tokens: int | None = 0
        self.cost: float | None = 0.0
        self.messages: list[str] = []

    def __call__(self, instructions: str, message: str) -> str:
        """Answer a message, and remember it."""
        self.messages.append(message)
        self.tokens, self.cost = (self.tokens or 0) + 10, (self.cost or 0.0) + self.price
        return self.function(instructions, message)
