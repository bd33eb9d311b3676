"""Say why `mount` refuses a skill. The rules are WINK's (`SKILLS.md`, "Validation errors")."""

from __future__ import annotations

from prowess.findings import CODES, Severity
from prowess.hosts import load_host
from prowess.skill import check_skill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.findings import Finding
    from prowess.skill import Skill

_TYPE_CODES = ("name-type", "description-type", "field-type")
"""Findings for values of a wrong type: a YAML parser does not return them as strings."""


def mount_blockers(skill: Skill) -> tuple[Finding, ...]:
    """Return the findings because of which a skill is not mounted with validation."""
    refused = {*load_host("wink").reading.rejects, *_TYPE_CODES}
    return tuple(
        finding
        for finding in check_skill(skill)
        if (CODES[finding.code].spec is Severity.ERROR or finding.code in refused) and finding.code != "field-unknown"
    )
