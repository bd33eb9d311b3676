"""Which texts are sources of skills, and what they mean."""

from __future__ import annotations

import pytest

from prowess.errors import InstallError
from prowess.install.sources import parse_source

DIGEST = "sha256:" + "0123456789abcdef" * 4
GITHUB = "https://github.com/anthropics/skills.git"

# text, kind, url, path, ref, skill
SOURCES = [
    ("anthropics/skills", "git", GITHUB, None, None, None),
    ("anthropics/skills/", "git", GITHUB, None, None, None),
    ("anthropics/skills.git", "git", GITHUB, None, None, None),
    ("anthropics/skills/skills/pdf", "git", GITHUB, "skills/pdf", None, None),
    ("anthropics/skills:skills/pdf", "git", GITHUB, "skills/pdf", None, None),
    ("anthropics/skills:./skills/pdf/", "git", GITHUB, "skills/pdf", None, None),
    ("anthropics/skills#v1.2", "git", GITHUB, None, "v1.2", None),
    ("anthropics/skills@pdf", "git", GITHUB, None, None, "pdf"),
    ("anthropics/skills#main@pdf", "git", GITHUB, None, "main", "pdf"),
    ("anthropics/skills:skills#feature/x@pdf", "git", GITHUB, "skills", "feature/x", "pdf"),
    ("anthropics/skills#pdf@1.0.0", "git", GITHUB, None, "pdf@1.0.0", None),
    ("anthropics/skills#pdf@1.0.0@pdf", "git", GITHUB, None, "pdf@1.0.0", "pdf"),
    ("anthropics/skills/packages/@scope/pdf", "git", GITHUB, "packages/@scope/pdf", None, None),
    ("github.com/anthropics/skills", "git", GITHUB, None, None, None),
    ("https://github.com/anthropics/skills", "git", GITHUB, None, None, None),
    ("https://GitHub.com/anthropics/skills.git", "git", GITHUB, None, None, None),
    ("HTTPS://github.com/anthropics/skills/", "git", GITHUB, None, None, None),
    ("https://github.com/anthropics/skills:skills/pdf#v1@pdf", "git", GITHUB, "skills/pdf", "v1", "pdf"),
    ("https://github.com/anthropics/skills/tree/main", "git", GITHUB, None, "main", None),
    ("https://github.com/anthropics/skills/tree/v1/skills/pdf", "git", GITHUB, "skills/pdf", "v1", None),
    ("https://github.com/anthropics/skills/tree/v1/skills@pdf", "git", GITHUB, "skills", "v1", "pdf"),
    ("https://github.com/anthropics/skills/blob/v1/skills/pdf/SKILL.md", "git", GITHUB, "skills/pdf", "v1", None),
    ("https://github.com/anthropics/skills/blob/v1/SKILL.md", "git", GITHUB, None, "v1", None),
    ("https://gitlab.com/group/sub/repo", "git", "https://gitlab.com/group/sub/repo.git", None, None, None),
    ("https://gitlab.com/g/s/r/-/tree/main/skills", "git", "https://gitlab.com/g/s/r.git", "skills", "main", None),
    ("https://bitbucket.org/o/r/src/main/skills", "git", "https://bitbucket.org/o/r.git", "skills", "main", None),
    ("https://codeberg.org/o/r/src/branch/main/skills", "git", "https://codeberg.org/o/r.git", "skills", "main", None),
    ("https://git.example.com/team/skills.git", "git", "https://git.example.com/team/skills.git", None, None, None),
    (
        "https://git.example.com:8443/t/s.git:a/b#v1@pdf",
        "git",
        "https://git.example.com:8443/t/s.git",
        "a/b",
        "v1",
        "pdf",
    ),
    ("git+https://git.example.com/team/skills", "git", "https://git.example.com/team/skills", None, None, None),
    ("http://127.0.0.1:8000/s.git", "git", "http://127.0.0.1:8000/s.git", None, None, None),
    ("http://[::1]:8000/s.git", "git", "http://[::1]:8000/s.git", None, None, None),
    (
        "ssh://git@git.example.com:2222/t/s.git:a#v1@pdf",
        "git",
        "ssh://git@git.example.com:2222/t/s.git",
        "a",
        "v1",
        "pdf",
    ),
    ("ssh://git.example.com/~me/s", "git", "ssh://git.example.com/~me/s", None, None, None),
    ("git@github.com:anthropics/skills.git", "git", "git@github.com:anthropics/skills.git", None, None, None),
    (
        "git@github.com:anthropics/skills:skills/pdf#v1@pdf",
        "git",
        "git@github.com:anthropics/skills",
        "skills/pdf",
        "v1",
        "pdf",
    ),
    ("git.example.com:team/skills", "git", "git.example.com:team/skills", None, None, None),
    ("file:///srv/skills.git", "git", "file:///srv/skills.git", None, None, None),
    ("file:///srv/skills.git:a#v1@pdf", "git", "file:///srv/skills.git", "a", "v1", "pdf"),
    ("file:///srv/skills#v1", "git", "file:///srv/skills", None, "v1", None),
    ("git+file:///srv/skills", "git", "file:///srv/skills", None, None, None),
    ("file:///srv/bucket", "bucket", "file:///srv/bucket", None, None, None),
    ("s3://bucket", "bucket", "s3://bucket", None, None, None),
    ("s3://bucket/team/skills/", "bucket", "s3://bucket/team/skills", None, None, None),
    ("s3://bucket/team@pdf", "bucket", "s3://bucket/team", None, None, "pdf"),
    ("gs://my_bucket.eu/skills", "bucket", "gs://my_bucket.eu/skills", None, None, None),
    ("az://container/skills", "bucket", "az://container/skills", None, None, None),
    ("oci://ghcr.io/team/skills/pdf", "oci", "oci://ghcr.io/team/skills/pdf", None, None, None),
    ("oci://GHCR.io/team/pdf:1.2", "oci", "oci://ghcr.io/team/pdf", None, "1.2", None),
    (f"oci://ghcr.io/team/pdf@{DIGEST}", "oci", "oci://ghcr.io/team/pdf", None, DIGEST, None),
    (f"oci://ghcr.io/team/all@{DIGEST}@pdf", "oci", "oci://ghcr.io/team/all", None, DIGEST, "pdf"),
    ("oci://localhost:5000/pdf:latest@pdf", "oci", "oci://localhost:5000/pdf", None, "latest", "pdf"),
    ("https://example.com", "well-known", "https://example.com", None, None, None),
    ("https://example.com/", "well-known", "https://example.com", None, None, None),
    ("https://Example.com:8443/docs/", "well-known", "https://example.com:8443/docs", None, None, None),
    ("https://example.com/docs@pdf", "well-known", "https://example.com/docs", None, None, "pdf"),
    ("http://localhost:8000", "well-known", "http://localhost:8000", None, None, None),
    (".", "folder", ".", None, None, None),
    ("./my skills#1@x:y", "folder", "./my skills#1@x:y", None, None, None),
    ("../skills", "folder", "../skills", None, None, None),
    ("~/skills", "folder", "~/skills", None, None, None),
    ("/srv/skills", "folder", "/srv/skills", None, None, None),
]


@pytest.mark.parametrize(("text", "kind", "url", "path", "ref", "skill"), SOURCES, ids=[case[0] for case in SOURCES])
def test_each_form_of_a_source_is_parsed(
    text: str, kind: str, url: str, path: str | None, ref: str | None, skill: str | None
) -> None:
    source = parse_source(text)
    assert (source.kind, source.url, source.path, source.ref, source.skill) == (kind, url, path, ref, skill)
    assert source.text == text


@pytest.mark.parametrize("text", [case[0] for case in SOURCES])
def test_the_normal_form_of_a_source_is_the_same_source(text: str) -> None:
    source = parse_source(text)
    again = parse_source(source.plain)
    assert again.with_changes(text=text) == source


REFUSED = [
    ("", "is empty"),
    ("o/" + "r" * 3000, "is too long"),
    ("pdf", "is not a repository, a URL or the path of a folder"),
    ("--upload-pack=touch", "begins like an option"),
    ("-oProxyCommand=x", "begins like an option"),
    ("ssh://-oProxyCommand=x/repo", "invalid host"),
    ("ssh://git@-oProxyCommand=x/repo", "invalid host"),
    ("ssh://-o@host/repo.git", "invalid host"),
    ("git@-oProxyCommand=x:o/r", "is not an address that ssh understands"),
    ("-u@host:o/r", "begins like an option"),
    ("git@host:-o/r", "is not an address that ssh understands"),
    ("git@host:../../etc", "is not an address that ssh understands"),
    ("ext::sh -c touch% /tmp/x", "contains a blank"),
    ("ext::/bin/true", "names a program"),
    ("fd::17", "names a program"),
    ("git::https://github.com/o/r", "which no source has"),
    ("ext://host/repo.git", "which no source has"),
    ("git+ext://host/repo.git", "which no source has"),
    ("git://github.com/o/r.git", "which no source has"),
    ("ftp://host/r.git", "which no source has"),
    ("javascript://host/r", "which no source has"),
    ("http://example.com/s.git", "is not encrypted"),
    ("http://127.0.0.1.example.com/s.git", "is not encrypted"),
    ("http://localhost.example.com/s", "is not encrypted"),
    ("https://user:secret@github.com/o/r", "contains a user name or password"),
    ("https://token@github.com/o/r", "contains a user name or password"),
    ("https://github.com@evil.example/o/r", "contains a user name or password"),
    ("https://example.com@pdf", "contains a user name or password"),
    ("ssh://git:secret@host/r.git", "contains a password"),
    ("git:secret@host:o/r", "is not"),
    ("https://host/r.git?token=x", "has a query"),
    ("https://github.com", "names no repository"),
    ("https://github.com/owner", "names no repository"),
    ("https://github.com/o/r/issues/1", "is not the page of a folder"),
    ("https://github.com/o/r/tree", "is not the page of a folder"),
    ("https://github.com/o/r/tree/v1/a#v2", "twice"),
    ("https://github.com/o/r/tree/v1/a:b", "twice"),
    ("https://github.com/o/../r", "is not a valid URL"),
    ("https://github.com/o/%2e%2e/r", "is not a valid URL"),
    ("https://host/a%0Ab.git", "is not a valid URL"),
    ("https://host/a%5Cb.git", "is not a valid URL"),
    ("https://host:port/r.git", "invalid host"),
    ("https:///r.git", "invalid host"),
    ("https://ho%73t/r.git", "invalid host"),
    ("https://xn--\u0430/r.git", "invalid host"),
    ("https://example.com#v1", "invalid host"),
    ("https://example.com/docs#v1", "is a site"),
    ("https://example.com/docs:a", "is a site"),
    ("file://host/srv/r.git", "another machine"),
    ("file:///srv/../etc/r.git", "is not a valid URL"),
    ("o/r#", "invalid ref"),
    ("o/r#-x", "invalid ref"),
    ("o/r#--upload-pack=x", "invalid ref"),
    ("o/r#a..b", "invalid ref"),
    ("o/r#a@{1}", "invalid ref"),
    ("o/r#a:b", "invalid ref"),
    ("o/r#a.lock", "invalid ref"),
    ("o/r#a#b", "invalid ref"),
    ("o/r#+a", "invalid ref"),
    ("o/r:", "invalid folder"),
    ("o/r:../x", "invalid folder"),
    ("o/r/a/../../x", "invalid folder"),
    ("o/r:a//b", "invalid folder"),
    ("o/r:-x", "invalid folder"),
    ("o/r:a\\b", "invalid folder"),
    ("o/r:a:b", "invalid folder"),
    ("o/r/a:b", "two folders"),
    ("o/..", "names no repository"),
    ("o/.git", "names no repository"),
    ("o/r\n", "control or invisible"),
    ("o/r\x1b[31m", "control or invisible"),
    ("o/r\u202e", "control or invisible"),
    ("./a\x00b", "control or invisible"),
    ("./a\tb", "control or invisible"),
    ("o/r s", "contains a blank"),
    ("oci://ghcr.io", "is not an artifact"),
    ("oci://ghcr.io/Team/Pdf", "is not an artifact"),
    ("oci://ghcr.io/a/../b", "is not an artifact"),
    ("oci://ghcr.io/pdf:-x", "is not an artifact"),
    ("oci://ghcr.io/pdf@sha256:12", "is not an artifact"),
    ("oci://user:pw@ghcr.io/pdf", "is not an artifact"),
    ("oci://ghcr.io/pdf#v1", "has a `#`"),
    (f"oci://ghcr.io/pdf:1@{DIGEST}", "has a tag and a digest"),
    ("s3://", "names no bucket"),
    ("s3://key:secret@bucket/x", "has a user"),
    ("s3://bucket/x?region=y", "has a user"),
    ("s3://bucket/../x", "names no bucket"),
    ("s3://bucket/%2e%2e/x", "names no bucket"),
    ("s3://-bucket/x", "names no bucket"),
]


@pytest.mark.parametrize(("text", "problem"), REFUSED, ids=[repr(case[0])[:60] for case in REFUSED])
def test_texts_that_are_no_source(text: str, problem: str) -> None:
    with pytest.raises(InstallError) as caught:
        parse_source(text)
    assert problem in str(caught.value)
    assert caught.value.hint
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hunter2@host/r.git",
        "ssh://me:hunter2@host/r",
        "s3://k:hunter2@b/x",
        "https://me:p@hunter2@host/r",
        "me:hunter2@host:o/r",
        "https://host/r?token=hunter2",
    ],
)
def test_a_password_is_not_repeated(text: str) -> None:
    with pytest.raises(InstallError) as caught:
        parse_source(text)
    assert "hunter2" not in str(caught.value)
