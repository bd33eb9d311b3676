"""Servers that lie, flood, hang or send others' skills: each is an error or a finding, never a crash or a hang."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Session, discover
from prowess.errors import SkillError
from prowess.mcp import McpSkillProvider, _connection, configured_servers, list_together
from prowess.net import _client as _http
from support import skill_servers
from support.growth import END, ends
from support.rows import rows
from support.skill_servers import ENTRY, serve, small_entry

if TYPE_CHECKING:
    from prowess.mcp._remote_skill import RemoteSkill

PROGRAM = [sys.executable, str(Path(skill_servers.__file__))]


def provider(tmp_path: Path, url: str, timeout: float = END) -> McpSkillProvider:
    return McpSkillProvider("docs", url=url, cache=tmp_path / "cache", timeout=timeout)


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("what", "reason"), rows(__file__, "a_list_that_breaks_the_rules_is_a_finding"))
def test_a_list_that_breaks_the_rules_is_a_finding(what: str, reason: str, tmp_path: Path) -> None:
    """The catalog has the skills of this machine, and says what the server did."""
    with serve(what) as (url, _):
        catalog = discover(tmp_path, home=tmp_path, env={}, cache=False, providers=[provider(tmp_path, url)])
    assert [finding.message for finding in catalog.findings] == [
        f"the MCP server `docs`: its skills cannot be listed: {reason}"
    ]
    assert (catalog.skills, catalog.findings[0].code) == ((), "server-failed")


@pytest.mark.parametrize(
    "milliseconds",
    [10**400, -(10**400), 1e308, True, "1", None],
    ids=["huge", "huge and negative", "a float", "a boolean", "a text", "null"],
)
def test_a_list_with_an_odd_time_is_used(milliseconds: object, tmp_path: Path) -> None:
    """JSON has numbers that are too large for a float."""
    with serve() as (url, server):
        server.ttl_ms = milliseconds
        docs = provider(tmp_path, url)
        assert [entry.name for entry in docs.list(str(tmp_path))] == ["docs:pdf"]
        assert docs.findings == ()


@pytest.mark.parametrize(("what", "count", "reason"), rows(__file__, "a_list_without_end_is_cut"))
@pytest.mark.slow
def test_a_list_without_end_is_cut(
    what: str, count: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was listed before can be used."""
    monkeypatch.setattr(_connection, "MAX_SKILLS", 3)
    monkeypatch.setattr(_connection, "_MAX_PAGES", 5)
    with serve(what) as (url, _):
        docs = provider(tmp_path, url)
        assert len(docs.list("")) == count
    assert reason in docs.findings[-1].message


@pytest.mark.slow
@pytest.mark.parametrize("what", ["list-silence", "drip"])
def test_a_server_that_does_not_answer_is_left_after_the_timeout(what: str, tmp_path: Path) -> None:
    """Also one that sends a byte now and then."""
    with serve(what) as (url, _):
        docs = provider(tmp_path, url, timeout=0.4)
        with ends():
            assert docs.list("") == ()
    assert "it did not answer in time" in docs.findings[0].message


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1"])
def test_a_name_that_leads_to_a_private_address_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it has a public one too; nothing is connected."""
    monkeypatch.setattr(_http, "look_up_host", lambda *_: ("93.184.215.14", address))
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("connected"))
    docs = provider(tmp_path, "https://skills.example.com/mcp")
    assert docs.list("") == ()
    assert "skills.example.com" in docs.findings[0].message
    assert "not allowed" in docs.findings[0].message or "credentials" in docs.findings[0].message


@pytest.mark.parametrize(("address", "is_tried"), [("10.0.0.7", True), ("127.0.0.1", True), ("169.254.169.254", False)])
def test_a_name_in_the_own_network_is_reached_if_its_user_allows_it(
    address: str, is_tried: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for that server, and never one with credentials of a cloud."""
    file = tmp_path / ".prowess/config.toml"
    file.parent.mkdir()
    url = 'url = "https://skills.example.com/mcp"'
    allowed = f'[[servers]]\nname = "docs"\n{url}\nallow_private = true\n'
    file.write_text(f'{allowed}[[servers]]\nname = "other"\n{url}\n')
    tried = []

    def connect(target: Any, *_: Any, **__: Any) -> None:
        tried.append(target[0])
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(_http, "look_up_host", lambda *_: (address,))
    monkeypatch.setattr("socket.create_connection", connect)
    servers = configured_servers(tmp_path, env={})
    assert [server.list("") for server in servers.values()] == [(), ()]
    assert tried == ([address] if is_tried else [])
    assert "set `allow_private`" in servers["other"].findings[0].message or not is_tried


@pytest.mark.slow
def test_a_silent_url_is_asked_once(tmp_path: Path) -> None:
    """Only a process may need another request to answer at all."""
    with serve("discover-silence") as (url, server):
        docs = provider(tmp_path, url, timeout=0.3)
        assert docs.list("") == ()
        assert server.methods == ["server/discover"]


def test_a_failure_keeps_the_last_listing(tmp_path: Path) -> None:
    with serve() as (url, server):
        docs = provider(tmp_path, url)
        assert len(docs.list("")) == 1
        server.what = "list-error"
        assert len(docs.list("")) == 1
        assert [finding.code for finding in docs.findings] == ["server-failed"]
        server.what = "right"
        assert (len(docs.list("")), docs.findings) == (1, ())


def test_a_failure_after_the_first_page_keeps_the_last_listing(tmp_path: Path) -> None:
    """What was sent so far is only used if nothing was listed before."""
    entries = [ENTRY, small_entry(1), small_entry(2)]
    with serve("pages") as (url, server):
        server.entries = entries
        docs, late = provider(tmp_path, url), provider(tmp_path, url)
        assert [entry.name for entry in docs.list("")] == ["docs:pdf", "docs:s1", "docs:s2"]
        server.what = "pages-then-error"
        assert [entry.name for entry in docs.list("")] == ["docs:pdf", "docs:s1", "docs:s2"]
        assert [finding.code for finding in docs.findings] == ["server-failed"]
        assert [entry.name for entry in late.list("")] == ["docs:pdf"]
        server.what, server.entries = "right", entries[:2]
        assert len(docs.list("")) == len(late.list("")) == 2


PDF = "skill://pdf/SKILL.md"
ZERO = f"sha256:{'0' * 64}"


def resources(*uris: Any, **more: Any) -> dict[str, Any]:
    return {"resources": [{"uri": uri, "digest": ZERO, "size": 1, **more} for uri in (PDF, *uris)]}


def named(name: Any, uri: str | None = None) -> dict[str, Any]:
    uri = f"skill://{name}/SKILL.md" if uri is None else uri
    row = {"uri": uri, "digest": ZERO, "size": 1}
    return {"uri": uri, "frontmatter": {"name": name, "description": "x"}, "resources": [row]}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *rows(__file__, "an_entry_that_breaks_a_rule_is_left_out"),
        ({"uri": f"skill://{'a/' * 1500}pdf/SKILL.md"}, "its URI is not that of a SKILL.md"),
        (named("docs:pdf"), "its name breaks the rules of agentskills.io: `docs:pdf`"),
        (named("PDF"), "its name breaks the rules of agentskills.io: `PDF`"),
        (named("pdf\x1b[2J", PDF), r"its name breaks the rules of agentskills.io: `pdf\x1b[2J`"),
        (named("рdf", PDF), "its name breaks the rules of agentskills.io: `рdf`"),
        (named(["pdf"], PDF), "its name breaks the rules of agentskills.io: `['pdf']`"),
        ({"frontmatter": {"name": "pdf", "description": "x" * 70_000}}, "its front matter has more than 65,536 bytes"),
        ({"frontmatter": {"name": "pdf", "description": "\ud800"}}, "its front matter is invalid"),
        (resources("skill://other/a.md"), "one of its files is not in its folder"),
        (resources("skill://pdf-evil/a.md"), "one of its files is not in its folder"),
        (resources("file:///etc/passwd"), "one of its files is not in its folder"),
        (resources("skill://pdf/../a.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/%2e%2e/a.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%2Fb.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%5Cb.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%00b.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%0Ab.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%E2%80%AEb.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/a%FFb.md"), "one of its files has an invalid path"),
        (resources("skill://pdf//a.md"), "one of its files has an invalid path"),
        (resources("skill://pdf/" + "a" * 300), "one of its files has an invalid path"),
        (resources("skill://pdf/a?b"), "one of its files has an invalid path"),
        (resources(PDF), "two of its files have the same path"),
        (resources("skill://pdf/skill.md"), "two of its files have the same path"),
        (resources("skill://pdf/SKILL.md/a"), "two of its files have the same path"),
        (resources("skill://pdf/%C3%A9", "skill://pdf/e%CC%81"), "two of its files have the same path"),
        (resources(*(f"skill://pdf/{number}" for number in range(512))), "it has more than 512 files"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_an_entry_that_breaks_a_rule_is_left_out(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """And the others stay."""
    with serve() as (url, server):
        server.entries = [{**ENTRY, **change}, named("other"), 7]
        docs = provider(tmp_path, url)
        assert [entry.name for entry in docs.list("")] == ["docs:other"]
    assert [finding.message for finding in docs.findings] == [
        f"the MCP server `docs`: a skill is left out: {reason}",
        "the MCP server `docs`: a skill is left out: it is not an object",
    ]


def test_two_different_entries_of_one_uri_are_left_out(tmp_path: Path) -> None:
    """Of two that are the same, one stays."""
    with serve() as (url, server):
        server.entries = [ENTRY, named("other"), named("other"), {**ENTRY, "resources": ENTRY["resources"][:1]}]
        docs = provider(tmp_path, url)
        assert [entry.name for entry in docs.list("")] == ["docs:other"]
    assert [finding.message for finding in docs.findings] == [
        "the MCP server `docs`: a skill is left out: it is listed twice",
        "the MCP server `docs`: a skill is left out: it is listed twice, in two ways",
    ]


def test_servers_are_listed_at_the_same_time(tmp_path: Path) -> None:
    """Each answers only when the other one has been asked too."""
    both = threading.Barrier(2, timeout=END)
    with serve() as (one, first), serve() as (other, second):
        first.before_list = second.before_list = both.wait
        servers = [McpSkillProvider(name, url=url, cache=tmp_path) for name, url in (("a", one), ("b", other))]
        list_together(servers, "")
        found = discover(tmp_path, home=tmp_path, env={}, cache=False, providers=servers)
        assert [entry.name for entry in found.skills] == ["a:pdf", "b:pdf"]
        assert first.methods.count("skills/list") == 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["list-silence", "drip", "discover-silence"])
def test_a_server_that_does_not_answer_is_left_when_all_have_to_be_there(what: str, tmp_path: Path) -> None:
    """However long its own answers may take; it is not asked again, and a finding says why it has no skills."""
    with serve(what) as (url, server):
        late = provider(tmp_path, url)
        with ends():
            list_together([late], "", seconds=0.4)
        asked = len(server.methods)
        assert late.list("") == ()
        assert "it did not answer in time" in late.findings[0].message
        assert len(server.methods) == asked


def test_only_the_first_findings_about_entries_are_kept(tmp_path: Path) -> None:
    with serve() as (url, server):
        server.entries = [7] * 1000
        docs = provider(tmp_path, url)
        assert docs.list("") == ()
    assert (len(docs.findings), docs.findings[-1].message) == (
        101,
        "the MCP server `docs`: 900 more skills are left out",
    )


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("what", "reason"), rows(__file__, "a_file_that_is_not_what_was_listed_is_not_used"))
def test_a_file_that_is_not_what_was_listed_is_not_used(what: str, reason: str, tmp_path: Path) -> None:
    """Neither the instructions nor another file; the skill can be activated later."""
    with serve() as (url, server):
        docs = provider(tmp_path, url)
        session = Session(discover(tmp_path, home=tmp_path, env={}, cache=False, providers=[docs]), env={})
        server.what = what
        with pytest.raises(SkillError) as caught:
            session.activate("docs:pdf")
        assert reason in str(caught.value)
        with pytest.raises(SkillError) as caught:
            session.read("docs:pdf", "scripts/run.py")
        assert reason in str(caught.value)
        assert session.ledger == ()
        assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        server.what = "right"
        assert "Read them aloud." in session.activate("docs:pdf").content


@pytest.mark.parametrize("change", rows(__file__, "another_front_matter_than_the_listed_one_is_an_error"))
def test_another_front_matter_than_the_listed_one_is_an_error(change: dict[str, Any], tmp_path: Path) -> None:
    """A text is no number, and `true` is not 1."""
    with serve() as (url, server):
        server.entries = [{**ENTRY, "frontmatter": {**ENTRY["frontmatter"], **change}}]
        docs = provider(tmp_path, url)
        session = Session(discover(tmp_path, home=tmp_path, env={}, cache=False, providers=[docs]), env={})
        for use in (session.activate, lambda name: session.read(name, "SKILL.md")):
            with pytest.raises(SkillError, match="its front matter is not the one that was listed"):
                use("docs:pdf")


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(("what", "reason"), rows(__file__, "a_hostile_process_is_ended"))
def test_a_hostile_process_is_ended(what: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next request starts it again."""
    monkeypatch.setattr(_connection, "_MAX_PAGE_BYTES", 1000)
    timeout = 2 if reason == "it did not answer in time" else END
    with McpSkillProvider("docs", command=[*PROGRAM, what], cache=tmp_path, timeout=timeout) as docs:
        assert docs.list("") == ()
        assert reason in docs.findings[0].message
        assert not docs._transport.is_open


def test_a_program_that_does_not_exist_is_a_finding(tmp_path: Path) -> None:
    with McpSkillProvider("docs", command=["no-such-program-here"], cache=tmp_path) as docs:
        assert docs.list("") == ()
        assert "it cannot be started" in docs.findings[0].message


def held(docs: McpSkillProvider) -> dict[str, RemoteSkill]:
    return docs._held


def test_the_memory_of_read_skills_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may list another version each time."""
    monkeypatch.setattr("prowess.mcp.client._MAX_HELD", 3)
    with serve() as (url, server):
        docs = provider(tmp_path, url)
        for number in range(6):
            row = {"uri": "skill://pdf/a.md", "digest": ZERO, "size": number}
            server.entries = [{**ENTRY, "resources": [ENTRY["resources"][0], row]}]
            docs.read(docs.list("")[0])
        assert len(held(docs)) == 3
