"""Mentions of skills in a user's text."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess._internal.text import neutral
from prowess.catalog._entry import Entry, State
from prowess.session._mentions import Mention, find_mentions
from prowess.skill import Requirements, Skill
from support import strategies  # noqa: F401 - its profile makes every run the same


def entry(name: str, state: str = "active", **more: Any) -> Entry:
    """Return an entry of a catalog; the part before a colon is its package."""
    package, _, inner = name.rpartition(":")
    fields: dict[str, Any] = {
        "name": name,
        "frontmatter_name": inner,
        "folder": inner,
        "description": "Does it.",
        "path": f"/skills/{name}/SKILL.md",
        "real": f"/skills/{name}/SKILL.md",
        "scope": "user",
        "root": "/skills",
        "namespace": package or None,
        "state": State(state),
        "rule": "name",
        "requirements": Requirements(),
        "skill": Skill(),
        **more,
    }
    return Entry(**fields)


SKILLS = (
    entry("pdf"),
    entry("docx"),
    entry("pdf-tools"),
    entry("PDF Tools"),
    entry("load test"),
    entry("writing"),
    entry("cache"),
    entry("path"),
    entry("C++"),
    entry("📦"),
    entry("résumé"),
    entry("office:slides"),
    entry("a:dup"),
    entry("b:dup"),
    entry("hidden-one", "user-only"),
    entry("later", "deferred"),
    entry("twice", "shadowed", reason="/x wins"),
    entry("twice"),
    entry("off", "disabled", reason="settings\u202e say so"),
    entry("under", "shadowed"),
    entry("strange", "untrusted"),
    entry("broken", "rejected", reason="no description"),
)


def named(text: str) -> list[str]:
    """Return what a text names: the skill, or the name with a question mark if it is unresolved."""
    found = find_mentions(text, SKILLS)
    for item in found:
        assert text[item.start : item.end] == item.text
        assert (item.entry is None) is (item.problem is not None)
    return [item.entry.name if item.entry else f"{item.name}?" for item in found]


def test_a_mention_has_text_span_reason_and_entry() -> None:
    """Each one counts, in the order of the text, by characters."""
    pdf, slides = SKILLS[0], SKILLS[11]
    text = "📦 use the PDF skill, $pdf and office:slides"
    assert find_mentions(text, SKILLS) == (
        Mention(text="use the PDF skill", start=2, end=19, reason="phrase", name="PDF", entry=pdf),
        Mention(text="$pdf", start=21, end=25, reason="sigil", name="pdf", entry=pdf),
        Mention(text="office:slides", start=30, end=43, reason="package", name="office:slides", entry=slides),
    )
    assert find_mentions("", SKILLS) == find_mentions("nothing here", SKILLS) == find_mentions("$pdf", ()) == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("$pdf", ["pdf"], id="dollar"),
        pytest.param("/pdf", ["pdf"], id="slash"),
        pytest.param("@pdf", ["pdf"], id="at"),
        pytest.param("＄pdf ＠pdf ／pdf ﹩pdf ﹫pdf", ["pdf"] * 5, id="full-width and small sigils"),
        pytest.param("$ｐｄｆ $PDF", ["pdf"] * 2, id="names are compared folded"),
        pytest.param("$re\u0301sume\u0301", ["résumé"], id="decomposed"),
        pytest.param("$pdf\u0301", [], id="a mark behind a name makes another name"),
        pytest.param("$pdf. $pdf, $pdf! $pdf? $pdf: $pdf; ($pdf) $pdf...", ["pdf"] * 8, id="punctuation"),
        pytest.param("\"$pdf\" '$pdf' “$pdf” [$pdf] {$pdf} **$pdf** _$pdf_ $pdf's", ["pdf"] * 8, id="quotes"),
        pytest.param("请用，$pdf。 「$pdf」", ["pdf"] * 2, id="Chinese punctuation"),
        pytest.param("$pdf-tools $pdf-", ["pdf-tools", "pdf"], id="the longest name"),
        pytest.param("$PDF Tools, $pdf  tools, $pdf\ttools", ["PDF Tools"] * 3, id="a name with blanks"),
        pytest.param("$C++, $📦", ["C++", "📦"], id="names that are no words"),
        pytest.param("$pdf:then go", ["pdf"], id="a colon of no package"),
        pytest.param("$office:slides $slides @office:slides.", ["office:slides"] * 3, id="of a package"),
        pytest.param("office：slides (OFFICE:slides)", ["office:slides"] * 2, id="colons"),
        pytest.param("a$pdf 2*$pdf x/pdf a@pdf $$pdf //pdf", [], id="no boundary before"),
        pytest.param('"a"@pdf say"$pdf', [], id="a closing quote is no boundary"),
        pytest.param(
            "$pdf=1 $pdf() $pdf[0] $pdf->x $pdf.x $pdf/x @pdf/x @pdf.com /pdf.txt /pdf?x=1 /pdf/", [], id="code"
        ),
        pytest.param("$ pdf, $, @ pdf / pdf", [], id="a blank behind the sigil"),
        pytest.param("$PATH $HOME $path", ["path"], id="variables of every shell"),
        pytest.param("@cache\ndef f(): ...\n@cache please", ["cache"], id="decorators"),
        pytest.param("</pdf> <pdf>", [], id="tags"),
        pytest.param("a\0$pdf\0 \ud800$pdf\ud800", ["pdf"] * 2, id="NULs and surrogates are blanks"),
        pytest.param("\u202e$pdf\u202c \ufeff$pdf\u200b", ["pdf"] * 2, id="what does not show is a blank"),
        pytest.param("$p\u200bdf $pdf\u202etools", [], id="but not inside a word"),
        pytest.param("\x01$pdf\x02", ["pdf"], id="our own marks"),
    ],
)
def test_a_sigil_names_a_skill_at_the_boundary_of_a_word(text: str, names: list[str]) -> None:
    """Unless something else goes on behind the name."""
    assert named(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *[
            pytest.param(f"{verb} the pdf skill", ["pdf"], id=verb)
            for verb in ("Use", "using", "with", "run", "apply", "activate", "invoke", "load", "please use")
        ],
        pytest.param("use pdf skill", ["pdf"], id="without the"),
        pytest.param("Please use just my PDF skill.", ["pdf"], id="fillers"),
        pytest.param("use the pdf and docx skills", ["pdf", "docx"], id="two"),
        pytest.param("use the pdf, the docx, and the writing skills", ["pdf", "docx", "writing"], id="three"),
        pytest.param("use the pdf skill and the docx skill", ["pdf", "docx"], id="one after the other"),
        pytest.param("use the pdf skill; the docx skill is bad", ["pdf"], id="another clause"),
        pytest.param("use the load test skill, and load the load test skill", ["load test"] * 2, id="verbs in names"),
        pytest.param("use the PDF  Tools skill, with the \"pdf tools\" skill, use 'pdf' skill", None, id="quotes"),
        pytest.param("use the skill called pdf, or use the skill: docx", ["pdf", "docx"], id="called"),
        pytest.param("use skill 'pdf tools'", ["PDF Tools"], id="called in quotes"),
        pytest.param("use the office:slides skill", ["office:slides"], id="package"),
        pytest.param("use the $pdf skill", ["pdf"], id="sigil"),
        pytest.param("the pdf skill is fine; I used the pdf skill; use pdf; use the pdf", [], id="no verb or no skill"),
        pytest.param("use the pdf-skill, use pdf skill.md, use the pdf skillset", [], id="other words"),
        pytest.param("use the\npdf skill", [], id="not over lines"),
        pytest.param("use the ./pdf skill, use the `pdf` skill", [], id="paths and code"),
        pytest.param("use the pptx skill", ["pptx?"], id="unknown"),
        pytest.param(
            "use the right skill, use a soft skill, use skill, with the people skill", [], id="ordinary words"
        ),
    ],
)
def test_a_phrase_names_skills(text: str, names: list[str] | None) -> None:
    """A verb of using, names, and the word `skill`."""
    assert named(text) == (["PDF Tools", "PDF Tools", "pdf"] if names is None else names)


def test_the_spans_of_a_phrase_are_disjoint() -> None:
    """The first begins with the verb, the last ends with `skill`."""
    text = "now use the pdf, docx and writing skills for it"
    assert [item.text for item in find_mentions(text, SKILLS)] == ["use the pdf", "docx", "writing skills"]
    assert [item.text for item in find_mentions("use the skill called 'pdf'", SKILLS)] == ["use the skill called 'pdf"]


@pytest.mark.parametrize(
    "text",
    [
        "`$pdf` ``a ` $pdf`` `a\n$pdf`",
        "```\n$pdf\n```",
        "```sh\n$pdf",
        "~~~\n$pdf\n```\n$pdf\n~~~",
        "````\n```\n$pdf\n````",
        "- ```\n  $pdf\n  ```",
        "> ```\n> $pdf",
        "x\n\n    $pdf\n\n    $pdf",
        "\t$pdf",
        "<!-- $pdf\n\n$pdf -->",
        "<!-- $pdf",
        "https://a/$pdf http://($pdf www.a.b/($pdf ftp://x/(/pdf",
        "[text](/pdf) [text]($pdf)",
        "me@pdf mail a@b.c",
        "/usr/bin/pdf ./pdf ../pdf ~/pdf C:\\pdf dir/pdf $HOME/pdf",
        "and/or 1/2 2026/11/21 $5 $5.00 @types/node /etc @media /tmp $x $foo @alice http://office:slides",
    ],
)
def test_code_comments_links_and_paths_name_nothing(text: str) -> None:
    """As CommonMark reads them."""
    assert named(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`a $pdf",
        "``a` $pdf",
        "\\`$pdf \\`, a $pdf".replace("\\`$", "\\` $"),
        "`a\n\n$pdf`, $pdf",
        "`a\n\n $pdf `",
        "\\` $pdf `",
        "x\r\n    $pdf",
        "`a` $pdf `b` $pdf",
        "```a``` $pdf\n$pdf",
        "```\na\n```\n$pdf $pdf",
        "> ```\n> a\n\n$pdf $pdf",
        "x\n    $pdf\n    $pdf",
        "a <!-- b $pdf $pdf",
        "<!-- a --> $pdf $pdf",
        "see https://a.b/c $pdf, (www.x.y) $pdf",
    ],
)
def test_text_that_only_begins_like_code_counts(text: str) -> None:
    """A run of back-ticks that is not closed, a fence that is closed."""
    assert set(named(text)) == {"pdf"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("don't use the pdf skill", []),
        ("dont use $pdf", []),
        ("Don’t ever, under no circumstances, use $pdf", []),
        ("do not use the pdf skill or the docx skill", []),
        ("never use $pdf", []),
        ("you must not use $pdf", []),
        ("don't, please, use either $pdf or $docx", []),
        ("without using $pdf", []),
        ("do it without the pdf skill", []),
        ("not $pdf or $docx, nor $writing", []),
        ("no $pdf", []),
        ("no need for $pdf", []),
        ("avoid the pdf skill, avoid using $pdf", []),
        ("stop using $pdf", []),
        ("I don't want you to use $pdf", []),
        ("use everything except $pdf", []),
        ("don't use office:slides or the pptx skill or $foo-bar", []),
        ("instead of the pdf skill use $docx", ["docx"]),
        ("rather than $pdf use $docx", ["docx"]),
        ("use $docx instead of $pdf", ["docx"]),
        ("don't use the pdf skill, use $docx", ["docx"]),
        ("don't use $pdf, but $docx", ["docx"]),
        ("don't use $pdf. $docx", ["docx"]),
        ("don't use $pdf; $docx", ["docx"]),
        ("don't use $pdf\n$docx", ["docx"]),
        ("don't use $pdf, please use $docx", ["docx"]),
        ("don't edit it by hand: use $docx", ["docx"]),
        ("I don't have a table so use $docx", ["docx"]),
        ("I don't know, $docx", ["docx"]),
        ("without asking me use $docx", ["docx"]),
        ("to avoid mistakes use $docx", ["docx"]),
        ("if it is not readable, $docx", ["docx"]),
        ("don't forget to use the docx skill", ["docx"]),
        ("Do not hesitate to use the docx skill", ["docx"]),
        ("why not use the docx skill", ["docx"]),
        ("why don't you use $docx?", ["docx"]),
        ("can't you use $docx?", ["docx"]),
        ("not only use $pdf but $docx", ["pdf", "docx"]),
        ("no problem, $docx", ["docx"]),
        ("never answer without the docx skill", ["docx"]),
        ("don't use anything but $docx", ["docx"]),
        ("don't use anything other than $docx", ["docx"]),
        ("don't skip $docx", ["docx"]),
    ],
)
def test_a_negation_reaches_to_the_end_of_its_clause(text: str, names: list[str]) -> None:
    """And what only looks like a negation does not count."""
    assert named(text) == names


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$off", "the skill `off` is disabled: settings\\u202e say so"),
        ("/under", "the skill `under` is shadowed by another one"),
        ("@strange", "the skill `strange` is not trusted"),
        ("use the broken skill", "the skill `broken` is rejected: no description"),
        ("$dup", "`dup` means 2 skills: `a:dup`, `b:dup`"),
        ("$docxx", "no skill is called `docxx`; did you mean `docx`?"),
        ("/wirting", "no skill is called `wirting`; did you mean `writing`?"),
        ("@writng", "no skill is called `writng`; did you mean `writing`?"),
        ("$foo-bar", "no skill is called `foo-bar`"),
        ("@foo skill", "no skill is called `foo`"),
        ("office:charts", "no skill is called `office:charts`"),
        ("use the pptx skill", "no skill is called `pptx`"),
    ],
)
def test_an_unresolved_mention_has_a_problem(text: str, problem: str) -> None:
    """In every form if the skill exists; else only if the name can hardly be anything but a skill."""
    assert [item.problem for item in find_mentions(text, SKILLS)] == [problem]


def test_skills_that_the_model_does_not_see_can_be_mentioned() -> None:
    """Of two with one name the usable one is found."""
    assert named("$hidden-one $later $twice") == ["hidden-one", "later", "twice"]
    found = find_mentions("$twice", SKILLS)
    assert found[0].entry is SKILLS[17]


def test_of_names_that_differ_in_case_the_exact_one_is_found() -> None:
    """Without an exact one the mention is ambiguous."""
    both = (entry("Pdf"), entry("pdf"))
    found = find_mentions("$Pdf $pdf $PDF", both)
    assert [item.entry for item in found] == [*both, None]
    assert found[2].problem == "`PDF` means 2 skills: `Pdf`, `pdf`"
    same = tuple(entry("x", path=f"/{number}/SKILL.md") for number in range(5))
    assert find_mentions("$x", same)[0].problem == (
        "`x` means 5 skills: `/0/SKILL.md`, `/1/SKILL.md`, `/2/SKILL.md` and 2 more"
    )


def test_an_amount_is_not_a_skill_and_a_package_not_a_name() -> None:
    """Even if a skill has this name."""
    assert find_mentions("$5, $5.00 and $5k", (entry("5"),)) == ()
    found = find_mentions("$office:charts $office", (entry("office"), entry("office:slides")))
    assert [item.problem for item in found] == ["no skill is called `office:charts`", None]


def test_a_skill_can_be_mentioned_by_alias_and_folder() -> None:
    """The name that the host uses comes first."""
    skills = (entry("one", alias="uno", folder="eins"), entry("eins"))
    assert [item.entry for item in find_mentions("$uno $eins $one", skills)] == [skills[0], skills[1], skills[0]]


_PARTS = st.sampled_from(
    [
        *("$pdf", "/docx", "@pdf", "office:slides", "use the pdf skill", "with PDF Tools and docx skills", "$off"),
        *(
            " ",
            "\n",
            "\n\n",
            "    ",
            "\t",
            "`",
            "``",
            "```",
            "~~~",
            "<!--",
            "-->",
            "> ",
            "- ",
            "(",
            ")",
            '"',
            "\\",
            "*",
        ),
        *(
            "don't ",
            "never use ",
            "not ",
            "without ",
            ", use ",
            " but ",
            ". ",
            "and ",
            "skill",
            "skill called ",
            "the ",
        ),
        *("https://", "www.", "](", "\0", "\ud800", "\u202e", "\u0301", "＄", "$", "pdf", "C++", "📦", "\r\n", "\x85"),
    ]
)
_TEXTS = st.lists(_PARTS | st.text(max_size=3), max_size=14).map("".join)


@given(_TEXTS)
def test_spans_are_ordered_and_disjoint(text: str) -> None:
    """Whatever the text; and every problem is safe to show."""
    last = 0
    for item in find_mentions(text, SKILLS):
        assert text[item.start : item.end] == item.text
        assert item.name in item.text
        assert last <= item.start < item.end
        last = item.end
        assert (item.entry is None) is (item.problem is not None)
        assert item.problem is None or item.problem == neutral(item.problem)
        assert item.entry is None or item.entry.state in ("active", "user-only", "deferred")


@given(_TEXTS)
def test_a_fence_hides_everything(text: str) -> None:
    """Closed or not."""
    fence = "`" * (text.count("`") + 3)
    assert find_mentions(f"{fence}\n{text}\n{fence}", SKILLS) == ()
    assert find_mentions(f"{fence}\n{text}", SKILLS) == ()
    assert len(find_mentions(f"{fence}\n{text}\n{fence}\n$pdf", SKILLS)) == 1


MANY = (
    *(entry(f"skill-name-{number}") for number in range(1000)),
    *(entry(f"the long name {number}") for number in range(500)),
    *(entry(f"pack{number % 7}:thing{number}") for number in range(497)),
    *(entry(name) for name in ("pdf", "📦", "x" * 100_000)),
)
NAMED = ("$", "`", "don't ", " ", "[", "use the ")
UNITS = [
    "/",
    "@",
    "/a",
    "@a",
    "(",
    "$(",
    "$a",
    "a:",
    "a.",
    "://",
    "www.",
    "](",
    "<!--",
    "-->",
    "````",
    "`a``",
    "\\`",
    "\\",
    ">",
    "*",
    "_",
    "$_",
    ".",
    ",",
    "'",
    "~",
    '"$',
    "pack1",
    "($($",
]
PHRASES = [
    "use the skill ",
    "skill ",
    "not to ",
    "not the ",
    "without ",
    "with the ",
    "e.g. ",
    "the long name ",
    "pdf, ",
    ", please ",
    "don't use ",
    "` ",
    "- ",
    ", ",
]
CONTROLS = ("\n", "\t", "\r", "\n\n    ", "~~~\n", "```\n", " >\n", "\0", "\ud800", "\u202e", "\u0301")


def seconds(text: str) -> float:
    """Return how long it takes to find the mentions of a text."""
    start = time.perf_counter()
    find_mentions(text, MANY)
    return time.perf_counter() - start


@pytest.mark.parametrize("unit", NAMED)
def test_a_megabyte_takes_seconds_at_most(unit: str) -> None:
    """With two thousand skills: some tenths of a second as measured, the bound is for slow machines."""
    text = unit * (2**20 // len(unit))
    assert seconds(text) < 3
    assert seconds(f"$pdf {text} the pdf skill\n\n$pdf") < 6


@pytest.mark.parametrize("unit", [*UNITS, *PHRASES, *CONTROLS])
def test_time_is_linear_in_the_text(unit: str) -> None:
    """Quadratic time would be minutes."""
    text = unit * (2**18 // len(unit))
    assert seconds(text) < 4
    assert seconds(f"$pdf {text} the pdf skill\n\n$pdf") < 4


def test_many_mentions_take_linear_time() -> None:
    """Of skills, of unknown names that all differ, and back-ticks in all lengths."""
    dice = random.Random(1)  # noqa: S311 - nothing secret
    texts = [
        "$pdf " * 50_000,
        "don't use $pdf " * 20_000,
        "use the pdf skill " * 20_000,
        "pack1:thing1 pack1:nothing " * 20_000,
        " ".join("$" + "".join(dice.choices("abcdef", k=60)) for _ in range(5000)),
        "".join("`" * length + "x" for length in range(1, 1400)) + " $pdf",
        "$the long name " * 20_000,
    ]
    for text in texts:
        assert seconds(text) < 6
