"""Which texts are sources of skills, and what they mean."""

from __future__ import annotations

import pytest

from prowess.errors import InstallError
from prowess.install.sources import parse_source

COMMIT = "0123456789abcdef0123456789abcdef01234567"
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
    ("file:///srv/skills.git:a@pdf#v1", "git", "file:///srv/skills.git", "a", "v1", "pdf"),
    ("o/r@pdf#v1", "git", "https://github.com/o/r.git", None, "v1", "pdf"),
    (f"o/r@pdf#{COMMIT}", "git", "https://github.com/o/r.git", None, COMMIT, "pdf"),
    (f"o/r#{COMMIT}@pdf", "git", "https://github.com/o/r.git", None, COMMIT, "pdf"),
    ("git@host.example:o/r#v1", "git", "git@host.example:o/r", None, "v1", None),
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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("o/" + "r" * 3000, "is too long"),
        ("o/r\n", "control or invisible"),
        ("o/r\x1b[31m", "control or invisible"),
        ("o/r\u202e", "control or invisible"),
        ("./a\x00b", "control or invisible"),
        ("./a\tb", "control or invisible"),
    ],
    ids=["empty", "long", "line", "color", "direction", "NUL", "tab"],
)
def test_texts_that_are_no_source(text: str, problem: str) -> None:
    """Those that no document can show; `cases/cli/add-refused.md` has the others."""
    with pytest.raises(InstallError) as caught:
        parse_source(text)
    assert problem in str(caught.value)
    assert caught.value.hint
    assert str(caught.value).isprintable()
