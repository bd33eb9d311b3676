"""`prowess hosts`: the agents Prowess knows, and the rules of each in words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prowess.cli import main
from prowess.hosts import host_names, load_host

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_has_a_row_for_each_host(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, title, evidence, folders of a project and of a user; nothing is cut."""
    assert main(["hosts"]) == 0
    out, err = capsys.readouterr()
    heading, *rows = out.splitlines()
    assert heading.split("  ")[0] == "NAME"
    assert [row.split()[0] for row in rows] == list(host_names())
    claude = next(row for row in rows if row.startswith("claude-code"))
    evidence = load_host("claude-code").observed
    assert re.match(r"claude-code +Claude Code +observed", claude)
    assert f"observed {evidence}" in claude
    assert claude.endswith("~/.claude/skills, ~/.claude/commands")
    assert ("…" in out, err) == (False, "")


def test_json_is_a_list_of_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything in a host's file, and its evidence."""
    assert main(["hosts", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(host_names())
    by_name = {row["name"]: row for row in rows}
    assert (by_name["infer"]["project"], by_name["infer"]["user"]) == ([".infer/skills"], ["~/.infer/skills"])
    assert by_name["codex"]["evidence"] == "observed"
    assert by_name["wink"]["evidence"] == "documented"
    assert by_name["wink"]["evidence_details"]["kind"] == "designed"
    assert all(root["scope"] for row in rows for root in row["roots"])


@pytest.mark.parametrize("name", host_names())
def test_every_host_is_described_in_words(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its folders, its evidence, everything not known; and no word of Python's."""
    assert main(["hosts", name]) == 0
    out = capsys.readouterr().out
    host = load_host(name)
    evidence = "observed: version " if host.observed else "designed: " if host.design else "documented: "
    assert out.startswith(f"{host.title} (`--host {name}`)\n  {evidence}")
    words = " ".join(out.split())
    assert all(" ".join(word.split()) in words for word in (*host.unknown, *host.links))
    usual = [root.path.partition("|")[2] or root.path for root in host.roots]
    assert all(f"`{path}`" in words for path in usual if path and not path.startswith(("$", "@")))
    assert [line for line in out.splitlines() if len(line) > 80 and "https://" not in line] == []
    assert not [line for line in out.splitlines() if line.count("`") % 2], "a pattern is not cut"
    assert not [word for word in ("{}", "True", "False", "None", "mappingproxy", "Rules(") if word in out]


def test_an_older_line_of_a_client_names_the_newer_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hosts", "infer"]) == 0
    assert "\n  newer releases: `--host infer-cli`\n" in capsys.readouterr().out
    assert main(["hosts", "infer-cli"]) == 0
    assert "newer releases" not in capsys.readouterr().out


def test_folders_that_are_here_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text and as JSON."""
    (tmp_path / "p/.infer/skills/a").mkdir(parents=True)
    (tmp_path / "p/.infer/skills/a/SKILL.md").write_text("---\nname: a\ndescription: d\n---\n")
    (tmp_path / "p/.infer/config.yaml").write_text("agent:\n  skills:\n    enabled: true\n")
    (tmp_path / "home").mkdir()
    where = ["--cwd", str(tmp_path / "p"), "--home", str(tmp_path / "home")]
    assert main(["hosts", "infer", *where]) == 0
    assert f"\nof these exist here\n  {tmp_path}/p/.infer/skills (project): 1 skill\n" in capsys.readouterr().out
    assert main(["hosts", "infer", "--json", *where]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["places"] == [
        {"path": f"{tmp_path}/p/.infer/skills", "scope": "project", "exists": True, "skills": 1},
        {"path": f"{tmp_path}/home/.infer/skills", "scope": "user", "exists": False, "skills": 0},
    ]
    assert {"path": f"{tmp_path}/p/.infer/config.yaml", "exists": True} in row["settings_places"]
    assert "`.infer/skills`: project, in the working directory" in row["rules"]["folders, highest precedence first"]


def test_an_unknown_host_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """With the name that was meant."""
    assert main(["hosts", "cod"]) == 2
    assert capsys.readouterr() == ("", "error: unknown host `cod`\n\nhint: did you mean `codex`?\n")


def test_hosts_as_a_process() -> None:
    """Data on stdout."""
    command = [sys.executable, "-m", "prowess", "hosts"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("NAME ")
