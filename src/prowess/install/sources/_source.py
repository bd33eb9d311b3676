"""Parse the text that says where skills come from.

    SOURCE      = GIT [":" PATH] ["#" REF] ["@" SKILL] (or "@" SKILL "#" REF) | OCI | BUCKET | WELL-KNOWN | FOLDER
    GIT         = OWNER "/" REPO ["/" PATH] | "https://" SITE "/" OWNER "/" REPO | URL ".git" | "git+" URL
                  | "ssh://" [USER "@"] HOST "/" PATH | [USER "@"] HOST ":" PATH
    OCI         = "oci://" REGISTRY "/" REPOSITORY [":" TAG | "@" DIGEST] ["@" SKILL]
    BUCKET      = ("s3" | "gs" | "az" | "file") "://" PATH ["@" SKILL]
    WELL-KNOWN  = "https://" HOST ["/" PATH] ["@" SKILL]
    FOLDER      = a path that begins with ".", "/" or "~"

The text may come from a lock that anyone edited, so it is never passed on as it is: what no source needs is refused
(control characters, passwords, options disguised as URLs, programs that git would start), and a `Source` contains only
what was understood.
"""

from __future__ import annotations

import re

from prowess._internal.frozen import Frozen
from prowess._internal.text import PATH_LIMIT, hidden_characters, quoted, without_secrets
from prowess.errors import InstallError
from prowess.skill import is_portable_name

_MAX_LENGTH = 2_000
_GIT_SITES = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org")
"""Sites on which a path is a repository, also without `.git`."""
_BUCKETS = ("s3", "gs", "az", "file")
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[::1\]").fullmatch
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?").fullmatch
_BUCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*").fullmatch
_SHORTHAND = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)/([A-Za-z0-9._-]+)(?:/(.+?))?/?").fullmatch
_SCP = re.compile(r"(?:([^@/:]+)@)?([^@/:]+):(?!//)([^:]+)(?::(.*))?").fullmatch
_OCI = re.compile(
    r"([^/]+)/([a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?"
).fullmatch
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@=,-]*").fullmatch
_URL_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=@/%-]*").fullmatch

_EXAMPLES = "write `OWNER/REPO`, a URL such as `https://HOST/REPO.git`, `oci://REGISTRY/NAME:TAG`, or `./FOLDER`"


class Source(Frozen):
    """Where skills come from."""

    kind: str
    """`git`, `oci`, `bucket`, `well-known` or `folder`."""
    url: str
    """In normal form and without credentials; for a folder its path as given."""
    path: str | None = None
    """The folder in a repository to look in, with `/`."""
    ref: str | None = None
    """A branch, tag or commit of git; a tag or digest of a registry."""
    skill: str | None = None
    """The only skill that is wanted."""
    text: str
    """As given."""

    @property
    def plain(self) -> str:
        """The source in normal form, which parses to the same source."""
        ref = "" if self.ref is None else self.ref
        if self.kind == "oci":
            ref = f"@{ref}" if ref.startswith("sha256:") else f":{ref}" if ref else ""
        elif ref:
            ref = f"#{ref}"
        url = self.url
        if self.kind == "git" and url.startswith(("https://", "http://", "file://")) and not url.endswith(".git"):
            url = f"git+{url}"
        path = "" if self.path is None else f":{self.path}"
        return f"{url}{path}{ref}{'' if self.skill is None else f'@{self.skill}'}"


def parse_source(text: str) -> Source:
    """Parse a source.

    Raises:
        InstallError: it is not one.
    """
    if not text or len(text) > _MAX_LENGTH:
        raise _invalid(text, "is empty" if not text else "is too long", _EXAMPLES)
    if hidden_characters(text) or "\n" in text or "\t" in text:
        raise _invalid(text, "contains control or invisible characters", "remove them")
    if text.startswith("-"):
        raise _invalid(text, "begins like an option", _EXAMPLES)
    if text in (".", "..", "~") or text.startswith(("./", "../", "/", "~/")):
        return Source(kind="folder", url=text, text=text)
    if " " in text:
        raise _invalid(text, "contains a blank", "a folder begins with `./`; a URL has `%20` for a blank")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _parse_without_scheme(text)
    scheme = scheme.lower()
    if scheme == "oci":
        return _parse_oci(rest, text)
    if scheme in _BUCKETS and not _is_git_file(scheme, rest):
        return _parse_bucket(scheme, rest, text)
    return _parse_url(scheme, rest, text)


def _is_git_file(scheme: str, rest: str) -> bool:
    """Return whether a `file` URL is that of a repository."""
    return scheme == "file" and ("#" in rest or re.search(r"\.git(?:[:@#]|/?$)", rest) is not None)


# ── git ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parse_without_scheme(text: str) -> Source:
    """Parse `OWNER/REPO`, `github.com/OWNER/REPO` or `git@HOST:PATH`."""
    if "::" in text:
        raise _invalid(text, "names a program that git would start", _EXAMPLES)
    base, ref, skill = _split_end(text)
    host, slash, _ = base.partition("/")
    if slash and host.lower() in _GIT_SITES:
        return _parse_url("https", text, text)
    location, _, path = base.partition(":")
    if shorthand := _SHORTHAND(location):
        owner, repository, inner = shorthand.groups()
        if inner is not None and path:
            raise _invalid(text, "gives two folders", "write the folder once, after a `:` or a `/`")
        url = f"https://github.com/{owner}/{_repository_name(repository, text)}.git"
        folder = inner if inner is not None else path if ":" in base else None
        return Source(kind="git", url=url, path=_folder(folder, text), ref=ref, skill=skill, text=text)
    if (found := _SCP(base)) and (found[1] is not None or "/" in found[3]):
        user, host, path, folder = found.groups()
        if not _HOST(host) or (user is not None and not _USER(user)) or not _is_url_path(path) or path[0] in "-~":
            raise _invalid(text, "is not an address that ssh understands", "write `ssh://git@HOST/PATH`")
        url = f"{f'{user}@' if user else ''}{host.lower()}:{path.rstrip('/')}"
        return Source(kind="git", url=url, path=_folder(folder, text), ref=ref, skill=skill, text=text)
    raise _invalid(text, "is not a repository, a URL or the path of a folder", _EXAMPLES)


def _parse_url(scheme: str, rest: str, text: str) -> Source:
    """Parse the URL of a repository, or of a site that lists skills."""
    is_git, scheme = scheme.startswith("git+"), scheme.removeprefix("git+")
    if scheme not in ("https", "http", "ssh", "file"):
        hint = "use `https://`, `ssh://`, `oci://`, `s3://`, `gs://`, `az://` or `file://`"
        raise _invalid(text, f"has the scheme {quoted(scheme)}, which no source has", hint)
    if "?" in rest:
        raise _invalid(text, "has a query (`?`)", "remove it; tools keep credentials elsewhere")
    authority, _, path = rest.partition("/")
    authority = _check_authority(scheme, authority, text)
    base, ref, skill = _split_end(path)
    base, colon, folder = base.partition(":")
    inner = folder if colon else None
    if not _is_url_path(base):
        raise _invalid(text, "is not a valid URL", "percent-encode what no URL may contain, and leave out `..`")
    base = base.strip("/") if scheme != "file" else base.rstrip("/")
    host = authority.rpartition("@")[2]
    if host in _GIT_SITES and scheme == "https":
        base, ref, inner = _parse_site_path(host, base, ref, inner, text)
    elif scheme in ("https", "http") and not is_git and not base.endswith(".git"):
        if colon or ref is not None:
            raise _invalid(text, "is a site, which has neither folders nor versions", "end a repository in `.git`")
        return Source(
            kind="well-known", url=f"{scheme}://{authority}{f'/{base}' if base else ''}", skill=skill, text=text
        )
    if not base:
        raise _invalid(text, "names no repository", _EXAMPLES)
    url = f"{scheme}://{authority}/{base}"
    return Source(kind="git", url=url, path=_folder(inner, text), ref=ref, skill=skill, text=text)


def _parse_site_path(
    host: str, base: str, ref: str | None, inner: str | None, text: str
) -> tuple[str, str | None, str | None]:
    """Split the path of a page on a known site, such as `OWNER/REPO/tree/REF/FOLDER`.

    A page shows the branch only as a part of its path, so a branch whose name contains a `/` is given as `#REF`.
    """
    if host == "gitlab.com":
        repository, mark, page = base.partition("/-/")
        page_parts = page.split("/") if mark else []
    else:
        parts = base.split("/")
        repository, page_parts = "/".join(parts[:2]), parts[2:]
    if "/" not in repository:
        raise _invalid(text, "names no repository", f"write `https://{host}/OWNER/REPO`")
    if page_parts:
        marks = {"bitbucket.org": ("src",), "codeberg.org": ("src",)}.get(host, ("tree", "blob"))
        if page_parts[0] not in marks or len(page_parts) < 2:
            raise _invalid(text, "is not the page of a folder", f"write `https://{host}/{repository}:FOLDER#REF`")
        start = 2 if host == "codeberg.org" and page_parts[1] in ("branch", "tag", "commit") else 1
        if ref is not None or inner is not None or len(page_parts) <= start:
            raise _invalid(text, "gives the version or the folder twice", f"write `https://{host}/{repository}#REF`")
        ref, inner = _check_ref(page_parts[start], text), "/".join(page_parts[start + 1 :]) or None
        if inner is not None and inner.rpartition("/")[2] == "SKILL.md":
            inner = inner.rpartition("/")[0] or None
    return f"{repository.removesuffix('.git')}.git", ref, inner


def _check_authority(scheme: str, authority: str, text: str) -> str:
    """Return the host of a URL with its port, and for ssh with its user."""
    user, at, host = authority.rpartition("@")
    if scheme == "file":
        if authority:
            raise _invalid(text, "is a file on another machine", "write `file:///PATH`")
        return ""
    if at and scheme != "ssh":
        raise _invalid(text, "contains a user name or password", "remove it: git and other tools keep credentials")
    if at and ":" in user:
        raise _invalid(text, "contains a password", "remove it, and use a key of ssh")
    if not _HOST(host) or (at and not _USER(user)):
        raise _invalid(text, "has an invalid host", "write `SCHEME://HOST/PATH`")
    if scheme == "http" and not _LOOPBACK(host.lower().rpartition(":")[0] if re.search(r":\d+$", host) else host):
        raise _invalid(text, "is not encrypted", "use `https://`; `http://` is for this machine only")
    return f"{user}{at}{host.lower()}"


def _split_end(text: str) -> tuple[str, str | None, str | None]:
    """Split `[#REF][@SKILL]` off the end of a source, in either order."""
    base, mark, end = text.partition("#")
    ref: str | None = None
    skill: str | None = None
    if mark:
        ref, skill = _split_skill(end)
        ref = _check_ref(ref, text)
    if skill is None:
        base, skill = _split_skill(base)
    return base, ref, skill


def _split_skill(text: str) -> tuple[str, str | None]:
    """Split `@SKILL` off the end: what follows the last `@`, if that can be the name of a skill."""
    before, at, after = text.rpartition("@")
    # `packages/@scope/name`, `release@1.0.0` and `git@host:path` contain an `@` of their own.
    return (before, after) if at and before and not before.endswith("/") and is_portable_name(after) else (text, None)


def _check_ref(ref: str, text: str) -> str:
    """Return a ref that git accepts and no shell or option parser reads as something else."""
    bad_end = ref.endswith(("/", ".", ".lock"))
    if not _REF(ref) or ".." in ref or "//" in ref or "/." in ref or "@{" in ref or bad_end or len(ref) > 255:
        raise _invalid(text, "has an invalid ref after `#`", "write the name of a branch or tag, or a commit")
    return ref


def _folder(path: str | None, text: str) -> str | None:
    """Return a folder in a repository, without `/` at its end."""
    if path is None:
        return None
    path = path.removeprefix("./").strip("/")
    parts = path.split("/")
    if path.startswith("-") or "\\" in path or ":" in path or any(part in ("", ".", "..") for part in parts):
        raise _invalid(text, "has an invalid folder", "write the path of a folder in the repository, such as `skills`")
    return path


def _repository_name(name: str, text: str) -> str:
    name = name.removesuffix(".git")
    if name in ("", ".", ".."):
        raise _invalid(text, "names no repository", _EXAMPLES)
    return name


def _is_url_path(path: str) -> bool:
    """Return whether this is the path of a URL, without parts that a server would resolve."""
    from urllib.parse import unquote

    decoded = unquote(path)
    return (
        bool(_URL_PATH(path))
        and not any(part in (".", "..") for part in decoded.split("/"))
        and ("\\" not in decoded and not hidden_characters(decoded) and "\n" not in decoded)
    )


# ── registries and buckets ───────────────────────────────────────────────────────────────────────────────────────────


def _parse_oci(rest: str, text: str) -> Source:
    skill = None
    if not re.search(r"@sha256:[0-9a-f]{64}$", rest):
        rest, skill = _split_skill(rest)
    if "#" in rest:
        raise _invalid(text, "has a `#`", "write the tag after a `:`, or the digest after an `@`")
    found = _OCI(rest)
    if found is None or not _HOST(found[1]) or len(found[2]) > 255:
        hint = "write `oci://REGISTRY/REPOSITORY:TAG`, or `@sha256:DIGEST` in place of the tag"
        raise _invalid(text, "is not an artifact of a registry", hint)
    registry, repository, tag, digest = found.groups()
    if tag and digest:
        raise _invalid(text, "has a tag and a digest", "remove the tag: the digest names exactly one artifact")
    return Source(kind="oci", url=f"oci://{registry.lower()}/{repository}", ref=digest or tag, skill=skill, text=text)


def _parse_bucket(scheme: str, rest: str, text: str) -> Source:
    rest, skill = _split_skill(rest)
    bucket, _, path = rest.partition("/")
    if any(mark in rest for mark in "?#@:"):
        hint = "write `SCHEME://BUCKET/PATH`; the settings of the cloud come from its usual variables"
        raise _invalid(text, "has a user, a query or a fragment", hint)
    if (scheme == "file") is bool(bucket) or (bucket and not _BUCKET_NAME(bucket)) or not _is_url_path(path):
        raise _invalid(text, "names no bucket", f"write `{scheme}://{'' if scheme == 'file' else 'BUCKET'}/PATH`")
    path = path.strip("/") if scheme != "file" else path.rstrip("/")
    url = f"{scheme}://{bucket}/{path}" if scheme == "file" else f"{scheme}://{bucket}{f'/{path}' if path else ''}"
    return Source(kind="bucket", url=url, skill=skill, text=text)


def _invalid(text: str, problem: str, hint: str) -> InstallError:
    return InstallError(f"the source {quoted(without_secrets(text), PATH_LIMIT)} {problem}", hint=hint)
