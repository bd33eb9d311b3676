"""Whether a model would choose a skill by its description: a planted fault, and a clean twin, for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prowess.checks import ExampleDescription, example_descriptions, similar_descriptions
from prowess.checks._check_file import check_file
from prowess.checks._routes import check_routes, find_person, is_english, is_template, says_only_when, says_when
from prowess.search import Claim, find_overlaps
from prowess.skill import Skill, check_skill, from_document, parse_frontmatter
from support.growth import assert_linear, calls_at_most

if TYPE_CHECKING:
    from pathlib import Path


def skill_of(description: str, *, name: str = "pdf-forms", fields: str = "") -> Skill:
    path = f"skills/{name}/SKILL.md"
    text = f"---\nname: {name}\ndescription: {description}\n{fields}---\nDo it.\n"
    return from_document(parse_frontmatter(text.encode(), path), path)


def found_in(description: str, *, name: str = "pdf-forms", fields: str = "") -> list[tuple[str, str]]:
    skill = skill_of(description, name=name, fields=fields)
    return [(item.code, item.message) for item in check_routes(skill, hosts=())]


SHORT = "Extracts tables from scanned documents."
WHEN = "Use when a PDF has text that cannot be selected."


@pytest.mark.parametrize(
    ("description", "found"),
    [
        pytest.param(
            SHORT, ("description-when", f"no sentence says when to use the skill: `{SHORT}`"), id="says-no-when"
        ),
        pytest.param(f"{SHORT} {WHEN}", None, id="says-when"),
        pytest.param(
            f"{SHORT} Also for photos, tickets, letters, maps, notes, lists, faxes, bills, cards and more.",
            None,
            id="long",
        ),
        pytest.param(
            "Helps with all kinds of coding tasks. Use it when needed.",
            (
                "description-general",
                "the description fits most requests: no word names a subject (`kinds`, `coding`, `tasks`)",
            ),
            id="fits-most-requests",
        ),
        pytest.param("Helps with all kinds of invoices. Use it when needed.", None, id="names-a-subject"),
        pytest.param(
            "Use when working with PDF forms.",
            ("description-repeats", "the description says no more than the name: `Use when working with PDF forms.`"),
            id="repeats-the-name",
        ),
        pytest.param("Fills PDF forms of the tax office. Use when one is due.", None, id="says-more"),
        pytest.param(
            f"I can help you with invoices. {WHEN}",
            ("description-person", "the description speaks in the first person: `I can help you with`"),
            id="first-person",
        ),
        pytest.param(
            f"This lets you read invoices. {WHEN}",
            ("description-person", "the description speaks in the second person: `This lets you read invoices.`"),
            id="second-person",
        ),
        pytest.param("Reads invoices. Use when you need a total, or the user says my bill is wrong.", None, id="agent"),
        pytest.param(
            WHEN, ("description-what", f"no sentence says what the skill does: `{WHEN}`"), id="says-only-when"
        ),
        pytest.param(
            "Replace with description of the skill and when Claude should use it.",
            (
                "description-placeholder",
                "the description is that of a template: `Replace with description of the skill and when Claude shoul…`",
            ),
            id="template",
        ),
        pytest.param("Zieht Tabellen aus den Seiten, die der Scanner und das Fax liefern.", None, id="german"),
        pytest.param("从扫描的文档中提取表格。", None, id="chinese"),
        pytest.param("42", None, id="number"),
    ],
)
def test_a_description_is_judged_by_its_words(description: str, found: tuple[str, str] | None) -> None:
    """One cause is reported once."""
    assert found_in(description) == ([] if found is None else [found])


def test_a_skill_that_the_model_does_not_choose_is_not_judged() -> None:
    assert found_in(SHORT, fields="disable-model-invocation: true\n") == []


def test_a_command_that_users_call_is_not_judged(tmp_path: Path) -> None:
    """A single-file skill elsewhere is."""
    for folder, reported in (("commands", False), ("skills", True)):
        file = tmp_path / f".claude/{folder}/clean.md"
        file.parent.mkdir(parents=True)
        file.write_text("---\ndescription: Cleans caches.\n---\nDo it.\n")
        assert any(item.code == "description-when" for item in check_file(str(file), advise=True)) is reported


def test_words_that_most_descriptions_of_a_catalog_have_name_no_subject() -> None:
    """In a catalog about invoices, `invoices` says nothing."""
    skill = skill_of("Works on invoices. Use it when needed.")
    assert list(check_routes(skill, hosts=())) == []
    (item,) = check_routes(skill, hosts=(), common={"invoic"})
    assert item.code == "description-general"


def test_an_agent_may_cut_the_description_before_it_says_when() -> None:
    """The limits are those of the agents' rules."""
    skill = skill_of(f"{'Reads invoices and bills of all kinds of shops. ' * 6}{WHEN}")
    (item,) = check_routes(skill)
    assert item.code == "description-cut"
    assert item.message == (
        "kimi-code cuts the description after 250 characters; it says when to use the skill at character 289: "
        "`Use when a PDF has text that cannot be …`"
    )
    assert list(check_routes(skill, hosts=("codex",))) == []
    assert list(check_routes(skill_of(f"{WHEN} {'Reads invoices and bills of all kinds of shops. ' * 6}"))) == []


@pytest.mark.parametrize(
    "text",
    [
        *("Use when a form is due", "Use this skill for taxes", "Useful for taxes", "Invoked by name for forms"),
        *("Triggers: tax, form", "Activate on request", "Run it before a release", "Also if the user asks for it"),
        *("For tasks such as taxes", "Ideal for taxes", "Not for receipts", "Works on questions about taxes"),
        *("USE WHENEVER A FORM IS DUE", "Use\n  when\n  due", "For filling receipts, see pdf-receipts"),
    ],
)
def test_many_words_say_when(text: str) -> None:
    assert says_when(text)


@pytest.mark.parametrize(
    "text", ["Fills forms", "A user guide", "Reuses templates", "Best practices of forms", "", "."]
)
def test_other_words_do_not_say_when(text: str) -> None:
    assert not says_when(text)


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("I'll fill it.", "first"),
        ("Fills our forms.", "first"),
        ("We fill forms.", "first"),
        ("You are an expert in forms.", "second"),
        ("Fills forms. You can pass a list.", "second"),
        ("Guides you through a form.", "second"),
        ("Fills form I and part II.", None),
        ("Use when the user says fill my form.", None),
        ('Handles "fill my form" and “our forms”.', None),
        ("Use when you need a form.", None),
        ("You should use this skill for forms.", None),
        ("Works in US-east and on me-central-1.", None),
        ("Type I error of A/B tests", None),
    ],
)
def test_the_person_of_a_description(text: str, person: str | None) -> None:
    """What a user says does not count, nor `you` in "use when you need"."""
    found = find_person(text)
    assert (found and found[0]) == person


def test_other_small_words_are_no_description_of_a_template() -> None:
    assert is_template("[TODO: Complete and informative explanation of what the skill does]")
    assert is_template("A description of what this skill does and when to use it.")
    assert is_template("{{description}}")
    assert is_template("<what the skill does>")
    assert not is_template("Lists TODO comments of a project")
    assert not is_template("Describes images for people who cannot see them")
    assert not is_template("<b>Fills</b> forms")


def test_a_language_is_known_by_its_small_words() -> None:
    assert is_english("Fills forms with data from a table")
    assert is_english("PDF")
    assert is_english("Speaks German: der, die, das, with the rules of the language and its use")
    assert not is_english("Remplit des formulaires avec les champs du fichier")
    assert not is_english("Заполняет формы PDF")


def test_only_when_is_no_what() -> None:
    assert says_only_when("Use when a form is due. Use this skill before a release.")
    assert not says_only_when("Use when a form is due. Fills it.")
    assert not says_only_when("")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["a", "use ", "use it ", "\n", '"', "(", "for filling ", "I ", "when ", "help ", "trigger a b ", "for x, ", "`'“ "],
)
def test_a_hostile_description_takes_linear_time(piece: str) -> None:
    """Only its first characters are judged."""
    assert_linear(
        lambda one: [*check_routes(one), says_when(one.description or ""), find_person(one.description or "")],
        piece * (60_000 // len(piece)),
        setup=lambda text: Skill(name="x", description=text, path="skills/x/SKILL.md", fields=skill_of("d").fields),
    )


def test_100_000_descriptions_cost_a_few_calls_each() -> None:
    """Measured on 200 of them."""
    skills = [skill_of(f"Extracts table {number} from scanned documents. {WHEN}") for number in range(200)]
    with calls_at_most(200 * 400):
        for skill in skills:
            assert list(check_routes(skill, hosts=())) == []


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("example", example_descriptions(), ids=lambda example: example.name)
def test_an_example_passes_every_rule_of_descriptions(example: ExampleDescription) -> None:
    skill = skill_of(f'"{example.description}"', name=example.name)
    assert [*check_skill(skill), *check_routes(skill)] == []


def test_no_two_examples_compete() -> None:
    claims = [Claim(key=item.name, name=item.name, description=item.description) for item in example_descriptions()]
    assert len(claims) == len({claim.name for claim in claims}) >= 30
    assert find_overlaps(claims) == []


def test_examples_are_of_the_kind_of_a_text() -> None:
    assert similar_descriptions("Fix slow PostgreSQL queries and tables")[0].name == "sql-tuning"
    assert similar_descriptions("") == example_descriptions()[:3]
    assert len(similar_descriptions("x" * 1_000_000, 5)) == 5
