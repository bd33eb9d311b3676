"""Searching skills by name, description and body."""

from __future__ import annotations

import runpy
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from prowess.catalog import discover
from prowess.catalog._entry import REACHABLE, State
from prowess.errors import SkillError
from prowess.search._ranking import MAX_QUERY_WORDS, weigh_query
from prowess.search._search import MAX_BODY_CHARS, Hit, Index
from prowess.search._words import MAX_QUERY_CHARS
from prowess.skill import Skill
from support.growth import assert_linear
from support.skills import make_entry, skill

if TYPE_CHECKING:
    from prowess.catalog import Catalog
    from prowess.catalog._entry import Entry

TOP = Path(__file__).parents[2]


def catalog(top: Path) -> Catalog:
    return discover(top, home=top / "home", cache=False)


def index(top: Path) -> Index:
    return Index(catalog(top).skills)


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.entry.name for hit in hits]


def found(top: Path, query: str, limit: int = 10) -> list[str]:
    return names(index(top).search(query, limit))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A few skills that differ in where their words are."""
    root = tmp_path / ".agents/skills"
    (tmp_path / ".git").mkdir()
    (tmp_path / "home").mkdir()
    skill(root / "csv-profile", description="Tells what is in a file with delimiters.", body="Count rows first.")
    skill(root / "sheets", description="Reads csv and workbooks.", body="Extracting tables is the heart of it.")
    skill(root / "notes", description="Writes release notes.", body="Mention every csv that changed, and résumés.")
    skill(root / "profile-csv-fast", description="Quick look at a table.", body="Nothing else.")
    skill(root / "chinese", description="从PDF文件中提取表格和文字。", body="先打开文件。")
    skill(root / "japanese", description="請求書をまとめて表にします。", body="ファイルを読む。")
    skill(root / "korean", description="문서를 요약합니다.", body="먼저 읽으세요.")
    skill(root / "thai", description="สรุปเอกสารยาว", body="อ่านก่อน")
    skill(root / "hindi", description="हिन्दी दस्तावेज़ का सारांश", body="पहले पढ़ें")
    skill(root / "street", description="Finds a café in the Größe straße of Ελλάδα.", body="Walk there.")
    for number in range(12):
        skill(root / f"other-{number}", description=f"Does something else, number {number}.", body="Not much.")
    return tmp_path


# ── what is found ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("csv-profile", ["csv-profile", "profile-csv-fast", "sheets", "notes"], id="exact-name"),
        pytest.param(
            "  CSV-Profile ", ["csv-profile", "profile-csv-fast", "sheets", "notes"], id="exact-name-in-any-case"
        ),
        pytest.param("csv profile", ["csv-profile", "profile-csv-fast", "sheets", "notes"], id="words-of-a-name"),
        pytest.param("delimiters", ["csv-profile"], id="description"),
        pytest.param("count rows", ["csv-profile"], id="body"),
        pytest.param("workbooks extracting", ["sheets"], id="description-and-body"),
        pytest.param("cafe", ["street"], id="without-accents"),
        pytest.param("RÉSUMÉS", ["notes"], id="capitals"),
        pytest.param("re\u0301sume\u0301s", ["notes"], id="accents-apart"),
        pytest.param("ｃａｆé", ["street"], id="full-width"),
        pytest.param("ελλάδα", ["street"], id="greek"),
        pytest.param("workb", ["sheets"], id="unfinished-last-word"),
        pytest.param("提取", ["chinese"], id="chinese"),
        pytest.param("提取表格", ["chinese"], id="chinese-words-in-a-run"),
        pytest.param("怎么提取PDF", ["chinese"], id="chinese-question-some-of-it"),
        pytest.param("PDF", ["chinese"], id="latin-among-chinese"),
        pytest.param("字", ["chinese"], id="one-character"),
        pytest.param("請求書", ["japanese"], id="japanese"),
        pytest.param("ファイル", ["japanese"], id="katakana-in-the-body"),
        pytest.param("ﾌｧｲﾙ", ["japanese"], id="half-width-katakana"),
        pytest.param("문서", ["korean"], id="korean-without-its-particle"),
        pytest.param("요약합니다", ["korean"], id="korean"),
        pytest.param("เอกสาร", ["thai"], id="thai"),
        pytest.param("दस्तावेज़", ["hindi"], id="hindi"),
        pytest.param("How do I count the rows of my file?", ["csv-profile"], id="question"),
        pytest.param("kubernetes for the number of it", sorted(f"other-{n}" for n in range(12))[:10], id="some-words"),
        pytest.param("the of", ["street", "sheets"], id="empty-words-alone"),
        pytest.param("・・", [], id="punctuation-among-characters"),
        pytest.param("kubernetes", [], id="nothing"),
        pytest.param("kubernetes of the", [], id="nothing-but-empty-words"),
        pytest.param("取提", [], id="characters-in-another-order"),
        pytest.param("", [], id="empty"),
        pytest.param(" \t\n", [], id="blanks"),
        pytest.param('"*()^:-+{}.,', [], id="punctuation"),
        pytest.param("_", [], id="underscore"),
        pytest.param("\u0301", [], id="an-accent-alone"),
        pytest.param("\0", [], id="nul"),
        pytest.param("\ud800\udcff", [], id="surrogates"),
    ],
)
def test_a_query_finds(query: str, expected: list[str], top: Path) -> None:
    """Names, descriptions and bodies, in every script, with any characters between the words."""
    assert found(top, query) == expected


@pytest.mark.parametrize(
    ("query", "name"),
    [("請求書・・表", "japanese"), ("「表」にします", "japanese"), ("เครื่องมือ", "tool"), ("요약, 문서", "korean")],
)
def test_punctuation_and_marks_are_not_words(query: str, name: str, top: Path) -> None:
    """In a script without blanks too: only characters count."""
    skill(top / ".agents/skills/tool", description="เครื่องมือ")
    assert found(top, query)[0] == name


@pytest.mark.parametrize("query", ["wide", "ＷＩＤＥ", "ファインダー", "ﾌｧｲﾝﾀﾞｰ", "étude", "e\u0301tude"])
def test_forms_of_a_character_make_no_difference(query: str, top: Path) -> None:
    """In a query and in a skill."""
    skill(top / ".agents/skills/forms", description="ＷＩＤＥ ﾌｧｲﾝﾀﾞｰ", body="E\u0301tude")
    assert found(top, query)[0] == "forms"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("extract", ["sheets"], id="stem"),
        pytest.param("extracts tables", ["sheets", "csv-profile", "profile-csv-fast"], id="stems"),
        pytest.param("counting", ["csv-profile"], id="stem-of-the-query"),
        pytest.param("delimit", ["csv-profile"], id="beginning-that-is-a-stem"),
    ],
)
def test_words_are_found_by_their_stems(query: str, expected: list[str], top: Path) -> None:
    """`table` alone is in another skill's description."""
    assert sorted(found(top, query)) == sorted(expected[:1] if len(expected) == 1 else ["sheets", "profile-csv-fast"])


def test_a_name_counts_more_than_a_description_and_that_more_than_a_body(top: Path) -> None:
    """For skills that have the word once; of two names the shorter text comes first."""
    assert found(top, "csv")[-2:] == ["sheets", "notes"]
    assert sorted(found(top, "csv")[:2]) == ["csv-profile", "profile-csv-fast"]


@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        pytest.param("csv-profile", 4, 4, id="its-name"),
        pytest.param("csv profile", 3, 3, id="the-words-of-its-name"),
        pytest.param("profile csv", 1, 2.9999, id="all-words"),
        pytest.param("profile cs", 0.5, 2.9999, id="all-words-the-last-one-unfinished"),
        pytest.param("profile kubernetes", 0.5, 2.9999, id="some-words"),
    ],
)
def test_the_score_shows_the_type_of_match(query: str, low: float, high: float, top: Path) -> None:
    """4 is the name, 3 are the words of the name, and less is the share of the highest rank."""
    scores = {hit.entry.name: hit.score for hit in index(top).search(query)}
    assert low <= scores["csv-profile"] <= high
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


def test_a_repeated_word_wins_nothing(top: Path) -> None:
    """Neither in a description nor in a body."""
    skill(top / ".agents/skills/release-release", description="release " * 50, body="release " * 500)
    assert found(top, "release notes")[:2] == ["notes", "release-release"]


def test_words_repeated_in_turn_win_nothing(top: Path) -> None:
    """A few words of many messages, a hundred times each, come after one skill that has two of them once."""
    words = "before plan table feature code question "
    for number, body in enumerate(("", words * 400)):
        skill(top / f".agents/skills/greedy-{number}", description=words * 25, body=body)
    skill(top / ".agents/skills/interview", description="Asks about a plan before the work on a feature starts.")
    assert found(top, "help me plan this feature before we begin the work")[0] == "interview"


def test_the_exact_name_comes_first(top: Path) -> None:
    """For a name of one common word, a name of symbols, and two names that differ only in symbols."""
    root = top / ".agents/skills"
    for name in ("c", "c++", "c#", "\N{HAMMER}"):
        skill(root / name, description="A language." if name != "c#" else "c " * 60)
    skill(root / "greedy", description="c " * 90, body="c " * 900)
    for name in ("c", "c++", "c#", "\N{HAMMER}"):
        assert found(top, name)[0] == name
    assert [hit.score for hit in index(top).search("c++")[:3]] == [4, 3, 3]


def test_a_skill_is_found_by_either_of_two_names(top: Path) -> None:
    """Claude Code uses the folder's name, and shows the other name too."""
    skill(top / ".claude/skills/folder-name", "given-name", "Nothing.")
    entries = discover(top, "claude-code", home=top / "home", cache=False).skills
    for name in ("folder-name", "given-name"):
        (hit, *_) = Index(entries).search(name)
        assert (hit.entry.name, hit.entry.alias, hit.score) == ("folder-name", "given-name", 4)
    assert names(Index(entries).search("given")) == ["folder-name"]


@pytest.mark.parametrize("state", State)
def test_only_reachable_skills_are_found(state: State, top: Path) -> None:
    """Active, user-only or deferred; no shadowed, disabled or rejected ones."""
    entries = [entry.with_changes(state=state) for entry in catalog(top).skills]
    assert bool(Index(entries).search("csv")) is (state in REACHABLE)
    assert [str(item) for item in REACHABLE] == ["active", "user-only", "deferred"]


@pytest.mark.parametrize("limit", [1, 2, 3, 10, 2**70])
def test_the_limit_is_kept(limit: int, top: Path) -> None:
    """And the best hits stay the same."""
    every = found(top, "csv number", 100)
    assert len(every) == 16
    assert found(top, "csv number", limit) == every[:limit]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_gives_no_hits(limit: int, top: Path) -> None:
    """Not even the skill with that name."""
    assert found(top, "csv-profile", limit) == []


def test_equal_hits_come_in_the_order_of_the_catalog(tmp_path: Path) -> None:
    """Not in the order in which they were written."""
    for name in ("b-one", "a-one", "c-one"):
        skill(tmp_path / ".agents/skills" / name, description="The same.", body="Same.")
    listed = [entry.name for entry in catalog(tmp_path).skills]
    assert found(tmp_path, "same") == found(tmp_path, "one") == listed


def test_without_skills_there_are_no_hits() -> None:
    assert Index(()).search("csv") == ()


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_the_start_of_a_body_is_searched(top: Path) -> None:
    """262,144 characters, not bytes."""
    filler = "é " * (MAX_BODY_CHARS // 2)
    skill(top / ".agents/skills/long", body=filler[:-20] + "before " + "é " * 10 + "behind")
    assert found(top, "before") == ["long"]
    assert found(top, "behind") == []


def test_other_fields_are_not_searched(top: Path) -> None:
    """The front matter is not part of the body."""
    skill(top / ".agents/skills/licensed", more="license: Zanzibar\n", body="one\n---\ntwo")
    assert found(top, "zanzibar") == []
    assert found(top, "one two") == ["licensed"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="gone"),
        pytest.param(b"---\nname: x\n---\n" + b"x" * 1024 * 1024, id="too-large"),
        pytest.param(b"\xff\xfe\x00\x00\xd8", id="no-text"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_skill_with_an_unreadable_body_is_found_by_name(data: bytes | None, top: Path) -> None:
    """The file has changed since discovery; its name and description are still searched."""
    entries = catalog(top).skills
    file = top / ".agents/skills/sheets/SKILL.md"
    if data is None:
        file.unlink()
    else:
        file.write_bytes(data)
    hits = Index(entries).search("workbooks extracting")
    assert [(hit.entry.name, hit.excerpt) for hit in hits] == [("sheets", "Reads csv and workbooks.")]


def test_a_link_is_not_followed_to_a_body(top: Path) -> None:
    """It was a file during discovery."""
    entries = catalog(top).skills
    (top / "secret").write_text("extracting secrets")
    file = top / ".agents/skills/sheets/SKILL.md"
    file.unlink()
    file.symlink_to(top / "secret")
    assert Index(entries).search("secrets") == ()


class Elsewhere:
    """Skills that lie in no file."""

    def __init__(self, body: str | Exception) -> None:
        self.body = body

    def read(self, skill: Entry) -> Skill:
        if isinstance(self.body, Exception):
            raise self.body
        return Skill(name=skill.name, body=self.body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Kept in a database.", ["sheets"]),
        ("é" * MAX_BODY_CHARS + " database", []),
        (OSError("gone"), []),
        (SkillError("gone"), []),
    ],
    ids=["read", "too-long", "os-error", "own-error"],
)
def test_a_provider_reads_its_own_bodies(body: str | Exception, expected: list[str], top: Path) -> None:
    """By path; if the provider fails, name and description are still searched."""
    entries = catalog(top).skills
    (path,) = (entry.path for entry in entries if entry.name == "sheets")
    searched = Index(entries, {path: Elsewhere(body)})
    assert names(searched.search("database")) == expected
    assert names(searched.search("heart")) == []
    assert names(searched.search("workbooks")) == ["sheets"]


# ── excerpts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "excerpt"),
    [
        pytest.param("workbooks", "Reads csv and workbooks.", id="description"),
        pytest.param("heart", "Extracting tables is the heart of it.", id="body"),
        pytest.param("extracts table", "Extracting tables is the heart of it.", id="other-endings"),
        pytest.param("extracted hearts", "Extracting tables is the heart of it.", id="stems"),
        pytest.param("csv heart", "Reads csv and workbooks.", id="as-many-words-in-the-description"),
        pytest.param("sheets", "Reads csv and workbooks.", id="name-alone"),
    ],
)
def test_the_excerpt_shows_the_best_match(query: str, excerpt: str, top: Path) -> None:
    """From the description or the body, whichever has more words of the query."""
    (hit,) = (hit for hit in index(top).search(query, 30) if hit.entry.name == "sheets")
    assert hit.excerpt == excerpt


def test_the_excerpt_is_short_and_harmless(tmp_path: Path) -> None:
    """One line of whole words; hidden characters are escaped."""
    body = "alpha " * 100 + "\n\nThe needle\tis \x1b[2J\u202e here.\n::error::x\n" + "omega " * 100
    skill(tmp_path / ".agents/skills/hay", description="Stacks.", body=body)
    (hit,) = index(tmp_path).search("needle is")
    assert hit.excerpt == ("…The needle is \\x1b[2J\\u202e here. ::error::x" + " omega" * 20 + "…")


def test_the_excerpt_has_most_words_of_the_query(top: Path) -> None:
    """Not just the first of them."""
    body = "red\n" + "x " * 200 + "\ngreen\n" + "x " * 200 + "\nred and green and blue\n" + "x " * 200
    skill(top / ".agents/skills/colours", description="Paints.", body=body)
    (hit, *_) = index(top).search("red green blue")
    assert "red and green and blue" in hit.excerpt
    assert len(hit.excerpt) <= 162


def test_of_equal_excerpts_the_first_is_shown(top: Path) -> None:
    skill(top / ".agents/skills/twice", description="Twice.", body="One oboe.\n" + "x " * 300 + "\nAnother oboe.")
    assert index(top).search("oboe")[0].excerpt.startswith("One oboe. x x")


def test_text_without_blanks_has_an_excerpt(top: Path) -> None:
    """It is cut inside the text."""
    skill(top / ".agents/skills/long", description="长", body="一" * 300 + "寻找" + "二" * 300)
    (hit,) = index(top).search("寻找")
    assert hit.excerpt == "…" + "一" * 30 + "寻找" + "二" * 128 + "…"


# ── foreign queries ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "query",
    [
        '"workbooks',
        'workbooks" OR "x',
        "workbooks*",
        "^workbooks",
        "name:workbooks",
        "{name body}: workbooks",
        "-workbooks",
        "workbooks; DROP TABLE skills; --",
        "work\0books workbooks",
        "\ud800workbooks\udfff",
        "NEAR(workbooks, 2)",
        "workbooks AND",
        "NOT workbooks",
        "'workbooks'",
    ],
)
def test_a_query_is_never_syntax(query: str, top: Path) -> None:
    """Its words are searched, and the table does not change."""
    searched = index(top)
    assert "sheets" in names(searched.search(query))
    assert names(searched.search("csv-profile"))[0] == "csv-profile"


ANY = st.text(alphabet=st.characters(exclude_categories=[]), max_size=60)


@pytest.mark.slow
@given(query=st.one_of(ANY, st.lists(st.sampled_from(["csv", '"', "*", "\0", "提取", "AND", "é", "ُ", "ก", "\ud800"]))))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_query_can_be_searched(query: str | list[str], every_script: Index) -> None:
    """For any characters, scores fall and no skill is listed twice."""
    hits = every_script.search(query if isinstance(query, str) else "".join(query))
    assert len(set(names(hits))) == len(hits) <= 10
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 4 and score == round(score, 4) for score in scores)


@pytest.fixture
def every_script(top: Path) -> Index:
    return index(top)


def test_hostile_skills_are_indexed(top: Path) -> None:
    """NULs, lone surrogates and unpaired accents in names, descriptions and bodies."""
    (entry, *rest) = catalog(top).skills
    hostile = entry.with_changes(name="bad\udcff\0name", description="a\0b \ud800 c\u0301 zebra", alias="\ud800")
    searched = Index([hostile, *rest])
    for query in ("zebra", "bad name", "bad\udcff\0name", "ć"):
        assert searched.search(query)[0].entry is hostile, query
        searched.search(query)[0].excerpt.encode()


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("csv " * 250_000, id="words"),
        pytest.param("x" * 1_000_000, id="one-word"),
        pytest.param("a-" * 500_000, id="hyphens"),
        pytest.param("提取" * 300_000, id="without-blanks"),
        pytest.param('"' * 1_000_000, id="quotes"),
        pytest.param("\x01\x1b[31m" * 2_000_000, id="control-characters"),
        pytest.param("e" + "\u0301" * 5_000_000, id="accents"),
        pytest.param(" " * 10_000_000 + "workbooks", id="blanks"),
        pytest.param("workbooks,sheets;" * 600_000, id="no-blanks"),
        pytest.param("".join(map(chr, range(0x10000))) * 15, id="every-character"),
        pytest.param("\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 300_000, id="grows-when-made-even"),
    ],
)
def test_a_huge_query_is_fast(query: str, top: Path) -> None:
    """Only the start of a megabyte counts."""
    searched = index(top)
    searched.search("csv")
    assert_linear(searched.search, query)


def test_the_words_that_say_most_are_searched(top: Path) -> None:
    """However many others a message has, and wherever they are."""
    letters = "bcdfghjklm"
    words = [f"x{first}{second}o" for first in letters for second in letters]
    skill(top / ".agents/skills/everywhere", body=" ".join(words))
    skill(top / ".agents/skills/twice", body=" ".join(words))
    postings = index(top)._build_postings()
    weights = weigh_query(" ".join([*words, "workbooks", "number"]), postings)
    assert len(weights) == MAX_QUERY_WORDS
    assert "workbook" in weights
    assert "number" not in weights


def test_characters_of_a_query_are_limited(top: Path) -> None:
    """Only the start of a message is read."""
    assert found(top, "kubernetes " * 500 + "workbooks") == ["sheets"]
    assert found(top, "kubernetes " * (MAX_QUERY_CHARS // 11 + 1) + "workbooks") == []


# ── what is known of a message ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "known"),
    [
        ("profile the workbooks", (2, 0)),
        ("profile zebras and okapis", (1, 2)),
        ("the and of", (0, 0)),
        ("", (0, 0)),
        ("读取表格数据", (2, 3)),
        ("--", (0, 0)),
    ],
)
def test_known_and_unknown_words_are_counted(query: str, known: tuple[int, int], top: Path) -> None:
    """Each once, and no stop words."""
    assert index(top).count_known(query) == known


def described_in(*descriptions: str) -> tuple[str, ...]:
    return Index(make_entry(f"s{number}", text) for number, text in enumerate(descriptions)).languages()


def test_the_languages_of_descriptions_are_named() -> None:
    """The most frequent first; a text that tells nothing does not count."""
    english = "Reads the tables of a PDF and writes them to a file."
    german = "Liest die Tabellen aus einer Datei und schreibt sie für dich auf."
    assert described_in(english, english, german, "PDF CSV", "") == ("English", "German")
    assert described_in("从PDF中提取表格并保存") == ("Chinese",)
    assert described_in("表を取り出してファイルに書く") == ("Japanese",)
    assert described_in("표를 꺼내서 파일에 저장합니다") == ("Korean",)
    assert described_in("Извлекает таблицы из файла и пишет их на диск") == ("Russian",)
    assert described_in("", "\ud800\0", "x" * 100_000, "12 34") == ()
    assert described_in() == ()


def test_a_language_of_few_descriptions_is_not_named() -> None:
    english = "Reads the tables of a PDF and writes them to a file."
    assert described_in(*[english] * 19, "从PDF中提取表格并保存") == ("English",)


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_read_before_the_first_search(top: Path) -> None:
    """And nothing is read again for a later search."""
    searched = index(top)
    skill(top / ".agents/skills/sheets", description="Reads csv and workbooks.", body="Giraffe.")
    assert names(searched.search("giraffe")) == ["sheets"]
    skill(top / ".agents/skills/sheets", description="Reads csv and workbooks.", body="Walrus.")
    assert names(searched.search("walrus")) == []


def test_threads_share_an_index(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them makes the table, even if all start at once."""
    searched, made = index(top), []
    make = Index._build_postings

    def slowly(index: Index) -> object:
        made.append(index)
        time.sleep(0.05)
        return make(index)

    monkeypatch.setattr(Index, "_build_postings", slowly)
    with ThreadPoolExecutor(8) as pool:
        hits = list(pool.map(searched.search, ["csv-profile", "workbooks"] * 40))
    assert [names(found)[0] for found in hits] == ["csv-profile", "sheets"] * 40
    assert made == [searched]


# ── two thousand skills ──────────────────────────────────────────────────────────────────────────────────────────────

MANY = 2_000


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills whose texts have words as often as a language has them: the n-th commonest 1/n of the time."""
    folder = tmp_path_factory.mktemp("crowd")
    author: Any = runpy.run_path(str(TOP / "benchmarks/generate.py"))["SkillWriter"](7)
    dice = Random(7)  # noqa: S311 - nothing secret
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    words = list(dict.fromkeys("".join(dice.choices(syllables, k=dice.choice((2, 3, 3, 4)))) for _ in range(8_000)))
    shares = [1 / rank for rank in range(1, len(words) + 1)]
    for name in author.names(MANY):
        text = dice.choices(words, shares, k=50 + 250)
        skill(folder / ".agents/skills" / name, description=" ".join(text[:50]), body=" ".join(text[50:]))
    return folder


@pytest.fixture(scope="module")
def crowded(crowd: Path) -> Index:
    searched = index(crowd)
    assert len(searched.entries) == MANY
    return searched


@pytest.mark.slow
def test_each_of_two_thousand_skills_is_first_for_its_name(crowded: Index) -> None:
    """So a skill that was left out of a prompt can be found."""
    missed = [entry.name for entry in crowded.entries if crowded.search(entry.name, 1)[0].entry is not entry]
    assert missed == []


@pytest.mark.slow
def test_each_of_two_thousand_skills_is_found_by_its_description(crowded: Index) -> None:
    """Its three rarest words find it among the first ten, nearly always."""
    counts = Counter(word for entry in crowded.entries for word in set(entry.description.split()))
    ranks = []
    for entry in crowded.entries:
        rare = sorted(set(entry.description.split()), key=lambda word: (counts[word], word))[:3]
        entries = [hit.entry for hit in crowded.search(" ".join(rare))]
        ranks.append(entries.index(entry) + 1 if entry in entries else 0)
    print(f"first: {ranks.count(1) / MANY:.2%}, among ten: {1 - ranks.count(0) / MANY:.2%}")
    assert ranks.count(0) == 0
    assert ranks.count(1) >= 0.99 * MANY
