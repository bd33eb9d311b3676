"""What a report says: the headline, who loses what, and the change for each loss."""

from __future__ import annotations

import pytest

from prowess.findings import finding
from prowess.report._content import Content, page_content
from support.comparisons import CWD, HOME, compared, comparison, lost, seen


def content(*skills: object, **named: object) -> Content:
    return page_content(comparison(*skills, **named))  # type: ignore[arg-type]


def text(phrases: object) -> str:
    return "".join(phrase.text for phrase in phrases)  # type: ignore[attr-defined]


def skills(total: int, losers: dict[str, int]) -> list[object]:
    """Return skills of which each agent loses the first few."""
    return [
        compared(f"s{number}", *(lost(host) if number < count else seen(host) for host, count in losers.items()))
        for number in range(total)
    ]


@pytest.mark.parametrize(
    ("total", "losers", "headline"),
    [
        (61, {"codex": 0, "copilot": 12}, "GitHub Copilot CLI sees 49 of your 61 skills"),
        (7, {"codex": 1, "copilot": 0}, "OpenAI Codex sees 6 of your 7 skills"),
        (7, {"codex": 3, "copilot": 3}, "OpenAI Codex sees 4 of your 7 skills"),
        (1200, {"codex": 1100}, "OpenAI Codex sees 100 of your 1,200 skills"),
        (7, {"codex": 7, "copilot": 0}, "OpenAI Codex sees none of your 7 skills"),
        (7, {"codex": 7, "copilot": 7}, "No agent sees any of your 7 skills"),
        (7, {"codex": 7, "copilot": 7, "pi": 1}, "OpenAI Codex sees none of your 7 skills"),
        (1, {"codex": 1}, "OpenAI Codex does not see your skill"),
        (7, {"codex": 0, "copilot": 0}, "2 agents see all of your 7 skills"),
        (1, {"codex": 0}, "1 agent sees your skill"),
        (0, {"codex": 0}, "No agent finds a skill from here"),
    ],
)
def test_the_headline_names_the_agent_that_sees_the_fewest(total: int, losers: dict[str, int], headline: str) -> None:
    assert content(*skills(total, losers), hosts=[*losers]).headline == headline


@pytest.mark.parametrize(
    ("hosts", "total", "headline"),
    [
        (["wink"], 2, "WINK sees none of your 2 skills"),
        (["wink"], 1, "WINK does not see your skill"),
        (["codex", "pi"], 2, "No agent sees any of your 2 skills"),
    ],
)
def test_a_skill_that_only_the_user_can_call_is_not_seen(hosts: list[str], total: int, headline: str) -> None:
    rows = [compared(f"s{number}", *(seen(host, "user-only") for host in hosts)) for number in range(total)]
    assert content(*rows).headline == headline


def test_the_agent_that_sees_the_fewest_is_first_everywhere() -> None:
    page = content(*skills(3, {"codex": 1, "copilot": 0, "pi": 2}))
    assert [agent.name for agent in page.agents] == ["pi", "codex", "copilot"]
    first = page.folders[0].rows[0]
    assert [look.shape for look, _ in first.cells] == ["rejected", "rejected", "seen"]
    assert [is_lost for _, is_lost in first.cells] == [True, True, False]


def test_an_agent_has_its_counts() -> None:
    page = content(
        compared("a", lost("pi", "place")),
        compared("b", lost("pi", "place")),
        compared("c", lost("pi", "text")),
        compared("d", seen("pi", "user-only")),
        compared("e", seen("pi")),
    )
    (agent,) = page.agents
    assert (agent.lost, agent.seen) == (3, 1)
    assert agent.others == "2 in another folder, 1 user-only, 1 rejected"


def test_copies_are_shown_but_not_counted() -> None:
    page = content(compared("a", lost("pi")), compared("b", lost("pi"), copy_of="/elsewhere"))
    assert (page.headline, page.total) == ("pi does not see your skill", 1)
    assert [(row.name, row.is_copy, row.is_lost) for row in page.folders[0].rows] == [
        ("a", False, True),
        ("b", True, False),
    ]
    assert [explanation.name for explanation in page.explanations] == ["a"]


def test_an_agent_that_has_a_copy_sees_the_skill() -> None:
    view = seen("pi", "absent").with_changes(rule="skill-copy", winner="/elsewhere")
    page = content(compared("a", view))
    assert (page.agents[0].seen, page.legend[0].label, page.explanations) == (1, "seen", ())


def test_agents_that_lose_a_skill_for_one_reason_share_a_line() -> None:
    """And one command, if they search the same folder."""
    page = content(
        compared(
            "a",
            *(
                lost(host, "place", reason=f"{title} does not search .x/skills", cure=f"prowess mount a --host {host}")
                for host, title in {"codex": "OpenAI Codex", "pi": "pi", "claude-code": "Claude Code"}.items()
            ),
        )
    )
    ((cause,),) = [explanation.causes for explanation in page.explanations]
    assert (cause.agents, text(cause.reason)) == ("OpenAI Codex, pi, Claude Code", "does not search .x/skills")
    assert [change.agents for change in cause.changes] == ["OpenAI Codex, pi", "Claude Code"]
    assert all(change.command.startswith("prowess mount .agents/skills/a --project") for change in cause.changes)


def test_a_cure_in_words_is_no_command() -> None:
    page = content(compared("a", lost("pi", "name", cure="give one of the two another name")))
    (change,) = page.explanations[0].causes[0].changes
    assert (change.command, text(change.advice)) == ("", "give one of the two another name")


def test_an_agent_that_limits_a_skill_has_its_reason() -> None:
    page = content(compared("a", seen("pi", "user-only", "its author said so"), seen("codex")))
    (cause,) = page.explanations[0].causes
    assert (cause.agents, cause.look.label, cause.is_lost) == ("pi", "user-only", False)
    assert (text(cause.reason), page.explanations[0].losers) == ("its author said so", "no agent")


def test_several_skills_that_are_lost_for_one_reason_have_one_command() -> None:
    page = content(
        *(compared(name, lost("codex", "place", cure="prowess mount x")) for name in ("a", "b")),
        compared("d", lost("codex", "name", cure="give it another name")),
        compared("e", lost("codex", "place", cure="prowess mount x"), folder=f"{HOME}/.x/skills"),
    )
    (batch,) = page.batches
    assert (batch.what, batch.losers) == ("2 skills in .agents/skills", "OpenAI Codex")
    assert batch.changes[0].command.startswith("prowess mount .agents/skills/a .agents/skills/b --project --host codex")


def test_a_skill_that_every_agent_loses_says_so_in_short() -> None:
    page = content(compared("a", lost("codex"), lost("pi")), compared("b", lost("codex"), seen("pi")))
    assert [explanation.losers for explanation in page.explanations] == ["all 2 agents", "OpenAI Codex"]


def test_skills_are_grouped_by_folder_and_the_project_is_first() -> None:
    page = content(
        compared("a", seen("pi"), folder=f"{HOME}/.agents/skills"),
        compared("b", seen("pi")),
        compared("c", seen("pi"), folder="/etc/skills"),
        compared("d", seen("pi"), folder=CWD),
    )
    assert [folder.path for folder in page.folders] == [
        "~/project",
        ".agents/skills",
        "/etc/skills",
        "~/.agents/skills",
    ]


def test_paths_of_the_home_are_shown_with_a_tilde() -> None:
    hint = f"see `{HOME}/.x/a.md` and {CWD}/b.md"
    message = f"x{HOME}/no is not the home"
    item = finding("name-case", message, path=f"{HOME}/.x/SKILL.md", line=2, column=3, hint=hint)
    page = content(compared("a", seen("pi"), findings=[item]))
    (problem,) = page.explanations[0].problems
    assert problem.place == "~/.x/SKILL.md:2:3"
    assert text(problem.hint) == "see ~/.x/a.md and b.md"
    assert [phrase.text for phrase in problem.hint if phrase.is_code] == ["~/.x/a.md"]
    assert text(problem.message) == message
    assert problem.link.endswith("/findings/name-case.md")
    assert page.summary == "1 skill for ~/project, as 1 agent sees it."


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"{HOME}/.x/skills/a", "~/.x/skills/a"),
        (f"'{HOME}/my skills/a'", f"'{HOME}/my skills/a'"),
        (f"b={HOME}/a", f"b={HOME}/a"),
        (f"{HOME}x/a", f"{HOME}x/a"),
        (f"/x{HOME}/a", f"/x{HOME}/a"),
        (f"{HOME}/$(id)", f"{HOME}/$(id)"),
    ],
)
def test_a_command_has_a_tilde_where_a_shell_expands_it(path: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the home is that of the user who reads it."""
    row = compared("a", lost("pi", cure=f"prowess check --fix {path} --cwd {CWD}"))
    for home, expected in ((HOME, f"{shown} --cwd ~/project"), ("/home/eve", f"{path} --cwd {CWD}")):
        monkeypatch.setenv("HOME", home)
        (change,) = content(row).explanations[0].causes[0].changes
        assert change.command == f"prowess check --fix {expected}"


def test_a_skill_with_nothing_to_say_has_no_explanation() -> None:
    """Findings that need no change are shown only beside others."""
    info, warning = finding("name-reserved", "info"), finding("name-case", "warning")
    page = content(
        compared("a", seen("pi")),
        compared("b", seen("pi"), findings=[info]),
        compared("c", seen("pi"), findings=[warning, info]),
    )
    assert [(item.name, len(item.problems), item.losers) for item in page.explanations] == [("c", 2, "no agent")]
    assert [row.is_explained for row in page.folders[0].rows] == [False, False, True]


def test_a_few_explanations_are_open_and_many_are_closed() -> None:
    assert content(*skills(8, {"pi": 8})).are_open
    assert not content(*skills(9, {"pi": 9})).are_open


def test_long_texts_are_cut() -> None:
    page = content(compared("n" * 500, lost("pi", reason="r" * 5000), description="d\n" * 5000))
    (item,) = page.explanations
    assert (len(item.name), len(item.description), len(text(item.causes[0].reason))) == (80, 400, 1000)
    assert item.description.startswith("d d d")


def test_each_agent_has_its_evidence_and_rules() -> None:
    page = content(compared("a", seen("codex"), seen("wink")))
    codex, wink = page.agents
    assert codex.evidence.startswith("observed in version ")
    assert wink.evidence.startswith("designed: ")
    assert all(dict(agent.rules)["folders, highest precedence first"] for agent in page.agents)


def test_skills_that_claim_the_same_requests_are_pairs() -> None:
    """If one agent sees both; each pair once."""
    description = "Fills the fields of PDF forms with values from a table. Use when a tax form is due."
    one, other, third = (
        compared(name, seen("codex"), description=description) for name in ("pdf-forms", "form-tables", "pdf-reader")
    )
    (pair,) = content(one, other, third).rivals
    assert {pair.name, pair.other} == {"pdf-forms", "form-tables"}
    assert pair.preferred in ("pdf-forms", "form-tables")
    assert pair.words.startswith("fields, values, ")
    here = compared("pdf-forms", seen("codex"), lost("pi"), description=description)
    elsewhere = compared("form-tables", lost("codex"), seen("pi"), description=description)
    assert content(here, elsewhere).rivals == ()
