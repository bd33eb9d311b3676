"""Skills: fields are converted to their types, and a skill can be rendered and parsed again."""

from __future__ import annotations

import pytest
from hypothesis import given

from prowess import skill
from prowess._internal.files import UnreadableError
from prowess.errors import SkillSyntaxError
from prowess.skill import Requirements, Skill, from_document, parse, render
from prowess.skill._frontmatter import parse_frontmatter
from prowess.skill._skill import split_tools
from support.strategies import skill_bytes, skills


def parsed(front: str, body: str = "Body\n") -> Skill:
    return parse(f"---\n{front}\n---\n{body}")


@pytest.mark.slow
@given(skills())
def test_a_rendered_skill_parses_to_the_same_skill(one: Skill) -> None:
    """`parse(render(s)) == s`, without repairs."""
    again = parse(render(one))
    assert again == one
    assert {item.code for item in again.findings} <= {"encoding-nul"}


@given(skill_bytes())
def test_a_parsed_skill_renders_to_the_same_skill(data: bytes) -> None:
    """`parse(render(parse(b))) == parse(b)`; `parse` raises syntax errors only."""
    try:
        one = parse(data)
    except SkillSyntaxError:
        return
    assert parse(render(one)) == one


@given(skill_bytes())
def test_from_document_never_raises(data: bytes) -> None:
    """Values of another type are kept."""
    document = parse_frontmatter(data)
    one = from_document(document)
    assert one.document is document
    assert set(one.extra) <= set(document.fields) | {"allowed-tools"}


def test_parse_converts_every_field_to_its_type() -> None:
    """Each field has the form that most skills use."""
    one = parsed(
        "name: pdf\ndescription: Fill forms\nlicense: MIT\ncompatibility: Needs git\n"
        "metadata: {version: 1.10, short-description: PDF}\nallowed-tools: Read, Bash(git add:*) Edit\n"
        "disable-model-invocation: true\nuser-invocable: no\ncontext: fork\nagent: a\nmodel: m\n"
        "argument-hint: '[file]'\npaths: 'src/**, *.py'\ntools: [{type: git, deep: {a: 1}}]\n"
        "requires: {env: [KEY], bins: [git]}\nauthor: me"
    )
    assert one == Skill(
        name="pdf",
        description="Fill forms",
        license="MIT",
        compatibility="Needs git",
        metadata={"version": "1.10", "short-description": "PDF"},
        allowed_tools=("Read", "Bash(git add:*)", "Edit"),
        disable_model_invocation=True,
        user_invocable=False,
        context="fork",
        agent="a",
        model="m",
        argument_hint="[file]",
        paths=("src/**", "*.py"),
        tools=({"type": "git", "deep": {"a": "1"}},),
        requirements=Requirements(env=("KEY",), bins=("git",)),
        extra={"author": "me"},
        body="Body\n",
    )
    assert one.short_description == "PDF"


@pytest.mark.parametrize(
    ("front", "tools"),
    [
        pytest.param("allowed-tools: Read Grep", ("Read", "Grep"), id="blanks"),
        pytest.param("allowed-tools: Read,Grep, Edit", ("Read", "Grep", "Edit"), id="commas"),
        pytest.param("allowed-tools: [Read, Grep]", ("Read", "Grep"), id="flow-list"),
        pytest.param("allowed-tools:\n- Bash(git:*)\n- Read", ("Bash(git:*)", "Read"), id="block-list"),
        pytest.param("allowed_tools: Read", ("Read",), id="underscore"),
        pytest.param("allowed-tools: Bash(git add:*, x) Read", ("Bash(git add:*, x)", "Read"), id="parentheses"),
        pytest.param("allowed-tools:", (), id="empty"),
    ],
)
def test_allowed_tools_are_read_in_every_form(front: str, tools: tuple[str, ...]) -> None:
    """Text or list, with either spelling."""
    assert parsed(front).allowed_tools == tools


def test_both_spellings_of_allowed_tools_are_kept() -> None:
    """The spelling of the specification counts; the other is in `extra`."""
    one = parsed("allowed-tools: Read\nallowed_tools: Edit")
    assert (one.allowed_tools, one.extra) == (("Read",), {"allowed_tools": "Edit"})


@pytest.mark.parametrize(
    ("line", "items"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("Bash(git:*)", ["Bash(git:*)"], id="one"),
        pytest.param("Bash(a (b) c) D", ["Bash(a (b) c)", "D"], id="nested"),
        pytest.param("mcp__x__* Read", ["mcp__x__*", "Read"], id="pattern"),
        pytest.param("Bash(git Read", ["Bash", "(", "git", "Read"], id="unclosed"),
    ],
)
def test_split_tools_keeps_parentheses_together(line: str, items: list[str]) -> None:
    """`Bash(git:*)` is one item."""
    assert list(split_tools(line)) == items


@pytest.mark.parametrize(
    ("front", "requirements", "extra"),
    [
        pytest.param("requires: {bins: [git]}", Requirements(bins=("git",)), {}, id="bins"),
        pytest.param("requires: {packages: [pypdf>=5]}", Requirements(packages=("pypdf>=5",)), {}, id="packages"),
        pytest.param(
            "requires: {packages: [lxml]}\ncompatibility: {requires: [pypdf]}",
            Requirements(packages=("lxml", "pypdf")),
            {},
            id="packages-twice",
        ),
        pytest.param(
            "compatibility:\n  requires:\n  - python>=3.10\n  - pypdf",
            Requirements(packages=("python>=3.10", "pypdf")),
            {},
            id="compatibility",
        ),
        pytest.param(
            "requires: git\ncompatibility: {requires: [pypdf]}",
            Requirements(packages=("pypdf",)),
            {"requires": "git"},
            id="compatibility-beside-a-text",
        ),
        pytest.param(
            "requires: {packages: [pypdf]}\ncompatibility: {python: 3}",
            Requirements(packages=("pypdf",)),
            {"compatibility": {"python": "3"}},
            id="packages-beside-another-form",
        ),
        pytest.param("requires: git", Requirements(), {"requires": "git"}, id="text"),
        pytest.param("requires: {bin: [a]}", Requirements(), {"requires": {"bin": ("a",)}}, id="unknown-key"),
        pytest.param("requires: {env: A}", Requirements(), {"requires": {"env": "A"}}, id="not-a-list"),
    ],
)
def test_requirements_in_a_valid_form_are_read(
    front: str, requirements: Requirements, extra: dict[str, object]
) -> None:
    """Another form is kept in `extra`, and all of it is written again."""
    one = parsed(front)
    assert (one.requirements, one.extra) == (requirements, extra)
    assert parse(render(one)) == one


@pytest.mark.parametrize(
    ("word", "value"),
    [pytest.param(word, True, id=word) for word in ("true", "True", "YES", "on", "1")]
    + [pytest.param(word, False, id=word) for word in ("false", "no", "Off", "0")],
)
def test_booleans_are_converted_from_text(word: str, value: bool) -> None:
    assert parsed(f"disable-model-invocation: {word}").disable_model_invocation is value


def test_a_value_of_another_type_is_kept_in_extra() -> None:
    """The field has its default."""
    one = parsed("name: [a]\ndisable-model-invocation: maybe\ntools: [a]\nmetadata: text\npaths: {a: b}")
    assert one == Skill(
        extra={
            "name": ("a",),
            "disable-model-invocation": "maybe",
            "tools": ("a",),
            "metadata": "text",
            "paths": {"a": "b"},
        },
        body="Body\n",
    )


def test_tools_of_published_skills_are_kept_as_text() -> None:
    """`tools: Read, Grep` is not InitRunner's list."""
    assert parsed("tools: Read, Grep").tools == "Read, Grep"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(
            "---\nname: x\nname: y\n---\n",
            "a/SKILL.md:3:1: duplicate key `name`\n    name: y\n    ^",
            id="duplicate-key",
        ),
        pytest.param(
            '---\nname: x\ndescription: "a" b\n---\n',
            "a/SKILL.md:3:18: the front matter is not valid YAML: did not find expected key while parsing a block "
            'mapping\n    description: "a" b\n                     ^',
            id="syntax",
        ),
        pytest.param(
            "Text\n",
            "a/SKILL.md:1:1: the file does not begin with a `---` line\n    Text\n    ^",
            id="no-front-matter",
        ),
        pytest.param("", "a/SKILL.md:1:1: the file is empty", id="empty"),
        pytest.param(
            "---\nm:\n\ta: &b c\n---\n",
            "a/SKILL.md:3:5: the anchor `&b` is not allowed\n    \ta: &b c\n    \t   ^",
            id="tab",
        ),
    ],
)
def test_a_syntax_error_draws_a_caret(text: str, shown: str) -> None:
    """The message, the line, and a caret under the problem."""
    with pytest.raises(SkillSyntaxError) as caught:
        parse(text, path="a/SKILL.md")
    assert str(caught.value) == shown


@pytest.mark.parametrize(
    ("one", "text"),
    [
        pytest.param(Skill(), "---\n---\n", id="nothing"),
        pytest.param(
            Skill(name="pdf", description="Fill: forms", body="Do.\n"),
            '---\nname: pdf\ndescription: "Fill: forms"\n---\nDo.\n',
            id="plain",
        ),
        pytest.param(
            Skill(name="1:30", description="yes", license="2026-11-01", model="y"),
            '---\nname: "1:30"\ndescription: "yes"\nlicense: "2026-11-01"\nmodel: "y"\n---\n',
            id="what-other-readers-take-for-something-else",
        ),
        pytest.param(
            Skill(metadata={"a": "1", "b": ("x", {"c": ()})}, allowed_tools=("Read", "Bash(git:*)")),
            '---\nmetadata:\n  a: "1"\n  b:\n    - x\n    - c: []\nallowed-tools: Read Bash(git:*)\n---\n',
            id="nested",
        ),
        pytest.param(
            Skill(description="a\n\tb 📦\u202e", user_invocable=False, disable_model_invocation=True),
            '---\ndescription: "a\\n\\tb 📦\\u202E"\ndisable-model-invocation: true\nuser-invocable: false\n---\n',
            id="escapes",
        ),
    ],
)
def test_render_quotes_only_if_necessary(one: Skill, text: str) -> None:
    """Plain if every parser reads the same text, otherwise in double quotes."""
    assert render(one) == text


def test_the_folder_of_a_skill_comes_from_its_path() -> None:
    """It is empty without a path."""
    assert Skill(path="/a/pdf/SKILL.md").folder == "pdf"
    assert Skill().folder == ""


def test_an_unreadable_file_gives_an_empty_skill() -> None:
    """With its path and one finding."""
    one = skill.unreadable_skill("p", UnreadableError("file-missing", "no such file", "check the path"))
    assert [(item.code, item.path, item.message, item.hint) for item in one.findings] == [
        ("file-missing", "p", "no such file", "check the path")
    ]


@pytest.mark.parametrize(
    "front",
    [
        pytest.param("name: deploy\ndescription: >\n  Ship it: build, test.\n  Then tag.", id="folded-with-colons"),
        pytest.param("name: review\ndescription: |-\n  Use when:\n  - asked\n  - bored", id="literal-with-list"),
        pytest.param('name: chat\ndescription: "Talk \\"nicely\\" to \'users\': always"', id="both-quotes"),
        pytest.param('name: make-gif\ndescription: Draw GIFs; use for requests like "make a GIF of X".', id="quotes"),
        pytest.param("name: learn\ndescription: Notes\nlicense: Proprietary. LICENSE.txt has all terms", id="license"),
        pytest.param("name: sql\ndescription: 'SQL -- the: good parts'\nrisk: safe\nsource: community", id="extras"),
        pytest.param(
            "name: ci\ndescription: CI → logs — fast\nallowed-tools: ['a b/c', 'd/e']", id="tools-with-blanks"
        ),
        pytest.param("name: web\ndescription: Web\nmetadata:\n  tags: [a, b]\n  author: 'me'", id="metadata-list"),
        pytest.param("name: plan\ndescription: Plan\nargument-hint: '[goal] [days]'\nmodel: x", id="argument-hint"),
        pytest.param("name: cite\ndescription: Trigger on --- or ---> marks", id="dashes"),
        pytest.param("name: old\ndescription: Use when: asked\nversion: 1.0.0\ntags: [x]", id="colon"),
        pytest.param("name: ask\ndescription: Ask\ndisable-model-invocation: true", id="user-only"),
    ],
)
def test_constructs_of_published_skills_parse(front: str) -> None:
    """In our own words; they can be rendered too."""
    one = parsed(front)
    assert one.name
    assert one.description
    assert parse(render(one)) == one
