"""The servers of a user, and the skills of a server on the command line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prowess import Session, discover
from prowess.cli import main
from prowess.errors import ConfigError
from prowess.mcp import configured_servers
from support.rows import rows
from support.skill_servers import serve
from support.users import MALLORY, only_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.skill_servers import SkillServer


def configure(home: Path, text: str) -> Path:
    file = home / ".prowess/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_each_server_has_a_provider(tmp_path: Path) -> None:
    """None is started."""
    text = '[skills]\ndisabled = ["x"]\n[[servers]]\nname = "docs"\ncommand = ["no-such-program"]\n'
    more = '[[servers]]\nname = "web"\nurl = "https://example.com/mcp"\ntoken_env = "WEB_TOKEN"\n'
    configure(tmp_path, text + more)
    assert list(configured_servers(tmp_path, env={"WEB_TOKEN": "t"})) == ["docs", "web"]
    assert list(configured_servers(tmp_path, env={}, only="docs")) == ["docs"]
    assert configured_servers(tmp_path / "other") == {}


@pytest.mark.parametrize(("text", "message"), rows(__file__, "invalid_settings_are_errors"))
def test_invalid_settings_are_errors(text: str, message: str, tmp_path: Path) -> None:
    """With the file, and what to do."""
    file = configure(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        configured_servers(tmp_path, env={"YES": "t"})
    assert message in str(caught.value)
    assert str(file)[:30] in str(caught.value)
    assert caught.value.hint


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("PROWESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("PROWESS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "project/.git").mkdir(parents=True)
    return ["--cwd", str(tmp_path / "project"), "--home", str(tmp_path / "home")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SkillServer]:
    with serve() as (url, server):
        configure(tmp_path / "home", f'[[servers]]\nname = "docs"\nurl = "{url}"\n')
        yield server


MARK = "ran"
SHARED = "if you share it on purpose"


@pytest.mark.parametrize("place", [".prowess/config.toml", ".prowess", "."])
@pytest.mark.parametrize("mode", [0o777, 0o722, 0o770])
def test_settings_that_others_can_write_to_start_nothing(place: str, mode: int, tmp_path: Path) -> None:
    """The file, its folder or the home."""
    configure(tmp_path, f'[[servers]]\nname = "x"\ncommand = ["touch", "{tmp_path}/{MARK}"]\n')
    assert list(configured_servers(tmp_path)) == ["x"]
    (tmp_path / place).chmod(mode)
    with pytest.raises(ConfigError, match=r"no command of it is run: .* can be changed by other users") as caught:
        configured_servers(tmp_path)
    assert SHARED in (caught.value.hint or "")
    assert main(["list", "--servers", "--home", str(tmp_path), "--cwd", str(tmp_path)]) == 2
    assert not (tmp_path / MARK).exists()


@only_root
@pytest.mark.parametrize("attack", ["file", "folder", "home", "link", "target"])
def test_settings_of_another_user_start_nothing(attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those behind a link of one; links of the user are followed, as people keep settings in a repository."""
    file = configure(tmp_path, f'[[servers]]\nname = "x"\ncommand = ["touch", "{tmp_path}/{MARK}"]\n')
    (tmp_path / "settings").mkdir()
    target = file.rename(tmp_path / "settings/config.toml")
    file.symlink_to(target)
    assert list(configured_servers(tmp_path)) == ["x"]
    foreign = {"file": target, "folder": file.parent, "home": tmp_path, "link": file, "target": target.parent}[attack]
    os.chown(foreign, MALLORY, -1, follow_symlinks=False)
    with pytest.raises(ConfigError, match=r"no command of it is run: .* belongs to another user") as caught:
        configured_servers(tmp_path, only="x")
    assert SHARED in (caught.value.hint or "")
    monkeypatch.setenv("PROWESS_SHARED_DIR", str(tmp_path))
    assert list(configured_servers(tmp_path)) == ["x"]


def test_servers_of_a_project_are_not_used(
    tmp_path: Path, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Their commands would run."""
    configure(tmp_path / "project", '[[servers]]\nname = "docs"\ncommand = ["touch", "ran"]\n')
    (tmp_path / "home").mkdir()
    assert main(["activate", "docs:pdf", *where]) == 2
    assert "no skill is called `docs:pdf`" in capsys.readouterr().err
    assert not list(tmp_path.rglob("ran"))


def test_a_skill_of_a_server_is_activated_and_read(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name with the label; what changes a terminal is escaped."""
    assert main(["activate", "docs:pdf", *where]) == 0
    assert "come from the MCP server `docs`" in capsys.readouterr().out
    assert main(["read", "docs:pdf", "references/a b.md", *where]) == 0
    assert capsys.readouterr().out == "See page 3.\\x0d\n"
    assert main(["read", "docs:pdf", "other.md", *where]) == 1
    assert served.methods.count("resources/read skill://pdf/SKILL.md") == 1


def test_a_server_that_fails_is_the_reason(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Rather than a name that no skill has."""
    served.what = "list-error"
    assert main(["activate", "docs:pdf", *where]) == 1
    assert "error: the MCP server `docs`: its skills cannot be listed: it answered: no" in capsys.readouterr().err


def test_another_name_asks_no_server(served: SkillServer, where: list[str]) -> None:
    """Not even one with a colon."""
    for name in ("pdf", "other:pdf", "docs:", ":pdf"):
        assert main(["activate", name, *where]) == 2
    assert served.methods == []


def test_a_skill_of_a_server_is_trusted_as_it_was_shown(
    served: SkillServer, where: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then its scripts run; listing and removing trust ask no server."""
    assert main(["trust", "docs:pdf", "--yes", *where]) == 0
    out = capsys.readouterr().out
    assert "path     mcp://docs/skill://pdf/SKILL.md" in out
    assert "scripts/run.py" in out
    provider = configured_servers(tmp_path / "home")["docs"]
    session = Session(discover(tmp_path, home=tmp_path / "home", cache=False, providers=[provider]))
    session.activate("docs:pdf")
    assert session.granted("docs:pdf").scripts == ("scripts/run.py",)
    count = len(served.methods)
    assert main(["trust", "--list", "--json", *where]) == 0
    (record,) = json.loads(capsys.readouterr().out)["trusted"]
    assert (record["name"], record["path"], record["state"]) == ("docs:pdf", "mcp://docs/skill://pdf", "remote")
    assert main(["trust", "--remove", "docs:pdf", *where]) == 0
    assert len(served.methods) == count
    assert "is not trusted" in str(session.granted("docs:pdf").denial_reason)


def test_a_skill_that_its_server_changes_is_not_trusted(
    served: SkillServer, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    served.what = "changed"
    assert main(["trust", "docs:pdf", "--yes", *where]) == 1
    assert "cannot trust `docs:pdf`" in capsys.readouterr().err


def test_the_code_of_the_page_runs(
    served: SkillServer, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a server of this machine in place of the one in the page."""
    assert where
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "project")
    page = (Path(__file__).parents[2] / "docs/mcp.md").read_text(encoding="utf-8")
    codes = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    codes = [code for code in codes if "providers=" in code]
    assert len(codes) == 2
    url = re.search(r'url = "(.*)"', (tmp_path / "home/.prowess/config.toml").read_text())
    assert url is not None
    names: dict[str, Any] = {}
    for code in codes:
        exec(code.replace("https://example.com/mcp", url[1]), names)  # noqa: S102 - the code of the page
        assert [entry.name for entry in names["catalog"].active] == ["docs:pdf"]
    assert "Read them aloud." in names["session"].activate("docs:pdf").content
    assert "skills/list" in served.methods
