"""SARIF of `prowess check`: valid for the standard and for GitHub, whatever a skill or a path contains."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

import pytest

from prowess.checks import accept_findings, option_rules
from prowess.cli.skills import _sarif
from prowess.findings import CODES, Severity, finding
from support.project_commands import run_in
from support.sarif import validate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prowess.findings import Finding


def sarif(findings: Iterable[Finding], base: str, *ignored: str) -> Any:
    """Return the log of findings, some of which are ignored by their code."""
    accepted = accept_findings(findings, base=base, home="/home/ada", rules=option_rules(ignored))
    log = json.loads(json.dumps(_sarif.sarif(accepted.findings, base)))
    validate(log)
    return log


def path_of(log: Any, result: Any) -> bytes:
    """Return the path that the location of a result leads to, as a viewer resolves it."""
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    run = log["runs"][0]
    uri = urljoin(run["originalUriBaseIds"]["SRCROOT"]["uri"], artifact["uri"])
    parts = urlsplit(uri)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("file", "", "", "")
    return unquote_to_bytes(parts.path)


def one(item: Finding, base: str) -> tuple[Any, Any]:
    """Return the log of one finding, after a round trip through JSON, and its only result."""
    log = sarif([item], base)
    (result,) = log["runs"][0]["results"]
    return log, result


@pytest.mark.parametrize(
    "path",
    [
        *("a b/SKILL.md", "100%/SKILL.md", "%41/SKILL.md", "a#b/SKILL.md", "a?b/SKILL.md", "a&b=c;d/SKILL.md"),
        *("a:b/SKILL.md", "c:/SKILL.md", "http:/x/SKILL.md", "a\nb/SKILL.md", "a\\b/SKILL.md", "[a](b)/SKILL.md"),
        *("é/SKILL.md", "\u202e/SKILL.md", os.fsdecode(b"\xff\xfe/SKILL.md"), "a+b@c!$'()*,~/SKILL.md"),
        *("...", ".hidden", "a/..b/c", '"quoted"/SKILL.md', "\x1b[31m/SKILL.md", "\x01"),
    ],
)
def test_every_path_is_one_uri_that_leads_back_to_it(path: str) -> None:
    """Inside the repository relative to it; outside absolute."""
    for base in ("/work tree/r#1", "/"):
        inside = os.path.join(base, path)
        log, result = one(finding("name-case", "m", path=inside, line=1), base)
        assert path_of(log, result) == os.fsencode(inside)
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] == "SRCROOT"
    log, result = one(finding("name-case", "m", path=f"/elsewhere/{path}"), "/work tree/r#1")
    assert path_of(log, result) == os.fsencode(f"/elsewhere/{path}")
    assert "uriBaseId" not in result["locations"][0]["physicalLocation"]["artifactLocation"]


def test_the_repository_itself_is_a_location() -> None:
    log, result = one(finding("file-missing", "m", path="/r"), "/r")
    assert path_of(log, result).rstrip(b"/") == b"/r"


def test_a_path_through_a_link_above_the_repository_is_relative_to_it(tmp_path: Path) -> None:
    """As `/tmp` is a link on macOS."""
    (tmp_path / "real/skills/a").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    _, result = one(finding("name-case", "m", path=f"{tmp_path}/link/skills/a/SKILL.md"), f"{tmp_path}/real")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "skills/a/SKILL.md"


def test_a_finding_without_a_file_is_a_notification() -> None:
    """GitHub rejects a whole file if one of its results has no location."""
    log = sarif([finding("host-trust", "m", hint="h"), finding("name-case", "n", path="/r/a")], "/r")
    run = log["runs"]
    assert [item["ruleId"] for item in run[0]["results"]] == ["name-case"]
    (notification,) = run[0]["invocations"][0]["toolConfigurationNotifications"]
    assert (notification["associatedRule"]["id"], notification["message"]) == ("host-trust", {"text": "m; h"})


def test_a_finding_without_a_line_has_no_region() -> None:
    _, result = one(finding("folder-link", "m", path="/r/a"), "/r")
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_message_contains_no_link_that_a_skill_has_written() -> None:
    """In a message of SARIF, `[text](address)` is a link."""
    _, result = one(finding("name-case", "the name `[here](https://evil.example)`", path="/r/a"), "/r")
    assert re.search(r"(?<!\\)[][]", result["message"]["text"]) is None


def test_a_rule_explains_its_code_and_leads_to_its_page() -> None:
    log = sarif([], "/r")
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert [*rules] == [*CODES]
    for code, rule in rules.items():
        assert rule["helpUri"] == CODES[code].url
        assert rule["help"]["text"].endswith(CODES[code].url)
        assert "](../" not in rule["help"]["markdown"]
        assert "](" not in rule["help"]["text"] + rule["fullDescription"]["text"]
    assert len({rule["fullDescription"]["text"] for rule in rules.values()}) == len(rules)
    assert "Put the whole value in quotes" in rules["repair-colon"]["help"]["text"]
    assert rules["yaml-tag"]["defaultConfiguration"] == {"level": "error"}


def test_levels_are_those_of_the_policy() -> None:
    for severity, level in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note")):
        _, result = one(finding("name-case", "m", path="/r/a").with_changes(severity=severity), "/r")
        assert result["level"] == level


def test_what_is_ignored_is_suppressed() -> None:
    """With the reason; a notification is left out."""
    items = [finding("name-case", "m", path="/r/a"), finding("name-type", "m", path="/r/a"), finding("host-trust", "m")]
    run = sarif(items, "/r", "name-case", "host-trust")["runs"][0]
    assert [result.get("suppressions") for result in run["results"]] == [
        [{"kind": "external", "status": "accepted", "justification": "--ignore name-case"}],
        None,
    ]
    assert run["invocations"][0]["toolConfigurationNotifications"] == []


def test_the_file_that_check_writes_is_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For broken skills, in folders with hostile names, in a repository and without one."""
    project = tmp_path / "pro ject#1"
    (tmp_path / "home").mkdir()
    for number, (folder, text) in enumerate(
        [
            ("a b%20c", "---\nname: [x](y)\ndescription: a: b\n---\n[x](no.md)\n"),
            ("q?#:", "---\nname: a\ndescription: \x1b[31m <|im_end|>\n---\n"),
            ("line\nfeed", "no front matter"),
            (os.fsdecode(b"\xff"), "---\n"),
        ]
    ):
        file = project / "skills" / folder / "SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        if number == 1:
            (project / ".git").mkdir()
        assert run_in("check", project, ".", "--format", "sarif") in (0, 1)
        log = json.loads(capsys.readouterr().out)
        validate(log)
        assert len({path_of(log, result) for result in log["runs"][0]["results"]}) == number + 1
