"""The page of a report: safe whatever a skill contains, and the same bytes for the same skills."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st
from lxml import html

import prowess
from prowess._internal.installer import install_command
from prowess._internal.text import hidden_characters
from prowess.findings import finding
from prowess.report import render_page
from prowess.report._page import template
from prowess.visibility import Kind
from support.comparisons import CWD, HOME, compared, comparison, lost, seen
from support.strategies import examples

HOSTILE = [
    "<script>alert(1)</script>",
    "</style></bdi></td></table></body></html><h1>forged</h1>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' style='position:fixed;inset:0",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "<!-- --><svg/onload=alert(1)><![CDATA[ ]]>",
    "{{ 7 * 7 }} {% include 'x' %} {# #}",
    "&lt;b&gt; &amp; &#x3c;b&#x3e; &NotAnEntity;",
    "\u202eevil\u202c \u2066x\u2069 \u200b\u200e\ufeff\U000e0041",
    "\x00\x07\x1b[31m\x7f\x85\r\n\u2028",
    "\ud800 \udcff",
    "a\u0300" * 200,
    "Z" + "\u0335" * 300,
    "n" * 100_000,
    "–—…“”日本語 العربية 🧪",
]


def page_with(text: str) -> str:
    """Return a page that shows a text wherever something of a skill, a path or a finding is shown."""
    item = finding("name-case", text or "x", path=f"{CWD}/{text}/SKILL.md", line=1, hint=text or "x")
    return render_page(
        comparison(
            compared(
                text or "x",
                lost("codex", reason=text or "x", cure=text or "x"),
                lost("copilot", reason=text or "x", cure=f"prowess check {text}"),
                seen("pi", "user-only", text or "x"),
                folder=f"{CWD}/{text}/skills",
                description=text or "x",
                findings=[item],
            ),
            compared("harmless", seen("codex"), seen("copilot"), seen("pi"), folder="/elsewhere/skills"),
            findings=[item],
        )
    )


def shape(page: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return all elements with their attributes; code between back-ticks has neither."""
    elements: Any = html.document_fromstring(page).iter()
    return [(element.tag, tuple(element.items())) for element in elements if element.tag != "code" or element.attrib]


HARMLESS = shape(page_with("harmless"))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_skill_adds_an_element_or_an_attribute(text: str) -> None:
    page = page_with(text)
    assert shape(page) == HARMLESS
    assert hidden_characters(page.replace("\r", "\x00")) == []


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_name_of_a_folder_adds_an_element_or_an_attribute(text: str) -> None:
    """The working directory and the home may be named by others too."""
    here = comparison(compared("a", lost("codex", "place", cure="prowess mount a")))
    other = here.with_changes(cwd=f"{HOME}/{text}", home=f"/home/{text}")
    assert shape(render_page(other)) == shape(render_page(here))


@pytest.mark.slow
@examples(0.25)
@given(st.text(st.characters(codec=None), max_size=60) | st.text("<>&\"'`/={}%!- \nas", max_size=40))
def test_no_random_text_adds_an_element_or_an_attribute(text: str) -> None:
    page = page_with(f"x{text}")  # a blank text is not shown at all
    assert shape(page) == HARMLESS
    page.encode()
    assert hidden_characters(page) == []


def test_the_text_itself_is_shown() -> None:
    """Escaped once, not twice."""
    document = html.document_fromstring(page_with("a <b> & `c` \u202e d"))
    cells = document.xpath("//table//th[@scope='row']//bdi")
    assert cells[0].text_content() == "a <b> & `c` \\u202e d"


def test_marks_are_not_stacked_over_other_text() -> None:
    """More than any language has on one character are escapes; words in all scripts stay."""
    page = page_with("Z" + "\u0335" * 80)
    assert re.search("\u0335{7}", page) is None
    assert "\u0335" * 6 + "\\u0335\\u0335" in page
    for word in ("\u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05c1\u05b4\u0596\u05d9\u05ea", "\u0e01\u0e39\u0e49"):
        assert word in page_with(word)


def test_links_lead_into_the_page_or_to_documentation() -> None:
    document = html.document_fromstring(page_with("x"))
    links = [str(link) for link in document.xpath("//@href")]
    assert links
    assert [link for link in links if not link.startswith(("#", "https://"))] == []
    ids = [f"#{number}" for number in document.xpath("//@id")]
    assert len(ids) == len(set(ids))
    assert {link for link in links if link.startswith("#")} <= set(ids)


def test_nothing_is_loaded_and_nothing_runs() -> None:
    """A policy forbids it too, except for the one style sheet of the page."""
    document = html.document_fromstring(page_with("x"))
    assert document.xpath("//script | //link | //img | //iframe | //object | //form | //@style | //@src") == []
    assert [name for name in document.xpath("//@*") if str(name).startswith("javascript")] == []
    (style,) = document.xpath("//style/text()")
    assert "url(" not in style
    assert "@import" not in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    encoding, first = document.xpath("//head/meta")[:2]
    assert (encoding.get("charset"), first.get("content")) == ("utf-8", policy)


def test_kinds_differ_without_colour() -> None:
    """Each has words in its cell, and a shape of its own in the style sheet."""
    page = render_page(comparison(*(compared(kind, seen("pi", kind=kind)) for kind in Kind)))
    document = html.document_fromstring(page)
    cells = document.xpath("//tbody//td")
    assert sorted(cell.get("class") for cell in cells) == sorted(Kind)
    assert len({cell.text for cell in cells}) == len(Kind)
    (style,) = document.xpath("//style/text()")
    shapes = {}
    for kind in Kind:
        (rules,) = re.findall(rf"^\.{kind}::before \{{(.+)\}}$", style, re.MULTILINE)
        shapes[kind] = re.sub(r"var\(--\w+\)", "", rules)
    assert len(set(shapes.values())) == len(shapes)
    labels = [item.text_content() for item in document.xpath("//ul[@class='legend']//b")]
    assert sorted(labels) == sorted(cell.text for cell in cells)


@pytest.mark.slow
def test_the_same_skills_give_the_same_bytes() -> None:
    """In another process too, where hashes of texts differ."""
    code = "import sys; sys.path[:0] = ['tests']; from support.comparisons import *\n"
    code += "from prowess.report import render_page; mount = 'prowess mount a'\n"
    code += "first = compared('a', lost('codex'), lost('pi', cure=mount))\n"
    code += "sys.stdout.write(render_page(comparison(first, compared('b', seen('codex'), seen('pi')))))"
    pages = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(pages) == 1
    assert b"<h1>OpenAI Codex sees 1 of your 2 skills</h1>" in pages.pop()


def test_a_page_without_skills_says_so() -> None:
    page = render_page(comparison(hosts=["codex"]))
    assert "<h1>No agent finds a skill from here</h1>" in page
    assert "<table" not in page


def test_the_page_names_the_version_and_no_date() -> None:
    page = render_page(comparison(compared("a", seen("codex"))))
    assert f"Prowess {prowess.__version__}" in page
    dates = set(re.findall(r"20\d\d-\d\d-\d\d", page))
    assert dates <= {
        re.findall(r"20\d\d-\d\d-\d\d", evidence)[0] for evidence in re.findall(r"observed in [^<]+", page)
    }


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    template.cache_clear()
    with pytest.raises(ImportError, match=rf"^a report needs Jinja2: {re.escape(install_command('report'))}$"):
        render_page(comparison(compared("a", seen("codex"))))


def test_the_room_loads_no_template_engine_before_a_page_is_written() -> None:
    code = "import sys, prowess.report, prowess.report._page; print('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


@pytest.mark.slow
def test_a_thousand_skills_make_a_page_below_three_megabytes() -> None:
    rows = [
        compared(
            f"skill-number-{number:04d}",
            *(lost(host, "place", cure=f"prowess mount {CWD}/x/skill-{number} --host {host}") for host in HOSTS),
            description="Does something with files. " * 8,
        )
        for number in range(1000)
    ]
    assert len(render_page(comparison(*rows)).encode()) < 3_000_000


HOSTS = ("claude-code", "codex", "copilot", "gemini-cli", "opencode", "pi", "qwen-code")
