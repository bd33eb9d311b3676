"""Suggest a valid name for a skill, and say in a hint what to write and what to rename.

A name has two places, the field and the folder. A hint names both where both are wrong, so that a user who follows it
does not get the next finding.
"""

from __future__ import annotations

import re

from prowess._internal.text import neutral

from ._yaml import scalar_kind

MAX_NAME = 64
"""Characters; specification, "name field"."""
RESERVED_WORDS = ("infer", "claude", "anthropic", "gemini", "openai")
"""Words that the `infer` CLI forbids in a name. Anthropic forbids two of them, and ships `claude-api` itself."""
_match_portable_name = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*").fullmatch
_YAML_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def normalized_name(name: str) -> str:
    """Return a name in Unicode's compatibility form, in which names are compared."""
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFKC", name)


def name_problems(name: str) -> list[str]:
    """Return the codes of the rules that a normalized name breaks, apart from those about its folder."""
    codes = []
    if len(name) > MAX_NAME:
        codes.append("name-too-long")
    if name != name.lower():
        codes.append("name-case")
    if any(not (character.isalnum() or character == "-") for character in name):
        codes.append("name-characters")
    if name[:1] == "-" or name[-1:] == "-" or "--" in name:
        codes.append("name-hyphens")
    return codes


def is_portable_name(name: str) -> bool:
    """Return whether a name is valid in any agent: ASCII letters in lower case, digits and single hyphens."""
    return len(name) <= MAX_NAME and _match_portable_name(name) is not None


def suggest_name(name: str | None, folder: str, *, ascii_only: bool = False) -> str | None:
    """Return a valid name: that of the folder, or made of the name or the folder; `None` if neither gives one.

    Args:
        name: the present one, if there is one.
        folder: the name of the skill's folder; empty without a path.
        ascii_only: whether an agent accepts only `a` to `z`, digits and hyphens.
    """
    own = normalized_name(folder)
    if ascii_only and not own.isascii():
        own = ""
    candidates = [own] if own and not name_problems(own) and neutral(own) == own else []
    candidates += filter(None, (_made_valid(text, ascii_only) for text in (name or "", folder)))
    # The suggestion must not bring in another problem: a reserved word, or letters that some agents do not accept.
    if name and not _has_reserved_word(name):
        candidates.sort(key=_has_reserved_word)
    if name and name.isascii():
        candidates.sort(key=lambda candidate: not candidate.isascii())
    return candidates[0] if candidates else None


def _made_valid(text: str, ascii_only: bool) -> str:
    """Return a text as a valid name, or an empty text."""
    if ascii_only and not text.isascii():
        import unicodedata

        text = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in text if not unicodedata.combining(character))
    text = normalized_name(normalized_name(text).lower())
    allowed = r"[a-z0-9]+" if ascii_only else r"[^\W_]+"
    name = "-".join(re.findall(allowed, text))
    if len(name) > MAX_NAME:  # it ends with a whole word, if its first one is not too long
        name = name[: MAX_NAME + 1].rpartition("-")[0] or name[:MAX_NAME]
    return "" if name_problems(name) or neutral(name) != name else name


def _has_reserved_word(name: str) -> bool:
    return any(word in name.lower() for word in RESERVED_WORDS)


def name_line(name: str) -> str:
    """Return the line of a front matter with a valid name, in quotes if YAML would not read it as text."""
    is_plain = name.isascii() and name[:1].isalpha() and scalar_kind(name) == "text" and name not in _YAML_WORDS
    return f"name: {name}" if is_plain else f'name: "{name}"'


def name_hint(
    name: str | None, folder: str, *, verb: str = "write", kind: str = "folder", ascii_only: bool = False
) -> str:
    """Return what to write as the name, and what to rename.

    Args:
        name: the present one, normalized unless an agent compares it as it is; `None` if it is missing, empty, or not
            text.
        folder: the name of the skill's folder, or of its file without `.md`; empty without a path.
        verb: `write` or `add`.
        kind: `folder`, or `file` for a flat `NAME.md`.
        ascii_only: whether an agent accepts only `a` to `z`, digits and hyphens.
    """
    target = suggest_name(name, folder, ascii_only=ascii_only)
    if target is None:
        letters = "`a` to `z`" if ascii_only else "lower case letters"
        place = f", and give its {kind} the same name" if folder else ""
        return f"{verb} a name of {letters}, digits and single hyphens{place}"
    steps = [] if name == target else [f"{verb} `{name_line(target)}`"]
    if folder and (folder if ascii_only else normalized_name(folder)) != target:
        steps.append(f"rename the {kind} to `{target}{'.md' if kind == 'file' else ''}`")
    return ", and ".join(steps)
