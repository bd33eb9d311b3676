"""Say what to change so that an agent loads a skill that it rejects.

The rules of `skill/` have hints for the specification. An agent may want more, such as a name of ASCII letters, or may
not see a field because of a problem further up in the file.
"""

from __future__ import annotations

import re

from prowess.clients import of_client
from prowess.clients.reading import name_problem
from prowess.skill import name_hint, suggest_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prowess.findings import Finding
    from prowess.hosts import Flag, Host
    from prowess.skill import Skill

    from ._verdicts import Verdict

_READING_CODES = ("encoding-", "newline-", "frontmatter-", "fence-", "control-", "yaml-", "repair-")
_DESCRIPTION_HINT = "say what the skill does and when to use it"
_UNITS = {"bytes": "bytes of UTF-8", "utf16": "units of UTF-16", "chars": "characters"}
_FIELD_HINTS = {
    "bool": "write `{0}: true` or `{0}: false`, without quotes",
    "not-lax-bool": "write `{0}: true` or `{0}: false`, without quotes",
    "list": "write `{0}` as a list, with a dash before each item",
    "map": "write `key: value` lines below `{0}:`",
    "text": "write `{0}` as one line of text, in quotes if it begins with `[`",
    "not-texts": "write `{0}` as one line of text",
}


def rejection_hint(
    host: Host, verdict: Verdict, skill: Skill, findings: Sequence[Finding], host_findings: Sequence[Finding]
) -> str | None:
    """Return what to change, or `None` if nothing is known.

    Args:
        host: the agent.
        verdict: with which it rejects the skill.
        skill: the skill, as the agent reads it.
        findings: of the file as Prowess reads it.
        host_findings: of the file as the agent reads it.
    """
    code = verdict.code or ""
    field, _, problem = code.partition("-")
    is_unseen = problem in ("missing", "empty") and field in ("name", "description") and not _is_missing(skill, field)
    if is_unseen or (code.startswith(_READING_CODES) and not any(item.code == code for item in findings)):
        # The agent reads the file in another way than Prowess, because of a problem further up.
        reading = (item.hint for item in (*findings, *host_findings) if item.code.startswith(_READING_CODES))
        hint = next(filter(None, reading), None)
        if hint is not None:
            return hint
    if field == "name":
        return _name_hint(host, skill, problem)
    if code == "description-too-long":
        rules = host.description_rules
        return f"shorten it to {rules.limit:,} {_UNITS[rules.unit]}, and move details into the body"
    own = next((item.hint for item in (*findings, *host_findings) if item.code == code and item.hint), None)
    if own is not None:
        return own
    if field == "description":
        return f"add `description:` and {_DESCRIPTION_HINT}" if problem == "missing" else _DESCRIPTION_HINT
    if code == "body-empty":
        return "write what the agent should do"
    if code in ("frontmatter-missing", "frontmatter-unclosed"):
        return "write both fences as exactly `---`"
    flag = next((flag for flag in host.flags if flag.code == code and ", ".join(flag.when) == verdict.rule), None)
    return None if flag is None else _flag_hint(flag)


def _is_missing(skill: Skill, field: str) -> bool:
    """Return whether a field is missing in a file that can be read."""
    if skill.document is None or skill.document.frontmatter is None:
        return False
    return field not in skill.fields and not any(item.code.startswith("yaml-") for item in skill.findings)


def _name_hint(host: Host, skill: Skill, problem: str) -> str:
    """Return a hint with a name that the host accepts."""
    rules, folder = host.name_rules, skill.folder
    is_valid = skill.name and problem not in ("missing", "empty", "not-text", "type")
    name = skill.name.strip() if skill.name and is_valid else None
    ascii_only = bool(rules.pattern)
    target = suggest_name(name, folder, ascii_only=ascii_only)
    is_accepted = (
        target is not None
        and (not rules.pattern or re.fullmatch(rules.pattern, target))
        and of_client(host.name, name_problem)(target, None) is None
    )
    if target is not None and not is_accepted:
        return "choose another name, also for the folder"
    return name_hint(name, folder, verb="add" if problem == "missing" else "write", ascii_only=ascii_only)


def _flag_hint(flag: Flag) -> str | None:
    if len(flag.when) > 1:
        return f"remove {' or '.join(f'`{key}`' for key in flag.when)}"
    ((key, wanted),) = flag.when.items()
    if wanted.startswith("not:"):
        kinds = wanted.removeprefix("not:").split()
        wanted = next((kind for kind in ("text", "map", "bool", "list") if kind in kinds), wanted)
    return _FIELD_HINTS[wanted].format(key) if wanted in _FIELD_HINTS else None
