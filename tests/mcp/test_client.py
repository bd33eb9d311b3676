"""Skills of servers: listed without a file, verified when they are read, run only if their user trusts them."""

from __future__ import annotations

import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Session, discover
from prowess.errors import ActivationError, ConfigError, SkillError, SkillFileError
from prowess.mcp import McpSkillProvider
from prowess.mcp._cache import FileCache
from prowess.session import Trust
from prowess.session._remote_files import skill_folder
from support import skill_servers
from support.growth import END
from support.rows import rows
from support.skill_servers import ENTRY, FILES, MARKDOWN, serve
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prowess.catalog import Catalog
    from support.skill_servers import SkillServer

PROGRAM = [sys.executable, str(Path(skill_servers.__file__))]
READ = "resources/read skill://pdf/SKILL.md"


@pytest.fixture
def served() -> Iterator[tuple[str, SkillServer]]:
    with serve() as server:
        yield server


@pytest.fixture
def docs(served: tuple[str, SkillServer], tmp_path: Path) -> McpSkillProvider:
    return McpSkillProvider("docs", url=served[0], cache=tmp_path / "cache", timeout=END)


def see(tmp_path: Path, *providers: McpSkillProvider) -> Catalog:
    return discover(tmp_path, home=tmp_path / "home", env={}, cache=False, providers=providers)


def talk(tmp_path: Path, *providers: McpSkillProvider) -> Session:
    trust = Trust(str(tmp_path / "config/trust.json"))
    return Session(see(tmp_path, *providers), trust=trust, env={})


# ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_skills_are_listed_without_a_file(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """With the label in front of their names, as remote skills."""
    (entry,) = see(tmp_path, docs).active
    assert (entry.name, entry.description, entry.scope) == ("docs:pdf", "Reads PDF files.", "remote")
    assert (entry.path, entry.namespace) == ("mcp://docs/skill://pdf/SKILL.md", "docs")
    assert served[1].methods == ["server/discover", "skills/list"]


def test_a_request_has_the_headers_of_its_era(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """Of 2026-07-28; the name of a resource is one of them."""
    talk(tmp_path, docs).activate("docs:pdf")
    headers = served[1].headers[-1]
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("resources/read", "skill://pdf/SKILL.md")
    assert "authorization" not in headers


def test_a_server_of_the_older_era_is_initialized(tmp_path: Path) -> None:
    """And its session is kept."""
    with serve("older") as (url, server):
        docs = McpSkillProvider("docs", url=url, cache=tmp_path / "cache")
        assert "Read them aloud." in talk(tmp_path, docs).activate("docs:pdf").content
    expected = ["server/discover", "initialize", "notifications/initialized", "skills/list", READ]
    assert server.methods == expected
    assert {headers["mcp-session-id"] for headers in server.headers[2:]} == {"session-7"}
    assert {headers["mcp-protocol-version"] for headers in server.headers[2:]} == {"2025-06-18"}


def test_pages_are_joined(tmp_path: Path) -> None:
    """A skill that has a name twice has its place in its name."""
    with serve("pages") as (url, server):
        more = [_entry("acme/billing/refunds"), _entry("acme/support/refunds")]
        server.entries = [ENTRY, *more]
        docs = McpSkillProvider("docs", url=url, cache=tmp_path / "cache")
        names = [entry.name for entry in see(tmp_path, docs).active]
    assert names == ["docs:pdf", "docs:acme/billing/refunds", "docs:acme/support/refunds"]


def _entry(place: str) -> dict[str, Any]:
    uri = f"skill://{place}/SKILL.md"
    resource = {"uri": uri, "digest": f"sha256:{'0' * 64}", "size": 1}
    name = place.rpartition("/")[2]
    return {"uri": uri, "frontmatter": {"name": name, "description": "x"}, "resources": [resource]}


def test_a_skill_of_this_machine_is_not_replaced(docs: McpSkillProvider, tmp_path: Path) -> None:
    """Not even one whose name begins like that of a server."""
    skill(tmp_path / ".agents/skills/pdf", body="Mine.")
    session = talk(tmp_path, docs)
    assert "Mine." in session.activate("pdf").content
    assert "Read them aloud." in session.activate("docs:pdf").content


def test_servers_are_asked_at_the_same_time(tmp_path: Path) -> None:
    """Each answers only when all were asked; their skills are in the order of the providers."""
    everyone = threading.Barrier(3, timeout=END)
    with ExitStack() as stack:
        servers = [stack.enter_context(serve()) for _ in range(3)]
        for _, server in servers:
            server.before_list = everyone.wait
        docs = [McpSkillProvider(f"s{number}", url=url, cache=tmp_path) for number, (url, _) in enumerate(servers)]
        assert [entry.name for entry in see(tmp_path, *docs).active] == ["s0:pdf", "s1:pdf", "s2:pdf"]


def test_the_listing_is_asked_for_again_when_it_is_old(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """As long as the server says, it is not."""
    served[1].ttl_ms = 60_000
    for _ in range(3):
        docs.list(str(tmp_path))
    assert served[1].methods.count("skills/list") == 1
    docs.refresh(str(tmp_path))
    docs.list(str(tmp_path))
    assert served[1].methods.count("skills/list") == 2


def test_a_skill_that_is_not_listed_is_found_by_its_uri(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """Listings may be partial."""
    entry = docs.find("skill://pdf/SKILL.md")
    assert docs.read(entry).body == "Read them aloud.\n"
    with pytest.raises(SkillError, match="no such skill"):
        docs.find("skill://other/SKILL.md")
    served[1].what = "get-another"
    with pytest.raises(SkillError, match="it answered with another skill"):
        docs.find("skill://other/SKILL.md")


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_activated_skill_says_where_it_is_from(docs: McpSkillProvider, tmp_path: Path) -> None:
    """With its files, which are not fetched, and without a folder."""
    found = talk(tmp_path, docs).activate("docs:pdf")
    assert found.files == ("photo.bin", "references/a b.md", "scripts/run.py")
    assert found.content.startswith('<skill_content name="docs:pdf">\nRead them aloud.\n')
    assert "this skill and its files come from the MCP server `docs`" in found.content
    assert "Skill directory" not in found.content


def test_files_are_fetched_one_by_one(docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path) -> None:
    """Text and bytes; each once, since it is kept on disk."""
    session = talk(tmp_path, docs)
    session.activate("docs:pdf")
    assert session.read("docs:pdf", "references/a b.md").text == "See page 3.\r\n"
    assert session.read("docs:pdf", "references/a b.md", 4, 4).text == "page"
    with pytest.raises(SkillFileError, match="not a text file"):
        session.read("docs:pdf", "photo.bin")
    reads = [method for method in served[1].methods if method.startswith("resources")]
    assert reads == [READ, "resources/read skill://pdf/references/a%20b.md", "resources/read skill://pdf/photo.bin"]


@pytest.mark.parametrize("path", ["other.md", "../SKILL.md", "/etc/passwd", "references", "references/a%20b.md", ""])
def test_a_file_that_is_not_listed_is_not_asked_for(
    path: str, docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    session = talk(tmp_path, docs)
    count = len(served[1].methods)
    with pytest.raises(SkillFileError):
        session.read("docs:pdf", path)
    assert len(served[1].methods) == count


def test_a_kept_file_is_hashed_again(docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path) -> None:
    """One that was changed on disk is fetched again; it has the size that was listed."""
    session = talk(tmp_path, docs)
    session.read("docs:pdf", "references/a b.md")
    (file,) = [path for path in (tmp_path / "cache/mcp/docs").rglob("*") if path.is_file()]
    file.write_bytes(file.read_bytes().replace(b"3", b"4"))
    assert session.read("docs:pdf", "references/a b.md").text == "See page 3.\r\n"
    assert file.read_bytes() == FILES["skill://pdf/references/a%20b.md"]
    assert not any(path.name == "SKILL.md" for path in (tmp_path / "cache").rglob("*"))


def test_allowed_tools_of_a_server_grant_nothing(tmp_path: Path) -> None:
    """A server that fills them in asks for permissions on this machine."""
    markdown = MARKDOWN.replace(b"version: 1.10", b"allowed-tools: Bash")
    frontmatter = {"name": "pdf", "description": "Reads PDF files.", "allowed-tools": "Bash"}
    with serve() as (url, server):
        _replace(server, markdown, frontmatter)
        docs = McpSkillProvider("docs", url=url, cache=tmp_path / "cache")
        (entry,) = docs.list("")
        assert (entry.skill.allowed_tools, docs.read(entry).allowed_tools) == ((), ())


def _replace(server: SkillServer, markdown: bytes, frontmatter: dict[str, Any]) -> None:
    """Serve another SKILL.md, and list it as it is."""
    file = {"uri": ENTRY["uri"], "digest": skill_servers.digest(markdown), "size": len(markdown)}
    server.files = {**FILES, ENTRY["uri"]: markdown}
    server.entries = [{**ENTRY, "frontmatter": frontmatter, "resources": [file, *ENTRY["resources"][1:]]}]


def test_a_dynamic_skill_is_read_but_never_run_or_trusted(tmp_path: Path) -> None:
    """Nothing of it can be verified but the front matter."""
    with serve() as (url, server):
        server.entries = [{**ENTRY, "resources": "dynamic"}]
        session = talk(tmp_path, McpSkillProvider("docs", url=url, cache=tmp_path / "cache"))
        found = session.activate("docs:pdf")
        assert ("Read them aloud." in found.content, found.files, found.digest) == (True, (), None)
        assert "this skill is made by the MCP server `docs` whenever it is read" in found.content
        with pytest.raises(SkillFileError, match="has no file"):
            session.read("docs:pdf", "scripts/run.py")
        assert "never run or trusted" in str(session.granted("docs:pdf").denial_reason)


def test_a_conversation_keeps_the_skill_that_it_read(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """Also when the server lists another version; what was not read before is an error then."""
    session, late = talk(tmp_path, docs), talk(tmp_path, docs)
    session.activate("docs:pdf")
    other = MARKDOWN.replace(b"aloud", b"twice")
    _replace(served[1], other, ENTRY["frontmatter"])
    now = talk(tmp_path, docs)
    assert session.read("docs:pdf", "references/a b.md").text == "See page 3.\r\n"
    assert "aloud" in late.activate("docs:pdf").content
    assert "twice" in now.activate("docs:pdf").content


def test_a_skill_that_changed_before_it_was_read_is_an_error(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    session = talk(tmp_path, docs)
    _replace(served[1], MARKDOWN.replace(b"aloud", b"twice"), ENTRY["frontmatter"])
    talk(tmp_path, docs)
    with pytest.raises(ActivationError, match="it has changed since it was listed"):
        session.activate("docs:pdf")


def test_a_search_fetches_no_file(docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path) -> None:
    """It finds a skill by its name and description; the block of a turn does not read bodies either."""
    session = Session(see(tmp_path, docs), budget=1, env={})
    assert [hit.entry.name for hit in session.search("reads pdf files aloud")] == ["docs:pdf"]
    session.inject("read a pdf file aloud")
    session.block()
    session.static_block()
    assert served[1].methods == ["server/discover", "skills/list"]


def test_many_processes_and_threads_share_the_kept_files(tmp_path: Path) -> None:
    """A file is written in one step: a reader gets all of it, or nothing."""
    caches = [FileCache(str(tmp_path / "cache")) for _ in range(8)]
    texts = [bytes([65 + number]) * 200_000 for number in range(4)]

    def work(cache: FileCache) -> list[bytes | None]:
        found = []
        for text in texts * 5:
            found.append(cache.read("skill://pdf/SKILL.md", skill_servers.digest(text), len(text)))
            cache.write("skill://pdf/SKILL.md", skill_servers.digest(text), text)
        return found

    with ThreadPoolExecutor(8) as pool:
        found = [item for items in pool.map(work, caches) for item in items]
    assert {*found} <= {None, *texts}
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 4


def test_the_oldest_kept_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may have a new version each day."""
    monkeypatch.setattr("prowess.mcp._cache._MAX_BYTES", 1000)
    monkeypatch.setattr("prowess.mcp._cache._WRITES_BETWEEN_CHECKS", 1)
    cache = FileCache(str(tmp_path / "cache"))
    for number in range(20):
        text = bytes([65 + number]) * 300
        cache.write("skill://pdf/SKILL.md", skill_servers.digest(text), text)
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) == 3


def test_only_kept_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing behind a link, and nothing with another name."""
    monkeypatch.setattr("prowess.mcp._cache._MAX_BYTES", 0)
    monkeypatch.setattr("prowess.mcp._cache._WRITES_BETWEEN_CHECKS", 1)
    top, names = tmp_path / "cache", ("a" * 32, "b" * 64)
    cache = FileCache(str(top))
    (tmp_path / "out").mkdir()
    top.mkdir(mode=0o700)
    (top / names[0]).symlink_to(tmp_path / "out")
    files = [tmp_path / "out" / names[1], top / "notes.txt", top / ("c" * 32) / "notes.txt", top / "mine" / names[1]]
    for file in files:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text("precious")
    text = b"A" * 300
    cache.write("skill://pdf/SKILL.md", skill_servers.digest(text), text)
    assert [file.read_text() for file in files] == ["precious"] * 4
    assert cache.read("skill://pdf/SKILL.md", skill_servers.digest(text), 300) is None


def test_a_cache_that_cannot_be_written_is_not_needed(served: tuple[str, SkillServer], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    docs = McpSkillProvider("docs", url=served[0], cache=tmp_path / "cache")
    assert "Read them aloud." in talk(tmp_path, docs).activate("docs:pdf").content


# ── trust ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_scripts_run_only_if_the_user_trusts_the_skill(
    docs: McpSkillProvider, served: tuple[str, SkillServer], tmp_path: Path
) -> None:
    """From a sealed copy; a change on the server ends the trust."""
    session = talk(tmp_path, docs)
    session.activate("docs:pdf")
    run = {tool.name: tool for tool in session.tools(scripts=True)}["run_skill_script"]
    refused = "`docs:pdf` is not trusted: review it, then type `prowess trust docs:pdf`"
    assert refused in run.call(skill="docs:pdf", script="scripts/run.py")
    assert session.granted("docs:pdf").scripts == ()
    entry = session.catalog.resolve("docs:pdf")
    with skill_folder(session.catalog, entry) as folder:
        trusted = session.trust.allow(entry, folder=folder)
    assert trusted.path == "mcp://docs/skill://pdf"
    assert "it runs" in run.call(skill="docs:pdf", script="scripts/run.py")
    assert session.granted("docs:pdf").scripts == ("scripts/run.py",)
    _replace(served[1], MARKDOWN + b"More.\n", ENTRY["frontmatter"])
    session.update(see(tmp_path, docs))
    session.activate("docs:pdf")
    assert "has changed since it was trusted" in run.call(skill="docs:pdf", script="scripts/run.py")


def test_a_copy_that_cannot_be_written_is_an_error(
    docs: McpSkillProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written of it is removed."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (entry,) = docs.list("")
    with docs.copy(entry) as folder:
        copied = {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}
        assert copied == {"SKILL.md", "photo.bin", "references/a b.md", "scripts/run.py"}

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("prowess.mcp.client.write_all", fail)
    with pytest.raises(SkillError, match="cannot be copied: no space left on device"), docs.copy(entry):
        pass
    assert list((tmp_path / "tmp").iterdir()) == []


def test_trust_in_one_server_is_no_trust_in_another(served: tuple[str, SkillServer], tmp_path: Path) -> None:
    """Even if it serves the same bytes under the same URI."""
    providers = [McpSkillProvider(label, url=served[0], cache=tmp_path / "cache") for label in ("docs", "evil")]
    session = talk(tmp_path, *providers)
    for name in ("docs:pdf", "evil:pdf"):
        session.activate(name)
    entry = session.catalog.resolve("docs:pdf")
    with skill_folder(session.catalog, entry) as folder:
        session.trust.allow(entry, folder=folder)
    assert session.granted("docs:pdf").denial_reason is None
    assert "`evil:pdf` is not trusted" in str(session.granted("evil:pdf").denial_reason)
    assert [item.name for item in session.trust.revoke(entry)] == ["docs:pdf"]
    assert "is not trusted" in str(session.granted("docs:pdf").denial_reason)


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize("what", ["right", "older", "banner", "asks"])
def test_a_server_may_be_a_command(what: str, tmp_path: Path) -> None:
    """Of either era; lines that are no messages are left out, and its own requests are refused."""
    with McpSkillProvider("docs", command=[*PROGRAM, what], cache=tmp_path / "cache") as docs:
        session = talk(tmp_path, docs)
        assert "Read them aloud." in session.activate("docs:pdf").content
        assert session.read("docs:pdf", "references/a b.md").text == "See page 3.\r\n"


@pytest.mark.slow
def test_a_server_that_ended_is_started_again(tmp_path: Path) -> None:
    """And one that is pickled, with the catalog of a run."""
    with McpSkillProvider("docs", command=[*PROGRAM, "right"], cache=tmp_path / "cache") as docs:
        (entry,) = docs.list("")
        docs.close()
        assert docs.read_file(entry, "scripts/run.py") == FILES["skill://pdf/scripts/run.py"]
        with pickle.loads(pickle.dumps(docs)) as other:  # noqa: S301 - pickled just now
            assert other.read_file(entry, "photo.bin") == FILES["skill://pdf/photo.bin"]


@pytest.mark.slow
def test_a_command_gets_few_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that the configuration names; it does not work in the project."""
    monkeypatch.setenv("SECRET_TOKEN", "xyz")
    monkeypatch.chdir(tmp_path)
    code = "import os, sys; sys.exit(f\"{os.environ.get('SECRET_TOKEN')} {os.environ.get('MINE')} {os.getcwd()}\")"
    command = [sys.executable, "-c", code]
    with McpSkillProvider("docs", command=command, env={"MINE": "yes"}, cwd=tmp_path.parent) as docs:
        assert docs.list("") == ()
    assert f"None yes {tmp_path.parent}" in docs.findings[0].message


@pytest.mark.parametrize(("label", "options", "message"), rows(__file__, "invalid_arguments_are_errors"))
def test_invalid_arguments_are_errors(label: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        McpSkillProvider(label, **options)
    assert caught.value.hint


def test_a_token_is_sent_to_the_url(tmp_path: Path) -> None:
    with serve() as (url, server):
        assert McpSkillProvider("docs", url=url, token="t0k", cache=tmp_path).list("")  # noqa: S106 - of no server
    assert {headers["authorization"] for headers in server.headers} == {"Bearer t0k"}


@pytest.mark.slow
def test_the_server_of_prowess_and_its_client_agree(tmp_path: Path) -> None:
    """Over the standard input and output of a process."""
    pytest.importorskip("mcp")
    folder = skill(tmp_path / "served/.agents/skills/pages", body="Count twice.", more="version: 1.10\n").parent
    (folder / "a b.md").write_text("See page 3.\n")
    code = (
        "import asyncio, sys; from prowess import discover; from prowess.mcp import server\n"
        "from mcp.server.stdio import stdio_server\n"
        "async def main():\n"
        "    made = server(discover(sys.argv[1], home=sys.argv[1]))\n"
        "    async with stdio_server() as (reader, writer):\n"
        "        await made.run(reader, writer, made.create_initialization_options())\n"
        "asyncio.run(main())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "served")]
    with McpSkillProvider("docs", command=command, cache=tmp_path / "cache") as docs:
        session = talk(tmp_path, docs)
        assert "Count twice." in session.activate("docs:pages").content
        assert session.read("docs:pages", "a b.md").text == "See page 3.\n"
