"""The tail: the active skills once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import prowess._internal.files
import prowess.session._activation
from prowess.prompt import estimate_tokens
from support.sessions import SKILLS, new_session
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path


def test_the_tail_leaves_out_visible_content(project: Path) -> None:
    """Inside any text; if all of it is visible there is no tail."""
    session = new_session(project)
    one, two = session.activate("pdf").content, session.activate("xls").content
    assert one not in session.tail(visible=[f"a tool said: {one}!"])
    assert two in session.tail(visible=iter(["x", one]))
    assert session.tail(visible=[f"{one}{two}"]) == ""


def test_what_a_message_activates_now_was_not_activated_earlier(project: Path) -> None:
    """It comes first, as its content alone."""
    session = new_session(project)
    (named,) = session.inject("Use $pdf.")
    content = named["content"]
    assert session.tail() == content
    xls = session.activate("xls").content
    assert session.tail() == (
        f"{content}\n\n<active_skills>\n"
        f"These skills were activated earlier in this conversation and still apply.\n{xls}\n</active_skills>"
    )
    name = "Also active; call `activate_skill` or `read_skill_file` to read them: pdf"
    assert session.tail(len(content) - 1, visible=[xls]) == f"<active_skills>\n{name}\n</active_skills>"
    session.next_turn()
    assert content not in session.tail()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["chars", "tokens"])
def test_the_tail_fits_every_budget(unit: str, project: Path) -> None:
    """A skill is in it whole, by name, or not at all."""
    skill(project / SKILLS / "big", body="Größe €. " * 60)
    session = new_session(project, unit=unit)
    texts = {name: session.activate(name).content for name in ("pdf", "big", "xls")}
    size = estimate_tokens if unit == "tokens" else len
    whole = session.tail()
    sizes = []
    names = estimate_tokens("x" * 200) if unit == "tokens" else 200
    for budget in range(size(whole) + 2):
        text = session.tail(budget)
        assert size(text) <= budget
        assert budget < names if text == "" else "activated earlier in this conversation" in text
        for name, content in texts.items():
            assert text.count(content) <= 1
            assert f'<skill_content name="{name}">' not in text or content in text
        sizes.append(sum(content in text for content in texts.values()))
    assert session.tail(size(whole)) == whole
    assert (sizes[0], sizes[-1], set(sizes)) == (0, 3, {0, 1, 2, 3})


def test_the_tail_does_not_read_all_files_of_a_skill(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is rendered for each request; digests are for the ledger."""
    session = new_session(project)
    session.activate("pdf")
    monkeypatch.setattr(prowess.session._activation, "skill_digest", lambda _: pytest.fail("a digest was made"))
    assert "Do pdf." in session.tail()
