"""A plain skill, which is not parsed, has the same entry as if it were parsed; for each host, setting and rule."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from prowess.catalog import Evaluator
from prowess.clients.settings import EntryRules, Settings
from prowess.filesystem._filesystem import Filesystem
from prowess.find import FoundSkill
from prowess.find._roots import ScanRoot
from prowess.hosts import Flag, Host, Root, host_names, load_host
from prowess.skill import from_document
from prowess.skill._fast import fast_parse
from prowess.skill._frontmatter import parse_frontmatter
from support.skills import skill

if TYPE_CHECKING:
    from pathlib import Path

    from prowess.catalog._entry import Entry

TOP = "/nowhere/skills"
ATTRIBUTES = (
    "rule",
    "real",
    "alias",
)
SLOW_HOSTS = {"wink", "infer"}
"""WINK rejects findings that the fast path does not look for; Infer has no roots of its own."""


def entry_of(host: Host, user_settings: Settings, item: FoundSkill) -> Entry:
    return Evaluator(host, user_settings, Filesystem()).entry(item)


def all_of(entry: Entry) -> dict[str, Any]:
    """Return all attributes of an entry, and what its evaluator knows besides."""
    evaluator, _ = entry.source
    attributes: dict[str, Any] = {name: getattr(entry, name) for name in ATTRIBUTES}
    attributes |= {"fields": entry.skill.fields, "second_name": evaluator.frontmatter_alias(entry)}
    attributes |= {"first_line": evaluator.first_line(entry), "typed": evaluator.is_typed(entry)}
    return {**attributes, **entry.as_dict()}


def assert_same(host: Host, user_settings: Settings, data: bytes, scan_root: ScanRoot, path: str) -> None:
    """Check that the entry of a plain skill equals the entry of the skill that was parsed."""
    fast_fields = fast_parse(data)
    assert fast_fields is not None
    # For a host that needs a body, the fast path takes only files with one.
    data += b"Body.\n" if host.name == "cline" else b""
    skill = from_document(parse_frontmatter(data, path, complete=(host.name == "cline")), path)
    plain = entry_of(host, user_settings, FoundSkill(path, path, scan_root, None, fast_fields))
    parsed = entry_of(host, user_settings, FoundSkill(path, path, scan_root, skill))
    assert all_of(plain) == all_of(parsed), data


PLAIN = b"---\nname: pdf-forms\ndescription: Fills forms\n---\n"


def written(*lines: str, name: str = "pdf-forms", description: str = "Fills forms") -> bytes:
    """Write a SKILL.md."""
    return "\n".join(("---", f"name: {name}", f"description: {description}", *lines, "---", "")).encode()


SHAPES = {
    "plain": PLAIN,
    "name-not-folder": written(name="other"),
    "name-reserved": written(name="claude-forms"),
    "name-quoted": written(name='"pdf-forms"'),
    "description-too-long": written(description="a " + "b" * 1023),
    "description-as-long-as-may-be": written(description="a " + "b" * 1022),
    "description-too-long-by-its-line-end": written(description="|\n  a " + "b" * 1022),
    "description-placeholder": written(description="Describe in one sentence what it does"),
    "description-markup": written(description="Fills <forms>"),
    "description-ampersand": written(description="Fills forms & more"),
    "description-less-than": written(description="Fills a < b"),
    "description-greater-than": written(description="Fills a > b"),
    "description-filler": written(description="Fills\u3164 forms"),
    "description-hidden": written(description="Fills\u200b forms"),
    "description-two-lines": written(description="|\n  Fills\n  all forms"),
    "description-dashes": written(description="Fills --- forms"),
    "description-date": written(description="2026-11-01 is a date"),
    "unknown-field": written("x: a b"),
    "license-map": written("license:", "  a: b c"),
    "compatibility-too-long": written("compatibility: " + "a" * 501),
    "compatibility-too-long-by-blanks": written(f'compatibility: "{"a":501}"'),
    "compatibility-requires": written("compatibility:", "  requires: a b"),
    "metadata": written("metadata:", "  a: b c", "  short-description: d"),
    "metadata-text": written("metadata: a b"),
    **{
        f"metadata-type {value}": written("metadata:", f"  a: {value}", "  b: c")
        for value in ("1.0", "1.2.3", '"1.0"', "true", "truth", "null", "0x1F", "1e3", ".inf", "1 2", "7")
    },
    "metadata-type of two": written("metadata:", "  version: 1.2.3", "  a-b: 7", "license: MIT"),
    "tools-line": written("allowed-tools: Read, Bash(git:*)"),
    "tools-true": written("allowed-tools: True"),
    "tools-list": written("allowed-tools:", "  - Read"),
    "tools-underscore": written("allowed_tools: Read It"),
    "user-only": written("disable-model-invocation: true"),
    "user-only-as-text": written('disable-model-invocation: "true"'),
    "hidden-from-all": written("disable-model-invocation: true", "user-invocable: false"),
    "not-user-only": written("disable-model-invocation: false"),
    "paths": written("paths:", "  - src/**"),
    "paths-text": written("paths: src/**"),
    "when-to-use": written("when_to_use: Now or never"),
    "model-list": written("model:", "  - a b"),
    "argument-hint-list": written("argument-hint:", "  - a b"),
    "requires-text": written("requires: a b"),
}


@pytest.mark.parametrize("name", host_names())
def test_each_shape_has_the_same_entry(name: str) -> None:
    """At least one host treats each of them in its own way."""
    host = load_host(name)
    root = host.roots[0] if host.roots else Root(path="", scope="extra")
    for data, folder in product(SHAPES.values(), ("pdf-forms", "claude-forms")):
        assert_same(host, Settings(), data, ScanRoot(TOP, root.scope, root), f"{TOP}/{folder}/SKILL.md")


def test_a_namespace_comes_before_the_name() -> None:
    """With a colon, by the fast path too."""
    host = load_host("prowess")
    scan_root = ScanRoot(TOP, "project", host.roots[0], namespace="tools")
    item = FoundSkill(f"{TOP}/pdf-forms/SKILL.md", f"{TOP}/pdf-forms/SKILL.md", scan_root, None, fast_parse(PLAIN))
    assert entry_of(host, Settings(), item).name == "tools:pdf-forms"


SETTINGS: tuple[dict[str, Any], ...] = (
    {"effects": {"pdf-forms": ("off", "/s")}},
    {"effects": {"pdf-forms": ("gone", "/s")}},
    {"effects": {"pdf-forms": ("user-only", "/s")}},
    {"effects": {"pdf-forms": ("name-only", "/s")}},
    {"effects": {"pdf-forms": ("on", "/s")}},
    {"folded_effects": {"pdf-forms": ("off", "/s")}},
    {"patterns": (("*", "off", "/s"), ("pdf-*", "user-only", "/t"))},
    {"entries": EntryRules(names={"pdf-forms": (1, False, "/s")})},
    {"entries": EntryRules(paths={f"{TOP}/pdf-forms/SKILL.md": (1, False, "/s")})},
    {"trust": "untrusted", "trust_source": "T"},
)


@pytest.mark.parametrize("name", host_names())
def test_settings_give_the_same_entry(name: str) -> None:
    """Switched off by name, pattern, path or trust, nested or not, in a package or not."""
    root = Root(path="x", scope="project", nested="deferred")
    skills = (
        PLAIN,
        written("x: y z", name="other", description="Fills <forms>"),
        written("user-invocable: false"),
        written("disable-model-invocation: true"),
    )
    for user_settings, data, namespace, nested in product(SETTINGS, skills, (None, "tools"), (None, "apps/web")):
        scan_root = ScanRoot(TOP, "project", root, namespace=namespace, nested=nested)
        assert_same(load_host(name), Settings(**user_settings), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")


@pytest.mark.parametrize("name", sorted({*host_names()} - SLOW_HOSTS))
def test_a_plain_skill_is_not_parsed(name: str) -> None:
    """For all but a few hosts the fast path gives name, state, findings and requirements."""
    host = load_host(name)
    scan_root = ScanRoot(TOP, "project", host.roots[0])
    item = FoundSkill(f"{TOP}/pdf-forms/SKILL.md", f"{TOP}/pdf-forms/SKILL.md", scan_root, None, fast_parse(PLAIN))
    entry = entry_of(host, Settings(), item)
    assert (entry.name, entry.findings, entry.frontmatter_name) == ("pdf-forms", (), "pdf-forms")
    assert entry.requirements.as_dict() == {"env": [], "bins": [], "packages": []}
    assert entry.source[1].is_plain
    assert item._skill is None


LATER = (
    *("name-not-folder", "name-reserved", "description-too-long", "description-hidden", "description-markup"),
    *("license-type", "compatibility-too-long", "metadata-type", "allowed-tools-type", "field-unknown"),
)
CONVENTIONS: dict[str, dict[str, dict[str, Any]]] = {
    **{f"rejects-{code}": {"reading": {"rejects": (code,)}} for code in LATER},
    "whole-file": {"reading": {"whole_file": True}},
    "opening": {"reading": {"opening": "---\\n", "closing": "(?m)^---"}},
    "refuses": {"reading": {"refuses": ("Fills",)}},
    "dates": {"reading": {"not_texts": "[0-9]{4}-.*"}, "description_rules": {"on": {"number": "reject"}}},
    "name-folder": {"name_rules": {"identity": "folder"}},
    "name-length": {"name_rules": {"max_length": 8}},
    "name-pattern": {"name_rules": {"pattern": "[a-z]+"}},
    "name-must-equal-folder": {"name_rules": {"must_equal_folder": True}},
    "name-must-equal-folder-and-replaced": {"name_rules": {"must_equal_folder": True, "replace": {"-": "_"}}},
    "name-replaced": {"name_rules": {"replace": {"-": "_", "f": "g"}}},
    "name-replaced-by-folder": {"name_rules": {"replace": {"-": "_"}, "identity": "folder"}},
    "description-dropped": {"description_rules": {"limit": 20, "past_limit": "drop"}},
    "description-cut": {"description_rules": {"limit": 8, "past_limit": "cut"}},
    "description-as-it-is": {"description_rules": {"trim": False}},
    "description-one-line": {"description_rules": {"one_line": True}},
}


@pytest.mark.parametrize("rules", [pytest.param(rules, id=name) for name, rules in CONVENTIONS.items()])
def test_each_convention_gives_the_same_entry(rules: dict[str, dict[str, Any]]) -> None:
    """Including conventions that no host has alone, without others that switch off the fast path."""
    host = load_host("prowess")
    host = host.with_changes(
        **{table: getattr(host, table).with_changes(**changes) for table, changes in rules.items()}
    )
    scan_root = ScanRoot(TOP, "project", host.roots[0])
    for data in SHAPES.values():
        assert_same(host, Settings(effects={"pdf_forms": ("off", "/s")}), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")
        assert_same(host, Settings(), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")


@pytest.mark.parametrize(
    "wanted", ["true", "~true", "truthy", "falsy", "present", "globs", "not:text", "not:list null"]
)
@pytest.mark.parametrize("more", [(), ("user-invocable",)], ids=["one-field", "two-fields"])
def test_each_flag_gives_the_same_entry(wanted: str, more: tuple[str, ...]) -> None:
    """For skills with all fields of a flag, and with only one of them."""
    host = load_host("prowess")
    scan_root = ScanRoot(TOP, "project", host.roots[0])
    for key in ("disable-model-invocation", "paths", "metadata", "description"):
        when = {key: wanted, **dict.fromkeys(more, "falsy")}
        flagged = host.with_changes(flags=(Flag(when=when, state="user-only", reason="so it is"),))
        for data in SHAPES.values():
            assert_same(flagged, Settings(), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")


def test_a_flag_in_another_file_counts(tmp_path: Path) -> None:
    """The fast path reads only SKILL.md."""
    file = skill(tmp_path / "pdf-forms")
    (tmp_path / "pdf-forms" / "agent.yaml").write_text("shown: false\n", encoding="utf-8")
    flag = Flag(when={"shown": "false"}, state="user-only", reason="so it is", file="agent.yaml")
    host = load_host("prowess").with_changes(flags=(flag,))
    scan_root = ScanRoot(str(tmp_path), "project", host.roots[0])
    assert_same(host, Settings(), file.read_bytes(), scan_root, str(file))
    item = FoundSkill(str(file), str(file), scan_root, None, fast_parse(file.read_bytes()))
    assert entry_of(host, Settings(), item).state == "user-only"
