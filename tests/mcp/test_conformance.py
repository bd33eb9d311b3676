"""The official conformance suite of MCP and its TypeScript SDK, with our server and our client.

`make conformance` tries more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import mcp_conformance as conformance
from support.mcp_conformance import CLIENT, SERVER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
needs_suite = pytest.mark.skipif(
    not (conformance.BIN / "conformance").exists(), reason="`make conformance` installs the suite"
)


@pytest.mark.skipif(not conformance.FASTMCP.exists(), reason="`make conformance` installs FastMCP")
def test_the_helpers_of_fastmcp_read_our_skills(tmp_path: Path) -> None:
    """They know neither the extension nor digests, and read the list of files at `_manifest`."""
    skills = conformance.write_skills(tmp_path / "skills", more=150, odd_names=False)
    read = conformance.read_with_fastmcp(tmp_path / "synced", conformance.serve_command(skills))
    assert read == conformance.expected_files(skills)


@needs_suite
def test_the_server_passes_the_official_checks(tmp_path: Path) -> None:
    """All 45 for skills; a skipped check counts as failed."""
    skills = conformance.write_skills(tmp_path / "skills")
    with conformance.served(skills) as url:
        checks = {scenario: conformance.check_server(scenario, url) for scenario in SERVER}
    assert [failure for found in checks.values() for failure in conformance.failures(found)] == []
    assert {scenario: conformance.successes(found) for scenario, found in checks.items()} == SERVER


@needs_suite
@pytest.mark.parametrize("scenario", CLIENT)
def test_the_client_passes_the_official_checks(scenario: str) -> None:
    """All four for skills."""
    checks = conformance.check_client(scenario)
    assert conformance.failures(checks) == []
    assert conformance.successes(checks) == CLIENT[scenario]


@needs_suite
@pytest.mark.parametrize("era", ["modern", "older"])
def test_the_typescript_client_reads_and_verifies_our_skills(era: str, tmp_path: Path) -> None:
    """Over standard input and output, with every file."""
    skills = conformance.write_skills(tmp_path / "skills")
    read = conformance.read_with_typescript(era, *conformance.serve_command(skills))
    assert conformance.by_path(read) == conformance.expected_files(skills)


@needs_suite
def test_the_client_reads_the_skills_of_the_typescript_server(tmp_path: Path) -> None:
    """Two skills in a page, so that there are several."""
    skills = conformance.write_skills(tmp_path / "skills")
    read = conformance.read_with_prowess(skills, conformance.node("serve_skills.mjs", str(skills), "2"))
    assert read == conformance.expected_files(skills)
