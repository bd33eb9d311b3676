"""A report in a real browser: readable at any width, in light and dark, on paper, and without script or network."""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from prowess.findings import finding
from prowess.hosts import host_names, load_host, observed_hosts
from prowess.report import render_page
from support.browser import chromium
from support.comparisons import CWD, HOME, compared, comparison, lost, seen
from support.growth import assert_linear
from support.processes import wait_until
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.slow]

WIDTHS, SCHEMES = (360, 1440), ("light", "dark")
STATES = ("active", "user-only", "deferred", "disabled", "shadowed", "untrusted", "rejected")
COMMAND = "prowess check --fix .agents/skills/colon"
LONG = "a" * 64


STACKED = "Z" + "\u0335" * 300
"""One character for a browser, which breaks no line in it."""


def everything(skills: int = 12) -> str:
    """Return a page with all that a page can have."""
    hosts = observed_hosts()[: len(STATES)]
    item = finding(
        "repair-colon", "the unquoted value contains `: `", path=f"{CWD}/x/SKILL.md", line=3, hint="quote it"
    )
    rows = [
        compared("colon", *(lost(host, cure=COMMAND) for host in hosts), findings=[item]),
        compared(LONG, *(lost(host, "place", cure=f"prowess mount {LONG} --host {host}") for host in hosts)),
        compared("states", *(seen(h, s, f"it is {s}") for h, s in zip(hosts, STATES, strict=True)), folder=f"{HOME}/s"),
        compared("fine", *(seen(host) for host in hosts), description=LONG * 10),
        *(compared(f"more-{number}", *(lost(host, "name") for host in hosts)) for number in range(skills - 4)),
    ]
    return render_page(comparison(*rows, findings=[item]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("home")) as result:
        yield result


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / "skills.html"
    file.write_text(everything(), encoding="utf-8")
    return file


@contextmanager
def opened(browser: Browser, file: Path, *, width: int = 1440, scheme: Any = "light", **options: Any) -> Iterator[Page]:
    """Open a page; nothing but the file itself may be requested, and nothing may be wrong."""
    requests, problems = [], []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
    page = context.new_page()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert requests == [file.as_uri()]
    assert problems == []


def color(page: Page, selector: str, name: str = "color") -> str:
    value: str = page.eval_on_selector(selector, f"element => getComputedStyle(element).{name}")
    return value


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(browser: Browser, report: Path, width: int, scheme: str) -> None:
    """No violation of any rule, with all explanations open. The policy of the page would keep axe out."""
    from axe_playwright_python.sync_playwright import Axe

    with opened(browser, report, width=width, scheme=scheme, bypass_csp=True) as page:
        page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
        found = Axe().run(page).response["violations"]
        assert [(rule["id"], rule["impact"], [node["html"] for node in rule["nodes"]][:3]) for rule in found] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_on_other_pages(browser: Browser, tmp_path: Path, width: int) -> None:
    """Without skills; with nothing lost; with stacked marks; with so many agents that their names are vertical."""
    from axe_playwright_python.sync_playwright import Axe

    many = [name for name in host_names() if name != "prowess"]
    pages = (
        comparison(hosts=["codex"]),
        comparison(compared("fine", seen("codex"))),
        comparison(compared(STACKED, lost("codex", cure=COMMAND), folder=f"{CWD}/{STACKED[:60]}/skills")),
        comparison(compared("a", *(seen(host) for host in many)), compared("b", *(lost(host) for host in many))),
    )
    for number, each in enumerate(pages):
        file = tmp_path / f"{number}.html"
        file.write_text(render_page(each), encoding="utf-8")
        with opened(browser, file, width=width, bypass_csp=True) as page:
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert [rule["id"] for rule in Axe().run(page).response["violations"]] == []


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_on_a_page_of_answers(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, scheme: str
) -> None:
    """Of an eval: with long lines, a failed run, and all pairs open."""
    from axe_playwright_python.sync_playwright import Axe

    skill(tmp_path / "greet")
    (tmp_path / "greet/evals").mkdir()
    graded = [{"type": "contains", "value": "good"}, {"type": "contains", "value": LONG * 3}]
    cases = [{"id": LONG, "prompt": LONG * 9, "assertions": graded}, {"prompt": "b", "assertions": graded[:1]}]
    (tmp_path / "greet/evals/evals.json").write_text(json.dumps({"evals": cases}))
    monkeypatch.chdir(tmp_path)
    program = "test -d .agents && echo good; cat; test $PROWESS_RUN_SEED -ne 3"
    options = ["--runs", "2", "--out", "record", "--export", "html=answers.html"]
    assert main(["eval", "./greet", "--via", program, *options]) == 0
    with opened(browser, tmp_path / "answers.html", width=width, scheme=scheme, bypass_csp=True) as page:
        page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        found = Axe().run(page).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found] == []


def test_screen_readers_get_a_word_for_each_state(browser: Browser, report: Path) -> None:
    """In the tree that they read, beside the names of the skill and the agent."""
    with opened(browser, report) as page:
        row = page.get_by_role("row", name="states")
        words = ["seen", "user-only", "deferred", "switched off", "name taken", "not trusted", "rejected"]
        assert sorted(cell.inner_text() for cell in row.get_by_role("cell").all()) == sorted(words)
        assert [row.get_by_role("cell", name=word, exact=True).count() for word in words] == [1] * 7
        assert row.get_by_role("rowheader").inner_text() == "states"
        heads = [head.inner_text() for head in page.get_by_role("columnheader").all()]
        assert heads[:2] == [load_host(name).title for name in observed_hosts()[1:3]]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_light_and_dark_follow_the_system(browser: Browser, report: Path, scheme: str) -> None:
    with opened(browser, report, scheme=scheme) as page:
        channels = color(page, "body", "backgroundColor").strip("rgb()").split(", ")
        assert (sum(map(int, channels)) > 700) is (scheme == "light")


@pytest.mark.parametrize("width", [320, *WIDTHS])
def test_only_the_matrix_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    """Whatever the length of a name; its first column and its head stay."""
    with opened(browser, report, width=width) as page:
        page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        region = page.locator("[role=region]")
        scrolls = region.evaluate("element => element.scrollWidth > element.clientWidth")
        assert scrolls is (width < 1000)
        if scrolls:
            name, cell = page.locator("tbody th[scope=row]").first, page.locator("tbody td").first
            before = name.bounding_box(), cell.bounding_box()
            region.evaluate("element => element.scrollBy({left: 50, behavior: 'instant'})")
            after = name.bounding_box(), cell.bounding_box()
            assert before[0] == after[0]
            assert before[1] is not None
            assert after[1] is not None
            assert before[1]["x"] - after[1]["x"] == 50


def test_the_matrix_scrolls_with_the_keyboard_and_shows_its_focus(browser: Browser, report: Path) -> None:
    with opened(browser, report, width=360) as page:
        page.locator("#only-lost").focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "region"
        assert color(page, "[role=region]", "outlineStyle") == "solid"
        page.keyboard.press("ArrowRight")
        wait_until(lambda: page.locator("[role=region]").evaluate("element => element.scrollLeft"))


def test_the_page_is_readable_without_script(browser: Browser, report: Path) -> None:
    """And its explanations open."""
    with opened(browser, report, java_script_enabled=False) as page:
        assert page.locator("h1").inner_text() == "Cline sees 1 of your 12 skills"
        assert page.locator("tbody th[scope=row]").count() == 12
        assert not page.get_by_text(COMMAND).first.is_visible()
        page.locator("summary", has_text="colon").first.click()
        assert page.get_by_text(COMMAND).first.is_visible()


def test_the_name_of_a_skill_leads_to_its_explanation(browser: Browser, report: Path) -> None:
    """Which is open then, without script."""
    with opened(browser, report, java_script_enabled=False) as page:
        page.get_by_role("link", name="colon", exact=True).click()
        assert page.get_by_text(COMMAND).first.is_visible()


def test_the_filter_leaves_skills_that_are_lost(browser: Browser, report: Path) -> None:
    """Folders without one are left out too."""
    with opened(browser, report, java_script_enabled=False) as page:
        page.get_by_label("Show only skills that an agent loses").check()
        shown = [name for name in page.locator("tbody th").all() if name.is_visible()]
        assert len(shown) == 10 + 1
        assert not page.get_by_role("rowheader", name="fine").is_visible()
        assert not page.get_by_text("~/s", exact=True).first.is_visible()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_paper_shows_everything_in_light_colours(browser: Browser, report: Path, scheme: str) -> None:
    """Also what is closed on the screen."""
    with opened(browser, report, scheme=scheme) as page:
        page.emulate_media(media="print", color_scheme="dark" if scheme == "dark" else "light")
        assert page.get_by_text(COMMAND).first.is_visible()
        assert page.get_by_text("folders, highest precedence first").first.is_visible()
        assert not page.locator("#only-lost").is_visible()
        assert sum(map(int, color(page, "h1").strip("rgb()").split(", "))) < 150
        assert color(page, "[role=region]", "overflow") == "visible"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shapes_stay_in_the_colours_of_the_system(browser: Browser, report: Path, scheme: str) -> None:
    """High contrast on Windows replaces all backgrounds."""
    with opened(browser, report, scheme=scheme, forced_colors="active") as page:
        shape = page.eval_on_selector("td.seen", "cell => getComputedStyle(cell, '::before').backgroundColor")
        assert shape == color(page, "h1") != color(page, "body", "backgroundColor")


def test_the_policy_holds_if_escaping_failed(browser: Browser, tmp_path: Path) -> None:
    """Markup that got into the page neither runs nor loads anything."""
    file = tmp_path / "forged.html"
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        forged = (
            f"<script>document.title = 'forged'</script><img src={address}/x onerror=\"document.title='forged'\">"
            f"<style>h1 {{ color: rgb(1, 2, 3) }}</style><link rel=stylesheet href={address}/x.css>"
        )
        file.write_text(everything().replace("<header>", f"{forged}<header>"), encoding="utf-8")
        context = browser.new_context()
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.title() != "forged"
        assert color(page, "h1") != "rgb(1, 2, 3)"
        context.close()
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_thousand_skills_open_quickly(browser: Browser, tmp_path: Path) -> None:
    """In a time that is linear in their number."""

    def write(count: int) -> Path:
        file = tmp_path / f"{count}.html"
        file.write_text(everything(count), encoding="utf-8")
        return file

    def show(file: Path) -> None:
        with opened(browser, file) as page:
            page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")

    assert_linear(show, 1000, setup=write, clock=time.perf_counter)
