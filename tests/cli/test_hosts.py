"""`prowess hosts`: the agents Prowess knows, and the rules of each in words."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from prowess.cli import main
from prowess.hosts import evidence_of, host_names, load_host


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
    assert "…" not in out
    kinds = Counter(evidence_of(name).kind for name in host_names())
    parts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("designed", "documented", "observed"))
    assert err == f"{sum(kinds.values())} sets of rules: {parts}\n"


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
