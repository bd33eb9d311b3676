"""What InitRunner alone does: a role says whether skills are found by themselves, and how many."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prowess.clients.settings import get_dotted, parse_bool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prowess.clients.settings import SettingsReader

_USUAL_SKILLS = 50
_MAX_SKILLS = 200
"""`max_skills: 50   # default: 50, max: 200`."""


def read_own_settings(reader: SettingsReader) -> None:
    """Limit the skills, unless the role has another limit."""
    reader.found["max_skills"] = _USUAL_SKILLS


def apply_role(reader: SettingsReader, role: str) -> None:
    """Apply `spec.auto_skills` of a role, whichever host reads it (InitRunner 1.26, "Auto-Discovered Skills")."""
    reader.files.file_must_exist = True
    table = reader.files.table(role)
    if not isinstance(table.get("spec"), Mapping) and "auto_skills" in table:
        table = {"spec": table}
    value = get_dotted(table, "spec.auto_skills.enabled")
    if value is not None:
        enabled = parse_bool(value)
        if enabled is None:
            reader.files.report(role, "`auto_skills.enabled` is neither true nor false")
        else:
            reader.found |= {"enabled": enabled, "enabled_source": role}
    limit = get_dotted(table, "spec.auto_skills.max_skills")
    if limit is not None:
        number = int(limit) if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,9}", limit) else 0
        if 1 <= number <= _MAX_SKILLS:
            reader.found["max_skills"] = number
        else:
            reader.files.report(role, f"`auto_skills.max_skills` is not a number from 1 to {_MAX_SKILLS}")
