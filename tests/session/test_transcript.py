"""Sessions under frameworks that forget parts of a conversation."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from prowess.session import Session
from support.sessions import SKILLS, new_session, tools_by_name

if TYPE_CHECKING:
    from pathlib import Path


class Transcript:
    """The texts that a framework keeps of a conversation; it may drop or summarize the first ones at any time."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.kept: list[str] = []
        self.now: list[str] = []
        """Messages of this turn."""
        self.chosen: set[str] = set()

    def step(self, chance: random.Random) -> None:
        what = chance.choice(["turn", "turn", "activate", "activate", "read", "compact", "process"])
        if what == "turn":
            text = chance.choice(
                ["go on", "use $pdf", "$xls and /manual", "don't use the pdf skill", "$manual $manual"]
            )
            self.now = [message["content"] for message in self.session.inject(text, visible=self.kept)]
            self.kept.append(text)
        elif what == "activate":
            name = chance.choice(["pdf", "xls", "manual", "nothing"])
            answer = tools_by_name(self.session)["activate_skill"].call(name=name)
            self.chosen |= {name} & {"pdf", "xls"}
            # A skill of this turn is visible still, or the tool has repeated it.
            self.kept.append(answer)
        elif what == "read":
            self.kept.append(tools_by_name(self.session)["read_skill_file"].call(name="pdf", path="a.md"))
        elif what == "compact":
            cut = chance.randint(0, len(self.kept))
            summary = ["The user wanted something; skills were used."] if chance.random() < 0.5 else []
            self.kept = summary + self.kept[cut:]
        else:
            self.session = Session.from_json(self.session.to_json(), self.session.catalog, env={})

    def sent(self) -> str:
        seen = [*self.kept, *self.now]
        return "\n".join([self.session.static_block(), *seen, self.session.tail(visible=seen)])


@pytest.mark.parametrize("seed", range(60))
def test_the_model_is_sent_each_skill_once_whatever_a_framework_forgets(seed: int, project: Path) -> None:
    """The catalog exactly once, each body at most once, and exactly once if the model activated it."""
    (project / SKILLS / "pdf/a.md").write_text("a file\n")
    chance = random.Random(seed)  # noqa: S311 - a test
    transcript = Transcript(new_session(project))
    bodies = {"pdf": "Do pdf.", "xls": "Do xls.", "manual": "Do by hand."}
    for _ in range(25):
        transcript.step(chance)
        sent = transcript.sent()
        assert sent.count("<available_skills>") == 1
        counts = {name: sent.count(body) for name, body in bodies.items()}
        assert max(counts.values()) <= 1
        assert all(counts[name] == 1 for name in transcript.chosen)
