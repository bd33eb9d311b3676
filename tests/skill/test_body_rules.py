"""The rules of the body, and the links in it."""

from __future__ import annotations

import pytest

from prowess.skill import Skill, from_document
from prowess.skill._body_rules import check_body, check_links, find_body_links
from prowess.skill._frontmatter import parse_frontmatter
from support.growth import assert_linear


def skill_of(body: str) -> Skill:
    path = "skills/x/SKILL.md"
    return from_document(parse_frontmatter(f"---\nname: x\ndescription: d\n---\n{body}".encode(), path), path)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param("Do.\n", [], id="good"),
        pytest.param(" \n", [("body-empty", 5, "no instructions below the front matter")], id="empty"),
        pytest.param("x\n" * 495, [], id="500-lines"),
        pytest.param(
            "x\n" * 497, [("body-too-long", 501, "SKILL.md has 502 lines; at most 500 are recommended")], id="too-long"
        ),
    ],
)
def test_the_body_is_checked(body: str, found: list[tuple[str, int, str]]) -> None:
    """Specification, "Body content" and "Progressive disclosure"."""
    assert [(item.code, item.line, item.message) for item in check_body(skill_of(body))] == found


@pytest.mark.parametrize(
    ("body", "links"),
    [
        pytest.param("See [a](b.md).", [("b.md", 5, 9)], id="link"),
        pytest.param("[a](b.md) [c](d/e.py)", [("b.md", 5, 5), ("d/e.py", 5, 15)], id="two"),
        pytest.param('[a](<b.md> "title")', [("b.md", 5, 6)], id="angle-and-title"),
        pytest.param("[a](b%20c.md#part?x)", [("b c.md", 5, 5)], id="escaped"),
        pytest.param("[a](https://x.y) [b](mailto:x) [c](//x) [d](#e)", [], id="elsewhere"),
        pytest.param("`[a](b)` ``[c](`d)`` [e](f)", [("f", 5, 26)], id="code-span"),
        pytest.param("` [a](b)", [("b", 5, 7)], id="lone-back-tick"),
        pytest.param("```\n[a](b)\n```\n[c](d)", [("d", 8, 5)], id="fence"),
        pytest.param("~~~\n[a](b)\n```\n[c](d)\n~~~~\n[e](f)", [("f", 10, 5)], id="other-fence"),
        pytest.param("![a](b.png)", [], id="image"),
        pytest.param("[a]({{b}}) [c]($d)", [], id="template"),
        pytest.param("- [a](b.md) - [Description of it]", [], id="line-of-a-template"),
        pytest.param("- [x] [a](b.md) [Text][ref]", [("b.md", 5, 11)], id="other-brackets"),
    ],
)
def test_links_are_found_outside_code(body: str, links: list[tuple[str, int, int]]) -> None:
    """Other links are ignored."""
    assert list(find_body_links(skill_of(body))) == links


def test_missing_files_are_reported_once() -> None:
    """Specification, "File references". Links that lead out of the folder are left out."""
    one = skill_of("[a](b.md) [c](../d) [e](/f) [g](x/../../h) [i](here.md) [j](x/../here.md) [k](./b.md) [l](c.md)")
    found = [(item.code, item.column, item.message) for item in check_links(one, {"here.md"}.__contains__)]
    assert found == [
        ("link-missing", 5, "the link `b.md` leads to a missing file"),
        ("link-missing", 91, "the link `c.md` leads to a missing file"),
    ]


def test_missing_files_of_one_cause_are_one_finding() -> None:
    """A folder that is missing, and files that are elsewhere in the skill."""
    one = skill_of("[a](ref/a.md) [b](ref/b.md) [c](c.md) [d](x/d.md) [e](ref/deep/e.md) [f](f.md) [g](here/g.md)")
    files = ("resources/c.md", "resources/d.md", "resources/f.md", "more/f.md")
    found = [(item.column, item.message) for item in check_links(one, {"here", *files}.__contains__, None, files)]
    assert found == [
        (5, "the link `ref/a.md` leads to a missing file: there is no `ref` (3 such links)"),
        (33, "the link `c.md` leads to a missing file; it is at `resources/c.md` (2 such links)"),
        (74, "the link `f.md` leads to a missing file"),
        (84, "the link `here/g.md` leads to a missing file"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        pytest.param("[" * 300_000 + "](", id="brackets"),
        pytest.param("[a](" * 200_000, id="open-links"),
        pytest.param("](" + "".join("`" * n + " " for n in range(1, 1000)), id="back-ticks"),
        pytest.param("[a](x" + " " * 500_000, id="blanks"),
        pytest.param("](" + "`a" * 300_000, id="code-spans"),
    ],
)
def test_links_of_hostile_bodies_are_found_quickly(line: str) -> None:
    """1 MiB on one line takes four times as long as 256 KiB."""
    assert_linear(lambda one: list(find_body_links(one)), line, setup=skill_of)
