"""Read sources of packages as settings write them: a package of npm, a git repository, or a folder."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Version = tuple[Any, ...]
    """Three numbers, and what compares a release with its pre-releases."""

__all__ = ["git_folder", "is_in_range", "npm_name"]

_SHORT_HOSTS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"}
_REMOTE = ("npm:", "git:", "github:", "http:", "https:", "ssh:")


def npm_name(source: str) -> tuple[str, str] | None:
    """Return the name and the version or range of `npm:NAME@RANGE`; `None` if it is another source."""
    if not source.startswith("npm:"):
        return None
    spec = source.removeprefix("npm:").strip()
    match = re.fullmatch(r"(@?[^@]+)(?:@(.+))?", spec, re.DOTALL)
    return (match[1], match[2] or "") if match else (spec, "")


def git_folder(source: str) -> str | None:
    """Return `HOST/PATH`, in which a repository is cloned; `None` if it is another source."""
    if not source.strip().startswith(_REMOTE):
        return None
    text = source.strip()
    prefixed = text.startswith("git:") and not text.startswith("git://")
    if prefixed:
        text = text.removeprefix("git:").strip()
    elif not re.match(r"(?:https?|ssh|git)://", text, re.IGNORECASE):
        return None
    host, path = _host_and_path(text)
    if host in _SHORT_HOSTS.values() and host != "gitlab.com" and path.split("/")[2:3] in ([], ["tree"]):
        path = "/".join(path.split("/")[:2])
    path = path.strip("/").removesuffix(".git")
    parts = path.split("/")
    from urllib.parse import unquote

    unsafe = any(part in ("", "..", ".") for part in parts) or re.search(r"[\\\0]", unquote(host + path))
    return None if not host or len(parts) < 2 or unsafe or ".." in unquote(path).split("/") else f"{host}/{path}"


def _host_and_path(text: str) -> tuple[str, str]:
    """Return the host and the path of a repository, without the branch or tag."""
    text = text.partition("#")[0]
    if "://" in text:
        from urllib.parse import urlsplit

        try:
            url = urlsplit(text)
            host = (url.hostname or "").removeprefix("www.")
        except ValueError:
            return "", ""
        return host, url.path.strip("/").partition("@")[0]
    if match := re.fullmatch(r"git@([^:]+):(.+)", text, re.DOTALL):
        return match[1], match[2].partition("@")[0]
    short, colon, rest = text.partition(":")
    if colon:
        return _SHORT_HOSTS.get(short, ""), rest.partition("@")[0]
    host, _, path = text.partition("@")[0].partition("/")
    if host.startswith(".."):
        return "", ""
    if "/" not in path and "." not in host and host != "localhost":
        return "github.com", f"{host}/{path}"
    return (host.removeprefix("www."), path) if "." in host or host == "localhost" else ("", "")


# ── versions ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_VERSION = re.compile(r"\s*[v=]*\s*(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\s*")
_MAX_VERSION_LENGTH = 256
"""Characters of a version; npm takes a longer one for invalid."""
_MAX_RANGE_LENGTH = 4096
_PARTIAL = re.compile(
    r"(\^|~>?|[<>]=?|=)?\s*v?(\d{1,9}|[xX*])(?:\.(\d{1,9}|[xX*]))?(?:\.(\d{1,9}|[xX*])(?:-([0-9A-Za-z.-]+))?(?:\+\S*)?)?"
)


def is_in_range(version: object, wanted: str) -> bool:
    """Say whether a version is in a range of npm; a tag such as `latest` excludes none."""
    if len(wanted) > _MAX_RANGE_LENGTH:
        return False
    try:
        choices = [_comparators(part) for part in wanted.split("||")]
    except ValueError:
        return True
    is_short = isinstance(version, str) and len(version) <= _MAX_VERSION_LENGTH
    match = _VERSION.fullmatch(str(version)) if is_short else None
    if match is None:
        return False
    number = _key(match[1], match[2], match[3], match[4])
    return any(_fits(number, comparators) for comparators in choices)


def _key(major: str, minor: str, patch: str, before: str | None) -> Version:
    names = (1,) if before is None else (0, *((0, int(n), "") if n.isdigit() else (1, 0, n) for n in before.split(".")))
    return int(major), int(minor), int(patch), names


def _fits(version: Version, comparators: list[tuple[str, Version]]) -> bool:
    compare = {">=": version.__ge__, ">": version.__gt__, "<": version.__lt__, "<=": version.__le__}
    if not all(compare[sign](limit) for sign, limit in comparators):
        return False
    # A pre-release only fits what names a pre-release of the same version.
    same = any(limit[:3] == version[:3] and limit[3][0] == 0 and limit[3] != (0,) for _, limit in comparators)
    return version[3] == (1,) or same


def _comparators(text: str) -> list[tuple[str, Version]]:
    """Return the limits of a range without `||`.

    Raises:
        ValueError: it is no range.
    """
    text = text.strip()
    if hyphen := re.fullmatch(r"(\S+)\s+-\s+(\S+)", text):
        low, high = _limits("", hyphen[1]), _limits("", hyphen[2])
        return [low[0], high[-1]]
    found = []
    text = re.sub(r"(\^|~>?|[<>]=?|=)\s+", r"\1", text)
    for word in text.split():
        match = re.match(r"(\^|~>?|[<>]=?|=)?(.*)", word, re.DOTALL)
        found += _limits(match[1] or "", match[2]) if match else []
    return found


def _limits(sign: str, text: str) -> list[tuple[str, Version]]:
    match = _PARTIAL.fullmatch(text)
    if match is None or match[1]:
        raise ValueError(text)
    parts = [int(part) for part in _numbers(match[2], match[3], match[4])]
    first = (*parts, 0, 0, 0)[:3]
    exact = len(parts) == 3
    low: Version = _key(str(first[0]), str(first[1]), str(first[2]), match[5]) if exact else (*first, (0,))
    if not parts:
        return [("<", (0, 0, 0, (0,)))] if sign in ("<", ">") else [(">=", (0, 0, 0, (1,)))]
    fixed = {"^": next((i for i, n in enumerate(parts) if n), len(parts) - 1), "~": 1, "~>": 1}.get(
        sign, len(parts) - 1
    )
    fixed = min(fixed, len(parts) - 1)
    after = [*first[:fixed], first[fixed] + 1, 0, 0][:3]
    above: Version = (after[0], after[1], after[2], (0,))
    if not exact:
        low = (*first, (1,)) if sign != "<" else low
    match sign:
        case ">=":
            return [(">=", low)]
        case "<":
            return [("<", low if exact else (*first, (0,)))]
        case ">":
            return [(">", low)] if exact else [(">=", (*above[:3], (1,)))]
        case "<=":
            return [("<=", low)] if exact else [("<", above)]
        case "" | "=" if exact:
            return [(">=", low), ("<=", low)]
        case _:
            return [(">=", low), ("<", above)]


def _numbers(*parts: str | None) -> list[str]:
    """Return the numbers before the first that is missing or `x`."""
    result: list[str] = []
    for part in parts:
        if part is None or part in "xX*":
            break
        result.append(part)
    return result
