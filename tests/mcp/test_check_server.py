"""What authors of servers get to know about them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from prowess.mcp import check_server
from support.growth import END
from support.rows import rows
from support.skill_servers import ENTRY, FILES, MARKDOWN, digest, serve

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.mcp import ServerReport
    from support.skill_servers import SkillServer

PDF = "skill://pdf/SKILL.md"
PLACES = ("", "/references", "/scripts")


def check(url: str) -> ServerReport:
    return check_server(url=url, timeout=END)


def broken(url: str) -> list[tuple[str, str, str | None]]:
    return [(finding.level, finding.rule, finding.skill) for finding in check(url).findings]


def with_frontmatter(server: SkillServer, **changes: Any) -> None:
    server.entries = [{**ENTRY, "frontmatter": {**ENTRY["frontmatter"], **changes}}]


def test_a_server_without_faults_has_no_finding() -> None:
    """Every file is read and compared."""
    with serve() as (url, _):
        report = check(url)
    assert report.findings == ()
    assert (report.version, report.era, report.directories) == ("2026-07-28", "modern", False)
    assert (report.skills, report.files, report.verified) == (1, len(FILES), len(FILES))
    assert report.size == sum(map(len, FILES.values()))
    assert report.capabilities == ("extensions", "resources")


def test_a_server_of_the_older_era_is_checked() -> None:
    """Its results need no `ttlMs`."""
    with serve("older") as (url, _):
        report = check(url)
    assert (report.version, report.era, report.findings, report.verified) == ("2025-06-18", "older", (), len(FILES))


@pytest.mark.parametrize(("what", "rule", "skill"), rows(__file__, "a_fault_is_an_error"))
def test_a_fault_is_an_error(what: str, rule: str, skill: str | None) -> None:
    with serve(what) as (url, _):
        assert ("error", rule, skill) in broken(url)


def test_all_pages_of_all_directories_are_read() -> None:
    """Each has one child on a page."""
    with serve("directory") as (url, server):
        report = check(url)
        asked = [method for method in server.methods if method.startswith("resources/directory/read")]
    assert (report.findings, report.directories) == ((), True)
    assert [asked.count(f"resources/directory/read {PDF.removesuffix('/SKILL.md')}{name}") for name in PLACES] == [
        4,
        1,
        1,
    ]


def test_a_server_that_cannot_be_reached_is_said_to_be_so(tmp_path: Path) -> None:
    """With what its author can check, rather than a rule of the protocol."""
    unknown = check_server(command=[str(tmp_path / "no-such-program")], timeout=END)
    refused = check_server(url="http://127.0.0.1:1/mcp", timeout=END)
    with serve("list-silence") as (url, _):
        silent = check_server(url=url, timeout=0.3)
    with serve("http-401") as (url, _):
        secret = check(url)
    for report in (unknown, refused, silent, secret):
        (finding,) = report.findings
        assert (finding.level, finding.rule) == ("error", "connection")
        assert finding.hint == "check the URL or the command, its token, and that the server runs"
    assert secret.findings[0].message == "it does not accept the token, or needs one (HTTP status 401)"


def test_a_skill_for_every_uri_is_an_error() -> None:
    with serve("get-another") as (url, _):
        assert broken(url) == [("error", "unknown", None)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        *rows(__file__, "an_invalid_front_matter_is_an_error"),
        ({"compatibility": "x" * 501}, [["error", "compatibility"], ["error", "frontmatter"]]),
        ({"description": "x" * 1025}, [["error", "description"], ["error", "frontmatter"]]),
    ],
)
def test_an_invalid_front_matter_is_an_error(changes: dict[str, Any], expected: list[list[str]]) -> None:
    """Also one that differs from the SKILL.md: the finding names the field."""
    with serve() as (url, server):
        with_frontmatter(server, **changes)
        report = check(url)
    assert [[finding.level, finding.rule] for finding in report.findings] == expected
    assert [next(iter(changes)) in item.message for item in report.findings if item.rule == "frontmatter"] == [True] * (
        ["error", "frontmatter"] in expected
    )


def test_a_large_skill_is_a_warning_with_its_size() -> None:
    """Of files or bytes; hosts may decline it."""
    rows = [{"uri": f"skill://pdf/{number}", "digest": digest(b""), "size": 0} for number in range(512)]
    with serve() as (url, server):
        server.entries = [{**ENTRY, "resources": [*ENTRY["resources"][:1], *rows]}]
        (finding,) = check(url).findings
        server.entries = [{**ENTRY, "resources": [{**ENTRY["resources"][0], "size": 16 * 1024 * 1024 + 1}]}]
        (heavy,) = check(url).findings
    assert (finding.level, finding.rule, "513 files" in finding.message) == ("warning", "limit", True)
    assert (heavy.level, heavy.rule, "16,777,217" in heavy.message) == ("warning", "limit", True)


def test_sizes_whose_sum_cannot_be_printed_are_a_warning() -> None:
    """Python prints numbers of at most 4,300 digits."""
    with serve() as (url, server):
        server.entries = [{**ENTRY, "resources": [{**ENTRY["resources"][0], "size": 10**4300 - 1}] * 2}]
        findings = check(url).findings
    assert {finding.rule for finding in findings} >= {"limit"}


def test_a_skill_without_digests_is_a_warning() -> None:
    with serve() as (url, server):
        server.entries = [{**ENTRY, "resources": "dynamic"}]
        assert broken(url) == [("warning", "dynamic", PDF)]


def test_skills_with_one_name_are_a_warning_and_one_skill_twice_is_an_error() -> None:
    """Names are not identifiers, URIs are."""
    other = copy.deepcopy(ENTRY)
    other["uri"] = "skill://more/pdf/SKILL.md"
    other["resources"] = [{**ENTRY["resources"][0], "uri": other["uri"]}]
    with serve() as (url, server):
        server.entries = [ENTRY, other, ENTRY]
        server.files[other["uri"]] = MARKDOWN
        assert broken(url) == [("warning", "name", other["uri"]), ("error", "duplicate", PDF)]


def test_a_result_without_caching_fields_is_an_error() -> None:
    with serve() as (url, server):
        server.ttl_ms = "soon"
        assert broken(url) == [("error", "caching", None)]


def test_findings_show_no_control_characters() -> None:
    """A server decides over its URIs and names."""
    with serve() as (url, server):
        server.entries = [{"uri": "skill://\x1b[2J\n/SKILL.md"}, {"uri": ["a"]}, 7, None]
        findings = check(url).findings
    assert [finding.rule for finding in findings][:4] == ["entry"] * 4
    shown = "".join(f"{finding.message}{finding.skill}" for finding in findings)
    assert [character for character in shown if not character.isprintable()] == []
