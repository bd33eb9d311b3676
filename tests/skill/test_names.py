"""A suggested name is valid, and a hint about a name leaves no problem behind."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given, strategies as st

from prowess.skill import check_skill, from_document, parse_frontmatter
from prowess.skill._names import name_hint, name_line, name_problems, normalized_name, suggest_name

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), max_size=80) | st.from_regex(
    r"[A-Za-z0-9 _.-]{1,70}", fullmatch=True
)


@given(NAMES, NAMES, st.booleans())
def test_a_suggested_name_is_valid(name: str, folder: str, ascii_only: bool) -> None:
    """Whatever the present name and the folder are."""
    target = suggest_name(name, folder, ascii_only=ascii_only)
    if target is None:
        return
    assert name_problems(target) == []
    assert normalized_name(target) == target
    assert parse_frontmatter(f"---\n{name_line(target)}\n---\n".encode()).fields["name"].kind == "text"
    if ascii_only:
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", target)


@given(NAMES, NAMES.filter(lambda text: text.strip(". ") and "\\" not in text))
def test_a_hint_about_a_name_leaves_no_problem(name: str, folder: str) -> None:
    """Except for a reserved word that is there already."""
    hint = name_hint(normalized_name(name.strip()) or None, folder)
    line = re.search("`(name: .+?)`", hint)
    renamed = re.search("rename the folder to `(.+?)`", hint)
    if not line and not renamed:
        return
    text = line[1] if line else f"name: '{name.replace(chr(39), chr(39) * 2)}'"
    path = str(PurePosixPath("/", renamed[1] if renamed else folder, "SKILL.md"))
    document = parse_frontmatter(f"---\n{text}\ndescription: Does it.\n---\nDo it.\n".encode(), path)
    codes = {item.code for item in check_skill(from_document(document, path))}
    assert codes <= {"name-reserved", "description-hidden"}, (hint, codes)


@pytest.mark.parametrize(
    ("name", "folder", "suggested"),
    [
        ("PDF Forms", "pdf-forms", "pdf-forms"),
        ("PDF Forms", "Fill_Forms", "pdf-forms"),
        ("café", "café", "café"),
        ("Café", "Cafe", "café"),
        ("Claude Forms", "PDF_Forms", "claude-forms"),
        ("PDF Forms", "claude-forms", "pdf-forms"),
        ("!!!", "???", None),
        ("", "", None),
        ("fill-the-forms-" * 6, "", "fill-the-forms-fill-the-forms-fill-the-forms-fill-the-forms-fill"),
    ],
)
def test_the_folder_is_preferred_if_it_is_valid(name: str, folder: str, suggested: str | None) -> None:
    assert suggest_name(name, folder) == suggested


@pytest.mark.parametrize(
    ("name", "line"), [("pdf", "name: pdf"), ("123", 'name: "123"'), ("yes", 'name: "yes"'), ("é", 'name: "é"')]
)
def test_a_name_is_quoted_if_yaml_would_not_read_it_as_text(name: str, line: str) -> None:
    assert name_line(name) == line
