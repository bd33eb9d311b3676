"""Each rule of the specification at its limit and past it, with its message."""

from __future__ import annotations

import pytest
from hypothesis import given

from prowess.findings import apply_policy
from prowess.skill import Skill, from_document
from prowess.skill._body_rules import check_body, check_links, find_body_links
from prowess.skill._frontmatter import parse_frontmatter
from prowess.skill._rules import check_skill
from support.strategies import skill_bytes


def skill_of(front: str, body: str = "Body\n", path: str | None = "skills/x/SKILL.md") -> Skill:
    return from_document(parse_frontmatter(f"---\n{front}\n---\n{body}".encode(), path), path)


def reported(front: str, path: str | None = "skills/x/SKILL.md") -> list[tuple[str, int | None, int | None, str]]:
    return [(item.code, item.line, item.column, item.message) for item in check_skill(skill_of(front, path=path))]


GOOD = "name: x\ndescription: d"
HYPHENS = "begins or ends with a hyphen, or has two in a row"
NAME = "description: d\nname: "
DESCRIPTION = "name: x\ndescription: "


@pytest.mark.parametrize(
    "front",
    [
        pytest.param(GOOD, id="least"),
        pytest.param(
            GOOD + "\nlicense: MIT\ncompatibility: Needs git\nmetadata: {a: b}\nallowed-tools: Read", id="all"
        ),
        pytest.param(f"name: x\ndescription: {'d' * 1024}", id="longest-description"),
        pytest.param(f"name: x\ndescription: {'📦' * 1024}", id="lengths-count-characters"),
        pytest.param(f"{GOOD}\ncompatibility: {'c' * 500}", id="longest-compatibility"),
    ],
)
def test_a_good_skill_has_no_findings(front: str) -> None:
    """At the limits, too."""
    assert reported(front) == []


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        pytest.param("a" * 64, "a" * 64, id="longest"),
        pytest.param("ｐｄｆ", "pdf", id="compared-after-nfkc"),
        pytest.param("pdf", "ｐｄｆ", id="folder-after-nfkc"),
        pytest.param("café", "cafe\u0301", id="decomposed-folder"),
        pytest.param("数据-2", "数据-2", id="letters-of-any-script"),
    ],
)
def test_a_good_name_has_no_findings(name: str, folder: str) -> None:
    """Letters of any script, digits, hyphens; the folder's name in any Unicode form."""
    assert reported(NAME + name, f"{folder}/SKILL.md") == []


@pytest.mark.parametrize(
    ("front", "found"),
    [
        pytest.param("description: d", [("name-missing", 1, 1, "missing `name`")], id="missing"),
        pytest.param(NAME + '""', [("name-empty", 3, 1, "the name is empty")], id="empty"),
        pytest.param(NAME + "[x]", [("name-not-text", 3, 1, "the name is a list, not text")], id="list"),
        pytest.param(NAME + "{x: y}", [("name-not-text", 3, 1, "the name is a map, not text")], id="map"),
        pytest.param(
            NAME + "X",
            [
                ("name-case", 3, 1, "the name `X` has upper case letters"),
                ("name-not-folder", 3, 1, "the name `X` differs from the folder name `x`"),
            ],
            id="upper-case",
        ),
        pytest.param(
            NAME + "a_b c",
            [
                ("name-characters", 3, 1, "the name `a_b c` contains ` ` `_`"),
                ("name-not-folder", 3, 1, "the name `a_b c` differs from the folder name `x`"),
            ],
            id="characters",
        ),
    ],
)
def test_a_name_that_breaks_rules_is_reported(front: str, found: list[tuple[str, int, int, str]]) -> None:
    """Specification, "name field"."""
    assert reported(front) == found


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        pytest.param(
            "-a", "name-hyphens", "the name `-a` begins or ends with a hyphen, or has two in a row", id="begin"
        ),
        pytest.param("a-", "name-hyphens", f"the name `a-` {HYPHENS}", id="end"),
        pytest.param(
            "a--b", "name-hyphens", "the name `a--b` begins or ends with a hyphen, or has two in a row", id="two"
        ),
        pytest.param("a" * 65, "name-too-long", "the name has 65 characters; at most 64 are allowed", id="too-long"),
        pytest.param("123", "name-type", "YAML reads the name `123` as a number, not as text", id="number"),
        pytest.param("true", "name-type", "YAML reads the name `true` as true or false, not as text", id="truth"),
        pytest.param(
            "claude-api", "name-reserved", "the name `claude-api` contains the reserved word `claude`", id="word"
        ),
    ],
)
def test_a_name_that_breaks_one_rule_has_one_finding(name: str, code: str, message: str) -> None:
    """Specification, "name field"; the reserved words of the `infer` CLI."""
    assert reported(NAME + name, f"{name}/SKILL.md") == [(code, 3, 1, message)]


@pytest.mark.parametrize(
    ("front", "code", "line", "message"),
    [
        pytest.param("name: x", "description-missing", 1, "missing `description`", id="missing"),
        pytest.param(DESCRIPTION, "description-empty", 3, "the description is empty", id="empty"),
        pytest.param(DESCRIPTION + '"  "', "description-empty", 3, "the description is empty", id="blank"),
        pytest.param(DESCRIPTION + "[a]", "description-not-text", 3, "the description is a list, not text", id="list"),
        pytest.param(
            DESCRIPTION + "12",
            "description-type",
            3,
            "YAML reads the description `12` as a number, not as text",
            id="number",
        ),
        pytest.param(
            DESCRIPTION + "d" * 1025,
            "description-too-long",
            3,
            "the description has 1,025 characters; at most 1,024 are allowed",
            id="too-long",
        ),
        pytest.param(
            DESCRIPTION + "a\u202e\U000e0041",
            "description-hidden",
            3,
            "the description contains hidden characters: U+202E U+E0041",
            id="hidden",
        ),
        pytest.param(
            DESCRIPTION + '"a\\e[31m"',
            "description-hidden",
            3,
            "the description contains hidden characters: U+001B",
            id="escape",
        ),
        pytest.param(
            DESCRIPTION + "Describe in one sentence what pdf does.",
            "description-placeholder",
            3,
            "the description is still the one that `prowess new` wrote",
            id="placeholder",
        ),
        pytest.param(
            DESCRIPTION + "a <b>", "description-markup", 3, "the description contains `<` or `>`", id="markup"
        ),
        pytest.param(GOOD + "\nlicense: [MIT]", "license-type", 4, "the license is a list, not text", id="license"),
        pytest.param(
            GOOD + "\ncompatibility:", "compatibility-empty", 4, "the compatibility note is empty", id="compat-empty"
        ),
        pytest.param(
            GOOD + "\ncompatibility: {requires: [git]}",
            "compatibility-type",
            4,
            "the compatibility note is a map, not text; its `requires:` list is read",
            id="compat-map",
        ),
        pytest.param(
            GOOD + "\ncompatibility: " + "c" * 501,
            "compatibility-too-long",
            4,
            "the compatibility note has 501 characters; at most 500 are allowed",
            id="compat-too-long",
        ),
        pytest.param(GOOD + "\nmetadata: a", "metadata-type", 4, "the metadata is text, not a map", id="metadata"),
        pytest.param(
            GOOD + "\nmetadata: {version: 1.0}",
            "metadata-not-text",
            4,
            "the metadata value `version` is a number, not text; `prowess mcp serve` leaves the skill out",
            id="metadata number",
        ),
        pytest.param(
            GOOD + '\nmetadata:\n  a: true\n  b: "1"\n  c: 1.2.3\n  d:\n',
            "metadata-not-text",
            4,
            "the metadata values `a`, `d` are numbers, truth values or empty, not text; `prowess mcp serve` leaves the "
            "skill out",
            id="metadata types",
        ),
        pytest.param(
            GOOD + "\nmetadata: {a: [b]}",
            "metadata-nested",
            4,
            "the metadata value `a` is a list, not text",
            id="nested",
        ),
        pytest.param(
            GOOD + "\nallowed-tools: [Read]",
            "allowed-tools-type",
            4,
            "`allowed-tools` is a list, not one line of text",
            id="tools-list",
        ),
        pytest.param(
            GOOD + "\nallowed_tools: Read",
            "field-unknown",
            4,
            "the field `allowed_tools` is not in the specification",
            id="tools-underscore",
        ),
        pytest.param(GOOD + "\nauthor: me", "field-unknown", 4, "unknown field `author`", id="unknown"),
        pytest.param(
            GOOD + "\nmodel: m",
            "field-unknown",
            4,
            "the field `model` is not in the specification; claude-code and qwen-code document it; no other known "
            "agent does",
            id="client",
        ),
        pytest.param(
            GOOD + "\nwhen_to_use: m",
            "field-unknown",
            4,
            "the field `when_to_use` is not in the specification; claude-code, kimi-code and qwen-code honour it; no "
            "other known agent does",
            id="observed",
        ),
        pytest.param(
            GOOD + "\npaths: m",
            "field-unknown",
            4,
            "the field `paths` is not in the specification; claude-code and qwen-code honour it, cursor documents it; "
            "no other known agent does",
            id="observed-and-documented",
        ),
    ],
)
def test_a_field_that_breaks_a_rule_is_reported(front: str, code: str, line: int, message: str) -> None:
    """One finding, at the field."""
    assert reported(front) == [(code, line, 1, message)]


def test_a_client_field_of_the_wrong_type_is_reported() -> None:
    """The message has its value, and the hint what is valid."""
    found = check_skill(skill_of(GOOD + "\nuser-invocable: maybe"))
    assert next((item.code, item.message, item.hint) for item in found) == (
        "field-type",
        "invalid value `maybe` for `user-invocable`",
        "write `true` or `false`",
    )


def test_without_front_matter_no_rule_applies() -> None:
    """Each rule would report the same problem again."""
    one = from_document(parse_frontmatter(b"Text\n"))
    assert [item.code for item in check_skill(one)] == ["frontmatter-missing"]
    assert list(check_body(one)) == []


@pytest.mark.parametrize(
    ("front", "rejected"),
    [
        pytest.param("name: Y\ndescription: a: b\nauthor: me", False, id="what-can-be-loaded"),
        pytest.param("name: x\ndescription:", True, id="no-description"),
        pytest.param("name: x\ndescription: !a b", True, id="tag"),
    ],
)
def test_guide_loads_what_can_be_loaded(front: str, rejected: bool) -> None:
    """Each of these is an error under `spec`."""
    found = check_skill(skill_of(front))
    assert any(item.severity == "error" for item in found) is rejected
    assert any(item.severity == "error" for item in apply_policy(found, "spec"))


@given(skill_bytes())
def test_no_bytes_make_the_rules_raise(data: bytes) -> None:
    """Messages contain no escapes of a terminal."""
    one = from_document(parse_frontmatter(data, "x/SKILL.md"), "x/SKILL.md")
    found = [*check_skill(one), *check_body(one), *check_links(one, bool)]
    assert {item.path for item in found} <= {"x/SKILL.md"}
    assert all("\x1b" not in item.message for item in found)
    list(find_body_links(one))


@pytest.mark.parametrize("fence", ["\u2014\u2014\u2014", "\u201c---\u201d", "'---'", "\u2013-", "--"])
def test_a_fence_of_long_dashes_or_in_quotes_is_named_as_such(fence: str) -> None:
    """As word processors write it."""
    (item,) = check_skill(
        from_document(parse_frontmatter(f"{fence}\nname: pdf\ndescription: Reads it.\n---\nDo.\n".encode()))
    )
    assert item.code == "frontmatter-missing"
    assert item.hint == "write the first line as `---`: three hyphens, no long dashes, no quotes"
