"""The fast path gives the same entry as reading a skill in full."""

from __future__ import annotations

import os
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from prowess.catalog._filesystem import Filesystem
from prowess.catalog._found_skill import FoundSkill
from prowess.catalog._lazy import LazyEntries
from prowess.catalog._roots import ScanRoot
from prowess.catalog._settings import Settings
from prowess.catalog._settings_entries import EntryRules
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
    "findings",
    "description",
    "requirements",
    "frontmatter_name",
    "folder",
    "reason",
    "rule",
    "skill",
    "real",
)
SLOW_HOSTS = {"wink", "infer"}
"""WINK rejects findings that the fast path does not look for; Infer has no roots of its own."""


def both_ways(
    host: Host, user_settings: Settings, data: bytes, scan_root: ScanRoot, path: str, real: str
) -> list[tuple[LazyEntries, FoundSkill]]:
    """Return a skill found by the fast path and the same skill read in full, each with a host's rules."""
    fast_fields = fast_parse(data)
    assert fast_fields is not None
    # For a host that needs a body, the fast path takes only files with one.
    data += b"Body.\n" if host.reading.body_needed else b""
    skill = from_document(parse_frontmatter(data, path, complete=host.reading.body_needed), path)
    found = FoundSkill(path, real, scan_root, None, fast_fields), FoundSkill(path, real, scan_root, skill)
    return [(LazyEntries(host, user_settings, Filesystem()), item) for item in found]


def all_of(entry: Entry, lazy_entries: LazyEntries, order: tuple[str, ...] = ATTRIBUTES) -> dict[str, Any]:
    """Return all attributes of an entry, loaded in this order."""
    attributes: dict[str, Any] = {name: getattr(entry, name) for name in order}
    attributes |= {"alias": entry.alias, "shadowed_by": entry.shadowed_by, "fields": entry.skill.fields}
    if lazy_entries.evaluator.host.name_rules.identity == "folder":
        attributes["second_name"] = lazy_entries.frontmatter_alias(entry)
    if lazy_entries.evaluator.host.budget.degrade == "first-line":
        attributes["first_line"] = lazy_entries.first_line(entry)
    return {**attributes, **entry.as_dict()}


def assert_same(
    host: Host,
    user_settings: Settings,
    data: bytes,
    scan_root: ScanRoot,
    path: str,
    real: str | None = None,
    order: tuple[str, ...] = ATTRIBUTES,
) -> None:
    """Check that the entry of the fast path equals the entry of the skill read in full."""
    (fast, fast_item), (slow, full_item) = both_ways(host, user_settings, data, scan_root, path, real or path)
    entry, full = fast.entry(fast_item), slow.entry(full_item)
    assert (entry.name, entry.state) == (full.name, full.state)
    findings = fast.known_findings(fast_item)
    assert findings is None or findings == full.findings
    aliases = [
        lazy_entries.frontmatter_alias(item)
        for lazy_entries, item in ((fast, entry), (slow, full))
        if host.name_rules.identity == "folder"
    ]
    assert len(set(aliases)) <= 1
    if host.reading.body_needed:
        order = tuple(name for name in order if name != "skill")  # whose document has the body
    assert all_of(entry, fast, order) == all_of(full, slow, order)
    assert host.reading.body_needed or entry == full
    assert fast.known_findings(fast_item) in (None, full.findings)


# ── what is made up ──────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = st.sampled_from(
    ["pdf-forms", "pdf-forms", "pdf-forms", "a", "x1", "claude-api", "my-openai", "inferred", "gemini", "a" * 64, "y"]
)
WRITTEN = st.sampled_from(["{}", "{}", "{}", '"{}"', "'{}'", ">-\n  {}"])
DESCRIPTIONS = st.one_of(
    st.just("Fills forms."),
    st.sampled_from(
        [
            "Fills <b>forms</b>",
            "Fills forms & more",
            "Fills  forms   twice",
            "2026-11-01 is a date",
            "Füllt Formulare aus",
            "a\u200bb \u202ec",
            "a\u3000 \u00adb",
            "🎉 🎉",
            '"Fills: forms # all"',
            "'Fills \"forms\"'",
            ">-\n  Fills\n  forms",
            ">\n  Fills forms\n  - all: of them",
            "|\n  Fills forms\n  # Now",
            "|-\n  Fills\n  <forms>\n  é",
        ]
    ),
    st.builds(
        lambda size, form: form.format("a" + " b" * (size // 2) + "c" * (size % 2 - 1)),
        st.integers(1018, 1028) | st.integers(1530, 1540) | st.sampled_from([250, 5000, 20000]),
        st.sampled_from(["{}", '"{}"', ">-\n  {}", "|\n  {}"]),
    ),
)
VALUES = [
    *(" a b", " true", " True", " false", ' "true"', " yes", " null", " 1", "", ' ""', " **", ' "*.py"', " 'a, b'"),
    *("\n  - src/**\n  - 'b'", "\n  - Read", "\n  a: b c\n  d: e", "\n  env: KEY", "\n  requires: a", " >-\n  a\n  b"),
    *(" |\n  " + "a" * 500, " " + "a" * 500, " " + "a" * 501, ' "' + "a" + " " * 600 + '"', " Read, Bash(git:*)"),
]
KEYS = [
    *("license", "compatibility", "metadata", "allowed-tools", "allowed_tools", "allowedTools", "requires", "x"),
    *("disable-model-invocation", "user-invocable", "paths", "model", "agent", "context", "argument-hint", "tools"),
    *("when_to_use", "hooks", "policy", "version"),
]
FIELDS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
FEW = FIELDS.map(lambda fields: "".join(f"{key}:{value}\n" for key, value in fields.items()))
SKILLS = st.builds(
    lambda name, form, description, more, first: (
        f"---\n{more if first else ''}name: {form.format(name)}\n"
        f"description: {description}\n{'' if first else more}---\nDo it.\n"
    ).encode(),
    NAMES,
    WRITTEN,
    DESCRIPTIONS,
    st.just("") | FEW | st.just("metadata:\n  a: b\n"),
    st.booleans(),
)
FOLDERS = st.sampled_from(["pdf-forms", "pdf-forms", "Other", "a", "claude-api", "a" * 64, "a b", "é"])
EFFECTS = st.tuples(st.sampled_from(["on", "off", "gone", "name-only", "user-only"]), st.just("/etc/settings.json"))
PATTERNS = st.tuples(st.sampled_from(["*", "pdf-*", "?", "[ab]*", "other"]), EFFECTS).map(lambda two: (two[0], *two[1]))
ENTRIES = st.tuples(st.integers(0, 9), st.booleans(), st.just("/etc/settings.json"))
SETTINGS = st.one_of(
    st.just(Settings()),
    st.builds(
        Settings,
        effects=st.dictionaries(NAMES | FOLDERS, EFFECTS, max_size=2),
        folded_effects=st.dictionaries(NAMES | st.just("other"), EFFECTS, max_size=1),
        patterns=st.lists(PATTERNS, max_size=2).map(tuple),
        entries=st.builds(
            EntryRules,
            names=st.dictionaries(NAMES | FOLDERS, ENTRIES, max_size=2),
            paths=st.dictionaries(st.builds("{}/{}/SKILL.md".format, st.just(TOP), FOLDERS), ENTRIES, max_size=2),
        ),
        trust=st.sampled_from(["unknown", "trusted", "untrusted"]),
        trust_source=st.just("TRUST"),
    ),
)
ORDERS = st.permutations(ATTRIBUTES).map(tuple)


@st.composite
def scan_roots_of(draw: Any, host: Host) -> ScanRoot:
    """Return the scan roots of a host, some of them nested or of packages."""
    roots = [*host.roots, Root(path="@skill-dir", scope="extra")]
    root = draw(st.sampled_from(roots)).with_changes(nested=draw(st.sampled_from(["no", "no", "active", "deferred"])))
    return ScanRoot(
        TOP,
        draw(st.sampled_from([root.scope, "project", "user"])),
        root,
        namespace=draw(st.sampled_from([None, None, "tools"])),
        nested=draw(st.sampled_from([None, None, "apps/web"])),
        level=draw(st.integers(0, 2)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", host_names())
@settings(max_examples=40)
@given(data=st.data(), file=SKILLS, folder=FOLDERS, user_settings=SETTINGS, order=ORDERS, linked=st.booleans())
def test_the_fast_path_gives_the_same_entry(
    name: str, data: Any, file: bytes, folder: str, user_settings: Settings, order: tuple[str, ...], linked: bool
) -> None:
    """For any skill, root and settings, and any order in which attributes are loaded."""
    assume(fast_parse(file) is not None)
    host = load_host(name)
    scan_root = data.draw(scan_roots_of(host))
    path = os.path.join(TOP, folder, "SKILL.md")
    assert_same(
        host, user_settings, file, scan_root, path, os.path.join("/elsewhere", "SKILL.md") if linked else path, order
    )


# ── examples ────────────────────────────────────────────────────────────────────────────────────────────────────────

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


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in SHAPES.items()])
@pytest.mark.parametrize("name", host_names())
def test_each_shape_has_the_same_entry(name: str, data: bytes) -> None:
    """The fast path reads each shape, and at least one host treats it in its own way."""
    assert fast_parse(data) is not None
    host = load_host(name)
    scope = host.roots[0].scope if host.roots else "extra"
    scan_root = ScanRoot(TOP, scope, host.roots[0] if host.roots else Root(path="", scope="extra"))
    for folder in ("pdf-forms", "claude-forms"):
        assert_same(host, Settings(), data, scan_root, f"{TOP}/{folder}/SKILL.md")


def test_a_namespace_comes_before_the_name() -> None:
    """With a colon, by the fast path too."""
    host = load_host("prowess")
    scan_root = ScanRoot(TOP, "project", host.roots[0], namespace="tools")
    item = FoundSkill(f"{TOP}/pdf-forms/SKILL.md", f"{TOP}/pdf-forms/SKILL.md", scan_root, None, fast_parse(PLAIN))
    assert LazyEntries(host, Settings(), Filesystem()).entry(item).name == "tools:pdf-forms"


@pytest.mark.parametrize(
    "user_settings",
    [
        pytest.param({"effects": {"pdf-forms": ("off", "/s")}}, id="off"),
        pytest.param({"effects": {"pdf-forms": ("gone", "/s")}}, id="gone"),
        pytest.param({"effects": {"pdf-forms": ("user-only", "/s")}}, id="user-only"),
        pytest.param({"effects": {"pdf-forms": ("name-only", "/s")}}, id="name-only"),
        pytest.param({"effects": {"pdf-forms": ("on", "/s")}}, id="on"),
        pytest.param({"folded_effects": {"pdf-forms": ("off", "/s")}}, id="folded"),
        pytest.param({"patterns": (("*", "off", "/s"), ("pdf-*", "user-only", "/t"))}, id="patterns"),
        pytest.param({"entries": EntryRules(names={"pdf-forms": (1, False, "/s")})}, id="entry"),
        pytest.param({"entries": EntryRules(paths={f"{TOP}/pdf-forms/SKILL.md": (1, False, "/s")})}, id="file"),
        pytest.param({"trust": "untrusted", "trust_source": "T"}, id="untrusted"),
    ],
)
@pytest.mark.parametrize("name", host_names())
def test_settings_give_the_same_entry(name: str, user_settings: dict[str, Any]) -> None:
    """Switched off by name, pattern, path or trust, nested or not, in a package or not."""
    root = Root(path="x", scope="project", nested="deferred")
    skills = (
        PLAIN,
        written("x: y z", name="other", description="Fills <forms>"),
        written("user-invocable: false"),
        written("disable-model-invocation: true"),
    )
    for data, namespace, nested in product(skills, (None, "tools"), (None, "apps/web")):
        scan_root = ScanRoot(TOP, "project", root, namespace=namespace, nested=nested)
        assert_same(load_host(name), Settings(**user_settings), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")


@pytest.mark.parametrize("name", sorted({*host_names()} - SLOW_HOSTS))
def test_a_plain_skill_is_not_evaluated(name: str) -> None:
    """For all but a few hosts the fast path gives name, state, findings and requirements."""
    host = load_host(name)
    scan_root = ScanRoot(TOP, "project", host.roots[0])
    item = FoundSkill(f"{TOP}/pdf-forms/SKILL.md", f"{TOP}/pdf-forms/SKILL.md", scan_root, None, fast_parse(PLAIN))
    lazy_entries = LazyEntries(host, Settings(), Filesystem())
    entry = lazy_entries.entry(item)
    assert entry.name == "pdf-forms"
    assert entry.findings == ()
    assert entry.frontmatter_name == "pdf-forms"
    assert entry.requirements.as_dict() == {"env": [], "bins": [], "packages": []}
    assert lazy_entries._evaluations == {}


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
    "name-reserved": {"name_rules": {"reserved": ("claude",)}},
    "name-replaced": {"name_rules": {"replace": {"-": "_", "f": "g"}}},
    "name-replaced-by-folder": {"name_rules": {"replace": {"-": "_"}, "identity": "folder"}},
    "description-dropped": {"description_rules": {"limit": 20, "past_limit": "drop"}},
    "description-cut": {"description_rules": {"limit": 8, "past_limit": "cut"}},
    "description-as-it-is": {"description_rules": {"trim": False}},
    "description-one-line": {"description_rules": {"one_line": True}},
    "description-clean": {"description_rules": {"clean": True}},
    "description-escaped": {"description_rules": {"escape": "<>&"}},
    "description-with-scope": {"description_rules": {"append": ("scope",)}},
    "description-with-more": {"description_rules": {"append": ("when_to_use",)}},
    "first-line": {"budget": {"limit": 10, "degrade": "first-line"}},
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


@pytest.mark.parametrize("wanted", ["true", "~true", "truthy", "falsy", "present", "globs", "not-text", "not-list"])
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
    assert LazyEntries(host, Settings(), Filesystem()).entry(item).state == "user-only"


def test_a_host_with_its_own_types_reads_every_skill() -> None:
    """A text may be a date to it, which the fast path does not notice."""
    strict = load_host("prowess")
    strict = strict.with_changes(
        reading=strict.reading.with_changes(not_texts="[0-9]{4}-.*"),
        description_rules=strict.description_rules.with_changes(on={"number": "reject"}),
    )
    scan_root = ScanRoot(TOP, "project", strict.roots[0])
    data = written(description="2026-11-01 is a date")
    assert_same(strict, Settings(), data, scan_root, f"{TOP}/pdf-forms/SKILL.md")
    path = f"{TOP}/pdf-forms/SKILL.md"
    assert (
        LazyEntries(strict, Settings(), Filesystem())
        .entry(FoundSkill(path, path, scan_root, None, fast_parse(data)))
        .state
        == "rejected"
    )
