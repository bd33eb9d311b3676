"""The skills of the user's MCP servers in `list`, `show`, `why` and `search`: asked only if the user says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prowess.cli import main
from support.files import write_file
from support.skill_servers import ENTRY, FILES, serve
from support.skills import skill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.skill_servers import SkillServer

READ = "resources/read skill://pdf/SKILL.md"


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name in ("config", "cache"):
        monkeypatch.setenv(f"PROWESS_{name.upper()}_DIR", str(tmp_path / name))
    skill(tmp_path / "project/.agents/skills/notes")
    (tmp_path / "project/.git").mkdir()
    return ["--cwd", str(tmp_path / "project"), "--home", str(tmp_path / "home")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SkillServer]:
    with serve() as (url, server):
        write_file(tmp_path / "home/.prowess/config.toml", f'[[servers]]\nname = "docs"\nurl = "{url}"\n')
        yield server


def output(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """Return what a command prints as JSON."""
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("hosts", [(), ("--host", "prowess")])
def test_list_has_the_skills_of_servers_if_the_user_says_so(
    hosts: tuple[str, ...], served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind those of this machine; no file is fetched."""
    found = output(capsys, "list", "--servers", *hosts, *where)
    assert [(item["name"], item["scope"]) for item in found["skills"]] == [("notes", "project"), ("docs:pdf", "remote")]
    assert found["counts"]["found"] == 2
    assert main(["list", "--servers", "--digest", *hosts, *where]) == 0
    out = capsys.readouterr().out
    assert "docs:pdf  seen   remote   mcp://docs/skill://pdf" in out
    assert out.count("sha256:") == 2
    assert [method for method in served.methods if method.startswith("resources")] == []


def test_no_server_is_asked_without_a_word_of_the_user(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for a name without the label of a server."""
    for argv in (["list"], ["list", "--host", "prowess"], ["search", "pdf"], ["why", "notes"], ["show", "notes"]):
        assert main([*argv, *where]) == 0
    for argv in (["why", "pdf"], ["show", "other:pdf"], ["show", "docs:pdf", "--host", "codex"]):
        assert main([*argv, *where]) == 2
    assert served.methods == []
    assert "docs:pdf" not in capsys.readouterr().out


def test_show_has_the_files_and_fields_of_a_skill_of_a_server(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its SKILL.md is fetched and verified; its other files are only listed."""
    found = output(capsys, "show", "docs:pdf", *where)
    sizes = {uri.removeprefix("skill://pdf/").replace("%20", " "): len(data) for uri, data in FILES.items()}
    assert {item["path"]: item["bytes"] for item in found["files"]} == sizes
    assert (found["fields"]["version"], found["scope"], found["digest"][:7]) == ("1.10", "remote", "sha256:")
    assert [method for method in served.methods if method.startswith("resources")] == [READ]
    assert main(["show", "docs:pdf", *where]) == 0
    assert "  found in  remote, mcp://docs/" in capsys.readouterr().out


def test_show_says_that_a_skill_changed(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it is shown."""
    served.what = "changed"
    assert main(["show", "docs:pdf", *where]) == 1
    captured = capsys.readouterr()
    assert (captured.out, "has changed since it was listed" in captured.err) == ("", True)


def test_a_skill_without_a_list_of_files_has_no_digest(
    served: SkillServer, where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """Not even that of a folder of the project with the name of its path."""
    served.entries = [{**ENTRY, "resources": "dynamic"}]
    skill(tmp_path / "project/mcp:/docs/skill:/pdf", name="pdf")
    monkeypatch.chdir(tmp_path / "project")
    for command in ("show", "why"):
        assert main([command, "docs:pdf", *where]) == 0
        assert "unknown: its server makes it when it is read" in capsys.readouterr().out
    assert output(capsys, "list", "--servers", "--digest", *where)["skills"][1]["digest"] is None


def test_why_explains_a_skill_of_a_server(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """For Prowess: no other agent has the server."""
    (candidate,) = output(capsys, "why", "docs:pdf", *where)["candidates"]
    assert (candidate["state"], candidate["rule"], candidate["path"]) == (
        "active",
        "provider",
        "mcp://docs/skill://pdf/SKILL.md",
    )
    assert main(["why", "docs:pdf", "--host", "prowess", *where]) == 0
    assert "1. active: mcp://docs/skill://pdf/SKILL.md" in capsys.readouterr().out
    assert main(["why", "docs:pfd", *where]) == 2
    assert "did you mean `docs:pdf`?" in capsys.readouterr().err
    assert served.methods.count(READ) == 0


@pytest.mark.parametrize("what", ["right", "list-nothing"])
def test_a_skill_of_a_server_is_named_by_its_path(
    what: str, served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As `list` and `why` print it; a server need not list all that it serves."""
    served.what = what
    path = "mcp://docs/skill://pdf/SKILL.md"
    assert output(capsys, "show", path, *where)["name"] == "docs:pdf"
    assert [item["path"] for item in output(capsys, "why", path, *where)["candidates"]] == [path]
    assert "Read them aloud." in output(capsys, "activate", path, *where)["content"]
    assert output(capsys, "read", path, "references/a b.md", *where)["text"] == "See page 3.\r\n"
    assert served.methods.count("skills/get skill://pdf/SKILL.md") == (4 if what == "list-nothing" else 0)
    assert main(["trust", path, "--yes", *where]) == 0
    assert main(["show", path.removesuffix("/SKILL.md"), *where]) == (0 if what == "right" else 1)
    for wrong, code in (("docs/skill://no/SKILL.md", 1), ("docs/", 2), ("other/skill://pdf/SKILL.md", 2)):
        assert main(["show", f"mcp://{wrong}", *where]) == code


def test_search_finds_skills_of_servers_by_their_descriptions(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Not by their instructions, which are not fetched."""
    assert [hit["name"] for hit in output(capsys, "search", "pdf", "--servers", *where)["results"]] == ["docs:pdf"]
    assert output(capsys, "search", "aloud", "--servers", *where)["results"] == []
    assert [method for method in served.methods if method.startswith("resources")] == []


def test_a_server_that_fails_is_a_finding_of_list(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The other skills are listed; what the server writes is escaped."""
    served.what = "list-error"
    assert main(["list", "--servers", *where]) == 0
    captured = capsys.readouterr()
    assert "notes" in captured.out
    assert "the MCP server `docs`: its skills cannot be listed: it answered: no" in captured.err
    assert "\x1b" not in captured.err


@pytest.mark.parametrize(
    "argv",
    [
        ["list", "--servers", "--host", "codex"],
        ["list", "--servers", "--all"],
        ["list", "--servers", "--host", "codex", "--host", "pi"],
        ["search", "pdf", "--servers", "--host", "codex"],
    ],
)
def test_other_agents_have_no_servers_of_prowess(
    argv: list[str], served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """That is an error, rather than a list that no agent has."""
    assert main([*argv, *where]) == 2
    assert "`--servers`" in capsys.readouterr().err
    assert served.methods == []


def test_settings_without_servers_are_an_error(
    where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to ask."""
    (tmp_path / "home").mkdir()
    assert main(["list", "--servers", *where]) == 2
    assert "your settings have no servers" in capsys.readouterr().err
